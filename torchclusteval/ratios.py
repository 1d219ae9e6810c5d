"""The one rule for 0/0, over tables, and the weighted harmonic mean."""

import torch
from torch import Tensor

from torchclusteval.checks import check_number
from torchclusteval.tables import ContingencyTables


def ratio(
    numerator: Tensor,
    denominator: Tensor,
    tables: ContingencyTables,
    *,
    undefined: Tensor | None = None,
    identical: float | None = 1.0,
    otherwise: float | Tensor = 0.0,
    most: float | None = None,
) -> Tensor:
    """``numerator / denominator`` under the package's one rule for degenerate tables.

    Where the two partitions are the same the value is ``identical`` (exactly, and for 0/0 too); else where it is
    undefined, ``otherwise``; without items, nan.

    Args:
        numerator: ``(*batch,)`` float64.
        denominator: ``(*batch,)`` float64.
        tables: the tables that both were computed from.
        undefined: ``(*batch,)`` bool, from integer facts; by default where the denominator is 0, which is such a
            fact for denominators that are made of counts.
        identical: value for identical partitions; None where it depends on the partition.
        otherwise: value where undefined.
        most: upper end of the range, against rounding noise.
    """
    if undefined is None:
        undefined = denominator == 0
    settled = tables.empty if identical is None else tables.settled
    undefined = undefined | settled
    value = numerator / denominator.masked_fill(undefined, 1.0)
    if most is not None:
        value = value.clamp(max=most)
    return torch.where(undefined, _fixed_value(tables, identical, otherwise), value)


def _fixed_value(tables: ContingencyTables, identical: float | None, otherwise: float | Tensor) -> Tensor:
    """What a ratio is where it is not computed; shared between measures of one rule."""
    key = ("fixed value", identical, otherwise)
    kept = tables._memo.get(key) if isinstance(otherwise, float) else None
    if kept is None:
        kept = tables.items.new_full((), otherwise) if isinstance(otherwise, float) else otherwise
        kept = kept.expand(tables.batch_shape)
        if identical is not None:
            kept = kept.masked_fill(tables.identical, identical)
        kept = kept.masked_fill(tables.empty, torch.nan)
        if isinstance(otherwise, float):
            tables._memo[key] = kept
    return kept


def harmonic(precision: Tensor, recall: Tensor, tables: ContingencyTables, alpha: float) -> Tensor:
    """``1 / (alpha / precision + (1 - alpha) / recall)``; 0 where one of them is 0 and counts.

    Args:
        precision: ``(*batch,)`` float64, of weight ``alpha``.
        recall: ``(*batch,)`` float64.
        tables: the tables that both were computed from.
        alpha: 0 to 1; 1 gives precision, 0 recall.
    """
    check_number(alpha, "alpha", 0, 1)
    if alpha in (0, 1):
        return precision if alpha == 1 else recall
    return ratio(precision * recall, alpha * recall + (1 - alpha) * precision, tables)
