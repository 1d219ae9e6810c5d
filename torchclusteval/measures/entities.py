"""Measures of entity resolution and of log parsing: exact clusters, closest clusters, splits and merges.

Sizes, identical sides and ``zero_division`` are those of ``one_sided``.
"""

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.measures.one_sided import (
    empty,
    n_pred,
    n_true,
    one_sided_ratio,
    true_items,
    whole_c,
    whole_r,
)
from torchclusteval.tables import ContingencyTables, check_tables


def is_exact(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Where a class and a cluster are the same items."""
    return ((cell.n == whole_r(cell, tables)) & (cell.n == whole_c(cell, tables)) & (cell.n > 0)).double()


@cached_on_tables
def n_exact(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: is_exact(cell, tables))


def exact_cluster_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the clusters that are a class, item by item.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Menestrina, Whang and Garcia-Molina (2010).

    >>> tables = tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}])
    >>> tce.measures.exact_cluster_precision(tables)
    tensor(0., dtype=torch.float64)
    """
    return one_sided_ratio(n_exact(tables), n_pred(tables), tables, zero_division)


def exact_cluster_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the classes that are a cluster, item by item.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Menestrina, Whang and Garcia-Molina (2010).

    >>> tce.measures.exact_cluster_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0., dtype=torch.float64)
    """
    return one_sided_ratio(n_exact(tables), n_true(tables), tables, zero_division)


def exact_cluster_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Twice the classes that are clusters over all classes and clusters, ``2 E / (R + C)``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Menestrina, Whang and Garcia-Molina (2010).

    >>> tce.measures.exact_cluster_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0., dtype=torch.float64)
    """
    return one_sided_ratio(2 * n_exact(tables), n_true(tables) + n_pred(tables), tables, zero_division)


def exact_items(tables: ContingencyTables) -> Tensor:
    """Items whose class and cluster are the same items."""
    return tables.sum(lambda cell: cell.n * is_exact(cell, tables))


def all_items(tables: ContingencyTables) -> Tensor:
    """Items of either side."""
    return true_items(tables) + tables.unmatched_by_cluster.sum(-1)


def grouping_accuracy(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items, of either side, whose class and cluster are the same items.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Zhu et al. (2019).

    >>> tce.measures.grouping_accuracy(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0., dtype=torch.float64)
    """
    check_tables(tables)
    return one_sided_ratio(exact_items(tables), all_items(tables), tables, zero_division)


def _jaccard(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    return cell.n / (whole_r(cell, tables) + whole_c(cell, tables) - cell.n)


def closest_to_clusters(tables: ContingencyTables) -> Tensor:
    """Largest Jaccard index of each cluster with a class, summed."""
    return sum_reproducible(tables.max_by_cluster(lambda cell: _jaccard(cell, tables)))


def closest_to_classes(tables: ContingencyTables) -> Tensor:
    """Largest Jaccard index of each class with a cluster, summed."""
    return sum_reproducible(tables.max_by_class(lambda cell: _jaccard(cell, tables)))


def closest_cluster_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over clusters of the largest Jaccard index with a class, ``n_ij / (r_i + c_j - n_ij)``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Barnes (2015).

    >>> tables = tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}])
    >>> tce.measures.closest_cluster_precision(tables)
    tensor(0.4583, dtype=torch.float64)
    """
    check_tables(tables)
    return one_sided_ratio(closest_to_clusters(tables), n_pred(tables), tables, zero_division)


def closest_cluster_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over classes of the largest Jaccard index with a cluster, ``n_ij / (r_i + c_j - n_ij)``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Barnes (2015).

    >>> tce.measures.closest_cluster_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4583, dtype=torch.float64)
    """
    check_tables(tables)
    return one_sided_ratio(closest_to_classes(tables), n_true(tables), tables, zero_division)


def merge_distance(tables: ContingencyTables) -> Tensor:
    """Splits and merges that turn clusters into classes at a cost of 1 each, ``2 #{n_ij > 0} - R - C``.

    The items of a group that the other side lacks are one more piece of it.

    Range: 0 or more, lower is better.
    Degenerate: nan without items.
    Source: Menestrina, Whang and Garcia-Molina (2010).

    >>> tce.measures.merge_distance(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(4., dtype=torch.float64)
    """
    check_tables(tables)
    alone = (tables.unmatched_by_class > 0).sum(-1) + (tables.unmatched_by_cluster > 0).sum(-1)
    distance = (2 * tables.n_cells + alone).double() - n_true(tables) - n_pred(tables)
    return distance.masked_fill(empty(tables), torch.nan)
