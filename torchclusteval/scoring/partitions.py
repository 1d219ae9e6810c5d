"""Which clusterings of a batch are the same partition of the items."""

import hashlib
from typing import Any

import torch

from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.options import LabelOptions


def same_partitions(labels_pred: Any, item_dims: int | None = None) -> list[int]:
    """For each clustering the number of the first that is the same partition, whatever the names of its clusters.

    Items without a label are in no cluster.

    Raises:
        ValueError: labels are not ``(B, N)``.
    """
    options = LabelOptions.of({"missing": "ignore", "item_dims": item_dims})
    with argument_names(labels_true="labels_pred"):
        pair = encode(labels_pred, labels_pred, options)
    if len(pair.batch_shape) != 1:
        got = (*pair.batch_shape, pair.n_items)
        raise ValueError(f"labels_pred: expected several clusterings (B, N); got shape {got}")
    codes = (pair.pred.codes - pair.pred.offset).expand(*pair.batch_shape, pair.n_items)
    keep = [None] * len(codes) if pair.mask is None else pair.mask.expand(codes.shape)
    place, first = torch.arange(pair.n_items, device=pair.device), dict[bytes, int]()
    found = []
    for number, (row, kept) in enumerate(zip(codes, keep, strict=True)):
        own = row.long() if kept is None else torch.where(kept, row, pair.pred.size).long()
        begins = place.new_full((pair.pred.size + 1,), pair.n_items).scatter_reduce(0, own, place, "amin")
        begins[-1] = -1  # of items without a label
        key = hashlib.blake2b(begins[own].cpu().numpy().tobytes()).digest()
        found.append(first.setdefault(key, number))
    return found
