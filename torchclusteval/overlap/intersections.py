"""Shared groups of pairs of items, and shared items of pairs of groups: sparse products by SciPy on the host.

The matrix of patterns by groups times its transpose counts the groups that two items share, block by block. With ``m``
one more than the largest number of clusters of an item, an entry is the code ``m * shared classes + shared clusters``;
each pattern keeps only the histogram of its codes. Groups of all items, shared by every pair, stay out of the product.

Pairs of a class and a cluster with common items come in runs of bounded length. One item in thousands of groups on both
sides makes millions of such pairs, so nothing keeps them, except a single run: each measure goes over the runs again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.overlap.comparison import Comparison, GroupIncidence
from torchclusteval.overlap.ragged import add_at, blocks, rows_of, sparse_rows, sum_by_key

_PAIRS_PER_CHUNK = 4  # pairs of items in a block, or of groups in a run, for each unit of the chunk size


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Sums over all pairs of items, for the measures."""

    precision: Tensor  # (patterns,) float64; nan without a cluster
    recall: Tensor  # (patterns,) float64; nan without a class
    pairs_by_shared_classes: Tensor  # (members, max_groups + 1) int64: pairs of different items
    pairs_by_shared_clusters: Tensor  # (members, max_groups + 1) int64
    pairs_sharing_equally: Tensor  # (members, max_groups + 1) int64: pairs with equal numbers of shared groups
    differences: Tensor  # (members, max_groups + 1) int64: sum of larger less smaller number, by the larger number


@dataclass(frozen=True, eq=False)
class CoMembershipBlock:
    """Numbers of items by shared groups, for each of the patterns ``low .. high - 1``; all int64."""

    low: int
    high: int
    row: Tensor  # (entries,): pattern, counted from low
    shared_classes: Tensor  # (entries,)
    shared_clusters: Tensor  # (entries,)
    item_counts: Tensor  # (entries,)


@cached_on_tables
def pair_statistics(comparison: Comparison) -> PairStatistics:
    """Values of extended BCubed for each pattern, and numbers of pairs by shared groups.

    Members with two partitions stay out of the product: group sizes give their values; their pairs mean nothing.
    """
    patterns = comparison.patterns
    width = max(patterns.true.max_groups, patterns.pred.max_groups) + 1
    precision, recall = torch.empty(2, len(patterns.member), dtype=torch.float64, device=comparison.device)
    histograms = torch.zeros(4, comparison.n_members, width, dtype=torch.int64, device=comparison.device)
    for block in _blocks(comparison):
        rows = slice(block.low, block.high)
        precision[rows] = _row_values(block, block.shared_clusters, width)
        recall[rows] = _row_values(block, block.shared_classes, width)
        shared, counts = (block.shared_classes, block.shared_clusters), patterns.item_counts[rows][block.row]
        member = patterns.member[rows][block.row]
        histograms += _histograms(member, *shared, block.item_counts * counts, histograms.shape)
    cells, item_counts, (class_sizes, cluster_sizes) = comparison.partition_cells
    precision[cells], recall[cells] = item_counts / cluster_sizes, item_counts / class_sizes
    lengths = patterns.true.lengths, patterns.pred.lengths
    with_itself = _histograms(patterns.member, *lengths, patterns.item_counts, histograms.shape)
    return PairStatistics(precision, recall, *(histograms - with_itself) // 2)


def _row_values(block: CoMembershipBlock, shared: Tensor, width: int) -> Tensor:
    """Mean of ``min(classes, clusters) / shared`` over items with a shared group, ``(rows,)``; nan without any."""
    rows = block.high - block.low
    sharing = torch.where(shared > 0, block.item_counts, 0)
    # integers up to here, so neither the order of the items nor the blocks change a bit
    common = sharing * torch.minimum(block.shared_classes, block.shared_clusters)
    sums = add_at(block.row * width + shared, common, rows * width).view(rows, width)
    shares = sums[:, 1:].double() / torch.arange(1, width, device=sums.device)
    return sum_reproducible(shares) / add_at(block.row, sharing, rows)


def _histograms(member: Tensor, classes: Tensor, clusters: Tensor, counts: Tensor, shape: torch.Size) -> Tensor:
    """Pairs by shared classes, by shared clusters, by both if they are equal; differences by the larger number."""
    larger = torch.maximum(classes, clusters)
    columns = torch.stack([classes, clusters, classes, larger])
    weights = torch.stack([counts, counts, counts * (classes == clusters), counts * (2 * larger - classes - clusters)])
    place = (torch.arange(4, device=member.device)[:, None] * shape[1] + member) * shape[2] + columns
    return add_at(place.flatten(), weights.flatten(), shape.numel()).view(shape)


def _blocks(comparison: Comparison) -> Iterator[CoMembershipBlock]:
    patterns, step = comparison.patterns, comparison.patterns.pred.max_groups + 1
    codes, sides = (patterns.true.max_groups + 1) * step, (patterns.true, patterns.pred)
    n_patterns = torch.bincount(patterns.member, minlength=comparison.n_members)
    member, lengths = (torch.cat([getattr(x, y) for x in sides]) for y in ("group_member", "group_lengths"))
    weights = torch.cat([torch.full_like(patterns.true.group_sizes, step), torch.ones_like(patterns.pred.group_sizes)])
    of_all = lengths == n_patterns[member]
    base = add_at(member, weights * of_all, comparison.n_members)[patterns.member]
    row = torch.cat([torch.repeat_interleave(side.lengths) for side in sides])
    group = torch.cat([patterns.true.groups, patterns.pred.groups + len(patterns.true.group_sizes)])
    order = torch.argsort(row, stable=True)
    order = order[~(of_all | comparison.both_partitions[member])[group[order]]]
    row, group = row[order], group[order]
    left = sparse_rows(torch.bincount(row, minlength=len(base)), group, weights[group], len(weights))
    listed = torch.cat([side.patterns for side in sides])
    right = sparse_rows(lengths, listed, torch.ones_like(listed), len(base))
    all_counts, costs = patterns.item_counts.cpu().double().numpy(), add_at(row, lengths[group], len(base))
    for low, high in blocks(costs, _PAIRS_PER_CHUNK * comparison.chunk_size, comparison.chunk_size // min(codes, 4096)):
        product, rows = rows_of(left, low, high) @ right, np.arange(high - low)
        keys = np.repeat(rows * codes, np.diff(product.indptr)) + product.data
        keys, counts = sum_by_key(keys, all_counts[product.indices], (high - low) * codes)
        # all other items share only the groups with all items
        rest = comparison.n_items - np.bincount(keys // codes, counts, high - low).astype(np.int64)
        keys, counts = np.concatenate([keys, rows * codes]), np.concatenate([counts, rest])
        place, found = (torch.from_numpy(x).to(comparison.device) for x in (keys, counts))
        code = place % codes + base[low:high][place // codes]
        yield CoMembershipBlock(low, high, place // codes, code // step, code % step, found)


@dataclass(frozen=True, eq=False)
class GroupIntersections:
    """Pairs with common items: groups ``low .. high - 1`` of one side, and groups of the other side."""

    low: int
    high: int
    group: Tensor  # (pairs,) int64: group number, ascending
    other_group: Tensor  # (pairs,) int64: group number on the other side
    item_counts: Tensor  # (pairs,) int64: number of shared items, at least 1


class BestMatches(NamedTuple):
    """The best match on the other side for each group of a side, by number of items and by F."""

    most: Tensor  # (groups,) int64: largest number of shared items
    f: Tensor  # (groups,) float64: largest F, 2 |A & B| / (|A| + |B|)


@dataclass(frozen=True, eq=False)
class IntersectionRuns:
    """The groups of one side, in runs with a bounded number of intersections."""

    side: GroupIncidence
    other_side: GroupIncidence
    item_counts: Tensor  # (patterns,) int64: number of items with each pattern
    n_members: int
    chunk_size: int
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def f(self, pairs: GroupIntersections) -> Tensor:
        """F of pairs of groups, ``(pairs,)``."""
        sizes = self.side.group_sizes[pairs.group] + self.other_side.group_sizes[pairs.other_group]
        return 2 * pairs.item_counts.double() / sizes

    @lazy_property
    def products(self) -> tuple[Any, Any]:
        """Matrices on the host: numbers of items, groups by patterns; ones, patterns by groups of the other side."""
        side, other, counts = self.side, self.other_side, self.item_counts
        left = sparse_rows(side.group_lengths, side.patterns, counts[side.patterns], len(counts))
        return left, sparse_rows(other.lengths, other.groups, torch.ones_like(other.groups), len(other.group_sizes))

    @lazy_property
    def cuts(self) -> list[tuple[int, int]]:
        """First group and end of each run."""
        lengths = self.side.group_lengths
        n_others = torch.bincount(self.other_side.group_member, minlength=self.n_members)
        triples = add_at(torch.repeat_interleave(lengths), self.other_side.lengths[self.side.patterns], len(lengths))
        max_pairs = torch.minimum(triples, n_others[self.side.group_member])
        return list(blocks(max_pairs, _PAIRS_PER_CHUNK * self.chunk_size, len(lengths)))

    @lazy_property
    def single_run(self) -> GroupIntersections:
        """The first run, kept if there is no other."""
        return self._count(*self.cuts[0])

    @lazy_property
    def best(self) -> BestMatches:
        sizes = self.side.group_sizes
        best = BestMatches(torch.zeros_like(sizes), torch.zeros_like(sizes, dtype=torch.float64))
        for run in self:
            best.most.scatter_reduce_(0, run.group, run.item_counts, "amax")
            best.f.scatter_reduce_(0, run.group, self.f(run), "amax")
        return best

    def __iter__(self) -> Iterator[GroupIntersections]:
        for low, high in self.cuts:
            yield self.single_run if len(self.cuts) == 1 else self._count(low, high)

    def _count(self, low: int, high: int) -> GroupIntersections:
        left, right = self.products
        product = rows_of(left, low, high) @ right
        product.sort_indices()
        group = np.repeat(np.arange(low, high), np.diff(product.indptr))
        columns = (torch.from_numpy(x).to(self.item_counts.device) for x in (group, product.indices, product.data))
        return GroupIntersections(low, high, *(column.long() for column in columns))


@cached_on_tables
def class_runs(comparison: Comparison) -> IntersectionRuns:
    patterns = comparison.patterns
    counts, sizes = patterns.item_counts, (comparison.n_members, comparison.chunk_size)
    return IntersectionRuns(patterns.true, patterns.pred, counts, *sizes)


@cached_on_tables
def cluster_runs(comparison: Comparison) -> IntersectionRuns:
    classes = class_runs(comparison)
    return replace(classes, side=classes.other_side, other_side=classes.side)
