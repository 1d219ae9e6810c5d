"""Tables with rows and columns unknown beforehand: cells with the labels of their class and cluster.

Labels are int64 numbers, so that cells of different chunks, states and ranks can be joined and merged;
:class:`LabelVocabulary` maps the numbers back to labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from torchclusteval.common.numerics import min_max

MAX_WAITING_CELLS = 1 << 16  # cells that may always wait before equal ones are merged
_MAX_DENSE_CELLS = 1 << 22  # of all tables together


@dataclass(frozen=True, eq=False)
class LabelledCells:
    """Cells of a batch of tables by the labels of their class and cluster; a cell may occur several times."""

    keys: Tensor  # (Z,) int64, (number of the table * R + place in classes) * C + place in clusters
    counts: Tensor  # (Z,) int64 or float64
    classes: Tensor  # (R,) int64, the class labels of the cells
    clusters: Tensor  # (C,) likewise

    @classmethod
    def of(cls, table: Tensor, true: Tensor, pred: Tensor, counts: Tensor) -> "LabelledCells":
        """Cells by table and labels, ``(Z,)`` each."""
        (classes, row), (clusters, column) = distinct(true), distinct(pred)
        return cls(cell_keys(table, row, column, (len(classes), len(clusters))), counts, classes, clusters)

    @classmethod
    def empty(cls, dtype: torch.dtype, device: torch.device) -> "LabelledCells":
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(none, none.to(dtype), none, none)

    @classmethod
    def join(cls, parts: Sequence["LabelledCells"]) -> "LabelledCells":
        classes, clusters = _union([x.classes for x in parts]), _union([x.clusters for x in parts])
        keys = torch.cat([part._keys_among(classes, clusters) for part in parts])
        return cls(keys, torch.cat([part.counts for part in parts]), classes, clusters)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def places(self) -> tuple[Tensor, Tensor, Tensor]:
        """``(Z,)`` number of the table, place in ``classes`` and place in ``clusters``."""
        above = self.keys.div(max(1, len(self.clusters)), rounding_mode="floor")
        table = above.div(max(1, len(self.classes)), rounding_mode="floor")
        return table, above - table * len(self.classes), self.keys - above * len(self.clusters)

    def _keys_among(self, classes: Tensor, clusters: Tensor) -> Tensor:
        """The keys with places among these ascending labels instead."""
        if torch.equal(classes, self.classes) and torch.equal(clusters, self.clusters):
            return self.keys
        table, row, column = self.places
        row = torch.searchsorted(classes, self.classes)[row]
        column = torch.searchsorted(clusters, self.clusters)[column]
        return cell_keys(table, row, column, (len(classes), len(clusters)))

    def merged(self) -> "LabelledCells":
        """The sums of equal cells, sorted by table, class and cluster, if the labels ascend."""
        if bool((self.keys[1:] > self.keys[:-1]).all()):
            return self
        keys, order = self.keys.sort()
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        if bool(first.all()):  # takes less memory
            return replace(self, keys=keys, counts=self.counts[order])
        keys = keys[first]
        sums = self.counts.new_zeros(len(keys)).index_add_(0, first.cumsum(0).sub_(1), self.counts[order])
        return replace(self, keys=keys, counts=sums)

    def to(self, device: torch.device | str) -> "LabelledCells":
        return LabelledCells(*(x.to(device) for x in (self.keys, self.counts, self.classes, self.clusters)))

    def pack(self) -> Tensor:
        """One ``(Z, 4)`` int64 tensor: table, class, cluster and count, with the bits of float counts."""
        table, row, column = self.places
        return torch.stack([table, self.classes[row], self.clusters[column], self.counts.view(torch.int64)], dim=1)

    @classmethod
    def unpack(cls, packed: Tensor, dtype: torch.dtype) -> "LabelledCells":
        table, true, pred, counts = packed.mT.contiguous()
        return cls.of(table, true, pred, counts.view(dtype))


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


def cell_keys(table: Tensor, row: Tensor, column: Tensor, shape: tuple[int, int]) -> Tensor:
    """Numbers of cells that ascend by table, row and column, of tables of this shape."""
    tables = int(table.max()) + 1 if len(table) else 0
    if tables * shape[0] * shape[1] >= 2**63:
        got = f"{tables} tables of {shape[0]} x {shape[1]}"
        raise ValueError(f"labels: expected at most 2**63 cells; got {got}")
    return (table * shape[0]).add_(row).mul_(shape[1]).add_(column)


def _union(parts: Sequence[Tensor]) -> Tensor:
    first, *others = parts
    if all(torch.equal(first, other) for other in others):
        return first
    return torch.cat([part.reshape(-1) for part in parts]).unique()


@dataclass(eq=False)
class DenseCounts:
    """Tables of few labels in one array, whose rows and columns grow with the labels."""

    counts: Tensor  # (B, R, C)
    classes: Tensor  # (R,) int64, ascending
    clusters: Tensor  # (C,) likewise

    def add(self, classes: Tensor, clusters: Tensor, counts: Tensor) -> bool:
        """Add counts ``(B, r, c)`` by the labels of rows, ``(r,)`` or ``(B, r)``, and columns; False: too many."""
        rows, columns = _union([self.classes, classes]), _union([self.clusters, clusters])
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


def _nonzero(classes: Tensor, clusters: Tensor, counts: Tensor) -> LabelledCells:
    """The cells with items of dense counts."""
    table, row, column = counts.nonzero().unbind(-1)
    true, pred = (x[i] if x.dim() == 1 else x[table, i] for x, i in ((classes, row), (clusters, column)))
    return LabelledCells.of(table, true, pred, counts[table, row, column])


@dataclass(eq=False)
class GrowingCells:
    """All cells so far: dense counts of few labels, merged cells, and parts, merged on outgrowing a quarter."""

    table: LabelledCells
    waiting: list[LabelledCells] = field(default_factory=list)
    dense: DenseCounts | None = None

    def add_dense(self, classes: Tensor, clusters: Tensor, counts: Tensor) -> None:
        """Add counts ``(B, r, c)`` by the labels of rows and columns."""
        none = classes.new_zeros(0)
        self.dense = self.dense or DenseCounts(counts.new_zeros((len(counts), 0, 0)), none, none)
        if not self.dense.add(classes, clusters, counts):
            self._add_dense_cells()
            self.add(_nonzero(classes, clusters, counts))

    def _add_dense_cells(self) -> None:
        if self.dense is not None:
            self.waiting.append(_nonzero(self.dense.classes, self.dense.clusters, self.dense.counts))
            self.dense = None

    def add(self, part: LabelledCells) -> None:
        if len(part) + sum(map(len, self.waiting)) > max(MAX_WAITING_CELLS, len(self.table) // 4):
            self.merged(part)
        else:
            self.waiting.append(part)

    def merged(self, *more: LabelledCells) -> LabelledCells:
        """The sums of equal cells, and of more that come with them, sorted."""
        self._add_dense_cells()
        if self.waiting or more:
            # Merging equal cells takes memory, so the parts go first; if merging fails, no cell is lost.
            self.waiting = [LabelledCells.join([self.table, *self.waiting, *more])]
            self.table = LabelledCells.empty(self.table.counts.dtype, self.table.counts.device)
            self.table, self.waiting = self.waiting[0].merged(), []
        return self.table

    def to(self, device: torch.device | str) -> "GrowingCells":
        return GrowingCells(self.merged().to(device))
