"""``score --match``, ``relabel``, ``cluster-stability`` and ``consensus``."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import torchclusteval as tce
from torchclusteval.cli import main

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
    rows = [
        (name, j) for name, counts in zip("wxyz", TABLE, strict=True) for j, n in enumerate(counts) for _ in range(n)
    ]
    path = tmp_path / "table.csv"
    path.write_text("class,km,back\n" + "".join(f"{name},{10 + j},{'DCBA'[j]}\n" for name, j in rows))
    return str(path)


def output(capsys: Any, *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    text: str = capsys.readouterr().out
    return text


def error(capsys: Any, *arguments: str) -> str:
    assert main(arguments) == 2
    text: str = capsys.readouterr().err
    assert text.splitlines()[-1].startswith("torchclusteval: error: ")
    assert "Traceback" not in text
    return text


def written(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


# --- score --match ------------------------------------------------------------------------------------------


def test_matched_classes(capsys: Any, table: str) -> None:
    asked = ["score", table, "--truth", "class", "--measures", "one_to_one_accuracy", "--match"]
    found = json.loads(output(capsys, *asked, "--format", "json"))["scores"]
    assert sum(map(Fraction, OVERLAPS)) / 4 == Fraction(GOLDEN["scores"][0]["mean_iou"])
    columns: tuple[list[Any], ...] = ([10, 11, 12, 13], list("DCBA"))
    for score, clusters in zip(found, columns, strict=True):
        assert score["one_to_one_accuracy"] == pytest.approx(7 / 12)
        assert [(x["class"], x["cluster"]) for x in score["matching"]] == list(zip("wxyz", clusters, strict=True))
        assert [x["iou"] for x in score["matching"]] == pytest.approx([float(Fraction(x)) for x in OVERLAPS])
    wide = list(csv.DictReader(output(capsys, *asked, "--format", "csv").splitlines()))
    assert wide[0]["cluster of w"] == "10"
    assert float(wide[1]["iou of z"]) == pytest.approx(4 / 7)
    text = output(capsys, *asked)
    assert "clustering  class  cluster     iou" in text
    assert "back            z        A  0.5714" in text


def test_matched_classes_of_sorted_rows(capsys: Any, cells: str) -> None:
    asked = ["score", cells, "--truth", "class", "--columns", "km,other", "--match", "--sort", "rand", "--top", "1"]
    (best,) = json.loads(output(capsys, *asked, "--format", "json"))["scores"]
    assert best["clustering"] == "km"
    assert [x["cluster"] for x in best["matching"]] == [0, 1, 5]


def test_scores_are_those_without_match(capsys: Any, cells: str, tmp_path: Path) -> None:
    truth = tmp_path / "truth.txt"
    truth.write_text("a\na\nb\nb\nc\nc\n")
    labels = tmp_path / "km.txt"
    labels.write_text("0\n0\n1\n1\n5\n6\n")
    options = [
        [cells, "--truth", "class", "--missing", "ignore", "--noise-label", "-1", "--ignore", "b"],
        [cells, "--truth", "class", "--missing", "label", "--noise-label", "-1", "--noise", "singletons"],
        [cells, "--truth", "noisy", "--missing", "label"],
        [str(truth), str(labels)],
    ]
    for asked in options:
        plain, matched = (
            json.loads(output(capsys, "score", *asked, *more, "--format", "json")) for more in ([], ["--match"])
        )
        for score in matched["scores"]:
            assert score.pop("matching")
        scores = matched.pop("scores"), plain.pop("scores")
        assert scores[0] == [pytest.approx(row, abs=1e-12) for row in scores[1]]
        assert matched == plain


def test_a_class_without_a_cluster(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("class,one\n1,0\n1,0\n2,0\n")
    text = output(capsys, "score", str(path), "--truth", "class", "--measures", "rand", "--match", "--format", "json")
    assert json.loads(text)["scores"][0]["matching"] == [
        {"class": 1, "cluster": 0, "iou": pytest.approx(2 / 3)},
        {"class": 2, "cluster": None, "iou": 0},
    ]


# --- score --per-class, --per-cluster ------------------------------------------------------------------------


def test_classes_and_clusters(capsys: Any, table: str) -> None:
    """Sizes, shares and means are those of the golden table, by hand."""
    asked = ["score", table, "--truth", "class", "--measures", "rand"]
    (km, back) = json.loads(output(capsys, *asked, "--per-class", "--format", "json"))["scores"]
    for score, clusters in ((km, [10, 11, 12, 13]), (back, list("DCBA"))):
        rows = score["classes"]
        assert [row["class"] for row in rows] == list("wxyz")
        assert [row["cluster"] for row in rows] == clusters
        diagonal, columns = [TABLE[i][i] for i in range(4)], [sum(column) for column in zip(*TABLE, strict=True)]
        for row, counts, n, of_cluster in zip(rows, TABLE, diagonal, columns, strict=True):
            assert row["size"] == sum(counts)
            assert [row["precision"], row["recall"], row["f"], row["iou"], row["purity"]] == pytest.approx(
                [
                    n / of_cluster,
                    n / sum(counts),
                    2 * n / (of_cluster + sum(counts)),
                    n / (of_cluster + sum(counts) - n),
                    max(counts) / sum(counts),
                ]
            )
        assert score["macro_f"] == pytest.approx(sum(row["f"] for row in rows) / 4)
        assert score["mean_iou"] == pytest.approx(float(Fraction(GOLDEN["scores"][0]["mean_iou"])))
    wide = list(csv.DictReader(output(capsys, *asked, "--per-cluster", "--format", "csv").splitlines()))
    assert [(row["clustering"], row["cluster"], row["class"]) for row in wide[:4]] == [
        ("km", str(10 + i), "wxyz"[i]) for i in range(4)
    ]
    text = output(capsys, *asked, "--per-class").splitlines()
    assert text[0].split() == ["clustering", "rand", "mean_class_accuracy", "macro_f", "mean_iou"]
    assert text[4].split()[:7] == ["clustering", "class", "size", "cluster", "precision", "recall", "f"]
    assert text[5].split()[:5] == ["km", "w", "6", "10", "0.6250"]


def test_classes_of_sorted_rows(capsys: Any, cells: str) -> None:
    asked = ["score", cells, "--truth", "class", "--columns", "km,other", "--sort", "rand", "--top", "1"]
    (best,) = json.loads(output(capsys, *asked, "--per-cluster", "--format", "json"))["scores"]
    assert best["clustering"] == "km"
    assert [(x["cluster"], x["class"], x["size"]) for x in best["clusters"]] == [
        (0, "a", 2), (1, "b", 2), (5, "c", 1), (6, None, 1),
    ]  # fmt: skip
    assert "macro_f" not in best


# --- relabel ------------------------------------------------------------------------------------------------


def test_labels_renamed(capsys: Any, cells: str, tmp_path: Path) -> None:
    path = tmp_path / "renamed.csv"
    asked = ["relabel", cells, "--truth", "class", "--missing", "ignore", "--noise-label", "-1", "--output", str(path)]
    text = output(capsys, *asked)
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
    assert "0.8333" in output(capsys, *score)


def test_labels_renamed_are_those_of_python(capsys: Any, table: str, tmp_path: Path) -> None:
    path = tmp_path / "renamed.csv"
    output(capsys, "relabel", table, "--truth", "class", "--output", str(path))
    rows = written(Path(table))[1:]
    found = tce.match(tce.ContingencyTables.from_labels([row[0] for row in rows], [int(row[1]) for row in rows]))
    names = found.relabel([int(row[1]) for row in rows]).tolist()
    assert written(path)[1:] == [[row[0], name, name] for row, name in zip(rows, names, strict=True)]


@pytest.mark.parametrize(
    ("options", "last"),
    [
        (["--unmatched", "keep"], ["c", "6"]),
        (["--fill", "other"], ["c", "other"]),
        (["--fill", "NA"], ["c", "NA"]),
        ([], ["c", "new 1"]),
    ],
    ids=str,
)
def test_clusters_without_a_class(capsys: Any, cells: str, tmp_path: Path, options: list[str], last: list[str]) -> None:
    path = tmp_path / "renamed.csv"
    output(capsys, "relabel", cells, "--truth", "class", "--columns", "km", "--output", str(path), *options)
    assert written(path)[-1] == ["x12", *last]
    if last[1] == "NA":  # quoted: a label, not a missing one
        assert path.read_text().endswith('c,"NA"\n')


def test_new_numbers_are_no_class_and_not_noise(capsys: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    path.write_text("class,km\n0,5\n0,5\n1,6\n1,7\n1,2\n")
    output(capsys, "relabel", str(path), "--truth", "class", "--noise-label", "2", "--output", str(out))
    assert [row[1] for row in written(out)[1:]] == ["0", "0", "1", "3", "2"]


def test_clusters_of_items_without_a_class(capsys: Any, tmp_path: Path) -> None:
    """Labels that no table has seen are clusters without a class."""
    path, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    path.write_text("class,km\n0,5\n1,6\n9,7\n9,6\n")
    output(capsys, "relabel", str(path), "--truth", "class", "--ignore", "9", "--output", str(out))
    assert written(out)[1:] == [["0", "0"], ["1", "1"], ["9", "10"], ["9", "1"]]


def test_missing_labels_as_a_group(capsys: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    path.write_text("class,km\na,\na,\nb,5\n,6\n")
    output(capsys, "relabel", str(path), "--truth", "class", "--missing", "label", "--output", str(out))
    assert written(out)[1:] == [["a", "a"], ["a", "a"], ["b", "b"], ["", ""]]


def test_parquet(capsys: Any, cells: str, tmp_path: Path) -> None:
    path, again = tmp_path / "renamed.parquet", tmp_path / "again.csv"
    asked = ["--truth", "class", "--missing", "ignore"]
    output(capsys, "relabel", cells, *asked, "--columns", "km,noisy", "--output", str(path))
    frame = pd.read_parquet(path)
    assert frame.index.tolist() == ["007", "008", "x,9", "x10", "x11", "x12"]
    assert frame["km"].tolist() == ["a", "a", "b", "b", "c", "new 1"]
    assert frame["noisy"].isna().tolist() == [False] * 5 + [True]
    output(capsys, "relabel", str(path), *asked, "--output", str(again))
    assert [row[:2] for row in written(again)[1:3]] == [["007", "a"], ["008", "a"]]
    numbers = tmp_path / "numbers.parquet"
    output(capsys, "relabel", cells, "--truth", "km", "--columns", "other", "--output", str(numbers))
    assert pd.read_parquet(numbers).dtypes.astype(str).tolist() == ["int64", "int64"]


def test_names_of_rows_by_id(capsys: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "out.csv"
    path.write_text("class,item,km\n0,01,5\n1,02,6\n")
    output(capsys, "relabel", str(path), "--truth", "class", "--id", "item", "--output", str(out))
    assert out.read_text() == "item,class,km\n01,0,0\n02,1,1\n"


# --- cluster-stability --------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path) -> str:
    case = GOLDEN["stability"][0]
    path = tmp_path / "runs.csv"
    rows = zip(case["reference"], *case["runs"], strict=True)
    path.write_text(
        "ref,one,two\n" + "".join(f"{a},{'' if b is None else b},{'' if c is None else c}\n" for a, b, c in rows)
    )
    return str(path)


def test_stable_clusters(capsys: Any, runs: str, tmp_path: Path) -> None:
    case = GOLDEN["stability"][0]
    asked = ["cluster-stability", runs, "--reference", "ref"]
    found = json.loads(output(capsys, *asked, "--format", "json"))
    expected = [float(Fraction(x)) for x in case["mean_jaccard"]]
    assert [x["cluster"] for x in found["clusters"]] == [0, 1, 2]
    assert [x["mean_jaccard"] for x in found["clusters"]] == pytest.approx(expected)
    assert [x["recovered"] for x in found["clusters"]] == case["recovered"]
    assert [x["dissolved"] for x in found["clusters"]] == case["dissolved"]
    assert [x["size"] for x in found["clusters"]] == [4, 3, 3]
    assert (found["n_items"], found["n_runs"]) == (10, 2)
    path = tmp_path / "stable.csv"
    assert output(capsys, *asked, "--output", str(path)) == ""
    head, *rows = written(path)
    assert [float(row[head.index("mean_jaccard")]) for row in rows] == pytest.approx(expected)
    assert "mean_jaccard" in output(capsys, *asked)


def test_noise_and_items_without_a_reference(capsys: Any, cells: str) -> None:
    asked = ["cluster-stability", cells, "--reference", "noisy", "--columns", "km,other", "--noise-label", "-1"]
    assert main([*asked, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "torchclusteval: note: 1 of 6 items have no label in 'noisy' and are left out\n"
    reference, others = [-1, 1, 1, 2, 2], [[0, 0, 1, 1, 5], [1, 1, 1, 2, 3]]
    expected = tce.cluster_stability(reference, others, noise_label=-1)
    found = json.loads(shown.out)["clusters"]
    assert [x["cluster"] for x in found] == expected.labels.tolist() == [-1, 1, 2]
    assert [x["mean_jaccard"] for x in found] == expected.mean_jaccard.tolist()
    assert found[0]["prediction_strength"] is None


# --- consensus ----------------------------------------------------------------------------------------------


def test_agreed_labels(capsys: Any, tmp_path: Path) -> None:
    case = GOLDEN["runs"]
    path, out = tmp_path / "runs.csv", tmp_path / "agreed.csv"
    rows = zip("pqrstu", *case["labels"], strict=True)
    path.write_text(",a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    text = output(capsys, "consensus", str(path), "--output", str(out))
    assert text.startswith("3 clusterings of 6 items: mean agreement 0.8889 (after ")
    head, *found = written(out)
    assert head == ["", "consensus", "agreement"]
    assert [row[0] for row in found] == list("pqrstu")
    assert [int(row[1]) for row in found] == case["consensus"]
    assert sum(1 - float(row[2]) for row in found) / 6 == pytest.approx(float(Fraction(case["uncertainty"])))
    output(capsys, "consensus", str(path), "--output", str(out.with_suffix(".parquet")))
    assert pd.read_parquet(out.with_suffix(".parquet"))["consensus"].tolist() == case["consensus"]


def test_labels_of_the_start(capsys: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "runs.csv", tmp_path / "agreed.csv"
    path.write_text("a,b,c\n0,x,5\n0,x,5\n1,y,6\n1,y,6\n,,\n,y,\n")
    output(capsys, "consensus", str(path), "--start", "b", "--output", str(out))
    assert written(out)[1:] == [["x", "1.0"]] * 2 + [["y", "1.0"]] * 2 + [["", ""], ["y", "1.0"]]


# --- what goes wrong ----------------------------------------------------------------------------------------

WRONG = {
    "no column": (["relabel", "CELLS", "--truth", "clas"], "--truth: expected a column that the file has; got 'clas'"),
    "no reference": (["cluster-stability", "CELLS", "--reference", "k"], "--reference: expected a column"),
    "no start": (["consensus", "CELLS", "--start", "k"], "--start: expected a column that the file has; got 'k'"),
    "one run": (["consensus", "CELLS", "--columns", "km"], "clusterings: expected at least two; got 1"),
    "no run": (["cluster-stability", "CELLS", "--reference", "km", "--exclude", "*"], "clusterings: expected at least"),
    "no truth": (["relabel", "CELLS"], "--truth"),
    "missing": (["relabel", "CELLS", "--truth", "class"], "line 7: expected a label; got an empty cell"),
    "an unknown label": (
        ["relabel", "CELLS", "--truth", "km", "--columns", "other", "--noise-label", "x"],
        "whole number",
    ),
    "an unknown fill": (
        ["relabel", "CELLS", "--truth", "km", "--columns", "other", "--fill", "x"],
        "--fill: expected a",
    ),
    "fill and unmatched": (["relabel", "CELLS", "--truth", "km", "--fill", "1", "--unmatched", "new"], "got both"),
    "noise is a class": (
        ["relabel", "CELLS", "--truth", "km", "--columns", "other", "--noise-label", "1"],
        "--noise-label: expected one that is no class's, as noise keeps its label; got 1 in 'other'",
    ),
    "two names alike": (
        ["relabel", "CELLS", "--truth", "other", "--columns", "km", "--noise-label", "5", "--unmatched", "keep"],
        "--unmatched: 'km': expected clusters that have no class's label to keep theirs",
    ),
    "an output that exists": (["consensus", "CELLS", "--output", "CELLS"], "--output: expected a new file"),
    "no folder": (["consensus", "CELLS", "--output", "none/out.csv"], "a folder that exists"),
    "another suffix": (["relabel", "CELLS", "--truth", "km", "--output", "out.txt"], "ends in .csv or .parquet"),
    "overwrite alone": (["consensus", "CELLS", "--overwrite"], "--overwrite: expected --output too"),
    "an id twice": (["relabel", "CELLS", "--truth", "km", "--id", "km"], "--id: expected another column"),
    "no file": (["consensus", "none.csv"], "none.csv: no such file or directory"),
    "match by group": (["score", "CELLS", "--truth", "km", "--by", "class", "--match"], "--match: expected scores of"),
    "match without truth": (["score", "CELLS", "--match"], "--truth"),
    "classes by group": (
        ["score", "CELLS", "--truth", "km", "--by", "class", "--per-class"],
        "--per-class: expected scores of",
    ),
    "classes and clusters": (
        ["score", "CELLS", "--truth", "km", "--per-class", "--per-cluster"],
        "--per-cluster: expected this or --per-class; got both",
    ),
    "classes of overlapping": (
        ["score", "CELLS", "CELLS", "--overlapping", "--per-class"],
        "--per-class: expected files of",
    ),
    "match of overlapping": (["score", "CELLS", "CELLS", "--overlapping", "--match"], "--match: expected files of"),
    "noise without a label": (["consensus", "CELLS", "--noise", "cluster"], "--noise-label: expected the label"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(capsys: Any, cells: str, tmp_path: Path, name: str) -> None:
    arguments, message = WRONG[name]
    if name == "two names alike":  # clusters 0, 1, 6 against 1, 2, 3: cluster 1 finds its class taken
        Path(cells).write_text("class,km,other\n" + "a,0,1\n" * 3 + "a,1,1\na,6,2\n")
    asked = [cells if x == "CELLS" else x for x in arguments]
    if asked[0] == "relabel" and "--output" not in asked:
        asked += ["--output", str(tmp_path / "out.csv")]
    assert message in error(capsys, *asked)
    assert not (tmp_path / "out.csv").exists()
    if name == "an output that exists":
        assert Path(cells).read_text() == CELLS


def test_relabel_needs_an_output(capsys: Any, cells: str) -> None:
    assert "--output" in error(capsys, "relabel", cells, "--truth", "class")


def test_an_unknown_noise_label_is_noted(capsys: Any, cells: str) -> None:
    assert main(["consensus", cells, "--exclude", "class", "--noise-label", "77"]) == 0
    assert "note: --noise-label: no item has the label '77'" in capsys.readouterr().err
