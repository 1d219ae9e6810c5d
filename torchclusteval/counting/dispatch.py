"""Codes to counts: which layout, and which kernel, by device, size and type of the labels."""

import math
from typing import Literal

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.common import kernels
from torchclusteval.common.checks import MAX_CELLS, explain_out_of_memory, retain_freed_memory
from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting import cpu, cuda, sparse
from torchclusteval.labels.blocks import flat_index_blocks, pair_rows
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair

_BLOCK_LABELS = 1 << 16  # labels per block on the CPU: their indices stay in the second-level cache
_ALWAYS_DENSE_CELLS = 1 << 20  # a batch of up to this many cells is always dense
_MAX_AUTO_DENSE_CELLS = 1 << 27  # a table with more cells (1 GB) is dense only on request

# Torch operations on CUDA, most cells, fewest labels: the first that fits. Not measured on a device yet.
_CUDA_KERNELS = (("privatized", cuda.MAX_PRIVATE_COUNTERS, 1 << 16), ("scatter", math.inf, 0))


def count(pair: EncodedPair, layout: str, *, may_sync: bool) -> Cells:
    """The cells in the layout that :func:`resolve_layout` gives."""
    return count_dense(pair) if resolve_layout(layout, pair, may_sync=may_sync) == "dense" else count_sparse(pair)


def resolve_layout(layout: str, pair: EncodedPair, *, may_sync: bool) -> Literal["dense", "sparse"]:
    """The layout to count into; ``"auto"`` is by size, and dense if counting may not synchronise with the device."""
    table = pair.true.size * pair.pred.size
    cells = table * pair.batch_shape.numel()
    if layout == "auto":
        fits = fits_dense(table, pair.batch_shape.numel(), pair.n_items)
        layout = "dense" if fits or not may_sync else "sparse"
    if layout == "sparse":
        return "sparse"
    if cells > MAX_CELLS:
        got = _describe_tables(pair.batch_shape.numel(), pair.true.size, pair.pred.size)
        raise ValueError(f"layout: expected at most 2**32 dense cells; got {got} (use layout='sparse')")
    return "dense"


def fits_dense(cells: int, size: int, n: int) -> bool:
    """Whether ``size`` tables of so many cells each, over ``n`` items, are small enough to be stored densely."""
    return cells * size <= _ALWAYS_DENSE_CELLS or cells <= min(max(2 * n, 1024), _MAX_AUTO_DENSE_CELLS)


@on_one_thread
def count_dense(pair: EncodedPair) -> DenseCells:
    """Count into ``(*batch, R, C)`` tables, int64 or (float weights) float64."""
    rows, columns = pair.true.size, pair.pred.size
    dtype = torch.int64 if pair.weights is None else pair.weights.dtype
    size = pair.batch_shape.numel()
    host = _counts_unweighted(dtype, pair) and pair.device.type == "cpu"
    if host and cpu.takes_one_call(pair, size * rows * columns):
        counts = cpu.count_in_one_call(pair, size * rows * columns)
        return DenseCells(counts.view(*pair.batch_shape, rows, columns))
    got = _describe_tables(size, rows, columns)
    message = f"layout: expected dense tables that fit in memory; got {got} (use 'sparse')"
    # The extra last entry is for excluded items.
    table = _empty(size * rows * columns + 1, dtype, pair.device, message)
    if host:
        cpu.accumulate_counts(table[:-1], pair, overwrite=True)
    else:
        table = add_dense(table.zero_(), pair)
    return DenseCells(table[:-1].view(*pair.batch_shape, rows, columns))


@on_one_thread
def add_dense(table: Tensor, pair: EncodedPair) -> Tensor:
    """Add counts to ``table``, ``(B * R * C + 1,)`` int64 or float64: in place, unless weights carry a gradient."""
    plain = _counts_unweighted(table.dtype, pair)
    if plain and pair.device.type == "cpu":
        cpu.accumulate_counts(table[:-1], pair)
        return table
    if plain and pair.device.type == "cuda":
        kernels.launch("count", table, *pair_rows(pair).flat, **numbers_of(pair))
        return table
    for index, weight in flat_index_blocks(pair, _BLOCK_LABELS):
        weight = weight.to(table.dtype)
        table = table.scatter_add(0, index, weight) if weight.requires_grad else table.scatter_add_(0, index, weight)
    return table


def numbers_of(pair: EncodedPair) -> dict[str, int]:
    """The numeric arguments of the counting kernel."""
    true, pred = pair.true, pair.pred
    sizes = {"size": pair.batch_shape.numel(), "rows": true.size, "columns": pred.size}
    return sizes | {"true_first": true.offset, "pred_first": pred.offset, "checked": not pair.codes_in_range}


def count_by_torch(table: Tensor, *sides: Tensor | None, size: int, checked: bool, **numbers: int) -> None:
    """Add the number of items in each cell to a table, in place.

    Args:
        table: ``(size * rows * columns + 1,)`` int64; the last entry is scratch space, 0 in the end.
        *sides: codes of the truth ``(s, N)`` and ``(size,)`` which row of them each table has (None: its own, or the
            only one); the same of the prediction; and of booleans, the items that count (None: all).
        size: tables.
        checked: whether codes may be of no row or column; such items do not count.
        **numbers: ``rows``, ``columns``, and the codes of the first of each, ``true_first`` and ``pred_first``.
    """
    parts = [
        values if values is None or source is None else values.index_select(0, source)
        for values, source in zip(sides[::2], sides[1::2], strict=True)
    ]
    true, pred, mask = parts
    assert true is not None
    assert pred is not None
    own = EncodedLabels(true, numbers["true_first"], numbers["rows"], None)
    other = EncodedLabels(pred, numbers["pred_first"], numbers["columns"], None)
    pair = EncodedPair(own, other, torch.Size([size]), true.shape[1], mask, None, not checked, None)
    cuda.accumulate_counts(table, pair, cuda_kernel(pair))
    table[-1:].zero_()


def _sample(device: torch.device) -> kernels.Arguments:
    """Labels of two full tiles and a part of one, with some that do not count."""
    item = torch.arange(3 * 5000, device=device).view(3, 5000)
    table, keep = torch.zeros(3 * 5 * 7 + 1, dtype=torch.int64, device=device), item % 11 > 0
    numbers = {"size": 3, "rows": 5, "columns": 7, "true_first": 1, "pred_first": 0, "checked": True}
    return [table, item[:1] % 13 % 6 + 1, None, item % 97 % 8, None, keep, None], numbers


kernels.define("count", "torchclusteval.counting.triton_counts", count_by_torch, _sample)


def _counts_unweighted(dtype: torch.dtype, pair: EncodedPair) -> bool:
    """Whether labels have no weights, and no compiler traces the code (which needs plain torch operations)."""
    return pair.weights is None and not dtype.is_floating_point and not torch.compiler.is_compiling()


def cuda_kernel(pair: EncodedPair) -> str:
    """The kernel that counts these labels on a CUDA device."""
    size = pair.batch_shape.numel()
    cells, labels = size * pair.true.size * pair.pred.size, size * pair.n_items
    return next(kernel for kernel, most, least in _CUDA_KERNELS if cells <= most and labels >= least)


@on_one_thread
def count_sparse(pair: EncodedPair) -> SparseCells:
    """Count by sorting flat indices; memory follows the number of items and groups."""
    rows, columns = pair.true.size, pair.pred.size
    size = pair.batch_shape.numel()
    if size * rows * columns >= 2**63 or size * max(rows, columns) > MAX_CELLS:
        got = _describe_tables(size, rows, columns)
        raise ValueError(f"num_classes, num_clusters: expected at most 2**32 rows and columns in all; got {got}")
    return sparse.count_tables(pair)


def flat_indices(pair: EncodedPair) -> Tensor:
    """The flat cell index of each item over the whole batch, ``(B * N,)`` int64; one past the last cell if excluded."""
    labels = max(1, pair.batch_shape.numel() * pair.n_items)
    return torch.cat([index for index, _ in flat_index_blocks(pair, labels)])


@on_one_thread
def to_dense(cells: SparseCells) -> Tensor:
    """The ``(*batch, R, C)`` counts of sparse tables."""
    rows, columns = cells.shape
    size, got = cells.size * rows * columns, _describe_tables(cells.size, rows, columns)
    if size > MAX_CELLS:
        raise ValueError(f"to_dense: expected at most 2**32 cells; got {got} (cells() lists those that are not 0)")
    message = f"to_dense: expected tables that fit in memory; got {got} (cells() lists those that are not 0)"
    flat = _empty(size, cells.values.dtype, cells.values.device, message).zero_()
    flat.index_add_(0, cells.row_key * columns + cells.column, cells.values)
    return flat.reshape(*cells.batch_shape, rows, columns)


def _describe_tables(size: int, rows: int, columns: int) -> str:
    return f"{size} tables of {rows} x {columns}"


def _empty(size: int, dtype: torch.dtype, device: torch.device, message: str) -> Tensor:
    if torch.compiler.is_compiling():
        return torch.empty(size, dtype=dtype, device=device)
    if device.type == "cpu":
        retain_freed_memory()
    with explain_out_of_memory(message):
        return torch.empty(size, dtype=dtype, device=device)
