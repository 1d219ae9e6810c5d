"""The greedy one-to-one matching of classes and clusters: the largest remaining cell, its row and column dropped.

Ties go to the lowest row, then the lowest column. The matching is chosen on detached counts and the cells are then read
from the counts given, so integers stay exact and gradients pass through.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.measures.assignment import flatten_batch
from torchclusteval.measures.sparse_assignment import sum_cells

_FEW_CELLS, _MANY_GROUPS = 1_000, 128  # of all tables; rows and columns: where the loop over sorted cells is faster
_EXACT_IN_INT32 = 1 << 31


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
    if tables.numel() > _FEW_CELLS and min(tables.shape[1:]) <= _MANY_GROUPS:
        if tables.is_floating_point() or (int(tables.amax()) + 1) * tables[0].numel() > _EXACT_IN_INT32:
            return _match_largest(tables)
        return _match_largest_keys(tables.numpy())
    table, row, column = tables.nonzero().unbind(1)
    chosen = sparse_match_greedily(table, row, column, tables[table, row, column], *tables.shape[1:])
    matched = torch.full(tables.shape[:2], -1)
    matched[table[chosen], row[chosen]] = column[chosen]
    return matched


def sparse_greedy_assignment(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, batch_size: int, n_rows: int, n_columns: int
) -> Tensor:
    """As :func:`greedy_assignment`, of sparse tables as in `sparse_max_assignment`; synchronises with the device."""
    chosen = sparse_match_greedily(batch_index, row, column, count, n_rows, n_columns)
    return sum_cells(chosen.nonzero().squeeze(1), batch_index, count, batch_size)


def sparse_match_greedily(
    batch_index: Tensor, row: Tensor, column: Tensor, count: Tensor, n_rows: int, n_columns: int
) -> Tensor:
    """``(Z,)`` bool: the cells of that matching; on the host."""
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
    picked = np.zeros(len(order), dtype=bool)
    picked[order[np.array(chosen, dtype=np.int64)]] = True
    return torch.from_numpy(picked).to(count.device)


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


def _match_largest_keys(tables: NDArray[np.int64]) -> Tensor:
    """As `_match_largest`, of small whole numbers on the host in less than half of the time: tables come last.

    A cell's key is its count and, for ties, its place from the end: the largest key tells which cell it is.
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
