"""The start of every kernel: :func:`launch` runs Triton on CUDA, or equivalent torch operations elsewhere.

A kernel has a name, a function in ``KERNELS``, equivalent torch operations in ``REFERENCES`` and a small sample in
``SAMPLES``. All take the same tensors and numbers and write into tensors among them, so that the arguments of a launch
are the memory that it moves. The first use of a kernel on a device imports Triton and computes the sample. A kernel
that fails there, or differs from the torch operations, gives a warning, and the torch operations take its place on that
device. The environment variable ``TORCHCLUSTEVAL_KERNELS=0`` leaves all work to them.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.warn import warn

SWITCH = "TORCHCLUSTEVAL_KERNELS"
Arguments = tuple[list[Tensor | None], dict[str, Any]]

KERNELS: dict[str, Callable[..., Any]] = {}  # Triton; they return NotImplemented for arguments they cannot take
REFERENCES: dict[str, Callable[..., Any]] = {}
SAMPLES: dict[str, Callable[[torch.device], Arguments]] = {}  # each call makes new arguments

_right: dict[tuple[str, torch.device], bool] = {}  # the result of the first use on a device


def define(name: str, module: str, reference: Callable[..., Any], sample: Callable[[torch.device], Arguments]) -> None:
    """Register a kernel (the function ``start`` of a module that imports Triton), its reference and its sample."""

    def start(*tensors: Tensor | None, **numbers: Any) -> Any:
        with torch.cuda.device_of(tensors[0]):  # where Triton launches
            return import_module(module).start(*tensors, **numbers)

    KERNELS[name], REFERENCES[name], SAMPLES[name] = start, reference, sample


def launch(name: str, *tensors: Tensor | None, **numbers: Any) -> None:
    """Start the kernel of this name, or else its torch operations; results go into some of the tensors.

    Args:
        name: a key of ``KERNELS``.
        tensors: tensors of one device, or None, except for the first.
        numbers: all other arguments.
    """
    assert tensors[0] is not None
    if can_run(name, tensors[0]) and KERNELS[name](*tensors, **numbers) is not NotImplemented:
        return
    REFERENCES[name](*tensors, **numbers)


def can_run(name: str, x: Tensor) -> bool:
    """Whether a kernel runs on a tensor of this kind; the first use on a device waits for the device."""
    return x.device.type == "cuda" and type(x) is Tensor and is_right(name, x.device)


def is_right(name: str, device: torch.device) -> bool:
    """Whether kernels are switched on, and this one agrees with its torch operations on a device."""
    if torch.compiler.is_compiling() or not _has_triton() or os.environ.get(SWITCH) == "0":
        return False
    key = name, device
    if key not in _right:
        if torch.cuda.is_current_stream_capturing():  # no check is possible now; the next use makes it
            return False
        fault = find_fault(name, device)
        _right[key] = fault is None
        if fault is not None:
            warn(f"{name}: {fault} on {torch.cuda.get_device_name(device)}; torch operations replace it there")
    return _right[key]


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def find_fault(name: str, device: torch.device) -> str | None:
    """The fault of a kernel on a device, found by its sample, or None."""
    (tensors, numbers), (expected, _) = SAMPLES[name](device), SAMPLES[name](device)
    try:
        KERNELS[name](*tensors, **numbers)
        REFERENCES[name](*expected, **numbers)
        for x, y in zip(tensors, expected, strict=True):
            if x is not None and y is not None and not _equal(x, y):
                return "the kernel gives other numbers than torch"
    except Exception as error:  # such as a compiler or driver of another version
        return f"the kernel fails ({type(error).__name__}: {str(error).strip()[:200]})"
    return None


def _equal(x: Tensor, y: Tensor) -> bool:
    if not x.is_floating_point():
        return torch.equal(x, y)
    return torch.allclose(x, y, rtol=1e-12, atol=1e-12, equal_nan=True)
