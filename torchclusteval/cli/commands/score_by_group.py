"""``score --by COLUMN``: scores by groups of items, such as documents, as their mean and pooled."""

import argparse
import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.options import note_ids, option, print_note, table_width
from torchclusteval.cli.printing.score_table import json_value, printable, tabulate
from torchclusteval.cli.reading.columns import Label
from torchclusteval.cli.reading.held_codes import (
    EXCLUDED,
    codes_of,
    codes_of_groups,
    codes_of_truth,
    each_alone,
    labels_of,
)
from torchclusteval.cli.reading.read import Selection, hold_table
from torchclusteval.common.formatting import format_number
from torchclusteval.measures.registry import Selection as Measures
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.pooling import pooled
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

BY = (
    option(
        "--by",
        metavar="COLUMN",
        help="score the items of each value of this column (document, donor ...) by themselves; prints the mean over "
        "these groups (macro) and the pooled value, where sums over the groups define one; coverage is of all items",
    ),
    option("--per-group", action="store_true", help="with --by: add the scores of each group, and its number of items"),
)
_ALONE = ("plot", "match", "per_class", "per_cluster", "confidence", "resamples", "permutations")


@dataclass(frozen=True, eq=False)
class _Groups:
    """The scores of each group of items."""

    ids: Sequence[Label]
    n_items: np.ndarray  # (B, G) items that are scored
    values: Mapping[str, np.ndarray]  # (B, G) float64 each

    def rows(self, names: Sequence[str], order: Sequence[int]) -> list[tuple[str, Label, dict[str, int | float]]]:
        """Clustering, group and values."""
        rows: list[tuple[str, Label, dict[str, int | float]]] = []
        for i in order:
            for j, one in enumerate(self.ids):
                values = {name: float(x[i, j]) for name, x in self.values.items()}
                rows.append((names[i], one, {"n_items": self.n_items[i, j].item(), **values}))
        return rows


@dataclass(frozen=True, eq=False)
class _Averages:
    """The macro and the pooled scores of clusterings."""

    names: Sequence[str]
    macro: Mapping[str, np.ndarray]  # (B,) float64 each
    pooled: Mapping[str, np.ndarray]  # likewise, of fewer measures

    def rows(self, order: Sequence[int]) -> list[tuple[str, str, dict[str, float]]]:
        """Clustering, kind of average and values; two rows a clustering."""
        kinds = {"macro": self.macro, "pooled": self.pooled}
        return [
            (self.names[i], kind, {name: float(column[i]) for name, column in values.items()})
            for i in order
            for kind, values in kinds.items()
            if values
        ]


def score_by_group(
    arguments: argparse.Namespace, asked: Selection, measures: Measures, sort: str | None, device: torch.device | None
) -> str:
    """Read, score and print.

    Raises:
        ValueError: options or labels are not as described.
        OSError: the file cannot be read.
    """
    for name in _ALONE:
        if getattr(arguments, name) not in (None, False):
            raise ValueError(f"--{name.replace('_', '-')}: expected scores of all items at once; got --by too")
    if len(arguments.files) != 1 or arguments.truth is None:
        raise ValueError(f"--by: expected one FILE with --truth COLUMN; got {len(arguments.files)} files")
    (truth, groups, *clusterings), _ = hold_table(asked, {"--truth": arguments.truth, "--by": arguments.by})
    true, without_class = codes_of_truth(truth, asked.labels)
    ids, without_group = codes_of_groups(groups, asked.labels)
    codes, without_cluster = codes_of(clusterings, asked.labels)
    note_ids([held.title for held in clusterings], each_alone(codes))
    tables = ContingencyTables.from_labels(
        true.masked_fill(without_class, EXCLUDED),
        codes.masked_fill(without_cluster, EXCLUDED),
        by=ids,
        mask=~without_group,
        ignore_index=EXCLUDED,
        noise_label=EXCLUDED,
        device=device,
    )
    if left := int(without_group.sum()):
        print_note(f"note: {left} of {len(true)} items have no label in {arguments.by!r} and are in no group")
    averages, scores = _averages([held.title for held in clusterings], tables, measures)
    each = _each_group(scores, labels_of(groups)) if arguments.per_group else None
    order = range(len(clusterings))
    if sort is not None:
        better = scores.measures[sort].better
        values = averages.macro[sort]
        order = np.argsort(-values if better == "higher" else values, kind="stable").tolist()[: arguments.top]
    head = {"n_items": len(true), "truth": arguments.truth, "by": arguments.by, "n_groups": tables.batch_shape[-1]}
    return _render(averages, each, head, order, scores.skipped, arguments)


def _each_group(scores: Scores, labels: Sequence[Label]) -> _Groups:
    codes = [] if scores.groups is None else scores.groups.tolist()
    ids = [labels[code] if code < len(labels) else "missing" for code in codes]  # the last code is of missing ids
    coverage = scores.coverage.cpu().numpy()
    shares = {} if (coverage == 1).all() else {"coverage": coverage}
    values = {name: value + 0.0 for name, value in scores.to_numpy().items()}  # -0 becomes 0
    return _Groups(ids, scores.n_items.cpu().numpy(), {**shares, **values})


def _averages(names: Sequence[str], tables: ContingencyTables, measures: Measures) -> tuple[_Averages, Scores]:
    scores = evaluate_tables(tables, measures)
    for name, reason in scores.skipped.items():
        print_note(f"note: left out {name}, which {reason}")
    macro = scores.macro()
    summed = [measure for measure in scores.measures.values() if measure.parts is not None]
    together = pooled(tables, summed).to_numpy() if summed else {}
    if len(summed) < len(scores):
        print_note(f"note: {len(scores) - len(summed)} of {len(scores)} measures have no pooled value")
    columns = {name: values + 0.0 for name, values in macro.to_numpy().items()}  # -0 becomes 0
    coverage = macro.coverage.cpu().numpy()
    shares = {} if (coverage == 1).all() else {"coverage": coverage}
    joint = {**shares, **{name: values + 0.0 for name, values in together.items()}} if together else {}
    return _Averages(names, {**shares, **columns}, joint), scores


def _render(
    averages: _Averages,
    each: _Groups | None,
    head: Mapping[str, Any],
    order: Sequence[int],
    skipped: Mapping[str, str],
    arguments: argparse.Namespace,
) -> str:
    rows = averages.rows(order)
    of_groups = [] if each is None else each.rows(averages.names, order)
    if arguments.format == "json":
        scores = [
            {"clustering": name, "average": kind, **{key: json_value(x) for key, x in values.items()}}
            for name, kind, values in rows
        ]
        result = {**head, "scores": scores, **({"skipped": dict(skipped)} if skipped else {})}
        if each is not None:
            result["groups"] = [
                {"clustering": name, "group": one, **{key: json_value(x) for key, x in values.items()}}
                for name, one, values in of_groups
            ]
        return json.dumps(result, indent=1, allow_nan=False) + "\n"
    if arguments.format == "csv":
        return _as_csv(averages, each, order)
    cells = [
        [f"{printable(name)} {kind}", *(format_number(values[key]) if key in values else "" for key in averages.macro)]
        for name, kind, values in rows
    ]
    title = f"{head['n_items']} items in {head['n_groups']} groups by {printable(head['by'])}\n"
    width = table_width(arguments.output)
    title += "\n" * (arguments.format == "markdown")
    text = title + tabulate(["clustering", *averages.macro], cells, arguments.format, width)
    if each is None:
        return text
    below = ["clustering", printable(head["by"]), "items", *each.values]
    lines = [[printable(name), printable(str(one)), *map(_number, values.values())] for name, one, values in of_groups]
    return text + "\n" + tabulate(below, lines, arguments.format, width, pairs=True)


def _number(x: float) -> str:
    return str(x) if isinstance(x, int) else format_number(x)


def _as_csv(averages: _Averages, each: _Groups | None, order: Sequence[int]) -> str:
    """A row for each average; with groups a row for each of these first, whose average is ``group``."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    more = [] if each is None else ["group", "n_items"]
    names = [*averages.macro] if each is None else list(dict.fromkeys([*each.values, *averages.macro]))
    writer.writerow(["clustering", "average", *more, *names])
    if each is not None:
        for name, one, values in each.rows(averages.names, order):
            writer.writerow([name, "group", one, values["n_items"], *(values.get(key, "") for key in names)])
    for name, kind, averaged in averages.rows(order):
        writer.writerow([name, kind, *([""] * len(more)), *(averaged.get(key, "") for key in names)])
    return stream.getvalue()
