"""Measures of overlapping communities: omega indexes, overlapping NMI, and measures of numbers and sizes of groups."""

import torch
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.measures.record import FROM_ZERO, SIGNED, TO_ONE
from torchclusteval.overlap.comparison import Comparison, GroupIncidence, compare, measure
from torchclusteval.overlap.intersections import (
    GroupIntersections,
    IntersectionRuns,
    class_runs,
    cluster_runs,
    pair_statistics,
)
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import add_at, blocks, ranges, starts_of
from torchclusteval.tables import ContingencyTables

__all__ = ["fuzzy_omega", "omega_index", "omega_observed", "overlap_quality", "overlapping_nmi_lfk"]
__all__ += ["overlapping_nmi_max", "partition_closeness_simple"]


@measure("collins1988", symmetric=True, example="0.6667")
def omega_observed(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Share of pairs of items with equal numbers of shared groups on both sides (unadjusted omega index).

    Range: 0 to 1, higher is better; equals ``rand`` on partitions.
    Degenerate: 1 for one item, which has no pairs; nan without items.
    """
    return compare(true, pred, chunk_size).values_of(_observed, on_partitions=measures.rand)


@measure("collins1988", symmetric=True, range=SIGNED, chance_corrected=True, example="0.4000")
def omega_index(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Omega index: share of pairs with equal numbers of shared groups on both sides, corrected for chance.

    Of ``M`` pairs, ``a_j`` share ``j`` classes, ``b_j`` share ``j`` clusters and ``o_j`` share ``j`` of both:

        omega = (sum o_j / M - sum a_j b_j / M^2) / (1 - sum a_j b_j / M^2).

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of the items of one side. Equals
        ``adjusted_rand`` on partitions.
    Degenerate: 1 where all pairs share the same number of groups on both sides (0/0); nan without items.
    Precision: integer counts of pairs, and no difference of large sums (see the code).
    """
    return compare(true, pred, chunk_size).values_of(_adjusted, on_partitions=measures.adjusted_rand)


def _observed(comparison: Comparison) -> Tensor:
    equal = pair_statistics(comparison).pairs_sharing_equally.sum(-1).double()
    observed = equal / comparison.n_item_pairs if comparison.n_item_pairs else torch.ones_like(equal)
    return comparison.nan_without_items(observed)


def _adjusted(comparison: Comparison) -> Tensor:
    statistics, n_pairs = pair_statistics(comparison), comparison.n_item_pairs
    true, pred = statistics.pairs_by_shared_classes, statistics.pairs_by_shared_clusters
    both = statistics.pairs_sharing_equally
    # for each j: M o - a b = o (M - a - b + o) - (a - o)(b - o), and M^2 - sum a b = sum a (M - b)
    excess = both.double() * (n_pairs - true - pred + both) - (true - both).double() * (pred - both)
    largest_excess = (true.double() * (n_pairs - pred)).sum(-1)
    undefined = largest_excess == 0  # an exact test: the sum has non-negative integer terms
    omega = (excess.sum(-1) / largest_excess.masked_fill(undefined, 1.0)).masked_fill(undefined, 1.0)
    return comparison.nan_without_items(omega)


@measure("lutov2019", symmetric=True, range=TO_ONE, chance_corrected=True, example="0.4000")
def fuzzy_omega(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Fuzzy omega index: a pair of items with ``j`` common classes and ``k`` common clusters agrees by ``min / max``.

    The omega index counts 1 for ``j = k`` and 0 otherwise; here a pair counts ``min(j, k) / max(j, k)``, or 1 without a
    common group on either side. The index is the mean agreement ``A`` of the pairs, corrected for chance:

        (A - E) / (1 - E), E the mean of A over all permutations of the items of one side.

    Range: at most 1, higher is better; 0 is the mean over all permutations. Equals ``adjusted_rand`` on partitions.
    Degenerate: 1 where all pairs share the same number of groups on both sides (0/0); nan without items.
    Precision: integer sums by the larger of the two numbers of groups, before any division.
    Source: no known paper or library has exactly this formula of a fuzzy omega index; other values under that name are
        other measures. The agreement follows the soft omega index of Lutov, Khayati and Cudre-Mauroux (2019), the
        correction for chance Collins and Dent (1988). Checks of the values use this definition alone.
    """
    return compare(true, pred, chunk_size).values_of(_fuzzy_adjusted, on_partitions=measures.adjusted_rand)


def _fuzzy_adjusted(comparison: Comparison) -> Tensor:
    statistics = pair_statistics(comparison)
    true, pred = statistics.pairs_by_shared_classes.double(), statistics.pairs_by_shared_clusters.double()
    levels = torch.arange(true.shape[-1], dtype=torch.float64, device=true.device)
    divisors = levels.clamp(min=1)
    # 1 - A and 1 - E are sums without a negative term: |j - k| / max(j, k) over pairs, and over all (j, k)
    disagreement = (statistics.differences / divisors).sum(-1)
    expected = torch.zeros_like(disagreement)
    for one, other in ((true, pred), (pred, true)):
        fewer = other.cumsum(-1) - other
        groups_fewer = (other * levels).cumsum(-1) - other * levels
        expected = expected + (one * (fewer - groups_fewer / divisors).masked_fill(levels == 0, 0.0)).sum(-1)
    undefined = expected == 0
    ratio = disagreement * comparison.n_item_pairs / expected.masked_fill(undefined, 1.0)
    return comparison.nan_without_items((1 - ratio).masked_fill(undefined, 1.0))


@measure("ahn2010", symmetric=True, range=FROM_ZERO, perfect=None, example="0.")
def overlap_quality(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Mutual information, in nats, of the number of classes and the number of clusters of an item.

    It compares numbers of groups, not the groups: do items with many classes have many clusters? With ``n_ab`` items
    of ``a`` classes and ``b`` clusters, ``n_a`` items of ``a`` classes and ``m_b`` items of ``b`` clusters,

        sum over a, b of (n_ab / n) log(n n_ab / (n_a m_b)).

    Range: 0 to the smaller of the two entropies, higher is better.
    Degenerate: 0 where all items of a side have the same number of groups, as in partitions; nan without items.
    Source: Ahn, Bagrow and Lehmann (2010), "overlap quality" with the number of groups as the metadata.
    """
    comparison = compare(true, pred, chunk_size)
    sides = comparison.true, comparison.pred
    lengths = (x.lengths.view(x.n_members, comparison.n_items)[comparison.broadcast_members(x)] for x in sides)
    tables = ContingencyTables.from_labels(*lengths, item_dims=1, device=comparison.device)
    return comparison.nan_without_items(measures.mutual_information(tables).view(comparison.batch_shape))


@measure("dao2019", symmetric=True, range=(0.0, 0.5), example="0.2500")
def partition_closeness_simple(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Half of the overlap of the distributions of class sizes and of cluster sizes.

    With ``f(x)`` the share of classes with ``x`` items and ``g(x)`` the share of clusters with ``x`` items,

        1/2 * sum over sizes x of min(f(x), g(x)).

    Only sizes count: groups of other items with the same sizes give 1/2.

    Range: 0 to 1/2, higher is better.
    Degenerate: 1/2 where neither side has a group, 0 where one has none; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    step, sides = comparison.n_items + 1, (comparison.patterns.true, comparison.patterns.pred)
    of_group = [side.group_member * step + side.group_sizes for side in sides]
    keys, places = torch.unique(torch.cat(of_group), return_inverse=True)
    member = keys // step
    shares = []
    for side, place in zip(sides, places.split([len(x) for x in of_group]), strict=True):
        n_groups = add_at(side.group_member, torch.ones_like(side.group_member), comparison.n_members)
        shares.append(torch.bincount(place, minlength=len(keys)).double() / n_groups.clamp(min=1)[member])
    common = comparison.sum_by_member(member, torch.minimum(*shares)) / 2
    both_empty = comparison.sum_by_member(member, torch.ones_like(member)) == 0
    return comparison.nan_without_items(common.clamp(max=0.5).masked_fill(both_empty, 0.5))


@measure("lancichinetti2009", symmetric=True, example="0.6370")
def overlapping_nmi_lfk(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Overlapping normalised mutual information of Lancichinetti, Fortunato and Kertesz.

    Every group is a yes/no variable over the items. ``H(X_k | Y)`` is the least ``H(X_k | Y_l)`` over all groups
    ``Y_l`` with ``h(P11) + h(P00) > h(P10) + h(P01)``, ``h(p) = -p log p``, and ``H(X_k)`` without such a group. Then

        1 - (mean over k of H(X_k | Y) / H(X_k) + mean over l of H(Y_l | X) / H(Y_l)) / 2.

    On partitions it differs from the usual NMI.

    Degenerate: the ratio of a group of all items (0/0) is 0 if the other side has such a group, else 1;
        1 where neither side has a group, 0 where one has none; nan without items.
    Source: Lancichinetti, Fortunato and Kertesz (2009), appendix B.
    """
    comparison = compare(true, pred, chunk_size)
    patterns = comparison.patterns
    of_classes, of_clusters = _group_entropies(comparison)
    loss = _normalized_conditional_entropy(comparison, patterns.true, patterns.pred, of_classes)
    loss = loss + _normalized_conditional_entropy(comparison, patterns.pred, patterns.true, of_clusters)
    return comparison.fill_empty_sides((1.0 - loss / 2.0).clamp(0.0, 1.0))  # against rounding


@measure("mcdaid2011", symmetric=True, example="0.6370")
def overlapping_nmi_max(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Overlapping normalised mutual information of McDaid, Greene and Hurley, divided by the larger entropy.

    With ``H(X) = sum over k of H(X_k)`` and ``H(X | Y) = sum over k of H(X_k | Y)``, the terms as in
    :func:`overlapping_nmi_lfk`,

        (H(X) - H(X | Y) + H(Y) - H(Y | X)) / (2 max(H(X), H(Y))).

    Degenerate: 1 where all groups of both sides hold all items, and where neither side has a group; 0 where one side
        has none; nan without items.
    """
    comparison = compare(true, pred, chunk_size)
    sides = (comparison.patterns.true, comparison.patterns.pred)
    entropies, informations = [], []
    for side, (entropy, given_other) in zip(sides, _group_entropies(comparison), strict=True):
        entropies.append(comparison.sum_by_member(side.group_member, entropy))
        informations.append(comparison.sum_by_member(side.group_member, entropy - given_other))
    larger = torch.maximum(entropies[0], entropies[1])
    undefined = larger == 0  # an exact test: groups of all items have entropy 0.0
    value = (informations[0] + informations[1]) / (2.0 * larger.masked_fill(undefined, 1.0))
    value = value.masked_fill(undefined, 1.0).clamp(0.0, 1.0)  # against rounding
    return comparison.fill_empty_sides(value)


Entropies = tuple[Tensor, Tensor]  # (groups,) each: of a group as a yes/no variable; given the best other group


def _normalized_conditional_entropy(
    comparison: Comparison, side: GroupIncidence, other_side: GroupIncidence, of_groups: Entropies
) -> Tensor:
    """Mean of ``H(X_k | Y) / H(X_k)`` over the groups of a side, ``(*batch,)``."""
    other_full = (other_side.group_sizes == comparison.n_items).long()
    other_has_full = add_at(other_side.group_member, other_full, comparison.n_members)[side.group_member] > 0
    undefined = side.group_sizes == comparison.n_items
    ratios = of_groups[1] / of_groups[0].masked_fill(undefined, 1.0)
    return comparison.mean_over_groups(side, torch.where(undefined, (~other_has_full).double(), ratios))


@cached_on_tables
def _group_entropies(comparison: Comparison) -> tuple[Entropies, Entropies]:
    return _side_entropies(comparison, class_runs(comparison)), _side_entropies(comparison, cluster_runs(comparison))


def _side_entropies(comparison: Comparison, runs: IntersectionRuns) -> Entropies:
    n, sizes, other_sizes = comparison.n_items, runs.side.group_sizes, runs.other_side.group_sizes
    entropy = _entropy_term(sizes, n) + _entropy_term(n - sizes, n)
    least = entropy.clone()
    for run in runs:
        parts = (x.split(comparison.chunk_size) for x in (run.item_counts, run.group, run.other_group))
        for common, group, other in zip(*parts, strict=True):
            conditional = _conditional_entropy(common, sizes[group], other_sizes[other], n)
            least.scatter_reduce_(0, group, conditional, "amin")
        rows = slice(run.low, run.high)
        least[rows] = torch.minimum(least[rows], _least_given_disjoint(comparison, runs, run))
    return entropy, least


def _least_given_disjoint(comparison: Comparison, runs: IntersectionRuns, run: GroupIntersections) -> Tensor:
    """Least conditional entropy of each group of a run, given a group of the other side without common items.

    Only the two sizes matter, so each size on the other side is tried once. Infinity without such a group.
    """
    step, other = comparison.n_items + 1, runs.other_side
    distinct, size_class = torch.unique(other.group_member * step + other.group_sizes, return_inverse=True)
    n_groups, lengths = torch.bincount(size_class), torch.bincount(distinct // step, minlength=comparison.n_members)
    member, sizes = (x[run.low : run.high] for x in (runs.side.group_member, runs.side.group_sizes))
    width, first = lengths[member], starts_of(lengths)[member]
    row, met_class = run.group - run.low, size_class[run.other_group]
    least = torch.full_like(sizes, torch.inf, dtype=torch.float64)
    row_ends = torch.searchsorted(row, torch.arange(run.high - run.low + 1, device=row.device))
    for low, high in blocks(width, comparison.chunk_size, comparison.chunk_size):
        part = slice(int(row_ends[low]), int(row_ends[high]))
        group, tried = ranges(first[low:high], width[low:high])
        offset = starts_of(width[low:high]) - first[low:high]
        place = offset[row[part] - low] + met_class[part]
        n_met = add_at(place, torch.ones_like(place), group.shape[0])
        none, other_sizes = torch.zeros_like(tried), distinct[tried] % step
        conditional = _conditional_entropy(none, sizes[low + group], other_sizes, comparison.n_items)
        conditional = conditional.masked_fill(n_met >= n_groups[tried], torch.inf)
        least[low:high] = least[low:high].scatter_reduce(0, group, conditional, "amin")
    return least


def _conditional_entropy(common: Tensor, size: Tensor, other: Tensor, n: int) -> Tensor:
    """``H(X | Y)`` of two groups, infinity where ``Y`` says more about the complement of ``X`` than about ``X``.

    Of ``n`` items, ``size`` are in ``X``, ``other`` in ``Y`` and ``common`` in both.
    """
    only, only_other, neither = size - common, other - common, n - size - other + common
    agree = _entropy_term(common, n) + _entropy_term(neither, n)
    differ = _entropy_term(only, n) + _entropy_term(only_other, n)
    value = agree + differ - _entropy_term(other, n) - _entropy_term(n - other, n)
    # equal groups: exactly 0, in place of a rounding error
    value = value.clamp(min=0.0).masked_fill((only == 0) & (only_other == 0), 0.0)
    return value.masked_fill((agree <= differ) | (neither < 0), torch.inf)


def _entropy_term(count: Tensor, n: int) -> Tensor:
    """``-p log p`` of ``p = count / n``, in nats; 0 at 0."""
    p = count.clamp(min=0).double() / n
    return -torch.xlogy(p, p)
