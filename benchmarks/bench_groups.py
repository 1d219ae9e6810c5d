"""Time of scoring groups of items; ``groups.py`` has the work, and times its full sizes for a results file."""

import groups
import pytest
import timing
from pytest_benchmark.fixture import BenchmarkFixture

every_size = pytest.mark.parametrize("size", timing.sizes(small=groups.SMALL, full=groups.FULL), ids=str)


@every_size
def bench_evaluate_by_group(benchmark: BenchmarkFixture, size: groups.Size) -> None:
    labels = groups.documents(size)
    groups.check(labels, groups.of_some_documents(labels, 20))
    benchmark(groups.ours, labels)


@every_size
def bench_pooled(benchmark: BenchmarkFixture, size: groups.Size) -> None:
    benchmark(groups.pooled, groups.documents(size))
