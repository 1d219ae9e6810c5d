"""Names of the measures in other libraries, from ``library_names.csv``, which is read when one is asked for.

A row is a library, a function of it, and the measure of the same formula with its default options. Functions that
differ by a factor or by the order of the sides are in ``docs/others/names_elsewhere.md``.
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_SAME_LIBRARY = {
    "bcubed": "pythonbcubed",
    "conll": "coval",
    "funlibevaluate": "funlib",
    "pyannotemetrics": "pyannote",
    "scibmetrics": "scib",
    "scikitlearn": "sklearn",
    "skimage": "scikitimage",
}


class LibraryName(NamedTuple):
    library: str
    function: str
    measure: str

    def __str__(self) -> str:
        return f"{self.library}:{self.function}"


@cache
def library_names() -> tuple[LibraryName, ...]:
    text = Path(__file__).with_name("library_names.csv").read_text(encoding="utf-8")
    return tuple(LibraryName(*row) for row in list(csv.reader(text.splitlines()))[1:])


@cache
def _measures_by_key() -> dict[tuple[str, str], str]:
    return {(_library_key(row.library), row.function.lower()): row.measure for row in library_names()}


def measure_of(name: str) -> str | None:
    """The measure that ``LIBRARY:FUNCTION`` is; None if it is none."""
    library, _, function = name.partition(":")
    return _measures_by_key().get((_library_key(library), function.lower()))


def elsewhere(name: str) -> dict[str, str]:
    """The functions of a library, or those of one name in any library, as ``library:function``, with their measures."""
    library, function = _library_key(name.removesuffix(":")), name.lower()
    return {
        str(row): row.measure
        for row in library_names()
        if _library_key(row.library) == library or row.function.lower() == function
    }


def _library_key(library: str) -> str:
    key = re.sub(r"[-_. ]", "", library.lower())
    return _SAME_LIBRARY.get(key, key)
