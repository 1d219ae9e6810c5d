"""Runs a study in blocks: reproducible, resumable, on one process or many.

A study is a :class:`Plan`: frozen settings, a list of configurations, and a function that turns a
configuration, a number of sets and a source of random numbers into one record of values per set. The work is
cut into blocks of a fixed number of sets, each with its own generator seeded by (seed, configuration, block),
so no result depends on the order of the blocks, on who computes them, or on an interruption.

With an output, every finished block is written to the folder ``OUTPUT.partial`` at once and the same call made
again goes on from there. When ``torch.distributed`` is initialised, or torchrun has set its variables, the
blocks are divided over the ranks and every rank gets all records; rank 0 writes the output.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import as_path
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.common.threads import on_one_thread, share
from torchclusteval.common.version import __version__
from torchclusteval.streaming.distributed import all_reduce_sum, process_group, rank_and_size
from torchclusteval.studies.common import Row

__all__ = ["Plan", "Run", "checked_output", "is_unfinished", "rank", "run_plan", "write_result"]


@dataclass(frozen=True)
class Plan:
    """A study as the runner needs it."""

    study: str
    settings: Mapping[str, Any]
    """Everything that the results depend on besides the arguments of :func:`run_plan`, as JSON values."""
    configurations: Sequence[Mapping[str, Any]]
    """The cells of the study, as JSON values; a cell's random numbers depend on its values, not its place."""
    columns: Sequence[str]
    """Names of the values in a record."""
    block: Callable[[Mapping[str, Any], int, torch.Generator], Tensor]
    """(configuration, sets, generator) to the ``(sets, columns)`` float64 records, on any device."""
    rows: Callable[[Tensor], list[Row]]
    """The ``(configurations, iterations, columns)`` records to the rows of the CSV file."""
    block_size: int = 1000
    in_threads: bool = False
    """Whether threads compute blocks side by side on the CPU, which pays where most operations are large."""


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a run, the same on every rank but for the times and counts."""

    records: Tensor  # (configurations, iterations, columns) float64, on the CPU
    rows: list[Row]
    seconds: float
    cpu_seconds: float
    blocks: int
    resumed: int
    """Blocks of this rank that an earlier, interrupted run had finished."""


@dataclass(frozen=True)
class _Block:
    """Sets ``first`` to ``first + size`` of one configuration."""

    configuration: int
    number: int
    first: int
    size: int

    @property
    def file(self) -> str:
        return f"{self.configuration:04d}-{self.number:05d}.npy"


@on_one_thread
def run_plan(
    plan: Plan,
    *,
    iterations: int,
    seed: int = 0,
    device: str | torch.device = "cpu",
    output: str | Path | None = None,
    progress: bool | None = None,
) -> Run:
    """Compute every configuration ``iterations`` times.

    Args:
        plan: the study.
        iterations: sets per configuration, at least 1.
        seed: any integer of at least 0.
        device: where the blocks are computed; ``"cuda"`` under torchrun is the rank's own device.
        output: CSV file to write; a JSON file with settings, versions and time is written beside it. None
            keeps everything in memory and cannot be resumed.
        progress: whether to show a bar on standard error; None shows one on a terminal.

    Returns:
        The records and rows; on the same kind of device they are the same for every number of processes.

    Raises:
        ValueError: for an argument out of its range, or an output whose unfinished blocks belong to a run with
            other settings.
    """
    if iterations < 1:
        raise ValueError(f"iterations: expected at least 1; got {iterations}")
    if seed < 0:
        raise ValueError(f"seed: expected an integer of at least 0; got {seed}")
    target = checked_output(output)
    started, cpu_started = time.perf_counter(), time.process_time()
    blocks = _blocks(len(plan.configurations), iterations, plan.block_size)
    with process_group(torch.device(device)) as (own_rank, ranks, own_device):
        identity = _identity(plan, iterations, seed, own_device)
        store = None if target is None else _Store(target, identity, len(plan.columns))
        records = torch.zeros(len(plan.configurations), iterations, len(plan.columns), dtype=torch.float64)
        with progress_bar(plan.study, progress if own_rank == 0 else False) as advance:
            resumed = _compute(plan, blocks[own_rank::ranks], seed, own_device, store, records, advance)
        _gather(records)
        rows = plan.rows(records)
        seconds = time.perf_counter() - started
        run = Run(
            records=records,
            rows=rows,
            seconds=seconds,
            cpu_seconds=time.process_time() - cpu_started,
            blocks=len(blocks),
            resumed=resumed,
        )
        if store is not None and own_rank == 0:
            store.finish(run, ranks)
    return run


def rank() -> int:
    """Number of this process among those that share the study, 0 when it is alone; only 0 should print."""
    return rank_and_size()[0]


def _blocks(configurations: int, iterations: int, size: int) -> list[_Block]:
    numbers = range(math.ceil(iterations / size))
    return [
        _Block(configuration, number, number * size, min(size, iterations - number * size))
        for configuration in range(configurations)
        for number in numbers
    ]


def _compute(
    plan: Plan,
    blocks: list[_Block],
    seed: int,
    device: torch.device,
    store: _Store | None,
    records: Tensor,
    progress: Progress | None,
) -> int:
    """Fill this rank's blocks of the records. Returns how many of them an earlier run had finished."""
    done, one_at_a_time = count(1), threading.Lock()

    def compute(own: Iterator[_Block]) -> int:
        resumed = 0
        for block in own:
            values = None if store is None else store.load(block)
            if values is not None:
                resumed += 1
            else:
                values = _compute_block(plan, block, seed, device)
                if store is not None:
                    store.save(block, values)
            records[block.configuration, block.first : block.first + block.size] = values
            with one_at_a_time:
                if progress is not None:
                    progress(next(done), len(blocks))
        return resumed

    return sum(share(compute, blocks, None if plan.in_threads and device.type == "cpu" else 1))


def _compute_block(plan: Plan, block: _Block, seed: int, device: torch.device) -> Tensor:
    configuration = plan.configurations[block.configuration]
    generator = torch.Generator(device).manual_seed(_block_seed(seed, configuration, block.number))
    values = plan.block(configuration, block.size, generator)
    expected = (block.size, len(plan.columns))
    if tuple(values.shape) != expected:
        raise ValueError(f"block: expected records of shape {expected}; got {tuple(values.shape)}")
    return values.to("cpu", torch.float64)


def _block_seed(seed: int, configuration: Mapping[str, Any], number: int) -> int:
    key = hashlib.sha256(_canonical(configuration).encode()).digest()
    words = np.random.SeedSequence([seed, int.from_bytes(key, "big"), number]).generate_state(1, np.uint64)
    return int(words[0])


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


# ---- one process or many ------------------------------------------------------------------------------------


def _gather(records: Tensor) -> None:
    """Give every rank the records of all; each place is filled by one rank and 0 on the others."""
    bits = records.view(torch.int64)  # sums of bit patterns with zeros: exact for every value, nan too
    bits.copy_(all_reduce_sum([bits])[0])


# ---- files --------------------------------------------------------------------------------------------------


class _Store:
    """The finished blocks of one run, in a folder beside the output."""

    def __init__(self, output: Path, identity: Mapping[str, Any], columns: int) -> None:
        self.output, self.identity, self.columns = output, identity, columns
        self.folder = _blocks_folder(output)
        self.folder.mkdir(exist_ok=True)
        manifest = self.folder / "run.json"
        if manifest.exists():
            self._compare(json.loads(manifest.read_text()))
        else:
            _write_text(manifest, json.dumps(identity, indent=2))

    def _compare(self, stored: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self.identity))
        names = sorted(name for name in stored.keys() | wanted.keys() if stored.get(name) != wanted.get(name))
        if names:
            raise ValueError(
                f"output: expected to go on with the unfinished run in {self.folder}; got other values of "
                f"{', '.join(_difference(name, stored.get(name), wanted.get(name)) for name in names)}. "
                "Repeat its settings, choose another output, or delete that folder"
            )

    def load(self, block: _Block) -> Tensor | None:
        file = self.folder / block.file
        if not file.exists():
            return None
        values = torch.from_numpy(np.load(file))
        if tuple(values.shape) != (block.size, self.columns):
            raise ValueError(f"output: expected {block.size} records in {file}; got {len(values)}. Delete it")
        return values

    def save(self, block: _Block, values: Tensor) -> None:
        file = self.folder / block.file
        unfinished = _unfinished(file)
        with unfinished.open("wb") as stream:
            np.save(stream, values.numpy())
        os.replace(unfinished, file)

    def finish(self, run: Run, ranks: int) -> None:
        """Write the output and drop the blocks."""
        facts = {
            "seconds": round(run.seconds, 3),
            "cpu_seconds": round(run.cpu_seconds, 3),
            "blocks": run.blocks,
            "resumed_blocks": run.resumed,
            "processes": ranks,
        }
        write_result(self.output, run.rows, {**self.identity, **facts})
        shutil.rmtree(self.folder)


def _blocks_folder(output: Path) -> Path:
    """The folder that holds the finished blocks of an unfinished run."""
    return output.with_name(output.name + ".partial")


def is_unfinished(output: str | Path) -> bool:
    """Whether a run that writes there was interrupted, and would go on."""
    return _blocks_folder(Path(output)).is_dir()


def write_result(output: Path, rows: list[Row], facts: Mapping[str, Any]) -> None:
    """Write rows as a CSV file, and beside it a JSON file of facts and versions."""
    versions = {**_versions(), "python": platform.python_version(), "numpy": np.__version__}
    _write_rows(output, rows)
    _write_text(output.with_suffix(".json"), json.dumps({**facts, **versions}, indent=2) + "\n")


def _versions() -> dict[str, str]:
    """Versions of the code that computes the numbers."""
    return {"torchclusteval": __version__, "torch": torch.__version__}


def _identity(plan: Plan, iterations: int, seed: int, device: torch.device) -> dict[str, Any]:
    """Everything that the numbers depend on; blocks of runs that differ in any of it do not mix."""
    return {
        "study": plan.study,
        "settings": dict(plan.settings),
        "iterations": iterations,
        "seed": seed,
        "device": device.type,
        "configurations": [dict(configuration) for configuration in plan.configurations],
        "columns": list(plan.columns),
        "block_size": plan.block_size,
        **_versions(),
    }


def _difference(name: str, stored: Any, wanted: Any) -> str:
    if isinstance(stored, dict) and isinstance(wanted, dict):
        inner = sorted(key for key in stored.keys() | wanted.keys() if stored.get(key) != wanted.get(key))
        return ", ".join(_difference(f"{name}.{key}", stored.get(key), wanted.get(key)) for key in inner)
    if isinstance(stored, list) or isinstance(wanted, list):
        return name
    return f"{name} ({stored} there, {wanted} here)"


def checked_output(output: str | Path | None) -> Path | None:
    """The path of the CSV file to write, or None.

    Raises:
        ValueError: the name does not end in .csv, or the folder does not exist.
    """
    if output is None:
        return None
    path = as_path(output, "output")
    if path.suffix.lower() != ".csv":
        raise ValueError(f"output: expected a file name that ends in .csv; got {str(output)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"output: expected a file in an existing folder; got {str(output)!r}")
    return path


def _write_rows(path: Path, rows: list[Row]) -> None:
    unfinished = _unfinished(path)
    with unfinished.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(unfinished, path)


def _write_text(path: Path, text: str) -> None:
    unfinished = _unfinished(path)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.{rank()}.{os.getpid()}")
