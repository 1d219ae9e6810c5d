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
_MMAP_THRESHOLD = -3  # of glibc's malloc.h; setting it ends its adaptation


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
    """Let the C library return free memory, which a call could take again unseen, and large blocks when they are freed.

    It else keeps more and more of them for later, and the peak is that of a heap with holes, another one in each run.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.mallopt(_MMAP_THRESHOLD, 1 << 20)
        library.malloc_trim(0)
