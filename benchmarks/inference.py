"""Time of resampling and of all pairs: bootstrap, permutation tests (of the clusterings of a CSV), pairwise agreement.

python benchmarks/inference.py            # about a minute; writes results/
python benchmarks/inference.py --small    # a few seconds, to see that it works
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import timing
import torch

from torchclusteval import MEASURES, ContingencyTables, Measure
from torchclusteval.cli.commands.demo import DATA
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.inference import bootstrap, pairwise, permutation_test

QUICK = [m.name for m in MEASURES.values() if not m.on_host]  # all but assignment, AMI and expected information
SETS: dict[str, Any] = {"adjusted_rand": ["adjusted_rand"], "headline": None, "all": "all"}

Call = Callable[[], object]


class Size(NamedTuple):
    resamples: int
    permutations: int
    clusterings: int  # of the file
    pairs: tuple[int, int, int]  # clusterings, items, groups


FULL = Size(10_000, 1000, 200, (300, 10_000, 10))
SMALL = Size(300, 50, 10, (20, 500, 10))


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def one_table(items: int, groups: int = 10) -> ContingencyTables:
    shares = torch.randint(1, 1000, (groups * groups,), generator=seeded()).double()
    cells = torch.multinomial(shares, items, replacement=True, generator=seeded())
    return ContingencyTables(torch.bincount(cells, minlength=groups * groups).view(groups, groups))


def read_clusterings(path: Path, truth: str, count: int) -> ContingencyTables:
    """The first clusterings of a CSV against its column ``truth``."""
    asked = Selection(files=[str(path)])
    columns = {held.title: held.labels for held in hold_columns(asked)[0]}
    classes = columns.pop(truth)
    return ContingencyTables.from_labels(classes, dict(list(columns.items())[:count]))


def scatter_pairs(labels: torch.Tensor, groups: int) -> torch.Tensor:
    """``(pairs, groups, groups)``: the baseline, one scatter a pair."""
    one = torch.ones(1, dtype=torch.int64).expand(labels.shape[1])
    tables = []
    for i, first in enumerate(labels * groups):
        for second in labels[i + 1 :]:
            tables.append(torch.zeros(groups * groups, dtype=torch.int64).scatter_add_(0, first + second, one))
    return torch.stack(tables).view(-1, groups, groups)


def ours(labels: torch.Tensor) -> torch.Tensor:
    return pairwise(labels)["adjusted_rand"]


def theirs(labels: torch.Tensor, groups: int) -> torch.Tensor:
    return MEASURES["adjusted_rand"](ContingencyTables(scatter_pairs(labels, groups), validate=False))


def check_bootstrap(tables: ContingencyTables) -> None:
    """The standard error of the share of one cell against that of a binomial share; 300 resamples find it to 4 %."""
    cell = Measure("cell", "pairs", lambda t: t.counts[..., 0, 0] / t.n_items, range=(0, 1), better=None)
    found = bootstrap(tables, [cell], 300, rng=seeded())["cell"]
    share = float(tables.counts[0, 0] / tables.n_items)
    expected = math.sqrt(share * (1 - share) / float(tables.n_items))
    if not 0.8 < float(found.standard_error) / expected < 1.2:
        raise SystemExit(f"bootstrap: standard error {float(found.standard_error)}, by theory {expected}")


def check_permutations(tables: ContingencyTables) -> None:
    """The mean adjusted Rand index of permuted tables against 0."""
    found = permutation_test(tables, ["adjusted_rand"], 300, rng=seeded())["adjusted_rand"]
    standard_errors = (found.null_mean / found.null_sd * math.sqrt(300)).abs().max()
    if not float(standard_errors) < 5:
        raise SystemExit(f"permutation test: the mean is {float(standard_errors)} standard errors from 0")


def all_pairs(labels: torch.Tensor, groups: int) -> dict[str, Call]:
    return {"pairwise": partial(ours, labels), "scatter a pair": partial(theirs, labels, groups)}


def check_pairs(labels: torch.Tensor, groups: int) -> None:
    above = torch.triu_indices(len(labels), len(labels), 1)
    torch.testing.assert_close(ours(labels)[above[0], above[1]], theirs(labels, groups), rtol=1e-12, atol=1e-14)


def bootstrapped(tables: ContingencyTables, measures: Any, resamples: int) -> object:
    return bootstrap(tables, measures, resamples, rng=seeded())


def permuted(tables: ContingencyTables, measures: Any, permutations: int) -> object:
    return permutation_test(tables, measures, permutations, rng=seeded())


def random_labels(count: int, items: int, groups: int) -> torch.Tensor:
    return torch.randint(groups, (count, items), generator=seeded())


def time_all(path: Path, truth: str, size: Size) -> dict[str, Any]:
    resamples, permutations, count, shape = size
    table, clusterings, labels = one_table(1_000_000), read_clusterings(path, truth, count), random_labels(*shape)
    check_bootstrap(table)
    check_permutations(clusterings)
    check_pairs(labels, shape[-1])
    found = f"{clusterings.batch_shape[0]} clusterings of {path.name}"
    calls: dict[str, Call] = {
        f"bootstrap, {resamples} resamples, 10 x 10, {len(QUICK)} measures": partial(
            bootstrapped, table, QUICK, resamples
        ),
        f"bootstrap, {resamples} resamples, 10 x 10, ami": partial(bootstrapped, table, ["ami"], resamples),
        f"permutation test, {permutations} permutations, 10 x 10, adjusted_rand": partial(
            permuted, table, ["adjusted_rand"], permutations
        ),
    }
    for name, measures in SETS.items():
        calls[f"permutation test, {permutations} permutations, {found}, {name}"] = partial(
            permuted, clusterings, measures, permutations
        )
    for way, call in all_pairs(labels, shape[-1]).items():
        calls[f"all pairs of {shape}, adjusted_rand, {way}"] = call
    rows = {}
    for name, call in calls.items():
        rows[name] = timing.measure(call, repeats=3, budget_s=30).record()
        print(timing.seconds(rows[name]["cpu_s"]).rjust(10), name, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--file", type=Path, default=DATA, help="a CSV of clusterings")
    parser.add_argument("--truth", default="truth", help="its column that holds the truth")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--output", type=Path, default=timing.RESULTS / "inference.json")
    arguments = parser.parse_args()
    timing.one_thread()
    rows = time_all(arguments.file, arguments.truth, SMALL if arguments.small else FULL)
    timing.save(arguments.output, {"environment": timing.environment(), "rows": rows})


if __name__ == "__main__":
    main()
