"""Intervals by drawing classes without replacement, where classes are entities from a population.

An item drawn twice is a pair with itself and always right, so drawing items with replacement is wrong where
clusters are small; two copies of a class would meet in its clusters. A share f of the classes, drawn without
replacement, has no copies: its table is a real table. The mean of m of E classes varies by ``sigma^2 (1 / m - 1 / E)``,
that of all E by ``sigma^2 / E``: deviations from the mean of the draws, times ``sqrt(m / (E - m))``, spread as the
score does. An error of two classes (items of one in the cluster of the other) is drawn where both are, and its
variance comes out as ``f (1 + f)`` of the right one: 3/4 with halves, 1 with f = .62, 1.2 with the .7 that covers best
in ``benchmarks/bootstrap_coverage.py``.

Source: McCarthy (1969), half-samples; Shao and Wu (1989), the delete-d jackknife; Praestgaard and Wellner (1993),
    exchangeable weights.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import DenseCells, SparseCells, used_groups
from torchclusteval.cells.parts import TableParts
from torchclusteval.common.lazy import with_cached_values
from torchclusteval.inference.cell_resampling import ALWAYS_DENSE_CELLS
from torchclusteval.inference.resampling import Values, differences, values_of
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

_SHARE = 0.7  # of the classes in a draw


@dataclass(frozen=True, eq=False)
class ClassResampler:
    """Classes of a batch of tables with equally many of them; a draw is a mask of the classes of each table."""

    whole: ContingencyTables  # (B, R, C)
    n_classes: int  # of each table
    shared = True

    @cached_property
    def number(self) -> Tensor | None:
        """Number of each row among the classes of its table, ``(B, R)``; None where all rows have items."""
        if self.whole.shape[-2] == self.n_classes:
            return None
        return ((self.whole.class_sizes > 0).long().cumsum(-1) - 1).clamp_(min=0)

    @cached_property
    def number_of_cell(self) -> Tensor:
        cells = self.whole._cells
        assert isinstance(cells, SparseCells)
        return cells.row if self.number is None else cells.at_rows(self.number)

    @property
    def n_tables(self) -> int:
        return len(self.whole)

    @property
    def n_elements(self) -> int:
        return 4 * self.whole._cells_per_table  # places, rows, columns and counts

    @property
    def device(self) -> torch.device:
        return self.whole.device

    @property
    def n_drawn(self) -> int:
        return max(1, min(round(_SHARE * self.n_classes), self.n_classes - 1))

    @property
    def scale(self) -> float:
        """Factor from deviations of the draws to those of all classes."""
        return math.sqrt(self.n_drawn / max(1, self.n_classes - self.n_drawn))

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        """``(count, n_classes)`` bool."""
        drawn = torch.zeros(count, self.n_classes, dtype=torch.bool, device=self.device)
        for row in drawn:
            row[torch.randperm(len(row), generator=generator, device=self.device)[: self.n_drawn]] = True
        return drawn

    def tables(self, drawn: Tensor) -> ContingencyTables:
        """``(count, B)`` tables of the drawn classes."""
        cells, rows = self.whole._cells, drawn[:, None] if self.number is None else drawn[:, self.number]
        if isinstance(cells, DenseCells):
            return ContingencyTables(cells.counts * rows[..., None], validate=False)
        kept, size = drawn.index_select(1, self.number_of_cell).flatten(), len(cells.row)
        at = torch.from_numpy(np.flatnonzero(kept.numpy())) if kept.device.type == "cpu" else kept.nonzero().squeeze(1)
        draw = at.div(size, rounding_mode="floor") if len(drawn) > 1 else 0
        at = at - draw * size
        batch, row, column, values = (x.index_select(0, at) for x in cells.nonzero())
        shape = torch.Size([len(drawn), self.n_tables])
        parts = TableParts(SparseCells(shape, cells.shape, batch + draw * self.n_tables, row, column, values))
        sizes = self.whole.class_sizes * rows
        return with_cached_values(ContingencyTables._of(parts), {ContingencyTables.class_sizes: sizes})

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return {name: value[:, at] for name, value in values_of(self.tables(drawn), measures).items()}


@dataclass(frozen=True, eq=False)
class PairedClassResampler(ClassResampler):
    """The same classes for two clusterings of the same items; scores differences, A less B."""

    other: ClassResampler  # of B; ``whole`` is of A

    @property
    def n_elements(self) -> int:
        return max(super().n_elements, self.other.n_elements)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return differences(super().score(drawn, at, measures), self.other.score(drawn, at, measures))


def trimmed(tables: ContingencyTables) -> ContingencyTables:
    """The tables without unused rows and without columns after the last used one; dense where that is small."""
    tables = tables._drop_empty_groups(rows=True, columns=False)
    used = used_groups(tables.cluster_sizes)
    if used is not None:
        tables = tables._keep_groups(None, torch.arange(int(used[-1]) + 1, device=tables.device))
    return tables.to_dense() if tables.shape[-2] * tables.shape[-1] <= ALWAYS_DENSE_CELLS else tables


def wrong_classes(tables: ContingencyTables) -> Tensor:
    """Number of classes with items in several clusters or in a cluster with other classes, ``(*batch,)``."""
    filled = tables.sum_by_class(lambda cell: cell.is_nonzero)
    clusters = tables.mT.sum_by_class(lambda cell: cell.is_nonzero)
    mixed = tables.max_by_class(lambda cell: cell.is_nonzero * cell.at_clusters(clusters))
    return ((filled > 1) | (mixed > 1)).sum(-1)


def items_with_an_error(tables: ContingencyTables) -> Tensor:
    """Items outside the largest cell of their class, or of their cluster if these are more, ``(*batch,)``."""
    right = [side.max_by_class(lambda cell: cell.n).sum(-1) for side in (tables, tables.mT)]
    return tables.n_items - torch.minimum(*right)


def joined_classes(tables: ContingencyTables) -> Tensor:
    """Number of classes with two items in one cluster, ``(*batch,)``."""
    return (tables.max_by_class(lambda cell: cell.n) > 1).sum(-1)


def grows_with_items(measure: Measure) -> bool:
    """Whether it grows with the number of items, like counts, so that fewer classes have no comparable value."""
    return measure.range[1] == math.inf and measure.family != "entropy"
