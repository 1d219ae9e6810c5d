"""Two clusterings side by side: items with the same groups on both sides are merged into one pattern."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.lazy import lazy_property
from torchclusteval.overlap.memberships import Memberships, align
from torchclusteval.overlap.ragged import add_at, compress, first_positions, ranges, starts_of
from torchclusteval.tables import ContingencyTables

CHUNK_SIZE = 2**17  # fits the cache: larger blocks are slower


@dataclass(frozen=True, eq=False)
class Side:
    """The groups of each pattern on one side, and the patterns of each group; all int64.

    Groups of different batch members are different groups here, numbered by member, and none is empty.
    """

    lengths: Tensor  # (patterns,): number of groups
    groups: Tensor  # (entries,): groups of one pattern after another, ascending
    members: Tensor  # (entries,): patterns of one group after another
    group_lengths: Tensor  # (groups,): number of patterns
    group_sizes: Tensor  # (groups,): number of items
    group_owner: Tensor  # (groups,): batch member

    @lazy_property
    def starts(self) -> Tensor:  # (patterns,)
        return starts_of(self.lengths)

    @lazy_property
    def group_starts(self) -> Tensor:  # (groups,)
        return starts_of(self.group_lengths)

    @lazy_property
    def most(self) -> int:
        """Largest number of groups that a pattern has."""
        return int(self.lengths.max()) if self.lengths.shape[0] else 0

    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different (true groups, predicted groups) of the items of each batch member, ascending by member."""

    owner: Tensor  # (patterns,) int64: batch member
    items: Tensor  # (patterns,) int64: number of items
    of_item: Tensor  # (members * n_items,) int64: pattern of each item
    true: Side
    pred: Side


@dataclass(frozen=True, eq=False)
class Comparison:
    """Aligned true and predicted memberships and everything that several measures need of them."""

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
    def device(self) -> torch.device:
        return self.true.device

    @lazy_property
    def both_partitions(self) -> Tensor:
        """Whether both sides are partitions, ``(members,)`` bool."""
        return (self.true.is_partition & self.pred.is_partition).expand(self.batch_shape).flatten()

    @lazy_property
    def tables(self) -> ContingencyTables:
        """Contingency tables of the members that are partitions on both sides, one batch dimension."""
        chosen = self.both_partitions.nonzero().squeeze(-1)
        labels = [
            side.groups[side.starts.view(side.n_members, self.n_items)[self.numbers(side)[chosen]]]
            for side in (self.true, self.pred)
        ]
        return ContingencyTables.from_labels(*labels, device=self.device)

    @lazy_property
    def patterns(self) -> Patterns:
        (true_codes, n_true), (pred_codes, n_pred) = self.true.patterns, self.pred.patterns
        true_codes = true_codes.view(self.true.n_members, self.n_items)[self.numbers(self.true)].flatten()
        pred_codes = pred_codes.view(self.pred.n_members, self.n_items)[self.numbers(self.pred)].flatten()
        # the side that has the whole batch leads, so that patterns ascend with the batch member
        if self.pred.batch_shape == self.batch_shape:
            of_item, count = compress(pred_codes * n_true + true_codes, n_pred * n_true)
        else:
            of_item, count = compress(true_codes * n_pred + pred_codes, n_pred * n_true)
        first = first_positions(of_item, count)
        owner = first // max(self.n_items, 1)
        items = torch.bincount(of_item, minlength=count)
        sides = [self._side(side, first, owner, items) for side in (self.true, self.pred)]
        return Patterns(owner, items, of_item, *sides)

    def by_member(self, owner: Tensor, values: Tensor) -> Tensor:
        """Sum values over their batch members, ``(*batch,)``."""
        return add_at(owner, values, self.n_members).view(self.batch_shape)

    def numbers(self, side: Memberships) -> Tensor:
        """The member of a side that each member of the batch takes, ``(members,)``."""
        numbers = torch.arange(side.n_members, device=side.device).view(side.batch_shape)
        return numbers.expand(self.batch_shape).flatten()

    def _side(self, side: Memberships, first: Tensor, owner: Tensor, items: Tensor) -> Side:
        rows = self.numbers(side)[owner] * self.n_items + first % max(self.n_items, 1)
        lengths = side.lengths[rows]
        pattern, at = ranges(side.starts[rows], lengths)
        keys = owner[pattern] * side.n_groups + side.groups[at]
        groups, count = compress(keys, self.n_members * side.n_groups)
        order = torch.argsort(groups, stable=True)
        return Side(
            lengths=lengths,
            groups=groups,
            members=pattern[order],
            group_lengths=torch.bincount(groups, minlength=count),
            group_sizes=add_at(groups, items[pattern], count),
            group_owner=owner[pattern[first_positions(groups, count)]],
        )


def compare(true: Memberships, pred: Memberships, chunk_size: int | None = None) -> Comparison:
    """The comparison of two clusterings, kept on the true one until that is compared with another or ``pred`` goes.

    Args:
        true: the reference, batch shape broadcast against that of ``pred``.
        pred: the clusterings to judge.
        chunk_size: about how many pairs of items (under 400 bytes each), or a quarter of the pairs of groups, to hold
            at once; never less than one pattern, or one group, against all of its batch member.
            Results do not depend on it.

    Raises:
        ValueError: anything but two ``Memberships`` on one device, items that cannot be aligned, batch shapes
            that do not broadcast, or a chunk size below 1.
    """
    for name, side in (("true", true), ("pred", pred)):
        if not isinstance(side, Memberships):
            raise ValueError(
                f"{name}: expected Memberships (see Memberships.from_lists ...); got {type(side).__name__}"
            )
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"chunk_size: expected a whole number of at least 1; got {chunk_size!r}")
    last: Comparison | None = true.compared.get(pred)
    if last is not None and chunk_size in (None, last.chunk_size):
        return last
    made = _make(true.view(), pred.view(), CHUNK_SIZE if chunk_size is None else chunk_size)
    true.compared.clear()
    true.compared[pred] = made
    return made


def _make(true: Memberships, pred: Memberships, chunk_size: int) -> Comparison:
    if true.device != pred.device:
        raise ValueError(f"pred: expected memberships on {true.device}, as true; got {pred.device}")
    try:
        batch_shape = torch.broadcast_shapes(true.batch_shape, pred.batch_shape)
    except RuntimeError:
        shapes = f"{tuple(true.batch_shape)} and {tuple(pred.batch_shape)}"
        raise ValueError(f"pred: expected batch shapes that broadcast; got {shapes}") from None
    true, pred = align([true, pred])
    if batch_shape not in (true.batch_shape, pred.batch_shape):
        pred = pred.expand(batch_shape)
    return Comparison(true, pred, batch_shape, chunk_size)
