"""Ranks that end, stall or raise: the others end too, in one line that says which rank it was. And sums that go on."""

import time
from pathlib import Path

import pytest

from tests.support.processes import finish, start_group

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

SCRIPT = """
import datetime, os, sys, time
import torch
import torch.distributed as dist
import torchclusteval as tce

how, rank = sys.argv[1], int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
accumulator = tce.ContingencyAccumulator().update([0, 1, 1], [0, rank, 1]).all_reduce()
if rank == 1:
    if how == "ends":
        os._exit(9)
    if how == "stalls":
        time.sleep(25)
def chunks():
    yield [0, 1], [0, 1]
    if rank == 1 and how == "raises":
        raise OSError("the disk is gone")
try:
    if how == "raises":
        tce.evaluate_stream(chunks(), "ari", group=dist.group.WORLD)
    else:
        accumulator.update([0], [0]).all_reduce()
except (OSError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")
    os._exit(3)
"""


@pytest.mark.parametrize("how", ["ends", "stalls", "raises"])
def test_the_other_ranks_end_and_say_which(how: str, tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(SCRIPT)
    first, lost, last = (finish(process) for process in start_group(3, str(script), how))
    for status, output, errors in (first, last):
        assert status == 3, errors
        assert "rank 1" in output
        assert len(output.splitlines()) == 1
        assert ("rank 1 raised OSError: the disk is gone" if how == "raises" else "start all ranks again") in output
    if how == "raises":
        assert lost[1] == "OSError: the disk is gone\n"


def test_a_command_without_its_other_rank_ends(tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("class,run\na,0\nb,1\n")
    arguments = ("-m", "torchclusteval", "--timeout", "1", "score", str(table), "--truth", "class")
    started = time.monotonic()
    first, other = start_group(2, *arguments)
    other.kill()
    status, output, errors = finish(first)
    finish(other)
    assert (status, output) == (2, "")
    assert "error: group: expected" in errors.splitlines()[-1]
    assert time.monotonic() - started < 300


GOING_ON = """
import os, sys
import torch
import torch.distributed as dist
import torchclusteval as tce

folder, holders, rank = sys.argv[1], sys.argv[2], int(os.environ["RANK"])
dist.init_process_group("gloo")
accumulator = tce.ContingencyAccumulator()
if holders == "save":
    accumulator.update([rank, 7], [0, rank]).all_reduce()
    torch.save(accumulator.state_dict(), f"{folder}/state.pt")
else:
    if holders == "all" or rank == 1:
        accumulator.load_state_dict(torch.load(f"{folder}/state.pt", weights_only=True))
    accumulator.update([rank], [9])
    scores = accumulator.scores("rand", group=dist.group.WORLD)
    assert int(scores.n_items) == 7
    tables = accumulator.all_reduce().all_reduce().tables()
    assert torch.equal(tce.evaluate_tables(tables, "rand")["rand"], scores["rand"])
    print(tables.classes.tolist(), tables.clusters.tolist(), tables.to_dense().counts.tolist())
dist.barrier()
"""


def test_a_sum_goes_on_with_more_ranks(tmp_path: Path) -> None:
    """Two ranks sum and save; three load the sum, or one of them does, and it counts once."""
    script = tmp_path / "rank.py"
    script.write_text(GOING_ON)
    for process in start_group(2, str(script), str(tmp_path), "save"):
        assert finish(process)[0] == 0
    # (0, 0), (7, 0) of rank 0 and (1, 0), (7, 1) of rank 1; then (0, 9), (1, 9) and (2, 9)
    expected = "[0, 1, 2, 7] [0, 1, 9] [[1, 0, 1], [1, 0, 1], [0, 0, 1], [1, 1, 0]]\n"
    for holders in ("all", "one"):
        for process in start_group(3, str(script), str(tmp_path), holders):
            status, output, errors = finish(process)
            assert (status, output) == (0, expected), errors


def test_states_that_differ_are_refused(tmp_path: Path) -> None:
    """Two sums were loaded, and neither rank can know which one is meant."""
    script = tmp_path / "rank.py"
    script.write_text(
        GOING_ON.replace('"save"', '"both"').replace("state.pt", "{rank}.pt").split("else:")[0]
        + "fresh = tce.ContingencyAccumulator()\nstate = accumulator.state_dict()\n"
        + "if rank:\n    accumulator.reset().update([1], [1])\n"
        + "    state['reduced']['state'] = accumulator.state_dict()\n"
        + "    state['reduced']['state'].pop('names'), state['reduced']['state'].pop('settings')\n"
        + "fresh.load_state_dict(state)\ntry:\n    fresh.all_reduce()\nexcept ValueError as error:\n    print(error)\n"
        + "dist.barrier()\ndist.destroy_process_group()\n"
    )
    for process in start_group(2, str(script), str(tmp_path), "both"):
        status, output, errors = finish(process)
        assert status == 0, errors
        expected = "group: expected the same loaded sum on all ranks that have one; got others on ranks 0, 1"
        assert output.startswith(expected)
