"""The command ``compare``: clusterings in files against each other."""

import argparse
import csv
import io
import json
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.commands.pictures import COMPARE_PICTURE, check_picture, plot_pairs, plot_runs
from torchclusteval.cli.options import (
    COLUMNS,
    DEVICE,
    EXCLUDE,
    FORMAT,
    NOISE,
    OUTPUT,
    OVERWRITE,
    PLOT,
    READING,
    Command,
    check_noise,
    check_plot,
    decide_format,
    note_ids,
    option,
    parse_device,
    parse_measure,
    table_width,
)
from torchclusteval.cli.printing.score_table import json_value, printable, tabulate
from torchclusteval.cli.reading.held_codes import codes_of, each_alone, labels_of
from torchclusteval.cli.reading.read import Held, hold_files, parse_selection
from torchclusteval.common.formatting import format_number
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import pairwise
from torchclusteval.inference.agreement import Stability, stability_of
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

_MAX_MATRIX_CLUSTERINGS = 12  # wider matrices only as CSV and JSON


def compare(arguments: argparse.Namespace) -> str:
    """Agreement of clusterings with each other."""
    check_plot(arguments.plot)
    check_picture(arguments)
    measure = parse_measure(arguments.measure, "--measure")
    device = parse_device(arguments.device)
    arguments.format = decide_format(arguments)
    check_noise(arguments)
    held = hold_files(parse_selection(arguments), with_truth=False)
    names = [one.title for one in held]
    if len(names) < 2:
        raise ValueError(f"clusterings: expected at least two; got {len(names)}")
    codes, excluded = codes_of(held, parse_selection(arguments).labels)
    note_ids(names, each_alone(codes))
    with progress_bar("all pairs") as progress:
        values = _all_pairs(codes.to(device or "cpu"), excluded.to(device or "cpu"), measure, progress).cpu()
    if arguments.plot is not None:
        if arguments.picture in (None, "agreement"):
            plot_pairs(arguments.plot, measure, names, values)
        else:
            plot_runs(arguments.plot, arguments.picture, names, _labels(held, codes, excluded))
    matrix, record = values.numpy() + 0.0, stability_of(values, measure)
    if arguments.format == "json":
        return _as_json(measure, names, matrix, record)
    if arguments.format == "csv":
        return _as_csv(names, matrix)
    return _as_table(measure, names, matrix, record, arguments)


def _all_pairs(codes: torch.Tensor, excluded: torch.Tensor, measure: Measure, progress: Any) -> torch.Tensor:
    """The measure of all pairs, ``(M, M)``; of each pair without the items that either clustering leaves out."""
    if not bool(excluded.any()):
        return pairwise(codes, [measure], item_dims=1, progress=progress)[measure.name]
    count = len(codes)
    values = codes.new_empty((count, count), dtype=torch.float64)
    for i in range(count):
        tables = ContingencyTables.from_labels(codes[i], codes[i:], mask=~(excluded[i] | excluded[i:]), item_dims=1)
        values[i:, i] = evaluate_tables(tables.mT, [measure])[measure.name]
        values[i, i:] = evaluate_tables(tables, [measure])[measure.name]
        if progress is not None:
            progress(i + 1, count)
    return values


def _labels(held: list[Held], codes: torch.Tensor, excluded: torch.Tensor) -> list[np.ndarray]:
    """The labels of each clustering, ``(N,)`` text; None for items that it leaves out."""
    labels = []
    for one, row, out in zip(held, codes.numpy(), excluded.numpy(), strict=True):
        own = [*map(str, labels_of(one))]
        names = np.array([*own, *["missing"] * (int(row.max(initial=0)) + 1 - len(own))], dtype=object)
        chosen = names[row]
        chosen[out] = None
        labels.append(chosen)
    return labels


def _as_json(measure: Measure, names: list[str], matrix: np.ndarray, record: Stability) -> str:
    result = {
        "measure": measure.name,
        "clusterings": names,
        "values": [[json_value(x) for x in row] for row in matrix.tolist()],
        "agreement": [json_value(x) for x in record.agreement.tolist()],
        "overall": json_value(record.overall),
        "medoid": None if record.medoid is None else names[record.medoid],
    }
    return json.dumps(result, indent=1, allow_nan=False) + "\n"


def _as_csv(names: list[str], matrix: np.ndarray) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["clustering", *names])
    writer.writerows([name, *row] for name, row in zip(names, matrix.tolist(), strict=True))
    return stream.getvalue()


def _as_table(
    measure: Measure, names: list[str], matrix: np.ndarray, record: Stability, arguments: argparse.Namespace
) -> str:
    """The mean and the medoid, then the matrix or, for many clusterings, the mean of each."""
    width = table_width(arguments.output)
    head = f"{measure.name} of {len(names)} clusterings with each other: mean {format_number(record.overall)}"
    if record.medoid is not None and len(names) > 1:
        head += f"; the one most like the others is {printable(names[record.medoid])}"
    means = record.agreement.tolist()
    if len(names) > _MAX_MATRIX_CLUSTERINGS:
        rows = [[printable(name), format_number(mean)] for name, mean in zip(names, means, strict=True)]
        table = tabulate(["clustering", "mean"], rows, arguments.format, width)
        return f"{head}\n\n{table}\n--format csv or json has all pairs\n"
    shown = [printable(name) for name in names]
    rows = [
        [name, format_number(mean), *map(format_number, row)]
        for name, mean, row in zip(shown, means, matrix.tolist(), strict=True)
    ]
    return f"{head}\n\n{tabulate(['clustering', 'mean', *shown], rows, arguments.format, width)}"


_DETAILS = """\
examples:
  torchclusteval compare runs.csv --exclude id --measure nmi --plot agreement.png
  torchclusteval compare kmeans.npy spectral.txt --format csv --output pairs.csv
  torchclusteval compare leiden.csv --columns 'res_*' --plot tree.pdf --picture transitions

Every column is a clustering. Items that either clustering of a pair leaves out, as noise
or as missing, are out of that pair. In the matrix the row is taken as the truth. Of more
than 12 clusterings the table shows each one's mean agreement with the others. Which of two
is closer to a truth: score --against.
"""

COMMAND = Command(
    "compare",
    "score clusterings in files against each other",
    compare,
    (
        option("files", nargs="+", metavar="FILE", help="tables or lists of labels, as for score"),
        COLUMNS,
        EXCLUDE,
        option(
            "--measure",
            "--measures",
            dest="measure",
            default="adjusted_rand",
            metavar="NAME",
            help="default: adjusted_rand",
        ),
        DEVICE,
        *NOISE,
        *READING,
        FORMAT,
        OUTPUT,
        OVERWRITE,
        PLOT,
        COMPARE_PICTURE,
    ),
    _DETAILS,
)
