"""Every tensor is made on the device of the tables: with another default device, nothing mixes with it.

On a machine without CUDA, the tables' device is the CPU and the default device is ``meta``. Torch refuses to mix the
two, so a tensor that is made without a device is found on every route, those included that read values on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.fake_cuda import fake_cuda
from torchclusteval import ContingencyTables, Scores
from torchclusteval import inference as tci

MEASURES = ["adjusted_rand", "v_measure", "purity", "bcubed_f"]
SMALL = ContingencyTables([[[30, 5, 1], [2, 20, 3], [0, 4, 15]], [[12, 3, 0], [9, 9, 2], [1, 0, 44]]])
EMPTY = ContingencyTables(torch.zeros(0, 2, 2, dtype=torch.int64))
MANY_CELLS = ContingencyTables.from_labels(
    torch.arange(300) % 90, torch.stack([torch.arange(300) // 3, torch.arange(300) % 80])
)
LABELS = torch.arange(3 * 4 * 60).reshape(3, 4, 60) ** 2 % 7
WIDE_LABELS = torch.arange(3 * 200).reshape(3, 200) ** 2 % 97
NO_LABELS = torch.zeros(3, 0, 5, dtype=torch.int64)

Results = Mapping[str, Any]


def differences(labels: Tensor, **options: Any) -> Results:
    true, first, second = labels
    return tci.paired_bootstrap(true, first, second, MEASURES, 300, **options)


ROUTES: dict[str, Callable[[], Results]] = {
    "bootstrap, all cells": lambda: tci.bootstrap(SMALL, MEASURES, 300),
    "bootstrap, non-empty cells": lambda: tci.bootstrap(MANY_CELLS, MEASURES, 300),
    "bootstrap, basic": lambda: tci.bootstrap(SMALL, MEASURES, 300, method="basic"),
    "bootstrap, BCa": lambda: tci.bootstrap(SMALL, MEASURES, 300, method="bca"),
    "bootstrap, no tables": lambda: tci.bootstrap(EMPTY, MEASURES, 300, method="bca", keep_resamples=True),
    "permutations, margins": lambda: tci.permutation_test(SMALL, MEASURES, 300, correction="holm"),
    "permutations, items": lambda: tci.permutation_test(MANY_CELLS, MEASURES, 300, correction="benjamini-hochberg"),
    "permutations, no tables": lambda: tci.permutation_test(EMPTY, MEASURES, 300, keep_resamples=True),
    "paired, items": lambda: differences(WIDE_LABELS, correction="holm"),
    "paired, cells": lambda: differences(LABELS, mask=torch.ones(4, 60, dtype=torch.bool, device="cpu").triu()),
    "paired, BCa": lambda: differences(LABELS, method="bca"),
    "paired, no pairs": lambda: differences(NO_LABELS, keep_resamples=True),
    "all pairs, products": lambda: tci.pairwise(LABELS[0], MEASURES),
    "all pairs, counting": lambda: tci.pairwise(WIDE_LABELS, MEASURES),
    "stability": lambda: tci.stability(LABELS[0], MEASURES),
    "adjusted for chance": lambda: {
        name: tci.adjusted_for_chance(name)(SMALL) for name in ("rand", "v_measure", "bcubed_precision")
    },
    "random tables": lambda: {
        "counts": tci.random_tables(SMALL.class_sizes, SMALL.cluster_sizes, 300).counts,
        "many": tci.random_tables(SMALL.class_sizes * 10**7, SMALL.cluster_sizes * 10**7, 3).counts,
    },
    "multinomial tables": lambda: {"counts": tci.multinomial_tables(MANY_CELLS, 300).counts},
}


def tensors(results: Results) -> dict[str, Tensor]:
    """All tensors of the results, those in records included."""
    values: dict[str, Tensor] = {}
    for name, result in results.items():
        fields = {"": result} if isinstance(result, Tensor) else vars(result)
        values |= {f"{name} {key}": value for key, value in fields.items() if isinstance(value, Tensor)}
    if isinstance(results, Scores):
        values |= {"n_items": results.n_items, "coverage": results.coverage}
    return values


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_results_are_on_the_device_of_the_tables(route: str) -> None:
    """The values are compared too, as some operations of torch accept an index without data."""
    torch.manual_seed(0)
    expected = tensors(ROUTES[route]())
    torch.manual_seed(0)
    with torch.device("meta"):
        values = tensors(ROUTES[route]())
    assert expected
    assert {name for name, value in values.items() if value.device.type != "cpu"} == set()
    torch.testing.assert_close(values, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.slow
def test_an_empty_batch_stays_on_cuda() -> None:
    with fake_cuda():
        tables = ContingencyTables(torch.empty(0, 2, 2, dtype=torch.int64, device="cuda"), validate=False)
        for run in (tci.bootstrap, tci.permutation_test):
            values = tensors(run(tables, MEASURES, 300, rng=torch.Generator("cpu"), keep_resamples=True))
            assert {value.device.type for value in values.values()} == {"cuda"}
