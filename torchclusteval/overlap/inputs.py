"""Check the groups of items that callers pass, and turn them into codes."""

import itertools
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_dense, is_listable
from torchclusteval.common.formatting import brief
from torchclusteval.labels.inputs import as_numbers
from torchclusteval.labels.sources import is_missing
from torchclusteval.labels.vocabulary import Vocabulary

_COLLECTION_TYPES = frozenset({list, tuple, set, frozenset})


def plain_name(name: Any, what: str, where: str) -> Hashable:
    """A group or item as a dictionary key, or a ``ValueError`` that names its place."""
    if isinstance(name, Tensor):
        check_dense(name, what)
    if name is np.ma.masked:
        raise ValueError(f"{what}: expected a name; got a masked entry {where} (leave it out)")
    if isinstance(name, Tensor | np.generic | np.ndarray) and name.ndim == 0:
        name = name.item()
    if isinstance(name, Tensor | np.ndarray):
        raise ValueError(f"{what}: expected one hashable value each; got an array of shape {tuple(name.shape)} {where}")
    try:
        hash(name)
    except TypeError:
        raise ValueError(f"{what}: expected hashable values; got {brief(name)} {where}") from None
    if is_missing(name):
        raise ValueError(f"{what}: expected a name; got {brief(name)} {where} (leave it out, or use an empty list)")
    return name


def outer_list(value: Any, what: str) -> list[Any]:
    """A list with one entry per item."""
    if isinstance(value, str | bytes | Mapping) or not is_listable(value, what):
        raise ValueError(f"{what}: expected a list with one entry per item; got {type(value).__name__}")
    return list(value)


def groups_by_name(groups: Any) -> tuple[list[Any], tuple[Hashable, ...] | None, list[str]]:
    """The groups of a mapping or a list, their names where they have some, and how a message calls each."""
    if isinstance(groups, Mapping):
        return list(groups.values()), item_names(groups, len(groups)), [f"in group {name!r}" for name in groups]
    if hasattr(groups, "ndim"):
        got = f"{type(groups).__name__} of {groups.ndim} dimensions"
        raise ValueError(f"groups: expected a mapping or a list of groups; got {got} (from_matrix takes 0/1 matrices)")
    if isinstance(groups, str | bytes) or not is_listable(groups, "groups"):
        got = type(groups).__name__
        raise ValueError(f"groups: expected a mapping from groups to items, or a list of groups; got {got}")
    listed = list(groups)
    return listed, None, [f"in group {number}" for number in range(len(listed))]


def outer_mapping(value: Any, what: str, from_to: str) -> dict[Any, Any]:
    """A mapping of items or groups, as a dictionary."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: expected a mapping from {from_to}; got {type(value).__name__}")
    return dict(value)


def plain_collection(value: Any, what: str, where: str) -> Collection[Any]:
    """A list, tuple, set, array or iterator of names; a string is refused as a mistake."""
    if isinstance(value, Tensor):
        check_dense(value, what)
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # tensors, arrays, columns of pandas
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, Iterator | ValuesView):
        return list(value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | Set):
        raise ValueError(f"{what}: expected a list, tuple, set or 1-D array {where}; got {brief(value)}")
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
    if items is not None and (isinstance(items, str | bytes) or not is_listable(items, "items")):
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
            raise ValueError(f"items: expected each name once; got {brief(name)} again at position {position}")
    if count != n_items:
        raise ValueError(f"items: expected {n_items} names, one per item; got {count}")
    return tuple(known)


def repeated_group(groups: Sequence[Collection[Any]]) -> tuple[int, int] | None:
    """The numbers of two groups that hold the same items, as entries by item often do and groups seldom do."""
    first: dict[frozenset[Any], int] = {}
    for number, group in enumerate(groups):
        earlier = first.setdefault(frozenset(group), number)
        if earlier != number:
            return earlier, number
    return None


def no_item_in_common(left: Iterable[Hashable], right: Iterable[Hashable]) -> str | None:
    """What to say of two sides whose names have nothing in common, or None; a side without items has all there is."""
    ours, theirs = dict.fromkeys(left), dict.fromkeys(right)
    if not ours or not theirs or any(name in theirs for name in ours):
        return None
    return f"no item in common: {_examples(ours)} against {_examples(theirs)}"


def warn_of_types_that_never_meet(left: Iterable[Hashable], right: Iterable[Hashable]) -> None:
    """Warn where names without an equal on the other side are of one type on the left and of another on the right.

    That is so if two of them read alike, or if no name of either type has an equal. Numbers are one type here, as
    ``1 == 1.0`` is one name.
    """
    left, right = list(left), list(right)
    if len({*map(type, left), *map(type, right)}) < 2:
        return
    sides = _names_by_type(left), _names_by_type(right)
    for left_type, right_type in itertools.permutations(dict.fromkeys([*sides[0], *sides[1]]), 2):
        ones, others = _without_equal(left_type, *sides), _without_equal(right_type, *reversed(sides))
        by_text = {_text(name): name for name in others}
        pairs = [(name, by_text[_text(name)]) for name in ones if _text(name) in by_text]
        if (
            not pairs
            and ones
            and others
            and (len(ones), len(others))
            == (
                len(sides[0][left_type]),
                len(sides[1][right_type]),
            )
        ):
            pairs = [(ones[0], others[0])]
        if pairs:
            one, other = map(_typed, pairs[0])
            message = (
                f"items: {one} on one side and {other} on the other are different names, and those of these types "
                "are never equal (make them one type, as with str)"
            )
            warnings.warn(message, UserWarning, stacklevel=7)


def _names_by_type(names: Iterable[Hashable]) -> dict[type, dict[Hashable, None]]:
    by_type: dict[type, dict[Hashable, None]] = {}
    for name in names:
        kind = str if isinstance(name, str) else Number if isinstance(name, Number) else type(name)
        by_type.setdefault(kind, {})[name] = None
    return by_type


def _without_equal(
    kind: type, own: Mapping[type, Mapping[Hashable, None]], other: Mapping[type, Mapping[Hashable, None]]
) -> list[Hashable]:
    """The names of a type that the other side lacks."""
    known = other.get(kind, {})
    return [name for name in own.get(kind, {}) if name not in known]


def _text(name: Hashable) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace")
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _typed(name: Hashable) -> str:
    return f"{shortened(name)} ({type(name).__name__})"


def _examples(names: Mapping[Hashable, Any]) -> str:
    shown = [shortened(name) for name, _ in zip(names, range(2), strict=False)]
    return ", ".join(shown) + (" ..." if len(names) > 2 else "")


def shortened(value: Any) -> str:
    """A value as Python writes it, in one line of at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def matrix_entries(matrix: Any) -> tuple[Tensor, torch.Size]:
    """Indices of the ones of a 0/1 matrix, ``(dimensions, entries)``, and its shape."""
    if not isinstance(matrix, Tensor) or matrix.layout == torch.strided:
        matrix = as_numbers(matrix, "matrix", turned=False)
    if matrix.device.type == "meta":
        raise ValueError(f"matrix: expected a tensor with values; got {matrix.layout} on meta")
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
