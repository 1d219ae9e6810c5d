"""Values of classes or clusters as rows: what each row is called, a frame, and text."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from torchclusteval.common.formatting import format_number
from torchclusteval.common.optional import import_optional
from torchclusteval.common.results import Printed, Shown
from torchclusteval.labels.group_labels import GroupLabels, as_objects

if TYPE_CHECKING:
    import pandas as pd

_MAX_LINES = 60


@dataclass(frozen=True, eq=False, repr=False)
class GroupRows(Printed):
    """Some rows of a batch of tables with their values."""

    batch_shape: tuple[int, ...]
    levels: Mapping[str, Sequence[Any]]  # what names a row: the clustering, the group of items, the label
    columns: Mapping[str, Sequence[Any]]  # value of each row

    def to_pandas(self) -> "pd.DataFrame":
        """One row a group, with its label as the index; of a batch after the clustering and the group of items."""
        pandas = import_optional("pandas", "pandas")

        columns = {
            name: np.array(values, dtype=object) if None in values else values for name, values in self.columns.items()
        }
        if not self.batch_shape:
            return pandas.DataFrame(columns, index=self.levels["label"])
        levels = [pandas.Index(level, tupleize_cols=False) for level in self.levels.values()]
        return pandas.DataFrame(columns, index=pandas.MultiIndex.from_arrays(levels, names=list(self.levels)))

    def _shown(self) -> Shown:
        title = f"Values of groups, batch_shape={self.batch_shape}" if self.batch_shape else ""
        named = [list(map(str, level[:_MAX_LINES])) for level in self.levels.values()]
        shown = [_texts(name, values[:_MAX_LINES]) for name, values in self.columns.items()]
        rows = [list(row) for row in zip(*named, *shown, strict=True)]
        more = len(self.levels["label"]) - len(rows)
        notes = [f"{more} more rows: to_pandas() has them"] if more else []
        header = [*self.levels, *self.columns]
        words = [*range(len(self.levels)), *(i for i, name in enumerate(header) if name in _LABELS)]
        return Shown(header, rows, title, notes, words)


def rows_of_groups(
    values: Mapping[str, Any],
    kept: Tensor,
    labels: GroupLabels | None,
    clusterings: tuple[Hashable, ...] | None,
    groups: GroupLabels | None,
) -> GroupRows:
    """The rows that are kept.

    Args:
        values: tensors or arrays ``(*batch, rows)`` by name.
        kept: which rows, ``(*batch, rows)`` bool.
        labels: of the rows, ``(rows,)`` or ``(*batch, rows)``; None: their numbers.
        clusterings: names of the tables ``(B,)``, where they are known.
        groups: ids of the groups of items ``(G,)``, the last batch dimension; None without ``by``.
    """
    at = kept.nonzero().numpy(force=True).T
    *batch, count = kept.shape
    levels: dict[str, Sequence[Any]] = {}
    own = len(batch) - (groups is not None)
    for i in range(own):
        known = None if own > 1 else clusterings
        numbers = at[i].tolist()
        levels["clustering" if own == 1 else f"batch {i}"] = numbers if known is None else [known[j] for j in numbers]
    if groups is not None:
        ids = as_objects(groups, batch[-1])
        levels["group"] = [ids[j] for j in at[own].tolist()]
    levels["label"] = np.broadcast_to(as_objects(labels, count), tuple(kept.shape))[tuple(at)].tolist()
    columns = {
        name: (x.numpy(force=True) if isinstance(x, Tensor) else x)[tuple(at)].tolist() for name, x in values.items()
    }
    return GroupRows(tuple(batch), levels, columns)


_LABELS = ("best_match", "cluster")


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    if name in _LABELS:
        return list(map(str, values))
    if name == "size":
        return [f"{x:.0f}" if float(x).is_integer() else format_number(x) for x in values]
    return list(map(format_number, values))
