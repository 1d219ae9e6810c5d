"""Measures of coreference and entity resolution: values of the reference scorers, and a slow reference in fractions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from torchclusteval import ContingencyTables, measures
from torchclusteval.measures import coreference, entities

CASES = json.loads((Path(__file__).parents[1] / "golden" / "coreference.json").read_text())["cases"]
NAMES = {
    "muc": "muc",
    "bcub": "coref_bcubed",
    "ceafm": "ceaf_m",
    "ceafe": "ceaf_e",
    "blanc": "blanc",
    "lea": "lea",
}
SIDES = ("recall", "precision", "f")


def function(name: str) -> Callable[..., Tensor]:
    found: Callable[..., Tensor] = getattr(coreference, name, None) or getattr(entities, name)
    return found


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_values_of_the_reference_scorers(case: dict[str, Any], layout: str) -> None:
    tables = ContingencyTables.from_groups(case["key"], case["response"], layout=layout)
    assert tables.to_dense().counts.tolist() == case["table"]
    assert tables.whole_class_sizes.tolist() == case["key_sizes"]
    assert tables.whole_cluster_sizes.tolist() == case["response_sizes"]
    for name, printed in case["expected"].items():
        for side, value, exact in zip(SIDES, printed, case["exact"][name], strict=True):
            found = function(f"{NAMES[name]}_{side}")(tables, zero_division=0.0).item()
            assert found == pytest.approx(float(Fraction(exact)), rel=1e-14, abs=1e-15), (name, side)
            assert found == pytest.approx(value, abs=6e-6), (name, side)


# --- a slow reference, by the groups as sets ----------------------------------------------------------------

Groups = list[set[int]]
Value = Fraction | None


def ratio(numerator: Any, denominator: Any, zero: Value) -> Value:
    return zero if denominator == 0 else Fraction(numerator) / Fraction(denominator)


def harmonic(p: Any, r: Any) -> Fraction:
    return 2 * p * r / (p + r) if p + r else Fraction(0)


def pairs(groups: Groups) -> set[frozenset[int]]:
    return {frozenset(pair) for group in groups for pair in combinations(sorted(group), 2)}


def pairs_between(groups: Groups) -> set[frozenset[int]]:
    return pairs([set().union(*groups)]) - pairs(groups)


def best(weights: list[list[Fraction]]) -> Fraction:
    rows, columns = len(weights), len(weights[0]) if weights else 0
    if rows > columns:
        weights = [list(x) for x in zip(*weights, strict=True)]
        rows, columns = columns, rows
    found = (sum((weights[i][j] for i, j in enumerate(p)), Fraction(0)) for p in permutations(range(columns), rows))
    return max(found, default=Fraction(0))


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
        "ceaf_m": ratio(best(overlaps), n, zero),
        "ceaf_e": ratio(best(similar), len(true), zero),
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


GROUPS = st.lists(st.sets(st.integers(0, 6), max_size=4), max_size=4)


def disjoint(groups: Groups) -> Groups:
    seen: set[int] = set()
    left = []
    for group in groups:
        left.append(group - seen)
        seen |= group
    return left


@st.composite
def documents(draw: st.DrawFn) -> tuple[Groups, Groups]:
    true = disjoint(draw(GROUPS))
    return true, [set(x) for x in true] if draw(st.integers(0, 4)) == 0 else disjoint(draw(GROUPS))


def values(tables: ContingencyTables, names: Any, zero_division: float | None) -> dict[str, Tensor]:
    options: dict[str, dict[str, Any]] = {"merge_distance": {}}
    return {name: function(name)(tables, **options.get(name, {"zero_division": zero_division})) for name in names}


@pytest.mark.parametrize("zero_division", [None, 0.0, 1.0])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@settings(max_examples=60)
@given(batch=st.lists(documents(), min_size=1, max_size=3))
def test_against_the_slow_reference(
    layout: str, zero_division: float | None, batch: list[tuple[Groups, Groups]]
) -> None:
    sides = [dict(enumerate(pair[side] for pair in batch)) for side in (0, 1)]
    tables = ContingencyTables.from_documents(*sides, layout=layout)
    expected = [reference(*pair, zero_division) for pair in batch]
    assert len(expected[0]) == 26
    found = values(tables, expected[0], zero_division)
    turned = values(tables.mT, expected[0], zero_division)
    for name, value in found.items():
        for i, wanted in enumerate(expected):
            assert value[i].item() == pytest.approx(float(wanted[name]), rel=1e-12, abs=1e-15, nan_ok=True), name
        other = name.replace("precision", "RECALL").replace("recall", "precision").replace("RECALL", "recall")
        if not name.startswith("blanc"):  # which looks at the pairs of the classes to choose its parts
            torch.testing.assert_close(turned[other], value, rtol=1e-13, atol=0, equal_nan=True)


@given(documents())
def test_without_items_of_one_side(document: tuple[Groups, Groups]) -> None:
    """BCubed is that of partitions, and exact and mention-based measures have one value."""
    true, pred = document
    common = set().union(*true) & set().union(*pred)
    true, pred = ([group & common for group in side] for side in (true, pred))
    tables = ContingencyTables.from_groups(true, pred)
    for side in SIDES:
        here, there = function(f"coref_bcubed_{side}")(tables), getattr(measures, f"bcubed_{side}")(tables)
        torch.testing.assert_close(here, there, rtol=1e-14, atol=0, equal_nan=True)
        torch.testing.assert_close(
            function(f"ceaf_m_{side}")(tables), measures.one_to_one_accuracy(tables), rtol=1e-14, atol=0, equal_nan=True
        )
    plain = ContingencyTables(tables.to_dense().counts)
    for name, value in values(tables, reference(true, pred, None), None).items():
        assert torch.equal(value.nan_to_num(-1), values(plain, [name], None)[name].nan_to_num(-1))


def test_entity_resolution_by_hand() -> None:
    """Eight records of four persons, in five clusters: exact values of the definitions."""
    tables = ContingencyTables.from_labels(list("11122334"), [1, 1, 2, 3, 2, 4, 4, 5])
    expected = {
        "exact_cluster_precision": 2 / 5,
        "exact_cluster_recall": 1 / 2,
        "exact_cluster_f": 4 / 9,
        "grouping_accuracy": 3 / 8,
        "closest_cluster_precision": 7 / 10,
        "closest_cluster_recall": 19 / 24,
        "merge_distance": 3,
    }
    for name, value in values(tables, expected, None).items():
        assert value.item() == pytest.approx(expected[name], rel=1e-14), name


@pytest.mark.parametrize("bad", [-1, 2, "0", True, float("inf")])
def test_zero_division_is_a_number(bad: Any) -> None:
    tables = ContingencyTables.from_groups([{1}], [{1}])
    with pytest.raises(ValueError, match="zero_division: expected a number"):
        coreference.muc_recall(tables, zero_division=bad)
    assert coreference.muc_f(tables, zero_division=math.nan).isnan()
