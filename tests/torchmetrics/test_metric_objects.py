"""The metric objects keep torchmetrics' contract, and give the package's values at any size."""

import inspect
import io
import math
import sys
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import pytest
import sklearn.metrics
import torch
import torchmetrics.clustering as peers
from torch import Tensor, nn
from torchmetrics import Metric, MetricCollection

import torchclusteval as tce
from tests.support.billions import numbers, of_pairs
from tests.support.metric_steps import labels
from torchclusteval import torchmetrics as metrics
from torchclusteval.torchmetrics import AdjustedRandScore, ClusteringMetric, VMeasureScore

SIZES: dict[str, dict[str, Any]] = {"sizes": {"num_classes": 4, "num_clusters": 5}, "no sizes": {}}
DROP_IN = tuple(name for name in metrics.__all__ if name not in ("ClusteringMetric", "ClusterAccuracy"))

every_state = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)


def assert_scores(found: dict[str, Tensor], preds: Tensor, target: Tensor, **options: Any) -> None:
    expected = tce.evaluate(target, preds, list(found), **options)
    for name, value in found.items():
        assert value.shape == ()
        assert value.dtype == torch.float64
        assert torch.equal(value, expected[name]), name


class Model(nn.Module):
    """It keeps a metric next to its layers, which ``forward`` does not use."""

    def __init__(self, metric: Metric) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.metric = metric

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


CASTS: dict[str, Callable[[nn.Module], object]] = {
    "half": lambda model: model.half(),
    "bfloat16": lambda model: model.bfloat16(),
    "to": lambda model: model.to(torch.float16),
    "set_dtype": lambda model: model.metric.set_dtype(torch.float16),  # type: ignore[union-attr, operator]
}


@every_state
@pytest.mark.parametrize("cast", CASTS)
def test_casting_a_module_leaves_counts_alone(cast: str, sizes: dict[str, Any]) -> None:
    """3000 equal items: as float16 their count would be rounded, and 70,000 of them infinite."""
    model = Model(ClusteringMetric(["rand", "q2"], **sizes))
    model.metric.update(torch.tensor([3, 4]).repeat(35_001), torch.tensor([3, 3]).repeat(35_001))
    CASTS[cast](model)
    assert isinstance(model.metric, ClusteringMetric)
    model.metric.update(torch.tensor([3]), torch.tensor([3]))
    assert sorted(model.metric.tables().cells()[3].tolist()) == [35_001, 35_002]
    assert_scores(model.metric.compute(), [*[3, 4] * 35_001, 3], [3] * 70_003)  # type: ignore[arg-type]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="torch has no TorchScript there")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # torch's own: TorchScript ends
@every_state
@pytest.mark.parametrize("name", metrics.__all__)
def test_models_with_a_metric_can_be_scripted(name: str, sizes: dict[str, Any]) -> None:
    """TorchScript leaves the metric out, as it does torchmetrics' own, and the metric goes on."""
    preds, target = labels()
    metric = getattr(metrics, name)(**({"num_classes": 6} if name == "ClusterAccuracy" else sizes))
    metric.update(preds, target)
    model = Model(metric)
    scripted: Any = torch.jit.script(model)
    torch.jit.save(scripted, io.BytesIO())
    x = torch.ones(1, 2)
    assert torch.equal(scripted(x), model(x))
    torch.jit.script(metric)
    metric(preds, target)
    assert metric.update_count == 2
    assert int(metric.tables().n_items) == 600


def test_facts_are_honest() -> None:
    assert AdjustedRandScore().higher_is_better is True
    assert ClusteringMetric(["vi", "nvi"]).higher_is_better is False
    assert ClusteringMetric(["vi", "ari"]).higher_is_better is None
    assert ClusteringMetric(["joint_entropy"]).higher_is_better is None
    assert (AdjustedRandScore().plot_lower_bound, AdjustedRandScore().plot_upper_bound) == (-0.5, 1.0)
    assert (ClusteringMetric(["ari", "vi"]).plot_lower_bound, ClusteringMetric(["vi"]).plot_upper_bound) == (-0.5, None)
    for name in metrics.__all__:
        assert getattr(metrics, name).is_differentiable is False
        assert getattr(metrics, name).full_state_update is False
    with pytest.raises(RuntimeError, match="Can't change const"):
        AdjustedRandScore().higher_is_better = False  # type: ignore[misc]


def test_plots() -> None:
    preds, target = labels()
    for metric in (AdjustedRandScore(), ClusteringMetric()):
        values = [metric(preds[:100], target[:100]), metric(preds[100:], target[100:])]
        for value in (None, values):
            figure, _ = metric.plot(value)
            plt.close(figure)


def test_collections_share_no_state_between_other_options() -> None:
    """The first batch has no noise, so all states are equal when groups are formed."""
    preds, target = torch.tensor([0, 0, 1, 1, 0, 1, 2, 2]), torch.tensor([3, 3, 5, 5, 3, 5, 5, 3])
    collection = MetricCollection({"plain": AdjustedRandScore(), "noise": AdjustedRandScore(noise_label=2)})
    for part in (slice(0, 4), slice(4, 8)):
        collection.update(preds[part], target[part])
    values = collection.compute()
    assert float(values["noise"]) == 1.0
    assert float(values["plain"]) == pytest.approx(6 / 13)


def test_nothing_seen_is_nan() -> None:
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        values = ClusteringMetric("pairs").compute()
    assert all(math.isnan(value) for value in values.values())
    assert "ari" in values
    assert "ami" not in values
    assert values.get("ari") is values["ari"] is values["adjusted_rand"]


@pytest.mark.slow
@pytest.mark.parametrize("call", ["update", "forward"])
@every_state
def test_the_state_does_not_grow(call: str, sizes: dict[str, Any]) -> None:
    preds, target = labels()
    metric = ClusteringMetric(["ari"], **sizes)
    largest, parts = 0, 0
    for _ in range(300):
        (metric if call == "forward" else metric.update)(preds, target)
        state = metric.metric_state["counts" if sizes else "cells"]
        tensors = [state] if isinstance(state, Tensor) else state
        largest, parts = max(largest, sum(x.numel() for x in tensors)), max(parts, len(tensors))
    assert largest <= 3 * (1024 + 100)
    assert parts <= 100
    assert int(metric.tables().n_items) == 300 * 300


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@every_state
@pytest.mark.parametrize("name", DROP_IN)
def test_values_are_torchmetrics_own_where_those_are_right(name: str, sizes: dict[str, Any]) -> None:
    preds, target = labels()
    metric, peer = getattr(metrics, name)(**sizes), getattr(peers, name)()
    for start in range(0, 300, 100):
        metric.update(preds[start : start + 100], target[start : start + 100])
    value = metric.compute()
    assert value.shape == ()
    assert float(value) == pytest.approx(float(peer(preds, target)), rel=1e-4)  # theirs is float32


@pytest.mark.parametrize("name", DROP_IN)
def test_arguments_are_torchmetrics_own(name: str) -> None:
    """Same positional arguments with the same defaults."""
    mine, its = (
        [(p.name, p.default) for p in inspect.signature(cls).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for cls in (getattr(metrics, name), getattr(peers, name))
    )
    assert mine == its


@pytest.mark.parametrize("average", ["min", "geometric", "arithmetic", "max"])
def test_averages(average: str) -> None:
    preds, target = labels()
    for cls, function in (
        (metrics.NormalizedMutualInfoScore, sklearn.metrics.normalized_mutual_info_score),
        (metrics.AdjustedMutualInfoScore, sklearn.metrics.adjusted_mutual_info_score),
    ):
        metric = cls(average_method=average)
        metric.update(preds, target)
        assert float(metric.compute()) == pytest.approx(function(target, preds, average_method=average), abs=1e-12)
    with pytest.raises(ValueError, match="average_method: expected one of min"):
        metrics.NormalizedMutualInfoScore("mean")


@pytest.mark.parametrize("beta", [0.5, 1, 3.0])
def test_beta(beta: float) -> None:
    preds, target = labels()
    metric = VMeasureScore(beta)
    metric.update(preds, target)
    expected = sklearn.metrics.v_measure_score(target, preds, beta=beta)
    assert float(metric.compute()) == pytest.approx(expected, abs=1e-12)
    for wrong in (0, -1.0, math.inf, True, "1"):
        with pytest.raises(ValueError, match="beta: expected a number above 0"):
            VMeasureScore(wrong)  # type: ignore[arg-type]


def test_cluster_accuracy() -> None:
    """Six of eight by the assignment 0 -> 1, 1 -> 2, 2 -> 0, counted by hand."""
    metric = metrics.ClusterAccuracy(3)
    metric.update(torch.tensor([0, 0, 0, 1, 1, 2, 2, 1]), torch.tensor([1, 1, 1, 2, 2, 0, 1, 0]))
    assert float(metric.compute()) == 0.75


@pytest.mark.slow
@every_state
@pytest.mark.parametrize("n", [100_000, 1_000_000, 10_000_000])
def test_right_at_any_size(n: int, sizes: dict[str, Any]) -> None:
    """Pairs of 1e5 items and more overflow where they are multiplied in int64."""
    metric = AdjustedRandScore(**sizes)
    counts = torch.zeros(5, 6, dtype=torch.int64)
    for seed in range(10):
        preds, target = labels(n // 10, seed)
        metric.update(preds, target)
        counts += (target * 6 + preds).bincount(minlength=30).reshape(5, 6)
    assert float(metric.compute()) == pytest.approx(of_pairs("adjusted_rand", numbers(counts.tolist())), rel=1e-13)
