"""The largest sizes that the package promises, with the memory they may take on top of the labels.

python benchmarks/limits.py            # some minutes, 6 GB; writes results/
python benchmarks/limits.py --small    # a few seconds, to see that it works

The exit status is 1 where a bound is broken. Each case runs in a process of its own.
"""

import argparse
import datetime
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import timing

import torchclusteval as tce
from torchclusteval.overlap import Memberships, evaluate_overlapping

_DRAWN = 1 << 20  # labels drawn at a time, so that drawing leaves no peak behind


@dataclass(frozen=True)
class Case:
    name: str
    items: int
    groups: int
    allowed_mb: float
    prepare: Callable[[], Callable[[], Callable[[], None]]]  # -> the call -> the check of what it gives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--output", type=Path, help="results file (default: results/limits_DATE.json)")
    options = parser.parse_args()
    names = [case.name for case in cases(options.small)]
    rows = [apart(name, options.small) for name in names]
    shown = [
        (r["case"], timing.seconds(r["seconds"]), f"{r['peak_mb']:.0f} MB", f"{r['allowed_mb']:.0f} MB") for r in rows
    ]
    print(timing.table(("case", "time", "peak on top of the labels", "allowed"), shown))
    default = timing.RESULTS / f"limits_{datetime.date.today()}.json"
    timing.save(options.output or default, {"environment": timing.environment(), "rows": rows})
    broken = [row["case"] for row in rows if row["peak_mb"] > row["allowed_mb"]]
    for name in broken:
        print(f"over its bound: {name}", file=sys.stderr)
    return int(bool(broken))


def cases(small: bool) -> list[Case]:
    n, many = (10**6, 10**4) if small else (10**8, 10**6)
    beside = 300.0 if small else 4000.0  # of which blocks take up to 250, whatever the size
    pairs, of = (30, 1000) if small else (300, 10_000)
    members, groups = (2000, 50) if small else (50_000, 500)
    return [
        Case("tables, 1 x N int32", n, 10, 8.0, partial(tables, n, 10)),
        Case("evaluate, 100 classes", n, many, beside, partial(evaluate, n, 100, many)),
        Case("evaluate, as many classes as clusters", n, many, beside, partial(evaluate, n, many, many)),
        Case("evaluate, clusters within classes", n, many, beside, partial(nested, n, 100, many)),
        Case(f"pairwise, {pairs} clusterings", of, 20, 400.0, partial(pairwise, pairs, of)),
        Case("overlapping, 1 to 3 groups each", members, groups, 400.0, partial(overlapping, members, groups)),
    ]


def apart(name: str, small: bool) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row: dict[str, Any] = pool.apply(run, (name, small))
    print(f"{row['case']}: {row['peak_mb']:.0f} of {row['allowed_mb']:.0f} MB", flush=True)
    return row


def run(name: str, small: bool) -> dict[str, Any]:
    """Time and memory of a case; a wrong answer ends the run."""
    timing.one_thread()
    case = next(case for case in cases(small) if case.name == name)
    warm_up()
    call = case.prepare()
    before, started, cpu = timing.peak_megabytes(), time.perf_counter(), time.process_time()
    check = call()
    seconds, cpu_s, peak = time.perf_counter() - started, time.process_time() - cpu, timing.peak_megabytes() - before
    check()
    facts = {key: value for key, value in asdict(case).items() if key not in ("name", "prepare")}
    return {"case": name, **facts, "seconds": seconds, "cpu_s": cpu_s, "peak_mb": peak}


def warm_up() -> None:
    """Load everything that a case needs."""
    labels = np.arange(300) % 7
    tce.evaluate(labels, labels // 2)
    tce.evaluate(labels, labels // 2, layout="sparse")
    tce.pairwise(np.stack([labels, labels // 2]))
    evaluate_overlapping(Memberships.from_lists([[0], [0, 1]]), Memberships.from_lists([[0], [1]]))


def draw(n: int, groups: int, seed: int) -> np.ndarray:
    """Random labels, ``(n,)`` int32."""
    random, labels = np.random.default_rng(seed), np.empty(n, np.int32)
    for start in range(0, n, _DRAWN):
        part = labels[start : start + _DRAWN]
        part[:] = random.integers(0, groups, len(part), dtype=np.int32)
    return labels


def tables(n: int, groups: int) -> Callable[[], Callable[[], None]]:
    true, pred = draw(n, groups, 0)[None], draw(n, groups, 1)[None]

    def call() -> Callable[[], None]:
        found = tce.ContingencyTables.from_labels(true, pred)

        def check() -> None:
            codes = sum(
                np.bincount(t * groups + p, minlength=groups**2) for t, p in zip(*_parts(true, pred), strict=True)
            )
            assert np.array_equal(found.counts.numpy().ravel(), codes)

        return check

    return call


def _parts(true: np.ndarray, pred: np.ndarray) -> tuple[list[np.ndarray], ...]:
    return tuple(np.array_split(x.ravel(), max(1, x.size // _DRAWN)) for x in (true, pred))


def evaluate(n: int, classes: int, clusters: int) -> Callable[[], Callable[[], None]]:
    """Labels that have nothing to do with each other: nearly every item is a cell of its own."""
    true, pred = draw(n, classes, 0), draw(n, clusters, 1)

    def call() -> Callable[[], None]:
        scores = tce.evaluate(true, pred)

        def check() -> None:
            assert int(scores.n_items) == n
            assert abs(float(scores["adjusted_rand"])) < 1e-3
            assert abs(float(scores["ami"])) < 1e-2
            sizes = np.bincount(true)
            shares = sizes[sizes > 0] / n
            entropy = -float(np.sum(shares * np.log(shares)))
            lost = (1 - float(scores["homogeneity"])) * entropy  # H(C|K), and H(C) - H(C|K) = H(K) - H(K|C)
            sizes = np.bincount(pred)
            shares = sizes[sizes > 0] / n
            other = -float(np.sum(shares * np.log(shares)))
            assert abs((entropy - lost) - float(scores["completeness"]) * other) < 1e-9

        return check

    return call


def nested(n: int, classes: int, clusters: int) -> Callable[[], Callable[[], None]]:
    """Clusters that hold one class each."""
    pred = draw(n, clusters, 0)
    true = pred % np.int32(classes)

    def call() -> Callable[[], None]:
        scores = tce.evaluate(true, pred)

        def check() -> None:
            for name in ("homogeneity", "purity", "bcubed_precision"):
                assert abs(float(scores[name]) - 1) < 1e-12, name

        return check

    return call


def pairwise(count: int, n: int) -> Callable[[], Callable[[], None]]:
    labels = draw(count * n, 20, 0).reshape(count, n)

    def call() -> Callable[[], None]:
        scores = tce.pairwise(labels, ["adjusted_rand", "nmi", "vi"])

        def check() -> None:
            alone = tce.evaluate(labels[3], labels, ["adjusted_rand"])["adjusted_rand"]
            assert np.allclose(scores["adjusted_rand"][3], alone, rtol=0, atol=1e-14)

        return check

    return call


def overlapping(n: int, groups: int) -> Callable[[], Callable[[], None]]:
    random = np.random.default_rng(0)
    lists = [[random.integers(groups, size=k).tolist() for k in random.integers(1, 4, n)] for _ in range(2)]
    true, pred = (Memberships.from_lists(side) for side in lists)
    first = [set(side) for side in lists[0]], [set(side) for side in lists[1]]

    def call() -> Callable[[], None]:
        scores = evaluate_overlapping(true, pred)

        def check() -> None:
            shared: dict[tuple[int, int], int] = {}
            for classes, clusters in zip(*first, strict=True):
                for pair in ((a, b) for a in classes for b in clusters):
                    shared[pair] = shared.get(pair, 0) + 1
            best: dict[int, int] = {}
            for (_, cluster), items in shared.items():
                best[cluster] = max(best.get(cluster, 0), items)
            purity = sum(best.values()) / sum(map(len, first[1]))
            assert abs(float(scores["overlap_purity"]) - purity) < 1e-12

        return check

    return call


if __name__ == "__main__":
    sys.exit(main())
