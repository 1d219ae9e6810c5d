"""Purity, F and matchings of overlapping groups: the agreement of single classes with single clusters."""

import torch
from torch import Tensor

from torchclusteval.measures.assignment import sparse_max_assignment
from torchclusteval.measures.one_sided import harmonic_mean
from torchclusteval.overlap.comparison import Comparison, compare, measure
from torchclusteval.overlap.intersections import GroupIntersections, IntersectionRuns, class_runs, cluster_runs
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import starts_of

__all__ = ["average_f1", "geometric_accuracy", "geometric_ppv", "maximum_matching_ratio", "nf1"]
__all__ += ["overlap_inverse_purity", "overlap_purity", "overlap_purity_f", "overlap_set_f"]


@measure("amigo2009", swapped="overlap_inverse_purity", example="1.")
def overlap_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Purity of overlapping clusters, ``sum over clusters G of max over classes L of |G & L| / sum of |G|``.

    The paper leaves the weights open. Divided by the sum of group sizes, in place of the number of items, the measure
    keeps its range and equals purity on partitions.

    Range: 0 to 1, higher is better; 0 only where no clustered item has a class.
    Degenerate: 1 where no item has a cluster, as for extended BCubed precision; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, cluster_runs(comparison))


@measure("amigo2009", swapped="overlap_purity", example="0.7500")
def overlap_inverse_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Inverse purity of overlapping groups, ``sum over classes L of max over clusters G of |G & L| / sum of |L|``.

    Range: 0 to 1, higher is better; 0 only where no item with a class has a cluster.
    Degenerate: 1 where no item has a class; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, class_runs(comparison))


@measure("amigo2009", symmetric=True, example="0.8571")
def overlap_purity_f(
    true: Memberships, pred: Memberships, alpha: float = 0.5, *, chunk_size: int | None = None
) -> Tensor:
    """Weighted harmonic mean of overlapping purity and inverse purity, ``1 / (alpha / P + (1 - alpha) / R)``.

    Args:
        alpha: weight of purity, 0 to 1.

    Degenerate: 0 where one of the two is 0 and ``0 < alpha < 1``; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    purity = overlap_purity(true, pred, chunk_size=chunk_size)
    return harmonic_mean(purity, overlap_inverse_purity(true, pred, chunk_size=chunk_size), alpha)


@measure("amigo2009", example="0.8333")
def overlap_set_f(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Set F for overlapping groups, ``sum over classes L of |L| max over clusters G of 2 |G & L| / (|G| + |L|)``.

    The sum is divided by the sum of ``|L|``; on partitions this is ``clustering_f``.

    Degenerate: where no item has a class, 1 if none has a cluster and 0 otherwise; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 4.1.
    """
    comparison = compare(true, pred, chunk_size)
    classes, clusters = comparison.patterns.true, comparison.patterns.pred
    weighted = comparison.sum_by_member(classes.group_member, class_runs(comparison).best.f * classes.group_sizes)
    total = comparison.sum_by_member(classes.group_member, classes.group_sizes)
    return _item_share(comparison, weighted, total, (comparison.n_groups(clusters) == 0).double())


@measure("yang2013", symmetric=True, example="0.8333")
def average_f1(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Mean of the best F of the classes and of the clusters, with equal weights for all groups of a side.

    With ``F(L, G) = 2 |L & G| / (|L| + |G|)``,

        (mean over classes L of max over G of F + mean over clusters G of max over L of F) / 2.

    Degenerate: 1 where neither side has a group, 0 where one has none; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    means = [comparison.mean_over_groups(x.side, x.best.f) for x in (class_runs(comparison), cluster_runs(comparison))]
    return comparison.fill_empty_sides((means[0] + means[1]) / 2)


@measure("rossetti2016", example="0.8333")
def nf1(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Normalised F1: mean F of the clusters with their classes, times coverage, divided by redundancy.

    The class of a cluster is the one with most of its items; of several such classes, the one with the largest F. With
    ``M`` the number of different classes found so, ``R`` and ``C`` the numbers of groups,

        mean over clusters of F(cluster, its class) * (M / R) / (C / M).

    Where clusters have several equally good classes, ``M`` is the largest number that a choice can reach, so no order
    changes the value. A cluster without an item of any class has F = 0.

    Degenerate: 1 where neither side has a group, 0 where one has none; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    runs = cluster_runs(comparison)
    best = _best_matches(runs)
    f = torch.zeros_like(runs.side.group_sizes, dtype=torch.float64)
    f[best.group] = runs.f(best)  # equal for all matches of a cluster
    matched = _matched(comparison, runs, best, torch.ones_like(best.item_counts)).double()
    n_clusters, n_classes = (comparison.n_groups(side).clamp(min=1) for side in (runs.side, runs.other_side))
    value = comparison.mean_over_groups(runs.side, f) * (matched / n_classes) * (matched / n_clusters)
    return comparison.fill_empty_sides(value)


@measure("nepusz2012", example="0.7500")
def maximum_matching_ratio(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Weight of the best one-to-one matching of classes and clusters, divided by the number of classes.

    The weight of a pair is ``|L & G|^2 / (|L| |G|)``.

    Range: 0 to 1, higher is better; clusters that match no class cost nothing.
    Degenerate: 1 where neither side has a group, 0 where one has none; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    runs = class_runs(comparison)
    pairs = _joined(runs, list(runs))
    sizes = runs.side.group_sizes[pairs.group].double() * runs.other_side.group_sizes[pairs.other_group]
    matched = _matched(comparison, runs, pairs, pairs.item_counts.double() ** 2 / sizes)
    return comparison.fill_empty_sides(matched / comparison.n_groups(runs.side).clamp(min=1))


@measure("brohee2006", perfect=None, example="0.7500")
def geometric_ppv(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Positive predictive value of clusters, ``sum over G of max over L of |G & L| / sum over G and L of |G & L|``.

    Range: 0 to 1, higher is better; identical sides with overlaps stay below 1, as common items are in several pairs.
    Degenerate: where no item has groups on both sides, 1 if no item has any group and 0 otherwise; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    runs, patterns = cluster_runs(comparison), comparison.patterns
    shared = patterns.item_counts * patterns.true.lengths * patterns.pred.lengths
    n_matched = comparison.sum_by_member(runs.side.group_member, runs.best.most)
    n_all = comparison.sum_by_member(patterns.member, shared)
    no_groups = (comparison.n_groups(runs.side) == 0) & (comparison.n_groups(runs.other_side) == 0)
    return _item_share(comparison, n_matched, n_all, no_groups.double())


@measure("brohee2006", perfect=None, example="0.7500")
def geometric_accuracy(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Geometric mean of sensitivity and positive predictive value of clusters.

    The sensitivity, ``sum over L of max over G of |L & G| / sum of |L|``, is :func:`overlap_inverse_purity`; the
    positive predictive value is :func:`geometric_ppv`.

    Degenerate: from the degenerate values of these two; nan without items.
    """
    sensitivity = overlap_inverse_purity(true, pred, chunk_size=chunk_size)
    return (sensitivity * geometric_ppv(true, pred, chunk_size=chunk_size)).sqrt()


def _best_matches(runs: IntersectionRuns) -> GroupIntersections:
    """For each group of a side its pairs with the most common items and, of these, the largest F."""
    parts = []
    for run in runs:  # one run has all pairs of a group
        run = _chosen(run, run.item_counts == runs.best.most[run.group])
        other_sizes = runs.other_side.group_sizes[run.other_group]
        least = torch.full_like(runs.best.most, 2**63 - 1).scatter_reduce(0, run.group, other_sizes, "amin")
        parts.append(_chosen(run, other_sizes == least[run.group]))
    return _joined(runs, parts)


def _chosen(run: GroupIntersections, which: Tensor) -> GroupIntersections:
    pairs = (x[which] for x in (run.group, run.other_group, run.item_counts))
    return GroupIntersections(run.low, run.high, *pairs)


def _joined(runs: IntersectionRuns, parts: list[GroupIntersections]) -> GroupIntersections:
    columns = [[runs.side.group_sizes[:0]] * 3, *([x.group, x.other_group, x.item_counts] for x in parts)]
    pairs = (torch.cat(column) for column in zip(*columns, strict=True))
    return GroupIntersections(0, len(runs.side.group_sizes), *pairs)


def _matched(comparison: Comparison, runs: IntersectionRuns, pairs: GroupIntersections, weights: Tensor) -> Tensor:
    """Weight of the best one-to-one matching of the groups of both sides, ``(*batch,)``."""
    n, per_member = comparison.n_members, [comparison.n_groups(x).flatten() for x in (runs.side, runs.other_side)]
    member = runs.side.group_member[pairs.group]
    row, column = pairs.group - starts_of(per_member[0])[member], pairs.other_group - starts_of(per_member[1])[member]
    return sparse_max_assignment(member, row, column, weights, n).view(comparison.batch_shape)


def _best_shares(comparison: Comparison, runs: IntersectionRuns) -> Tensor:
    """Share of the memberships of a side that lie in the best group of the other side, ``(*batch,)``."""
    side = runs.side
    matched = comparison.sum_by_member(side.group_member, runs.best.most)
    total = comparison.sum_by_member(side.group_member, side.group_sizes)
    return _item_share(comparison, matched, total, torch.ones_like(total, dtype=torch.float64))


def _item_share(comparison: Comparison, part: Tensor, total: Tensor, if_empty: Tensor) -> Tensor:
    """``part / total``, ``if_empty`` where the total is 0, nan without items."""
    return comparison.nan_without_items(torch.where(total == 0, if_empty, part.double() / total.clamp(min=1)))
