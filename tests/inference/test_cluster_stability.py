"""Stability of clusters, consensus, consistency and transitions: hand-worked fractions, slow loops, laws."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import torchclusteval as tce

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "matching.json").read_text())
RUNS = GOLDEN["runs"]["labels"]


def fractions(values: list[str]) -> list[float]:
    return [float(Fraction(x)) for x in values]


@pytest.mark.parametrize("case", GOLDEN["stability"])
def test_worked_stability(case: dict[str, Any]) -> None:
    found = tce.cluster_stability(case["reference"], case["runs"])
    for row, expected in zip(found.jaccard.tolist(), case["jaccard"], strict=True):
        assert row == pytest.approx(fractions(expected), abs=1e-15)
    assert found.mean_jaccard.tolist() == pytest.approx(fractions(case["mean_jaccard"]), abs=1e-15)
    assert found.recovered.tolist() == case["recovered"]
    assert found.dissolved.tolist() == case["dissolved"]
    mask = [[x is not None for x in run] for run in case["runs"]]
    filled = [[9 if x is None else x for x in run] for run in case["runs"]]
    assert tce.cluster_stability(case["reference"], filled, mask).jaccard.tolist() == found.jaccard.tolist()


def test_worked_prediction_strength() -> None:
    counts = GOLDEN["prediction_strength"]["counts"]
    cells = [(i, j) for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)]
    true, pred = zip(*cells, strict=True)
    found = tce.cluster_stability(true, pred).prediction_strength
    assert found.tolist() == pytest.approx(fractions(GOLDEN["prediction_strength"]["values"]), abs=1e-15)
    assert found.min().item() == pytest.approx(float(Fraction(GOLDEN["prediction_strength"]["smallest"])), abs=1e-15)


def slow_jaccard(reference: list[Any], run: list[Any], noise: object) -> list[float]:
    values = []
    for label in sorted({x for x in reference if x is not None}):
        c = {i for i, x in enumerate(reference) if x == label and run[i] is not None}
        others = {x for x in run if x is not None and (x == noise) == (label == noise)}
        shares = [0.0]
        for other in others:
            d = {i for i, x in enumerate(run) if x == other and reference[i] is not None}
            shares.append(len(c & d) / len(c | d) if c | d else 0.0)
        values.append(max(shares) if c else float("nan"))
    return values


@pytest.mark.parametrize("noise", [None, -1])
def test_stability_equals_a_slow_loop(noise: int | None) -> None:
    generator = np.random.default_rng(5)
    reference = generator.integers(-1, 4, 60).tolist()
    runs = [[None if generator.random() < 0.2 else int(x) for x in generator.integers(-1, 3, 60)] for _ in range(7)]
    found = tce.cluster_stability(reference, runs, noise_label=noise)
    for row, run in zip(found.jaccard.tolist(), runs, strict=True):
        assert row == pytest.approx(slow_jaccard(reference, run, noise), nan_ok=True)
    order = generator.permutation(7)
    again = tce.cluster_stability(reference, [runs[k] for k in order], noise_label=noise)
    torch.testing.assert_close(again.mean_jaccard, found.mean_jaccard, rtol=1e-15, atol=0)
    assert again.recovered.tolist() == found.recovered.tolist()


def test_noise_is_compared_with_noise_alone() -> None:
    """The noise of the reference is a cluster of the run: that does not recover it."""
    found = tce.cluster_stability([-1, -1, 0, 0, 0], [[5, 5, 0, 0, 0], [-1, -1, 0, 0, 0]], noise_label=-1)
    assert found.labels.tolist() == [-1, 0]
    assert found.jaccard.tolist() == [[0, 1], [1, 1]]
    assert found.recovered.tolist() == [1, 2]
    words = tce.cluster_stability(list("nnab"), [list("xxab"), list("nnnb")], noise_label="n")
    assert words.labels.tolist() == ["a", "b", "n"]
    assert words.jaccard.tolist() == [[1, 1, 0], [0, 1, pytest.approx(2 / 3)]]


def test_clusters_that_runs_lack() -> None:
    found = tce.cluster_stability([0, 0, 1, 2], [[0, 0, None, None], [0, 1, 1, None]])
    assert found.runs.tolist() == [2, 1, 0]
    assert found.mean_jaccard.tolist() == pytest.approx([0.75, 0.5, float("nan")], nan_ok=True)
    assert found.recovered.tolist() == [1, 0, 0]
    assert found.dissolved.tolist() == [1, 1, 0]
    assert found.size.tolist() == [2, 1, 1]
    for line in ("mean_jaccard", "nan"):
        assert line in str(found)
    assert found.to_pandas()["dissolved"].tolist() == [1, 1, 0]


def test_references_that_are_none() -> None:
    with pytest.raises(ValueError, match="one clustering"):
        tce.cluster_stability([[0, 1]], [[0, 1]])
    with pytest.raises(ValueError, match="labels_true"):
        tce.cluster_stability([None, None], [[0, 1]])


def test_worked_runs() -> None:
    found = tce.consensus(RUNS)
    assert found.labels.tolist() == GOLDEN["runs"]["consensus"]
    assert 1 - found.agreement.mean().item() == pytest.approx(float(Fraction(GOLDEN["runs"]["uncertainty"])))
    assert found.converged
    ties = tce.consensus([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    assert ties.labels.tolist() == [0, 0, 0, 1, 1]  # the lowest label
    values = tce.element_consistency(RUNS).tolist()
    assert values == pytest.approx(fractions(GOLDEN["runs"]["element_consistency"]), abs=1e-15)
    stable = tce.transitions(RUNS)
    first = [x for run, x in zip(stable.run.tolist(), stable.stability.tolist(), strict=True) if run == 0]
    assert first == pytest.approx(fractions(GOLDEN["runs"]["sc3_of_the_first"]), abs=1e-15)


def test_consensus_grows_and_starts_anywhere() -> None:
    """Four of five runs split what the first one joins; they win; either half may keep the label."""
    runs = [[4, 4, 4, 4], *[[0, 0, 1, 1]] * 4]
    found = tce.consensus(runs)
    first, second = [4, 4, 5, 5], [5, 5, 4, 4]
    assert found.labels.tolist() in (first, second)
    assert found.agreement.tolist() == ([1, 1, 0.8, 0.8] if found.labels.tolist() == first else [0.8, 0.8, 1, 1])
    assert tce.consensus(runs, start=1).labels.tolist() == [0, 0, 1, 1]
    assert tce.consensus(runs, start=["a", "a", "b", "b"]).labels.tolist() == ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match="start"):
        tce.consensus(runs, start=5)
    with pytest.raises(ValueError, match="start"):
        tce.consensus(runs, start=[0, 1])
    with pytest.raises(ValueError, match="labels"):
        tce.consensus([0, 1])


def test_consensus_without_some_items(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [[0, 0, 1, None, None], [3, 3, None, 8, None], [3, 3, 8, 8, None]]
    for cells in (1 << 25, 0):  # votes in a table, and sorted
        monkeypatch.setattr("torchclusteval.inference.run_agreement._VOTE_CELLS", cells)
        found = tce.consensus(runs)
        assert found.labels.tolist()[:4] == [0, 0, 1, 1]
        assert found.agreement.tolist() == pytest.approx([1, 1, 1, 1, float("nan")], nan_ok=True)
        assert found.converged


def slow_consistency(runs: np.ndarray) -> list[float]:
    values = []
    for i in range(runs.shape[1]):
        shares = []
        for a, b in combinations(runs, 2):
            first, second = a == a[i], b == b[i]
            shares.append((first & second).sum() / max(first.sum(), second.sum()))
        values.append(float(np.mean(shares)))
    return values


@pytest.mark.parametrize("groups", [3, 60])
def test_consistency_equals_a_slow_loop(groups: int) -> None:
    runs = np.random.default_rng(groups).integers(0, groups, (5, 80))
    assert tce.element_consistency(runs).tolist() == pytest.approx(slow_consistency(runs))


def test_consistency_of_the_items_that_two_runs_have() -> None:
    found = tce.element_consistency([[0, 0, 1, None], [5, 5, None, None], [2, 2, 2, None]])
    expected = [(1 + 2 / 3 + 1) / 3] * 2 + [1 / 3, float("nan")]
    assert found.tolist() == pytest.approx(expected, nan_ok=True)
    assert tce.element_consistency([[0, 1]]).isnan().all()


def test_runs_without_items_or_labels() -> None:
    assert tce.consensus(np.zeros((3, 0), int)).labels.tolist() == []
    nothing = tce.consensus([[None, None], [None, None]])
    assert nothing.agreement.isnan().all()
    start = tce.consensus([[0, 0, 1], [1, 1, 0]], start=[True, True, False]).labels
    assert [bool(x) for x in start] == [True, True, False]


def test_errors_name_the_arguments_that_were_given() -> None:
    runs = [[0, 0, 1], [0, 1, 1]]
    for call in (tce.consensus, tce.transitions, tce.element_consistency):
        with pytest.raises(ValueError, match=r"^mask: .*; got labels 3, .*mask 1$"):
            call(runs, mask=[True])
    with pytest.raises(ValueError, match=r"^labels_pred: .*; got labels_true 2, labels_pred 3"):
        tce.cluster_stability([0, 1], runs)


def test_transitions() -> None:
    """By hand."""
    found = tce.transitions({"k2": ["a", "a", "b", "b"], "k3": ["x", "x", "y", "z"]})
    edges = found.to_pandas()
    assert edges[["step", "from", "to", "count"]].values.tolist() == [
        [0, "a", "x", 2],
        [0, "b", "y", 1],
        [0, "b", "z", 1],
    ]
    assert edges["share_from"].tolist() == [1, 0.5, 0.5]
    assert edges["share_to"].tolist() == [1, 1, 1]
    assert list(found.label) == ["a", "b", "x", "y", "z"]
    assert found.size.tolist() == [2, 2, 2, 1, 1]
    assert found.stability.tolist() == [0.5, 0.25, 0.5, 0.25, 0.25]
    assert len(tce.transitions([[0, 1]]).step) == 0


def test_items_are_those_of_the_index() -> None:
    ordered, turned = pandas.Series([0, 0, 1]), pandas.Series([1, 0, 0], index=[2, 1, 0])
    for call in (
        lambda: tce.cluster_stability(ordered, {"run": turned}),
        lambda: tce.cluster_stability(ordered, [[0, 0, 1]], mask=pandas.Series([True, True, False], index=[2, 1, 0])),
        lambda: tce.consensus({"a": ordered}, start=turned),
        lambda: tce.consensus([ordered, turned]),
    ):
        with pytest.raises(ValueError, match="another order"):
            call()


def test_runs_without_common_items_stay_apart() -> None:
    """By hand: no run speaks for the items of another one, and the label of the start stays with its items."""
    assert len(set(tce.consensus([["A", "A", None, None], [None, None, "p", "p"]]).labels.tolist())) == 2
    three = [["A", "A", *[None] * 4], [None, None, "A", "A", None, None], [*[None] * 4, "A", "A"]]
    assert tce.consensus(three).labels.tolist() == ["A", "A", "new 1", "new 1", "new 2", "new 2"]
    assert tce.consensus([*three, [None, None, "b", "b", "b", None]]).labels.tolist()[2:4] == ["new 1", "new 1"]
    found = tce.consensus([["A", "A", "B", "B", None, None], *[["x", "x", "y", "y", "z", "z"]] * 2]).labels.tolist()
    assert found[:4] == ["A", "A", "B", "B"]
    assert found[4] == found[5]
    assert found[4] not in ("A", "B")


def test_noise_is_of_no_cluster_or_alone() -> None:
    labels = [[0, 0, 1, 1, -1], [5, 5, 7, -1, -1]]
    gaps = [[None if x == -1 else x for x in row] for row in labels]
    found, expected = tce.consensus(labels, noise_label=-1), tce.consensus(gaps)
    assert found.labels.tolist()[:4] == expected.labels.tolist()[:4] == [0, 0, 1, 1]
    assert found.agreement.tolist()[:4] == expected.agreement.tolist()[:4]
    alone = tce.consensus([[0, 0, 1, -1, -1]] * 2, noise_label=-1, noise="singletons").labels.tolist()
    assert alone[:3] == [0, 0, 1]
    assert len(set(alone)) == 4
    moved, without = tce.transitions(labels, noise_label=-1), tce.transitions(gaps)
    assert moved.count.tolist() == without.count.tolist()
    assert moved.stability.tolist() == without.stability.tolist()
