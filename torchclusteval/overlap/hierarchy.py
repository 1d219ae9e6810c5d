"""Hierarchies: weights of their levels for element-centric similarity, and measures of whole trees.

A tree is a linkage matrix of SciPy, ``(n - 1, 4)``. With the leaves in the order of the tree, every node is an interval
of places, and two leaves join at the latest merge between their places.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_number, is_whole
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.inputs import resolve_device
from torchclusteval.labels.integers import read_integers
from torchclusteval.overlap.inputs import check_linkage
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import add_at
from torchclusteval.tables import ContingencyTables

__all__ = ["dendrogram_purity", "fowlkes_mallows_of_cuts", "hierarchy_weights"]

_CUT_LABELS = 2**22  # labels of all cuts compared at once


def hierarchy_weights(memberships: Memberships, r: float = 1.0) -> Tensor:
    """Weight ``exp(r h)`` of each group of a hierarchy, for :func:`overlap_element_centric`.

    ``h`` is 0 at the top and 1 at the bottom. For paths (``Memberships.from_hierarchy``) it is the depth of the group,
    from 0, divided by the largest depth below it, and 0 for a path of one step. For cuts of a linkage matrix
    (``Memberships.from_linkage``) it is ``1 - height / height of the highest cut``, and 0 if all cuts are at height 0.

    Args:
        memberships: the result of one of these two.
        r: above 0, small groups at the bottom count more; below 0, large ones at the top.

    Returns:
        ``(K,)`` float64 on the memberships' device.

    Raises:
        ValueError: the groups are neither paths nor cuts, or ``r`` is not a number from -700 to 700.

    Source: Gates, Wood, Hetrick and Ahn (2019).

    Examples:
        >>> tree = Memberships.from_hierarchy([("all", "a"), ("all", "b"), ("all", "b")])
        >>> [round(weight, 3) for weight in hierarchy_weights(tree).tolist()]
        [1.0, 2.718, 2.718]
    """
    check_number(r, "r", -700, 700)  # beyond, weights are infinite or 0
    if not isinstance(memberships, Memberships):
        raise ValueError(f"memberships: expected Memberships; got {type(memberships).__name__}")
    labels = memberships.group_labels or ()
    paths = [label for label in labels if isinstance(label, tuple) and label]
    known, levelled = set(paths), len(paths) >= max(len(labels), memberships.n_groups)
    if levelled and all(path[:-1] in known for path in paths if len(path) > 1):
        heights = _levels(paths)
    elif levelled and all(len(path) == 2 and isinstance(path[0], float) for path in paths):
        top = max(path[0] for path in paths)
        heights = [1 - path[0] / top if top > 0 else 0.0 for path in paths]
    else:
        raise ValueError("memberships: expected a result of from_hierarchy or from_linkage; got groups without levels")
    return torch.tensor(heights, dtype=torch.float64, device=memberships.device).mul(r).exp()


def _levels(paths: list[tuple[Hashable, ...]]) -> list[float]:
    """Depth of each path over the largest depth below it."""
    deepest = dict.fromkeys(paths, 0)
    for path in paths:
        for end in range(1, len(path) + 1):
            deepest[path[:end]] = max(deepest[path[:end]], len(path) - 1)
    return [(len(path) - 1) / deepest[path] if deepest[path] else 0.0 for path in paths]


@on_one_thread
def dendrogram_purity(
    labels_true: Any,
    Z: Any,  # noqa: N803 (the name in SciPy)
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    """Mean purity of the smallest subtree around two items of a class, over all pairs of items of one class.

    The purity of a subtree for a class is the share of the class among its items.

    Args:
        labels_true: ``(*batch, N)`` labels of any kind that ``ContingencyTables.from_labels`` takes.
        Z: linkage matrix of the ``N`` items, ``(N - 1, 4)``.
        device: where to compute; the labels' device by default.

    Returns:
        ``(*batch,)`` float64.

    Raises:
        ValueError: ``Z`` is no linkage matrix, or has another number of items.

    Range: above 0 to 1, higher is better; 1 where every class is a subtree of its own.
    Degenerate: 1 where no class has two items.
    Source: Heller and Ghahramani (2005).

    Examples:
        >>> from scipy.cluster.hierarchy import linkage
        >>> float(dendrogram_purity([0, 0, 1, 1], linkage([[0.0], [1.0], [5.0], [6.0]])))
        1.0
    """
    tree = _tree(Z)
    ids = read_integers(labels_true, "labels_true", resolve_device(device, {"labels_true": labels_true})).values
    if not ids.ndim or ids.shape[-1] != len(tree.leaves):
        expected = f"shape (*batch, {len(tree.leaves)}), a label for each item of Z"
        raise ValueError(f"labels_true: expected {expected}; got shape {tuple(ids.shape)}")
    n = ids.shape[-1]
    leaves, borders, low, middle, high = (
        torch.from_numpy(x).to(ids.device) for x in (tree.leaves, tree.borders, tree.low, tree.middle, tree.high)
    )
    codes = torch.unique(ids, return_inverse=True)[1].reshape(-1, n)[:, leaves]
    row = torch.arange(len(codes), device=ids.device)[:, None]
    n_classes = int(codes.max()) + 1 if codes.numel() else 1
    group = row * n_classes + codes
    keys = torch.sort((group * n + torch.arange(n, device=ids.device)).flatten()).values  # by class, then place
    same = (keys[1:] // n == keys[:-1] // n).nonzero().squeeze(-1)
    # each node joins at most one pair of neighbours of a class
    place, group = keys[same] % n, keys[same] // n
    merge = _latest(borders, place, keys[same + 1] % n)
    ends = [torch.searchsorted(keys, group * n + at[merge]) for at in (low, middle, high)]
    left, right = ends[1] - ends[0], ends[2] - ends[1]
    pairs = (left * right).double()
    purity = (left + right).double() / (high - low)[merge]
    total, count = (add_at(group // n_classes, x, len(codes)) for x in (pairs * purity, pairs))
    return torch.where(count == 0, 1.0, total / count.clamp(min=1)).view(ids.shape[:-1])


@dataclass(frozen=True, eq=False)
class CutAgreement:
    """Fowlkes-Mallows index of two trees cut into equal numbers of clusters."""

    n_clusters: Tensor  # (cuts,) int64
    value: Tensor  # (cuts,) float64
    mean: Tensor  # (cuts,) float64: over all permutations of the items of one tree
    variance: Tensor  # (cuts,) float64: likewise


@on_one_thread
def fowlkes_mallows_of_cuts(
    Z_true: Any,  # noqa: N803 (the name in SciPy)
    Z_pred: Any,  # noqa: N803
    n_clusters: Iterable[int] | None = None,
) -> CutAgreement:
    """The B_k curve: Fowlkes-Mallows index of two trees cut into ``k`` clusters, with mean and variance.

    Without its last ``k - 1`` merges (rows), a tree has ``k`` clusters. With ``n_ij`` the items in cluster ``i`` of one
    tree and ``j`` of the other, sizes ``r_i`` and ``c_j``, and ``T = sum n_ij^2 - n``, ``P = sum r_i^2 - n``,
    ``Q = sum c_j^2 - n``,

        B_k = T / sqrt(P Q), mean sqrt(P Q) / (n (n - 1)).

    Args:
        Z_true: linkage matrix of ``n`` items, ``(n - 1, 4)``.
        Z_pred: linkage matrix of the same items.
        n_clusters: values of ``k``, each from 2 to ``n - 1``; by default all of these.

    Returns:
        ``n_clusters``, ``value``, ``mean`` and ``variance``, each a tensor ``(cuts,)`` on the CPU.

    Raises:
        ValueError: no two linkage matrices of equally many items, or a number of clusters out of range.

    Range: value 0 to 1, higher is better; 1 where both trees have the same clusters.
    Source: Fowlkes and Mallows (1983), with the variance of their section 2.2.

    Examples:
        >>> from scipy.cluster.hierarchy import linkage
        >>> trees = [linkage([[x] for x in values]) for values in ([0.0, 1, 5, 7], [0.0, 2, 7, 5.5])]
        >>> fowlkes_mallows_of_cuts(*trees).value.tolist()
        [1.0, 0.0]
    """
    trees = [_tree(Z_true, "Z_true"), _tree(Z_pred, "Z_pred")]
    n = len(trees[0].leaves)
    if len(trees[1].leaves) != n:
        raise ValueError(f"Z_pred: expected a tree of {n} items, as Z_true; got {len(trees[1].leaves)}")
    chosen = _numbers_of_clusters(n_clusters, n)
    sums = [_sums(trees, part, n) for part in chosen.split(max(1, _CUT_LABELS // n))]
    shared, *pairs_and_triples = torch.cat(sums, 1)
    pairs, triples = pairs_and_triples[:2], pairs_and_triples[2:]
    product = pairs[0] * pairs[1]
    mean = product.sqrt() / (n * (n - 1))
    # with n = 3 both factors of the last summand are 0
    rests = [p - 2 - 4 * t / p for p, t in zip(pairs, triples, strict=True)]
    variance = 2 / (n * (n - 1)) - mean**2
    variance = variance + 4 * triples[0] * triples[1] / (n * (n - 1) * max(n - 2, 1) * product)
    variance = variance + rests[0] * rests[1] / (n * (n - 1) * max(n - 2, 1) * max(n - 3, 1))
    value = shared / product.sqrt()
    return CutAgreement(n_clusters=chosen, value=value, mean=mean, variance=variance.clamp(min=0.0))  # rounding


def _numbers_of_clusters(given: Iterable[int] | None, n: int) -> Tensor:
    if given is None:
        return torch.arange(2, n)
    listed = np.ravel(given.cpu() if isinstance(given, Tensor) else np.asarray(given, object)).tolist()
    if not all(is_whole(k) and 2 <= k < n for k in listed):
        raise ValueError(f"n_clusters: expected whole numbers from 2 to {n - 1}; got {brief(given)}")
    return torch.tensor(listed, dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class Tree:
    """A linkage matrix with the leaves in the order of the tree, so that every node is an interval; all int64."""

    leaves: np.ndarray  # (n,): item at each place
    borders: np.ndarray  # (n - 1,): the merge of each place with the next one
    low: np.ndarray  # (n - 1,): first place of each merge
    middle: np.ndarray  # (n - 1,): first place of its second cluster
    high: np.ndarray  # (n - 1,): one past its last place


def _tree(matrix: Any, name: str = "Z") -> Tree:
    pairs = check_linkage(matrix, name)[:, :2].astype(np.int64)
    n = len(pairs) + 1
    sizes, starts = [1] * n + [0] * (n - 1), [0] * (2 * n - 1)
    listed = pairs.tolist()
    for node, (one, other) in enumerate(listed, n):
        sizes[node] = sizes[one] + sizes[other]
    for node in range(2 * n - 2, n - 1, -1):
        one, other = listed[node - n]
        starts[one], starts[other] = starts[node], starts[node] + sizes[one]
    place, size = np.asarray(starts), np.asarray(sizes)
    middle = place[pairs[:, 1]]
    borders = np.empty(n - 1, np.int64)
    borders[middle - 1] = np.arange(n - 1)
    return Tree(np.argsort(place[:n]), borders, place[n:], middle, place[n:] + size[n:])


def _latest(borders: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """The latest merge among the borders between two places, ``first < last``."""
    levels = [borders]
    while 2 ** len(levels) <= len(borders):
        step = 2 ** (len(levels) - 1)
        levels.append(torch.maximum(levels[-1], levels[-1].roll(-step)))  # nothing reads the wrapped end
    table = torch.stack(levels)
    level = torch.frexp((last - first).double()).exponent.long() - 1
    return torch.maximum(table[level, first], table[level, last - 2**level])


def _sums(trees: list[Tree], n_clusters: Tensor, n: int) -> Tensor:
    """``sum n_ij^2 - n`` of both trees, and of each tree ``sum r^2 - n`` and ``sum r (r - 1) (r - 2)``, by cut."""
    labels = []
    for tree in trees:
        cut = torch.from_numpy(tree.borders) >= n - n_clusters[:, None]
        cluster = torch.nn.functional.pad(cut.cumsum(1), (1, 0))
        labels.append(cluster[:, torch.from_numpy(np.argsort(tree.leaves))])
    tables = ContingencyTables.from_labels(*labels, item_dims=1)
    table, _, _, count = tables.cells()
    shared = add_at(table, count**2, len(n_clusters)).double() - n
    sizes = [side.double() for side in (tables.class_sizes, tables.cluster_sizes)]
    pairs, triples = ([f(r).sum(-1) for r in sizes] for f in (lambda r: r * (r - 1), lambda r: r * (r - 1) * (r - 2)))
    return torch.stack([shared, *pairs, *triples])
