"""What the text of a cell stands for: a whole number, another number, nothing, or a label of its own."""

import re
from decimal import Decimal, InvalidOperation

import numpy as np

MISSING = frozenset({"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf)", re.ASCII)
INT64 = range(-(2**63), 2**63)


def whole_number(text: str) -> int | None:
    """The whole number that a text stands for (``3``, ``3.0``, ``3e0``), or None."""
    if re.fullmatch(r"\s*[+-]?\d{1,300}\s*", text, re.ASCII):
        return int(text)
    if not _NUMBER.fullmatch(text.strip()) or not abs(float(text)) < 1e300:
        return None
    try:
        exact = Decimal(text.strip())
    except InvalidOperation:  # an exponent of a score of digits
        return None
    return int(exact) if exact == exact.to_integral_value() else None


def is_plain(text: str) -> bool:
    """Whether a whole number is written in the shortest way (``7``, not ``07``, ``+7`` or ``7.0``)."""
    number = whole_number(text)
    return number is not None and str(number) == text


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def looks_like_label(cell: str) -> bool:
    return is_number(cell) or cell.strip() in MISSING


def has_long_numbers(text: str) -> bool:
    """Whether there may be numbers that are not written in the shortest way, such as 07, below the header."""
    start = text.find("\n", len(text) - len(text.lstrip("\n")))
    if start < 0:
        return False
    data = np.frombuffer(text[start:].encode(), np.uint8)
    zero, digit = data == ord("0"), data - ord("0") < 10  # what is below "0" wraps
    padded = zero[1:-1] & digit[2:] & ~digit[:-2]
    negative = (data[:-1] == ord("-")) & zero[1:]
    return bool(padded.any() or negative.any() or (data == ord("+")).any())
