"""Overlapping clusterings: values from the paper and from other libraries, degenerate ones, and the registry."""

import copy
import gc
import json
import math
import pickle
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings

from tests.support import GOLDEN_FOLDER
from tests.support.overlapping import Groups, assert_same, both, random_lists, slow, two_sides, values
from torchclusteval import Measure, overlap
from torchclusteval.measures import REFERENCES
from torchclusteval.overlap import OVERLAP_DEFAULT, OVERLAP_MEASURES, Memberships, evaluate_overlapping
from torchclusteval.overlap.comparison import compare

GOLDEN = json.loads((GOLDEN_FOLDER / "overlap.json").read_text())
PAPER = [pytest.param(row, id=row["id"]) for row in GOLDEN["overlap"]]
CDLIB = [pytest.param(row, id=row["id"]) for row in GOLDEN["cdlib"]["rows"]]
every_measure = pytest.mark.parametrize("name", OVERLAP_MEASURES)


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("row", PAPER)
def test_golden(row: dict[str, Any], chunk_size: int | None) -> None:
    true, pred = (Memberships.from_dict(row[side]) for side in ("categories", "clusters"))
    scores = evaluate_overlapping(true, pred, list(row["expected"]), chunk_size=chunk_size)
    assert {name: float(scores[name]) for name in row["expected"]} == pytest.approx(row["expected"], abs=1e-9)


@pytest.mark.parametrize("row", CDLIB)
def test_frozen_values_of_cdlib(row: dict[str, Any]) -> None:
    scores = evaluate_overlapping(*both(row["true"], row["pred"]))
    assert {name: float(scores[name]) for name in row["expected"]} == pytest.approx(row["expected"], abs=1e-12)


def test_every_measure_has_golden_values() -> None:
    rows = [*GOLDEN["overlap"], *GOLDEN["cdlib"]["rows"]]
    found = {name for row in rows for name in row["expected"]}
    followed = {"overlap_purity_f", "omega_observed"}  # held by test_the_definitions
    assert found | followed == set(OVERLAP_MEASURES)


@pytest.mark.slow
@settings(max_examples=150)
@given(sides=two_sides(n=10))
def test_the_definitions(sides: tuple[Groups, Groups]) -> None:
    scores = evaluate_overlapping(*both(*sides), "all")
    assert {name: float(x) for name, x in scores.items()} == pytest.approx(slow(*sides), abs=1e-12)


def test_the_definitions_on_larger_groups() -> None:
    """Groups of different sizes that share nothing count in the overlapping NMI; here one of them is the best."""
    true = [[0] if i < 31 else [1] for i in range(50)]
    pred = [[0] if i == 49 else [1, 2] if i < 20 else [2] for i in range(50)]
    for sides in ((true, pred), (random_lists(40, 7, 0), random_lists(40, 5, 1)), (random_lists(40, 40, 2), true[:40])):
        scores = evaluate_overlapping(*both(*sides), "all")
        assert {name: float(x) for name, x in scores.items()} == pytest.approx(slow(*sides), abs=1e-12)


def test_multiplicities_of_named_items_and_batches() -> None:
    true = Memberships.from_dict({"x": [0, 1], "y": [0, 1], "z": [1]})
    pred = Memberships.stack([Memberships.from_dict(x) for x in ({"z": [5], "x": [5]}, {"x": [5], "y": [5, 6]})])
    found = overlap.multiplicity_recall(true, pred, [("x", "y"), ("x", "z")])
    assert found.tolist() == [[0, 1], [0.5, 0]]
    assert overlap.multiplicity_precision(true, pred, []).shape == (2, 0)
    with pytest.raises(ValueError, match="pairs: expected names of items; got 'q'"):
        overlap.multiplicity_precision(true, pred, [("x", "q")])
    for bad in ([[0, 3]], [[-1, 0]], [[0.5, 1.0]], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="pairs: expected"):
            overlap.multiplicity_precision(true, pred, torch.tensor(bad))


def test_values_of_each_item() -> None:
    """Figure 21 by hand: two clusters of the ideal distribution merged."""
    true = Memberships.from_lists([["b", "g"], ["b", "g"], ["g"], ["b"], ["b"], ["d"], ["d"]])
    pred = Memberships.from_lists([["A"]] * 5 + [["C"]] * 2)
    found = overlap.extended_bcubed_per_item(true, pred)
    assert found.precision.tolist() == pytest.approx([1, 1, 3 / 5, 4 / 5, 4 / 5, 1, 1])
    assert found.recall.tolist() == pytest.approx([4 / 5, 4 / 5, 1, 1, 1, 1, 1])
    bare = overlap.extended_bcubed_per_item(*both([[0], [0], []], [[1], [], [1]]))
    assert bare.precision.tolist() == pytest.approx([1 / 2, math.nan, 0], nan_ok=True)
    assert bare.recall.tolist() == pytest.approx([1 / 2, 0, math.nan], nan_ok=True)


def test_values_of_each_item_of_partitions() -> None:
    labels = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([[0, 0, 1, 1, 1], [0, 1, 2, 3, 3]])
    found = overlap.extended_bcubed_per_item(*map(Memberships.from_labels, labels))
    assert found.precision.tolist() == [[1, 1, 1 / 3, 2 / 3, 2 / 3], [1, 1, 1, 1, 1]]
    assert found.recall.tolist() == [[2 / 3, 2 / 3, 1 / 3, 1, 1], [1 / 3, 1 / 3, 1 / 3, 1, 1]]


def test_alpha_weights_precision() -> None:
    true, pred = both([[0], [0], [0, 1], [1]], [[0], [1], [1], [1]])
    for function, p, r in (
        (overlap.extended_bcubed_f, overlap.extended_bcubed_precision, overlap.extended_bcubed_recall),
        (overlap.overlap_purity_f, overlap.overlap_purity, overlap.overlap_inverse_purity),
    ):
        precision, recall = float(p(true, pred)), float(r(true, pred))
        assert precision != recall
        assert float(function(true, pred, alpha=1)) == precision
        assert float(function(true, pred, alpha=0)) == recall
        assert float(function(true, pred, 0.2)) == pytest.approx(1 / (0.2 / precision + 0.8 / recall), abs=1e-15)
        with pytest.raises(ValueError, match="alpha: expected a number of at least 0 and at most 1; got 2"):
            function(true, pred, alpha=2)


@every_measure
def test_no_items(name: str) -> None:
    empty = Memberships.from_lists([])
    assert math.isnan(float(evaluate_overlapping(empty, empty, name)[name]))
    batch = Memberships.from_matrix(torch.zeros(3, 0, 2))
    assert evaluate_overlapping(empty, batch, name)[name].isnan().tolist() == [True] * 3


@every_measure
def test_no_clusterings(name: str) -> None:
    true, pred = Memberships.from_lists([[0], [1, 0]]), Memberships.from_matrix(torch.zeros(0, 2, 2))
    assert evaluate_overlapping(true, pred, name)[name].shape == (0,)


def test_one_side_without_groups() -> None:
    scores = evaluate_overlapping(*both([[0], [0, 1], [1]], [[], [], []]), "all")
    expected = {
        "extended_bcubed_precision": 1,
        "extended_bcubed_recall": 0,
        "extended_bcubed_f": 0,
        "overlap_purity": 1,
        "overlap_inverse_purity": 0,
        "overlap_purity_f": 0,
        "overlap_set_f": 0,
        "overlapping_nmi_lfk": 0,
        "overlapping_nmi_max": 0,
        "average_f1": 0,
        "nf1": 0,
        "maximum_matching_ratio": 0,
        "geometric_ppv": 0,
        "geometric_accuracy": 0,
        "overlap_quality": 0,
        "partition_closeness_simple": 0,
    }
    assert {name: float(scores[name]) for name in expected} == expected
    turned = evaluate_overlapping(*both([[], []], [[0], [0]]))
    assert float(turned["extended_bcubed_recall"]) == 1
    assert float(turned["overlap_set_f"]) == 0


def test_an_item_that_was_dropped_is_punished_in_recall_only() -> None:
    true = Memberships.from_lists([["g"], ["g"], ["b"]])
    full, dropped = Memberships.from_lists([[0], [0], [1]]), Memberships.from_lists([[0], [0], []])
    assert float(overlap.extended_bcubed_recall(true, full)) == 1
    assert float(overlap.extended_bcubed_recall(true, dropped)) == pytest.approx(2 / 3)
    assert float(overlap.extended_bcubed_precision(true, dropped)) == 1


def test_the_registry() -> None:
    for name, measure in OVERLAP_MEASURES.items():
        assert name == measure.name
        assert measure.function is getattr(overlap, name)
        assert measure.family == "overlap"
        assert measure.swapped is None or measure.swapped in OVERLAP_MEASURES
        assert measure.source in REFERENCES
        text = measure.function.__doc__ or ""
        assert all(part in text for part in ("Range:", "Degenerate:", "Source:")), name
    with pytest.raises(TypeError):
        OVERLAP_MEASURES["x"] = OVERLAP_MEASURES["omega_index"]  # type: ignore[index]
    assert [name for name in overlap.__all__ if not hasattr(overlap, name)] == []


def test_every_measure_has_a_slow_reference() -> None:
    assert set(slow([[0], [0, 1]], [[0], [1]])) == set(OVERLAP_MEASURES)


def test_choosing_measures() -> None:
    true, pred = both([[0], [0, 1]], [[1], [1]])
    assert evaluate_overlapping(true, pred).names == OVERLAP_DEFAULT
    assert evaluate_overlapping(true, pred, "all").names == tuple(OVERLAP_MEASURES)
    assert evaluate_overlapping(true, pred, "omega_index").names == ("omega_index",)
    own = Measure("items", "overlap", lambda a, b: torch.tensor(float(a.n_items + b.n_items)), (0, 9))
    scores = evaluate_overlapping(true, pred, [own, OVERLAP_MEASURES["overlap_purity"]])
    assert scores.names == ("items", "overlap_purity")
    assert float(scores["items"]) == 4
    for bad, message in (
        ("omega_indx", "did you mean omega_index"),
        ([], "at least one measure"),
        ([3], "names or Measure records; got int"),
        ([own, Measure("items", "overlap", overlap.omega_index, (0, 1))], "two measures named 'items'"),
        (Measure("odd", "overlap", lambda a, b: torch.zeros(3), (0, 1)), r"measure 'odd': expected .* of shape \(\)"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate_overlapping(true, pred, bad)  # type: ignore[arg-type]


def test_the_best_system_of_a_batch() -> None:
    true = Memberships.from_lists([[0, 1], [0], [1]])
    pred = Memberships.stack([Memberships.from_lists([[0], [0], [0]]), true, Memberships.from_lists([[0], [1], [2]])])
    scores = evaluate_overlapping(true, pred)
    assert scores.best("extended_bcubed_f") == 1
    assert scores.coverage.tolist() == [1, 1, 1]


def test_a_truth_keeps_no_clustering_alive() -> None:
    """Nor does a comparison outlive its truth, without the garbage collector."""
    gone: list[weakref.ref[object]]
    gc.disable()
    try:
        true, pred = both([[0], [0, 1]], [[1], [1]])
        evaluate_overlapping(true, pred)
        gone = [weakref.ref(pred), weakref.ref(compare(true, pred))]
        del pred
        assert [ref() for ref in gone] == [None, None]
        pred = Memberships.from_lists([[0], []])
        evaluate_overlapping(true, pred)
        gone = [weakref.ref(true), weakref.ref(compare(true, pred))]
        del true
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_memberships_are_copied_and_pickled_without_what_was_computed() -> None:
    true, pred = both([[0], [0, 1]], [[1], [1]])
    expected = values(true, pred)
    for made in (copy.deepcopy((true, pred)), pickle.loads(pickle.dumps((true, pred)))):
        assert not made[0].compared
        assert_same(values(*made), expected, 0)
