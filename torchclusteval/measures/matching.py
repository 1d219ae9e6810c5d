"""Measures that match classes and clusters: by the largest overlap, or one to one."""

from functools import partial

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.cells.sums import launched
from torchclusteval.common.checks import check_choice
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_least, float64, larger, largest, smaller, sum_reproducible
from torchclusteval.measures import assignment
from torchclusteval.measures.record import FROM_ZERO, SIGNED, UNIT, measure
from torchclusteval.measures.sums import OneTable, Sums, items, ratio, sizes_of_sides, weighted_harmonic_mean
from torchclusteval.tables import ContingencyTables, check_tables

__all__ = ["class_projection_distance", "classification_error", "cluster_projection_distance", "clustering_f"]
__all__ += ["edit_distance", "edit_quality", "greedy_one_to_one_accuracy", "inverse_purity", "larsen_l"]
__all__ += ["many_to_one_accuracy", "meila_heckerman_h", "micro_precision", "micro_recall", "misclassification_index"]
__all__ += ["nca", "nca_swapped", "npa", "one_to_one_accuracy", "projection_number", "psi", "purity", "purity_f"]
__all__ += ["spsi", "van_dongen"]

MATCHINGS = ("majority", "one_to_one")

share = partial(measure, "matching", range=UNIT, perfect=1.0)
distance = partial(measure, "matching", better="lower", perfect=0.0)


@launched
def majority_of_clusters(tables: ContingencyTables) -> Tensor:
    """Items of the largest class of each cluster, ``(*batch,)`` int64 or float64."""
    return tables.max_by_cluster(lambda cell: cell.count).sum(-1)


@launched
def majority_of_classes(tables: ContingencyTables) -> Tensor:
    """Items of each class in its largest cluster, ``(*batch,)`` int64 or float64."""
    return tables.max_by_class(lambda cell: cell.count).sum(-1)


@launched
def _largest_groups(tables: ContingencyTables) -> Tensor:
    """Items of the largest class and of the largest cluster, added up."""
    return largest(tables.class_sizes) + largest(tables.cluster_sizes)


@cached_on_tables
def _best_f(tables: ContingencyTables) -> Tensor:
    """Largest ``2 n / (r + c)`` of each class, ``(*batch, R)``."""
    return 2 * tables.max_by_class(lambda cell: cell.n / (cell.r + cell.c_nonzero))


@launched
def _weighted_f(tables: ContingencyTables) -> Tensor:
    return sum_reproducible(_best_f(tables) * tables._class_sizes_f64)


@launched
def _sum_of_f(tables: ContingencyTables) -> Tensor:
    return sum_reproducible(_best_f(tables))


@cached_on_tables
def matched_items(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching, ``(*batch,)`` int64 or float64."""
    if isinstance(tables, OneTable):
        return tables.number(matched_items)
    return largest_matching(tables, lambda cell: cell.count)


def largest_matching(tables: ContingencyTables, quantity: CellQuantity) -> Tensor:
    """Largest sum of a cell quantity over a one-to-one matching, ``(*batch,)`` of its type; on the host."""
    weights = quantity(tables._cell_quantities)
    if tables.layout == "dense":
        return assignment.max_assignment(weights)
    kept = weights.nonzero()[:, 0]
    batch, row, column, weights = (x.index_select(0, kept) for x in (*tables.cells()[:3], weights))
    size = tables.batch_shape.numel()
    return assignment.sparse_max_assignment(batch, row, column, weights, size).reshape(tables.batch_shape)


@cached_on_tables
def unmatched_items(tables: ContingencyTables) -> Tensor:
    """Items outside the best one-to-one matching: by counts, so that small distances keep their digits."""
    return _outside(tables, matched_items(tables))


def _item_share(part: Tensor, tables: ContingencyTables) -> Tensor:
    return ratio(part, items(tables), tables)


def _outside(tables: ContingencyTables, part: Tensor, other: Tensor | None = None) -> Tensor:
    """The items outside a part, plus those outside the other part, ``(*batch,)`` int64 or float64."""
    outside = tables.n_items - part
    return outside if other is None else outside + (tables.n_items - other)


@share(swapped="inverse_purity", source="zhao2001", combines="mean", sums=Sums(majority_of_clusters, items))
def purity(tables: ContingencyTables) -> Tensor:
    """Share of the items in the largest class of their cluster, ``(1/N) sum_j max_i n_ij``.

    Range: above 0 to 1, higher is better.
    Degenerate: 1 for clusters of one item; nan without items.
    Example: 0.8333
    """
    return _item_share(majority_of_clusters(tables), tables)


@share(swapped="purity", source="amigo2009", combines="mean", sums=Sums(majority_of_classes, items))
def inverse_purity(tables: ContingencyTables) -> Tensor:
    """Share of the items in the largest cluster of their class, ``(1/N) sum_i max_j n_ij``.

    Range: above 0 to 1, higher is better.
    Degenerate: 1 for one cluster; nan without items.
    Source: Kishida, section 3.1; Amigo et al. (2009), section 4.1.
    Example: 0.8333
    """
    return _item_share(majority_of_classes(tables), tables)


@share(symmetric=True, source="amigo2009", sums=Sums(majority_of_clusters, majority_of_classes, items))
def purity_f(tables: ContingencyTables, alpha: float = 0.5) -> Tensor:
    """Weighted harmonic mean of purity and inverse purity.

    Args:
        alpha: weight of purity, 0 to 1.

    Range: above 0 to 1, higher is better.
    Source: Amigo et al. (2009), section 4.1.
    Example: 0.8333
    """
    return weighted_harmonic_mean(purity(tables), inverse_purity(tables), tables, alpha)


@share(source="larsen1999", combines="mean")
def clustering_f(tables: ContingencyTables) -> Tensor:
    """F of each class and its best cluster, averaged by class size, ``sum_i (r_i / N) max_j 2 n_ij / (r_i + c_j)``.

    Range: above 0 to 1, higher is better.
    Source: Larsen and Aone (1999); Fung, Wang and Ester (2003).
    Example: 0.8286
    """
    return ratio(_weighted_f(tables), tables._n_items_f64, tables, maximum=1.0)


@share(source="meila2007")
def larsen_l(tables: ContingencyTables) -> Tensor:
    """F of each class and its best cluster, averaged over the classes, ``(1/q) sum_i max_j 2 n_ij / (r_i + c_j)``.

    Range: above 0 to 1, higher is better.
    Source: Larsen and Aone (1999), in the form that Meila (2007) names L.
    Example: 0.8286
    """
    return ratio(_sum_of_f(tables), tables.n_classes, tables, maximum=1.0)


@distance(
    symmetric=True,
    variants={
        "van_dongen": {"range": FROM_ZERO, "source": "vandongen2000", "metric": True, "combines": "sum"},
        "van_dongen_2n": {"norm": "2n", "range": UNIT, "source": "meila2007", "metric": True, "combines": "mean"},
        "van_dongen_normalized": {"norm": "max", "range": UNIT, "source": "kishida"},
    },
)
def van_dongen(tables: ContingencyTables, norm: str | None = None) -> Tensor:
    """Items outside the largest overlaps, ``D = 2N - sum_j max_i n_ij - sum_i max_j n_ij``.

    A metric, except with the norm ``"max"``.

    Args:
        norm: None; ``"2n"``: over 2N; ``"max"``: over ``2N - max_i r_i - max_j c_j``, which reaches 1.

    Range: 0 to 2N (``"2n"``, ``"max"``: to 1), lower is better.
    Degenerate: ``"max"``: 0 for one class in one cluster; nan without items.
    Source: van Dongen (2000); the norm ``"max"`` is Kishida's, section 3.4.
    Example: 2.
    """
    check_choice(norm, "norm", (None, "2n", "max"))
    distance = _outside(tables, majority_of_clusters(tables), majority_of_classes(tables))
    if norm == "max":
        scale = float64(2 * tables.n_items - _largest_groups(tables))  # what wraps comes back
    else:
        scale = 2 * tables._n_items_f64 if norm == "2n" else tables._n_items_f64**0
    return ratio(distance, scale, tables, identical=0.0)


@share(swapped="inverse_purity", source="reichart2009", combines="mean", sums=Sums(majority_of_clusters, items))
def many_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items when each cluster is given its largest class; equals purity.

    Range: above 0 to 1, higher is better.
    Source: named by Reichart and Rappoport (2009), section 2.
    Example: 0.8333
    """
    return purity(tables)


@share(symmetric=True, source="reichart2009", combines="mean")
def greedy_one_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items by greedy matching: the largest remaining cell is matched, then its row and column dropped.

    Ties go to the lowest row, then the lowest column.

    Range: above 0 to 1, higher is better; at least half of the best matching.
    Source: named by Reichart and Rappoport (2009), section 2.
    Example: 0.8333
    """
    check_tables(tables)
    if tables.layout == "dense":
        return _item_share(assignment.greedy_assignment(tables.counts), tables)
    size = tables.batch_shape.numel()
    matched = assignment.sparse_greedy_assignment(*tables.cells(), size, *tables.shape[-2:]).reshape(tables.batch_shape)
    return _item_share(matched, tables)


@share(symmetric=True, source="kuhn1955", on_host=True, combines="mean", sums=Sums(matched_items, items))
def one_to_one_accuracy(tables: ContingencyTables) -> Tensor:
    """Share of right items under the best one-to-one matching of classes and clusters.

    Papers on deep clustering call this accuracy. Groups without a partner count as wrong. The gradient is that of
    one best matching, chosen by the solver where several are best.

    Range: above 0 to 1, higher is better.
    Source: Kuhn (1955); Reichart and Rappoport (2009), section 6.
    Example: 0.8333
    """
    return _item_share(matched_items(tables), tables)


unmatched = partial(distance, range=UNIT, symmetric=True, source="meila2007", on_host=True, metric=True)
unmatched_share = partial(unmatched, combines="mean", sums=Sums(unmatched_items, items))


@unmatched_share()
def classification_error(tables: ContingencyTables) -> Tensor:
    """Share of wrong items under the best one-to-one matching, ``1 - one_to_one_accuracy``; a metric.

    Range: 0 to below 1, lower is better.
    Example: 0.1667
    """
    return ratio(unmatched_items(tables), items(tables), tables, identical=0.0)


@unmatched_share()
def meila_heckerman_h(tables: ContingencyTables) -> Tensor:
    """Distance by the best one-to-one matching, under the name H; equals the classification error.

    Others give this name to a similarity, or to purity.

    Range: 0 to below 1, lower is better.
    Source: Meila and Heckerman (2001), as read by Meila (2007).
    Example: 0.1667
    """
    return classification_error(tables)


@distance(range=UNIT, source="zeng2002", combines="mean")
def misclassification_index(tables: ContingencyTables, matching: str = "majority") -> Tensor:
    """Share of the items outside the class given to their cluster.

    No public text with the original definition was found; later papers describe the majority form.

    Args:
        matching: ``"majority"``: each cluster has its largest class; ``"one_to_one"``: the best matching.

    Range: 0 to below 1, lower is better.
    Source: Zeng et al. (2002), as described by Rosenberg and Hirschberg (2007), section 3.
    Example: 0.1667
    """
    check_choice(matching, "matching", MATCHINGS)
    wrong = _outside(tables, majority_of_clusters(tables)) if matching == "majority" else unmatched_items(tables)
    return ratio(wrong, items(tables), tables, identical=0.0)


@share(swapped="inverse_purity", source="dhillon2003", combines="mean", sums=Sums(majority_of_clusters, items))
def micro_precision(tables: ContingencyTables) -> Tensor:
    """Precision pooled over classes when each cluster has its largest class; equals purity on partitions.

    Range: above 0 to 1, higher is better.
    Example: 0.8333
    """
    return purity(tables)


@share(swapped="inverse_purity", source="dhillon2003", combines="mean", sums=Sums(majority_of_clusters, items))
def micro_recall(tables: ContingencyTables) -> Tensor:
    """Recall pooled over classes when each cluster has its largest class; equals purity on partitions.

    Range: above 0 to 1, higher is better.
    Example: 0.8333
    """
    return purity(tables)


@measure("matching", range=FROM_ZERO, better="lower", source="pantel2002", combines="sum")
def edit_distance(tables: ContingencyTables) -> Tensor:
    """Merges and moves that turn clusters into classes, ``k + sum_j (c_j - max_i n_ij)``.

    One merge for each cluster, and one move for each item outside the largest class of its cluster.

    Range: number of classes to N, lower is better. The true partition costs one merge a class.
    Example: 3.
    """
    check_tables(tables)
    operations = tables.n_clusters + _outside(tables, majority_of_clusters(tables))
    return operations.double().masked_fill(tables.empty, float("nan"))


@measure("matching", range=UNIT, source="pantel2002", combines="mean")
def edit_quality(tables: ContingencyTables) -> Tensor:
    """Operations saved against starting from single items, ``1 - edit_distance / N``.

    Range: 0 to below 1, higher is better; the true partition reaches 1 - q/N.
    Example: 0.5000
    """
    saved = majority_of_clusters(tables) - tables.n_clusters
    saved = saved if tables.is_integer else tables._as_of_items(saved, saved, "edit_quality")
    return ratio(saved, tables._n_items_f64, tables, identical=None)


# --- matchings weighted by the sizes of groups, and projections ----------------------------------------------
#
# r_i and c_j are the sizes of class i and cluster j; R and C are the numbers of classes and clusters.


@cached_on_tables
def _set_similarity(tables: ContingencyTables) -> Tensor:
    return largest_matching(tables, lambda cell: cell.n / larger(cell.r, cell.c_nonzero))


@cached_on_tables
def _most_groups(tables: ContingencyTables) -> Tensor:
    """The larger one of the numbers of classes and of clusters, ``(*batch,)`` float64."""
    return float64(larger(tables.n_classes, tables.n_clusters))


@cached_on_tables
def _by_chance(tables: ContingencyTables) -> Tensor:
    """Similarity of independent sides whose groups are matched by size, ``sum_k min(r_(k), c_(k)) / N``."""
    largest = sizes_of_sides(tables).sort(-1, descending=True)[0]
    classes, clusters = largest[..., : min(tables.shape[-2:])].double()
    return tables._divide_by_items(sum_reproducible(smaller(classes, clusters)))


@share(symmetric=True, source="rezaei2016", on_host=True)
def psi(tables: ContingencyTables) -> Tensor:
    """Pair sets index: similarity ``n_ij / max(r_i, c_j)`` of matched groups, corrected for chance.

        PSI = max(0, (S - E) / (max(R, C) - E))

    S is the largest sum of similarities of a one-to-one matching. E is that sum for independent sides whose groups are
    matched by size, ``sum_k r_(k) c_(k) / (N max(r_(k), c_(k)))``.

    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Example: 0.5000
    """
    expected = _by_chance(tables)
    value = ratio(_set_similarity(tables) - expected, _most_groups(tables) - expected, tables, maximum=1.0)
    return at_least(value, 0.0)


@share(symmetric=True, source="rezaei2016", on_host=True)
def spsi(tables: ContingencyTables) -> Tensor:
    """Simplified pair sets index, with 1 for the similarity by chance: ``max(0, (S - 1) / (max(R, C) - 1))``.

    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Example: 0.4167
    """
    value = ratio(_set_similarity(tables) - 1, _most_groups(tables) - 1, tables, maximum=1.0)
    return at_least(value, 0.0)


@share(range=SIGNED, swapped="nca_swapped", source="gagolewski2025", on_host=True)
def nca(tables: ContingencyTables) -> Tensor:
    """Normalized clustering accuracy: mean recall of matched classes, scaled so that recalls by chance give 0.

        NCA = (max sum_i n_is(i) / r_i - 1) / (R - 1)

    The largest sum is over the one-to-one matchings s of classes and clusters; a class without a cluster counts 0.

    Range: -1 to 1, higher is better; not below 0 for at most as many clusters as classes.
    Degenerate: for one class, 1 for one cluster, else 0; nan without items.
    Example: 0.6667
    """
    check_tables(tables)
    recall = largest_matching(tables, lambda cell: cell.recall)
    return ratio(recall - 1, tables.n_classes.double() - 1, tables, maximum=1.0)


@share(range=SIGNED, swapped="nca", source="gagolewski2025", on_host=True)
def nca_swapped(tables: ContingencyTables) -> Tensor:
    """Normalized clustering accuracy with classes and clusters exchanged: mean precision of matched clusters.

        (max sum_j n_s(j)j / c_j - 1) / (C - 1)

    Range: -1 to 1, higher is better; not below 0 for at most as many classes as clusters.
    Degenerate: for one cluster, 1 for one class, else 0; nan without items.
    Example: 0.7500
    """
    check_tables(tables)
    precision = largest_matching(tables, lambda cell: cell.n / cell.c_nonzero)
    return ratio(precision - 1, tables.n_clusters.double() - 1, tables, maximum=1.0)


@share(symmetric=True, source="gagolewski2025", on_host=True)
def npa(tables: ContingencyTables) -> Tensor:
    """Normalized pivoted accuracy: items of the best matching, scaled so that equal cells give 0.

        NPA = (max(R, C) s / N - 1) / (max(R, C) - 1)

    s is the number of items of the best one-to-one matching (``one_to_one_accuracy`` is s / N).

    Degenerate: 1 for one class in one cluster (0/0); nan without items.
    Example: 0.6667
    """
    groups = _most_groups(tables)
    matched = matched_items(tables)
    return ratio(groups * matched - tables._n_items_f64, (groups - 1) * tables._n_items_f64, tables, maximum=1.0)


@distance(range=FROM_ZERO, swapped="cluster_projection_distance", source="vandongen2000", combines="sum")
def class_projection_distance(tables: ContingencyTables) -> Tensor:
    """Items outside the largest cluster of their class, ``N - sum_i max_j n_ij``.

    With ``cluster_projection_distance`` it adds up to van Dongen's distance (``van_dongen``), split-join in igraph.
    It is 0 where each class is in one cluster.

    Range: 0 to N, lower is better.
    Example: 1.
    """
    return _outside(tables, majority_of_classes(tables)).double().masked_fill(tables.empty, torch.nan)


@distance(range=FROM_ZERO, swapped="class_projection_distance", source="vandongen2000", combines="sum")
def cluster_projection_distance(tables: ContingencyTables) -> Tensor:
    """Items outside the largest class of their cluster, ``N - sum_j max_i n_ij``.

    The counterpart of ``class_projection_distance``; it is 0 where each cluster is in one class.

    Range: 0 to N, lower is better.
    Example: 1.
    """
    return _outside(tables, majority_of_clusters(tables)).double().masked_fill(tables.empty, torch.nan)


@measure("matching", range=FROM_ZERO, source="vandongen2000", combines="sum")
def projection_number(tables: ContingencyTables) -> Tensor:
    """Items in the largest cluster of their class, ``sum_i max_j n_ij``: N times the inverse purity.

    Range: 0 to N, higher is better.
    Example: 5.
    """
    return majority_of_classes(tables).double().masked_fill(tables.empty, torch.nan)
