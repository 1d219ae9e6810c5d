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

TIE_TOLERANCE = 1e-12  # of totals of fractions, times the largest weight where that is above 1
_WORD_BITS = 62
_RANK_BITS = 40  # so many bits of ranks are compared in one assignment: float64 holds them with room for sums

Solver = Callable[[Tensor, Tensor], Tensor]  # (B, n, m) int64 costs, n <= m, and allowed cells -> (B, n) columns


class Choices(NamedTuple):
    """What the best matchings of each table may use."""

    cells: Tensor  # (B, R, C) bool
    may_skip_row: Tensor  # (B, R) bool: the row may be without a partner
    may_skip_column: Tensor  # (B, C) bool


def choose_smallest(choices: Choices, matched: Tensor, solve: Solver, settled: int = 0) -> tuple[Tensor, Tensor]:
    """The lexicographically smallest of the best matchings, and whether it is the only one.

    Args:
        choices: what best matchings may use.
        matched: ``(B, R)`` columns of a best matching, -1 for none, without cells of weight 0.
        solve: gives the assignment of the smallest cost.
        settled: so many rows have the smallest columns already.

    Returns:
        ``(B, R)`` int64 and ``(B,)`` bool.
    """
    moves = _moves_of(choices, matched)
    alive, _ = _rows_in_exchanges(moves, torch.ones_like(moves.gives))
    unique = ~alive.any(0)
    tied = (~unique).nonzero().squeeze(1)
    if len(tied):
        left = _Moves(*(_pick(x, tied) for x in moves))
        alive = _pick(alive, tied)
        alive[:settled] = False
        alive, columns = _rows_in_exchanges(left, alive)
        open_ones = alive.any(0).nonzero().squeeze(1)
        tied = tied[open_ones]
        if len(tied):
            part = Choices(*(x[tied] for x in choices))
            column_alive = _unpack(columns[:, open_ones].mT, choices.cells.shape[2])
            chosen = _choose_among(part, matched[tied], alive.mT[open_ones], column_alive, solve)
            matched = matched.index_copy(0, tied, chosen)
    return matched, unique


def _choose_among(choices: Choices, matched: Tensor, alive: Tensor, column_alive: Tensor, solve: Solver) -> Tensor:
    """The smallest matching of tables with several, ``(B, R)``: on the rows and columns of the exchanges alone."""
    rows = _first(alive)
    row_alive = alive.gather(1, rows)
    cells = choices.cells.gather(1, rows[..., None].expand(-1, -1, matched_columns := choices.cells.shape[2]))
    before = matched.gather(1, rows)
    own = _at(before, matched_columns)
    cells = ((cells & column_alive[:, None]) | own) & row_alive[..., None]
    used = cells.any(1)
    columns = _first(used)
    cells = cells.gather(2, columns[:, None].expand(-1, rows.shape[1], -1))
    here = own.gather(2, columns[:, None].expand_as(cells)) & row_alive[..., None]
    skip = choices.may_skip_row.gather(1, rows) | (before < 0) | ~row_alive
    free = choices.may_skip_column.gather(1, columns) | ~used.gather(1, columns)
    start = torch.where(here.any(2), here.long().argmax(2), -1)
    smallest = smallest_matching(Choices(cells, skip, free), start, solve)
    after = torch.where(smallest < 0, -1, columns.gather(1, smallest.clamp_min(0)))
    return matched.scatter(1, rows, torch.where(row_alive, after, before))


def _first(x: Tensor) -> Tensor:
    """``(B, k)`` the true places of each row in order, and others up to the most that a row has."""
    return x.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, : int(x.sum(1).amax())]


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


# --- many tables at once: the tables are the last dimension, which is what one operation walks along ----------------


def prices_of(weights: Tensor, matched: Tensor, slack: Tensor) -> tuple[Tensor, Tensor]:
    """Prices ``(B, R)`` and ``(B, C)``, not negative: a cell has at most the sum of its two, a matched one just that.

    They are lengths of shortest paths of exchanges (Bellman-Ford, all tables together).
    """
    size, n, m = weights.shape
    column_of = matched.mT.contiguous()
    is_matched, at = column_of >= 0, column_of.clamp_min(0)
    stacked = weights.permute(1, 2, 0).contiguous()
    rows = torch.arange(n, device=weights.device)[:, None]
    now = stacked.take(_flat(rows * m + at)).masked_fill_(~is_matched, 0)
    gain = stacked - now[:, None]  # what row i gains if it takes column j
    owned = at.new_zeros(m, size).scatter_add_(0, at, is_matched.long()) > 0
    row_prices, column_prices = torch.empty_like(now), now.new_empty(m, size)
    kept: tuple[Tensor, ...] = (gain, torch.zeros_like(now), now.new_zeros(1, size), now, at, is_matched)
    kept += (owned, slack.mT)
    busy = torch.arange(size, device=weights.device)  # the tables that still change
    for left in range(n + 1, -1, -1):
        gain, distance, outside, now, at, is_matched, owned, least = kept
        shorter, free, to_column = _shorten(gain, distance, outside, now, at, is_matched, owned)
        changed = ((shorter < distance - least) | (free < outside - least)).any(0) & (left > 0)
        kept = (gain, shorter, free, now, at, is_matched, owned, least)
        done = (~changed).nonzero().squeeze(1)
        if 4 * len(done) < len(busy) and left:
            continue
        row_prices.index_copy_(1, busy[done], _pick(shorter + now - free, done))
        column_prices.index_copy_(1, busy[done], _pick(free - to_column, done))
        if len(done) == len(busy):
            break
        rest = changed.nonzero().squeeze(1)
        busy, kept = busy[rest], tuple(_pick(x, rest) for x in kept)
    return row_prices.mT, column_prices.mT


def _shorten(
    gain: Tensor, distance: Tensor, outside: Tensor, now: Tensor, at: Tensor, is_matched: Tensor, owned: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One round: distances of the rows, of being without a partner, and of the columns."""
    to_column = (distance[:, None] - gain).amin(0)
    alone = (distance + now).amin(0, keepdim=True)
    far = torch.inf if gain.is_floating_point() else torch.iinfo(gain.dtype).max
    nearest = to_column.masked_fill(owned, far).amin(0, keepdim=True)
    outside = torch.minimum(torch.minimum(outside, alone), nearest)
    to_column = torch.where(owned, torch.minimum(to_column, outside), outside)
    return torch.where(is_matched, to_column.take(_flat(at)), outside), outside, to_column


def _pick(x: Tensor, tables: Tensor) -> Tensor:
    """``(..., k)`` of some tables; much faster than indexing."""
    return x.gather(-1, tables.expand(*x.shape[:-1], -1))


def _flat(at: Tensor) -> Tensor:
    """Places ``(k, B)`` along the first dimension as numbers for ``Tensor.take``, which is faster than ``gather``."""
    return at * at.shape[1] + torch.arange(at.shape[1], device=at.device)


class _Moves(NamedTuple):
    """What each row may do in an exchange; columns are bits of W words."""

    others: Tensor  # (R, W, B) int64: the columns that it may take instead of its own
    own: Tensor  # (R, W, B) int64: its column
    free: Tensor  # (W, B) int64: the columns that no row has
    gives: Tensor  # (R, B) bool: it has no column, or one that may be left without a row
    leaves: Tensor  # (R, B) bool: it may be left without its column


def _moves_of(choices: Choices, matched: Tensor) -> _Moves:
    cells, may_skip_row, may_skip_column = (x.movedim(0, -1) for x in choices)
    column_of = matched.mT
    is_matched, at = column_of >= 0, column_of.clamp_min(0)
    masks = _pack(cells)
    bit = is_matched.long() << at % _WORD_BITS
    own = torch.zeros_like(masks).scatter_(1, (at // _WORD_BITS)[:, None], bit[:, None])
    free = _pack(torch.ones_like(cells[0])) & ~own.sum(0)
    gives = ~is_matched | may_skip_column.take(_flat(at))
    return _Moves(masks & ~own, own, free, gives, is_matched & may_skip_row)


def _rows_in_exchanges(moves: _Moves, alive: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that can begin an exchange of some rows, ``(R, B)`` each, and columns that they would take, ``(W, B)``.

    Rows from which no circle is reached are dropped, again and again; tables where none is left to drop are set aside.
    """
    outside, found = torch.ones_like(alive[:1]), torch.empty_like(alive)
    taken = torch.empty_like(moves.free)
    busy = torch.arange(alive.shape[1], device=alive.device)
    while True:
        columns = torch.where(alive[:, None], moves.own, 0).sum(0) + torch.where(outside, moves.free, 0)
        reached = (moves.others & columns) != 0
        reached = reached.any(1) if reached.shape[1] > 1 else reached[:, 0]
        still = alive & (reached | (moves.leaves & outside))
        outside_still = outside & (still & moves.gives).any(0, keepdim=True)
        changed = (still != alive).any(0) | (outside_still != outside)[0]
        alive, outside = still, outside_still
        done = (~changed).nonzero().squeeze(1)
        if 2 * len(done) < len(busy):
            continue
        found.index_copy_(1, busy[done], _pick(alive, done))
        taken.index_copy_(1, busy[done], _pick(columns, done))
        if len(done) == len(busy):
            return found, taken
        rest = changed.nonzero().squeeze(1)
        busy, alive, outside = busy[rest], _pick(alive, rest), _pick(outside, rest)
        moves = _Moves(*(_pick(x, rest) for x in moves))


def _pack(x: Tensor) -> Tensor:
    """``(..., W, B)`` int64: the columns of ``(..., C, B)`` as bits of words."""
    x = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[-2] % _WORD_BITS)) if x.shape[-2] > _WORD_BITS else x
    words = x.unflatten(-2, (-1, min(x.shape[-2], _WORD_BITS)))
    powers = 2 ** torch.arange(words.shape[-2], device=x.device)
    return torch.where(words, powers[:, None], 0).sum(-2)


def _unpack(words: Tensor, columns: int) -> Tensor:
    """``(B, C)`` bool of ``(B, W)`` words."""
    numbers = torch.arange(columns, device=words.device)
    return (words[:, numbers // _WORD_BITS] >> numbers % _WORD_BITS) & 1 > 0
