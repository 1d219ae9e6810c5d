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
MOST_STEPS = 60
STIRLING_FROM = 16.0  # four terms of Stirling's series are exact to 1e-14 from here


class Sizes(NamedTuple):
    """Distinct sizes above 0 of each of some problems, and how often each occurs."""

    problem: Places
    size: Array
    times: Array


def merge_equal(problem: Places, size: Places) -> Sizes:
    """The distinct sizes of each problem."""
    kept = size > 0
    problem, size = problem[kept], size[kept]
    radix = int(size.max(initial=0)) + 1
    bins = (int(problem.max(initial=0)) + 1) * radix
    keys = problem * radix + size
    if bins <= 4 * len(keys) + 64:
        times = np.bincount(keys, minlength=1)
        distinct = times.nonzero()[0]
        times = times[distinct]
    else:
        distinct, times = np.unique(keys, return_counts=True)
    return Sizes(distinct // radix, (distinct % radix).astype(np.float64), times.astype(np.float64))


def shortest_codes(wholes: Sizes, parts: Sizes, kinds: Array, bound: float) -> Array:
    """The least code length of each problem, ``(P,)`` nats, over ``a`` from ``1 / bound`` to ``bound``.

    Args:
        wholes: the groups.
        parts: their parts.
        kinds: ``(P,)``, ``q``, above 0.
        bound: above 1; infinite for the limits.
    """
    limit = math.log(min(bound, WIDEST))
    log_a = _lowest_points(wholes, parts, kinds, -limit, limit)
    a = np.exp(log_a)
    length = _sums(wholes, _log_rising(wholes.size, (kinds * a)[wholes.problem]), len(kinds))
    length -= _sums(parts, _log_rising(parts.size, a[parts.problem]), len(kinds))
    if math.isinf(bound):
        groups, cells = (_sums(sizes, np.ones(len(sizes.size)), len(kinds)) for sizes in (wholes, parts))
        items = _sums(wholes, wholes.size, len(kinds))
        length = np.minimum(length, np.where(groups == cells, groups, items) * np.log(kinds))
    return np.asarray(length)


def _sums(sizes: Sizes, values: Array, problems: int) -> Array:
    return np.asarray(np.bincount(sizes.problem, values * sizes.times, problems), np.float64)


def _lowest_points(wholes: Sizes, parts: Sizes, kinds: Array, low: float, high: float) -> Array:
    """``log a`` of the least code length of each problem: an end, or where the slope is 0, by Chandrupatla's method."""
    right, left = np.full(len(kinds), high), np.full(len(kinds), low)
    at_right, at_left = (_slopes(wholes, parts, kinds, end) for end in (right, left))
    answer = np.where(at_left >= 0, left, right)
    open_ = ((at_left < 0) & (at_right > 0)).nonzero()[0]
    if not len(open_):
        return np.asarray(answer)
    a, b, fa, fb = (x[open_] for x in (right, left, at_right, at_left))
    wholes, parts, kinds = _restricted(wholes, open_, len(kinds)), _restricted(parts, open_, len(kinds)), kinds[open_]
    t = np.full(len(open_), 0.5)
    for _ in range(MOST_STEPS):
        x = a + t * (b - a)
        fx = _slopes(wholes, parts, kinds, x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        done = (np.abs(b - a) < TOLERANCE) | (fa == 0)
        answer[open_[done]] = a[done]
        if done.all():
            break
        if 2 * np.count_nonzero(done) >= len(done):  # go on with the others alone
            kept = (~done).nonzero()[0]
            wholes, parts = (_restricted(sizes, kept, len(kinds)) for sizes in (wholes, parts))
            a, b, c, fa, fb, fc, kinds, open_ = (x[kept] for x in (a, b, c, fa, fb, fc, kinds, open_))
        t = _next_step(a, b, c, fa, fb, fc)
    return np.asarray(answer)


def _next_step(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array) -> Array:
    """Where to look next between ``a`` (0) and ``b`` (1): by inverse quadratic interpolation, or half way."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        inverse = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        least = np.minimum(TOLERANCE / 2 / np.abs(b - a), 0.5)
        return np.clip(np.where(smooth & np.isfinite(inverse), inverse, 0.5), least, 1 - least)


def _restricted(sizes: Sizes, kept: Places, problems: int) -> Sizes:
    """The sizes of these problems, renumbered."""
    place = np.full(problems, -1)
    place[kept] = np.arange(len(kept))
    renumbered = place[sizes.problem]
    chosen = renumbered >= 0
    return Sizes(renumbered[chosen], sizes.size[chosen], sizes.times[chosen])


def _slopes(wholes: Sizes, parts: Sizes, kinds: Array, log_a: Array) -> Array:
    a = np.exp(log_a)
    return np.asarray(_slope_sums(wholes, kinds * a) - _slope_sums(parts, a))


def _slope_sums(sizes: Sizes, b: Array) -> Array:
    """``G(x, b) = b (digamma(x + b) - digamma(b))`` of the sizes of each problem, added up."""
    of_size = _digamma(sizes.size + b[sizes.problem])
    return b * (_sums(sizes, of_size, len(b)) - _sums(sizes, np.ones_like(of_size), len(b)) * _digamma(b))


def _digamma(x: Array) -> Array:
    return np.asarray(torch.digamma(torch.from_numpy(x)).numpy())


def _log_rising(x: Array, b: Array) -> Array:
    """``lgamma(x + b) - lgamma(b)``; where ``b`` is large from a difference that is small."""
    large = np.maximum(b, STIRLING_FROM)
    stirling = (
        (large + x - 0.5) * np.log1p(x / large) + x * np.log(large) - x + _remainder(large + x) - _remainder(large)
    )
    plain = torch.lgamma(torch.from_numpy(x + b)) - torch.lgamma(torch.from_numpy(b))
    return np.where(b < STIRLING_FROM, plain.numpy(), stirling)


def _remainder(y: Array) -> Array:
    """``lgamma(y)`` less Stirling's formula, for ``y`` of 16 or more."""
    square = y * y
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / y
