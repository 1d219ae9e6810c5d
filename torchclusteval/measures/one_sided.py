"""Shared parts of the measures that count items of one side alone: whole sizes, and the rule for 0/0.

Whole sizes ``r_i`` and ``c_j`` include a group's items missing on the other side; groups without items do not count.
Two sides are identical if their groups are and no item is on one side alone. ``zero_division`` is None for the
package's rule for 0/0 (1 for identical sides, else 0; nan without items), or the value of every 0/0: a number from 0
to 1, or nan. The reference scorers of coreference use 0.
"""

import math

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.checks import check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_most, one_if_zero
from torchclusteval.measures.sums import AddedSums
from torchclusteval.tables import ContingencyTables


@cached_on_tables
def whole_class_sizes(tables: ContingencyTables) -> Tensor:
    return tables.whole_class_sizes.double()


@cached_on_tables
def whole_cluster_sizes(tables: ContingencyTables) -> Tensor:
    return tables.whole_cluster_sizes.double()


@cached_on_tables
def true_items(tables: ContingencyTables) -> Tensor:
    return tables.whole_class_sizes.sum(-1).double()


@cached_on_tables
def pred_items(tables: ContingencyTables) -> Tensor:
    return tables.whole_cluster_sizes.sum(-1).double()


@cached_on_tables
def n_true(tables: ContingencyTables) -> Tensor:
    """Classes with any item."""
    return whole_class_sizes(tables).sign().sum(-1)


@cached_on_tables
def n_pred(tables: ContingencyTables) -> Tensor:
    """Clusters with any item."""
    return whole_cluster_sizes(tables).sign().sum(-1)


def whole_r(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Whole size of each cell's class, or 1 if it is empty."""
    return one_if_zero(cell.at_classes(whole_class_sizes(tables)))


def whole_c(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Whole size of each cell's cluster, or 1 if it is empty."""
    return one_if_zero(cell.at_clusters(whole_cluster_sizes(tables)))


def iou(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Intersection over union (Jaccard index) of the two groups of each cell."""
    return cell.n / (whole_r(cell, tables) + whole_c(cell, tables) - cell.n)


def dice(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Dice coefficient (F) of the two groups of each cell, ``2 n / (r + c)``."""
    return 2 * cell.n / (whole_r(cell, tables) + whole_c(cell, tables))


@cached_on_tables
def empty(tables: ContingencyTables | AddedSums) -> Tensor:
    """Whether neither side has an item."""
    if isinstance(tables, AddedSums):
        return tables.empty
    return (true_items(tables) + pred_items(tables) > 0).logical_not()


@cached_on_tables
def identical(tables: ContingencyTables | AddedSums) -> Tensor:
    """Whether both sides have the same groups of the same items."""
    if isinstance(tables, AddedSums):
        return tables.identical
    alone = tables.unmatched_by_class.sum(-1) + tables.unmatched_by_cluster.sum(-1)
    return tables.identical & (alone == 0)


def check_zero_division(zero_division: float | None) -> None:
    """Raise unless it is None, nan, or a number from 0 to 1."""
    if zero_division is not None and not (isinstance(zero_division, float) and math.isnan(zero_division)):
        check_number(zero_division, "zero_division", 0, 1)


def one_sided_ratio(
    numerator: Tensor, denominator: Tensor, tables: ContingencyTables, zero_division: float | None
) -> Tensor:
    """``numerator / denominator``, at most 1."""
    check_zero_division(zero_division)
    undefined = denominator == 0
    value = at_most(numerator / denominator.masked_fill(undefined, 1.0), 1.0)
    return settled(value.masked_fill(undefined, zero_division or 0.0), tables, zero_division)


def settled(value: Tensor, tables: ContingencyTables, zero_division: float | None, *, same: float = 1.0) -> Tensor:
    """The value, replaced for identical sides and for tables without items by the package's rule."""
    if zero_division is not None:
        return value
    return value.masked_fill(identical(tables), same).masked_fill(empty(tables), torch.nan)


def lack(numerator: Tensor, denominator: Tensor, tables: ContingencyTables, zero_division: float | None) -> Tensor:
    """``numerator / denominator`` of a distance: 0 for identical sides, and 1 for 0/0."""
    value = one_sided_ratio(numerator, denominator, tables, 1.0 if zero_division is None else zero_division)
    return settled(value, tables, zero_division, same=0.0)


def harmonic_mean(precision: Tensor, recall: Tensor, alpha: float = 0.5) -> Tensor:
    """``1 / (alpha / precision + (1 - alpha) / recall)``; 0 where either is 0 and has a weight."""
    check_number(alpha, "alpha", 0, 1)
    if alpha in (0, 1):
        return precision if alpha == 1 else recall
    weighted = alpha * recall + (1 - alpha) * precision
    undefined = weighted == 0
    return (precision * recall / weighted.masked_fill(undefined, 1.0)).masked_fill(undefined, 0.0)
