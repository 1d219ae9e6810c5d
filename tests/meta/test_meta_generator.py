"""The parametric generator, against golden tables and a loop that shares nothing with it."""

import json
from fractions import Fraction
from typing import Any

import pytest
import torch

from tests.support import GOLDEN_FOLDER
from torchclusteval.meta import READINGS, grid_tables, parametric_tables
from torchclusteval.meta.generator import Grid, GridPoint, Reading

GOLDEN: dict[str, Any] = json.loads((GOLDEN_FOLDER / "meta.json").read_text())
TEXT = READINGS["text"]


def loop_table(classes: int, point: GridPoint, reading: Reading) -> list[list[float]]:
    """One table by the words of the paper, in fractions, without padding."""
    clusters, noise_clusters, noise_classes = map(int, point[:3])
    eps = [Fraction(str(x)) for x in point[3:]]
    matched = set()
    for step in range(max(classes, clusters)):
        if classes >= clusters:
            matched.add((step, step * clusters // classes))
        else:
            matched.add((step % classes, step))
    places: list[list[tuple[int, int]]] = [[], [], []]
    for i in range(classes + noise_classes):
        for j in range(clusters + noise_clusters):
            if i < classes and j < clusters:
                if (i, j) not in matched:
                    places[0].append((i, j))
            elif i < classes:
                places[1].append((i, j))
            elif j < clusters:
                places[2].append((i, j))
    rest = 1 - sum(eps, Fraction())
    table = [[Fraction(0)] * (clusters + noise_clusters) for _ in range(classes + noise_classes)]
    for place, mass in zip(places, eps, strict=True):
        if not place and reading.unused_mass == "matches":
            rest += mass
        for i, j in place:
            table[i][j] += mass / len(place)
    for i, j in matched:
        share = rest / len(matched)
        if reading.mass_per == "class":
            share = rest / classes / sum(1 for other, _ in matched if other == i)
        table[i][j] += share
    return [[float(cell * Fraction(str(reading.n))) for cell in row] for row in table]


@pytest.mark.slow
@pytest.mark.parametrize("row", GOLDEN["generator"], ids=lambda row: row["id"])
def test_golden_tables(row: dict[str, Any]) -> None:
    parameters = row["params"]
    reading = Reading(mass_per="match", unused_mass="lost", n=parameters["n"])
    tables = parametric_tables(
        parameters["n_useful_classes"],
        parameters["n_useful_clusters"],
        parameters["n_noise_classes"],
        parameters["n_noise_clusters"],
        parameters["eps1"],
        parameters["eps2"],
        parameters["eps3"],
        reading=reading,
    )
    expected = torch.tensor(row["table"], dtype=torch.float64)
    torch.testing.assert_close(tables.counts, expected, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("mass_per", ["match", "class"])
@pytest.mark.parametrize("unused_mass", ["matches", "lost"])
def test_the_grid_is_its_tables_one_by_one(mass_per: str, unused_mass: str) -> None:
    reading = Reading(mass_per=mass_per, unused_mass=unused_mass, n=60.0)  # type: ignore[arg-type]
    grid = Grid()
    tables = grid_tables(grid, reading)
    assert tables.batch_shape == grid.shape
    assert tables.batch_shape.numel() == 31_360

    most = max(grid.useful_clusters)
    for flat in torch.randperm(31_360, generator=torch.Generator().manual_seed(3))[:200].tolist():
        position = tuple(int(x) for x in torch.unravel_index(torch.tensor(flat), grid.shape))
        point = grid.point(position)
        counts = tables.counts[position]
        clusters, noise_clusters, noise_classes = map(int, point[:3])
        kept = [*range(clusters), *range(most, most + noise_clusters)]
        expected = torch.tensor(loop_table(5, point, reading), dtype=torch.float64)
        found = counts[: 5 + noise_classes][:, kept]
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
        assert float(counts.sum()) == pytest.approx(float(expected.sum()), rel=1e-12)  # the padding is empty


def test_mass_is_kept_or_lost() -> None:
    arguments = (5, 5, 0, 0, 0.1, 0.2, 0.2)  # no noise groups: eps2 and eps3 have no place
    kept = parametric_tables(*arguments, reading=Reading(unused_mass="matches"))
    lost = parametric_tables(*arguments, reading=Reading(unused_mass="lost"))
    assert float(kept.n_items) == pytest.approx(1000)
    assert float(lost.n_items) == pytest.approx(600)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 0, 0, 0, 0, 0), "useful_classes"),
        ((5, 5, 0, 1.5, 0, 0, 0), "noise_clusters"),
        ((5, 5, 0, 0, 0, float("nan"), 0), "eps2"),
        ((5, 5, 0, 0, 0.5, 0.5, 0.1), "sum of at most 1"),
    ],
)
def test_wrong_parameters_are_refused(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parametric_tables(*arguments)  # type: ignore[arg-type]


def test_wrong_readings_and_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="mass_per"):
        Reading(mass_per="cluster")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reading: expected"):
        grid_tables(reading="paper")
    with pytest.raises(ValueError, match="eps1: expected rising"):
        Grid(eps1=(0.1, 0.0))
    with pytest.raises(ValueError, match="noise_classes: expected whole numbers"):
        grid_tables(Grid(noise_classes=(0.5, 1)))  # type: ignore[arg-type]
