"""Code lengths of labels by a Dirichlet-multinomial model (an urn), shortest over its concentration.

Groups of sizes ``w`` are made of parts of sizes ``p`` in ``q`` kinds. With ``L(x, b) = log(b (b + 1) ... (b + x - 1))``
their labels take

    F(a) = sum L(w, q a) - sum L(p, a)

nats. In ``log a`` its slope is ``sum G(w, q a) - sum G(p, a)`` with ``G(x, b) = sum over k < x of b / (b + k)``. It is
below 0 before the minimum and above 0 after it, or keeps one sign.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.common.numerics import log_gamma_rest

Array = NDArray[np.float64]
Places = NDArray[np.int64]

WIDEST = 1e7  # of a; beyond, code lengths are those of the limits to rounding
TOLERANCE = 1e-7  # of log a; the code length changes by its square


class Urns(NamedTuple):
    """Distinct sizes above 0 of each of ``P`` problems, of groups (places 0 to P - 1) and of parts (P to 2 P - 1)."""

    place: Places
    size: Array
    weight: Array  # how often it occurs, below 0 for parts
    kinds: Array  # (P,)

    def sums(self, values: Array) -> Array:
        """The sum of each problem, ``(P,)``."""
        problem = self.place % len(self.kinds)
        return np.asarray(np.bincount(problem, values * self.weight, len(self.kinds)), np.float64)

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
        return Urns(place[chosen], self.size[chosen], self.weight[chosen], self.kinds[kept])


def urns(place: Places, size: Places, kinds: Array) -> Urns:
    """Urns of sizes at places, equal ones merged; zeros are left out."""
    filled = size > 0
    place, size = place[filled], size[filled]
    radix = int(size.max(initial=0)) + 1
    distinct, times = np.unique(place * radix + size, return_counts=True)
    place = distinct // radix
    return Urns(place, (distinct % radix).astype(np.float64), np.where(place < len(kinds), times, -1.0 * times), kinds)


def shortest_codes(urns: Urns, bound: float, entropies: Array) -> tuple[Array, Array]:
    """The least code length of each problem over ``a`` from ``1 / bound`` (infinite: the limits) to ``bound``.

    Returns it ``(2, P)``, less two lengths that are near: ``n log q`` for ``n`` items, that of evenly distributed
    labels, and ``entropies``, those of the parts within their groups, ``sum w log w - sum p log p``, to which large
    groups come near; and the sums of the absolute terms, whose rounding they have.
    """
    limit = math.log(min(bound, WIDEST))
    x, b = urns.size, urns.b(_lowest_points(urns, limit))[urns.place]
    rests = log_gamma_rest(torch.from_numpy(np.stack([x + b, b]))).numpy()
    more, rest = np.log1p(x / b), rests[0] - rests[1]
    even = np.where(x > 1, (x + b - 0.5) * more - x + rest, 0.0)
    large = x * np.log1p(b / x) + (b - 0.5) * more + rest
    lengths, scales = (
        np.stack([urns.sums(y) for y in terms])
        for terms in ((even, large), (np.abs(y) * np.sign(urns.weight) for y in (even, large)))
    )
    if math.isinf(bound):
        of_groups = urns.weight > 0
        surplus = urns.sums(np.ones_like(urns.size))  # groups less parts
        groups, items = urns.sums(of_groups.astype(np.float64)), urns.sums(urns.size * of_groups)
        limits = np.where(surplus == 0, groups - items, 0.0) * np.log(urns.kinds)
        lengths = np.minimum(lengths, [limits, limits + items * np.log(urns.kinds) - entropies])
    return lengths, scales


def _lowest_points(urns: Urns, limit: float) -> Array:
    """``log a`` of the least code length of each problem: an end, or where the slope is 0, by Newton's method.

    A step that leaves the bracket, or is more than half of the one before, becomes the middle of the bracket. A problem
    takes the same steps whatever other problems there are.
    """
    low, high = (np.full(len(urns.kinds), end) for end in (-limit, limit))
    rises, falls = _slopes(urns, low) >= 0, _slopes(urns, high) <= 0
    lowest = np.where(rises, low, high)
    left = (~(rises | falls)).nonzero()[0]
    low, high, reach = low[left], high[left], np.full(len(left), math.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the share of pairs of items of one kind is that of the urn, (a + 1) / (q a + 1).
        pairs = urns.size * (urns.size - 1)
        of_groups, surplus = urns.sums(pairs * (urns.weight > 0))[left], urns.sums(pairs)[left]
        a = surplus / (urns.kinds[left] * (of_groups - surplus) - of_groups)
        x = np.clip(np.log(np.where(a > 0, a, math.inf)), low, high)
        while len(left):
            part = urns.restricted(left)
            slope = _slopes(part, x)
            low, high = np.where(slope < 0, x, low), np.where(slope < 0, high, x)
            step = x - slope / (slope + _growths(part, x))
            newton = (low <= step) & (step <= high) & (2 * np.abs(step - x) <= reach)
            step = np.where(newton, step, (low + high) / 2)
            lowest[left], reach = step, np.abs(step - x)
            kept = reach > TOLERANCE
            left, low, high, x, reach = left[kept], low[kept], high[kept], step[kept], reach[kept]
    return np.where(rises | falls, lowest, lowest.round(7))  # so that no bit depends on the steps


def _slopes(urns: Urns, log_a: Array) -> Array:
    """The slope of each problem; ``G(x, b) = b (digamma(x + b) - digamma(b))``."""
    return urns.sums(_rises(urns, log_a, torch.digamma))


def _growths(urns: Urns, log_a: Array) -> Array:
    """How fast each slope grows, less the slope."""
    return urns.sums(_rises(urns, log_a, partial(torch.polygamma, 1)) * urns.b(log_a)[urns.place])


def _rises(urns: Urns, log_a: Array, function: Callable[[Tensor], Tensor]) -> Array:
    """``b (f(x + b) - f(b))`` of each size."""
    b = urns.b(log_a)
    own, count = b[urns.place], len(urns.size)
    values = function(torch.from_numpy(np.concatenate([urns.size + own, b]))).numpy()
    return np.asarray(own * (values[:count] - values[count:][urns.place]))
