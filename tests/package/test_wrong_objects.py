"""Readers of files, metric classes and the functions named as scikit-learn's refuse wrong kinds of things by name."""

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
from torchclusteval import meta
from torchclusteval import torchmetrics as metrics
from torchclusteval.reports import Report

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


@pytest.mark.parametrize("name", [x for x in CLASSES if "average_method" in str(inspect.signature(CLASSES[x]))])
def test_means_of_metric_objects(name: str) -> None:
    assert wrong_ones(lambda x: CLASSES[name](average_method=x), "average_method") == {}


def test_states_of_metric_objects() -> None:
    metric = metrics.ClusteringMetric()
    assert wrong_ones(metric.merge_state, "state", "incoming_state") == {}
    accumulator = tce.ContingencyAccumulator(2, 2)
    assert wrong_ones(accumulator.load_state_dict, "state") == {}
    assert wrong_ones(accumulator.merge, "other") == {}


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


LENGTH: Any = np.timedelta64(3, "s")
BATCH = tce.ContingencyTables([[[2, 1], [0, 3]]] * 3)
MEMBERS = tce.Memberships.from_lists([["a"], ["a", "b"], ["b"]])
OTHERS: dict[str, Callable[[], Any]] = {
    "num_classes": lambda: tce.ContingencyTables.from_labels(L, L, num_classes=LENGTH),
    "ignore_index": lambda: tce.ContingencyTables.from_labels(L, L, ignore_index=np.ma.masked),
    "absent_true": lambda: tce.ContingencyTables.from_labels(L, L, absent_true=np.ma.masked),
    "tables a": lambda: BATCH["x"],
    "tables b": lambda: BATCH[3],
    "memberships": lambda: tce.Memberships.stack([MEMBERS, MEMBERS])[{}],
    "items": lambda: tce.Memberships.from_groups({"a": [1]}, items=[[1]]),
    "device": lambda: TABLES.to("nowhere"),
    "state": lambda: metrics.ClusteringMetric("ari", 2, 2).merge_state({"counts": []}),
}


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_other_wrong_arguments(case: str) -> None:
    with pytest.raises((ValueError, IndexError), match=rf"^{case.split()[0]}: expected [^\n]+; got [^\n]+$"):
        OTHERS[case]()
