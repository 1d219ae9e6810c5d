"""The labels of a pair of sides, block by block: broadcast to the batch, and copied only when they are read."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.labels.encoding import EncodedPair


@dataclass(frozen=True, eq=False)
class BroadcastRows:
    """Rows of the flattened batch, over labels that broadcast to it."""

    values: Tensor  # (s, N)
    source: Tensor | None  # (B,) the row of ``values`` for each row of the batch; None: the same row, or the only one

    @property
    def is_broadcast(self) -> bool:
        """Whether all rows of the batch are one."""
        return len(self.values) == 1

    def read(self, rows: range, items: range) -> Tensor:
        """``(len(rows), len(items))``; a single row where it is shared."""
        part = self.values[:, items.start : items.stop]
        if self.is_broadcast:
            return part
        if self.source is None:
            return part[rows.start : rows.stop]
        return part.index_select(0, self.source[rows.start : rows.stop])


@dataclass(frozen=True, eq=False)
class PairRows:
    """The parts of a pair, as rows of the flattened batch."""

    true: BroadcastRows
    pred: BroadcastRows
    mask: BroadcastRows | None
    weights: BroadcastRows | None


def pair_rows(pair: EncodedPair) -> PairRows:
    mask, weights = (None if x is None else _rows(x, pair.batch_shape) for x in (pair.mask, pair.weights))
    return PairRows(_rows(pair.true.codes, pair.batch_shape), _rows(pair.pred.codes, pair.batch_shape), mask, weights)


def _rows(x: Tensor, batch_shape: torch.Size) -> BroadcastRows:
    values = x.reshape(-1, x.shape[-1]) if x.shape[-1] else x.reshape(x.shape[:-1].numel(), 0)
    if len(values) == 1 or x.shape[:-1] == batch_shape:
        return BroadcastRows(values, None)
    source = torch.arange(len(values), device=x.device).reshape(x.shape[:-1]).expand(batch_shape)
    return BroadcastRows(values, source.reshape(-1))


def split(whole: range, length: int) -> list[range]:
    """Consecutive parts of at most this length."""
    return [whole[start : start + length] for start in range(0, len(whole), length)]


def flat_index_blocks(pair: EncodedPair, block: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Cell number, through the batch, and amount of every label of a block; one past the last cell: left out.

    On devices other than the CPU, and under a compiler, there is one block. Both tensors are ``(labels,)``.
    """
    size, n = pair.batch_shape.numel(), pair.n_items
    if pair.device.type != "cpu" or torch.compiler.is_compiling():
        block = max(1, size * n)
    sides = pair_rows(pair)
    for rows in split(range(size), max(1, block // max(n, 1))):
        for items in split(range(n), block) or [range(0)]:
            yield _flat_index(sides, pair, rows, items)


def _flat_index(sides: PairRows, pair: EncodedPair, block: range, items: range) -> tuple[Tensor, Tensor]:
    rows, columns = pair.true.size, pair.pred.size
    shape = (len(block), len(items))
    true = sides.true.read(block, items).long() - pair.true.offset
    pred = sides.pred.read(block, items).long() - pair.pred.offset
    table = torch.arange(block.start, block.stop, device=pair.device).unsqueeze(-1)
    index = (true + table * rows) * columns + pred
    keep = None if sides.mask is None else sides.mask.read(block, items)
    if not pair.codes_in_range:
        inside = (true >= 0) & (true < rows) & (pred >= 0) & (pred < columns)
        keep = inside if keep is None else inside & keep
    if keep is not None:
        index = torch.where(keep, index, pair.batch_shape.numel() * rows * columns)
    if sides.weights is None:
        amount = torch.ones((), dtype=torch.int64, device=pair.device)
    else:
        amount = sides.weights.read(block, items)
    return index.reshape(-1), amount.expand(shape).reshape(-1)
