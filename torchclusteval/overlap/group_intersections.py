"""Intersections of classes and clusters: the pairs of groups that share items, in runs of bounded length.

One item in thousands of groups on both sides makes millions of such pairs, so they are not kept: measures that need
more than the best match of each group compute them again, run by run; a single run is cached.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.overlap.comparison import Comparison, GroupIncidence
from torchclusteval.overlap.ragged import add_at, blocks, ranges, starts_of, sum_parts_by_key

_RUN_PAIRS_PER_CHUNK = 4  # pairs of groups in a run, as a multiple of the chunk size
_TABLE_CELLS_PER_CHUNK = 16  # cells of the table that counts them, as a multiple of the chunk size


@dataclass(frozen=True, eq=False)
class GroupIntersections:
    """The pairs of the groups ``low .. high - 1`` of one side with groups of the other side that share items."""

    low: int
    high: int
    group: Tensor  # (pairs,) int64: group number, ascending
    other_group: Tensor  # (pairs,) int64: group number on the other side
    item_counts: Tensor  # (pairs,) int64: number of shared items, at least 1


@dataclass(frozen=True, eq=False)
class BestMatches:
    """What the best groups of the other side have in common with each group of a side."""

    most: Tensor  # (groups,) int64: largest number of shared items
    f: Tensor  # (groups,) float64: largest F, 2 |A & B| / (|A| + |B|)

    def update(self, runs: "IntersectionRuns", run: GroupIntersections) -> None:
        self.most.scatter_reduce_(0, run.group, run.item_counts, "amax")
        for start in range(0, len(run.group), runs.chunk_size):
            part = slice(start, start + runs.chunk_size)
            group, other = run.group[part], run.other_group[part]
            sizes = runs.side.group_sizes[group] + runs.other_side.group_sizes[other]
            self.f.scatter_reduce_(0, group, 2 * run.item_counts[part].double() / sizes, "amax")


@dataclass(frozen=True, eq=False)
class IntersectionRuns:
    """The groups of one side, cut into runs with a bounded number of intersections."""

    side: GroupIncidence
    other_side: GroupIncidence
    item_counts: Tensor  # (patterns,) int64: number of items with each pattern
    n_members: int
    chunk_size: int
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @lazy_property
    def others_per_member(self) -> Tensor:
        """Number of groups of each batch member on the other side, ``(members,)`` int64."""
        return torch.bincount(self.other_side.group_member, minlength=self.n_members)

    @lazy_property
    def width(self) -> int:
        """Largest number of groups of a batch member on the other side."""
        return int(self.others_per_member.max()) if self.n_members else 0

    @lazy_property
    def first_other(self) -> Tensor:
        """First group on the other side of the batch member of each group, ``(groups,)`` int64."""
        return starts_of(self.others_per_member)[self.side.group_member]

    @lazy_property
    def ends(self) -> list[int]:
        """End of the patterns of each group in ``side.patterns``."""
        ends: list[int] = self.side.group_lengths.cumsum(0).tolist()
        return ends

    @lazy_property
    def cuts(self) -> list[tuple[int, int]]:
        """First group and end of each run."""
        lengths = self.side.group_lengths
        triples = add_at(torch.repeat_interleave(lengths), self.other_side.lengths[self.side.patterns], len(lengths))
        max_pairs = triples.clamp(max=self.width)
        return list(blocks(max_pairs, _RUN_PAIRS_PER_CHUNK * self.chunk_size, len(lengths)))

    @lazy_property
    def single_run(self) -> GroupIntersections:
        """The first run, for sides with no other."""
        return self._count(*self.cuts[0])

    @property
    def best(self) -> BestMatches:
        """The best match of each group; whoever goes over all runs finds it on the way."""
        if "best" not in self._memo:
            for _ in self:
                pass
        found: BestMatches = self._memo["best"]
        return found

    def __iter__(self) -> Iterator[GroupIntersections]:
        sizes, is_known = self.side.group_sizes, "best" in self._memo
        best = BestMatches(torch.zeros_like(sizes), torch.zeros_like(sizes, dtype=torch.float64))
        for low, high in self.cuts:
            run = self.single_run if len(self.cuts) == 1 else self._count(low, high)
            if not is_known:
                best.update(self, run)
            yield run
        self._memo.setdefault("best", best)

    def _count(self, low: int, high: int) -> GroupIntersections:
        row = torch.repeat_interleave(self.side.group_lengths[low:high])
        pattern = self.side.patterns[self.ends[low - 1] if low else 0 : self.ends[high - 1]]
        cells, width = (high - low) * self.width, max(self.width, 1)
        triples = int(self.other_side.lengths[pattern].sum())
        if cells <= 4 * triples and (cells <= _TABLE_CELLS_PER_CHUNK * self.chunk_size or high - low == 1):
            table = torch.zeros(cells, dtype=torch.int64, device=row.device)
            for part_keys, part_counts in self._triples(row, pattern, low):
                table.index_add_(0, part_keys, part_counts)
            keys = table.nonzero().squeeze(-1)
            item_counts = table[keys]
        else:
            keys, item_counts = sum_parts_by_key(self._triples(row, pattern, low), self.chunk_size, row.device)
        group = keys // width + low
        return GroupIntersections(
            low=low,
            high=high,
            group=group,
            other_group=self.first_other[group] + keys % width,
            item_counts=item_counts,
        )

    def _triples(self, row: Tensor, pattern: Tensor, low: int) -> Iterator[tuple[Tensor, Tensor]]:
        """(Group, other group) of every pattern as one key, and the number of its items, block by block."""
        other_lengths = self.other_side.lengths[pattern]
        base = row * self.width - self.first_other[row + low]
        for start, stop in blocks(other_lengths, self.chunk_size, self.chunk_size):
            part = pattern[start:stop]
            cell, at = ranges(self.other_side.starts[part], other_lengths[start:stop])
            keys = base[start:stop].index_select(0, cell) + self.other_side.groups.index_select(0, at)
            yield keys, self.item_counts[part].index_select(0, cell)


@cached_on_tables
def class_runs(comparison: Comparison) -> IntersectionRuns:
    """Intersections by runs of classes."""
    return _runs(comparison, comparison.patterns.true, comparison.patterns.pred)


@cached_on_tables
def cluster_runs(comparison: Comparison) -> IntersectionRuns:
    """Intersections by runs of clusters."""
    return _runs(comparison, comparison.patterns.pred, comparison.patterns.true)


def _runs(comparison: Comparison, side: GroupIncidence, other_side: GroupIncidence) -> IntersectionRuns:
    return IntersectionRuns(
        side=side,
        other_side=other_side,
        item_counts=comparison.patterns.item_counts,
        n_members=comparison.n_members,
        chunk_size=comparison.chunk_size,
    )
