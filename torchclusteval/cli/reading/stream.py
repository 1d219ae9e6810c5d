"""Clusterings in a file larger than memory: read in chunks, by one process or by those that torchrun started."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.distributed as dist

from torchclusteval.cli.reading.cell_text import is_plain, whole_number
from torchclusteval.cli.reading.chunks import ChunkedTable, Numbering
from torchclusteval.cli.reading.clusterings import pick
from torchclusteval.cli.reading.files import LabelFile, Labels
from torchclusteval.common.progress import progress_bar
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import gather_objects, sum_over
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class Streamed:
    """The tables of a file."""

    truth_name: str
    names: list[str]
    n_items: int
    tables: ContingencyTables


def processes() -> tuple[int, int]:
    """Number of this process, and how many torchrun started."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def read_streamed(arguments: argparse.Namespace, device: torch.device | None) -> Streamed:
    """The tables of the clusterings that are asked for; every process returns those of the whole file.

    Raises:
        ValueError: files or names are not as described.
        OSError: the file cannot be read.
    """
    if len(arguments.files) != 1 or arguments.truth is None:
        raise ValueError("--stream: expected one FILE and --truth COLUMN; got other arguments")
    rank, ranks = processes()
    reader = _Reader(arguments, device)
    problem: ValueError | OSError | None = None
    with _group(ranks):
        try:
            with progress_bar("reading") if rank == 0 else nullcontext() as progress:
                for true, pred in ChunkedTable(arguments.files[0], rank, ranks).read(reader.labels, progress):
                    reader.accumulator.update(true, pred)
                    reader.n_items += len(true)
        except (ValueError, OSError) as error:
            problem = error
        for other in gather_objects(problem):  # else the others would wait for this one
            if other is not None:
                raise other
        reader.names = next(filter(None, gather_objects(reader.names)), [])  # a part may have no lines
        if not reader.names:
            raise ValueError(f"{arguments.files[0]}: expected rows of labels below the header; got none")
        reader.wordy = set().union(*gather_objects(reader.wordy))
        (total,) = sum_over([torch.tensor(reader.n_items)])
        return Streamed(
            arguments.truth, reader.names, int(total), reader.finished(reader.agreed().all_reduce()).tables()
        )


class _Reader:
    """Labels of the columns that are asked for, as numbers that mean the same in every chunk."""

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
        found = chunk.labels_as_written(name)
        if name not in self.wordy and not all(whole_number(word) is not None for word in found.vocabulary or ()):
            self.wordy.add(name)
        return found

    @cached_property
    def accumulator(self) -> ContingencyAccumulator:
        """Begun when the names are known."""
        return self._begin()

    def agreed(self) -> ContingencyAccumulator:
        """The accumulator, with numbers of words that all processes share."""
        sides = ((1, self.classes), (2, self.clusters))
        known = [{word for words in gather_objects(list(side.words)) for word in words} for _, side in sides]
        if not any(known):
            return self.accumulator
        state = self.accumulator.state_dict()
        cells = state["cells"]
        for (place, side), words in zip(sides, known, strict=True):
            renumber = side.settle(words)
            cells[:, place] = torch.from_numpy(renumber(cells[:, place].cpu().numpy())).to(cells.device)
        found = self._begin()  # the label of noise may have another number
        found.load_state_dict(state)
        return found

    def finished(self, accumulator: ContingencyAccumulator) -> ContingencyAccumulator:
        """The accumulator of the whole file, with 07 as 7 in the columns without words: only now are they known."""
        asked = self.arguments
        sides = (self.classes, self.clusters)
        if not any(side.long_numbers for side in sides) and all(
            _is_clear(x) for x in (asked.ignore, asked.noise_label)
        ):
            return accumulator
        state = accumulator.state_dict()
        cells = state["cells"].cpu().numpy()
        column, true, pred = cells[:, 0], cells[:, 1], cells[:, 2]
        if asked.truth not in self.wordy:
            true[:] = self.classes.shorten(true)
        plain = np.array([name not in self.wordy for name in self.names])[column]
        pred[plain] = self.clusters.shorten(pred[plain])
        ignored, noise = _find(self.classes, asked.ignore, true), _find(self.clusters, asked.noise_label, pred)
        kept = true != ignored if ignored is not None else np.ones(len(cells), bool)
        if noise is not None and not NoisePolicy(asked.noise).counts_noise:
            kept &= pred != noise
        found = self._new(ignored, noise)
        found.load_state_dict({**state, "cells": torch.from_numpy(cells[kept]).to(state["cells"].device)})
        return found

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


def _find(side: Numbering, label: str | None, numbers: np.ndarray) -> int | None:
    """The number of a label that is asked for among those that there are, as ``files.find`` finds it."""
    if label is None:
        return None
    whole = whole_number(label)
    names = sorted({label.strip(), label.strip() if whole is None else str(whole)})
    return next((x for x in map(side.number, names) if bool((numbers == x).any())), None)


@contextmanager
def _group(ranks: int) -> Iterator[None]:
    """The processes as a group that can add up."""
    if ranks == 1:
        yield
        return
    dist.init_process_group("gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()
