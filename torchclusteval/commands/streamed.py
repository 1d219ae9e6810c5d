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

from torchclusteval.commands.chunked_files import ChunkedTable, Numbering
from torchclusteval.commands.clusterings import pick
from torchclusteval.commands.files import LabelFile, Labels
from torchclusteval.commands.options import say
from torchclusteval.commands.progress import progress_bar
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
        _note_mixed_columns([kind for kinds in gather_objects(sorted(reader.kinds)) for kind in kinds], rank)
        (total,) = sum_over([torch.tensor(reader.n_items)])
        return Streamed(arguments.truth, reader.names, int(total), reader.agreed().all_reduce().tables())


class _Reader:
    """Labels of the columns that are asked for, as numbers that mean the same in every chunk."""

    def __init__(self, arguments: argparse.Namespace, device: torch.device | None) -> None:
        self.arguments, self.device = arguments, device
        self.names: list[str] = []
        self.n_items = 0
        self.kinds: set[tuple[str, bool]] = set()  # a column, and whether a chunk of it is whole numbers
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
        found = chunk.labels(name)
        self.kinds.add((name, found.vocabulary is None))
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

    def _begin(self) -> ContingencyAccumulator:
        asked = self.arguments
        return ContingencyAccumulator(
            batch_shape=(len(self.names),),
            device=self.device,
            ignore_index=None if asked.ignore is None else self.classes.number(asked.ignore),
            noise_label=None if asked.noise_label is None else self.clusters.number(asked.noise_label),
            noise=asked.noise,
        )


def _note_mixed_columns(kinds: list[tuple[str, bool]], rank: int) -> None:
    """Say where a number may have been read in two ways, which a file that is read at once never is."""
    for name in dict.fromkeys(name for name, _ in kinds):
        if rank == 0 and {(name, True), (name, False)} <= set(kinds):
            say(
                f"note: column {name!r} has parts of whole numbers only and parts with words: in the former 07 "
                "counts as 7, in the latter it is a label of its own. Without --stream it is one everywhere"
            )


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
