"""Tables of durations: intervals of time with labels, such as speech by speaker."""

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells, SparseCells
from torchclusteval.cells.margins import Margins
from torchclusteval.common.checks import check_choice
from torchclusteval.common.formatting import brief
from torchclusteval.counting import dispatch
from torchclusteval.counting.groups import GroupedCells
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.sources import is_missing


class _Side(NamedTuple):
    """The intervals of one side of one recording, in order of time."""

    start: np.ndarray
    end: np.ndarray
    code: np.ndarray  # number of the label of each interval
    labels: list[Any]  # in the order in which they are listed first


class _Recording(NamedTuple):
    """Pieces of time in which neither side changes."""

    duration: np.ndarray
    true: np.ndarray  # code of the label, -1 for none
    pred: np.ndarray


def read_intervals(true: Any, pred: Any, layout: str) -> GroupedCells:
    """Cells of durations, and what tables hold beside them."""
    check_choice(layout, "layout", ("auto", "dense", "sparse"))
    if isinstance(true, Mapping) != isinstance(pred, Mapping):
        expected = "two lists of intervals, or two mappings of recordings to lists"
        raise ValueError(f"true, pred: expected {expected}; got {type(true).__name__} and {type(pred).__name__}")
    batched = isinstance(true, Mapping)
    names = tuple(dict.fromkeys(chain(true, pred))) if batched else None
    sides = [
        [_read_side(given.get(key, ()), name, f" of recording {key!r}") for key in names]
        if names is not None
        else [_read_side(given, name, "")]
        for given, name in ((true, "true"), (pred, "pred"))
    ]
    rows, columns = (max([1, *(len(side.labels) for side in recordings)]) for recordings in sides)
    pieces = [_pieces(*pair) for pair in zip(*sides, strict=True)]
    listed, margins, considered = _count(pieces, torch.Size([] if names is None else [len(names)]), rows, columns)
    cells: Cells = listed
    n = max([0, *(len(piece.duration) for piece in pieces)])
    if layout == "dense" or (layout == "auto" and dispatch.fits_dense(rows * columns, len(pieces), n)):
        cells = DenseCells(dispatch.to_dense(listed))
    classes, clusters = (
        _labels(recordings, size, batched) for recordings, size in zip(sides, (rows, columns), strict=True)
    )
    return cells, considered, classes, clusters, names, margins


def _read_side(intervals: Any, name: str, where: str) -> _Side:
    if isinstance(intervals, (str, bytes, Mapping)) or not isinstance(intervals, Iterable):
        raise ValueError(f"{name}: expected a list of (start, end, label); got {type(intervals).__name__}{where}")
    listed = list(intervals)
    for number, interval in enumerate(listed):
        _check_interval(interval, name, f"interval {number}{where}")
    codes: dict[Any, int] = {}
    code = np.array([codes.setdefault(label, len(codes)) for _, _, label in listed], dtype=np.int64)
    start, end = (np.array([float(interval[i]) for interval in listed], dtype=np.float64) for i in (0, 1))
    order = np.lexsort((end, start))
    order = order[start[order] < end[order]]  # an interval without a duration is in no piece of time
    start, end, code, labels = start[order], end[order], code[order], list(codes)
    overlapping = np.flatnonzero(start[1:] < end[:-1])
    if len(overlapping):
        at = overlapping[0]
        first, second = (f"{labels[code[i]]!r} ({start[i]:g} to {end[i]:g})" for i in (at, at + 1))
        raise ValueError(f"{name}: expected intervals that do not overlap; got {first} and {second}{where}")
    return _Side(start, end, code, labels)


def _check_interval(interval: Any, name: str, which: str) -> None:
    is_text = isinstance(interval, (str, bytes))
    if is_text or not hasattr(interval, "__len__") or not hasattr(interval, "__getitem__") or len(interval) != 3:
        raise ValueError(f"{name}: expected (start, end, label); got {brief(interval)} as {which}")
    start, end, label = interval
    for time in (start, end):
        is_number = isinstance(time, (int, float, np.integer, np.floating)) and not isinstance(time, bool)
        if not is_number or not math.isfinite(time):
            raise ValueError(f"{name}: expected times that are numbers; got {brief(time)} in {which}")
    if start < 0:
        raise ValueError(f"{name}: expected times of at least 0; got {start} in {which}")
    if end < start:
        raise ValueError(f"{name}: expected a start before the end; got {start} to {end} in {which}")
    if is_missing(label):
        raise ValueError(f"{name}: expected a label; got {brief(label)} in {which}")
    try:
        hash(label)
    except TypeError:
        raise ValueError(
            f"{name}: expected labels that can be keys of a dictionary; got {brief(label)} in {which}"
        ) from None


def _pieces(true: _Side, pred: _Side) -> _Recording:
    bounds = np.unique(np.concatenate([true.start, true.end, pred.start, pred.end]))
    return _Recording(np.diff(bounds), _codes_at(true, bounds[:-1]), _codes_at(pred, bounds[:-1]))


def _codes_at(side: _Side, times: np.ndarray) -> np.ndarray:
    """The code of the interval that each time is in, -1 for none."""
    if not len(side.start):
        return np.full(len(times), -1, dtype=np.int64)
    at = np.searchsorted(side.start, times, side="right") - 1
    inside = (at >= 0) & (times < side.end[at])
    return np.where(inside, side.code[at], -1)


def _count(pieces: list[_Recording], shape: torch.Size, rows: int, columns: int) -> tuple[SparseCells, Margins, Tensor]:
    """Durations of cells, those that one side labels alone, and those of each recording that any side labels."""
    size = len(pieces)
    table = np.repeat(np.arange(size), [len(piece.duration) for piece in pieces])
    duration, true, pred = (_joined([piece[i] for piece in pieces]) for i in range(3))
    both, missed, invented = (true >= 0) & (pred >= 0), (true >= 0) & (pred < 0), (true < 0) & (pred >= 0)
    keys, places = np.unique(((table * rows + true) * columns + pred)[both], return_inverse=True)
    row = keys // columns
    parts = (row // rows, row % rows, keys % columns, _totals(places, duration[both], len(keys)))
    cells = SparseCells(shape, (rows, columns), *map(torch.from_numpy, parts))
    by_class = _totals((table * rows + true)[missed], duration[missed], size * rows)
    by_cluster = _totals((table * columns + pred)[invented], duration[invented], size * columns)
    by_side = (torch.from_numpy(x).reshape(*shape, n) for x, n in ((by_class, rows), (by_cluster, columns)))
    considered = _totals(table, duration * (both | missed | invented), size)
    margins = Margins(*by_side).with_common(cells, rows=True, columns=True)
    return cells, margins, torch.from_numpy(considered).reshape(shape)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _totals(places: np.ndarray, amounts: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(places, amounts, size).astype(np.float64, copy=False)


def _labels(recordings: list[_Side], size: int, batched: bool) -> GroupLabels | None:
    if not any(side.labels for side in recordings):
        return None
    labels = np.full((len(recordings), size), "", dtype=object)
    for row, side in zip(labels, recordings, strict=True):
        for number, label in enumerate(side.labels):
            row[number] = label
    labelled: np.ndarray = labels if batched else labels[0]
    return labelled
