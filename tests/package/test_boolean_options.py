"""Options that are True or False refuse everything else, however true it looks."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchclusteval as tce
from torchclusteval import ContingencyTables
from torchclusteval.sklearn import contingency_matrix
from torchclusteval.torchmetrics import ClusteringMetric

L = [0, 0, 1, 1]
TABLES = ContingencyTables([[2, 1], [0, 3]])
PROBABILITIES = [[0.5, 0.5]] * 4


def measure(**options: Any) -> Any:
    return tce.Measure(name="own", family="pairs", function=tce.measures.rand, range=(0, 1), **options)


# Each public callable with such options, given valid arguments for the others.
CALLS: dict[str, Callable[..., Any]] = {
    "ContingencyAccumulator": tce.ContingencyAccumulator,
    "ContingencyTables": lambda **o: ContingencyTables([[1, 2]], **o),
    "ContingencyTables.from_cells": lambda **o: ContingencyTables.from_cells(L, L, **o),
    "ContingencyTables.from_probabilities": lambda **o: ContingencyTables.from_probabilities(
        PROBABILITIES, PROBABILITIES, **o
    ),
    "Measure": measure,
    "bootstrap": lambda **o: tce.bootstrap(TABLES, "purity", 10, **o),
    "paired_bootstrap": lambda **o: tce.paired_bootstrap(L, L, L, "purity", n_resamples=10, **o),
    "permutation_test": lambda **o: tce.permutation_test(TABLES, "ari", 10, **o),
    "measures.adapted_rand_error": lambda **o: tce.measures.adapted_rand_error(TABLES, **o),
    "measures.adjusted_rand_of_model": lambda **o: tce.measures.adjusted_rand_of_model(TABLES, **o),
    "measures.ami_of_model": lambda **o: tce.measures.ami_of_model(TABLES, **o),
    "measures.hubert_gamma": lambda **o: tce.measures.hubert_gamma(TABLES, **o),
    "measures.mirkin": lambda **o: tce.measures.mirkin(TABLES, **o),
    "torchmetrics.ClusteringMetric": lambda **o: ClusteringMetric("ari", **o),
    "sklearn.contingency_matrix": lambda **o: contingency_matrix(L, L, **o),
}
STAGES = ("", "measures", "overlap", "inference", "streaming", "torchmetrics", "meta", "sklearn", "plots")
RECORDS = {"Matching", "Scores", "inference.Consensus"}  # what the package makes
INHERITED = ("persistent",)  # of torchmetrics


def boolean_options() -> Iterator[tuple[str, str]]:
    """All parameters of public callables, and of the public methods of classes, whose type is a boolean."""
    seen: set[int] = set()
    for stage in STAGES:
        module = importlib.import_module(f"torchclusteval.{stage}".rstrip("."))
        for name in module.__all__:
            public = getattr(module, name)
            if not callable(public) or id(public) in seen:
                continue
            seen.add(id(public))
            full = f"{stage}.{name}".lstrip(".")
            for path, function in [(full, public), *methods(full, public)]:
                for parameter in parameters(function):
                    if str(parameter.annotation) in ("bool", "<class 'bool'>", "bool | None"):
                        yield path, parameter.name


def methods(full: str, public: Any) -> list[tuple[str, Any]]:
    if not (inspect.isclass(public) and public.__module__.startswith("torchclusteval")):
        return []
    names = [name for name in dir(public) if not name.startswith("_") and name not in INHERITED]
    ours = [(name, getattr(public, name)) for name in names]
    return [
        (f"{full}.{name}", x)
        for name, x in ours
        if callable(x) and str(getattr(x, "__module__", "")).startswith("torchclusteval")
    ]


def parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


FOUND = [(path, name) for path, name in boolean_options() if path not in RECORDS]


def test_every_boolean_option_has_a_call() -> None:
    assert {path for path, _ in FOUND} == set(CALLS)


@pytest.mark.parametrize(("path", "option"), FOUND)
@pytest.mark.parametrize("wrong", ["no", 2, None, 1, 0, [], "True", 1.0], ids=repr)
def test_what_is_no_boolean_is_refused(path: str, option: str, wrong: Any) -> None:
    if wrong is None and path == "ContingencyTables.from_probabilities":  # decides by the device
        return
    with pytest.raises((ValueError, TypeError), match=option):
        CALLS[path](**{option: wrong})


@pytest.mark.parametrize(("path", "option"), FOUND)
def test_booleans_of_numpy_are_booleans(path: str, option: str) -> None:
    for value in (True, np.False_):
        CALLS[path](**{option: value})


def test_options_that_are_passed_on() -> None:
    for call in (
        lambda: ContingencyTables.from_labels(L, L, validate=1),  # type: ignore[arg-type]
        lambda: tce.evaluate(L, L, validate="no"),  # type: ignore[arg-type]
        lambda: tce.per_item(L, L, validate=2),  # type: ignore[arg-type]
        lambda: tce.evaluate_stream([(L, L)], validate=None),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"^validate: expected one of False, True; got"):
            call()
