"""Tables whose rows and columns are not known beforehand: cells listed by the labels of their class and cluster.

Labels are kept as int64 numbers, so that lists of cells from different chunks, states and ranks can be joined and
merged; :class:`LabelNumbers` remembers what the numbers stand for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.cells import Cells, DenseCells, SparseCells
from torchclusteval.labels import LabelPair, Side
from torchclusteval.names import GroupNames

MERGE_FROM = 1 << 16  # cells that may wait before equal ones are merged
_MOST_PARTS = 64


@dataclass(frozen=True, eq=False)
class CellList:
    """Cells of a batch of tables; the same cell may come several times."""

    batch: Tensor  # (Z,) int64, flat batch number
    true: Tensor  # (Z,) int64
    pred: Tensor  # (Z,) int64
    counts: Tensor  # (Z,) int64 or float64

    @classmethod
    def empty(cls, dtype: torch.dtype, device: torch.device) -> "CellList":
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(none, none, none, none.to(dtype))

    @classmethod
    def join(cls, parts: Sequence["CellList"]) -> "CellList":
        columns = zip(*(part.columns for part in parts), strict=True)
        return cls(*(torch.cat(column) for column in columns))

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.batch, self.true, self.pred, self.counts

    def __len__(self) -> int:
        return len(self.counts)

    def merged(self) -> "CellList":
        """Every cell once, sorted by table, class and cluster."""
        (keys,) = _sort_keys([self])
        keys, order = keys.sort()
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        one = order[first]
        sums = self.counts.new_zeros(len(one)).index_add_(0, first.cumsum(0).sub_(1), self.counts[order])
        return CellList(self.batch[one], self.true[one], self.pred[one], sums)

    def plus(self, more: "CellList") -> "CellList":
        """This and another list, both merged, as one: needs room for little more than the result, and no sort."""
        if not len(self) or not len(more):
            return more if len(more) else self
        ours, theirs = _sort_keys([self, more])
        place = torch.searchsorted(ours, theirs)  # how many of ours come before each of theirs
        known = ours[place.clamp(max=len(ours) - 1)] == theirs
        counts = self.counts.index_add(0, place[known], more.counts[known])
        new = (~known).nonzero()[:, 0]
        at = place[new] + torch.arange(len(new), device=new.device)
        old = torch.ones(len(self) + len(new), dtype=torch.bool, device=new.device)
        old[at] = False
        columns = zip((self.batch, self.true, self.pred, counts), more.columns, strict=True)
        return CellList(*(_interleave(old, column, at, others[new]) for column, others in columns))

    def to(self, device: torch.device | str) -> "CellList":
        return CellList(*(column.to(device) for column in self.columns))

    def pack(self) -> Tensor:
        """One ``(Z, 4)`` int64 tensor, with the bits of float counts."""
        return torch.stack([self.batch, self.true, self.pred, self.counts.view(torch.int64)], dim=1)

    @classmethod
    def unpack(cls, packed: Tensor, dtype: torch.dtype) -> "CellList":
        batch, true, pred, counts = packed.mT.contiguous()
        return cls(batch, true, pred, counts.view(dtype))


def _interleave(old: Tensor, column: Tensor, at: Tensor, others: Tensor) -> Tensor:
    """Entries of a column where ``old`` says so, ``others`` at the places ``at`` between them."""
    found = column.new_empty(len(old))
    found[at] = others
    return found.masked_scatter_(old, column)


def _sort_keys(lists: Sequence[CellList]) -> list[Tensor]:
    """Numbers that order the cells of all lists by table, class and cluster, ``(Z,)`` int64 for each list."""
    tables = 1 + max((int(part.batch.max()) for part in lists if len(part)), default=0)
    sides = [[part.true for part in lists], [part.pred for part in lists]]
    if tables * math.prod(_extent(side)[1] for side in sides) >= 2**63:
        sides = [_ranks(side) for side in sides]
    (first_true, rows), (first_pred, columns) = map(_extent, sides)
    if tables * rows * columns >= 2**63:
        raise ValueError(f"labels: expected at most 2**63 cells; got {tables} tables of {rows} x {columns}")
    return [
        (true - first_true).add_(part.batch, alpha=rows).mul_(columns).add_(pred - first_pred)
        for part, true, pred in zip(lists, *sides, strict=True)
    ]


def _extent(side: Sequence[Tensor]) -> tuple[int, int]:
    """The smallest label of some lists, and how many whole numbers there are from it to the largest."""
    ends = [labels.aminmax() for labels in side if len(labels)]
    low, high = min((int(end.min) for end in ends), default=0), max((int(end.max) for end in ends), default=0)
    return low, high - low + 1


def _ranks(side: Sequence[Tensor]) -> list[Tensor]:
    """Places of labels among all those of the lists."""
    known = torch.cat(tuple(side)).unique()
    return [torch.searchsorted(known, labels) for labels in side]


def settle(parts: list[CellList]) -> None:
    """Merge parts, the first of which is merged, once the others outgrow a part of it: memory follows the table."""
    waiting = sum(map(len, parts[1:]))
    many = len(parts) > _MOST_PARTS
    if waiting > max(MERGE_FROM, len(parts[0]) // 4) or (many and not len(parts[0])):
        merge_all(parts)
    elif many:
        parts[1:] = [CellList.join(parts[1:])]


def merge_all(parts: list[CellList]) -> None:
    """Leave one part, merged; the first is merged already."""
    if len(parts) > 1:
        more = CellList.join(parts[1:])
        parts[1:] = []  # before the merge, which needs room
        parts[0] = parts[0].plus(more.merged())


def count_cells(pair: LabelPair) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Flat batch number, code of the row, code of the column and count of the non-zero cells of a chunk."""
    dense = counting.is_dense("auto", pair, wait=True)
    cells: Cells = counting.count_dense(pair) if dense else counting.count_sparse(pair)
    return cells.find()


def as_cells(sparse: SparseCells, n: int) -> Cells:
    """Cells in no order, in the layout that fits their number."""
    rows, columns = sparse.shape
    if counting.fits_dense(rows * columns, sparse.size, n):
        return DenseCells(counting.to_dense(sparse))
    order = (sparse.row_key * columns + sparse.column).argsort()
    parts = (x.index_select(0, order) for x in sparse.find())
    return SparseCells(sparse.batch_shape, sparse.shape, *parts)


@dataclass(eq=False)
class LabelNumbers:
    """The labels of one side, as numbers: whole numbers stand for themselves, words get numbers as they come."""

    side: str  # the argument that an error names
    size: int | None = None  # given: labels are codes, and numbers are those
    kind: str | None = None  # "integer", "boolean", "unsigned" (uint64 seen as int64), "text"; None: nothing seen
    words: dict[str, int] = field(default_factory=dict)

    def read(self, side: Side, batch: Tensor, codes: Tensor) -> Tensor:
        """The numbers of labels, by the code that each has in a chunk, ``(Z,)``."""
        if side.names is None or not len(codes):
            return codes
        self._expect(_kind_of(side.names))
        flat = side.names.reshape(-1, side.names.shape[-1])
        if isinstance(flat, np.ndarray):
            numbers = torch.tensor([[self.number(word) for word in row] for row in flat.tolist()], device=codes.device)
        else:
            numbers = flat.view(torch.int64) if flat.dtype == torch.uint64 else flat.long()
        return numbers.to(codes.device)[batch if len(flat) > 1 else torch.zeros_like(batch), codes]

    def number(self, label: Any) -> int:
        """The number of a label; a new word gets a new one."""
        if self.size is not None:
            return self.size  # noise comes after the codes
        if self.kind == "text":
            return self.words.setdefault(label, len(self.words))
        return int(label) - 2**64 if int(label) >= 2**63 else int(label)

    def _expect(self, kind: str) -> None:
        if {self.kind, kind} == {"boolean", "integer"}:
            kind = "integer"
        elif self.kind is not None and kind != self.kind:
            expected = f"labels of the kind seen before ({_KINDS[self.kind]})"
            raise ValueError(f"{self.side}: expected {expected}; got {_KINDS[kind]}")
        self.kind = kind

    def learn(self, kind: str | None, words: Sequence[str]) -> Tensor | None:
        """Take over what another such object knows; the number here of each of its words, None where they agree."""
        if kind is None:
            return None
        self._expect(kind)
        return torch.tensor([self.number(word) for word in words], dtype=torch.int64) if kind == "text" else None

    def place(self, numbers: Tensor) -> tuple[Tensor, int, GroupNames | None]:
        """Places ``0..k-1`` of numbers in the order of their labels, how many there are, and the labels."""
        if self.size is not None:
            return numbers, self.size, None
        if self.kind == "text":
            ordered = sorted(self.words)
            rank = torch.empty(len(ordered), dtype=torch.int64, device=numbers.device)
            rank[[self.words[word] for word in ordered]] = torch.arange(len(ordered), device=numbers.device)
            used, places = rank[numbers].unique(return_inverse=True)
            return places, len(used), np.array(ordered, dtype=object)[used.cpu().numpy()]
        used, places = numbers.unique(return_inverse=True)
        names = used.view(torch.uint64) if self.kind == "unsigned" else used
        return places, len(used), names.bool() if self.kind == "boolean" else names


_KINDS = {"integer": "whole numbers", "boolean": "booleans", "unsigned": "uint64 numbers", "text": "strings"}


def _kind_of(names: GroupNames) -> str:
    if isinstance(names, np.ndarray):
        return "text"
    return {torch.bool: "boolean", torch.uint64: "unsigned"}.get(names.dtype, "integer")
