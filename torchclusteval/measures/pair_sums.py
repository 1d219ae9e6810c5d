"""Sums of the four numbers of pairs, and indices that are quotients of them.

SS, SD, DS and DD are the unordered pairs that both sides join, only the prediction, only the truth, and neither; M is
their sum. An index is the mean of a few quotients of such numbers: of a table, and of the sums over groups of items
that ``tce.pooled`` adds up.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from torchclusteval.cells.quantities import PairCounts
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_most
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables


class PairSums(NamedTuple):
    """Numbers of unordered pairs, ``(*batch,)`` float64 each."""

    ss: Tensor
    sd: Tensor
    ds: Tensor
    dd: Tensor
    joined: Tensor  # by the prediction
    wanted: Tensor  # of one class
    separated: Tensor  # by the prediction
    unwanted: Tensor  # of two classes
    alike: Tensor  # that the sides treat alike
    different: Tensor  # that they do not
    every: Tensor
    determinant: Tensor  # SS DD - SD DS


Quotients = tuple[tuple[Tensor, Tensor], ...]  # numerators and denominators
Formula = Callable[[PairSums], Quotients]


def _sums(counts: PairCounts) -> PairSums:
    ss, sd, ds, dd = counts
    alike, different = ss + dd, sd + ds
    margins = ss + sd, ss + ds, ds + dd, sd + dd
    return PairSums(*counts, *margins, alike, different, alike + different, ss * dd - sd * ds)


@cached_on_tables
def sums_of(tables: ContingencyTables) -> PairSums:
    return _sums(tables.pairs)


def index(
    tables: ContingencyTables,
    formula: Formula,
    *,
    identical: float | None = 1.0,
    maximum: float | None = None,
    ordinary: bool = True,
) -> Tensor:
    """The value of an index under the package's rule for 0/0, which is applied to each of its quotients.

    Args:
        tables: the tables.
        formula: the index.
        identical: its value for identical partitions; None where it depends on the partition.
        maximum: upper end of its range, against rounding noise.
        ordinary: whether no denominator is 0 for ordinary tables (``ContingencyTables.all_ordinary``).
    """
    values = []
    for numerator, denominator in formula(sums_of(tables)):
        undefined = None if ordinary else denominator == 0
        values.append(ratio(numerator, denominator, tables, undefined=undefined, identical=identical, maximum=maximum))
    return _mean(values)


def from_sums(sums: Tensor, formula: Formula, maximum: float | None = None) -> Tensor:
    """The index of pair counts ``(*batch, 4)``; nan where it is 0/0, but one of several quotients counts 0 there."""
    quotients = formula(_sums(PairCounts(*sums.unbind(-1))))
    undefined = torch.nan if len(quotients) == 1 else 0.0
    values = []
    for numerator, denominator in quotients:
        zero = denominator == 0
        values.append((numerator / denominator.masked_fill(zero, 1.0)).masked_fill(zero, undefined))
    value = _mean(values)
    return value if maximum is None else at_most(value, maximum)


def _mean(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else sum(values[1:], start=values[0]) / len(values)
