"""The command ``difference``: the scores of clusterings less those of one, with intervals and p-values."""

import argparse
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.commands.checks import check_printing, check_unit, note_low_coverage
from torchclusteval.cli.commands.documents import coverages, is_coreference, read_responses, zero_is_zero
from torchclusteval.cli.commands.labels import given_labels, groups_of
from torchclusteval.cli.commands.ranking import measures_and_sort, note_skipped, rows_of
from torchclusteval.cli.commands.resampling import note_drawn
from torchclusteval.cli.commands.score_coreference import MEASURES as REFERENCE
from torchclusteval.cli.declarations import OF_TABLES
from torchclusteval.cli.options import print_note, refuse, shown, warnings_as_notes
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held import hold_columns, open_tables
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import paired_bootstrap, paired_groups
from torchclusteval.inference.bootstrap_options import POPULATIONS
from torchclusteval.inference.results import Difference, ResultsByMeasure
from torchclusteval.labels.inputs import check_device
from torchclusteval.measures.registry import MEASURES
from torchclusteval.scoring.scores import best_first
from torchclusteval.tables import ContingencyTables

Found = ResultsByMeasure[Difference]


@dataclass(frozen=True, eq=False)
class _Tested:
    """The differences of clusterings to one of them."""

    names: list[str]
    against: str
    found: Found
    head: dict[str, Any]  # in JSON
    columns: dict[str, np.ndarray] = field(default_factory=dict)  # before the others
    shares: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # of the measures, of documents


def run(arguments: argparse.Namespace) -> str:
    """Read, test and print."""
    check_printing(arguments)
    of_documents = is_coreference(arguments.files[0])
    if of_documents and arguments.measures is None:
        arguments.measures = ",".join([*(f"{name}_f" for name in REFERENCE.values()), "conll_f"])
    measures, sort = measures_and_sort(arguments)
    device = check_device(arguments.device or "cpu")
    tested = (_of_documents if of_documents else _of_labels)(arguments, measures, device)
    skipped = note_skipped(tested.found.skipped)
    columns = dict(tested.columns)
    note_low_coverage(columns.get("coverage", np.ones(1)), tested.found)
    for name, record in tested.found.items():
        columns |= {name + key: value for key, value in _columns(record).items()}
    level = arguments.confidence_level or 0.95
    print_note(f"note: differences, with {100 * level:g} % intervals, are to {tested.against!r}")
    order = [*range(len(tested.names))]
    if sort is not None:
        order = best_first(columns[sort], MEASURES[sort].better, arguments.top)
    table = Table(["clustering", *columns], rows_of(tested.names, columns, order))
    if of_documents:  # of many measures, a row each
        each = {name: tested.shares.get(name, {}) | _columns(record) for name, record in tested.found.items()}
        rows = [
            {"response": tested.names[i], "measure": name}
            | {key.lstrip("_") or "score": value[i].item() for key, value in values.items()}
            for i in order
            for name, values in each.items()
        ]
        table = Table([*rows[0]], rows, 2)
    return render(arguments, {"scores": table}, tested.head | skipped)


def _columns(record: Difference) -> dict[str, np.ndarray]:
    values = {"": record.estimate_a, "_difference": record.difference, "_difference_low": record.low}
    values |= {"_difference_high": record.high, "_p": record.p_value}
    values |= {} if record.p_adjusted is None else {"_p_adjusted": record.p_adjusted}
    columns = {key: value.numpy(force=True) + 0.0 for key, value in values.items()}  # -0 becomes 0
    return columns | ({} if record.of_classes is None else {"_of_classes": record.of_classes.numpy(force=True)})


def _settings(arguments: argparse.Namespace, comparisons: int) -> dict[str, Any]:
    """Keywords of both tests."""
    level = arguments.confidence_level or 0.95
    needed = math.ceil(2 * comparisons / (1 - level)) if arguments.correction else 0
    drawn = {"n_resamples": arguments.resamples or max(1000, needed), "confidence_level": level}
    return drawn | {"correction": arguments.correction, "rng": arguments.seed or 0}


def _of_documents(arguments: argparse.Namespace, measures: list[Any], device: torch.device) -> _Tested:
    refuse(arguments, OF_TABLES, f"a table of labels, not {arguments.files[0]}")
    try:
        read = read_responses(arguments.files, "error", 2)
    except ValueError as error:
        if "on_duplicate" not in str(error):
            raise
        print_note(f"note: mentions in two entities are kept in the first ({str(error).rpartition(' (')[0]})")
        read = read_responses(arguments.files, "first")
    against = read.names[0] if arguments.against is None else arguments.against
    if against not in read.names:
        raise ValueError(f"--against: expected one of {', '.join(read.names)}; got {against!r}")
    place, tables = read.names.index(against), read.tables.to(device)
    others = [i for i in range(len(read.names)) if i != place]
    named = tables[torch.tensor(others)]._replace(names=tuple(read.names[i] for i in others))
    found = _by_groups(arguments, named, tables[place], measures, zero_is_zero(measures))
    head = {"n_documents": len(read.documents), "against": against}
    records = [MEASURES[name] for name in found]
    share = (tables.n_items.sum(-1) / tables.n_considered.sum(-1)).numpy(force=True)
    shares = coverages(records, share)
    if shares:
        print_note(f"note: the coverage of {against!r} is {share[place]:.4f}")
        shares = {name: {"coverage": own["coverage"][others]} for name, own in shares.items()}
    return _Tested([read.names[i] for i in others], against, found, head, shares=shares)


def _by_groups(
    arguments: argparse.Namespace, a: ContingencyTables, b: ContingencyTables, measures: list[Any], zero: dict[str, Any]
) -> Found:
    check_unit(arguments)
    settings = _settings(arguments, len(a)) | {"macro": arguments.macro} | zero
    name, unit = ("--by", "groups") if arguments.by else ("FILE", "documents")
    if a.batch_shape[-1] < 2:
        expected = f"at least two {unit} of items that count on both sides"
        raise ValueError(f"{name}: expected {expected}; got {a.batch_shape[-1]}")
    with warnings_as_notes(), progress_bar(unit) as progress:
        found = paired_groups(a, b, measures, progress=progress, **settings)
    said = {"resampled": unit, "population": POPULATIONS[unit]}
    notes = tuple(note.replace(" groups ", f" {unit} ") for note in found.notes)
    note_drawn(replace(found, settings={**found.settings, **said}, notes=notes), arguments.top)
    return found


def _of_labels(arguments: argparse.Namespace, measures: list[Any], device: torch.device) -> _Tested:
    asked = parse_selection(arguments)
    for option, given in (("--truth", arguments.truth), ("--against", arguments.against)):
        if given is None:
            there = shown([*open_tables(asked, {})[1]])
            raise ValueError(f"{option}: expected a column, as --truth CLASS --against CLUSTERING; got none of {there}")
    if arguments.macro and arguments.by is None:
        raise ValueError("--macro: expected --by COLUMN too, for the groups to average over; got none")
    held, _ = hold_columns(asked, {"--truth": arguments.truth, "--by": arguments.by, "--against": arguments.against})
    truth, groups = held.pop(0), held.pop(0) if arguments.by is not None else None
    reference, *others = held
    others = [one for one in others if one is not reference]
    if not others:
        got = "none (of one clustering: score --confidence-level 0.95)"
        raise ValueError(f"--against: expected a clustering other than {arguments.against!r}; got {got}")
    given = given_labels(asked, [reference, *others], truth)
    columns, names = dict[str, np.ndarray](), [one.title for one in others]
    by, grouped = groups_of(groups, asked, len(truth))
    kept = given.scored(grouped)
    both = kept[1:] & kept[:1]
    if not bool(both.all()):
        columns["coverage"] = both.double().mean(-1).numpy()
    against = given.labels.pop(reference.title)
    head = {"n_items": len(truth), "truth": arguments.truth, "against": arguments.against}
    if by is not None:
        a = given.tables(by=by, mask=both, device=device)
        b = replace(given, labels=dict.fromkeys(given.labels, against)).tables(by=by, mask=both, device=device)
        found = _by_groups(arguments, a, b, measures, {})
        head |= {"by": arguments.by, "n_groups": a.batch_shape[-1]}
    else:
        settings = _settings(arguments, len(others)) | {"resample": arguments.resample, "device": device}
        settings |= given.options
        with warnings_as_notes(but="bootstrap: "), progress_bar("bootstrap") as progress:
            found = paired_bootstrap(given.true, given.labels, against, measures, progress=progress, **settings)
        note_drawn(found, arguments.top)
    return _Tested(names, arguments.against, found, head, columns)
