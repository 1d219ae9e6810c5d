"""One-to-one matchings of classes and clusters: the best one, and the greedy one.

Every function returns the items in the matched cells. The matching itself is chosen on detached counts and
the cells are then read from the counts given, so integers stay exact and gradients pass through.
"""

from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible

MAX_DENSE_CELLS = 4_000_000  # sparse tables of up to this many cells can be made dense, as many at a time as fit
MANY_GROUPS = 128  # up to here taking one cell at a time is the faster greedy matching
SMALL_TABLE_CELLS = 10_000  # cells of one table below which dense matching is the faster one


def max_assignment(counts: Tensor) -> Tensor:
    """Items in the best one-to-one matching of rows and columns (``min(R, C)`` pairs).

    Args:
        counts: ``(*batch, R, C)`` int64 or float64, not negative. On the CPU SciPy's solver is used where it is
            installed (it compares in float64, exact for counts up to 2^53).

    Returns:
        ``(*batch,)`` of the type of ``counts``. Synchronises with the device.
    """
    tables = _flat(counts)
    if tables.shape[1] > tables.shape[2]:
        tables = tables.mT
    fixed = tables.detach()
    if fixed.is_floating_point():
        fixed = fixed.nan_to_num()  # tables with a nan are scored as nan, whatever is matched
    optimize = _load("scipy.optimize") if counts.device.type == "cpu" else None
    matched = solve_batched(fixed) if optimize is None else _solve_on_host(fixed, optimize.linear_sum_assignment)
    return sum_reproducible(tables.gather(2, matched[..., None]).squeeze(-1)).reshape(counts.shape[:-2])


def greedy_assignment(counts: Tensor) -> Tensor:
    """Items matched by taking the largest remaining cell and dropping its row and column, until none is left.

    Ties go to the lowest row, then the lowest column.

    Args:
        counts: ``(*batch, R, C)`` int64 or float64, not negative.

    Returns:
        ``(*batch,)`` of the type of ``counts``. Never synchronises with the device.
    """
    tables = _flat(counts)
    large = min(counts.shape[-2:]) > MANY_GROUPS and counts.device.type == "cpu"
    match = _match_leaders if large and not torch.compiler.is_compiling() else _match_largest
    return _sum_matched(tables, match(tables.detach())).reshape(counts.shape[:-2])


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
    csgraph = _load("scipy.sparse.csgraph")
    size = n_rows * n_columns
    if size <= (MAX_DENSE_CELLS if csgraph is None else SMALL_TABLE_CELLS):
        return _match_densely(batch_index, row, column, count, batch_size, n_rows, n_columns)
    if csgraph is None:
        raise ValueError(
            f"tables: expected up to {MAX_DENSE_CELLS} cells in a table for the best one-to-one matching without "
            f"SciPy; got {size}. Install SciPy, or use greedy_one_to_one_accuracy"
        )
    order = torch.argsort(batch_index, stable=True).cpu()
    ends = torch.bincount(batch_index, minlength=batch_size).cumsum(0).tolist()
    rows, columns = row.cpu()[order].numpy(), column.cpu()[order].numpy()
    weights = count.detach().cpu()[order].double().nan_to_num().numpy()
    chosen = np.zeros(len(order), dtype=bool)
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        if end > start:
            part = slice(start, end)
            chosen[part] = _match_sparse(rows[part], columns[part], weights[part])
    return _sum_cells(order[torch.from_numpy(chosen)], batch_index, count, batch_size)


def _match_densely(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int, n_rows: int, n_columns: int
) -> Tensor:
    """The best matching of sparse tables made dense, some of the batch at a time."""
    step = max(1, MAX_DENSE_CELLS // (n_rows * n_columns))
    values = []
    for start in range(0, batch_size, step):
        tables = min(step, batch_size - start)
        here = (batch_index >= start) & (batch_index < start + tables)
        cell = ((batch_index[here] - start) * n_rows + row[here]) * n_columns + column[here]
        dense = count.new_zeros(tables * n_rows * n_columns).index_add(0, cell, count[here])
        values.append(max_assignment(dense.view(tables, n_rows, n_columns)))
    return torch.cat(values) if values else count.new_zeros(0)


def sparse_greedy_assignment(
    batch_index: Tensor,
    row: Tensor,
    column: Tensor,
    count: Tensor,
    batch_size: int,
    n_rows: int,
    n_columns: int,
) -> Tensor:
    """Items of the greedy matching of each table of a sparse batch; arguments as in `sparse_max_assignment`.

    Returns:
        ``(batch_size,)`` of the type of ``count``. Synchronises with the device; ``Z log Z`` steps.
    """
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
    picked = torch.from_numpy(order[np.array(chosen, dtype=np.int64)])
    return _sum_cells(picked, batch_index, count, batch_size)


def _flat(counts: Tensor) -> Tensor:
    return counts.reshape(counts.shape[:-2].numel(), *counts.shape[-2:])


def _sum_matched(tables: Tensor, matched: Tensor) -> Tensor:
    """``(B,)`` sums over the cells ``(row, matched[row])``; -1 is a row without a partner."""
    cells = tables.gather(2, matched.clamp_min(0)[..., None]).squeeze(-1)
    return sum_reproducible(cells.masked_fill(matched < 0, 0))


def _sum_cells(picked: Tensor, batch_index: Tensor, count: Tensor, batch_size: int) -> Tensor:
    picked = picked.sort().values.to(count.device)
    return count.new_zeros(batch_size).index_add(0, batch_index[picked], count[picked])


# ---- the best matching -------------------------------------------------------------------------------


def _load(name: str) -> Any:
    """A part of SciPy, or None where it is not installed; loaded when it is needed, since that takes a while."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _solve_on_host(tables: Tensor, solve: Any) -> Tensor:
    """``(B, n)`` column of each row of ``(B, n, m)`` tables, ``n <= m``, by SciPy's solver."""
    matched = [solve(table, True)[1] for table in tables.double().numpy()]
    return torch.from_numpy(np.array(matched, dtype=np.int64).reshape(tables.shape[:2]))


def solve_batched(tables: Tensor) -> Tensor:
    """Column of each row in the best matching of every table, by shortest augmenting paths.

    Rows enter one at a time; for each, all tables grow their shortest path trees together until every one has
    reached a free column. Prices stay in the type of the counts, so integers are exact.

    Args:
        tables: ``(B, n, m)`` int64 or float64, ``n <= m``.

    Returns:
        ``(B, n)`` int64.
    """
    size, n, m = tables.shape
    matched = torch.full((size, n), -1, dtype=torch.int64, device=tables.device)
    if not size or not n:
        return matched
    cost = tables.amax((1, 2), keepdim=True) - tables
    row_price, column_price = cost.new_zeros(size, n), cost.new_zeros(size, m)
    owner = torch.full((size, m), -1, dtype=torch.int64, device=tables.device)
    for entering in range(n):
        length, previous, seen, reached, sink = _grow_paths(cost, row_price, column_price, owner, entering)
        slack = torch.where(seen, reached - length, 0)
        row_price[:, entering : entering + 1] += reached
        row_price.scatter_add_(1, owner.clamp_min(0), torch.where(owner >= 0, slack, 0))
        column_price -= slack
        _augment(matched, owner, previous, sink, entering)
    return matched


def _grow_paths(
    cost: Tensor, row_price: Tensor, column_price: Tensor, owner: Tensor, entering: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Shortest path from row ``entering`` to a free column, in every table.

    Returns:
        Path length to each column, row before it, and whether it is final, each ``(B, m)``; length to the
        free column and that column, each ``(B, 1)``.
    """
    size, _, m = cost.shape
    far = torch.inf if cost.is_floating_point() else torch.iinfo(cost.dtype).max
    length = torch.full_like(column_price, far)
    previous = torch.full_like(owner, entering)
    seen = torch.zeros_like(owner, dtype=torch.bool)
    row = torch.full((size, 1), entering, dtype=torch.int64, device=cost.device)
    sink = torch.zeros_like(row)
    reached = torch.zeros_like(cost[:, 0, :1])
    active = torch.ones_like(row, dtype=torch.bool)
    columns = torch.arange(m, device=cost.device)
    for _ in range(entering + 1):
        reduced = cost.gather(1, row[..., None].expand(-1, -1, m)).squeeze(1)
        reduced = reduced - row_price.gather(1, row) - column_price + reached
        shorter = (reduced < length) & ~seen & active
        length = torch.where(shorter, reduced, length)
        previous = torch.where(shorter, row, previous)
        nearest, column = length.masked_fill(seen, far).min(1, keepdim=True)
        reached = torch.where(active, nearest, reached)
        sink = torch.where(active, column, sink)
        seen = seen | ((columns == sink) & active)
        next_row = owner.gather(1, sink)
        active = active & (next_row >= 0)
        row = torch.where(active, next_row, row)
        if not bool(active.any()):
            break
    return length, previous, seen, reached, sink


def _augment(matched: Tensor, owner: Tensor, previous: Tensor, sink: Tensor, entering: int) -> None:
    """Exchange matched and free cells along the paths that end in ``sink``."""
    column, active = sink, torch.ones_like(sink, dtype=torch.bool)
    for _ in range(entering + 1):
        row = previous.gather(1, column)
        given_up = matched.gather(1, row)
        owner.scatter_(1, column, torch.where(active, row, owner.gather(1, column)))
        matched.scatter_(1, row, torch.where(active, column, given_up))
        active = active & (row != entering)
        column = torch.where(active, given_up, column)
        if not bool(active.any()):
            break


def _match_sparse(rows: Any, columns: Any, weights: Any) -> Any:
    """Mask ``(Z,)`` of the cells in the best matching of one sparse table.

    SciPy's solver matches every row and takes a weight of zero for a missing cell. So each row gets a column
    of its own that stands for "no partner", and every weight is raised by one.
    """
    if len(np.unique(rows)) > len(np.unique(columns)):
        rows, columns = columns, rows
    row_ids, row_codes = np.unique(rows, return_inverse=True)
    column_ids, column_codes = np.unique(columns, return_inverse=True)
    n, m = len(row_ids), len(column_ids)
    alone = np.arange(n)
    graph = import_module("scipy.sparse").csr_array(
        (
            np.concatenate([weights + 1, np.ones(n)]),
            (np.concatenate([row_codes, alone]), np.concatenate([column_codes, m + alone])),
        ),
        shape=(n, m + n),
    )
    partner = np.empty(n, dtype=np.int64)
    csgraph = import_module("scipy.sparse.csgraph")
    matched_rows, matched_columns = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
    partner[matched_rows] = matched_columns
    return partner[row_codes] == column_codes


# ---- the greedy matching -----------------------------------------------------------------------------


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


def _match_leaders(tables: Tensor) -> Tensor:
    """The matching of `_match_largest`, in few rounds on large tables on the host.

    A cell that leads both its row and its column is taken by the greedy rule whatever is taken before it, so
    all of them are taken together.
    """
    size, n_rows, n_columns = tables.shape
    matched = torch.full((size, n_rows), -1, dtype=torch.int64, device=tables.device)
    rows = torch.arange(n_rows, device=tables.device)
    left = tables.clone()
    while True:
        best, column = left.max(2)  # (B, R)
        leads = (left.argmax(1).gather(1, column) == rows) & (best >= 0)
        if not bool(leads.any()):
            return matched
        matched = torch.where(leads, column, matched)
        gone = torch.zeros(size, n_columns, dtype=torch.int64, device=left.device)
        gone = gone.scatter_add(1, column, leads.long())
        left = left.masked_fill(leads[..., None] | (gone > 0)[:, None], -1)
