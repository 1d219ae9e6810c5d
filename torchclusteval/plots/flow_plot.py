"""Alluvial pictures: how items move between clusterings."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.plots.canvas import (
    FONT,
    GREY,
    PAD,
    SMALL,
    Array,
    check_axes,
    colours_of_groups,
    fit,
    hide_frame,
    new_axes,
    room_beside,
    size_of,
    spread,
    style,
    widest,
)
from torchclusteval.plots.layers import Flows, Layer, flows_of, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NODE = 9.0  # width of a group
_MAX_LABEL = 90.0


def plot_flow(source: Any, names: Sequence[Hashable] | None = None, *, ax: "Axes | None" = None) -> "Axes":
    """Alluvial picture of two or more clusterings: bars are groups, bands the items that two groups share.

    Groups are ordered so that bands cross little. A band has the colour of the group that it comes from, and a group
    that of the group from which most of its items come; the seven largest groups of the first clustering have
    colours of their own.

    Args:
        source: ``(L, N)`` labels in order (a mapping or a data frame names the clusterings), their ``transitions``, or
            one contingency table (classes to clusters).
        names: of the clusterings.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: there are fewer than two clusterings, or names are not as many.
        ImportError: matplotlib is not installed.

    Example:
        >>> from torchclusteval.plots import plot_flow
        >>> axes = plot_flow({"manual": ["a", "a", "b", "b"], "kmeans": [0, 1, 1, 1]})
        >>> [label.get_text() for label in axes.get_xticklabels()]
        ['manual', 'kmeans']
    """
    check_axes(ax)
    flows = ordered(flows_of(source, names))
    count, most = len(flows.layers), max(len(layer.sizes) for layer in flows.layers)
    size = FONT if most <= 30 else SMALL
    ends = [_shown_labels(flows.layers[k], _MAX_LABEL, size) for k in (0, -1)]
    if ax is None:
        height = float(np.clip(most * size * 1.25, 170.0, 620.0))
        room = [widest(labels, size) + 2 * PAD for labels in ends]
        axes = new_axes(max(300.0, 150.0 * (count - 1)), height, room[0], room[1], PAD, 24)
    else:
        axes = ax
        limit = min(max(0.0, room_beside(ax)[0] - 10), _MAX_LABEL, 0.2 * size_of(ax)[0] / max(1, count - 1))
        ends = [_shown_labels(flows.layers[k], limit, size) for k in (0, -1)]
    _draw_flow(axes, flows, ends, size, inside=ax is not None)
    return axes


def _shown_labels(layer: Layer, room: float, size: float) -> list[str]:
    return [fit(label, room, size) for label in layer.labels]


def _draw_flow(axes: "Axes", flows: Flows, ends: Sequence[list[str]], size: float, inside: bool) -> None:
    bands_of = import_optional("matplotlib.collections", "plots").PathCollection
    rectangle = import_optional("matplotlib.patches", "plots").Rectangle
    path_of = import_optional("matplotlib.path", "plots").Path
    width = size_of(axes)[0]
    count, total = len(flows.layers), max(float(layer.sizes.sum()) for layer in flows.layers)
    most = max(len(layer.sizes) for layer in flows.layers)
    gap = 0.25 * total / max(1, most)
    full = total + gap * (most - 1)
    axes.set_xlim(0, count - 1)
    axes.set_ylim(full, 0)
    extra = widest(ends[0], size) + PAD if inside else 0.0, widest(ends[1], size) + PAD if inside else 0.0
    node = _NODE / width * (count - 1)
    if inside:  # labels of the last clustering stay within the axes
        axes.set_xlim(0, (count - 1) * width / max(1.0, width - extra[1]))
        node = _NODE / width * axes.get_xlim()[1]
    tops = []
    for layer in flows.layers:
        between = (full - layer.sizes.sum()) / max(1, len(layer.sizes) - 1) if len(layer.sizes) > 1 else 0.0
        between = min(between, 3 * gap)
        start = (full - layer.sizes.sum() - between * (len(layer.sizes) - 1)) / 2
        tops.append(start + np.concatenate([[0], np.cumsum(layer.sizes + between)])[:-1])
    colours = [colours_of_groups(flows.layers[0].sizes)]
    for matrix in flows.counts:
        colours.append([colours[-1][int(matrix[:, j].argmax())] for j in range(matrix.shape[1])])
    for k, matrix in enumerate(flows.counts):
        x0, x1 = k + (node if k == 0 else node / 2), k + 1 - (node if k == count - 2 else node / 2)
        middle = (x0 + x1) / 2
        out, into = tops[k].copy(), tops[k + 1].copy()
        paths, faces = [], []
        for i, j in np.argwhere(matrix > 0).tolist():
            n = float(matrix[i, j])
            a, b = out[i], into[j]
            out[i], into[j] = a + n, b + n
            corners = [(x0, a), (middle, a), (middle, b), (x1, b), (x1, b + n), (middle, b + n), (middle, a + n)]
            codes = [path_of.MOVETO, *[path_of.CURVE4] * 3, path_of.LINETO, *[path_of.CURVE4] * 3, path_of.CLOSEPOLY]
            paths.append(path_of([*corners, (x0, a + n), (x0, a)], codes))
            faces.append(colours[k][i])
        bands = bands_of(paths, facecolors=faces, alpha=0.4, linewidths=0)
        axes.add_collection(bands, autolim=False)
    for k, layer in enumerate(flows.layers):
        left = 0.0 if k == 0 else k - node if k == count - 1 else k - node / 2
        for top, n, colour in zip(tops[k], layer.sizes.tolist(), colours[k], strict=True):
            bar = rectangle((left, top), node, n, facecolor=colour, edgecolor="#444444", linewidth=0.4)
            axes.add_patch(bar).set_clip_on(False)  # half of an outline lies beyond the axes
        _label_groups(axes, flows, k, tops[k], node, ends, size)
    between = width / axes.get_xlim()[1]  # from one clustering to the next
    names = [fit(name, (0.48 if count == 2 else 0.62) * between, FONT) for name in flows.names]
    axes.set_xticks(range(count), names, **style(FONT))
    first, *_, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.set_yticks([])
    axes.tick_params(length=0)
    hide_frame(axes)


def _label_groups(
    axes: "Axes", flows: Flows, k: int, tops: Array, node: float, ends: Sequence[list[str]], size: float
) -> None:
    """Labels beside the groups, moved apart where groups are small; where all have no room, the largest have."""
    width, height = size_of(axes)
    layer, count = flows.layers[k], len(flows.layers)
    full = axes.get_ylim()[0]
    line = 1.2 * size / height * full
    room = int(full / line)
    shown = np.sort(np.argsort(-layer.sizes, kind="stable")[:room])
    if not len(shown):
        return
    wanted = (tops + layer.sizes / 2)[shown]
    places = spread(wanted, line, line / 2, full - line / 2)
    per_point = axes.get_xlim()[1] / width
    first, last = k == 0, k == count - 1
    texts = ends[0] if first else ends[1] if last else _shown_labels(layer, 0.3 * width / max(1, count - 1), size)
    for i, y, centre in zip(shown.tolist(), places.tolist(), wanted.tolist(), strict=True):
        edge = 0.0 if first else float(k) if last else k + node / 2
        away = 4 * per_point if not (first or last) else 8 * per_point
        x = edge - away if first else edge + away
        if abs(y - centre) > 0.1 * line and (first or last):
            near = edge - per_point if first else edge + per_point
            axes.plot(
                [near, x + (per_point if first else -per_point)], [centre, y], color=GREY, linewidth=0.4, clip_on=False
            )
        box = None if first or last else {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.6}
        side = "right" if first else "left"
        axes.text(x, y, texts[i], ha=side, va="center", bbox=box, clip_on=False, zorder=5, **style(size))
