"""Clusterings in a sequence: flows of items between groups, and a tree of clusters over resolutions."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchclusteval.common.optional import import_optional
from torchclusteval.inference import transitions
from torchclusteval.inference.run_agreement import Transitions, code_runs
from torchclusteval.labels.encoding import argument_names
from torchclusteval.labels.renaming import as_array
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, GREY, LEAST, SMALL, Array
from torchclusteval.tables import ContingencyTables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NODE = 9.0  # width of a group
_MANY, _FAINT = 40, 0.01  # beyond so many bands, bands below this share of the items fade
_LINES = 5  # of the name of a clustering, at most
_SWEEPS = 6  # over the clusterings, for an order with few crossings


class Layer(NamedTuple):
    """The groups of one clustering, in the order of the picture."""

    labels: list[str]
    sizes: Array  # (K,)
    stability: Array  # (K,) SC3 stability


class Flows(NamedTuple):
    """Groups by clustering, and numbers of common items for groups of consecutive clusterings."""

    names: list[str]
    layers: list[Layer]
    counts: list[Array]  # each (groups, groups of the next clustering)


def plot_flow(source: Any, names: Sequence[Hashable] | None = None, *, ax: "Axes | None" = None) -> "Axes":
    """Alluvial picture of two or more clusterings: bars are groups, bands the common items of two groups.

    The order of the groups keeps crossings few. A band takes the colour of its group on the left, a group the colour of
    its largest band from the left; the seven largest groups of the first clustering have colours of their own. Beyond
    40 bands, bands with less than 1 % of the items of their step fade.

    Args:
        source: ``(L, N)`` labels in order (a mapping or a data frame names the clusterings), their ``transitions``, or
            one contingency table, from classes to clusters; its bars include items of one side alone, its bands do not.
        names: names of the clusterings.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: there are fewer than two clusterings, or another number of names.
        ImportError: matplotlib is not installed.

    Example:
        >>> axes = plot_flow({"manual": ["a", "a", "b", "b"], "kmeans": [0, 1, 1, 1]})
        >>> [label.get_text() for label in axes.get_xticklabels()]
        ['manual', 'kmeans']
    """
    flows = _ordered(_flows_of(source, names, 2))
    layers, last = flows.layers, len(flows.layers) - 1
    most, total = max(len(layer.sizes) for layer in layers), max(float(layer.sizes.sum()) for layer in layers)
    size = FONT if most <= 30 else SMALL
    high = float(np.clip(most * size * 1.25, 170.0, 620.0))
    axes, (width, height) = canvas.start(ax, max(300.0, 150.0 * last), high)
    room = (0.48 if last == 1 else 0.58) * width / last
    lines = _LINES if room > 40 else 1
    names = [canvas.wrapped(x, 0.9 * room, FONT) for x in canvas.fit_names(flows.names, lines * room, FONT)]
    axes.set_xticks(range(last + 1), names, **canvas.style(FONT))
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    width, height = canvas.settle(axes, ax, (width, height))

    gap, step = 0.25 * total / most, width / last
    full, node = total + gap * (most - 1), _NODE / step
    axes.set(xlim=(0, last), ylim=(full, 0))
    tops, colours = [], [canvas.colours_of_groups(layers[0].sizes)]
    for layer in layers:
        free, others = full - layer.sizes.sum(), len(layer.sizes) - 1
        between = min(3 * gap, free / max(1, others))
        tops.append((free - between * others) / 2 + np.cumsum(layer.sizes + between) - layer.sizes - between)
    ends = [(k - node / 2, k + node / 2) for k in range(last + 1)]
    ends[0], ends[-1] = (0.0, node), (last - node, float(last))
    for k, matrix in enumerate(flows.counts):
        _draw_bands(axes, matrix, (ends[k][1], ends[k + 1][0]), (tops[k], tops[k + 1]), colours[k])
        largest = enumerate(matrix.argmax(0).tolist())
        colours.append([colours[k][i] if matrix[i, j] else GREY for j, i in largest])
    for k, (layer, (left, right)) in enumerate(zip(layers, ends, strict=True)):
        look: dict[str, Any] = {"color": colours[k], "edgecolor": "#444444", "linewidth": 0.4}
        axes.bar(left, layer.sizes, right - left, tops[k], align="edge", clip_on=False, **look)  # outlines are whole
        at = (left, -1 / step, True) if k == 0 else (right, 1 / step, k == last)
        line, limit = 1.2 * size / height * full, canvas.room(ax, 0.25 * width) if at[2] else 0.3 * step
        _label_groups(axes, layer, at, tops[k] + layer.sizes / 2, line, limit, size)
    return canvas.finish(axes, ax)


def _draw_bands(
    axes: Any, matrix: Array, ends: tuple[float, float], tops: tuple[Array, Array], colours: list[str]
) -> None:
    """Draw the common items of each two groups, in the colour of the first group."""
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
    alpha = 0.4 * np.clip(matrix[matrix > 0] / (_FAINT * matrix.sum()), 0.25, 1) if len(paths) > _MANY else 0.4
    bands = import_optional("matplotlib.collections", "plots").PathCollection
    axes.add_collection(bands(paths, facecolors=faces, alpha=alpha, linewidths=0), autolim=False)


def _label_groups(
    axes: Any, layer: Layer, at: tuple[float, float, bool], centres: Array, line: float, limit: float, size: float
) -> None:
    """Write labels next to groups, moved apart where groups are small; the largest come first if room is short.

    ``at`` is (edge of the groups, step of one point away from it, whether labels stand outside, with a line to groups).
    """
    edge, away, outside = at
    full = axes.get_ylim()[0]
    shown = np.sort(np.argsort(-layer.sizes, kind="stable")[: int(full / line)])
    places = canvas.spread(centres[shown], line, line / 2, full - line / 2)
    x = edge + (8 if outside else 4) * away
    box = None if outside else {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.6}
    names, side = canvas.fit_names([layer.labels[i] for i in shown], limit, size), "right" if away < 0 else "left"
    for i, y, name in zip(shown.tolist(), places.tolist(), names, strict=True):
        if outside and abs(y - centres[i]) > 0.1 * line:
            axes.plot([edge + away, x - away], [centres[i], y], color=GREY, linewidth=0.4, clip_on=False)
        axes.text(x, y, name, ha=side, va="center", bbox=box, zorder=5, **canvas.style(size))


def plot_transitions(source: Any, names: Sequence[Hashable] | None = None, *, ax: "Axes | None" = None) -> "Axes":
    """Clusters over clusterings of rising resolution: one row a clustering, and edges between clusters of two rows.

    The area of a cluster shows its number of items, its colour its SC3 stability (dark is stable). The width of an edge
    shows its number of items, its darkness its share of the cluster below.

    Args:
        source: ``transitions(runs)``, or ``(L, N)`` labels in order.
        names: names of the clusterings.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: there is another number of names than of clusterings, or labels are not as described.
        ImportError: matplotlib is not installed.

    Example:
        >>> axes = plot_transitions([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 2]], names=["0.2", "0.5", "1.0"])
        >>> [label.get_text() for label in axes.get_yticklabels()]
        ['0.2', '0.5', '1.0']
    """
    flows = _ordered(_flows_of(source, names, 1))
    count, most = len(flows.layers), max(len(layer.sizes) for layer in flows.layers)
    size = FONT if most <= 30 else SMALL
    wide = float(np.clip(most * size * 1.4, 320.0, 800.0))
    longest = max(canvas.widest(layer.labels, size) for layer in flows.layers)
    row = 62.0 + (min(45.0, longest) if longest > wide / most - 2 else 0.0)
    axes, (width, height) = canvas.start(ax, wide, max(90.0, row * count))
    names = canvas.fit_names(flows.names, canvas.room(ax, 0.5 * width), size)
    axes.set_yticks(range(count), names, **canvas.style(size))
    axes.set(xlim=(0, 1), ylim=(count - 0.4, -0.5), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    top = max(1e-9, *(float(np.nanmax(layer.stability, initial=0)) for layer in flows.layers))
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
        into = np.maximum(flows.layers[k + 1].sizes, 1)
        for i, j in np.argwhere(matrix > 0).tolist():
            line = [(places[k][i], k), (places[k + 1][j], k + 1)]
            edges.append((float(matrix[i, j] / into[j]), line, 0.4 + 5 * float(matrix[i, j]) / total))
    edges.sort(key=lambda edge: edge[0])  # the darkest on top
    lines_of = import_optional("matplotlib.collections", "plots").LineCollection
    light = 0.88 if len(edges) <= 100 else 0.96
    greys = [str(light - (light - 0.33) * share) for share, *_ in edges]
    lines = lines_of([line for _, line, _ in edges], linewidths=[thick for *_, thick in edges], colors=greys)
    axes.add_collection(lines, autolim=False)


def _label_nodes(
    axes: Any, labels: list[str], k: int, places: Any, diameter: Any, cell: tuple[float, float], size: float
) -> None:
    """Write labels below the clusters, turned where they would meet."""
    step, row = cell
    flat = canvas.widest(labels, size) <= step - 2
    room = row * 0.5 - float(diameter.max()) / 2 - 2
    size = min(size, max(min(step / 1.25, 0.5 * row), LEAST))
    every = 1 if flat else max(1, int(np.ceil(1.2 * size / step)))
    names = labels[::every] if flat else canvas.fit_names(labels[::every], max(room, 2 * size), size)
    look = {"rotation": 0 if flat else 90, "ha": "center", "va": "top", "zorder": 4, **canvas.style(size)}
    look["bbox"] = {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.3}
    for name, x, wide in zip(names, places[::every], diameter[::every], strict=True):
        axes.annotate(name, (x, k), (0, -wide / 2 - 1), textcoords="offset points", **look)


def _flows_of(source: Any, names: Sequence[Hashable] | None, least: int) -> Flows:
    if isinstance(source, ContingencyTables):
        flows = _flows_of_table(source)
    elif isinstance(source, Transitions):
        flows = _flows_of_transitions(source)
    else:
        with argument_names(labels="source"):
            names = code_runs(source, None, None).names if names is None else names
            flows = _flows_of_transitions(transitions(source))
    if not any(layer.sizes.sum() for layer in flows.layers) or not all(x.size for x in flows.counts):
        raise ValueError("source: expected clusterings with items; got none")
    if len(flows.layers) < least:
        raise ValueError(f"source: expected at least {least} clusterings; got {len(flows.layers)}")
    return flows._replace(names=canvas.checked_names(names, flows.names, len(flows.layers)))


def _flows_of_table(tables: ContingencyTables) -> Flows:
    if tables.batch_shape:
        raise ValueError(f"source: expected one table, such as tables[0]; got a batch of {tuple(tables.batch_shape)}")
    counts, layers = canvas.array(tables.to_dense().counts), []
    sides = (tables.whole_class_sizes, tables.classes), (tables.whole_cluster_sizes, tables.clusters)
    for side, (sizes, labels) in enumerate(sides):
        whole = canvas.array(sizes)
        kept = np.flatnonzero(whole)
        names = as_array(labels, len(whole))[kept]
        layers.append(Layer([str(x) for x in names.tolist()], whole[kept], np.full(len(kept), np.nan)))
        counts = counts.take(kept, side)
    return Flows(["class", "cluster"], layers, [counts])


def _flows_of_transitions(found: Transitions) -> Flows:
    numbers = (found.run, found.size, found.stability, found.step, found.count)
    run, sizes, stability, step, count = map(canvas.array, numbers)
    groups = (found.label, found.from_label, found.to_label)
    labels, source, target = ([str(x) for x in part.tolist()] for part in groups)
    layers, counts = [], []
    for k in range(int(run.max(initial=-1)) + 1):
        own = np.flatnonzero(run == k)
        layers.append(Layer([labels[i] for i in own], sizes[own], stability[own]))
    for k, (here, there) in enumerate(pairwise(layers)):
        first, second = ({label: i for i, label in enumerate(layer.labels)} for layer in (here, there))
        matrix = np.zeros((len(first), len(second)), dtype=count.dtype)
        for i in np.flatnonzero(step == k).tolist():
            matrix[first[source[i]], second[target[i]]] += count[i]
        counts.append(matrix)
    return Flows([str(k) for k in range(len(layers))], layers, counts)


def _ordered(flows: Flows) -> Flows:
    """Reorder groups for few crossings: each at the mean place of its items in a neighbouring clustering."""
    orders = [np.arange(len(layer.sizes)) for layer in flows.layers]
    best, fewest = orders.copy(), _crossings(flows.counts, orders)
    for sweep in range(_SWEEPS):
        ahead = sweep % 2 == 0
        for k in range(1, len(orders)) if ahead else range(len(orders) - 2, -1, -1):
            counts = flows.counts[k - 1].T if ahead else flows.counts[k]
            places = np.argsort(orders[k - 1 if ahead else k + 1])
            mean = counts @ places / np.maximum(counts.sum(1), 1)
            orders[k] = orders[k][np.argsort(mean[orders[k]], kind="stable")]
        crossings = _crossings(flows.counts, orders)
        if crossings < fewest:
            best, fewest = orders.copy(), crossings
    layers = [
        Layer([layer.labels[i] for i in order], layer.sizes[order], layer.stability[order])
        for layer, order in zip(flows.layers, best, strict=True)
    ]
    return Flows(flows.names, layers, [x[np.ix_(best[k], best[k + 1])] for k, x in enumerate(flows.counts)])


def _crossings(counts: Sequence[Array], orders: Sequence[Array]) -> float:
    """Number of pairs of items with crossing bands."""
    total = 0.0
    for k, matrix in enumerate(counts):
        x = matrix[np.ix_(orders[k], orders[k + 1])].astype(float)
        below = np.cumsum(x[::-1], 0)[::-1] - x  # items of later rows in the same column
        total += float((x * (np.cumsum(below, 1) - below)).sum())
    return total
