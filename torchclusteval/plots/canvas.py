"""Axes with room for their labels, fitted texts, and colours; lengths are in points (1/72 inch)."""

import re
import textwrap
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from torchclusteval.common.checks import is_listable
from torchclusteval.common.formatting import brief, printable, shorten
from torchclusteval.common.optional import import_optional
from torchclusteval.labels.shapes import in_order_of

Array = npt.NDArray[Any]

# From Okabe and Ito's palette, for colour-blind readers.
BLUE, ORANGE, GREY, LIGHT = "#0072B2", "#D55E00", "#8C8C8C", "#DDDDDD"
GROUP_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B3A300")
OTHER_COLOURS = ("#9A9A9A", "#C4C4C4")

FONT, SMALL, LEAST = 8.0, 7.0, 5.5
_MAX_NAME = 400.0  # widest name next to new axes, whose figure grows
_PAD = 3.0  # of constrained layout
_DPI = 130
_ROOM = 300.0  # for labels around new axes, until `finish` knows their size
_FURTHER_SCRIPTS = re.compile("CJK|Source Han|WenQuanYi|Gothic|YaHei|PingFang|Hiragino|Arial Unicode|^Noto Sans$")


def start(ax: Any, width: float, height: float) -> tuple[Any, tuple[float, float]]:
    """Return (the given axes or new ones of this size, their size before labels take room)."""
    if ax is not None:
        figure = ax.get_figure(root=True)
        if figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")
        return ax, size_of(ax)
    total = np.array((width + _ROOM, height + _ROOM))
    figure = import_optional("matplotlib.figure", "plots").Figure(total / 72, dpi=_DPI, layout="constrained")
    left, bottom = _ROOM / 2 / total  # the layout begins with axes of their final size
    place = {"left": left, "right": 1 - left, "bottom": bottom, "top": 1 - bottom}
    return figure.subplots(gridspec_kw=place), (width, height)


def settle(axes: Any, ax: Any, size: tuple[float, float]) -> tuple[float, float]:
    """The size of given axes after their labels have taken room; new axes keep their size."""
    if ax is None:
        return size
    with no_glyph_warnings():
        axes.get_figure(root=True).draw_without_rendering()
    return size_of(axes)


def room(ax: Any, given: float) -> float:
    """The width that names may take: a part of given axes, or as much as a new figure grows."""
    return _MAX_NAME if ax is None else given


def finish(axes: Any, ax: Any) -> Any:
    """The axes; a new figure grows to hold its labels."""
    if ax is not None:
        return axes
    with no_glyph_warnings():
        own, around = axes.bbox, axes.get_tightbbox()
    around = around.padded(max(_PAD / 72 * _DPI, 0.04 * (own.min - around.min).max()))  # browsers set wider texts
    low, high = (own.min - around.min) / around.size, (own.max - around.min) / around.size
    axes.figure.set_size_inches(around.size / _DPI)
    axes.get_gridspec().update(left=low[0], bottom=low[1], right=high[0], top=high[1])
    axes.set_subplotspec(axes.get_subplotspec())  # moves the axes
    return axes


@contextmanager
def no_glyph_warnings() -> Iterator[None]:
    """Draw characters without a font as boxes, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def size_of(axes: Any) -> tuple[float, float]:
    box, (width, height) = axes.get_position(), axes.figure.bbox.size * 72 / axes.figure.dpi
    return float(box.width * width), float(box.height * height)


def checked_names(names: Sequence[Hashable] | None, own: Sequence[Hashable] | None, count: int) -> list[str]:
    """Names of clusterings: the given ones, else their own, else their numbers."""
    known = range(count) if own is None else own
    given = known if names is None else in_order_of(known, names, "names", "a name for each clustering")
    if isinstance(given, (str, bytes)) or not is_listable(given, "names"):
        raise ValueError(f"names: expected a list of names; got {brief(given)}")
    listed = [str(x) for x in given]
    if len(listed) != count:
        raise ValueError(f"names: expected {count} names; got {len(listed)}")
    return listed


@cache
def _families() -> list[str]:
    """The usual font, then installed fonts for other scripts."""
    installed = {font.name for font in import_optional("matplotlib.font_manager", "plots").fontManager.ttflist}
    return ["DejaVu Sans", *sorted(filter(_FURTHER_SCRIPTS.search, installed))]


def style(size: float) -> dict[str, Any]:
    """Properties of a label's text; dollar signs do not start mathematics."""
    return {"fontsize": size, "fontfamily": _families(), "parse_math": False}


@cache
def _width_at_100(text: str) -> float:
    properties = import_optional("matplotlib.font_manager", "plots").FontProperties(size=100, family=_families())
    measure = import_optional("matplotlib.textpath", "plots").text_to_path.get_text_width_height_descent
    with no_glyph_warnings():
        return float(measure(text, properties, ismath=False)[0])


def widest(texts: Sequence[str], size: float) -> float:
    return max((1.05 * _width_at_100(text) * size / 100 + 1 for text in texts), default=0.0)


def fit(label: Any, width: float, size: float) -> str:
    """A label on one line of at most this width; a longer one loses its middle."""
    text = whole = shorten(printable(str(label)), 300)
    while len(text) > 3 and (found := widest([text], size)) > width:
        text = shorten(whole, max(3, min(len(text) - 1, int(len(text) * width / found))))
    return text


def fit_names(labels: Iterable[Any], width: float, size: float) -> list[str]:
    """Labels on one line each of at most this width; different ones stay different."""
    names = [printable(str(label)) for label in labels]
    shown = {name: fit(name, width, size) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in shown.items():
        alike.setdefault(text, []).append(name)
    for group in alike.values():
        if len(group) > 1:
            shown |= zip(group, _apart(group, width, size), strict=True)
    texts, mark = list(shown.values()), "#" * (width > 20)
    still = {name: f"{mark}{i}" for i, name in enumerate(shown, 1) if texts.count(shown[name]) > 1}
    return [still.get(name, shown[name]) for name in names]


def _apart(names: list[str], width: float, size: float) -> list[str]:
    """Names that keep what is different and lose some of what they have in common before and after it."""
    start = next(i for i, x in enumerate(zip_longest(*names)) if len(set(x)) > 1)
    rests = zip_longest(*(name[start:][::-1] for name in names))
    end = next(i for i, x in enumerate(rests) if len(set(x)) > 1)
    before, after = names[0][:start], names[0][len(names[0]) - end :]
    cores = [shorten(name[start : len(name) - end], 300) for name in names]
    longest, kept = max(cores, key=len), 60
    while kept and widest([shorten(before, kept) + longest + shorten(after, kept)], size) > width:
        kept -= 3
    left, right = (shorten(x, kept) if kept else "" for x in (before, after))
    return [left + fit(core, width - widest([left + right], size), size) + right for core in cores]


def wrapped(text: str, width: float, size: float) -> str:
    """A text, broken into lines of about this width."""
    lines, broken = int(np.ceil(widest([text], size) / max(width, 1.0))), text
    while lines > 1 and widest(broken.splitlines(), size) > width and 4 * lines < len(text):
        broken = textwrap.fill(text, max(8, int(1.15 * len(text) / lines) + 1))
        lines += 1
    return broken


def thin(count: int, room: float, size: float) -> list[int]:
    """Numbers of the labels with room along an axis: all, every second, every third ..."""
    return list(range(0, count, max(1, int(np.ceil(count * size * 1.2 / max(room, 1.0))))))


def thinned(axis: Any, room: float, size: float) -> list[int]:
    """Thin out the labels along an axis; return the numbers of the labels that stay."""
    places, labels = list(axis.get_ticklocs()), axis.get_ticklabels()
    kept = thin(len(places), room, size)
    if len(kept) < len(places):
        texts, rotation = [labels[i].get_text() for i in kept], labels[0].get_rotation()
        axis.set_ticks([places[i] for i in kept], texts, rotation=rotation, **style(size))
    return kept


def keep_texts(axes: Any, kept: Sequence[int]) -> None:
    """Remove all texts of the axes except these."""
    for i in sorted(set(range(len(axes.texts))) - set(kept), reverse=True):
        axes.texts[i].remove()


def draw_scale(axes: Any, mappable: Any, ends: tuple[str, str], text: str, size: tuple[float, float]) -> None:
    """Draw a bar of colours above axes of this size, with its two ends and a text next to it."""
    width, height = size
    wide = min(60.0, 0.5 * width)
    inset = axes.inset_axes((0, 1 + 8 / height, wide / width, 7 / height))
    bar = axes.figure.colorbar(mappable, cax=inset, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_ticks_position("top")
    bar.set_ticks([mappable.norm.vmin, mappable.norm.vmax], labels=ends)
    bar.ax.tick_params(length=0, pad=1, labelsize=LEAST if width < 200 else SMALL)
    for label, side in zip(bar.ax.get_xticklabels(), ("left", "right"), strict=True):
        label.set_horizontalalignment(side)
    axes.annotate(text, (wide / width, 1), (5, 11), "axes fraction", "offset points", va="center", fontsize=SMALL)


def spread(wanted: Array, gap: float, low: float, high: float) -> Array:
    """Ascending positions close to the wanted ones, at least ``gap`` apart, within the limits if there is room."""
    from scipy.optimize import isotonic_regression

    steps = gap * np.arange(len(wanted))
    placed = isotonic_regression(wanted - steps).x + steps
    found: Array = np.maximum(np.minimum(placed, high - steps[::-1]), low + steps)
    return found


def colours_of_groups(sizes: Array) -> list[str]:
    """A colour for each group: colours of their own for the largest, greys for the others."""
    ranks = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable").tolist()
    others = len(GROUP_COLOURS)
    return [GROUP_COLOURS[rank] if rank < others else OTHER_COLOURS[rank % len(OTHER_COLOURS)] for rank in ranks]


def array(x: Any) -> Array:
    """A tensor or labels as an array, at least one-dimensional."""
    return np.atleast_1d(x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x))
