"""Which of several best matchings is taken, and whether there is only one, on dense tables.

Another best matching exists exactly where rows can exchange their columns in a circle that costs nothing; to be without
a partner counts as a column that all rows share. The cheapest exchanges are shortest paths. In large tables prices of
rows and columns that prove a matching to be best mark the *tight* cells instead: every best matching takes tight cells
only, and covers every row and column with a price above 0.

Of the best matchings the one is taken whose columns, in the order of the rows, are lexicographically smallest, with
"none" after every column.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

TIE_TOLERANCE = 1e-12  # of totals of fractions, times the largest weight where that is above 1
_RANK_BITS = 40  # so many bits of ranks are compared in one assignment: float64 holds them with room for sums

Solver = Callable[[Tensor, Tensor], Tensor]  # (B, n, m) int64 costs, n <= m, and allowed cells -> (B, n) columns


class Choices(NamedTuple):
    """What the best matchings of each table may use."""

    cells: Tensor  # (B, R, C) bool
    may_skip_row: Tensor  # (B, R) bool: the row may be without a partner
    may_skip_column: Tensor  # (B, C) bool


class CellList(NamedTuple):
    """What the best matchings of each table may use beside the cells of one of them."""

    table: Tensor  # (Z,) int64, of each cell
    row: Tensor  # (Z,) int64
    column: Tensor  # (Z,) int64
    may_skip_row: Tensor  # (B, R) bool: the row may be without a partner
    may_skip_column: Tensor  # (B, C) bool

    def only(self, tables: Tensor) -> "CellList":
        """Of some tables, with all that have cells among them."""
        number = tables.new_empty(len(self.may_skip_row))
        number[tables] = torch.arange(len(tables), device=tables.device)
        return CellList(number[self.table], self.row, self.column, *(x[tables] for x in self[3:]))


def choose_smallest(choices: CellList, matched: Tensor, solve: Solver) -> Tensor:
    """The lexicographically smallest of the best matchings, ``(B, R)``: on the rows with a choice and their columns.

    Args:
        choices: what other best matchings use.
        matched: ``(B, R)`` columns of a best matching, -1 for none, without cells of weight 0.
        solve: gives the assignment of the smallest cost.
    """
    table, row, column, may_skip_row, may_skip_column = choices
    alive = may_skip_row & (matched >= 0)
    alive[table, row] = True
    own_table, own_row = (alive & (matched >= 0)).nonzero(as_tuple=True)
    column = torch.cat([column, matched[own_table, own_row]])
    table, row = torch.cat([table, own_table]), torch.cat([row, own_row])
    used = torch.zeros_like(may_skip_column)
    used[table, column] = True
    rows, columns = _numbered(alive), _numbered(used)
    small = alive.new_zeros(len(alive), rows.beyond.shape[1], columns.beyond.shape[1])
    small[table, rows.number[table, row], columns.number[table, column]] = True
    skip = may_skip_row.gather(1, rows.place) & ~rows.beyond
    free = may_skip_column.gather(1, columns.place) | columns.beyond
    if bool(skip.any()) or not torch.equal(rows.beyond, columns.beyond):
        skip |= rows.beyond
    else:
        small.diagonal(0, 1, 2).logical_or_(rows.beyond)
    smallest = smallest_matching(Choices(small, skip, free), solve)
    table, row = alive.nonzero(as_tuple=True)
    place = smallest[table, rows.number[table, row]]
    chosen = matched.clone()
    chosen[table, row] = torch.where(place < 0, -1, columns.place[table, place.clamp_min(0)])
    return chosen


class _Numbered(NamedTuple):
    """Some places of each table numbered in order."""

    number: Tensor  # of each such place
    place: Tensor  # (B, k) of each number
    beyond: Tensor  # (B, k) bool: no such number in this table


def _numbered(x: Tensor) -> _Numbered:
    number = x.cumsum(1) - 1
    count = number[:, -1:] + 1
    beyond = torch.arange(int(count.amax()), device=x.device) >= count
    table, at = x.nonzero(as_tuple=True)
    place = torch.zeros_like(beyond, dtype=torch.int64)
    place[table, number[table, at]] = at
    return _Numbered(number, place, beyond)


def smallest_matching(choices: Choices, solve: Solver) -> Tensor:
    """The lexicographically smallest matching within ``choices``, ``(B, R)``.

    One assignment compares as many rows as there is room for: the cost of a row's k-th choice is k times the number of
    all choices of the rows after it. Rows with one choice need no room.
    """
    cells, skip, free = choices
    taken = cells.new_full(cells.shape[:2], -1, dtype=torch.int64)
    todo = torch.arange(len(cells), device=cells.device)
    while len(todo):
        counts = cells.sum(2) + skip  # (B, R) choices
        open_rows = counts > 1
        bits = counts.double().log2().cumsum(1)
        first = (open_rows.long().cumsum(1) == 1) & open_rows
        compared = open_rows & ((bits <= _RANK_BITS) | first)
        columns = _solve_ranks(Choices(cells, skip, free), counts, compared, solve)
        taken[todo] = columns
        left = (open_rows & ~compared).any(1).nonzero().squeeze(1)
        todo, cells, skip, free, columns, compared = (x[left] for x in (todo, cells, skip, free, columns, compared))
        own = columns[..., None] == torch.arange(cells.shape[2], device=cells.device)
        cells = torch.where(compared[..., None], own, cells)
        skip = torch.where(compared, columns < 0, skip)
    return taken


def _solve_ranks(choices: Choices, counts: Tensor, compared: Tensor, solve: Solver) -> Tensor:
    """A matching within ``choices`` with the smallest ranks in the rows that are compared, ``(B, R)``."""
    cells, skip, may_skip_column = choices
    _, n, m = cells.shape
    sizes = torch.where(compared, counts, 1)
    from_here = sizes.flip(1).cumprod(1).flip(1)
    radix = torch.where(compared, from_here // sizes, 0)
    most = from_here[:, :1]  # above every sum of ranks
    ranks = (cells.cumsum(2) - 1) * radix[..., None]
    cost = ranks + torch.where(may_skip_column, most, 0)[:, None]  # a column with a price is a gain above all ranks
    alone = (counts - 1) * radix + most
    if not bool(skip.any()):
        return solve(cost, cells)
    own_place = torch.eye(n, dtype=torch.bool, device=cells.device) & skip[..., None]
    columns = solve(torch.cat([cost, own_place * alone[..., None]], 2), torch.cat([cells, own_place], 2))
    return torch.where(columns < m, columns, -1)


class Exchanges(NamedTuple):
    """What exchanges of partners cost, tables last, as ``(n + 1, n + 1, B)``.

    In entry (i, k) row i gives up its column and takes that of row k. Place n is no row: row i takes a column that no
    row has or stays without one, or the column of row k is left without a row.
    """

    step: Tensor  # for row i alone
    chain: Tensor  # the cheapest way by any number of steps
    now: Tensor  # (n, B) weights of the matched cells, 0 for a row without a partner

    def only(self, tables: Tensor) -> "Exchanges":
        """Of some tables."""
        return Exchanges(*(x.gather(-1, tables.expand(*x.shape[:-1], -1)) for x in self))


def exchanges_of(weights: Tensor, columns: Tensor) -> Exchanges:
    """The exchanges of a best matching, by the algorithm of Floyd and Warshall.

    Args:
        weights: ``(B, n, m)``, n <= m.
        columns: ``(B, n)`` a column for each row; rows with a weight of 0 there are without a partner.
    """
    size, n, m = weights.shape
    step = weights.new_empty(n + 1, n + 1, size)
    inner = step[:n, :n]
    torch.neg(weights.gather(2, columns[:, None].expand(-1, n, -1)).permute(1, 2, 0), out=inner)
    now = inner.diagonal().mT.neg()
    leave = now
    far = torch.inf if weights.is_floating_point() else torch.iinfo(weights.dtype).max // 2
    inner += now[:, None]
    alone = now <= 0
    if m > n or bool(alone.any()):
        inner.masked_fill_(alone, far)
        nobody = owner_of(columns.masked_fill(alone.mT, -1), m) == n
        leave = now - weights.masked_fill(~nobody[:, None], 0).amax(2).mT
        leave.masked_fill_(alone, far)
    step[:n, n], step[n] = leave, 0
    step.diagonal().fill_(far)
    chain, longer = step.clone(), torch.empty_like(step)
    for k in range(n + 1):
        torch.add(chain[:, k : k + 1], chain[k : k + 1], out=longer)
        torch.minimum(chain, longer, out=chain)
    return Exchanges(step, chain, now)


def choices_of(weights: Tensor, matched: Tensor, exchanges: Exchanges, slack: Tensor) -> CellList:
    """What other best matchings use: the steps of exchanges that cost nothing."""
    n, m = weights.shape[1:]
    step, chain, now = exchanges
    free = step + chain.transpose(0, 1) <= slack.mT
    row, other, table = (free[:n, :n] & (step[:n, :n] < now[:, None])).nonzero(as_tuple=True)
    column = matched[table, other]
    is_matched, owner = matched >= 0, owner_of(matched, m)
    may_skip_row = ~is_matched | (now + chain[n, :n] <= slack.mT).mT
    may_skip_column = torch.nn.functional.pad(free[n, :n].mT, (0, 1), value=True).gather(1, owner)
    if m > n or not bool(is_matched.all()):
        gain = weights - (now + chain[n, :n]).mT[..., None]
        more = ((gain >= -slack[..., None]) & (owner == n)[:, None] & (weights > 0)).nonzero(as_tuple=True)
        table, row, column = (torch.cat(x) for x in zip((table, row, column), more, strict=True))
    return CellList(table, row, column, may_skip_row, may_skip_column)


def owner_of(matched: Tensor, columns: int, nobody: int | None = None) -> Tensor:
    """``(B, columns)`` the row of each column, and another number (or the number of rows) for none."""
    size, n = matched.shape
    owner = matched.new_full((size, columns + 1), n if nobody is None else nobody)
    numbers = torch.arange(n, device=matched.device).expand_as(matched)
    return owner.scatter_(1, torch.where(matched < 0, columns, matched), numbers)[:, :columns]


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
