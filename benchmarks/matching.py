"""Matchings, dense and sparse, and what uses them: stability of clusters, consensus, accuracy of sets of classes.

    python benchmarks/matching.py            # about two minutes; writes results/
    python benchmarks/matching.py --small    # a few seconds, to see that it works
    python benchmarks/matching.py --only dense,sparse,runs

One thread, CPU seconds. The baselines run next to it: SciPy's solver in a loop, SciPy's sparse solver on a whole table,
counting the tables. Totals are compared first.
"""

import argparse
import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import timing
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from torch import Tensor

import torchclusteval as tce

Row = dict[str, Any]
RANDOM = np.random.default_rng(0)


def check(name: str, found: Any, expected: Any) -> None:
    if not np.allclose(found, expected, rtol=1e-12, atol=0):
        raise SystemExit(f"{name}: expected {expected}; got {found}")


def row(name: str, new: timing.Timing, old: timing.Timing, baseline: str) -> Row:
    ratio = new.cpu_s / old.cpu_s
    return {"case": name, "baseline": baseline, "ratio": ratio, "new": new.record(), "old": old.record()}


def dense_tables(count: int) -> dict[str, np.ndarray]:
    """Tables of 20 x 20: counts of labels right in part, and random numbers."""
    tables = {}
    for right in (0.9, 0.5, 0.2, 0.0):
        true = RANDOM.integers(0, 20, 2000)
        pred = np.where(RANDOM.random((count, 2000)) < right, true, RANDOM.integers(0, 20, (count, 2000)))
        tables[f"labels, {right:.0%} right"] = tce.ContingencyTables.from_labels(true, pred).counts.numpy()
    return tables | {"random numbers below 1000": RANDOM.integers(0, 1000, (count, 20, 20))}


def loop(tables: np.ndarray) -> list[Any]:
    return [linear_sum_assignment(table, maximize=True) for table in tables]


def dense(small: bool) -> list[Row]:
    rows = []
    for name, counts in dense_tables(20 if small else 1000).items():
        tables = tce.ContingencyTables(counts)
        expected = [int(table[found].sum()) for table, found in zip(counts, loop(counts), strict=True)]
        check(name, tce.match(tables).total.numpy(), expected)
        new = timing.measure(partial(tce.match, tables))
        rows.append(
            row(f"match, {len(counts)} tables, {name}", new, timing.measure(partial(loop, counts)), "SciPy in a loop")
        )
    return rows


def whole_table(true: Tensor, pred: Tensor, counts: Tensor) -> int:
    """The best total by SciPy's sparse solver on all cells at once, with a column of its own for each row."""
    rows, i = np.unique(true.numpy(), return_inverse=True)
    columns, j = np.unique(pred.numpy(), return_inverse=True)
    n, m = len(rows), len(columns)
    if n > m:
        i, j, n, m = j, i, m, n
    alone = np.arange(n)
    weights = np.concatenate([counts.numpy() + 1.0, np.ones(n)])
    graph = csr_array((weights, (np.concatenate([i, alone]), np.concatenate([j, m + alone]))), shape=(n, n + m))
    picked = min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[picked].sum()) - n


def sparse_labels(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    at = np.arange(n)
    true = RANDOM.integers(0, n // 2, n)
    right = np.where(RANDOM.random(n) < 0.9, true, RANDOM.integers(0, n // 2, n))
    return {
        "small components": (at // 2, at // 8 * 4 + RANDOM.integers(0, 4, n)),
        "90 % right": (true, right),
        "random": (RANDOM.integers(0, n // 5, n), RANDOM.integers(0, n // 5, n)),
    }


def sparse(small: bool) -> list[Row]:
    """The baseline is quadratic, so it runs on a tenth of the items."""
    rows = []
    sizes = (2_000,) if small else (20_000, 200_000)
    for n in sizes:
        for name, (true, pred) in sparse_labels(n).items():
            tables = tce.ContingencyTables.from_labels(true, pred, layout="sparse")
            _, i, j, counts = tables.cells()

            def score(tables: tce.ContingencyTables = tables) -> float:
                fresh = tables.to("cpu")  # keeps nothing of an earlier call
                return float(tce.measures.one_to_one_accuracy(fresh))

            new = timing.measure(score, repeats=3)
            record: Row = {"case": f"one_to_one_accuracy, {n} items, {name}", "new": new.record()}
            record["match"] = timing.measure(partial(tce.match, tables), repeats=1, budget_s=0.1).record()
            if n == sizes[0]:
                check(name, score() * n, whole_table(i, j, counts))
                old = timing.measure(partial(whole_table, i, j, counts), repeats=1, budget_s=0.1)
                record |= row(str(record["case"]), new, old, "SciPy's sparse solver on the whole table")
            rows.append(record)
    return rows


def runs(small: bool) -> list[Row]:
    count, n = (20, 1000) if small else (1000, 100_000)
    reference = torch.from_numpy(RANDOM.integers(0, 20, n))
    noise = torch.from_numpy(RANDOM.integers(0, 20, (count, n), dtype=np.int32))
    labels = torch.where(torch.from_numpy(RANDOM.random((count, n), dtype=np.float32) < 0.3), noise, reference.int())
    counted = timing.measure(partial(tce.ContingencyTables.from_labels, reference, labels), repeats=3)
    stable = timing.measure(partial(tce.cluster_stability, reference, labels), repeats=3)
    found = timing.measure(partial(tce.consensus, labels[: count // 10]), repeats=3)
    epochs = 20 if small else 200
    true = torch.arange(10_000) % 100
    pred = torch.where(torch.rand(epochs, 10_000) < 0.7, true, torch.randint(100, (epochs, 10_000)))
    groups = {"old": range(50), "new": range(50, 100)}
    tables = tce.ContingencyTables.from_labels(true, pred)
    subset = timing.measure(lambda: tce.subset_accuracy(tce.ContingencyTables.from_labels(true, pred), groups))
    match = timing.measure(lambda: tce.match(tce.ContingencyTables.from_labels(true, pred)))
    del tables
    return [
        row(f"cluster_stability, {count} runs of {n} items", stable, counted, "counting the tables"),
        {"case": f"consensus, {count // 10} runs of {n} items", "new": found.record()},
        row(f"subset_accuracy, {epochs} epochs, from labels", subset, match, "match, from labels"),
    ]


PARTS = {"dense": dense, "sparse": sparse, "runs": runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="few and small tables")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run (default: all)")
    parser.add_argument("--output", type=Path, help="results file (default: results/matching_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    torch.manual_seed(0)
    rows = [found for part in options.only.split(",") for found in PARTS[part](options.small)]
    path = options.output or timing.RESULTS / f"matching_{datetime.date.today()}.json"
    timing.save(path, {"environment": timing.environment(("scipy",)), "rows": rows})
    shown = []
    for found in rows:
        old = found.get("old")
        ratio = f"{found['ratio']:.2f}" if old else ""
        shown.append(
            (found["case"], timing.seconds(found["new"]["cpu_s"]), timing.seconds(old["cpu_s"]) if old else "", ratio)
        )
    print(timing.table(("case", "now", "baseline", "ratio"), shown))


if __name__ == "__main__":
    main()
