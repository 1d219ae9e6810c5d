"""Many clusterings of the same items as codes, with the items that each of them lacks."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels import encode
from torchclusteval.labels.encoding import argument_names
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.renaming import as_array
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class CodedRuns:
    """Codes below ``size``, and which items count."""

    codes: Tensor  # (B, N) int64
    kept: Tensor | None  # (B, N) bool: the items that a run has; None: all
    size: int
    labels: GroupLabels | None  # (size,) or (B, size) of the codes
    names: tuple[Hashable, ...] | None  # (B,) of the runs, where they are known

    def labels_of(self, run: int) -> np.ndarray:
        """``(size,)`` labels of the codes in a run."""
        labels = as_array(self.labels, self.size)
        own: np.ndarray = labels if labels.ndim == 1 else labels[run]
        return own

    def against(self, first: Tensor, others: slice, kept: Tensor | None, size: int | None = None) -> ContingencyTables:
        """Tables of codes ``(N,)`` against some of the runs; ``kept`` says which of these items count."""
        mask = self.kept if self.kept is None else self.kept[others]
        if kept is not None:
            mask = kept if mask is None else kept & mask
        return ContingencyTables.from_labels(
            first,
            self.codes[others],
            mask=mask,
            num_classes=size or self.size,
            num_clusters=self.size,
            item_dims=1,
        )

    def present(self) -> Tensor:
        """``(B, size)`` bool: whether a run has items of a code."""
        codes = self.codes if self.kept is None else self.codes.masked_fill(~self.kept, self.size)
        found = torch.zeros(len(codes), self.size + 1, dtype=torch.bool, device=codes.device)
        return found.scatter_(1, codes, True)[:, : self.size]

    def kept_in(self, run: int) -> Tensor | None:
        return None if self.kept is None else self.kept[run]


def code_runs(
    labels: Any, mask: Any, device: torch.device | str | None, noise_label: Any = None, noise: str = "ignore"
) -> CodedRuns:
    """Runs ``(B, N)`` as codes; missing labels are items that a run lacks.

    Raises:
        ValueError: there is no run, or they are not ``(B, N)``.
    """
    own = {"mask": mask, "noise_label": noise_label, "noise": noise, "device": device}
    options = LabelOptions.of({**own, "missing": "ignore", "item_dims": 1})
    with argument_names(labels_true="labels", labels_pred="labels"):
        pair = encode(labels, labels, options)
    if len(pair.batch_shape) != 1 or not pair.batch_shape[0]:
        raise ValueError(
            f"labels: expected shape (B, N) with at least one run; got {(*pair.batch_shape, pair.n_items)}"
        )
    side, shape = pair.pred, (pair.batch_shape[0], pair.n_items)
    codes = (side.codes.long() - side.offset).expand(shape)
    kept = None if pair.mask is None else pair.mask.expand(shape)
    if kept is not None:
        codes = torch.where(kept, codes, 0)
    return CodedRuns(codes, kept, side.size, side.group_labels, pair.names)
