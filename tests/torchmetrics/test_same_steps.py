"""The same steps with torchmetrics' own class (in float32) and with ours: the same values, states and errors."""

import pickle
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
import torchmetrics.clustering as peers
from torch import Tensor, nn
from torchmetrics import MetricCollection, MetricTracker, wrappers
from torchmetrics.functional.clustering import adjusted_rand_score as peer_adjusted_rand
from torchmetrics.utilities.exceptions import TorchMetricsUserError

from tests.support.metric_steps import BATCHES, assert_same, every_state, flags, forwarded, updated
from torchclusteval import torchmetrics as ours

Make = Callable[..., Any]


def booted(make: Make, **options: Any) -> Any:
    torch.manual_seed(0)
    metric: Any = wrappers.BootStrapper(make(), num_bootstraps=5, **options)
    return forwarded(metric), metric.compute(), metric.reset(), updated(metric, 2).compute()


def tracked(make: Make) -> Any:
    tracker: Any = MetricTracker(make(), maximize=True)
    for steps in (1, 3, 2):
        tracker.increment()
        updated(tracker, steps)
    found = tracker.compute_all(), tracker.best_metric(return_step=True), tracker.n_steps, tracker.compute()
    return found, tracker.reset(), tracker.increment(), forwarded(tracker)


def tracked_collection(make: Make) -> Any:
    tracker: Any = MetricTracker(MetricCollection({"a": make(), "b": make()}), maximize=[True, False])
    for steps in (1, 3, 2):
        tracker.increment()
        updated(tracker, steps)
    return tracker.compute_all(), tracker.best_metric(return_step=True)


def extremes(make: Make) -> Any:
    metric: Any = wrappers.MinMaxMetric(make())
    return forwarded(metric), metric.compute(), metric.reset(), forwarded(metric)


def tasks(make: Make) -> Any:
    metric = wrappers.MultitaskWrapper({"x": make(), "y": MetricCollection([make()])})
    for preds, target in BATCHES[:3]:
        metric.update({"x": preds, "y": target}, {"x": target, "y": target})
    preds, target = BATCHES[3]
    return metric.compute(), metric({"x": preds, "y": preds}, {"x": target, "y": target}), metric.compute()


def outputs(make: Make) -> Any:
    metric = wrappers.MultioutputWrapper(make(), 2)
    metric.update(*(torch.stack(columns, 1) for columns in zip(*BATCHES[:2], strict=True)))
    return metric.compute()


def merged(make: Make, what: Callable[[Any], Any]) -> Any:
    first, second = updated(make(), 2), make()
    second.persistent(True)
    second.update(*BATCHES[3])
    first.merge_state(what(second))
    found = first.compute(), second.compute(), first.update_count
    first.update(*BATCHES[4])
    return found, first.compute(), second.compute()


def merged_into_empty(make: Make) -> Any:
    metric = make()
    metric.merge_state(updated(make(), 2))
    metric.update(*BATCHES[2])
    return metric.compute()


def in_full(make: Make, full: bool | None) -> Any:
    metric = make()
    metric.__class__ = type("Other", (type(metric),), {"full_state_update": full})
    return forwarded(metric), metric.compute(), metric.update_count, flags(metric)


def twice(x: Tensor, group: Any = None) -> list[Tensor]:
    """What two processes with the same labels would gather."""
    return [x, x]


def synchronised(make: Make) -> Any:
    metric = updated(make())
    metric.sync(twice, distributed_available=lambda: True)
    before = flags(metric)
    with pytest.raises(TorchMetricsUserError, match="already been synced"):
        metric.sync(twice, distributed_available=lambda: True)
    with pytest.raises(TorchMetricsUserError, match="shouldn't be synced"):
        metric(*BATCHES[0])
    metric.unsync()
    with pytest.raises(TorchMetricsUserError, match="already been un-synced"):
        metric.unsync()
    return before, flags(metric), metric.compute(), updated(metric, 1).compute()


def gathered(make: Make, on_step: bool) -> Any:
    metric = make(dist_sync_on_step=on_step, distributed_available_fn=lambda: True, dist_sync_fn=twice)
    return forwarded(metric), metric.compute(), flags(metric), updated(metric, 1).compute(), metric.update_count


def saved(make: Make) -> Any:
    metric, loaded = updated(make()), make()
    nothing = dict(metric.state_dict())
    metric.persistent(True)
    result = str(loaded.load_state_dict(metric.state_dict()))
    value = loaded.compute(), loaded.update_count
    loaded.update(*BATCHES[4])
    metric.persistent(False)
    return nothing, result, value, loaded.compute(), metric.compute(), dict(metric.state_dict())


def in_a_module(make: Make) -> Any:
    """Moved, cast and saved with a model."""
    model: Any = nn.ModuleDict({"metric": updated(make()), "layer": nn.Linear(2, 2)})
    for cast in (model.half, model.bfloat16, model.double, model.float, lambda: model.to(torch.float16)):
        cast()
    keys = sorted(model.state_dict())
    buffers = [name for name, _ in model.named_buffers()]
    return keys, model["metric"].compute(), buffers, deepcopy(model)["metric"].compute()


def on_meta(make: Make, *, moved: bool = False, used: bool = False) -> Any:
    with torch.device("cpu" if moved else "meta"):
        model: Any = nn.ModuleDict({"metric": make()})
    model = model.to("meta") if moved else model
    metric: Any = model["metric"]
    if used:
        empty = torch.empty(5, device="meta", dtype=torch.int64)
        metric.update(empty, empty)
        metric.reset()
    device = str(metric.device)
    model.to_empty(device="cpu")
    return device, str(metric.device), updated(metric).compute(), metric.reset(), forwarded(metric), metric.compute()


def in_inference_mode(make: Make) -> Any:
    metric = make()
    with torch.inference_mode():
        updated(metric, 2)
    metric.update(*BATCHES[2])
    value = metric.compute()
    metric(*BATCHES[3])
    return value, metric.compute(), metric.reset(), updated(metric, 1).compute()


def composed(make: Make) -> Any:
    metrics = [make() + 2 * make() - 1, abs(make()), -make(), make() / 2, make() ** 2, make() > 0.1, make() * make()]
    return [(updated(m, 2).compute(), m(*BATCHES[2]), m.reset(), type(m).__name__) for m in metrics]


def collected(make: Make) -> Any:
    collection: Any = MetricCollection({"a": make(), "b": make()}, prefix="x/")
    found = [collection(*batch) for batch in BATCHES[:2]]
    updated(collection, 2)
    copy = collection.clone(prefix="y/")
    copy.update(*BATCHES[4])
    collection.update(preds=BATCHES[5][0], target=BATCHES[5][1], other=3)
    return found, collection.compute(), copy.compute(), collection.compute_groups, collection.reset(), copy.compute()


def hashes(make: Make) -> Any:
    metric = make()
    return len({metric, make(), metric}), hash(metric) == hash(metric)


def shared_results(make: Make) -> Any:
    metric, other = updated(make()), updated(make(compute_with_cache=False))
    return metric.compute() is metric.compute(), metric._computed, other.compute() is other.compute(), other._computed


def told(metric: Any) -> Any:
    return metric.full_state_update, metric.plot_legend_name, metric.plot_lower_bound, repr(metric), str(metric.dtype)


def forgotten(make: Make) -> Any:
    metric = updated(make())
    metric.compute()
    metric.reset()
    metric.reset()
    return metric.update_count, metric.update_called, metric._computed, updated(metric, 1).compute()


def copied(make: Make, copy: Callable[[Any], Any]) -> Any:
    metric = updated(make())
    metric.compute()
    other = copy(metric)
    other.update(*BATCHES[4])
    return metric.compute(), other.compute(), other.update_count, metric.update_count


STEPS: dict[str, Callable[[Make], Any]] = {
    "update": lambda make: [updated(make(), n).compute() for n in range(1, 5)],
    "forward": lambda make: in_full(make, False),
    "full_state_update": lambda make: in_full(make, True),
    "full_state_update, not set": lambda make: in_full(make, None),
    "keywords": lambda make: make()(target=BATCHES[0][1], preds=BATCHES[0][0]),
    "booleans": lambda make: make()(*(x > 1 for x in BATCHES[0])),
    "other integers": lambda make: make()(BATCHES[0][0].int(), BATCHES[0][1].to(torch.uint8)),
    "an empty batch": lambda make: (m := updated(make())).update(*(x[:0] for x in BATCHES[0])) or m.compute(),
    "reset": forgotten,
    "clone": lambda make: copied(make, lambda metric: metric.clone()),
    "deepcopy": lambda make: copied(make, deepcopy),
    "pickle": lambda make: copied(make, lambda metric: pickle.loads(pickle.dumps(metric))),
    "state_dict": saved,
    "merge a metric": lambda make: merged(make, lambda other: other),
    "merge metric_state": lambda make: merged(make, lambda other: other.metric_state),
    "merge state_dict": lambda make: merged(make, lambda other: dict(other.state_dict())),
    "merge into an empty one": merged_into_empty,
    "merge another class": lambda make: make().merge_state(peers.DunnIndex()),
    "merge a number": lambda make: make().merge_state(3),
    "merge nothing": lambda make: make().merge_state({}),
    "merge, dist_sync_on_step": lambda make: make(dist_sync_on_step=True).merge_state(make()),
    "sync": synchronised,
    "gather": lambda make: gathered(make, False),
    "dist_sync_on_step": lambda make: gathered(make, True),
    "dist_sync_on_step alone": lambda make: forwarded(make(dist_sync_on_step=True)),
    "sync_on_compute=False": lambda make: [
        updated(make(sync_on_compute=False, distributed_available_fn=lambda: True, dist_sync_fn=twice)).compute()
    ],
    "compute_on_cpu": lambda make: (forwarded(m := make(compute_on_cpu=True)), updated(m).compute()),
    "cache": shared_results,
    "module": in_a_module,
    "meta, made there": lambda make: on_meta(make),
    "meta, updated there": lambda make: on_meta(make, used=True),
    "meta, moved there": lambda make: on_meta(make, moved=True),
    "set_dtype": lambda make: [str(make().set_dtype(torch.float64).dtype)],
    "inference mode": in_inference_mode,
    "compositions": composed,
    "hash": hashes,
    "facts": lambda make: told(make()),
    "keywords that are none": lambda make: make(dist_sync_on_step=1),
    "unknown keyword": lambda make: make(number=1),
    "constants": lambda make: setattr(make(), "full_state_update", True),
    "iteration": lambda make: iter(make()),
    "plot": lambda make: [type(x).__name__ for x in make().plot(torch.tensor(0.5))],
    "collection": collected,
    "collection of two alike": lambda make: MetricCollection([make(), make()]),
    "collection with others": lambda make: updated(MetricCollection([make(), peers.DunnIndex()]), 0).compute_groups,
    "poisson bootstrap": lambda make: booted(make, raw=True),
    "multinomial bootstrap": lambda make: booted(make, raw=True, sampling_strategy="multinomial"),
    "one quantile": lambda make: booted(make, quantile=0.5),
    "quantiles": lambda make: booted(make, quantile=torch.tensor([0.05, 0.95]), mean=False, std=False),
    "no mean": lambda make: booted(make, mean=False, raw=True),
    "tracker": tracked,
    "tracker of a collection": tracked_collection,
    "tracker without steps": lambda make: MetricTracker(make(), maximize=True).compute(),
    "classwise": lambda make: updated(wrappers.ClasswiseWrapper(make())).compute(),
    "tasks": tasks,
    "outputs": outputs,
    "minimum and maximum": extremes,
    "shared features": lambda make: wrappers.FeatureShare([make()]),
}


def outcome(steps: Callable[[Make], Any], make: Make) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return steps(make)
        except (Exception, pytest.fail.Exception) as error:
            return type(error).__name__


ERRORS = dict.fromkeys(("merge another class", "merge a number", "merge nothing"), "ValueError")
ERRORS |= dict.fromkeys(("unknown keyword", "collection of two alike", "tracker without steps"), "ValueError")
ERRORS |= {"merge, dist_sync_on_step": "RuntimeError", "constants": "RuntimeError", "iteration": "TypeError"}
ERRORS |= {"classwise": "TypeError", "shared features": "AttributeError", "keywords that are none": "ValueError"}


@every_state
@pytest.mark.parametrize("steps", STEPS)
def test_the_same_steps(steps: str, options: dict[str, Any]) -> None:
    mine = lambda **more: ours.AdjustedRandScore(**options, **more)  # noqa: E731
    found, expected = (outcome(STEPS[steps], make) for make in (mine, peers.AdjustedRandScore))
    assert (expected if isinstance(expected, str) else None) == ERRORS.get(steps)
    assert_same(found, expected)


def adjusted_rand(batches: list[tuple[Tensor, Tensor]]) -> float:
    """That of torchmetrics' function."""
    return float(peer_adjusted_rand(*map(torch.cat, zip(*batches, strict=True))))


@every_state
@pytest.mark.parametrize("window", [1, 3])
def test_a_running_window(window: int, options: dict[str, Any]) -> None:
    """Theirs loses its batches, as it keeps lists that are emptied, and cannot compute a window that is not full."""
    metric: Any = wrappers.Running(ours.AdjustedRandScore(**options), window)
    for epoch in range(2):
        for number, batch in enumerate(BATCHES, 1):
            value = metric(*batch) if number % 2 else metric.update(*batch)
            if value is not None:
                assert float(value) == pytest.approx(adjusted_rand([batch]), rel=1e-4)
            seen = BATCHES[max(0, number - window) : number]
            assert float(metric.compute()) == pytest.approx(adjusted_rand(seen), rel=1e-4), (epoch, number)
        metric.reset()


@every_state
def test_a_loaded_state_is_nobody_elses(options: dict[str, Any]) -> None:
    """Theirs shares the lists of a dictionary between all metrics that load it."""
    metric = updated(ours.AdjustedRandScore(**options))
    metric.persistent(True)
    state = metric.state_dict()
    first, second, third = (ours.AdjustedRandScore(**options) for _ in range(3))
    for other in (first, second):
        other.load_state_dict(state)
    first.update(*BATCHES[4])
    third.load_state_dict(state)
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert second.compute() == third.compute() == metric.compute()
    assert float(first.compute()) == pytest.approx(adjusted_rand([*BATCHES[:3], BATCHES[4]]), rel=1e-4)


@every_state
def test_a_merge_forgets_what_was_computed(options: dict[str, Any]) -> None:
    """Theirs returns the value from before the merge."""
    metric = updated(ours.AdjustedRandScore(**options), 2)
    metric.compute()
    other = ours.AdjustedRandScore(**options)
    other.update(*BATCHES[2])
    metric.merge_state(other)
    assert float(metric.compute()) == pytest.approx(adjusted_rand(BATCHES[:3]), rel=1e-4)


@every_state
def test_a_synchronised_metric_takes_no_batch(options: dict[str, Any]) -> None:
    """It would be gone after ``unsync``, without a word."""
    metric = updated(ours.AdjustedRandScore(**options))
    with (
        pytest.raises(TorchMetricsUserError, match="not synchronised; call unsync first"),
        metric.sync_context(twice, distributed_available=lambda: True),
    ):
        metric.update(*BATCHES[0])


@every_state
@pytest.mark.parametrize("broken", ["update", "compute"])
def test_a_failed_forward_changes_nothing(broken: str, options: dict[str, Any], monkeypatch: Any) -> None:
    """Nor does one that is interrupted. Theirs forgets all batches."""
    metric = updated(ours.AdjustedRandScore(**options))
    before = flags(metric)
    for error in (RuntimeError, KeyboardInterrupt):
        with monkeypatch.context() as context:

            def fail(*_: Any, error: type[BaseException] = error) -> None:
                raise error

            context.setattr(metric, broken, fail)
            with pytest.raises(error):
                metric(*BATCHES[3])
        assert flags(metric) == before
    assert float(metric.compute()) == pytest.approx(adjusted_rand(BATCHES[:3]), rel=1e-4)
