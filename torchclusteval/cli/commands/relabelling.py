"""The command ``relabel``: clusters renamed as the classes that they are matched to."""

import argparse
from collections.abc import Sequence

import numpy as np
import torch

from torchclusteval.cli.commands.label_file import Written, check_label_file, names_of_rows, write_label_file
from torchclusteval.cli.commands.score_match import note_ties
from torchclusteval.cli.options import (
    COLUMNS,
    EXCLUDE,
    IGNORE,
    MISSING,
    ONE_FILE,
    OVERWRITE,
    Command,
    check_noise,
    note_ids,
    option,
    table_width,
)
from torchclusteval.cli.printing.score_table import fit_to_width, printable
from torchclusteval.cli.reading.columns import Array, Label, whole_number
from torchclusteval.cli.reading.held_codes import HeldTables, each_alone, labels_of, tables_of
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.common.formatting import format_number
from torchclusteval.labels.renaming import names_of_groups
from torchclusteval.scoring.matching import Matching, match
from torchclusteval.scoring.matching_scores import matched_scores

_NOISE = (
    option("--noise-label", metavar="LABEL", help="the label of noise in the clusterings, often -1"),
    option(
        "--noise",
        choices=("ignore", "cluster"),
        default="ignore",
        help="noise keeps its label, or is matched as a cluster (default: ignore)",
    ),
)


def relabel(arguments: argparse.Namespace) -> str:
    """Rename, write, and say what was matched."""
    check_label_file(arguments.label_file, arguments.overwrite)
    check_noise(arguments)
    if arguments.unmatched is not None and arguments.fill is not None:
        raise ValueError("--unmatched: expected this or --fill; got both")
    asked = parse_selection(arguments)
    (truth, *clusterings), rows = hold_table(asked, {"--truth": arguments.truth}, row_names=True)
    found = tables_of(truth, clusterings, asked.labels)
    note_ids([held.title for held in clusterings], each_alone(found.codes))
    matching = match(found.tables)
    classes = _as_array(labels_of(truth))
    fill = _parse_fill(arguments.fill, classes)
    renamed = [
        _renamed(found, i, held.title, partner, classes, arguments.unmatched or "new", fill)
        for i, (held, partner) in enumerate(zip(clusterings, matching.class_of_cluster.numpy(), strict=True))
    ]
    own = Written(truth.title, found.classes, found.true.numpy())
    written = [*names_of_rows(rows, asked.read.id_column), own, *renamed]
    write_label_file(arguments.label_file, written, asked.read.missing)
    note_ties([held.title for held in clusterings], matching.unique.reshape(-1).tolist())
    return _summary(found, matching, [printable(held.title) for held in clusterings])


def _summary(found: HeldTables, matching: Matching, names: list[str]) -> str:
    filled = found.tables.cluster_sizes > 0
    matched = (matching.class_of_cluster >= 0).sum(-1)
    columns = (matched, filled.sum(-1) - matched)
    accuracy = matched_scores(found.tables, matching)["accuracy"].tolist()
    rows = [
        [name, str(pairs), str(others), format_number(value)]
        for name, pairs, others, value in zip(names, *(x.tolist() for x in columns), accuracy, strict=True)
    ]
    return fit_to_width(["clustering", "matched", "unmatched", "accuracy"], rows, table_width(None))


def _as_array(labels: Sequence[Label]) -> Array:
    """Labels as int64, or as strings where one is no such number."""
    if all(isinstance(x, int) and -(2**63) <= x < 2**63 for x in labels):
        return np.array(labels, np.int64)
    return np.array([str(x) for x in labels], object)


def _parse_fill(text: str | None, classes: Array) -> int | str | None:
    if text is None or classes.dtype.kind == "O":
        return text
    number = whole_number(text)
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError(f"--fill: expected a whole number, as the classes are; got {text!r}")
    return number


def _renamed(
    found: HeldTables, i: int, title: str, partner: Array, classes: Array, unmatched: str, fill: int | str | None
) -> Written:
    """A clustering with the labels of its classes; noise and missing labels that are left out stay."""
    own, codes = found.clusters[i], found.codes[i]
    used = torch.bincount(codes[~found.excluded[i]], minlength=len(own)).numpy() > 0
    real = np.where(partner < len(classes), partner, -1)  # the last class may be that of missing labels
    noise = {label for label, is_used in zip(own, used.tolist(), strict=True) if not is_used and label is not None}
    taken = _as_array([*classes.tolist(), *noise])
    if len(set(taken.tolist())) < len(taken):
        got = f"{next(iter(noise))!r} in {title!r}"
        raise ValueError(f"--noise-label: expected one that is no class's, as noise keeps its label; got {got}")
    taken = taken if taken.dtype == classes.dtype else classes  # text beside numbers is no number's label
    try:
        names = names_of_groups(real, taken, _as_array(own), used, unmatched=unmatched, fill=fill).tolist()
    except ValueError as error:
        remedy = "--unmatched new gives it a new one"
        raise ValueError(f"--unmatched: {title!r}: {str(error).partition(': ')[2]} ({remedy})") from None
    keeps = ~used if fill is not None or unmatched == "new" else ~used | np.array([label is None for label in own])
    labels = [
        None if at >= len(classes) else label if is_kept and at < 0 else name
        for name, label, is_kept, at in zip(names, own, keeps.tolist(), partner.tolist(), strict=True)
    ]
    return Written(title, labels, codes.numpy())


_DETAILS = """\
examples:
  torchclusteval relabel results.csv --truth class --output renamed.csv
  torchclusteval relabel cells.parquet --truth type --columns 'leiden_*' --fill other --output renamed.parquet

Each clustering is matched with the classes one to one, so that as many items as possible
agree. The output holds the names of rows, the truth and the clusterings, a row an item, in
the order of FILE. Clusters without a class get new labels (numbers after the largest class,
or 'new 1', 'new 2' ...), those of items whose class is left out among them.
"""

COMMAND = Command(
    "relabel",
    "rename clusters as the classes that they match",
    relabel,
    (
        option("files", nargs=1, metavar="FILE", help="a table of labels, as for score"),
        option("--truth", required=True, metavar="COLUMN", help="the column of FILE that holds the truth"),
        option(
            "--output",
            dest="label_file",
            required=True,
            metavar="FILE",
            help="where to write the labels: FILE.csv or FILE.parquet",
        ),
        OVERWRITE,
        option(
            "--unmatched",
            choices=("new", "keep"),
            help="clusters without a class get new labels, or keep theirs if no class has them (default: new)",
        ),
        option("--fill", metavar="LABEL", help="one label for all clusters without a class instead"),
        COLUMNS,
        EXCLUDE,
        IGNORE,
        *_NOISE,
        MISSING,
        *ONE_FILE,
    ),
    _DETAILS,
)
