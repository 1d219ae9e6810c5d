"""Properties P1 to P7 of nine measures over the parametric generator: Table 2 of Rosenberg and Hirschberg (2007).

The paper leaves parts of the experiment open. The report shows one reading next to the printed table, and the range of
all consistent readings: results that hold under each of them, and printed rates that none of them gives.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice
from torchclusteval.common.figures import new_figure, save_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.registry import MEASURES
from torchclusteval.meta.generator import READINGS, Grid, Reading, grid_tables
from torchclusteval.meta.properties import PROPERTIES, PropertyRates, property_rates, values_on
from torchclusteval.studies.common import Row, draw_heat_map

MEASURE_NAMES: Mapping[str, str] = {
    "rand": "Rand",
    "mirkin": "Mirkin",
    "fowlkes_mallows": "FM",
    "hubert_gamma_normalized": "Gamma",
    "jaccard": "Jaccard",
    "clustering_f": "F",
    "q0": "Q0",
    "variation_of_information": "VI",
    "v_measure": "V",
}
ENTROPY_MEASURES = ("q0", "variation_of_information", "v_measure")
PAIR_MEASURES = ("rand", "mirkin", "fowlkes_mallows", "hubert_gamma_normalized", "jaccard")

# Table 2 as printed: one row for each property; columns in the order of MEASURE_NAMES.
PRINTED: Mapping[str, tuple[float, ...]] = {
    "P1": (0.18, 0.22, 1, 1, 1, 1, 1, 1, 1),
    "P2": (1, 1, 0.76, 1, 0.89, 0.98, 1, 1, 1),
    "P3": (0, 0, 0.30, 0.19, 0.21, 0, 1, 1, 1),
    "P4": (1, 1, 1, 1, 1, 1, 1, 1, 1),
    "P5": (0.50, 0.57, 1, 1, 1, 1, 1, 1, 1),
    "P6": (0.20, 0.20, 0.41, 0.26, 0.52, 0.87, 1, 1, 1),
    "P7": (1, 1, 1, 1, 1, 1, 1, 1, 1),
}

_N_ITEMS = (40.0, 1000.0)  # numbers of items in the consistent readings, as the paper gives none
_ROUNDING = 0.005 + 1e-9  # largest error of a number printed with two decimals

PRESETS: Mapping[str, str] = {
    "closest": "the matched mass is shared over the classes, error mass without a place stays in the matches, and "
    "equal values satisfy P4, P5 and P7: closest to the printed rates of the readings that were tried",
    "text": "the text to the letter: the matched mass is shared over the matches, error mass without a place is "
    "lost, and settings without noise groups say nothing about noise",
}
"""Meanings of the readings, by name."""


@dataclass(frozen=True, eq=False)
class Result:
    """Rates of one reading, and the range of rates over all consistent readings."""

    name: str
    rates: Mapping[str, PropertyRates]
    readings: int  # number of consistent readings
    lowest: Mapping[str, Mapping[str, float]]  # measure -> property -> lowest rate over the consistent readings
    highest: Mapping[str, Mapping[str, float]]
    rand_without_errors: tuple[float, ...]
    """Rand index of tables without errors, for useful clusters from 2 to the classes."""

    def beyond(self) -> list[tuple[str, str]]:
        """(Property, measure) of each printed rate outside the range of the consistent readings."""
        return [
            (row["property"], row["measure"])
            for row in rows(self)
            if not row["lowest"] - _ROUNDING <= row["printed"] <= row["highest"] + _ROUNDING
        ]


@on_one_thread
def run(preset: str = "closest", *, device: str | torch.device = "cpu") -> Result:
    """Run the study.

    Source: Rosenberg and Hirschberg (2007), section 4 and Table 2.
    """
    check_choice(preset, "preset", PRESETS)
    grid, measures = Grid(), [MEASURES[name] for name in MEASURE_NAMES]

    @cache
    def values_of(tables: Reading) -> Mapping[str, Tensor]:
        return values_on(grid_tables(grid, tables, device=device), measures)

    def values(reading: Reading) -> Mapping[str, Tensor]:  # shared by readings with different comparisons
        return values_of(Reading(mass_per=reading.mass_per, unused_mass=reading.unused_mass, n=reading.n))

    def rates(reading: Reading) -> dict[str, PropertyRates]:
        found = values(reading)
        return {x.name: property_rates(x, found[x.name], grid, reading) for x in measures}

    every = [rates(reading) for reading in consistent_readings()]
    lowest, highest = (
        {name: {prop: end(found[name][prop] for found in every) for prop in PRINTED} for name in MEASURE_NAMES}
        for end in (min, max)
    )
    chosen = READINGS[preset]
    rand = values(chosen)["rand"][: grid.useful_classes - 1, 0, 0, 0, 0, 0]
    return Result(preset, rates(chosen), len(every), lowest, highest, tuple(rand.tolist()))


def consistent_readings() -> list[Reading]:
    """Readings that compare tables of equal mass; lost error mass rules out first steps, from tables without noise."""
    choices = product(("match", "class"), ("matches", "lost"), (True, False), ("consecutive", "all"))
    readings = [Reading(*choice) for choice in choices if choice[1:3] != ("lost", True)]  # type: ignore[arg-type]
    return [
        replace(reading, equality=equality, n=n)
        for reading in readings
        for equality in ("anywhere", "where_stated")
        for n in _N_ITEMS
    ]


def rows(result: Result) -> list[Row]:
    return [
        {
            "property": prop,
            "measure": name,
            "rate": result.rates[name][prop],
            "printed": value,
            "comparisons": result.rates[name].comparisons[prop],
            "lowest": result.lowest[name][prop],
            "highest": result.highest[name][prop],
        }
        for prop, printed in PRINTED.items()
        for name, value in zip(MEASURE_NAMES, printed, strict=True)
    ]


def report(result: Result) -> str:
    cells = rows(result)
    gaps = [abs(cell["rate"] - cell["printed"]) for cell in cells]
    equal, beyond = sum(gap <= _ROUNDING for gap in gaps), result.beyond()
    by_name = {(cell["property"], cell["measure"]): cell for cell in cells}
    rand = ", ".join(f"{value:.2f}" for value in result.rand_without_errors)
    parts = [
        f"Rosenberg and Hirschberg (2007), Table 2, reading '{result.name}': {PRESETS[result.name]}.",
        *(f"{prop.name}  quality {prop.statement}" for prop in PROPERTIES),
        "",
        "Rates of satisfaction (printed)",
        _table(by_name, lambda cell: f"{cell['rate']:.2f} ({cell['printed']:.2f})"),
        f"{equal} of {len(cells)} as printed; differences sum to {sum(gaps):.2f}",
        "",
        f"Lowest to highest rate over {result.readings} consistent readings, those that compare tables of equal mass",
        _table(by_name, _span),
        "",
        "In every one of them:",
        *(f"  {text}: {'yes' if holds else 'no'}" for text, holds in _claims(result).items()),
        "Not reproduced: none of them gives the printed rate of",
        *(f"  {MEASURE_NAMES[x[1]]} on {x[0]}: {by_name[x]['printed']:.2f}, here {_span(by_name[x])}" for x in beyond),
        f"Without errors the Rand index is {rand} for 2 to 5 useful clusters, so it cannot fail P1 there.",
        "Rand and Mirkin order tables of equal size alike, so printed columns that differ come from tables of",
        "different sizes or from rounding, neither of which the paper describes.",
    ]
    return "\n".join(parts)


def _table(cells: Mapping[tuple[str, str], Row], show: Callable[[Row], str]) -> str:
    body = [[prop, *(show(cells[prop, name]) for name in MEASURE_NAMES)] for prop in PRINTED]
    return text_table(["", *MEASURE_NAMES.values()], body)


def _span(cell: Row) -> str:
    low, high = f"{cell['lowest']:.2f}", f"{cell['highest']:.2f}"
    return low if low == high else f"{low}-{high}"


def _claims(result: Result) -> dict[str, bool]:
    always = all(result.lowest[name][prop] == 1 for name in ENTROPY_MEASURES for prop in PRINTED)
    pairs = all(result.highest[name][prop] < 1 for name in PAIR_MEASURES for prop in ("P3", "P6"))
    return {
        "V, VI and Q0 satisfy P1 to P7 in all comparisons": always,
        "Rand, Mirkin, FM, Gamma and Jaccard fail P3 and P6 somewhere": pairs,
        "F fails P3 somewhere": result.highest["clustering_f"]["P3"] < 1,
    }


def plot(result: Result, path: str | Path) -> None:
    figure = new_figure(12, 4.2, "Rates of satisfaction of P1 to P7, Rosenberg and Hirschberg (2007), Table 2")
    own = [[result.rates[name][prop] for name in MEASURE_NAMES] for prop in PRINTED]
    panels = {f"reading '{result.name}'": own, "as printed": [list(row) for row in PRINTED.values()]}
    for axis, (title, values) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        cells = [[(value, f"{value:.2f}") for value in row] for row in values]
        draw_heat_map(axis, cells, list(PRINTED), list(MEASURE_NAMES.values()), title)
    save_figure(figure, path)
