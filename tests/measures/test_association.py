"""Indices of pairs and association: large tables in exact arithmetic, options, names of other libraries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import MEASURES, ContingencyTables, measures

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
Table = Sequence[Sequence[int]]


def large_tables() -> Tensor:
    """A billion items each: drawn at random, almost independent, and almost identical sides."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, 10**8, (3, 4, 5), generator=generator)
    rows, columns = torch.tensor([7, 11, 13, 19]), torch.tensor([2, 3, 5, 7, 3])
    independent = torch.outer(rows, columns) * 10**6 + torch.randint(0, 3, (4, 5), generator=generator)
    identical = torch.zeros(4, 5, dtype=torch.int64)
    identical[range(4), range(4)] = torch.tensor([10**9, 3 * 10**7, 10**5, 2])
    identical[0, 4], identical[2, 1] = 1, 2
    return torch.stack([*drawn, torch.outer(rows, columns) * 10**6, independent, identical])


def pairs(count: int) -> int:
    return count * (count - 1) // 2


def numbers(table: Table) -> dict[str, Any]:
    """Exact numbers of pairs, sizes and sums of a table."""
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    a = sum(pairs(x) for row in table for x in row)
    b, c = sum(map(pairs, rows)) - a, sum(map(pairs, columns)) - a
    n = sum(rows)
    return {"a": a, "b": b, "c": c, "d": pairs(n) - a - b - c, "r": rows, "k": columns, "n": n, "t": table}


def ratio(x: Any, y: Any) -> mpmath.mpf:
    return mpmath.mpf(x) / mpmath.mpf(y)


def chi_squared(v: dict[str, Any]) -> mpmath.mpf:
    cells = itertools.product(range(len(v["r"])), range(len(v["k"])))
    expected = {(i, j): ratio(v["r"][i] * v["k"][j], v["n"]) for i, j in cells if v["r"][i] and v["k"][j]}
    return mpmath.fsum((v["t"][i][j] - e) ** 2 / e for (i, j), e in expected.items())


def lerman(v: dict[str, Any]) -> mpmath.mpf:
    n = v["n"]

    def falling(sizes: list[int], power: int) -> int:
        return sum(x * (x - 1) * (x - 2 if power == 3 else 1) for x in sizes)

    once = [falling(side, 2) for side in (v["r"], v["k"])]
    twice = [falling(side, 3) for side in (v["r"], v["k"])]
    apart = [x * x - 4 * y - 2 * x for x, y in zip(once, twice, strict=True)]
    mean = ratio(once[0] * once[1], 2 * n * (n - 1))
    square = mean + ratio(twice[0] * twice[1], n * (n - 1) * (n - 2))
    square += ratio(apart[0] * apart[1], 4 * n * (n - 1) * (n - 2) * (n - 3))
    return (v["a"] - mean) / mpmath.sqrt(square - mean**2)


def tau(v: dict[str, Any]) -> mpmath.mpf:
    kept = mpmath.fsum(ratio(x * x, v["k"][j]) for row in v["t"] for j, x in enumerate(row) if x)
    alone = ratio(sum(x * x for x in v["r"]), v["n"])
    return (kept - alone) / (v["n"] - alone)


def projectors(v: dict[str, Any]) -> mpmath.mpf:
    cells = [(x, v["r"][i], v["k"][j]) for i, row in enumerate(v["t"]) for j, x in enumerate(row) if x]
    return sum(x > 0 for x in v["r"] + v["k"]) - 2 * mpmath.fsum(ratio(x * x, r * c) for x, r, c in cells)


def determinant_over(*margins: str) -> Callable[[dict[str, Any]], mpmath.mpf]:
    def value(v: dict[str, Any]) -> mpmath.mpf:
        sums = {"J": v["a"] + v["c"], "W": v["a"] + v["b"], "S": v["b"] + v["d"], "U": v["c"] + v["d"]}
        divisor = 1
        for margin in margins:
            divisor *= sums[margin]
        return ratio(v["a"] * v["d"] - v["b"] * v["c"], divisor)

    return value


def adjusted_fowlkes_mallows(v: dict[str, Any]) -> mpmath.mpf:
    mean, every = mpmath.sqrt((v["a"] + v["b"]) * (v["a"] + v["c"])), pairs(v["n"])
    return (v["a"] / mean - mean / every) / (1 - mean / every)


EXACT: dict[str, Callable[[dict[str, Any]], mpmath.mpf]] = {
    "kulczynski": lambda v: (ratio(v["a"], v["a"] + v["b"]) + ratio(v["a"], v["a"] + v["c"])) / 2,
    "mcconnaughey": lambda v: ratio(v["a"] ** 2 - v["b"] * v["c"], (v["a"] + v["b"]) * (v["a"] + v["c"])),
    "rogers_tanimoto": lambda v: ratio(v["a"] + v["d"], v["a"] + v["d"] + 2 * (v["b"] + v["c"])),
    "sokal_sneath_1": lambda v: ratio(v["a"], v["a"] + 2 * (v["b"] + v["c"])),
    "southwood": lambda v: ratio(v["a"], v["b"] + v["c"]),
    "baulieu_1": lambda v: 1 - ratio(v["b"] + v["c"], pairs(v["n"])) + ratio(v["b"] - v["c"], pairs(v["n"])) ** 2,
    "peirce": determinant_over("W", "U"),
    "adjusted_wallace_precision": determinant_over("J", "U"),
    "adjusted_wallace_recall": determinant_over("W", "S"),
    "adjusted_fowlkes_mallows": adjusted_fowlkes_mallows,
    "pair_specificity": lambda v: ratio(v["d"], v["c"] + v["d"]),
    "goodman_kruskal_gamma": lambda v: ratio(v["a"] * v["d"] - v["b"] * v["c"], v["a"] * v["d"] + v["b"] * v["c"]),
    "goodman_kruskal_tau": tau,
    "frobenius_distance": projectors,
    "cramers_v": lambda v: mpmath.sqrt(chi_squared(v) / v["n"] / 3),
}


@both_layouts
@pytest.mark.parametrize("name", EXACT)
def test_exact_at_a_billion_items(name: str, layout: str, device: torch.device) -> None:
    counts = large_tables()
    found = MEASURES[name](in_layout(counts.to(device), layout)).tolist()
    with mpmath.workdps(50):
        expected = [float(EXACT[name](numbers(table))) for table in counts.tolist()]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@both_layouts
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


def test_independent_sides_have_exactly_no_association() -> None:
    tables = ContingencyTables(torch.outer(torch.tensor([7, 11, 13]), torch.tensor([2, 3, 5])) * 10**6)
    for name in ("chi_squared", "cramers_v", "tschuprows_t"):
        assert MEASURES[name](tables).item() == 0.0


def test_tversky_between_others() -> None:
    tables = ContingencyTables([[[5, 1, 0], [2, 3, 1], [0, 1, 4]], [[3, 0, 0], [0, 1, 0], [0, 0, 1]]])
    for weights, name in {
        (1, 1): "jaccard",
        (0.5, 0.5): "pair_f",
        (1, 0): "pair_precision",
        (0, 1): "pair_recall",
    }.items():
        alpha, beta = weights
        value = measures.tversky(tables, alpha=alpha, beta=beta)
        assert value.tolist() == pytest.approx(MEASURES[name](tables).tolist(), rel=1e-15)
    assert measures.tversky(tables, alpha=0.25, beta=2)[0].item() == pytest.approx(20 / (20 + 21 / 4 + 2 * 20))
    for bad in (-1, float("nan"), "1"):
        with pytest.raises(ValueError, match="alpha: expected"):
            measures.tversky(tables, alpha=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dice", "pair_f"),
        ("russell_rao", "hubert_gamma"),
        ("gower_legendre", "sokal_sneath_2"),
        ("split_join", "van_dongen"),
        ("partitionComparison:sokalSneath1", "sokal_sneath_4"),
        ("clusterCrit:Sokal_Sneath1", "sokal_sneath_1"),
        ("clustercrit:phi", "pearson_unrooted"),
    ],
)
def test_names_of_other_libraries(name: str, meant: str) -> None:
    assert list(tce.evaluate([0, 0, 1, 2], [0, 1, 1, 2], name).names) == [meant]


def test_unqualified_names_that_libraries_disagree_on_are_not_known() -> None:
    for name in ("phi", "pearson", "sokal_sneath1"):
        with pytest.raises(ValueError, match="expected the name of a measure"):
            tce.evaluate([0, 0, 1, 2], [0, 1, 1, 2], name)
