"""Worked examples of tables, through the functions that users call."""

import json
from fractions import Fraction
from typing import Any

import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from tests.support.strategies import LAYOUTS, in_layout

CASES = json.loads((GOLDEN_FOLDER / "worked.json").read_text())["cases"]


def tables_of(case: dict[str, Any], layout: str) -> tce.ContingencyTables:
    if "table" in case:
        tables = in_layout(torch.tensor(case["table"]), layout)
    else:
        options = case.get("options", {})
        tables = tce.ContingencyTables.from_labels(case["true"], case["pred"], layout=layout, **options)
    return tables.balanced() if case.get("balanced") else tables


def close_to(value: str | float) -> Any:
    if isinstance(value, str):
        return pytest.approx(float(Fraction(value)), rel=1e-14, abs=1e-15)
    digits = len(str(value).partition(".")[2])
    return pytest.approx(value, rel=1e-14, abs=0.5 * 10**-digits)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_worked_examples(case: dict[str, Any], layout: str) -> None:
    tables = tables_of(case, layout)
    scores = tce.evaluate_tables(tables, list(case["expected"]))
    for name, value in case["expected"].items():
        assert scores[name].item() == close_to(value), name
    if "pair_counts" in case:
        assert [x.item() for x in tce.measures.pair_counts(tables)] == case["pair_counts"]
    if "matched_items" in case:
        assert tce.match(tables).total.item() == close_to(case["matched_items"])
    for side, value in zip((tables, tables.mT), case.get("best_dice", []), strict=False):
        overlap = tce.per_object(side)["iou"]  # the best Dice coefficient is that of the best IoU
        assert (2 * overlap / (1 + overlap)).mean().item() == close_to(value)
