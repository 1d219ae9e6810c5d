"""Files that are read at once, without pyarrow: ``.npy``, ``.npz``, and text with a label a line."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.columns import MISSING, Array, Column, ReadAsTextError, is_number, is_plain
from torchclusteval.cli.reading.dialect import rows_of
from torchclusteval.cli.reading.table import Part, ReadOptions
from torchclusteval.common.progress import Progress

_BLOCK_ROWS = 1 << 16


class ArrayTable:
    """The arrays of a ``.npy`` or ``.npz`` file."""

    row_names: str | None = None

    def __init__(self, path: str, arrays: Mapping[str, Array], missing: frozenset[str]) -> None:
        self.path, self._arrays, self.missing = path, dict(arrays), missing
        self.names = list(arrays)

    def guess_text(self, names: Sequence[str]) -> set[str]:
        return {name for name in names if self._arrays[name].dtype.kind in "US"}

    def blocks(self, columns: Sequence[Column], part: Part, progress: Progress | None) -> Iterator[list[Array]]:
        arrays = [self._arrays[column.name] for column in columns]
        lengths = dict(zip(map(len, arrays), (column.name for column in columns), strict=True))
        if len(lengths) > 1:
            (first, name), (other, differing) = list(lengths.items())[:2]
            raise ValueError(f"{self.path}: {differing}: expected {first} labels, as in {name}; got {other}")
        n = max(lengths, default=0)
        for i, start in enumerate(range(0, n, _BLOCK_ROWS)):
            if i % part.ranks == part.rank:
                yield [
                    column.from_numpy(array[start : start + _BLOCK_ROWS])
                    for column, array in zip(columns, arrays, strict=True)
                ]

    def place(self, name: str, is_wanted: Callable[[str | None], bool]) -> str:
        for i, x in enumerate(self._arrays[name].tolist()):
            text = x.decode("utf-8", "backslashreplace") if isinstance(x, bytes) else str(x)
            if is_wanted(None if text in ("nan", "") else text):
                return f"item {i + 1}"
        return ""


def load_arrays(data: bytes, path: str) -> dict[str, Array]:
    """Each clustering in a ``.npy`` or ``.npz`` file, with its name inside the file.

    Raises:
        ValueError: the file is damaged, or holds no labels.
    """
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        parts = {"": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except MemoryError:
        raise
    except Exception as error:  # damage shows as nearly any of them, encryption as a RuntimeError
        if "allow_pickle" in str(error):
            expected = "expected arrays of whole numbers or text; got pickled objects, which are not safe to read"
            raise ValueError(f"{path}: {expected} (save labels.astype(str))") from None
        raise ValueError(f"{path}: expected a complete .npy or .npz file; it is damaged ({error})") from None
    if not parts:
        raise ValueError(f"{path}: expected at least one array; got none")
    arrays: dict[str, Array] = {}
    for name, array in parts.items():
        if not isinstance(array, np.ndarray):
            expected = "expected an archive of arrays (.npz); got another zip file"
            raise ValueError(f"{path}: {expected} (a spreadsheet? save it as CSV)")
        if array.ndim not in (1, 2) or not array.size:
            at = f"{path}: array {name!r}" if name else path
            remedy = " (label images: image.ravel() for each)" if array.ndim > 2 else ""
            raise ValueError(f"{at}: expected shape (N,) or (B, N) with N > 0; got {array.shape}{remedy}")
        rows = {name or "labels": array} if array.ndim == 1 else {
            f"{name}:{i}" if name else str(i): row for i, row in enumerate(array)
        }  # fmt: skip
        arrays |= rows
    return arrays


class ListTable:
    """A text file with a label a line. Blank lines at the end are nothing, others are missing labels."""

    row_names: str | None = None

    def __init__(self, text: str, path: str, options: ReadOptions, *, is_table: bool) -> None:
        self.path, self.missing = path, options.missing
        self._lines: list[int] = []
        cells: list[str | None] = []
        text = re.sub(r'^"?sep=.?"?[\r\n]+', "", text)
        if "\0" in text:
            raise ValueError(f"{path}: expected text, .npy or .npz; got another binary file")
        for line, row in rows_of(io.StringIO(text, newline=""), options.delimiter or "\t"):
            if len(row) > 1:
                raise ValueError(f"{path}: line {line}: expected one cell, as in the first line; got {len(row)}")
            if not row and not cells:
                continue
            cells.append(row[0] if row else "")
            self._lines.append(line)
        while cells and not (cells[-1] or "").strip():
            del cells[-1], self._lines[-1]
        header = bool(cells) and ((is_table and options.header != "no") or self._has_header(cells, options.header))
        name = (cells.pop(0) or "").strip() if header else "0"
        del self._lines[: int(header)]
        if not cells:
            raise ValueError(f"{path}: expected rows of labels below the header; got none")
        if header and name in cells and options.header == "yes":
            line = self._lines[cells.index(name)]
            raise ValueError(f"{path}: line {line}: expected a label; got the header again (leave this line out)")
        self.names, self._cells = [name], cells

    def _has_header(self, cells: Sequence[str | None], header: str) -> bool:
        """Whether the first line names the column; a note where it could be either."""
        if header != "auto":
            return header == "yes"
        first, below = (cells[0] or "").strip(), {(cell or "").strip() for cell in cells[1:]} - self.missing
        is_list = self.path.lower().partition(".txt")[1] != ""
        if not below or first in below or first in self.missing:
            return False
        if all(map(is_number, below)):
            if is_number(first):
                if first == "0" and not is_list:
                    self._say(first, "a label", "yes")
                return False
            return True
        taken = not (is_list or is_number(first))
        self._say(first, "the header" if taken else "a label", "no" if taken else "yes")
        return taken

    def _say(self, first: str, what: str, other: str) -> None:
        print_note(f"note: {self.path}: the first line, {first!r}, is taken as {what}; otherwise: --header {other}")

    def guess_text(self, names: Sequence[str]) -> set[str]:
        cells = {(cell or "").strip() for cell in self._cells} - self.missing
        return set() if all(map(is_plain, cells)) else set(names)

    def blocks(self, columns: Sequence[Column], part: Part, progress: Progress | None) -> Iterator[list[Array]]:
        if not columns:
            return
        (column,) = columns
        for i, start in enumerate(range(0, len(self._cells), _BLOCK_ROWS)):
            if i % part.ranks != part.rank:
                continue
            cells = [None if x is None or x.strip() in self.missing else x
                     for x in self._cells[start : start + _BLOCK_ROWS]]  # fmt: skip
            column.n_missing += cells.count(None)
            if column.is_text:
                codes = column.codes_of(["" if cell is None else cell for cell in cells])
                yield [np.where([cell is None for cell in cells], MISSING, codes)]
                continue
            try:
                yield [np.array([MISSING if cell is None else int(cell) for cell in cells], np.int64)]
            except (ValueError, OverflowError):
                raise ReadAsTextError([column.name]) from None

    def place(self, name: str, is_wanted: Callable[[str | None], bool]) -> str:
        for line, cell in zip(self._lines, self._cells, strict=True):
            if is_wanted(None if cell is None or cell.strip() in self.missing else cell):
                return f"line {line}"
        return ""
