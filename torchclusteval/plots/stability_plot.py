"""Which clusters come back in other clusterings."""

from typing import TYPE_CHECKING

import numpy as np

from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import BLUE, FONT, GREY, LEAST, LIGHT, MAX_NAME, ORANGE, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STABLE, _DOUBTFUL = 0.75, 0.6  # Hennig's bounds of the mean


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
    if not isinstance(stability, ClusterStability):
        raise ValueError(f"stability: expected the result of cluster_stability; got {type(stability).__name__}")
    mean = canvas.array(stability.mean_jaccard)
    order = np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")
    mean, jaccard = mean[order], canvas.array(stability.jaccard)[:, order]
    labels, sizes, runs, recovered = (
        canvas.array(x)[order].tolist() for x in (stability.labels, stability.size, stability.runs, stability.recovered)
    )
    count, place = len(order), np.arange(1, len(order) + 1)
    axes, (width, height) = canvas.start(ax, 260.0, max(40.0, count * (11.0 if count <= 40 else 9.5)))
    size = max(LEAST, min(FONT if count <= 40 else SMALL, height / max(1, count) / 1.15))
    limit = MAX_NAME if ax is None else 0.5 * width
    ends = [f" ({n})" for n in sizes]
    names = [
        canvas.fit(label, limit - canvas.widest([end], size), size) + end
        for label, end in zip(labels, ends, strict=True)
    ]
    axes.set_yticks(place, names, **canvas.style(size))
    axes.set_xlim(0, 1.02)
    axes.set_ylim(count + 0.6, 0.4)
    axes.set_xticks(np.linspace(0, 1, 5) if width > 200 else [0, 0.5, 1])
    axes.tick_params(axis="x", labelsize=SMALL, length=2, pad=2)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LIGHT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["left", "top", "right"]].set_visible(False)

    axes.axvspan(0, 0.5, color="#F4F0EA", zorder=0, linewidth=0)
    axes.axvspan(_STABLE, 1.0, color="#EAF1F7", zorder=0, linewidth=0)
    known = ~np.isnan(mean)
    if known.any():
        low, high = np.nanquantile(jaccard[:, known], [0.05, 0.95], axis=0)
        axes.hlines(place[known], low, high, color=GREY, alpha=0.5, linewidth=min(3.0, 100 / count))
    for chosen, face, edge in (
        (mean >= _STABLE, BLUE, BLUE),
        ((mean < _STABLE) & (mean >= _DOUBTFUL), "#5F5F5F", "#5F5F5F"),
        (mean < _DOUBTFUL, "white", ORANGE),
    ):
        axes.scatter(mean[chosen], place[chosen], s=18, facecolor=face, edgecolor=edge, linewidths=1, zorder=3)

    beside = [f"{a} of {b}" for a, b in zip(recovered, runs, strict=True)]
    texts = [axes.text(1.04, y, text, va="center", fontsize=size) for y, text in zip(place, beside, strict=True)]
    least = min(SMALL, width / 40)
    for x, side, text in (
        (0.25, "center", "dissolved"),
        ((_STABLE + 1) / 2, "center", "recovered"),
        (1.04, "left", "in runs"),
    ):
        axes.annotate(
            text, (x, 1), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            ha=side, va="bottom", fontsize=least, color="#555555",
        )  # fmt: skip
    width, height = canvas.settle(axes, ax, (width, height))
    shown = canvas.thinned(axes.yaxis, height, size)
    for i in set(range(count)) - set(shown):
        texts[i].remove()
    axes.set_xlabel(
        canvas.wrapped("mean Jaccard index over runs (bars: middle 90 % of runs)", width, FONT), fontsize=FONT
    )
    return canvas.finish(axes, ax)
