"""A matched table as a heat map with both margins."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torchclusteval.common.checks import check_choice
from torchclusteval.labels.renaming import as_array
from torchclusteval.plots.canvas import (
    FONT,
    GREY,
    LEAST,
    MAX_NAME,
    ORANGE,
    PAD,
    SMALL,
    Array,
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
from torchclusteval.scoring.matching import Matching, check_matching
from torchclusteval.scoring.matching import match as find_match
from torchclusteval.tables import ContingencyTables, check_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_GROUPS = 60
_BAR, _NUMBER = 34.0, 30.0  # longest bar of a margin, room for its number


def plot_table(
    tables: ContingencyTables,
    match: Matching | None = None,
    *,
    show: str = "count",
    name: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The table of one clustering in matched order, with the sizes of classes and clusters as bars.

    Colours show the share of the class that is in a cluster, darker is more; frames show matched pairs.

    Args:
        tables: one table, without a batch: ``tables[i]`` is one of a batch.
        match: its matching; by default one to one, by overlap.
        show: the numbers in cells: ``"count"``, items, or ``"share"``, percent of the class. Cells too small for
            numbers have none.
        name: of the clustering, for the label of its axis.
        ax: axes to draw on; by default those of a new figure.

    Returns:
        The axes. Above 60 classes (clusters) the smallest are drawn together as one, the last.

    Raises:
        ValueError: there is a batch, the table is empty, or ``show`` is not as described.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> from torchclusteval.plots import plot_table
        >>> table = tce.ContingencyTables.from_labels(["a", "a", "a", "b"], [1, 1, 0, 0])
        >>> [label.get_text() for label in plot_table(table).get_xticklabels()]
        ['1', '0']
    """
    check_axes(ax)
    check_tables(tables)
    check_choice(show, "show", ("count", "share"))
    if tables.batch_shape:
        got = tuple(tables.batch_shape)
        raise ValueError(f"tables: expected one table, such as tables[0]; got a batch of shape {got}")
    match = find_match(tables) if match is None else match
    check_matching(match)
    clustering = "cluster" if name is None else f"cluster of {name}"
    return _draw(
        _contents(match), clustering if show == "count" else f"{clustering} (numbers: % of the class)", show, ax
    )


@dataclass(frozen=True, eq=False)
class _Contents:
    """The table that is drawn."""

    counts: Array  # (rows, columns)
    classes: list[str]
    clusters: list[str]
    matched: list[tuple[int, int]]  # row and column of each matched pair


def _contents(match: Matching) -> _Contents:
    ordered = match.tables.to_dense()
    counts = ordered.counts.detach().cpu().numpy()
    with_cluster = (match.cluster_of_class >= 0).tolist()
    if match.how == "majority":  # the column of class i is the i-th
        pairs = [i for i, found in enumerate(with_cluster) if found]
    else:
        pairs = list(range(sum(with_cluster)))
    rows, columns = _shown(counts.sum(1)), _shown(counts.sum(0))
    if not (rows and columns):
        raise ValueError("tables: expected a table with items; got one without")
    classes, clusters = as_array(ordered.classes, counts.shape[0]), as_array(ordered.clusters, counts.shape[1])
    matched = [(rows.index(i), columns.index(i)) for i in pairs if i in rows and i in columns]
    counts, row_names = _collapsed(counts, [str(x) for x in classes.tolist()], rows)
    counts, column_names = _collapsed(counts.T, [str(x) for x in clusters.tolist()], columns)
    return _Contents(counts.T, row_names, column_names, matched)


def _shown(sizes: Array) -> list[int]:
    """The groups with items in their order; of many the largest."""
    filled = np.flatnonzero(sizes != 0)
    if len(filled) <= _MAX_GROUPS:
        return filled.tolist()
    return sorted(filled[np.argsort(-sizes[filled], kind="stable")[: _MAX_GROUPS - 1]].tolist())


def _collapsed(counts: Array, names: list[str], kept: list[int]) -> tuple[Array, list[str]]:
    """These rows, and the sum of the others."""
    others = sorted(set(np.flatnonzero(counts.sum(1) != 0).tolist()) - set(kept))
    taken, labels = counts[kept], [names[i] for i in kept]
    if not others:
        return taken, labels
    return np.concatenate([taken, counts[others].sum(0, keepdims=True)]), [*labels, f"{len(others)} others"]


def _draw(table: _Contents, label: str, show: str, ax: "Axes | None") -> "Axes":
    counts, classes, clusters = table.counts, table.classes, table.clusters
    rows, columns = counts.shape
    margin = _BAR + _NUMBER
    if ax is None:
        cell_width = float(np.clip(400 / columns, 9.0, 34.0))
        cell_height = float(np.clip(360 / rows, 9.0, 18.0))
        size = min(FONT, min(cell_width, cell_height) * 0.8)
        left_names = [fit(x, MAX_NAME, size) for x in classes]
        below_names = [fit(x, MAX_NAME, size) for x in clusters]
        flat = widest(below_names, size) <= cell_width - 3
        room = widest(left_names, size) + 2 * PAD + 14, (size * 1.5 if flat else widest(below_names, size)) + 2 * PAD
        wide = max(0.0, 120 - columns * cell_width)
        cell_width += wide / columns
        axes = new_axes(columns * cell_width + margin, rows * cell_height + margin, room[0], PAD, PAD, room[1] + 14)
    else:
        axes = ax
        width, height = size_of(ax)
        margin = min(margin, 0.3 * width, 0.3 * height)
        cell_width, cell_height = (width - margin) / columns, (height - margin) / rows
        size = max(LEAST, min(FONT, min(cell_width, cell_height) * 0.8))
        left, bottom = (max(0.0, x - 14) for x in room_beside(ax))
        left_names, below_names = [fit(x, left, size) for x in classes], [fit(x, bottom, size) for x in clusters]
        flat = widest(below_names, size) <= cell_width - 3
    shares = counts / counts.sum(1, keepdims=True)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto", zorder=1)
    _write_cells(axes, counts if show == "count" else 100 * shares, shares, (cell_width, cell_height))
    for i, j in table.matched:
        x, y = [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5]
        axes.plot(x, y, color=ORANGE, linewidth=1, zorder=4, solid_joinstyle="miter")
    _draw_margins(axes, counts, margin, (cell_width, cell_height), size)
    right, top = margin / cell_width, margin / cell_height
    axes.set_xlim(-0.5, columns - 0.5 + right)
    axes.set_ylim(rows - 0.5, -0.5 - top)
    shown_rows = thinned(rows, rows * cell_height, size)
    shown_columns = thinned(columns, columns * cell_width, size) if not flat else list(range(columns))
    axes.set_yticks(shown_rows, [left_names[i] for i in shown_rows], **style(size))
    axes.set_xticks(shown_columns, [below_names[i] for i in shown_columns], rotation=0 if flat else 90, **style(size))
    matrix = (columns * cell_width, rows * cell_height)
    name_below(axes, fit(label, matrix[0] + 20, SMALL), SMALL, x=matrix[0] / (matrix[0] + margin) / 2)
    axes.set_ylabel("class", fontsize=SMALL, y=matrix[1] / (matrix[1] + margin) / 2)
    hide_frame(axes)
    axes.tick_params(length=0, pad=2)
    return axes


def _write_cells(axes: "Axes", values: Array, shares: Array, cell: tuple[float, float]) -> None:
    texts = [[_number(x) for x in row] for row in values.tolist()]
    longest = widest([text for row in texts for text in row], SMALL)
    size = min(SMALL, 0.8 * cell[1], SMALL * (cell[0] - 2) / max(longest, 1.0))
    if size < LEAST - 0.5:
        return
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            if text != "0":
                colour = "white" if shares[i, j] > 0.6 else "black"
                axes.text(j, i, text, ha="center", va="center", fontsize=size, color=colour, zorder=3)


def _number(x: float) -> str:
    return f"{x:.0f}" if x == 0 or abs(x) >= 0.5 or float(x).is_integer() else f"{x:.1g}"


def _draw_margins(axes: "Axes", counts: Array, margin: float, cell: tuple[float, float], size: float) -> None:
    """Bars of the sizes of classes, to the right, and of clusters, above, with their numbers."""
    rows, columns = counts.shape
    sizes, cluster_sizes = counts.sum(1), counts.sum(0)
    bar = margin * _BAR / (_BAR + _NUMBER) - 3
    size = min(size, SMALL)
    lengths = sizes / max(sizes.max(), 1e-300) * bar / cell[0]
    start = columns - 0.5 + 3 / cell[0]
    axes.barh(np.arange(rows), lengths, left=start, height=0.7, color=GREY, linewidth=0)
    heights = cluster_sizes / max(cluster_sizes.max(), 1e-300) * bar / cell[1]
    base = -0.5 - 3 / cell[1]
    axes.bar(np.arange(columns), -heights, bottom=base, width=0.7, color=GREY, linewidth=0)
    right = [_number(x) for x in sizes.tolist()]
    shown = thinned(rows, rows * cell[1], size)
    room = margin - bar - 5
    if widest(right, size) <= room:
        for i in shown:
            axes.text(start + lengths[i] + 2 / cell[0], i, right[i], ha="left", va="center", fontsize=size)
    above = [_number(x) for x in cluster_sizes.tolist()]
    flat = widest(above, size) <= cell[0] - 1
    places = range(columns) if flat else thinned(columns, columns * cell[0], size)
    if flat or widest(above, size) <= room:
        for j in places:
            y = base - heights[j] - 2 / cell[1]
            axes.text(j, y, above[j], ha="center", va="bottom", fontsize=size, rotation=0 if flat else 90)
