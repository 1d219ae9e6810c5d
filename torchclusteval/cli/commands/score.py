"""The command ``score``: clusterings in files against the truth."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.commands.checks import check_printing, check_seed, note_doubtful, note_low_coverage, note_ties
from torchclusteval.cli.commands.documents import is_coreference
from torchclusteval.cli.commands.files import save_picture
from torchclusteval.cli.commands.labels import given_labels, groups_of
from torchclusteval.cli.commands.ranking import columns_of, measures_and_sort, note_skipped, pictured, rows_of
from torchclusteval.cli.commands.resampling import Uncertainty, plot_scores, resample
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held import Held, Label, hold_columns
from torchclusteval.cli.reading.read import count_table
from torchclusteval.cli.reading.selection import Selection, parse_selection
from torchclusteval.labels.group_labels import as_objects, labels_at
from torchclusteval.labels.inputs import check_device
from torchclusteval.scoring.breakdown import per_class, per_cluster
from torchclusteval.scoring.evaluation import evaluate_tables, pooled
from torchclusteval.scoring.matching import match, matched_scores
from torchclusteval.scoring.no_clusterings import no_clusterings
from torchclusteval.scoring.partitions import same_partitions
from torchclusteval.scoring.scores import Scores, best_first
from torchclusteval.tables import ContingencyTables

MEANS = ("mean_class_accuracy", "macro_f", "mean_iou")
_OF_GROUPS = ("table", "share", "flow")  # pictures that show classes and clusters by their labels


@dataclass(frozen=True, eq=False)
class _Task:
    """What is scored."""

    names: list[str]
    n_items: int
    truth: str
    tables: ContingencyTables  # (B,), or (B, G) of the groups of --by
    labelled: ContingencyTables | None = None  # (B,) of all items with labels, where rows or pictures show them
    groups: Sequence[Label] = ()
    counts: np.ndarray | None = None  # (B,) how often each partition came
    together: ContingencyTables | None = None  # (B,) of all items that are in a group
    n_grouped: int = 0  # how many these are


def run(arguments: argparse.Namespace) -> str:
    """Score clusterings against the truth."""
    _check(arguments)
    measures, sort = measures_and_sort(arguments, MEANS)
    task = _count(arguments)
    if task is None:  # another process prints
        arguments.output = None
        return ""
    scores = evaluate_tables(task.tables, measures)
    skipped = note_skipped(scores.skipped)
    share = task.n_grouped / task.n_items if arguments.by else 1.0
    note_low_coverage(share * scores.coverage.numpy(force=True), scores)
    asked = [] if arguments.resample == "groups" else [*scores.measures.values()]  # whose averages have intervals
    uncertainty = resample(task.tables, asked, arguments) if asked else Uncertainty({}, {}, 0.0)
    averaged = scores if arguments.by is None else scores.macro()
    details, means, unique = _details(task, arguments.per)
    values = {**averaged.to_numpy(), **means}
    order = [*range(len(task.names))]
    if sort is not None:
        better = "higher" if sort in MEANS else scores.measures[sort].better
        order = best_first(values[sort], better, arguments.top)
    if arguments.plot is not None:
        _draw(arguments, task, averaged, sort, uncertainty)
    note_ties([task.names[i] for i in order], [unique[i] for i in order] if unique else [])
    head = {"n_items": task.n_items, "truth": task.truth}
    if arguments.by is None:
        counted = {} if task.counts is None else {"count": task.counts}
        columns = counted | uncertainty.beside(columns_of(scores, sort)) | means
        tables = {"scores": Table(["clustering", *columns], rows_of(task.names, columns, order))}
        title, whole = "", None
    else:
        tables, whole = _by_group(arguments, task, scores, uncertainty, order)
        head |= {"by": arguments.by, "n_groups": task.tables.batch_shape[-1]}
        of_all = f" of {task.n_items}" if task.n_grouped < task.n_items else ""
        title = f"{task.n_grouped}{of_all} items in {head['n_groups']} groups by {arguments.by}"
    if details:
        rows = [row for i in order for row in details[i]]
        key = {"class": "classes", "cluster": "clusters"}[arguments.per]
        tables[key], whole = Table([*rows[0]] if rows else ["clustering", arguments.per], rows, 2), None
    return render(arguments, tables, head | skipped, title, whole)


def _check(arguments: argparse.Namespace) -> None:
    for path in arguments.files:
        if is_coreference(path) or path.lower().endswith(".json"):
            command = "score-coreference KEY" if is_coreference(path) else "score-overlapping TRUTH"
            raise ValueError(f"FILE: expected files of labels; got {path} (torchclusteval {command} FILE)")
    check_printing(arguments)
    check_seed(arguments)
    if arguments.picture == "chance" and arguments.resamples is None:
        raise ValueError("--picture: expected --resamples R too, as chance shows the permutations; got none")
    for flag, given, shown in (("--per", arguments.per, "group"), ("--resamples", arguments.resample, "groups")):
        if given == shown and arguments.by is None:
            raise ValueError(f"{flag}: expected --by COLUMN too, for the groups; got {shown} alone")
    if arguments.sort in MEANS and arguments.per != "class":
        raise ValueError(f"--sort: expected --per class too, as it computes {arguments.sort}; got --sort alone")


def _count(arguments: argparse.Namespace) -> _Task | None:
    asked, device = parse_selection(arguments), check_device(arguments.device or "cpu")
    needs_labels = arguments.per in ("class", "cluster", "partition") or arguments.picture in _OF_GROUPS
    if len(arguments.files) == 1 and arguments.by is None and not needs_labels:
        rank, counted = count_table(asked, arguments.truth, device)
        if rank > 0:  # all have the same scores
            return None
        if isinstance(counted, list):
            return _held_task(arguments, asked, needs_labels, counted)
        names = list(map(str, counted.names or ()))
        if arguments.noise != "singletons":
            note_doubtful(no_clusterings(counted, names, few=1))
        return _Task(names, int(counted.n_considered.max()), arguments.truth, counted)
    return _held_task(arguments, asked, needs_labels, *_hold(arguments, asked))


def _held_task(
    arguments: argparse.Namespace, asked: Selection, needs_labels: bool, held: list[Held], groups: Held | None = None
) -> _Task:
    given, counts = given_labels(asked, held[1:], held[0]), None
    device, truth = check_device(arguments.device or "cpu"), arguments.truth or asked.files[0]
    ids, grouped = groups_of(groups, asked, len(held[0]))
    if arguments.per == "partition":
        found = Counter(same_partitions(given.labels, mask=given.scored(grouped), **given.noise))
        names, counts = list(given.labels), np.array([*found.values()])
        given = replace(given, labels={names[i]: given.labels[names[i]] for i in found})
    names, n_items = list(given.labels), len(held[0])
    whole = given.tables(device=device) if needs_labels or ids is None else None
    if ids is None:
        assert whole is not None
        return _Task(names, n_items, truth, whole, whole, counts=counts)
    tables = given.tables(by=ids, device=device)
    labels = [] if tables.groups is None else tables.groups.tolist()
    together = given.tables(device=device, mask=torch.from_numpy(grouped))
    return _Task(names, n_items, truth, tables, whole, labels, counts, together, int(grouped.sum()))


def _hold(arguments: argparse.Namespace, asked: Selection) -> tuple[list[Held], Held | None]:
    """The truth and the clusterings, and the groups of ``--by``."""
    options, several = {"--truth": arguments.truth, "--by": arguments.by}, arguments.truth is None
    try:
        held, _ = hold_columns(asked, options, truth_first=several)
    except ValueError as error:
        if several and len(asked.files) > 1 and "as in the first line" in str(error):
            raise ValueError(f"{error} (for items in several groups: torchclusteval score-overlapping)") from None
        raise
    return held, held.pop(1) if arguments.by is not None else None


def _by_group(
    arguments: argparse.Namespace, task: _Task, scores: Scores, uncertainty: Uncertainty, order: list[int]
) -> tuple[dict[str, Table], Table | None]:
    """Tables of averages over the groups and, if asked for, of each group; and the table for CSV."""
    measures, share = list(scores.measures.values()), task.n_grouped / task.n_items
    macro = columns_of(scores.macro(), share=share)
    summed = [measure for measure in measures if measure.parts is not None]
    of_groups = arguments.resample == "groups"
    if of_groups:
        macro = resample(task.tables, measures, arguments, macro=True).beside(macro)
    if len(summed) < len(measures):
        lacking = ", ".join(measure.name for measure in measures if measure.parts is None)
        print_note(f"note: no pooled value of {lacking}: not defined by sums over the groups")
    together = {name: x + 0.0 for name, x in pooled(task.tables, summed).to_numpy().items()} if summed else {}
    if of_groups and summed:
        together = resample(task.tables, summed, arguments, macro=False).beside(together)
    shares = {"coverage": macro["coverage"]} if "coverage" in macro else {}
    counts = {} if task.counts is None else {"count": task.counts}
    assert task.together is not None
    kinds = {"macro": macro} | ({"pooled": shares | together} if together else {})
    kinds |= {"all items": columns_of(evaluate_tables(task.together, measures), share=share)}
    rows = [
        {"clustering": task.names[i], "average": kind, **{name: x[i].item() for name, x in (counts | columns).items()}}
        for i in order
        for kind, columns in kinds.items()
    ]
    macro = counts | macro
    tables = {"scores": Table(["clustering", "average", *macro], rows, 2)}
    drawn = arguments.confidence_level is not None or arguments.resamples is not None
    if arguments.per != "group" and (of_groups or not drawn):
        return tables, None
    each = {"n_items": scores.n_items.cpu().numpy(), **uncertainty.beside(columns_of(scores))}
    groups = [
        {"clustering": task.names[i], "group": group, **{name: x[i, j].item() for name, x in each.items()}}
        for i in order
        for j, group in enumerate(task.groups)
    ]
    tables["groups"] = Table(["clustering", "group", *each], groups, 2)
    whole = ["clustering", "average", "group", *dict.fromkeys([*each, *macro])]
    return tables, Table(whole, [*({**row, "average": "group"} for row in groups), *rows])


def _details(task: _Task, kind: str | None) -> tuple[list[list[dict[str, Any]]], dict[str, np.ndarray], list[bool]]:
    """For each clustering the rows of ``--per``, the means of its classes, and whether its matching is unique."""
    if kind not in ("class", "cluster") or task.labelled is None:
        return [], {}, []
    tables, matching = task.labelled, match(task.labelled)
    rows, columns = tables.shape[-2:]
    means: dict[str, np.ndarray] = {}
    more: dict[str, Any]
    if kind == "class":
        scores, groups = matched_scores(tables, matching), per_class(tables)
        more = {"cluster": labels_at(as_objects(tables.clusters, columns), matching.cluster_of_class)}
        more |= {name: scores[name] for name in ("precision", "recall", "f", "iou")}
        means = {name: scores[name].numpy(force=True) for name in MEANS}
    else:
        groups = per_cluster(tables)
        more = {"class": labels_at(as_objects(tables.classes, rows), matching.class_of_cluster)}
    values = groups.rows({"size": groups["size"], **more})
    details: dict[str, list[dict[str, Any]]] = {name: [] for name in task.names}
    for row in zip(*values.levels.values(), *values.columns.values(), strict=True):
        details[row[0]].append(dict(zip(("clustering", kind, *values.columns), row, strict=True)))
    return list(details.values()), means, matching.unique.tolist()


def _draw(
    arguments: argparse.Namespace, task: _Task, scores: Scores, sort: str | None, uncertainty: Uncertainty
) -> None:
    measure, order = pictured(scores, sort, arguments.top)
    if arguments.picture not in _OF_GROUPS:
        known = uncertainty if arguments.by is None else None  # else it is of the groups
        plot_scores(arguments, measure, task.names, scores.to_numpy()[measure.name], order, known)
        return
    from torchclusteval import plots

    assert task.labelled is not None
    table, name = task.labelled[order[0]], task.names[order[0]]
    matching = match(table)
    note_ties([name], [bool(matching.unique)])
    if arguments.picture == "flow":
        save_picture(arguments.plot, plots.plot_flow, table, (task.truth, name))
    else:
        show = "share" if arguments.picture == "share" else "count"
        save_picture(arguments.plot, plots.plot_table, table, matching, show=show, name=name)
