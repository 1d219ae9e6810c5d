"""Clusterings as layers of groups with the items that groups of consecutive ones share, ordered to cross little."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from torchclusteval.inference import transitions
from torchclusteval.inference.coded_runs import code_runs
from torchclusteval.inference.run_transitions import Transitions
from torchclusteval.labels.encoding import argument_names
from torchclusteval.labels.renaming import as_array
from torchclusteval.plots.canvas import Array, array, checked_names
from torchclusteval.tables import ContingencyTables

_SWEEPS = 6


@dataclass(frozen=True, eq=False)
class Layer:
    """The groups of one clustering, in the order in which they are drawn."""

    labels: list[str]
    sizes: Array  # (K,)
    stability: Array  # (K,) SC3 stability, nan where it is not known


@dataclass(frozen=True, eq=False)
class Flows:
    """Groups by clustering, and the items that each two groups of consecutive clusterings share."""

    names: list[str]
    layers: list[Layer]
    counts: list[Array]  # (groups, groups of the next clustering) each


def flows_of(source: Any, names: Sequence[Hashable] | None, least: int = 2) -> Flows:
    if isinstance(source, ContingencyTables):
        flows = _flows_of_table(source)
    else:
        found = source
        if not isinstance(source, Transitions):
            with argument_names(labels="source"):
                names = code_runs(source, None, None).names if names is None else names
                found = transitions(source)
        flows = _flows_of_transitions(found)
    if not any(layer.sizes.sum() for layer in flows.layers):
        raise ValueError("source: expected clusterings with items; got none")
    count = len(flows.layers)
    if count < least:
        raise ValueError(f"source: expected at least {least} clusterings; got {count}")
    return Flows(checked_names(names, flows.names, count), flows.layers, flows.counts)


def _flows_of_table(tables: ContingencyTables) -> Flows:
    if tables.batch_shape:
        raise ValueError(f"source: expected one table, such as tables[0]; got a batch of {tuple(tables.batch_shape)}")
    counts = tables.to_dense().counts.detach().cpu().numpy()
    rows, columns = np.flatnonzero(counts.sum(1)), np.flatnonzero(counts.sum(0))
    sides = ((tables.classes, counts.shape[0], rows), (tables.clusters, counts.shape[1], columns))
    counts = counts[np.ix_(rows, columns)]
    layers = [
        Layer([str(x) for x in as_array(labels, size)[kept].tolist()], sums, np.full(len(kept), np.nan))
        for (labels, size, kept), sums in zip(sides, (counts.sum(1), counts.sum(0)), strict=True)
    ]
    return Flows(["class", "cluster"], layers, [counts])


def _flows_of_transitions(found: Transitions) -> Flows:
    run, step = array(found.run), array(found.step)
    labels, source, target = (
        np.array([str(x) for x in part.tolist()], dtype=object)
        for part in (found.label, found.from_label, found.to_label)
    )
    sizes, stability, count = array(found.size), array(found.stability), array(found.count)
    layers = []
    for k in range(int(run.max(initial=-1)) + 1):
        own = run == k
        layers.append(Layer(labels[own].tolist(), sizes[own], stability[own]))
    counts = []
    for k, (here, there) in enumerate(pairwise(layers)):
        first, second = ({label: i for i, label in enumerate(layer.labels)} for layer in (here, there))
        matrix = np.zeros((len(first), len(second)), dtype=count.dtype)
        for i in np.flatnonzero(step == k).tolist():
            matrix[first[source[i]], second[target[i]]] += count[i]
        counts.append(matrix)
    return Flows([str(k) for k in range(len(layers))], layers, counts)


def ordered(flows: Flows) -> Flows:
    """Groups in an order in which few bands cross: each at the mean place of its items in the neighbours."""
    orders = [np.arange(len(layer.sizes)) for layer in flows.layers]
    best, fewest = [order.copy() for order in orders], _crossings(flows.counts, orders)
    for sweep in range(_SWEEPS):
        places = range(1, len(orders)) if sweep % 2 == 0 else range(len(orders) - 2, -1, -1)
        for k in places:
            counts = flows.counts[k - 1].T if sweep % 2 == 0 else flows.counts[k]
            neighbour = np.empty(len(orders[k - 1 if sweep % 2 == 0 else k + 1]))
            neighbour[orders[k - 1 if sweep % 2 == 0 else k + 1]] = np.arange(len(neighbour))
            mean = counts @ neighbour / np.maximum(counts.sum(1), 1)
            orders[k] = orders[k][np.argsort(mean[orders[k]], kind="stable")]
        crossings = _crossings(flows.counts, orders)
        if crossings < fewest:
            best, fewest = [order.copy() for order in orders], crossings
    layers = [
        Layer([layer.labels[i] for i in order], layer.sizes[order], layer.stability[order])
        for layer, order in zip(flows.layers, best, strict=True)
    ]
    reordered = [x[np.ix_(best[k], best[k + 1])] for k, x in enumerate(flows.counts)]
    return Flows(flows.names, layers, reordered)


def _crossings(counts: Sequence[Array], orders: Sequence[Array]) -> float:
    """Pairs of items whose bands cross."""
    total = 0.0
    for k, matrix in enumerate(counts):
        x = matrix[np.ix_(orders[k], orders[k + 1])].astype(float)
        below = np.cumsum(x[::-1], 0)[::-1] - x  # items of later rows in the same column
        total += float((x * (np.cumsum(below, 1) - below)).sum())
    return total
