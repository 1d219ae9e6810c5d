"""Fake ``cuda`` tensors, which have no data, on a build of torch without CUDA: what needs the host raises.

A tensor on the wrong device, ``.item()``, ``nonzero``, ``unique``, ``bincount`` and ``if tensor:`` are all caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchclusteval import MEASURES

ON_DEVICE = [name for name, measure in MEASURES.items() if not measure.on_host]


class FakeGenerator:
    """A generator of any device: a build without CUDA makes none of its own."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    def manual_seed(self, seed: int) -> FakeGenerator:
        assert isinstance(seed, int)
        return self

    def initial_seed(self) -> int:
        return 0

    def get_state(self) -> None:
        return None

    def set_state(self, state: None) -> None:
        assert state is None


def drawing(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of torch that draws numbers, for fake generators.

    Numbers drawn on the host are real ones: to read them is no synchronisation.
    """

    def draw(*args: Any, generator: FakeGenerator | None = None, device: Any = None, **kwargs: Any) -> Tensor:
        device = torch.device(device or "cpu")
        assert generator is None or generator.device.type == device.type
        if device.type == "cpu":
            with unset_fake_temporarily():
                return function(*args, **kwargs)
        return function(*args, device=device, **kwargs)

    return draw


def binomial(count: Tensor, prob: Tensor, generator: FakeGenerator | None = None) -> Tensor:
    """The shape alone: a build without CUDA refuses."""
    assert (count.shape, count.dtype, count.device) == (prob.shape, prob.dtype, prob.device)
    assert generator is None or generator.device.type == count.device.type
    return torch.empty_like(count)


def basic_index(x: Tensor, key: tuple[Any, ...]) -> Tensor:
    """Integers, slices, None and an ellipsis, without the device guard that a CPU-only build lacks."""
    missing = x.dim() - sum(k is not None and k is not Ellipsis for k in key)
    dim = 0
    for k in key:
        if k is Ellipsis:
            dim += missing
        elif k is None:
            x, dim = x.unsqueeze(dim), dim + 1
        elif isinstance(k, int):
            x = x.select(dim, k)
        else:
            x, dim = torch.ops.aten.slice(x, dim, *k.indices(x.shape[dim])), dim + 1
    return x


def is_basic(key: tuple[Any, ...]) -> bool:
    return all(k is None or k is Ellipsis or isinstance(k, int | slice) for k in key)


def index(x: Tensor, key: Any) -> Tensor:
    key = key if isinstance(key, tuple) else (key,)
    return basic_index(x, key) if is_basic(key) else torch.ops.aten.index.Tensor(x, list(key))


def assign(x: Tensor, key: Any, value: Any) -> None:
    key = key if isinstance(key, tuple) else (key,)
    if is_basic(key):
        part = basic_index(x, key)
        assert isinstance(value, Tensor)
        assert value.device == x.device
        torch.ops.aten.copy_(part, value.expand(part.shape))
    else:
        torch.ops.aten.index_put_(x, list(key), value)


class WithoutDeviceGuard(TorchFunctionMode):
    """Indexing, ``copy_``, ``contiguous`` and ``~`` raise on a CPU-only build, for no fault of the code."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.Tensor.copy_:
            return torch.ops.aten.copy_(*args, **(kwargs or {}))
        if func is torch.Tensor.contiguous:
            return args[0] if args[0].is_contiguous() else torch.empty(args[0].shape, **kind(args[0]))
        if func is torch.Tensor.__invert__:
            return torch.bitwise_not(*args)
        if func is torch.Tensor.__getitem__:
            return index(*args)
        if func is torch.Tensor.__setitem__:
            return assign(*args)
        if func is torch.Tensor.__int__ and not isinstance(args[0], FakeTensor):
            with unset_fake_temporarily():
                return func(*args)
        return func(*args, **(kwargs or {}))


def kind(x: Tensor) -> dict[str, Any]:
    return {"dtype": x.dtype, "device": x.device}


@contextmanager
def fake_cuda() -> Iterator[None]:
    stand_ins: dict[str, Any] = {name: drawing(getattr(torch, name)) for name in ("rand", "randint", "randperm")}
    stand_ins |= {"binomial": binomial, "Generator": FakeGenerator}
    with mock.patch.multiple(torch, **stand_ins), FakeTensorMode(), WithoutDeviceGuard():
        yield


class LargestResult(TorchDispatchMode):
    """The most bytes that an operation writes, other than views of the labels."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.labels, self.bytes = labels, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        size = made.untyped_storage().nbytes() if isinstance(made, Tensor) else 0
        self.bytes = max(self.bytes, 0 if size == self.labels else size)
        return made
