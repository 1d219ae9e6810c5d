"""Quantities of each cell: its count, the sizes of its class and its cluster, and functions of these."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, log1p

from torchclusteval.cells.layouts import CellBlock, Cells
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.numerics import one_if_zero, reciprocal_or_zero


class PairCounts(NamedTuple):
    """Unordered pairs of items, by whether each side puts them together. Fields are ``(*batch,)`` float64.

    >>> tce.measures.pair_counts(tce.ContingencyTables([[2, 1], [0, 3]])).ss.item()
    4.0
    """

    ss: Tensor  # same cluster, same class
    sd: Tensor  # same cluster, different class
    ds: Tensor  # different cluster, same class
    dd: Tensor  # different cluster, different class


class CellQuantities:
    """Quantities of all cells of tables, or of a block of them: float64, one entry per stored cell, computed once.

    ``(*batch, R, C)`` in the dense layout, where sizes are views that broadcast, ``(Z,)`` in the sparse one. Sizes of
    groups are those in the table, ``(*batch, R)`` and ``(*batch, C)``; ``block`` has the rows and columns of the cells.
    """

    def __init__(
        self, cells: Cells, class_sizes: Tensor, cluster_sizes: Tensor, block: CellBlock | None = None
    ) -> None:
        self.cells = cells
        self.class_sizes = class_sizes
        self.cluster_sizes = cluster_sizes
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
        """Count in the type of the table, int64 or float64."""
        return self.cells.values

    @lazy_property
    def n(self) -> Tensor:
        """Count."""
        return self.cells.values.double()

    @lazy_property
    def class_sizes_f64(self) -> Tensor:
        return self.class_sizes.double()

    @lazy_property
    def cluster_sizes_f64(self) -> Tensor:
        return self.cluster_sizes.double()

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
        """1 at non-empty cells, 0 at empty ones."""
        return self.n.sign()

    @property
    def is_integer(self) -> bool:
        return not self.cells.values.is_floating_point()

    @lazy_property
    def n_nonzero(self) -> Tensor:
        """Count, or 1 at empty cells: a divisor that is never 0."""
        return one_if_zero(self.n, whole=self.is_integer)

    @lazy_property
    def reciprocal_n(self) -> Tensor:
        """``1 / n``, and 0 at empty cells."""
        return reciprocal_or_zero(self.n, self.is_nonzero)

    @lazy_property
    def r_nonzero(self) -> Tensor:
        """Size of the cell's class, or 1 if it is empty."""
        return one_if_zero(self.r, whole=self.is_integer)

    @lazy_property
    def c_nonzero(self) -> Tensor:
        """Size of the cell's cluster, or 1 if it is empty."""
        return one_if_zero(self.c, whole=self.is_integer)

    @lazy_property
    def squares(self) -> Tensor:
        """Square of the count."""
        return self.n * self.n

    @lazy_property
    def rest_of_class(self) -> Tensor:
        """Items of the cell's class in other clusters."""
        return self.r - self.n

    @lazy_property
    def rest_of_cluster(self) -> Tensor:
        """Items of the cell's cluster in other classes."""
        return self.c - self.n

    @lazy_property
    def recall(self) -> Tensor:
        """The cell's share of its class; 0 at empty cells."""
        return self.n / self.r_nonzero

    @lazy_property
    def surprisal_given_cluster(self) -> Tensor:
        """``log(c / n)``, the surprisal of the class given the cluster; at empty cells finite, without a meaning."""
        return self._log1p_over_n(self.rest_of_cluster)  # 1 + rest / n keeps all digits near 1

    @lazy_property
    def surprisal_given_class(self) -> Tensor:
        """``log(r / n)``, the surprisal of the cluster given the class; at empty cells finite, without a meaning."""
        return self._log1p_over_n(self.rest_of_class)

    def _log1p_over_n(self, x: Tensor) -> Tensor:
        return log1p(x / self.n_nonzero if self.is_integer else x * self.reciprocal_n)


CellQuantity = Callable[[CellQuantities], Tensor]
