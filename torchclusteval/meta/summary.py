"""The constraints and properties of many measures side by side, and as the documentation shows them."""

from __future__ import annotations

import torch

from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.meta.constraints import CONSTRAINTS, ConstraintReport, Rest, Verdict, draw_instances, verdict_on
from torchclusteval.meta.generator import Grid, Reading, grid_tables, resolve_reading
from torchclusteval.meta.properties import PROPERTIES, PropertyRates, property_rates, values_on
from torchclusteval.scoring.evaluation import evaluate_tables

__all__ = ["compare_constraints", "compare_properties", "markdown_table"]


def compare_constraints(
    measures: Selection = None,
    *,
    instances: int = 10_000,
    generator: torch.Generator | None = None,
    rest: Rest = "bounded",
) -> dict[str, ConstraintReport]:
    """Reports on the constraints by measure, for all measures with a direction; options as in ``check_constraints``."""
    chosen = _with_direction(measures)
    generator = generator or torch.Generator().manual_seed(0)
    verdicts: dict[str, dict[str, Verdict]] = {measure.name: {} for measure in chosen}
    for constraint in CONSTRAINTS:
        pairs = draw_instances(constraint, instances, generator, rest)
        first, second = (evaluate_tables(side, chosen) for side in pairs)
        for measure in chosen:
            name = measure.name
            verdicts[name][constraint.name] = verdict_on(measure, pairs, first[name], second[name])
    return {name: ConstraintReport(measure=name, instances=instances, verdicts=v) for name, v in verdicts.items()}


def compare_properties(
    measures: Selection = None, *, reading: Reading | str = "closest", grid: Grid | None = None
) -> dict[str, PropertyRates]:
    """Rates of the properties by measure, for all measures with a direction that take real-valued tables."""
    chosen = [measure for measure in _with_direction(measures) if not measure.integer_only]
    reading, grid = resolve_reading(reading), grid or Grid()
    values = values_on(grid_tables(grid, reading), chosen)
    return {measure.name: property_rates(measure, values[measure.name], grid, reading) for measure in chosen}


def markdown_table(measures: Selection = None, *, instances: int = 10_000) -> str:
    """The table of the documentation: which constraints each measure satisfies, and which properties it fails.

    Args:
        measures: as for ``evaluate``; by default the headline measures.
        instances: pairs of clusterings for each constraint.

    Returns:
        Lines of a Markdown table, each with its line break.

    >>> print(tce.meta.markdown_table(["purity"], instances=100), end="")
    | measure | homogeneity | completeness | rag bag | size versus quantity | properties that fail |
    | --- | --- | --- | --- | --- | --- |
    | `purity` | yes | no | no | no | P2, P3, P6 |
    """
    constraints = compare_constraints(measures, instances=instances)
    properties = compare_properties(measures)
    header = ["measure", *(constraint.name.replace("_", " ") for constraint in CONSTRAINTS), "properties that fail"]
    lines = [header, ["---"] * len(header)]
    for name, report in constraints.items():
        answers = ["yes" if holds else "no" for holds in report.satisfied.values()]
        lines.append([f"`{name}`", *answers, _failing(properties.get(name))])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _failing(rates: PropertyRates | None) -> str:
    if rates is None:
        return "not examined (needs whole items)"
    return ", ".join(prop.name for prop in PROPERTIES if not rates.satisfied[prop.name]) or "none"


def _with_direction(measures: Selection) -> list[Measure]:
    return [measure for measure in select(measures) if measure.better is not None]
