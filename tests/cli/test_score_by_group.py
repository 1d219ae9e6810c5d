"""``score --by COLUMN``: macro and pooled scores of the groups of a column."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import torchclusteval as tce
from torchclusteval.cli import main

ROWS: list[tuple[str, ...]] = [
    *(("a", "x", "0", "1"), ("b", "x", "0", "2"), ("a", "x", "0", "1"), ("c", "z", "5", "5")),
    *(("a", "y", "1", "1"), ("b", "y", "0", "-1"), ("c", "", "1", "-1"), ("", "x", "0", "1")),
]


def write(folder: Path, rows: list[tuple[str, ...]]) -> str:
    path = folder / "labels.csv"
    path.write_text("\n".join(map(",".join, [("document", "class", "km", "other"), *rows])) + "\n")
    return str(path)


def scores(capsys: Any, *arguments: str) -> dict[str, Any]:
    assert main(["score", *arguments, "--format", "json"]) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def error(capsys: Any, *arguments: str) -> str:
    assert main(["score", *arguments]) == 2
    text: str = capsys.readouterr().err
    assert text.count("\n") == 1
    return text


def test_macro_and_pooled(tmp_path: Path, capsys: Any) -> None:
    """The values are those of ``tests/golden/pooled.json``."""
    path = write(tmp_path, ROWS[:6])
    found = scores(capsys, path, "--truth", "class", "--by", "document", "--measures", "bcubed_f,rand,jaccard,nmi")
    assert {key: found[key] for key in ("n_items", "truth", "by", "n_groups")} == {
        "n_items": 6, "truth": "class", "by": "document", "n_groups": 3,
    }  # fmt: skip
    macro, pooled = found["scores"][:2]
    assert macro == {
        "clustering": "km", "average": "macro", "bcubed_f": pytest.approx(8 / 9), "rand": pytest.approx(2 / 3),
        "jaccard": pytest.approx(2 / 3), "nmi_arithmetic": pytest.approx(2 / 3),
    }  # fmt: skip
    assert pooled == {
        "clustering": "km", "average": "pooled", "bcubed_f": pytest.approx(10 / 11), "rand": 0.75, "jaccard": 0.5,
    }  # fmt: skip
    assert [(row["clustering"], row["average"]) for row in found["scores"][2:]] == [
        ("other", "macro"),
        ("other", "pooled"),
    ]


def test_options_of_labels(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path, ROWS)
    options = ["--missing", "ignore", "--noise-label", "-1", "--ignore", "z", "--columns", "other"]
    found = scores(capsys, path, "--truth", "class", "--by", "document", "--measures", "bcubed_f", *options)
    kept = [row for row in ROWS if row[0]]
    expected = tce.evaluate(
        [row[1] or None for row in kept],
        [int(row[3]) for row in kept],
        "bcubed_f",
        by=[row[0] for row in kept],
        missing="ignore",
        noise_label=-1,
        ignore_index="z",
    )
    macro, pooled = found["scores"]
    assert macro["bcubed_f"] == pytest.approx(expected.macro()["bcubed_f"].item())
    assert macro["coverage"] == pooled["coverage"] == pytest.approx(expected.macro().coverage.item())
    assert "a group" not in str(found)


def test_tables_and_csv(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path, ROWS[:6])
    assert main(["score", path, "--truth", "class", "--by", "document", "--measures", "rand,nmi"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("6 items in 3 groups by document\n")
    assert "km macro" in output.out
    assert "other pooled" in output.out
    assert output.err == "torchclusteval: note: 1 of 2 measures have no pooled value\n"
    assert (
        main(["score", path, "--truth", "class", "--by", "document", "--measures", "nmi,rand", "--format", "csv"]) == 0
    )
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["average"] for row in rows] == ["macro", "pooled"] * 2
    assert rows[1]["nmi_arithmetic"] == ""
    assert float(rows[1]["rand"]) == 0.75


def test_the_best_first(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path, ROWS[:6])
    asked = [path, "--truth", "class", "--by", "document", "--measures", "rand", "--sort", "rand", "--top", "1"]
    assert [row["clustering"] for row in scores(capsys, *asked)["scores"]] == ["other"] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--truth", "class", "--by", "doc"], "--by: expected a column that the file has; got 'doc' (did you mean"),
        (["--by", "document"], "--by: expected one FILE with --truth COLUMN"),
        (["--truth", "class", "--by", "document", "--permutations", "9"], "--permutations: expected scores of all"),
        (["--truth", "class", "--by", "document"], "labels.csv: column 'document'"),
        (["--overlapping", "--by", "document"], "--by: expected files of labels; got --overlapping too"),
    ],
)
def test_mistakes(tmp_path: Path, capsys: Any, arguments: list[str], message: str) -> None:
    rows = [*ROWS[:6], ("", "x", "1", "1")] if message.startswith("labels.csv") else ROWS[:6]
    assert message in error(capsys, write(tmp_path, rows), *arguments)


def test_each_group(tmp_path: Path, capsys: Any) -> None:
    """The values are those of separate calls, here by hand: b has one pair of items, joined by ``km`` alone."""
    path = write(tmp_path, ROWS[:6])
    asked = [path, "--truth", "class", "--by", "document", "--measures", "bcubed_f,nmi"]
    found = scores(capsys, *asked, "--per-group")
    assert [(row["clustering"], row["group"], row["n_items"]) for row in found["groups"]] == [
        (name, group, items) for name in ("km", "other") for group, items in (("a", 3), ("b", 2), ("c", 1))
    ]
    assert found["groups"][0] == {"clustering": "km", "group": "a", "n_items": 3, "bcubed_f": 1, "nmi_arithmetic": 1}
    assert found["groups"][1]["bcubed_f"] == pytest.approx(2 / 3)  # precision 1/2, recall 1
    assert found.pop("groups")
    assert found == scores(capsys, *asked)
    assert main(["score", *asked, "--per-group", "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["average"], row["group"]) for row in rows[:3]] == [("group", "a"), ("group", "b"), ("group", "c")]
    assert [row["average"] for row in rows[6:]] == ["macro", "pooled"] * 2
    assert float(rows[1]["bcubed_f"]) == pytest.approx(2 / 3)
    assert main(["score", *asked, "--per-group", "--top", "1", "--sort", "bcubed_f"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[5] == ["clustering", "document", "items", "bcubed_f", "nmi_arithmetic"]
    assert [line[:3] for line in lines[6:]] == [["other", "a", "3"], ["other", "b", "2"], ["other", "c", "1"]]


def test_each_group_names_missing_ids_and_left_out_items(tmp_path: Path, capsys: Any) -> None:
    options = ["--missing", "label", "--noise-label", "-1", "--ignore", "z", "--columns", "other"]
    asked = [write(tmp_path, ROWS), "--truth", "class", "--by", "document", "--measures", "rand", *options]
    groups = scores(capsys, *asked, "--per-group")["groups"]
    assert [(row["group"], row["n_items"], row["coverage"]) for row in groups] == [
        ("a", 3, 1),
        ("b", 1, 0.5),
        ("c", 0, 0),
        ("missing", 1, 1),
    ]
    assert "--per-group: expected --by COLUMN too" in error(capsys, asked[0], "--truth", "class", "--per-group")


def test_items_without_a_group_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,a,g\n1,1,x\n1,2,\n2,2,y\n2,2,x\n")
    asked = ["score", str(path), "--truth", "t", "--by", "g", "--measures", "ari", "--format", "json"]
    assert main([*asked, "--missing", "ignore", "--per-group"]) == 0
    out, err = capsys.readouterr()
    assert "note: 1 of 4 items have no label in 'g' and are in no group" in err
    found = json.loads(out)
    assert [row["n_items"] for row in found["groups"]] == [2, 1]
