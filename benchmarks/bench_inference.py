"""Time of resampling and of all pairs; ``inference.py`` has the work, and times its full sizes for a results file."""

from typing import Any

import inference
import pytest
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.inference import bootstrap


@pytest.mark.parametrize("replicates", timing.sizes(small=[300], full=[10_000]))
def bench_bootstrap(benchmark: BenchmarkFixture, replicates: int) -> None:
    tables = inference.one_table(1_000_000)
    inference.check_bootstrap(tables)
    benchmark(lambda: bootstrap(tables, inference.QUICK, replicates, generator=inference.seeded()))


@pytest.mark.parametrize("permutations", timing.sizes(small=[50], full=[1000]))
@pytest.mark.parametrize("measures", inference.SETS.values(), ids=inference.SETS.keys())
def bench_permutations(benchmark: BenchmarkFixture, permutations: int, measures: Any) -> None:
    tables = inference.read_clusterings(inference.DATA, "truth", 10)
    inference.check_permutations(tables)
    benchmark(inference.permuted, tables, measures, permutations)


@pytest.mark.parametrize("shape", timing.sizes(small=[(20, 500, 10)], full=[(300, 10_000, 10)]), ids=str)
@pytest.mark.parametrize("way", ["product", "scatter"])
def bench_pairs(benchmark: BenchmarkFixture, shape: tuple[int, int, int], way: str) -> None:
    labels, groups = inference.random_labels(*shape), shape[-1]
    inference.check_pairs(labels, groups)
    benchmark((lambda: inference.ours(labels)) if way == "product" else (lambda: inference.theirs(labels, groups)))
