"""A pytest plugin that puts torchclusteval's functions in place of scikit-learn's before its tests import them.

``test_sklearn.py`` runs scikit-learn's own suite with it, in a process of its own. ``SUITE_REPORT`` names the file
for the report: calls of each function, and outcomes of each test.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import sklearn.metrics.cluster as public
from sklearn.metrics.cluster import _supervised as private

import torchclusteval.sklearn as ours

calls: Counter[str] = Counter()
outcomes: dict[str, set[str]] = defaultdict(set)


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        return function(*arguments, **options)

    return call


for name in ours.__all__:
    if hasattr(private, name):
        function = counted(name, getattr(ours, name))
        setattr(public, name, function)
        setattr(private, name, function)
        calls[name] = 0


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        outcomes[report.nodeid.rpartition("::")[2].partition("[")[0]].add(report.outcome)


def pytest_sessionfinish() -> None:
    report = {"calls": calls, "outcomes": {test: sorted(found) for test, found in outcomes.items()}}
    Path(os.environ["SUITE_REPORT"]).write_text(json.dumps(report))
