"""Records of commands and options, types of their values, and notes on standard error.

Nothing here imports torch: ``--help`` prints at once.
"""

import argparse
import math
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

PROGRAM = "torchclusteval"
UNITS = ("items", "classes", "groups")  # what may be drawn again

_SAME = "measures noise noise_label device preset confidence_level layout header on_duplicate"  # here and in Python
FLAGS = {"n_resamples": "--resamples", "resample": "--resamples"}
FLAGS |= {name: f"--{name.replace('_', '-')}" for name in _SAME.split()}
_KEYWORD = re.compile(rf"""\b({"|".join(FLAGS)})=["']([\w-]+)["']""")
_ELSEWHERE = {
    "n_resamples=": "--resamples ",
    "permutation_test": "score --resamples R",
    "estimate_from_sample": "torchclusteval estimate",
    "paired_groups draws": "--by COLUMN is for",
    "evaluate(..., by=ids).macro() or macro=True": "--macro",
}


class Option:
    """An option as its help shows it: flags, then the name of the value if it has one; settings are argparse's."""

    def __init__(self, usage: str, text: str, **settings: Any) -> None:
        *flags, last = usage.split()
        if flags:
            settings["metavar"] = last
        self.flags, self.settings = flags or [last], {"help": text, **settings}


class Command:
    """A command: its name, its options, and its help. The function that runs it is imported when it runs.

    ``details`` come after the options in --help.
    """

    def __init__(self, name: str, summary: str, *options: Option, details: str = "") -> None:
        self.name, self.summary, self.options, self.details = name, summary, options, details

    def run(self, arguments: argparse.Namespace) -> str:
        """The text to print, by the function ``run`` of the file of this name in ``commands``."""
        text: str = import_module(f"torchclusteval.cli.commands.{self.name.replace('-', '_')}").run(arguments)
        return text


def refuse(arguments: argparse.Namespace, options: Iterable[Option], expected: str) -> None:
    """Raise if one of these options is given; the message says what is expected instead."""
    for one in options:
        name = one.settings.get("dest", one.flags[0].removeprefix("--").replace("-", "_"))
        given = vars(arguments).get(name)
        if given != one.settings.get("default"):
            shown = ",".join(given) if isinstance(given, list) else given
            raise ValueError(f"{one.flags[0]}: expected {expected}; got {shown}")


def integer(least: int) -> Callable[[str], int]:
    """The type of a whole number of at least ``least``."""

    def parse(text: str) -> int:
        number = int(text) if text.isdecimal() and text.isascii() else -1
        if not least <= number < 2**63:
            expected = "below 2**63" if number >= 2**63 else f"of at least {least}"
            raise argparse.ArgumentTypeError(f"expected a whole number {expected}; got {text!r}")
        return number

    return parse


def size(text: str) -> tuple[float, float]:
    """Width and height in inches, from 1 on, as ``3.5x2.5``."""
    found = re.fullmatch(r"([1-9]\d?(?:\.\d+)?)x([1-9]\d?(?:\.\d+)?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT in inches, such as 3.5x2.5; got {text!r}")
    return float(found[1]), float(found[2])


def probability(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1; got {text!r}")
    return value


def draws(text: str) -> int | str:
    """The type of ``--resamples``: how many draws, or one of ``UNITS``, what is drawn."""
    if text in UNITS:
        return text
    if not text[:1].isdigit():
        raise argparse.ArgumentTypeError(f"expected {', '.join(UNITS)} or a number of draws; got {text!r}")
    return integer(1)(text)


class Once(argparse.Action):
    """An option that may be given once; argparse would take the last value."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        name = "resample" if self.type is draws and isinstance(values, str) else self.dest
        given = vars(namespace).setdefault("given", set())
        if self.option_strings and name in given:
            joined = " (names are joined by commas)" if self.metavar == "LIST" else ""
            parser.error(f"{option_string}: expected once; got it twice{joined}")
        given.add(name)
        setattr(namespace, name, values)


def table_width(output: str | None = None) -> int | None:
    """Width of the terminal; None for output to a file or to another program."""
    if output is not None:
        return None
    to_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if to_terminal or os.environ.get("COLUMNS") else None


def print_note(text: str) -> None:
    """One line on standard error, with options of the command line in place of Python's."""
    text = _KEYWORD.sub(lambda found: f"{FLAGS[found[1]]} {found[2]}", " ".join(text.split()))
    for here, there in _ELSEWHERE.items():
        text = text.replace(here, there)
    print(f"{PROGRAM}: {text}", file=sys.stderr)


@contextmanager
def warnings_as_notes(but: str | None = None) -> Iterator[None]:
    """Print warnings as notes, except those that begin with ``but``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        if but is None or not message.startswith(but):
            print_note(f"note: {message}")


def numbered(names: Sequence[str]) -> list[str]:
    """Names, repeated ones with a number: ``a``, ``a (2)``."""
    found: dict[str, None] = {}
    for name in names:
        count, new = 1, name
        while new in found:
            count += 1
            new = f"{name} ({count})"
        found[new] = None
    return list(found)


def shown(names: Sequence[str]) -> str:
    """The first names, quoted."""
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")


def closest(name: str, known: Iterable[str], other: str = "") -> str:
    """`` (did you mean ...? other)``, or what there is of it; with ``other``, names are quoted."""
    close = get_close_matches(name, list(known), 3, 0.5 if other else 0.6)
    guess = f"did you mean {' or '.join(map(repr, close) if other else close)}? " if close else ""
    return f" ({(guess + other).strip()})" if guess or other else ""
