"""The command ``consensus``: what clusterings in a file agree on."""

import argparse

import numpy as np
import torch

from torchclusteval.cli.commands.label_file import Written, check_label_file, names_of_rows, write_label_file
from torchclusteval.cli.options import (
    COLUMNS,
    EXCLUDE,
    NOISE,
    ONE_FILE,
    OVERWRITE,
    Command,
    check_noise,
    note_ids,
    option,
    table_width,
)
from torchclusteval.cli.printing.score_table import fit_to_width, printable
from torchclusteval.cli.reading.columns import Array, Label
from torchclusteval.cli.reading.held_codes import codes_of, each_alone, labels_of
from torchclusteval.cli.reading.read import Held, hold_table, parse_selection
from torchclusteval.common.formatting import format_number
from torchclusteval.inference import consensus as _consensus
from torchclusteval.labels.renaming import new_labels


def consensus(arguments: argparse.Namespace) -> str:
    """The consensus of all columns: write it, and say how far they agree."""
    check_label_file(arguments.label_file, arguments.overwrite)
    check_noise(arguments)
    asked = parse_selection(arguments)
    named = {} if arguments.start is None else {"--start": arguments.start}
    held, rows = hold_table(asked, named, row_names=arguments.label_file is not None)
    held = list(dict.fromkeys(held))  # --columns may name the start too
    if len(held) < 2:
        raise ValueError(f"clusterings: expected at least two; got {len(held)}")
    codes, excluded = codes_of(held, asked.labels)
    note_ids([one.title for one in held], each_alone(codes))
    if bool(excluded.all()):
        raise ValueError(f"{arguments.files[0]}: expected labels; all are missing or noise")
    found = _consensus(codes, mask=~excluded)
    assert isinstance(found.labels, torch.Tensor)
    labels, places = _labels(held[0], found.labels.numpy())
    agreement = found.agreement.numpy()
    places = np.where(np.isnan(agreement), -1, places)
    if arguments.label_file is not None:
        shares, share_places = np.unique(agreement, return_inverse=True)
        columns = [
            *names_of_rows(rows, asked.read.id_column),
            Written("consensus", labels, places),
            Written("agreement", shares.tolist(), np.where(np.isnan(agreement), -1, share_places)),
        ]
        write_label_file(arguments.label_file, columns, asked.read.missing)
    state = f"after {found.rounds} rounds" if found.converged else f"not settled after {found.rounds} rounds"
    mean = format_number(_mean(agreement))
    head = f"{len(held)} clusterings of {len(places)} items: mean agreement {mean} ({state})\n\n"
    lines = []
    for place, label in enumerate(labels):
        mine = agreement[places == place]
        lines.append([printable(str(label)), str(len(mine)), format_number(_mean(mine))])
    return head + fit_to_width(["cluster", "size", "agreement"], lines, table_width(None))


def _mean(shares: Array) -> float:
    known = shares[~np.isnan(shares)]
    return float(known.mean()) if len(known) else float("nan")


def _labels(start: Held, codes: Array) -> tuple[list[Label], Array]:
    """The labels of the consensus, and the place of each item's: those of the first clustering, then new ones."""
    own = labels_of(start)
    used, places = np.unique(codes, return_inverse=True)
    kept = used[used < len(own)]
    fits = all(isinstance(x, int) and -(2**63) <= x < 2**63 for x in own)
    known = np.array(own if fits else [str(x) for x in own], np.int64 if fits else object)
    fresh = new_labels(known, len(used) - len(kept))
    return [*known[kept].tolist(), *fresh.tolist()], places


_DETAILS = """\
examples:
  torchclusteval consensus runs.csv --exclude id --output agreed.csv
  torchclusteval consensus runs.npy --start 3

Every clustering is relabelled to a centre by one-to-one matching, the items vote, and the
winners are the next centre, until it stays the same. A missing label is an item that a
clustering lacks. The output holds the names of rows, the label of each item and the share
of the clusterings that agree; an item that no clustering has gets neither.
"""

COMMAND = Command(
    "consensus",
    "find the clustering that several agree on",
    consensus,
    (
        option("files", nargs=1, metavar="FILE", help="a table of labels, as for score"),
        COLUMNS,
        EXCLUDE,
        option("--start", metavar="COLUMN", help="the first centre, whose labels are used (default: the first column)"),
        option("--output", dest="label_file", metavar="FILE", help="write labels to FILE.csv or FILE.parquet"),
        OVERWRITE,
        *NOISE,
        *ONE_FILE,
    ),
    _DETAILS,
)
