"""Labels as the cells of files spell them: whole numbers in any spelling, text without blanks, missing ones."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import numpy as np

from torchclusteval.labels.sources import LabelSource, indexed

SPELLINGS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")  # of missing labels

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)", re.ASCII)
_PLAIN = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_BLANKS = " \t\r\n\v\f"


class BadSpellingError(ValueError):
    """A cell that is not a label: its content, the expected kind and its own kind."""

    def __init__(self, spelling: str, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.spelling, self.expected, self.got = spelling, expected, got


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


def is_fraction(cell: str) -> bool:
    return is_number(cell) and whole_number(cell) is None


def comma_remedy(text: str) -> str:
    """What to write in place of a number with a decimal comma, in brackets; nothing for other text."""
    point = text.replace(",", ".")
    return f" (a decimal comma? write {point})" if point != text and is_number(point) else ""


def is_plain(cell: str) -> bool:
    """Whether a whole number is spelled in the shortest way."""
    return _PLAIN.fullmatch(cell) is not None


def read_spelled(
    codes: np.ndarray, spellings: Sequence[str | None], missing: frozenset[str], *, has_order: bool = False
) -> LabelSource:
    """The text of cells, given as indices into spellings, in any order; -1 and None are missing.

    ``missing``: spellings of missing labels, with or without blanks around them.
    A cell that holds no label is a ``BadSpellingError``.
    """
    texts = [None if x is None else _read_text(x, missing) for x in spellings]
    return replace(indexed(codes, texts, in_order=True), has_order=has_order)


@lru_cache(1 << 16)  # labels recur in every block
def _read_text(spelling: str, missing: frozenset[str]) -> str | None:
    text = spelling.strip(_BLANKS)
    if "\n" in spelling or "\r" in spelling:
        raise BadSpellingError(spelling, "a label on one line", "one with a line break (is a quote left open?)")
    if text and text != spelling and text.startswith('"'):
        raise BadSpellingError(spelling, "a quote at the start of its cell", f"blanks before it: {spelling!r}")
    return None if not text or (text != spelling and text in missing) else text


def numbers_or_text(column: LabelSource) -> LabelSource:
    """All labels of a column: whole numbers where each spells a number (a fraction raises), else ordered text."""
    if column.vocabulary is None:
        return column
    gaps, values, words = column.missing, np.asarray(column.values), column.vocabulary.tolist()
    if gaps is not None and gaps.all():
        return LabelSource(np.zeros(len(gaps), np.int64), missing=gaps)
    if not all(map(is_number, words)):
        return indexed(values if gaps is None else np.where(gaps, -1, values), words, in_order=column.has_order)
    numbers = {word: whole_number(word) for word in words}
    if None in numbers.values():
        wrong = next(word for word, number in numbers.items() if number is None)
        raise BadSpellingError(wrong, "a whole number or text", repr(wrong))
    if rounded := [word for word, x in numbers.items() if abs(x or 0) >= 2**53 and not word.strip("+- ").isdecimal()]:
        raise BadSpellingError(rounded[0], "whole numbers below 2**53 in the form of floats", rounded[0])
    ordered = sorted({x for x in numbers.values() if x is not None})
    if ordered[0] >= -(2**63) and ordered[-1] < 2**63:
        return LabelSource(np.array([*numbers.values()], np.int64)[values], missing=gaps)
    place = {x: i for i, x in enumerate(ordered)}
    places = np.array([place[x] for x in numbers.values() if x is not None])
    return LabelSource(places[values], np.array(ordered, object), gaps)


def leading_zeros(words: Sequence[str]) -> tuple[str, str] | None:
    """Two spellings of one number with different leading zeros, perhaps meant as two labels."""
    seen: dict[int, str] = {}
    decimal = [word for word in words if word.isdecimal()]
    return next(((seen[int(x)], x) for x in decimal if seen.setdefault(int(x), x) != x), None)
