"""Inputs that people reported as misread, each with its exact value; some may be refused."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER

REPORTED_FILE = GOLDEN_FOLDER / "reported_inputs.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in REPORTED_FILE.read_text().splitlines()]
MAY_REFUSE = {"column-vectors", "nan-probability", "codes-out-of-range"}
OPTIONS = ("weights", "ignore_index", "noise_label", "noise", "num_classes")


def labels(spec: Any) -> Any:
    return spec if isinstance(spec[0], str) else torch.tensor(spec)


def scored(case: dict[str, Any]) -> torch.Tensor:
    true, pred, measure, given = case["labels_true"], case["labels_pred"], case["measure"], case["params"]
    if measure in tce.OVERLAP_MEASURES:
        groups, others = (tce.Memberships.from_lists(side) for side in (true, pred))
        return tce.evaluate_overlapping(groups, others, measure)[measure]
    if case["kind"] == "matching-cost":  # the expressions of the report, item by item
        i = torch.arange(true["n"])
        return tce.evaluate(i // 2, (i // 4) * 3 + (i % 4 + 1) // 2, measure)[measure]
    if case["kind"] == "soft-table":
        return tce.evaluate_tables(tce.ContingencyTables(np.array(true["contingency"])), measure)[measure]
    if case["kind"] == "nan-probability":
        rows = torch.tensor([[float(x) for x in row] for row in pred["probabilities"]])
        one_hot = torch.nn.functional.one_hot(torch.tensor(true))
        return tce.evaluate_tables(tce.ContingencyTables.from_probabilities(one_hot, rows), measure)[measure]
    first, second = labels(true), labels(pred)
    if "shape" in given:
        first, second = first[:, None], second[:, None]
    options: dict[str, Any] = {name: given[name] for name in OPTIONS if name in given}
    return tce.evaluate(first, second, measure, **options)[measure]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case['id']}-{case['kind']}",
            marks=[pytest.mark.slow] if case["kind"] == "matching-cost" else [],
        )
        for case in CASES
    ],
)
@pytest.mark.filterwarnings("ignore:weights")
def test_reported_input(case: dict[str, Any]) -> None:
    try:
        value = scored(case).item()
    except ValueError:
        if case["kind"] not in MAY_REFUSE:
            raise
        return
    expected = float(case["expected"])
    assert math.isnan(value) if math.isnan(expected) else abs(value - expected) <= case["tolerance"]
