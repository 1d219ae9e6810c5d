"""How kernels are chosen: the first use on a device, the environment variable, and what cannot run them."""

from typing import Any

import pytest
import torch
from torch import Tensor

from torchclusteval.common import kernels

DEVICE = torch.device("cuda", 0)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel that doubles, on a device with Triton whose tensors are the host's; what ran, in order."""
    ran: list[str] = []

    def start(out: Tensor, x: Tensor, *, by: int) -> None:
        ran.append("kernel")
        out.copy_(x * by)

    def reference(out: Tensor, x: Tensor, *, by: int) -> None:
        ran.append("torch")
        out.copy_(x * by)

    monkeypatch.setitem(kernels.KERNELS, "scale", start)
    monkeypatch.setitem(kernels.REFERENCES, "scale", reference)
    monkeypatch.setitem(kernels.SAMPLES, "scale", lambda _: ([torch.zeros(3), torch.arange(3.0)], {"by": 2}))
    monkeypatch.setattr(kernels, "_right", {})
    monkeypatch.setattr(kernels, "_has_triton", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA T1")
    return ran


def can_run() -> bool:
    return kernels.is_right("scale", DEVICE)


def test_the_first_use_on_a_device_checks_the_kernel(device: list[str]) -> None:
    assert can_run()
    assert device == ["kernel", "torch"]
    assert can_run()
    assert len(device) == 2


@pytest.mark.parametrize("fault", ["numbers", "error"])
def test_a_fault_warns_once_and_names_the_device(
    fault: str, device: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(out: Tensor, x: Tensor, *, by: int) -> None:
        if fault == "error":
            raise RuntimeError("no compiler found")
        out.copy_(x * by + 1)

    monkeypatch.setitem(kernels.KERNELS, "scale", wrong)
    said = {"numbers": "gives other numbers than torch", "error": r"fails \(RuntimeError: no compiler found\)"}[fault]
    with pytest.warns(
        UserWarning, match=rf"^scale: the kernel {said} on NVIDIA T1; torch operations replace it there$"
    ):
        assert not can_run()
    assert not can_run()


def test_a_captured_graph_makes_no_check(device: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert not can_run()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert can_run()


def test_the_switch_and_missing_triton(device: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.SWITCH, "0")
    assert not can_run()
    monkeypatch.setenv(kernels.SWITCH, "1")
    assert can_run()
    monkeypatch.setattr(kernels, "_has_triton", lambda: False)
    assert not can_run()


@pytest.mark.parametrize("answer", ["no kernel here", "not these arguments", "kernel"])
def test_launch(answer: str, device: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch operations do what the kernel cannot."""
    monkeypatch.setattr(kernels, "can_run", lambda name, x: answer != "no kernel here")
    if answer == "not these arguments":
        monkeypatch.setitem(kernels.KERNELS, "scale", lambda *tensors, **numbers: NotImplemented)
    out = torch.zeros(2)
    kernels.launch("scale", out, torch.ones(2), by=3)
    assert out.tolist() == [3, 3]
    assert device == ["kernel" if answer == "kernel" else "torch"]


def test_tensors_of_the_host_and_of_other_kinds_run_no_kernel(device: list[str]) -> None:
    class Tagged(Tensor):
        pass

    for x in (torch.zeros(2), torch.zeros(2).as_subclass(Tagged), torch.zeros(2, device="meta")):
        assert not kernels.can_run("scale", x)
    assert device == []


def test_tables_are_complete() -> None:
    import torchclusteval.scoring.evaluation  # noqa: F401 - which loads all that define kernels

    names: list[Any] = [set(table) for table in (kernels.KERNELS, kernels.REFERENCES, kernels.SAMPLES)]
    assert names == [{"count", "sums", "expected", "ratio"}] * 3
