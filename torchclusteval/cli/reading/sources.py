"""The bytes of a file or of standard input, unpacked; a pipe is kept in a temporary file, as it may be read again."""

import csv
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from torchclusteval.cli.reading.dialect import Dialect
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress

STDIN = "-"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
PACKINGS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}  # by suffix
_HEAD_BYTES = 1 << 20


class Source:
    """A file that can be read several times, or what came through a pipe or standard input (``-``)."""

    def __init__(self, path: str) -> None:
        self.path = self.file = path
        if path == STDIN:
            if sys.stdin is None:
                raise ValueError("standard input: expected labels; it is closed")
            self._copy(sys.stdin.buffer)
        elif os.path.exists(path) and not os.path.isfile(path):
            with open(path, "rb") as pipe:
                self._copy(pipe)
        with open(self.file, "rb") as self._raw:
            start = self._raw.read(4)
        self.packing = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
        self._state = _state(self.file)

    def _copy(self, stream: IO[bytes]) -> None:
        handle, self.file = tempfile.mkstemp()
        weakref.finalize(self, os.unlink, self.file)
        with open(handle, "wb") as file:
            shutil.copyfileobj(stream, file)

    @contextmanager
    def open(self) -> Iterator[Any]:
        """The unpacked bytes as a stream; raise on a damaged file, or one that changed since it was first opened."""
        try:
            with open(self.file, "rb") as self._raw, self.unchanged():
                yield _unpack(self._raw, self.packing)
        except OSError as error:
            if self.packing is None or error.errno is not None:
                raise
            raise ValueError(f"{self.path}: expected a complete {self.packing} file; it is damaged ({error})") from None

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise if the file has changed since it was first opened; this error replaces any other."""
        changed = f"{self.path}: expected a file that stays as it is; it changed while it was read"
        try:
            yield
        except Exception:
            if self._state != _state(self.file):
                raise ValueError(changed) from None
            raise
        if self._state != _state(self.file):
            raise ValueError(changed)

    def show(self, progress: Progress | None) -> None:
        """Say how far the open file is read."""
        if progress is not None:
            progress(self._raw.tell(), self._state[0])

    def head(self) -> tuple[bytes, bool]:
        """The first bytes, with at least three lines if there are so many, and whether they are all."""
        with self.open() as stream:
            data = b""
            while more := stream.read(_HEAD_BYTES):
                data += more
                if len(data) > _HEAD_BYTES and data.count(b"\n") + data.count(b"\r") > 2:
                    return data, False
            return data, True

    def all_bytes(self) -> bytes:
        with self.open() as stream:
            return bytes(stream.read())


def _state(path: str) -> tuple[int, int]:
    """Size and time of change."""
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def _unpack(raw: Any, packing: str | None) -> Any:
    if packing is None:
        return raw
    arrow = import_optional("pyarrow", "cli")
    return arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), packing)


class Rows:
    """The rows of a text file in blocks for pyarrow, with ``\\n`` at the end of lines and no empty rows at the end.

    Bytes that pyarrow would misread in silence are refused or noted here.
    """

    def __init__(self, stream: Any, path: str, dialect: Dialect) -> None:
        self._stream, self._path, self._dialect = stream, path, dialect
        self.n_lines = 0
        self.has_quote = self.has_hexadecimal = self.has_empty_line = self.has_bad_quote = False
        self.bad_text: ValueError | None = None  # the error for the first bytes that are no UTF-8
        skip = dialect.body
        while skip > 0:
            skip -= len(stream.read(skip)) or skip

    def pieces(self, size: int) -> Iterator[bytes]:
        """Complete lines; empty rows wait for the next piece, as they may be the last."""
        blanks, rest = f"{self._dialect.delimiter} \t\r\n".encode(), b""
        while new := self._stream.read(size):
            data = rest + new
            end = len(data) - data.endswith(b"\r")  # the line feed of this carriage return may come
            if b"\r" in data:
                data = data[:end].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + data[end:]
            filled = len(data[: data.rfind(b"\n") + 1].rstrip(blanks))
            end = data.find(b"\n", filled) + 1 if filled else 0
            rest = data[end:]
            if end:
                yield self._checked(data[:end])
        rest = rest.replace(b"\r", b"\n")
        filled = len(rest.rstrip(blanks))
        if filled:
            yield self._checked(rest[:filled] + rest[filled:].partition(b"\n")[0] + b"\n")

    def blocks(self, size: int) -> Iterator[bytes]:
        """Blocks of complete rows of about this many bytes."""
        rest = b""
        for data in self.pieces(size):
            is_inside = b'"' not in data and rest.count(b'"') % 2  # a quoted cell goes on
            rest += data
            if is_inside:
                continue
            end = _end_of_rows(rest, self._dialect.delimiter) if b'"' in rest else len(rest)
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest

    def _checked(self, data: bytes) -> bytes:
        if b"\0" in data:
            raise self._fault(data, data.index(b"\0"), "text", "another binary file")
        if not data.isascii():
            if (at := data.find(b"\xef\xbb\xbf")) >= 0:
                got = "another (were files put together? remove it)"
                raise self._fault(data, at, "a byte order mark at the start of the file only", got)
            try:
                data.decode()
            except UnicodeDecodeError as error:
                got = f"byte {data[error.start]:#04x} on line {self._line(data, error.start)} (save it in UTF-8)"
                self.bad_text = self.bad_text or self._fault(data, error.start, "UTF-8 text", got)
                quoted = [line for line in data.split(b"\n") if b'"' in line]
                self.has_bad_quote |= any(line.decode("utf-8", "ignore").encode() != line for line in quoted)
        self.has_quote |= b'"' in data
        if b"x" in data or b"X" in data:
            self.has_hexadecimal |= b"0x" in data or b"0X" in data
        ends = np.frombuffer(data, np.uint8) == ord("\n")
        empty = ends[1:] & ends[:-1]
        if ends[0] or empty.any():
            if not self.has_quote:
                at = 0 if ends[0] else int(empty.argmax()) + 1
                raise self._fault(data, at, f"{self._dialect.width} cells, as in the first line", "an empty line")
            self.has_empty_line = True
        self.n_lines += int(np.count_nonzero(ends))
        return data

    def _line(self, data: bytes, at: int) -> int:
        return self._dialect.first_line + self.n_lines + data[:at].count(b"\n")

    def _fault(self, data: bytes, at: int, expected: str, got: str) -> ValueError:
        return ValueError(f"{self._path}: line {self._line(data, at)}: expected {expected}; got {got}")


def _end_of_rows(data: bytes, delimiter: str) -> int:
    """End of the last row that is certainly complete; quoted cells may have several lines."""
    view = np.frombuffer(data, np.uint8)
    quotes, ends = np.flatnonzero(view == ord('"')), np.flatnonzero(view == ord("\n"))
    if not (np.searchsorted(quotes, ends) % 2).any():
        return len(data)
    lines = data.split(b"\n")[:-1]
    before = last = 0
    reader = csv.reader((line.decode("latin-1") + "\n" for line in lines), delimiter=delimiter)
    for _ in reader:
        before, last = last, reader.line_num
    return sum(len(line) + 1 for line in lines[:before])
