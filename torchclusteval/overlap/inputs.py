"""Check the groups of items that callers pass, and turn them into codes."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import is_key, is_listable, is_number
from torchclusteval.common.formatting import brief, shortened
from torchclusteval.labels.inputs import as_numbers
from torchclusteval.labels.shapes import counts_up
from torchclusteval.labels.sources import is_missing, pandas_index
from torchclusteval.labels.vocabulary import Vocabulary

_COLLECTION_TYPES = frozenset({list, tuple, set, frozenset})


def plain_name(name: Any, what: str, where: str) -> Hashable:
    """A group or item as a dictionary key; a ``ValueError`` names the place of any other value."""
    if getattr(name, "ndim", None) == 0 and name is not np.ma.masked:
        name = name.item()
    if not is_key(name):
        raise ValueError(f"{what}: expected hashable values; got {brief(name)} {where}")
    if is_missing(name):
        raise ValueError(f"{what}: expected a name; got {brief(name)} {where} (leave it out, or use an empty list)")
    return name


def outer_list(value: Any, what: str, expected: str = "a list with one entry per item") -> list[Any]:
    """The entries of a list; strings, mappings and sets are mistakes."""
    if isinstance(value, str | bytes | Mapping) or not is_listable(value, what):
        raise ValueError(f"{what}: expected {expected}; got {type(value).__name__}")
    return list(value)


def plain_collection(value: Any, what: str, where: str) -> Collection[Any]:
    """A list, tuple, set, array or iterator of names; strings and mappings are mistakes."""
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # tensors, arrays, columns of pandas
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, Iterator | ValuesView):
        return list(value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | Set):
        raise ValueError(f"{what}: expected a list, tuple, set or 1-D array {where}; got {brief(value)}")
    return value


def as_groups(value: Any) -> Any:
    """The groups of an item; a single label, as partitions have, becomes a list of one."""
    single = isinstance(value, str | bytes | int | float | np.generic) or getattr(value, "ndim", None) == 0
    return [value] if single and value is not np.ma.masked else value


def groups_by_item(memberships: Mapping[Any, Any]) -> dict[Any, Collection[Any]]:
    """The groups of each item. A single number is one group; a text is refused, as it may list several."""
    groups = {item: x if isinstance(x, str | bytes) else as_groups(x) for item, x in memberships.items()}
    return {item: plain_collection(x, "memberships", f"for item {item!r}") for item, x in groups.items()}


def encode_lists(
    lists: Iterable[Any], what: str, where: Callable[[int], str]
) -> tuple[Tensor, Tensor, tuple[Hashable, ...]]:
    """Return (row, code of the name) of each entry, and the names; ``where`` names a row in messages."""
    known, rows, entries = Vocabulary(), list[int](), list[int]()
    get = known.get
    for row, value in enumerate(lists):
        names = value if type(value) in _COLLECTION_TYPES else plain_collection(value, what, where(row))
        for name in names:
            try:
                code = get(name)
            except TypeError:  # cannot be a key
                code = None
            rows.append(row)
            entries.append(known[plain_name(name, what, where(row))] if code is None else code)
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(entries, dtype=torch.int64), tuple(known)


def named_by_index(given: Any, items: Iterable[Any] | None) -> Iterable[Any] | None:
    """The given names of items, else a pandas index (unless it is 0 .. N - 1), else None."""
    index = None if items is not None else pandas_index(given)
    return items if index is None or counts_up(index) else index.tolist()


def item_names(items: Iterable[Any] | None, n_items: int | None = None) -> tuple[Hashable, ...] | None:
    """Names of items, checked to be different and one for each item; in any order without ``n_items``."""
    if items is None:
        return None
    named = isinstance(items, Mapping) or (n_items is None and isinstance(items, set | frozenset))
    given = list(items) if named else outer_list(items, "items", "a list of names")
    known = Vocabulary()
    for position, name in enumerate(given):
        if known[plain_name(name, "items", f"at position {position}")] != position:
            raise ValueError(f"items: expected each name once; got {brief(name)} again at position {position}")
    if n_items is not None and len(given) != n_items:
        raise ValueError(f"items: expected {n_items} names, one per item; got {len(given)}")
    return tuple(known)


def doubt_of(groups: Mapping[Any, Collection[Any]] | Sequence[Collection[Any]]) -> str | None:
    """A sign that a mapping holds items by group, or a list the groups of each item; None without one."""
    if isinstance(groups, Mapping):
        n_values = len({name for names in groups.values() for name in names})
        return f"{len(groups)} keys for {n_values} values" if n_values > 2 * len(groups) else None
    first: dict[frozenset[Any], int] = {}
    for number, group in enumerate(groups):
        earlier = first.setdefault(frozenset(group), number)
        if earlier != number:
            return f"a list in which entries {earlier} and {number} are the same"
    return None


def no_item_in_common(left: Iterable[Hashable], right: Iterable[Hashable]) -> str | None:
    """Message for two sides that share no name, else None; None also where a side is empty."""
    ours, theirs = dict.fromkeys(left), dict.fromkeys(right)
    if not ours or not theirs or not ours.keys().isdisjoint(theirs):
        return None
    shown = [", ".join(map(shortened, list(side)[:2])) + " ..." * (len(side) > 2) for side in (ours, theirs)]
    return f"no item in common: {shown[0]} against {shown[1]}"


def matrix_entries(matrix: Any) -> tuple[Tensor, torch.Size]:
    """Indices of the ones of a 0/1 matrix, ``(dimensions, entries)``, and its shape."""
    if not isinstance(matrix, Tensor) or matrix.layout == torch.strided:
        matrix = as_numbers(matrix, "matrix", turned=False)
    if matrix.ndim < 2:
        raise ValueError(f"matrix: expected shape (*batch, N, K); got {matrix.dtype} of shape {tuple(matrix.shape)}")
    if matrix.layout == torch.strided:
        indices = matrix.nonzero().T
        values = matrix[tuple(indices)]
    else:
        matrix = matrix if matrix.layout == torch.sparse_coo else matrix.to_sparse_coo()
        # without coalesce(), which would add an entry stored twice to the value 2
        indices, values = matrix._indices(), matrix._values()
    bad = (values != 0) & (values != 1)
    if bool(bad.any()):
        at = int(bad.nonzero()[0])
        place = tuple(indices[:, at].tolist())
        raise ValueError(f"matrix: expected only 0 and 1; got {values[at].item()} at {place}")
    return indices[:, values != 0], matrix.shape


# --- linkage matrices of SciPy ------------------------------------------------------------------------------------
#
# Row ``i`` of ``(n - 1, 4)`` merges two clusters into cluster ``n + i``. Its columns: the two clusters, the height of
# the merge, the number of items. Clusters ``0 .. n - 1`` are the items.


def seems_linkage(rows: list[Any]) -> bool:
    """Whether rows form a linkage matrix that has fractions."""
    try:
        return as_numbers(rows, "Z", turned=False).is_floating_point() and len(check_linkage(rows)) > 0
    except (TypeError, ValueError):
        return False


def check_linkage(matrix: Any, name: str = "Z") -> np.ndarray:
    """A checked linkage matrix, ``(n - 1, 4)`` float64; nothing reads the last column, which becomes 2."""
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
        raise ValueError(f"{name}: expected two earlier clusters and a height of at least 0 in each row; got {got}")
    clusters, counts = np.unique(pairs, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name}: expected each cluster merged once; got {clusters[counts > 1][0]:.0f} again")
    return merges


def check_heights(heights: Iterable[float] | float) -> list[float]:
    """Heights as a list of different numbers."""
    if isinstance(heights, Tensor | np.ndarray):
        heights = heights.tolist()
    listed = list(heights) if isinstance(heights, Iterable) and not isinstance(heights, str | bytes) else [heights]
    wrong = [height for height in listed if not is_number(height) or height != height]
    if wrong or not listed or len(set(listed)) < len(listed):
        got = brief(wrong[0] if wrong else listed)
        raise ValueError(f"heights: expected one or more different numbers; got {got}")
    return [float(height) for height in listed]


def cut(merges: np.ndarray, height: float) -> np.ndarray:
    """The cluster of each item after all merges up to ``height``, ``(n,)`` int64, numbered by first item."""
    from scipy.cluster.hierarchy import fcluster

    _, first, codes = np.unique(fcluster(merges, height, "distance"), return_index=True, return_inverse=True)
    ranks: np.ndarray = np.argsort(np.argsort(first))[codes]
    return ranks
