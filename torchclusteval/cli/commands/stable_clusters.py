"""The command ``cluster-stability``: which clusters of a reference come back in other clusterings."""

import argparse
import csv
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.commands.pictures import save
from torchclusteval.cli.options import (
    COLUMNS,
    EXCLUDE,
    FORMAT,
    ONE_FILE,
    OUTPUT,
    OVERWRITE,
    PLOT,
    Command,
    check_plot,
    decide_format,
    note_ids,
    option,
    print_note,
    table_width,
)
from torchclusteval.cli.printing.score_table import json_value, printable, tabulate
from torchclusteval.cli.reading.columns import Label
from torchclusteval.cli.reading.held_codes import codes_of, each_alone, labels_of
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.common.formatting import format_number
from torchclusteval.inference import cluster_stability as _stability
from torchclusteval.inference.cluster_recovery import ClusterStability

_COLUMNS = ("size", "runs", "mean_jaccard", "recovered", "dissolved", "prediction_strength")
_NOISE = -2  # the code of noise


def cluster_stability(arguments: argparse.Namespace) -> str:
    """Stability of each cluster of one column in the others."""
    check_plot(arguments.plot)
    arguments.format = decide_format(arguments)
    arguments.noise = "ignore"
    asked = parse_selection(arguments)
    held, _ = hold_table(asked, {"--reference": arguments.reference})
    held = list(dict.fromkeys(held))  # --columns may name the reference too, which is no run of its own
    if len(held) < 2:
        raise ValueError("clusterings: expected a column beside that of --reference; got none")
    codes, excluded = codes_of(held, asked.labels)
    note_ids([one.title for one in held], each_alone(codes))
    missing = torch.stack([row >= len(labels_of(one)) for row, one in zip(codes, held, strict=True)])
    labels, noise = labels_of(held[0]), codes[0][excluded[0] & ~missing[0]].tolist()[:1]
    codes, n_items = codes.masked_fill(excluded, _NOISE), codes.shape[1]
    without = int(missing[0].sum())
    if without == n_items:
        raise ValueError(f"--reference: expected a column with labels; {arguments.reference!r} has none")
    if without:
        print_note(f"note: {without} of {n_items} items have no label in {arguments.reference!r} and are left out")
        codes, missing = codes[:, ~missing[0]], missing[:, ~missing[0]]
    noise_label = None if arguments.noise_label is None else _NOISE
    found = _stability(codes[0], codes[1:], ~missing[1:], noise_label=noise_label)
    clusters = [labels[noise[0] if code == _NOISE else code] for code in found.labels.tolist()]
    if arguments.plot is not None:
        from torchclusteval.plots import plot_stability

        named = replace(found, labels=np.array(clusters, dtype=object))
        save(plot_stability(named), arguments.plot)
    head = {"reference": arguments.reference, "n_items": n_items - without, "n_runs": len(held) - 1}
    return _render(clusters, found, head, arguments)


def _render(clusters: list[Label], found: ClusterStability, head: dict[str, Any], arguments: argparse.Namespace) -> str:
    columns = [getattr(found, name).tolist() for name in _COLUMNS]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if arguments.format == "json":
        records = [
            {"cluster": cluster, **{name: json_value(x) for name, x in zip(_COLUMNS, row, strict=True)}}
            for cluster, row in zip(clusters, rows, strict=True)
        ]
        return json.dumps({**head, "clusters": records}, indent=1, allow_nan=False) + "\n"
    if arguments.format == "csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["cluster", *_COLUMNS])
        writer.writerows([cluster, *row] for cluster, row in zip(clusters, rows, strict=True))
        return stream.getvalue()
    cells = [
        [printable(str(cluster)), *(format_number(x) if isinstance(x, float) else str(x) for x in row)]
        for cluster, row in zip(clusters, rows, strict=True)
    ]
    title = f"clusters of {printable(head['reference'])} in {head['n_runs']} clusterings of {head['n_items']} items\n"
    title += "\n" * (arguments.format == "markdown")
    width = table_width(arguments.output)
    return title + tabulate(["cluster", *_COLUMNS], cells, arguments.format, width)


_DETAILS = """\
examples:
  torchclusteval cluster-stability runs.csv --reference kmeans --columns 'resample_*'
  torchclusteval cluster-stability runs.csv --reference leiden --noise-label -1 --output stable.csv

Every other column is a run, or each of --columns; the reference itself is none. A
missing label is an item that the run lacks, as where it clustered a resample. For
each cluster of the reference:
  runs                 how many of them have items of it
  mean_jaccard         mean Jaccard index with the most similar cluster of a run: from
                       0.85 highly stable, from 0.75 stable, below 0.6 not to be trusted
  recovered            in how many runs this index is above 0.75
  dissolved            in how many it is at most 0.5
  prediction_strength  mean share of its pairs of items that a run keeps together
"""

COMMAND = Command(
    "cluster-stability",
    "say which clusters of one clustering come back in others",
    cluster_stability,
    (
        option("files", nargs=1, metavar="FILE", help="a table of labels, as for score"),
        option("--reference", required=True, metavar="COLUMN", help="the column whose clusters are examined"),
        COLUMNS,
        EXCLUDE,
        option(
            "--noise-label",
            metavar="LABEL",
            help="the label of noise, often -1: a cluster that is compared with noise alone",
        ),
        *ONE_FILE,
        FORMAT,
        OUTPUT,
        OVERWRITE,
        PLOT,
    ),
    _DETAILS,
)
