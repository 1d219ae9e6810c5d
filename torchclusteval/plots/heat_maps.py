"""Heat maps: a matched table with both margins, and the agreement of clusterings with its tree."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.checks import check_choice
from torchclusteval.common.formatting import brief
from torchclusteval.labels.renaming import as_array
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.record import Measure
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, GREY, LEAST, ORANGE, SMALL, Array
from torchclusteval.scoring.matching import Matching, check_matching
from torchclusteval.scoring.matching import match as find_match
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables, check_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_GROUPS = 60  # rows (columns) of a table, and clusterings with names
_NUMBERED = 15  # most clusterings with numbers in the cells
_BAR, _TREE = 34.0, 54.0  # longest bar of a margin, width of a tree


class _HeatMap:
    """A matrix in colours, names next to its rows and below its columns."""

    def __init__(
        self, ax: Any, matrix: Array, names: Sequence[Sequence[str]], cell: tuple[float, float], **colours: Any
    ) -> None:
        self.ax, self.shape = ax, matrix.shape
        rows, columns = matrix.shape
        self.axes, (width, height) = canvas.start(ax, cell[0] * columns, cell[1] * rows)
        self.size = width, height
        self.font = max(LEAST, min(FONT, 0.8 * min(width / columns, height / rows)))
        rooms = (canvas.room(ax, 0.5 * extent) for extent in (width, height))
        left, below = (canvas.fit_names(own, room, self.font) for own, room in zip(names, rooms, strict=True))
        free = width if ax is None else width - canvas.widest(left, self.font)
        self.flat = canvas.widest(below, self.font) <= free / columns - 2
        self.axes.set_yticks(range(len(left)), left, **canvas.style(self.font))
        self.axes.set_xticks(range(len(below)), below, rotation=0 if self.flat else 90, **canvas.style(self.font))
        self.axes.spines[:].set_visible(False)
        self.axes.tick_params(length=0, pad=2)
        self.image = self.axes.imshow(matrix, interpolation="nearest", aspect="auto", zorder=1, **colours)

    def beside(self, wide: float) -> Any:
        """New axes of this width to the right."""
        wide = wide if self.ax is None else min(wide, 0.2 * self.size[0])
        return self.axes.inset_axes((1 + 3 / self.size[0], 0, wide / self.size[0], 1), sharey=self.axes)

    def settle(self) -> list[int]:
        """Thin out names that lack room; return the rows that keep theirs."""
        self.size = width, height = canvas.settle(self.axes, self.ax, self.size)
        if not self.flat:
            canvas.thinned(self.axes.xaxis, width, self.font)
        return canvas.thinned(self.axes.yaxis, height, self.font)

    def write(self, values: Array, show: Callable[[float], str]) -> None:
        """Write numbers into the cells if they have room, except "0"."""
        (rows, columns), (width, height) = self.shape, self.size
        texts = {at: show(x) for at, x in np.ndenumerate(values)}
        longest = canvas.widest(list(set(texts.values())), SMALL)
        size = min(SMALL, 0.8 * height / rows, SMALL * (width / columns - 2) / max(longest, 1.0))
        if size < LEAST - 0.7:
            return
        colours = self.image.cmap(self.image.norm(self.image.get_array()))  # transparent where a value is nan
        dark = (colours[..., :3].sum(-1) < 1.5) & (colours[..., 3] > 0)
        for (i, j), text in texts.items():
            if text != "0":
                colour = "white" if dark[i, j] else "black"
                self.axes.text(j, i, text, ha="center", va="center", fontsize=size, color=colour, zorder=3)


def plot_table(
    tables: ContingencyTables,
    match: Matching | None = None,
    *,
    show: str = "count",
    name: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The table of one clustering in matched order, with the sizes of classes and clusters as bars.

    Colours show the share of a class in each cluster, darker is more; frames show matched pairs. The sizes include
    items of one side alone (``absent_pred=`` ...).

    Args:
        tables: one table without a batch, such as ``tables[i]``.
        match: its matching; by default one to one, by overlap.
        show: the numbers in cells: ``"count"`` for items, ``"share"`` for percent of the class; small cells have none.
        name: name of the clustering, for the label of its axis.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Beyond 60 classes (clusters), the last row (column) holds all the smallest.

    Raises:
        ValueError: there is a batch, the table is empty, or ``show`` is not as described.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> table = tce.ContingencyTables.from_labels(["a", "a", "a", "b"], [1, 1, 0, 0])
        >>> [label.get_text() for label in plot_table(table).get_xticklabels()]
        ['1', '0']
    """
    check_tables(tables)
    check_choice(show, "show", ("count", "share"))
    if tables.batch_shape:
        got = tuple(tables.batch_shape)
        raise ValueError(f"tables: expected one table, such as tables[0]; got a batch of shape {got}")
    match = find_match(tables) if match is None else match
    check_matching(match)
    counts, whole, classes, clusters, matched = _contents(match)
    rows, columns = counts.shape
    cell = max(120.0 / columns, float(np.clip(400 / columns, 9.0, 34.0))), float(np.clip(360 / rows, 9.0, 18.0))
    shares = counts / whole[0][:, None]
    drawn = _HeatMap(ax, shares, (classes, clusters), cell, cmap="Blues", vmin=0, vmax=1)
    axes, (width, height) = drawn.axes, drawn.size
    for i, j in matched:
        x, y = [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5]
        axes.plot(x, y, color=ORANGE, linewidth=1, zorder=4, solid_joinstyle="miter")
    right, bar = drawn.beside(_BAR), _BAR if ax is None else min(_BAR, 0.2 * height)
    above = axes.inset_axes((0, 1 + 3 / height, 1, bar / height), sharex=axes)
    sizes = [[_number(x) for x in side.tolist()] for side in whole]
    turned = 0 if canvas.widest(sizes[1], drawn.font) <= width / columns - 1 else 90
    bars = right.barh(range(rows), whole[0], 0.7, color=GREY), above.bar(range(columns), whole[1], 0.7, color=GREY)
    for margin, own, texts, rotation in zip((right, above), bars, sizes, (0, turned), strict=True):
        margin.bar_label(own, texts, padding=2, fontsize=min(drawn.font, SMALL), rotation=rotation)
        margin.axis("off")
    canvas.keep_texts(right, drawn.settle())
    if turned:
        canvas.keep_texts(above, canvas.thin(columns, drawn.size[0], drawn.font))
    drawn.write(counts if show == "count" else 100 * shares, _number)
    label = "cluster" + (f" of {name}" if name else "") + (" (numbers: % of the class)" if show == "share" else "")
    width = drawn.size[0]
    axes.set_xlabel(canvas.wrapped(canvas.fit(label, 4 * width, SMALL), width, SMALL), **canvas.style(SMALL))
    axes.set_ylabel("class", fontsize=SMALL)
    return canvas.finish(axes, ax)


def _contents(match: Matching) -> tuple[Array, list[Array], list[str], list[str], list[tuple[int, int]]]:
    """Return (counts, sizes of both sides, names of rows, names of columns, cells of the matched pairs), as drawn."""
    ordered = match.tables
    _, row, column, count = map(canvas.array, ordered.cells())  # a dense table of many groups may not fit in memory
    sizes = [canvas.array(x) for x in (ordered.whole_class_sizes, ordered.whole_cluster_sizes)]
    with_cluster = (match.cluster_of_class >= 0).tolist()
    majority = match.how == "majority"  # the column of class i is the i-th
    pairs = [i for i, found in enumerate(with_cluster) if found] if majority else list(range(sum(with_cluster)))
    groups = map(_drawn_groups, sizes, (ordered.classes, ordered.clusters))
    (row_of, rows, row_names), (column_of, columns, column_names) = groups
    matched = [(rows.index(i), columns.index(i)) for i in pairs if i in rows and i in columns]
    counts = np.zeros((len(row_names), len(column_names)), count.dtype)
    np.add.at(counts, (row_of[row], column_of[column]), count)
    whole = [np.zeros(len(side), count.dtype) for side in (row_names, column_names)]
    for total, place, own in zip(whole, (row_of, column_of), sizes, strict=True):
        np.add.at(total, place, own)
    return counts, whole, row_names, column_names, matched


def _drawn_groups(sizes: Array, labels: Any) -> tuple[Array, list[int], list[str]]:
    """Return (row of each group, groups with a row of their own, names of rows); the last row may hold others."""
    filled = np.flatnonzero(sizes != 0)
    if not len(filled):
        raise ValueError("tables: expected a table with items; got one without")
    largest = filled[np.argsort(-sizes[filled], kind="stable")]
    kept = filled if len(filled) <= _MAX_GROUPS else np.sort(largest[: _MAX_GROUPS - 1])
    others = np.setdiff1d(filled, kept)
    names = [str(x) for x in as_array(labels, len(sizes))[kept].tolist()]
    names += [f"{len(others)} others"] if len(others) else []
    row_of = np.zeros(len(sizes), dtype=np.int64)
    row_of[kept], row_of[others] = np.arange(len(kept)), len(kept)
    return row_of, kept.tolist(), names


def _number(x: float) -> str:
    return f"{x:.0f}" if x == 0 or abs(x) >= 0.5 or float(x).is_integer() else f"{x:.1g}"


def plot_agreement(
    scores: Scores, measure: str | None = None, *, names: Sequence[Hashable] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Heat map of the agreement of clusterings with each other, and their tree of average linkage. Dark is alike.

    Args:
        scores: from ``pairwise``, batch shape ``(M, M)``; similar clusterings appear as dark blocks.
        measure: name of the measure; by default the first.
        names: names of the clusterings; by default their own, else their numbers. More than 60 are not drawn.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Cells of up to 15 clusterings have numbers. Colours range over the values of different clusterings.

    Raises:
        ValueError: the scores are not ``(M, M)``, the measure is not among them, or there is another number of names.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
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

    shown = [listed[i] for i in order] if count <= _MAX_GROUPS else []
    low, high = _limits(matrix)
    side = float(np.clip(420 / max(1, count), 9.0, 30.0)) if shown else 420 / count
    colours = "Blues_r" if record.better == "lower" else "Blues"
    cell = max(side, 90 / max(1, count)), side
    drawn = _HeatMap(ax, matrix, (shown, shown), cell, cmap=colours, vmin=low, vmax=high)
    axes, (width, height) = drawn.axes, drawn.size
    if not shown:
        text = f"{count} clusterings in the order of average linkage"
        axes.set_xlabel(canvas.wrapped(text, width, FONT), fontsize=FONT)
    if record.swapped != record.name:
        axes.set_ylabel(canvas.wrapped("taken as the truth", height, SMALL), fontsize=SMALL)
    direction = "" if record.better is None else f" ({record.better} is better)"
    label, ends = record.name.replace("_", " ") + direction, (_value(low), _value(high))
    canvas.draw_scale(axes, drawn.image, ends, label, drawn.size)
    if merges is not None:
        _draw_tree(drawn.beside(_TREE), merges)
    drawn.settle()
    if count <= _NUMBERED:
        drawn.write(matrix, _value)
    return canvas.finish(axes, ax)


def _linkage(matrix: Array, measure: Measure) -> tuple[list[int], Array | None]:
    """Return (order of the leaves, merges of the tree or None for fewer than three)."""
    symmetric = (matrix + matrix.T) / 2
    distances = symmetric if measure.better == "lower" else np.nanmax(symmetric, initial=0) - symmetric
    distances = np.nan_to_num(distances, nan=np.nanmax(distances, initial=0)).clip(min=0)
    np.fill_diagonal(distances, 0)
    if len(matrix) < 3:
        return list(range(len(matrix))), None
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    pairs = squareform(distances, checks=False)
    merges = hierarchy.optimal_leaf_ordering(hierarchy.average(pairs), pairs)
    leaves: list[int] = hierarchy.leaves_list(merges).tolist()
    return leaves, merges


def _limits(matrix: Array) -> tuple[float, float]:
    """Least and largest value between different clusterings."""
    others = matrix[~np.eye(len(matrix), dtype=bool)]
    others = others[np.isfinite(others)]
    if not len(others):
        return 0.0, 1.0
    low, high = float(others.min()), float(others.max())
    return (low, high) if high > low else (min(low, 0.0), max(high, 1.0))


def _value(x: float) -> str:
    return f"{round(x, 2) + 0.0:.2f}" if abs(x) < 10 else f"{x:.3g}"


def _draw_tree(axes: Any, merges: Array) -> None:
    """Draw the tree next to the matrix, with the root on the far side."""
    from scipy.cluster.hierarchy import dendrogram

    tree = dendrogram(merges, no_plot=True)
    for places, heights in zip(tree["icoord"], tree["dcoord"], strict=True):
        axes.plot(heights, (np.asarray(places) - 5) / 10, color=GREY, linewidth=0.8, solid_joinstyle="miter")
    axes.set_xlim(0, 1.02 * max(float(merges[-1, 2]), 1e-300))
    axes.axis("off")
