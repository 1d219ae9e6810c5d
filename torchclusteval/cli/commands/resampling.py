"""Intervals and p-values of the command ``score``, and the picture of both."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from torchclusteval.cli.commands.pictures import save
from torchclusteval.cli.options import print_note
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import bootstrap, permutation_test
from torchclusteval.inference.results import Significance
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Intervals and p-values of scores."""

    columns: Mapping[str, Mapping[str, np.ndarray]]  # measure -> "low", "high" and "p", each of the batch shape
    tests: Mapping[str, Significance]  # with the permutations, where they are to be drawn
    level: float  # of the intervals

    def beside(self, scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Columns of scores, each followed by its own ``_low``, ``_high`` and ``_p``."""
        wide: dict[str, np.ndarray] = {}
        for name, column in scores.items():
            wide[name] = column
            wide |= {f"{name}_{key}": value for key, value in self.columns.get(name, {}).items()}
        return wide


def resample(tables: ContingencyTables, measures: Sequence[Measure], arguments: argparse.Namespace) -> Uncertainty:
    """Intervals where ``--confidence-level`` asks for them, intervals and p-values where ``--resamples`` does."""
    columns: dict[str, dict[str, np.ndarray]] = {measure.name: {} for measure in measures}
    tests: Mapping[str, Significance] = {}
    level, seed = arguments.confidence_level or 0.95, arguments.seed or 0
    if arguments.confidence_level is not None or arguments.resamples is not None:
        with progress_bar("bootstrap") as progress:
            intervals = bootstrap(tables, measures, arguments.resamples or 1000, level, rng=seed, progress=progress)
        for name, interval in intervals.items():
            columns[name] |= {"low": interval.low.cpu().numpy(), "high": interval.high.cpu().numpy()}
            outside = int(((interval.estimate < interval.low) | (interval.estimate > interval.high)).sum())
            if outside:
                remedy = "as happens near chance; p-values (--resamples) tell"
                print_note(f"note: {name}: {outside} intervals miss their score, {remedy}")
    directed = [measure for measure in measures if measure.better is not None]
    if arguments.resamples is not None and directed:
        keep = arguments.picture == "chance"
        with progress_bar("permutations") as progress:
            tests = permutation_test(
                tables, directed, arguments.resamples, rng=seed, keep_resamples=keep, progress=progress
            )
        for name, test in tests.items():
            columns[name]["p"] = test.p_value.cpu().numpy()
    return Uncertainty(columns, tests, level)


def plot_scores(
    path: str,
    measure: Measure,
    names: Sequence[str],
    values: np.ndarray,
    order: list[int],
    uncertainty: Uncertainty | None = None,
) -> None:
    """Draw clusterings in the order of a measure, with their intervals."""
    from torchclusteval.plots.score_plots import draw_series, series_of

    columns = uncertainty.columns.get(measure.name, {}) if uncertainty else {}
    shown = [names[i] for i in order]
    low, high = (columns[key][order] if key in columns else None for key in ("low", "high"))
    span = f"{100 * uncertainty.level:g} % intervals" if uncertainty else ""
    save(draw_series(series_of(measure, shown, values[order], low, high, span), None), path)


def plot_chance(path: str, measure: Measure, names: Sequence[str], order: list[int], test: Significance) -> None:
    """Draw clusterings in the order of a measure over the scores of permuted labels."""
    from torchclusteval import plots

    at = torch.tensor(order)
    picked = {name: value[at] for name, value in test.columns().items()}
    drawn = None if test.resamples is None else test.resamples[:, at]
    shown = replace(test, **picked, resamples=drawn, clusterings=None)
    save(plots.null_figure(measure, [names[i] for i in order], shown).axes[0], path)
