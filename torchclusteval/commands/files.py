"""Files of labels -> columns of labels: CSV and the like, plain or gzip, ``.npy``, ``.npz``, standard input.

Everything that can be wrong with a file is a ``ValueError`` here that names the file, the place and the remedy.
"""

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path

import numpy as np

STDIN = "-"

_MISSING = frozenset({"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)", re.ASCII)
_INT64 = range(-(2**63), 2**63)


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
            fits = not array.size or int(array.max()) in _INT64
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
        self._check(name, column, {c for c, text in cells.items() if text in _MISSING}, "a label")
        if not all(_NUMBER.fullmatch(text) for text in cells.values()):
            return _encode(column, cells)
        numbers = {cell: whole_number(text) for cell, text in cells.items()}
        fractions = {cell for cell, number in numbers.items() if number is None}
        self._check(name, column, fractions, "a whole number or text")
        found = {cell: number for cell, number in numbers.items() if number is not None}
        if all(number in _INT64 for number in found.values()):
            return Labels(np.fromiter(map(found.__getitem__, column), np.int64, len(column)))
        return _encode(column, {cell: str(number) for cell, number in found.items()})

    def _check(self, name: str, column: Sequence[str], bad: set[str], expected: str) -> None:
        if bad:
            item = next(i for i, cell in enumerate(column) if cell in bad)
            text = column[item].strip()
            raise self._wrong(
                name, item, expected, repr(text) if text else "an empty cell (fill it, or leave the line out)"
            )


def whole_number(text: str) -> int | None:
    """The whole number that a text stands for (``3``, ``3.0``, ``3e0``), or None."""
    if re.fullmatch(r"\s*[+-]?\d{1,300}\s*", text, re.ASCII):
        return int(text)
    if not _NUMBER.fullmatch(text.strip()) or not abs(float(text)) < 1e300:
        return None
    try:
        exact = Decimal(text.strip())
    except InvalidOperation:  # an exponent of a score of digits
        return None
    return int(exact) if exact == exact.to_integral_value() else None


def _encode(column: Sequence[str], texts: Mapping[str, str]) -> Labels:
    """Number the distinct texts of a column."""
    vocabulary = sorted(set(texts.values()))
    places = {text: i for i, text in enumerate(vocabulary)}
    of_cell = {cell: places[text] for cell, text in texts.items()}
    return Labels(np.fromiter(map(of_cell.__getitem__, column), np.int64, len(column)), tuple(vocabulary))


def stack(columns: Sequence[Labels]) -> tuple[np.ndarray, tuple[str, ...] | None]:
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
    """The number that stands for a label in what :func:`stack` returns, or None where no item has it.

    Raises:
        ValueError: the labels are whole numbers and this is none.
    """
    number = whole_number(label)
    if vocabulary is None:
        if number is None:
            raise ValueError(f"expected a whole number, as the labels are; got {label!r}")
        return number if number in _INT64 and bool((values == number).any()) else None
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
    """Text with a header line, as :func:`read_table` finds it in the file ``path``; lines are numbered in ``data``."""
    return _read_text(_decode(data, path), path, header=True)


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


def _read_text(text: str, path: str, header: bool) -> LabelFile:
    delimiter = _find_delimiter(text)
    names = _first_row(text, path, delimiter)
    above = header or not all(map(_looks_like_label, names))
    columns: list[np.ndarray | Sequence[str]]
    lines: Sequence[int]
    numbers = _numbers(text, delimiter, above, len(names))
    if numbers is not None:
        columns, lines = list(numbers.T), range(1 + above, 1 + above + len(numbers))
    else:
        lines, rows = _rows(text, path, delimiter, len(names))
        above = header or _looks_like_header(rows, path)
        columns, lines = list(zip(*rows[above:], strict=True)), lines[above:]
    if not lines:
        raise ValueError(f"{path}: expected rows of labels below the header; got none")
    if not above:
        return LabelFile(path, dict(zip(map(str, range(len(names))), columns, strict=True)), lines)
    _check_names(names, path)
    if not names[0] and len(names) > 1:  # what pandas and R write for row names
        names, columns = names[1:], columns[1:]
    return LabelFile(path, dict(zip(names, columns, strict=True)), lines)


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _looks_like_label(cell: str) -> bool:
    return _is_number(cell) or cell.strip() in _MISSING


def _records(stream: io.StringIO, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV, each with the line that it ends on."""
    reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        got = f"{error} (is a quote left open?)"
        raise ValueError(f"{path}: line {reader.line_num}: expected CSV; got {got}") from None


def _find_delimiter(text: str) -> str:
    """What divides the first two lines into the same number of cells, as many as possible."""
    end = text.find("\n", text.find("\n", len(text) - len(text.lstrip("\n"))) + 1)
    head = text if end < 0 else text[:end]
    best, most = "", 1
    for delimiter in ("\t", ",", ";", "|", " "):
        try:
            first, *others = [row for _, row in _records(io.StringIO(head), delimiter, "") if row]
        except ValueError:
            continue
        fits = not others or len(others[0]) == len(first)
        if delimiter == " ":  # text has spaces too
            fits = fits and bool(others) and all(map(_is_number, others[0]))
        if fits and len(first) > most:
            best, most = delimiter, len(first)
    if best:
        return best
    line = head.lstrip("\n").split("\n", 1)[0]
    return max(("\t", ",", ";"), key=lambda delimiter: (line.count(delimiter), delimiter == ","))


def _first_row(text: str, path: str, delimiter: str) -> list[str]:
    row = next(row for _, row in _records(io.StringIO(text), delimiter, path) if row)
    return [cell.strip() for cell in row]


def _check_names(names: Sequence[str], path: str) -> None:
    for place, name in enumerate(names):
        if not name and place > 0:
            raise ValueError(f"{path}: header: expected a name for every column; column {place + 1} has none")
        if name in names[:place]:
            first = names.index(name) + 1
            raise ValueError(f"{path}: header: expected different names; columns {first} and {place + 1} are {name!r}")


def _numbers(text: str, delimiter: str, header: bool, width: int) -> np.ndarray | None:
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


def _rows(text: str, path: str, delimiter: str, width: int) -> tuple[list[int], list[list[str]]]:
    """Every row with the line it ends on; blank lines at the end are left out."""
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, row in _records(io.StringIO(text), delimiter, path):
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


def _looks_like_header(rows: Sequence[Sequence[str]], path: str) -> bool:
    """Whether the first row names columns that need no names; see :func:`read_labels`."""
    below = [set(column[1:]) for column in zip(*rows, strict=True)]
    if all(map(_is_number, set().union(*below))):
        return not all(map(_looks_like_label, rows[0]))
    is_list = path.removesuffix(".gz").lower().endswith(".txt")
    recurs = any(cell in cells for cell, cells in zip(rows[0], below, strict=True))
    return not (is_list or recurs or any(map(_looks_like_label, rows[0])))
