"""The four formal constraints: golden verdicts, instances checked by their definitions, and the study."""

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from tests.support.processes import ROOT
from torchclusteval.measures.registry import select
from torchclusteval.meta import CONSTRAINTS, PROPERTIES, check_constraints, check_properties
from torchclusteval.meta.constraints import ConstraintReport, compare_constraints, draw_instances
from torchclusteval.studies import constraints as study

pytestmark = pytest.mark.slow

GOLDEN: dict[str, Any] = json.loads((GOLDEN_FOLDER / "meta.json").read_text())
GUIDE = ROOT / "docs" / "which_measure.md"

Table = dict[tuple[Any, Any], int]  # (class, cluster) -> items


def compared(measures: Any, seed: int) -> dict[str, ConstraintReport]:
    return compare_constraints([x for x in select(measures) if x.better is not None], rng=seed)


@pytest.fixture(scope="module")
def reports() -> dict[str, ConstraintReport]:
    return compared("all", 0)


@pytest.fixture(scope="module")
def other_instances() -> dict[str, ConstraintReport]:
    return compared(list(GOLDEN["satisfied"]), 1)


@pytest.mark.parametrize("measure", GOLDEN["satisfied"])
def test_golden_verdicts(
    measure: str, reports: dict[str, ConstraintReport], other_instances: dict[str, ConstraintReport]
) -> None:
    """A yes on every instance, a no by a counterexample within 10,000."""
    for found in (reports, other_instances):
        verdicts = ["yes" if holds else "no" for holds in found[measure].satisfied.values()]
        assert verdicts == GOLDEN["satisfied"][measure]
        assert found[measure].instances == 10_000


def test_only_bcubed_f_satisfies_all(reports: dict[str, ConstraintReport]) -> None:
    assert [name for name, report in reports.items() if all(report.satisfied.values())] == ["bcubed_f"]
    partitions = [measure for measure in tce.MEASURES.values() if not measure.one_sided]
    assert set(reports) == {measure.name for measure in partitions if measure.better is not None}


@pytest.mark.parametrize("rest", ["bounded", "any"])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.95])
def test_every_mixture_of_bcubed_satisfies_all(alpha: float, rest: Any) -> None:
    measure = partial(tce.measures.bcubed_f, alpha=alpha)
    report = check_constraints(measure, rest=rest)
    assert [verdict.share for verdict in report.values()] == [1.0] * 4


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, [False, True, False, True]), (1.0, [True, False, True, False])])
def test_bcubed_f_at_its_ends_is_recall_and_precision(alpha: float, expected: list[bool]) -> None:
    report = check_constraints(partial(tce.measures.bcubed_f, alpha=alpha), instances=2000)
    assert list(report.satisfied.values()) == expected


def test_matched_f_on_the_rag_bag() -> None:
    """By its exact values it satisfies the constraint where the clean cluster is a whole class, and only there."""
    for n in range(2, 9):
        stray = Fraction(2, n + 2)
        first = (n * Fraction(2 * n, 2 * n + 1) + n * Fraction(2, n + 1) + stray) / (2 * n + 1)
        second = (n + n * Fraction(2, n + 2) + stray) / (2 * n + 1)
        assert second > first

        truth = [0] * n + list(range(1, n + 2))
        clusters = [[0] * n + [1] * n + [side] for side in (0, 1)]
        values = tce.evaluate(truth, clusters, "clustering_f")["clustering_f"].tolist()
        assert values == pytest.approx([float(first), float(second)], abs=1e-12)
    assert check_constraints("clustering_f", instances=2000)["rag_bag"].satisfied
    assert not check_constraints("clustering_f", instances=2000, rest="any")["rag_bag"].satisfied


def test_a_counterexample_scores_as_it_says(reports: dict[str, ConstraintReport]) -> None:
    """Through the labels, which is another way to the tables."""
    examples = 0
    for name, report in reports.items():
        for verdict in report.values():
            example = verdict.counterexample
            assert (example is None) == (verdict.share == 1)
            if example is None:
                continue
            examples += 1
            values = [
                float(tce.evaluate(torch.tensor(example.labels_true), torch.tensor(side), name)[name])
                for side in (example.first, example.second)
            ]
            assert values == pytest.approx([example.value_first, example.value_second], abs=1e-12)
            gain = values[1] - values[0]
            assert (gain if tce.MEASURES[name].better == "higher" else -gain) <= 1e-8
    assert examples > 50


def test_any_callable_and_both_directions() -> None:
    shares = [verdict.share for verdict in check_constraints("nmi_max", instances=500).values()]
    cases: tuple[tuple[Any, Any], ...] = (
        (tce.MEASURES["nmi_max"], None),
        (tce.MEASURES["nmi_max"], "higher"),
        (lambda t: tce.measures.nmi(t, average="max"), None),
        (lambda t: -tce.measures.nmi(t, average="max"), "lower"),
    )
    for measure, better in cases:
        found = check_constraints(measure, better, instances=500)
        assert [verdict.share for verdict in found.values()] == shares


@pytest.mark.parametrize("value", [1.0, float("nan"), float("inf")])
def test_a_constant_and_nan_satisfy_nothing(value: float) -> None:
    report = check_constraints(lambda t: torch.full(t.batch_shape, value), instances=20)
    assert [verdict.share for verdict in report.values()] == [0.0] * 4


def test_a_seed_gives_the_same_pairs() -> None:
    def shares(seed: int) -> list[float]:
        report = check_constraints("nmi_min", instances=300, rng=seed)
        return [verdict.share for verdict in report.values()]

    assert shares(4) == shares(4)
    assert shares(4) != shares(5)
    drawn = check_constraints("nmi_min", instances=300, rng=torch.Generator().manual_seed(4))
    assert [verdict.share for verdict in drawn.values()] == shares(4)


def clusters_of(table: Table) -> Counter[frozenset[tuple[Any, int]]]:
    """A clustering as a bag of clusters, each its items by class."""
    found: dict[Any, dict[Any, int]] = {}
    for (row, column), count in table.items():
        found.setdefault(column, {})[row] = count
    return Counter(frozenset(cluster.items()) for cluster in found.values())


def only(changed: Counter[frozenset[tuple[Any, int]]]) -> list[dict[Any, int]]:
    return [dict(cluster) for cluster in changed.elements()]


def follows(constraint: int, first: Table, second: Table) -> bool:
    """Whether D1 and D2 differ exactly as the constraint says."""
    before, after = clusters_of(first), clusters_of(second)
    gone, come = only(before - after), only(after - before)
    sizes = Counter[Any]()
    for (row, _), count in first.items():
        sizes[row] += count
    if constraint == 1:  # one cluster of two classes becomes its two parts
        (mixed,) = gone
        parts = sorted(part for cluster in come for part in cluster.items())
        return len(mixed) == len(come) == 2 and parts == sorted(mixed.items()) and all(len(part) == 1 for part in come)
    if constraint == 2:  # two clusters of one class become one
        (whole,) = come
        return len(whole) == 1 and len(gone) == 2 and all(set(part) == set(whole) for part in gone)
    if constraint == 3:  # a stray item moves from a clean cluster to a bag of the same size, all single items
        (stray,) = {row for cluster in gone for row in cluster if sizes[row] == 1} & {
            row for cluster in gone if max(cluster.values()) > 1 for row in cluster if cluster[row] == 1
        }
        clean = next(cluster for cluster in gone if stray in cluster)
        bag = next(cluster for cluster in gone if stray not in cluster)
        n = sum(bag.values())
        left = {row: count for row, count in clean.items() if row != stray}
        moved = [left, {**bag, stray: 1}]
        return (
            n >= 2
            and len(left) == 1
            and sum(left.values()) == n
            and all(sizes[row] == 1 for row in bag)
            and sorted(come, key=str) == sorted(moved, key=str)
        )
    large = next(cluster for cluster in gone if max(cluster.values()) > 1)  # n pairs whole again, one item off
    ((row, size),) = large.items()
    n = size - 1
    pairs = [cluster for cluster in come if set(cluster) != {row}]
    return (
        n > 2
        and len(pairs) == n
        and all(list(pair.values()) == [2] and sizes[next(iter(pair))] == 2 for pair in pairs)
        and sorted(next(iter(c.values())) for c in come if set(c) == {row}) == sorted([n, 1])
        and len(gone) == 1 + 2 * n
    )


def as_table(counts: torch.Tensor) -> Table:
    return {(i, j): int(counts[i, j]) for i, j in counts.nonzero().tolist()}


def pairs_of(number: int, rest: Any) -> Iterator[tuple[Table, Table]]:
    sides = draw_instances(CONSTRAINTS[number - 1], 300, torch.Generator().manual_seed(number), rest)
    for first, second in zip(*(side.counts for side in sides), strict=True):
        yield as_table(first), as_table(second)


@pytest.mark.parametrize("rest", ["bounded", "any"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_instances_are_what_the_constraint_says(number: int, rest: Any) -> None:
    sizes = []
    for first, second in pairs_of(number, rest):
        assert follows(number, first, second), (first, second)
        classes = [Counter[int](), Counter[int]()]
        for side, table in zip(classes, (first, second), strict=True):
            for (row, _), count in table.items():
                side[row] += count
            assert max(table.values()) > 1  # a pair that shares class and cluster
        assert classes[0] == classes[1]
        assert len(classes[0]) >= 2
        sizes.append(sum(classes[0].values()))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 10


@pytest.mark.parametrize("row", GOLDEN["fixed"], ids=lambda row: str(row["constraint"]))
def test_the_golden_pairs_are_too(row: dict[str, Any]) -> None:
    """Holds the check above to pairs that were made by hand."""
    tables = [Counter(zip(row[side]["labels_true"], row[side]["labels_pred"], strict=True)) for side in ("d1", "d2")]
    assert follows(row["constraint"], dict(tables[0]), dict(tables[1]))


def test_bounds_of_the_rest() -> None:
    for first, _ in pairs_of(3, "bounded"):
        clean = {row for (row, column), count in first.items() if column == 0 and count > 1}
        assert all(column == 0 for row, column in first if row in clean)
    for first, _ in pairs_of(4, "bounded"):
        core = 3 * (first[0, 0] - 1) + 1
        assert sum(first.values()) <= 2 * core


def test_the_one_disagreement() -> None:
    result = study.run(iterations=2000)
    assert result.disagreements == [study.Disagreement("clustering_f", 3, False)]
    assert result.satisfy_all == ["bcubed_f"]
    text = study.report(result)
    assert "All four: bcubed_f" in text
    assert "clustering_f, constraint 3: the paper has it that it fails, here it satisfies" in text
    for family in ("entropy", "pairs", "matching", "bcubed"):
        assert f"\n{family} " in text


def test_any_rest_agrees_with_the_paper() -> None:
    assert study.run("any", iterations=2000).disagreements == []


def verdicts_of(name: str, report: ConstraintReport) -> list[str]:
    """A row of the table of the documentation."""
    answers = ["yes" if holds else "no" for holds in report.satisfied.values()]
    if tce.MEASURES[name].integer_only:
        return [*answers, "not examined (needs whole items)"]
    satisfied = check_properties(name).satisfied
    return [*answers, ", ".join(prop.name for prop in PROPERTIES if not satisfied[prop.name]) or "none"]


def test_the_documentation_shows_the_verdicts(reports: dict[str, ConstraintReport]) -> None:
    rows = [[x.strip(" `") for x in line.split("|")[1:-1]] for line in GUIDE.read_text().splitlines()]
    shown = {row[0]: row[1:] for row in rows if len(row) == 6 and row[0] in reports}
    assert list(shown) == [name for name in tce.measures.DEFAULT if name in reports]
    for name, verdicts in shown.items():
        assert verdicts == verdicts_of(name, reports[name])
