"""``score --against COLUMN``: differences of the scores of clusterings to those of one, with intervals and p-values."""

import argparse
import math
import warnings
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.options import option, print_note
from torchclusteval.cli.printing.score_table import ScoreTable
from torchclusteval.cli.reading.held_codes import codes_of, codes_of_truth
from torchclusteval.cli.reading.read import Selection, hold_table
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import paired_bootstrap
from torchclusteval.inference.intervals import CORRECTIONS
from torchclusteval.measures.registry import MEASURES
from torchclusteval.measures.registry import Selection as Measures

AGAINST = (
    option(
        "--against",
        metavar="COLUMN",
        help="test each clustering against this one on the same items, drawn again together: difference of the scores, "
        "its interval and its two-sided p-value",
    ),
    option(
        "--correction",
        choices=CORRECTIONS,
        help="with --against: p-values adjusted for the number of clusterings",
    ),
)
_ALONE = ("by", "per_group", "plot", "match", "per_class", "per_cluster", "permutations")
_LEAST_RESAMPLES = 1000


def check_against(arguments: argparse.Namespace) -> None:
    """Raise where other options do not go with ``--against``, or need it."""
    if arguments.against is None:
        if arguments.correction is not None:
            raise ValueError("--correction: expected --against COLUMN too, whose p-values it adjusts")
        return
    for name in _ALONE:
        if getattr(arguments, name) not in (None, False):
            raise ValueError(f"--{name.replace('_', '-')}: expected scores of each clustering alone; got --against too")
    if len(arguments.files) != 1 or arguments.truth is None:
        raise ValueError(f"--against: expected one FILE with --truth COLUMN; got {len(arguments.files)} files")


def score_against(
    arguments: argparse.Namespace, asked: Selection, measures: Measures, sort: str | None, device: torch.device | None
) -> ScoreTable:
    """Read and test.

    Raises:
        ValueError: options or labels are not as described.
        OSError: the file cannot be read.
    """
    named = {"--truth": arguments.truth, "--against": arguments.against}
    (truth, reference, *others), _ = hold_table(asked, named)
    others = [one for one in others if one is not reference]
    if not others:
        raise ValueError(f"--against: expected another clustering beside {arguments.against!r}; got none")
    true, without_class = codes_of_truth(truth, asked.labels)
    codes, excluded = codes_of([reference, *others], asked.labels)
    mask = ~(without_class | excluded[0] | excluded[1:])
    confidence, count = arguments.confidence or 0.95, len(others)
    needed = math.ceil(2 * count / (1 - confidence)) if arguments.correction else 0
    with warnings.catch_warnings(record=True) as caught, progress_bar("bootstrap") as progress:
        warnings.simplefilter("always")
        found = paired_bootstrap(
            true,
            codes[1:],
            codes[0],
            measures,
            arguments.resamples or max(_LEAST_RESAMPLES, needed),
            confidence,
            correction=arguments.correction,
            rng=arguments.seed or 0,
            mask=mask,
            item_dims=1,
            device=device,
            progress=progress,
        )
    for warning in caught:
        print_note(f"note: {warning.message}")
    for name, reason in found.skipped.items():
        print_note(f"note: left out {name}, which {reason}")
    columns: dict[str, np.ndarray] = {}
    for name, record in found.items():
        shown = {"": record.estimate_a, "difference": record.difference}
        shown |= {"difference_low": record.low, "difference_high": record.high}
        shown |= {"p": record.p_value} | ({} if record.p_adjusted is None else {"p_adjusted": record.p_adjusted})
        columns |= {"_".join(filter(None, (name, key))): _array(value) for key, value in shown.items()}
    share = mask.double().mean(-1).numpy()
    if not (share == 1).all():
        columns = {"coverage": share, **columns}
    table = ScoreTable([one.title for one in others], columns, len(true), arguments.truth, found.skipped)
    print_note(f"note: differences, with {100 * confidence:g} % intervals, are to {arguments.against!r}")
    if sort is None:
        return table
    goodness = columns[sort] if MEASURES[sort].better == "higher" else -columns[sort]
    return table.take(np.argsort(-goodness, kind="stable")[: arguments.top])


def _array(value: Any) -> np.ndarray:
    found: np.ndarray = value.numpy(force=True) + 0.0  # -0 becomes 0
    return found
