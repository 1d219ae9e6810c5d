"""The same steps in two processes with torchmetrics' own class and with ours, also where one process has no items."""

import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torchmetrics.clustering as peers
from sklearn import metrics as reference
from torch import Tensor
from torchmetrics import MetricCollection, MetricTracker
from torchmetrics.wrappers import BootStrapper, MinMaxMetric, MultitaskWrapper, Running

from tests.support.metric_steps import BATCHES, SIZES, assert_same, flags
from tests.support.processes import of_ranks
from torchclusteval import torchmetrics as ours
from torchclusteval.torchmetrics import AdjustedRandScore, ClusterAccuracy, ClusteringMetric

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

NAMES = tuple(name for name in ours.__all__ if name not in ("ClusteringMetric", "ClusterAccuracy"))
OWN = {
    "all": lambda rank: BATCHES[rank::2],
    "the first": lambda rank: BATCHES[:3] if rank == 0 else [],
    "the last": lambda rank: BATCHES[:3] if rank == 1 else [],
}
# AdjustedRandScore: adjusted_rand_score
SCIKIT_LEARN = {x: re.sub("(?<!^)(?=[A-Z])", "_", x).lower().replace("index", "score") for x in NAMES}

Batches = list[tuple[Tensor, Tensor]]


def by_update(metric: Any, batches: Batches) -> Any:
    for batch in batches:
        metric.update(*batch)
    return metric


def by_forward(make: Callable[..., Any], batches: Batches) -> Any:
    metric = make()
    values = [metric(*batch) for batch in batches]
    return values, metric.compute(), flags(metric), by_update(metric, batches[:1]).compute()


def by_hand(make: Callable[..., Any], batches: Batches) -> Any:
    metric = by_update(make(), batches)
    metric.sync()
    synced = metric._is_synced, type(metric).compute(metric)
    metric.unsync()
    with metric.sync_context(should_sync=False):
        alone = type(metric).compute(metric)
    return synced, alone, metric._is_synced, by_update(metric, batches[:1]).compute()


def tracked(make: Callable[..., Any], batches: Batches) -> Any:
    tracker = MetricTracker(make(), maximize=True)
    for batch in batches:
        tracker.increment()
        tracker.update(*batch)
    return tracker.compute_all(), tracker.best_metric(return_step=True)


def tasks(make: Callable[..., Any], batches: Batches) -> Any:
    metric = MultitaskWrapper({"x": make(), "y": make()})
    for preds, target in batches:
        metric.update({"x": preds, "y": target}, {"x": target, "y": target})
    return metric.compute()


def booted(make: Callable[..., Any], batches: Batches) -> Any:
    torch.manual_seed(dist.get_rank())
    metric = BootStrapper(make(), num_bootstraps=4, raw=True, quantile=torch.tensor([0.1, 0.9]))
    return by_update(metric, batches).compute()


STEPS: dict[str, Callable[..., Any]] = {
    "forward": by_forward,
    "update": lambda make, batches: by_update(make(), batches).compute(),
    "dist_sync_on_step": lambda make, batches: by_forward(lambda: make(dist_sync_on_step=True), batches),
    "sync": by_hand,
    "collection": lambda make, batches: by_update(MetricCollection({"a": make(), "b": make()}), batches).compute(),
    "tracker": tracked,
    "tasks": tasks,
    "bootstrap": booted,
    "minimum": lambda make, batches: by_update(MinMaxMetric(make()), batches).compute(),
    "group": lambda make, batches: by_update(make(process_group=dist.group.WORLD), batches).compute(),
}


def run(rank: int, ranks: int) -> dict[Any, Any]:
    warnings.simplefilter("ignore")
    found: dict[Any, Any] = {}
    for steps, function in STEPS.items():
        found[steps, "theirs"] = function(peers.AdjustedRandScore, BATCHES[rank::2])
        for state, sizes in SIZES.items():
            found[steps, state] = function(partial(AdjustedRandScore, **sizes), BATCHES[rank::2])
    for own, batches in OWN.items():
        for state, sizes in SIZES.items():
            for name in NAMES:
                metric = getattr(ours, name)(**sizes)
                found[own, state, name] = by_update(metric, batches(rank)).compute()
            found[own, state, "running"] = by_update(Running(AdjustedRandScore(**sizes), 4), batches(rank)).compute()
            found[own, state, "coverage"] = covered(batches(rank), sizes)
        accuracy = by_update(ClusterAccuracy(5), batches(rank))
        found[own, "accuracy"] = accuracy.compute(), int(accuracy.tables().n_items)
    return found


def covered(batches: Batches, sizes: dict[str, Any]) -> Any:
    """Within a synchronisation, the share of the items of all processes that is in the table; outside, of one."""
    metric = by_update(ClusteringMetric(["rand"], ignore_index=0, **sizes), batches)
    with metric.sync_context():
        whole = metric.coverage
    return whole, metric.coverage


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Any]]:
    return of_ranks(run, 2, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("state", SIZES)
@pytest.mark.parametrize("steps", STEPS)
def test_the_same_steps(ranks: list[dict[Any, Any]], steps: str, state: str) -> None:
    for found in ranks:
        assert_same(found[steps, state], found[steps, "theirs"])


@pytest.mark.parametrize("state", SIZES)
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("name", [*NAMES, "running"])
def test_values_are_those_of_all_items(ranks: list[dict[Any, Any]], name: str, own: str, state: str) -> None:
    """Against scikit-learn; theirs fails where a process has none, and in windows that are not full."""
    preds, target = map(torch.cat, zip(*(batch for rank in range(2) for batch in OWN[own](rank)), strict=True))
    function = getattr(reference, SCIKIT_LEARN["AdjustedRandScore" if name == "running" else name])
    for found in ranks:
        assert float(found[own, state, name]) == pytest.approx(function(target, preds), abs=1e-12)


@pytest.mark.parametrize("own", OWN)
def test_coverage_of_all_and_of_one(ranks: list[dict[Any, Any]], own: str) -> None:
    parts = [[target for _, target in OWN[own](rank)] for rank in range(2)]
    shares = [float((torch.cat(x) != 0).double().mean()) if x else math.nan for x in [[*parts[0], *parts[1]], *parts]]
    for rank, found in enumerate(ranks):
        for state in SIZES:
            whole, alone = found[own, state, "coverage"]
            assert float(whole) == pytest.approx(shares[0], abs=1e-12)
            assert float(alone) == pytest.approx(shares[1 + rank], abs=1e-12, nan_ok=True)


def test_accuracy_and_local_tables(ranks: list[dict[Any, Any]]) -> None:
    for own in OWN:
        assert ranks[0][own, "accuracy"][0] == ranks[1][own, "accuracy"][0]
        assert [found[own, "accuracy"][1] for found in ranks] == [60 * len(OWN[own](rank)) for rank in range(2)]
