"""Scores with their intervals, the best first, and scores beside their distribution over permutations."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.inference.results import Difference, Interval, ResultsByMeasure, Significance
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES
from torchclusteval.plots.canvas import (
    BLUE,
    FONT,
    GREY,
    LEAST,
    LIGHT,
    MAX_NAME,
    ORANGE,
    PAD,
    ROOM_BELOW,
    ROOM_BESIDE,
    SMALL,
    Array,
    array,
    check_axes,
    checked_names,
    fit,
    hide_frame,
    keep_ticks_inside,
    name_below,
    name_beside,
    new_axes,
    room_beside,
    size_of,
    style,
    text_width,
    widest,
)
from torchclusteval.scoring.scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_NAMES = 60  # beyond this many clusterings ranks take the place of names
_NAMED_BEST = 5
_LINE = 1.2 * FONT
_WIDTH, _ROW, _RANKED_HEIGHT = 300.0, 11.0, 190.0


@dataclass(frozen=True, eq=False)
class _Series:
    """Values of one measure that are drawn, and what to call them."""

    label: str
    better: str | None
    names: list[str]
    value: Array  # (B,)
    low: Array | None  # (B,)
    high: Array | None
    span: str  # what runs from low to high
    limits: tuple[float, float]  # of the measure
    zero: bool = False  # whether 0 is a line to compare with

    def ordered(self) -> "_Series":
        """The clusterings with a value, the best first (the largest, without a direction); differences as given."""
        order = np.flatnonzero(~np.isnan(self.value))
        if not self.zero:
            goodness = self.value[order] if self.better == "lower" else -self.value[order]
            order = order[np.argsort(goodness, kind="stable")]
        low, high = (None if x is None else x[order] for x in (self.low, self.high))
        names = [self.names[i] for i in order]
        return _Series(self.label, self.better, names, self.value[order], low, high, self.span, self.limits, self.zero)


def plot_scores(
    scores: Any, measure: str | None = None, *, names: Sequence[Hashable] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Clusterings in the order of their scores, the best first, with their intervals where there are any.

    Up to 60 clusterings have their names beside them; more are drawn by rank, with the names of the best.

    Args:
        scores: :class:`Scores` of one batch dimension or of a single clustering, or the result of ``bootstrap`` or
            ``paired_bootstrap`` (differences in the order given, with a line at 0).
        measure: which measure; by default the first of the result with a direction.
        names: of the clusterings; by default their own, else their numbers.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes; values that are nan are left out.

    Raises:
        ValueError: there is no such measure, the batch has several dimensions, or names are not as many.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> from torchclusteval.plots import plot_scores
        >>> tables = tce.ContingencyTables.from_labels([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 1, 1]])
        >>> axes = plot_scores(tce.bootstrap(tables, ["ari"], 50), names=["kmeans", "single linkage"])
        >>> axes.get_xlabel()
        'adjusted rand with 95 % intervals (higher is better)'
    """
    check_axes(ax)
    return draw_series(_read_scores(scores, measure, names), ax)


def _read_scores(scores: Any, measure: str | None, names: Sequence[Hashable] | None) -> _Series:
    if not isinstance(scores, (Scores, ResultsByMeasure)):
        raise ValueError(f"scores: expected Scores or the result of bootstrap; got {type(scores).__name__}")
    known: Mapping[str, Measure] = scores.measures if isinstance(scores, Scores) else MEASURES
    if measure is None:
        directed = [name for name in scores if name in known and known[name].better is not None]
        measure = (directed or list(scores))[0] if len(scores) else ""
    if measure not in scores:
        raise ValueError(f"measure: expected one of {', '.join(scores)}; got {brief(measure)}")
    name = measure if measure in dict(scores) else canonical(measure)
    low = high = None
    span, label, zero, better = "interval", name.replace("_", " "), False, known[name].better if name in known else None
    if isinstance(scores, Scores):
        value = scores[name]
    else:
        record = scores[name]
        if not isinstance(record, (Interval, Difference)):
            raise ValueError(f"scores: expected scores or intervals; got {type(record).__name__}")
        zero = isinstance(record, Difference)
        value = record.difference if isinstance(record, Difference) else record.estimate
        low, high = array(record.low), array(record.high)
        confidence = scores.settings.get("confidence_level")
        span = "interval" if confidence is None else f"{100 * confidence:g} % intervals"
        label = f"difference of {label} (A minus B)" if zero else label
    limits = known[name].range if name in known and not zero else (-np.inf, np.inf)
    if value.dim() > 1:
        raise ValueError(f"scores: expected one batch dimension; got shape {tuple(value.shape)}")
    listed = checked_names(names, scores.clusterings, value.numel())
    return _Series(label, better, listed, array(value.double()), low, high, span, limits, zero)


def draw_series(series: _Series, ax: "Axes | None") -> "Axes":
    """Draw scores, the best first."""
    series = series.ordered()
    count = len(series.names)
    by_name = count <= _MAX_NAMES and (ax is None or size_of(ax)[1] >= 1.2 * LEAST * count)
    axes = _named(series.names, ax) if by_name else _ranked(series, ax)
    place = np.arange(1, count + 1)
    if series.low is not None and series.high is not None and count:
        if by_name:
            axes.hlines(place, series.low, series.high, color=BLUE, alpha=0.45, linewidth=min(4, 100 / count))
        else:
            axes.vlines(place, series.low, series.high, color=BLUE, alpha=0.35, linewidth=min(2, 200 / count))
    x, y = (series.value, place) if by_name else (place, series.value)
    axes.scatter(x, y, s=16 if by_name else max(2, min(12, 1500 / count)), color=BLUE, zorder=3, linewidths=0)
    if series.zero:
        (axes.axvline if by_name else axes.axhline)(0, color=GREY, linewidth=0.8, zorder=0)
    (width, height), (left, bottom) = size_of(axes), room_beside(axes)
    plain = {key: value for key, value in style(FONT).items() if key != "fontsize"}  # may name a clustering
    if by_name:
        name_below(axes, _axis_name(series, width + 4 * PAD, bottom >= ROOM_BELOW + _LINE), FONT, labelpad=1, **plain)
        keep_ticks_inside(axes.xaxis)
    else:
        name_beside(axes, _axis_name(series, height + 20, left >= ROOM_BESIDE + _LINE), FONT, labelpad=2, **plain)
        _name_best(axes, series)
        keep_ticks_inside(axes.xaxis)
        keep_ticks_inside(axes.yaxis, limits=series.limits)
    return axes


def _axis_name(series: _Series, width: float, two_lines: bool) -> str:
    """What the values are, with what stands beside them if it fits, in a second line if there is room for one."""
    beside = f"with {series.span}" if series.low is not None else ""
    if series.better is not None and not series.zero:
        beside = f"{beside} ({series.better} is better)".lstrip()
    whole = f"{series.label} {beside}".rstrip()
    if text_width(whole, FONT) <= width:
        return whole
    shown = (series.label, beside) if beside and two_lines else (series.label,)
    return "\n".join(fit(part, width, FONT) for part in shown)


def _named(names: Sequence[str], ax: "Axes | None") -> "Axes":
    """Axes with a name a row, downwards."""
    size = FONT if len(names) <= 40 else SMALL
    if ax is None:
        shown = [fit(name, MAX_NAME, size) for name in names]
        height = max(36.0, (_ROW if size == FONT else 9.5) * len(names))
        axes = new_axes(_WIDTH, height, widest(shown, size) + 3 * PAD, 2.5 * PAD, PAD, 34)
    else:
        axes, size = ax, min(FONT, size_of(ax)[1] / max(1, len(names)) / 1.2)
        shown = [fit(name, room_beside(ax)[0], size) for name in names]
    axes.set_yticks(range(1, len(names) + 1), shown, **style(size))
    axes.set_ylim(len(names) + 0.6, 0.4)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    _finish(axes, numbers="x")
    axes.tick_params(axis="y", length=0)
    return axes


def _ranked(series: _Series, ax: "Axes | None") -> "Axes":
    """Axes with the ranks to the right."""
    axes = new_axes(420, _RANKED_HEIGHT, 54, 2 * PAD, PAD, 34) if ax is None else ax
    count = len(series.names)
    name_below(axes, fit(f"rank of {count} clusterings, the best first", size_of(axes)[0] + 40, FONT), FONT, labelpad=1)
    axes.set_xlim(0, count + 1)
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    _finish(axes)
    return axes


def _finish(axes: "Axes", *, numbers: Literal["both", "x", "y"] = "both") -> None:
    axes.set_axisbelow(True)
    axes.tick_params(axis=numbers, labelsize=SMALL, length=2, pad=2)
    hide_frame(axes, "left", "bottom")


def _name_best(axes: "Axes", series: _Series) -> None:
    """List the best by name, in the corner where worse ones have no points, for which the scale is extended."""
    width, height = size_of(axes)
    shown = min(_NAMED_BEST, len(series.names))
    size = SMALL if width > 150 else LEAST
    lines = [f"{i + 1}. {fit(series.names[i], 0.6 * width, size)}  {series.value[i]:.4g}" for i in range(shown)]
    needed = (shown + 2) * size * 1.35 / height
    low, high = axes.get_ylim()
    ends = [x for x in (series.low, series.high) if x is not None]
    right = slice(int(0.2 * len(series.names)), None)
    beside = np.concatenate([x[right] for x in (series.value, *ends)])
    beside = beside[np.isfinite(beside)]
    rising = series.better == "lower"
    edge = float(beside.min() if rising else beside.max()) if len(beside) else low
    # The list takes the share `needed` of the height, beyond the values beside it.
    if rising:
        low = min(low, (edge - needed * high) / (1 - needed)) if needed < 0.9 else low
    else:
        high = max(high, (edge - needed * low) / (1 - needed)) if needed < 0.9 else high
    axes.set_ylim(low, high)
    at, side = (0.02, "bottom") if rising else (0.98, "top")
    axes.text(0.99, at, "\n".join(lines), transform=axes.transAxes, ha="right", va=side, **style(size))


# --- figures of the first versions ----------------------------------------------------------------------------


def score_figure(
    measure: Measure, names: Sequence[str], values: Tensor, low: Tensor | None = None, high: Tensor | None = None
) -> "Figure":
    """Clusterings in the order of their scores, the best first, with their intervals, as :func:`plot_scores`.

    Args:
        measure: gives the axis its name and the order its direction.
        names: of the clusterings.
        values: ``(B,)`` scores; nan is left out.
        low: ``(B,)`` lower ends of intervals.
        high: ``(B,)`` upper ends.

    >>> from torchclusteval import plots
    >>> figure = plots.score_figure(tce.MEASURES["purity"], ["a", "b"], torch.tensor([0.8, 0.6]))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    return draw_series(series_of(measure, names, values, low, high), None).figure  # type: ignore[return-value]


def series_of(
    measure: Measure,
    names: Sequence[str],
    values: Any,
    low: Any = None,
    high: Any = None,
    span: str = "interval",
) -> _Series:
    """What is drawn of scores that are given as columns."""
    low, high = (None if x is None else array(x) for x in (low, high))
    label = measure.name.replace("_", " ")
    return _Series(label, measure.better, [str(x) for x in names], array(values), low, high, span, measure.range)


def differences_of(measure: Measure, one: str, names: Sequence[str], record: Difference, span: str) -> _Series:
    """What is drawn of the differences of one clustering to others."""
    series = series_of(measure, names, record.difference, record.low, record.high, span)
    label = f"difference of {series.label} ({fit(one, 0.6 * MAX_NAME, FONT)} minus another)"
    return replace(series, label=label, limits=(-np.inf, np.inf), zero=True)


def null_figure(measure: Measure, names: Sequence[str], result: Significance) -> "Figure":
    """Scores beside their distribution over permutations of the labels.

    One clustering: a histogram of the permutations with the observed value. Several: their observed values, the
    best first, over the middle 95 % of their permutations.

    Args:
        measure: gives the axis its name and the order its direction.
        names: of the clusterings.
        result: from ``permutation_test(..., keep_resamples=True)``.

    Raises:
        ValueError: the result does not hold the permutations.

    >>> from torchclusteval import plots
    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.permutation_test(tables, ["ari"], n_resamples=100, keep_resamples=True)["ari"]
    >>> figure = plots.null_figure(tce.MEASURES["adjusted_rand"], ["run"], found)
    >>> len(figure.axes)
    1
    """
    if result.resamples is None:
        raise ValueError("result: expected one with its permutations (keep_resamples=True); got one without")
    resamples = array(result.resamples).reshape(len(result.resamples), -1)
    observed = array(result.observed)
    if len(observed) == 1:
        return _histogram(measure, names[0], resamples[:, 0], float(observed[0]), float(result.p_value.reshape(-1)[0]))
    low, high = np.quantile(resamples, [0.025, 0.975], axis=0)
    drawn = series_of(measure, names, observed, low, high, "95 % of permutations beside it")
    return draw_series(drawn, None).figure  # type: ignore[return-value]


def _histogram(measure: Measure, name: str, resamples: Array, observed: float, p_value: float) -> "Figure":
    axes = new_axes(400, 180, 54, 2 * PAD, 24, 34)
    axes.hist(resamples, bins=min(40, max(5, len(resamples) // 10)), color=GREY, label="permutations")
    shown = fit(name, MAX_NAME, FONT)
    axes.axvline(observed, color=ORANGE, linewidth=2, label=f"{shown}: {observed:.4g}, p = {p_value:.3g}")
    better = "" if measure.better is None else f" ({measure.better} is better)"
    axes.set_xlabel(measure.name.replace("_", " ") + better, fontsize=FONT)
    axes.set_ylabel("permutations", fontsize=FONT)
    axes.margins(x=0.06)
    axes.locator_params(axis="y", integer=True)
    _finish(axes)
    keep_ticks_inside(axes.xaxis)
    keep_ticks_inside(axes.yaxis)
    legend = axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=FONT, borderpad=0)
    for text in legend.get_texts():
        text.set(**style(FONT))
    return axes.figure  # type: ignore[return-value]
