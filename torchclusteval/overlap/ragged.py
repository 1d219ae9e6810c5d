"""Integer helpers for rows of different lengths that are stored one after another.

On the CPU ``index_select`` takes a third of the time of indexing with a tensor, so the frequent steps use it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor


def starts_of(lengths: Tensor) -> Tensor:
    """Position at which each row begins, ``(n,)`` for ``(n,)`` lengths."""
    return lengths.cumsum(0) - lengths


def ranges(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return (number of the range, position) of every position in these ranges, one range after another."""
    row = torch.repeat_interleave(lengths)
    shift = starts - starts_of(lengths)
    return row, shift.index_select(0, row).add_(torch.arange(row.shape[0], device=row.device))


def dense_ranks(keys: Tensor, bound: int) -> tuple[Tensor, int]:
    """Return (rank of each key among the distinct keys, number of distinct keys), for keys in ``[0, bound)``."""
    if bound > 4 * keys.shape[0] + 1024:
        distinct, ranks = torch.unique(keys, return_inverse=True)
        return ranks, distinct.shape[0]
    seen = torch.zeros(bound, dtype=torch.int64, device=keys.device)
    seen = seen.index_fill(0, keys, 1).cumsum(0)
    return seen[keys] - 1, int(seen[-1]) if bound else 0


def first_positions(codes: Tensor, count: int) -> Tensor:
    """One position of each code ``0 .. count - 1``, ``(count,)``."""
    positions = torch.arange(codes.shape[0], device=codes.device)
    return torch.empty(count, dtype=torch.int64, device=codes.device).scatter_(0, codes, positions)


def add_at(index: Tensor, values: Tensor, count: int) -> Tensor:
    """Sum values by index, ``(count,)``; on the CPU in the order of the values."""
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, index, values)


def sparse_rows(lengths: Tensor, columns: Tensor, values: Tensor, width: int) -> Any:
    """A sparse array of SciPy, on the host, from rows of these lengths stored one after another."""
    from scipy.sparse import csr_array

    ends = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return csr_array(tuple(x.cpu().numpy() for x in (values, columns, ends)), shape=(len(lengths), width))


def rows_of(array: Any, low: int, high: int) -> Any:
    """Rows ``low .. high - 1`` of a sparse array; all rows are the array itself, without a copy."""
    return array if (low, high) == (0, array.shape[0]) else array[low:high]


def sum_by_key(keys: np.ndarray, numbers: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (distinct keys, ascending; sum of each), int64, for keys in ``[0, bound)`` with sums above 0."""
    if bound > 4 * len(keys) + 1024:
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, np.bincount(places, numbers, len(distinct)).astype(np.int64)
    sums = np.bincount(keys, numbers, bound)
    found = np.flatnonzero(sums)
    return found, sums[found].astype(np.int64)


def blocks(costs: Tensor, max_cost: int, max_rows: int) -> Iterator[tuple[int, int]]:
    """Yield (first row, end) of blocks that cost at most ``max_cost``; a row above that is a block of its own."""
    ends = costs.cumsum(0).cpu()  # one synchronisation with the device, not one for each block
    start = spent = 0
    while start < ends.shape[0]:
        fitting = int(torch.searchsorted(ends, spent + max_cost, right=True))
        end = max(start + 1, min(fitting, start + max(1, max_rows)))
        yield start, end
        start, spent = end, int(ends[end - 1])
