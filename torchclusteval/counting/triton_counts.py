"""Counting by a Triton kernel: labels are read once, in their own type, and only tables are written.

Each program counts a slice of a row of the batch, into int32 counters of its own that it then adds to the table; with
too many cells for these it adds to the table at once. This module imports Triton:
:mod:`torchclusteval.common.kernels` loads it where it is there. The kernel is compiled for CUDA and its logic
interpreted in the tests; no device has measured its limits and its number of programs, which are estimates.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_VERSION = tuple(map(int, triton.__version__.split(".")[:2]))
# From 3.8 on Triton adds to shared memory; before, the work an item grows with the number of counters.
MAX_CELLS = 8192 if _VERSION >= (3, 8) else 1024
WARPS = {32: 4, 256: 4, 1024: 8, 4096: 16, 8192: 16}  # by counters of a program; registers then suffice
COUNTERS = tuple(WARPS)  # few sizes, each of which is compiled
TILE_LABELS, SHORT_TILE_LABELS = 2048, 256  # labels that a program reads at a time
_PROGRAMS = 8  # for each multiprocessor
_MAX_SLICE_ITEMS = 1 << 30  # of a slice: its counters are int32


def start(table: Tensor, *sides: Tensor | None, size: int, programs: int | None = None, **numbers: int) -> None:
    """Add the number of items in each cell to a table; see ``count_by_torch`` in ``torchclusteval.counting.dispatch``.

    ``programs``: at least so many, where there are labels enough; None: what keeps the device busy.
    """
    true, true_source, pred, pred_source, keep, keep_source = sides
    assert true is not None
    assert pred is not None
    rows, columns, true_first, pred_first = (numbers[x] for x in ("rows", "columns", "true_first", "pred_first"))
    n, cells = true.shape[1], rows * columns
    if not size * n:
        return
    if programs is None:
        programs = _PROGRAMS
        if table.device.type == "cuda":
            programs *= torch.cuda.get_device_properties(table.device).multi_processor_count
    direct = cells > MAX_CELLS
    counters = COUNTERS[0] if direct else next(x for x in COUNTERS if x >= cells)
    tile = TILE_LABELS if n >= TILE_LABELS or WARPS[counters] > 8 else SHORT_TILE_LABELS  # a label for each thread
    items = slice_items(size, n, 1 if direct else cells, tile, programs)
    shift = true_first * columns + pred_first
    # Without a mask, what stands in its place is not read.
    count_slice[(size, triton.cdiv(n, items))](
        table, *_arguments(true, true_source), *_arguments(pred, pred_source),
        *(_arguments(true, true_source) if keep is None else _arguments(keep, keep_source)),
        n, items, rows, columns, true_first, pred_first, (shift + 2**31) % 2**32 - 2**31,
        KEEP=keep is not None, CHECKED=bool(numbers["checked"]), ALONE=items >= n and not direct, DIRECT=direct,
        TILE=tile, COUNTERS=counters, num_warps=WARPS[counters], enable_fp_fusion=False,
    )  # fmt: skip


def slice_items(size: int, n: int, cells: int, tile: int, programs: int) -> int:
    """Items of a slice, in whole tiles: as many slices as make so many programs, but not more than pay."""
    slices = min(-(-programs // size), n // max(8 * cells, tile), 65_535)
    slices = max(1, slices, -(-n // _MAX_SLICE_ITEMS))
    return -(-n // (slices * tile)) * tile


def _arguments(values: Tensor, source: Tensor | None) -> tuple[Tensor, Tensor | None, int, int]:
    """Labels ``(s, N)``, the row of labels of each batch row, and their strides."""
    labels = values.view(torch.uint8) if values.dtype == torch.bool else values
    return labels, source, 0 if len(values) == 1 else values.stride(0), values.stride(1)


@triton.jit(do_not_specialize=["n", "items", "rows", "columns", "true_first", "pred_first", "shift"])
def count_slice(
    table, true, true_source, true_stride, true_step, pred, pred_source, pred_stride, pred_step,
    keep, keep_source, keep_stride, keep_step, n, items, rows, columns, true_first, pred_first, shift,
    KEEP: tl.constexpr, CHECKED: tl.constexpr, ALONE: tl.constexpr, DIRECT: tl.constexpr,
    TILE: tl.constexpr, COUNTERS: tl.constexpr,
):  # fmt: skip
    """Count a slice (axis 1) of so many items of a row of the batch (axis 0: neighbours read the same reference)."""
    table += tl.program_id(0).to(tl.int64) * rows * columns
    start = tl.program_id(1).to(tl.int64) * items
    end = tl.minimum(start + items, n)
    whole = (end - start) // TILE  # tiles
    true = _place(true, true_source, true_stride, true_step, start)
    pred = _place(pred, pred_source, pred_stride, pred_step, start)
    if KEEP:
        keep = _place(keep, keep_source, keep_stride, keep_step, start)
    counts = tl.zeros([COUNTERS], tl.int32)
    for tile in range(0, whole + 1):
        left = end - start - tile * TILE
        if left >= TILE:  # without a mask, loads are wide
            counts = _count(
                counts, table, true, true_step, pred, pred_step, keep, keep_step, tile, TILE, rows, columns,
                true_first, pred_first, shift, KEEP, CHECKED, False, DIRECT, TILE, COUNTERS,
            )  # fmt: skip
        elif left > 0:
            counts = _count(
                counts, table, true, true_step, pred, pred_step, keep, keep_step, tile, left, rows, columns,
                true_first, pred_first, shift, KEEP, CHECKED, True, DIRECT, TILE, COUNTERS,
            )  # fmt: skip
    if not DIRECT:
        cell = tl.arange(0, COUNTERS)
        exists = cell < rows * columns
        if ALONE:  # nobody else adds to this table
            tl.store(table + cell, tl.load(table + cell, mask=exists, other=0) + counts, mask=exists)
        else:
            tl.atomic_add(table + cell, counts.to(tl.int64), mask=exists & (counts != 0), sem="relaxed")


@triton.jit
def _place(labels, source, stride, step, start):  # fmt: skip
    """Where the labels of this program begin."""
    row = tl.program_id(0).to(tl.int64)
    if source is not None:
        row = tl.load(source + row)
    return labels + row * stride + start * step


@triton.jit
def _read(labels, step, tile, left, TAIL: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """The labels of a tile, ``(TILE,)``; of a tail no more than are left."""
    item = tl.arange(0, TILE)
    at = labels + tile * TILE * step + item.to(tl.int64) * step
    return tl.load(at, mask=item < left, other=0) if TAIL else tl.load(at)  # without a mask, loads are wide


@triton.jit
def _count(
    counts, table, true, true_step, pred, pred_step, keep, keep_step, tile, left, rows, columns,
    true_first, pred_first, shift, KEEP: tl.constexpr, CHECKED: tl.constexpr, TAIL: tl.constexpr,
    DIRECT: tl.constexpr, TILE: tl.constexpr, COUNTERS: tl.constexpr,
):  # fmt: skip
    """The counts ``(COUNTERS,)`` int32 with the labels of a tile, which go to the table if ``DIRECT``."""
    own = _read(true, true_step, tile, left, TAIL, TILE)
    other = _read(pred, pred_step, tile, left, TAIL, TILE)
    counted = tl.arange(0, TILE) < left
    if KEEP:
        counted = counted & (_read(keep, keep_step, tile, left, TAIL, TILE) != 0)
    if CHECKED or DIRECT:
        row = own.to(tl.int64) - true_first
        column = other.to(tl.int64) - pred_first
        if CHECKED:
            counted = counted & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        if DIRECT:
            one = tl.full([TILE], 1, tl.int64)
            tl.atomic_add(table + row * columns + column, one, mask=counted, sem="relaxed")
    if not DIRECT:
        # Overflow is harmless: arithmetic wraps, and the index of a cell fits.
        code = own.to(tl.int32) * columns + other.to(tl.int32) - shift
        if TAIL or CHECKED or KEEP:
            counts += tl.histogram(tl.where(counted, code, 0), COUNTERS, mask=counted)
        else:
            counts += tl.histogram(code, COUNTERS)
    return counts
