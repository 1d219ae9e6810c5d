"""The command ``score``: clusterings in files against the truth."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from torchclusteval.cli.commands.score_overlapping import (
    OVERLAPPING_DETAILS,
    OVERLAPPING_OPTIONS,
    Overlapping,
    score_overlapping,
)
from torchclusteval.cli.commands.score_uncertainty import UNCERTAINTY_OPTIONS, Uncertainty, plot_scores, resample
from torchclusteval.cli.options import (
    COLUMNS,
    DEVICE,
    EXCLUDE,
    FORMAT,
    MEASURE_LIST,
    OUTPUT,
    Command,
    check_plot,
    option,
    parse_device,
    parse_measure,
    positive_int,
    print_note,
    terminal_width,
)
from torchclusteval.cli.printing.score_table import ScoreTable
from torchclusteval.cli.reading.clusterings import Task, encode, read_task
from torchclusteval.cli.reading.files import Labels
from torchclusteval.cli.reading.stream import Streamed, read_streamed
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import select
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.scores import Scores
from torchclusteval.streaming.distributed import rank_and_size
from torchclusteval.tables import ContingencyTables


def score(arguments: argparse.Namespace) -> str:
    """Score clusterings against the truth."""
    check_plot(arguments.plot)
    if arguments.overlapping:
        return _report(*score_overlapping(arguments), arguments)
    for name in ("layout", "header"):
        if getattr(arguments, name) != "auto":
            raise ValueError(f"--{name}: expected --overlapping too; got files of labels")
    measures, sort = _measures(arguments)
    device = parse_device(arguments.device)
    rank, ranks = rank_and_size()
    if arguments.stream or ranks > 1:
        streamed = read_streamed(arguments, device)
        if rank > 0:  # all have the same scores
            arguments.output = None
            return ""
        return _report(streamed, evaluate_tables(streamed.tables, measures), sort, arguments, streamed.tables)
    task = read_task(arguments.files, arguments.truth, arguments.columns, arguments.exclude)
    truth, ignored = _encode([task.truth], arguments.ignore, "--ignore")
    clusterings, noise_label = _encode(task.clusterings, arguments.noise_label, "--noise-label")
    absent = arguments.noise_label is not None and noise_label is None
    tables = ContingencyTables.from_labels(
        truth[0],
        clusterings,
        ignore_index=ignored,
        noise_label=noise_label,
        noise="ignore" if absent else arguments.noise,
        device=device,
    )
    _note_ids(task.names, tables)
    return _report(task, evaluate_tables(tables, measures), sort, arguments, tables)


def _note_ids(names: Sequence[str], tables: ContingencyTables) -> None:
    """Print a note for each of the first three clusterings that look like a column of ids."""
    alone = (tables.n_clusters == tables.n_items) & (tables.n_items > 1)
    for name in [name for name, single in zip(names, alone.tolist(), strict=True) if single][:3]:
        print_note(f"note: in {name!r} every item is a cluster of its own; if it holds ids, --exclude it")


def _report(
    task: Task | Streamed | Overlapping,
    scores: Scores,
    sort: str | None,
    arguments: argparse.Namespace,
    tables: ContingencyTables | None = None,
) -> str:
    for name, reason in scores.skipped.items():
        print_note(f"note: left out {name}, which {reason}")
    uncertainty = resample(tables, list(scores.measures.values()), arguments)
    if arguments.plot is not None:
        measure = _leading(scores.measures.values(), "--plot") if sort is None else scores.measures[sort]
        plot_scores(arguments.plot, measure, task.names, scores.to_numpy()[measure.name], uncertainty)
    table = _tabulate(task, scores, sort, uncertainty)
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
        measure = parse_measure(arguments.sort, "--sort")
        if measure.better is None:
            raise ValueError(f"--sort: expected a measure with a direction; got {measure.name}, which has none")
        return [*asked, measure], measure.name
    return asked, None if arguments.top is None else _leading(chosen, "--top").name


def _leading(chosen: Iterable[Measure], option: str) -> Measure:
    """The measure to sort by where none is named."""
    directed = {measure.name: measure for measure in chosen if measure.better is not None}
    if not directed:
        raise ValueError(f"{option}: expected --sort MEASURE too, as these measures do not say what is better")
    return directed.get("adjusted_rand", next(iter(directed.values())))


def _encode(columns: Sequence[Labels], label: str | None, option: str) -> tuple[np.ndarray, int | None]:
    try:
        values, number = encode(columns, label)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if label is not None and number is None:
        print_note(f"note: {option}: no item has the label {label!r}")
    return values, number


def _tabulate(
    task: Task | Streamed | Overlapping, scores: Scores, sort: str | None, uncertainty: Uncertainty
) -> ScoreTable:
    columns = {name: values + 0.0 for name, values in scores.to_numpy().items()}  # -0 becomes 0
    if sort is not None:
        columns = {sort: columns[sort], **columns}
    columns = uncertainty.beside(columns)
    coverage = scores.coverage.cpu().numpy()
    if not (coverage == 1).all():
        columns = {"coverage": coverage, **columns}
    return ScoreTable(
        names=task.names, columns=columns, n_items=task.n_items, truth=task.truth_name, skipped=scores.skipped
    )


def _order(scores: Scores, name: str) -> np.ndarray:
    """Numbers of the clusterings: best first, equal ones in the order of the input, nan last."""
    values = scores.to_numpy()[name]
    return np.argsort(-values if scores.measures[name].better == "higher" else values, kind="stable")


def _render(table: ScoreTable, arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return table.as_json()
    if arguments.format == "csv":
        return table.as_csv()
    return table.as_table(None if arguments.output else terminal_width())


SCORE_OPTIONS = (
    option("files", nargs="+", metavar="FILE", help="one table of labels, or the truth and then clusterings"),
    option("--truth", metavar="COLUMN", help="the column of FILE that holds the truth"),
    COLUMNS,
    EXCLUDE,
    MEASURE_LIST,
    option("--sort", metavar="MEASURE", help="put the best by this measure first (default: the order of the input)"),
    option(
        "--top",
        type=positive_int,
        metavar="K",
        help="show the K best only (by --sort, adjusted_rand or the first measure)",
    ),
    option("--ignore", metavar="LABEL", help="leave out the items with this label in the truth"),
    option("--noise-label", metavar="LABEL", help="the label of noise in the clusterings, often -1"),
    option(
        "--noise",
        choices=[policy.value for policy in NoisePolicy],
        default="ignore",
        help="leave noise out, take it as one cluster, or each item as its own (default: ignore)",
    ),
    option("--stream", action="store_true", help="read FILE in chunks, in memory that does not grow with it"),
    *OVERLAPPING_OPTIONS,
    *UNCERTAINTY_OPTIONS,
    DEVICE,
    FORMAT,
    OUTPUT,
)

_SCORE_DETAILS = f"""\
examples:
  torchclusteval score results.csv --truth class --exclude id --sort ami --top 9
  torchclusteval score truth.npy kmeans.npy spectral.txt --measures nmi,ari
  torchclusteval score results.csv --truth class --measures ari --confidence 0.95 --permutations 1000
  zcat results.csv.gz | torchclusteval score - --truth class --noise-label -1
  torchrun --nproc-per-node 4 -m torchclusteval score huge.csv --truth class

files (any may be gzip; "-" is standard input):
  CSV, TSV    a header line, then a line an item; cells divided by comma, tab,
              semicolon, | or space; labels are whole numbers or text. A first
              column without a name (row names of pandas and R) is left out.
  .txt        a label a line
  .npy, .npz  (N,) labels, or (B, N) for several clusterings

{OVERLAPPING_DETAILS}

With --stream, and for each of several processes that torchrun starts, FILE is
one text table, which need not fit in memory; several processes take a part each.

Where items are left out, a coverage column says which share of them is scored.
"""

COMMAND = Command("score", "score clusterings in files against the truth", score, SCORE_OPTIONS, _SCORE_DETAILS)
