"""Sizes of the groups of random partitions: all partitions of ``n`` items, or those into ``k`` groups, equally likely.

Bell and Stirling numbers are coefficients of ``f(z) = exp(exp(z) - 1)`` and of ``(exp(z) - 1)^k``, and so means over a
circle. On the circle through the saddle point of ``f(z) / z^n`` the integrand is a bell of width ``1 / s`` in the
angle, ``s^2`` being the variance of the degree of a random term of ``f``. A few dozen evenly spaced angles give such a
mean to rounding, for any ``n``; ratios of numbers are ratios of means, and nothing overflows.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOG_ALIAS = 43.0  # minus the log of the error of leaving angles or sizes out
REACH = 10.0  # standard deviations, beyond which terms are below rounding
FULL_SPREAD = 50.0  # standard deviation below which all angles count
LEAST_SPREAD = 50.0  # variance of the sizes from which every h-th is enough
NEGLIGIBLE = 1e-19  # share of all items
LARGEST_EXPONENT = 700.0  # weights so far from angle 0 are 0
SMALL = 0.5  # radius below which log(sinh(z/2) / (z/2)) is a series
SERIES = (1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800, 1 / 479001600, -691 / 15692092416000, 1 / 747242496000)
MAX_KEPT = 1 << 10  # results kept between calls


class GroupSizes(NamedTuple):
    """Sizes, and the expected number of groups of each; where they stand for their neighbours, of these too."""

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
    if k == n:
        return 0.0
    if k == 1:
        return 1.0
    circle = _circle(n, k, k, 0.0)
    turned = _expm1(np.zeros_like(circle.angle), circle.angle)  # z / radius - 1
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
    stride = _stride(mean if k is None else mean * (1 - 1 / k))
    reach = REACH * math.sqrt(mean) + 40
    first = max(1.0, math.floor(mean) - stride * math.ceil(reach / stride))
    size = np.arange(first, min(float(most), mean + reach) + 1, stride)
    others = _coefficients(circle, size)
    share = size * others * np.exp(_log_poisson(size, mean))
    share = np.maximum(share / share.sum(), 0.0)
    kept = share > NEGLIGIBLE
    return GroupSizes(size[kept], share[kept] * n / size[kept])


def _stride(variance: float) -> float:
    """How far apart sizes of this variance may be, as in ``hypergeometric_means``."""
    return 1.0 if variance < LEAST_SPREAD else math.floor(2 * math.pi / math.acos(1 - LOG_ALIAS / variance))


def _circle(n: int, k: int | None, power: int | None, extra: float) -> _Circle:
    """Angles and weights, of ``(exp(z) - 1)^power``, on the circle for ``n`` items in ``k`` groups.

    Args:
        n: items.
        k: groups; None: any number.
        power: groups that ``f`` stands for; None: any number.
        extra: angles beside those that one coefficient needs.
    """
    radius = _saddle_of_all(n) if k is None else _saddle_of_groups(n / k)
    variance = n * (1 + radius) if power is None else power * radius * _slope(radius)
    spread = math.sqrt(variance)
    angles = 2 * math.ceil(REACH * spread + 30 + extra) + 1  # on the whole circle
    half = angles // 2 if spread < FULL_SPREAD else math.ceil(REACH / spread * angles / (2 * math.pi))
    angle: Array = np.arange(half + 1, dtype=np.float64) * (2 * math.pi / angles)
    weight = np.exp(_log_weight(n, power, radius, angle))
    weight[1:] *= 2
    return _Circle(radius, angle, weight)


def _saddle_of_all(n: int) -> float:
    """The solution of ``z exp(z) = n``."""
    z = math.log1p(n)
    for _ in range(8):
        z *= (1 + math.log(n) - math.log(z)) / (1 + z)
    return z


def _saddle_of_groups(mean: float) -> float:
    """The solution of ``z / (1 - exp(-z)) = mean``, by Newton's method from above, where the function is convex."""
    z = min(mean, 2 * (mean - 1))
    for _ in range(60):
        step = (z / -math.expm1(-z) - mean) / _slope(z)
        z -= step
        if abs(step) <= 1e-14 * z:
            break
    return z


def _slope(z: float) -> float:
    """The derivative of ``z / (1 - exp(-z))``."""
    if z < 1e-3:
        return 0.5 + z / 6
    filled = -math.expm1(-z)
    return (filled - z * math.exp(-z)) / filled**2


def _log_weight(n: int, power: int | None, radius: float, angle: Array) -> NDArray[np.complex128]:
    """``log(f(z) / z^n)`` less its value at angle 0; small differences are taken before they are multiplied."""
    step = radius * _expm1(np.zeros_like(angle), angle)  # z - radius
    if power is None:
        return math.exp(radius) * _expm1(step.real, step.imag) - 1j * n * angle
    if radius < SMALL:  # log(exp(z) - 1) = log z + z / 2 + log(sinh(z/2) / (z/2))
        square, least = (radius + step) ** 2, radius**2
        series = sum(c * (square ** (i + 1) - least ** (i + 1)) for i, c in enumerate(SERIES))
        return power * (step / 2 + series) - 1j * (n - power) * angle
    away = -_expm1(np.minimum(-step.real, LARGEST_EXPONENT), -step.imag) * (math.exp(-radius) / -math.expm1(-radius))
    return power * step + power * _log1p(away) - 1j * n * angle


def _expm1(x: Array, y: Array) -> NDArray[np.complex128]:
    """``exp(x + i y) - 1``, exact where it is small."""
    result = np.empty(x.shape, np.complex128)
    result.real = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2
    result.imag = np.exp(x) * np.sin(y)
    return result


def _log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """``log(1 + z)``, exact where it is small."""
    result = np.empty_like(z)
    result.real = np.log1p(z.real * (2 + z.real) + z.imag**2) / 2
    result.imag = np.arctan2(z.imag, 1 + z.real)
    return result


def _coefficients(circle: _Circle, size: Array) -> Array:
    """Coefficients of ``z^(n - size)`` in ``f(z)``, times ``radius^(n - size)``, relative to one another."""
    turns = np.exp(1j * size[:, None] * circle.angle)
    return np.asarray((turns * circle.weight).real.sum(1))


def _log_poisson(x: Array, mean: float) -> Any:
    """``log(mean^x exp(-mean) / x!)`` but for a constant, from ``x = 1`` on."""
    relative = (x - mean) / mean
    # x log(x / mean) - x + mean, which loses digits to its terms near the mean
    deviance = np.where(np.abs(relative) < 0.05, mean * _deviance_series(relative), x * np.log(x / mean) - (x - mean))
    shifted = np.maximum(x, 16.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / shifted**2) / shifted**2) / shifted**2) / shifted
    few = np.array([math.lgamma(min(v, 16.0) + 1) - (min(v, 16.0) * math.log(min(v, 16.0)) - min(v, 16.0)) for v in x])
    return -deviance - np.where(x < 16, few, np.log(2 * math.pi * x) / 2 + series)


def _deviance_series(e: Array) -> Any:
    """``(1 + e) log(1 + e) - e`` for small ``e``."""
    return sum((-1) ** m * e**m / (m * (m - 1)) for m in range(2, 14))
