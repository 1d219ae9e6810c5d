"""Tables of listed groups of items: mentions by entity, records by person, spans by document."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_choice, check_one_type, check_unmasked, is_key, is_listable
from torchclusteval.common.formatting import brief
from torchclusteval.common.warn import warn_of_lacking
from torchclusteval.counting.one_sided import tables_of
from torchclusteval.labels.sources import Names

_COLLECTIONS = (set, frozenset, list, tuple)  # with a length


class _Side(NamedTuple):
    """The groups of one side of one document."""

    group_of: dict[Hashable, int]  # item -> number of its group
    n_groups: int
    labels: list[Any] | None  # of the groups; None: their numbers


def read_groups(true: Any, pred: Any, on_duplicate: str, layout: str) -> TableParts:
    """Cells of one document's groups, and the other parts of tables."""
    _check_options(on_duplicate, layout)
    one, other = (_read_side(x, name, "", on_duplicate) for x, name in ((true, "true_groups"), (pred, "pred_groups")))
    return _count([one], [other], None, layout)


def read_documents(true: Any, pred: Any, on_duplicate: str, layout: str) -> TableParts:
    """Cells of a batch of documents; a document that one side lacks has no groups there."""
    _check_options(on_duplicate, layout)
    given = {"true_documents": true, "pred_documents": pred}
    for name, documents in given.items():
        if not isinstance(documents, Mapping):
            raise ValueError(f"{name}: expected a mapping of documents to their groups; got {type(documents).__name__}")
    check_one_type(true, pred, "true_documents, pred_documents")
    names = tuple(dict.fromkeys(chain(true, pred)))
    sides = [
        [_read_side(documents.get(key, ()), name, f" of document {key!r}", on_duplicate) for key in names]
        for name, documents in given.items()
    ]
    warn_of_lacking(true, pred, ("true_documents", "pred_documents"), "documents")
    return _count(sides[0], sides[1], names, layout)


def _check_options(on_duplicate: Any, layout: Any) -> None:
    check_choice(on_duplicate, "on_duplicate", ("error", "first"))
    check_choice(layout, "layout", ("auto", "dense", "sparse"))


def _read_side(groups: Any, name: str, where: str, on_duplicate: str) -> _Side:
    labels = list(groups) if isinstance(groups, Mapping) else None
    listed = _listed(list(groups.values()) if isinstance(groups, Mapping) else groups, name, where)
    try:
        group_of = {item: number for number, group in enumerate(listed) for item in group}
        if len(group_of) < sum(map(len, listed)):
            group_of = _read_repeated(listed, name, where, on_duplicate, labels)
    except TypeError:
        bad = next(x for group in listed for x in group if not is_key(x))
        raise ValueError(f"{name}: expected items that can be keys of a dictionary; got {brief(bad)}{where}") from None
    if any(type(item).__name__ == "NAType" or item != item for item in group_of):
        raise ValueError(f"{name}: expected items that equal themselves; got nan{where}")
    return _Side(group_of, len(listed), labels)


def _listed(groups: Any, name: str, where: str) -> list[Sequence[Any] | frozenset[Any] | set[Any]]:
    """The groups as collections with a length."""
    if isinstance(groups, (str, bytes)) or not is_listable(groups, name):
        raise ValueError(f"{name}: expected a list of groups, each a set of items; got {type(groups).__name__}{where}")
    listed = list(groups)
    for number, group in enumerate(listed):
        if type(group) not in _COLLECTIONS:
            listed[number] = _as_collection(group, name, f"group {number}{where}")
    return listed


def _as_collection(group: Any, name: str, which: str) -> Sequence[Any]:
    if isinstance(group, (str, bytes, Mapping)) or not hasattr(group, "__iter__"):
        raise ValueError(f"{name}: expected groups that are sets or lists of items; got {brief(group)} as {which}")
    check_unmasked(group, name)
    if getattr(getattr(group, "dtype", None), "kind", None) in ("m", "M") and group.ndim:
        return list(group)  # dates stay what a list of them holds
    items = group.tolist() if hasattr(group, "tolist") else list(group)
    return items if isinstance(items, list) else [items]


def _read_repeated(
    listed: Iterable[Iterable[Any]], name: str, where: str, on_duplicate: str, labels: list[Any] | None
) -> dict[Hashable, int]:
    """As :func:`_read_side`, for items listed several times; repeats within one group count once."""
    group_of: dict[Hashable, int] = {}
    for number, group in enumerate(listed):
        for item in group:
            first = group_of.setdefault(item, number)
            if first != number and on_duplicate == "error":
                a, b = (repr(x if labels is None else labels[x]) for x in (first, number))
                got = f"{item!r} in groups {a} and {b}{where}"
                remedy = '(on_duplicate="first" keeps the first)'
                raise ValueError(f"{name}: expected every item in one group; got {got} {remedy}")
    return group_of


def _count(true: list[_Side], pred: list[_Side], names: Names | None, layout: str) -> TableParts:
    codes: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for number, (one, other) in enumerate(zip(true, pred, strict=True)):
        where = "" if names is None else f" of document {names[number]!r}"
        check_one_type(one.group_of, other.group_of, f"items{where}")
        alone = [code for item, code in other.group_of.items() if item not in one.group_of]
        codes[0].append(np.array([*one.group_of.values(), *[-1] * len(alone)], np.int64))
        codes[1].append(np.array([*(other.group_of.get(item, -1) for item in one.group_of), *alone], np.int64))
    rows, columns = (max([1, *(side.n_groups for side in sides)]) for sides in (true, pred))
    classes, clusters = ([side.labels if side.n_groups else [] for side in sides] for sides in (true, pred))
    return tables_of(codes, None, (rows, columns), (classes, clusters), names, layout)
