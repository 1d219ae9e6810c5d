"""``score --by COLUMN``: macro and pooled scores of the groups of a column."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce

ROWS: list[tuple[str, ...]] = [
    *(("a", "x", "0", "1"), ("b", "x", "0", "2"), ("a", "x", "0", "1"), ("c", "z", "5", "5")),
    *(("a", "y", "1", "1"), ("b", "y", "0", "-1"), ("c", "", "1", "-1"), ("", "x", "0", "1")),
]


def write(folder: Path, rows: list[tuple[str, ...]]) -> str:
    path = folder / "labels.csv"
    path.write_text("\n".join(map(",".join, [("document", "class", "km", "other"), *rows])) + "\n")
    return str(path)


def test_macro_and_pooled(tmp_path: Path, run: Any) -> None:
    """The values are those of ``tests/golden/pooled.json``."""
    path = write(tmp_path, ROWS[:6])
    asked = ["score", path, "--truth", "class", "--by", "document", "--measures", "bcubed_f,rand,jaccard,nmi"]
    found = run(*asked, "--format", "json").json
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
    whole = run("score", path, "--truth", "class", "--exclude", "document", *asked[6:], "--format", "json").scores
    kinds = ("macro", "pooled", "all items")
    assert [(row["clustering"], row["average"]) for row in found["scores"]] == [(x, y) for x in whole for y in kinds]
    for row in found["scores"][2::3]:
        assert row == {"average": "all items", **whole[row["clustering"]]}


def test_options_of_labels(tmp_path: Path, run: Any) -> None:
    path = write(tmp_path, ROWS)
    options = ["--missing", "ignore", "--noise-label", "-1", "--ignore", "z", "--columns", "other"]
    asked = ["score", path, "--truth", "class", "--by", "document", "--measures", "bcubed_f", *options]
    found = run(*asked, "--format", "json").json
    kept = [row for row in ROWS if row[0]]
    true, pred, by = [row[1] or None for row in kept], [int(row[3]) for row in kept], [row[0] for row in kept]
    expected = tce.evaluate(true, pred, "bcubed_f", by=by, missing="ignore", noise_label=-1, ignore_index="z")
    macro, pooled, together = found["scores"]
    assert together["coverage"] == macro["coverage"]
    given = [row for row in kept if row[1] not in ("", "z") and row[3] != "-1"]
    alone = tce.evaluate([row[1] for row in given], [int(row[3]) for row in given], "bcubed_f")["bcubed_f"]
    assert together["bcubed_f"] == pytest.approx(alone.item())
    assert macro["bcubed_f"] == pytest.approx(expected.macro()["bcubed_f"].item())
    share = expected.macro().coverage.item() * len(kept) / len(ROWS)  # an item without a group is not scored either
    assert macro["coverage"] == pooled["coverage"] == pytest.approx(share)
    assert "a group" not in str(found)


def test_tables_and_csv(tmp_path: Path, run: Any) -> None:
    asked = ["score", write(tmp_path, ROWS[:6]), "--truth", "class", "--by", "document", "--measures", "nmi,rand"]
    output = run(*asked)
    lines = [line.split() for line in output.out.splitlines()]
    assert output.out.startswith("6 items in 3 groups by document\n\n")
    assert lines[2] == ["clustering", "average", "nmi_arithmetic", "rand"]
    assert [line[:2] for line in lines[3:]] == [
        [name, kind] for name in ("km", "other") for kind in ("macro", "pooled", "all")
    ]
    assert output.err.endswith("note: no pooled value of nmi_arithmetic: not defined by sums over the groups\n")
    rows = list(csv.DictReader(run(*asked, "--format", "csv").out.splitlines()))
    assert [row["average"] for row in rows] == ["macro", "pooled", "all items"] * 2
    assert rows[1]["nmi_arithmetic"] == ""
    assert float(rows[1]["rand"]) == 0.75


def test_the_best_first(tmp_path: Path, run: Any) -> None:
    path = write(tmp_path, ROWS[:6])
    asked = [path, "--truth", "class", "--by", "document", "--measures", "rand", "--sort", "rand", "--top", "1"]
    assert [row["clustering"] for row in run("score", *asked, "--format", "json").json["scores"]] == ["other"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--truth", "class", "--by", "doc"],
            "--by: expected a column that the file has; got 'doc' (did you mean 'document'? there are 'document'",
        ),
        (["--truth", "class", "--by", "document"], "labels.csv: column 'document'"),
        (["--truth", "class", "--per", "group"], "--per: expected --by COLUMN too"),
        (["--truth", "class", "--resamples", "groups", "--resamples", "9"], "--resamples: expected --by COLUMN too"),
    ],
)
def test_mistakes(tmp_path: Path, error: Any, arguments: list[str], message: str) -> None:
    rows = [*ROWS[:6], ("", "x", "1", "1")] if message.startswith("labels.csv") else ROWS[:6]
    assert message in error("score", write(tmp_path, rows), *arguments)


def test_by_goes_with_all_options(tmp_path: Path, run: Any) -> None:
    """Intervals and p-values are those of the groups; rows of classes and pictures are of all items."""
    asked = ["score", write(tmp_path, ROWS[:6]), "--truth", "class", "--by", "document", "--measures", "rand"]
    found = run(*asked, "--confidence-level", "0.9", "--resamples", "20", "--format", "json").json
    truth, labels = [row[1] for row in ROWS[:6]], [[int(row[i]) for row in ROWS[:6]] for i in (2, 3)]
    tables = tce.ContingencyTables.from_labels(truth, labels, by=[row[0] for row in ROWS[:6]])
    interval = tce.bootstrap(tables, "rand", 20, 0.9, rng=0)["rand"]
    test = tce.permutation_test(tables, "rand", 20, rng=0)["rand"]
    for key, values in {"rand_low": interval.low, "rand_high": interval.high, "rand_p": test.p_value}.items():
        shown = [math.nan if row[key] is None else row[key] for row in found["groups"]]
        assert shown == pytest.approx(values.flatten().tolist(), nan_ok=True)
    shown = run(*asked, "--confidence-level", "0.9", "--resamples", "groups", "--format", "json")
    assert "note: drawn: groups; intervals hold for new groups of items like these" in shown.err
    assert "groups" not in shown.json
    for row, macro in zip(shown.json["scores"], [True, False, None] * 2, strict=True):
        assert ("rand_low" in row) == (macro is not None)
        if macro is not None:
            drawn = tce.bootstrap(tables, "rand", 1000, 0.9, rng=0, resample="groups", macro=macro)["rand"]
            place = ["km", "other"].index(row["clustering"])
            ends = drawn.low[place].item(), drawn.high[place].item()
            assert (row["rand_low"], row["rand_high"]) == pytest.approx(ends)
    classes = run(*asked, "--per", "class", "--sort", "macro_f", "--format", "json").json
    plain = [*asked[:4], "--columns", "km,other", "--measures", "rand", "--per", "class", "--sort", "macro_f"]
    assert classes["classes"] == run(*plain, "--format", "json").json["classes"]
    for picture in ("scores", "table", "flow"):
        path = tmp_path / f"{picture}.svg"
        run(*asked, "--plot", str(path), "--picture", picture)
        assert path.read_text().endswith("</svg>\n")


def test_each_group(tmp_path: Path, run: Any) -> None:
    """The values are those of separate calls, here by hand: b has one pair of items, joined by ``km`` alone."""
    path = write(tmp_path, ROWS[:6])
    asked = [path, "--truth", "class", "--by", "document", "--measures", "bcubed_f,nmi"]
    found = run("score", *asked, "--per", "group", "--format", "json").json
    assert [(row["clustering"], row["group"], row["n_items"]) for row in found["groups"]] == [
        (name, group, items) for name in ("km", "other") for group, items in (("a", 3), ("b", 2), ("c", 1))
    ]
    assert found["groups"][0] == {"clustering": "km", "group": "a", "n_items": 3, "bcubed_f": 1, "nmi_arithmetic": 1}
    assert found["groups"][1]["bcubed_f"] == pytest.approx(2 / 3)  # precision 1/2, recall 1
    assert found.pop("groups")
    assert found == run("score", *asked, "--format", "json").json
    rows = list(csv.DictReader(run("score", *asked, "--per", "group", "--format", "csv").out.splitlines()))
    assert [(row["average"], row["group"]) for row in rows[:3]] == [("group", "a"), ("group", "b"), ("group", "c")]
    assert [row["average"] for row in rows[6:]] == ["macro", "pooled", "all items"] * 2
    assert float(rows[1]["bcubed_f"]) == pytest.approx(2 / 3)
    text = run("score", *asked, "--per", "group", "--top", "1", "--sort", "bcubed_f").out
    lines = [line.split() for line in text.splitlines()]
    assert lines[7] == ["clustering", "group", "n_items", "bcubed_f", "nmi_arithmetic"]
    assert [line[:3] for line in lines[8:]] == [["other", "a", "3"], ["other", "b", "2"], ["other", "c", "1"]]


def test_each_group_names_missing_ids_and_left_out_items(tmp_path: Path, run: Any) -> None:
    options = ["--missing", "label", "--noise-label", "-1", "--ignore", "z", "--columns", "other"]
    asked = [write(tmp_path, ROWS), "--truth", "class", "--by", "document", "--measures", "rand", *options]
    groups = run("score", *asked, "--per", "group", "--format", "json").json["groups"]
    expected = [("a", 3, 1), ("b", 1, 0.5), ("c", 0, 0), ("missing", 1, 1)]
    assert [(row["group"], row["n_items"], row["coverage"]) for row in groups] == expected


def test_items_without_a_group_are_named(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,a,g\n1,1,x\n1,2,\n2,2,y\n2,2,x\n")
    asked = ["score", str(path), "--truth", "t", "--by", "g", "--measures", "ari", "--format", "json"]
    found = run(*asked, "--missing", "ignore", "--per", "group")
    assert "note: 1 of 4 items have no label in 'g' and are in no group" in found.err
    assert [row["n_items"] for row in found.json["groups"]] == [2, 1]


@pytest.mark.parametrize("macro", [False, True])
def test_difference_over_groups(tmp_path: Path, run: Any, macro: bool) -> None:
    """Groups are drawn and exchanged; items that either side leaves out are out of both."""
    generator = torch.Generator().manual_seed(0)
    by, true = torch.arange(70) // 10, torch.randint(0, 3, (70,), generator=generator)
    runs = torch.where(torch.rand(3, 70, generator=generator) < 0.3, torch.randint(0, 3, (3, 70)), true)
    runs[1, 5:9] = -1
    known = torch.arange(70) != 50
    path = tmp_path / "labels.csv"
    lines = [[f"d{by[i]}", str(int(true[i])) if known[i] else "", *map(str, runs[:, i].tolist())] for i in range(70)]
    path.write_text("\n".join(map(",".join, [["d", "t", "a", "b", "c"], *lines])) + "\n")
    asked = ["difference", str(path), "--truth", "t", "--against", "a", "--by", "d", "--noise-label", "-1"]
    options = ["--missing", "ignore", "--measures", "ari,bcubed_f", "--resamples", "200", "--format", "json"]
    options += ["--correction", "holm", *(["--macro"] if macro else [])]
    shown = run(*asked, *options)
    assert run(*asked, *options, "--resamples", "groups").out == shown.out
    rows = shown.json["scores"]
    p_values = []
    for row, other in zip(rows, (1, 2), strict=True):
        mask = known & (runs[other] >= 0)
        assert row["coverage"] == mask.double().mean()
        a, b = (tce.ContingencyTables.from_labels(true, runs[i], by=by, mask=mask) for i in (other, 0))
        found = tce.paired_groups(a, b, ["ari", "bcubed_f"], 200, rng=0, macro=macro)
        for name, record in found.items():
            assert row[name] == pytest.approx(record.estimate_a.item())
            assert row[f"{name}_difference_high"] == pytest.approx(record.high.item())
            assert row[f"{name}_p"] == pytest.approx(record.p_value.item())
        p_values.append(found["ari"].p_value.item())
    adjusted = [row["adjusted_rand_p_adjusted"] for row in rows]
    assert min(adjusted) == pytest.approx(min(1, 2 * min(p_values)))


def test_mistakes_of_difference(tmp_path: Path, error: Any) -> None:
    path = write(tmp_path, ROWS[:6])
    asked = ["difference", path, "--truth", "class", "--against", "km"]
    assert "--macro: expected --by COLUMN too" in error(*asked, "--macro")
    assert "'classes' (--by COLUMN is for groups); got 'groups'" in error(*asked, "--resamples", "groups")
    assert "--truth: expected a column" in error("difference", path, "--against", "km")
    assert "--truth: expected a column of one file; got 'class' ('" in error("difference", path, *asked[1:])
    (tmp_path / "noise.csv").write_text("t,d,a,b\n" + "".join(f"{i % 2},{i // 4},{i % 3},-1\n" for i in range(8)))
    asked = ["difference", str(tmp_path / "noise.csv"), "--truth", "t", "--against", "b", "--noise-label", "-1"]
    assert "--by: expected at least two groups of items that count on both sides; got 0" in error(*asked, "--by", "d")


def test_items_without_a_group_are_told_alike(tmp_path: Path, run: Any, error: Any) -> None:
    """Of 12 items 4 have no group and one of the others is noise: 7 are scored, in all three commands."""
    path, page = tmp_path / "a.csv", tmp_path / "page.html"
    rows = ["1,1,1,x", "1,1,2,x", "2,2,2,x", "2,2,2,x", "1,1,1,y", "1,1,1,y", "2,1,2,y", "2,-1,2,y"]
    path.write_text("\n".join(["t,a,b,g", *rows, *["1,2,1,"] * 4]) + "\n")
    asked = [str(path), "--truth", "t", "--by", "g", "--measures", "ari", "--missing", "ignore", "--noise-label", "-1"]
    note = "note: 4 of 12 items have no label in 'g' and are in no group: not scored"
    found = run("score", *asked, "--columns", "a", "--format", "json")
    assert note in found.err
    shown = [(row["average"], row["coverage"]) for row in found.json["scores"]]
    assert shown == [(kind, pytest.approx(7 / 12)) for kind in ("macro", "pooled", "all items")]
    assert run("score", *asked).out.startswith("8 of 12 items in 2 groups by g\n")
    found = run("difference", *asked, "--against", "b", "--format", "json")
    assert note in found.err
    assert [row["coverage"] for row in found.json["scores"]] == [pytest.approx(7 / 12)]
    found = run("report", *asked, "--output", str(page), "--resamples", "20")
    assert note in found.err
    assert (
        '<th scope="row">items without a class or a group, not scored</th><td class="text">4</td>' in page.read_text()
    )
    path.write_text("t,a,g\n1,1,\n2,2,\n")
    for command in ("score", "difference"):
        against = ["--against", "a", "--columns", "a,g"] if command == "difference" else []
        message = error(command, *asked[:7], *against, "--missing", "ignore")
        assert message == "--by: expected a column with the groups of some items; 'g' has none"


def test_options_without_an_effect_are_refused_or_noted(tmp_path: Path, run: Any, error: Any) -> None:
    path, page = tmp_path / "a.csv", str(tmp_path / "page.html")
    rows = ["x,1,1,1", "x,1,1,2", "y,2,2,3", "y,2,2,4", "z,1,2,5", "z,2,3,6"]
    path.write_text("\n".join(["t,a,b,id", *rows]) + "\n")
    drawn = "--resamples: expected groups or a number, as groups are drawn; got classes"
    by = [str(path), "--truth", "t", "--by", "id", "--resamples", "classes"]
    assert drawn == error("difference", *by, "--against", "a")
    assert drawn == error("report", *by, "--output", page)
    assert "--ignore: expected --truth COLUMN too; got z" in error("report", by[0], "--ignore", "z", "--output", page)
    said = run("score", *by[:5], "--measures", "purity").err
    assert "note: --by: every item has a value of its own in 'id', so each is a group" in said
    # a and b are one partition of the four items that are scored, and two of all six
    asked = [*by[:3], "--exclude", "id", "--measures", "ari", "--per", "partition", "--format", "json"]
    assert [row["count"] for row in run("score", *asked).json["scores"]] == [1, 1]
    assert [row["count"] for row in run("score", *asked, "--ignore", "z").json["scores"]] == [2]
    path.write_text(path.read_text().replace("z,", ","))
    assert [row["count"] for row in run("score", *asked, "--missing", "ignore").json["scores"]] == [2]
    # what is said of intervals is said of rows that --top hides too
    asked = [str(path), "--truth", "t", "--missing", "ignore", "--exclude", "id", "--measures", "ari", "--top", "1"]
    said = run("score", *asked, "--resamples", "classes", "--confidence-level", "0.9").err
    assert "note: this is about all 2 clusterings, with and without --top" in said


def test_a_group_has_its_interval_whatever_the_others_are(tmp_path: Path, run: Any) -> None:
    """Next to a group of six items, for which there is none; notes name clusterings and groups."""
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(20), 300)
    split = np.where(rng.random(6000) < np.linspace(0.02, 0.2, 20)[true], 20 + np.arange(6000), true)
    good = np.where(rng.random(6000) < 0.05, (true + 1) % 20, true)
    places = np.concatenate([np.arange(6000), np.arange(0, 6000, 1000)])
    rows = zip(true[places], split[places], good[places], ["big"] * 6000 + ["small"] * 6, strict=True)
    path = tmp_path / "labels.csv"
    path.write_text("truth,split,good,by\n" + "\n".join(",".join(map(str, row)) for row in rows))
    options = ["--measures", "v_measure", "--by", "by", "--confidence-level", "0.95", "--format", "json"]
    result = run("score", str(path), "--truth", "truth", *options)
    found = {(row["clustering"], row["group"]): row for row in result.json["groups"]}
    for name, own in (("split", split), ("good", good)):
        alone = tce.bootstrap(tce.ContingencyTables.from_labels(true, own), ["v_measure"], 1000, rng=0)["v_measure"]
        row = found[name, "big"]
        assert [row["v_measure_low"], row["v_measure_high"]] == pytest.approx([float(alone.low), float(alone.high)])
        assert row["v_measure_of_classes"] == (name == "split")
    assert "intervals of v_measure for 'split' in 'big' draw classes, the others items" in result.err
