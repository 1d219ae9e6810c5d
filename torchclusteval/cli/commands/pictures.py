"""Pictures written to files."""

import warnings
from typing import Any


def save(axes: Any, path: str) -> None:
    """Write the figure of axes, without warnings of characters that no font has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        axes.figure.savefig(path)
