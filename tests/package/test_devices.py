"""The GPU path without a GPU: on tensors that are taken for those of a device whatever needs the host raises."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.tagged_cuda import ON_DEVICE, tagged_cuda
from torchclusteval import MEASURES, ContingencyAccumulator, ContingencyTables
from torchclusteval.inference.bootstrap_options import BootstrapOptions
from torchclusteval.inference.cell_resampling import ResampledCells
from torchclusteval.inference.draws import multinomial

pytestmark = pytest.mark.slow


def on_device(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.arange(torch.Size(shape).numel()).view(shape).remainder(6).to("cuda", dtype)


def fake_tables(**options: Any) -> ContingencyTables:
    return ContingencyTables.from_labels(*chunk(), num_classes=5, num_clusters=7, validate=False, **options)


def check(value: Tensor) -> None:
    assert (value.device.type, tuple(value.shape), value.dtype) == ("cuda", (8,), torch.float64)


def fake(dtype: torch.dtype) -> Tensor:
    return on_device(8, 100, dtype=dtype)


def chunk(dtype: torch.dtype = torch.int64) -> tuple[Tensor, Tensor]:
    return on_device(100, dtype=dtype), fake(dtype)


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
    with tagged_cuda(waits=False):
        tables = fake_tables(**OPTIONS[options]())
        assert tables.layout == "dense"
        check(tables.coverage)
        for name in ON_DEVICE:
            if tables.is_integer or not MEASURES[name].integer_only:
                check(MEASURES[name](tables))


@pytest.mark.parametrize("name", ON_DEVICE)
def test_each_measure_alone(name: str) -> None:
    """On its own table: no earlier measure has prepared the terms it shares."""
    with tagged_cuda(waits=False):
        check(MEASURES[name](fake_tables()))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.bool], ids=str)
def test_every_label_dtype_is_counted_on_the_device(dtype: torch.dtype) -> None:
    with tagged_cuda(waits=False):
        tables = ContingencyTables.from_labels(fake(dtype), fake(dtype), num_classes=5, num_clusters=7, validate=False)
        assert tables.counts.dtype == torch.int64
        check(MEASURES["adjusted_rand"](tables))


@pytest.mark.parametrize("options", [{}, {"noise_label": 3}, {"mask": True, "ignore_index": 1}])
def test_codes_of_groups_do_not_synchronise(options: dict[str, Any]) -> None:
    with tagged_cuda(waits=False):
        if "mask" in options:
            options = {**options, "mask": fake(torch.bool)}
        tables = fake_tables(by=on_device(100), num_groups=6, **options)
        assert tables.shape == (8, 6, 5, 7)
        scores = tce.evaluate_tables(tables, ON_DEVICE)
        pooled = tce.pooled(tables, [name for name in ON_DEVICE if MEASURES[name].parts is not None])
        for found in (scores.macro(), scores.macro("items"), pooled):
            for value in found.values():
                check(value)
        assert tables.coverage.shape == (8, 6)


@pytest.mark.parametrize("per_group", [tce.per_class, tce.per_cluster])
def test_values_of_groups_stay_on_the_device(per_group: Callable[[ContingencyTables], Any]) -> None:
    with tagged_cuda(waits=False):
        found = per_group(fake_tables())
        sizes = {value.shape for value in found.values()}
        assert sizes == {(8, 5 if per_group is tce.per_class else 7)}
        assert {value.device.type for value in found.values()} == {"cuda"}


def test_adjustment_for_chance_stays_on_the_device() -> None:
    with tagged_cuda(waits=False):
        check(tce.adjusted_for_chance("rand")(fake_tables()))


def soft(groups: int) -> Tensor:
    return on_device(8, 100, groups, dtype=torch.float64)


UPDATES: dict[str, tuple[dict[str, Any], Callable[[ContingencyAccumulator], Any]]] = {
    "labels": ({}, lambda acc: acc.update(*chunk())),
    "narrow labels": ({}, lambda acc: acc.update(*chunk(torch.uint8))),
    "mask": ({}, lambda acc: acc.update(*chunk(), mask=fake(torch.bool))),
    "left out": ({"ignore_index": -1, "noise_label": -1}, lambda acc: acc.update(*chunk())),
    "integer weights": ({}, lambda acc: acc.update(*chunk(), weights=fake(torch.int64))),
    "float weights": ({"weights": True}, lambda acc: acc.update(*chunk(), weights=fake(torch.float64))),
    "soft": ({"weights": True}, lambda acc: acc.update_soft(soft(5), soft(7))),
    "merge": ({}, lambda acc: acc.merge(ContingencyAccumulator(5, 7, batch_shape=(8,)).update(*chunk()))),
    "saved": ({}, lambda acc: acc.update(*chunk()).state_dict()),
}


@pytest.mark.parametrize("kind", UPDATES)
def test_an_accumulator_with_sizes_stays_on_the_device(kind: str) -> None:
    options, update = UPDATES[kind]
    with tagged_cuda(waits=False):
        accumulator = ContingencyAccumulator(5, 7, batch_shape=(8,), device="cuda", **options)
        update(accumulator)
        update(accumulator)
        tables = accumulator.tables()
        assert tables.counts.device.type == "cuda"
        check(tables.coverage)
        check(MEASURES["adjusted_rand"](tables))


def test_draws_from_cells_stay_on_the_device() -> None:
    with tagged_cuda(waits=False):
        drawn = multinomial(fake_tables().counts.reshape(8, 35), 300, torch.Generator("cuda"))
        assert (drawn.device.type, drawn.shape, drawn.dtype) == ("cuda", (300, 8, 35), torch.int64)


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_resamples_and_intervals_stay_on_the_device(method: str) -> None:
    """Of the bootstrap, once its tables are checked: from the cells to the ends of the intervals."""
    measures = [MEASURES[name] for name in ON_DEVICE]
    with tagged_cuda(waits=False):
        tables = fake_tables()
        cells = ResampledCells(tables.counts.reshape(8, 35), [(35, 10_000)] * 8, (5, 7), keys=None, is_dense=True)
        options = BootstrapOptions(300, 0.95, method, None)
        estimates = {measure.name: measure(tables) for measure in measures}
        found = options.resample_by(cells, measures, estimates, torch.Generator("cpu"), None)
        for measure in measures:
            low, high, undefined = found.interval(measure.name, measure(tables), measure)
            check(low)
            check(high)
            assert undefined is None


def test_only_the_named_measures_need_the_host() -> None:
    assignment = {"one_to_one_accuracy", "classification_error", "meila_heckerman_h", "psi", "spsi", "npa"}
    assignment |= {"nca", "nca_swapped"}
    models = {f"adjusted_rand_{model}" for model in ("num", "num_one_sided", "all", "all_one_sided")}
    models |= {name for name in MEASURES if name.startswith(("reduced_", "adjusted_information"))}
    models |= {name for name in MEASURES if name.startswith("ceaf")} | {"conll_f", "idp", "idr", "idf1"}  # matchings
    models |= {"diarization_error_rate", "jaccard_error_rate", "jaccard_error_rate_pyannote"}
    allowed = assignment | models | {"expected_mutual_information"}
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
    "assignment of a value from the host": lambda tables: tables.counts.__setitem__(0, torch.ones(5, 7)),
    "a draw of the host": lambda tables: torch.rand(8) + tables.n_items,
    "a drawn number": lambda tables: int(torch.randint(8, (), device="cuda")),
    "to a list": lambda tables: tables.n_items.tolist(),
    "to the host": lambda tables: tables.n_items.cpu(),
    "a look inside an operation": lambda tables: torch.nn.functional.one_hot(tables.n_items),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_caught(planted: str) -> None:
    """Without this the tests above could pass by seeing nothing."""
    with tagged_cuda(waits=False):
        tables = fake_tables()
        with pytest.raises(RuntimeError, match=r"wait for the device|on one device"):
            PLANTED[planted](tables)


def test_tagged_tensors_are_of_the_device_and_have_values() -> None:
    with tagged_cuda():
        x = on_device(2, 3)
        assert (str(x.device), x.is_cuda, x.is_cpu, x.tolist()) == ("cuda:0", True, False, [[0, 1, 2], [3, 4, 5]])
        results = [x + 1, 2 * x, torch.tensor(2) * x, x[0], *x, x.T, x.sort().values, x[torch.tensor([1])], x.double()]
        results += [torch.zeros(2, device="cuda"), torch.zeros_like(x), x.new_zeros(1), torch.stack([x, x]), x.add_(0)]
        results += [torch.where(x > 1, x, 0), torch.ones(2).to(x), torch.as_tensor(x)]
        assert {y.device.type for y in results if isinstance(y, Tensor)} == {"cuda"}
        host = [
            x.cpu(),
            x.to("cpu"),
            torch.zeros(2),
            torch.zeros_like(x, device="cpu"),
            torch.tensor([x[0, 0], x[0, 1]]),
        ]
        assert {y.device.type for y in host} == {"cpu"}
        source = torch.Generator("cuda").manual_seed(3)
        assert torch.rand(2, generator=source, device="cuda").device.type == source.device.type == "cuda"


MIXED: dict[str, Callable[[Tensor], Any]] = {
    "arithmetic": lambda x: x + torch.ones(3),
    "concatenation": lambda x: torch.cat([x.flatten(), torch.ones(3)]),
    "concatenation of a scalar": lambda x: torch.stack([x.sum(), torch.tensor(1)]),
    "an index of the device into the host": lambda x: torch.ones(6)[x],
    "assignment to the host": lambda x: torch.ones(3).__setitem__(slice(None), x[0]),
    "assignment of a scalar to the host": lambda x: torch.ones(3).__setitem__(0, x.sum()),
    "assignment from the host": lambda x: x.__setitem__(0, torch.ones(3)),
    "a sum into the host": lambda x: torch.tensor(1).add_(x.sum()),
    "out": lambda x: torch.add(x, 1, out=torch.ones(2, 3)),
    "gather": lambda x: x.gather(0, torch.zeros(1, 3, dtype=torch.int64)),
    "numpy": lambda x: x.numpy(),
    "an array": lambda x: np.asarray(x),
    "a generator of the host": lambda x: torch.rand(2, generator=torch.Generator(), device=x.device),
    "a generator of the device": lambda x: torch.rand(2, generator=torch.Generator("cuda")),
    "an index into uint64": lambda x: x.view(torch.uint64)[x[0] > 1],
}


@pytest.mark.parametrize("mixed", MIXED)
def test_mixed_devices_are_caught(mixed: str) -> None:
    with tagged_cuda():
        x = on_device(2, 3)
        with pytest.raises((RuntimeError, TypeError)):
            MIXED[mixed](x)


SIZES: dict[str, Any] = {
    "cells.reductions._MAX_UNBLOCKED_CELLS": 0,
    "common.numerics._SUM_BLOCK": 4,
    "counting.cuda.BLOCK_LABELS": 7,
    "counting.dispatch._CUDA_KERNELS": (("privatized", 2**16, 0),),
    "scoring.evaluation._DEVICE_CHUNK_CELLS": 1,
}


@pytest.mark.parametrize("constant", SIZES)
def test_no_route_of_codes_waits_for_the_device(constant: str) -> None:
    with mock.patch(f"torchclusteval.{constant}", SIZES[constant]), tagged_cuda(waits=False):
        for name, value in tce.evaluate_tables(fake_tables(), ON_DEVICE[::4]).items():
            assert name in ON_DEVICE
            check(value)
