"""From one clustering to the next: which clusters become which, and which hold over all clusterings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.optional import import_optional
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.coded_runs import CodedRuns, code_runs
from torchclusteval.labels.group_labels import GroupLabels

if TYPE_CHECKING:
    import pandas as pd

_TABLE_CELLS = 1 << 24  # labels counted at a time


@dataclass(frozen=True, eq=False)
class Transitions:
    """Edges between consecutive clusterings, and the stability of each cluster, as :func:`transitions` returns them.

    >>> found = tce.transitions([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> found.from_label.tolist(), found.to_label.tolist(), found.count.tolist()
    ([0, 0, 1], [0, 1, 1], [1, 1, 2])
    """

    step: Tensor  # (E,) int64 number of the clustering that the edge comes from; it goes to the next one
    from_label: GroupLabels  # (E,) cluster there
    to_label: GroupLabels  # (E,) cluster in the next one
    count: Tensor  # (E,) int64 items in both
    share_from: Tensor  # (E,) float64 share of the cluster that it comes from
    share_to: Tensor  # (E,) float64 share of the cluster that it goes to
    run: Tensor  # (K,) int64 clustering of each cluster
    label: GroupLabels  # (K,) its label
    size: Tensor  # (K,) int64 its items
    stability: Tensor  # (K,) float64 SC3 stability

    def to_pandas(self) -> "pd.DataFrame":
        """One row an edge; needs pandas."""
        names = {"step": "step", "from": "from_label", "to": "to_label", "count": "count"}
        return _frame(self, {**names, "share_from": "share_from", "share_to": "share_to"})

    def clusters_to_pandas(self) -> "pd.DataFrame":
        """One row a cluster; needs pandas."""
        return _frame(self, {name: name for name in ("run", "label", "size", "stability")})

    def __repr__(self) -> str:
        return f"Transitions(edges={len(self.step)}, clusters={len(self.run)})"


def _frame(found: Transitions, columns: dict[str, str]) -> "pd.DataFrame":
    pandas = import_optional("pandas", "pandas")

    values = {name: getattr(found, attribute) for name, attribute in columns.items()}
    return pandas.DataFrame({k: x.numpy(force=True) if isinstance(x, Tensor) else x for k, x in values.items()})


@on_one_thread
def transitions(
    labels: Any,
    mask: Any = None,
    *,
    noise_label: Any = None,
    noise: str = "ignore",
    device: torch.device | str | None = None,
) -> Transitions:
    """Edges between consecutive clusterings, such as those of rising resolution, and how stable each cluster is.

    The SC3 stability of cluster k among L clusterings is ``(1/L) sum_l sum_j n_kj / (c_j m^2)`` over the other
    clusterings l and their clusters j that share items with it, m of them.

    Args:
        labels: ``(L, N)`` labels in order; items that a clustering lacks have a missing label.
        mask: ``(N,)`` or ``(L, N)`` booleans, True for the items that a clustering has.
        noise_label: as in ``ContingencyTables.from_labels``, like ``noise``; ignored noise is of no cluster.
        device: where to count; by default that of the tensors given.

    Returns:
        The edges with items, by step and labels, with their items and the shares of both clusters, each within the
        items that both clusterings have; and for each cluster its SC3 stability, 0 to below 1, higher is more stable.

    Raises:
        ValueError: arguments are not as described.

    Source: Zappia and Oshlack (2018); Kiselev et al. (2017).

    Example:
        >>> import torchclusteval as tce
        >>> found = tce.transitions([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2]])
        >>> list(zip(found.step.tolist(), found.from_label.tolist(), found.to_label.tolist(), found.count.tolist()))
        [(0, 0, 0, 1), (0, 0, 1, 2), (0, 1, 0, 3), (1, 0, 0, 1), (1, 0, 1, 2), (1, 0, 2, 1), (1, 1, 0, 2)]
        >>> [round(x, 4) for x in found.stability[:2].tolist()]
        [0.4375, 0.4167]
    """
    coded = code_runs(labels, mask, device, noise_label, noise)
    count = len(coded.codes)
    edges = [_edges(coded, i) for i in range(count - 1)]
    clusters = [_clusters(coded, i) for i in range(count)]
    empty = torch.zeros(0, dtype=torch.int64, device=coded.codes.device)
    columns = [torch.cat(x) for x in zip(*edges, strict=True)] if edges else [empty] * 4 + [empty.double()] * 2
    step, source, target, items, share_from, share_to = columns
    run, code, size, stability = (torch.cat(x) for x in zip(*clusters, strict=True))
    return Transitions(
        step=step,
        from_label=_labels(coded, step, source),
        to_label=_labels(coded, step + 1, target),
        count=items,
        share_from=share_from,
        share_to=share_to,
        run=run,
        label=_labels(coded, run, code),
        size=size,
        stability=stability,
    )


def _labels(coded: CodedRuns, run: Tensor, code: Tensor) -> GroupLabels:
    """The labels of these codes, each in its run."""
    labels = coded.labels
    if labels is None:
        return code
    if isinstance(labels, np.ndarray):
        places = code.cpu().numpy()
        own: np.ndarray = labels[places] if labels.ndim == 1 else labels[run.cpu().numpy(), places]
        return own
    unsigned = labels.dtype == torch.uint64
    bits = labels.view(torch.int64) if unsigned else labels
    found = bits[code] if bits.dim() == 1 else bits[run, code]
    return found.view(torch.uint64) if unsigned else found


def _edges(coded: CodedRuns, i: int) -> tuple[Tensor, ...]:
    tables = coded.against(coded.codes[i], slice(i + 1, i + 2), coded.kept_in(i))
    _, row, column, count = tables.cells()
    r, c = tables._class_sizes_f64.reshape(-1)[row], tables._cluster_sizes_f64.reshape(-1)[column]
    return torch.full_like(row, i), row, column, count, count / r, count / c


def _clusters(coded: CodedRuns, i: int) -> tuple[Tensor, ...]:
    """Run, code, size and stability of the clusters of one clustering."""
    codes, kept = coded.codes[i], coded.kept_in(i)
    counted = codes if kept is None else codes[kept]
    size = torch.bincount(counted, minlength=coded.size)
    total = torch.zeros(coded.size, dtype=torch.float64, device=codes.device)
    count = len(coded.codes)
    step = max(1, _TABLE_CELLS // max(1, len(codes)))
    for start in [*range(0, i, step), *range(i + 1, count, step)]:
        tables = coded.against(codes, slice(start, min(start + step, i if start < i else count)), kept)
        met = tables.sum_by_class(lambda cell: cell.is_nonzero)
        shares = tables.sum_by_class(lambda cell: cell.n / cell.c_nonzero)
        total += (shares / (met * met).clamp(min=1)).sum(0)
    used = size.nonzero().squeeze(1)
    return torch.full_like(used, i), used, size[used], total[used] / count
