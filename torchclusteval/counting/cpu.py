"""Counting on the CPU, in blocks that stay in the cache.

The flat index ``true * C + pred`` is computed in the narrowest integer type that can number a block's cells.
Intermediate overflow is harmless: arithmetic wraps, and the final index fits. ``bincount`` then counts, or
``index_add_`` if a table is large for its items. Threads share large work: the rows of the batch, or the items if there
are few rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.threads import pieces, share, thread_count
from torchclusteval.labels.blocks import PairRows, pair_rows
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair
from torchclusteval.labels.keeping import all_of

_BLOCK_LABELS = 1 << 18
_MOST_IN_ONE_CALL = 1 << 17  # labels, and cells
_MIN_LABELS_PER_CALL = 1 << 16  # fewer labels are not worth a call of their own
_MIN_BLOCK_ITEMS = 1 << 10  # least items in a block of all batch rows
_MIN_THREADED_LABELS = 1 << 20  # threads do not pay for fewer
_SHARES = 2  # of each thread: a delayed one takes fewer
_FEW_CELLS = 1 << 10
_FEW_LABELS = 1 << 12
_LABELS_PER_COPIED_CELL = 8  # least, for each thread to have its own copy of the tables
_CODE_TYPES = ((1 << 8, np.uint8), (1 << 15, np.int16), (1 << 31, np.int32), (1 << 63, np.int64))

Array = np.ndarray[Any, Any]


class GuessedWrongError(Exception):
    """A label is outside the guessed range of codes."""


def takes_one_call(pair: EncodedPair, cells: int) -> bool:
    """Whether the labels are few, and all of them count: :func:`count_in_one_call` then needs no memory in advance."""
    labels = pair.batch_shape.numel() * pair.n_items
    few = max(labels, cells) <= _MOST_IN_ONE_CALL and cells <= 2 * labels + _FEW_CELLS
    return few and labels > 0 and pair.mask is None and pair.codes_in_range is True


def count_in_one_call(pair: EncodedPair, cells: int) -> Tensor:
    """The number of items in each cell, ``(B * R * C,)`` int64, in the fewest calls."""
    true, pred = pair.true.codes.numpy(), pair.pred.codes.numpy()
    size = pair.batch_shape.numel()
    base = np.multiply(true, pair.pred.size, dtype=np.int64) - (pair.true.offset * pair.pred.size + pair.pred.offset)
    if size > 1:
        base = base + np.arange(0, cells, cells // size).reshape(*pair.batch_shape, 1)
    index = (base + pred).reshape(-1)
    if len(index) <= _FEW_LABELS:  # NumPy starts sooner, and is slower later
        return torch.from_numpy(np.bincount(index, minlength=cells))
    return torch.bincount(torch.from_numpy(index), minlength=cells)


def accumulate_counts(table: Tensor, pair: EncodedPair, *, overwrite: bool = False) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C,)`` int64, in place; labels have no weights.

    With ``overwrite``, the values in ``table`` do not count.
    """
    rows, items = range(pair.batch_shape.numel()), range(pair.n_items)
    labels = len(rows) * len(items)
    threads = thread_count() if labels >= _MIN_THREADED_LABELS else 1
    shared_items = threads > 1 and len(rows) < 2 * threads and _LABELS_PER_COPIED_CELL * len(table) <= labels
    if overwrite and (shared_items or not labels):
        table.zero_()
    counter = _counter(pair)
    if threads > 1 and len(rows) >= 2 * threads:
        parts = pieces(rows, -(-len(rows) // (_SHARES * threads)))
        share(partial(counter.count_rows, table=table, overwrite=overwrite), parts, threads)
    elif shared_items:
        parts = pieces(items, -(-len(items) // (_SHARES * threads)))
        for counted in share(counter.count_items, parts, threads):
            table.add_(counted)
    else:
        counter.count(rows, items, table, overwrite)


@dataclass(frozen=True, eq=False)
class _Counter:
    """Counts parts of the labels of a pair, on any thread."""

    pair: EncodedPair
    sides: PairRows
    height: int  # batch rows in a block
    width: int  # items in a block
    row_offsets: Array  # (height, 1) flat index of each table's first cell, minus the offsets of both sides
    uses_index_add: bool  # index_add_ counts, not bincount

    def count_rows(self, parts: Iterator[range], *, table: Tensor, overwrite: bool) -> None:
        """Count all items of these batch rows."""
        for rows in parts:
            self.count(rows, range(self.pair.n_items), table, overwrite)

    def count_items(self, parts: Iterator[range]) -> Tensor:
        """Count these items of all batch rows, in a table of their own."""
        rows = range(self.pair.batch_shape.numel())
        table = torch.zeros(len(rows) * self.pair.true.size * self.pair.pred.size, dtype=torch.int64)
        for items in parts:
            self.count(rows, items, table, overwrite=False)
        return table

    def count(self, all_rows: range, all_items: range, table: Tensor, overwrite: bool) -> None:
        """Count these items of these batch rows."""
        pair, sides, cells = self.pair, self.sides, self.pair.true.size * self.pair.pred.size
        numbers = table.numpy()  # small operations of NumPy keep the interpreter's lock
        for items in pieces(all_items, self.width):
            base = inside = None
            for rows in pieces(all_rows, self.height):
                if base is None or not sides.true.is_broadcast:
                    true = sides.true.read(rows, items)
                    base, inside = self.row_index(true), self.inside(true, pair.true)
                pred = sides.pred.read(rows, items)
                mask = None if sides.mask is None else sides.mask.read(rows, items)
                counted = all_of(mask, inside, self.inside(pred, pair.pred))
                codes = pred.astype(base.dtype)
                codes = np.add(base[: len(rows)], codes, out=codes if len(codes) == len(rows) else None)
                codes = codes.reshape(-1) if counted is None else codes[np.broadcast_to(counted, codes.shape)]
                counts = numbers[rows.start * cells : rows.stop * cells]
                self.add(counts, torch.from_numpy(codes), overwrite and items.start == all_items.start)

    def inside(self, codes: Array, side: EncodedLabels) -> Array | None:
        """Which codes have a row (column); None if all have.

        Raise a GuessedWrongError where a code has none and the range of codes was a guess.
        """
        if self.pair.codes_in_range or not codes.size:
            return None
        first, last = side.offset, side.offset + side.size - 1
        if first == 0:  # one maximum then finds negative codes too
            all_inside = np.maximum.reduce(codes.view(f"u{codes.itemsize}"), None) <= last
        else:
            all_inside = first <= int(codes.min()) and int(codes.max()) <= last
        if all_inside:
            return None
        if self.pair.codes_in_range is None:
            raise GuessedWrongError
        return (codes >= first) & (codes <= last)

    def row_index(self, true: Array) -> Array:
        """The part of the flat index that depends on the table and the class of an item."""
        index = true.astype(self.row_offsets.dtype)  # to multiply at once would take twice the time
        index *= np.array(self.pair.pred.size, np.uint64).astype(index.dtype)
        plain = len(index) == self.height and not self.row_offsets.any()
        return index if plain else index + (self.row_offsets if len(index) == 1 else self.row_offsets[: len(index)])

    def add(self, table: Array, codes: Tensor, overwrite: bool) -> None:
        if self.uses_index_add:
            if overwrite:
                table[:] = 0
            torch.from_numpy(table).index_add_(0, codes, torch.ones(1, dtype=torch.int64).expand(len(codes)))
            return
        counts = torch.bincount(codes, minlength=len(table)).numpy()
        table[:] = counts if overwrite else counts + table


def _counter(pair: EncodedPair) -> _Counter:
    cells, rows = pair.true.size * pair.pred.size, pair.batch_shape.numel()
    labels = pair.pred.codes
    across = labels.dim() > 1 and labels.stride(-1) > labels.stride(-2) > 0  # the labels of an item are neighbours
    most_items = max(_MIN_BLOCK_ITEMS, _BLOCK_LABELS // max(1, rows)) if across else _BLOCK_LABELS
    width = max(1, min(pair.n_items, most_items))
    scattered = cells > min(8 * width, _BLOCK_LABELS)  # a new table from bincount for each call would cost more
    most = max(1, min(rows, _BLOCK_LABELS // (width if scattered else max(width, cells))))
    height, dtype = _height(cells, width, most, scattered)
    shift = pair.true.offset * pair.pred.size + pair.pred.offset
    offsets = np.arange(height, dtype=np.uint64) * np.uint64(cells)
    offsets = (offsets + np.uint64(-shift % 2**64)).astype(dtype)[:, None]
    return _Counter(pair, pair_rows(pair).arrays(), height, width, offsets, scattered)


def _height(cells: int, width: int, most: int, scattered: bool) -> tuple[int, np.dtype[Any]]:
    """Batch rows in a block, and the type of their indices: a narrower type for fewer rows with enough labels."""
    wide = scattered or width < 2 * cells  # index_add_ takes no narrower index, and few labels gain nothing from one
    types = _CODE_TYPES[2:] if wide else _CODE_TYPES
    choices = ((min(most, limit // cells), np.dtype(dtype)) for limit, dtype in types)
    return next((rows, dtype) for rows, dtype in choices if rows == most or rows * width >= _MIN_LABELS_PER_CALL)
