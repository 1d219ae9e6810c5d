"""Labels of items without a group on one side: the option that names them, and their code."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.labels.group_labels import GroupLabels, select_groups
from torchclusteval.labels.integers import IntegerLabels, is_whole_label


@dataclass(frozen=True)
class AbsentGroup:
    """The row (column) that counts the items without a class (cluster), until it becomes a margin."""

    index: int
    stays: bool  # whether an empty row remains in its place, as it is one of a given number of codes


def group_among_codes(label: Any, size: int, name: str) -> AbsentGroup:
    """The group of a label among codes ``0..size - 1``: its own row, or one after the last."""
    if not is_whole_label(label):
        raise ValueError(f"{name}: expected a whole number, as the labels are codes; got {brief(label)}")
    return AbsentGroup(int(label), True) if 0 <= int(label) < size else AbsentGroup(int(size), False)


def find_group(labels: GroupLabels, number: int | Tensor, ids: IntegerLabels) -> AbsentGroup | None:
    """The group whose label, of ``(groups,)``, is this integer of a side; None if there is none."""
    if isinstance(labels, np.ndarray):
        assert ids.vocabulary is not None
        hits = np.equal(labels, ids.vocabulary[number], dtype=object).astype(bool).nonzero()[0]
    else:
        values = labels.view(torch.int64) if labels.dtype == torch.uint64 else labels.long()
        hits = (values == number).nonzero()[:, 0]
    return AbsentGroup(int(hits[0]), False) if len(hits) else None


def repeat_last(labels: GroupLabels | None) -> GroupLabels | None:
    """Labels with one more, for items without a group."""
    if labels is None:
        return None
    count = labels.shape[-1]
    return select_groups(labels, torch.arange(count + 1).clamp(max=count - 1).to(labels.device))


def drop_absent_label(labels: GroupLabels | None, absent: AbsentGroup | None) -> GroupLabels | None:
    """Labels of the remaining rows (columns) after this one has become a margin."""
    if labels is None or absent is None or absent.stays or labels.shape[-1] == 1:
        return labels
    others = torch.arange(labels.shape[-1] - 1, device=labels.device)
    return select_groups(labels, others + (others >= absent.index))
