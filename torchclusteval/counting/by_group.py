"""Tables of groups of items in one counting pass: the number of an item's group is part of its row.

Tables have all rows and columns where these are few; else each is packed, to the rows and columns of its own group.
"""

from dataclasses import replace

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.counting import dispatch, sparse
from torchclusteval.counting.margins import Absent, with_margins
from torchclusteval.labels.absent import AbsentGroup, repeat_last
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, expand_to_batch, select_groups
from torchclusteval.labels.groups_of_items import ItemGroups
from torchclusteval.labels.keeping import all_of

_ALWAYS_DENSE_CELLS = 1 << 20  # a batch of up to this many cells, or of a few per label, is dense
_CELLS_PER_LABEL = 4

Labels = tuple[GroupLabels | None, GroupLabels | None]  # of rows and columns


def count_by_group(
    pair: EncodedPair, groups: ItemGroups, layout: str, *, sizes: tuple[bool, bool], may_sync: bool
) -> tuple[TableParts, bool]:
    """Count labels into a table for each group, and say whether tables are packed.

    ``sizes`` says whether the number of rows, of columns is given; ``may_sync`` as in ``resolve_layout``.
    """
    batch = groups.joint_batch(pair.batch_shape)
    shape = torch.Size((*batch, groups.size))
    if all(sizes):
        as_rows = replace(pair, batch_shape=shape, n_items=max(1, pair.n_items // max(1, groups.size)))
        layout = dispatch.resolve_layout(layout, as_rows, may_sync=may_sync)
        cells = count_groups(pair, groups, batch, layout == "dense")
    else:
        cells = count_groups(pair, groups, batch)
    parts, packed = tables_of_groups(
        cells,
        (pair.true.group_labels, pair.pred.group_labels),
        shape,
        layout,
        batch.numel() * pair.n_items,
        sizes=sizes,
        absent=(pair.true.absent, pair.pred.absent) if pair.has_margins else (None, None),
        has_void=pair.has_void,
        considered=None if pair.n_considered is None else count_considered_by_group(groups, pair.weights).expand(shape),
    )
    return parts._replace(names=pair.names if len(batch) == 1 else None, groups=groups.ids), packed


def tables_of_groups(
    cells: Cells,
    labels: Labels,
    shape: torch.Size,
    layout: str,
    n_labels: int,
    *,
    sizes: tuple[bool, bool],
    absent: Absent,
    considered: Tensor | None,
    has_void: bool = False,
) -> tuple[TableParts, bool]:
    """Tables ``(T, R, C)`` over all codes as a batch, and whether they are packed.

    The batch is ``(*batch, G)``. ``n_labels`` items are behind the tables, ``considered`` of each (None: all are in
    it). ``sizes``: sides that keep all their rows or columns. ``absent``: the row and the column of items that only one
    side groups, which become margins. ``has_void``: whether the last row is that of ignored items.
    """
    rows, columns = cells.shape
    classes, clusters = (_by_table(of_side, shape) for of_side in labels)
    packed = isinstance(cells, SparseCells) and not _is_small(shape.numel() * rows * columns, n_labels)
    if isinstance(cells, SparseCells) and packed:
        row, column, (true, pred) = cells.row, cells.column, absent
        if not sizes[0]:
            kept = row < rows - 1 if has_void else slice(None)  # the row of ignored items stays the last one
            packed_row, count, classes, true = _pack(
                cells.batch[kept], row[kept], rows - has_void, classes, shape, true
            )
            row = torch.full_like(row, count)
            row[kept] = packed_row
            rows = count + has_void
        if not sizes[1]:
            column, columns, clusters, pred = _pack(cells.batch, column, columns, clusters, shape, pred)
        cells = SparseCells(cells.batch_shape, (rows, columns), cells.batch, row, column, cells.values)
        absent = true, pred
    stored = _in_layout(cells, shape, layout, n_labels)
    parts = TableParts(stored, considered, classes, clusters)
    return parts if absent == (None, None) and not has_void else with_margins(parts, absent, has_void), packed


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


def count_groups(pair: EncodedPair, groups: ItemGroups, batch: torch.Size, dense: bool | None = None) -> Cells:
    """Tables ``(T, R, C)`` of all groups of a batch of clusterings over all codes; None: in the layout that fits."""
    size, rows, columns = batch.numel() * groups.size, pair.true.size, pair.pred.size
    if dense is None:
        dense = _is_small(size * rows * columns, batch.numel() * pair.n_items)
    if not size:
        dtype = torch.int64 if pair.weights is None else pair.weights.dtype
        return DenseCells(torch.zeros(0, rows, columns, dtype=dtype, device=pair.device))
    joined = join_groups(pair, groups, batch)
    if dense:
        return DenseCells(dispatch.count_dense(joined).counts.view(size, rows, columns))
    if size * rows * columns >= 2**63:
        got = f"{size} tables of {rows} x {columns}"
        raise ValueError(f"by: expected groups and labels with fewer than 2**63 cells in all; got {got}")
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
    sums = amounts.new_zeros(*codes.shape[:-1], groups.size)
    return sums.scatter_add(-1, codes, amounts) if groups.size else sums


def _by_table(labels: GroupLabels | None, shape: torch.Size) -> GroupLabels | None:
    """Labels of one list for all tables as they are, others as ``(*batch, G, R)``."""
    labels = expand_to_batch(labels, shape[:-1])
    if labels is None or labels.ndim == 1:
        return labels
    return expand_to_batch(labels[..., None, :], shape)


def _pack(
    table: Tensor, code: Tensor, size: int, labels: GroupLabels | None, shape: torch.Size, absent: AbsentGroup | None
) -> tuple[Tensor, int, GroupLabels | None, AbsentGroup | None]:
    """Number the rows (columns) of each table without gaps; that of items without a group comes last.

    Returns the row of each cell, how many there are, their labels ``(*batch, G, R)`` (None if they would need much more
    memory than the cells), and the row of items without a group.
    """
    tables = shape.numel()
    grouped = None if absent is None else code != absent.index
    keys = table * size + code
    distinct, place = (keys if grouped is None else keys[grouped]).unique(return_inverse=True)
    owner = distinct.div(size, rounding_mode="floor")
    used = torch.bincount(owner, minlength=tables)
    start = used.cumsum(0) - used
    number = torch.arange(len(owner), device=code.device) - start[owner]
    width = max(1, int(used.max())) if tables else 1
    named = None
    if labels is not None and _is_small(tables * width, len(code)):
        codes = torch.zeros(tables * width, dtype=torch.int64, device=code.device)
        codes[owner * width + number] = distinct - owner * size
        if labels.ndim > 1:
            labels = labels.reshape(-1)
            codes += (torch.arange(tables, device=code.device) * size).repeat_interleave(width)
        named = select_groups(labels, codes.reshape(*shape, width))
    if grouped is None:
        return number[place], width, named, None
    row = torch.full_like(code, width)
    row[grouped] = number[place]
    if named is not None:
        named = repeat_last(named)
    return row, width + 1, named, AbsentGroup(width, False)


def _in_layout(cells: Cells, shape: torch.Size, layout: str, n_labels: int) -> Cells:
    """Packed cells as a batch of this shape, in the layout asked for or the one for their number."""
    rows, columns = cells.shape
    if layout == "dense" or (layout == "auto" and _is_small(shape.numel() * rows * columns, n_labels)):
        counts = cells.counts if isinstance(cells, DenseCells) else dispatch.to_dense(cells)
        return DenseCells(counts.reshape(*shape, rows, columns))
    return SparseCells(shape, (rows, columns), *cells.nonzero())
