"""Pictures of scores, of pairwise agreement and of null distributions; needs the extra ``plots``.

Figures are made without pyplot, so nothing is shown and no global state is touched; ``figure.savefig`` writes them.
Colours are from Okabe and Ito's palette and from cividis, which look alike to colour-blind readers.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from torchclusteval.common.figures import new_figure
from torchclusteval.common.optional import import_optional
from torchclusteval.inference import Significance
from torchclusteval.measures.record import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["agreement_figure", "linkage_order", "null_figure", "score_figure"]

Array = npt.NDArray[Any]

_MAX_NAMES = 40  # beyond this many clusterings names are not readable, and ranks take their place
_NAMED_BEST = 5
_DPI = 130
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#8C8C8C"


def score_figure(
    measure: Measure, names: Sequence[str], values: Tensor, low: Tensor | None = None, high: Tensor | None = None
) -> "Figure":
    """Clusterings in the order of their scores, the best first, with their intervals.

    Args:
        measure: gives the axis its name and the order its direction.
        names: of the clusterings.
        values: ``(B,)`` scores; nan is left out.
        low: ``(B,)`` lower ends of intervals.
        high: ``(B,)`` upper ends.

    >>> from torchclusteval import plots
    >>> figure = plots.score_figure(tce.MEASURES["purity"], ["a", "b"], torch.tensor([0.8, 0.6]))
    >>> figure.axes[0].get_xlabel()
    'purity (higher is better)'
    """
    value, (lower, upper) = _array(values), (None if x is None else _array(x) for x in (low, high))
    order = _best_first(value, measure)
    figure, axes = _ranked(measure, [names[i] for i in order])
    place = np.arange(1, len(order) + 1)
    if lower is not None and upper is not None:
        _bars(axes, place, lower[order], upper[order], _BLUE, "interval")
    _dots(axes, place, value[order], _BLUE, "score")
    if lower is not None:
        _legend(axes)
    _name_best(axes, value[order], [names[i] for i in order])
    return figure


def null_figure(measure: Measure, names: Sequence[str], result: Significance) -> "Figure":
    """Scores beside their distribution over permutations of the labels.

    One clustering: a histogram of the permutations with the observed value. Several: their observed values, the
    best first, over the middle 95 % of their permutations.

    Args:
        measure: gives the axis its name and the order its direction.
        names: of the clusterings.
        result: from ``permutation_test(..., keep_replicates=True)``.

    Raises:
        ValueError: the result does not hold the permutations.

    >>> from torchclusteval import plots
    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.permutation_test(tables, ["ari"], permutations=100, keep_replicates=True)["ari"]
    >>> figure = plots.null_figure(tce.MEASURES["adjusted_rand"], ["run"], found)
    >>> figure.axes[0].get_xlabel()
    'adjusted rand (higher is better)'
    """
    if result.replicates is None:
        raise ValueError("result: expected one with its permutations (keep_replicates=True); got one without")
    replicates = _array(result.replicates).reshape(len(result.replicates), -1)
    observed = _array(result.observed)
    if len(observed) == 1:
        return _histogram(measure, names[0], replicates[:, 0], float(observed[0]), float(result.p_value.reshape(-1)[0]))
    order = _best_first(observed, measure)
    figure, axes = _ranked(measure, [names[i] for i in order])
    place = np.arange(1, len(order) + 1)
    low, high = np.quantile(replicates[:, order], [0.025, 0.975], axis=0)
    _bars(axes, place, low, high, _GREY, "95 % of permutations")
    _dots(axes, place, observed[order], _BLUE, "observed")
    _legend(axes)
    _name_best(axes, observed[order], [names[i] for i in order])
    return figure


def agreement_figure(measure: Measure, names: Sequence[str], values: Tensor) -> "Figure":
    """Heat map of pairwise agreement; neighbours in the order of average linkage agree. Bright is always better.

    Args:
        measure: gives the scale its name and direction.
        names: of the clusterings.
        values: ``(M, M)``, entry ``[i, j]`` taking ``i`` as the truth.

    >>> from torchclusteval import plots
    >>> values = tce.pairwise([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], ["ari"])["ari"]
    >>> figure = plots.agreement_figure(tce.MEASURES["adjusted_rand"], ["a", "b", "c"], values)
    >>> figure.axes[1].get_ylabel()
    'adjusted rand (higher is better)'
    """
    matrix = _array(values).reshape(len(names), len(names))
    order = linkage_order(matrix, measure)
    side = 4 + 0.22 * len(names) if len(names) <= _MAX_NAMES else 8
    figure = new_figure(side + 1.5, side, dpi=_DPI)
    axes = figure.subplots()
    colours = "cividis" if measure.better != "lower" else "cividis_r"
    image = axes.imshow(matrix[np.ix_(order, order)], cmap=colours, interpolation="nearest")
    figure.colorbar(image, ax=axes, label=_label(measure), fraction=0.046, pad=0.02)
    if len(names) <= _MAX_NAMES:
        ordered = [_short(names[i]) for i in order]
        axes.set_xticks(range(len(order)), ordered, rotation=90, fontsize=8)
        axes.set_yticks(range(len(order)), ordered, fontsize=8)
    else:
        axes.set_xlabel(f"{len(order)} clusterings in the order of average linkage")
    if measure.swapped != measure.name:
        axes.set_ylabel("taken as the truth")
    return figure


def linkage_order(matrix: Array, measure: Measure) -> list[int]:
    """Order of the leaves of the average linkage tree of the disagreements.

    >>> from torchclusteval import plots
    >>> import numpy as np
    >>> matrix = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.2], [0.8, 0.2, 1.0]])
    >>> plots.linkage_order(matrix, tce.MEASURES["adjusted_rand"])
    [1, 2, 0]
    """
    symmetric = (matrix + matrix.T) / 2
    distances = symmetric if measure.better == "lower" else np.nanmax(symmetric, initial=0) - symmetric
    distances = np.nan_to_num(distances, nan=np.nanmax(distances, initial=0)).clip(min=0)
    np.fill_diagonal(distances, 0)
    if len(matrix) < 3:
        return list(range(len(matrix)))
    hierarchy = import_optional("scipy.cluster.hierarchy", "plots")
    pairs = import_optional("scipy.spatial.distance", "plots").squareform(distances, checks=False)
    leaves: list[int] = hierarchy.leaves_list(hierarchy.optimal_leaf_ordering(hierarchy.average(pairs), pairs)).tolist()
    return leaves


# --- parts ------------------------------------------------------------------------------------------------


def _histogram(measure: Measure, name: str, replicates: Array, observed: float, p_value: float) -> "Figure":
    figure = new_figure(6.4, 3.6, dpi=_DPI)
    axes = figure.subplots()
    axes.hist(replicates, bins=min(40, max(5, len(replicates) // 10)), color=_GREY, label="permutations")
    axes.axvline(observed, color=_ORANGE, linewidth=2, label=f"{_short(name)}: {observed:.4g}, p = {p_value:.3g}")
    axes.set_xlabel(_label(measure))
    axes.set_ylabel("permutations")
    axes.margins(x=0.06)
    _legend(axes)
    return figure


def _legend(axes: "Axes") -> None:
    """Draw the legend above the axes, where it covers no data."""
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _ranked(measure: Measure, ordered: Sequence[str]) -> "tuple[Figure, Axes]":
    """Axes for values by rank: names downwards where there is room for them, else ranks to the right."""
    if len(ordered) > _MAX_NAMES:
        figure = new_figure(9, 4.5, dpi=_DPI)
        axes = figure.subplots()
        axes.set_xlabel(f"rank of {len(ordered)} clusterings, the best first")
        axes.set_ylabel(_label(measure))
        axes.set_xlim(0, len(ordered) + 1)
    else:
        figure = new_figure(7, 1.4 + 0.24 * len(ordered), dpi=_DPI)
        axes = figure.subplots()
        axes.set_yticks(range(1, len(ordered) + 1), [_short(name) for name in ordered])
        axes.set_ylim(len(ordered) + 0.6, 0.4)
        axes.set_xlabel(_label(measure))
    axes.grid(axis="y" if len(ordered) > _MAX_NAMES else "x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    return figure, axes


def _bars(axes: "Axes", place: Array, low: Array, high: Array, colour: str, label: str) -> None:
    if len(place) > _MAX_NAMES:
        axes.vlines(place, low, high, color=colour, alpha=0.6, linewidth=1.5, label=label)
    else:
        axes.hlines(place, low, high, color=colour, alpha=0.6, linewidth=5, label=label)


def _dots(axes: "Axes", place: Array, value: Array, colour: str, label: str) -> None:
    size = 36 if len(place) <= _MAX_NAMES else 9
    x, y = (value, place) if len(place) <= _MAX_NAMES else (place, value)
    axes.scatter(x, y, s=size, color=colour, zorder=3, label=label)


def _name_best(axes: "Axes", value: Array, ordered: Sequence[str]) -> None:
    """List the best clusterings by name where the axis has ranks."""
    if len(ordered) <= _MAX_NAMES:
        return
    lines = [f"{i}. {_short(ordered[i - 1])}  {value[i - 1]:.4g}" for i in range(1, _NAMED_BEST + 1)]
    axes.text(1.01, 1.0, "\n".join(["best", *lines]), transform=axes.transAxes, va="top", fontsize=9)


def _best_first(value: Array, measure: Measure) -> Array:
    """Numbers of the clusterings that have a value, the best first (the largest, without a direction)."""
    known = np.flatnonzero(~np.isnan(value))
    goodness = value[known] if measure.better == "lower" else -value[known]
    return known[np.argsort(goodness, kind="stable")]


def _label(measure: Measure) -> str:
    name = measure.name.replace("_", " ")
    return name if measure.better is None else f"{name} ({measure.better} is better)"


def _short(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:20]}...{name[-9:]}"


def _array(x: Tensor) -> Array:
    flat: Array = x.detach().double().cpu().numpy()
    return flat if flat.ndim > 1 else flat.reshape(-1)
