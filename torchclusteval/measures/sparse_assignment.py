"""The best one-to-one matching of sparse tables, on the host.

The non-zero cells are edges between rows and columns. Groups with one edge are folded into their neighbour, which is
exact; what is left falls into connected components. Small components are solved as dense tables; a large one with few
whole weights level by level, each an unweighted matching (Kao, Lam, Sung and Ting, 2001), and any other by SciPy's
sparse solver. All ways give prices too: numbers of rows and columns, not negative, whose sum over both ends of an edge
is at least its weight, and equal to it on the matching. They prove it to be the best, and ``sparse_ties`` needs them.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch

from torchclusteval.measures.assignment_ties import TIE_TOLERANCE, prices_of
from torchclusteval.measures.outweighing_cells import take_outweighing

Array = np.ndarray[Any, Any]

_DENSE_COMPONENT_CELLS = 1 << 15
_BLOCK_CELLS = 1 << 20  # cells of the dense tables in memory at a time
_MAX_LEVELS = 64  # distinct weights, and twice as many rounds: with more the sparse solver is the faster one
_MAX_VISITS = 12  # of each edge in rounds of folding; then long chains are left, which are folded group by group


class Edges(NamedTuple):
    """Cells of positive weight, each once."""

    row: Array  # (Z,) int64
    column: Array  # (Z,) int64
    weight: Array  # (Z,) int64 or float64
    n: int  # rows
    m: int  # columns

    def take(self, chosen: Array) -> "Edges":
        return Edges(self.row[chosen], self.column[chosen], self.weight[chosen], self.n, self.m)


class Matched(NamedTuple):
    """A best matching and its prices."""

    edge_of_row: Array  # (n,) int64; -1: none
    row_price: Array  # (n,)
    column_price: Array  # (m,)


class Block(NamedTuple):
    """Components of one shape, as tables of edges."""

    edge: Array  # (Z,) the edges in them, by number
    place: tuple[Array, Array, Array]  # (Z,) table, row and column of each edge
    row: Array  # (k, rows) row of each row of the tables; -1: padding
    column: Array  # (k, columns) likewise

    def table(self, values: Array, empty: int = 0) -> Array:
        """``(k, rows, columns)`` of ``(Z,)`` values."""
        table = np.full((len(self.row), self.row.shape[1], self.column.shape[1]), empty, values.dtype)
        table[self.place] = values
        return table


def tie_tolerance(weight: Array, table: Array) -> Array:
    """``(Z,)`` differences up to which there are ties in the table of each cell: 0 for whole numbers."""
    if weight.dtype.kind == "i" or not len(weight):
        return np.zeros(len(weight))
    largest = np.ones(int(table.max()) + 1)
    np.maximum.at(largest, table, weight)
    return TIE_TOLERANCE * largest[table]


def _rounding(weight: Array) -> float:
    """Differences up to this are of rounding."""
    return 0.0 if weight.dtype.kind == "i" else TIE_TOLERANCE * float(weight.max(initial=1.0))


def solve(edges: Edges) -> Matched:
    """A best matching of all edges; a column of a row of ``n`` is in no other row's."""
    rest, left, folds = _fold(edges)
    prices = _new_prices(edges)
    edge_of = [np.full(edges.n, -1), np.full(edges.m, -1)]
    if len(rest):
        core = Edges(edges.row[rest], edges.column[rest], left[rest], edges.n, edges.m)
        found = _solve_components(core)
        matched = found.edge_of_row[found.edge_of_row >= 0]
        edge_of[0][core.row[matched]] = rest[matched]
        edge_of[1][core.column[matched]] = rest[matched]
        prices = [found.row_price, found.column_price]
    ends = (edges.row, edges.column)
    for fold in reversed(folds):
        if isinstance(fold, list):
            _unfold_chains(fold, ends, edge_of, prices)
            continue
        side, hubs, best, gain = fold
        prices[side][hubs] += gain
        taken = best[edge_of[side][hubs] < 0]
        for end in (0, 1):
            edge_of[end][ends[end][taken]] = taken
    return Matched(edge_of[0], *prices)


def _unfold_chains(fold: list[Any], ends: tuple[Array, Array], edge_of: list[Array], prices: list[Array]) -> None:
    edges, costs = [x.tolist() for x in edge_of], [x.tolist() for x in prices]
    places = [x.tolist() for x in ends]
    for side, hub, best, gain in reversed(fold):
        costs[side][hub] += gain
        if edges[side][hub] < 0:
            edges[0][places[0][best]] = edges[1][places[1][best]] = best
    for end in (0, 1):
        edge_of[end][:], prices[end][:] = edges[end], costs[end]


def _new_prices(edges: Edges) -> list[Array]:
    return [np.zeros(size, edges.weight.dtype) for size in (edges.n, edges.m)]


# --- folding ------------------------------------------------------------------------------------------------

# Side of the hubs, the hubs, the edge of their best single neighbour, its weight; or a list of these for one hub each.
Fold = tuple[int, Array, Array, Array] | list[tuple[int, int, int, Any]]


def _fold(edges: Edges) -> tuple[Array, Array, list[Fold]]:
    """Fold groups with one edge into their neighbour, the hub, until there are none.

    The hub has its best such neighbour in any case: its other edges are worth what they add to that.

    Returns:
        The edges left, by number; what each edge is worth, ``(Z,)``; what was folded, in order.
    """
    ends, sizes = (edges.row, edges.column), (edges.n, edges.m)
    left, rest = edges.weight.copy(), np.arange(len(edges.row))
    folds: list[Fold] = []
    visits = 0
    while len(rest):
        before = len(rest)
        visits += before
        if visits > _MAX_VISITS * len(edges.row):
            return _fold_chains(edges, rest, left, folds)
        for side in (0, 1):
            hub, leaf = ends[side], ends[1 - side]
            single = np.bincount(leaf[rest], minlength=sizes[1 - side])[leaf[rest]] == 1
            if not single.any():
                continue
            folded, rest = rest[single], rest[~single]
            order = np.lexsort((-leaf[folded], left[folded], hub[folded]))  # the last one of a hub: the best
            folded = folded[order]
            last = np.append(hub[folded][1:] != hub[folded][:-1], True)
            best = folded[last]
            gain = np.zeros(sizes[side], left.dtype)
            gain[hub[best]] = left[best]
            folds.append((side, hub[best], best, left[best]))
            left[rest] -= gain[hub[rest]]
            rest = rest[left[rest] > 0]
        if len(rest) == before:
            break
    return rest, left, folds


def _fold_chains(edges: Edges, rest: Array, left: Array, folds: list[Fold]) -> tuple[Array, Array, list[Fold]]:
    """As :func:`_fold`, with a queue, in time linear in the edges."""
    ends = (edges.row.tolist(), edges.column.tolist())
    worth = left.tolist()
    around: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
    for e in rest.tolist():
        for side in (0, 1):
            around[side].setdefault(ends[side][e], set()).add(e)
    queue = [(side, group) for side in (0, 1) for group, own in around[side].items() if len(own) == 1]
    found: list[tuple[int, int, int, Any]] = []
    while queue:
        side, leaf = queue.pop()
        own = around[side][leaf]
        if len(own) != 1:  # its edge went with another group
            continue
        (best,) = own
        hub_side, hub = 1 - side, ends[1 - side][best]
        gain = worth[best]
        found.append((hub_side, hub, best, gain))
        for e in list(around[hub_side][hub]):
            worth[e] -= gain
            if worth[e] <= 0:
                around[hub_side][hub].discard(e)
                other = ends[side][e]
                around[side][other].discard(e)
                if len(around[side][other]) == 1:
                    queue.append((side, other))
        if len(around[hub_side][hub]) == 1:
            queue.append((hub_side, hub))
    kept = np.array(sorted(e for own in around[0].values() for e in own), dtype=np.int64)
    return kept, np.array(worth, dtype=left.dtype), [*folds, found]


# --- components ---------------------------------------------------------------------------------------------


def components(edges: Edges, most: int) -> Iterator[Block | Array]:
    """Connected components: blocks of those with up to ``most`` cells as tables, and the edges of each larger one."""
    row, row_code = np.unique(edges.row, return_inverse=True)
    column, column_code = np.unique(edges.column, return_inverse=True)
    n, m = len(row), len(column)
    graph = bipartite_graph(row_code, column_code, n, m)
    count, label = import_module("scipy.sparse.csgraph").connected_components(graph, directed=False)
    sides = []
    for part in (label[:n], label[n:]):
        size = np.bincount(part, minlength=count)
        order = np.argsort(part, kind="stable")
        place = np.empty(len(part), np.int64)
        place[order] = np.arange(len(part)) - (np.cumsum(size) - size)[part[order]]
        sides.append((size, place))
    (heights, row_place), (widths, column_place) = sides
    own = label[row_code]
    small = heights * widths <= most
    padded = [1 << np.ceil(np.log2(x)).astype(np.int64) for x in (heights, widths)]
    shape = np.where(small, padded[0] * (1 << 32) + padded[1], -1)
    order = np.argsort(own, kind="stable")
    ends = np.cumsum(np.bincount(own, minlength=count))
    for kind in np.unique(shape).tolist():
        members = np.flatnonzero(shape == kind)
        if kind < 0:
            yield from (order[ends[c - 1] if c else 0 : ends[c]] for c in members.tolist())
            continue
        height, width = kind >> 32, kind & ((1 << 32) - 1)
        step = max(1, _BLOCK_CELLS // (height * width))
        number = np.full(count, -1)
        for start in range(0, len(members), step):
            part = members[start : start + step]
            number[:] = -1
            number[part] = np.arange(len(part))
            edge = np.flatnonzero(number[own] >= 0)
            rows, columns = np.full((len(part), height), -1), np.full((len(part), width), -1)
            at = (number[own[edge]], row_place[row_code[edge]], column_place[column_code[edge]])
            rows[at[0], at[1]] = edges.row[edge]
            columns[at[0], at[2]] = edges.column[edge]
            yield Block(edge, at, rows, columns)


def bipartite_graph(row: Array, column: Array, n: int, m: int) -> Any:
    """A sparse matrix of ``n + m`` nodes, an entry for each edge from its row to its column."""
    return graph_of(row, n + column, n + m)


def graph_of(source: Array, target: Array, size: int) -> Any:
    """A sparse matrix of a directed graph."""
    entries = (np.ones(len(source), np.int32), (source, target))
    return import_module("scipy.sparse").csr_array(entries, shape=(size, size))


def _solve_components(edges: Edges) -> Matched:
    edge_of_row = np.full(edges.n, -1)
    row_price, column_price = _new_prices(edges)
    for part in components(edges, _DENSE_COMPONENT_CELLS):
        if isinstance(part, Block):
            _solve_block(part, edges, edge_of_row, row_price, column_price)
            continue
        row, row_code = np.unique(edges.row[part], return_inverse=True)
        column, column_code = np.unique(edges.column[part], return_inverse=True)
        found = _solve_large(Edges(row_code, column_code, edges.weight[part], len(row), len(column)))
        edge_of_row[row] = np.where(found.edge_of_row >= 0, part[found.edge_of_row], -1)
        row_price[row], column_price[column] = found.row_price, found.column_price
    return Matched(edge_of_row, row_price, column_price)


def _solve_block(block: Block, edges: Edges, edge_of_row: Array, row_price: Array, column_price: Array) -> None:
    """Write the matching of small components and its prices."""
    assign = import_module("scipy.optimize").linear_sum_assignment
    weights = block.table(edges.weight[block.edge])
    numbers = block.table(block.edge, -1)
    matched = np.full(block.row.shape, -1)
    for k, table in enumerate(weights.astype(np.float64)):
        rows, columns = assign(table, True)
        matched[k, rows] = columns
    chosen = np.where(matched >= 0, np.take_along_axis(numbers, matched.clip(0)[..., None], 2)[..., 0], -1)
    matched[chosen < 0] = -1
    slack = torch.full((len(weights), 1), _rounding(edges.weight), dtype=torch.float64)
    prices = prices_of(torch.from_numpy(weights), torch.from_numpy(matched), slack)
    real = block.row >= 0
    edge_of_row[block.row[real]] = chosen[real]
    row_price[block.row[real]] = prices[0].numpy()[real]
    real = block.column >= 0
    column_price[block.column[real]] = prices[1].numpy()[real]


# --- large components ---------------------------------------------------------------------------------------


def _solve_large(edges: Edges) -> Matched:
    if edges.weight.dtype.kind == "i" and len(np.unique(edges.weight)) <= _MAX_LEVELS:
        found = _solve_by_levels(edges)
        if found is not None:
            return found
    chosen = _solve_by_scipy(edges)
    edge_of_row = np.full(edges.n, -1)
    edge_of_row[edges.row[chosen]] = chosen
    return Matched(edge_of_row, *_prices(edges, edge_of_row))


def _solve_by_levels(edges: Edges) -> Matched | None:
    """Prices from covers of the heaviest edges: each cover lowers the edges at its groups, until none is left.

    None after too many rounds: lowered weights may be new ones, up to as many as the largest weight.
    """
    row_price, column_price = _new_prices(edges)
    left, rest = edges.weight.copy(), np.arange(len(edges.row))
    for _ in range(2 * _MAX_LEVELS):
        if not len(rest):
            break
        worth = left[rest]
        top = worth.max()
        below = worth[worth < top]
        step = top - (below.max() if len(below) else 0)
        covered_rows, covered_columns = _cover(edges.take(rest[worth == top]))
        row_price[covered_rows] += step
        column_price[covered_columns] += step
        left[rest] -= step * covered_rows[edges.row[rest]] + step * covered_columns[edges.column[rest]]
        rest = rest[left[rest] > 0]
    if len(rest):
        return None
    tight = np.flatnonzero(row_price[edges.row] + column_price[edges.column] == edges.weight)
    return Matched(_covering(edges, tight, row_price > 0, column_price > 0), row_price, column_price)


def _largest(edges: Edges) -> Array:
    """``(n,)`` columns of a matching with as many pairs as there can be; -1: none."""
    entries = (np.ones(len(edges.row), np.int8), (edges.row, edges.column))
    graph = import_module("scipy.sparse").csr_array(entries, shape=(edges.n, edges.m))
    columns: Array = import_module("scipy.sparse.csgraph").maximum_bipartite_matching(graph, perm_type="column")
    return columns.astype(np.int64)


def _cover(edges: Edges) -> tuple[Array, Array]:
    """The fewest rows and columns that touch every edge, ``(n,)`` and ``(m,)`` bool (König)."""
    columns = _largest(edges)
    rows = np.zeros(edges.n, bool)
    rows[edges.row] = True
    free, taken = np.flatnonzero(rows & (columns < 0)), np.flatnonzero(columns >= 0)
    reached = np.zeros(edges.n + edges.m + 1, bool)
    if len(free):
        start = edges.n + edges.m
        source = np.concatenate([edges.row, edges.n + columns[taken], np.full(len(free), start)])
        target = np.concatenate([edges.n + edges.column, taken, free])
        graph = graph_of(source, target, start + 1)
        visited = import_module("scipy.sparse.csgraph").breadth_first_order(graph, start, return_predecessors=False)
        reached[visited] = True
    return rows & ~reached[: edges.n], reached[edges.n : -1]


def _covering(edges: Edges, tight: Array, rows: Array, columns: Array) -> Array:
    """A matching of tight edges that covers these rows and columns, ``(n,)`` edges (Mendelsohn and Dulmage).

    One matching covers the rows and one the columns. Where they differ they form paths and circles, and on each of
    these one of the two covers all.
    """
    number = {}
    for name, wanted in (("rows", rows[edges.row[tight]]), ("columns", columns[edges.column[tight]])):
        part = tight[wanted]
        matched = _largest(edges.take(part))
        number[name] = part[matched[edges.row[part]] == edges.column[part]]
    joined = np.union1d(number["rows"], number["columns"])
    graph = bipartite_graph(edges.row[joined], edges.column[joined], edges.n, edges.m)
    _, label = import_module("scipy.sparse.csgraph").connected_components(graph, directed=False)
    missed = columns.copy()
    missed[edges.column[number["rows"]]] = False
    use_columns = np.zeros(edges.n + edges.m, bool)
    use_columns[label[edges.n :][missed]] = True
    by_row = label[: edges.n]
    edge_of_row = np.full(edges.n, -1)
    for part, by_columns in ((number["rows"], False), (number["columns"], True)):
        kept = part[use_columns[by_row[edges.row[part]]] == by_columns]
        edge_of_row[edges.row[kept]] = kept
    return edge_of_row


def _solve_by_scipy(edges: Edges) -> Array:
    """Edges of a best matching.

    SciPy's solver matches every row and takes a weight of zero for a missing cell. So each row gets a column of its own
    that stands for "no partner", and every weight is raised by one.
    """
    if edges.n > edges.m:
        return _solve_by_scipy(Edges(edges.column, edges.row, edges.weight, edges.m, edges.n))
    alone = np.arange(edges.n)
    entries = np.concatenate([edges.weight + 1.0, np.ones(edges.n)])
    places = (np.concatenate([edges.row, alone]), np.concatenate([edges.column, edges.m + alone]))
    graph = import_module("scipy.sparse").csr_array((entries, places), shape=(edges.n, edges.m + edges.n))
    rows, columns = import_module("scipy.sparse.csgraph").min_weight_full_bipartite_matching(graph, maximize=True)
    partner = np.empty(edges.n, dtype=np.int64)
    partner[rows] = columns
    return np.flatnonzero(partner[edges.row] == edges.column)


def _prices(edges: Edges, edge_of_row: Array) -> tuple[Array, Array]:
    """Prices of a best matching, as ``prices_of`` finds them."""
    order = np.argsort(edges.column, kind="stable")
    row, column, weight = edges.row[order], edges.column[order], edges.weight[order]
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    matched = np.flatnonzero(edge_of_row >= 0)
    own_column = edges.column[edge_of_row[matched]]
    now = np.zeros(edges.n, weight.dtype)
    now[matched] = edges.weight[edge_of_row[matched]]
    owned = np.zeros(edges.m, bool)
    owned[own_column] = True
    slack = _rounding(edges.weight)
    distance, outside, to_column = np.zeros_like(now), weight.dtype.type(0), np.zeros(edges.m, weight.dtype)
    for _ in range(edges.n + 2):
        to_column = np.minimum.reduceat(distance[row] + now[row] - weight, starts)  # every column has an edge
        ends = [outside, (distance + now).min(), *([to_column[~owned].min()] if not owned.all() else [])]
        outside_now = min(ends)
        to_column = np.where(owned, np.minimum(to_column, outside_now), outside_now)
        shorter = np.full_like(distance, outside_now)
        shorter[matched] = to_column[own_column]
        done = not ((shorter < distance - slack).any() or outside_now < outside - slack)
        distance, outside = shorter, outside_now
        if done:
            break
    return distance + now - outside, outside - to_column


# --- all tables of a batch ----------------------------------------------------------------------------------


def best_cells(table: Array, row: Array, column: Array, weight: Array) -> Array:
    """``(Z,)`` bool: the cells of a best matching of each table."""
    edges, _ = edges_of(table, row, column, weight)
    chosen, rest = take_outweighing(*edges)
    if len(rest):
        taken = solve(edges.take(rest)).edge_of_row
        chosen[rest[taken[taken >= 0]]] = True
    return chosen


def edges_of(table: Array, row: Array, column: Array, weight: Array) -> tuple[Edges, Array]:
    """All tables as one graph without the groups that are empty, in order, and ``(n,)`` the table of each row."""
    codes = []
    for group in (row, column):
        width = int(group.max(initial=0)) + 1
        keys, code = np.unique(table * width + group, return_inverse=True)
        codes.append((keys // width, code))
    (row_table, row_code), (column_table, column_code) = codes
    return Edges(row_code, column_code, weight, len(row_table), len(column_table)), row_table
