"""Parametric tables: a clustering of known faults from a few parameters, a grid of them as one tensor.

Useful classes and useful clusters are matched; noise classes are spread evenly over the useful clusters, noise
clusters are filled evenly from the useful classes. Each point left open by the description of the experiment is a
field of :class:`Reading`.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_choice, check_number, is_number
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.inputs import as_numbers, resolve_device
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True)
class Reading:
    """A reading of the experiment; the defaults come closest to the printed rates."""

    mass_per: Literal["match", "class"] = "class"
    """How the matched mass is divided where clusters outnumber classes: over the matches, or over the classes first."""
    unused_mass: Literal["matches", "lost"] = "matches"
    """Error mass without cells, such as eps2 without noise clusters: it stays in the matches, or is lost."""
    first_step: bool = True
    """Whether properties of noise clusters (classes) also compare points without noise clusters (classes)."""
    pairs: Literal["consecutive", "all"] = "consecutive"
    """Which values of a parameter are compared: each with the next, or all pairs."""
    equality: Literal["anywhere", "where_stated"] = "anywhere"
    """P4, P5 and P7: whether equal values always satisfy them, or only without the groups that receive the mass."""
    n: float = 1000.0
    """Items in a table; the paper gives no number. Entropies do not depend on it, pair measures and Q0 do."""

    def __post_init__(self) -> None:
        check_choice(self.mass_per, "mass_per", ("match", "class"))
        check_choice(self.unused_mass, "unused_mass", ("matches", "lost"))
        check_choice(self.pairs, "pairs", ("consecutive", "all"))
        check_choice(self.equality, "equality", ("anywhere", "where_stated"))
        check_bools(first_step=self.first_step)
        check_number(self.n, "n", 0, sys.float_info.max, exclusive=True)


READINGS: Mapping[str, Reading] = {
    "closest": Reading(),  # of the readings that were compared with the printed rates
    "text": Reading(mass_per="match", unused_mass="lost", first_step=False, equality="where_stated"),
}


def resolve_reading(reading: Reading | str) -> Reading:
    """A reading, or the reading of a name."""
    if isinstance(reading, Reading):
        return reading
    if not isinstance(reading, str) or reading not in READINGS:
        raise ValueError(f"reading: expected a Reading or one of {tuple(READINGS)}; got {brief(reading)}")
    return READINGS[reading]


class GridPoint(NamedTuple):
    """The parameters of one table; also the axes of a grid, in this order."""

    useful_clusters: int
    noise_clusters: int
    noise_classes: int
    eps1: float  # mass in useful class, useful cluster pairs that are not matched
    eps2: float  # mass in noise clusters
    eps3: float  # mass in noise classes


@dataclass(frozen=True)
class Grid:
    """Rising values of every parameter; the defaults are the 31,360 settings of Rosenberg and Hirschberg (2007)."""

    useful_clusters: tuple[int, ...] = tuple(range(2, 12))
    noise_clusters: tuple[int, ...] = tuple(range(7))
    noise_classes: tuple[int, ...] = tuple(range(7))
    eps1: tuple[float, ...] = (0.0, 0.033, 0.066, 0.1)
    eps2: tuple[float, ...] = (0.0, 0.066, 0.133, 0.2)
    eps3: tuple[float, ...] = (0.0, 0.066, 0.133, 0.2)
    useful_classes: int = 5

    def __post_init__(self) -> None:
        for name, values in self.axes.items():
            if not values or any(a >= b for a, b in pairwise(values)):
                raise ValueError(f"{name}: expected rising values, at least one; got {brief(values)}")

    @property
    def axes(self) -> dict[str, tuple[float, ...]]:
        return {name: getattr(self, name) for name in GridPoint._fields}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.axes.values()))

    def point(self, position: tuple[int, ...]) -> GridPoint:
        """The parameters at a position of the grid."""
        return GridPoint(*(values[i] for values, i in zip(self.axes.values(), position, strict=True)))  # type: ignore[arg-type]


@on_one_thread
def grid_tables(
    grid: Grid | None = None, reading: Reading | str = "closest", *, device: torch.device | str = "cpu"
) -> ContingencyTables:
    """The tables of a grid.

    Args:
        grid: the values of the parameters; by default those of the paper.
        reading: a :class:`Reading` or a name in ``READINGS``.
        device: device of the tables.

    Returns:
        Tables with ``batch_shape`` ``grid.shape``, one dimension a parameter.

    >>> tables = tce.meta.grid_tables()
    >>> tables.batch_shape
    torch.Size([10, 7, 7, 4, 4, 4])
    """
    if grid is not None and not isinstance(grid, Grid):
        raise ValueError(f"grid: expected a Grid; got {type(grid).__name__}")
    grid, device = grid or Grid(), resolve_device(device, {})
    axes = [
        torch.tensor(values, dtype=torch.float64 if name.startswith("eps") else None, device=device)
        for name, values in grid.axes.items()
    ]
    last = len(axes) - 1
    clusters, noise_clusters, noise_classes, *eps = (x[(..., *[None] * (last - i))] for i, x in enumerate(axes))
    classes = torch.tensor(grid.useful_classes, device=device)
    return parametric_tables(classes, clusters, noise_classes, noise_clusters, *eps, reading=reading)


@on_one_thread
def parametric_tables(
    useful_classes: Tensor | int,
    useful_clusters: Tensor | int,
    noise_classes: Tensor | int,
    noise_clusters: Tensor | int,
    eps1: Tensor | float,
    eps2: Tensor | float,
    eps3: Tensor | float,
    *,
    reading: Reading | str = "closest",
) -> ContingencyTables:
    """Tables from parameters that broadcast to ``(*batch,)``.

    Classes and clusters are matched so that each has a partner and partners are spread evenly. With
    ``eps = eps1 + eps2 + eps3``, the matches share a mass of ``1 - eps``, the other pairs of useful groups
    ``eps1``, the pairs of a useful class and a noise cluster ``eps2``, those of a noise class and a useful
    cluster ``eps3``; noise classes and noise clusters do not meet.

    Args:
        useful_classes: useful classes, at least 1 (noise classes are not among them).
        useful_clusters: useful clusters, at least 1 (noise clusters are not among them).
        noise_classes: noise classes, at least 0.
        noise_clusters: noise clusters, at least 0.
        eps1: mass of the unmatched pairs of useful groups.
        eps2: mass of the noise clusters.
        eps3: mass of the noise classes; ``eps1 + eps2 + eps3`` is at most 1.
        reading: a :class:`Reading` or a name in ``READINGS``.

    Returns:
        Tables ``(*batch, R, C)``: useful groups first, each side padded to its largest numbers in the batch.

    Raises:
        ValueError: a number of groups is too small, a mass is negative or too large, or tensors are on two devices.

    Source: Rosenberg and Hirschberg (2007), section 4, after Dom (2001).

    >>> tce.meta.parametric_tables(2, 2, 0, 1, eps1=0.0, eps2=0.1, eps3=0.0).counts.tolist()
    [[450.0, 0.0, 50.0], [0.0, 450.0, 50.0]]
    """
    reading = resolve_reading(reading)
    useful = {"useful_classes": useful_classes, "useful_clusters": useful_clusters}
    noise = {"noise_classes": noise_classes, "noise_clusters": noise_clusters}
    eps = {"eps1": eps1, "eps2": eps2, "eps3": eps3}
    device = resolve_device(None, {**useful, **noise, **eps})
    rows, columns = (
        _Groups(_check_groups(useful[x], 1, x, device), _check_groups(noise[y], 0, y, device))
        for x, y in zip(useful, noise, strict=True)
    )
    masses = [_as_tensor(value, name, device).double() for name, value in eps.items()]
    for (name, value), mass in zip(eps.items(), masses, strict=True):
        if not bool((mass >= 0).all()):
            raise ValueError(f"{name}: expected a mass of at least 0; got {brief(value)}")
    if bool((masses[0] + masses[1] + masses[2] > 1 + 1e-12).any()):
        raise ValueError("eps1, eps2, eps3: expected a sum of at most 1; got more")
    shares = _cell_shares(rows, columns, [x[..., None, None] for x in masses], reading)
    return ContingencyTables(shares * reading.n, validate=False)


class _Groups:
    """Numbers of useful and noise groups of one side, ``(*batch, 1, 1)``, and their positions in padded tables."""

    def __init__(self, useful: Tensor, noise: Tensor) -> None:
        self.useful, self.noise = useful[..., None, None], noise[..., None, None]
        max_useful, max_noise = int(useful.max()), int(noise.max())
        self.position = torch.arange(max_useful + max_noise, device=useful.device)
        self.is_useful = self.position < self.useful  # (*batch, 1, groups)
        self.is_noise = (self.position >= max_useful) & (self.position < max_useful + self.noise)


def _cell_shares(rows: _Groups, columns: _Groups, eps: list[Tensor], reading: Reading) -> Tensor:
    """Share of the items in each cell, ``(*batch, R, C)`` float64."""
    i, j = rows.position[:, None], columns.position
    useful_row, noise_row = rows.is_useful.mT, rows.is_noise.mT
    # Every class has one match where classes outnumber clusters, else every cluster has one.
    if_more_classes = i * columns.useful // rows.useful == j
    if_more_clusters = j % rows.useful == i
    useful = useful_row & columns.is_useful
    matched = useful & torch.where(rows.useful > columns.useful, if_more_classes, if_more_clusters)
    error_cells = (useful & ~matched, useful_row & columns.is_noise, noise_row & columns.is_useful)
    errors = [_spread(cells, mass) for cells, mass in zip(error_cells, eps, strict=True)]
    matched_mass = 1 - (eps[0] + eps[1] + eps[2])
    if reading.unused_mass == "matches":
        for cells, mass in zip(error_cells, eps, strict=True):
            matched_mass = matched_mass + mass * ~cells.any((-2, -1), keepdim=True)
    if reading.mass_per == "match":
        return _spread(matched, matched_mass) + errors[0] + errors[1] + errors[2]
    matches_of_class = matched.sum(-1, keepdim=True).clamp(min=1)
    return matched * (matched_mass / rows.useful / matches_of_class) + errors[0] + errors[1] + errors[2]


def _spread(cells: Tensor, mass: Tensor) -> Tensor:
    """A mass in equal parts over the cells that are true; 0 if there are none."""
    return cells * (mass / cells.sum((-2, -1), keepdim=True).clamp(min=1))


def _as_tensor(value: Any, name: str, device: torch.device) -> Tensor:
    return as_numbers(np.asarray(value) if is_number(value) else value, name).to(device)


def _check_groups(value: Tensor | int, least: int, name: str, device: torch.device) -> Tensor:
    number = _as_tensor(value, name, device)
    if number.is_floating_point() or bool((number < least).any()):
        raise ValueError(f"{name}: expected whole numbers of at least {least}; got {brief(value)}")
    return number.long()
