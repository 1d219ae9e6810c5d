"""The progress bar, with tqdm and without."""

import io
import sys

import pytest

from torchclusteval.common import progress


@pytest.mark.parametrize("tqdm", [True, False])
def test_progress_shows_on_terminals_only(monkeypatch: pytest.MonkeyPatch, tqdm: bool) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", 0)
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    for terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.progress_bar("bootstrap") as advance:
            assert (advance is not None) == terminal
            if advance is not None:
                advance(3, 12)
                advance(12, 12)
        assert ("bootstrap" in stream.getvalue()) == terminal
        assert ("%" in stream.getvalue()) == terminal
        assert "it/s" not in stream.getvalue()  # of bytes


def test_progress_can_be_forced_or_forbidden(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False):
        with progress.progress_bar("blocks", shown) as advance:
            assert (advance is not None) == shown
            if advance is not None:
                advance(4, 4)
        assert ("blocks" in capsys.readouterr().err) == shown
