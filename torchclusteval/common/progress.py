"""A line of progress on standard error that overwrites itself."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], object]  # called as progress(done, total)

_PATIENCE_S = 1.0


@contextmanager
def progress_bar(name: str, shown: bool | None = None) -> Iterator[Progress | None]:
    """Yield ``progress(done, total)``, or None where nothing is shown.

    Args:
        name: stands before the percentage.
        shown: True shows it at once and leaves it standing. None shows it on a terminal only, while work takes longer
            than a second.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield None
        return
    start, line = time.monotonic(), ""

    def advance(done: int, total: int) -> None:
        nonlocal line
        passed = time.monotonic() - start
        if shown or passed > _PATIENCE_S:
            left = f", {passed / done * (total - done):.0f} s left" if done else ""
            line = f"{name}: {100 * done // max(1, total)} % ({passed:.0f} s{left})".ljust(len(line))
            print(f"\r{line}", end="", file=sys.stderr, flush=True)

    yield advance
    if line:
        print("" if shown else f"\r{' ' * len(line)}\r", end="\n" if shown else "", file=sys.stderr, flush=True)
