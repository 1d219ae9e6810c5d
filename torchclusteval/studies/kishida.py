"""The document study of Kishida (2014): fifteen measures on spherical k-means of random document sets.

Two distributions of 100 documents over ten classes, five means of the error and seven numbers of clusters make
70 configurations of 1000 sets. The text of the paper does not determine its program: no reading of it comes
near the printed tables, so a reading is a :class:`Settings`, and three of them have names in ``PRESETS``.
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

from torchclusteval.scoring import evaluate
from torchclusteval.studies import kishida_paper as paper
from torchclusteval.studies.documents import DocumentModel, generate_documents, tfidf
from torchclusteval.studies.runner import Plan, Row, run_plan
from torchclusteval.studies.spherical_kmeans import Criterion, cluster_gram

__all__ = ["PRESETS", "Configuration", "Preset", "Result", "Settings", "plot", "report", "rows", "run"]

CLASS_SIZES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"balanced": (10,) * 10, "biased": (50, 20, 5, 5, 5, 3, 3, 3, 3, 3)}
)
MEASURES = tuple(paper.MEASURE_NAMES)
ENTROPIES = ("entropy_classes", "entropy_clusters", "joint_entropy", "mutual_information")
COLUMNS = (*MEASURES, *ENTROPIES, "settled")

# Sets whose documents are drawn together, so that the drawn arrays stay in the processor's cache.
_SLICE = 25


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
    """What a move of k-means must improve, see :func:`~torchclusteval.studies.spherical_kmeans`."""
    max_passes: int = 30
    """Passes of k-means; ``"density"`` settles within a dozen, ``"cosine"`` goes round in circles in some sets."""
    distributions: tuple[str, ...] = ("balanced", "biased")
    errors: tuple[float, ...] = paper.ERRORS
    cluster_numbers: tuple[int, ...] = (3, 5, 10, 15, 20, 30, 40)

    def __post_init__(self) -> None:
        unknown = set(self.distributions) - set(CLASS_SIZES)
        if unknown:
            raise ValueError(f"distributions: expected some of {tuple(CLASS_SIZES)}; got {sorted(unknown)}")
        if not all(1 <= number <= 100 for number in self.cluster_numbers):
            raise ValueError(f"cluster_numbers: expected 1 to the 100 documents; got {self.cluster_numbers}")

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        return tuple(
            Configuration(distribution, float(error), n_clusters)
            for distribution in self.distributions
            for error in self.errors
            for n_clusters in self.cluster_numbers
        )


class Preset(NamedTuple):
    """A named reading."""

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
    """The records of a run."""

    name: str
    """Name of the preset with this reading, or ``"custom"``."""
    settings: Settings
    iterations: int
    seed: int
    seconds: float
    records: Tensor  # (configurations, iterations, columns) float64, on the CPU; columns as in COLUMNS

    def values(self, cell: Configuration, column: str) -> Tensor | None:
        """The ``(iterations,)`` values of a column in one configuration, None if it was not run."""
        if cell not in self.settings.configurations:
            return None
        return self.records[self.settings.configurations.index(cell), :, COLUMNS.index(column)]

    def mean(self, cell: Configuration, column: str) -> float:
        """Average over the sets; nan if the configuration was not run."""
        values = self.values(cell, column)
        return math.nan if values is None else _mean(values)

    def standard_error(self, cell: Configuration, column: str) -> float:
        """Standard error of :meth:`mean`; nan for a single set."""
        values = self.values(cell, column)
        return math.nan if values is None else _standard_error(values)


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
        preset: a name in ``PRESETS``, or settings of one's own.
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
    precision = _resolve_dtype(dtype)

    def block(values: Mapping[str, Any], n_sets: int, generator: torch.Generator) -> Tensor:
        return _block(settings, Configuration(**values), n_sets, generator, precision)

    plan = Plan(
        study="kishida",
        settings={"preset": name, "dtype": str(precision).removeprefix("torch."), **asdict(settings)},
        configurations=[configuration._asdict() for configuration in settings.configurations],
        columns=COLUMNS,
        block=block,
        rows=lambda records: _rows(settings, records),
    )
    done = run_plan(plan, iterations=iterations, seed=seed, device=device, output=output, progress=progress)
    return Result(name, settings, iterations, seed, done.seconds, done.records)


def rows(result: Result) -> list[Row]:
    """One row per configuration and measure: its average over the sets and the standard error of it."""
    return _rows(result.settings, result.records)


def report(result: Result) -> str:
    """Tables 1 and 2 beside the printed ones, and the claims of the paper, each with yes or no."""
    from torchclusteval.studies import kishida_report

    return kishida_report.report(result)


def plot(result: Result, path: str | Path) -> None:
    """Draw Figures 2 to 7 on one sheet; needs matplotlib, and SciPy for the dendrograms."""
    from torchclusteval.studies import kishida_figures

    kishida_figures.plot(result, path)


def _resolve(preset: str | Settings) -> tuple[str, Settings]:
    """Name of the reading and its settings."""
    if isinstance(preset, Settings):
        reading = (preset.documents, preset.criterion)
        known = ((name, row.settings) for name, row in PRESETS.items())
        names = (name for name, row in known if (row.documents, row.criterion) == reading)
        return next(names, "custom"), preset
    if preset not in PRESETS:
        raise ValueError(f"preset: expected one of {tuple(PRESETS)}; got {preset!r}")
    return preset, PRESETS[preset].settings


def _resolve_dtype(dtype: str | torch.dtype) -> torch.dtype:
    known = {"float32": torch.float32, "float64": torch.float64}
    for name, precision in known.items():
        if dtype in (name, precision):
            return precision
    raise ValueError(f"dtype: expected one of {tuple(known)}; got {dtype!r}")


def _block(
    settings: Settings, cell: Configuration, n_sets: int, generator: torch.Generator, dtype: torch.dtype
) -> Tensor:
    """Records of new sets of one configuration, ``(n_sets, columns)`` float64."""
    class_sizes = CLASS_SIZES[cell.distribution]
    n_documents = sum(class_sizes)
    classes = torch.empty(n_sets, n_documents, dtype=torch.int64, device=generator.device)
    gram = torch.empty(n_sets, n_documents, n_documents, dtype=torch.float64, device=generator.device)
    for first in range(0, n_sets, _SLICE):
        part = slice(first, min(first + _SLICE, n_sets))
        size = part.stop - first
        drawn = generate_documents(settings.documents, class_sizes, cell.error, size, generator=generator)
        vectors = tfidf(drawn.frequencies.to(dtype))
        classes[part] = drawn.labels
        gram[part] = vectors @ vectors.mT
    found = cluster_gram(gram, cell.n_clusters, criterion=settings.criterion, max_passes=settings.max_passes)
    scores = evaluate(
        classes,
        found.labels,
        (*MEASURES, *ENTROPIES),
        num_classes=len(class_sizes),
        num_clusters=cell.n_clusters,
        validate=False,
    )
    columns = [scores[name] for name in (*MEASURES, *ENTROPIES)]
    return torch.stack([*columns, found.converged.double()], dim=1)


def _rows(settings: Settings, records: Tensor) -> list[Row]:
    return [
        {
            **cell._asdict(),
            "measure": column,
            "mean": _mean(values),
            "standard_error": _standard_error(values),
        }
        for cell, record in zip(settings.configurations, records, strict=True)
        for column, values in zip(COLUMNS, record.T, strict=True)
    ]


def _mean(values: Tensor) -> float:
    return math.fsum(values.tolist()) / len(values)


def _standard_error(values: Tensor) -> float:
    if len(values) < 2:
        return math.nan
    mean = _mean(values)
    squares = math.fsum((value - mean) ** 2 for value in values.tolist())
    return math.sqrt(squares / (len(values) - 1) / len(values))
