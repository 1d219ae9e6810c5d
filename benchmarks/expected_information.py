"""What each route of the expected mutual information buys: with it and without it, on a size where it is taken.

    python benchmarks/expected_information.py            # about a minute; writes results/
    python benchmarks/expected_information.py --small    # a few seconds, to see that it works

One thread, CPU seconds. The two values must agree to 1e-12 before anything is timed; one table is timed against
scikit-learn too.
"""

import argparse
import datetime
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch
from bench_expected_information import table
from sklearn.metrics.cluster import expected_mutual_information as of_scikit_learn
from torch import Tensor

from torchclusteval.measures import expected_mutual_info as emi

TOLERANCE = 1e-12
Call = Callable[[], Tensor]


class Route(NamedTuple):
    """A way through the module, and what replaces it."""

    name: str
    changed: dict[str, Any]  # attribute of the module -> what it is without the route
    tables: Tensor  # (*batch, K, K)


@contextmanager
def replaced(changed: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(emi, name) for name in changed}
    vars(emi).update(changed)
    try:
        yield
    finally:
        vars(emi).update(before)


def batch(items: int, groups: int, count: int, *, one_reference: bool) -> Tensor:
    """Tables of uneven sizes, with the rows of the first if all have one reference."""
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, groups + 1)
    rows, columns = (random.choice(groups, (count, items), p=shares / shares.sum()) for _ in range(2))
    rows = rows[:1] if one_reference else rows
    cells = (rows * groups + columns).reshape(count, items)
    return torch.stack([torch.from_numpy(np.bincount(x, minlength=groups**2)).view(groups, groups) for x in cells])


def as_a_batch(class_sizes: Tensor, cluster_sizes: Tensor) -> Tensor:
    return emi._emi_of_batch(class_sizes[None], cluster_sizes[None]).squeeze(0)


def as_many_references(classes: Any, clusters: Any, n: Tensor) -> Tensor:
    count = len(clusters.size)
    rows = type(classes)(*(None if x is None else x.expand(count, -1) for x in classes))
    return emi._emi_of_many_references(rows, clusters, n.expand(count))


def routes(small: bool) -> list[Route]:
    count, groups, items = (20, 100, 2000) if small else (1000, 1000, 20_000)
    windows = (emi._WAYS[0], *[emi._of_windows] * (len(emi._WAYS) - 2), emi._WAYS[-1])
    return [
        Route("one small table", {"_emi_of_small_table": as_a_batch}, table((200, 5), "uneven")),
        Route("few items", {"FEW_ITEMS": 0}, batch(500, 10, count, one_reference=False)),
        Route("moments of large means", {"_WAYS": windows}, table((100 * items, 10), "uneven")),
        Route("every fourth term", {"LEAST_THINNED": math.inf}, table((500 * items // 10, groups // 10), "even")),
        Route("windows from 0 on", {"_WAYS": windows}, table((500 * items // 10, groups // 10), "even")),
        Route("equal sizes merged", {"FEW_GROUPS": 1 << 62}, table((items, groups), "uneven")),
        Route(
            "one reference",
            {"_emi_of_one_reference": as_many_references},
            batch(items // 2, 10, count, one_reference=True),
        ),
    ]


def call_of(tables: Tensor) -> Call:
    sizes = tables.sum(-1), tables.sum(-2)
    return lambda: emi.expected_mutual_information(*sizes)


def compared(route: Route) -> dict[str, Any]:
    call = call_of(route.tables)
    value = call()
    times = {"with_s": timing.measure(call, repeats=15, sample_s=0.01).cpu_s}
    with replaced(route.changed):
        off = float((call() - value).abs().max())
        if not off <= TOLERANCE:
            raise SystemExit(f"{route.name}: off by {off:.1e}")
        times["without_s"] = timing.measure(call, repeats=15, sample_s=0.01).cpu_s
    return {"route": route.name, "tables": list(route.tables.shape), "largest_difference": off, **times}


def beside_scikit_learn(small: bool) -> list[dict[str, Any]]:
    rows = []
    for groups in (2,) if small else (2, 3, 5):
        for items in (50,) if small else (50, 200, 1000):
            counts = table((items, groups), "uneven")
            counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]  # scikit-learn takes no empty groups
            array, call = counts.numpy(), call_of(counts)

            def theirs(array: Any = array, items: int = items) -> float:
                return float(of_scikit_learn(array, items))

            if not abs(float(call()) - theirs()) < 1e-10:
                raise SystemExit(f"{items} items, {groups} groups: {float(call())} and {theirs()}")
            ours_s, theirs_s = (timing.measure(x, repeats=15, sample_s=0.01).cpu_s for x in (call, theirs))
            rows.append({"items": items, "groups": groups, "ours_s": ours_s, "scikit_learn_s": theirs_s})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--output", type=Path, help="results file (default: results/expected_information_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    found = [compared(route) for route in routes(options.small)]
    tables = beside_scikit_learn(options.small)
    path = options.output or timing.RESULTS / f"expected_information_{datetime.date.today()}.json"
    environment = timing.environment(["scikit-learn"])
    timing.save(path, {"environment": environment, "routes": found, "beside_scikit_learn": tables})
    for row in found:
        print(f"{row['route']:26} {timing.seconds(row['with_s']):>10} {timing.seconds(row['without_s']):>10}")
    for row in tables:
        size = f"{row['items']} items, {row['groups']} groups"
        print(f"{size:26} {timing.seconds(row['ours_s']):>10} {timing.seconds(row['scikit_learn_s']):>10}")


if __name__ == "__main__":
    main()
