"""A user's program: ``.ci/run`` checks its types strictly against the installed package."""

import numpy as np
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval import measures


def right(tables: tce.ContingencyTables) -> Tensor:
    share: Tensor = tables.counts.diagonal(dim1=-2, dim2=-1).sum(-1) / tables.n_items
    return share


labels_true = np.array([0, 0, 1, 1])
labels_pred = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]])

own = tce.Measure(name="right", family="matching", function=right, range=(0, 1))
scores: tce.Scores = tce.evaluate(labels_true, labels_pred, ["ari", own])
value: Tensor = scores["adjusted_rand"]
tables: tce.ContingencyTables = tce.ContingencyTables.from_labels(labels_true, labels_pred, missing="ignore")
direct: Tensor = measures.adjusted_rand(tables) + measures.ari(tables) + measures.nmi_max(tables)
low: Tensor = tce.bootstrap(tables, ["ari"], rng=0)["adjusted_rand"].low

accumulator = tce.ContingencyAccumulator(num_classes=2, num_clusters=2)
accumulator.update(labels_true, labels_pred[0])
streamed: tce.Scores = tce.evaluate_tables(accumulator.tables(), "pairs")


def refused_by_mypy() -> None:
    tce.evaluate(labels_true, labels_pred, nothing=1)  # type: ignore[call-arg]
