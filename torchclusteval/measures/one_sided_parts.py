"""As ``parts``, for measures of items that only one side groups: their sums over documents, and their values from them.

``..._sums`` is a function of tables that returns ``(*batch, k)`` float64, 0 for empty tables. Every other function
returns a value from such sums, with ``zero_division`` for 0/0.
"""

import torch
from torch import Tensor

from torchclusteval.common.numerics import at_most
from torchclusteval.measures import coreference, entities
from torchclusteval.measures.one_sided import harmonic_mean, n_pred, n_true, pred_items, true_items
from torchclusteval.tables import ContingencyTables


def _stacked(*sums: Tensor) -> Tensor:
    return torch.stack([x.double() for x in sums], dim=-1)


def _ratio(numerator: Tensor, denominator: Tensor, zero_division: float) -> Tensor:
    zero = denominator == 0
    return at_most(numerator / denominator.masked_fill(zero, 1.0), 1.0).masked_fill(zero, zero_division)


# --- one numerator for both sides: found, of clusters, of classes -------------------------------------------


def muc_sums(tables: ContingencyTables) -> Tensor:
    """Links that are found, links of clusters and of classes."""
    own = (pred_items(tables) - n_pred(tables), true_items(tables) - n_true(tables))
    return _stacked(coreference.found_links(tables), *own)


def ceaf_m_sums(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching, items of clusters and of classes."""
    return _stacked(coreference.matched_items(tables), pred_items(tables), true_items(tables))


def ceaf_e_sums(tables: ContingencyTables) -> Tensor:
    """Similarity of the best one-to-one matching, clusters and classes."""
    return _stacked(coreference.matched_similarity(tables), n_pred(tables), n_true(tables))


def exact_cluster_sums(tables: ContingencyTables) -> Tensor:
    """Clusters that are a class, clusters and classes."""
    return _stacked(entities.n_exact(tables), n_pred(tables), n_true(tables))


def grouping_sums(tables: ContingencyTables) -> Tensor:
    """Items whose class and cluster are the same items, and all items."""
    return _stacked(entities.exact_items(tables), entities.all_items(tables))


def share_of_clusters(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    found, clusters = sums[..., 0], sums[..., 1]
    return _ratio(found, clusters, zero_division)


def share_of_classes(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    found, classes = sums[..., 0], sums[..., 2]
    return _ratio(found, classes, zero_division)


def harmonic_share(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return harmonic_mean(share_of_clusters(sums, zero_division), share_of_classes(sums, zero_division))


def share_of_both(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    found, clusters, classes = sums.unbind(-1)
    return _ratio(2 * found, clusters + classes, zero_division)


# --- a numerator for each side: of clusters, of classes -----------------------------------------------------


def coref_bcubed_sums(tables: ContingencyTables) -> Tensor:
    """Precisions and items of clusters, recalls and items of classes."""
    precisions, recalls = coreference.bcubed_precisions(tables), coreference.bcubed_recalls(tables)
    return _stacked(precisions, pred_items(tables), recalls, true_items(tables))


def lea_sums(tables: ContingencyTables) -> Tensor:
    """Resolved shares and items of clusters, of classes."""
    precisions, recalls = coreference.lea_precisions(tables), coreference.lea_recalls(tables)
    return _stacked(precisions, pred_items(tables), recalls, true_items(tables))


def closest_cluster_sums(tables: ContingencyTables) -> Tensor:
    """Largest Jaccard indices and number of clusters, of classes."""
    of_clusters, of_classes = entities.closest_to_clusters(tables), entities.closest_to_classes(tables)
    return _stacked(of_clusters, n_pred(tables), of_classes, n_true(tables))


def mean_of_clusters(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return _ratio(sums[..., 0], sums[..., 1], zero_division)


def mean_of_classes(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return _ratio(sums[..., 2], sums[..., 3], zero_division)


def harmonic_of_means(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return harmonic_mean(mean_of_clusters(sums, zero_division), mean_of_classes(sums, zero_division))


# --- CoNLL --------------------------------------------------------------------------------------------------


def conll_sums(tables: ContingencyTables) -> Tensor:
    """The sums of MUC, of BCubed and of entity-based CEAF."""
    return torch.cat([muc_sums(tables), coref_bcubed_sums(tables), ceaf_e_sums(tables)], dim=-1)


def conll_f(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    muc, bcubed, ceaf_e = sums.split([3, 4, 3], dim=-1)
    both = harmonic_share(muc, zero_division) + harmonic_of_means(bcubed, zero_division)
    return (both + harmonic_share(ceaf_e, zero_division)) / 3


# --- BLANC --------------------------------------------------------------------------------------------------


def blanc_sums(tables: ContingencyTables) -> Tensor:
    """Pairs within groups and between them: common ones, of clusters, of classes."""
    return _stacked(
        tables.pairs.ss,
        tables.pairs.dd,
        *coreference.pred_links(tables),
        *coreference.true_links(tables),
    )


def _mean_of_links(sums: Tensor, within: Tensor, between: Tensor) -> Tensor:
    links, others = sums[..., 4], sums[..., 5]
    return torch.where(links == 0, between, torch.where(others == 0, within, (within + between) * 0.5))


def _shares_of_links(sums: Tensor, first: int, zero_division: float) -> tuple[Tensor, Tensor]:
    within = _ratio(sums[..., 0], sums[..., first], zero_division)
    return within, _ratio(sums[..., 1], sums[..., first + 1], zero_division)


def blanc_precision(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return _mean_of_links(sums, *_shares_of_links(sums, 2, zero_division))


def blanc_recall(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return _mean_of_links(sums, *_shares_of_links(sums, 4, zero_division))


def blanc_f(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    sides = (_shares_of_links(sums, first, zero_division) for first in (2, 4))
    within, between = (harmonic_mean(precision, recall) for precision, recall in zip(*sides, strict=True))
    return _mean_of_links(sums, within, between)


# --- splits and merges --------------------------------------------------------------------------------------


def merge_sums(tables: ContingencyTables) -> Tensor:
    """Splits and merges."""
    return _stacked(entities.merge_distance(tables).nan_to_num(0.0))


def merge_distance(sums: Tensor) -> Tensor:
    return sums[..., 0]
