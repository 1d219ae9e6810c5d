"""Which measures are asked for, scores as columns, and which clustering is best."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from torchclusteval.cli.commands.checks import parse_list, parse_measure
from torchclusteval.cli.options import print_note
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import select
from torchclusteval.scoring.scores import Scores, best_first, leading


def measures_and_sort(arguments: argparse.Namespace, means: Sequence[str] = ()) -> tuple[list[Any], str | None]:
    """What to evaluate, and the name of what to sort by: a measure, or one of the means."""
    asked: list[Any] = ["default"] if arguments.measures is None else parse_list(arguments.measures)
    chosen = select(asked)
    if arguments.sort in means:
        return asked, arguments.sort
    if arguments.sort is not None:
        measure = parse_measure(arguments.sort, "--sort")
        if measure.better is None:
            raise ValueError(f"--sort: expected a measure with a direction; got {measure.name}, which has none")
        return [*asked, measure], measure.name
    return asked, None if arguments.top is None else leading(chosen, "--top").name


def pictured(scores: Scores, sort: str | None, top: int | None) -> tuple[Measure, list[int]]:
    """The measure that a picture shows, and the clusterings in its order."""
    measure = scores.measures.get(sort or "") or leading(scores.measures.values(), "--plot")
    if measure.name != sort and len(scores) > 1:
        print_note(f"note: the picture shows {measure.name}; --sort MEASURE chooses another")
    return measure, best_first(scores.to_numpy()[measure.name], measure.better, top)


def columns_of(scores: Scores, first: str | None = None, share: float = 1.0) -> dict[str, np.ndarray]:
    """Coverage, if items are left out, then scores by measure, ``first`` before the others.

    ``share``: of the items of the file, those that the scores consider.
    """
    values = {name: value + 0.0 for name, value in scores.to_numpy().items()}  # -0 becomes 0
    coverage = scores.coverage.cpu().numpy() * share
    columns = {} if (coverage == 1).all() else {"coverage": coverage}
    return columns | ({first: values[first]} if first in values else {}) | values


def rows_of(names: Sequence[str], columns: Mapping[str, np.ndarray], order: Iterable[int]) -> list[dict[str, Any]]:
    """A row of values for each clustering of the order."""
    values = {name: column.tolist() for name, column in columns.items()}
    return [{"clustering": names[i], **{name: column[i] for name, column in values.items()}} for i in order]


def note_skipped(skipped: Mapping[str, str]) -> dict[str, Any]:
    """Print a note for each measure left out; return the entry of JSON."""
    for name, reason in skipped.items():
        print_note(f"note: left out {name}, which {reason}")
    return {"skipped": dict(skipped)} if skipped else {}
