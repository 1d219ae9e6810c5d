"""``score --per``, ``relabel``, ``cluster-stability`` and ``consensus``."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import torchclusteval as tce
from tests.support.restarts import restarts

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "matching.json").read_text())
TABLE = GOLDEN["scores"][0]["counts"]
OVERLAPS = ["5/9", "3/10", "1/4", "4/7"]  # their mean is the mean_iou of the golden row
CELLS = """\
,class,km,other,noisy
007,a,0,1,-1
008,a,0,1,1
"x,9",b,1,1,1
x10,b,1,2,2
x11,c,5,3,2
x12,c,6,3,NA
"""


@pytest.fixture
def cells(tmp_path: Path) -> str:
    path = tmp_path / "cells.csv"
    path.write_text(CELLS)
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Classes ``w x y z`` against clusters 10, 11, 12, 13; and the same clusters with other names."""
    rows = [(name, j) for name, row in zip("wxyz", TABLE, strict=True) for j, n in enumerate(row) for _ in range(n)]
    path = tmp_path / "table.csv"
    path.write_text("class,km,back\n" + "".join(f"{name},{10 + j},{'DCBA'[j]}\n" for name, j in rows))
    return str(path)


def written(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_classes_and_clusters(run: Any, table: str) -> None:
    """Sizes, shares and means are those of the golden table, by hand."""
    asked = ["score", table, "--truth", "class", "--measures", "one_to_one_accuracy"]
    found = run(*asked, "--per", "class", "--format", "json").json
    assert sum(map(Fraction, OVERLAPS)) / 4 == Fraction(GOLDEN["scores"][0]["mean_iou"])
    diagonal, columns = [TABLE[i][i] for i in range(4)], [sum(column) for column in zip(*TABLE, strict=True)]
    named: list[list[Any]] = [[10, 11, 12, 13], list("DCBA")]
    for score, clusters in zip(found["scores"], named, strict=True):
        rows = [row for row in found["classes"] if row["clustering"] == score["clustering"]]
        assert [(row["class"], row["cluster"]) for row in rows] == list(zip("wxyz", clusters, strict=True))
        assert [row["iou"] for row in rows] == pytest.approx([float(Fraction(x)) for x in OVERLAPS])
        for row, counts, n, of_cluster in zip(rows, TABLE, diagonal, columns, strict=True):
            assert row["size"] == sum(counts)
            assert [row["precision"], row["recall"], row["f"], row["purity"]] == pytest.approx(
                [n / of_cluster, n / sum(counts), 2 * n / (of_cluster + sum(counts)), max(counts) / sum(counts)]
            )
        assert score["one_to_one_accuracy"] == pytest.approx(7 / 12)
        assert score["macro_f"] == pytest.approx(sum(row["f"] for row in rows) / 4)
        assert score["mean_iou"] == pytest.approx(float(Fraction(GOLDEN["scores"][0]["mean_iou"])))
    wide = list(csv.DictReader(run(*asked, "--per", "cluster", "--format", "csv").out.splitlines()))
    assert [(row["clustering"], row["cluster"], row["class"]) for row in wide[:4]] == [
        ("km", str(10 + i), "wxyz"[i]) for i in range(4)
    ]
    text = run(*asked, "--per", "class").out.splitlines()
    assert text[4].split()[:7] == ["clustering", "class", "size", "cluster", "precision", "recall", "f"]
    assert text[5].split()[:5] == ["km", "w", "6", "10", "0.6250"]


def test_classes_of_sorted_rows(run: Any, cells: str) -> None:
    asked = ["score", cells, "--truth", "class", "--columns", "km,other", "--sort", "rand", "--top", "1"]
    found = run(*asked, "--per", "cluster", "--format", "json").json
    assert [row["clustering"] for row in found["scores"]] == ["km"]
    assert [(x["clustering"], x["cluster"], x["class"], x["size"]) for x in found["clusters"]] == [
        ("km", 0, "a", 2), ("km", 1, "b", 2), ("km", 5, "c", 1), ("km", 6, None, 1),
    ]  # fmt: skip
    assert "macro_f" not in found["scores"][0]


def test_scores_are_those_without_rows(run: Any, cells: str, tmp_path: Path) -> None:
    truth, labels = tmp_path / "truth.txt", tmp_path / "km.txt"
    truth.write_text("a\na\nb\nb\nc\nc\n")
    labels.write_text("0\n0\n1\n1\n5\n6\n")
    options = [
        [cells, "--truth", "class", "--missing", "ignore", "--noise-label", "-1", "--ignore", "b"],
        [cells, "--truth", "class", "--missing", "label", "--noise-label", "-1", "--noise", "singletons"],
        [cells, "--truth", "noisy", "--missing", "label"],
        [cells, "--truth", "class", "--missing", "label", "--by", "other"],
        [str(truth), str(labels)],
    ]
    for asked in options:
        plain, more = (run("score", *asked, *x, "--format", "json").json for x in ([], ["--per", "cluster"]))
        assert more.pop("clusters")
        scores = more.pop("scores"), plain.pop("scores")
        assert scores[0] == [pytest.approx(row, abs=1e-12) for row in scores[1]]
        assert more == plain


def test_a_class_without_a_cluster(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("class,one\n1,0\n1,0\n2,0\n")
    rows = run("score", str(path), "--truth", "class", "--per", "class", "--format", "json").json["classes"]
    assert [(row["class"], row["cluster"], row["iou"]) for row in rows] == [(1, 0, pytest.approx(2 / 3)), (2, None, 0)]


def test_labels_renamed(run: Any, cells: str, tmp_path: Path) -> None:
    path = tmp_path / "renamed.csv"
    asked = ["relabel", cells, "--truth", "class", "--missing", "ignore", "--noise-label", "-1", "--output", str(path)]
    text = run(*asked).out
    assert text.splitlines()[1].split() == ["km", "3", "1", "0.8333"]
    assert path.read_text().splitlines() == [
        ",class,km,other,noisy",
        "007,a,a,a,-1",
        "008,a,a,a,a",
        '"x,9",b,b,a,a',
        "x10,b,b,b,b",
        "x11,c,c,c,b",
        "x12,c,new 1,c,",
    ]
    score = ["score", str(path), "--truth", "class", "--columns", "km", "--measures", "one_to_one_accuracy"]
    assert "0.8333" in run(*score).out


def test_labels_renamed_are_those_of_python(run: Any, table: str, tmp_path: Path) -> None:
    path = tmp_path / "renamed.csv"
    run("relabel", table, "--truth", "class", "--output", str(path))
    rows = written(Path(table))[1:]
    found = tce.match(tce.ContingencyTables.from_labels([row[0] for row in rows], [int(row[1]) for row in rows]))
    names = found.relabel([int(row[1]) for row in rows]).tolist()
    assert written(path)[1:] == [[row[0], name, name] for row, name in zip(rows, names, strict=True)]


@pytest.mark.parametrize(
    ("options", "last"),
    [
        (["--unmatched", "keep"], ["c", "6"]),
        (["--unmatched", "keep", "--fill", "other"], ["c", "6"]),
        (["--fill", "other"], ["c", "other"]),
        (["--fill", "NA"], ["c", "NA"]),
        ([], ["c", "new 1"]),
    ],
    ids=str,
)
def test_clusters_without_a_class(run: Any, cells: str, tmp_path: Path, options: list[str], last: list[str]) -> None:
    path = tmp_path / "renamed.csv"
    run("relabel", cells, "--truth", "class", "--columns", "km", "--output", str(path), *options)
    assert written(path)[-1] == ["x12", *last]
    if last[1] == "NA":  # quoted: a label, not a missing one
        assert path.read_text().endswith('c,"NA"\n')


RENAMED = {  # file, options and output
    "new numbers are no class and not noise": (
        *("class,km\n0,5\n0,5\n1,6\n1,7\n1,2\n", ["--noise-label", "2"], "class,km\n0,0\n0,0\n1,1\n1,3\n1,2\n"),
    ),
    "items whose class is left out": (  # labels that no table has seen are clusters without a class
        *("class,km\n0,5\n1,6\n9,7\n9,6\n", ["--ignore", "9"], "class,km\n0,0\n1,1\n9,10\n9,1\n"),
    ),
    "missing labels": ("class,km\na,\na,\nb,5\n,6\n", ["--missing", "label"], "class,km\na,a\na,a\nb,b\n,\n"),
    "names of rows by id": (*("class,item,km\n0,01,5\n1,02,6\n", ["--id", "item"], "item,class,km\n01,0,0\n02,1,1\n"),),
}


@pytest.mark.parametrize("name", RENAMED)
def test_small_files_renamed(run: Any, tmp_path: Path, name: str) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    text, options, expected = RENAMED[name]
    path.write_text(text)
    run("relabel", str(path), "--truth", "class", *options, "--output", str(out))
    assert out.read_text() == expected


def test_parquet(run: Any, cells: str, tmp_path: Path) -> None:
    path, again = tmp_path / "renamed.parquet", tmp_path / "again.csv"
    asked = ["--truth", "class", "--missing", "ignore"]
    run("relabel", cells, *asked, "--columns", "km,noisy", "--output", str(path))
    frame = pd.read_parquet(path)
    assert frame.index.tolist() == ["007", "008", "x,9", "x10", "x11", "x12"]
    assert frame["km"].tolist() == ["a", "a", "b", "b", "c", "new 1"]
    assert frame["noisy"].isna().tolist() == [False] * 5 + [True]
    run("relabel", str(path), *asked, "--output", str(again))
    assert [row[:2] for row in written(again)[1:3]] == [["007", "a"], ["008", "a"]]
    numbers = tmp_path / "numbers.parquet"
    run("relabel", cells, "--truth", "km", "--columns", "other", "--output", str(numbers))
    assert pd.read_parquet(numbers).dtypes.astype(str).tolist() == ["int64", "int64"]


def test_stable_clusters(run: Any, tmp_path: Path) -> None:
    case, runs = GOLDEN["stability"][0], tmp_path / "runs.csv"
    rows = [["ref", "one", "two"], *zip(case["reference"], *case["runs"], strict=True)]
    runs.write_text("".join(",".join("" if x is None else str(x) for x in row) + "\n" for row in rows))
    asked = ["cluster-stability", str(runs), "--reference", "ref"]
    found = run(*asked, "--format", "json").json
    expected = [float(Fraction(x)) for x in case["mean_jaccard"]]
    assert [x["cluster"] for x in found["clusters"]] == [0, 1, 2]
    assert [x["mean_jaccard"] for x in found["clusters"]] == pytest.approx(expected)
    assert [x["recovered"] for x in found["clusters"]] == case["recovered"]
    assert [x["dissolved"] for x in found["clusters"]] == case["dissolved"]
    assert [x["size"] for x in found["clusters"]] == [4, 3, 3]
    assert (found["n_items"], found["n_runs"]) == (10, 2)
    path = tmp_path / "stable.csv"
    assert run(*asked, "--output", str(path)).out == ""
    head, *lines = written(path)
    assert [float(row[head.index("mean_jaccard")]) for row in lines] == pytest.approx(expected)
    assert "mean_jaccard" in run(*asked).out


def test_noise_and_items_without_a_reference(run: Any, cells: str) -> None:
    asked = ["cluster-stability", cells, "--reference", "noisy", "--columns", "km,other", "--noise-label", "-1"]
    shown = run(*asked, "--format", "json")
    assert shown.err == "torchclusteval: note: 1 of 6 items have no label in 'noisy' and are left out\n"
    reference, others = [-1, 1, 1, 2, 2], [[0, 0, 1, 1, 5], [1, 1, 1, 2, 3]]
    expected = tce.cluster_stability(reference, others, noise_label=-1)
    found = shown.json["clusters"]
    assert [x["cluster"] for x in found] == expected.labels.tolist() == [-1, 1, 2]
    assert [x["mean_jaccard"] for x in found] == expected.mean_jaccard.tolist()
    assert found[0]["prediction_strength"] is None


def test_agreed_labels(run: Any, tmp_path: Path) -> None:
    case = GOLDEN["runs"]
    path, out = tmp_path / "runs.csv", tmp_path / "agreed.csv"
    rows = zip("pqrstu", *case["labels"], strict=True)
    path.write_text(",a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    text = run("consensus", str(path), "--output", str(out)).out
    assert text.startswith("3 clusterings of 6 items: mean agreement 0.8889 (after ")
    head, *found = written(out)
    assert head == ["", "consensus", "agreement"]
    assert [row[0] for row in found] == list("pqrstu")
    assert [int(row[1]) for row in found] == case["consensus"]
    assert sum(1 - float(row[2]) for row in found) / 6 == pytest.approx(float(Fraction(case["uncertainty"])))
    run("consensus", str(path), "--output", str(out.with_suffix(".parquet")))
    assert pd.read_parquet(out.with_suffix(".parquet"))["consensus"].tolist() == case["consensus"]


def test_labels_of_the_start(run: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "runs.csv", tmp_path / "agreed.csv"
    path.write_text("a,b,c\n0,x,5\n0,x,5\n1,y,6\n1,y,6\n,,\n,y,\n")
    run("consensus", str(path), "--start", "b", "--output", str(out))
    assert written(out)[1:] == [["x", "1.0"]] * 2 + [["y", "1.0"]] * 2 + [["", ""], ["y", "1.0"]]


OTHER = ["relabel", "CELLS", "--truth", "km", "--columns", "other"]
WRONG = {
    "no column": (["relabel", "CELLS", "--truth", "clas"], "--truth: expected a column that the file has; got 'clas'"),
    "no reference": (["cluster-stability", "CELLS", "--reference", "k"], "--reference: expected a column"),
    "no start": (["consensus", "CELLS", "--start", "k"], "--start: expected a column that the file has; got 'k'"),
    "one run": (["consensus", "CELLS", "--columns", "km"], "clusterings: expected at least two; got 1"),
    "no run": (["cluster-stability", "CELLS", "--reference", "km", "--exclude", "*"], "clusterings: expected at least"),
    "no truth": (["relabel", "CELLS"], "--truth"),
    "no output": (["relabel", "CELLS", "--truth", "class"], "--output"),
    "missing": (["relabel", "CELLS", "--truth", "class"], "line 7: expected a label; got an empty cell"),
    "an unknown label": ([*OTHER, "--noise-label", "x"], "whole number"),
    "an unknown fill": ([*OTHER, "--fill", "x"], "--fill: expected a"),
    "noise is a class": ([*OTHER, "--noise-label", "1"], "no class has, as noise keeps it; got 1 in 'other'"),
    "two names alike": (
        ["relabel", "CELLS", "--truth", "other", "--columns", "km", "--noise-label", "5", "--unmatched", "keep"],
        "--unmatched: 'km': expected clusters without a class to have labels that no class has",
    ),
    "an output that exists": (["consensus", "CELLS", "--output", "CELLS"], "--output: expected a new file"),
    "another suffix": (["relabel", "CELLS", "--truth", "km", "--output", "out.txt"], "ends in .csv or .parquet"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(error: Any, cells: str, tmp_path: Path, name: str) -> None:
    arguments, message = WRONG[name]
    if name == "two names alike":  # clusters 0, 1, 6 against 1, 2, 3: cluster 1 finds its class taken
        Path(cells).write_text("class,km,other\n" + "a,0,1\n" * 3 + "a,1,1\na,6,2\n")
    asked = [cells if x == "CELLS" else x for x in arguments]
    if asked[0] == "relabel" and "--output" not in asked and name != "no output":
        asked += ["--output", str(tmp_path / "out.csv")]
    assert message in error(*asked)
    assert not (tmp_path / "out.csv").exists()
    if name == "an output that exists":
        assert Path(cells).read_text() == CELLS


def test_an_unknown_noise_label_is_noted(run: Any, cells: str) -> None:
    found = run("consensus", cells, "--exclude", "class", "--noise-label", "77")
    assert "note: --noise-label: no item has the label '77'" in found.err


def test_distinct_partitions(tmp_path: Path, run: Any) -> None:
    true, runs = restarts()
    path = tmp_path / "runs.csv"
    columns = np.concatenate([true[None].numpy(), runs.numpy(), (np.arange(60) // 20)[None]])
    head = ["truth", *(f"r{i}" for i in range(8)), "part"]
    path.write_text("\n".join(",".join(map(str, row)) for row in [head, *columns.T.tolist()]) + "\n")
    asked = ["score", str(path), "--truth", "truth", "--columns", "r*", "--measures", "ami", "--per", "partition"]
    found = run(*asked, "--sort", "ami", "--format", "json").json["scores"]
    expected: Any = tce.evaluate(true, runs, ["ami"]).distinct(runs).top(9)
    assert [(row["clustering"], row["count"]) for row in found] == [
        (f"r{i}", count) for i, count in zip(expected.clusterings, expected.count.tolist(), strict=True)
    ]
    assert [row["ami_arithmetic"] for row in found] == pytest.approx(expected["ami"].tolist())
    rows = run(*asked, "--by", "part", "--format", "json").json["scores"]
    counted = {row["clustering"]: row["count"] for row in rows}
    assert [*counted.items()] == [("r0", 2), ("r1", 3), ("r3", 1), ("r4", 1), ("r7", 1)]
