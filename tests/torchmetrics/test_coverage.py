"""What metric objects leave out: coverage and one warning at ``compute``; errors name ``preds`` and ``target``."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("torchmetrics")

from torchmetrics import MetricCollection

import torchclusteval as tce
from tests.support.fake_cuda import fake_cuda
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval import ContingencyAccumulator, ContingencyTables
from torchclusteval.torchmetrics import AdjustedRandScore, ClusterAccuracy, ClusteringMetric

PREDS, TARGET = torch.tensor([1, 1, 2, 2, 2, 1, -1, 0]), torch.tensor([1, 1, 2, 2, 3, 3, 0, 2])

LEFT_OUT: dict[str, tuple[dict[str, Any], int]] = {  # options, labels outside the codes
    "both sizes": ({"num_classes": 3, "num_clusters": 3, "validate": False}, 3),
    "classes": ({"num_classes": 3, "validate": False}, 2),
    "clusters": ({"num_clusters": 2, "validate": False}, 4),
    "noise": ({"num_classes": 3, "num_clusters": 3, "validate": False, "noise_label": -1}, 2),
    "noise as a cluster": (
        {"num_classes": 3, "num_clusters": 3, "validate": False, "noise_label": -1, "noise": "cluster"},
        2,
    ),
    "ignored": ({"num_classes": 3, "num_clusters": 3, "validate": False, "ignore_index": 3}, 1),
    "noise, any labels": ({"noise_label": -1}, 0),
    "ignored, any labels": ({"ignore_index": 2}, 0),
    "all checked": ({"num_classes": 4, "num_clusters": 3, "noise_label": -1}, 0),
}


def updated(options: dict[str, Any]) -> ClusteringMetric:
    metric = ClusteringMetric(["adjusted_rand", "purity"], **options)
    metric.update(PREDS[:3], TARGET[:3])
    metric(PREDS[3:], TARGET[3:])
    return metric


@pytest.mark.parametrize("case", LEFT_OUT)
def test_coverage_and_warning(case: str) -> None:
    options, outside = LEFT_OUT[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ``forward`` is silent
        metric = updated(options)
    expected = ContingencyTables.from_labels(TARGET, PREDS, **options)
    assert torch.equal(metric.coverage, expected.coverage)
    assert torch.equal(metric.tables().coverage, expected.coverage)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = metric.compute()
        metric.update(PREDS[:1], TARGET[:1])
        metric.compute()
        metric.reset()
        metric.update(torch.tensor([7]), torch.tensor([0])) if outside else None
        metric.compute() if outside else None
    assert found == dict(tce.evaluate_tables(expected, ["adjusted_rand", "purity"]))
    assert len(caught) == bool(outside)
    if outside:
        assert f"labels outside the codes (num_classes={options.get('num_classes')}, " in str(caught[0].message)
        assert f"exclude {outside} of 8 items" in str(caught[0].message)


@pytest.mark.parametrize("case", LEFT_OUT)
def test_coverage_travels(case: str) -> None:
    """With copies, files and merges; states of versions that did not count items say nothing of them."""
    options, _ = LEFT_OUT[case]
    metric, loaded, merged = updated(options), ClusteringMetric(**options), ClusteringMetric(**options)
    metric.persistent(True)
    state = dict(metric.state_dict())
    loaded.load_state_dict(state)
    merged.merge_state(ClusteringMetric(**options).metric_state)
    merged.merge_state(state)
    assert not metric.coverage.isnan()
    for other in (loaded, merged, metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert other.coverage == metric.coverage
    old = ClusteringMetric(**options)
    old.load_state_dict({name: value for name, value in state.items() if name != "items"})
    assert old.coverage == 1
    assert torch.equal(old.tables().n_items, metric.tables().n_items)


def test_collections_warn_once_for_each_metric() -> None:
    options = LEFT_OUT["both sizes"][0]
    collection = MetricCollection([AdjustedRandScore(**options), ClusteringMetric(["purity"], **options)])
    collection.update(PREDS, TARGET)
    collection.update(PREDS, TARGET)
    with pytest.warns(UserWarning, match="exclude 6 of 16 items") as caught:
        collection.compute()
    assert sorted(str(x.message).partition(":")[0] for x in caught) == ["AdjustedRandScore", "ClusteringMetric"]


@pytest.mark.parametrize("kind", ["metric", "accumulator"])
def test_unchecked_labels_count_on_devices(kind: str) -> None:
    """Without waiting for the device: a fake device has no values to wait for."""
    metric = ClusteringMetric(num_classes=3, num_clusters=3, ignore_index=0)
    with fake_cuda():
        preds, target = (torch.empty(10, dtype=torch.int64, device="cuda") for _ in range(2))
        if kind == "accumulator":
            accumulator = ContingencyAccumulator(3, 3).update(target, preds)
            assert accumulator.n_considered.device.type == "cuda"
        else:
            metric.counts = torch.zeros(3, 3, dtype=torch.int64, device="cuda")
            metric.items = torch.zeros(2, dtype=torch.int64, device="cuda")
            metric.update(preds, target)
            assert metric.items.device.type == "cuda"


def test_labels_outside_the_codes_show_on_devices() -> None:
    with tagged_cuda():
        metric = ClusterAccuracy(num_classes=3).to("cuda")
        for _ in range(2):
            metric(PREDS.to("cuda"), TARGET.to("cuda"))
        with pytest.warns(UserWarning, match=r"ClusterAccuracy: labels outside the codes .* exclude 6 of 16 items"):
            value = metric.compute()
        assert float(metric.coverage) == 5 / 8
        assert float(value) == 4 / 5


# --- probabilities ------------------------------------------------------------------------------------------

SCORES = torch.rand(8, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("sizes", [{}, {"num_classes": 4, "num_clusters": 4}], ids=["no sizes", "sizes"])
def test_probabilities_are_no_labels(sizes: dict[str, Any]) -> None:
    metric, accumulator = ClusteringMetric(**sizes), ContingencyAccumulator(**sizes)
    for value in (SCORES[:, 0], SCORES[:, 0].half(), SCORES[:, 0].double()):
        with pytest.raises(
            ValueError, match=r"^preds: expected whole numbers; got 0\.\d+ at position 0 \(.*argmax\(-1\)"
        ):
            metric.update(value, TARGET)
        with pytest.raises(ValueError, match=r"^labels_pred: expected whole numbers; .*argmax\(-1\).*update_soft"):
            accumulator.update(TARGET, value)
        with pytest.raises(ValueError, match=r"^labels_true: expected whole numbers; .*argmax\(-1\).*update_soft"):
            accumulator.update(value, PREDS)
    with pytest.raises(
        ValueError, match=r"^preds: .*shape \(N,\); got shape \(8, 4\) \(take preds\.argmax\(-1\) of probabilities"
    ):
        metric.update(SCORES, TARGET)
    with pytest.raises(ValueError, match=r"labels_pred.argmax\(-1\)"):
        accumulator.update(TARGET, SCORES)
    assert int(metric.tables().n_items) == int(accumulator.tables().n_items) == 0
    assert metric.coverage.isnan()


def test_unchecked_probabilities_are_left_out() -> None:
    """Every item is outside the codes, which shows; the value is that of an empty table."""
    sizes: dict[str, Any] = {"num_classes": 4, "num_clusters": 4, "validate": False}
    accumulator, metric = ContingencyAccumulator(**sizes).update(TARGET, SCORES[:, 0]), AdjustedRandScore(**sizes)
    assert accumulator.tables().coverage == 0
    metric.update(SCORES[:, 0], TARGET)
    assert metric.coverage == 0
    with pytest.warns(UserWarning, match="exclude 8 of 8 items"):
        assert metric.compute().isnan()


def test_missing_labels() -> None:
    preds = torch.tensor([0.0, 0.0, torch.nan, 1.0])
    target = torch.tensor([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"^preds: expected a label for every item; got nan at position 2"):
        AdjustedRandScore().update(preds, target)
    for sizes in ({}, {"num_classes": 2, "num_clusters": 2}):
        metric = AdjustedRandScore(missing="ignore", **sizes)
        metric.update(preds, target)
        assert metric.coverage == 0.75
        assert metric.compute() == 1


def test_label_images() -> None:
    preds, target = PREDS[:6].reshape(2, 3), TARGET[:6].reshape(2, 3)
    metric = AdjustedRandScore(item_dims=2)
    metric.update(preds, target)
    assert metric.compute() == tce.evaluate(target.flatten(), preds.flatten(), "ari")["ari"]
    with pytest.raises(ValueError, match="preds: expected a tensor of 2 dimensions"):
        metric.update(preds[0], target[0])


# --- the names that the user typed ------------------------------------------------------------------------


def checked(metric: Any, state: dict[str, Tensor | list[Tensor]]) -> str:
    try:
        metric.load_state_dict(state)
    except RuntimeError as error:
        return str(error)
    return ""


def test_states_of_other_sizes_are_refused() -> None:
    """And leave the metric as it was."""
    for options, state, expected in (
        (
            {"num_classes": 4, "num_clusters": 4},
            {"counts": torch.ones(5, 4, dtype=torch.int64)},
            r"counts of shape (4, 4)",
        ),
        ({"num_classes": 4, "num_clusters": 4}, {"counts": torch.ones(4, 4)}, "torch.float32"),
        ({"num_classes": 4, "num_clusters": 4}, {"cells": [torch.ones(2, 3, dtype=torch.int64)]}, "Unexpected key"),
        ({}, {"cells": [torch.ones(2, 4, dtype=torch.int64)]}, "cells of shape (Z, 3)"),
    ):
        metric = AdjustedRandScore(**options)
        metric.update(PREDS.clamp(0), TARGET)
        before = metric.compute()
        assert expected in checked(metric, dict(state)), expected
        metric._computed = None
        assert metric.compute() == before


def test_merges_of_other_options_are_refused() -> None:
    for mine, its in (({}, {"noise_label": 2}), ({"ignore_index": 1}, {}), ({}, {"num_classes": 4})):
        metric, other = AdjustedRandScore(**mine), AdjustedRandScore(**its)
        name = next(iter({**mine, **its}))
        with pytest.raises(ValueError, match=f"state: expected that of a metric with {name}="):
            metric.merge_state(other)
        with pytest.raises(ValueError, match="state: expected that of a metric with the same options"):
            metric.merge_state(other.metric_state)
