"""One command for a machine with a CUDA device: is it right there, does it synchronise, how fast is it.

    PYTHONPATH=. python benchmarks/gpu_check.py                       # under four minutes; writes results/
    PYTHONPATH=. python benchmarks/gpu_check.py --device cpu --small  # a few seconds, anywhere

Golden values and random batches on the device against the CPU; the paths that promise not to synchronise,
under CUDA's own check; counting as a share of the measured copy bandwidth; the measures on 1000 tables. A
short table comes last; the exit status is 1 if an answer is wrong or a path synchronises.
"""

import argparse
import datetime
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import timing
import torch
from torch import Tensor

import torchclusteval as tce

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "tables.json"
GOLDEN_TOLERANCE = 1e-9  # the file is rounded to 12 decimals, and large values to 12 digits
TOLERANCE = 1e-12
LAYOUTS = ("dense", "sparse")
DTYPES = (torch.int64, torch.int32, torch.uint8)


class Shape(NamedTuple):
    clusterings: int
    items: int
    classes: int
    clusters: int


class Plan(NamedTuple):
    random_batches: int
    copied_bytes: int
    counted: tuple[Shape, ...]
    measured: Shape
    cache_bytes: int  # inputs taken in turn hold more than this
    burst_s: float
    repeats: int


FULL = Plan(
    random_batches=200,
    copied_bytes=1 << 30,
    counted=(
        Shape(1000, 100, 10, 10),
        Shape(1000, 10_000, 50, 50),
        Shape(1000, 100_000, 10, 10),
        Shape(100, 1_000_000, 100, 100),
        Shape(1, 100_000_000, 100, 100),
    ),
    measured=Shape(1000, 10_000, 10, 10),
    cache_bytes=200_000_000,
    burst_s=0.05,
    repeats=7,
)
SMALL = Plan(
    random_batches=5,
    copied_bytes=1 << 24,
    counted=(Shape(20, 100, 10, 10), Shape(2, 20_000, 50, 50)),
    measured=Shape(20, 500, 10, 10),
    cache_bytes=1_000_000,
    burst_s=0.005,
    repeats=3,
)


# correctness --------------------------------------------------------------------------------------------


def difference(value: Tensor, expected: Tensor) -> float:
    """Largest difference, relative where the expected value is above 1; nan and inf equal themselves."""
    value, expected = value.double().cpu(), expected.double().cpu()
    same = (value == expected) | (value.isnan() & expected.isnan())
    off = ((value - expected).abs() / expected.abs().clamp(min=1)).nan_to_num(nan=torch.inf, posinf=torch.inf)
    return float(off.masked_fill(same, 0).max()) if same.numel() else 0.0


def golden_cases() -> Iterator[tuple[str, Tensor, Tensor, dict[str, Any]]]:
    """Name, labels of both sides and expected values of every golden case."""
    golden = json.loads(GOLDEN.read_text())
    for case in golden["tables"] + golden["degenerate"]:
        counts = torch.tensor(case["table"], dtype=torch.int64)
        counts = counts if counts.numel() else counts.new_zeros(1, 1)
        row, column = counts.nonzero().unbind(1)
        repeats = counts[row, column]
        yield case["id"], row.repeat_interleave(repeats), column.repeat_interleave(repeats), case["expected"]
    for case in golden["labels"]:
        yield case["id"], *(torch.tensor(case[k]) for k in ("labels_true", "labels_pred")), case["expected"]


def check_golden(device: torch.device) -> dict[str, Any]:
    """Every golden value on the device, both layouts."""
    checked, failures = 0, []
    for case, true, pred, expected in golden_cases():
        for layout in LAYOUTS:
            tables = tce.ContingencyTables.from_labels(true.to(device), pred.to(device), layout=layout)
            for name in tce.MEASURES.keys() & expected.keys():
                value = tce.MEASURES[name](tables)
                off = difference(value, torch.tensor(float(expected[name]), dtype=torch.float64))
                checked += 1
                if off > GOLDEN_TOLERANCE:
                    failures.append(f"{case} {layout} {name}: {float(value)}, expected {expected[name]}")
    return {"checked": checked, "failures": failures}


class Batch(NamedTuple):
    true: Tensor
    pred: Tensor
    mask: Tensor | None
    weights: Tensor | None

    def on(self, device: torch.device | str) -> "Batch":
        mask, weights = (None if x is None else x.to(device) for x in (self.mask, self.weights))
        return Batch(self.true.to(device), self.pred.to(device), mask, weights)


def random_batch(number: int) -> Batch:
    """A batch of labels: any dtype; every third with a mask, every third with weights."""
    generator = torch.Generator().manual_seed(number)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high, (), generator=generator))

    clusterings, items, dtype = draw(1, 65), draw(0, 500), DTYPES[draw(0, len(DTYPES))]
    true = torch.randint(draw(1, 13), (items,), generator=generator, dtype=dtype)
    pred = torch.randint(draw(1, 13), (clusterings, items), generator=generator, dtype=dtype)
    pred = torch.where(torch.rand(pred.shape, generator=generator) < 0.5, true, pred)
    mask = torch.rand(pred.shape, generator=generator) < 0.8 if number % 3 == 1 else None
    weights = 1 + torch.rand(items, generator=generator, dtype=torch.float64) if number % 3 == 2 else None
    return Batch(true, pred, mask, weights)


def scores_on(device: torch.device | str, batch: Batch, layout: str) -> tce.Scores:
    true, pred, mask, weights = batch.on(device)
    tables = tce.ContingencyTables.from_labels(true, pred, mask=mask, weights=weights, layout=layout)
    return tce.evaluate_tables(tables, "all")


def check_random(device: torch.device, batches: int) -> dict[str, Any]:
    """Every measure on random batches: both layouts on the device against dense tables on the CPU."""
    checked, worst, failures = 0, 0.0, []
    for number in range(batches):
        batch = random_batch(number)
        expected = scores_on("cpu", batch, "dense")
        for layout in LAYOUTS:
            scores = scores_on(device, batch, layout)
            for name in expected.names:
                off = difference(scores[name], expected[name])
                checked, worst = checked + 1, max(worst, off)
                if off > TOLERANCE:
                    failures.append(f"batch {number} {layout} {name}: off by {off:.1e}")
    return {"checked": checked, "largest_difference": worst, "failures": failures}


def check_sync(device: torch.device) -> dict[str, Any]:
    """Counting with given sizes, then each measure that is not ``on_host``; synchronising is an error."""
    if device.type != "cuda":
        return {"checked": 0, "failures": [], "skipped": "needs CUDA"}
    true = torch.randint(5, (1000,), device=device)
    pred = torch.randint(7, (8, 1000), device=device)
    measures = [measure for measure in tce.MEASURES.values() if not measure.on_host]
    failures = []
    for measure in measures:
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            measure(
                tce.ContingencyTables.from_labels(
                    true, pred, num_classes=5, num_clusters=7, validate=False, layout="dense"
                )
            )
        except RuntimeError as error:
            failures.append(f"{measure.name}: {str(error).splitlines()[0]}")
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return {"checked": len(measures), "failures": failures}


# speed --------------------------------------------------------------------------------------------------


def seconds(device: torch.device, plan: Plan, call: Callable[[Any], object], cases: list[Any]) -> float:
    """Median seconds of a call, as many calls between two looks at the clock as fill ``plan.burst_s``."""
    one = timing.measure_on(device, call, cases, repeats=1, calls=1)
    calls = min(100, max(1, round(plan.burst_s / one)))
    return timing.measure_on(device, call, cases, repeats=plan.repeats, calls=calls)


def copy_bandwidth(device: torch.device, plan: Plan) -> float:
    """Bytes read and written a second by a plain copy."""
    source = torch.empty(plan.copied_bytes, dtype=torch.uint8, device=device).random_(256)
    target = torch.empty_like(source)
    return 2 * plan.copied_bytes / seconds(device, plan, target.copy_, [source])


def label_sets(
    device: torch.device, shape: Shape, dtype: torch.dtype, skewed: bool, plan: Plan
) -> list[tuple[Tensor, Tensor]]:
    """Enough input sets to pass the cache; skewed: 90 % of the items in one cell."""
    one_set = (shape.clusterings + 1) * shape.items * dtype.itemsize
    generator = torch.Generator(device).manual_seed(0)

    def make() -> tuple[Tensor, Tensor]:
        size = (shape.clusterings, shape.items)
        true = torch.randint(shape.classes, size[1:], generator=generator, device=device, dtype=dtype)
        pred = torch.randint(shape.clusters, size, generator=generator, device=device, dtype=dtype)
        if skewed:
            kept = torch.rand(size[1:], generator=generator, device=device) < 0.1
            true, pred = true * kept, pred * kept
        return true, pred

    return [make() for _ in range(max(2, min(16, -(-plan.cache_bytes // one_set))))]


def count_unchecked(shape: Shape, labels: tuple[Tensor, Tensor]) -> Tensor:
    """The path without synchronisation."""
    return tce.ContingencyTables.from_labels(
        *labels, num_classes=shape.classes, num_clusters=shape.clusters, validate=False, layout="dense"
    ).counts


def time_counting(device: torch.device, plan: Plan, bandwidth: float) -> list[dict[str, Any]]:
    """Counting as a share of reading labels and writing tables at copy bandwidth."""
    records = []
    for shape in plan.counted:
        count = partial(count_unchecked, shape)
        for dtype in DTYPES:
            for skewed in (False, True):
                sets = label_sets(device, shape, dtype, skewed, plan)
                total = int(count(sets[0]).sum())
                pairs = shape.clusterings * shape.items
                if total != pairs:
                    raise SystemExit(f"counting {shape} {dtype}: {total} items in the tables, not {pairs}")
                took = seconds(device, plan, count, sets)
                labels = (shape.clusterings + 1) * shape.items * dtype.itemsize
                moved = labels + 8 * shape.clusterings * shape.classes * shape.clusters
                records.append(
                    {
                        **shape._asdict(),
                        "dtype": str(dtype).removeprefix("torch."),
                        "cells": "90 % in one" if skewed else "uniform",
                        "seconds": took,
                        "ns_per_label_pair": took / pairs * 1e9,
                        "share_of_copy_bandwidth": moved / bandwidth / took,
                    }
                )
    return records


def time_measures(device: torch.device, plan: Plan) -> list[dict[str, Any]]:
    """Sets of measures on tables that are counted already."""
    (labels,) = label_sets(device, plan.measured, torch.int64, False, plan)[:1]
    counts = count_unchecked(plan.measured, labels)
    sets: dict[str, str | list[str] | None] = {
        "headline": None,
        "all": "all",
        "all but on_host": [m.name for m in tce.MEASURES.values() if not m.on_host],
        "ami_arithmetic": ["ami_arithmetic"],
        "adjusted_rand": ["adjusted_rand"],
    }

    def evaluate(measures: str | list[str] | None) -> tce.Scores:
        return tce.evaluate_tables(tce.ContingencyTables(counts, validate=False), measures)

    return [
        {
            **plan.measured._asdict(),
            "set": name,
            "measures": len(evaluate(measures).names),
            "seconds": seconds(device, plan, evaluate, [measures]),
        }
        for name, measures in sets.items()
    ]


# the run ------------------------------------------------------------------------------------------------


def describe(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {"name": str(device)}
    facts = torch.cuda.get_device_properties(device)
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"]
    state = subprocess.run(query, capture_output=True, text=True).stdout.strip() if shutil.which(query[0]) else ""
    return {
        "name": facts.name,
        "multiprocessors": facts.multi_processor_count,
        "memory_bytes": facts.total_memory,
        "cuda": torch.version.cuda,
        "driver_and_clocks": state,
    }


def show(result: dict[str, Any]) -> str:
    checks = timing.table(
        ["check", "values", "wrong"],
        [[name, str(r["checked"]), str(len(r["failures"]))] for name, r in result["checks"].items()],
    )
    counting = timing.table(
        ["counting (B, N, R, C)", "labels", "cells", "time", "ns/pair", "of copy"],
        [
            [
                ", ".join(f"{r[key]:,}" for key in Shape._fields),
                r["dtype"],
                r["cells"],
                timing.seconds(r["seconds"]),
                f"{r['ns_per_label_pair']:.3f}",
                f"{r['share_of_copy_bandwidth']:.0%}",
            ]
            for r in result["counting"]
        ],
    )
    measures = timing.table(
        [f"measures of {result['measures'][0]['clusterings']} tables", "number", "time"],
        [[r["set"], str(r["measures"]), timing.seconds(r["seconds"])] for r in result["measures"]],
    )
    copy = f"copy bandwidth {result['copy_bytes_per_s'] / 1e9:.0f} GB/s on {result['device']['name']}"
    failures = [f"{name}: {text}" for name, r in result["checks"].items() for text in r["failures"][:10]]
    return "\n\n".join([counting, measures, copy, checks, *(["\n".join(failures)] if failures else [])])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda (default), cuda:1, cpu")
    parser.add_argument("--small", action="store_true", help="smallest sizes")
    parser.add_argument("--output", type=Path, help="results file (default: results/gpu_CARD_DATE.json)")
    options = parser.parse_args()
    device, plan = torch.device(options.device), SMALL if options.small else FULL
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device here; try --device cpu --small")
    timing.one_thread()
    bandwidth = copy_bandwidth(device, plan)
    result: dict[str, Any] = {
        "environment": timing.environment(),
        "device": describe(device),
        "checks": {
            "golden": check_golden(device),
            "random": check_random(device, plan.random_batches),
            "sync": check_sync(device),
        },
        "copy_bytes_per_s": bandwidth,
        "counting": time_counting(device, plan, bandwidth),
        "measures": time_measures(device, plan),
    }
    card = result["device"]["name"].replace(" ", "_")
    timing.save(options.output or timing.RESULTS / f"gpu_{card}_{datetime.date.today()}.json", result)
    print(show(result))
    return int(any(check["failures"] for check in result["checks"].values()))


if __name__ == "__main__":
    sys.exit(main())
