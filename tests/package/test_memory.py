"""Memory follows what is asked for: labels are read in blocks, cells, pairs and groups are worked on in chunks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support.memory import can_measure, measured_twice, peak_megabytes
from tests.support.overlapping import random_lists
from torchclusteval import ContingencyTables
from torchclusteval.overlap import Memberships, evaluate_overlapping

pytestmark = [
    pytest.mark.memory,
    pytest.mark.slow,
    pytest.mark.skipif(not can_measure(), reason="this system keeps no peak of memory that can be set back"),
]

MB = 2**20
SORTED = 250.0  # megabytes: a block of labels that is sorted, or of cells that measures are computed of
BLOCKS = 12.0  # megabytes: what is read at a time, and what the C library keeps
N = 16_000_000  # even one byte a label is more than that


def labels(shape: tuple[int, ...], groups: int, dtype: str, seed: int, gap: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).integers(0, groups, shape, dtype=np.int32) * gap).astype(dtype)


def peak(call: Callable[[], Any], warm_up: Callable[[], Any]) -> float:
    warm_up()
    return peak_megabytes(call)[0]


@measured_twice
def test_the_tracker_sees_torch_and_numpy() -> None:
    assert peak(lambda: torch.ones(10 * MB // 4), lambda: torch.ones(MB)) == pytest.approx(10, abs=1)
    assert peak_megabytes(lambda: np.ones(80 * MB // 8).sum())[0] == pytest.approx(80, abs=1)
    assert peak_megabytes(lambda: [torch.ones(MB // 4) for _ in range(50)] and None)[0] == pytest.approx(50, abs=2)
    assert peak_megabytes(lambda: [torch.ones(MB // 4) for _ in range(50)] and None)[0] == pytest.approx(50, abs=2)
    held = torch.ones(40 * MB // 4)
    assert peak_megabytes(lambda: held.sum())[0] < 3


@pytest.mark.parametrize("shape", [(1, N), (20, N // 20), (N // 1000, 1000)], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@measured_twice
def test_counting_makes_no_copy_of_the_labels(shape: tuple[int, int], dtype: str) -> None:
    true, pred = labels(shape[-1:], 10, dtype, 0), labels(shape, 20, dtype, 1)
    found = peak(lambda: ContingencyTables.from_labels(true, pred), lambda: tce.evaluate(true[:99], pred[0, :99]))
    assert found < shape[0] * 10 * 20 * 8 / MB + BLOCKS


GAPS = {"look-up": 103, "search": 1_000_003}  # between neighbouring labels
RANDOM = np.random.default_rng(5).random(N)
COSTS: dict[str, tuple[float, dict[str, Any]]] = {  # bytes an item on top of the labels
    "sizes": (0, {"num_classes": 10, "num_clusters": 20}),
    "unchecked": (0, {"num_classes": 10, "num_clusters": 20, "validate": False}),
    "mask": (0, {"mask": RANDOM < 0.9}),
    "unchecked mask": (0, {"mask": RANDOM < 0.9, "num_classes": 10, "num_clusters": 20, "validate": False}),
    "weights": (0, {"weights": RANDOM + 1}),
    "frequencies": (0, {"weights": (RANDOM * 9 + 1).astype(np.int64)}),
    "ignore_index": (2, {"ignore_index": 3}),
    "mask, ignore_index": (3, {"mask": RANDOM < 0.9, "ignore_index": 3}),
    "noise ignored": (5, {"noise_label": 3}),
    "noise as a cluster": (20, {"noise_label": 3, "noise": "cluster"}),
}


@pytest.mark.parametrize("option", COSTS)
@measured_twice
def test_options_cost_what_is_stated(option: str) -> None:
    true, pred = labels((N,), 10, "int32", 0), labels((N,), 20, "int32", 1)
    cost, options = COSTS[option]
    short: dict[str, Any] = {name: x[:99] if isinstance(x, np.ndarray) else x for name, x in options.items()}
    count = ContingencyTables.from_labels
    found = peak(lambda: count(true, pred, **options), lambda: count(true[:99], pred[:99], **short))
    assert found < cost * N / MB + BLOCKS


@pytest.mark.parametrize(("way", "cost"), [("look-up", 9), ("search", 26)])
@measured_twice
def test_labels_with_gaps_cost_their_codes(way: str, cost: float) -> None:
    true, pred = (labels((N,), groups, "int32", groups, GAPS[way]) for groups in (10, 20))
    found = peak(lambda: ContingencyTables.from_labels(true, pred), lambda: tce.evaluate(true[:99], pred[:99]))
    assert found < cost * N / MB + BLOCKS


@measured_twice
def test_sparse_tables_cost_their_cells() -> None:
    """Almost every item is a cell of its own; row, column and count are 24 bytes, the parts to be merged 12."""
    true, pred = labels((4_000_000,), 20_000, "int32", 0), labels((4_000_000,), 20_000, "int32", 1)
    found = peak(lambda: ContingencyTables.from_labels(true, pred, layout="sparse"), lambda: tce.evaluate([0], [0]))
    assert found < 40 * 4_000_000 / MB + SORTED


@measured_twice
def test_measures_of_sparse_tables_cost_their_items() -> None:
    """A million items in half a million classes and clusters: 2e12 dense bytes, but 500 bytes an item here."""
    true, pred = labels((1_000_000,), 500_000, "int64", 0), labels((1_000_000,), 500_000, "int64", 1)

    def evaluated() -> ContingencyTables:
        tables = ContingencyTables.from_labels(true, pred)
        tce.evaluate_tables(tables, ["ari", "v_measure", "purity", "bcubed_f"])
        return tables

    tce.evaluate(true[:99], pred[:99])
    found, tables = peak_megabytes(evaluated)
    assert (tables.layout, tables.n_items.item()) == ("sparse", 1_000_000)
    assert found < 500e6 / MB


@pytest.mark.parametrize("classes", [100, 200_000])
@measured_twice
def test_the_largest_case_scaled_down(classes: int) -> None:
    """1e8 items in 1e6 clusters may take 4 GB on top of the labels: 40 bytes an item, and the blocks of measures."""
    n, clusters = 10_000_000, 200_000
    true, pred = labels((n,), classes, "int32", 0), labels((n,), clusters, "int32", 1)
    found = peak(lambda: tce.evaluate(true, pred), lambda: tce.evaluate(true[:99], pred[:99]))
    assert found < 40 * n / MB + SORTED


@pytest.mark.parametrize(("chunk_size", "allowed"), [(None, 150.0), (10, 42.0)])
@measured_twice
def test_batches_are_evaluated_in_chunks(chunk_size: int | None, allowed: float) -> None:
    """120 MB of tables of 10,000 cells."""
    tables = ContingencyTables(torch.randint(0, 9, (1500, 100, 100)), validate=False)
    names = ["v_measure", "adjusted_rand", "bcubed_f", "purity", "clustering_f"]
    warm_up = lambda: tce.evaluate_tables(tables[:2], names)  # noqa: E731
    found = peak(lambda: tce.evaluate_tables(tables, names, chunk_size=chunk_size), warm_up)
    assert found < allowed


@pytest.mark.parametrize("groups", [20, 200])
@measured_twice
def test_all_pairs_of_clusterings(groups: int) -> None:
    """400 clusterings have 160,000 tables of 400 (40,000) cells: 0.5 GB (51 GB) at once."""
    codes = labels((400 if groups == 20 else 60, 2000), groups, "int32", 0)
    found = peak(lambda: tce.pairwise(codes), lambda: tce.pairwise(codes[:3]))
    assert found < 300


@measured_twice
def test_an_item_of_very_many_groups() -> None:
    """2500 classes and clusters share it: 6,250,000 pairs of groups, 450 MB as lists."""
    sides = [[[*range(2500)], *random_lists(300, 2500, seed)] for seed in range(2)]
    true, pred = (Memberships.from_lists(side) for side in sides)
    small = Memberships.from_lists([[0], [0, 1]])
    found = peak(lambda: evaluate_overlapping(true, pred), lambda: evaluate_overlapping(small, small))
    assert found < 120


@pytest.mark.parametrize(("chunk_size", "allowed"), [(None, 120.0), (2**14, 60.0)])
@measured_twice
def test_overlapping_groups_are_compared_in_chunks(chunk_size: int | None, allowed: float) -> None:
    """20,000 items are 400,000,000 pairs."""
    true, pred = (Memberships.from_lists(random_lists(20_000, 300, seed)) for seed in range(2))
    small = Memberships.from_lists([[0], [0, 1]])
    found = peak(
        lambda: evaluate_overlapping(true, pred, chunk_size=chunk_size), lambda: evaluate_overlapping(small, small)
    )
    assert found < allowed


@measured_twice
def test_streams_cost_their_cells_and_room_for_one_merge() -> None:
    """2,000,000 cells in 16 bytes each, twice, and tables of them."""
    order = np.random.default_rng(0).permutation(2_000_000)
    chunks = [(part % 20, part // 20) for part in np.array_split(order, 10)]

    def stream() -> ContingencyTables:
        accumulator = tce.ContingencyAccumulator()
        for true, pred in chunks:
            accumulator.update(true, pred)
        return accumulator.tables()

    assert peak(stream, lambda: tce.ContingencyAccumulator().update([0, 1], [0, 1]).tables()) < 190
