"""The command line: the commands, their options, and how a run ends.

A command is a function of the parsed arguments that returns the text to print, and a row of ``COMMANDS``.
"""

import argparse
import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from torchclusteval import __version__
from torchclusteval.clusterings import Task, encode, read_task
from torchclusteval.demo import demonstrate
from torchclusteval.describe import describe_measure, list_measures
from torchclusteval.files import Labels
from torchclusteval.labels import NOISE_POLICIES
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import FAMILIES, MEASURES, find, select
from torchclusteval.report import ScoreTable
from torchclusteval.scoring import Scores, evaluate

PROGRAM = "torchclusteval"

_WRONG, _INTERRUPTED, _PIPE_CLOSED = 2, 130, 141  # the last two as shells count signals
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("measures", "noise", "noise_label", "device")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments; by default those of the process.

    Returns:
        The exit status: 0, or 2 where something was wrong, said in one line on standard error.
    """
    try:
        arguments = _parser().parse_args(argv)
        _write(arguments.run(arguments), getattr(arguments, "output", None))
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # or the interpreter complains when it flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        _say("interrupted")
        return _INTERRUPTED
    except (ValueError, OSError, MemoryError, RuntimeError) as error:
        _say(f"error: {_reason(error)}")
        return _WRONG
    return 0


# --- score ------------------------------------------------------------------------------------------------


def score(arguments: argparse.Namespace) -> str:
    """Score clusterings against the truth."""
    measures, sort = _measures(arguments)
    device = _device(arguments.device)
    task = read_task(arguments.files, arguments.truth, arguments.columns, arguments.exclude)
    truth, ignored = _encode([task.truth], arguments.ignore, "--ignore")
    clusterings, noise_label = _encode(task.clusterings, arguments.noise_label, "--noise-label")
    absent = arguments.noise_label is not None and noise_label is None
    scores = evaluate(
        truth[0],
        clusterings,
        measures,
        ignore_index=ignored,
        noise_label=noise_label,
        noise="ignore" if absent else arguments.noise,
        device=device,
    )
    for name, reason in scores.skipped.items():
        _say(f"note: left out {name}, which {reason}")
    table = _tabulate(task, scores, sort)
    if sort is not None:
        table = table.take(_order(scores, sort)[: arguments.top])
    return _render(table, arguments)


def _measures(arguments: argparse.Namespace) -> tuple[list[Any], str | None]:
    """What to evaluate, and the name of the measure to sort by."""
    asked: list[Any] = [None]
    if arguments.measures is not None:
        asked = [name.strip() for name in arguments.measures.split(",") if name.strip()]
    chosen = select(asked)
    if arguments.sort is not None:
        measure = _find(arguments.sort, "--sort")
        if measure.better is None:
            raise ValueError(f"--sort: expected a measure with a direction; got {measure.name}, which has none")
        return [*asked, measure], measure.name
    return asked, None if arguments.top is None else _leading(chosen).name


def _leading(chosen: Iterable[Measure]) -> Measure:
    """The measure that says which are the best, where none is named."""
    directed = {measure.name: measure for measure in chosen if measure.better is not None}
    if not directed:
        raise ValueError("--top: expected --sort MEASURE too, as these measures do not say what is better")
    return directed.get("adjusted_rand", next(iter(directed.values())))


def _find(name: str, option: str) -> Measure:
    try:
        return find(name)
    except ValueError as error:
        raise ValueError(f"{option}: {str(error).partition(': ')[2]}") from None


def _encode(columns: Sequence[Labels], label: str | None, option: str) -> tuple[np.ndarray, int | None]:
    try:
        values, number = encode(columns, label)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if label is not None and number is None:
        _say(f"note: {option}: no item has the label {label!r}")
    return values, number


def _device(name: str | None) -> torch.device | None:
    if name is None:
        return None
    try:
        torch.ones(1, dtype=torch.float64, device=name).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        got = f"{name!r} ({textwrap.shorten(str(error), 90, placeholder='...')})"
        raise ValueError(f"--device: expected one that works here, like cpu or cuda; got {got}") from None
    return torch.device(name)


def _tabulate(task: Task, scores: Scores, sort: str | None) -> ScoreTable:
    columns = {name: values + 0.0 for name, values in scores.to_numpy().items()}  # -0 becomes 0
    if sort is not None:
        columns = {sort: columns[sort], **columns}
    coverage = scores.coverage.cpu().numpy()
    if not (coverage == 1).all():
        columns = {"coverage": coverage, **columns}
    return ScoreTable(task.names, columns, len(task.truth), task.truth_name, scores.skipped)


def _order(scores: Scores, name: str) -> np.ndarray:
    """Numbers of the clusterings: best first, equal ones in the order of the input, nan last."""
    values = scores.to_numpy()[name]
    return np.argsort(-values if scores.measures[name].better == "higher" else values, kind="stable")


def _render(table: ScoreTable, arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return table.as_json()
    if arguments.format == "csv":
        return table.as_csv()
    return table.as_table(None if arguments.output else _width())


# --- measures, demo ---------------------------------------------------------------------------------------


def measures(arguments: argparse.Namespace) -> str:
    """List the measures, or explain one."""
    name = arguments.name
    if name is None or name in FAMILIES:
        return list_measures([m for m in MEASURES.values() if name in (None, m.family)], _width())
    return describe_measure(_find(name, "NAME"))


def demo(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    return demonstrate(_width())


# --- the commands and their options -----------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """The arguments of ``ArgumentParser.add_argument``."""

    flags: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A command: what to call, and what it takes."""

    name: str
    summary: str
    run: Callable[[argparse.Namespace], str]
    options: tuple[Option, ...] = ()
    details: str = field(default="")  # after the options in --help


def _option(*flags: str, **settings: Any) -> Option:
    return Option(flags, settings)


def _count(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and 0 < int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return int(text)


DEVICE = _option("--device", help="where to compute: cpu, cuda, cuda:1 ... (default: cpu)")
FORMAT = _option("--format", choices=("table", "csv", "json"), default="table", help="default: table")
OUTPUT = _option("--output", metavar="FILE", help="write to a file instead of standard output")
MEASURE_LIST = _option(
    "--measures",
    metavar="LIST",
    help=f"names, aliases or families ({', '.join(FAMILIES)}) joined by commas, or all (default: the usual ones)",
)
COLUMNS = _option(
    "--columns",
    metavar="LIST",
    action="append",
    default=[],
    help="the clusterings to take: names or patterns such as 'kmeans_*', joined by commas; can be repeated",
)
EXCLUDE = _option(
    "--exclude",
    metavar="LIST",
    action="append",
    default=[],
    help="the columns that are no clusterings, such as ids; written as for --columns",
)

SCORE_OPTIONS = (
    _option("files", nargs="+", metavar="FILE", help="one table of labels, or the truth and then clusterings"),
    _option("--truth", metavar="COLUMN", help="the column of FILE that holds the truth"),
    COLUMNS,
    EXCLUDE,
    MEASURE_LIST,
    _option("--sort", metavar="MEASURE", help="put the best by this measure first (default: the order of the input)"),
    _option("--top", type=_count, metavar="K", help="show the K best only (by --sort, else adjusted_rand)"),
    _option("--ignore", metavar="LABEL", help="leave out the items with this label in the truth"),
    _option("--noise-label", metavar="LABEL", help="the label of noise in the clusterings, often -1"),
    _option(
        "--noise",
        choices=NOISE_POLICIES,
        default="ignore",
        help="leave noise out, take it as one cluster, or each item as its own (default: ignore)",
    ),
    DEVICE,
    FORMAT,
    OUTPUT,
)

_SCORE_DETAILS = """\
examples:
  torchclusteval score results.csv --truth class --exclude id --sort ami --top 9
  torchclusteval score truth.npy kmeans.npy spectral.txt --measures nmi,ari
  zcat results.csv.gz | torchclusteval score - --truth class --noise-label -1

files (any may be gzip; "-" is standard input):
  CSV, TSV    a header line, then a line an item; cells divided by comma, tab,
              semicolon, | or space; labels are whole numbers or text. A first
              column without a name (row names of pandas and R) is left out.
  .txt        a label a line
  .npy, .npz  (N,) labels, or (B, N) for several clusterings

Where items are left out, a coverage column says which share of them is scored.
"""

COMMANDS = (
    Command("score", "score clusterings in files against the truth", score, SCORE_OPTIONS, _SCORE_DETAILS),
    Command(
        "measures",
        "list the measures, or explain one",
        measures,
        (_option("name", nargs="?", metavar="NAME", help="a measure to explain, or a family to list"),),
    ),
    Command("demo", "score several hundred bundled clusterings with every measure", demo),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description="External evaluation of many clusterings at once.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(run=lambda _: parser.format_help())
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        added = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=command.details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for option in command.options:
            added.add_argument(*option.flags, **option.settings)
        added.set_defaults(run=command.run)
    return parser


# --- how a run ends ---------------------------------------------------------------------------------------


def _width() -> int:
    return shutil.get_terminal_size().columns


def _write(text: str, output: str | None) -> None:
    if output is not None:
        Path(output).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        return
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _say(text: str) -> None:
    """One line on standard error."""
    print(f"{PROGRAM}: {' '.join(text.split())}", file=sys.stderr)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        at = f"{error.filename}: " if error.filename is not None else ""
        return f"{at}{error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error):
        return "out of memory; score fewer --columns or --measures at a time"
    if isinstance(error, RuntimeError):
        raise error
    name, colon, rest = str(error).partition(": ")
    return f"{_OPTIONS.get(name, name)}{colon}{rest}"


if __name__ == "__main__":
    sys.exit(main())
