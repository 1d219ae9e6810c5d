"""Small calls: one clustering of 100 items, and 1000 of them, by this checkout and by another in turn.

    python benchmarks/calls.py --beside FOLDER    # the checkout of an older commit; a minute; writes results/
    python benchmarks/calls.py --small            # a few seconds, to see that it works

A call of scikit-learn, on arrays of the same labels, is timed next to them. One thread, wall seconds. Each checkout
runs in a process of its own; the two are timed in turn, so that a busy moment hits both. Their values must agree to
1e-12 before anything is timed (of the measures that both have).
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import timing
import torch
from compare import MEASURES, Shape, half_right
from sklearn.metrics import adjusted_rand_score

TOLERANCE = 1e-12
SAMPLE_S = 0.005  # about how long each turn lasts

Call = Callable[[], object]


def jobs() -> dict[str, Call]:
    """Name -> call, of the package that this process imports."""
    import torchclusteval as tce  # which one depends on the process

    tables = tce.ContingencyTables
    one, many = Shape(1, 100, 10), Shape(1000, 100, 10)
    truth, labels = half_right(one, torch.Generator().manual_seed(0))
    truths, batch = half_right(many, torch.Generator().manual_seed(0))
    counts, batch_counts = tables.from_labels(truth, labels[0]).counts, tables.from_labels(truths, batch).counts

    def of_tables(counts: torch.Tensor, measures: Any) -> Call:
        return lambda: tce.evaluate_tables(tables(counts, validate=False), measures)

    found: dict[str, Call] = {"1 x 100, counting": lambda: tables.from_labels(truth, labels[0])}
    for name, measures in {"adjusted_rand": ["adjusted_rand"], "headline": None, "all": "all"}.items():
        found[f"1 x 100, {name}"] = lambda m=measures: tce.evaluate(truth, labels[0], m)  # type: ignore[misc]
    found["1 x 100, expected_mutual_information of tables"] = of_tables(counts, ["expected_mutual_information"])
    found["1000 x 100, adjusted_rand"] = lambda: tce.evaluate(truths, batch, ["adjusted_rand"])
    found[f"1000 x 100, {len(MEASURES)} measures"] = lambda: tce.evaluate(truths, batch, MEASURES)
    found["1000 x 100, adjusted_rand of tables"] = of_tables(batch_counts, ["adjusted_rand"])
    found[f"1000 x 100, {len(MEASURES)} measures of tables"] = of_tables(batch_counts, MEASURES)
    arrays = truth.numpy(), labels[0].numpy()
    if abs(float(tce.evaluate(*arrays, "adjusted_rand")["adjusted_rand"]) - adjusted_rand_score(*arrays)) > TOLERANCE:
        raise SystemExit("adjusted_rand: another value than scikit-learn's")
    return {"1 x 100, scikit-learn's adjusted_rand_score": lambda: adjusted_rand_score(*arrays), **found}


def values(call: Call) -> dict[str, list[float]]:
    """What a call returned, as numbers."""
    result: Any = call()
    if isinstance(result, float):
        return {"adjusted_rand": [result]}
    named = result if isinstance(result, Mapping) else {"counts": result.counts}
    return {name: x.reshape(-1).tolist() for name, x in named.items()}


def work() -> None:
    """Answer each line, a name, by the values of the call or (after ``time``) the seconds that it takes."""
    timing.one_thread()
    found = jobs()
    for line in sys.stdin:
        order, _, name = line.strip().partition(" ")
        if order == "values":
            print(json.dumps(values(found[name])), flush=True)
            continue
        start = time.perf_counter()
        found[name]()
        calls = 1 + int(SAMPLE_S / (time.perf_counter() - start))
        start = time.perf_counter()
        for _ in range(calls):
            found[name]()
        print((time.perf_counter() - start) / calls, flush=True)


class Worker:
    """A process that imports the package from a checkout."""

    def __init__(self, checkout: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--worker"]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, order: str, name: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{order} {name}\n")
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate("")


def commit_of(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def largest_difference(a: dict[str, list[float]], b: dict[str, list[float]]) -> float:
    pairs = [(x, y) for name in a if name in b for x, y in zip(a[name], b[name], strict=True)]
    return max((abs(x - y) for x, y in pairs), default=0.0)


def compared(name: str, workers: dict[str, Worker], rounds: int) -> dict[str, Any]:
    answers = [worker.ask("values", name) for worker in workers.values()]
    off = max(largest_difference(answers[0], other) for other in answers)
    if not off <= TOLERANCE:
        raise SystemExit(f"{name}: off by {off:.1e}")
    samples: dict[str, list[float]] = {which: [] for which in workers}
    for _ in range(rounds):
        for which, worker in workers.items():
            samples[which].append(worker.ask("time", name))
    medians = {f"{which}_s": statistics.median(x) for which, x in samples.items()}
    best = {f"{which}_least_s": min(x) for which, x in samples.items()}
    return {"call": name, "largest_difference": off, **medians, **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--beside", type=Path, help="checkout of another commit")
    parser.add_argument("--small", action="store_true", help="two rounds")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="results file (default: results/calls_DATE.json)")
    options = parser.parse_args()
    if options.worker:
        work()
        return
    timing.one_thread()
    checkouts = {"new": Path(__file__).parents[1], **({"old": options.beside} if options.beside else {})}
    workers = {which: Worker(checkout) for which, checkout in checkouts.items()}
    rows = [compared(name, workers, 2 if options.small else 60) for name in jobs()]
    for worker in workers.values():
        worker.end()
    path = options.output or timing.RESULTS / f"calls_{datetime.date.today()}.json"
    commits = {which: commit_of(checkout) for which, checkout in checkouts.items()}
    timing.save(path, {"environment": timing.environment(), "commits": commits, "rows": rows})
    shown = [(r["call"], *(timing.seconds(r[f"{which}_s"]) for which in checkouts)) for r in rows]
    print(timing.table(("call", *checkouts), shown))


if __name__ == "__main__":
    main()
