"""The command ``demo``: hundreds of bundled real clusterings under every measure."""

import argparse
import shutil
import time
from pathlib import Path
from shlex import quote

from torchclusteval.cli.commands.ranking import best_first, rows_of
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.measures.registry import DEFAULT
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

DATA = Path(__file__).parent.parent / "data" / "digits.csv.gz"

_SHOWN = ("ami_arithmetic", "adjusted_rand", "v_measure", "bcubed_f", "one_to_one_accuracy", "purity")
_N_SHOWN = 5


def run(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    times, width = [time.perf_counter()], shutil.get_terminal_size().columns
    held = {one.title: one.labels for one in hold_columns(Selection(files=[str(DATA)]))[0]}
    truth, names = held.pop("truth"), [*held]
    times.append(time.perf_counter())
    tables = ContingencyTables.from_labels(truth, held)
    n_items = int(tables.n_items[0])
    times.append(time.perf_counter())
    scores = evaluate_tables(tables, "all")
    times.append(time.perf_counter())
    steps = {
        "reading the labels": f"{n_items} items, {len(names)} clusterings and the truth",
        "counting": f"{len(names)} contingency tables",
        "scoring": f"{len(scores)} measures, {len(scores) * len(names)} scores, in one call",
    }
    lines = [f"{len(names)} clusterings of {n_items} handwritten digits (UCI), most of them k-means restarts\n"]
    for (step, detail), start, end in zip(steps.items(), times, times[1:], strict=False):
        lines.append(f"  {step:<20}{end - start:6.3f} s   {detail}")
    columns, lead = {name: scores.to_numpy()[name] for name in _SHOWN}, _SHOWN[0]
    order = best_first(columns[lead], "higher", _N_SHOWN)
    best = as_text(Table(["clustering", *columns], rows_of(names, columns, order)), width)
    favourites = [(name, scores.best(name)) for name in DEFAULT]
    rows = [[name, names[i], scores[name][i].item(), scores[lead][i].item()] for name, i in favourites]
    differ = as_text(Table(["measure", "its favourite", "score", lead], rows), width)
    lines += [f"\nThe best {_N_SHOWN} by {lead}:\n", best, "Measures differ in what they prefer:\n", differ]
    return "\n".join([*lines, _NEXT])


_NEXT = f"""\
Next:
  torchclusteval score FILE.csv --truth COLUMN     your own file, a column a clustering
  torchclusteval measures                          every measure; `measures NAME` explains one
  torchclusteval score {quote(str(DATA))} --truth truth --sort ami --top 10
"""
