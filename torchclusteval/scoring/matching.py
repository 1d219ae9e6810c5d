"""Which cluster belongs to which class: the matching as a result."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number, explain_out_of_memory
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.renaming import as_array, check_found, find_groups, rename
from torchclusteval.measures.assignment import TIE_TOLERANCE, match_dense
from torchclusteval.measures.greedy_assignment import match_greedily, sparse_match_greedily
from torchclusteval.measures.sparse_assignment import match_sparse
from torchclusteval.scoring.matched_tables import merged_tables, names_of_columns, ordered_tables
from torchclusteval.tables import ContingencyTables, check_tables

ON = ("overlap", "jaccard", "f", "recall", "precision")
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
    on_host: bool  # whether the host found it
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
        """Rename clusters as the classes that they are matched to.

        Args:
            labels_pred: ``(*batch, N)`` cluster labels that the tables have seen; column numbers where they came
                without labels.
            unmatched: clusters without a class: ``"new"`` gives them new labels, which are no class's, in the order of
                their columns; ``"keep"`` keeps their own.
            fill: one label instead, for clusters without a class and for labels that the tables have not seen.

        Returns:
            ``(*batch, N)`` int64 tensor of class labels (row numbers where classes came without labels), or an array
            of strings where the classes are strings; a DataFrame for a DataFrame.

        Raises:
            ValueError: a label that the tables have not seen, without ``fill``; ``"keep"`` and an unmatched cluster
                has the label of a class.

        Example:
            >>> import torchclusteval as tce
            >>> tables = tce.ContingencyTables.from_labels([5, 5, 7, 7], [1, 1, 0, 2])
            >>> tce.match(tables).relabel([1, 1, 0, 2]).tolist()
            [5, 5, 7, 8]
        """
        check_choice(unmatched, "unmatched", ("new", "keep"))
        source = self.source
        size = source.shape[-1]
        columns = find_groups(labels_pred, source.clusters, source.batch_shape, size, source.device)
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
            ``"jaccard"``, n / (r + c - n); ``"f"``, 2n / (r + c); ``"recall"``, n / r; ``"precision"``, n / c.
        how: ``"one_to_one"``, the largest sum of weights; ``"greedy"``, the largest remaining weight again and again,
            ties to the lowest row, then the lowest column; ``"majority"``, each cluster to the class of the largest
            weight, ties to the lowest row.
        at_least: pairs of a smaller weight are not matched; those of weight 0 never are.

    Returns:
        The matching, its sum of weights, and whether it is the only one. Of several best one-to-one matchings it is the
        one whose ``cluster_of_class`` is lexicographically smallest, -1 counting as the largest, on every device and
        in both layouts. Sums of fractions within 1e-12 (times the largest weight, if that is above 1) are equal. A
        table without items has no matched pair, total 0, and is unique.

    Raises:
        ValueError: options are not as described, memory has no room, or sparse tables are too large without SciPy.

    Source: Kuhn (1955), Munkres (1957).

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0], [2, 3, 1], [0, 3, 2]])
        >>> found = tce.match(tables)
        >>> found.cluster_of_class.tolist(), found.total.item(), found.unique.item()
        ([0, 1, 2], 10.0, True)
    """
    check_tables(tables)
    check_choice(on, "on", ON)
    check_choice(how, "how", HOW)
    if at_least is not None:
        check_number(at_least, "at_least", 0.0)
    size = f"{tables.batch_shape.numel()} tables of {tables.shape[-2]} x {tables.shape[-1]}"
    remedy = "sparse ones need less, fewer at a time too"
    with explain_out_of_memory(f"tables: expected tables that memory has room to match; got {size} ({remedy})"):
        return _matched(tables, on, how, None if at_least is None else float(at_least))


def _matched(tables: ContingencyTables, on: str, how: str, at_least: float | None) -> Matching:
    shape, (rows, columns) = tables.batch_shape, tables.shape[-2:]
    on_host = how == "one_to_one" or (how == "greedy" and tables.layout == "sparse")
    partner: Tensor | None = None
    if how == "one_to_one" and tables.layout == "dense":
        matched, total, unique, on_host = _match_dense(tables, on, at_least)
    else:
        cells = _Cells(tables, on, at_least)
        if how == "majority":
            matched, partner, total, unique = _match_by_majority(cells)
        elif how == "greedy":
            matched, total, unique = _match_greedily(cells, tables, on, at_least)
        else:
            matched, total, unique = _match_one_to_one(cells)
    matched = matched.reshape(*shape, rows)
    return Matching(
        on=on,
        how=how,
        at_least=at_least,
        cluster_of_class=matched,
        class_of_cluster=_inverse(matched, columns) if partner is None else partner.reshape(*shape, columns),
        total=total.double().reshape(shape),
        unique=unique.reshape(shape),
        on_host=on_host,
        source=tables,
    )


def relabel(labels_pred: Any, match: Matching, unmatched: str = "new", fill: Any = None) -> Any:
    """Rename clusters as the classes that they are matched to, as :meth:`Matching.relabel` does.

    Args:
        labels_pred: ``(*batch, N)`` cluster labels that the matched tables have seen.
        match: their matching.
        unmatched: clusters without a class: ``"new"`` gives them new labels; ``"keep"`` keeps their own.
        fill: one label instead, for clusters without a class and for labels that the tables have not seen.

    Returns:
        ``(*batch, N)`` int64 tensor of class labels, or an array of strings where the classes are strings.

    Raises:
        ValueError: a label that the tables have not seen, without ``fill``; ``"keep"`` and an unmatched cluster
            has the label of a class; ``match`` is no matching.

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


def _weights(count: Tensor, r: Tensor, c: Tensor, on: str, at_least: float | None) -> Tensor:
    """Weight of each cell; 0 where it must not be matched."""
    n = count if on == "overlap" else count.double()
    if on == "jaccard":
        weights = n / (r + c - n).masked_fill_(n == 0, 1)
    elif on == "f":
        weights = 2 * n / (r + c).masked_fill_(n == 0, 1)
    else:
        weights = n if on == "overlap" else n / {"recall": r, "precision": c}[on].masked_fill(n == 0, 1)
    return weights if at_least is None else torch.where(weights >= at_least, weights, 0)


def _match_dense(tables: ContingencyTables, on: str, at_least: float | None) -> tuple[Tensor, Tensor, Tensor, bool]:
    r, c = tables._class_sizes_f64.unsqueeze(-1), tables._cluster_sizes_f64.unsqueeze(-2)
    weights = _weights(tables.counts, r, c, on, at_least)
    matched, unique = match_dense(weights)
    on_host = True
    first = torch.arange(matched.numel(), device=matched.device).reshape(matched.shape) * weights.shape[-1]
    taken = weights.take(first + matched.clamp_min(0))  # faster than gather
    return matched, taken.masked_fill(matched < 0, 0).sum(-1), unique, on_host


class _Cells:
    """The cells that may be matched, each with its weight."""

    def __init__(self, tables: ContingencyTables, on: str, at_least: float | None) -> None:
        self.size, (self.rows, self.columns) = tables.batch_shape.numel(), tables.shape[-2:]
        table, row, column, count = tables.cells()
        r = tables._class_sizes_f64.reshape(-1)[table * self.rows + row]
        c = tables._cluster_sizes_f64.reshape(-1)[table * self.columns + column]
        weight = _weights(count, r, c, on, at_least)
        kept = (weight > 0).nonzero().squeeze(1)
        self.table, self.row, self.column, self.weight = (x[kept] for x in (table, row, column, weight))
        self.row_key, self.column_key = self.table * self.rows + self.row, self.table * self.columns + self.column

    def most(self, key: Tensor, size: int, x: Tensor) -> Tensor:
        """``(size,)`` largest value by key; 0 without any."""
        return torch.zeros(size, dtype=x.dtype, device=x.device).scatter_reduce(0, key, x, "amax")

    def first(self, key: Tensor, size: int, number: Tensor, hit: Tensor) -> Tensor:
        """``(size,)`` smallest number by key among the cells that are hit; -1 without any."""
        none = max(self.rows, self.columns)
        found = torch.full((size,), none, device=number.device).scatter_reduce(0, key[hit], number[hit], "amin")
        return found.masked_fill(found == none, -1)

    def total(self, chosen: Tensor) -> Tensor:
        """``(B,)`` sum of the weights of these cells."""
        return self.weight.new_zeros(self.size).index_add(0, self.table[chosen], self.weight[chosen])

    def lacks(self, hit: Tensor) -> Tensor:
        """``(B,)`` bool: tables without such a cell."""
        return torch.bincount(self.table[hit], minlength=self.size) == 0


def _match_one_to_one(cells: _Cells) -> tuple[Tensor, Tensor, Tensor]:
    chosen, unique = match_sparse(cells.table, cells.row, cells.column, cells.weight, cells.size)
    matched = cells.first(cells.row_key, cells.size * cells.rows, cells.column, chosen)
    return matched, cells.total(chosen), unique


def _match_greedily(cells: _Cells, tables: ContingencyTables, on: str, at_least: float | None) -> Any:
    """Matching, total, and whether every choice was between cells of other rows and columns."""
    rows = cells.size * cells.rows
    if tables.layout == "dense":
        r, c = tables._class_sizes_f64.unsqueeze(-1), tables._cluster_sizes_f64.unsqueeze(-2)
        matched = match_greedily(_weights(tables.counts, r, c, on, at_least).detach()).reshape(-1)
        chosen = matched[cells.row_key] == cells.column
    else:
        weight = cells.weight.detach()
        chosen = sparse_match_greedily(cells.table, cells.row, cells.column, weight, cells.rows, cells.columns)
    matched = cells.first(cells.row_key, rows, cells.column, chosen)
    weight = cells.weight.detach()
    taken = torch.where(chosen, weight, 0)
    row_weight = cells.most(cells.row_key, rows, taken)[cells.row_key]
    column_weight = cells.most(cells.column_key, cells.size * cells.columns, taken)[cells.column_key]
    refused = ~chosen & (row_weight <= weight) & (column_weight <= weight)
    return matched, cells.total(chosen), cells.lacks(refused)


def _match_by_majority(cells: _Cells) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Columns of the rows, rows of the columns, total, unique."""
    rows, columns = cells.size * cells.rows, cells.size * cells.columns
    weight = cells.weight.detach()
    slack: Tensor | int = 0  # as a float it would turn counts into float32
    if weight.is_floating_point():
        largest = cells.most(cells.table, cells.size, weight).clamp(min=1)
        slack = TIE_TOLERANCE * largest[cells.table]
    near = weight >= cells.most(cells.column_key, columns, weight)[cells.column_key] - slack
    row_of_column = cells.first(cells.column_key, columns, cells.row, near)
    chosen = row_of_column[cells.column_key] == cells.row
    mine = torch.where(chosen, weight, -1)
    largest_mine = chosen & (mine >= cells.most(cells.row_key, rows, mine)[cells.row_key] - slack)
    column_of_row = cells.first(cells.row_key, rows, cells.column, largest_mine)
    return column_of_row, row_of_column, cells.total(chosen), cells.lacks(near & ~chosen)


def _inverse(partner: Tensor, count: int) -> Tensor:
    """``(*batch, count)``: which group has each of the others as its partner, -1 for none."""
    found = partner.new_full((*partner.shape[:-1], count + 1), -1)
    numbers = torch.arange(partner.shape[-1], device=partner.device).expand_as(partner)
    return found.scatter(-1, torch.where(partner < 0, count, partner), numbers)[..., :count]
