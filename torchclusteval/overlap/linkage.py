"""Linkage matrices of hierarchical clustering, as SciPy writes them, and their flat clusters at a height.

Row ``i`` of ``(n - 1, 4)`` merges two clusters at a height into cluster ``n + i``: its columns are the two, the height
and the number of items; clusters ``0 .. n - 1`` are the items.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor

from torchclusteval.common.checks import is_number
from torchclusteval.common.formatting import brief
from torchclusteval.labels.inputs import as_numbers


def seems_linkage(rows: list[Any]) -> bool:
    """Whether rows are those of a linkage matrix, with fractions in them."""
    try:
        return as_numbers(rows, "Z", turned=False).is_floating_point() and len(check_linkage(rows)) > 0
    except (TypeError, ValueError):
        return False


def check_linkage(matrix: Any, name: str = "Z") -> np.ndarray:
    """A linkage matrix, ``(n - 1, 4)`` float64; the last column, which is not read, is 2."""
    merges = as_numbers(matrix, name, turned=False).detach().cpu().double().numpy().copy()
    if merges.ndim != 2 or merges.shape[1] != 4 or not len(merges):
        raise ValueError(
            f"{name}: expected a linkage matrix, (n - 1, 4) with n of at least 2; got shape {merges.shape}"
        )
    merges[:, 3] = 2
    pairs, before = merges[:, :2], len(merges) + 1 + np.arange(len(merges))[:, None]
    bad = ~((pairs >= 0) & (pairs < before) & (pairs == np.floor(pairs))).all(1)
    bad |= ~np.isfinite(merges[:, 2]) | (merges[:, 2] < 0)
    if bad.any():
        row = int(bad.argmax())
        got = f"{merges[row, :3].tolist()} in row {row}"
        raise ValueError(f"{name}: expected two clusters from before and a height of at least 0 in each row; got {got}")
    clusters, counts = np.unique(pairs, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name}: expected each cluster merged once; got {clusters[counts > 1][0]:.0f} again")
    return merges


def check_heights(heights: Iterable[float] | float) -> list[float]:
    """Heights as a list, each a number and each once."""
    if isinstance(heights, Tensor | np.ndarray):
        heights = heights.tolist()
    listed = list(heights) if isinstance(heights, Iterable) and not isinstance(heights, str | bytes) else [heights]
    wrong = [height for height in listed if not is_number(height) or height != height]
    if wrong or not listed or len(set(listed)) < len(listed):
        got = brief(wrong[0] if wrong else listed)
        raise ValueError(f"heights: expected at least one height, all numbers and each once; got {got}")
    return [float(height) for height in listed]


def cut(merges: np.ndarray, height: float) -> np.ndarray:
    """The cluster of each item where no merge above ``height`` is made, ``(n,)`` int64, numbered by first item."""
    from scipy.cluster.hierarchy import fcluster

    _, first, codes = np.unique(fcluster(merges, height, "distance"), return_index=True, return_inverse=True)
    ranks: np.ndarray = np.argsort(np.argsort(first))[codes]
    return ranks
