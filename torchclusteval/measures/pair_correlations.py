"""Indices of the four numbers of pairs that compare them with independence, and numbers of pairs themselves.

SS, SD, DS, DD and M are those of ``pair_sums``; ``..._of`` gives the quotient that an index is. The determinant
``SS DD - SD DS`` is 0 on average over all permutations of one side, and so is each index that divides it by a function
of the sizes.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.pairs import MAX_SQUARED
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import safe_divide, sqrt_or_zero, sum_reproducible
from torchclusteval.measures.pair_sums import PairSums, Quotients, index, sums_of
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables, check_tables


def peirce_of(pairs: PairSums) -> Quotients:
    return ((pairs.determinant, pairs.wanted * pairs.unwanted),)


def peirce(tables: ContingencyTables) -> Tensor:
    """Pair recall plus pair specificity minus 1, ``(SS DD - SD DS) / ((SS + DS)(SD + DD))``.

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one class or classes of one item, 1 for identical partitions, else 0; nan without items.
    Source: Peirce (1884); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.peirce(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3333, dtype=torch.float64)
    """
    return index(tables, peirce_of)


def adjusted_wallace_precision_of(pairs: PairSums) -> Quotients:
    return ((pairs.determinant, pairs.joined * pairs.unwanted),)


def adjusted_wallace_precision(tables: ContingencyTables) -> Tensor:
    """Pair precision corrected for chance, ``(P - e) / (1 - e)`` with ``e = (SS + DS) / M``.

        (SS DD - SD DS) / ((SS + SD)(SD + DD))

    The adjusted Rand index is the harmonic mean of this and ``adjusted_wallace_recall``.

    Range: minus infinity to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one class or clusters of one item, 1 for identical partitions, else 0; nan without items.
    Source: Severiano, Pinto, Ramirez and Carrico (2011).

    >>> tce.measures.adjusted_wallace_precision(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.2857, dtype=torch.float64)
    """
    return index(tables, adjusted_wallace_precision_of)


def adjusted_wallace_recall_of(pairs: PairSums) -> Quotients:
    return ((pairs.determinant, pairs.wanted * pairs.separated),)


def adjusted_wallace_recall(tables: ContingencyTables) -> Tensor:
    """Pair recall corrected for chance, ``(R - e) / (1 - e)`` with ``e = (SS + SD) / M``.

        (SS DD - SD DS) / ((SS + DS)(DS + DD))

    Range: minus infinity to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one cluster or classes of one item, 1 for identical partitions, else 0; nan without items.
    Source: Severiano, Pinto, Ramirez and Carrico (2011).

    >>> tce.measures.adjusted_wallace_recall(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3750, dtype=torch.float64)
    """
    return index(tables, adjusted_wallace_recall_of)


def adjusted_fowlkes_mallows_of(pairs: PairSums) -> Quotients:
    mean = sqrt_or_zero(pairs.joined * pairs.wanted)  # geometric, of the pairs that each side joins
    kept = pairs.every * (pairs.separated + pairs.unwanted) - pairs.separated * pairs.unwanted
    return ((pairs.determinant, safe_divide(mean * kept, pairs.every + mean)),)


def adjusted_fowlkes_mallows(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows index corrected for chance, ``(FM - e) / (1 - e)`` with ``e = sqrt((SS + SD)(SS + DS)) / M``.

        (SS DD - SD DS) / (g (M - g)),    g = sqrt((SS + SD)(SS + DS))

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: where one side is one group or all single items, 1 for identical partitions, else 0; nan without items.
    Source: Fowlkes and Mallows (1983); Gagolewski (2025).

    >>> tce.measures.adjusted_fowlkes_mallows(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3260, dtype=torch.float64)
    """
    return index(tables, adjusted_fowlkes_mallows_of)


def goodman_kruskal_gamma_of(pairs: PairSums) -> Quotients:
    agreeing, crossing = pairs.ss * pairs.dd, pairs.sd * pairs.ds
    return ((agreeing - crossing, agreeing + crossing),)


def goodman_kruskal_gamma(tables: ContingencyTables) -> Tensor:
    """Gamma of the two indicators "same group", ``(SS DD - SD DS) / (SS DD + SD DS)`` (Yule's Q).

    Range: -1 to 1, higher is better; 1 where one side is a refinement of the other too.
    Degenerate: 0 where one side is one group or all single items, 1 for identical partitions; nan without items.
    Source: Goodman and Kruskal (1954).

    >>> tce.measures.goodman_kruskal_gamma(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6000, dtype=torch.float64)
    """
    return index(tables, goodman_kruskal_gamma_of)


def pearson_unrooted_of(pairs: PairSums) -> Quotients:
    clusters, classes = pairs.products
    return ((pairs.determinant, clusters * classes),)


def pearson_unrooted(tables: ContingencyTables) -> Tensor:
    """The correlation ``hubert_gamma_normalized`` without the square root of its divisor.

        (SS DD - SD DS) / ((SS + SD)(SS + DS)(SD + DD)(DS + DD))

    partitionComparison and CluSim compute it under the name Pearson, clusterCrit under the name Phi.

    Range: unbounded (of whole items -1/2 to 1/2), higher is better; 0 is the mean over all permutations of one side.
    Degenerate: 0 where one side is one group or all single items; nan without items.
    Source: Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.pearson_unrooted(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.0060, dtype=torch.float64)
    """
    return index(tables, pearson_unrooted_of, identical=None)


def mcnemar_of(pairs: PairSums) -> Quotients:
    return ((pairs.dd - pairs.sd, sqrt_or_zero(pairs.unwanted)),)


def mcnemar(tables: ContingencyTables) -> Tensor:
    """Pairs of two classes, those apart minus those joined, ``(DD - SD) / sqrt(DD + SD)``.

    clusterCrit gives it this name. permetrics takes shares of all pairs for the numbers, and so gets this value over
    the root of M.

    Range: unbounded, higher is better.
    Degenerate: 0 for one class; nan without items.
    Source: Desgraupes (2018), section 3.2; McNemar (1947).

    >>> tce.measures.mcnemar(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1., dtype=torch.float64)
    """
    return index(tables, mcnemar_of, identical=None)


def partition_difference(tables: ContingencyTables) -> Tensor:
    """Pairs that both sides keep apart, DD, which mclustcomp calls the partition difference.

    Range: 0 to N (N - 1) / 2, neither direction is better.
    Degenerate: 0 where one side is one group; nan without items.
    Source: Li, Ogihara and Ogihara (2004).

    >>> tce.measures.partition_difference(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(6., dtype=torch.float64)
    """
    check_tables(tables)
    return tables.pairs.dd.masked_fill(tables.empty, torch.nan)


def rv_coefficient(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows with the pairs of each item with itself, ``sum n_ij^2 / sqrt(sum r_i^2 sum c_j^2)``.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Robert and Escoufier (1976); Youness and Saporta (2004).

    >>> tce.measures.rv_coefficient(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.7379, dtype=torch.float64)
    """
    check_tables(tables)
    pairs = tables.pairs
    same_both = 2 * pairs.ss + tables._n_items_f64
    same_cluster, same_class = same_both + 2 * pairs.sd, same_both + 2 * pairs.ds
    return ratio(same_both, sqrt_or_zero(same_cluster * same_class), tables, maximum=1.0)


# --- Lerman -------------------------------------------------------------------------------------------------
#
# The indicator "same group" of all pairs is a constant, a sum of one term for each item, and a rest; these are
# orthogonal, and under a random permutation the last two have no covariance with each other. So the variance of the
# pairs that both sides join is a sum of two products of squared lengths, without subtractions.


class _LermanTerms(NamedTuple):
    """Of the numbers of pairs that both sides join under all permutations; 0 where all of these are the same."""

    excess: Tensor  # above the mean, (*batch,)
    variance: Tensor  # (*batch,)
    own_variances: Tensor  # of the classes with themselves and of the clusters, (2, *batch)
    lengths: Tensor  # squared, of both indicators, (2, *batch)


@cached_on_tables
def _lerman_terms(tables: ContingencyTables) -> _LermanTerms:
    pairs, items = sums_of(tables), tables._n_items_f64.clamp(min=2)
    every = pairs.every.clamp(min=1)
    lengths = torch.stack(pairs.products[::-1]) / every
    of_items = _parts_of_items(tables, lengths)
    rest = (lengths - of_items).clamp(min=0)
    for_items, for_rest = 1 / (items - 1), 2 / (items * (items - 3)).clamp(min=1)
    own = of_items * of_items * for_items + rest * rest * for_rest
    variance = of_items.prod(0) * for_items + rest.prod(0) * for_rest
    return _LermanTerms(pairs.determinant / every, variance, own, lengths)


def _parts_of_items(tables: ContingencyTables, lengths: Tensor) -> Tensor:
    """Squared lengths of the part of each side that is a sum over items, ``(2, *batch)``."""
    n, sizes = tables.n_items, (tables.class_sizes, tables.cluster_sizes)
    groups = torch.stack([tables.n_classes, tables.n_clusters])
    largest = torch.stack([side.amax(-1) if side.shape[-1] else n for side in sizes])
    alone = (groups == 2) & (largest == n - 1)  # one item, and all others
    additive = alone | (groups <= 1) | (groups == n)
    n_f64 = tables._n_items_f64
    of_items = torch.stack([_spread(side, tables) for side in sizes]) / (n_f64 * n_f64 * (n_f64 - 2)).clamp(min=1)
    of_items = of_items.masked_fill(largest * groups == n, 0.0)  # groups of one size
    return torch.where(additive, lengths, of_items)


def _spread(sizes: Tensor, tables: ContingencyTables) -> Tensor:
    """``sum_i s_i (N s_i - sum_k s_k^2)^2``; of whole numbers by exact differences."""
    exact = tables._most_items is not None and tables._most_items <= MAX_SQUARED
    s, n = (sizes, tables.n_items) if exact else (sizes.double(), tables._n_items_f64)
    away = (s * n.unsqueeze(-1) - sum_reproducible(s * s).unsqueeze(-1)).double()
    return sum_reproducible(sizes.double() * away * away)


def lerman(tables: ContingencyTables) -> Tensor:
    """Pairs that both sides join, in standard deviations from their mean over all permutations of one side.

        (SS - E[SS]) / sqrt(Var[SS])

    A clustering may have a larger value than the classes themselves, so no direction is called the better one.

    Range: unbounded; 0 is the mean over all permutations of one side.
    Degenerate: 0 where SS is the same for all permutations; nan without items.
    Source: Lerman (1988); variance of Hubert and Arabie (1985).

    >>> tce.measures.lerman(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1.2247, dtype=torch.float64)
    """
    check_tables(tables)
    _check_whole(tables)
    excess, variance, _, _ = _lerman_terms(tables)
    return ratio(excess, variance.sqrt(), tables, undefined=variance == 0, identical=None)


def lerman_normalized(tables: ContingencyTables) -> Tensor:
    """Lerman's index over the geometric mean of its values for each side with itself.

        L(C, K) / sqrt(L(C, C) L(K, K))

    Range: unbounded: 1 for identical partitions, but other ones may exceed it; 0 is the mean over all permutations.
    Degenerate: 1 for identical partitions, else 0 where SS is the same for all permutations; nan without items.
    Source: Lerman (1988).

    >>> tce.measures.lerman_normalized(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3656, dtype=torch.float64)
    """
    check_tables(tables)
    _check_whole(tables)
    excess, variance, own_variances, lengths = _lerman_terms(tables)
    # L(C, C) = length / sqrt(variance): its excess is the squared length of the indicator.
    scale = safe_divide(variance, own_variances.prod(0).sqrt()).sqrt() * lengths.prod(0).sqrt()
    return ratio(excess, scale, tables, undefined=(variance == 0) | (scale == 0))


def _check_whole(tables: ContingencyTables) -> None:
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts, whose items can be permuted; got float64 masses")
