"""Time of an epoch and of a file in chunks; ``streaming.py`` has the work, and times full sizes for a results file."""

from pathlib import Path

import pytest
import streaming
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.cli import main

every_size = pytest.mark.parametrize("size", timing.sizes(small=[streaming.SMALL], full=[streaming.FULL]), ids=str)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # torchmetrics makes a sparse tensor
@every_size
@pytest.mark.parametrize("name", streaming.CONTENDERS)
def bench_epoch(benchmark: BenchmarkFixture, name: str, size: streaming.Size) -> None:
    pytest.importorskip("torchmetrics")
    parts = streaming.batches(size.batches, size.labels_each)
    metric = streaming.CONTENDERS[name]()
    values = list(streaming.epoch(metric, parts).values())
    if not name.startswith("torchmetrics"):
        streaming.check_epoch(name, values, parts)
    benchmark.group = f"epoch {size}"
    benchmark(streaming.epoch, metric, parts)


@every_size
def bench_file(
    benchmark: BenchmarkFixture, tmp_path: Path, capsys: pytest.CaptureFixture[str], size: streaming.Size
) -> None:
    path = tmp_path / "labels.csv"
    _, expected = streaming.write_csv(path, size.file_bytes)
    arguments = streaming.arguments_for(path)
    assert main(arguments) == 0
    streaming.check_file(capsys.readouterr().out, expected)
    benchmark(main, arguments)
