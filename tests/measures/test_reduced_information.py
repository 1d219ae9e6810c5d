"""Reduced mutual information against enumeration, 50 digits, and what Jerdee's ``clustering-mi`` prints."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from tests.support.billions import LARGE, exact_codes
from tests.support.reference import number_of_tables
from torchclusteval import ContingencyTables
from torchclusteval import measures as m
from torchclusteval.measures.reduced_information import log_number_of_tables

EIGHT = [[2, 0], [1, 2], [0, 3]]  # 11222333 against 11122222


@pytest.mark.parametrize(
    ("function", "options", "bits"),
    [
        (m.reduced_mutual_information, {}, 0.160127),
        (m.reduced_mutual_information, {"bound": math.inf}, 0.15979),
        (m.microcanonical_mutual_information, {}, math.log2(56 / 3)),
        (m.reduced_mutual_information_flat, {}, math.log2(56 / 27)),
    ],
)
def test_published_values(function: Any, options: dict[str, Any], bits: float) -> None:
    assert function(ContingencyTables(EIGHT), base=2, **options).item() == pytest.approx(bits, abs=1.1e-6)


def test_published_shares() -> None:
    tables = ContingencyTables(EIGHT)
    assert m.reduced_mutual_information(tables, norm="asymmetric").item() == pytest.approx(0.020208, abs=5e-7)
    assert m.reduced_mutual_information(tables, norm="mean").item() == pytest.approx(0.076803, abs=5e-7)
    assert m.reduced_mutual_information(tables.mT, base=2).item() == pytest.approx(0.909247, abs=5e-7)
    assert m.microcanonical_mutual_information(tables, norm="asymmetric").item() == pytest.approx(0.46251085, abs=5e-9)


def test_in_the_limit_equal_classes_are_of_equal_share() -> None:
    """The best concentration of three classes of two items is infinite: every label takes log 3.

    That of the classes once they are known is 0: every group takes log 3.
    """
    alone = ContingencyTables([[2], [2], [2]])
    assert m.reduced_mutual_information(alone, bound=math.inf).item() == 0.0
    assert m.reduced_mutual_information(ContingencyTables([[1, 1, 6]])).item() == 0.0  # exactly, of one class
    itself = ContingencyTables([[2, 0, 0], [0, 2, 0], [0, 0, 2]])
    assert m.reduced_mutual_information(itself, bound=math.inf).item() == pytest.approx(3 * math.log(3), rel=1e-14)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [((2, 3, 3), (3, 5)), ((1, 1, 2), (2, 1, 1)), ((4, 3), (3, 2, 2)), ((7,), (3, 4)), ((5, 5), (4, 6))],
)
def test_numbers_of_tables(rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    sides = [np.array([[*side, *[0] * (4 - len(side))]], np.float64) for side in (rows, columns)]
    expected = math.log(number_of_tables(rows, columns))
    assert log_number_of_tables(*sides)[0] == pytest.approx(expected, abs=1e-14)
    assert log_number_of_tables(*sides[::-1])[0] == pytest.approx(expected, abs=1e-14)


def test_the_estimate_is_near_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [np.array([side], np.float64) for side in ((6, 5, 4, 3), (7, 6, 5, 0))]
    exact = log_number_of_tables(*sides)[0]
    monkeypatch.setattr("torchclusteval.measures.reduced_information.MOST_STATES", 1)
    assert log_number_of_tables(*sides)[0] == pytest.approx(exact, abs=0.05)


def test_many_groups_of_many_items_do_not_overflow() -> None:
    counts = torch.full((400, 400), 10**6)
    assert m.reduced_mutual_information_flat(ContingencyTables(counts)).item() < 0
    assert math.isfinite(m.reduced_mutual_information(ContingencyTables(counts)).item())


@pytest.mark.parametrize("counts", [LARGE, EIGHT, [[30, 2, 0], [4, 25, 9]]])
def test_precision(counts: list[list[int]]) -> None:
    """1e9 items: within 1e-12 of the largest term, the logarithm of the factorial."""
    with mpmath.workdps(50):
        shared, reduced = exact_codes(counts)
    items = sum(map(sum, counts))
    tolerance = 1e-12 * max(1.0, math.lgamma(items + 1))
    tables = ContingencyTables(counts)
    assert abs(m.microcanonical_mutual_information(tables).item() - float(shared)) <= tolerance
    assert abs(m.reduced_mutual_information(tables).item() - float(reduced)) <= tolerance


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("turned", [False, True])
def test_one_group_shares_nothing(layout: str, turned: bool) -> None:
    """Exactly, though logarithms of factorials of 10**12 items differ by rounding."""
    counts = torch.tensor([[2, 2**24, 0, 2, 10**12]])
    tables = ContingencyTables(counts.mT if turned else counts)
    tables = tables.to_sparse() if layout == "sparse" else tables
    assert m.microcanonical_mutual_information(tables).item() == 0


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_few_items_apart_of_many(layout: str) -> None:
    """1e-9 of 50 digits, where the information is below 1e-15 of its terms."""
    kinds = [[[0, 1], [1, 0]], [[0, 3, 2], [5, 0, 0], [4, 0, 0]], [[0, 1], [7, 0]], [[0, 2], [1, 1]], [[0, 40], [3, 0]]]
    for power in range(1, 16):
        for kind in kinds:
            counts = [[10**power + kind[0][0], *kind[0][1:]], *kind[1:]]
            with mpmath.workdps(50):
                sides = [[sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]]
                expected = mpmath.loggamma(sum(sides[0]) + 1) - sum(mpmath.loggamma(x + 1) for y in sides for x in y)
                expected = float(expected + sum(mpmath.loggamma(x + 1) for row in counts for x in row))
            for given in (counts, counts[::-1], [[*column] for column in zip(*counts, strict=True)]):
                tables = ContingencyTables(given) if layout == "dense" else ContingencyTables(given).to_sparse()
                assert m.microcanonical_mutual_information(tables).item() == pytest.approx(expected, rel=1e-9, abs=0)
