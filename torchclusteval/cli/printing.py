"""The one renderer of tables: named columns and rows of values as aligned text, Markdown, CSV or JSON."""

import argparse
import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchclusteval.cli.options import table_width
from torchclusteval.common.formatting import format_number, printable, shorten, text_table

_GAP = "  "  # between columns
_MIN_NAME_WIDTH = 12


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values, in the order of the columns or by their names; a cell that a row lacks is blank."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any] | Sequence[Any]]
    named: int = 1  # columns that name the rows, the first ones
    number: Callable[[float], str] = format_number  # floats as text for people

    def cells(self) -> list[list[Any]]:
        """The values of all rows in the order of the columns."""
        return [
            [row.get(name, "") for name in self.columns] if isinstance(row, Mapping) else [*row] for row in self.rows
        ]


def render(
    arguments: argparse.Namespace,
    tables: Mapping[str, Table],
    head: Mapping[str, Any],
    title: str = "",
    csv_table: Table | None = None,
) -> str:
    """Tables in the format asked for.

    JSON has ``head``, then the tables by key; text the line ``title`` above them; CSV ``csv_table``, or the last table.
    """
    if arguments.format == "json":
        return as_json({**head, **{key: table.rows for key, table in tables.items()}})
    if arguments.format == "csv":
        return as_csv(csv_table or [*tables.values()][-1])
    width = table_width(arguments.output)
    shown = [as_text(x, width, arguments.format) for x in tables.values()]
    return "\n".join([f"{title}\n", *shown] if title else shown)


def as_json(value: Any) -> str:
    """JSON; ``null`` for nan, ``"inf"`` for infinity."""
    return json.dumps(_plain(value), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def as_csv(table: Table) -> str:
    """CSV with a header line; numbers in full, ``nan`` and ``inf`` as such."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.cells())
    return stream.getvalue()


def as_text(table: Table, width: int | None = None, form: str = "table", *, whole_names: bool = False) -> str:
    """Text for people, in lines of at most ``width`` characters, or Markdown.

    Headers are wrapped, then further columns go below, with the names of the rows again. Names longer than half of
    the width lose their middle; with ``whole_names`` only if no column would fit.
    """
    lines = [[*map(printable, table.columns)]]
    lines += [[_cell(value, table.number) for value in row] for row in table.cells()]
    if form == "markdown":
        lines.insert(1, [":--" if i < table.named else "--:" for i in range(len(table.columns))])
        return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[: table.named - 1]]
    header, *rows = (
        [_GAP.join([*map(str.ljust, line, widths), line[table.named - 1]]), *line[table.named :]] for line in lines
    )
    return _fit(header, rows, width, whole_names)


def _cell(value: Any, number: Callable[[float], str]) -> str:
    if isinstance(value, float):
        return number(value)
    return "" if value is None else printable(str(value))


def _fit(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, whole_names: bool) -> str:
    plain = text_table(header, rows) + "\n"
    if width is None or max(map(len, plain.split("\n"))) <= width:
        return plain
    columns = [_wrap(head, [row[i] for row in rows]) for i, head in enumerate(header)][1:]
    widths = [len(_GAP) + max(map(len, (*head, *cells))) for head, cells in columns]
    name_width = max(_MIN_NAME_WIDTH, min(width if whole_names else width // 2, width - max(widths, default=0)))
    names = [shorten(row[0], name_width) for row in rows]
    left = max(map(len, (header[0], *names)))
    blocks: list[list[int]] = [[]]
    used = left
    for i, needed in enumerate(widths):
        if blocks[-1] and used + needed > width:
            blocks.append([])
            used = left
        blocks[-1].append(i)
        used += needed
    return "\n".join(_column_block(header[0], names, [columns[i] for i in block]) for block in blocks)


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
