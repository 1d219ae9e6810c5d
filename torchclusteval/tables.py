"""Contingency tables, the argument of every measure.

A table counts the items of each class (row) in each cluster (column); :class:`ContingencyTables` holds a batch of
tables, dense or sparse, and the derived quantities that measures share."""

from collections.abc import Iterator
from typing import Any, Unpack

import torch
from torch import Tensor

from torchclusteval.cells import reductions
from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells, used_groups
from torchclusteval.cells.margins import Margins
from torchclusteval.cells.pairs import MAX_SQUARED, are_ordinary, pairs_of, pairs_of_integers
from torchclusteval.cells.parts import TableParts
from torchclusteval.cells.quantities import CellQuantities, CellQuantity, PairCounts
from torchclusteval.cells.sums import FEW_CELLS, launched, sums_on_device, sums_on_host
from torchclusteval.common.checks import check_bools, index_batch, not_tables
from torchclusteval.common.lazy import lazy_property, with_cached_values
from torchclusteval.common.numerics import one_if_zero, reciprocal_or_zero
from torchclusteval.common.threads import on_one_thread
from torchclusteval.common.warn import warn
from torchclusteval.counting import dispatch
from torchclusteval.counting import groups as listed_groups
from torchclusteval.counting.by_group import count_by_group
from torchclusteval.counting.cpu import GuessedWrongError
from torchclusteval.counting.intervals import read_intervals
from torchclusteval.counting.listed import read_cells
from torchclusteval.counting.margins import separate
from torchclusteval.counting.no_counts import axes_of, check_counts, whose_proportions
from torchclusteval.counting.soft import expected_counts
from torchclusteval.labels.encoding import encode
from torchclusteval.labels.group_labels import GroupLabels, select_groups, select_tables
from torchclusteval.labels.groups_of_items import read_groups
from torchclusteval.labels.inputs import as_counts, resolve_device
from torchclusteval.labels.options import LabelKeywords, LabelOptions
from torchclusteval.labels.sources import Names


class ContingencyTables:
    """Counts of items by class (rows) and cluster (columns), for a batch of tables.

    Rows and columns of zeros are padding: no measure depends on them. Tables are immutable and keep derived values.

    Args:
        counts: ``(*batch, R, C)`` non-negative numbers: a tensor, an array or nested lists. Integers become
            int64 counts, floats become float64 masses (weights, probabilities), with their gradient.
        validate: refuse negative, infinite and missing values, and numbers other than counts: totals in the last row
            and column (sums of the others, or named All or Total, for instance), and proportions or percentages of rows
            or columns. This synchronises with the device. False takes such numbers as they are. Measures that need the
            number of items, such as pair measures, still refuse tables that sum to 1 (``crosstab(normalize=True)``).
            With less than one item in a cell on average they warn on the CPU, and are nan on other devices.

    Raises:
        ValueError: ``counts`` has fewer than two dimensions, or a negative, infinite or missing value, totals or
            proportions.

    >>> tce.ContingencyTables.from_labels(["a", "a", "b"], [[0, 0, 1], [0, 1, 1]]).counts.tolist()
    [[[2, 0], [0, 1]], [[1, 1], [0, 1]]]
    """

    _cells: Cells
    _n_considered: Tensor | None  # (*batch,) unmasked items or weight; None: as many as in the table
    names: Names | None  # (B,) names of the clusterings, if known
    groups: GroupLabels | None  # (G,) ids of the groups of items (``by``), the last batch dimension; None: no groups
    _margins: Margins | None = None  # items with a group on one side only; None: no such items

    def __init__(self, counts: Any, *, validate: bool = True) -> None:
        self._set(TableParts(DenseCells(as_counts(counts, validate))))
        if validate:
            check_counts(self._cells, self._sizes, axes_of(counts))

    def _set(self, parts: TableParts) -> None:
        self._cells, self._n_considered = parts.cells, parts.considered
        self._classes, self._clusters = parts.classes, parts.clusters
        self.names, self.groups, self._margins = parts.names, parts.groups, parts.margins
        self._memo: dict[Any, Any] = {}

    @classmethod
    def _of(cls, parts: TableParts) -> "ContingencyTables":
        """Tables from these parts, unchecked."""
        tables = cls.__new__(cls)
        tables._set(parts)
        return tables

    def _replace(self, **parts: Any) -> "ContingencyTables":
        """The same tables with other parts."""
        own = (self._cells, self._n_considered, self._classes, self._clusters, self.names, self.groups, self._margins)
        return self._of(TableParts(*own)._replace(**parts))

    @classmethod
    def from_labels(cls, labels_true: Any, labels_pred: Any, **options: Unpack[LabelKeywords]) -> "ContingencyTables":
        """Count the items of each class in each cluster.

        Args:
            labels_true: ``(*batch, N)`` classes: whole numbers of any kind, booleans or strings, as a tensor,
                an array, lists, a pandas, Arrow or polars object or anything with ``__dlpack__``. Batch shapes
                broadcast: ``(N,)`` with ``(B, N)`` is the common case. A data frame has items as rows and clusterings
                as columns; its columns, or the keys of a mapping to labels, name the clusterings (``names``).
            labels_pred: ``(*batch, N)`` clusters, likewise. The pandas indexes of both sides, ``mask`` and ``weights``
                must hold the same labels in the same order; an index 0..N-1 also goes with other labels, by position.
            by: ``(*batch, N)`` ids of groups of items (documents, donors, images), labels of any kind in any order: one
                table for each group, batch ``(*batch, G)``, in the order of ids (``groups``). Classes and clusters
                without items in a group are padding. If all of them would be too many, each table has its own rows and
                columns, and ``classes`` is by table. An id without unmasked items is no group.
            num_groups: number of groups; ids must then be codes ``0..num_groups - 1``.
            mask: ``(*batch, N)`` booleans, True for items that count; the labels of other items may be anything.
            weights: ``(*batch, N)`` non-negative frequencies. Whole-number types give int64 tables, floats
                float64 tables. A mean below 1 gives a warning, as it distorts the scale of pair measures.
            ignore_index: the class label of items to exclude. With ``absent_true`` or ``absent_pred``,
                :func:`panoptic_quality` treats the excluded items of each cluster as void.
            noise_label: the cluster label of noise (often -1).
            noise: ``"ignore"`` excludes noise (see ``coverage``), ``"cluster"`` makes it one extra last column,
                ``"singletons"`` makes each noise item a column of its own.
            absent_true: the label of items without a class (background, invented mentions). They are in
                ``unmatched_by_cluster``, not in the table; items with neither class nor cluster are left out.
            absent_pred: the label of items without a cluster, likewise, in ``unmatched_by_class``.
            missing: ``"error"`` refuses missing labels (None, nan, ``pandas.NA``, NaT, nulls, masked entries),
                ``"ignore"`` excludes items that lack a label on either side (see ``coverage``).
            item_dims: number of trailing dimensions of items, in ``mask`` and ``weights`` too: 2 for label images
                ``(*batch, H, W)``. None is 1, but refuses two column vectors ``(M, 1)`` as a mistake.
            num_classes: number of rows; classes must then be codes ``0..num_classes - 1``.
            num_clusters: number of columns, likewise.
            validate: check values. With False and both sizes nothing synchronises with the device; labels outside
                the codes are then excluded, which lowers ``coverage``.
            layout: ``"dense"``, ``"sparse"`` or ``"auto"`` (by size).
            device: where to count; by default the device of the tensors among the arguments, else the CPU.

        Raises:
            ValueError: an argument is not as described; the message says which, and where.
        """
        return cls._count(labels_true, labels_pred, LabelOptions.of(options))

    @classmethod
    def _count(cls, labels_true: Any, labels_pred: Any, options: LabelOptions) -> "ContingencyTables":
        if options.by is None and options.num_groups is not None:
            got = f"{options.num_groups} alone"
            raise ValueError(f"num_groups: expected by= too, the group of each item; got {got}")
        guess = options.by is None and options.layout != "sparse"
        pair = encode(labels_true, labels_pred, options, margins=True, void=True, guess=guess)
        sizes = (options.num_classes is not None, options.num_clusters is not None)
        if options.by is not None:
            groups = read_groups(options, pair)
            may_sync = options.validate
            parts, packed = count_by_group(pair, groups, options.layout, sizes=sizes, may_sync=may_sync)
            sizes = (True, True) if packed else sizes
        else:
            try:
                cells = dispatch.count(pair, options.layout, may_sync=options.validate)
            except GuessedWrongError:
                assert pair.exactly is not None
                pair = pair.exactly()
                cells = dispatch.count(pair, options.layout, may_sync=options.validate)
            parts = separate(cells, pair)
        return cls._of(parts)._drop_empty_groups(rows=not sizes[0], columns=not sizes[1])

    @classmethod
    def from_probabilities(cls, p_true: Any, p_pred: Any, *, validate: bool | None = None) -> "ContingencyTables":
        """Expected tables of soft assignments, differentiable in both arguments.

        Args:
            p_true: ``(*batch, N, R)`` probabilities of the classes of each item (one-hot rows for hard labels).
            p_pred: ``(*batch, N, C)`` probabilities of its clusters.
            validate: refuse negative (logits), missing and huge values; this synchronises with the device. None: only
                on the CPU. Without the check, a nan or a negative value makes all measures of its table nan.

        Returns:
            Float64 tables, ``(*batch, R, C)``. An item weighs the product of its two sums, 1 for probabilities; other
            sums are allowed. Pair measures read the mass of a cell as items: for few soft items they are below
            their mean over random labels from the probabilities.

        Raises:
            ValueError: a value is not as described, the shapes do not fit, or the tables do not fit in memory.
        """
        return cls(expected_counts(p_true, p_pred, validate), validate=False)

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
        validate: bool = True,
    ) -> "ContingencyTables":
        """Sparse tables from a list of cells, such as the rows of a ``GROUP BY`` over two columns of labels.

        Args:
            true: ``(Z,)`` class of each cell: labels as in :meth:`from_labels`.
            pred: ``(Z,)`` cluster of each cell.
            counts: ``(Z,)`` items of each cell; None: 1. Repeated cells add up.
            batch: ``(Z,)`` label of the table of each cell; tables are in the order of these labels, their ``names``.
                None: one table.
            weights: allow fractional counts, as float64 masses.
            missing: ``"error"`` refuses cells without a label, ``"ignore"`` excludes them (see ``coverage``).
            validate: refuse totals, labelled All or Total for instance, and proportions. False takes them as they are.

        Raises:
            ValueError: counts are negative, missing, totals, proportions or (without ``weights``) fractional, or labels
                are not as described.
        """
        check_bools(validate=validate)
        listed = read_cells(true, pred, counts, batch, weights=weights, missing=missing)
        tables = cls._of(listed)._drop_empty_groups(rows=True, columns=True)
        if validate and counts is not None:
            check_counts(tables._cells, tables._sizes, (tables.classes, tables.clusters))
        return tables

    @classmethod
    def from_groups(
        cls, true_groups: Any, pred_groups: Any, *, on_duplicate: str = "error", layout: str = "auto"
    ) -> "ContingencyTables":
        """One table from groups of items, such as entities of mentions or persons of records.

        Row i is ``true_groups[i]`` and column j is ``pred_groups[j]``. The table holds the common items of both sides;
        the others are in ``unmatched_by_class`` and ``unmatched_by_cluster``.

        Args:
            true_groups: a list of sets (or lists, tuples, arrays) of hashable items, or a mapping of names to sets.
            pred_groups: likewise.
            on_duplicate: ``"error"`` refuses an item in two groups of one side, ``"first"`` keeps it in the first.
            layout: ``"dense"``, ``"sparse"`` or ``"auto"`` (by size).

        Raises:
            ValueError: groups are not as described; an item is in two groups of one side.

        Example:
            >>> tables = ContingencyTables.from_groups([{"a", "b", "c"}, {"d"}], [{"a", "b"}, {"d", "x"}])
            >>> tables.counts.tolist(), tables.unmatched_by_class.tolist(), tables.unmatched_by_cluster.tolist()
            ([[2, 0], [0, 1]], [1, 0], [0, 1])
        """
        return cls._of(listed_groups.read_groups(true_groups, pred_groups, on_duplicate, layout))

    @classmethod
    def from_documents(
        cls, true_documents: Any, pred_documents: Any, *, on_duplicate: str = "error", layout: str = "auto"
    ) -> "ContingencyTables":
        """A batch of tables, one from the groups of each document, as in :meth:`from_groups`.

        Args:
            true_documents: a mapping of documents to their groups; items of different documents are different.
            pred_documents: likewise. A document without an entry on one side has no groups there, with a warning.
                Tables are in the order of ``true_documents``, then of others in ``pred_documents``, their ``names``.
            on_duplicate: as in :meth:`from_groups`.
            layout: likewise.

        Raises:
            ValueError: as :meth:`from_groups`; the message names the document.
        """
        return cls._of(listed_groups.read_documents(true_documents, pred_documents, on_duplicate, layout))

    @classmethod
    def from_intervals(cls, true: Any, pred: Any, *, layout: str = "auto") -> "ContingencyTables":
        """Durations of labelled time, such as speech by speaker or presence by track.

        The table holds the time with labels of both sides; ``unmatched_by_class`` and ``unmatched_by_cluster`` hold the
        time with a label of one side only. There are no frames: durations are as exact as the times.

        Args:
            true: a list of ``(start, end, label)``, one label at a time, or a mapping of recordings to such lists for a
                batch of tables. Rows are labels in the order of first occurrence.
            pred: likewise. A recording that one side lacks has no intervals there, with a warning; ``names`` has them.
            layout: ``"dense"``, ``"sparse"`` or ``"auto"`` (by size).

        Returns:
            Float64 tables, ``(R, C)`` or ``(B, R, C)``.

        Raises:
            ValueError: two intervals of one side overlap, or an interval has a negative time, an end before its start,
                or no label; the message names them.

        Example:
            >>> tables = ContingencyTables.from_intervals([(0, 4, "Ada"), (5, 9, "Bo")], [(1, 5, 0), (5, 8.5, 1)])
            >>> tables.counts.tolist(), tables.unmatched_by_class.tolist(), tables.unmatched_by_cluster.tolist()
            ([[3.0, 0.0], [0.0, 3.5]], [1.0, 0.5], [1.0, 0.0])
        """
        return cls._of(read_intervals(true, pred, layout))

    @lazy_property
    def classes(self) -> GroupLabels | None:
        """The label of each row, ``(R,)`` or ``(*batch, R)``; None: its number."""
        return self._classes() if callable(self._classes) else self._classes

    @lazy_property
    def clusters(self) -> GroupLabels | None:
        """The label of each column, ``(C,)`` or ``(*batch, C)``, likewise."""
        return self._clusters() if callable(self._clusters) else self._clusters

    @property
    def layout(self) -> str:
        """``"dense"`` or ``"sparse"``."""
        return self._cells.layout

    @property
    def batch_shape(self) -> torch.Size:
        return self._cells.batch_shape

    @property
    def shape(self) -> torch.Size:
        """``(*batch, R, C)``, padding included."""
        return torch.Size((*self.batch_shape, *self._cells.shape))

    @property
    def device(self) -> torch.device:
        return self._cells.values.device

    @property
    def is_integer(self) -> bool:
        """Whether cells are int64 counts rather than float64 masses."""
        return not self._cells.values.is_floating_point()

    @property
    def counts(self) -> Tensor:
        """``(*batch, R, C)`` int64 or float64, for dense tables only.

        Raises:
            ValueError: the tables are sparse; ``to_dense()`` converts them.
        """
        if isinstance(self._cells, SparseCells):
            raise ValueError("counts: expected dense tables; got sparse ones (use to_dense(), or cells())")
        return self._cells.counts

    def cells(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return (index in the flattened batch, row, column, count) of the non-zero cells, each ``(Z,)``."""
        return self._cells.nonzero()

    @property
    def _cells_per_table(self) -> int:
        """Stored cells per table, on average and at least 1: the size of one cell quantity of one table."""
        size = 1 if self.layout == "dense" else max(1, self.batch_shape.numel())
        return max(1, self._cells.blocking_size // size)

    @lazy_property
    def _launched(self) -> dict[str, Any] | None:
        """Properties and shared quantities by name, on a device that computes all in one launch; else None."""
        return sums_on_device(self._cells)

    def _sum_at_once(self, only_pairs: bool) -> None:
        """Compute the shared quantities of a small table at once, which is faster; do nothing for others."""
        if self._launched is None and self._most_items is not None:
            sums = sums_on_host(self._cell_quantities, self._most_items, only_pairs)
            self._memo["_launched"] = vars(self)["_launched"] = sums

    @lazy_property
    def _only_table(self) -> "ContingencyTables | None":
        """The small dense table of a batch of one, without the batch: numbers are computed sooner; None for others."""
        cells, whole = self._cells, self._margins is None and self._most_items is not None
        if not (self.batch_shape and self.batch_shape.numel() == 1 and isinstance(cells, DenseCells) and whole):
            return None
        few = cells.blocking_size <= FEW_CELLS
        return self._of(TableParts(DenseCells(cells.counts.reshape(cells.shape)))) if few else None

    @lazy_property
    @launched
    def class_sizes(self) -> Tensor:
        """Items of each class, ``(*batch, R)``."""
        return self._cells.row_sizes()

    @lazy_property
    @launched
    def cluster_sizes(self) -> Tensor:
        """Items of each cluster, ``(*batch, C)``."""
        return self._cells.column_sizes()

    def _sizes(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.class_sizes, self.cluster_sizes, self.n_items

    @lazy_property
    @launched
    def n_items(self) -> Tensor:
        """Items in the table (its mass on float tables), ``(*batch,)``."""
        return self._cells.totals() if isinstance(self._cells, SparseCells) else self.class_sizes.sum(-1)

    @property
    def n_considered(self) -> Tensor:
        """Unmasked items (or their weight), inside or outside of the table, ``(*batch,)``."""
        return self.n_items if self._n_considered is None else self._n_considered.expand(self.batch_shape)

    @lazy_property
    def coverage(self) -> Tensor:
        """Share of the unmasked items (or of their weight) in the table, ``(*batch,)``; nan without items."""
        return self._n_items_f64 / (self._n_items_f64 if self._n_considered is None else self._n_considered.double())

    @lazy_property
    @launched
    def n_classes(self) -> Tensor:
        """Non-empty rows, ``(*batch,)`` int64."""
        return self.class_sizes.count_nonzero(-1)

    @lazy_property
    @launched
    def n_clusters(self) -> Tensor:
        """Non-empty columns, ``(*batch,)`` int64."""
        return self.cluster_sizes.count_nonzero(-1)

    @lazy_property
    @launched
    def n_cells(self) -> Tensor:
        """Non-empty cells, ``(*batch,)`` int64."""
        return self.sum(lambda cell: cell.count.sign()).long()

    @lazy_property
    @launched
    def empty(self) -> Tensor:
        """Whether the table has no items, or (float tables) a nan among its cells, ``(*batch,)`` bool."""
        return self.n_items == 0 if self.is_integer else ~(self.n_items > 0)

    @lazy_property
    @launched
    def identical(self) -> Tensor:
        """Whether both sides are the same partition, ``(*batch,)`` bool."""
        same = (self.n_cells == self.n_classes) & (self.n_cells == self.n_clusters)
        return same if self.is_integer else same & ~self.n_items.isnan()

    @lazy_property
    def _most_items(self) -> int | None:
        """Items of the largest integer table; None for masses, and if reading would synchronise with the device."""
        n, compiling = self.n_items, torch.compiler.is_compiling()
        held = self.is_integer and n.device.type == "cpu" and not compiling and n.numel() > 0
        return int(n.max() if n.dim() else n) if held else None

    @property
    def _squares_fit(self) -> bool:
        """Whether the square of the items of each table is known to fit in int64."""
        return self._most_items is not None and self._most_items <= MAX_SQUARED

    @lazy_property
    @launched
    def _all_ordinary(self) -> bool:
        """Whether no ratio of any table is 0/0 (see ``are_ordinary``); False if the host cannot tell."""
        return self._most_items is not None and are_ordinary(self.pairs)

    @lazy_property
    @launched
    def pairs(self) -> PairCounts:
        """Pairs of items by agreement, without overflow or cancellation."""
        pairs = (pairs_of_integers if self._squares_fit else pairs_of)(self._cell_quantities, self.n_items)
        return pairs if self.is_integer else pairs._replace(ss=self._as_of_items(pairs.ss, pairs.ss, "pair measures"))

    def _as_of_items(self, value: Tensor, above: Tensor, measures: str) -> Tensor:
        """Check a value that reads masses as items; ``above < 0`` marks cells with less than one item on average.

        For such cells raise on proportions, else warn; where a check would wait for a device, return nan.
        """
        wrong = above < -1e-9 * self.n_items
        if self.device.type != "cpu" or torch.compiler.is_compiling():
            return value.masked_fill(wrong, torch.nan)
        if bool(wrong.any()):
            if (got := whose_proportions(*self._sizes())) is not None:
                raise ValueError(f"counts: expected counts of items, which {measures} read; got {got})")
            warn(f"tables: {measures} read masses as items, and cells average less than one (rescale the masses)")
        return value

    @property
    def has_unmatched(self) -> bool:
        """Whether items may have a group on one side only (``absent_true=`` ..., or tables from groups of items)."""
        return self._margins is not None

    @lazy_property
    def unmatched_by_class(self) -> Tensor:
        """Items of each class without a cluster, ``(*batch, R)``; ``class_sizes`` leaves them out."""
        return torch.zeros_like(self.class_sizes) if self._margins is None else self._margins.by_class

    @lazy_property
    def unmatched_by_cluster(self) -> Tensor:
        """Items of each cluster without a class, ``(*batch, C)``; ``cluster_sizes`` leaves them out."""
        return torch.zeros_like(self.cluster_sizes) if self._margins is None else self._margins.by_cluster

    @lazy_property
    def whole_class_sizes(self) -> Tensor:
        """Items of each class, with and without a cluster, ``(*batch, R)``."""
        return self.class_sizes if self._margins is None else self.class_sizes + self._margins.by_class

    @lazy_property
    def whole_cluster_sizes(self) -> Tensor:
        """Items of each cluster, with and without a class, ``(*batch, C)``."""
        return self.cluster_sizes if self._margins is None else self.cluster_sizes + self._margins.by_cluster

    @property
    def _void_by_cluster(self) -> Tensor | None:
        """Ignored items of each cluster, ``(*batch, C)``; None: unknown."""
        return None if self._margins is None else self._margins.void

    @property
    def _n_grouped(self) -> Tensor:
        """Items with a class, a cluster or both, ``(*batch,)``."""
        return self.n_items + self.unmatched_by_class.sum(-1) + self.unmatched_by_cluster.sum(-1)

    @lazy_property
    def _whole(self) -> "ContingencyTables":
        """The same cells with the whole sizes of classes and clusters; ``n_items`` counts all items with a class."""
        if self._margins is None:
            return self
        rows, columns, cls = self.whole_class_sizes, self.whole_cluster_sizes, ContingencyTables
        sizes = {cls.class_sizes: rows, cls.cluster_sizes: columns, cls.n_items: rows.sum(-1)}
        return with_cached_values(self.without_margins(), sizes)

    def _refuse_unmatched(self) -> None:
        """Raise if some items have a group on one side only."""
        if self._margins is not None and any(bool((x != 0).any()) for x in self._margins.tensors):
            expected = "expected items with a group on both sides; got some with a group on one side"
            raise ValueError(f"tables: {expected} (without_margins() leaves them out)")

    @lazy_property
    @launched
    def _n_items_f64(self) -> Tensor:
        """Items as float64, ``(*batch,)``."""
        return self.n_items.double()

    @property
    def _class_sizes_f64(self) -> Tensor:
        """Items of each class as float64, ``(*batch, R)``."""
        return self._cell_quantities.class_sizes_f64

    @property
    def _cluster_sizes_f64(self) -> Tensor:
        """Items of each cluster as float64, ``(*batch, C)``."""
        return self._cell_quantities.cluster_sizes_f64

    @lazy_property
    def _class_surprisal(self) -> Tensor:
        """``log(N / r)``, ``(*batch, R)``; finite and meaningless for padding."""
        return self._surprisal(self._class_sizes_f64)

    @lazy_property
    def _cluster_surprisal(self) -> Tensor:
        """``log(N / c)``, ``(*batch, C)``; finite and meaningless for padding."""
        return self._surprisal(self._cluster_sizes_f64)

    def _surprisal(self, sizes: Tensor) -> Tensor:
        others, whole = self._n_items_f64.unsqueeze(-1) - sizes, self.is_integer
        return torch.log1p(others / sizes.clamp(min=1) if whole else others * reciprocal_or_zero(sizes, sizes.sign()))

    @lazy_property
    def _cell_quantities(self) -> CellQuantities:
        return CellQuantities(self._cells, self.class_sizes, self.cluster_sizes)

    def sum(self, quantity: CellQuantity) -> Tensor:
        """Sum a cell quantity (a function such as ``lambda cell: cell.n * cell.r``) over each table, ``(*batch,)``."""
        return reductions.sums(self._cell_quantities, quantity)[0]

    def _sums(self, *quantities: CellQuantity) -> list[Tensor]:
        """Sum several cell quantities over each table in one pass, ``(*batch,)`` each."""
        return reductions.sums(self._cell_quantities, *quantities)

    def _item_mean(self, quantity: CellQuantity) -> Tensor:
        """Sum of a cell quantity over each table, divided by its items, ``(*batch,)``; nan without items."""
        return self._divide_by_items(self.sum(quantity))

    def _divide_by_items(self, x: Tensor) -> Tensor:
        """Divide a quantity ``(*batch,)`` by the items of its table; without items nan, with a gradient of 0."""
        if self.is_integer:  # no gradient, and 0/0 is nan
            return x / self._n_items_f64
        return (x / one_if_zero(self._n_items_f64)).masked_fill(self.empty, torch.nan)

    def sum_by_class(self, quantity: CellQuantity) -> Tensor:
        """Sum a cell quantity over the cells of each class, ``(*batch, R)``."""
        return reductions.sum_by_class(self._cell_quantities, quantity)

    def max_by_class(self, quantity: CellQuantity) -> Tensor:
        """Largest value of a non-negative cell quantity in each class, ``(*batch, R)``."""
        return reductions.max_by_class(self._cell_quantities, quantity)

    def max_by_cluster(self, quantity: CellQuantity) -> Tensor:
        """Largest value of a non-negative cell quantity in each cluster, ``(*batch, C)``."""
        return reductions.max_by_cluster(self._cell_quantities, quantity)

    @property
    def mT(self) -> "ContingencyTables":  # noqa: N802 - as torch names it
        """The same tables with classes and clusters exchanged."""
        margins = None if self._margins is None else self._margins.transpose()
        return self._replace(
            cells=self._cells.transpose(), classes=self._clusters, clusters=self._classes, margins=margins
        )

    def to_dense(self) -> "ContingencyTables":
        """The same tables in the dense layout."""
        if isinstance(self._cells, DenseCells):
            return self
        return self._replace(cells=DenseCells(dispatch.to_dense(self._cells)))

    def to_sparse(self) -> "ContingencyTables":
        """The same tables in the sparse layout."""
        if isinstance(self._cells, SparseCells):
            return self
        return self._replace(cells=SparseCells(self.batch_shape, self._cells.shape, *self._cells.nonzero()))

    def to(self, device: torch.device | str) -> "ContingencyTables":
        """The same tables on another device."""
        device = self.device if device is None else resolve_device(device, {})
        considered = None if self._n_considered is None else self._n_considered.to(device)
        labels = self.classes, self.clusters, self.groups
        classes, clusters, groups = (x.to(device) if isinstance(x, Tensor) else x for x in labels)
        margins = None if self._margins is None else self._margins.to(device)
        return self._of(TableParts(self._cells.to(device), considered, classes, clusters, self.names, groups, margins))

    def __getitem__(self, key: Any) -> "ContingencyTables":
        """Index the batch by an integer, a slice, a boolean mask, a tensor of integers, or a tuple of them."""
        if not self.batch_shape:
            raise ValueError("tables: expected a batch to index; got a single table")
        flat = torch.arange(self.batch_shape.numel(), device=self.device).reshape(self.batch_shape)
        keys = index_batch(flat, key, "tables")
        groups, dims = self.groups, len(self.batch_shape)
        if dims == 1 and keys.dim() == 1:
            groups = select_groups(groups, keys)
        elif dims == 1 or not isinstance(key, (int, slice, list)) or (isinstance(key, list) and keys.dim() < dims):
            groups = None  # these tables share no list of ids
        return self._select(self._cells.select(keys), keys, groups)

    def _select(self, cells: Cells, keys: Tensor, groups: GroupLabels | None = None) -> "ContingencyTables":
        considered = self._n_considered
        if considered is not None:
            considered = considered.expand(self.batch_shape).reshape(-1)[keys]
        classes, clusters = (select_tables(x, keys) for x in (self.classes, self.clusters))
        names, numbers = self.names, keys
        if self.groups is not None:  # names are those of (B, G) clusterings
            whole = groups is not None and keys.dim() == len(self.batch_shape) == 2 and keys.shape[1] > 0
            names, numbers = (names, keys[:, 0] // self.batch_shape[1]) if whole else (None, keys)
        names = None if names is None or numbers.dim() != 1 else tuple(names[i] for i in numbers.tolist())
        margins = None if self._margins is None else self._margins.select(keys, self.batch_shape.numel())
        return self._of(TableParts(cells, considered, classes, clusters, names, groups, margins))

    def _narrow(self, start: int, length: int) -> "ContingencyTables":
        """A run of tables in the flattened batch; its dense cells, and quantities computed before, are views."""
        keys = torch.arange(start, start + length, device=self.device)
        run = self._select(self._cells.narrow(start, length), keys)
        dims, size = len(self.batch_shape), self.batch_shape.numel()
        for name, kept in self._memo.items():
            if isinstance(kept, Tensor) and kept.shape[:dims] == self.batch_shape:
                run._memo[name] = kept.reshape(size, *kept.shape[dims:]).narrow(0, start, length)
        return run

    @on_one_thread
    def balanced(self) -> "ContingencyTables":
        """Tables of masses with equal weights of all classes, ``n_ij N / (R r_i)``.

        The sum N stays the same, and R is the number of classes of a table. All measures apply except those that need
        whole items. Tables without items stay empty.

        Raises:
            ValueError: some items have a group on one side only; ``without_margins()`` leaves them out.

        Source: Maan et al. (2024), without the rounding in their package.

        Example:
            >>> tables = tce.ContingencyTables([[8, 0], [0, 8], [2, 0]])
            >>> tables.balanced().counts.tolist()
            [[6.0, 0.0], [0.0, 6.0], [6.0, 0.0]]
        """
        self._refuse_unmatched()
        cell = self._cell_quantities
        divisor = one_if_zero(self._class_sizes_f64 * self.n_classes.unsqueeze(-1), whole=self.is_integer)
        items = self._n_items_f64.unsqueeze(-1).expand_as(divisor)
        values = cell.n * cell.at_classes(items) / cell.at_classes(divisor)
        return self._replace(cells=self._cells.with_values(values), margins=None)

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("a single table has no length")
        return self.batch_shape[0]

    def __iter__(self) -> "Iterator[ContingencyTables]":
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        kind = "int64" if self.is_integer else "float64"
        size = f"batch_shape={tuple(self.batch_shape)}, classes={self._cells.shape[0]}, clusters={self._cells.shape[1]}"
        return f"ContingencyTables({size}, {self.layout}, {kind}, device={str(self.device)!r})"

    def without_margins(self) -> "ContingencyTables":
        """The tables without items of one side alone; groups of only such items become padding."""
        return self if self._margins is None else self._replace(margins=None)

    def _drop_empty_groups(self, *, rows: bool, columns: bool) -> "ContingencyTables":
        """Drop the rows (columns) that are empty in all tables, but never all rows (columns)."""
        kept = used_groups(self.whole_class_sizes) if rows else None
        return self._keep_groups(kept, used_groups(self.whole_cluster_sizes) if columns else None)

    def _keep_groups(self, rows: Tensor | None, columns: Tensor | None) -> "ContingencyTables":
        """The rows and columns with these indices, among them all with items; None: all."""
        if rows is columns is None:
            return self
        cells, classes, clusters = self._cells, self.classes, self.clusters
        margins = None if self._margins is None else self._margins.keep_groups(rows, columns)
        if rows is not None:
            cells, classes = cells.keep_rows(rows), select_groups(classes, rows)
        if columns is not None:
            cells, clusters = cells.keep_columns(columns), select_groups(clusters, columns)
        return self._replace(cells=cells, classes=classes, clusters=clusters, margins=margins)


def check_tables(tables: Any, name: str = "tables") -> None:
    """Raise unless the argument is contingency tables."""
    if not isinstance(tables, ContingencyTables):
        raise not_tables(tables, name)
