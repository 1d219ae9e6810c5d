"""Matchings against brute force over permutations, SciPy, and a greedy loop."""

from itertools import permutations

import numpy as np
import pytest
import torch

from torchclusteval.measures import assignment
from torchclusteval.measures import greedy_assignment as greedy
from torchclusteval.measures.assignment import max_assignment, sparse_max_assignment
from torchclusteval.measures.batched_assignment import solve_batched
from torchclusteval.measures.greedy_assignment import greedy_assignment, sparse_greedy_assignment
from torchclusteval.measures.outweighing_cells import outweighing_cells

SHAPES = [(1, 1), (1, 4), (2, 2), (3, 5), (5, 3), (4, 4), (6, 6)]


def best_by_permutations(table):
    table = np.asarray(table, dtype=object)
    if table.shape[0] > table.shape[1]:
        table = table.T
    rows = range(table.shape[0])
    return max(
        sum(table[i, j] for i, j in zip(rows, p, strict=True))
        for p in permutations(range(table.shape[1]), table.shape[0])
    )


def greedy_by_loop(table):
    cells = sorted((-x, i, j) for i, row in enumerate(table) for j, x in enumerate(row))
    rows, columns, value = set(), set(), 0
    for x, i, j in cells:
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            value -= x
    return value


def batched(tables):
    """The solver for devices without SciPy."""
    wide = tables if tables.shape[1] <= tables.shape[2] else tables.mT
    return wide.gather(2, solve_batched(wide)[..., None]).sum((1, 2))


def as_cells(tables):
    index = tables.nonzero()
    return (*index.unbind(1), tables[tuple(index.unbind(1))], *tables.shape)


def random_tables(shape, count, high, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(high, (count, *shape), generator=generator)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("high", [2, 5, 10**12])
def test_small_tables_equal_brute_force(shape, high, monkeypatch):
    tables = random_tables(shape, 12, high, seed=high % 97)
    expected = [best_by_permutations(t) for t in tables.tolist()]
    assert max_assignment(tables).tolist() == expected
    assert batched(tables).tolist() == expected
    assert sparse_max_assignment(*as_cells(tables)).tolist() == expected
    monkeypatch.setattr(assignment, "SMALL_TABLE_CELLS", 0)  # SciPy's sparse solver also for small tables
    assert sparse_max_assignment(*as_cells(tables)).tolist() == expected
    by_loop = [greedy_by_loop(t) for t in tables.tolist()]
    assert greedy_assignment(tables).tolist() == by_loop
    monkeypatch.setattr(greedy, "_FEW_CELLS", 0)  # the ways of many tables
    assert greedy_assignment(tables).tolist() == by_loop
    assert greedy_assignment(tables.double()).tolist() == by_loop
    monkeypatch.setattr(greedy, "MANY_GROUPS", 0)  # the way of large ones
    assert greedy_assignment(tables).tolist() == by_loop
    assert sparse_greedy_assignment(*as_cells(tables)).tolist() == by_loop


@pytest.mark.parametrize("shape", [(20, 20), (15, 40), (40, 15)])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_solvers_agree_on_larger_tables(shape, density, monkeypatch):
    scipy_solver = pytest.importorskip("scipy.optimize").linear_sum_assignment
    tables = random_tables(shape, 8, 1000, seed=3)
    tables[torch.rand(tables.shape, generator=torch.Generator().manual_seed(4)) > density] = 0
    expected = [int(t[scipy_solver(t, maximize=True)].sum()) for t in tables.numpy()]
    monkeypatch.setattr(assignment, "SMALL_TABLE_CELLS", 0)
    assert max_assignment(tables).tolist() == expected
    assert batched(tables).tolist() == expected
    assert sparse_max_assignment(*as_cells(tables)).tolist() == expected
    monkeypatch.setattr(assignment, "_load", lambda name: None)
    assert max_assignment(tables).tolist() == expected
    by_loop = [greedy_by_loop(t) for t in tables.tolist()]
    assert greedy_assignment(tables).tolist() == by_loop
    monkeypatch.setattr(greedy, "MANY_GROUPS", 0)
    assert greedy_assignment(tables).tolist() == by_loop
    assert sparse_greedy_assignment(*as_cells(tables)).tolist() == by_loop


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize(("shape", "cells", "high"), [((5, 5), 8, 3), ((4, 6), 9, 20), ((6, 4), 6, 2)])
def test_cells_that_outweigh_others_are_in_a_best_matching(shape, cells, high, fractions):
    """Taken cells rule out none that is left, and what is left has the rest of the weight; many ties."""
    generator = np.random.default_rng(high)
    tables = torch.zeros(300, shape[0] * shape[1], dtype=torch.int64)
    for table in tables:
        table[generator.permutation(len(table))[:cells]] = torch.from_numpy(generator.integers(1, high, cells))
    tables = tables.view(300, *shape)
    weights = tables.double() / 7 if fractions else tables
    expected = [best_by_permutations(table) for table in weights.tolist()]
    batch, row, column, weight = as_cells(weights)[:4]
    taken, left = (torch.from_numpy(x) for x in outweighing_cells(*(x.numpy() for x in (batch, row, column, weight))))
    assert taken.sum() > 300
    assert (taken & left).sum() == 0
    rest = torch.zeros_like(weights).index_put((batch[left], row[left], column[left]), weight[left])
    chosen = torch.zeros_like(weights).index_put((batch[taken], row[taken], column[taken]), weight[taken])
    for side in (1, 2):
        assert ((chosen > 0).sum(side) <= 1).all()
        assert not ((chosen > 0).any(side) & (rest > 0).any(side)).any()
    found = [best_by_permutations(a) + b for a, b in zip(rest.tolist(), chosen.sum((1, 2)).tolist(), strict=True)]
    assert found == pytest.approx(expected, abs=1e-12)
    assert sparse_max_assignment(*as_cells(weights)).tolist() == pytest.approx(expected, abs=1e-12)


def test_tables_that_agree_leave_nothing_to_solve(monkeypatch):
    """Every group keeps most of its items; and a table of many cells beside them is solved as ever."""
    monkeypatch.setattr(assignment, "max_assignment", lambda tables: tables.new_full(tables.shape[:1], -1000))
    tables = 5 * torch.eye(20, dtype=torch.int64).expand(50, 20, 20).clone()
    tables[:, torch.arange(19), torch.arange(1, 20)] = 2
    assert sparse_max_assignment(*as_cells(tables)).tolist() == [100] * 50
    tables[7] += 1
    assert sparse_max_assignment(*as_cells(tables)).tolist() == [100] * 7 + [-1000] + [100] * 42
    assert sparse_max_assignment(*as_cells(tables[:0])).tolist() == []


def test_float_tables_keep_type_and_gradient(monkeypatch):
    generator = torch.Generator().manual_seed(5)
    tables = torch.rand(6, 4, 5, generator=generator, dtype=torch.float64)
    expected = torch.tensor([best_by_permutations(t) for t in tables.tolist()], dtype=torch.float64)
    for load in (assignment._load, lambda name: None):
        monkeypatch.setattr(assignment, "_load", load)
        counts = tables.clone().requires_grad_()
        value = max_assignment(counts)
        torch.testing.assert_close(value.detach(), expected, rtol=1e-14, atol=0)
        value.sum().backward()
        assert counts.grad is not None
        assert counts.grad.sum((1, 2)).tolist() == [4.0] * 6  # one for each matched cell
        assert set(counts.grad.flatten().tolist()) == {0.0, 1.0}
    counts = tables.clone().requires_grad_()
    greedy_assignment(counts).sum().backward()
    assert counts.grad is not None
    assert counts.grad.sum((1, 2)).tolist() == [4.0] * 6


def test_greedy_is_not_the_best_and_takes_ties_in_order():
    """By hand: greedy takes 5 then 0, the best is 4 + 4; of equal cells the lowest row and column go first."""
    assert greedy_assignment(torch.tensor([[5, 4], [4, 0]])).item() == 5
    assert max_assignment(torch.tensor([[5, 4], [4, 0]])).item() == 8
    tied = torch.tensor([[3, 3], [3, 0]])
    assert greedy_assignment(tied).item() == 3  # (0, 0), then (1, 1)
    assert sparse_greedy_assignment(*as_cells(tied[None])).tolist() == [3]
    assert max_assignment(tied).item() == 6


@pytest.mark.parametrize("function", [max_assignment, greedy_assignment])
def test_shapes(function):
    tables = random_tables((3, 4), 6, 9, seed=8)
    assert function(tables.view(2, 3, 3, 4)).tolist() == function(tables).view(2, 3).tolist()
    assert function(tables[0]).shape == ()
    assert function(tables[:0]).shape == (0,)
    assert function(tables[:, :0]).tolist() == [0] * 6
    assert function(tables).dtype == torch.int64


@pytest.mark.parametrize("solver", [max_assignment, batched, greedy_assignment])
def test_padding_and_the_side_of_the_classes_change_nothing(solver):
    tables = random_tables((4, 6), 10, 50, seed=9)
    padded = torch.nn.functional.pad(tables, (1, 2, 0, 5))
    assert solver(padded).tolist() == solver(tables).tolist()
    assert solver(tables.mT).tolist() == solver(tables).tolist()


def test_sparse_tables_without_cells():
    none = torch.zeros(0, dtype=torch.int64)
    assert sparse_max_assignment(none, none, none, none, 3, 1000, 1000).tolist() == [0, 0, 0]
    assert sparse_greedy_assignment(none, none, none, none, 3, 1000, 1000).tolist() == [0, 0, 0]


def test_large_sparse_table_without_scipy_names_the_alternative(monkeypatch):
    load = assignment._load  # the dense solver stays: the torch one would take minutes here
    monkeypatch.setattr(assignment, "_load", lambda name: None if "csgraph" in name else load(name))
    one = torch.ones(1, dtype=torch.int64)
    assert sparse_max_assignment(0 * one, one, one, 7 * one, 1, 2000, 2000).tolist() == [7]
    with pytest.raises(ValueError, match="greedy_one_to_one_accuracy"):
        sparse_max_assignment(0 * one, one, one, one, 1, 2001, 2000)


def test_a_large_sparse_table_of_known_matching():
    """A permutation of heavy cells hidden among light ones: both matchings must find it."""
    size = 5000
    generator = torch.Generator().manual_seed(11)
    heavy = torch.randperm(size, generator=generator)
    row = torch.arange(size).repeat(3)
    column = torch.cat([heavy, heavy.roll(1), heavy.roll(7)])
    count = torch.cat([torch.full((size,), 10**9), torch.full((2 * size,), 5)])
    cells = (torch.zeros_like(row), row, column, count, 1, size, size)
    assert sparse_max_assignment(*cells).tolist() == [size * 10**9]
    assert sparse_greedy_assignment(*cells).tolist() == [size * 10**9]


def test_many_small_sparse_tables_without_scipy(monkeypatch):
    """The batch as a whole has more cells than are made dense at a time; each table has few."""
    tables = random_tables((5, 7), 60, 9, seed=11)
    expected = [best_by_permutations(t) for t in tables.tolist()]
    monkeypatch.setattr(assignment, "_load", lambda name: None)
    monkeypatch.setattr(assignment, "MAX_DENSE_CELLS", 100)
    assert sparse_max_assignment(*as_cells(tables)).tolist() == expected
