"""Expectations over wide hypergeometric distributions from about forty terms, however wide they are.

A hypergeometric variable ``X`` is a sum of independent indicators, so at the angle ``t`` its characteristic function
is below ``exp(-variance (1 - cos t))``. By Poisson's formula a sum over every ``h``-th value then differs from the
sum over all of them by that factor at ``t = 2 pi / h``: below rounding for ``h`` up to two thirds of the standard
deviation.

With the four counts ``c`` of the 2 x 2 table that ``X`` belongs to, their means ``e`` and Stirling's series ``S``,

    log p(X) = constant - sum over the four of (c + 1/2) log1p((c - e) / e) + S(c),

since the means are those of independence. The constant falls out when the weights are divided by their sum.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.numerics import SUM_BLOCK, sum_blocks

LOG_ALIAS = 43.0  # minus the log of the error of leaving values out
LEAST_COUNT = 16.0  # four terms of Stirling's series are exact to 1e-14 from here
PIECE = 1 << 14  # terms held at once

Array = NDArray[np.float64]


def is_wide(a: Array, b: Array, n: Array, reach: Array) -> NDArray[np.bool_]:
    """Whether sums over ``reach`` on both sides of the mean stay among counts that Stirling's series covers."""
    mean, variance = moments(a, b, n)
    least = np.minimum(np.minimum(mean, a - 1 - mean), np.minimum(b - 1 - mean, n + 1 - a - b + mean))
    return (least - reach - 2 >= LEAST_COUNT) & (variance >= LOG_ALIAS)


def wide_means(a: Array, b: Array, n: Array, reach: Array, centred: Array, device: torch.device) -> Array:
    """Means of ``log(1 + d) - centred d`` over ``M``, with ``d = (M + 1) n / (a b) - 1``.

    Args:
        a: ``(P,)`` class sizes.
        b: ``(P,)`` cluster sizes.
        n: ``(P,)`` or ``(1,)`` items.
        reach: ``(P,)`` values on both sides of the mean that count.
        centred: ``(P,)`` 0 or 1.
        device: where to work.
    """
    mean, variance = moments(a, b, n)
    stride = np.floor(2 * np.pi / np.arccos(1 - LOG_ALIAS / np.maximum(variance, LOG_ALIAS)))
    sides = np.ceil(reach / stride)  # terms on each side
    start = np.floor(mean) - sides * stride
    terms = 2 * sides + 1
    means = (mean, a - 1 - mean, b - 1 - mean, n + 1 - a - b + mean)
    signs = (1.0, -1.0, -1.0, 1.0)
    columns = np.stack(np.broadcast_arrays(start - mean, stride, terms, n / (a * b), mean, centred, *means))
    widths = (np.ceil(terms / SUM_BLOCK) * SUM_BLOCK).astype(np.int64)
    result = np.empty(len(widths))
    for width in np.unique(widths).tolist():
        chosen = np.flatnonzero(widths == width)
        for part in np.array_split(chosen, -(-len(chosen) * width // PIECE)):
            data = torch.from_numpy(columns[:, part, None]).to(device)
            result[part] = _means(data, width, signs).cpu().numpy()
    return result


def moments(a: Array, b: Array, n: Array) -> tuple[Array, Array]:
    """Mean and variance of ``M ~ Hypergeometric(n - 1; a - 1, b - 1)``."""
    mean = (a - 1) / np.maximum(n - 1, 1) * (b - 1)
    return mean, mean * ((n - a) / np.maximum(n - 1, 1)) * ((n - b) / np.maximum(n - 2, 1))


def _means(data: Tensor, width: int, signs: tuple[float, ...]) -> Tensor:
    start, stride, terms, rate, mean, centred, *means = data  # (P, 1) each
    k = torch.arange(width, dtype=torch.float64, device=data.device)
    t = start + stride * k  # (P, width): M less its mean
    log_p = torch.zeros_like(t)
    for expected, sign in zip(means, signs, strict=True):
        shift = t if sign > 0 else -t
        # Beyond the terms that count anything finite will do.
        relative = (shift / expected).clamp_min_(-0.999)
        inverse = 1 / (shift + expected).clamp_min_(LEAST_COUNT / 2)
        square = inverse * inverse
        series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
        log_p -= torch.log1p(relative) * (shift + (expected + 0.5)) + series
    weight = torch.exp(log_p).masked_fill_(k >= terms, 0.0)
    d = ((t + (mean + 1)) * rate - 1).clamp_min_(-0.999)
    summand = torch.log1p(d) - centred * d
    return sum_blocks(weight * summand) / sum_blocks(weight)
