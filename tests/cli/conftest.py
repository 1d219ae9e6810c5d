"""Commands run in the process of the tests."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from torchclusteval.cli import main


class Run:
    """What a command printed."""

    def __init__(self, out: str, err: str) -> None:
        self.out, self.err = out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        return {row["clustering"]: row for row in self.json["scores"]}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run a command that works."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str) -> Run:
        status = main(arguments)
        captured = capsys.readouterr()
        assert status == 0, captured.err
        return Run(captured.out, captured.err)

    return call


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that fails: its message, which takes the last line."""

    def call(*arguments: str) -> str:
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        last = err.splitlines()[-1]
        assert last.startswith("torchclusteval: error: ")
        return last.removeprefix("torchclusteval: error: ")

    return call
