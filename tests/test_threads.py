"""Threads: torch's own see no work of the package, and any number of the package's own gives the same results."""

import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import torchclusteval as tce
from tests.support.device_cases import CASES, Place
from tests.support.processes import finish, start
from torchclusteval.common import threads
from torchclusteval.common.threads import on_one_thread, share, thread_count

MOST = (1 << 15) - 1  # numbers in an operation that torch does not divide among its threads


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_usable_cores", lambda: 8)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def in_new_thread(call: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def test_a_call_runs_torch_on_one_thread_and_nobody_else_sees_it() -> None:
    @on_one_thread
    def inside() -> tuple[int, int, int]:
        return torch.get_num_threads(), thread_count(), in_new_thread(torch.get_num_threads)

    assert inside() == (1, 4, 4)
    assert torch.get_num_threads() == 4
    assert in_new_thread(inside) == (1, 4, 4)


def test_the_number_of_threads_survives_errors_and_calls_within_calls() -> None:
    @on_one_thread
    def broken() -> None:
        on_one_thread(lambda: None)()
        assert torch.get_num_threads() == 1
        raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert torch.get_num_threads() == 4


@pytest.mark.skipif(sys.platform != "linux", reason="lists threads")
def test_a_call_starts_no_threads_of_mkl() -> None:
    code = """if True:
        import os, torch
        from torchclusteval.common.threads import on_one_thread
        torch.set_num_threads(4)
        x = on_one_thread(torch.ones)(300, 300, dtype=torch.float64)
        before = len(os.listdir("/proc/self/task"))
        for function in (torch.log, torch.exp, torch.sqrt, lambda x: x @ x):
            on_one_thread(function)(x)
        print(len(os.listdir("/proc/self/task")) - before)"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"


def test_every_item_is_taken_once_and_shares_are_not_shared_again() -> None:
    def work(items: Iterator[int]) -> tuple[list[int], int, int]:
        return list(items), torch.get_num_threads(), thread_count()

    taken, torchs, ours = zip(*share(work, range(100)), strict=True)
    assert sorted(x for items in taken for x in items) == list(range(100))
    assert (set(torchs), set(ours)) == ({1}, {1})
    assert len(taken) == 4
    assert thread_count() == 4
    assert share(work, range(2), 1)[0][0] == [0, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_fork_has_threads_of_its_own() -> None:
    all_four = threading.Barrier(4)
    share(lambda _: all_four.wait(), range(4), 4)
    time.sleep(0.2)  # until they wait for work
    child = multiprocessing.get_context("fork").Process(target=share, args=(list, range(4), 4))
    child.start()
    child.join(60)  # it would wait for the threads of its parent for ever
    assert child.exitcode == 0


def test_an_error_stops_the_other_threads() -> None:
    def work(items: Iterator[int]) -> None:
        for _ in items:
            raise MemoryError

    with pytest.raises(MemoryError):
        share(work, range(10**6))


def test_inference_mode_reaches_all_threads() -> None:
    with torch.inference_mode():
        assert all(share(lambda items: [torch.is_inference_mode_enabled() for _ in items] or [True], range(50)))


class LargeOperations(TorchDispatchMode):
    """Lists the operations on many numbers that torch may divide among its threads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sizes = [x.numel() for x in tree_leaves((args, kwargs, result)) if isinstance(x, torch.Tensor)]
        if torch.get_num_threads() > 1 and max(sizes, default=0) > self.most and not is_view(func):
            self.found.append(f"{func} of {max(sizes)}")
        return result

    most = MOST


def is_view(func: Any) -> bool:
    return any(x.alias_info is not None and not x.alias_info.is_write for x in func._schema.returns)


def labels(n: int, batch: int = 3, groups: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(groups, (n,), generator=generator)
    return true, torch.where(torch.rand(batch, n, generator=generator) < 0.5, true, true.flip(0))


def large_calls() -> dict[str, Any]:
    true, pred = labels(60_000)
    mask = pred > 2
    sparse = tce.ContingencyTables.from_labels(true * 60_000 + torch.arange(60_000) % 999, pred, layout="sparse")
    many = tce.ContingencyTables.from_labels(*labels(300, 60, 30))
    groups = tce.Memberships.from_labels(pred % 5)
    return {
        "evaluate": lambda: tce.evaluate(true, pred, "all"),
        "evaluate, options": lambda: tce.evaluate(true, pred, mask=mask, noise_label=7, weights=true),
        "evaluate_tables": lambda: tce.evaluate_tables(many, "all"),
        "evaluate_tables, sparse": lambda: tce.evaluate_tables(sparse, ("entropy", "pairs", "bcubed")),
        "each measure": lambda: [measure(many) for measure in tce.MEASURES.values()],
        "per_class": lambda: (tce.per_class(many), tce.per_cluster(sparse), tce.per_item(true, pred)),
        "selections": lambda: (sparse.to_dense().to_sparse(), sparse.mT, sparse[[0, 2]]),
        "bootstrap": lambda: tce.bootstrap(many, n_resamples=20),
        "permutation_test": lambda: tce.permutation_test(many, ("purity", "ami"), n_resamples=20),
        "pairwise": lambda: tce.pairwise(pred),
        "streaming": lambda: tce.ContingencyAccumulator(batch_shape=(3,)).update(true, pred).tables(),
        "overlap": lambda: tce.evaluate_overlapping(groups, groups, "extended_bcubed_f"),
    }


@pytest.mark.parametrize("name", large_calls())
def test_no_large_operation_is_left_to_the_threads_of_torch(name: str) -> None:
    call = large_calls()[name]
    with LargeOperations() as seen:
        call()
    assert seen.found == []


def test_the_list_of_large_operations_sees_one() -> None:
    x = torch.zeros(MOST + 1)
    with LargeOperations() as seen:
        x.view(2, -1)
        x + 1
    assert len(seen.found) == 1


STUDIES = ("meta.check_constraints", "meta.check_properties", "studies.nvi.run", "studies.kishida.run",
           "studies.constraints.run", "studies.overlap_cheat.run")  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
def test_studies_leave_nothing_to_the_threads_of_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their small cases, with a smaller limit: what is large in a full run is not small in these."""
    monkeypatch.setattr(LargeOperations, "most", 500)
    for case in CASES[name].values():
        with LargeOperations() as seen:
            case(Place("cpu"))
        assert seen.found == []


@pytest.mark.slow
def test_more_threads_than_cores_change_nothing() -> None:
    program = """
import torch, torchclusteval as tce
from torchclusteval.common import threads
generator = torch.Generator().manual_seed(0)
true = torch.randint(20, (300_000,), generator=generator)
pred = torch.randint(20, (20, 300_000), generator=generator)
def values():
    scores = tce.evaluate(true, pred, "all")
    pairs = tce.pairwise(pred[:, :2000], ("adjusted_rand", "ami"))
    return [*scores.values(), *pairs.values()]
torch.set_num_threads(1)
alone = values()
for cores in (2, 8):
    threads._usable_cores = lambda: cores
    torch.set_num_threads(8)
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(alone, values(), strict=True))
"""
    status, _, errors = finish(start("-c", program))
    assert status == 0, errors
