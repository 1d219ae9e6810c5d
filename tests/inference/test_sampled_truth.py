"""Estimates from a sample of true classes: printed values, exact sums of all classes, and coverage of the error."""

import itertools
import math
from typing import Any

import pandas
import polars
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
    assert tce.estimate_from_sample(of([""] * 8), "uniform")["pair_recall"].estimate.isnan()


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
        (polars.DataFrame({"b": [1, 2, 3]}), "a weight for each class; got a data frame"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"weights: expected {message}"):
        tce.estimate_from_sample(of(PRINTED["all classes"][0]), weights)


def test_weights_go_by_the_labels_of_a_series() -> None:
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


@pytest.mark.parametrize("weights", ["uniform", "size"])
def test_the_error_of_a_difference_by_simulation(weights: str) -> None:
    """400 samples of 40 of 600 classes, drawn alike or through their items: standard deviation and mean error."""
    generator = torch.Generator().manual_seed(2)
    sizes = torch.randint(1, 7, (600,), generator=generator)
    true = torch.arange(600).repeat_interleave(sizes)
    n = len(true)
    noise = [torch.rand(n, generator=generator) < share for share in (0.1, 0.15)]
    elsewhere = torch.randint(0, 600, (n,), generator=generator)
    runs = [torch.where(x, elsewhere, true) for x in noise]
    odds = sizes.double() if weights == "size" else torch.ones(600, dtype=torch.float64)
    differences, errors = [], []
    for _ in range(400):
        drawn = torch.multinomial(odds, 40, generator=generator)
        shown = torch.where(torch.isin(true, drawn), true, -1)
        one, other = (ContingencyTables.from_labels(shown, x, absent_true=-1, layout="sparse") for x in runs)
        found = tce.estimate_from_sample(one, weights, against=other)
        differences.append([found[name].difference for name in ("pair_f", "bcubed_f")])
        errors.append([found[name].difference_error for name in ("pair_f", "bcubed_f")])
    spread = torch.tensor(differences).std(0)
    mean = torch.tensor(errors).mean(0)
    whole = [dict(tce.evaluate(true, x, ["pair_f"])) for x in runs]
    assert torch.tensor(differences)[:, 0].mean() == pytest.approx(
        float(whole[0]["pair_f"] - whole[1]["pair_f"]), abs=4 * float(spread[0]) / 400**0.5 + 0.005
    )
    corrected = mean * (1 - 40 / 600) ** 0.5 if weights == "uniform" else mean  # of a finite population
    torch.testing.assert_close(corrected, spread, rtol=0.12, atol=0)


def test_differences_of_a_batch_and_what_is_refused() -> None:
    tables = of(PRINTED["all classes"][0])
    same = tce.estimate_from_sample(tables, "uniform", against=tables)
    for record in same.values():
        assert record.difference == 0
        assert record.difference_error == 0
    with pytest.raises(
        ValueError, match=r"^against: expected the sampled classes of tables, in their order; got shape"
    ):
        tce.estimate_from_sample(tables, "uniform", against=of(PRINTED["two classes"][0]))
    with pytest.raises(ValueError, match=r"^against: .*; got other classes or sizes"):
        tce.estimate_from_sample(tables, "uniform", against=of(["c1"] * 2 + ["c2"] * 3 + ["c3"] * 3))
