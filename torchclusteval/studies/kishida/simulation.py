"""The document study: random document sets are drawn, clustered and scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice
from torchclusteval.common.threads import on_one_thread, pieces
from torchclusteval.scoring.evaluation import evaluate
from torchclusteval.studies.common import Row
from torchclusteval.studies.kishida.documents import generate_documents, tfidf
from torchclusteval.studies.kishida.kmeans import spherical_kmeans
from torchclusteval.studies.kishida.settings import (
    CLASS_SIZES,
    COLUMNS,
    ENTROPIES,
    MEASURES,
    PRESETS,
    Configuration,
    Result,
    Settings,
)
from torchclusteval.studies.runner import Plan, run_plan

__all__ = ["rows", "run"]

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
