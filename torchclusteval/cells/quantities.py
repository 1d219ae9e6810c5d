"""What measures know of each cell: its count, the sizes of its two groups, and what follows from these."""

from collections.abc import Callable

from torch import Tensor, log1p

from torchclusteval.cells.layouts import CellBlock, Cells
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.numerics import one_if_zero, reciprocal_or_zero


class CellQuantities:
    """Quantities of the cells of tables, or of a block of them: float64, one entry a stored cell.

    ``(*batch, R, C)`` for the dense layout, where sizes are views that broadcast, ``(Z,)`` for the sparse one. What
    is derived is computed once and kept, for all that is asked of the same cells.

    Args:
        cells: the cells.
        class_sizes_f64: ``(*batch, R)`` float64, items of each class of the whole table.
        cluster_sizes_f64: ``(*batch, C)`` float64, likewise.
        block: where in the table the cells are; None: they are all of it.
    """

    def __init__(
        self, cells: Cells, class_sizes_f64: Tensor, cluster_sizes_f64: Tensor, block: CellBlock | None = None
    ) -> None:
        self.cells = cells
        self.class_sizes_f64 = class_sizes_f64
        self.cluster_sizes_f64 = cluster_sizes_f64
        self.block = block
        self._memo: dict[str, Tensor] = {}

    def at_classes(self, x: Tensor) -> Tensor:
        """Give each cell the value ``(*batch, R)`` of its class."""
        return self.cells.at_rows(x if self.block is None else x[..., self.block.rows])

    def at_clusters(self, x: Tensor) -> Tensor:
        """Give each cell the value ``(*batch, C)`` of its cluster."""
        return self.cells.at_columns(x if self.block is None else x[..., self.block.columns])

    @property
    def count(self) -> Tensor:
        """Count as it is stored, int64 or float64."""
        return self.cells.values

    @lazy_property
    def n(self) -> Tensor:
        """Count."""
        return self.cells.values.double()

    @lazy_property
    def r(self) -> Tensor:
        """Size of the cell's class."""
        return self.at_classes(self.class_sizes_f64)

    @lazy_property
    def c(self) -> Tensor:
        """Size of the cell's cluster."""
        return self.at_clusters(self.cluster_sizes_f64)

    @lazy_property
    def is_nonzero(self) -> Tensor:
        """0 at cells of 0 items, else 1; on sparse tables all are 1."""
        return self.n.sign()

    @lazy_property
    def reciprocal_n(self) -> Tensor:
        """``1 / n``, and 0 at empty cells."""
        return reciprocal_or_zero(self.n, self.is_nonzero)

    @lazy_property
    def r_nonzero(self) -> Tensor:
        """Size of the cell's class, or 1 for empty classes: a divisor that is never 0."""
        return one_if_zero(self.r)

    @lazy_property
    def c_nonzero(self) -> Tensor:
        """Size of the cell's cluster, or 1 for empty clusters."""
        return one_if_zero(self.c)

    @lazy_property
    def squares(self) -> Tensor:
        """Square of the count."""
        return self.n * self.n

    @lazy_property
    def rest_of_class(self) -> Tensor:
        """Items of the cell's class that are in other clusters."""
        return self.r - self.n

    @lazy_property
    def rest_of_cluster(self) -> Tensor:
        """Items of the cell's cluster that are of other classes."""
        return self.c - self.n

    @lazy_property
    def recall(self) -> Tensor:
        """Share of its class that the cell is; 0 at empty cells."""
        return self.n / self.r_nonzero

    @lazy_property
    def surprisal_given_cluster(self) -> Tensor:
        """``log(c / n)``, what the class of the cell's items tells where their cluster is known; 0 at empty cells."""
        return log1p(self.rest_of_cluster * self.reciprocal_n)  # 1 + others / n, which keeps all digits near 1

    @lazy_property
    def surprisal_given_class(self) -> Tensor:
        """``log(r / n)``, what their cluster tells where their class is known; 0 at empty cells."""
        return log1p(self.rest_of_class * self.reciprocal_n)


CellQuantity = Callable[[CellQuantities], Tensor]
