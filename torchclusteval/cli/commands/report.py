"""The command ``report``: one page on clusterings in a file."""

import argparse
from pathlib import Path
from typing import Any

import torch

from torchclusteval.cli.commands.checks import (
    check_noise,
    check_output,
    parse_device,
    parse_list,
    parse_measure,
)
from torchclusteval.cli.commands.files import names_of_codes
from torchclusteval.cli.reading.held_codes import codes_of, codes_of_groups, codes_of_truth, note_columns
from torchclusteval.cli.reading.read import Held, hold_table, parse_selection
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.registry import select
from torchclusteval.reports import LIKE_NONE, REPORTED, leading, write_report
from torchclusteval.reports.evidence import Labelling


def run(arguments: argparse.Namespace) -> str:
    """Read, score and write the page."""
    check_output(arguments.page, arguments.overwrite, (".html", ".htm"))
    import_optional("matplotlib.figure", "plots")
    check_noise(arguments)
    measures = list(select([*REPORTED] if arguments.measures is None else parse_list(arguments.measures)))
    lead = leading(measures, None if arguments.sort is None else parse_measure(arguments.sort, "--sort").name)
    device, asked = parse_device(arguments.device), parse_selection(arguments)
    if arguments.by is not None and arguments.truth is None:
        raise ValueError("--by: expected --truth COLUMN too; got none")
    named = {"--truth": arguments.truth, "--by": arguments.by}
    named = {flag: column for flag, column in named.items() if column is not None}
    held, _ = hold_table(asked, named)
    first, clusterings = held[: len(named)], held[len(named) :]
    codes, excluded = codes_of(clusterings, asked.labels)
    doubtful = note_columns(clusterings, first[0] if arguments.truth is not None else None)
    single = arguments.noise_label if arguments.noise == "singletons" else None
    labels = Labelling(
        names=[one.title for one in clusterings],
        codes=codes.masked_fill(excluded, 0).to(device),
        clusters=lambda number: names_of_codes(clusterings[number], codes[number], single),
        kept=~excluded.to(device),
        **_truth_of(first, arguments, device),
    )
    facts = [("file", asked.files[0])]
    facts += [(flag.removeprefix("--"), f"column {column}") for flag, column in named.items()]
    facts += [(LIKE_NONE, f"{name}: {reason}") for name, reason in doubtful.items()]
    title = arguments.title or f"Clusterings in {Path(asked.files[0]).name}"
    draws, level, seed = arguments.resamples or 1000, arguments.confidence_level or 0.95, arguments.seed or 0
    made = write_report(labels, measures, lead, title, draws, level, seed, tuple(facts))
    made.to_html(arguments.page)
    count = f"{len(clusterings)} clustering{'s' * (len(clusterings) != 1)}"
    which = "the best" if made.evidence.scores is not None else "the one most like the others"
    return f"{count}; {which} by {made.evidence.lead.name} is {made.best}: {arguments.page}\n"


def _truth_of(first: list[Held], arguments: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    """The classes and groups of items, as arguments of ``Labelling``."""
    if not first:
        return {}
    options = parse_selection(arguments).labels
    true, without_class = codes_of_truth(first[0], options)
    found: dict[str, Any] = {"classes": tuple(names_of_codes(first[0], true))}
    if len(first) > 1:
        groups, without_group = codes_of_groups(first[1], options)
        without_class |= without_group
        found |= {"groups": groups.to(device), "group_names": tuple(names_of_codes(first[1], groups))}
    return found | {"true": true.to(device), "with_class": ~without_class.to(device)}
