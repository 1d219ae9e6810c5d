"""Estimates from a sample of true classes: printed values, exact sums of all classes, and coverage of the error."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables

PRED = [1, 1, 2, 3, 2, 4, 4, 4]
# Estimate and standard error, as er-evaluation 2.3 prints them in its examples (Binette et al. 2022).
PRINTED: dict[str, tuple[list[str], dict[str, tuple[float, float]]]] = {
    "three classes": (
        ["c1", "c1", "c1", "c2", "c2", "", "", "c4"],
        {"pair_precision": (7 / 18, 0.2545875386086578), "pair_recall": (19 / 64, 0.10825317547305482)},
    ),
    "two classes": (
        ["c1", "c1", "c1", "c2", "c2", "", "", ""],
        {
            "pair_f": (0.4166666666666667, 0.16666666666666666),
            "bcubed_precision": (19 / 24, 0.0416666666666673),
            "bcubed_recall": (19 / 36, 0.027777777777778203),
        },
    ),
    "all classes": (
        ["c1", "c1", "c1", "c2", "c2", "c3", "c3", "c3"],
        {
            "exact_cluster_precision": (0.26171875, 0.23593232610221093),
            "exact_cluster_recall": (0.3333333333333333, 0.3333333333333333),
            "exact_cluster_f": (0.29446064139941686, 0.2760765154789527),
        },
    ),
}


def of(true: list[str], layout: str = "auto") -> ContingencyTables:
    return ContingencyTables.from_labels(true, PRED, absent_true="", layout=layout)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("case", PRINTED)
def test_printed_values(case: str, layout: str) -> None:
    true, expected = PRINTED[case]
    found = tce.estimate_from_sample(of(true, layout), "uniform")
    for name, (estimate, error) in expected.items():
        assert found[name].estimate.item() == pytest.approx(estimate, rel=1e-12), name
        assert found[name].standard_error.item() == pytest.approx(error, rel=1e-9), name


def test_weights() -> None:
    tables = of(PRINTED["all classes"][0])
    sizes = tce.estimate_from_sample(tables, "size")
    listed = tce.estimate_from_sample(tables, [1 / 3, 1 / 2, 1 / 3])
    named = tce.estimate_from_sample(tables, {"c3": 2.0, "c1": 2.0, "c2": 3.0, "unused": 1.0})
    for name, record in sizes.items():
        for other in (listed, named):  # a factor changes nothing
            assert record.to_dict() == pytest.approx(other[name].to_dict(), rel=1e-12, nan_ok=True), name


def test_a_batch_and_padding() -> None:
    tables = ContingencyTables.from_labels([case[0] for case in PRINTED.values()], [PRED] * 3, absent_true="")
    together = tce.estimate_from_sample(tables, "uniform")
    for i, (true, _) in enumerate(PRINTED.values()):
        for name, record in tce.estimate_from_sample(of(true), "uniform").items():
            for field, value in record.columns().items():
                torch.testing.assert_close(together[name].columns()[field][i], value, rtol=1e-13, atol=1e-15)


def test_over_all_samples() -> None:
    """Means of numerators over all samples of two classes: without the bias the mean estimate is near the truth."""
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(12).repeat_interleave(5)
    pred = torch.where(
        torch.rand(60, generator=generator) < 0.7, true, torch.randint(0, 12, (60,), generator=generator)
    )
    whole = tce.evaluate(true, pred, ["pair_precision", "pair_recall", "pair_f"])
    samples = list(itertools.combinations(range(12), 6))
    shown = torch.stack([torch.where(torch.isin(true, torch.tensor(s)), true, -1) for s in samples])
    found = tce.estimate_from_sample(ContingencyTables.from_labels(shown, pred, absent_true=-1), "uniform")
    for name, value in whole.items():
        assert found[name].estimate.mean().item() == pytest.approx(value.item(), abs=0.01), name


def test_one_class_and_none() -> None:
    one = tce.estimate_from_sample(of(["c1", "c1", "c1", *[""] * 5]), "uniform")["pair_recall"]
    assert one.estimate.item() == pytest.approx(1 / 3)
    assert one.standard_error.isnan()
    none = tce.estimate_from_sample(of([""] * 8), "uniform")["pair_recall"]
    assert none.estimate.isnan()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (None, "'uniform', 'size', or a number for each class; got None"),
        ("equal", "'uniform', 'size', or a number for each class; got 'equal'"),
        ([1, 2], r"shape \(3,\); got \(2,\)"),
        ([1, -1, 1], "a positive number for each class; got -1.0 at position 1"),
        ([1, 0, 1], "a positive number for each class; got 0.0"),
        ([1, math.nan, 1], "a positive number for each class; got nan"),
        ([1, math.inf, 1], "a positive number for each class; got inf"),
        ({"c1": 1, "c2": 1}, "a weight for each class; got none for 'c3'"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"weights: expected {message}"):
        tce.estimate_from_sample(of(PRINTED["all classes"][0]), weights)


def test_weights_go_by_the_labels_of_a_series() -> None:
    pandas = pytest.importorskip("pandas")
    tables = tce.ContingencyTables.from_labels(list("aabbb"), list("xxyzx"))
    expected = tce.estimate_from_sample(tables, {"a": 2.0, "b": 1.0}).to_dict()
    assert tce.estimate_from_sample(tables, pandas.Series([1.0, 2.0], index=["b", "a"])).to_dict() == expected
    assert tce.estimate_from_sample(tables, pandas.Series([2.0, 1.0])).to_dict() == expected
    with pytest.raises(ValueError, match="got none for 'a'"):
        tce.estimate_from_sample(tables, pandas.Series([1.0, 2.0], index=["b", "c"]))
    sides = [tce.Memberships.from_lists(x) for x in ([["g"], ["g", "h"], ["h"]], [["h"], ["h"], ["g", "h"]])]
    weighted = [
        float(tce.overlap.overlap_element_centric(sides[0], sides[1], true_weights=x))
        for x in (pandas.Series([1.0, 3.0], index=["h", "g"]), {"g": 3.0, "h": 1.0}, {"g": 1.0, "h": 3.0})
    ]
    assert weighted[0] == weighted[1] != weighted[2]
