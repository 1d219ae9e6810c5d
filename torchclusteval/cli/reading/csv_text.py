"""Text with one item a line and cells between delimiters -> rows, or numbers where there is nothing else."""

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from torchclusteval.cli.reading.cell_text import is_number, looks_like_label


def records(stream: io.StringIO, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV, each with the line that it ends on."""
    reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        got = f"{error} (is a quote left open?)"
        raise ValueError(f"{path}: line {reader.line_num}: expected CSV; got {got}") from None


def find_delimiter(text: str) -> str:
    """What divides the first two lines into the same number of cells, as many as possible."""
    end = text.find("\n", text.find("\n", len(text) - len(text.lstrip("\n"))) + 1)
    head = text if end < 0 else text[:end]
    best, most = "", 1
    for delimiter in ("\t", ",", ";", "|", " "):
        try:
            first, *others = [row for _, row in records(io.StringIO(head), delimiter, "") if row]
        except ValueError:
            continue
        fits = not others or len(others[0]) == len(first)
        if delimiter == " ":  # text has spaces too
            fits = fits and bool(others) and all(map(is_number, others[0]))
        if fits and len(first) > most:
            best, most = delimiter, len(first)
    if best:
        return best
    line = head.lstrip("\n").split("\n", 1)[0]
    return max(("\t", ",", ";"), key=lambda delimiter: (line.count(delimiter), delimiter == ","))


def first_row(text: str, path: str, delimiter: str) -> list[str]:
    """The cells of the first row that is not blank."""
    row = next(row for _, row in records(io.StringIO(text), delimiter, path) if row)
    return [cell.strip() for cell in row]


def check_names(names: Sequence[str], path: str) -> None:
    """Raise where a column has no name, or the name of another."""
    for place, name in enumerate(names):
        if not name and place > 0:
            raise ValueError(f"{path}: header: expected a name for every column; column {place + 1} has none")
        if name in names[:place]:
            first = names.index(name) + 1
            raise ValueError(f"{path}: header: expected different names; columns {first} and {place + 1} are {name!r}")


def read_numbers(text: str, delimiter: str, header: bool, width: int) -> np.ndarray | None:
    """The cells as whole numbers ``(N, C)``, or None where something in the file needs a closer look."""
    stream = io.StringIO(text)
    if header and not next(csv.reader(stream, delimiter=delimiter)):  # blank lines above
        return None
    start = stream.tell()
    body = text[start:].rstrip("\n")
    if not body or text[:start].count("\n") != int(header):  # a header of several lines
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy reads 1.5 as 1, and warns
            found = np.loadtxt(stream, np.int64, comments=None, delimiter=delimiter, ndmin=2, quotechar='"')
    except (ValueError, OverflowError, Warning):
        return None
    return found if found.shape == (body.count("\n") + 1, width) else None


def column_text(text: str, delimiter: str, place: int) -> np.ndarray:
    """The text of one column of what :func:`read_numbers` reads below a header, ``(N,)``."""
    options: Any = {"comments": None, "delimiter": delimiter, "quotechar": '"'}
    return np.char.strip(np.loadtxt(io.StringIO(text), str, skiprows=1, usecols=place, ndmin=1, **options))


def read_rows(text: str, path: str, delimiter: str, width: int) -> tuple[list[int], list[list[str]]]:
    """Every row with the line it ends on; blank lines at the end are left out."""
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, row in records(io.StringIO(text), delimiter, path):
        if row or rows:
            lines.append(line)
            rows.append(row or [""])
    while rows and not any(cell.strip() for cell in rows[-1]):
        del rows[-1], lines[-1]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            got = "an empty line" if row == [""] else str(len(row))
            raise ValueError(f"{path}: line {line}: expected {width} cells, as in the first line; got {got}")
    return lines, rows


def looks_like_header(rows: Sequence[Sequence[str]], path: str) -> bool:
    """Whether the first row names columns that need no names; see :func:`files.read_labels`."""
    below = [set(column[1:]) for column in zip(*rows, strict=True)]
    if all(map(is_number, set().union(*below))):
        return not all(map(looks_like_label, rows[0]))
    is_list = path.removesuffix(".gz").lower().endswith(".txt")
    recurs = any(cell in cells for cell, cells in zip(rows[0], below, strict=True))
    return not (is_list or recurs or any(map(looks_like_label, rows[0])))
