"""How often bootstrap intervals hold the population's score: samples of known multinomials."""

import argparse
from pathlib import Path

import timing
import torch

from torchclusteval import ContingencyTables, evaluate_tables
from torchclusteval.inference import bootstrap
from torchclusteval.inference.intervals import METHODS

POPULATIONS = {  # shares of the cells, not normalised
    "moderate": [[30, 5, 5], [4, 20, 6], [2, 8, 20]],
    "near perfect": [[40, 1, 0], [1, 30, 0], [0, 1, 27]],
    "independent": [[20, 20, 10], [12, 12, 6], [8, 8, 4]],
}
MEASURES = ["adjusted_rand", "v_measure", "purity", "bcubed_f", "variation_of_information"]
CONFIDENCE = 0.95


def samples(shares: torch.Tensor, items: int, count: int, generator: torch.Generator) -> ContingencyTables:
    """Tables of items drawn one by one."""
    drawn = torch.multinomial(shares.flatten().expand(count, -1), items, replacement=True, generator=generator)
    counts = torch.zeros(count, shares.numel(), dtype=torch.int64).scatter_add_(1, drawn, torch.ones_like(drawn))
    return ContingencyTables(counts.view(count, *shares.shape))


def coverage(name: str, items: int, count: int, resamples: int) -> list[dict[str, object]]:
    shares = torch.tensor(POPULATIONS[name], dtype=torch.float64)
    population = ContingencyTables((shares / shares.sum() * 1e9).round().long())
    truth = evaluate_tables(population, MEASURES)
    generator = torch.Generator().manual_seed(items)
    tables = samples(shares, items, count, generator)
    rows = []
    for method in METHODS:
        found = bootstrap(tables, MEASURES, resamples, CONFIDENCE, method, generator)
        held = {m: (found[m].low <= truth[m]) & (truth[m] <= found[m].high) for m in MEASURES}
        share = {m: round(float(x.double().mean()), 4) for m, x in held.items()}
        rows.append({"population": name, "items": items, "method": method, "coverage": share})
        print(f"{name:14} {items:5} {method:11}", *(f"{x:.3f}" for x in share.values()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="few samples, to see that it works")
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "bootstrap_coverage.json")
    arguments = parser.parse_args()
    timing.one_thread()
    count, resamples = (20, 100) if arguments.small else (2000, 1000)
    sizes = [50] if arguments.small else [50, 200, 1000]
    rows = [row for name in POPULATIONS for items in sizes for row in coverage(name, items, count, resamples)]
    head = {"confidence": CONFIDENCE, "samples": count, "resamples": resamples, "measures": MEASURES}
    timing.save(arguments.output, {"environment": timing.environment(), **head, "rows": rows})


if __name__ == "__main__":
    main()
