"""Tables in the order of a matching, and the labels that clusters get from it."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.common.formatting import brief
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.renaming import as_array, names_of_groups, new_labels
from torchclusteval.tables import ContingencyTables


def names_of_columns(source: ContingencyTables, class_of_cluster: Tensor, unmatched: str, fill: Any) -> np.ndarray:
    """``(*batch, C + 1)`` new label of each column, and ``fill`` for labels that are not among them."""
    rows, columns = source.shape[-2:]
    size = source.batch_shape.numel()
    classes, clusters = as_array(source.classes, rows), as_array(source.clusters, columns)
    if fill is not None and classes.dtype.kind != "O":
        limits = np.iinfo(classes.dtype)
        if not isinstance(fill, (int, np.integer)) or not limits.min <= fill <= limits.max:
            raise ValueError(f"fill: expected a whole number, as the classes are, of their range; got {brief(fill)}")
    by_table = [
        np.broadcast_to(x, (*source.batch_shape, x.shape[-1])).reshape(size, x.shape[-1]) for x in (classes, clusters)
    ]
    partner = class_of_cluster.reshape(size, columns).cpu().numpy()
    filled = (source.whole_cluster_sizes > 0).reshape(size, columns).cpu().numpy()
    tables = zip(partner, *by_table, filled, strict=True)
    names = [names_of_groups(*parts, unmatched=unmatched, fill=fill) for parts in tables]
    kind = names[0].dtype if names else classes.dtype
    last = np.full((size, 1), 0 if fill is None else fill, kind)
    return np.concatenate([np.array(names, kind).reshape(size, columns), last], 1).reshape(
        *source.batch_shape, columns + 1
    )


def ordered_tables(source: ContingencyTables, cluster_of_class: Tensor, class_of_cluster: Tensor) -> ContingencyTables:
    """Rows and columns with the matched pairs first."""
    rows, columns = source.shape[-2:]
    row_order = (cluster_of_class < 0).to(torch.uint8).argsort(dim=-1, stable=True)
    # A matched column comes where its row does, another one after all of these.
    rank = row_order.argsort(dim=-1)
    after = rows + torch.arange(columns, device=source.device)
    place = torch.where(class_of_cluster < 0, after, rank.gather(-1, class_of_cluster.clamp_min(0)))
    column_order = place.argsort(dim=-1)
    classes = _take_labels(source.classes, row_order, rows)
    clusters = _take_labels(source.clusters, column_order, columns)
    return _moved(source, rank, column_order.argsort(dim=-1), (rows, columns), classes, clusters)


def merged_tables(source: ContingencyTables, class_of_cluster: Tensor) -> ContingencyTables:
    """A column for each class, and one for each cluster with items that has none."""
    rows = source.shape[-2]
    alone = (class_of_cluster < 0) & (source.whole_cluster_sizes > 0)
    number = alone.long().cumsum(-1) - 1
    extra = int(alone.sum(-1).max()) if alone.numel() else 0
    place = torch.where(alone, rows + number, class_of_cluster.clamp_min(0))
    own = torch.arange(rows, device=source.device).expand(*source.batch_shape, rows)
    names = as_array(source.classes, rows)
    flat = names.reshape(-1, rows)
    clusters = np.stack([np.concatenate([x, new_labels(x, extra)]) for x in flat])
    clusters = clusters.reshape(*names.shape[:-1], rows + extra)
    labels = clusters if clusters.dtype.kind == "O" else torch.from_numpy(clusters).to(source.device)
    return _moved(source, own, place, (rows, rows + extra), source.classes, labels)


def _moved(
    source: ContingencyTables,
    row: Tensor,
    column: Tensor,
    shape: tuple[int, int],
    classes: GroupLabels | None,
    clusters: GroupLabels | None,
) -> ContingencyTables:
    """Every cell and every item of one side at the new place of its row and column, those of one place added."""
    size = source.batch_shape.numel()
    table, i, j, count = source.cells()
    new_row = row.reshape(-1)[table * row.shape[-1] + i]
    new_column = column.reshape(-1)[table * column.shape[-1] + j]
    key = (table * shape[0] + new_row) * shape[1] + new_column
    cells: Cells
    if source.layout == "dense":
        counts = count.new_zeros(size * shape[0] * shape[1]).index_add(0, key, count)
        cells = DenseCells(counts.view(*source.batch_shape, *shape))
    else:
        keys, place = torch.unique(key, return_inverse=True)
        values = count.new_zeros(len(keys)).index_add(0, place, count)
        at = keys // shape[1]
        cells = SparseCells(source.batch_shape, shape, at // shape[0], at % shape[0], keys % shape[1], values)
    margins = None
    if source._margins is not None:
        moved = zip(source._margins.tensors, (row, column), shape, strict=True)
        by_class, by_cluster = (x.new_zeros(*x.shape[:-1], n).scatter_add(-1, at, x) for x, at, n in moved)
        void = source._margins.void
        void = None if void is None else torch.zeros_like(by_cluster).scatter_add(-1, column, void)
        margins = Margins(by_class, by_cluster, void)
    return source._replace(cells=cells, classes=classes, clusters=clusters, margins=margins)


def _take_labels(labels: GroupLabels | None, order: Tensor, size: int) -> GroupLabels:
    """``(*batch, size)`` labels in this order."""
    names = as_array(labels, size)
    taken = np.take_along_axis(np.broadcast_to(names, tuple(order.shape)), order.cpu().numpy(), -1)
    return taken if taken.dtype.kind == "O" else torch.from_numpy(taken).to(order.device)
