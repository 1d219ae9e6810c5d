"""Coreference files: the tables of the documents of a key and its responses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.options import numbered, print_note
from torchclusteval.common.formatting import lacking
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import select
from torchclusteval.scoring.coreference_files import ReadDocument, read_documents
from torchclusteval.tables import ContingencyTables

SUFFIXES = ("conll", "key", "response")

Documents = dict[str, ReadDocument]


def is_coreference(path: str) -> bool:
    """Whether the name of a file is that of a coreference file."""
    return path.lower().rpartition(".")[2].endswith(SUFFIXES)


@dataclass(frozen=True, eq=False)
class Responses:
    """The responses to one key."""

    names: list[str]
    documents: list[str]
    tables: ContingencyTables  # (responses, documents)


def read_responses(files: Sequence[str], on_duplicate: str, least: int = 1) -> Responses:
    """Read the key and its responses; raise on fewer responses than ``least``, and on files of different texts."""
    path, *responses = files
    if len(responses) < least:
        number = "one response" if least == 1 else "two responses"
        raise ValueError(f"FILE: expected the key and {number} of coreference; got {' '.join(files)}")
    key = read_documents(path, on_duplicate)
    read = [read_documents(other, on_duplicate) for other in responses]
    for other, response in zip(responses, read, strict=True):
        _check_documents(key, response, [path, other])
    documents = list(dict.fromkeys(name for side in (key, *read) for name in side))
    pairs = [(i, name) for i in range(len(read)) for name in documents]
    true = {(i, name): key[name].entities if name in key else [] for i, name in pairs}
    pred = {(i, name): read[i][name].entities if name in read[i] else [] for i, name in pairs}
    places = torch.arange(len(pairs)).reshape(len(read), len(documents))
    return Responses(numbered(responses), documents, ContingencyTables.from_documents(true, pred)[places])


def coverages(measures: Iterable[Measure], share: np.ndarray, *, noted: bool = True) -> dict[str, dict[str, Any]]:
    """The coverage of each measure: ``share`` ``(*batch,)``, of the mentions that both sides have, or 1.

    Measures of partitions use only the mentions of both sides: a note says so. Empty if no measure leaves some out.
    """
    partial = [measure for measure in measures if not measure.one_sided]
    if not partial or not (share < 1).any():
        return {}
    if noted:
        names = ", ".join(measure.name for measure in partial)
        print_note(f"note: {names}: only mentions of both key and response count; see coverage (lea_f uses all)")
    return {x.name: {"coverage": share if x in partial else np.ones_like(share)} for x in measures}


def zero_is_zero(measures: Iterable[Any]) -> dict[str, float]:
    """The option for 0/0 = 0, as in the reference scorer, if a measure has it."""
    return {"zero_division": 0.0} if any(measure.zero_division for measure in select(measures)) else {}


def _check_documents(key: Documents, response: Documents, files: list[str]) -> None:
    """Print a note with the documents of one file only; they count as without mentions in the other.

    Raise on a document with another number of tokens in the other file, and on files that share no document.
    """
    for name in key.keys() & response.keys():
        counts = key[name].n_tokens, response[name].n_tokens
        if counts[0] != counts[1]:
            got = f"{counts[0]} and {counts[1]}"
            raise ValueError(f"{files[1]}: expected as many tokens in {name!r} as in {files[0]}; got {got}")
    if not key.keys() & response.keys():
        got = f"others, such as {next(iter(response))!r}"
        raise ValueError(f"{files[1]}: expected documents of {files[0]}; got {got}")
    for file, own, other in ((files[1], response, key), (files[0], key, response)):
        if said := lacking(own, other):
            print_note(f"note: {file} {said}")
