"""Axes of a known size, texts that fit, and colours; everything in points (1/72 inch)."""

import warnings
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from torchclusteval.common.checks import is_listable
from torchclusteval.common.formatting import brief, printable, shorten
from torchclusteval.common.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]

# From Okabe and Ito's palette, which colour-blind readers tell apart.
BLUE, ORANGE, GREY, LIGHT = "#0072B2", "#D55E00", "#8C8C8C", "#DDDDDD"
GROUP_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B3A300")
OTHER_COLOURS = ("#9A9A9A", "#C4C4C4")

FONT, SMALL, LEAST = 8.0, 7.0, 5.5
ROOM_BELOW, ROOM_BESIDE = 17.0, 28.0  # for numbers and the name of an axis
MAX_NAME, PAD = 150.0, 6.0  # widest name, room beside it
_DPI = 130
_FURTHER_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "IPAGothic",
    "Microsoft YaHei",
    "Yu Gothic",
    "MS Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
    "Noto Sans",
)


def new_axes(width: float, height: float, left: float, right: float, top: float, bottom: float) -> "Axes":
    """Axes of this size in a figure of their own, with this room around them."""
    figure_type = import_optional("matplotlib.figure", "plots").Figure
    total = (width + left + right, height + top + bottom)
    figure = figure_type(figsize=(total[0] / 72, total[1] / 72), dpi=_DPI)
    axes: Axes = figure.add_axes((left / total[0], bottom / total[1], width / total[0], height / total[1]))
    return axes


def check_axes(ax: Any) -> None:
    """Raise unless it is None or axes."""
    if ax is not None and not isinstance(ax, import_optional("matplotlib.axes", "plots").Axes):
        raise ValueError(f"ax: expected axes of matplotlib or None; got {type(ax).__name__}")


def checked_names(names: Sequence[Hashable] | None, own: Sequence[Hashable] | None, count: int) -> list[str]:
    """The names of clusterings: those given, else their own, else their numbers."""
    given: Any = names if names is not None else own if own is not None else range(count)
    if isinstance(given, (str, bytes)) or not is_listable(given, "names"):
        raise ValueError(f"names: expected a list of names; got {brief(given)}")
    listed = [str(x) for x in given]
    if len(listed) != count:
        raise ValueError(f"names: expected {count}; got {len(listed)}")
    return listed


def size_of(axes: "Axes") -> tuple[float, float]:
    """Width and height of axes."""
    box, (width, height) = axes.get_position(), axes.figure.get_size_inches()  # type: ignore[union-attr]
    return float(box.width * width * 72), float(box.height * height * 72)


def room_beside(axes: "Axes") -> tuple[float, float]:
    """Room left of axes and below them for labels, up to the next axes or the edge of the figure."""
    width, height = size_of(axes)
    if axes.figure.get_layout_engine() is not None:
        return 0.4 * width, 0.4 * height  # the layout makes room
    box = axes.get_position()
    others = [other.get_position() for other in axes.figure.axes if other is not axes]
    beside = [x.x1 for x in others if x.x1 <= box.x0 and x.y0 < box.y1 and x.y1 > box.y0]
    below = [x.y1 for x in others if x.y1 <= box.y0 and x.x0 < box.x1 and x.x1 > box.x0]
    inches = axes.figure.get_size_inches()  # type: ignore[union-attr]
    left, bottom = box.x0 - max(beside, default=0.0), box.y0 - max(below, default=0.0)
    return max(0.0, left * inches[0] * 72 - PAD), max(0.0, bottom * inches[1] * 72 - PAD)


def name_below(axes: "Axes", text: str, size: float, **settings: Any) -> None:
    """Name the x axis, unless the figure has no room for the name below the numbers."""
    if room_beside(axes)[1] >= ROOM_BELOW:
        axes.set_xlabel(text, fontsize=size, **settings)


def name_beside(axes: "Axes", text: str, size: float, **settings: Any) -> None:
    """Name the y axis, likewise."""
    if room_beside(axes)[0] >= ROOM_BESIDE:
        axes.set_ylabel(text, fontsize=size, **settings)


@cache
def families() -> list[str]:
    """The usual font, then installed ones that have further scripts."""
    manager = import_optional("matplotlib.font_manager", "plots").fontManager
    installed = {font.name for font in manager.ttflist}
    return ["DejaVu Sans", *(name for name in _FURTHER_FONTS if name in installed)]


def style(size: float) -> dict[str, Any]:
    """Properties of a text that shows a label: what looks like mathematics is no mathematics."""
    return {"fontsize": size, "fontfamily": families(), "parse_math": False}


@cache
def _width_at_100(text: str) -> float:
    properties = import_optional("matplotlib.font_manager", "plots").FontProperties(size=100, family=families())
    measure = import_optional("matplotlib.textpath", "plots").text_to_path.get_text_width_height_descent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters that no font has
        width: float = measure(text, properties, ismath=False)[0]
    return width


def text_width(text: str, size: float) -> float:
    """Width of a line of text."""
    return 1.05 * _width_at_100(text) * size / 100 + 1  # small sizes are drawn a little wider


def widest(texts: Sequence[str], size: float) -> float:
    return max((text_width(text, size) for text in texts), default=0.0)


def fit(label: Any, width: float, size: float) -> str:
    """A label as one line of at most this width, without its middle if it is longer."""
    text = printable(str(label))
    if len(text) > 400:
        text = shorten(text, 400)
    if text_width(text, size) <= width:
        return text
    low, high = 1, len(text)  # `low` characters fit, or nothing does; `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        if text_width(_without_middle(text, middle), size) <= width:
            low = middle
        else:
            high = middle
    return _without_middle(text, low)


def _without_middle(text: str, count: int) -> str:
    """``count`` characters of a text in all, one of them for those left out."""
    tail = count // 2
    return f"{text[: count - 1 - tail]}…{text[len(text) - tail :]}"


def thinned(count: int, room: float, size: float) -> list[int]:
    """Numbers of the labels that have room in a column (row) of ``count``: all, or every second, third ..."""
    step = max(1, int(np.ceil(count * size * 1.2 / max(room, 1.0))))
    return list(range(0, count, step))


def spread(wanted: Array, gap: float, low: float, high: float) -> Array:
    """Ascending positions at least ``gap`` apart, close to those wanted (ascending), within the limits if they can."""
    blocks: list[list[float]] = []  # sum of the positions wanted, less the distance from the first; count
    for value in wanted.tolist():
        blocks.append([value, 1])
        while len(blocks) > 1 and _start(blocks[-1]) < _start(blocks[-2]) + blocks[-2][1] * gap:
            total, count = blocks.pop()
            blocks[-1][0] += total - count * blocks[-1][1] * gap
            blocks[-1][1] += count
    placed = np.array([_start(block) + i * gap for block in blocks for i in range(int(block[1]))])
    least = low + gap * np.arange(len(placed))
    most = high - gap * np.arange(len(placed))[::-1]
    clipped: Array = np.maximum(np.minimum(placed, most), least) if len(placed) else placed
    return clipped


def _start(block: list[float]) -> float:
    """Position of the first of a block."""
    return block[0] / block[1]


def colours_of_groups(sizes: Array) -> list[str]:
    """A colour for each group: the largest have colours of their own, the others greys."""
    order = np.argsort(-sizes, kind="stable")
    colours = [""] * len(sizes)
    for rank, group in enumerate(order.tolist()):
        others = OTHER_COLOURS[rank % len(OTHER_COLOURS)]
        colours[group] = GROUP_COLOURS[rank] if rank < len(GROUP_COLOURS) else others
    return colours


def keep_ticks_inside(axis: Any, limits: tuple[float, float] = (-np.inf, np.inf)) -> None:
    """Numbers beside an axis only where it reaches, and within these limits."""
    low, high = sorted(axis.get_view_interval())
    low, high = max(low, limits[0] - 1e-9), min(high, limits[1] + 1e-9)
    axis.set_ticks([x for x in axis.get_ticklocs() if low <= x <= high])


def hide_frame(axes: "Axes", *kept: str) -> None:
    """Draw no lines around axes but the ones named."""
    for edge, spine in axes.spines.items():
        spine.set_visible(edge in kept)


def array(x: Any) -> Array:
    """A tensor or labels on the host, at least one-dimensional."""
    found: Array = np.asarray(x.detach().cpu().numpy() if isinstance(x, Tensor) else x)
    return found if found.ndim else found.reshape(1)
