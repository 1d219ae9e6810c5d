"""Counting by a Triton kernel: labels are read once, in their own type, and only tables are written.

Each program counts a slice of a row of the batch into int32 counters of its own and then adds them to the table.
This module imports Triton, so import it only where it is there. The kernel was compiled for CUDA and its logic
interpreted, but it never ran on a device: its limits and its number of programs are estimates.
"""

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from torchclusteval.labels.blocks import BroadcastRows, pair_rows
from torchclusteval.labels.encoding import EncodedPair

_VERSION = tuple(map(int, triton.__version__.split(".")[:2]))
# From 3.8 on Triton adds to shared memory; before, the work an item grows with the number of counters.
MAX_CELLS = 16_384 if _VERSION >= (3, 8) else 1024
_MIN_COUNTERS = 32
MANY_COUNTERS = 1024  # from here on, 8 warps share them
TILE_LABELS, SHORT_TILE_LABELS = 2048, 256  # labels that a program reads at a time
_PROGRAMS = 8  # for each multiprocessor
_MAX_SLICE_ITEMS = 1 << 30  # of a slice: its counters are int32


def supports(pair: EncodedPair) -> bool:
    """Whether tables are small enough for the counters of a program, and labels have no weights."""
    return pair.weights is None and pair.true.size * pair.pred.size <= MAX_CELLS


def accumulate_counts(table: Tensor, pair: EncodedPair, programs: int | None = None) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C,)`` or longer, int64, in place.

    Args:
        table: on the device of the labels.
        pair: both sides, as ``supports`` takes them.
        programs: at least so many, where there are labels enough; None: what keeps the device busy.
    """
    size, n, cells = pair.batch_shape.numel(), pair.n_items, pair.true.size * pair.pred.size
    if not size * n:
        return
    on_cuda = table.device.type == "cuda"
    if programs is None:
        facts = torch.cuda.get_device_properties(table.device) if on_cuda else None
        programs = _PROGRAMS * (1 if facts is None else facts.multi_processor_count)
    tile = TILE_LABELS if n >= TILE_LABELS else SHORT_TILE_LABELS
    items = slice_items(size, n, cells, tile, programs)
    sides = pair_rows(pair)
    counters = max(_MIN_COUNTERS, triton.next_power_of_2(cells))
    shift = pair.true.offset * pair.pred.size + pair.pred.offset
    with torch.cuda.device(table.device) if on_cuda else nullcontext():
        count_slice[(size, triton.cdiv(n, items))](
            table,
            *_arguments(sides.true),
            *_arguments(sides.pred),
            *_arguments(sides.true if sides.mask is None else sides.mask),  # not read without KEEP
            n,
            items,
            pair.true.size,
            pair.pred.size,
            pair.true.offset,
            pair.pred.offset,
            (shift + 2**31) % 2**32 - 2**31,
            KEEP=sides.mask is not None,
            CHECKED=not pair.codes_in_range,
            ALONE=items >= n,
            TILE=tile,
            COUNTERS=counters,
            num_warps=8 if counters >= MANY_COUNTERS else 4,
        )


def slice_items(size: int, n: int, cells: int, tile: int, programs: int) -> int:
    """Items of a slice, in whole tiles: as many slices as make so many programs, but not more than pay."""
    slices = min(-(-programs // size), n // max(8 * cells, tile), 65_535)
    slices = max(1, slices, -(-n // _MAX_SLICE_ITEMS))
    return -(-n // (slices * tile)) * tile


def _arguments(rows: BroadcastRows) -> tuple[Tensor, Tensor | None, int, int]:
    """Labels, the row of labels of each batch row, and their strides."""
    values = rows.values.view(torch.uint8) if rows.values.dtype == torch.bool else rows.values
    return values, rows.source, 0 if rows.is_broadcast else values.stride(0), values.stride(1)


@triton.jit
def count_slice(
    table: tl.tensor,
    true: tl.tensor,
    true_source: tl.tensor,
    true_stride: tl.tensor,
    true_step: tl.tensor,
    pred: tl.tensor,
    pred_source: tl.tensor,
    pred_stride: tl.tensor,
    pred_step: tl.tensor,
    keep: tl.tensor,
    keep_source: tl.tensor,
    keep_stride: tl.tensor,
    keep_step: tl.tensor,
    n: tl.tensor,
    items: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    true_first: tl.tensor,
    pred_first: tl.tensor,
    shift: tl.tensor,
    KEEP: tl.constexpr,  # noqa: N803
    CHECKED: tl.constexpr,  # noqa: N803
    ALONE: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
    COUNTERS: tl.constexpr,  # noqa: N803
) -> None:
    """Count a slice (axis 1) of so many items of a row of the batch (axis 0: neighbours read the same reference)."""
    start = tl.program_id(1).to(tl.int64) * items
    end = tl.minimum(start + items, n)
    whole = (end - start) // TILE  # tiles
    true = _place(true, true_source, true_stride, true_step, start)
    pred = _place(pred, pred_source, pred_stride, pred_step, start)
    if KEEP:
        keep = _place(keep, keep_source, keep_stride, keep_step, start)
    counts = tl.zeros([COUNTERS], tl.int32)
    for tile in range(0, whole):
        own = _read(true, true_step, tile, TILE, False, TILE)
        other = _read(pred, pred_step, tile, TILE, False, TILE)
        kept = own
        if KEEP:
            kept = _read(keep, keep_step, tile, TILE, False, TILE)
        counts += _histogram(
            own, other, kept, TILE, rows, columns, true_first, pred_first, shift, KEEP, CHECKED, False, TILE, COUNTERS
        )
    left = end - start - whole * TILE
    if left > 0:
        own = _read(true, true_step, whole, left, True, TILE)
        other = _read(pred, pred_step, whole, left, True, TILE)
        kept = own
        if KEEP:
            kept = _read(keep, keep_step, whole, left, True, TILE)
        counts += _histogram(
            own, other, kept, left, rows, columns, true_first, pred_first, shift, KEEP, CHECKED, True, TILE, COUNTERS
        )
    cell = tl.arange(0, COUNTERS)
    exists = cell < rows * columns
    at = table + tl.program_id(0).to(tl.int64) * (rows * columns) + cell
    if ALONE:  # nobody else adds to this table
        tl.store(at, tl.load(at, mask=exists, other=0) + counts, mask=exists)
    else:
        tl.atomic_add(at, counts.to(tl.int64), mask=exists & (counts != 0), sem="relaxed")


@triton.jit
def _place(labels: tl.tensor, source: tl.tensor, stride: tl.tensor, step: tl.tensor, start: tl.tensor) -> tl.tensor:
    """Where the labels of this program begin."""
    row = tl.program_id(0).to(tl.int64)
    if source is not None:
        row = tl.load(source + row)
    return labels + row * stride + start * step


@triton.jit
def _read(
    labels: tl.tensor,
    step: tl.tensor,
    tile: tl.tensor,
    left: tl.tensor,
    TAIL: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
) -> tl.tensor:
    """The labels of a tile, ``(TILE,)``; of a tail no more than are left."""
    item = tl.arange(0, TILE)
    at = labels + tile * TILE * step + item.to(tl.int64) * step
    return tl.load(at, mask=item < left, other=0) if TAIL else tl.load(at)  # without a mask, loads are wide


@triton.jit
def _histogram(
    own: tl.tensor,
    other: tl.tensor,
    kept: tl.tensor,
    left: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    true_first: tl.tensor,
    pred_first: tl.tensor,
    shift: tl.tensor,
    KEEP: tl.constexpr,  # noqa: N803
    CHECKED: tl.constexpr,  # noqa: N803
    TAIL: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
    COUNTERS: tl.constexpr,  # noqa: N803
) -> tl.tensor:
    """Counts ``(COUNTERS,)`` int32 of the labels of a tile."""
    # Overflow is harmless: arithmetic wraps, and the index of a cell fits.
    code = own.to(tl.int32) * columns + other.to(tl.int32) - shift
    if TAIL or CHECKED or KEEP:
        counted = tl.arange(0, TILE) < left
        if KEEP:
            counted = counted & (kept != 0)
        if CHECKED:
            row = own.to(tl.int64) - true_first
            column = other.to(tl.int64) - pred_first
            counted = counted & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        counts = tl.histogram(tl.where(counted, code, 0), COUNTERS, mask=counted)
    else:
        counts = tl.histogram(code, COUNTERS)
    return counts
