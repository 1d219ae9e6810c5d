"""Counting by sorting flat cell indices: memory follows the non-empty cells, not the possible ones."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import SparseCells
from torchclusteval.labels.blocks import flat_index_blocks
from torchclusteval.labels.encoding import EncodedPair

_SORT_BLOCK_LABELS = 1 << 21
_MERGE_BLOCK_CELLS = 1 << 20
_SAMPLE_STRIDE = 1 << 10  # cells per sampled cell; samples give the bounds of merge blocks


class _Part(NamedTuple):
    """Distinct flat cell indices in order, and the value of each cell."""

    keys: Tensor  # (z,) int64
    values: Tensor  # (z,) int64 or float64; int32 in a part of several


def count_tables(pair: EncodedPair) -> SparseCells:
    """The non-zero cells of the batch."""
    rows, columns = pair.true.size, pair.pred.size
    row_key, column, value = _joined(_parts(pair), columns)
    if pair.batch_shape.numel() == 1:
        table, row = row_key.new_zeros(1).expand(len(row_key)), row_key
    else:
        table = row_key.div(rows, rounding_mode="floor")
        row = row_key - table * rows
    return SparseCells(pair.batch_shape, (rows, columns), table, row, column, value)


def _joined(parts: list[_Part], columns: int) -> list[Tensor]:
    """Row over the whole batch, column and value of all cells."""
    if len(parts) == 1:
        keys, values = parts[0]
        return [*_divided(keys, columns), values]
    most, done = sum(len(part.keys) for part in parts), 0
    dtype = torch.float64 if parts[0].values.is_floating_point() else torch.int64
    # Written in place: all pieces and their concatenation may not fit in memory.
    joined = [torch.empty(most, dtype=kind, device=parts[0].keys.device) for kind in (torch.int64, torch.int64, dtype)]
    for keys, values in _merged(parts):
        for field, x in zip(joined, (*_divided(keys, columns), values), strict=True):
            field[done : done + len(x)] = x
        done += len(keys)
    parts.clear()
    return [x[:done] if 2 * done > most else x[:done].clone() for x in joined]


def _divided(keys: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    row_key = keys.div(columns, rounding_mode="floor")
    return row_key, keys - row_key * columns


def _parts(pair: EncodedPair) -> list[_Part]:
    """The cells of every block of labels; one empty part if there are no labels."""
    limit = pair.batch_shape.numel() * pair.true.size * pair.pred.size
    dtype = torch.int64 if pair.weights is None else pair.weights.dtype
    ones = pair.weights is None
    parts = [_distinct(index, weight, limit, ones) for index, weight in flat_index_blocks(pair, _SORT_BLOCK_LABELS)]
    if not parts:
        keys = torch.zeros(0, dtype=torch.int64, device=pair.device)
        return [_Part(keys, keys.to(dtype))]
    return [_Part(parts[0].keys, parts[0].values.to(dtype))] if len(parts) == 1 else parts


def _distinct(index: Tensor, weight: Tensor, limit: int, ones: bool) -> _Part:
    """Distinct flat indices below ``limit`` with the sum of their weights, where that is not 0."""
    if ones:
        ordered = _sorted(index, limit)
        starts = _starts(ordered)
        ends = torch.cat([starts[1:], starts.new_tensor([len(ordered)])])
        keys, values = ordered[starts].long(), ends - starts
        values = values.int() if len(index) < 2**31 else values  # in several parts, to save memory
    else:
        keys, values = _summed(index, weight)
    inside = int((keys < limit).sum())  # excluded items have the largest index
    keys, values = keys[:inside], values[:inside]
    nonzero = values > 0
    return _Part(keys, values) if bool(nonzero.all()) else _Part(keys[nonzero], values[nonzero])


def _sorted(index: Tensor, limit: int) -> Tensor:
    if index.device.type != "cpu":
        return index.sort().values
    narrow = index.to(torch.int32) if limit < 2**31 - 1 else index
    return torch.from_numpy(np.sort(narrow.numpy()))  # two to three times as fast as torch.sort


def _starts(ordered: Tensor) -> Tensor:
    first = torch.ones(len(ordered), dtype=torch.bool, device=ordered.device)
    first[1:] = ordered[1:] != ordered[:-1]
    return first.nonzero().squeeze(-1)


def _summed(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct keys in order, with the sum of the values of each in their given order."""
    ordered, order = keys.sort(stable=True)
    starts = _starts(ordered)
    group = torch.zeros(len(ordered), dtype=torch.int64, device=keys.device)
    group[starts[1:]] = 1
    sums = values.new_zeros(len(starts)).index_add(0, group.cumsum(0), values[order])
    return ordered[starts], sums


def _merged(parts: list[_Part]) -> Iterator[_Part]:
    """Yield parts in order, no two with a common cell: each merges one range of keys of all given parts."""
    if len(parts) == 1:
        yield parts[0]
        return
    ends = _ends(parts)
    bounds = [[0, *torch.searchsorted(part.keys, ends).tolist(), len(part.keys)] for part in parts]
    for i in range(len(ends) + 1):
        pieces = [_Part(*(x[cut[i] : cut[i + 1]] for x in part)) for part, cut in zip(parts, bounds, strict=True)]
        keys, values = (torch.cat(x) for x in zip(*pieces, strict=True))
        yield _Part(*_summed(keys, values if values.is_floating_point() else values.long()))


def _ends(parts: list[_Part]) -> Tensor:
    """Flat indices that divide the cells of all parts into ranges of about ``_MERGE_BLOCK_CELLS`` cells."""
    sample = torch.cat([part.keys[::_SAMPLE_STRIDE] for part in parts]).sort().values
    return sample[_MERGE_BLOCK_CELLS // _SAMPLE_STRIDE :: _MERGE_BLOCK_CELLS // _SAMPLE_STRIDE].unique()
