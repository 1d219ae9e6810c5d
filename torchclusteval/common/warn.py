"""Warnings at the line of the caller outside the package."""

import sys
import warnings
from collections.abc import Collection

from torchclusteval.common.formatting import lacking


def warn(message: str) -> None:
    """Warn at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "torchclusteval":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def warn_of_lacking(true: Collection[object], pred: Collection[object], names: tuple[str, str], what: str) -> None:
    """Warn once of documents (recordings) that one side lacks."""
    found = ((names[1], lacking(pred, true, what)), (names[0], lacking(true, pred, what)))
    if said := "; ".join(f"{name} {words}" for name, words in found if words):
        warn(said)
