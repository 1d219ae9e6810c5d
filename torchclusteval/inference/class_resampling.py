"""Intervals by random halves of the classes, where classes are entities drawn from a population.

An item that is drawn twice is a pair with itself and always right, so drawing items with replacement is wrong where
clusters are small; two copies of a class would meet in its clusters. Half of the classes, drawn without replacement,
have no copies: their table is a real table. The variance of a mean over a half of E classes is
``sigma^2 / (E / 2) (1 - 1/2) = sigma^2 / E``, that of the whole. As half as many classes differ in the mean from the
whole, deviations are taken from their own mean and added to the estimate.

Source: McCarthy (1969), half-samples; Shao and Wu (1989), the delete-d jackknife.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.cells.layouts import DenseCells, SparseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.inference.resampling import Values, differences, values_of
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

FEW_WRONG_CLASSES = 30  # below so many classes with an error, coverage is not near nominal


@dataclass(frozen=True, eq=False)
class ClassHalves:
    """Halves of the classes of a batch of tables, the same for all of them; a draw is a mask of the rows."""

    whole: ContingencyTables  # (B, R, C)
    shared = True
    drawn = "halves of the classes"

    @property
    def n_tables(self) -> int:
        return len(self.whole)

    @property
    def n_elements(self) -> int:
        return self.whole._cells_per_table

    @property
    def device(self) -> torch.device:
        return self.whole.device

    @property
    def scale(self) -> float:
        """What deviations of halves are multiplied by: 1 for an even number of classes."""
        classes = self.whole.shape[-2]
        return math.sqrt((classes // 2) / (classes - classes // 2))

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        """``(count, R)`` bool."""
        del at
        classes = self.whole.shape[-2]
        drawn = torch.zeros(count, classes, dtype=torch.bool, device=self.device)
        for row in drawn:
            row[torch.randperm(classes, generator=generator, device=self.device)[: classes // 2]] = True
        return drawn

    def tables(self, drawn: Tensor) -> ContingencyTables:
        """``(count, B)`` tables of the drawn rows."""
        cells = self.whole._cells
        if isinstance(cells, DenseCells):
            return ContingencyTables(cells.counts * drawn[:, None, :, None], validate=False)
        count, size = len(drawn), self.n_tables
        draw, at = drawn[:, cells.row].nonzero().mT.contiguous()
        batch, row, column, values = (x[at] for x in cells.nonzero())
        halves = SparseCells(torch.Size([count, size]), cells.shape, draw * size + batch, row, column, values)
        return ContingencyTables._of(TableParts(halves))

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return {name: value[:, at] for name, value in values_of(self.tables(drawn), measures).items()}

    def around(self, values: Values, estimates: Mapping[str, Tensor]) -> Values:
        """Values of halves as values around the estimates of the whole, ``(resamples, B)``."""
        found = {}
        for name, value in values.items():
            away = value - value.nanmean(0)
            found[name] = estimates[name].reshape(-1) + self.scale * away.nan_to_num(0.0)
        return found


@dataclass(frozen=True, eq=False)
class PairedHalves(ClassHalves):
    """The same halves for two clusterings of the same items; scores differences, A less B."""

    other: ClassHalves  # of B; ``whole`` is of A

    @property
    def n_elements(self) -> int:
        return max(self.whole._cells_per_table, self.other.n_elements)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return differences(super().score(drawn, at, measures), self.other.score(drawn, at, measures))


def halves_of(tables: ContingencyTables) -> ClassHalves:
    """For tables ``(*batch, R, C)``.

    Raises:
        ValueError: there are fewer than two classes, of which there are no halves.
    """
    if tables.shape[-2] < 2:
        raise ValueError(f"tables: expected at least two classes to draw from; got {tables.shape[-2]}")
    keys = torch.arange(tables.batch_shape.numel(), device=tables.device)
    parts = TableParts(tables._cells.select(keys))
    return ClassHalves(ContingencyTables._of(parts))


def wrong_classes(tables: ContingencyTables) -> Tensor:
    """Classes of which some items lie elsewhere or with items of other classes, ``(*batch,)``."""
    filled = tables.sum_by_class(lambda cell: cell.is_nonzero)
    clusters = tables.mT.sum_by_class(lambda cell: cell.is_nonzero)
    mixed = tables.max_by_class(lambda cell: cell.is_nonzero * cell.at_clusters(clusters))
    return ((filled > 1) | (mixed > 1)).sum(-1)


def grows_with_items(measure: Measure) -> bool:
    """Whether halves have no comparable value: counts and the like, which grow with the number of items."""
    return measure.range[1] == math.inf and measure.family != "entropy"
