"""Integer helpers for rows of different lengths that are stored one after another.

``index_select`` takes a third of the time of indexing with a tensor on the CPU; it stands where that counts.
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor


def starts_of(lengths: Tensor) -> Tensor:
    """Where each row begins, ``(n,)`` for ``(n,)`` lengths."""
    return lengths.cumsum(0) - lengths


def ranges(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenated ranges ``start, start + 1, ...`` of the given lengths.

    Args:
        starts: first position of each range, ``(n,)`` int64.
        lengths: number of positions of each range, ``(n,)`` int64.

    Returns:
        The number of the range of each position and the position, both ``(sum of lengths,)``.
    """
    owner = torch.repeat_interleave(lengths)
    shift = starts - starts_of(lengths)
    return owner, shift.index_select(0, owner).add_(torch.arange(owner.shape[0], device=owner.device))


def compress(keys: Tensor, bound: int) -> tuple[Tensor, int]:
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
    """A position at which each code ``0 .. count - 1`` stands, ``(count,)``."""
    positions = torch.arange(codes.shape[0], device=codes.device)
    return torch.empty(count, dtype=torch.int64, device=codes.device).scatter_(0, codes, positions)


def add_at(index: Tensor, values: Tensor, count: int) -> Tensor:
    """Sum values by index, ``(count,)``, in the order in which they stand (on the CPU)."""
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, index, values)


def merged(parts: Iterable[tuple[Tensor, Tensor]], pending: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Sum whole numbers by key over many parts.

    Args:
        parts: keys and numbers, each ``(n,)`` int64.
        pending: how many entries to collect before they are merged into the result, or as many as it has.
        device: where the result is if there is no part.

    Returns:
        The distinct keys, ascending, and their sums.
    """
    nothing = torch.zeros(0, dtype=torch.int64, device=device)
    keys, sums, waiting = [nothing], [nothing], 0
    for new_keys, numbers in parts:
        keys.append(new_keys)
        sums.append(numbers)
        waiting += new_keys.shape[0]
        if waiting > max(pending, keys[0].shape[0]):
            found = merge(keys, sums)
            keys, sums, waiting = [found[0]], [found[1]], 0
    return merge(keys, sums)


def merge(keys: list[Tensor], sums: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The distinct keys of all parts, ascending, and the sums of their numbers."""
    distinct, places = torch.unique(torch.cat(keys), return_inverse=True)
    return distinct, add_at(places, torch.cat(sums), distinct.shape[0])


def blocks(costs: Tensor, limit: int, max_rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of at most ``max_rows`` rows and a total cost of at most ``limit``.

    A row that costs more than the limit is a block of its own.

    Args:
        costs: cost of each row, ``(n,)`` int64.
        limit: most that the rows of a block may cost together.
        max_rows: most rows of a block.

    Yields:
        First row and end of each block.
    """
    ends = costs.cumsum(0).cpu()
    start = spent = 0
    while start < ends.shape[0]:
        fitting = int(torch.searchsorted(ends, spent + limit, right=True))
        end = max(start + 1, min(fitting, start + max(1, max_rows)))
        yield start, end
        start, spent = end, int(ends[end - 1])
