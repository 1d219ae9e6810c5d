"""Scores as the text that commands print: aligned columns, CSV, JSON."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torchclusteval.common.formatting import format_number, text_table
from torchclusteval.common.formatting import printable as printable
from torchclusteval.common.formatting import shorten as shorten

_GAP = 2  # spaces between columns
_MIN_NAME_WIDTH = 12


@dataclass(frozen=True)
class MatchedClass:
    """A class, the cluster that it is matched with, and how far they agree."""

    label: str | int
    cluster: str | int | None  # None: none
    iou: float


@dataclass(frozen=True, eq=False)
class Breakdown:
    """Rows of each clustering, such as its classes."""

    kind: str  # what a row is of: "class", "cluster"
    header: Sequence[str]  # names of the values after the label
    rows: Sequence[Sequence[Sequence[Any]]]  # of each clustering: label and values


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """One row a clustering, one column a measure."""

    names: Sequence[str]
    columns: Mapping[str, np.ndarray]  # (B,) float64 each
    n_items: int
    truth: str
    skipped: Mapping[str, str]  # measures that were not computed -> the reason
    matches: Sequence[Sequence[MatchedClass]] | None = None  # of each clustering, one a class
    breakdown: Breakdown | None = None

    def __post_init__(self) -> None:
        assert all(len(column) == len(self.names) for column in self.columns.values())

    def take(self, rows: np.ndarray) -> "ScoreTable":
        """The rows of these numbers, in this order."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        matches = None if self.matches is None else [self.matches[i] for i in rows]
        found = self.breakdown
        breakdown = None if found is None else replace(found, rows=[found.rows[i] for i in rows])
        names = [self.names[i] for i in rows]
        return replace(self, names=names, columns=columns, matches=matches, breakdown=breakdown)

    def as_table(self, width: int | None = None, form: str = "table") -> str:
        """Text for people, as :func:`tabulate` lays it out."""
        rows = [[printable(name)] for name in self.names]
        for column in self.columns.values():
            for row, value in zip(rows, column.tolist(), strict=True):
                row.append(format_number(value))
        text = tabulate(["clustering", *self.columns], rows, form, width)
        if self.breakdown is not None:
            named = [[printable(name), *map(_cell, row)] for name, row in self._breakdown_rows()]
            header = ["clustering", self.breakdown.kind, *self.breakdown.header]
            return text + "\n" + tabulate(header, named, form, width, pairs=True)
        if self.matches is None:
            return text
        matched = [
            [printable(name), printable(str(x.label)), printable(_shown(x.cluster)), format_number(x.iou)]
            for name, found in zip(self.names, self.matches, strict=True)
            for x in found
        ]
        return text + "\n" + tabulate(["clustering", "class", "cluster", "iou"], matched, form, width)

    def as_csv(self) -> str:
        """CSV with a header line; numbers in full, ``nan`` and ``inf`` as such; for each matched class two columns.

        Where there is a breakdown, it is that alone.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        if self.breakdown is not None:
            writer.writerow(["clustering", self.breakdown.kind, *self.breakdown.header])
            writer.writerows([name, *row] for name, row in self._breakdown_rows())
            return stream.getvalue()
        header = ["clustering", *self.columns]
        values: list[Sequence[Any]] = [self.names, *(column.tolist() for column in self.columns.values())]
        for found in zip(*(self.matches or ()), strict=True):
            header += [f"cluster of {found[0].label}", f"iou of {found[0].label}"]
            values += [[_shown(x.cluster) for x in found], [x.iou for x in found]]
        writer.writerow(header)
        writer.writerows(zip(*values, strict=True))
        return stream.getvalue()

    def as_json(self) -> str:
        """JSON; ``null`` for nan, ``"inf"`` for infinity."""
        values = {name: [json_value(x) for x in column.tolist()] for name, column in self.columns.items()}
        scores: list[dict[str, Any]] = [
            {"clustering": name, **{measure: column[i] for measure, column in values.items()}}
            for i, name in enumerate(self.names)
        ]
        for score, found in zip(scores, self.matches or (), strict=False):
            score["matching"] = [{"class": x.label, "cluster": x.cluster, "iou": json_value(x.iou)} for x in found]
        if self.breakdown is not None:
            names = [self.breakdown.kind, *self.breakdown.header]
            key = {"class": "classes", "cluster": "clusters"}[self.breakdown.kind]
            for score, rows in zip(scores, self.breakdown.rows, strict=True):
                score[key] = [dict(zip(names, map(_json_cell, row), strict=True)) for row in rows]
        result: dict[str, Any] = {"n_items": self.n_items, "truth": self.truth, "scores": scores}
        if self.skipped:
            result["skipped"] = dict(self.skipped)
        return json.dumps(result, indent=1, allow_nan=False) + "\n"

    def _breakdown_rows(self) -> Iterator[tuple[str, Sequence[Any]]]:
        if self.breakdown is not None:
            for name, rows in zip(self.names, self.breakdown.rows, strict=True):
                yield from ((name, row) for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return format_number(value)
    return "" if value is None else printable(str(value))


def _json_cell(value: Any) -> Any:
    return json_value(value) if isinstance(value, float) else value


def _shown(cluster: str | int | None) -> str:
    return "" if cluster is None else str(cluster)


def json_value(x: float) -> float | str | None:
    """A number as JSON has it: ``null`` for nan, text for infinity."""
    if math.isnan(x):
        return None
    return ("inf" if x > 0 else "-inf") if math.isinf(x) else x


def tabulate(
    header: Sequence[str], rows: Sequence[Sequence[str]], form: str, width: int | None, *, pairs: bool = False
) -> str:
    """A table: in Markdown where that is the form, else :func:`fit_pairs` or :func:`fit_to_width`."""
    if form != "markdown":
        return (fit_pairs if pairs else fit_to_width)(header, rows, width)
    sides = [":--", *[":--" if pairs else "--:"], *["--:"] * (len(header) - 2)][: len(header)]
    lines = [header, sides, *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def fit_to_width(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None, *, whole_names: bool = False
) -> str:
    """Aligned columns in lines of at most ``width``: headers are wrapped, then columns go to further blocks.

    The first column, which names the rows, begins every block; names longer than half of the width lose their middle,
    or with ``whole_names`` those that leave no room for a column.
    """
    plain = text_table(header, rows) + "\n"
    if width is None or max(map(len, plain.split("\n"))) <= width:
        return plain
    columns = [_wrap(head, [row[i] for row in rows]) for i, head in enumerate(header)][1:]
    widths = [max(map(len, (*head, *cells))) for head, cells in columns]
    name_width = max(_MIN_NAME_WIDTH, min(width if whole_names else width // 2, width - _GAP - max(widths, default=0)))
    names = [shorten(row[0], name_width) for row in rows]
    left = max(map(len, (header[0], *names)))
    blocks: list[list[int]] = [[]]
    used = left
    for i, needed in enumerate(widths):
        if blocks[-1] and used + _GAP + needed > width:
            blocks.append([])
            used = left
        blocks[-1].append(i)
        used += _GAP + needed
    return "\n".join(_column_block(header[0], names, [columns[i] for i in block]) for block in blocks)


def fit_pairs(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """As :func:`fit_to_width`, with the first two columns naming the rows."""
    left = max(len(row[0]) for row in (header, *rows))
    joined = [[row[0].ljust(left + _GAP) + row[1], *row[2:]] for row in (header, *rows)]
    return fit_to_width(joined[0], joined[1:], width)


def _column_block(corner: str, names: Sequence[str], columns: Sequence[tuple[list[str], list[str]]]) -> str:
    height = max((len(head) for head, _ in columns), default=1)
    heads = [[""] * (height - len(head)) + head for head, _ in columns]
    above = [["" if i + 1 < height else corner, *(head[i] for head in heads)] for i in range(height)]
    body = [[name, *(cells[i] for _, cells in columns)] for i, name in enumerate(names)]
    return text_table(above[0], [*above[1:], *body]) + "\n"


def _wrap(head: str, cells: list[str]) -> tuple[list[str], list[str]]:
    """A header in lines about as wide as the cells below it, broken after underscores."""
    pieces = head.replace("_", "_\0").split("\0")
    width = max(map(len, (*pieces, *cells)))
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return lines, cells
