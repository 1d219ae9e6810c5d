"""The document study in words: its averages beside the printed tables, and the paper's claims, yes or no."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import torch

from torchclusteval.common.optional import import_optional
from torchclusteval.studies.common import Claim
from torchclusteval.studies.kishida import paper
from torchclusteval.studies.kishida.settings import MEASURES, PRESETS, Configuration, Result

__all__ = ["PrintedTable", "claims", "compare_table_1", "compare_table_2", "linkage_of_measures", "report"]

NMI_FORMS = ("nmi_min", "nmi_geometric", "nmi_arithmetic", "nmi_max", "nmi_joint")


class PrintedTable(NamedTuple):
    """A table of averages beside the printed one; values by measure, one per error mean of the paper."""

    values: Mapping[str, tuple[float, ...]]
    printed: Mapping[str, tuple[float, ...]]
    standard_error: float
    """The largest standard error of a value."""

    @property
    def deviations(self) -> list[float]:
        """Absolute differences of the cells that were run."""
        gaps = [abs(ours - theirs) for ours, theirs in self._cells()]
        return [gap for gap in gaps if not math.isnan(gap)]

    @property
    def same_signs(self) -> int:
        """Cells with the sign of the printed one."""
        return sum(ours * theirs > 0 for ours, theirs in self._cells())

    def _cells(self) -> Iterator[tuple[float, float]]:
        for name in MEASURES:
            yield from zip(self.values[name], self.printed[name], strict=True)


def compare_table_1(result: Result) -> PrintedTable:
    """Averages for balanced classes and ten clusters."""
    cells = [Configuration("balanced", error, 10) for error in paper.ERRORS]
    values = {name: tuple(result.mean(cell, name) for cell in cells) for name in MEASURES}
    errors = [result.standard_error(cell, name) for cell in cells for name in MEASURES]
    return PrintedTable(values=values, printed=paper.TABLE_1, standard_error=_largest(errors))


def compare_table_2(result: Result) -> PrintedTable:
    """Averages for biased minus averages for balanced classes, ten clusters."""
    pairs = [(Configuration("biased", error, 10), Configuration("balanced", error, 10)) for error in paper.ERRORS]
    values = {
        name: tuple(result.mean(biased, name) - result.mean(balanced, name) for biased, balanced in pairs)
        for name in MEASURES
    }
    errors = [
        math.hypot(result.standard_error(biased, name), result.standard_error(balanced, name))
        for biased, balanced in pairs
        for name in MEASURES
    ]
    return PrintedTable(values=values, printed=paper.TABLE_2, standard_error=_largest(errors))


def report(result: Result) -> str:
    """Averages beside the printed tables, and the claims."""
    sets = len(result.settings.configurations) * result.iterations
    not_converged = sets - int(result.records[:, :, -1].sum())
    meaning = PRESETS[result.name].meaning if result.name in PRESETS else "settings of one's own"
    first, second = compare_table_1(result), compare_table_2(result)
    parts = [
        f"Kishida (2014), reading '{result.name}': {meaning}.",
        f"{len(result.settings.configurations)} configurations x {result.iterations} sets, seed {result.seed}, "
        f"{result.seconds:.1f} s; k-means did not converge in {not_converged} of {sets} sets.",
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
        *(_format_claim(claim) for claim in claims(result)),
    ]
    return "\n".join(parts)


def claims(result: Result) -> list[Claim]:
    """The claims of the paper that this study can check."""
    return [
        _falls_with_error(result),
        _nmi_order(result),
        _nmi_is_v(result),
        *_figure_3(result),
        *_figure_4(result),
        *_dendrogram_claims(result),
        _figure_7(result),
    ]


def linkage_of_measures(result: Result, cell: Configuration) -> Any:
    """Average linkage of the measures on 1 - r over the sets of a configuration, as SciPy returns it.

    van Dongen enters as 1 - van Dongen. A measure without spread correlates with none.
    """
    hierarchy, distances = _scipy("cluster.hierarchy"), _scipy("spatial.distance")
    columns = [_similarities(result, cell, name) for name in MEASURES]
    correlation = torch.corrcoef(torch.stack(columns)).nan_to_num(nan=0.0)
    distance = (1 - correlation).clamp(min=0).fill_diagonal_(0)
    return hierarchy.linkage(distances.squareform(distance.numpy(), checks=False), "average")


def _scipy(module: str) -> Any:
    return import_optional(f"scipy.{module}", "studies")


# ---- claims -------------------------------------------------------------------------------------------------


def _falls_with_error(result: Result) -> Claim:
    table = compare_table_1(result).values
    names = [name for name in MEASURES if not _falls(_as_similarity(name, table[name]))]
    return Claim(
        "Table 1: every similarity falls and the normalised van Dongen rises with the error",
        None if _incomplete(table["purity"]) else not names,
        f"not so: {', '.join(names)}" if names else "",
    )


def _nmi_order(result: Result) -> Claim:
    cells = result.settings.configurations
    wrong = [cell for cell in cells if not _falls([result.mean(cell, name) for name in NMI_FORMS], slack=1e-12)]
    return Claim(
        "nmi_min >= geometric >= arithmetic >= max >= joint in every configuration",
        not wrong,
        f"not in {len(wrong)} of {len(cells)}" if wrong else f"{len(cells)} configurations",
    )


def _nmi_is_v(result: Result) -> Claim:
    gaps = [
        abs(result.mean(cell, "nmi_arithmetic") - result.mean(cell, "v_measure"))
        for cell in result.settings.configurations
    ]
    return Claim(
        "nmi_arithmetic = v_measure in every configuration",
        max(gaps) < 1e-12,
        f"largest difference {max(gaps):.1e}",
    )


def _figure_3(result: Result) -> list[Claim]:
    curves = _curves(result, error=0.0)
    if curves is None:
        return [Claim("Figure 3 (error 0): peaks of the measures at 10 or 15 clusters", None)]
    peaks = {name: _peak(result, curve) for name, curve in curves.items()}
    at_10_or_15 = [name for name in MEASURES if peaks[name] in (10, 15)]
    elsewhere = ", ".join(f"{name} {peaks[name]}" for name in MEASURES if name not in at_10_or_15)
    return [
        Claim(
            "Figure 3 (error 0): most measures peak at 10 or 15 clusters",
            2 * len(at_10_or_15) > len(MEASURES),
            f"{len(at_10_or_15)} of {len(MEASURES)}; elsewhere: {elsewhere}",
        ),
        Claim("Figure 3: purity rises with the number of clusters", _falls(curves["purity"][::-1])),
        Claim("Figure 3: inverse purity falls with the number of clusters", _falls(curves["inverse_purity"])),
    ]


def _figure_4(result: Result) -> list[Claim]:
    curves = _curves(result, error=2.0)
    if curves is None:
        return [Claim("Figure 4 (error 2): all NMI forms and V rise with the number of clusters", None)]
    forms = (*NMI_FORMS, "v_measure")
    not_rising = [name for name in forms if not _falls(curves[name][::-1])]
    rising = Claim(
        "Figure 4 (error 2): all NMI forms and V rise with the number of clusters",
        not not_rising,
        f"not so: {', '.join(not_rising)}" if not_rising else "",
    )
    peaks = {name: _peak(result, curves[name]) for name in ("jaccard", "adjusted_rand", "bcubed_f")}
    printed = {"jaccard": 15, "adjusted_rand": 20, "bcubed_f": 20}
    return [
        rising,
        *(
            Claim(f"Figure 4: {name} peaks at {where} clusters", peaks[name] == where, f"at {peaks[name]}")
            for name, where in printed.items()
        ),
    ]


def _dendrogram_claims(result: Result) -> list[Claim]:
    groups = "{BCF, NMI-joint, -sqrt, -sum, Vm}, {Jacrd, ARI, FM}, {F, NMI-max, vDon}"
    checks: list[tuple[str, Configuration, Callable[[Any], bool]]] = [
        (f"Figure 2: cut at seven, {groups}", Configuration("balanced", 1.0, 10), _has_printed_groups),
        (
            "Figure 5: BCubed F joins the pair counting measures before the NMI forms",
            Configuration("balanced", 2.0, 40),
            _bcubed_is_near_pairs,
        ),
        (
            "Figure 6: the same groups as in Figure 2 for biased classes",
            Configuration("biased", 1.0, 10),
            _has_printed_groups,
        ),
    ]
    return [_dendrogram_claim(result, *check) for check in checks]


def _dendrogram_claim(result: Result, text: str, cell: Configuration, check: Callable[[Any], bool]) -> Claim:
    if cell not in result.settings.configurations or result.iterations < 3:
        return Claim(text, None)
    try:
        tree = linkage_of_measures(result, cell)
    except ImportError:
        return Claim(text, None, "needs SciPy")
    return Claim(text, check(tree), f"cut at seven: {_format_groups(_groups(tree, 7))}")


def _has_printed_groups(tree: Any) -> bool:
    return set(paper.FIGURE_2_GROUPS) <= set(_groups(tree, 7))


def _bcubed_is_near_pairs(tree: Any) -> bool:
    heights = _scipy("spatial.distance").squareform(_scipy("cluster.hierarchy").cophenet(tree))
    bcubed, pairs, nmi = (MEASURES.index(name) for name in ("bcubed_f", "jaccard", "nmi_arithmetic"))
    return bool(heights[bcubed, pairs] < heights[bcubed, nmi])


def _groups(tree: Any, count: int) -> list[frozenset[str]]:
    numbers = _scipy("cluster.hierarchy").fcluster(tree, count, "maxclust").tolist()
    groups: dict[int, set[str]] = {}
    for name, number in zip(MEASURES, numbers, strict=True):
        groups.setdefault(number, set()).add(name)
    return [frozenset(group) for group in groups.values()]


def _figure_7(result: Result) -> Claim:
    text = "Figure 7 (biased, error 2): E(C) crosses E(A) near ten clusters"
    numbers = result.settings.cluster_numbers
    cells = [Configuration("biased", 2.0, number) for number in numbers]
    classes = [result.mean(cell, "entropy_classes") for cell in cells]
    clusters = [result.mean(cell, "entropy_clusters") for cell in cells]
    if _incomplete(clusters) or len(numbers) < 2:
        return Claim(text, None)
    crossing = _crossing(numbers, [c - a for c, a in zip(clusters, classes, strict=True)])
    if crossing is None:
        return Claim(text, False, "no crossing")
    nearest = min(numbers, key=lambda number: abs(number - crossing))
    return Claim(text, nearest == 10, f"at {crossing:.1f}")


def _crossing(positions: tuple[int, ...], values: list[float]) -> float | None:
    """Where values first turn from negative to not negative, by linear interpolation."""
    for i in range(1, len(values)):
        if values[i - 1] < 0 <= values[i]:
            share = -values[i - 1] / (values[i] - values[i - 1])
            return positions[i - 1] + share * (positions[i] - positions[i - 1])
    return None


# ---- helpers ------------------------------------------------------------------------------------------------


def _curves(result: Result, error: float) -> dict[str, list[float]] | None:
    """Averages over the numbers of clusters for balanced classes, turned so that higher is better."""
    cells = [Configuration("balanced", error, number) for number in result.settings.cluster_numbers]
    curves = {name: _as_similarity(name, [result.mean(cell, name) for cell in cells]) for name in MEASURES}
    return None if _incomplete(curves["purity"]) or len(cells) < 2 else curves


def _similarities(result: Result, cell: Configuration, name: str) -> torch.Tensor:
    values = result.values(cell, name)
    assert values is not None
    return 1 - values if name == "van_dongen_normalized" else values


def _as_similarity(name: str, values: Any) -> list[float]:
    return [1 - value if name == "van_dongen_normalized" else value for value in values]


def _peak(result: Result, curve: list[float]) -> int:
    return result.settings.cluster_numbers[curve.index(max(curve))]


def _falls(values: list[float], slack: float = 0.0) -> bool:
    """Whether every value is below the one before it, or exceeds it by at most ``slack``."""
    steps = [later - earlier for earlier, later in pairwise(values)]
    return all(step <= slack if slack else step < 0 for step in steps)


def _incomplete(values: Any) -> bool:
    return any(math.isnan(value) for value in values)


def _largest(values: list[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


# ---- text ---------------------------------------------------------------------------------------------------


def _format_table(table: PrintedTable) -> str:
    lines = [" " * 9 + "".join(f"{error:>21}" for error in paper.ERRORS)]
    for name, printed_name in paper.MEASURE_NAMES.items():
        pairs = zip(table.values[name], table.printed[name], strict=True)
        cells = (f"{_short(a)} ({_short(b)} {_short(a - b, '+')})" for a, b in pairs)
        lines.append(f"{printed_name:9}" + "".join(f"{cell:>21}" for cell in cells))
    return "\n".join(lines)


def _short(value: float, sign: str = "") -> str:
    """Three decimals without the leading zero, as the paper prints them; a dash for a cell that was not run."""
    return "-" if math.isnan(value) else format(value, f"{sign}.3f").replace("0.", ".", 1)


def _summary(table: PrintedTable) -> str:
    gaps = table.deviations
    if not gaps:
        return "not run"
    return (
        f"deviation from the printed table: mean {sum(gaps) / len(gaps):.3f}, largest {max(gaps):.3f}; "
        f"standard error of a value at most {table.standard_error:.4f}"
    )


def _format_claim(claim: Claim) -> str:
    verdict = {True: "yes", False: "no", None: "not checked"}[claim.holds]
    return f"  {verdict:12}{claim.text}" + (f" ({claim.detail})" if claim.detail else "")


def _format_groups(groups: list[frozenset[str]]) -> str:
    shown = (
        ", ".join(paper.MEASURE_NAMES[name] for name in MEASURES if name in group) for group in groups if len(group) > 1
    )
    return " ".join(f"{{{text}}}" for text in shown)
