"""Is the package right on a device: against golden values, reported faults and the CPU, and without waiting for it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gpu_candidates
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval.common import kernels as launches
from torchclusteval.labels.encoding import EncodedPair, encode
from torchclusteval.labels.options import LabelOptions

ROOT = Path(__file__).parents[1]
TESTS = ("measures/test_golden.py", "measures/test_faults.py")  # they run on every device at hand
TOLERANCE = 1e-12
LAYOUTS = ("dense", "sparse")
DTYPES = (torch.int64, torch.int32, torch.uint8)
SHOWN = 20  # failures kept of each check

Check = dict[str, Any]  # "checked", "failures", and more


def check_tests(device: torch.device) -> Check:
    """The package's tests of golden values and reported faults, those on this device."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-k", device.type]
    files = [str(ROOT / "tests" / name) for name in TESTS]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *files], cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    words = lines[-1].replace(",", "").split() if lines else []
    passed = int(words[words.index("passed") - 1]) if "passed" in words else 0
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failures:
        failures = [" / ".join([f"exit status {done.returncode}", *lines[-3:], *done.stderr.splitlines()[-3:]])]
    return {"checked": passed, "failures": failures}


# --- random batches against the CPU ---------------------------------------------------------------------------


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


def scores_on(device: torch.device | str, batch: Batch, layout: str) -> dict[str, Tensor]:
    """Every measure on the device, ``(B,)`` each, then brought to the CPU at once."""
    true, pred, mask, weights = batch.on(device)
    tables = tce.ContingencyTables.from_labels(true, pred, mask=mask, weights=weights, layout=layout)
    scores = tce.evaluate_tables(tables, "all")
    return dict(zip(scores.names, torch.stack([scores[name] for name in scores.names]).cpu(), strict=True))


def difference(value: Tensor, expected: Tensor) -> float:
    """Largest difference, relative where the expected value is above 1; nan and inf equal themselves."""
    same = (value == expected) | (value.isnan() & expected.isnan())
    off = ((value - expected).abs() / expected.abs().clamp(min=1)).nan_to_num(nan=torch.inf, posinf=torch.inf)
    return float(off.masked_fill(same, 0).max()) if same.numel() else 0.0


def check_random(device: torch.device, batches: int, limit_s: float) -> Check:
    """Random batches: both layouts on the device against dense tables on the CPU; stops after ``limit_s``."""
    checked, worst, failures, done, start = 0, 0.0, [], 0, time.perf_counter()
    while done < batches and time.perf_counter() - start < limit_s:
        batch = random_batch(done)
        expected = scores_on("cpu", batch, "dense")
        for layout in LAYOUTS:
            scores = scores_on(device, batch, layout)
            for name, wanted in expected.items():
                off = difference(scores[name], wanted)
                checked, worst = checked + 1, max(worst, off)
                if off > TOLERANCE:
                    failures.append(f"batch {done} {layout} {name}: off by {off:.1e}")
        done += 1
    return {"batches": done, "checked": checked, "largest_difference": worst, "failures": failures[:SHOWN]}


# --- every way to count ---------------------------------------------------------------------------------------


def label_pair(batch: Batch, classes: int, clusters: int) -> EncodedPair:
    """A pair as it is counted without waiting."""
    return encode(
        batch.true,
        batch.pred,
        LabelOptions(mask=batch.mask, num_classes=classes, num_clusters=clusters, validate=False),
    )


def kernels(pair: EncodedPair) -> list[str]:
    """The kernels, of the package and candidates, that can count a pair where it is."""
    return [kernel for kernel in gpu_candidates.KERNELS if gpu_candidates.supports(pair, kernel)]


def count_cases() -> dict[str, tuple[Batch, int, int]]:
    """Labels, and the sizes of their tables, that counting has got wrong somewhere."""
    generator = torch.Generator().manual_seed(0)

    def labels(high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, generator=generator)

    cases: dict[str, tuple[Batch, int, int]] = {}
    for rows, columns in ((1, 1), (4, 8), (10, 10), (16, 16), (33, 31), (100, 100), (300, 200)):
        for clusterings, items in ((1, 1), (1, 2047), (3, 4096), (70, 513), (1, 1_000_001)):
            batch = Batch(labels(rows, items), labels(columns, clusterings, items), None, None)
            cases[f"{clusterings} x {items}, {rows} x {columns}"] = (batch, rows, columns)
    true, pred = labels(12, 5, 3000) - 1, labels(12, 5, 3000) - 1
    cases["out of range"] = (Batch(true, pred, None, None), 10, 10)
    cases["masked"] = (Batch(true, pred, labels(2, 5, 3000).bool(), None), 10, 10)
    cases["one cell"] = (Batch(true * 0 + 9, pred * 0 + 9, None, None), 10, 10)
    cases["sorted"] = (Batch(labels(10, 50_000).sort().values, labels(10, 8, 50_000).sort().values, None, None), 10, 10)
    return cases


def check_counting(device: torch.device) -> Check:
    """Every kernel that supports a case against the CPU's counts, to the unit."""
    checked, unable, failures = 0, 0, []
    for name, (batch, classes, clusters) in count_cases().items():
        expected = tce.ContingencyTables.from_labels(
            batch.true, batch.pred, mask=batch.mask, num_classes=classes, num_clusters=clusters, validate=False
        ).counts
        for dtype in DTYPES:
            if dtype == torch.uint8 and (max(classes, clusters) > 256 or name in ("out of range", "masked")):
                continue
            typed = Batch(batch.true.to(dtype), batch.pred.to(dtype), batch.mask, None).on(device)
            pair = label_pair(typed, classes, clusters)
            able = kernels(pair)
            checked, unable = checked + len(able), unable + len(gpu_candidates.KERNELS) - len(able)
            for kernel in able:
                counts = gpu_candidates.count_tables(pair, kernel).cpu()
                if not torch.equal(counts, expected):
                    failures.append(f"{name} {dtype} {kernel}: {int((counts != expected).sum())} cells differ")
    return {"checked": checked, "not_supported": unable, "failures": failures[:SHOWN]}


def check_kernels(device: torch.device) -> Check:
    """Every Triton kernel against its torch operations, on its sample."""
    names = sorted(launches.KERNELS) if device.type == "cuda" else []
    faults = {name: launches.find_fault(name, device) for name in names}
    return {"checked": len(faults), "failures": [f"{name}: {fault}" for name, fault in faults.items() if fault]}


# --- nothing waits --------------------------------------------------------------------------------------------


def waiting_for_nothing(device: torch.device) -> dict[str, Callable[[], object]]:
    """The calls that promise not to synchronise."""
    true, pred = torch.randint(5, (1000,), device=device), torch.randint(7, (8, 1000), device=device)
    mask = torch.rand(8, 1000, device=device) < 0.5
    weights = torch.rand(1000, device=device, dtype=torch.float64)
    sizes: dict[str, Any] = {"num_classes": 5, "num_clusters": 7, "validate": False}

    def tables(**options: Any) -> tce.ContingencyTables:
        return tce.ContingencyTables.from_labels(true, pred, **sizes, **options)

    accumulator = tce.ContingencyAccumulator(num_classes=5, num_clusters=7, batch_shape=(8,), device=device)
    pair = encode(true, pred, LabelOptions(**sizes))
    on_device = [measure for measure in tce.MEASURES.values() if not measure.on_host]
    calls: dict[str, Callable[[], object]] = {m.name: partial(lambda m: m(tables()), m) for m in on_device}
    calls |= {"mask": lambda: tables(mask=mask), "weights": lambda: tables(weights=weights)}
    calls["evaluate"] = lambda: tce.evaluate(true, pred, [measure.name for measure in on_device], **sizes)
    calls["accumulator"] = lambda: accumulator.update(true, pred)
    for kernel in kernels(pair):
        calls[f"kernel {kernel}"] = partial(gpu_candidates.count_tables, pair, kernel)
    return calls


def check_waiting(device: torch.device) -> Check:
    """Each such call under CUDA's own check, after one call that may load what it needs."""
    failures, calls = [], waiting_for_nothing(device)
    for name, call in calls.items():
        try:
            call()
            if device.type == "cuda":
                torch.cuda.synchronize()
                torch.cuda.set_sync_debug_mode("error")
            call()
        except RuntimeError as error:
            failures.append(f"{name}: {str(error).splitlines()[0]}")
        finally:
            if device.type == "cuda":
                torch.cuda.set_sync_debug_mode("default")
    note = {} if device.type == "cuda" else {"note": "called only: synchronisation shows on CUDA alone"}
    return {"checked": len(calls), **note, "failures": failures[:SHOWN]}
