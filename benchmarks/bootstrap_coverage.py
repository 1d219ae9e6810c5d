"""How often 95 % intervals hold the score of a population.

Draws of classes: entities are drawn from a population, and a share of their records is split off into clusters of
their own, or moved to the cluster of another entity. The truth is the mean score of many samples of the same size.
Fewer than 30 entities: draws of the default unit.
Draws of items: tables of items of three fixed classes, against the score of the population's table.

python benchmarks/bootstrap_coverage.py            # ten hours; writes results/
python benchmarks/bootstrap_coverage.py --small    # 200 samples of small cells, to see that it works
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import timing
import torch

from torchclusteval import ContingencyTables, evaluate_tables
from torchclusteval.cells.layouts import SparseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.inference import bootstrap
from torchclusteval.inference.bootstrap_options import FEW, FEW_CLASSES
from torchclusteval.inference.class_resampling import joined_classes, wrong_classes
from torchclusteval.inference.intervals import METHODS

CONFIDENCE = 0.95
NAMES = ["pair_f", "adjusted_rand", "ami_arithmetic", "nmi_arithmetic", "bcubed_f", "v_measure", "one_to_one_accuracy"]
KINDS, NOISE, MEANS, ENTITIES = ("split", "moved"), (0.01, 0.1, 0.3), (1.5, 3, 30, 300), (60, 200, 2000)
CHANCE = 1.0  # noise with which records are moved anywhere

POPULATIONS = {  # shares of the cells, not normalised
    "moderate": [[30, 5, 5], [4, 20, 6], [2, 8, 20]],
    "near perfect": [[40, 1, 0], [1, 30, 0], [0, 1, 27]],
    "independent": [[20, 20, 10], [12, 12, 6], [8, 8, 4]],
}
_COMMON = 20  # tables of a call have common draws, whose error is that of all of them
OF_ITEMS = ["adjusted_rand", "v_measure", "purity", "bcubed_f", "variation_of_information"]


def entity_tables(
    random: np.random.Generator, count: int, entities: int, mean: float, noise: float, kind: str
) -> ContingencyTables:
    """Tables of samples of entities with 1 + Poisson(mean - 1) records."""
    sizes = 1 + random.poisson(mean - 1, (count, entities))
    entity = np.repeat(np.arange(count * entities), sizes.ravel())
    sample, own = np.divmod(entity, entities)
    noisy = random.random(len(entity)) < noise
    if kind == "split":
        number = np.cumsum(noisy)
        before = np.r_[0, number[np.cumsum(sizes.sum(1)) - 1]][:-1]
        pred = np.where(noisy, entities + number - 1 - before[sample], own)
    else:
        pred = np.where(noisy, (own + random.integers(1, entities, len(own))) % entities, own)
    clusters = int(pred.max()) + 1
    keys, counts = np.unique(entity * clusters + pred, return_counts=True)
    row, column = np.divmod(keys, clusters)
    places = (torch.from_numpy(x) for x in (row // entities, row % entities, column, counts))
    return ContingencyTables._of(TableParts(SparseCells(torch.Size([count]), (entities, clusters), *places)))


def of_entities(
    kind: str, noise: float, mean: float, entities: int, samples: int, truths: int, resamples: int
) -> dict[str, Any]:
    """Coverage of one cell, and what the intervals warn of."""
    started, random = time.process_time(), np.random.default_rng(0)
    step = max(1, min(200, 400_000 // int(entities * mean)))
    total, done = torch.zeros(len(NAMES), dtype=torch.float64), 0
    while done < truths:
        scores = evaluate_tables(entity_tables(random, step, entities, mean, noise, kind), NAMES)
        total, done = total + torch.stack([scores[name].sum() for name in NAMES]), done + step
    truth = dict(zip(NAMES, (total / done).tolist(), strict=True))
    held, given, wrong = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0), list[float]()
    few, few_pairs, seen = 0, 0, 0
    while seen < samples:
        tables = entity_tables(random, step, entities, mean, noise, kind)
        unit = "classes" if entities >= FEW_CLASSES else None
        found = bootstrap(tables, NAMES, resamples, CONFIDENCE, rng=seen, resample=unit)
        for name, interval in found.items():
            given[name] += int((~interval.low.isnan()).sum())
            held[name] += int(((interval.low <= truth[name]) & (truth[name] <= interval.high)).sum())
        counts = wrong_classes(tables)
        few += int((counts < FEW).sum())
        few_pairs += int((joined_classes(tables) < FEW).sum())  # a warning of measures of pairs and AMI
        wrong, seen = [*wrong, *counts.tolist()], seen + step
    coverage = {name: round(held[name] / given[name], 3) if given[name] else None for name in NAMES}
    row = {"kind": kind, "noise": noise, "mean_size": mean, "entities": entities, "coverage": coverage}
    row |= {
        "classes_with_an_error": float(np.mean(wrong)),
        "warned": few / seen,
        "warned_of_pairs": few_pairs / seen,
        "samples": seen,
        "truths": done,
    }
    row |= {"refused": round(1 - min(given.values()) / seen, 4), "resamples": resamples}
    said = " ".join("----" if x is None else f"{x:.3f}" for x in coverage.values())
    spent = f"{time.process_time() - started:.0f} s"
    about = f"{row['classes_with_an_error']:6.1f} wrong, warned {row['warned']:.2f}, refused {row['refused']:.2f}"
    print(f"{kind:5} {noise:4} {mean:5} {entities:5} {said}  {about}, {seen} samples, {spent}", flush=True)
    return row


def budget(mean: float, entities: int, full: bool) -> tuple[int, int, int]:
    """Samples, samples for the truth, and resamples: fewer of large tables, which take longer."""
    if not full:
        return 200, 2000, 200
    records = entities * mean
    return 2000, 20_000, 200 if records <= 6000 else 100 if records < 60_000 else 50


def samples_of_items(shares: torch.Tensor, items: int, count: int, generator: torch.Generator) -> ContingencyTables:
    """Tables of items drawn one by one."""
    drawn = torch.multinomial(shares.flatten().expand(count, -1), items, replacement=True, generator=generator)
    counts = torch.zeros(count, shares.numel(), dtype=torch.int64).scatter_add_(1, drawn, torch.ones_like(drawn))
    return ContingencyTables(counts.view(count, *shares.shape))


def of_items(name: str, items: int, count: int, resamples: int) -> list[dict[str, Any]]:
    shares = torch.tensor(POPULATIONS[name], dtype=torch.float64)
    population = ContingencyTables((shares / shares.sum() * 1e9).round().long())
    truth = evaluate_tables(population, OF_ITEMS)
    generator = torch.Generator().manual_seed(items)
    tables = samples_of_items(shares, items, count, generator)
    rows = []
    for method in METHODS:
        held = dict.fromkeys(OF_ITEMS, 0)
        for start in range(0, count, _COMMON):
            some = tables[start : start + _COMMON]
            found = bootstrap(some, OF_ITEMS, resamples, CONFIDENCE, method, generator, resample="items")
            for m, x in found.items():
                held[m] += int(((x.low <= truth[m]) & (truth[m] <= x.high)).sum())
        share = {m: round(x / count, 4) for m, x in held.items()}
        rows.append({"population": name, "items": items, "method": method, "coverage": share})
        print(f"{name:14} {items:5} {method:11}", *(f"{x:.3f}" for x in share.values()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="few samples, to see that it works")
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "bootstrap_coverage.json")
    arguments = parser.parse_args()
    timing.one_thread()
    warnings.simplefilter("ignore", UserWarning)
    full = not arguments.small
    cells = [(k, x, mean, e) for k in KINDS for x in NOISE for mean in MEANS for e in ENTITIES]
    cells += [("moved", CHANCE, mean, e) for mean in MEANS for e in ENTITIES]
    cells += [(k, 0.1, mean, e) for k in KINDS for mean in (3, 30) for e in (10, 20)]  # by the default unit
    if not full:
        cells = [("split", 0.1, 1.5, 200), ("moved", 0.1, 3, 60), ("split", 0.1, 3, 10)]
    entities = list[dict[str, Any]]()
    head = {"environment": timing.environment(), "confidence": CONFIDENCE, "entities": entities}
    for cell in sorted(cells, key=lambda x: x[2] * x[3]):
        entities.append(of_entities(*cell, *budget(*cell[2:], full)))
        timing.save(arguments.output, head)
    if not full and not all(0.85 <= x <= 1 for row in entities for x in row["coverage"].values()):
        raise SystemExit("bootstrap_coverage: expected coverages from .85 to 1")
    count, resamples = (2000, 1000) if full else (20, 100)
    sizes = [50, 200, 1000] if full else [50]
    items = [row for name in POPULATIONS for size in sizes for row in of_items(name, size, count, resamples)]
    timing.save(arguments.output, head | {"samples_of_items": count, "items": items})


if __name__ == "__main__":
    main()
