"""Purity and set F for overlapping groups: how well single groups match single groups."""

import torch
from torch import Tensor

from torchclusteval.overlap.bcubed import weighted_f
from torchclusteval.overlap.comparison import Comparison, compare
from torchclusteval.overlap.group_intersections import Runs, class_runs, cluster_runs
from torchclusteval.overlap.memberships import Memberships


def overlap_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Purity of overlapping clusters, ``sum over clusters G of max over classes L of |G & L| / sum of |G|``.

    Sums of group sizes, not the number of items, stand in the denominator: the paper does not say how it weighs,
    and this keeps the range and gives plain purity on partitions.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many (item, class, cluster) triples to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better; 0 only where no clustered item has a class.
    Degenerate: 1 where no item has a cluster, as for extended BCubed precision; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, cluster_runs(comparison))


def overlap_inverse_purity(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Inverse purity of overlapping groups, ``sum over classes L of max over clusters G of |G & L| / sum of |L|``.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many (item, class, cluster) triples to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better; 0 only where no item with a class has a cluster.
    Degenerate: 1 where no item has a class; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    comparison = compare(true, pred, chunk_size)
    return _best_shares(comparison, class_runs(comparison))


def overlap_purity_f(
    true: Memberships, pred: Memberships, alpha: float = 0.5, *, chunk_size: int | None = None
) -> Tensor:
    """Weighted harmonic mean of overlapping purity ``P`` and inverse purity ``R``.

    It is ``1 / (alpha / P + (1 - alpha) / R)``.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        alpha: weight of purity, 0 to 1.
        chunk_size: about how many (item, class, cluster) triples to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: 0 where one of the two is 0 and ``0 < alpha < 1``; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), sections 4.1 and 6.4.
    """
    purity = overlap_purity(true, pred, chunk_size=chunk_size)
    return weighted_f(purity, overlap_inverse_purity(true, pred, chunk_size=chunk_size), alpha)


def overlap_set_f(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Set F for overlapping groups, ``sum over classes L of |L| max over clusters G of 2 |G & L| / (|G| + |L|)``.

    The sum is divided by the sum of ``|L|``; on partitions this is ``clustering_f``.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many (item, class, cluster) triples to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: where no item has a class, 1 if none has a cluster and 0 otherwise; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 4.1.
    """
    comparison = compare(true, pred, chunk_size)
    sides = comparison.patterns
    sizes = sides.true.group_sizes
    best = torch.zeros_like(sizes, dtype=torch.float64)
    for run in class_runs(comparison):
        match = 2 * run.items.double() / (sizes[run.own] + sides.pred.group_sizes[run.other])
        best.scatter_reduce_(0, run.own, match, "amax")
    sums = comparison.by_member(sides.true.group_owner, best * sizes)
    whole = comparison.by_member(sides.true.group_owner, sizes)
    nothing = comparison.by_member(sides.pred.group_owner, sides.pred.group_sizes) == 0
    return _share(comparison, sums, whole, nothing.double())


def _best_shares(comparison: Comparison, runs: Runs) -> Tensor:
    side = runs.here
    best = torch.zeros_like(side.group_sizes)
    for run in runs:
        best.scatter_reduce_(0, run.own, run.items, "amax")
    sums = comparison.by_member(side.group_owner, best)
    whole = comparison.by_member(side.group_owner, side.group_sizes)
    return _share(comparison, sums, whole, torch.ones_like(whole, dtype=torch.float64))


def _share(comparison: Comparison, part: Tensor, whole: Tensor, vacuous: Tensor) -> Tensor:
    """``part / whole``, ``vacuous`` where the whole is 0, nan without items."""
    value = torch.where(whole == 0, vacuous, part.double() / whole.clamp(min=1))
    return value if comparison.n_items else torch.full_like(value, torch.nan)
