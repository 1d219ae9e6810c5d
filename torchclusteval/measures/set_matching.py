"""Measures of the best one-to-one matching of classes and clusters whose pairs are weighted by the sizes of groups,
and the distances of each side from its coarsest common part with the other.

r_i and c_j are the sizes of class i and cluster j; R and C are the numbers of classes and clusters.
"""

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_least, larger, smaller, sum_reproducible
from torchclusteval.measures import matching
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables, check_tables


@cached_on_tables
def _set_similarity(tables: ContingencyTables) -> Tensor:
    return matching.largest_matching(tables, lambda cell: cell.n / larger(cell.r, cell.c_nonzero))


@cached_on_tables
def _most_groups(tables: ContingencyTables) -> Tensor:
    """The larger one of the numbers of classes and of clusters, ``(*batch,)`` float64."""
    return torch.maximum(tables.n_classes, tables.n_clusters).double()


@cached_on_tables
def _by_chance(tables: ContingencyTables) -> Tensor:
    """Similarity of independent sides whose groups are matched by size, ``sum_k min(r_(k), c_(k)) / N``."""
    pairs = min(tables.shape[-2:])
    largest = [
        sizes.sort(-1, descending=True)[0][..., :pairs]
        for sizes in (tables._class_sizes_f64, tables._cluster_sizes_f64)
    ]
    return tables._divide_by_items(sum_reproducible(smaller(*largest)))


def psi(tables: ContingencyTables) -> Tensor:
    """Pair sets index: similarity ``n_ij / max(r_i, c_j)`` of matched groups, corrected for chance.

        PSI = max(0, (S - E) / (max(R, C) - E))

    S is the largest sum of similarities of a one-to-one matching. E is that sum for independent sides whose groups are
    matched by size, ``sum_k r_(k) c_(k) / (N max(r_(k), c_(k)))``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Rezaei and Franti (2016).

    >>> tce.measures.psi(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5000, dtype=torch.float64)
    """
    expected = _by_chance(tables)
    value = ratio(_set_similarity(tables) - expected, _most_groups(tables) - expected, tables, maximum=1.0)
    return at_least(value, 0.0)


def spsi(tables: ContingencyTables) -> Tensor:
    """Simplified pair sets index, with 1 for the similarity by chance: ``max(0, (S - 1) / (max(R, C) - 1))``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Rezaei and Franti (2016).

    >>> tce.measures.spsi(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4167, dtype=torch.float64)
    """
    value = ratio(_set_similarity(tables) - 1, _most_groups(tables) - 1, tables, maximum=1.0)
    return at_least(value, 0.0)


def nca(tables: ContingencyTables) -> Tensor:
    """Normalized clustering accuracy: mean recall of matched classes, 0 where recalls are those by chance.

        NCA = (max sum_i n_is(i) / r_i - 1) / (R - 1)

    The largest sum is over the one-to-one matchings s of classes and clusters; a class without a cluster counts 0.

    Range: -1 to 1, higher is better; not below 0 for at most as many clusters as classes.
    Degenerate: for one class, 1 for one cluster, else 0; nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Gagolewski (2025).

    >>> tce.measures.nca(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    check_tables(tables)
    recall = matching.largest_matching(tables, lambda cell: cell.recall)
    return ratio(recall - 1, tables.n_classes.double() - 1, tables, maximum=1.0)


def nca_swapped(tables: ContingencyTables) -> Tensor:
    """Normalized clustering accuracy with classes and clusters exchanged: mean precision of matched clusters.

        (max sum_j n_s(j)j / c_j - 1) / (C - 1)

    Range: -1 to 1, higher is better; not below 0 for at most as many classes as clusters.
    Degenerate: for one cluster, 1 for one class, else 0; nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Gagolewski (2025).

    >>> tce.measures.nca_swapped(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.7500, dtype=torch.float64)
    """
    check_tables(tables)
    precision = matching.largest_matching(tables, lambda cell: cell.n / cell.c_nonzero)
    return ratio(precision - 1, tables.n_clusters.double() - 1, tables, maximum=1.0)


def npa(tables: ContingencyTables) -> Tensor:
    """Normalized pivoted accuracy: items of the best matching, 0 where all cells are equal.

        NPA = (max(R, C) s / N - 1) / (max(R, C) - 1)

    s is the number of items of the best one-to-one matching (``one_to_one_accuracy`` is s / N).

    Range: 0 to 1, higher is better.
    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Gagolewski (2025).

    >>> tce.measures.npa(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    groups = _most_groups(tables)
    matched = matching.matched_items(tables)
    return ratio(groups * matched - tables._n_items_f64, (groups - 1) * tables._n_items_f64, tables, maximum=1.0)


def class_projection_distance(tables: ContingencyTables) -> Tensor:
    """Items outside the largest cluster of their class, ``N - sum_i max_j n_ij``.

    One of the two projections whose sum is the distance of van Dongen (``van_dongen``), which igraph calls split-join.
    It is 0 where each class is in one cluster.

    Range: 0 to N, lower is better.
    Degenerate: nan without items.
    Source: van Dongen (2000).

    >>> tce.measures.class_projection_distance(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1., dtype=torch.float64)
    """
    check_tables(tables)
    outside = tables.n_items - matching.majority_of_classes(tables)
    return outside.double().masked_fill(tables.empty, torch.nan)


def cluster_projection_distance(tables: ContingencyTables) -> Tensor:
    """Items outside the largest class of their cluster, ``N - sum_j max_i n_ij``.

    The other projection of ``class_projection_distance``; it is 0 where each cluster is in one class.

    Range: 0 to N, lower is better.
    Degenerate: nan without items.
    Source: van Dongen (2000).

    >>> tce.measures.cluster_projection_distance(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1., dtype=torch.float64)
    """
    check_tables(tables)
    outside = tables.n_items - matching.majority_of_clusters(tables)
    return outside.double().masked_fill(tables.empty, torch.nan)


def projection_number(tables: ContingencyTables) -> Tensor:
    """Items in the largest cluster of their class, ``sum_i max_j n_ij``: N times the inverse purity.

    Range: 0 to N, higher is better.
    Degenerate: nan without items.
    Source: van Dongen (2000).

    >>> tce.measures.projection_number(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(5., dtype=torch.float64)
    """
    return matching.majority_of_classes(tables).double().masked_fill(tables.empty, torch.nan)
