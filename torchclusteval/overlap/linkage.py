"""Linkage matrices of hierarchical clustering, as SciPy writes them, and their flat clusters at a height.

Row ``i`` of ``(n - 1, 4)`` merges two clusters at a height into cluster ``n + i``: its columns are the two, the height
and the number of items; clusters ``0 .. n - 1`` are the items.
"""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from torchclusteval.common.checks import check_dense, check_unmasked
from torchclusteval.common.formatting import brief
from torchclusteval.labels.inputs import as_numbers


def seems_linkage(value: Any) -> bool:
    """Whether a value is an array of fractions with four columns, or a linkage matrix as lists of them."""
    if isinstance(value, Tensor):
        return not value.is_nested and value.ndim == 2 and value.shape[1] == 4 and value.is_floating_point()
    if getattr(value, "ndim", None) == 2:
        array = np.asarray(value)
        return array.shape[1] == 4 and array.dtype.kind == "f"
    if not isinstance(value, Sequence) or not value or isinstance(value[0], str) or not isinstance(value[0], Iterable):
        return False
    try:
        row = list(value[0])
    except (TypeError, RuntimeError):  # a tensor that cannot be read one by one
        return False
    if len(row) != 4 or not all(isinstance(number, float | np.floating) for number in row):
        return False
    try:
        check_linkage(value)
    except ValueError:
        return False
    return True


def check_linkage(matrix: Any) -> np.ndarray:
    """A linkage matrix as ``(n - 1, 3)`` float64: the clusters of each merge, and its height."""
    merges = as_numbers(matrix, "Z", turned=False).detach().cpu().double().numpy()
    if merges.ndim != 2 or merges.shape[1] != 4 or not len(merges):
        raise ValueError(f"Z: expected a linkage matrix, (n - 1, 4) with n of at least 2; got shape {merges.shape}")
    n_items = len(merges) + 1
    bad_row = ~np.isfinite(merges[:, :3]).all(1) | (merges[:, 2] < 0)
    bad_row |= ((merges[:, :2] < 0) | (merges[:, :2] != np.floor(merges[:, :2]))).any(1)
    bad_row |= (merges[:, :2] >= (n_items + np.arange(n_items - 1))[:, None]).any(1)
    if bad_row.any():
        row = int(bad_row.argmax())
        got = f"{merges[row].tolist()} in row {row}"
        raise ValueError(f"Z: expected two clusters from before and a height of at least 0 in each row; got {got}")
    merged = merges[:, :2].astype(np.int64).ravel()
    if (np.bincount(merged) > 1).any():
        raise ValueError(f"Z: expected each cluster merged once; got {int(np.bincount(merged).argmax())} again")
    return merges[:, :3]


def check_heights(heights: Iterable[float] | float) -> list[float]:
    """Heights as a list, each a number and each once."""
    check_unmasked(heights, "heights")
    if isinstance(heights, Tensor):
        check_dense(heights, "heights")
    if isinstance(heights, Tensor | np.ndarray):
        heights = heights.tolist()
    listed = list(heights) if isinstance(heights, Iterable) and not isinstance(heights, str | bytes) else [heights]
    for height in listed:
        if isinstance(height, bool | np.timedelta64) or not isinstance(height, Real) or height != height:
            raise ValueError(f"heights: expected numbers; got {brief(height)}")
    levels = [float(height) for height in listed]
    if not levels or len(set(levels)) < len(levels):
        raise ValueError(f"heights: expected at least one height, and each once; got {levels}")
    return levels


def cut(merges: np.ndarray, height: float) -> np.ndarray:
    """The cluster of each item where no merge above ``height`` is made, ``(n,)`` int64, numbered by first item.

    Merges can be lower than those they build on (centroid linkage): a cluster counts as high as its highest merge.
    """
    n_items = len(merges) + 1
    pairs = merges[:, :2].astype(np.int64)
    highest = np.concatenate([np.zeros(n_items), merges[:, 2]])
    if (merges[:, 2] < highest[pairs].max(1)).any():
        tops = highest.tolist()
        for new, (one, other) in enumerate(pairs.tolist(), n_items):
            tops[new] = max(tops[new], tops[one], tops[other])
        highest = np.asarray(tops)
    into = np.arange(2 * n_items - 1)
    made = highest[n_items:] <= height
    into[pairs[made]] = (n_items + np.flatnonzero(made))[:, None]
    while True:  # each step doubles the number of merges that are followed
        further = into[into]
        if (further == into).all():
            break
        into = further
    _, first, codes = np.unique(into[:n_items], return_index=True, return_inverse=True)
    ranks: np.ndarray = np.argsort(np.argsort(first))[codes]
    return ranks
