"""What several studies share: the functions that a study module has, presets, claims, averages, heat maps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import Tensor

T = TypeVar("T")

Row = dict[str, Any]
"""A row of a CSV file."""


class StudyModule(Protocol):
    """The functions of a study's module."""

    def run(self, *args: Any, **options: Any) -> Any:
        """Compute the study. Every option has a default.

        Raises:
            ValueError: an option has a wrong value.
        """

    def report(self, result: Any) -> str:
        """The results beside what the paper prints."""

    def rows(self, result: Any) -> list[Row]:
        """The rows of the CSV file."""

    def plot(self, result: Any, path: str | Path) -> None:
        """Draw the figures on one sheet, in the format of the path's suffix.

        Raises:
            ImportError: matplotlib, or SciPy where a figure needs it, is not installed.
        """


@dataclass(frozen=True)
class Preset(Generic[T]):
    """A named reading of a paper."""

    settings: T
    meaning: str


@dataclass(frozen=True)
class Claim:
    """A statement of a paper; ``holds`` is None where the run does not tell."""

    text: str
    holds: bool | None
    detail: str = ""


def mean(values: Tensor) -> float:
    """Average of ``(n,)`` values, correctly rounded."""
    return math.fsum(values.tolist()) / len(values)


def standard_error(values: Tensor) -> float:
    """Standard error of :func:`mean`; nan for a single value."""
    if len(values) < 2:
        return math.nan
    center = mean(values)
    squares = math.fsum((value - center) ** 2 for value in values.tolist())
    return math.sqrt(squares / (len(values) - 1) / len(values))


def draw_heat_map(
    axis: Any,
    shares: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    fontsize: float,
) -> None:
    """Colour a cell for each share from 0 to 1, with a text in it."""
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            axis.text(j, i, text, ha="center", va="center", fontsize=fontsize)
