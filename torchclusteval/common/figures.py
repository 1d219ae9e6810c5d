"""Figures of matplotlib without pyplot, so none is shown and no global state changes."""

import os
from typing import TYPE_CHECKING, Any

from torchclusteval.common.optional import import_optional
from torchclusteval.common.output import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, for colour-blind readers.
SAFE_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8C8C8C")
OF_FILES: dict[str, Any] = {}  # "dpi" and "size" (inches), set by the command line


def new_figure(width: float, height: float, title: str = "") -> "Figure":
    """An empty figure; width and height in inches."""
    figures = import_optional("matplotlib.figure", "plots")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    if title:
        figure.suptitle(title)
    return figure


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Replace a file by a figure. TrueType fonts keep the texts of a PDF open to search and editing."""
    fonts = import_optional("matplotlib", "plots").rc_context({"pdf.fonttype": 42, "ps.fonttype": 42})
    with replacing(path) as unfinished, fonts:
        if (size := OF_FILES.get("size")) is not None:
            scale = min(1.0, *(size / figure.get_size_inches()))
            figure.draw_without_rendering()  # makes the texts of ticks
            figure.set_size_inches(size)
            for text in figure.findobj(import_optional("matplotlib.text", "plots").Text):
                text.set_fontsize(scale * text.get_fontsize())
        figure.savefig(unfinished, dpi=OF_FILES.get("dpi"))
