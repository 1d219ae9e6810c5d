"""Expected mutual information of random tables with fixed sizes.

With ``M`` hypergeometric (``n - 1`` items, ``a - 1`` of them in the class, ``b - 1`` drawn for the
cluster) and ``d = (M + 1) n / (a b) - 1``, the expectation over all permutations of one side is

    E[I] = sum over pairs of sizes (a, b) of (a b / n^2) E[log(1 + d)].

Three facts make this exact and fast:

* probabilities are products of ratios of neighbours, normalised by their own sum, so no log-factorial is ever
  subtracted from another;
* outside a window of about ``c sqrt(n)`` terms the probability is below 1e-17 (Bennett's bound), every fourth term
  gives the same mean where the variance is large, and where the mean is large a series in moments takes the place of
  the window (:mod:`torchclusteval.measures.hypergeometric_means`);
* windows of groups of at most half of the items begin at ``M = 0``, so that all pairs share their logarithms. In the
  other windows, where little may be uncertain, the sum runs over ``log(1 + d) - d``, which has one sign, and ``E[d]``
  is added in closed form.

Up to `FEW_ITEMS` items the products run over the whole support, with fewer calls than for a window; the choice
depends on the pair and ``n`` alone. Pairs of sizes are worked out on the host.

A pair of sizes has one value whatever batch it sits in: terms outside its own window are exact zeros, and sums
add rows of terms in order, so that zeros at the end change no bit.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.common.checks import retain_freed_memory
from torchclusteval.common.numerics import SUM_BLOCK, sum_padding_invariant
from torchclusteval.measures.hypergeometric_means import SERIES, large_means, moments

Array: TypeAlias = NDArray[np.float64]

LEAST_THINNED = 40.0  # variance from which every fourth term will do, to exp(-40)
LOG_TAIL = 39.2  # minus the log of the probability left out on each side of a window
PIECE_TERMS = 1 << 16  # arrays of them stay in the cache
SMALL_PIECE_TERMS = 1 << 14  # window terms that cost about as much as the calls of a piece; a quarter of supports
PIECE_PAIRS = 1 << 15  # pairs of sizes in work at once
PIECE_CELLS = 1 << 18  # (class, cluster) pairs of a batch looked up at once
PIECE_SIZES = 1 << 19  # sizes encoded at once
FEW_ITEMS = 1000  # up to this many items a probability relative to any other is below 2^1000
FEW_GROUPS = 64  # with more groups than this on a side, equal sizes are merged first


def expected_mutual_information(class_sizes: Tensor, cluster_sizes: Tensor) -> Tensor:
    """Mean mutual information over all permutations of one side, ``(*batch,)`` nats; nan without items.

    Sizes are ``(*batch, R)`` and ``(*batch, C)`` integers with the same sums; zeros are padding. The absolute error is
    about 1e-16; on the CPU the bits are the same alone and in any batch of the same widths.
    """
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        if sizes.is_floating_point() or sizes.is_complex():
            raise ValueError(f"{name}: expected integers; got {sizes.dtype}")
    batch = class_sizes.shape[:-1]
    groups = class_sizes.shape[-1], cluster_sizes.shape[-1]
    if class_sizes.is_cpu and batch.numel() == 1 and 0 < min(groups) <= max(groups) <= FEW_GROUPS:
        if not batch:
            return _emi_of_small_table(class_sizes, cluster_sizes)
        return _emi_of_small_table(class_sizes.reshape(-1), cluster_sizes.reshape(-1)).reshape(batch)
    rows = class_sizes.long().reshape(batch.numel(), class_sizes.shape[-1])
    columns = cluster_sizes.long().reshape(batch.numel(), cluster_sizes.shape[-1])
    if 0 in (*rows.shape, columns.shape[1]):
        return torch.full(batch, torch.nan, dtype=torch.float64, device=rows.device)
    if len(rows) > 1 and torch.equal(rows, rows[:1].expand_as(rows)):
        rows = rows[:1]
    step = max(1, PIECE_SIZES // (class_sizes.shape[-1] + columns.shape[1]))
    if len(columns) <= step:
        return _emi_of_batch(rows, columns).reshape(batch)
    parts = columns.split(step)
    references = [rows] * len(parts) if len(rows) == 1 else rows.split(step)
    return torch.cat([_emi_of_batch(*part) for part in zip(references, parts, strict=True)]).reshape(batch)


# ---- sizes and their pairs ---------------------------------------------------------------------------


class _Sizes(NamedTuple):
    """Group sizes of tables, and how often each occurs."""

    size: Tensor  # (B, G) int64; zeros are padding
    multiplicity: Tensor | None  # (B, G) float64; None: once each

    def weigh(self, values: Tensor) -> Tensor:
        return values if self.multiplicity is None else values * self.multiplicity


def _merge_equal(sizes: Tensor) -> _Sizes:
    """Distinct sizes of each row in descending order, padded with zeros to whole blocks."""
    if sizes.shape[1] <= FEW_GROUPS:
        return _Sizes(sizes, None)
    if len(sizes) == 1 and sizes.is_cpu and int(sizes.amax()) < sizes.shape[1]:  # a sort would take longer
        times = torch.bincount(sizes[0])
        size = times.nonzero().flip(0).mT
        size = torch.nn.functional.pad(size, (0, -size.shape[1] % SUM_BLOCK))
        return _Sizes(size, times.double()[size])
    size = sizes.sort(descending=True).values
    starts = size.diff(dim=1, prepend=size[:, :1]) != 0
    run = starts.cumsum(1)
    shape = (len(size), (int(run.max()) // SUM_BLOCK + 1) * SUM_BLOCK)
    distinct = size.new_zeros(shape).scatter_(1, run, size)
    multiplicity = torch.zeros(shape, dtype=torch.float64, device=size.device)
    return _Sizes(distinct, multiplicity.scatter_add_(1, run, torch.ones_like(size, dtype=torch.float64)))


def _emi_of_batch(rows: Tensor, columns: Tensor) -> Tensor:
    """``(B,)`` from class sizes ``(1, R)`` of all tables or ``(B, R)`` of each, and cluster sizes ``(B, C)``."""
    n = rows.sum(-1)
    classes, clusters = _merge_equal(rows), _merge_equal(columns)
    if len(rows) == 1:
        return _emi_of_one_reference(classes, clusters, n)
    return _emi_of_many_references(classes, clusters, n)


def _emi_of_small_table(class_sizes: Tensor, cluster_sizes: Tensor) -> Tensor:
    """``()`` on the CPU in the fewest calls: to the bit the value of the same table in a batch."""
    classes, clusters = class_sizes.tolist(), cluster_sizes.tolist()
    class_code = {size: i for i, size in enumerate(dict.fromkeys(classes))}
    cluster_code = {size: i for i, size in enumerate(dict.fromkeys(clusters))}
    pairs = np.empty((2, len(cluster_code), len(class_code)))
    pairs[0] = list(class_code)
    pairs[1].T[:] = list(cluster_code)
    a, b = pairs.reshape(2, -1)
    n, sizes = sum(classes), (*class_code, *cluster_code)
    if n <= FEW_ITEMS and min(sizes) > 0 and max(sizes) < n:  # known without arrays
        value = _of_few_items(a, b, float(n))
    else:
        value = _emi_of_size_pairs(a, b, np.array([n], np.float64))
    value = value.reshape(pairs.shape[1:])
    if len(clusters) > len(cluster_code):
        value = value.take([cluster_code[size] for size in clusters], 0)
    if len(classes) > len(class_code):
        value = value.take([class_code[size] for size in classes], 1)
    return sum_padding_invariant(sum_padding_invariant(torch.from_numpy(value)))


def _emi_of_one_reference(classes: _Sizes, clusters: _Sizes, n: Tensor) -> Tensor:
    """``(B,)`` where all tables share the classes: each distinct cluster size is worked out once."""
    class_size, class_code = torch.unique(classes.size, return_inverse=True)
    cluster_size, cluster_code = torch.unique(clusters.size, return_inverse=True)
    by_size = []
    for part in cluster_size.split(max(1, PIECE_PAIRS // len(class_size))):
        values = pair_information(class_size, part[:, None], n).index_select(1, class_code.squeeze(0))
        by_size.append(sum_padding_invariant(classes.weigh(values)))
    return sum_padding_invariant(clusters.weigh(torch.cat(by_size)[cluster_code]))


def _emi_of_many_references(classes: _Sizes, clusters: _Sizes, n: Tensor) -> Tensor:
    """``(B,)`` where both sides differ between tables: each distinct pair is worked out once."""
    tables, n_classes = classes.size.shape
    n_clusters = clusters.size.shape[1]
    totals, total_code = torch.unique(n, return_inverse=True)
    radix = totals[-1] + 1
    sizes = torch.cat([classes.size, clusters.size], dim=1)
    keys, codes = _distinct(sizes + total_code[:, None] * radix)
    size, total = keys % radix, totals[keys // radix]
    class_code, cluster_code = codes[:, None, :n_classes], codes[:, n_classes:, None]
    step = max(1, PIECE_CELLS // (n_classes * n_clusters))
    values = []
    for at in range(0, tables, step):
        part = slice(at, at + step)
        low = torch.minimum(class_code[part], cluster_code[part])
        pair = torch.maximum(class_code[part], cluster_code[part]).add_(low, alpha=len(size))
        cells = _look_up(pair, size, total)  # (tables, C, R)
        class_multiplicity = None if classes.multiplicity is None else classes.multiplicity[part, None]
        by_cluster = sum_padding_invariant(cells if class_multiplicity is None else cells * class_multiplicity)
        cluster_multiplicity = None if clusters.multiplicity is None else clusters.multiplicity[part]
        values.append(
            sum_padding_invariant(by_cluster if cluster_multiplicity is None else by_cluster * cluster_multiplicity)
        )
    return torch.cat(values)


def _distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct whole numbers in order, and the place of each among them; small ones are looked up on the host."""
    if not keys.is_cpu or (most := int(keys.amax())) >= max(keys.numel(), 1024):
        return torch.unique(keys, return_inverse=True)
    occurs = np.zeros(most + 1, bool)
    occurs[keys.numpy()] = True
    return torch.from_numpy(np.flatnonzero(occurs)), torch.from_numpy((occurs.cumsum() - 1).take(keys.numpy()))


def _look_up(pair: Tensor, size: Tensor, total: Tensor) -> Tensor:
    """Values at ``pair = low * len(size) + high``."""
    distinct, code = _distinct(pair)
    parts = [(part // len(size), part % len(size)) for part in distinct.split(PIECE_PAIRS)]
    found = torch.cat([pair_information(size[i], size[j], total[i]) for i, j in parts])
    return torch.from_numpy(found.numpy().take(code.numpy())) if found.is_cpu else found[code]  # a fifth of the time


# ---- one pair of sizes -------------------------------------------------------------------------------


def pair_information(a: Tensor, b: Tensor, n: Tensor) -> Tensor:
    """Share of pairs of sizes in the expected mutual information of ``n`` items, ``a`` against ``b`` broadcast.

    ``n`` holds one number, or one for each pair of one-dimensional ``a`` and ``b``.
    """
    size_a, size_b = (x.cpu().numpy() for x in torch.broadcast_tensors(a, b))
    lists = size_a.ravel().astype(np.float64), size_b.ravel().astype(np.float64)
    value = _emi_of_size_pairs(*lists, n.cpu().numpy().astype(np.float64))
    return torch.from_numpy(value.reshape(size_a.shape)).to(a.device)


def _emi_of_size_pairs(a: Array, b: Array, n: Array) -> Array:
    """``(P,)`` values of pairs of sizes ``(P,)`` and ``n`` ``(P,)`` or ``(1,)``; symmetric to the bit."""
    largest, few = np.maximum(a, b), n <= FEW_ITEMS
    ways = np.zeros(len(a), np.int64)
    if not few.all():
        mean, variance = moments(a, b, np.maximum(n, 3))
        ways = np.where(2 * largest > n, 3, 1 + (variance < LEAST_THINNED))
        series = np.searchsorted(list(SERIES), mean, "right")  # 0: a window
        ways = np.where(few, 0, np.where(series > 0, 3 + series, ways))
    ways[(a * b == 0) | (largest >= n)] = len(_WAYS) - 1
    chosen = np.flatnonzero(np.bincount(ways))
    if len(chosen) == 1:
        return _WAYS[chosen[0]](a, b, n)
    value = np.empty_like(a)
    for way in chosen:
        at = np.flatnonzero(ways == way)
        value[at] = _WAYS[way](a[at], b[at], n if len(n) == 1 else n[at])
    return value


def _of_few_items(a: Array, b: Array, n: Array | float) -> Array:
    """Values of pairs of sizes below ``n``, none of them 0, by sums over the whole support."""
    area, least = a * b, a + b - (n + 1)
    first = np.maximum(least, 0)
    columns = [a, b, least, first, n / area]
    return _narrow_means(_means, columns, np.minimum(a, b) - first, SMALL_PIECE_TERMS // 4) * (area / (n * n))


def _of_halves(step: int, a: Array, b: Array, n: Array) -> Array:
    """Values of pairs of sizes of at most half of the items, by every ``step``-th term of windows from 0 on."""
    area = a * b
    terms = np.ceil(np.minimum(np.minimum(a, b), np.floor(area / (n + 1)) + _reach(a, b, n) + 1) / step)
    columns = [a, b, a + b - (n + 1), np.log(area / n), terms]
    return _narrow_means(partial(_means_from_zero, step), columns, terms, SMALL_PIECE_TERMS) * (area / (n * n))


def _of_windows(a: Array, b: Array, n: Array) -> Array:
    area, least = a * b, a + b - (n + 1)
    mode, reach = np.floor(area / (n + 1)), _reach(a, b, n)
    first = np.maximum(np.maximum(least, 0), mode - reach)
    terms = np.minimum(np.minimum(a, b), mode + reach + 1) - first
    mean = _narrow_means(_means, [a, b, least, first, n / area, terms], terms, SMALL_PIECE_TERMS)
    return mean * (area / (n * n)) + (n - a) * (n - b) / (n * n * (n - 1))


_WAYS: tuple[Callable[[Array, Array, Array], Array], ...] = (
    _of_few_items,
    partial(_of_halves, 4),
    partial(_of_halves, 1),
    _of_windows,
    *(partial(large_means, *number) for number in SERIES.values()),
    lambda a, b, n: np.where(n + a * b > 0, 0.0, np.nan),  # padding, or a group of all items, which tells nothing
)


def _reach(a: Array, b: Array, n: Array) -> Array:
    """Steps from the mode beyond which less than ``exp(-LOG_TAIL)`` lies on either side.

    A sum of independent indicators of variance v (a hypergeometric variable is one) strays from its
    mean by t with probability below exp(-L) when (v + t) log(1 + t/v) - t >= L. Bernstein's bound gives
    such a t; a Newton step from above tightens it and stays above.
    """
    variance = np.maximum(moments(a, b, n)[1], 1e-12)
    bernstein = LOG_TAIL / 3 + np.sqrt(variance * (2 * LOG_TAIL) + LOG_TAIL**2 / 9)
    tight = (bernstein + LOG_TAIL) / np.log1p(bernstein / variance) - variance
    return np.floor(tight + 2)  # mean and mode are less than one apart


def _narrow_means(mean: Callable[..., Array], columns: list[Array], terms: Array, small: int) -> Array:
    """Means ``(P,)`` by a function of a width and columns, in pieces of about equal numbers of terms."""
    width = int(np.maximum.reduce(terms))
    if len(terms) * width <= small:
        return mean(width, *columns)
    retain_freed_memory()
    order = np.argsort(terms, kind="stable")
    ordered = np.stack(columns)[:, order]
    means = np.empty_like(terms)
    for start, end, width in _pieces(terms[order].tolist(), small):
        means[order[start:end]] = mean(width, *ordered[:, start:end])
    return means


def _pieces(lengths: list[float], small: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of ascending lengths worked out at one width."""
    end = len(lengths)
    while end:
        width = int(lengths[end - 1])
        start = min(bisect_left(lengths, 0.75 * width), end - small // width, end - 1)
        start = max(start, 0, end - max(1, PIECE_TERMS // width))
        yield start, end, width
        end = start


def _means(
    width: int, a: Array, b: Array, least: Array, first: Array, rate: Array, terms: Array | None = None
) -> Array:
    """Means ``(P,)`` of ``log(1 + d) - d`` over ``terms`` values of M from ``first`` on, or ``log(1 + d)`` over all."""
    m = first + np.arange(float(width))[:, None]  # (width, P)
    weight = _weights(m, a, b, least, terms)
    if terms is None:
        m += 1
        m *= rate
        return _mean(np.log(m, out=m), weight)
    m *= rate
    m += rate - 1
    return _mean(np.log1p(m) - m, weight)


def _means_from_zero(step: int, width: int, a: Array, b: Array, least: Array, log_mean: Array, terms: Array) -> Array:
    """Means ``(P,)`` of ``log(M + 1) - log_mean`` over ``terms`` values of M from 0 on.

    One logarithm a row serves all pairs. Every fourth value gives the same mean where the variance v is large: M is a
    sum of independent indicators, so its characteristic function at a quarter of a turn, the error made by this,
    is below exp(-v).
    """
    k = np.arange(0.0, step * width, step)[:, None]
    return _mean(np.log(k + 1) - log_mean, _weights(k, a, b, least, terms, step))


def _weights(m: Array, a: Array, b: Array, least: Array, terms: Array | None, step: int = 1) -> Array:
    """Probabilities of ``m`` relative to the first row, ``(width, P)``, 0 in rows from ``terms`` on.

    The ratio of neighbours is 0 beyond the last value of M. Nothing in rows beyond the last term changes a bit.
    """
    below = _falling(least, m, step)
    below *= _falling(0.0, m, step)
    below[0] = 1
    ratio = _falling(a, m, step)
    ratio *= _falling(b, m, step)
    ratio /= below
    ratio[0] = 1  # the largest weight is then below 2**300, of few items below 2**1000
    if terms is None:
        return np.multiply.accumulate(ratio, 0, out=ratio)
    shorter = np.flatnonzero(terms < len(ratio))
    ratio[terms[shorter].astype(np.int64), shorter] = 0
    for i in range(1, min(16, len(ratio))):  # products of sixteen rows, then of all: NumPy goes column by column
        ratio[i::16] *= ratio[i - 1 :: 16][: len(ratio[i::16])]
    for start in range(16, len(ratio), 16):
        ratio[start : start + 16] *= ratio[start - 1]
    return ratio


def _falling(x: Any, m: Array, step: int) -> Array:
    """The product of ``x - m`` and the next larger numbers, ``step`` in all: one, or four."""
    product = np.subtract(x if step == 1 else x + 1.5, m)
    if step > 1:
        product *= product
        other = product - 0.25
        product -= 2.25
        product *= other
    return product


def _mean(values: Array, weight: Array) -> Array:
    values *= weight
    if weight.shape[1] == 1:  # two columns are added row by row
        sums = np.add.reduce(np.concatenate((values, weight), 1))
        return sums[:1] / sums[1:]
    mean: Array = np.add.reduce(values) / np.add.reduce(weight)
    return mean
