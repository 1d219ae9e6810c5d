"""``score-overlapping`` and the overlapping measures in ``measures``."""

import json

import pytest

from tests.support import GOLDEN_FOLDER
from torchclusteval.cli import main
from torchclusteval.overlap import OVERLAP_DEFAULT, OVERLAP_MEASURES, Memberships, evaluate_overlapping

pytestmark = pytest.mark.slow

REPORTED = [json.loads(line) for line in (GOLDEN_FOLDER / "reported_faults_overlap.jsonl").read_text().splitlines()]
VALUES = [pytest.param(case, id=case["id"]) for case in REPORTED if "measure" in case]

TRUTH = "a\t0\nb\t0\nb\t1\nc\t1\nd\t\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.tsv").write_text(TRUTH)
    (tmp_path / "same.json").write_text(json.dumps({"a": ["x"], "b": ["x", "y", "x"], "c": ["y"], "d": []}))
    (tmp_path / "one.tsv").write_text("a\tx\nb\tx\nc\tx\nd\tx\n")
    return tmp_path


def test_overlapping_files_are_scored(files, run):
    found = run("score-overlapping", "truth.tsv", "one.tsv", "same.json", "--format", "json", "--top", "2").json
    assert [row["clustering"] for row in found["scores"]] == ["same.json", "one.tsv"]
    assert found["n_items"] == 4
    best, other = found["scores"]
    assert best["extended_bcubed_f"] == best["omega_index"] == best["overlap_purity"] == 1
    assert other["overlap_purity"] == 0.5  # two of four items in the larger class, a tie of classes 0 and 1
    assert best["coverage"] == 0.75


def test_the_usual_measures_are_those_of_python(files, run):
    for more, names in (([], OVERLAP_DEFAULT), (["--measures", "all"], OVERLAP_MEASURES)):
        (row,) = run("score-overlapping", "truth.tsv", "one.tsv", *more, "--format", "json").json["scores"]
        assert tuple(row)[2:] == tuple(names)  # after the name and coverage


def test_a_picture(files, run):
    found = run("score-overlapping", "truth.tsv", "one.tsv", "same.json", "--plot", "x.svg")
    assert "the picture shows extended_bcubed_precision" in found.err
    assert (files / "x.svg").read_text().endswith("</svg>\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["truth.tsv"], "expected the truth and then at least one clustering"),
        (["truth.tsv", "one.tsv", "--truth", "x"], "unrecognized arguments: --truth x (an option of score, difference"),
        (["truth.tsv", "one.tsv", "--measures", "purity"], "got 'purity'"),
        (["truth.tsv", "one.tsv", "--sort", "ari"], "--sort: expected the name of a measure; got 'ari'"),
        (["truth.tsv", "one.tsv", "--layout", "rows"], "--layout: expected auto, item-group, item-groups, group-per"),
        (["truth.tsv", "one.tsv", "--layout", "auto,auto,auto"], "once or for each file; got 3 for 2 files"),
        (["truth.tsv", "one.tsv", "--measures", "nope"], "measures: expected the name of a measure; got 'nope'"),
    ],
)
def test_wrong_use_is_one_line(files, error, arguments, message):
    assert message in error("score-overlapping", *arguments)


@pytest.mark.parametrize(
    ("names", "command"),
    [
        (["truth.tsv", "one.tsv"], "score-overlapping"),
        (["same.json", "same.json"], "score-overlapping"),
        (["lfr.dat", "lfr.dat"], "score-overlapping"),
        (["snap.txt", "snap.txt"], "score-overlapping"),
        (["key.conll", "x.v4_gold_conll"], "score-coreference"),
    ],
)
def test_score_names_the_right_command(files, error, names, command):
    (files / "lfr.dat").write_text("1\t1 2\n2\t1\n3\t2\n")
    (files / "snap.txt").write_text("a\tb\tc\nb\td\n")
    assert command in error("score", *names)


def test_measures_lists_and_explains_them(run):
    assert "extended_bcubed_precision" in run("measures").out
    listed = run("measures", "overlap").out
    assert "omega_index" in listed
    assert "adjusted_rand" not in listed
    assert "evaluate_overlapping(true, pred, 'omega_index')" in run("measures", "omega_index").out


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
            "cdlib": json.dumps({"communities": groups, "algorithm": "", "params": {}, "overlap": True, "coverage": 1}),
        }[layout]
        suffix = ".json" if layout in ("json", "cdlib") else ".cmty.txt" * (choice == "named" and layout[:5] == "group")
        names.append(tmp_path / f"{side}{suffix}")
        names[-1].write_text(text)
    said = ["--layout", layout] if choice == "said" and layout not in ("json", "cdlib") else []
    status = main(["score-overlapping", *map(str, names), "--format", "json", *said])
    printed = capsys.readouterr()
    if status == 2:
        assert (layout, choice) == ("group-per-line", "auto")
        assert all(f"--layout {name}" in printed.err for name in ("item-group", "item-groups", "group-per-line"))
        return
    assert status == 0
    assert_value(json.loads(printed.out)["scores"][0], case)


def scored(run, *arguments):
    found = run("score-overlapping", *arguments, "--format", "json")
    return found.json, found.err


def test_headers_are_said_and_decided(files, run):
    (files / "h.tsv").write_text("item\tgroup\na\tx\nb\tx\nc\tx\nd\tx\n")
    expected, _ = scored(run, "truth.tsv", "one.tsv")
    result, said = scored(run, "truth.tsv", "h.tsv")
    assert "h.tsv: the first line, 'item group', is taken for a header (--header no if it holds an item)" in said
    assert result["scores"] == [{**expected["scores"][0], "clustering": "h.tsv"}]
    for header, n_items in (("no", 5), ("yes", 4)):
        sides = ("truth.tsv", "h.tsv") if header == "no" else ("h.tsv", "h.tsv")
        result, said = scored(run, *sides, "--header", header)
        assert (result["n_items"], said) == (n_items, "")


def test_files_of_different_layouts(files, run):
    (files / "groups.txt").write_text("a\tb\nb\tc\n")
    expected, _ = scored(run, "truth.tsv", "same.json")
    result, said = scored(run, "truth.tsv", "groups.txt", "--layout", "item-group,group-per-line")
    assert result["scores"] == [{**expected["scores"][0], "clustering": "groups.txt"}]
    assert said == ""


def test_every_clustering_has_an_item_of_the_truth(files, error):
    (files / "other.tsv").write_text("A\tx\nB\tx\n")
    assert error("score-overlapping", "truth.tsv", "one.tsv", "other.tsv") == (
        "other.tsv: expected items of truth.tsv; got others, no item is in both: 'a', 'b' ... "
        "against 'A', 'B' (names must agree in every letter)"
    )


def test_numbers_that_are_written_in_two_ways_are_noted(files, run):
    (files / "truth.tsv").write_text("1\ta\n2\ta\n03\tb\nx\tb\n")
    (files / "one.tsv").write_text("01\ta\n2\ta\n3\tb\ny\tb\n")
    _, said = scored(run, "truth.tsv", "one.tsv")
    assert "note: 2 items count twice, as their names differ: '1' in truth.tsv and '01' in" in said
    _, said = scored(run, "truth.tsv", "truth.tsv")
    assert said == ""
