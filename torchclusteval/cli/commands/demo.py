"""The command ``demo``: hundreds of bundled real clusterings under every measure."""

import argparse
import time
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from torchclusteval.cli.commands.ranking import rows_of
from torchclusteval.cli.options import terminal_width
from torchclusteval.cli.printing.tables import Table, as_text
from torchclusteval.cli.reading.read import Selection, hold_files
from torchclusteval.measures.registry import DEFAULT
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

DATA = Path(__file__).parent.parent / "data" / "digits.csv.gz"

_SHOWN_MEASURES = ("adjusted_rand", "ami_arithmetic", "v_measure", "bcubed_f", "one_to_one_accuracy", "purity")
_N_SHOWN = 5


def read_demo() -> tuple[list[str], np.ndarray, np.ndarray]:
    """The bundled data: names of clusterings, classes ``(N,)`` and clusters ``(B, N)``."""
    asked = Selection(files=[str(DATA)])
    columns = {held.title: held.codes for held in hold_files(asked, with_truth=False)}
    truth = columns.pop("truth")
    return list(columns), truth, np.stack(list(columns.values()))


def run(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    width = terminal_width()
    start = time.perf_counter()
    names, truth, clusterings = read_demo()
    read = time.perf_counter()
    tables = ContingencyTables.from_labels(truth, clusterings)
    counted = time.perf_counter()
    scores = evaluate_tables(tables, "all")
    scored = time.perf_counter()
    times = (read - start, counted - read, scored - counted)
    return "\n".join(
        [_head(names, truth, scores, times), _best(names, scores, width), _favourites(names, scores, width), _NEXT]
    )


def _head(names: list[str], truth: np.ndarray, scores: Scores, times: tuple[float, float, float]) -> str:
    values = len(scores) * len(names)
    rows = (
        ("reading the labels", times[0], f"{len(truth)} items, {len(names)} clusterings and the truth"),
        ("counting", times[1], f"{len(names)} contingency tables"),
        ("scoring", times[2], f"{len(scores)} measures, {values} scores, in one call"),
    )
    lines = [f"  {what:<20}{seconds:6.3f} s   {detail}" for what, seconds, detail in rows]
    title = f"{len(names)} clusterings of {len(truth)} handwritten digits (UCI), most of them k-means restarts"
    return "\n".join([title, "", *lines, ""])


def _best(names: list[str], scores: Scores, width: int) -> str:
    columns = {name: scores.to_numpy()[name] for name in _SHOWN_MEASURES}
    order = np.argsort(-columns[_SHOWN_MEASURES[0]], kind="stable")[:_N_SHOWN].tolist()
    table = Table(["clustering", *columns], rows_of(names, columns, order))
    return f"The best {_N_SHOWN} by {_SHOWN_MEASURES[0]}:\n\n{as_text(table, width)}"


def _favourites(names: list[str], scores: Scores, width: int) -> str:
    """The best clustering by each default measure: they do not agree."""
    rows: list[list[Any]] = []
    for name in DEFAULT:
        best = scores.best(name)
        rows.append([name, names[best], float(scores[name][best]), float(scores["adjusted_rand"][best])])
    table = Table(["measure", "its favourite", "score", "adjusted_rand"], rows)
    return f"Measures differ in what they prefer:\n\n{as_text(table, width)}"


_NEXT = f"""\
Next:
  torchclusteval score FILE.csv --truth COLUMN     your own file, a column a clustering
  torchclusteval measures                          every measure; `measures NAME` explains one
  torchclusteval score {quote(str(DATA))} --truth truth --sort ami --top 10
"""
