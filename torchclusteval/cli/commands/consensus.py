"""The command ``consensus``: what clusterings in a file agree on."""

import argparse

import numpy as np

from torchclusteval.cli.commands.files import Written, check_label_file, names_of_rows, write_label_file
from torchclusteval.cli.commands.labels import given_labels
from torchclusteval.cli.options import table_width
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.common.formatting import format_number
from torchclusteval.inference import consensus
from torchclusteval.labels.vocabulary import Vocabulary


def run(arguments: argparse.Namespace) -> str:
    """The consensus of all columns: write it, and say how far they agree."""
    check_label_file(arguments)
    asked = parse_selection(arguments)
    held, rows = hold_columns(asked, {"--start": arguments.start}, row_names=arguments.label_file is not None)
    held = list(dict.fromkeys(held))  # --columns may name the start too
    if len(held) < 2:
        raise ValueError(f"clusterings: expected at least two; got {len(held)}{held[0].table.remedy}")
    given = given_labels(asked, held)
    found = consensus(given.labels, **({} if asked.noise == "cluster" else given.noise))
    agreement = found.agreement.numpy()
    known = ~np.isnan(agreement)
    if not known.any():
        raise ValueError(f"{arguments.files[0]}: expected labels; got only missing ones and noise")
    words, places = Vocabulary(), np.full(len(agreement), -1)
    numbers = words.numbers_of(np.asarray(found.labels)[known].tolist())
    ordered, ranks = words.ranked()
    labels, places[known] = ordered.tolist(), ranks[numbers]
    if arguments.label_file is not None:
        shares, share_places = np.unique(agreement, return_inverse=True)
        columns = [
            *names_of_rows(rows, asked.id_column),
            Written("consensus", [None if x == given.missing else x for x in labels], places),
            Written("agreement", shares.tolist(), np.where(np.isnan(agreement), -1, share_places)),
        ]
        write_label_file(arguments.label_file, columns, asked.spellings)
    state = f"after {found.rounds} rounds" if found.converged else f"not settled after {found.rounds} rounds"
    mean = format_number(agreement[known].mean())
    head = f"{len(held)} clusterings of {len(places)} items: mean agreement {mean} ({state})\n\n"
    mine = [agreement[places == place] for place in range(len(labels))]
    lines = [[label, len(one), float(one.mean())] for label, one in zip(labels, mine, strict=True)]
    return head + as_text(Table(["cluster", "size", "agreement"], lines), table_width())
