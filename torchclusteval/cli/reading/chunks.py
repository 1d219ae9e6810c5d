"""Text tables larger than memory: the lines of a file, or of one process's part of it, some megabytes at a time."""

import gzip
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from torchclusteval.cli.reading.cell_text import is_plain, whole_number
from torchclusteval.cli.reading.files import STDIN, LabelFile, Labels, parse_table

_BLOCK = 1 << 21  # bytes; as Python objects a block of text takes up to fifty times as much
_LONGEST = 1 << 16  # bytes that a quoted line break may be away
_FIRST_WORD = -(2**62)  # words are numbered downwards from here, away from labels that are whole numbers

T = TypeVar("T")


@dataclass(frozen=True)
class ChunkedTable:
    """A text table with a header line, as ``read_table`` takes it, plain or gzip, or ``-`` for standard input."""

    path: str
    rank: int = 0  # of this process among those that share the file
    ranks: int = 1  # more than one need a plain file
    block: int = _BLOCK  # bytes to read at a time

    def read(self, use: Callable[[LabelFile], T], progress: Callable[[int, int], object] | None = None) -> Iterator[T]:
        """What ``use`` makes of each chunk of lines.

        Args:
            use: takes a chunk as a file; its errors get the line numbers of the whole file.
            progress: called with the bytes that have been read and all there are, where that is known.

        Raises:
            ValueError: the contents are no text table, or cannot be shared; the message says where.
            OSError: the file cannot be read.
        """
        with self._open() as (stream, size, position):
            header = _read_header(stream)
            start, end = self._part(stream, len(header), size)
            at, lines, rows = start, 0, False
            while data := _read_lines(stream, min(self.block, max(0, end - at))):
                if data.strip():
                    yield self._use(use, header + data, lines, start)
                    rows = True
                at, lines = at + len(data), lines + data.count(b"\n")
                if progress is not None and size:
                    progress(position(), size)
            if not rows and self.ranks == 1:  # the part of one of several processes may be empty
                self._use(use, header, 0, start)

    def _use(self, use: Callable[[LabelFile], T], data: bytes, lines: int, start: int) -> T:
        try:
            if not data.strip():
                raise ValueError(f"{self.path}: expected labels; the file is empty")
            return use(parse_table(data, self.path))
        except ValueError as error:
            above = lines + self._lines_above(start)
            moved = re.sub(r"(?<=[:,] line )\d+(?=:)", lambda x: str(int(x[0]) + above), str(error), count=1)
            raise ValueError(moved) from None

    def _part(self, stream: IO[bytes], first: int, size: int) -> tuple[int, int]:
        """Where this process's lines begin, in bytes, and before which byte they do; the stream goes to the first."""
        if self.ranks == 1:
            return first, sys.maxsize
        start, end = (first + (size - first) * rank // self.ranks for rank in (self.rank, self.rank + 1))
        if self.rank > 0:
            stream.seek(start - 1)
            start += len(stream.readline()) - 1  # what another part began
        return start, max(start, end)

    def _lines_above(self, start: int) -> int:
        """Lines that other parts hold between the header and this part."""
        if self.rank == 0:
            return 0
        with self._open() as (stream, _, _):
            first = len(_read_header(stream))
            sizes = range(first, start, self.block)
            return sum(stream.read(min(self.block, start - at)).count(b"\n") for at in sizes)

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], int, Callable[[], int]]]:
        """The text, the size of the file that it comes from (0: unknown), and how far that has been read."""
        if self.path == STDIN and sys.stdin is None:
            raise ValueError("standard input: expected labels; it is closed")
        with sys.stdin.buffer if self.path == STDIN else Path(self.path).open("rb") as file:
            size = 0 if self.path == STDIN else Path(self.path).stat().st_size
            kind = file.peek(6)[:6]  # type: ignore[union-attr]
            if kind.startswith((b"\x93NUMPY", b"PK")):
                raise ValueError(f"{self.path}: expected CSV or TSV text to read in chunks; got .npy, .npz or zip")
            packed = kind.startswith(b"\x1f\x8b")
            if self.ranks > 1 and (packed or not size):
                got = "a gzip file" if packed else "a stream"
                raise ValueError(f"{self.path}: expected a plain file for {self.ranks} processes; got {got}")
            position = file.tell if size else lambda: 0
            if packed:
                try:
                    with gzip.GzipFile(fileobj=file) as text:
                        yield text, size, position  # type: ignore[misc]
                except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                    raise ValueError(f"{self.path}: expected a whole gzip file; it is damaged ({error})") from None
            else:
                yield file, size, position


def _read_header(stream: IO[bytes]) -> bytes:
    """The first line that is not blank, with those above."""
    header = line = _read_line(stream)
    while line and not line.strip():
        line = _read_line(stream)
        header += line
    return header


def _read_lines(stream: IO[bytes], size: int) -> bytes:
    """About ``size`` bytes, to the end of a line."""
    data = stream.read(size)
    return data if not data or (data.endswith(b"\n") and _is_closed(data)) else data + _read_line(stream, data)


def _read_line(stream: IO[bytes], before: bytes = b"") -> bytes:
    """The rest of a line, which may go on within quotes (not for ever: a lone quote can be part of a label)."""
    line = stream.readline()
    closed = _is_closed(before) == _is_closed(line)
    while not closed and len(line) < _LONGEST and (more := stream.readline()):
        line += more
        closed ^= not _is_closed(more)
    return line


def _is_closed(data: bytes) -> bool:
    return data.count(b'"') % 2 == 0


@dataclass(eq=False)
class Numbering:
    """One number for each label, in chunks that are read as whole numbers or as text, whichever they look like."""

    words: dict[str, int] = field(default_factory=dict)  # labels that are no numbers, or far from 0

    def encode(self, columns: Sequence[Labels]) -> np.ndarray:
        """Labels of a batch of columns, ``(B, N)`` int64."""
        return np.stack([self._encode(column) for column in columns])

    def _encode(self, column: Labels) -> np.ndarray:
        if column.vocabulary is not None:
            return np.array([self.number(word) for word in column.vocabulary], np.int64)[column.values]
        if not column.values.size or (column.values.min() > _FIRST_WORD and column.values.max() < -_FIRST_WORD):
            return column.values
        labels, places = np.unique(column.values, return_inverse=True)
        return np.array([self.number(str(label)) for label in labels.tolist()], np.int64)[places]

    def number(self, label: str) -> int:
        """The number of a label; a new word gets a new one."""
        label = label.strip()
        if is_plain(label) and abs(int(label)) < -_FIRST_WORD:
            return int(label)
        return self.words.setdefault(label, _FIRST_WORD - len(self.words))

    @property
    def long_numbers(self) -> dict[str, str]:
        """Whole numbers among the words that are not written in the shortest way -> that way: 07 -> 7."""
        found = {word: whole_number(word) for word in self.words}
        return {word: str(whole) for word, whole in found.items() if whole is not None and str(whole) != word}

    def shorten(self, numbers: np.ndarray) -> np.ndarray:
        """The same for the numbers of labels, ``(N,)``: those of a column without words."""
        pairs = sorted((self.words[word], self.number(short)) for word, short in self.long_numbers.items())
        if not pairs:
            return numbers
        old, new = np.array(pairs, np.int64).T
        at = np.searchsorted(old, numbers).clip(max=len(old) - 1)
        return np.where(old[at] == numbers, new[at], numbers)

    def settle(self, words: Iterable[str]) -> Callable[[np.ndarray], np.ndarray]:
        """Number these words, which include all that are known here, in their order.

        Returns:
            A function that turns old numbers into new ones.
        """
        ordered = sorted(words)
        settled = {word: _FIRST_WORD + 1 - len(ordered) + i for i, word in enumerate(ordered)}  # the next one is free
        new = np.array([settled[word] for word in self.words], np.int64)  # by the order of the old ones
        self.words = settled

        def renumber(numbers: np.ndarray) -> np.ndarray:
            words = numbers <= _FIRST_WORD
            return np.where(words, new[np.where(words, _FIRST_WORD - numbers, 0)], numbers) if len(new) else numbers

        return renumber
