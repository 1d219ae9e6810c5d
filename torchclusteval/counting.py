"""Codes -> counts: which layout, and which of the ways to count, by device, size and type of the labels."""

import math

import torch
from torch import Tensor

from torchclusteval import cpu_counting, cuda_counting, sparse_counting
from torchclusteval.cells import DenseCells, SparseCells
from torchclusteval.checks import enough_memory
from torchclusteval.label_blocks import fused_blocks
from torchclusteval.labels import LabelPair
from torchclusteval.numerics import keep_pages

_BLOCK = 1 << 16  # labels a block on the CPU: codes stay in the second-level cache
_FEW_CELLS = 1 << 20  # a dense batch may always have this many cells
_MANY_CELLS = 1 << 27  # one table has more than these (1 GB) only where it is asked for
_MOST_CELLS = 1 << 32

# Path on CUDA, most cells, fewest labels: the first that fits. Not measured on a device yet: until then the paths that
# may be faster (histc, triton) wait, and torch's ``scatter_add_`` counts, over many counters where cells are few.
_CUDA_PATHS = (
    ("striped", cuda_counting.SPREAD, 1 << 16),
    ("scatter", math.inf, 0),
)


def is_dense(layout: str, pair: LabelPair, *, wait: bool) -> bool:
    """Whether to count into dense tables.

    Raises:
        ValueError: an unknown layout, or dense tables that no machine holds.
    """
    if layout not in ("auto", "dense", "sparse"):
        raise ValueError(f"layout: expected 'auto', 'dense' or 'sparse'; got {layout!r}")
    table = pair.true.size * pair.pred.size
    cells = table * pair.batch_shape.numel()
    fits = fits_dense(table, pair.batch_shape.numel(), pair.n)
    dense = layout == "dense" or (layout == "auto" and (fits or not wait))
    if dense and cells > _MOST_CELLS:
        found = _shown(pair.batch_shape.numel(), pair.true.size, pair.pred.size)
        raise ValueError(f"layout: expected at most 2**32 dense cells; got {found} (use layout='sparse')")
    return dense


def fits_dense(cells: int, size: int, n: int) -> bool:
    """Whether ``size`` tables of so many cells each, over ``n`` items, are small enough to be stored densely."""
    return cells * size <= _FEW_CELLS or cells <= min(max(2 * n, 1024), _MANY_CELLS)


def count_dense(pair: LabelPair) -> DenseCells:
    """Count into ``(*batch, R, C)`` tables, int64 or (float weights) float64."""
    rows, columns = pair.true.size, pair.pred.size
    dtype = torch.int64 if pair.weights is None else pair.weights.dtype
    size = pair.batch_shape.numel()
    message = f"layout: expected dense tables that fit in memory; got {_shown(size, rows, columns)} (use 'sparse')"
    # One cell more than the tables have takes what is left out.
    table = _empty(size * rows * columns + 1, dtype, pair.device, message)
    host = _counts_on_host(table, pair)
    counts = cpu_counting.count(pair, table[:-1]) if host else add_dense(table.zero_(), pair)[:-1]
    return DenseCells(counts.view(*pair.batch_shape, rows, columns))


def add_dense(table: Tensor, pair: LabelPair) -> Tensor:
    """Add counts to ``table``, ``(B * R * C + 1,)`` int64 or float64: in place, unless weights carry a gradient."""
    if _counts_on_host(table, pair):
        cpu_counting.add_ones(table[:-1], pair)
        return table
    if _counts_ones(table, pair) and pair.device.type == "cuda":
        cuda_counting.add_ones(table, pair, cuda_path(pair))
        return table
    for index, amount in fused_blocks(pair, _BLOCK):
        amount = amount.to(table.dtype)
        table = table.scatter_add(0, index, amount) if amount.requires_grad else table.scatter_add_(0, index, amount)
    return table


def _counts_ones(table: Tensor, pair: LabelPair) -> bool:
    """Whether there are no weights to add, and no compiler that wants plain operations."""
    return pair.weights is None and not table.is_floating_point() and not torch.compiler.is_compiling()


def _counts_on_host(table: Tensor, pair: LabelPair) -> bool:
    return _counts_ones(table, pair) and pair.device.type == "cpu"


def cuda_path(pair: LabelPair) -> str:
    """How to count these labels on a CUDA device."""
    cells, size = pair.true.size * pair.pred.size, pair.batch_shape.numel()
    return next(path for path, most, least in _CUDA_PATHS if cells * size <= most and size * pair.n >= least)


def count_sparse(pair: LabelPair) -> SparseCells:
    """Count by sorting cell numbers; memory follows the number of items and groups.

    Raises:
        ValueError: too many rows or columns.
    """
    rows, columns = pair.true.size, pair.pred.size
    size = pair.batch_shape.numel()
    if size * rows * columns >= 2**63 or size * max(rows, columns) > _MOST_CELLS:
        found = _shown(size, rows, columns)
        raise ValueError(f"num_classes, num_clusters: expected at most 2**32 rows and columns in all; got {found}")
    return sparse_counting.count(pair)


def cell_numbers(pair: LabelPair) -> Tensor:
    """The cell that each item falls in, ``(B * N,)`` int64, numbered through the batch; one more: left out."""
    whole = max(1, pair.batch_shape.numel() * pair.n)
    return torch.cat([index for index, _ in fused_blocks(pair, whole)])


def to_dense(cells: SparseCells) -> Tensor:
    """The ``(*batch, R, C)`` counts of sparse tables.

    Raises:
        ValueError: they would have more than 2**32 cells.
    """
    rows, columns = cells.shape
    size, found = cells.size * rows * columns, _shown(cells.size, rows, columns)
    if size > _MOST_CELLS:
        raise ValueError(f"to_dense: expected at most 2**32 cells; got {found} (cells() lists those that are not 0)")
    message = f"to_dense: expected tables that fit in memory; got {found} (cells() lists those that are not 0)"
    flat = _empty(size, cells.values.dtype, cells.values.device, message).zero_()
    flat.index_add_(0, cells.row_key * columns + cells.column, cells.values)
    return flat.reshape(*cells.batch_shape, rows, columns)


def _shown(size: int, rows: int, columns: int) -> str:
    return f"{size} tables of {rows} x {columns}"


def _empty(size: int, dtype: torch.dtype, device: torch.device, message: str) -> Tensor:
    if torch.compiler.is_compiling():
        return torch.empty(size, dtype=dtype, device=device)
    if device.type == "cpu":
        keep_pages()
    with enough_memory(message):
        return torch.empty(size, dtype=dtype, device=device)
