"""``score key.conll response.conll``: the measures of coreference of every document, and of all."""

import argparse
import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from torchclusteval.cli.options import Option, numbered, option, print_note, table_width
from torchclusteval.cli.printing.score_table import printable, tabulate
from torchclusteval.scoring.coreference_files import ReadDocument, read_documents
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.pooling import pooled
from torchclusteval.tables import ContingencyTables

_MEASURES = {
    "MUC": "muc",
    "B3": "coref_bcubed",
    "CEAF-m": "ceaf_m",
    "CEAF-e": "ceaf_e",
    "BLANC": "blanc",
    "LEA": "lea",
}
ON_DUPLICATE = option(
    "--on-duplicate",
    choices=("error", "first"),
    default="error",
    help="what becomes of a mention in two entities of a coreference file: refused, or kept in the first",
)
_KEPT = {"files", "on_duplicate", "format", "output", "overwrite"}  # options of files of labels have no place
_SIDES = ("recall", "precision", "f")
_REMEDIES = {
    "--measures": ", which have the table of the reference scorer (in Python read_conll and pooled give any measure)",
}
_TOTAL = "all documents"


def are_conll(files: list[str]) -> bool:
    """Whether files are coreference files by their names (.conll, .v4_gold_conll).

    Raises:
        ValueError: some are and others are not.
    """
    named = [name.rpartition(".")[2].endswith("conll") for name in files]
    if any(named) and not all(named):
        other = files[named.index(False)]
        raise ValueError(f"FILE: expected files of coreference (.conll) alone, or none; got {other!r} among them")
    return all(named)


def score_coreference(arguments: argparse.Namespace, options: Sequence[Option]) -> str:
    """Read the key and its responses, score and print as the reference scorer does: 0/0 is 0.

    Raises:
        ValueError: one file, an option of files of labels is given, or a file is not as described.
    """
    for flag in (asked.flags[0] for asked in options if _is_given(asked, arguments)):
        raise ValueError(f"{flag}: expected files of labels; got files of coreference{_REMEDIES.get(flag, '')}")
    path, *responses = arguments.files
    if not responses:
        remedy = "score key.conll response.conll; more responses give more rows"
        raise ValueError(f"FILE: expected the key and one response of coreference; got 1 files ({remedy})")
    key = read_documents(path, arguments.on_duplicate)
    rows = []
    for other, name in zip(responses, numbered(responses), strict=True):
        response = read_documents(other, arguments.on_duplicate)
        _check_documents(key, response, [path, other])
        rows += [[name, *row] for row in _rows(key, response)]
    header = ["response", "document", "measure", *_SIDES]
    first = 0 if len(responses) > 1 else 1  # one response needs no name
    return _render(header[first:], [row[first:] for row in rows], arguments)


def _rows(key: dict[str, ReadDocument], response: dict[str, ReadDocument]) -> list[list[Any]]:
    """Document, measure, recall, precision and F."""
    tables = ContingencyTables.from_documents(
        *({name: document.entities for name, document in side.items()} for side in (key, response))
    )
    names = [f"{name}_{side}" for name in _MEASURES.values() for side in _SIDES]
    every = evaluate_tables(tables, [*names, "conll_f"], zero_division=0.0).to_dict()
    total = pooled(tables, [*names, "conll_f"], zero_division=0.0).to_dict()
    rows: list[list[Any]] = []
    documents = tables.names or ()
    for number, document in enumerate([*documents, _TOTAL]):
        values = total if number == len(documents) else {name: column[number] for name, column in every.items()}
        for shown, name in _MEASURES.items():
            rows.append([document, shown, *(values[f"{name}_{side}"] for side in _SIDES)])
        rows.append([document, "CoNLL", None, None, values["conll_f"]])
    return rows


def _check_documents(key: dict[str, ReadDocument], response: dict[str, ReadDocument], files: list[str]) -> None:
    """Print a note where one file alone has documents; they count as documents without mentions in the other.

    Raises:
        ValueError: a document has another number of tokens in the other file, or the files share no document.
    """
    for name in key.keys() & response.keys():
        counts = key[name].n_tokens, response[name].n_tokens
        if counts[0] != counts[1]:
            got = f"{counts[0]} and {counts[1]}"
            raise ValueError(f"{files[1]}: expected the tokens of {files[0]} in {name!r}, as many as there; got {got}")
    if not key.keys() & response.keys():
        raise ValueError(
            f"{files[1]}: expected documents of {files[0]}; got {next(iter(response))!r}, which is not there"
        )
    for path, side, other in ((files[0], key, response), (files[1], response, key)):
        alone = [name for name in side if name not in other]
        if alone:
            print_note(
                f"note: {len(alone)} documents are in {path} alone, such as {alone[0]!r}; the other has no mention"
            )


def _is_given(asked: Option, arguments: argparse.Namespace) -> bool:
    name = asked.settings.get("dest") or asked.flags[-1].lstrip("-").replace("-", "_")
    nothing = False if asked.settings.get("action") == "store_true" else None
    return name not in _KEPT and getattr(arguments, name) != asked.settings.get("default", nothing)


def _render(header: list[str], rows: list[list[Any]], arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return json.dumps([dict(zip(header, row, strict=True)) for row in rows], indent=2) + "\n"
    if arguments.format == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        return text.getvalue()
    named = len(header) - len(_SIDES)
    cells = [
        [*map(printable, row[:named]), *("" if x is None else f"{100 * x:.2f}%" for x in row[named:])] for row in rows
    ]
    width = table_width(arguments.output)
    return tabulate(header, cells, arguments.format, width, pairs=named > 2)
