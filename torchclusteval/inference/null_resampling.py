"""Random tables with the margins of given tables, as permuting the labels of one side gives them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from torchclusteval.inference.cell_resampling import ALWAYS_DENSE_CELLS
from torchclusteval.inference.draws import fixed_margins
from torchclusteval.inference.resampling import MAX_DRAWN_CELLS, Values, values_of
from torchclusteval.inference.sampling import RESAMPLES_PER_BLOCK
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

# nanoseconds on one CPU thread: to permute an item, to count an item of a table, to draw a cell
_PERMUTE_ITEM_NS, _COUNT_ITEM_NS, _DRAW_CELL_NS = 8.0, 2.0, 110.0
_MAX_ITEMS = 1 << 16  # so that a block of permuted items stays small


@dataclass(frozen=True, eq=False)
class NullResampler(ABC):
    """Random tables with the margins of each table of a flattened batch, drawn in an order of its own."""

    order: Tensor  # (B,) position in the batch of the i-th table drawn
    n_elements: int
    method: ClassVar[str]
    drawn: ClassVar[str] = "tables"
    shared = False

    @property
    def n_tables(self) -> int:
        return len(self.order)

    @property
    def device(self) -> torch.device:
        return self.order.device

    @abstractmethod
    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor: ...

    @abstractmethod
    def tables(self, drawn: Tensor, at: slice) -> ContingencyTables: ...

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return values_of(self.tables(drawn, at), measures)


def null_resampler(tables: ContingencyTables) -> NullResampler:
    """Whichever costs least: drawing dense tables from the margins, or permuting the items of one side.

    Items are permuted for tables with more cells than items, which are sparse then, and for tables of few items and the
    same classes, which share the permutations.
    """
    size = tables.batch_shape.numel()
    # Sorted groups put padding last; drawing tables in the order of their numbers of groups keeps padding small.
    rows, columns = (
        x.reshape(size, x.shape[-1]).sort(descending=True).values for x in (tables.class_sizes, tables.cluster_sizes)
    )
    cells = _max_groups(rows) * _max_groups(columns)
    items = int(tables.n_items.max()) if size else 0
    if cells <= max(ALWAYS_DENSE_CELLS, items):
        order = ((rows > 0).sum(-1) * (columns.shape[-1] + 1) + (columns > 0).sum(-1)).argsort(stable=True)
        cheap = _permuting_is_cheaper(items, size, cells) and bool((rows == rows[0]).all())
        kind = SharedPermuter if cheap else MarginResampler
        return kind(order, n_elements=cells, class_sizes=rows[order], cluster_sizes=columns[order])
    batch, row, column, count = tables.cells()
    return ItemPermuter(
        order=torch.arange(size, device=tables.device),
        n_elements=max(items, MAX_DRAWN_CELLS // RESAMPLES_PER_BLOCK),  # so many that a draw covers one table
        shape=(tables.shape[-2], tables.shape[-1]),
        cells=(row, column, count),
        bounds=torch.searchsorted(batch, torch.arange(size + 1, device=tables.device)).tolist(),
        n_items=tables.n_items.reshape(size).tolist(),
    )


def _permuting_is_cheaper(items: int, tables: int, cells: int) -> bool:
    """Whether to permute the items once for all tables of a draw, rather than draw the cells of all tables."""
    together = max(1, min(tables, MAX_DRAWN_CELLS // (RESAMPLES_PER_BLOCK * cells)))
    return 0 < items <= _MAX_ITEMS and items * (_PERMUTE_ITEM_NS / together + _COUNT_ITEM_NS) <= _DRAW_CELL_NS * cells


def _max_groups(sizes: Tensor) -> int:
    """Most non-empty groups in a row of ``(B, G)`` sizes; at least 1."""
    return max(1, int((sizes > 0).sum(-1).max())) if sizes.numel() else 1


@dataclass(frozen=True, eq=False)
class MarginResampler(NullResampler):
    """Draws dense tables from the margins alone."""

    class_sizes: Tensor  # (B, R) int64, descending
    cluster_sizes: Tensor  # (B, C) int64, descending
    method = "margins"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        rows, columns = (x[at, : _max_groups(x[at])] for x in (self.class_sizes, self.cluster_sizes))
        return fixed_margins(rows, columns, count, generator)

    def tables(self, drawn: Tensor, at: slice) -> ContingencyTables:
        return ContingencyTables(drawn, validate=False)


class SharedPermuter(MarginResampler):
    """Permutes the classes of all items, for all tables of a draw at once; their clusters lie in an order of their own.

    The order of the clusters is drawn for each table, so that tables are as good as independent.
    """

    method = "items"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        rows, columns = (x[at, : _max_groups(x[at])] for x in (self.class_sizes, self.cluster_sizes))
        true, pred = _in_random_order(rows[:1], count, generator), _in_random_order(columns, len(columns), generator)
        return ContingencyTables.from_labels(
            true.unsqueeze(1), pred, num_classes=rows.shape[1], num_clusters=columns.shape[1], layout="dense"
        ).counts


def _in_random_order(sizes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """``(count, N)`` codes, with the sizes ``(count, groups)`` or ``(1, groups)`` of their groups."""
    dtype = torch.uint8 if sizes.shape[1] <= 256 else torch.int32
    code = torch.arange(sizes.shape[1], dtype=dtype, device=sizes.device)
    labels = code.repeat(len(sizes)).repeat_interleave(sizes.flatten()).view(len(sizes), -1)
    n, device = labels.shape[1], labels.device
    orders = (torch.randperm(n, generator=generator, device=device) for _ in range(count))
    return labels.expand(count, -1).gather(1, torch.stack(list(orders)))


@dataclass(frozen=True, eq=False)
class ItemPermuter(NullResampler):
    """Permutes the clusters of all items, one table at a time."""

    shape: tuple[int, int]  # (R, C)
    cells: tuple[Tensor, Tensor, Tensor]  # (Z,) each: row, column and count of the non-empty cells of all tables
    bounds: list[int]  # where the cells of each table begin, and where the last ones end
    n_items: list[int]
    method = "items"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        n = self.n_items[at.start]
        permuted = (torch.randperm(n, generator=generator, device=self.device) for _ in range(count))
        return torch.stack(list(permuted)).unsqueeze(1)  # (count, 1, n)

    def tables(self, drawn: Tensor, at: slice) -> ContingencyTables:
        row, column, count = (x[self.bounds[at.start] : self.bounds[at.stop]] for x in self.cells)
        true, pred = (torch.repeat_interleave(x, count) for x in (row, column))
        classes, clusters = self.shape
        return ContingencyTables.from_labels(
            true, pred[drawn], num_classes=classes, num_clusters=clusters, validate=False, layout="sparse"
        )
