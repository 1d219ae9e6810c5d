"""The command ``score-coreference``: the measures of coreference of all documents together, and of each."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from torchclusteval.cli.commands.checks import check_printing, check_seed, parse_list
from torchclusteval.cli.commands.documents import coverages, read_responses, zero_is_zero
from torchclusteval.cli.commands.ranking import note_skipped
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, as_json, render
from torchclusteval.common.formatting import format_number
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference.bootstrap_options import POPULATIONS, BootstrapOptions
from torchclusteval.inference.group_resampling import group_resampler
from torchclusteval.inference.sampling import seeded
from torchclusteval.measures.registry import select
from torchclusteval.scoring.evaluation import evaluate_tables, pool

MEASURES = {"MUC": "muc", "B3": "coref_bcubed", "CEAF-m": "ceaf_m", "CEAF-e": "ceaf_e", "BLANC": "blanc", "LEA": "lea"}
_SIDES = ("recall", "precision", "f")
_TOTAL = "all documents"

Row = dict[str, Any]


def run(arguments: argparse.Namespace) -> str:
    """Read the key and its responses, score and print as the reference scorer does: 0/0 is 0."""
    check_printing(arguments)
    check_seed(arguments)
    asked = None if arguments.measures is None else parse_list(arguments.measures)
    read = read_responses(arguments.files, arguments.on_duplicate)
    names = asked or [*(f"{name}_{side}" for name in MEASURES.values() for side in _SIDES), "conll_f"]
    alone = [measure for measure, named in select(names).items() if named and measure.parts is None]
    if alone and arguments.per is None:
        got = f"{alone[0].name!r} (--per document has its rows; difference --macro compares two responses)"
        raise ValueError(f"--measures: expected measures defined by sums over documents; got {got}")
    if alone:
        lacking = ", ".join(measure.name for measure in alone)
        print_note(f"note: no row of all documents for {lacking}: not defined by sums over documents")
    summed = [measure for measure in select(names) if measure not in alone]
    total, sums = pool(read.tables, summed or ["lea_f"], **zero_is_zero(names))  # of none, for the coverage
    note_skipped(total.skipped)
    measures = [*(total.measures.values() if summed else ()), *alone]
    shares = coverages(measures, total.coverage.numpy())
    columns = {name: {**shares.get(name, {}), "score": value.numpy()} for name, value in total.items() if summed}
    if summed and (arguments.confidence_level is not None or arguments.resamples is not None):
        if len(read.documents) < 2:
            raise ValueError("--resamples: expected at least two documents to draw from; got 1")
        options = BootstrapOptions(arguments.resamples or 1000, arguments.confidence_level or 0.95, "percentile", None)
        with progress_bar("bootstrap") as progress:
            resampler, rng = group_resampler(read.tables, sums), seeded(arguments.seed or 0)
            drawn = options.resample_by(resampler, [*total.measures.values()], dict(total), rng, progress)
        for said in (f"drawn: documents; intervals hold for {POPULATIONS['documents']}", *drawn.notes):
            print_note(f"note: {said.replace('groups', 'documents')}")
        for name, value in total.items():
            low, high, _ = drawn.interval(name, value, None)
            columns[name] |= {"low": low.numpy(), "high": high.numpy()}
    every = None if arguments.per is None else evaluate_tables(read.tables, measures)
    if every is not None:
        shares = shares and coverages(measures, every.coverage.numpy(), noted=False)
        each = {name: {**shares.get(name, {}), "score": value.numpy()} for name, value in every.items()}
    several, rows = len(read.names) > 1, list[Row]()
    for i, response in enumerate(read.names):
        own = _rows(_TOTAL, columns, i, asked)
        if every is not None:
            own = [row for j, x in enumerate(read.documents) for row in _rows(x, each, (i, j), asked)] + own
        rows += [{"response": response, **row} if several else row for row in own]  # one response needs no name
    if arguments.format == "json":
        return as_json(rows)
    number = format_number if asked else lambda x: f"{100 * x:.2f}%"
    return render(arguments, {"scores": Table([*rows[-1]], rows, 2 + several, number)}, {})


def _rows(
    document: str, columns: Mapping[str, Mapping[str, np.ndarray]], at: Any, asked: Sequence[str] | None
) -> list[Row]:
    """Rows of a document: the score of each measure asked for, else recall, precision and F."""
    values = {name: {key: x[at].item() for key, x in own.items()} for name, own in columns.items()}
    if asked:
        return [{"document": document, "measure": name, **own} for name, own in values.items()]
    rows = []
    for shown, name in [*MEASURES.items(), ("CoNLL", "conll")]:
        sides: Row = {side: values.get(f"{name}_{side}", {}).get("score") for side in _SIDES}
        span = {f"f_{end}": values[f"{name}_f"][end] for end in ("low", "high") if end in values[f"{name}_f"]}
        rows.append({"document": document, "measure": shown, **sides, **span})
    return rows
