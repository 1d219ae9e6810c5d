"""The one rule for 0/0, over tables, and the weighted harmonic mean."""

import torch
from torch import Tensor

from torchclusteval.common.checks import check_number
from torchclusteval.common.numerics import at_most
from torchclusteval.tables import ContingencyTables


def ratio(
    numerator: Tensor,
    denominator: Tensor,
    tables: ContingencyTables,
    *,
    undefined: Tensor | None = None,
    identical: float | None = 1.0,
    otherwise: float | Tensor = 0.0,
    maximum: float | None = None,
) -> Tensor:
    """``numerator / denominator`` under the package's one rule for degenerate tables.

    Where the two partitions are the same the value is ``identical`` (exactly, and for 0/0 too); else where it is
    undefined, ``otherwise``; without items, nan.

    Args:
        numerator: ``(*batch,)`` float64.
        denominator: ``(*batch,)`` float64.
        tables: the tables that both were computed from.
        undefined: ``(*batch,)`` bool; by default where the denominator is 0, which it must not be for ordinary
            tables (``ContingencyTables._all_ordinary``).
        identical: value for identical partitions; None where it depends on the partition.
        otherwise: value where undefined.
        maximum: upper end of the range, against rounding noise.
    """
    if tables._all_ordinary:  # neither empty nor identical
        value = _divide(numerator, denominator, maximum)
        return value if undefined is None else torch.where(undefined, otherwise, value)
    is_fixed = tables.empty if identical is None else tables.identical | tables.empty
    undefined = (denominator == 0 if undefined is None else undefined) | is_fixed
    if not tables.is_integer:  # a gradient of 0/0 is nan even where the result is masked
        denominator = denominator.masked_fill(undefined, 1.0)
    value = _divide(numerator, denominator, maximum)
    return torch.where(undefined, _fixed_value(tables, identical, otherwise), value)


def _divide(numerator: Tensor, denominator: Tensor, maximum: float | None) -> Tensor:
    value = numerator / denominator
    return value if maximum is None else at_most(value, maximum)


def _fixed_value(tables: ContingencyTables, identical: float | None, otherwise: float | Tensor) -> Tensor:
    """What a ratio is where it is not computed; shared between measures of one rule."""
    if isinstance(otherwise, Tensor):
        return _by_rule(tables, identical, otherwise)
    key = ("fixed value", identical, otherwise)
    if key not in tables._memo:
        value = tables._n_items_f64.new_full((), otherwise).expand(tables.batch_shape)
        tables._memo[key] = _by_rule(tables, None if identical == otherwise else identical, value)
    kept: Tensor = tables._memo[key]
    return kept


def _by_rule(tables: ContingencyTables, identical: float | None, otherwise: Tensor) -> Tensor:
    value = otherwise if identical is None else otherwise.masked_fill(tables.identical, identical)
    return value.masked_fill(tables.empty, torch.nan)


def weighted_harmonic_mean(
    precision: Tensor, recall: Tensor, tables: ContingencyTables, alpha: float, *, positive: bool = True
) -> Tensor:
    """``1 / (alpha / precision + (1 - alpha) / recall)``; 0 where one of them is 0 and counts.

    Args:
        precision: ``(*batch,)`` float64, of weight ``alpha``.
        recall: ``(*batch,)`` float64.
        tables: the tables that both were computed from.
        alpha: 0 to 1; 1 gives precision, 0 recall.
        positive: whether neither can be 0 for ordinary tables.
    """
    check_number(alpha, "alpha", 0, 1)
    if alpha in (0, 1):
        return precision if alpha == 1 else recall
    denominator = alpha * recall + (1 - alpha) * precision
    undefined = None if positive else denominator == 0
    return ratio(precision * recall, denominator, tables, undefined=undefined)
