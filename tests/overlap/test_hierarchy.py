"""Measures of whole trees: against their definitions, pair by pair and permutation by permutation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import cut_tree, linkage

from torchclusteval.overlap import dendrogram_purity, fowlkes_mallows_of_cuts

PURE = [[0, 1, 1, 2], [2, 3, 2, 2], [6, 4, 3, 3], [5, 7, 4, 5]]
MIXED = [[0, 2, 1, 2], [1, 5, 2, 3], [3, 4, 3, 2], [6, 7, 4, 5]]


def slow_purity(labels: list[int], merges: np.ndarray) -> float:
    """The smallest subtree of each pair, listed."""
    nodes, purities = [{i} for i in range(len(labels))], []
    for one, other in merges[:, :2].astype(int):
        node = nodes[one] | nodes[other]
        nodes.append(node)
        for i, j in itertools.product(nodes[one], nodes[other]):
            if labels[i] == labels[j]:
                purities.append(Fraction(sum(labels[k] == labels[i] for k in node), len(node)))
    return float(sum(purities, Fraction()) / len(purities)) if purities else 1.0


def tree(n: int, seed: int, method: str = "average") -> np.ndarray:
    return linkage(np.random.default_rng(seed).normal(size=(n, 2)), method)


def test_dendrogram_purity_by_hand() -> None:
    labels = [0, 0, 1, 1, 1]
    assert float(dendrogram_purity(labels, MIXED)) == pytest.approx(43 / 60, abs=1e-15)
    assert float(dendrogram_purity(labels, PURE)) == 1
    assert float(dendrogram_purity(["a", "b", "c", "d", "e"], MIXED)) == 1
    assert float(dendrogram_purity([7] * 5, MIXED)) == 1
    assert float(dendrogram_purity([0, 0], [[0, 1, 1, 2]])) == 1


@pytest.mark.parametrize(("n", "method"), [(2, "single"), (3, "ward"), (9, "centroid"), (33, "single"), (64, "ward")])
def test_dendrogram_purity_pair_by_pair(n: int, method: str) -> None:
    labels = np.random.default_rng(n).integers(0, 4, (2, 3, n))
    found = dendrogram_purity(torch.from_numpy(labels), tree(n, n, method))
    assert found.shape == (2, 3)
    for at in itertools.product(range(2), range(3)):
        assert float(found[at]) == pytest.approx(slow_purity(labels[at].tolist(), tree(n, n, method)), abs=1e-14)


def test_dendrogram_purity_of_many_items() -> None:
    """A tree whose classes are blocks of its leaves, and one that takes the items in turn."""
    n = 20_000
    chain = np.array([[n + i - 1 if i else 0, i + 1, i + 1.0, i + 2] for i in range(n - 1)])
    labels = torch.arange(n) // (n // 2)
    blocks = float(dendrogram_purity(labels, chain))
    # class 0 is joined first; a pair (i, j) of class 1, i < j, at a node of j + 1 items of which j + 1 - n / 2 are of 1
    later = np.arange(n // 2, n)
    inside = later - n // 2
    expected = (math.comb(n // 2, 2) + (inside * (inside + 1) / (later + 1)).sum()) / (2 * math.comb(n // 2, 2))
    assert blocks == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "matrix", "message"),
    [
        ([0, 1], MIXED, r"labels_true: expected shape \(\*batch, 5\), a label for each item of Z; got shape \(2,\)"),
        ([0, 1], [[0, 0, 1, 2]], "Z: expected each cluster merged once"),
        ([0, 1], [[0, 1, 1]], "Z: expected a linkage matrix"),
    ],
)
def test_bad_input_of_dendrogram_purity(labels: list[int], matrix: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dendrogram_purity(labels, matrix)


def fowlkes_mallows(one: np.ndarray, other: np.ndarray) -> float:
    joined = [x[:, None] == x for x in (one, other)]
    shared, first, second = (int(x.sum()) - len(one) for x in (joined[0] & joined[1], *joined))
    return shared / math.sqrt(first * second)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_cuts_with_mean_and_variance_over_all_permutations(n: int) -> None:
    one, other = tree(n, 0), tree(n, 1, "complete")
    found = fowlkes_mallows_of_cuts(one, other)
    assert found.n_clusters.tolist() == list(range(2, n))
    for at, k in enumerate(range(2, n)):
        cuts = [cut_tree(x, k).ravel() for x in (one, other)]
        every = [fowlkes_mallows(cuts[0], cuts[1][list(order)]) for order in itertools.permutations(range(n))]
        assert float(found.value[at]) == pytest.approx(fowlkes_mallows(*cuts), abs=1e-15)
        assert float(found.mean[at]) == pytest.approx(np.mean(every), abs=1e-14)
        assert float(found.variance[at]) == pytest.approx(np.var(every), abs=1e-14)


def test_cuts_of_larger_trees() -> None:
    one, other = tree(90, 2), tree(90, 3, "ward")
    found = fowlkes_mallows_of_cuts(one, other)
    chosen = fowlkes_mallows_of_cuts(one, other, np.array([5, 60]))
    for k in (2, 5, 60, 89):
        cuts = [cut_tree(x, k).ravel() for x in (one, other)]
        assert float(found.value[k - 2]) == pytest.approx(fowlkes_mallows(*cuts), abs=1e-14)
    assert chosen.value.tolist() == found.value[[3, 58]].tolist()
    assert fowlkes_mallows_of_cuts(one, one).value.tolist() == pytest.approx([1.0] * 88)
    assert fowlkes_mallows_of_cuts(PURE[:1], PURE[:1]).value.shape == (0,)


def test_bad_input_of_cuts() -> None:
    with pytest.raises(ValueError, match="Z_pred: expected a tree of 5 items, as Z_true; got 6"):
        fowlkes_mallows_of_cuts(MIXED, tree(6, 0))
    with pytest.raises(ValueError, match="Z_true: expected a linkage matrix"):
        fowlkes_mallows_of_cuts([[0, 1]], MIXED)
    for bad in ([1], [5], [2.5]):
        with pytest.raises(ValueError, match="n_clusters: expected whole numbers from 2 to 4; got"):
            fowlkes_mallows_of_cuts(MIXED, PURE, bad)  # type: ignore[arg-type]
