"""Indices of the four numbers of pairs that are shares.

SS, SD, DS, DD and M are those of ``pair_sums``; ``..._of`` gives the quotients whose mean an index is.

Many of these indices order clusterings alike: Rand, Hamann, Rogers-Tanimoto and Sokal-Sneath 2 are increasing functions
of each other, and so are Jaccard, ``pair_f`` and Sokal-Sneath 1. Many are the same measure once they are corrected for
chance (Albatineh, Niewiadomska-Bugaj and Mihalko 2006; Warrens 2008).
"""

import math
from functools import partial

from torch import Tensor

from torchclusteval.common.checks import check_number
from torchclusteval.common.numerics import safe_divide, smaller, sqrt_or_zero
from torchclusteval.measures.pair_sums import PairSums, Quotients, index
from torchclusteval.tables import ContingencyTables

# --- of the pairs that a side joins -------------------------------------------------------------------------


def kulczynski_of(pairs: PairSums) -> Quotients:
    return (pairs.ss, pairs.joined), (pairs.ss, pairs.wanted)


def kulczynski(tables: ContingencyTables) -> Tensor:
    """Mean of pair precision and pair recall, ``(SS / (SS + SD) + SS / (SS + DS)) / 2``.

    Range: 0 to 1, higher is better.
    Degenerate: a precision or recall of 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Kulczynski (1927); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.kulczynski(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6190, dtype=torch.float64)
    """
    return index(tables, kulczynski_of)


def mcconnaughey_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss * pairs.ss - pairs.sd * pairs.ds, pairs.joined * pairs.wanted),)


def mcconnaughey(tables: ContingencyTables) -> Tensor:
    """Pair precision plus pair recall minus 1, ``(SS^2 - SD DS) / ((SS + SD)(SS + DS))``.

    Range: -1 to 1, higher is better.
    Degenerate: 0 where one side joins no pair, 1 for identical partitions; nan without items.
    Source: McConnaughey (1964); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.mcconnaughey(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.2381, dtype=torch.float64)
    """
    return index(tables, mcconnaughey_of)


def sokal_sneath_1_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.ss + 2 * pairs.different),)


def sokal_sneath_1(tables: ContingencyTables) -> Tensor:
    """Jaccard index with double weight for errors, ``SS / (SS + 2 (SD + DS))``.

    The numbers 1 and 2 are those of clusterCrit and permetrics; partitionComparison has this as number 2.

    Range: 0 to 1, higher is better.
    Degenerate: 1 where no side joins a pair (0/0); nan without items.
    Source: Sokal and Sneath (1963).

    >>> tce.measures.sokal_sneath_1(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.2857, dtype=torch.float64)
    """
    return index(tables, sokal_sneath_1_of)


def southwood_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.different),)


def southwood(tables: ContingencyTables) -> Tensor:
    """Pairs that both sides join for each one that only one side joins, ``SS / (SD + DS)``.

    Range: 0 to infinity, higher is better.
    Degenerate: infinity for identical partitions (CluSim gives 1); nan without items.
    Source: Southwood (1978), as in CluSim.

    >>> tce.measures.southwood(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8000, dtype=torch.float64)
    """
    return index(tables, southwood_of, identical=math.inf)


def overlap_coefficient_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, smaller(pairs.joined, pairs.wanted)),)


def overlap_coefficient(tables: ContingencyTables) -> Tensor:
    """Pairs that both sides join among those of the side that joins fewer, ``SS / min(SS + SD, SS + DS)``.

    Range: 0 to 1, higher is better; 1 where one side is a refinement of the other.
    Degenerate: 0 where only one side joins no pair, 1 for identical partitions; nan without items.
    Source: Simpson (1943).

    >>> tce.measures.overlap_coefficient(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    return index(tables, overlap_coefficient_of)


def tversky_of(pairs: PairSums, alpha: float = 1.0, beta: float = 1.0) -> Quotients:
    return ((pairs.ss, pairs.ss + (alpha * pairs.sd + beta * pairs.ds)),)


def tversky(tables: ContingencyTables, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    """Jaccard index with a weight for each kind of error, ``SS / (SS + alpha SD + beta DS)``.

    Both weights are 1 by default (Jaccard), as in mclustcomp; 1/2 each give ``pair_f``, 1 and 0 pair precision.

    Args:
        alpha: weight of the pairs that only the prediction joins, 0 or more.
        beta: weight of the pairs that only the truth joins, 0 or more.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 is 1 for identical partitions, else 0; nan without items.
    Source: Tversky (1977).

    >>> tce.measures.tversky(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4444, dtype=torch.float64)
    """
    check_number(alpha, "alpha", 0)
    check_number(beta, "beta", 0)
    formula = partial(tversky_of, alpha=float(alpha), beta=float(beta))
    return index(tables, formula, ordinary=alpha > 0 and beta > 0)


def fager_mcgowan_of(pairs: PairSums) -> Quotients:
    shared = safe_divide(pairs.ss, sqrt_or_zero(pairs.joined))
    return ((shared - 0.5, sqrt_or_zero(pairs.wanted)),)


def fager_mcgowan(tables: ContingencyTables) -> Tensor:
    """Fowlkes-Mallows with a correction for few pairs, ``SS / sqrt((SS + SD)(SS + DS)) - 1 / (2 sqrt(SS + DS))``.

    Fager and McGowan take the larger of both numbers of pairs in the last term; this is the form in which the index is
    used for partitions, with the pairs of the classes.

    Range: -1/2 (of whole items) to below 1, higher is better.
    Degenerate: 0 where the classes join no pair, ``-1 / (2 sqrt(SS + DS))`` where only the prediction joins none;
        nan without items.
    Source: Fager and McGowan (1963), in the form of Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.fager_mcgowan(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4131, dtype=torch.float64)
    """
    return index(tables, fager_mcgowan_of, identical=None)


# --- of all pairs -------------------------------------------------------------------------------------------


def rogers_tanimoto_of(pairs: PairSums) -> Quotients:
    return ((pairs.alike, pairs.every + pairs.different),)


def rogers_tanimoto(tables: ContingencyTables) -> Tensor:
    """Rand index with double weight for errors, ``(SS + DD) / (SS + DD + 2 (SD + DS))``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for a single item; nan without items.
    Source: Rogers and Tanimoto (1960).

    >>> tce.measures.rogers_tanimoto(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5000, dtype=torch.float64)
    """
    return index(tables, rogers_tanimoto_of)


def sokal_sneath_2_of(pairs: PairSums) -> Quotients:
    return ((pairs.alike, pairs.alike + 0.5 * pairs.different),)


def sokal_sneath_2(tables: ContingencyTables) -> Tensor:
    """Rand index with half the weight for errors, ``(SS + DD) / (SS + DD + (SD + DS) / 2)``.

    The index of Gower and Legendre is the same. The number is that of clusterCrit and permetrics.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for a single item; nan without items.
    Source: Sokal and Sneath (1963); Gower and Legendre (1986).

    >>> tce.measures.sokal_sneath_2(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8000, dtype=torch.float64)
    """
    return index(tables, sokal_sneath_2_of)


def sokal_sneath_3_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss * pairs.dd, pairs.root_of_products),)


def sokal_sneath_3(tables: ContingencyTables) -> Tensor:
    """Geometric mean of Fowlkes-Mallows and the same over pairs apart.

        SS DD / sqrt((SS + SD)(SS + DS)(SD + DD)(DS + DD))

    The number is that of partitionComparison.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where one side is one group or all single items, 1 for identical partitions; nan without items.
    Source: Sokal and Sneath (1963); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.sokal_sneath_3(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4364, dtype=torch.float64)
    """
    return index(tables, sokal_sneath_3_of, maximum=1.0)


def sokal_sneath_4_of(pairs: PairSums) -> Quotients:
    ss, dd = pairs.ss, pairs.dd
    return (ss, pairs.joined), (ss, pairs.wanted), (dd, pairs.separated), (dd, pairs.unwanted)


def sokal_sneath_4(tables: ContingencyTables) -> Tensor:
    """Mean of the precision and recall of pairs together and of pairs apart.

        (SS / (SS + SD) + SS / (SS + DS) + DD / (DS + DD) + DD / (SD + DD)) / 4

    partitionComparison has it as number 1.

    Range: 0 to 1, higher is better.
    Degenerate: each of the four that is 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Sokal and Sneath (1963); Albatineh, Niewiadomska-Bugaj and Mihalko (2006).

    >>> tce.measures.sokal_sneath_4(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6637, dtype=torch.float64)
    """
    return index(tables, sokal_sneath_4_of)


def hamann_of(pairs: PairSums) -> Quotients:
    return ((pairs.alike - pairs.different, pairs.every),)


def hamann(tables: ContingencyTables) -> Tensor:
    """Pairs treated alike minus pairs treated differently, ``(SS + DD - SD - DS) / M``: twice Rand minus 1.

    Range: -1 to 1, higher is better.
    Degenerate: 1 for a single item; nan without items.
    Source: Hamann (1961).

    >>> tce.measures.hamann(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3333, dtype=torch.float64)
    """
    return index(tables, hamann_of)


def baulieu_1_of(pairs: PairSums) -> Quotients:
    balance = pairs.sd - pairs.ds
    return ((pairs.alike * pairs.every + balance * balance, pairs.every * pairs.every),)


def baulieu_1(tables: ContingencyTables) -> Tensor:
    """First index of Baulieu, ``(M^2 - M (SD + DS) + (SD - DS)^2) / M^2``.

    partitionComparison computes the square of the sum of SD and DS where its formula has their difference.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for a single item; nan without items.
    Source: Baulieu (1989).

    >>> tce.measures.baulieu_1(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6711, dtype=torch.float64)
    """
    return index(tables, baulieu_1_of)


def baulieu_2_of(pairs: PairSums) -> Quotients:
    return ((pairs.determinant, pairs.every * pairs.every),)


def baulieu_2(tables: ContingencyTables) -> Tensor:
    """Second index of Baulieu: covariance of the two indicators "same group", ``(SS DD - SD DS) / M^2``.

    Range: -1/4 to 1/4, higher is better.
    Degenerate: 0 for a single item; nan without items.
    Source: Baulieu (1989).

    >>> tce.measures.baulieu_2(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.0800, dtype=torch.float64)
    """
    return index(tables, baulieu_2_of, identical=None)


# --- of the pairs apart -------------------------------------------------------------------------------------


def pair_specificity_of(pairs: PairSums) -> Quotients:
    return ((pairs.dd, pairs.unwanted),)


def pair_specificity(tables: ContingencyTables) -> Tensor:
    """Pairs of two classes that the prediction does not join, among the pairs of two classes, ``DD / (SD + DD)``.

    Range: 0 to 1, higher is better.
    Degenerate: for one class, 1 for identical partitions, else 0; nan without items.
    Source: Yerushalmy (1947), over pairs.

    >>> tce.measures.pair_specificity(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    return index(tables, pair_specificity_of)


def pair_negative_predictive_value_of(pairs: PairSums) -> Quotients:
    return ((pairs.dd, pairs.separated),)


def pair_negative_predictive_value(tables: ContingencyTables) -> Tensor:
    """Pairs of two classes among the pairs that the prediction does not join, ``DD / (DS + DD)``.

    Range: 0 to 1, higher is better.
    Degenerate: for one cluster, 1 for identical partitions, else 0; nan without items.
    Source: Yerushalmy (1947), over pairs.

    >>> tce.measures.pair_negative_predictive_value(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.7500, dtype=torch.float64)
    """
    return index(tables, pair_negative_predictive_value_of)


def pair_negative_f_of(pairs: PairSums) -> Quotients:
    return ((2 * pairs.dd, pairs.separated + pairs.unwanted),)


def pair_negative_f(tables: ContingencyTables) -> Tensor:
    """Harmonic mean of specificity and negative predictive value of pairs, ``2 DD / (2 DD + SD + DS)``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 where both sides are one group (0/0); nan without items.
    Source: van Rijsbergen (1979), over pairs apart.

    >>> tce.measures.pair_negative_f(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.7059, dtype=torch.float64)
    """
    return index(tables, pair_negative_f_of)


def pair_balanced_accuracy_of(pairs: PairSums) -> Quotients:
    return (pairs.ss, pairs.wanted), (pairs.dd, pairs.unwanted)


def pair_balanced_accuracy(tables: ContingencyTables) -> Tensor:
    """Mean of pair recall and pair specificity, ``(SS / (SS + DS) + DD / (SD + DD)) / 2``.

    Range: 0 to 1, higher is better.
    Degenerate: one of both that is 0/0 counts 0; 1 for identical partitions; nan without items.
    Source: Brodersen et al. (2010), over pairs.

    >>> tce.measures.pair_balanced_accuracy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    return index(tables, pair_balanced_accuracy_of)
