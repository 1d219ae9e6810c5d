"""Tables whose rows and columns are not known beforehand: cells with the labels of their class and cluster.

Labels are int64 numbers, so that cells of different chunks, states and ranks can be joined and merged;
:class:`LabelVocabulary` knows which labels the numbers stand for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.layouts import DenseCells, SparseCells
from torchclusteval.common.numerics import min_max
from torchclusteval.labels.absent import AbsentGroup
from torchclusteval.labels.group_labels import GroupLabels

MAX_WAITING_CELLS = 1 << 16  # cells that may always wait before equal ones are merged
_MAX_DENSE_CELLS = 1 << 22  # of all tables together


@dataclass(frozen=True, eq=False)
class LabelledCells:
    """Cells of a batch of tables by the labels of their class and cluster; a cell may come several times."""

    batch: Tensor  # (Z,) int64, flat batch number
    true: Tensor  # (Z,) int64
    pred: Tensor  # (Z,) int64
    counts: Tensor  # (Z,) int64 or float64

    @classmethod
    def empty(cls, dtype: torch.dtype, device: torch.device) -> "LabelledCells":
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(none, none, none, none.to(dtype))

    @classmethod
    def join(cls, parts: Sequence["LabelledCells"]) -> "LabelledCells":
        columns = zip(*(part.columns for part in parts), strict=True)
        return cls(*(torch.cat(column) for column in columns))

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.batch, self.true, self.pred, self.counts

    def __len__(self) -> int:
        return len(self.counts)

    def merged(self) -> "LabelledCells":
        """The sums of equal cells, sorted by table, class and cluster."""
        keys = self._keys()
        if bool((keys[1:] > keys[:-1]).all()):
            return self
        keys, order = keys.sort()
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        del keys
        kept = order[first]
        sums = self.counts.new_zeros(len(kept)).index_add_(0, first.cumsum(0).sub_(1), self.counts[order])
        del order
        return LabelledCells(self.batch[kept], self.true[kept], self.pred[kept], sums)

    def _keys(self) -> Tensor:
        tables = int(self.batch.max()) + 1 if len(self) else 0
        (classes, row), (clusters, column) = distinct(self.true), distinct(self.pred)
        _check_cells(tables, len(classes), len(clusters))
        return (self.batch * len(classes)).add_(row).mul_(len(clusters)).add_(column)

    def to(self, device: torch.device | str) -> "LabelledCells":
        return LabelledCells(*(column.to(device) for column in self.columns))

    def pack(self) -> Tensor:
        """One ``(Z, 4)`` int64 tensor, with the bits of float counts."""
        return torch.stack([self.batch, self.true, self.pred, self.counts.view(torch.int64)], dim=1)

    @classmethod
    def unpack(cls, packed: Tensor, dtype: torch.dtype) -> "LabelledCells":
        batch, true, pred, counts = packed.mT.contiguous()
        return cls(batch, true, pred, counts.view(dtype))

    def pack_table(self) -> Tensor:
        """The cells of a single table as ``(Z, 3)``: class, cluster and count."""
        return torch.stack([self.true, self.pred, self.counts], dim=1)

    @classmethod
    def unpack_table(cls, packed: Tensor) -> "LabelledCells":
        true, pred, counts = packed.mT.contiguous()
        return cls(torch.zeros_like(true), true, pred, counts)


def distinct(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct labels, ascending, and the index of each label among them."""
    if not len(labels):
        return labels, labels
    low, high = min_max(labels)
    if high - low >= 4 * len(labels) + 1024:
        return labels.unique(return_inverse=True)
    at = labels - low
    seen = torch.zeros(high - low + 1, dtype=torch.bool, device=labels.device).index_fill_(0, at, True)
    return seen.nonzero()[:, 0] + low, (seen.cumsum(0) - 1)[at]


def _check_cells(tables: int, rows: int, columns: int) -> None:
    if tables * rows * columns >= 2**63:
        got = f"{tables} tables of {rows} x {columns}"
        raise ValueError(f"labels: expected at most 2**63 cells; got {got}")


def _union(known: Tensor, labels: Tensor) -> Tensor:
    return known if torch.equal(known, labels) else torch.cat([known, labels.reshape(-1)]).unique()


@dataclass(eq=False)
class DenseCounts:
    """Tables of few labels in one array, whose rows and columns grow with the labels."""

    counts: Tensor  # (B, R, C)
    classes: Tensor  # (R,) int64, ascending
    clusters: Tensor  # (C,) likewise

    def add(self, classes: Tensor, clusters: Tensor, counts: Tensor) -> bool:
        """Add counts ``(B, r, c)`` by the labels of rows, ``(r,)`` or ``(B, r)``, and columns; False: too many."""
        rows, columns = _union(self.classes, classes), _union(self.clusters, clusters)
        size, shape = len(self.counts), (len(rows), len(columns))
        if size * shape[0] * shape[1] > _MAX_DENSE_CELLS:
            return False
        if shape != self.counts.shape[1:]:
            wider = self.counts.new_zeros((size, *shape))
            row, column = torch.searchsorted(rows, self.classes), torch.searchsorted(columns, self.clusters)
            wider[:, row.unsqueeze(-1), column] = self.counts
            self.counts, self.classes, self.clusters = wider, rows, columns
        if torch.equal(rows, classes) and torch.equal(columns, clusters):
            self.counts += counts
            return True
        table = torch.arange(size, device=counts.device)[:, None, None]
        row = torch.searchsorted(rows, classes).reshape(-1, classes.shape[-1])
        column = torch.searchsorted(columns, clusters).reshape(-1, clusters.shape[-1])
        keys = (table * shape[0] + row.unsqueeze(-1)) * shape[1] + column.unsqueeze(-2)
        self.counts.view(-1).index_add_(0, keys.expand(counts.shape).reshape(-1), counts.reshape(-1))
        return True

    def cells(self) -> LabelledCells:
        """The cells with items."""
        batch, row, column = self.counts.nonzero().unbind(-1)
        return LabelledCells(batch, self.classes[row], self.clusters[column], self.counts[batch, row, column])


@dataclass(eq=False)
class GrowingCells:
    """All cells so far: dense counts of few labels, merged cells, and parts that wait to be merged.

    Parts wait until they outgrow a quarter of the merged cells.
    """

    table: LabelledCells
    waiting: list[LabelledCells] = field(default_factory=list)
    dense: DenseCounts | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """All stored tensors."""
        dense = () if self.dense is None else (self.dense.counts, self.dense.classes, self.dense.clusters)
        return [*dense, *(x for part in (self.table, *self.waiting) for x in part.columns)]

    def add_dense(self, classes: Tensor, clusters: Tensor, counts: Tensor) -> None:
        """Add counts ``(B, r, c)`` by the labels of rows and columns."""
        none = classes.new_zeros(0)
        dense = self.dense or DenseCounts(counts.new_zeros((len(counts), 0, 0)), none, none)
        if not dense.add(classes, clusters, counts):
            self.add(dense.cells())
            dense = DenseCounts(counts.new_zeros((len(counts), 0, 0)), none, none)
            if not dense.add(classes, clusters, counts):
                table, row, column = counts.nonzero().unbind(-1)
                true, pred = (x[i] if x.dim() == 1 else x[table, i] for x, i in ((classes, row), (clusters, column)))
                self.add(LabelledCells(table, true, pred, counts[table, row, column]))
        self.dense = dense if dense.counts.numel() else None

    def add(self, part: LabelledCells) -> None:
        self.waiting.append(part)
        if sum(map(len, self.waiting)) > max(MAX_WAITING_CELLS, len(self.table) // 4):
            self.merged()

    def merged(self) -> LabelledCells:
        """The sums of equal cells, sorted."""
        if self.dense is not None:
            self.waiting.append(self.dense.cells())
            self.dense = None
        if self.waiting:
            # The parts go before equal cells are merged, which takes memory; if that fails, no cell is lost.
            self.waiting = [LabelledCells.join([self.table, *self.waiting])]
            self.table = LabelledCells.empty(self.table.counts.dtype, self.table.counts.device)
            self.table, self.waiting = self.waiting[0].merged(), []
        return self.table

    def to(self, device: torch.device | str) -> "GrowingCells":
        return GrowingCells(self.merged().to(device))


class ListedCells(NamedTuple):
    """The cells of tables of all labels so far, in any order; each comes once."""

    table: Tensor  # (Z,) flat number of the table
    row: Tensor  # (Z,)
    column: Tensor  # (Z,)
    counts: Tensor  # (Z,)
    shape: tuple[int, int]  # of a table
    labels: tuple[GroupLabels | None, GroupLabels | None]  # of rows and columns
    absent: tuple[AbsentGroup | None, AbsentGroup | None] = (None, None)  # the rows and columns of items without one

    def dense(self, batch_shape: torch.Size) -> DenseCells:
        rows, columns = self.shape
        keys = (self.table * rows + self.row) * columns + self.column
        flat = torch.zeros(batch_shape.numel() * rows * columns, dtype=self.counts.dtype, device=self.counts.device)
        return DenseCells(flat.index_add(0, keys, self.counts).reshape(*batch_shape, rows, columns))

    def sparse(self, batch_shape: torch.Size) -> SparseCells:
        rows, columns = self.shape
        _check_cells(batch_shape.numel(), rows, columns)
        keys = (self.table * rows + self.row) * columns + self.column
        ascends = bool((keys[1:] > keys[:-1]).all())
        order = None if ascends else keys.argsort()
        return SparseCells(batch_shape, self.shape, *(x if order is None else x[order] for x in self[:4]))
