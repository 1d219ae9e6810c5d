"""An epoch of batches against torchmetrics, the values at many items, and a CSV file larger than memory.

python benchmarks/streaming.py            # about two minutes and 2 GB in a temporary folder; writes results/
python benchmarks/streaming.py --small    # half a minute, most of it starting processes, to see that it works
"""

import argparse
import datetime
import importlib
import importlib.util
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch
from torch import Tensor

import torchclusteval

NAMES = (
    *("AdjustedRandScore", "RandScore", "FowlkesMallowsIndex", "NormalizedMutualInfoScore"),
    *("HomogeneityScore", "CompletenessScore", "VMeasureScore"),
)
MEASURES = ("adjusted_rand", "rand", "fowlkes_mallows", "nmi", "homogeneity", "completeness", "v_measure")
GROUPS = 10
SIZES: dict[str, Any] = {"num_classes": GROUPS, "num_clusters": GROUPS}


class Size(NamedTuple):
    batches: int
    labels_each: int
    file_bytes: int


FULL = Size(100, 10_000, 2_000_000_000)
SMALL = Size(5, 100, 200_000)


def batches(count: int, width: int) -> list[tuple[Tensor, Tensor]]:
    """Predictions and targets, 70 per cent of which agree."""
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(GROUPS, (count, width), generator=generator)
    other = torch.randint(GROUPS, (count, width), generator=generator)
    preds = torch.where(torch.rand(count, width, generator=generator) < 0.7, target, other)
    return list(zip(preds, target, strict=True))


# an epoch -------------------------------------------------------------------------------------------------


def collection(module: str, **options: Any) -> Any:
    torchmetrics, classes = importlib.import_module("torchmetrics"), importlib.import_module(module)
    return torchmetrics.MetricCollection([getattr(classes, name)(**options) for name in NAMES])


def one_metric(**options: Any) -> Any:
    from torchclusteval.torchmetrics import ClusteringMetric

    return ClusteringMetric(MEASURES, **options)


CONTENDERS: dict[str, Callable[[], Any]] = {
    "torchmetrics, MetricCollection": lambda: collection("torchmetrics.clustering"),
    "ClusteringMetric, sizes": lambda: one_metric(**SIZES),
    "ClusteringMetric, no sizes": one_metric,
    "MetricCollection of our classes, sizes": lambda: collection("torchclusteval.torchmetrics", **SIZES),
    "MetricCollection of our classes, no sizes": lambda: collection("torchclusteval.torchmetrics"),
}


def epoch(metric: Any, parts: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    for preds, target in parts:
        metric.update(preds, target)
    found = {name: float(value) for name, value in metric.compute().items()}
    metric.reset()
    return found


def time_epoch(name: str, count: int, width: int, repeats: int) -> dict[str, Any]:
    timing.one_thread()
    metric, parts = CONTENDERS[name](), batches(count, width)
    epoch(metric, parts[:1])  # load everything
    before = timing.peak_megabytes()
    values = list(epoch(metric, parts).values())
    growth = timing.peak_megabytes() - before
    timed = timing.measure(lambda: epoch(metric, parts), repeats=repeats, budget_s=30.0)
    return {"name": name, "additional_mb": growth, "values": values, **timed.record()}


def check_epoch(name: str, values: Sequence[float], parts: list[tuple[Tensor, Tensor]]) -> None:
    """Our first value, the adjusted Rand index, against exact arithmetic."""
    assert abs(values[0] - float(exact_adjusted_rand(parts))) < 1e-12, name


def compare_epochs(count: int, width: int, repeats: int) -> list[dict[str, Any]]:
    rows = [apart(time_epoch, name, count, width, repeats) for name in CONTENDERS]
    first, *ours = rows
    for row in ours:
        check_epoch(row["name"], row["values"], batches(count, width))
        # torchmetrics' adjusted Rand index (the first value) is wrong at these sizes; the others are float32.
        assert np.allclose(row["values"][1:], first["values"][1:], rtol=1e-3), row["name"]
        row["times_faster"] = first["cpu_s"] / row["cpu_s"]
    return rows


def apart(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a process of its own, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(call, arguments)


# values ---------------------------------------------------------------------------------------------------


def exact_adjusted_rand(parts: list[tuple[Tensor, Tensor]]) -> Fraction:
    counts = sum((t * GROUPS + p).bincount(minlength=GROUPS**2) for p, t in parts)
    assert isinstance(counts, Tensor)
    table = counts.reshape(GROUPS, GROUPS)

    def pairs(numbers: Tensor) -> int:
        return sum(x * (x - 1) // 2 for x in numbers.flatten().tolist())

    both, rows, columns = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    expected = Fraction(rows * columns, pairs(table.sum()))
    return (both - expected) / (Fraction(rows + columns, 2) - expected)


def adjusted_rand_at(n: int) -> dict[str, Any]:
    import torchmetrics.clustering as theirs

    from torchclusteval import torchmetrics as ours

    parts = batches(10, n // 10)
    found = {"items": n, "exact": float(exact_adjusted_rand(parts))}
    for name, metric in (("torchmetrics", theirs.AdjustedRandScore()), ("torchclusteval", ours.AdjustedRandScore())):
        for preds, target in parts:
            metric.update(preds, target)
        found[name] = float(metric.compute())
    assert abs(found["torchclusteval"] - found["exact"]) < 1e-12
    return found


# a file ---------------------------------------------------------------------------------------------------


def write_csv(path: Path, size: int) -> tuple[int, float]:
    """A file of about ``size`` bytes of a million random rows again and again: its rows, and the V-measure of ``a``."""
    rng = np.random.default_rng(0)
    n = min(1_000_000, size // 10)
    true = rng.integers(0, 20, n)
    a, b = (np.where(rng.random(n) < share, true, rng.integers(0, 30, n)) for share in (0.7, 0.2))
    body = "".join(f"{t},{x},{y},{z}\n" for t, x, y, z in zip(true, a, b, rng.integers(0, 1000, n), strict=True))
    copies = max(1, size // len(body))
    with path.open("w") as file:
        file.write("class,a,b,c\n")
        for _ in range(copies):
            file.write(body)
    return n * copies, float(torchclusteval.evaluate(true, a, "v_measure")["v_measure"])


OPTIONS = ("--truth", "class", "--measures", "v_measure,ari", "--format", "csv")
RUN = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from timing import peak_megabytes
import torchclusteval.cli.commands.score
from torchclusteval.cli import main
start, cpu = time.perf_counter(), time.process_time()
status = main(sys.argv[1:])
print(time.perf_counter() - start, time.process_time() - cpu, peak_megabytes(), file=sys.stderr)
sys.exit(status)
"""


def arguments_for(path: Path) -> list[str]:
    return ["score", str(path), *OPTIONS]


def check_file(printed: str, expected: float) -> None:
    """The V-measure of the first clustering; writing rows again and again does not change it."""
    found = float(printed.splitlines()[1].split(",")[1])
    assert abs(found - expected) < 1e-12, (found, expected)


def score_file(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        rows, expected = write_csv(path, size)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        run = subprocess.run(
            [sys.executable, "-c", RUN, *arguments_for(path)], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr
        check_file(run.stdout, expected)
        wall, cpu, peak = map(float, run.stderr.splitlines()[-1].split())
        gigabytes = path.stat().st_size / 1e9
    return {"gigabytes": gigabytes, "rows": rows, "clusterings": 3, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    default = timing.RESULTS / f"streaming_{datetime.date.today().isoformat()}.json"
    parser.add_argument("--output", type=Path, default=default)
    arguments = parser.parse_args()
    timing.one_thread()
    (count, width, file_bytes), repeats = (SMALL, 2) if arguments.small else (FULL, 7)
    content: dict[str, Any] = {"environment": timing.environment(["torchmetrics"])}
    started = time.perf_counter()
    if importlib.util.find_spec("torchmetrics") is None:
        print("torchmetrics is not installed: epochs and values are left out")
    else:
        rows = compare_epochs(count, width, repeats)
        content["epoch"] = {"batches": count, "labels_each": width, "measures": len(MEASURES), "rows": rows}
        shown = [
            (r["name"], timing.seconds(r["cpu_s"]), f"{r['additional_mb']:.1f} MB", f"{r.get('times_faster', 1):.3g}")
            for r in rows
        ]
        print(timing.table(("epoch", "CPU", "memory", "times faster"), shown))
        content["adjusted_rand"] = [adjusted_rand_at(n) for n in ([1000] if arguments.small else [10**5, 10**6, 10**7])]
        for row in content["adjusted_rand"]:
            print(row)
    content["file"] = score_file(file_bytes)
    print(content["file"], f"{time.perf_counter() - started:.0f} s in all")
    timing.save(arguments.output, content)


if __name__ == "__main__":
    main()
