"""Make the demo data: several hundred clusterings of the UCI digits, labels only.

    python benchmarks/make_demo_data.py [OUTPUT]

The columns of the CSV are ``truth`` (the digit) and one clustering each: k-means restarts for several numbers
of clusters, and clusterings that are poor, trivial or spoilt on purpose. The same library versions give the
same file, byte for byte; ``torchclusteval/cli/data/README.md`` says which were used.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

Labels = NDArray[np.int64]

NUMBERS_OF_CLUSTERS = (5, 8, 10, 12, 15, 20, 30)
INITS = {"plus": "k-means++", "random": "random"}
RESTARTS = 20
OUTPUT = Path(__file__).parents[1] / "torchclusteval" / "cli" / "data" / "digits.csv.gz"


def by_first_appearance(labels: Labels) -> Labels:
    """The same partition with clusters numbered in the order in which the items meet them."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty_like(first)
    number[np.argsort(first)] = np.arange(len(first))
    return number[codes]


def kmeans(items: NDArray[np.float64], k: int, init: str, seed: int) -> Labels:
    model = KMeans(k, init=init, n_init=1, random_state=seed).fit(items)
    return np.asarray(model.labels_, dtype=np.int64)


def restarts(items: NDArray[np.float64]) -> dict[str, Labels]:
    return {
        f"kmeans_{name}_k{k}_s{seed}": kmeans(items, k, init, seed)
        for k in NUMBERS_OF_CLUSTERS
        for name, init in INITS.items()
        for seed in range(RESTARTS)
    }


def with_noise(truth: Labels, percent: int) -> Labels:
    """The truth with a share of the items moved to a digit drawn at random."""
    random = np.random.default_rng(percent)
    moved = random.random(len(truth)) < percent / 100
    return np.where(moved, random.integers(0, 10, len(truth)), truth)


def deliberate(items: NDArray[np.float64], truth: Labels) -> dict[str, Labels]:
    """Clusterings that a measure should rank low, or whose score is known beforehand."""
    count = np.arange(len(truth))
    random = np.random.default_rng(0)
    pixels = np.random.default_rng(1).choice(np.flatnonzero(items.std(0) > 0), size=(3, 2), replace=False)
    result = {
        "one_cluster": np.zeros_like(count),
        "all_singletons": count,
        "item_parity": count % 2,
        "item_order_k10": count * 10 // len(count),
        "one_item_apart": (count == 0).astype(np.int64),
        "digit_parity": truth % 2,
        "digit_pairs_merged": truth // 2,
        "digits_cut_in_two": truth * 2 + count % 2,
    }
    result |= {f"random_k{k}": random.integers(0, k, len(truth)) for k in (2, 10, 30, 200)}
    result |= {f"truth_noise_{percent}": with_noise(truth, percent) for percent in (10, 30, 60, 90)}
    for i, two in enumerate(pixels):
        result[f"kmeans_two_pixels_{i}"] = kmeans(items[:, two], 10, "random", i)
    return result


def main(output: Path = OUTPUT) -> None:
    items, truth = load_digits(return_X_y=True)
    with threadpool_limits(1):
        clusterings = restarts(items) | deliberate(items, truth)
    columns = {"truth": truth} | {name: by_first_appearance(labels) for name, labels in clusterings.items()}
    rows = np.stack(list(columns.values()), axis=1).tolist()
    text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"
    output.write_bytes(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0))
    print(f"{len(columns) - 1} clusterings of {len(truth)} items: {output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
