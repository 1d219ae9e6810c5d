"""How fast is the package on a device, as a share of what the device can do, and next to torchmetrics on it."""

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import timing
import torch
from gpu_candidates import count_tables
from gpu_correctness import kernels
from torch import Tensor

import torchclusteval as tce
from torchclusteval.labels.encoding import EncodedPair, encode
from torchclusteval.labels.options import LabelOptions

DTYPES = (torch.int64, torch.int32, torch.uint8)
Record = dict[str, Any]
Evaluator = Callable[[tce.ContingencyTables], tce.Scores]


class Shape(NamedTuple):
    clusterings: int
    items: int
    classes: int
    clusters: int

    @property
    def pairs(self) -> int:
        return self.clusterings * self.items

    def __str__(self) -> str:
        return ", ".join(f"{number:,}" for number in self)


class Sizes(NamedTuple):
    """What is timed."""

    copied_bytes: int
    counted: tuple[Shape, ...]
    measured: tuple[Shape, ...]
    compiled_every: int  # which measures are compiled: each takes a second
    cache_bytes: int  # inputs taken in turn hold more than this
    burst_s: float  # seconds between two looks at the clock
    repeats: int
    resamples: int
    permutations: int
    epoch: tuple[int, int]  # batches, items in each
    iterations: int  # of each configuration of the study


FULL = Sizes(
    copied_bytes=1 << 30,
    counted=(
        Shape(1000, 100, 10, 10),
        Shape(1000, 100_000, 10, 10),
        Shape(1000, 1_000_000, 10, 10),
        Shape(100, 1_000_000, 100, 100),
        Shape(1, 1_000_000_000, 100, 100),
    ),
    measured=(Shape(1000, 100, 10, 10), Shape(1000, 10_000, 10, 10)),
    compiled_every=1,
    cache_bytes=200_000_000,
    burst_s=0.02,
    repeats=7,
    resamples=10_000,
    permutations=1000,
    epoch=(100, 10_000),
    iterations=1000,
)
SMALL = Sizes(
    copied_bytes=1 << 22,
    counted=(Shape(20, 100, 10, 10), Shape(2, 20_000, 50, 50)),
    measured=(Shape(20, 500, 10, 10),),
    compiled_every=20,
    cache_bytes=1_000_000,
    burst_s=0.002,
    repeats=3,
    resamples=50,
    permutations=20,
    epoch=(3, 1000),
    iterations=2,
)


def seconds(device: torch.device, sizes: Sizes, call: Callable[[Any], object], cases: list[Any]) -> float:
    """Median seconds of a call, as many calls between two looks at the clock as fill ``sizes.burst_s``."""
    one = timing.measure_on(device, call, cases, repeats=1, calls=1)
    calls = min(100, max(1, round(sizes.burst_s / one)))
    return timing.measure_on(device, call, cases, repeats=sizes.repeats, calls=calls)


def once(device: torch.device, call: Callable[[], object]) -> float:
    """Seconds of the second of two calls, wherever their work is done."""
    call()
    wait(device)
    start = time.perf_counter()
    call()
    wait(device)
    return time.perf_counter() - start


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


# --- ceilings -------------------------------------------------------------------------------------------------


def ceilings(device: torch.device, sizes: Sizes) -> Record:
    """Bytes a second of a plain copy (read and written), and of a pass that only reads."""
    source = torch.empty(sizes.copied_bytes // 8, dtype=torch.float64, device=device).fill_(1.0)
    target = torch.empty_like(source)
    copied = seconds(device, sizes, target.copy_, [source])
    read = seconds(device, sizes, lambda x: torch.amax(x), [source])
    return {
        "copy_bytes_per_s": 2 * sizes.copied_bytes / copied,
        "read_bytes_per_s": sizes.copied_bytes / read,
    }


# --- counting -------------------------------------------------------------------------------------------------


def fitting(device: torch.device, shape: Shape, dtype: torch.dtype) -> Shape:
    """The shape, with fewer items where two sets of its labels would fill more than half of the memory."""
    if device.type != "cuda":
        return shape
    half = torch.cuda.get_device_properties(device).total_memory // 2
    most = half // (2 * (shape.clusterings + 1) * dtype.itemsize)
    return shape._replace(items=min(shape.items, most))


def label_sets(device: torch.device, shape: Shape, dtype: torch.dtype, skewed: bool, cache: int) -> list[Any]:
    """Enough input sets to pass the cache; skewed: 90 % of the items in one cell."""
    one_set = (shape.clusterings + 1) * shape.items * dtype.itemsize
    generator = torch.Generator(device).manual_seed(0)

    def make() -> tuple[Tensor, Tensor]:
        size = (shape.clusterings, shape.items)
        true = torch.randint(shape.classes, size[1:], generator=generator, device=device, dtype=dtype)
        pred = torch.randint(shape.clusters, size, generator=generator, device=device, dtype=dtype)
        if skewed:
            kept = torch.rand(size[1:], generator=generator, device=device) < 0.1
            true.mul_(kept)
            pred.mul_(kept)
        return true, pred

    return [make() for _ in range(max(2, min(16, -(-cache // one_set))))]


def counted(shape: Shape, kernel: str, labels: tuple[Tensor, Tensor]) -> Tensor:
    """Labels to tables by one kernel, encoding included, without synchronising."""
    return count_tables(as_pair(shape, labels), kernel)


def as_pair(shape: Shape, labels: tuple[Tensor, Tensor]) -> EncodedPair:
    return encode(*labels, LabelOptions(num_classes=shape.classes, num_clusters=shape.clusters, validate=False))


def chosen(shape: Shape, labels: tuple[Tensor, Tensor]) -> Tensor:
    """What a user calls."""
    return tce.ContingencyTables.from_labels(
        *labels, num_classes=shape.classes, num_clusters=shape.clusters, validate=False, layout="dense"
    ).counts


def time_counting(device: torch.device, sizes: Sizes, read_bytes_per_s: float) -> list[Record]:
    """``from_labels`` and every kernel at every size, as a share of reading the labels and writing the tables once."""
    records = []
    for asked in sizes.counted:
        for dtype in DTYPES:
            shape = fitting(device, asked, dtype)
            moved = (
                shape.pairs + shape.items
            ) * dtype.itemsize + 8 * shape.clusterings * shape.classes * shape.clusters
            for skewed in (False, True):
                sets = label_sets(device, shape, dtype, skewed, sizes.cache_bytes)
                expected = chosen(shape, sets[0])
                if int(expected.sum()) != shape.pairs:
                    raise SystemExit(f"counting {shape} {dtype}: {int(expected.sum())} items, not {shape.pairs}")
                calls = {"from_labels": partial(chosen, shape)}
                calls |= {kernel: partial(counted, shape, kernel) for kernel in kernels(as_pair(shape, sets[0]))}
                for name, call in calls.items():
                    record = {
                        **shape._asdict(),
                        "dtype": str(dtype).removeprefix("torch."),
                        "cells": "90 % in one" if skewed else "uniform",
                        "kernel": name,
                    }
                    if not torch.equal(call(sets[0]), expected):
                        raise SystemExit(f"counting {shape} {dtype} {name}: counts differ")
                    took = seconds(device, sizes, call, sets)
                    rate = {"label_pairs_per_s": shape.pairs / took, "share_of_read": moved / read_bytes_per_s / took}
                    records.append({**record, "seconds": took, **rate})
                del sets
    return records


# --- measures, intervals and tests ----------------------------------------------------------------------------


def time_measures(device: torch.device, sizes: Sizes) -> list[Record]:
    """Sets of measures on tables that are counted already, and one of the sets compiled."""
    on_device = [m.name for m in tce.MEASURES.values() if not m.on_host]
    sets: dict[str, str | list[str] | None] = {
        "headline": None,
        "all": "all",
        "all but on_host": on_device,
        "ami_arithmetic": ["ami_arithmetic"],
        "adjusted_rand": ["adjusted_rand"],
    }
    records = []
    for shape in sizes.measured:
        (labels,) = label_sets(device, shape, torch.int64, False, 0)[:1]
        counts = chosen(shape, labels)
        ways = {name: partial(tce.evaluate_tables, measures=measures) for name, measures in sets.items()}
        records += [
            {**shape._asdict(), "set": name} | time_way(device, sizes, way, counts) for name, way in ways.items()
        ]
    compiled = tce.compile(on_device[:: sizes.compiled_every])
    record = {**shape._asdict(), "set": "all but on_host, compiled"}
    try:
        return [*records, record | time_way(device, sizes, compiled, counts)]
    except Exception as error:  # the machine may lack what compiles
        return [*records, record | {"failed": str(error).splitlines()[0]}]


def time_way(device: torch.device, sizes: Sizes, evaluate: Evaluator, counts: Tensor) -> Record:
    """Seconds of the first call, which may compile, and of a later one."""
    call = partial(on_fresh_tables, evaluate, counts)
    start = time.perf_counter()
    names = call(None).names
    wait(device)
    first = time.perf_counter() - start
    return {"measures": len(names), "first_call_s": first, "seconds": seconds(device, sizes, call, [None])}


def on_fresh_tables(evaluate: Evaluator, counts: Tensor, _: None) -> tce.Scores:
    return evaluate(tce.ContingencyTables(counts, validate=False))


def time_inference(device: torch.device, sizes: Sizes) -> list[Record]:
    """Intervals and permutation tests of the headline measures; of one table, and of twenty."""
    records = []
    for clusterings in (1, 20):
        shape = Shape(clusterings, 10_000, 10, 10)
        (labels,) = label_sets(device, shape, torch.int64, False, 0)[:1]
        tables = tce.ContingencyTables(chosen(shape, labels), validate=False)
        generator = torch.Generator(device).manual_seed(0)
        calls: dict[str, Callable[[], object]] = {
            f"bootstrap, {sizes.resamples} resamples": partial(
                tce.bootstrap, tables, n_resamples=sizes.resamples, rng=generator
            ),
            f"permutation_test, {sizes.permutations} permutations": partial(
                tce.permutation_test, tables, n_resamples=sizes.permutations, rng=generator
            ),
        }
        records += [{"tables": clusterings, "call": name, "seconds": once(device, c)} for name, c in calls.items()]
    return records


def time_study(device: torch.device, sizes: Sizes) -> Record:
    """The document study, its 70 configurations."""
    from torchclusteval.studies import kishida

    wait(device)
    start = time.perf_counter()
    result = kishida.run("text", iterations=sizes.iterations, device=device, progress=False)
    wait(device)
    return {
        "preset": "text",
        "configurations": len(result.run.records),
        "iterations": sizes.iterations,
        "seconds": time.perf_counter() - start,
        "finite": bool(result.run.records.isfinite().all()),
    }


# --- torchmetrics on the same device --------------------------------------------------------------------------

NAMES = {
    "homogeneity": "HomogeneityScore",
    "completeness": "CompletenessScore",
    "v_measure": "VMeasureScore",
    "mutual_information": "MutualInfoScore",
    "nmi_arithmetic": "NormalizedMutualInfoScore",
    "rand": "RandScore",
    "fowlkes_mallows": "FowlkesMallowsIndex",
}


def time_torchmetrics(device: torch.device, sizes: Sizes) -> Record:
    """An epoch of batches and seven measures of it, both ways on the same labels; values are compared first."""
    if find_spec("torchmetrics") is None:
        return {"skipped": "torchmetrics is not installed"}
    from torchmetrics import clustering

    from torchclusteval.torchmetrics import ClusteringMetric

    batches, items = sizes.epoch
    generator = torch.Generator(device).manual_seed(0)
    target = torch.randint(10, (batches, items), generator=generator, device=device)
    preds = torch.randint(10, (batches, items), generator=generator, device=device)
    preds = torch.where(torch.rand(preds.shape, generator=generator, device=device) < 0.5, target, preds)

    def ours() -> dict[str, float]:
        metric = ClusteringMetric(list(NAMES), num_classes=10, num_clusters=10).to(device)
        for i in range(batches):
            metric.update(preds[i], target[i])
        return {name: float(value) for name, value in metric.compute().items()}

    def theirs() -> dict[str, float]:
        found = {}
        for name, theirs_name in NAMES.items():
            metric = getattr(clustering, theirs_name)().to(device)
            for i in range(batches):
                metric.update(preds[i], target[i])
            found[name] = float(metric.compute())
        return found

    own, other = ours(), theirs()
    off = {name: abs(own[name] - other[name]) for name in NAMES}
    return {
        "batches": batches,
        "items_in_each": items,
        "measures": list(NAMES),
        "largest_difference": max(off.values()),
        "torchclusteval_s": once(device, ours),
        "torchmetrics_s": once(device, theirs),
    }
