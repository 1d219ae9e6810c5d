"""Measures of segmentation and of tracking, slowly and plainly, of objects as sets of items, in exact fractions.

Nothing of the package is used. ``zero`` is what a 0/0 is; ``same`` whether both sides have the same objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

Objects = list[set[int]]


def pairs(groups: Sequence[set[int]]) -> set[frozenset[int]]:
    return {frozenset(pair) for group in groups for pair in combinations(sorted(group), 2)}


def ratio(numerator: Any, denominator: Any, zero: Any) -> Any:
    return zero if denominator == 0 else Fraction(numerator) / Fraction(denominator)


def iou(a: set[int], b: set[int]) -> Fraction:
    return Fraction(len(a & b), len(a | b))


def best_columns(true: Objects, pred: Objects, weight: Any) -> tuple[Any, list[int]]:
    """Largest sum of weights of a one-to-one matching, and the column of each true object, -1 for none."""
    weights = [[Fraction(weight(a, b)) for b in pred] for a in true]
    whole = math.lcm(*(x.denominator for row in weights for x in row))
    costs = [[-int(x * whole) for x in row] + [0] * len(true) for row in weights]
    chosen = [j if j < len(pred) and weights[i][j] else -1 for i, j in enumerate(least_cost(costs))]
    return sum((weights[i][j] for i, j in enumerate(chosen) if j >= 0), Fraction(0)), chosen


def least_cost(costs: list[list[int]]) -> list[int]:
    """The column of each row in the assignment of least cost, of at least as many columns as rows (Kuhn 1955)."""
    rows, columns = len(costs), len(costs[0]) if costs else 0
    u, v, row_of = [0] * (rows + 1), [0] * (columns + 1), [0] * (columns + 1)
    for i in range(1, rows + 1):
        row_of[0], column = i, 0
        least: list[Any] = [math.inf] * (columns + 1)
        before, seen = [0] * (columns + 1), [False] * (columns + 1)
        while True:
            seen[column], row, following = True, row_of[column], 0
            step: Any = math.inf
            for j in range(1, columns + 1):
                if not seen[j]:
                    reduced = costs[row - 1][j - 1] - u[row] - v[j]
                    if reduced < least[j]:
                        least[j], before[j] = reduced, column
                    if least[j] < step:
                        step, following = least[j], j
            for j in range(columns + 1):
                if seen[j]:
                    u[row_of[j]] += step
                    v[j] -= step
                else:
                    least[j] -= step
            column = following
            if not row_of[column]:
                break
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    found = [-1] * rows
    for j in range(1, columns + 1):
        if row_of[j]:
            found[row_of[j] - 1] = j - 1
    return found


def most(true: Objects, pred: Objects, weight: Any) -> Any:
    return best_columns(true, pred, weight)[0]


def adjusted_rand(true: Objects, pred: Objects, items: set[int]) -> Any:
    """The excess over the mean of all permutations, over its largest."""
    every, a, b = pairs([items]), pairs(true), pairs(pred)
    if not every or a == b:
        return None
    expected = Fraction(len(a) * len(b), len(every))
    return (len(a & b) - expected) / (Fraction(len(a) + len(b), 2) - expected)


def entropy_given(target: Objects, given: Objects) -> float:
    """Bits of the group of ``target`` that an item of a known group of ``given`` is in."""
    n = sum(len(group) for group in given)
    inside = [(len(group & part), len(group)) for group in given for part in target if group & part]
    return math.fsum(-part / n * math.log2(part / whole) for part, whole in inside)


def aggregated_jaccard(true: Objects, pred: Objects, zero: Any) -> Any:
    common, union, used = 0, 0, set()
    for a in true:
        overlaps = [iou(a, b) for b in pred]
        if not any(overlaps):
            union += len(a)
            continue
        best = overlaps.index(max(overlaps))
        used.add(best)
        common += len(a & pred[best])
        union += len(a | pred[best])
    union += sum(len(b) for j, b in enumerate(pred) if j not in used)
    return ratio(common, union, zero)


def reference(true: Objects, pred: Objects, zero_division: float | None) -> dict[str, Any]:
    """Values by name of the registry. Objects are in the order of rows and columns; empty ones are left out."""
    true, pred = ([group for group in groups if group] for groups in (true, pred))
    foreground, other = set().union(*true), set().union(*pred)
    both = foreground & other
    zero = Fraction(0) if zero_division is None else Fraction(zero_division)
    one = Fraction(1) if zero_division is None else zero
    same = {frozenset(a) for a in true} == {frozenset(b) for b in pred}
    counts, n = len(true) + len(pred), len(true)

    shown = [b & foreground for b in pred] + [foreground - other]
    ari = adjusted_rand(true, shown, foreground)
    if ari is None:  # 0/0, or the same groups
        trivial = not pairs(true) or pairs(true) == pairs([foreground])
        ari = Fraction(1) if zero_division is None or not trivial else zero
    common = [[group & both for group in groups] for groups in (true, pred)]
    a, b = pairs(common[0]), pairs(common[1])
    squares = sum(len(group) ** 2 for side in common for group in side)
    halves = [iou(x, y) for x in true for y in pred if iou(x, y) > Fraction(1, 2)]
    best = [max((iou(x, y) for y in pred), default=Fraction(0)) for x in true]
    dice = [
        [max((Fraction(2 * len(x & y), len(x) + len(y)) for y in side), default=Fraction(0)) for x in own]
        for own, side in ((true, pred), (pred, true))
    ]
    covering = [sum((iou(x, y) for y in pred if 2 * len(x & y) > len(x)), Fraction(0)) for x in true]
    found = {
        "foreground_ari": ari,
        "adapted_rand_error": ratio(len(a ^ b), len(a) + len(b), one),
        "adapted_rand_error_self_pairs": ratio(2 * len(a ^ b), squares, one),
        "vi_split_bits": entropy_given(common[1], common[0]) if both else zero,
        "vi_merge_bits": entropy_given(common[0], common[1]) if both else zero,
        "mean_best_overlap": ratio(sum(best), n, zero),
        "symmetric_best_dice": min(ratio(sum(side), len(side), zero) for side in dice),
        "seg": ratio(sum(covering), n, zero),
        "aggregated_jaccard": aggregated_jaccard(true, pred, zero),
        "panoptic_quality": ratio(sum(halves), Fraction(counts, 2), zero),
        "segmentation_quality": ratio(sum(halves), len(halves), zero),
        "recognition_quality": ratio(len(halves), Fraction(counts, 2), zero),
    }
    for threshold in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)):
        tp = most(true, pred, lambda x, y, least=threshold: Fraction(iou(x, y) >= least and bool(x & y)))
        found[f"object_ap_{float(threshold)}"] = ratio(tp, counts - tp, zero)
        found[f"object_f_{float(threshold)}"] = ratio(2 * tp, counts, zero)
    found |= tracking(true, pred, zero, one)
    if zero_division is None:
        distances = ("error", "vi_")
        found = {
            name: Fraction(0 if any(x in name for x in distances) else 1) if same else value
            for name, value in found.items()
        }
        without = {"foreground_ari": foreground, "mean_best_overlap": foreground, "seg": foreground}
        without |= {"vi_split_bits": both, "vi_merge_bits": both}
        for name in found:
            if not without.get(name, foreground | other):
                found[name] = math.nan
    return found


def tracking(true: Objects, pred: Objects, zero: Any, one: Any) -> dict[str, Any]:
    r, c = sum(map(len, true)), sum(map(len, pred))
    overlap = most(true, pred, lambda x, y: Fraction(len(x & y)))
    n = len(set().union(*true) & set().union(*pred))
    precision, recall = ratio(overlap, c, zero), ratio(overlap, r, zero)
    associated = sum((len(x & y) * iou(x, y) for x in true for y in pred), Fraction(0))
    wrong = r + c - n - overlap
    return {
        "idp": precision,
        "idr": recall,
        "idf1": 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0),
        "association_accuracy": ratio(associated, n, zero),
        "diarization_error_rate": math.inf if wrong and not r else ratio(wrong, r, zero),
        "diarization_purity": (purity := ratio(sum(majority(b, true) for b in pred), c, zero)),
        "diarization_coverage": (coverage := ratio(sum(majority(a, pred) for a in true), r, zero)),
        "diarization_purity_f": 2 * purity * coverage / (purity + coverage) if purity + coverage else Fraction(0),
        "jaccard_error_rate": ratio(len(true) - most(true, pred, iou), len(true), one),
        "jaccard_error_rate_pyannote": ratio(len(true) - sum(matched_ious(true, pred), Fraction(0)), len(true), one),
    }


def majority(group: set[int], others: Objects) -> int:
    return max((len(group & other) for other in others), default=0)


def matched_ious(true: Objects, pred: Objects) -> list[Fraction]:
    """Of the matching with the most common items, and of equal ones of that with the largest sum."""
    _, columns = best_columns(true, pred, lambda x, y: len(x & y) + iou(x, y) / (2 * len(true)))
    return [iou(a, pred[j]) for a, j in zip(true, columns, strict=True) if j >= 0]


def of_labels(name: str, true: Sequence[Any], pred: Sequence[Any]) -> float:
    """The value for two partitions of the same items; groups are in the order of their labels."""
    return float(_values(tuple(true), tuple(pred))[name])


@cache
def _values(true: tuple[Any, ...], pred: tuple[Any, ...]) -> dict[str, Any]:
    classes, clusters = (
        [{i for i, x in enumerate(side) if x == label} for label in sorted(set(side))] for side in (true, pred)
    )
    return reference(classes, clusters, None)
