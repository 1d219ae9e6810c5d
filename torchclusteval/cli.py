"""The command line: arguments, the commands and how they end.

A command is a function of the parsed arguments that returns what to print, and a row of ``COMMANDS``.
"""

import argparse
import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from torchclusteval import __version__, demo
from torchclusteval.describe import describe_measure, list_measures
from torchclusteval.files import Labels, LabelFile, find, read_labels, read_table, stack
from torchclusteval.labels import NOISE_POLICIES
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import DEFAULT, FAMILIES, MEASURES, select
from torchclusteval.measures.registry import find as find_measure
from torchclusteval.report import ScoreTable
from torchclusteval.scoring import Scores, evaluate

PROGRAM = "torchclusteval"
FORMATS = ("table", "csv", "json")

_INTERRUPTED, _PIPE_CLOSED, _WRONG = 130, 141, 2  # as shells count them


# --- score ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """What to score against what."""

    truth_name: str
    truth: Labels
    names: list[str]
    clusterings: list[Labels]


def score(arguments: argparse.Namespace) -> str:
    """Score the clusterings of one file, or of several, against the truth."""
    measures, sort = _measures(arguments)
    device = _device(arguments.device)
    task = _read_task(arguments)
    truth, ignored = _with_label([task.truth], arguments.ignore, "--ignore")
    predictions, noise_label = _with_label(task.clusterings, arguments.noise_label, "--noise-label")
    noise = arguments.noise
    if arguments.noise_label is not None and noise_label is None:
        noise = "ignore"  # nothing is noise
    scores = evaluate(
        truth[0],
        predictions,
        measures,
        ignore_index=ignored,
        noise_label=noise_label,
        noise=noise,
        device=device,
    )
    for name, reason in scores.skipped.items():
        note(f"left out {name}, which {reason}")
    table = _as_table(task, scores, sort)
    if sort is not None:
        table = table.take(_order(scores, sort)[: arguments.top])
    return render(table, arguments)


def _measures(arguments: argparse.Namespace) -> tuple[Any, str | None]:
    """What to evaluate, and the name of the measure to sort by."""
    asked: list[Any] = [None]
    if arguments.measures is not None:
        asked = [name.strip() for name in arguments.measures.split(",") if name.strip()]
    chosen = select(asked)
    sort = None
    if arguments.sort is not None:
        sort = _named("sort", find_measure, arguments.sort)
        if sort.better is None:
            raise ValueError(f"--sort: expected a measure with a direction; {sort.name} has none")
        return [*asked, sort], sort.name
    if arguments.top is not None:
        sort = _leading(chosen)
    return asked, None if sort is None else sort.name


def _leading(chosen: Iterable[Measure]) -> Measure:
    """The measure to take the best by, where none is named."""
    directed = [measure for measure in chosen if measure.better is not None]
    if not directed:
        raise ValueError("--top: expected --sort MEASURE too; none of these measures says what is better")
    return next((measure for measure in directed if measure.name == "adjusted_rand"), directed[0])


def _named(option: str, function: Callable[[str], Any], value: str) -> Any:
    try:
        return function(value)
    except ValueError as error:
        _, _, reason = str(error).partition(": ")
        raise ValueError(f"--{option}: {reason}") from None


def _read_task(arguments: argparse.Namespace) -> Task:
    if arguments.truth is None and len(arguments.files) > 1:
        return _from_files(arguments)
    if len(arguments.files) > 1:
        raise ValueError(f"--truth: expected one FILE with that column; got {len(arguments.files)} files")
    file = read_table(arguments.files[0])
    if arguments.truth is None:
        listed = ", ".join(file.names[:6]) + (", ..." if len(file.names) > 6 else "")
        raise ValueError(f"--truth: expected the column of {file.path} that holds the truth; it has {listed}")
    truth = file.labels(arguments.truth)
    others = [name for name in file.names if name != arguments.truth]
    names = pick(file.names, others, arguments.columns, arguments.exclude)
    return Task(arguments.truth, truth, names, [_clustering(file, name) for name in names])


def _clustering(file: LabelFile, name: str) -> Labels:
    try:
        return file.labels(name)
    except ValueError as error:
        raise ValueError(f"{error} (if this column is no clustering: --exclude {name!r})") from None


def _from_files(arguments: argparse.Namespace) -> Task:
    first, *others = arguments.files
    if arguments.files.count("-") > 1:
        raise ValueError("-: expected standard input once; got it twice")
    truth_file = read_labels(first)
    if len(truth_file.names) > 1:
        held = f"it has {len(truth_file.names)} columns"
        raise ValueError(f"{first}: expected one column, the truth; {held} (for a single FILE, --truth names it)")
    truth = truth_file.labels(truth_file.names[0])
    files = [read_labels(path) for path in others]
    found = [(name, file) for file in files for name in file.names]
    every = [name for name, _ in found]
    kept = set(pick(every, every, arguments.columns, arguments.exclude))
    named = [(name, file.labels(name)) for name, file in found if name in kept]
    for name, labels in named:
        if len(labels) != len(truth):
            raise ValueError(f"{name}: expected {len(truth)} labels, as in {first}; got {len(labels)}")
    return Task(first, truth, [name for name, _ in named], [labels for _, labels in named])


def pick(known: Sequence[str], default: Sequence[str], columns: list[str], exclude: list[str]) -> list[str]:
    """The clusterings that are asked for, in the order of the file (of ``--columns`` where it is given).

    Raises:
        ValueError: an unknown name, or nothing is left.
    """
    chosen = _matches(known, columns, "--columns") if columns else list(default)
    left_out = set(_matches(known, exclude, "--exclude"))
    kept = [name for name in chosen if name not in left_out]
    if not kept:
        raise ValueError("clusterings: expected at least one column beside the truth; got none")
    return kept


def _matches(known: Sequence[str], asked: Sequence[str], option: str) -> list[str]:
    found: dict[str, None] = {}
    for item in asked:
        for name in [item] if item in known else [part.strip() for part in item.split(",") if part.strip()]:
            matching = [name] if name in known else [x for x in known if fnmatchcase(x, name.replace("[", "[[]"))]
            if not matching:
                close = get_close_matches(name, known, 3, 0.5)
                hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "* matches any characters"
                raise ValueError(f"{option}: expected columns of the file; got {name!r} ({hint})")
            found.update(dict.fromkeys(matching))
    return list(found)


def _with_label(columns: Sequence[Labels], label: str | None, option: str) -> tuple[np.ndarray, int | None]:
    """Columns as ``(B, N)`` whole numbers, and the number of a label in them."""
    for column in columns:
        if len(column) != len(columns[0]):
            raise ValueError(f"columns: expected {len(columns[0])} labels in each; got {len(column)}")
    values, vocabulary = stack(columns)
    if label is None:
        return values, None
    try:
        number = find(label, values, vocabulary)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if number is None:
        note(f"{option}: no item has the label {label!r}")
    return values, number


def _device(name: str | None) -> torch.device | None:
    if name is None:
        return None
    try:
        torch.ones(1, dtype=torch.float64, device=name).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"--device: expected a device that works here, as cpu or cuda; got {name!r} ({reason})") from None
    return torch.device(name)


def _as_table(task: Task, scores: Scores, sort: str | None) -> ScoreTable:
    columns = {name: values + 0.0 for name, values in scores.to_numpy().items()}  # no -0
    coverage = scores.coverage.cpu().numpy()
    if sort is not None:
        columns = {sort: columns[sort], **columns}
    if not (coverage == 1).all():
        columns = {"coverage": coverage, **columns}
    return ScoreTable(task.names, columns, len(task.truth), task.truth_name, scores.skipped)


def _order(scores: Scores, name: str) -> np.ndarray:
    """Numbers of the clusterings, best first, equal ones in their order, nan last."""
    values = scores.to_numpy()[name]
    return np.argsort(-values if scores.measures[name].better == "higher" else values, kind="stable")


def render(table: ScoreTable, arguments: argparse.Namespace) -> str:
    """A table in the format that is asked for."""
    if arguments.format == "json":
        return table.as_json()
    if arguments.format == "csv":
        return table.as_csv()
    return table.as_table(None if arguments.output else shutil.get_terminal_size().columns)


# --- measures and demo ------------------------------------------------------------------------------------


def measures(arguments: argparse.Namespace) -> str:
    """List the measures, or explain one."""
    name = arguments.name
    if name is None or name in FAMILIES:
        members = [measure for measure in MEASURES.values() if name in (None, measure.family)]
        return list_measures(members, shutil.get_terminal_size().columns)
    return describe_measure(_named("measures", find_measure, name))


def show_demo(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    return demo.run(shutil.get_terminal_size().columns)
