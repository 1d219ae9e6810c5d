"""Desirable properties P1 to P7: does a measure follow the parameters of the generator as it should?

Each property says how a measure must move when one parameter of :mod:`~torchclusteval.meta.generator` grows and
the others stay. A rate is the share of the comparisons in which it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import torch
from torch import Tensor

from torchclusteval.common.formatting import format_number
from torchclusteval.measures.record import Measure
from torchclusteval.meta.generator import Grid, Reading, Setting, grid_tables, resolve_reading
from torchclusteval.meta.measure_argument import Better, Subject, as_measure, exceeds
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

__all__ = ["PROPERTIES", "Property", "PropertyRates", "Violation", "check_properties", "property_rates", "values_on"]

# Differences within this share of the values, or this much in all, are rounding.
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Property:
    """How quality must move as one parameter grows."""

    name: str
    statement: str
    parameter: str
    """The parameter that grows."""
    rises: bool = False
    """Whether quality must rise with it; else it must fall."""
    still_at: tuple[str, float] | None = None
    """The property allows equality; as stated only at this value of this parameter, see ``Reading.equality``."""
    where: str | None = None
    """Another parameter, which must not be 0."""
    side: str | None = None
    """``"few"`` or ``"many"``: the part of the useful clusters that is meant, up to or from the useful classes."""
    noise: str | None = None
    """The noise groups that the property is about, see ``Reading.first_step``."""


PROPERTIES: tuple[Property, ...] = (
    Property("P1", "rises with the useful clusters, up to the classes", "useful_clusters", rises=True, side="few"),
    Property("P2", "falls with the useful clusters, from the classes on", "useful_clusters", side="many"),
    Property("P3", "falls with the noise clusters", "noise_clusters", where="eps2", noise="noise_clusters"),
    Property("P4", "does not rise with eps1", "eps1", still_at=("useful_clusters", 1)),
    Property("P5", "does not rise with eps2", "eps2", noise="noise_clusters", still_at=("noise_clusters", 0)),
    Property("P6", "falls with the noise classes", "noise_classes", where="eps3", noise="noise_classes"),
    Property("P7", "does not rise with eps3", "eps3", noise="noise_classes", still_at=("noise_classes", 0)),
)


@dataclass(frozen=True)
class Violation:
    """A comparison in which a measure does not move as it should."""

    before: Setting
    after: Setting
    value_before: float
    value_after: float


@dataclass(frozen=True, eq=False)
class PropertyRates(Mapping[str, float]):
    """Name of each property -> the share of the comparisons that satisfy it."""

    measure: str
    reading: Reading
    rates: Mapping[str, float]
    comparisons: Mapping[str, int]
    violations: Mapping[str, Violation | None]
    """The first comparison that fails, None where none does."""

    def __getitem__(self, name: str) -> float:
        return self.rates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rates)

    def __len__(self) -> int:
        return len(self.rates)

    @property
    def satisfied(self) -> dict[str, bool]:
        """Whether each property holds in every comparison."""
        return {name: violation is None for name, violation in self.violations.items()}

    def __str__(self) -> str:
        lines = [f"Properties of {self.measure}"]
        for prop in PROPERTIES:
            failed = self.violations[prop.name]
            example = "" if failed is None else f"; first failure: {_say(failed, prop)}"
            lines.append(f"{prop.name} {self.rates[prop.name]:.2f}  {prop.statement}{example}")
        return "\n".join(lines)


def check_properties(
    measure: Subject,
    better: Better | None = None,
    *,
    reading: Reading | str = "closest",
    grid: Grid | None = None,
    device: torch.device | str = "cpu",
) -> PropertyRates:
    """Say how often a measure satisfies each of the properties P1 to P7 over the parametric generator.

    Args:
        measure: a ``Measure``, a name, or a callable of tables that gives ``(*batch,)`` values.
        better: ``"higher"`` or ``"lower"``; by default the measure's own direction, ``"higher"`` for a callable.
        reading: how the generator and the comparisons are read: a ``Reading`` or ``"closest"`` (to the printed
            rates) or ``"text"``.
        grid: values of the parameters; by default the 31,360 settings of the paper.
        device: where to compute.

    Returns:
        A mapping of ``"P1"`` to ``"P7"`` to rates between 0 and 1 (nan where a grid has no comparison), with
        the first failures.

    Raises:
        ValueError: the measure has no direction, or needs whole items where the reading has real-valued cells.

    Source: Rosenberg and Hirschberg (2007), section 4; P1 to P5 after Dom (2001).
    """
    chosen = as_measure(measure, better)
    reading, grid = resolve_reading(reading), grid or Grid()
    values = values_on(grid_tables(grid, reading, device=device), [chosen])[chosen.name]
    return property_rates(chosen, values, grid, reading)


def values_on(tables: ContingencyTables, measures: Sequence[Measure]) -> dict[str, Tensor]:
    """Values of measures on the tables of a grid, ``grid.shape`` each.

    Raises:
        ValueError: a measure needs whole items and the tables are real-valued.
    """
    for measure in measures:
        if measure.integer_only and not tables.is_integer:
            raise ValueError(
                f"measure: expected one that takes real-valued tables, as those of the generator are; "
                f"got {measure.name!r}, which needs whole items"
            )
    scores = evaluate_tables(tables, measures)
    return {measure.name: scores[measure.name] for measure in measures}


def property_rates(measure: Measure, values: Tensor, grid: Grid, reading: Reading) -> PropertyRates:
    """Rates from the values ``grid.shape`` of a measure on the tables of the grid."""
    quality = values if measure.better == "higher" else -values
    rates, comparisons, violations = {}, {}, {}
    for prop in PROPERTIES:
        before, after = _positions(grid, reading, prop)
        holds = _holds(_take(quality, before), _take(quality, after), prop, _may_stay(grid, reading, before, prop))
        rates[prop.name] = float(holds.double().mean())
        comparisons[prop.name] = holds.numel()
        failures = (~holds).nonzero()
        violations[prop.name] = _violation(values, grid, before, after, failures[0]) if len(failures) else None
    return PropertyRates(measure.name, reading, rates, comparisons, violations)


Positions = list[list[int]]  # for each axis of the grid, the positions that are taken


def _positions(grid: Grid, reading: Reading, prop: Property) -> tuple[Positions, Positions]:
    """Where the two sides of every comparison are; they differ in the property's own parameter only."""
    axes = grid.axes
    taken = {name: list(range(len(values))) for name, values in axes.items()}
    if prop.where is not None:
        taken[prop.where] = [i for i in taken[prop.where] if axes[prop.where][i] > 0]
    if prop.noise is not None and not reading.first_step:
        taken[prop.noise] = [i for i in taken[prop.noise] if axes[prop.noise][i] > 0]
    if prop.side is not None:
        sign = 1 if prop.side == "many" else -1
        taken[prop.parameter] = [
            i for i in taken[prop.parameter] if sign * axes[prop.parameter][i] >= sign * grid.useful_classes
        ]
    steps = taken[prop.parameter]
    pairs = list(combinations(steps, 2) if reading.pairs == "all" else pairwise(steps))
    before = taken | {prop.parameter: [first for first, _ in pairs]}
    after = taken | {prop.parameter: [second for _, second in pairs]}
    return list(before.values()), list(after.values())


def _take(values: Tensor, positions: Positions) -> Tensor:
    for axis, kept in enumerate(positions):
        values = values.index_select(axis, torch.tensor(kept, dtype=torch.int64, device=values.device))
    return values


def _may_stay(grid: Grid, reading: Reading, positions: Positions, prop: Property) -> Tensor:
    """Where quality may stay as it is, a shape that broadcasts over the comparisons."""
    if prop.still_at is None or reading.equality == "anywhere":
        return torch.tensor(prop.still_at is not None)
    name, value = prop.still_at
    axis = list(grid.axes).index(name)
    allowed = torch.tensor([grid.axes[name][i] == value for i in positions[axis]], dtype=torch.bool)
    return allowed[(..., *[None] * (len(positions) - 1 - axis))]


def _holds(before: Tensor, after: Tensor, prop: Property, may_stay: Tensor) -> Tensor:
    """Whether quality moves as the property says; nan never does."""
    rises, falls = exceeds(after, before, _TOLERANCE), exceeds(before, after, _TOLERANCE)
    stays = ~rises & ~falls & ~after.isnan() & ~before.isnan()
    return (rises if prop.rises else falls) | (stays & may_stay.to(stays.device))


def _violation(values: Tensor, grid: Grid, before: Positions, after: Positions, index: Tensor) -> Violation:
    first, second = (tuple(kept[i] for kept, i in zip(side, index.tolist(), strict=True)) for side in (before, after))
    return Violation(grid.setting(first), grid.setting(second), float(values[first]), float(values[second]))


def _say(failed: Violation, prop: Property) -> str:
    at = ", ".join(f"{name} {value:g}" for name, value in failed.before._asdict().items() if name != prop.parameter)
    steps = [getattr(side, prop.parameter) for side in (failed.before, failed.after)]
    return (
        f"{prop.parameter} {steps[0]:g} to {steps[1]:g} moves it from {format_number(failed.value_before)} "
        f"to {format_number(failed.value_after)} ({at})"
    )
