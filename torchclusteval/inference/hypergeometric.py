"""Hypergeometric draws, one for each entry of a tensor.

Each draw is a ratio of uniforms under a table-mountain hat (Stadlober 1990): with ``a`` the mean plus 1/2 and ``h`` a
width, ``x = floor(a + h (v - 1/2) / u)`` is kept where ``u^2`` is at most the probability of ``x`` relative to the
mode.
"""

import math
from itertools import pairwise
from typing import NamedTuple

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
    for low, high in pairwise(_SPREADS):
        inside = spread > low if math.isinf(high) else (spread > low).logical_and_(spread <= high)
        for place in inside.nonzero().squeeze(-1).split(_BLOCK_DRAWS):
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
