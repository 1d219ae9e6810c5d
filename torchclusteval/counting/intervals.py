"""Tables of durations: intervals of time with labels, such as speech by speaker."""

import math
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_choice, check_one_type, is_key, is_listable, is_whole
from torchclusteval.common.formatting import brief
from torchclusteval.common.warn import warn_of_lacking
from torchclusteval.counting.one_sided import tables_of
from torchclusteval.labels.sources import is_missing

Time = int | float
_ROUNDING = 1e-9  # of a time: the most by which an end may exceed the next start
_SLIVER = 1e-5  # of the shorter of both intervals, likewise: large times, as of 1970, are exact to less


class _Side(NamedTuple):
    """The intervals of one side of one recording, in order of time."""

    start: np.ndarray  # float64, or int64 from the first start of the recording on
    end: np.ndarray
    code: np.ndarray  # number of the label of each interval
    labels: list[Any]  # in the order in which they are listed first


def read_intervals(true: Any, pred: Any, layout: str) -> TableParts:
    """Cells of durations, and the other parts of tables."""
    check_choice(layout, "layout", ("auto", "dense", "sparse"))
    if isinstance(true, Mapping) != isinstance(pred, Mapping):
        expected = "two lists of intervals, or two mappings of recordings to lists"
        raise ValueError(f"true, pred: expected {expected}; got {type(true).__name__} and {type(pred).__name__}")
    batched = isinstance(true, Mapping)
    if batched:
        check_one_type(true, pred, "true, pred")
    else:
        true, pred = {0: true}, {0: pred}
    names = {key: f" of recording {key!r}" if batched else "" for key in chain(true, pred)}
    recordings = [_read_recording(true.get(key, ()), pred.get(key, ()), where) for key, where in names.items()]
    warn_of_lacking(true, pred, ("true", "pred"), "recordings")
    classes, clusters = ([pair[i].labels for pair in recordings] for i in (0, 1))
    rows, columns = (max([1, *map(len, labels)]) for labels in (classes, clusters))
    pieces = [_pieces(*pair) for pair in recordings]
    codes, durations = ([x for x, _, _ in pieces], [y for _, y, _ in pieces]), [z for _, _, z in pieces]
    return tables_of(codes, durations, (rows, columns), (classes, clusters), tuple(names) if batched else None, layout)


def _read_recording(true: Any, pred: Any, where: str) -> tuple[_Side, _Side]:
    listed = [(name, _checked(given, name, where)) for name, given in (("true", true), ("pred", pred))]
    origin = _origin([(name, interval[:2]) for name, side in listed for interval in side], where)
    one, other = (_as_side(side, origin, name, where) for name, side in listed)
    return one, other


def _checked(intervals: Any, name: str, where: str) -> list[tuple[Time, Time, Any]]:
    if isinstance(intervals, (str, bytes, Mapping)) or not is_listable(intervals, name):
        raise ValueError(f"{name}: expected a list of (start, end, label); got {type(intervals).__name__}{where}")
    return [_check_interval(x, name, f"interval {number}{where}") for number, x in enumerate(intervals)]


def _origin(times: list[tuple[str, tuple[Time, Time]]], where: str) -> int | None:
    """The first start of a recording with whole times, perhaps too large for float64; None with fractions.

    Raise where differences of whole times exceed 64 bits, or float64 cannot hold a whole time next to fractions.
    """
    whole = {x for _, interval in times for x in interval if isinstance(x, int)}
    if all(isinstance(x, int) for _, interval in times for x in interval):
        origin = min(whole, default=0)
        if whole and max(whole) - origin >= 2**63:
            name = next(name for name, interval in times if max(interval) - origin >= 2**63)
            raise ValueError(f"{name}: expected whole times that differ by less than 2**63; got more{where}")
        return origin
    lost = {x for x in whole if x > 2**53 and (x >= 2**1023 or float(x) != x)}
    if lost:
        name, x = next((name, x) for name, interval in times for x in interval if x in lost)
        remedy = "make all times of the recording whole, or subtract its first start from all"
        raise ValueError(f"{name}: expected times that float64 holds, next to fractions; got {x}{where} ({remedy})")
    return None


def _as_side(listed: list[tuple[Time, Time, Any]], origin: int | None, name: str, where: str) -> _Side:
    codes: dict[Any, int] = {}
    code = np.array([codes.setdefault(label, len(codes)) for _, _, label in listed], dtype=np.int64)
    start, end = (
        np.array([interval[i] for interval in listed], dtype=np.float64)
        if origin is None
        else np.array([interval[i] - origin for interval in listed], dtype=np.int64)
        for i in (0, 1)
    )
    order = np.lexsort((end, start))
    order = order[start[order] < end[order]]  # an interval without a duration is in no piece of time
    start, end = start[order], end[order]
    if origin is None:  # 0.1 + 0.2 is above 0.3: such an end is the next start
        durations, common = end - start, end[:-1] - start[1:]
        rounding = np.minimum(_ROUNDING * end[:-1], _SLIVER * np.minimum(durations[:-1], durations[1:]))
        end[:-1] = np.where((common > 0) & (common <= rounding), start[1:], end[:-1])
    overlapping = np.flatnonzero(start[1:] < end[:-1])
    if len(overlapping):
        first, second = (listed[order[i]] for i in (overlapping[0], overlapping[0] + 1))
        got = " and ".join(f"{label!r} ({_shown(low)} to {_shown(high)})" for low, high, label in (first, second))
        remedy = "join them to one" if first[2] == second[2] else "cut one: a time has one label on each side"
        raise ValueError(f"{name}: expected intervals that do not overlap; got {got}{where} ({remedy})")
    return _Side(start, end, code[order], list(codes))


def _shown(time: Time) -> str:
    return str(time).removesuffix(".0")


def _check_interval(interval: Any, name: str, which: str) -> tuple[Time, Time, Any]:
    """An interval with times of Python, which compares whole numbers and fractions without rounding."""
    is_text = isinstance(interval, (str, bytes))
    is_row = hasattr(interval, "__len__") and hasattr(interval, "__getitem__") and is_listable(interval, name)
    if is_text or not is_row or len(interval) != 3:
        raise ValueError(f"{name}: expected (start, end, label); got {brief(interval)} as {which}")
    start, end = (_check_time(interval[i], name, which) for i in (0, 1))
    label = interval[2]
    if start < 0:
        raise ValueError(f"{name}: expected times of at least 0; got {start} in {which}")
    if end < start:
        raise ValueError(f"{name}: expected a start before the end; got {start} to {end} in {which}")
    if not is_key(label) or is_missing(label):
        got = f"a tensor in {which} (use its item())" if isinstance(label, Tensor) else f"{brief(label)} in {which}"
        raise ValueError(f"{name}: expected a label; got {got}")
    return start, end, label


def _check_time(time: Any, name: str, which: str) -> Time:
    if is_whole(time):
        return int(time)
    if isinstance(time, (float, np.floating)) and math.isfinite(time):
        return float(time)
    is_date = isinstance(time, (date, timedelta, np.datetime64, np.timedelta64))
    remedy = " (pass seconds, or all times as whole numbers of one unit)" if is_date else ""
    raise ValueError(f"{name}: expected times that are numbers; got {brief(time)} in {which}{remedy}")


def _pieces(true: _Side, pred: _Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The codes of both sides, -1 for none, in pieces of time in which neither changes, and their durations."""
    bounds = np.unique(np.concatenate([true.start, true.end, pred.start, pred.end]))
    return _codes_at(true, bounds[:-1]), _codes_at(pred, bounds[:-1]), np.diff(bounds)


def _codes_at(side: _Side, times: np.ndarray) -> np.ndarray:
    """The code of the interval that each time is in, -1 for none."""
    if not len(side.start):
        return np.full(len(times), -1, dtype=np.int64)
    at = np.searchsorted(side.start, times, side="right") - 1
    inside = (at >= 0) & (times < side.end[at])
    return np.where(inside, side.code[at], -1)
