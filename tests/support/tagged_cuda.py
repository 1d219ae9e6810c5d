"""Tensors that say they are on a CUDA device and whose data are on the CPU, on a build of torch without CUDA.

Unlike fake tensors they have values, so every route can be taken with them, those that wait for the device too, and the
results can be compared with those of the CPU. What mixes both devices in one operation raises, as torch does, and so
does an assignment from one device to the other, which torch would copy without a word. With ``waits=False`` so does
whatever makes the host wait for the device: ``.item()``, ``nonzero``, ``unique``, ``bincount``, ``if tensor:``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchclusteval import MEASURES

ON_DEVICE = [name for name, measure in MEASURES.items() if not measure.on_host]
DEVICE = torch.device("cuda", 0)
_NUMPY = ("numpy", "__array__", "__dlpack__", "data_ptr")
ATTRIBUTES = {"device": DEVICE, "is_cuda": True, "is_cpu": False}
_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # CUDA does little with them
_FROM_DATA = ("tensor", "as_tensor", "asarray")
_POINTWISE = {
    "truediv": "div",
    "true_divide": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}


class CudaTensor(Tensor):
    """A tensor of the CPU that is taken for one of the device."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return call(func, args, dict(kwargs or {}))


class TaggedMode(TorchFunctionMode):
    """Sees factory functions too, which have no tensor among their arguments."""

    def __init__(self, waits: bool) -> None:
        super().__init__()
        self.waits = waits

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            options = {} if self.waits else {"waits": False}
            return call(func, args, dict(kwargs or {}), **options)


_WAITING = "the host would wait for the device"
_DEPENDENT = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


def depends_on_values(func: Any, args: Any) -> bool:
    """Whether the result of an operation of ATen, or its shape, depends on values."""
    by_place = func is torch.ops.aten.index.Tensor and all(x is None or x.dtype != torch.bool for x in args[1])
    return bool(_DEPENDENT & {*func.tags}) and not by_place


class Waitless(TorchDispatchMode):
    """Operations that wait raise."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if depends_on_values(func, args):
            raise RuntimeError(f"{func}: {_WAITING}")
        return func(*args, **(kwargs or {}))


class Generator(torch.Generator):
    """A generator of either device, with the numbers of the CPU's."""

    def __new__(cls, device: torch.device | str = "cpu") -> Generator:
        made = super().__new__(cls)
        made.place = torch.device(device)
        return made

    def __init__(self, device: torch.device | str = "cpu") -> None:
        super().__init__()

    place: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.place


def call(func: Callable[..., Any], args: Any, kwargs: dict[str, Any], waits: bool = True) -> Any:
    """The result of a function of torch, on the device where torch would have it, or the error that torch raises."""
    name: str = getattr(func, "__name__", "")
    first: Any = args[0] if args else None
    on_device = isinstance(first, CudaTensor)
    if name == "__get__":
        attribute = func.__self__.__name__  # type: ignore[attr-defined]
        return ATTRIBUTES[attribute] if on_device and attribute in ATTRIBUTES else placed(func(*args), on_device)
    if on_device and name == "tolist" and not waits:
        raise RuntimeError(f"{name}: {_WAITING}")
    if on_device and name in _NUMPY and not kwargs.get("force"):
        raise TypeError(f"{name}: cannot convert a tensor of the device (copy it to the host first)")
    if on_device and name == "numpy":
        return first.detach().as_subclass(Tensor).numpy()
    if on_device and name == "__iter__":
        return iter([tagged(x) for x in first.unbind(0)])
    if name in ("to", "cpu", "cuda"):
        copy = moved(first, name, args[1:], kwargs)
        if on_device and not waits and not isinstance(copy, CudaTensor):
            raise RuntimeError(f"{name}: {_WAITING}")
        return copy
    device = kwargs.pop("device", None)
    if name in _FROM_DATA and not isinstance(first, Tensor):
        return placed(func(*args, **kwargs), is_cuda(device))
    found = tensors(args) + tensors(kwargs.values())
    on_device = any(isinstance(x, CudaTensor) for x in found)
    if on_device and name not in _FROM_DATA:
        check(name, args, kwargs, found)
    if device is not None:
        on_device = is_cuda(device)
    generator = kwargs.get("generator")
    if generator is not None and is_cuda(generator.device) != on_device:
        raise RuntimeError(f"{name}: expected a generator of the device of the result; got one of {generator.device}")
    with nullcontext() if waits or not on_device else Waitless():
        return placed(func(*args, **kwargs), on_device)


def moved(x: Tensor, name: str, args: Any, kwargs: dict[str, Any]) -> Tensor:
    """``Tensor.to``, ``cpu`` and ``cuda``: a copy where the device changes."""
    place = {"cpu": torch.device("cpu"), "cuda": DEVICE}.get(name, kwargs.pop("device", None))
    rest = [y for y in args if y is not None and not isinstance(y, bool)] if name == "to" else []
    if rest and isinstance(rest[0], Tensor):
        place, rest[0] = DEVICE if isinstance(rest[0], CudaTensor) else torch.device("cpu"), rest[0].dtype
    elif rest and isinstance(rest[0], torch.device | str):
        place = torch.device(rest.pop(0))
    plain = x.to(*rest, **kwargs) if rest or kwargs else x
    was = isinstance(x, CudaTensor)
    on_device = was if place is None else is_cuda(place)
    return placed(plain, was) if on_device == was else placed(plain.clone().as_subclass(Tensor), on_device)


def check(name: str, args: Any, kwargs: dict[str, Any], found: list[Tensor]) -> None:
    """Raise on what torch refuses, and on a copy between devices that nobody asked for."""
    if name in ("__getitem__", "__setitem__"):  # numbers of the host may index the device, but not the other way round
        index = tensors(args[1:2])
        if args[0].dtype in _UNSIGNED and index:
            raise RuntimeError(f"{name}: not implemented on CUDA for {args[0].dtype}")
        found = [args[0], *(x for x in index if isinstance(x, CudaTensor)), *tensors(args[2:])]
    host = [x for x in found if not isinstance(x, CudaTensor)]
    if not host:
        return
    written = kwargs.get("out", args[0] if is_in_place(name) else None)
    alone = all(x.dim() == 0 and x is not written for x in host)
    if not (alone and (name == "__setitem__" or is_pointwise(name))):
        raise RuntimeError(f"{name}: expected all tensors on one device; got {len(host)} of {len(found)} on the CPU")


def is_in_place(name: str) -> bool:
    return name == "__setitem__" or (name.startswith("__i") if name.startswith("__") else name.endswith("_"))


@cache
def is_pointwise(name: str) -> bool:
    """Whether an operation takes numbers of the host, tensors without dimensions, among those of the device."""
    plain = name.strip("_")
    known = [_POINTWISE.get(x, x) for x in (plain, plain[1:])]
    packets = [getattr(torch.ops.aten, x) for x in known if x and hasattr(torch.ops.aten, x)]
    return any(torch.Tag.pointwise in getattr(packet, x).tags for packet in packets for x in packet.overloads())


def tensors(values: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += tensors(value)
    return found


def placed(result: Any, on_device: bool) -> Any:
    """The result with its tensors on one of the devices."""
    if isinstance(result, Tensor):
        if isinstance(result, CudaTensor) == on_device:
            return result
        return tagged(result) if on_device else result.clone().as_subclass(Tensor)
    if isinstance(result, list | tuple) and any(isinstance(x, Tensor) for x in result):
        parts = [placed(x, on_device) for x in result]
        return type(result)(parts)
    return result


def is_cuda(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


def tagged(x: Tensor) -> CudaTensor:
    return x.as_subclass(CudaTensor)


@contextmanager
def tagged_cuda(*, waits: bool = True) -> Iterator[None]:
    with mock.patch.multiple(torch, Generator=Generator), TaggedMode(waits):
        yield
