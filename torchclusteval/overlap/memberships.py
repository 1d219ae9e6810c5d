"""The groups of each item: the input of the overlapping measures."""

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory, index_batch, names_of_two_types
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.inputs import resolve_device
from torchclusteval.labels.integers import read_integers
from torchclusteval.labels.shapes import counts_up
from torchclusteval.labels.sources import pandas_index
from torchclusteval.overlap import inputs
from torchclusteval.overlap.ragged import add_at, dense_ranks, ranges, starts_of

_GROUPS = "a mapping from groups to items, or a list of groups"


@dataclass(frozen=True, eq=False, repr=False)
class Memberships:
    """The groups of every item, in a batch of overlapping clusterings; immutable.

    :meth:`from_lists`, :meth:`from_dict`, :meth:`from_groups`, :meth:`from_matrix`, :meth:`from_labels`,
    :meth:`from_hierarchy`, :meth:`from_linkage` and :meth:`stack` make one. An item may have no group; a group that an
    item names twice counts once.

    >>> groups = tce.Memberships.from_lists([["sport"], ["sport", "politics"], ["politics"]])
    >>> groups.n_items, groups.n_groups
    (3, 2)
    """

    rows: Tensor  # (entries,) int64, ascending: batch member * n_items + item
    groups: Tensor  # (entries,) int64: code of a group of that item, ascending within an item
    batch_shape: torch.Size
    n_items: int
    n_groups: int
    items: tuple[Hashable, ...] | None = None
    group_labels: tuple[Hashable, ...] | None = None
    # values derived from the tensors; the last comparison, dropped when the other clustering is
    _memo: dict[str, Any] = field(default_factory=dict, init=False)
    compared: WeakKeyDictionary["Memberships", Any] = field(default_factory=WeakKeyDictionary, init=False)

    @classmethod
    def from_lists(
        cls, memberships: Iterable[Any], *, items: Iterable[Any] | None = None, device: Any = None
    ) -> "Memberships":
        """One collection of groups per item.

        Args:
            memberships: a list, tuple, set or 1-D array of hashable groups for each item, possibly empty.
            items: names of the items, which align two clusterings; without names, positions do.
            device: where to put the codes.

        Raises:
            ValueError: a string or a single group in place of a collection; ``None``, nan or an unhashable value as a
                group; repeated names of items, or another number of names than of items.
        """
        items, listed = inputs.named_by_index(memberships, items), inputs.outer_list(memberships, "memberships")
        return _by_item(listed, "for item {}".format, items, device)

    @classmethod
    def from_dict(cls, memberships: Mapping[Any, Any], *, device: Any = None) -> "Memberships":
        """Groups by item, ``{item: groups}``; a single label is one group, as python-louvain returns partitions.

        The names of the items align two clusterings; an item that one of them lacks has no group there.

        Raises:
            ValueError: as :meth:`from_lists`.
        """
        index = pandas_index(memberships)
        items = list(memberships if index is None else index)
        groups = memberships.values() if index is None else memberships  # a Series is the mapping of its index
        return _by_item(list(map(inputs.as_groups, groups)), lambda row: f"for item {items[row]!r}", items, device)

    @classmethod
    def from_groups(
        cls, groups: Mapping[Any, Any] | Iterable[Any], *, items: Iterable[Any] | None = None, device: Any = None
    ) -> "Memberships":
        """Items by group: ``{group: items}``, or a list of groups as NetworkX and CDlib give.

        Args:
            groups: a list, tuple, set, iterator or 1-D array of hashable items for each group.
            items: all items, including those without a group; by default the items of the groups.
            device: where to put the codes.

        Raises:
            ValueError: as :meth:`from_lists`; a group has an item outside ``items``.
        """
        if hasattr(groups, "ndim"):
            got = f"{type(groups).__name__} of {groups.ndim} dimensions (from_matrix takes 0/1 matrices)"
            raise ValueError(f"groups: expected a mapping or a list of groups; got {got}")
        labels = inputs.item_names(groups, len(groups)) if isinstance(groups, Mapping) else None
        listed = list(groups.values()) if isinstance(groups, Mapping) else inputs.outer_list(groups, "groups", _GROUPS)
        wheres = [f"in group {name!r}" for name in (range(len(listed)) if labels is None else labels)]
        known = inputs.item_names(items) or ()
        codes, rows, names = inputs.encode_lists([known, *listed], "groups", ["among the items", *wheres].__getitem__)
        if items is not None and len(names) > len(known):
            raise ValueError(f"groups: expected only items named in items; got {names[len(known)]!r}")
        rows, codes = rows[codes > 0], codes[codes > 0] - 1
        return build(rows, codes, (len(names),), len(listed) if labels is None else labels, names, device)

    @classmethod
    @on_one_thread
    def from_matrix(cls, matrix: Any, *, items: Iterable[Any] | None = None, device: Any = None) -> "Memberships":
        """Indicator matrices: item by group, bool or 0/1, dense or ``torch.sparse``.

        Args:
            matrix: ``(*batch, N, K)`` tensor, array or lists.
            items: names of the ``N`` items.
            device: where to put the codes; the matrix's device by default.

        Raises:
            ValueError: fewer than two dimensions, or a value other than 0 and 1.
        """
        indices, shape = inputs.matrix_entries(matrix)
        names = inputs.item_names(inputs.named_by_index(matrix, items), shape[-2])
        rows = torch.zeros_like(indices[0])
        for size, index in zip(shape[:-1], indices[:-1], strict=True):
            rows = rows * size + index
        return build(rows, indices[-1], shape[:-1], shape[-1], names, device)

    @classmethod
    @on_one_thread
    def from_labels(cls, labels: Any, *, items: Iterable[Any] | None = None, device: Any = None) -> "Memberships":
        """Partitions: every item in exactly one group.

        Args:
            labels: ``(*batch, N)`` labels of any kind that ``ContingencyTables.from_labels`` takes.
            items: names of the ``N`` items; those of a pandas index that is not 0 .. N - 1 by default.
            device: where to put the codes; the labels' device by default.

        Raises:
            ValueError: a label that is missing or not whole.
        """
        ids = read_integers(labels, "labels", resolve_device(device, {"labels": labels}))
        if items is None and ids.indexes and not counts_up(ids.indexes[0]):
            items = ids.indexes[0].tolist()
        distinct, codes = torch.unique(ids.values, return_inverse=True)
        rows = torch.arange(codes.numel(), device=codes.device)
        names = inputs.item_names(items, codes.shape[-1])
        return build(rows, codes.flatten(), codes.shape, tuple(ids.decode(distinct).tolist()), names, device)

    @classmethod
    def from_hierarchy(
        cls, paths: Mapping[Any, Any] | Iterable[Any], *, items: Iterable[Any] | None = None, device: Any = None
    ) -> "Memberships":
        """A hierarchy as overlapping groups: each item is in its leaf and in all ancestors of that leaf.

        Args:
            paths: the path of each item from the top to its leaf, such as ``("science", "physics", "optics")``; a
                mapping names the items. A group is a path from the top, so equal names below different parents differ.
                The root of all items is a group only if the paths name it.
            items: names of the items, where ``paths`` is not a mapping.
            device: where to put the codes.

        Raises:
            ValueError: as :meth:`from_lists`; a set (it has no order) or a linkage matrix.
        """
        named, items = isinstance(paths, Mapping), inputs.named_by_index(paths, items)
        if named and items is not None:
            raise ValueError("items: expected None where paths is a mapping; got names")
        listed = inputs.outer_list(paths.values() if isinstance(paths, Mapping) else paths, "paths")
        if inputs.seems_linkage(listed):
            got = "a linkage matrix, (n - 1, 4) numbers (cut it: Memberships.from_linkage(Z, heights=[...]))"
            raise ValueError(f"paths: expected the path of each item from the top; got {got}")
        prefixes = [_prefixes(path, f"for item {i}") for i, path in enumerate(listed)]
        return cls.from_lists(prefixes, items=paths if named else items, device=device)

    @classmethod
    def from_linkage(
        cls,
        Z: Any,  # noqa: N803 (the name in SciPy)
        *,
        heights: Iterable[float] | float,
        items: Iterable[Any] | None = None,
        device: Any = None,
    ) -> "Memberships":
        """Cuts of a hierarchical clustering of SciPy, all of them together as overlapping groups.

        The groups of height ``h`` are those of ``scipy.cluster.hierarchy.fcluster(Z, h, criterion="distance")``: the
        largest clusters without a merge above ``h``, down to single items. The cuts are the levels of a hierarchy, as
        in :meth:`from_hierarchy`: every item is in one group of each height, and a cluster at two heights is a group
        of both. ``group_labels`` are ``(height, number)``, heights in the given order, clusters numbered from 0 by
        their first item.

        Args:
            Z: linkage matrix of ``n`` items, ``(n - 1, 4)``.
            heights: one height to cut at, or several different ones.
            items: names of the ``n`` items.
            device: where to put the codes.

        Raises:
            ValueError: ``Z`` is no linkage matrix; heights are missing, repeated or no numbers.
        """
        levels, merges = inputs.check_heights(heights), inputs.check_linkage(Z)
        cuts = np.stack([inputs.cut(merges, level) for level in levels], 1)  # (n, heights)
        labels = [
            (level, number) for level, k in zip(levels, cuts.max(0).tolist(), strict=True) for number in range(k + 1)
        ]
        groups = torch.from_numpy(cuts + np.cumsum([0, *cuts.max(0)[:-1] + 1]))
        rows = torch.arange(len(cuts)).repeat_interleave(len(levels))
        names = inputs.item_names(items, len(cuts))
        return build(rows, groups.flatten(), (len(cuts),), tuple(labels), names, device)

    @classmethod
    @on_one_thread
    def stack(cls, members: Sequence["Memberships"]) -> "Memberships":
        """Several clusterings of the same items as one batch, ``(len(members), *batch)``.

        Named items are aligned by name; an item that a member lacks has no group there. A warning tells of names of
        different types, such as ``1`` and ``"1"``, as they are never equal.

        Raises:
            ValueError: nothing to stack, or members of different batch shapes, devices or numbers of unnamed items.
        """
        fits = isinstance(members, Sequence) and all(isinstance(member, Memberships) for member in members)
        if not fits or not members:
            raise ValueError("members: expected at least one Memberships; got none or something else")
        shapes = {(tuple(member.batch_shape), member.device) for member in members}
        if len(shapes) > 1:
            raise ValueError(f"members: expected one batch shape and device; got {sorted(map(str, shapes))}")
        aligned = align(members)
        first = aligned[0]
        step = math.prod(first.batch_shape) * first.n_items
        rows = torch.cat([member.rows + step * i for i, member in enumerate(aligned)])
        groups = torch.cat([member.groups for member in aligned])
        labels = {member.group_labels for member in aligned}
        n_groups = max(member.n_groups for member in aligned)
        shape = (len(aligned), *first.batch_shape, first.n_items)
        return build(rows, groups, shape, n_groups if len(labels) > 1 else first.group_labels or n_groups, first.items)

    @property
    def device(self) -> torch.device:
        return self.rows.device

    @property
    def n_members(self) -> int:
        """Number of clusterings in the batch."""
        return math.prod(self.batch_shape)

    @lazy_property
    def lengths(self) -> Tensor:
        """Number of groups of each item, ``(members * n_items,)`` int64."""
        return torch.bincount(self.rows, minlength=self.n_members * self.n_items)

    @lazy_property
    def starts(self) -> Tensor:
        """First entry of each item in ``groups``, ``(members * n_items,)`` int64."""
        return starts_of(self.lengths)

    @lazy_property
    def group_sizes(self) -> Tensor:
        """Number of items of each group, ``(*batch, K)`` int64."""
        keys = self.rows // max(self.n_items, 1) * self.n_groups + self.groups
        sizes = add_at(keys, torch.ones_like(keys), self.n_members * self.n_groups)
        return sizes.view(*self.batch_shape, self.n_groups)

    @lazy_property
    def is_partition(self) -> Tensor:
        """Whether every item has exactly one group, ``(*batch,)`` bool."""
        return (self.lengths == 1).view(*self.batch_shape, self.n_items).all(-1)

    @lazy_property
    def patterns(self) -> tuple[Tensor, int]:
        """Return (a code for the set of groups of each item, the number of codes).

        Codes are ``(members * n_items,)``, equal for equal sets of a batch member, and ascend by member.
        """
        member = torch.arange(self.n_members, device=self.device).repeat_interleave(self.n_items)
        codes, step, most = member, 0, self.n_members
        active = (self.lengths > 0).nonzero().squeeze(-1)
        while active.shape[0]:  # reads the next group of each item, until the longest set ends
            keys = codes[active] * self.n_groups + self.groups[self.starts[active] + step]
            ranks, count = dense_ranks(keys, most * self.n_groups)
            codes, step, most = codes.index_copy(0, active, ranks), step + 1, max(count, most)
            active = active[self.lengths[active] > step]
        # codes of different steps are not comparable, so the length of the set is part of the key
        return dense_ranks((member * (step + 1) + self.lengths) * most + codes, self.n_members * (step + 1) * most)

    def to_matrix(self) -> Tensor:
        """Indicator matrices, ``(*batch, N, K)`` bool.

        Raises:
            ValueError: the matrices do not fit in memory.
        """
        got = f"{self.n_members} x {self.n_items} x {self.n_groups} (rows and groups list the ones)"
        with explain_out_of_memory(f"to_matrix: expected matrices that fit in memory; got {got}"):
            flat = torch.zeros(self.n_members * self.n_items, self.n_groups, dtype=torch.bool, device=self.device)
        flat[self.rows, self.groups] = True
        return flat.view(*self.batch_shape, self.n_items, self.n_groups)

    def to(self, device: Any) -> "Memberships":
        """The same memberships on another device."""
        device = resolve_device(device, {})
        return replace(self, rows=self.rows.to(device), groups=self.groups.to(device))

    def expand(self, batch_shape: Sequence[int]) -> "Memberships":
        """The same memberships, broadcast to a larger batch."""
        return self._take(self._member_numbers().expand(torch.Size(batch_shape)))

    def __getitem__(self, key: Any) -> "Memberships":
        """Members of the batch, by any index into its dimensions."""
        if not self.batch_shape:
            raise IndexError("memberships: expected a batch; got a single clustering, which has no index")
        return self._take(index_batch(self._member_numbers(), key, "memberships"))

    def view(self) -> "Memberships":
        """A new object with the same tensors; it does not keep this one alive."""
        view = replace(self)
        object.__setattr__(view, "_memo", self._memo)
        return view

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles leave out all derived values."""
        values = (self.rows, self.groups, self.batch_shape, self.n_items, self.n_groups, self.items, self.group_labels)
        return Memberships, values

    def __repr__(self) -> str:
        shape = f"batch_shape={tuple(self.batch_shape)}, " if self.batch_shape else ""
        return f"Memberships({shape}n_items={self.n_items}, n_groups={self.n_groups}, device='{self.device}')"

    def _member_numbers(self) -> Tensor:
        return torch.arange(self.n_members, device=self.device).view(self.batch_shape)

    def _take(self, numbers: Tensor) -> "Memberships":
        items = torch.arange(self.n_items, device=self.device)
        chosen = (numbers.reshape(-1, 1) * self.n_items + items).flatten()
        rows, at = ranges(self.starts[chosen], self.lengths[chosen])
        return replace(self, rows=rows, groups=self.groups[at], batch_shape=numbers.shape)


def align(members: Sequence[Memberships]) -> list[Memberships]:
    """The same memberships over the same items in the same order."""
    first = members[0]
    if all(member.items == first.items for member in members):
        numbers = sorted({member.n_items for member in members})
        if len(numbers) > 1:
            raise ValueError(f"memberships: expected the same number of items on both sides; got {numbers}")
        return list(members)
    if any(member.items is None for member in members):
        raise ValueError("items: expected names on both sides or on neither; got one side without (pass items=...)")
    order: dict[Hashable, int] = {}
    for member in members:
        found = names_of_two_types(first.items or (), member.items or ())
        if found is not None:
            warnings.warn(f"items: {found}", UserWarning, stacklevel=5)
        for name in member.items or ():
            order.setdefault(name, len(order))
    return [_renumbered(member, order) for member in members]


def _renumbered(member: Memberships, order: dict[Hashable, int]) -> Memberships:
    new = torch.tensor([order[name] for name in member.items or ()], dtype=torch.int64, device=member.device)
    old = max(member.n_items, 1)
    rows = member.rows // old * len(order) + new[member.rows % old] if member.n_items else member.rows
    shape, labels = (*member.batch_shape, len(order)), member.group_labels
    return build(rows, member.groups, shape, member.n_groups if labels is None else labels, tuple(order))


@on_one_thread
def build(
    rows: Tensor,
    groups: Tensor,
    shape: Sequence[int],
    labels: tuple[Hashable, ...] | int,
    items: tuple[Hashable, ...] | None = None,
    device: Any = None,
) -> Memberships:
    """Memberships from entries in any order, possibly repeated.

    ``rows`` are positions of items in the batch, ``shape`` is ``(*batch, number of items)``, ``labels`` the names of
    the groups or their number.
    """
    n_groups, named = (labels, None) if isinstance(labels, int) else (len(labels), labels)
    keys = rows * max(n_groups, 1) + groups
    if not bool((keys[1:] > keys[:-1]).all()):
        keys = torch.unique(keys)
    keys = keys if device is None else keys.to(resolve_device(device, {}))
    rows, groups = keys // max(n_groups, 1), keys % max(n_groups, 1)
    return Memberships(rows, groups, torch.Size(shape[:-1]), shape[-1], n_groups, items, named)


def of_plain(value: Mapping[Any, Any] | Iterable[Any], device: Any = None) -> tuple[Memberships, str | None]:
    """Memberships of a mapping of items to groups, or of a list of groups, and a sign of another meaning, if any."""
    if isinstance(value, Mapping):
        by_item = inputs.groups_by_item(value)
        return Memberships.from_dict(by_item, device=device), inputs.doubt_of(by_item)
    groups = [inputs.plain_collection(group, "groups", f"in group {number}") for number, group in enumerate(value)]
    return Memberships.from_groups(groups, device=device), inputs.doubt_of(groups)


def _by_item(lists: list[Any], where: Callable[[int], str], items: Any, device: Any) -> Memberships:
    rows, groups, labels = inputs.encode_lists(lists, "memberships", where)
    return build(rows, groups, (len(lists),), labels, inputs.item_names(items, len(lists)), device)


def _prefixes(path: Any, where: str) -> list[tuple[Hashable, ...]]:
    if isinstance(path, set | frozenset):
        raise ValueError(f"paths: expected an ordered path {where}; got a set")
    steps = tuple(inputs.plain_name(step, "paths", where) for step in inputs.plain_collection(path, "paths", where))
    return [steps[: end + 1] for end in range(len(steps))]
