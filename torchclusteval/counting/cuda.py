"""Counting on a CUDA device, without waiting for it and in bounded memory.

Labels are fused to numbers of cells (``true * C + pred``) block by block, and one of several *paths* counts those:

    scatter   ``scatter_add_`` into the table: one atomic addition to global memory a label
    histc     ``torch.histc`` of int32 numbers, which counts in shared memory; rows of the batch in groups that fit
    striped   ``scatter_add_`` into several int32 counters a cell, so that few cells are not waited for
    triton    a kernel that reads labels once, in their own type, and writes nothing but tables (needs Triton)

All of them count exactly. None was ever timed on a device: until then ``counting`` chooses between those that rest on
``scatter_add_``, and takes the others only where they are named. Under ``torch.use_deterministic_algorithms(True)``
torch sorts for ``scatter_add_`` (slow, not wrong), but not for ``histc`` of whole numbers.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from torchclusteval.labels.blocks import pair_rows, split
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair

PATHS = ("scatter", "histc", "striped", "triton")

_BLOCK = 1 << 24  # labels fused at a time: 64 to 128 MB
_HISTC_CELLS = 12_284  # 48 KB of shared memory hold 12,285 int32 counters, and one of them takes what is left out
SPREAD = 1 << 16  # counters over which additions are spread


@dataclass(frozen=True, eq=False)
class _Plan:
    """How labels are fused to the numbers of counters."""

    height: int  # rows of the batch in a block
    stripes: int  # counters of each cell
    dtype: torch.dtype  # of the numbers
    through: bool  # what is left out comes after the last cell of the batch, not of the block


def count(pair: EncodedPair, path: str) -> Tensor:
    """Count labels without weights.

    Args:
        pair: both sides, on a CUDA device.
        path: one of ``PATHS``.

    Returns:
        ``(*batch, R, C)`` int64.

    Raises:
        ValueError: an unknown path, or one that does not serve this pair.
    """
    rows, columns = pair.true.size, pair.pred.size
    table = torch.zeros(pair.batch_shape.numel() * rows * columns + 1, dtype=torch.int64, device=pair.device)
    add_ones(table, pair, path)
    return table[:-1].view(*pair.batch_shape, rows, columns)


def add_ones(table: Tensor, pair: EncodedPair, path: str) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C + 1,)`` int64, in place.

    The last cell takes what is left out, or does not; its value means nothing.

    Args:
        table: on the device of the labels.
        pair: both sides.
        path: one of ``PATHS``.

    Raises:
        ValueError: an unknown path, or one that does not serve this pair.
    """
    if path not in PATHS:
        raise ValueError(f"path: expected one of {', '.join(PATHS)}; got {path!r}")
    if not serves(pair, path):
        found = f"{pair.true.size} x {pair.pred.size} cells on {pair.device.type}"
        raise ValueError(f"path: expected one that serves {found}; got {path!r}")
    if path == "triton":
        from torchclusteval.counting import triton_kernel

        triton_kernel.add_ones(table, pair)
    elif path == "histc":
        _by_histc(table, pair)
    elif path == "striped":
        _striped(table, pair)
    else:
        _scatter(table, pair, 1)


def serves(pair: EncodedPair, path: str) -> bool:
    """Whether a path can count this pair, slowly or not."""
    if path != "triton":
        return True
    if pair.device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    from torchclusteval.counting import triton_kernel

    return triton_kernel.serves(pair)


# --- the paths of torch -----------------------------------------------------------------------------------


def _by_histc(table: Tensor, pair: EncodedPair) -> None:
    cells, size = pair.true.size * pair.pred.size, pair.batch_shape.numel()
    height = max(1, min(size, _HISTC_CELLS // cells, _BLOCK // max(1, pair.n)))
    dtype = torch.int32 if height * cells < 2**31 - 1 else torch.int64
    for rows, codes in _fused(pair, _Plan(height, 1, dtype, through=False)):
        bins = len(rows) * cells + 1
        counts = torch.histc(codes, bins, min=0, max=bins)  # without limits it would look for them, and wait
        table[rows.start * cells : rows.stop * cells].add_(counts[:-1])


def _striped(table: Tensor, pair: EncodedPair) -> None:
    stripes = 1 << (-(-SPREAD // max(1, len(table) - 1)) - 1).bit_length()
    if stripes == 1:
        _scatter(table, pair, 1)
        return
    # Counters of what is left out may wrap: nobody reads them.
    dtype = torch.int32 if pair.n < 2**31 else torch.int64
    counters = torch.zeros(len(table) * stripes, dtype=dtype, device=table.device)
    _scatter(counters, pair, stripes)
    table.add_(counters.view(-1, stripes).sum(1))


def _scatter(counters: Tensor, pair: EncodedPair, stripes: int) -> None:
    """Add to counters ``((B * R * C + 1) * stripes,)``."""
    cells = pair.true.size * pair.pred.size
    one = torch.ones(1, dtype=counters.dtype, device=counters.device)
    height = max(1, min(pair.batch_shape.numel(), _BLOCK // max(1, pair.n)))
    plan = _Plan(height, stripes, torch.int64, through=True)  # older scatter_add_ takes no narrower index
    for rows, codes in _fused(pair, plan):
        counters[rows.start * cells * stripes :].scatter_add_(0, codes, one.expand(len(codes)))


# --- labels -> numbers of counters ------------------------------------------------------------------------


def _fused(pair: EncodedPair, plan: _Plan) -> Iterator[tuple[range, Tensor]]:
    """Rows of a block, and the counter of each of its labels, ``(labels,)``, from 0 for the first of the rows.

    What is left out has the counters after the last cell.
    """
    sides = pair_rows(pair)
    scale = pair.pred.size * plan.stripes
    step = pair.true.size * scale  # from a row to the next
    shift = _wrapped(-(pair.true.offset * scale + pair.pred.offset * plan.stripes), plan.dtype)
    kind: Any = {"dtype": plan.dtype, "device": pair.device}
    starts = torch.arange(0, plan.height * step, step, **kind).unsqueeze(-1)
    # A tensor, not a number, keeps the arithmetic from the type of narrow labels.
    own = torch.full((1, 1), shift, **kind) if sides.true.is_broadcast else starts + shift
    stripe = torch.arange(plan.stripes, **kind)
    size = pair.batch_shape.numel()
    for items in split(range(pair.n), _BLOCK):
        base = inside = None
        for rows in split(range(size), plan.height):
            if base is None or not sides.true.is_broadcast:
                true = sides.true.read(rows, items)
                base = torch.empty(true.shape, **kind)
                torch.add(own[: len(true)], true, alpha=scale, out=base)
                _add_stripes(base.view(-1), stripe)
                inside = None if pair.codes_in_range else _inside(true, pair.true)
            pred = sides.pred.read(rows, items)
            codes = torch.empty(len(rows), len(items), **kind)
            torch.add(base.expand(codes.shape), pred, alpha=plan.stripes, out=codes)
            if sides.true.is_broadcast and len(rows) > 1:
                codes.add_(starts[: len(rows)])
            keep = _all_of(
                None if sides.keep is None else sides.keep.read(rows, items),
                inside,
                None if pair.codes_in_range else _inside(pred, pair.pred),
            )
            if keep is not None:
                spare = step * (size - rows.start if plan.through else len(rows))
                codes = _leave_out(codes, keep, spare, stripe)
            yield rows, codes.view(-1)


def _wrapped(number: int, dtype: torch.dtype) -> int:
    """The number of a type that is equal modulo its range: sums that fit come out right."""
    limits = torch.iinfo(dtype)
    return (number - limits.min) % (limits.max - limits.min + 1) + limits.min


def _add_stripes(numbers: Tensor, stripe: Tensor) -> None:
    """Add 0, 1 ... S - 1, 0, 1 ... in place."""
    whole = len(numbers) - len(numbers) % len(stripe)
    if len(stripe) > 1:
        numbers[:whole].view(-1, len(stripe)).add_(stripe)
        numbers[whole:].add_(stripe[: len(numbers) - whole])


def _leave_out(codes: Tensor, keep: Tensor, spare: int, stripe: Tensor) -> Tensor:
    """Codes ``(rows, items)``, with the spare counters for items that do not count."""
    if len(stripe) == 1:
        return codes.masked_fill_(keep.logical_not(), spare)
    others = torch.full_like(codes[0], spare)
    _add_stripes(others, stripe)
    return torch.where(keep, codes, others, out=codes)


def _inside(labels: Tensor, side: EncodedLabels) -> Tensor | None:
    """Which labels have a row (column); None: any label of this type has."""
    low, high = (0, 1) if labels.dtype == torch.bool else _limits(labels.dtype)
    first, last = side.offset, side.offset + side.size - 1
    # A type cannot be compared with numbers beyond it.
    if first > high or last < low:
        return torch.zeros_like(labels, dtype=torch.bool)
    return _all_of(labels >= first if first > low else None, labels <= last if last < high else None)


def _limits(dtype: torch.dtype) -> tuple[int, int]:
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


def _all_of(*masks: Tensor | None) -> Tensor | None:
    found = [mask for mask in masks if mask is not None]
    return reduce(torch.logical_and, found) if found else None
