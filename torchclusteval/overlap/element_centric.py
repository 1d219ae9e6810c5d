"""Element-centric similarity of covers and hierarchies: personalised PageRank of the items, without an N x N matrix.

A walk goes from an item to one of its groups, by the weights of the groups, and on to any item of that group. With
``a = alpha``, the first step ``U`` (items by groups) and the second ``V`` (groups by items), item ``i`` has PageRank

    p_i = (1 - a) e_i (I - a U V)^-1 = (1 - a) e_i + (1 - a) a u_i (I - a V U)^-1 V,

so one inverse of groups by groups is enough, and ``p_i`` has equal values at items with the same groups. A group of a
single pattern of items, such as a cluster of one item, stays out of the inverse: it holds the walk in place and only
changes how often the walk leaves. No walk leads from one connected part to another, so each part is solved alone. The
rest is the distance of both ``p_i``, for each pattern a sum over all patterns, block by block.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.checks import check_number
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread, pieces, share
from torchclusteval.labels.inputs import as_numbers
from torchclusteval.labels.shapes import in_order_of
from torchclusteval.overlap.comparison import Comparison, GroupIncidence, Patterns, compare, measure
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import add_at, blocks, ranges, sparse_rows, starts_of

__all__ = ["overlap_element_centric", "overlap_element_centric_per_item"]

_PART_PATTERNS = 512  # parts with fewer patterns are solved together
_BLOCK_PATTERNS = 384  # columns of a block
_BLOCK_GROUP_PAIRS = 2**20
_BLOCK_CELLS, _MAX_BLOCK_ROWS, _MIN_BLOCK_ROWS = 2**19, 512, 64  # cells are groups times rows
_MIXERS = (-7046029254386353131, -4658895280553007687)  # odd; integers wrap


@measure("gates2019", symmetric=True)
def overlap_element_centric(
    true: Memberships,
    pred: Memberships,
    alpha: float = 0.9,
    *,
    true_weights: Any = None,
    pred_weights: Any = None,
    chunk_size: int | None = None,
) -> Tensor:
    """Element-centric similarity of covers and hierarchies, the mean over the items of

        S_i = 1 - sum over items j of |p_ij - q_ij| / (2 alpha),

    where ``p_i`` and ``q_i`` are the personalised PageRanks of item ``i`` on both sides: the distribution over the
    items of a random walk. With probability ``alpha`` the walk goes from an item to one of its groups and on to an item
    of that group; otherwise it starts again at ``i``. An item without a group is a group of its own on that side.

    Args:
        alpha: probability of going on, above 0 and below 1.
        true_weights: weight of each class, above 0, when a walk chooses among the classes of an item; by default all
            are equal. A mapping of the labels of all classes to weights, or ``(K,)`` in the order of
            ``true.group_labels``: the order of first occurrence, sorted for ``from_labels``.
            :func:`hierarchy_weights` makes weights for the levels of a hierarchy.
        pred_weights: likewise for ``pred``.
        chunk_size: without effect here: each thread holds at most 200,000 pairs of patterns.

    Range: 0 to 1, higher is better; equals ``element_centric_similarity`` on partitions, for every ``alpha``.
    Degenerate: 1 where no item has a group on either side; nan without items.
    Cost: for each part of the items that groups connect, the time grows with the square of the number of patterns (sets
        of groups on both sides) and the cube of the number of groups with several patterns, the memory with its square.
    Source: Gates, Wood, Hetrick and Ahn (2019); ``element_sim`` of clusim and ``ecs`` of CDlib for covers.

    Examples:
        >>> true = Memberships.from_lists([[0], [0], [0, 1], [1], [2], [2]])
        >>> pred = Memberships.from_lists([[0, 2], [0], [0, 1], [1], [2], [1, 2]])
        >>> round(float(overlap_element_centric(true, pred)), 6)
        0.573897
    """
    comparison = compare(true, pred, chunk_size)
    walk, similarity = _walk(comparison, alpha, true_weights, pred_weights), measures.element_centric_similarity
    return comparison.values_of(lambda x: x.mean_over_items(_pattern_values(x, walk)), on_partitions=similarity)


@on_one_thread
def overlap_element_centric_per_item(
    true: Memberships,
    pred: Memberships,
    alpha: float = 0.9,
    *,
    true_weights: Any = None,
    pred_weights: Any = None,
    chunk_size: int | None = None,
) -> Tensor:
    """Element-centric similarity of each item; arguments as in :func:`overlap_element_centric`.

    Items are in the order of ``true``; after them come named items of ``pred`` alone.

    Returns:
        ``(*batch, N)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for an item with no group on either side; for an item without a group on one side,
        ``1 / size of its group`` on the other side, if that is a partition.
    Source: Gates, Wood, Hetrick and Ahn (2019).

    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> tce.overlap.overlap_element_centric_per_item(true, pred)
    tensor([0.7955, 0.7500, 0.2955], dtype=torch.float64)
    """
    comparison = compare(true, pred, chunk_size)
    return comparison.by_item(_pattern_values(comparison, _walk(comparison, alpha, true_weights, pred_weights)))


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a part: its patterns, and its groups of several patterns, numbered in the part; on the host."""

    n_groups: int
    row: Tensor  # (entries,) int64: pattern
    group: Tensor  # (entries,) int64: one of its groups
    step: Tensor  # (entries,) float64: probability of the step to that group / probability of leaving the pattern
    leave: Tensor  # (patterns,) float64: 1 - probability of going on into a group of that pattern alone
    return_rate: Tensor  # (groups, groups) float64: (1 - a) a (I - a V U)^-1, columns divided by the size of the group
    alone: Tensor  # (patterns,) float64: 1 where the items have no group, else 0
    offsets: Tensor  # (patterns + 1,) int64: first entry of each pattern

    def arrivals(self, start: int, stop: int) -> Tensor:
        """Share of each group in the PageRank of its items, for walks of the patterns, ``(groups, patterns)``."""
        return _rows(self.group, self.offsets[start : stop + 1], self.step, self.n_groups)(self.return_rate).T


Walk = tuple[float, tuple[Tensor, Tensor]]  # (alpha, weights of the groups of both sides)


def _walk(comparison: Comparison, alpha: float, true_weights: Any, pred_weights: Any) -> Walk:
    check_number(alpha, "alpha", 0, 1, exclusive=True)
    if alpha == 1:
        raise ValueError("alpha: expected a number below 1; got 1")
    weights = []
    for name, given, side in (
        ("true_weights", true_weights, comparison.true),
        ("pred_weights", pred_weights, comparison.pred),
    ):
        labels = range(side.n_groups) if side.group_labels is None else side.group_labels
        given = in_order_of(labels, given, name, f"a weight for each of the {len(labels)} groups")
        values = torch.ones(side.n_groups) if given is None else as_numbers(given, name)
        if values.shape != (side.n_groups,) or not bool((values.isfinite() & (values > 0)).all()):
            expected = f"shape ({side.n_groups},), numbers above 0"
            raise ValueError(f"{name}: expected {expected}; got {brief(given)}")
        weights.append(values.to(side.device).double())
    return alpha, (weights[0], weights[1])


def _pattern_values(comparison: Comparison, walk: Walk) -> Tensor:
    """The similarity of each pattern, ``(patterns,)`` float64."""
    patterns = comparison.patterns
    values = torch.ones_like(patterns.item_counts, dtype=torch.float64)
    cells, item_counts, sizes = comparison.partition_cells
    values[cells] = item_counts / torch.maximum(*sizes)
    keys = _first_items(comparison) % max(comparison.n_items, 1)
    keys = (keys * _MIXERS[0]) ^ (keys >> 7) * _MIXERS[1]
    for rows in _parts(comparison):
        values[rows] = _part_values(patterns, walk, rows, keys[rows]).to(values.device)
    return values


def _parts(comparison: Comparison) -> Sequence[Tensor]:
    """Patterns in parts without common groups, small parts joined; members with two partitions are left out."""
    patterns = comparison.patterns
    rank = torch.argsort(torch.argsort(_first_items(comparison)))  # by items: the numbers of groups change no bit
    root = _connected(patterns, rank)
    order = torch.argsort(root * max(len(rank), 1) + rank)
    order = order[~comparison.both_partitions[patterns.member[order]]]
    _, sizes = torch.unique_consecutive(root[order], return_counts=True)
    lengths, last = list[int](), -1
    for member, size in zip(patterns.member[order[starts_of(sizes)]].tolist(), sizes.tolist(), strict=True):
        if member == last and lengths[-1] + size <= _PART_PATTERNS:
            lengths[-1] += size
        else:
            lengths.append(size)
        last = member
    return order.split(lengths)


def _first_items(comparison: Comparison) -> Tensor:
    """Position in the batch of the first item of each pattern, ``(patterns,)`` int64."""
    pattern_of_item = comparison.patterns.pattern_of_item
    items = torch.arange(len(pattern_of_item), device=comparison.device)
    last = torch.full_like(comparison.patterns.member, len(items))
    return last.scatter_reduce(0, pattern_of_item, items, "amin")


def _connected(patterns: Patterns, rank: Tensor) -> Tensor:
    """The lowest rank among all patterns that groups of either side connect with a pattern, ``(patterns,)`` int64."""
    from scipy.sparse.csgraph import connected_components

    n, sides = len(rank), (patterns.true, patterns.pred)
    row = torch.cat([torch.repeat_interleave(side.lengths) for side in sides])
    group = torch.cat([patterns.true.groups, patterns.pred.groups + len(patterns.true.group_sizes)])[row.argsort()]
    nodes = n + sum(len(side.group_sizes) for side in sides)
    lengths = torch.nn.functional.pad(sides[0].lengths + sides[1].lengths, (0, nodes - n))
    graph = sparse_rows(lengths, group + n, torch.ones_like(group), nodes)
    label = torch.from_numpy(connected_components(graph, directed=False)[1][:n]).to(rank.device).long()
    return torch.full_like(rank, n).scatter_reduce(0, label, rank, "amin")[label]


def _part_values(patterns: Patterns, walk: Walk, rows: Tensor, keys: Tensor) -> Tensor:
    """The similarity of the patterns of a part."""
    counts, a = patterns.item_counts[rows].double(), walk[0]
    sides = zip((patterns.true, patterns.pred), walk[1], strict=True)
    true, pred = (_side(side, weight, a, rows, counts, keys) for side, weight in sides)
    counts = counts.cpu()
    # only the part decides the grid, so that threads and chunk sizes change no bit
    height = min(max(_BLOCK_CELLS // max(true.n_groups + pred.n_groups, 1), _MIN_BLOCK_ROWS), _MAX_BLOCK_ROWS)
    grid = pieces(range(len(rows)), height)
    total, itself = (torch.zeros_like(counts) for _ in range(2))
    with warnings.catch_warnings():  # torch warns once a process that sparse tensors are new
        warnings.simplefilter("ignore")
        found = share(partial(_distances, true, pred, _targets(true, pred), counts), grid)
    for block, of_all, own in itertools.chain.from_iterable(found):
        total[block.start : block.stop], itself[block.start : block.stop] = of_all, own
    # at an item's own pattern, walks that stay there and items that are alone add to the distance
    stays = [(1 - a) * (1 / side.leave - 1) / counts for side in (true, pred)]
    there = itself + stays[0] - stays[1]
    own = a * (true.alone - pred.alone)
    total = total - counts * itself.abs() + (counts - 1) * there.abs() + (there + own).abs()
    return (1 - total / (2 * a)).clamp(0.0, 1.0)  # against rounding


Targets = list[tuple[range, Callable[[Tensor], Tensor]]]


def _targets(true: Side, pred: Side) -> Targets:
    """Blocks of patterns, and what all groups, ``pred`` after ``true``, bring there, times ``true.leave``."""
    group = torch.cat([true.group, pred.group + true.n_groups])
    # a group of both sides adds and subtracts the same number in turn, as both sides have one order; equal sides have
    # factors of 1, which no fused multiplication rounds
    order = torch.argsort(torch.cat([true.row * 2**31 + true.group, pred.row * 2**31 + pred.group]), stable=True)
    factors = torch.cat([torch.ones_like(true.step), (true.leave / pred.leave)[pred.row]])[order]
    offsets, group, targets = true.offsets + pred.offsets, group[order], []
    for block in pieces(range(len(true.leave)), _BLOCK_PATTERNS):
        of_block = offsets[block.start : block.stop + 1]
        targets.append((block, _rows(group, of_block, factors, true.n_groups + pred.n_groups)))
    return targets


def _rows(index: Tensor, offsets: Tensor, factors: Tensor, width: int) -> Callable[[Tensor], Tensor]:
    """A function that sums rows of a table, times factors, from each offset to the next."""
    entries, shape = slice(int(offsets[0]), int(offsets[-1])), (len(offsets) - 1, width)
    parts = offsets - offsets[0], index[entries], factors[entries]
    return partial(torch.sparse.mm, torch.sparse_csr_tensor(*parts, shape, check_invariants=False), reduce="sum")


def _distances(
    true: Side, pred: Side, targets: Targets, counts: Tensor, grid: Iterable[range]
) -> list[tuple[range, Tensor, Tensor]]:
    """For each block: the distance of the arrivals by groups, summed over all patterns, and at the pattern itself."""
    found, table, weights = [], torch.empty(0), counts / true.leave
    for block in grid:
        shape = true.n_groups + pred.n_groups, len(block)
        table = table if table.shape == shape else true.leave.new_empty(shape)
        table[: true.n_groups] = true.arrivals(block.start, block.stop)
        torch.neg(pred.arrivals(block.start, block.stop), out=table[true.n_groups :])
        total, itself = (table.new_zeros(len(block)) for _ in range(2))
        for columns, brought_to in targets:
            brought = brought_to(table)
            first, last = max(columns.start, block.start), min(columns.stop, block.stop)
            if first < last:
                own = brought[first - columns.start : last - columns.start].diagonal(first - block.start)
                itself[first - block.start : last - block.start] = own
            total += weights[columns.start : columns.stop] @ brought.abs_()
        found.append((block, total, itself * (1 / true.leave[block.start : block.stop])))
    return found


def _side(side: GroupIncidence, weights: Tensor, a: float, rows: Tensor, counts: Tensor, keys: Tensor) -> Side:
    row, at = ranges(side.starts[rows], side.lengths[rows])
    groups, local = torch.unique(side.groups[at], return_inverse=True)
    step = weights[side.group_codes[groups]][local]
    step = step / add_at(row, step, len(rows))[row]
    n_patterns = torch.bincount(local, minlength=len(groups))
    several = n_patterns[local] > 1
    leave = 1 - a * add_at(row[~several], step[~several], len(rows))
    row, local, step = row[several], local[several], step[several]
    # patterns alone decide the order of groups, so that equal sides have equal bits
    place = torch.argsort(torch.argsort(add_at(local, keys[row], len(groups)).masked_fill(n_patterns <= 1, 2**63 - 1)))
    local, n_groups = place[local], int((n_patterns > 1).sum())
    order = torch.argsort(row * 2**31 + local)
    row, local, step = row[order], local[order], step[order]
    sizes = torch.empty_like(side.group_sizes[groups]).scatter_(0, place, side.group_sizes[groups])[:n_groups].double()
    back = counts[row] / sizes[local] / leave[row]  # step from a group to a pattern, until the walk leaves it
    lengths = torch.bincount(row, minlength=len(rows))
    matrix, starts = torch.eye(n_groups, dtype=torch.float64, device=row.device).flatten(), starts_of(lengths)
    for low, high in blocks(lengths[row], _BLOCK_GROUP_PAIRS, len(row)):
        first, second = ranges(starts[row[low:high]], lengths[row[low:high]])
        first = first + low
        matrix.index_add_(0, local[first] * n_groups + local[second], back[first] * step[second], alpha=-a)
    inverse = torch.linalg.inv(matrix.view(n_groups, n_groups)) if n_groups else matrix.view(0, 0)
    alone, offsets = side.lengths[rows] == 0, torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    made = row, local, step / leave[row], leave, (1 - a) * a * inverse / sizes, alone.double(), offsets
    return Side(n_groups, *(x.cpu() for x in made))
