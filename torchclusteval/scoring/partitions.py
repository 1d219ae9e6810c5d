"""Which clusterings of a batch are the same partition of the items."""

import hashlib
from typing import Any

import torch
from torch import Tensor

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
    codes = (pair.pred.codes.long() - pair.pred.offset).expand(*pair.batch_shape, pair.n_items)
    return same_codes(codes, torch.ones_like(codes).bool() if pair.mask is None else pair.mask.expand(codes.shape))


def same_codes(codes: Tensor, keep: Tensor) -> list[int]:
    """The same of codes ``(B, N)`` of clusters from 0, among the items to keep, ``(B, N)`` bool."""
    place, first = torch.arange(codes.shape[-1], device=codes.device), dict[bytes, int]()
    size = int(codes.max()) + 1 if codes.numel() else 0
    found = []
    for number, (row, kept) in enumerate(zip(codes, keep, strict=True)):
        own = row.masked_fill(~kept, size)
        begins = place.new_full((size + 1,), len(row)).scatter_reduce(0, own, place, "amin")
        begins[-1] = -1  # of items without a label
        key = hashlib.blake2b(begins[own].cpu().numpy().tobytes()).digest()
        found.append(first.setdefault(key, number))
    return found
