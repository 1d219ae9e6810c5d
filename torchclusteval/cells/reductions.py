"""Sums and maxima of cell quantities.

Large tables are reduced block by block: quantities are never held for all cells at once, and stay in the cache of the
processor. No result depends on the batch: blocks of dense tables follow from their own shape, and sparse tables are
summed cell by cell in the order of one sum over all cells.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from torchclusteval.cells.layouts import CellBlock, Cells
from torchclusteval.cells.quantities import CellQuantities, CellQuantity
from torchclusteval.common.numerics import share_gradient, sum_reproducible
from torchclusteval.common.threads import on_one_thread

_MAX_UNBLOCKED_CELLS = 1 << 20  # up to this size quantities are held for all cells, and shared between measures
_BLOCK_CELLS = 1 << 17


@on_one_thread
def sums(cell: CellQuantities, *quantities: CellQuantity) -> list[Tensor]:
    """Sum of each quantity over each table, ``(*batch,)``."""
    cells = cell.cells
    if is_small(cells):
        return [cells.sum(quantity(cell)) for quantity in quantities]
    folded = _fold_blocks(cell, quantities, _add_by_class, cells.shape[0])
    return [cells.over_ranks(sum_reproducible(x)) for x in folded]


@on_one_thread
def sum_by_class(cell: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Sum over the cells of each class, ``(*batch, R)``."""
    cells = cell.cells
    if is_small(cells):
        return cells.sum_by_row(quantity(cell))
    return cells.over_ranks(_fold_blocks(cell, [quantity], _add_by_class, cells.shape[0])[0])


@on_one_thread
def max_by_class(cell: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Largest value in each class, ``(*batch, R)``, of a quantity that is not negative; ties share the gradient."""
    cells = cell.cells
    if is_small(cells):
        x = quantity(cell)
        return share_gradient(x, cells.max_by_row, cells.at_rows, cells.sum_by_row)
    return cells.over_ranks(_fold_blocks(cell, [quantity], _max_by_class, cells.shape[0])[0], True)


@on_one_thread
def max_by_cluster(cell: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Largest value in each cluster, ``(*batch, C)``, of a quantity that is not negative; ties share the gradient."""
    cells = cell.cells
    if is_small(cells):
        x = quantity(cell)
        return share_gradient(x, cells.max_by_column, cells.at_columns, cells.sum_by_column)
    return cells.over_ranks(_fold_blocks(cell, [quantity], _max_by_cluster, cells.shape[1])[0], True)


def is_small(cells: Cells) -> bool:
    """Whether to reduce all cells at once: gradients need them, and compilers make their own loops."""
    return cells.blocking_size <= _MAX_UNBLOCKED_CELLS or cells.values.requires_grad or torch.compiler.is_compiling()


Fold = Callable[[Cells, CellBlock, Tensor, Tensor], None]


def _fold_blocks(cell: CellQuantities, quantities: Sequence[CellQuantity], fold: Fold, groups: int) -> list[Tensor]:
    """Fold each quantity into ``(*batch, groups)`` zeros, block by block."""
    totals: list[Tensor] = []
    for block, cells in cell.cells.blocks(_BLOCK_CELLS):
        part = CellQuantities(cells, cell.class_sizes, cell.cluster_sizes, block)
        values = [quantity(part) for quantity in quantities]
        totals = totals or [x.new_zeros(*cells.batch_shape, groups) for x in values]
        for total, x in zip(totals, values, strict=True):
            fold(cells, block, total, x)
    return totals


def _add_by_class(cells: Cells, block: CellBlock, sums: Tensor, x: Tensor) -> None:
    cells.add_row_sums(sums[..., block.rows], x)


def _max_by_class(cells: Cells, block: CellBlock, maxima: Tensor, x: Tensor) -> None:
    cells.update_row_maxima(maxima[..., block.rows], x)


def _max_by_cluster(cells: Cells, block: CellBlock, maxima: Tensor, x: Tensor) -> None:
    cells.update_column_maxima(maxima[..., block.columns], x)
