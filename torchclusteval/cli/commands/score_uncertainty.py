"""Intervals, p-values and pictures for the command ``score``."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from torchclusteval.cli.commands.pictures import save
from torchclusteval.cli.options import PLOT, nonnegative_int, option, positive_int, print_note, probability
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import bootstrap, permutation_test
from torchclusteval.inference.results import Significance
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

_DEFAULT_CONFIDENCE, _DEFAULT_RESAMPLES = 0.95, 1000

UNCERTAINTY_OPTIONS = (
    option(
        "--confidence",
        type=probability,
        metavar="P",
        help="add bootstrap intervals of this confidence, such as 0.95; with --against those of the differences",
    ),
    option("--resamples", type=positive_int, metavar="R", help="resampled tables for the intervals (default: 1000)"),
    option(
        "--permutations",
        type=positive_int,
        metavar="R",
        help="add p-values: better than R permutations of the labels",
    ),
    option("--seed", type=nonnegative_int, metavar="S", help="of the resampling (default: 0)"),
    PLOT,
)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Intervals and p-values of scores."""

    columns: Mapping[str, Mapping[str, np.ndarray]]  # measure -> "low", "high" and "p", each (B,)
    confidence: float  # of the intervals
    tests: Mapping[str, Significance]  # with the permutations, where there is to be a picture

    def beside(self, scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Columns of scores, each followed by its own ``_low``, ``_high`` and ``_p``."""
        wide: dict[str, np.ndarray] = {}
        for name, column in scores.items():
            wide[name] = column
            wide |= {f"{name}_{key}": value for key, value in self.columns.get(name, {}).items()}
        return wide


def check_seed(arguments: argparse.Namespace) -> None:
    """Raise where a seed is given and nothing is resampled."""
    resampling = (arguments.confidence, arguments.resamples, arguments.permutations, arguments.against)
    if arguments.seed is not None and all(x is None for x in resampling):
        raise ValueError("--seed: expected --confidence, --resamples or --permutations too, or --against; got none")


def resample(
    tables: ContingencyTables | None, measures: Sequence[Measure], arguments: argparse.Namespace
) -> Uncertainty:
    """Resample the tables as the options say.

    Raises:
        ValueError: there are no tables to resample, or they do not hold counts.
    """
    with_intervals = arguments.confidence is not None or arguments.resamples is not None
    if tables is None:
        if with_intervals or arguments.permutations is not None:
            given = "--permutations" if arguments.permutations is not None else "--confidence"
            raise ValueError(f"{given}: expected partitions to resample; got overlapping groups")
        return Uncertainty(columns={}, confidence=_DEFAULT_CONFIDENCE, tests={})
    columns: dict[str, dict[str, np.ndarray]] = {measure.name: {} for measure in measures}
    tests: Mapping[str, Significance] = {}
    if with_intervals:
        with progress_bar("bootstrap") as progress:
            intervals = bootstrap(
                tables,
                measures,
                arguments.resamples or _DEFAULT_RESAMPLES,
                arguments.confidence or _DEFAULT_CONFIDENCE,
                rng=torch.Generator().manual_seed(arguments.seed or 0),
                progress=progress,
            )
        for name, interval in intervals.items():
            columns[name] |= {"low": interval.low.cpu().numpy(), "high": interval.high.cpu().numpy()}
            outside = int(((interval.estimate < interval.low) | (interval.estimate > interval.high)).sum())
            if outside:
                remedy = "as happens near chance; use --permutations"
                print_note(f"note: {name}: {outside} intervals miss their score, {remedy}")
    directed = [measure for measure in measures if measure.better is not None]
    if arguments.permutations is not None and directed:
        with progress_bar("permutations") as progress:
            tests = permutation_test(
                tables,
                directed,
                arguments.permutations,
                rng=torch.Generator().manual_seed(arguments.seed or 0),
                keep_resamples=arguments.plot is not None,
                progress=progress,
            )
        for name, test in tests.items():
            columns[name]["p"] = test.p_value.cpu().numpy()
    return Uncertainty(columns, arguments.confidence or _DEFAULT_CONFIDENCE, tests)


def plot_scores(
    path: str,
    measure: Measure,
    names: Sequence[str],
    values: np.ndarray,
    order: np.ndarray,
    uncertainty: Uncertainty,
) -> None:
    """Draw clusterings in the order of a measure: with their intervals, or else over their permutations."""
    from torchclusteval.plots.scores import PERMUTED, draw_series, permuted, score_series

    columns, test = uncertainty.columns.get(measure.name, {}), uncertainty.tests.get(measure.name)
    low, high = columns.get("low"), columns.get("high")
    span = f"{100 * uncertainty.confidence:g} % intervals"
    if low is None and test is not None:
        (low, high), span = permuted(test), PERMUTED
    low, high = (None if x is None else x[order] for x in (low, high))
    listed = [names[i] for i in order]
    save(draw_series(score_series(measure.name, measure.better, listed, values[order], low, high, span), None), path)
