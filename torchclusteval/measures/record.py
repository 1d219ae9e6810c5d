"""The record of a measure: its function and the facts about it, each held true by a test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor


@dataclass(frozen=True)
class Measure:
    """A measure and the facts about it; call it on tables.

    A user's own measure is such a record, passed wherever names of measures are taken.

    Args:
        name: the key of its scores.
        family: which measures it is listed and selected with.
        function: of tables with batch shape ``(*batch,)``; returns ``(*batch,)`` float64.
        range: least and largest value.
        better: which direction is better; None: neither.
        perfect: value for identical partitions; None: it depends on the partition.
        swapped: the measure that it becomes when classes and clusters are exchanged, its own name if it is symmetric;
            None: no measure of the registry.
        source: a key of ``REFERENCES``.
        chance_corrected: whether its mean over all permutations of one side is 0.
        integer_only: whether it is defined by permutations of items, and so not on float tables.
        on_host: whether it synchronises with the device.
        linear_in: in what it is linear as long as the sizes of both sides are fixed, which gives its exact mean over
            permutations: the item pairs that both sides join (``"pairs"``), the mutual information
            (``"information"``), nothing, as it depends on the sizes alone (``"sizes"``), or the squares of the cells
            (``"squares"``, measures of the registry only); None: in none of these.
        metric: whether it is a metric on the partitions of the same items.
        combines: what it is for two sets of items that share neither classes nor clusters: the ``"sum"`` of both
            values, or their ``"mean"`` weighted by the numbers of items; None: neither.
        batch_terms: functions that the measure uses and that keep their values on the tables
            (:func:`~torchclusteval.common.lazy.cached_on_tables`), cheapest for all tables at once: a batch that is
            evaluated in chunks computes them before.
    """

    name: str
    family: Literal["entropy", "pairs", "matching", "bcubed", "overlap"]
    function: Callable[..., Tensor]
    range: tuple[float, float]
    better: Literal["higher", "lower"] | None = "higher"
    perfect: float | None = None
    swapped: str | None = None
    source: str = ""
    chance_corrected: bool = False
    integer_only: bool = False
    on_host: bool = False
    linear_in: Literal["pairs", "information", "sizes", "squares"] | None = None
    metric: bool = False
    combines: Literal["sum", "mean"] | None = None
    batch_terms: tuple[Callable[..., Tensor], ...] = ()

    def __call__(self, *tables: Any) -> Tensor:
        return self.function(*tables)
