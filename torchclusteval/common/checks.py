"""Checks of options: a number within bounds, one of several choices; and of memory."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

_NO_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "Storage size calculation overflowed")


def check_number(x: Any, name: str, low: float, high: float = math.inf, *, exclusive: bool = False) -> None:
    """Raise where an option is no number from ``low`` (or, with ``above``, beyond it) to ``high``."""
    real = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    fits = real and (low < x if exclusive else low <= x) and x <= high
    if not fits or (isinstance(x, int) and x.bit_length() > 1023):  # beyond what a float holds
        start = f"above {low}" if exclusive else f"of at least {low}"
        end = "" if high == math.inf else f" and at most {high}"
        raise ValueError(f"{name}: expected a number {start}{end}; got {str(x)[:40] if fits else repr(x)}")


def check_choice(x: Any, name: str, choices: Iterable[Any]) -> None:
    """Raise where an option is none of the choices."""
    listed = list(choices)
    if not any(x is choice or (type(x) is type(choice) and x == choice) for choice in listed):
        raise ValueError(f"{name}: expected one of {', '.join(map(str, listed))}; got {x!r}")


@contextmanager
def explain_out_of_memory(message: str) -> Iterator[None]:
    """Raise a ``ValueError`` that says what to do where an allocator only says that there is no room."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(x in str(error) for x in _NO_MEMORY)
        if not known:
            raise
        raise ValueError(message) from None
