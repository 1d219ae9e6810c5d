"""Clusters over clusterings of rising resolution."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, LEAST, SMALL
from torchclusteval.plots.layers import Flows, flows_of, ordered

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
    flows = ordered(flows_of(source, names, least=1))
    count, most = len(flows.layers), max(len(layer.sizes) for layer in flows.layers)
    size = FONT if most <= 30 else SMALL
    wide = float(np.clip(most * size * 1.4, 320.0, 800.0))
    longest = max(canvas.widest(layer.labels, size) for layer in flows.layers)
    row = 62.0 + (min(45.0, longest) if longest > wide / most - 2 else 0.0)
    axes, (width, height) = canvas.start(ax, wide, max(90.0, row * count))
    limit = _MAX_LABEL if ax is None else 0.3 * width
    axes.set_yticks(range(count), [canvas.fit(name, limit, size) for name in flows.names], **canvas.style(size))
    axes.set_xlim(0, 1)
    axes.set_ylim(count - 0.4, -0.5)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    top = max([float(np.nanmax(layer.stability, initial=0)) for layer in flows.layers] + [1e-9])
    mappable = import_optional("matplotlib.cm", "plots").ScalarMappable(cmap="cividis_r")
    mappable.set_clim(0, top)
    canvas.draw_scale(axes, mappable, ("0", f"{top:.2f}"), "SC3 stability; area: items", (width, height))
    width, height = canvas.settle(axes, ax, (width, height))
    places = [(np.arange(len(layer.sizes)) + 0.5) / len(layer.sizes) for layer in flows.layers]
    _draw_edges(axes, flows, places)
    for k, layer in enumerate(flows.layers):
        step, row = width / len(layer.sizes), height / count
        largest = min(row * 0.35, step * 0.8)
        diameter = np.maximum(3.0, largest * np.sqrt(layer.sizes / max(1, layer.sizes.max())))
        axes.scatter(
            places[k], np.full(len(layer.sizes), k), s=diameter**2, c=np.nan_to_num(layer.stability), cmap="cividis_r",
            vmin=0, vmax=top, zorder=3, linewidths=0.4, edgecolors="#555555",
        )  # fmt: skip
        _label_nodes(axes, layer.labels, k, places[k], diameter, (step, row), size)
    return canvas.finish(axes, ax)


def _draw_edges(axes: Any, flows: Flows, places: Sequence[Any]) -> None:
    total = max(float(layer.sizes.sum()) for layer in flows.layers)
    edges = []
    for k, matrix in enumerate(flows.counts):
        into = np.maximum(matrix.sum(0), 1)
        for i, j in np.argwhere(matrix > 0).tolist():
            line = [(places[k][i], k), (places[k + 1][j], k + 1)]
            edges.append((float(matrix[i, j] / into[j]), line, 0.4 + 5 * float(matrix[i, j]) / total))
    edges.sort(key=lambda edge: edge[0])  # the darkest on top
    lines_of = import_optional("matplotlib.collections", "plots").LineCollection
    greys = [str(0.88 - 0.55 * share) for share, *_ in edges]
    lines = lines_of([line for _, line, _ in edges], linewidths=[thick for *_, thick in edges], colors=greys)
    axes.add_collection(lines, autolim=False)


def _label_nodes(
    axes: Any, labels: list[str], k: int, places: Any, diameter: Any, cell: tuple[float, float], size: float
) -> None:
    """Labels below the clusters, upright where there is room between them, else turned."""
    step, row = cell
    flat = canvas.widest(labels, size) <= step - 2
    room = row * 0.5 - float(diameter.max()) / 2 - 2
    size = min(size, max(step / 1.25, LEAST))
    every = 1 if flat else max(1, int(np.ceil(1.2 * size / step)))
    for i in range(0, len(places), every):
        axes.annotate(
            labels[i] if flat else canvas.fit(labels[i], max(room, 2 * size), size),
            (float(places[i]), k),
            (0, -float(diameter[i]) / 2 - 1),
            textcoords="offset points",
            ha="center",
            va="top",
            rotation=0 if flat else 90,
            bbox={"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.3},
            zorder=4,
            **canvas.style(size),
        )
