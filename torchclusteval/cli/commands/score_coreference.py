"""The command ``score-coreference``: the measures of coreference of every document, and of all."""

import argparse
from typing import Any

from torchclusteval.cli.commands.checks import check_printing
from torchclusteval.cli.options import numbered, print_note
from torchclusteval.cli.printing import Table, as_json, render
from torchclusteval.scoring.coreference_files import ReadDocument, read_documents
from torchclusteval.scoring.evaluation import evaluate_tables, pooled
from torchclusteval.tables import ContingencyTables

_MEASURES = {"MUC": "muc", "B3": "coref_bcubed", "CEAF-m": "ceaf_m", "CEAF-e": "ceaf_e", "BLANC": "blanc", "LEA": "lea"}
_SIDES = ("recall", "precision", "f")
_TOTAL = "all documents"


def run(arguments: argparse.Namespace) -> str:
    """Read the key and its responses, score and print as the reference scorer does: 0/0 is 0."""
    check_printing(arguments)
    path, *responses = arguments.files
    if not responses:
        remedy = "score-coreference key.conll response.conll; more responses give more rows"
        raise ValueError(f"FILE: expected the key and one response of coreference; got 1 files ({remedy})")
    key = read_documents(path, arguments.on_duplicate)
    rows = []
    for other, name in zip(responses, numbered(responses), strict=True):
        response = read_documents(other, arguments.on_duplicate)
        _check_documents(key, response, [path, other])
        named = {"response": name} if len(responses) > 1 else {}  # one response needs no name
        rows += [named | row for row in _rows(key, response)]
    if arguments.format == "json":
        return as_json(rows)
    table = Table([*rows[0]], rows, len(rows[0]) - len(_SIDES), lambda x: f"{100 * x:.2f}%")
    return render(arguments, {"scores": table}, {})


def _rows(key: dict[str, ReadDocument], response: dict[str, ReadDocument]) -> list[dict[str, Any]]:
    """Document, measure, recall, precision and F."""
    tables = ContingencyTables.from_documents(
        *({name: document.entities for name, document in side.items()} for side in (key, response))
    )
    names = [*(f"{name}_{side}" for name in _MEASURES.values() for side in _SIDES), "conll_f"]
    every = evaluate_tables(tables, names, zero_division=0.0).to_dict()
    total = pooled(tables, names, zero_division=0.0).to_dict()
    rows: list[dict[str, Any]] = []
    documents = tables.names or ()
    for number, document in enumerate([*documents, _TOTAL]):
        values = total if number == len(documents) else {name: column[number] for name, column in every.items()}
        for shown, name in _MEASURES.items():
            sides = {side: values[f"{name}_{side}"] for side in _SIDES}
            rows.append({"document": document, "measure": shown, **sides})
        rows.append({"document": document, "measure": "CoNLL", **dict.fromkeys(_SIDES), "f": values["conll_f"]})
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
        got = f"{next(iter(response))!r}, which is not there"
        raise ValueError(f"{files[1]}: expected documents of {files[0]}; got {got}")
    for path, side, other in ((files[0], key, response), (files[1], response, key)):
        alone = [name for name in side if name not in other]
        if alone:
            said = f"{len(alone)} documents are in {path} alone, such as {alone[0]!r}; the other has no mention"
            print_note(f"note: {said}")
