"""The cells of contingency tables: two layouts, quantities of each cell, and reductions over them."""

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.quantities import CellQuantities, CellQuantity

__all__ = ["CellQuantities", "CellQuantity", "Cells", "DenseCells", "SparseCells"]
