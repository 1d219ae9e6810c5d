"""A progress bar for work that takes longer than a second: on standard error, and only on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchclusteval.inference.resampling import Progress

_PATIENCE_S = 1.0


@contextmanager
def progress_bar(name: str) -> Iterator[Progress | None]:
    """What to call with the work done and in all; None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _tqdm_bar(name)
    if bar is None:
        yield from _plain_bar(name)
        return

    def advance(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    with bar:
        yield advance


def _tqdm_bar(name: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(desc=name, delay=_PATIENCE_S, leave=False, file=sys.stderr)


def _plain_bar(name: str) -> Iterator[Progress]:
    """A percentage that overwrites itself."""
    start = time.monotonic()
    shown = False

    def advance(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - start > _PATIENCE_S:
            shown = True
            print(f"\r{name}: {100 * done // max(1, total)} %", end="", file=sys.stderr, flush=True)

    yield advance
    if shown:
        print(f"\r{' ' * (len(name) + 7)}\r", end="", file=sys.stderr, flush=True)
