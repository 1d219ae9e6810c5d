"""The constructors of contingency tables, other than that of labels."""

from typing import Any, Self, cast

from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting.groups import read_documents, read_groups
from torchclusteval.counting.intervals import read_intervals
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

    @classmethod
    def from_groups(
        cls, true_groups: Any, pred_groups: Any, *, on_duplicate: str = "error", layout: str = "auto"
    ) -> Self:
        """One table of groups of items, such as entities of mentions or persons of records.

        Row i is ``true_groups[i]`` and column j is ``pred_groups[j]``. The table holds the items that both sides have;
        the others are in ``unmatched_by_class`` and ``unmatched_by_cluster``.

        Args:
            true_groups: a list of sets (or lists, tuples, arrays) of items that can be keys of a dictionary, or a
                mapping of the names of groups to these.
            pred_groups: likewise.
            on_duplicate: ``"error"`` refuses an item in two groups of one side, ``"first"`` keeps it in the first.
            layout: ``"dense"``, ``"sparse"`` or ``"auto"`` (by size).

        Raises:
            ValueError: groups are not as described; an item is in two groups of one side.

        Example:
            >>> from torchclusteval import ContingencyTables
            >>> tables = ContingencyTables.from_groups([{"a", "b", "c"}, {"d"}], [{"a", "b"}, {"d", "x"}])
            >>> tables.counts.tolist(), tables.unmatched_by_class.tolist(), tables.unmatched_by_cluster.tolist()
            ([[2, 0], [0, 1]], [1, 0], [0, 1])
        """
        *parts, margins = read_groups(true_groups, pred_groups, on_duplicate, layout)
        return cls.wrap_cells(*parts, margins=margins)

    @classmethod
    def from_documents(
        cls, true_documents: Any, pred_documents: Any, *, on_duplicate: str = "error", layout: str = "auto"
    ) -> Self:
        """A batch of tables, one for each document, of its groups as in :meth:`from_groups`.

        Args:
            true_documents: a mapping of documents to their groups; items of different documents are different.
            pred_documents: likewise. A document that one side lacks has no groups there. Tables are in the order of
                ``true_documents``, then come those of ``pred_documents`` alone; ``names`` holds the documents.
            on_duplicate: as in :meth:`from_groups`.
            layout: likewise.

        Raises:
            ValueError: as :meth:`from_groups`; the message names the document.
        """
        *parts, margins = read_documents(true_documents, pred_documents, on_duplicate, layout)
        return cls.wrap_cells(*parts, margins=margins)

    @classmethod
    def from_intervals(cls, true: Any, pred: Any, *, layout: str = "auto") -> Self:
        """Durations of labelled time, such as speech by speaker or presence by track.

        The table holds the time that both sides label; time that one side labels alone is in ``unmatched_by_class`` and
        ``unmatched_by_cluster``, as exact as the times are: there are no frames.

        Args:
            true: a list of ``(start, end, label)``, one label at a time, or a mapping of recordings to such lists for a
                batch of tables. Rows are labels in the order in which they come first.
            pred: likewise. A recording that one side lacks has no intervals there; ``names`` holds the recordings.
            layout: ``"dense"``, ``"sparse"`` or ``"auto"`` (by size).

        Returns:
            Float64 tables, ``(R, C)`` or ``(B, R, C)``.

        Raises:
            ValueError: two intervals of one side overlap, or one has a negative time, ends before it starts, or has no
                label; the message names them.

        Example:
            >>> from torchclusteval import ContingencyTables
            >>> tables = ContingencyTables.from_intervals([(0, 4, "Ada"), (5, 9, "Bo")], [(1, 5, 0), (5, 8.5, 1)])
            >>> tables.counts.tolist(), tables.unmatched_by_class.tolist(), tables.unmatched_by_cluster.tolist()
            ([[3.0, 0.0], [0.0, 3.5]], [1.0, 0.5], [1.0, 0.0])
        """
        *parts, margins = read_intervals(true, pred, layout)
        return cls.wrap_cells(*parts, margins=margins)
