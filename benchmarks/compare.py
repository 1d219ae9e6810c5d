"""This package against the other libraries on the same labels, in the same run.

    python benchmarks/compare.py            # about five minutes, 1.5 GB; writes results/
    python benchmarks/compare.py --small    # a few seconds, to see that it works

The time is from labels in the form that a library takes, which are made before, to values: one call of ``evaluate``
with 23 measures for all clusterings, and one with the measures that a peer has, against the peer's functions in a loop
over them, each next to the other, so that a busy moment hits both. A difference of answers stops the run. Everything
runs on one thread; figures are medians of CPU seconds. A peer is timed on the first clusterings only where all of them
would take long (``timed_on``), and its time scaled up; shapes that it cannot do are named with the reason.
"""

import argparse
import datetime
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import timing
import torch
from peers import ALONE, PEERS, Peer, Values

import torchclusteval as tce

MEASURES = [
    "homogeneity",
    "completeness",
    "v_measure",
    "mutual_information",
    "nmi_arithmetic",
    "nmi_geometric",
    "nmi_min",
    "nmi_max",
    "nmi_joint",
    "ami_arithmetic",
    "variation_of_information",
    "nvi",
    "rand",
    "adjusted_rand",
    "jaccard",
    "fowlkes_mallows",
    "purity",
    "inverse_purity",
    "clustering_f",
    "van_dongen_normalized",
    "bcubed_precision",
    "bcubed_recall",
    "bcubed_f",
]
PACKAGES = ("scikit-learn", "scipy", "genieclust", "torchmetrics", "clusim", "bcubed")
WORTH_S = 1.0  # of a peer's time in each loop


class Shape(NamedTuple):
    clusterings: int
    items: int
    groups: int

    def __str__(self) -> str:
        return f"{self.clusterings} x {self.items:,}, k={self.groups}"


FULL = (
    Shape(1, 100, 10),  # one small table a call
    Shape(1000, 100, 10),
    Shape(1000, 10_000, 10),
    Shape(100, 100_000, 10),
    Shape(1, 10_000_000, 100),
)
SMALL = (Shape(1, 100, 10), Shape(20, 100, 10), Shape(4, 500, 10))


def half_right(shape: Shape, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """A truth ``(N,)`` and clusterings ``(B, N)`` in which about half of the labels equal the truth."""
    truth = torch.randint(shape.groups, (shape.items,), generator=generator)
    labels = torch.randint(shape.groups, (shape.clusterings, shape.items), generator=generator)
    for row in labels:
        kept = torch.rand(shape.items, generator=generator) < 0.5
        row.copy_(torch.where(kept, truth, row))
    return truth, labels


def largest_difference(ours: tce.Scores, theirs: list[Values]) -> dict[str, float]:
    """Largest absolute difference of each measure over the clusterings that the peer scored; nan if one is nan."""
    found = {name: torch.tensor([float(values[name]) for values in theirs], dtype=torch.float64) for name in theirs[0]}
    return {name: float((ours[name][: len(theirs)] - values).abs().max()) for name, values in found.items()}


def wrong(record: dict[str, Any]) -> list[str]:
    """Measures in which a peer differs."""
    differences = record.get("largest_difference", {})
    return [name for name, difference in differences.items() if not difference <= record["tolerance"]]


def own_time(truth: torch.Tensor, labels: torch.Tensor, measures: list[str], repeats: int) -> timing.Timing:
    return timing.measure(lambda: tce.evaluate(truth, labels, measures), repeats=2 * repeats + 1, sample_s=0.02)


def run_peer(peer: Peer, truth: torch.Tensor, labels: torch.Tensor, repeats: int) -> dict[str, Any]:
    """A record of the peer's times and differences, or why there are none."""
    head = {"package": peer.package, "calls": peer.calls}
    obstacle = peer.obstacle(truth.numel())
    if obstacle is not None:
        return {**head, "left_out": obstacle}
    peer.load()
    count = max(1, min(len(labels), int(WORTH_S / peer.seconds(truth.numel()))))
    start = time.process_time()
    true, *preds = map(peer.form, (truth, *labels[:count]))
    forming = time.process_time() - start
    theirs: list[Values] = []

    def loop() -> None:
        theirs[:] = [peer.score(true, pred) for pred in preds]

    timed = timing.measure(loop, repeats=repeats, sample_s=0.02)
    names = list(theirs[0])
    record = {
        **head,
        "timed_on": count,
        **timed.record(),
        "cpu_s": timed.cpu_s * len(labels) / count,
        "wall_s": timed.wall_s * len(labels) / count,
        "form_cpu_s": forming * (1 + len(labels)) / (1 + count),
        "tolerance": peer.tolerance,
        "largest_difference": largest_difference(tce.evaluate(truth, labels, names), theirs),
    }
    unexpected = set(wrong(record)) - set(peer.known_wrong)
    if unexpected:
        raise SystemExit(f"{peer.name} and torchclusteval differ in {', '.join(sorted(unexpected))}")
    own = {"same": own_time(truth, labels, names, repeats), "all": own_time(truth, labels, MEASURES, repeats)}
    return {**record, **{f"torchclusteval_{which}_measures": time.record() for which, time in own.items()}}


def run_shape(shape: Shape, peers: Iterable[Peer], repeats: int) -> dict[str, Any]:
    truth, labels = half_right(shape, torch.Generator().manual_seed(0))
    records = []
    for peer in peers:
        print(f"{shape}: {peer.name}", flush=True)
        records.append(run_peer(peer, truth, labels, repeats))
    beside = [r["torchclusteval_all_measures"]["cpu_s"] for r in records if "left_out" not in r]
    own = {"measures": len(MEASURES), "cpu_s": statistics.median(beside) if beside else None}
    return {"shape": shape._asdict(), "torchclusteval": own, "peers": records}


def ratio(theirs: float, own: float) -> str:
    """How many times our time theirs is; below 1 they win."""
    return f"{theirs / own:.3g}x"


def line(shape: str, record: dict[str, Any]) -> list[str]:
    theirs = record["cpu_s"]
    same, own = (record[f"torchclusteval_{which}_measures"]["cpu_s"] for which in ("same", "all"))
    several = len(record["largest_difference"]) > 1
    return [
        f"{shape}  {record['package']}: {record['calls']}",
        timing.seconds(theirs) + (" *" if wrong(record) else ""),
        timing.seconds(same),
        ratio(theirs, same),
        f"{timing.seconds(own)} ({ratio(theirs, own)})" if several else "",
    ]


def show(results: list[dict[str, Any]]) -> str:
    head = ["clusterings x items  peer", "its time", "same measures", "ratio", f"{len(MEASURES)} measures"]
    rows, notes, failing = [], [], set()
    for result in results:
        shape = str(Shape(**result["shape"]))
        for record in result["peers"]:
            if "left_out" in record:
                notes.append(f"{shape}  {record['package']}: {record['calls']}: {record['left_out']}")
                continue
            rows.append(line(shape, record))
            failing |= {f"{record['package']}: {name}" for name in wrong(record)}
    if failing:
        notes.insert(0, f"* wrong in {', '.join(sorted(failing))}")
    return "\n".join(["CPU seconds, one thread; ratio: how many times our time", timing.table(head, rows), *notes])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/compare_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    peers = [peer for peer in (*PEERS, *ALONE) if peer.present]
    absent = sorted({peer.package for peer in PEERS} - {peer.package for peer in peers})
    repeats = 1 if options.small else 3
    results = [run_shape(shape, peers, repeats) for shape in (SMALL if options.small else FULL)]
    path = options.output or timing.RESULTS / f"compare_{datetime.date.today()}.json"
    content = {"measures": MEASURES, "absent": absent, "results": results}
    timing.save(path, {"environment": timing.environment(PACKAGES), **content})
    print(show(results))
    for package in absent:
        print(f"{package}: not installed, left out")


if __name__ == "__main__":
    main()
