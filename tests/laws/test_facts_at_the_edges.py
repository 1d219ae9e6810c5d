"""The facts of every record on tables at the edge: one group, single items, 1 x n, no items, items of one side only."""

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.strategies import LAYOUTS
from tests.support.values import differing
from torchclusteval import MEASURES, ContingencyTables

pytestmark = pytest.mark.slow

Groups = list[set[int]]
NAMES = list(MEASURES)
PERFECT = {name: measure for name, measure in MEASURES.items() if measure.perfect is not None}
WITH_PARTS = [measure for measure in MEASURES.values() if measure.parts is not None]


def blocks(*sizes: int) -> Groups:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [set(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]


def singles(n: int) -> Groups:
    return blocks(*[1] * n)


CASES: dict[str, tuple[Groups, Groups]] = {
    "no items": ([], []),
    "one item": (blocks(1), blocks(1)),
    "two items in one group against single ones": (blocks(2), singles(2)),
    "two single items": (singles(2), singles(2)),
    "one class in one cluster": (blocks(7), blocks(7)),
    "one class in clusters of all sizes": (blocks(10), blocks(1, 2, 3, 4)),
    "classes of all sizes in one cluster": (blocks(1, 2, 3, 4), blocks(10)),
    "one class in single items": (blocks(6), singles(6)),
    "single items in one cluster": (singles(6), blocks(6)),
    "single items on both sides": (singles(5), singles(5)),
    "single items and two clusters": (singles(6), blocks(3, 3)),
    "one pair against single items": (blocks(2, 1, 1), singles(4)),
    "one pair against another": ([{0, 1}, {2}, {3}], [{0}, {1}, {2, 3}]),
    "crossed pairs": ([{0, 1}, {2, 3}], [{0, 2}, {1, 3}]),
    "a large group and a single item": (blocks(30, 1), blocks(1, 30)),
    "the same groups": (blocks(4, 2, 1), blocks(4, 2, 1)),
    "truth alone": (blocks(3, 2), []),
    "prediction alone": ([], blocks(3, 2)),
    "no common items": (blocks(2, 2), [{7, 8}, {9}]),
    "single items, of one side each": (singles(2), [{5}, {6}]),
    "half of the items common": (blocks(4), [{2, 3, 4, 5}]),
    "a class is missing": (blocks(3, 3), blocks(3)),
    "a cluster is spurious": (blocks(3), blocks(3, 3)),
    "one common item": ([{0, 1, 2}], [{2, 3, 4}, {5}]),
    "common single items among others": ([{0}, {1}, {2, 3}], [{0}, {1, 8}, {9}]),
}


def together(layout: str, swapped: bool = False) -> ContingencyTables:
    sides = [dict(enumerate(pair[side] for pair in CASES.values())) for side in (0, 1)]
    return ContingencyTables.from_documents(*(sides[::-1] if swapped else sides), layout=layout)


def values_of(tables: ContingencyTables) -> dict[str, Tensor]:
    return dict(tce.evaluate_tables(tables, NAMES))


@pytest.fixture(scope="module", params=LAYOUTS)
def values(request: pytest.FixtureRequest) -> dict[str, Tensor]:
    return values_of(together(request.param))


def test_exchanging_the_sides(values: dict[str, Tensor]) -> None:
    there = values_of(together("dense", swapped=True))
    partners = {name: measure.swapped for name, measure in MEASURES.items() if measure.swapped is not None}
    ties = torch.tensor([name in ("crossed pairs", "half of the items common") for name in CASES])
    assert differing({name: there[other] for name, other in partners.items()}, values, where={"greedy": ~ties}) == []


def test_values_lie_in_range(values: dict[str, Tensor]) -> None:
    for name, value in values.items():
        low, high = MEASURES[name].range
        inside = ((value >= low) & (value <= high)) | value.isnan()
        assert bool(inside.all()), (name, [case for case, x in zip(CASES, inside, strict=True) if not x])


def test_the_truth_is_perfect_and_not_beaten(values: dict[str, Tensor]) -> None:
    truths = dict(enumerate(true for true, _ in CASES.values()))
    itself = values_of(ContingencyTables.from_documents(truths, truths))
    for name, measure in PERFECT.items():
        found = itself[name][~itself[name].isnan()].tolist()
        assert found == pytest.approx([measure.perfect] * len(found), abs=1e-14), name
        if measure.better is not None:
            gain = (values[name] - itself[name]) * (1 if measure.better == "higher" else -1)
            assert bool((~(gain > 1e-12)).all()), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_give_the_value(layout: str) -> None:
    tables = together(layout)
    for at, case in enumerate(CASES):
        pooled = dict(tce.pooled(tables[at : at + 1], WITH_PARTS))
        assert differing(pooled, {m.name: m(tables[at]) for m in WITH_PARTS}) == [], case
