"""What measures know of each cell: its count, the sizes of its two groups, and what follows from these."""

from collections.abc import Callable

from torch import Tensor, log1p

from torchclusteval.cells import Block, Cells
from torchclusteval.numerics import divisor, inverse, memo


class CellQuantities:
    """Quantities of the cells of tables, or of a block of them: float64, one entry a stored cell.

    ``(*batch, R, C)`` for the dense layout, where sizes are views that broadcast, ``(Z,)`` for the sparse one. What
    is derived is computed once and kept, for all that is asked of the same cells.

    Args:
        cells: the cells.
        class_items: ``(*batch, R)`` float64, items of each class of the whole table.
        cluster_items: ``(*batch, C)`` float64, likewise.
        block: where in the table the cells are; None: they are all of it.
    """

    def __init__(self, cells: Cells, class_items: Tensor, cluster_items: Tensor, block: Block | None = None) -> None:
        self.cells = cells
        self.class_items = class_items
        self.cluster_items = cluster_items
        self.block = block
        self._memo: dict[str, Tensor] = {}

    def at_classes(self, x: Tensor) -> Tensor:
        """Give each cell the value ``(*batch, R)`` of its class."""
        return self.cells.at_rows(x if self.block is None else x[..., self.block.rows])

    def at_clusters(self, x: Tensor) -> Tensor:
        """Give each cell the value ``(*batch, C)`` of its cluster."""
        return self.cells.at_columns(x if self.block is None else x[..., self.block.columns])

    @property
    def stored(self) -> Tensor:
        """Count as it is stored, int64 or float64."""
        return self.cells.values

    @memo
    def n(self) -> Tensor:
        """Count."""
        return self.cells.values.double()

    @memo
    def r(self) -> Tensor:
        """Size of the cell's class."""
        return self.at_classes(self.class_items)

    @memo
    def c(self) -> Tensor:
        """Size of the cell's cluster."""
        return self.at_clusters(self.cluster_items)

    @memo
    def filled(self) -> Tensor:
        """0 at cells of 0 items, else 1; on sparse tables all are 1."""
        return self.n.sign()

    @memo
    def inverse_n(self) -> Tensor:
        """``1 / n``, and 0 at empty cells."""
        return inverse(self.n, self.filled)

    @memo
    def r_or_1(self) -> Tensor:
        """Size of the cell's class, or 1 for empty classes: a divisor that is never 0."""
        return divisor(self.r)

    @memo
    def c_or_1(self) -> Tensor:
        """Size of the cell's cluster, or 1 for empty clusters."""
        return divisor(self.c)

    @memo
    def squares(self) -> Tensor:
        """Square of the count."""
        return self.n * self.n

    @memo
    def others_of_class(self) -> Tensor:
        """Items of the cell's class that are in other clusters."""
        return self.r - self.n

    @memo
    def others_of_cluster(self) -> Tensor:
        """Items of the cell's cluster that are of other classes."""
        return self.c - self.n

    @memo
    def recall(self) -> Tensor:
        """Share of its class that the cell is; 0 at empty cells."""
        return self.n / self.r_or_1

    @memo
    def nats_given_cluster(self) -> Tensor:
        """``log(c / n)``, what the class of the cell's items tells where their cluster is known; 0 at empty cells."""
        return log1p(self.others_of_cluster * self.inverse_n)  # 1 + others / n, which keeps all digits near 1

    @memo
    def nats_given_class(self) -> Tensor:
        """``log(r / n)``, what their cluster tells where their class is known; 0 at empty cells."""
        return log1p(self.others_of_class * self.inverse_n)


CellQuantity = Callable[[CellQuantities], Tensor]
