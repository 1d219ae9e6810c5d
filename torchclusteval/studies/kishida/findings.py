"""The document study in words and figures: averages next to the printed tables, and claims of the paper, yes or no."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch

from torchclusteval.common.figures import SAFE_COLOURS, new_figure, save_figure
from torchclusteval.studies.kishida.simulation import (
    CLUSTER_NUMBERS,
    CONFIGURATIONS,
    ERRORS,
    FIGURE_2_GROUPS,
    MEASURE_NAMES,
    MEASURES,
    PRESETS,
    STYLES,
    TABLE_1,
    TABLE_2,
    Configuration,
    Result,
)

NMI_FORMS = ("nmi_min", "nmi_geometric", "nmi_arithmetic", "nmi_max", "nmi_joint")


class Claim(NamedTuple):
    """A claim of the paper, and whether it holds in a run."""

    text: str
    holds: bool
    detail: str = ""

    def __str__(self) -> str:
        return f"  {'yes' if self.holds else 'no':12}{self.text}" + (f" ({self.detail})" if self.detail else "")


class PrintedTable(NamedTuple):
    """A table of averages next to the printed table; values by measure, one for each mean of the error."""

    values: Mapping[str, Sequence[float]]
    printed: Mapping[str, Sequence[float]]
    standard_error: float  # the largest standard error of a value

    @property
    def cells(self) -> list[tuple[float, float]]:
        return [pair for name in MEASURES for pair in zip(self.values[name], self.printed[name], strict=True)]

    @property
    def deviations(self) -> list[float]:
        return [abs(ours - theirs) for ours, theirs in self.cells]

    @property
    def same_signs(self) -> int:
        return sum(ours * theirs > 0 for ours, theirs in self.cells)


def compare_table_1(result: Result) -> PrintedTable:
    """Averages for balanced classes and ten clusters."""
    cells = [Configuration("balanced", error, 10) for error in ERRORS]
    values = {name: [result.mean(cell, name) for cell in cells] for name in MEASURES}
    errors = [result.standard_error(cell, name) for cell in cells for name in MEASURES]
    return PrintedTable(values, TABLE_1, max(errors))


def compare_table_2(result: Result) -> PrintedTable:
    """Averages for biased classes minus averages for balanced classes, ten clusters."""
    pairs = [[Configuration(kind, error, 10) for kind in ("biased", "balanced")] for error in ERRORS]
    values = {name: [result.mean(b, name) - result.mean(a, name) for b, a in pairs] for name in MEASURES}
    errors = [math.hypot(*(result.standard_error(x, name) for x in pair)) for pair in pairs for name in MEASURES]
    return PrintedTable(values, TABLE_2, max(errors))


def report(result: Result) -> str:
    sets = len(CONFIGURATIONS) * result.iterations
    not_converged = sets - int(result.run.records[:, :, -1].sum())
    first, second = compare_table_1(result), compare_table_2(result)
    parts = [
        f"Kishida (2014), reading '{result.name}': {PRESETS[result.name].meaning}.",
        f"{len(CONFIGURATIONS)} configurations x {result.iterations} sets, seed {result.seed}, "
        f"{result.run.seconds:.1f} s; k-means did not converge in {not_converged} of {sets} sets.",
        "",
        "Table 1: balanced classes, ten clusters; average (printed, difference) by mean of the error",
        _format_table(first),
        _summary(first),
        "",
        "Table 2: biased minus balanced, ten clusters",
        _format_table(second),
        _summary(second) + f"; {second.same_signs} of {len(second.deviations)} signs as printed",
        "",
        "What the paper says, in this run",
        *map(str, claims(result)),
    ]
    return "\n".join(parts)


def claims(result: Result) -> list[Claim]:
    return [*_order_claims(result), *_figure_3(result), *_figure_4(result), *_dendrograms(result), _figure_7(result)]


def linkage_of_measures(result: Result, cell: Configuration) -> Any:
    """Average linkage of the measures by 1 - r over the sets of a configuration, as SciPy returns it.

    van Dongen enters as 1 - van Dongen. A measure without spread has r = 0 with all others.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    columns = [_as_similarity(name, result.values(cell, name)) for name in MEASURES]
    correlation = torch.corrcoef(torch.stack(columns)).nan_to_num(nan=0.0)
    distance = (1 - correlation).clamp(min=0).fill_diagonal_(0)
    return linkage(squareform(distance.numpy(), checks=False), "average")


def _order_claims(result: Result) -> list[Claim]:
    table = compare_table_1(result).values
    not_falling = _not_falling({name: [_as_similarity(name, value) for value in table[name]] for name in MEASURES})
    forms = [[result.mean(cell, name) for name in NMI_FORMS] for cell in CONFIGURATIONS]
    wrong = sum(any(later - earlier > 1e-12 for earlier, later in pairwise(values)) for values in forms)
    gap = max(abs(result.mean(cell, "nmi_arithmetic") - result.mean(cell, "v_measure")) for cell in CONFIGURATIONS)
    falls = "Table 1: every similarity falls and the normalised van Dongen rises with the error"
    cells = f"not in {wrong} of {len(CONFIGURATIONS)}" if wrong else f"{len(CONFIGURATIONS)} configurations"
    return [
        Claim(falls, not not_falling, not_falling),
        Claim("nmi_min >= geometric >= arithmetic >= max >= joint in every configuration", not wrong, cells),
        Claim("nmi_arithmetic = v_measure in every configuration", gap < 1e-12, f"largest difference {gap:.1e}"),
    ]


def _figure_3(result: Result) -> list[Claim]:
    curves = _curves(result, error=0.0)
    peaks = {name: _peak(curve) for name, curve in curves.items()}
    others = [f"{name} {peak}" for name, peak in peaks.items() if peak not in (10, 15)]
    most = len(MEASURES) - len(others)
    text = "Figure 3 (error 0): most measures peak at 10 or 15 clusters"
    rising, falling = curves["purity"][::-1], curves["inverse_purity"]
    return [
        Claim(text, 2 * most > len(MEASURES), f"{most} of {len(MEASURES)}; elsewhere: {', '.join(others)}"),
        Claim("Figure 3: purity rises with the number of clusters", not _not_falling({"": rising})),
        Claim("Figure 3: inverse purity falls with the number of clusters", not _not_falling({"": falling})),
    ]


def _figure_4(result: Result) -> list[Claim]:
    curves = _curves(result, error=2.0)
    not_rising = _not_falling({name: curves[name][::-1] for name in (*NMI_FORMS, "v_measure")})
    text = "Figure 4 (error 2): all NMI forms and V rise with the number of clusters"
    found = [Claim(text, not not_rising, not_rising)]
    for name, where in {"jaccard": 15, "adjusted_rand": 20, "bcubed_f": 20}.items():
        peak = _peak(curves[name])
        found.append(Claim(f"Figure 4: {name} peaks at {where} clusters", peak == where, f"at {peak}"))
    return found


def _dendrograms(result: Result) -> list[Claim]:
    groups = "{BCF, NMI-joint, -sqrt, -sum, Vm}, {Jacrd, ARI, FM}, {F, NMI-max, vDon}"
    same = "the same groups as in Figure 2 for biased classes"
    joins = "BCubed F joins the pair counting measures before the NMI forms"
    checks: tuple[tuple[str, Configuration, Callable[[Any], bool]], ...] = (
        (f"Figure 2: cut at seven, {groups}", Configuration("balanced", 1.0, 10), _has_printed_groups),
        (f"Figure 5: {joins}", Configuration("balanced", 2.0, 40), _bcubed_is_near_pairs),
        (f"Figure 6: {same}", Configuration("biased", 1.0, 10), _has_printed_groups),
    )
    found = []
    for text, cell, check in checks:
        tree = linkage_of_measures(result, cell)
        shown = (
            ", ".join(MEASURE_NAMES[name] for name in MEASURES if name in group)
            for group in _groups(tree)
            if len(group) > 1
        )
        found.append(Claim(text, check(tree), f"cut at seven: {' '.join(f'{{{names}}}' for names in shown)}"))
    return found


def _has_printed_groups(tree: Any) -> bool:
    return set(FIGURE_2_GROUPS) <= set(_groups(tree))


def _bcubed_is_near_pairs(tree: Any) -> bool:
    from scipy.cluster.hierarchy import cophenet
    from scipy.spatial.distance import squareform

    heights = squareform(cophenet(tree))
    bcubed, pairs, nmi = (MEASURES.index(name) for name in ("bcubed_f", "jaccard", "nmi_arithmetic"))
    return bool(heights[bcubed, pairs] < heights[bcubed, nmi])


def _groups(tree: Any) -> list[frozenset[str]]:
    """The measures in each of seven groups."""
    from scipy.cluster.hierarchy import fcluster

    numbers = fcluster(tree, 7, "maxclust").tolist()
    return [
        frozenset(name for name, own in zip(MEASURES, numbers, strict=True) if own == number)
        for number in dict.fromkeys(numbers)
    ]


def _figure_7(result: Result) -> Claim:
    text = "Figure 7 (biased, error 2): E(C) crosses E(A) near ten clusters"
    cells = [Configuration("biased", 2.0, number) for number in CLUSTER_NUMBERS]
    above = [result.mean(cell, "entropy_clusters") - result.mean(cell, "entropy_classes") for cell in cells]
    for (first, low), (second, high) in pairwise(zip(CLUSTER_NUMBERS, above, strict=True)):
        if low < 0 <= high:
            crossing = first - low / (high - low) * (second - first)
            nearest = min(CLUSTER_NUMBERS, key=lambda number: abs(number - crossing))
            return Claim(text, nearest == 10, f"at {crossing:.1f}")
    return Claim(text, False, "no crossing")


def _curves(result: Result, error: float) -> dict[str, list[float]]:
    """Averages by number of clusters for balanced classes; higher is better."""
    cells = [Configuration("balanced", error, number) for number in CLUSTER_NUMBERS]
    return {name: [_as_similarity(name, result.mean(cell, name)) for cell in cells] for name in MEASURES}


def _as_similarity(name: str, value: Any) -> Any:
    return 1 - value if name == "van_dongen_normalized" else value


def _peak(curve: list[float]) -> int:
    return CLUSTER_NUMBERS[curve.index(max(curve))]


def _not_falling(curves: Mapping[str, Sequence[float]]) -> str:
    """Text with the names of all curves that do not fall at every step; empty if there are none."""
    names = [name or "it" for name, curve in curves.items() if any(b >= a for a, b in pairwise(curve))]
    return f"not so: {', '.join(names)}" if names else ""


def _format_table(table: PrintedTable) -> str:
    lines = [" " * 9 + "".join(f"{error:>21}" for error in ERRORS)]
    for name, printed_name in MEASURE_NAMES.items():
        pairs = zip(table.values[name], table.printed[name], strict=True)
        cells = (f"{_short(a)} ({_short(b)} {_short(a - b, '+')})" for a, b in pairs)
        lines.append(f"{printed_name:9}" + "".join(f"{cell:>21}" for cell in cells))
    return "\n".join(lines)


def _short(value: float, sign: str = "") -> str:
    """Three decimals without the leading zero, as the paper prints them."""
    return format(value, f"{sign}.3f").replace("0.", ".", 1)


def _summary(table: PrintedTable) -> str:
    gaps = table.deviations
    return (
        f"deviation from the printed table: mean {sum(gaps) / len(gaps):.3f}, largest {max(gaps):.3f}; "
        f"standard error of a value at most {table.standard_error:.4f}"
    )


_ENTROPIES = {
    "joint_entropy": ("E(C, A)", SAFE_COLOURS[0], "^-"),
    "entropy_clusters": ("E(C)", SAFE_COLOURS[1], "s-"),
    "entropy_classes": ("E(A)", SAFE_COLOURS[2], "o-"),
    "mutual_information": ("MI", SAFE_COLOURS[3], "x-"),
}


def plot(result: Result, path: str | Path) -> None:
    figure = new_figure(16, 17, f"Kishida (2014), reading '{result.name}', {result.iterations} sets per configuration")
    axes = figure.subplots(3, 2)
    measures = {name: (label, *STYLES[name]) for name, label in MEASURE_NAMES.items()}
    _draw_dendrogram(axes[0, 0], result, "Figure 2", Configuration("balanced", 1.0, 10))
    _draw_curves(axes[0, 1], result, "Figure 3", "balanced", 0.0, measures)
    _draw_dendrogram(axes[1, 0], result, "Figure 5", Configuration("balanced", 2.0, 40))
    _draw_curves(axes[1, 1], result, "Figure 4", "balanced", 2.0, measures)
    _draw_dendrogram(axes[2, 0], result, "Figure 6", Configuration("biased", 1.0, 10))
    _draw_curves(axes[2, 1], result, "Figure 7", "biased", 2.0, _ENTROPIES)
    save_figure(figure, path)


def _draw_dendrogram(axis: Any, result: Result, name: str, cell: Configuration) -> None:
    from scipy.cluster.hierarchy import dendrogram

    title = f"{name}: {cell.distribution}, L = {cell.n_clusters}, error {cell.error:g}"
    tree, labels = linkage_of_measures(result, cell), [MEASURE_NAMES[name] for name in MEASURES]
    colours: Any = {"color_threshold": 0, "above_threshold_color": "black"}
    dendrogram(tree, labels=labels, ax=axis, leaf_rotation=90, leaf_font_size=10, **colours)
    axis.set(title=title, ylabel="1 - r, average linkage")


def _draw_curves(
    axis: Any, result: Result, name: str, distribution: str, error: float, lines: Mapping[str, tuple[str, str, str]]
) -> None:
    """Draw averages of columns over the number of clusters, each with label, colour and style."""
    title, kind = f"{name}: {distribution}, error {error:g}", "average (nats)" if lines is _ENTROPIES else "average"
    axis.set(title=title, xlabel="L, number of clusters", ylabel=kind, xticks=CLUSTER_NUMBERS)
    cells = [Configuration(distribution, error, number) for number in CLUSTER_NUMBERS]
    for column, (label, colour, style) in lines.items():
        means = [result.mean(cell, column) for cell in cells]
        axis.plot(CLUSTER_NUMBERS, means, style, color=colour, label=label, markersize=5, linewidth=1.2)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
