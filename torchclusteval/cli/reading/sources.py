"""The bytes of a file or of standard input, unpacked; a pipe is kept in a temporary file, as it may be read twice."""

import bz2
import codecs
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress

STDIN = "-"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
PACKINGS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}  # by suffix
_SPOOL_BYTES = 1 << 26  # of a pipe that are kept in memory
_HEAD_BYTES = 1 << 20
_MARK = b"\xef\xbb\xbf"  # of the byte order


@dataclass(frozen=True, eq=False)
class Source:
    """A file that can be read several times."""

    path: str
    packing: str | None  # "gzip", "bz2", "zstd", "lz4" or None
    spool: IO[bytes] | None  # what came through a pipe
    state: tuple[int, int] | None  # size and time of change when it was first opened

    @classmethod
    def open_path(cls, path: str) -> "Source":
        """A file, or ``-`` for standard input.

        Raises:
            OSError: it cannot be read.
        """
        spool = None
        if path == STDIN:
            if sys.stdin is None:
                raise ValueError("standard input: expected labels; it is closed")
            spool = _spool(sys.stdin.buffer)
        elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "rb") as pipe:
                spool = _spool(pipe)
        state = None if spool is not None else _state(path)
        plain = cls(path, None, spool, state)
        with plain.open() as stream:
            start = stream.read(4)
        packing = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
        return cls(path, packing, spool, state)

    @property
    def is_plain_file(self) -> bool:
        return self.packing is None and self.spool is None

    @contextmanager
    def open(self) -> Iterator[Any]:
        """The unpacked bytes as a stream.

        Raises:
            ValueError: the packed file is damaged, or the file changed since it was first opened.
        """
        raw = _rewound(self.spool) if self.spool is not None else open(self.path, "rb")  # noqa: SIM115
        try:
            yield _unpack(raw, self.packing)
            if self.state is not None and self.state != _state(self.path):
                raise ValueError(f"{self.path}: expected a file that stays as it is; it changed while it was read")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(self.damage(error)) from None
        except OSError as error:
            if self.packing is None or error.errno is not None:
                raise
            raise ValueError(self.damage(error)) from None
        finally:
            if self.spool is None:
                raw.close()

    def damage(self, error: Exception) -> str:
        return f"{self.path}: expected a complete {self.packing} file; it is damaged ({error})"

    def head(self) -> tuple[bytes, bool]:
        """The first bytes, with at least three lines if there are so many, and whether they are all."""
        with self.open() as stream:
            data = b""
            while True:
                more = stream.read(_HEAD_BYTES)
                data += more
                if not more:
                    return data, True
                if len(data) > _HEAD_BYTES and data.count(b"\n") + data.count(b"\r") > 2:
                    return data, False

    def size(self) -> int:
        """Bytes of the file as it is stored."""
        if self.spool is not None:
            return self.spool.seek(0, os.SEEK_END)
        return os.path.getsize(self.path)


def _state(path: str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def _spool(stream: IO[bytes]) -> IO[bytes]:
    kept: IO[bytes] = io.BytesIO()
    while block := stream.read(_HEAD_BYTES):
        if isinstance(kept, io.BytesIO) and kept.tell() > _SPOOL_BYTES:
            written = kept.getvalue()
            kept = tempfile.TemporaryFile()  # noqa: SIM115
            kept.write(written)
        kept.write(block)
    return kept


def _rewound(stream: IO[bytes]) -> IO[bytes]:
    stream.seek(0)
    return stream


def _unpack(raw: IO[bytes], packing: str | None) -> Any:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if packing == "bz2":
        return bz2.BZ2File(raw)
    if packing is None:
        return raw
    arrow = import_optional("pyarrow", "cli")
    return arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), packing)


class Body:
    """The rows of a text file as a stream for the CSV reader: without lines of empty cells at the end.

    It notes what the reader does not say: the number of lines, and suspicious bytes.
    """

    def __init__(
        self, stream: Any, start: int, stop: int | None, blanks: bytes, progress: Progress | None, size: int
    ) -> None:
        self.stream, self.left, self.blanks = stream, None if stop is None else stop - start, blanks
        self.progress, self.size = progress, size
        self.unread = b""  # read already, and returned by the next read
        self.held = b""  # empty cells and line ends, which may be the last
        self.closed = False
        self.newlines = self.returns = self.length = 0
        self.has_nul = self.has_quote = self.has_mark = self.has_other_bytes = self.has_hexadecimal = (
            self.has_empty_line
        ) = False
        self.last = b"\n"
        self.tail = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def unquoted_blocks(self, size: int) -> Iterator[bytes]:
        """Blocks of complete lines of about this many bytes, until one has a quote: that is left to :meth:`read`."""
        lines = rest = b""  # a block waits for the next, since the last line may have no end
        while data := self.read(size):
            rest += data
            if self.has_quote:
                self.unread = lines + rest
                return
            if end := rest.rfind(b"\n") + 1:
                if lines:
                    yield lines
                lines, rest = rest[:end], rest[end:]
        if lines or rest:
            yield lines + rest

    def read(self, size: int = -1) -> bytes:
        if self.unread:
            data, self.unread = self.unread, b""
            return data
        while True:
            wanted = 1 << 20 if size is None or size < 0 else size
            data = self.stream.read(wanted if self.left is None else min(wanted, self.left))
            if self.left is not None:
                self.left -= len(data)
            if self.progress is not None:
                position = self.stream.fileobj if hasattr(self.stream, "fileobj") else self.stream
                self.progress(min(position.tell(), self.size), self.size)
            if not data:
                return self._end()
            data = self.held + data
            kept = data.rstrip(self.blanks)
            self.held = data[len(kept) :]
            if kept:
                return self._note(kept)

    def _end(self) -> bytes:
        """What is held back belongs to the last row up to the end of its line."""
        held, self.held = self.held, b""
        ends = [at for at in (held.find(b"\n"), held.find(b"\r")) if at >= 0]
        rest = held[: min(ends)] if ends else held
        if not self.length and not rest.strip():
            return b""
        return self._note(rest) if rest else b""

    def _note(self, data: bytes) -> bytes:
        self.length += len(data)
        view = np.frombuffer(data, np.uint8)  # bytes.count and two bytes with "in" take ten times as long
        feeds, returns = view == ord("\n"), view == ord("\r") if b"\r" in data else None
        self.newlines += int(np.count_nonzero(feeds))
        follows = self.last in (b"\n", b"\r") and data[:1] in (b"\n", b"\r") and self.last + data[:1] != b"\r\n"
        self.has_empty_line |= follows or bool((feeds[:-1] & feeds[1:]).any())
        if returns is not None:
            self.returns += int(np.count_nonzero(returns))
            self.has_empty_line |= bool(((feeds | returns)[:-1] & returns[1:]).any())
        self.has_nul |= b"\0" in data
        self.has_quote |= b'"' in data
        if not self.has_other_bytes and (not data.isascii() or self.decoder.getstate()[0]):
            try:
                self.decoder.decode(data)
            except UnicodeDecodeError:
                self.has_other_bytes = True
        across = self.tail + data[:2]
        self.has_mark |= (b"\xef" in data and _MARK in data) or _MARK in across
        self.tail = (self.tail + data[-2:])[-2:]
        if not self.has_hexadecimal and (b"x" in data or b"X" in data):
            split = self.last == b"0" and data[:1] in (b"x", b"X")
            self.has_hexadecimal = split or b"0x" in data or b"0X" in data
        self.last = data[-1:]
        return data

    @property
    def lines(self) -> int:
        """Lines of what was read, whose last line has no end."""
        return max(self.newlines, self.returns) + 1 if self.length else 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
