"""Text files of several columns, read by pyarrow in record batches."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from torchclusteval.cli.reading.ahead import map_ahead, read_ahead
from torchclusteval.cli.reading.arrow_columns import codes_of
from torchclusteval.cli.reading.columns import Array, Column, ReadAsTextError, is_plain
from torchclusteval.cli.reading.dialect import Dialect, rows_of
from torchclusteval.cli.reading.sources import Body, Source
from torchclusteval.cli.reading.table import OtherPartError, Part, ReadOptions
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress

_BLOCK_BYTES = 1 << 20
_MAX_BLOCK_BYTES = 1 << 27
_MAX_THREADS = 4  # that parse: more would wait for the counting
_GUESS_ROWS = 40
_ROWS_PER_BLOCK = 512  # at least, of long rows


class CsvTable:
    """A text file with a row an item."""

    def __init__(self, source: Source, dialect: Dialect, options: ReadOptions) -> None:
        import_optional("pyarrow", "cli")
        self.source, self.dialect, self.path, self.missing = source, dialect, source.path, options.missing
        self._cells = {name: i for i, name in enumerate(dialect.names)}
        self.names = [name for name in dialect.names if name != options.id_column and name]
        self.row_names = options.id_column if options.id_column in self._cells else None
        if self.row_names is None and dialect.has_row_names:
            self.row_names = ""

    def guess_text(self, names: Sequence[str]) -> set[str]:
        text, plain = set(), cache(is_plain)  # cells repeat
        columns = list(zip_longest(*self.dialect.sample[:_GUESS_ROWS], fillvalue=""))
        for name in names:
            place = self._cells[name]
            cells = set(map(str.strip, columns[place])) - self.missing if place < len(columns) else set()
            if not all(map(plain, cells - {""})):
                text.add(name)
        return text

    def blocks(self, columns: Sequence[Column], part: Part, progress: Progress | None) -> Iterator[list[Array]]:
        arrow = import_optional("pyarrow", "cli")
        start, stop = self.dialect.body, None
        by_bytes = part.ranks > 1 and part.by_bytes and self.source.is_plain_file
        if by_bytes:
            start, stop = self._range(part)
        n_rows = n_blocks = 0
        size = self.source.size()
        with self.source.open() as stream:
            _skip(stream, start, self.source.packing)
            blanks = f"{self.dialect.delimiter} \t\r\n".encode() if stop is None or stop >= size else b""
            shown = progress if self.source.packing in (None, "gzip") else None  # others do not say where they are
            body = Body(stream, start, stop, blanks, shown, size)
            try:
                for batch in self._batches(body, columns):
                    if body.has_nul:
                        raise self._fault(columns, None)
                    n_rows += len(batch)
                    if by_bytes or n_blocks % part.ranks == part.rank:
                        yield [codes_of(batch.column(i), column, self._fail) for i, column in enumerate(columns)]
                    n_blocks += 1
            except arrow.ArrowException as error:
                raise self._explained(error, columns) from None
            if body.has_nul:
                raise self._fault(columns, None)
            if by_bytes and body.has_quote:
                raise OtherPartError
            if body.has_hexadecimal and not all(column.is_text for column in columns):
                raise ReadAsTextError([column.name for column in columns])  # pyarrow takes 0x10 for 16
            joined = body.has_quote and body.has_other_bytes  # bytes of a letter may meet where a quote is taken away
            if (body.has_empty_line or body.has_mark or joined) and (fault := self._find_fault(columns)) is not None:
                raise fault
            if body.has_quote and n_rows != body.lines:
                self._check_quotes(columns)
            if not n_rows and part.ranks == 1:
                raise ValueError(f"{self.path}: expected rows of labels below the header; got none")
        self._check_repeated_header(columns)

    def _batches(self, body: Body, columns: Sequence[Column]) -> Iterator[Any]:
        """Record batches: blocks without quotes are parsed side by side, the others by a reader that joins them."""
        arrow, reader = import_optional("pyarrow", "cli"), import_optional("pyarrow.csv", "cli")
        cells = [str(i) for i in range(self.dialect.width)]
        text = arrow.dictionary(arrow.int32(), arrow.string())
        types = {str(self._cells[x.name]): text if x.is_text else arrow.int64() for x in columns}
        if self.dialect.ends_in_delimiter:
            types[cells[-1]] = arrow.null()
        conversion = reader.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(self.missing | {""}),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        longest = max((sum(map(len, row)) + len(row) for row in self.dialect.sample), default=0)
        size = min(max(_BLOCK_BYTES, _ROWS_PER_BLOCK * longest), _MAX_BLOCK_BYTES)

        def options(size: int, has_quotes: bool) -> dict[str, Any]:
            return {
                "read_options": reader.ReadOptions(column_names=cells, block_size=size, use_threads=has_quotes),
                "parse_options": reader.ParseOptions(
                    delimiter=self.dialect.delimiter, newlines_in_values=has_quotes, ignore_empty_lines=False
                ),
                "convert_options": conversion,
            }

        def parse(block: bytes) -> list[Any]:
            table = reader.read_csv(arrow.BufferReader(block), **options(len(block) + 1, has_quotes=False))
            return list(table.to_batches())

        for batches in map_ahead(parse, body.unquoted_blocks(size), min(_MAX_THREADS, arrow.cpu_count())):
            yield from batches
        if body.has_quote:
            file = arrow.PythonFile(body, mode="r")
            yield from read_ahead(iter(reader.open_csv(file, **options(size, has_quotes=True))))

    def _range(self, part: Part) -> tuple[int, int]:
        """The bytes of the lines of a process: from the first that begins in its share."""
        size, body = self.source.size(), self.dialect.body
        with self.source.open() as stream:

            def line_start(share: int) -> int:
                if share == 0:
                    return body
                at = body + (size - body) * share // part.ranks
                stream.seek(at - 1)
                stream.readline()
                return int(stream.tell())

            return line_start(part.rank), size if part.rank + 1 == part.ranks else line_start(part.rank + 1)

    # --- faults -------------------------------------------------------------------------------------------

    def _fail(self, column: Column, error: Exception) -> Exception:
        return ValueError(f"{self.path}: column {column.name!r}: expected UTF-8 text; got other bytes ({error})")

    def _explained(self, error: Exception, columns: Sequence[Column]) -> Exception:
        text = str(error).split("\n")[0]
        found = re.search(r"In CSV column #(\d+).*conversion error to int64", text)
        if found is not None:
            place = int(found[1])
            names = [column.name for column in columns if self._cells[column.name] == place]
            names = names or [column.name for column in columns if not column.is_text]
            return ReadAsTextError(names)
        return self._fault(columns, text)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows below the header by Python's reader, each with the line on which it ends."""
        with self.source.open() as stream:
            _skip(stream, self.dialect.body, self.source.packing)
            text = io.TextIOWrapper(
                io.BufferedReader(_Unclosed(stream), 1 << 16), encoding="utf-8", errors="surrogateescape", newline=""
            )
            for line, row in rows_of(text, self.dialect.delimiter):
                yield line + self.dialect.first_line - 1, row

    def _fault(self, columns: Sequence[Column], reason: str | None) -> ValueError:
        said = f"{reason or 'an unreadable file'} (is a quote left open?)"
        return self._find_fault(columns) or ValueError(f"{self.path}: expected CSV; got {said}")

    def _find_fault(self, columns: Sequence[Column]) -> ValueError | None:
        """The first fault in the file, if there is one."""
        width, line = self.dialect.width, self.dialect.first_line
        places = {self._cells[column.name]: column.name for column in columns}
        header = [name.strip() for name in self.dialect.names]
        empty: int | None = None
        for line, row in self._rows():
            if not any(cell.strip() for cell in row):
                empty = line if empty is None else empty  # nothing, where it is at the end
                continue
            if empty is not None and width > 1:
                return self._wrong(empty, f"{width} cells, as in the first line", "an empty line")
            if len(row) != width:
                got = f"{len(row)}" + (" (is a quote left open?)" if any("\n" in cell for cell in row) else "")
                return self._wrong(line, f"{width} cells, as in the first line", got)
            if [cell.strip() for cell in row[: len(header)]] == header:
                return self._wrong(line, "labels", "the header again (were files put together? leave this line out)")
            for place, cell in enumerate(row):
                if "\ufeff" in cell and (place in places or place == 0):  # Arrow drops one at the start of a block
                    got = "a byte order mark (were files put together? remove it)"
                    return self._wrong(line, "one at the start of the file only", got)
                if "\0" in cell:
                    return self._wrong(line, "text", "another binary file")
                if place not in places:
                    continue
                if any("\udc80" <= x <= "\udcff" for x in cell):
                    byte = next(ord(x) - 0xDC00 for x in cell if "\udc80" <= x <= "\udcff")
                    return self._wrong(line, "UTF-8 text", f"byte {byte:#04x} on line {line} (save it in UTF-8)")
                if "\n" in cell or "\r" in cell:
                    got = "a line break (is a quote left open?)"
                    return self._wrong(line, f"a label on one line in column {places[place]!r}", got)
            if self.dialect.ends_in_delimiter and row[-1].strip():
                return self._wrong(line, "an empty last cell, as in the first lines", repr(row[-1]))
        return None

    def _wrong(self, line: int, expected: str, got: str) -> ValueError:
        return ValueError(f"{self.path}: line {line}: expected {expected}; got {got}")

    def _check_quotes(self, columns: Sequence[Column]) -> None:
        """Raise where a quote that is left open hides rows; only called where a cell holds a line break."""
        with self.source.open() as stream:
            _skip(stream, self.dialect.body, self.source.packing)
            text = io.TextIOWrapper(
                io.BufferedReader(_Unclosed(stream), 1 << 16), encoding="utf-8", errors="surrogateescape", newline=""
            )
            reader = csv.reader(text, delimiter=self.dialect.delimiter, strict=True)
            try:
                for row in reader:
                    del row
            except csv.Error as error:
                line = reader.line_num + self.dialect.first_line - 1
                raise self._wrong(line, "CSV", f"{error} (is a quote left open?)") from None

    def _check_repeated_header(self, columns: Sequence[Column]) -> None:
        names = {name: name in map(str.strip, column.vocabulary) for column in columns for name in [column.name]}
        if names and all(names.values()) and (fault := self._find_fault(columns)) is not None:
            raise fault

    def place(self, name: str, is_wanted: Callable[[str | None], bool]) -> str:
        cell = self._cells[name]
        for line, row in self._rows():
            if cell < len(row):
                text = row[cell]
                missing = not text.strip() or text.strip() in self.missing
                if is_wanted(None if missing else text) or is_wanted(text):
                    return f"line {line}"
        return ""


class _Unclosed(io.RawIOBase):
    """A stream that stays open when its reader is closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _skip(stream: Any, size: int, packing: str | None) -> None:
    if packing is None:
        stream.seek(size)
        return
    left = size
    while left:
        left -= len(stream.read(left)) or left
