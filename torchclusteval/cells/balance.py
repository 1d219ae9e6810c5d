"""Tables in which every class weighs the same."""

from typing import Any, Self

from torchclusteval.cells.margins import Margins
from torchclusteval.common.numerics import one_if_zero
from torchclusteval.common.threads import on_one_thread


class TableBalance:
    """The part of :class:`~torchclusteval.tables.ContingencyTables` that weighs classes."""

    _cells: Any
    _cell_quantities: Any
    _replace_cells: Any
    _margins: Margins | None = None
    class_sizes_f64: Any  # (*batch, R)
    n_classes: Any  # (*batch,)
    n_items_f64: Any  # (*batch,)
    is_integer: Any

    @on_one_thread
    def balanced(self) -> Self:
        """Tables of masses in which every class weighs the same, ``n_ij N / (R r_i)``.

        The sum N stays, and R is the number of classes of a table. Any measure applies to them but those that need
        whole items. Tables without items stay empty.

        Raises:
            ValueError: there are items that only one side groups; ``without_margins()`` leaves these out.

        Source: Maan et al. (2024), without the rounding in their package.

        Example:
            >>> tables = tce.ContingencyTables([[8, 0], [0, 8], [2, 0]])
            >>> tables.balanced().counts.tolist()
            [[6.0, 0.0], [0.0, 6.0], [6.0, 0.0]]
        """
        if self._margins is not None:
            expected = "expected items that both sides group; got some that only one side groups"
            raise ValueError(f"tables: {expected} (without_margins() leaves these out)")
        cell = self._cell_quantities
        divisor = one_if_zero(self.class_sizes_f64 * self.n_classes.unsqueeze(-1), whole=self.is_integer)
        items = self.n_items_f64.unsqueeze(-1).expand_as(divisor)
        balanced: Self = self._replace_cells(
            self._cells.with_values(cell.n * cell.at_classes(items) / cell.at_classes(divisor))
        )
        return balanced
