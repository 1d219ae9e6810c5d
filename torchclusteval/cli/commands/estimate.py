"""The command ``estimate``: scores of clusterings where the truth is known for a sample of classes."""

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchclusteval.cli.commands.checks import check_printing, parse_device, parse_list
from torchclusteval.cli.commands.labels import label_array, labels_of, name_of_missing
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held import Label, hold_table, name_gap
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.inference import estimate_from_sample
from torchclusteval.labels.spelled import whole_number
from torchclusteval.tables import ContingencyTables


def run(arguments: argparse.Namespace) -> str:
    """Read, estimate and print."""
    check_printing(arguments)
    device, asked = parse_device(arguments.device), parse_selection(arguments)
    named = {"--truth": arguments.truth, "--against": arguments.against}
    (truth, *held), _ = hold_table(asked, {flag: column for flag, column in named.items() if column is not None})
    held = list(dict.fromkeys(held))
    if arguments.against is not None and len(held) < 2:
        raise ValueError(f"--against: expected another clustering beside {arguments.against!r}; got none")
    unknown = name_of_missing([truth, *held])
    (true,), _ = labels_of([truth], replace(asked, missing="label"), unknown)
    columns, noise = labels_of(held, replace(asked, missing="error"), unknown, asked.noise_label, "--noise-label")
    names = [one.title for one in held]
    options: dict[str, Any] = {"absent_true": unknown, "absent_pred": noise, "device": device}
    try:
        tables = ContingencyTables.from_labels(true, dict(zip(names, columns, strict=True)), **options)
    except ValueError as error:
        raise name_gap(error, held, truth) from None
    classes = [] if tables.classes is None else tables.classes.tolist()
    if not classes:
        raise ValueError(f"--truth: expected a column with the labels of some items; {arguments.truth!r} has none")
    weights = arguments.weights if arguments.weights in ("uniform", "size") else _read(arguments.weights, classes)
    against = None
    if arguments.against is not None:
        names, against, tables = names[1:], tables[0], tables[1:]
    found = estimate_from_sample(tables, weights, against=against)
    wanted = list(found) if arguments.measures is None else parse_list(arguments.measures)
    for name in wanted or [""]:
        if name not in found:
            raise ValueError(f"--measures: expected names of {', '.join(found)}; got {name!r}")
    without = 0 if truth.labels.missing is None else int(truth.labels.missing.sum())
    print_note(f"note: a sample of {len(classes)} classes, {len(truth) - without} of {len(truth)} items")
    rows = [
        {"clustering": title, "measure": name, **{key: x[i].item() for key, x in found[name].columns().items()}}
        for i, title in enumerate(names)
        for name in wanted
    ]
    head = {"n_items": len(truth), "n_classes": len(classes), "truth": arguments.truth, "weights": arguments.weights}
    head |= {} if arguments.against is None else {"against": arguments.against}
    return render(arguments, {"estimates": Table([*rows[0]], rows, 2)}, head)


def _read(path: str, classes: Sequence[Label]) -> Mapping[Any, float]:
    """The weights of a file of lines ``class,weight``.

    Raises:
        ValueError: a line is none, or a class has no weight.
    """
    if not Path(path).is_file():
        raise ValueError(f"--weights: expected uniform, size or a file of lines class,weight; got {path!r}")
    found: dict[Label, float] = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            try:
                label, weight = row[0].strip(), float(row[1])
            except (IndexError, ValueError):
                if number == 1:  # a header
                    continue
                expected = "expected lines class,weight"
                raise ValueError(f"{path}: line {number}: {expected}; got {','.join(row)!r}") from None
            if label in found:
                raise ValueError(f"{path}: line {number}: expected each class once; got {label!r} again")
            found[label] = weight
    if label_array(classes).dtype.kind == "i":
        found = {whole_number(str(label)): weight for label, weight in found.items()}
    lacking = [label for label in classes if label not in found]
    if lacking:
        raise ValueError(f"{path}: expected a weight for each class; got none for {lacking[0]!r}")
    return found
