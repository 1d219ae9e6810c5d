"""The command ``score``: clusterings in files against the truth."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from torchclusteval.cli.commands.pictures import SCORE_PICTURE, check_picture, needs_labels, plot_groups
from torchclusteval.cli.commands.score_against import AGAINST, check_against, score_against
from torchclusteval.cli.commands.score_breakdown import BREAKDOWN, MEANS, break_down, check_breakdown
from torchclusteval.cli.commands.score_by_group import BY, score_by_group
from torchclusteval.cli.commands.score_coreference import ON_DUPLICATE, are_conll, score_coreference
from torchclusteval.cli.commands.score_match import MATCH, count_labelled, matched_classes, note_ties
from torchclusteval.cli.commands.score_overlapping import (
    OVERLAPPING_DETAILS,
    OVERLAPPING_OPTIONS,
    Overlapping,
    score_overlapping,
)
from torchclusteval.cli.commands.score_uncertainty import (
    UNCERTAINTY_OPTIONS,
    Uncertainty,
    check_seed,
    plot_scores,
    resample,
)
from torchclusteval.cli.options import (
    COLUMNS,
    DEVICE,
    EXCLUDE,
    FORMAT,
    IGNORE,
    MEASURE_LIST,
    NOISE,
    OUTPUT,
    OVERWRITE,
    READING,
    Command,
    check_noise,
    check_plot,
    decide_format,
    note_ids,
    option,
    parse_device,
    parse_measure,
    positive_int,
    print_note,
    table_width,
)
from torchclusteval.cli.printing.score_table import MatchedClass, ScoreTable
from torchclusteval.cli.reading.read import Counted, count_files, count_table, parse_selection
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import select
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.matching import match
from torchclusteval.scoring.scores import Scores
from torchclusteval.streaming.distributed import rank_and_size
from torchclusteval.tables import ContingencyTables


def score(arguments: argparse.Namespace) -> str:
    """Score clusterings against the truth."""
    if are_conll(arguments.files):
        arguments.format = decide_format(arguments)
        return score_coreference(arguments, SCORE_OPTIONS)
    if arguments.on_duplicate != "error":
        raise ValueError("--on-duplicate: expected files of coreference (.conll); got files of labels")
    check_plot(arguments.plot)
    check_picture(arguments)
    check_seed(arguments)
    arguments.format = decide_format(arguments)
    if arguments.overlapping:
        return _report(*score_overlapping(arguments), arguments)
    if arguments.layout != "auto":
        raise ValueError("--layout: expected --overlapping too; got files of labels")
    measures, sort = _measures(arguments)
    device = parse_device(arguments.device)
    asked = parse_selection(arguments)
    if arguments.stream:
        print_note("note: --stream: files always are read in blocks now; this option will go")
    check_noise(arguments)
    check_breakdown(arguments)
    check_against(arguments)
    if arguments.against is not None:
        return _render(score_against(arguments, asked, measures, sort, device), arguments)
    if arguments.by is not None:
        return score_by_group(arguments, asked, measures, sort, device)
    if arguments.per_group:
        raise ValueError("--per-group: expected --by COLUMN too, whose groups it shows")
    matches, n_files = None, len(arguments.files)
    if n_files > 1 and arguments.truth is not None:
        several = f"{n_files} files, the first of which has the truth alone (or beside --id COLUMN)"
        raise ValueError(f"--truth: expected one FILE that has this column; got {several}")
    if n_files > 1 and rank_and_size()[1] > 1:
        raise ValueError(f"FILE: expected one file and --truth COLUMN under torchrun; got {n_files}")
    if arguments.match or arguments.per_class or arguments.per_cluster or needs_labels(arguments):
        counted, held = count_labelled(asked, arguments.truth, device)
        matches = matched_classes(held) if arguments.match else None
    elif n_files == 1:
        counted = count_table(asked, arguments.truth, device)
        if counted.rank > 0:  # all have the same scores
            arguments.output = None
            return ""
    else:
        counted = count_files(asked, device)
    tables = counted.tables
    note_ids(counted.names, ((tables.n_clusters == tables.n_items) & (tables.n_items > 1)).tolist())
    return _report(counted, evaluate_tables(tables, measures), sort, arguments, tables, matches)


def _report(
    task: Counted | Overlapping,
    scores: Scores,
    sort: str | None,
    arguments: argparse.Namespace,
    tables: ContingencyTables | None = None,
    matches: tuple[list[list[MatchedClass]], list[bool]] | None = None,
) -> str:
    for name, reason in scores.skipped.items():
        print_note(f"note: left out {name}, which {reason}")
    uncertainty = resample(tables, list(scores.measures.values()), arguments)
    breakdown, means, unique = (None, {}, []) if tables is None else break_down(arguments, tables)
    classes, unique = (None, unique) if matches is None else matches
    if arguments.plot is not None:
        _draw(task, scores, sort if sort in scores.measures else None, uncertainty, arguments, tables)
    table = _tabulate(task, scores, sort if sort in scores.measures else None, uncertainty)
    table = replace(table, columns={**table.columns, **means}, matches=classes, breakdown=breakdown)
    shown = np.arange(len(task.names))
    if sort is not None:
        shown = (_order(scores, sort) if sort in scores.measures else _descending(means[sort]))[: arguments.top]
    if unique:
        note_ties([task.names[i] for i in shown], [unique[i] for i in shown])
    table = table.take(shown)
    return _render(table, arguments)


def _draw(
    task: Counted | Overlapping,
    scores: Scores,
    sort: str | None,
    uncertainty: Uncertainty,
    arguments: argparse.Namespace,
    tables: ContingencyTables | None,
) -> None:
    measure = _leading(scores.measures.values(), "--plot") if sort is None else scores.measures[sort]
    order = _order(scores, measure.name)[: arguments.top]
    if sort is None and len(scores) > 1:
        print_note(f"note: the picture is by {measure.name}; --sort MEASURE takes another")
    if not needs_labels(arguments):
        values = scores.to_numpy()[measure.name]
        plot_scores(arguments.plot, measure, task.names, values, order, uncertainty)
    elif tables is None:
        raise ValueError(f"--picture: expected scores, as groups overlap; got {arguments.picture}")
    else:
        drawn = int(order[0])
        matching = match(tables[drawn])
        note_ties([task.names[drawn]], [bool(matching.unique)])
        plot_groups(arguments.plot, arguments.picture, tables[drawn], matching, (task.truth_name, task.names[drawn]))


def _measures(arguments: argparse.Namespace) -> tuple[list[Any], str | None]:
    """What to evaluate, and the name of the measure to sort by."""
    asked: list[Any] = ["default"]
    if arguments.measures is not None:
        asked = [name.strip() for name in arguments.measures.split(",") if name.strip()]
    chosen = select(asked)
    if arguments.sort in MEANS:
        if not arguments.per_class:
            raise ValueError(f"--sort: expected --per-class too, which computes {arguments.sort}; got it alone")
        return asked, arguments.sort
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


def _tabulate(task: Counted | Overlapping, scores: Scores, sort: str | None, uncertainty: Uncertainty) -> ScoreTable:
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
    return _descending(values if scores.measures[name].better == "higher" else -values)


def _descending(values: np.ndarray) -> np.ndarray:
    return np.argsort(-values, kind="stable")


def _render(table: ScoreTable, arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return table.as_json()
    if arguments.format == "csv":
        return table.as_csv()
    return table.as_table(table_width(arguments.output), arguments.format)


SCORE_OPTIONS = (
    option("files", nargs="+", metavar="FILE", help="one table of labels, or the truth and then clusterings"),
    option("--truth", metavar="COLUMN", help="the column of FILE that holds the truth"),
    *BY,
    MATCH,
    *BREAKDOWN,
    COLUMNS,
    EXCLUDE,
    MEASURE_LIST,
    option(
        "--sort",
        metavar="MEASURE",
        help="put the best by this measure first, with --by by its macro value, with --per-class also by "
        f"{', '.join(MEANS)} (default: the order of the input)",
    ),
    option(
        "--top",
        type=positive_int,
        metavar="K",
        help="show the K best only (by --sort, adjusted_rand or the first measure)",
    ),
    IGNORE,
    *NOISE,
    *READING,
    option("--stream", action="store_true", help="no longer of any effect: files are always read in blocks"),
    *OVERLAPPING_OPTIONS,
    ON_DUPLICATE,
    *UNCERTAINTY_OPTIONS,
    *AGAINST,
    SCORE_PICTURE,
    DEVICE,
    FORMAT,
    OUTPUT,
    OVERWRITE,
)

_SCORE_DETAILS = f"""\
examples:
  torchclusteval score results.csv --truth class --exclude id --sort ami --top 9
  torchclusteval score mentions.csv --truth entity --by document --measures bcubed,pairs
  torchclusteval score cells.csv --truth type --by donor --per-group
  torchclusteval score results.csv --truth class --columns kmeans --match
  torchclusteval score results.csv --truth class --columns kmeans --per-class
  torchclusteval score results.csv --truth class --plot table.png --picture table
  torchclusteval score results.csv --truth class --measures ami --against kmeans --correction holm
  torchclusteval score key.conll response.conll other.conll
  torchclusteval score truth.npy kmeans.npy spectral.txt --measures nmi,ari
  torchclusteval score results.csv --truth class --measures ari --confidence 0.95 --permutations 1000
  zcat results.csv.gz | torchclusteval score - --truth class --noise-label -1
  torchrun --nproc-per-node 4 -m torchclusteval score huge.csv --truth class

files (text may be packed by gzip, bz2, zstd or lz4; "-" is standard input):
  CSV, TSV    a header line, then a line an item; cells between commas, tabs,
              semicolons, | or blanks (--delimiter); a first line sep=; is obeyed.
              Labels are whole numbers (1, 1.0 and 01 are one label) or text; blanks
              around them do not count.
  .txt        a label a line
  .npy, .npz  (N,) labels, or (B, N) for several clusterings; label images as
              (N,) pixels: numpy.save("truth.npy", image.ravel())
  Parquet, Feather, ORC; .h5ad (columns of obs; needs anndata);
  a directory of files with the same columns, which are one table
  .conll      the key and then responses of coreference, in the columns of CoNLL 2011/2012

  A first column without a name (row names of pandas and R), or one cell more than
  the header has, is no clustering: several FILEs that have names of rows are joined
  by them. All but .npy, .npz and .txt need pyarrow: pip install 'torchclusteval[cli]'

{OVERLAPPING_DETAILS}

One FILE is read in blocks and need not fit in memory; torchrun's processes read a
part each. Several FILEs, --by, --against, --match, --per-class, --per-cluster and the
other commands hold labels in the smallest type of integers.
--ignore and --noise-label may name a missing label ('' or NA).

Where items are left out, a coverage column says which share of them is scored.
"""

COMMAND = Command("score", "score clusterings in files against the truth", score, SCORE_OPTIONS, _SCORE_DETAILS)
