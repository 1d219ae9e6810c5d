"""Every argument of every public function refuses wrong kinds of things by name, or takes them rightly."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support.wrong_kinds import RUNS, TABLES, WRONG, L, fails_rightly
from torchclusteval import sklearn

MEMBERS = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
TREE = [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.0, 2.0], [4.0, 5.0, 3.0, 4.0]]

# Right values of the arguments that functions require, by name; for one function before those for all.
RIGHT: dict[str, Any] = {
    "tables": TABLES,
    "labels_true": L,
    "labels_pred": L,
    "true": MEMBERS,
    "pred": MEMBERS,
    "labels": RUNS,
    "labels_a": L,
    "labels_b": L,
    "match": tce.match(TABLES),
    "groups": {"old": [0], "new": [1]},
    "measures": "ari",
    "measure": "rand",
    "class_sizes": torch.tensor([2, 2]),
    "cluster_sizes": torch.tensor([2, 2]),
    "sums": {"n_cells": 2, "squares": 8},
    "chunks": [(L, L)],
    "size": 3,
    "pairs": [(0, 1)],
    "Z": TREE,
    "Z_true": TREE,
    "Z_pred": TREE,
    "memberships": tce.Memberships.from_hierarchy([("all", "a"), ("all", "b")]),
    "useful_classes": 2,
    "useful_clusters": 2,
    "noise_classes": 1,
    "noise_clusters": 1,
    "eps1": 0.1,
    "eps2": 0.1,
    "eps3": 0.1,
    "weights": "uniform",
    **dict.fromkeys(("tables_a", "tables_b"), tce.ContingencyTables([[[2, 1], [0, 3]]] * 2)),
    "pooled.tables": tce.ContingencyTables([[[2, 1], [0, 3]]] * 2),
}
STAGES = ("", "measures", "overlap", "inference", "streaming", "meta")
# They read files, or take seconds for each call.
APART = {
    *("read_conll", "read_memberships", "overlap.read_memberships", "report", "compile"),
    *("meta.check_properties", "meta.check_constraints", "meta.grid_tables"),
}


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    seen: set[int] = set()
    for stage in STAGES:
        module = importlib.import_module(f"torchclusteval.{stage}".rstrip("."))
        for name in module.__all__:
            function = getattr(module, name)
            path = f"{stage}.{name}".lstrip(".")
            if inspect.isfunction(function) and id(function) not in seen and path not in APART:
                seen.add(id(function))
                yield path, function


def right_arguments(path: str, function: Callable[..., Any]) -> dict[str, Any]:
    required = [
        name
        for name, x in inspect.signature(function).parameters.items()
        if x.default is x.empty and x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)
    ]
    return {name: RIGHT.get(f"{path}.{name}", RIGHT.get(name)) for name in required}


def calls() -> Iterator[tuple[str, str]]:
    for path, function in functions():
        for name, x in inspect.signature(function).parameters.items():
            if x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL):
                yield path, name


FUNCTIONS = dict(functions())
CALLS = list(calls())


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name"), CALLS)
@pytest.mark.filterwarnings("ignore")
def test_wrong_things_are_refused_by_name(path: str, name: str) -> None:
    function, arguments = FUNCTIONS[path], right_arguments(path, FUNCTIONS[path])
    function(**arguments)
    wrong = {
        kind: fails_rightly(lambda value=value: function(**{**arguments, name: value}), name)  # type: ignore[misc]
        for kind, value in WRONG.items()
    }
    assert {kind: found for kind, found in wrong.items() if found is not None} == {}


@pytest.mark.parametrize("wrong", ["", "3", b"x", 3, [-1], [1.5], None])
def test_sizes_of_a_batch_are_no_text(wrong: Any) -> None:
    with pytest.raises(ValueError, match="batch_shape: expected sizes of at least 0"):
        tce.ContingencyAccumulator(2, 2, batch_shape=wrong)


def masked(rows: Any) -> Any:
    """The first entry is masked; what lies below is a good value."""
    array = np.array(rows)
    return np.ma.array(array, mask=np.arange(array.size).reshape(array.shape) == 0)


NUMBERS = [[0.5, 0.5], [0.25, 1.0]]
# What takes numbers, booleans or names; labels may be masked, which is a missing label.
MASKED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "matrix": (tce.Memberships.from_matrix, [[1, 0], [0, 1]]),
    "Z": (lambda x: tce.Memberships.from_linkage(x, heights=1.0), TREE),
    "heights": (lambda x: tce.Memberships.from_linkage(TREE, heights=x), [1.0, 2.0]),
    "Z_true": (lambda x: tce.overlap.fowlkes_mallows_of_cuts(x, TREE), TREE),
    "Z_pred": (lambda x: tce.overlap.fowlkes_mallows_of_cuts(TREE, x), TREE),
    "items": (lambda x: tce.Memberships.from_labels(L, items=x), [5, 6, 7, 8]),
    "memberships": (tce.Memberships.from_lists, [[1, 2], [2, 3]]),
    "paths": (tce.Memberships.from_hierarchy, [[1, 2], [1, 3]]),
    "true_weights": (lambda x: tce.overlap.overlap_element_centric(MEMBERS, MEMBERS, true_weights=x), [1.0, 2.0]),
    "pairs": (lambda x: tce.overlap.multiplicity_precision(MEMBERS, MEMBERS, x), [[0, 1], [1, 2]]),
    "counts": (tce.ContingencyTables, NUMBERS),
    "p_true": (lambda x: tce.ContingencyTables.from_probabilities(x, NUMBERS), NUMBERS),
    "p_pred": (lambda x: tce.ContingencyTables.from_probabilities(NUMBERS, x), NUMBERS),
    "counts of cells": (lambda x: tce.ContingencyTables.from_cells(L, L, counts=x), [1, 2, 3, 4]),
    "true_groups": (lambda x: tce.ContingencyTables.from_groups(x, [[0, 1]]), [[0, 1], [2, 3]]),
    "true_documents": (lambda x: tce.ContingencyTables.from_documents({"a": x}, {"a": []}), [[0, 1], [2, 3]]),
    "weights": (lambda x: tce.evaluate(L, L, "ari", weights=x), [1, 2, 1, 1]),
    "mask": (lambda x: tce.evaluate(L, L, "ari", mask=x), [True, True, False, True]),
    "mask of runs": (lambda x: tce.consensus(RUNS, mask=x), [True, True, False, True]),
    "mask of the runs": (lambda x: tce.cluster_stability(L, RUNS, x), [True, True, False, True]),
    "weights of classes": (lambda x: tce.estimate_from_sample(TABLES, weights=x), [1.0, 2.0]),
    "useful_classes": (
        lambda x: tce.meta.parametric_tables(x, 2, noise_classes=1, noise_clusters=1, eps1=0.1, eps2=0.1, eps3=0.1),
        [2, 3],
    ),
    "tables": (lambda x: tce.ContingencyTables([NUMBERS] * 2)[x], [0, 1]),
    "labels_true": (lambda x: sklearn.rand_score(x, L), L),
    "contingency": (lambda x: sklearn.mutual_info_score(None, None, contingency=x), [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("case", MASKED)
@pytest.mark.filterwarnings("error")
def test_masked_entries_are_no_numbers(case: str) -> None:
    """NumPy would take what lies below the mask."""
    call, right = MASKED[case]
    call(np.array(right))
    call(np.ma.array(right))
    wrong = [masked(right), list(masked(right)), [masked(row) for row in right], [[masked(row) for row in right]]]
    for value in wrong if np.ndim(right) > 1 else wrong[:1]:
        with pytest.raises(ValueError, match=rf"^{case.split()[0]}\b.*(masked|None|dimensions|shape)"):
            call(value)


def test_masked_rows_of_a_list_are_not_labels() -> None:
    """NumPy would take what lies below the mask."""
    rows = [L, np.ma.array([0, 1, 1, 1], mask=[False, True, False, False])]
    for call in (
        tce.pairwise,
        tce.stability,
        tce.consensus,
        lambda x: tce.evaluate(L, x),
        lambda x: tce.evaluate(x, L),
    ):
        with pytest.raises(ValueError, match=r"masked entries|missing"):
            call(rows)


@pytest.mark.parametrize("measures", [[None], [None] * 4, ["ari", None], ("ari", float("nan")), np.array([None])])
def test_no_measure_of_a_list_is_missing(measures: Any) -> None:
    for call in (
        lambda: tce.evaluate(L, L, measures),
        lambda: tce.evaluate_tables(TABLES, measures),
        lambda: tce.evaluate_overlapping(MEMBERS, MEMBERS, measures[-1:]),
        lambda: tce.pairwise(RUNS, measures),
    ):
        with pytest.raises(ValueError, match=r"measures: expected names or Measure records; got (None|float)"):
            call()
