"""The tables of the clusterings in files against the truth; what commands need of reading is found here."""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from torchclusteval.cli.reading.columns import BadSpellingError, Kind, Labels, WrongKindError, whole_number
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.held import Held, hold_files, hold_table, missing_label, note_unseen
from torchclusteval.cli.reading.selection import LabelOptions, Selection, parse_selection, pick
from torchclusteval.cli.reading.table import ReadOptions, Table, bad_spelling, check_name
from torchclusteval.common.checks import retain_freed_memory
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.labels.sources import LabelSource
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_objects, process_group
from torchclusteval.tables import ContingencyTables

__all__ = [
    "Counted",
    "Held",
    "LabelOptions",
    "ReadOptions",
    "Selection",
    "count_table",
    "hold_files",
    "hold_table",
    "parse_selection",
]

_MISSING = ""  # the label of missing labels, where they have one: no cell can spell it


@dataclass(frozen=True, eq=False)
class Counted:
    """The tables of clusterings against the truth."""

    truth_name: str
    names: list[str]
    n_items: int
    tables: ContingencyTables
    rank: int = 0


def count_table(asked: Selection, truth: str | None, device: torch.device | None) -> Counted:
    """The tables of the columns of one file against its column ``truth``; every process returns those of all."""
    table = open_table(asked.files[0], asked.read, is_table=True)
    if truth is None:
        listed = ", ".join(table.names[:6]) + (", ..." if len(table.names) > 6 else "")
        expected = "expected the column that holds the truth (or a second file)"
        raise ValueError(f"--truth: {expected}; {table.path} has {listed}")
    check_name(table, truth, "--truth")
    if asked.read.id_column is not None:
        check_name(table, asked.read.id_column, "--id")
        if asked.read.id_column == truth:
            raise ValueError(f"--id: expected another column than that of --truth; got {truth!r} for both")
    if asked.join != "names":
        raise ValueError(f"--join: expected several files, which it joins; got {asked.files[0]}")
    names = pick(table.names, [name for name in table.names if name != truth], asked.columns, asked.exclude)
    kinds: list[Kind] | None = None
    with process_group(torch.device("cpu")) as (rank, ranks, _):
        while True:
            count = _Count(table, [truth, *(name for name in names if name != truth)], names, asked.labels, kinds)
            problem: Exception | None = None
            with progress_bar("reading", in_bytes=True) if rank == 0 else nullcontext() as progress:
                try:
                    count.read(rank, ranks, progress)
                except (WrongKindError, ValueError, OSError) as error:
                    problem = error
            shared = all_gather_objects((problem, count.seen))
            problems = [problem for problem, _ in shared if problem is not None]
            for other in problems:
                if not isinstance(other, WrongKindError):
                    raise other
            if not problems:
                break
            kinds = _kinds(table, count.columns)
        if not count.n_items:
            raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
        for i, (option, label) in enumerate(count.given.items()):
            note_unseen(option, label, any(seen[i] for _, seen in shared))
        accumulator = count.accumulator.all_reduce()
        tables = (accumulator if device is None else accumulator.to(device)).tables()
    return Counted(truth, names, count.n_items, tables, rank)


def _kinds(table: Table, names: Sequence[str]) -> list[Kind]:
    """The kinds of columns, by all of their labels."""
    kinds = [Kind.INTEGER for _ in names]
    for block in table.blocks(names, set()):
        kinds = [max(kind, column.kind) for kind, column in zip(kinds, block, strict=True)]
    return kinds


class _Count:
    """One reading of a file, whose blocks are counted as they come; ``kinds``: of the columns, where they are known."""

    def __init__(
        self, table: Table, columns: list[str], names: list[str], options: LabelOptions, kinds: list[Kind] | None
    ) -> None:
        self.table, self.columns, self.options = table, columns, options
        self.given = {"--ignore": options.ignore, "--noise-label": options.noise_label}
        self.seen = [False, False]  # whether an item has these labels
        self.n_items = 0
        self.accumulator = ContingencyAccumulator(batch_shape=(len(names),))
        place = {name: i for i, name in enumerate(columns)}
        self._places = [place[name] for name in names]
        self._kinds, self._is_sure = kinds, kinds is not None
        self._labels: list[int | str | None] = [None, None]  # as the labels are that are counted
        self._as_text = [False, False]  # the truth, the clusterings

    def read(self, rank: int, ranks: int, progress: Progress | None) -> None:
        """Count every block whose number is ``rank`` modulo ``ranks``."""
        retain_freed_memory()
        integers = set() if self._is_sure else self.table.integers(self.columns)
        for i, block in enumerate(self.table.blocks(self.columns, integers, progress)):
            if i == 0:
                self._start([column.kind for column in block] if self._kinds is None else self._kinds)
            if i % ranks == rank:
                self._add(block)
            self.n_items += len(block[0])

    def _start(self, kinds: list[Kind]) -> None:
        self._kinds = kinds
        sides = [kinds[:1], [kinds[place] for place in self._places]]
        for side, (option, label) in enumerate(self.given.items()):
            fills = self.options.missing == "label" or self.options.spells_missing(label)
            self._as_text[side] = fills or max(sides[side]) > Kind.INTEGER
            self._labels[side] = self._parsed(label, option, sides[side], self._as_text[side])
        self.accumulator = ContingencyAccumulator(
            batch_shape=self.accumulator.batch_shape,
            ignore_index=self._labels[0],
            noise_label=self._labels[1],
            noise=self.options.noise,
            missing="error" if self.options.missing == "error" else "ignore",
        )

    def _parsed(self, label: str | None, option: str, kinds: list[Kind], as_text: bool) -> int | str | None:
        """A label on the command line as it is counted."""
        if label is None:
            return None
        if self.options.spells_missing(label):
            return _MISSING
        number, text = whole_number(label), label.strip()
        if number is None and Kind.TEXT not in kinds:
            raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
        if not as_text:
            return number
        if number is None or str(number) == text or set(kinds) == {Kind.TEXT}:
            return text
        if Kind.TEXT in kinds:
            got = f"{label!r} (some columns hold numbers, others text)"
            raise ValueError(f"{option}: expected {str(number)!r}; got {got}")
        return str(number)

    def _add(self, block: list[Labels]) -> None:
        assert self._kinds is not None
        if not self._is_sure and any(x.kind > kind for x, kind in zip(block, self._kinds, strict=True)):
            raise WrongKindError
        true = self._source(block, 0, side=0)
        preds = {i: self._source(block, place, side=1) for i, place in enumerate(self._places)}
        try:
            self.accumulator.update(true, preds)
        except ValueError as error:
            raise self._explained(error) from None

    def _source(self, block: list[Labels], place: int, side: int) -> LabelSource:
        assert self._kinds is not None
        column, label = block[place], self._labels[side]
        if self._as_text[side]:
            try:
                column = column.as_texts(self._kinds[place])
            except BadSpellingError as error:
                if not self._is_sure:
                    raise WrongKindError from None  # the column may hold text below
                name = self.columns[place]
                raise bad_spelling(self.table, name, self.n_items, column, error) from None
            if label == _MISSING:
                self.seen[side] |= bool(column.is_missing.any())
            if label == _MISSING or self.options.missing == "label":
                column = column.filled(_MISSING)
        if label is not None and label != _MISSING and not self.seen[side]:
            self.seen[side] = bool((column.values == label).any()) if column.texts is None else label in column.texts
        return column.source()

    def _explained(self, error: ValueError) -> ValueError:
        """The error for a missing label, with its column and line."""
        found = re.match(r"labels_(\w+): expected a label .* at position \(?(?:(\d+), )?(\d+)", str(error))
        if found is None:
            return error
        place = 0 if found[1] == "true" else self._places[int(found[2])]
        row = self.n_items + int(found[3])
        return missing_label(self.table, self.columns[place], row, is_truth=place == 0)
