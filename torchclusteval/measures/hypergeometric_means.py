"""Expectations over wide hypergeometric distributions from about forty terms, however wide they are.

A hypergeometric variable ``X`` is a sum of independent indicators, so at the angle ``t`` its characteristic function
is below ``exp(-variance (1 - cos t))``. By Poisson's formula a sum over every ``h``-th value then differs from the
sum over all of them by that factor at ``t = 2 pi / h``: below rounding for ``h`` up to two thirds of the standard
deviation.

With the four counts ``c`` of the 2 x 2 table that ``X`` belongs to, their means ``e`` and Stirling's series ``S``,

    log p(X) = constant - sum over the four of (c + 1/2) log1p((c - e) / e) + S(c),

since the means are those of independence. The constant falls out when the weights are divided by their sum.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

LOG_ALIAS = 43.0  # minus the log of the error of leaving values out
LEAST_COUNT = 16.0  # four terms of Stirling's series are exact to 1e-14 from here
SIGNS = (1.0, -1.0, -1.0, 1.0)  # of M in the four counts
PIECE_TERMS = 1 << 14  # terms held at once
DEVICE_PIECE_TERMS = 1 << 20

Array = NDArray[np.float64]


def wide_means(a: Array, b: Array, n: Array, reach: Array, centred: Array, device: torch.device) -> Array:
    """Means of ``log(1 + d) - centred d`` over ``M``, with ``d = (M + 1) n / (a b) - 1``.

    Each of the four means is at least the variance. Of a reach above 160 the variance is above 270, and the values
    that count stay among counts above 100, which Stirling's series covers.

    Sizes of classes and clusters, reach (values on both sides of the mean that count) and ``centred`` (0 or 1) are
    ``(P,)``, items ``(P,)`` or ``(1,)``.
    """
    mean, variance = moments(a, b, n)
    step = stride(variance)
    sides = np.ceil(reach / step)  # terms on each side
    start = np.floor(mean) - sides * step
    terms = 2 * sides + 1
    width = int(terms.max())
    means = (mean, a - 1 - mean, b - 1 - mean, n + 1 - a - b + mean)
    columns = np.stack(np.broadcast_arrays(start - mean, step, terms, n / (a * b), mean, centred, *means))
    result = np.empty(columns.shape[1])
    on_host = device.type == "cpu"
    piece = (PIECE_TERMS if on_host else DEVICE_PIECE_TERMS) // width
    for at in range(0, len(result), piece):
        part = columns[:, at : at + piece]
        value = _means(part, width) if on_host else _means(torch.from_numpy(part).to(device), width).cpu().numpy()
        result[at : at + piece] = value
    return result


def stride(variance: Any) -> Any:
    """How far apart the values may be; from a variance of about 50 on."""
    return np.floor(2 * np.pi / np.arccos(1 - LOG_ALIAS / variance))


def moments(a: Array, b: Array, n: Array) -> tuple[Array, Array]:
    """Mean and variance of ``M ~ Hypergeometric(n - 1; a - 1, b - 1)``."""
    mean = (a - 1) * (b - 1) / (n - 1)
    return mean, mean * ((n - a) * (n - b) / ((n - 1) * (n - 2)))


def _means(data: Any, width: int) -> Any:
    """Means ``(P,)`` from columns ``(10, P)``; arrays or tensors."""
    xp: Any = np if isinstance(data, np.ndarray) else torch
    start, step, terms, rate, mean, centred = data[:6]
    k = (np.arange(width) if xp is np else torch.arange(width, device=data.device))[:, None]
    t = start + step * k  # (width, P): M less its mean
    log_p = 0.0
    for expected, sign in zip(data[6:], SIGNS, strict=True):
        shift = t * sign
        # Beyond the terms that count anything finite will do.
        relative = (shift / expected).clip(-0.999)
        inverse = 1 / (shift + expected).clip(LEAST_COUNT / 2)
        square = inverse * inverse
        series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
        log_p = log_p - xp.log1p(relative) * (shift + (expected + 0.5)) - series
    weight = xp.exp(log_p) * (k < terms)
    d = (t * rate + ((mean + 1) * rate - 1)).clip(-0.999)
    summand = (xp.log1p(d) - centred * d) * weight
    sums = xp.concatenate((summand, weight), 1).sum(0)  # row by row, which NumPy does not do for a single column
    return sums[: len(rate)] / sums[len(rate) :]
