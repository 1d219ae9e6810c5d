"""All one-to-one matchings of a small table."""

from __future__ import annotations

from collections.abc import Iterator
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
