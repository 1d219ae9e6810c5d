"""``score --overlapping``: files of items with several groups, against the truth in the first of them."""

import argparse
from typing import NamedTuple

from torchclusteval.cli.options import parse_device, parse_measure
from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, read_memberships
from torchclusteval.scoring.scores import Scores

_LEADING = "extended_bcubed_f"
_LABEL_OPTIONS = ("truth", "columns", "exclude", "ignore", "noise_label", "stream")


class Overlapping(NamedTuple):
    """Names of the scored clusterings and of the truth, for the report."""

    names: list[str]
    n_items: int
    truth_name: str


def score_overlapping(arguments: argparse.Namespace) -> tuple[Overlapping, Scores, str | None]:
    """Read and score the files; the third value is the measure to sort by."""
    for name in _LABEL_OPTIONS:
        if getattr(arguments, name, None):
            raise ValueError(f"--{name.replace('_', '-')}: expected files of labels; got --overlapping too")
    if len(arguments.files) < 2:
        raise ValueError("FILE: expected the truth and then at least one clustering with --overlapping; got one file")
    device = parse_device(arguments.device)
    asked = [name.strip() for name in (arguments.measures or "all").split(",") if name.strip()]
    sort = _sort(arguments)
    true, *clusterings = (read_memberships(path) for path in arguments.files)
    pred = Memberships.stack(clusterings)
    if device is not None:
        true, pred = true.to(device), pred.to(device)
    scores = evaluate_overlapping(true, pred, [*asked, *([sort] if sort else [])])
    task = Overlapping(names=arguments.files[1:], n_items=int(scores.n_items[0]), truth_name=arguments.files[0])
    return task, scores, sort


def _sort(arguments: argparse.Namespace) -> str | None:
    if arguments.sort is not None:
        return parse_measure(arguments.sort, "--sort", OVERLAP_MEASURES).name
    return None if arguments.top is None else _LEADING
