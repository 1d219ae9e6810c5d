"""Codes -> counts. The fast paths, by device, size and type of the labels.

The dense path fuses both codes to one number a cell (``true * C + pred``) and scatters ones. On the CPU it does
so in blocks that stay in the cache, with one warm buffer; labels keep their own type until then.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells import DenseCells, SparseCells
from torchclusteval.labels import LabelPair
from torchclusteval.numerics import extremes, keep_pages

_BLOCK = 1 << 16  # labels a block on the CPU: codes stay in the second-level cache
_SORT_BLOCK = 1 << 22  # labels sorted at a time
_FEW_CELLS = 4_000_000  # a dense batch may always have this many cells
_MOST_CELLS = 1 << 32


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
        size = f"{pair.batch_shape.numel()} tables of {pair.true.size} x {pair.pred.size}"
        raise ValueError(f"layout: expected at most 2**32 dense cells; got {size} (use layout='sparse')")
    return dense


def fits_dense(cells: int, size: int, n: int) -> bool:
    """Whether ``size`` tables of so many cells each, over ``n`` items, are small enough to be stored densely."""
    return cells * size <= _FEW_CELLS or cells <= max(4 * n, 1024)


def count_dense(pair: LabelPair) -> DenseCells:
    """Count into ``(*batch, R, C)`` tables, int64 or (float weights) float64."""
    rows, columns = pair.true.size, pair.pred.size
    dtype = torch.int64 if pair.weights is None else pair.weights.dtype
    # One cell more than the tables have takes what is left out.
    table = torch.zeros(pair.batch_shape.numel() * rows * columns + 1, dtype=dtype, device=pair.device)
    return DenseCells(add_dense(table, pair)[:-1].view(*pair.batch_shape, rows, columns))


def add_dense(table: Tensor, pair: LabelPair) -> Tensor:
    """Add counts to ``table``, ``(B * R * C + 1,)`` int64 or float64: in place, unless weights carry a gradient."""
    on_host = pair.device.type == "cpu" and not torch.compiler.is_compiling()
    plain = on_host and pair.weights is None and not table.is_floating_point()
    if on_host:
        keep_pages()
    buffer = torch.empty(0, dtype=torch.int64)
    for block in _blocks(pair, _BLOCK):
        if plain and (pair.bounded or _is_inside(block, pair)):
            buffer = _count_block(table, block, pair, buffer)
            continue
        index, amount = _fused(block, pair)
        amount = amount.to(table.dtype)
        table = table.scatter_add(0, index, amount) if amount.requires_grad else table.scatter_add_(0, index, amount)
    return table


def count_sparse(pair: LabelPair) -> SparseCells:
    """Count by sorting codes; memory follows the number of items and groups."""
    rows, columns = pair.true.size, pair.pred.size
    size = pair.batch_shape.numel()
    if size * rows * columns >= 2**63 or size * max(rows, columns) > _MOST_CELLS:
        found = f"{size} tables of {rows} x {columns}"
        raise ValueError(f"num_classes, num_clusters: expected at most 2**32 rows and columns in all; got {found}")
    plain = pair.weights is None
    parts = [_distinct(*_fused(block, pair), size * rows * columns, plain) for block in _blocks(pair, _SORT_BLOCK)]
    if not parts:  # no tables
        keys = torch.zeros(0, dtype=torch.int64, device=pair.device)
        values = keys if pair.weights is None else keys.to(pair.weights.dtype)
    elif len(parts) == 1:
        keys, values = parts[0]
    else:
        keys, values = (torch.cat(x) for x in zip(*parts, strict=True))
        keys, values = _merge(keys, values)
    row_key = keys.div(columns, rounding_mode="floor")
    batch = row_key.div(rows, rounding_mode="floor")
    where = (batch, row_key - batch * rows, keys - row_key * columns)
    return SparseCells(pair.batch_shape, (rows, columns), *where, values)


def cell_numbers(pair: LabelPair) -> Tensor:
    """The cell that each item falls in, ``(B * N,)`` int64, numbered through the batch; one more: left out."""
    whole = max(1, pair.batch_shape.numel() * pair.n)
    return torch.cat([_fused(block, pair)[0] for block in _blocks(pair, whole)])


def to_dense(cells: SparseCells) -> Tensor:
    """The ``(*batch, R, C)`` counts of sparse tables.

    Raises:
        ValueError: they would have more than 2**32 cells.
    """
    rows, columns = cells.shape
    size = cells.size * rows * columns
    if size > _MOST_CELLS:
        found = f"{cells.size} tables of {rows} x {columns}"
        raise ValueError(f"to_dense: expected at most 2**32 cells; got {found} (cells() lists those that are not 0)")
    flat = torch.zeros(size, dtype=cells.values.dtype, device=cells.values.device)
    flat = flat.index_add(0, cells.row_key * columns + cells.column, cells.values)
    return flat.reshape(*cells.batch_shape, rows, columns)


# --- blocks of labels -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the flattened batch, over labels that broadcast to it; nothing is copied until it is read."""

    values: Tensor  # (s, n)
    source: Tensor | None  # (B,) the row of ``values`` for each row of the batch; None: the same row

    def read(self, start: int, stop: int, first: int, last: int) -> Tensor:
        part = self.values[:, first:last]
        if len(self.values) == 1:
            return part.expand(stop - start, -1)
        return part[start:stop] if self.source is None else part.index_select(0, self.source[start:stop])


@dataclass(frozen=True, eq=False)
class _Block:
    start: int  # first row of the batch
    true: Tensor  # (b, m)
    pred: Tensor  # (b, m)
    keep: Tensor | None  # (b, m)
    weights: Tensor | None  # (b, m)


def _rows(x: Tensor, batch_shape: torch.Size) -> _Rows:
    values = x.reshape(-1, x.shape[-1]) if x.shape[-1] else x.reshape(x.shape[:-1].numel(), 0)
    if len(values) == 1 or x.shape[:-1] == batch_shape:
        return _Rows(values, None)
    source = torch.arange(len(values), device=x.device).reshape(x.shape[:-1]).expand(batch_shape)
    return _Rows(values, source.reshape(-1))


def _blocks(pair: LabelPair, block: int) -> Iterator[_Block]:
    """Parts of the batch; on devices other than the CPU, and under a compiler, there is one."""
    size, n = pair.batch_shape.numel(), pair.n
    if pair.device.type != "cpu" or torch.compiler.is_compiling():
        block = max(1, size * n)
    parts = [pair.true.codes, pair.pred.codes, pair.keep, pair.weights]
    true, pred, keep, weights = (None if x is None else _rows(x, pair.batch_shape) for x in parts)
    assert true is not None
    assert pred is not None
    height, width = max(1, block // max(n, 1)), max(1, min(n, block))
    for start in range(0, size, height):
        stop = min(start + height, size)
        for first in range(0, max(n, 1), width):
            at = (start, stop, first, min(first + width, n))
            kept = None if keep is None else keep.read(*at)
            amount = None if weights is None else weights.read(*at)
            yield _Block(start, true.read(*at), pred.read(*at), kept, amount)


def _fused(block: _Block, pair: LabelPair) -> tuple[Tensor, Tensor]:
    """Cell number and amount of every label of a block, ``(b * m,)``; one past the last cell: left out."""
    rows, columns = pair.true.size, pair.pred.size
    true, pred = block.true.long() - pair.true.offset, block.pred.long() - pair.pred.offset
    table = torch.arange(block.start, block.start + len(block.true), device=pair.device).unsqueeze(-1)
    index = (true + table * rows) * columns + pred
    keep = block.keep
    if not pair.bounded:
        inside = (true >= 0) & (true < rows) & (pred >= 0) & (pred < columns)
        keep = inside if keep is None else inside & keep
    if keep is not None:
        index = torch.where(keep, index, pair.batch_shape.numel() * rows * columns)
    if block.weights is None:
        return index.reshape(-1), torch.ones((), dtype=torch.int64, device=pair.device).expand(index.numel())
    return index.reshape(-1), block.weights.reshape(-1)


def _is_inside(block: _Block, pair: LabelPair) -> bool:
    """Whether every label of a block of the CPU has a row and a column."""
    sides = ((block.true, pair.true.size), (block.pred, pair.pred.size))
    return all(low >= 0 and high < size for x, size in sides if x.numel() for low, high in [extremes(x)])


def _count_block(table: Tensor, block: _Block, pair: LabelPair, buffer: Tensor) -> Tensor:
    """Count a block of the CPU without weights into ``table``; returns the buffer, for the next block."""
    columns = pair.pred.size
    cells = pair.true.size * columns
    shift = pair.true.offset * columns + pair.pred.offset
    rows, shape = len(block.true), block.true.shape
    # Fused codes are below rows * cells, and before the shift below this bound.
    limit = rows * cells + 2 * (abs(pair.true.offset) * columns + abs(pair.pred.offset))
    wide = torch.int64 in (block.true.dtype, block.pred.dtype) or block.keep is not None
    dtype = torch.int64 if wide or limit >= 2**31 else torch.int32
    if buffer.shape != shape or buffer.dtype != dtype:
        buffer = torch.empty(shape, dtype=dtype)
    _fuse_into(buffer, block, columns)
    if shift or rows > 1:
        buffer.add_((torch.arange(rows, dtype=dtype) * cells - shift).unsqueeze(-1))
    if block.keep is None:
        amount = torch.ones(1, dtype=torch.int64).expand(buffer.numel())
    else:
        kept = block.keep.to(torch.int64)
        buffer.mul_(kept)  # what is left out may have any code; it adds 0 to the first cell
        amount = kept.reshape(-1)
    part = table[block.start * cells : (block.start + rows) * cells]
    part.index_add_(0, buffer.view(-1), amount)  # a quarter faster than scatter_add_
    return buffer


def _fuse_into(codes: Tensor, block: _Block, columns: int) -> None:
    """``true * columns + pred`` in the type of ``codes``: narrow labels would wrap in their own."""
    if block.true.dtype == block.pred.dtype == codes.dtype:
        torch.add(block.pred, block.true, alpha=columns, out=codes)
    else:
        codes.copy_(block.true).mul_(columns).add_(block.pred)


# --- sorted codes -----------------------------------------------------------------------------------------


def _distinct(index: Tensor, amount: Tensor, limit: int, plain: bool) -> tuple[Tensor, Tensor]:
    """Distinct cell numbers below ``limit``, sorted, with the sum of their amounts, which are all 1 if ``plain``."""
    if plain:
        ordered = _sorted(index, limit)
        starts = _starts(ordered)
        ends = torch.cat([starts[1:], starts.new_tensor([len(ordered)])])
        keys, values = ordered[starts].long(), ends - starts
    else:
        keys, values = _merge(index, amount)
    inside = int((keys < limit).sum())  # what is left out has the largest number
    keys, values = keys[:inside], values[:inside]
    filled = values > 0
    return (keys, values) if bool(filled.all()) else (keys[filled], values[filled])


def _sorted(index: Tensor, limit: int) -> Tensor:
    if index.device.type != "cpu":
        return index.sort().values
    narrow = index.to(torch.int32) if limit < 2**31 - 1 else index
    return torch.from_numpy(np.sort(narrow.numpy()))  # two to three times as fast as torch.sort


def _starts(ordered: Tensor) -> Tensor:
    first = torch.ones(len(ordered), dtype=torch.bool, device=ordered.device)
    first[1:] = ordered[1:] != ordered[:-1]
    return first.nonzero().squeeze(-1)


def _merge(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the values of equal keys."""
    ordered, order = keys.sort(stable=True)
    starts = _starts(ordered)
    group = torch.zeros(len(ordered), dtype=torch.int64, device=keys.device)
    group[starts[1:]] = 1
    sums = values.new_zeros(len(starts)).index_add(0, group.cumsum(0), values[order])
    return ordered[starts], sums
