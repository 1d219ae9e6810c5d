"""Whatever is given on a device comes back on it, by every public function and by each of its routes.

The tensors say that they are on a CUDA device and have values, which are compared with those of the CPU.
A function, a method or a constant that chooses a route and has no case here fails.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support import device_cases, device_data
from tests.support.device_cases import CASES
from tests.support.device_data import Place
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval import studies as tce_studies

PACKAGE = Path(tce.__file__).parent


def tensors_of(x: Any, path: str = "", seen: dict[int, Any] | None = None) -> Iterator[tuple[str, Tensor]]:
    """The tensors in a result, at any depth, what objects of the package keep for themselves included."""
    seen = {} if seen is None else seen
    if id(x) in seen:
        return
    seen[id(x)] = x
    own = type(x).__module__.startswith("torchclusteval") and not isinstance(x, type | tce.Measure)
    if isinstance(x, Tensor):
        yield path, x
    elif isinstance(x, tuple | list):
        for place, part in enumerate(x):
            yield from tensors_of(part, f"{path}[{place}]", seen)
    else:
        parts = dict(x) if isinstance(x, Mapping) else {}
        for name, part in (parts | (vars(x) if own and hasattr(x, "__dict__") else {})).items():
            yield from tensors_of(part, f"{path}.{name}", seen)


def cases(*names: str) -> tuple[tuple[str, str], ...]:
    """``function/route`` each."""
    pairs = [name.partition("/") for name in names]
    return tuple((function, route) for function, _, route in pairs)


@cache
def on_the_cpu(function: str, route: str) -> dict[str, Tensor]:
    return dict(tensors_of(CASES[function][route](Place("cpu"))))


def check(function: str, route: str, *, values: bool = True) -> None:
    """Run a case on the device: all tensors are there, and have the values that they have on the CPU."""
    expected = on_the_cpu(function, route)
    with tagged_cuda():
        found = dict(tensors_of(CASES[function][route](Place("cuda"))))
        elsewhere = [path for path, x in found.items() if x.device.type != "cuda"]
        assert elsewhere == []
        host = {path: x.detach().cpu() for path, x in found.items()}
    for path in host.keys() & expected.keys() if values else ():
        if "._" not in path:  # what is kept inside may differ
            torch.testing.assert_close(host[path], expected[path].detach(), rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", [f"{function}/{route}" for function in CASES for route in CASES[function]])
def test_results_stay_on_the_device(case: str) -> None:
    check(*cases(case)[0])


# --- every public function has a case -----------------------------------------------------------------------

STAGES = ("", "measures", "overlap", "inference", "streaming", "torchmetrics", "meta", "sklearn")
# What is public and takes neither tables nor labels nor memberships: records, and what works on the host alone.
WITHOUT = """
    : GroupScores Matching read_conll read_memberships
    measures: pair_counts
    overlap: fowlkes_mallows_of_cuts
    sklearn: InvalidParameterError expected_mutual_information
"""


def listed(text: str) -> set[str]:
    lines = (line.strip().partition(": ") for line in text.strip().splitlines())
    return {f"{module}.{name}".lstrip(".") for module, _, names in lines for name in names.split()}


def public(stage: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"torchclusteval.{stage}".rstrip("."))
    for name in module.__all__:
        if callable(getattr(module, name)):
            yield f"{stage}.{name}".lstrip("."), getattr(module, name)


@pytest.mark.parametrize("stage", STAGES)
def test_every_public_function_has_a_case(stage: str) -> None:
    top = [x for _, x in public("")]
    own = {name for name, x in public(stage) if not stage or x not in top}
    assert own - CASES.keys() - listed(WITHOUT) == set()


def test_no_case_is_of_something_else() -> None:
    known = {name for stage in STAGES for name, _ in public(stage)} | set(studies())
    assert {name for name in CASES if not name.startswith(METHODS)} - known == set()
    assert listed(WITHOUT) <= known


METHODS = ("ContingencyTables.",)


def studies() -> dict[str, Any]:
    """Functions of the studies that take a device."""
    found: dict[str, Any] = {}
    for study in tce_studies.STUDIES.values():
        run = study.load().run
        if "device" in inspect.signature(run).parameters:
            found[f"studies.{study.module}.run"] = run
    return found


def test_every_study_has_a_case() -> None:
    """That of the properties takes a minute; ``meta.check_properties`` does the same work on a smaller grid."""
    assert studies().keys() - CASES.keys() == {"studies.properties.run"}


@pytest.mark.parametrize("kind", [tce.ContingencyTables, tce.ContingencyAccumulator, tce.Memberships, tce.Scores])
def test_every_method_is_called(kind: type) -> None:
    methods = {name for name, x in inspect.getmembers(kind, callable) if not name.startswith("_")}
    inherited = {name for name, _ in inspect.getmembers(Mapping, callable)}
    text = "".join(inspect.getsource(module) for module in (device_cases, device_data))
    called = set(re.findall(r"\.(\w+)\(", text))
    assert methods - called - inherited == set()


# --- routes by size -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """Values of a constant that lead along its routes, and what is run with each of them."""

    values: tuple[Any, ...]
    cases: tuple[tuple[str, str], ...]
    also: Mapping[str, Any] = field(default_factory=dict)  # other constants, so that this one is reached
    same_values: bool = True  # False: other random numbers are drawn


BOTH_SIDES = cases("evaluate_tables/both sides differ")
ONE_REFERENCE = cases("evaluate_tables/integers")
LABELS = "ContingencyTables.from_labels/"
OVERLAPPING = cases("evaluate_overlapping/batch", "overlap.extended_bcubed_per_item/batch")
PAIRED = cases("paired_bootstrap/batch")

HOST_PAIRS = {"measures.expected_on_device.MOST_PAIRS": 0}

ROUTES: dict[str, Route] = {
    "cells.reductions._MAX_UNBLOCKED_CELLS": Route((0,), cases("evaluate/batch, dense", "per_class/sparse")),
    "cells.reductions._BLOCK_CELLS": Route(
        (7,),
        cases("evaluate/batch, dense", "evaluate/batch, sparse", "per_cluster/dense"),
        {"cells.reductions._MAX_UNBLOCKED_CELLS": 0},
    ),
    "common.numerics.SUM_BLOCK": Route((2,), BOTH_SIDES),
    "common.numerics._SUM_BLOCK": Route((4,), BOTH_SIDES),
    "counting.cuda.BLOCK_LABELS": Route((7, 100), cases(f"{LABELS}mask", f"{LABELS}shared rows", f"{LABELS}codes")),
    "counting.cuda.MAX_PRIVATE_COUNTERS": Route(
        (1, 256), cases(f"{LABELS}dense"), {"counting.dispatch._CUDA_KERNELS": (("privatized", 2**16, 0),)}
    ),
    "counting.dispatch._CUDA_KERNELS": Route(
        ((("privatized", 2**16, 0),), (("scatter", 2**16, 0),)),
        cases(f"{LABELS}dense", f"{LABELS}more codes", f"{LABELS}noise as a cluster", "ContingencyAccumulator/sizes"),
    ),
    "counting.by_group._ALWAYS_DENSE_CELLS": Route(
        (0,), cases(f"{LABELS}groups", "evaluate_tables/groups"), {"counting.by_group._CELLS_PER_LABEL": 0}
    ),
    "counting.by_group._CELLS_PER_LABEL": Route(
        (0,), cases(f"{LABELS}groups"), {"counting.by_group._ALWAYS_DENSE_CELLS": 0}
    ),
    "counting.dispatch._ALWAYS_DENSE_CELLS": Route(
        (0,),
        cases(f"{LABELS}mask", "ContingencyAccumulator/growing, sparse"),
        {"counting.dispatch._MAX_AUTO_DENSE_CELLS": 0},
    ),
    "counting.dispatch._MAX_AUTO_DENSE_CELLS": Route(
        (0,), cases(f"{LABELS}mask"), {"counting.dispatch._ALWAYS_DENSE_CELLS": 0}
    ),
    "inference.agreement._TABLE_CELLS": Route((200,), cases("pairwise/few groups", "pairwise/one group")),
    "inference.agreement._MAX_JOINT_CELLS": Route((1,), cases("pairwise/few groups", "stability/plain")),
    "inference.agreement._ITEMS_PER_JOINT_CELL": Route((1, 100), cases("pairwise/few groups", "stability/plain")),
    "inference.cell_resampling._JACKKNIFE_BLOCK_CELLS": Route((99,), cases("bootstrap/bca")),
    "inference.run_agreement._VOTE_CELLS": Route((0,), cases("consensus/plain", "consensus/mask")),
    "inference.run_agreement._PAIR_CELLS": Route((1,), cases("element_consistency/plain")),
    "inference.run_agreement._TABLE_CELLS": Route((1,), cases("transitions/plain")),
    "inference.draws._MAX_TABULATED": Route((0,), cases("random_tables/few items"), same_values=False),
    "inference.draws._SPREADS": Route(((0, float("inf")),), cases("random_tables/few items"), same_values=False),
    "inference.draws._BLOCK_DRAWS": Route((3,), cases("random_tables/few items"), same_values=False),
    "inference.draws._BATCHED_TRIES": Route((1,), cases("random_tables/many items"), same_values=False),
    "inference.item_resampling._DRAW_CELL_NS": Route((0.0, 1e9), PAIRED, same_values=False),
    "inference.item_resampling._MAX_ITEMS": Route(
        (1,), PAIRED, {"inference.item_resampling._DRAW_CELL_NS": 1e9}, same_values=False
    ),
    "inference.permutation_tests._DRAW_CELL_NS": Route(
        (0.0, 1e9), cases("permutation_test/few items"), same_values=False
    ),
    "inference.permutation_tests._MAX_ITEMS": Route((0,), cases("permutation_test/few items"), same_values=False),
    "inference.resampling.MAX_DRAWN_CELLS": Route(
        (2000,),
        cases("bootstrap/all cells", "permutation_test/few items", "paired_bootstrap/batch"),
        {"inference.sampling.RESAMPLES_PER_BLOCK": 8},
        same_values=False,
    ),
    "inference.cell_resampling.ALWAYS_DENSE_CELLS": Route(
        (0,),
        cases("bootstrap/filled cells", "permutation_test/items", "paired_bootstrap/batch"),
        same_values=False,
    ),
    "inference.sampling.RESAMPLES_PER_BLOCK": Route(
        (8,), cases("bootstrap/all cells", "multinomial_tables/dense"), same_values=False
    ),
    "labels.encoding._SMALL_TABLE_CELLS": Route((0,), cases(f"{LABELS}gaps", f"{LABELS}dense")),
    "labels.codes.SHIFT_BEYOND": Route((1,), cases(f"{LABELS}mask")),
    "labels.codes._MAX_LOOKUP_ENTRIES": Route((0,), cases(f"{LABELS}gaps", f"{LABELS}labels of their own by row")),
    "measures.expected_mutual_info.DEVICE_PIECE_TERMS": Route((16,), BOTH_SIDES, HOST_PAIRS),
    "measures.expected_mutual_info.SMALL_PIECE_TERMS": Route((1,), BOTH_SIDES + ONE_REFERENCE, HOST_PAIRS),
    "measures.expected_mutual_info.PIECE_PAIRS": Route((5,), BOTH_SIDES + ONE_REFERENCE, HOST_PAIRS),
    "measures.expected_mutual_info.PIECE_CELLS": Route((1, 300), BOTH_SIDES, HOST_PAIRS),
    "measures.expected_mutual_info.PIECE_SIZES": Route((1,), BOTH_SIDES + ONE_REFERENCE, HOST_PAIRS),
    "measures.expected_mutual_info.MAX_KEPT_SIZES": Route((0,), BOTH_SIDES, HOST_PAIRS),
    "measures.expected_mutual_info.FEW_ITEMS": Route((0, 10**9), cases("evaluate_tables/integers"), HOST_PAIRS),
    "measures.expected_mutual_info.LONG_REACH": Route((200, 10**9), cases("evaluate_tables/many items"), HOST_PAIRS),
    "measures.expected_mutual_info.FEW_GROUPS": Route((1,), BOTH_SIDES + ONE_REFERENCE, HOST_PAIRS),
    "measures.expected_on_device.MOST_PAIRS": Route((0,), cases("evaluate_tables/many items") + ONE_REFERENCE),
    "measures.expected_on_device.PIECE_TERMS": Route((5000,), BOTH_SIDES),
    "measures.expected_on_device.PART_CELLS": Route((3,), BOTH_SIDES),
    "measures.hypergeometric_means.DEVICE_PIECE_TERMS": Route((99,), cases("evaluate_tables/many items"), HOST_PAIRS),
    "cells.sums.MOST_CELLS": Route((0,), cases("evaluate/batch, dense", "per_class/dense")),
    "overlap.co_membership._PAIRS_PER_CHUNK": Route((1,), OVERLAPPING, {"overlap.comparison._CHUNK_ITEM_PAIRS": 20}),
    "overlap.comparison._CHUNK_ITEM_PAIRS": Route((9,), OVERLAPPING),
    "overlap.element_centric._BLOCK_GROUP_PAIRS": Route((2,), cases("overlap.overlap_element_centric/batch")),
    "overlap.element_centric._PART_PATTERNS": Route((2,), cases("overlap.overlap_element_centric/batch")),
    "overlap.element_centric._BLOCK_PATTERNS": Route((2,), cases("overlap.overlap_element_centric/batch")),
    "overlap.element_centric._BLOCK_CELLS": Route((1,), cases("overlap.overlap_element_centric/batch")),
    "overlap.element_centric._MAX_BLOCK_ROWS": Route((2,), cases("overlap.overlap_element_centric/batch")),
    "overlap.element_centric._MIN_BLOCK_ROWS": Route(
        (1,), cases("overlap.overlap_element_centric/batch"), {"overlap.element_centric._BLOCK_CELLS": 1}
    ),
    "overlap.group_intersections._RUN_PAIRS_PER_CHUNK": Route(
        (1,), OVERLAPPING, {"overlap.comparison._CHUNK_ITEM_PAIRS": 20}
    ),
    "scoring.evaluation._DEVICE_CHUNK_CELLS": Route((1,), cases("evaluate/batch, dense", "evaluate/batch, sparse")),
    "scoring.evaluation._MAX_ASSIGNED_GROUPS": Route(
        (0,), cases("evaluate_tables/families, sparse"), same_values=False
    ),
    "scoring.evaluation._MAX_PADDING": Route((1,), cases("pooled/groups, sparse"), same_values=False),
    "streaming.growing_cells.MAX_WAITING_CELLS": Route((0,), cases("ContingencyAccumulator/growing")),
    "torchmetrics.clustering_metric._MAX_WAITING_CELLS": Route((0,), cases("torchmetrics.AdjustedRandScore/growing")),
    "torchmetrics.clustering_metric._MAX_WAITING_PARTS": Route((1,), cases("torchmetrics.AdjustedRandScore/growing")),
}


def patched(stack: ExitStack, constant: str, value: Any) -> None:
    """In its own module, and in those that import it."""
    home, _, name = constant.rpartition(".")
    original = getattr(importlib.import_module(f"torchclusteval.{home}"), name)
    for module, content in list(sys.modules.items()):
        if module.startswith("torchclusteval.") and vars(content).get(name) is original:
            stack.enter_context(mock.patch(f"{module}.{name}", value))


@pytest.mark.slow
@pytest.mark.parametrize("constant", ROUTES)
def test_every_route_by_size_stays_on_the_device(constant: str) -> None:
    route = ROUTES[constant]
    for value in route.values:
        with ExitStack() as stack:
            for other, fixed in route.also.items():
                patched(stack, other, fixed)
            patched(stack, constant, value)
            for function, kind in route.cases:
                check(function, kind, values=route.same_values)
