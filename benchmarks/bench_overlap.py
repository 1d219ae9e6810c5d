"""Overlapping measures against python-bcubed, clusim and CDlib, and their time and memory at large sizes.

python benchmarks/bench_overlap.py            # about three minutes, most of it python-bcubed
python benchmarks/bench_overlap.py --small    # to see that it works
"""

import argparse
import datetime
import importlib.util
import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timing
import torch

from torchclusteval.overlap import Memberships, evaluate_overlapping

BCUBED = ["extended_bcubed_precision", "extended_bcubed_recall"]
TOLERANCE = 1e-12
Lists = list[list[int]]


@dataclass(frozen=True)
class Size:
    """A large comparison: ``batch`` clusterings of ``items`` items into ``groups`` groups."""

    name: str
    kind: str  # "random": 1 to 3 groups each; "near": one group, ``overlap`` of the items two; "cheat"
    items: int
    groups: int
    batch: int = 1
    overlap: float = 0.0


FULL = [
    Size("N = 50,000, 500 groups, 1 to 3 each", "random", 50_000, 500),
    Size("N = 1,000,000, 100 groups, 1% of the items in two", "near", 1_000_000, 100, overlap=0.01),
    Size("N = 1,000,000, 100 groups, partitions", "near", 1_000_000, 100),
    Size("N = 20,000, one cluster of all and all singletons, 50 classes, 10% in two", "cheat", 20_000, 50, overlap=0.1),
    Size("1000 clusterings of 100 items, 8 groups, 1 to 3 each", "random", 100, 8, batch=1000),
]
SMALL = [Size(f"{kind}, small", kind, 60, 6, batch, 0.1) for kind, batch in (("random", 3), ("near", 1), ("cheat", 1))]


def entries(kind: str, items: int, groups: int, overlap: float, random: np.random.Generator) -> np.ndarray:
    """Pairs (item, group), ``(2, entries)``."""
    everyone = np.arange(items)
    if kind == "cheat":
        return np.stack([np.tile(everyone, 2), np.concatenate([np.zeros(items, np.int64), everyone + 1])])
    if kind == "near":
        again = random.permutation(items)[: int(items * overlap)]
        rows = np.concatenate([everyone, again])
        return np.stack([rows, random.integers(groups, size=len(rows))])
    rows = np.repeat(everyone, random.integers(1, 4, items))
    return np.stack([rows, random.integers(groups, size=len(rows))])


def memberships(size: Size, kind: str, seed: int, batch: int) -> Memberships:
    random = np.random.default_rng(seed)
    groups = size.items + 1 if kind == "cheat" else size.groups
    parts = [entries(kind, size.items, groups, size.overlap, random) for _ in range(batch)]
    indices = np.concatenate([np.vstack([np.full(part.shape[1], i), part]) for i, part in enumerate(parts)], 1)
    shape = (batch, size.items, groups)
    ones = torch.ones(indices.shape[1], dtype=torch.bool)
    matrix = torch.sparse_coo_tensor(torch.from_numpy(indices), ones, shape, check_invariants=True)
    made = Memberships.from_matrix(matrix)
    return made if batch > 1 else made[0]


def sides(size: Size) -> tuple[Memberships, Memberships]:
    """Fresh memberships: what is found once for a pair of clusterings is kept with them."""
    truth = "random" if size.kind == "random" else "near"
    return memberships(size, truth, 0, 1), memberships(size, size.kind, 1, size.batch)


def megabytes() -> float:
    """Most memory that this process has had: VmHWM where there is one, since ru_maxrss can count the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(fields["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def large(size: Size, repeats: int) -> dict[str, Any]:
    """Time and additional memory of all measures, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        memory: dict[str, Any] = pool.apply(_memory, (size,))
    prepared = [sides(size) for _ in range(repeats + 2)]
    timed = timing.measure(lambda: evaluate_overlapping(*prepared.pop()), repeats=repeats, budget_s=60.0)
    return {"size": size.name, "measures": 11, **timed.record(), **memory}


def _memory(size: Size) -> dict[str, float]:
    timing.one_thread()
    true, pred = sides(size)
    evaluate_overlapping(Memberships.from_lists([[0], [0, 1]]), Memberships.from_lists([[0], [1]]))  # load everything
    before = megabytes()
    evaluate_overlapping(true, pred)
    return {"entries": float(true.rows.shape[0] + pred.rows.shape[0]), "additional_mb": megabytes() - before}


def random_lists(items: int, groups: int, seed: int) -> Lists:
    random = np.random.default_rng(seed)
    return [random.choice(groups, random.integers(1, 4), replace=False).tolist() for _ in range(items)]


def _bcubed(true: Lists, pred: Lists) -> dict[str, float]:
    import bcubed

    classes, clusters = (dict(enumerate(map(set, side))) for side in (true, pred))
    return dict(zip(BCUBED, (bcubed.precision(clusters, classes), bcubed.recall(clusters, classes)), strict=True))


def _clusim(true: Lists, pred: Lists) -> dict[str, float]:
    from clusim.clustering import Clustering
    from clusim.sim import omega_index

    return {
        "omega_index": float(omega_index(*(Clustering(elm2clu_dict=dict(enumerate(side))) for side in (true, pred))))
    }


def _cdlib(true: Lists, pred: Lists) -> dict[str, float]:
    import networkx as nx
    from cdlib import NodeClustering, evaluation

    peers = []
    for side in (true, pred):
        by_group: dict[int, list[int]] = {}
        for item, groups in enumerate(side):
            for group in groups:
                by_group.setdefault(group, []).append(item)
        peers.append(NodeClustering(list(by_group.values()), nx.empty_graph(len(side)), "", overlap=True))
    return {
        "overlapping_nmi_lfk": evaluation.overlapping_normalized_mutual_information_LFK(*peers).score,
        "overlapping_nmi_max": evaluation.overlapping_normalized_mutual_information_MGH(*peers).score,
    }


PEERS: dict[str, Callable[[Lists, Lists], dict[str, float]]] = {"bcubed": _bcubed, "clusim": _clusim, "cdlib": _cdlib}


def against(name: str, items: int, groups: int) -> dict[str, Any]:
    """A peer and this package on the same lists, both from Python lists to values."""
    true, pred = random_lists(items, groups, 0), random_lists(items, groups, 1)
    theirs = PEERS[name](true, pred)

    def ours() -> dict[str, torch.Tensor]:
        return dict(evaluate_overlapping(Memberships.from_lists(true), Memberships.from_lists(pred), list(theirs)))

    difference = {measure: abs(float(ours()[measure]) - value) for measure, value in theirs.items()}
    if max(difference.values()) > TOLERANCE:
        raise SystemExit(f"{name}: differs by {difference}")
    peer = timing.measure(lambda: PEERS[name](true, pred), repeats=3)
    own = timing.measure(ours, repeats=9)
    return {
        "peer": name,
        "items": items,
        "groups": groups,
        "measures": list(theirs),
        "largest_difference": difference,
        "torchclusteval": own.record(),
        "other": peer.record(),
        "times_faster": peer.cpu_s / own.cpu_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/overlap_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    present = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    peers = [against(name, *((60, 8) if options.small else (2000, 40))) for name in present]
    sizes = [large(size, 1 if options.small else 3) for size in (SMALL if options.small else FULL)]
    path = options.output or timing.RESULTS / f"overlap_{datetime.date.today()}.json"
    timing.save(path, {"environment": timing.environment(present), "peers": peers, "large": sizes})
    versus = [
        [f"{record['peer']}: {', '.join(record['measures'])}"]
        + [timing.seconds(record[side]["cpu_s"]) for side in ("torchclusteval", "other")]
        + [f"{record['times_faster']:.3g}x"]
        for record in peers
    ]
    print(
        f"CPU seconds, one thread\n{timing.table(['peer and measures', 'torchclusteval', 'peer', 'faster'], versus)}\n"
    )
    rows = [[record["size"], timing.seconds(record["cpu_s"]), f"{record['additional_mb']:.0f} MB"] for record in sizes]
    print(timing.table(["all 11 measures", "CPU time", "additional memory"], rows))
    for name in PEERS.keys() - set(present):
        print(f"{name} is not installed")


if __name__ == "__main__":
    main()
