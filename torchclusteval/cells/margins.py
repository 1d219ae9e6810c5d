"""Items with a group on one side only, kept next to the cells, which hold the items with a group on both sides."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.labels.absent import AbsentGroup


@dataclass(frozen=True, eq=False)
class Margins:
    """The items that only one side groups, in the type of the cells."""

    by_class: Tensor  # (*batch, R) items of each class without a cluster
    by_cluster: Tensor  # (*batch, C) items of each cluster without a class
    void: Tensor | None = None  # (*batch, C) ignored items of each cluster, which no other number has; None: unknown

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return self.by_class, self.by_cluster

    def transpose(self) -> "Margins":
        return Margins(self.by_cluster, self.by_class)

    def to(self, device: torch.device | str) -> "Margins":
        return self.each(lambda x: x.to(device))

    def select(self, keys: Tensor, size: int) -> "Margins":
        """The margins of the tables with these indices in the flattened batch of this size."""
        return self.each(lambda x: x.reshape(size, x.shape[-1])[keys])

    def each(self, change: Callable[[Tensor], Tensor]) -> "Margins":
        return Margins(change(self.by_class), change(self.by_cluster), None if self.void is None else change(self.void))

    def keep_groups(self, rows: Tensor | None, columns: Tensor | None) -> "Margins":
        """Only the rows and columns with these indices; None: all."""
        by_class = self.by_class if rows is None else self.by_class.index_select(-1, rows)
        by_cluster = self.by_cluster if columns is None else self.by_cluster.index_select(-1, columns)
        void = self.void if columns is None or self.void is None else self.void.index_select(-1, columns)
        return Margins(by_class, by_cluster, void)


def split_margins(
    cells: Cells, true: AbsentGroup | None, pred: AbsentGroup | None, has_void: bool = False
) -> tuple[Cells, Margins, Tensor | None]:
    """Take the row of items without a class and the column of those without a cluster out of tables.

    ``has_void``: the last row, that of ignored items, too. Returns also the items ``(*batch,)`` that neither side has.
    """
    void = None
    if has_void:
        cells, void = _without_last_row(cells)
        void = _without(void, -1, pred)
    split = _split_dense if isinstance(cells, DenseCells) else _split_sparse
    rest, by_class, by_cluster, neither = split(cells, true, pred)  # type: ignore[arg-type]
    return rest, Margins(_without(by_class, -1, true), _without(by_cluster, -1, pred), void), neither


def _without_last_row(cells: Cells) -> tuple[Cells, Tensor]:
    """The other rows, and the items of that row by column."""
    if isinstance(cells, DenseCells):
        return DenseCells(cells.counts[..., :-1, :].contiguous()), cells.counts[..., -1, :]
    last, (batch, row, column, values) = cells.shape[0] - 1, cells.nonzero()
    of_row = cells.sum_by_column(torch.where(row == last, values, torch.zeros_like(values)))
    kept = (row < last).nonzero()[:, 0]
    others = (x.index_select(0, kept) for x in (batch, row, column, values))
    return SparseCells(cells.batch_shape, (last, cells.shape[1]), *others), of_row


_Split = tuple[Cells, Tensor, Tensor, Tensor | None]


def _split_dense(cells: DenseCells, true: AbsentGroup | None, pred: AbsentGroup | None) -> _Split:
    counts = cells.counts
    rows, columns = cells.shape
    by_class = counts.new_zeros(*cells.batch_shape, rows) if pred is None else counts[..., pred.index]
    by_cluster = counts.new_zeros(*cells.batch_shape, columns) if true is None else counts[..., true.index, :]
    neither = None if true is None or pred is None else counts[..., true.index, pred.index]
    return DenseCells(_without(_without(counts, -2, true), -1, pred)), by_class, by_cluster, neither


def _without(x: Tensor, dim: int, group: AbsentGroup | None) -> Tensor:
    """The tensor without one entry of a dimension, or with zeros for it where the entry stays or is the only one."""
    if group is None:
        return x
    before, own = x.narrow(dim, 0, group.index), x.narrow(dim, group.index, 1)
    after = x.narrow(dim, group.index + 1, x.shape[dim] - group.index - 1)
    middle = [torch.zeros_like(own)] if group.stays or x.shape[dim] == 1 else []
    return torch.cat([before, *middle, after], dim)


def _split_sparse(cells: SparseCells, true: AbsentGroup | None, pred: AbsentGroup | None) -> _Split:
    batch, row, column, values = cells.nonzero()
    without_class = torch.zeros_like(row, dtype=torch.bool) if true is None else row == true.index
    without_cluster = torch.zeros_like(row, dtype=torch.bool) if pred is None else column == pred.index
    zeros = torch.zeros_like(values)
    by_class = cells.sum_by_row(torch.where(without_cluster, values, zeros))
    by_cluster = cells.sum_by_column(torch.where(without_class, values, zeros))
    neither = None if true is None or pred is None else by_class[..., true.index]
    kept = (~(without_class | without_cluster)).nonzero()[:, 0]
    batch, row, column, values = (x.index_select(0, kept) for x in (batch, row, column, values))
    rows, row = _renumbered(row, cells.shape[0], true)
    columns, column = _renumbered(column, cells.shape[1], pred)
    rest = SparseCells(cells.batch_shape, (rows, columns), batch, row, column, values)
    return rest, by_class, by_cluster, neither


def _renumbered(places: Tensor, count: int, group: AbsentGroup | None) -> tuple[int, Tensor]:
    if group is None or group.stays or count == 1:
        return count, places
    return count - 1, places - (places > group.index).long()
