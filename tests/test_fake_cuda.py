"""The GPU path without a GPU: fake ``cuda`` tensors have no data, so anything that needs the host raises.

A tensor on the wrong device, ``.item()``, ``nonzero``, ``unique``, ``bincount`` and ``if tensor:`` are
all caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

import torchclusteval as tce
from torchclusteval import MEASURES, ContingencyTables

ON_DEVICE = [name for name, measure in MEASURES.items() if not measure.on_host]


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


class WithoutDeviceGuard(TorchFunctionMode):
    """Indexing, ``copy_`` and ``~`` raise for fake CUDA tensors on a CPU-only build, for no fault of the code."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.copy_:
            return torch.ops.aten.copy_(*args, **(kwargs or {}))
        if func is torch.Tensor.__invert__:
            return torch.bitwise_not(*args)
        if func is torch.Tensor.__getitem__:
            x, key = args
            key = key if isinstance(key, tuple) else (key,)
            if all(k is None or k is Ellipsis or isinstance(k, int | slice) for k in key):
                return basic_index(x, key)
            return torch.ops.aten.index.Tensor(x, list(key))
        return func(*args, **(kwargs or {}))


@contextmanager
def fake_cuda() -> Iterator[None]:
    with FakeTensorMode(), WithoutDeviceGuard():
        yield


def fake_tables(**options: Any) -> ContingencyTables:
    true = torch.empty(100, dtype=torch.int64, device="cuda")
    pred = torch.empty(8, 100, dtype=torch.int64, device="cuda")
    return ContingencyTables.from_labels(true, pred, num_classes=5, num_clusters=7, validate=False, **options)


def check(value: Tensor) -> None:
    assert (value.device.type, tuple(value.shape), value.dtype) == ("cuda", (8,), torch.float64)


def fake(dtype: torch.dtype) -> Tensor:
    return torch.empty(8, 100, dtype=dtype, device="cuda")


OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "dense": lambda: {"layout": "dense"},
    "mask": lambda: {"mask": fake(torch.bool)},
    "float weights": lambda: {"weights": fake(torch.float64)},
    "integer weights": lambda: {"weights": fake(torch.int64)},
    "mask and weights": lambda: {"mask": fake(torch.bool), "weights": fake(torch.float64)},
    "ignore_index": lambda: {"ignore_index": -1},
    "noise ignored": lambda: {"noise_label": -1},
    "noise as a cluster": lambda: {"noise_label": -1, "noise": "cluster"},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_every_measure_stays_on_the_device(options: str) -> None:
    with fake_cuda():
        tables = fake_tables(**OPTIONS[options]())
        assert tables.layout == "dense"
        check(tables.coverage)
        for name in ON_DEVICE:
            if tables.is_integer or not MEASURES[name].integer_only:
                check(MEASURES[name](tables))


@pytest.mark.parametrize("name", ON_DEVICE)
def test_each_measure_alone(name: str) -> None:
    """On its own table: no earlier measure has prepared the terms it shares."""
    with fake_cuda():
        check(MEASURES[name](fake_tables()))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.bool], ids=str)
def test_every_label_dtype_is_counted_on_the_device(dtype: torch.dtype) -> None:
    with fake_cuda():
        true = torch.empty(8, 100, dtype=dtype, device="cuda")
        tables = ContingencyTables.from_labels(true, true, num_classes=5, num_clusters=7, validate=False)
        assert tables.counts.dtype == torch.int64
        check(MEASURES["adjusted_rand"](tables))


def test_evaluate_stays_on_the_device() -> None:
    with fake_cuda():
        true = torch.empty(100, dtype=torch.int64, device="cuda")
        pred = torch.empty(8, 100, dtype=torch.int64, device="cuda")
        scores = tce.evaluate(true, pred, ON_DEVICE, num_classes=5, num_clusters=7, validate=False)
        for name in ON_DEVICE:
            check(scores[name])


def test_only_the_named_measures_need_the_host() -> None:
    assignment = {"one_to_one_accuracy", "classification_error", "meila_heckerman_h"}
    allowed = assignment | {"expected_mutual_information"}
    assert {name for name in MEASURES if MEASURES[name].on_host and not name.startswith("ami")} <= allowed


def branch(tables: ContingencyTables) -> Tensor:
    return tables.n_items.double() if bool((tables.n_items > 0).all()) else tables.n_items.double() * 0


PLANTED: dict[str, Callable[[ContingencyTables], Any]] = {
    "item": lambda tables: tables.n_items.sum().item(),
    "branch": branch,
    "nonzero": lambda tables: tables.counts.nonzero(),
    "boolean index": lambda tables: tables.counts[tables.counts > 0],
    "unique": lambda tables: tables.counts.unique(),
    "bincount": lambda tables: tables.counts.flatten().bincount(),
    "wrong device": lambda tables: tables.counts + torch.ones(7, dtype=torch.int64),
    "to a list": lambda tables: tables.n_items.tolist(),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_caught(planted: str) -> None:
    """Without this the tests above could pass by seeing nothing."""
    with fake_cuda():
        tables = fake_tables()
        with pytest.raises(Exception):  # noqa: B017, PT011 - each fault has its own class of error
            check(PLANTED[planted](tables))
