"""The pairs of a class and a cluster that share items, by runs of groups of one side, so that no list grows too long.

One item in thousands of groups on both sides makes millions of such pairs, so they are found again for each measure,
run by run; where one run holds all of them it is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.overlap.comparison import Comparison, Side
from torchclusteval.overlap.ragged import add_at, blocks, merged, ranges, starts_of

_PAIRS = 4  # pairs of groups in a run, as a multiple of the chunk size
_CELLS = 16  # cells of a table that they are counted in, likewise


@dataclass(frozen=True, eq=False)
class GroupPairs:
    """The pairs of the groups ``low .. high - 1`` of one side with those of the other that share items; all int64."""

    low: int
    high: int
    own: Tensor  # (pairs,): group number, ascending
    other: Tensor  # (pairs,): group number on the other side
    items: Tensor  # (pairs,): how many they share, at least 1


@dataclass(frozen=True, eq=False)
class Runs:
    """The groups of one side (``here``), cut into runs with a bounded number of pairs."""

    here: Side
    there: Side
    items: Tensor  # (patterns,) int64: number of items
    n_members: int
    chunk_size: int
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @lazy_property
    def per_member(self) -> Tensor:  # (members,) int64: groups on the other side
        return torch.bincount(self.there.group_owner, minlength=self.n_members)

    @lazy_property
    def width(self) -> int:
        """Most groups that a member has on the other side; they are numbered from its first."""
        return int(self.per_member.max()) if self.n_members else 0

    @lazy_property
    def first(self) -> Tensor:  # (groups,) int64: first group on the other side of each group's member
        return starts_of(self.per_member)[self.here.group_owner]

    @lazy_property
    def ends(self) -> list[int]:
        """Where the patterns of each group end in ``here.members``."""
        found: list[int] = self.here.group_lengths.cumsum(0).tolist()
        return found

    @lazy_property
    def cuts(self) -> list[tuple[int, int]]:
        """First group and end of each run."""
        lengths = self.here.group_lengths
        triples = add_at(torch.repeat_interleave(lengths), self.there.lengths[self.here.members], len(lengths))
        most = triples.clamp(max=self.width)
        return list(blocks(most, _PAIRS * self.chunk_size, len(lengths)))

    @lazy_property
    def only(self) -> GroupPairs:
        """The one run, where there is one."""
        return self._count(*self.cuts[0])

    def __iter__(self) -> Iterator[GroupPairs]:
        if len(self.cuts) == 1:
            yield self.only
            return
        for low, high in self.cuts:
            yield self._count(low, high)

    def _count(self, low: int, high: int) -> GroupPairs:
        row = torch.repeat_interleave(self.here.group_lengths[low:high])
        pattern = self.here.members[self.ends[low - 1] if low else 0 : self.ends[high - 1]]
        cells, width = (high - low) * self.width, max(self.width, 1)
        triples = int(self.there.lengths[pattern].sum())
        if cells <= 4 * triples and (cells <= _CELLS * self.chunk_size or high - low == 1):
            table = torch.zeros(cells, dtype=torch.int64, device=row.device)
            for keys, items in self._triples(row, pattern, low):
                table.index_add_(0, keys, items)
            keys = table.nonzero().squeeze(-1)
            items = table[keys]
        else:
            keys, items = merged(self._triples(row, pattern, low), self.chunk_size, row.device)
        own = keys // width + low
        return GroupPairs(low, high, own, self.first[own] + keys % width, items)

    def _triples(self, row: Tensor, pattern: Tensor, low: int) -> Iterator[tuple[Tensor, Tensor]]:
        """(own group, other group) of every pattern as one key, and its number of items, block by block."""
        others = self.there.lengths[pattern]
        base = row * self.width - self.first[row + low]
        for start, stop in blocks(others, self.chunk_size, self.chunk_size):
            part = pattern[start:stop]
            cell, at = ranges(self.there.starts[part], others[start:stop])
            keys = base[start:stop].index_select(0, cell) + self.there.groups.index_select(0, at)
            yield keys, self.items[part].index_select(0, cell)


@cached_on_tables
def class_runs(comparison: Comparison) -> Runs:
    """Pairs of groups by runs of classes."""
    return _runs(comparison, comparison.patterns.true, comparison.patterns.pred)


@cached_on_tables
def cluster_runs(comparison: Comparison) -> Runs:
    """Pairs of groups by runs of clusters."""
    return _runs(comparison, comparison.patterns.pred, comparison.patterns.true)


def _runs(comparison: Comparison, here: Side, there: Side) -> Runs:
    return Runs(here, there, comparison.patterns.items, comparison.n_members, comparison.chunk_size)
