"""Whatever is given on a device comes back on it, by every public function and route; one without a case fails."""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache, partial
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support import device_cases
from tests.support.device_cases import CASES, Place
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval import studies as tce_studies


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


STAGES = ("", "measures", "overlap", "inference", "streaming", "torchmetrics", "meta", "sklearn")
# What is public and takes neither tables nor labels nor memberships: records, and what works on the host alone.
WITHOUT = """
    : GroupScores Matching evaluate_sums read_conll read_memberships
    measures: pair_counts
    overlap: fowlkes_mallows_of_cuts
    sklearn: InvalidParameterError expected_mutual_information scorer
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
    called = set(re.findall(r"\.(\w+)\(", inspect.getsource(device_cases)))
    assert methods - called - inherited == set()


def of(module: str, **constants: Any) -> dict[str, Any]:
    return {f"{module}.{name}": value for name, value in constants.items()}


def kernel(name: str) -> dict[str, Any]:
    return of("counting.dispatch", _CUDA_KERNELS=((name, 2**16, 0),))


HOST_PAIRS = of("measures.expected_on_device", MOST_PAIRS=0)  # the host finds which pairs of sizes are equal


def on_host(module: str, **constants: Any) -> dict[str, Any]:
    return HOST_PAIRS | of(module, **constants)


COUNTED = cases("evaluate/batch, dense", "evaluate/batch, sparse")
INFORMATION = cases("evaluate_tables/both sides differ", "evaluate_tables/integers", "evaluate_tables/many items")
COVERS = cases("evaluate_overlapping/batch", "overlap.extended_bcubed_per_item/batch")
AGREEMENT = cases("pairwise/few groups", "pairwise/one group", "stability/plain")
FROM = "ContingencyTables.from_labels"
KERNELS = cases(*(f"{FROM}/{x}" for x in ("dense", "mask", "shared rows", "codes", "more codes", "noise as a cluster")))
LABELS = cases(*(f"{FROM}/{x}" for x in ("gaps", "dense", "mask", "labels of their own by row")))
DRAWN = cases("paired_bootstrap/batch", "permutation_test/few items")
RANDOM = cases("random_tables/few items", "random_tables/many items")
INFORMATION_OF = partial(on_host, "measures.expected_mutual_info")
PATTERNS_OF = partial(of, "overlap.element_centric", _BLOCK_GROUP_PAIRS=2, _PART_PATTERNS=2, _BLOCK_PATTERNS=2)

# Values of constants that lead along a route, and what is run with them.
ROUTES: list[tuple[dict[str, Any], tuple[tuple[str, str], ...]]] = [
    (of("cells.sums", MOST_CELLS=0), COUNTED),
    (of("measures.expected_on_device", PIECE_TERMS=5000, PART_CELLS=3), INFORMATION),
    (of("cells.reductions", _MAX_UNBLOCKED_CELLS=0), cases("evaluate/batch, dense", "per_class/sparse")),
    (of("cells.reductions", _MAX_UNBLOCKED_CELLS=0, _BLOCK_CELLS=7), (*COUNTED, *cases("per_cluster/dense"))),
    (of("common.numerics", SUM_BLOCK=2, _SUM_BLOCK=4), INFORMATION),
    (of("counting.cuda", BLOCK_LABELS=7), KERNELS),
    (of("counting.cuda", BLOCK_LABELS=100, MAX_PRIVATE_COUNTERS=1) | kernel("privatized"), KERNELS),
    (of("counting.cuda", MAX_PRIVATE_COUNTERS=256) | kernel("privatized"), KERNELS),
    (kernel("scatter"), (*KERNELS, *cases("ContingencyAccumulator/sizes"))),
    (
        of("counting.by_group", _ALWAYS_DENSE_CELLS=0, _CELLS_PER_LABEL=0),
        cases(f"{FROM}/groups", "evaluate_tables/groups"),
    ),
    (
        of("counting.dispatch", _ALWAYS_DENSE_CELLS=0, _MAX_AUTO_DENSE_CELLS=0),
        cases(f"{FROM}/mask", "ContingencyAccumulator/growing, sparse"),
    ),
    (of("inference.agreement", _TABLE_CELLS=200, _ITEMS_PER_JOINT_CELL=1), AGREEMENT),
    (of("inference.agreement", _TABLE_CELLS=200, _ITEMS_PER_JOINT_CELL=100), AGREEMENT),
    (of("inference.agreement", _MAX_JOINT_CELLS=1), AGREEMENT),
    (of("inference.cell_resampling", _JACKKNIFE_BLOCK_CELLS=99), cases("bootstrap/bca")),
    (
        of("inference.run_agreement", _VOTE_CELLS=0, _PAIR_CELLS=1, _TABLE_CELLS=1),
        cases("consensus/plain", "consensus/mask", "element_consistency/plain", "transitions/plain"),
    ),
    (of("labels.encoding", _SMALL_TABLE_CELLS=0) | of("labels.codes", SHIFT_BEYOND=1), LABELS),
    (of("labels.codes", _MAX_LOOKUP_ENTRIES=0), LABELS),
    (INFORMATION_OF(PIECE_TERMS=16, SMALL_PIECE_TERMS=1, PIECE_PAIRS=5), INFORMATION),
    (INFORMATION_OF(PIECE_CELLS=300, FEW_GROUPS=1), INFORMATION),
    (INFORMATION_OF(PIECE_SIZES=1, PIECE_CELLS=1), INFORMATION),
    (INFORMATION_OF(FEW_ITEMS=0), INFORMATION),
    (INFORMATION_OF(LEAST_THINNED=10**9), INFORMATION),
    (INFORMATION_OF(FEW_ITEMS=10**9), cases("evaluate_tables/integers")),
    (on_host("measures.hypergeometric_means", PIECE_PAIRS=2), INFORMATION),
    (of("overlap.intersections", _PAIRS_PER_CHUNK=1) | of("overlap.comparison", _CHUNK_ITEM_PAIRS=20), COVERS),
    (of("overlap.intersections", _PAIRS_PER_CHUNK=1) | of("overlap.comparison", _CHUNK_ITEM_PAIRS=9), COVERS),
    (PATTERNS_OF(_BLOCK_CELLS=1, _MIN_BLOCK_ROWS=1), cases("overlap.overlap_element_centric/batch")),
    (PATTERNS_OF(_MAX_BLOCK_ROWS=2), cases("overlap.overlap_element_centric/batch")),
    (of("scoring.evaluation", _DEVICE_CHUNK_CELLS=1), COUNTED),
    (of("streaming.growing_cells", MAX_WAITING_CELLS=0), cases("ContingencyAccumulator/growing")),
    (
        of("torchmetrics.clustering_metric", _MAX_WAITING_CELLS=0, _MAX_WAITING_PARTS=1),
        cases("torchmetrics.AdjustedRandScore/growing"),
    ),
]
# Here other random numbers are drawn, or measures are left out.
OTHER_VALUES: list[tuple[dict[str, Any], tuple[tuple[str, str], ...]]] = [
    (of("inference.draws", _MAX_TABULATED=0, _BLOCK_DRAWS=3, _BATCHED_TRIES=1), RANDOM),
    (of("inference.draws", _SPREADS=(0, float("inf"))), RANDOM),
    *(
        (
            of("inference.paired_comparison", _DRAW_CELL_NS=ns) | of("inference.permutation_tests", _DRAW_CELL_NS=ns),
            DRAWN,
        )
        for ns in (0.0, 1e9)
    ),
    (of("inference.paired_comparison", _DRAW_CELL_NS=1e9, _MAX_ITEMS=1), DRAWN[:1]),
    (of("inference.permutation_tests", _MAX_ITEMS=0), DRAWN[1:]),
    (
        of("inference.resampling", MAX_DRAWN_CELLS=2000) | of("inference.sampling", RESAMPLES_PER_BLOCK=8),
        (*DRAWN, *cases("bootstrap/all cells", "multinomial_tables/dense")),
    ),
    (of("inference.cell_resampling", _ITEMS_PER_CELL=0), DRAWN[:1]),
    (
        of("inference.cell_resampling", ALWAYS_DENSE_CELLS=0),
        cases("bootstrap/filled cells", "permutation_test/items", "paired_bootstrap/batch"),
    ),
    (of("scoring.evaluation", _MAX_ASSIGNED_GROUPS=0), cases("evaluate_tables/families, sparse")),
    (of("scoring.evaluation", _MAX_PADDING=1), cases("pooled/groups, sparse")),
]


def patched(stack: ExitStack, constant: str, value: Any) -> None:
    """In its own module, and in those that import it."""
    home, _, name = constant.rpartition(".")
    original = getattr(importlib.import_module(f"torchclusteval.{home}"), name)
    for module, content in list(sys.modules.items()):
        if module.startswith("torchclusteval.") and vars(content).get(name) is original:
            stack.enter_context(mock.patch(f"{module}.{name}", value))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constants", "run"), ROUTES + OTHER_VALUES, ids=lambda x: next(iter(x)) if isinstance(x, dict) else ""
)
def test_every_route_by_size_stays_on_the_device(constants: dict[str, Any], run: tuple[tuple[str, str], ...]) -> None:
    with ExitStack() as stack:
        for constant, value in constants.items():
            patched(stack, constant, value)
        for function, kind in run:
            check(function, kind, values=(constants, run) in ROUTES)
