"""Two clusterings, aligned. Items with the same groups on both sides form one pattern."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_chunk_size
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.record import UNIT, Measure
from torchclusteval.measures.record import measure as make_record
from torchclusteval.overlap.inputs import no_item_in_common
from torchclusteval.overlap.memberships import Memberships, align
from torchclusteval.overlap.ragged import add_at, dense_ranks, first_positions, ranges, starts_of
from torchclusteval.tables import ContingencyTables

P = ParamSpec("P")
_CHUNK_ITEM_PAIRS = 2**17  # fits the cache: larger blocks are slower


@dataclass(frozen=True, eq=False)
class GroupIncidence:
    """The groups of each pattern on one side, and the patterns of each group; all int64.

    Each batch member has groups of its own, numbered member by member; empty groups are left out.
    """

    lengths: Tensor  # (patterns,): number of groups of each pattern
    groups: Tensor  # (entries,): groups of the first pattern, ascending, then of the second ...
    patterns: Tensor  # (entries,): patterns of the first group, then of the second ...
    group_lengths: Tensor  # (groups,): number of patterns of each group
    group_sizes: Tensor  # (groups,): number of items of each group
    group_member: Tensor  # (groups,): batch member of each group
    group_codes: Tensor  # (groups,): code of each group in its ``Memberships``
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @lazy_property
    def starts(self) -> Tensor:  # (patterns,)
        return starts_of(self.lengths)

    @lazy_property
    def max_groups(self) -> int:
        return int(self.lengths.max()) if self.lengths.shape[0] else 0


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct (set of classes, set of clusters) of the items, ascending by batch member."""

    member: Tensor  # (patterns,) int64: batch member of each pattern
    item_counts: Tensor  # (patterns,) int64: number of items with each pattern
    pattern_of_item: Tensor  # (members * n_items,) int64
    true: GroupIncidence
    pred: GroupIncidence


@dataclass(frozen=True, eq=False)
class Comparison:
    """Aligned true and predicted memberships, with the quantities that several measures share."""

    true: Memberships
    pred: Memberships
    batch_shape: torch.Size
    chunk_size: int
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def n_items(self) -> int:
        return self.true.n_items

    @property
    def n_members(self) -> int:
        return math.prod(self.batch_shape)

    @property
    def n_item_pairs(self) -> int:
        return self.n_items * (self.n_items - 1) // 2

    @property
    def device(self) -> torch.device:
        return self.true.device

    @lazy_property
    def both_partitions(self) -> Tensor:
        """Whether both sides are partitions, ``(members,)`` bool."""
        return (self.true.is_partition & self.pred.is_partition).expand(self.batch_shape).flatten()

    @lazy_property
    def tables(self) -> ContingencyTables:
        """Contingency tables, one batch dimension, of the members with partitions on both sides."""
        chosen = self.both_partitions.nonzero().squeeze(-1)
        labels = [
            side.groups[side.starts.view(side.n_members, self.n_items)[self.broadcast_members(side)[chosen]]]
            for side in (self.true, self.pred)
        ]
        return ContingencyTables.from_labels(*labels, item_dims=1, device=self.device)

    @lazy_property
    def patterns(self) -> Patterns:
        (true_codes, n_true), (pred_codes, n_pred) = self.true.patterns, self.pred.patterns
        true_codes = true_codes.view(self.true.n_members, self.n_items)[self.broadcast_members(self.true)].flatten()
        pred_codes = pred_codes.view(self.pred.n_members, self.n_items)[self.broadcast_members(self.pred)].flatten()
        # the side of the full batch shape comes first in the key, so that patterns ascend by batch member
        pred_first = self.pred.batch_shape == self.batch_shape
        keys = pred_codes * n_true + true_codes if pred_first else true_codes * n_pred + pred_codes
        pattern_of_item, count = dense_ranks(keys, n_pred * n_true)
        first = first_positions(pattern_of_item, count)
        member = first // max(self.n_items, 1)
        item_counts = torch.bincount(pattern_of_item, minlength=count)
        true, pred = (self._incidence(side, first, member, item_counts) for side in (self.true, self.pred))
        return Patterns(member, item_counts, pattern_of_item, true, pred)

    @lazy_property
    def partition_cells(self) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Patterns, numbers of items and sizes of both groups, in the members with partitions on both sides."""
        patterns = self.patterns
        cells = self.both_partitions[patterns.member].nonzero().squeeze(-1)
        true, pred = (side.group_sizes[side.groups[side.starts[cells]]] for side in (patterns.true, patterns.pred))
        return cells, patterns.item_counts[cells].double(), (true, pred)

    def values_of(
        self, overlapping: Callable[["Comparison"], Tensor], on_partitions: Callable[[ContingencyTables], Tensor]
    ) -> Tensor:
        """Values of a measure of tables, to the bit, where both sides are partitions; else of the overlapping one."""
        chosen = self.both_partitions.nonzero().squeeze(-1)
        if chosen.shape[0] == self.n_members:
            return on_partitions(self.tables).view(self.batch_shape)
        values = overlapping(self).flatten()
        if chosen.shape[0]:
            values = values.index_copy(0, chosen, on_partitions(self.tables))
        return values.view(self.batch_shape)

    def by_item(self, values: Tensor) -> Tensor:
        """The value of the pattern of each item, ``(*batch, N)``."""
        return values[self.patterns.pattern_of_item].view(*self.batch_shape, self.n_items)

    def sum_by_member(self, member: Tensor, values: Tensor) -> Tensor:
        return add_at(member, values, self.n_members).view(self.batch_shape)

    def mean_over_items(self, values: Tensor) -> Tensor:
        """Mean over items of the value of their pattern, ``(*batch,)``, without nan; 1 where all values are nan."""
        undefined, member = values.isnan(), self.patterns.member
        counts = self.patterns.item_counts.masked_fill(undefined, 0)
        sums = self.sum_by_member(member, values.masked_fill(undefined, 0.0) * counts)
        n_defined = self.sum_by_member(member, counts)
        return self.nan_without_items((sums / n_defined.clamp(min=1)).masked_fill(n_defined == 0, 1.0))

    def nan_without_items(self, values: Tensor) -> Tensor:
        """The values; all nan without items."""
        return values if self.n_items else torch.full_like(values, torch.nan)

    def n_groups(self, side: GroupIncidence) -> Tensor:
        """Number of non-empty groups of a side, ``(*batch,)`` int64."""
        return torch.bincount(side.group_member, minlength=self.n_members).view(self.batch_shape)

    def mean_over_groups(self, side: GroupIncidence, values: Tensor) -> Tensor:
        """Mean of values, one for each group of a side, ``(*batch,)``; 0 without groups."""
        return self.sum_by_member(side.group_member, values) / self.n_groups(side).clamp(min=1)

    def fill_empty_sides(self, values: Tensor) -> Tensor:
        """The values where both sides have groups; 1 where both have none, 0 where one has none, nan without items."""
        true_empty, pred_empty = (self.n_groups(side) == 0 for side in (self.patterns.true, self.patterns.pred))
        values = values.masked_fill(true_empty ^ pred_empty, 0.0).masked_fill(true_empty & pred_empty, 1.0)
        return self.nan_without_items(values)

    def broadcast_members(self, side: Memberships) -> Tensor:
        """The member of a side that each batch member takes by broadcasting, ``(members,)``."""
        numbers = torch.arange(side.n_members, device=side.device).view(side.batch_shape)
        return numbers.expand(self.batch_shape).flatten()

    def _incidence(self, side: Memberships, first: Tensor, member: Tensor, item_counts: Tensor) -> GroupIncidence:
        rows = self.broadcast_members(side)[member] * self.n_items + first % max(self.n_items, 1)
        lengths = side.lengths[rows]
        pattern, at = ranges(side.starts[rows], lengths)
        keys = member[pattern] * side.n_groups + side.groups[at]
        groups, count = dense_ranks(keys, self.n_members * side.n_groups)
        order = torch.argsort(groups, stable=True)
        entry = first_positions(groups, count)
        return GroupIncidence(
            lengths=lengths,
            groups=groups,
            patterns=pattern[order],
            group_lengths=torch.bincount(groups, minlength=count),
            group_sizes=add_at(groups, item_counts[pattern], count),
            group_member=member[pattern[entry]],
            group_codes=side.groups[at[entry]],
        )


MADE: dict[str, Measure] = {}  # by the decorator, in the order of the definitions


_EXAMPLE = """
    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> tce.overlap.{name}(true, pred)
    tensor({value}, dtype=torch.float64)
    """


def measure(
    source: str, *, range: tuple[float, float] = UNIT, example: str | None = None, **facts: Any
) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Make the ``Measure`` of a function of two sides, and run it on one thread.

    ``facts`` are fields of ``Measure``; ``perfect`` is by default the upper end of ``range``, and ``example`` is the
    value in the example of the docstring.
    """
    facts = {"perfect": range[1], "range": range, "source": source, "on_host": True, **facts}

    def define(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        if example is not None and function.__doc__ is not None:
            function.__doc__ += _EXAMPLE.format(name=function.__name__, value=example)
        return make_record("overlap", made=MADE, **facts)(on_one_thread(function))

    return define


def compare(true: Memberships, pred: Memberships, chunk_size: int | None = None) -> Comparison:
    """Compare two clusterings; arguments and errors as for every overlapping measure.

    ``true`` keeps the result until its next comparison with another clustering, or until ``pred`` is garbage collected.
    """
    for name, side in (("true", true), ("pred", pred)):
        if not isinstance(side, Memberships):
            raise ValueError(f"{name}: expected Memberships (see Memberships.from_lists); got {type(side).__name__}")
    check_chunk_size(chunk_size)
    last: Comparison | None = true.compared.get(pred)
    if last is not None and chunk_size in (None, last.chunk_size):
        return last
    if true.device != pred.device:
        raise ValueError(f"pred: expected memberships on {true.device}, the device of true; got {pred.device}")
    try:
        batch_shape = torch.Size(np.broadcast_shapes(true.batch_shape, pred.batch_shape))
    except ValueError:
        shapes = f"{tuple(true.batch_shape)} and {tuple(pred.batch_shape)}"
        raise ValueError(f"pred: expected batch shapes that broadcast; got {shapes}") from None
    disjoint = no_item_in_common(true.items or (), pred.items or ())
    if disjoint is not None:
        raise ValueError(f"pred: expected items of true; got {disjoint}")
    sides = align([true.view(), pred.view()])  # views: the comparison keeps neither clustering alive
    if batch_shape not in (true.batch_shape, pred.batch_shape):
        sides[1] = sides[1].expand(batch_shape)
    comparison = Comparison(sides[0], sides[1], batch_shape, _CHUNK_ITEM_PAIRS if chunk_size is None else chunk_size)
    true.compared.clear()
    true.compared[pred] = comparison
    return comparison
