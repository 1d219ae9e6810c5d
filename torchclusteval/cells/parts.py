"""Everything in a batch of tables other than its cells, from counting to tables."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import Margins
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.sources import Names

Labels = GroupLabels | Callable[[], GroupLabels] | None  # a function makes them on request


class TableParts(NamedTuple):
    """The cells of a batch of tables, and the facts about them."""

    cells: Cells
    considered: Tensor | None = None  # (*batch,) unmasked items or weight; None: all of them are in the table
    classes: Labels = None  # of each row, (R,) or (*batch, R)
    clusters: Labels = None  # of each column, (C,) or (*batch, C)
    names: Names | None = None  # (B,) of the clusterings, where they are known
    groups: GroupLabels | None = None  # (G,) ids of the groups of items, the last batch dimension; None: no groups
    margins: Margins | None = None  # items that only one side groups; None: there are none
