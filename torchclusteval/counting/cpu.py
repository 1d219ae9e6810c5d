"""Counting on the CPU, in blocks that stay in the cache.

The flat index ``true * C + pred`` is computed in the narrowest integer type that can number a block's cells.
Intermediate overflow is harmless: arithmetic wraps, and the final index fits. ``bincount`` then counts, or
``index_add_`` if a table is large for its items. Threads share large work: the rows of the batch, or the items if there
are few rows.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import min_max
from torchclusteval.common.threads import pieces, share, thread_count
from torchclusteval.labels.blocks import PairRows, pair_rows
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair
from torchclusteval.labels.keeping import all_of

_BLOCK_LABELS = 1 << 18
_MIN_LABELS_PER_CALL = 1 << 16  # fewer labels are not worth a call of their own
_MIN_BLOCK_ITEMS = 1 << 10  # least items in a block of all batch rows
_MIN_THREADED_LABELS = 1 << 20  # threads do not pay for fewer
_SHARES = 4  # of each thread: one that is held up takes fewer
_FEW_CELLS = 1 << 10
_LABELS_PER_COPIED_CELL = 8  # least, for each thread to have its own copy of the tables
_CODE_TYPES = ((1 << 8, np.uint8), (1 << 15, np.int16), (1 << 31, np.int32), (1 << 63, np.int64))

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class _Plan:
    """How labels are counted."""

    height: int  # batch rows in a block
    width: int  # items in a block
    rows_per_call: int  # batch rows counted by one bincount
    cells: int  # of one table
    columns: Array  # () of one table
    row_offsets: Array  # (height, 1) flat index of each table's first cell, minus the offsets of both sides
    uses_index_add: bool  # index_add_ counts, not bincount


def takes_one_call(pair: EncodedPair, cells: int) -> bool:
    """Whether the labels are few, and all of them count: :func:`count_in_one_call` then needs no memory in advance."""
    labels = pair.batch_shape.numel() * pair.n_items
    few = max(labels, cells) <= _BLOCK_LABELS
    return few and labels > 0 and pair.mask is None and pair.codes_in_range and cells <= 2 * labels + _FEW_CELLS


def count_in_one_call(pair: EncodedPair, cells: int) -> Tensor:
    """The number of items in each cell, ``(B * R * C,)`` int64, in the fewest calls."""
    true, pred = pair.true.codes.numpy(), pair.pred.codes.numpy()
    size = pair.batch_shape.numel()
    base = np.multiply(true, pair.pred.size, dtype=np.int64) - (pair.true.offset * pair.pred.size + pair.pred.offset)
    if size > 1:
        base = base + np.arange(0, cells, cells // size).reshape(*pair.batch_shape, 1)
    return torch.bincount(torch.from_numpy((base + pred).reshape(-1)), minlength=cells)


def accumulate_counts(table: Tensor, pair: EncodedPair, *, overwrite: bool = False) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C,)`` int64, in place.

    Args:
        table: the counts so far.
        pair: labels without weights.
        overwrite: ignore the values in ``table``.
    """
    if overwrite and not pair.n_items:
        table.zero_()
    rows, items = range(pair.batch_shape.numel()), range(pair.n_items)
    labels = len(rows) * len(items)
    threads = thread_count() if labels >= _MIN_THREADED_LABELS else 1
    counter = _Counter(pair, pair_rows(pair), _plan(pair))
    if threads > 1 and len(rows) >= 2 * threads:
        parts = pieces(rows, -(-len(rows) // (_SHARES * threads)))
        share(partial(counter.count_rows, table=table, overwrite=overwrite), parts, threads)
    elif threads > 1 and _LABELS_PER_COPIED_CELL * len(table) <= labels:
        parts, tables = pieces(items, -(-len(items) // (_SHARES * threads))), deque([table])
        for counted in share(partial(counter.count_items, tables=tables, overwrite=overwrite), parts, threads):
            if counted is not None and counted is not table:
                table.add_(counted)
    else:
        counter.count(rows, items, table, counter.buffers(), overwrite)


@dataclass(frozen=True, eq=False)
class _Counter:
    """Counts parts of the labels of a pair, on any thread."""

    pair: EncodedPair
    sides: PairRows
    plan: _Plan

    def buffers(self) -> Array:
        """Memory for the flat indices of a block."""
        return np.empty((2, self.plan.height * self.plan.width), self.plan.row_offsets.dtype)

    def count_rows(self, parts: Iterator[range], *, table: Tensor, overwrite: bool) -> None:
        """Count all items of these batch rows."""
        buffers = self.buffers()
        for rows in parts:
            self.count(rows, range(self.pair.n_items), table, buffers, overwrite)

    def count_items(self, parts: Iterator[range], *, tables: deque[Tensor], overwrite: bool) -> Tensor | None:
        """Count these items of all batch rows, in a table that is waiting or a new one; None without items."""
        table, buffers = None, self.buffers()
        for items in parts:
            new = table is None
            if table is None:
                try:
                    table = tables.pop()
                except IndexError:
                    table, overwrite = self.new_table(), True
            self.count(range(self.pair.batch_shape.numel()), items, table, buffers, overwrite and new)
        return table

    def new_table(self) -> Tensor:
        return torch.empty(self.pair.batch_shape.numel() * self.plan.cells, dtype=torch.int64)

    def count(self, all_rows: range, all_items: range, table: Tensor, buffers: Array, overwrite: bool) -> None:
        """Count these items of these batch rows."""
        pair, sides, plan = self.pair, self.sides, self.plan
        for items in pieces(all_items, plan.width):
            base = in_range = None
            for rows in pieces(all_rows, plan.height):
                if base is None or not sides.true.is_broadcast:
                    true = sides.true.read(rows, items)
                    base = _row_index(true, _buffer_view(buffers[0], rows, items), plan)
                    in_range = None if pair.codes_in_range else _in_range(true, pair.true)
                pred = sides.pred.read(rows, items)
                codes = _flat_index(base[: len(rows)], pred, _buffer_view(buffers[1], rows, items))
                mask = None if sides.mask is None else sides.mask.read(rows, items).numpy()
                counted = all_of(mask, in_range, None if pair.codes_in_range else _in_range(pred, pair.pred))
                counted = None if counted is None else np.broadcast_to(counted, codes.shape)
                for part in pieces(range(len(rows)), plan.rows_per_call):
                    here = slice(part.start, part.stop)
                    chosen = codes[here].reshape(-1) if counted is None else codes[here][counted[here]]
                    first = rows.start + part.start
                    counts = table[first * plan.cells : (first + len(part)) * plan.cells]
                    _add(counts, chosen, plan, overwrite and items.start == all_items.start)


def _add(table: Tensor, codes: Array, plan: _Plan, overwrite: bool) -> None:
    if plan.uses_index_add:
        if overwrite:
            table.zero_()
        table.index_add_(
            0, torch.from_numpy(codes), torch.ones(1, dtype=torch.int64, device=table.device).expand(len(codes))
        )
        return
    counts = table.numpy()
    for piece in torch.from_numpy(codes).split(_BLOCK_LABELS):
        new = torch.bincount(piece, minlength=len(counts)).numpy()
        if overwrite:
            np.copyto(counts, new)
        else:
            counts += new
        overwrite = False


def _plan(pair: EncodedPair) -> _Plan:
    cells, rows = pair.true.size * pair.pred.size, pair.batch_shape.numel()
    width = max(1, min(pair.n_items, _width(pair.pred.codes, rows)))
    height = max(1, min(rows, _BLOCK_LABELS // width))
    scattered = cells > min(8 * width, _BLOCK_LABELS)  # a new table from bincount for each call would cost more
    most = height if scattered else max(1, min(height, _BLOCK_LABELS // max(width, cells)))
    rows_per_call, dtype = _rows_per_call(cells, width, most, scattered)
    shift = pair.true.offset * pair.pred.size + pair.pred.offset
    offsets = np.arange(height, dtype=np.uint64) % np.uint64(rows_per_call) * np.uint64(cells)
    offsets += np.uint64(-shift % 2**64)
    columns = np.array(pair.pred.size, dtype=np.uint64)
    return _Plan(
        height=height,
        width=width,
        rows_per_call=rows_per_call,
        cells=cells,
        columns=columns.astype(dtype),
        row_offsets=offsets.astype(dtype)[:, None],
        uses_index_add=scattered,
    )


def _rows_per_call(cells: int, width: int, most: int, scattered: bool) -> tuple[int, np.dtype[Any]]:
    """Batch rows per call, and the type of their indices: a narrower type for fewer rows with enough labels."""
    wide = scattered or width < 2 * cells  # index_add_ takes no narrower index, and few labels gain nothing from one
    types = _CODE_TYPES[2:] if wide else _CODE_TYPES
    choices = ((min(most, limit // cells), np.dtype(dtype)) for limit, dtype in types)
    return next((rows, dtype) for rows, dtype in choices if rows == most or rows * width >= _MIN_LABELS_PER_CALL)


def _width(labels: Tensor, rows: int) -> int:
    """Most items in a block: fewer if the labels of one item, not of one row, are neighbours in memory."""
    across = labels.dim() > 1 and labels.stride(-1) > labels.stride(-2) > 0
    return max(_MIN_BLOCK_ITEMS, _BLOCK_LABELS // max(1, rows)) if across else _BLOCK_LABELS


def _buffer_view(buffer: Array, rows: range, items: range) -> Array:
    return buffer[: len(rows) * len(items)].reshape(len(rows), len(items))


def _row_index(true: Tensor, base: Array, plan: _Plan) -> Array:
    """The part of the flat index that depends on the table and the class of an item."""
    own = base[: len(true)]
    np.copyto(own, true.numpy(), casting="unsafe")
    own *= plan.columns
    plain = len(own) == len(base) and not plan.row_offsets.any()
    return base if plain else np.add(own, plan.row_offsets[: len(base)], out=base)


def _flat_index(base: Array, pred: Tensor, codes: Array) -> Array:
    labels = pred.numpy()
    if labels.dtype == codes.dtype:
        return np.add(base, labels, out=codes)
    np.copyto(codes, labels, casting="unsafe")
    codes += base
    return codes


def _in_range(codes: Tensor, side: EncodedLabels) -> Array | None:
    """Which codes have a row (column); None if all have."""
    if not codes.numel():
        return None
    low, high = min_max(codes)
    first, last = side.offset, side.offset + side.size - 1
    if first <= low and high <= last:
        return None
    values = codes.numpy()
    return (values >= first) & (values <= last)
