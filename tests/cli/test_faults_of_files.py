"""Files that change while they are read, that do not fit in memory, and that are very wide."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from torchclusteval.cli.reading import arrow_table, csv_table, sources

TABLE = {"class": [0, 1] * 300_000, "run": [0, 1, 1] * 200_000}


def write(path: Path) -> str:
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(TABLE), path)
    else:
        rows = zip(*TABLE.values(), strict=True)
        path.write_text("class,run\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return str(path)


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_a_file_that_changes_is_called_so(name: str, error: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """It is cut short after the first block, which other readers would take for a bad line."""
    path = write(tmp_path / name)
    kind = arrow_table.ArrowTable if name.endswith("parquet") else csv_table.CsvTable
    batches = kind._batches

    def cut(self: Any, *arguments: Any) -> Iterator[Any]:
        for number, batch in enumerate(batches(self, *arguments)):
            if number == 1:
                os.truncate(path, os.path.getsize(path) // 2 + 1)
            yield batch

    monkeypatch.setattr(kind, "_batches", cut)
    assert "it changed while it was read" in error("score", path, "--truth", "class")


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_out_of_memory_is_called_so(name: str, error: Any, tmp_path: Path, monkeypatch: Any) -> None:
    def fail(*_: Any) -> Iterator[Any]:
        for _attempt in range(2):
            raise pa.ArrowMemoryError("malloc of size 64 failed")
        yield None

    monkeypatch.setattr(csv_table.CsvTable, "_batches", fail)
    monkeypatch.setattr(arrow_table.ArrowTable, "_batches", fail)
    assert "out of memory" in error("score", write(tmp_path / name), "--truth", "class")


def test_an_open_quote_is_found_in_one_pass(error: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Each block once: a quoted cell that goes on is not read again from its start."""
    seen: list[int] = []
    end_of_rows = sources._end_of_rows

    def noted(data: bytes, delimiter: str) -> int:
        seen.append(len(data))
        return end_of_rows(data, delimiter)

    monkeypatch.setattr(sources, "_end_of_rows", noted)
    path = tmp_path / "runs.csv"
    path.write_text("class,run\n" + "0,1\n" * 200_000 + '0,"1\n' + "0,1\n" * 2_000_000)
    error("score", str(path), "--truth", "class")
    assert sum(seen) < 3 * csv_table._BLOCK_BYTES


def test_a_folder_is_no_output(error: Any, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("class,run\n0,1\n1,0\n")
    assert "a folder" in error("score", str(path), "--truth", "class", "--output", str(tmp_path))
