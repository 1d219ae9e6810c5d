"""The two states of an accumulator: dense tables of given sizes, and cells by label, whose number grows."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells, SpreadCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_cells_fit
from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting import dispatch
from torchclusteval.counting.by_group import count_considered_by_group, count_groups, join_groups, tables_of_groups
from torchclusteval.counting.margins import with_margins
from torchclusteval.labels.absent import AbsentGroup, group_among_codes, repeat_last
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.groups_of_items import ItemGroups
from torchclusteval.labels.keeping import count_considered
from torchclusteval.labels.options import LabelOptions
from torchclusteval.streaming import distributed
from torchclusteval.streaming.growing_cells import GrowingCells, LabelledCells, cell_keys
from torchclusteval.streaming.label_vocabulary import LabelVocabulary, kind_of
from torchclusteval.tables import ContingencyTables

Absent = tuple[AbsentGroup | None, AbsentGroup | None]
_SENT_CELLS = 1 << 21  # cells of a rank that travel at a time
_ODD = -7046029254386353131  # 2^64 over the golden ratio, to spread the keys of cells


class FixedState:
    """Dense tables of given sizes; only ``load_state_dict`` synchronises with the device."""

    vocabularies: tuple[LabelVocabulary, ...] = ()

    def __init__(
        self, options: LabelOptions, batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        assert options.num_classes is not None
        assert options.num_clusters is not None
        self._batch_shape, self._num_groups = batch_shape, options.num_groups
        self._absent = _absent_codes(options)
        more = [int(group is not None and not group.stays) for group in self._absent]
        self._has_void = options.has_void
        columns = options.num_clusters + (options.noise == "cluster") + more[1]
        sizes = options.num_classes + more[0] + self._has_void, columns
        tables = torch.Size((*batch_shape, *(() if options.num_groups is None else (options.num_groups,))))
        with _explain_too_large(tables, sizes, "leave the sizes out: tables then grow with the labels"):
            self.shape = torch.Size((*tables, *sizes))
            # One extra cell counts the excluded items.
            self.flat = torch.zeros(self.shape.numel() + 1, dtype=dtype, device=device)
            self.n_considered = torch.zeros(tables, dtype=dtype, device=device)  # (*batch,) unmasked items, weight

    @property
    def device(self) -> torch.device:
        return self.flat.device

    @on_one_thread
    def count(self, pair: EncodedPair) -> Tensor:
        """Counts of a chunk alone, ``(*batch, R, C)``."""
        return dispatch.count_dense(self._with_noise_column(pair)).counts

    @on_one_thread
    def add(self, pair: EncodedPair, groups: ItemGroups | None = None) -> None:
        considered = pair.n_considered
        if groups is not None:
            considered = count_considered_by_group(groups, pair.weights)
            pair = join_groups(pair, groups, self._batch_shape)
        elif considered is None:
            considered = count_considered(pair.mask, pair.weights, pair.n_items, pair.device)
        self.n_considered = _in_64_bits(self.n_considered + considered, self._num_groups and -1)
        self.flat = dispatch.add_dense(self.flat, self._with_noise_column(pair))

    def _with_noise_column(self, pair: EncodedPair) -> EncodedPair:
        """A pair for these tables, even if the type of its labels cannot hold the noise label."""
        same = pair.pred.size == self.shape[-1]
        return pair if same else replace(pair, pred=replace(pair.pred, size=self.shape[-1]))

    def add_counts(self, counts: Tensor) -> None:
        """Add float tables, ``(*batch, R, C)``, with their gradient."""
        missing = [own - given for own, given in zip(self.shape[-2:], counts.shape[-2:], strict=True)]
        counts = torch.nn.functional.pad(counts, (0, missing[1], 0, missing[0])) if any(missing) else counts
        self.flat = self.flat + torch.nn.functional.pad(counts.reshape(-1), (0, 1))
        self.n_considered = self.n_considered + counts.detach().sum((-2, -1))

    @on_one_thread
    def merge(self, other: "FixedState") -> None:
        considered = self.n_considered + other.n_considered.to(self.device)
        self.n_considered = _in_64_bits(considered, self._num_groups and -1)
        self.flat = self.flat + other.flat.to(self.device)

    def all_reduce(self, group: Any) -> "FixedState":
        self.flat, self.n_considered = distributed.all_reduce_sum([self.flat, self.n_considered], group)
        return self

    def spread(self, group: Any) -> ContingencyTables:
        """The tables of all ranks, without a change of this state."""
        return copy(self).all_reduce(group).tables()

    @on_one_thread
    def tables(self) -> ContingencyTables:
        cells = DenseCells(self.flat[:-1].view(self.shape).clone())
        tables = _split_tables(cells, self.n_considered, self._absent, (None, None), self._has_void)
        if self._num_groups is not None:
            tables.groups = torch.arange(self._num_groups, device=self.device)
        return tables

    def to(self, device: torch.device) -> None:
        self.flat, self.n_considered = self.flat.to(device), self.n_considered.to(device)

    def check(self) -> None:
        """Raise unless these can be counts of items."""
        _check_counts(torch.arange(len(self.flat) - 1) // math.prod(self.shape[-2:]), self.flat[:-1], self.n_considered)

    def state_dict(self) -> dict[str, Any]:
        counts = self.flat[:-1].view(self.shape).detach().clone()
        return {"counts": counts, "considered": self.n_considered.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _expect_tensor(state, "counts", self.shape, self.flat.dtype)
        _expect_tensor(state, "considered", self.n_considered.shape, self.flat.dtype)
        self.flat = torch.nn.functional.pad(state["counts"].to(self.device).reshape(-1), (0, 1))
        self.n_considered = state["considered"].to(self.device, copy=True)


class GrowingState:
    """The cells so far, by label, and by group: table ``group * B + i`` is table i of the batch of a group."""

    def __init__(
        self, options: LabelOptions, batch_shape: torch.Size, dtype: torch.dtype, device: torch.device, *, by: bool
    ) -> None:
        self._options, self._batch_shape, self._size = options, batch_shape, batch_shape.numel()
        absent = _absent_codes(options)
        last = options.noise_label if options.noise != "ignore" else options.absent_pred
        void = options.ignore_index if options.has_void else None
        self._sides = (
            LabelVocabulary("labels_true", options.num_classes, options.absent_true, absent[0], void),
            LabelVocabulary("labels_pred", options.num_clusters, last, absent[1]),
        )
        self.cells = GrowingCells(LabelledCells.empty(dtype, device))
        self._groups = LabelVocabulary("by", options.num_groups) if by else None
        self.vocabularies = (*self._sides, *filter(None, [self._groups]))
        groups = options.num_groups or int(not by)  # so far
        with _explain_too_large(torch.Size((*batch_shape, groups)), (1, 1), "use several accumulators"):
            self._considered = torch.zeros(groups, self._size, dtype=dtype, device=device)

    @property
    def device(self) -> torch.device:
        return self._considered.device

    @property
    def n_considered(self) -> Tensor:
        """``(*batch,)`` or ``(*batch, G)`` unmasked items, or their weight."""
        if self._groups is None:
            return self._considered.reshape(self._batch_shape)
        order = self._groups.ids_in_order()[1].to(self.device)
        return self._considered[order].mT.reshape(*self._batch_shape, len(order))

    def _number_groups(self, kind: Any, ids: Any) -> Tensor:
        """The number of each group, with room for the tables of new ones."""
        assert self._groups is not None
        numbers = self._groups.number_ids(kind, ids).to(self.device)
        new = max(0, len(self._groups.tokens) - len(self._considered))  # a given number of groups has no tokens
        self._considered = torch.cat([self._considered, self._considered.new_zeros(new, self._size)])
        return numbers

    def _consider(self, pair: EncodedPair, sums: Tensor) -> None:
        """Add the items of a chunk without groups, of which the sums ``(B,)`` are in the tables."""
        considered = sums.reshape(self._batch_shape) if pair.n_considered is None else pair.n_considered
        self._considered = _in_64_bits(self._considered + considered.expand(self._batch_shape).reshape(-1))

    @on_one_thread
    def count(self, pair: EncodedPair) -> Tensor:
        """Class, cluster and count of the cells of a chunk alone, of one table, ``(Z, 3)`` int64."""
        table, row, column, counts = self._counted(pair).nonzero()
        numbers = self._numbers(pair, table, row, column)
        for side, x in zip(self._sides, numbers, strict=True):
            if side.kind == "unsigned" and bool((x < 0).any()):  # cells alone do not say so
                got = "larger uint64 numbers (pass .view(torch.int64))"
                raise ValueError(f"{side.argument}: expected labels below 2**63; got {got}")
        return torch.stack([*numbers, counts], dim=1)

    def _counted(self, pair: EncodedPair) -> Cells:
        dense = dispatch.resolve_layout("auto", pair, may_sync=True) == "dense"
        return dispatch.count_dense(pair) if dense else dispatch.count_sparse(pair)

    def _numbers(self, pair: EncodedPair, batch: Tensor, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers of the labels of cells, ``(Z,)`` each."""
        return self._sides[0].numbers_of(pair.true, batch, row), self._sides[1].numbers_of(pair.pred, batch, column)

    @on_one_thread
    def add(self, pair: EncodedPair, groups: ItemGroups | None = None) -> None:
        if groups is not None:
            self._add_groups(pair, groups)
            return
        cells = self._counted(pair)
        plain = pair.true.absent is pair.pred.absent is None and not pair.has_void
        some = pair.n_items and (pair.mask is None or bool(pair.mask.any()))  # else the kind of its labels is no kind
        if isinstance(cells, DenseCells) and plain and some:
            counts = cells.counts.reshape(-1, *cells.counts.shape[-2:]).to(self._considered.dtype)
            self._consider(pair, counts.sum((-2, -1)))
            self.cells.add_dense(self._sides[0].numbers(pair.true), self._sides[1].numbers(pair.pred), counts)
        else:
            table, row, column, counts = cells.nonzero()
            counts = counts.to(self._considered.dtype)
            self._consider(pair, self._considered.new_zeros(self._size).index_add(0, table, counts))
            self.cells.add(LabelledCells.of(table, *self._numbers(pair, table, row, column), counts))

    def _add_groups(self, pair: EncodedPair, groups: ItemGroups) -> None:
        numbers = self._number_groups(kind_of(groups.ids), groups.ids)
        table, row, column, counts = count_groups(pair, groups, self._batch_shape).nonzero()
        batch, group = (table.div(max(1, groups.size), rounding_mode="floor"), table.remainder(max(1, groups.size)))
        true, pred = self._numbers(pair, batch, row, column)
        table = numbers[group] * self._size + batch
        considered = count_considered_by_group(groups, pair.weights).expand(*self._batch_shape, groups.size)
        by_group = considered.reshape(self._size, groups.size).mT.to(self._considered.dtype)
        self._considered = _in_64_bits(self._considered.index_add(0, numbers, by_group))
        self.cells.add(LabelledCells.of(table, true, pred, counts.to(self._considered.dtype)))

    def expect_kinds_of(self, other: "GrowingState") -> None:
        """Accept the same labels as another state, and no others."""
        for side, its in zip(self._sides, other._sides, strict=True):
            side.update(its.kind, [])

    @property
    def _head(self) -> tuple[list[Any], Any]:
        """The labels of both sides and the ids of groups, in the order of their numbers."""
        labels, ids = [(side.kind, list(side.tokens)) for side in self._sides], self._groups
        return labels, None if ids is None else (ids.kind, list(ids.tokens))

    def _take(self, labels: Sequence[Any], ids: Any) -> tuple[list[Tensor | None], Tensor]:
        """Add the labels and ids of another state; the number here of each of them (None: the same)."""
        maps = [own.update(*its) for own, its in zip(self._sides, labels, strict=True)]
        if self._groups is None:
            return maps, torch.zeros(1, dtype=torch.int64, device=self.device)
        return maps, self._number_groups(*ids)

    @on_one_thread
    def merge(self, other: "GrowingState") -> None:
        cells = other.cells.merged().to(self.device)
        maps, numbers = self._take(*other._head)
        if self._groups is not None or maps != [None, None]:
            table, row, column = cells.places
            group = table.div(max(1, self._size), rounding_mode="floor")
            true, pred = (
                labels[place] if new is None else new.to(labels.device)[labels][place]
                for labels, place, new in zip((cells.classes, cells.clusters), (row, column), maps, strict=True)
            )
            cells = LabelledCells.of(table + (numbers[group] - group) * self._size, true, pred, cells.counts)
        self._considered = _in_64_bits(self._considered.index_add(0, numbers, other._considered.to(self.device)))
        self.cells.add(cells)

    def all_reduce(self, group: Any) -> "GrowingState":
        """The sum over the ranks, whose numbers are the same on all of them."""
        joint = self._joint(group)
        joint.merge(self)
        dtype = self._considered.dtype
        parts = distributed.all_gather_ragged(joint.cells.merged().pack(), group)
        joint.cells = GrowingCells(LabelledCells.unpack(torch.cat(parts), dtype).merged())
        (joint._considered,) = distributed.all_reduce_sum([joint._considered], group)
        return joint

    @on_one_thread
    def spread(self, group: Any) -> ContingencyTables:
        """The tables of all ranks, with each cell on one rank, chosen by a hash of its labels."""
        if self._groups is not None or self._options.noise == "singletons":
            got = "groups of items (by)" if self._groups is not None else "noise='singletons'"
            raise ValueError(f"group: expected tables whose cells can be spread; got {got} (see all_reduce)")
        joint = self._joint(group)
        cells, (maps, _) = self.cells.merged(), joint._take(*self._head)
        own = [
            x if new is None else new.to(x.device)[x]
            for x, new in zip((cells.classes, cells.clusters), maps, strict=True)
        ]
        classes, clusters = (_union_of_ranks(x, group) for x in own)
        last, zero = torch.tensor([self._size - 1]), torch.tensor([0])
        cell_keys(last, zero, zero, (len(classes), len(clusters)))  # all ranks raise if they are too many
        joint.cells = GrowingCells(
            replace(LabelledCells.empty(cells.counts.dtype, self.device), classes=classes, clusters=clusters)
        )
        ranks = distributed.all_gather_objects(len(cells), group)
        for start in range(0, max(ranks), _SENT_CELLS):
            keys, counts = (x[start : start + _SENT_CELLS] for x in (cells.keys, cells.counts))
            keys = LabelledCells(keys, counts, *own)._keys_among(classes, clusters)
            sent = torch.stack([keys, counts.view(torch.int64)], 1)
            keys, counts = distributed.all_to_all(sent, _owners(keys, len(ranks)), group).mT.contiguous()
            joint.cells.add(LabelledCells(keys, counts.view(cells.counts.dtype), classes, clusters))
        with distributed.raised_together(group):
            listed = joint._listed()
        joint.cells = GrowingCells(LabelledCells.empty(cells.counts.dtype, self.device))  # frees them
        own_cells, labels = listed.cells(self._batch_shape, False), listed.labels
        tables = _split_tables(own_cells, self.n_considered, listed.absent, labels, self._options.has_void)
        everywhere = sum(distributed.all_gather_objects(len(listed.table), group))

        def reduced(x: Tensor, maximum: bool = False) -> Tensor:
            return distributed.all_reduce_sum([x], group, maximum)[0]

        shape, margins = tables._cells.shape, tables._margins
        return tables._replace(
            cells=SpreadCells(self._batch_shape, shape, *tables.cells(), everywhere, reduced),
            considered=reduced(tables.n_considered),
            margins=None if margins is None else margins.each(reduced),
        )

    def _joint(self, group: Any) -> "GrowingState":
        """A state without items, with the labels of all ranks."""
        own = self._options, self._batch_shape, self._considered.dtype, self.device
        joint = GrowingState(*own, by=self._groups is not None)
        for head in distributed.all_gather_objects(self._head, group):
            joint._take(*head)
        return joint

    @on_one_thread
    def tables(self) -> ContingencyTables:
        _in_64_bits(self._considered.cpu())
        listed, considered = self._listed(), self.n_considered
        if self._groups is None:
            items = int(considered.max()) if considered.numel() else 0
            fits = dispatch.fits_dense(listed.shape[0] * listed.shape[1], self._size, items)
            own = listed.cells(self._batch_shape, fits)
            return _split_tables(own, considered, listed.absent, listed.labels, self._options.has_void)
        ids, order = self._groups.ids_in_order()
        order = order.to(self.device)
        group = listed.table.div(max(1, self._size), rounding_mode="floor")
        table = (listed.table - group * self._size) * len(order) + order.argsort()[group]
        cells = listed._replace(table=table).cells(torch.Size([considered.numel()]), False)
        fixed = (self._options.num_classes is not None, self._options.num_clusters is not None)
        total = int(considered.sum()) if considered.numel() else 0
        one, other = (
            labels if group is None or group.stays else repeat_last(labels)
            for labels, group in zip(listed.labels, listed.absent, strict=True)
        )
        parts, packed = tables_of_groups(
            cells,
            (one, other),
            considered.shape,
            "auto",
            total,
            sizes=fixed,
            absent=listed.absent,
            considered=considered,
            has_void=self._options.has_void,
        )
        ids = ids.to(self.device) if isinstance(ids, Tensor) else ids
        tables = ContingencyTables._of(parts._replace(groups=ids))
        return tables if packed else tables._drop_empty_groups(rows=not fixed[0], columns=not fixed[1])

    def _listed(self) -> "_Listed":
        """The cells in tables of all labels so far."""
        cells, noise = self.cells.merged(), self._options.noise
        table, row, column = cells.places
        for side, labels, place in zip(self._sides, (cells.classes, cells.clusters), (row, column), strict=True):
            side.check_kinds(table, labels, place)
        places, rows, classes, _ = self._sides[0].rank(cells.classes)
        void, has_void = self._sides[0].number_of_void(), int(self._options.has_void)
        in_void = None if void is None else cells.classes.eq(void)[row]
        row = places[row]
        places, columns, clusters, is_last = self._sides[1].rank(cells.clusters)
        column, counts, more = places[column], cells.counts, 0
        if noise == "singletons":
            table, row, column, counts, more = _singletons(table, row, column, counts, column == columns)
        elif noise == "cluster":
            more = int(self._options.num_clusters is not None or bool(is_last.any()))
        names = classes if rows else None, clusters if columns + more else None
        if more and names[1] is not None:
            names = names[0], append_label(names[1], self._options.noise_label, more)
        counted = (self._options.absent_true, rows), (self._options.absent_pred, columns)
        absent = [
            None if label is None else side.absent or AbsentGroup(count, False)
            for side, (label, count) in zip(self._sides, counted, strict=True)
        ]
        size = [
            count + int(group is not None and not group.stays)
            for (_, count), group in zip(counted, absent, strict=True)
        ]
        shape = max(1, size[0]) + has_void, max(1, size[1] + more)
        row = row if in_void is None else row.masked_fill(in_void, shape[0] - 1)
        return _Listed(table, row, column, counts, shape, names, (absent[0], absent[1]))

    def to(self, device: torch.device) -> None:
        self.cells = self.cells.to(device)
        self._considered = self._considered.to(device)

    def check(self) -> None:
        """As of :class:`FixedState`."""
        _check_counts(self.cells.merged().places[0], self.cells.merged().counts, self._considered)

    def state_dict(self) -> dict[str, Any]:
        classes, clusters = ({"kind": side.kind, "words": list(side.tokens)} for side in self._sides)
        cells, considered = self.cells.merged().pack(), self._saved_considered().clone()
        state = {"cells": cells, "considered": considered, "classes": classes, "clusters": clusters}
        if self._groups is not None:
            state["groups"] = {"kind": self._groups.kind, "ids": list(self._groups.tokens)}
        return state

    def _saved_considered(self) -> Tensor:
        return self._considered.reshape(self._batch_shape if self._groups is None else (-1,))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        cells, ids = state["cells"], state.get("groups")
        heads = [(state[name]["kind"], state[name]["words"]) for name in ("classes", "clusters")]
        self._take(heads, ids and (ids["kind"], ids["ids"]))
        _expect_tensor(state, "considered", self._saved_considered().shape, self._considered.dtype)
        _expect_tensor(state, "cells", (*getattr(cells, "shape", ())[:1], 4), torch.int64)
        loaded = LabelledCells.unpack(cells.to(self.device), self._considered.dtype)
        for side, labels in zip(self._sides, (loaded.classes, loaded.clusters), strict=True):
            if side.kind != "integer" or side.size is not None:
                side.rank(labels)  # raises on labels that the side cannot have
        self.cells.add(loaded)
        self._considered = state["considered"].to(self.device, copy=True).reshape(self._considered.shape)


State = FixedState | GrowingState


def _owners(numbers: Tensor, ranks: int) -> Tensor:
    """For each number, the place of the responsible rank among the ranks."""
    return (numbers * _ODD).bitwise_right_shift(32).remainder(ranks)


def _union_of_ranks(labels: Tensor, group: Any) -> Tensor:
    """The labels of all ranks, ascending; no rank holds more than its own labels and these."""
    ranks = len(distributed.group_ranks(group) or ())
    share = distributed.all_to_all(labels[:, None], _owners(labels, ranks), group).unique()
    return torch.cat(distributed.all_gather_ragged(share[:, None], group)).reshape(-1).sort().values


class _Listed(NamedTuple):
    """The cells of tables of all labels so far, in any order; each comes once."""

    table: Tensor  # (Z,) flat number of the table
    row: Tensor  # (Z,)
    column: Tensor  # (Z,)
    counts: Tensor  # (Z,)
    shape: tuple[int, int]  # of a table
    labels: tuple[GroupLabels | None, GroupLabels | None]  # of rows and columns
    absent: Absent  # the rows and columns of items without one

    def cells(self, batch_shape: torch.Size, dense: bool) -> Cells:
        keys = cell_keys(self.table, self.row, self.column, self.shape)
        if dense:
            flat = self.counts.new_zeros(batch_shape.numel() * self.shape[0] * self.shape[1])
            return DenseCells(flat.index_add_(0, keys, self.counts).reshape(*batch_shape, *self.shape))
        ascends = bool((keys[1:] > keys[:-1]).all())
        order = None if ascends else keys.argsort()
        return SparseCells(batch_shape, self.shape, *(x if order is None else x[order] for x in self[:4]))


def _absent_codes(options: LabelOptions) -> Absent:
    """The row and the column of items without one, where labels are codes."""
    sides = ("absent_true", options.num_classes), ("absent_pred", options.num_clusters)
    true, pred = (
        None if (label := getattr(options, name)) is None or size is None else group_among_codes(label, size, name)
        for name, size in sides
    )
    return true, pred


def _split_tables(
    cells: Cells,
    considered: Tensor,
    absent: Absent,
    labels: tuple[GroupLabels | None, GroupLabels | None],
    has_void: bool,
) -> ContingencyTables:
    """Tables whose rows and columns of items without a group become margins; labels are those of the others."""
    parts = TableParts(cells, considered)
    parts = parts if absent == (None, None) else with_margins(parts, absent, has_void)
    return ContingencyTables._of(parts._replace(classes=labels[0], clusters=labels[1]))


def _explain_too_large(batch_shape: torch.Size, sizes: tuple[int, int], remedy: str) -> AbstractContextManager[None]:
    got = f"{math.prod(batch_shape)} tables of {sizes[0]} x {sizes[1]} ({remedy})"
    message = f"num_classes, num_clusters, num_groups, batch_shape: expected tables that fit in memory; got {got}"
    return check_cells_fit(math.prod(batch_shape) * sizes[0] * sizes[1], message)


def _in_64_bits(considered: Tensor, groups: int | None = 0) -> Tensor:
    """The items of tables; on the CPU, raise where those of one, or of all along ``groups``, outgrew int64."""
    n, is_whole = considered.numel(), not considered.dtype.is_floating_point
    if n and is_whole and considered.is_cpu and not torch.compiler.is_compiling():
        many = n > 1 and groups is not None and considered.shape[groups] > 1
        sums = considered.sum(groups, dtype=torch.float64) if many else None
        if int(considered.min() if n > 1 else considered) < 0 or (sums is not None and float(sums.max()) >= 2.0**63):
            raise ValueError("weights: expected a sum below 2**63 in all chunks; got more (weights=True adds floats)")
    return considered


def _expect_tensor(state: Mapping[str, Any], name: str, shape: Sequence[int], dtype: torch.dtype) -> None:
    x = state[name]
    if not isinstance(x, Tensor) or tuple(x.shape) != tuple(shape) or x.dtype != dtype:
        got = f"{tuple(x.shape)}, {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"state: expected {name} of shape {tuple(shape)}, {dtype}; got {got}")


def _check_counts(table: Tensor, counts: Tensor, considered: Tensor) -> None:
    """Raise unless loaded cells, by the number of their table, are counts of the items considered."""
    considered = considered.reshape(-1)
    for name, x in (("counts", counts), ("considered", considered)):
        if bool((wrong := ~(x >= 0) | x.isinf()).any()):
            raise ValueError(f"state: expected {name} of at least 0; got {x[wrong][0].item():g}")
    if bool(((table < 0) | (table >= len(considered))).any()):
        raise ValueError(f"state: expected cells of {len(considered)} tables; got others")
    sums = torch.zeros_like(considered).index_add(0, table.to(counts.device), counts)
    if bool((wrong := sums > considered * (1 + 1e-9)).any()):
        got = f"{sums[wrong][0].item():g} of {considered[wrong][0].item():g}"
        raise ValueError(f"state: expected no more items in a table than are considered; got {got}")


def _singletons(
    table: Tensor, row: Tensor, column: Tensor, counts: Tensor, noisy: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Cells in which each noise item has a column of its own, and the most such columns of a table."""
    order = torch.argsort(row, stable=True)  # by table and row, whatever the order of the chunks was
    order = order[table[order].argsort(stable=True)]
    each = torch.where(noisy, counts, 1)[order]  # columns for the noise of a class
    table, row, column, counts, noisy = (x[order].repeat_interleave(each) for x in (table, row, column, counts, noisy))
    # Number the noise of each table 0, 1, ...
    seen = noisy.long().cumsum(0)
    first = torch.searchsorted(table, table)
    number = torch.where(noisy, seen - 1 - torch.where(first > 0, seen[first - 1], 0), 0)
    more = int(number.max()) + 1 if bool(noisy.any()) else 0
    return table, row, column + number, torch.where(noisy, 1, counts), more
