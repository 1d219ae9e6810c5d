"""Measures of coreference resolution: MUC, BCubed, CEAF, BLANC and LEA, with invented and missed mentions.

Sizes, identical sides and ``zero_division`` are those of ``one_sided``.
"""

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.measures import matching
from torchclusteval.measures.one_sided import (
    harmonic_mean,
    n_pred,
    n_true,
    of_whole_items,
    one_sided_ratio,
    pred_items,
    settled,
    true_items,
    whole_c,
    whole_class_sizes,
    whole_cluster_sizes,
    whole_r,
)
from torchclusteval.tables import ContingencyTables


@cached_on_tables
def found_links(tables: ContingencyTables) -> Tensor:
    """Items less non-empty cells: links within classes that need no link between clusters."""
    return of_whole_items(tables)._n_items_f64 - tables.n_cells


def muc_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the links of clusters that are right, ``(sum_ij n_ij - #{n_ij > 0}) / sum_j (c_j - 1)``.

    A cluster of c items has c - 1 links. Clusters of one item count for nothing.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 where all clusters have one item; nan without items.
    Source: Vilain et al. (1995).

    >>> tce.measures.muc_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.3333, dtype=torch.float64)
    """
    return one_sided_ratio(found_links(tables), pred_items(tables) - n_pred(tables), tables, zero_division)


def muc_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the links of classes that are found, ``(sum_ij n_ij - #{n_ij > 0}) / sum_i (r_i - 1)``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 where all classes have one item; nan without items.
    Source: Vilain et al. (1995).

    >>> tce.measures.muc_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.3333, dtype=torch.float64)
    """
    return one_sided_ratio(found_links(tables), true_items(tables) - n_true(tables), tables, zero_division)


def muc_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of MUC precision and recall.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where both are 0; nan without items.
    Source: Vilain et al. (1995).

    >>> tce.measures.muc_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.3333, dtype=torch.float64)
    """
    return harmonic_mean(muc_precision(tables, zero_division), muc_recall(tables, zero_division))


# --- BCubed -------------------------------------------------------------------------------------------------


@cached_on_tables
def bcubed_precisions(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.squares / whole_c(cell, tables))


@cached_on_tables
def bcubed_recalls(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.squares / whole_r(cell, tables))


def coref_bcubed_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """BCubed precision with invented items, which score 0, ``(sum_ij n_ij^2 / c_j) / sum_j c_j``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).

    >>> tce.measures.coref_bcubed_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.5333, dtype=torch.float64)
    """
    return one_sided_ratio(bcubed_precisions(tables), pred_items(tables), tables, zero_division)


def coref_bcubed_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """BCubed recall with missed items, which score 0, ``(sum_ij n_ij^2 / r_i) / sum_i r_i``.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).

    >>> tce.measures.coref_bcubed_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4333, dtype=torch.float64)
    """
    return one_sided_ratio(bcubed_recalls(tables), true_items(tables), tables, zero_division)


def coref_bcubed_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of BCubed precision and recall with items of one side.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where both are 0; nan without items.
    Source: Bagga and Baldwin (1998); Pradhan et al. (2014).

    >>> tce.measures.coref_bcubed_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4782, dtype=torch.float64)
    """
    return harmonic_mean(coref_bcubed_precision(tables, zero_division), coref_bcubed_recall(tables, zero_division))


# --- CEAF ---------------------------------------------------------------------------------------------------


def _similarities(tables: ContingencyTables, cell: CellQuantities) -> Tensor:
    """``2 n / (r + c)``, the similarity of the groups of each cell."""
    return 2 * cell.n / (whole_r(cell, tables) + whole_c(cell, tables))


@cached_on_tables
def matched_items(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching."""
    return matching.matched_items(tables).double()


@cached_on_tables
def matched_similarity(tables: ContingencyTables) -> Tensor:
    """Similarity of the groups of the best one-to-one matching, summed."""
    return matching.largest_matching(tables, lambda cell: _similarities(tables, cell))


def ceaf_m_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items of clusters in the best one-to-one matching, ``max sum n_ij / sum_j c_j`` (phi 3).

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_m_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return one_sided_ratio(matched_items(tables), pred_items(tables), tables, zero_division)


def ceaf_m_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the items of classes in the best one-to-one matching, ``max sum n_ij / sum_i r_i`` (phi 3).

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_m_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return one_sided_ratio(matched_items(tables), true_items(tables), tables, zero_division)


def ceaf_m_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of mention-based CEAF precision and recall.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where both are 0; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_m_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return harmonic_mean(ceaf_m_precision(tables, zero_division), ceaf_m_recall(tables, zero_division))


def ceaf_e_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean similarity of a cluster with its class in the best one-to-one matching, ``2 n_ij / (r_i + c_j)`` (phi 4).

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_e_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return one_sided_ratio(matched_similarity(tables), n_pred(tables), tables, zero_division)


def ceaf_e_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean similarity of a class with its cluster in the best one-to-one matching, ``2 n_ij / (r_i + c_j)`` (phi 4).

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_e_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return one_sided_ratio(matched_similarity(tables), n_true(tables), tables, zero_division)


def ceaf_e_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of entity-based CEAF precision and recall.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where both are 0; nan without items.
    Source: Luo (2005).

    >>> tce.measures.ceaf_e_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return harmonic_mean(ceaf_e_precision(tables, zero_division), ceaf_e_recall(tables, zero_division))


def conll_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the F of MUC, of BCubed and of entity-based CEAF: the score of the CoNLL tasks.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Pradhan et al. (2011).

    >>> tce.measures.conll_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4705, dtype=torch.float64)
    """
    parts = (muc_f(tables, zero_division), coref_bcubed_f(tables, zero_division), ceaf_e_f(tables, zero_division))
    return (parts[0] + parts[1] + parts[2]) / 3


# --- BLANC --------------------------------------------------------------------------------------------------


def _pairs(x: Tensor) -> Tensor:
    return x * (x - 1) * 0.5


@cached_on_tables
def true_links(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Pairs of items of one class, and of two."""
    links = sum_reproducible(_pairs(whole_class_sizes(of_whole_items(tables))))
    return links, _pairs(true_items(tables)) - links


@cached_on_tables
def pred_links(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Pairs of items of one cluster, and of two."""
    links = sum_reproducible(_pairs(whole_cluster_sizes(of_whole_items(tables))))
    return links, _pairs(pred_items(tables)) - links


def _mean_of_links(parts: tuple[Tensor, Tensor], tables: ContingencyTables, zero_division: float | None) -> Tensor:
    """Mean over pairs within and between groups; one of them alone where the classes have no pair of the other."""
    (within, between), (links, others) = parts, true_links(tables)
    value = torch.where(links == 0, between, torch.where(others == 0, within, (within + between) * 0.5))
    return settled(value, tables, zero_division)


def _precisions_of_links(tables: ContingencyTables, zero_division: float | None) -> tuple[Tensor, Tensor]:
    links, others = pred_links(tables)
    within = one_sided_ratio(tables.pairs.ss, links, tables, zero_division)
    return within, one_sided_ratio(tables.pairs.dd, others, tables, zero_division)


def _recalls_of_links(tables: ContingencyTables, zero_division: float | None) -> tuple[Tensor, Tensor]:
    links, others = true_links(tables)
    within = one_sided_ratio(tables.pairs.ss, links, tables, zero_division)
    return within, one_sided_ratio(tables.pairs.dd, others, tables, zero_division)


def blanc_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the precision of pairs within clusters and of pairs between clusters.

    Where no class has two items, the pairs between clusters alone; where there is one class, the pairs within alone.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Recasens and Hovy (2011); Luo et al. (2014).

    >>> tce.measures.blanc_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.2917, dtype=torch.float64)
    """
    return _mean_of_links(_precisions_of_links(tables, zero_division), tables, zero_division)


def blanc_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the recall of pairs within classes and of pairs between classes, as :func:`blanc_precision`.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Recasens and Hovy (2011); Luo et al. (2014).

    >>> tce.measures.blanc_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.2917, dtype=torch.float64)
    """
    return _mean_of_links(_recalls_of_links(tables, zero_division), tables, zero_division)


def blanc_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean of the F of pairs within groups and of pairs between groups, as :func:`blanc_precision`.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Recasens and Hovy (2011); Luo et al. (2014).

    >>> tce.measures.blanc_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.2917, dtype=torch.float64)
    """
    sides = zip(_precisions_of_links(tables, zero_division), _recalls_of_links(tables, zero_division), strict=True)
    within, between = (harmonic_mean(precision, recall) for precision, recall in sides)
    return _mean_of_links((within, between), tables, zero_division)


# --- LEA ----------------------------------------------------------------------------------------------------


def _resolved(cell: CellQuantities, own: Tensor, other: Tensor) -> Tensor:
    """Share of the links of a cell's group of size ``own`` that are in the cell, times the size."""
    alone = own <= 1
    links = cell.n * (cell.n - 1) / (own - 1).masked_fill(alone, 1.0)
    return torch.where(alone, cell.n * (other <= 1), links)


@cached_on_tables
def lea_precisions(tables: ContingencyTables) -> Tensor:
    return of_whole_items(tables).sum(lambda cell: _resolved(cell, whole_c(cell, tables), whole_r(cell, tables)))


@cached_on_tables
def lea_recalls(tables: ContingencyTables) -> Tensor:
    return of_whole_items(tables).sum(lambda cell: _resolved(cell, whole_r(cell, tables), whole_c(cell, tables)))


def lea_precision(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the pairs of a cluster that are of one class, weighted by its size.

        P = sum_j c_j (sum_i C(n_ij, 2) / C(c_j, 2)) / sum_j c_j

    A cluster of one item counts 1 if that item is alone in its class, else 0.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without clusters; nan without items.
    Source: Moosavi and Strube (2016).

    >>> tce.measures.lea_precision(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4000, dtype=torch.float64)
    """
    return one_sided_ratio(lea_precisions(tables), pred_items(tables), tables, zero_division)


def lea_recall(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the pairs of a class that are in one cluster, weighted by its size, as :func:`lea_precision`.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without classes; nan without items.
    Source: Moosavi and Strube (2016).

    >>> tce.measures.lea_recall(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.2000, dtype=torch.float64)
    """
    return one_sided_ratio(lea_recalls(tables), true_items(tables), tables, zero_division)


def lea_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of LEA precision and recall.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where both are 0; nan without items.
    Source: Moosavi and Strube (2016).

    >>> tce.measures.lea_f(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.2667, dtype=torch.float64)
    """
    return harmonic_mean(lea_precision(tables, zero_division), lea_recall(tables, zero_division))
