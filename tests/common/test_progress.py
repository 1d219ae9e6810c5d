"""The line of progress."""

import io
import sys

import pytest

from torchclusteval.common import progress


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("shown", [True, False, None])
def test_progress_shows_on_terminals_unless_it_is_forced(
    shown: bool | None, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", -1)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("bootstrap", shown) as advance:
        assert (advance is not None) == (terminal if shown is None else shown)
        if advance is not None:
            advance(3, 12)
            advance(12, 12)
    text = stream.getvalue()
    assert ("bootstrap: 25 % (0 s, 0 s left)" in text) == ("bootstrap: 100 % (0 s" in text) == (advance is not None)
    assert text.endswith("\n") == bool(shown)  # else it is wiped out
