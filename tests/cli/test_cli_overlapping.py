"""``score --overlapping`` and the overlapping measures in ``measures``."""

import json
from pathlib import Path

import pytest

from tests.support import GOLDEN_FOLDER
from torchclusteval.cli import main
from torchclusteval.overlap import OVERLAP_DEFAULT, OVERLAP_MEASURES, Memberships, evaluate_overlapping

pytestmark = pytest.mark.slow

REPORTED = [json.loads(line) for line in (GOLDEN_FOLDER / "reported_faults_overlap.jsonl").read_text().splitlines()]
FILES = [pytest.param(case, id=case["id"]) for case in REPORTED if "argv" in case]
VALUES = [pytest.param(case, id=case["id"]) for case in REPORTED if "measure" in case]

TRUTH = "a\t0\nb\t0\nb\t1\nc\t1\nd\t\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.tsv").write_text(TRUTH)
    (tmp_path / "same.json").write_text(json.dumps({"a": ["x"], "b": ["x", "y", "x"], "c": ["y"], "d": []}))
    (tmp_path / "one.tsv").write_text("a\tx\nb\tx\nc\tx\nd\tx\n")
    return tmp_path


def test_overlapping_files_are_scored(files, capsys):
    assert main(["score", "--overlapping", "truth.tsv", "one.tsv", "same.json", "--format", "json", "--top", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["clustering"] for row in found["scores"]] == ["same.json", "one.tsv"]
    assert found["n_items"] == 4
    best, other = found["scores"]
    assert best["extended_bcubed_f"] == best["omega_index"] == best["overlap_purity"] == 1
    assert other["overlap_purity"] == 0.5  # two of four items in the larger class, a tie of classes 0 and 1
    assert best["coverage"] == 0.75


def test_the_usual_measures_are_those_of_python(files, capsys):
    assert main(["score", "--overlapping", "truth.tsv", "one.tsv", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["scores"]
    assert tuple(row)[2:] == OVERLAP_DEFAULT  # after the name and coverage
    assert main(["score", "--overlapping", "truth.tsv", "one.tsv", "--measures", "all", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["scores"]
    assert tuple(row)[2:] == tuple(OVERLAP_MEASURES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["truth.tsv"], "expected the truth and then at least one clustering"),
        (["truth.tsv", "absent.tsv"], "absent.tsv: no such file"),
        (["truth.tsv", "one.tsv", "--truth", "x"], "--truth: expected files of labels"),
        (["truth.tsv", "one.tsv", "--missing", "ignore"], "--missing: expected files of labels"),
        (["truth.tsv", "one.tsv", "--join", "shared"], "--join: expected files of labels"),
        (["truth.tsv", "one.tsv", "--noise", "cluster"], "--noise: expected files of labels"),
        (["truth.tsv", "one.tsv", "--id", "x"], "--id: expected files of labels"),
        (["truth.tsv", "one.tsv", "--na-values", "x"], "--na-values: expected files of labels"),
        (["truth.tsv", "one.tsv", "--measures", "omega_index", "--seed", "1"], "--seed: expected --confidence"),
        (["truth.tsv", "one.tsv", "--overwrite"], "--overwrite: expected --output too"),
        (["truth.tsv", "one.tsv", "--measures", "purity"], "got 'purity'"),
        (["truth.tsv", "one.tsv", "--sort", "ari"], "--sort: expected the name of a measure; got 'ari'"),
        (
            ["truth.tsv", "one.tsv", "--layout", "rows"],
            "--layout: expected auto, item-group, item-groups, group-per-line",
        ),
        (["truth.tsv", "one.tsv", "--layout", "auto,auto,auto"], "once or for each file; got 3 for 2 files"),
        (["truth.tsv", "one.tsv", "--measures", "nope"], "measures: expected the name of a measure; got 'nope'"),
    ],
)
def test_wrong_use_is_one_line(files, capsys, arguments, message):
    assert main(["score", "--overlapping", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_measures_lists_and_explains_them(capsys):
    assert main(["measures"]) == 0
    assert "extended_bcubed_precision" in capsys.readouterr().out
    assert main(["measures", "overlap"]) == 0
    listed = capsys.readouterr().out
    assert "omega_index" in listed
    assert "adjusted_rand" not in listed
    assert main(["measures", "omega_index"]) == 0
    assert "evaluate_overlapping(true, pred, 'omega_index')" in capsys.readouterr().out


# reported faults --------------------------------------------------------------------------------------


def assert_value(found, case):
    assert found[case["measure"]] == pytest.approx(case["expected"], rel=0, abs=case["tolerance"])


def members(by_item):
    groups: dict[int, list[int]] = {}
    for item, names in enumerate(by_item):
        for name in names:
            groups.setdefault(name, []).append(item)
    return groups


@pytest.mark.parametrize("case", VALUES)
def test_reported_values(case):
    sides = [case[side] for side in ("labels_true", "labels_pred")]
    items = range(len(sides[0]))
    for made in (
        [Memberships.from_lists(side) for side in sides],
        [Memberships.from_groups(members(side), items=items) for side in sides],
        [Memberships.from_groups(list(members(side).values()), items=items) for side in sides],
        [list(map(set, members(side).values())) for side in sides],
        [dict(enumerate(side)) for side in sides],
    ):
        assert_value({name: float(value) for name, value in evaluate_overlapping(*made).items()}, case)


@pytest.mark.parametrize("layout", ["item-group", "item-groups", "group-per-line", "json", "cdlib"])
@pytest.mark.parametrize("choice", ["auto", "said", "named"])
@pytest.mark.parametrize("case", VALUES)
def test_reported_values_from_files(tmp_path, capsys, case, layout, choice):
    names = []
    for side in ("labels_true", "labels_pred"):
        by_item, groups = case[side], list(members(case[side]).values())
        text = {
            "item-group": "".join(f"{i}\t{name}\n" for i, own in enumerate(by_item) for name in own or [""]),
            "item-groups": "".join(f"{i}\t{' '.join(map(str, own))} \n" for i, own in enumerate(by_item)),
            "group-per-line": "".join("\t".join(map(str, group)) + "\n" for group in groups),
            "json": json.dumps(dict(enumerate(by_item))),
            "cdlib": json.dumps(
                {"communities": groups, "algorithm": "x", "params": {}, "overlap": True, "coverage": 1}
            ),
        }[layout]
        suffix = ".json" if layout in ("json", "cdlib") else ".cmty.txt" * (choice == "named" and layout[:5] == "group")
        names.append(tmp_path / f"{side}{suffix}")
        names[-1].write_text(text)
    said = ["--layout", layout] if choice == "said" and layout not in ("json", "cdlib") else []
    status = main(["score", "--overlapping", *map(str, names), "--format", "json", *said])
    printed = capsys.readouterr()
    if status == 2:
        assert (layout, choice) == ("group-per-line", "auto")
        assert all(f"--layout {name}" in printed.err for name in ("item-group", "item-groups", "group-per-line"))
        return
    assert status == 0
    assert_value(json.loads(printed.out)["scores"][0], case)


@pytest.mark.parametrize("case", FILES)
def test_reported_files(tmp_path, monkeypatch, capsys, case):
    monkeypatch.chdir(tmp_path)
    for name, text in case["files"].items():
        Path(name).write_text(text)
    status = main(case["argv"])
    printed = capsys.readouterr()
    if "values" in case["expect"]:
        assert status == 0
        (row,) = json.loads(printed.out)["scores"]
        assert {name: row[name] for name in case["expect"]["values"]} == pytest.approx(case["expect"]["values"])
    else:
        assert status == 2
        assert case["expect"]["error_or_note"] in printed.err
        assert "no item in common: '01', '02' ... against '1', '2' ..." in printed.err
        assert printed.err.count("\n") == 1


# layouts and headers ----------------------------------------------------------------------------------


def scored(capsys, *arguments):
    assert main(["score", "--overlapping", *arguments, "--format", "json"]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def test_headers_are_said_and_decided(files, capsys):
    (files / "h.tsv").write_text("item\tgroup\na\tx\nb\tx\nc\tx\nd\tx\n")
    expected, said = scored(capsys, "truth.tsv", "one.tsv")
    assert said == ""
    result, said = scored(capsys, "truth.tsv", "h.tsv")
    assert said == (
        "torchclusteval: note: h.tsv: the first line, 'item group', is taken for a header "
        "(--header no if it holds an item)\n"
    )
    assert result["n_items"] == expected["n_items"]
    assert result["scores"] == [{**expected["scores"][0], "clustering": "h.tsv"}]
    result, said = scored(capsys, "truth.tsv", "h.tsv", "--header", "no")
    assert (result["n_items"], said) == (5, "")
    result, said = scored(capsys, "h.tsv", "h.tsv", "--header", "yes")
    assert (result["n_items"], said) == (4, "")


def test_files_of_different_layouts(files, capsys):
    (files / "groups.txt").write_text("a\tb\nb\tc\n")
    expected, _ = scored(capsys, "truth.tsv", "same.json")
    result, said = scored(capsys, "truth.tsv", "groups.txt", "--layout", "item-group,group-per-line")
    assert result["scores"] == [{**expected["scores"][0], "clustering": "groups.txt"}]
    assert said == ""


def test_every_clustering_has_an_item_of_the_truth(files, capsys):
    (files / "other.tsv").write_text("A\tx\nB\tx\n")
    assert main(["score", "--overlapping", "truth.tsv", "one.tsv", "other.tsv"]) == 2
    assert capsys.readouterr().err == (
        "torchclusteval: error: other.tsv: expected items of truth.tsv, but no item is in both files; no item in "
        "common: 'a', 'b' ... against 'A', 'B' (names are compared letter by letter)\n"
    )


@pytest.mark.parametrize("option", [["--layout", "item-group"]])
def test_options_of_overlapping_files_need_them(files, capsys, option):
    assert main(["score", "truth.tsv", "one.tsv", *option]) == 2
    assert capsys.readouterr().err == (
        f"torchclusteval: error: {option[0]}: expected --overlapping too; got files of labels\n"
    )


@pytest.mark.parametrize(
    "content", [b"", b"\0\1\2", b"\xff\xfea\0", b'"a\tx\n', b"a\n", b"a\tx\nb\tx\ty\n", b"\x1f\x8b\0", None]
)
def test_bad_files_are_one_line(files, capsys, content):
    bad = files / "bad.tsv"
    if content is None:
        bad.mkdir()
    else:
        bad.write_bytes(content)
    assert main(["score", "--overlapping", "truth.tsv", "bad.tsv"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("torchclusteval: error: bad.tsv: ")
    assert error.count("\n") == 1


def test_help_says_the_layouts(capsys):
    with pytest.raises(SystemExit):
        main(["score", "--help"])
    text = capsys.readouterr().out
    for name in ("item-group ", "item-groups ", "group-per-line ", "community.dat", "SNAP", "CDlib", "--header"):
        assert name in text
