"""The progress bar."""

import io
import sys

import pytest

from torchclusteval.common import progress


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("shown", [True, False, None])
def test_progress_is_a_bar_on_terminals_and_lines_elsewhere(
    shown: bool | None, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_OF_A_LINE", 0)
    monkeypatch.setattr(progress, "_SECONDS_OF_A_BAR", 0)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("bootstrap", shown) as advance:
        assert (advance is None) == (shown is False)
        if advance is not None:
            advance(3, 12)
            advance(12, 12)
    text = stream.getvalue()
    assert ("bootstrap" in text) == (shown is not False)
    assert ("12/12" in text) == (shown or (shown is None and not terminal))  # a bar on a terminal is wiped out
    assert "it/s" not in text  # of bytes
    if shown is None:
        assert ("3/12 00:00, 00:00 left\n" in text) == (not terminal)
        assert ("|" in text) == terminal


def test_short_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar("blocks") as advance:
        assert advance is not None
        advance(4, 4)
    assert capsys.readouterr().err == ""


def test_without_tqdm_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.progress_bar("blocks", True) as advance:
        assert advance is None
