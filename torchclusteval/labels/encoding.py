"""Encode two sets of labels as integer codes: options, noise, masks, ranges. ``inputs`` converts the inputs themselves.

A *code* is the index of a row (column) of a table. Labels become codes by the cheapest way that keeps tables small:
subtracting the smallest label, a lookup table over the range of labels, or a sort. Codes are numbered over the whole
batch, or in each of its rows if their labels have little in common.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, TypedDict, TypeVar

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import broadcast_shapes, min_max
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.inputs import (
    IntegerLabels,
    as_integer_labels,
    as_mask,
    as_numbers,
    check_nonnegative,
    first_position,
    format_position,
    resolve_device,
)
from torchclusteval.labels.noise import NoisePolicy

_SMALL_TABLE_CELLS = 4096  # up to this size padding costs less than looking labels up
_SHIFT_BEYOND = 1 << 31  # beyond this, labels are shifted: products with the number of columns could leave 64 bits
_MAX_LOOKUP_ENTRIES = 1 << 22  # a lookup table may always have this many entries
_LOOKUP_BLOCK_LABELS = 1 << 16
_SAMPLE_LABELS = 1 << 14  # labels in the sample that is sorted to find the distinct ones
_BISECT_UP_TO = 1 << 12  # distinct labels up to which bisection beats a sort

Mask = TypeVar("Mask", Tensor, np.ndarray)


class EncodingOptions(TypedDict, total=False):
    """The options of ``encode``, for functions that pass them on (``**options``)."""

    mask: Any
    weights: Any
    ignore_index: Any
    noise_label: Any
    noise: str
    num_classes: int | None
    num_clusters: int | None
    validate: bool
    device: torch.device | str | None


class LabelOptions(EncodingOptions, total=False):
    """The options of ``ContingencyTables.from_labels``, likewise."""

    layout: str


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """The codes of one side. Excluded items may have any code."""

    codes: Tensor  # (*side_batch, N) integer, offset .. offset + size - 1
    offset: int
    size: int
    group_labels: GroupLabels | None  # (size,) or (*batch, size): the label of each code


@dataclass(frozen=True, eq=False)
class EncodedPair:
    """Both sides, ready to be counted. Shapes broadcast to ``(*batch, N)``."""

    true: EncodedLabels
    pred: EncodedLabels
    batch_shape: torch.Size
    n_items: int
    mask: Tensor | None  # (*some_batch, N) bool: items that count; None: all
    weights: Tensor | None  # (*some_batch, N) int64 or float64
    codes_in_range: bool  # False: codes outside their range are possible, and excluded
    n_considered: Tensor | None  # (*some_batch,) unmasked items or weight; None: all of them are in the table

    @property
    def device(self) -> torch.device:
        return self.true.codes.device


def encode(
    labels_true: Any,
    labels_pred: Any,
    *,
    mask: Any = None,
    weights: Any = None,
    ignore_index: Any = None,
    noise_label: Any = None,
    noise: str = "ignore",
    num_classes: int | None = None,
    num_clusters: int | None = None,
    validate: bool = True,
    device: torch.device | str | None = None,
) -> EncodedPair:
    """Check and encode two sets of labels; the arguments are those of ``ContingencyTables.from_labels``."""
    policy = NoisePolicy.parse(noise, noise_label, num_clusters)
    check_sizes(num_classes, num_clusters)
    arguments = {"labels_true": labels_true, "labels_pred": labels_pred, "mask": mask, "weights": weights}
    place = resolve_device(device, arguments)
    true = as_integer_labels(labels_true, "labels_true", place, validate=validate)
    pred = as_integer_labels(labels_pred, "labels_pred", place, validate=validate)
    mask = None if mask is None else as_mask(mask, place)
    weights = None if weights is None else _check_weights(weights, place, validate)
    parts = {"labels_true": true.values, "labels_pred": pred.values, "mask": mask, "weights": weights}
    shape = _broadcast({name: tuple(x.shape) for name, x in parts.items() if x is not None})
    true, pred = _squeeze_expanded(true), _squeeze_expanded(pred)

    noisy = _equals(pred, noise_label, "noise_label")
    if noisy is None and policy.fixed_columns:  # no item can have this label, but tables have its column
        noisy = torch.zeros_like(pred.values, dtype=torch.bool)
    keep = all_of(
        mask,
        _equals(true, ignore_index, "ignore_index", unlike=True),
        None if policy.counts_noise else _negate(noisy),
    )
    codable = all_of(keep, _negate(noisy))  # counted noise gets codes of its own
    ranges = (
        _code_range(true, keep, num_classes, validate, ("labels_true", "num_classes")),
        _code_range(pred, codable, num_clusters, validate, ("labels_pred", "num_clusters")),
    )
    # If tables over the whole range of labels were large, a lookup of labels pays.
    wide = (ranges[0][1] - ranges[0][0] + 1) * (ranges[1][1] - ranges[1][0] + 1) > max(_SMALL_TABLE_CELLS, shape[-1])
    true_side = _encode_side(true, keep, num_classes, ranges[0], wide)
    pred_side = _encode_side(pred, codable, num_clusters, ranges[1], wide)
    if noisy is not None and policy.counts_noise:
        pred_side = _add_noise(pred_side, all_of(noisy, keep), policy, noise_label)

    in_range = validate or (num_classes is None and num_clusters is None)
    partial = keep is not mask or not in_range
    return EncodedPair(
        true=true_side,
        pred=pred_side,
        batch_shape=torch.Size(shape[:-1]),
        n_items=shape[-1],
        mask=keep,
        weights=weights,
        codes_in_range=in_range,
        n_considered=_considered(mask, weights, shape[-1], place) if partial else None,
    )


# --- the checks -------------------------------------------------------------------------------------------


def check_sizes(num_classes: int | None, num_clusters: int | None) -> None:
    """Raise where a size of tables is neither None nor a whole number of at least 1."""
    for name, size in (("num_classes", num_classes), ("num_clusters", num_clusters)):
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1):
            raise ValueError(f"{name}: expected a whole number of at least 1; got {size!r}")


def _check_weights(weights: Any, device: torch.device, validate: bool) -> Tensor:
    weights = as_numbers(weights, "weights").to(device)
    if weights.dim() == 0:
        raise ValueError("weights: expected shape (*batch, N); got a single value")
    if not weights.is_floating_point():
        weights = weights.long()
    elif validate and weights.numel() and weights.detach().double().mean() < 1:
        message = "weights: pair measures read weights as frequencies, and their mean is below 1; rescale to mean 1"
        warnings.warn(message, UserWarning, stacklevel=5)
    if validate:
        check_nonnegative(weights, "weights", (-1,))
    return weights.double() if weights.is_floating_point() else weights


def _broadcast(shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    lengths = {name: shape[-1] for name, shape in shapes.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"labels_pred: expected one number of items everywhere (last dimension); got {got}")
    try:
        return tuple(broadcast_shapes(*shapes.values()))
    except ValueError:
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"labels_pred: expected batch shapes that broadcast; got {got}") from None


def _squeeze_expanded(ids: IntegerLabels) -> IntegerLabels:
    """Expanded batch dimensions back to size 1, so that no label is read twice."""
    x = ids.values
    for dim in range(x.dim() - 1):
        if x.stride(dim) == 0 and x.shape[dim] > 1:
            x = x.narrow(dim, 0, 1)
    return replace(ids, values=x)


# --- masks ------------------------------------------------------------------------------------------


def _equals(ids: IntegerLabels, label: Any, name: str, *, unlike: bool = False) -> Tensor | None:
    number = None if label is None else ids.code_of(label, name)
    if number is None:
        return None
    return ids.values != number if unlike else ids.values == number


def _negate(x: Tensor | None) -> Tensor | None:
    return None if x is None else x.logical_not()


def all_of(*masks: Mask | None) -> Mask | None:
    """Where all masks that are given are true; None where none is given."""
    given = [mask for mask in masks if mask is not None]
    return reduce(and_, given) if given else None


def _considered(mask: Tensor | None, weights: Tensor | None, n: int, device: torch.device) -> Tensor:
    if weights is None:
        return torch.full((), n, device=device) if mask is None else _count_true(mask)
    return (weights if mask is None else torch.where(mask, weights, 0)).sum(-1)


def _count_true(mask: Tensor) -> Tensor:
    if mask.device.type != "cpu" or torch.compiler.is_compiling():
        return mask.sum(-1)  # on the CPU this would make an int64 copy of the mask
    return torch.as_tensor(mask.numpy().sum(-1, dtype=np.int64))


# --- codes ------------------------------------------------------------------------------------------------


def _code_range(
    ids: IntegerLabels, keep: Tensor | None, size: int | None, validate: bool, arguments: tuple[str, str]
) -> tuple[int, int]:
    """First and last code of a side: given by its size, or the range of its labels, excluded items included."""
    if size is None:
        return _bounds(ids.values, None)
    if ids.kind == "text":
        raise ValueError(f"{arguments[0]}: expected codes 0..{size - 1}, as {arguments[1]} is given; got strings")
    if validate:
        _check_range(ids, keep, size, arguments)
    return 0, int(size) - 1


def _bounds(values: Tensor, keep: Tensor | None) -> tuple[int, int]:
    """Smallest and largest value of the kept items; (0, 0) without any."""
    if values.numel() == 0 or (keep is not None and keep.numel() == 0):
        return 0, 0
    if keep is None:
        return min_max(values)
    limits = torch.iinfo(values.dtype)
    ends = (values.masked_fill(~keep, limits.max).amin(), values.masked_fill(~keep, limits.min).amax())
    low, high = torch.stack(ends).tolist()
    return (low, high) if low <= high else (0, 0)


def _encode_side(
    ids: IntegerLabels, keep: Tensor | None, size: int | None, limits: tuple[int, int], wide: bool
) -> EncodedLabels:
    low, high = limits
    if size is not None:
        return EncodedLabels(ids.values, 0, int(size), None)
    if not wide or ids.values.numel() == 0:
        count = high - low + 1
        group_labels = ids.decode(torch.arange(count, device=ids.values.device) + low)
        far = max(-low, high) >= _SHIFT_BEYOND
        if far:
            return EncodedLabels(ids.values - low, 0, count, group_labels)
        return EncodedLabels(ids.values, low, count, group_labels)
    kept = None if keep is None else _restrict(keep, ids.values.shape)
    if _is_filled_range(ids.values, kept, low, high):
        group_labels = ids.decode(torch.arange(low, high + 1, device=ids.values.device))
        return EncodedLabels(ids.values, low, high - low + 1, group_labels)
    codes, groups = _compact_codes(ids.values, kept, low, high - low + 1)
    return EncodedLabels(codes, 0, groups.shape[-1], ids.decode(groups))


def _check_range(ids: IntegerLabels, keep: Tensor | None, size: int, arguments: tuple[str, str]) -> None:
    low, high = _bounds(ids.values, None)
    if keep is not None and (low < 0 or high >= size):
        low, high = _bounds(ids.values, keep)
    if low < 0 or high >= size:
        values = ids.values.long()
        bad = (values < 0) | (values >= size)
        at = first_position(bad if keep is None else bad & keep)
        place = tuple(p if s > 1 else 0 for p, s in zip(at[-ids.values.dim() :], ids.values.shape, strict=True))
        label = ids.decode(ids.values[place])
        expected = f"codes 0..{size - 1}, as {arguments[1]} is {size}"
        raise ValueError(f"{arguments[0]}: expected {expected}; got {label.item()} at position {format_position(at)}")


def _restrict(keep: Tensor, shape: torch.Size) -> Tensor:
    """Whether an item counts anywhere in the batch, in the shape of one side's labels."""
    keep = keep.expand(broadcast_shapes(keep.shape, shape))
    while keep.dim() > len(shape):
        keep = keep.any(0)
    for dim, size in enumerate(shape):
        if size == 1 and keep.shape[dim] != 1:
            keep = keep.any(dim, keepdim=True)
    return keep


def _compact_codes(values: Tensor, keep: Tensor | None, low: int, span: int) -> tuple[Tensor, Tensor]:
    """Codes without gaps, and the value of each code: ``(K,)`` for the whole batch, or ``(*batch, K)``."""
    n = values.shape[-1]
    rows = values.reshape(-1, n)
    kept = None if keep is None else keep.reshape(-1, n)
    joined = rows.reshape(1, -1), None if kept is None else kept.reshape(1, -1)
    narrow = span <= max(4 * values.numel(), _MAX_LOOKUP_ENTRIES)
    encoded = _look_up(*joined, low, span) if narrow else _search(*joined)
    if encoded is None:
        codes, groups = _rank(rows, kept)
    else:
        codes, groups = encoded
        count = groups.shape[-1]
        codes = codes.reshape(rows.shape)
        if len(rows) > 1 and len(rows) * count <= max(4 * values.numel(), _MAX_LOOKUP_ENTRIES):
            row_codes, row_groups = _look_up(codes, kept, 0, count)
            if 2 * row_groups.shape[-1] <= count:
                codes, groups = row_codes, groups[0, row_groups]
        elif len(rows) > 1 and count > n:
            codes, groups = _rank(rows, kept)
    groups = groups[0] if len(groups) == 1 else groups.reshape(*values.shape[:-1], -1)
    return codes.reshape(values.shape), groups


def _is_filled_range(values: Tensor, keep: Tensor | None, low: int, high: int) -> bool:
    """Whether nine in ten numbers of a range are labels of the first row: labels then serve as codes."""
    n, span = values.shape[-1], high - low + 1
    if n < 2 * span or max(-low, high) >= _SHIFT_BEYOND:
        return False
    step = max(1, n // (8 * span))
    row, kept = (None if x is None else x.reshape(-1, n)[:1, ::step] for x in (values, keep))
    assert row is not None
    return 10 * int(_present(row, kept, low, span)[:, :span].sum()) >= 9 * span


def _present(rows: Tensor, keep: Tensor | None, low: int, span: int) -> Tensor:
    """Which values of a range each row has, ``(b, span + 1)``; the last entry is for excluded items."""
    present = torch.zeros(len(rows) * (span + 1), dtype=torch.bool, device=rows.device)
    for _, at in _entries(rows, keep, low, span):
        present.index_fill_(0, at, True)
    return present.view(len(rows), span + 1)


def _look_up(rows: Tensor, keep: Tensor | None, low: int, span: int) -> tuple[Tensor, Tensor]:
    """Codes of each row by a table over the range of values; ``rows`` is ``(b, n)``."""
    size, n = rows.shape
    present = _present(rows, keep, low, span)
    present[:, span] = False
    rank = present.cumsum(1) - 1
    groups = torch.zeros(size, max(1, int(rank[:, -1].max()) + 1), dtype=torch.int64, device=rows.device)
    row, value = present.nonzero().unbind(-1)
    groups[row, rank[row, value]] = value + low
    code_of = rank.clamp_(min=0).to(torch.int32).view(-1)
    codes = torch.empty(size * n, dtype=torch.int32, device=rows.device)
    for start, at in _entries(rows, keep, low, span):
        torch.index_select(code_of, 0, at, out=codes[start : start + len(at)])
    return codes.view(size, n), groups


def _entries(rows: Tensor, keep: Tensor | None, low: int, span: int) -> Iterator[tuple[int, Tensor]]:
    """Yield (first label, index into a table of ``span + 1`` entries per row) by blocks, which stay in the cache."""
    size, n = rows.shape
    block = _LOOKUP_BLOCK_LABELS if rows.device.type == "cpu" else rows.numel()
    height, width = max(1, block // n), min(n, block)
    offsets = torch.arange(size, device=rows.device).unsqueeze(-1) * (span + 1)
    for top in range(0, size, height):
        part = slice(top, top + height)
        for first in range(0, n, width):
            columns = slice(first, first + width)
            at = rows[part, columns].long() - low
            if keep is not None:
                at = torch.where(keep[part, columns], at, span)
            yield top * n + first, at.add_(offsets[part]).reshape(-1)


def _search(rows: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """Codes of one row ``(1, n)`` with few distinct values of any size, by bisection; None with many."""
    values = rows[0] if keep is None else rows[0].masked_fill(~keep[0], int(rows[0][keep[0].int().argmax()]))
    values = values.contiguous()
    known = torch.unique(values[:: max(1, len(values) // _SAMPLE_LABELS)])
    for _ in range(2):
        if len(known) > _BISECT_UP_TO:
            return None
        codes = torch.searchsorted(known, values, out_int32=True).clamp_(max=len(known) - 1)
        missing = values[known[codes] != values]
        if not len(missing):
            return codes.unsqueeze(0), known.long().unsqueeze(0)
        known = torch.unique(torch.cat([known, torch.unique(missing)]))
    return None


def _rank(rows: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
    """Codes of each row by a sort; ``rows`` is ``(b, n)`` with any values."""
    if keep is not None:
        filler = rows.masked_fill(~keep, torch.iinfo(rows.dtype).max).amin(-1, keepdim=True)
        rows = torch.where(keep, rows, filler)
    ordered, order = rows.sort(-1)
    starts = torch.zeros_like(order)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rank = starts.cumsum(-1)
    groups = torch.zeros(len(rows), int(rank[:, -1].max()) + 1, dtype=torch.int64, device=rows.device)
    groups.scatter_(1, rank, ordered.long())
    return torch.empty_like(rank).scatter_(1, order, rank), groups


def _add_noise(side: EncodedLabels, noisy: Tensor | None, policy: NoisePolicy, label: Any) -> EncodedLabels:
    """Give noise codes after the last one: one code for all of it, or one for each item of a row."""
    assert noisy is not None
    if policy.has_column_per_item:
        number = noisy.long().cumsum(-1)
        extra = int(number.amax()) if number.numel() else 0
        codes = number + (side.offset + side.size - 1)
    else:
        extra, codes = 1, side.codes.new_full((), 0, dtype=torch.int64) + side.offset + side.size
    group_labels = side.group_labels
    if group_labels is not None:
        group_labels = append_label(group_labels, label, extra)
    end = side.offset + side.size
    others = side.codes.long()  # narrow types cannot be compared with an end beyond them
    others = others.masked_fill(others >= end, end + extra)  # a code out of range stays out of range
    return EncodedLabels(torch.where(noisy, codes, others), side.offset, side.size + extra, group_labels)
