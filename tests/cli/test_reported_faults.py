"""Files of public reports, with the right scores; an error or a note where a report says that it is right too."""

import json
from pathlib import Path
from typing import Any

import pytest

from torchclusteval.cli import main

GOLDEN = Path(__file__).parent.parent / "golden" / "reported_faults_cli.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda x: x["id"])
def test_reports(case: dict[str, Any], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in case["files"].items():
        Path(name).write_text(text)
    status, expected = main(case["argv"]), case["expect"]
    out, err = capsys.readouterr()
    if status == 2:
        assert "or_error" in expected or "error_or_note" in expected
        assert err.startswith("torchclusteval: error: ")
        assert err.count("\n") == 1
        assert expected.get("error_or_note", "") in err
        assert "quote" not in err
        if case["kind"] == "label-spelt-like-missing":
            assert "--missing label" in err
        return
    found = json.loads(out)
    if case["argv"][0] == "compare":
        assert found["values"] == [[1.0, 1.0], [1.0, 1.0]]
        return
    (scores,) = found["scores"]
    right = all(scores[name] == pytest.approx(value, abs=1e-9) for name, value in expected["values"].items())
    assert right or ("or_note" in expected and "taken as the header" in err)
