"""Columns held in memory as codes of labels, the items that options leave out, and tables of both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cli.reading.cell_counts import LabelOptions, find_codes
from torchclusteval.cli.reading.columns import Array, Label
from torchclusteval.cli.reading.read import Held, distinct_of, missing_labels
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.tables import ContingencyTables

EXCLUDED = -1  # the code of labels of items that are left out


def codes_of(held: Sequence[Held], options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(M, N)`` of the clusterings, and which of them leave out which items, likewise."""
    distinct = [distinct_of(one) for one in held]
    noise = find_codes([side for side, _ in distinct], options.noise_label, "--noise-label", options)
    policy, n = NoisePolicy(options.noise), len(held[0].codes)
    codes, excluded = np.empty((len(held), n), np.int64), np.zeros((len(held), n), bool)
    for i, (one, (side, places), label) in enumerate(zip(held, distinct, noise, strict=True)):
        row = side.codes[places]
        noisy = row == label if label is not None else np.zeros(n, bool)
        missing = _missing(one, row, noisy, options)
        if policy.has_column_per_item:
            row = np.where(noisy, len(side.labels) + np.arange(n), row)
        excluded[i] = missing | (noisy & (not policy.counts_noise))
        codes[i] = _with_missing(row)
    return torch.from_numpy(codes), torch.from_numpy(excluded)


def each_alone(codes: Tensor) -> list[bool]:
    """Whether each item has a code of its own, of each clustering ``(M, N)``."""
    n = codes.shape[1]
    return [n > 1 and len(row.unique()) == n for row in codes]


def codes_of_truth(held: Held, options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(N,)`` of the classes, and which items are left out."""
    side, places = distinct_of(held)
    ignored = find_codes([side], options.ignore, "--ignore", options)[0]
    row = side.codes[places]
    out = row == ignored if ignored is not None else np.zeros(len(row), bool)
    missing = _missing(held, row, out, options, is_truth=True)
    return torch.from_numpy(_with_missing(row)), torch.from_numpy(out | missing)


def codes_of_groups(held: Held, options: LabelOptions) -> tuple[Tensor, Tensor]:
    """Codes ``(N,)`` of the groups that items are scored in, and which items have none."""
    side, places = distinct_of(held)
    row = side.codes[places]
    missing = _missing(held, row, np.zeros(len(row), bool), options, is_truth=True)
    return torch.from_numpy(_with_missing(row)), torch.from_numpy(missing)


def labels_of(held: Held) -> list[Label]:
    """The label of each code of a column; codes above these are of a missing label, or of noise."""
    labels = distinct_of(held)[0].labels
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


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
    """The tables with their labels; ``missing`` for a missing one."""
    own, (rows, columns) = found.tables, found.tables.shape[-2:]
    classes, *clusters = (
        np.array([*("missing" if x is None else x for x in labels)], dtype=object)
        for labels in (found.classes, *found.clusters)
    )
    labels = np.stack(clusters) if clusters else np.empty((0, columns), dtype=object)
    assert classes.shape == (rows,)
    return own._replace(classes=classes, clusters=labels, names=None, by=None, margins=None)


def _filled(labels: list[Label], size: int) -> list[Label]:
    return [*labels, *[None] * (size - len(labels))][:size]


def _with_missing(codes: Array) -> Array:
    """Missing labels as the last code: a label of their own."""
    return np.where(codes == -1, int(codes.max(initial=0)) + 1, codes)


def _missing(held: Held, codes: Array, elsewhere: Array, options: LabelOptions, *, is_truth: bool = False) -> Array:
    """Which items are left out as their label is missing; those that are ``elsewhere`` are not looked at."""
    missing = (codes == -1) & ~elsewhere
    if missing.any() and options.missing == "error":
        raise missing_labels(held.table, held.column.name, int(missing.sum()), len(codes), is_truth=is_truth)
    return missing & (options.missing == "ignore")
