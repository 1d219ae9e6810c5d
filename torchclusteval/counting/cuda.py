"""Counting on a CUDA device, without synchronising with it and in bounded memory.

Where Triton runs, :mod:`torchclusteval.counting.triton_counts` counts. Else labels become indices of counters block by
block, and one of two *kernels* of torch operations adds to those counters:

    scatter      ``scatter_add_`` into the table: one atomic addition to global memory for each label
    privatized   ``scatter_add_`` into several private int32 counters per cell, which spreads the atomic additions when
                 there are few cells (a privatised histogram)

All count exactly. None was ever timed on a device; ``benchmarks/gpu_candidates`` holds ``histc``, which may be faster.
Under ``torch.use_deterministic_algorithms(True)`` torch sorts for ``scatter_add_`` (slow, not wrong).
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import pieces
from torchclusteval.labels.blocks import pair_rows
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair
from torchclusteval.labels.keeping import all_of

KERNELS = ("scatter", "privatized")
MAX_PRIVATE_COUNTERS = 1 << 16  # counters of all cells over which additions are spread
BLOCK_LABELS = 1 << 24  # labels whose indices are held at a time: 64 to 128 MB


def accumulate_counts(table: Tensor, pair: EncodedPair, kernel: str) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C + 1,)`` int64, in place.

    Labels have no weights. The last entry is scratch space for excluded items; ignore its value.
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel: expected one of {', '.join(KERNELS)}; got {brief(kernel)}")
    copies = 1 << (-(-MAX_PRIVATE_COUNTERS // max(1, len(table) - 1)) - 1).bit_length()
    if kernel == "scatter" or copies == 1:
        _scatter(table, pair, 1)
        return
    # The counters of excluded items may wrap: nothing reads them.
    dtype = torch.int32 if pair.n_items < 2**31 else torch.int64
    counters = torch.zeros(len(table) * copies, dtype=dtype, device=table.device)
    _scatter(counters, pair, copies)
    table.add_(counters.view(-1, copies).sum(1))


def _scatter(counters: Tensor, pair: EncodedPair, copies: int) -> None:
    """Add to counters ``((B * R * C + 1) * copies,)``."""
    cells = pair.true.size * pair.pred.size
    one = torch.ones(1, dtype=counters.dtype, device=counters.device)
    height = max(1, min(pair.batch_shape.numel(), BLOCK_LABELS // max(1, pair.n_items)))
    for rows, index in counter_index_blocks(pair, height, copies, torch.int64):  # older scatter_add_ takes only int64
        counters[rows.start * cells * copies :].scatter_add_(0, index, one.expand(len(index)))


def counter_index_blocks(
    pair: EncodedPair, height: int, copies: int, dtype: torch.dtype
) -> Iterator[tuple[range, Tensor]]:
    """Yield the rows of a block and the index of the counter of each of its labels, ``(labels,)``.

    Indices start at 0 for the first of the rows. Excluded items get the counters past the last cell of the batch.
    A block has ``height`` batch rows, a cell ``copies`` counters, which consecutive labels use in turn; ``dtype`` holds
    the index one past the last counter of the batch.
    """
    sides = pair_rows(pair)
    scale = pair.pred.size * copies
    step = pair.true.size * scale  # counters of one row of the batch
    shift = _wrapped(-(pair.true.offset * scale + pair.pred.offset * copies), dtype)
    kind: Any = {"dtype": dtype, "device": pair.device}
    starts = torch.arange(0, height * step, step, **kind).unsqueeze(-1)
    # A tensor, not a number, keeps the arithmetic from the type of narrow labels.
    own = torch.full((1, 1), shift, **kind) if sides.true.is_broadcast else starts + shift
    turn = torch.arange(copies, **kind)
    size = pair.batch_shape.numel()
    for items in pieces(range(pair.n_items), BLOCK_LABELS):
        base = inside = None
        for rows in pieces(range(size), height):
            if base is None or not sides.true.is_broadcast:
                true = sides.true.read(rows, items)
                base = torch.empty(true.shape, **kind)
                torch.add(own[: len(true)], true, alpha=scale, out=base)
                _add_turns(base.view(-1), turn)
                inside = None if pair.codes_in_range else _in_range(true, pair.true)
            pred = sides.pred.read(rows, items)
            index = torch.empty(len(rows), len(items), **kind)
            torch.add(base.expand(index.shape), pred, alpha=copies, out=index)
            if sides.true.is_broadcast and len(rows) > 1:
                index.add_(starts[: len(rows)])
            counted = all_of(
                None if sides.mask is None else sides.mask.read(rows, items),
                inside,
                None if pair.codes_in_range else _in_range(pred, pair.pred),
            )
            if counted is not None:
                index = _exclude(index, counted, step * (size - rows.start), turn)
            yield rows, index.view(-1)


def _wrapped(number: int, dtype: torch.dtype) -> int:
    """The equal number modulo the range of a type, so that sums within the range come out right."""
    limits = torch.iinfo(dtype)
    return (number - limits.min) % (limits.max - limits.min + 1) + limits.min


def _add_turns(numbers: Tensor, turn: Tensor) -> None:
    """Add 0, 1 ... copies - 1, 0, 1 ... in place."""
    end = len(numbers) - len(numbers) % len(turn)
    if len(turn) > 1:
        numbers[:end].view(-1, len(turn)).add_(turn)
        numbers[end:].add_(turn[: len(numbers) - end])


def _exclude(index: Tensor, counted: Tensor, past_end: int, turn: Tensor) -> Tensor:
    """Indices ``(rows, items)``, with the counters past the end of the batch for items that do not count."""
    if len(turn) == 1:
        return index.masked_fill_(counted.logical_not(), past_end)
    others = torch.full_like(index[0], past_end)
    _add_turns(others, turn)
    return torch.where(counted, index, others, out=index)


def _in_range(codes: Tensor, side: EncodedLabels) -> Tensor | None:
    """Which codes have a row (column); None where every value of their type has."""
    limits = torch.iinfo(torch.uint8 if codes.dtype == torch.bool else codes.dtype)
    first, last = side.offset, side.offset + side.size - 1
    # A type cannot be compared with numbers beyond it.
    if first > limits.max or last < limits.min:
        return torch.zeros_like(codes, dtype=torch.bool)
    return all_of(codes >= first if first > limits.min else None, codes <= last if last < limits.max else None)
