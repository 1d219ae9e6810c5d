"""The best one-to-one matchings of sparse tables, by SciPy on the host.

The cells of all tables are the edges of one graph. Those that outweigh what they rule out are taken at once: a cell
rules out one other cell of its row and one of its column, and if the heaviest of these weigh no more together, a
matching without the cell gets no worse by taking it. Where two sides agree on most groups, little is left. It falls
into connected components, of which small ones are solved as dense tables.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.measures.assignment import Array, costs_of, lowered, weights_on_host

_MAX_ROUNDS, _FEW_TAKEN = 8, 50  # rounds go on as long as more than one of so many cells is taken
_FEW_CELLS = 1 << 12  # of all that is left, up to which it is solved as one dense table
_DENSE_COMPONENT_CELLS = 1 << 15
_BLOCK_CELLS = 1 << 20  # cells of the dense tables in memory at a time


class Edges(NamedTuple):
    """Cells, each once, of groups that are numbered over all tables."""

    row: Array  # (Z,) int64, below n
    column: Array  # (Z,) int64, below m
    weight: Array  # (Z,) int64 or float64
    n: int
    m: int


def sparse_max_assignment(batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int) -> Tensor:
    """Items in the best matching of each table, ``(batch_size,)`` of the type of ``count``.

    Of each non-zero cell, all ``(Z,)``: its table, row, column and count, above 0; a cell occurs once.
    """
    chosen = torch.from_numpy(_best_edges(_edges_of(batch_index, row, column, count)))
    return sum_cells(chosen.nonzero().squeeze(1), batch_index, count, batch_size)


def match_sparse(
    batch_index: Tensor, row: Tensor, column: Tensor, weight: Tensor, batch_size: int
) -> tuple[Tensor, Tensor]:
    """The cells of a best matching, ``(Z,)`` bool, and whether no other matching is as good, ``(batch_size,)`` bool."""
    edges = _edges_of(batch_index, row, column, weight)
    chosen = _best_edges(edges)
    table = batch_index.cpu().numpy()
    largest, most_pairs = _largest_at(table, batch_size, edges.weight), np.bincount(table[chosen]).max(initial=0)
    again = _best_edges(edges._replace(weight=lowered(edges.weight, chosen, largest, int(most_pairs))))
    unique = torch.ones(batch_size, dtype=torch.bool)
    unique[table[again != chosen]] = False
    return torch.from_numpy(chosen).to(weight.device), unique.to(weight.device)


def sum_cells(picked: Tensor, batch_index: Tensor, count: Tensor, batch_size: int) -> Tensor:
    """Items of the cells with these numbers, ``(batch_size,)``."""
    picked = picked.to(count.device)
    return count.new_zeros(batch_size).index_add(0, batch_index[picked], count[picked])


def _edges_of(batch_index: Tensor, row: Tensor, column: Tensor, weight: Tensor) -> Edges:
    table = batch_index.cpu().numpy()
    (rows, n), (columns, m) = (_codes(table, group.cpu().numpy()) for group in (row, column))
    return Edges(rows, columns, weights_on_host(weight).numpy(), n, m)


def _codes(table: Array, group: Array) -> tuple[Array, int]:
    """``(Z,)`` code of the group of each cell, other ones in other tables, and a bound of the codes."""
    width = int(group.max(initial=0)) + 1
    keys, bound = table * width + group, (int(table.max(initial=-1)) + 1) * width
    if bound <= 4 * len(keys) + 1024:
        return keys, bound
    distinct, codes = np.unique(keys, return_inverse=True)
    return codes, len(distinct)


def _best_edges(edges: Edges) -> Array:
    """``(Z,)`` bool: the cells of a best matching of each table, all above 0."""
    chosen, rest = _take_outweighing(edges)
    if len(rest):
        chosen[rest[_solve_components(*(x[rest] for x in edges[:3]))]] = True
    return chosen


def _take_outweighing(edges: Edges) -> tuple[Array, Array]:
    """Cells of a best matching, ``(Z,)`` bool, and the numbers of the cells left, which share no group with them."""
    chosen, rest = np.zeros(len(edges.row), bool), np.flatnonzero(edges.weight > 0)
    for _ in range(_MAX_ROUNDS):
        sides, worth = ((edges.row[rest], edges.n), (edges.column[rest], edges.m)), edges.weight[rest]
        heaviest = np.flatnonzero(np.logical_and(*(worth == _largest_at(*side, worth) for side in sides)))
        for group, size in sides:  # the first one of each row and column
            first = np.empty(size, np.int64)
            first[group[heaviest[::-1]]] = heaviest[::-1]
            heaviest = heaviest[first[group[heaviest]] == heaviest]
        others = worth.copy()
        others[heaviest] = 0
        ruled_out = _largest_at(*sides[0], others) + _largest_at(*sides[1], others)
        taken = heaviest[worth[heaviest] >= ruled_out[heaviest]]
        chosen[rest[taken]] = True
        free = np.ones(len(rest), bool)
        for group, size in sides:
            used = np.zeros(size, bool)
            used[group[taken]] = True
            free &= ~used[group]
        rest = rest[free]
        if len(taken) * _FEW_TAKEN <= len(rest):
            break
    return chosen, rest


def _largest_at(group: Array, size: int, values: Array) -> Array:
    """For each value the largest of its group, or 0 where that is larger."""
    places, weights = torch.from_numpy(group), torch.from_numpy(values)
    largest = torch.zeros(size, dtype=weights.dtype).scatter_reduce_(0, places, weights, "amax")
    found: Array = largest[places].numpy()
    return found


def _solve_components(row: Array, column: Array, weight: Array) -> Array:
    """Numbers of the cells of a best matching."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    row, column = _numbered(row), _numbered(column)
    n, m = row.max() + 1, column.max() + 1
    if n * m <= _FEW_CELLS:
        return _solve_small(row * m + column, weight, *np.array([[0], [n], [m]]))
    graph = csr_array((weight, (row, n + column)), shape=(n + m, n + m))
    count, label = connected_components(graph, directed=False)
    own = label[row]
    (heights, rows), (widths, columns) = _places(label[:n], count), _places(label[n:], count)
    row, column, cells = rows[row], columns[column], heights * widths
    order = np.argsort(own, kind="stable")
    chosen = []
    for large in np.flatnonzero(cells > _DENSE_COMPONENT_CELLS).tolist():
        part = order[slice(*np.searchsorted(own[order], [large, large + 1]))]
        chosen.append(part[_solve_large(row[part], column[part], weight[part], heights[large], widths[large])])
    order = order[cells[own[order]] <= _DENSE_COMPONENT_CELLS]
    cells[cells > _DENSE_COMPONENT_CELLS] = 0
    start = np.cumsum(cells) - cells  # place of the first cell of each component
    at = start[own] + row * widths[own] + column
    for part in np.split(order, np.flatnonzero(np.diff(start[own[order]] // _BLOCK_CELLS)) + 1):
        if len(part):
            members = own[part][np.diff(own[part], prepend=-1) > 0]
            first = start[members] - start[members[0]]
            place = at[part] - start[members[0]]
            chosen.append(part[_solve_small(place, weight[part], first, heights[members], widths[members])])
    return np.concatenate(chosen)


def _numbered(group: Array) -> Array:
    """The groups that occur, numbered in order."""
    used = np.zeros(group.max() + 1, bool)
    used[group] = True
    return (np.cumsum(used) - 1)[group]


def _places(label: Array, count: int) -> tuple[Array, Array]:
    """Groups of one side in each component, and the place of each group among them."""
    size = np.bincount(label, minlength=count)
    order = np.argsort(label, kind="stable")
    place = np.empty(len(label), np.int64)
    place[order] = np.arange(len(label)) - (np.cumsum(size) - size)[label[order]]
    return size, place


def _solve_small(place: Array, weight: Array, first: Array, heights: Array, widths: Array) -> Array:
    """Numbers of the cells of a best matching, of tables one after another that begin at the places ``first``."""
    weights = np.zeros(int(first[-1] + heights[-1] * widths[-1]), weight.dtype)
    weights[place] = weight
    costs, solve = costs_of(weights)
    rows, columns = [], []
    for begin, height, width in zip(first.tolist(), heights.tolist(), widths.tolist(), strict=True):
        row, column = solve(costs[begin : begin + height * width].reshape(height, width))
        rows.append(row)
        columns.append(column)
    pairs = np.minimum(heights, widths)
    taken = np.zeros(len(costs), bool)
    taken[np.repeat(first, pairs) + np.concatenate(rows) * np.repeat(widths, pairs) + np.concatenate(columns)] = True
    return np.flatnonzero(taken[place])


def _solve_large(row: Array, column: Array, weight: Array, n: int, m: int) -> Array:
    """Numbers of the cells of a best matching.

    SciPy's solver matches every row and drops cells of 0. So each row gets a column of its own that stands for "no
    partner", and every cell is made heavier by the same. Equal cells are left where labels are random: as many as
    possible are found much faster.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

    if n > m:
        return _solve_large(column, row, weight, m, n)
    more = float(weight.max())
    if more == weight.min():
        partner = maximum_bipartite_matching(csr_array((weight, (row, column)), shape=(n, m)), perm_type="column")
    else:
        alone = np.arange(n)
        places = (np.concatenate([row, alone]), np.concatenate([column, m + alone]))
        entries = np.concatenate([weight + more, np.full(n, more)])
        graph = csr_array((entries, places), shape=(n, m + n))
        partner = min_weight_full_bipartite_matching(graph, maximize=True)[1]  # rows are in order
    return np.flatnonzero(partner[row] == column)
