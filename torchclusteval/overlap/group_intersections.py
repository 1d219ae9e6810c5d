"""Intersections of classes and clusters: the pairs of groups that share items, in runs of bounded length.

One item in thousands of groups on both sides makes millions of such pairs, so they are not kept: each measure that
needs them goes over the runs again; a single run is cached.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.overlap.comparison import Comparison, GroupIncidence
from torchclusteval.overlap.ragged import add_at, blocks, rows_of, sparse_rows

_RUN_PAIRS_PER_CHUNK = 4  # pairs of groups in a run, as a multiple of the chunk size


@dataclass(frozen=True, eq=False)
class GroupIntersections:
    """The pairs of the groups ``low .. high - 1`` of one side with groups of the other side that share items."""

    low: int
    high: int
    group: Tensor  # (pairs,) int64: group number, ascending
    other_group: Tensor  # (pairs,) int64: group number on the other side
    item_counts: Tensor  # (pairs,) int64: number of shared items, at least 1


class BestMatches(NamedTuple):
    """What the best groups of the other side have in common with each group of a side."""

    most: Tensor  # (groups,) int64: largest number of shared items
    f: Tensor  # (groups,) float64: largest F, 2 |A & B| / (|A| + |B|)


@dataclass(frozen=True, eq=False)
class IntersectionRuns:
    """The groups of one side, cut into runs with a bounded number of intersections."""

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
        """Groups by patterns, with numbers of items, and patterns by groups of the other side; both on the host."""
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
        return list(blocks(max_pairs, _RUN_PAIRS_PER_CHUNK * self.chunk_size, len(lengths)))

    @lazy_property
    def single_run(self) -> GroupIntersections:
        """The first run, for sides with no other."""
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
