"""Which clusters come back in other clusterings."""

from typing import TYPE_CHECKING

import numpy as np

from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.plots.canvas import (
    BLUE,
    FONT,
    GREY,
    LEAST,
    LIGHT,
    MAX_NAME,
    ORANGE,
    PAD,
    SMALL,
    array,
    check_axes,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STABLE, _DOUBTFUL = 0.75, 0.6  # Hennig's bounds of the mean
_WIDTH, _RECOVERED = 260.0, 60.0  # of the picture, and of the numbers beside it


def plot_stability(stability: ClusterStability, *, ax: "Axes | None" = None) -> "Axes":
    """The mean Jaccard index of each cluster over runs, the most stable first, with the middle 90 % of the runs.

    Points are blue from .75 (stable), grey from .6, and open orange below (not to be trusted); beside them stands how
    many runs recovered the cluster.

    Args:
        stability: from ``cluster_stability``.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Clusters that no run has come last, without a point.

    Raises:
        ValueError: it is something else.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> from torchclusteval.plots import plot_stability
        >>> axes = plot_stability(tce.cluster_stability([0, 0, 0, 1, 1, 1], [[0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]]))
        >>> [label.get_text() for label in axes.get_yticklabels()]
        ['1 (3)', '0 (3)']
    """
    check_axes(ax)
    if not isinstance(stability, ClusterStability):
        raise ValueError(f"stability: expected the result of cluster_stability; got {type(stability).__name__}")
    mean = array(stability.mean_jaccard)
    order = np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")
    count = len(order)
    size = FONT if count <= 40 else SMALL
    labels, sizes = [str(x) for x in array(stability.labels).tolist()], array(stability.size).tolist()
    texts = [f" ({sizes[i]})" for i in order.tolist()]
    limit = MAX_NAME if ax is None else max(20.0, room_beside(ax)[0])
    if ax is not None:
        size = max(LEAST, min(FONT, size_of(ax)[1] / max(1, count + 1) / 1.2))
    names = [
        fit(labels[i], limit - widest([text], size), size) + text for i, text in zip(order.tolist(), texts, strict=True)
    ]
    if ax is None:
        height = max(40.0, (11.0 if size == FONT else 9.5) * count)
        axes = new_axes(_WIDTH + _RECOVERED, height, widest(names, size) + 2 * PAD, PAD, 22, 34)
    else:
        axes = ax
    _draw(axes, stability, order, names, size)
    return axes


def _draw(axes: "Axes", stability: ClusterStability, order: np.ndarray, names: list[str], size: float) -> None:
    width, height = size_of(axes)
    count, place = len(order), np.arange(1, len(order) + 1)
    right = 1.02 * width / max(1.0, width - min(_RECOVERED, 0.25 * width))
    axes.axvspan(0, 0.5, color="#F4F0EA", zorder=0, linewidth=0)
    axes.axvspan(_STABLE, 1.0, color="#EAF1F7", zorder=0, linewidth=0)
    mean, jaccard = array(stability.mean_jaccard)[order], array(stability.jaccard)[:, order]
    known = ~np.isnan(mean)
    if known.any():
        low, high = np.nanquantile(jaccard[:, known], [0.05, 0.95], axis=0)
        axes.hlines(place[known], low, high, color=GREY, alpha=0.5, linewidth=min(3.0, 100 / count))
    kinds = (
        (mean >= _STABLE, BLUE, BLUE),
        ((mean < _STABLE) & (mean >= _DOUBTFUL), "#5F5F5F", "#5F5F5F"),
        (mean < _DOUBTFUL, "white", ORANGE),
    )
    for chosen, face, edge in kinds:
        axes.scatter(mean[chosen], place[chosen], s=18, facecolor=face, edgecolor=edge, linewidths=1, zorder=3)
    shown = thinned(count, height, size)
    axes.set_yticks([int(place[i]) for i in shown], [names[i] for i in shown], **style(size))
    axes.set_xlim(0, right)
    axes.set_ylim(count + 0.6, 0.4)
    axes.set_xticks(np.linspace(0, 1, 5) if width > 200 else [0, 0.5, 1])
    axes.tick_params(axis="x", labelsize=SMALL, length=2, pad=2)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LIGHT, linewidth=0.5)
    axes.set_axisbelow(True)
    label = "mean Jaccard index over runs (bars: middle 90 % of runs)"
    name_below(axes, fit(label, width, FONT), FONT, x=0.5 / right, labelpad=1)
    runs, recovered = array(stability.runs)[order].tolist(), array(stability.recovered)[order].tolist()
    beside = [f"{a} of {b}" for a, b in zip(recovered, runs, strict=True)]
    if widest(beside, size) <= width * (1 - 1 / right) - 2:
        for i in shown:
            axes.text(right, place[i], beside[i], ha="right", va="center", fontsize=size)
    heads = ((0.25, "center", "dissolved"), ((_STABLE + 1) / 2, "center", "recovered"), (right, "right", "in runs"))
    least = min(SMALL, width / 45)
    for x, side, text in heads:
        at = (x / right, 1 + 3 / height)
        axes.text(*at, text, transform=axes.transAxes, ha=side, va="bottom", fontsize=least, color="#555555")
    hide_frame(axes, "bottom")
