"""The study runner: the same bytes whatever the order, the interruptions and the number of processes."""

import csv
import json
import multiprocessing
import os
import signal
import socket
import time
from dataclasses import replace
from functools import partial

import pytest
import torch

from torchclusteval.studies.runner import Plan, rank, run_plan

# Each child is a fresh process; the server has imported torch once for all of them.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "torchclusteval.studies.runner"])


def normal_block(configuration, n_sets, generator, delay=0.0):
    time.sleep(delay)
    return configuration["scale"] * torch.randn(n_sets, 2, generator=generator, dtype=torch.float64)


PLAN = Plan("toy", {"k": 1}, [{"scale": 1}, {"scale": 2}], ("a", "b"), normal_block, 3)
ITERATIONS = 20
BLOCKS = 2 * 7


def job(output, delay, environment, answers):
    """What a process of a run does; rank and result go to the queue."""
    os.environ.update(environment)
    torch.set_num_threads(1)
    plan = replace(PLAN, block=partial(normal_block, delay=delay))
    run = run_plan(plan, iterations=ITERATIONS, seed=7, output=output)
    answers.put((rank(), run.rows))


def start(output, delay=0.0, **environment):
    answers = SERVER.SimpleQueue()
    process = SERVER.Process(target=job, args=(output, delay, environment, answers))
    process.start()
    return process, answers


def start_ranks(output, ranks):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
    return [start(output, RANK=str(r), LOCAL_RANK=str(r), **shared) for r in range(ranks)]


def finish(started):
    for process, _ in started:
        process.join(120)
        assert process.exitcode == 0
    return [answers.get() for _, answers in started]


def kill_after(output, count):
    """SIGKILL a run once it has finished some blocks; how many it had."""
    folder = output.with_name(output.name + ".partial")
    process, _ = start(output, delay=0.1)
    deadline = time.monotonic() + 60
    while len(list(folder.glob("[0-9]*.npy"))) < count:
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    done = len(list(folder.glob("[0-9]*.npy")))
    assert count <= done < BLOCKS
    assert not output.exists()
    return done


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    output = tmp_path_factory.mktemp("unbroken") / "run.csv"
    finish([start(output)])
    return output.read_bytes()


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_write_the_same_file_as_one_process(tmp_path, unbroken, ranks):
    answers = finish(start_ranks(tmp_path / "run.csv", ranks))
    assert (tmp_path / "run.csv").read_bytes() == unbroken
    assert json.loads((tmp_path / "run.json").read_text())["processes"] == ranks
    # Every rank has the whole result.
    assert [number for number, _ in answers] == list(range(ranks))
    assert all(rows == answers[0][1] for _, rows in answers)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_killed_run_continues_to_the_same_bytes(tmp_path, unbroken, ranks):
    output = tmp_path / "run.csv"
    done = kill_after(output, 4)
    finish(start_ranks(output, ranks) if ranks > 1 else [start(output)])
    assert output.read_bytes() == unbroken
    assert json.loads((tmp_path / "run.json").read_text())["resumed_blocks"] == done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.csv", "run.json"]


class InterruptedRunError(Exception):
    pass


def interrupt(plan, output, after, **options):
    """Run until ``after`` blocks are done."""
    left = iter(range(after))

    def block(*arguments):
        if next(left, None) is None:
            raise InterruptedRunError
        return plan.block(*arguments)

    with pytest.raises(InterruptedRunError):
        run_plan(replace(plan, block=block), output=output, **options)


def test_records_are_in_order_and_the_last_block_is_short():
    run = run_plan(PLAN, iterations=8, seed=1)
    assert run.records.shape == (2, 8, 2)
    # The first blocks do not depend on how many follow.
    assert torch.equal(run_plan(PLAN, iterations=6, seed=1).records, run.records[:, :6])


def test_a_configuration_depends_on_its_own_values_and_the_seed():
    both = run_plan(PLAN, iterations=6, seed=1).records
    turned = run_plan(replace(PLAN, configurations=PLAN.configurations[::-1]), iterations=6, seed=1).records
    assert torch.equal(both, turned.flip(0))
    assert not torch.equal(both[0] * 2, both[1])
    assert not torch.equal(both[:, :3], both[:, 3:])
    assert not torch.equal(both, run_plan(PLAN, iterations=6, seed=0).records)


def test_the_global_random_state_plays_no_part():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first = run_plan(PLAN, iterations=4).records
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    assert torch.equal(run_plan(PLAN, iterations=4).records, first)


def test_files(tmp_path):
    run = run_plan(PLAN, iterations=4, seed=9, output=tmp_path / "toy.csv")
    with (tmp_path / "toy.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [float(row["mean"]) for row in found] == [row["mean"] for row in run.rows]
    assert [row["mean"] for row in run.rows] == pytest.approx(run.records.mean(1).flatten().tolist())
    facts = json.loads((tmp_path / "toy.json").read_text())
    assert facts["settings"] == {"k": 1}
    assert (facts["study"], facts["seed"], facts["iterations"]) == ("toy", 9, 4)
    assert facts["torch"] == torch.__version__
    assert facts["seconds"] >= 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.csv", "toy.json"]


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        ({"settings": {"k": 2}}, {}, "settings"),
        ({"columns": ("a", "c")}, {}, "columns"),
        ({"block_size": 4}, {}, "block_size"),
        ({}, {"iterations": 9}, "iterations"),
        ({}, {"seed": 1}, "seed"),
    ],
)
def test_other_settings_do_not_resume(tmp_path, change, options, named):
    output = tmp_path / "toy.csv"
    interrupt(PLAN, output, after=2, iterations=8)
    with pytest.raises(ValueError, match=named):
        run_plan(replace(PLAN, **change), output=output, **{"iterations": 8, **options})
    # The unfinished run is left as it was.
    assert run_plan(PLAN, iterations=8, output=output).resumed == 2


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"iterations": 0}, "iterations"),
        ({"seed": -1}, "seed"),
        ({"output": "toy.json"}, "output"),
        ({"output": "no/such/folder/toy.csv"}, "output"),
    ],
)
def test_wrong_arguments_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        run_plan(PLAN, **{"iterations": 4, **options})
