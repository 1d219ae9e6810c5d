"""The rule for ties of ``assignment_ties`` on sparse tables.

Rows that can exchange their columns in a circle are the strongly connected ones of the graph of exchanges; only their
tight edges matter. Small components of these are solved as dense tables, large ones row by row.
"""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.measures.assignment_ties import Choices, Solver, smallest_matching
from torchclusteval.measures.sparse_assignment import (
    Array,
    Block,
    Edges,
    components,
    edges_of,
    graph_of,
    solve,
    tie_tolerance,
)

_DENSE_COMPONENT_CELLS = 1 << 10
_MIN_STEPS, _CELLS_PER_STEP = 200, 16  # steps of searches that take as long as to find the parts again


def best_cells_by_rule(
    table: Array, row: Array, column: Array, weight: Array, solve_costs: Solver
) -> tuple[Array, Array]:
    """The lexicographically smallest of the best matchings.

    Args:
        table: ``(Z,)`` int64, the table of each non-zero cell.
        row: ``(Z,)`` int64.
        column: ``(Z,)`` int64.
        weight: ``(Z,)`` int64 or float64, positive; a cell occurs once.
        solve_costs: gives the assignment of the smallest cost.

    Returns:
        ``(Z,)`` bool: the cells of the matching; the tables with several best matchings.
    """
    edges, row_table = edges_of(table, row, column, weight)
    found = solve(edges)
    slack = tie_tolerance(edges.weight, table)
    tight = np.flatnonzero(found.row_price[edges.row] + found.column_price[edges.column] - edges.weight <= slack)
    place = np.full(len(row) + 1, -1)
    place[tight] = np.arange(len(tight))
    row_slack, column_slack = np.zeros(edges.n), np.zeros(edges.m)
    row_slack[edges.row], column_slack[edges.column] = slack, slack
    own = place[found.edge_of_row]
    skips = (found.row_price <= row_slack, found.column_price <= column_slack)
    tied = choose_smallest_edges(edges.take(tight), own, *skips, row_table, solve_costs)
    chosen = np.zeros(len(row), bool)
    chosen[tight[own[own >= 0]]] = True
    return chosen, np.unique(row_table[tied])


def choose_smallest_cells(choices: Choices, matched: Tensor, solve_costs: Solver) -> tuple[Tensor, Tensor]:
    """As ``assignment_ties.choose_smallest``, faster on the host."""
    size, n, m = choices.cells.shape
    table, row, column = choices.cells.numpy().nonzero()
    tight = Edges(table * n + row, table * m + column, row, size * n, size * m)
    before = matched.numpy().reshape(-1)
    place = np.flatnonzero(column == before[tight.row])
    own = np.full(size * n, -1)
    own[tight.row[place]] = place
    skips = (choices.may_skip_row.numpy().reshape(-1), choices.may_skip_column.numpy().reshape(-1))
    tied = choose_smallest_edges(tight, own, *skips, np.arange(size * n) // n, solve_costs)
    unique = np.ones(size, bool)
    unique[tied // n] = False
    after = np.append(column, -1)[own].reshape(size, n)
    return torch.from_numpy(after), torch.from_numpy(unique)


def choose_smallest_edges(
    tight: Edges, own: Array, skip_row: Array, skip_column: Array, row_table: Array, solve_costs: Solver
) -> Array:
    """Replace a best matching by the smallest one.

    Args:
        tight: the tight edges of all tables.
        own: ``(n,)`` edge of each row in the matching, -1 for none; changed in place.
        skip_row: ``(n,)`` bool, rows without a price.
        skip_column: ``(m,)`` bool, columns likewise.
        row_table: ``(n,)`` table of each row.
        solve_costs: gives the assignment of the smallest cost.

    Returns:
        The rows that have other columns in other best matchings.
    """
    n = tight.n
    matched = np.flatnonzero(own >= 0)
    own_column = tight.column[own[matched]]
    outside = n + row_table  # node of each row's table: without a partner, or a column without one
    owner = np.full(tight.m, -1)
    owner[own_column] = matched
    taken_from = owner[tight.column]
    target = np.where(taken_from >= 0, taken_from, outside[tight.row])
    leaving = matched[skip_row[matched]]
    gives = own < 0
    gives[matched] = skip_column[own_column]
    giving = np.flatnonzero(gives)
    moves = np.flatnonzero(target != tight.row)
    graph = graph_of(
        np.concatenate([tight.row[moves], leaving, outside[giving]]),
        np.concatenate([target[moves], outside[leaving], giving]),
        n + int(row_table.max(initial=-1)) + 1,
    )
    count, part = import_module("scipy.sparse.csgraph").connected_components(graph, connection="strong")
    in_circle = (np.bincount(part, minlength=count) > 1)[part[:n]]
    tied = np.flatnonzero(in_circle)
    if not len(tied):
        return tied
    options = np.flatnonzero(in_circle[tight.row] & (part[tight.row] == part[target]))
    skip = in_circle & ((own < 0) | (skip_row & (part[:n] == part[outside])))
    choices = tight.take(options)
    for piece in components(choices, _DENSE_COMPONENT_CELLS):
        if isinstance(piece, Block):
            _choose_in_block(piece, options, own, skip, skip_column, solve_costs)
        else:
            _choose_row_by_row(tight, options[piece], own, skip, skip_column)
    return tied


def _choose_in_block(
    block: Block,
    options: Array,
    edge_of_row: Array,
    skip: Array,
    skip_column: Array,
    solve_costs: Solver,
) -> None:
    """As :func:`_choose_row_by_row`, for the small components of one shape."""
    numbers = block.table(options[block.edge], -1)
    cells = torch.from_numpy(numbers >= 0)
    real = block.row >= 0
    skips = ~real | skip[block.row]
    free = (block.column < 0) | skip_column[block.column]
    choices = Choices(cells, torch.from_numpy(skips), torch.from_numpy(free))
    smallest = smallest_matching(choices, solve_costs).numpy()
    after = np.where(smallest >= 0, np.take_along_axis(numbers, smallest.clip(0)[..., None], 2)[..., 0], -1)
    edge_of_row[block.row[real]] = after[real]


# --- large components: row by row ---------------------------------------------------------------------------

_OUTSIDE = -1


class _Exchange:
    """The choices of a component, its matching so far, and searches for exchanges among rows that are not fixed.

    Exchanges are within the strongly connected parts of the rows that are not fixed. These are found again whenever the
    searches have taken about as long as that takes; a search never leaves the part of its row.
    """

    def __init__(self, tight: Edges, options: Array, own: Array, skip: Array, skip_column: Array) -> None:
        options = options[np.lexsort((tight.column[options], tight.row[options]))]
        self.options = options
        self.ids, self.row = np.unique(tight.row[options], return_inverse=True)
        columns, self.column = np.unique(tight.column[options], return_inverse=True)
        self.n, self.m = len(self.ids), len(columns)
        place = np.full(tight.m + 1, -1)
        place[columns] = np.arange(self.m)
        had = own[self.ids]
        now = np.where(had >= 0, place[tight.column[had]], -1)
        self.column_of: list[int] = now.tolist()
        self.owner: list[int] = [_OUTSIDE] * self.m
        for i, j in enumerate(self.column_of):
            if j >= 0:
                self.owner[j] = i
        self.columns = _lists(self.row, self.column, self.n)
        self.rows = _lists(self.column, self.row, self.m)
        self.skips: list[bool] = skip[self.ids].tolist()
        self.gives: list[bool] = skip_column[columns].tolist()
        self.fixed = 0  # rows before this one are fixed
        self.label = [0] * (self.n + 1)
        self.labelled = -1  # how many rows were fixed when the labels were made
        self.steps = 0  # of searches since then
        self.most_steps = _MIN_STEPS + len(options) // _CELLS_PER_STEP

    def settle(self, i: int) -> None:
        """Give a row the smallest column that some best matching gives it, and fix it."""
        now = self.column_of[i]
        for j in self.columns[i]:
            if j == now:
                break
            first = self.owner[j]
            if (first == _OUTSIDE or first >= self.fixed) and self._exchange(i, j, first):
                break
        self.fixed = i + 1

    def chosen(self) -> tuple[Array, Array]:
        """The rows, and the option that each has, -1 for none."""
        edge = np.full(self.n, -1)
        mine = np.flatnonzero(np.array(self.column_of)[self.row] == self.column)
        edge[self.row[mine]] = self.options[mine]
        return self.ids, edge

    def _make_labels(self) -> None:
        column_of, owner = np.array(self.column_of), np.array(self.owner)
        free = np.arange(self.n) >= self.fixed
        target = owner[self.column]
        moves = np.flatnonzero(free[self.row] & ((target == _OUTSIDE) | free[target]) & (target != self.row))
        taken = column_of >= 0
        gives = free & (~taken | np.array(self.gives)[column_of])
        leaves = np.flatnonzero(free & taken & np.array(self.skips))
        giving = np.flatnonzero(gives)
        outside = np.full(1, self.n)
        graph = graph_of(
            np.concatenate([self.row[moves], leaves, np.repeat(outside, len(giving))]),
            np.concatenate(
                [np.where(target[moves] == _OUTSIDE, self.n, target[moves]), np.repeat(outside, len(leaves)), giving]
            ),
            self.n + 1,
        )
        _, label = import_module("scipy.sparse.csgraph").connected_components(graph, connection="strong")
        self.label, self.labelled, self.steps = label.tolist(), self.fixed, 0  # the label of _OUTSIDE is the last one

    def _exchange(self, i: int, j: int, first: int) -> bool:
        """Give row ``i`` column ``j`` of row ``first``, if the rows on a path from there to ``i`` can move up."""
        if self.label[first] != self.label[i]:
            return False
        ahead: dict[int, tuple[int, int]] = {first: (i, j)}  # row -> the row before it, and the column that it takes
        behind: dict[int, tuple[int, int]] = {i: (-1, -1)}  # row -> the column that it takes, and the row after it
        if self._gives(i):
            behind[_OUTSIDE] = (self.column_of[i], i)
        if first in behind:
            return self._rotate(i, first, ahead, behind)
        to_do, done = [[x for x in (first,) if x != _OUTSIDE], [i]], [0, 0]
        while True:
            open_sides = [side for side in (0, 1) if done[side] < len(to_do[side])]
            if not open_sides or (0 not in open_sides and _OUTSIDE not in ahead):
                return False
            if 1 not in open_sides and _OUTSIDE not in behind:
                return False
            self.steps += 1
            if self.labelled != self.fixed and self.steps > self.most_steps:
                self._make_labels()
                if self.label[first] != self.label[i]:
                    return False
            side = min(open_sides, key=lambda s: len(to_do[s]))
            row = to_do[side][done[side]]
            done[side] += 1
            met = (self._behind if side else self._ahead)(row, self.label[i], ahead, behind, to_do[side])
            if met is not None:
                return self._rotate(i, met, ahead, behind)

    def _gives(self, row: int) -> bool:
        column = self.column_of[row]
        return column < 0 or self.gives[column]

    def _ahead(self, row: int, part: int, ahead: Any, behind: Any, to_do: list[int]) -> int | None:
        own = self.column_of[row]
        steps = [(self.owner[j], j) for j in self.columns[row] if j != own]
        if self.skips[row] and own >= 0:
            steps.append((_OUTSIDE, -1))
        for after, j in steps:
            if after in ahead or self.label[after] != part or (after != _OUTSIDE and after < self.fixed):
                continue
            ahead[after] = (row, j)
            if after in behind:
                return after
            if after != _OUTSIDE:
                to_do.append(after)
        return None

    def _behind(self, row: int, part: int, ahead: Any, behind: Any, to_do: list[int]) -> int | None:
        own = self.column_of[row]
        if own < 0:
            return None
        for before in self.rows[own]:
            if before in behind or before < self.fixed or self.label[before] != part:
                continue
            behind[before] = (own, row)
            if before in ahead:
                return before
            if self._gives(before) and _OUTSIDE not in behind:
                behind[_OUTSIDE] = (self.column_of[before], before)
                if _OUTSIDE in ahead:
                    return _OUTSIDE
            to_do.append(before)
        return None

    def _rotate(self, i: int, met: int, ahead: dict[int, tuple[int, int]], behind: dict[int, tuple[int, int]]) -> bool:
        """Move every row on the path up to the next column."""
        takes: list[tuple[int, int]] = []  # row and its new column
        at = met
        while at != i or not takes:
            before, column = ahead[at]
            if before != _OUTSIDE:
                takes.append((before, column))
            at = before
            if at == i:
                break
        at = met
        while at != i:
            column, after = behind[at]
            if at != _OUTSIDE:
                takes.append((at, column))
            at = after
        for row, _ in takes:
            old = self.column_of[row]
            if old >= 0:
                self.owner[old] = _OUTSIDE
        for row, column in takes:
            self.column_of[row] = column
        for row, column in takes:
            if column >= 0:
                self.owner[column] = row
        return True


def _lists(key: Array, value: Array, size: int) -> list[list[int]]:
    """The values of each key, in order."""
    order = np.argsort(key, kind="stable")
    ends = np.cumsum(np.bincount(key, minlength=size)).tolist()
    values = value[order].tolist()
    return [values[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _choose_row_by_row(tight: Edges, options: Array, own: Array, skip: Array, skip_column: Array) -> None:
    """Replace the matching of a component, in place, by the smallest one: each row in turn takes what it can."""
    exchange = _Exchange(tight, options, own, skip, skip_column)
    for i in range(exchange.n):
        exchange.settle(i)
    rows, edges = exchange.chosen()
    own[rows] = edges
