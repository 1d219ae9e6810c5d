"""Desirable properties P1 to P7: does a measure follow the parameters of the generator as it should?

Each property says how a measure must move when one parameter of :mod:`~torchclusteval.meta.generator` grows and
the others stay. A rate is the share of the comparisons in which the measure does.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief, format_number
from torchclusteval.common.results import ByName
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import find_measure
from torchclusteval.meta.generator import Grid, GridPoint, Reading, grid_tables, resolve_reading
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

Better = Literal["higher", "lower"]
MeasureArgument = Measure | str | Callable[[ContingencyTables], Tensor]


def as_measure(measure: MeasureArgument, better: Better | None) -> Measure:
    """The record of a measure, with the direction ``better`` if that is given; ``"higher"`` for a bare callable."""
    if better not in (None, "higher", "lower"):
        raise ValueError(f"better: expected 'higher' or 'lower'; got {brief(better)}")
    if isinstance(measure, str):
        measure = find_measure(measure)
    if not isinstance(measure, Measure):
        if not callable(measure):
            raise ValueError(f"measure: expected a name, a Measure or a callable; got {type(measure).__name__}")
        name = getattr(measure, "__name__", type(measure).__name__).strip("<>")  # <lambda>
        return Measure(
            name=name, family="entropy", function=measure, range=(-math.inf, math.inf), better=better or "higher"
        )
    if better is None and measure.better is None:
        raise ValueError(f"better: expected 'higher' or 'lower', as {measure.name!r} has no direction; got None")
    return measure if better is None else replace(measure, better=better)


def exceeds(a: Tensor, b: Tensor, tolerance: float) -> Tensor:
    """Whether ``a`` exceeds ``b`` by more than the absolute and relative tolerance; False for nan."""
    return (a > b) & ~torch.isclose(a, b, rtol=tolerance, atol=tolerance)


_TOLERANCE = 1e-10  # absolute and relative: smaller differences are rounding


@dataclass(frozen=True)
class Property:
    """How quality must move as one parameter grows."""

    name: str
    statement: str
    parameter: str  # the parameter that grows
    rises: bool = False  # whether quality must rise with it; else it must fall
    equality_allowed_at: tuple[str, float] | None = None
    """(parameter, value) at which equality is allowed; everywhere if ``Reading.equality`` says so; None: never."""
    positive: str | None = None  # another parameter, which must not be 0
    clusters: Literal["few", "many"] | None = None
    """Whether the property is about at most, or at least, as many useful clusters as useful classes."""
    noise: str | None = None  # the parameter of the noise groups that the property is about, see ``Reading.first_step``


PROPERTIES: tuple[Property, ...] = (
    Property("P1", "rises with the useful clusters, up to the classes", "useful_clusters", rises=True, clusters="few"),
    Property("P2", "falls with the useful clusters, from the classes on", "useful_clusters", clusters="many"),
    Property("P3", "falls with the noise clusters", "noise_clusters", positive="eps2", noise="noise_clusters"),
    Property("P4", "does not rise with eps1", "eps1", equality_allowed_at=("useful_clusters", 1)),
    Property(
        "P5", "does not rise with eps2", "eps2", noise="noise_clusters", equality_allowed_at=("noise_clusters", 0)
    ),
    Property("P6", "falls with the noise classes", "noise_classes", positive="eps3", noise="noise_classes"),
    Property("P7", "does not rise with eps3", "eps3", noise="noise_classes", equality_allowed_at=("noise_classes", 0)),
)


@dataclass(frozen=True)
class Violation:
    """A comparison in which a measure does not move as it should."""

    before: GridPoint
    after: GridPoint
    value_before: float
    value_after: float


@dataclass(frozen=True, eq=False)
class PropertyRates(ByName[float]):
    """For the name of each property the share of the comparisons that satisfy it."""

    _field = "rates"

    measure: str
    reading: Reading
    rates: Mapping[str, float]
    comparisons: Mapping[str, int]
    violations: Mapping[str, Violation | None]  # the first comparison that fails the property; None if none does

    @property
    def satisfied(self) -> dict[str, bool]:
        """Whether each property holds in every comparison."""
        return {name: violation is None for name, violation in self.violations.items()}

    def __str__(self) -> str:
        lines = [f"Properties of {self.measure}"]
        for prop in PROPERTIES:
            failed = self.violations[prop.name]
            example = "" if failed is None else f"; first failure: {_violation_text(failed, prop)}"
            lines.append(f"{prop.name} {self.rates[prop.name]:.2f}  {prop.statement}{example}")
        return "\n".join(lines)


@on_one_thread
def check_properties(
    measure: MeasureArgument,
    better: Better | None = None,
    *,
    reading: Reading | str = "closest",
    grid: Grid | None = None,
    device: torch.device | str = "cpu",
) -> PropertyRates:
    """How often a measure satisfies each of the properties P1 to P7 over the parametric generator.

    Args:
        measure: a ``Measure``, a name, or a callable of tables that gives ``(*batch,)`` values.
        better: ``"higher"`` or ``"lower"``; by default the measure's own direction, ``"higher"`` for a callable.
        reading: interpretation of the generator and of the comparisons: ``"closest"`` (to the printed rates),
            ``"text"`` or a ``torchclusteval.meta.generator.Reading``.
        grid: values of the parameters, a ``torchclusteval.meta.generator.Grid``; by default the 31,360 points of the
            paper.
        device: device of the tables.

    Returns:
        A mapping from ``"P1"`` ... ``"P7"`` to rates between 0 and 1 (nan where a grid has no comparison), with
        the first failures.

    Raises:
        ValueError: the measure has no direction, or needs whole items where the reading has real-valued cells.

    Source: Rosenberg and Hirschberg (2007), section 4; P1 to P5 after Dom (2001).

    >>> tce.meta.check_properties("purity").satisfied["P1"]
    True
    """
    chosen = as_measure(measure, better)
    reading, grid = resolve_reading(reading), Grid() if grid is None else grid
    values = values_on(grid_tables(grid, reading, device=device), [chosen])[chosen.name]
    return property_rates(chosen, values, grid, reading)


def values_on(tables: ContingencyTables, measures: Sequence[Measure]) -> dict[str, Tensor]:
    """Values of measures on the tables of a grid, ``grid.shape`` each."""
    for measure in measures:
        if measure.integer_only and not tables.is_integer:
            raise ValueError(
                f"measure: expected a measure of real-valued tables, as the generator makes them; "
                f"got {measure.name!r}, which needs whole items"
            )
    with warnings.catch_warnings():  # readings with few items have masses below one in their cells
        warnings.filterwarnings("ignore", message="tables: pair measures read masses as items")
        scores = evaluate_tables(tables, measures)
    return {measure.name: scores[measure.name] for measure in measures}


def property_rates(measure: Measure, values: Tensor, grid: Grid, reading: Reading) -> PropertyRates:
    """Rates from the values ``grid.shape`` of a measure on the tables of the grid."""
    quality = values if measure.better == "higher" else -values
    rates, comparisons = dict[str, float](), dict[str, int]()
    violations = dict[str, Violation | None]()
    for prop in PROPERTIES:
        axis, pairs = list(grid.axes).index(prop.parameter), _steps(prop, grid, reading)
        steps = torch.tensor(pairs, dtype=torch.int64, device=values.device).reshape(-1, 2)
        before, after = (quality.index_select(axis, side) for side in steps.T)
        rises, falls = exceeds(after, before, _TOLERANCE), exceeds(before, after, _TOLERANCE)
        equal = ~rises & ~falls & ~after.isnan() & ~before.isnan()
        if prop.equality_allowed_at is None:
            equal[:] = False
        elif reading.equality == "where_stated":
            equal &= _along(grid, *prop.equality_allowed_at, device=values.device)
        holds, counted = (rises if prop.rises else falls) | equal, torch.ones_like(equal)
        for name in (prop.positive, None if reading.first_step else prop.noise):
            if name not in (None, prop.parameter):
                counted &= ~_along(grid, name, 0, device=values.device)
        rates[prop.name] = float(holds[counted].double().mean())
        comparisons[prop.name] = int(counted.sum())
        violations[prop.name] = None
        for failed in (counted & ~holds).nonzero()[:1].tolist():
            one, two = ((*failed[:axis], at, *failed[axis + 1 :]) for at in pairs[failed[axis]])
            violations[prop.name] = Violation(grid.point(one), grid.point(two), float(values[one]), float(values[two]))
    return PropertyRates(measure.name, reading, rates, comparisons, violations)


def _steps(prop: Property, grid: Grid, reading: Reading) -> list[tuple[int, int]]:
    """Positions of the values of the parameter that are compared."""
    least = grid.useful_classes if prop.clusters == "many" else -math.inf
    most = grid.useful_classes if prop.clusters == "few" else math.inf
    positive = prop.noise == prop.parameter and not reading.first_step
    steps = [i for i, x in enumerate(grid.axes[prop.parameter]) if least <= x <= most and not (positive and x == 0)]
    return list(combinations(steps, 2) if reading.pairs == "all" else pairwise(steps))


def _along(grid: Grid, name: str, value: float, device: torch.device) -> Tensor:
    """Where a parameter has a value, of a shape that broadcasts over the grid."""
    axis = list(grid.axes).index(name)
    equal = torch.tensor([x == value for x in grid.axes[name]], device=device)
    return equal[(..., *[None] * (len(grid.axes) - 1 - axis))]


def _violation_text(failed: Violation, prop: Property) -> str:
    at = ", ".join(f"{name} {value:g}" for name, value in failed.before._asdict().items() if name != prop.parameter)
    steps = [getattr(side, prop.parameter) for side in (failed.before, failed.after)]
    return (
        f"{prop.parameter} {steps[0]:g} to {steps[1]:g} moves it from {format_number(failed.value_before)} "
        f"to {format_number(failed.value_after)} ({at})"
    )
