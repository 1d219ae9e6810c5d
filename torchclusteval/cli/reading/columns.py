"""Columns of labels as they come from files: whole numbers, or places among spellings; and what spellings mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import numpy as np

from torchclusteval.labels.sources import LabelSource, indexed

Array = np.ndarray
SPELLINGS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)", re.ASCII)
_PLAIN = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_BLANKS = " \t\r\n\v\f"

Label = int | str | None  # None: missing


def whole_number(text: str) -> int | None:
    """The whole number that a text stands for (``3``, ``3.0``, ``3e0``), or None."""
    if re.fullmatch(r"\s*[+-]?\d{1,300}\s*", text, re.ASCII):
        return int(text)
    if not is_number(text) or not abs(float(text)) < 1e300:
        return None
    try:
        exact = Decimal(text.strip())
    except InvalidOperation:  # an exponent of a score of digits
        return None
    return int(exact) if exact == exact.to_integral_value() else None


@lru_cache(1 << 16)
def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def is_plain(cell: str) -> bool:
    """Whether a whole number is spelled in the shortest way."""
    return _PLAIN.fullmatch(cell) is not None


class WrongKindError(Exception):
    """What labels are shows only beside all others of their column."""


class BadSpellingError(Exception):
    """A spelling that is no label, what is expected and what it is."""

    def __init__(self, spelling: str, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.spelling, self.expected, self.got = spelling, expected, got


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of some items of a column."""

    values: Array  # (N,) int64 whole numbers, or integer places in ``texts``
    missing: Array | None = None  # (N,) bool: whole numbers that are none
    texts: Sequence[str | None] | None = None  # the labels without blanks around them; None: missing

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_missing(self) -> Array:
        """``(N,)`` bool."""
        if self.texts is None:
            return np.zeros(len(self), bool) if self.missing is None else self.missing
        return np.array([text is None for text in self.texts], bool)[self.values]

    def as_texts(self) -> "Labels":
        """Whole numbers as text."""
        if self.texts is not None:
            return self
        numbers, places = np.unique(self.values, return_inverse=True)
        texts: list[str | None] = [*map(str, numbers.tolist())]
        if self.missing is not None:
            places = np.where(self.missing, len(numbers), places)
            texts.append(None)
        return Labels(places, None, texts)

    def numbers(self) -> list[int | None]:
        """The whole numbers that the texts stand for.

        Raises:
            BadSpellingError: one stands for none.
        """
        assert self.texts is not None
        numbers = []
        for text in self.texts:
            numbers.append(None if text is None else whole_number(text))
            if text is not None and numbers[-1] is None:
                raise BadSpellingError(text, "a whole number or text", repr(text))
        return numbers

    def has(self, label: int | str) -> bool:
        """Whether an item has this label."""
        return bool((self.values == label).any()) if self.texts is None else label in self.texts

    def source(self) -> LabelSource:
        """What ``ContingencyTables.from_labels`` takes."""
        if self.texts is not None:
            return indexed(self.values, self.texts)
        return LabelSource(self.values, missing=self.missing)


def read_texts(spellings: Sequence[str | None], missing: frozenset[str]) -> list[str | None]:
    """The labels that cells spell; ``missing``: spellings of missing labels, which may stand between blanks.

    Raises:
        BadSpellingError: a cell holds no label.
    """
    return [None if x is None else _read_text(x, missing) for x in spellings]


@lru_cache(1 << 16)  # labels come again in every block
def _read_text(spelling: str, missing: frozenset[str]) -> str | None:
    text = spelling.strip(_BLANKS)
    if "\n" in spelling or "\r" in spelling:
        raise BadSpellingError(spelling, "a label on one line", "one with a line break (is a quote left open?)")
    if text and text != spelling and text.startswith('"'):
        raise BadSpellingError(spelling, "a quote at the start of its cell", f"blanks before it: {spelling!r}")
    return None if not text or (text != spelling and text in missing) else text
