"""Code lengths of labels by a Dirichlet-multinomial model (an urn), shortest over its concentration.

Groups of sizes ``w`` are made of parts of sizes ``p`` in ``q`` kinds. With ``L(x, b) = log(b (b + 1) ... (b + x - 1))``
their labels take

    F(a) = sum L(w, q a) - sum L(p, a)

nats. In ``log a`` its slope is ``sum G(w, q a) - sum G(p, a)`` with ``G(x, b) = sum over k < x of b / (b + k)``. It is
below 0 before the minimum and above 0 after it, or keeps one sign.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

WIDEST = 1e7  # of a; beyond, code lengths are those of the limits to rounding
TOLERANCE = 1e-7  # of log a; the code length changes by its square
FIRST_STEP = 0.5  # of log a, from a guess; each next one is three times as long
MOST_STEPS = 60
STIRLING_FROM = 16.0  # four terms of Stirling's series are exact to 1e-14 from here


class Urns(NamedTuple):
    """Distinct sizes above 0 of each of ``P`` problems, of groups (places 0 to P - 1) and of parts (P to 2 P - 1)."""

    place: Places
    size: Array
    weight: Array  # how often it occurs, below 0 for parts
    kinds: Array  # (P,)
    problem: Places  # the place of the groups

    def sums(self, values: Array) -> Array:
        """The sum of each problem, ``(P,)``."""
        return np.asarray(np.bincount(self.problem, values * self.weight, len(self.kinds)), np.float64)

    def b(self, log_a: Array) -> Array:
        """``q a`` of groups and ``a`` of parts, ``(2 P,)``."""
        a = np.exp(log_a)
        return np.concatenate([self.kinds * a, a])

    def restricted(self, kept: Places) -> "Urns":
        """These problems alone."""
        number = np.full(2 * len(self.kinds), -1)
        number[np.concatenate([kept, kept + len(self.kinds)])] = np.arange(2 * len(kept))
        place = number[self.place]
        chosen = place >= 0
        return _urns(place[chosen], self.size[chosen], self.weight[chosen], self.kinds[kept])


def _urns(place: Places, size: Array, weight: Array, kinds: Array) -> Urns:
    return Urns(place, size, weight, kinds, place % len(kinds))


def urns(place: Places, size: Places, kinds: Array) -> Urns:
    """Urns of sizes at places, equal ones merged; zeros are left out."""
    filled = size > 0
    place, size = place[filled], size[filled]
    radix = int(size.max(initial=0)) + 1
    keys = place * radix + size
    if 2 * len(kinds) * radix <= 4 * len(keys) + 64:
        counts = np.bincount(keys)
        distinct = counts.nonzero()[0]
        times = counts[distinct]
    else:
        distinct, times = np.unique(keys, return_counts=True)
    place = distinct // radix
    return _urns(place, (distinct % radix).astype(np.float64), np.where(place < len(kinds), times, -1.0 * times), kinds)


def shortest_codes(urns: Urns, bound: float) -> Array:
    """The least code length of each problem, ``(P,)`` nats, over ``a`` from ``1 / bound`` to ``bound``.

    Less ``n log q`` for ``n`` items, the length of evenly distributed labels, from which it may hardly differ.

    Args:
        urns: the problems.
        bound: above 1; infinite for the limits.
    """
    limit = math.log(min(bound, WIDEST))
    length = urns.sums(_log_rising_ratio(urns.size, urns.b(_lowest_points(urns, -limit, limit))[urns.place]))
    if math.isinf(bound):
        of_groups = urns.weight > 0
        surplus = urns.sums(np.ones_like(urns.size))  # groups less parts
        groups, items = urns.sums(of_groups.astype(np.float64)), urns.sums(urns.size * of_groups)
        length = np.minimum(length, np.where(surplus == 0, groups - items, 0.0) * np.log(urns.kinds))
    return length


def _lowest_points(urns: Urns, low: float, high: float) -> Array:
    """``log a`` of the least code length of each problem: an end, or where the slope is 0."""
    x = _guesses(urns, low, high)
    fx = _slopes(urns, x)
    searching = fx != 0
    other, f_other, step = x, fx, -FIRST_STEP * np.sign(fx)
    while True:  # until the sign changes, or an end is reached
        searching &= (np.sign(f_other) == np.sign(fx)) & np.where(step < 0, other > low, other < high)
        if not searching.any():
            break
        x, fx = np.where(searching, other, x), np.where(searching, f_other, fx)
        other = np.where(searching, np.clip(other + step, low, high), other)
        f_other = np.where(searching, _slopes(urns, other), f_other)
        step = 3 * step
    bracketed = (np.sign(f_other) * np.sign(fx) < 0).nonzero()[0]
    if len(bracketed):
        ends = (value[bracketed] for value in (other, x, f_other, fx))
        other[bracketed] = _roots(urns.restricted(bracketed), *ends)
    return other


def _guesses(urns: Urns, low: float, high: float) -> Array:
    """Where the share of pairs of items of one kind is that of the urn, ``(a + 1) / (q a + 1)``."""
    pairs = urns.size * (urns.size - 1)
    of_groups = urns.sums(pairs * (urns.weight > 0))
    of_parts = of_groups - urns.sums(pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (of_groups - of_parts) / (urns.kinds * of_parts - of_groups)
        return np.clip(np.log(np.where(a >= 0, a, math.inf)), low, high)


def _roots(urns: Urns, a: Array, b: Array, fa: Array, fb: Array) -> Array:
    """``log a`` where the slope is 0, between ``a`` and ``b``, by Chandrupatla's method.

    A problem takes the same steps whatever other problems there are.
    """
    answer, number = a.copy(), np.arange(len(a))
    t = np.full(len(a), 0.5)
    for _ in range(MOST_STEPS):
        x = a + t * (b - a)
        fx = _slopes(urns, x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        kept = ((np.abs(b - a) >= TOLERANCE) & (fa != 0)).nonzero()[0]
        answer[number] = a
        if not len(kept):
            break
        if len(kept) < len(a):
            urns = urns.restricted(kept)
            a, b, c, fa, fb, fc, number = (value[kept] for value in (a, b, c, fa, fb, fc, number))
        t = _next_step(a, b, c, fa, fb, fc)
    return answer


def _next_step(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array) -> Array:
    """Where to look next between ``a`` (0) and ``b`` (1): by inverse quadratic interpolation, or half way."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        inverse = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        least = np.minimum(TOLERANCE / 2 / np.abs(b - a), 0.5)
        return np.clip(np.where(smooth & np.isfinite(inverse), inverse, 0.5), least, 1 - least)


def _slopes(urns: Urns, log_a: Array) -> Array:
    """The slope of each problem; ``G(x, b) = b (digamma(x + b) - digamma(b))``."""
    b = urns.b(log_a)
    of_sizes = b[urns.place]
    digamma = _digamma(np.concatenate([urns.size + of_sizes, b]))
    more = digamma[: len(of_sizes)] - digamma[len(of_sizes) :][urns.place]
    return urns.sums(of_sizes * more)


def _digamma(x: Array) -> Array:
    return np.asarray(torch.digamma(torch.from_numpy(x)).numpy())


def _log_rising_ratio(x: Array, b: Array) -> Array:
    """``L(x, b) - x log b``; where ``b`` is large from a difference that is small."""
    large = np.maximum(b, STIRLING_FROM)
    leading = (large + x - 0.5) * np.log1p(x / large) - x
    stirling = leading + (_remainder(large + x) - _remainder(large))
    plain = torch.lgamma(torch.from_numpy(x + b)) - torch.lgamma(torch.from_numpy(b))
    return np.where(b < STIRLING_FROM, plain.numpy() - x * np.log(b), stirling)


def _remainder(y: Array) -> Array:
    """``lgamma(y)`` less Stirling's formula, for ``y`` of 16 or more."""
    square = y * y
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / y
