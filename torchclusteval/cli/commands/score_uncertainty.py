"""Intervals and p-values for the command ``score``: its options, and the columns that they add."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from torchclusteval.cli.options import count, option, say
from torchclusteval.cli.printing.progress import progress_bar
from torchclusteval.inference import Interval, Significance, bootstrap, permutation_test
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

_DEFAULT_CONFIDENCE, _DEFAULT_REPLICATES = 0.95, 1000


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1; got {text!r}")
    return value


def seed(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0; got {text!r}")
    return int(text)


PLOT = option("--plot", metavar="FILE.png", help="draw a picture too (needs matplotlib)")
EVIDENCE_OPTIONS = (
    option("--confidence", type=share, metavar="P", help="add bootstrap intervals of this confidence, such as 0.95"),
    option("--replicates", type=count, metavar="R", help="resampled tables for the intervals (default: 1000)"),
    option("--permutations", type=count, metavar="R", help="add p-values: better than R permutations of the labels"),
    option("--seed", type=seed, default=0, metavar="S", help="of the resampling (default: 0)"),
    PLOT,
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the options ask for."""

    columns: Mapping[str, Mapping[str, np.ndarray]]  # measure -> "low", "high" and "p", each (B,)
    tests: Mapping[str, Significance]  # with the permutations, where there is to be a picture

    def beside(self, scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Columns of scores, each followed by its own ``_low``, ``_high`` and ``_p``."""
        wide: dict[str, np.ndarray] = {}
        for name, column in scores.items():
            wide[name] = column
            wide |= {f"{name}_{key}": value for key, value in self.columns.get(name, {}).items()}
        return wide


def find_evidence(
    tables: ContingencyTables | None, measures: Sequence[Measure], arguments: argparse.Namespace
) -> Evidence:
    """Resample the tables as the options say.

    Raises:
        ValueError: there are no tables to resample, or they do not hold counts.
    """
    intervals = arguments.confidence is not None or arguments.replicates is not None
    if tables is None:
        if intervals or arguments.permutations is not None:
            given = "--permutations" if arguments.permutations is not None else "--confidence"
            raise ValueError(f"{given}: expected partitions to resample; got overlapping groups")
        return Evidence({}, {})
    columns: dict[str, dict[str, np.ndarray]] = {measure.name: {} for measure in measures}
    tests: Mapping[str, Significance] = {}
    if intervals:
        for name, interval in _intervals(tables, measures, arguments).items():
            columns[name] |= {"low": interval.low.cpu().numpy(), "high": interval.high.cpu().numpy()}
            outside = int(((interval.estimate < interval.low) | (interval.estimate > interval.high)).sum())
            if outside:
                say(f"note: {name}: {outside} intervals miss their score, as happens near chance; use --permutations")
    directed = [measure for measure in measures if measure.better is not None]
    if arguments.permutations is not None and directed:
        tests = _tests(tables, directed, arguments)
        for name, test in tests.items():
            columns[name]["p"] = test.p_value.cpu().numpy()
    return Evidence(columns, tests)


def _intervals(
    tables: ContingencyTables, measures: Sequence[Measure], arguments: argparse.Namespace
) -> Mapping[str, Interval]:
    with progress_bar("bootstrap") as progress:
        return bootstrap(
            tables,
            measures,
            arguments.replicates or _DEFAULT_REPLICATES,
            arguments.confidence or _DEFAULT_CONFIDENCE,
            generator=torch.Generator().manual_seed(arguments.seed),
            progress=progress,
        )


def _tests(
    tables: ContingencyTables, measures: Sequence[Measure], arguments: argparse.Namespace
) -> Mapping[str, Significance]:
    with progress_bar("permutations") as progress:
        return permutation_test(
            tables,
            measures,
            arguments.permutations,
            generator=torch.Generator().manual_seed(arguments.seed),
            keep_replicates=arguments.plot is not None,
            progress=progress,
        )


def plot_scores(path: str, measure: Measure, names: Sequence[str], values: np.ndarray, found: Evidence) -> None:
    """Draw clusterings in the order of a measure: with their intervals, or else over their permutations."""
    from torchclusteval import plots

    columns = found.columns.get(measure.name, {})
    if "low" not in columns and measure.name in found.tests:
        save(plots.null_figure(measure, names, found.tests[measure.name]), path)
        return
    ends = (torch.from_numpy(columns[key]) if key in columns else None for key in ("low", "high"))
    save(plots.score_figure(measure, names, torch.from_numpy(values), *ends), path)


def save(figure: object, path: str) -> None:
    """Write a figure in the format that its name ends in."""
    known = figure.canvas.get_supported_filetypes()  # type: ignore[attr-defined]
    kind = path.rpartition(".")[2]
    if kind not in known:
        raise ValueError(f"--plot: expected a file that ends in .png, .pdf or .svg; got {path!r}")
    figure.savefig(path)  # type: ignore[attr-defined]
