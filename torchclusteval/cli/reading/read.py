"""The tables of the clusterings in a file against the truth, counted block by block."""

from functools import partial

import torch

from torchclusteval.cli.options import shown
from torchclusteval.cli.reading.held import Held, Label, hold, name_gap, note_unseen, open_tables
from torchclusteval.cli.reading.selection import Selection, pick
from torchclusteval.cli.reading.table import Table, WrongKindError
from torchclusteval.common.checks import retain_freed_memory
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.labels.sources import LabelSource
from torchclusteval.labels.spelled import is_number, whole_number
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_objects, process_group
from torchclusteval.tables import ContingencyTables


def count_table(
    asked: Selection, truth: str | None, device: torch.device
) -> tuple[int, ContingencyTables | list[Held]]:
    """The rank of this process, and the tables of one file's columns against ``truth``, summed over the ranks.

    Instead of tables the columns, the truth first, if their labels can only be read column by column.
    """
    (table,), _, _ = open_tables(asked, {} if truth is None else {"--truth": truth})
    if truth is None:
        expected = "expected the column that holds the truth (or a second file)"
        raise ValueError(f"--truth: {expected}; {table.path} has {shown(table.names)}")
    known = {name: name for name in table.names}
    names = pick(known, [name for name in known if name != truth], asked)
    columns = list(dict.fromkeys([truth, *names]))
    with process_group(torch.device("cpu")) as (rank, ranks, _):
        count = _Count(table, columns, names, asked)
        problem: Exception | None = None
        bar = partial(progress_bar, "reading", None if rank == 0 else False)
        with bar() as progress:
            try:
                count.read(rank, ranks, progress)
            except (WrongKindError, ValueError, OSError) as error:
                problem = error
        shared = all_gather_objects((problem, count.seen))
        problems = [error for error, _ in shared if error is not None]
        for wrong in problems:
            if not isinstance(wrong, WrongKindError):
                raise wrong
        if problems:
            with bar() as progress:
                held = {one.name: one for one in hold(table, {name: name for name in columns}, asked, progress)}
            return rank, [held[name] for name in (truth, *names)]
        if not count.n_items:
            raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
        for i, (option, label) in enumerate(count.given.items()):
            note_unseen(option, label, any(seen[i] for _, seen in shared))
        return rank, count.accumulator.all_reduce().to(device).tables()._replace(names=tuple(names))


class _Count:
    """A file whose blocks are counted as they come."""

    def __init__(self, table: Table, columns: list[str], names: list[str], asked: Selection) -> None:
        self._table, self._columns, self._asked = table, columns, asked
        self._places = [columns.index(name) for name in names]
        self.given = {"--ignore": asked.ignore, "--noise-label": asked.noise_label}
        self.seen = [False, False]  # whether an item has these labels
        self.n_items = 0
        self.accumulator = ContingencyAccumulator()
        self._labels: list[Label] = [None, None]  # as the labels are that are counted
        self._fills = asked.missing == "label" or any(map(asked.spells_missing, self.given.values()))

    def read(self, rank: int, ranks: int, progress: Progress | None) -> None:
        """Count blocks whose number is ``rank`` modulo ``ranks``; a WrongKindError if whole columns must be held."""
        retain_freed_memory()
        first: list[bool] = []
        for i, block in enumerate(self._table.blocks(self._columns, progress=progress)):
            are_texts = [column.vocabulary is not None for column in block]
            if i == 0:
                self._start(block, are_texts)
                first = are_texts
            if are_texts != first or (self._fills and any(column.missing is not None for column in block)):
                raise WrongKindError
            if i % ranks == rank:
                self._add(block)
            self.n_items += len(block[0].values)

    def _start(self, block: list[LabelSource], are_texts: list[bool]) -> None:
        for column in block:
            if column.vocabulary is not None and all(not text or is_number(text) for text in column.vocabulary):
                raise WrongKindError
        sides = are_texts[:1], [are_texts[place] for place in self._places]
        for side, ((option, label), texts) in enumerate(zip(self.given.items(), sides, strict=True)):
            if label is not None and not self._asked.spells_missing(label):
                self._labels[side] = _common_label(option, label, texts)
        noise = self._labels[1]
        self.accumulator = ContingencyAccumulator(
            batch_shape=(len(self._places),),
            ignore_index=self._labels[0],
            noise_label=noise,
            noise="ignore" if noise is None else self._asked.noise,
            missing="error" if self._asked.missing == "error" else "ignore",
        )

    def _add(self, block: list[LabelSource]) -> None:
        for side, (label, places) in enumerate(zip(self._labels, ([0], self._places), strict=True)):
            self.seen[side] |= label is not None and any(block[place].has(label) for place in places)
        try:
            self.accumulator.update(block[0], {i: block[place] for i, place in enumerate(self._places)})
        except ValueError as error:
            held = [Held("", self._table, name, column) for name, column in zip(self._columns, block, strict=True)]
            raise name_gap(error, [held[place] for place in self._places], held[0], self.n_items) from None


def _common_label(option: str, label: str, are_texts: list[bool]) -> Label:
    """A command-line label in the type of all columns; a WrongKindError if their types differ, or may differ."""
    number, text = whole_number(label), label.strip()
    if number is None and not any(are_texts):
        raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
    if any(are_texts) and (not all(are_texts) or (number is not None and str(number) != text)):
        raise WrongKindError
    return text if any(are_texts) else number
