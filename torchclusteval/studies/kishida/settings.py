"""The document study: its configurations, its readings of the paper, and the records of a run.

The text of the paper does not determine its program: no reading of it comes near the printed tables, so a reading is a
:class:`Settings`, and four of them have names in ``PRESETS``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor

from torchclusteval.studies.common import mean, standard_error
from torchclusteval.studies.kishida import paper
from torchclusteval.studies.kishida.documents import DocumentModel
from torchclusteval.studies.kishida.kmeans import Criterion
from torchclusteval.studies.runner import Run

CLASS_SIZES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"balanced": (10,) * 10, "biased": (50, 20, 5, 5, 5, 3, 3, 3, 3, 3)}
)
MEASURES = tuple(paper.MEASURE_NAMES)
ENTROPIES = ("entropy_classes", "entropy_clusters", "joint_entropy", "mutual_information")
COLUMNS = (*MEASURES, *ENTROPIES, "converged")


class Configuration(NamedTuple):
    """One cell of the study."""

    distribution: str
    error: float
    n_clusters: int


@dataclass(frozen=True)
class Settings:
    """A reading of the paper and the configurations to run; the defaults are its text to the letter."""

    documents: DocumentModel = field(default_factory=DocumentModel)
    criterion: Criterion = "density"
    """What a move of k-means must improve, see :func:`~torchclusteval.studies.kishida.kmeans.spherical_kmeans`."""
    max_passes: int = 30
    """Most passes of k-means; ``"density"`` converges within a dozen, ``"cosine"`` never does in some sets."""
    distributions: tuple[str, ...] = ("balanced", "biased")
    errors: tuple[float, ...] = paper.ERRORS
    cluster_numbers: tuple[int, ...] = (3, 5, 10, 15, 20, 30, 40)

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        return tuple(
            Configuration(distribution, float(error), n_clusters)
            for distribution in self.distributions
            for error in self.errors
            for n_clusters in self.cluster_numbers
        )


class Preset(NamedTuple):
    """A named reading of the paper."""

    settings: Settings
    meaning: str


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "text": Preset(Settings(), "the text of the paper to the letter"),
        "unclipped": Preset(
            Settings(DocumentModel(floor_first=False, clip_first=False, floor_last=False)),
            "frequencies are neither rounded nor cut at 0 before the error, and only cut at 0 after it",
        ),
        "unclipped_cosine": Preset(
            Settings(DocumentModel(floor_first=False, clip_first=False, floor_last=False), criterion="cosine"),
            "as unclipped, and k-means compares cosines: the appendix speaks of changing the Euclidean distance "
            "to the cosine measure, but prints the formulas of the density. Nearer to the printed tables than "
            "unclipped, and not free of them: a search against the tables brought the cosines up",
        ),
        "fitted": Preset(
            Settings(DocumentModel(error="squared"), criterion="cosine"),
            "a fit: the square of the error is added and k-means compares cosines, found by a search against "
            "the printed tables; it says nothing about what the paper's program did",
        ),
    }
)


@dataclass(frozen=True, eq=False)
class Result:
    """The run of a reading; columns of its records as in COLUMNS."""

    name: str
    """Name of the preset with this reading, or ``"custom"``."""
    settings: Settings
    seed: int
    run: Run

    @property
    def iterations(self) -> int:
        return self.run.records.shape[1]

    def has(self, *cells: Configuration) -> bool:
        """Whether these configurations were run."""
        return set(cells) <= set(self.settings.configurations)

    def values(self, cell: Configuration, column: str) -> Tensor:
        """The ``(iterations,)`` values of a column in one configuration."""
        return self.run.records[self.settings.configurations.index(cell), :, COLUMNS.index(column)]

    def mean(self, cell: Configuration, column: str) -> float:
        """Average over the sets; nan if the configuration was not run."""
        return mean(self.values(cell, column)) if self.has(cell) else math.nan

    def standard_error(self, cell: Configuration, column: str) -> float:
        """Standard error of :meth:`mean`; nan for a single set."""
        return standard_error(self.values(cell, column)) if self.has(cell) else math.nan
