"""The command ``estimate``: scores of clusterings where the truth is known for a sample of classes."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from torchclusteval.cli.commands.checks import check_printing, parse_list
from torchclusteval.cli.commands.labels import labels_of, name_of_missing
from torchclusteval.cli.options import print_note, shown
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.held import Label, hold, hold_columns, listed, name_gap
from torchclusteval.cli.reading.selection import Selection, parse_selection
from torchclusteval.inference import estimate_from_sample
from torchclusteval.inference.sampled_truth import Estimate
from torchclusteval.labels.inputs import check_device
from torchclusteval.labels.spelled import comma_remedy, is_number, whole_number
from torchclusteval.tables import ContingencyTables


def run(arguments: argparse.Namespace) -> str:
    """Read, estimate and print."""
    check_printing(arguments)
    device, asked = check_device(arguments.device or "cpu"), parse_selection(arguments)
    (truth, *held), _ = hold_columns(asked, {"--truth": arguments.truth, "--against": arguments.against})
    held = list(dict.fromkeys(held))
    if arguments.against is not None and len(held) < 2:
        raise ValueError(f"--against: expected a clustering other than {arguments.against!r}; got none")
    without = 0 if truth.labels.missing is None else int(truth.labels.missing.sum())
    if without == len(truth):
        raise ValueError(f"--truth: expected a column with the labels of some items; {arguments.truth!r} has none")
    unknown = name_of_missing([truth, *held])
    (true,), _ = labels_of([truth], replace(asked, missing="label"), unknown)
    columns, noise = labels_of(held, replace(asked, missing="error"), unknown, asked.noise_label, "--noise-label")
    names = [one.title for one in held]
    options: dict[str, Any] = {"absent_true": unknown, "absent_pred": noise, "device": device}
    try:
        tables = ContingencyTables.from_labels(true, dict(zip(names, columns, strict=True)), **options)
    except ValueError as error:
        raise name_gap(error, held, None, remedy="--noise-label NA says that they are in no cluster") from None
    assert tables.classes is not None
    classes, weights = tables.classes.tolist(), arguments.weights
    if weights not in ("uniform", "size"):
        weights = _read(weights, classes, asked)
    against = None
    if arguments.against is not None:
        names, against, tables = names[1:], tables[0], tables[1:]
    found = estimate_from_sample(tables, weights, against=against)
    wanted = list(found) if arguments.measures is None else parse_list(arguments.measures)
    for name in wanted or [""]:
        if name not in found:
            raise ValueError(f"--measures: expected names of {', '.join(found)}; got {name!r}")
    print_note(f"note: a sample of {len(classes)} classes, {len(truth) - without} of {len(truth)} items")
    rows = [
        {"clustering": title, "measure": name, **_row(found[name], i, len(classes))}
        for i, title in enumerate(names)
        for name in wanted
    ]
    head = {"n_items": len(truth), "n_classes": len(classes), "truth": arguments.truth, "weights": arguments.weights}
    head |= {} if arguments.against is None else {"against": arguments.against}
    return render(arguments, {"estimates": Table([*rows[0]], rows, 2)}, head)


def _row(record: Estimate, i: int, n_classes: int) -> dict[str, float]:
    """An estimate with its interval, and a difference with its p-value, by Student's t; nan where the error is 0."""
    values, t = {key: x[i].item() for key, x in record.columns().items()}, n_classes - 1
    reach = float(stdtrit(t, 0.975)) * (values["standard_error"] or math.nan)
    low, high = np.clip([values["estimate"] - reach, values["estimate"] + reach], 0, 1).tolist()
    row = {"estimate": values.pop("estimate"), "low": low, "high": high, **values}
    if "difference" in row:
        row["p"] = 2 * float(stdtr(t, -abs(row["difference"]) / (row["difference_error"] or math.nan)))
    return row


def _read(path: str, classes: Sequence[Label], asked: Selection) -> dict[Any, float]:
    """The weights of a file of lines ``class,weight``; raise on other lines, and on a class without a weight."""
    if not Path(path).is_file():
        raise ValueError(f"--weights: expected uniform, size or a file of lines class,weight; got {path!r}")
    own = Selection([path], spellings=asked.spellings)
    table = open_table(path, own, is_table=False)
    if table.row_names is None and is_number(table.names[-1]):  # a first line with a weight
        table = open_table(path, replace(own, header="no"), is_table=False)
    names = [*([] if table.row_names is None else [table.row_names]), *table.names]
    if len(names) != 2:
        raise ValueError(f"{path}: expected lines class,weight; got {len(names)} cells")
    of_numbers, wanted = all(isinstance(x, int) for x in classes), {*classes}
    if (whole_number(names[0]) if of_numbers else names[0]) in wanted:
        got = f"{names[1]!r}{comma_remedy(names[1])}"
        raise ValueError(f"{path}: line 1: expected a positive number after {names[0]!r}; got {got}")
    columns = hold(table, {name: name for name in names}, own, None, as_text=names)
    read = [np.array([*words, None], object)[places] for words, places in (listed(x.labels) for x in columns)]
    found: dict[Label, float] = {}
    for row, (label, weight) in enumerate(zip(*read, strict=True)):
        at = f"{path}: {table.place(row)}"
        if weight is None or not is_number(str(weight)) or not 0 < float(weight) < math.inf:
            got = f"{weight!r}{comma_remedy(str(weight))}" if weight else "a missing one, such as an empty cell or nan"
            raise ValueError(f"{at}: expected a positive number; got {got}")
        number = whole_number(str(label)) if of_numbers else None
        key = label if number is None else number
        if label is None or key in found:
            raise ValueError(f"{at}: expected each class once; got {'none' if label is None else f'{label!r} again'}")
        found[key] = float(weight)
    if lacking := [label for label in classes if label not in found]:
        got = f"none for {lacking[0]!r}, but for {shown([*map(str, found)])}"
        raise ValueError(f"{path}: expected a weight for each class; got {got}")
    if unknown := [label for label in found if label not in wanted]:
        print_note(f"note: {path}: {len(unknown)} of {len(found)} classes have no items, such as {unknown[0]!r}")
    return found
