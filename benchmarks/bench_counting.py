"""Time from label tensors to contingency tables, through the public door."""

import numpy as np
import pytest
import timing
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval import ContingencyTables

# clusterings, items, classes, clusters
SHAPES = timing.sizes(
    small=[(20, 100, 10, 10), (4, 10_000, 10, 10), (1, 20_000, 100, 100)],
    full=[
        (1000, 100, 10, 10),
        (1000, 1000, 10, 10),
        (100, 100_000, 10, 10),
        (10, 1_000_000, 50, 50),
        (1, 10_000_000, 100, 100),
        (1000, 10_000, 20, 200),
    ],
)
SPARSE_SHAPES = timing.sizes(small=[(1, 5_000, 2_000, 2_000)], full=[(1, 1_000_000, 5_000, 5_000)])
DTYPES = [torch.int64, torch.int32, torch.uint8]


def labels(shape: tuple[int, int, int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    clusterings, items, classes, clusters = shape
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(classes, (items,), generator=generator, dtype=dtype)
    return true, torch.randint(clusters, (clusterings, items), generator=generator, dtype=dtype)


def counted_by_numpy(true: torch.Tensor, pred: torch.Tensor, classes: int, clusters: int) -> np.ndarray:
    counts = np.zeros((classes, clusters), dtype=np.int64)
    np.add.at(counts, (true.long().numpy(), pred.long().numpy()), 1)
    return counts


def note_rate(benchmark: BenchmarkFixture, pairs: int) -> None:
    """Note the median nanoseconds of a label pair in pytest-benchmark's record."""
    if benchmark.stats is not None:  # None under --benchmark-disable
        benchmark.extra_info["ns_per_label_pair"] = benchmark.stats.stats.median / pairs * 1e9


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def bench_dense(
    benchmark: BenchmarkFixture, shape: tuple[int, int, int, int], dtype: torch.dtype, checked: bool
) -> None:
    true, pred = labels(shape, dtype)
    *_, classes, clusters = shape

    def count() -> ContingencyTables:
        return ContingencyTables.from_labels(
            true, pred, num_classes=classes, num_clusters=clusters, validate=checked, layout="dense"
        )

    counts = count().counts
    assert np.array_equal(counts[-1].numpy(), counted_by_numpy(true, pred[-1], classes, clusters))
    benchmark(count)
    note_rate(benchmark, pred.numel())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def bench_unknown_labels(benchmark: BenchmarkFixture, shape: tuple[int, int, int, int]) -> None:
    """Negative, gappy labels, so that the door has to find the codes."""
    true, pred = labels(shape, torch.int64)
    gappy = pred * 1_000_003 - 5_000_000

    tables = ContingencyTables.from_labels(true, gappy)
    expected = ContingencyTables.from_labels(true, pred)
    assert torch.equal(tables.pairs.ss, expected.pairs.ss)
    benchmark(lambda: ContingencyTables.from_labels(true, gappy))
    note_rate(benchmark, pred.numel())


@pytest.mark.parametrize("shape", SPARSE_SHAPES, ids=str)
def bench_sparse(benchmark: BenchmarkFixture, shape: tuple[int, int, int, int]) -> None:
    true, pred = labels(shape, torch.int64)
    *_, classes, clusters = shape

    def count() -> ContingencyTables:
        return ContingencyTables.from_labels(true, pred, num_classes=classes, num_clusters=clusters, layout="sparse")

    _, rows, columns, counts = count().cells()
    expected = counted_by_numpy(true, pred[0], classes, clusters)
    assert np.array_equal(counts.numpy(), expected[rows.numpy(), columns.numpy()])
    assert int(counts.sum()) == expected.sum()
    benchmark(count)
    note_rate(benchmark, pred.numel())
