"""What the tests of overlapping clusterings share: inputs, scores to compare, and every measure by its definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

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
    return dict(evaluate_overlapping(true, pred, **options))


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
    values = [
        mean(
            [
                Fraction(min(len(own[a] & own[b]), len(other[a] & other[b])), len(own[a] & own[b]))
                for b in items
                if own[a] & own[b]
            ]
        )
        for a in items
    ]
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


def slow_omega(true: list[set[int]], pred: list[set[int]]) -> tuple[Fraction, Fraction]:
    shared = [(len(true[a] & true[b]), len(pred[a] & pred[b])) for a, b in itertools.combinations(range(len(true)), 2)]
    if not shared:
        return Fraction(1), Fraction(1)
    observed = Fraction(sum(a == b for a, b in shared), len(shared))
    by_true, by_pred = Counter(a for a, _ in shared), Counter(b for _, b in shared)
    expected = Fraction(sum(by_true[j] * by_pred[j] for j in by_true), len(shared) ** 2)
    return observed, Fraction(1) if expected == 1 else (observed - expected) / (1 - expected)


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


def harmonic(p: Fraction, r: Fraction) -> Fraction:
    return 2 * p * r / (p + r) if p + r else Fraction()


def slow(true: Groups, pred: Groups) -> dict[str, float]:
    classes, clusters = [set(groups) for groups in true], [set(groups) for groups in pred]
    precision, recall = slow_bcubed(clusters, classes), slow_bcubed(classes, clusters)
    purity, inverse = slow_purity(clusters, classes), slow_purity(classes, clusters)
    observed, omega = slow_omega(classes, clusters)
    lfk, largest = slow_nmi(classes, clusters)
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
    }
    return {name: float(value) for name, value in exact.items()}
