"""Measures of a billion items against 50 digits, within 1e-12 of the largest term."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import pytest
import torch

import torchclusteval as tce
from tests.support.association import INDICES, SIMILARITIES
from tests.support.billions import (
    LARGE,
    bell_share,
    chi_squared,
    entropy,
    exact_codes,
    itself,
    large_tables,
    lerman,
    numbers,
    of_pairs,
    projectors,
    ratio,
    stirling_share,
    tau,
)
from tests.support.exact_information import exact_share
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import MEASURES

Numbers = dict[str, Any]


def turned(v: Numbers) -> Numbers:
    return numbers([list(column) for column in zip(*v["t"], strict=True)])


def root(*factors: Any) -> mpmath.mpf:
    return mpmath.sqrt(math.prod(factors))


def best_matching(v: Numbers, weight: Callable[[int, int], mpmath.mpf]) -> mpmath.mpf:
    """The largest sum of weights over all matchings of classes and clusters, by enumeration; 4 x 5 groups."""
    rows, columns = range(len(v["r"])), range(len(v["k"]))
    return max(mpmath.fsum(weight(i, j) for i, j in zip(rows, order, strict=True))
               for order in itertools.permutations(columns, len(rows)))  # fmt: skip


def pair_sets(v: Numbers, simplified: bool = False) -> mpmath.mpf:
    r, k = sorted(v["r"], reverse=True), sorted(v["k"], reverse=True)
    found = best_matching(v, lambda i, j: ratio(v["t"][i][j], max(v["r"][i], v["k"][j])) if v["t"][i][j] else 0)
    by_chance = mpmath.fsum(ratio(x * y, v["n"] * max(x, y)) for x, y in zip(r, k, strict=False))
    most = max(sum(x > 0 for x in side) for side in (r, k))
    chance = 1 if simplified else by_chance
    return max((found - chance) / (most - chance), mpmath.mpf(0))


def clustering_accuracy(v: Numbers) -> mpmath.mpf:
    classes = len(v["r"])
    wide = v if len(v["k"]) >= classes else numbers([[*row, *[0] * (classes - len(v["k"]))] for row in v["t"]])
    return (best_matching(wide, lambda i, j: ratio(wide["t"][i][j], wide["r"][i])) - 1) / (classes - 1)


def pivoted_accuracy(v: Numbers) -> mpmath.mpf:
    most = max(sum(x > 0 for x in side) for side in (v["r"], v["k"]))
    return (most * ratio(best_matching(v, lambda i, j: v["t"][i][j]), v["n"]) - 1) / (most - 1)


def guessing(v: Numbers) -> mpmath.mpf:
    right = sum(map(max, zip(*v["t"], strict=True)))
    return ratio(right - max(v["r"]), v["n"] - max(v["r"]))


def squares(v: Numbers) -> mpmath.mpf:
    cells, rows, columns = (sum(x * x for x in sizes) for sizes in (itertools.chain(*v["t"]), v["r"], v["k"]))
    return cells / root(mpmath.mpf(rows), columns)


def precision(v: Numbers) -> mpmath.mpf:
    return mpmath.fsum(ratio(x * x, v["k"][j]) for row in v["t"] for j, x in enumerate(row) if x) / v["n"]


EXACT: dict[str, Callable[[Numbers], Any]] = {
    **{name: partial(of_pairs, name) for name in (SIMILARITIES.keys() | INDICES.keys()) - {"pearson_unrooted"}},
    "bcubed_precision": precision,
    "bcubed_recall": lambda v: precision(turned(v)),
    "southwood": lambda v: ratio(v["a"], v["b"] + v["c"]),
    "goodman_kruskal_tau": tau,
    "frobenius_distance": projectors,
    "cramers_v": lambda v: mpmath.sqrt(chi_squared(v) / v["n"] / 3),
    "rv_coefficient": squares,
    "psi": pair_sets,
    "spsi": lambda v: pair_sets(v, simplified=True),
    "nca": clustering_accuracy,
    "nca_swapped": lambda v: clustering_accuracy(turned(v)),
    "npa": pivoted_accuracy,
    "class_projection_distance": lambda v: v["n"] - sum(map(max, v["t"])),
    "cluster_projection_distance": lambda v: v["n"] - sum(map(max, zip(*v["t"], strict=True))),
    "projection_number": lambda v: sum(map(max, v["t"])),
    "tschuprows_t": lambda v: root(chi_squared(v) / v["n"] / root(len(v["r"]) - 1, len(v["k"]) - 1)),
    "goodman_kruskal_lambda": guessing,
    "goodman_kruskal_lambda_swapped": lambda v: guessing(turned(v)),
    "goodman_kruskal_tau_swapped": lambda v: tau(turned(v)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pairs_matching_and_association(layout: str, device: torch.device) -> None:
    counts = large_tables()
    found = tce.evaluate_tables(in_layout(counts.to(device), layout), [*EXACT, "pearson_unrooted", "lerman_normalized"])
    with mpmath.workdps(50):
        for at, table in enumerate(counts.tolist()):
            v = numbers(table)
            for name, exact in EXACT.items():
                assert found[name][at].item() == pytest.approx(float(exact(v)), rel=1e-12, abs=1e-12), (name, at)
            # of determinants: within 1e-12 of the largest term, SS DD
            determinant, margins = (
                v["a"] * v["d"] - v["b"] * v["c"],
                math.prod((v["a"] + v["b"], v["a"] + v["c"], v["d"] + v["b"], v["d"] + v["c"])),
            )
            tolerance = 1e-12 * float(ratio(v["a"] * v["d"], margins))
            assert found["pearson_unrooted"][at].item() == pytest.approx(
                float(ratio(determinant, margins)), abs=tolerance
            )
            one, two = (lerman(numbers(itself(sizes))) for sizes in (v["r"], v["k"]))
            expected = float(lerman(v) / root(one, two))
            assert found["lerman_normalized"][at].item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unbounded_values_at_a_billion_items(layout: str, device: torch.device) -> None:
    """Against their largest term: N for chi-squared, the mean of SS for Lerman's index."""
    counts = large_tables()
    tables = in_layout(counts.to(device), layout)
    found = MEASURES["chi_squared"](tables).tolist(), MEASURES["lerman"](tables).tolist()
    with mpmath.workdps(50):
        for at, table in enumerate(counts.tolist()):
            v = numbers(table)
            assert found[0][at] == pytest.approx(float(chi_squared(v)), rel=1e-12, abs=1e-9)
            pairs_joined = float(v["a"] + v["b"])
            spread = abs(float(v["a"]) / float(lerman(v) or 1))
            assert found[1][at] == pytest.approx(float(lerman(v)), rel=1e-9, abs=1e-12 * pairs_joined / spread + 1e-9)


def expected_term(r: int, c: int, n: int) -> mpmath.mpf:
    """Mean of ``x / n log(x n / (r c))`` over the hypergeometric x: its terms, or its first moments where many."""
    mean = ratio(r * c, n)
    variance = mean * (n - r) * (n - c) / (mpmath.mpf(n) * (n - 1))
    if variance <= 3000:
        return exact_share(r, c, n)[0]
    third = variance * (n - 2 * r) * (n - 2 * c) / (mpmath.mpf(n) * (n - 2))
    return (variance / (2 * mean) - third / (6 * mean**2) + variance**2 / (4 * mean**3)) / n


def expected_information(v: Numbers) -> mpmath.mpf:
    return mpmath.fsum(expected_term(r, c, v["n"]) for r in v["r"] for c in v["k"] if r and c)


@pytest.mark.slow
def test_information() -> None:
    counts = large_tables()[[0, 4, 5]]
    names = ["information_distance", "normalized_information_distance", "nvi_split", "nvi_merge"]
    names += ["ami_classes", "ami_clusters", "adjusted_information"]
    names += ["adjusted_information_asymmetric", "adjusted_information_mean"]
    found = [tce.evaluate_tables(in_layout(counts, layout), names) for layout in LAYOUTS]
    with mpmath.workdps(50):
        for at, table in enumerate(counts.tolist()):
            v = numbers(table)
            classes, clusters, joint = (entropy(x, v["n"]) for x in (v["r"], v["k"], [x for row in table for x in row]))
            information, mean = classes + clusters - joint, expected_information(v)
            own = [classes - expected_information(numbers(itself(v["r"]))),
                   clusters - expected_information(numbers(itself(v["k"])))]  # fmt: skip
            distance = joint - min(classes, clusters)
            expected = {
                "information_distance": distance,
                "normalized_information_distance": distance / max(classes, clusters),
                "nvi_split": (joint - classes) / joint,
                "nvi_merge": (joint - clusters) / joint,
                "ami_classes": (information - mean) / (classes - mean),
                "ami_clusters": (information - mean) / (clusters - mean),
                "adjusted_information": information - mean,
                "adjusted_information_asymmetric": (information - mean) / own[0],
                "adjusted_information_mean": 2 * (information - mean) / sum(own),
            }
            for name, value in expected.items():
                close = pytest.approx(float(value), rel=1e-12, abs=1e-12)
                assert [scores[name][at].item() for scores in found] == [close] * 2, (name, at)


def test_random_partitions() -> None:
    """The Rand index corrected under the models of Gates and Ahn; the shares of joined pairs to more digits above."""
    v = numbers(LARGE)
    n, every = v["n"], v["a"] + v["b"] + v["c"] + v["d"]
    shares = {"num": [stirling_share(n, len(side)) for side in (v["r"], v["k"])], "all": [bell_share(n)] * 2}
    with mpmath.workdps(50):
        wanted, wrong = ratio(v["a"] + v["b"], every), ratio(v["b"] + v["c"], every)
        for model, (classes, clusters) in shares.items():
            for name, p in ((f"adjusted_rand_{model}", classes), (f"adjusted_rand_{model}_one_sided", wanted)):
                apart = p + clusters - 2 * mpmath.mpf(p) * clusters  # 1 less the mean index
                value = MEASURES[name](tce.ContingencyTables(LARGE)).item()
                assert value == pytest.approx(float(1 - wrong / apart), rel=1e-12), name


@pytest.mark.slow
def test_normalised_codes() -> None:
    """Quotients of code lengths, each within 1e-12 of its largest term."""
    table = LARGE
    sides = [itself([sum(row) for row in table]), itself([sum(column) for column in zip(*table, strict=True)])]
    tables = tce.ContingencyTables(table)
    with mpmath.workdps(50):
        here, there, *own = (exact_codes(x) for x in (table, [list(x) for x in zip(*table, strict=True)], *sides))
        for at, name in ((0, "microcanonical"), (1, "reduced")):
            expected = here[at] / own[0][at], (here[at] + there[at]) / (own[0][at] + own[1][at])
            for value, norm in zip(expected, ("asymmetric", "mean"), strict=True):
                found = MEASURES[f"{name}_nmi_{norm}"](tables).item()
                assert found == pytest.approx(float(value), rel=1e-12, abs=1e-12), (name, norm)
