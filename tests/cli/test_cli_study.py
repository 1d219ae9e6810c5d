"""The command ``study``: every study writes its rows and what they depend on."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import torchclusteval
from torchclusteval.cli import main
from torchclusteval.studies import STUDIES, runner

QUICK = {"nvi": 2, "constraints": 20, "cheat": 2}  # iterations


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STUDIES.keys() - {"kishida", "properties"}))  # which take some seconds
def test_rows_are_written_with_their_settings(name: str, tmp_path: Path, run: Any) -> None:
    given, picture = ["--iterations", str(QUICK[name])] if name in QUICK else [], tmp_path / "figures.png"
    assert run("study", name, *given, "--output", str(tmp_path / "found.csv"), "--plot", str(picture)).out
    assert picture.read_bytes().startswith(b"\x89PNG")
    module = STUDIES[name].load()
    rows = module.rows(module.run(**({"iterations": QUICK[name]} if given else {})))
    assert len({tuple(row) for row in rows}) == 1  # the same columns in every row
    with (tmp_path / "found.csv").open(newline="", encoding="utf-8") as stream:
        shown = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        assert list(csv.DictReader(stream)) == shown
    facts = json.loads((tmp_path / "found.json").read_text())
    assert (facts["study"], facts["torchclusteval"]) == (name, torchclusteval.__version__)
    assert facts["seconds"] >= 0
    if given:
        assert {**facts, **facts["settings"]}["iterations"] == QUICK[name]


@pytest.mark.parametrize("name", ["cheat", "nvi"])
def test_a_file_that_cannot_be_written_is_refused_first(name: str, tmp_path: Path, error: Any) -> None:
    for output in ("found.txt", str(tmp_path / "none" / "found.csv")):
        assert "output: expected" in error("study", name, "--output", output)


def test_a_result_is_not_lost(tmp_path: Path, run: Any, error: Any) -> None:
    output = tmp_path / "k.csv"
    asked = ["study", "cheat", "--iterations", "2", "--output", str(output)]
    for taken in (output, output.with_suffix(".json")):
        taken.write_text("mine")
        assert f"--output: expected a new file; got '{taken}', which exists (--overwrite" in error(*asked)
        assert taken.read_text() == "mine"
        run(*asked, "--overwrite")
        assert all(file.read_text() != "mine" for file in (output, output.with_suffix(".json")))
        output.unlink()
        output.with_suffix(".json").unlink()


def test_an_interrupted_run_goes_on_over_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What began with --overwrite need not repeat it."""
    output = tmp_path / "k.csv"
    run = ["study", "nvi", "--iterations", "2", "--output", str(output)]
    assert main(run) == 0
    expected = output.read_text()
    output.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(runner, "write_result", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main([*run, "--overwrite"]) != 0
    assert output.read_text() == "old"
    assert main(run) == 0
    assert output.read_text() == expected
