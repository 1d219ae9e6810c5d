"""The four formal constraints on every measure, next to the verdicts of Amigó, Gonzalo, Artiles and Verdejo (2009).

The claims come from the text and from the families of section 4; a claim is open if the text is silent on a measure.
The figure with the counterexamples of the paper was not available.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import torch

from torchclusteval.common.checks import check_choice
from torchclusteval.common.figures import new_figure, save_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.registry import FAMILIES, MEASURES, select
from torchclusteval.meta.constraints import CONSTRAINTS, ConstraintReport, Rest, compare_constraints
from torchclusteval.studies.common import Row, draw_heat_map

_SAID = {"y": "yes", "n": " no", ".": "  -"}
# Verdicts of the paper on constraints 1 to 4: y, n, or . for none.
CLAIMS: Mapping[str, str] = {
    "conditional_entropy": "ynnn",
    "class_entropy": "nyny",
    "mutual_information": "ynnn",
    "variation_of_information": "yyny",
    "v_measure": "yyny",
    "q0": "..n.",
    "rand": "yynn",
    "jaccard": "yynn",
    "fowlkes_mallows": "yynn",
    "purity": "ynnn",
    "inverse_purity": "nnn.",
    "clustering_f": "nnn.",
    "edit_distance": "nyny",
    "bcubed_precision": "y.y.",
    "bcubed_recall": ".y.y",
    "bcubed_f": "yyyy",
}


PRESETS: Mapping[str, str] = {
    "bounded": "the clean cluster of constraint 3 holds a whole class, and the rest is no larger than the part "
    "that constraint 4 is about",
    "any": "the class of the clean cluster of constraint 3 may have items elsewhere, and the rest may be large",
}
"""Assumptions about the rest of a clustering, by name."""

_REMARKS = {
    "any": """\
With the clean class spread over several clusters the matched F ignores the small clean cluster, so a
stray item there costs nothing: this is a case in which the paper's claim on set matching holds.""",
    "bounded": """\
Where the clean cluster holds its whole class, the matched F satisfies constraint 3 for every n: D2 gains
n/(2n+1) - 2n/((n+1)(n+2)) in proportion, which is positive exactly where n*n > n. Preset 'any' lets the
class have items elsewhere; there it fails, as the paper says.""",
}


class Disagreement(NamedTuple):
    measure: str
    constraint: int  # 1 to 4
    claimed: bool


@dataclass(frozen=True, eq=False)
class Result:
    """The verdicts on all measures with a direction."""

    name: str
    instances: int
    seed: int
    reports: Mapping[str, ConstraintReport]

    @property
    def satisfy_all(self) -> list[str]:
        return [name for name, verdicts in self.reports.items() if all(verdicts.satisfied.values())]

    @property
    def disagreements(self) -> list[Disagreement]:
        """Verdicts that contradict the paper."""
        return [
            Disagreement(name, number, claim == "y")
            for name, claims in CLAIMS.items()
            for number, claim in enumerate(claims, start=1)
            if claim != "." and self.reports[name][number].satisfied != (claim == "y")
        ]

    def of_family(self, family: str) -> dict[str, ConstraintReport]:
        return {name: report for name, report in self.reports.items() if MEASURES[name].family == family}


@on_one_thread
def run(
    preset: str = "bounded", *, iterations: int = 10_000, seed: int = 0, device: str | torch.device = "cpu"
) -> Result:
    """Run the study with ``iterations`` random pairs of clusterings for each constraint.

    Source: Amigó, Gonzalo, Artiles and Verdejo (2009), sections 2 and 4.
    """
    check_choice(preset, "preset", PRESETS)
    generator = torch.Generator(device).manual_seed(seed)
    measures = [measure for measure in select("all") if measure.better is not None]
    found = compare_constraints(measures, instances=iterations, rng=generator, rest=cast(Rest, preset))
    return Result(preset, iterations, seed, found)


def rows(result: Result) -> list[Row]:
    return [
        {
            "family": MEASURES[name].family,
            "measure": name,
            "constraint": constraint.name,
            "share": verdicts[constraint.name].share,
            "satisfied": verdicts[constraint.name].satisfied,
            "claimed": {"y": True, "n": False, ".": ""}[claim],
        }
        for name, verdicts in result.reports.items()
        for constraint, claim in zip(CONSTRAINTS, CLAIMS.get(name, "...."), strict=True)
    ]


def report(result: Result) -> str:
    parts = [
        f"Formal constraints of Amigó et al. (2009), reading '{result.name}': {PRESETS[result.name]}.",
        f"{result.instances} random pairs for each, seed {result.seed}; 'no' with the share of the pairs that fail.",
        *(f"{i}  {constraint.name}: {constraint.statement}" for i, constraint in enumerate(CONSTRAINTS, 1)),
    ]
    for family in FAMILIES:
        body = [
            [
                name,
                *("yes" if x.satisfied else f"no {1 - x.share:7.2%}" for x in found.values()),
                " ".join(_SAID[x] for x in CLAIMS.get(name, "")),
            ]
            for name, found in result.of_family(family).items()
        ]
        parts += ["", text_table([family, "1", "2", "3", "4", "paper"], body)]
    parts += ["", f"All four: {', '.join(result.satisfy_all) or 'none'}", "", "Where the paper says otherwise:"]
    parts += [_explain(result, disagreement) for disagreement in result.disagreements] or ["  nowhere"]
    return "\n".join([*parts, "", _REMARKS[result.name]])


def _explain(result: Result, disagreement: Disagreement) -> str:
    said, here = ("satisfies", "fails") if disagreement.claimed else ("fails", "satisfies")
    measure, number = disagreement.measure, disagreement.constraint
    line = f"  {measure}, constraint {number}: the paper has it that it {said}, here it {here}"
    example = result.reports[measure][number].counterexample
    return line if example is None else f"{line}\n{example}"


def plot(result: Result, path: str | Path) -> None:
    reading = f"reading '{result.name}', {result.instances} pairs"
    figure = new_figure(12, 8.5, f"Pairs that satisfy the constraints of Amigó et al. (2009), {reading}")
    columns = [constraint.name.replace("_", " ") for constraint in CONSTRAINTS]
    grid = figure.add_gridspec(1, 2)
    for column, families in enumerate((("entropy", "association"), ("pairs", "matching", "bcubed"))):
        found = [result.of_family(family) for family in families]
        cells = grid[0, column].subgridspec(len(families), 1, height_ratios=list(map(len, found)))
        for row, (family, reports) in enumerate(zip(families, found, strict=True)):
            shown = [
                [(x.share, "yes" if x.satisfied else f"{x.share:.3f}") for x in report.values()]
                for report in reports.values()
            ]
            draw_heat_map(figure.add_subplot(cells[row, 0]), shown, list(reports), columns, family)
    save_figure(figure, path)
