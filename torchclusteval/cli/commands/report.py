"""The command ``report``: one page on clusterings in a file."""

import argparse
from pathlib import Path

from torchclusteval.cli.commands.checks import check_output, check_unit, parse_list, parse_measure
from torchclusteval.cli.commands.labels import given_labels, groups_of
from torchclusteval.cli.declarations import BY, IGNORE
from torchclusteval.cli.options import refuse, warnings_as_notes
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import progress_bar
from torchclusteval.labels.inputs import check_device
from torchclusteval.measures.registry import select
from torchclusteval.reports import LIKE_NONE, REPORTED, ranking_measure, read_clusterings, write_report


def run(arguments: argparse.Namespace) -> str:
    """Read, score and write the page."""
    check_output(arguments, arguments.page, (".html", ".htm"))
    import_optional("matplotlib.figure", "plots")
    measures = list(select([*REPORTED] if arguments.measures is None else parse_list(arguments.measures)))
    sort = None if arguments.sort is None else parse_measure(arguments.sort, "--sort").name
    lead = ranking_measure(measures, sort, with_truth=arguments.truth is not None)
    device, asked = check_device(arguments.device or "cpu"), parse_selection(arguments)
    if arguments.truth is None:
        refuse(arguments, (BY, IGNORE), "--truth COLUMN too")
    if arguments.by is not None:
        check_unit(arguments)
    named = {"--truth": arguments.truth, "--by": arguments.by}
    named = {flag: column for flag, column in named.items() if column is not None}
    held, _ = hold_columns(asked, named)
    first, clusterings = held[: len(named)], held[len(named) :]
    given = given_labels(asked, clusterings, first[0]) if first else given_labels(asked, clusterings)
    by, _ = groups_of(first[1] if len(first) > 1 else None, asked, len(held[0]))
    labels = read_clusterings(given.true, given.labels, by, given.options | {"device": device})
    facts = [("file", ", ".join(asked.files))]
    facts += [(flag.removeprefix("--"), f"column {column}") for flag, column in named.items()]
    facts += [(LIKE_NONE, f"{name}: {reason}") for name, reason in given.doubtful.items()]
    title = arguments.title or f"Clusterings in {Path(asked.files[0]).name}"
    draws, level, seed = arguments.resamples or 1000, arguments.confidence_level or 0.95, arguments.seed or 0
    with warnings_as_notes(), progress_bar("report") as progress:
        made = write_report(labels, measures, lead, title, draws, level, seed, facts, arguments.resample, progress)
    made.to_html(arguments.page)
    count = f"{len(clusterings)} clustering{'s' * (len(clusterings) != 1)}"
    which = "the best" if made.evidence.scores is not None else "the one most like the others"
    return f"{count}; {which} by {made.evidence.lead.name} is {made.best}: {arguments.page}\n"
