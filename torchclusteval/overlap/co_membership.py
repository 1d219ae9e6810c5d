"""How many groups pairs of items share on each side: the co-membership products, block by block.

For a block of patterns the numbers of shared groups with all patterns of the batch member are counted, and only
their histogram is kept: whole numbers, so results depend neither on the blocks nor on the way of counting. Two ways
are used. Where groups are small beside the member, the patterns that share a group are listed and counted by
scattering. Where groups are large, those are multiplied as a dense matrix and the rest is scattered on top.
Numbers of shared classes ``s`` and clusters ``t`` are one code, ``s * (most clusters + 1) + t``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.overlap.comparison import Comparison, Patterns, Side
from torchclusteval.overlap.ragged import add_at, blocks, merge, ranges, starts_of

# nanoseconds, measured on one CPU thread: a listed pair, a pair of the dense product, one group in it, one member
LISTED, DENSE, DENSE_GROUP, DENSE_MEMBER = 30.0, 6.0, 0.05, 5e5
MOST_BINS = 4096  # codes of a row beyond which its histogram is made by sorting, not by scattering


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """What the measures need of all pairs of items."""

    precision: Tensor  # (patterns,) float64; nan without a cluster
    recall: Tensor  # (patterns,) float64; nan without a class
    true_levels: Tensor  # (members, most + 1) int64: pairs of two items by number of shared classes
    pred_levels: Tensor  # (members, most + 1) int64: by number of shared clusters
    agreeing: Tensor  # (members, most + 1) int64: pairs that share equally many on both sides, by that number


@dataclass(frozen=True, eq=False)
class Block:
    """Patterns ``low .. high - 1``: how many items share how many groups with each; all int64.

    Items that share no group at all may be missing.
    """

    low: int
    high: int
    row: Tensor  # (entries,): pattern, counted from low
    true: Tensor  # (entries,): number of shared classes
    pred: Tensor  # (entries,): number of shared clusters
    items: Tensor  # (entries,)


def pair_statistics(comparison: Comparison) -> PairStatistics:
    """Item values of extended BCubed and the numbers of pairs by shared groups.

    Members that are partitions on both sides are left out of the pass over pairs: their item values follow from
    group sizes, and their numbers of pairs are not to be used.
    """
    patterns = comparison.patterns
    most = max(patterns.true.most, patterns.pred.most)
    precision, recall = _partition_values(comparison)
    levels = torch.zeros(4, comparison.n_members, most + 1, dtype=torch.int64, device=comparison.device)
    for block in _blocks(comparison):
        rows = slice(block.low, block.high)
        precision[rows] = _row_values(block, block.pred, most)
        recall[rows] = _row_values(block, block.true, most)
        levels.index_add_(1, patterns.owner[rows], _row_levels(block, most) * patterns.items[rows, None])
    return PairStatistics(precision, recall, *_pairs_of_two(comparison, levels))


def _partition_values(comparison: Comparison) -> tuple[Tensor, Tensor]:
    """Precision and recall of the patterns of members that are partitions on both sides; nan elsewhere."""
    patterns = comparison.patterns
    cells = comparison.both_partitions[patterns.owner].nonzero().squeeze(-1)
    missing = torch.full_like(patterns.items, torch.nan, dtype=torch.float64)
    values = [
        missing.index_copy(0, cells, patterns.items[cells].double() / side.group_sizes[side.groups[side.starts[cells]]])
        for side in (patterns.pred, patterns.true)
    ]
    return values[0], values[1]


def _row_values(block: Block, shared: Tensor, most: int) -> Tensor:
    """Mean of ``min(true, pred) / shared`` over the items that share any, ``(rows,)``; nan where none does."""
    rows = block.high - block.low
    sharing = torch.where(shared > 0, block.items, 0)
    # whole numbers up to here, so that neither the order of the items nor the blocks matter
    hits = add_at(block.row * (most + 1) + shared, sharing * torch.minimum(block.true, block.pred), rows * (most + 1))
    shares = hits.view(rows, most + 1)[:, 1:].double() / torch.arange(1, most + 1, device=hits.device)
    return sum_reproducible(shares) / add_at(block.row, sharing, rows)


def _row_levels(block: Block, most: int) -> Tensor:
    """Items by shared classes, by shared clusters, by both where equal, and all that share any.

    Returns:
        ``(4, rows, most + 1)``. Those that share nothing are left out of the first three; the last has one column
        in use, the first.
    """
    rows, any_shared = block.high - block.low, (block.true > 0) | (block.pred > 0)
    level = torch.stack([block.true, block.pred, block.true, torch.zeros_like(block.true)])
    counted = torch.stack([block.true > 0, block.pred > 0, (block.true == block.pred) & any_shared, any_shared])
    table = torch.arange(4, device=level.device)[:, None] * rows
    places = (table + block.row) * (most + 1) + level
    counts = add_at(places.flatten(), (counted * block.items).flatten(), 4 * rows * (most + 1))
    return counts.view(4, rows, most + 1)


def _pairs_of_two(comparison: Comparison, levels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ordered pairs with every item beside itself -> unordered pairs of two items, those that share nothing too."""
    patterns, width = comparison.patterns, levels.shape[2]
    true, pred, items = patterns.true.lengths, patterns.pred.lengths, patterns.items
    any_shared = (true > 0) | (pred > 0)
    own = torch.stack(
        [
            add_at(patterns.owner * width + level, items * counted, levels[0].numel())
            for level, counted in (
                (true, true > 0),
                (pred, pred > 0),
                (true, (true == pred) & any_shared),
                (torch.zeros_like(true), any_shared),
            )
        ]
    )
    true_levels, pred_levels, agreeing, sharing = (levels - own.view_as(levels)) // 2
    pairs = comparison.n_items * (comparison.n_items - 1) // 2
    for counts, rest in (
        (true_levels, pairs - true_levels.sum(-1)),
        (pred_levels, pairs - pred_levels.sum(-1)),
        (agreeing, pairs - sharing[:, 0]),
    ):
        counts[:, 0] = rest
    return true_levels, pred_levels, agreeing


def _blocks(comparison: Comparison) -> Iterator[Block]:
    patterns = comparison.patterns
    counts = torch.bincount(patterns.owner, minlength=comparison.n_members)
    ends = counts.cumsum(0).tolist()
    plan = _plan(comparison, counts)
    low = 0
    for end, way, following in zip(ends, plan, [*plan[1:], None], strict=True):
        if way == following and way != "dense":  # neighbours that are listed share blocks
            continue
        if way == "listed":
            yield from _listed(comparison, low, end)
        elif way == "dense":
            yield from _dense(comparison, low, end)
        low = end


def _plan(comparison: Comparison, counts: Tensor) -> list[str]:
    """The cheaper way for each member, or "skip" for partitions."""
    listed = torch.zeros(comparison.n_members, dtype=torch.float64, device=counts.device)
    dense = DENSE_MEMBER + DENSE * counts.double() ** 2
    for side in (comparison.patterns.true, comparison.patterns.pred):
        cost = LISTED * side.group_lengths.double() ** 2
        heavy = _heavy(side, counts)
        as_dense = torch.where(heavy, DENSE_GROUP * counts[side.group_owner].double() ** 2, cost)
        listed = listed.index_add(0, side.group_owner, cost)
        dense = dense.index_add(0, side.group_owner, as_dense)
    skipped, cheaper = comparison.both_partitions.tolist(), (dense < listed).tolist()
    return ["skip" if skip else "dense" if cheap else "listed" for skip, cheap in zip(skipped, cheaper, strict=True)]


def _heavy(side: Side, counts: Tensor) -> Tensor:
    """Groups that are cheaper as a column of a dense matrix than as a list, ``(groups,)`` bool."""
    return side.group_lengths * 16 > counts[side.group_owner]


def _shape(patterns: Patterns) -> tuple[int, int]:
    """Numbers of shared classes and clusters that a pair can have."""
    return patterns.true.most + 1, patterns.pred.most + 1


def _most_rows(comparison: Comparison, width: int) -> int:
    """Rows of a block: so many that neither its pairs nor its histogram pass the chunk size."""
    shape = _shape(comparison.patterns)
    return comparison.chunk_size // max(width, *shape, min(shape[0] * shape[1], MOST_BINS))


def _bins(keys: Tensor, items: Tensor | None, count: int) -> Tensor:
    """Sum items (None: one for each key) by key, ``(count,)``."""
    if items is None:
        items = torch.ones(1, dtype=torch.int64, device=keys.device).expand(keys.shape)
    return torch.zeros(count, dtype=torch.int64, device=keys.device).scatter_add_(0, keys, items)


def _sorted_bins(keys: Tensor, items: Tensor | None) -> tuple[Tensor, Tensor]:
    """The same for more bins than it is worth to have: those in use, and their sums."""
    return merge([keys], [torch.ones_like(keys) if items is None else items])


def _block(low: int, high: int, bins: Tensor, items: Tensor, shape: tuple[int, int]) -> Block:
    """A block from bins ``row * codes + code``."""
    row, code = bins // (shape[0] * shape[1]), bins % (shape[0] * shape[1])
    return Block(low, high, row, code // shape[1], code % shape[1], items)


def _listed(comparison: Comparison, low: int, end: int) -> Iterator[Block]:
    patterns, shape = comparison.patterns, _shape(comparison.patterns)
    codes, single = shape[0] * shape[1], patterns.items.shape[0] == comparison.n_members * comparison.n_items
    counts = torch.bincount(patterns.owner, minlength=comparison.n_members)
    width = int(counts[patterns.owner[low:end]].max())
    costs = _row_costs(patterns.true, low, end) + _row_costs(patterns.pred, low, end)
    # the buffer is read here and there only, so it may be larger than what is listed
    cut = list(blocks(costs, comparison.chunk_size, _most_rows(comparison, -(-width // 32))))
    rows_at_once = max(stop - start for start, stop in cut)
    # each cell starts at the first code of its row, so that what is read from it is a bin of the histogram
    first_codes = torch.arange(rows_at_once, device=comparison.device)[:, None] * codes
    buffer = first_codes.repeat(1, width).flatten()
    steps = [torch.tensor([step], device=comparison.device) for step in (shape[1], 1)]
    for start, stop in cut:
        rows = torch.arange(low + start, low + stop, device=comparison.device)
        bases = (rows - rows[0]) * width - starts_of(counts)[patterns.owner[rows]]
        lists = [_sharing(side, rows) for side in (patterns.true, patterns.pred)]
        places = [shared.by_row(bases).add_(shared.other) for shared in lists]
        for place, step in zip(places, steps, strict=True):
            buffer.scatter_add_(0, place, step.expand(place.shape))
        keys = [buffer.index_select(0, place) for place in places]
        if buffer.shape[0] < 8 * sum(place.shape[0] for place in places):
            buffer.view(-1, width).copy_(first_codes)
        else:
            for place, step in zip(places, steps, strict=True):
                buffer.scatter_add_(0, place, (-step).expand(place.shape))
        weights = [None if single else patterns.items.index_select(0, shared.other) for shared in lists]
        yield _block(low + start, low + stop, *_from_lists(keys, weights, stop - start, shape), shape)


def _from_lists(
    keys: list[Tensor], items: list[Tensor | None], rows: int, shape: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Bins in use and their items, from the lists by shared classes and by shared clusters.

    A pair is listed once for each group that it shares: it counts by its clusters if it shares any, else by its
    classes, and the sums are divided by the number of times.
    """
    codes = shape[0] * shape[1]
    if codes > MOST_BINS:
        by_class, by_cluster = (_sorted_bins(key, weights) for key, weights in zip(keys, items, strict=True))
        only = by_class[0] % shape[1] == 0
        bins = torch.cat([by_class[0][only], by_cluster[0]])
        times = torch.where(bins % shape[1] > 0, bins % shape[1], bins % codes // shape[1])
        return bins, torch.cat([by_class[1][only], by_cluster[1]]) // times
    by_class_bins, by_cluster_bins = (
        _bins(key, weights, rows * codes).view(rows, codes) for key, weights in zip(keys, items, strict=True)
    )
    code = torch.arange(codes, device=keys[0].device)
    true, pred = code // shape[1], code % shape[1]
    sums = torch.where(pred > 0, by_cluster_bins, by_class_bins) // torch.where(pred > 0, pred, true).clamp(min=1)
    used = sums.flatten().nonzero().squeeze(-1)
    return used, sums.flatten()[used]


def _row_costs(side: Side, low: int, end: int) -> Tensor:
    """Number of patterns that are listed for each pattern in ``low .. end - 1``."""
    rows, at = ranges(side.starts[low:end], side.lengths[low:end])
    return add_at(rows, side.group_lengths[side.groups[at]], end - low)


@dataclass(frozen=True, eq=False)
class Sharing:
    """Every pattern that shares a group with each of some rows, once for each such group."""

    row: Tensor  # (entries,) int64: row of each of its groups
    entry: Tensor  # (listed,) int64: group of a row by which a pattern is listed
    other: Tensor  # (listed,) int64: the pattern

    def by_row(self, values: Tensor) -> Tensor:
        """What each row has, for each pattern that is listed with it."""
        return values[self.row].index_select(0, self.entry)


def _sharing(side: Side, rows: Tensor, kept: Tensor | None = None) -> Sharing:
    """The patterns that share a group with each row, by all groups or those kept."""
    row, at = ranges(side.starts[rows], side.lengths[rows])
    groups = side.groups[at]
    if kept is not None:
        chosen = kept[groups]
        row, groups = row[chosen], groups[chosen]
    entry, at = ranges(side.group_starts[groups], side.group_lengths[groups])
    return Sharing(row, entry, side.members.index_select(0, at))


def _dense(comparison: Comparison, low: int, end: int) -> Iterator[Block]:
    patterns, width, shape = comparison.patterns, end - low, _shape(comparison.patterns)
    codes, single = shape[0] * shape[1], patterns.items.shape[0] == comparison.n_members * comparison.n_items
    dtype = torch.float32 if codes < 2**24 else torch.float64  # codes stay exact
    counts = torch.bincount(patterns.owner, minlength=comparison.n_members)
    light = [~_heavy(side, counts) for side in (patterns.true, patterns.pred)]
    true = _heavy_matrix(patterns.true, light[0], low, end, dtype)
    pred = _heavy_matrix(patterns.pred, light[1], low, end, dtype)
    left, right = torch.cat([true * shape[1], pred], 1), torch.cat([true, pred], 1).T.contiguous()
    # a pair takes about a fifth of what a listed one does
    rows_at_once = max(1, _most_rows(comparison, -(-width // 4)))
    for start in range(0, width, rows_at_once):
        stop = min(start + rows_at_once, width)
        row = torch.arange(stop - start, device=comparison.device)
        keys = (left[start:stop] @ right).long().add_((row * codes)[:, None]).flatten()
        for side, kept, step in zip((patterns.true, patterns.pred), light, (shape[1], 1), strict=True):
            shared = _sharing(side, row + low + start, kept)
            place = shared.by_row(row * width - low).add_(shared.other)
            keys.scatter_add_(0, place, torch.full_like(place, step))
        items = None if single else patterns.items[low:end].repeat(stop - start)
        if codes > MOST_BINS:
            bins, sums = _sorted_bins(keys, items)
        else:
            table = _bins(keys, items, (stop - start) * codes)
            bins = table.nonzero().squeeze(-1)
            sums = table[bins]
        yield _block(low + start, low + stop, bins, sums, shape)


def _heavy_matrix(side: Side, light: Tensor, low: int, end: int, dtype: torch.dtype) -> Tensor:
    """Indicators of the large groups, pattern by group."""
    rows = torch.arange(low, end, device=light.device)
    row, at = ranges(side.starts[rows], side.lengths[rows])
    groups = side.groups[at]
    row, groups = row[~light[groups]], groups[~light[groups]]
    used, columns = torch.unique(groups, return_inverse=True)
    matrix = torch.zeros(end - low, used.shape[0], dtype=dtype, device=light.device)
    return matrix.index_put((row, columns), torch.ones_like(row, dtype=dtype))
