"""Intervals and p-values of the command ``score``, and the picture of both."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchclusteval.cli.commands.files import save_picture
from torchclusteval.cli.options import print_note, warnings_as_notes
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import bootstrap, permutation_test
from torchclusteval.inference.results import ResultsByMeasure, Significance
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


def resample(
    tables: ContingencyTables, measures: Sequence[Measure], arguments: argparse.Namespace, macro: bool | None = None
) -> Uncertainty:
    """Intervals where ``--confidence-level`` asks for them, intervals and p-values where ``--resamples`` does.

    ``macro``: that of ``bootstrap``, where groups are drawn; there are no p-values then.
    """
    columns: dict[str, dict[str, np.ndarray]] = {measure.name: {} for measure in measures}
    tests: Mapping[str, Significance] = {}
    level, seed = arguments.confidence_level or 0.95, arguments.seed or 0
    if arguments.confidence_level is not None or arguments.resamples is not None:
        draws, unit = arguments.resamples or 1000, arguments.resample
        with warnings_as_notes(but="bootstrap: "), progress_bar("bootstrap") as progress:
            intervals = bootstrap(
                tables, measures, draws, level, rng=seed, resample=unit, macro=bool(macro), progress=progress
            )
        if macro is not False:  # what is said of pooled scores is the same
            note_drawn(intervals, arguments.top)
        for name, interval in intervals.items():
            columns[name] |= {"low": interval.low.cpu().numpy(), "high": interval.high.cpu().numpy()}
            if interval.of_classes is not None:
                columns[name]["of_classes"] = interval.of_classes.cpu().numpy()
    directed = [measure for measure in measures if measure.better is not None]
    if arguments.resamples is not None and directed and macro is None:
        keep = arguments.picture == "chance"
        with progress_bar("permutations") as progress:
            tests = permutation_test(
                tables, directed, arguments.resamples, rng=seed, keep_resamples=keep, progress=progress
            )
        for note in tests.notes:
            print_note(f"note: {note}")
        for name, test in tests.items():
            columns[name]["p"] = test.p_value.cpu().numpy()
    return Uncertainty(columns, tests, level)


def note_drawn(found: ResultsByMeasure[Any], top: int | None) -> None:
    """Name the drawn unit, its population, and doubts about intervals.

    ``top``: how many of the clusterings are shown.
    """
    drawn = f"drawn: {found.settings['resampled']}; intervals hold for {found.settings['population']}"
    for note in (drawn, *found.notes):
        print_note(f"note: {note}")
    count = found.batch_shape[0]
    if found.notes and top is not None and top < count:
        print_note(f"note: this is about all {count} clusterings, with and without --top")


def plot_scores(
    arguments: argparse.Namespace,
    measure: Measure,
    names: Sequence[str],
    values: np.ndarray,
    order: list[int],
    uncertainty: Uncertainty | None = None,
) -> None:
    """Draw clusterings in the order of a measure, with their intervals or the middle of the permutations."""
    from torchclusteval.plots.scores import PERMUTED, draw_series, permuted, score_series

    low, high, span = None, None, ""
    if uncertainty and arguments.picture == "chance":
        (low, high), span = permuted(uncertainty.tests[measure.name]), PERMUTED
    elif uncertainty:
        columns = uncertainty.columns.get(measure.name, {})
        low, high, span = columns.get("low"), columns.get("high"), f"{100 * uncertainty.level:g} % intervals"
    low, high = (None if x is None else x[order] for x in (low, high))
    series = score_series(measure.name, measure.better, [names[i] for i in order], values[order], low, high, span)
    save_picture(arguments.plot, draw_series, series)
