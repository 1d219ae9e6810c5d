"""Alluvial pictures: how items move between clusterings."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, GREY, SMALL, Array
from torchclusteval.plots.layers import Layer, flows_of, ordered

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
    flows = ordered(flows_of(source, names))
    layers, last = flows.layers, len(flows.layers) - 1
    most, total = max(len(layer.sizes) for layer in layers), max(float(layer.sizes.sum()) for layer in layers)
    size = FONT if most <= 30 else SMALL
    axes, (width, height) = canvas.start(ax, max(300.0, 150.0 * last), float(np.clip(most * size * 1.25, 170.0, 620.0)))
    step = width / last
    axes.set_xticks(
        range(last + 1),
        [canvas.fit(name, (0.48, 0.62)[last > 1] * step, FONT) for name in flows.names],
        **canvas.style(FONT),
    )
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    width, height = canvas.settle(axes, ax, (width, height))
    step = width / last

    gap = 0.25 * total / most
    full = total + gap * (most - 1)
    axes.set_xlim(0, last)
    axes.set_ylim(full, 0)
    tops = []
    for layer in layers:
        free, others = full - layer.sizes.sum(), len(layer.sizes) - 1
        between = min(3 * gap, free / max(1, others))
        tops.append((free - between * others) / 2 + np.cumsum(layer.sizes + between) - layer.sizes - between)
    colours = [canvas.colours_of_groups(layers[0].sizes)]
    for matrix in flows.counts:
        colours.append([colours[-1][i] for i in matrix.argmax(0).tolist()])
    node = _NODE / step
    edges = [(max(0.0, k - node / 2), min(last, k + node / 2)) for k in range(last + 1)]
    edges[0], edges[-1] = (0.0, node), (last - node, float(last))
    for k, matrix in enumerate(flows.counts):
        _draw_bands(axes, matrix, (edges[k][1], edges[k + 1][0]), (tops[k], tops[k + 1]), colours[k])
    rectangle = import_optional("matplotlib.patches", "plots").Rectangle
    for k, layer in enumerate(layers):
        for top, n, colour in zip(tops[k], layer.sizes.tolist(), colours[k], strict=True):
            at, wide = (edges[k][0], top), edges[k][1] - edges[k][0]
            bar = rectangle(at, wide, n, facecolor=colour, edgecolor="#444444", linewidth=0.4)
            axes.add_patch(bar).set_clip_on(False)  # half of an outline lies beyond the axes
        end = k in (0, last)
        limit = 0.3 * step if not end else _MAX_LABEL if ax is None else min(_MAX_LABEL, 0.25 * width)
        edge, away = edges[k][0 if k == 0 else 1], (-1 if k == 0 else 1) / step
        _label_groups(
            axes, layer, (edge, away, end), tops[k] + layer.sizes / 2, 1.2 * size / height * full, limit, size
        )
    return canvas.finish(axes, ax)


def _draw_bands(
    axes: Any,
    matrix: Array,
    ends: tuple[float, float],
    tops: tuple[Array, Array],
    colours: list[str],
) -> None:
    """The items that each two groups share, in the colour of the group that they come from."""
    path_of = import_optional("matplotlib.path", "plots").Path
    codes = [path_of.MOVETO, *[path_of.CURVE4] * 3, path_of.LINETO, *[path_of.CURVE4] * 3, path_of.CLOSEPOLY]
    (x0, x1), middle = ends, sum(ends) / 2
    out, into = tops[0].copy(), tops[1].copy()
    paths, faces = [], []
    for i, j in np.argwhere(matrix > 0).tolist():
        a, b, n = out[i], into[j], float(matrix[i, j])
        out[i], into[j] = a + n, b + n
        corners = [(x0, a), (middle, a), (middle, b), (x1, b), (x1, b + n), (middle, b + n), (middle, a + n)]
        paths.append(path_of([*corners, (x0, a + n), (x0, a)], codes))
        faces.append(colours[i])
    bands = import_optional("matplotlib.collections", "plots").PathCollection
    axes.add_collection(bands(paths, facecolors=faces, alpha=0.4, linewidths=0), autolim=False)


def _label_groups(
    axes: Any,
    layer: Layer,
    at: tuple[float, float, bool],
    centres: Array,
    line: float,
    limit: float,
    size: float,
) -> None:
    """Labels beside groups, moved apart where these are small; where all have no room, the largest have.

    ``at``: edge of the groups, one point away from it, and whether labels stand outside, with a line to their group.
    """
    edge, away, outside = at
    full = axes.get_ylim()[0]
    shown = np.sort(np.argsort(-layer.sizes, kind="stable")[: int(full / line)])
    places = canvas.spread(centres[shown], line, line / 2, full - line / 2)
    x = edge + (8 if outside else 4) * away
    box = None if outside else {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.6}
    for i, y in zip(shown.tolist(), places.tolist(), strict=True):
        if outside and abs(y - centres[i]) > 0.1 * line:
            axes.plot([edge + away, x - away], [centres[i], y], color=GREY, linewidth=0.4, clip_on=False)
        side = "right" if away < 0 else "left"
        axes.text(
            x,
            y,
            canvas.fit(layer.labels[i], limit, size),
            ha=side,
            va="center",
            bbox=box,
            zorder=5,
            **canvas.style(size),
        )
