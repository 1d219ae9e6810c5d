"""Metrics of one collection that differ in nothing but their measures share counts, and each gives its own values."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torchmetrics import MetricCollection

from torchclusteval.torchmetrics import ClusteringMetric

SIZES: dict[str, dict[str, Any]] = {"sizes": {"num_classes": 2, "num_clusters": 2}, "no sizes": {}}
# By hand, (purity, Rand index): predictions and truth of a batch, of it with the one after it, and of the third alone.
BATCHES = [([0, 0, 0], [0, 0, 1]), ([1], [1]), ([0, 0, 1], [0, 1, 1])]
FIRST, BOTH, LAST = (2 / 3, 1 / 3), (3 / 4, 1 / 2), (2 / 3, 1 / 3)
ORDERS = {"purity first": ["purity", "rand"], "rand first": ["rand", "purity"]}


def metric(measure: str, **options: Any) -> ClusteringMetric:
    return ClusteringMetric([measure], **options)


def update(collection: MetricCollection, number: int) -> None:
    collection.update(*map(torch.tensor, BATCHES[number]))


def values(collection: MetricCollection) -> tuple[float, float]:
    found = collection.compute()
    assert set(found) == {"purity", "rand"}
    return pytest.approx((float(found["purity"]), float(found["rand"])), rel=1e-15)  # type: ignore[return-value]


COPIES: dict[str, Callable[[MetricCollection], MetricCollection]] = {
    "itself": lambda collection: collection,
    "pickled": lambda collection: pickle.loads(pickle.dumps(collection)),
    "deep copy": copy.deepcopy,
    "clone": lambda collection: collection.clone(),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("at", ["before the first batch", "after it", "after both"])
def test_each_gives_its_own_values(order: str, sizes: str, copied: str, at: str) -> None:
    collection = MetricCollection({name: metric(name, **SIZES[sizes]) for name in ORDERS[order]})
    if at == "before the first batch":
        collection = COPIES[copied](collection)
    update(collection, 0)
    assert values(collection) == FIRST
    if at == "after it":
        collection = COPIES[copied](collection)
        assert values(collection) == FIRST
    update(collection, 1)
    assert len(collection.compute_groups) == 1
    if at == "after both":
        collection = COPIES[copied](collection)
    assert values(collection) == BOTH
    collection.reset()
    update(collection, 2)
    assert values(collection) == LAST


def test_a_metric_that_is_added_later() -> None:
    """It has seen one batch less, so that it shares no counts with the first."""
    collection = MetricCollection({"purity": metric("purity")})
    update(collection, 0)
    collection.add_metrics({"rand": metric("rand")})
    update(collection, 1)
    update(collection, 2)
    # By hand: the rand index of [1, 0, 0, 1] against [1, 0, 1, 1] is 3 of 6 pairs; the purity of all seven is 5 / 7.
    assert values(collection) == (5 / 7, 1 / 2)
