"""What a second thread gains on an idle machine, and what it costs on a busy one.

    python benchmarks/threads.py                    # about ten minutes, 1 GB; writes results/threads_DATE.json
    python benchmarks/threads.py --small            # a few seconds, to see that it works
    python benchmarks/threads.py --old CHECKOUT     # another state of the code, in turn with this one

Each state of the code runs in processes of its own, with one thread and with two, in turn; the answers of all of them
are compared, to the bit, before a figure is kept. "Busy" is next to as many processes without rest as the machine has
cores. Wall seconds; the least of the turns, since other programs can only add to it. ``cores`` says what the machine
itself gave at the time: how much faster two processes did the same work than one after the other.
"""

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import timing
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval.studies import kishida, properties
from torchclusteval.studies.kishida import simulation
from torchclusteval.studies.runner import run_plan

HERE = Path(__file__).resolve().parent.parent
Call = Callable[[], Any]
SPIN = "while True: pass"
# clusterings, items, groups, type, whether each clustering has a truth of its own
SHAPES: tuple[tuple[int, int, int, str, bool], ...] = (
    (1, 100, 10, "int64", False),
    (1000, 100, 10, "int64", False),
    (1000, 10_000, 10, "int64", False),
    (1000, 10_000, 10, "uint8", False),
    (100, 100_000, 10, "int64", False),
    (100, 100_000, 10, "int32", False),
    (100, 100_000, 10, "uint8", False),
    (100, 100_000, 10, "int64", True),
    (40, 100_000, 10, "int64", False),
    (1, 4_000_000, 10, "int64", False),
    (1, 10_000_000, 100, "int64", False),
    (1, 10_000_000, 100, "uint8", False),
)
SMALL = ((1, 100, 5, "int64", False), (20, 200, 5, "uint8", True))


def labels(clusterings: int, items: int, groups: int, dtype: str, batched: bool) -> tuple[Tensor, Tensor]:
    kind = {"generator": seeded(), "dtype": getattr(torch, dtype)}
    shape = (clusterings, items)
    return torch.randint(groups, shape if batched else shape[1:], **kind), torch.randint(groups, shape, **kind)


def cases(small: bool) -> Iterator[tuple[str, Call]]:
    """Name and call of every case; the calls return mappings of names to tensors."""
    for clusterings, items, groups, dtype, batched in SMALL if small else SHAPES:
        true, pred = labels(clusterings, items, groups, dtype, batched)
        name = f"{clusterings} x {items:,}, {groups} groups, {dtype}{', a truth each' if batched else ''}"
        yield f"count {name}", partial(counts, true, pred)
        if dtype == "int64" and not batched:
            yield f"evaluate {name}", partial(tce.evaluate, true, pred)
    _, pred = labels(*(10, 100, 5) if small else (300, 1000, 10), "int64", False)
    yield "pairwise", partial(tce.pairwise, pred, ("adjusted_rand", "v_measure"))
    tables = tce.ContingencyTables.from_labels(pred[0], pred[1:101])
    yield "permutation test", lambda: permuted(tables, 20 if small else 256)
    sides = (tce.Memberships.from_matrix(torch.rand(4, pred.shape[1], 8, generator=seeded()) < 0.2) for _ in range(2))
    yield "overlapping", partial(overlapping, *sides)
    cells = [simulation.Configuration("balanced", 0.5, number) for number in ((3, 10) if small else (3, 10, 20))]
    run = partial(run_plan, kishida.plan("text", cells), iterations=3 if small else 1000, progress=False)
    yield f"study kishida, {len(cells)} of {len(simulation.CONFIGURATIONS)}", lambda: {"": run().records}
    if not small:
        yield "study properties", rates


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def overlapping(true: tce.Memberships, pred: tce.Memberships) -> tce.Scores:
    return tce.evaluate_overlapping(true.view(), pred.view())  # views have compared nothing yet


def counts(true: Tensor, pred: Tensor) -> dict[str, Tensor]:
    return {"counts": tce.ContingencyTables.from_labels(true, pred).counts}


def permuted(tables: tce.ContingencyTables, permutations: int) -> dict[str, Tensor]:
    found = tce.permutation_test(tables, "adjusted_rand", n_resamples=permutations, rng=seeded())
    return {name: x.p_value for name, x in found.items()}


def rates() -> dict[str, Tensor]:
    found = properties.run()
    return {name: torch.tensor(list(rate.values())) for name, rate in found.lowest.items()}


def digest(values: Any) -> str:
    joined = b"".join(values[name].contiguous().numpy().tobytes() for name in values)
    return hashlib.sha256(joined).hexdigest()


# one process ----------------------------------------------------------------------------------------------


def work(threads: int, turns: int, only: str, small: bool) -> None:
    """Print a line of JSON for each case: its name, the digest of its answer, the least wall seconds."""
    torch.set_num_threads(threads)
    for name, call in cases(small):
        if only in name:
            answer, taken = digest(call()), []
            for _ in range(turns):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
                if sum(taken) > 3:
                    break
            print(json.dumps([name, answer, min(taken)]), flush=True)


def run(checkout: Path, threads: int, options: argparse.Namespace) -> dict[str, tuple[str, float]]:
    arguments = [f"--work={threads}", f"--turns={options.turns}", f"--only={options.only}"]
    arguments += ["--small"] if options.small else []
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {name: (answer, taken) for name, answer, taken in map(json.loads, done.stdout.splitlines())}


@contextlib.contextmanager
def spinning(number: int) -> Iterator[None]:
    """As many processes that never rest."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(number)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def cores() -> float:
    """How much faster two processes do the same work than one after the other: what the machine has to give."""
    command = [sys.executable, "-c", "for _ in range(10**7): pass"]
    start = time.perf_counter()
    for _ in range(2):
        subprocess.run(command, check=True)
    serial, start = time.perf_counter() - start, time.perf_counter()
    for process in [subprocess.Popen(command) for _ in range(2)]:
        process.wait()
    return serial / (time.perf_counter() - start)


# all of them ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one turn")
    parser.add_argument("--old", type=Path, help="the checkout of another state of the code")
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--idle", action="store_true", help="on the idle machine only")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="results file (default: results/threads_DATE.json)")
    options = parser.parse_args()
    options.turns = 1 if options.small else options.turns
    if options.work:
        work(options.work, options.turns, options.only, options.small)
        return
    states = {"old": options.old, "new": HERE} if options.old else {"new": HERE}
    results: dict[str, dict[str, float]] = {}
    answers: dict[str, str] = {}
    given = cores()
    for load in ("idle",) if options.idle else ("idle", "busy"):
        with spinning(os.cpu_count() or 1 if load == "busy" else 0):
            for threads in (1, 2):
                for state, checkout in states.items():
                    for name, (answer, taken) in run(checkout, threads, options).items():
                        if answers.setdefault(name, answer) != answer:
                            raise SystemExit(f"{name}: {state}, {threads} threads, {load}: another answer")
                        results.setdefault(name, {})[f"{state}, {threads} threads, {load}"] = taken
    path = options.output or timing.RESULTS / f"threads_{datetime.date.today()}.json"
    content = {"environment": timing.environment(), "cores": given, "cores_after": cores(), "seconds": results}
    timing.save(path, content)
    columns = list(next(iter(results.values())))
    rows = [[name, *(timing.seconds(taken[column]) for column in columns)] for name, taken in results.items()]
    print(timing.table(["wall time", *columns], rows))
    print(f"two processes next to each other: {given:.2f} times as fast, {content['cores_after']:.2f} at the end")


if __name__ == "__main__":
    main()
