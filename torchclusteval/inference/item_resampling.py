"""Bootstrap that resamples the items once for the whole batch; cheapest for many clusterings of few items.

Resampling the cells of every three-way table takes a binomial draw per cell, resample and clustering. All tables of
the batch have the same items, so the multiplicities of the items can be drawn once; each cell is a sum of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.inference.cell_resampling import ResampledCells, resampled_cells
from torchclusteval.inference.resampling import MAX_DRAWN_CELLS, JackknifeResampler, Values, differences
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

# nanoseconds on one CPU thread: to draw an item, to add an item to a table, to draw a cell
_DRAW_ITEM_NS, _ADD_ITEM_NS, _DRAW_CELL_NS = 10.0, 0.5, 110.0
_MAX_ITEMS = 1 << 16  # so that a block of multiplicities stays small, and sums are exact in float32


def is_cheaper(items: int, tables: int, cells: int) -> bool:
    """Whether to draw the items once for all tables, rather than the cells of all tables."""
    return 0 < items <= _MAX_ITEMS and items * (_DRAW_ITEM_NS + _ADD_ITEM_NS * tables) <= _DRAW_CELL_NS * cells


@dataclass(frozen=True, eq=False)
class ItemTables:
    """A batch of tables of the same items that can be counted again with other multiplicities of the items."""

    cells: ResampledCells
    order: Tensor  # (B, N) int64: the items of each table, cell by cell
    starts: Tensor  # (B, Z) int64: where each cell begins in the flattened order

    def values(self, multiplicity: Tensor, measures: Sequence[Measure]) -> Values:
        """Name -> ``(count, B)`` of tables whose items have multiplicities ``(count, N)``."""
        count, (tables, width) = len(multiplicity), self.starts.shape
        by_item = multiplicity.T.contiguous()
        step = max(1, MAX_DRAWN_CELLS // (count * width))
        parts = []
        for start in range(0, tables, step):
            at = slice(start, min(start + step, tables))
            order, starts = self.order[at].flatten(), self.starts[at].flatten()
            sums = torch.nn.functional.embedding_bag(order, by_item, starts - starts[0], mode="sum")
            parts.append(self.cells.score(sums.T.reshape(count, -1, width).long(), at, measures))
        return {name: torch.cat([part[name] for part in parts], 1) for name in parts[0]}


def item_tables(codes_true: Tensor, codes_pred: Tensor, shape: Sequence[int]) -> ItemTables:
    """From codes ``(B, N)`` of the classes and clusters of the items, for tables of a shape ``(R, C)``."""
    tables = ContingencyTables.from_labels(
        codes_true, codes_pred, num_classes=shape[0], num_clusters=shape[1], item_dims=1
    )
    cells = resampled_cells(tables)
    order = (codes_true * shape[1] + codes_pred).argsort(-1)
    starts = (cells.counts.flatten().cumsum(0) - cells.counts.flatten()).view_as(cells.counts)
    return ItemTables(cells, order, starts)


@dataclass(frozen=True, eq=False)
class ItemResampler:
    """The items of a batch of pairs of tables, drawn once for all pairs; scores differences, A less B."""

    n_items: int
    n_tables: int  # pairs of tables
    a: ItemTables  # one table for each pair, or one for all
    b: ItemTables
    cells: JackknifeResampler  # the same draws by the cells of the pairs
    shared = True

    @property
    def n_elements(self) -> int:
        return -(-self.n_items // self.n_tables)

    @property
    def device(self) -> torch.device:
        return self.a.order.device

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        """How often each item is among as many drawn with replacement, ``(count, n_items)`` float32."""
        drawn = torch.randint(self.n_items, (count, self.n_items), generator=generator, device=self.device)
        ones = torch.ones((), device=drawn.device).expand(drawn.shape)
        return torch.zeros(drawn.shape, device=drawn.device).scatter_add_(1, drawn, ones)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        both = differences(self.a.values(drawn, measures), self.b.values(drawn, measures))
        return {name: value.expand(-1, self.n_tables) for name, value in both.items()}

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        return self.cells.accelerations(measures)
