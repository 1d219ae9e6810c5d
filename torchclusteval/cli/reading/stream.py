"""Clusterings in a file larger than memory: read in chunks, by one process or by all that torchrun started."""

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cli.reading.cell_text import is_plain, whole_number
from torchclusteval.cli.reading.chunks import ChunkedTable, Numbering
from torchclusteval.cli.reading.clusterings import pick
from torchclusteval.cli.reading.files import LabelFile, Labels
from torchclusteval.common.progress import progress_bar
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_objects, all_reduce_sum, process_group
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class Streamed:
    """The tables of a file."""

    truth_name: str
    names: list[str]
    n_items: int
    tables: ContingencyTables


def read_streamed(arguments: argparse.Namespace, device: torch.device | None) -> Streamed:
    """The tables of the selected clusterings; every process returns the tables of the complete file.

    Raises:
        ValueError: files or names are not as described.
        OSError: the file cannot be read.
    """
    if len(arguments.files) != 1 or arguments.truth is None:
        raise ValueError("--stream: expected one FILE and --truth COLUMN; got other arguments")
    reader = _Reader(arguments, device)
    problem: ValueError | OSError | None = None
    with process_group(torch.device("cpu")) as (rank, ranks, _):
        try:
            with progress_bar("reading") if rank == 0 else nullcontext() as progress:
                for true, pred in ChunkedTable(arguments.files[0], rank, ranks).read(reader.labels, progress):
                    reader.accumulator.update(true, pred)
                    reader.n_items += len(true)
        except (ValueError, OSError) as error:
            problem = error
        for other in all_gather_objects(problem):  # all raise: otherwise the others would wait for this process
            if other is not None:
                raise other
        reader.names = next(filter(None, all_gather_objects(reader.names)), [])  # a part may have no lines
        if not reader.names:
            raise ValueError(f"{arguments.files[0]}: expected rows of labels below the header; got none")
        reader.wordy = set().union(*all_gather_objects(reader.wordy))
        (total,) = all_reduce_sum([torch.tensor(reader.n_items)])
        tables = reader.finished(reader.agreed().all_reduce()).tables()
        return Streamed(arguments.truth, reader.names, int(total), tables)


class _Reader:
    """Labels of the selected columns, as numbers that mean the same in every chunk."""

    def __init__(self, arguments: argparse.Namespace, device: torch.device | None) -> None:
        self.arguments, self.device = arguments, device
        self.names: list[str] = []
        self.n_items = 0
        self.wordy: set[str] = set()  # columns that have labels other than whole numbers
        self.classes, self.clusters = Numbering(), Numbering()

    def labels(self, chunk: LabelFile) -> tuple[np.ndarray, np.ndarray]:
        """Classes ``(N,)`` and clusters ``(B, N)`` of a chunk."""
        asked = self.arguments
        truth = self._column(chunk, asked.truth)
        if not self.names:
            self.names = pick(chunk.names, [x for x in chunk.names if x != asked.truth], asked.columns, asked.exclude)
        columns = [self._column(chunk, name) for name in self.names]
        return self.classes.encode([truth])[0], self.clusters.encode(columns)

    def _column(self, chunk: LabelFile, name: str) -> Labels:
        column = chunk.labels_as_written(name)
        if name not in self.wordy and not all(whole_number(word) is not None for word in column.vocabulary or ()):
            self.wordy.add(name)
        return column

    @cached_property
    def accumulator(self) -> ContingencyAccumulator:
        """The accumulator of this process; its batch shape needs the names."""
        return self._begin()

    def agreed(self) -> ContingencyAccumulator:
        """The accumulator, with the same numbers for words in all processes."""
        sides = (self.classes, self.clusters)
        known = [{word for words in all_gather_objects(list(side.words)) for word in words} for side in sides]
        if not any(known):
            return self.accumulator
        renumber_true, renumber_pred = (side.settle(words) for side, words in zip(sides, known, strict=True))
        cells = self.accumulator.cells()
        cells = replace(cells, true=_map(renumber_true, cells.true), pred=_map(renumber_pred, cells.pred))
        # A new accumulator, as the label of noise may have another number.
        return self._begin().add_cells(cells, self.accumulator.n_considered)

    def finished(self, accumulator: ContingencyAccumulator) -> ContingencyAccumulator:
        """Final accumulator: in columns that turned out to be all numeric, 07 and 7 become one label."""
        asked = self.arguments
        sides = (self.classes, self.clusters)
        if not any(side.long_numbers for side in sides) and all(
            _is_clear(x) for x in (asked.ignore, asked.noise_label)
        ):
            return accumulator
        cells = accumulator.cells()
        batch, true, pred, counts = cells.columns
        if asked.truth not in self.wordy:
            true = _map(self.classes.shorten, true)
        numeric = torch.tensor([name not in self.wordy for name in self.names], device=pred.device)[batch]
        pred = torch.where(numeric, _map(self.clusters.shorten, pred), pred)
        ignored, noise = _find(self.classes, asked.ignore, true), _find(self.clusters, asked.noise_label, pred)
        kept = torch.ones_like(numeric) if ignored is None else true != ignored
        if noise is not None and not NoisePolicy(asked.noise).counts_noise:
            kept &= pred != noise
        cells = LabelledCells(batch=batch[kept], true=true[kept], pred=pred[kept], counts=counts[kept])
        return self._new(ignored, noise).add_cells(cells, accumulator.n_considered)

    def _begin(self) -> ContingencyAccumulator:
        asked = ((self.classes, self.arguments.ignore), (self.clusters, self.arguments.noise_label))
        return self._new(*(side.number(x) if x is not None and _is_clear(x) else None for side, x in asked))

    def _new(self, ignored: int | None, noise: int | None) -> ContingencyAccumulator:
        asked = self.arguments
        return ContingencyAccumulator(
            batch_shape=(len(self.names),),
            device=self.device,
            ignore_index=ignored,
            noise_label=noise,
            noise="ignore" if noise is None and asked.noise_label is not None else asked.noise,
        )


def _is_clear(label: str | None) -> bool:
    """Whether a label of the command line means the same whatever the column holds; 07 may be 7 or a word."""
    return label is None or is_plain(label.strip()) or whole_number(label) is None


def _map(function: Callable[[np.ndarray], np.ndarray], numbers: Tensor) -> Tensor:
    return torch.from_numpy(function(numbers.cpu().numpy())).to(numbers.device)


def _find(side: Numbering, label: str | None, numbers: Tensor) -> int | None:
    """The number of a label of the command line if some item has it, by the rules of ``files.find``."""
    if label is None:
        return None
    whole = whole_number(label)
    names = sorted({label.strip(), label.strip() if whole is None else str(whole)})
    return next((x for x in map(side.number, names) if bool((numbers == x).any())), None)
