"""Element-centric similarity of covers: against PageRank item by item, its parts, blocks and weights."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.overlapping import Groups, both, random_lists, slow_element_centric, slow_pageranks
from torchclusteval import overlap
from torchclusteval.overlap import Memberships


def sides(n: int, groups: int, least: int = 0) -> tuple[Groups, Groups]:
    return random_lists(n, groups, n, least), random_lists(n, groups + 2, n + 1, least)


CHAIN, SMALL = [[k, k + 1] for k in range(40)], [[100 + k // 3 + j for j in range(1 + k % 2)] for k in range(60)]
COVERS: dict[str, tuple[Groups, Groups]] = {
    **{f"{n} items": sides(n, groups) for n, groups in ((1, 3), (12, 4), (40, 40), (60, 5))},
    # as many inverses as parts, each of the groups of its part
    "a chain and many small parts": (CHAIN + SMALL, [[k // 2] for k in range(40)] + [[50 + k // 4] for k in range(60)]),
    "a cluster of all items and one of each": ([[k % 7] for k in range(80)], [[0, k + 1] for k in range(80)]),
}


@pytest.mark.parametrize("name", COVERS)
def test_values_of_each_item(name: str) -> None:
    true, pred = COVERS[name]
    found = overlap.overlap_element_centric_per_item(*both(true, pred))
    expected = slow_element_centric(list(map(set, true)), list(map(set, pred)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-14)
    assert float(overlap.overlap_element_centric(*both(true, pred))) == pytest.approx(expected.mean(), abs=1e-14)


def test_items_without_a_group_are_groups_of_their_own() -> None:
    """One of three items of a class: the walk on the other side never leaves the item."""
    found = overlap.overlap_element_centric_per_item(*both([[0], [0], [0], [], []], [[0], [0], [], [], [1]]))
    np.testing.assert_allclose(found.numpy(), [2 / 3, 2 / 3, 1 / 3, 1, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.99])
def test_the_probability_of_going_on(alpha: float) -> None:
    true, pred = sides(30, 5)
    ranks = [slow_pageranks(list(map(set, side)), alpha) for side in (true, pred)]
    found = overlap.overlap_element_centric_per_item(*both(true, pred), alpha)
    np.testing.assert_allclose(found.numpy(), 1 - abs(ranks[0] - ranks[1]).sum(1) / (2 * alpha), rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="alpha: expected a number below 1; got 1"):
        overlap.overlap_element_centric(*both(true, pred), 1)


def test_weights_of_groups() -> None:
    true, pred = random_lists(30, 5, 0), random_lists(30, 6, 1)
    made = both(true, pred)
    weights = [torch.arange(1.0, side.n_groups + 1) for side in made]
    by_label = [dict(zip(x.group_labels or (), w.tolist(), strict=True)) for x, w in zip(made, weights, strict=True)]
    ranks = [
        slow_pageranks(list(map(set, side)), weights=lambda group, known=known: known[group])  # type: ignore[misc]
        for side, known in zip((true, pred), by_label, strict=True)
    ]
    found = overlap.overlap_element_centric_per_item(*made, true_weights=weights[0], pred_weights=weights[1].tolist())
    np.testing.assert_allclose(found.numpy(), 1 - abs(ranks[0] - ranks[1]).sum(1) / 1.8, rtol=0, atol=1e-14)
    for bad, message in (([1.0], "expected shape"), ([0.0] * 5, "numbers above 0"), ([math.nan] * 5, "numbers above")):
        with pytest.raises(ValueError, match=f"true_weights: .*{message}"):
            overlap.overlap_element_centric(*made, true_weights=bad)


def test_equal_covers_are_equal_whatever_their_names() -> None:
    true, _ = sides(200, 30)
    names = np.random.default_rng(0).permutation(40)
    renamed = [[f"g{names[group]}" for group in reversed(groups)] for groups in true]
    found = overlap.overlap_element_centric_per_item(Memberships.from_lists(true), Memberships.from_lists(renamed))
    assert found.tolist() == [1.0] * 200


def test_hierarchies_as_clusim_scales_them() -> None:
    """Weights exp(r h), h from 0 at the top to 1 at the bottom; the dense walk with these weights."""
    paths = [("a", "b", "c"), ("a", "b", "c"), ("a", "b", "d"), ("a", "e"), ("f",), ("f",)]
    tree = Memberships.from_hierarchy(paths)
    heights = {("a",): 0, ("a", "b"): 1 / 2, ("a", "b", "c"): 1, ("a", "b", "d"): 1, ("a", "e"): 1, ("f",): 0}
    for r in (1.0, -2.0):
        weights = overlap.hierarchy_weights(tree, r)
        expected = [math.exp(r * heights[label]) for label in tree.group_labels or ()]  # type: ignore[index]
        assert weights.tolist() == pytest.approx(expected, abs=1e-15)
        flat = [[0], [0], [1], [1], [2], [2]]
        found = overlap.overlap_element_centric_per_item(tree, Memberships.from_lists(flat), true_weights=weights)
        groups = [{path[: end + 1] for end in range(len(path))} for path in paths]
        codes = {label: code for code, label in enumerate(tree.group_labels or ())}
        one = slow_pageranks([{codes[x] for x in own} for own in groups], weights=expected.__getitem__)
        other = slow_pageranks(list(map(set, flat)))
        np.testing.assert_allclose(found.numpy(), 1 - abs(one - other).sum(1) / 1.8, rtol=0, atol=1e-14)


def test_weights_by_group() -> None:
    """Lists and labels number the groups in different orders."""
    labels, weights = ["b", "a", "b", "a", "c"], {"a": 3.0, "b": 1.0, "c": 0.5}
    pred = Memberships.from_lists([["a", "b"], ["a"], ["b", "c"], ["a", "c"], ["c"]])
    lists, sorted_ = Memberships.from_lists([[x] for x in labels]), Memberships.from_labels(labels)
    assert lists.group_labels != sorted_.group_labels
    both: dict[str, Any] = {"true_weights": weights, "pred_weights": weights}
    found = [overlap.overlap_element_centric(x, pred, **both) for x in (lists, sorted_)]
    assert pred.group_labels == ("a", "b", "c")
    listed = overlap.overlap_element_centric(sorted_, pred, true_weights=[3, 1, 0.5], pred_weights=[3, 1, 0.5])
    assert found[0] == found[1] == listed
    with pytest.raises(ValueError, match="true_weights: expected a weight for each of the 3 groups"):
        overlap.overlap_element_centric(lists, pred, true_weights={"a": 1, "b": 1})


def test_weights_of_cuts_of_a_linkage() -> None:
    Z = [[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 4.0, 4]]  # noqa: N806 (the name in SciPy)
    cuts = Memberships.from_linkage(Z, heights=[4.0, 2.0, 0.0])
    by_height = {4.0: 1.0, 2.0: math.exp(0.5), 0.0: math.e}
    assert overlap.hierarchy_weights(cuts).tolist() == pytest.approx(
        [by_height[label[0]] for label in cuts.group_labels or ()]  # type: ignore[index]
    )
    assert overlap.hierarchy_weights(Memberships.from_linkage(Z, heights=0)).tolist() == [1.0] * 4
    lists: list[Any] = [[[0], [1]], [[("a", "b")]]]
    for other in (*map(Memberships.from_lists, lists), Memberships.from_matrix(torch.eye(2))):
        with pytest.raises(ValueError, match="memberships: expected a result of from_hierarchy or from_linkage; got"):
            overlap.hierarchy_weights(other)
