"""What a batch of tables holds beside its cells, as counting returns it and tables take it."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import Margins
from torchclusteval.labels.group_labels import GroupLabels, move, select_groups
from torchclusteval.labels.sources import Names


@dataclass(frozen=True, eq=False)
class TableGroups:
    """Which groups of items the tables of a batch ``(*batch, G)`` are of."""

    ids: GroupLabels | None  # (G,); None: not known
    rows: Tensor | None = None  # (*batch, G) rows that the table's own group has, the first ones; None: all have all
    columns: Tensor | None = None  # (*batch, G) columns, likewise
    fixed: tuple[bool, bool] = (False, False)  # whether the number of rows, of columns is given
    shared: bool = True  # whether a group has the same items in all clusterings of the batch

    def ids_at(self, key: Any, keys: Tensor, dims: int) -> GroupLabels | None:
        """The ids of the tables that ``key`` selects of a batch, at ``keys`` of it flattened; None: of no one list."""
        if dims == 1 and keys.dim() == 1:
            return select_groups(self.ids, keys)
        return self.ids if dims > 1 and isinstance(key, (int, slice)) else None

    def select(self, keys: Tensor, ids: GroupLabels | None) -> "TableGroups":
        """Those of the tables with these indices in the flattened batch, which have other ids."""
        rows, columns = (None if x is None else x.reshape(-1)[keys] for x in (self.rows, self.columns))
        return replace(self, ids=ids, rows=rows, columns=columns)

    def transpose(self) -> "TableGroups":
        return TableGroups(self.ids, self.columns, self.rows, (self.fixed[1], self.fixed[0]), self.shared)

    def to(self, device: torch.device | str) -> "TableGroups":
        rows, columns = (None if x is None else x.to(device) for x in (self.rows, self.columns))
        return replace(self, ids=move(self.ids, device), rows=rows, columns=columns)


class TableParts(NamedTuple):
    """The cells of a batch of tables, and what is known of them."""

    cells: Cells
    considered: Tensor | None = None  # (*batch,) unmasked items or weight; None: all of them are in the table
    classes: GroupLabels | None = None  # the label of each row, (R,) or (*batch, R)
    clusters: GroupLabels | None = None  # the label of each column, (C,) or (*batch, C)
    names: Names | None = None  # (B,) of the clusterings, where they are known
    by: TableGroups | None = None  # which groups of items the tables are of; None: they are of all items
    margins: Margins | None = None  # items that only one side groups; None: there are none
