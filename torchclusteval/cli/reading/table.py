"""What all kinds of files look like to the commands: named columns whose labels come in blocks of rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from torchclusteval.cli.reading.columns import SPELLINGS, Array, BadLabelError, Column, ReadAsTextError
from torchclusteval.common.progress import Progress

_MAX_RESTARTS = 3  # after these many, all columns are read as text


@dataclass(frozen=True)
class ReadOptions:
    """How files are read."""

    header: str = "auto"  # "yes", "no" or "auto"
    delimiter: str | None = None
    missing: frozenset[str] = frozenset(SPELLINGS)  # spellings of missing labels in text files
    id_column: str | None = None  # whose cells are the names of rows


@dataclass(frozen=True)
class Part:
    """The part of a file that one of several processes reads."""

    rank: int = 0
    ranks: int = 1
    by_bytes: bool = True  # text by ranges of bytes, where that can be


WHOLE = Part()


class Table(Protocol):
    """A file of labels."""

    path: str
    names: list[str]  # columns, without those that hold names of rows
    row_names: str | None  # the column of the names of rows
    missing: frozenset[str]

    def guess_text(self, names: Sequence[str]) -> set[str]:
        """Columns that surely are no whole numbers."""

    def blocks(self, columns: Sequence[Column], part: Part, progress: Progress | None) -> Iterator[list[Array]]:
        """Raw codes of the columns, int64, block by block.

        Raises:
            ReadAsTextError: a column that was taken for whole numbers is none.
            ValueError: the file is not as described.
        """

    def place(self, name: str, is_wanted: Callable[[str | None], bool]) -> str:
        """Where a cell first is as wanted: ``line 7``, or nothing."""


class OtherPartError(Exception):
    """The file cannot be read by ranges of bytes."""


def read_columns(
    table: Table,
    names: Sequence[str],
    start: Callable[[list[Column]], Callable[[list[Array]], None]],
    as_text: Iterable[str] = (),
    part: Part = WHOLE,
    progress: Progress | None = None,
    agree: Callable[[object], list[Any]] = lambda x: [x],
) -> list[Column]:
    """Read columns to the end, from the beginning again where a column turns out to hold text.

    Args:
        table: the file.
        names: the columns.
        start: called with the columns at the beginning of each pass; returns what takes the blocks.
        as_text: columns known to hold text.
        part: of this process.
        progress: called with bytes.
        agree: gathers an object from all processes, so that they start again together.

    Raises:
        ValueError: the file is not as described.
        OSError: it cannot be read.
    """
    text = table.guess_text(names) | set(as_text)
    for passes in range(_MAX_RESTARTS + 2):
        columns = [Column(name, name in text, table.missing) for name in names]
        problem: Exception | None = None
        try:
            add = start(columns)
            for block in table.blocks(columns, part, progress):
                add(block)
        except BadLabelError as error:
            problem = explained(table, error)
        except (ReadAsTextError, OtherPartError, ValueError, OSError) as error:
            problem = error
        problems = [x for x in agree(problem) if x is not None]
        for other in problems:
            if isinstance(other, (ValueError, OSError)):
                raise other
        if not problems:
            return columns
        if any(isinstance(x, OtherPartError) for x in problems):
            part = Part(part.rank, part.ranks, by_bytes=False)
        if passes >= _MAX_RESTARTS:
            text = set(names)
        text = text.union(*(x.names for x in problems if isinstance(x, ReadAsTextError)))
    raise AssertionError("columns of text can always be read")


def explained(table: Table, error: BadLabelError) -> ValueError:
    """The error that names the place of a cell that is no label."""
    return wrong_label(table, error.column.name, error.expected, error.got, lambda cell: cell == error.spelling)


def wrong_label(
    table: Table, name: str, expected: str, got: str, is_wanted: Callable[[str | None], bool], remedy: str = ""
) -> ValueError:
    """The error for a cell that is no label: file, column, line, remedy."""
    place = table.place(name, is_wanted)
    column = f"column {name!r}" if len(table.names) > 1 or table.row_names else ""
    at = ", ".join(filter(None, (column, place)))
    hint = f" ({remedy})" if remedy else ""
    return ValueError(": ".join(filter(None, (table.path, at, f"expected {expected}; got {got}{hint}"))))


def check_name(table: Table, name: str, option: str) -> None:
    """Raise where a file has no such column."""
    known = [*table.names, *([table.row_names] if table.row_names else [])]
    if name in known:
        return
    close = get_close_matches(name, known, 3, 0.5)
    shown = ", ".join(map(repr, known[:6])) + (", ..." if len(known) > 6 else "")
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {shown}"
    if len(known) == 1 and name in known[0].split():
        hint = f"it has {shown}: do blanks align its columns? put a comma between cells, as tr -s ' ' ',' does"
    raise ValueError(f"{table.path}: {option}: expected a column that the file has; got {name!r} ({hint})")
