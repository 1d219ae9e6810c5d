"""Golden values: published, worked out by hand, or found by exact computation; no measure may lack them."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from tests.support.reference import REFERENCE, labels_of, pair_counts, reference
from tests.support.strategies import LAYOUTS, in_layout

GOLDEN: dict[str, Any] = json.loads((GOLDEN_FOLDER / "tables.json").read_text())
ADDITIONAL: list[dict[str, Any]] = [
    json.loads((GOLDEN_FOLDER / name).read_text())
    for name in ("additional.json", "association.json", "information.json")
]
WORKED: list[dict[str, Any]] = json.loads((GOLDEN_FOLDER / "worked.json").read_text())["cases"]
COUNTS = ("ss", "sd", "ds", "dd")


def number(value: float | str) -> float:
    if isinstance(value, str) and "/" in value:
        return float(Fraction(value))
    return float(value)


def read_cases() -> dict[str, tuple[list[int], list[int], dict[str, float]]]:
    """Case -> (labels_true, labels_pred, expected values by name)."""
    cases = {}
    added = [row | {"expected": {}} for file in ADDITIONAL for row in file.get("tables", [])]
    for row in GOLDEN["tables"] + GOLDEN["labels"] + GOLDEN["degenerate"] + added:
        pair = (row["labels_true"], row["labels_pred"]) if "labels_true" in row else labels_of(row["table"])
        cases[row["id"]] = (*pair, {name: number(value) for name, value in row["expected"].items()})
    for row in [row for file in ADDITIONAL for row in file["rows"]]:
        cases[row["case"]][2].update({name: number(value) for name, value in row["expected"].items()})
    return cases


CASES = read_cases()
DEGENERATE = [row["id"] for row in GOLDEN["degenerate"]]


def agrees(value: float, expected: float) -> bool:
    if math.isfinite(expected):
        return abs(value - expected) <= max(GOLDEN["tolerance"], 1e-12 * abs(expected))
    return value == expected or (math.isnan(value) and math.isnan(expected))


def wrong(values: dict[str, float], expected: dict[str, float]) -> list[str]:
    both = {name: (value, expected[name]) for name, value in values.items() if name in expected}
    return [f"{name}: {value}, expected {other}" for name, (value, other) in both.items() if not agrees(value, other)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_golden_values(case: str, layout: str, device: torch.device) -> None:
    true, pred, expected = CASES[case]
    labels = (torch.tensor(side, dtype=torch.int64, device=device) for side in (true, pred))
    tables = tce.ContingencyTables.from_labels(*labels, layout=layout)
    values = {name: measure(tables).item() for name, measure in tce.MEASURES.items()}
    pairs = dict(zip(COUNTS, tce.measures.pair_counts(tables), strict=True))
    values |= {name: count.item() for name, count in pairs.items()}
    assert not wrong(values, expected)


@pytest.mark.parametrize("name", tce.MEASURES)
def test_every_measure_has_golden_rows(name: str) -> None:
    assert [case for case in DEGENERATE if name not in CASES[case][2]] == []
    typical = [case for case in CASES if case not in DEGENERATE and name in CASES[case][2]]
    assert len(typical) >= 3, f"{name}: golden values on typical tables only for {typical}"


def test_every_golden_name_is_a_measure() -> None:
    named = {name for _, _, expected in CASES.values() for name in expected}
    assert named - set(COUNTS) <= set(tce.MEASURES)


def test_additional_rows_name_their_source() -> None:
    for file in ADDITIONAL:
        sources = {entry["measure"] for entry in file["sources"] if entry["source"]}
        assert {name for row in file["rows"] for name in row["expected"]} == sources


@pytest.mark.parametrize("case", CASES)
def test_reference_matches_golden(case: str) -> None:
    """The slow reference of the laws stands on the same published values."""
    true, pred, expected = CASES[case]
    values = {name: reference(name, true, pred) for name in REFERENCE if name in expected}
    values |= dict(zip(COUNTS, map(float, pair_counts(true, pred)), strict=True))
    assert not wrong(values, expected)
    assert expected.keys() <= values.keys()


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
@pytest.mark.parametrize("case", WORKED, ids=lambda case: case["id"])
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
