"""Tables whose rows and columns are not known beforehand: cells with the labels of their class and cluster.

Labels are int64 numbers, so that cells of different chunks, states and ranks can be joined and merged;
:class:`LabelVocabulary` knows which labels the numbers stand for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.common.numerics import min_max

MAX_WAITING_CELLS = 1 << 16  # cells that may always wait before equal ones are merged
_MAX_WAITING_PARTS = 64
_KEYS_PER_BLOCK = 1 << 18
_MAX_DENSE_CELLS = 1 << 22  # of all tables together


@dataclass(frozen=True, eq=False)
class LabelledCells:
    """Cells of a batch of tables by the labels of their class and cluster; a cell may come several times.

    >>> from torchclusteval.streaming import LabelledCells
    >>> cells = LabelledCells(*(torch.tensor(x) for x in ([0, 0], [5, 5], [1, 1], [2, 3])))
    >>> cells.merged().counts.tolist()
    [5]
    """

    batch: Tensor  # (Z,) int64, flat batch number
    true: Tensor  # (Z,) int64
    pred: Tensor  # (Z,) int64
    counts: Tensor  # (Z,) int64 or float64

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
        return CellTable.of(self).merged().cells()

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


@dataclass(frozen=True, eq=False)
class CellTable:
    """Labelled cells in half the memory: the table, class and cluster of a cell are one key."""

    keys: Tensor  # (Z,) int64, (batch number * R + index in classes) * C + index in clusters
    counts: Tensor  # (Z,) int64 or float64
    classes: Tensor  # (R,) int64, ascending labels of the classes that have cells
    clusters: Tensor  # (C,) int64, ascending labels of the clusters that have cells

    @classmethod
    def empty(cls, dtype: torch.dtype, device: torch.device) -> "CellTable":
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(none, none.to(dtype), none, none)

    @classmethod
    def of(cls, cells: LabelledCells) -> "CellTable":
        """The same cells, in the same order."""
        (classes, row), (clusters, column) = _distinct(cells.true), _distinct(cells.pred)
        _check_cells(int(cells.batch.max()) + 1 if len(cells) else 0, len(classes), len(clusters))
        keys = (cells.batch * len(classes) + row).mul_(len(clusters)).add_(column)
        return cls(keys, cells.counts, classes, clusters)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.keys, self.counts, self.classes, self.clusters

    def __len__(self) -> int:
        return len(self.counts)

    def merged(self) -> "CellTable":
        """The sums of equal cells, sorted."""
        if bool((self.keys[1:] > self.keys[:-1]).all()):
            return self
        keys, order = self.keys.sort()
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        keys = keys[first]
        sums = self.counts.new_zeros(len(keys)).index_add_(0, first.cumsum(0).sub_(1), self.counts[order])
        return CellTable(keys, sums, self.classes, self.clusters)

    def merge(self, more: "CellTable") -> "CellTable":
        """The sums of two merged tables: needs no sort, and memory for little more than the result."""
        if not len(self) or not len(more):
            return more if len(more) else self
        classes, clusters = (
            torch.cat(sides).unique() for sides in ((self.classes, more.classes), (self.clusters, more.clusters))
        )
        ours, theirs = self._keys_among(classes, clusters), more._keys_among(classes, clusters)
        n_before = torch.searchsorted(ours, theirs)  # how many of our keys come before each of theirs
        known = ours[n_before.clamp(max=len(ours) - 1)] == theirs
        counts = self.counts.index_add(0, n_before[known], more.counts[known])
        new = (~known).nonzero()[:, 0]
        at = n_before[new] + torch.arange(len(new), device=new.device)
        old = torch.ones(len(self) + len(new), dtype=torch.bool, device=new.device)
        old[at] = False
        keys = _interleave(old, ours, at, theirs[new])
        return CellTable(keys, _interleave(old, counts, at, more.counts[new]), classes, clusters)

    def _keys_among(self, classes: Tensor, clusters: Tensor) -> Tensor:
        """The keys when more classes and clusters are known; their order stays."""
        if len(classes) == len(self.classes) and len(clusters) == len(self.clusters):
            return self.keys
        _check_cells(int(self.keys.max()) // (len(self.classes) * len(self.clusters)) + 1, len(classes), len(clusters))
        row, column = torch.searchsorted(classes, self.classes), torch.searchsorted(clusters, self.clusters)
        return self.keys_at(row, column, len(classes), len(clusters))

    def keys_at(self, row: Tensor, column: Tensor, rows: int, columns: int) -> Tensor:
        """The keys in tables of another shape, by the new row of each class and the new column of each cluster."""
        new_keys = torch.empty_like(self.keys)
        for keys, block in zip(self.keys.split(_KEYS_PER_BLOCK), new_keys.split(_KEYS_PER_BLOCK), strict=True):
            batch, old_row, old_column = self._split(keys)
            block.copy_((batch * rows + row[old_row]) * columns + column[old_column])
        return new_keys

    def _split(self, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        row_key = keys.div(max(1, len(self.clusters)), rounding_mode="floor")
        batch = row_key.div(max(1, len(self.classes)), rounding_mode="floor")
        column = keys.sub(row_key, alpha=len(self.clusters))
        return batch, row_key.sub_(batch, alpha=len(self.classes)), column

    def indices(self) -> tuple[Tensor, Tensor, Tensor]:
        """Flat batch number and indices in ``classes`` and ``clusters`` of each cell, ``(Z,)`` int64 each."""
        return self._split(self.keys)

    def cells(self) -> LabelledCells:
        """The same cells, in the same order."""
        batch, row, column = self.indices()
        return LabelledCells(batch, self.classes[row], self.clusters[column], self.counts)

    def to(self, device: torch.device | str) -> "CellTable":
        return CellTable(*(x.to(device) for x in self.tensors))


def _union(known: Tensor, labels: Tensor) -> Tensor:
    return known if torch.equal(known, labels) else torch.cat([known, labels.reshape(-1)]).unique()


def _interleave(old: Tensor, column: Tensor, at: Tensor, others: Tensor) -> Tensor:
    """``others`` at the positions ``at``, the entries of ``column`` in their order where ``old`` is true."""
    both = column.new_empty(len(old))
    both[at] = others
    return both.masked_scatter_(old, column)


def _distinct(labels: Tensor) -> tuple[Tensor, Tensor]:
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
    """All cells so far: dense counts of few labels, a merged table, and parts that wait to be merged.

    Parts wait until they outgrow a quarter of the table.
    """

    table: CellTable
    waiting: list[LabelledCells] = field(default_factory=list)
    dense: DenseCounts | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """All stored tensors."""
        dense = () if self.dense is None else (self.dense.counts, self.dense.classes, self.dense.clusters)
        return [*self.table.tensors, *dense, *(x for part in self.waiting for x in part.columns)]

    def add_dense(self, classes: Tensor, clusters: Tensor, counts: Tensor) -> None:
        """Add counts ``(B, r, c)`` by the labels of rows and columns."""
        none = classes.new_zeros(0)
        if self.dense is None:
            self.dense = DenseCounts(counts.new_zeros((len(counts), 0, 0)), none, none)
        if not self.dense.add(classes, clusters, counts):
            more = DenseCounts(counts.new_zeros((len(counts), 0, 0)), none, none)
            self.add(self.dense.cells())
            self.dense = more if more.add(classes, clusters, counts) else None

    def add(self, part: LabelledCells) -> None:
        self.waiting.append(part)
        many = len(self.waiting) >= _MAX_WAITING_PARTS
        most = max(MAX_WAITING_CELLS, len(self.table) // 4)
        if sum(map(len, self.waiting)) > most or (many and not len(self.table)):
            self._merge()
        elif many:
            self.waiting = [LabelledCells.join(self.waiting)]

    def _merge(self) -> None:
        if self.waiting:
            more = CellTable.of(LabelledCells.join(self.waiting))
            self.waiting = []  # frees memory for the merge
            self.table = self.table.merge(more.merged())

    def merged(self) -> CellTable:
        """The sums of equal cells, in any order."""
        if self.dense is not None:
            self.waiting.append(self.dense.cells())
            self.dense = None
        if len(self.waiting) == 1 and not len(self.table):
            return CellTable.of(self.waiting[0])  # a chunk has each cell once
        self._merge()
        return self.table

    def to(self, device: torch.device | str) -> "GrowingCells":
        return GrowingCells(self.merged().to(device))


def as_cells(keys: Tensor, counts: Tensor, batch_shape: torch.Size, shape: tuple[int, int], n: int) -> Cells:
    """Cells by their flat index over the batch, ``(batch * R + row) * C + column``, in the layout that fits them."""
    rows, columns = shape
    _check_cells(batch_shape.numel(), rows, columns)
    if counting.fits_dense(rows * columns, batch_shape.numel(), n):
        flat = torch.zeros(batch_shape.numel() * rows * columns, dtype=counts.dtype, device=counts.device)
        return DenseCells(flat.index_add(0, keys, counts).reshape(*batch_shape, *shape))
    if not bool((keys[1:] > keys[:-1]).all()):
        keys, order = keys.sort()
        counts = counts[order]
    row_key = keys.div(columns, rounding_mode="floor")
    batch = row_key.div(rows, rounding_mode="floor")
    return SparseCells(batch_shape, shape, batch, row_key - batch * rows, keys - row_key * columns, counts)
