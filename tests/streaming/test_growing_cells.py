"""Cells by label, as lists and as tables: merged and joined, they count what a dictionary counts."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torchclusteval.streaming import growing_cells
from torchclusteval.streaming.growing_cells import GrowingCells, LabelledCells

pytestmark = pytest.mark.slow

# Near and far apart, up to the ends of int64: the second kind cannot be numbered by distance.
NEAR = st.integers(-3, 3)
FAR = st.sampled_from([-(2**63), -(2**62), -1, 0, 5, 2**62, 2**63 - 1])
Row = tuple[int, int, int, int]


def rows_of(labels: st.SearchStrategy[int]) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(st.integers(0, 2), labels, labels, st.integers(1, 9)), max_size=12)


ROWS = rows_of(NEAR) | rows_of(FAR)


def cells(rows: list[Row]) -> LabelledCells:
    return LabelledCells.unpack(torch.tensor(rows, dtype=torch.int64).reshape(-1, 4), torch.int64)


def counted(*lists: list[Row]) -> list[Row]:
    """What a merged list must hold, in its order."""
    found: Counter[tuple[int, int, int]] = Counter()
    for rows in lists:
        for batch, true, pred, count in rows:
            found[batch, true, pred] += count
    return sorted((*cell, count) for cell, count in found.items())


def listed(found: LabelledCells) -> list[Row]:
    return [tuple(row) for row in found.pack().tolist()]


@given(ROWS)
def test_every_cell_comes_once_and_in_order(rows: list[Row]) -> None:
    assert listed(cells(rows).merged()) == counted(rows)


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from([0, 5, 1 << 16]))
def test_parts_become_one(lists: list[list[Row]], waiting: int) -> None:
    growing = GrowingCells(cells([]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_cells, "MAX_WAITING_CELLS", waiting)
        for rows in lists:
            growing.add(cells(rows))
    assert listed(growing.merged()) == counted(*lists)


TABLES = st.tuples(*[st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True)] * 2)


@given(st.lists(TABLES, min_size=1, max_size=4), st.sampled_from([20, 60, 1 << 22]))
def test_dense_tables_add_up(tables: list[tuple[list[int], list[int]]], most: int) -> None:
    """Whether their labels are known, in order or many."""
    growing, rows = GrowingCells(cells([])), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_cells, "_MAX_DENSE_CELLS", most)
        for classes, clusters in tables:
            counts = torch.arange(2 * len(classes) * len(clusters)).reshape(2, len(classes), len(clusters)) % 3
            rows += [
                (b, classes[i], clusters[j], int(counts[b, i, j])) for b, i, j in counts.nonzero().tolist()
            ]  # fmt: skip
            growing.add_dense(torch.tensor(classes), torch.tensor(clusters), counts)
    assert listed(growing.merged()) == counted(rows)


def test_more_cells_than_numbers() -> None:
    labels = torch.arange(3) * 2**40
    most = torch.full_like(labels, 2**62)
    with pytest.raises(ValueError, match=r"labels: expected at most 2\*\*63 cells; got \d+ tables of 3 x 3"):
        LabelledCells.of(most, labels, labels, torch.ones_like(labels)).merged()
