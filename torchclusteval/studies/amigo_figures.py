"""The examples of figures 14 to 23 of Amigo et al. (2009): extended BCubed beside what the paper says of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from torchclusteval.common.figures import SAFE_COLOURS, new_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.overlap import (
    Memberships,
    evaluate_overlapping,
    multiplicity_precision,
    multiplicity_recall,
)
from torchclusteval.studies.common import Claim, Row

__all__ = ["EXAMPLES", "Condition", "Example", "Finding", "Result", "plot", "report", "rows", "run"]

MEASURE_NAMES = {
    "extended_bcubed_precision": "P",
    "extended_bcubed_recall": "R",
    "extended_bcubed_f": "F",
    "overlap_purity": "purity",
    "overlap_inverse_purity": "inverse",
    "overlap_set_f": "set F",
    "multiplicity_precision": "MP(1,2)",
    "multiplicity_recall": "MR(1,2)",
}


@dataclass(frozen=True)
class Condition:
    """A condition on a value, as the paper states it: it is 1, or below another example's, or below another measure."""

    measure: str
    relation: Literal["= 1", "<"]
    figure: str = ""  # with "<": the example to compare with, this one by default
    other: str = ""  # with "<": the measure to compare with, the same by default

    def __str__(self) -> str:
        if self.relation == "= 1":
            return f"{self.measure} = 1"
        return f"{self.measure} < {self.other or f'its value in {self.figure}'}"


@dataclass(frozen=True)
class Example:
    """A figure: the classes and clusters of its items, divided by spaces, each group a letter."""

    name: str
    meaning: str
    classes: str
    clusters: str
    conditions: tuple[Condition, ...]


def _is_1(*measures: str) -> tuple[Condition, ...]:
    return tuple(Condition(measure, "= 1") for measure in measures)


def _below(measure: str, figure: str) -> Condition:
    return Condition(measure, "<", figure)


_P, _R = "extended_bcubed_precision", "extended_bcubed_recall"
_MP, _MR = "multiplicity_precision", "multiplicity_recall"
_PURE = ("overlap_purity", "overlap_inverse_purity")
_TWO_LEVELS = "gb gb gw"
_IDEAL = "bg bg g b b d d"
_BELOW_PURITY = Condition(_P, "<", other="overlap_purity")

# fmt: off - a row an example
EXAMPLES = (
    Example(
        "14",
        "one cluster for a two-level gold standard: purity sees nothing",
        _TWO_LEVELS,
        "A A A",
        (*_is_1(*_PURE), _below(_R, "14 correct")),
    ),
    Example("14 correct", "the two-level gold standard itself", _TWO_LEVELS, "AB AB AC", _is_1(_P, _R, *_PURE)),
    Example("15 case 1", "two classes and two clusters shared", "bg bg", "AB AB", _is_1(_MP, _MR)),
    Example("15 case 2", "two classes but one cluster shared", "bg bg", "A A", (*_is_1(_MP), _below(_MR, "15 case 1"))),
    Example(
        "15 case 3",
        "two classes but three clusters shared",
        "bg bg",
        "ABC ABC",
        (_below(_MP, "15 case 1"), *_is_1(_MR)),
    ),
    Example("16", "a correct clustering", _IDEAL, "AB AB A B B C C", _is_1(_P, _R)),
    Example("17", "a cluster twice", _IDEAL, "ABX ABX AX B B C C", (_below(_P, "16"), *_is_1(_R))),
    Example("18", "a cluster three times", _IDEAL, "ABXY ABXY AXY B B C C", (_below(_P, "17"), *_is_1(_R))),
    Example("19", "items of two classes in one cluster only", _IDEAL, "A A A B B C C", (_below(_R, "16"),)),
    Example("20", "a correct cluster split", _IDEAL, "AB AB A D D C C", (_below(_R, "16"),)),
    Example("21", "two correct clusters merged", _IDEAL, "A A A A A C C", (_below(_P, "16"), _below(_R, "16"))),
    Example(
        "22",
        "the cheat: one cluster of everything, and every item again alone",
        "a a a b b b c c c d d d",
        "*A *B *C *D *E *F *G *H *I *J *K *L",
        (*_is_1("overlap_inverse_purity", _R), _BELOW_PURITY),
    ),
    Example(
        "23",
        "different groups with a maximal score: three occurrences of each item",
        "sxy sxz syz",
        "KLa KLb KLc",
        _is_1(_P, _R, *_PURE),
    ),
    Example(
        "23 set F",
        "the same with four occurrences, where the set F is maximal too",
        "stxy stzw stuv",
        "KaMN KbMO KcNO",
        _is_1(_P, _R, *_PURE, "overlap_set_f"),
    ),
)
# fmt: on


@dataclass(frozen=True)
class Finding:
    """The values of an example, and its conditions checked."""

    example: Example
    values: Mapping[str, float]
    claims: tuple[Claim, ...]

    @property
    def all_hold(self) -> bool:
        return all(claim.holds for claim in self.claims)


@dataclass(frozen=True)
class Result:
    """All examples, in the order of the paper."""

    findings: tuple[Finding, ...]

    @property
    def all_hold(self) -> bool:
        return all(finding.all_hold for finding in self.findings)


@on_one_thread
def run() -> Result:
    """Score the examples of figures 14 to 23.

    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6; the groupings of figures 16 to 21 follow the
    text, and figure 23 comes in two forms, because its claims cannot all hold with three occurrences of each item.
    """
    values = {example.name: _values(example) for example in EXAMPLES}
    return Result(
        tuple(
            Finding(
                example=example,
                values=values[example.name],
                claims=tuple(Claim(str(x), _holds(x, example, values)) for x in example.conditions),
            )
            for example in EXAMPLES
        )
    )


def _values(example: Example) -> dict[str, float]:
    true, pred = (Memberships.from_lists(map(list, side.split())) for side in (example.classes, example.clusters))
    scores = evaluate_overlapping(true, pred, [name for name in MEASURE_NAMES if not name.startswith("multiplicity")])
    functions: dict[str, Callable[..., torch.Tensor]] = {_MP: multiplicity_precision, _MR: multiplicity_recall}
    pair = torch.tensor([[0, 1]])
    of_pair = {name: float(function(true, pred, pair)) for name, function in functions.items()}
    return {**{name: float(value) for name, value in scores.items()}, **of_pair}


def _holds(condition: Condition, example: Example, values: Mapping[str, Mapping[str, float]]) -> bool:
    value = values[example.name][condition.measure]
    if condition.relation == "= 1":
        return value == 1.0
    return value < values[condition.figure or example.name][condition.other or condition.measure]


def rows(result: Result) -> list[Row]:
    """One row an example: its values, what the paper says, and whether it holds."""
    return [
        {
            "figure": finding.example.name,
            "meaning": finding.example.meaning,
            **finding.values,
            "claims": "; ".join(claim.text for claim in finding.claims),
            "holds": finding.all_hold,
        }
        for finding in result.findings
    ]


def report(result: Result) -> str:
    """The table of values, and below it what the paper says of each figure."""
    header = ["figure", *MEASURE_NAMES.values(), "as stated"]
    body = [
        [
            finding.example.name,
            *(f"{finding.values[name]:.4f}" for name in MEASURE_NAMES),
            "yes" if finding.all_hold else "NO",
        ]
        for finding in result.findings
    ]
    lines = ["Amigo et al. (2009), figures 14 to 23", "", text_table(header, body), ""]
    for finding in result.findings:
        lines.append(f"{finding.example.name}: {finding.example.meaning}")
        lines.extend(f"    {'holds' if claim.holds else 'FAILS'}: {claim.text}" for claim in finding.claims)
    return "\n".join(lines)


def plot(result: Result, path: str | Path) -> None:
    """Bars of extended BCubed and purity for each figure."""
    names = [name for name in MEASURE_NAMES if not name.startswith("multiplicity")]
    figure = new_figure(13, 5, "Amigo et al. (2009), figures 14 to 23: P, R, F are extended BCubed")
    axis = figure.subplots()
    axis.set_prop_cycle(color=SAFE_COLOURS)
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        places = [at + (i - (len(names) - 1) / 2) * width for at in range(len(result.findings))]
        axis.bar(places, [finding.values[name] for finding in result.findings], width, label=MEASURE_NAMES[name])
    axis.set_xticks(range(len(result.findings)), [finding.example.name for finding in result.findings], rotation=30)
    axis.set_xlabel("figure")
    axis.set_ylabel("score")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path)
