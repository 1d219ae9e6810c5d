"""Columns that are held in memory as the labels and keywords of the package's functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from torchclusteval.cli.commands.checks import note_doubtful
from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.held import Held, Label, listed, missing_label, name_gap, note_unseen
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.labels.encoding import encode
from torchclusteval.labels.keeping import keep_items
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.reading import read
from torchclusteval.labels.sources import LabelSource
from torchclusteval.labels.spelled import whole_number
from torchclusteval.scoring.no_clusterings import FEW, IS_TRUTH, like_ids
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class Given:
    """Labels, and the keywords for reading them."""

    labels: dict[str, LabelSource]  # of the clusterings by their names
    noise: dict[str, Any]
    missing: str  # the label of items without one, where they have one
    true: LabelSource | None = None
    ignore_index: Label = None
    doubtful: Mapping[str, str] = field(default_factory=dict)  # names of those that look like no clustering -> why

    @property
    def options(self) -> dict[str, Any]:
        """All keywords."""
        return {**self.noise, "missing": "ignore", "ignore_index": self.ignore_index}

    def tables(self, **more: Any) -> ContingencyTables:
        return ContingencyTables.from_labels(self.true, self.labels, **self.options, **more)

    def scored(self, mask: np.ndarray) -> torch.Tensor:
        """The items of the mask ``(N,)`` that count for each clustering, ``(B, N)`` bool."""
        kept = encode(self.true, self.labels, LabelOptions.of({**self.options, "mask": torch.from_numpy(mask)})).mask
        assert kept is not None
        return kept.expand(len(self.labels), -1)


def given_labels(asked: Selection, held: Sequence[Held], truth: Held | None = None) -> Given:
    """Clusterings and the truth, if any; print notes for columns that do not look like clusterings.

    Raise if a label that counts is missing, or an option names a label of another kind.
    """
    sides = [*held, *([] if truth is None else [truth])]
    missing, true, ignored = name_of_missing(sides), None, None
    if truth is not None:
        (true,), ignored = labels_of([truth], asked, missing, asked.ignore, "--ignore")
    columns, noise = labels_of(held, asked, missing, asked.noise_label, "--noise-label")
    doubtful = _doubtful(held, truth)
    note_doubtful(doubtful)
    keywords = {"noise_label": noise, "noise": "ignore" if noise is None else asked.noise}
    labels = {one.title: column for one, column in zip(held, columns, strict=True)}
    given = Given(labels, keywords, missing, true, ignored, doubtful)
    if asked.missing == "error" and any(x is not None and x.missing is not None for x in [true, *columns]):
        options = LabelOptions.of({**given.options, "missing": "error"})
        try:
            keep_items(read(labels if true is None else true, labels, options), options, margins=False)
        except ValueError as error:
            raise name_gap(error, held, truth) from None
    return given


def _doubtful(held: Sequence[Held], truth: Held | None) -> dict[str, str]:
    """Columns that do not look like clusterings, with the reasons."""
    sides = [listed(one.labels) for one in [*held, *([] if truth is None else [truth])]]
    counts, n, found = [len(np.unique(places)) for _, places in sides], len(sides[0][1]), {}
    for one, side, count in zip(held, sides, counts, strict=False):
        reason = like_ids(n, count, min(counts) if truth is None else counts[-1], few=1)
        if reason is None and truth is not None and n > FEW and set(side[0]) == set(sides[-1][0]):
            own, true = (np.array([*labels, None], object)[places] for labels, places in (side, sides[-1]))
            reason = IS_TRUTH if bool((own == true).all()) else None
        if reason is not None:
            found[one.title] = reason
    return found


def groups_of(held: Held | None, asked: Selection, n_items: int) -> tuple[LabelSource | None, np.ndarray]:
    """Ids of the groups of items, and the items that have one, ``(N,)`` bool; print a note if some have none.

    None: all items are one group.
    """
    if held is None:
        return None, np.ones(n_items, bool)
    if asked.missing == "error" and held.labels.missing is not None:
        raise missing_label(held, int(held.labels.missing.argmax()))
    ids = labels_of([held], asked, name_of_missing([held]))[0][0]
    grouped = np.ones(len(held), bool) if ids.missing is None else ~ids.missing
    if not grouped.any():
        raise ValueError(f"--by: expected a column with the groups of some items; {held.name!r} has none")
    if len(held) > 2 and len(listed(ids)[0]) == len(held):
        print_note(f"note: --by: every item has a value of its own in {held.name!r}, so each is a group")
    if left := int((~grouped).sum()):
        print_note(f"note: {left} of {len(held)} items have no label in {held.name!r} and are in no group: not scored")
    return ids, grouped


def name_of_missing(held: Sequence[Held]) -> str:
    """A name for items without a label, different from the labels of these columns."""
    name, known = "missing", {x for one in held if one.labels.vocabulary is not None for x in one.labels.vocabulary}
    while name in known:
        name = f"({name})"
    return name


def labels_of(
    held: Sequence[Held], asked: Selection, missing: str, label: str | None = None, option: str = ""
) -> tuple[list[LabelSource], Label]:
    """Columns, and a command-line label in their type; None, with a note, if no item has it.

    ``missing``: the label that items without one get, if the options say so. Raise if all columns hold whole numbers,
    and the label is none.
    """
    columns, number = [one.labels for one in held], None if label is None else whole_number(label)
    of_missing = asked.spells_missing(label)
    are_numbers = [x.vocabulary is None or all(isinstance(label, int) for label in x.vocabulary) for x in columns]
    if label is not None and number is None and not of_missing and all(are_numbers):
        raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
    fills = of_missing or asked.missing == "label"
    if fills:
        columns = [_with_label(column, None, missing, fills=True) for column in columns]
    found: list[Label] = [None] * len(columns)
    if label is not None:
        tried = [(missing,) if of_missing else (number,) if x else (label.strip(), str(number)) for x in are_numbers]
        found = [next((x for x in own if column.has(x)), None) for own, column in zip(tried, columns, strict=True)]
    seen = sorted({x for x in found if x is not None}, key=lambda x: (isinstance(x, str), x))
    note_unseen(option, label, bool(seen))
    if seen and not of_missing and (fills or len(seen) > 1 or len(set(are_numbers)) > 1):
        columns = [_with_label(column, x, seen[0]) for column, x in zip(columns, found, strict=True)]
    return columns, seen[0] if seen else None


def _with_label(column: LabelSource, own: Label, joint: Label, *, fills: bool = False) -> LabelSource:
    """Rename the label ``own`` to ``joint`` (None: add it); ``fills``: give it to items without a label."""
    labels, places = listed(column)
    if own is None:
        labels.append(joint)
    else:
        labels[labels.index(own)] = joint
    if fills:
        places = np.where(places < 0, len(labels) - 1, places)
    return LabelSource(places.clip(min=0), np.array(labels, object), None if fills else column.missing)


def label_array(labels: Sequence[Label]) -> np.ndarray:
    """Labels as int64 if all fit, else as strings."""
    if all(isinstance(x, int) and -(2**63) <= x < 2**63 for x in labels):
        return np.array(labels, np.int64)
    return np.array([str(x) for x in labels], object)
