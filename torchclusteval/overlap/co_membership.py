"""How many groups pairs of items share on each side: the co-membership products, block by block.

For a block of patterns the numbers of groups shared with each pattern of the batch member are counted, and only their
histogram is kept. Counts are integers, so results depend neither on the blocks nor on the way of counting. There are
two ways. Where groups are small beside the batch member, the patterns that share a group are listed and counted by
scattering. Large groups are multiplied as a dense matrix instead, and the pairs in small groups are scattered on top.
The numbers of shared classes ``s`` and clusters ``t`` are one code, ``s * (largest number of clusters + 1) + t``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.overlap.comparison import Comparison, GroupIncidence, Patterns
from torchclusteval.overlap.ragged import add_at, blocks, ranges, starts_of, sum_by_key

DENSE_PAIR_COST = 0.2  # time of a pair in the dense way, as a share of the time of a listed pair
DENSE_MEMBER_COST = 16_000  # time that the dense way takes besides for a batch member, in listed pairs
_LARGE_GROUP_DIVISOR = 16  # a group is large with more than this part of the patterns of its batch member
MAX_HISTOGRAM_BINS = 4096  # codes of a row beyond which its histogram is made by sorting, not by scattering


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """The sums over all pairs of items that the measures need."""

    precision: Tensor  # (patterns,) float64; nan without a cluster
    recall: Tensor  # (patterns,) float64; nan without a class
    pairs_by_shared_classes: Tensor  # (members, max_groups + 1) int64: pairs of two items
    pairs_by_shared_clusters: Tensor  # (members, max_groups + 1) int64
    pairs_sharing_equally: Tensor  # (members, max_groups + 1) int64: pairs that share as many clusters as classes
    differences: Tensor  # (members, max_groups + 1) int64: by the larger number shared, the sum of larger less smaller


@dataclass(frozen=True, eq=False)
class CoMembershipBlock:
    """How many items share how many groups with each of the patterns ``low .. high - 1``; all int64.

    Items that share no group at all may be missing.
    """

    low: int
    high: int
    row: Tensor  # (entries,): pattern, counted from low
    shared_classes: Tensor  # (entries,)
    shared_clusters: Tensor  # (entries,)
    item_counts: Tensor  # (entries,)


@cached_on_tables
def pair_statistics(comparison: Comparison) -> PairStatistics:
    """Item values of extended BCubed and the numbers of pairs by shared groups.

    Members that are partitions on both sides are excluded from the pass over pairs: their item values follow from
    group sizes, and their numbers of pairs are meaningless.
    """
    patterns = comparison.patterns
    max_groups = max(patterns.true.max_groups, patterns.pred.max_groups)
    precision, recall = _partition_values(comparison)
    histograms = torch.zeros(5, comparison.n_members, max_groups + 1, dtype=torch.int64, device=comparison.device)
    for block in _blocks(comparison):
        rows = slice(block.low, block.high)
        precision[rows] = _row_values(block, block.shared_clusters, max_groups)
        recall[rows] = _row_values(block, block.shared_classes, max_groups)
        row_histograms = _row_histograms(block, max_groups) * patterns.item_counts[rows, None]
        histograms.index_add_(1, patterns.member[rows], row_histograms)
    by_shared_classes, by_shared_clusters, sharing_equally, differences = _pairs_of_two(comparison, histograms)
    return PairStatistics(
        precision=precision,
        recall=recall,
        pairs_by_shared_classes=by_shared_classes,
        pairs_by_shared_clusters=by_shared_clusters,
        pairs_sharing_equally=sharing_equally,
        differences=differences,
    )


def _partition_values(comparison: Comparison) -> tuple[Tensor, Tensor]:
    """Precision and recall of the patterns of members that are partitions on both sides; nan elsewhere."""
    patterns = comparison.patterns
    cells = comparison.both_partitions[patterns.member].nonzero().squeeze(-1)
    missing = torch.full_like(patterns.item_counts, torch.nan, dtype=torch.float64)
    item_counts = patterns.item_counts[cells].double()
    precision, recall = (
        missing.index_copy(0, cells, item_counts / side.group_sizes[side.groups[side.starts[cells]]])
        for side in (patterns.pred, patterns.true)
    )
    return precision, recall


def _row_values(block: CoMembershipBlock, shared: Tensor, max_groups: int) -> Tensor:
    """Mean of ``min(classes, clusters) / shared`` over the items that share any, ``(rows,)``; nan where none does."""
    rows, width = block.high - block.low, max_groups + 1
    sharing = torch.where(shared > 0, block.item_counts, 0)
    # integers up to here, so that neither the order of the items nor the blocks matter
    common = sharing * torch.minimum(block.shared_classes, block.shared_clusters)
    sums = add_at(block.row * width + shared, common, rows * width).view(rows, width)
    shares = sums[:, 1:].double() / torch.arange(1, width, device=sums.device)
    return sum_reproducible(shares) / add_at(block.row, sharing, rows)


def _row_histograms(block: CoMembershipBlock, max_groups: int) -> Tensor:
    """Five histograms per row, ``(5, rows, max_groups + 1)`` int64.

    They are the number of items by shared classes, by shared clusters, by both where equal, (column 0 only) the number
    of items that share any group, and the sum of the differences of the two by the larger one. The first three leave
    out items that share none.
    """
    rows, width = block.high - block.low, max_groups + 1
    n_shared, weights = _five_levels(block.shared_classes, block.shared_clusters)
    row = torch.arange(5, device=n_shared.device)[:, None] * rows + block.row
    counts = add_at((row * width + n_shared).flatten(), (weights * block.item_counts).flatten(), 5 * rows * width)
    return counts.view(5, rows, width)


def _five_levels(classes: Tensor, clusters: Tensor) -> tuple[Tensor, Tensor]:
    """Column of each entry in the five histograms, ``(5, entries)``, and how much an item counts there."""
    any_shared, larger = (classes > 0) | (clusters > 0), torch.maximum(classes, clusters)
    columns = torch.stack([classes, clusters, classes, torch.zeros_like(classes), larger])
    counted = torch.stack([classes > 0, clusters > 0, (classes == clusters) & any_shared, any_shared])
    return columns, torch.cat([counted.long(), (larger - torch.minimum(classes, clusters))[None]])


def _pairs_of_two(comparison: Comparison, histograms: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """From ordered pairs, each item with itself too, to unordered pairs of two items, with those that share nothing."""
    patterns, width = comparison.patterns, histograms.shape[2]
    columns, weights = _five_levels(patterns.true.lengths, patterns.pred.lengths)
    row = torch.arange(5, device=columns.device)[:, None] * comparison.n_members + patterns.member
    self_counts = (weights * patterns.item_counts).flatten()
    self_pairs = add_at((row * width + columns).flatten(), self_counts, histograms.numel()).view_as(histograms)
    by_classes, by_clusters, equally, sharing, differences = (histograms - self_pairs) // 2
    by_classes[:, 0] = comparison.n_item_pairs - by_classes.sum(-1)
    by_clusters[:, 0] = comparison.n_item_pairs - by_clusters.sum(-1)
    equally[:, 0] = comparison.n_item_pairs - sharing[:, 0]
    return by_classes, by_clusters, equally, differences


def _blocks(comparison: Comparison) -> Iterator[CoMembershipBlock]:
    patterns = comparison.patterns
    counts = torch.bincount(patterns.member, minlength=comparison.n_members)
    ends = counts.cumsum(0).tolist()
    ways = _choose_ways(comparison, counts)
    low = 0
    for end, way, next_way in zip(ends, ways, [*ways[1:], None], strict=True):
        if way == next_way and way != "dense":  # neighbours that are listed share blocks
            continue
        if way == "listed":
            yield from _listed_blocks(comparison, low, end)
        elif way == "dense":
            yield from _dense_blocks(comparison, low, end)
        low = end


def _choose_ways(comparison: Comparison, counts: Tensor) -> list[str]:
    """The cheaper way for each batch member, or "skip" for partitions."""
    pairs = torch.zeros(comparison.n_members, dtype=torch.float64, device=counts.device)
    for side in (comparison.patterns.true, comparison.patterns.pred):
        lengths = torch.where(_is_large(side, counts), side.group_lengths, 0)
        pairs = pairs.index_add(0, side.group_member, lengths.double() ** 2)
    dense = (pairs > DENSE_PAIR_COST * counts.double() ** 2 + DENSE_MEMBER_COST).tolist()
    skipped = comparison.both_partitions.tolist()
    return ["skip" if skip else "dense" if cheap else "listed" for skip, cheap in zip(skipped, dense, strict=True)]


def _is_large(side: GroupIncidence, counts: Tensor) -> Tensor:
    """Whether a group is cheaper as a column of a dense matrix than as a list, ``(groups,)`` bool."""
    return side.group_lengths * _LARGE_GROUP_DIVISOR > counts[side.group_member]


def _code_shape(patterns: Patterns) -> tuple[int, int]:
    """How many numbers of shared classes, and of shared clusters, a pair can have."""
    return patterns.true.max_groups + 1, patterns.pred.max_groups + 1


def _max_rows(comparison: Comparison, width: int) -> int:
    """Rows of a block: so many that neither its pairs nor its histogram exceed the chunk size."""
    shape = _code_shape(comparison.patterns)
    return comparison.chunk_size // max(width, *shape, min(shape[0] * shape[1], MAX_HISTOGRAM_BINS))


def _all_single(comparison: Comparison) -> bool:
    """Whether each pattern is that of one item."""
    return comparison.patterns.item_counts.shape[0] == comparison.n_members * comparison.n_items


def _histogram(keys: Tensor, item_counts: Tensor | None, bins: int) -> Tensor:
    """Sum item counts (None: 1 for each key) by key, ``(bins,)``."""
    if item_counts is None:
        item_counts = torch.ones(1, dtype=torch.int64, device=keys.device).expand(keys.shape)
    return torch.zeros(bins, dtype=torch.int64, device=keys.device).scatter_add_(0, keys, item_counts)


def _sparse_histogram(keys: Tensor, item_counts: Tensor | None) -> tuple[Tensor, Tensor]:
    """The non-empty bins and their sums, for more bins than fit."""
    return sum_by_key(keys, torch.ones_like(keys) if item_counts is None else item_counts)


def _block(low: int, high: int, bins: Tensor, item_counts: Tensor, shape: tuple[int, int]) -> CoMembershipBlock:
    """A block from bins ``row * codes + code``."""
    row, code = bins // (shape[0] * shape[1]), bins % (shape[0] * shape[1])
    return CoMembershipBlock(
        low=low,
        high=high,
        row=row,
        shared_classes=code // shape[1],
        shared_clusters=code % shape[1],
        item_counts=item_counts,
    )


def _listed_blocks(comparison: Comparison, low: int, end: int) -> Iterator[CoMembershipBlock]:
    patterns, shape = comparison.patterns, _code_shape(comparison.patterns)
    codes, single = shape[0] * shape[1], _all_single(comparison)
    counts = torch.bincount(patterns.member, minlength=comparison.n_members)
    width = int(counts[patterns.member[low:end]].max())
    costs = _row_costs(patterns.true, low, end) + _row_costs(patterns.pred, low, end)
    # the buffer is read at few places only, so it may be larger than the lists
    cuts = list(blocks(costs, comparison.chunk_size, _max_rows(comparison, -(-width // 32))))
    rows_at_once = max(stop - start for start, stop in cuts)
    # each cell starts at the first code of its row, so that the value read from it is a bin of the histogram
    first_codes = torch.arange(rows_at_once, device=comparison.device)[:, None] * codes
    buffer = first_codes.repeat(1, width).flatten()
    steps = [torch.tensor([step], device=comparison.device) for step in (shape[1], 1)]
    for start, stop in cuts:
        rows = torch.arange(low + start, low + stop, device=comparison.device)
        bases = (rows - rows[0]) * width - starts_of(counts)[patterns.member[rows]]
        lists = [_co_members(side, rows) for side in (patterns.true, patterns.pred)]
        places = [listed.expand_rows(bases).add_(listed.pattern) for listed in lists]
        for place, step in zip(places, steps, strict=True):
            buffer.scatter_add_(0, place, step.expand(place.shape))
        keys = [buffer.index_select(0, place) for place in places]
        if buffer.shape[0] < 8 * sum(place.shape[0] for place in places):
            buffer.view(-1, width).copy_(first_codes)
        else:
            for place, step in zip(places, steps, strict=True):
                buffer.scatter_add_(0, place, (-step).expand(place.shape))
        item_counts = [None if single else patterns.item_counts.index_select(0, listed.pattern) for listed in lists]
        yield _block(low + start, low + stop, *_combine_lists(keys, item_counts, stop - start, shape), shape)


def _combine_lists(
    keys: list[Tensor], item_counts: list[Tensor | None], rows: int, shape: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Non-empty bins and their item counts, from the lists by shared classes and by shared clusters.

    A pair is listed once for each group that it shares: it counts by its clusters if it shares any, else by its
    classes, and the sums are divided by the number of times.
    """
    codes = shape[0] * shape[1]
    if codes > MAX_HISTOGRAM_BINS:
        by_class, by_cluster = (_sparse_histogram(key, count) for key, count in zip(keys, item_counts, strict=True))
        no_cluster = by_class[0] % shape[1] == 0
        bins = torch.cat([by_class[0][no_cluster], by_cluster[0]])
        times = torch.where(bins % shape[1] > 0, bins % shape[1], bins % codes // shape[1])
        return bins, torch.cat([by_class[1][no_cluster], by_cluster[1]]) // times
    by_class_bins, by_cluster_bins = (
        _histogram(key, count, rows * codes).view(rows, codes) for key, count in zip(keys, item_counts, strict=True)
    )
    code = torch.arange(codes, device=keys[0].device)
    classes, clusters = code // shape[1], code % shape[1]
    times = torch.where(clusters > 0, clusters, classes).clamp(min=1)
    sums = (torch.where(clusters > 0, by_cluster_bins, by_class_bins) // times).flatten()
    bins = sums.nonzero().squeeze(-1)
    return bins, sums[bins]


def _row_costs(side: GroupIncidence, low: int, end: int) -> Tensor:
    """Number of patterns that are listed for each pattern in ``low .. end - 1``."""
    row, at = ranges(side.starts[low:end], side.lengths[low:end])
    return add_at(row, side.group_lengths[side.groups[at]], end - low)


@dataclass(frozen=True, eq=False)
class CoMembers:
    """Every pattern that shares a group with each of some rows, once for each such group; all int64."""

    row: Tensor  # (entries,): the row of each (row, group)
    entry: Tensor  # (listed,): the (row, group) by which a pattern is listed
    pattern: Tensor  # (listed,): the pattern

    def expand_rows(self, values: Tensor) -> Tensor:
        """For each listed pattern the value of its row."""
        return values[self.row].index_select(0, self.entry)


def _co_members(side: GroupIncidence, rows: Tensor, chosen: Tensor | None = None) -> CoMembers:
    """The patterns that share a group with each row, by all groups or the chosen ones."""
    row, at = ranges(side.starts[rows], side.lengths[rows])
    groups = side.groups[at]
    if chosen is not None:
        row, groups = row[chosen[groups]], groups[chosen[groups]]
    entry, at = ranges(side.group_starts[groups], side.group_lengths[groups])
    return CoMembers(row=row, entry=entry, pattern=side.patterns.index_select(0, at))


def _dense_blocks(comparison: Comparison, low: int, end: int) -> Iterator[CoMembershipBlock]:
    patterns, width, shape = comparison.patterns, end - low, _code_shape(comparison.patterns)
    codes, single = shape[0] * shape[1], _all_single(comparison)
    dtype = torch.float32 if codes < 2**24 else torch.float64  # codes stay exact
    counts = torch.bincount(patterns.member, minlength=comparison.n_members)
    large = [_is_large(side, counts) for side in (patterns.true, patterns.pred)]
    true = _indicators(patterns.true, large[0], low, end, dtype)
    pred = _indicators(patterns.pred, large[1], low, end, dtype)
    left, right = torch.cat([true * shape[1], pred], 1), torch.cat([true, pred], 1).T.contiguous()
    # a pair takes about a fifth of the memory of a listed one
    rows_at_once = max(1, _max_rows(comparison, -(-width // 4)))
    for start in range(0, width, rows_at_once):
        stop = min(start + rows_at_once, width)
        row = torch.arange(stop - start, device=comparison.device)
        keys = (left[start:stop] @ right).long().add_((row * codes)[:, None]).flatten()
        for side, is_large, step in zip((patterns.true, patterns.pred), large, (shape[1], 1), strict=True):
            listed = _co_members(side, row + low + start, ~is_large)
            place = listed.expand_rows(row * width - low).add_(listed.pattern)
            keys.scatter_add_(0, place, torch.full_like(place, step))
        item_counts = None if single else patterns.item_counts[low:end].repeat(stop - start)
        if codes > MAX_HISTOGRAM_BINS:
            bins, sums = _sparse_histogram(keys, item_counts)
        else:
            histogram = _histogram(keys, item_counts, (stop - start) * codes)
            bins = histogram.nonzero().squeeze(-1)
            sums = histogram[bins]
        yield _block(low + start, low + stop, bins, sums, shape)


def _indicators(side: GroupIncidence, chosen: Tensor, low: int, end: int, dtype: torch.dtype) -> Tensor:
    """Indicators of the chosen groups, pattern by group."""
    row, at = ranges(side.starts[low:end], side.lengths[low:end])
    groups = side.groups[at]
    row, groups = row[chosen[groups]], groups[chosen[groups]]
    used, columns = torch.unique(groups, return_inverse=True)
    matrix = torch.zeros(end - low, used.shape[0], dtype=dtype, device=chosen.device)
    return matrix.index_put((row, columns), torch.ones_like(row, dtype=dtype))
