"""Information of counts: how much shorter the description of one side's labels is once the other side is known.

All count whole items. They are in nats for the whole table, ``adjusted_information`` in nats per item. ``I`` stands
for any of them, ``I(C; C)`` for its value where the clusters are the classes.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import (
    at_least,
    log_binomial,
    log_factorial_rest,
    log_gamma_rest,
    of_whole_numbers,
    sum_reproducible,
)
from torchclusteval.measures import information
from torchclusteval.measures.expected_mutual_info import expected_mutual_information
from torchclusteval.measures.record import ANY, FROM_ZERO, TO_ONE, UNIT, measure
from torchclusteval.measures.sums import ratio, sizes_of_sides, whole
from torchclusteval.tables import ContingencyTables

__all__ = ["adjusted_information", "microcanonical_mutual_information", "reduced_mutual_information"]
__all__ += ["reduced_mutual_information_flat"]

_SHARE: dict[str, Any] = {"range": TO_ONE, "perfect": 1.0}
hosted = partial(measure, "entropy", integer_only=True, on_host=True)

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Slope = Callable[[Any], Any]  # at a number a, or at (K, 1)

NORMS = (None, "asymmetric", "mean")
BOUND = 1e4
NOISE = 1e-12  # of the largest term: a difference below is 0
_CANCELLED = 1e4  # with fewer items, and from 1e-4 nats on, no digits are missed
WIDEST = 1e7  # of a; beyond, code lengths are those of the limits to rounding
TOLERANCE = 1e-9  # of a, relative; the code length changes by its square
POINTS = np.linspace(-1, 1, 16)  # of log a, as parts of its limit
DIGITS = 7  # to which it is rounded, so that no bit depends on the steps
LARGE = 1e3  # of q a; from here on two terms of the series give the slope to 1e-8
SMALL = 1e3  # items of a group
FEW_PROBLEMS = 24  # up to this many one after another is faster
FEW_KEYS = 1 << 13  # sizes in all places, which are counted faster than sorted
MOST_STATES = 1 << 12  # cells of the array that counts exactly
MAX_KEPT = 1 << 12  # exact results kept between calls


class _Information(NamedTuple):
    """``(*batch,)`` each."""

    of_classes: Tensor  # what the clusters tell of the classes
    of_clusters: Tensor
    classes: Tensor  # what the classes tell of themselves
    clusters: Tensor


@cached_on_tables
def _rounding_noise(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """The noise of what the classes tell of themselves, and of both sides, ``(*batch,)`` each."""
    classes = 1 + tables._n_items_f64 * information.of_classes(tables)
    return NOISE * classes, NOISE * (classes + tables._n_items_f64 * information.of_clusters(tables))


def _finish(
    found: _Information, tables: ContingencyTables, norm: str | None, base: float, noisy: bool = True
) -> Tensor:
    check_choice(norm, "norm", NORMS)
    if norm is None:
        nats = found.of_classes.masked_fill(tables.empty, torch.nan)
        return information.in_base(nats, base)
    check_number(base, "base", 1, exclusive=True)
    part, scale = found.of_classes, found.classes
    if norm == "mean":
        part, scale = part + found.of_clusters, scale + found.clusters
    undefined = scale <= (_rounding_noise(tables)[1 if norm == "mean" else 0] if noisy else 0)
    return ratio(part, scale, tables, undefined=undefined, maximum=1.0)


# --- correction for chance ----------------------------------------------------------------------------------


@cached_on_tables
def _adjusted(tables: ContingencyTables) -> _Information:
    classes = _above_chance(tables, information.of_classes(tables), tables.class_sizes, tables.n_classes)
    clusters = _above_chance(tables, information.of_clusters(tables), tables.cluster_sizes, tables.n_clusters)
    shared = information.above_chance(tables)
    return _Information(shared, shared, classes, clusters)


def _above_chance(tables: ContingencyTables, own: Tensor, sizes: Tensor, groups: Tensor) -> Tensor:
    """What a side tells of itself, less the mean over permutations; nothing if these change nothing."""
    constant = (groups <= 1) | (groups == tables.n_items)
    return (own - expected_mutual_information(sizes, sizes)).masked_fill(constant, 0.0)


@hosted(
    chance_corrected=True,
    linear_in="information",
    batch_terms=(information.expected,),
    variants={
        "adjusted_information": {"range": ANY, "symmetric": True, "source": "vinh2010"},
        "adjusted_information_asymmetric": {"norm": "asymmetric", **_SHARE, "source": "jerdee2025"},
        "adjusted_information_mean": {"norm": "mean", **_SHARE, "symmetric": True, "source": "jerdee2025"},
    },
)
def adjusted_information(tables: ContingencyTables, norm: str | None = None, base: float = math.e) -> Tensor:
    """Mutual information less its mean over all permutations of one side, ``I - E[I]``, per item.

    The shares differ from those of ``ami``, whose divisor has ``E[I]`` of the two sides, not of one with itself.

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C) = H(C) - E``, with the mean over permutations of the classes
            against themselves; ``"mean"``: over the mean of both sides.
        base: of the logarithm; the natural one gives nats. Without effect on a share.

    Range: any number (a share: up to 1), higher is better; 0 is the mean over all permutations of one side.
    Degenerate: 0 where a side is one group or all single items; as a share 0/0 is 1 for identical partitions, else 0;
        nan without items.
    Source: Vinh, Epps and Bailey (2010); the norms of Jerdee, Kirkley and Newman (2025).
    Example: 0.1910
    """
    whole(tables)
    return _finish(_adjusted(tables), tables, norm, base, noisy=False)


# --- arrangements -------------------------------------------------------------------------------------------


@cached_on_tables
def _arrangements(tables: ContingencyTables) -> _Information:
    items = tables._n_items_f64
    rest = partial(of_whole_numbers, log_factorial_rest, most=tables._most_items)  # of these, the powers are entropies
    whole = rest(tables.n_items)
    classes = whole - sum_reproducible(rest(tables.class_sizes))
    clusters = whole - sum_reproducible(rest(tables.cluster_sizes))
    joint = whole - tables.sum(lambda cell: rest(cell.count))
    one_group = (tables.n_classes <= 1) | (tables.n_clusters <= 1)
    shared = items * information.shared(tables) + (classes + clusters - joint)
    classes = classes + items * information.of_classes(tables)
    clusters = clusters + items * information.of_clusters(tables)
    shared = at_least(shared, 0).masked_fill(one_group, 0.0)
    if tables._most_items is not None and tables._most_items > _CANCELLED:
        shared = _few_apart(tables, shared)
    return _Information(shared, shared, classes, clusters)


def _few_apart(tables: ContingencyTables, shared: Tensor) -> Tensor:
    """The information, without cancellation where it is small and each item shares a group with the largest cell.

    All other classes and clusters are then single cells, which leaves ``log(n! x! / (r! c!))`` for that cell x, its
    class r and its cluster c.
    """
    largest = tables.max_by_class(lambda cell: cell.n).amax(-1)
    apart = torch.stack([x.amax(-1) - largest for x in (tables.class_sizes, tables.cluster_sizes)])
    few, more = apart.aminmax(dim=0)
    small = (largest + apart.sum(0) == tables.n_items) & (few * more < largest / _CANCELLED)
    found = shared.clone()
    for place in small.nonzero(as_tuple=False).tolist():
        at = tuple(place)
        steps = torch.arange(1, int(few[at]) + 1, dtype=torch.float64)
        found[at] = torch.log1p(more[at] / (largest[at] + steps)).sum()
    return found


@measure(
    "entropy",
    source="newman2020",
    integer_only=True,
    variants={
        "microcanonical_mutual_information": {"range": FROM_ZERO, "symmetric": True},
        "microcanonical_nmi_asymmetric": {"norm": "asymmetric", "range": UNIT, "perfect": 1.0},
        "microcanonical_nmi_mean": {"norm": "mean", "range": UNIT, "perfect": 1.0, "symmetric": True},
    },
)
def microcanonical_mutual_information(
    tables: ContingencyTables, norm: str | None = None, base: float = math.e
) -> Tensor:
    """Logarithm of the numbers of arrangements, ``log(N! prod_ij n_ij! / (prod_i r_i! prod_j c_j!))``.

    Mutual information with exact factorials; Stirling's approximation of them gives ``N`` times
    ``mutual_information``.

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C) = log(N! / prod_i r_i!)``; ``"mean"``: over the mean of both sides.
        base: of the logarithm; the natural one gives nats. Without effect on a share.

    Range: 0 to infinity (a share: to 1), higher is better.
    Degenerate: 0 where a side is one group; as a share 0/0 is 1 for identical partitions, else 0; nan without items.
    Example: 1.6094
    """
    whole(tables)
    return _finish(_arrangements(tables), tables, norm, base)


# --- flat reduction -----------------------------------------------------------------------------------------


@cached_on_tables
def _flat(tables: ContingencyTables) -> _Information:
    sizes = sizes_of_sides(tables)
    classes, clusters = sizes.reshape(2, tables.batch_shape.numel(), sizes.shape[-1]).double().cpu().numpy()
    rows, columns = [classes, classes, clusters], [clusters, classes, clusters]
    numbers = log_number_of_tables(np.concatenate(rows), np.concatenate(columns))
    costs = torch.from_numpy(numbers).to(tables.device).reshape(3, *tables.batch_shape)
    shared, _, of_classes, of_clusters = _arrangements(tables)
    reduced = shared - costs[0]
    return _Information(reduced, reduced, of_classes - costs[1], of_clusters - costs[2])


def log_number_of_tables(rows: Array, columns: Array) -> Array:
    """Logarithm of the number of tables with these sums, ``(B,)`` of ``(B, K)`` each; zeros are padding.

    Exact where one side has at most `MOST_STATES` vectors of sums up to its own, ``prod(c_j + 1)``; else the estimate
    of Jerdee, Kirkley and Newman (2022), the mean of both ways to make it.
    """
    states = [np.log1p(sums).sum(-1) for sums in (rows, columns)]
    one_group = np.minimum((rows > 0).sum(-1), (columns > 0).sum(-1)) <= 1
    exact = (np.minimum(*states) <= math.log(MOST_STATES) + 1e-9) & ~one_group
    result = np.zeros(len(rows))
    far = ~exact & ~one_group
    if far.any():
        sides = rows[far], columns[far]
        result[far] = _estimate(np.concatenate(sides), np.concatenate(sides[::-1])).reshape(2, -1).mean(0)
    for table in exact.nonzero()[0].tolist():
        small, other = (rows, columns) if states[0][table] <= states[1][table] else (columns, rows)
        result[table] = _count(_sorted(other[table]), _sorted(small[table]))
    return result


def _sorted(sums: Array) -> tuple[int, ...]:
    return tuple(sorted(int(x) for x in sums.tolist() if x > 0))


@lru_cache(MAX_KEPT)
def _count(rows: tuple[int, ...], columns: tuple[int, ...]) -> float:
    """Row by row: the number of ways to leave each vector of sums for the other rows.

    A row takes a vector from the sums left. The rest must add up to the other rows, and every vector with that sum is
    possible.
    """
    shape = tuple(x + 1 for x in columns)
    total = np.indices(shape).sum(0)
    ways = np.zeros(shape)
    ways[tuple(columns)] = 1.0
    left = sum(columns)
    for row in rows:
        left -= row
        for axis in range(len(columns)):  # sums over all vectors that are at least as large
            ways = np.flip(np.flip(ways, axis).cumsum(axis), axis)
        ways = np.where(total == left, ways, 0.0)
    return math.log(ways.flat[0])


def _estimate(rows: Array, columns: Array) -> Array:
    """The rows as if each were spread over the columns by one symmetric Dirichlet-multinomial model."""
    from scipy.special import gammaln

    n, m, squares = rows.sum(-1), (rows > 0).sum(-1).astype(np.float64), (columns * columns).sum(-1)
    single = squares == n  # columns of one item: exact
    above = (columns * (n[:, None] - columns)).sum(-1) * (1 + 1 / m) / np.where(single, 1.0, squares - n)  # alpha - 1
    # log binom(x + a - 1, x) of rows with alpha, of columns with m, less that of n with m alpha
    x = np.concatenate([rows, columns, n[:, None]], 1)
    y = np.empty_like(x)
    y[:, : rows.shape[1]], y[:, rows.shape[1] : -1], y[:, -1] = above[:, None], m[:, None] - 1, m * above + m - 1
    ways = log_binomial(x, y)
    value = ways[:, :-1].sum(-1) - ways[:, -1]
    if single.any():
        value = np.where(single, gammaln(n + 1) - gammaln(rows + 1).sum(-1), value)
    return np.asarray(value)


@hosted(
    source="newman2020",
    variants={
        "reduced_mutual_information_flat": {"range": ANY, "symmetric": True},
        "reduced_flat_nmi_asymmetric": {"norm": "asymmetric", **_SHARE},
        "reduced_flat_nmi_mean": {"norm": "mean", **_SHARE, "symmetric": True},
    },
)
def reduced_mutual_information_flat(tables: ContingencyTables, norm: str | None = None, base: float = math.e) -> Tensor:
    """Microcanonical mutual information less the cost of the table, ``log Omega(r, c)``, for equally likely tables.

    ``Omega`` is the number of tables of whole numbers with these sizes: exact where ``prod_j (c_j + 1)``, over the
    sizes of one side, is at most 4096; else the estimate of Jerdee, Kirkley and Newman (2022), the mean of both ways to
    make it. Other libraries use the estimate for all tables.

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C)``; ``"mean"``: over the mean of both sides.
        base: of the logarithm; the natural one gives nats. Without effect on a share.

    Range: any number (a share: up to 1), higher is better; negative where the table costs more than it tells.
    Degenerate: 0 where a side is one group; as a share 1 for identical partitions, else 0 where the divisor is not
        above 0; nan without items.
    Source: Newman, Cantwell and Young (2020); the norms of Jerdee, Kirkley and Newman (2025).
    Example: 0.5108
    """
    whole(tables)
    return _finish(_flat(tables), tables, norm, base)


# --- Dirichlet-multinomial reduction ------------------------------------------------------------------------
#
# Code lengths of labels by a Dirichlet-multinomial model (an urn), shortest over its concentration.
#
# Groups of sizes ``w`` are made of parts of sizes ``p`` in ``q`` kinds. With
# ``L(x, b) = log(b (b + 1) ... (b + x - 1))`` their labels take
#
#     F(a) = sum L(w, q a) - sum L(p, a)
#
# nats. In ``log a`` its slope is ``sum G(w, q a) - sum G(p, a)`` with ``G(x, b) = sum over k < x of b / (b + k)``. It
# is below 0 before the minimum and above 0 after it, or keeps one sign.


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
    key = place * radix + size
    if 2 * len(kinds) * radix <= FEW_KEYS:
        times = np.bincount(key)
        distinct = times.nonzero()[0]
        times = times[distinct]
    else:
        distinct, times = np.unique(key, return_counts=True)
    place, size = np.divmod(distinct, radix)
    return Urns(place, size.astype(np.float64), np.where(place < len(kinds), times, -1.0 * times), kinds)


def shortest_codes(urns: Urns, bound: float, entropies: Array) -> tuple[Array, Array]:
    """The least code length of each problem over ``a`` from ``1 / bound`` (infinite: the limits) to ``bound``.

    Returns the length ``(2, P)`` less each of two nearby ones: ``n log q`` for ``n`` items (evenly distributed labels),
    and ``entropies``, those of the parts within their groups, ``sum w log w - sum p log p`` (the limit for large
    groups); and the sums of the absolute terms, which set the rounding error.
    """
    limit = math.log(min(bound, WIDEST))
    x, b = urns.size, urns.b(_lowest_points(urns, limit))[urns.place]
    above, below = log_gamma_rest(np.stack([x + b, b]))
    more, rest = np.log1p(x / b), above - below
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
    """``log a`` of the least code length of each problem: an end, or where the slope is 0."""
    lowest = np.full(len(urns.kinds), -limit)
    split = urns.sums(np.ones_like(urns.size)).nonzero()[0]  # no slope is below 0 where all groups are of one part
    if len(split) <= FEW_PROBLEMS:
        points = np.exp(limit * POINTS)
        lowest[split] = [_lowest_point(slope, points) for slope in _slopes_by_problem(urns.restricted(split))]
        return lowest
    from scipy.optimize.elementwise import find_root

    rises, falls = _slopes(urns, lowest) >= 0, _slopes(urns, -lowest) <= 0
    lowest = np.where(rises, lowest, limit)
    left = (~(rises | falls)).nonzero()[0]
    found = find_root(
        lambda x, kept: _slopes(urns.restricted(kept), x),
        (np.full(len(left), -limit), lowest[left]),
        args=(left,),
        tolerances={"xatol": TOLERANCE},
    )
    lowest[left] = found.x.round(DIGITS)
    return lowest


def _lowest_point(slope: Slope, points: Array) -> float:
    """``log a`` of the least code length between points ``a``: an end, or where the slope is 0."""
    from scipy.optimize import brentq

    rising = (slope(points[:, None]) >= 0).tolist()
    if rising[0] or not rising[-1]:
        return math.log(points[0 if rising[0] else -1])
    low, high = points[rising.index(True) - 1 :][:2]
    return round(math.log(brentq(slope, low, high, xtol=TOLERANCE * low)), DIGITS)


def _slopes_by_problem(urns: Urns) -> Iterator[Slope]:
    """The slope of each problem; of small groups term by term, the sum over ``k``."""
    count = len(urns.kinds)
    problem, of_parts = urns.place % count, urns.place >= count
    width = int(urns.size.max(initial=0)) + 1
    if width > SMALL:
        b = np.where(of_parts, 1.0, urns.kinds[problem])
        for own in problem == np.arange(count)[:, None]:
            yield partial(_slope_of_sizes, urns.size[own], b[own], urns.weight[own])
        return
    place = (2 * problem + of_parts) * width + urns.size.astype(np.int64)
    times = np.bincount(place, urns.weight, 2 * count * width).reshape(-1, 2, width)
    more = times[:, :, :0:-1].cumsum(2)[:, :, ::-1].reshape(count, 2 * (width - 1))  # groups of more than k
    k = np.arange(width - 1.0)
    for kinds, of_problem in zip(urns.kinds, more, strict=True):
        yield partial(_slope_of_terms, np.concatenate([k / kinds, k]), of_problem)


def _slope_of_sizes(x: Array, b: Array, weight: Array, a: Any) -> Any:
    return _rises(x, b * a).dot(weight)


def _slope_of_terms(steps: Array, more: Array, a: Any) -> Any:
    return (a / (a + steps)).dot(more)


def _slopes(urns: Urns, log_a: Array) -> Array:
    """The slope of each problem."""
    own = urns.b(log_a)
    return urns.sums(_rises(urns.size, own[urns.place], urns.place, own))


def _rises(x: Array, b: Array, place: Any = slice(None), own: Array | None = None) -> Array:
    """``G(x, b) = b (digamma(x + b) - digamma(b))`` of each size, where ``b`` is ``own[place]``.

    Differences of digammas of large numbers would cancel; their series about ``b - 1/2`` does not.
    """
    from scipy.special import digamma

    rise = digamma(x + b) - digamma(b if own is None else own)[place]
    if b.max(initial=0) >= LARGE:
        middle = np.maximum(b, LARGE) - 0.5
        rise = np.where(b < LARGE, rise, np.log1p(x / middle) + ((x + middle) ** -2 - middle**-2) / 24)
    return np.asarray(b * rise)


@cached_on_tables
def _reduced(tables: ContingencyTables) -> _Information:
    return _reduced_up_to(tables, BOUND)


def _reduced_up_to(tables: ContingencyTables, bound: float) -> _Information:
    batch = tables.batch_shape.numel()
    sides = [x.reshape(batch, x.shape[-1]).cpu().numpy() for x in (tables.class_sizes, tables.cluster_sizes)]
    table = np.arange(batch)
    of_class, of_cluster = (np.repeat(table, side.shape[1]) for side in sides)
    if tables.layout == "dense":
        cell = tables.counts.reshape(-1).cpu().numpy()  # of these, those above 0
        cell_table = np.repeat(table, len(cell) // max(1, batch))
    else:
        cell_table, _, _, cell = (x.cpu().numpy() for x in tables.cells())
    items, classes, clusters = sides[0].sum(-1), sides[0].ravel(), sides[1].ravel()
    # Classes alone, once the clusters are known, once they are known themselves; the same of the clusters.
    groups = [(table, items), (of_cluster, clusters), (of_class, classes)]
    groups += [(table, items), (of_class, classes), (of_cluster, clusters)]
    parts = [(of_class, classes), (cell_table, cell), (of_class, classes)]
    parts += [(of_cluster, clusters), (cell_table, cell), (of_cluster, clusters)]
    place = np.concatenate([where + batch * i for i, (where, _) in enumerate(groups + parts)])
    kinds = [np.maximum((side > 0).sum(-1), 1).astype(np.float64) for side in sides]
    problems = urns(place, np.concatenate([size for _, size in groups + parts]), np.repeat(kinds, 3, 0).ravel())
    nats = [information.of_classes, information.classes_given_clusters]
    nats += [information.of_clusters, information.clusters_given_classes, information.shared]
    totals = torch.stack([f(tables) for f in nats]) * tables._n_items_f64
    own, given, others, given_others, shared = totals.reshape(5, batch).cpu().numpy()
    entropies = np.concatenate([own, given, 0 * own, others, given_others, 0 * own])
    lengths, scales = (x.reshape(2, 2, 3, batch) for x in shortest_codes(problems, bound, entropies))
    saved = lengths[:, :, :1] - lengths[:, :, 1:]  # by the other side, and by the side itself
    saved[1] += np.array([[shared, own], [shared, others]])
    scales = scales[:, :, :1] + scales[:, :, 1:]
    rows = np.where(scales[0] < scales[1], saved[0], saved[1]).swapaxes(0, 1).reshape(4, batch)
    one, other = (number <= 1 for number in kinds)  # a single group tells nothing
    rows = np.where([one | other, one | other, one, other], 0.0, rows)
    return _Information(*torch.from_numpy(rows).to(tables.device).reshape(4, *tables.batch_shape).unbind())


@hosted(
    source="jerdee2024",
    variants={
        "reduced_mutual_information": {"range": ANY},
        "reduced_nmi_asymmetric": {"norm": "asymmetric", **_SHARE},
        "reduced_nmi_mean": {"norm": "mean", **_SHARE, "symmetric": True},
    },
)
def reduced_mutual_information(
    tables: ContingencyTables, norm: str | None = None, base: float = math.e, bound: float = BOUND
) -> Tensor:
    """Code length of the classes saved once the clusters are known, ``RMI = H(C) - H(C|K)``.

    Labels of ``w`` items in ``q`` classes are described by a Dirichlet-multinomial model of concentration ``a``, the
    best for all clusters together; with ``L(x, b) = log(b (b + 1) ... (b + x - 1))``

        H(C) = min over a of L(N, q a) - sum_i L(r_i, a)
        H(C|K) = min over a of sum_j L(c_j, q a) - sum_ij L(n_ij, a)

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C)``; ``"mean"``: the sum of both directions over that of both sides
            with themselves.
        base: of the logarithm; the natural one gives nats. Without effect on a share.
        bound: ``a`` is sought from ``1 / bound`` to ``bound``. The default, 1e4, is that of other libraries. It
            matters where the best ``a`` is 0 or infinite (classes of one size); infinite: the limits count, too.

    Range: any number (a share: up to 1), higher is better; negative where the clusters mislead.
    Degenerate: 0 where a side is one group; as a share 1 for identical partitions, else 0 where the divisor is not
        above 0; nan without items.
    Source: Jerdee, Kirkley and Newman (2024); the norms of Jerdee, Kirkley and Newman (2025).
    Example: 0.0930
    """
    whole(tables)
    check_number(bound, "bound", 1, math.inf, exclusive=True)
    found = _reduced(tables) if bound == BOUND else _reduced_up_to(tables, bound)
    return _finish(found, tables, norm, base)
