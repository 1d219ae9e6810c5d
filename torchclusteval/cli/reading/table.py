"""The interface of all kinds of files: named columns, with labels in blocks of rows."""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from torchclusteval.common.progress import Progress
from torchclusteval.labels.integers import to_integers
from torchclusteval.labels.sources import LabelSource, codes_of_dictionary, read_arrow, read_labels
from torchclusteval.labels.spelled import BadSpellingError, read_spelled

Item = TypeVar("Item")
Blocks = Iterator[list[LabelSource]]
_END: Any = object()


class WrongKindError(Exception):
    """Only the whole column shows what its labels are."""


class Table(Protocol):
    """A file of labels."""

    path: str
    names: list[str]  # columns, without those that hold names of rows
    row_names: str | None = None  # the column of the names of rows
    levels: Sequence[str] = ()  # columns that are parts of the names of rows
    remedy: str = ""  # in errors: what to give in place of a folder
    is_range: bool = False  # whether the names of rows are a range of numbers, as pandas gives them where nobody does

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        """Labels by blocks of rows: whole numbers, or text; those of ``as_text`` are text.

        Raises:
            WrongKindError: a column, taken for whole numbers by its first rows, has other labels or spellings.
        """

    def place(self, row: int) -> str:
        """Where a row is, such as ``line 7``."""

    def name_rows(self, name: str) -> None:
        """Take a column as the names of rows."""
        self.row_names, self.names = name, [x for x in self.names if x != name]


def read_column(table: Table, name: str, first: int, column: Any, missing: frozenset[str] = frozenset()) -> LabelSource:
    """Labels from row ``first`` on (Arrow or NumPy); ``missing``: spellings of missing ones. Raise on what is none."""
    has_order = False
    try:
        if hasattr(column, "dictionary_encode") and "string" in str(column.type):
            column = column.dictionary_encode()
            (codes, cells), has_order = codes_of_dictionary(column), column.type.ordered
        else:
            source = read_arrow(column, "") if hasattr(column, "null_count") else read_labels(column, "")
            codes, cells = np.asarray(source.values), source.vocabulary
            if cells is None and codes.dtype == np.uint64 and bool((codes >= 2**63).any()):
                cells, codes = np.unique(codes, return_inverse=True)
            elif cells is None and codes.dtype.kind == "i":
                return source
            elif cells is None:
                ids = to_integers(source, "", torch.device("cpu"))
                return LabelSource(ids.values.numpy(), missing=None if ids.missing is None else ids.missing.numpy())
            codes = codes if source.missing is None else np.where(source.missing, -1, codes.astype(np.int64))
            cells = [*map(str, cells)]
    except ValueError as error:
        said = re.match(r"[^:]*: expected (.*?); got (.*?)(?: at position (\d+).*)?$", str(error), re.DOTALL)
        if said is None:
            raise wrong_label(table, name, None, "UTF-8 text", f"other bytes ({error})") from None
        raise wrong_label(table, name, None if said[3] is None else first + int(said[3]), said[1], said[2]) from None
    try:
        return read_spelled(codes, cells, missing, has_order=has_order)
    except BadSpellingError as error:
        raise bad_spelling(table, name, first, codes, cells, error) from None


def bad_spelling(
    table: Table, name: str, first: int, codes: np.ndarray, cells: Sequence[Any], error: BadSpellingError
) -> ValueError:
    """The error for a cell that is not a label, with its place."""
    row = first + int(np.isin(codes, [i for i, cell in enumerate(cells) if cell == error.spelling]).argmax())
    remedy = f"if this column is no clustering: --exclude {name!r}" if len(table.names) > 1 else ""
    return wrong_label(table, name, row, error.expected, error.got, remedy)


def wrong_label(table: Table, name: str, row: int | None, expected: str, got: str, remedy: str = "") -> ValueError:
    """The error for a cell that is no label: file, column, line, remedy."""
    column = f"column {name!r}" if len(table.names) > 1 or table.row_names else ""
    at = ", ".join(filter(None, (column, "" if row is None else table.place(row))))
    hint = f" ({remedy})" if remedy else ""
    return ValueError(": ".join(filter(None, (table.path, at, f"expected {expected}; got {got}{hint}"))))


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Make the items in a thread, two ahead; errors come in their place."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, items, _END) for _ in range(2))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(thread.submit(next, items, _END))
            yield item
