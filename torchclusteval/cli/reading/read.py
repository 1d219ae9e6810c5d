"""The tables of the clusterings in files against the truth; what commands need of reading is found here."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from torchclusteval.cli.reading.columns import Labels, WrongKindError, is_number, whole_number
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.held import Held, hold, hold_files, hold_table, note_unseen
from torchclusteval.cli.reading.selection import LabelOptions, Selection, parse_selection, pick
from torchclusteval.cli.reading.table import ReadOptions, Table, check_name
from torchclusteval.common.checks import retain_freed_memory
from torchclusteval.common.progress import Progress, progress_bar
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


@dataclass(frozen=True, eq=False)
class Counted:
    """The tables of clusterings against the truth."""

    truth_name: str
    names: list[str]
    rank: int
    n_items: int = 0
    tables: ContingencyTables | None = None  # None: the columns are held
    held: Sequence[Held] = ()  # the truth, then the clusterings


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
    columns = [truth, *(name for name in names if name != truth)]
    with process_group(torch.device("cpu")) as (rank, ranks, _):
        count = _Count(table, columns, names, asked.labels)
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
        if problems:
            with progress_bar("reading", in_bytes=True) if rank == 0 else nullcontext() as progress:
                held = dict(zip(columns, hold(table, [(name, name) for name in columns], asked, progress), strict=True))
            return Counted(truth, names, rank, held=[held[name] for name in (truth, *names)])
        if not count.n_items:
            raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
        for i, (option, label) in enumerate(count.given.items()):
            note_unseen(option, label, any(seen[i] for _, seen in shared))
        accumulator = count.accumulator.all_reduce()
        tables = (accumulator if device is None else accumulator.to(device)).tables()
    return Counted(truth, names, rank, count.n_items, tables)


class _Count:
    """A file whose blocks are counted as they come."""

    def __init__(self, table: Table, columns: list[str], names: list[str], options: LabelOptions) -> None:
        self.table, self.columns, self.options = table, columns, options
        self.given = {"--ignore": options.ignore, "--noise-label": options.noise_label}
        self.seen = [False, False]  # whether an item has these labels
        self.n_items = 0
        self.accumulator = ContingencyAccumulator(batch_shape=(len(names),))
        self._label_missing = options.missing == "label" or any(map(options.spells_missing, self.given.values()))
        self._places = [columns.index(name) for name in names]
        self._are_texts: list[bool] = []
        self._labels: list[int | str | None] = [None, None]  # as the labels are that are counted

    def read(self, rank: int, ranks: int, progress: Progress | None) -> None:
        """Count every block whose number is ``rank`` modulo ``ranks``.

        Raises:
            WrongKindError: the columns are to be held, all of them.
            ValueError: the file or an option is not as described.
        """
        retain_freed_memory()
        for i, block in enumerate(self.table.blocks(self.columns, self.table.integers(self.columns), progress)):
            if i == 0:
                self._start(block)
            if i % ranks == rank:
                self._add(block)
            self.n_items += len(block[0])

    def _start(self, block: list[Labels]) -> None:
        for column in block:
            self._are_texts.append(column.texts is not None)
            if all(text is None or is_number(text) for text in column.texts or ["text"]):
                raise WrongKindError
        of_clusterings = [self._are_texts[place] for place in self._places]
        sides = zip(self.given.items(), (self._are_texts[:1], of_clusterings), strict=True)
        for side, ((option, label), are_texts) in enumerate(sides):
            if label is None or self.options.spells_missing(label):
                continue
            number, text = whole_number(label), label.strip()
            if number is None and not any(are_texts):
                raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
            if any(are_texts) and (not all(are_texts) or (number is not None and str(number) != text)):
                raise WrongKindError
            self._labels[side] = text if any(are_texts) else number
        self.accumulator = ContingencyAccumulator(
            batch_shape=self.accumulator.batch_shape,
            ignore_index=self._labels[0],
            noise_label=self._labels[1],
            noise="ignore" if self._labels[1] is None else self.options.noise,
            missing="ignore" if self.options.missing == "label" else self.options.missing,
        )

    def _add(self, block: list[Labels]) -> None:
        if any((column.texts is not None) != is_text for column, is_text in zip(block, self._are_texts, strict=True)):
            raise WrongKindError
        if self._label_missing and any(column.is_missing.any() for column in block):
            raise WrongKindError
        for side, (label, places) in enumerate(zip(self._labels, ([0], self._places), strict=True)):
            self.seen[side] |= label is not None and any(block[place].has(label) for place in places)
        try:
            self.accumulator.update(
                block[0].source(), {i: block[place].source() for i, place in enumerate(self._places)}
            )
        except ValueError:
            if self.options.missing == "error" and any(column.is_missing.any() for column in block):
                raise WrongKindError from None  # whose message names column and line
            raise
