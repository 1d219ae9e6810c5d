"""Figures 2 to 7 of the document study, on one sheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchclusteval.common.figures import SAFE_COLOURS, new_figure
from torchclusteval.common.optional import import_optional
from torchclusteval.studies.kishida import paper
from torchclusteval.studies.kishida.findings import linkage_of_measures
from torchclusteval.studies.kishida.settings import MEASURES, Configuration, Result

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


def plot(result: Result, path: str | Path) -> None:
    """Draw Figures 2 to 7 and write them to ``path``, in the format of its suffix.

    Raises:
        ImportError: without matplotlib, or without SciPy, which computes the dendrograms.
    """
    figure = new_figure(16, 17)
    axes = figure.subplots(3, 2)
    figure.suptitle(f"Kishida (2014), reading '{result.name}', {result.iterations} sets per configuration", fontsize=14)
    _dendrogram(axes[0, 0], result, "Figure 2: balanced, L = 10, error 1", Configuration("balanced", 1.0, 10))
    _curves(axes[0, 1], result, "Figure 3: balanced, error 0", 0.0)
    _dendrogram(axes[1, 0], result, "Figure 5: balanced, L = 40, error 2", Configuration("balanced", 2.0, 40))
    _curves(axes[1, 1], result, "Figure 4: balanced, error 2", 2.0)
    _dendrogram(axes[2, 0], result, "Figure 6: biased, L = 10, error 1", Configuration("biased", 1.0, 10))
    _entropies(axes[2, 1], result, "Figure 7: biased, error 2")
    figure.savefig(path)


def _dendrogram(axis: Any, result: Result, title: str, cell: Configuration) -> None:
    axis.set_title(title)
    if cell not in result.settings.configurations or result.iterations < 3:
        _mark_missing(axis)
        return
    import_optional("scipy.cluster.hierarchy", "studies").dendrogram(
        linkage_of_measures(result, cell),
        labels=[paper.MEASURE_NAMES[name] for name in MEASURES],
        ax=axis,
        color_threshold=0,
        above_threshold_color="black",
        leaf_rotation=90,
        leaf_font_size=10,
    )
    axis.set_ylabel("1 - r, average linkage")


def _curves(axis: Any, result: Result, title: str, error: float) -> None:
    axis.set_title(title)
    numbers = result.settings.cluster_numbers
    cells = [Configuration("balanced", error, number) for number in numbers]
    if not set(cells) <= set(result.settings.configurations):
        _mark_missing(axis)
        return
    for name, printed_name in paper.MEASURE_NAMES.items():
        colour, style = _STYLES[name]
        means = [result.mean(cell, name) for cell in cells]
        axis.plot(numbers, means, style, color=colour, label=printed_name, markersize=5, linewidth=1.2)
    _finish(axis, numbers, "average")
    axis.set_ylim(0, 1.02)


def _entropies(axis: Any, result: Result, title: str) -> None:
    axis.set_title(title)
    numbers = result.settings.cluster_numbers
    cells = [Configuration("biased", 2.0, number) for number in numbers]
    if not set(cells) <= set(result.settings.configurations):
        _mark_missing(axis)
        return
    axis.set_prop_cycle(color=SAFE_COLOURS)
    lines = {
        "joint_entropy": ("E(C, A)", "^-"),
        "entropy_clusters": ("E(C)", "s-"),
        "entropy_classes": ("E(A)", "o-"),
        "mutual_information": ("MI", "x-"),
    }
    for name, (label, style) in lines.items():
        axis.plot(numbers, [result.mean(cell, name) for cell in cells], style, label=label)
    _finish(axis, numbers, "average (nats)")


def _finish(axis: Any, numbers: Sequence[int], unit: str) -> None:
    axis.set_xticks(numbers)
    axis.set_xlabel("L, number of clusters")
    axis.set_ylabel(unit)
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _mark_missing(axis: Any) -> None:
    axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)
    axis.set_axis_off()
