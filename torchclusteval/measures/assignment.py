"""The best one-to-one matchings of classes and clusters, by SciPy on the host, and the greedy one.

The matching is chosen on detached counts and the cells are then read from the counts given, so integers stay exact and
gradients pass through.

To see whether another matching is as good, the cells of the found matching are made slightly lighter and the table is
solved again: only another matching of the same total can then win. For many small tables of small numbers it is faster
to try all exchanges of partners.

The cells of all sparse tables are the edges of one graph. A chosen cell rules out at most one other cell of its row and
one of its column. If the heaviest of these weigh no more together than the cell, a matching without the cell gets no
worse by taking it, so it is taken at once. Where two sides agree on most groups, little is left: connected components,
the small ones of which are solved as dense tables.

The greedy matching takes the largest remaining cell and drops its row and column; ties go to the lowest row, then the
lowest column.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible

TIE_TOLERANCE = 1e-12  # of fractions, for each pair that differs, times the largest weight where that is above 1

_FEW_CELLS = 1 << 12  # up to here the solver takes less time than to look for tables that need none
_BLOCK_CELLS = 1 << 19  # cells of the tables that are solved at a time
_EXACT_IN_FLOAT64 = 1 << 51  # sum of the largest cells of the rows up to which SciPy's sums of paths are exact
_EXCHANGED_GROUPS, _EXCHANGED_ITEMS = 64, 1 << 13  # tables of which exchanges are looked at: their sums fit in int16
_MAX_ROUNDS, _FEW_TAKEN = 8, 50  # rounds go on as long as more than one of so many cells is taken
_FEW_LEFT = 1 << 12  # of all that is left, up to which it is solved as one dense table
_DENSE_COMPONENT_CELLS = 1 << 15
_PART_CELLS = 1 << 20  # cells of the dense tables in memory at a time
_FEW_SORTED, _MANY_GROUPS = 1_000, 128  # of all tables; rows and columns: where the loop over sorted cells is faster
_EXACT_IN_INT32 = 1 << 31

Array = np.ndarray[Any, Any]
Solver = Callable[[Array], tuple[Array, Array]]


def max_assignment(counts: Tensor) -> Tensor:
    """Items in the best matching of ``(*batch, R, C)`` tables with counts from 0 on: ``(*batch,)`` of their type."""
    if counts.dim() == 2 and counts.is_cpu and not counts.requires_grad:  # in the fewest calls
        weights = counts.numpy() if counts.shape[0] <= counts.shape[1] else counts.numpy().T
        if weights.dtype.kind != "f" or not np.isnan(np.add.reduce(weights, None)):
            costs, solve = costs_of(weights)
            return sum_reproducible(torch.from_numpy(weights[solve(costs)]))
    tables = flatten_batch(counts)
    if tables.shape[1] > tables.shape[2]:
        tables = tables.mT
    fixed = weights_on_host(tables)
    if fixed.numel() <= _FEW_CELLS:
        columns = _solve(fixed)
    else:
        columns, _, apart = _row_maxima(fixed)
        for part, block in _blocks(fixed, ~apart):
            columns[part] = _solve(block)
    matched = tables.gather(2, columns.clamp_min(0).to(counts.device)[..., None]).squeeze(2)  # an empty row adds 0
    return sum_reproducible(matched).reshape(counts.shape[:-2])


def match_dense(weights: Tensor) -> tuple[Tensor, Tensor]:
    """A best matching of each ``(*batch, R, C)`` table of weights from 0 on (nan is 0); equal tables match alike.

    Returns ``(*batch, R)`` column of each row, -1 for none; ``(*batch,)`` whether no other matching is as good.
    """
    if weights.shape[-2] > weights.shape[-1]:
        rows, unique = match_dense(weights.mT)
        return owner_of(rows, weights.shape[-2]), unique
    tables = weights_on_host(flatten_batch(weights))
    columns, largest, unique = _row_maxima(tables)
    for part, block in _blocks(tables, unique):
        unique[part] = _without_ties(block, largest[part])
    for part, block in _blocks(tables, ~unique):
        found = _solve(block)
        found.masked_fill_(block.gather(2, found[..., None]).squeeze(2) <= 0, -1)
        columns[part], unique[part] = found, _is_only_one(block, found)
    shape = weights.shape[:-1]
    return columns.to(weights.device).reshape(shape), unique.to(weights.device).reshape(shape[:-1])


def weights_on_host(weights: Tensor) -> Tensor:
    weights = weights.detach().cpu()
    return weights.nan_to_num() if weights.is_floating_point() else weights


def flatten_batch(counts: Tensor) -> Tensor:
    """``(B, R, C)`` tables."""
    return counts.reshape(counts.shape[:-2].numel(), *counts.shape[-2:])


def owner_of(partner: Tensor, count: int) -> Tensor:
    """``(*batch, count)``: the group matched to each partner, -1 for none."""
    found = partner.new_full((*partner.shape[:-1], count + 1), -1)
    numbers = torch.arange(partner.shape[-1], device=partner.device).expand_as(partner)
    return found.scatter(-1, torch.where(partner < 0, count, partner), numbers)[..., :count]


def lowered(weights: Array, chosen: Array, largest: Array, most_pairs: int) -> Array:
    """The weights with those of the chosen cells lowered, scaled so that whole numbers stay whole."""
    if weights.dtype.kind == "f":
        return weights - np.where(chosen, TIE_TOLERANCE * largest.clip(1), 0)
    # A scale above the number of pairs is exact; it is smaller only for counts beyond 2^53 or so.
    scale = min(most_pairs + 1, (1 << 62) // max(1, int(largest.max(initial=1))))
    return weights * scale - chosen


def costs_of(weights: Array) -> tuple[Array, Solver]:
    """Costs of tables, and a solver: from a table's costs, the rows (in order) and columns of a cheapest matching."""
    from scipy.optimize import linear_sum_assignment

    if weights.dtype.kind == "f" or np.add.reduce(weights, None, np.float64) < _EXACT_IN_FLOAT64:
        return np.negative(weights, dtype=np.float64, order="C"), linear_sum_assignment
    return -weights, _assign_whole_numbers


def _assign_whole_numbers(costs: Array) -> tuple[Array, Array]:
    """As SciPy's ``linear_sum_assignment``, also by shortest augmenting paths, but in int64; costs are at most 0."""
    from scipy.optimize import linear_sum_assignment

    if -costs.min(1).sum(dtype=np.float64) < _EXACT_IN_FLOAT64:
        found: tuple[Array, Array] = linear_sum_assignment(costs)
        return found
    if len(costs) > costs.shape[1]:
        column, row = _assign_whole_numbers(costs.T)
        return np.sort(row), column[np.argsort(row)]
    n, m = costs.shape
    row_price, column_price = np.zeros(n, np.int64), np.zeros(m + 1, np.int64)
    owner = np.full(m + 1, -1)  # row of each column; the last column is that of the row that enters
    for entering in range(n):
        owner[m], column = entering, m
        length, before, seen = np.full(m, np.iinfo(np.int64).max), np.full(m, m), np.zeros(m + 1, bool)
        while owner[column] >= 0:
            seen[column] = True
            row, ahead = owner[column], np.flatnonzero(~seen[:m])
            through = costs[row, ahead] - row_price[row] - column_price[ahead]
            shorter = through < length[ahead]
            length[ahead[shorter]], before[ahead[shorter]] = through[shorter], column
            column = ahead[length[ahead].argmin()]
            step = length[column]
            row_price[owner[seen]] += step
            column_price[seen] -= step
            length[ahead] -= step
        while column != m:
            owner[column] = owner[before[column]]
            column = before[column]
    taken = np.flatnonzero(owner[:m] >= 0)
    return np.arange(n), taken[np.argsort(owner[taken])]


def _solve(tables: Tensor) -> Tensor:
    """``(B, R)`` column of each row in a best matching of every table, ``R <= C``."""
    costs, solve = costs_of(tables.numpy())
    columns = [solve(table)[1] for table in costs]
    return torch.from_numpy(np.array(columns, dtype=np.int64).reshape(tables.shape[:2]))


def _blocks(tables: Tensor, wanted: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Numbers of some of these tables, and the tables."""
    numbers = wanted.nonzero().squeeze(1)
    for part in numbers.split(max(1, _BLOCK_CELLS // max(1, tables.shape[1] * tables.shape[2]))):
        if len(part):
            yield part, tables if len(part) == len(tables) else tables[part]


def _row_maxima(tables: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Column of the (first) largest cell of each row, -1 for empty rows; ``(B, R, 1)`` these cells.

    ``(B,)`` whether no two rows share a column: then this is a best matching. The answer is no for few small tables.
    """
    size, rows, width = tables.shape
    if tables.numel() <= _FEW_CELLS:
        columns = tables.new_full((size, rows), -1, dtype=torch.int64)
        return columns, tables.new_zeros(size, rows, 1), tables.new_full((size,), rows == 0, dtype=torch.bool)
    largest, columns = tables.max(2, keepdim=True)
    columns = columns.masked_fill_(largest == 0, -1).squeeze(2)
    taken = columns.new_zeros(size, width + 1).scatter_add_(1, columns + 1, (columns >= 0).long())
    return columns, largest, (taken <= 1).all(1)


def _without_ties(tables: Tensor, largest: Tensor) -> Tensor:
    """``(B,)`` whether no row has a second cell as large as its largest one."""
    least, filled = largest, largest > 0
    if tables.is_floating_point():
        least = largest - TIE_TOLERANCE * largest.amax(1, keepdim=True).clamp(min=1)
    near = (tables >= least.masked_fill(~filled, torch.iinfo(torch.int64).max)).flatten(1)
    return torch.count_nonzero(near, 1) == torch.count_nonzero(filled.flatten(1), 1)


def _is_only_one(tables: Tensor, columns: Tensor) -> Tensor:
    """``(B,)`` whether no other matching is as good as this one, ``R <= C``."""
    largest = tables.amax((1, 2), keepdim=True)
    small = tables.numel() > _FEW_CELLS and max(tables.shape[1:]) <= _EXCHANGED_GROUPS
    if small and not tables.is_floating_point() and int(largest.max()) < _EXCHANGED_ITEMS:
        return _only_exchanges_that_cost(tables, columns)
    chosen = columns[..., None] == torch.arange(tables.shape[2])
    most_pairs = int((columns >= 0).sum(1).max())
    again = torch.from_numpy(lowered(tables.numpy(), chosen.numpy(), largest.numpy(), most_pairs))
    return (_solve(again).masked_fill(columns < 0, -1) == columns).all(1)


def _only_exchanges_that_cost(tables: Tensor, columns: Tensor) -> Tensor:
    """As :func:`_is_only_one`, from the cheapest circle of exchanges through each row (Floyd and Warshall).

    In ``step[i, k]`` row i gives up its column and takes that of row k. Place n is no row: row i takes an unused
    column or none, or the column of row k stays without a row. Tables are the last dimension, for speed.
    """
    size, n, m = tables.shape
    far = torch.iinfo(torch.int16).max // 2
    padded = torch.nn.functional.pad(tables.to(torch.int16), (0, 1))
    places = torch.where(columns < 0, m, columns)[:, None]
    taken = padded.gather(2, places.expand(-1, n, -1)).permute(1, 2, 0)
    now = taken.diagonal().mT.contiguous()
    alone = now == 0
    step = padded.new_empty(n + 1, n + 1, size)
    torch.sub(now[:, None], taken, out=step[:n, :n]).masked_fill_(alone, far)
    used = torch.zeros(size, 1, m + 1, dtype=torch.bool).scatter_(2, places, True)
    step[:n, n] = (now - padded.masked_fill_(used, 0).amax(2).mT).masked_fill_(alone, far)
    step[n] = 0
    step.diagonal().fill_(far)
    longer = torch.empty_like(step)
    for k in range(n + 1):
        torch.add(step[:, k : k + 1], step[k : k + 1], out=longer)
        torch.minimum(step, longer, out=step)
    return (step.diagonal() > 0).all(1)


# --- sparse tables -------------------------------------------------------------------------------------------


class Edges(NamedTuple):
    """Distinct cells; groups are numbered over all tables."""

    row: Array  # (Z,) int64, below n
    column: Array  # (Z,) int64, below m
    weight: Array  # (Z,) int64 or float64
    n: int
    m: int


def sparse_max_assignment(batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int) -> Tensor:
    """Items in the best matching of each table, ``(batch_size,)`` of the type of ``count``.

    The first four arguments, ``(Z,)``, give each non-zero cell once: its table, row, column and count, above 0.
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
    """``(Z,)`` code of each cell's group, different ones in different tables, and a bound of the codes."""
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
    """Cells of a best matching, ``(Z,)`` bool, and the numbers of the cells left, in groups without a chosen cell."""
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
    """For each value the largest of its group, at least 0."""
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
    if n * m <= _FEW_LEFT:
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
    for part in np.split(order, np.flatnonzero(np.diff(start[own[order]] // _PART_CELLS)) + 1):
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


# --- greedy --------------------------------------------------------------------------------------------------


def greedy_assignment(counts: Tensor) -> Tensor:
    """Items matched in ``(*batch, R, C)`` tables, ``(*batch,)`` of their type; never synchronises with the device."""
    tables = flatten_batch(counts)
    columns = greedy_columns(tables.detach())
    cells = tables.gather(2, columns.clamp_min(0)[..., None]).squeeze(2)
    return sum_reproducible(cells.masked_fill(columns < 0, 0)).reshape(counts.shape[:-2])


def greedy_columns(tables: Tensor) -> Tensor:
    """``(B, R)`` column of each row of ``(B, R, C)`` tables, -1 for none; rows may be given empty cells, or none."""
    if tables.device.type != "cpu" or torch.compiler.is_compiling() or not tables.numel():
        return _match_largest(tables)
    if tables.numel() > _FEW_SORTED and min(tables.shape[1:]) <= _MANY_GROUPS:
        if tables.is_floating_point() or (int(tables.amax()) + 1) * tables[0].numel() > _EXACT_IN_INT32:
            return _match_largest(tables)
        return _match_largest_keys(tables.numpy())
    counts = tables.numpy()
    table, row, column = counts.nonzero()
    of = torch.from_numpy
    listed = of(table), of(row), of(column), of(counts[table, row, column])
    chosen = sparse_match_greedily(*listed, *tables.shape[1:]).numpy()
    matched = np.full(tables.shape[:2], -1)
    matched[table[chosen], row[chosen]] = column[chosen]
    return torch.from_numpy(matched)


def sparse_greedy_assignment(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int, n_rows: int, n_columns: int
) -> Tensor:
    """As :func:`greedy_assignment`, of sparse tables as in `sparse_max_assignment`; synchronises with the device."""
    chosen = sparse_match_greedily(batch_index, row, column, count, n_rows, n_columns)
    return sum_cells(chosen, batch_index, count, batch_size)


def sparse_match_greedily(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, n_rows: int, n_columns: int
) -> Tensor:
    """Numbers of the cells of the greedy matching, found on the host."""
    table, rows, columns, counts = (x.detach().cpu().numpy() for x in (batch_index, row, column, count))
    order = np.lexsort((columns, rows, -counts))
    row_keys = (table * n_rows + rows)[order].tolist()
    column_keys = (table * n_columns + columns)[order].tolist()
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    chosen = []
    for at, (i, j) in enumerate(zip(row_keys, column_keys, strict=True)):
        if i not in used_rows and j not in used_columns:
            used_rows.add(i)
            used_columns.add(j)
            chosen.append(at)
    return torch.from_numpy(order[np.array(chosen, dtype=np.int64)]).to(count.device)


def _match_largest(tables: Tensor) -> Tensor:
    """``(B, R)`` column of each row of ``(B, R, C)`` tables, the largest cell first; -1: no partner.

    ``argmax`` gives the first of equal cells, so ties go to the lowest row, then the lowest column.
    """
    size, n_rows, n_columns = tables.shape
    matched = torch.full((size, n_rows), -1, dtype=torch.int64, device=tables.device)
    left = tables.clone()
    for _ in range(min(n_rows, n_columns)):
        cell = left.flatten(1).argmax(1)
        row, column = cell // n_columns, cell % n_columns
        matched.scatter_(1, row[:, None], column[:, None])
        left.scatter_(1, row[:, None, None].expand(-1, 1, n_columns), -1)
        left.scatter_(2, column[:, None, None].expand(-1, n_rows, 1), -1)
    return matched


def _match_largest_keys(tables: Array) -> Tensor:
    """As `_match_largest`, for small whole numbers on the host, in less than half the time: tables come last.

    A cell's key holds its count and, for ties, its place from the end, so the largest key tells its cell.
    """
    size, n_rows, n_columns = tables.shape
    places, at = n_rows * n_columns, np.arange(size)
    left = tables.transpose(1, 2, 0).astype(np.int32, order="C")
    left *= places
    left += np.arange(places - 1, -1, -1, dtype=np.int32).reshape(n_rows, n_columns, 1)
    matched = np.full((n_rows, size), -1)
    for _ in range(min(n_rows, n_columns)):
        place = places - 1 - left.reshape(places, size).max(0) % places
        row, column = place // n_columns, place % n_columns
        matched[row, at] = column
        left[row, :, at] = -1
        left[:, column, at] = -1
    return torch.from_numpy(matched).mT
