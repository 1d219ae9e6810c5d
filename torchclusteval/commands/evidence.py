"""Intervals and p-values for the command ``score``: its options, and the columns that they add."""

import argparse
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from torchclusteval.commands.options import count, option
from torchclusteval.commands.progress import progress_bar
from torchclusteval.inference import bootstrap, permutation_test
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


def wants_intervals(arguments: argparse.Namespace) -> bool:
    return arguments.confidence is not None or arguments.replicates is not None


def evidence(
    tables: ContingencyTables, measures: Sequence[Measure], arguments: argparse.Namespace
) -> dict[str, dict[str, np.ndarray]]:
    """What the options ask for: measure -> ``low``, ``high`` and ``p``, each ``(B,)``."""
    found: dict[str, dict[str, np.ndarray]] = {measure.name: {} for measure in measures}
    if wants_intervals(arguments):
        with progress_bar("bootstrap") as progress:
            intervals = bootstrap(
                tables,
                measures,
                arguments.replicates or _DEFAULT_REPLICATES,
                arguments.confidence or _DEFAULT_CONFIDENCE,
                generator=torch.Generator().manual_seed(arguments.seed),
                progress=progress,
            )
        for name, interval in intervals.items():
            found[name] |= {"low": interval.low.cpu().numpy(), "high": interval.high.cpu().numpy()}
    directed = [measure for measure in measures if measure.better is not None]
    if arguments.permutations is not None and directed:
        with progress_bar("permutations") as progress:
            tests = permutation_test(
                tables,
                directed,
                arguments.permutations,
                generator=torch.Generator().manual_seed(arguments.seed),
                progress=progress,
            )
        for name, test in tests.items():
            found[name]["p"] = test.p_value.cpu().numpy()
    return found


def with_evidence(
    columns: Mapping[str, np.ndarray], found: Mapping[str, Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Columns of scores, each followed by its own ``_low``, ``_high`` and ``_p``."""
    wide: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        wide[name] = column
        wide |= {f"{name}_{key}": value for key, value in found.get(name, {}).items()}
    return wide


def plot_scores(
    path: str,
    measure: Measure,
    names: Sequence[str],
    values: np.ndarray,
    found: Mapping[str, np.ndarray],
) -> None:
    """Draw clusterings in the order of a measure."""
    from torchclusteval.plots import score_figure

    ends = (torch.from_numpy(found[key]) if key in found else None for key in ("low", "high"))
    save(score_figure(measure, names, torch.from_numpy(values), *ends), path)


def save(figure: object, path: str) -> None:
    """Write a figure in the format that its name ends in."""
    known = figure.canvas.get_supported_filetypes()  # type: ignore[attr-defined]
    kind = path.rpartition(".")[2]
    if kind not in known:
        raise ValueError(f"--plot: expected a file that ends in .png, .pdf or .svg; got {path!r}")
    figure.savefig(path)  # type: ignore[attr-defined]
