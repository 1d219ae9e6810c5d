"""Measures of coreference and entity resolution: values of the reference scorers, and a slow reference in fractions."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.coreference import Groups, reference
from tests.support.strategies import sides_of_groups
from torchclusteval import MEASURES, ContingencyTables, measures
from torchclusteval.measures import coreference

CASES = json.loads((Path(__file__).parents[1] / "golden" / "coreference.json").read_text())["cases"]
NAMES = {"muc": "muc", "bcub": "coref_bcubed", "ceafm": "ceaf_m", "ceafe": "ceaf_e", "blanc": "blanc", "lea": "lea"}
SIDES = ("recall", "precision", "f")


def function(name: str) -> Callable[..., Tensor]:
    found: Callable[..., Tensor] = getattr(coreference, name)
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


def values(tables: ContingencyTables, names: Any, zero_division: float | None) -> dict[str, Tensor]:
    options: dict[str, dict[str, Any]] = {"merge_distance": {}}
    return {name: function(name)(tables, **options.get(name, {"zero_division": zero_division})) for name in names}


@pytest.mark.parametrize("zero_division", [None, 0.0, 1.0])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@settings(max_examples=60)
@given(batch=st.lists(sides_of_groups(7, 4), min_size=1, max_size=3))
def test_slow_reference(layout: str, zero_division: float | None, batch: list[tuple[Groups, Groups]]) -> None:
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
            assert MEASURES[name].swapped == other


@given(sides_of_groups(7, 4))
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
