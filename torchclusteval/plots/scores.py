"""A point with its interval in each row: scores, the best first, and clusters, the most stable first."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from torchclusteval.common.formatting import brief
from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.inference.results import Difference, Interval, ResultsByMeasure, Significance
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import BLUE, FONT, GREY, LEAST, LIGHT, ORANGE, SMALL, Array
from torchclusteval.scoring.scores import Scores, best_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_NAMES = 60  # beyond so many clusterings, ranks replace names
_NAMED_BEST = 5
_STABLE, _DOUBTFUL = 0.75, 0.6  # Hennig's bounds of the mean Jaccard index
PERMUTED = "the middle 95 % of permutations"


class Series(NamedTuple):
    """Values in the order of the picture, with intervals; without nan."""

    label: str  # of the axis of values
    zero: bool  # whether 0 is a line to compare with
    names: Array  # (B,) str, as are the others
    value: Array
    low: Array
    high: Array


def plot_scores(
    scores: Any, measure: str | None = None, *, names: Sequence[Hashable] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Clusterings in the order of their scores, the best first, with their intervals if there are any.

    Up to 60 clusterings have names next to them; more clusterings have ranks, and the best of them names.

    Args:
        scores: :class:`Scores` of one batch dimension or of a single clustering, or of clusterings by groups of items
            (means over the groups, with bars from the lowest to the highest group), or the result of ``bootstrap``, of
            ``permutation_test`` with ``keep_resamples`` (bars are the middle 95 % of the permutations) or of
            ``paired_bootstrap`` (differences in the given order, with a line at 0).
        measure: name of the measure; by default the first one with a direction, else the first.
        names: names of the clusterings; by default their own, else their numbers.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes, without the clusterings of value nan.

    Raises:
        ValueError: the measure is not there, the batch has several dimensions, or there is another number of names.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables.from_labels([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 1, 1]])
        >>> axes = plot_scores(tce.bootstrap(tables, ["ari"], 50), names=["kmeans", "single linkage"])
        >>> axes.get_xlabel()
        'adjusted rand with 95 % intervals (higher is better)'
    """
    if not isinstance(scores, (Scores, ResultsByMeasure)):
        raise ValueError(f"scores: expected Scores or the result of bootstrap; got {type(scores).__name__}")
    known: Mapping[str, Measure] = scores.measures if isinstance(scores, Scores) else MEASURES
    if measure is None:
        directed = [name for name in scores if name in known and known[name].better is not None]
        measure = (directed or list(scores))[0] if len(scores) else ""
    if measure not in scores:
        raise ValueError(f"measure: expected one of {', '.join(scores)}; got {brief(measure)}")
    name = measure if measure in dict(scores) else canonical(measure)
    better = known[name].better if name in known else None
    value = record = scores[name]
    low = high = None
    level = None if isinstance(scores, Scores) else scores.settings.get("confidence_level")
    span = "interval" if level is None else f"{100 * level:g} % intervals"
    if isinstance(record, (Interval, Difference)):
        value, low, high = getattr(record, "estimate", getattr(record, "difference", None)), record.low, record.high
    elif isinstance(record, Significance):
        value, (low, high), span = record.observed, permuted(record), PERMUTED
    elif isinstance(scores, Scores) and scores.groups is not None and value.dim() == 2:
        low, high = value.nan_to_num(nan=torch.inf).amin(1), value.nan_to_num(nan=-torch.inf).amax(1)
        value, span = scores.macro()[name], f"the mean of {value.shape[1]} groups, from the lowest to the highest"
    elif not isinstance(scores, Scores):
        raise ValueError(f"scores: expected scores or intervals; got {type(record).__name__}")
    if value.dim() > 1:
        raise ValueError(f"scores: expected one batch dimension; got shape {tuple(value.shape)}")
    listed = canvas.checked_names(names, scores.clusterings, value.numel())
    if isinstance(record, Difference):
        return draw_series(difference_series(name, "A", "B", listed, record, span), ax)
    return draw_series(score_series(name, better, listed, value, low, high, span), ax)


def permuted(test: Significance) -> Any:
    """The middle 95 % of the permutations, ``(2, B)``."""
    if test.resamples is None:
        raise ValueError("scores: expected permutations (keep_resamples=True); got a test without")
    return np.quantile(canvas.array(test.resamples).reshape(len(test.resamples), -1), [0.025, 0.975], axis=0)


def score_series(
    name: str, better: str | None, names: Sequence[str], value: Any, low: Any, high: Any, span: str
) -> Series:
    """Scores by one measure, the best first, or the largest first if the measure has no direction."""
    beside = ("" if low is None else f" with {span}") + ("" if better is None else f" ({better} is better)")
    order = np.array(best_first(canvas.array(value), better or "higher"), dtype=int)
    return _series(name.replace("_", " ") + beside, False, names, value, low, high, order)


def difference_series(name: str, one: str, other: str, names: Sequence[str], record: Difference, span: str) -> Series:
    """Differences between one clustering and others, in their order."""
    whose = f"{canvas.fit(one, canvas.room(None, 0), FONT)} minus {other}"
    label = f"difference of {name.replace('_', ' ')} ({whose})" + (f" with {span}" if span else "")
    return _series(label, True, names, record.difference, record.low, record.high, np.arange(len(names)))


def _series(label: str, zero: bool, names: Sequence[str], value: Any, low: Any, high: Any, order: Array) -> Series:
    columns = [canvas.array(np.nan if x is None else x).astype(float) for x in (value, low, high)]
    order = order[~np.isnan(columns[0][order])]
    values = (np.broadcast_to(x, len(names))[order] for x in columns)
    return Series(label, zero, np.array(names, dtype=object)[order], *values)


def draw_series(series: Series, ax: "Axes | None") -> "Axes":
    """Draw scores in their order, as rows with names or as ranks from left to right."""
    count = len(series.names)
    size = FONT if count <= 40 else SMALL
    by_name, row = count <= _MAX_NAMES, 11.0 if size == FONT else 9.5
    axes, (width, height) = canvas.start(ax, *((300.0, max(36.0, count * row)) if by_name else (420.0, 190.0)))
    place = np.arange(1, count + 1)
    if by_name := by_name and height >= 1.2 * LEAST * count:
        size = min(size, height / max(1, count) / 1.2)
        _set_rows(axes, canvas.fit_names(series.names, canvas.room(ax, 0.5 * width), size), size)
        x, y, bars = series.value, place, axes.hlines
    else:
        axes.set_xlim(0, count + 1)
        if not series.zero:  # differences are in the order given
            _name_best(axes, series, canvas.room(ax, 0.4 * width))
        x, y, bars = place, series.value, axes.vlines
    if not np.isnan(series.low).all():
        thick = min(4, 100 / count) if by_name else min(2, 200 / count)
        bars(place, series.low, series.high, color=BLUE, alpha=0.4, linewidth=thick)
    axes.scatter(x, y, s=16 if by_name else max(2, min(12, 1500 / count)), color=BLUE, zorder=3, linewidths=0)
    if series.zero:
        (axes.axvline if by_name else axes.axhline)(0, color=GREY, linewidth=0.8, zorder=0)
    width, height = canvas.settle(axes, ax, (width, height))
    plain = canvas.style(FONT) | {"labelpad": 1}  # it may name a clustering
    ranks = f"{count} differences, in their order" if series.zero else f"rank of {count} clusterings, the best first"
    below = series.label if by_name else ranks
    axes.set_xlabel(canvas.wrapped(below, width, FONT), **plain)
    if not by_name:
        axes.set_ylabel(canvas.wrapped(series.label, 0.9 * height, FONT), **plain)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
        axes.tick_params(labelsize=SMALL, length=2, pad=2)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return canvas.finish(axes, ax)


def _set_rows(axes: "Axes", names: Sequence[str], size: float) -> None:
    """Set up a row for each name, from top to bottom, and numbers below."""
    axes.set_yticks(range(1, len(names) + 1), names, **canvas.style(size))
    axes.set_ylim(len(names) + 0.6, 0.4)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL, length=2, pad=2)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.set_axisbelow(True)


def _name_best(axes: "Axes", series: Series, width: float) -> None:
    """List the names of the best to the right of the axes."""
    size = SMALL if width > 100 else LEAST
    best = zip(canvas.fit_names(series.names[:_NAMED_BEST], width, size), series.value, strict=False)
    lines = [f"{i}. {name}  {value:.4g}" for i, (name, value) in enumerate(best, 1)]
    axes.text(1.02, 1, "\n".join(lines), transform=axes.transAxes, va="top", linespacing=1.35, **canvas.style(size))


def plot_stability(stability: ClusterStability, *, ax: "Axes | None" = None) -> "Axes":
    """The mean Jaccard index of each cluster over runs, the most stable first, with the middle 90 % of the runs.

    Points are blue from .75 on (stable), grey from .6 on, and open orange below (not to be trusted). The number next to
    a point counts the runs that recovered the cluster.

    Args:
        stability: from ``cluster_stability``.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Clusters without items in any run come last, without a point.

    Raises:
        ValueError: ``stability`` is something else.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
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
    counts = [f" ({n})" for n in sizes]
    names = canvas.fit_names(labels, canvas.room(ax, 0.5 * width) - canvas.widest(counts, size), size)
    _set_rows(axes, [name + n for name, n in zip(names, counts, strict=True)], size)
    axes.set(xlim=(0, 1.02), xticks=np.linspace(0, 1, 5) if width > 200 else [0, 0.5, 1])
    axes.spines[["left", "top", "right"]].set_visible(False)

    axes.axvspan(0, 0.5, color="#F4F0EA", zorder=0, linewidth=0)
    axes.axvspan(_STABLE, 1.0, color="#EAF1F7", zorder=0, linewidth=0)
    known = ~np.isnan(mean)
    if known.any():
        low, high = np.nanquantile(jaccard[:, known], [0.05, 0.95], axis=0)
        axes.hlines(place[known], low, high, color=GREY, alpha=0.5, linewidth=min(3.0, 100 / count))
    edges = np.select([mean >= _STABLE, mean >= _DOUBTFUL], [BLUE, "#5F5F5F"], ORANGE)
    faces = np.where(mean < _DOUBTFUL, "white", edges)
    axes.scatter(mean, place, s=18, facecolor=faces, edgecolor=edges, linewidths=1, zorder=3)
    for y, a, b in zip(place, recovered, runs, strict=True):
        axes.text(1.04, y, f"{a} of {b}", va="center", fontsize=size)
    for x, side, text in ((0.25, "center", "dissolved"), (0.875, "center", "recovered"), (1.04, "left", "in runs")):
        at, look = axes.get_xaxis_transform(), {"fontsize": min(SMALL, width / 40), "color": "#555555"}
        axes.text(x, 1 + 3 / height, text, transform=at, ha=side, va="bottom", **look)
    width, height = canvas.settle(axes, ax, (width, height))
    canvas.keep_texts(axes, [*canvas.thinned(axes.yaxis, height, size), *range(count, count + 3)])
    label = "mean Jaccard index over runs (bars: middle 90 % of runs)"
    axes.set_xlabel(canvas.wrapped(label, width, FONT), fontsize=FONT)
    return canvas.finish(axes, ax)
