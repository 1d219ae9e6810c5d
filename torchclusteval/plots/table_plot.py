"""A matched table as a heat map with both margins."""

from typing import TYPE_CHECKING, Any

import numpy as np

from torchclusteval.common.checks import check_choice
from torchclusteval.labels.renaming import as_array
from torchclusteval.plots import canvas
from torchclusteval.plots.canvas import FONT, GREY, LEAST, MAX_NAME, ORANGE, SMALL, Array
from torchclusteval.scoring.matching import Matching, check_matching
from torchclusteval.scoring.matching import match as find_match
from torchclusteval.tables import ContingencyTables, check_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_GROUPS = 60
_BAR = 34.0  # longest bar of a margin


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
    check_tables(tables)
    check_choice(show, "show", ("count", "share"))
    if tables.batch_shape:
        got = tuple(tables.batch_shape)
        raise ValueError(f"tables: expected one table, such as tables[0]; got a batch of shape {got}")
    match = find_match(tables) if match is None else match
    check_matching(match)
    counts, classes, clusters, matched = _contents(match)
    rows, columns = counts.shape
    wide, high = (float(np.clip(total / n, 9.0, most)) for total, n, most in ((400, columns, 34.0), (360, rows, 18.0)))
    axes, (width, height) = canvas.start(ax, max(120.0, columns * wide), rows * high)
    size = max(LEAST, min(FONT, 0.8 * min(width / columns, height / rows)))
    room = [min(MAX_NAME, 0.4 * extent) if ax is not None else MAX_NAME for extent in (width, height)]
    below = [canvas.fit(x, room[1], size) for x in clusters]
    flat = canvas.widest(below, size) <= width / columns - 3
    axes.set_yticks(range(rows), [canvas.fit(x, room[0], size) for x in classes], **canvas.style(size))
    axes.set_xticks(range(columns), below, rotation=0 if flat else 90, **canvas.style(size))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=2)

    shares = counts / counts.sum(1, keepdims=True)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto", zorder=1)
    for i, j in matched:
        x, y = [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5]
        axes.plot(x, y, color=ORANGE, linewidth=1, zorder=4, solid_joinstyle="miter")
    bar = _BAR if ax is None else min(_BAR, 0.15 * min(width, height))
    right = axes.inset_axes((1 + 3 / width, 0, bar / width, 1), sharey=axes)
    above = axes.inset_axes((0, 1 + 3 / height, 1, bar / height), sharex=axes)
    _draw_margin(right, right.barh(np.arange(rows), counts.sum(1), height=0.7, color=GREY), size, 0)
    numbers = [_number(x) for x in counts.sum(0).tolist()]
    turned = 0 if canvas.widest(numbers, size) <= width / columns - 1 else 90
    _draw_margin(above, above.bar(np.arange(columns), counts.sum(0), width=0.7, color=GREY), size, turned)
    width, height = canvas.settle(axes, ax, (width, height))
    _write_cells(axes, counts if show == "count" else 100 * shares, shares, (width / columns, height / rows))
    _thin(right, canvas.thinned(axes.yaxis, height, size))
    if not flat:
        canvas.thinned(axes.xaxis, width, size)
    if turned:
        _thin(above, list(range(0, columns, max(1, int(np.ceil(columns * size * 1.2 / width))))))
    clustering = "cluster" if name is None else f"cluster of {name}"
    label = clustering if show == "count" else f"{clustering} (numbers: % of the class)"
    axes.set_xlabel(canvas.wrapped(canvas.fit(label, 2 * width, SMALL), width, SMALL), **canvas.style(SMALL))
    axes.set_ylabel("class", fontsize=SMALL)
    return canvas.finish(axes, ax)


def _contents(match: Matching) -> tuple[Array, list[str], list[str], list[tuple[int, int]]]:
    """The counts that are drawn, names of rows and of columns, and the row and column of each matched pair."""
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
    return counts.T, row_names, column_names, matched


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


def _write_cells(axes: "Axes", values: Array, shares: Array, cell: tuple[float, float]) -> None:
    texts = [[_number(x) for x in row] for row in values.tolist()]
    longest = canvas.widest([text for row in texts for text in row], SMALL)
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


def _draw_margin(axes: Any, bars: Any, size: float, turned: int) -> None:
    """Bars of the sizes of groups with their numbers."""
    texts = [_number(x) for x in bars.datavalues.tolist()]
    axes.bar_label(bars, texts, padding=2, fontsize=min(size, SMALL), rotation=turned)
    axes.axis("off")


def _thin(axes: Any, kept: list[int]) -> None:
    """Keep these numbers beside bars."""
    for i in sorted(set(range(len(axes.texts))) - set(kept), reverse=True):
        axes.texts[i].remove()
