"""Write files; an old file survives every failure."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file next to ``path``, and replace ``path`` by it at the end of a block without an error.

    For pipes, ``/dev/stdout`` and other irregular files, yield ``path`` itself.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    given = Path(path)
    is_regular, target = given.is_file() or not given.exists(), given.resolve()
    unfinished = target.with_name(f".{target.stem}-{os.getpid()}{target.suffix}")  # the suffix gives the format
    try:
        yield unfinished if is_regular else given
        if is_regular and target.exists():
            shutil.copymode(target, unfinished)
        if is_regular:
            os.replace(unfinished, target)
    except OSError as error:
        error.filename = os.fspath(path)
        del error.filename2  # from a move; None would be printed
        raise
    finally:
        with suppress(OSError):
            unfinished.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by a text in UTF-8; characters without a UTF-8 code become escapes."""
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
