"""The examples of figures 14 to 23 of Amigo et al. (2009): extended BCubed next to the statements of the paper."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from torchclusteval.common.figures import SAFE_COLOURS, new_figure, save_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.overlap import Memberships, evaluate_overlapping, multiplicity_precision, multiplicity_recall
from torchclusteval.studies.common import Row

SCORES = {
    "extended_bcubed_precision": "P",
    "extended_bcubed_recall": "R",
    "extended_bcubed_f": "F",
    "overlap_purity": "purity",
    "overlap_inverse_purity": "inverse",
    "overlap_set_f": "set_f",
}
MEASURE_NAMES = {**SCORES, "multiplicity_precision": "MP(1,2)", "multiplicity_recall": "MR(1,2)"}


class Example(NamedTuple):
    """A figure: the classes and the clusters of each item, as words with one letter for each group.

    A condition states that a measure is 1, below its value in another figure, or below another measure.
    """

    name: str
    meaning: str
    classes: str
    clusters: str
    conditions: list[str]


_FIGURES = """
14: one cluster for a two-level gold standard: purity sees nothing
    gb gb gw | A A A | purity = 1, inverse = 1, R < 14 correct
14 correct: the two-level gold standard itself
    gb gb gw | AB AB AC | P = 1, R = 1, purity = 1, inverse = 1
15 case 1: two classes and two clusters shared
    bg bg | AB AB | MP(1,2) = 1, MR(1,2) = 1
15 case 2: two classes but one cluster shared
    bg bg | A A | MP(1,2) = 1, MR(1,2) < 15 case 1
15 case 3: two classes but three clusters shared
    bg bg | ABC ABC | MP(1,2) < 15 case 1, MR(1,2) = 1
16: a correct clustering
    bg bg g b b d d | AB AB A B B C C | P = 1, R = 1
17: a cluster twice
    bg bg g b b d d | ABX ABX AX B B C C | P < 16, R = 1
18: a cluster three times
    bg bg g b b d d | ABXY ABXY AXY B B C C | P < 17, R = 1
19: items of two classes in one cluster only
    bg bg g b b d d | A A A B B C C | R < 16
20: a correct cluster split
    bg bg g b b d d | AB AB A D D C C | R < 16
21: two correct clusters merged
    bg bg g b b d d | A A A A A C C | P < 16, R < 16
22: the cheat: one cluster of everything, and every item again alone
    a a a b b b c c c d d d | *A *B *C *D *E *F *G *H *I *J *K *L | inverse = 1, R = 1, P < purity
23: different groups with a maximal score: three occurrences of each item
    sxy sxz syz | KLa KLb KLc | P = 1, R = 1, purity = 1, inverse = 1
23 set F: the same with four occurrences, where the set F is maximal too
    stxy stzw stuv | KaMN KbMO KcNO | P = 1, R = 1, purity = 1, inverse = 1, set_f = 1
"""


def _examples() -> Iterator[Example]:
    lines = _FIGURES.strip().splitlines()
    for head, body in zip(lines[::2], lines[1::2], strict=True):
        classes, clusters, conditions = body.strip().split(" | ")
        name, _, meaning = head.partition(": ")
        yield Example(name, meaning, classes, clusters, conditions.split(", "))


EXAMPLES = tuple(_examples())


@dataclass(frozen=True)
class Finding:
    """The values of an example, and which of its conditions hold."""

    example: Example
    values: Mapping[str, float]
    holds: Mapping[str, bool]


@on_one_thread
def run() -> list[Finding]:
    """Score the examples of figures 14 to 23, in the order of the paper.

    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6; the groupings of figures 16 to 21 follow the
    text, and figure 23 has two forms, as three occurrences of each item cannot meet all its claims.
    """
    values = {example.name: _values(example) for example in EXAMPLES}
    return [
        Finding(example, values[example.name], {x: holds(x, example.name, values) for x in example.conditions})
        for example in EXAMPLES
    ]


def _values(example: Example) -> dict[str, float]:
    true, pred = (Memberships.from_lists(map(list, side.split())) for side in (example.classes, example.clusters))
    scores = evaluate_overlapping(true, pred, list(SCORES))
    pair = torch.tensor([[0, 1]])
    found = [*scores.values(), multiplicity_precision(true, pred, pair), multiplicity_recall(true, pred, pair)]
    return dict(zip(MEASURE_NAMES, map(float, found), strict=True))


def holds(condition: str, figure: str, values: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether a condition on a figure holds, given the values of all figures."""
    label, relation, bound = condition.split(" ", 2)
    long = {short: name for name, short in MEASURE_NAMES.items()}
    value = values[figure][long[label]]
    if relation == "=":
        return value == 1.0
    return value < (values[figure][long[bound]] if bound in long else values[bound][long[label]])


def rows(result: list[Finding]) -> list[Row]:
    return [
        {
            "figure": finding.example.name,
            "meaning": finding.example.meaning,
            **finding.values,
            "claims": "; ".join(finding.holds),
            "holds": all(finding.holds.values()),
        }
        for finding in result
    ]


def report(result: list[Finding]) -> str:
    body = [
        [x.example.name, *(f"{x.values[name]:.4f}" for name in MEASURE_NAMES), "yes" if all(x.holds.values()) else "NO"]
        for x in result
    ]
    table = text_table(["figure", *MEASURE_NAMES.values(), "as stated"], body)
    lines = ["Amigo et al. (2009), figures 14 to 23", "", table, ""]
    for finding in result:
        lines.append(f"{finding.example.name}: {finding.example.meaning}")
        lines.extend(f"    {'holds' if held else 'FAILS'}: {text}" for text, held in finding.holds.items())
    return "\n".join(lines)


def plot(result: list[Finding], path: str | Path) -> None:
    figure = new_figure(13, 5, "Amigo et al. (2009), figures 14 to 23: P, R, F are extended BCubed")
    axis = figure.subplots()
    axis.set_prop_cycle(color=SAFE_COLOURS)
    width = 0.8 / len(SCORES)
    for i, (name, label) in enumerate(SCORES.items()):
        places = [at + (i - (len(SCORES) - 1) / 2) * width for at in range(len(result))]
        axis.bar(places, [finding.values[name] for finding in result], width, label=label)
    axis.set_xticks(range(len(result)), [finding.example.name for finding in result], rotation=30)
    axis.set(xlabel="figure", ylabel="score")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    save_figure(figure, path)
