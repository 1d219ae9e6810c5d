"""Sums and maxima of cell quantities. Large tables are walked block by block, so that what is derived from their cells
is never held for all cells at once, and stays in the cache of the processor while it is used.

No result depends on the batch: dense tables are cut by their own shape, and sparse ones are added up cell by cell in
the order in which one sum over all cells would add them.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from torchclusteval.cells.layouts import CellBlock, Cells
from torchclusteval.cells.quantities import CellQuantities, CellQuantity
from torchclusteval.common.numerics import share_gradient, sum_reproducible

_MAX_UNBLOCKED_CELLS = 1 << 20  # tables of up to this many cells are not cut: what measures share is kept between them
_BLOCK_CELLS = 1 << 17


def sums(whole: CellQuantities, *quantities: CellQuantity) -> list[Tensor]:
    """Sum of each quantity over each table, ``(*batch,)``."""
    cells = whole.cells
    if _is_small(cells):
        return [cells.sum(quantity(whole)) for quantity in quantities]
    return [sum_reproducible(x) for x in _fold_blocks(whole, quantities, _add_by_class, cells.shape[0])]


def sum_by_class(whole: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Sum over the cells of each class, ``(*batch, R)``."""
    cells = whole.cells
    if _is_small(cells):
        return cells.sum_by_row(quantity(whole))
    return _fold_blocks(whole, [quantity], _add_by_class, cells.shape[0])[0]


def max_by_class(whole: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Largest value in each class, ``(*batch, R)``, of a quantity that is not negative; ties share the gradient."""
    cells = whole.cells
    if _is_small(cells):
        x = quantity(whole)
        return share_gradient(x, cells.max_by_row(x.detach()), cells.at_rows, cells.sum_by_row)
    return _fold_blocks(whole, [quantity], _max_by_class, cells.shape[0])[0]


def max_by_cluster(whole: CellQuantities, quantity: CellQuantity) -> Tensor:
    """Largest value in each cluster, ``(*batch, C)``, of a quantity that is not negative; ties share the gradient."""
    cells = whole.cells
    if _is_small(cells):
        x = quantity(whole)
        return share_gradient(x, cells.max_by_column(x.detach()), cells.at_columns, cells.sum_by_column)
    return _fold_blocks(whole, [quantity], _max_by_cluster, cells.shape[1])[0]


def _is_small(cells: Cells) -> bool:
    """Whether to look at all cells at once: gradients need them, and compilers cut their loops themselves."""
    return cells.blocking_size <= _MAX_UNBLOCKED_CELLS or cells.values.requires_grad or torch.compiler.is_compiling()


Fold = Callable[[Cells, CellBlock, Tensor, Tensor], None]


def _fold_blocks(whole: CellQuantities, quantities: Sequence[CellQuantity], fold: Fold, groups: int) -> list[Tensor]:
    """Fold each quantity into ``(*batch, groups)`` zeros, block by block."""
    found: list[Tensor] = []
    for block, cells in whole.cells.blocks(_BLOCK_CELLS):
        part = CellQuantities(cells, whole.class_sizes_f64, whole.cluster_sizes_f64, block)
        values = [quantity(part) for quantity in quantities]
        found = found or [x.new_zeros(*cells.batch_shape, groups) for x in values]
        for into, x in zip(found, values, strict=True):
            fold(cells, block, into, x)
    return found


def _add_by_class(cells: Cells, block: CellBlock, sums: Tensor, x: Tensor) -> None:
    cells.add_row_sums(sums[..., block.rows], x)


def _max_by_class(cells: Cells, block: CellBlock, maxima: Tensor, x: Tensor) -> None:
    cells.update_row_maxima(maxima[..., block.rows], x)


def _max_by_cluster(cells: Cells, block: CellBlock, maxima: Tensor, x: Tensor) -> None:
    cells.update_column_maxima(maxima[..., block.columns], x)
