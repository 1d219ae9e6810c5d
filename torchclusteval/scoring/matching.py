"""Which cluster belongs to which class: the matching as a result."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.common.checks import check_choice, check_number, explain_out_of_memory
from torchclusteval.common.formatting import brief
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.renaming import as_array, check_found, find_groups, names_of_groups, new_labels, rename
from torchclusteval.measures.assignment import TIE_TOLERANCE, flatten_batch, match_dense, owner_of
from torchclusteval.measures.greedy_assignment import greedy_columns, sparse_match_greedily
from torchclusteval.measures.sparse_assignment import match_sparse
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
    """Which cluster belongs to which class, as :func:`match` returns it.

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
    unique: Tensor  # (*batch,) bool: whether no tie was decided (one_to_one: no other matching has this total)
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
        """Rename clusters as the classes that they are matched to: :func:`relabel` with this matching."""
        check_choice(unmatched, "unmatched", ("new", "keep"))
        source = self.source
        size = source.shape[-1]
        own = (source.clusters, source.batch_shape, size, source.device)
        columns = find_groups(labels_pred, *own, gaps=fill is not None)
        if fill is None:
            check_found(columns)
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
        at_least: pairs of a smaller weight are not matched; those of weight 0 never are.

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
        matched, unique = match_dense(weights)
        first = torch.arange(matched.numel(), device=matched.device).reshape(matched.shape) * columns
        taken = weights.take(first + matched.clamp_min(0))  # faster than gather
        partner, total = owner_of(matched, columns), taken.masked_fill(matched < 0, 0).sum(-1)
    else:
        cells = _Cells(tables, weights)
        if how == "one_to_one":
            chosen, unique = match_sparse(cells.table, cells.row, cells.column, cells.fixed, cells.size)
        elif how == "greedy":
            chosen, unique = _match_greedily(cells, weights if tables.layout == "dense" else None)
        else:
            chosen, unique = _match_by_majority(cells)
        matched, partner, total = cells.columns_of_rows(chosen), cells.rows_of_columns(chosen), cells.total(chosen)
    return Matching(
        on=on,
        how=how,
        at_least=at_least,
        cluster_of_class=matched.reshape(*shape, rows),
        class_of_cluster=partner.reshape(*shape, columns),
        total=total.double().reshape(shape),
        unique=unique.reshape(shape),
        source=tables,
    )


def relabel(labels_pred: Any, match: Matching, unmatched: str = "new", fill: Any = None) -> Any:
    """Rename clusters as the classes that they are matched to.

    Args:
        labels_pred: ``(*batch, N)`` cluster labels that the matched tables have seen; column numbers where they came
            without labels.
        match: their matching. Of several best ones it is the solver's choice (``match.unique`` is False).
        unmatched: clusters without a class: ``"new"`` gives them new labels, which are no class's, in the order of
            their columns; ``"keep"`` keeps their own.
        fill: one label instead, for clusters without a class, and for items whose label is missing or one
            that the tables have not seen.

    Returns:
        ``(*batch, N)`` int64 tensor of class labels (row numbers where classes came without labels), or an array of
        strings where the classes are strings; a DataFrame for a DataFrame.

    Raises:
        ValueError: a label that is missing or that the tables have not seen, without ``fill``; ``"keep"``
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
    """The cells that may be matched, each with its weight."""

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
            self.slack = TIE_TOLERANCE * self._most(self.table, self.size, self.fixed).clamp(min=1)

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
    """Cells of the matching, and whether every choice was between cells of other rows and columns."""
    if dense is None:
        chosen = sparse_match_greedily(cells.table, cells.row, cells.column, cells.fixed, cells.n_rows, cells.n_columns)
    else:
        chosen = greedy_columns(flatten_batch(dense.detach()))[cells.table, cells.row] == cells.column
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
            raise ValueError(f"fill: expected a whole number, as the classes are, of their range; got {brief(fill)}")
    by_table = [
        np.broadcast_to(x, (*source.batch_shape, x.shape[-1])).reshape(size, x.shape[-1]) for x in (classes, clusters)
    ]
    partner = class_of_cluster.reshape(size, columns).cpu().numpy()
    filled = (source.whole_cluster_sizes > 0).reshape(size, columns).cpu().numpy()
    tables = zip(partner, *by_table, filled, strict=True)
    names = [names_of_groups(*parts, unmatched=unmatched, fill=fill) for parts in tables]
    kind = names[0].dtype if names else classes.dtype
    last = np.full((size, 1), 0 if fill is None else fill, kind)
    return np.concatenate([np.array(names, kind).reshape(size, columns), last], 1).reshape(
        *source.batch_shape, columns + 1
    )


def ordered_tables(source: ContingencyTables, cluster_of_class: Tensor, class_of_cluster: Tensor) -> ContingencyTables:
    """Rows and columns with the matched pairs first."""
    rows, columns = source.shape[-2:]
    row_order = (cluster_of_class < 0).to(torch.uint8).argsort(dim=-1, stable=True)
    # A matched column comes where its row does, another one after all of these.
    rank = row_order.argsort(dim=-1)
    after = rows + torch.arange(columns, device=source.device)
    place = torch.where(class_of_cluster < 0, after, rank.gather(-1, class_of_cluster.clamp_min(0)))
    column_order = place.argsort(dim=-1)
    classes = _take_labels(source.classes, row_order, rows)
    clusters = _take_labels(source.clusters, column_order, columns)
    return _moved(source, rank, column_order.argsort(dim=-1), (rows, columns), classes, clusters)


def merged_tables(source: ContingencyTables, class_of_cluster: Tensor) -> ContingencyTables:
    """A column for each class, and one for each cluster with items that has none."""
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
    """Every cell and every item of one side at the new place of its row and column, those of one place added."""
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
