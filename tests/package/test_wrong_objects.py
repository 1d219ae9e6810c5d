"""Readers of files, metric classes and the functions named as scikit-learn's refuse wrong kinds of things by name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support.wrong_kinds import RUNS, TABLES, WRONG, L, fails_rightly
from torchclusteval import meta, sklearn, streaming
from torchclusteval.reports import Report

metrics = pytest.importorskip("torchclusteval.torchmetrics")

CODES = torch.tensor(L)


def wrong_ones(call: Callable[[Any], Any], name: str, *others: str) -> dict[str, str]:
    """What is wrong with the errors of each kind of value."""
    found = {}
    for kind, value in WRONG.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [fails_rightly(lambda value=value: call(value), x) for x in (name, *others)]  # type: ignore[misc]
        if None not in results:
            found[kind] = str(results[0])
    return found


READERS: dict[str, Callable[[Any], Any]] = {
    "read_conll-path": tce.read_conll,
    "read_conll-on_duplicate": lambda x: tce.read_conll("none.conll", on_duplicate=x),
    "read_memberships-path": tce.read_memberships,
    "read_memberships-layout": lambda x: tce.read_memberships("none.tsv", layout=x),
    "read_memberships-header": lambda x: tce.read_memberships("none.tsv", header=x),
    "to_html-path": lambda x: Report((), None, "").to_html(x),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", READERS)
def test_paths(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = case.partition("-")[2]
    wrong = wrong_ones(READERS[case], name)
    if name == "path":
        assert wrong.pop("text", "FileNotFoundError").startswith("FileNotFoundError")
        for value in (b"x", "", "a\0b", Path("a\0b"), ["x"]):
            assert fails_rightly(lambda value=value: READERS[case](value), "path") is None  # type: ignore[misc]
            with pytest.raises(ValueError, match="path: expected the path of a file"):
                READERS[case](value)
    assert wrong == {}


CLASSES = {name: getattr(metrics, name) for name in metrics.__all__ if inspect.isclass(getattr(metrics, name))}
OPTIONS = [*inspect.signature(metrics.ClusteringMetric.__init__).parameters][1:-1]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_metric_objects(name: str) -> None:
    def used(value: Any) -> None:
        metric = metrics.ClusteringMetric(**{name: value})
        metric.update(CODES, CODES)
        metric.compute()

    others = ("preds", "target") if name == "item_dims" else ()
    assert wrong_ones(used, name, *others) == {}


@pytest.mark.parametrize("name", CLASSES)
def test_labels_of_metric_objects(name: str) -> None:
    """A batch that is refused leaves what was counted before."""
    metric = CLASSES[name](2) if name == "ClusterAccuracy" else CLASSES[name]()
    metric.update(CODES, CODES)
    before = metric.compute()
    for side in ("preds", "target"):
        given = {"preds": CODES, "target": CODES}
        for method in (metric.update, metric.forward):
            call = lambda x, method=method, side=side, given=given: method(**{**given, side: x})  # noqa: E731
            assert wrong_ones(call, side, "preds", "target", "device") == {}
    assert metric.compute() == before


@pytest.mark.parametrize(
    "name", [name for name in CLASSES if "average_method" in str(inspect.signature(CLASSES[name]))]
)
def test_means_of_metric_objects(name: str) -> None:
    assert wrong_ones(lambda x: CLASSES[name](average_method=x), "average_method") == {}


def test_states_of_metric_objects() -> None:
    metric = metrics.ClusteringMetric()
    assert wrong_ones(metric.merge_state, "state", "incoming_state") == {}
    accumulator = tce.ContingencyAccumulator(2, 2)
    assert wrong_ones(accumulator.load_state_dict, "state") == {}
    assert wrong_ones(accumulator.merge, "other") == {}


FUNCTIONS = {name: getattr(sklearn, name) for name in sklearn.__all__ if inspect.isfunction(getattr(sklearn, name))}
REQUIRED = {"contingency": torch.tensor([[1, 0], [1, 2]]), "n_samples": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for path, function in FUNCTIONS.items() for name in inspect.signature(function).parameters],
)
def test_functions_named_as_those_of_scikit_learn(path: str, name: str) -> None:
    """Their messages are scikit-learn's, which name no argument where a value is at fault."""
    given = {
        x: REQUIRED.get(x, L) for x, y in inspect.signature(FUNCTIONS[path]).parameters.items() if y.default is y.empty
    }
    FUNCTIONS[path](**given)
    for kind, value in WRONG.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert refused_here(lambda value=value: FUNCTIONS[path](**{**given, name: value})), kind  # type: ignore[misc]


def refused_here(call: Callable[[], Any]) -> bool:
    """Whether a call works, or fails by an error that the package raises."""
    try:
        call()
    except (ValueError, TypeError):
        return "torchclusteval" in inspect.trace()[-1].filename
    return True


NAMED: dict[str, Callable[[], Any]] = {
    "Scores": lambda: tce.evaluate(L, L, "ari"),
    "Summary": lambda: tce.evaluate(L, RUNS, "ari").summary(),
    "GroupScores": lambda: tce.per_class(TABLES),
    "MatchedScores": lambda: tce.matched_scores(TABLES, tce.match(TABLES)),
    "ResultsByMeasure": lambda: tce.bootstrap(TABLES, "ari", n_resamples=20),
    "ConstraintReport": lambda: meta.check_constraints("purity", instances=4),
}


@pytest.mark.parametrize("case", NAMED)
def test_unknown_names_are_told_the_known_ones(case: str) -> None:
    made = NAMED[case]()
    for key in ("none", None, 7, ["ari"], b"ari", torch.tensor(1)):
        with pytest.raises(KeyError, match=f"there are {', '.join(made)}"):
            made[key]
        assert made.get(key, "default") == "default" if not isinstance(key, list | torch.Tensor) else True


def test_sizes_that_64_bits_do_not_number() -> None:
    for shape in ([2**63], [2**40, 2**40], [0, 2**63], [10**30]):
        with pytest.raises(ValueError, match="batch_shape: expected fewer than"):
            streaming.ContingencyAccumulator(batch_shape=shape)


def test_one_argument_is_named_once() -> None:
    for call in (
        lambda x: tce.report(L, RUNS, by=x, n_resamples=20),
        lambda x: tce.ContingencyTables.from_cells(L, L, batch=x),
        lambda x: tce.pairwise(x),
    ):
        with pytest.raises(ValueError, match="expected") as caught:
            call([[0], [1]])
        names = str(caught.value).partition(":")[0].split(", ")
        assert len(names) == 1, caught.value


def test_tensors_that_hold_one_number_are_that_number() -> None:
    """Python takes two tensors for different keys, whatever they hold."""
    one, two = torch.tensor(1), torch.tensor(2)
    tables = tce.ContingencyTables.from_groups({"a": [one, two], "b": [3]}, [[1, torch.tensor(2)], [torch.tensor(3)]])
    assert tables.counts.tolist() == [[2, 0], [0, 1]]
    assert tables.classes is not None
    assert tables.classes.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="pred_groups: expected every item in one group; got 1 in groups 0 and 1"):
        tce.ContingencyTables.from_groups([[1]], [[one], [torch.tensor(1)]])
    members = tce.Memberships.from_lists([[one], [torch.tensor(1), two]])
    assert members.group_sizes.tolist() == [2, 1]
    for call, name in (
        (lambda: tce.ContingencyTables.from_groups([[torch.tensor([1, 2])]], [[1]]), "true_groups"),
        (lambda: tce.ContingencyTables.from_documents({one: [[1]]}, {one: [[1]]}), "true_documents"),
        (lambda: tce.ContingencyTables.from_intervals({one: []}, {one: []}), "true"),
        (lambda: tce.ContingencyTables.from_intervals([(0, 1, one), (1, 2, torch.tensor(1))], []), "true"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: expected .*keys of a dictionary; got tensor"):
            call()


def test_long_doubles_are_numbers() -> None:
    weights = np.array([0.5, 1.0, 2.0, 0.5], dtype=np.longdouble)
    tables = tce.ContingencyTables.from_labels(L, L, weights=weights)
    assert tables.counts.tolist() == [[1.5, 0.0], [0.0, 2.5]]
    assert tce.ContingencyTables(np.array([[1, 2], [3, 4]], dtype=np.longdouble)).counts.tolist() == [[1, 2], [3, 4]]


LENGTH: Any = np.timedelta64(3, "s")
BATCH = tce.ContingencyTables([[[2, 1], [0, 3]]] * 3)
MEMBERS = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
OTHERS: dict[str, Callable[[], Any]] = {
    "num_classes": lambda: tce.ContingencyTables.from_labels(L, L, num_classes=LENGTH),
    "num_groups": lambda: tce.ContingencyTables.from_labels(L, L, by=L, num_groups=LENGTH),
    "item_dims": lambda: tce.ContingencyTables.from_labels(L, L, item_dims=LENGTH),
    "confidence_level": lambda: tce.bootstrap(TABLES, "ari", 20, confidence_level=LENGTH),
    "heights": lambda: tce.Memberships.from_linkage([[0, 1, 1.0, 2]], heights=[LENGTH]),
    "ignore_index": lambda: tce.ContingencyTables.from_labels(L, L, ignore_index=np.ma.masked),
    "noise_label": lambda: tce.ContingencyTables.from_labels(L, L, noise_label=np.ma.masked),
    "absent_true": lambda: tce.ContingencyTables.from_labels(L, L, absent_true=np.ma.masked),
    "tables a": lambda: BATCH["x"],
    "tables b": lambda: BATCH[10**30],
    "tables c": lambda: BATCH[3],
    "memberships a": lambda: tce.Memberships.stack([MEMBERS, MEMBERS])[{}],
    "memberships b": lambda: tce.Memberships.stack([MEMBERS, MEMBERS])[2],
    "batch_shape a": lambda: MEMBERS.expand(None),  # type: ignore[arg-type]
    "batch_shape b": lambda: tce.Memberships.stack([MEMBERS, MEMBERS]).expand([3]),
    "items a": lambda: tce.Memberships.from_groups({"a": [1]}, items="x"),
    "items b": lambda: tce.Memberships.from_groups({"a": [1]}, items=[[1]]),
    "items c": lambda: tce.Memberships.from_labels(L, items="abcd"),
    "paths a": lambda: tce.Memberships.from_hierarchy([torch.tensor(1)]),
    "paths b": lambda: tce.Memberships.from_hierarchy([WRONG["nested"]]),
    "device a": lambda: TABLES.to("nowhere"),
    "device b": lambda: TABLES.to(torch.float64),  # type: ignore[arg-type]
    "device c": lambda: TABLES.to("meta"),
    "dst_type": lambda: metrics.AdjustedRandScore().set_dtype("none"),
    "state a": lambda: metrics.ClusteringMetric("ari", 2, 2).merge_state({"counts": None}),
    "state b": lambda: metrics.ClusteringMetric("ari", 2, 2).merge_state({"counts": []}),
    "state c": lambda: metrics.ClusteringMetric("ari").merge_state({"cells": [None]}),
    "state d": lambda: tce.ContingencyAccumulator(2, 2).load_state_dict(
        {"counts": WRONG["nested"], "considered": torch.tensor(0)}
    ),
}


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_other_wrong_arguments(case: str) -> None:
    with pytest.raises((ValueError, IndexError), match=rf"^{case.split()[0]}: expected [^\n]+; got [^\n]+$"):
        OTHERS[case]()


@pytest.mark.parametrize("kind", WRONG)
def test_names_and_sources_of_pictures(kind: str) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from torchclusteval import plots

    scores, pairs = tce.evaluate(L, RUNS), tce.pairwise(RUNS, "ari")
    for call, name in (
        (lambda x: plots.plot_flow(RUNS, names=x), "names"),
        (lambda x: plots.plot_transitions(RUNS, names=x), "names"),
        (lambda x: plots.plot_scores(scores, "ari", names=x), "names"),
        (lambda x: plots.plot_agreement(pairs, names=x), "names"),
        (lambda x: plots.plot_scores(scores, x), "measure"),
        (lambda x: plots.plot_agreement(pairs, x), "measure"),
        (plots.plot_flow, "source"),
        (plots.plot_transitions, "source"),
    ):
        assert fails_rightly(lambda call=call: call(WRONG[kind]), name) is None  # type: ignore[misc]
        pyplot.close("all")
