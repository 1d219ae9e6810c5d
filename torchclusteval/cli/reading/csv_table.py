"""Text files of several columns, read by pyarrow in record batches."""

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from torchclusteval.cli.reading.dialect import Dialect
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.cli.reading.sources import Rows, Source
from torchclusteval.cli.reading.table import Blocks, Table, WrongKindError, read_ahead, read_column
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress
from torchclusteval.labels.sources import LabelSource
from torchclusteval.labels.spelled import is_plain

_BLOCK_BYTES = 1 << 21
_MAX_BLOCK_BYTES = 1 << 27
_GUESS_ROWS = 40
_ROWS_PER_BLOCK = 512  # at least, of long rows
# Tables of many labels are counted in one array where a block has half as many rows as a table has cells.
_MANY_LABELS, _ROWS_OF_MANY, _MAX_MANY_BYTES = 64, 1 << 15, 1 << 24


class CsvTable(Table):
    """A text file with a row an item."""

    def __init__(self, source: Source, dialect: Dialect, asked: Selection) -> None:
        self._arrow, self._csv = import_optional("pyarrow", "cli"), import_optional("pyarrow.csv", "cli")
        self._source, self._dialect, self.path, self._missing = source, dialect, source.path, asked.spellings
        self._cells = {name: i for i, name in enumerate(dialect.names)}
        self.names = [*filter(None, dialect.names)]
        self.row_names = "" if dialect.has_row_names else None

    def _integers(self, names: Collection[str]) -> set[str]:
        """The columns that hold whole numbers in the first rows."""
        columns = dict(enumerate(zip_longest(*self._dialect.sample[:_GUESS_ROWS], fillvalue="")))
        cells = {name: set(map(str.strip, columns.get(self._cells[name], ()))) for name in names}
        return {name for name in names if all(map(is_plain, cells[name] - self._missing - {""}))}

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        n_rows, integers = 0, self._integers({*names} - {*as_text})
        with self._source.open() as stream:
            rows = Rows(stream, self.path, self._dialect)
            try:
                for batch in read_ahead(self._batches(rows, names, integers)):
                    self._source.show(progress)
                    yield self._labels(batch, names, n_rows)
                    n_rows += len(batch)
            except self._arrow.ArrowException as error:
                if isinstance(error, MemoryError):
                    raise
                reason = str(error).split("\n")[0]
                if wrong := re.search(r"Row #(\d+): Expected \d+ columns, got (\d+)", reason):
                    expected = f"{self._dialect.width} cells, as in the first line"
                    raise self._fault(n_rows + int(wrong[1]) - 1, expected, wrong[2]) from None
                if "conversion error to int64" in reason:
                    raise WrongKindError from None
                if "invalid UTF8" in reason and rows.bad_text is not None:
                    raise rows.bad_text from None
                raise ValueError(f"{self.path}: expected CSV; got {reason} (is a quote left open?)") from None
        if rows.has_bad_quote and rows.bad_text is not None:
            raise rows.bad_text  # bytes of a letter may meet where a quote is taken away
        if rows.has_hexadecimal and integers:
            raise WrongKindError  # pyarrow takes 0x10 for 16
        if rows.has_quote and (rows.has_empty_line or n_rows != rows.n_lines):
            self._check_quotes()

    def _batches(self, rows: Rows, names: Sequence[str], integers: set[str]) -> Iterator[Any]:
        """Record batches of the columns, whose names are the places of their cells.

        pyarrow's own streaming reader can hang at exit if it did not read a file to its end.
        """
        arrow, reader, dialect = self._arrow, self._csv, self._dialect
        cells = [str(i) for i in range(dialect.width)]
        text = arrow.dictionary(arrow.int32(), arrow.string())
        types = {str(self._cells[name]): arrow.int64() if name in integers else text for name in names}
        if dialect.ends_in_delimiter:
            types[cells[-1]] = text
        sample, places = dialect.sample, [self._cells[name] for name in names]
        longest = max((sum(map(len, row)) + len(row) for row in sample), default=0)
        size = min(max(_BLOCK_BYTES, _ROWS_PER_BLOCK * longest), _MAX_BLOCK_BYTES)
        if max(len({row[i] for row in sample if i < len(row)}) for i in places) > _MANY_LABELS:
            size = max(size, min(_ROWS_OF_MANY * longest, _MAX_MANY_BYTES))
        parsing = reader.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True, ignore_empty_lines=False)
        conversion = reader.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(self._missing | {""}),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        for block in rows.blocks(size):
            options = reader.ReadOptions(column_names=cells, block_size=len(block) + 1, use_threads=False)
            yield from reader.read_csv(arrow.BufferReader(block), options, parsing, conversion).to_batches()

    def _labels(self, batch: Any, names: Sequence[str], first: int) -> list[LabelSource]:
        columns = [read_column(self, name, first, batch.column(i), self._missing) for i, name in enumerate(names)]
        last = batch.column(len(names)) if self._dialect.ends_in_delimiter else None
        if last is not None and last.null_count < len(last):
            row = last.is_valid().index(True).as_py()
            raise self._fault(first + row, "an empty last cell, as in the first lines", repr(last[row].as_py()))
        known = [x.vocabulary is not None and name in x.vocabulary for x, name in zip(columns, names, strict=True)]
        if all(known):
            found = [x.vocabulary[x.values] == name for x, name in zip(columns, names, strict=True)]  # type: ignore[index]
            rows = np.all(found, axis=0)
            if rows.any():
                got = "the header again (were files put together? leave this line out)"
                raise self._fault(first + int(rows.argmax()), "labels", got)
        return columns

    def _fault(self, row: int, expected: str, got: Any) -> ValueError:
        return ValueError(f"{self.path}: {self.place(row)}: expected {expected}; got {got}")

    def _check_quotes(self) -> None:
        """Raise for an open quote that hides rows; needed only if a cell holds a line break."""
        with self._source.open() as stream:
            rows = Rows(stream, self.path, self._dialect)
            lines = (
                line.decode("utf-8", "surrogateescape") + "\n"
                for piece in rows.pieces(_BLOCK_BYTES)
                for line in piece.split(b"\n")[:-1]
            )
            reader = csv.reader(lines, delimiter=self._dialect.delimiter, strict=True)
            try:
                for row in reader:
                    if not row:
                        raise self._fault(reader.line_num - 1, f"{self._dialect.width} cells", "an empty line")
            except csv.Error as error:
                raise self._fault(reader.line_num - 1, "CSV", f"{error} (is a quote left open?)") from None

    def place(self, row: int) -> str:
        return f"line {self._dialect.first_line + row}"  # where no cell above has several lines
