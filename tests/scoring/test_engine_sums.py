"""Scores from the sums that an engine gives: those of ``evaluate_tables`` of the cells themselves."""

import math
from decimal import Decimal
from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce

ROWS = [[40, 5, 0, 1], [0, 0, 3, 0], [7, 50, 2, 0]]


def sums_of(counts: Tensor) -> tuple[list[int], list[int], dict[str, Any]]:
    """Sizes and sums, cell by cell, in Python's integers and exact sums of floats."""
    rows = counts.tolist()
    r, c = [sum(row) for row in rows], [sum(column) for column in zip(*rows, strict=True)]
    cells = [(n, r[i], c[j]) for i, row in enumerate(rows) for j, n in enumerate(row) if n]
    sums = {
        "n_cells": len(cells),
        "squares": sum(n * n for n, _, _ in cells),
        "classes_given_clusters": math.fsum(n * math.log(c / n) for n, _, c in cells),
        "clusters_given_classes": math.fsum(n * math.log(r / n) for n, r, _ in cells),
        "precisions": math.fsum(n * n / c for n, _, c in cells),
        "recalls": math.fsum(n * n / r for n, r, _ in cells),
        "majority_of_clusters": sum(max(column) for column in zip(*rows, strict=True)),
        "majority_of_classes": sum(max(row) for row in rows),
    }
    return r, c, sums


@pytest.mark.parametrize("scale", [1, 10**6, 10**10, 1.25])
@pytest.mark.parametrize("rows", [ROWS, [[5, 0], [0, 3]], [[4, 2]], [[3], [1]], [[1, 0], [0, 1]], [[1, 1]]], ids=str)
def test_the_scores_are_those_of_the_cells(rows: list[list[int]], scale: float) -> None:
    """Beyond 3e9 items the squares no longer fit in int64; floats are weights; small tables are degenerate."""
    counts = torch.tensor(rows, dtype=torch.float64 if scale == 1.25 else torch.int64) * scale
    expected = tce.evaluate_tables(tce.ContingencyTables(counts), "all")
    scores = tce.evaluate_sums(*sums_of(counts), "all")
    assert scale == 1.25 or len(scores) > 100
    assert ("ami_max" in scores.skipped) == (scale == 1.25)
    assert {*scores} | {*scores.skipped} == {*expected} | {*expected.skipped}
    for name in scores:
        torch.testing.assert_close(scores[name], expected[name], rtol=1e-12, atol=1e-12, equal_nan=rows != ROWS)


def test_no_items() -> None:
    """NULL is the sum of no rows."""
    names = ("squares", "classes_given_clusters", "clusters_given_classes", "precisions", "recalls")
    scores = tce.evaluate_sums([], [], {"n_cells": 0, **dict.fromkeys(names)}, ["ari", "nmi", "bcubed_f"])
    assert all(scores[name].isnan() for name in scores)


def test_sizes_alone() -> None:
    """The mean over permutations follows from the sizes; what needs cells is refused by name."""
    counts = torch.tensor(ROWS)
    r, c, _ = sums_of(counts)
    name = "expected_mutual_information"
    expected = tce.evaluate_tables(tce.ContingencyTables(counts), name)[name]
    assert tce.evaluate_sums(r, c, {}, name)[name].item() == pytest.approx(expected.item(), abs=1e-15)
    with pytest.raises(ValueError, match="got 'adjusted_rand', which needs other sums over cells"):
        tce.evaluate_sums(r, c, {}, "ari")


def test_decimals() -> None:
    """Databases return sums of whole numbers as decimals."""
    r, c, sums = sums_of(torch.tensor(ROWS))
    decimals = {name: Decimal(str(x)) for name, x in sums.items()}
    scores = tce.evaluate_sums([Decimal(x) for x in r], [Decimal(x) for x in c], decimals, ["ami", "purity"])
    expected = tce.evaluate_sums(r, c, sums, ["ami", "purity"])
    for name in expected:
        torch.testing.assert_close(scores[name], expected[name])
    tables = tce.ContingencyTables.from_cells(["a", "b"], [0, 1], counts=[Decimal(3), Decimal("4.00")])
    assert tables.to_dense().counts.tolist() == [[3, 0], [0, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"square": 3}, "sums: expected sums named n_cells, squares"),
        ({"squares": 10**5}, r"sums\['squares'\]: expected 1753.33 to"),  # (47^2 + 55^2 + 5^2 + 1) / 3
        ({"squares": 1753}, r"sums\['squares'\]: expected 1753.33 to"),
        ({"majority_of_classes": 26}, r"sums\['majority_of_classes'\]: expected 27 to 108"),
        ({"n_cells": 2}, r"sums\['n_cells'\]: expected 4 to 12"),
        ({"precisions": 109}, r"sums\['precisions'\]: expected 36 to 108"),
        ({"classes_given_clusters": math.nan}, r"sums\['classes_given_clusters'\]: expected"),
        ({"clusters_given_classes": 0}, "sums: expected one mutual information from classes_given_clusters and"),
        ({"n_cells": 13}, r"sums\['n_cells'\]: expected 4 to 12"),
        ({"n_cells": 7.5}, r"sums\['n_cells'\]: expected a whole number; got 7.5"),
        ({"squares": None}, r"sums\['squares'\]: expected a number; got None"),
        ({"recalls": "many"}, r"sums\['recalls'\]: expected a number; got 'many'"),
    ],
)
def test_wrong_sums(change: dict[str, Any], message: str) -> None:
    r, c, sums = sums_of(torch.tensor(ROWS))
    with pytest.raises(ValueError, match=message):
        tce.evaluate_sums(r, c, sums | change)


@pytest.mark.parametrize("base", [2, 10])
def test_logarithms_of_another_base(base: int) -> None:
    """DuckDB's and SQLite's log is that of base 10."""
    r, c, sums = sums_of(torch.tensor(ROWS))
    of_base = {name: x / math.log(base) for name, x in sums.items() if "_given_" in name}
    with pytest.raises(ValueError, match=r"sums: .* \(the logarithm is the natural one"):
        tce.evaluate_sums(r, c, sums | of_base, "nmi")


def test_wrong_sizes() -> None:
    r, c, sums = sums_of(torch.tensor(ROWS))
    with pytest.raises(ValueError, match="sums: expected one mutual information"):
        tce.evaluate_sums(c, r, {name: x for name, x in sums.items() if "_given_" in name})
    with pytest.raises(ValueError, match="expected equal sums, of the same items; got 108 and 109"):
        tce.evaluate_sums(r, [*c, 1], sums)
    with pytest.raises(ValueError, match=r"class_sizes: expected shape \(R,\)"):
        tce.evaluate_sums([r], c, sums)
    with pytest.raises(ValueError, match=r"sums\['n_cells'\]: expected 3 to 4 for cells"):
        tce.evaluate_sums([2, 1, 1], [2, 1, 1], {"n_cells": 5}, "purity")
