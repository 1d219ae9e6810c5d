"""Files of labels -> columns of labels: CSV and the like, plain or gzip, ``.npy``, ``.npz``, standard input.

Everything that can be wrong with a file is a ``ValueError`` here that names the file, the place and the remedy.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import numpy as np

from torchclusteval.cli.reading.cell_text import (
    INT64,
    MISSING,
    has_long_numbers,
    is_number,
    is_plain,
    looks_like_label,
    whole_number,
)
from torchclusteval.cli.reading.csv_text import (
    check_names,
    column_text,
    find_delimiter,
    first_row,
    looks_like_header,
    read_numbers,
    read_rows,
)

STDIN = "-"


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of all items under one clustering."""

    values: np.ndarray  # (N,) int64: whole numbers, or places in the vocabulary
    vocabulary: tuple[str, ...] | None = None  # None: the values are the labels

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class LabelFile:
    """Columns of a file by name, turned into labels when asked for: a column nobody uses may hold anything."""

    path: str
    columns: Mapping[str, np.ndarray | Sequence[str]]
    lines: Sequence[int] | None  # the line of each item in a text file
    written: Callable[[str], np.ndarray] | None = None  # the text of a column of numbers, where it may be longer

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def labels(self, name: str) -> Labels:
        """The labels of a column.

        Raises:
            ValueError: there is no such column, or it has a cell that is no label.
        """
        if name not in self.columns:
            raise ValueError(f"{self.path}: expected a column that the file has; got {name!r} ({self._hint(name)})")
        column = self.columns[name]
        if isinstance(column, np.ndarray):
            return self._from_array(name, column)
        return self._from_text(name, column)

    def labels_as_written(self, name: str) -> Labels:
        """The labels of a column of a part of a file, as they are written: if other parts hold words, 07 is not 7.

        Raises:
            ValueError: as :meth:`labels`.
        """
        found, column = self.labels(name), self.columns[name]
        if found.vocabulary is not None:
            return found
        if isinstance(column, np.ndarray):
            texts = None if self.written is None else self.written(name)
            if texts is None or bool((texts == column.astype(str)).all()):
                return found
            vocabulary, places = np.unique(texts, return_inverse=True)
            return Labels(places, tuple(vocabulary.tolist()))
        cells = {cell: cell.strip() for cell in dict.fromkeys(column)}
        return found if all(map(is_plain, cells.values())) else _encode(column, cells)

    def _hint(self, name: str) -> str:
        close = get_close_matches(name, self.names, 3, 0.5)
        if close:
            return f"did you mean {' or '.join(map(repr, close))}?"
        shown = ", ".join(map(repr, self.names[:6])) + (", ..." if len(self.names) > 6 else "")
        return f"it has {shown}"

    def _wrong(self, name: str, item: int, expected: str, got: str) -> ValueError:
        place = f"item {item + 1}" if self.lines is None else f"line {self.lines[item]}"
        column = "" if len(self.columns) == 1 else f"column {name!r}, "
        return ValueError(f"{self.path}: {column}{place}: expected {expected}; got {got}")

    def _from_array(self, name: str, array: np.ndarray) -> Labels:
        if array.dtype.kind in "bi":
            return Labels(array.astype(np.int64, copy=False))
        if array.dtype.kind == "u":
            fits = not array.size or int(array.max()) in INT64
            return Labels(array.astype(np.int64)) if fits else self._from_text(name, array.astype(str).tolist())
        if array.dtype.kind == "f":
            array = array if array.dtype.itemsize > 8 else array.astype(np.float64)  # 2**63 is no float16
            wrong = np.flatnonzero(~((array == np.trunc(array)) & (np.abs(array) < 2.0**63)))
            if len(wrong):
                raise self._wrong(name, int(wrong[0]), "a whole number", str(array[wrong[0]]))
            return Labels(array.astype(np.int64))
        if array.dtype.kind in "US":
            texts = np.char.decode(array, "utf-8", "backslashreplace") if array.dtype.kind == "S" else array
            return self._from_text(name, texts.tolist())
        raise ValueError(f"{self.path}: {name}: expected whole numbers or text; got an array of {array.dtype}")

    def _from_text(self, name: str, column: Sequence[str]) -> Labels:
        # Only the distinct cells are looked at: there are few of them.
        cells = {cell: cell.strip() for cell in dict.fromkeys(column)}
        self._check(name, column, {c for c, text in cells.items() if text in MISSING}, "a label")
        if not all(is_number(text) for text in cells.values()):
            return _encode(column, cells)
        numbers = {cell: whole_number(text) for cell, text in cells.items()}
        fractions = {cell for cell, number in numbers.items() if number is None}
        self._check(name, column, fractions, "a whole number or text")
        found = {cell: number for cell, number in numbers.items() if number is not None}
        if all(number in INT64 for number in found.values()):
            return Labels(np.fromiter(map(found.__getitem__, column), np.int64, len(column)))
        return _encode(column, {cell: str(number) for cell, number in found.items()})

    def _check(self, name: str, column: Sequence[str], bad: set[str], expected: str) -> None:
        if bad:
            item = next(i for i, cell in enumerate(column) if cell in bad)
            text = column[item].strip()
            raise self._wrong(
                name, item, expected, repr(text) if text else "an empty cell (fill it, or leave the line out)"
            )


def _encode(column: Sequence[str], texts: Mapping[str, str]) -> Labels:
    """Number the distinct texts of a column."""
    vocabulary = sorted(set(texts.values()))
    places = {text: i for i, text in enumerate(vocabulary)}
    of_cell = {cell: places[text] for cell, text in texts.items()}
    return Labels(np.fromiter(map(of_cell.__getitem__, column), np.int64, len(column)), tuple(vocabulary))


def stack_columns(columns: Sequence[Labels]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Columns as one array ``(B, N)`` int64, with one vocabulary for all where any of them holds text."""
    if all(column.vocabulary is None for column in columns):
        return np.stack([column.values for column in columns]), None
    texts = [_as_text(column) for column in columns]
    vocabulary = sorted({label for column in texts for label in column.vocabulary or ()})
    places = {label: i for i, label in enumerate(vocabulary)}
    rows = [np.array([places[x] for x in column.vocabulary or ()], np.int64)[column.values] for column in texts]
    return np.stack(rows), tuple(vocabulary)


def _as_text(column: Labels) -> Labels:
    if column.vocabulary is not None:
        return column
    labels, places = np.unique(column.values, return_inverse=True)
    return Labels(places, tuple(map(str, labels.tolist())))


def find(label: str, values: np.ndarray, vocabulary: tuple[str, ...] | None) -> int | None:
    """The number that stands for a label in what :func:`stack_columns` returns, or None where no item has it.

    Raises:
        ValueError: the labels are whole numbers and this is none.
    """
    number = whole_number(label)
    if vocabulary is None:
        if number is None:
            raise ValueError(f"expected a whole number, as the labels are; got {label!r}")
        return number if number in INT64 and bool((values == number).any()) else None
    names = (label.strip(), label.strip() if number is None else str(number))
    return next((i for i, text in enumerate(vocabulary) if text in names), None)


# --- reading ----------------------------------------------------------------------------------------------


def read_table(path: str) -> LabelFile:
    """Read a file whose columns have names: text with a header line, or ``.npz``.

    Args:
        path: a file, or ``-`` for standard input. The kind is found from the contents: comma, tab, semicolon,
            ``|`` or space between cells, quotes as in CSV, gzip, ``.npy``, ``.npz``. A first column without a
            name holds the names of rows, as pandas and R write them, and is left out.

    Raises:
        ValueError: the contents are not as described; the message says where.
        OSError: the file cannot be read.
    """
    return _read(path, header=True)


def parse_table(data: bytes, path: str) -> LabelFile:
    """Text with a header line, as :func:`read_table` finds it in the file ``path``.

    For :meth:`LabelFile.labels_as_written`. Lines are numbered in ``data``.
    """
    return _read_text(_decode(data, path), path, header=True, spelled=True)


def read_labels(path: str) -> LabelFile:
    """Read a file of labels, of one clustering or several, whose columns need no names.

    Args:
        path: as for :func:`read_table`. A CSV or TSV file has a header line where its first line is not a row
            of labels: it holds no number, and no cell that comes again below. A ``.txt`` file has one only
            above numbers. An array is ``(N,)``, or ``(B, N)`` for several clusterings.

    Returns:
        A file with one column named ``path``, or several named ``path:column``.

    Raises:
        ValueError: the contents are not as described; the message says where.
        OSError: the file cannot be read.
    """
    found = _read(path, header=False)
    single = len(found.columns) == 1
    named = {path if single else f"{path}:{name}": column for name, column in found.columns.items()}
    return LabelFile(path, named, found.lines)


def _read(path: str, *, header: bool) -> LabelFile:
    data = _read_bytes(path)
    if data.startswith((b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")):
        return LabelFile(path, dict(_arrays(data, path)), None)
    return _read_text(_decode(data, path), path, header)


def _read_bytes(path: str) -> bytes:
    if path == STDIN:
        if sys.stdin is None:
            raise ValueError("standard input: expected labels; it is closed")
        data = sys.stdin.buffer.read()
    else:
        data = Path(path).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{path}: expected a whole gzip file; it is damaged ({error})") from None
    if not data.strip():
        raise ValueError(f"{path}: expected labels; the file is empty")
    return data


def _decode(data: bytes, path: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path}: expected UTF-8 text; got UTF-16 (save it as CSV in UTF-8)")
    if b"\0" in data:
        raise ValueError(f"{path}: expected text, .npy or .npz; got another binary file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        got = f"byte {data[error.start]:#04x} on line {line}"
        raise ValueError(f"{path}: expected UTF-8 text; got {got} (save it in UTF-8)") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _arrays(data: bytes, path: str) -> Iterator[tuple[str, np.ndarray]]:
    """Each clustering in a ``.npy`` or ``.npz`` file, with its name inside the file."""
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        parts = {"": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except MemoryError:
        raise
    except Exception as error:  # damage shows as nearly any of them, encryption as a RuntimeError
        if "allow_pickle" in str(error):
            expected = "expected arrays of whole numbers or text; got pickled objects, which are not safe to read"
            raise ValueError(f"{path}: {expected} (save labels.astype(str))") from None
        raise ValueError(f"{path}: expected a whole .npy or .npz file; it is damaged ({error})") from None
    if not parts:
        raise ValueError(f"{path}: expected at least one array; got none")
    for name, array in parts.items():
        if not isinstance(array, np.ndarray):
            expected = "expected an archive of arrays (.npz); got another zip file"
            raise ValueError(f"{path}: {expected} (a spreadsheet? save it as CSV)")
        if array.ndim not in (1, 2) or not array.size:
            at = f"{path}: array {name!r}" if name else path
            raise ValueError(f"{at}: expected shape (N,) or (B, N) with N > 0; got {array.shape}")
        if array.ndim == 1:
            yield name or "labels", array
        else:
            yield from ((f"{name}:{i}" if name else str(i), row) for i, row in enumerate(array))


# --- text -------------------------------------------------------------------------------------------------


def _read_text(text: str, path: str, header: bool, spelled: bool = False) -> LabelFile:
    delimiter = find_delimiter(text)
    names = first_row(text, path, delimiter)
    above = header or not all(map(looks_like_label, names))
    columns: list[np.ndarray | Sequence[str]]
    lines: Sequence[int]
    found, written = read_numbers(text, delimiter, above, len(names)), None
    if found is not None:
        columns, lines = list(found.T), range(1 + above, 1 + above + len(found))
        if spelled and has_long_numbers(text):
            written = partial(_written, text, delimiter, names)
    else:
        lines, cells = read_rows(text, path, delimiter, len(names))
        above = header or looks_like_header(cells, path)
        columns, lines = list(zip(*cells[above:], strict=True)), lines[above:]
    if not lines:
        raise ValueError(f"{path}: expected rows of labels below the header; got none")
    if not above:
        return LabelFile(path, dict(zip(map(str, range(len(names))), columns, strict=True)), lines)
    check_names(names, path)
    if not names[0] and len(names) > 1:  # what pandas and R write for row names
        names, columns = names[1:], columns[1:]
    return LabelFile(path, dict(zip(names, columns, strict=True)), lines, written)


def _written(text: str, delimiter: str, names: Sequence[str], name: str) -> np.ndarray:
    return column_text(text, delimiter, names.index(name))
