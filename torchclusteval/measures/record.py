"""The record of a measure: its function and the facts about it, each held true by a test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor


@dataclass(frozen=True)
class Measure:
    """A measure and the facts about it; call it on tables.

    A user's own measure is such a record, passed wherever names of measures are taken.
    """

    name: str
    family: Literal["entropy", "pairs", "matching", "bcubed", "overlap"]
    function: Callable[..., Tensor]
    range: tuple[float, float]
    better: Literal["higher", "lower"] | None = "higher"
    perfect: float | None = None  # value for identical partitions; None: depends on the partition
    swapped: str | None = None  # what it becomes when the sides trade places; None: no partner
    source: str = ""  # a key of REFERENCES
    chance_corrected: bool = False  # its mean over all permutations of one side is 0
    integer_only: bool = False  # defined by permutations of items, so not on float tables
    on_host: bool = False  # needs a host synchronisation

    def __call__(self, *tables: Any) -> Tensor:
        return self.function(*tables)
