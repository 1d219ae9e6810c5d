"""The two layouts of a batch of tables, with the same methods.

A *cell quantity* is a float64 tensor with one entry per stored cell: ``(*batch, R, C)`` in the dense layout,
``(Z,)`` in the sparse one, where ``Z`` is the number of non-zero cells of the whole batch.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.common.threads import on_one_thread


class CellBlock(NamedTuple):
    """The rows and columns of every table that hold some of its cells."""

    rows: slice
    columns: slice


@dataclass(frozen=True, eq=False)
class DenseCells:
    """Every cell is stored; zeros are padding or empty."""

    counts: Tensor  # (*batch, R, C) int64 or float64
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    layout = "dense"

    @lazy_property
    def batch_shape(self) -> torch.Size:
        return self.counts.shape[:-2]

    @property
    def shape(self) -> tuple[int, int]:
        return self.counts.shape[-2], self.counts.shape[-1]

    @property
    def values(self) -> Tensor:
        return self.counts

    @on_one_thread
    def transpose(self) -> "DenseCells":
        # Contiguous, so that the order of sums does not depend on how the table was made.
        return DenseCells(self.counts.mT.contiguous())

    @on_one_thread
    def row_sizes(self) -> Tensor:  # (*batch, R)
        return self.counts.sum(-1)

    @on_one_thread
    def column_sizes(self) -> Tensor:  # (*batch, C)
        return self.counts.sum(-2)

    def at_rows(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1)

    def at_columns(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-2)

    def sum(self, x: Tensor) -> Tensor:
        return sum_reproducible(x.flatten(-2))

    def sum_by_row(self, x: Tensor) -> Tensor:
        return sum_reproducible(x)

    def sum_by_column(self, x: Tensor) -> Tensor:
        return sum_reproducible(x.mT)

    def max_by_row(self, x: Tensor) -> Tensor:
        return x.amax(-1)

    def max_by_column(self, x: Tensor) -> Tensor:
        return x.amax(-2)

    @lazy_property
    def blocking_size(self) -> int:
        """Cells of one table: the blocks of a table must not depend on the batch."""
        return self.counts.shape[-2] * self.counts.shape[-1]

    def blocks(self, most: int) -> "Iterator[tuple[CellBlock, DenseCells]]":
        """Yield blocks of rows with at most ``most`` cells per table, or blocks within longer rows; as views."""
        rows, columns = self.shape
        height, width = max(1, most // columns), min(most, columns)
        for top in range(0, rows, height):
            for left in range(0, columns, width):
                block = CellBlock(slice(top, top + height), slice(left, left + width))
                yield block, DenseCells(self.counts[..., block.rows, block.columns])

    def add_row_sums(self, sums: Tensor, x: Tensor) -> None:
        """Add a cell quantity to row sums, in place."""
        sums.add_(sum_reproducible(x))

    def update_row_maxima(self, maxima: Tensor, x: Tensor) -> None:
        """Update row maxima with a cell quantity, in place."""
        torch.maximum(maxima, x.amax(-1), out=maxima)

    def update_column_maxima(self, maxima: Tensor, x: Tensor) -> None:
        """Update column maxima with a cell quantity, in place."""
        torch.maximum(maxima, x.amax(-2), out=maxima)

    @on_one_thread
    def nonzero(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Index in the flattened batch, row, column and count of the non-zero cells, sorted by the first three."""
        flat = self.counts.reshape(-1, *self.shape)
        batch, row, column = flat.nonzero().unbind(-1)
        return batch, row, column, flat[batch, row, column]

    @on_one_thread
    def select(self, keys: Tensor) -> "DenseCells":
        """The tables with these indices in the flattened batch, in a batch of the shape of ``keys``."""
        flat = self.counts.reshape(-1, *self.shape)
        return DenseCells(flat.index_select(0, keys.flatten()).reshape(*keys.shape, *self.shape))

    def narrow(self, start: int, length: int) -> "DenseCells":
        """Consecutive tables of the flattened batch."""
        return DenseCells(self.counts.reshape(-1, *self.shape).narrow(0, start, length))

    @on_one_thread
    def keep_rows(self, kept: Tensor) -> "DenseCells":
        """Only the rows with these indices."""
        return DenseCells(self.counts.index_select(-2, kept))

    @on_one_thread
    def keep_columns(self, kept: Tensor) -> "DenseCells":
        """Only the columns with these indices."""
        return DenseCells(self.counts.index_select(-1, kept))

    def with_values(self, values: Tensor) -> "DenseCells":
        """A cell quantity in place of the counts."""
        return DenseCells(values)

    def to(self, device: torch.device | str) -> "DenseCells":
        return DenseCells(self.counts.to(device))

    def over_ranks(self, x: Tensor, maximum: bool = False) -> Tensor:
        return x


@dataclass(frozen=True, eq=False)
class SparseCells:
    """The non-zero cells of the whole batch, sorted by table, row and column."""

    batch_shape: torch.Size
    shape: tuple[int, int]
    batch: Tensor  # (Z,) int64, index in the flattened batch
    row: Tensor  # (Z,) int64
    column: Tensor  # (Z,) int64
    values: Tensor  # (Z,) int64 or float64
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    layout = "sparse"

    @property
    def size(self) -> int:
        return self.batch_shape.numel()

    @lazy_property
    def row_key(self) -> Tensor:  # (Z,) int64, in 0..B*R-1
        return self.row if self.size == 1 else self.batch * self.shape[0] + self.row

    @lazy_property
    def column_key(self) -> Tensor:  # (Z,) int64, in 0..B*C-1
        return self.column if self.size == 1 else self.batch * self.shape[1] + self.column

    @on_one_thread
    def transpose(self) -> "SparseCells":
        rows, columns = self.shape
        order = torch.argsort(self.column_key, stable=True)  # rows are sorted already
        batch, column, row, values = (
            x.index_select(0, order) for x in (self.batch, self.column, self.row, self.values)
        )
        return replace(self, shape=(columns, rows), batch=batch, row=column, column=row, values=values)

    def _by(self, keys: Tensor, groups: int, x: Tensor) -> Tensor:
        got = f"{self.size} tables of {self.shape[0]} x {self.shape[1]}"
        with explain_out_of_memory(
            f"tables: expected groups whose sizes fit in memory; got {got} (leave unused groups out)"
        ):
            sums = torch.zeros(self.size * groups, dtype=x.dtype, device=x.device).index_add(0, keys, x)
        return sums.reshape(*self.batch_shape, groups)

    def _max_by(self, keys: Tensor, groups: int, x: Tensor) -> Tensor:
        zeros = torch.zeros(self.size * groups, dtype=x.dtype, device=x.device)
        return zeros.scatter_reduce(0, keys, x, "amax").reshape(*self.batch_shape, groups)

    @on_one_thread
    def row_sizes(self) -> Tensor:
        return self._by(self.row_key, self.shape[0], self.values)

    @on_one_thread
    def column_sizes(self) -> Tensor:
        return self._by(self.column_key, self.shape[1], self.values)

    def at_rows(self, x: Tensor) -> Tensor:
        return x.reshape(-1).index_select(0, self.row_key)

    def at_columns(self, x: Tensor) -> Tensor:
        return x.reshape(-1).index_select(0, self.column_key)

    def sum(self, x: Tensor) -> Tensor:
        return sum_reproducible(self.sum_by_row(x))  # rows first: long runs of one sum would lose digits

    def sum_by_row(self, x: Tensor) -> Tensor:
        return self._by(self.row_key, self.shape[0], x)

    def sum_by_column(self, x: Tensor) -> Tensor:
        return self._by(self.column_key, self.shape[1], x)

    def max_by_row(self, x: Tensor) -> Tensor:
        return self._max_by(self.row_key, self.shape[0], x)

    def max_by_column(self, x: Tensor) -> Tensor:
        return self._max_by(self.column_key, self.shape[1], x)

    @property
    def blocking_size(self) -> int:
        """Cells of the whole batch: results do not depend on the blocks."""
        return self.values.numel()

    def blocks(self, most: int) -> "Iterator[tuple[CellBlock, SparseCells]]":
        """Yield blocks of at most ``most`` cells, in any rows; as views."""
        everywhere = CellBlock(slice(None), slice(None))
        for start in range(0, max(1, self.values.numel()), most):
            run = (x[start : start + most] for x in (self.batch, self.row, self.column, self.values))
            yield everywhere, SparseCells(self.batch_shape, self.shape, *run)

    def add_row_sums(self, sums: Tensor, x: Tensor) -> None:
        sums.view(-1).index_add_(0, self.row_key, x)

    def update_row_maxima(self, maxima: Tensor, x: Tensor) -> None:
        maxima.view(-1).scatter_reduce_(0, self.row_key, x, "amax")

    def update_column_maxima(self, maxima: Tensor, x: Tensor) -> None:
        maxima.view(-1).scatter_reduce_(0, self.column_key, x, "amax")

    @on_one_thread
    def nonzero(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.batch, self.row, self.column, self.values

    @lazy_property
    def offsets(self) -> Tensor:  # (B + 1,) int64: the first cell of each table
        bounds = torch.arange(self.size + 1, device=self.batch.device)
        return torch.searchsorted(self.batch.contiguous(), bounds)

    @on_one_thread
    def select(self, keys: Tensor) -> "SparseCells":
        flat = keys.flatten()
        starts, ends = self.offsets[flat], self.offsets[flat + 1]
        lengths = ends - starts
        batch = torch.repeat_interleave(torch.arange(len(flat), device=flat.device), lengths)
        first = torch.cumsum(lengths, 0) - lengths
        at = torch.arange(len(batch), device=flat.device) - first[batch] + starts[batch]
        row, column, values = self.row[at], self.column[at], self.values[at]
        return replace(self, batch_shape=keys.shape, batch=batch, row=row, column=column, values=values)

    def narrow(self, start: int, length: int) -> "SparseCells":
        low, high = self.offsets[[start, start + length]].tolist()
        batch, row, column, values = (x[low:high] for x in (self.batch - start, self.row, self.column, self.values))
        return replace(self, batch_shape=torch.Size([length]), batch=batch, row=row, column=column, values=values)

    @on_one_thread
    def keep_rows(self, kept: Tensor) -> "SparseCells":
        return replace(self, shape=(len(kept), self.shape[1]), row=_places(kept, self.shape[0])[self.row])

    @on_one_thread
    def keep_columns(self, kept: Tensor) -> "SparseCells":
        return replace(self, shape=(self.shape[0], len(kept)), column=_places(kept, self.shape[1])[self.column])

    @on_one_thread
    def totals(self) -> Tensor:
        return self._by(self.batch, 1, self.values).squeeze(-1)

    def with_values(self, values: Tensor) -> "SparseCells":
        return replace(self, values=values)

    def to(self, device: torch.device | str) -> "SparseCells":
        batch, row, column, values = (x.to(device) for x in (self.batch, self.row, self.column, self.values))
        return replace(self, batch=batch, row=row, column=column, values=values)

    def over_ranks(self, x: Tensor, maximum: bool = False) -> Tensor:
        """Sums, or maxima, of these cells over all ranks that hold cells of the tables."""
        return x


class CellsElsewhereError(ValueError):
    """The requested cells are on another rank."""


@dataclass(frozen=True, eq=False)
class SpreadCells(SparseCells):
    """The share of one rank in sparse cells, each of which one rank has.

    Sizes, sums and maxima are those of all ranks, which must request them in the same order; the cells
    themselves are not available.
    """

    everywhere: int = 0  # cells of all ranks
    reduce: Callable[[Tensor, bool], Tensor] | None = None  # sums, or maxima, over the ranks; None: there are no cells

    @property
    def blocking_size(self) -> int:
        return self.everywhere

    def over_ranks(self, x: Tensor, maximum: bool = False) -> Tensor:
        if self.reduce is None:
            raise CellsElsewhereError("tables: expected the sum over cells that this measure needs; got none")
        return self.reduce(x, maximum)

    def _by(self, keys: Tensor, groups: int, x: Tensor) -> Tensor:
        return self.over_ranks(super()._by(keys, groups, x))

    def _max_by(self, keys: Tensor, groups: int, x: Tensor) -> Tensor:
        return self.over_ranks(super()._max_by(keys, groups, x), True)

    def sum(self, x: Tensor) -> Tensor:
        return self.over_ranks(sum_reproducible(super()._by(self.row_key, self.shape[0], x)))

    def nonzero(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        raise CellsElsewhereError("tables: expected all cells in one place; got those of one rank")


def _places(kept: Tensor, size: int) -> Tensor:
    """The new index of each kept group."""
    places = torch.zeros(size, dtype=torch.int64, device=kept.device)
    places[kept] = torch.arange(len(kept), device=kept.device)
    return places


Cells = DenseCells | SparseCells


def used_groups(sizes: Tensor) -> Tensor | None:
    """Indices of the groups with items anywhere in the batch; None if all have items."""
    if not sizes.numel():
        return torch.zeros(1, dtype=torch.int64, device=sizes.device)
    if sizes.device.type == "cpu" and not sizes.requires_grad:  # NumPy starts a sixth of the time of torch's kernels
        most = sizes.numpy()
        if most.ndim > 1:
            most = np.maximum.reduce(most.reshape(-1, most.shape[-1]), 0)
        if np.minimum.reduce(most) > 0:
            return None
    used = sizes.reshape(-1, sizes.shape[-1]).amax(0) > 0
    if bool(used.all()):
        return None
    used[0] |= ~used.any()
    return used.nonzero().squeeze(-1)
