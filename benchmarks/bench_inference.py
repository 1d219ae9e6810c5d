"""Time of resampling and of all pairs; ``inference.py`` has the work, and times its full sizes for a results file."""

from typing import Any

import inference
import pytest
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.cli.commands.demo import DATA

every_size = pytest.mark.parametrize("size", timing.sizes(small=[inference.SMALL], full=[inference.FULL]), ids=str)


@every_size
def bench_bootstrap(benchmark: BenchmarkFixture, size: inference.Size) -> None:
    tables = inference.one_table(1_000_000)
    inference.check_bootstrap(tables)
    benchmark(inference.bootstrapped, tables, inference.QUICK, size.resamples)


@every_size
@pytest.mark.parametrize("measures", inference.SETS.values(), ids=inference.SETS.keys())
def bench_permutations(benchmark: BenchmarkFixture, size: inference.Size, measures: Any) -> None:
    tables = inference.read_clusterings(DATA, "truth", size.clusterings)
    inference.check_permutations(tables)
    benchmark(inference.permuted, tables, measures, size.permutations)


@every_size
@pytest.mark.parametrize("way", ["pairwise", "scatter a pair"])
def bench_pairs(benchmark: BenchmarkFixture, size: inference.Size, way: str) -> None:
    labels, groups = inference.random_labels(*size.pairs), size.pairs[-1]
    inference.check_pairs(labels, groups)
    benchmark(inference.all_pairs(labels, groups)[way])
