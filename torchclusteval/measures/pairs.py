"""Measures that count pairs of items.

SS, SD, DS, DD are the numbers of unordered pairs that both sides join, only the prediction joins, only the truth
joins, and neither joins; M is the number of all pairs. They are exact float64 sums; products of two of them are
float64 too, since int64 products wrap near 70,000 items. On float tables the polynomial ``x (x - 1) / 2`` is kept.
"""

import torch
from torch import Tensor

from torchclusteval.cells.quantities import PairCounts
from torchclusteval.common.checks import check_bools
from torchclusteval.common.numerics import sqrt_or_zero
from torchclusteval.measures.pair_sums import PairSums, Quotients, index, sums_of
from torchclusteval.measures.ratios import ratio, weighted_harmonic_mean
from torchclusteval.tables import ContingencyTables, check_tables


def pair_counts(tables: ContingencyTables) -> PairCounts:
    """Pairs of items by whether each side puts them together.

    Returns:
        ``ss`` (same cluster, same class), ``sd``, ``ds``, ``dd``: ``(*batch,)`` float64; 0 without items.

    Source: Amigo et al. (2009), section 4.2.

    >>> [int(x) for x in tce.measures.pair_counts(tce.ContingencyTables([[2, 1], [0, 3]]))]
    [4, 3, 2, 6]
    """
    check_tables(tables)
    return tables.pairs


def rand_of(pairs: PairSums) -> Quotients:
    return ((pairs.alike, pairs.every),)


def rand(tables: ContingencyTables) -> Tensor:
    """Share of the pairs that both sides treat alike, ``(SS + DD) / M``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for a single item; nan without items.
    Source: Rand (1971).

    >>> tce.measures.rand(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    return index(tables, rand_of)


def adjusted_rand_of(pairs: PairSums) -> Quotients:
    return ((2 * pairs.determinant, pairs.joined * pairs.unwanted + pairs.wanted * pairs.separated),)


def adjusted_rand(tables: ContingencyTables) -> Tensor:
    """Rand index corrected for chance.

        ARI = 2 (SS DD - SD DS) / ((SS + SD)(SD + DD) + (SS + DS)(DS + DD))

    Range: -0.5 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: 1 where the partitions are identical (0/0); nan without items.
    Source: Hubert and Arabie (1985); lower bound from Chacon and Rastrojo (2022).

    >>> tce.measures.adjusted_rand(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3243, dtype=torch.float64)
    """
    return index(tables, adjusted_rand_of)


def jaccard_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.joined + pairs.ds),)


def jaccard(tables: ContingencyTables) -> Tensor:
    """Pairs that both sides join among those that one joins, ``SS / (SS + SD + DS)``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 where no side joins a pair (0/0); nan without items.
    Source: Jaccard (1901); Kishida, section 3.2.

    >>> tce.measures.jaccard(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4444, dtype=torch.float64)
    """
    return index(tables, jaccard_of)


def fowlkes_mallows(tables: ContingencyTables) -> Tensor:
    """Geometric mean of pair precision and pair recall, ``SS / sqrt((SS + SD)(SS + DS))``.

    Range: 0 to 1, higher is better.
    Degenerate: 1 where no side joins a pair (scikit-learn gives 0), 0 where only one side joins none; nan without
        items. On float tables 0 where SS or the radicand is not positive.
    Source: Fowlkes and Mallows (1983).

    >>> tce.measures.fowlkes_mallows(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6172, dtype=torch.float64)
    """
    pairs = sums_of(tables)
    radicand = pairs.joined * pairs.wanted
    if not tables.is_integer:
        radicand = radicand.masked_fill(pairs.ss <= 0, 0.0)
    return ratio(pairs.ss, sqrt_or_zero(radicand), tables, maximum=1.0)


def mirkin(tables: ContingencyTables, normalized: bool = False) -> Tensor:
    """Ordered pairs that the sides treat differently, ``2 (SD + DS)``; a metric.

    Args:
        normalized: divide by the square of the number of items.

    Range: 0 to N (N - 1) (normalized: to 1 - 1/N), lower is better.
    Degenerate: 0 for a single item; nan without items.
    Source: Mirkin (1996); normalised form of Meila (2007).

    >>> tce.measures.mirkin(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(10., dtype=torch.float64)
    """
    check_bools(normalized=normalized)
    different = 2 * sums_of(tables).different
    scale = tables._n_items_f64**2 if normalized else torch.ones_like(different)
    return ratio(different, scale, tables, identical=0.0)


def hubert_gamma_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.every),)


def hubert_gamma_normalized_of(pairs: PairSums) -> Quotients:
    return ((pairs.determinant, pairs.root_of_products),)


def hubert_gamma(tables: ContingencyTables, normalized: bool = False) -> Tensor:
    """Agreement of the two indicators "same group" over all pairs.

    Args:
        normalized: False: mean product of the indicators, ``SS / M``; True: their correlation,
            ``(SS DD - SD DS) / sqrt((SS + SD)(SS + DS)(SD + DD)(DS + DD))``.

    Range: 0 to 1 (normalized: -1 to 1), higher is better.
    Degenerate: raw, 0 for a single item; normalized, 1 for identical partitions, else 0 where an indicator is
        constant; nan without items.
    Source: Hubert and Arabie (1985); Jain and Dubes (1988).

    >>> tce.measures.hubert_gamma(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.2667, dtype=torch.float64)
    """
    check_bools(normalized=normalized)
    if not normalized:
        return index(tables, hubert_gamma_of, identical=None)
    return index(tables, hubert_gamma_normalized_of, maximum=1.0)


def minkowski_score(tables: ContingencyTables) -> Tensor:
    """Root of the wrongly treated pairs over the pairs of the classes, ``sqrt((SD + DS) / (SS + DS))``.

    Range: 0 to infinity, lower is better.
    Degenerate: infinity where only the prediction joins pairs; nan without items.
    Source: Wu, Xiong and Chen (2009), after Jiang, Tang and Zhang (2004).

    >>> tce.measures.minkowski_score(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.9129, dtype=torch.float64)
    """
    pairs = sums_of(tables)
    share = ratio(pairs.different, pairs.wanted, tables, identical=0.0, otherwise=float("inf"))
    return sqrt_or_zero(share)


def pair_precision_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.joined),)


def pair_precision(tables: ContingencyTables) -> Tensor:
    """Pairs of one class among the pairs that the prediction joins, ``SS / (SS + SD)``.

    Range: 0 to 1, higher is better.
    Degenerate: where the prediction joins no pair, 1 for identical partitions, else 0; nan without items.
    Source: Kishida, section 3.2 (the asymmetric factors of Fowlkes-Mallows, Wallace 1983).

    >>> tce.measures.pair_precision(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5714, dtype=torch.float64)
    """
    return index(tables, pair_precision_of)


def pair_recall_of(pairs: PairSums) -> Quotients:
    return ((pairs.ss, pairs.wanted),)


def pair_recall(tables: ContingencyTables) -> Tensor:
    """Pairs that the prediction joins among the pairs of one class, ``SS / (SS + DS)``.

    Range: 0 to 1, higher is better.
    Degenerate: where the classes join no pair, 1 for identical partitions, else 0; nan without items.
    Source: Wallace (1983).

    >>> tce.measures.pair_recall(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6667, dtype=torch.float64)
    """
    return index(tables, pair_recall_of)


def pair_f(tables: ContingencyTables, alpha: float = 0.5) -> Tensor:
    """Weighted harmonic mean of pair precision and pair recall.

    Args:
        alpha: weight of precision, 0 to 1.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where precision or recall is 0, 1 for identical partitions; nan without items.
    Source: van Rijsbergen (1979), over pairs.

    >>> tce.measures.pair_f(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6154, dtype=torch.float64)
    """
    return weighted_harmonic_mean(pair_precision(tables), pair_recall(tables), tables, alpha, positive=False)
