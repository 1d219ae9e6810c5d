"""Shared by several studies: the interface of a study module, averages, parts of figures."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

Row = dict[str, Any]
"""A row of a CSV file."""


class StudyModule(Protocol):
    """The functions of a study's module."""

    def run(self, *args: Any, **options: Any) -> Any:
        """Compute the study. ``torchclusteval.studies`` lists the options; all have defaults."""

    def report(self, result: Any) -> str:
        """The results next to the numbers of the paper."""

    def rows(self, result: Any) -> list[Row]:
        """The rows of the CSV file."""

    def plot(self, result: Any, path: str | Path) -> None:
        """Draw all figures on one sheet, in the format of the suffix; needs matplotlib."""


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


def averages(configurations: Iterable[Mapping[str, Any]], columns: Sequence[str], records: Tensor) -> list[Row]:
    """Rows of averages over ``(configurations, iterations, columns)`` records, one per configuration and column."""
    return [
        {**configuration, "measure": column, "mean": mean(values), "standard_error": standard_error(values)}
        for configuration, of_sets in zip(configurations, records, strict=True)
        for column, values in zip(columns, of_sets.T, strict=True)
    ]


def draw_heat_map(
    axis: Any, cells: Sequence[Sequence[tuple[float, str]]], rows: Sequence[str], columns: Sequence[str], title: str
) -> None:
    """Draw a cell for each share, coloured by its value from 0 to 1 and with a text inside."""
    axis.set_title(title, fontsize=10)
    axis.imshow([[share for share, _ in row] for row in cells], cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(labelsize=8)
    for i, row in enumerate(cells):
        for j, (_, text) in enumerate(row):
            axis.text(j, i, text, ha="center", va="center", fontsize=8)
