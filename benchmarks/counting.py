"""Labels to tables on the CPU, against the strategies that torch's own operations allow, in the same run.

    python benchmarks/counting.py            # six shapes, three types, about two minutes; writes results/
    python benchmarks/counting.py --small    # a few seconds, to see that it works

Nanoseconds for one label pair, one thread, CPU time; then wall time on as many threads as there are cores, which
says something only where these are free. All count the same labels of one reference, without looking for the range
of labels first, and every table is compared before anything is timed. Strategies take turns, so that a busy
moment hits all of them; the figure is the median of the turns.
"""

import argparse
import datetime
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import timing
import torch
from torch import Tensor

from torchclusteval.counting.dispatch import count_dense
from torchclusteval.labels.encoding import encode
from torchclusteval.labels.options import LabelOptions

BLOCK = 1 << 18
DTYPES = (torch.int64, torch.int32, torch.uint8)


class Shape(NamedTuple):
    clusterings: int
    items: int
    classes: int
    clusters: int

    def __str__(self) -> str:
        return f"{self.clusterings} x {self.items:,}, {self.classes} x {self.clusters}"

    @property
    def cells(self) -> int:
        return self.classes * self.clusters


FULL = (
    Shape(1000, 100, 10, 10),
    Shape(1000, 1000, 10, 10),
    Shape(100, 100_000, 10, 10),
    Shape(10, 1_000_000, 50, 50),
    Shape(1, 10_000_000, 100, 100),
    Shape(1000, 10_000, 20, 200),
)
SMALL = (Shape(20, 100, 10, 10), Shape(2, 300_000, 10, 10))

SPARSE_FULL, SPARSE_SMALL = Shape(1, 1_000_000, 5_000, 5_000), Shape(1, 5_000, 2_000, 2_000)

Strategy = Callable[[Shape, Tensor, Tensor], Tensor]


def labels(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(shape.classes, (shape.items,), generator=generator, dtype=dtype)
    return true, torch.randint(shape.clusters, (shape.clusterings, shape.items), generator=generator, dtype=dtype)


def fused(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    """The cell of every label, int64."""
    tables = torch.arange(shape.clusterings).unsqueeze(-1) * shape.cells
    return torch.add(pred.long(), true.long(), alpha=shape.clusters).add_(tables).view(-1)


def by_bincount(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    return fused(shape, true, pred).bincount(minlength=shape.clusterings * shape.cells)


def by_scatter(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    codes = fused(shape, true, pred)
    return torch.zeros(shape.clusterings * shape.cells, dtype=torch.int64).scatter_add_(
        0, codes, torch.ones(1, dtype=torch.int64).expand(len(codes))
    )


def in_blocks(shape: Shape, true: Tensor, pred: Tensor, dtype: torch.dtype, bincount: bool) -> Tensor:
    """Codes in a warm buffer, block by block."""
    width = min(shape.items, BLOCK)
    height = min(shape.clusterings, max(1, BLOCK // width))
    tables = torch.zeros(shape.clusterings, shape.cells, dtype=torch.int64)
    buffer = torch.empty(height * width, dtype=dtype)
    offsets = (torch.arange(height, dtype=dtype) * shape.cells).unsqueeze(-1)
    one = torch.ones(1, dtype=torch.int64)
    for start in range(0, shape.clusterings, height):
        for first in range(0, shape.items, width):
            part = pred[start : start + height, first : first + width]
            codes = buffer[: part.numel()].view(part.shape)
            if pred.dtype == dtype:
                torch.add(part, true[first : first + width], alpha=shape.clusters, out=codes)
            else:
                codes.copy_(true[first : first + width]).mul_(shape.clusters).add_(part)
            if len(part) > 1:
                codes.add_(offsets[: len(part)])
            table = tables[start : start + height].view(-1)
            if bincount:
                table.add_(codes.view(-1).bincount(minlength=len(table)))
            else:
                table.scatter_add_(0, codes.view(-1), one.expand(codes.numel()))
    return tables.view(-1)


def blocked_scatter(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    return in_blocks(shape, true, pred, torch.int64, bincount=False)


def blocked_bincount(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    return in_blocks(shape, true, pred, torch.int32, bincount=True)


TORCH_ONLY: dict[str, Strategy] = {
    "bincount": by_bincount,
    "scatter_add": by_scatter,
    "blocked scatter_add": blocked_scatter,
    "blocked bincount": blocked_bincount,
}


def read(shape: Shape, true: Tensor, pred: Tensor) -> Tensor:
    """A pass over the labels, by an operation that is as fast as memory."""
    return torch.from_numpy(pred.view(-1).numpy().max(keepdims=True))


def in_turns(calls: dict[str, Callable[[], object]], turns: int, clock: Callable[[], float]) -> dict[str, float]:
    """Median seconds of each call, after one turn that warms up."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, call in calls.items():
            start = clock()
            call()
            if turn:
                taken[name].append(clock() - start)
    return {name: statistics.median(found) for name, found in taken.items()}


def run(shape: Shape, dtype: torch.dtype, turns: int) -> dict[str, Any]:
    true, pred = labels(shape, dtype)
    pair = encode(true, pred, LabelOptions(num_classes=shape.classes, num_clusters=shape.clusters))
    counts = count_dense(pair).counts.view(-1)
    for name, strategy in TORCH_ONLY.items():
        if not torch.equal(strategy(shape, true, pred), counts):
            raise SystemExit(f"{shape} {dtype}: {name} and torchclusteval differ")

    def bound(strategy: Strategy) -> Callable[[], object]:
        return lambda: strategy(shape, true, pred)

    calls = {"read": bound(read), "torchclusteval": lambda: count_dense(pair)}
    calls |= {name: bound(strategy) for name, strategy in TORCH_ONLY.items()}
    one = in_turns(calls, turns, time.process_time)
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    if not torch.equal(count_dense(pair).counts.view(-1), counts):
        raise SystemExit(f"{shape} {dtype}: {threads} threads change the counts")
    many = in_turns({"torchclusteval": calls["torchclusteval"]}, turns, time.perf_counter)
    torch.set_num_threads(1)
    scale = 1e9 / pred.numel()
    return {
        **shape._asdict(),
        "dtype": str(dtype).removeprefix("torch."),
        "ns": {name: taken * scale for name, taken in one.items()},
        "threads": threads,
        "wall_ns_on_threads": many["torchclusteval"] * scale,
        "against_best": one["torchclusteval"] / min(one[name] for name in TORCH_ONLY),
    }


def show(results: list[dict[str, Any]]) -> str:
    names = list(results[0]["ns"])
    head = ["ns a label pair", "labels", *names, f"{results[0]['threads']} threads", "to best"]
    rows = [
        [
            str(Shape(*(r[key] for key in Shape._fields))),
            r["dtype"],
            *(f"{r['ns'][name]:.2f}" for name in names),
            f"{r['wall_ns_on_threads']:.2f}",
            f"{r['against_best']:.2f}",
        ]
        for r in results
    ]
    return timing.table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one turn")
    parser.add_argument("--output", type=Path, help="results file (default: results/counting_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    turns = 1 if options.small else 9
    results = [run(shape, dtype, turns) for shape in (SMALL if options.small else FULL) for dtype in DTYPES]
    path = options.output or timing.RESULTS / f"counting_{datetime.date.today()}.json"
    timing.save(path, {"environment": timing.environment(), "results": results})
    print(show(results))


if __name__ == "__main__":
    main()
