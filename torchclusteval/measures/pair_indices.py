"""Indices of the four numbers of pairs: shares, and comparisons with independence.

SS, SD, DS, DD and M are those of ``pairs``.

Many of these indices order clusterings alike: Rand, Hamann, Rogers-Tanimoto and Sokal-Sneath 2 are increasing functions
of each other, and so are Jaccard, ``pair_f`` and Sokal-Sneath 1. Many are the same measure once they are corrected for
chance (Albatineh, Niewiadomska-Bugaj and Mihalko 2006; Warrens 2008). The determinant ``SS DD - SD DS`` is 0 on average
over all permutations of one side, and so is each index that divides it by a function of the sizes.
"""

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.checks import check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import safe_divide, smaller, sqrt_or_zero, sum_reproducible
from torchclusteval.measures.pairs import corrected, linear, pair_counts, pair_index, pair_sums
from torchclusteval.measures.record import ANY, FROM_ZERO, SIGNED, TO_ONE, UNIT, measure
from torchclusteval.measures.sums import ratio, sizes_of_sides, whole
from torchclusteval.tables import ContingencyTables

__all__ = ["adjusted_fowlkes_mallows", "adjusted_wallace_precision", "adjusted_wallace_recall", "baulieu_1"]
__all__ += ["baulieu_2", "fager_mcgowan", "goodman_kruskal_gamma", "hamann", "kulczynski", "lerman"]
__all__ += ["lerman_normalized", "mcconnaughey", "mcnemar", "overlap_coefficient", "pair_balanced_accuracy"]
__all__ += ["pair_negative_f", "pair_negative_predictive_value", "pair_specificity", "partition_difference"]
__all__ += ["pearson_unrooted", "peirce", "rogers_tanimoto", "rv_coefficient", "sokal_sneath_1", "sokal_sneath_2"]
__all__ += ["sokal_sneath_3", "sokal_sneath_4", "southwood", "tversky"]

whole_pairs = partial(measure, "pairs", chance_corrected=True, integer_only=True, linear_in="pairs")
lerman_index = partial(whole_pairs, range=ANY, better=None, symmetric=True, source="lerman1988")


@linear(range=UNIT, perfect=1.0, symmetric=True, source="albatineh2006")
def kulczynski(tables: ContingencyTables) -> Tensor:
    """Mean of pair precision and pair recall, ``(SS / (SS + SD) + SS / (SS + DS)) / 2``.

    Degenerate: a precision or recall of 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Kulczynski (1927); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.6190
    """
    pairs = pair_sums(tables)
    return (ratio(pairs.ss, pairs.joined, tables) + ratio(pairs.ss, pairs.wanted, tables)) / 2


@linear(range=SIGNED, perfect=1.0, symmetric=True, source="albatineh2006")
def mcconnaughey(tables: ContingencyTables) -> Tensor:
    """Pair precision plus pair recall minus 1, ``(SS^2 - SD DS) / ((SS + SD)(SS + DS))``.

    Degenerate: 0 where one side joins no pair, 1 for identical partitions; nan without items.
    Source: McConnaughey (1964); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.2381
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss * pairs.ss - pairs.sd * pairs.ds, pairs.joined * pairs.wanted, tables)


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="sokal1963")
def sokal_sneath_1(tables: ContingencyTables) -> Tensor:
    """Jaccard index with double weight for errors, ``SS / (SS + 2 (SD + DS))``.

    The numbers 1 and 2 are those of clusterCrit and permetrics; partitionComparison has this as number 2.

    Degenerate: 1 where no side joins a pair (0/0); nan without items.
    Example: 0.2857
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, pairs.ss + 2 * pairs.different, tables)


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="sokal1963")
def sokal_sneath_2(tables: ContingencyTables) -> Tensor:
    """Rand index with half the weight for errors, ``(SS + DD) / (SS + DD + (SD + DS) / 2)``.

    The index of Gower and Legendre is the same. The number is that of clusterCrit and permetrics.

    Degenerate: 1 for a single item; nan without items.
    Source: Sokal and Sneath (1963); Gower and Legendre (1986).
    Example: 0.8000
    """
    pairs = pair_sums(tables)
    return ratio(pairs.alike, pairs.alike + 0.5 * pairs.different, tables)


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="sokal1963")
def sokal_sneath_3(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows times the same over pairs apart.

        SS DD / sqrt((SS + SD)(SS + DS)(SD + DD)(DS + DD))

    The number is that of partitionComparison.

    Degenerate: 0 where one side is one group or all single items, 1 for identical partitions; nan without items.
    Source: Sokal and Sneath (1963); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.4364
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss * pairs.dd, pairs.root_of_products, tables, maximum=1.0)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="sokal1963")
def sokal_sneath_4(tables: ContingencyTables) -> Tensor:
    """Mean of the precision and recall of pairs together and of pairs apart.

        (SS / (SS + SD) + SS / (SS + DS) + DD / (DS + DD) + DD / (SD + DD)) / 4

    partitionComparison has it as number 1.

    Degenerate: each of the four that is 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Sokal and Sneath (1963); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.6637
    """
    pairs = pair_sums(tables)
    together = ratio(pairs.ss, pairs.joined, tables) + ratio(pairs.ss, pairs.wanted, tables)
    return (together + ratio(pairs.dd, pairs.separated, tables) + ratio(pairs.dd, pairs.unwanted, tables)) / 4


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="rogers1960")
def rogers_tanimoto(tables: ContingencyTables) -> Tensor:
    """Rand index with double weight for errors, ``(SS + DD) / (SS + DD + 2 (SD + DS))``.

    Degenerate: 1 for a single item; nan without items.
    Example: 0.5000
    """
    pairs = pair_sums(tables)
    return ratio(pairs.alike, pairs.every + pairs.different, tables)


@linear(range=SIGNED, perfect=1.0, symmetric=True, source="hamann1961")
def hamann(tables: ContingencyTables) -> Tensor:
    """Pairs treated alike minus pairs treated differently, ``(SS + DD - SD - DS) / M``: twice Rand minus 1.

    Degenerate: 1 for a single item; nan without items.
    Example: 0.3333
    """
    pairs = pair_sums(tables)
    return ratio(pairs.alike - pairs.different, pairs.every, tables)


@pair_index(range=FROM_ZERO, perfect=math.inf, symmetric=True, source="southwood1978")
def southwood(tables: ContingencyTables) -> Tensor:
    """Pairs joined by both sides for each pair joined by one side only, ``SS / (SD + DS)``.

    Degenerate: infinity for identical partitions (CluSim gives 1); nan without items.
    Source: Southwood (1978), as in CluSim.
    Example: 0.8000
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, pairs.different, tables, identical=math.inf)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="simpson1943")
def overlap_coefficient(tables: ContingencyTables) -> Tensor:
    """Pairs joined by both sides among those of the side with fewer joined pairs, ``SS / min(SS + SD, SS + DS)``.

    Range: 0 to 1, higher is better; 1 where one side is a refinement of the other.
    Degenerate: 0 where only one side joins no pair, 1 for identical partitions; nan without items.
    Example: 0.6667
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, smaller(pairs.joined, pairs.wanted), tables)


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="tversky1977")
def tversky(tables: ContingencyTables, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    """Jaccard index with a weight for each kind of error, ``SS / (SS + alpha SD + beta DS)``.

    Both weights are 1 by default (Jaccard), as in mclustcomp; 1/2 each give ``pair_f``, 1 and 0 pair precision.

    Args:
        alpha: weight of the pairs that only the prediction joins, 0 or more.
        beta: weight of the pairs that only the truth joins, 0 or more.

    Degenerate: 0/0 is 1 for identical partitions, else 0; nan without items.
    Example: 0.4444
    """
    check_number(alpha, "alpha", 0)
    check_number(beta, "beta", 0)
    pairs = pair_sums(tables)
    denominator = pairs.ss + (float(alpha) * pairs.sd + float(beta) * pairs.ds)
    undefined = None if alpha > 0 and beta > 0 else denominator == 0
    return ratio(pairs.ss, denominator, tables, undefined=undefined)


@linear(range=TO_ONE, source="fager1963")
def fager_mcgowan(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows with a correction for few pairs, ``SS / sqrt((SS + SD)(SS + DS)) - 1 / (2 sqrt(SS + DS))``.

    Fager and McGowan take the larger of both numbers of pairs in the last term; for partitions the index is used in
    this form, with the pairs of the classes.

    Range: -1/2 (of whole items) to below 1, higher is better.
    Degenerate: 0 where the classes join no pair, ``-1 / (2 sqrt(SS + DS))`` where only the prediction joins none;
        nan without items.
    Source: Fager and McGowan (1963), in the form of Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.4131
    """
    pairs = pair_sums(tables)
    shared = safe_divide(pairs.ss, sqrt_or_zero(pairs.joined))
    return ratio(shared - 0.5, sqrt_or_zero(pairs.wanted), tables, identical=None)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="baulieu1989")
def baulieu_1(tables: ContingencyTables) -> Tensor:
    """First index of Baulieu, ``(M^2 - M (SD + DS) + (SD - DS)^2) / M^2``.

    partitionComparison computes the square of the sum of SD and DS where its formula has their difference.

    Degenerate: 1 for a single item; nan without items.
    Example: 0.6711
    """
    pairs = pair_sums(tables)
    balance = pairs.sd - pairs.ds
    return ratio(pairs.alike * pairs.every + balance * balance, pairs.every * pairs.every, tables)


@corrected(range=(-0.25, 0.25), symmetric=True, source="baulieu1989")
def baulieu_2(tables: ContingencyTables) -> Tensor:
    """Second index of Baulieu: covariance of the two indicators "same group", ``(SS DD - SD DS) / M^2``.

    Range: -1/4 to 1/4, higher is better.
    Degenerate: 0 for a single item; nan without items.
    Example: 0.0800
    """
    pairs = pair_sums(tables)
    return ratio(pairs.determinant, pairs.every * pairs.every, tables, identical=None)


# --- of the pairs apart -------------------------------------------------------------------------------------


@linear(range=UNIT, perfect=1.0, swapped="pair_negative_predictive_value", source="yerushalmy1947")
def pair_specificity(tables: ContingencyTables) -> Tensor:
    """Share of pairs separated by the prediction among the pairs of two classes, ``DD / (SD + DD)``.

    Degenerate: for one class, 1 for identical partitions, else 0; nan without items.
    Source: Yerushalmy (1947), over pairs.
    Example: 0.6667
    """
    pairs = pair_sums(tables)
    return ratio(pairs.dd, pairs.unwanted, tables)


@linear(range=UNIT, perfect=1.0, swapped="pair_specificity", source="yerushalmy1947")
def pair_negative_predictive_value(tables: ContingencyTables) -> Tensor:
    """Share of pairs of two classes among the pairs separated by the prediction, ``DD / (DS + DD)``.

    Degenerate: for one cluster, 1 for identical partitions, else 0; nan without items.
    Source: Yerushalmy (1947), over pairs.
    Example: 0.7500
    """
    pairs = pair_sums(tables)
    return ratio(pairs.dd, pairs.separated, tables)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="rijsbergen1979")
def pair_negative_f(tables: ContingencyTables) -> Tensor:
    """Harmonic mean of specificity and negative predictive value of pairs, ``2 DD / (2 DD + SD + DS)``.

    Degenerate: 1 where both sides are one group (0/0); nan without items.
    Source: van Rijsbergen (1979), over pairs apart.
    Example: 0.7059
    """
    pairs = pair_sums(tables)
    return ratio(2 * pairs.dd, pairs.separated + pairs.unwanted, tables)


@linear(range=UNIT, perfect=1.0, source="brodersen2010")
def pair_balanced_accuracy(tables: ContingencyTables) -> Tensor:
    """Mean of pair recall and pair specificity, ``(SS / (SS + DS) + DD / (SD + DD)) / 2``.

    Degenerate: one of both that is 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Brodersen et al. (2010), over pairs.
    Example: 0.6667
    """
    pairs = pair_sums(tables)
    return (ratio(pairs.ss, pairs.wanted, tables) + ratio(pairs.dd, pairs.unwanted, tables)) / 2


# --- against independence -----------------------------------------------------------------------------------


@corrected(range=SIGNED, perfect=1.0, source="peirce1884")
def peirce(tables: ContingencyTables) -> Tensor:
    """Pair recall plus pair specificity minus 1, ``(SS DD - SD DS) / ((SS + DS)(SD + DD))``.

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one class or classes of one item, 1 for identical partitions, else 0; nan without items.
    Source: Peirce (1884); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).
    Example: 0.3333
    """
    pairs = pair_sums(tables)
    return ratio(pairs.determinant, pairs.wanted * pairs.unwanted, tables)


@corrected(range=TO_ONE, perfect=1.0, swapped="adjusted_wallace_recall", source="severiano2011")
def adjusted_wallace_precision(tables: ContingencyTables) -> Tensor:
    """Pair precision corrected for chance, ``(P - e) / (1 - e)`` with ``e = (SS + DS) / M``.

        (SS DD - SD DS) / ((SS + SD)(SD + DD))

    The adjusted Rand index is the harmonic mean of this and ``adjusted_wallace_recall``.

    Range: minus infinity to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one class or clusters of one item, 1 for identical partitions, else 0; nan without items.
    Source: Severiano, Pinto, Ramirez and Carrico (2011).
    Example: 0.2857
    """
    pairs = pair_sums(tables)
    return ratio(pairs.determinant, pairs.joined * pairs.unwanted, tables)


@corrected(range=TO_ONE, perfect=1.0, swapped="adjusted_wallace_precision", source="severiano2011")
def adjusted_wallace_recall(tables: ContingencyTables) -> Tensor:
    """Pair recall corrected for chance, ``(R - e) / (1 - e)`` with ``e = (SS + SD) / M``.

        (SS DD - SD DS) / ((SS + DS)(DS + DD))

    Range: minus infinity to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: for one cluster or classes of one item, 1 for identical partitions, else 0; nan without items.
    Source: Severiano, Pinto, Ramirez and Carrico (2011).
    Example: 0.3750
    """
    pairs = pair_sums(tables)
    return ratio(pairs.determinant, pairs.wanted * pairs.separated, tables)


@corrected(range=SIGNED, perfect=1.0, symmetric=True, source="fowlkes1983")
def adjusted_fowlkes_mallows(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows index corrected for chance, ``(FM - e) / (1 - e)`` with ``e = sqrt((SS + SD)(SS + DS)) / M``.

        (SS DD - SD DS) / (g (M - g)),    g = sqrt((SS + SD)(SS + DS))

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: where one side is one group or all single items, 1 for identical partitions, else 0; nan without items.
    Source: Fowlkes and Mallows (1983); Gagolewski (2025).
    Example: 0.3260
    """
    pairs = pair_sums(tables)
    mean = sqrt_or_zero(pairs.joined * pairs.wanted)
    kept = pairs.every * (pairs.separated + pairs.unwanted) - pairs.separated * pairs.unwanted
    return ratio(pairs.determinant, safe_divide(mean * kept, pairs.every + mean), tables)


@pair_index(range=SIGNED, perfect=1.0, symmetric=True, source="goodman1954")
def goodman_kruskal_gamma(tables: ContingencyTables) -> Tensor:
    """Gamma of the two indicators "same group", ``(SS DD - SD DS) / (SS DD + SD DS)`` (Yule's Q).

    Range: -1 to 1, higher is better; 1 where one side is a refinement of the other too.
    Degenerate: 0 where one side is one group or all single items, 1 for identical partitions; nan without items.
    Example: 0.6000
    """
    pairs = pair_sums(tables)
    agreeing, crossing = pairs.ss * pairs.dd, pairs.sd * pairs.ds
    return ratio(agreeing - crossing, agreeing + crossing, tables)


@corrected(range=ANY, symmetric=True, source="albatineh2006")
def pearson_unrooted(tables: ContingencyTables) -> Tensor:
    """The correlation ``hubert_gamma_normalized`` without the square root of its divisor.

        (SS DD - SD DS) / ((SS + SD)(SS + DS)(SD + DD)(DS + DD))

    partitionComparison and CluSim compute it under the name Pearson, clusterCrit under the name Phi.

    Range: unbounded (of whole items -1/2 to 1/2), higher is better; 0 is the mean over all permutations of one side.
    Degenerate: 0 where one side is one group or all single items; nan without items.
    Example: 0.0060
    """
    pairs = pair_sums(tables)
    clusters, classes = pairs.products
    return ratio(pairs.determinant, clusters * classes, tables, identical=None)


@linear(range=ANY, source="desgraupes2018")
def mcnemar(tables: ContingencyTables) -> Tensor:
    """Pairs of two classes: those separated minus those joined, ``(DD - SD) / sqrt(DD + SD)``.

    The name is from clusterCrit. permetrics takes shares of all pairs in place of the numbers, and so gets this value
    over the root of M.

    Range: unbounded, higher is better.
    Degenerate: 0 for one class; nan without items.
    Source: Desgraupes (2018), section 3.2; McNemar (1947).
    Example: 1.
    """
    pairs = pair_sums(tables)
    return ratio(pairs.dd - pairs.sd, sqrt_or_zero(pairs.unwanted), tables, identical=None)


@measure("pairs", range=FROM_ZERO, better=None, symmetric=True, source="li2004", linear_in="pairs")
def partition_difference(tables: ContingencyTables) -> Tensor:
    """Pairs separated by both sides, DD: the partition difference of mclustcomp.

    Range: 0 to N (N - 1) / 2, neither direction is better.
    Degenerate: 0 where one side is one group; nan without items.
    Example: 6.
    """
    return pair_counts(tables).dd.masked_fill(tables.empty, torch.nan)


@measure("pairs", range=UNIT, perfect=1.0, symmetric=True, source="robert1976", linear_in="pairs")
def rv_coefficient(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows with the pairs of each item with itself, ``sum n_ij^2 / sqrt(sum r_i^2 sum c_j^2)``.

    Range: above 0 to 1, higher is better.
    Source: Robert and Escoufier (1976); Youness and Saporta (2004).
    Example: 0.7379
    """
    pairs = pair_counts(tables)
    same_both = 2 * pairs.ss + tables._n_items_f64
    same_cluster, same_class = same_both + 2 * pairs.sd, same_both + 2 * pairs.ds
    return ratio(same_both, sqrt_or_zero(same_cluster * same_class), tables, maximum=1.0)


# --- Lerman -------------------------------------------------------------------------------------------------
#
# The indicator "same group" of all pairs is a constant, a sum of one term for each item, and a rest; these are
# orthogonal, and under a random permutation the last two have no covariance with each other. So the variance of the
# pairs joined by both sides is a sum of two products of squared lengths, without subtractions.


class _LermanTerms(NamedTuple):
    """Terms of the number of pairs joined by both sides over all permutations; 0 where this number never changes."""

    excess: Tensor  # above the mean, (*batch,)
    variance: Tensor  # (*batch,)
    own_variances: Tensor  # of the classes with themselves and of the clusters, (2, *batch)
    lengths: Tensor  # squared, of both indicators, (2, *batch)


@cached_on_tables
def _lerman_terms(tables: ContingencyTables) -> _LermanTerms:
    pairs, items = pair_sums(tables), tables._n_items_f64.clamp(min=2)
    every = pairs.every.clamp(min=1)
    lengths = torch.stack(pairs.products[::-1]) / every
    of_items = _parts_of_items(tables, lengths)
    rest = (lengths - of_items).clamp(min=0)
    for_items, for_rest = 1 / (items - 1), 2 / (items * (items - 3)).clamp(min=1)
    own = of_items * of_items * for_items + rest * rest * for_rest
    variance = of_items.prod(0) * for_items + rest.prod(0) * for_rest
    return _LermanTerms(pairs.determinant / every, variance, own, lengths)


def _parts_of_items(tables: ContingencyTables, lengths: Tensor) -> Tensor:
    """Squared lengths of sums over items, ``sum_i s_i (N s_i - sum_k s_k^2)^2 / (N^2 (N - 2))``, ``(2, *batch)``."""
    n, n_f64, sizes = tables.n_items, tables._n_items_f64, sizes_of_sides(tables)
    groups = torch.stack([tables.n_classes, tables.n_clusters])
    largest = sizes.amax(-1) if sizes.shape[-1] else groups
    alone = (groups == 2) & (largest == n - 1)  # one item, and all others
    additive = alone | (groups <= 1) | (groups == n)
    s, total = (sizes, n) if tables._squares_fit else (sizes.double(), n_f64)
    away = (s * total.unsqueeze(-1) - sum_reproducible(s * s).unsqueeze(-1)).double()  # exact differences
    spread = sum_reproducible(sizes * away * away)
    of_items = spread / (n_f64 * n_f64 * (n_f64 - 2)).clamp(min=1)
    of_items = of_items.masked_fill(largest * groups == n, 0.0)  # groups of one size
    return torch.where(additive, lengths, of_items)


@lerman_index()
def lerman(tables: ContingencyTables) -> Tensor:
    """Pairs joined by both sides, in standard deviations from their mean over all permutations of one side.

        (SS - E[SS]) / sqrt(Var[SS])

    A clustering may have a larger value than the classes themselves, so neither direction is better.

    Range: unbounded; 0 is the mean over all permutations of one side.
    Degenerate: 0 where SS is the same for all permutations; nan without items.
    Source: Lerman (1988); variance of Hubert and Arabie (1985).
    Example: 1.2247
    """
    whole(tables)
    excess, variance, _, _ = _lerman_terms(tables)
    return ratio(excess, variance.sqrt(), tables, undefined=variance == 0, identical=None)


@lerman_index(perfect=1.0)
def lerman_normalized(tables: ContingencyTables) -> Tensor:
    """Lerman's index over the geometric mean of its values for each side with itself.

        L(C, K) / sqrt(L(C, C) L(K, K))

    Range: unbounded: 1 for identical partitions, but other ones may exceed it; 0 is the mean over all permutations.
    Degenerate: 1 for identical partitions, else 0 where SS is the same for all permutations; nan without items.
    Example: 0.3656
    """
    whole(tables)
    excess, variance, own_variances, lengths = _lerman_terms(tables)
    # L(C, C) = length / sqrt(variance): its excess is the squared length of the indicator.
    scale = safe_divide(variance, own_variances.prod(0).sqrt()).sqrt() * lengths.prod(0).sqrt()
    return ratio(excess, scale, tables, undefined=(variance == 0) | (scale == 0))
