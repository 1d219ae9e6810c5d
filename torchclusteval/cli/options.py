"""Records of commands and options, the options of several commands, and notes on standard error."""

import argparse
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch

from torchclusteval.common.optional import import_optional
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.labels.options import LabelOptions
from torchclusteval.measures.record import ONE_SIDED, Measure
from torchclusteval.measures.registry import FAMILIES, MEASURES
from torchclusteval.measures.registry import find_measure as find_in_registry

PROGRAM = "torchclusteval"
_SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown"}  # of --output -> format


@dataclass(frozen=True)
class Option:
    """The arguments of ``ArgumentParser.add_argument``."""

    flags: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command: its name, its function and its options."""

    name: str
    summary: str
    run: Callable[[argparse.Namespace], str]
    options: tuple[Option, ...] = ()
    details: str = field(default="")  # after the options in --help


def option(*flags: str, **settings: Any) -> Option:
    return Option(flags, settings)


def positive_int(text: str) -> int:
    return _integer(text, 1)


def nonnegative_int(text: str) -> int:
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) >= least):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}; got {text!r}")
    if int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number below 2**63; got {text!r}")
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


def parse_delimiter(text: str) -> str:
    """A character, or the name of one."""
    character = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0' or character.isalnum():
        raise argparse.ArgumentTypeError(f"expected one character such as ; or tab or space; got {text!r}")
    return character


DEVICE = option("--device", help="where to compute: cpu, cuda, cuda:1 ... (default: cpu)")
FORMAT = option("--format", choices=("table", "markdown", "csv", "json"), help="default: table, or that of --output")
OUTPUT = option(
    "--output",
    metavar="FILE",
    help="write to a file instead of standard output; FILE.csv, FILE.json and FILE.md say the format too",
)
OVERWRITE = option("--overwrite", action="store_true", help="let --output replace a file")
PLOT = option("--plot", metavar="FILE.png", help="draw a picture too: .png, .pdf or .svg (needs matplotlib)")
MEASURE_LIST = option(
    "--measures",
    metavar="LIST",
    help=f"names, aliases or families ({', '.join((*FAMILIES, *ONE_SIDED))}) joined by commas, or all, "
    "or default: the usual ones",
)
COLUMNS = option(
    "--columns",
    metavar="LIST",
    action="append",
    default=[],
    help="the clusterings to take: names or patterns such as 'kmeans_*', joined by commas; can be repeated",
)
EXCLUDE = option(
    "--exclude",
    metavar="LIST",
    action="append",
    default=[],
    help="the columns that are no clusterings, such as ids; written as for --columns",
)
IGNORE = option("--ignore", metavar="LABEL", help="leave out the items with this label in the truth")
NOISE = (
    option("--noise-label", metavar="LABEL", help="the label of noise in the clusterings, often -1"),
    option(
        "--noise",
        choices=[policy.value for policy in NoisePolicy],
        default="ignore",
        help="leave noise out, take it as one cluster, or each item as its own (default: ignore)",
    ),
)
MISSING = option(
    "--missing",
    choices=("error", "ignore", "label"),
    default="error",
    help="missing labels are an error, leave the item out, or are a group of their own (default: error)",
)
ONE_FILE = (
    option(
        "--na-values",
        metavar="LIST",
        help="spellings of missing labels in text files, joined by commas (default: NA, NaN, null, None ...); "
        "an empty cell always is one, a quoted spelling never",
    ),
    option("--id", metavar="COLUMN", help="the column that holds the names of rows (default: one without a name)"),
    option(
        "--header",
        choices=("yes", "no", "auto"),
        default="auto",
        help="whether the first line names columns (default: auto, which says what it took; one FILE has a header)",
    ),
    option("--delimiter", metavar="CHARACTER", type=parse_delimiter, help="between cells (default: found)"),
)
READING = (
    MISSING,
    *ONE_FILE,
    option(
        "--join",
        choices=("names", "shared", "position"),
        default="names",
        help="files with names of rows have the same names, or take those that all have, or go by position",
    ),
)


def terminal_width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def table_width(output: str | None) -> int | None:
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


def note_ids(names: Sequence[str], alone: Sequence[bool]) -> None:
    """Print a note for each of the first three clusterings that look like a column of ids: each item is a cluster."""
    for name in [name for name, single in zip(names, alone, strict=True) if single][:3]:
        print_note(f"note: in {name!r} every item is a cluster of its own; if it holds ids, --exclude it")


def parse_measure(name: str, option: str, registry: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of a name; an error names the option."""
    try:
        return find_in_registry(name, registry)
    except ValueError as error:
        raise ValueError(f"{option}: {str(error).partition(': ')[2]}") from None


def check_plot(path: str | None) -> None:
    """Raise before the work is done where a picture could not be drawn after it."""
    if path is None:
        return
    if not path.endswith((".png", ".pdf", ".svg")):
        raise ValueError(f"--plot: expected a file that ends in .png, .pdf or .svg; got {path!r}")
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"--plot: expected a file in a folder that exists; got {path}")
    for module in ("matplotlib.figure", "scipy"):
        import_optional(module, "plots")


def parse_device(name: str | None) -> torch.device | None:
    """The device of a name, if it works here."""
    if name is None:
        return None
    try:
        torch.ones(1, dtype=torch.float64, device=name).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        got = f"{name!r} ({textwrap.shorten(str(error), 90, placeholder='...')})"
        raise ValueError(f"--device: expected one that works here, like cpu or cuda; got {got}") from None
    return torch.device(name)


def decide_format(arguments: argparse.Namespace) -> str:
    """The format of the output: that of ``--format``, or of the suffix of ``--output``.

    Raises:
        ValueError: they disagree, or ``--output`` would replace a file.
    """
    path = arguments.output
    if path is None:
        if arguments.overwrite:
            raise ValueError("--overwrite: expected --output too, whose file it replaces")
        return arguments.format or "table"
    check_new(path, arguments.overwrite)
    by_suffix = _SUFFIXES.get(Path(path).suffix.lower())
    if by_suffix and arguments.format not in (None, by_suffix):
        fitting = [suffix for suffix, name in _SUFFIXES.items() if name == arguments.format]
        expected = " or ".join([*(f"that ends in {suffix}" for suffix in fitting), "of another suffix"])
        raise ValueError(f"--output: expected a file {expected} for --format {arguments.format}; got {path}")
    return by_suffix or arguments.format or "table"


def check_new(path: str, overwrite: bool) -> None:
    """Raise where ``--output`` would replace a file."""
    if not overwrite and Path(path).is_file():
        raise ValueError(f"--output: expected a new file; {path} exists (--overwrite replaces it)")


def check_noise(arguments: argparse.Namespace) -> None:
    """Raise where a treatment of noise is asked for without its label."""
    LabelOptions(noise=arguments.noise, noise_label=arguments.noise_label)
