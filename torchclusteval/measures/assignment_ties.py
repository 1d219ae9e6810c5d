"""Which of several best matchings is taken, and whether there is only one, on dense tables.

Prices of rows and columns that prove a matching to be best mark the *tight* cells: every best matching takes tight
cells only, and covers every row and column with a price above 0. Another best matching exists exactly where rows can
exchange their columns in a circle of tight cells; to be without a partner counts as a column that all rows share.
Of the best matchings the one is taken whose columns, in the order of the rows, are lexicographically smallest, with
"none" after every column.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

TIE_TOLERANCE = 1e-12  # of totals of fractions, relative to the largest weight where that is above 1
_WORD_BITS = 62
_RANK_BITS = 40  # so many bits of ranks are compared in one assignment: float64 holds them with room for sums

Solver = Callable[[Tensor, Tensor], Tensor]  # (B, n, m) int64 costs, n <= m, and allowed cells -> (B, n) columns


class Choices(NamedTuple):
    """What the best matchings of each table may use."""

    cells: Tensor  # (B, R, C) bool
    may_skip_row: Tensor  # (B, R) bool: the row may be without a partner
    may_skip_column: Tensor  # (B, C) bool


def tolerance(weights: Tensor) -> Tensor:
    """Differences up to this are ties, ``(B, 1, 1)``; 0 for whole numbers."""
    if not weights.is_floating_point():
        return weights.new_zeros(len(weights), 1, 1)
    return TIE_TOLERANCE * weights.amax((1, 2), keepdim=True).clamp(min=1)


def choose_smallest(weights: Tensor, matched: Tensor, solve: Solver) -> tuple[Tensor, Tensor]:
    """The lexicographically smallest of the best matchings, and whether it is the only one.

    Args:
        weights: ``(B, R, C)`` int64 or float64, not negative.
        matched: ``(B, R)`` columns of a best matching, -1 for none, without cells of weight 0.
        solve: gives the assignment of the smallest cost.

    Returns:
        ``(B, R)`` int64 and ``(B,)`` bool.
    """
    choices = _tight(weights, matched)
    alive, column_alive = _rows_in_exchanges(choices, matched)
    unique = ~alive.any(1)
    tied = (~unique).nonzero().squeeze(1)
    if not len(tied):
        return matched, unique
    own = _at(matched[tied], weights.shape[2])
    cells = (choices.cells[tied] & alive[tied, :, None] & column_alive[tied, None, :]) | own
    skip = choices.may_skip_row[tied] & alive[tied] | (matched[tied] < 0)
    smallest = smallest_matching(Choices(cells, skip, choices.may_skip_column[tied]), matched[tied], solve)
    return matched.index_copy(0, tied, smallest), unique


def smallest_matching(choices: Choices, matched: Tensor, solve: Solver) -> Tensor:
    """The lexicographically smallest matching within ``choices``, ``(B, R)``, where ``matched`` is one of them.

    One assignment compares as many rows as there is room for: the cost of a row's k-th choice is k times the number of
    all choices of the rows after it. Rows with one choice need no room.
    """
    cells, skip, _ = choices
    taken = matched.clone()
    todo = torch.arange(len(matched), device=matched.device)
    while True:
        counts = cells.sum(2) + skip  # (B, R) choices
        open_rows = counts > 1
        left = open_rows.any(1).nonzero().squeeze(1)
        if len(left) < len(todo):
            todo, cells, skip, counts, open_rows = (x[left] for x in (todo, cells, skip, counts, open_rows))
        if not len(todo):
            return taken
        bits = counts.double().log2().cumsum(1)
        first = (open_rows.long().cumsum(1) == 1) & open_rows
        compared = open_rows & ((bits <= _RANK_BITS) | first)
        columns = _solve_ranks(Choices(cells, skip, choices.may_skip_column[todo]), counts, compared, solve)
        taken[todo] = columns
        own = _at(columns, cells.shape[2])
        cells = torch.where(compared[..., None], own, cells)
        skip = torch.where(compared, columns < 0, skip)


def _solve_ranks(choices: Choices, counts: Tensor, compared: Tensor, solve: Solver) -> Tensor:
    """A matching within ``choices`` with the smallest ranks in the rows that are compared, ``(B, R)``."""
    cells, skip, may_skip_column = choices
    _, n, m = cells.shape
    sizes = torch.where(compared, counts, 1)
    from_here = sizes.flip(1).cumprod(1).flip(1)
    radix = torch.where(compared, from_here // sizes, 0)
    most = from_here[:, :1]  # above every sum of ranks
    ranks = (cells.long().cumsum(2) - 1) * radix[..., None]
    cost = ranks + torch.where(may_skip_column, most, 0)[:, None]  # a column with a price is a gain above all ranks
    alone = (counts - 1) * radix + most
    own_place = torch.eye(n, dtype=torch.bool, device=cells.device) & skip[..., None]
    columns = solve(torch.cat([cost, own_place * alone[..., None]], 2), torch.cat([cells, own_place], 2))
    return torch.where(columns < m, columns, -1)


def _at(matched: Tensor, columns: int) -> Tensor:
    """``(B, R, C)`` bool: the matched cells."""
    return matched[..., None] == torch.arange(columns, device=matched.device)


def _tight(weights: Tensor, matched: Tensor) -> Choices:
    slack = tolerance(weights)
    row_prices, column_prices = prices_of(weights, matched)
    cells = (row_prices[..., None] + column_prices[:, None] - weights <= slack) & (weights > 0)
    return Choices(cells, row_prices <= slack[..., 0], column_prices <= slack[..., 0])


def prices_of(weights: Tensor, matched: Tensor) -> tuple[Tensor, Tensor]:
    """Prices ``(B, R)`` and ``(B, C)``, not negative: a cell has at most the sum of its two, a matched one just that.

    They are lengths of shortest paths of exchanges (Bellman-Ford, all tables together).
    """
    size, n, m = weights.shape
    is_matched = matched >= 0
    at = matched.clamp_min(0)
    now = weights.gather(2, at[..., None]).squeeze(2).masked_fill(~is_matched, 0)
    slack = tolerance(weights)[..., 0]
    lost = now[..., None] - weights  # what row i loses if it takes column j
    distance, outside, to_column = torch.zeros_like(now), now.new_zeros(size, 1), now.new_zeros(size, m)
    busy: Tensor | None = None  # the tables that still change; None: all
    for _ in range(n + 2):
        part: tuple[Tensor, ...] = (lost, distance, outside, now, at, is_matched)
        if busy is not None:
            part = tuple(x[busy] for x in part)
        found = _shorten(*part)
        least = slack if busy is None else slack[busy]
        changed = ((found[0] < part[1] - least) | (found[1] < part[2] - least)).any(1)
        if busy is None:
            distance, outside, to_column = found
        else:
            kept = (distance, outside, to_column)
            distance, outside, to_column = (x.index_copy(0, busy, y) for x, y in zip(kept, found, strict=True))
        rows = changed.nonzero().squeeze(1)
        if not len(rows):
            break
        if 2 * len(rows) < len(changed):
            busy = rows if busy is None else busy[rows]
    return distance + now - outside, outside - to_column


def _shorten(
    lost: Tensor, distance: Tensor, outside: Tensor, now: Tensor, at: Tensor, is_matched: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One round: distances of the rows, of being without a partner, and of the columns."""
    to_column = (lost + distance[..., None]).amin(1)
    alone = (distance + now).amin(1, keepdim=True)
    owned = torch.zeros_like(to_column).scatter_add_(1, at, is_matched.to(to_column.dtype)) > 0
    nearest = torch.where(owned, torch.inf if lost.is_floating_point() else torch.iinfo(lost.dtype).max, to_column)
    outside = torch.minimum(torch.minimum(outside, alone), nearest.amin(1, keepdim=True))
    to_column = torch.where(owned, torch.minimum(to_column, outside), outside)
    return torch.where(is_matched, to_column.gather(1, at), outside), outside, to_column


def _rows_in_exchanges(choices: Choices, matched: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that can begin an exchange, ``(B, R)``, and columns that such a row would take, ``(B, C)``.

    Rows from which no circle is reached are dropped, again and again; the columns of a row are bits of a few words.
    """
    cells, may_skip_row, may_skip_column = choices
    size, n, m = cells.shape
    is_matched, at = matched >= 0, matched.clamp_min(0)
    other = cells.scatter(2, at[..., None], (cells.gather(2, at[..., None]).squeeze(2) & ~is_matched)[..., None])
    masks = _pack(other)  # (B, R, W)
    gives_to_outside = ~is_matched | may_skip_column.gather(1, at)
    may_leave = is_matched & may_skip_row
    alive = torch.ones_like(is_matched)
    outside = torch.ones(size, 1, dtype=torch.bool, device=cells.device)
    owned = torch.zeros(size, m, dtype=torch.int64, device=cells.device).scatter_add_(1, at, is_matched.long()) > 0
    column_alive = torch.ones_like(owned)
    for _ in range(n + 2):
        reached = ((masks & _pack(column_alive)[:, None]) != 0).any(2)
        still = alive & (reached | (may_leave & outside))
        outside_still = outside & (still & gives_to_outside).any(1, keepdim=True)
        if bool((still == alive).all() & (outside_still == outside).all()):
            break
        alive, outside = still, outside_still
        owner_alive = torch.zeros_like(owned, dtype=torch.int64).scatter_add_(1, at, (alive & is_matched).long()) > 0
        column_alive = torch.where(owned, owner_alive, outside)
    return alive, column_alive


def _pack(x: Tensor) -> Tensor:
    """``(..., W)`` int64: the last dimension as bits of words."""
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % _WORD_BITS)) if x.shape[-1] > _WORD_BITS else x
    words = x.unflatten(-1, (-1, min(x.shape[-1], _WORD_BITS)))
    powers = 2 ** torch.arange(words.shape[-1], device=x.device)
    return (words * powers).sum(-1)
