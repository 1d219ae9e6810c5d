"""Bootstrap that resamples cells: items drawn with replacement are a multinomial sample over the cells of a table.

Every table is drawn by itself, with the same random numbers, so its draws do not depend on the rest of the batch.
Few items are drawn one by one, and tables with the same number of items share these draws; cells are runs of items.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.cells.layouts import SparseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.inference import intervals
from torchclusteval.inference.draws import multiplicities, shares_of, split
from torchclusteval.inference.resampling import Values, values_of
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

ALWAYS_DENSE_CELLS = 4096  # up to this many cells a table may always be drawn dense
_ITEMS_PER_CELL = 50  # up to so many the items are drawn: alone a table may take twice as long, many take a fraction
_MAX_LISTED = 1 << 14  # items that are drawn one by one: a block of 256 draws is then 16 MB
_MAX_JACKKNIFE_CELLS = 10_000
_JACKKNIFE_BLOCK_CELLS = 1 << 20  # cells of the tables less one item that are scored at a time


@dataclass(frozen=True, eq=False)
class CellResampler(ABC):
    """Multinomial draws over the non-empty cells of each table of a flattened batch."""

    counts: Tensor  # (B, Z) int64; zeros pad
    sizes: Sequence[tuple[int, int]]  # cells of each table before the padding, and items
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
        """``(count, tables, Z)``; of one table without the padding."""
        rows, sizes, state = self.counts[at], self.sizes[at], generator.get_state()
        drawn, (sums, shares) = rows.new_zeros(count, *rows.shape), shares_of(rows)
        up_to: dict[int, Tensor] = {}  # items drawn of the first ones
        for i, (row, (cells, items)) in enumerate(zip(rows, sizes, strict=True)):
            if items == 0:
                continue
            if items > min(_MAX_LISTED, _ITEMS_PER_CELL * cells):
                generator.set_state(state)
                drawn[:, i, :cells] = split(sums[i], [share[i] for share in shares], cells, count, generator)
                continue
            if items not in up_to:
                generator.set_state(state)
                up_to[items] = multiplicities(items, count, generator).cumsum_(1)
            ends = up_to[items][:, row[:cells].cumsum(0) - 1].long()
            drawn[:, i, :cells] = ends.diff(dim=1, prepend=ends.new_zeros(count, 1))
        return drawn if len(rows) > 1 else drawn[..., : sizes[0][0]]

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        """From the tables less one item of each non-empty cell."""
        counts = self.counts
        table, cell = counts.nonzero().unbind(-1)
        most = int((counts > 0).sum(-1).max()) if counts.numel() else 0
        if most > _MAX_JACKKNIFE_CELLS:
            expected = f"expected any method but 'bca' for more than {_MAX_JACKKNIFE_CELLS} cells"
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
    """The non-empty cells of a flattened batch of tables."""

    shape: tuple[int, int]  # (R, C)
    keys: Tensor | None  # (B, Z) int64 ascending flat indices, R * C for padding; None: all cells have items
    is_dense: bool  # how draws are scored

    def tables(self, counts: Tensor, at: slice | Tensor) -> ContingencyTables:
        """Tables ``(*some, b)`` from counts ``(*some, b, Z)`` of the tables ``at``."""
        rows, columns = self.shape
        if self.keys is None:
            return ContingencyTables(counts.unflatten(-1, self.shape), validate=False)
        batch, keys = counts.shape[:-1], self.keys[at][:, : counts.shape[-1]].expand(counts.shape)
        if self.is_dense:
            dense = counts.new_zeros(*batch, rows * columns)
            dense.scatter_add_(-1, keys.clamp(max=rows * columns - 1), counts)
            return ContingencyTables(dense.unflatten(-1, self.shape), validate=False)
        number = torch.arange(batch.numel(), device=counts.device).reshape(*batch, 1).expand(counts.shape)
        filled = counts > 0
        keys = keys[filled]
        row = keys.div(columns, rounding_mode="floor")
        cells = SparseCells(batch, (rows, columns), number[filled], row, keys - row * columns, counts[filled])
        return ContingencyTables._of(TableParts(cells))

    def score(self, drawn: Tensor, at: slice | Tensor, measures: Sequence[Measure]) -> Values:
        return values_of(self.tables(drawn, at), measures)

    def positions(self, keys: Tensor) -> Tensor:
        """Positions among the Z cells of the flat indices ``(B, Y)``."""
        return keys if self.keys is None else torch.searchsorted(self.keys, keys)


def resampled_cells(tables: ContingencyTables) -> ResampledCells:
    """Draws are scored as dense tables where these are small or well filled."""
    shape = (tables.shape[-2], tables.shape[-1])
    size, cells = tables.batch_shape.numel(), shape[0] * shape[1]
    batch, row, column, count = tables.cells()
    filled = torch.bincount(batch, minlength=size)
    fewest = int(filled.min()) if size else 0
    if fewest == cells:
        counts = count.reshape(size, cells)
        return ResampledCells(counts, sizes_of(counts), shape, keys=None, is_dense=True)
    keys, counts = pad_rows(batch, filled, (row * shape[1] + column, count), (cells, 0))
    return ResampledCells(counts, sizes_of(counts), shape, keys, cells <= max(ALWAYS_DENSE_CELLS, 4 * fewest))


def sizes_of(counts: Tensor) -> list[tuple[int, int]]:
    """Non-empty cells and items of each row."""
    return [(cells, items) for cells, items in torch.stack([(counts > 0).sum(-1), counts.sum(-1)], 1).tolist()]


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
