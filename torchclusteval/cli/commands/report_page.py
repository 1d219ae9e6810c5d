"""The command ``report``: one page on clusterings in a file."""

import argparse
from pathlib import Path
from typing import Any

import torch

from torchclusteval.cli.options import (
    COLUMNS,
    DEVICE,
    EXCLUDE,
    IGNORE,
    MEASURE_LIST,
    MISSING,
    NOISE,
    ONE_FILE,
    OVERWRITE,
    Command,
    check_new,
    check_noise,
    nonnegative_int,
    note_ids,
    option,
    parse_device,
    parse_measure,
    positive_int,
    probability,
)
from torchclusteval.cli.reading.columns import Label
from torchclusteval.cli.reading.held_codes import codes_of, codes_of_groups, codes_of_truth, each_alone, labels_of
from torchclusteval.cli.reading.read import Held, hold_table, parse_selection
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.registry import select
from torchclusteval.reports import REPORTED, leading, write_report
from torchclusteval.reports.evidence import Labelling

_SUFFIXES = (".html", ".htm")


def report(arguments: argparse.Namespace) -> str:
    """Read, score and write the page."""
    _check_page(arguments.page, arguments.overwrite)
    check_noise(arguments)
    names = REPORTED if arguments.measures is None else [x.strip() for x in arguments.measures.split(",") if x.strip()]
    measures = list(select(list(names)))
    lead = leading(measures, None if arguments.sort is None else parse_measure(arguments.sort, "--sort").name)
    device, asked = parse_device(arguments.device), parse_selection(arguments)
    if arguments.by is not None and arguments.truth is None:
        raise ValueError("--by: expected --truth COLUMN too; got none")
    named = {"--truth": arguments.truth, "--by": arguments.by}
    named = {flag: column for flag, column in named.items() if column is not None}
    held, _ = hold_table(asked, named)
    first, clusterings = held[: len(named)], held[len(named) :]
    codes, excluded = codes_of(clusterings, asked.labels)
    note_ids([one.title for one in clusterings], each_alone(codes))
    labels = Labelling(
        names=[one.title for one in clusterings],
        codes=codes.masked_fill(excluded, 0).to(device or "cpu"),
        clusters=lambda number: _named(labels_of(clusterings[number]), codes[number], arguments),
        kept=~excluded.to(device or "cpu"),
        **_truth_of(first, arguments, device),
    )
    facts = [("file", asked.files[0])]
    facts += [(flag.removeprefix("--"), f"column {column}") for flag, column in named.items()]
    title = arguments.title or f"Clusterings in {Path(asked.files[0]).name}"
    seed = arguments.seed or 0
    made = write_report(
        labels, measures, lead, title, arguments.resamples or 1000, arguments.confidence or 0.95, seed, tuple(facts)
    )
    made.to_html(arguments.page)
    count = f"{len(clusterings)} clustering{'s' * (len(clusterings) != 1)}"
    which = "the best" if made.evidence.scores is not None else "the one most like the others"
    return f"{count}; {which} by {made.evidence.lead.name} is {made.best}: {arguments.page}\n"


def _truth_of(first: list[Held], arguments: argparse.Namespace, device: torch.device | None) -> dict[str, Any]:
    """The classes and groups of items, as arguments of ``Labelling``."""
    if not first:
        return {}
    options = parse_selection(arguments).labels
    true, without_class = codes_of_truth(first[0], options)
    found: dict[str, Any] = {"classes": tuple(_named(labels_of(first[0]), true, arguments))}
    if len(first) > 1:
        groups, without_group = codes_of_groups(first[1], options)
        without_class |= without_group
        found |= {"groups": groups.to(device or "cpu"), "group_names": tuple(_named(labels_of(first[1]), groups, None))}
    return found | {"true": true.to(device or "cpu"), "with_class": ~without_class.to(device or "cpu")}


def _named(labels: list[Label], codes: torch.Tensor, arguments: argparse.Namespace | None) -> list[str]:
    """The labels of all codes; those after the labels of a column are of a missing label, or of single items."""
    more = int(codes.max()) + 1 - len(labels) if len(codes) else 0
    single = arguments is not None and arguments.noise == "singletons"
    other = arguments.noise_label if single and arguments is not None else "missing"
    return [*map(str, labels), *[str(other)] * max(0, more)]


def _check_page(path: str, overwrite: bool) -> None:
    """Raise before the work where the page could not be written after it."""
    if not path.lower().endswith(_SUFFIXES):
        raise ValueError(f"--output: expected a file that ends in {' or '.join(_SUFFIXES)}; got {path}")
    check_new(path, overwrite)
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"--output: expected a file in a folder that exists; got {path}")
    for module in ("matplotlib.figure", "scipy"):
        import_optional(module, "plots")


_DETAILS = """\
examples:
  torchclusteval report labels.csv --truth class --output report.html
  torchclusteval report cells.parquet --truth cell_type --missing ignore --by donor --output report.html
  torchclusteval report runs.csv --exclude id --output report.html

One page of HTML, which needs no network: what was read and left out, the ranking with
intervals, which differences from the best are real, the agreement of the clusterings,
the matched table of the best one, its weakest classes and clusters, and which of its
clusters the others have too. Without --truth clusterings are ranked by how well they
agree with the others. Of many clusterings the 200 best have intervals, and the 60 best
are compared with each other.
"""

COMMAND = Command(
    "report",
    "write a page on clusterings: ranking, differences, agreement, weak groups",
    report,
    (
        option("files", nargs=1, metavar="FILE", help="a table of labels, as for score"),
        option("--truth", metavar="COLUMN", help="the column of FILE that holds the truth"),
        option("--by", metavar="COLUMN", help="score the items of each value of this column by themselves"),
        option("--output", dest="page", required=True, metavar="FILE.html", help="the page"),
        OVERWRITE,
        option("--title", metavar="TEXT", help="of the page"),
        COLUMNS,
        EXCLUDE,
        MEASURE_LIST,
        option("--sort", metavar="MEASURE", help="the measure that ranks (default: adjusted_rand, or the first)"),
        option("--confidence", type=probability, metavar="P", help="of intervals (default: 0.95)"),
        option("--resamples", type=positive_int, metavar="R", help="resampled tables, at least (default: 1000)"),
        option("--seed", type=nonnegative_int, metavar="S", help="of the resampling (default: 0)"),
        IGNORE,
        *NOISE,
        MISSING,
        *ONE_FILE,
        DEVICE,
    ),
    _DETAILS,
)
