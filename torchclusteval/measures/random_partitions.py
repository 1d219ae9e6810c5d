"""Sizes of the groups of random partitions: all partitions of ``n`` items, or those into ``k`` groups, equally likely.

Bell and Stirling numbers are coefficients of ``f(z) = exp(exp(z) - 1)`` and of ``(exp(z) - 1)^k``, and so means over a
circle. On the circle through the saddle point of ``f(z) / z^n`` the integrand is a bell of width ``1 / s`` in the
angle, ``s^2`` being the variance of the degree of a random term of ``f``. A few dozen evenly spaced angles give such a
mean to rounding, for any ``n``; ratios of numbers are ratios of means, and nothing overflows.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torchclusteval.common.numerics import log_gamma_rest

Array = NDArray[np.float64]

REACH = 10.0  # standard deviations, beyond which terms are below rounding
FULL_SPREAD = 50.0  # standard deviation below which all angles count
LOG_ALIAS = 43.0  # minus the log of the error of leaving values out
LEAST_SPREAD = 50.0  # variance of the sizes from which every h-th is enough
NEGLIGIBLE = 1e-19  # share of all items
LARGEST_EXPONENT = 700.0  # weights so far from angle 0 are 0
SMALL = 0.5  # radius below which log(sinh(z/2) / (z/2)) is a series
SERIES = (1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800, 1 / 479001600, -691 / 15692092416000, 1 / 747242496000)
MAX_KEPT = 1 << 10  # results kept between calls


class GroupSizes(NamedTuple):
    """Sizes, and the expected number of groups of each; a size that stands for its neighbours counts theirs too."""

    size: Array
    number: Array


class _Circle(NamedTuple):
    """The weights of angles ``(J,)`` on a circle; those of the other half are their conjugates."""

    radius: float
    angle: Array
    weight: NDArray[np.complex128]  # f(z) / z^n, 1 at angle 0; doubled elsewhere


@lru_cache(MAX_KEPT)
def joined_share(n: int, k: int | None) -> float:
    """Probability that a random partition of ``n`` items (into ``k`` groups) joins two given items.

    ``S(n - 1, k) / S(n, k)``, Stirling numbers of the second kind, or ``B(n - 1) / B(n)``, Bell numbers.
    """
    if k in (1, n):
        return 1.0 * (k < n)
    circle = _circle(n, k, k, 0.0)
    turned = np.expm1(1j * circle.angle)  # z / radius - 1
    return float(circle.radius / n * (1 + (circle.weight * turned).real.sum() / circle.weight.real.sum()))


@lru_cache(MAX_KEPT)
def group_sizes(n: int, k: int | None) -> GroupSizes:
    """Sizes of the groups of a random partition of ``n`` items (into ``k`` groups).

    The expected number of groups of ``b`` items is ``binom(n, b) S(n - b, k - 1) / S(n, k)``, or
    ``binom(n, b) B(n - b) / B(n)``: a Poisson weight times a coefficient of ``f`` for the other groups. Numbers are
    relative until all items are shared out.
    """
    if k in (1, n):
        return GroupSizes(np.array([n / k]), np.array([float(k)]))
    circle = _circle(n, k, None if k is None else k - 1, 100.0)
    mean = circle.radius
    most = n if k is None else n - k + 1
    variance = mean if k is None else mean * (1 - 1 / k)
    # Poisson's formula: a sum over every h-th value is off by at most the characteristic function at 2 pi / h, which
    # is below exp(-variance (1 - cos(2 pi / h))).
    step = 1.0 if variance < LEAST_SPREAD else 2 * math.pi // math.acos(1 - LOG_ALIAS / variance)
    reach = REACH * math.sqrt(mean) + 40
    first = max(1.0, math.floor(mean) - step * math.ceil(reach / step))
    size = np.arange(first, min(float(most), mean + reach) + 1, step)
    others = (np.exp(1j * size[:, None] * circle.angle) * circle.weight).real.sum(1)
    share = size * others * np.exp(_log_poisson(size, mean))
    share = np.maximum(share / share.sum(), 0.0)
    kept = share > NEGLIGIBLE
    return GroupSizes(size[kept], share[kept] * n / size[kept])


def _circle(n: int, k: int | None, power: int | None, extra: float) -> _Circle:
    """Angles and weights, of ``(exp(z) - 1)^power``, on the circle for ``n`` items in ``k`` groups (None: any number).

    ``power``: groups that ``f`` stands for, likewise; ``extra``: angles on top of those for one coefficient.
    """
    from scipy.optimize import brentq
    from scipy.special import exprel, lambertw

    if k is None:
        radius = float(lambertw(n).real)  # z exp(z) = n
    else:  # z / (1 - exp(-z)) = n / k
        radius = brentq(lambda z: 1 / exprel(-z) - n / k, (n - k) / k / 2, 3 * (n - k) / k)
    if power is None:
        variance = n * (1 + radius)
    else:
        mean = 1 / exprel(-radius)
        variance = power * (mean * (1 + radius - mean) if radius > 1e-3 else radius / 2)
    spread = math.sqrt(variance)
    angles = 2 * math.ceil(REACH * spread + 30 + extra) + 1  # on the whole circle
    half = angles // 2 if spread < FULL_SPREAD else math.ceil(REACH / spread * angles / (2 * math.pi))
    angle: Array = np.arange(half + 1, dtype=np.float64) * (2 * math.pi / angles)
    weight = np.exp(_log_weight(n, power, radius, angle))
    weight[1:] *= 2
    return _Circle(radius, angle, weight)


def _log_weight(n: int, power: int | None, radius: float, angle: Array) -> NDArray[np.complex128]:
    """``log(f(z) / z^n)`` less its value at angle 0; small differences are taken before they are multiplied."""
    from scipy.special import log1p  # that of NumPy is not exact where complex numbers are small

    step = radius * np.expm1(1j * angle)  # z - radius
    if power is None:
        return math.exp(radius) * np.expm1(step) - 1j * n * angle
    if radius < SMALL:  # log(exp(z) - 1) = log z + z / 2 + log(sinh(z/2) / (z/2))
        square, least = (radius + step) ** 2, radius**2
        series = sum(c * (square ** (i + 1) - least ** (i + 1)) for i, c in enumerate(SERIES))
        return power * (step / 2 + series) - 1j * (n - power) * angle
    back = np.minimum(-step.real, LARGEST_EXPONENT) - 1j * step.imag
    away = -np.expm1(back) * (math.exp(-radius) / -math.expm1(-radius))
    return power * (step + log1p(away)) - 1j * n * angle


def _log_poisson(x: Array, mean: float) -> Array:
    """``log(mean^x exp(-mean) / x!)`` but for a constant, from ``x = 1`` on."""
    e = (x - mean) / mean
    near = np.where(np.abs(e) < 0.05, e, 0.0)  # (1 + e) log(1 + e) - e loses digits there
    series = sum((-1) ** m * near**m / (m * (m - 1)) for m in range(2, 14))
    deviance = mean * np.where(near == 0, (1 + e) * np.log1p(e) - e, series)
    return -deviance - (np.log(x) / 2 + log_gamma_rest(x))
