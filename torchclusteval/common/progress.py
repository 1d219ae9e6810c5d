"""A progress bar on standard error, by tqdm where it is installed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torchclusteval.common.optional import import_optional

Progress = Callable[[int, int], object]  # called as progress(done, total)

_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {elapsed}, {remaining} left"  # no rate: it says little
_LINE = "{desc}: {percentage:3.0f}% {n_fmt}/{total_fmt} {elapsed}, {remaining} left\n"
_SECONDS_OF_A_BAR, _SECONDS_OF_A_LINE = 1.0, 30.0  # work before the first bar or line


@contextmanager
def progress_bar(name: str, shown: bool | None = None) -> Iterator[Progress | None]:
    """Yield ``progress(done, total)``, or None where nothing is shown.

    Args:
        name: the text before the percentage.
        shown: True shows a bar at once and leaves it at the end. None shows a bar on a terminal, from the first second
            to the end of the work, and a line each half minute elsewhere. False shows nothing.
    """
    try:
        tqdm = None if shown is False else import_optional("tqdm", "cli").tqdm
    except ImportError:
        tqdm = None
    if tqdm is None:
        yield None
        return
    options = {"bar_format": _BAR, "delay": 0.0 if shown else _SECONDS_OF_A_BAR, "leave": bool(shown)}
    if not shown and not sys.stderr.isatty():
        options = {"bar_format": _LINE, "delay": _SECONDS_OF_A_LINE, "mininterval": _SECONDS_OF_A_LINE}
    with tqdm(desc=name, file=sys.stderr, **options) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance


class Steps:
    """One progress, in thousandths, of several steps; ``work`` is that of all, more if steps turn out to take more."""

    def __init__(self, progress: Progress | None, work: int) -> None:
        self._progress, self._done, self._work = progress or (lambda *_: None), 0, work

    def step(self, work: int = 0) -> Progress:
        """The progress of the next step; without ``work`` of the last, which is all that is left."""
        start, own = self._done, work or max(1, self._work - self._done)
        self._done, self._work = start + own, max(self._work, start + own)
        return lambda done, total: self._progress(int(1000 * (start + own * done / max(1, total)) / self._work), 1000)
