"""Where a score comes from: values by class, by pair of classes, by cluster and by item."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities
from torchclusteval.common.formatting import format_number
from torchclusteval.common.optional import DataFrame, import_optional
from torchclusteval.common.results import ByName, Printed, Shown
from torchclusteval.common.threads import on_one_thread
from torchclusteval.counting.dispatch import count_sparse, flat_indices
from torchclusteval.labels.encoding import encode
from torchclusteval.labels.group_labels import GroupLabels, as_objects, labels_at
from torchclusteval.labels.options import LabelKeywords, LabelOptions
from torchclusteval.measures.segmentation import best_clusters, best_ious, first_column
from torchclusteval.tables import ContingencyTables, check_tables

_MAX_LINES = 60


@dataclass(frozen=True, eq=False, repr=False)
class GroupRows(Printed):
    """Some rows of a batch of tables with their values."""

    batch_shape: tuple[int, ...]
    levels: Mapping[str, Sequence[Any]]  # the names of a row: the clustering, the group of items, the label
    columns: Mapping[str, Sequence[Any]]  # value of each row

    def to_pandas(self) -> DataFrame:
        pandas = import_optional("pandas", "pandas")
        columns = {
            name: np.array(values, dtype=object) if None in values else values for name, values in self.columns.items()
        }
        if not self.batch_shape:
            return pandas.DataFrame(columns, index=self.levels["label"])
        levels = [pandas.Index(level, tupleize_cols=False) for level in self.levels.values()]
        return pandas.DataFrame(columns, index=pandas.MultiIndex.from_arrays(levels, names=list(self.levels)))

    def _shown(self) -> Shown:
        title = f"Values of groups, batch_shape={self.batch_shape}" if self.batch_shape else ""
        named = [list(map(str, level[:_MAX_LINES])) for level in self.levels.values()]
        shown = [_texts(name, values[:_MAX_LINES]) for name, values in self.columns.items()]
        rows = [list(row) for row in zip(*named, *shown, strict=True)]
        more = len(self.levels["label"]) - len(rows)
        notes = [f"{more} more rows: to_pandas() has them"] if more else []
        header = [*self.levels, *self.columns]
        words = [*range(len(self.levels)), *(i for i, name in enumerate(header) if name in _LABELS)]
        return Shown(header, rows, title, notes, words)


_LABELS = ("best_match", "cluster")


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    if name in _LABELS:
        return list(map(str, values))
    if name == "size":
        return [f"{x:.0f}" if float(x).is_integer() else format_number(x) for x in values]
    return list(map(format_number, values))


V = TypeVar("V", bound=GroupLabels)


@dataclass(frozen=True, eq=False, repr=False)
class OfGroups(Printed, ByName[V]):
    """Values of the classes or clusters of tables, by name, each with its match among the groups of the other side."""

    _field = "values_by_name"

    values_by_name: Mapping[str, V]
    labels: GroupLabels | None  # (groups,) or (*batch, groups): the label of each group; None: their numbers
    match_labels: GroupLabels | None  # (other groups,) or (*batch, other groups): the labels of the other side
    match_positions: Tensor  # (*batch, groups) int64: the match of each group among the other groups, -1 for none
    clusterings: tuple[Hashable, ...] | None = None  # names of the clusterings, where they are known
    groups: GroupLabels | None = None  # (G,) ids of the groups of items, the last batch dimension; None without ``by``

    def to_dict(self) -> dict[str, Any]:
        """Names to nested lists (a float for the means of a single table), with None for a group without a match."""
        matches = {"best_match": self._matches().tolist()} if "best_match" in self else {}
        return {name: value.tolist() for name, value in self.items()} | matches

    def to_pandas(self) -> DataFrame:
        """One row for each non-empty group, with its label as the index; needs pandas.

        A batch has an index of several levels: the clustering (its name, where it is known, or its number), the group
        of items with ``by``, and the label.
        """
        return self.rows().to_pandas()

    def rows(self, before: Mapping[str, Any] | None = None) -> GroupRows:
        """The non-empty groups, with more values ``(*batch, groups)`` before their own."""
        raise NotImplementedError

    def _rows(self, values: Mapping[str, Any], sizes: Any) -> GroupRows:
        kept = torch.as_tensor(sizes) != 0
        at = kept.nonzero().numpy(force=True).T
        *batch, count = kept.shape
        levels: dict[str, Sequence[Any]] = {}
        own = len(batch) - (self.groups is not None)
        for i in range(own):
            names, numbers = None if own > 1 else self.clusterings, at[i].tolist()
            levels["clustering" if own == 1 else f"batch {i}"] = [names[j] for j in numbers] if names else numbers
        if self.groups is not None:
            ids = as_objects(self.groups, batch[-1])
            levels["group"] = [ids[j] for j in at[own].tolist()]
        levels["label"] = np.broadcast_to(as_objects(self.labels, count), tuple(kept.shape))[tuple(at)].tolist()
        arrays = {name: x.numpy(force=True) if isinstance(x, Tensor) else x for name, x in values.items()}
        return GroupRows(tuple(batch), levels, {name: x[tuple(at)].tolist() for name, x in arrays.items()})

    def _matches(self) -> np.ndarray:
        """The labels of the matches as objects, None for a group without one."""
        places = self.match_positions
        count = max(1, int(places.max()) + 1) if places.numel() else 1
        return np.asarray(labels_at(as_objects(self.match_labels, count), places))

    def _shown(self) -> Shown:
        return self.rows()._shown()


@dataclass(frozen=True, eq=False, repr=False)
class GroupScores(OfGroups[GroupLabels]):
    """Values by group: a mapping of names to tensors ``(*batch, groups)``, nan for empty groups.

    ``"size"`` is int64 on tables of counts. ``"best_match"`` holds labels (numbers from 0 where tables have none): a
    tensor, with -1 for an empty group, or for text an array, with None. All other values are float64. Tables in print
    and ``to_pandas`` leave empty groups out; those of a batch have a row for each group of each table.

    >>> print(tce.per_class(tce.ContingencyTables([[2, 1], [0, 3]])))
    label  size  purity  entropy  bcubed  best_f  best_jaccard  best_match
    0         3  0.6667   0.6365  0.5556  0.8000        0.6667           0
    1         3  1.0000   0.0000  1.0000  0.8571        0.7500           1
    """

    def rows(self, before: Mapping[str, Any] | None = None) -> GroupRows:
        return self._rows({**(before or {}), **self, "best_match": self._matches()}, self["size"])


@on_one_thread
def per_class(tables: ContingencyTables) -> GroupScores:
    """Values of each class.

    Args:
        tables: contingency tables, ``(*batch, R, C)``.

    Returns:
        ``(*batch, R)`` tensors by name: ``size``; ``purity`` (share of the class in its largest cluster),
        ``entropy`` (of the class over the clusters, nats), ``bcubed`` (mean BCubed recall of its items), ``best_f``
        (largest F with a cluster), ``best_match`` (the label of that cluster, the first of equals; -1 or, for text,
        None where no cluster has its items), ``best_jaccard`` (largest Jaccard index with a cluster: that of the same
        one, since it is F / (2 - F)). Empty classes have nan. ``match_positions`` has the columns of the matches. Items
        that only one side groups (``absent_pred=`` ...) are among those of a class and of a cluster; for the entropy
        those of a class without a cluster are a group of their own.

    >>> print(tce.per_class(tce.ContingencyTables.from_labels(["a", "a", "b"], [0, 1, 1])))
    label  size  purity  entropy  bcubed  best_f  best_jaccard  best_match
    a         2  0.5000   0.6931  0.5000  0.6667        0.5000           0
    b         1  1.0000   0.0000  1.0000  0.6667        0.5000           1
    """
    check_tables(tables)
    return _per_row(tables._whole, tables.unmatched_by_class)


@on_one_thread
def per_cluster(tables: ContingencyTables) -> GroupScores:
    """Values of each cluster, as :func:`per_class` with the sides exchanged (``bcubed`` is precision).

    >>> print(tce.per_cluster(tce.ContingencyTables.from_labels(["a", "a", "b"], [0, 1, 1])))
    label  size  purity  entropy  bcubed  best_f  best_jaccard  best_match
    0         1  1.0000   0.0000  1.0000  0.6667        0.5000           a
    1         2  0.5000   0.6931  0.5000  0.6667        0.5000           b
    """
    check_tables(tables)
    return _per_row(tables.mT._whole, tables.unmatched_by_cluster)


@on_one_thread
def adjusted_rand_by_class(tables: ContingencyTables) -> Tensor:
    """The adjusted Rand index of each class and of each pair of classes: which classes a clustering confuses.

    With ``p`` the share of all pairs of items that the clustering joins: for a class the share of its joined pairs,
    adjusted to ``(share - p) / (1 - p)``; for two classes the share of the separated pairs
    between them, adjusted to ``(share - (1 - p)) / p``.

    Args:
        tables: contingency tables, ``(*batch, R, C)``; sparse ones are made dense.

    Returns:
        ``(*batch, R, R)`` float64, symmetric, classes on the diagonal. At most 1, higher is better; 0 is chance; nan
        for a class of at most one item, a pair with an empty class, a table of at most one item, and where the
        denominator is 0 (on the diagonal where all pairs are joined, elsewhere where none is). With numerators and
        denominators times the numbers of pairs, their sums over classes and pairs of classes give the adjusted Rand
        index. Weights are frequencies: the range holds where masses of cells are 0 or at least 1.

    Raises:
        ValueError: some items have a group on one side only; ``without_margins()`` leaves these out.

    Source: Amezquita et al. (2020), the book of Bioconductor on single cells; Hubert and Arabie (1985).

    Example:
        >>> import torchclusteval as tce
        >>> found = tce.adjusted_rand_by_class(tce.ContingencyTables([[3, 1], [0, 4]]))
        >>> [[round(x, 4) for x in row] for row in found.tolist()]
        [[0.0667, 0.4615], [0.4615, 1.0]]
    """
    check_tables(tables)
    tables._refuse_unmatched()
    counts, sizes = tables.to_dense().counts.double(), tables._class_sizes_f64
    joined, pairs = (counts * (counts - 1)).sum(-1), sizes * (sizes - 1)
    clusters, items = tables._cluster_sizes_f64, tables._n_items_f64
    p = ((clusters * (clusters - 1)).sum(-1) / (items * (items - 1)))[..., None]
    p = p.masked_fill(items[..., None] <= 1, torch.nan)
    own = ((joined - pairs * p) / (pairs * (1 - p))).masked_fill(sizes <= 1, torch.nan)
    expected = sizes.unsqueeze(-1) * sizes.unsqueeze(-2) * p.unsqueeze(-1)
    found = (expected - counts @ counts.mT) / expected
    diagonal = torch.eye(sizes.shape[-1], dtype=torch.bool, device=tables.device)
    return torch.where(diagonal, own.unsqueeze(-1), found)


def _per_row(tables: ContingencyTables, alone: Tensor) -> GroupScores:
    sizes = tables._class_sizes_f64
    best_f = tables.max_by_class(_f)
    lone = (alone / sizes).masked_fill(alone == 0, 1.0)  # makes the term below 0, with a gradient of 0
    values = {
        "purity": tables.max_by_class(lambda cell: cell.recall),
        "entropy": tables.sum_by_class(lambda cell: cell.recall * cell.surprisal_given_class) - lone * lone.log(),
        "bcubed": tables.sum_by_class(lambda cell: cell.recall * cell.recall),
        "best_f": best_f,
        "best_jaccard": tables.max_by_class(lambda cell: cell.n / (cell.r + cell.c_nonzero - cell.n)),
    }
    match = first_column(tables, lambda cell: (_f(cell) == cell.at_classes(best_f)) & (cell.n > 0))
    return _scores(tables, tables.class_sizes, values, match.masked_fill(values["best_f"].isnan(), -1))


def _scores(tables: ContingencyTables, sizes: Tensor, values: dict[str, Tensor], match: Tensor) -> GroupScores:
    """Values of each class, nan for empty ones; ``match`` has columns, and their number or -1 for none."""
    values = {name: value.masked_fill(sizes == 0, torch.nan) for name, value in values.items()}
    positions = match.masked_fill(match == tables.shape[-1], -1)
    named = {"size": sizes, **values, "best_match": labels_at(tables.clusters, positions)}
    return GroupScores(named, tables.classes, tables.clusters, positions, tables.names, tables.groups)


def _f(cell: CellQuantities) -> Tensor:
    return 2 * cell.n / (cell.r + cell.c_nonzero)


@on_one_thread
def per_item(labels_true: Any, labels_pred: Any, **options: Unpack[LabelKeywords]) -> dict[str, Tensor]:
    """BCubed precision and recall of each item.

    Args:
        labels_true: ``(*batch, N)`` classes.
        labels_pred: ``(*batch, N)`` clusters.
        **options: those of ``ContingencyTables.from_labels``, but ``weights``, ``by``, ``num_groups`` and ``layout``.

    Returns:
        ``precision`` (share of the item's cluster that is of its class) and ``recall`` (share of its class that is
        in its cluster), ``(*batch, N)`` float64, or ``(*batch, H, W)`` with ``item_dims=2``; nan for excluded
        items. Their means are BCubed precision and recall.

    Raises:
        ValueError: as ``ContingencyTables.from_labels``.

    With ``absent_true=`` or ``absent_pred=`` an item without a cluster has recall 0 and precision nan, one without a
    class precision 0 and recall nan; the means without nan are ``coref_bcubed_precision`` and ``coref_bcubed_recall``.

    >>> tce.per_item([0, 0, 1], [0, 1, 1])["precision"].tolist()
    [1.0, 0.5, 0.5]
    """
    own = LabelOptions.of(options, without=("weights", "by", "num_groups", "layout"))
    pair = encode(labels_true, labels_pred, own, margins=True)
    cells = count_sparse(pair)
    key = (cells.batch * cells.shape[0] + cells.row) * cells.shape[1] + cells.column
    sizes_true = cells.row_sizes().double().reshape(-1)[cells.row_key]
    sizes_pred = cells.column_sizes().double().reshape(-1)[cells.column_key]
    shape = (*pair.batch_shape, *(pair.item_shape or (pair.n_items,)))
    no_class, no_cluster = (
        torch.zeros_like(at, dtype=torch.bool) if side.absent is None else at == side.absent.index
        for at, side in ((cells.row, pair.true), (cells.column, pair.pred))
    )
    by_cell = {
        "precision": (cells.values / sizes_pred).masked_fill(no_class, 0).masked_fill(no_cluster, torch.nan),
        "recall": (cells.values / sizes_true).masked_fill(no_cluster, 0).masked_fill(no_class, torch.nan),
    }
    if not len(key):
        return {name: torch.full(shape, torch.nan, dtype=torch.float64, device=pair.device) for name in by_cell}
    index = flat_indices(pair)  # (B * N,)
    inside = index < pair.batch_shape.numel() * cells.shape[0] * cells.shape[1]
    at = torch.searchsorted(key, index).clamp(max=len(key) - 1)
    return {name: x[at].masked_fill(~inside, torch.nan).reshape(shape) for name, x in by_cell.items()}


@on_one_thread
def per_object(tables: ContingencyTables) -> GroupScores:
    """Values of each true object; of each predicted one with ``tables.mT``.

    Args:
        tables: contingency tables, ``(*batch, R, C)``, with ``absent_true`` and ``absent_pred`` as the background.

    Returns:
        ``(*batch, R)`` tensors by name: ``size`` (items of the whole object), ``missed`` (share of background
        on the other side among them), ``iou`` (largest intersection over union with an object of the other side),
        ``vi_bits`` (its share of ``vi_split_bits``, which these add up to; of ``vi_merge_bits`` with ``tables.mT``),
        ``best_match`` (the label of the object with that IoU, the first of equals; -1 or, for text, None where nothing
        overlaps). Rows without items have nan. ``match_positions`` has the columns of the matches.

    Example:
        >>> tables = tce.ContingencyTables.from_labels(
        ...     [0, 1, 1, 1, 2, 2], [0, 7, 7, 0, 7, 8], absent_true=0, absent_pred=0
        ... )
        >>> print(tce.per_object(tables))
        label  size  missed     iou  vi_bits  best_match
        1         3  0.3333  0.5000   0.0000           7
        2         2  0.0000  0.5000   0.5000           8
    """
    check_tables(tables)
    sizes = tables.whole_class_sizes
    items = tables._n_items_f64.unsqueeze(-1) * math.log(2)
    values = {
        "missed": tables.unmatched_by_class.double() / sizes,
        "iou": best_ious(tables),
        "vi_bits": tables.sum_by_class(lambda cell: cell.n * cell.surprisal_given_class) / items,
    }
    return _scores(tables, sizes, values, best_clusters(tables))
