"""Where a score comes from: values by class, by cluster and by item."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import Tensor

from torchclusteval import counting, labels
from torchclusteval.cells.quantities import CellQuantities, CellQuantity
from torchclusteval.common.formatting import format_number, text_table
from torchclusteval.common.optional import import_optional
from torchclusteval.labels.encoding import EncodingOptions
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.tables import ContingencyTables, check_tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupScores(Mapping[str, Tensor]):
    """Values by group: a mapping of names to ``(*batch, groups)`` float64 tensors, nan for empty groups."""

    values_by_name: Mapping[str, Tensor]  # (*batch, groups) float64 each; "best_match" int64
    labels: GroupLabels | None  # (groups,) or (*batch, groups): the label of each group
    match_labels: GroupLabels | None  # (other groups,) or (*batch, other groups): what "best_match" numbers

    def __getitem__(self, name: str) -> Tensor:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def to_dict(self) -> dict[str, Any]:
        """Names to nested lists."""
        return {name: value.tolist() for name, value in self.items()}

    def to_pandas(self) -> "pd.DataFrame":
        """One row a group of a single table, with its label as the index; needs pandas.

        Raises:
            ValueError: there is a batch.
        """
        pandas = import_optional("pandas", "pandas")

        return pandas.DataFrame({name: value.numpy(force=True) for name, value in self.items()}, index=self._single())

    def _single(self) -> list[Any]:
        sizes = self["size"]
        if sizes.dim() != 1:
            raise ValueError(f"expected the groups of one table; got a batch of shape {tuple(sizes.shape[:-1])}")
        return list(range(len(sizes))) if self.labels is None else self.labels.tolist()

    def __str__(self) -> str:
        if self["size"].dim() != 1:
            return f"GroupScores(batch_shape={tuple(self['size'].shape[:-1])}, names={', '.join(self)})"
        matches = self.match_labels
        shown = {name: [format_number(x) for x in value.tolist()] for name, value in self.items()}
        shown["size"] = [f"{x:.0f}" if x == int(x) else format_number(x) for x in self["size"].tolist()]
        best = self["best_match"].tolist()
        shown["best_match"] = [str(j if matches is None or j < 0 else matches.tolist()[j]) for j in best]
        rows = [[str(label), *cells] for label, *cells in zip(self._single(), *shown.values(), strict=True)]
        return text_table(["label", *shown], rows)

    __repr__ = __str__


def per_class(tables: ContingencyTables) -> GroupScores:
    """Values of each class.

    Args:
        tables: contingency tables, ``(*batch, R, C)``.

    Returns:
        ``(*batch, R)`` tensors by name: ``size``; ``purity`` (share of the class in its largest cluster),
        ``entropy`` (of the class over the clusters, nats), ``bcubed`` (mean BCubed recall of its items), ``best_f``
        (largest F with a cluster), ``best_match`` (int64, the column of that cluster; the lowest on ties, -1 for
        an empty class). Empty classes have nan.
    """
    check_tables(tables)
    return _per_row(tables)


def per_cluster(tables: ContingencyTables) -> GroupScores:
    """Values of each cluster, as :func:`per_class` with the sides exchanged (``bcubed`` is precision)."""
    check_tables(tables)
    return _per_row(tables.mT)


def _per_row(tables: ContingencyTables) -> GroupScores:
    sizes = tables.class_sizes_f64
    empty = sizes == 0
    best_f = tables.max_by_class(_f)
    values = {
        "purity": tables.max_by_class(lambda cell: cell.recall),
        "entropy": tables.sum_by_class(lambda cell: cell.recall * cell.surprisal_given_class),
        "bcubed": tables.sum_by_class(lambda cell: cell.recall * cell.recall),
        "best_f": best_f,
    }
    values = {name: value.masked_fill(empty, torch.nan) for name, value in values.items()}
    match = _first_column(tables, lambda cell: (_f(cell) == cell.at_classes(best_f)) & (cell.n > 0))
    named = {"size": sizes, **values, "best_match": match.masked_fill(empty, -1)}
    return GroupScores(named, tables.classes, tables.clusters)


def _f(cell: CellQuantities) -> Tensor:
    return 2 * cell.n / (cell.r + cell.c_nonzero)


def _first_column(tables: ContingencyTables, hit: CellQuantity) -> Tensor:
    """The lowest column of each row among the cells that are hit, ``(*batch, R)``."""
    columns = tables.shape[-1]
    # The largest distance from the end is the lowest column; distances are never negative.
    distances = torch.arange(columns, 0, -1, device=tables.device).expand(*tables.batch_shape, columns)
    return columns - tables.max_by_class(lambda cell: torch.where(hit(cell), cell.at_clusters(distances), 0))


def per_item(labels_true: Any, labels_pred: Any, **options: Unpack[EncodingOptions]) -> dict[str, Tensor]:
    """BCubed precision and recall of each item.

    Args:
        labels_true: ``(*batch, N)`` classes.
        labels_pred: ``(*batch, N)`` clusters.
        **options: those of ``ContingencyTables.from_labels``, but ``weights`` and ``layout``.

    Returns:
        ``precision`` (share of the item's cluster that is of its class) and ``recall`` (share of its class that is
        in its cluster), ``(*batch, N)`` float64, or ``(*batch, H, W)`` with ``item_dims=2``; nan for excluded
        items. Their means are BCubed precision and recall.

    Raises:
        ValueError: as ``ContingencyTables.from_labels``.
    """
    if options.get("weights") is not None:
        raise ValueError("weights: expected None, as items count once here; got weights")
    pair = labels.encode(labels_true, labels_pred, **options)
    cells = counting.count_sparse(pair)
    key = (cells.batch * cells.shape[0] + cells.row) * cells.shape[1] + cells.column
    sizes_true = cells.row_sizes().double().reshape(-1)[cells.row_key]
    sizes_pred = cells.column_sizes().double().reshape(-1)[cells.column_key]
    shape = (*pair.batch_shape, *(pair.item_shape or (pair.n_items,)))
    by_cell = {"precision": cells.values / sizes_pred, "recall": cells.values / sizes_true}
    if not len(key):
        return {name: torch.full(shape, torch.nan, dtype=torch.float64, device=pair.device) for name in by_cell}
    index = counting.flat_indices(pair)  # (B * N,)
    inside = index < pair.batch_shape.numel() * cells.shape[0] * cells.shape[1]
    at = torch.searchsorted(key, index).clamp(max=len(key) - 1)
    return {name: x[at].masked_fill(~inside, torch.nan).reshape(shape) for name, x in by_cell.items()}
