"""Measures that match classes and clusters: by the largest overlap, or one to one."""

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.common.checks import check_choice
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import largest, sum_reproducible
from torchclusteval.measures.assignment import max_assignment, sparse_max_assignment
from torchclusteval.measures.greedy_assignment import greedy_assignment, sparse_greedy_assignment
from torchclusteval.measures.ratios import ratio, weighted_harmonic_mean
from torchclusteval.tables import ContingencyTables, check_tables

MATCHINGS = ("majority", "one_to_one")


@cached_on_tables
def majority_of_clusters(tables: ContingencyTables) -> Tensor:
    """Items of the largest class of each cluster, ``(*batch,)`` int64 or float64."""
    return tables.max_by_cluster(lambda cell: cell.count).sum(-1)


@cached_on_tables
def majority_of_classes(tables: ContingencyTables) -> Tensor:
    """Items of each class in its largest cluster, ``(*batch,)`` int64 or float64."""
    return tables.max_by_class(lambda cell: cell.count).sum(-1)


@cached_on_tables
def _best_f(tables: ContingencyTables) -> Tensor:
    """Largest ``2 n / (r + c)`` of each class, ``(*batch, R)``."""
    return 2 * tables.max_by_class(lambda cell: cell.n / (cell.r + cell.c_nonzero))


@cached_on_tables
def matched_items(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching, ``(*batch,)`` int64 or float64."""
    return largest_matching(tables, lambda cell: cell.count)


def largest_matching(tables: ContingencyTables, quantity: CellQuantity) -> Tensor:
    """Largest sum of a cell quantity over a one-to-one matching, ``(*batch,)`` of its type; on the host."""
    weights = quantity(tables._cell_quantities)
    if tables.layout == "dense":
        return max_assignment(weights)
    kept = weights.nonzero()[:, 0]
    batch, row, column, weights = (x.index_select(0, kept) for x in (*tables.cells()[:3], weights))
    size = tables.batch_shape.numel()
    return sparse_max_assignment(batch, row, column, weights, size, *tables.shape[-2:]).reshape(tables.batch_shape)


def _item_share(part: Tensor, tables: ContingencyTables) -> Tensor:
    return ratio(part, tables._n_items_f64, tables)


def _lack(part: Tensor, tables: ContingencyTables) -> Tensor:
    """One minus a share, by counts, so that small distances keep their digits."""
    return ratio(_outside(tables, part), tables._n_items_f64, tables, identical=0.0)


def _outside(tables: ContingencyTables, *parts: Tensor) -> Tensor:
    """The items outside each part, summed over the parts, ``(*batch,)`` int64 or float64."""
    outside = tables.n_items - parts[0]
    for part in parts[1:]:
        outside = outside + (tables.n_items - part)
    return outside


def purity(tables: ContingencyTables) -> Tensor:
    """Share of the items that are of the largest class of their cluster, ``(1/N) sum_j max_i n_ij``.

    Range: above 0 to 1, higher is better.
    Degenerate: 1 for clusters of one item; nan without items.
    Source: Zhao and Karypis (2001).

    >>> tce.measures.purity(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return _item_share(majority_of_clusters(tables), tables)


def inverse_purity(tables: ContingencyTables) -> Tensor:
    """Share of the items that are in the largest cluster of their class, ``(1/N) sum_i max_j n_ij``.

    Range: above 0 to 1, higher is better.
    Degenerate: 1 for one cluster; nan without items.
    Source: Kishida, section 3.1; Amigo et al. (2009), section 4.1.

    >>> tce.measures.inverse_purity(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return _item_share(majority_of_classes(tables), tables)


def purity_f(tables: ContingencyTables, alpha: float = 0.5) -> Tensor:
    """Weighted harmonic mean of purity and inverse purity.

    Args:
        alpha: weight of purity, 0 to 1.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Amigo et al. (2009), section 4.1.

    >>> tce.measures.purity_f(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return weighted_harmonic_mean(purity(tables), inverse_purity(tables), tables, alpha)


def clustering_f(tables: ContingencyTables) -> Tensor:
    """F of each class and its best cluster, averaged by class size, ``sum_i (r_i / N) max_j 2 n_ij / (r_i + c_j)``.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Larsen and Aone (1999); Fung, Wang and Ester (2003).

    >>> tce.measures.clustering_f(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8286, dtype=torch.float64)
    """
    weighted = sum_reproducible(_best_f(tables) * tables._class_sizes_f64)
    return ratio(weighted, tables._n_items_f64, tables, maximum=1.0)


def larsen_l(tables: ContingencyTables) -> Tensor:
    """F of each class and its best cluster, averaged over the classes, ``(1/q) sum_i max_j 2 n_ij / (r_i + c_j)``.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Larsen and Aone (1999), in the form that Meila (2007) names L.

    >>> tce.measures.larsen_l(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8286, dtype=torch.float64)
    """
    return ratio(sum_reproducible(_best_f(tables)), tables.n_classes.double(), tables, maximum=1.0)


def van_dongen(tables: ContingencyTables, norm: str | None = None) -> Tensor:
    """Items outside the largest overlaps, ``D = 2N - sum_j max_i n_ij - sum_i max_j n_ij``.

    A metric, except with the norm ``"max"``.

    Args:
        norm: None; ``"2n"``: over 2N; ``"max"``: over ``2N - max_i r_i - max_j c_j``, which reaches 1.

    Range: 0 to 2N (``"2n"``, ``"max"``: to 1), lower is better.
    Degenerate: ``"max"``: 0 for one class in one cluster; nan without items.
    Source: van Dongen (2000); the norm ``"max"`` is Kishida's, section 3.4.

    >>> tce.measures.van_dongen(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(2., dtype=torch.float64)
    """
    check_choice(norm, "norm", (None, "2n", "max"))
    distance = _outside(tables, majority_of_clusters(tables), majority_of_classes(tables))
    if norm == "max":
        scale = _outside(tables, largest(tables.class_sizes), largest(tables.cluster_sizes)).double()
    else:
        scale = 2 * tables._n_items_f64 if norm == "2n" else torch.ones_like(tables._n_items_f64)
    return ratio(distance, scale, tables, identical=0.0)


def many_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items when each cluster is given its largest class; equals purity.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: named by Reichart and Rappoport (2009), section 2.

    >>> tce.measures.many_to_one_accuracy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return purity(tables)


def greedy_one_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items when the largest remaining cell is matched again and again, its row and column dropped.

    Ties go to the lowest row, then the lowest column.

    Range: above 0 to 1, higher is better; at least half of the best matching.
    Degenerate: nan without items.
    Source: named by Reichart and Rappoport (2009), section 2.

    >>> tce.measures.greedy_one_to_one_accuracy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    check_tables(tables)
    if tables.layout == "dense":
        return _item_share(greedy_assignment(tables.counts), tables)
    size = tables.batch_shape.numel()
    matched = sparse_greedy_assignment(*tables.cells(), size, *tables.shape[-2:]).reshape(tables.batch_shape)
    return _item_share(matched, tables)


def one_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items under the best one-to-one matching of classes and clusters.

    This is the accuracy of papers on deep clustering. Groups without a partner count as wrong. The gradient is that of
    one best matching; which one, where several are best, depends on the solver. On sparse tables SciPy's sparse
    matching is used where it is installed, else tables of up to 4e6 cells are made dense.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Raises: ValueError where sparse tables are too large without SciPy.
    Source: Kuhn (1955); Reichart and Rappoport (2009), section 6.

    >>> tce.measures.one_to_one_accuracy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return _item_share(matched_items(tables), tables)


def classification_error(tables: ContingencyTables) -> Tensor:
    """Share of wrong items under the best one-to-one matching, ``1 - one_to_one_accuracy``; a metric.

    Range: 0 to below 1, lower is better.
    Degenerate: nan without items.
    Source: Meila (2007).

    >>> tce.measures.classification_error(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.1667, dtype=torch.float64)
    """
    return _lack(matched_items(tables), tables)


def meila_heckerman_h(tables: ContingencyTables) -> Tensor:
    """Distance by the best one-to-one matching, under the name H; equals the classification error.

    Others give this name to a similarity, or to purity.

    Range: 0 to below 1, lower is better.
    Degenerate: nan without items.
    Source: Meila and Heckerman (2001), as read by Meila (2007).

    >>> tce.measures.meila_heckerman_h(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.1667, dtype=torch.float64)
    """
    return classification_error(tables)


def misclassification_index(tables: ContingencyTables, matching: str = "majority") -> Tensor:
    """Share of the items whose class is not the one given to their cluster.

    The original definition was not found in public text; the majority form is how later papers describe it.

    Args:
        matching: ``"majority"``: each cluster has its largest class; ``"one_to_one"``: the best matching.

    Range: 0 to below 1, lower is better.
    Degenerate: nan without items.
    Source: Zeng et al. (2002), as described by Rosenberg and Hirschberg (2007), section 3.

    >>> tce.measures.misclassification_index(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.1667, dtype=torch.float64)
    """
    check_choice(matching, "matching", MATCHINGS)
    matched = majority_of_clusters(tables) if matching == "majority" else matched_items(tables)
    return _lack(matched, tables)


def micro_precision(tables: ContingencyTables) -> Tensor:
    """Precision pooled over classes when each cluster has its largest class; equals purity on partitions.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Dhillon, Mallela and Modha (2003).

    >>> tce.measures.micro_precision(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return purity(tables)


def micro_recall(tables: ContingencyTables) -> Tensor:
    """Recall pooled over classes when each cluster has its largest class; equals purity on partitions.

    Range: above 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Dhillon, Mallela and Modha (2003).

    >>> tce.measures.micro_recall(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8333, dtype=torch.float64)
    """
    return purity(tables)


def edit_distance(tables: ContingencyTables) -> Tensor:
    """Merges and moves that turn clusters into classes, ``k + sum_j (c_j - max_i n_ij)``.

    One merge a cluster, and one move an item of another class.

    Range: number of classes to N, lower is better. The true partition costs one merge a class.
    Degenerate: nan without items.
    Source: Pantel and Lin (2002).

    >>> tce.measures.edit_distance(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(3., dtype=torch.float64)
    """
    check_tables(tables)
    operations = tables.n_clusters + _outside(tables, majority_of_clusters(tables))
    return operations.double().masked_fill(tables.empty, float("nan"))


def edit_quality(tables: ContingencyTables) -> Tensor:
    """Operations saved against starting from single items, ``1 - edit_distance / N``.

    Range: 0 to below 1, higher is better; the true partition reaches 1 - q/N.
    Degenerate: nan without items.
    Source: Pantel and Lin (2002).

    >>> tce.measures.edit_quality(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5000, dtype=torch.float64)
    """
    saved = majority_of_clusters(tables) - tables.n_clusters
    return ratio(saved, tables._n_items_f64, tables, identical=None)
