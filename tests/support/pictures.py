"""Where the texts of a figure are: whether they overlap, or leave the figure."""

import itertools
import warnings
from typing import Any

from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """The texts that are drawn, with their boxes in pixels."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        beyond = {label for axis in figure.findobj(Axis) for label in labels_beyond(axis)}
        texts = [x for x in figure.findobj(Text) if x.get_text().strip() and x.get_visible() and x not in beyond]
        return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


def labels_beyond(axis: Axis) -> list[Text]:
    """The labels of ticks beyond the ends of an axis, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    return [x for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high for x in tick.findobj(Text)]


def check_texts(figure: Any, slack: float = 0.5) -> None:
    """No text overlaps another one or leaves the figure."""
    texts, (width, height) = texts_of(figure), figure.get_size_inches() * figure.dpi
    outside = [
        (text, box.extents.round(1).tolist())
        for text, box in texts
        if box.x0 < -slack or box.y0 < -slack or box.x1 > width + slack or box.y1 > height + slack
    ]
    assert outside == [], (width, height)
    overlapping = [
        (a, b)
        for (a, first), (b, second) in itertools.combinations(texts, 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > slack
        and min(first.y1, second.y1) - max(first.y0, second.y0) > slack
    ]
    assert overlapping == []
