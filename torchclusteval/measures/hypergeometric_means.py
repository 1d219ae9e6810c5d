"""Expected logarithms over hypergeometric distributions with large means, by a series in central moments."""

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_MEAN = 140.0
MORE_MOMENTS = 20, 3  # moments that give the logarithm, and odd lags of their recurrence that count
SERIES = {LEAST_MEAN: MORE_MOMENTS, 500.0: (12, 2), 2500.0: (8, 2)}  # as exact, from these means on
PIECE_PAIRS = 1 << 11  # whose moments are held at once

Array = NDArray[np.float64]


def large_means(order: int, lags: int, a: Array, b: Array, n: Array) -> Array:
    """Means of ``log((M + 1) n / (a b))`` times ``a b / n^2``, ``(P,)``, from so many moments.

    Sizes of classes and clusters are ``(P,)``, items ``(P,)`` or ``(1,)``. The error is below 1e-13 of the mean of
    absolute logarithms where the mean of ``M`` is large enough.
    """
    result = np.empty_like(a)
    for at in range(0, len(a), PIECE_PAIRS):
        part = slice(at, at + PIECE_PAIRS)
        items = float(n[0]) if len(n) == 1 else n[part]
        result[part] = mean_by_moments(a[part], b[part], items, order, lags, np)
    return result * (a * b / (n * n))


def moments(a: Any, b: Any, n: Any) -> tuple[Any, Any]:
    """Mean and variance of ``M ~ Hypergeometric(n - 1; a - 1, b - 1)``."""
    mean = (a - 1) * (b - 1) / (n - 1)
    return mean, mean * ((n - a) * (n - b) / ((n - 1) * (n - 2)))


def mean_by_moments(a: Any, b: Any, n: Any, order: int, lags: int, xp: Any) -> Any:
    """``log1p(E d) + E log1p(z)`` with ``z = (M - mean) / (mean + 1)``, from the moments ``q[k] = E (2 M - 2 mean)^k``.

    With ``y = M - mean`` and the means ``A``, ``B``, ``C`` and ``D`` of the other cells and this one, where
    ``A B = C D``, ratios of neighbours give ``E (A - y) (B - y) (2 y + 1)^k = E (C + y) (D + y) (2 y - 1)^k``: each
    moment by those before it, in terms that fall with the width, of which the first few ``lags`` count. Arrays or
    tensors.
    """
    items = n - 1
    mean = (a - 1) * (b - 1) / items
    left, right = (a - 1) * (n - b) / items, (b - 1) * (n - a) / items
    spread = left * right * (4 / items)
    skew = (2 * (left + right) - items) / items
    q: list[Any] = [1.0, 0.0, spread * (items / (items - 1))]
    products = [spread]  # spread q[k] - skew q[k + 1]
    for k in range(2, order):
        products.append(spread * q[k - 1] - skew * q[k])
        moment = k * products[k - 1]
        rest = (comb(k, 2) - comb(k, 3) / items) * q[k - 1]
        for lag in range(3, min(2 * lags, k + 1), 2):
            moment += comb(k, lag) * products[k - lag]
            if lag < 2 * lags - 1:
                rest += comb(k, lag + 1) * q[k - lag]
        moment -= rest
        moment *= items / (items - k)
        q.append(moment)
    scale = -0.5 / (mean + 1)
    total = q[order] / -order
    for k in range(order - 1, 1, -1):
        total *= scale
        total -= q[k] / k
    return xp.log1p((n - a) * (n - b) / ((n - 1) * (a * b))) + total * (scale * scale)
