"""Open the table in a file, by its first bytes."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.arrow_table import MAGIC, ArrowTable
from torchclusteval.cli.reading.csv_table import CsvTable
from torchclusteval.cli.reading.dialect import find_dialect
from torchclusteval.cli.reading.memory_table import ArrayTable, ListTable, load_arrays
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.cli.reading.sources import PACKINGS, Source
from torchclusteval.cli.reading.table import Blocks, Table
from torchclusteval.common.other_formats import other_format
from torchclusteval.common.progress import Progress
from torchclusteval.labels.vocabulary import in_natural_order

_NUMPY = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")
_BINARY = ("npy", "npz", "parquet", "pq", "feather", "arrow", "orc", "h5ad")  # suffixes of files that are no text


def open_table(path: str, asked: Selection, *, is_table: bool) -> Table:
    """The table in a file, in a folder of parts of one table, or in standard input (``-``).

    ``is_table``: columns need names, so that text has a header.
    """
    table, ids = _table(path, asked, is_table), asked.id_column
    if ids is not None and ids in (*table.names, *table.levels):
        table.name_rows(ids)
    return table


def _table(path: str, asked: Selection, is_table: bool) -> Table:
    if os.path.isdir(path):
        return _parts(path, asked)
    source = Source(path)
    head, complete = source.head()
    if not head.strip():
        raise ValueError(f"{path}: expected labels; the file is empty")
    kind = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    is_numpy = head.startswith(_NUMPY)
    if (is_numpy or kind is not None) and asked.header != "auto":
        print_note(f"note: {path}: --header has no effect on this file, which is not text")
    if is_numpy:
        return ArrayTable(path, load_arrays(source.all_bytes(), path))
    if kind is not None:
        return ArrowTable(source, kind)
    *_, inner, last = ["", "", *path.lower().split(".")]
    packing = PACKINGS.get(last)
    if packing is not None and source.packing is None:
        print_note(f"note: {path}: is no {packing} file, although its name says so; it is read as it is")
    if (suffix := last if packing is None else inner) in _BINARY:
        raise ValueError(f"{path}: expected a .{suffix} file, as its name says; got another or a damaged one")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path}: expected UTF-8 text; got UTF-16 (save it as CSV in UTF-8)")
    if b"\0" in head:
        raise ValueError(f"{path}: expected text, .npy or .npz; got another binary file")
    return _text_table(source, head, complete, asked, is_table)


def _text_table(source: Source, head: bytes, complete: bool, asked: Selection, is_table: bool) -> Table:
    mark = 3 * head.startswith(b"\xef\xbb\xbf")
    text = head[mark:].decode("utf-8", "surrogateescape")
    other = other_format(text)
    if other is not None:
        raise ValueError(f"{source.path}: expected files of labels; got {other}")
    header = "yes" if is_table and asked.header == "auto" else asked.header
    dialect = find_dialect(text, source.path, header, complete)
    widths = {len(row) if all(map(str.strip, row)) else dialect.width for row in dialect.sample}
    is_list = not is_table and ".txt" in source.path.lower() and widths - {dialect.width}  # of labels with commas
    if len(dialect.names) == 1 or is_list:
        return ListTable(_decoded(source.all_bytes(), source.path), source.path, asked, is_table=is_table)
    if any("\udc80" <= x <= "\udcff" for name in dialect.names for x in name):
        raise ValueError(f"{source.path}: header: expected UTF-8 text; got other bytes (save it in UTF-8)")
    dialect = replace(dialect, body=dialect.body + mark)
    if dialect.has_row_names and dialect.has_unnamed_cell and asked.id_column is None:
        print_note(f"note: {source.path}: rows have one cell more than the header; the first is the name of the row")
    if dialect.ends_in_delimiter and dialect.has_unnamed_cell:
        print_note(f"note: {source.path}: rows have one cell more than the header; the last, always empty, is left out")
    return CsvTable(source, dialect, asked)


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        got = f"byte {data[error.start]:#04x} on line {line}"
        raise ValueError(f"{path}: expected UTF-8 text; got {got} (save it in UTF-8)") from None


class PartsTable(Table):
    """A directory of files with the same columns: one table."""

    def __init__(self, path: str, parts: Sequence[Table]) -> None:
        first, suffix = parts[0], os.path.splitext(parts[0].path)[1]
        self.remedy = f" (a folder is the parts of one table; several tables: {os.path.join(path, '*' + suffix)})"
        for part in parts[1:]:
            numbered = part.is_range or first.is_range
            if {*part.names} != {*first.names} or (part.row_names != first.row_names and not numbered):
                alone = sorted({*part.names} ^ {*first.names})
                got = f"{alone[0]!r} in one of them alone" if alone else "other names of rows"
                raise ValueError(f"{part.path}: expected the columns of {first.path}; got {got}{self.remedy}")
        self.path, self._parts = path, parts
        self.names, self.row_names, self.levels = first.names, first.row_names, first.levels
        if any(part.row_names != first.row_names for part in parts):
            self.row_names, self.levels = None, ()
        self._starts = [0]

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        self._starts = [0]
        for i, part in enumerate(self._parts):
            if progress is not None:
                progress(i, len(self._parts))
            n_rows = 0
            for block in part.blocks(names, as_text):
                n_rows += len(block[0].values)
                yield block
            self._starts.append(self._starts[-1] + n_rows)

    def place(self, row: int) -> str:
        part = max(i for i, start in enumerate(self._starts) if start <= row and i < len(self._parts))
        return f"{os.path.basename(self._parts[part].path)}, {self._parts[part].place(row - self._starts[part])}"


def _parts(path: str, asked: Selection) -> Table:
    names = [name for name in os.listdir(path) if not name.startswith(("_", "."))]
    files = [os.path.join(path, name) for name in in_natural_order(names)]
    files, folders = [file for file in files if os.path.isfile(file)], [x for x in files if os.path.isdir(x)]
    if files and folders:
        raise ValueError(f"{path}: expected a directory of files alone; got one with the directory {folders[0]}")
    if not files:
        raise ValueError(f"{path}: expected a file or a directory with files of labels; got a directory without files")
    return PartsTable(path, [open_table(file, asked, is_table=True) for file in files])
