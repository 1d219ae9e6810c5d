"""The best one-to-one matchings of classes and clusters.

Measures need the items in the matched cells: the matching itself is chosen on detached counts and the cells are then
read from the counts given, so integers stay exact and gradients pass through. ``match_dense`` and ``match_sparse`` give
the matching, by the rule for ties of ``assignment_ties``.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.measures.assignment_ties import (
    TIE_TOLERANCE,
    CellList,
    Choices,
    choices_of,
    choose_smallest,
    exchanges_of,
    owner_of,
    prices_of,
)
from torchclusteval.measures.batched_assignment import solve_batched
from torchclusteval.measures.outweighing_cells import outweighing_cells
from torchclusteval.measures.sparse_assignment import best_cells
from torchclusteval.measures.sparse_ties import best_cells_by_rule, choose_smallest_cells

MAX_DENSE_CELLS = 4_000_000  # sparse tables of up to this many cells can be made dense, as many at a time as fit
SMALL_TABLE_CELLS = 10_000  # cells of one table below which dense matching is the faster one
MAX_DEVICE_GROUPS = 64  # rows and columns up to which tables are matched on their device
_BLOCK_CELLS = 1 << 19  # cells of the tables that are worked on at a time
_FEW_TABLES = 32  # up to here the solver takes less time than to look for tables that need none
_EXACT_IN_FLOAT64 = 1 << 51  # of sums of a few prices
_EXACT_TYPES = (  # of sums of two exchanges, the fastest first
    (torch.int16, 1 << 13),
    (torch.float32, 1 << 22),
    (torch.float64, 1 << 51),
    (torch.int64, 1 << 62),
)


def max_assignment(counts: Tensor) -> Tensor:
    """Items in the best one-to-one matching of rows and columns (``min(R, C)`` pairs).

    Args:
        counts: ``(*batch, R, C)`` int64 or float64, not negative. On the CPU SciPy's solver is used where it is
            installed (it compares in float64, exact for counts up to 2^53).

    Returns:
        ``(*batch,)`` of the type of ``counts``. Synchronises with the device.
    """
    tables = flatten_batch(counts)
    if tables.shape[1] > tables.shape[2]:
        tables = tables.mT
    fixed = tables.detach()
    if fixed.is_floating_point():
        fixed = fixed.nan_to_num()  # tables with a nan are scored as nan, whatever is matched
    optimize = _load("scipy.optimize") if counts.device.type == "cpu" else None
    if optimize is None or (len(fixed) > _FEW_TABLES and fixed[0].numel() <= SMALL_TABLE_CELLS):
        matched, apart = _row_maxima(fixed)
        hard = (~apart).nonzero().squeeze(1)
        matched[hard] = _solve(fixed.index_select(0, hard), optimize)
        matched = matched.clamp_min(0)  # an empty row adds 0 in any column
    else:
        matched = _solve(fixed, optimize)
    return sum_reproducible(tables.gather(2, matched[..., None]).squeeze(-1)).reshape(counts.shape[:-2])


def sparse_max_assignment(
    batch_index: Tensor,
    row: Tensor,
    column: Tensor,
    count: Tensor,
    batch_size: int,
    n_rows: int,
    n_columns: int,
) -> Tensor:
    """Items in the best one-to-one matching of each table of a sparse batch.

    Args:
        batch_index: ``(Z,)`` int64, the table of each non-zero cell.
        row: ``(Z,)`` int64.
        column: ``(Z,)`` int64.
        count: ``(Z,)`` int64 or float64, positive; a cell occurs once.
        batch_size: number of tables.
        n_rows: rows of a table.
        n_columns: columns of a table.

    Returns:
        ``(batch_size,)`` of the type of ``count``. Synchronises with the device.

    Raises:
        ValueError: SciPy is not installed and the tables are too large to be made dense.
    """
    if not _solves_densely(n_rows * n_columns):
        chosen = best_cells(*_on_host(batch_index, row, column, count))
        return sum_cells(torch.from_numpy(chosen).nonzero().squeeze(1), batch_index, count, batch_size)
    if count.device.type != "cpu":
        return _max_of_dense_parts(batch_index, row, column, count, batch_size, n_rows, n_columns)
    chosen, left = outweighing_cells(*_on_host(batch_index, row, column, count))
    total = sum_cells(torch.from_numpy(chosen).nonzero().squeeze(1), batch_index, count, batch_size)
    rest = torch.from_numpy(left).nonzero().squeeze(1)
    if not len(rest):
        return total
    numbers, table = torch.unique_consecutive(batch_index[rest], return_inverse=True)
    cells = (table, row[rest], column[rest], count[rest])
    return total.index_add(0, numbers, _max_of_dense_parts(*cells, len(numbers), n_rows, n_columns))


def _max_of_dense_parts(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int, n_rows: int, n_columns: int
) -> Tensor:
    """:func:`sparse_max_assignment` by dense tables, some of them at a time."""
    dense = _dense_parts(batch_index, row, column, count, batch_size, n_rows, n_columns)
    values = [max_assignment(tables) for _, _, tables in dense]
    return torch.cat(values) if values else count.new_zeros(0)


def match_dense(weights: Tensor) -> tuple[Tensor, Tensor, bool]:
    """The best matching by the rule for ties.

    Args:
        weights: ``(*batch, R, C)`` int64 or float64, not negative (nan counts as 0), without a gradient.

    Returns:
        ``(*batch, R)`` column of each row or -1, ``(*batch,)`` whether no other matching is as good, and whether the
        host solved it: tables on a device with more than ``MAX_DEVICE_GROUPS`` rows or columns, and the CPU's.
    """
    weights = weights.nan_to_num() if weights.is_floating_point() else weights
    on_host = weights.device.type == "cpu" or max(weights.shape[-2:]) > MAX_DEVICE_GROUPS
    tables = flatten_batch(weights.cpu() if on_host else weights)
    fractions = tables.is_floating_point()
    most = 0 if fractions or not tables.numel() else int(tables.amax())  # of whole numbers
    exact = most * min(tables.shape[1:]) < _EXACT_IN_FLOAT64
    slack = tables.new_zeros(len(tables), 1)
    if fractions:
        slack = TIE_TOLERANCE * tables.amax((1, 2))[:, None].clamp(min=1)
    host = exact and on_host and _load("scipy.optimize") is not None
    tables = tables.double() if exact and not host else tables
    matched, unique = _by_row_maxima(tables, slack)
    hard = (~unique).nonzero().squeeze(1)
    for part in hard.split(max(1, _BLOCK_CELLS // (tables.shape[1] * tables.shape[2]))):
        block = tables if len(part) == len(tables) else tables[part]
        matched[part], unique[part] = _match_block(block, slack[part], host, None if fractions else most)
    shape = weights.shape[:-1]
    return matched.to(weights.device).reshape(shape), unique.to(weights.device).reshape(shape[:-1]), on_host


def _row_maxima(tables: Tensor) -> tuple[Tensor, Tensor]:
    """Column of the (first) largest cell of each row, -1 for empty rows, and ``(B,)`` whether no two rows share one."""
    size, _, columns = tables.shape
    if not tables.numel():
        return tables.new_full(tables.shape[:2], -1, dtype=torch.int64), tables.new_ones(size, dtype=torch.bool)
    whole = tables.view(torch.int64)  # the bits of floats that are not negative are in the same order
    filled = whole.amax(2) > 0
    places = torch.where(filled, whole.argmax(2), -1)
    taken = places.new_zeros(size, columns + 1).scatter_add_(1, places + 1, filled.long())
    return places, (taken <= 1).all(1)


def _by_row_maxima(tables: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    """Matching and whether it is the only best one: where the rows have their largest cells in different columns."""
    matched, unique = _row_maxima(tables)
    likely = unique.nonzero().squeeze(1)
    for part in likely.split(max(1, _BLOCK_CELLS // max(1, tables.shape[1] * tables.shape[2]))):
        if len(part) and tables.numel():
            block = (tables, slack) if len(part) == len(tables) else (tables[part], slack[part])
            unique[part] = _without_ties(*block)
    return matched, unique


def _without_ties(tables: Tensor, slack: Tensor) -> Tensor:
    """Whether rows and columns have no two cells that are as large as the largest of the row."""
    stacked = tables.permute(1, 2, 0).contiguous()  # tables last: one operation walks along them
    most = stacked.amax(1)
    near = ((stacked >= (most - slack.mT)[:, None]) & (most > 0)[:, None]).float()
    return (near.sum(1) <= 1).all(0) & (near.sum(0) <= 1).all(0)


def _match_block(tables: Tensor, slack: Tensor, host: bool, most: int | None) -> tuple[Tensor, Tensor]:
    """Tables of whole numbers of at most ``most``, or (None) of fractions."""
    rows, columns = tables.shape[1:]
    wide = tables if rows <= columns else tables.mT
    found = _solve(wide, _load("scipy.optimize") if host else None)
    if host and max(rows, columns) > MAX_DEVICE_GROUPS:
        matched = found.masked_fill(wide.gather(2, found[..., None]).squeeze(2) == 0, -1)
        matched = matched if rows <= columns else owner_of(matched, rows, nobody=-1)
        return choose_smallest_cells(_tight_choices(tables.double(), matched, slack), matched, _solve_costs_on_host)
    if most is not None:
        exact = next(kind for kind, limit in _EXACT_TYPES if most < limit)
        wide, slack = wide.to(exact), slack.to(exact)
    exchanges = exchanges_of(wide, found)
    found = found.masked_fill((exchanges.now == 0).mT, -1)
    matched = found if rows <= columns else owner_of(found, rows, nobody=-1)
    unique = (exchanges.chain.diagonal() > slack).all(1)
    tied = here = (~unique).nonzero().squeeze(1)
    if not len(tied):
        return matched, unique
    if 4 * len(tied) < len(tables):
        exchanges, wide, found, slack = exchanges.only(tied), wide[tied], found[tied], slack[tied]
        here = torch.arange(len(tied), device=tied.device)
    choices = choices_of(wide, found, exchanges, slack).only(here)
    if rows > columns:
        table, row, column, *skips = choices
        choices = CellList(table, column, row, *reversed(skips))
    matched[tied] = choose_smallest(choices, matched[tied], _solve_costs_on_host if host else _solve_costs)
    return matched, unique


def _tight_choices(tables: Tensor, matched: Tensor, slack: Tensor) -> Choices:
    """Cells, and rows and columns without a partner, that the prices of a best matching do not rule out."""
    row_prices, column_prices = prices_of(tables, matched, slack)
    cells = (row_prices[..., None] - tables <= (slack - column_prices)[:, None]) & (tables > 0)
    return Choices(cells, row_prices <= slack, column_prices <= slack)


def match_sparse(
    batch_index: Tensor,
    row: Tensor,
    column: Tensor,
    weight: Tensor,
    batch_size: int,
    n_rows: int,
    n_columns: int,
) -> tuple[Tensor, Tensor]:
    """The best matching of each table of a sparse batch by the rule for ties; arguments as `sparse_max_assignment`.

    Returns:
        ``(Z,)`` bool: the cells of the matching; ``(batch_size,)`` bool: whether no other matching is as good. The host
        solves it.

    Raises:
        ValueError: as `sparse_max_assignment`.
    """
    if _solves_densely(n_rows * n_columns):
        chosen, unique = torch.zeros_like(row, dtype=torch.bool), []
        for here, key, tables in _dense_parts(batch_index, row, column, weight, batch_size, n_rows, n_columns):
            columns, only, _ = match_dense(tables)
            chosen[here] = columns.flatten()[key] == column[here]
            unique.append(only)
        return chosen, torch.cat(unique) if unique else chosen.new_ones(0)
    solve = _solve_costs if _load("scipy.optimize") is None else _solve_costs_on_host
    cells, tied = best_cells_by_rule(*_on_host(batch_index, row, column, weight), solve)
    only = torch.ones(batch_size, dtype=torch.bool)
    only[torch.from_numpy(tied)] = False
    return torch.from_numpy(cells).to(weight.device), only.to(weight.device)


def _solves_densely(size: int) -> bool:
    """Whether sparse tables of so many cells each are made dense.

    Raises:
        ValueError: SciPy is not installed and the tables are too large to be made dense.
    """
    csgraph = _load("scipy.sparse.csgraph")
    if size <= (MAX_DENSE_CELLS if csgraph is None else SMALL_TABLE_CELLS):
        return True
    if csgraph is None:
        raise ValueError(
            f"tables: expected up to {MAX_DENSE_CELLS} cells in a table for the best one-to-one matching without "
            f"SciPy; got {size}. Install SciPy, or use greedy_one_to_one_accuracy"
        )
    return False


def _dense_parts(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int, n_rows: int, n_columns: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some of the batch at a time: mask of the cells in it, their rows by number, and the dense tables."""
    step = max(1, MAX_DENSE_CELLS // (n_rows * n_columns))
    for start in range(0, batch_size, step):
        tables = min(step, batch_size - start)
        here = (batch_index >= start) & (batch_index < start + tables)
        key = (batch_index[here] - start) * n_rows + row[here]
        dense = count.new_zeros(tables * n_rows * n_columns).index_add(0, key * n_columns + column[here], count[here])
        yield here, key, dense.view(tables, n_rows, n_columns)


def _on_host(batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor) -> tuple[Any, Any, Any, Any]:
    weight = count.detach().cpu()
    weight = weight.nan_to_num() if weight.is_floating_point() else weight
    return batch_index.cpu().numpy(), row.cpu().numpy(), column.cpu().numpy(), weight.numpy()


def flatten_batch(counts: Tensor) -> Tensor:
    """``(B, R, C)`` tables."""
    return counts.reshape(counts.shape[:-2].numel(), *counts.shape[-2:])


def sum_cells(picked: Tensor, batch_index: Tensor, count: Tensor, batch_size: int) -> Tensor:
    """Items of the cells with these numbers, ``(batch_size,)``."""
    picked = picked.to(count.device)
    return count.new_zeros(batch_size).index_add(0, batch_index[picked], count[picked])


# ---- the best matching -------------------------------------------------------------------------------


def _load(name: str) -> Any:
    """A part of SciPy, or None where it is not installed; loaded when it is needed, since that takes a while."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _solve(tables: Tensor, optimize: Any) -> Tensor:
    """``(B, n)`` column of each row of ``(B, n, m)`` tables, ``n <= m``, by SciPy's solver if it is given."""
    if optimize is None:
        return solve_batched(tables)
    return _solve_on_host(np.negative(tables.numpy(), dtype=np.float64, order="C"))


def _solve_costs_on_host(costs: Tensor, allowed: Tensor) -> Tensor:
    """``(B, n)`` columns of the smallest sum among the allowed cells, ``n <= m``; by SciPy."""
    return _solve_on_host(costs.double().masked_fill(~allowed, torch.inf).numpy())


def _solve_on_host(costs: np.ndarray[Any, Any]) -> Tensor:
    solve = import_module("scipy.optimize").linear_sum_assignment
    matched = [solve(table)[1] for table in costs]
    return torch.from_numpy(np.array(matched, dtype=np.int64).reshape(costs.shape[:2]))


def _solve_costs(costs: Tensor, allowed: Tensor) -> Tensor:
    """As `_solve_costs_on_host`, on any device."""
    forbidden = 2 * (costs.shape[1] + 1) * (costs.amax() + 1)
    return solve_batched(-torch.where(allowed, costs, forbidden))
