"""Measures of segmentation and of tracking, slowly and plainly, of objects as sets of items, in exact fractions.

Nothing of the package is used. ``zero`` is what a 0/0 is; ``same`` whether both sides have the same objects.
"""

import math
from fractions import Fraction
from typing import Any

from tests.support.coreference import harmonic, pairs, ratio
from tests.support.matchings import best_matchings, largest_sum

Objects = list[set[int]]


def iou(a: set[int], b: set[int]) -> Fraction:
    return Fraction(len(a & b), len(a | b))


def weights_of(true: Objects, pred: Objects, weight: Any) -> list[list[Fraction]]:
    return [[Fraction(weight(a, b)) for b in pred] for a in true]


def most(true: Objects, pred: Objects, weight: Any) -> Any:
    return largest_sum(weights_of(true, pred, weight))


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
        "idf1": harmonic(precision, recall),
        "association_accuracy": ratio(associated, n, zero),
        "diarization_error_rate": math.inf if wrong and not r else ratio(wrong, r, zero),
        "diarization_purity": (purity := ratio(sum(majority(b, true) for b in pred), c, zero)),
        "diarization_coverage": (coverage := ratio(sum(majority(a, pred) for a in true), r, zero)),
        "diarization_purity_f": harmonic(purity, coverage),
        "jaccard_error_rate": ratio(len(true) - most(true, pred, iou), len(true), one),
        "jaccard_error_rate_pyannote": ratio(len(true) - sum(matched_ious(true, pred), Fraction(0)), len(true), one),
    }


def majority(group: set[int], others: Objects) -> int:
    return max((len(group & other) for other in others), default=0)


def matched_ious(true: Objects, pred: Objects) -> list[Fraction]:
    """Of the matching with the most common items, and of equal ones of that with the largest sum."""
    weights = weights_of(true, pred, lambda x, y: len(x & y) + iou(x, y) / (2 * len(true)))
    columns = best_matchings(weights)[1][0]
    return [iou(a, pred[j]) for a, j in zip(true, columns, strict=True) if j >= 0]
