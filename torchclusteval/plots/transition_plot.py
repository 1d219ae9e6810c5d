"""Clusters over clusterings of rising resolution."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.plots.canvas import (
    FONT,
    LEAST,
    PAD,
    SMALL,
    Array,
    check_axes,
    fit,
    hide_frame,
    new_axes,
    room_beside,
    size_of,
    style,
    widest,
)
from torchclusteval.plots.layers import Flows, Layer, flows_of, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_LABEL = 90.0


def plot_transitions(source: Any, names: Sequence[Hashable] | None = None, *, ax: "Axes | None" = None) -> "Axes":
    """Clusters over clusterings of rising resolution: a row a clustering, edges from each cluster to those of the next.

    The area of a cluster is its number of items, its colour its SC3 stability (dark is stable). An edge is as wide as
    it has items, and as dark as its share of the cluster that it goes to.

    Args:
        source: ``transitions(runs)``, or ``(L, N)`` labels in order.
        names: of the clusterings.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: names are not as many as clusterings, or labels are not as described.
        ImportError: matplotlib is not installed.

    Example:
        >>> from torchclusteval.plots import plot_transitions
        >>> axes = plot_transitions([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 2]], names=["0.2", "0.5", "1.0"])
        >>> [label.get_text() for label in axes.get_yticklabels()]
        ['0.2', '0.5', '1.0']
    """
    check_axes(ax)
    flows = ordered(flows_of(source, names, least=1))
    count, most = len(flows.layers), max(len(layer.sizes) for layer in flows.layers)
    size = FONT if most <= 30 else SMALL
    if ax is None:
        shown = [fit(name, _MAX_LABEL, size) for name in flows.names]
        width = float(np.clip(most * size * 1.4, 320.0, 800.0))
        turned = max(widest(layer.labels, size) for layer in flows.layers) > width / most - 2
        row = 62.0 + (min(45.0, max(widest(layer.labels, size) for layer in flows.layers)) if turned else 0.0)
        axes = new_axes(width, max(90.0, row * count), widest(shown, size) + 2 * PAD, PAD, 30, PAD)
    else:
        axes = ax
        shown = [fit(name, room_beside(ax)[0], size) for name in flows.names]
    _draw_tree(axes, flows, size)
    axes.set_yticks(range(count), shown, **style(size))
    return axes


def _draw_tree(axes: "Axes", flows: Flows, size: float) -> None:
    lines_of = import_optional("matplotlib.collections", "plots").LineCollection
    width, height = size_of(axes)
    count = len(flows.layers)
    places = [(np.arange(len(layer.sizes)) + 0.5) / len(layer.sizes) for layer in flows.layers]
    total = max(float(layer.sizes.sum()) for layer in flows.layers)
    lines, widths, colours = [], [], []
    for k, matrix in enumerate(flows.counts):
        into = np.maximum(matrix.sum(0), 1)
        for i, j in np.argwhere(matrix > 0).tolist():
            lines.append([(places[k][i], k), (places[k + 1][j], k + 1)])
            widths.append(0.4 + 5 * float(matrix[i, j]) / total)
            grey = 0.88 - 0.55 * float(matrix[i, j] / into[j])
            colours.append((grey, grey, grey))
    order = np.argsort([-x[0] for x in colours], kind="stable").tolist()  # the darkest on top
    axes.add_collection(
        lines_of([lines[i] for i in order], linewidths=[widths[i] for i in order], colors=[colours[i] for i in order]),
        autolim=False,
    )
    row = height / max(1, count)
    known = [layer.stability for layer in flows.layers]
    top = max([float(np.nanmax(x, initial=0)) for x in known] + [1e-9])
    for k, layer in enumerate(flows.layers):
        largest = min(row * 0.35, width / len(layer.sizes) * 0.8)
        diameter = np.maximum(3.0, largest * np.sqrt(layer.sizes / max(1, layer.sizes.max())))
        axes.scatter(
            places[k], np.full(len(layer.sizes), k), s=diameter**2, c=np.nan_to_num(layer.stability), cmap="cividis_r",
            vmin=0, vmax=top, zorder=3, linewidths=0.4, edgecolors="#555555",
        )  # fmt: skip
        _label_nodes(axes, layer, k, places[k], diameter, row, size)
    axes.set_xlim(0, 1)
    axes.set_ylim(count - 0.4, -0.5)
    axes.set_xticks([])
    axes.tick_params(length=0)
    hide_frame(axes)
    _draw_stability_scale(axes, top, size)


def _label_nodes(axes: "Axes", layer: Layer, k: int, places: Array, diameter: Array, row: float, size: float) -> None:
    """Labels below the clusters, upright where there is room between them, else turned."""
    step = size_of(axes)[0] / len(places)
    flat = widest(layer.labels, size) <= step - 2
    room = row * 0.5 - float(diameter.max()) / 2 - 2
    size = min(size, max(step / 1.25, LEAST))
    every = max(1, int(np.ceil(1.2 * size / step)))
    for i in range(0, len(places), 1 if flat else every):
        text = layer.labels[i] if flat else fit(layer.labels[i], max(room, 2 * size), size)
        axes.annotate(
            text,
            (float(places[i]), k),
            (0, -float(diameter[i]) / 2 - 1),
            textcoords="offset points",
            ha="center",
            va="top",
            rotation=0 if flat else 90,
            bbox={"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.3},
            zorder=4,
            **style(size),
        )


def _draw_stability_scale(axes: "Axes", top: float, size: float) -> None:
    """What colours mean, above the first row."""
    width, height = size_of(axes)
    inset = axes.inset_axes((0, 1 + 10 / height, min(70, 0.3 * width) / width, 6 / height))
    inset.pcolormesh(np.linspace(0, top, 33), [0, 1], np.linspace(0, top, 32)[None], cmap="cividis_r", vmin=0, vmax=top)
    inset.set_yticks([])
    inset.set_xticks([])
    hide_frame(inset)
    text = f"SC3 stability 0 to {top:.2f}; area: items"
    room = width - min(70, 0.3 * width) - 6
    at = (min(70, 0.3 * width) + 5) / width
    axes.text(at, 1 + 13 / height, fit(text, room, size), transform=axes.transAxes, va="center", fontsize=size)
