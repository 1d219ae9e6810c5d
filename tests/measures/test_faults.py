"""Inputs that people reported as breaking other libraries, each with its exact value."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from tests.support.strategies import LAYOUTS

Case = dict[str, Any]
REPORTED_FILE = GOLDEN_FOLDER / "reported_faults.jsonl"
REPORTED: list[Case] = [json.loads(line) for line in REPORTED_FILE.read_text().splitlines()]


def evaluated(expression: str, i: np.ndarray) -> Any:
    """An integer expression in ``i``, for all values of ``i`` at once."""
    value, _, rest = expression.partition(" if ")
    if not rest:
        return eval(value, {"i": i})
    test, _, other = rest.partition(" else ")
    holds = np.logical_and.reduce([eval(part, {"i": i}) for part in test.split(" and ")])
    return np.where(holds, evaluated(value, i), evaluated(other, i))


def labels(spec: Any) -> torch.Tensor:
    if isinstance(spec, list):
        return torch.tensor(spec, dtype=torch.int64)
    dtype = getattr(torch, spec.get("dtype", "int64"))
    if "values" in spec:
        return torch.tensor(spec["values"], dtype=dtype)
    i = np.arange(spec["n"], dtype=np.int64)
    values = i * 0 + evaluated(spec["expr"], i)
    return torch.from_numpy(values).to(dtype)


def n_items(case: Case) -> int:
    spec = case["labels_true"]
    return spec.get("n", 0) if isinstance(spec, dict) else len(spec)


def fault_value(case: Case, **options: Any) -> float:
    params = dict(case["params"])
    options |= {name: params.pop(name) for name in ("noise_label", "noise") if name in params}
    first = case["labels_true"]
    if isinstance(first, dict) and "contingency" in first:
        counts = torch.tensor(first["contingency"], dtype=torch.int64, device=options.get("device"))
        tables = tce.ContingencyTables(counts)
    else:
        tables = tce.ContingencyTables.from_labels(labels(first), labels(case["labels_pred"]), **options)
    value: torch.Tensor = getattr(tce.measures, case["measure"])(tables, **params)
    assert value.dtype == torch.float64
    return value.item()


def check(value: float, case: Case) -> None:
    expected = float(case["expected"])
    if math.isnan(expected):
        assert math.isnan(value)
    else:
        assert abs(value - expected) <= case["tolerance"], f"{value}, expected {expected}"
        low, high = case.get("bounds") or (None, None)
        assert low is None or value >= low
        assert high is None or value <= high


def params(cases: Iterator[Case]) -> Any:
    return [pytest.param(case, id=f"{case['id']}-{case['kind']}-{case['measure']}") for case in cases]


def is_overlapping(case: Case) -> bool:
    return str(case["measure"]).startswith("extended_")


MEASURED = [case for case in REPORTED if not is_overlapping(case) and case["measure"] != "contingency"]
SMALL = [case for case in MEASURED if isinstance(case["labels_true"], list) or n_items(case) <= 1000]


@pytest.mark.parametrize("case", params(iter(MEASURED)))
def test_reported_fault(case: Case, device: torch.device) -> None:
    value = fault_value(case, device=device)
    check(value, case)
    if case.get("also_swapped"):
        turned = case | {"labels_true": case["labels_pred"], "labels_pred": case["labels_true"]}
        swapped = fault_value(turned, device=device)
        check(swapped, case)
        assert abs(swapped - value) <= 1e-15


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", params(case for case in SMALL if "contingency" not in case["labels_true"]))
def test_reported_fault_in_both_layouts(case: Case, layout: str) -> None:
    check(fault_value(case, layout=layout), case)


@pytest.mark.slow
@pytest.mark.parametrize("case", params(case for case in REPORTED if case["measure"] == "contingency"))
def test_reported_table(case: Case) -> None:
    tables = tce.ContingencyTables.from_labels(labels(case["labels_true"]), labels(case["labels_pred"]))
    counts = tables.to_dense().counts
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    assert counts.tolist() == case["expected"]


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", params(x for x in MEASURED if x in SMALL or x["kind"] == "half-precision-counts"))
def test_half_precision_surroundings_change_nothing(case: Case, half: torch.dtype) -> None:
    default = torch.get_default_dtype()
    torch.set_default_dtype(half)
    try:
        with torch.autocast("cpu", dtype=half):
            check(fault_value(case), case)
    finally:
        torch.set_default_dtype(default)


@pytest.mark.parametrize("case", params(x for x in REPORTED if is_overlapping(x) and hasattr(tce, "Memberships")))
def test_reported_overlapping_fault(case: Case) -> None:
    true, pred = (tce.Memberships.from_lists(case[side]) for side in ("labels_true", "labels_pred"))
    check(float(tce.evaluate_overlapping(true, pred)[case["measure"]]), case)


def test_the_narrow_dtypes_are_kept() -> None:
    """The cases that name a dtype really use it; uint8 and int8 wrap where codes are fused carelessly."""
    dtypes = {labels(case[side]).dtype for case in REPORTED for side in ("labels_true", "labels_pred")
              if isinstance(case[side], dict) and "dtype" in case[side]}  # fmt: skip
    assert {torch.uint8, torch.int8} <= dtypes
