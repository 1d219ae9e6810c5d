"""Columns held in memory as codes of labels, the items that options leave out, and tables of both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.columns import Array, Label, whole_number
from torchclusteval.cli.reading.held import Held
from torchclusteval.cli.reading.selection import LabelOptions
from torchclusteval.cli.reading.table import Table, wrong_label
from torchclusteval.common.formatting import shortened
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.scoring.no_clusterings import FEW, IS_TRUTH, like_ids
from torchclusteval.tables import ContingencyTables

EXCLUDED = -1  # the code of labels of items that are left out


def codes_of(held: Sequence[Held], options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(M, N)`` of the clusterings, and which of them leave out which items, likewise."""
    policy, n = NoisePolicy(options.noise), len(held[0].codes)
    codes, excluded = np.empty((len(held), n), np.int64), np.zeros((len(held), n), bool)
    for i, (one, label) in enumerate(
        zip(held, _find(held, options.noise_label, "--noise-label", options), strict=True)
    ):
        noisy = one.codes == label if label is not None else np.zeros(n, bool)
        missing = _missing(one, noisy, options)
        row = one.codes.astype(np.int64)
        if policy.has_column_per_item:
            row = np.where(noisy, len(one.labels) + np.arange(n), row)
        excluded[i] = missing | (noisy & (not policy.counts_noise))
        codes[i] = _with_missing(row)
    return torch.from_numpy(codes), torch.from_numpy(excluded)


def note_columns(held: Sequence[Held], truth: Held | None = None) -> dict[str, str]:
    """Note which columns look like no clustering, and return them with the reason."""
    n, (*counts, classes) = len(held[0].codes), map(_n_distinct, [*held, truth or held[0]])
    fewest = min(counts) if truth is None else classes
    reasons = {one.title: like_ids(n, count, fewest, few=1) for one, count in zip(held, counts, strict=True)}
    if truth is not None and n > FEW:
        reasons |= {one.title: IS_TRUTH for one in held if _same_labels(one, truth)}
    found = {name: reason for name, reason in reasons.items() if reason is not None}
    note_no_clusterings(found)
    return found


def note_no_clusterings(found: Mapping[str, str]) -> None:
    """Print a note for each of the first three columns that look like no clustering, and one for the others."""
    for name, reason in [*found.items()][:3]:
        what = "is the truth" if reason == IS_TRUTH else "holds ids"
        print_note(f"note: in {name!r} {reason}; if it {what}, --exclude it")
    if others := [*found][3:]:
        print_note(f"note: neither do these look like clusterings: {', '.join(map(shortened, others))}")


def _n_distinct(held: Held) -> int:
    return int(np.count_nonzero(np.bincount(held.codes.astype(np.int64) + 1)))


def _same_labels(one: Held, other: Held) -> bool:
    if set(one.labels) != set(other.labels):
        return False
    first, second = (np.array([*x.labels, None], dtype=object)[x.codes] for x in (one, other))
    return bool((first == second).all())


def codes_of_truth(held: Held, options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(N,)`` of the classes, and which items are left out."""
    (ignored,) = _find([held], options.ignore, "--ignore", options)
    out = held.codes == ignored if ignored is not None else np.zeros(len(held.codes), bool)
    missing = _missing(held, out, options, is_truth=True)
    return torch.from_numpy(_with_missing(held.codes.astype(np.int64))), torch.from_numpy(out | missing)


def codes_of_groups(held: Held, options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(N,)`` of the groups that items are scored in, and which items have none."""
    return codes_of_truth(held, replace(options, ignore=None))


def labels_of(held: Held) -> list[Label]:
    """The label of each code of a column; codes above these are of a missing label, or of noise."""
    return list(held.labels)


def name_of_missing(labels: Collection[object]) -> str:
    """What items without a label are called beside these labels."""
    name, known = "missing", set(map(str, labels))
    while name in known:
        name = f"({name})"
    return name


@dataclass(frozen=True, eq=False)
class HeldTables:
    """Tables of clusterings against the truth whose rows and columns are the codes of labels."""

    tables: ContingencyTables
    true: Tensor  # (N,) codes
    codes: Tensor  # (B, N) codes
    excluded: Tensor  # (B, N) bool: left out for their cluster
    classes: list[Label]  # of codes; None: a missing label
    clusters: list[list[Label]]  # likewise, of each clustering


def tables_of(
    truth: Held, clusterings: Sequence[Held], options: LabelOptions, device: torch.device | None = None
) -> HeldTables:
    """Count columns that are held in memory."""
    true, without_class = codes_of_truth(truth, options)
    codes, without_cluster = codes_of(clusterings, options)
    tables = ContingencyTables.from_labels(
        true.masked_fill(without_class, EXCLUDED),
        codes.masked_fill(without_cluster, EXCLUDED),
        ignore_index=EXCLUDED,
        noise_label=EXCLUDED,
        num_classes=int(true.max()) + 1,
        num_clusters=int(codes.max()) + 1,
        device=device,
    )
    rows, columns = tables.shape[-2:]
    single = options.noise_label if NoisePolicy(options.noise).has_column_per_item else None
    clusters = []
    for held in clusterings:
        labels = labels_of(held)
        alone = [single] * len(true) if single is not None else []
        clusters.append(_filled([*labels, *alone], columns))
    return HeldTables(tables, true, codes, without_cluster, _filled(labels_of(truth), rows), clusters)


def labelled(found: HeldTables) -> ContingencyTables:
    """The tables with their labels, and a name for a missing one."""
    own, (rows, columns) = found.tables, found.tables.shape[-2:]
    classes, *clusters = (
        np.array([*(missing if x is None else x for x in labels)], dtype=object)
        for labels in (found.classes, *found.clusters)
        for missing in [name_of_missing(labels)]
    )
    labels = np.stack(clusters) if clusters else np.empty((0, columns), dtype=object)
    assert classes.shape == (rows,)
    return own._replace(classes=classes, clusters=labels, names=None, groups=None, margins=None)


def _filled(labels: list[Label], size: int) -> list[Label]:
    return [*labels, *[None] * (size - len(labels))][:size]


def _with_missing(codes: Array) -> Array:
    """Missing labels as the last code: a label of their own."""
    return np.where(codes == -1, int(codes.max(initial=0)) + 1, codes)


def _missing(held: Held, elsewhere: Array, options: LabelOptions, *, is_truth: bool = False) -> Array:
    """Which items are left out as their label is missing; those that are ``elsewhere`` are not looked at."""
    missing = (held.codes == -1) & ~elsewhere
    if missing.any() and options.missing == "error":
        row = int(missing.argmax())
        row = row if held.rows is None else int(held.rows[row])
        raise missing_label(held.table, held.name, row, is_truth=is_truth)
    return missing & (options.missing == "ignore")


def missing_label(table: Table, name: str, row: int, *, is_truth: bool) -> ValueError:
    """The error for the first missing label."""
    remedy = "--missing ignore leaves such items out, --missing label makes them a group"
    if len(table.names) > 1 and not is_truth:
        remedy += f"; if this column is no clustering: --exclude {name!r}"
    return wrong_label(table, name, row, "a label", "an empty cell, NA or the like", remedy)


def _find(held: Sequence[Held], label: str | None, option: str, options: LabelOptions) -> list[int | None]:
    """The code of a label on the command line in each column; a note where no item has it.

    Raises:
        ValueError: all columns hold whole numbers, and this is none.
    """
    if label is None:
        return [None] * len(held)
    number = whole_number(label)
    codes: list[int | None] = []
    for one in held:
        tried = (number,) if one.is_numeric else (label.strip(), str(number))
        found = next((one.labels.index(x) for x in tried if x is not None and x in one.labels), None)
        is_missing = found is None and options.spells_missing(label) and bool((one.codes == -1).any())
        codes.append(-1 if is_missing else found)
    if number is None and not options.spells_missing(label) and all(one.is_numeric for one in held):
        raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
    note_unseen(option, label, any(code is not None for code in codes))
    return codes


def note_unseen(option: str, label: str | None, seen: bool) -> None:
    """Print a note where no item has a label of the command line."""
    if label is not None and not seen:
        print_note(f"note: {option}: no item has the label {label!r}")
