"""Purity and set F for overlapping groups: how well single groups match single groups."""

import torch
from torch import Tensor

from torchclusteval.common.threads import on_one_thread
from torchclusteval.overlap.bcubed import weighted_f
from torchclusteval.overlap.comparison import Comparison, compare
from torchclusteval.overlap.group_intersections import IntersectionRuns, class_runs, cluster_runs
from torchclusteval.overlap.memberships import Memberships


@on_one_thread
def overlap_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Purity of overlapping clusters, ``sum over clusters G of max over classes L of |G & L| / sum of |G|``.

    The denominator is the sum of group sizes, not the number of items: the paper does not say how it weighs, and this
    keeps the range and gives purity on partitions.

    Range: 0 to 1, higher is better; 0 only where no clustered item has a class.
    Degenerate: 1 where no item has a cluster, as for extended BCubed precision; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.

    >>> true = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
    >>> pred = tce.Memberships.from_lists([["x"], ["x"], ["y"]])
    >>> tce.overlap.overlap_purity(true, pred)
    tensor(1., dtype=torch.float64)
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, cluster_runs(comparison))


@on_one_thread
def overlap_inverse_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Inverse purity of overlapping groups, ``sum over classes L of max over clusters G of |G & L| / sum of |L|``.

    Range: 0 to 1, higher is better; 0 only where no item with a class has a cluster.
    Degenerate: 1 where no item has a class; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.

    >>> true = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
    >>> pred = tce.Memberships.from_lists([["x"], ["x"], ["y"]])
    >>> tce.overlap.overlap_inverse_purity(true, pred)
    tensor(0.7500, dtype=torch.float64)
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, class_runs(comparison))


@on_one_thread
def overlap_purity_f(
    true: Memberships, pred: Memberships, alpha: float = 0.5, *, chunk_size: int | None = None
) -> Tensor:
    """Weighted harmonic mean of overlapping purity and inverse purity, ``1 / (alpha / P + (1 - alpha) / R)``.

    Args:
        alpha: weight of purity, 0 to 1.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where one of the two is 0 and ``0 < alpha < 1``; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.

    >>> true = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
    >>> pred = tce.Memberships.from_lists([["x"], ["x"], ["y"]])
    >>> tce.overlap.overlap_purity_f(true, pred)
    tensor(0.8571, dtype=torch.float64)
    """
    purity = overlap_purity(true, pred, chunk_size=chunk_size)
    return weighted_f(purity, overlap_inverse_purity(true, pred, chunk_size=chunk_size), alpha)


@on_one_thread
def overlap_set_f(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Set F for overlapping groups, ``sum over classes L of |L| max over clusters G of 2 |G & L| / (|G| + |L|)``.

    The sum is divided by the sum of ``|L|``; on partitions this is ``clustering_f``.

    Range: 0 to 1, higher is better.
    Degenerate: where no item has a class, 1 if none has a cluster and 0 otherwise; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 4.1.

    >>> true = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
    >>> pred = tce.Memberships.from_lists([["x"], ["x"], ["y"]])
    >>> tce.overlap.overlap_set_f(true, pred)
    tensor(0.8333, dtype=torch.float64)
    """
    comparison = compare(true, pred, chunk_size)
    classes, clusters = comparison.patterns.true, comparison.patterns.pred
    sizes = classes.group_sizes
    best = torch.zeros_like(sizes, dtype=torch.float64)
    for run in class_runs(comparison):
        f = 2 * run.item_counts.double() / (sizes[run.group] + clusters.group_sizes[run.other_group])
        best.scatter_reduce_(0, run.group, f, "amax")
    weighted = comparison.sum_by_member(classes.group_member, best * sizes)
    total = comparison.sum_by_member(classes.group_member, sizes)
    no_clusters = comparison.sum_by_member(clusters.group_member, clusters.group_sizes) == 0
    return _item_share(comparison, weighted, total, no_clusters.double())


def _best_shares(comparison: Comparison, runs: IntersectionRuns) -> Tensor:
    """Share of the memberships of one side in the best group of the other side, ``(*batch,)``."""
    side = runs.side
    best = torch.zeros_like(side.group_sizes)
    for run in runs:
        best.scatter_reduce_(0, run.group, run.item_counts, "amax")
    matched = comparison.sum_by_member(side.group_member, best)
    total = comparison.sum_by_member(side.group_member, side.group_sizes)
    return _item_share(comparison, matched, total, torch.ones_like(total, dtype=torch.float64))


def _item_share(comparison: Comparison, part: Tensor, total: Tensor, if_empty: Tensor) -> Tensor:
    """``part / total``, ``if_empty`` where the total is 0, nan without items."""
    share = torch.where(total == 0, if_empty, part.double() / total.clamp(min=1))
    return comparison.nan_without_items(share)
