"""The labels that rows and columns of tables stand for: one list for the whole batch, or one for each table."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.vocabulary import as_int64

GroupLabels = Tensor | np.ndarray  # (groups,) or (*batch, groups)


def select_groups(names: GroupLabels | None, kept: Tensor) -> GroupLabels | None:
    """The names of the groups of these numbers."""
    if isinstance(names, np.ndarray):
        left: GroupLabels = names[..., kept.cpu().numpy()]
        return left
    return None if names is None else names[..., kept.to(names.device)]


def expand_to_batch(names: GroupLabels | None, batch_shape: torch.Size) -> GroupLabels | None:
    """Names by row of one side as names by table."""
    if names is None or names.ndim == 1:
        return names
    shape = (*batch_shape, names.shape[-1])
    if isinstance(names, np.ndarray):
        expanded: GroupLabels = np.broadcast_to(names, shape)
        return expanded
    return names.expand(shape)


def select_tables(names: GroupLabels | None, keys: Tensor) -> GroupLabels | None:
    """The names of the tables of these flat batch numbers."""
    if names is None or names.ndim == 1:
        return names
    flat = names.reshape(-1, names.shape[-1])
    if isinstance(flat, np.ndarray):
        picked: GroupLabels = flat[keys.cpu().numpy()]
        return picked
    return flat[keys.to(flat.device)]


def append_label(names: GroupLabels, label: Any, count: int) -> GroupLabels:
    """Names with one label more, ``count`` times."""
    shape = (*names.shape[:-1], count)
    if isinstance(names, np.ndarray):
        return np.concatenate([names, np.full(shape, label, dtype=object)], axis=-1)
    if names.dtype == torch.bool:
        names = names.long()
    number = int(label)
    limits = (0, 2**64) if names.dtype == torch.uint64 else (-(2**63), 2**63)
    if not limits[0] <= number < limits[1]:
        raise ValueError(f"noise_label: expected a label of at most 64 bits, as the others; got {label}")
    if names.dtype == torch.uint64:  # which cannot be concatenated
        bits = names.view(torch.int64)
        added = bits.new_full(shape, as_int64(number))
        return torch.cat([bits, added], dim=-1).view(torch.uint64)
    return torch.cat([names, names.new_full(shape, number)], dim=-1)
