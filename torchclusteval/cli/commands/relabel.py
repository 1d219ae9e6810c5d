"""The command ``relabel``: clusters renamed as the classes that they are matched to."""

import argparse

import numpy as np
import torch

from torchclusteval.cli.commands.checks import check_noise
from torchclusteval.cli.commands.files import Written, check_label_file, label_array, names_of_rows, write_label_file
from torchclusteval.cli.commands.ranking import note_ties
from torchclusteval.cli.options import table_width
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.cli.reading.columns import Array, whole_number
from torchclusteval.cli.reading.held_codes import HeldTables, labels_of, note_columns, tables_of
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.labels.renaming import names_of_groups
from torchclusteval.scoring.matching import match
from torchclusteval.scoring.matching_scores import matched_scores


def run(arguments: argparse.Namespace) -> str:
    """Rename, write, and say what was matched."""
    check_label_file(arguments.label_file, arguments.overwrite)
    check_noise(arguments)
    asked = parse_selection(arguments)
    (truth, *clusterings), rows = hold_table(asked, {"--truth": arguments.truth}, row_names=True)
    found = tables_of(truth, clusterings, asked.labels)
    titles = [held.title for held in clusterings]
    note_columns(clusterings, truth)
    matching = match(found.tables)
    classes = label_array(labels_of(truth))
    fill = _parse_fill(arguments.fill, classes)
    renamed = [
        _renamed(found, i, title, partner, classes, arguments.unmatched, fill)
        for i, (title, partner) in enumerate(zip(titles, matching.class_of_cluster.numpy(), strict=True))
    ]
    own = Written(truth.title, found.classes, found.true.numpy())
    written = [*names_of_rows(rows, asked.read.id_column), own, *renamed]
    write_label_file(arguments.label_file, written, asked.read.missing)
    note_ties(titles, matching.unique.reshape(-1).tolist())
    n_matched = (matching.class_of_cluster >= 0).sum(-1)
    n_clusters = (found.tables.cluster_sizes > 0).sum(-1)
    columns = (n_matched, n_clusters - n_matched, matched_scores(found.tables, matching)["accuracy"])
    lines = [*zip(titles, *(x.tolist() for x in columns), strict=True)]
    return as_text(Table(["clustering", "matched", "unmatched", "accuracy"], lines), table_width())


def _parse_fill(text: str | None, classes: Array) -> int | str | None:
    if text is None or classes.dtype.kind == "O":
        return text
    number = whole_number(text)
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError(f"--fill: expected a whole number, as the classes are; got {text!r}")
    return number


def _renamed(
    found: HeldTables, i: int, title: str, partner: Array, classes: Array, unmatched: str, fill: int | str | None
) -> Written:
    """A clustering with the labels of its classes; noise and missing labels that are left out stay."""
    own, codes = found.clusters[i], found.codes[i]
    used = torch.bincount(codes[~found.excluded[i]], minlength=len(own)).numpy() > 0
    real = np.where(partner < len(classes), partner, -1)  # the last class may be that of missing labels
    noise = {label for label, is_used in zip(own, used.tolist(), strict=True) if not is_used and label is not None}
    taken = label_array([*classes.tolist(), *noise])
    if len(set(taken.tolist())) < len(taken):
        got = f"{next(iter(noise))!r} in {title!r}"
        raise ValueError(f"--noise-label: expected one that is no class's, as noise keeps its label; got {got}")
    taken = taken if taken.dtype == classes.dtype else classes  # text beside numbers is no number's label
    try:
        names = names_of_groups(real, taken, label_array(own), used, unmatched=unmatched, fill=fill).tolist()
    except ValueError as error:
        remedy = "--unmatched new gives it a new one"
        raise ValueError(f"--unmatched: {title!r}: {str(error).partition(': ')[2]} ({remedy})") from None
    keeps = ~used if fill is not None or unmatched == "new" else ~used | np.array([label is None for label in own])
    if unmatched == "keep" and fill is not None:  # which is for those whose label is a class's
        known = {None, *map(str, taken.tolist())}
        keeps |= np.array([(None if label is None else str(label)) not in known for label in own])
    labels = [
        None if at >= len(classes) else label if is_kept and at < 0 else name
        for name, label, is_kept, at in zip(names, own, keeps.tolist(), partner.tolist(), strict=True)
    ]
    return Written(title, labels, codes.numpy())
