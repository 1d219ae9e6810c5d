"""Time from label tensors to contingency tables, by ``from_labels``.

``counting.py`` has sizes, labels and strategies to compare with, and times counting alone for a results file.
"""

import counting
import pytest
import timing
import torch
from counting import Shape
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval import ContingencyTables

every_shape = pytest.mark.parametrize("shape", timing.sizes(small=counting.SMALL, full=counting.FULL), ids=str)
sparse_shape = pytest.mark.parametrize(
    "shape", timing.sizes(small=[counting.SPARSE_SMALL], full=[counting.SPARSE_FULL]), ids=str
)


def note_rate(benchmark: BenchmarkFixture, pairs: int) -> None:
    """Note the median nanoseconds of a label pair in pytest-benchmark's record."""
    if benchmark.stats is not None:  # None under --benchmark-disable
        benchmark.extra_info["ns_per_label_pair"] = benchmark.stats.stats.median / pairs * 1e9


@every_shape
@pytest.mark.parametrize("dtype", counting.DTYPES, ids=str)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def bench_dense(benchmark: BenchmarkFixture, shape: Shape, dtype: torch.dtype, checked: bool) -> None:
    true, pred = counting.labels(shape, dtype)

    def count() -> ContingencyTables:
        return ContingencyTables.from_labels(
            true, pred, num_classes=shape.classes, num_clusters=shape.clusters, validate=checked, layout="dense"
        )

    assert torch.equal(count().counts.view(-1), counting.by_bincount(shape, true, pred))
    benchmark(count)
    note_rate(benchmark, pred.numel())


@every_shape
def bench_unknown_labels(benchmark: BenchmarkFixture, shape: Shape) -> None:
    """Negative labels with gaps, so that the codes have to be found."""
    true, pred = counting.labels(shape, torch.int64)
    gappy = pred * 1_000_003 - 5_000_000

    tables = ContingencyTables.from_labels(true, gappy)
    expected = ContingencyTables.from_labels(true, pred)
    assert torch.equal(tables.pairs.ss, expected.pairs.ss)
    benchmark(lambda: ContingencyTables.from_labels(true, gappy))
    note_rate(benchmark, pred.numel())


@sparse_shape
def bench_sparse(benchmark: BenchmarkFixture, shape: Shape) -> None:
    true, pred = counting.labels(shape, torch.int64)

    def count() -> ContingencyTables:
        return ContingencyTables.from_labels(
            true, pred, num_classes=shape.classes, num_clusters=shape.clusters, layout="sparse"
        )

    _, rows, columns, counts = count().cells()
    expected = counting.by_bincount(shape, true, pred)
    assert torch.equal(counts, expected[rows * shape.clusters + columns])
    assert int(counts.sum()) == shape.items
    benchmark(count)
    note_rate(benchmark, pred.numel())
