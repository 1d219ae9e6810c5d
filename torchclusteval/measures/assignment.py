"""The best one-to-one matchings of classes and clusters in dense tables, by SciPy on the host.

The matching is chosen on detached counts and the cells are then read from the counts given, so integers stay exact and
gradients pass through.

To see whether another matching is as good, the cells of the one found are made lighter by so little that only another
one of the same total gets ahead of it, and the table is solved again. In many small tables of small numbers, all
exchanges of partners are looked at instead, which is faster.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible

TIE_TOLERANCE = 1e-12  # of fractions, for each pair that differs, times the largest weight where that is above 1

_FEW_CELLS = 1 << 12  # up to here the solver takes less time than to look for tables that need none
_BLOCK_CELLS = 1 << 19  # cells of the tables that are solved at a time
_EXACT_IN_FLOAT64 = 1 << 51  # sum of the largest cells of the rows up to which SciPy's sums of paths are exact
_EXCHANGED_GROUPS, _EXCHANGED_ITEMS = 64, 1 << 13  # tables of which exchanges are looked at: their sums fit in int16

Array = np.ndarray[Any, Any]
Solver = Callable[[Array], tuple[Array, Array]]


def max_assignment(counts: Tensor) -> Tensor:
    """Items in the best matching of ``(*batch, R, C)`` tables, none below 0: ``(*batch,)`` of their type."""
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
    """A best matching of each ``(*batch, R, C)`` table, none below 0 (nan counts as 0): the same for the same table.

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
    """``(*batch, count)``: which group has each of the others as its partner, -1 for none."""
    found = partner.new_full((*partner.shape[:-1], count + 1), -1)
    numbers = torch.arange(partner.shape[-1], device=partner.device).expand_as(partner)
    return found.scatter(-1, torch.where(partner < 0, count, partner), numbers)[..., :count]


def lowered(weights: Array, chosen: Array, largest: Array, most_pairs: int) -> Array:
    """Weights, those of the chosen cells lowered, and all scaled so that whole numbers stay whole."""
    if weights.dtype.kind == "f":
        return weights - np.where(chosen, TIE_TOLERANCE * largest.clip(1), 0)
    # A scale above the number of pairs is exact; it is smaller only for counts beyond 2^53 or so.
    scale = min(most_pairs + 1, (1 << 62) // max(1, int(largest.max(initial=1))))
    return weights * scale - chosen


def costs_of(weights: Array) -> tuple[Array, Solver]:
    """Costs of tables, and a function of one that gives rows, in order, and columns of a matching of the least cost."""
    from scipy.optimize import linear_sum_assignment

    if weights.dtype.kind == "f" or weights.sum(dtype=np.float64) < _EXACT_IN_FLOAT64:
        return np.negative(weights, dtype=np.float64, order="C"), linear_sum_assignment
    return -weights, _assign_whole_numbers


def _assign_whole_numbers(costs: Array) -> tuple[Array, Array]:
    """As SciPy's ``linear_sum_assignment``, by shortest augmenting paths too, but in int64; costs are not positive."""
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

    In ``step[i, k]`` row i gives up its column and takes that of row k. Place n is no row: row i takes a column that no
    row has or stays without one, or the column of row k is left without a row. Tables are last, for speed.
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
