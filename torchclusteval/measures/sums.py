"""Sums that add up over groups of items, the one rule for 0/0, and the weighted harmonic mean.

A measure computed from such sums reads them by functions with values kept on the tables
(:func:`~torchclusteval.common.lazy.cached_on_tables`), and names these functions in its record. The formula then takes
added-up sums in place of tables: ``tce.pooled`` adds the sums of groups and needs no second formula.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from torchclusteval.cells.layouts import CellsElsewhereError
from torchclusteval.cells.quantities import CellQuantity
from torchclusteval.common import kernels
from torchclusteval.common.checks import check_number
from torchclusteval.common.lazy import cached_on_tables, with_cached_values
from torchclusteval.common.numerics import at_most
from torchclusteval.tables import ContingencyTables, check_tables

Sum = Callable[[ContingencyTables], Any]  # a tensor (*batch,), or a tuple of them


class Sums:
    """Functions of tables whose values add up over groups of items: what the formula of a measure reads.

    Args:
        functions: made by ``cached_on_tables``, 0 for empty tables; ``(function, k)`` for one with ``k`` tensors.
    """

    def __init__(self, *functions: Sum | tuple[Sum, int]) -> None:
        self.widths = dict(x if isinstance(x, tuple) else (x, 0) for x in functions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sums) and self.widths == other.widths

    def __hash__(self) -> int:
        return hash(tuple(self.widths.items()))

    def __call__(self, tables: ContingencyTables) -> Tensor:
        """All sums, ``(*batch, k)`` float64."""
        values = [function(tables) for function in self.widths]
        flat = [part for x in values for part in (x if isinstance(x, tuple) else (x,))]
        return torch.stack([x.double() for x in flat], dim=-1)

    def added(self, sums: Tensor) -> Any:
        """A stand-in for tables, with these sums ``(*batch, k)`` and nothing else."""
        rest = iter(sums.unbind(-1))
        kept = {f: tuple(next(rest) for _ in range(k)) if k else next(rest) for f, k in self.widths.items()}
        return with_cached_values(AddedSums(sums.shape[:-1], sums.device), kept)


class AddedSums:
    """Sums over groups of items in place of tables.

    ``identical`` and ``empty`` are False at first; the caller that adds the sums knows and sets the true values.
    """

    is_integer = False
    _all_ordinary = False
    _launched = None

    def __init__(self, batch_shape: torch.Size, device: torch.device) -> None:
        self.batch_shape = batch_shape
        self.identical = self.empty = torch.zeros(batch_shape, dtype=torch.bool, device=device)
        self._memo: dict[Any, Any] = {}


class OneTable:
    """The sums of one ordinary table as Python numbers, in place of tables.

    A formula of nothing else gives the number that it has of tables, to the bit and in a third of the time.
    """

    is_integer = _all_ordinary = True
    identical = False

    def __init__(self, tables: ContingencyTables, numbers: dict[str, Any]) -> None:
        self.tables = tables
        self._launched = numbers
        self._memo: dict[Any, Any] = {}

    def number(self, of: Sum) -> Any:
        """The value of a function of the cells."""
        return of(self.tables).item()

    def sum(self, quantity: CellQuantity) -> Any:
        """As of tables."""
        return self.tables.sum(quantity).item()

    def __getattr__(self, name: str) -> Any:
        if name.lstrip("_") not in self._launched:
            raise CellsElsewhereError(f"tables: expected {name} among the sums of one table")
        return self._launched[name.lstrip("_")]


def value_of_sums(sums: Tensor, *, function: Callable[..., Tensor], of: Sums, **options: Any) -> Tensor:
    """The value of a measure from its sums ``(*batch, k)``; 0/0 has the value of different sides."""
    return function(of.added(sums), **options)


def whole(tables: ContingencyTables) -> ContingencyTables:
    """The tables; raise if their cells are weights or probabilities: only whole items can be paired or permuted."""
    if not isinstance(tables, OneTable):
        check_tables(tables)
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts, whose items can be permuted; got float64 masses")
    return tables


@cached_on_tables
def items(tables: ContingencyTables) -> Tensor:
    """Items, ``(*batch,)`` float64."""
    return tables._n_items_f64


def sizes_of_sides(tables: ContingencyTables) -> Tensor:
    """Sizes of the classes and of the clusters, ``(2, *batch, G)`` of their type; zeros fill the side with fewer."""
    sides = tables.class_sizes, tables.cluster_sizes
    most = max(x.shape[-1] for x in sides)
    return torch.stack([x if x.shape[-1] == most else pad(x, (0, most - x.shape[-1])) for x in sides])


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
        numerator, denominator: ``(*batch,)`` float64.
        tables: the tables, or the added-up sums, that both were computed from.
        undefined: ``(*batch,)`` bool; by default where the denominator is 0, which it must not be for ordinary
            tables (``ContingencyTables._all_ordinary``).
        identical: value for identical partitions; None where it depends on the partition.
        otherwise: value where undefined.
        maximum: upper end of the range, against rounding noise.
    """
    if isinstance(tables, OneTable):
        number: Any = otherwise if undefined else numerator / denominator
        return number if maximum is None else min(number, maximum)
    if tables._all_ordinary:  # neither empty nor identical
        value = numerator / denominator
        if maximum is not None and (value.dim() or value.item() > maximum):  # a look is quicker
            value = at_most(value, maximum)
        if undefined is None or not (undefined.dim() or undefined.item()):
            return value
        return torch.where(undefined, otherwise, value)
    other, rest = (0.0, otherwise) if isinstance(otherwise, Tensor) else (otherwise, None)
    parts = (numerator, denominator, tables.identical, tables.empty, undefined, rest)
    if tables._launched is not None and tables.device.type != "cpu":
        return _launch_ratio(tables, parts, same=identical, other=other, maximum=maximum)
    return _ratio_by_rule(*parts, same=identical, other=other, maximum=maximum)


def _launch_ratio(tables: ContingencyTables, parts: Sequence[Tensor | None], **numbers: float | None) -> Tensor:
    out = torch.empty(tables.batch_shape, dtype=torch.float64, device=tables.device)
    given = [x if x is None or x.shape == out.shape else x.expand(out.shape).clone() for x in parts]
    kernels.launch("ratio", out, *given, **numbers)
    return out


def ratio_by_torch(out: Tensor, *parts: Tensor | None, **numbers: Any) -> None:
    """Write a ratio, ``(*batch,)`` float64; arguments as those of ``_ratio_by_rule``."""
    out.copy_(_ratio_by_rule(*parts, **numbers))


def _ratio_by_rule(*parts: Any, same: float | None, other: float, maximum: float | None) -> Tensor:
    """The rule of :func:`ratio`: ``same`` for identical sides, ``other`` where the ratio is undefined.

    ``parts``, ``(*batch,)`` each: numerator and denominator, float64 or int64; whether the sides are identical, and
    whether there are no items; where it is undefined (None: where the denominator is 0), and values there in place of
    ``other``, or None.
    """
    numerator, denominator, identical, empty, undefined, otherwise = parts
    unknown = denominator == 0 if undefined is None else undefined
    if numerator.requires_grad or denominator.requires_grad:  # a gradient of 0/0 is nan even where the result is masked
        denominator = denominator.masked_fill(unknown | identical | empty, 1.0)
    value = numerator / denominator
    value = value if maximum is None else at_most(value, maximum)
    value = torch.where(unknown, other if otherwise is None else otherwise, value)
    value = value if same is None else value.masked_fill_(identical, same)
    return value.masked_fill_(empty, torch.nan)


def _sample(device: torch.device) -> kernels.Arguments:
    """Zeros, identical sides, an empty table, and a value above the maximum."""
    numbers = torch.tensor([[1, 2, 0, 0, 5], [3, 2, 0, 0, 4]], device=device).double()
    flags = torch.tensor([[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]], device=device).bool()
    out = torch.zeros(5, dtype=torch.float64, device=device)
    return [out, *numbers, *flags, None, None], {"same": 1.0, "other": 0.0, "maximum": 1.0}


kernels.define("ratio", "torchclusteval.measures.triton_ratio", ratio_by_torch, _sample)


def weighted_harmonic_mean(
    precision: Tensor, recall: Tensor, tables: ContingencyTables, alpha: float, *, positive: bool = True
) -> Tensor:
    """``1 / (alpha / precision + (1 - alpha) / recall)``; 0 where either is 0 and has a weight.

    ``positive``: whether neither can be 0 for ordinary tables.
    """
    check_number(alpha, "alpha", 0, 1)
    if alpha in (0, 1):
        return precision if alpha == 1 else recall
    denominator = (recall + precision) * 0.5 if alpha == 0.5 else alpha * recall + (1 - alpha) * precision
    undefined = None if positive else denominator == 0
    return ratio(precision * recall, denominator, tables, undefined=undefined)
