"""Cells by label, as lists and as tables: merged and joined, they count what a dictionary counts."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torchclusteval.streaming.growing_cells import CellTable, GrowingCells, LabelledCells

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


def listed(found: CellTable) -> list[Row]:
    return [tuple(row) for row in found.cells().pack().tolist()]


def table(rows: list[Row]) -> CellTable:
    return CellTable.of(cells(rows)).merged()


@given(ROWS)
def test_every_cell_comes_once_and_in_order(rows: list[Row]) -> None:
    assert listed(table(rows)) == counted(rows)


@given(ROWS, ROWS)
def test_two_merged_tables_add_up(first: list[Row], second: list[Row]) -> None:
    ours, theirs = table(first), table(second)
    assert listed(ours.merge(theirs)) == counted(first, second)
    assert (listed(ours), listed(theirs)) == (counted(first), counted(second))  # neither is touched


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_parts_become_one(lists: list[list[Row]]) -> None:
    growing = GrowingCells(table(lists[0]))
    for rows in lists[1:]:
        growing.add(cells(rows))
    assert sorted(listed(growing.merged())) == counted(*lists)


def test_more_cells_than_numbers() -> None:
    labels = torch.arange(3) * 2**40
    most = torch.full_like(labels, 2**62)
    with pytest.raises(ValueError, match=r"labels: expected at most 2\*\*63 cells; got \d+ tables of 3 x 3"):
        CellTable.of(LabelledCells(most, labels, labels, torch.ones_like(labels)))
