"""Pairwise agreement of clusterings: a heat map in the order of average linkage, and its tree."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.formatting import brief
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.record import Measure
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, GREY, LEAST, MAX_NAME, SMALL, Array
from torchclusteval.scoring.scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_NAMES = 60
_NUMBERED = 15  # up to this many clusterings cells show their number


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
    if not isinstance(scores, Scores) or len(scores.batch_shape) != 2 or len(set(scores.batch_shape)) > 1:
        raise ValueError("scores: expected the result of pairwise, (M, M); got something else")
    measure = next(iter(scores), "") if measure is None else measure
    if measure not in scores:
        raise ValueError(f"measure: expected one of {', '.join(scores)}; got {brief(measure)}")
    count = scores.batch_shape[0]
    listed = canvas.checked_names(names, scores.clusterings, count)
    record = scores.measures[measure if measure in scores.measures else canonical(measure)]
    matrix = canvas.array(scores[measure])
    order, merges = _linkage(matrix, record)
    matrix = matrix[np.ix_(order, order)]

    side = float(np.clip(420 / max(1, count), 9.0, 30.0)) if count <= _MAX_NAMES else 420 / count
    axes, (width, height) = canvas.start(ax, max(90.0, side * count), side * count)
    cell = width / max(1, count), height / max(1, count)
    size = max(LEAST, min(FONT, min(cell) * 0.8))
    limit = MAX_NAME if ax is None else 0.35 * min(width, height)
    shown, flat = [canvas.fit(listed[i], limit, size) for i in order], True
    if count <= _MAX_NAMES:
        flat = canvas.widest(shown, size) <= cell[0] - 2
        axes.set_yticks(range(count), shown, **canvas.style(size))
        axes.set_xticks(range(count), shown, rotation=0 if flat else 90, **canvas.style(size))
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel(
            canvas.wrapped(f"{count} clusterings in the order of average linkage", width, FONT), fontsize=FONT
        )
    if record.swapped != record.name:
        axes.set_ylabel(canvas.wrapped("taken as the truth", height, SMALL), fontsize=SMALL)
    low, high = _limits(matrix)
    colours = "Blues_r" if record.better == "lower" else "Blues"
    image = axes.imshow(matrix, cmap=colours, vmin=low, vmax=high, interpolation="nearest", aspect="auto", zorder=1)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=2)
    direction = "" if record.better is None else f" ({record.better} is better)"
    label = record.name.replace("_", " ") + direction
    canvas.draw_scale(axes, image, (_number(low), _number(high)), label, (width, height))
    if merges is not None:
        _draw_tree(axes.inset_axes((1 + 3 / width, 0, min(54.0, 0.3 * width) / width, 1), sharey=axes), merges)
    width, height = canvas.settle(axes, ax, (width, height))
    if count <= _MAX_NAMES:
        canvas.thinned(axes.yaxis, height, size)
        if not flat:
            canvas.thinned(axes.xaxis, width, size)
    if count <= _NUMBERED and height >= LEAST * 1.2 * count:
        _write_numbers(axes, image, matrix, width / count)
    return canvas.finish(axes, ax)


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
    size = min(
        SMALL,
        SMALL * (width - 2) / max(1.0, canvas.widest([t for row in texts for t in row], SMALL)),
    )
    if size < LEAST - 1:
        return
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            dark = sum(image.cmap(image.norm(matrix[i, j]))[:3]) < 1.5
            axes.text(j, i, text, ha="center", va="center", fontsize=size, color="white" if dark else "black", zorder=2)


def _number(x: float) -> str:
    return f"{round(x, 2) + 0.0:.2f}" if abs(x) < 10 else f"{x:.3g}"


def _draw_tree(axes: Any, merges: Array) -> None:
    """The tree beside the matrix; the root is furthest from it."""
    tree = import_optional("scipy.cluster.hierarchy", "plots").dendrogram(merges, no_plot=True)
    for places, heights in zip(tree["icoord"], tree["dcoord"], strict=True):
        axes.plot(heights, (np.asarray(places) - 5) / 10, color=GREY, linewidth=0.8, solid_joinstyle="miter")
    axes.set_xlim(0, 1.02 * max(float(merges[-1, 2]), 1e-300))
    axes.axis("off")
