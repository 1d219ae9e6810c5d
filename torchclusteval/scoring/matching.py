"""Which cluster belongs to which class: the matching as a result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.common.checks import check_choice, check_number, explain_out_of_memory, is_key
from torchclusteval.common.formatting import brief, format_number
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.results import Shown
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.renaming import as_array, find_groups, names_of_groups, new_labels, rename
from torchclusteval.labels.shapes import check_order
from torchclusteval.labels.sources import read_labels
from torchclusteval.measures import assignment
from torchclusteval.scoring.breakdown import GroupRows, OfGroups
from torchclusteval.tables import ContingencyTables, check_tables

_WEIGHTS: dict[str, CellQuantity] = {
    "overlap": lambda cell: cell.count,
    "jaccard": lambda cell: cell.n / (cell.r + cell.c_nonzero - cell.n),
    "f": lambda cell: 2 * cell.n / (cell.r + cell.c_nonzero),
    "recall": lambda cell: cell.recall,
    "precision": lambda cell: cell.n / cell.c_nonzero,
}
HOW = ("one_to_one", "greedy", "majority")


@dataclass(frozen=True, eq=False)
class Matching:
    """Which cluster belongs to which class: the result of :func:`match`.

    >>> found = tce.match(tce.ContingencyTables([[1, 2], [3, 0]]))
    >>> found.cluster_of_class.tolist(), found.total.item(), found.unique.item()
    ([1, 0], 5.0, True)
    """

    on: str
    how: str
    at_least: float | None
    cluster_of_class: Tensor  # (*batch, R) int64 column, -1 for none; "majority": the largest of the class's clusters
    class_of_cluster: Tensor  # (*batch, C) int64 row, -1 for none
    total: Tensor  # (*batch,) float64 sum of the matched cells' weights
    unique: Tensor  # (*batch,) bool: whether no tie had to be broken (one_to_one: no other matching has this total)
    source: ContingencyTables  # the tables that were matched
    _memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @lazy_property
    def tables(self) -> ContingencyTables:
        """The tables in matched order, with their labels.

        One to one and greedy: matched rows in order, then the others; the column of the k-th matched row is the k-th,
        other columns follow. Majority: a column for each class, the sum of its clusters, with the class's label; then
        the clusters without a class, as columns of new labels, where there are any.
        """
        if self.how == "majority":
            return merged_tables(self.source, self.class_of_cluster)
        return ordered_tables(self.source, self.cluster_of_class, self.class_of_cluster)

    def relabel(self, labels_pred: Any, unmatched: str = "new", fill: Any = None) -> Any:
        """Rename clusters after their matched classes: :func:`relabel` with this matching."""
        check_choice(unmatched, "unmatched", ("new", "keep"))
        source = self.source
        size = source.shape[-1]
        own = (source.clusters, source.batch_shape, size, source.device)
        labels = read_labels(labels_pred, "labels_pred")
        check_order(labels.names, source.names, "labels_pred", "the matched tables")
        columns = find_groups(labels, *own, gaps=fill is not None)
        names = names_of_columns(source, self.class_of_cluster, unmatched, fill)
        renamed = rename(torch.where(columns < 0, size, columns), names)
        if not all(hasattr(labels_pred, name) for name in ("iloc", "columns", "index")):
            return renamed
        values = as_array(renamed, renamed.shape[-1]).T
        return type(labels_pred)(values, index=labels_pred.index, columns=labels_pred.columns)

    def __repr__(self) -> str:
        found = (self.cluster_of_class >= 0).sum(-1)
        return (
            f"Matching(on={self.on!r}, how={self.how!r}, matched={found.tolist()}, "
            f"total={self.total.tolist()}, unique={self.unique.tolist()})"
        )


@on_one_thread
def match(
    tables: ContingencyTables, on: str = "overlap", how: str = "one_to_one", at_least: float | None = None
) -> Matching:
    """Match the clusters of each table with its classes.

    Args:
        tables: contingency tables, ``(*batch, R, C)``.
        on: the weight of a pair, with n items in common, a class of r and a cluster of c items: ``"overlap"``, n;
            ``"jaccard"``, n / (r + c - n); ``"f"``, 2n / (r + c); ``"recall"``, n / r; ``"precision"``, n / c. Items
            that only one side groups (``absent_pred=`` ...) are among the r and the c.
        how: ``"one_to_one"``, the largest sum of weights; ``"greedy"``, the largest remaining weight again and again,
            ties to the lowest row, then the lowest column; ``"majority"``, each cluster to the class of the largest
            weight, ties to the lowest row.
        at_least: pairs of a smaller weight stay unmatched; pairs of weight 0 always do.

    Returns:
        The matching, its sum of weights, and whether it is the only one. Of several best one-to-one matchings it is
        SciPy's choice, the same for the same call; the layout, padding and the order of groups can change it. Sums of
        fractions are equal if they differ by up to 1e-12 for each pair that differs (times the largest weight, if that
        is above 1). A table without items has no matched pair, total 0, and is unique. The host finds it, except
        ``"majority"``.

    Raises:
        ValueError: options are not as described, or memory has no room.

    Source: Kuhn (1955), Munkres (1957).

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0], [2, 3, 1], [0, 3, 2]])
        >>> found = tce.match(tables)
        >>> found.cluster_of_class.tolist(), found.total.item(), found.unique.item()
        ([0, 1, 2], 10.0, True)
    """
    check_tables(tables)
    check_choice(on, "on", tuple(_WEIGHTS))
    check_choice(how, "how", HOW)
    if at_least is not None:
        check_number(at_least, "at_least", 0.0)
    size = f"{tables.batch_shape.numel()} tables of {tables.shape[-2]} x {tables.shape[-1]}"
    remedy = "sparse ones need less, fewer at a time too"
    with explain_out_of_memory(f"tables: expected tables that memory has room to match; got {size} ({remedy})"):
        return _matched(tables, on, how, None if at_least is None else float(at_least))


def _matched(tables: ContingencyTables, on: str, how: str, at_least: float | None) -> Matching:
    weights = _WEIGHTS[on](tables._whole._cell_quantities)
    if at_least is not None:
        weights = torch.where(weights >= at_least, weights, 0)
    shape, (rows, columns) = tables.batch_shape, tables.shape[-2:]
    if how == "one_to_one" and tables.layout == "dense":
        matched, unique = assignment.match_dense(weights)
        first = torch.arange(matched.numel(), device=matched.device).reshape(matched.shape) * columns
        taken = weights.take(first + matched.clamp_min(0))  # faster than gather
        partner, total = assignment.owner_of(matched, columns), taken.masked_fill(matched < 0, 0).sum(-1)
    else:
        cells = _Cells(tables, weights)
        if how == "one_to_one":
            chosen, unique = assignment.match_sparse(cells.table, cells.row, cells.column, cells.fixed, cells.size)
        elif how == "greedy":
            chosen, unique = _match_greedily(cells, weights if tables.layout == "dense" else None)
        else:
            chosen, unique = _match_by_majority(cells)
        matched, partner, total = cells.columns_of_rows(chosen), cells.rows_of_columns(chosen), cells.total(chosen)
    sides = matched.reshape(*shape, rows), partner.reshape(*shape, columns)
    return Matching(on, how, at_least, *sides, total.double().reshape(shape), unique.reshape(shape), tables)


def relabel(labels_pred: Any, match: Matching, unmatched: str = "new", fill: Any = None) -> Any:
    """Rename clusters after their matched classes.

    Args:
        labels_pred: ``(*batch, N)`` cluster labels known to the matched tables; column numbers where they came
            without labels.
        match: their matching. Of several best ones it is the solver's choice (``match.unique`` is False).
        unmatched: clusters without a class: ``"new"`` gives them labels that no class has, in the order of
            their columns; ``"keep"`` keeps their own.
        fill: one label instead, for clusters without a class, and for items whose label is missing or
            unknown to the tables.

    Returns:
        ``(*batch, N)`` int64 tensor of class labels (row numbers where classes came without labels), or an array of
        strings where the classes are strings; a DataFrame for a DataFrame.

    Raises:
        ValueError: a label is missing or unknown to the tables, without ``fill``; ``"keep"``
            and an unmatched cluster has the label of a class; ``match`` is no matching.

    Example:
        >>> import torchclusteval as tce
        >>> labels_true, labels_pred = ["b", "b", "a", "a"], [1, 1, 0, 2]
        >>> tables = tce.ContingencyTables.from_labels(labels_true, labels_pred)
        >>> tce.relabel(labels_pred, tce.match(tables)).tolist()
        ['b', 'b', 'a', 'new 1']
    """
    check_matching(match)
    return match.relabel(labels_pred, unmatched, fill)


def check_matching(match: Any) -> None:
    if not isinstance(match, Matching):
        raise ValueError(f"match: expected a Matching, as match(tables) returns; got {type(match).__name__}")


class _Cells:
    """The candidate cells for a match, each with its weight."""

    def __init__(self, tables: ContingencyTables, weights: Tensor) -> None:
        self.size, (self.n_rows, self.n_columns) = tables.batch_shape.numel(), tables.shape[-2:]
        if tables.layout == "dense":
            weights = weights.reshape(self.size, self.n_rows, self.n_columns)
            self.table, self.row, self.column = (weights > 0).nonzero(as_tuple=True)
            self.weights = weights[self.table, self.row, self.column]
        else:
            kept = (weights > 0).nonzero().squeeze(1)
            self.table, self.row, self.column, self.weights = (x[kept] for x in (*tables.cells()[:3], weights))
        self.fixed, self.slack = self.weights.detach(), torch.zeros_like(self.weights.detach())
        if weights.is_floating_point():
            self.slack = assignment.TIE_TOLERANCE * self._most(self.table, self.size, self.fixed).clamp(min=1)

    def most_of_row(self, x: Tensor) -> Tensor:
        """For each cell the largest value in its row; 0 if all are below."""
        return self._most(self.table * self.n_rows + self.row, self.size * self.n_rows, x)

    def most_of_column(self, x: Tensor) -> Tensor:
        return self._most(self.table * self.n_columns + self.column, self.size * self.n_columns, x)

    def columns_of_rows(self, chosen: Tensor) -> Tensor:
        """``(B * R,)`` column of the (first) largest of these cells in each row; -1 without any."""
        mine = torch.where(chosen, self.fixed, 0)
        largest = chosen & (mine >= self.most_of_row(mine) - self.slack)
        return self._first(self.table * self.n_rows + self.row, self.size * self.n_rows, self.column, largest)

    def rows_of_columns(self, chosen: Tensor) -> Tensor:
        """``(B * C,)`` first of the rows of these cells in each column; -1 without any."""
        return self._first(self.table * self.n_columns + self.column, self.size * self.n_columns, self.row, chosen)

    def total(self, chosen: Tensor) -> Tensor:
        """``(B,)`` sum of the weights of these cells."""
        return self.weights.new_zeros(self.size).index_add(0, self.table[chosen], self.weights[chosen])

    def lack(self, hit: Tensor) -> Tensor:
        """``(B,)`` bool: tables without such a cell."""
        return torch.bincount(self.table[hit], minlength=self.size) == 0

    def _most(self, key: Tensor, size: int, x: Tensor) -> Tensor:
        return torch.zeros(size, dtype=x.dtype, device=x.device).scatter_reduce(0, key, x, "amax")[key]

    def _first(self, key: Tensor, size: int, number: Tensor, hit: Tensor) -> Tensor:
        none = max(self.n_rows, self.n_columns)
        found = torch.full((size,), none, device=number.device).scatter_reduce(0, key[hit], number[hit], "amin")
        return found.masked_fill(found == none, -1)


def _match_greedily(cells: _Cells, dense: Tensor | None) -> tuple[Tensor, Tensor]:
    """Cells of the matching, and whether equal weights never competed for a row or column."""
    if dense is None:
        listed = cells.table, cells.row, cells.column, cells.fixed
        numbers = assignment.sparse_match_greedily(*listed, cells.n_rows, cells.n_columns)
        chosen = torch.zeros_like(cells.row, dtype=torch.bool).index_fill(0, numbers, True)
    else:
        columns = assignment.greedy_columns(assignment.flatten_batch(dense.detach()))
        chosen = columns[cells.table, cells.row] == cells.column
    taken = torch.where(chosen, cells.fixed, 0)
    least = torch.maximum(cells.most_of_row(taken), cells.most_of_column(taken))
    return chosen, cells.lack(~chosen & (least <= cells.fixed))


def _match_by_majority(cells: _Cells) -> tuple[Tensor, Tensor]:
    """Cells of the matching, one in each column, and whether no other cell of the column is as large."""
    near = cells.fixed >= cells.most_of_column(cells.fixed) - cells.slack
    first = cells.rows_of_columns(near)[cells.table * cells.n_columns + cells.column]
    chosen = near & (first == cells.row)
    return chosen, cells.lack(near & ~chosen)


def names_of_columns(source: ContingencyTables, class_of_cluster: Tensor, unmatched: str, fill: Any) -> np.ndarray:
    """``(*batch, C + 1)`` new label of each column, and ``fill`` for labels that are not among them."""
    rows, columns = source.shape[-2:]
    size = source.batch_shape.numel()
    classes, clusters = as_array(source.classes, rows), as_array(source.clusters, columns)
    if fill is not None and classes.dtype.kind != "O":
        limits = np.iinfo(classes.dtype)
        if not isinstance(fill, (int, np.integer)) or not limits.min <= fill <= limits.max:
            raise ValueError(f"fill: expected a whole number in the range of the classes' type; got {brief(fill)}")
    by_table = [
        np.broadcast_to(x, (*source.batch_shape, x.shape[-1])).reshape(size, x.shape[-1]) for x in (classes, clusters)
    ]
    partner = class_of_cluster.reshape(size, columns).cpu().numpy()
    filled = (source.whole_cluster_sizes > 0).reshape(size, columns).cpu().numpy()
    tables = zip(partner, *by_table, filled, strict=True)
    names = [names_of_groups(*parts, unmatched=unmatched, fill=fill) for parts in tables]
    kind = names[0].dtype if names else classes.dtype
    last = np.full((size, 1), 0 if fill is None else fill, kind)
    joined = np.concatenate([np.array(names, kind).reshape(size, columns), last], 1)
    return joined.reshape(*source.batch_shape, columns + 1)


def ordered_tables(source: ContingencyTables, cluster_of_class: Tensor, class_of_cluster: Tensor) -> ContingencyTables:
    """Rows and columns with the matched pairs first."""
    rows, columns = source.shape[-2:]
    row_order = (cluster_of_class < 0).to(torch.uint8).argsort(dim=-1, stable=True)
    # A matched column takes the place of its row; the others come after all of these.
    rank = row_order.argsort(dim=-1)
    after = rows + torch.arange(columns, device=source.device)
    place = torch.where(class_of_cluster < 0, after, rank.gather(-1, class_of_cluster.clamp_min(0)))
    column_order = place.argsort(dim=-1)
    classes = _take_labels(source.classes, row_order, rows)
    clusters = _take_labels(source.clusters, column_order, columns)
    return _moved(source, rank, column_order.argsort(dim=-1), (rows, columns), classes, clusters)


def merged_tables(source: ContingencyTables, class_of_cluster: Tensor) -> ContingencyTables:
    """A column for each class, and one for each non-empty cluster without a class."""
    rows = source.shape[-2]
    alone = (class_of_cluster < 0) & (source.whole_cluster_sizes > 0)
    number = alone.long().cumsum(-1) - 1
    extra = int(alone.sum(-1).max()) if alone.numel() else 0
    place = torch.where(alone, rows + number, class_of_cluster.clamp_min(0))
    own = torch.arange(rows, device=source.device).expand(*source.batch_shape, rows)
    names = as_array(source.classes, rows)
    flat = names.reshape(-1, rows)
    clusters = np.stack([np.concatenate([x, new_labels(x, extra)]) for x in flat])
    clusters = clusters.reshape(*names.shape[:-1], rows + extra)
    labels = clusters if clusters.dtype.kind == "O" else torch.from_numpy(clusters).to(source.device)
    return _moved(source, own, place, (rows, rows + extra), source.classes, labels)


def _moved(
    source: ContingencyTables,
    row: Tensor,
    column: Tensor,
    shape: tuple[int, int],
    classes: GroupLabels | None,
    clusters: GroupLabels | None,
) -> ContingencyTables:
    """Tables with rows and columns (and items of one side) at new places; those of one place are added."""
    size = source.batch_shape.numel()
    table, i, j, count = source.cells()
    new_row = row.reshape(-1)[table * row.shape[-1] + i]
    new_column = column.reshape(-1)[table * column.shape[-1] + j]
    key = (table * shape[0] + new_row) * shape[1] + new_column
    cells: Cells
    if source.layout == "dense":
        counts = count.new_zeros(size * shape[0] * shape[1]).index_add(0, key, count)
        cells = DenseCells(counts.view(*source.batch_shape, *shape))
    else:
        keys, place = torch.unique(key, return_inverse=True)
        values = count.new_zeros(len(keys)).index_add(0, place, count)
        at = keys // shape[1]
        cells = SparseCells(source.batch_shape, shape, at // shape[0], at % shape[0], keys % shape[1], values)
    margins = None
    if source._margins is not None:
        moved = zip(source._margins.tensors, (row, column), shape, strict=True)
        by_class, by_cluster = (x.new_zeros(*x.shape[:-1], n).scatter_add(-1, at, x) for x, at, n in moved)
        void = source._margins.void
        void = None if void is None else torch.zeros_like(by_cluster).scatter_add(-1, column, void)
        margins = Margins(by_class, by_cluster, void)
    return source._replace(cells=cells, classes=classes, clusters=clusters, margins=margins)


def _take_labels(labels: GroupLabels | None, order: Tensor, size: int) -> GroupLabels:
    """``(*batch, size)`` labels in this order."""
    names = as_array(labels, size)
    taken = np.take_along_axis(np.broadcast_to(names, tuple(order.shape)), order.cpu().numpy(), -1)
    return taken if taken.dtype.kind == "O" else torch.from_numpy(taken).to(order.device)


_MEANS = {"mean_class_accuracy": "recall", "macro_f": "f", "mean_iou": "iou"}
_OF_CLASSES = ("precision", "recall", "f", "iou")


@dataclass(frozen=True, eq=False, repr=False)
class MatchedScores(OfGroups[Tensor]):
    """Scores under a matching, the result of :func:`matched_scores`: a mapping of names to tensors.

    Tables in print and ``to_pandas`` have a row for each class with items.

    >>> tables = tce.ContingencyTables.from_labels(["a", "a", "b"], [4, 4, 4])
    >>> print(tce.matched_scores(tables, tce.match(tables)))
    accuracy 0.6667, mean_class_accuracy 0.5000, macro_f 0.4000, mean_iou 0.3333
    label  size  cluster  precision  recall       f     iou
    a         2        4     0.6667  1.0000  0.8000  0.6667
    b         1     None     0.0000  0.0000  0.0000  0.0000
    """

    sizes: Tensor = field(kw_only=True)  # (*batch, R) items of each class

    def rows(self, before: Mapping[str, Any] | None = None) -> GroupRows:
        """Size of each class with items, its matched cluster, and its scores."""
        values = {"size": self.sizes, "cluster": self._matches(), **{name: self[name] for name in _OF_CLASSES}}
        return self._rows({**(before or {}), **values}, self.sizes)

    def _shown(self) -> Shown:
        names = ("accuracy", *_MEANS) if self.sizes.ndim == 1 else ()
        means = ", ".join(f"{name} {format_number(float(self[name]))}" for name in names)
        return super()._shown()._replace(title=means) if means else super()._shown()


@on_one_thread
def matched_scores(tables: ContingencyTables, match: Matching) -> MatchedScores:
    """Scores of the clusters as predictions of their matched classes.

    With the n items that class i shares with its clusters, the r of the class and the c of these clusters: precision
    n / c, recall n / r, F 2n / (r + c), intersection over union n / (r + c - n). Items that only one side groups
    (``absent_pred=`` ...) are among the r and the c.

    Args:
        tables: contingency tables, ``(*batch, R, C)``: the matched ones, or others
            with the same rows and columns.
        match: their matching. Where it is not unique, all values but the accuracy depend on which one it is.

    Returns:
        ``accuracy`` (the share of all items that have a class), ``mean_class_accuracy``, ``macro_f``, ``mean_iou``
        (means over the classes with items), ``(*batch,)``; ``precision``, ``recall``, ``f``, ``iou`` of each class,
        ``(*batch, R)``, in the order of ``tables.classes``: 0 for a class without a cluster, nan for one without items.
        All in 0 to 1; nan without items. In print and with ``to_pandas`` a row for each class with items, by its label.

    Raises:
        ValueError: rows and columns are not those of the matched tables.

    Source: the accuracy and the means as in Ji, Henriques and Vedaldi (2019) and Cho et al. (2021).

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0, 0], [2, 3, 1, 0], [0, 3, 2, 1], [1, 0, 1, 4]])
        >>> scores = tce.matched_scores(tables, tce.match(tables))
        >>> round(scores["mean_iou"].item(), 4), round(scores["accuracy"].item(), 4)
        (0.4192, 0.5833)
    """
    check_tables(tables)
    _check_match(tables, match)
    tables = tables._whole
    n, c = _matched_sums(tables, match)
    r = tables._class_sizes_f64
    absent = r == 0
    per_class = {
        "precision": n / c.masked_fill(c == 0, 1),
        "recall": n / r,
        "f": 2 * n / (r + c),
        "iou": n / (r + c - n),
    }
    per_class = {name: value.masked_fill(absent, torch.nan) for name, value in per_class.items()}
    values = {
        "accuracy": tables._divide_by_items(n.sum(-1)),
        **{name: per_class[of].nanmean(-1) for name, of in _MEANS.items()},
        **per_class,
    }
    labels = tables.classes, match.source.clusters if tables.clusters is None else tables.clusters
    partner = match.cluster_of_class.to(tables.device)
    return MatchedScores(values, *labels, partner, tables.names, tables.groups, sizes=tables.class_sizes)


def _check_match(tables: ContingencyTables, match: Matching) -> None:
    check_matching(match)
    if tables.shape != match.source.shape:
        expected = f"tables of the matched shape {tuple(match.source.shape)}"
        raise ValueError(f"tables: expected {expected}; got {tuple(tables.shape)} (match(tables) matches these)")
    check_order(tables.names, match.source.names, "tables", "the matched tables")
    for side in ("classes", "clusters", "groups"):
        here, there = getattr(tables, side), getattr(match.source, side)
        if here is there or here is None or there is None:
            continue
        same = isinstance(here, Tensor) == isinstance(there, Tensor) and here.shape == there.shape
        if not same or not np.array_equal(as_array(here, len(here)), as_array(there, len(there))):
            raise ValueError(f"tables: expected the {side} of the matched tables, in their order; got others")


def _matched_sums(tables: ContingencyTables, match: Matching) -> tuple[Tensor, Tensor]:
    """Items that each class shares with its clusters, and items of these, ``(*batch, R)`` float64 each."""
    given = match.class_of_cluster.to(tables.device)
    rows = torch.arange(tables.shape[-2], device=tables.device).expand(tables.class_sizes.shape)
    n = tables.sum_by_class(lambda cell: torch.where(cell.at_clusters(given) == cell.at_classes(rows), cell.n, 0))
    sizes = tables._cluster_sizes_f64.masked_fill(given < 0, 0)
    return n, torch.zeros_like(n).scatter_add(-1, given.clamp_min(0), sizes)


@on_one_thread
def subset_accuracy(
    tables: ContingencyTables, groups: Mapping[str, Any], match: Matching | None = None
) -> dict[str, Tensor]:
    """Accuracy of all items and of those of some classes, under one matching of all classes.

    This is how generalised category discovery scores old and new classes.

    Args:
        tables: contingency tables, ``(*batch, R, C)``.
        groups: name of each set -> the labels of its classes (row numbers where classes have no labels).
        match: the matching; None: the best one-to-one matching of the tables. Where it is not unique
            (``match(tables).unique``), the accuracy of a set depends on which one it is.

    Returns:
        ``all`` and each set's share of right items, ``(*batch,)``, of those with a class: items without a cluster are
        wrong. An absent class counts 0 items; a set without items is nan. Range: 0 to 1.

    Raises:
        ValueError: a class is in two sets, a set is called ``all``, or is no list of labels of the classes' kind (a
            mask is none).

    Source: Vaze et al. (2022), appendix E.

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0, 0], [2, 3, 1, 0], [0, 3, 2, 1], [1, 0, 1, 4]])
        >>> found = tce.subset_accuracy(tables, {"old": [0, 1], "new": [2, 3]})
        >>> {name: round(value.item(), 4) for name, value in found.items()}
        {'all': 0.5833, 'old': 0.6667, 'new': 0.5}
    """
    check_tables(tables)
    members = _members(tables, groups)
    found = _matched(tables, "overlap", "one_to_one", None) if match is None else match
    _check_match(tables, found)
    tables = tables._whole
    n, _ = _matched_sums(tables, found)
    r = tables._class_sizes_f64
    scores = {"all": tables._divide_by_items(n.sum(-1))}
    for name, member in members.items():
        scores[name] = (n * member).sum(-1) / (r * member).sum(-1)
    return scores


def _members(tables: ContingencyTables, groups: Mapping[str, Any]) -> dict[str, Tensor]:
    """Which rows are of each set, ``(R,)`` or ``(*batch, R)`` float64."""
    if not isinstance(groups, Mapping):
        raise ValueError(f"groups: expected a mapping of names to classes; got {type(groups).__name__}")
    names = as_array(tables.classes, tables.shape[-2])
    owner: dict[Any, str] = {}
    members = {}
    for name, classes in groups.items():
        if name == "all":
            raise ValueError("groups: expected names other than 'all', which is the whole table; got 'all'")
        wanted = _listed(classes, name)
        of_booleans = isinstance(tables.classes, Tensor) and tables.classes.dtype == torch.bool
        if not of_booleans and any(isinstance(x, bool) for x in wanted):
            raise ValueError(f"groups[{name!r}]: expected labels of classes; got booleans (for a mask: mask.nonzero())")
        strings = names.dtype.kind == "O"
        for label in wanted:
            if isinstance(label, str) != strings:
                kind = "strings" if strings else "numbers"
                raise ValueError(f"groups[{name!r}]: expected labels of classes, which are {kind}; got {brief(label)}")
            if owner.setdefault(label, name) != name:
                raise ValueError(f"groups: expected sets without a class in common; got {brief(label)} in two of them")
        hits = np.frompyfunc(wanted.__contains__, 1, 1)(names.astype(object)).astype(np.float64)
        members[name] = torch.from_numpy(hits).to(tables.device)
    return members


def _listed(classes: Any, name: str) -> set[Any]:
    given = classes.tolist() if hasattr(classes, "tolist") else classes
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [{}]
    listed = [x.item() if isinstance(x, (Tensor, np.generic)) else x for x in listed]
    if not all(map(is_key, listed)):
        raise ValueError(f"groups[{name!r}]: expected a list of classes; got {brief(classes)}")
    return set(listed)
