"""Overlapping measures against python-bcubed, clusim and CDlib, and their time and memory at large sizes.

python benchmarks/overlap.py            # about two minutes; writes results/
python benchmarks/overlap.py --small    # a few seconds, to see that it works
python benchmarks/overlap.py --element-centric      # that measure alone, on one thread and on all; half a minute
"""

import argparse
import datetime
import importlib.util
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch
from torch import Tensor

from torchclusteval.overlap import (
    OVERLAP_DEFAULT,
    Memberships,
    evaluate_overlapping,
    overlap_element_centric,
    overlap_element_centric_per_item,
)

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

PEERS_FULL, PEERS_SMALL = (2000, 40), (60, 8)  # items, groups


def entries(kind: str, items: int, groups: int, overlap: float, random: np.random.Generator) -> np.ndarray:
    """Pairs (item, group), ``(2, entries)``."""
    all_items = np.arange(items)
    if kind == "cheat":
        return np.stack([np.tile(all_items, 2), np.concatenate([np.zeros(items, np.int64), all_items + 1])])
    if kind == "near":
        again = random.permutation(items)[: int(items * overlap)]
        rows = np.concatenate([all_items, again])
        return np.stack([rows, random.integers(groups, size=len(rows))])
    rows = np.repeat(all_items, random.integers(1, 4, items))
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
    """New memberships, without the comparison that is cached on them."""
    truth = "random" if size.kind == "random" else "near"
    return memberships(size, truth, 0, 1), memberships(size, size.kind, 1, size.batch)


def dense_bcubed(true: Tensor, pred: Tensor) -> tuple[float, float]:
    """Extended BCubed precision and recall by its definition, pair by pair, from ``(N, groups)`` of 0 and 1."""
    classes, clusters = (side.double() @ side.double().T for side in (true, pred))
    both = torch.minimum(classes, clusters)
    precision, recall = (
        torch.where(shared > 0, both / shared.clamp(min=1), torch.nan).nanmean(1).mean()
        for shared in (clusters, classes)
    )
    return float(precision), float(recall)


def dense_element_centric(true: Tensor, pred: Tensor, alpha: float = 0.9) -> Tensor:
    """Element-centric similarity of each item by its definition, from ``(N, groups)`` of 0 and 1."""
    ranks = []
    for side in (true.double(), pred.double()):
        walk = (side / side.sum(1, keepdim=True)) @ (side / side.sum(0).clamp(min=1)).T
        ranks.append((1 - alpha) * torch.linalg.inv(torch.eye(len(side), dtype=torch.float64) - alpha * walk))
    return 1 - (ranks[0] - ranks[1]).abs().sum(1) / (2 * alpha)


def check(size: Size) -> None:
    """Extended BCubed of a few items of this kind against its definition."""
    true, pred = sides(replace(size, items=60, groups=6, batch=1))
    scores = evaluate_overlapping(true, pred, BCUBED)
    expected = dense_bcubed(true.to_matrix(), pred.to_matrix())
    differences = [abs(float(scores[name]) - value) for name, value in zip(BCUBED, expected, strict=True)]
    if not max(differences) <= TOLERANCE:
        raise SystemExit(f"{size.name}: extended BCubed differs by {max(differences)} from its definition")


def large(size: Size, repeats: int) -> dict[str, Any]:
    """Time and additional memory of all measures, in a process of its own."""
    check(size)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        memory: dict[str, Any] = pool.apply(_memory, (size,))
    prepared = [sides(size) for _ in range(repeats + 2)]
    timed = timing.measure(lambda: evaluate_overlapping(*prepared.pop()), repeats=repeats, budget_s=60.0)
    return {"size": size.name, "measures": len(OVERLAP_DEFAULT), **timed.record(), **memory}


def walked(size: Size) -> dict[str, Any]:
    """Time and additional memory of element-centric similarity, on one thread and as many as the machine has cores."""
    true, pred = sides(replace(size, items=60, groups=6, batch=1))
    by_item = dense_element_centric(true.to_matrix(), pred.to_matrix())
    difference = float((overlap_element_centric_per_item(true, pred) - by_item).abs().max())
    if not difference <= TOLERANCE:
        raise SystemExit(f"{size.name}: element-centric similarity differs by {difference} from its definition")
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        memory = pool.apply(_memory_of_walk, (size,))
    threads = sorted({1, min(os.cpu_count() or 1, 8)})
    timed = {}
    for number in threads:
        torch.set_num_threads(number)
        prepared = sides(size)
        timed[f"threads_{number}"] = timing.measure(
            partial(overlap_element_centric, *prepared), repeats=1, budget_s=0.0
        ).record()
    timing.one_thread()
    return {"size": size.name, **timed, "additional_mb": memory}


def _memory_of_walk(size: Size) -> float:
    timing.one_thread()
    true, pred = sides(size)
    overlap_element_centric(Memberships.from_lists([[0], [0, 1]]), Memberships.from_lists([[0], [1]]))
    before = timing.peak_megabytes()
    overlap_element_centric(true, pred)
    return timing.peak_megabytes() - before


def _memory(size: Size) -> dict[str, float]:
    timing.one_thread()
    true, pred = sides(size)
    evaluate_overlapping(Memberships.from_lists([[0], [0, 1]]), Memberships.from_lists([[0], [1]]))  # load everything
    before = timing.peak_megabytes()
    evaluate_overlapping(true, pred)
    return {
        "entries": float(true.rows.shape[0] + pred.rows.shape[0]),
        "additional_mb": timing.peak_megabytes() - before,
    }


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


class Against(NamedTuple):
    """A peer and this package on the same lists, both from Python lists to values that agree."""

    ours: Callable[[], object]
    theirs: Callable[[], object]
    differences: dict[str, float]


def against(name: str, items: int, groups: int) -> Against:
    true, pred = random_lists(items, groups, 0), random_lists(items, groups, 1)
    values = PEERS[name](true, pred)

    def ours() -> dict[str, torch.Tensor]:
        return dict(evaluate_overlapping(Memberships.from_lists(true), Memberships.from_lists(pred), list(values)))

    scores = ours()
    differences = {measure: abs(float(scores[measure]) - value) for measure, value in values.items()}
    if not max(differences.values()) <= TOLERANCE:
        raise SystemExit(f"{name}: differs by {differences}")
    return Against(ours, lambda: PEERS[name](true, pred), differences)


def time_against(name: str, items: int, groups: int) -> dict[str, Any]:
    pair = against(name, items, groups)
    peer = timing.measure(pair.theirs, repeats=3)
    own = timing.measure(pair.ours, repeats=9)
    return {
        "peer": name,
        "items": items,
        "groups": groups,
        "measures": list(pair.differences),
        "largest_difference": pair.differences,
        "torchclusteval": own.record(),
        "other": peer.record(),
        "times_faster": peer.cpu_s / own.cpu_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/overlap_DATE.json)")
    parser.add_argument("--element-centric", action="store_true", help="element-centric similarity alone")
    options = parser.parse_args()
    timing.one_thread()
    if options.element_centric:
        record = walked((SMALL if options.small else FULL)[0])
        path = options.output or timing.RESULTS / f"element_centric_{datetime.date.today()}.json"
        timing.save(path, {"environment": timing.environment([]), "element_centric": record})
        times = {name: timing.seconds(value["wall_s"]) for name, value in record.items() if name.startswith("threads")}
        print(f"element-centric similarity, {record['size']}: {times}, {record['additional_mb']:.0f} MB")
        return
    present = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    peers = [time_against(name, *(PEERS_SMALL if options.small else PEERS_FULL)) for name in present]
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
    print(timing.table([f"all {len(OVERLAP_DEFAULT)} measures", "CPU time", "additional memory"], rows))
    for name in PEERS.keys() - set(present):
        print(f"{name} is not installed")


if __name__ == "__main__":
    main()
