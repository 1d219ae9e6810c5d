"""Values of single items and pairs of items, and of whole trees: verified values, and references pair by pair."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from tests.support.overlapping import both, mean, random_lists

GOLDEN = json.loads((GOLDEN_FOLDER / "items_and_trees.json").read_text())


def rows(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in GOLDEN[name]])


def numbers(values: list[str]) -> Any:
    return pytest.approx([float(Fraction(value)) for value in values], abs=1e-14)


@rows("element_centric")
def test_element_centric_of_items(row: dict[str, Any]) -> None:
    true, pred = (tce.Memberships.from_lists(row[side]) for side in ("true", "pred"))
    weights = [row["weights"][label] for label in true.group_labels or ()] if "weights" in row else None
    found = tce.overlap.overlap_element_centric_per_item(true, pred, true_weights=weights)
    assert found.tolist() == numbers(row["values"])
    found = tce.overlap.overlap_element_centric(true, pred, true_weights=weights)
    assert [found.item()] == numbers([row["mean"]])


@rows("dendrogram_purity")
def test_dendrogram_purity(row: dict[str, Any]) -> None:
    assert [tce.overlap.dendrogram_purity(row["labels"], row["tree"]).item()] == numbers([row["value"]])


@rows("fowlkes_mallows_of_cuts")
def test_fowlkes_mallows_of_cuts(row: dict[str, Any]) -> None:
    found = tce.overlap.fowlkes_mallows_of_cuts(row["true"], row["pred"])
    assert found.n_clusters.tolist() == row["n_clusters"]
    for name in ("value", "mean", "variance"):
        assert getattr(found, name).tolist() == numbers(row[name]), name


def slow_multiplicity(own: list[set[int]], other: list[set[int]], a: int, b: int) -> Fraction | None:
    shared = len(own[a] & own[b])
    return Fraction(min(shared, len(other[a] & other[b])), shared) if shared else None


@pytest.mark.parametrize("seed", range(3))
def test_extended_bcubed_pair_by_pair(seed: int) -> None:
    """Multiplicities of all pairs, and for each item their mean over the items that share a group with it."""
    lists = random_lists(12, 5, seed, least=0), random_lists(12, 4, seed + 10, least=0)
    true, pred = ([set(groups) for groups in side] for side in lists)
    made, pairs = both(*lists), [(a, b) for a in range(12) for b in range(12)]
    per_item = tce.overlap.extended_bcubed_per_item(*made)
    for own, other, function, values in (
        (pred, true, tce.overlap.multiplicity_precision, per_item.precision),
        (true, pred, tce.overlap.multiplicity_recall, per_item.recall),
    ):
        expected = [slow_multiplicity(own, other, a, b) for a, b in pairs]
        as_floats = [math.nan if value is None else float(value) for value in expected]
        assert function(*made, pairs).tolist() == pytest.approx(as_floats, abs=1e-15, nan_ok=True)
        means = [mean([x for x in expected[12 * a : 12 * a + 12] if x is not None]) for a in range(12)]
        as_floats = [math.nan if value is None else float(value) for value in means]
        assert values.tolist() == pytest.approx(as_floats, abs=1e-15, nan_ok=True)
