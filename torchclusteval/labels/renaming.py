"""Other names for groups: the group of a label, new labels, and renamed labels of items."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.group_labels import GroupLabels, labels_at
from torchclusteval.labels.inputs import first_position, format_position
from torchclusteval.labels.integers import IntegerLabels, read_integers
from torchclusteval.labels.vocabulary import Vocabulary


def find_groups(
    labels: Any, groups: GroupLabels | None, batch_shape: torch.Size, size: int, device: torch.device, *, gaps: bool
) -> Tensor:
    """The number of the group with each label ``(*batch, N)``, int64; -1 for a missing or unknown label.

    ``groups``: the label of each, ``(size,)`` or ``(*batch, size)``; None: its number. ``gaps``: labels may be missing
    or unknown.
    Raise where labels are not as described, or do not fit ``batch_shape``, that of the tables with these groups.
    """
    own = read_integers(labels, "labels_pred", device, None if gaps else "drop these items, or give them one by fill=")
    found = _group_of(own, groups, batch_shape, size)
    found = found if own.missing is None else found.masked_fill(own.missing, -1)
    if not gaps and bool((found < 0).any()):
        got = f"another label at position {format_position(first_position(found < 0))}"
        expected = "labels of the tables' clusters"
        raise ValueError(f"labels_pred: expected {expected}; got {got} (fill= gives such items one label)")
    return found


def _group_of(own: IntegerLabels, groups: GroupLabels | None, batch_shape: torch.Size, size: int) -> Tensor:
    device = own.values.device
    given = own.values.shape[:-1]
    if any(x != y and 1 not in (x, y) for x, y in zip(given[::-1], batch_shape[::-1], strict=False)):
        raise ValueError(f"labels_pred: expected clusterings of batch shape {tuple(batch_shape)}; got {tuple(given)}")
    if groups is None:
        if own.vocabulary is not None:
            raise ValueError("labels_pred: expected numbers of columns, as the clusters have no labels; got strings")
        values = own.values.long()
        return values.masked_fill((values < 0) | (values >= size), -1)
    if isinstance(groups, np.ndarray) != (own.vocabulary is not None):
        if own.missing is None or not bool(own.missing.all()):
            expected, got = ("strings", "numbers")[:: 1 if own.vocabulary is None else -1]
            raise ValueError(f"labels_pred: expected {expected}, as the labels of the tables' clusters are; got {got}")
        return torch.full_like(own.values, -1, dtype=torch.int64)
    if isinstance(groups, np.ndarray):
        numbered = Vocabulary()
        known, values = (
            torch.from_numpy(numbered.numbers_of(x.reshape(-1).tolist()).reshape(x.shape)).to(device)
            for x in (groups, np.asarray(own.decode(own.values)))
        )
        return _find_numbers(values, known)
    known_ids = read_integers(groups, "clusters", device)
    found = _find_numbers(own.values.long(), known_ids.values.long())
    # Large uint64 labels look negative: if only one side is uint64, a number below 0 matches nothing.
    differ = (known_ids.kind == "unsigned") != (own.kind == "unsigned")
    return found.masked_fill(own.values < 0, -1) if differ else found


def _find_numbers(values: Tensor, groups: Tensor) -> Tensor:
    """The place of each value among the groups, -1 for none; where groups repeat at the end, the first one."""
    shape = np.broadcast_shapes(values.shape[:-1], groups.shape[:-1])
    ordered, order = (x.expand(*shape, -1) for x in groups.sort(dim=-1, stable=True))
    values = values.expand(*shape, -1).contiguous()
    at = torch.searchsorted(ordered.contiguous(), values).clamp(max=groups.shape[-1] - 1)
    return torch.where(ordered.gather(-1, at) == values, order.gather(-1, at), -1)


def as_array(groups: GroupLabels | None, size: int) -> np.ndarray:
    """Labels of groups on the host: whole numbers, or strings as objects; numbers from 0 where there are none."""
    if groups is None:
        return np.arange(size)
    array = groups if isinstance(groups, np.ndarray) else groups.cpu().numpy()
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def new_labels(used: np.ndarray, count: int) -> np.ndarray:
    """``(count,)`` labels unlike all of these: 64-bit numbers after the largest one, or ``new 1``, ``new 2`` ..."""
    if used.dtype.kind == "O":
        known = set(used.tolist())
        names = (f"new {k}" for k in range(1, count + len(known) + 1))
        fresh: np.ndarray = np.array([name for name in names if name not in known][:count], dtype=object)
        return fresh
    first = int(used.max()) + 1 if used.size else 0
    if first + count > int(np.iinfo(used.dtype).max):
        raise ValueError(f"unmatched: expected room for new labels; got the label {first - 1} (use fill=)")
    return np.arange(first, first + count, dtype=used.dtype)


def names_of_groups(
    partner: np.ndarray, classes: np.ndarray, clusters: np.ndarray, filled: np.ndarray, *, unmatched: str, fill: Any
) -> np.ndarray:
    """The class label of each cluster of a table, and another one for clusters without a class.

    ``partner`` is the class of each cluster, ``(C,)``, -1 for none; ``filled`` are the clusters with items, ``(C,)``.
    ``"keep"`` refuses a cluster without a class that has the label of a class.
    """
    keeps = unmatched == "keep" and fill is None
    if keeps and classes.dtype.kind != clusters.dtype.kind:
        classes, clusters = (np.array([str(x) for x in y.tolist()], dtype=object) for y in (classes, clusters))
    names = np.empty(len(partner), classes.dtype)
    names[partner >= 0] = classes[partner[partner >= 0]]
    alone = np.concatenate([np.flatnonzero((partner < 0) & filled), np.flatnonzero((partner < 0) & ~filled)])
    if fill is not None:
        names[alone] = fill
    elif keeps:
        clash = set(clusters[(partner < 0) & filled].tolist()) & set(classes.tolist())
        if clash:
            expected = "clusters without a class to have labels that no class has"
            raise ValueError(f"unmatched: expected {expected}; got {min(clash)!r} as both (unmatched='new', fill=)")
        names[alone] = clusters[alone]
    else:
        names[alone] = new_labels(classes, len(alone))
    return names


def rename(columns: Tensor, names: np.ndarray) -> GroupLabels:
    """``(*batch, N)`` names of these groups; ``names`` is ``(*batch, size)``, numbers or objects."""
    shape = np.broadcast_shapes(columns.shape[:-1], names.shape[:-1])
    columns = columns.expand(*shape, -1)
    own = names if names.dtype.kind == "O" else torch.from_numpy(np.ascontiguousarray(names)).to(columns.device)
    return labels_at(own, columns)
