"""The codes of both sides, block by block: broadcast to the batch, and copied only when read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.threads import pieces
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.keeping import all_of


@dataclass(frozen=True, eq=False)
class BroadcastRows:
    """Values that broadcast to the rows of the flattened batch."""

    values: Any  # (s, N) tensor, or array
    source: Any  # (B,) row of ``values`` of each batch row, likewise; None: row i is batch row i, or one row is for all

    @property
    def is_broadcast(self) -> bool:
        """Whether one row is for all rows of the batch."""
        return len(self.values) == 1

    def arrays(self) -> "BroadcastRows":
        return BroadcastRows(self.values.numpy(), None if self.source is None else self.source.numpy())

    def read(self, rows: range, items: range) -> Any:
        """``(len(rows), len(items))``, or ``(1, len(items))`` if one row is for all."""
        part = self.values[:, items.start : items.stop]
        if self.is_broadcast:
            return part
        if self.source is None:
            return part[rows.start : rows.stop]
        return part[self.source[rows.start : rows.stop]]


@dataclass(frozen=True, eq=False)
class PairRows:
    """The tensors of a pair, by rows of the flattened batch."""

    true: BroadcastRows
    pred: BroadcastRows
    mask: BroadcastRows | None
    weights: BroadcastRows | None

    def arrays(self) -> "PairRows":
        """The same in NumPy, which reads blocks in less time; without weights."""
        return PairRows(self.true.arrays(), self.pred.arrays(), self.mask and self.mask.arrays(), None)

    @property
    def flat(self) -> list[Tensor | None]:
        """Values and source of both sides and of the mask, as kernels of counting take them."""
        return [
            x
            for side in (self.true, self.pred, self.mask)
            for x in ((side and (side.values, side.source)) or (None,) * 2)
        ]


def pair_rows(pair: EncodedPair) -> PairRows:
    mask, weights = (None if x is None else _rows(x, pair.batch_shape) for x in (pair.mask, pair.weights))
    return PairRows(_rows(pair.true.codes, pair.batch_shape), _rows(pair.pred.codes, pair.batch_shape), mask, weights)


def _rows(x: Tensor, batch_shape: torch.Size) -> BroadcastRows:
    values = x.reshape(-1, x.shape[-1]) if x.shape[-1] else x.reshape(x.shape[:-1].numel(), 0)
    if len(values) == 1 or x.shape[:-1] == batch_shape:
        return BroadcastRows(values, None)
    source = torch.arange(len(values), device=x.device).reshape(x.shape[:-1]).expand(batch_shape)
    return BroadcastRows(values, source.reshape(-1))


def flat_index_blocks(pair: EncodedPair, labels_per_block: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the flat cell index (over the whole batch) and the weight of each item, ``(labels,)`` each, block by block.

    Excluded items get the index one past the last cell. There is one block on devices other than the CPU, and under a
    compiler.
    """
    size, n = pair.batch_shape.numel(), pair.n_items
    if pair.device.type != "cpu" or torch.compiler.is_compiling():
        labels_per_block = max(1, size * max(n, 1))
    sides = pair_rows(pair)
    for rows in pieces(range(size), max(1, labels_per_block // max(n, 1))):
        for items in pieces(range(n), labels_per_block) or [range(0)]:
            yield _flat_index(sides, pair, rows, items)


def _flat_index(sides: PairRows, pair: EncodedPair, batch_rows: range, items: range) -> tuple[Tensor, Tensor]:
    rows, columns = pair.true.size, pair.pred.size
    shape = (len(batch_rows), len(items))
    true = sides.true.read(batch_rows, items).long() - pair.true.offset
    pred = sides.pred.read(batch_rows, items).long() - pair.pred.offset
    table = torch.arange(batch_rows.start, batch_rows.stop, device=pair.device).unsqueeze(-1)
    index = (true + table * rows) * columns + pred
    mask = None if sides.mask is None else sides.mask.read(batch_rows, items)
    if not pair.codes_in_range:
        inside = (true >= 0) & (true < rows) & (pred >= 0) & (pred < columns)
        mask = all_of(inside, mask)
    if mask is not None:
        index = torch.where(mask, index, pair.batch_shape.numel() * rows * columns)
    one = torch.ones((), dtype=torch.int64, device=pair.device)
    weight = one if sides.weights is None else sides.weights.read(batch_rows, items)
    return index.reshape(-1), weight.expand(shape).reshape(-1)
