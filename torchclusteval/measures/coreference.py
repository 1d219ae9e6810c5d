"""Measures of coreference resolution (MUC, BCubed, CEAF, BLANC and LEA with invented and missed mentions), and of
entity resolution and log parsing (exact clusters, closest clusters, splits and merges).

Sizes, identical sides and ``zero_division`` are those of ``one_sided``.
"""

from functools import partial

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.measures import matching
from torchclusteval.measures.one_sided import (
    dice,
    empty,
    harmonic_mean,
    iou,
    n_pred,
    n_true,
    one_sided_ratio,
    pred_items,
    settled,
    true_items,
    whole_c,
    whole_class_sizes,
    whole_cluster_sizes,
    whole_r,
)
from torchclusteval.measures.pairs import pair_counts, pair_sums
from torchclusteval.measures.record import FROM_ZERO, UNIT, measure
from torchclusteval.measures.sums import Sums, whole
from torchclusteval.tables import ContingencyTables

__all__ = ["blanc_f", "blanc_precision", "blanc_recall", "ceaf_e_f", "ceaf_e_precision", "ceaf_e_recall", "ceaf_m_f"]
__all__ += ["ceaf_m_precision", "ceaf_m_recall", "closest_cluster_precision", "closest_cluster_recall", "conll_f"]
__all__ += ["coref_bcubed_f", "coref_bcubed_precision", "coref_bcubed_recall", "exact_cluster_f"]
__all__ += ["exact_cluster_precision", "exact_cluster_recall", "grouping_accuracy", "lea_f", "lea_precision"]
__all__ += ["lea_recall", "merge_distance", "muc_f", "muc_precision", "muc_recall"]

share = partial(measure, "coreference", range=UNIT, perfect=1.0, zero_division=True)
distance = partial(measure, "coreference", range=FROM_ZERO, better="lower", perfect=0.0)


@cached_on_tables
def found_links(tables: ContingencyTables) -> Tensor:
    """Items less non-empty cells: links within classes that need no link between clusters."""
    return whole(tables)._n_items_f64 - tables.n_cells


MUC = Sums(found_links, pred_items, n_pred, true_items, n_true)


@share(swapped="muc_recall", source="vilain1995", integer_only=True, sums=MUC)
def muc_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of right links among those of the clusters, ``(sum_ij n_ij - #{n_ij > 0}) / sum_j (c_j - 1)``.

    A cluster of c items has c - 1 links. Clusters of one item do not count.

    Degenerate: 0/0 where all clusters have one item; nan without items.
    Example: 0.3333
    """
    return one_sided_ratio(found_links(tables), pred_items(tables) - n_pred(tables), tables, zero_division)


@share(swapped="muc_precision", source="vilain1995", integer_only=True, sums=MUC)
def muc_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of found links among those of the classes, ``(sum_ij n_ij - #{n_ij > 0}) / sum_i (r_i - 1)``.

    Degenerate: 0/0 where all classes have one item; nan without items.
    Example: 0.3333
    """
    return one_sided_ratio(found_links(tables), true_items(tables) - n_true(tables), tables, zero_division)


@share(symmetric=True, source="vilain1995", integer_only=True, sums=MUC)
def muc_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of MUC precision and recall.

    Degenerate: 0 where both are 0; nan without items.
    Example: 0.3333
    """
    return harmonic_mean(muc_precision(tables, zero_division), muc_recall(tables, zero_division))


# --- BCubed -------------------------------------------------------------------------------------------------


@cached_on_tables
def bcubed_precisions(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.squares / whole_c(cell, tables))


@cached_on_tables
def bcubed_recalls(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.squares / whole_r(cell, tables))


BCUBED = Sums(bcubed_precisions, pred_items, bcubed_recalls, true_items)


@share(swapped="coref_bcubed_recall", source="pradhan2014", combines="mean", sums=BCUBED)
def coref_bcubed_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """BCubed precision with invented items, which score 0, ``(sum_ij n_ij^2 / c_j) / sum_j c_j``.

    Degenerate: 0/0 without clusters; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).
    Example: 0.5333
    """
    return one_sided_ratio(bcubed_precisions(tables), pred_items(tables), tables, zero_division)


@share(swapped="coref_bcubed_precision", source="pradhan2014", combines="mean", sums=BCUBED)
def coref_bcubed_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """BCubed recall with missed items, which score 0, ``(sum_ij n_ij^2 / r_i) / sum_i r_i``.

    Degenerate: 0/0 without classes; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).
    Example: 0.4333
    """
    return one_sided_ratio(bcubed_recalls(tables), true_items(tables), tables, zero_division)


@share(symmetric=True, source="pradhan2014", sums=BCUBED)
def coref_bcubed_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of BCubed precision and recall with items of one side.

    Degenerate: 0 where both are 0; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).
    Example: 0.4782
    """
    return harmonic_mean(coref_bcubed_precision(tables, zero_division), coref_bcubed_recall(tables, zero_division))


# --- CEAF ---------------------------------------------------------------------------------------------------


@cached_on_tables
def matched_items(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching."""
    return matching.matched_items(tables).double()


@cached_on_tables
def matched_similarity(tables: ContingencyTables) -> Tensor:
    """Similarity of the groups of the best one-to-one matching, summed."""
    return matching.largest_matching(tables, lambda cell: dice(cell, tables))


CEAF_M = Sums(matched_items, pred_items, true_items)
CEAF_E = Sums(matched_similarity, n_pred, n_true)


@share(swapped="ceaf_m_recall", source="luo2005", on_host=True, combines="mean", sums=CEAF_M)
def ceaf_m_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items of clusters in the best one-to-one matching, ``max sum n_ij / sum_j c_j`` (phi 3).

    Degenerate: 0/0 without clusters; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(matched_items(tables), pred_items(tables), tables, zero_division)


@share(swapped="ceaf_m_precision", source="luo2005", on_host=True, combines="mean", sums=CEAF_M)
def ceaf_m_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items of classes in the best one-to-one matching, ``max sum n_ij / sum_i r_i`` (phi 3).

    Degenerate: 0/0 without classes; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(matched_items(tables), true_items(tables), tables, zero_division)


@share(symmetric=True, source="luo2005", on_host=True, sums=CEAF_M)
def ceaf_m_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of mention-based CEAF precision and recall.

    Degenerate: 0 where both are 0; nan without items.
    Example: 0.6000
    """
    return harmonic_mean(ceaf_m_precision(tables, zero_division), ceaf_m_recall(tables, zero_division))


@share(swapped="ceaf_e_recall", source="luo2005", on_host=True, sums=CEAF_E)
def ceaf_e_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean similarity of a cluster with its class in the best one-to-one matching, ``2 n_ij / (r_i + c_j)`` (phi 4).

    Degenerate: 0/0 without clusters; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(matched_similarity(tables), n_pred(tables), tables, zero_division)


@share(swapped="ceaf_e_precision", source="luo2005", on_host=True, sums=CEAF_E)
def ceaf_e_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean similarity of a class with its cluster in the best one-to-one matching, ``2 n_ij / (r_i + c_j)`` (phi 4).

    Degenerate: 0/0 without classes; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(matched_similarity(tables), n_true(tables), tables, zero_division)


@share(symmetric=True, source="luo2005", on_host=True, sums=CEAF_E)
def ceaf_e_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of entity-based CEAF precision and recall.

    Degenerate: 0 where both are 0; nan without items.
    Example: 0.6000
    """
    return harmonic_mean(ceaf_e_precision(tables, zero_division), ceaf_e_recall(tables, zero_division))


# --- BLANC --------------------------------------------------------------------------------------------------


def _links(sizes: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs within groups and between them; all pairs less those within would cancel for groups of many items."""
    return sum_reproducible(sizes * (sizes - 1)) * 0.5, sum_reproducible(sizes * (items.unsqueeze(-1) - sizes)) * 0.5


@cached_on_tables
def true_links(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Pairs of items of the same class, and of different classes."""
    return _links(whole_class_sizes(whole(tables)), true_items(tables))


@cached_on_tables
def pred_links(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Pairs of items of the same cluster, and of different clusters."""
    return _links(whole_cluster_sizes(whole(tables)), pred_items(tables))


def _mean_of_links(parts: tuple[Tensor, Tensor], tables: ContingencyTables, zero_division: float | None) -> Tensor:
    """Mean over pairs within and between groups; one kind alone where the classes have no pair of the other kind."""
    (within, between), (links, others) = parts, true_links(tables)
    value = torch.where(links == 0, between, torch.where(others == 0, within, (within + between) * 0.5))
    return settled(value, tables, zero_division)


def _shares(
    links: tuple[Tensor, Tensor], tables: ContingencyTables, zero_division: float | None
) -> tuple[Tensor, Tensor]:
    """Share joined by both sides among a side's pairs within groups, and by neither among those between groups."""
    within = one_sided_ratio(pair_sums(tables).ss, links[0], tables, zero_division)
    return within, one_sided_ratio(pair_sums(tables).dd, links[1], tables, zero_division)


BLANC = Sums((pair_counts, 4), (true_links, 2), (pred_links, 2))


@share(source="luo2014", integer_only=True, sums=BLANC)
def blanc_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the precision of pairs within clusters and of pairs between clusters.

    Where no class has two items, only the pairs between clusters count; with one class, only the pairs within them.
    The CoNLL scorer does the same; the CorefUD scorer halves the value in these cases.

    Source: Recasens and Hovy (2011); Luo et al. (2014).
    Example: 0.2917
    """
    return _mean_of_links(_shares(pred_links(tables), tables, zero_division), tables, zero_division)


@share(source="luo2014", integer_only=True, sums=BLANC)
def blanc_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the recall of pairs within classes and of pairs between classes, as :func:`blanc_precision`.

    Source: Recasens and Hovy (2011); Luo et al. (2014).
    Example: 0.2917
    """
    return _mean_of_links(_shares(true_links(tables), tables, zero_division), tables, zero_division)


@share(source="luo2014", integer_only=True, sums=BLANC)
def blanc_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the F of pairs within groups and of pairs between groups, as :func:`blanc_precision`.

    Source: Recasens and Hovy (2011); Luo et al. (2014).
    Example: 0.2917
    """
    sides = (_shares(links(tables), tables, zero_division) for links in (pred_links, true_links))
    within, between = map(harmonic_mean, *sides)
    return _mean_of_links((within, between), tables, zero_division)


# --- LEA ----------------------------------------------------------------------------------------------------


def _resolved(cell: CellQuantities, own: Tensor, other: Tensor) -> Tensor:
    """Share of the links of a cell's group of size ``own`` that are in the cell, times the size."""
    alone = own <= 1
    links = cell.n * (cell.n - 1) / (own - 1).masked_fill(alone, 1.0)
    return torch.where(alone, cell.n * (other <= 1), links)


@cached_on_tables
def lea_precisions(tables: ContingencyTables) -> Tensor:
    return whole(tables).sum(lambda cell: _resolved(cell, whole_c(cell, tables), whole_r(cell, tables)))


@cached_on_tables
def lea_recalls(tables: ContingencyTables) -> Tensor:
    return whole(tables).sum(lambda cell: _resolved(cell, whole_r(cell, tables), whole_c(cell, tables)))


LEA = Sums(lea_precisions, pred_items, lea_recalls, true_items)


@share(swapped="lea_recall", source="moosavi2016", integer_only=True, combines="mean", sums=LEA)
def lea_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of a cluster's pairs of one class, weighted by the size of the cluster.

        P = sum_j c_j (sum_i C(n_ij, 2) / C(c_j, 2)) / sum_j c_j

    A cluster of one item counts 1 if that item is alone in its class, else 0.

    Degenerate: 0/0 without clusters; nan without items.
    Example: 0.4000
    """
    return one_sided_ratio(lea_precisions(tables), pred_items(tables), tables, zero_division)


@share(swapped="lea_precision", source="moosavi2016", integer_only=True, combines="mean", sums=LEA)
def lea_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of a class's pairs in one cluster, weighted by the size of the class, as :func:`lea_precision`.

    Degenerate: 0/0 without classes; nan without items.
    Example: 0.2000
    """
    return one_sided_ratio(lea_recalls(tables), true_items(tables), tables, zero_division)


@share(symmetric=True, source="moosavi2016", integer_only=True, sums=LEA)
def lea_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of LEA precision and recall.

    Degenerate: 0 where both are 0; nan without items.
    Example: 0.2667
    """
    return harmonic_mean(lea_precision(tables, zero_division), lea_recall(tables, zero_division))


# --- entities ------------------------------------------------------------------------------------------------


def is_exact(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    """Where a class and a cluster have the same items."""
    return ((cell.n == whole_r(cell, tables)) & (cell.n == whole_c(cell, tables)) & (cell.n > 0)).double()


@cached_on_tables
def n_exact(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: is_exact(cell, tables))


EXACT = Sums(n_exact, n_pred, n_true)


@share(swapped="exact_cluster_recall", source="menestrina2010", sums=EXACT)
def exact_cluster_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the clusters with exactly the items of a class.

    Degenerate: 0/0 without clusters; nan without items.
    Example: 0.
    """
    return one_sided_ratio(n_exact(tables), n_pred(tables), tables, zero_division)


@share(swapped="exact_cluster_precision", source="menestrina2010", sums=EXACT)
def exact_cluster_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the classes with exactly the items of a cluster.

    Degenerate: 0/0 without classes; nan without items.
    Example: 0.
    """
    return one_sided_ratio(n_exact(tables), n_true(tables), tables, zero_division)


@share(symmetric=True, source="menestrina2010", sums=EXACT)
def exact_cluster_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Twice the number E of classes equal to a cluster over all classes and clusters, ``2 E / (R + C)``.

    Example: 0.
    """
    return one_sided_ratio(2 * n_exact(tables), n_true(tables) + n_pred(tables), tables, zero_division)


CONLL = Sums(*MUC.widths, *BCUBED.widths, *CEAF_E.widths)


@share(symmetric=True, source="pradhan2011", integer_only=True, on_host=True, sums=CONLL)
def conll_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the F of MUC, of BCubed and of entity-based CEAF: the score of the CoNLL tasks.

    Example: 0.4705
    """
    parts = (muc_f(tables, zero_division), coref_bcubed_f(tables, zero_division), ceaf_e_f(tables, zero_division))
    return (parts[0] + parts[1] + parts[2]) / 3


@cached_on_tables
def exact_items(tables: ContingencyTables) -> Tensor:
    """Items whose class and cluster have the same items."""
    return tables.sum(lambda cell: cell.n * is_exact(cell, tables))


@cached_on_tables
def all_items(tables: ContingencyTables) -> Tensor:
    """Items of either side."""
    return true_items(tables) + tables.unmatched_by_cluster.sum(-1)


@share(symmetric=True, source="zhu2019", combines="mean", sums=Sums(exact_items, all_items))
def grouping_accuracy(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items of either side whose class and cluster have the same items.

    Example: 0.
    """
    return one_sided_ratio(exact_items(tables), all_items(tables), tables, zero_division)


@cached_on_tables
def closest_to_clusters(tables: ContingencyTables) -> Tensor:
    """Largest Jaccard index of each cluster with a class, summed."""
    return sum_reproducible(tables.max_by_cluster(lambda cell: iou(cell, tables)))


@cached_on_tables
def closest_to_classes(tables: ContingencyTables) -> Tensor:
    """Largest Jaccard index of each class with a cluster, summed."""
    return sum_reproducible(tables.max_by_class(lambda cell: iou(cell, tables)))


CLOSEST = Sums(closest_to_clusters, n_pred, closest_to_classes, n_true)


@share(swapped="closest_cluster_recall", source="barnes2015", sums=CLOSEST)
def closest_cluster_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over clusters of the largest Jaccard index with a class, ``n_ij / (r_i + c_j - n_ij)``.

    Degenerate: 0/0 without clusters; nan without items.
    Example: 0.4583
    """
    return one_sided_ratio(closest_to_clusters(tables), n_pred(tables), tables, zero_division)


@share(swapped="closest_cluster_precision", source="barnes2015", sums=CLOSEST)
def closest_cluster_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over classes of the largest Jaccard index with a cluster, ``n_ij / (r_i + c_j - n_ij)``.

    Degenerate: 0/0 without classes; nan without items.
    Example: 0.4583
    """
    return one_sided_ratio(closest_to_classes(tables), n_true(tables), tables, zero_division)


@cached_on_tables
def splits_and_merges(tables: ContingencyTables) -> Tensor:
    alone = (tables.unmatched_by_class > 0).sum(-1) + (tables.unmatched_by_cluster > 0).sum(-1)
    return (2 * tables.n_cells + alone).double() - n_true(tables) - n_pred(tables)


@distance(symmetric=True, source="menestrina2010", combines="sum", sums=Sums(splits_and_merges))
def merge_distance(tables: ContingencyTables) -> Tensor:
    """Splits and merges that turn clusters into classes at a cost of 1 each, ``2 #{n_ij > 0} - R - C``.

    A group's items missing on the other side count as one more piece of the group.

    Example: 4.
    """
    return splits_and_merges(tables).masked_fill(empty(tables), torch.nan)
