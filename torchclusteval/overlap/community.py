"""Measures of overlapping communities: the omega index and the two published forms of overlapping NMI."""

from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.overlap.bcubed import statistics_of, with_partitions
from torchclusteval.overlap.comparison import Comparison, Side, compare
from torchclusteval.overlap.group_intersections import GroupPairs, Runs, class_runs, cluster_runs
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import add_at, blocks, ranges, starts_of


def omega_observed(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Share of the pairs of items that share equally many groups on both sides (unadjusted omega index).

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better; equals ``rand`` on partitions.
    Degenerate: 1 for one item, which has no pairs; nan without items.
    Source: Collins and Dent (1988).
    """
    comparison = compare(true, pred, chunk_size)
    return with_partitions(comparison, measures.rand, lambda: _observed(comparison))


def omega_index(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Omega index: the share of pairs that share equally many groups on both sides, corrected for chance.

    With ``M`` pairs, of which ``a_j`` share ``j`` classes, ``b_j`` share ``j`` clusters and ``o_j`` both,

        omega = (sum o_j / M - sum a_j b_j / M^2) / (1 - sum a_j b_j / M^2).

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: at most 1, higher is better; 0 is the mean over all permutations of the items of one side. Equals
        ``adjusted_rand`` on partitions.
    Degenerate: 1 where all pairs share one and the same number of groups on both sides (0/0); nan without items.
    Precision: pairs are counted in whole numbers, and no difference of large sums is taken (see the code).
    Source: Collins and Dent (1988).
    """
    comparison = compare(true, pred, chunk_size)
    return with_partitions(comparison, measures.adjusted_rand, lambda: _adjusted(comparison))


def _observed(comparison: Comparison) -> Tensor:
    agreeing = statistics_of(comparison).agreeing.sum(-1).double()
    return _defined(comparison, agreeing / max(_n_pairs(comparison), 1), undefined=_n_pairs(comparison) == 0)


def _adjusted(comparison: Comparison) -> Tensor:
    statistics = statistics_of(comparison)
    pairs = _n_pairs(comparison)
    true, pred, both = statistics.true_levels, statistics.pred_levels, statistics.agreeing
    # level by level M o - a b = o (M - a - b + o) - (a - o)(b - o), and M^2 - sum a b = sum a (M - b)
    excess = both.double() * (pairs - true - pred + both) - (true - both).double() * (pred - both)
    most = (true.double() * (pairs - pred)).sum(-1)
    undefined = most == 0  # a sum of products of whole numbers, none negative: exactly 0
    return _defined(comparison, excess.sum(-1) / most.masked_fill(undefined, 1.0), undefined)


def _n_pairs(comparison: Comparison) -> int:
    return comparison.n_items * (comparison.n_items - 1) // 2


def _defined(comparison: Comparison, values: Tensor, undefined: Tensor | bool) -> Tensor:
    values = torch.where(torch.as_tensor(undefined, device=values.device), 1.0, values)
    return values if comparison.n_items else torch.full_like(values, torch.nan)


def overlapping_nmi_lfk(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Overlapping normalised mutual information of Lancichinetti, Fortunato and Kertesz.

    Every group is a yes/no variable over the items. ``H(X_k | Y)`` is the least ``H(X_k | Y_l)`` over the groups
    ``Y_l`` with ``h(P11) + h(P00) > h(P10) + h(P01)``, ``h(p) = -p log p``, and ``H(X_k)`` where there is none. Then

        1 - (mean over k of H(X_k | Y) / H(X_k) + mean over l of H(Y_l | X) / H(Y_l)) / 2.

    It does not equal the usual NMI on partitions.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of groups to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: the ratio of a group that holds every item (0/0) is 0 if the other side has such a group, else 1;
        1 where neither side has a group, 0 where one has none; nan without items.
    Source: Lancichinetti, Fortunato and Kertesz (2009), appendix B.
    """
    comparison = compare(true, pred, chunk_size)
    lost = [
        _mean_loss(comparison, side, *both)
        for side, both in zip((comparison.patterns.true, comparison.patterns.pred), _entropies(comparison), strict=True)
    ]
    return _or_empty(comparison, 1.0 - (lost[0] + lost[1]) / 2.0)


def overlapping_nmi_max(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Overlapping normalised mutual information of McDaid, Greene and Hurley, divided by the larger entropy.

    With ``H(X) = sum over k of H(X_k)`` and ``H(X | Y) = sum over k of H(X_k | Y)``, the terms as in
    :func:`overlapping_nmi_lfk`,

        (H(X) - H(X | Y) + H(Y) - H(Y | X)) / (2 max(H(X), H(Y))).

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of groups to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: 1 where no group on either side has an entropy and both sides have groups or neither has;
        0 where one side has no group; nan without items.
    Source: McDaid, Greene and Hurley (2011).
    """
    comparison = compare(true, pred, chunk_size)
    known, entropies = [], []
    sides = (comparison.patterns.true, comparison.patterns.pred)
    for side, (entropy, conditional) in zip(sides, _entropies(comparison), strict=True):
        entropies.append(comparison.by_member(side.group_owner, entropy))
        known.append(comparison.by_member(side.group_owner, entropy - conditional))
    larger = torch.maximum(entropies[0], entropies[1])
    undefined = larger == 0  # entropies of groups that hold everything are exactly 0
    value = (known[0] + known[1]) / (2.0 * larger.masked_fill(undefined, 1.0))
    return _or_empty(comparison, value.masked_fill(undefined, 1.0))


def _mean_loss(comparison: Comparison, side: Side, entropy: Tensor, conditional: Tensor) -> Tensor:
    """Mean over the groups of a side of what share of their entropy the other side leaves, ``(*batch,)``."""
    other = comparison.patterns.pred if side is comparison.patterns.true else comparison.patterns.true
    full = other.group_sizes == comparison.n_items
    matched = add_at(other.group_owner, full.long(), comparison.n_members)[side.group_owner] > 0
    undefined = side.group_sizes == comparison.n_items
    loss = torch.where(undefined, (~matched).double(), conditional / entropy.masked_fill(undefined, 1.0))
    groups = comparison.by_member(side.group_owner, torch.ones_like(side.group_owner))
    return comparison.by_member(side.group_owner, loss) / groups.clamp(min=1)


def _or_empty(comparison: Comparison, values: Tensor) -> Tensor:
    """The value where both sides have groups; 1 where neither has, 0 where one has none, nan without items."""
    empty = [
        comparison.by_member(side.group_owner, torch.ones_like(side.group_owner)) == 0
        for side in (comparison.patterns.true, comparison.patterns.pred)
    ]
    values = values.clamp(0.0, 1.0)  # rounding only
    values = values.masked_fill(empty[0] ^ empty[1], 0.0).masked_fill(empty[0] & empty[1], 1.0)
    return values if comparison.n_items else torch.full_like(values, torch.nan)


@cached_on_tables
def _entropies(comparison: Comparison) -> list[tuple[Tensor, Tensor]]:
    """For each side the entropy of its groups, alone and given the best group of the other side, ``(groups,)``."""
    return [_conditional(comparison, runs) for runs in (class_runs(comparison), cluster_runs(comparison))]


def _conditional(comparison: Comparison, runs: Runs) -> tuple[Tensor, Tensor]:
    n, sizes, other_sizes = comparison.n_items, runs.here.group_sizes, runs.there.group_sizes
    entropy = _h(sizes, n) + _h(n - sizes, n)
    best = entropy.clone()
    kinds = _kinds(comparison, runs.there)
    for run in runs:
        parts = (x.split(comparison.chunk_size) for x in (run.items, run.own, run.other))
        for items, own, other in zip(*parts, strict=True):
            best.scatter_reduce_(0, own, _given(items, sizes[own], other_sizes[other], n), "amin")
        rows = slice(run.low, run.high)
        best[rows] = torch.minimum(best[rows], _given_disjoint(comparison, runs.here, kinds, run))
    return entropy, best


@dataclass(frozen=True, eq=False)
class Kinds:
    """The groups of a side by size, for each member: a kind is the groups of one size; all int64."""

    of_group: Tensor  # (groups,)
    size: Tensor  # (kinds,)
    available: Tensor  # (kinds,): number of groups
    per_member: Tensor  # (members,): number of kinds, which follow one another
    starts: Tensor  # (members,)


def _kinds(comparison: Comparison, side: Side) -> Kinds:
    step = comparison.n_items + 1
    kinds, of_group = torch.unique(side.group_owner * step + side.group_sizes, return_inverse=True)
    available = torch.bincount(of_group, minlength=kinds.shape[0])
    per_member = torch.bincount(kinds // step, minlength=comparison.n_members)
    return Kinds(of_group, kinds % step, available, per_member, starts_of(per_member))


def _given_disjoint(comparison: Comparison, here: Side, kinds: Kinds, run: GroupPairs) -> Tensor:
    """Least entropy of the groups of a run given a group of the other side that shares no item, infinity without one.

    It depends on the two sizes alone, so only the different sizes of the other side are tried.

    Returns:
        ``(high - low,)`` float64.
    """
    owner, sizes = here.group_owner[run.low : run.high], here.group_sizes[run.low : run.high]
    width, first = kinds.per_member[owner], kinds.starts[owner]
    mine, kind = run.own - run.low, kinds.of_group[run.other]
    best = torch.full_like(sizes, torch.inf, dtype=torch.float64)
    cells = torch.searchsorted(mine, torch.arange(run.high - run.low + 1, device=mine.device))
    for low, high in blocks(width, comparison.chunk_size, comparison.chunk_size):
        part = slice(int(cells[low]), int(cells[high]))
        group, other = ranges(first[low:high], width[low:high])
        begin = starts_of(width[low:high]) - first[low:high]
        place = begin[mine[part] - low] + kind[part]
        met = add_at(place, torch.ones_like(place), group.shape[0])
        found = _given(torch.zeros_like(other), sizes[low + group], kinds.size[other], comparison.n_items)
        found = found.masked_fill(met >= kinds.available[other], torch.inf)
        best[low:high] = best[low:high].scatter_reduce(0, group, found, "amin")
    return best


def _given(common: Tensor, size: Tensor, other: Tensor, n: int) -> Tensor:
    """``H(X | Y)`` of two groups, infinity where ``Y`` says more about the complement of ``X`` than about ``X``."""
    only, only_other, neither = size - common, other - common, n - size - other + common
    agree, differ = _h(common, n) + _h(neither, n), _h(only, n) + _h(only_other, n)
    value = agree + differ - _h(other, n) - _h(n - other, n)
    # the same group leaves nothing; the sum may leave rounding
    value = value.clamp(min=0.0).masked_fill((only == 0) & (only_other == 0), 0.0)
    return value.masked_fill((agree <= differ) | (neither < 0), torch.inf)


def _h(count: Tensor, n: int) -> Tensor:
    """``-p log p`` of ``p = count / n``, in nats; 0 at 0."""
    share = count.clamp(min=0).double() / n
    return -torch.xlogy(share, share)
