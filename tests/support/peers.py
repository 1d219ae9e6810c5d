"""What the comparisons with other libraries share: random tables, random covers, and how values are compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import torchclusteval as tce

Pair = tuple[np.ndarray, np.ndarray]


@cache
def label_pairs() -> list[Pair]:
    """200 pairs of labels: 5, 30 or 200 items, 1 to 7 groups on each side, most of them related."""
    random, made = np.random.default_rng(16), list[Pair]()
    for number in range(200):
        items = (5, 30, 30, 200)[number % 4]
        true = random.integers(0, random.integers(1, 8), items)
        other = random.integers(0, random.integers(1, 8), items)
        kept = random.random(items) < random.random()
        made.append((true, np.where(kept, true, other)))
    return made


def table_of(pair: Pair) -> np.ndarray:
    """Contingency table of two labelings, true groups as rows, without empty rows and columns."""
    codes = [np.unique(side, return_inverse=True)[1] for side in pair]
    table = np.zeros((codes[0].max() + 1, codes[1].max() + 1), np.int64)
    np.add.at(table, tuple(codes), 1)
    return table


@cache
def cover_pairs() -> list[tuple[list[list[int]], list[list[int]]]]:
    """200 pairs of covers, groups by item: 6 to 25 items with 1 to 3 of up to 6 groups, both sides often alike."""
    random, made = np.random.default_rng(17), []
    for _ in range(200):
        items, groups = random.integers(6, 26), random.integers(3, 7, 2)
        sides = [
            [random.choice(k, random.integers(1, 4), replace=False).tolist() for _ in range(items)] for k in groups
        ]
        kept = random.random(items) < random.random()
        second = [one if keep else other for one, other, keep in zip(*sides, kept, strict=True)]
        made.append((sides[0], second))
    return made


@cache
def ours(name: str) -> tuple[float, ...]:
    return tuple(float(tce.evaluate(true, pred, name)[name]) for true, pred in label_pairs())


@cache
def ours_on_covers(name: str) -> tuple[float, ...]:
    made = [tuple(map(tce.Memberships.from_lists, sides)) for sides in cover_pairs()]
    return tuple(float(tce.evaluate_overlapping(true, pred, name)[name]) for true, pred in made)


@dataclass(frozen=True)
class Row:
    """A function of another library on two labelings, and the measure here that has its values.

    Where the library differs, ``reason`` says how, and ``differs`` gives its value for these labels; None where it does
    not.
    """

    theirs: Callable[[Any, Any], Any]
    name: str
    reason: str = ""
    differs: Callable[[Pair], float | None] = lambda pair: None
    expected: Callable[[float, Pair], float] = lambda own, pair: own  # theirs, from ours, in their units
    tolerance: float = 1e-9


def known(rows: Mapping[str, Row]) -> list[str]:
    return [key for key, row in rows.items() if row.name in tce.MEASURES]


def compare(row: Row) -> None:
    """All tables: equal values, but where a difference is explained, which then occurs."""
    different = 0
    for pair, own in zip(label_pairs(), ours(row.name), strict=True):
        explained, wanted = row.differs(pair), row.expected(own, pair)
        found = float(row.theirs(*pair))
        message = str(table_of(pair).tolist())
        if explained is None:
            np.testing.assert_allclose(found, wanted, rtol=row.tolerance, atol=row.tolerance, err_msg=message)
        else:
            np.testing.assert_allclose(found, explained, rtol=row.tolerance, atol=row.tolerance, err_msg=message)
            different += not np.isclose(found, wanted, rtol=0, atol=row.tolerance)
    assert bool(different) == bool(row.reason), row.reason or "a difference without a reason"


def one_block(pair: Pair) -> bool:
    """Whether all items are in one group on both sides."""
    return table_of(pair).size == 1


def identical(pair: Pair) -> bool:
    table = table_of(pair)
    return bool(np.count_nonzero(table) == len(table) == table.shape[1])
