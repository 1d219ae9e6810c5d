"""Scores over the ranks of a process group whose cells stay where they are: those of ``evaluate`` of all items."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor

import torchclusteval as tce
from tests.support.pages import DOCS, blocks
from tests.support.processes import finish, of_ranks, start_group

N = 3000
EVERY = ["all", "coreference", "segmentation", "tracking"]
READ_CELLS = {  # they match classes and clusters, or code the cells of a table one by one
    *("ceaf_e_f", "ceaf_e_precision", "ceaf_e_recall", "ceaf_m_f", "ceaf_m_precision", "ceaf_m_recall", "conll_f"),
    *("classification_error", "greedy_one_to_one_accuracy", "meila_heckerman_h", "nca", "nca_swapped", "npa", "psi"),
    *("one_to_one_accuracy", "spsi", "diarization_error_rate", "idf1", "idp", "idr", "jaccard_error_rate"),
    *("jaccard_error_rate_pyannote", "reduced_mutual_information", "reduced_nmi_asymmetric", "reduced_nmi_mean"),
}

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

KINDS: dict[str, Callable[[Tensor], Any]] = {
    "small": lambda x: x,
    "huge and negative": lambda x: x * 10**16 - 2**60,
    "text": lambda x: np.array([f"group {i}" for i in range(40)], dtype=object)[x.numpy()],
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "numbers": ("huge and negative", {}),
    "words": ("text", {}),
    "weights": ("small", {"weights": True}),
    "sizes": ("small", {"num_classes": 40, "num_clusters": 30}),
    "classes known": ("small", {"num_classes": 40}),
    "noise": ("small", {"noise_label": 3, "noise": "cluster", "ignore_index": 0}),
    "margins": ("text", {"absent_true": "group 7", "absent_pred": "group 3", "ignore_index": "group 5"}),
    "margins, sizes": ("small", {"num_classes": 40, "num_clusters": 30, "absent_true": -1, "absent_pred": 0}),
}


def labels(kind: str) -> tuple[Any, Any, Tensor]:
    generator = torch.Generator().manual_seed(26)
    true = torch.randint(0, 40, (N,), generator=generator)
    noisy = torch.where(torch.rand(N, generator=generator) < 0.4, torch.randint(0, 30, (N,), generator=generator), true)
    pred = torch.stack([noisy % 30, true // 2, true % 30])
    return KINDS[kind](true), KINDS[kind](pred), torch.randint(4, 12, (N,), generator=generator) / 4


def named(pred: Any) -> dict[str, Any]:
    return dict(zip("abc", pred, strict=True))


def add(case: str, accumulator: tce.ContingencyAccumulator, items: range) -> tce.ContingencyAccumulator:
    (kind, options), step = CASES[case], 400
    true, pred, weights = labels(kind)
    for start in items[::step]:
        part = slice(start, min(start + step, items.stop))
        chosen = weights[part] if options.get("weights") else None
        accumulator.update(true[part], named([clustering[part] for clustering in pred]), weights=chosen)
    return accumulator


def new(case: str) -> tce.ContingencyAccumulator:
    return tce.ContingencyAccumulator(batch_shape=(3,), **CASES[case][1])


def share(rank: int, ranks: int) -> list[range]:
    """Two parts of uneven size for every rank but the second, which has nothing."""
    ends = {2: [0, 1000, N, N, N], 4: [0, 500, 1100, 1100, 1100, 1900, 2800, N, N]}[ranks]
    return [range(ends[place], ends[place + 1]) for place in (2 * rank, 2 * rank + 1)]


def refusals() -> dict[str, str]:
    group, rank, found = dist.group.WORLD, dist.get_rank(), dict[str, str]()

    def refused(name: str, measures: Any, zero_division: float | None = None, **options: Any) -> None:
        by = [0, 1, 1] if name == "groups" else None
        accumulator = tce.ContingencyAccumulator(**options).update([0, 1, 1], [0, 0, 1], by=by)
        with pytest.raises(ValueError, match="expected") as error:
            accumulator.scores(measures, group=group, zero_division=zero_division)
        found[name] = str(error.value)

    refused("matching", ["ari", "nca"])
    refused("cells of a user", tce.Measure(name="user", family="pairs", function=_reads_cells, range=(0, 9)))
    refused("other measures", "ari" if rank else "ami")
    refused("other values of 0/0", "muc_f", zero_division=float(rank > 0))
    refused("groups", "ari")
    refused("single noise", "ari", noise_label=0, noise="singletons")
    return found


def _reads_cells(tables: tce.ContingencyTables) -> Tensor:
    return tables.cells()[3].double().max()


def _largest_of_rows(tables: tce.ContingencyTables) -> Tensor:
    return tables.mT.max_by_cluster(lambda cell: cell.n).sum(-1)


def run(rank: int, ranks: int) -> dict[Any, Any]:
    found: dict[str, Any] = {}
    for case in CASES:
        accumulator, (first, second) = new(case), share(rank, ranks)
        add(case, accumulator, first).all_reduce()  # counted once, though every rank holds it
        scores = add(case, accumulator, second).scores(EVERY, group=dist.group.WORLD)
        found[case] = scores, accumulator.all_reduce().n_considered.tolist()
    own = tce.Measure(name="own", family="matching", function=_largest_of_rows, range=(0, math.inf))
    found["own"] = add("numbers", new("numbers"), share(rank, ranks)[0]).scores(own, group=dist.group.WORLD)
    found["refused"] = refusals()
    return found


@pytest.fixture(scope="module", params=[2, 4], ids=["2 ranks", "4 ranks"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return of_ranks(run, request.param, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("case", CASES)
def test_the_scores_are_those_of_evaluate(found: list[dict[str, Any]], case: str) -> None:
    kind, options = CASES[case]
    true, pred, weights = labels(kind)
    options = {name: x for name, x in options.items() if name != "weights"}
    given = weights if CASES[case][1].get("weights") else None
    expected = tce.evaluate(true, named(pred), EVERY, weights=given, **options)
    for scores, considered in (part[case] for part in found):
        missing = set(expected) - set(scores)
        assert all("all cells in one place" in scores.skipped[name] for name in missing)
        assert missing == (set() if "num_clusters" in options else READ_CELLS & set(expected))
        for name in scores:
            torch.testing.assert_close(scores[name], expected[name], rtol=1e-12, atol=1e-12, equal_nan=True)
        assert scores.clusterings == expected.clusterings == ("a", "b", "c")
        torch.testing.assert_close(scores.coverage, expected.coverage)
        assert considered == ([float(weights.sum())] * 3 if given is not None else found[0][case][1])


def test_a_measure_of_the_user(found: list[dict[str, Any]]) -> None:
    """Its table is turned around, and its maxima are still those of all ranks."""
    true, pred, _ = labels("huge and negative")
    kept = torch.cat([torch.tensor(share(rank, len(found))[0], dtype=torch.int64) for rank in range(len(found))])
    counts = tce.ContingencyTables.from_labels(true[kept], pred[:, kept]).to_dense().counts
    for part in found:
        assert part["own"]["own"].tolist() == counts.amax(-1).sum(-1).double().tolist()


def test_all_ranks_refuse_the_same(found: list[dict[str, Any]]) -> None:
    for name, words in {
        "matching": ["'nca'", "all cells in one place", "all_reduce"],
        "cells of a user": ["'user'", "all cells in one place"],
        "other measures": ["measures", "rank 0", "rank 1" if len(found) == 2 else "ranks 1, 2, 3"],
        "other values of 0/0": ["zero_division", "rank 0", "rank 1" if len(found) == 2 else "ranks 1, 2, 3"],
        "groups": ["groups of items", "all_reduce"],
        "single noise": ["singletons", "all_reduce"],
    }.items():
        messages = {part["refused"][name] for part in found}
        assert len(messages) == 1
        assert all(word in next(iter(messages)) for word in words)


def test_without_a_group_they_are_those_of_this_process() -> None:
    accumulator = add("words", new("words"), range(N))
    expected = tce.evaluate_tables(accumulator.tables(), ["ami", "nca"])
    scores = accumulator.scores(["ami", "nca"])
    assert all(torch.equal(scores[name], expected[name]) for name in expected)


def test_the_script_of_the_page(tmp_path: Path) -> None:
    """What ``docs/distributed.md`` starts by torchrun prints the scores of all items, once."""
    code = next(block.code for block in blocks(DOCS / "distributed.md") if "get_world_size" in block.code)
    script = tmp_path / "ranks.py"
    script.write_text(code)
    (status, output, errors), other = (finish(process) for process in start_group(2, str(script)))
    assert status == 0, errors
    assert other[:2] == (0, "")
    items = torch.arange(10_000)
    assert output == f"{tce.evaluate(items % 70, items % 64 // 2, ['ami', 'ari', 'purity'])}\n"
