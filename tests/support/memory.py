"""The peak of memory that a call takes beyond what is held before it.

Linux keeps the most memory that a process has had, and forgets it when asked; torch and NumPy count alike, and so
does what the C library holds back. Nothing else is loaded here, so that benchmarks can read it too.
"""

import ctypes
import gc
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def can_measure() -> bool:
    """Whether this system keeps a peak that can be set back."""
    try:
        _forget_peak()
        return _megabytes("VmHWM") > 0
    except (OSError, KeyError):
        return False


def peak_megabytes(call: Callable[[], T]) -> tuple[float, T]:
    """Most megabytes held at once beyond those held before the call, and what the call returns (which they include).

    Have the arguments touched and the code run once before: pages that are first written inside the call count. Pages
    of libraries that the system had dropped and reads again do not.
    """
    gc.collect()
    _give_back()
    _forget_peak()
    before, files = _megabytes("VmRSS"), _megabytes("RssFile")
    result = call()
    read_again = max(0.0, _megabytes("RssFile") - files)
    return max(0.0, _megabytes("VmHWM") - before - read_again), result


def measured_twice(test: Callable[P, None]) -> Callable[P, None]:
    """Run a failed memory test once more: other activity can only raise the measured peak."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            test(*args, **kwargs)
        except AssertionError:
            test(*args, **kwargs)

    return run


def _megabytes(field: str) -> float:
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
    return int(lines[field].split()[0]) / 1024


def _forget_peak() -> None:
    _RESET.write_text("5")


def _give_back() -> None:
    """Let the C library return free memory, which a call could take again unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
