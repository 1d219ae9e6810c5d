"""Figures by matplotlib without pyplot: nothing is shown, and no global state is touched."""

import os
from typing import TYPE_CHECKING

from torchclusteval.common.optional import import_optional
from torchclusteval.common.output import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart.
SAFE_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8C8C8C")


def new_figure(width: float, height: float, title: str = "") -> "Figure":
    """An empty figure; width and height are in inches."""
    figures = import_optional("matplotlib.figure", "plots")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    if title:
        figure.suptitle(title)
    return figure


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Replace a file by a figure; PDF embeds its fonts as TrueType, so that texts can be searched and edited."""
    with replacing(path) as unfinished, import_optional("matplotlib", "plots").rc_context({"pdf.fonttype": 42}):
        figure.savefig(unfinished)
