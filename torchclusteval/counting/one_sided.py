"""Tables of items, or of pieces of time, that one side alone may group: cells and margins from the codes of both."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.cells.parts import TableParts
from torchclusteval.counting import dispatch
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.sources import Names

Lists = list[np.ndarray]
Labels = Sequence[list[Any] | None]  # of the groups of one side, by table; None: their numbers


def tables_of(
    codes: tuple[Lists, Lists],
    amounts: Lists | None,
    sizes: tuple[int, int],
    labels: tuple[Labels, Labels],
    names: Names | None,
    layout: str,
) -> TableParts:
    """Cells of tables and the other parts, from the groups of the items of each table (-1 for none).

    ``amounts`` is what each item counts (None: one), ``labels`` are those of groups; without names there is no batch.
    """
    (rows, columns), count = sizes, len(codes[0])
    shape = torch.Size([] if names is None else [count])
    table = np.repeat(np.arange(count), [len(x) for x in codes[0]])
    true, pred = (np.concatenate([np.zeros(0, np.int64), *side]) for side in codes)
    amount = None if amounts is None else np.concatenate([np.zeros(0), *amounts])

    def sums(places: np.ndarray, chosen: np.ndarray, size: int) -> Tensor:
        total = np.bincount(places, None if amount is None else amount[chosen], size)
        return torch.from_numpy(total.astype(np.int64 if amount is None else np.float64, copy=False))

    has_true, has_pred = true >= 0, pred >= 0
    both, either = has_true & has_pred, has_true | has_pred
    missed, invented = has_true & ~has_pred, has_pred & ~has_true
    keys, places = np.unique(((table * rows + true) * columns + pred)[both], return_inverse=True)
    row = keys // columns
    at = [torch.from_numpy(x) for x in (row // rows, row % rows, keys % columns)]
    listed = SparseCells(shape, sizes, at[0], at[1], at[2], sums(places, both, len(keys)))
    dense = layout == "auto" and dispatch.fits_dense(rows * columns, count, len(table) // max(1, count))
    cells: Cells = DenseCells(dispatch.to_dense(listed)) if dense or layout == "dense" else listed
    margins = Margins(
        sums((table * rows + true)[missed], missed, count * rows).reshape(*shape, rows),
        sums((table * columns + pred)[invented], invented, count * columns).reshape(*shape, columns),
    )
    considered = sums(table[either], either, count).reshape(shape)
    classes, clusters = (_joined(lists, size, names is not None) for lists, size in zip(labels, sizes, strict=True))
    return TableParts(cells, considered, classes, clusters, names, margins=margins)


def _joined(lists: Labels, size: int, batched: bool) -> GroupLabels | None:
    """The labels of groups, if those of all tables have labels."""
    if any(own is None for own in lists) or not any(lists):
        return None
    labels = np.full((len(lists), size), "", dtype=object)
    for row, own in zip(labels, lists, strict=True):
        for number, label in enumerate(own or ()):
            row[number] = label
    joined: np.ndarray = labels if batched else labels[0]
    return joined
