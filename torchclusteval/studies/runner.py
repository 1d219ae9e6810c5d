"""Run a study in blocks: reproducible, resumable, on one process or many.

A study is a :class:`Plan`: frozen settings, a list of configurations, and a function that turns a configuration, a
number of sets and a generator into one record of values for each set. The work consists of blocks with a fixed number
of sets and a generator of their own, seeded by (seed, configuration, block). So no result depends on the order of the
blocks, on the process that computes them, or on an interruption.

With an output, every finished block goes to the folder ``OUTPUT.partial`` at once, and a repeated call resumes from
there. Under ``torch.distributed`` (initialised, or with the variables of torchrun), the ranks share the blocks and all
get all records; rank 0 writes the output.
"""

import csv
import hashlib
import json
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import as_path, check_count
from torchclusteval.common.output import replacing, write_text
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.common.threads import on_one_thread, share
from torchclusteval.common.version import __version__
from torchclusteval.streaming.distributed import all_reduce_sum, process_group, raised_together, rank_and_size
from torchclusteval.studies.common import Row, averages

_VERSIONS = {"torchclusteval": __version__, "torch": torch.__version__}  # they may change the numbers


@dataclass(frozen=True)
class Plan:
    """A study, described for the runner."""

    study: str
    settings: Mapping[str, Any]  # JSON values that decide the results, next to the arguments of :func:`run_plan`
    configurations: Sequence[Mapping[str, Any]]
    """The cells of the study, as JSON values; these values, not its place, decide the random numbers of a cell."""
    columns: Sequence[str]  # names of the values in a record
    block: Callable[[Mapping[str, Any], int, torch.Generator], Tensor]
    """Takes (configuration, sets, generator); returns the records, ``(sets, columns)`` float64, on any device."""
    block_size: int = 1000
    in_threads: bool = False
    """Whether threads compute blocks in parallel on the CPU, which pays if most operations are large."""


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a run, equal on all ranks except for the time."""

    records: Tensor  # (configurations, iterations, columns) float64, on the CPU
    rows: list[Row]
    seconds: float
    resumed: int  # blocks from an earlier, interrupted run


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
    """Compute every configuration ``iterations`` times; the other options are those of all studies.

    ``"cuda"`` is each rank's own card. On one kind of device, records and rows are equal for every number of processes.
    An output with unfinished blocks of other settings is a ``ValueError``.
    """
    check_count(iterations, "iterations")
    if seed < 0:
        raise ValueError(f"seed: expected an integer of at least 0; got {seed}")
    target, started = checked_output(output), time.perf_counter()
    blocks = list(product(range(len(plan.configurations)), range(-(-iterations // plan.block_size))))
    with process_group(torch.device(device)) as (own_rank, ranks, own_device):
        facts = {
            "study": plan.study,
            "settings": dict(plan.settings),
            "iterations": iterations,
            "seed": seed,
            "device": own_device.type,
            "configurations": [dict(configuration) for configuration in plan.configurations],
            "columns": list(plan.columns),
            "block_size": plan.block_size,
            **_VERSIONS,
        }
        folder = None if target is None else _open_folder(target, facts)
        records = torch.zeros(len(plan.configurations), iterations, len(plan.columns), dtype=torch.float64)
        with progress_bar(plan.study, progress if own_rank == 0 else False) as advance, raised_together():
            done = _compute(plan, blocks[own_rank::ranks], seed, own_device, folder, records, advance)
        bits = records.view(torch.int64)  # bit patterns plus zeros: exact for all values, nan included
        total, of_ranks = all_reduce_sum([bits, torch.tensor([done])])
        bits.copy_(total)
        resumed = int(of_ranks)
        rows, seconds = averages(plan.configurations, plan.columns, records), time.perf_counter() - started
        if target is not None and folder is not None and own_rank == 0:
            found = {"seconds": round(seconds, 3), "resumed_blocks": resumed, "processes": ranks}
            write_result(target, rows, {**facts, **found})
            shutil.rmtree(folder)
    return Run(records, rows, seconds, resumed)


def rank() -> int:
    """Number of this process among those of the study, 0 for a single process; only 0 should print."""
    return rank_and_size()[0]


def _compute(
    plan: Plan,
    blocks: list[tuple[int, int]],
    seed: int,
    device: torch.device,
    folder: Path | None,
    records: Tensor,
    advance: Progress | None,
) -> int:
    """Fill blocks (configuration, number) of the records; return the number of blocks from an earlier run."""
    done, one_at_a_time = count(1), threading.Lock()

    def compute(taken: Iterator[tuple[int, int]]) -> int:
        resumed = 0
        for place, number in taken:
            configuration, own = plan.configurations[place], records[place].split(plan.block_size)[number]
            file = None if folder is None else folder / f"{place:04d}-{number:05d}.npy"
            if file is not None and file.exists():
                own.copy_(torch.from_numpy(np.load(file)))
                resumed += 1
            else:
                generator = torch.Generator(device).manual_seed(_block_seed(seed, configuration, number))
                own.copy_(plan.block(configuration, len(own), generator).cpu())
                if file is not None:
                    with replacing(file) as unfinished:
                        np.save(unfinished, own.numpy())
            with one_at_a_time:
                if advance is not None:
                    advance(next(done), len(blocks))
        return resumed

    return sum(share(compute, blocks, None if plan.in_threads and device.type == "cpu" else 1))


def _block_seed(seed: int, configuration: Mapping[str, Any], number: int) -> int:
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    key = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    return int(np.random.SeedSequence([seed, key, number]).generate_state(1, np.uint64)[0])


def is_unfinished(output: str | Path) -> bool:
    """Whether an interrupted run with this output can be resumed."""
    return Path(f"{output}.partial").is_dir()


def _open_folder(output: Path, facts: Mapping[str, Any]) -> Path:
    """The folder of the blocks; blocks of a run with other facts are an error."""
    folder = Path(f"{output}.partial")
    folder.mkdir(exist_ok=True)
    manifest = folder / "run.json"
    if not manifest.exists():
        write_text(manifest, json.dumps(facts, indent=2))
    stored, wanted = json.loads(manifest.read_text()), json.loads(json.dumps(facts))
    names = [name for name in stored.keys() | wanted.keys() if stored.get(name) != wanted.get(name)]
    if names:
        raise ValueError(
            f"output: expected the settings of the unfinished run in {folder}; got other {', '.join(sorted(names))} "
            "(repeat its settings, choose another output, or delete that folder)"
        )
    return folder


def write_result(output: Path, rows: list[Row], facts: Mapping[str, Any]) -> None:
    """Write rows as a CSV file, and next to it a JSON file of facts and versions."""
    with replacing(output) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    versions = {**_VERSIONS, "python": platform.python_version(), "numpy": np.__version__}
    write_text(output.with_suffix(".json"), json.dumps({**facts, **versions}, indent=2) + "\n")


def checked_output(output: str | Path | None) -> Path | None:
    """The path of the CSV file, checked to have a folder, or None."""
    if output is None:
        return None
    path = as_path(output, "output")
    if path.suffix.lower() != ".csv" or not path.parent.is_dir():
        raise ValueError(f"output: expected the name of a .csv file in an existing folder; got {str(output)!r}")
    return path
