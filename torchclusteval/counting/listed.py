"""Tables of cells that users list by label: the rows of a GROUP BY."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting import by_group, sparse
from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.groups_of_items import read_groups
from torchclusteval.labels.inputs import as_numbers, check_nonnegative, first_position, format_position
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import pandas_index, tensors_in


@on_one_thread
def read_cells(true: Any, pred: Any, counts: Any, batch: Any, *, weights: bool, missing: str) -> TableParts:
    """Cells, the items listed for each table, and the labels of rows, columns and tables."""
    if not isinstance(weights, (bool, np.bool_)):
        raise ValueError(f"weights: expected True or False (pass the numbers as counts=); got {type(weights).__name__}")
    given = {"true": true, "pred": pred, "counts": counts, "batch": batch}
    place = next((x.device for value in given.values() for x in tensors_in(value)), torch.device("cpu"))
    options = LabelOptions(missing=missing, item_dims=1, device=place, by=batch)
    with argument_names(**{"labels_true": "true", "labels_pred": "pred", "by: ": "batch: "}):
        pair = encode(true, pred, options)
        groups = None if batch is None else read_groups(options, pair)
    if pair.batch_shape:
        raise ValueError(f"true, pred: expected shape (Z,); got {(*pair.batch_shape, pair.n_items)}")
    n = pair.n_items
    if groups is not None and groups.codes.dim() > 1:
        raise ValueError(f"batch: expected shape ({n},), as true; got {tuple(groups.codes.shape)}")
    check_indexes([(name, pandas_index(value)) for name, value in given.items()], n)
    amounts = (
        torch.ones(n, dtype=torch.int64, device=place) if counts is None else _as_counts(counts, n, weights, place)
    )
    pair = replace(pair, weights=amounts, n_considered=None)
    labels = pair.true.group_labels, pair.pred.group_labels
    if groups is None:
        return TableParts(sparse.count_tables(pair), amounts.sum(), *labels)
    cells = by_group.count_groups(pair, groups, pair.batch_shape, dense=False)
    names = tuple(groups.ids.tolist())
    return TableParts(cells, by_group.count_considered_by_group(groups, amounts), *labels, names)


def _as_counts(counts: Any, n: int, weights: bool, device: torch.device) -> Tensor:
    amounts = as_numbers(counts, "counts").to(device)
    if tuple(amounts.shape) != (n,):
        raise ValueError(f"counts: expected shape ({n},), as true; got {tuple(amounts.shape)}")
    check_nonnegative(amounts, "counts", (-1,))
    if weights:
        return amounts.double()
    fractional = amounts != amounts.trunc() if amounts.is_floating_point() else None
    if fractional is not None and bool(fractional.any()):
        at = first_position(fractional)
        got = f"{amounts[at].item()} at position {format_position(at)}"
        raise ValueError(f"counts: expected whole numbers; got {got} (pass weights=True for masses)")
    if amounts.is_floating_point() and float(amounts.sum()) >= 2.0**63:
        raise ValueError("counts: expected whole numbers with a sum below 2**63; got more (pass weights=True)")
    return amounts.long()
