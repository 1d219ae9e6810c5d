"""``score --overlapping`` and the overlapping measures in ``measures``."""

import json

import pytest

from torchclusteval.cli import main

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["truth.tsv"], "expected the truth and then at least one clustering"),
        (["truth.tsv", "absent.tsv"], "absent.tsv: no such file"),
        (["truth.tsv", "one.tsv", "--truth", "x"], "--truth: expected files of labels"),
        (["truth.tsv", "one.tsv", "--measures", "purity"], "got 'purity'"),
        (["truth.tsv", "one.tsv", "--sort", "ari"], "--sort: expected the name of a measure; got 'ari'"),
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
