"""Random tables: with fixed margins (the permutation model), or of items drawn again (the bootstrap).

Permuting the labels of one side gives a random table with the same margins; drawing the items again with
replacement gives a multinomial sample over the cells. Both are drawn from the table itself, by a binary tree of
hypergeometric or binomial draws, so the number of items costs nothing. Every draw is batched over tables,
replicates and the nodes of a level of the tree, and follows its law exactly up to rounding.

Each hypergeometric draw is a ratio of uniforms under a table-mountain hat (Stadlober 1990): with ``a`` the mean
plus 1/2 and ``h`` a width, ``x = floor(a + h (v - 1/2) / u)`` is kept where ``u^2`` is at most the probability of
``x`` relative to the mode.
"""

import math
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.checks import enough_memory
from torchclusteval.tables import ContingencyTables, check_tables

BLOCK = 256  # replicates that share a generator
_MOST_REPLICATES = 10_000_000
_MOST_CELLS = 2**32  # of all tables that are drawn
_MOST_ITEMS = 2**53  # draws are whole numbers in float64

_WIDTH_SCALE, _WIDTH_SHIFT = 2 * math.sqrt(2 / math.e), 3 - 2 * math.sqrt(3 / math.e)
_TABULATED = 1 << 16  # log-factorials up to here come from a table: rounding below 1e-10
_STIRLING = 16  # from here on the series below is exact to 1e-17
_TIERS = (0, 2, 8, math.inf)  # draws with this many values to either side: by inversion, and the rest by rejection
_PIECE = 1 << 15  # draws worked on at a time: their temporaries stay in the cache
_TRIES_AT_ONCE = 4096  # draws that are still open get several tries at once up to this many


def random_tables(
    class_sizes: Tensor, cluster_sizes: Tensor, count: int, generator: torch.Generator | None = None
) -> ContingencyTables:
    """Tables with fixed margins, as permuting the labels of one side gives them.

    Args:
        class_sizes: ``(*batch, R)`` integers; batch shapes broadcast.
        cluster_sizes: ``(*batch, C)`` integers with the same sums.
        count: tables to draw for each pair of margins.
        generator: source of the one seed; by default torch's own.

    Returns:
        Int64 tables, ``(count, *batch, R, C)``.

    Raises:
        ValueError: sizes are negative or not integers, their sums differ or pass 2**53, ``count`` is not from 1 to
            10,000,000, or the tables do not fit in memory.
    """
    rows, columns = _check_margins(class_sizes, cluster_sizes)
    batch, shape = rows.shape[:-1], (rows.shape[-1], columns.shape[-1])
    rows, columns = rows.reshape(batch.numel(), shape[0]), columns.reshape(batch.numel(), shape[1])
    with _room(check_replicates(count, "count"), batch, shape):
        blocks = seeded_blocks(count, rows.device, generator)
        drawn = torch.cat([fixed_margins(rows, columns, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *batch, *shape), validate=False)


def multinomial_tables(
    tables: ContingencyTables, count: int, generator: torch.Generator | None = None
) -> ContingencyTables:
    """Tables of items drawn again with replacement, as many as each table has.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        count: tables to draw for each.
        generator: source of the one seed; by default torch's own.

    Returns:
        Int64 tables, ``(count, *batch, R, C)``, dense.

    Raises:
        ValueError: float tables or more than 2**53 items, ``count`` is not from 1 to 10,000,000, or the tables do
            not fit in memory.
    """
    check_integer(tables)
    with _room(check_replicates(count, "count"), tables.batch_shape, (tables.shape[-2], tables.shape[-1])):
        counts = tables.to_dense().counts
        flat = counts.reshape(tables.batch_shape.numel(), tables.shape[-2] * tables.shape[-1])
        blocks = seeded_blocks(count, flat.device, generator)
        drawn = torch.cat([multinomial(flat, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *counts.shape), validate=False)


def seeded_blocks(
    replicates: int, device: torch.device, generator: torch.Generator | None
) -> list[tuple[torch.Generator, int]]:
    """Blocks of replicates with a generator each, from one seed and the number of the block."""
    check_generator(generator)
    place = device if generator is None else generator.device
    seed = int(torch.randint(1 << 32, (), generator=generator, device=place))
    # Generators on the CPU read 32 bits of a seed; an odd stride keeps the blocks of one call apart.
    seeds = [(seed + 0x9E3779B9 * i) % (1 << 32) for i in range(-(-replicates // BLOCK))]
    left = [min(BLOCK, replicates - i * BLOCK) for i in range(len(seeds))]
    return [(torch.Generator(device).manual_seed(x), size) for x, size in zip(seeds, left, strict=True)]


def check_count(count: int, name: str) -> int:
    """A positive whole number."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{name}: expected a whole number of at least 1; got {count!r}")
    return count


def check_replicates(count: int, name: str) -> int:
    """A positive whole number of replicates, which all are kept."""
    if check_count(count, name) > _MOST_REPLICATES:
        raise ValueError(f"{name}: expected a whole number of at most {_MOST_REPLICATES:,}; got {str(count)[:40]}")
    return count


def check_generator(generator: Any) -> None:
    """Raise on what is no generator, such as a seed."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ValueError(f"generator: expected a torch.Generator or None; got {type(generator).__name__}")


def check_integer(tables: ContingencyTables) -> None:
    """Raise on tables of masses: items, not weights, are drawn again or permuted."""
    check_tables(tables)
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts to resample; got float64 masses")
    _check_items(tables.class_sizes, "tables")


def _check_items(sizes: Tensor, name: str) -> None:
    """Raise on more items than draws in float64 can count; ``sizes`` is ``(*batch, groups)``."""
    items = sizes.double().sum(-1)
    if items.numel() and float(items.max()) > _MOST_ITEMS:
        raise ValueError(f"{name}: expected at most 2**53 items a table to draw from; got {float(items.max()):.3g}")


def _room(count: int, batch: torch.Size, shape: tuple[int, int]) -> AbstractContextManager[None]:
    tables = f"{count} x {batch.numel()}" if batch else str(count)
    found = f"{tables} of {shape[0]} x {shape[1]}"
    message = f"count: expected tables that fit in memory; got {found} (draw fewer at a time)"
    if count * batch.numel() * shape[0] * shape[1] > _MOST_CELLS:
        raise ValueError(message)
    return enough_memory(message)


def _check_margins(class_sizes: Tensor, cluster_sizes: Tensor) -> tuple[Tensor, Tensor]:
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        if not isinstance(sizes, Tensor):
            raise ValueError(f"{name}: expected a tensor of integers; got {type(sizes).__name__}")
        if sizes.is_floating_point() or sizes.is_complex() or sizes.dim() == 0:
            raise ValueError(f"{name}: expected integers of shape (*batch, groups); got {sizes.dtype}")
        if bool((sizes < 0).any()):
            raise ValueError(f"{name}: expected sizes of at least 0; got {int(sizes.min())}")
    try:
        batch = torch.broadcast_shapes(class_sizes.shape[:-1], cluster_sizes.shape[:-1])
    except RuntimeError:
        found = f"{tuple(class_sizes.shape)} and {tuple(cluster_sizes.shape)}"
        raise ValueError(f"cluster_sizes: expected a batch shape that broadcasts; got {found}") from None
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        _check_items(sizes, name)
    rows, columns = (x.long().expand(*batch, x.shape[-1]) for x in (class_sizes, cluster_sizes))
    differ = rows.sum(-1) != columns.sum(-1)
    if bool(differ.any()):
        found = f"{int(rows.sum(-1)[differ][0])} and {int(columns.sum(-1)[differ][0])}"
        raise ValueError(f"cluster_sizes: expected the sum of class_sizes; got {found}")
    return rows, columns


# --- trees of draws ---------------------------------------------------------------------------------------


def fixed_margins(rows: Tensor, columns: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Random tables ``(count, B, R, C)`` int64 with margins ``(B, R)`` and ``(B, C)`` int64.

    Rows are halved until each node is one row; the items of every column go to the left half of a node by a
    multivariate hypergeometric draw.
    """
    logs = LogFactorials(rows)
    levels = _pyramid(rows.double())  # from single rows to all of them
    node = columns.double().expand(count, *columns.shape).unsqueeze(-2)  # (count, B, 1, C)
    for level in reversed(levels[:-1]):
        wanted = level[..., 0::2].expand(count, *level[..., 0::2].shape)
        left = _share_out(node, wanted, generator, logs)
        node = torch.stack([left, node - left], -2).flatten(-3, -2)[..., : level.shape[-1], :]
    return node.long()


def _share_out(available: Tensor, wanted: Tensor, generator: torch.Generator, logs: "LogFactorials") -> Tensor:
    """How many of the ``available`` items ``(..., C)`` of each kind are among ``wanted`` drawn ones ``(...)``."""
    levels = _pyramid(available)
    drawn = wanted.unsqueeze(-1)
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        left = hypergeometric(pairs[..., 0::2], pairs[..., 1::2], drawn, generator, logs)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., : level.shape[-1]]
    return drawn


def multinomial(counts: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Multinomial samples ``(count, B, Z)`` int64 of the sums of ``counts`` ``(B, Z)``, in their proportions."""
    levels = _pyramid(counts.double())
    drawn = levels[-1].expand(count, *levels[-1].shape)
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        share = pairs[..., 0::2] / (pairs[..., 0::2] + pairs[..., 1::2]).clamp(min=1)
        left = torch.binomial(drawn.contiguous(), share.expand(drawn.shape).contiguous(), generator=generator)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., : level.shape[-1]]
    return drawn.long()


def _pyramid(x: Tensor) -> list[Tensor]:
    """``x`` and its sums over neighbours, over neighbours of those ..., down to the sum of all, ``(..., 1)``."""
    levels = [x]
    while levels[-1].shape[-1] > 1:
        pairs = _even(levels[-1])
        levels.append(pairs[..., 0::2] + pairs[..., 1::2])
    return levels


def _even(x: Tensor) -> Tensor:
    return torch.nn.functional.pad(x, (0, 1)) if x.shape[-1] % 2 else x


# --- one draw ---------------------------------------------------------------------------------------------


def hypergeometric(
    good: Tensor, bad: Tensor, sample: Tensor, generator: torch.Generator, logs: "LogFactorials"
) -> Tensor:
    """Good items among ``sample`` items drawn without replacement from ``good + bad``.

    Args:
        good: whole numbers, float64; ``bad`` and ``sample`` likewise, of the same shape.
        generator: on the device of the numbers.
        logs: log-factorials up to ``good + bad`` at least.

    Returns:
        Whole numbers, float64.
    """
    least = (sample - bad).clamp_(min=0)
    spread = torch.minimum(good, sample).sub_(least).flatten()
    value = least.flatten()
    for low, high in pairwise(_TIERS):
        inside = spread > low if math.isinf(high) else (spread > low).logical_and_(spread <= high)
        for place in inside.nonzero().squeeze(-1).split(_PIECE):
            urn = _Urn(*(x.flatten().index_select(0, place) for x in (good, bad - sample, sample)))
            if math.isinf(high):
                drawn = _by_rejection(urn, generator, logs)
            else:
                drawn = _by_inversion(urn, int(high), generator)
            value.index_copy_(0, place, drawn)
    return value.view(least.shape)


class _Urn(NamedTuple):
    """What is drawn from, ``(n,)`` float64 each."""

    good: Tensor
    rest: Tensor  # bad items less the sample
    sample: Tensor


def _by_inversion(urn: _Urn, spread: int, generator: torch.Generator) -> Tensor:
    """Draws from urns of at most ``spread + 1`` possible values, by their cumulative probabilities."""
    good, rest, sample = urn
    least = (-rest).clamp_(min=0)
    u = torch.rand(len(least), dtype=least.dtype, device=least.device, generator=generator)
    k = torch.arange(spread, dtype=least.dtype, device=least.device).unsqueeze(-1) + least
    ratio = (good - k).mul_(sample - k)
    k += 1  # the probability of k + 1 relative to that of k; 0 from the last possible value on
    weight = ratio.div_((rest + k).mul_(k)).cumprod_(0)
    total = weight.cumsum_(0).add_(1)
    return least + (u >= 1 / total[-1]) + (u * total[-1] >= total[:-1]).sum(0)


def _by_rejection(urn: _Urn, generator: torch.Generator, logs: "LogFactorials") -> Tensor:
    """Draws from urns with more than one possible value."""
    good, rest, sample = urn
    bad = rest + sample
    items = good + bad
    mean = sample * (good / items)
    width = (mean * (bad / items) * ((items - sample) / (items - 1)) + 0.5).sqrt_().mul_(_WIDTH_SCALE)
    mode = ((sample + 1) * (good + 1) / (items + 2)).floor_()
    at_mode = logs.weight(mode, good, sample, rest, mean)
    urns = torch.stack([good, sample, rest, mean, width.add_(_WIDTH_SHIFT), at_mode])
    value = torch.empty_like(mean)
    place = torch.arange(len(mean), device=mean.device)
    while len(place):
        good, sample, rest, mean, width, at_mode = urns
        tries = max(1, min(16, _TRIES_AT_ONCE // len(place)))
        u, v = torch.rand(2, tries, len(place), dtype=mean.dtype, device=mean.device, generator=generator)
        u = 1 - u  # above 0
        x = v.sub_(0.5).mul_(width).div_(u).add_(mean).add_(0.5).floor_()
        possible = x.clamp((-rest).clamp_(min=0), torch.minimum(good, sample))
        bound = logs.weight(possible, good, sample, rest, mean).sub_(at_mode)
        kept = (u.log_().mul_(2) <= bound).logical_and_(x == possible)
        done, first = (kept[0], None) if tries == 1 else kept.max(0)
        hit, open_ = done.nonzero().squeeze(-1), (~done).nonzero().squeeze(-1)
        x = x[0] if first is None else x.gather(0, first.unsqueeze(0))[0]
        value.index_copy_(0, place.index_select(0, hit), x.index_select(0, hit))
        place, urns = place.index_select(0, open_), urns.index_select(1, open_)
    return value


class LogFactorials:
    """Log-probabilities of hypergeometric values up to a constant of the urn, for items up to a bound."""

    def __init__(self, sizes: Tensor) -> None:
        most = int(sizes.sum(-1).max()) if sizes.numel() else 0
        self.tabulated = most <= _TABULATED
        length = most + 1 if self.tabulated else _STIRLING
        k = torch.arange(length, dtype=torch.float64, device=sizes.device)
        self.table = torch.lgamma(k + 1)
        if not self.tabulated:
            self.table += k - torch.xlogy(k, k)

    def weight(self, x: Tensor, good: Tensor, sample: Tensor, rest: Tensor, mean: Tensor) -> Tensor:
        """Minus the log-factorials of the four cells ``x``, ``good - x``, ``sample - x`` and ``rest + x``."""
        cells = (x, good - x, sample - x, rest + x)
        if self.tabulated:
            a, b, c, d = (self.table.take(cell.long()) for cell in cells)
            return a.add_(b).add_(c).add_(d).neg_()
        # Against the cells' means no large logarithms are subtracted; the terms that are linear in x cancel.
        away = x - mean
        shares = (away / mean, away / (mean - good), away / (mean - sample), away / (rest + mean))
        logs = (torch.special.xlog1py(k, share) + self._tail(k) for k, share in zip(cells, shares, strict=True))
        return -sum(logs, start=torch.zeros_like(x))

    def _tail(self, k: Tensor) -> Tensor:
        """``log k! - k log k + k``: Stirling's series, or the table below its reach."""
        large = k.clamp(min=_STIRLING)
        square = large * large
        series = ((1 / 1260 - 1 / (1680 * square)) / square - 1 / 360) / square + 1 / 12
        stirling = 0.5 * torch.log(2 * math.pi * large) + series / large
        return torch.where(k < _STIRLING, self.table[k.long().clamp(max=_STIRLING - 1)], stirling)
