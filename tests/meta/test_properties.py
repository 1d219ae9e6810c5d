"""Properties P1 to P7: golden rates, a loop over comparisons, and the study."""

import json
import math
from itertools import combinations, product
from typing import Any

import pytest
import torch

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from torchclusteval.meta import READINGS, check_properties, grid_tables, parametric_tables
from torchclusteval.meta.generator import Grid, Reading
from torchclusteval.studies import properties as study

pytestmark = pytest.mark.slow

GOLDEN: dict[str, Any] = json.loads((GOLDEN_FOLDER / "meta.json").read_text())
SMALL = Grid(
    useful_clusters=(2, 3, 4),
    noise_clusters=(0, 1, 2),
    noise_classes=(0, 1),
    eps1=(0.0, 0.1),
    eps2=(0.0, 0.1, 0.2),
    eps3=(0.0, 0.1),
    useful_classes=3,
)
NEAR = 1e-10


def rand(tables: tce.ContingencyTables) -> torch.Tensor:
    return tce.measures.rand(tables)


def loop_rates(values: torch.Tensor, grid: Grid, reading: Reading) -> dict[str, float]:
    """Rates of a similarity, one comparison at a time, from the statements of the paper."""
    axes = list(grid.axes.values())
    names = list(grid.axes)
    found: dict[str, list[bool]] = {f"P{i}": [] for i in range(1, 8)}
    for position in product(*(range(len(axis)) for axis in axes)):
        here = {name: axes[i][position[i]] for i, name in enumerate(names)}
        for axis, name in enumerate(names):
            start = position[axis]
            ends = range(start + 1, len(axes[axis]))
            for end in ends if reading.pairs == "all" else list(ends)[:1]:
                after = (*position[:axis], end, *position[axis + 1 :])
                step = float(values[after]) - float(values[position])
                there = axes[axis][end]
                noise = here["noise_clusters"] > 0, here["noise_classes"] > 0
                if name == "useful_clusters":
                    if there <= grid.useful_classes:
                        found["P1"].append(step > NEAR)
                    if here[name] >= grid.useful_classes:
                        found["P2"].append(step < -NEAR)
                elif name == "noise_clusters" and here["eps2"] > 0 and (noise[0] or reading.first_step):
                    found["P3"].append(step < -NEAR)
                elif name == "noise_classes" and here["eps3"] > 0 and (noise[1] or reading.first_step):
                    found["P6"].append(step < -NEAR)
                elif name == "eps1":
                    found["P4"].append(step <= NEAR if reading.equality == "anywhere" else step < -NEAR)
                for prop, eps, groups in (("P5", "eps2", noise[0]), ("P7", "eps3", noise[1])):
                    if name == eps and (groups or reading.first_step):
                        ties = reading.equality == "anywhere" or not groups
                        found[prop].append(step <= NEAR if ties else step < -NEAR)
    return {prop: sum(holds) / len(holds) if holds else math.nan for prop, holds in found.items()}


@pytest.mark.parametrize(("name", "row"), list(zip(("closest", "text"), GOLDEN["table2"], strict=True)))
def test_golden_rates(name: str, row: dict[str, Any]) -> None:
    for column, measure in enumerate(row["columns"]):
        rates = check_properties(measure, reading=name)
        for prop, expected in row["rates"].items():
            assert rates[prop] == pytest.approx(expected[column], abs=1e-6), (measure, prop)


@pytest.mark.parametrize("measure", ["v_measure", "variation_of_information", "q0"])
def test_entropy_measures_satisfy_all(measure: str) -> None:
    for reading in READINGS:
        rates = check_properties(measure, reading=reading)
        assert set(rates.values()) == {1.0}
        assert all(rates.satisfied.values())


@pytest.mark.parametrize("measure", ["rand", "mirkin", "fowlkes_mallows", "hubert_gamma_normalized", "jaccard"])
def test_pair_measures_fail_on_noise(measure: str) -> None:
    for reading in READINGS:
        satisfied = check_properties(measure, reading=reading).satisfied
        assert not satisfied["P3"]
        assert not satisfied["P6"]


@pytest.mark.parametrize(
    "reading",
    [
        Reading(),
        READINGS["text"],
        Reading(pairs="all", equality="where_stated"),
        Reading(mass_per="match", pairs="all", first_step=False),
    ],
)
@pytest.mark.parametrize("measure", ["rand", "fowlkes_mallows", "clustering_f"])
def test_rates_are_those_of_a_loop(measure: str, reading: Reading) -> None:
    values = tce.MEASURES[measure](grid_tables(SMALL, reading))
    expected = loop_rates(values, SMALL, reading)
    found = check_properties(measure, reading=reading, grid=SMALL)
    assert dict(found) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_a_number_of_items_of_forty() -> None:
    """Rates at 40 items that another implementation found, cut to two digits."""
    reading = Reading("match", "lost", first_step=False, equality="where_stated", n=40)
    pairs, gamma = (check_properties(x, reading=reading) for x in ("fowlkes_mallows", "hubert_gamma_normalized"))
    found = [rates[prop] for prop in ("P3", "P6") for rates in (pairs, gamma)]
    assert [int(100 * rate) for rate in found] == [35, 19, 38, 17]


def test_violations_are_real() -> None:
    """The points of a failure, made into tables one at a time, fail again."""
    rates = check_properties("rand")
    steps = {"P2": -1, "P3": -1, "P6": -1, "P5": -1, "P7": -1}
    for prop, direction in steps.items():
        violation: Any = rates.violations[prop]
        values = []
        for point in (violation.before, violation.after):
            clusters, noise_clusters, noise_classes, *eps = point
            tables = parametric_tables(5, clusters, noise_classes, noise_clusters, *eps)
            values.append(float(tce.measures.rand(tables)))
        assert values == pytest.approx([violation.value_before, violation.value_after], abs=1e-12)
        assert direction * (values[1] - values[0]) <= NEAR
        assert sum(a != b for a, b in zip(violation.before, violation.after, strict=True)) == 1
    assert rates.violations["P4"] is None
    assert "first failure" in str(rates)


def test_a_constant_and_nan() -> None:
    """A constant satisfies what allows equality; nan satisfies nothing."""
    constant = check_properties(lambda t: torch.ones(t.batch_shape), grid=SMALL)
    assert dict(constant) == {"P1": 0, "P2": 0, "P3": 0, "P4": 1, "P5": 1, "P6": 0, "P7": 1}
    stated = check_properties(lambda t: torch.ones(t.batch_shape), grid=SMALL, reading=Reading(equality="where_stated"))
    assert (stated["P4"], stated["P5"], stated["P7"]) == pytest.approx((0, 1 / 3, 1 / 2))
    missing = check_properties(lambda t: torch.full(t.batch_shape, math.nan), grid=SMALL)
    assert set(missing.values()) == {0.0}


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ami_arithmetic.*whole items"):
        check_properties("ami")
    with pytest.raises(ValueError, match="no direction"):
        check_properties("entropy_clusters")
    with pytest.raises(ValueError, match="better: expected"):
        check_properties("rand", better="up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a tensor of shape"):
        check_properties(lambda t: torch.ones(3))
    with pytest.raises(ValueError, match="grid: expected a Grid; got int"):
        check_properties("rand", grid=5)  # type: ignore[arg-type]


def test_the_printed_table_is_the_golden_copy() -> None:
    for row in GOLDEN["table2"]:
        assert tuple(study.MEASURE_NAMES) == tuple(row["columns"])
        assert {prop: tuple(values) for prop, values in row["paper"].items()} == dict(study.PRINTED)


def test_what_holds_and_what_cannot_be_reproduced() -> None:
    result = study.run("text")
    text = study.report(result)
    assert "43 of 63 as printed" in text
    assert text.count(": yes") == 3
    assert ": no\n" not in text
    assert {("P1", "rand"), ("P1", "mirkin")} <= set(result.beyond())
    assert not {name for _, name in result.beyond()} & set(study.ENTROPY_MEASURES)
    assert result.rand_without_errors[0] == pytest.approx(0.68, abs=1e-3)
    assert result.rand_without_errors[-1] == 1.0
    assert list(result.rand_without_errors) == sorted(result.rand_without_errors)


def test_consistent_readings_compare_tables_of_equal_mass() -> None:
    """Wherever a property compares two tables, they have the same mass."""
    readings = study.consistent_readings()
    assert len(readings) == 48
    assert len(set(readings)) == 48
    for reading in readings:
        mass = grid_tables(SMALL, reading).n_items
        differences = [
            (mass.select(axis, i) - mass.select(axis, j)).abs()
            for axis, size in enumerate(SMALL.shape[:3])
            for i, j in combinations(range(0 if reading.first_step or axis == 0 else 1, size), 2)
        ]
        assert max(float(difference.max()) for difference in differences) < 1e-9
