"""Pairwise agreement of clusterings: a heat map in the order of average linkage, and its tree."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.record import Measure
from torchclusteval.plots.canvas import (
    FONT,
    GREY,
    LEAST,
    MAX_NAME,
    PAD,
    SMALL,
    Array,
    array,
    check_axes,
    checked_names,
    fit,
    hide_frame,
    name_below,
    new_axes,
    room_beside,
    size_of,
    style,
    thinned,
    widest,
)
from torchclusteval.scoring.scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_NAMES = 60
_NUMBERED = 15  # up to this many clusterings cells show their number
_TREE, _SCALE = 54.0, 26.0  # width of the tree, height of the scale


def plot_agreement(
    scores: Scores,
    measure: str | None = None,
    *,
    names: Sequence[Hashable] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Heat map of the agreement of clusterings with each other, and the tree of average linkage. Dark is alike.

    Args:
        scores: from ``pairwise``, batch shape ``(M, M)``; with several groups of alike clusterings these are blocks.
        measure: which measure; by default the first.
        names: of the clusterings; by default their own, else their numbers. Above 60 clusterings none are drawn.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Up to 15 clusterings cells have numbers. Colours run over the values of different clusterings.

    Raises:
        ValueError: the scores are not ``(M, M)``, there is no such measure, or names are not as many.
        ImportError: matplotlib or SciPy is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> from torchclusteval.plots import plot_agreement
        >>> axes = plot_agreement(tce.pairwise([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]]))
        >>> [label.get_text() for label in axes.get_yticklabels()]
        ['1', '2', '0']
    """
    check_axes(ax)
    if not isinstance(scores, Scores) or len(scores.batch_shape) != 2 or len(set(scores.batch_shape)) > 1:
        raise ValueError("scores: expected the result of pairwise, (M, M); got something else")
    measure = next(iter(scores), "") if measure is None else measure
    if measure not in scores:
        raise ValueError(f"measure: expected one of {', '.join(scores)}; got {brief(measure)}")
    count = scores.batch_shape[0]
    listed = checked_names(names, scores.clusterings, count)
    name = measure if measure in scores.measures else canonical(measure)
    return draw_agreement(scores.measures[name], listed, array(scores[measure]), ax, "Blues")


def agreement_figure(measure: Measure, names: Sequence[str], values: Tensor) -> "Figure":
    """Heat map of pairwise agreement; neighbours in the order of average linkage agree. Bright is always better.

    Args:
        measure: gives the scale its name and direction.
        names: of the clusterings.
        values: ``(M, M)``, entry ``[i, j]`` taking ``i`` as the truth.

    >>> from torchclusteval import plots
    >>> values = tce.pairwise([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], ["ari"])["ari"]
    >>> figure = plots.agreement_figure(tce.MEASURES["adjusted_rand"], ["a", "b", "c"], values)
    >>> sorted(label.get_text() for label in figure.axes[0].get_yticklabels())
    ['a', 'b', 'c']
    """
    matrix = array(values).reshape(len(names), len(names))
    return draw_agreement(measure, names, matrix, None, "cividis").figure  # type: ignore[return-value]


def linkage_order(matrix: Array, measure: Measure) -> list[int]:
    """Order of the leaves of the average linkage tree of the disagreements.

    >>> from torchclusteval import plots
    >>> import numpy as np
    >>> matrix = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.2], [0.8, 0.2, 1.0]])
    >>> plots.linkage_order(matrix, tce.MEASURES["adjusted_rand"])
    [1, 2, 0]
    """
    return _linkage(matrix, measure)[0]


def _linkage(matrix: Array, measure: Measure) -> tuple[list[int], Array | None]:
    """The order of the leaves, and the merges of the tree; None for fewer than three."""
    symmetric = (matrix + matrix.T) / 2
    distances = symmetric if measure.better == "lower" else np.nanmax(symmetric, initial=0) - symmetric
    distances = np.nan_to_num(distances, nan=np.nanmax(distances, initial=0)).clip(min=0)
    np.fill_diagonal(distances, 0)
    if len(matrix) < 3:
        return list(range(len(matrix))), None
    hierarchy = import_optional("scipy.cluster.hierarchy", "plots")
    pairs = import_optional("scipy.spatial.distance", "plots").squareform(distances, checks=False)
    merges = hierarchy.optimal_leaf_ordering(hierarchy.average(pairs), pairs)
    leaves: list[int] = hierarchy.leaves_list(merges).tolist()
    return leaves, merges


def draw_agreement(measure: Measure, names: Sequence[str], matrix: Array, ax: "Axes | None", colours: str) -> "Axes":
    order, merges = _linkage(matrix, measure)
    count = len(order)
    axes, cell, size = _axes(count, [names[i] for i in order], ax, measure)
    low, high = _limits(matrix)
    reverse = "_r" if measure.better == "lower" else ""
    shown = matrix[np.ix_(order, order)]
    image = axes.imshow(
        shown, cmap=colours + reverse, vmin=low, vmax=high, interpolation="nearest", aspect="auto", zorder=1
    )
    if count <= _NUMBERED and cell[1] >= LEAST * 1.2:
        _write_numbers(axes, image, shown, cell[0])
    _draw_tree(axes, merges, count, _TREE / cell[0])
    _draw_scale(axes, measure, (low, high), colours + reverse, count, cell, size)
    top = (_SCALE + PAD) / cell[1]
    axes.set_xlim(-0.5, count - 0.5 + (_TREE + PAD) / cell[0])
    axes.set_ylim(count - 0.5, -0.5 - top)
    hide_frame(axes)
    axes.tick_params(length=0, pad=2)
    return axes


def _axes(
    count: int, names: Sequence[str], ax: "Axes | None", measure: Measure
) -> tuple["Axes", tuple[float, float], float]:
    """Axes with names, the width and height of a cell, and the size of names."""
    named = count <= _MAX_NAMES
    directed = measure.swapped != measure.name
    if ax is None:
        side = float(np.clip(420 / max(1, count), 9.0, 30.0)) if named else 420 / count
        size = min(FONT, side * 0.8) if named else FONT
        left = below = 14.0 if directed else 0.0
        shown = [fit(name, MAX_NAME, size) for name in names] if named else []
        room = widest(shown, size) + 2 * PAD if named else 3 * PAD
        width = max(side * count + _TREE + PAD, 150.0)
        cell = ((width - _TREE - PAD) / max(1, count), side)
        flat = named and all(text_fits(text, cell[0], size) for text in shown)
        below += size * 1.5 + PAD if flat else room
        axes = new_axes(width, side * count + _SCALE + PAD, room + left, PAD, PAD, below if named else 24)
    else:
        axes = ax
        width, height = size_of(ax)
        cell = (max(1.0, width - _TREE - PAD) / max(1, count), max(1.0, height - _SCALE - PAD) / max(1, count))
        size = max(LEAST, min(FONT, min(cell) * 0.8))
        left, bottom = room_beside(ax)
        shown = [fit(name, min(left, bottom), size) for name in names]
        flat = all(text_fits(text, cell[0], size) for text in shown)
    if named:
        rows, columns = (thinned(count, extent * count, size) for extent in (cell[1], cell[0]))
        axes.set_yticks(rows, [shown[i] for i in rows], **style(size))
        axes.set_xticks(columns, [shown[i] for i in columns], rotation=0 if flat else 90, **style(size))
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        name_below(axes, f"{count} clusterings in the order of average linkage", FONT)
    if directed:
        axes.set_ylabel("taken as the truth", fontsize=SMALL)
    return axes, cell, size


def text_fits(text: str, width: float, size: float) -> bool:
    return widest([text], size) <= width - 2


def _limits(matrix: Array) -> tuple[float, float]:
    """Least and largest value of different clusterings."""
    others = matrix[~np.eye(len(matrix), dtype=bool)]
    others = others[np.isfinite(others)]
    if not len(others):
        return 0.0, 1.0
    low, high = float(others.min()), float(others.max())
    return (low, high) if high > low else (min(low, 0.0), max(high, 1.0))


def _write_numbers(axes: "Axes", image: Any, matrix: Array, width: float) -> None:
    texts = [[_number(x) for x in row] for row in matrix.tolist()]
    size = min(SMALL, SMALL * (width - 2) / max(1.0, widest([t for row in texts for t in row], SMALL)))
    if size < LEAST - 1:
        return
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            dark = sum(image.cmap(image.norm(matrix[i, j]))[:3]) < 1.5
            axes.text(j, i, text, ha="center", va="center", fontsize=size, color="white" if dark else "black", zorder=2)


def _number(x: float) -> str:
    return f"{round(x, 2) + 0.0:.2f}" if abs(x) < 10 else f"{x:.3g}"


def _draw_tree(axes: "Axes", merges: Array | None, count: int, width: float) -> None:
    """The tree to the right of the matrix; the root is furthest from it."""
    if merges is None:
        return
    hierarchy = import_optional("scipy.cluster.hierarchy", "plots")
    tree = hierarchy.dendrogram(merges, no_plot=True)
    top = max(float(merges[-1, 2]), 1e-300)
    for places, heights in zip(tree["icoord"], tree["dcoord"], strict=True):
        x = count - 0.3 + np.asarray(heights) / top * width * 0.95
        axes.plot(x, (np.asarray(places) - 5) / 10, color=GREY, linewidth=0.8, solid_joinstyle="miter")


def _draw_scale(
    axes: "Axes",
    measure: Measure,
    limits: tuple[float, float],
    colours: str,
    count: int,
    cell: tuple[float, float],
    size: float,
) -> None:
    """A bar of the colours above the matrix, with the ends of the scale and the name of the measure."""
    size = min(size, SMALL)
    wide, thick = 60 / cell[0], 7 / cell[1]
    y = -0.5 - (PAD + 3) / cell[1]
    steps = np.linspace(0, wide, 33) - 0.5
    values = np.linspace(*limits, 32)
    mesh = axes.pcolormesh(steps, [y - thick, y], values[None], cmap=colours, vmin=limits[0], vmax=limits[1])
    mesh.set_rasterized(False)
    above = y - thick - 2 / cell[1]
    for x, value, side in ((0, limits[0], "left"), (wide, limits[1], "right")):
        axes.text(x - 0.5, above, _number(value), ha=side, va="bottom", fontsize=size)
    name = measure.name.replace("_", " ")
    label = name if measure.better is None else f"{name} ({measure.better} is better)"
    room = count * cell[0] + _TREE - 60
    axes.text(wide - 0.5 + 4 / cell[0], y, fit(label, room, size), ha="left", va="bottom", fontsize=size)
