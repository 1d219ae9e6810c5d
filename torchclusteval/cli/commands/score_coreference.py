"""The command ``score-coreference``: the measures of coreference of all documents together, and of each."""

import argparse
from typing import Any

from torchclusteval.cli.commands.checks import check_printing, check_seed, parse_list
from torchclusteval.cli.commands.documents import read_responses, zero_is_zero
from torchclusteval.cli.commands.ranking import note_skipped
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, as_json, render
from torchclusteval.common.formatting import format_number
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference.bootstrap_options import POPULATIONS, BootstrapOptions
from torchclusteval.inference.group_resampling import group_resampler
from torchclusteval.inference.sampling import seeded
from torchclusteval.scoring.evaluation import evaluate_tables, pool
from torchclusteval.tables import ContingencyTables

MEASURES = {"MUC": "muc", "B3": "coref_bcubed", "CEAF-m": "ceaf_m", "CEAF-e": "ceaf_e", "BLANC": "blanc", "LEA": "lea"}
_SIDES = ("recall", "precision", "f")
_TOTAL = "all documents"

Row = dict[str, Any]


def run(arguments: argparse.Namespace) -> str:
    """Read the key and its responses, score and print as the reference scorer does: 0/0 is 0."""
    check_printing(arguments)
    check_seed(arguments)
    asked = None if arguments.measures is None else parse_list(arguments.measures)
    rows: list[Row] = []
    read = read_responses(arguments.files, arguments.on_duplicate)
    several = len(read.names) > 1  # one response needs no name
    for name, tables in zip(read.names, read.tables, strict=True):
        named = {"response": name} if several else {}
        rows += [named | row for row in _rows(tables, read.documents, asked, arguments)]
    if arguments.format == "json":
        return as_json(rows)
    number = format_number if asked else lambda x: f"{100 * x:.2f}%"
    return render(arguments, {"scores": Table([*rows[-1]], rows, 2 + several, number)}, {})


def _rows(
    tables: ContingencyTables, documents: list[str], asked: list[str] | None, arguments: argparse.Namespace
) -> list[Row]:
    """Document, measure and its values: of the measures asked for the score, else recall, precision and F."""
    names = asked or [*(f"{name}_{side}" for name in MEASURES.values() for side in _SIDES), "conll_f"]
    zero = zero_is_zero(names)
    total, sums = pool(tables, names, **zero)
    note_skipped(total.skipped)
    measures = list(total.measures.values())
    spans: dict[str, Row] = {}
    if arguments.confidence_level is not None or arguments.resamples is not None:
        options = BootstrapOptions(arguments.resamples or 1000, arguments.confidence_level or 0.95, "percentile", None)
        with progress_bar("bootstrap") as progress:
            drawn = options.resample_by(
                group_resampler(tables, sums), measures, dict(total), seeded(arguments.seed or 0), progress
            )
        print_note(f"note: drawn: documents; intervals are of {POPULATIONS['groups']}")
        for name, value in total.items():
            low, high, _ = drawn.interval(name, value, None)
            spans[name] = {"low": float(low), "high": float(high)}
    rows: list[Row] = []
    if arguments.per is not None:
        every = evaluate_tables(tables, measures).to_dict()
        for number, document in enumerate(documents):
            rows += _of_document(document, {name: column[number] for name, column in every.items()}, {}, asked)
    return rows + _of_document(_TOTAL, total.to_dict(), spans, asked)


def _of_document(document: Any, values: Row, spans: dict[str, Row], asked: list[str] | None) -> list[Row]:
    if asked:
        return [
            {"document": document, "measure": name, "score": value, **spans.get(name, {})}
            for name, value in values.items()
        ]
    rows = []
    for shown, name in [*MEASURES.items(), ("CoNLL", "conll")]:
        sides: Row = {side: values.get(f"{name}_{side}") for side in _SIDES}
        span = {f"f_{end}": x for end, x in spans.get(f"{name}_f", {}).items()}
        rows.append({"document": document, "measure": shown, **sides, **span})
    return rows
