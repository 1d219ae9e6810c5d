"""The pictures of ``--plot`` and ``--picture``."""

import argparse
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cli.options import option
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.matching import Matching
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

SCORE_PICTURE = option(
    "--picture",
    choices=("scores", "table", "share", "flow"),
    help="what --plot draws: scores by the measure of --sort (default), or of the best clustering the matched table "
    "with counts or shares, or the flow from classes to clusters",
)
COMPARE_PICTURE = option(
    "--picture",
    choices=("agreement", "flow", "transitions"),
    help="what --plot draws: the matrix of --measure with its tree (default), or how items move from each clustering "
    "to the next, as bands or as a tree over rising resolutions",
)


def check_picture(arguments: argparse.Namespace) -> None:
    """Raise where a picture is chosen and none is drawn."""
    if arguments.picture is not None and arguments.plot is None:
        raise ValueError("--picture: expected --plot FILE.png too; got none")


def needs_labels(arguments: argparse.Namespace) -> bool:
    """Whether the picture shows groups by their labels."""
    return arguments.picture not in (None, "scores")


def save(axes: Any, path: str) -> None:
    """Write the figure of axes; texts of a PDF can be searched and edited."""
    from torchclusteval.plots.canvas import no_glyph_warnings

    with import_optional("matplotlib", "plots").rc_context({"pdf.fonttype": 42}), no_glyph_warnings():
        axes.figure.savefig(path)


def plot_groups(path: str, picture: str, table: ContingencyTables, matching: Matching, names: tuple[str, str]) -> None:
    """Draw one table, in matched order or as a flow; ``names`` are those of the truth and of the clustering."""
    from torchclusteval import plots

    if picture == "flow":
        save(plots.plot_flow(table, names), path)
    else:
        show = "share" if picture == "share" else "count"
        save(plots.plot_table(table, matching, show=show, name=names[1]), path)


def plot_pairs(path: str, measure: Measure, names: list[str], values: Tensor) -> None:
    """Draw the agreement of clusterings."""
    from torchclusteval import plots

    n_items = torch.zeros(values.shape, dtype=torch.int64)
    scores = Scores({measure.name: values}, {measure.name: measure}, n_items, None, {})
    save(plots.plot_agreement(scores, names=names), path)


def plot_runs(path: str, picture: str, names: list[str], labels: list[np.ndarray]) -> None:
    """Draw clusterings one after another; a missing label is None."""
    from torchclusteval import plots

    draw = plots.plot_flow if picture == "flow" else plots.plot_transitions
    save(draw(labels, names), path)
