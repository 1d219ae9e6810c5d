"""What happens in training loops: batches on other devices, forgotten calls, wrong shapes, objects that are shared."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("torchmetrics")

from torchmetrics import MetricCollection

import torchclusteval as tce
from tests.support.metric_steps import BATCHES, updated
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval import ContingencyAccumulator
from torchclusteval.torchmetrics import AdjustedRandScore, ClusteringMetric, NormalizedMutualInfoScore
from torchclusteval.torchmetrics import clustering_metric as module

PREDS, TARGET = BATCHES[0]
OPTIONS: dict[str, dict[str, Any]] = {"no sizes": {}, "sizes": {"num_classes": 5, "num_clusters": 5}}
every_state = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def expected(batches: list[tuple[Tensor, Tensor]]) -> float:
    preds, target = map(torch.cat, zip(*batches, strict=True))
    return float(tce.evaluate(target, preds, "ari")["ari"])


# --- devices ------------------------------------------------------------------------------------------------


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


# --- calls that are forgotten, doubled or in another order ------------------------------------------------


@every_state
def test_compute_within_the_loop(options: dict[str, Any]) -> None:
    metric = AdjustedRandScore(**options)
    for number, batch in enumerate(BATCHES, 1):
        metric.update(*batch)
        assert float(metric.compute()) == float(metric.compute()) == expected(BATCHES[:number])


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
def test_a_module_that_holds_it(options: dict[str, Any]) -> None:
    model = nn.Module()
    model.metric = AdjustedRandScore(**options)
    model.train().eval().requires_grad_(False).zero_grad()
    model.metric.update(*BATCHES[0])
    model.share_memory()
    with torch.autocast("cpu"):
        model.metric.update(*BATCHES[1])
    assert float(model.metric.compute()) == expected(BATCHES[:2])
    assert list(model.parameters()) == list(model.buffers()) == []


@every_state
def test_no_graph_is_kept(options: dict[str, Any]) -> None:
    scores = torch.rand(60, 5, requires_grad=True)
    metric = AdjustedRandScore(**options)
    value = metric(scores.argmax(-1), TARGET)
    assert not value.requires_grad
    metric.update(PREDS.double().requires_grad_(), TARGET)
    assert not metric.compute().requires_grad


def test_results_are_ordinary_tensors() -> None:
    """Formatted, saved, compared, computed with and stacked as any other."""
    value = updated(AdjustedRandScore()).compute()
    assert f"{value:.3f}" == f"{float(value):.3f}"
    assert repr(value) == repr(torch.tensor(float(value), dtype=torch.float64))
    assert type(value + 1) is type(value.detach()) is type(value.cpu()) is Tensor
    assert torch.stack([value, value]).tolist() == [float(value)] * 2
    assert np.asarray(value) == float(value)
    assert value == value.clone()
    assert {value.item(): 1}[float(value)] == 1
    for q in (0.5, torch.tensor(0.5), torch.tensor([0.5], dtype=torch.float16)):
        assert torch.quantile(torch.stack([value, value]), q).unique() == value
        assert torch.stack([value, value]).nanquantile(q=q).unique() == value
    for other in (torch.tensor(float(value)), torch.tensor(float(value), dtype=torch.float64)):
        assert torch.allclose(value, other)
        assert torch.allclose(input=other, other=value)
        assert value.allclose(other, atol=0.0, rtol=1e-6)
        assert other.expand(2).isclose(torch.stack([value, value])).all()
        assert not torch.isclose(other + 1e-3, value)
    with pytest.raises(RuntimeError, match="did not match"):  # as between any two tensors
        torch.allclose(value, torch.tensor(1))


def test_results_are_saved_as_plain_tensors(tmp_path: Any) -> None:
    value = updated(AdjustedRandScore()).compute()
    torch.save({"score": value}, tmp_path / "score.pt")
    loaded = torch.load(tmp_path / "score.pt", weights_only=True)["score"]
    assert type(loaded) is Tensor
    assert loaded == value


@every_state
def test_threads(options: dict[str, Any]) -> None:
    """One object in each thread: nothing is shared between them."""
    metrics = [AdjustedRandScore(**options) for _ in range(4)]
    threads = [threading.Thread(target=updated, args=(metric, 6)) for metric in metrics]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {float(metric.compute()) for metric in metrics} == {expected(BATCHES)}


# --- shapes and types -----------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[Any, Any, str]] = {
    "logits": (torch.randn(60, 5), TARGET, "preds: .*take preds.argmax(-1) of probabilities, logits or one-hot rows)"),
    "one-hot rows": (PREDS, nn.functional.one_hot(TARGET), "target: .*take target.argmax(-1) of"),
    "a column": (PREDS[:, None], TARGET[:, None], "preds: .*(take preds.squeeze(-1))"),
    "a single label": (torch.tensor(1), torch.tensor(1), "preds: expected a tensor of shape (N,); got shape ()"),
    "arrays": (PREDS.numpy(), TARGET.numpy(), "preds: expected a tensor of shape (N,); got ndarray"),
    "half a batch": (PREDS[:30], TARGET, "preds: expected one number of items everywhere"),
    "nan": (
        PREDS / PREDS,
        TARGET,
        'preds: expected a label for every item; got nan .* (leave such items out by missing="ignore")',
    ),
    "infinite": (PREDS / 0.0, TARGET, "preds: expected whole numbers; got inf"),
    "complex": (PREDS + 0j, TARGET, "preds: expected a dense tensor of whole numbers"),
    "sparse": (PREDS, TARGET.to_sparse(), "target: expected a dense tensor of whole numbers"),
    "fractions": (PREDS, TARGET + 0.5, "target: expected whole numbers"),
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


def test_what_evaluates_tables_names_the_tables() -> None:
    for value in (ContingencyAccumulator(), AdjustedRandScore()):
        with pytest.raises(ValueError, match=r"\.tables\(\) of an accumulator"):
            tce.evaluate_tables(value, "ari")  # type: ignore[arg-type]


# --- accumulators ---------------------------------------------------------------------------------------------


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


@every_state
def test_an_accumulator_merged_with_itself(options: dict[str, Any]) -> None:
    accumulator = ContingencyAccumulator(**options).update(TARGET, PREDS)
    assert int(accumulator.merge(accumulator).tables().n_items) == 120


def test_a_broken_sum_is_refused() -> None:
    accumulator = ContingencyAccumulator().update(["a"], ["b"])
    for reduced in (3, {}, {"ranks": [0]}, {"ranks": [0], "state": {}}):
        with pytest.raises(ValueError, match="state: expected"):
            accumulator.load_state_dict({**accumulator.state_dict(), "reduced": reduced})
    assert int(accumulator.tables().n_items) == 1
