"""What the tests of overlapping clusterings share: inputs, scores to compare, and every measure by its definition."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tests.support.coreference import harmonic
from torchclusteval.overlap import Memberships, evaluate_overlapping

Groups = list[list[int]]


def lists(n: int, *, groups: int = 4, least: int = 0, most: int = 3) -> st.SearchStrategy[Groups]:
    """Groups of each of ``n`` items, possibly with repeats."""
    return st.lists(st.lists(st.integers(0, groups - 1), min_size=least, max_size=most), min_size=n, max_size=n)


def two_sides(*, least: int = 0, n: int = 8) -> st.SearchStrategy[tuple[Groups, Groups]]:
    return st.integers(1, n).flatmap(lambda size: st.tuples(lists(size, least=least), lists(size, least=least)))


def both(true: Groups, pred: Groups) -> tuple[Memberships, Memberships]:
    return Memberships.from_lists(true), Memberships.from_lists(pred)


def random_lists(n: int, groups: int, seed: int, least: int = 1, most: int = 3) -> Groups:
    random = np.random.default_rng(seed)
    return [random.choice(groups, random.integers(least, most + 1), replace=False).tolist() for _ in range(n)]


def values(true: Memberships, pred: Memberships, **options: Any) -> dict[str, torch.Tensor]:
    return dict(evaluate_overlapping(true, pred, "all", **options))


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float = 1e-12) -> None:
    for name in expected:
        torch.testing.assert_close(
            found[name], expected[name], rtol=0, atol=tolerance, equal_nan=True, msg=partial("{}: {}".format, name)
        )


# the definitions, one item and pair at a time ----------------------------------------------------------


def mean(values: list[Fraction]) -> Fraction | None:
    return sum(values, Fraction()) / len(values) if values else None


def slow_bcubed(own: list[set[int]], other: list[set[int]]) -> Fraction:
    """Precision by its definition, if ``own`` are the clusters and ``other`` the classes."""
    items = range(len(own))
    common = [[(len(own[a] & own[b]), len(other[a] & other[b])) for b in items] for a in items]
    values = [mean([Fraction(min(n, m), n) for n, m in row if n]) for row in common]
    found = mean([value for value in values if value is not None])
    return Fraction(1) if found is None else found


def members(sets: list[set[int]]) -> list[set[int]]:
    return [{i for i, groups in enumerate(sets) if group in groups} for group in sorted(set().union(*sets))]


def slow_purity(own: list[set[int]], other: list[set[int]]) -> Fraction:
    sizes = sum(len(group) for group in members(own))
    best = sum(max((len(group & wanted) for wanted in members(other)), default=0) for group in members(own))
    return Fraction(best, sizes) if sizes else Fraction(1)


def slow_set_f(true: list[set[int]], pred: list[set[int]]) -> Fraction:
    sizes = sum(len(group) for group in members(true))
    best = [
        len(group)
        * max(
            (Fraction(2 * len(group & found), len(group) + len(found)) for found in members(pred)), default=Fraction()
        )
        for group in members(true)
    ]
    return sum(best, Fraction()) / sizes if sizes else Fraction(not members(pred))


def equal(j: int, k: int) -> Fraction:
    return Fraction(j == k)


def smaller_over_larger(j: int, k: int) -> Fraction:
    return Fraction(min(j, k), max(j, k)) if j or k else Fraction(1)


def slow_omega(
    true: list[set[int]], pred: list[set[int]], agreement: Callable[[int, int], Fraction]
) -> tuple[Fraction, Fraction]:
    """Mean agreement of the pairs of items, and with that of a pair on one side and a pair on the other as expected."""
    pairs = list(itertools.combinations(range(len(true)), 2))
    if not pairs:
        return Fraction(1), Fraction(1)
    shared = [[len(side[a] & side[b]) for a, b in pairs] for side in (true, pred)]
    found = sum(map(agreement, *shared), Fraction()) / len(pairs)
    one, other = map(Counter, shared)
    expected = sum((one[j] * other[k] * agreement(j, k) for j in one for k in other), Fraction()) / len(pairs) ** 2
    return found, Fraction(1) if expected == 1 else (found - expected) / (1 - expected)


def h(*counts: int, n: int) -> float:
    return -math.fsum(count / n * math.log(count / n) for count in counts if count)


def slow_left(own: list[set[int]], other: list[set[int]], n: int) -> list[tuple[float, float]]:
    """Entropy of each group, and what is left of it when the best group of the other side is known."""
    found = []
    for group in own:
        alone, left = h(len(group), n - len(group), n=n), [h(len(group), n - len(group), n=n)]
        for known in other:
            cells = (len(group & known), n - len(group | known), len(group - known), len(known - group))
            if h(*cells[:2], n=n) > h(*cells[2:], n=n):
                left.append(h(*cells, n=n) - h(len(known), n - len(known), n=n))
        found.append((alone, min(left)))
    return found


def slow_nmi(true: list[set[int]], pred: list[set[int]]) -> tuple[float, float]:
    n, own, other = len(true), members(true), members(pred)
    if not own or not other:
        return (1.0, 1.0) if own == other else (0.0, 0.0)
    loss, entropy, known = [], [], []
    for here, there in ((own, other), (other, own)):
        values = slow_left(here, there, n)
        full = [float(len(group) == n and group not in there) for group in here]
        shares = [left / alone if alone else at for (alone, left), at in zip(values, full, strict=True)]
        loss.append(math.fsum(shares) / len(here))
        entropy.append(math.fsum(alone for alone, _ in values))
        known.append(math.fsum(alone - left for alone, left in values))
    return 1 - sum(loss) / 2, sum(known) / 2 / max(entropy) if max(entropy) else 1.0


def slow_matches(true: list[set[int]], pred: list[set[int]]) -> dict[str, float]:
    """Measures that match single groups; the best matchings by SciPy."""
    classes, clusters = members(true), members(pred)
    common = [[len(one & other) for other in clusters] for one in classes]
    total = sum(map(sum, common))
    ppv = float(not classes and not clusters)
    if total:
        ppv = sum(max(column) for column in zip(*common, strict=True)) / total
    geometric = {"geometric_ppv": ppv, "geometric_accuracy": math.sqrt(float(slow_purity(true, pred)) * ppv)}
    if not classes or not clusters:
        empty = float(classes == clusters)
        return {"average_f1": empty, "nf1": empty, "maximum_matching_ratio": empty, **geometric}
    f = np.array([[2 * len(a & b) / (len(a) + len(b)) for b in clusters] for a in classes])
    weights = np.array([[len(a & b) ** 2 / (len(a) * len(b)) for b in clusters] for a in classes])
    ties, values = np.zeros_like(f), []
    for j, column in enumerate(zip(*common, strict=True)):
        best = [i for i in range(len(classes)) if column[i] == max(column) > 0]
        values.append(max((f[i, j] for i in best), default=0.0))
        for i in best:
            ties[i, j] = f[i, j] == values[-1]
    covered = ties[linear_sum_assignment(ties, maximize=True)].sum()
    return {
        "average_f1": (f.max(1).mean() + f.max(0).mean()) / 2,
        "nf1": np.mean(values) * covered / len(classes) * covered / len(clusters),
        "maximum_matching_ratio": weights[linear_sum_assignment(weights, maximize=True)].sum() / len(classes),
        **geometric,
    }


def slow_pageranks(
    groups: list[set[int]], alpha: float = 0.9, weights: Callable[[int], float] = lambda group: 1.0
) -> np.ndarray:
    """Personalised PageRank of all items, ``(N, N)``, with one step as a matrix of items by items."""
    n = len(groups)
    step = np.zeros((n, n))
    for i, own in enumerate(groups):
        step[i, i] = float(not own)
        for group in own:
            inside = [j for j in range(n) if group in groups[j]]
            step[i, inside] += weights(group) / sum(map(weights, own)) / len(inside)
    inverse: np.ndarray = (1 - alpha) * np.linalg.inv(np.eye(n) - alpha * step)
    return inverse


def slow_element_centric(true: list[set[int]], pred: list[set[int]]) -> np.ndarray:
    values: np.ndarray = 1 - abs(slow_pageranks(true) - slow_pageranks(pred)).sum(1) / 1.8
    return values


def slow_numbers_and_sizes(true: list[set[int]], pred: list[set[int]]) -> tuple[float, float]:
    """Mutual information of the numbers of groups of an item, and what the sizes of the groups have in common."""
    n, joint = len(true), Counter((len(a), len(b)) for a, b in zip(true, pred, strict=True))
    one, other = (Counter(map(len, side)) for side in (true, pred))
    information = math.fsum(m / n * math.log(m * n / (one[a] * other[b])) for (a, b), m in joint.items())
    sizes = [Counter(map(len, members(side))) for side in (true, pred)]
    totals = [max(sum(side.values()), 1) for side in sizes]
    common = sum(min(Fraction(sizes[0][x], totals[0]), Fraction(sizes[1][x], totals[1])) for x in sizes[0])
    return information, float(common) / 2 if sizes[0] or sizes[1] else 0.5


def slow(true: Groups, pred: Groups) -> dict[str, float]:
    classes, clusters = [set(groups) for groups in true], [set(groups) for groups in pred]
    precision, recall = slow_bcubed(clusters, classes), slow_bcubed(classes, clusters)
    purity, inverse = slow_purity(clusters, classes), slow_purity(classes, clusters)
    observed, omega = slow_omega(classes, clusters, equal)
    lfk, largest = slow_nmi(classes, clusters)
    quality, closeness = slow_numbers_and_sizes(classes, clusters)
    exact: dict[str, Fraction | float] = {
        "extended_bcubed_precision": precision,
        "extended_bcubed_recall": recall,
        "extended_bcubed_f": harmonic(precision, recall),
        "overlap_purity": purity,
        "overlap_inverse_purity": inverse,
        "overlap_purity_f": harmonic(purity, inverse),
        "overlap_set_f": slow_set_f(classes, clusters),
        "omega_observed": observed,
        "omega_index": omega,
        "overlapping_nmi_lfk": lfk,
        "overlapping_nmi_max": largest,
        "fuzzy_omega": slow_omega(classes, clusters, smaller_over_larger)[1],
        "overlap_element_centric": slow_element_centric(classes, clusters).mean(),
        "overlap_quality": quality,
        "partition_closeness_simple": closeness,
        **slow_matches(classes, clusters),
    }
    return {name: float(value) for name, value in exact.items()}
