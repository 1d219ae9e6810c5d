"""Files that are read at once, without pyarrow: ``.npy``, ``.npz``, and text with a label a line."""

import io
import re
import sys
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.dialect import rows_of
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.cli.reading.table import Blocks, Table, read_column
from torchclusteval.common.progress import Progress
from torchclusteval.labels.spelled import is_number

_ROWS = 1 << 16


class ArrayTable(Table):
    """The arrays of a ``.npy`` or ``.npz`` file."""

    def __init__(self, path: str, arrays: Mapping[str, np.ndarray]) -> None:
        self.path, self._arrays, self.names = path, arrays, list(arrays)

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        lengths = {len(self._arrays[name]): name for name in names}
        if len(lengths) > 1:
            (first, name), (other, differing) = list(lengths.items())[:2]
            raise ValueError(f"{self.path}: {differing}: expected {first} labels, as in {name}; got {other}")
        for start in range(0, max(lengths), _ROWS):
            yield [read_column(self, name, start, self._arrays[name][start : start + _ROWS]) for name in names]

    def place(self, row: int) -> str:
        return f"item {row + 1}"


def load_arrays(data: bytes, path: str) -> dict[str, np.ndarray]:
    """Each clustering in a ``.npy`` or ``.npz`` file by its name there; raise on a damaged file, or without labels."""
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
    arrays: dict[str, np.ndarray] = {}
    for name, array in parts.items():
        if not isinstance(array, np.ndarray):
            expected = "expected an archive of arrays (.npz); got another zip file"
            raise ValueError(f"{path}: {expected} (a spreadsheet? save it as CSV)")
        if array.ndim not in (1, 2) or not array.size:
            at = f"{path}: array {name!r}" if name else path
            remedy = " (label images: image.ravel() for each)" if array.ndim > 2 else ""
            raise ValueError(f"{at}: expected shape (N,) or (B, N) with N > 0; got {array.shape}{remedy}")
        if array.dtype.kind == "U" and array.itemsize:
            letters = np.ascontiguousarray(array).view(f"{array.dtype.str[0]}u4")
            if (letters > sys.maxunicode).any():
                raise ValueError(f"{path}: expected a complete .npy or .npz file; it is damaged (numbers of no letter)")
        if array.ndim == 1:
            arrays[name or "0"] = array
        else:
            arrays |= {f"{name}:{i}" if name else str(i): row for i, row in enumerate(array)}
    return arrays


class ListTable(Table):
    """A text file with a label a line. Blank lines at the end are nothing, others are missing labels."""

    def __init__(self, text: str, path: str, asked: Selection, *, is_table: bool) -> None:
        self.path, self._missing = path, asked.spellings
        text = re.sub(r'^"?sep=.?"?[\r\n]+', "", text)
        if "\0" in text:
            raise ValueError(f"{path}: expected text, .npy or .npz; got another binary file")
        rows = [*rows_of(io.StringIO(text, newline=""), "\t")]
        while rows and not "".join(rows[-1][1]).strip():
            rows.pop()
        while rows and not rows[0][1]:
            del rows[0]
        for line, row in rows:
            if len(row) > 1:
                raise ValueError(f"{path}: line {line}: expected one cell, as in the first line; got {len(row)}")
        lines = io.StringIO(text if '"' in text else "", newline="")
        self._quoted = {i for i, line in enumerate(lines, 1) if line.startswith('"')}
        self._lines, cells = [line for line, _ in rows], ["".join(row) for _, row in rows]
        header = bool(cells) and ((is_table and asked.header != "no") or self._has_header(cells, asked.header))
        name = cells.pop(0).strip() if header else "0"
        del self._lines[: int(header)]
        if not cells:
            raise ValueError(f"{path}: expected rows of labels below the header; got none")
        if header and name in cells and asked.header == "yes":
            line = self._lines[cells.index(name)]
            raise ValueError(f"{path}: line {line}: expected a label; got the header again (leave this line out)")
        self.names, self._cells = [name], cells

    def _has_header(self, cells: Sequence[str], header: str) -> bool:
        """Whether the first line names the column; a note where it could be either."""
        if header != "auto":
            return header == "yes"
        first, below = cells[0].strip(), {cell.strip() for cell in cells[1:]} - self._missing
        is_list = self.path.lower().partition(".txt")[1] != ""
        if not below or first in self._missing or (first in below and (first != "0" or is_list)):
            return False
        taken = not (is_list or is_number(first))
        if all(map(is_number, below)) and (first != "0" or is_list):
            return not is_number(first)
        what, other = ("the header", "no") if taken else ("a label", "yes")
        print_note(f"note: {self.path}: the first line, {first!r}, is taken as {what}; otherwise: --header {other}")
        return taken

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        rows = zip(self._cells, self._lines, strict=True)
        spelled = [None if x.strip() in self._missing and line not in self._quoted else x for x, line in rows]
        yield [read_column(self, self.names[0], 0, np.array(spelled, object), self._missing)]

    def place(self, row: int) -> str:
        return f"line {self._lines[row]}"
