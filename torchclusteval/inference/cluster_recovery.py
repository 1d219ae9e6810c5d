"""Which clusters of a reference come back in other clusterings of the same items."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.formatting import format_number
from torchclusteval.common.optional import DataFrame, import_optional
from torchclusteval.common.results import Printed, Shown
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.encoding import argument_names
from torchclusteval.labels.group_labels import GroupLabels, as_objects, labels_at
from torchclusteval.labels.options import LabelKeywords
from torchclusteval.tables import ContingencyTables

_RECOVERED_ABOVE, _DISSOLVED_UP_TO = 0.75, 0.5
_COLUMNS = ("size", "runs", "mean_jaccard", "recovered", "dissolved", "prediction_strength")


@dataclass(frozen=True, eq=False, repr=False)
class ClusterStability(Printed):
    """How each of the K clusters of a reference fares in B runs, as :func:`cluster_stability` returns it.

    >>> found = tce.cluster_stability([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> [round(x, 4) for x in found.mean_jaccard.tolist()]
    [0.8333, 0.75]
    """

    labels: GroupLabels  # (K,) of the clusters
    size: Tensor  # (K,) int64 items
    runs: Tensor  # (K,) int64 runs that have items of the cluster
    mean_jaccard: Tensor  # (K,) float64 mean over these runs; nan without any
    recovered: Tensor  # (K,) int64 runs with a Jaccard index above 0.75
    dissolved: Tensor  # (K,) int64 runs with one of at most 0.5
    prediction_strength: Tensor  # (K,) float64 mean share of the pairs that a run keeps together; nan without pairs
    jaccard: Tensor  # (B, K) float64 in each run; nan where the run has no items of the cluster

    def to_dict(self) -> dict[str, Any]:
        """Fields as lists."""
        return {"labels": self.labels.tolist(), **{name: getattr(self, name).tolist() for name in _COLUMNS}}

    def to_pandas(self) -> DataFrame:
        """One row a cluster, with its label as the index; needs pandas."""
        pandas = import_optional("pandas", "pandas")
        values = {name: getattr(self, name).numpy(force=True) for name in _COLUMNS}
        return pandas.DataFrame(values, index=self.labels.tolist())

    def _shown(self) -> Shown:
        rows = [
            [str(label), *(format_number(x) if isinstance(x, float) else str(x) for x in values)]
            for label, *values in zip(*self.to_dict().values(), strict=True)
        ]
        return Shown(["cluster", *_COLUMNS], rows)


@on_one_thread
def cluster_stability(
    labels_true: Any,
    labels_pred: Any,
    mask: Any = None,
    *,
    noise_label: Any = None,
    device: torch.device | str | None = None,
) -> ClusterStability:
    """How well each cluster of a reference is found again by other runs, such as those on resampled items.

    The Jaccard index of cluster k in run b is ``max_D |C_k & D| / |C_k | D|`` over the clusters D of the run, on the
    items that the run has. A run equal to the reference counts as any other (the command ``cluster-stability`` leaves
    out the reference's column).

    Args:
        labels_true: ``(N,)`` labels; see ``ContingencyTables.from_labels`` for what labels may be.
        labels_pred: ``(B, N)`` labels of the runs, or ``(N,)`` of one. Items that a run lacks have a missing label
            (None, nan ...) or are masked.
        mask: ``(N,)`` or ``(B, N)`` booleans, True for the items that a run has.
        noise_label: the label of noise, in the reference and in the runs. It is a cluster compared only with the
            noise of a run; other clusters are compared only with other clusters.
        device: where to count; by default that of the tensors given.

    Returns:
        For each cluster of the reference: its size, the number of runs with items of it, over these the mean Jaccard
        index, the runs that recovered (above 0.75) and dissolved it (at most 0.5), and prediction strength
        ``sum_j C(n_kj, 2) / C(r_k, 2)`` (mean over runs with a pair of its items; its smallest value over the clusters
        is that of the clustering). 0 to 1, higher is more stable; nan where no run has its items (a pair of them).
        A mean Jaccard index from 0.85 is read as highly stable, from 0.75 as stable, below 0.6 as not to be trusted.

    Raises:
        ValueError: the reference is not one clustering, or labels are not as described.

    Source: Hennig (2007); Tibshirani and Walther (2005).

    Example:
        >>> import torchclusteval as tce
        >>> reference = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
        >>> runs = [[0, 0, 0, 1, 1, 1, 1, 2, None, None], [None, 0, 0, None, 0, 1, 1, 2, 2, 2]]
        >>> [round(x, 4) for x in tce.cluster_stability(reference, runs).mean_jaccard.tolist()]
        [0.7083, 0.7083, 1.0]
    """
    options: LabelKeywords = {"missing": "ignore", "item_dims": 1, "device": device}
    noise: LabelKeywords = {} if noise_label is None else {"noise_label": noise_label, "noise": "cluster"}
    with argument_names(labels_pred="labels_true"):  # noise stays among the classes, and is checked
        whole = ContingencyTables.from_labels(labels_true, labels_true, **(options | noise))
    if whole.batch_shape:
        got = f"{(*whole.batch_shape, int(whole.n_items.max()))} (pass several one by one: labels_true[0] ...)"
        raise ValueError(f"labels_true: expected one clustering (N,); got shape {got}")
    if not int(whole.n_items):
        raise ValueError("labels_true: expected at least one item with a label; got none")
    tables = ContingencyTables.from_labels(labels_true, labels_pred, **(options | {"mask": mask}))
    place_of = {label: place for place, label in enumerate(as_objects(whole.classes, 0).tolist())}
    places = torch.tensor([place_of[label] for label in as_objects(tables.classes, 0).tolist()], device=tables.device)

    def over_all_clusters(x: Tensor) -> Tensor:
        """Values ``(*batch, R)`` of the clusters with items in some run, as ``(B, K)`` of all clusters."""
        every = x.new_full((tables.batch_shape.numel(), len(place_of)), torch.nan)
        every[:, places] = x.reshape(-1, x.shape[-1])
        return every

    jaccard, strength = map(over_all_clusters, _recovery(tables, noise_label))
    return ClusterStability(
        labels=labels_at(whole.classes, torch.arange(len(place_of), device=whole.device)),
        size=whole.class_sizes,
        runs=(~jaccard.isnan()).sum(0),
        mean_jaccard=jaccard.nanmean(0),
        recovered=(jaccard > _RECOVERED_ABOVE).sum(0),
        dissolved=(jaccard <= _DISSOLVED_UP_TO).sum(0),
        prediction_strength=strength.nanmean(0),
        jaccard=jaccard,
    )


def _is_noise(labels: GroupLabels | None, sizes: Tensor, noise_label: Any) -> Tensor:
    """1 for the group of noise, in the shape of ``sizes``, float64."""
    if noise_label is None or labels is None:
        return torch.zeros(sizes.shape, dtype=torch.float64, device=sizes.device)
    noise = noise_label.item() if hasattr(noise_label, "item") else noise_label
    same = np.equal(as_objects(labels, 0), noise, dtype=object).astype(bool)
    return torch.from_numpy(same).to(sizes.device).expand(sizes.shape).double()


def _recovery(tables: ContingencyTables, noise_label: Any) -> tuple[Tensor, Tensor]:
    """Largest Jaccard index and prediction strength of each class, ``(*batch, R)``."""
    rows = _is_noise(tables.classes, tables.class_sizes, noise_label)
    columns = _is_noise(tables.clusters, tables.cluster_sizes, noise_label)

    def alike(cell: CellQuantities) -> Tensor:
        return (cell.at_classes(rows) == cell.at_clusters(columns)).double()

    r = tables._class_sizes_f64
    jaccard = tables.max_by_class(lambda cell: alike(cell) * cell.n / (cell.r + cell.c_nonzero - cell.n))
    pairs = tables.sum_by_class(lambda cell: cell.n * (cell.n - 1) * alike(cell))
    return jaccard.masked_fill(r == 0, torch.nan), (pairs / (r * (r - 1))).masked_fill(r < 2, torch.nan)
