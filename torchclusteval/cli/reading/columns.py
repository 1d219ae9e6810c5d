"""Columns of labels while they are read: raw codes and spellings, and at the end the label of each code.

A column holds whole numbers, which are their own codes, or text, whose codes are indices in its vocabulary of raw
spellings. Only distinct labels are handled in Python.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

import numpy as np

Array = np.ndarray
MISSING = -(2**63)  # the code of a missing label
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


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def is_plain(cell: str) -> bool:
    """Whether a whole number is spelled in the shortest way."""
    return _PLAIN.fullmatch(cell) is not None


class ReadAsTextError(Exception):
    """Columns that were read as whole numbers hold something else: the table has to be read again."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(*names)
        self.names = names


class BadLabelError(Exception):
    """A spelling in a column that is no label."""

    def __init__(self, column: "Column", spelling: str | None, expected: str, got: str) -> None:
        super().__init__(column.name, spelling)
        self.column, self.spelling, self.expected, self.got = column, spelling, expected, got


@dataclass(eq=False)
class Column:
    """A column of a table while it is read."""

    name: str
    is_text: bool
    spellings: frozenset[str] = frozenset()  # of missing labels, which may stand between blanks
    vocabulary: dict[str, int] = field(default_factory=dict)  # raw spelling -> code
    n_missing: int = 0

    def codes_of(self, spellings: Sequence[str]) -> Array:
        """Codes of spellings, int64; new spellings get new codes."""
        known = self.vocabulary
        return np.fromiter((known.setdefault(x, len(known)) for x in spellings), np.int64, len(spellings))

    def from_numpy(self, array: Array) -> Array:
        """Codes of the entries of an array; missing are nan and empty text.

        Raises:
            ReadAsTextError: the column was taken for whole numbers and has others.
            BadLabelError: an entry is no label.
        """
        kind = array.dtype.kind
        if kind in "fc" and not self.is_text:
            return self._from_floats(array)
        if kind in "biu" and not self.is_text and not (kind == "u" and array.size and int(array.max()) >= 2**63):
            return array.astype(np.int64, copy=False)
        if kind not in "biuUSf":
            remedy = " (for labels that are dates: array.astype(str))" if kind in "mM" else ""
            raise BadLabelError(self, None, "whole numbers or text", f"an array of {array.dtype}{remedy}")
        if not self.is_text:
            raise ReadAsTextError([self.name])
        texts = np.char.decode(array, "utf-8", "backslashreplace") if kind == "S" else array.astype(str)
        distinct, places = np.unique(texts, return_inverse=True)
        return self.codes_of(distinct.tolist())[places]

    def _from_floats(self, array: Array) -> Array:
        if array.dtype.kind == "c":
            raise BadLabelError(self, None, "whole numbers or text", f"an array of {array.dtype}")
        array = array if array.dtype.itemsize > 8 else array.astype(np.float64)  # 2**63 is no float16
        missing = np.isnan(array)
        wrong = array[~missing & ~((array == np.trunc(array)) & (np.abs(array) < 2.0**63))]
        if len(wrong):
            raise BadLabelError(self, str(wrong[0]), "a whole number", str(wrong[0]))
        self.n_missing += int(missing.sum())
        return np.where(missing, MISSING, np.where(missing, 0, array).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Distinct:
    """The different labels of a column, with codes ``0..K-1`` for them: -1 for missing labels."""

    raw: Array  # (R,) int64 raw codes, ascending
    codes: Array  # (R,) int64 code of each raw code: different spellings of a label share one
    labels: Sequence[Label] | Array  # (K,) the label of each code
    is_numeric: bool

    def encode(self, raw: Array) -> Array:
        """Codes of raw codes that all are among the distinct ones."""
        return self.codes[np.searchsorted(self.raw, raw)]

    def find(self, label: str) -> int | None:
        """The code of a label as a user spells it, or None."""
        number = whole_number(label)
        if isinstance(self.labels, np.ndarray):
            if number is None or not -(2**63) <= number < 2**63:
                return None
            places = np.flatnonzero(self.labels == number)
            return int(places[0]) if len(places) else None
        tried = (number,) if self.is_numeric else (label.strip(), str(number))
        return next((self.labels.index(x) for x in tried if x is not None and x in self.labels), None)


def distinct_labels(column: Column, raw: Array, counts: Array) -> Distinct:
    """The labels behind raw codes: numbers where all labels of the column are whole numbers, else text without blanks.

    Args:
        column: as it is after reading.
        raw: the distinct raw codes, ascending.
        counts: how often each comes.

    Raises:
        BadLabelError: a spelling is no label.
        ReadAsTextError: a column of whole numbers has one that stands for missing labels too.
    """
    if not column.is_text:
        is_missing = (raw == MISSING) & (column.n_missing > 0)
        if is_missing.any() and counts[is_missing].sum() != column.n_missing:
            raise ReadAsTextError([column.name])
        return Distinct(raw, np.where(is_missing, -1, np.cumsum(~is_missing) - 1), raw[~is_missing], True)
    spellings = list(column.vocabulary)
    texts = [None if code == MISSING else _text(column, spellings[code]) for code in raw.tolist()]
    labels: list[Label] = list(texts)
    is_numeric = all(text is None or is_number(text) for text in texts)
    if is_numeric:
        labels = [None if text is None else whole_number(text) for text in texts]
        for code, text, number in zip(raw.tolist(), texts, labels, strict=True):
            if text is not None and number is None:
                raise BadLabelError(column, spellings[code], "a whole number or text", repr(text))
    places: dict[Label, int] = {label: place for place, label in enumerate(_sorted(labels))}
    codes = np.array([-1 if label is None else places[label] for label in labels], np.int64)
    return Distinct(raw, codes, list(places), is_numeric)


def _sorted(labels: Sequence[Label]) -> list[Label]:
    different = {label for label in labels if label is not None}
    return sorted(different, key=lambda label: (isinstance(label, str), label))


def _text(column: Column, spelling: str) -> str | None:
    if "\n" in spelling or "\r" in spelling:
        got = "one with a line break (is a quote left open?)"
        raise BadLabelError(column, spelling, "a label on one line", got)
    text = spelling.strip(_BLANKS)
    if not text or (text != spelling and text in column.spellings):
        return None
    if text != spelling and text.startswith('"'):
        raise BadLabelError(column, spelling, "a quote at the start of its cell", f"blanks before it: {spelling!r}")
    return text
