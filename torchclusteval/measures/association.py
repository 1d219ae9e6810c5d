"""Measures of the association of classes and clusters as two nominal variables.

r_i and c_j are the sizes of class i and cluster j; R and C are the numbers of classes and clusters.
"""

from functools import partial

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.cells.sums import Independence
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_least, largest, sqrt_or_zero
from torchclusteval.measures import matching
from torchclusteval.measures.pairs import pair_sums
from torchclusteval.measures.record import FROM_ZERO, UNIT, measure
from torchclusteval.measures.sums import ratio
from torchclusteval.tables import ContingencyTables, check_tables

__all__ = ["chi_squared", "cramers_v", "frobenius_distance", "goodman_kruskal_lambda", "goodman_kruskal_lambda_swapped"]
__all__ += ["goodman_kruskal_tau", "goodman_kruskal_tau_swapped", "tschuprows_t"]

share = partial(measure, "association", range=UNIT, perfect=1.0)
statistic = partial(measure, "association", range=FROM_ZERO, symmetric=True, linear_in="squares")


@cached_on_tables
def _chi_squared(tables: ContingencyTables) -> Tensor:
    """``sum n (N n - r c) / (r c)``, by exact differences: 0 for independent sides, and no large sums cancel."""

    def excess_of_masses(cell: CellQuantities) -> Tensor:
        of_others = tables._n_items_f64.unsqueeze(-1) - tables._class_sizes_f64
        alone = cell.at_classes(of_others) - cell.rest_of_cluster
        return cell.n * alone - cell.rest_of_class * cell.rest_of_cluster

    counts = Independence(tables.n_items, tables.class_sizes, tables.cluster_sizes, tables._squares_fit)
    excess = counts.excess if tables.is_integer else excess_of_masses
    chi_squared = tables.sum(lambda cell: cell.n * excess(cell) / (cell.r_nonzero * cell.c_nonzero))
    return at_least(chi_squared, 0.0)


@statistic(source="pearson1900")
def chi_squared(tables: ContingencyTables) -> Tensor:
    """Pearson's statistic of independence, ``sum_ij (n_ij - r_i c_j / N)^2 / (r_i c_j / N)``.

    Range: 0 to ``N (min(R, C) - 1)``, higher is better; 0 for independent sides.
    Degenerate: 0 for one class or one cluster; nan without items.
    Example: 3.
    """
    return _chi_squared(tables).masked_fill(tables.empty, torch.nan)


@share(symmetric=True, source="cramer1946")
def cramers_v(tables: ContingencyTables) -> Tensor:
    """Root of the share of the largest possible chi-squared, ``sqrt(chi2 / (N min(R - 1, C - 1)))``.

    Range: 0 to 1, higher is better; 1 where one side is a refinement of the other too.
    Degenerate: for one class or one cluster, 1 for identical partitions, else 0; nan without items.
    Example: 0.7071
    """
    check_tables(tables)
    groups = torch.minimum(tables.n_classes, tables.n_clusters).double() - 1
    share = ratio(_chi_squared(tables), tables._n_items_f64 * groups, tables, maximum=1.0)
    return sqrt_or_zero(share)


@share(symmetric=True, source="tschuprow1939")
def tschuprows_t(tables: ContingencyTables) -> Tensor:
    """Root of chi-squared over N and the geometric mean of the degrees, ``sqrt(chi2 / (N sqrt((R - 1)(C - 1))))``.

    Degenerate: for one class or one cluster, 1 for identical partitions, else 0; nan without items.
    Example: 0.7071
    """
    check_tables(tables)
    degrees = ((tables.n_classes - 1) * (tables.n_clusters - 1)).double()
    share = ratio(_chi_squared(tables), tables._n_items_f64 * degrees.sqrt(), tables, maximum=1.0)
    return sqrt_or_zero(share)


@share(swapped="goodman_kruskal_lambda_swapped", source="goodman1954")
def goodman_kruskal_lambda(tables: ContingencyTables) -> Tensor:
    """Share of the errors in guessing classes saved by knowing the clusters.

        lambda = (sum_j max_i n_ij - max_i r_i) / (N - max_i r_i)

    Without clusters the guess is the largest class; with them it is the largest class of the cluster. The symmetric
    lambda is ``1 - van_dongen_normalized``.

    Degenerate: for one class, 1 for one cluster, else 0; nan without items.
    Example: 0.6667
    """
    return _lambda(tables, matching.majority_of_clusters(tables), tables.class_sizes)


@share(swapped="goodman_kruskal_lambda", source="goodman1954")
def goodman_kruskal_lambda_swapped(tables: ContingencyTables) -> Tensor:
    """Share of the errors in guessing clusters saved by knowing the classes.

        (sum_i max_j n_ij - max_j c_j) / (N - max_j c_j)

    Degenerate: for one cluster, 1 for one class, else 0; nan without items.
    Example: 0.5000
    """
    return _lambda(tables, matching.majority_of_classes(tables), tables.cluster_sizes)


def _lambda(tables: ContingencyTables, right: Tensor, sizes: Tensor) -> Tensor:
    guessed = largest(sizes)
    return ratio((right - guessed).double(), (tables.n_items - guessed).double(), tables, maximum=1.0)


@share(swapped="goodman_kruskal_tau_swapped", source="goodman1954", linear_in="squares")
def goodman_kruskal_tau(tables: ContingencyTables) -> Tensor:
    """Share of the errors in drawing classes at random saved by knowing the clusters.

        tau = (sum_ij n_ij^2 / c_j - sum_i r_i^2 / N) / (N - sum_i r_i^2 / N)

    Range: 0 to 1, higher is better; 0 for independent sides.
    Degenerate: for one class, 1 for one cluster, else 0; nan without items.
    Example: 0.5000
    """
    check_tables(tables)
    wrong = tables.sum(lambda cell: cell.n * cell.rest_of_cluster / cell.c_nonzero)
    return _tau(tables, wrong, pair_sums(tables).unwanted)


@share(swapped="goodman_kruskal_tau", source="goodman1954", linear_in="squares")
def goodman_kruskal_tau_swapped(tables: ContingencyTables) -> Tensor:
    """Share of the errors in drawing clusters at random saved by knowing the classes.

        (sum_ij n_ij^2 / r_i - sum_j c_j^2 / N) / (N - sum_j c_j^2 / N)

    Range: 0 to 1, higher is better; 0 for independent sides.
    Degenerate: for one cluster, 1 for one class, else 0; nan without items.
    Example: 0.5000
    """
    check_tables(tables)
    wrong = tables.sum(lambda cell: cell.n * cell.rest_of_class / cell.r_nonzero)
    return _tau(tables, wrong, pair_sums(tables).separated)


def _tau(tables: ContingencyTables, wrong: Tensor, apart: Tensor) -> Tensor:
    """``1 - N wrong / (2 apart)``: wrong items with the other side known, and pairs of different groups."""
    value = ratio(2 * apart - tables._n_items_f64 * wrong, 2 * apart, tables, maximum=1.0)
    return at_least(value, 0.0)


@statistic(better="lower", perfect=0.0, source="arlot2019", combines="sum")
def frobenius_distance(tables: ContingencyTables) -> Tensor:
    """Squared distance of the projectors onto both partitions, ``R + C - 2 sum_ij n_ij^2 / (r_i c_j)``.

    The projector of a partition replaces each value by the mean of its group. The square is not a metric (of
    thirteen items a detour may be shorter), but its root is.

    Range: 0 to ``R + C - 2``, lower is better.
    Example: 1.
    """
    # n (c - n) + n (r - n) over r c is 1 / r + 1 / c less twice the square, without cancellation.
    check_tables(tables)
    distance = tables.sum(
        lambda cell: cell.n * (cell.rest_of_cluster + cell.rest_of_class) / (cell.r_nonzero * cell.c_nonzero)
    )
    return distance.masked_fill(tables.empty, torch.nan)
