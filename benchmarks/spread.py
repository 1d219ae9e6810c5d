"""Memory and time of scores over ranks: cells that stay where they are against cells that all ranks gather.

    python benchmarks/spread.py --ranks 4 --ways spread

Each rank draws its share of the rows from the same table, so that ranks share most cells, and reads them in chunks.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import timing
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import torchclusteval as tce

MEASURES = ["ami", "ari", "nmi", "variation_of_information", "purity", "inverse_purity", "bcubed_f", "rand", "jaccard"]
CHUNK = 1_000_000


def peak() -> int:
    """Most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def chunk(number: int, rows: int, cells: int, groups: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of a table with so many cells, each as likely as another: a class has ``cells / groups`` clusters."""
    cell = torch.randint(cells, (rows,), generator=torch.Generator().manual_seed(number))
    true = cell % groups
    return true, (true + (cell // groups) * 7919) % groups


def run(rank: int, ranks: int, folder: str, asked: argparse.Namespace, way: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    warm = tce.ContingencyAccumulator().update([0, 1], [0, 1])  # loads what is loaded when it is used
    warm.all_reduce().scores(MEASURES, group=dist.group.WORLD)
    started, before = time.perf_counter(), peak()
    accumulator = tce.ContingencyAccumulator()
    step = min(CHUNK, asked.rows // 4)
    numbers = range(rank, asked.rows // step, ranks)
    for number in numbers:
        accumulator.update(*chunk(number, step, asked.cells, asked.groups))
    own = len(accumulator._state.cells.merged())  # type: ignore[union-attr]
    counted, seconds = peak(), time.perf_counter() - started
    dist.barrier()
    started = time.perf_counter()
    if way == "spread":
        scores = accumulator.scores(MEASURES, group=dist.group.WORLD)
    else:
        scores = tce.evaluate_tables(accumulator.all_reduce().tables(), MEASURES)
    found = {
        "own_cells": own,
        "bytes_at_start": before,
        "bytes_of_counting": counted - before,
        "bytes": peak() - before,
        "seconds_of_counting": round(seconds, 2),
        "seconds": round(time.perf_counter() - started, 2),
        "scores": {name: scores[name].item() for name in scores},
    }
    Path(folder, f"{way}-{rank}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def measured(asked: argparse.Namespace, ranks: int, way: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, args=(ranks, folder, asked, way), nprocs=ranks)  # type: ignore[attr-defined]
        parts = [json.loads(Path(folder, f"{way}-{rank}.json").read_text()) for rank in range(ranks)]
    assert all(part["scores"] == parts[0]["scores"] for part in parts)
    most = max(parts, key=lambda part: part["bytes"])
    groups = 2 * asked.groups
    allowed = [200 * part["own_cells"] + 16 * groups for part in parts]
    return {
        "way": way,
        "ranks": ranks,
        "rows": asked.rows,
        "cells_drawn_from": asked.cells,
        "classes_and_clusters": groups,
        **{name: most[name] for name in most},
        "bytes_a_cell": round(most["bytes"] / most["own_cells"], 1),
        "allowed_bytes": min(allowed),
        "within": all(part["bytes"] <= limit for part, limit in zip(parts, allowed, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--cells", type=int, default=44_500_000, help="cells that the rows are drawn from")
    parser.add_argument("--small", action="store_true", help="a hundredth of that")
    parser.add_argument("--groups", type=int, default=10_000, help="classes, and clusters")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--ways", nargs="+", choices=["spread", "all_reduce"], default=["spread", "all_reduce"])
    parser.add_argument("--output", help="JSON file of the results")
    asked = parser.parse_args()
    if asked.small:
        asked.rows, asked.cells = asked.rows // 100, asked.cells // 100
    results = []
    for ranks in asked.ranks:
        for way in asked.ways:
            results.append(measured(asked, ranks, way))
            print({name: x for name, x in results[-1].items() if name != "scores"}, flush=True)
    for result in results[1:]:
        for name, value in result["scores"].items():
            assert abs(value - results[0]["scores"][name]) <= 1e-12, (name, value, results[0]["scores"][name])
    found = {(result["way"], result["ranks"]): result for result in results}
    assert all(result["within"] for result in results if result["way"] == "spread")
    if {("spread", 4), ("all_reduce", 4)} <= found.keys():
        assert found["spread", 4]["bytes"] <= found["all_reduce", 4]["bytes"] / 2
    if asked.output:
        timing.save(Path(asked.output), {"environment": timing.environment(), "results": results})


if __name__ == "__main__":
    main()
