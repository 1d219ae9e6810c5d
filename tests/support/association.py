"""Indices of pairs, set matching and association of two label lists, from their definitions, in exact fractions."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import Any

from tests.support.matchings import largest_sum

Labels = Sequence[Hashable]
Value = Fraction | float | int
Formula = Callable[[int, int, int, int], Value]  # of a, b, c and d
Sizes = Counter[Hashable]


def least(length: Callable[[Any], Any], end: Any, golden: Any, parts: int, steps: int) -> tuple[Any, Any]:
    """Between which numbers a function has its least value from ``-end`` to ``end``, by the golden section."""
    points = [-end + 2 * end * i / parts for i in range(parts + 1)]
    at = min(range(parts + 1), key=lambda i: length(points[i]))
    low, high = points[max(at - 1, 0)], points[min(at + 1, parts)]
    for _ in range(steps):
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if length(first) <= length(second) else (first, high)
    return low, high


# pairs ----------------------------------------------------------------------------------------------


def pairs_of(true: Labels, pred: Labels) -> tuple[int, int, int, int]:
    """a, b, c, d: pairs together on both sides, in the truth alone, in the prediction alone, on neither."""
    return _pairs_of(tuple(zip(true, pred, strict=True)))


@cache
def _pairs_of(items: tuple[tuple[Hashable, Hashable], ...]) -> tuple[int, int, int, int]:
    counts = Counter((x[0] == y[0], x[1] == y[1]) for x, y in combinations(items, 2))
    return counts[True, True], counts[True, False], counts[False, True], counts[False, False]


def same(true: Labels, pred: Labels) -> bool:
    _, b, c, _ = pairs_of(true, pred)
    return b == c == 0


def share(x: int | Fraction, y: int | Fraction) -> Fraction:
    return Fraction(x) / Fraction(y) if y else Fraction(0)


def similarity(
    formula: Callable[[int, int, int, int], Value], identical: float = 1
) -> Callable[[Labels, Labels], Value]:
    def value(true: Labels, pred: Labels) -> Value:
        return identical if same(true, pred) else formula(*pairs_of(true, pred))

    return value


def index(formula: Formula) -> Callable[[Labels, Labels], Value]:
    return lambda true, pred: formula(*pairs_of(true, pred))


def over_root(x: int | Fraction, square: int | Fraction) -> float:
    return float(x) / math.sqrt(square) if square else 0.0


def determinant_over(divisor: Callable[[int, int, int, int], int]) -> Callable[[int, int, int, int], Fraction]:
    return lambda a, b, c, d: share(a * d - b * c, divisor(a, b, c, d))


def adjusted_rand(a: int, b: int, c: int, d: int) -> Fraction:
    by_chance = Fraction((a + b) * (a + c), a + b + c + d)
    return (a - by_chance) / (a + Fraction(b + c, 2) - by_chance)


def adjusted_wallace(a: int, errors: int, others: int, d: int) -> Fraction:
    """``(W - e) / (1 - e)``, W the share of one side's pairs that the other has too, e the other's share of all."""
    n = a + errors + others + d
    if not a + errors or a + others == n:
        return Fraction(0)
    chance = Fraction(a + others, n)
    return (Fraction(a, a + errors) - chance) / (1 - chance)


def adjusted_fowlkes_mallows(a: int, b: int, c: int, d: int) -> float:
    """``(FM - e) / (1 - e)``, e the mean of FM over all permutations."""
    joined, n = (a + b) * (a + c), a + b + c + d
    if not joined or joined == n * n:
        return 0.0
    root = math.sqrt(joined)
    return (a / root - root / n) / (1 - root / n)


def rv_coefficient(true: Labels, pred: Labels) -> float:
    """Cosine of the two N x N matrices of "same group"."""
    every = [(x, y) for x in range(len(true)) for y in range(len(true))]
    both = sum(true[x] == true[y] and pred[x] == pred[y] for x, y in every)
    squares = [sum(side[x] == side[y] for x, y in every) for side in (true, pred)]
    return both / math.sqrt(squares[0] * squares[1])


def moments(true: Labels, pred: Labels) -> tuple[Fraction, Fraction]:
    """Mean and variance of the pairs together on both sides, over all permutations of the items of one side."""
    if len(true) < 4:
        drawn = [pairs_of(true, order)[0] for order in permutations(pred)]
        mean = Fraction(sum(drawn), len(drawn))
        return mean, Fraction(sum(x * x for x in drawn), len(drawn)) - mean**2
    return moments_of_sizes(list(Counter(true).values()), list(Counter(pred).values()))


def moments_of_sizes(r: list[int], c: list[int]) -> tuple[Fraction, Fraction]:
    """Of at least four items."""
    n = sum(r)

    def once(sizes: list[int]) -> int:
        return sum(i * (i - 1) for i in sizes)

    def twice(sizes: list[int]) -> int:
        return sum(i * (i - 1) * (i - 2) for i in sizes)

    def apart(sizes: list[int]) -> int:
        return once(sizes) ** 2 - 4 * twice(sizes) - 2 * once(sizes)

    mean = Fraction(once(r) * once(c), 2 * n * (n - 1))
    square = mean + Fraction(twice(r) * twice(c), n * (n - 1) * (n - 2))
    square += Fraction(apart(r) * apart(c), 4 * n * (n - 1) * (n - 2) * (n - 3))
    return mean, square - mean**2


def lerman(true: Labels, pred: Labels) -> float:
    mean, variance = moments(true, pred)
    return over_root(pairs_of(true, pred)[0] - mean, variance)


def lerman_normalized(true: Labels, pred: Labels) -> float:
    if same(true, pred):
        return 1.0
    own = lerman(true, true) * lerman(pred, pred)
    return lerman(true, pred) / math.sqrt(own) if own else 0.0


# set matching ---------------------------------------------------------------------------------------


def cells(true: Labels, pred: Labels) -> tuple[Counter[tuple[Hashable, Hashable]], Sizes, Sizes]:
    return Counter(zip(true, pred, strict=True)), Counter(true), Counter(pred)


def best_sum(true: Labels, pred: Labels, weight: Callable[[int, int, int], Fraction]) -> Fraction:
    """Largest sum of ``weight(n, r, c)`` over the one-to-one matchings."""
    n, r, c = cells(true, pred)
    return largest_sum([[weight(n[i, j], r[i], c[j]) if n[i, j] else Fraction(0) for j in c] for i in r])


def set_similarity(true: Labels, pred: Labels) -> Fraction:
    return best_sum(true, pred, lambda n, r, c: Fraction(n, max(r, c)))


def psi(true: Labels, pred: Labels) -> Fraction:
    r, c = (sorted(Counter(side).values(), reverse=True) for side in (true, pred))
    chance = sum((Fraction(x * y, len(true) * max(x, y)) for x, y in zip(r, c, strict=False)), Fraction(0))
    return max(Fraction(0), corrected(set_similarity(true, pred), chance, max(len(r), len(c))))


def spsi(true: Labels, pred: Labels) -> Fraction:
    most = max(len(set(true)), len(set(pred)))
    return max(Fraction(0), corrected(set_similarity(true, pred), Fraction(1), most))


def corrected(value: Fraction, chance: Fraction, most: int) -> Fraction:
    return (value - chance) / (most - chance) if most > 1 else Fraction(1)


def nca(true: Labels, pred: Labels) -> Fraction:
    if len(set(true)) == 1:
        return Fraction(len(set(pred)) == 1)
    return (best_sum(true, pred, lambda n, r, c: Fraction(n, r)) - 1) / (len(set(true)) - 1)


def npa(true: Labels, pred: Labels) -> Fraction:
    most = max(len(set(true)), len(set(pred)))
    right = best_sum(true, pred, lambda n, r, c: Fraction(n))
    return corrected(most * right / len(true), Fraction(1), most)


def projected(own: Labels, other: Labels) -> int:
    """Items in the largest group of the other side, of each group of one's own."""
    n, groups, _ = cells(own, other)
    return sum(max(x for (i, _), x in n.items() if i == group) for group in groups)


# association ----------------------------------------------------------------------------------------


def chi_squared(true: Labels, pred: Labels) -> Fraction:
    n, r, c = cells(true, pred)
    expected = {(i, j): Fraction(r[i] * c[j], len(true)) for i in r for j in c}
    return sum(((n[cell] - e) ** 2 / e for cell, e in expected.items()), Fraction(0))


def cramers_v(true: Labels, pred: Labels) -> float:
    return root_share(true, pred, min(len(set(true)) - 1, len(set(pred)) - 1))


def tschuprows_t(true: Labels, pred: Labels) -> float:
    return root_share(true, pred, math.sqrt((len(set(true)) - 1) * (len(set(pred)) - 1)))


def root_share(true: Labels, pred: Labels, degrees: float) -> float:
    if same(true, pred):
        return 1.0
    return math.sqrt(chi_squared(true, pred) / len(true) / degrees) if degrees else 0.0


def error_saved(before: Fraction, after: Fraction, true: Labels, pred: Labels) -> Fraction:
    return 1 - after / before if before else Fraction(same(true, pred))


def goodman_kruskal_lambda(target: Labels, given: Labels) -> Fraction:
    wrong = len(target) - max(Counter(target).values())
    return error_saved(Fraction(wrong), Fraction(len(target) - projected(given, target)), target, given)


def goodman_kruskal_tau(target: Labels, given: Labels) -> Fraction:
    """Errors of drawing the class of an item: from all items, and from the items of its cluster."""
    items = range(len(target))
    of_all = sum((Fraction(sum(target[x] != target[y] for y in items), len(target)) for x in items), Fraction(0))
    of_cluster = Fraction(0)
    for x in items:
        mates = [y for y in items if given[y] == given[x]]
        of_cluster += Fraction(sum(target[x] != target[y] for y in mates), len(mates))
    return error_saved(of_all, of_cluster, target, given)


def frobenius_distance(true: Labels, pred: Labels) -> Fraction:
    """Squared differences of the N x N projectors, entry by entry."""
    r, c = Counter(true), Counter(pred)
    items = range(len(true))
    entries = Counter(
        (r[true[x]] if true[x] == true[y] else 0, c[pred[x]] if pred[x] == pred[y] else 0) for x in items for y in items
    )
    return sum((times * (share(1, r_) - share(1, c_)) ** 2 for (r_, c_), times in entries.items()), Fraction(0))


# Of a, b, c and d; 1 for identical partitions.
SIMILARITIES: dict[str, Formula] = {
    "rand": lambda a, b, c, d: share(a + d, a + b + c + d),
    "adjusted_rand": adjusted_rand,
    "jaccard": lambda a, b, c, d: share(a, a + b + c),
    "fowlkes_mallows": lambda a, b, c, d: over_root(a, (a + b) * (a + c)),
    "hubert_gamma_normalized": lambda a, b, c, d: over_root(a * d - b * c, (a + b) * (a + c) * (b + d) * (c + d)),
    "pair_precision": lambda a, b, c, d: share(a, a + c),
    "pair_recall": lambda a, b, c, d: share(a, a + b),
    "pair_f": lambda a, b, c, d: share(2 * a, 2 * a + b + c),
    "kulczynski": lambda a, b, c, d: (share(a, a + b) + share(a, a + c)) / 2,
    "mcconnaughey": lambda a, b, c, d: share(a * a - b * c, (a + b) * (a + c)),
    "sokal_sneath_1": lambda a, b, c, d: share(a, a + 2 * (b + c)),
    "sokal_sneath_2": lambda a, b, c, d: share(a + d, a + d + Fraction(b + c, 2)),
    "sokal_sneath_3": lambda a, b, c, d: over_root(a * d, (a + b) * (a + c) * (b + d) * (c + d)),
    "sokal_sneath_4": lambda a, b, c, d: (share(a, a + b) + share(a, a + c) + share(d, b + d) + share(d, c + d)) / 4,
    "rogers_tanimoto": lambda a, b, c, d: share(a + d, a + d + 2 * (b + c)),
    "hamann": lambda a, b, c, d: share(a + d - b - c, a + b + c + d),
    "overlap_coefficient": lambda a, b, c, d: share(a, min(a + b, a + c)),
    "tversky": lambda a, b, c, d: share(a, a + b + c),
    "baulieu_1": lambda a, b, c, d: 1 - Fraction(b + c, a + b + c + d) + Fraction(b - c, a + b + c + d) ** 2,
    "pair_specificity": lambda a, b, c, d: share(d, c + d),
    "pair_negative_predictive_value": lambda a, b, c, d: share(d, b + d),
    "pair_negative_f": lambda a, b, c, d: share(2 * d, 2 * d + b + c),
    "pair_balanced_accuracy": lambda a, b, c, d: (share(a, a + b) + share(d, c + d)) / 2,
    "peirce": determinant_over(lambda a, b, c, d: (a + b) * (c + d)),
    "adjusted_wallace_precision": lambda a, b, c, d: adjusted_wallace(a, c, b, d),
    "adjusted_wallace_recall": adjusted_wallace,
    "adjusted_fowlkes_mallows": adjusted_fowlkes_mallows,
    "goodman_kruskal_gamma": determinant_over(lambda a, b, c, d: a * d + b * c),
}
# Likewise, identical partitions being none of their own.
INDICES: dict[str, Formula] = {
    "mirkin": lambda a, b, c, d: 2 * (b + c),
    "hubert_gamma": lambda a, b, c, d: share(a, a + b + c + d),
    "fager_mcgowan": lambda a, b, c, d: over_root(a, (a + b) * (a + c)) - 1 / (2 * math.sqrt(a + b)) if a + b else 0.0,
    "baulieu_2": determinant_over(lambda a, b, c, d: (a + b + c + d) ** 2),
    "pearson_unrooted": determinant_over(lambda a, b, c, d: (a + b) * (a + c) * (b + d) * (c + d)),
    "mcnemar": lambda a, b, c, d: over_root(d - c, d + c),
    "partition_difference": lambda a, b, c, d: d,
}
NAMED: tuple[Any, ...] = (
    *(rv_coefficient, lerman, lerman_normalized, psi, spsi, nca, npa, chi_squared, cramers_v, tschuprows_t),
    *(goodman_kruskal_lambda, goodman_kruskal_tau, frobenius_distance),
)

REFERENCE: dict[str, Callable[[Labels, Labels], Value]] = {
    **{name: similarity(formula) for name, formula in SIMILARITIES.items()},
    **{name: index(formula) for name, formula in INDICES.items()},
    **{function.__name__: function for function in NAMED},
    "minkowski_score": similarity(
        lambda a, b, c, d: math.sqrt(Fraction(b + c, a + b)) if a + b else math.inf, identical=0
    ),
    "southwood": similarity(lambda a, b, c, d: share(a, b + c), identical=math.inf),
    "nca_swapped": lambda true, pred: nca(pred, true),
    "class_projection_distance": lambda true, pred: len(true) - projected(true, pred),
    "cluster_projection_distance": lambda true, pred: len(true) - projected(pred, true),
    "projection_number": projected,
    "goodman_kruskal_lambda_swapped": lambda true, pred: goodman_kruskal_lambda(pred, true),
    "goodman_kruskal_tau_swapped": lambda true, pred: goodman_kruskal_tau(pred, true),
}
