"""Bootstrap that resamples cells: items drawn with replacement are a multinomial sample over the cells of a table."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.cells.layouts import SparseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.inference import intervals
from torchclusteval.inference.draws import multinomial
from torchclusteval.inference.resampling import Values, values_of
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

ALWAYS_DENSE_CELLS = 4096  # up to this many cells a table may always be drawn dense
_MAX_JACKKNIFE_CELLS = 10_000
_JACKKNIFE_BLOCK_CELLS = 1 << 20  # cells of the tables less one item that are scored at a time


@dataclass(frozen=True, eq=False)
class CellResampler(ABC):
    """Multinomial draws over the cells of each table of a flattened batch."""

    counts: Tensor  # (B, Z) int64; zeros pad
    shared = False

    @property
    def n_tables(self) -> int:
        return len(self.counts)

    @property
    def n_elements(self) -> int:
        return self.counts.shape[1]

    @property
    def device(self) -> torch.device:
        return self.counts.device

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        return multinomial(self.counts[at], count, generator)

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        """From the tables less one item of each non-empty cell."""
        counts = self.counts
        table, cell = counts.nonzero().unbind(-1)
        most = int((counts > 0).sum(-1).max()) if counts.numel() else 0
        if most > _MAX_JACKKNIFE_CELLS:
            expected = f"expected another than 'bca' for more than {_MAX_JACKKNIFE_CELLS} cells"
            raise ValueError(f"method: {expected}; got {most}")
        step = max(1, _JACKKNIFE_BLOCK_CELLS // self.n_elements)
        parts = []
        for at, position in zip(table.split(step), cell.split(step), strict=True):
            fewer = counts[at].scatter_add(1, position.unsqueeze(1), -torch.ones_like(position).unsqueeze(1))
            parts.append(self.score(fewer, at, measures))
        weights = counts[table, cell].double()
        return {
            name: intervals.acceleration(torch.cat([part[name] for part in parts]), weights, table, len(counts))
            for name in (parts[0] if len(table) else ())
        }

    @abstractmethod
    def score(self, drawn: Tensor, at: slice | Tensor, measures: Sequence[Measure]) -> Values:
        """Values of counts ``(*some, b, Z)`` of the tables ``at``."""


@dataclass(frozen=True, eq=False)
class ResampledCells(CellResampler):
    """The cells of a flattened batch of tables that resampling may fill: all of them, or the non-empty ones."""

    shape: tuple[int, int]  # (R, C)
    keys: Tensor | None  # (B, Z) int64 ascending flat indices, R * C for padding; None: Z numbers all cells

    @property
    def is_dense(self) -> bool:
        return self.keys is None

    def tables(self, counts: Tensor, at: slice | Tensor) -> ContingencyTables:
        """Tables ``(*some, b)`` from counts ``(*some, b, Z)`` of the tables ``at``."""
        rows, columns = self.shape
        if self.keys is None:
            return ContingencyTables(counts.unflatten(-1, self.shape), validate=False)
        batch = counts.shape[:-1]
        number = torch.arange(batch.numel(), device=counts.device).reshape(*batch, 1).expand(counts.shape)
        filled = counts > 0
        keys = self.keys[at].expand(counts.shape)[filled]
        row = keys.div(columns, rounding_mode="floor")
        cells = SparseCells(batch, (rows, columns), number[filled], row, keys - row * columns, counts[filled])
        return ContingencyTables._of(TableParts(cells))

    @property
    def drawn(self) -> str:
        return "all cells" if self.is_dense else "non-empty cells"

    def score(self, drawn: Tensor, at: slice | Tensor, measures: Sequence[Measure]) -> Values:
        return values_of(self.tables(drawn, at), measures)

    def positions(self, keys: Tensor) -> Tensor:
        """Positions among the Z cells of the flat indices ``(B, Y)``."""
        return keys if self.keys is None else torch.searchsorted(self.keys, keys)


def resampled_cells(tables: ContingencyTables) -> ResampledCells:
    """All cells where the tables are small or well filled, else the non-empty ones."""
    shape = (tables.shape[-2], tables.shape[-1])
    size, cells = tables.batch_shape.numel(), shape[0] * shape[1]
    if cells > ALWAYS_DENSE_CELLS:  # counting the non-empty cells synchronises with the device
        batch, row, column, count = tables.cells()
        filled = torch.bincount(batch, minlength=size)
        if cells > 4 * (int(filled.max()) if size else 0):
            keys, counts = pad_rows(batch, filled, (row * shape[1] + column, count), (cells, 0))
            return ResampledCells(counts=counts, shape=shape, keys=keys)
    return ResampledCells(counts=tables.to_dense().counts.reshape(size, cells), shape=shape, keys=None)


def pad_rows(batch: Tensor, sizes: Tensor, lists: Sequence[Tensor], fillers: Sequence[int]) -> list[Tensor]:
    """Lists over a flattened batch ``(Z,)``, sorted by ``batch``, as rows ``(B, longest)``."""
    longest = max(1, int(sizes.max())) if sizes.numel() else 1
    first = sizes.cumsum(0) - sizes
    position = batch * longest + torch.arange(len(batch), device=batch.device) - first[batch]
    rows = []
    for values, filler in zip(lists, fillers, strict=True):
        row = values.new_full((len(sizes) * longest,), filler).index_copy_(0, position, values)
        rows.append(row.reshape(len(sizes), longest))
    return rows
