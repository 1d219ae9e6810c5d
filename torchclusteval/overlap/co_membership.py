"""How many groups pairs of items share on each side: a sparse product of items by groups with its transpose.

The product is taken over patterns, block by block, on the host by SciPy. With ``m`` one more than the largest number of
clusters of an item, an entry is the code ``m * shared classes + shared clusters``, and only the histogram of the codes
of each pattern is kept. Groups of all items of a batch member stay out of the product, as every pair shares them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.overlap.comparison import Comparison
from torchclusteval.overlap.ragged import add_at, blocks, rows_of, sparse_rows, sum_by_key

_PAIRS_PER_CHUNK = 4  # pairs of a block, as a multiple of the chunk size


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
    """How many items share how many groups with each of the patterns ``low .. high - 1``; all int64."""

    low: int
    high: int
    row: Tensor  # (entries,): pattern, counted from low
    shared_classes: Tensor  # (entries,)
    shared_clusters: Tensor  # (entries,)
    item_counts: Tensor  # (entries,)


@cached_on_tables
def pair_statistics(comparison: Comparison) -> PairStatistics:
    """Item values of extended BCubed and the numbers of pairs by shared groups.

    Members that are partitions on both sides stay out of the product: their item values follow from group sizes, and
    their numbers of pairs are meaningless.
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
    """Mean of ``min(classes, clusters) / shared`` over the items that share any, ``(rows,)``; nan where none does."""
    rows = block.high - block.low
    sharing = torch.where(shared > 0, block.item_counts, 0)
    # integers up to here, so that neither the order of the items nor the blocks matter
    common = sharing * torch.minimum(block.shared_classes, block.shared_clusters)
    sums = add_at(block.row * width + shared, common, rows * width).view(rows, width)
    shares = sums[:, 1:].double() / torch.arange(1, width, device=sums.device)
    return sum_reproducible(shares) / add_at(block.row, sharing, rows)


def _histograms(member: Tensor, classes: Tensor, clusters: Tensor, counts: Tensor, shape: torch.Size) -> Tensor:
    """Pairs by shared classes, by shared clusters, by both where equal, and differences by the larger number."""
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
        # items that are not listed share only the groups of all items
        rest = comparison.n_items - np.bincount(keys // codes, counts, high - low).astype(np.int64)
        keys, counts = np.concatenate([keys, rows * codes]), np.concatenate([counts, rest])
        place, found = (torch.from_numpy(x).to(comparison.device) for x in (keys, counts))
        code = place % codes + base[low:high][place // codes]
        yield CoMembershipBlock(low, high, place // codes, code // step, code % step, found)
