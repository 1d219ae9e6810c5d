"""Files that are read at once, without pyarrow: ``.npy``, ``.npz``, and text with a label a line."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.arrow_table import labels_of_floats
from torchclusteval.cli.reading.columns import Array, Labels, is_number, is_plain
from torchclusteval.cli.reading.dialect import rows_of
from torchclusteval.cli.reading.table import ReadOptions, texts_of, wrong_label
from torchclusteval.common.progress import Progress

_ROWS = 1 << 16


class ArrayTable:
    """The arrays of a ``.npy`` or ``.npz`` file."""

    row_names: str | None = None

    def __init__(self, path: str, arrays: Mapping[str, Array]) -> None:
        self.path, self._arrays, self.names = path, dict(arrays), list(arrays)

    def integers(self, names: Sequence[str]) -> set[str]:
        return set(names)  # their types say which are

    def blocks(
        self, names: Sequence[str], integers: set[str], progress: Progress | None = None
    ) -> Iterator[list[Labels]]:
        lengths = {len(self._arrays[name]): name for name in names}
        if len(lengths) > 1:
            (first, name), (other, differing) = list(lengths.items())[:2]
            raise ValueError(f"{self.path}: {differing}: expected {first} labels, as in {name}; got {other}")
        for start in range(0, max(lengths), _ROWS):
            yield [self._labels(name, start, self._arrays[name][start : start + _ROWS]) for name in names]

    def _labels(self, name: str, first: int, array: Array) -> Labels:
        kind = array.dtype.kind
        if kind == "f":
            return labels_of_floats(array, self, name, first)
        if kind in "bi" or (kind == "u" and not (self._arrays[name] >= 2**63).any()):
            return Labels(array.astype(np.int64, copy=False))
        if kind not in "uUS":
            remedy = " (for labels that are dates: array.astype(str))" if kind in "mM" else ""
            raise wrong_label(self, name, None, "whole numbers or text", f"an array of {array.dtype}{remedy}")
        texts = np.char.decode(array, "utf-8", "backslashreplace") if kind == "S" else array.astype(str)
        distinct, places = np.unique(texts, return_inverse=True)
        return texts_of(self, name, first, places, distinct.tolist(), frozenset())

    def place(self, row: int) -> str:
        return f"item {row + 1}"


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
        self.path, self._missing = path, options.missing
        self._lines: list[int] = []
        cells: list[str] = []
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
        while cells and not cells[-1].strip():
            del cells[-1], self._lines[-1]
        header = bool(cells) and ((is_table and options.header != "no") or self._has_header(cells, options.header))
        name = cells.pop(0).strip() if header else "0"
        del self._lines[: int(header)]
        if not cells:
            raise ValueError(f"{path}: expected rows of labels below the header; got none")
        if header and name in cells and options.header == "yes":
            line = self._lines[cells.index(name)]
            raise ValueError(f"{path}: line {line}: expected a label; got the header again (leave this line out)")
        self.names, self._cells = [name], cells

    def _has_header(self, cells: Sequence[str], header: str) -> bool:
        """Whether the first line names the column; a note where it could be either."""
        if header != "auto":
            return header == "yes"
        first, below = cells[0].strip(), {cell.strip() for cell in cells[1:]} - self._missing
        is_list = self.path.lower().partition(".txt")[1] != ""
        if not below or first in below or first in self._missing:
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

    def integers(self, names: Sequence[str]) -> set[str]:
        cells = {cell.strip() for cell in self._cells} - self._missing
        return set(names) if all(map(is_plain, cells)) else set()

    def blocks(
        self, names: Sequence[str], integers: set[str], progress: Progress | None = None
    ) -> Iterator[list[Labels]]:
        for start in range(0, len(self._cells), _ROWS):
            cells = self._cells[start : start + _ROWS]
            missing = np.array([cell.strip() in self._missing or not cell.strip() for cell in cells])
            if integers:
                numbers = [0 if gap else int(cell) for cell, gap in zip(cells, missing.tolist(), strict=True)]
                yield [Labels(np.array(numbers, np.int64), missing if missing.any() else None)]
                continue
            distinct = list(dict.fromkeys(cells))
            place = {cell: i for i, cell in enumerate(distinct)}
            codes = np.fromiter(map(place.__getitem__, cells), np.int64, len(cells))
            codes = np.where(missing, len(distinct), codes)
            yield [texts_of(self, self.names[0], start, codes, [*distinct, None], self._missing)]

    def place(self, row: int) -> str:
        return f"line {self._lines[row]}"
