"""Items drawn again once for all tables of a batch: what a bootstrap of many clusterings of few items costs least.

Drawing the cells of every three-way table takes a binomial draw a cell, replicate and clustering. The items of a batch
are the same, so their multiplicities can be drawn once, and the cells of each table are sums of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.inference.resampling import PIECE_CELLS, CellList, Values, cell_list, values_of
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

# nanoseconds, measured on one CPU thread: to draw an item, to add one to a table, to draw a cell
_DRAW_ITEM, _ADD_ITEM, _DRAW_CELL = 10.0, 0.5, 110.0
_MOST_ITEMS = 1 << 16  # so that a block of multiplicities stays small, and sums are exact in float32


def is_cheaper(items: int, tables: int, cells: int) -> bool:
    """Whether to draw ``items`` once for so many tables, rather than the ``cells`` of all of them."""
    return 0 < items <= _MOST_ITEMS and items * (_DRAW_ITEM + _ADD_ITEM * tables) <= _DRAW_CELL * cells


def multiplicities(items: int, count: int, generator: torch.Generator) -> Tensor:
    """How often each item is among as many drawn with replacement, ``(count, items)`` float32."""
    drawn = torch.randint(items, (count, items), generator=generator, device=generator.device)
    ones = torch.ones((), device=drawn.device).expand(drawn.shape)
    return torch.zeros(drawn.shape, device=drawn.device).scatter_add_(1, drawn, ones)


@dataclass(frozen=True, eq=False)
class SharedItems:
    """Replicates of the items of a batch of tables, drawn once for all of them."""

    n_items: int
    score: Callable[[Tensor, slice], Values]  # multiplicities ``(count, n_items)`` -> ``(count, B)`` by name

    def draw(self, at: slice, count: int, source: torch.Generator) -> Tensor:
        return multiplicities(self.n_items, count, source)


@dataclass(frozen=True, eq=False)
class ItemTables:
    """A batch of tables of the same items that can be counted again with other multiplicities."""

    cells: CellList
    order: Tensor  # (B, N) int64: the items of each table, cell by cell
    starts: Tensor  # (B, Z) int64: where each cell begins in the flattened order

    @property
    def n_tables(self) -> int:
        return len(self.order)

    def values(self, multiplicity: Tensor, measures: Sequence[Measure]) -> Values:
        """Name -> ``(count, B)`` of tables whose items have multiplicities ``(count, N)``."""
        count, width = len(multiplicity), self.starts.shape[1]
        by_item = multiplicity.T.contiguous()
        run = max(1, PIECE_CELLS // (count * width))
        parts = []
        for start in range(0, self.n_tables, run):
            at = slice(start, min(start + run, self.n_tables))
            order, starts = self.order[at].flatten(), self.starts[at].flatten()
            sums = torch.nn.functional.embedding_bag(order, by_item, starts - starts[0], mode="sum")
            counts = sums.T.reshape(count, -1, width).long()
            parts.append(values_of(self.cells.build(counts, at), measures))
        return {name: torch.cat([part[name] for part in parts], 1) for name in parts[0]}


def item_tables(codes_true: Tensor, codes_pred: Tensor, shape: Sequence[int]) -> ItemTables:
    """From codes ``(B, N)`` of the classes and clusters of the items, for tables of a shape ``(R, C)``."""
    tables = ContingencyTables.from_labels(codes_true, codes_pred, num_classes=shape[0], num_clusters=shape[1])
    cells = cell_list(tables)
    order = (codes_true * shape[1] + codes_pred).argsort(-1)
    starts = (cells.counts.flatten().cumsum(0) - cells.counts.flatten()).view_as(cells.counts)
    return ItemTables(cells, order, starts)
