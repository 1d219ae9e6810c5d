"""Time of files at the command line and of groups; ``reading.py`` has the work and times full sizes for results."""

from pathlib import Path

import pytest
import reading
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.overlap import read_memberships

every_size = pytest.mark.parametrize("sizes", timing.sizes(small=[reading.SMALL], full=[reading.FULL]), ids=["size"])


@every_size
@pytest.mark.parametrize("part", ["wide", "runs", "long"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def bench_file(benchmark: BenchmarkFixture, tmp_path: Path, part: str, suffix: str, sizes: reading.Sizes) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / f"labels.{suffix}"
    expected = reading.write_table(path, getattr(sizes, part))
    benchmark.group = f"{part} {suffix}"
    assert abs(benchmark(reading.score, path) - expected) < 1e-12


@every_size
def bench_groups(benchmark: BenchmarkFixture, tmp_path: Path, sizes: reading.Sizes) -> None:
    path = tmp_path / "groups.tsv"
    expected = reading.write_groups(path, sizes.lines)
    made = benchmark(read_memberships, path, layout="item-group")
    assert made.n_items == len(expected)
