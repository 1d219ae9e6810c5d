"""Write files so that an old one survives every failure."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file next to ``path`` to write to, which takes its place when the block ends without an error.

    What is no regular file, such as a pipe or ``/dev/stdout``, is written directly.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    given = Path(path)
    is_regular, target = given.is_file() or not given.exists(), given.resolve()
    unfinished = target.with_name(f".{target.stem}-{os.getpid()}{target.suffix}")  # the suffix says the format
    try:
        yield unfinished if is_regular else given
        if is_regular and target.exists():
            shutil.copymode(target, unfinished)
        if is_regular:
            os.replace(unfinished, target)
    except OSError as error:
        error.filename = os.fspath(path)
        del error.filename2  # that of a move; None would be printed
        raise
    finally:
        with suppress(OSError):
            unfinished.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by a text as UTF-8; what UTF-8 has not is written as escapes."""
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
