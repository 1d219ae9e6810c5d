"""Every partition measure, written slowly and plainly from its definition.

Two label lists go in, one number comes out. Items, pairs and groups are enumerated, counts and ratios
are exact fractions, and floats appear only at a logarithm, a square root or the end. Nothing of the
package is used, so that agreement with it means something. ``REFERENCE`` maps registry names to functions.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any

from tests.support import association, coreference, objects
from tests.support.association import same as identical
from tests.support.association import share

Labels = Sequence[Hashable]
Value = float | Fraction | int
Measure = Callable[[Labels, Labels], float]
Exact = Callable[[Labels, Labels], Fraction]


def labels_of(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """One (class, cluster) pair of labels for every item of a table."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]


# entropies ------------------------------------------------------------------------------------------


def entropy(labels: Labels) -> float:
    n = len(labels)
    return math.fsum(-count / n * math.log(Fraction(count, n)) for count in Counter(labels).values())


def joint_entropy(true: Labels, pred: Labels) -> float:
    return entropy(list(zip(true, pred, strict=True)))


def remaining_entropy(target: Labels, given: Labels) -> float:
    """H(target | given): the entropy inside each group of ``given``, averaged by group size."""
    inside = {group: entropy([t for t, g in zip(target, given, strict=True) if g == group]) for group in set(given)}
    return math.fsum(inside[g] for g in given) / len(given)


def mutual_information(true: Labels, pred: Labels) -> float:
    n, r, c = len(true), Counter(true), Counter(pred)
    cells = Counter(zip(true, pred, strict=True))
    return math.fsum(x / n * math.log(Fraction(n * x, r[i] * c[j])) for (i, j), x in cells.items())


def expected_mutual_information(true: Labels, pred: Labels) -> float:
    """Mean of the mutual information over all permutations: hypergeometric cells, term by term."""
    return expected_information(own_sizes(true), own_sizes(pred), len(true))


def expected_information(classes: dict[int, Fraction], clusters: dict[int, Fraction], n: int) -> float:
    """Mean information of random matchings with so many groups of each size."""
    return math.fsum(
        float(x * y) * pair_information(a, b, n) for a, x in classes.items() for b, y in clusters.items() if x and y
    )


def homogeneity(true: Labels, pred: Labels) -> float:
    return 1.0 if len(set(true)) <= 1 else 1 - remaining_entropy(true, pred) / entropy(true)


def v_measure(beta: float) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        if information_free(true, pred):  # h = c = 0
            return 0.0
        h, c = homogeneity(true, pred), homogeneity(pred, true)
        return (1 + beta) * h * c / (beta * h + c) if h and c else 0.0

    return value


def information_free(true: Labels, pred: Labels) -> bool:
    """Whether knowing one side tells nothing of the other, and each side has something to tell."""
    n, r, c = len(true), Counter(true), Counter(pred)
    cells = Counter(zip(true, pred, strict=True))
    independent = all(n * cells[i, j] == r[i] * c[j] for i in r for j in c)
    return independent and len(r) > 1 and len(c) > 1


def nmi(average: str) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        if len(set(true)) == 1 or len(set(pred)) == 1:
            return float(len(set(true)) == len(set(pred)))
        return mutual_information(true, pred) / mean_entropy(average, true, pred)

    return value


def ami(average: str) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        if identical(true, pred):
            return 1.0
        if {len(set(true)), len(set(pred))} & {1, len(true)}:
            return 0.0
        expected = expected_mutual_information(true, pred)
        return (mutual_information(true, pred) - expected) / (mean_entropy(average, true, pred) - expected)

    return value


def mean_entropy(average: str, true: Labels, pred: Labels) -> float:
    a, b = entropy(true), entropy(pred)
    means = {
        "min": min(a, b),
        "geometric": math.sqrt(a * b),
        "arithmetic": (a + b) / 2,
        "max": max(a, b),
        "classes": a,
        "clusters": b,
    }
    return joint_entropy(true, pred) if average == "joint" else means[average]


def vi(true: Labels, pred: Labels) -> float:
    return remaining_entropy(true, pred) + remaining_entropy(pred, true)


def normalized_vi(norm: str) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        log_k = math.log(max(len(set(true)), len(set(pred))))
        denominators = {
            "log_n": math.log(len(true)),
            "two_log_n": 2 * math.log(len(true)),
            "log_k": log_k,
            "two_log_k": 2 * log_k,
            "joint": joint_entropy(true, pred),
        }
        return vi(true, pred) / denominators[norm] if denominators[norm] else 0.0

    return value


def information_distance(true: Labels, pred: Labels) -> float:
    return max(remaining_entropy(true, pred), remaining_entropy(pred, true))


def share_of(part: Measure, whole: Measure) -> Measure:
    """A distance over its bound; 0 for identical partitions."""

    def value(true: Labels, pred: Labels) -> float:
        return 0.0 if identical(true, pred) else part(true, pred) / whole(true, pred)

    return value


def nvi(true: Labels, pred: Labels) -> float:
    return entropy(pred) if len(set(true)) <= 1 else vi(true, pred) / entropy(true)


def cluster_entropy(true: Labels, pred: Labels) -> float:
    q = len(set(true))
    return 0.0 if q <= 1 else remaining_entropy(true, pred) / math.log(q)


def histogram_code(sizes: Sequence[int], q: int) -> float:
    """Logarithm of the number of histograms over q classes, summed over groups of these sizes."""
    return math.fsum(math.log(math.comb(size + q - 1, q - 1)) for size in sizes)


def q0(true: Labels, pred: Labels) -> float:
    q = len(set(true))
    return remaining_entropy(true, pred) + histogram_code(list(Counter(pred).values()), q) / len(true)


def q2(true: Labels, pred: Labels) -> float:
    q = len(set(true))
    if q <= 1:
        return 1.0
    return histogram_code(list(Counter(true).values()), q) / len(true) / q0(true, pred)


# arrangements and urns ------------------------------------------------------------------------------


def arrangements(labels: Sequence[Hashable]) -> int:
    return math.factorial(len(labels)) // math.prod(map(math.factorial, Counter(labels).values()))


def microcanonical(true: Labels, pred: Labels) -> float:
    joint = arrangements(list(zip(true, pred, strict=True)))
    return math.log(Fraction(arrangements(true) * arrangements(pred), joint))


@cache
def number_of_tables(rows: tuple[int, ...], columns: tuple[int, ...]) -> int:
    """Every first row is tried; the order of the columns does not matter."""
    if not rows:
        return 1

    def rest(row: int, left: tuple[int, ...], kept: tuple[int, ...]) -> int:
        if not left:
            return number_of_tables(rows[1:], tuple(sorted(x for x in kept if x))) if row == 0 else 0
        return sum(rest(row - x, left[1:], (*kept, left[0] - x)) for x in range(min(row, left[0]) + 1))

    return rest(rows[0], columns, ())


def estimated_log_tables(rows: Sequence[int], columns: Sequence[int], gamma: Any = math.lgamma, one: Any = 1) -> Any:
    """With the digits of ``gamma``, the logarithm of the gamma function, and of ``one``."""

    def log_binomial(x: int, alpha: Any) -> Any:
        return gamma(x + alpha) - gamma(alpha) - gamma(x + 1)

    n, m, squares = sum(rows), len(rows), sum(x * x for x in columns)
    if squares == n:
        return math.log(math.factorial(n)) - sum(math.log(math.factorial(x)) for x in rows)
    alpha = (n**2 - n + one * (n**2 - squares) / m) / (squares - n)
    of_rows, of_columns = (sum(log_binomial(x, a) for x in side) for side, a in ((rows, alpha), (columns, m)))
    return of_rows + of_columns - log_binomial(n, m * alpha)


def log_tables(true: Labels, pred: Labels) -> float:
    rows, columns = (tuple(sorted(Counter(side).values())) for side in (true, pred))
    if min(len(rows), len(columns)) == 1:
        return 0.0
    few, many = sorted((rows, columns), key=lambda side: math.prod(x + 1 for x in side))
    if math.prod(x + 1 for x in few) <= 4096:
        return math.log(number_of_tables(many, few))
    return (estimated_log_tables(rows, columns) + estimated_log_tables(columns, rows)) / 2


def reduced_flat(true: Labels, pred: Labels) -> float:
    return microcanonical(true, pred) - log_tables(true, pred)


def reduced(true: Labels, pred: Labels) -> float:
    return urn_code(true, [0] * len(true)) - urn_code(true, pred)


def urn_code(labels: Labels, given: Labels) -> float:
    """Shortest description, over the concentration of an urn for each group of ``given``, from 1e-4 to 1e4.

    Less that of labels that are all equally likely, which may be nearly as long.
    """
    sizes, cells = Counter(given).values(), Counter(zip(labels, given, strict=True)).values()
    return shortest_urn_code(len(set(labels)), tuple(sorted(sizes)), tuple(sorted(cells)))


@cache
def shortest_urn_code(kinds: int, sizes: tuple[int, ...], cells: tuple[int, ...]) -> float:
    def length(log_a: float) -> float:
        a = math.exp(log_a)
        drawn = [math.log1p(k / (kinds * a)) for size in sizes for k in range(size)]
        return math.fsum([*drawn, *(-math.log1p(k / a) for size in cells for k in range(size))])

    end = math.log(1e4)
    return min(length(x) for x in (*association.least(length, end, (math.sqrt(5) - 1) / 2, 60, 45), -end, end))


def asymmetric(information: Measure) -> Measure:
    """A share of what the classes tell of themselves; 1 for identical partitions, 0 where they tell nothing."""

    def value(true: Labels, pred: Labels) -> float:
        return 1.0 if identical(true, pred) else quotient(information(true, pred), information(true, true))

    return value


def both_ways(information: Measure) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        whole = information(true, true) + information(pred, pred)
        return 1.0 if identical(true, pred) else quotient(information(true, pred) + information(pred, true), whole)

    return value


def quotient(part: float, whole: float) -> float:
    return part / whole if whole > 1e-9 else 0.0  # else 0 but for rounding


def adjusted_information(true: Labels, pred: Labels) -> float:
    if {len(set(true)), len(set(pred))} & {1, len(true)}:
        return 0.0
    return mutual_information(true, pred) - expected_mutual_information(true, pred)


# set matching ---------------------------------------------------------------------------------------


def overlaps(group: Hashable, own: Labels, other: Labels) -> Counter[Hashable]:
    """How many items of one group fall in each group of the other side."""
    return Counter(o for s, o in zip(own, other, strict=True) if s == group)


def best_overlaps(own: Labels, other: Labels) -> dict[Hashable, int]:
    return {group: max(overlaps(group, own, other).values()) for group in set(own)}


def purity(true: Labels, pred: Labels) -> Fraction:
    return share(sum(best_overlaps(pred, true).values()), len(true))


def f_of(precision: Exact, recall: Exact) -> Exact:
    return lambda true, pred: coreference.harmonic(precision(true, pred), recall(true, pred))


def best_f_of_classes(true: Labels, pred: Labels) -> dict[Hashable, Fraction]:
    r, c = Counter(true), Counter(pred)
    return {i: max(Fraction(2 * x, r[i] + c[j]) for j, x in overlaps(i, true, pred).items()) for i in r}


def clustering_f(true: Labels, pred: Labels) -> Fraction:
    best = best_f_of_classes(true, pred)
    return sum((best[i] for i in true), Fraction(0)) / len(true)


def larsen_l(true: Labels, pred: Labels) -> Fraction:
    best = best_f_of_classes(true, pred)
    return sum(best.values(), Fraction(0)) / len(best)


def van_dongen(true: Labels, pred: Labels) -> int:
    return 2 * len(true) - sum(best_overlaps(pred, true).values()) - sum(best_overlaps(true, pred).values())


def van_dongen_normalized(true: Labels, pred: Labels) -> Fraction:
    most = 2 * len(true) - max(Counter(true).values()) - max(Counter(pred).values())
    return share(van_dongen(true, pred), most) if most else Fraction(0)


def one_to_one_accuracy(true: Labels, pred: Labels) -> Fraction:
    return share(association.best_sum(true, pred, lambda n, r, c: Fraction(n)), len(true))


def greedy_one_to_one_accuracy(true: Labels, pred: Labels) -> Fraction:
    """Largest cell first; ties go to the lowest class, then the lowest cluster."""
    left = dict(Counter(zip(true, pred, strict=True)))
    covered = 0
    while left:
        class_, cluster = min(left, key=lambda cell: (-left[cell], cell))
        covered += left[class_, cluster]
        left = {(i, j): x for (i, j), x in left.items() if i != class_ and j != cluster}
    return share(covered, len(true))


def majority_classes(true: Labels, pred: Labels) -> dict[Hashable, Hashable]:
    """The most frequent class of each cluster, the lowest one on ties."""
    inside = {j: overlaps(j, pred, true) for j in set(pred)}
    return {j: min(counts, key=lambda i: (-counts[i], i)) for j, counts in inside.items()}


def micro_average(true: Labels, pred: Labels, *, of_given: bool) -> Fraction:
    majority = majority_classes(true, pred)
    given = [majority[j] for j in pred]
    right = wrong = 0
    for class_ in set(true):
        for truth, guess in zip(true, given, strict=True):
            right += truth == guess == class_
            wrong += (guess if of_given else truth) == class_ and truth != guess
    return share(right, right + wrong)


def edit_distance(true: Labels, pred: Labels) -> int:
    """One merge for each cluster into the set of its majority class, one move for each stray item."""
    majority = majority_classes(true, pred)
    return len(majority) + sum(majority[j] != i for i, j in zip(true, pred, strict=True))


# pairs ----------------------------------------------------------------------------------------------


def pair_counts(true: Labels, pred: Labels) -> tuple[int, int, int, int]:
    """(SS, SD, DS, DD): same or different cluster first, same or different class second."""
    a, b, c, d = association.pairs_of(true, pred)
    return a, c, b, d


def adjusted_rand(true: Labels, pred: Labels) -> float:
    return float(association.REFERENCE["adjusted_rand"](true, pred))


# random models --------------------------------------------------------------------------------------


@cache
def stirling(n: int, k: int) -> int:
    """Partitions of n items into k groups."""
    if n == 0 or k == 0:
        return int(n == k)
    return k * stirling(n - 1, k) + stirling(n - 1, k - 1)


def bell(n: int) -> int:
    return sum(stirling(n, k) for k in range(n + 1))


def random_sizes(model: str, labels: Labels) -> dict[int, Fraction]:
    """Expected number of groups of each size in a random partition of the items."""
    n, k = len(labels), len(set(labels))
    if model == "all":
        return {b: Fraction(math.comb(n, b) * bell(n - b), bell(n)) for b in range(1, n + 1)}
    return {b: Fraction(math.comb(n, b) * stirling(n - b, k - 1), stirling(n, k)) for b in range(1, n + 1)}


def own_sizes(labels: Labels) -> dict[int, Fraction]:
    return {size: Fraction(times) for size, times in Counter(Counter(labels).values()).items()}


def sides(model: str, true: Labels, pred: Labels) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Sizes of classes and clusters, those of a one-sided model with the classes as they are."""
    name = model.removesuffix("1")
    classes = own_sizes(true) if name != model else random_sizes(name, true)
    return classes, random_sizes(name, pred)


def adjusted_rand_of_model(model: str) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        if identical(true, pred):
            return 1.0
        ss, sd, ds, dd = pair_counts(true, pred)
        m = ss + sd + ds + dd
        q, p = (sum(x * math.comb(b, 2) for b, x in sizes.items()) / m for sizes in sides(model, true, pred))
        expected = p * q + (1 - p) * (1 - q)
        return float((Fraction(ss + dd, m) - expected) / (1 - expected))

    return value


def ami_of_model(model: str) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        n, groups = len(true), {len(set(true)), len(set(pred))}
        if n == 1 or (model.startswith("num") and groups in ({1}, {n})):
            return 1.0
        classes, clusters = sides(model, true, pred)
        expected = expected_information(classes, clusters, n)
        bound = math.log(n) if model.startswith("all") else math.log(len(set(true)) * len(set(pred))) / 2
        return (mutual_information(true, pred) - expected) / (bound - expected)

    return value


@cache
def pair_information(a: int, b: int, n: int) -> float:
    """What a class of a items and a cluster of b of n add to the mean information of random matchings."""
    terms = []
    for x in range(max(1, a + b - n), min(a, b) + 1):
        share = Fraction(math.comb(b, x) * math.comb(n - b, a - x) * x, math.comb(n, a) * n)
        terms.append(float(share) * math.log(Fraction(n * x, a * b)))
    return math.fsum(terms)


def mari_raw(true: Labels, pred: Labels) -> Fraction:
    return mari_terms(true, pred)[0] if len(true) >= 4 else Fraction(0)


def mari(true: Labels, pred: Labels) -> float:
    if identical(true, pred):
        return 1.0
    if len(true) < 4:
        return 0.0
    above, most = mari_terms(true, pred)
    return float(above / most) if most else 0.0


def mari_terms(true: Labels, pred: Labels) -> tuple[Fraction, Fraction]:
    """Shares of pairs that both join, and that each joins on average, less the share of pairs of separate pairs."""
    ss, sd, ds, dd = pair_counts(true, pred)
    joined = [[x for x in combinations(range(len(true)), 2) if side[x[0]] == side[x[1]]] for side in (true, pred)]
    apart = sum(not {*x} & {*y} for x in joined[0] for y in joined[1])
    n, m = len(true), ss + sd + ds + dd
    by_chance = Fraction(apart, m * math.comb(n - 2, 2))
    return Fraction(ss, m) - by_chance, Fraction(2 * ss + sd + ds, 2 * m) - by_chance


# BCubed and element-centric -------------------------------------------------------------------------


def mates(labels: Labels, item: int) -> set[int]:
    return {other for other in range(len(labels)) if labels[other] == labels[item]}


def mean_over_items(score: Callable[[set[int], set[int]], Fraction]) -> Exact:
    def value(true: Labels, pred: Labels) -> Fraction:
        items = range(len(true))
        return sum((score(mates(true, e), mates(pred, e)) for e in items), Fraction(0)) / len(true)

    return value


bcubed_precision = mean_over_items(lambda own_class, cluster: share(len(own_class & cluster), len(cluster)))
bcubed_recall = mean_over_items(lambda own_class, cluster: share(len(own_class & cluster), len(own_class)))
element_centric_similarity = mean_over_items(
    lambda own_class, cluster: share(len(own_class & cluster), max(len(own_class), len(cluster)))
)

MODELS = {"num": "num", "num_one_sided": "num1", "all": "all", "all_one_sided": "all1"}
NORMS = ("log_n", "two_log_n", "log_k", "two_log_k", "joint")
NAMED: tuple[Any, ...] = (
    *(joint_entropy, cluster_entropy, homogeneity, nvi, mutual_information, expected_mutual_information, q0, q2),
    *(information_distance, adjusted_information, purity, clustering_f, larsen_l, van_dongen, van_dongen_normalized),
    *(greedy_one_to_one_accuracy, one_to_one_accuracy, edit_distance, mari, mari_raw),
)


def swapped(function: Callable[[Labels, Labels], Value]) -> Callable[[Labels, Labels], Value]:
    return lambda true, pred: function(pred, true)


REFERENCE: dict[str, Callable[[Labels, Labels], Value]] = {
    **{function.__name__: function for function in NAMED},
    **association.REFERENCE,
    "entropy_classes": lambda true, pred: entropy(true),
    "entropy_clusters": lambda true, pred: entropy(pred),
    "conditional_entropy": remaining_entropy,
    "class_entropy": swapped(remaining_entropy),
    "completeness": swapped(homogeneity),
    "v_measure": v_measure(1),
    "v_measure_beta_0.5": v_measure(0.5),
    "v_measure_beta_2": v_measure(2),
    "variation_of_information": vi,
    **{f"normalized_vi_{norm}": normalized_vi(norm) for norm in NORMS},
    "nvi_k": swapped(nvi),
    **{f"nmi_{average}": nmi(average) for average in ("min", "geometric", "arithmetic", "max", "joint")},
    **{f"ami_{average}": ami(average) for average in ("min", "geometric", "arithmetic", "max", "classes", "clusters")},
    "normalized_information_distance": share_of(information_distance, partial(mean_entropy, "max")),
    "nvi_split": share_of(lambda true, pred: remaining_entropy(pred, true), joint_entropy),
    "nvi_merge": share_of(remaining_entropy, joint_entropy),
    "adjusted_information_asymmetric": asymmetric(adjusted_information),
    "adjusted_information_mean": both_ways(adjusted_information),
    "microcanonical_mutual_information": microcanonical,
    "microcanonical_nmi_asymmetric": asymmetric(microcanonical),
    "microcanonical_nmi_mean": both_ways(microcanonical),
    "reduced_mutual_information_flat": reduced_flat,
    "reduced_flat_nmi_asymmetric": asymmetric(reduced_flat),
    "reduced_flat_nmi_mean": both_ways(reduced_flat),
    "reduced_mutual_information": reduced,
    "reduced_nmi_asymmetric": asymmetric(reduced),
    "reduced_nmi_mean": both_ways(reduced),
    "q0_bits": lambda true, pred: q0(true, pred) / math.log(2),
    "inverse_purity": swapped(purity),
    "purity_f": f_of(purity, lambda true, pred: purity(pred, true)),
    "van_dongen_2n": lambda true, pred: share(van_dongen(true, pred), 2 * len(true)),
    "many_to_one_accuracy": purity,
    "classification_error": lambda true, pred: 1 - one_to_one_accuracy(true, pred),
    "meila_heckerman_h": lambda true, pred: 1 - one_to_one_accuracy(true, pred),
    "misclassification_index": lambda true, pred: 1 - purity(true, pred),
    "micro_precision": partial(micro_average, of_given=True),
    "micro_recall": partial(micro_average, of_given=False),
    "edit_quality": lambda true, pred: 1 - share(edit_distance(true, pred), len(true)),
    "mirkin_normalized": lambda true, pred: Fraction(REFERENCE["mirkin"](true, pred)) / len(true) ** 2,
    **{f"adjusted_rand_{name}": adjusted_rand_of_model(model) for name, model in MODELS.items()},
    **{f"ami_{name}": ami_of_model(model) for name, model in MODELS.items()},
    "bcubed_precision": bcubed_precision,
    "bcubed_recall": bcubed_recall,
    "bcubed_f": f_of(bcubed_precision, bcubed_recall),
    "element_centric_similarity": element_centric_similarity,
}


@cache
def values_of_groups(function: Any, true: tuple[Any, ...], pred: tuple[Any, ...]) -> dict[str, Any]:
    """What a reference of groups says where every item has a group on both sides, groups in the order of labels."""
    sides = [[{i for i, x in enumerate(side) if x == label} for label in sorted(set(side))] for side in (true, pred)]
    found: dict[str, Any] = function(*sides, None)
    return found


def of_groups(function: Any, name: str, true: Labels, pred: Labels) -> Value:
    return float(values_of_groups(function, tuple(true), tuple(pred))[name])


COREFERENCE = ("muc", "coref_bcubed", "ceaf_m", "ceaf_e", "blanc", "lea", "exact_cluster")
for _name in (
    *(f"{of}_{side}" for of in COREFERENCE for side in ("precision", "recall", "f")),
    *("conll_f", "grouping_accuracy", "closest_cluster_precision", "closest_cluster_recall", "merge_distance"),
):
    REFERENCE[_name] = partial(of_groups, coreference.reference, _name)

for _name in (
    *("foreground_ari", "mean_best_overlap", "symmetric_best_dice", "panoptic_quality", "segmentation_quality"),
    *("recognition_quality", "object_ap_0.5", "object_f_0.5", "seg", "aggregated_jaccard", "vi_split_bits"),
    *("vi_merge_bits", "adapted_rand_error", "adapted_rand_error_self_pairs", "idp", "idr", "idf1"),
    *("association_accuracy", "diarization_error_rate", "diarization_purity", "diarization_coverage"),
    *("diarization_purity_f", "jaccard_error_rate", "jaccard_error_rate_pyannote"),
):
    REFERENCE[_name] = partial(of_groups, objects.reference, _name)


def reference(name: str, true: Labels, pred: Labels) -> float:
    """The value of a measure by its definition; nan without items."""
    return float(REFERENCE[name](true, pred)) if len(true) else math.nan
