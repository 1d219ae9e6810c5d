"""A progress bar on standard error: by tqdm where it is installed, otherwise a percentage."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchclusteval.common.optional import import_optional

Progress = Callable[[int, int], object]  # called as progress(done, total)

_PATIENCE_S = 1.0


@contextmanager
def progress_bar(name: str, shown: bool | None = None, *, in_bytes: bool = False) -> Iterator[Progress | None]:
    """Yield ``progress(done, total)``, or None where no bar is shown.

    Args:
        name: stands before the bar.
        shown: True shows the bar at once and leaves it standing. None shows it on a terminal only, while work takes
            longer than a second.
        in_bytes: what is done counts bytes, shown as thousands and millions.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield None
        return
    delay_s = 0.0 if shown else _PATIENCE_S
    bar = _tqdm_bar(name, delay_s, bool(shown), in_bytes)
    if bar is None:
        yield from _percentage(name, delay_s)
        return

    def advance(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    with bar:
        yield advance


def _tqdm_bar(name: str, delay_s: float, keep: bool, in_bytes: bool) -> Any:
    try:
        tqdm = import_optional("tqdm", "studies").tqdm
    except ImportError:
        return None
    shown = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {elapsed}, {remaining} left"  # a rate says little
    return tqdm(desc=name, delay=delay_s, leave=keep, unit_scale=in_bytes, file=sys.stderr, bar_format=shown)


def _percentage(name: str, delay_s: float) -> Iterator[Progress]:
    """A percentage that overwrites itself."""
    start = time.monotonic()
    shown = False

    def advance(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - start > delay_s:
            shown = True
            print(f"\r{name}: {100 * done // max(1, total)} %", end="", file=sys.stderr, flush=True)

    yield advance
    if shown:
        print(f"\r{' ' * (len(name) + 7)}\r", end="", file=sys.stderr, flush=True)
