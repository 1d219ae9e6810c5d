"""What every test shares: one thread, repeatable examples, the devices at hand, commands run in this process."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import settings

from torchclusteval.cli import main

torch.set_num_threads(1)
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, print_blob=False)
settings.load_profile("repeatable")


DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Memory tests first: a later call could reuse heap that earlier tests leave behind, and its peak look lower."""
    items.sort(key=lambda item: item.get_closest_marker("memory") is None)


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
