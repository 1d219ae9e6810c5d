"""How a text file divides its rows into cells: what separates them, the header, the names of rows."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from torchclusteval.cli.options import print_note
from torchclusteval.labels.spelled import SPELLINGS, is_number

_DELIMITERS = "\t,;| "
_MAX_ROWS = 200  # rows that are examined
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file."""

    delimiter: str
    names: tuple[str, ...]  # of all cells of a row; "" for row names without a name
    body: int  # the byte at which the rows begin, after the header
    first_line: int  # its line, from 1
    ends_in_delimiter: bool  # every line ends with one: a last cell that is always empty
    has_unnamed_cell: bool  # rows have one cell more than the header
    sample: tuple[tuple[str, ...], ...]  # the first rows below the header

    @property
    def width(self) -> int:
        """Cells in a row."""
        return len(self.names) + self.ends_in_delimiter

    @property
    def has_row_names(self) -> bool:
        return self.names[:1] == ("",)


def rows_of(lines: Iterator[str] | Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV, each with the line on which it ends."""
    csv.field_size_limit(1 << 30)
    reader = csv.reader(lines, delimiter=delimiter)
    for row in reader:
        yield reader.line_num, row


def find_dialect(head: str, path: str, header: str, complete: bool) -> Dialect:
    """The dialect of a file from its first lines (``complete``: from all).

    ``header``: ``"yes"``, ``"no"``, or ``"auto"``, which is yes unless the first row holds only numbers.
    """
    lines = _LINE.findall(head)
    skipped = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    marked = re.fullmatch(r'"?sep=(.)"?', lines[skipped].strip("\r\n")) if skipped < len(lines) else None
    skipped += marked is not None
    kept = lines[skipped:] if complete or len(lines) < skipped + 3 else lines[skipped:-1]
    if not kept:
        raise ValueError(f"{path}: expected rows of labels below the header; got none")
    delimiter = _delimiter(kept) if marked is None else marked[1]
    rows = _head_rows(kept, delimiter)
    (header_end, first), below = rows[0], [row for _, row in rows[1:]]
    names = [cell.strip() for cell in first]
    counted = [*map(str, range(len(names)))]
    numbers = header == "auto" and names != ["", *counted[:-1]] and all(is_number(x) or x in SPELLINGS for x in names)
    if header == "no" or numbers:
        if numbers and len(names) > 1 and names == counted:
            print_note(f"note: {path}: the first line, {','.join(names)}, is taken as labels; otherwise: --header yes")
        header_end, below = 0, [first, *below]
        names = [str(i) for i in range(len(first))]
    ends_in_delimiter, names = _last_cell(names, below, header_end > 0)
    _check_names(names, path, delimiter)
    start = skipped + header_end
    body = sum(len(line.encode("utf-8", "surrogateescape")) for line in lines[:start])
    has_unnamed_cell = len(names) + ends_in_delimiter > len(first)
    sample = tuple(tuple(row) for row in below)
    return Dialect(delimiter, tuple(names), body, start + 1, ends_in_delimiter, has_unnamed_cell, sample)


def _last_cell(names: list[str], below: list[list[str]], has_header: bool) -> tuple[bool, list[str]]:
    """Whether rows end with an empty cell, and the names of the other cells; "" for row names without a name."""
    filled = [row for row in below if len(row) > 1]
    empty_last = bool(filled) and all(not row[-1].strip() for row in filled)
    width = len(names)
    if has_header and width > 1 and not names[-1] and (empty_last or not filled):
        return True, names[:-1]
    if filled and all(len(row) == width + 1 for row in filled) and has_header:
        return (True, names) if empty_last else (False, ["", *names])
    if not has_header and empty_last:
        return True, names[:-1]
    return False, names


def _head_rows(lines: Sequence[str], delimiter: str) -> list[tuple[int, list[str]]]:
    rows = [*islice(rows_of(lines, delimiter), _MAX_ROWS + 1)]
    while len(rows) > 1 and not any(cell.strip() for cell in rows[-1][1]):
        del rows[-1]
    return rows


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter that divides all of the first rows into the same, largest number of cells; else a comma."""
    best, most = ",", (0.0, 1.0)
    for delimiter in _DELIMITERS:
        if not any(delimiter in line for line in lines[: _MAX_ROWS + 1]):
            continue
        header, *below = (row for _, row in _head_rows(lines, delimiter))
        width = len(header)
        if not below:
            fit: tuple[float, float] = (1.0, width)
        elif width > 1:
            close = sum(len(row) in (width, width + 1) for row in below) / len(below)
            same = max(sum(len(row) == n for row in below) for n in (width, width + 1)) == len(below)
            fit = (1.0 if same else close / 2, width)
        else:
            # Names of rows next to one column; a delimiter that the header has too is likelier.
            fit = (1.0 if all(len(row) == 2 for row in below) else 0.0, 1.5)
        if delimiter == " " and not _is_blank_separated(header, below):
            continue
        if fit[0] > 0 and fit > most and fit[1] > 1:
            best, most = delimiter, fit
    return best


def _is_blank_separated(header: list[str], below: list[list[str]]) -> bool:
    """Whether blanks divide cells, not words: the header has one cell less, or a column holds numbers."""
    if not below or any(len(row) != len(below[0]) for row in below) or len(below[0]) < 2:
        return False
    if len(header) == len(below[0]) - 1 and len(header) > 1:
        return True
    columns = [[cell for cell in column if cell not in SPELLINGS] for column in zip(*below, strict=True)]
    return any(column and all(map(is_number, column)) for column in columns)


def _check_names(names: Sequence[str], path: str, delimiter: str) -> None:
    """Raise for a column without a name, or with the name of another."""
    known: dict[str, int] = {}
    for place, name in enumerate(names):
        if not name and place > 0:
            hint = " (several blanks in a row? tr -s ' ' makes them one)" if delimiter == " " else ""
            raise ValueError(f"{path}: header: expected a name for every column; got none for column {place + 1}{hint}")
        if name in known:
            first = known[name] + 1
            raise ValueError(f"{path}: header: expected different names; got {name!r} in columns {first}, {place + 1}")
        known[name] = place
