"""Time of an epoch and of a file in chunks; ``streaming.py`` has the work, and times full sizes for a results file."""

from pathlib import Path

import pytest
import streaming
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.cli import main


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # torchmetrics makes a sparse tensor
@pytest.mark.parametrize("shape", timing.sizes(small=[(5, 100)], full=[(100, 10_000)]), ids=str)
@pytest.mark.parametrize("name", streaming.CONTENDERS)
def bench_epoch(benchmark: BenchmarkFixture, name: str, shape: tuple[int, int]) -> None:
    pytest.importorskip("torchmetrics")
    parts = streaming.batches(*shape)
    metric = streaming.CONTENDERS[name]()
    values = list(streaming.epoch(metric, parts).values())
    if not name.startswith("torchmetrics"):
        streaming.check_epoch(name, values, parts)
    benchmark.group = f"epoch {shape}"
    benchmark(streaming.epoch, metric, parts)


@pytest.mark.parametrize("size", timing.sizes(small=[200_000], full=[20_000_000]))
def bench_file(benchmark: BenchmarkFixture, tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int) -> None:
    path = tmp_path / "labels.csv"
    _, expected = streaming.write_csv(path, size)
    arguments = ["score", str(path), *streaming.OPTIONS]
    assert main(arguments) == 0
    streaming.check_file(capsys.readouterr().out, expected)
    benchmark(main, arguments)
