"""Integer helpers for rows of different lengths that are stored one after another.

On the CPU ``index_select`` takes a third of the time of indexing with a tensor, so the frequent steps use it.
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor


def starts_of(lengths: Tensor) -> Tensor:
    """Position at which each row begins, ``(n,)`` for ``(n,)`` lengths."""
    return lengths.cumsum(0) - lengths


def ranges(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenated ranges ``start, start + 1, ...`` of the given lengths.

    Args:
        starts: first position of each range, ``(n,)`` int64.
        lengths: number of positions of each range, ``(n,)`` int64.

    Returns:
        For each position the number of its range, and the position; both ``(lengths.sum(),)``.
    """
    row = torch.repeat_interleave(lengths)
    shift = starts - starts_of(lengths)
    return row, shift.index_select(0, row).add_(torch.arange(row.shape[0], device=row.device))


def dense_ranks(keys: Tensor, bound: int) -> tuple[Tensor, int]:
    """Replace keys in ``[0, bound)`` by their ranks among the distinct keys.

    Returns:
        The rank of each key and the number of distinct keys.
    """
    if bound > 4 * keys.shape[0] + 1024:
        distinct, ranks = torch.unique(keys, return_inverse=True)
        return ranks, distinct.shape[0]
    seen = torch.zeros(bound, dtype=torch.int64, device=keys.device)
    seen = seen.index_fill(0, keys, 1).cumsum(0)
    return seen[keys] - 1, int(seen[-1]) if bound else 0


def first_positions(codes: Tensor, count: int) -> Tensor:
    """A position of each code ``0 .. count - 1``, ``(count,)``."""
    positions = torch.arange(codes.shape[0], device=codes.device)
    return torch.empty(count, dtype=torch.int64, device=codes.device).scatter_(0, codes, positions)


def add_at(index: Tensor, values: Tensor, count: int) -> Tensor:
    """Sum values by index, ``(count,)``; on the CPU in the order of the values."""
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, index, values)


def sum_by_key(keys: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct keys, ascending, and the sum of the numbers of each."""
    distinct, places = torch.unique(keys, return_inverse=True)
    return distinct, add_at(places, numbers, distinct.shape[0])


def sum_parts_by_key(
    parts: Iterable[tuple[Tensor, Tensor]], max_pending: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """:func:`sum_by_key` of many parts, without holding all of them.

    Args:
        parts: keys and numbers, each ``(n,)`` int64.
        max_pending: entries to collect before they are merged into the result, if that is not longer itself.
        device: device of the result if there is no part.
    """
    empty = torch.zeros(0, dtype=torch.int64, device=device)
    keys, numbers, pending = [empty], [empty], 0
    for new_keys, new_numbers in parts:
        keys.append(new_keys)
        numbers.append(new_numbers)
        pending += new_keys.shape[0]
        if pending > max(max_pending, keys[0].shape[0]):
            distinct, sums = sum_by_key(torch.cat(keys), torch.cat(numbers))
            keys, numbers, pending = [distinct], [sums], 0
    return sum_by_key(torch.cat(keys), torch.cat(numbers))


def blocks(costs: Tensor, max_cost: int, max_rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of at most ``max_rows`` rows and a total cost of at most ``max_cost``.

    A row that costs more is a block of its own.

    Args:
        costs: cost of each row, ``(n,)`` int64.
        max_cost: largest cost of a block.
        max_rows: largest number of rows of a block.

    Yields:
        First row and end of each block.
    """
    ends = costs.cumsum(0).cpu()  # one synchronisation with the device, not one for each block
    start = spent = 0
    while start < ends.shape[0]:
        fitting = int(torch.searchsorted(ends, spent + max_cost, right=True))
        end = max(start + 1, min(fitting, start + max(1, max_rows)))
        yield start, end
        start, spent = end, int(ends[end - 1])
