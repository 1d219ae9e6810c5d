"""Slow references of the measures of coreference and entity resolution: groups as sets, values as fractions."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from tests.support.matchings import largest_sum

Groups = list[set[int]]


def ratio(numerator: Any, denominator: Any, zero: Any) -> Any:
    return zero if denominator == 0 else Fraction(numerator) / Fraction(denominator)


def harmonic(p: Any, r: Any) -> Fraction:
    return 2 * p * r / (p + r) if p + r else Fraction(0)


def pairs(groups: Sequence[set[int]]) -> set[frozenset[int]]:
    return {frozenset(pair) for group in groups for pair in combinations(sorted(group), 2)}


def pairs_between(groups: Groups) -> set[frozenset[int]]:
    return pairs([set().union(*groups)]) - pairs(groups)


def recalls(true: Groups, pred: Groups, zero: Any) -> dict[str, Any]:
    """Of classes; with the sides exchanged, precision."""
    items, other = set().union(*true), set().union(*pred)
    partitions = [[a & b for b in pred if a & b] + [{x} for x in a - other] for a in true]
    jaccards = [max((Fraction(len(a & b), len(a | b)) for b in pred), default=Fraction(0)) for a in true]
    exact = [a for a in true if a in pred]
    resolved = [
        Fraction(len(pairs([a]) & pairs(pred)), len(pairs([a]))) if len(a) > 1 else Fraction(a in pred) for a in true
    ]
    overlaps = [[Fraction(len(a & b)) for b in pred] for a in true]
    similar = [[Fraction(2 * len(a & b), len(a) + len(b)) for b in pred] for a in true]
    n = len(items)
    return {
        "muc": ratio(
            sum(len(a) - len(p) for a, p in zip(true, partitions, strict=True)), sum(len(a) - 1 for a in true), zero
        ),
        "coref_bcubed": ratio(sum(Fraction(len(a & b) ** 2, len(a)) for a in true for b in pred), n, zero),
        "ceaf_m": ratio(largest_sum(overlaps), n, zero),
        "ceaf_e": ratio(largest_sum(similar), len(true), zero),
        "lea": ratio(sum(len(a) * x for a, x in zip(true, resolved, strict=True)), n, zero),
        "exact_cluster": ratio(len(exact), len(true), zero),
        "closest_cluster": ratio(sum(jaccards, Fraction(0)), len(true), zero),
        "within": ratio(len(pairs(true) & pairs(pred)), len(pairs(true)), zero),
        "between": ratio(len(pairs_between(true) & pairs_between(pred)), len(pairs_between(true)), zero),
    }


def reference(true: Groups, pred: Groups, zero_division: float | None) -> dict[str, Any]:
    true, pred = ([group for group in groups if group] for groups in (true, pred))
    every = set().union(*true) | set().union(*pred)
    zero = Fraction(0) if zero_division is None else Fraction(zero_division)
    same = {frozenset(a) for a in true} == {frozenset(b) for b in pred}
    r, p = recalls(true, pred, zero), recalls(pred, true, zero)
    found: dict[str, Any] = {}
    for name in r.keys() - {"within", "between"}:
        found |= {f"{name}_recall": r[name], f"{name}_precision": p[name], f"{name}_f": harmonic(p[name], r[name])}
    blanc = {"recall": r, "precision": p, "f": {x: harmonic(p[x], r[x]) for x in ("within", "between")}}
    for side, parts in blanc.items():
        mean = (parts["within"] + parts["between"]) / 2
        mean = parts["within"] if not pairs_between(true) else mean
        found[f"blanc_{side}"] = parts["between"] if not pairs(true) else mean
    exact = [a for a in true if a in pred]
    found["exact_cluster_f"] = ratio(2 * len(exact), len(true) + len(pred), zero)
    found["grouping_accuracy"] = ratio(sum(map(len, exact)), len(every), zero)
    found["conll_f"] = (found["muc_f"] + found["coref_bcubed_f"] + found["ceaf_e_f"]) / 3
    del found["closest_cluster_f"]
    if zero_division is None:
        found = {name: Fraction(1) if same else value for name, value in found.items()}
    pieces = [[x for x in [*(a & b for b in pred), a - set().union(*pred)] if x] for a in true]
    split = [[x for x in [*(a & b for a in true), b - set().union(*true)] if x] for b in pred]
    found["merge_distance"] = sum(len(x) - 1 for x in [*pieces, *split])
    if zero_division is None and not every:
        found = dict.fromkeys(found, math.nan)
    if not every:
        found["merge_distance"] = math.nan
    return found
