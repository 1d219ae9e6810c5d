"""Records of commands and options, the options of several commands, and notes on standard error.

Nothing here imports torch: ``--help`` prints at once.
"""

import argparse
import math
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

PROGRAM = "torchclusteval"
# A test holds these equal to what the package knows.
FAMILIES = "entropy, pairs, matching, bcubed, association, coreference, segmentation, tracking"
NOISE_POLICIES = ("ignore", "cluster", "singletons")
CORRECTIONS = ("holm", "benjamini-hochberg")
LAYOUTS = ("item-group", "item-groups", "group-per-line")


@dataclass(frozen=True)
class Option:
    """The arguments of ``ArgumentParser.add_argument``."""

    flags: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command: its name, its options, and its help. The function that runs it is imported when it runs."""

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    details: str = ""  # after the options in --help

    def run(self, arguments: argparse.Namespace) -> str:
        """The text to print, by the function ``run`` of the file of this name in ``commands``."""
        text: str = import_module(f"torchclusteval.cli.commands.{self.name.replace('-', '_')}").run(arguments)
        return text


def option(usage: str, text: str, **settings: Any) -> Option:
    """An option as its help shows it: flags, then the name of the value if it has one."""
    *flags, last = usage.split()
    if flags:
        settings["metavar"] = last
    return Option(tuple(flags or [last]), {"help": text, **settings})


def positive_int(text: str) -> int:
    return _integer(text, 1)


def nonnegative_int(text: str) -> int:
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    if not (text.isdecimal() and text.isascii() and least <= int(text) < 2**63):
        below = (
            " below 2**63" if text.isdecimal() and text.isascii() and int(text) >= 2**63 else f" of at least {least}"
        )
        raise argparse.ArgumentTypeError(f"expected a whole number{below}; got {text!r}")
    return int(text)


def probability(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1; got {text!r}")
    return value


# options of several commands -------------------------------------------------------------------------------

FILE = option("files FILE", "a table of labels, as for score", nargs=1)
TRUTH = option("--truth COLUMN", "the column of FILE that holds the truth", required=True)
DEVICE = option("--device", "where to compute: cpu, cuda, cuda:1 ... (default: cpu)")
OVERWRITE = option("--overwrite", "let --output replace a file", action="store_true")
PRINTING = (
    option("--format", "default: table, or that of --output", choices=("table", "markdown", "csv", "json")),
    option(
        "--output FILE",
        "write to a file instead of standard output; FILE.csv, FILE.json and FILE.md say the format too",
    ),
    OVERWRITE,
)
PLOT = option("--plot FILE.png", "draw a picture too: .png, .pdf or .svg (needs matplotlib)")
MEASURES = option(
    "--measures LIST", f"names, aliases or families ({FAMILIES}) joined by commas, or all, or default: the usual ones"
)
CHOICE = (
    option(
        "--columns LIST",
        "the clusterings to take: names or patterns such as 'kmeans_*', joined by commas; can be repeated",
        action="append",
        default=[],
    ),
    option(
        "--exclude LIST",
        "the columns that are no clusterings, such as ids; written as for --columns",
        action="append",
        default=[],
    ),
)
SORT = option("--sort MEASURE", "put the best by this measure first (default: the order of the input)")
TOP = option("--top K", "show the K best only (by --sort, adjusted_rand or the first measure)", type=positive_int)
IGNORE = option("--ignore LABEL", "leave out the items with this label in the truth")
NOISE_LABEL = option("--noise-label LABEL", "the label of noise in the clusterings, often -1")
NOISE = (
    NOISE_LABEL,
    option(
        "--noise",
        "leave noise out, take it as one cluster, or each item as its own (default: ignore)",
        choices=NOISE_POLICIES,
        default="ignore",
    ),
)
MISSING = option(
    "--missing",
    "missing labels are an error, leave the item out, or are a group of their own (default: error)",
    choices=("error", "ignore", "label"),
    default="error",
)
HEADER = option(
    "--header",
    "whether the first line names columns (default: auto, which says what it took; one FILE has a header)",
    choices=("yes", "no", "auto"),
    default="auto",
)
READING = (
    option(
        "--na-values LIST",
        "spellings of missing labels in text files, joined by commas (default: NA, NaN, null, None ...); "
        "an empty cell always is one, a quoted spelling never",
    ),
    option("--id COLUMN", "the column that holds the names of rows (default: one without a name)"),
    HEADER,
)
JOIN = option(
    "--join",
    "files with names of rows have the same names, or take those that all have, or go by position",
    choices=("names", "shared", "position"),
    default="names",
)
LEVEL = option("--confidence-level P", "of intervals (default: 0.95)", type=probability)
RESAMPLES = option("--resamples R", "resampled tables (default: 1000)", type=positive_int)
SEED = option("--seed S", "of the resampling (default: 0)", type=nonnegative_int)


# the terminal and notes ------------------------------------------------------------------------------------


def terminal_width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def table_width(output: str | None = None) -> int | None:
    """Columns that a table may take: those of the terminal; None where it goes to a file or to another program."""
    if output is not None:
        return None
    to_terminal = sys.stdout is not None and sys.stdout.isatty()
    return terminal_width() if to_terminal or os.environ.get("COLUMNS") else None


def print_note(text: str) -> None:
    """One line on standard error."""
    print(f"{PROGRAM}: {' '.join(text.split())}", file=sys.stderr)


def numbered(names: Sequence[str]) -> list[str]:
    """The names, those that come again with a number, so that rows can be told apart: ``a``, ``a (2)``."""
    found: dict[str, None] = {}
    for name in names:
        count, new = 1, name
        while new in found:
            count += 1
            new = f"{name} ({count})"
        found[new] = None
    return list(found)


def closest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean ...?)``, or nothing."""
    close = get_close_matches(name, list(known), 3, 0.6)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
