"""Groups as other libraries give them: lists of sets, cuts of a dendrogram, and sides whose names do not match."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage

from torchclusteval.overlap import Memberships, evaluate_overlapping

pytestmark = pytest.mark.slow

GROUPS = [["a", "b"], ["b", "c"], ["d"]]
BY_ITEM = {"a": [0], "b": [0, 1], "c": [1], "d": [2]}
NAN = float("nan")


@pytest.mark.parametrize(
    "groups",
    [
        GROUPS,
        tuple(map(tuple, GROUPS)),
        list(map(set, GROUPS)),
        list(map(frozenset, GROUPS)),
        [iter(group) for group in GROUPS],
        (frozenset(group) for group in GROUPS),
        [dict.fromkeys(group).keys() for group in GROUPS],
        [dict(enumerate(group)).values() for group in GROUPS],
        [np.array(group) for group in GROUPS],
        dict(enumerate(GROUPS)).values(),
        {"x": GROUPS[0], "y": iter(GROUPS[1]), "z": GROUPS[2]},
    ],
)
def test_a_list_of_groups_is_what_a_mapping_is(groups: Any) -> None:
    made = Memberships.from_groups(groups, items=list("abcd"))
    expected = Memberships.from_dict(BY_ITEM)
    assert made.items == expected.items
    assert made.to_matrix().tolist() == expected.to_matrix().tolist()


def test_numbers_as_items_of_groups() -> None:
    made = Memberships.from_groups([torch.tensor([3, 4]), np.array([4, 5]), {5}, []])
    assert made.items == (3, 4, 5)
    assert made.group_sizes.tolist() == [2, 2, 1, 0]
    assert made.group_labels is None
    assert Memberships.from_groups([], items={1, 2}).n_items == 2


def test_plain_groups_are_scored() -> None:
    expected = evaluate_overlapping(Memberships.from_dict(BY_ITEM), Memberships.from_dict({**BY_ITEM, "b": [1]}))
    for true in (lambda: GROUPS, lambda: BY_ITEM, lambda: map(set, GROUPS), lambda: Memberships.from_groups(GROUPS)):
        predictions: list[Any] = [[["a"], {"b", "c"}, ("d",)], {**BY_ITEM, "b": iter([1])}]
        for pred in predictions:
            scores = evaluate_overlapping(true(), pred)
            assert {name: float(value) for name, value in scores.items()} == pytest.approx(
                {name: float(value) for name, value in expected.items()}, abs=1e-12
            )


@pytest.mark.parametrize(
    ("true", "message"),
    [
        ([["x"], ["x"], ["x", "y"]], "true: .* entries 0 and 1 are the same: Memberships.from_lists .*from_groups"),
        ({0: ["a", "b", "c"], 1: ["b", "d", "e"]}, "2 keys for 5 values: Memberships.from_dict .*from_groups"),
        ("ab", "true: expected Memberships .*; got str"),
        (torch.eye(2), "true: expected Memberships .*; got Tensor"),
        (["ab"], "true: expected a list, tuple, set or 1-D array in group 0; got 'ab'"),
        ({"a": "xyz"}, "true: expected a list, tuple, set or 1-D array for item 'a'; got 'xyz'"),
        ([[NAN]], "true: expected a name; got nan in group 0"),
    ],
)
def test_plain_groups_in_doubt_are_refused(true: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        evaluate_overlapping(true, {"a": [0]})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("true", "pred", "shown"),
    [
        ({1: [0], 2: [0], 3: [1]}, {"1": [0], "2": [0], "3": [1]}, "1, 2 ... against '1', '2' ..."),
        ({"a": [0]}, {b"a": [0]}, "'a' against b'a'"),
        ({"01": [0], "02": [0]}, {"1": [0]}, "'01', '02' against '1'"),
        ([[1, 2], [3]], [["1", "2"], ["3"]], "1, 2 ... against '1', '2' ..."),
        ({"x" * 100: [0]}, {"y": [0]}, f"'{'x' * 56}... against 'y'"),
    ],
)
def test_no_item_in_common_is_refused(true: Any, pred: Any, shown: str) -> None:
    made = [Memberships.from_dict(x) if isinstance(x, dict) else Memberships.from_groups(x) for x in (true, pred)]
    for sides in ((true, pred), made):
        with pytest.raises(ValueError, match="no item in common: ") as caught:
            evaluate_overlapping(*sides)
        assert str(caught.value).endswith(f"no item in common: {shown}")


def test_a_side_without_items_is_scored() -> None:
    scores = evaluate_overlapping({"a": [0], "b": [0]}, Memberships.from_groups([]))
    assert float(scores.coverage) == 0


@pytest.mark.parametrize(
    ("true", "pred", "named"),
    [
        ({1: [0], "k": [0]}, {"1": [0], "k": [0]}, "1 (int) on one side and '1' (str) on the other"),
        ({"1": [0], "k": [0]}, {1: [0], "k": [0]}, "'1' (str) on one side and 1 (int) on the other"),
        ({b"x": [0], 3: [0]}, {"x": [0], 3: [0]}, "b'x' (bytes) on one side and 'x' (str) on the other"),
        ({2.0: [0], "k": [0]}, {"2": [0], "k": [0]}, "2.0 (float) on one side and '2' (str) on the other"),
    ],
)
def test_names_of_types_that_never_meet_are_said(true: Any, pred: Any, named: str) -> None:
    with pytest.warns(UserWarning, match="on one side and .* on the other are different names") as caught:
        evaluate_overlapping(true, pred)
    assert len(caught) == 1
    assert named in str(caught[0].message)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="are different names"):
        Memberships.stack([Memberships.from_dict(true), Memberships.from_dict(pred)])


@pytest.mark.parametrize(
    ("true", "pred"),
    [
        ({1: [0], 2: [0]}, {1.0: [0], np.int64(2): [0]}),
        ({"a": [0], "b": [0]}, {"a": [0], "c": [0]}),
        ({1: [0], "a": [0]}, {"a": [0], "b": [0]}),
        ({True: [0], "a": [0]}, {1: [0], "a": [0]}),
        ({np.str_("a"): [0], 5: [0]}, {"a": [0], 5: [0]}),
    ],
)
def test_names_that_meet_are_not_said(true: Any, pred: Any) -> None:
    evaluate_overlapping(true, pred)  # a warning is an error in tests


def group_sets(made: Memberships) -> list[frozenset[int]]:
    return sorted((frozenset(np.flatnonzero(group).tolist()) for group in made.to_matrix().numpy().T), key=sorted)


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward", "centroid", "median"])
@pytest.mark.parametrize("n_items", [2, 3, 11, 60])
def test_cuts_of_a_linkage_are_those_of_scipy(method: str, n_items: int) -> None:
    """Centroid and median linkage make merges lower than those before; rounded points give ties and zero heights."""
    random = np.random.default_rng(n_items)
    for points in (random.normal(size=(n_items, 2)), random.integers(0, 3, (n_items, 2)).astype(float)):
        Z = linkage(points, method)  # noqa: N806 (the name in SciPy)
        found = np.unique(Z[:, 2])
        heights = sorted({-1.0, 0.0, *found.tolist(), *(found[1:] / 2 + found[:-1] / 2).tolist(), 1e9})
        flat = [fcluster(Z, height, criterion="distance") for height in heights]
        by_item = [list(zip(heights, labels, strict=True)) for labels in np.stack(flat, 1).tolist()]
        made = Memberships.from_linkage(Z, heights=heights)
        expected = Memberships.from_lists(by_item)
        assert made.lengths.tolist() == [len(heights)] * n_items
        assert group_sets(made) == group_sets(expected)
        single = [Memberships.from_linkage(Z, heights=height) for height in heights]
        assert [group_sets(one) for one in single] == [group_sets(Memberships.from_labels(labels)) for labels in flat]
        paths = Memberships.from_hierarchy([levels[::-1] for levels in by_item])
        assert group_sets(made) == group_sets(paths)  # levels are combined as there


def test_labels_of_cuts() -> None:
    Z = torch.tensor([[1, 2, 0.5, 2], [0, 3, 2, 3]])  # noqa: N806 (the name in SciPy)
    made = Memberships.from_linkage(Z, heights=[2, 1], items=["a", "b", "c"])
    assert made.items == ("a", "b", "c")
    assert made.group_labels == ((2.0, 0), (1.0, 0), (1.0, 1))
    assert made.to_matrix().int().tolist() == [[1, 1, 0], [1, 0, 1], [1, 0, 1]]


GOOD = [[1.0, 2.0, 0.5, 2.0], [0.0, 3.0, 2.0, 3.0]]


@pytest.mark.parametrize("form", [GOOD, np.array(GOOD), list(np.array(GOOD)), torch.tensor(GOOD), np.array(GOOD, "f4")])
def test_a_linkage_matrix_is_no_hierarchy(form: Any) -> None:
    with pytest.raises(ValueError, match=r"got a linkage matrix, .* \(cut it: Memberships.from_linkage\(Z, heights="):
        Memberships.from_hierarchy(form)


def test_paths_of_four_steps_are_a_hierarchy() -> None:
    assert Memberships.from_hierarchy([[1, 2, 3, 4], [1, 2, 5, 6]]).n_groups == 6
    assert Memberships.from_hierarchy(np.array([[1, 2, 3, 4], [1, 2, 5, 6]])).n_groups == 6
    assert Memberships.from_hierarchy([["a", "b", "c", "d"], []]).n_groups == 4


@pytest.mark.parametrize(
    ("matrix", "heights", "message"),
    [
        ([[0, 1, 1]], [1], r"Z: expected a linkage matrix, \(n - 1, 4\) with n of at least 2; got shape \(1, 3\)"),
        ([[0, 1, NAN, 2]], [1], r"a height of at least 0 in each row; got .* in row 0"),
        ([[0, 1, -1, 2]], [1], "in row 0"),
        ([[0, 0.5, 1, 2]], [1], "in row 0"),
        ([[0, 1, 1, 2], [2, 4, 1, 3]], [1], "in row 1"),
        ([[0, -1, 1, 2]], [1], "in row 0"),
        ([[0, 0, 1, 2]], [1], "expected each cluster merged once; got 0 again"),
        ([[0, 1, 1, 2], [0, 2, 1, 3]], [1], "expected each cluster merged once; got 0 again"),
        (GOOD, [], r"heights: .*expected one or more different numbers; got \[\]"),
        (GOOD, [1, 1.0], r"heights: .*different numbers; got \[1, 1.0\]"),
        (GOOD, [NAN], "heights: .*got nan"),
        (GOOD, "1", "heights: .*got '1'"),
        (GOOD, None, "heights: .*got None"),
    ],
)
def test_bad_linkage_and_heights_are_refused(matrix: Any, heights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Memberships.from_linkage(matrix, heights=heights)


def test_a_single_label_is_one_group() -> None:
    """As python-louvain and JSON give partitions."""
    sides: list[Any] = [{"a": 0, "b": 0, "c": 1}, {"c": "y", "a": "xx", "b": "xx"}]
    one, other = map(Memberships.from_dict, sides)
    assert one.n_groups == other.n_groups == 2
    assert evaluate_overlapping(one, other, ["omega_index"])["omega_index"].item() == 1
    mixed = Memberships.from_dict({"a": np.int64(0), "b": [0, 1], "c": []})
    assert mixed.lengths.tolist() == [1, 2, 0]
    assert evaluate_overlapping({"a": 0, "b": 1}, {"a": [1], "b": 5}, ["omega_index"])["omega_index"].item() == 1
    with pytest.raises(ValueError, match="for item 'a'"):
        Memberships.from_dict({"a": None})
