"""Files of labels at the command line next to pyarrow alone, groups of items, and text labels next to pandas.

python benchmarks/reading.py            # two minutes, 2 GB of memory and 0.4 GB of files; writes results/
python benchmarks/reading.py --small    # a few seconds, to see that it works
"""

import argparse
import contextlib
import datetime
import importlib
import io
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch
from sklearn.metrics import adjusted_rand_score

import torchclusteval as tce
from torchclusteval.cli import main as command


class Size(NamedTuple):
    """Rows and clusterings of a file."""

    rows: int
    clusterings: int


class Sizes(NamedTuple):
    """Of all parts."""

    wide: Size  # as CSV and as Parquet
    runs: Size
    long: Size
    lines: int  # of item and group
    labels: int  # of text


FULL = Sizes(Size(1_000_000, 40), Size(400, 2667), Size(10_000_000, 4), 500_000, 1_000_000)
SMALL = Sizes(Size(2000, 5), Size(50, 30), Size(3000, 4), 500, 1000)
IMPORTS = {"torch": "import torch", "torchclusteval": "import torchclusteval.cli.commands.score"}


def write_table(path: Path, size: Size) -> float:
    """A table of whole numbers as CSV or Parquet, and the adjusted Rand index of its first clustering."""
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 100, size.rows)
    columns = {"class": truth}
    for i in range(size.clusterings):
        columns[f"run{i}"] = np.where(rng.random(size.rows) < 0.5, truth, rng.integers(0, 100, size.rows))
    table = pyarrow.table(columns)
    writer = csv.write_csv if path.suffix == ".csv" else parquet.write_table
    writer(table, path)
    return float(adjusted_rand_score(truth, columns["run0"]))


def score(path: Path) -> float:
    """The adjusted Rand index of the first clustering, as ``score`` prints it."""
    printed = io.StringIO()
    arguments = ["score", str(path), "--truth", "class", "--measures", "ari,nmi", "--format", "json"]
    with contextlib.redirect_stdout(printed):
        assert command(arguments) == 0
    return float(json.loads(printed.getvalue())["scores"][0]["adjusted_rand"])


def read_alone(path: Path) -> Any:
    """pyarrow with the same column types."""
    import pyarrow
    from pyarrow import csv, parquet

    if path.suffix != ".csv":
        return parquet.read_table(path)
    with path.open() as file:
        names = file.readline().strip().replace('"', "").split(",")
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.int64())))


def time_file(path: Path, expected: float, repeats: int) -> dict[str, Any]:
    """``score``, and then pyarrow alone, in this process."""
    importlib.import_module("torchclusteval.cli.commands.score")  # which a command does when it runs
    before = timing.peak_megabytes()
    found = score(path)
    assert abs(found - expected) < 1e-12, (found, expected)
    memory = timing.peak_megabytes() - before
    ours, alone = (
        timing.measure(partial(call, path), repeats=repeats, budget_s=8.0).record() for call in (score, read_alone)
    )
    ratio = ours["wall_s"] / alone["wall_s"]
    return {"peak_mb_above_imports": memory, "score": ours, "pyarrow": alone, "ratio": ratio}


def file_row(name: str, path: Path, size: Size, repeats: int) -> dict[str, Any]:
    expected = write_table(path, size)
    row = {"name": name, **size._asdict(), "megabytes": path.stat().st_size / 1e6}
    row |= apart(time_file, path, expected, repeats)
    path.unlink()
    return row


def write_groups(path: Path, lines: int) -> dict[str, set[str]]:
    rng = np.random.default_rng(0)
    items = [f"item{x}" for x in rng.permutation(lines) // 2]
    groups = [f"group{x}" for x in rng.integers(0, max(1, lines // 100), lines)]
    path.write_text("".join(f"{item}\t{group}\n" for item, group in zip(items, groups, strict=True)))
    read: dict[str, set[str]] = {}
    for item, group in zip(items, groups, strict=True):
        read.setdefault(item, set()).add(group)
    return read


def groups_row(path: Path, lines: int, repeats: int) -> dict[str, Any]:
    """Next to a plain loop over the lines, which only makes a dictionary."""
    expected = write_groups(path, lines)
    made = tce.overlap.read_memberships(path, layout="item-group")
    items, labels = made.items or (), made.group_labels or ()
    found: dict[Any, set[Any]] = {item: set() for item in items}
    for row, group in zip(made.rows.tolist(), made.groups.tolist(), strict=True):
        found[items[row]].add(labels[group])
    assert found == expected

    def loop() -> None:
        read: dict[str, list[str]] = {}
        with path.open() as file:
            for line in file:
                item, group = line.rstrip("\n").split("\t")
                read.setdefault(item, []).append(group)

    ours = timing.measure(lambda: tce.overlap.read_memberships(path, layout="item-group"), repeats=repeats)
    return {"lines": lines, "read_memberships": ours.record(), "loop": timing.measure(loop, repeats=repeats).record()}


def text_rows(n: int, repeats: int) -> list[dict[str, Any]]:
    """Labels of text next to ``pandas.factorize``, and codes with names next to whole numbers."""
    import pandas
    import pyarrow

    rng = np.random.default_rng(0)
    names = np.array([f"cluster number {i}" for i in range(60)])
    true = rng.integers(0, 60, n)
    codes = true, np.where(rng.random(n) < 0.5, true, rng.integers(0, 60, n))
    texts = [[str(x) for x in names[side]] for side in codes]
    objects = [np.array(side, dtype=object) for side in texts]
    expected = tce.ContingencyTables.from_labels(*codes)
    adjusted_rand = tce.evaluate_tables(expected, "ari")["adjusted_rand"]

    def seconds(sides: Any) -> float:
        tables = tce.ContingencyTables.from_labels(*sides)
        assert tce.evaluate_tables(tables, "ari")["adjusted_rand"] == adjusted_rand
        return timing.measure(lambda: tce.ContingencyTables.from_labels(*sides), repeats=repeats).cpu_s

    def factorized(sides: Any) -> float:
        return timing.measure(lambda: [pandas.factorize(side) for side in sides], repeats=repeats).cpu_s

    factorize = factorized(objects)
    numbers = seconds(codes)
    rows: list[dict[str, Any]] = [
        {"kind": "whole numbers", "cpu_s": numbers},
        {"kind": "pandas.factorize", "cpu_s": factorize},
    ]
    text = {
        "lists": texts,
        "object arrays": objects,
        "text arrays": [np.array(side) for side in texts],
        "pandas Series": [pandas.Series(side) for side in texts],
        "Arrow arrays": [pyarrow.array(side) for side in texts],
    }
    for kind, sides in text.items():
        cpu = seconds(sides)
        alone = factorized(sides) if kind == "text arrays" else factorize  # pandas has to make objects of them too
        rows.append({"kind": kind, "cpu_s": cpu, "factorize_cpu_s": alone, "times_factorize": cpu / alone})
    coded = {
        "pandas Categorical": [pandas.Categorical(side) for side in texts],
        "Arrow dictionaries": [pyarrow.array(side).dictionary_encode() for side in texts],
    }
    for kind, sides in coded.items():
        cpu = seconds(sides)
        rows.append({"kind": kind, "cpu_s": cpu, "ms_a_million_above_numbers": (cpu - numbers) * 1e9 / n})
    return rows


def time_imports(repeats: int) -> dict[str, float]:
    """Wall seconds of a process that imports only."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
        return time.perf_counter() - start

    return {name: statistics.median(once(code) for _ in range(repeats)) for name, code in IMPORTS.items()}


def apart(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a process of its own, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(call, arguments)


def measure(sizes: Sizes, repeats: int) -> dict[str, Any]:
    """All parts."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        files = [
            file_row("CSV", place / "wide.csv", sizes.wide, repeats),
            file_row("Parquet", place / "wide.parquet", sizes.wide, repeats),
            file_row("CSV, many clusterings", place / "runs.csv", sizes.runs, repeats),
            file_row("CSV, many items", place / "long.csv", sizes.long, repeats),
        ]
        return {
            "imports_s": time_imports(min(2, repeats)),
            "files": files,
            "groups": groups_row(place / "groups.tsv", sizes.lines, repeats),
            "text": text_rows(sizes.labels, repeats),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    default = timing.RESULTS / f"reading_{datetime.date.today().isoformat()}.json"
    parser.add_argument("--output", type=Path, default=default)
    arguments = parser.parse_args()
    threads = torch.get_num_threads()  # pyarrow takes OMP_NUM_THREADS for its own
    timing.one_thread()
    sizes, repeats = (SMALL, 2) if arguments.small else (FULL, 3)
    content: dict[str, Any] = {"environment": timing.environment(["pyarrow", "pandas"]), "pyarrow_threads": threads}
    content |= measure(sizes, repeats)
    shown = [
        (f"{row['name']}, {row['rows']} x {row['clusterings']}", timing.seconds(row["score"]["wall_s"]),
         timing.seconds(row["score"]["cpu_s"]), f"{row['peak_mb_above_imports']:.0f} MB",
         timing.seconds(row["pyarrow"]["wall_s"]), f"{row['ratio']:.2f}")
        for row in content["files"]
    ]  # fmt: skip
    print(timing.table(("file", "wall", "CPU", "memory", "pyarrow alone", "ratio"), shown))
    print({name: round(value, 2) for name, value in content["imports_s"].items()})
    print({name: timing.seconds(content["groups"][name]["cpu_s"]) for name in ("read_memberships", "loop")})
    for row in content["text"]:
        print(row)
    timing.save(arguments.output, content)


if __name__ == "__main__":
    main()
