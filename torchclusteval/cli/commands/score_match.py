"""``score --match``: the cluster of each class and how far they agree."""

import torch

from torchclusteval.cli.options import option, print_note
from torchclusteval.cli.printing.score_table import MatchedClass
from torchclusteval.cli.reading.columns import Label
from torchclusteval.cli.reading.held_codes import HeldTables, labelled, tables_of
from torchclusteval.cli.reading.read import Counted, Selection, hold_files, hold_table
from torchclusteval.scoring.matching import match
from torchclusteval.scoring.matching_scores import matched_scores

MATCH = option(
    "--match",
    action="store_true",
    help="add the cluster that each class is matched with, one to one, and their intersection over union",
)
_MISSING = "missing"
_NOTES = 3


def count_labelled(asked: Selection, truth: str | None, device: torch.device | None) -> tuple[Counted, HeldTables]:
    """The tables of the clusterings against the truth, with their labels.

    Raises:
        ValueError: files or names are not as described.
        OSError: a file cannot be read.
    """
    if truth is None:
        held, name = hold_files(asked, with_truth=True), asked.files[0]
    else:
        (held, _), name = hold_table(asked, {"--truth": truth}), truth
    found = tables_of(held[0], held[1:], asked.labels, device)
    names = [one.title for one in held[1:]]
    return Counted(name, names, len(found.true), labelled(found)), found


def note_ties(names: list[str], unique: list[bool]) -> None:
    """Print a note for each of the first clusterings with several best matchings."""
    for name in [name for name, only in zip(names, unique, strict=True) if not only][:_NOTES]:
        print_note(f"note: {name!r} has several best matchings; shown is one of them")


def matched_classes(found: HeldTables) -> tuple[list[list[MatchedClass]], list[bool]]:
    """The matched classes of each clustering, and whether their matching is the only best one."""
    matching = match(found.tables)
    classes = [i for i, size in enumerate(found.tables.class_sizes.sum(0).tolist()) if size > 0]
    columns, overlaps = matching.cluster_of_class.tolist(), matched_scores(found.tables, matching)["iou"].tolist()
    matched = [
        [
            MatchedClass(_name(found.classes[i]), _name(clusters[own[i]]) if own[i] >= 0 else None, overlap[i])
            for i in classes
        ]
        for clusters, own, overlap in zip(found.clusters, columns, overlaps, strict=True)
    ]
    return matched, matching.unique.tolist()


def _name(label: Label) -> str | int:
    return _MISSING if label is None else label
