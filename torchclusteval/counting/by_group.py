"""Tables of groups of items in one counting pass: the number of an item's group is part of its row.

Tables are then packed: where no size is given, a table has the rows and columns of its own group alone, in order.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins, split_margins
from torchclusteval.cells.parts import TableGroups, TableParts
from torchclusteval.counting import dispatch, sparse
from torchclusteval.labels.absent import AbsentGroup, drop_absent_label, repeat_last
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, expand_to_batch, select_groups
from torchclusteval.labels.groups_of_items import ItemGroups
from torchclusteval.labels.keeping import all_of

_ALWAYS_DENSE_CELLS = 1 << 20  # a batch of up to this many cells, or of a few per label, is dense
_CELLS_PER_LABEL = 4


Labels = tuple[GroupLabels | None, GroupLabels | None]  # of rows and columns


class PackedTables(NamedTuple):
    """Tables of the rows and columns that they have."""

    cells: Cells
    classes: GroupLabels | None  # (*batch, G, R)
    clusters: GroupLabels | None  # (*batch, G, C)
    rows: Tensor | None  # (*batch, G) how many of its rows a table has, the first ones; None: all of them
    columns: Tensor | None  # (*batch, G) likewise
    margins: Margins | None = None  # items that only one side groups; None: there are none
    neither: Tensor | None = None  # (*batch, G) items that neither side groups


class _PackedSide(NamedTuple):
    """The rows (columns) that are left to each of G groups of tables, the first ones of it."""

    codes: Tensor | None  # (G, R) code of each row; None: needs much more memory than the cells
    used: Tensor  # (G,) rows in use


def count_by_group(
    pair: EncodedPair, groups: ItemGroups, layout: str, *, sizes: tuple[bool, bool], may_sync: bool
) -> TableParts:
    """Count labels into a table for each group.

    Args:
        pair: the labels.
        groups: the group of each item.
        layout: ``"auto"``, ``"dense"`` or ``"sparse"``.
        sizes: whether the number of rows, of columns is given: they are then not packed.
        may_sync: as in ``resolve_layout``.
    """
    batch = groups.joint_batch(pair.batch_shape)
    shape, labels = torch.Size((*batch, groups.size)), (pair.true.group_labels, pair.pred.group_labels)
    names, shared = pair.names if len(batch) == 1 else None, groups.codes.dim() == 1
    considered = None if pair.n_considered is None else count_considered_by_group(groups, pair.weights).expand(shape)
    if all(sizes):
        as_rows = replace(pair, batch_shape=shape, n_items=max(1, pair.n_items // max(1, groups.size)))
        dense = dispatch.resolve_layout(layout, as_rows, may_sync=may_sync) == "dense"
        cells = _reshape(_count(pair, groups, batch, dense=dense), shape)
        margins = neither = None
        if pair.has_margins:
            cells, margins, neither = split_margins(cells, pair.true.absent, pair.pred.absent)
        # Sparse tables are scored as a few of them would be, which may be dense.
        rows, columns = (None if dense else torch.full(shape, x, device=pair.device) for x in cells.shape)
        of_groups = TableGroups(groups.ids, rows, columns, sizes, shared)
        return TableParts(cells, _less(considered, neither), None, None, names, of_groups, margins)
    every, n_labels = count_groups(pair, groups, batch), batch.numel() * pair.n_items
    absent = (pair.true.absent, pair.pred.absent)
    packed = packed_tables(every, labels, shape, layout, n_labels, sizes=sizes, shared=shared, absent=absent)
    of_groups = TableGroups(groups.ids, packed.rows, packed.columns, sizes, shared)
    considered = _less(considered, packed.neither)
    return TableParts(packed.cells, considered, packed.classes, packed.clusters, names, of_groups, packed.margins)


def _less(considered: Tensor | None, neither: Tensor | None) -> Tensor | None:
    return considered if considered is None or neither is None else considered - neither


def common_tables(cells: Cells, groups: TableGroups) -> tuple[Cells, TableGroups]:
    """Tables without margins of the rows and columns that have items of both sides."""
    batch = cells.batch_shape
    flat = _reshape(cells, torch.Size([batch.numel()]))
    shape = batch or torch.Size([1])  # that of a group by itself is a batch of one
    packed = packed_tables(flat, (None, None), shape, cells.layout, 0, sizes=groups.fixed, shared=groups.shared)
    rows, columns = (None if x is None else x.reshape(batch) for x in (packed.rows, packed.columns))
    return _reshape(packed.cells, batch), replace(groups, rows=rows, columns=columns)


def count_groups(pair: EncodedPair, groups: ItemGroups, batch: torch.Size) -> Cells:
    """Tables ``(T, R, C)`` of all groups of a batch of clusterings over all codes, in the layout that fits."""
    possible = batch.numel() * groups.size * pair.true.size * pair.pred.size
    return _count(pair, groups, batch, dense=_is_small(possible, batch.numel() * pair.n_items))


def packed_tables(
    cells: Cells,
    labels: Labels,
    shape: torch.Size,
    layout: str,
    n_labels: int,
    *,
    sizes: tuple[bool, bool],
    shared: bool = True,
    absent: tuple[AbsentGroup | None, AbsentGroup | None] = (None, None),
) -> PackedTables:
    """Tables ``(T, R, C)`` over all codes as a batch of tables of the rows and columns that they have.

    Args:
        cells: the tables.
        labels: those of the rows and columns.
        shape: of the batch, ``(*batch, G)``.
        layout: as in ``count_by_group``.
        n_labels: items behind the tables.
        sizes: sides that keep all their rows or columns.
        shared: whether a group has the same items in all clusterings of the batch; its tables then have the rows and
            columns of all of them, as one call with its items gives them.
        absent: the row and the column of items that one side alone groups, which become margins.
    """
    firsts = tuple(group is not None and not fixed for group, fixed in zip(absent, sizes, strict=True))
    if any(firsts):
        cells, labels = _absent_first(cells, labels, absent, firsts)
        true, pred = (_FIRST if first else group for group, first in zip(absent, firsts, strict=True))
        absent = (true, pred)
    high, wide = (
        shape[-1] if shared and (of_side is None or of_side.ndim == 1) else shape.numel() for of_side in labels
    )
    if isinstance(cells, DenseCells):
        counts, rows = _pack_dense(cells.counts, 1, high, keep=sizes[0], first=firsts[0])
        counts, columns = _pack_dense(counts, 2, wide, keep=sizes[1], first=firsts[1])
        packed: Cells = DenseCells(counts.contiguous())
    else:
        table = cells.batch
        row, rows, height = _pack_listed(table, cells.row, cells.shape[0], high, keep=sizes[0], first=firsts[0])
        column, columns, width = _pack_listed(table, cells.column, cells.shape[1], wide, keep=sizes[1], first=firsts[1])
        packed = SparseCells(cells.batch_shape, (height, width), table, row, column, cells.values)
    classes, clusters = (
        _labels_of_packed(of_side, side.codes, shape) for of_side, side in zip(labels, (rows, columns), strict=True)
    )
    own: list[Tensor | None] = [None, None]
    if not all(sizes):
        own = [
            _by_table((side.used - int(group is not None and not group.stays)).clamp(min=1), shape)
            for side, group in zip((rows, columns), absent, strict=True)
        ]
    stored = _reshape(_in_layout(packed, layout, n_labels), shape)
    if absent == (None, None):
        return PackedTables(stored, classes, clusters, own[0], own[1])
    rest, margins, neither = split_margins(stored, *absent)
    classes, clusters = drop_absent_label(classes, absent[0]), drop_absent_label(clusters, absent[1])
    return PackedTables(rest, classes, clusters, own[0], own[1], margins, neither)


_FIRST = AbsentGroup(0, False)


def _absent_first(
    cells: Cells, labels: Labels, absent: tuple[AbsentGroup | None, AbsentGroup | None], firsts: tuple[bool, ...]
) -> tuple[Cells, Labels]:
    """The same tables with the row (column) of items without a group before the others, where it is packed."""
    orders, named = [], list(labels)
    for side, (group, size) in enumerate(zip(absent, cells.shape, strict=True)):
        order = torch.arange(size, device=cells.values.device)
        of_side = labels[side]
        if group is not None and firsts[side]:
            order = torch.where(order == 0, group.index, order - (order <= group.index).long())
            if of_side is not None:
                of_side = repeat_last(of_side) if of_side.shape[-1] == group.index else of_side
                named[side] = select_groups(of_side, order)
        orders.append(order)
    if isinstance(cells, DenseCells):
        moved: Cells = DenseCells(cells.counts.index_select(-2, orders[0]).index_select(-1, orders[1]))
    else:
        row, column = (order.argsort()[x] for order, x in zip(orders, (cells.row, cells.column), strict=True))
        moved = SparseCells(cells.batch_shape, cells.shape, cells.batch, row, column, cells.values)
    return moved, (named[0], named[1])


def join_groups(pair: EncodedPair, groups: ItemGroups, batch: torch.Size) -> EncodedPair:
    """The labels with the group of an item as part of its row: tables ``(*batch, G * R, C)``."""
    rows, columns = pair.true.size, pair.pred.size
    true, inside = pair.true.codes.long() - pair.true.offset, groups.inside
    if not pair.codes_in_range:
        pred = pair.pred.codes.long() - pair.pred.offset
        inside = all_of(inside, true >= 0, true < rows, pred >= 0, pred < columns)
    return replace(
        pair,
        true=EncodedLabels(groups.codes * rows + true, 0, groups.size * rows, None),
        batch_shape=batch,
        mask=all_of(pair.mask, inside),
        codes_in_range=True,
        n_considered=None,
    )


def _is_small(cells: int, n_labels: int) -> bool:
    return cells <= max(_ALWAYS_DENSE_CELLS, _CELLS_PER_LABEL * n_labels)


def _count(pair: EncodedPair, groups: ItemGroups, batch: torch.Size, *, dense: bool) -> Cells:
    """Tables ``(T, R, C)`` over all codes."""
    size, rows, columns = batch.numel() * groups.size, pair.true.size, pair.pred.size
    if not size:
        dtype = torch.int64 if pair.weights is None else pair.weights.dtype
        return DenseCells(torch.zeros(0, rows, columns, dtype=dtype, device=pair.device))
    joined = join_groups(pair, groups, batch)
    if dense:
        return DenseCells(dispatch.count_dense(joined).counts.view(size, rows, columns))
    if size * rows * columns >= 2**63:
        got = f"{size} tables of {rows} x {columns}"
        raise ValueError(f"by: expected groups and labels of less than 2**63 cells in all; got {got}")
    cells = sparse.count_tables(joined)
    group = cells.row.div(rows, rounding_mode="floor")
    table = cells.batch * groups.size + group
    return SparseCells(torch.Size([size]), (rows, columns), table, cells.row - group * rows, cells.column, cells.values)


def count_considered_by_group(groups: ItemGroups, weights: Tensor | None) -> Tensor:
    """Unmasked items, or their weight, of each group, ``(*some_batch, G)``."""
    amounts = torch.ones((), dtype=torch.int64, device=groups.codes.device) if weights is None else weights
    kept = all_of(groups.mask, groups.inside)
    codes = groups.codes
    if kept is not None:
        amounts, codes = torch.where(kept, amounts, 0), torch.where(kept, codes, 0)
    amounts, codes = torch.broadcast_tensors(amounts, codes)
    batch, n = codes.shape[:-1], codes.shape[-1]
    tables = torch.arange(batch.numel(), device=codes.device).unsqueeze(-1) * groups.size
    sums = amounts.new_zeros(batch.numel() * groups.size)
    if not len(sums):
        return sums.reshape(*batch, groups.size)
    flat = (codes.reshape(-1, n) + tables).reshape(-1) if n else codes.reshape(-1)
    return sums.index_add(0, flat, amounts.reshape(-1)).reshape(*batch, groups.size)


# --- tables of the rows and columns that they have ----------------------------------------------------------


def _by_table(x: Tensor, shape: torch.Size) -> Tensor:
    return x.reshape(shape) if len(x) == shape.numel() else x.expand(shape)


def _pack_dense(counts: Tensor, dim: int, groups: int, *, keep: bool, first: bool) -> tuple[Tensor, _PackedSide]:
    """Tables, number b * groups + g of clustering b, with the rows (columns) of group g first.

    With ``first``, row (column) 0 is in all of them.
    """
    size, repeats = counts.shape[dim], len(counts) // max(1, groups)
    order = torch.arange(size, device=counts.device).expand(groups, size)
    if keep or not groups:
        return counts, _PackedSide(order, order.new_full((groups,), size))
    present = (counts.detach().sum(3 - dim) > 0).view(repeats, groups, size).any(0)
    if first:
        present[..., 0] = True
    used = present.sum(-1)
    lacking = (used < size).nonzero().squeeze(-1)
    if len(lacking):
        packed = (~present[lacking]).byte().sort(dim=-1, stable=True).indices
        order = order.index_copy(0, lacking, packed)
        tables = (torch.arange(repeats, device=counts.device).unsqueeze(-1) * groups + lacking).reshape(-1)
        part = counts[tables]
        moved = part.gather(dim, packed.repeat(repeats, 1).unsqueeze(3 - dim).expand_as(part))
        counts = counts.index_copy(0, tables, moved)
    width = max(1, int(used.max()))
    return counts.narrow(dim, 0, width), _PackedSide(order[:, :width], used.clamp(min=1))


def _pack_listed(
    table: Tensor, code: Tensor, size: int, groups: int, *, keep: bool, first: bool
) -> tuple[Tensor, _PackedSide, int]:
    """The new row (column) of each listed cell, the side, and its width; ``first`` as in ``_pack_dense``."""
    if keep or not groups:
        return code, _PackedSide(None, torch.full((groups,), size, device=code.device)), size
    keys = table.remainder(groups) * size + code
    if first:
        keys = torch.cat([keys, torch.arange(groups, device=keys.device) * size])
    distinct, place = keys.unique(return_inverse=True)
    place = place[: len(code)]
    owner = distinct.div(size, rounding_mode="floor")
    used = torch.bincount(owner, minlength=groups)
    start = used.cumsum(0) - used
    width, codes = max(1, int(used.max())), None
    if _is_small(groups * width, len(code)):
        codes = torch.zeros(groups * width, dtype=torch.int64, device=code.device)
        codes[owner * width + torch.arange(len(owner), device=code.device) - start[owner]] = distinct - owner * size
        codes = codes.reshape(groups, width)
    return place - start[table.remainder(groups)], _PackedSide(codes, used.clamp(min=1)), width


def _in_layout(cells: Cells, layout: str, n_labels: int) -> Cells:
    """Packed cells in the layout that is asked for, or that fits their number."""
    possible = cells.batch_shape.numel() * cells.shape[0] * cells.shape[1]
    if layout == "dense" or (layout == "auto" and _is_small(possible, n_labels)):
        return cells if isinstance(cells, DenseCells) else DenseCells(dispatch.to_dense(cells))
    if isinstance(cells, SparseCells):
        return cells
    return SparseCells(cells.batch_shape, cells.shape, *cells.nonzero())


def _reshape(cells: Cells, shape: torch.Size) -> Cells:
    """The same tables, in a batch of another shape."""
    if isinstance(cells, DenseCells):
        return DenseCells(cells.counts.reshape(*shape, *cells.shape))
    return SparseCells(shape, cells.shape, *cells.nonzero())


def _labels_of_packed(labels: GroupLabels | None, codes: Tensor | None, shape: torch.Size) -> GroupLabels | None:
    """The labels ``(*batch, G, R)`` of packed rows."""
    if labels is None or codes is None:
        return None
    if labels.ndim > 1:
        expanded = expand_to_batch(labels, shape[:-1])
        assert expanded is not None
        clustering = torch.arange(len(codes), device=codes.device).div(max(1, shape[-1]), rounding_mode="floor")
        codes = (codes + clustering.unsqueeze(-1) * labels.shape[-1]).reshape(*shape, codes.shape[-1])
        labels = expanded.reshape(-1)
    elif len(codes) == shape.numel():
        codes = codes.reshape(*shape, codes.shape[-1])
    return expand_to_batch(select_groups(labels, codes), shape)
