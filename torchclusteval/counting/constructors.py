"""The constructors of contingency tables, other than that of labels."""

from typing import Any, Self, cast

from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting.listed import read_cells
from torchclusteval.counting.soft import expected_counts


class TableConstructors:
    """The part of :class:`~torchclusteval.tables.ContingencyTables` that makes tables of what is no labels."""

    wrap_cells: Any

    @classmethod
    def from_probabilities(cls, p_true: Any, p_pred: Any, *, validate: bool | None = None) -> Self:
        """Expected tables of soft assignments, differentiable in both arguments.

        Args:
            p_true: ``(*batch, N, R)`` probabilities of the classes of each item (one-hot rows for hard labels).
            p_pred: ``(*batch, N, C)`` probabilities of its clusters.
            validate: refuse negative (logits) and missing values, which synchronises with the device. None: on the
                CPU. Unchecked, a nan makes every measure of its table nan.

        Returns:
            Float64 tables, ``(*batch, R, C)``.

        Raises:
            ValueError: a value is not as described, the shapes do not fit, or the tables do not fit in memory.
        """
        made: Self = cast(Any, cls)(expected_counts(p_true, p_pred, validate), validate=False)
        return made

    @classmethod
    @on_one_thread
    def from_cells(
        cls,
        true: Any,
        pred: Any,
        *,
        counts: Any = None,
        batch: Any = None,
        weights: bool = False,
        missing: str = "error",
    ) -> Self:
        """Sparse tables of listed cells, such as the rows of a ``GROUP BY`` over two columns of labels.

        Args:
            true: ``(Z,)`` class of each cell: labels as in :meth:`from_labels`.
            pred: ``(Z,)`` cluster of each cell.
            counts: ``(Z,)`` items of each cell; None: 1. Cells that are listed several times add up.
            batch: ``(Z,)`` labels that say which table a cell belongs to; tables are in their order, and ``names``
                holds them. None: one table.
            weights: take fractional counts too, as float64 masses.
            missing: ``"error"`` refuses cells without a label, ``"ignore"`` excludes them (see ``coverage``).

        Raises:
            ValueError: counts are negative, missing or (without ``weights``) fractional, or labels are not as
                described.
        """
        listed = read_cells(true, pred, counts, batch, weights=weights, missing=missing)
        return cls.wrap_cells(*listed)._drop_empty_groups(rows=True, columns=True)
