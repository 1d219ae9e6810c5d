"""This package against scikit-learn, genieclust and torchmetrics on the same labels, in the same run.

    python benchmarks/compare.py                      # four shapes, about five minutes; writes results/
    python benchmarks/compare.py --small              # a few seconds, to see that it works

One call of ``evaluate`` with 23 measures on labels that are tensors already, against the peers' functions in
a loop over the clusterings. Answers are compared first. Everything runs on one thread; ratios are of CPU
seconds. A peer is timed on the first clusterings only where all of them would take long (``timed_on``), and
its time scaled up.
"""

import argparse
import datetime
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import timing
import torch

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
Values = dict[str, float]  # registry name -> value


class Shape(NamedTuple):
    clusterings: int
    items: int
    groups: int

    def __str__(self) -> str:
        return f"{self.clusterings} x {self.items:,}, k={self.groups}"


class Peer(NamedTuple):
    package: str
    calls: str
    score: Callable[[Any, Any], Values]
    as_tensor: bool
    label_pairs: float  # label pairs worth timing: about a second of work
    tolerance: float


FULL = (Shape(1000, 100, 10), Shape(1000, 10_000, 10), Shape(100, 100_000, 10), Shape(1, 10_000_000, 100))
SMALL = (Shape(20, 100, 10), Shape(4, 2_000, 10))


def half_right(shape: Shape, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """A truth ``(N,)`` and clusterings ``(B, N)`` in which about half of the labels equal the truth."""
    truth = torch.randint(shape.groups, (shape.items,), generator=generator)
    labels = torch.randint(shape.groups, (shape.clusterings, shape.items), generator=generator)
    for row in labels:
        kept = torch.rand(shape.items, generator=generator) < 0.5
        row.copy_(torch.where(kept, truth, row))
    return truth, labels


def sklearn_scores(true: Any, pred: Any) -> Values:
    from sklearn import metrics as m

    h, c, v = m.homogeneity_completeness_v_measure(true, pred)
    return {
        "homogeneity": h,
        "completeness": c,
        "v_measure": v,
        "mutual_information": m.mutual_info_score(true, pred),
        "nmi_arithmetic": m.normalized_mutual_info_score(true, pred),
        "ami_arithmetic": m.adjusted_mutual_info_score(true, pred),
        "rand": m.rand_score(true, pred),
        "adjusted_rand": m.adjusted_rand_score(true, pred),
        "fowlkes_mallows": m.fowlkes_mallows_score(true, pred),
    }


def genieclust_scores(true: Any, pred: Any) -> Values:
    from genieclust.compare_partitions import compare_partitions

    all_eleven = compare_partitions(true, pred)
    names = {
        "ar": "adjusted_rand",
        "r": "rand",
        "fm": "fowlkes_mallows",
        "mi": "mutual_information",
        "nmi": "nmi_arithmetic",
        "ami": "ami_arithmetic",
    }
    return {name: all_eleven[key] for key, name in names.items()}


def torchmetrics_scores(true: Any, pred: Any) -> Values:
    from torchmetrics.functional import clustering as m

    functions = {
        "homogeneity": m.homogeneity_score,
        "completeness": m.completeness_score,
        "v_measure": m.v_measure_score,
        "mutual_information": m.mutual_info_score,
        "nmi_arithmetic": m.normalized_mutual_info_score,
        "rand": m.rand_score,
        "adjusted_rand": m.adjusted_rand_score,
        "fowlkes_mallows": m.fowlkes_mallows_index,
    }
    return {name: float(function(pred, true)) for name, function in functions.items()}


PEERS = (
    Peer("scikit-learn", "7 calls, 9 measures with AMI", sklearn_scores, False, 1e6, 1e-9),
    Peer("genieclust", "compare_partitions, 11 measures with AMI", genieclust_scores, False, 2.5e6, 1e-9),
    Peer("torchmetrics", "8 functions, without AMI", torchmetrics_scores, True, 2e6, 1e-4),
)
MODULES = {"scikit-learn": "sklearn", "genieclust": "genieclust", "torchmetrics": "torchmetrics"}


def present() -> Iterator[Peer]:
    for peer in PEERS:
        if find_spec(MODULES[peer.package]) is None:
            print(f"{peer.package}: not installed, left out")
        else:
            yield peer


def largest_difference(ours: tce.Scores, theirs: list[Values]) -> dict[str, float]:
    """Largest absolute difference of each measure over the clusterings that the peer scored."""
    return {name: max(abs(float(ours[name][i]) - float(v[name])) for i, v in enumerate(theirs)) for name in theirs[0]}


def run_peer(peer: Peer, truth: torch.Tensor, labels: torch.Tensor, ours: tce.Scores, repeats: int) -> dict[str, Any]:
    count = max(1, min(len(labels), int(peer.label_pairs / max(truth.numel(), 4000))))
    true, pred = (truth, labels[:count]) if peer.as_tensor else (truth.numpy(), labels[:count].numpy())
    theirs: list[Values] = []

    def loop() -> None:
        theirs[:] = [peer.score(true, row) for row in pred]

    timed = timing.measure(loop, repeats=repeats)
    scale = len(labels) / count
    return {
        "calls": peer.calls,
        "timed_on": count,
        **timed.record(),
        "cpu_s": timed.cpu_s * scale,
        "wall_s": timed.wall_s * scale,
        "tolerance": peer.tolerance,
        "largest_difference": largest_difference(ours, theirs),
    }


def wrong(peer: dict[str, Any]) -> list[str]:
    return [name for name, difference in peer["largest_difference"].items() if not difference <= peer["tolerance"]]


def run_shape(shape: Shape, peers: list[Peer], repeats: int) -> dict[str, Any]:
    truth, labels = half_right(shape, torch.Generator().manual_seed(0))
    ours = tce.evaluate(truth, labels, MEASURES)
    others = {}
    for peer in peers:
        others[peer.package] = run_peer(peer, truth, labels, ours, repeats)
        differing = wrong(others[peer.package])
        if differing and peer.package != "torchmetrics":  # its int64 products wrap: marked in the table
            raise SystemExit(f"{shape}: {peer.package} and torchclusteval differ in {', '.join(differing)}")
    timed = timing.measure(lambda: tce.evaluate(truth, labels, MEASURES), repeats=2 * repeats + 1)
    return {
        "shape": shape._asdict(),
        "torchclusteval": {"measures": len(MEASURES), **timed.record()},
        "peers": others,
    }


def show(results: list[dict[str, Any]], peers: list[Peer]) -> str:
    rows = []
    for result in results:
        own = result["torchclusteval"]["cpu_s"]
        row = [str(Shape(**result["shape"])), timing.seconds(own)]
        for peer in peers:
            record = result["peers"][peer.package]
            note = " *" if wrong(record) else ""
            row.append(f"{timing.seconds(record['cpu_s'])} ({record['cpu_s'] / own:.3g}x){note}")
        rows.append(row)
    head = ["clusterings x items", "torchclusteval", *(peer.package for peer in peers)]
    failing = {name for r in results for record in r["peers"].values() for name in wrong(record)}
    foot = f"\n* wrong in: {', '.join(sorted(failing))}" if failing else ""
    return f"CPU seconds, one thread\n{timing.table(head, rows)}{foot}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/compare_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    peers = list(present())
    repeats = 1 if options.small else 3
    results = []
    for shape in SMALL if options.small else FULL:
        print(f"{shape} ...", flush=True)
        results.append(run_shape(shape, peers, repeats))
    path = options.output or timing.RESULTS / f"compare_{datetime.date.today()}.json"
    environment = timing.environment(["scikit-learn", "scipy", "genieclust", "torchmetrics"])
    timing.save(path, {"environment": environment, "measures": MEASURES, "results": results})
    print(show(results, peers))


if __name__ == "__main__":
    main()
