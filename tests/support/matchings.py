"""All one-to-one matchings of a small table, and the largest sum of a larger one."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any


def all_matchings(weights: list[list[Any]], row: int = 0, used: frozenset[int] = frozenset()) -> Iterator[list[int]]:
    if row == len(weights):
        yield []
        return
    for j in [*(j for j, x in enumerate(weights[row]) if x > 0 and j not in used), -1]:
        for rest in all_matchings(weights, row + 1, used | {j} if j >= 0 else used):
            yield [j, *rest]


def best_matchings(weights: list[list[Any]]) -> tuple[Any, list[list[int]]]:
    """The largest sum of weights above 0, and all matchings that reach it; exact for whole numbers and fractions."""
    scored = [(sum(weights[i][j] for i, j in enumerate(x) if j >= 0), x) for x in all_matchings(weights)]
    total = max(score for score, _ in scored)
    return total, [found for score, found in scored if score == total]


def largest_sum(weights: list[list[Fraction]]) -> Fraction:
    """Of one-to-one pairs, by trying the partners of each row of the longer side in turn."""
    if weights and len(weights) < len(weights[0]):
        weights = [list(column) for column in zip(*weights, strict=True)]

    @cache
    def from_row(row: int, taken: int) -> Fraction:
        if row == len(weights):
            return Fraction(0)
        free = [(w, j) for j, w in enumerate(weights[row]) if w and not taken >> j & 1]
        return max([from_row(row + 1, taken), *(w + from_row(row + 1, taken | 1 << j) for w, j in free)])

    return from_row(0, 0)
