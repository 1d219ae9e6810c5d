"""Counts of one clustering by raw codes, in one array that grows with the ranges of the codes."""

from dataclasses import dataclass, field

import numpy as np

from torchclusteval.cli.reading.columns import MISSING, Array


@dataclass(frozen=True)
class CodeRange:
    """The raw codes of labels from ``low`` to ``high``; the missing code is not among them."""

    low: int = 0
    high: int = -1  # below ``low``: no labels

    @classmethod
    def of(cls, codes: Array) -> "CodeRange":
        """The range of the codes of a block, of at least one item."""
        low = int(codes.min())
        if low == MISSING:
            codes = codes[codes != MISSING]
            if not len(codes):
                return cls()
            low = int(codes.min())
        return cls(low, int(codes.max()))

    def __len__(self) -> int:
        return min(self.high - self.low + 1, 2**62)

    def __or__(self, other: "CodeRange") -> "CodeRange":
        if not len(self) or not len(other):
            return self if len(self) else other
        return CodeRange(min(self.low, other.low), max(self.high, other.high))

    def places(self, codes: Array) -> Array:
        """0 for missing labels, from 1 on for those of the range."""
        if not len(self):
            return np.zeros(len(codes), np.int64)
        places = codes - (self.low - 1)
        has_missing = codes.min() == MISSING
        return np.where(codes == MISSING, 0, places) if has_missing else places

    def codes(self, places: Array) -> Array:
        """The reverse of :meth:`places`."""
        codes = places + (self.low - 1)
        codes[places == 0] = MISSING
        return codes


@dataclass(eq=False)
class DenseCounts:
    """A table; its first row and column are for missing labels."""

    rows: CodeRange = field(default_factory=CodeRange)
    columns: CodeRange = field(default_factory=CodeRange)
    counts: Array = field(default_factory=lambda: np.zeros((1, 1), np.int64))

    def fits(self, rows: CodeRange, columns: CodeRange, most: int) -> bool:
        """Make place for more codes; False if the table then had more cells than ``most``."""
        if rows is self.rows and self.columns.low <= columns.low and columns.high <= self.columns.high:
            return True
        rows, columns = self.rows | rows, self.columns | columns
        if (rows, columns) == (self.rows, self.columns):
            return True
        shape = len(rows) + 1, len(columns) + 1
        if shape[0] * shape[1] > most:
            return False
        counts = np.zeros(shape, np.int64)
        row = self.rows.low - rows.low if len(self.rows) else 0
        column = self.columns.low - columns.low if len(self.columns) else 0
        height, width = self.counts.shape
        counts[0, 0] = self.counts[0, 0]
        counts[0, column + 1 : column + width] = self.counts[0, 1:]
        counts[row + 1 : row + height, 0] = self.counts[1:, 0]
        counts[row + 1 : row + height, column + 1 : column + width] = self.counts[1:, 1:]
        self.rows, self.columns, self.counts = rows, columns, counts
        return True

    @property
    def has_items(self) -> bool:
        return self.counts.size > 1 or bool(self.counts.any())

    def cells(self) -> tuple[Array, Array, Array]:
        """Class, cluster and count of the cells that are not 0, by raw codes."""
        flat = self.counts.reshape(-1)
        at = np.flatnonzero(flat)
        row, column = np.divmod(at, self.counts.shape[1])
        return self.rows.codes(row), self.columns.codes(column), flat[at]
