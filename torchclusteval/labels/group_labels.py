"""The labels of the rows and columns of tables: one list for the whole batch, or one for each table."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.vocabulary import number_of

GroupLabels = Tensor | np.ndarray  # (groups,) or (*batch, groups)


def select_groups(labels: GroupLabels | None, kept: Tensor) -> GroupLabels | None:
    """The labels of the rows (columns) with these indices."""
    if isinstance(labels, np.ndarray):
        return np.asarray(labels[..., kept.cpu().numpy()])
    return None if labels is None else _index(labels, (..., kept))


def expand_to_batch(labels: GroupLabels | None, batch_shape: torch.Size) -> GroupLabels | None:
    """Labels by row of one side as labels by table."""
    if labels is None or labels.ndim == 1:
        return labels
    shape = (*batch_shape, labels.shape[-1])
    return np.broadcast_to(labels, shape) if isinstance(labels, np.ndarray) else labels.expand(shape)


def select_tables(labels: GroupLabels | None, keys: Tensor) -> GroupLabels | None:
    """The labels of the tables with these indices in the flattened batch."""
    if labels is None or labels.ndim == 1:
        return labels
    flat = labels.reshape(-1, labels.shape[-1])
    return np.asarray(flat[keys.cpu().numpy()]) if isinstance(flat, np.ndarray) else _index(flat, keys)


def _index(labels: Tensor, index: Any) -> Tensor:
    """``labels[index]``; uint64 by its bits, since CUDA does not index it."""
    return labels.view(torch.int64)[index].view(torch.uint64) if labels.dtype == torch.uint64 else labels[index]


def labels_at(labels: GroupLabels | None, places: Tensor) -> GroupLabels:
    """The labels at places ``(*batch, n)``, an array for text; -1, in arrays None, where the place is -1."""
    if labels is None:
        return places
    if isinstance(labels, np.ndarray):
        at = places.numpy(force=True)
        every = np.broadcast_to(labels, (*at.shape[:-1], labels.shape[-1]))
        found: np.ndarray = np.take_along_axis(every, at.clip(min=0), -1)
        found[at < 0] = None
        return found
    unsigned = labels.dtype == torch.uint64
    numbers = labels.view(torch.int64) if unsigned else labels.long()
    picked = numbers.expand(*places.shape[:-1], -1).gather(-1, places.clamp(min=0)).masked_fill(places < 0, -1)
    return picked.view(torch.uint64) if unsigned else picked


def as_objects(labels: GroupLabels | None, count: int) -> np.ndarray:
    """The labels as Python objects; None: 0 .. count - 1."""
    if isinstance(labels, np.ndarray):
        return labels
    return np.array(list(range(count)) if labels is None else labels.tolist(), dtype=object)


def append_label(labels: GroupLabels, label: Any, count: int) -> GroupLabels:
    """Add a label, ``count`` times."""
    shape = (*labels.shape[:-1], count)
    if isinstance(labels, np.ndarray):
        return np.concatenate([labels, np.full(shape, label, dtype=object)], axis=-1)
    if labels.dtype == torch.bool:
        labels = labels.long()
    unsigned = labels.dtype == torch.uint64
    number = number_of(label, "unsigned" if unsigned else "integer")
    if number is None:
        raise ValueError(f"noise_label: expected a label of at most 64 bits, as the others; got {label}")
    bits = labels.view(torch.int64) if unsigned else labels  # uint64 cannot be concatenated
    joined = torch.cat([bits, bits.new_full(shape, number)], dim=-1)
    return joined.view(torch.uint64) if unsigned else joined
