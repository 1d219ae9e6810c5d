"""Memberships: every way to make them, and refused input."""

import warnings
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from tests.support.overlapping import assert_same, both, values
from torchclusteval import overlap
from torchclusteval.overlap import Memberships, evaluate_overlapping


def dense(memberships: Memberships) -> list[Any]:
    matrix: list[Any] = memberships.to_matrix().int().tolist()
    return matrix


def test_constructors_agree() -> None:
    expected = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0]]
    by_item = {"w": ["a"], "x": ["a", "b"], "y": {"b", "c"}, "z": ()}
    from_lists = Memberships.from_lists([["a"], ("a", "b", "a"), ["b", "c"], []])
    assert dense(from_lists) == expected
    assert from_lists.group_labels == ("a", "b", "c")
    assert dense(Memberships.from_dict({**by_item, "y": ["b", "c"]})) == expected
    grouped = Memberships.from_groups({"a": ["w", "x"], "b": ["x", "y"], "c": ["y", "y"]}, items=by_item)
    assert dense(grouped) == expected
    assert grouped.items == ("w", "x", "y", "z")
    matrix = torch.tensor(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls this layout a beta
        csr = matrix.float().to_sparse_csr()
    for form in (matrix, matrix.bool(), matrix.double(), expected, matrix.numpy(), matrix.to_sparse(), csr):
        assert dense(Memberships.from_matrix(form)) == expected
    stacked = torch.stack([matrix, matrix.flip(0)])
    for form in (stacked, stacked.to_sparse()):
        assert dense(Memberships.from_matrix(form)) == stacked.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.11 warns of checks that are off, although they are asked for
        twice = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.ones(2), (2, 2), check_invariants=True)
    assert dense(Memberships.from_matrix(twice)) == [[0, 1], [0, 0]]


def test_labels_of_any_kind() -> None:
    expected = [[1, 0], [0, 1], [1, 0]]
    integers = [7, 9, 7], np.array([7, 9, 7], np.uint16), torch.tensor([-5, 2**60, -5])
    for labels in (*integers, ["a", "b", "a"], [False, True, False]):
        assert dense(Memberships.from_labels(labels)) == expected
    names = pd.Series([0, 0, 1], index=list("abc")), pd.Series([1, 0, 0], index=list("cba"))
    named = list(map(Memberships.from_labels, names))
    assert named[0].items == ("a", "b", "c")
    assert float(evaluate_overlapping(named[0], named[1], "omega_index")["omega_index"]) == 1
    assert Memberships.from_labels(pd.Series([0, 1])).items is None
    batch = Memberships.from_labels(torch.tensor([[1, 2], [2, 2]]))
    assert batch.batch_shape == (2,)
    assert batch.group_labels == (1, 2)
    assert batch.group_sizes.tolist() == [[1, 1], [0, 2]]
    assert batch.is_partition.tolist() == [True, True]


def test_a_hierarchy_is_its_paths() -> None:
    """Figure 13: items 1 and 2 in the left child, item 3 in the right one, all three in the root."""
    tree = Memberships.from_hierarchy({1: ["A", "B"], 2: ["A", "B"], 3: ["A", "C"]})
    assert dense(tree) == [[1, 1, 0], [1, 1, 0], [1, 0, 1]]
    assert tree.group_labels == (("A",), ("A", "B"), ("A", "C"))
    same_name = Memberships.from_hierarchy([["x", "other"], ["y", "other"], []])
    assert dense(same_name) == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]


@pytest.mark.slow
def test_dictionaries_are_aligned_by_item() -> None:
    true = Memberships.from_dict({"a": [1], "b": [1], "c": [2]})
    pred = Memberships.from_dict({"c": ["q"], "d": ["q"], "a": ["p"]})
    positions = both([[1], [1], [2], []], [["p"], [], ["q"], ["q"]])  # type: ignore[list-item]
    assert_same(values(true, pred), values(*positions), 0)
    scores = evaluate_overlapping(true, pred)
    assert int(scores.n_items) == 4
    assert float(scores.coverage) == 0.5


def test_stack_and_index() -> None:
    parts = [Memberships.from_dict({"a": [0], "b": [1]}), Memberships.from_dict({"b": [0, 1], "c": [0]})]
    batch = Memberships.stack(parts)
    assert batch.items == ("a", "b", "c")
    assert dense(batch) == [[[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 1], [1, 0]]]
    assert dense(batch[1]) == dense(batch)[1]
    assert dense(batch[torch.tensor([False, True])]) == [dense(batch)[1]]
    assert dense(batch[[1, 0, 1]]) == [dense(batch)[i] for i in (1, 0, 1)]
    assert repr(batch) == "Memberships(batch_shape=(2,), n_items=3, n_groups=2, device='cpu')"
    with pytest.raises(IndexError, match="expected a batch"):
        parts[0][0]


def test_memberships_cannot_be_changed() -> None:
    true = Memberships.from_lists([[0]])
    with pytest.raises(FrozenInstanceError):
        true.n_items = 3  # type: ignore[misc]
    matrix = torch.tensor([[1, 0], [0, 1]])
    kept = Memberships.from_matrix(matrix)
    matrix[0, 1] = 1
    assert dense(kept) == [[1, 0], [0, 1]]


NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Memberships.from_lists(["ab", "c"]), r"memberships: expected a list, tuple, set .* item 0; got 'ab'"),
        (lambda: Memberships.from_lists("ab"), "expected a list with one entry per item; got str"),
        (lambda: Memberships.from_lists({"a": [1]}), "expected a list with one entry per item; got dict"),
        (lambda: Memberships.from_lists([[1], [None]]), "expected a name; got None for item 1"),
        (lambda: Memberships.from_lists([[NAN]]), "expected a name; got nan for item 0"),
        (lambda: Memberships.from_lists([[[1, 2]]]), r"expected hashable values; got \[1, 2\] for item 0"),
        (lambda: Memberships.from_lists([[1], [2]], items=["a"]), "items: expected 2 names, one per item; got 1"),
        (lambda: Memberships.from_lists([[1], [2]], items=["a", "a"]), "items: expected each name once; got 'a' again"),
        (lambda: Memberships.from_lists([[1], [2]], items=["a", None]), "items: expected a name; got None at"),
        (lambda: Memberships.from_lists([[1], [2]], items={"a", "b"}), "items: expected a list of names; got set"),
        (lambda: Memberships.from_labels([1], items=frozenset("a")), "items: expected a list of names; got frozenset"),
        (lambda: Memberships.from_matrix([[1]], items={"a"}), "items: expected a list of names; got set"),
        (lambda: Memberships.from_lists({("a",), ("b",)}), "expected a list with one entry per item; got set"),
        (lambda: evaluate_overlapping({("a",)}, [["a"]]), "true: expected Memberships .*; got set"),
        (lambda: Memberships.from_groups("ab"), "expected a mapping .*, or a list of groups; got str"),
        (lambda: Memberships.from_groups(["ab"]), "in group 0; got 'ab'"),
        (lambda: Memberships.from_groups([["a", "b"]], items=["a"]), "only items named in items; got 'b'"),
        (lambda: Memberships.from_groups(torch.eye(2)), "got Tensor of 2 dimensions .from_matrix takes 0/1 matrices"),
        (lambda: Memberships.from_matrix([1, 0]), r"expected shape \(\*batch, N, K\)"),
        (lambda: Memberships.from_matrix([[1, 0], [0, -1]]), r"expected only 0 and 1; got -1 at \(1, 1\)"),
        (lambda: Memberships.from_matrix([[1, 0], [0.5, 1]]), r"expected only 0 and 1; got 0.5 at \(1, 0\)"),
        (lambda: Memberships.from_matrix(torch.tensor([[NAN, 0.0]])), r"expected only 0 and 1; got nan at \(0, 0\)"),
        (lambda: Memberships.from_matrix(torch.tensor([[2, 0]]).to_sparse()), r"got 2 at \(0, 0\)"),
        (lambda: Memberships.from_labels([1, None]), "labels: expected a label for every item; got None at position 1"),
        (lambda: Memberships.from_labels(torch.tensor(1)), "labels: expected labels of shape"),
        (lambda: Memberships.from_hierarchy(["a/b"]), "paths: expected a list, tuple.* got 'a/b'"),
        (lambda: Memberships.from_hierarchy([{"a", "b"}]), "paths: expected an ordered path for item 0; got a set"),
        (lambda: Memberships.from_hierarchy({"i": ["a"]}, items=["i"]), "items: expected None where paths is a map"),
        (lambda: Memberships.from_labels([1], items=1), "items: expected a list of names; got int"),  # type: ignore[arg-type]
        (lambda: Memberships.from_groups({"g": [0]}, items=1), "items: expected a list of names; got int"),  # type: ignore[arg-type]
        (lambda: Memberships.stack([]), "members: expected at least one Memberships"),
        (
            lambda: Memberships.stack([Memberships.from_labels([1]), Memberships.from_labels([[1]])]),
            "members: expected one batch shape and device",
        ),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_sides_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="measures: expected names or Measure records; got int"):
        evaluate_overlapping(Memberships.from_labels([1]), Memberships.from_labels([1]), 5)  # type: ignore[arg-type]
    named, plain, longer = (Memberships.from_dict({"a": [1]}), *map(Memberships.from_labels, ([1], [1, 2])))
    with pytest.raises(ValueError, match=r"the same number of items on both sides; got \[1, 2\]"):
        evaluate_overlapping(plain, longer)
    with pytest.raises(ValueError, match="items: expected names on both sides or on neither"):
        evaluate_overlapping(named, plain)
    with pytest.raises(ValueError, match=r"true: expected Memberships .*; got list"):
        overlap.extended_bcubed_f([[1]], plain)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="items: expected names on both sides or on neither"):
        evaluate_overlapping([[1]], plain)
    two, three = (Memberships.from_matrix(torch.ones(size, 1, 1)) for size in (2, 3))
    with pytest.raises(ValueError, match=r"batch shapes that broadcast; got \(2,\) and \(3,\)"):
        evaluate_overlapping(two, three)
    for chunk_size in (0, 1.5, True):
        with pytest.raises(ValueError, match="chunk_size: expected a whole number of at least 1"):
            evaluate_overlapping(plain, plain, chunk_size=chunk_size)  # type: ignore[arg-type]


@pytest.mark.slow
def test_matrices_that_no_machine_holds_are_refused() -> None:
    made = Memberships.from_labels(torch.arange(10**7))
    with pytest.raises(ValueError, match="to_matrix: expected matrices that fit in memory; got 1 x 10000000 x"):
        made.to_matrix()
