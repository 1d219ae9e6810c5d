"""Sums and maxima of cell quantities as methods of tables."""

from typing import Any

import torch
from torch import Tensor

from torchclusteval.cells import reductions
from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.common.numerics import one_if_zero


class TableSums:
    """The part of :class:`~torchclusteval.tables.ContingencyTables` that sums up cells."""

    _cell_quantities: Any
    is_integer: Any
    n_items_f64: Any  # (*batch,)
    empty: Any  # (*batch,)

    def sum(self, quantity: CellQuantity) -> Tensor:
        """Sum a cell quantity (a function such as ``lambda cell: cell.n * cell.r``) over each table, ``(*batch,)``."""
        return reductions.sums(self._cell_quantities, quantity)[0]

    def sums(self, *quantities: CellQuantity) -> list[Tensor]:
        """Sum several cell quantities over each table in one pass, ``(*batch,)`` each."""
        return reductions.sums(self._cell_quantities, *quantities)

    def item_mean(self, quantity: CellQuantity) -> Tensor:
        """Sum a cell quantity over each table and divide by its items, ``(*batch,)``; nan without items."""
        return self.divide_by_items(self.sum(quantity))

    def divide_by_items(self, x: Tensor) -> Tensor:
        """Divide a quantity ``(*batch,)`` by the items of its table; nan (with a gradient of 0) without items."""
        if self.is_integer:  # no gradient, and 0/0 is nan
            return x / self.n_items_f64
        return (x / one_if_zero(self.n_items_f64)).masked_fill(self.empty, torch.nan)

    def sum_by_class(self, quantity: CellQuantity) -> Tensor:
        """Sum a cell quantity over the cells of each class, ``(*batch, R)``."""
        return reductions.sum_by_class(self._cell_quantities, quantity)

    def max_by_class(self, quantity: CellQuantity) -> Tensor:
        """Largest value of a non-negative cell quantity in each class, ``(*batch, R)``."""
        return reductions.max_by_class(self._cell_quantities, quantity)

    def max_by_cluster(self, quantity: CellQuantity) -> Tensor:
        """Largest value of a non-negative cell quantity in each cluster, ``(*batch, C)``."""
        return reductions.max_by_cluster(self._cell_quantities, quantity)
