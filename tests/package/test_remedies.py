"""Errors that have an obvious remedy name it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import torchclusteval as tce

TRUE, RUNS = [0, 0, 1, 1], {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
TABLES = tce.ContingencyTables.from_labels(TRUE, RUNS)
MASSES = tce.ContingencyTables([[1.5, 0.0], [0.0, 2.5]])
GROUPED = tce.evaluate(TRUE, RUNS, "ari", by=[0, 0, 0, 1])

CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "best of groups": (lambda: GROUPED.best_clustering("ari"), "scores.macro() averages the groups"),
    "rank of groups": (lambda: GROUPED.rank("ari"), "scores.macro() averages the groups"),
    "best of one": (lambda: tce.evaluate(TRUE, TRUE, "ari").best("ari"), "evaluate several at once"),
    "best without names": (lambda: tce.evaluate(TRUE, [TRUE], "ari").best_clustering("ari"), "best gives the number"),
    "no direction": (lambda: tce.evaluate(TRUE, RUNS, "entropy_classes").rank("entropy_classes"), "'adjusted_rand'"),
    "macro of one": (lambda: tce.evaluate(TRUE, TRUE, "ari").macro(), "by=ids"),
    "pooled of one": (lambda: tce.pooled(TABLES[0], "purity"), "by=ids"),
    "matching of others": (lambda: tce.matched_scores(TABLES, tce.match(TABLES[0])), "match(tables) matches these"),
    "no matching": (lambda: tce.matched_scores(TABLES, None), "as match(tables) returns"),  # type: ignore[arg-type]
    "batch of an accumulator": (
        lambda: tce.ContingencyAccumulator(batch_shape=(3,)).update(TRUE, TRUE),
        "expected batch shape (3,); got () (see batch_shape=)",
    ),
    "one row of pairs": (lambda: tce.pairwise(TRUE), "one row for each clustering"),
    "masses resampled": (lambda: tce.bootstrap(MASSES, "purity"), "count without weights"),
    "masses permuted": (lambda: tce.permutation_test(MASSES, "ari"), "count without weights"),
    "labels resampled": (lambda: tce.bootstrap(TRUE, TRUE, ["ari"]), "from_labels makes them"),  # type: ignore[arg-type]
    "labels permuted": (lambda: tce.permutation_test(TRUE, TRUE, ["ari"]), "from_labels makes them"),  # type: ignore[arg-type]
    "counts": (lambda: tce.evaluate_tables([[2, 1], [0, 3]]), "ContingencyTables(counts) of counts"),  # type: ignore[arg-type]
    "groups of each item": (lambda: tce.evaluate([["a"], ["a", "b"]], TRUE), "evaluate_overlapping"),
    "memberships": (lambda: tce.evaluate(tce.Memberships.from_labels(TRUE), TRUE), "evaluate_overlapping"),
    "one group": (lambda: tce.bootstrap(TABLES[:1], "purity", resample="groups"), "by=ids"),
    "several references": (lambda: tce.cluster_stability([TRUE, TRUE], [TRUE]), "labels_true[0]"),
    "compiled sparse": (lambda: tce.compile("ari")(TABLES.to_sparse()), "tables.to_dense()"),
    "names in one text": (lambda: tce.evaluate(TRUE, TRUE, "ari,nmi"), "a list: ['ari', 'nmi']"),
    "column vectors": (lambda: tce.evaluate(torch.ones(4, 1), torch.ones(4, 1)), "squeeze(-1)"),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_name_the_remedy(case: str) -> None:
    call, remedy = CASES[case]
    with pytest.raises((ValueError, KeyError)) as found:
        call()
    assert remedy in str(found.value)


def test_one_clustering_has_one_share_of_items() -> None:
    one = str(tce.evaluate([0, 0, 1], [0, 0, -1], "ari", noise_label=-1)).splitlines()[-1]
    assert one == "items scored: 66.6667 % (see coverage)"
    several = str(tce.evaluate([0, 0, 1], [[0, 0, -1], [0, 0, 1]], "ari", noise_label=-1)).splitlines()[-1]
    assert several == "items scored: 66.6667 % at least (see coverage)"
