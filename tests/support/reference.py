"""Every partition measure, written slowly and plainly from its definition.

Two label lists go in, one number comes out. Items, pairs and groups are enumerated, counts and ratios
are exact fractions, and floats appear only at a logarithm, a square root or the end. Nothing of the
package is used, so that agreement with it means something. ``REFERENCE`` maps registry names to functions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

from tests.support import association, objects
from tests.support.coreference import of_labels

Labels = Sequence[Hashable]


def labels_of(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """One (class, cluster) pair of labels for every item of a table."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]


def share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole)


def identical(true: Labels, pred: Labels) -> bool:
    """Whether every pair of items is joined by both sides or by neither."""
    return all((true[a] == true[b]) == (pred[a] == pred[b]) for a, b in combinations(range(len(true)), 2))


def or_rule(numerator: Fraction | float, denominator: Fraction | float, true: Labels, pred: Labels) -> float:
    """A similarity with the 0/0 rule: 1 for identical partitions, else 0."""
    if denominator == 0:
        return 1.0 if identical(true, pred) else 0.0
    return float(numerator / denominator)


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
    n, r_sizes, c_sizes = len(true), Counter(Counter(true).values()), Counter(Counter(pred).values())
    terms = []
    for r, r_times in r_sizes.items():
        for c, c_times in c_sizes.items():
            for x in range(max(1, r + c - n), min(r, c) + 1):
                probability = Fraction(math.comb(c, x) * math.comb(n - c, r - x), math.comb(n, r))
                weight = r_times * c_times * probability * Fraction(x, n)
                terms.append(float(weight) * math.log(Fraction(n * x, r * c)))
    return math.fsum(terms)


def homogeneity(true: Labels, pred: Labels) -> float:
    return 1.0 if len(set(true)) <= 1 else 1 - remaining_entropy(true, pred) / entropy(true)


def completeness(true: Labels, pred: Labels) -> float:
    return homogeneity(pred, true)


def v_measure(beta: float) -> Measure:
    def value(true: Labels, pred: Labels) -> float:
        if information_free(true, pred):  # h = c = 0
            return 0.0
        h, c = homogeneity(true, pred), completeness(true, pred)
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
    means = {"min": min(a, b), "geometric": math.sqrt(a * b), "arithmetic": (a + b) / 2, "max": max(a, b)}
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


# set matching ---------------------------------------------------------------------------------------


def overlaps(group: Hashable, own: Labels, other: Labels) -> Counter[Hashable]:
    """How many items of one group fall in each group of the other side."""
    return Counter(o for s, o in zip(own, other, strict=True) if s == group)


def best_overlaps(own: Labels, other: Labels) -> dict[Hashable, int]:
    return {group: max(overlaps(group, own, other).values()) for group in set(own)}


def purity(true: Labels, pred: Labels) -> Fraction:
    return share(sum(best_overlaps(pred, true).values()), len(true))


def inverse_purity(true: Labels, pred: Labels) -> Fraction:
    return purity(pred, true)


def weighted_f(alpha: Fraction, precision: Fraction, recall: Fraction) -> Fraction:
    if not precision or not recall:
        return Fraction(0)
    return 1 / (alpha / precision + (1 - alpha) / recall)


def f_of(precision: Exact, recall: Exact, alpha: Fraction = Fraction(1, 2)) -> Exact:
    return lambda true, pred: weighted_f(alpha, precision(true, pred), recall(true, pred))


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


def van_dongen_2n(true: Labels, pred: Labels) -> Fraction:
    return share(van_dongen(true, pred), 2 * len(true))


def van_dongen_normalized(true: Labels, pred: Labels) -> Fraction:
    most = 2 * len(true) - max(Counter(true).values()) - max(Counter(pred).values())
    return share(van_dongen(true, pred), most) if most else Fraction(0)


def best_matching(true: Labels, pred: Labels) -> int:
    """Items covered by the best one-to-one matching: every set of used groups is tried."""
    many, few = (true, pred) if len(set(true)) >= len(set(pred)) else (pred, true)
    covered: dict[frozenset[Hashable], int] = {frozenset(): 0}
    for group in set(many):
        step = dict(covered)
        for partner, x in overlaps(group, many, few).items():
            for used, total in covered.items():
                if partner not in used:
                    now = used | {partner}
                    step[now] = max(step.get(now, 0), total + x)
        covered = step
    return max(covered.values())


def one_to_one_accuracy(true: Labels, pred: Labels) -> Fraction:
    return share(best_matching(true, pred), len(true))


def greedy_one_to_one_accuracy(true: Labels, pred: Labels) -> Fraction:
    """Largest cell first; ties go to the lowest class, then the lowest cluster."""
    left = dict(Counter(zip(true, pred, strict=True)))
    covered = 0
    while left:
        class_, cluster = min(left, key=lambda cell: (-left[cell], cell))
        covered += left[class_, cluster]
        left = {(i, j): x for (i, j), x in left.items() if i != class_ and j != cluster}
    return share(covered, len(true))


def classification_error(true: Labels, pred: Labels) -> Fraction:
    return 1 - one_to_one_accuracy(true, pred)


def misclassification_index(true: Labels, pred: Labels) -> Fraction:
    return 1 - purity(true, pred)


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


def micro_precision(true: Labels, pred: Labels) -> Fraction:
    return micro_average(true, pred, of_given=True)


def micro_recall(true: Labels, pred: Labels) -> Fraction:
    return micro_average(true, pred, of_given=False)


def edit_distance(true: Labels, pred: Labels) -> int:
    """One merge for each cluster into the set of its majority class, one move for each stray item."""
    majority = majority_classes(true, pred)
    return len(majority) + sum(majority[j] != i for i, j in zip(true, pred, strict=True))


def edit_quality(true: Labels, pred: Labels) -> Fraction:
    return 1 - share(edit_distance(true, pred), len(true))


# pairs ----------------------------------------------------------------------------------------------


def pair_counts(true: Labels, pred: Labels) -> tuple[int, int, int, int]:
    """(SS, SD, DS, DD): same or different cluster first, same or different class second."""
    pairs = Counter((pred[a] == pred[b], true[a] == true[b]) for a, b in combinations(range(len(true)), 2))
    return pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]


def rand(true: Labels, pred: Labels) -> float:
    ss, sd, ds, dd = pair_counts(true, pred)
    return or_rule(Fraction(ss + dd), ss + sd + ds + dd, true, pred)


def adjusted_rand(true: Labels, pred: Labels) -> float:
    ss, sd, ds, dd = pair_counts(true, pred)
    if sd == ds == 0:
        return 1.0
    a, b, m = ss + sd, ss + ds, ss + sd + ds + dd
    by_chance = Fraction(a * b, m)
    return float((ss - by_chance) / (Fraction(a + b, 2) - by_chance))


def jaccard(true: Labels, pred: Labels) -> float:
    ss, sd, ds, _ = pair_counts(true, pred)
    return or_rule(Fraction(ss), ss + sd + ds, true, pred)


def fowlkes_mallows(true: Labels, pred: Labels) -> float:
    ss, sd, ds, _ = pair_counts(true, pred)
    return or_rule(ss, math.sqrt((ss + sd) * (ss + ds)), true, pred)


def mirkin(true: Labels, pred: Labels) -> int:
    n = range(len(true))
    return sum((true[a] == true[b]) != (pred[a] == pred[b]) for a in n for b in n)


def mirkin_normalized(true: Labels, pred: Labels) -> Fraction:
    return share(mirkin(true, pred), len(true) ** 2)


def hubert_gamma(true: Labels, pred: Labels) -> Fraction:
    counts = pair_counts(true, pred)
    return share(counts[0], sum(counts)) if sum(counts) else Fraction(0)


def hubert_gamma_normalized(true: Labels, pred: Labels) -> float:
    """Correlation, over the pairs, of being joined by one side and by the other."""
    ss, sd, ds, dd = pair_counts(true, pred)
    if sd == ds == 0:
        return 1.0
    square = (ss + sd) * (ss + ds) * (sd + dd) * (ds + dd)
    return (ss * dd - sd * ds) / math.sqrt(square) if square else 0.0


def minkowski_score(true: Labels, pred: Labels) -> float:
    ss, sd, ds, _ = pair_counts(true, pred)
    if sd == ds == 0:
        return 0.0
    return math.sqrt(Fraction(sd + ds, ss + ds)) if ss + ds else math.inf


def pair_precision(true: Labels, pred: Labels) -> Fraction:
    ss, sd, _, _ = pair_counts(true, pred)
    return Fraction(or_rule(Fraction(ss), ss + sd, true, pred)) if ss + sd == 0 else Fraction(ss, ss + sd)


def pair_recall(true: Labels, pred: Labels) -> Fraction:
    return pair_precision(pred, true)


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

Measure = Callable[[Labels, Labels], float]
Exact = Callable[[Labels, Labels], Fraction]

REFERENCE: dict[str, Callable[[Labels, Labels], float | Fraction | int]] = {
    "entropy_classes": lambda true, pred: entropy(true),
    "entropy_clusters": lambda true, pred: entropy(pred),
    "joint_entropy": joint_entropy,
    "conditional_entropy": remaining_entropy,
    "class_entropy": lambda true, pred: remaining_entropy(pred, true),
    "cluster_entropy": cluster_entropy,
    "homogeneity": homogeneity,
    "completeness": completeness,
    "v_measure": v_measure(1),
    "v_measure_beta_0.5": v_measure(0.5),
    "v_measure_beta_2": v_measure(2),
    "variation_of_information": vi,
    "normalized_vi_log_n": normalized_vi("log_n"),
    "normalized_vi_two_log_n": normalized_vi("two_log_n"),
    "normalized_vi_log_k": normalized_vi("log_k"),
    "normalized_vi_two_log_k": normalized_vi("two_log_k"),
    "normalized_vi_joint": normalized_vi("joint"),
    "nvi": nvi,
    "nvi_k": lambda true, pred: nvi(pred, true),
    "mutual_information": mutual_information,
    "expected_mutual_information": expected_mutual_information,
    "nmi_min": nmi("min"),
    "nmi_geometric": nmi("geometric"),
    "nmi_arithmetic": nmi("arithmetic"),
    "nmi_max": nmi("max"),
    "nmi_joint": nmi("joint"),
    "ami_min": ami("min"),
    "ami_geometric": ami("geometric"),
    "ami_arithmetic": ami("arithmetic"),
    "ami_max": ami("max"),
    "q0": q0,
    "q0_bits": lambda true, pred: q0(true, pred) / math.log(2),
    "q2": q2,
    "purity": purity,
    "inverse_purity": inverse_purity,
    "purity_f": f_of(purity, inverse_purity),
    "clustering_f": clustering_f,
    "larsen_l": larsen_l,
    "van_dongen": van_dongen,
    "van_dongen_2n": van_dongen_2n,
    "van_dongen_normalized": van_dongen_normalized,
    "many_to_one_accuracy": purity,
    "greedy_one_to_one_accuracy": greedy_one_to_one_accuracy,
    "one_to_one_accuracy": one_to_one_accuracy,
    "classification_error": classification_error,
    "meila_heckerman_h": classification_error,
    "misclassification_index": misclassification_index,
    "micro_precision": micro_precision,
    "micro_recall": micro_recall,
    "edit_distance": edit_distance,
    "edit_quality": edit_quality,
    "rand": rand,
    "adjusted_rand": adjusted_rand,
    "jaccard": jaccard,
    "fowlkes_mallows": fowlkes_mallows,
    "mirkin": mirkin,
    "mirkin_normalized": mirkin_normalized,
    "hubert_gamma": hubert_gamma,
    "hubert_gamma_normalized": hubert_gamma_normalized,
    "minkowski_score": minkowski_score,
    "pair_precision": pair_precision,
    "pair_recall": pair_recall,
    "pair_f": f_of(pair_precision, pair_recall),
    "bcubed_precision": bcubed_precision,
    "bcubed_recall": bcubed_recall,
    "bcubed_f": f_of(bcubed_precision, bcubed_recall),
    "element_centric_similarity": element_centric_similarity,
    **association.REFERENCE,
}


COREFERENCE = ("muc", "coref_bcubed", "ceaf_m", "ceaf_e", "blanc", "lea", "exact_cluster")
for _name in (
    *(f"{of}_{side}" for of in COREFERENCE for side in ("precision", "recall", "f")),
    *("conll_f", "grouping_accuracy", "closest_cluster_precision", "closest_cluster_recall", "merge_distance"),
):
    REFERENCE[_name] = partial(of_labels, _name)

for _name in (
    *("foreground_ari", "mean_best_overlap", "symmetric_best_dice", "panoptic_quality", "segmentation_quality"),
    *("recognition_quality", "object_ap_0.5", "object_f_0.5", "seg", "aggregated_jaccard", "vi_split_bits"),
    *("vi_merge_bits", "adapted_rand_error", "adapted_rand_error_self_pairs", "idp", "idr", "idf1"),
    *("association_accuracy", "diarization_error_rate", "jaccard_error_rate"),
):
    REFERENCE[_name] = partial(objects.of_labels, _name)


def reference(name: str, true: Labels, pred: Labels) -> float:
    """The value of a measure by its definition; nan without items."""
    return float(REFERENCE[name](true, pred)) if len(true) else math.nan
