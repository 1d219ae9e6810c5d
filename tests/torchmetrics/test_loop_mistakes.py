"""What happens in training loops: batches on other devices, forgotten calls, wrong shapes, labels that are left out."""

import pickle
import re
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchmetrics import MetricCollection

import torchclusteval as tce
from tests.support.metric_steps import BATCHES, every_state, updated
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval import ContingencyAccumulator, ContingencyTables
from torchclusteval.torchmetrics import AdjustedRandScore, ClusterAccuracy, ClusteringMetric, NormalizedMutualInfoScore
from torchclusteval.torchmetrics import clustering_metric as module

PREDS, TARGET = BATCHES[0]


def expected(batches: list[tuple[Tensor, Tensor]]) -> float:
    preds, target = map(torch.cat, zip(*batches, strict=True))
    return float(tce.evaluate(target, preds, "ari")["ari"])


@every_state
@pytest.mark.parametrize("call", ["update", "forward"])
@pytest.mark.parametrize("place", ["metric", "batches", "both", "compute_on_cpu"])
def test_metric_and_batches_on_different_devices(
    place: str, call: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with torchmetrics' own, whose lists take batches of any device."""
    monkeypatch.setattr(module, "_MAX_WAITING_CELLS", 20)  # cells are merged at once
    with tagged_cuda():
        metric = AdjustedRandScore(**options, compute_on_cpu=place == "compute_on_cpu")
        if place != "batches":
            metric = metric.to("cuda")
        for batch in BATCHES:
            moved = batch if place == "metric" else tuple(x.to("cuda") for x in batch)
            getattr(metric, call)(*moved)
        assert float(metric.compute()) == expected(BATCHES)
        assert float(metric.coverage) == 1


@every_state
def test_a_state_that_was_taken_stays_after_reset(options: dict[str, Any]) -> None:
    """Theirs empties the lists that it gave away."""
    metric = updated(AdjustedRandScore(**options))
    state = metric.metric_state
    metric.reset()
    other = AdjustedRandScore(**options)
    other.merge_state(state)
    metric.update(*BATCHES[4])
    other.update(*BATCHES[3])
    assert float(other.compute()) == expected(BATCHES[:4])
    assert float(metric.compute()) == expected(BATCHES[4:5])


@every_state
def test_a_batch_that_changes_afterwards(options: dict[str, Any]) -> None:
    """Loaders reuse memory; theirs keeps the tensors themselves."""
    metric = AdjustedRandScore(**options)
    preds, target = PREDS.clone(), TARGET.clone()
    metric.update(preds, target)
    preds.zero_()
    target.zero_()
    assert float(metric.compute()) == expected(BATCHES[:1])


@every_state
def test_refused_batches_between_good_ones(options: dict[str, Any]) -> None:
    collection = MetricCollection({"ari": AdjustedRandScore(**options), "nmi": NormalizedMutualInfoScore(**options)})
    for batch in BATCHES:
        with pytest.raises(ValueError, match="preds"):
            collection.update(PREDS.float() + 0.5, TARGET)
        collection.update(*batch)
        with pytest.raises(ValueError, match="preds"):
            collection(PREDS[:3], TARGET)
    assert float(collection.compute()["ari"]) == expected(BATCHES)


@every_state
def test_no_graph_is_kept(options: dict[str, Any]) -> None:
    scores = torch.rand(60, 5, requires_grad=True)
    metric = AdjustedRandScore(**options)
    value = metric(scores.argmax(-1), TARGET)
    assert not value.requires_grad
    metric.update(PREDS.double().requires_grad_(), TARGET)
    assert not metric.compute().requires_grad


def test_results_are_ordinary_tensors() -> None:
    """Formatted, computed with and stacked as any other; quantiles and comparisons take other float types too."""
    value = updated(AdjustedRandScore()).compute()
    assert f"{value:.3f}" == f"{float(value):.3f}"
    assert repr(value) == repr(torch.tensor(float(value), dtype=torch.float64))
    assert type(value + 1) is type(value.detach()) is type(value.cpu()) is Tensor
    for q in (0.5, torch.tensor(0.5), torch.tensor([0.5], dtype=torch.float16)):
        assert torch.quantile(torch.stack([value, value]), q).unique() == value
        assert torch.stack([value, value]).nanquantile(q=q).unique() == value
    for other in (torch.tensor(float(value)), torch.tensor(float(value), dtype=torch.float64)):
        assert torch.allclose(value, other)
        assert torch.allclose(input=other, other=value)
        assert other.expand(2).isclose(torch.stack([value, value])).all()
        assert not torch.isclose(other + 1e-3, value)


def test_results_are_saved_as_plain_tensors(tmp_path: Any) -> None:
    value = updated(AdjustedRandScore()).compute()
    torch.save({"score": value}, tmp_path / "score.pt")
    loaded = torch.load(tmp_path / "score.pt", weights_only=True)["score"]
    assert type(loaded) is Tensor
    assert loaded == value


SHAPES: dict[str, tuple[Any, Any, str]] = {
    "logits": (torch.randn(60, 5), TARGET, "preds: .*take preds.argmax(-1) of probabilities, logits or one-hot rows)"),
    "one-hot rows": (PREDS, nn.functional.one_hot(TARGET), "target: .*take target.argmax(-1) of"),
    "a column": (PREDS[:, None], TARGET[:, None], "preds: .*(take preds.squeeze(-1))"),
    "a single label": (torch.tensor(1), torch.tensor(1), "preds: expected a tensor of shape (N,); got shape ()"),
    "arrays": (PREDS.numpy(), TARGET.numpy(), "preds: expected a tensor of shape (N,); got ndarray"),
    "half a batch": (PREDS[:30], TARGET, "preds: expected one number of items everywhere"),
    "nan": (PREDS / PREDS, TARGET, 'preds: expected a label for every item; got nan .*missing="ignore")'),
    "infinite": (PREDS / 0.0, TARGET, "preds: expected whole numbers; got inf"),
    "complex": (PREDS + 0j, TARGET, "preds: expected a dense tensor of whole numbers"),
    "sparse": (PREDS, TARGET.to_sparse(), "target: expected a dense tensor of whole numbers"),
    "fractions": (PREDS, TARGET + 0.5, "target: expected whole numbers; .*take argmax(-1))"),
    "nothing": (None, TARGET, "preds: expected a tensor of shape (N,); got NoneType"),
}


@every_state
@pytest.mark.parametrize("case", SHAPES)
def test_shapes_that_are_mistakes(case: str, options: dict[str, Any]) -> None:
    """Errors name what the user typed."""
    preds, target, message = SHAPES[case]
    pattern = ".*".join(re.escape(part) for part in message.split(".*"))
    metric = ClusteringMetric(["ari"], **options)
    with pytest.raises(ValueError, match=f"^{pattern}") as caught:
        metric(target=target, preds=preds)
    assert not re.search("labels_|update_soft|mask=", str(caught.value))
    assert int(metric.tables().n_items) == 0


def test_huge_unsigned_labels_are_refused() -> None:
    """Cells of 2**63 + 5 would be those of -2**63 + 5; smaller ones are the labels of the other type."""
    metric = ClusteringMetric(["ari"])
    for preds in (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.uint64)):
        metric.update(preds, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"^preds: expected labels below 2\*\*63; got larger uint64 numbers"):
        metric.update(torch.tensor([2**63 + 5, 1], dtype=torch.uint64), torch.tensor([0, 1]))
    assert metric.compute()["ari"] == 1


@every_state
def test_what_an_accumulator_gives_away_is_a_copy(options: dict[str, Any]) -> None:
    accumulator = ContingencyAccumulator(**options).update(TARGET, PREDS)
    tables, state = accumulator.tables(), accumulator.state_dict()
    accumulator.n_considered.zero_()
    other = ContingencyAccumulator(**options)
    other.load_state_dict(state)
    for one in (accumulator, other):
        one.update(TARGET, PREDS)
        assert int(one.tables().n_items) == int(one.n_considered) == 120
    assert int(tables.n_items) == int(state["considered"]) == 60


def test_a_broken_sum_is_refused() -> None:
    accumulator = ContingencyAccumulator().update(["a"], ["b"])
    for reduced in (3, {}, {"ranks": [0]}, {"ranks": [0], "state": {}}):
        with pytest.raises(ValueError, match="state: expected"):
            accumulator.load_state_dict({**accumulator.state_dict(), "reduced": reduced})
    assert int(accumulator.tables().n_items) == 1


CODES, CLASSES = torch.tensor([1, 1, 2, 2, 2, 1, -1, 0]), torch.tensor([1, 1, 2, 2, 3, 3, 0, 2])
SIZED = {"num_classes": 3, "num_clusters": 3, "validate": False}
LEFT_OUT: dict[str, tuple[dict[str, Any], int]] = {  # options, labels outside the codes
    "both sizes": (SIZED, 3),
    "classes": ({"num_classes": 3, "validate": False}, 2),
    "clusters": ({"num_clusters": 2, "validate": False}, 4),
    "noise": ({**SIZED, "noise_label": -1}, 2),
    "noise as a cluster": ({**SIZED, "noise_label": -1, "noise": "cluster"}, 2),
    "ignored": ({**SIZED, "ignore_index": 3}, 1),
    "noise, any labels": ({"noise_label": -1}, 0),
    "ignored, any labels": ({"ignore_index": 2}, 0),
    "absent": ({"absent_true": 0, "absent_pred": -1}, 0),
    "absent, sizes": ({**SIZED, "absent_true": 0, "absent_pred": -1}, 2),
    "all checked": ({"num_classes": 4, "num_clusters": 3, "noise_label": -1}, 0),
}


def counted(options: dict[str, Any]) -> ClusteringMetric:
    metric = ClusteringMetric(["adjusted_rand", "purity"], **options)
    metric.update(CODES[:3], CLASSES[:3])
    metric(CODES[3:], CLASSES[3:])
    return metric


@pytest.mark.parametrize("case", LEFT_OUT)
def test_coverage_and_warning(case: str) -> None:
    options, outside = LEFT_OUT[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ``forward`` is silent
        metric = counted(options)
    expected = ContingencyTables.from_labels(CLASSES, CODES, **options)
    assert torch.equal(metric.coverage, expected.coverage)
    assert torch.equal(metric.tables().coverage, expected.coverage)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = metric.compute()
        metric.update(CODES[:1], CLASSES[:1])
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
    """With copies, files and merges."""
    options, _ = LEFT_OUT[case]
    metric, loaded, merged = counted(options), ClusteringMetric(**options), ClusteringMetric(**options)
    metric.persistent(True)
    state = dict(metric.state_dict())
    loaded.load_state_dict(state)
    merged.merge_state(ClusteringMetric(**options).metric_state)
    merged.merge_state(state)
    assert not metric.coverage.isnan()
    for other in (loaded, merged, metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert other.coverage == metric.coverage


def test_collections_warn_once_for_each_metric() -> None:
    options = LEFT_OUT["both sizes"][0]
    collection = MetricCollection([AdjustedRandScore(**options), ClusteringMetric(["purity"], **options)])
    collection.update(CODES, CLASSES)
    collection.update(CODES, CLASSES)
    with pytest.warns(UserWarning, match="exclude 6 of 16 items") as caught:
        collection.compute()
    assert sorted(str(x.message).partition(":")[0] for x in caught) == ["AdjustedRandScore", "ClusteringMetric"]


def test_unchecked_labels_count_on_devices() -> None:
    """Without waiting for the device."""
    metric = ClusteringMetric(num_classes=3, num_clusters=3, ignore_index=0)
    with tagged_cuda(waits=False):
        preds, target = (torch.zeros(10, dtype=torch.int64, device="cuda") for _ in range(2))
        metric.counts = torch.zeros(3, 3, dtype=torch.int64, device="cuda")
        metric.items = torch.zeros(2, dtype=torch.int64, device="cuda")
        metric.update(preds, target)
        assert metric.items.device.type == "cuda"


def test_labels_outside_the_codes_show_on_devices() -> None:
    with tagged_cuda():
        metric = ClusterAccuracy(num_classes=3).to("cuda")
        for _ in range(2):
            metric(CODES.to("cuda"), CLASSES.to("cuda"))
        with pytest.warns(UserWarning, match=r"ClusterAccuracy: labels outside the codes .* exclude 6 of 16 items"):
            value = metric.compute()
        assert float(metric.coverage) == 5 / 8
        assert float(value) == 4 / 5


SCORES = torch.rand(8, 4, generator=torch.Generator().manual_seed(0))


def test_unchecked_probabilities_are_left_out() -> None:
    """Every item is outside the codes, which shows; the value is that of an empty table."""
    sizes: dict[str, Any] = {"num_classes": 4, "num_clusters": 4, "validate": False}
    accumulator, metric = ContingencyAccumulator(**sizes).update(CLASSES, SCORES[:, 0]), AdjustedRandScore(**sizes)
    assert accumulator.tables().coverage == 0
    metric.update(SCORES[:, 0], CLASSES)
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
    preds, target = CODES[:6].reshape(2, 3), CLASSES[:6].reshape(2, 3)
    metric = AdjustedRandScore(item_dims=2)
    metric.update(preds, target)
    assert metric.compute() == tce.evaluate(target.flatten(), preds.flatten(), "ari")["ari"]
    with pytest.raises(ValueError, match="preds: expected a tensor of 2 dimensions"):
        metric.update(preds[0], target[0])


def checked(metric: Any, state: dict[str, Tensor | list[Tensor]]) -> str:
    try:
        metric.load_state_dict(state)
    except RuntimeError as error:
        return str(error)
    return ""


def test_states_of_other_sizes_are_refused() -> None:
    """And leave the metric as it was."""
    for options, state, expected in (
        ({"num_classes": 4, "num_clusters": 4}, {"counts": torch.ones(5, 4, dtype=torch.int64)}, "shape (4, 4)"),
        ({"num_classes": 4, "num_clusters": 4}, {"counts": torch.ones(4, 4)}, "torch.float32"),
        ({"num_classes": 4, "num_clusters": 4}, {"cells": [torch.ones(2, 3, dtype=torch.int64)]}, "Unexpected key"),
        ({}, {"cells": [torch.ones(2, 4, dtype=torch.int64)]}, "cells of shape (Z, 3)"),
    ):
        metric = AdjustedRandScore(**options)
        metric.update(CODES.clamp(0), CLASSES)
        before = metric.compute()
        assert expected in checked(metric, dict(state)), expected
        metric._computed = None
        assert metric.compute() == before


def test_merges_of_other_options_are_refused() -> None:
    for mine, its in (({}, {"noise_label": 2}), ({"ignore_index": 1}, {}), ({}, {"num_classes": 4})):
        metric, other = AdjustedRandScore(**mine), AdjustedRandScore(**its)
        name = next(iter({**mine, **its}))
        with pytest.raises(ValueError, match=f"state: expected one of a metric with {name}="):
            metric.merge_state(other)
        with pytest.raises(ValueError, match="state: expected one of a metric with the same options"):
            metric.merge_state(other.metric_state)
