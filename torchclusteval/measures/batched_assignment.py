"""The best one-to-one matching of many dense tables at once, on any device."""

import torch
from torch import Tensor


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
