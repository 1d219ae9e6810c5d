"""Matchings against all matchings of small tables, SciPy's dense solver, and a greedy loop."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tests.support.matchings import best_matchings
from torchclusteval.measures import assignment
from torchclusteval.measures.assignment import match_dense, match_sparse, max_assignment, sparse_max_assignment

SHAPES = [(1, 1), (1, 4), (3, 1), (2, 3), (3, 3), (5, 3), (4, 4), (4, 5)]


def as_cells(tables: Tensor) -> tuple[Any, ...]:
    index = tables.nonzero()
    return (*index.unbind(1), tables[tuple(index.unbind(1))], len(tables))


def matched_sparsely(tables: Tensor) -> tuple[Tensor, Tensor]:
    table, row, column, *_ = cells = as_cells(tables)
    chosen, unique = match_sparse(*cells)
    columns = torch.full(tables.shape[:2], -1).index_put((table[chosen], row[chosen]), column[chosen])
    assert (columns >= 0).sum() == chosen.sum()
    return columns, unique


@pytest.fixture(params=["few", "many", "sparse", "sparse, components", "sparse, large components"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    if request.param == "many":
        monkeypatch.setattr(assignment, "_FEW_CELLS", 0)
    if request.param.startswith("sparse,"):
        monkeypatch.setattr(assignment, "_FEW_LEFT", 0)
    if request.param == "sparse, large components":
        monkeypatch.setattr(assignment, "_DENSE_COMPONENT_CELLS", 0)
    return matched_sparsely if "sparse" in request.param else match_dense


def random_tables(shape: tuple[int, int], high: int, seed: int, count: int = 8) -> Tensor:
    """Whole numbers below ``high``; with empty cells, rows and columns, and with equal rows and columns."""
    generator = np.random.default_rng(seed)
    tables = generator.integers(0, high, (count, *shape))
    tables[1::4][generator.random(tables[1::4].shape) < 0.5] = 0
    tables[2::4, :, 0], tables[2::4, 0] = 0, 0
    tables[3::4, -1], tables[3::4, :, -1] = tables[3::4, 0], tables[3::4, :, 0]
    return torch.from_numpy(tables)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("high", [2, 4, 30, 10**9])
def test_the_matching_is_one_of_the_best_and_unique_where_it_is_the_only_one(way: Any, shape: Any, high: int) -> None:
    counts = random_tables(shape, high, seed=high % 97)
    best = [best_matchings(table) for table in counts.tolist()]
    for tables in (counts, counts.double(), counts.double() / 7):
        columns, unique = way(tables)
        for found, only, (_, expected) in zip(columns.tolist(), unique.tolist(), best, strict=True):
            assert found in expected
            assert only == (len(expected) == 1)
        totals = torch.tensor([total for total, _ in best]).double() * (tables.sum() / counts.sum())
        for values in (max_assignment(tables), sparse_max_assignment(*as_cells(tables))):
            assert values.dtype == tables.dtype
            torch.testing.assert_close(values.double(), totals, rtol=1e-14, atol=0, equal_nan=True)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (1, 2)])
@pytest.mark.parametrize("scale", [3000, 2**13, 2**24, 2**40, 2**52])
def test_large_counts_that_differ_by_one(way: Any, scale: int, shape: tuple[int, int]) -> None:
    """One item decides, and ties stay ties; float64 does not hold the sums of the largest."""
    if scale > 2**40 and way is matched_sparsely and assignment._DENSE_COMPONENT_CELLS == 0:
        pytest.skip("SciPy's sparse solver is exact to 2**53 in all sums")
    counts = random_tables(shape, 3, seed=scale % 1000, count=12) * scale
    counts[6:] += random_tables(shape, 2, seed=scale % 1000, count=6)
    columns, unique = way(counts)
    for table, found, only in zip(counts.tolist(), columns.tolist(), unique.tolist(), strict=True):
        total, expected = best_matchings(table)
        assert found in expected
        assert only == (len(expected) == 1)
        assert max_assignment(torch.tensor(table)) == total


@pytest.mark.parametrize("shape", [(60, 60), (15, 40), (70, 30)])
@pytest.mark.parametrize("density", [0.05, 0.2, 1.0])
def test_larger_tables_equal_scipy(way: Any, shape: tuple[int, int], density: float) -> None:
    """Totals are those of SciPy's dense solver; and another matching is as good if one avoids some matched cell."""
    generator = np.random.default_rng(3)
    for high in (3, 30):
        counts = generator.integers(1, high, (4, *shape)) * (generator.random((4, *shape)) < density)
        expected = [int(table[linear_sum_assignment(table, maximize=True)].sum()) for table in counts]
        columns, unique = way(torch.from_numpy(counts))
        assert max_assignment(torch.from_numpy(counts)).tolist() == expected
        assert sparse_max_assignment(*as_cells(torch.from_numpy(counts))).tolist() == expected
        for table, found, only, total in zip(counts, columns.numpy(), unique.tolist(), expected, strict=True):
            rows = np.flatnonzero(found >= 0)
            assert table[rows, found[rows]].sum() == total
            others = []
            for i in rows:
                less = table.copy()
                less[i, found[i]] = 0
                others.append(less[linear_sum_assignment(less, maximize=True)].sum() == total)
            assert only == (not any(others))


def test_a_large_sparse_table_of_known_matching() -> None:
    """A permutation of heavy cells hidden among light ones: both matchings must find it."""
    size = 5000
    heavy = torch.randperm(size, generator=torch.Generator().manual_seed(11))
    row = torch.arange(size).repeat(3)
    column = torch.cat([heavy, heavy.roll(1), heavy.roll(7)])
    count = torch.cat([torch.full((size,), 10**9), torch.full((2 * size,), 5)])
    cells = (torch.zeros_like(row), row, column, count, 1)
    assert sparse_max_assignment(*cells).tolist() == [size * 10**9]
    assert match_sparse(*cells)[1].item()
    assert assignment.sparse_greedy_assignment(*cells, size, size).tolist() == [size * 10**9]


def greedy_by_loop(table: list[list[int]]) -> int:
    cells = sorted((-x, i, j) for i, row in enumerate(table) for j, x in enumerate(row))
    rows, columns, value = set(), set(), 0
    for x, i, j in cells:
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            value -= x
    return value


@pytest.mark.parametrize("shape", [*SHAPES, (20, 20), (15, 40)])
@pytest.mark.parametrize("high", [3, 1000, 10**12])
def test_greedy_equals_the_loop(shape: tuple[int, int], high: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = random_tables(shape, high, seed=5)
    expected = [greedy_by_loop(table) for table in tables.tolist()]
    assert assignment.sparse_greedy_assignment(*(*as_cells(tables), *shape)).tolist() == expected
    assert [assignment.greedy_assignment(table).item() for table in tables] == expected
    for few in (0, 10**9):
        monkeypatch.setattr(assignment, "_FEW_SORTED", few)
        assert (
            assignment.greedy_assignment(tables).tolist()
            == assignment.greedy_assignment(tables.double()).tolist()
            == expected
        )


@pytest.mark.parametrize("function", [max_assignment, assignment.greedy_assignment])
def test_shapes_gradients_and_padding(function: Callable[[Tensor], Tensor]) -> None:
    tables = random_tables((3, 4), 9, seed=8, count=6)
    expected = function(tables).tolist()
    assert function(tables.view(2, 3, 3, 4)).flatten().tolist() == expected
    assert function(tables[0]).shape == ()
    assert function(tables[:0]).shape == (0,)
    assert function(tables[:, :0]).tolist() == [0] * 6
    assert function(torch.nn.functional.pad(tables, (1, 2, 0, 5))).tolist() == expected
    assert function(tables.mT).tolist() == expected
    counts = torch.rand(6, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).requires_grad_()
    (gradient,) = torch.autograd.grad(function(counts).sum(), counts)
    assert gradient.sum((1, 2)).tolist() == [4.0] * 6  # one for each matched cell
    assert set(gradient.flatten().tolist()) == {0.0, 1.0}
    broken = counts.detach().index_fill(2, torch.tensor(3), torch.nan)
    assert max_assignment(broken[0]).item() == max_assignment(broken)[0].item()  # nan counts 0
