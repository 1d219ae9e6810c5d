"""Random tables drawn from a table or its margins, batched over tables and resamples.

Each table is drawn by a binary tree of hypergeometric or binomial draws, so the cost does not depend on the number of
items. Every draw is batched over tables, resamples and the nodes of a level of the tree, and follows its law exactly
up to rounding.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

_WIDTH_SCALE, _WIDTH_SHIFT = 2 * math.sqrt(2 / math.e), 3 - 2 * math.sqrt(3 / math.e)
_MAX_TABULATED = 1 << 16  # log-factorials up to here come from a table: rounding below 1e-10
_STIRLING_FROM = 16  # from here on Stirling's series is exact to 1e-17
_SPREADS = (0, 2, 8, math.inf)  # ranges of possible values per tier: inversion, but rejection in the last tier
_BLOCK_DRAWS = 1 << 15  # draws computed at a time: their temporaries stay in the cache
_BATCHED_TRIES = 4096  # up to this many unfinished draws get several tries at once


def hypergeometric(
    good: Tensor, bad: Tensor, sample: Tensor, generator: torch.Generator, logs: "LogFactorials"
) -> Tensor:
    """Good items among ``sample`` items drawn without replacement from ``good + bad``, all whole numbers in float64.

    The generator is on their device; ``logs`` are log-factorials up to ``good + bad`` at least.
    """
    least = (sample - bad).clamp_(min=0)
    spread = torch.minimum(good, sample).sub_(least).flatten()
    value = least.flatten()
    urns = torch.stack([good, bad - sample, sample]).flatten(1)
    for low, high in pairwise(_SPREADS):
        inside = spread > low if math.isinf(high) else (spread > low).logical_and_(spread <= high)
        for place in inside.nonzero().squeeze(-1).split(_BLOCK_DRAWS):
            urn = urns.index_select(1, place)
            if math.isinf(high):
                drawn = _by_rejection(urn, generator, logs)
            else:
                drawn = _by_inversion(urn, int(high), generator)
            value.index_copy_(0, place, drawn)
    return value.view(least.shape)


def _by_inversion(urn: Tensor, spread: int, generator: torch.Generator) -> Tensor:
    """Draws from urns of at most ``spread + 1`` possible values, by their cumulative probabilities."""
    good, rest, sample = urn  # rest: bad items less the sample
    least = (-rest).clamp_(min=0)
    u = torch.rand(len(least), dtype=least.dtype, device=least.device, generator=generator)
    k = torch.arange(spread, dtype=least.dtype, device=least.device).unsqueeze(-1) + least
    ratio = (good - k).mul_(sample - k)
    k += 1  # the probability of k + 1 relative to that of k; 0 from the last possible value on
    weight = ratio.div_((rest + k).mul_(k)).cumprod_(0)
    total = weight.cumsum_(0).add_(1)
    return least + (u >= 1 / total[-1]) + (u * total[-1] >= total[:-1]).sum(0)


def _by_rejection(urn: Tensor, generator: torch.Generator, logs: "LogFactorials") -> Tensor:
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
        tries = max(1, min(16, _BATCHED_TRIES // len(place)))
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
        self.tabulated = most <= _MAX_TABULATED
        length = most + 1 if self.tabulated else _STIRLING_FROM
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
        large = k.clamp(min=_STIRLING_FROM)
        square = large * large
        series = ((1 / 1260 - 1 / (1680 * square)) / square - 1 / 360) / square + 1 / 12
        stirling = 0.5 * torch.log(2 * math.pi * large) + series / large
        return torch.where(k < _STIRLING_FROM, self.table[k.long().clamp(max=_STIRLING_FROM - 1)], stirling)


def fixed_margins(rows: Tensor, columns: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Random tables ``(count, B, R, C)`` int64 with margins ``(B, R)`` and ``(B, C)`` int64.

    Rows are halved until each node is one row; at each node a multivariate hypergeometric draw decides how many items
    of every column belong to the left half.
    """
    logs = LogFactorials(rows)
    levels = _pyramid(rows.double())  # from single rows to their sum
    node = columns.double().expand(count, *columns.shape).unsqueeze(-2)  # (count, B, 1, C)
    for level in reversed(levels[:-1]):
        wanted = level[..., 0::2].expand(count, *level[..., 0::2].shape)
        left = _multivariate_hypergeometric(node, wanted, generator, logs)
        node = torch.stack([left, node - left], -2).flatten(-3, -2)[..., : level.shape[-1], :]
    return node.long()


def _multivariate_hypergeometric(
    available: Tensor, wanted: Tensor, generator: torch.Generator, logs: LogFactorials
) -> Tensor:
    """How many items of each kind are among ``wanted`` ``(...)`` items drawn from the ``available`` ``(..., C)``."""
    levels = _pyramid(available)
    drawn = wanted.unsqueeze(-1)
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        left = hypergeometric(pairs[..., 0::2], pairs[..., 1::2], drawn, generator, logs)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., : level.shape[-1]]
    return drawn


def multinomial(counts: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Multinomial samples ``(count, B, Z)`` int64 of the sums of ``counts`` ``(B, Z)``, in their proportions."""
    return split(*shares_of(counts), counts.shape[-1], count, generator)


def shares_of(counts: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Sums ``(B, 1)`` of counts ``(B, Z)``, and the shares of the first halves from there down to single counts."""
    levels, shares = _pyramid(counts.double()), []
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        shares.append(pairs[..., 0::2] / (pairs[..., 0::2] + pairs[..., 1::2]).clamp(min=1))
    return levels[-1], shares


def split(sums: Tensor, shares: Sequence[Tensor], width: int, count: int, generator: torch.Generator) -> Tensor:
    """Multinomial samples ``(count, *some, width)`` int64 of sums ``(*some, 1)``; later counts are 0."""
    drawn = sums.expand(count, *sums.shape)
    for below, share in zip(range(len(shares) - 1, -1, -1), shares, strict=True):
        if (halves := -(-width >> below)) == 1:
            continue  # all items are in the first half
        of_halves = share[..., : drawn.shape[-1]].expand(drawn.shape)
        left = torch.binomial(drawn.contiguous(), of_halves.contiguous(), generator=generator)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., :halves]
    return drawn.long()


def multiplicities(items: int, count: int, generator: torch.Generator) -> Tensor:
    """How often each item is drawn in ``items`` draws with replacement, ``(count, items)`` float32."""
    drawn = torch.randint(items, (count, items), generator=generator, device=generator.device)
    ones = torch.ones((), device=drawn.device).expand(drawn.shape)
    return torch.zeros(drawn.shape, device=drawn.device).scatter_add_(1, drawn, ones)


def _pyramid(x: Tensor) -> list[Tensor]:
    """``x``, the sums of its neighbouring pairs, the sums of neighbouring pairs of these ..., the sum of all."""
    levels = [x]
    while levels[-1].shape[-1] > 1:
        pairs = _even(levels[-1])
        levels.append(pairs[..., 0::2] + pairs[..., 1::2])
    return levels


def _even(x: Tensor) -> Tensor:
    """``x`` with a zero after an odd number of entries."""
    return torch.nn.functional.pad(x, (0, 1)) if x.shape[-1] % 2 else x
