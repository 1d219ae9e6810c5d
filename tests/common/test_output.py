"""Files that are replaced as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchclusteval.common.output import replacing


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as unfinished:
        assert unfinished.suffix == ".csv"
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_survives_an_error(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("old")

    def stopped_half_way() -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_half_way()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_lead_to_their_file_and_pipes_are_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    code = (
        "from torchclusteval.common.output import replacing\nwith replacing('/dev/stdout') as x: x.write_text('said')"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert run.stdout == "said"
    with pytest.raises(OSError, match="nowhere") as error, replacing(tmp_path / "nowhere" / "x.txt") as unfinished:
        unfinished.write_text("new")
    assert error.value.filename == str(tmp_path / "nowhere" / "x.txt")
