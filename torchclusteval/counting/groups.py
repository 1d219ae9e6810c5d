"""Tables of listed groups of items: mentions by entity, records by person, spans by document."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_choice, check_one_type, check_unmasked, is_listable
from torchclusteval.common.formatting import brief
from torchclusteval.counting import dispatch
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.sources import Names

_COLLECTIONS = (set, frozenset, list, tuple)  # with a length


class _Side(NamedTuple):
    """The groups of one side of one document."""

    group_of: dict[Hashable, int]  # item -> number of its group
    n_groups: int
    labels: list[Any] | None  # of the groups; None: their numbers


def read_groups(true: Any, pred: Any, on_duplicate: str, layout: str) -> TableParts:
    """Cells of one document's groups, and what tables hold beside them."""
    _check_options(on_duplicate, layout)
    sides = [
        [_read_side(groups, name, "", on_duplicate)] for name, groups in (("true_groups", true), ("pred_groups", pred))
    ]
    return _count(sides[0], sides[1], None, layout)


def read_documents(true: Any, pred: Any, on_duplicate: str, layout: str) -> TableParts:
    """Cells of a batch of documents; a document that one side lacks has no groups there."""
    _check_options(on_duplicate, layout)
    given = {"true_documents": true, "pred_documents": pred}
    for name, documents in given.items():
        if not isinstance(documents, Mapping):
            got = type(documents).__name__
            raise ValueError(f"{name}: expected a mapping of documents to their groups; got {got}")
    check_one_type(true, pred, "true_documents, pred_documents")
    names = tuple(dict.fromkeys(chain(true, pred)))
    sides = [
        [_read_side(documents.get(key, ()), name, f" of document {key!r}", on_duplicate) for key in names]
        for name, documents in given.items()
    ]
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
        bad = next(x for group in listed for x in group if not isinstance(x, Hashable))
        raise ValueError(f"{name}: expected items that can be keys of a dictionary; got {brief(bad)}{where}") from None
    if any(type(item).__name__ == "NAType" or item != item for item in group_of):
        raise ValueError(f"{name}: expected items that equal themselves; got nan{where}")
    return _Side(group_of, len(listed), labels)


def _listed(groups: Any, name: str, where: str) -> list[Sequence[Any] | frozenset[Any] | set[Any]]:
    """The groups as collections with a length."""
    if isinstance(groups, (str, bytes)) or not is_listable(groups, name):
        got = type(groups).__name__
        raise ValueError(f"{name}: expected a list of groups, each a set of items; got {got}{where}")
    listed = list(groups)
    for number, group in enumerate(listed):
        if type(group) not in _COLLECTIONS:
            listed[number] = _as_collection(group, name, f"group {number}{where}")
    return listed


def _as_collection(group: Any, name: str, which: str) -> Sequence[Any]:
    if isinstance(group, (str, bytes, Mapping)) or not hasattr(group, "__iter__"):
        raise ValueError(f"{name}: expected groups that are sets or lists of items; got {brief(group)} as {which}")
    check_unmasked(group, name)
    items = group.tolist() if hasattr(group, "tolist") else list(group)
    return items if isinstance(items, list) else [items]


def _read_repeated(
    listed: Iterable[Iterable[Any]], name: str, where: str, on_duplicate: str, labels: list[Any] | None
) -> dict[Hashable, int]:
    """As :func:`_read_side`, where items come several times: in one group that is one membership."""
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
    shape = torch.Size([] if names is None else [len(names)])
    for number, (one, other) in enumerate(zip(true, pred, strict=True)):
        where = "" if names is None else f" of document {names[number]!r}"
        check_one_type(one.group_of, other.group_of, f"items{where}")
    rows, columns = (max([1, *(side.n_groups for side in sides)]) for sides in (true, pred))
    row_key = _keys([list(side.group_of.values()) for side in true], rows)
    column_key = _keys([list(side.group_of.values()) for side in pred], columns)
    class_of = _keys([[t.group_of.get(item, -1) for item in p.group_of] for t, p in zip(true, pred, strict=True)], 0)
    common = class_of >= 0
    table = column_key // columns
    common_row = table[common] * rows + class_of[common]
    keys, counts = np.unique(common_row * columns + column_key[common] % columns, return_counts=True)
    whole = np.bincount(row_key, minlength=len(true) * rows)
    by_class = whole - np.bincount(common_row, minlength=len(whole))
    by_cluster = np.bincount(column_key[~common], minlength=len(pred) * columns)
    considered = whole.reshape(len(true), rows).sum(1) + by_cluster.reshape(len(pred), columns).sum(1)

    row = keys // columns
    parts = (row // rows, row % rows, keys % columns, counts)
    listed = SparseCells(shape, (rows, columns), *map(_tensor, parts))
    cells: Cells = listed
    if layout == "dense" or (layout == "auto" and _fits_dense(rows, columns, len(true), int(considered.sum()))):
        cells = DenseCells(dispatch.to_dense(listed))
    margins = Margins(_tensor(by_class).reshape(*shape, rows), _tensor(by_cluster).reshape(*shape, columns))
    classes, clusters = (_labels(sides, size, names) for sides, size in ((true, rows), (pred, columns)))
    return TableParts(cells, _tensor(considered).reshape(shape), classes, clusters, names, margins=margins)


def _keys(lists: list[list[int]], size: int) -> np.ndarray:
    """The numbers of all documents in one array, each plus ``size`` times the number of its document."""
    lengths = [len(numbers) for numbers in lists]
    flat = np.fromiter(chain.from_iterable(lists), np.int64, sum(lengths))
    return flat + np.repeat(np.arange(len(lists)) * size, lengths) if size else flat


def _tensor(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.int64))


def _fits_dense(rows: int, columns: int, size: int, n: int) -> bool:
    return dispatch.fits_dense(rows * columns, size, n // max(1, size))


def _labels(sides: list[_Side], size: int, names: Names | None) -> GroupLabels | None:
    """The labels of groups that come with labels in all documents."""
    if not sides or any(side.labels is None and side.n_groups for side in sides):
        return None
    labels = np.full((len(sides), size), "", dtype=object)
    for row, side in zip(labels, sides, strict=True):
        for number, label in enumerate(side.labels or ()):
            row[number] = label
    labelled: np.ndarray = labels[0] if names is None else labels
    return labelled if any(side.labels for side in sides) else None
