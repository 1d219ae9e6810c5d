"""Check the groups of items that callers pass, and turn them into codes."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.vocabulary import Vocabulary

_COLLECTION_TYPES = frozenset({list, tuple, set, frozenset})


def plain_name(name: Any, what: str, where: str) -> Hashable:
    """A group or item as a dictionary key, or a ``ValueError`` that names its place."""
    if isinstance(name, Tensor | np.generic | np.ndarray) and name.ndim == 0:
        name = name.item()
    if isinstance(name, Tensor | np.ndarray):
        raise ValueError(f"{what}: expected one hashable value each; got an array of shape {tuple(name.shape)} {where}")
    try:
        hash(name)
    except TypeError:
        raise ValueError(f"{what}: expected hashable values; got {name!r} {where}") from None
    if name is None or name != name:
        raise ValueError(f"{what}: expected a name; got {name!r} {where} (leave it out, or use an empty list)")
    return name


def outer_list(value: Any, what: str) -> list[Any]:
    """A list with one entry per item."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{what}: expected a list with one entry per item; got {type(value).__name__}")
    return list(value)


def outer_mapping(value: Any, what: str, from_to: str) -> dict[Any, Any]:
    """A mapping of items or groups, as a dictionary."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: expected a mapping from {from_to}; got {type(value).__name__}")
    return dict(value)


def plain_collection(value: Any, what: str, where: str) -> Collection[Any]:
    """A list, tuple, set or array of names; a string is refused as a mistake."""
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 1:
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | Set | dict):
        raise ValueError(f"{what}: expected a list, tuple, set or 1-D array {where}; got {value!r}")
    return value


def encode_lists(
    lists: Iterable[Any], what: str, where: Callable[[int], str]
) -> tuple[Tensor, Tensor, tuple[Hashable, ...]]:
    """Entries (row, code) for one collection of names per row, and the names in order of code.

    Args:
        lists: the collections.
        what: the argument, for messages.
        where: says in a message which row it is about.
    """
    known, rows, entries = Vocabulary(), list[int](), list[int]()
    get = known.get
    for row, value in enumerate(lists):
        names = value if type(value) in _COLLECTION_TYPES else plain_collection(value, what, where(row))
        for name in names:
            try:
                code = get(name)
            except TypeError:  # cannot be a key
                code = None
            if code is None:
                code = known[plain_name(name, what, where(row))]
            rows.append(row)
            entries.append(code)
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(entries, dtype=torch.int64), tuple(known)


def check_items(items: Iterable[Any] | None) -> None:
    """Raise unless items can be listed (their number, for example, cannot)."""
    if items is not None and not isinstance(items, Iterable):
        raise ValueError(f"items: expected a list of names; got {type(items).__name__}")


def item_names(items: Iterable[Any] | None, n_items: int) -> tuple[Hashable, ...] | None:
    """Checked names of items: as many as there are items, each once."""
    if items is None:
        return None
    check_items(items)
    known, count = Vocabulary(), 0
    for position, name in enumerate(items):
        count += 1
        if known[plain_name(name, "items", f"at position {position}")] != position:
            raise ValueError(f"items: expected each name once; got {name!r} again at position {position}")
    if count != n_items:
        raise ValueError(f"items: expected {n_items} names, one per item; got {count}")
    return tuple(known)


def matrix_entries(matrix: Any) -> tuple[Tensor, torch.Size]:
    """Indices of the ones of a 0/1 matrix, ``(dimensions, entries)``, and its shape."""
    if not isinstance(matrix, Tensor):
        try:
            matrix = torch.as_tensor(np.asarray(matrix))
        except (TypeError, ValueError) as error:
            raise ValueError(f"matrix: expected numbers of shape (*batch, N, K); got {error}") from None
    if matrix.ndim < 2 or matrix.is_complex():
        raise ValueError(f"matrix: expected shape (*batch, N, K); got {matrix.dtype} of shape {tuple(matrix.shape)}")
    if matrix.layout == torch.strided:
        indices = matrix.nonzero().T
        values = matrix[tuple(indices)]
    else:
        matrix = matrix if matrix.layout == torch.sparse_coo else matrix.to_sparse_coo()
        if matrix.dense_dim():
            raise ValueError("matrix: expected a sparse tensor without dense dimensions; got a hybrid one")
        # not coalesced: an entry that is stored twice is one membership, not the value 2
        indices, values = matrix._indices(), matrix._values()
    bad = (values != 0) & (values != 1)
    if bool(bad.any()):
        at = int(bad.nonzero()[0])
        place = tuple(indices[:, at].tolist())
        raise ValueError(f"matrix: expected only 0 and 1; got {values[at].item()} at {place}")
    return indices[:, values != 0], matrix.shape
