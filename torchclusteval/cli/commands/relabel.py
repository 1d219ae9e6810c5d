"""The command ``relabel``: clusters renamed as the classes that they are matched to."""

import argparse

import numpy as np

from torchclusteval.cli.commands.checks import note_ties
from torchclusteval.cli.commands.files import Written, check_label_file, names_of_rows, write_label_file
from torchclusteval.cli.commands.labels import Given, given_labels, label_array
from torchclusteval.cli.options import table_width
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.cli.reading.held import Label, hold_columns, listed
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.labels.group_labels import as_objects, labels_at
from torchclusteval.labels.renaming import new_labels
from torchclusteval.labels.spelled import whole_number
from torchclusteval.scoring.matching import match, matched_scores


def run(arguments: argparse.Namespace) -> str:
    """Rename, write, and say what was matched."""
    check_label_file(arguments)
    asked = parse_selection(arguments)
    (truth, *clusterings), rows = hold_columns(asked, {"--truth": arguments.truth}, row_names=True)
    given = given_labels(asked, clusterings, truth)
    tables = given.tables()
    matching, titles = match(tables), list(given.labels)
    classes, places = listed(truth.labels)
    known = label_array(classes)
    fill = _parse_fill(arguments.fill, known)
    noise = given.noise["noise_label"] if asked.noise == "ignore" else None
    renamed = []
    for i, title in enumerate(titles):
        of_classes = labels_at(as_objects(tables.classes, tables.shape[-2]), matching.class_of_cluster[i])
        clusters = as_objects(tables[i].clusters, tables.shape[-1])
        matched = {x: y for x, y in zip(clusters.tolist(), of_classes.tolist(), strict=True) if y is not None}
        renamed.append(_renamed(title, given, matched, known, noise, arguments.unmatched, fill))
    written = [*names_of_rows(rows, asked.id_column), Written(truth.title, classes, places), *renamed]
    write_label_file(arguments.label_file, written, asked.spellings)
    note_ties(titles, matching.unique.reshape(-1).tolist())
    n_matched = (matching.class_of_cluster >= 0).sum(-1)
    n_clusters = (tables.cluster_sizes > 0).sum(-1)
    columns = (n_matched, n_clusters - n_matched, matched_scores(tables, matching)["accuracy"])
    lines = [*zip(titles, *(x.tolist() for x in columns), strict=True)]
    return as_text(Table(["clustering", "matched", "unmatched", "accuracy"], lines), table_width())


def _parse_fill(text: str | None, classes: np.ndarray) -> int | str | None:
    if text is None or classes.dtype.kind == "O":
        return text
    number = whole_number(text)
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError(f"--fill: expected a whole number, as the classes are; got {text!r}")
    return number


def _renamed(
    title: str,
    given: Given,
    matched: dict[Label, Label],
    classes: np.ndarray,
    noise: Label,
    unmatched: str,
    fill: Label,
) -> Written:
    """A clustering with the labels of its classes; noise and missing labels that are left out stay."""
    labels, places = listed(given.labels[title])
    has_noise = noise is not None and noise != given.missing and noise in labels
    known = {*map(str, classes.tolist()), *([str(noise)] if has_noise else [])}
    if has_noise and len(known) == len(classes):
        got = f"{noise!r} in {title!r}"
        raise ValueError(f"--noise-label: expected a label that no class has, as noise keeps it; got {got}")
    alone = [x for x in labels if x not in matched and x != noise]
    names: dict[Label, Label] = {x: None if (y := matched.get(x, x)) == given.missing else y for x in labels}
    if unmatched == "keep":
        clash = [x for x in alone if str(x) in known]
        if clash and fill is None:
            got = f"{clash[0]!r} as both (--unmatched new gives such clusters new labels)"
            expected = "expected clusters without a class to have labels that no class has"
            raise ValueError(f"--unmatched: {title!r}: {expected}; got {got}")
        names |= dict.fromkeys(clash, fill)
    elif fill is not None:
        names |= dict.fromkeys(alone, fill)
    else:
        taken = label_array([*classes.tolist(), *([noise] if has_noise else [])])
        fresh = new_labels(taken if taken.dtype == classes.dtype else classes, len(alone))
        names |= dict(zip(alone, fresh.tolist(), strict=True))
    return Written(title, [names[x] for x in labels], places)
