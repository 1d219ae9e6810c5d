"""Counting on the CPU, in blocks that stay in the cache.

Labels are cut to the smallest type that holds the cells of a block and fused there (``true * C + pred``): what is cut
off cancels, as the result fits. ``bincount`` then counts, or ``index_add_`` where a table is large for its items.
NumPy does the arithmetic: it never starts threads, so that blocks can be shared out among ours.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.label_blocks import LabelRows, label_rows, split
from torchclusteval.labels import LabelPair, Side
from torchclusteval.numerics import extremes

_BLOCK = 1 << 18  # labels
_SERIAL = (1 << 15) - 1  # torch spreads what is longer over threads of its own
_ENOUGH = 1 << 14  # labels that are worth a call
_NARROW = 1 << 10  # items of a block that is as high
_LARGE = 1 << 21  # labels from which threads pay
_MOST_THREADS = 8  # more would wait for the interpreter
_FEW_CELLS = 1 << 10
_SMALL = 1 << 17  # cells that each thread may have a copy of
_TYPES = ((1 << 8, np.uint8), (1 << 15, np.int16), (1 << 31, np.int32), (1 << 63, np.int64))

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class _Share:
    """What one thread counts."""

    table: Tensor  # (B * R * C,) int64
    fresh: bool  # to be written over
    rows: range
    items: range


@dataclass(frozen=True, eq=False)
class _Plan:
    """How the labels of a share are counted."""

    height: int  # rows of the batch in a block
    width: int  # items in a block
    together: int  # rows of a block that are counted at once
    piece: int  # labels that are
    cells: int  # of one table
    columns: Array  # () of one table
    starts: Array  # (height, 1) code of the first cell of each table, less what labels of the first cell would add
    scattered: bool  # counted by index_add_


def count(pair: LabelPair, table: Tensor) -> Tensor:
    """The number of items in each cell, ``(B * R * C,)`` int64: in ``table``, or in one of its own for little work."""
    labels = pair.batch_shape.numel() * pair.n
    alone = max(labels, len(table)) <= (_BLOCK if torch.get_num_threads() == 1 else _SERIAL)
    if alone and labels and pair.keep is None and pair.bounded and len(table) <= 2 * labels + _FEW_CELLS:
        return _count_at_once(pair, len(table))
    add_ones(table, pair, fresh=True)
    return table


def _count_at_once(pair: LabelPair, cells: int) -> Tensor:
    """All labels in the fewest calls."""
    true, pred = pair.true.codes.numpy(), pair.pred.codes.numpy()
    size = pair.batch_shape.numel()
    base = np.multiply(true, pair.pred.size, dtype=np.int64) - (pair.true.offset * pair.pred.size + pair.pred.offset)
    if size > 1:
        base = base + np.arange(0, cells, cells // size).reshape(*pair.batch_shape, 1)
    return torch.bincount(torch.from_numpy((base + pred).reshape(-1)), minlength=cells)


def add_ones(table: Tensor, pair: LabelPair, *, fresh: bool = False) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C,)`` int64, in place.

    Args:
        table: the counts so far.
        pair: labels without weights.
        fresh: there are none so far, whatever ``table`` holds: it is written over.
    """
    if fresh and not pair.n:
        table.zero_()
    sides = label_rows(pair)
    shares = _shares(table, pair, fresh)
    if len(shares) == 1:
        _count(shares[0], sides, pair)
        return
    with ThreadPoolExecutor(len(shares)) as pool:
        for counted in [pool.submit(_count, share, sides, pair) for share in shares]:
            counted.result()
    for share in shares:
        if share.table is not table:
            table.add_(share.table)


def _shares(table: Tensor, pair: LabelPair, fresh: bool) -> list[_Share]:
    rows, items = range(pair.batch_shape.numel()), range(pair.n)
    threads = min(torch.get_num_threads(), _MOST_THREADS)
    if threads > 1 and len(rows) * len(items) >= _LARGE:
        if len(rows) >= 4 * threads:
            return [_Share(table, fresh, part, items) for part in split(rows, -(-len(rows) // threads))]
        if len(table) <= _SMALL:
            first, *others = split(items, -(-len(items) // threads))
            return [
                _Share(table, fresh, rows, first),
                *(_Share(torch.empty_like(table), True, rows, part) for part in others),
            ]
    return [_Share(table, fresh, rows, items)]


def _count(share: _Share, sides: LabelRows, pair: LabelPair) -> None:
    plan = _plan(share, pair)
    buffers = np.empty((2, plan.height * plan.width), plan.starts.dtype)
    for items in split(share.items, plan.width):
        base = inside = None
        for rows in split(share.rows, plan.height):
            if base is None or not sides.true.is_shared:
                true = sides.true.read(rows, items)
                base = _base(true, _shaped(buffers[0], rows, items), plan)
                inside = None if pair.bounded else _inside(true, pair.true)
            pred = sides.pred.read(rows, items)
            codes = _fuse(base[: len(rows)], pred, _shaped(buffers[1], rows, items))
            keep = None if sides.keep is None else sides.keep.read(rows, items).numpy()
            counting = _all_of(keep, inside, None if pair.bounded else _inside(pred, pair.pred))
            counting = None if counting is None else np.broadcast_to(counting, codes.shape)
            for part in split(range(len(rows)), plan.together):
                here = slice(part.start, part.stop)
                chosen = codes[here].reshape(-1) if counting is None else codes[here][counting[here]]
                first = rows.start + part.start
                table = share.table[first * plan.cells : (first + len(part)) * plan.cells]
                _add(table, chosen, plan, share.fresh and items.start == share.items.start)


def _add(table: Tensor, codes: Array, plan: _Plan, fresh: bool) -> None:
    if plan.scattered:
        if fresh:
            table.numpy().fill(0)  # on this thread
        table.index_add_(0, torch.from_numpy(codes), torch.ones(1, dtype=torch.int64).expand(len(codes)))
        return
    counts = table.numpy()
    for piece in torch.from_numpy(codes).split(plan.piece):
        found = torch.bincount(piece, minlength=len(counts)).numpy()
        if fresh:
            np.copyto(counts, found)
        else:
            counts += found
        fresh = False


def _plan(share: _Share, pair: LabelPair) -> _Plan:
    cells = pair.true.size * pair.pred.size
    width = max(1, min(len(share.items), _width(pair.pred.codes, len(share.rows))))
    height = max(1, min(len(share.rows), _BLOCK // width))
    piece = _BLOCK if torch.get_num_threads() == 1 else _SERIAL
    # A table of its own for each piece would cost more than it saves, or be filled by threads of torch's own.
    scattered = cells > min(8 * min(width, piece), piece)
    most = height if scattered else max(1, min(height, piece // max(width, cells)))
    together, dtype = _together(cells, width, most, scattered)
    shift = pair.true.offset * pair.pred.size + pair.pred.offset
    starts = np.arange(height, dtype=np.uint64) % np.uint64(together) * np.uint64(cells) + np.uint64(-shift % 2**64)
    columns = np.array(pair.pred.size, dtype=np.uint64)
    starts = starts.astype(dtype)[:, None]
    return _Plan(height, width, together, piece, cells, columns.astype(dtype), starts, scattered)


def _together(cells: int, width: int, most: int, scattered: bool) -> tuple[int, np.dtype[Any]]:
    """Rows counted at once, and the type of their codes: a narrower one for fewer rows, if these are labels enough."""
    wide = scattered or width < 2 * cells  # index_add_ takes no narrower index, and few labels gain nothing by one
    types = _TYPES[2:] if wide else _TYPES
    found = ((min(most, limit // cells), np.dtype(dtype)) for limit, dtype in types)
    return next((rows, dtype) for rows, dtype in found if rows == most or rows * width >= _ENOUGH)


def _width(labels: Tensor, rows: int) -> int:
    """Most items of a block: fewer where it is the labels of one item, not of one row, that are neighbours."""
    across = labels.dim() > 1 and labels.stride(-1) > labels.stride(-2) > 0
    return max(_NARROW, _BLOCK // max(1, rows)) if across else _BLOCK


def _shaped(buffer: Array, rows: range, items: range) -> Array:
    return buffer[: len(rows) * len(items)].reshape(len(rows), len(items))


def _base(true: Tensor, base: Array, plan: _Plan) -> Array:
    """What the table and the class of an item add to its code."""
    own = base[: len(true)]
    np.copyto(own, true.numpy(), casting="unsafe")
    own *= plan.columns
    plain = len(own) == len(base) and not plan.starts.any()
    return base if plain else np.add(own, plan.starts[: len(base)], out=base)


def _fuse(base: Array, pred: Tensor, codes: Array) -> Array:
    labels = pred.numpy()
    if labels.dtype == codes.dtype:
        return np.add(base, labels, out=codes)
    np.copyto(codes, labels, casting="unsafe")
    codes += base
    return codes


def _inside(labels: Tensor, side: Side) -> Array | None:
    """Which labels have a row (column); None: all of them."""
    if not labels.numel():
        return None
    low, high = extremes(labels)
    first, last = side.offset, side.offset + side.size - 1
    if first <= low and high <= last:
        return None
    codes = labels.numpy()
    return (codes >= first) & (codes <= last)


def _all_of(*masks: Array | None) -> Array | None:
    found = [mask for mask in masks if mask is not None]
    return reduce(np.logical_and, found) if found else None
