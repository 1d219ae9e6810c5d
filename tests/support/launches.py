"""Operations, waits and bytes of calls on a simulated CUDA device, whose tensors have values and lie on the CPU.

An operation is one of ATen that computes or copies: views and allocations are none. One ``kernels.launch`` is one
operation that moves its arguments, whatever the torch operations behind it do here. A wait is a copy to the host, a
number read, or a result whose size depends on values.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import torchclusteval as tce
from tests.support import tagged_cuda
from tests.support.tagged_cuda import ON_DEVICE, CudaTensor, depends_on_values, tensors
from torchclusteval.common import kernels
from torchclusteval.measures.registry import DEFAULT

ALLOCATIONS = ["empty", "new_empty", "empty_like", "empty_strided", "lift_fresh"]
ALLOCATIONS += ["detach", "alias", "_local_scalar_dense"]


def tuple_of(*x: Any) -> tuple[Any, ...]:
    return x


@dataclass
class Counts:
    """What a call did."""

    launches: Counter[str] = field(default_factory=Counter)  # by the name of the kernel
    torch: Counter[str] = field(default_factory=Counter)  # operations of torch on the device
    host: Counter[str] = field(default_factory=Counter)  # operations of torch on the host
    waits: list[str] = field(default_factory=list)
    copies_to_device: int = 0
    bytes: int = 0  # moved on the device
    after_wait: int = 0  # operations on the device after the first wait

    @property
    def operations(self) -> int:
        return self.launches.total() + self.torch.total()

    def row(self) -> dict[str, int]:
        row = {"operations": self.operations, "launches": self.launches.total(), "waits": len(self.waits)}
        return row | {"host": self.host.total(), "to device": self.copies_to_device, "bytes": self.bytes}


class Operations(TorchDispatchMode):
    """The operations of ATen below one function of torch, with the bytes of their arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, int]] = []
        self.wait = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.wait |= depends_on_values(func, args)
        returns = func._schema.returns
        is_view = bool(returns) and all(x.alias_info is not None and not x.alias_info.is_write for x in returns)
        if not is_view and func.overloadpacket.__name__ not in ALLOCATIONS:
            moved = tensors([*args, *(kwargs or {}).values()]) + tensors([result])
            self.made.append((func.overloadpacket.__name__, sum(map(size_of, moved))))
        return result


def size_of(x: Tensor) -> int:
    """Bytes of a tensor, of which broadcast dimensions repeat none."""
    return x.element_size() * torch.Size(n for n, step in zip(x.shape, x.stride(), strict=True) if step).numel()


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what happens on the simulated device; tensors become its own by ``.to("cuda")``."""
    counts, hidden = Counts(), False
    plain = tagged_cuda.call

    def call(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        name: str = getattr(func, "__name__", "")
        if hidden or name == "__get__":
            return plain(func, args, kwargs)
        given = tensors([*args, *kwargs.values()])
        before = any(isinstance(x, CudaTensor) for x in given)
        with Operations() as operations:
            result = plain(func, args, kwargs)
        after = any(isinstance(x, CudaTensor) for x in tensors([result]))
        crosses = bool(given) and before != after and name in ("to", "cpu", "cuda", "numpy", "tensor", "as_tensor")
        if before and (operations.wait or name == "tolist" or (crosses and not after)):
            counts.waits.append(name)
        elif after and (crosses or (not given and name in ("tensor", "as_tensor", "asarray"))):
            counts.copies_to_device += 1
        if crosses:
            return result
        for operation, moved in operations.made:
            (counts.torch if before or after else counts.host)[operation] += 1
            if before or after:
                counts.bytes += moved
                counts.after_wait += bool(counts.waits)
        return result

    def launch(name: str, *arguments: Tensor | None, **numbers: Any) -> None:
        nonlocal hidden
        assert all(x is None or isinstance(x, CudaTensor) for x in arguments)
        counts.launches[name] += 1
        counts.bytes += sum(size_of(x) for x in arguments if x is not None)
        counts.after_wait += bool(counts.waits)
        hidden = True
        kernels.REFERENCES[name](*arguments, **numbers)
        hidden = False

    both = mock.patch.object(tagged_cuda, "call", call), mock.patch.object(kernels, "launch", launch)
    with both[0], both[1], tagged_cuda.tagged_cuda():
        yield counts


def labels(size: int = 1000, items: int = 100) -> tuple[Tensor, Tensor]:
    """One truth and clusterings of 10 groups."""
    random = torch.Generator().manual_seed(0)
    return torch.randint(10, (items,), generator=random), torch.randint(10, (size, items), generator=random)


SIZES: dict[str, Any] = {"num_classes": 10, "num_clusters": 10}
UNCHECKED: dict[str, Any] = {**SIZES, "validate": False}
MEASURES = [name for name in DEFAULT if name != "one_to_one_accuracy"]


def _tables(true: Tensor, pred: Tensor) -> tuple[tce.ContingencyTables]:
    return (tce.ContingencyTables.from_labels(true, pred, **UNCHECKED),)


def _both(size: int, items: int) -> tuple[Tensor, Tensor]:
    pred = labels(size, items)[1]
    return pred.flip(0), pred


CALLS: dict[str, tuple[Callable[[], tuple[Tensor, ...]], Callable[..., tuple[Any, ...]], Callable[..., Any]]] = {
    # name: labels on the host, what is made of them on the device before, the call that is counted
    "headline without one-to-one": (labels, tuple_of, lambda x, y: tce.evaluate(x, y, MEASURES, **UNCHECKED)),
    "headline": (labels, tuple_of, lambda x, y: tce.evaluate(x, y, **UNCHECKED)),
    "headline, labels checked": (labels, tuple_of, lambda x, y: tce.evaluate(x, y, **SIZES)),
    "adjusted_rand from tables": (labels, _tables, lambda tables: tce.evaluate_tables(tables, "adjusted_rand")),
    "ami from tables": (labels, _tables, lambda tables: tce.evaluate_tables(tables, "ami_arithmetic")),
    "all that need no host, from tables": (labels, _tables, lambda tables: tce.evaluate_tables(tables, ON_DEVICE)),
    "print": (labels, lambda x, y: (tce.evaluate(x, y),), str),
    "pairwise of 20": (lambda: labels(20)[1:], tuple_of, lambda x: tce.pairwise(x)),
    "counting": (lambda: _both(1000, 10_000), tuple_of, lambda x, y: _tables(x, y)),
    "counting, labels checked": (
        lambda: _both(1000, 10_000),
        tuple_of,
        lambda x, y: tce.ContingencyTables.from_labels(x, y, **SIZES),
    ),
}


def count_call(name: str) -> Counts:
    """What one of ``CALLS`` does."""
    of_host, prepare, call = CALLS[name]
    with counting():
        given = prepare(*(x.to("cuda") for x in of_host()))
    with counting() as counts:
        call(*given)
    return counts
