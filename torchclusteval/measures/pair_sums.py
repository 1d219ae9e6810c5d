"""Sums of the four numbers of pairs, and indices that are quotients of them.

SS, SD, DS and DD are the unordered pairs that both sides join, only the prediction, only the truth, and neither; M is
their sum. An index is the mean of a few quotients of such numbers: of a table, and of the sums over groups of items
that ``tce.pooled`` adds up.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from torchclusteval.cells.quantities import PairCounts
from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.common.numerics import at_most, sqrt_or_zero
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables


class PairSums:
    """Numbers of unordered pairs, ``(*batch,)`` float64 each, and sums of them."""

    def __init__(self, counts: PairCounts) -> None:
        self.ss, self.sd, self.ds, self.dd = counts
        self._memo: dict[str, Tensor] = {}

    @lazy_property
    def joined(self) -> Tensor:
        """By the prediction."""
        return self.ss + self.sd

    @lazy_property
    def wanted(self) -> Tensor:
        """Of one class."""
        return self.ss + self.ds

    @lazy_property
    def separated(self) -> Tensor:
        """By the prediction."""
        return self.ds + self.dd

    @lazy_property
    def unwanted(self) -> Tensor:
        """Of two classes."""
        return self.sd + self.dd

    @lazy_property
    def alike(self) -> Tensor:
        """That the sides treat alike."""
        return self.ss + self.dd

    @lazy_property
    def different(self) -> Tensor:
        """That they do not."""
        return self.sd + self.ds

    @lazy_property
    def every(self) -> Tensor:
        return self.joined + self.separated

    @lazy_property
    def determinant(self) -> Tensor:
        """``SS DD - SD DS``."""
        return self.ss * self.dd - self.sd * self.ds

    @lazy_property
    def products(self) -> tuple[Tensor, Tensor]:
        """Pairs that the prediction joins times those that it does not, and the same of the classes."""
        return self.joined * self.separated, self.wanted * self.unwanted

    @lazy_property
    def root_of_products(self) -> Tensor:
        """The square root of each product alone: both together would overflow near 1e20 items."""
        clusters, classes = self.products
        return sqrt_or_zero(clusters) * sqrt_or_zero(classes)


Quotients = tuple[tuple[Tensor, Tensor], ...]  # numerators and denominators
Formula = Callable[[PairSums], Quotients]


@cached_on_tables
def sums_of(tables: ContingencyTables) -> PairSums:
    return PairSums(tables.pairs)


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
        ordinary: whether no denominator is 0 for ordinary tables (``ContingencyTables._all_ordinary``).
    """
    values = []
    for numerator, denominator in formula(sums_of(tables)):
        undefined = None if ordinary else denominator == 0
        values.append(ratio(numerator, denominator, tables, undefined=undefined, identical=identical, maximum=maximum))
    return _mean(values)


def from_sums(sums: Tensor, formula: Formula, maximum: float | None = None) -> Tensor:
    """The index of pair counts ``(*batch, 4)``; nan where it is 0/0, but one of several quotients counts 0 there."""
    quotients = formula(PairSums(PairCounts(*sums.unbind(-1))))
    undefined = torch.nan if len(quotients) == 1 else 0.0
    values = []
    for numerator, denominator in quotients:
        zero = denominator == 0
        values.append((numerator / denominator.masked_fill(zero, 1.0)).masked_fill(zero, undefined))
    value = _mean(values)
    return value if maximum is None else at_most(value, maximum)


def _mean(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else sum(values[1:], start=values[0]) / len(values)
