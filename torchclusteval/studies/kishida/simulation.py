"""The document study: its configurations and readings of the paper, and their simulation.

Random document sets are drawn, clustered and scored. The text of the paper does not determine its program: no reading
of it comes near the printed tables, so a reading is a :class:`Settings`, and four of them have names in ``PRESETS``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice
from torchclusteval.common.threads import on_one_thread, pieces
from torchclusteval.scoring.evaluation import evaluate
from torchclusteval.studies.common import Row, mean, standard_error
from torchclusteval.studies.kishida import paper
from torchclusteval.studies.kishida.documents import DocumentModel, generate_documents, tfidf
from torchclusteval.studies.kishida.kmeans import Criterion, spherical_kmeans
from torchclusteval.studies.runner import Plan, Run, run_plan

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


_SETS_PER_DRAW = 25  # few enough for the drawn arrays to stay in the processor's cache


@on_one_thread
def run(
    preset: str | Settings = "text",
    *,
    iterations: int = 1000,
    seed: int = 0,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype = "float64",
    output: str | Path | None = None,
    progress: bool | None = None,
) -> Result:
    """Run the study.

    Args:
        preset: a name in ``PRESETS``, or other settings.
        iterations: document sets per configuration; the paper has 1000.
        seed: seed of all random numbers.
        device: where sets are drawn, clustered and scored. Devices draw different random numbers.
        dtype: ``"float64"`` or ``"float32"``: precision of tf-idf and cosines. The drawn frequencies are the same.
        output: CSV file of averages and standard errors, with a JSON file beside it; makes the run resumable.
        progress: whether to show a bar; None shows one on a terminal.

    Returns:
        A :class:`Result`; :func:`report`, :func:`rows` and :func:`plot` present it.

    Raises:
        ValueError: for an unknown preset or dtype, and as :func:`~torchclusteval.studies.runner.run_plan` does.

    Source: Kishida (2014), "Empirical comparison of external evaluation measures for document clustering by
    using synthetic data".
    """
    name, settings = _resolve(preset)
    check_choice(str(dtype).removeprefix("torch."), "dtype", ("float64", "float32"))
    precision = torch.float64 if str(dtype).endswith("64") else torch.float32

    def block(values: Mapping[str, Any], n_sets: int, generator: torch.Generator) -> Tensor:
        return _score_sets(settings, Configuration(**values), n_sets, generator, precision)

    plan = Plan(
        study="kishida",
        settings={"preset": name, "dtype": str(precision).removeprefix("torch."), **asdict(settings)},
        configurations=[configuration._asdict() for configuration in settings.configurations],
        columns=COLUMNS,
        block=block,
        in_threads=True,
    )
    done = run_plan(plan, iterations=iterations, seed=seed, device=device, output=output, progress=progress)
    return Result(name, settings, seed, done)


def rows(result: Result) -> list[Row]:
    """One row per configuration and measure: its average over the sets and the standard error of it."""
    return result.run.rows


def _resolve(preset: str | Settings) -> tuple[str, Settings]:
    """Name of the reading and its settings."""
    if isinstance(preset, Settings):
        reading = (preset.documents, preset.criterion)
        known = ((name, row.settings) for name, row in PRESETS.items())
        names = (name for name, row in known if (row.documents, row.criterion) == reading)
        return next(names, "custom"), preset
    check_choice(preset, "preset", PRESETS)
    return preset, PRESETS[preset].settings


def _score_sets(
    settings: Settings, cell: Configuration, n_sets: int, generator: torch.Generator, dtype: torch.dtype
) -> Tensor:
    """Records of new sets of one configuration, ``(n_sets, columns)`` float64."""
    class_sizes = CLASS_SIZES[cell.distribution]
    n_documents = sum(class_sizes)
    classes = torch.empty(n_sets, n_documents, dtype=torch.int64, device=generator.device)
    gram = torch.empty(n_sets, n_documents, n_documents, dtype=torch.float64, device=generator.device)
    for part in pieces(range(n_sets), _SETS_PER_DRAW):
        drawn = generate_documents(settings.documents, class_sizes, cell.error, len(part), generator=generator)
        vectors = tfidf(drawn.frequencies.to(dtype))
        classes[part.start : part.stop] = drawn.labels
        gram[part.start : part.stop] = vectors @ vectors.mT
    clusters = spherical_kmeans(gram, cell.n_clusters, settings.criterion, max_passes=settings.max_passes)
    scores = evaluate(
        classes,
        clusters.labels,
        (*MEASURES, *ENTROPIES),
        num_classes=len(class_sizes),
        num_clusters=cell.n_clusters,
        validate=False,
    )
    columns = [scores[name] for name in (*MEASURES, *ENTROPIES)]
    return torch.stack([*columns, clusters.converged.double()], dim=1)
