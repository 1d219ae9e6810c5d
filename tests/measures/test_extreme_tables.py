"""Tables to 2^52 items, of extreme skew, near independence and near identity, within 1e-9 of 50 digits."""

from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import pytest
import torch

import torchclusteval as tce
from tests.support.billions import Table, entropy, exact_codes, itself, numbers, pairs, ratio
from tests.support.reference import estimated_log_tables
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import MEASURES, ContingencyTables


def outer(classes: list[int], clusters: list[int], scale: int) -> Table:
    """Independent sides but for some items."""
    return [[r * c * scale + (5 * i + 3 * j) % 7 - 3 for j, c in enumerate(clusters)] for i, r in enumerate(classes)]


TABLES = {
    **{f"one large cell, 1e{k}": [[1, 1], [1, 10**k]] for k in (3, 7, 11, 15)},
    **{f"one large cluster, 1e{k}": [[10**k, 1], [10**k // 3, 2]] for k in (3, 7, 12, 15)},
    "skewed clusters": [[10**15 - 1, 1], [96 * 10**13, 2]],
    "skewed classes": [[10**15 - 1, 96 * 10**13], [1, 2]],
    "an empty cell": [[10**14, 3, 1], [10**13, 1, 0], [7 * 10**13, 0, 2]],
    "near independence": outer([7, 11, 13], [2, 5, 3], 10**11),
    "near independence, an empty cell": [[*row, int(i == 0)] for i, row in enumerate(outer([7, 11], [2, 5], 10**13))],
    "equal but for three items": [[2**52 - 1, 2**51], [2**51 + 3, 2**50]],
    "identity but for four items": [[2**51, 1, 0], [0, 2**50, 2], [1, 0, 2**49]],
    "one of each magnitude": [[10**15, 10**12, 10**9], [10**6, 10**3, 1], [0, 10**14, 10**5]],
    "thousands": [[999, 1], [960, 2]],
    "a trillion items": [[4 * 10**11, 10**11, 7], [3, 25 * 10**10 + 1, 5 * 10**10 - 11], [0, 5, 2 * 10**11 - 5]],
}


def exact(table: Table) -> dict[str, Any]:
    v = numbers(table)
    n, classes, clusters = v["n"], entropy(v["r"], v["n"]), entropy(v["k"], v["n"])
    joint = entropy([x for row in table for x in row], n)
    shared, left, split = classes + clusters - joint, joint - clusters, joint - classes
    arranged, of_classes, of_clusters = arrangements(v)
    code = left + histograms(v["k"], v["r"]) / n
    return {
        "entropy_classes": classes,
        "entropy_clusters": clusters,
        "joint_entropy": joint,
        "conditional_entropy": left,
        "class_entropy": split,
        "cluster_entropy": left / mpmath.log(len(v["r"])),
        "mutual_information": shared,
        "homogeneity": shared / classes,
        "completeness": shared / clusters,
        "v_measure": 2 * shared / (classes + clusters),
        "v_measure_beta_2": 3 * shared / (2 * clusters + classes),
        "nmi_min": shared / min(classes, clusters),
        "nmi_arithmetic": 2 * shared / (classes + clusters),
        "nmi_geometric": shared / mpmath.sqrt(classes * clusters),
        "nmi_max": shared / max(classes, clusters),
        "nmi_joint": shared / joint,
        "variation_of_information": left + split,
        "nvi": (left + split) / classes,
        "information_distance": max(left, split),
        "normalized_information_distance": max(left, split) / max(classes, clusters),
        "nvi_split": split / joint,
        "nvi_merge": left / joint,
        "q0": code,
        "q2": histograms(v["r"], v["r"]) / n / code,
        "microcanonical_mutual_information": arranged,
        "microcanonical_nmi_asymmetric": arranged / of_classes,
        "microcanonical_nmi_mean": 2 * arranged / (of_classes + of_clusters),
        **links(v),
    }


def arrangements(v: dict[str, Any]) -> list[Any]:
    """Both sides, and each one with itself."""
    sides = [v["n"]], [x for row in v["t"] for x in row], v["r"], v["k"]
    whole, joint, classes, clusters = (mpmath.fsum(mpmath.loggamma(x + 1) for x in sizes) for sizes in sides)
    return [whole + joint - classes - clusters, whole - classes, whole - clusters]


def histograms(sizes: list[int], classes: list[int]) -> Any:
    others = len(classes) - 1
    return mpmath.fsum(log_binomial(x, others + 1) for x in sizes)


def log_binomial(x: Any, b: Any) -> Any:
    return mpmath.loggamma(x + b) - mpmath.loggamma(b) - mpmath.loggamma(x + 1)


def links(v: dict[str, Any]) -> dict[str, Any]:
    every, classes, clusters = pairs(v["n"]), sum(map(pairs, v["r"])), sum(map(pairs, v["k"]))
    sides = [(ratio(v["a"], joined), ratio(v["d"], every - joined)) for joined in (clusters, classes)]
    f = [2 * p * r / (p + r) if p + r else 0 for p, r in zip(*sides, strict=True)]
    means = zip(("precision", "recall", "f"), (*sides, f), strict=True)
    return {f"blanc_{name}": (within + between) / 2 for name, (within, between) in means}


def flat(v: dict[str, Any]) -> list[Any]:
    """Both sides, and each one with itself: the estimated logarithm of the number of tables."""
    one_way = partial(estimated_log_tables, gamma=mpmath.loggamma, one=mpmath.mpf(1))
    sides = [(v["r"], v["k"]), (v["r"], v["r"]), (v["k"], v["k"])]
    return [(one_way(rows, columns) + one_way(columns, rows)) / 2 for rows, columns in sides]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TABLES)
def test_entropies_arrangements_and_links(name: str, layout: str, device: torch.device) -> None:
    with mpmath.workdps(50):
        expected = {key: float(value) for key, value in exact(TABLES[name]).items()}
    found = tce.evaluate_tables(in_layout(torch.tensor(TABLES[name], device=device), layout), [*expected])
    assert {key: x.item() for key, x in found.items()} == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("name", [x for x in TABLES if x != "one large cell, 1e3"])  # whose tables are counted
def test_flat_reduction(name: str) -> None:
    with mpmath.workdps(50):
        v = numbers(TABLES[name])
        shared, *own = (information - cost for information, cost in zip(arrangements(v), flat(v), strict=True))
        shares = [2 * shared / x if x > 0 else 0 for x in (2 * own[0], sum(own))]
        expected = [float(x) for x in (shared, *shares)]
    names = ["reduced_mutual_information_flat", "reduced_flat_nmi_asymmetric", "reduced_flat_nmi_mean"]
    found = tce.evaluate_tables(tce.ContingencyTables(TABLES[name]), names)
    assert [found[key].item() for key in names] == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("name", ["one large cluster, 1e12", "skewed clusters", "one of each magnitude", "thousands"])
def test_reduced_information(name: str) -> None:
    table = TABLES[name]
    tables = tce.ContingencyTables(table)
    with mpmath.workdps(50):
        found, own = exact_codes(table)[1], exact_codes(itself(numbers(table)["r"]))[1]
        expected = [float(x) for x in (found, found / own)]
    values = [MEASURES[key](tables).item() for key in ("reduced_mutual_information", "reduced_nmi_asymmetric")]
    assert values == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_a_look_at_the_values(layout: str, device: torch.device) -> None:
    """As in graphs, which know no value when they are made; tables of one batch."""
    counts = torch.stack([torch.tensor(x, device=device) for x in TABLES.values() if len(x) == len(x[0]) == 2])
    function = MEASURES["mutual_information"].function
    compiled = torch.compile(function, fullgraph=True, backend="eager")(in_layout(counts, layout))
    assert torch.allclose(compiled, function(in_layout(counts, layout)), rtol=1e-9, atol=0)


def test_independent_sides_have_exactly_no_association() -> None:
    tables = tce.ContingencyTables(torch.outer(torch.tensor([7, 11, 13]), torch.tensor([2, 3, 5])) * 10**6)
    for name in ("chi_squared", "cramers_v", "tschuprows_t"):
        assert MEASURES[name](tables).item() == 0.0


@pytest.mark.parametrize("cells", [[2**53, 1, 1, 1], [2**53 - 2, 1, 1, 1], [2**56 + 1, 3, 5, 7]])
def test_pairs_of_more_items_than_float64_tells_apart(cells: list[int]) -> None:
    a, b, c, d = cells
    joined, wanted, both = (sum(x * (x - 1) for x in some) for some in ((a + c, b + d), (a + b, c + d), cells))
    by_chance = Fraction(joined * wanted, sum(cells) * (sum(cells) - 1))
    exact = float((both - by_chance) / (Fraction(joined + wanted, 2) - by_chance))
    for layout in (ContingencyTables([[a, b], [c, d]]), ContingencyTables([[a, b], [c, d]]).to_sparse()):
        assert tce.evaluate_tables(layout, "ari")["ari"].item() == pytest.approx(exact, rel=1e-14)
