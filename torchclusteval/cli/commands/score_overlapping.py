"""``score --overlapping``: files of items with several groups, against the truth in the first of them."""

import argparse
import itertools
import re
import warnings
from typing import NamedTuple

from torchclusteval.cli.options import numbered, option, parse_device, parse_measure, print_note
from torchclusteval.overlap import (
    OVERLAP_DEFAULT,
    OVERLAP_MEASURES,
    Memberships,
    evaluate_overlapping,
    read_memberships,
)
from torchclusteval.overlap.files import LAYOUTS
from torchclusteval.overlap.inputs import no_item_in_common
from torchclusteval.scoring.scores import Scores

_LEADING = "extended_bcubed_f"
OVERLAPPING_OPTIONS = (
    option("--overlapping", action="store_true", help="items may have several groups: FILEs list groups of items"),
    option(
        "--layout",
        metavar="LIST",
        default="auto",
        help=f"how FILEs of --overlapping list them: {', '.join(LAYOUTS)} or auto (where there is no doubt; default), "
        "one for all files, or one for each joined by commas",
    ),
)
OVERLAPPING_DETAILS = """\
  with --overlapping: the truth and then clusterings, by --layout
    item-group      item<TAB>group, a line for each group of an item
    item-groups     item<TAB>group group ..., as community.dat of LFR
    group-per-line  the items of a group, divided by tabs or blanks, as SNAP
              .json: {item: [groups]}, a list of groups, or an export of CDlib;
              lines that begin with # are comments\
"""
_LABEL_OPTIONS = (
    "truth",
    "by",
    "against",
    "correction",
    "match",
    "per_group",
    "per_class",
    "per_cluster",
    "columns",
    "exclude",
    "ignore",
    "noise_label",
    "stream",
    "id",
    "na_values",
    "delimiter",
)
_LABEL_DEFAULTS = {"missing": "error", "join": "names", "noise": "ignore"}


class Overlapping(NamedTuple):
    """Names of the scored clusterings and of the truth, for the report."""

    names: list[str]
    n_items: int
    truth_name: str


def score_overlapping(arguments: argparse.Namespace) -> tuple[Overlapping, Scores, str | None]:
    """Read and score the files; the third value is the measure to sort by."""
    changed = [name for name, default in _LABEL_DEFAULTS.items() if getattr(arguments, name) != default]
    for name in (*changed, *_LABEL_OPTIONS):
        if name in changed or getattr(arguments, name) not in (None, [], False):
            raise ValueError(f"--{name.replace('_', '-')}: expected files of labels; got --overlapping too")
    if len(arguments.files) < 2:
        raise ValueError("FILE: expected the truth and then at least one clustering with --overlapping; got one file")
    device = parse_device(arguments.device)
    asked = [name.strip() for name in (arguments.measures or "").split(",") if name.strip()]
    sort = _sort(arguments)
    true, *clusterings = _read(arguments)
    pred = Memberships.stack(clusterings)
    if device is not None:
        true, pred = true.to(device), pred.to(device)
    chosen = asked if arguments.measures is not None else OVERLAP_DEFAULT
    scores = evaluate_overlapping(true, pred, [*chosen, *([sort] if sort else [])])
    names = numbered(arguments.files[1:])
    task = Overlapping(names=names, n_items=int(scores.n_items[0]), truth_name=arguments.files[0])
    return task, scores, sort


def _read(arguments: argparse.Namespace) -> list[Memberships]:
    """The memberships of all files, each of which has an item of the first."""
    layouts = [name.strip() for name in arguments.layout.split(",")]
    wrong = next((name for name in layouts if name not in ("auto", *LAYOUTS)), None)
    if wrong is not None or len(layouts) not in (1, len(arguments.files)):
        got = f"{len(layouts)} for {len(arguments.files)} files" if wrong is None else repr(wrong)
        raise ValueError(f"--layout: expected auto, {', '.join(LAYOUTS)}, once or for each file; got {got}")
    read: list[Memberships] = []
    for path, layout in zip(arguments.files, itertools.cycle(layouts), strict=False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                read.append(read_memberships(path, layout=layout, header=arguments.header))
            except ValueError as error:
                raise ValueError(_as_options(str(error))) from None
        for warning in caught:
            print_note(f"note: {_as_options(str(warning.message))}")
        disjoint = no_item_in_common(read[0].items or (), read[-1].items or ())
        if disjoint is not None:
            expected = f"expected items of {arguments.files[0]}, but no item is in both files"
            raise ValueError(f"{path}: {expected}; {disjoint} (names are compared letter by letter)")
    return read


def _as_options(message: str) -> str:
    """A message of Python's arguments as one of the command line's options."""
    return re.sub(r'\b(layout|header)="([\w-]+)"', r"--\1 \2", message)


def _sort(arguments: argparse.Namespace) -> str | None:
    if arguments.sort is not None:
        return parse_measure(arguments.sort, "--sort", OVERLAP_MEASURES).name
    return None if arguments.top is None else _LEADING
