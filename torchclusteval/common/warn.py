"""Warnings at the line of the caller outside the package."""

import sys
import warnings


def warn(message: str) -> None:
    """Warn at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "torchclusteval":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
