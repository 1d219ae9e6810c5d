"""Figures 2 to 7 of the document study, on one sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchclusteval.common.figures import SAFE_COLOURS, new_figure, save_figure
from torchclusteval.studies.kishida import paper
from torchclusteval.studies.kishida.findings import linkage_of_measures
from torchclusteval.studies.kishida.simulation import MEASURES, Configuration, Result

__all__ = ["plot"]

# Colour tells the family, marker and line the measure.
_STYLES = {
    "purity": ("#009E73", "o-"),
    "inverse_purity": ("#009E73", "v-"),
    "clustering_f": ("#B3A300", "s-"),
    "bcubed_f": ("black", "D-"),
    "rand": ("#0072B2", "o-"),
    "adjusted_rand": ("#0072B2", "v-"),
    "jaccard": ("#56B4E9", "s-"),
    "fowlkes_mallows": ("#56B4E9", "^-"),
    "nmi_min": ("#D55E00", "v-"),
    "nmi_geometric": ("#D55E00", "s-"),
    "nmi_arithmetic": ("#D55E00", "o-"),
    "nmi_max": ("#E69F00", "^-"),
    "nmi_joint": ("#E69F00", "D-"),
    "v_measure": ("#CC79A7", "x:"),
    "van_dongen_normalized": ("#8C8C8C", "o--"),
}
_ENTROPIES = {
    "joint_entropy": ("E(C, A)", SAFE_COLOURS[0], "^-"),
    "entropy_clusters": ("E(C)", SAFE_COLOURS[1], "s-"),
    "entropy_classes": ("E(A)", SAFE_COLOURS[2], "o-"),
    "mutual_information": ("MI", SAFE_COLOURS[3], "x-"),
}


def plot(result: Result, path: str | Path) -> None:
    """Draw Figures 2 to 7 and write them to ``path``, in the format of its suffix."""
    figure = new_figure(16, 17, f"Kishida (2014), reading '{result.name}', {result.iterations} sets per configuration")
    axes = figure.subplots(3, 2)
    measures = {name: (label, *_STYLES[name]) for name, label in paper.MEASURE_NAMES.items()}
    _dendrogram(axes[0, 0], result, "Figure 2", Configuration("balanced", 1.0, 10))
    _curves(axes[0, 1], result, "Figure 3", "balanced", 0, "average", measures)
    _dendrogram(axes[1, 0], result, "Figure 5", Configuration("balanced", 2.0, 40))
    _curves(axes[1, 1], result, "Figure 4", "balanced", 2, "average", measures)
    _dendrogram(axes[2, 0], result, "Figure 6", Configuration("biased", 1.0, 10))
    _curves(axes[2, 1], result, "Figure 7", "biased", 2, "average (nats)", _ENTROPIES)
    save_figure(figure, path)


def _dendrogram(axis: Any, result: Result, name: str, cell: Configuration) -> None:
    from scipy.cluster.hierarchy import dendrogram

    axis.set_title(f"{name}: {cell.distribution}, L = {cell.n_clusters}, error {cell.error:g}")
    if not result.has(cell) or result.iterations < 3:
        _mark_missing(axis)
        return
    tree, labels = linkage_of_measures(result, cell), [paper.MEASURE_NAMES[name] for name in MEASURES]
    colours: Any = {"color_threshold": 0, "above_threshold_color": "black"}
    dendrogram(tree, labels=labels, ax=axis, leaf_rotation=90, leaf_font_size=10, **colours)
    axis.set_ylabel("1 - r, average linkage")


def _curves(
    axis: Any,
    result: Result,
    name: str,
    distribution: str,
    error: int,
    unit: str,
    lines: Mapping[str, tuple[str, str, str]],
) -> None:
    """Averages of columns, each with label, colour and style, over the number of clusters."""
    axis.set_title(f"{name}: {distribution}, error {error}")
    numbers = result.settings.cluster_numbers
    cells = [Configuration(distribution, float(error), number) for number in numbers]
    if not result.has(*cells):
        _mark_missing(axis)
        return
    for column, (label, colour, style) in lines.items():
        means = [result.mean(cell, column) for cell in cells]
        axis.plot(numbers, means, style, color=colour, label=label, markersize=5, linewidth=1.2)
    axis.set_ylim(bottom=0)
    axis.set_xticks(numbers)
    axis.set_xlabel("L, number of clusters")
    axis.set_ylabel(unit)
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _mark_missing(axis: Any) -> None:
    axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)
    axis.set_axis_off()
