"""Budgets of operations, waits and bytes of calls on a CUDA device, counted on a simulated one."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.launches import CALLS, SIZES, Counts, count_call, counting, labels
from tests.support.tagged_cuda import ON_DEVICE, tagged_cuda
from torchclusteval.scoring import evaluation


class Budget(NamedTuple):
    operations: float = math.inf
    waits: int = 0
    after_wait: float = math.inf  # operations after the first wait


BUDGETS = {
    "headline without one-to-one": Budget(70),
    "headline": Budget(110, 1, 3),  # what the matching gives: its sum, and the ratio of this
    "headline, labels checked": Budget(110, 2),
    "adjusted_rand from tables": Budget(20),
    "ami from tables": Budget(30),
    "print": Budget(waits=1),
    "pairwise of 20": Budget(waits=3),
}
BYTES = {"counting": 1.3, "counting, labels checked": 2.3}  # as multiples of both inputs


@pytest.mark.parametrize("name", CALLS)
def test_budget(name: str) -> None:
    counts = count_call(name)
    budget = BUDGETS.get(name, Budget(waits=1 if "checked" in name else 0))
    assert counts.operations <= budget.operations, counts
    assert len(counts.waits) <= budget.waits, counts
    assert counts.after_wait <= budget.after_wait, counts
    assert counts.host.total() <= 60, counts
    assert counts.copies_to_device <= 2, counts
    if name in BYTES:
        assert counts.bytes <= BYTES[name] * 2 * 1000 * 10_000 * 8, counts


def test_every_budget_is_counted() -> None:
    assert BUDGETS.keys() | BYTES.keys() <= CALLS.keys()


@pytest.mark.parametrize("items", [100, 10_000])
def test_labels_out_of_range_are_refused_on_a_device(items: int) -> None:
    true, pred = torch.arange(items) % 10, (torch.arange(items) % 10).repeat(100, 1)
    pred[3, 7] = 10
    with counting(), pytest.raises(ValueError, match=r"expected codes 0..9, .* got 10 at position \(3, 7\)"):
        tce.evaluate(true.to("cuda"), pred.to("cuda"), **SIZES)


def test_what_needs_no_host_can_be_captured_in_a_graph() -> None:
    """No read on the host, no copy between host and device, no result whose size depends on values."""
    true, pred = labels(30)
    with counting():
        true, pred = true.to("cuda"), pred.to("cuda")
    with counting() as counts:
        tables = tce.ContingencyTables.from_labels(true, pred, num_classes=10, num_clusters=10, validate=False)
        tce.evaluate_tables(tables, ON_DEVICE)
    assert counts.launches.keys() == {"count", "sums", "expected", "ratio"}
    assert (counts.waits, counts.copies_to_device, counts.host.total()) == ([], 0, 0)
    with tagged_cuda(waits=False):
        scores = tce.evaluate(true, pred, ON_DEVICE, num_classes=10, num_clusters=10, validate=False)
        assert {x.device.type for x in scores.values()} == {"cuda"}


PLANTED: dict[str, tuple[Callable[[Tensor], Any], Callable[[Counts], bool]]] = {
    "operations": (lambda x: (x + 1) * 2, lambda counts: counts.operations == 2),
    "a view": (lambda x: x[:, :1].unsqueeze(0).expand(3, -1, -1), lambda counts: counts.operations == 0),
    "a number": (lambda x: x.sum().item(), lambda counts: counts.waits == ["item"]),
    "a copy to the host": (lambda x: x.cpu() + 1, lambda counts: (counts.waits, counts.host.total()) == (["cpu"], 1)),
    "a branch": (lambda x: bool((x > 0).all()), lambda counts: counts.waits == ["__bool__"]),
    "places": (lambda x: x.nonzero(), lambda counts: counts.waits == ["nonzero"]),
    "a mask": (lambda x: x[x > 0], lambda counts: counts.waits == ["__getitem__"]),
    "a copy to the device": (lambda x: torch.arange(3).to("cuda"), lambda counts: counts.copies_to_device == 1),
    "numbers to the device": (lambda x: torch.tensor([1], device="cuda"), lambda counts: counts.copies_to_device == 1),
    "bytes": (lambda x: x.expand(9, 2, 3) + 1, lambda counts: counts.bytes == 8 * (6 + 54)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_counted(planted: str) -> None:
    call, is_counted = PLANTED[planted]
    with counting():
        x = torch.arange(6).view(2, 3).to("cuda")
    with counting() as counts:
        call(x)
    assert is_counted(counts), counts


def test_chunks_on_a_device_follow_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    class Card:
        total_memory = 2**37

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Card)
    assert evaluation._chunk_cells(torch.device("cuda", 0)) == 2**27
    Card.total_memory = 2**30
    assert evaluation._chunk_cells(torch.device("cuda", 0)) == evaluation._DEVICE_CHUNK_CELLS
    assert evaluation._chunk_cells(torch.device("cpu")) == evaluation._CPU_CHUNK_CELLS
