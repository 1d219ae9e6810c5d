"""Time of scoring groups of items: documents whose labels are flat, in any order, next to scikit-learn in a loop.

python benchmarks/groups.py            # a minute; writes results/
python benchmarks/groups.py --small    # a few seconds, to see that it works
"""

import argparse
import datetime
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn.metrics
import timing

import torchclusteval as tce
from torchclusteval import ContingencyTables

PEER: dict[str, Callable[..., float]] = {  # the headline measures that scikit-learn has
    "homogeneity": sklearn.metrics.homogeneity_score,
    "completeness": sklearn.metrics.completeness_score,
    "v_measure": sklearn.metrics.v_measure_score,
    "nmi_arithmetic": sklearn.metrics.normalized_mutual_info_score,
    "ami_arithmetic": sklearn.metrics.adjusted_mutual_info_score,
    "adjusted_rand": sklearn.metrics.adjusted_rand_score,
    "fowlkes_mallows": sklearn.metrics.fowlkes_mallows_score,
}
TIMED_DOCUMENTS = 200  # by scikit-learn; its time is scaled up


class Size(NamedTuple):
    documents: int
    items: int  # of a document
    groups: int  # classes, and clusters
    own_labels: bool = False  # whether no two documents share a label


FULL = (Size(10_000, 50, 5), Size(10_000, 50, 5, own_labels=True), Size(10_000, 50, 10), Size(100, 5_000, 10))
SMALL = (Size(50, 20, 3), Size(50, 20, 3, own_labels=True))

Labels = tuple[np.ndarray, np.ndarray, np.ndarray]


def documents(size: Size) -> Labels:
    """Truth, prediction and document of each item, in any order; four labels in five are right."""
    rng = np.random.default_rng(0)
    by = rng.permutation(np.repeat(np.arange(size.documents), size.items))
    true = rng.integers(0, size.groups, len(by))
    pred = np.where(rng.random(len(by)) < 0.8, true, rng.integers(0, size.groups, len(by)))
    first = by * size.groups if size.own_labels else 0
    return true + first, pred + first, by


def ours(labels: Labels) -> tce.Scores:
    true, pred, by = labels
    return tce.evaluate(true, pred, by=by)


def pooled(labels: Labels) -> tce.Scores:
    true, pred, by = labels
    return tce.pooled(ContingencyTables.from_labels(true, pred, by=by))


def of_some_documents(labels: Labels, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    true, pred, by = labels
    return [(true[by == document], pred[by == document]) for document in range(count)]


def theirs(parts: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, list[float]]:
    return {name: [score(true, pred) for true, pred in parts] for name, score in PEER.items()}


def check(labels: Labels, parts: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Our scores against scikit-learn's, and against calls of our own, a document each."""
    found = ours(labels)
    for name, values in theirs(parts).items():
        np.testing.assert_allclose(found[name][: len(parts)].numpy(), values, rtol=0, atol=1e-9, err_msg=name)
    for place, (true, pred) in enumerate(parts):
        alone = tce.evaluate(true, pred)
        if not all(value.item() == found[name][place].item() for name, value in alone.items()):
            raise SystemExit(f"document {place}: expected the scores of a call of its own, to the bit")


def time_one(size: Size) -> dict[str, Any]:
    labels = documents(size)
    parts = of_some_documents(labels, min(TIMED_DOCUMENTS, size.documents))
    check(labels, parts)
    calls: dict[str, Callable[[], object]] = {
        "evaluate(by=), headline measures": partial(ours, labels),
        "pooled, headline measures with sums": partial(pooled, labels),
    }
    rows = {name: timing.measure(call, repeats=15).record() for name, call in calls.items()}
    peer = timing.measure(partial(theirs, parts), repeats=3)
    scaled = peer.wall_s * size.documents / len(parts)
    name = "scikit-learn, seven calls a document"
    rows[name] = {"wall_s": scaled, "timed_on": len(parts), **{k: v for k, v in peer.record().items() if k != "wall_s"}}
    times = scaled / rows["evaluate(by=), headline measures"]["wall_s"]
    return {**size._asdict(), "rows": rows, "times_as_fast": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="sizes that take seconds")
    default = timing.RESULTS / f"groups_{datetime.date.today().isoformat()}.json"
    parser.add_argument("--output", type=Path, default=default, help="the results file")
    arguments = parser.parse_args()
    timing.one_thread()
    found = [time_one(size) for size in (SMALL if arguments.small else FULL)]
    for result in found:
        shape = f"{result['documents']} documents of {result['items']} items, {result['groups']} classes and clusters"
        print(shape + (", labels of their own" if result["own_labels"] else ""))
        rows = [(name, timing.seconds(row["wall_s"])) for name, row in result["rows"].items()]
        print(timing.table(("", "wall"), rows), f"{result['times_as_fast']:.0f} times", sep="\n")
    timing.save(arguments.output, {"environment": timing.environment(["scikit-learn", "scipy"]), "cases": found})


if __name__ == "__main__":
    main()
