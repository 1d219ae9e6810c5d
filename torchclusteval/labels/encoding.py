"""Encode two sets of labels as integer codes: options, noise, masks, ranges. ``inputs`` converts the inputs themselves.

A *code* is the index of a row (column) of a table. Labels become codes by the cheapest way that keeps tables small:
subtracting the smallest label, a lookup table over the range of labels, or a sort. Codes are numbered over the whole
batch, or in each of its rows if their labels have little in common.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.absent import (
    AbsentGroup,
    add_absent_code,
    find_group,
    group_among_codes,
    repeat_last,
)
from torchclusteval.labels.codes import SHIFT_BEYOND, bounds, compact_codes, is_filled_range, restrict
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.inputs import (
    IntegerLabels,
    as_mask,
    as_numbers,
    check_missing,
    check_nonnegative,
    first_position,
    format_position,
    own_position,
    resolve_device,
    to_integers,
)
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.labels.options import DEFAULTS, LabelOptions
from torchclusteval.labels.shapes import check_indexes, item_shape, joint_names, joint_shape
from torchclusteval.labels.sources import LabelSource, Names, pandas_index, read_labels

_SMALL_TABLE_CELLS = 4096  # up to this size padding costs less than looking labels up

Mask = TypeVar("Mask", Tensor, np.ndarray)


@contextmanager
def argument_names(**names: str) -> Iterator[None]:
    """Errors name the arguments of ``encode`` as the function does that takes them by other names."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, known in names.items():
            message = message.replace(name, known)
        for known in filter(str.isidentifier, set(names.values())):
            message = message.replace(f"{known}, {known}", known)
        raise ValueError(message) from None


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """The codes of one side. Excluded items may have any code."""

    codes: Tensor  # (*side_batch, N) integer, offset .. offset + size - 1
    offset: int
    size: int
    group_labels: GroupLabels | None  # (size,) or (*batch, size): the label of each code
    absent: AbsentGroup | None = None  # the code, without the offset, of items without a group; None: they have none


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
    item_shape: tuple[int, ...] | None = None  # of the items before they were flattened; None: (N,)
    names: Names | None = None  # (B,) of the clusterings, where they are known
    has_margins: bool = False  # whether items that only one side groups have codes

    @property
    def device(self) -> torch.device:
        return self.true.codes.device


@on_one_thread
def encode(
    labels_true: Any,
    labels_pred: Any,
    options: LabelOptions = DEFAULTS,
    *,
    margins: bool = False,
) -> EncodedPair:
    """Encode two sets of labels.

    With ``margins``, items that only one side groups get codes (``EncodedLabels.absent``); else they are excluded.
    """
    policy, missing, validate = options.policy, options.missing, options.validate
    noise_label, absent_true, absent_pred = options.noise_label, options.absent_true, options.absent_pred
    num_classes, num_clusters = options.num_classes, options.num_clusters
    dims = 1 if options.item_dims is None else int(options.item_dims)
    arguments = {
        "labels_true": labels_true,
        "labels_pred": labels_pred,
        "mask": options.mask,
        "weights": options.weights,
    }
    place = resolve_device(options.device, arguments)
    sources = {name: read_labels(arguments[name], name) for name in ("labels_true", "labels_pred")}
    mask = None if options.mask is None else as_mask(options.mask, place)
    weights = None if options.weights is None else _as_weights(options.weights, place)
    shapes = _shapes(sources, mask, weights)
    items = None
    if dims > 1:
        named = next((name for name, source in sources.items() if source.names or source.columns), None)
        if named is not None:
            raise ValueError(f"item_dims: expected None or 1 with {named} as columns or by name; got {dims}")
        items = item_shape(shapes, dims)
        sources = {name: source.flatten(dims) for name, source in sources.items()}
        mask, weights = (None if x is None else x.flatten(-dims) for x in (mask, weights))
        shapes = _shapes(sources, mask, weights)
    true_source, pred_source = sources["labels_true"], sources["labels_pred"]
    meant = options.item_dims is not None or true_source.names is not None or pred_source.names is not None
    shape = joint_shape(shapes, sources, meant=meant)
    _check_indexes(sources, arguments, shape[-1])
    if weights is not None:
        _check_weights(weights, mask, validate)
    true, pred = (
        _squeeze_expanded(to_integers(source, name, place, validate=validate, mask=mask))
        for name, source in sources.items()
    )

    noisy = _equals(pred, noise_label, "noise_label")
    if noisy is None and policy.fixed_columns:  # no item can have this label, but tables have its column
        noisy = torch.zeros_like(pred.values, dtype=torch.bool)
    keep = all_of(
        mask,
        _equals(true, options.ignore_index, "ignore_index", unlike=True),
        None if policy.counts_noise else _negate(noisy),
    )
    if true.missing is not None or pred.missing is not None:
        if missing == "error":
            for ids, name in ((true, "labels_true"), (pred, "labels_pred")):
                check_missing(ids, keep, name, 'leave such items out by missing="ignore" or mask=')
        # Unchecked, what is no whole number is a label outside the codes, if there are codes.
        given = [
            ids.missing
            for ids, size in ((true, num_classes), (pred, num_clusters))
            if missing == "ignore" or validate or size is None
        ]
        keep = all_of(keep, *map(_negate, given))
    in_range = validate or (num_classes is None and num_clusters is None)
    absent_labels, considered = (absent_true, absent_pred), mask
    if not margins and absent_labels != (None, None):
        absent = _equals(true, absent_true, "absent_true"), _equals(pred, absent_pred, "absent_pred")
        if absent[0] is not None and absent[1] is not None:
            considered = all_of(mask, _negate(all_of(keep, *absent)))
        keep, absent_labels = all_of(keep, *map(_negate, absent)), (None, None)
    codable = all_of(keep, _negate(noisy))  # counted noise gets codes of its own
    ranges = (
        _code_range(true, keep, num_classes, validate, ("labels_true", "num_classes", "absent_true"), absent_labels[0]),
        _code_range(
            pred, codable, num_clusters, validate, ("labels_pred", "num_clusters", "absent_pred"), absent_labels[1]
        ),
    )
    # If tables over the whole range of labels were large, a lookup of labels pays.
    wide = (ranges[0][1] - ranges[0][0] + 1) * (ranges[1][1] - ranges[1][0] + 1) > max(_SMALL_TABLE_CELLS, shape[-1])
    true_side = _encode_side(true, keep, num_classes, ranges[0], wide)
    pred_side = _encode_side(pred, codable, num_clusters, ranges[1], wide)
    if absent_true is not None and margins:
        true_side = _with_absent(true_side, true, absent_true, "absent_true", num_classes, in_range)
    if absent_pred is not None and margins:
        pred_side = _with_absent(pred_side, pred, absent_pred, "absent_pred", num_clusters, in_range)
    if noisy is not None and policy.counts_noise:
        pred_side = _add_noise(pred_side, all_of(noisy, keep), policy, noise_label)

    has_margins = margins and absent_labels != (None, None)
    partial = keep is not mask or not in_range or has_margins
    batch_shape = torch.Size(shape[:-1])
    return EncodedPair(
        true=true_side,
        pred=pred_side,
        batch_shape=batch_shape,
        n_items=shape[-1],
        mask=keep,
        weights=weights,
        codes_in_range=in_range,
        n_considered=count_considered(considered, weights, shape[-1], place) if partial else None,
        item_shape=items,
        names=joint_names(true_source, pred_source, batch_shape),
        has_margins=has_margins,
    )


# --- the checks -------------------------------------------------------------------------------------------


def _as_weights(weights: Any, device: torch.device) -> Tensor:
    weights = as_numbers(weights, "weights").to(device)
    if weights.dim() == 0:
        raise ValueError("weights: expected shape (*batch, N); got a single value")
    return weights.double() if weights.is_floating_point() else weights.long()


def _check_weights(weights: Tensor, mask: Tensor | None, validate: bool) -> None:
    """Raise on weights that are negative or missing, other than those of items that the mask leaves out."""
    if not validate:
        return
    if mask is not None:
        weights = torch.where(mask, weights.detach(), 0)
    check_nonnegative(weights, "weights", (-1,))
    count = weights.numel() if mask is None else int(mask.expand(weights.shape).sum())
    if weights.is_floating_point() and count and weights.detach().sum() < count:
        message = "weights: pair measures read weights as frequencies, and their mean is below 1; rescale to mean 1"
        warnings.warn(message, UserWarning, stacklevel=6)


def _shapes(sources: dict[str, LabelSource], mask: Tensor | None, weights: Tensor | None) -> dict[str, tuple[int, ...]]:
    shapes = {name: source.shape for name, source in sources.items()}
    if mask is not None:
        shapes["mask"] = tuple(mask.shape)
    if weights is not None:
        shapes["weights"] = tuple(weights.shape)
    for name, shape in shapes.items():
        if not shape:
            raise ValueError(f"{name}: expected labels of shape (*batch, N); got a single value")
    return shapes


def _check_indexes(sources: dict[str, LabelSource], arguments: dict[str, Any], n: int) -> None:
    indexes = [(name, index) for name, source in sources.items() for index in source.indexes]
    for name in ("mask", "weights"):
        index = None if arguments[name] is None else pandas_index(arguments[name])
        if index is not None:
            indexes.append((name, index))
    if len(indexes) > 1:
        check_indexes(indexes, n)


def _squeeze_expanded(ids: IntegerLabels) -> IntegerLabels:
    """Expanded batch dimensions back to size 1, so that no label is read twice."""
    x = ids.values
    for dim in range(x.dim() - 1):
        if x.stride(dim) == 0 and x.shape[dim] > 1:
            x = x.narrow(dim, 0, 1)
    return ids if x is ids.values else replace(ids, values=x)


# --- masks ------------------------------------------------------------------------------------------


def _equals(ids: IntegerLabels, label: Any, name: str, *, unlike: bool = False) -> Tensor | None:
    number = None if label is None else ids.code_of(label, name)
    if number is None:
        return None
    if ids.missing is None:
        return ids.values != number if unlike else ids.values == number
    equal = (ids.values == number) & ~ids.missing
    return ~equal if unlike else equal


def _negate(x: Tensor | None) -> Tensor | None:
    return None if x is None else x.logical_not()


def all_of(*masks: Mask | None) -> Mask | None:
    """Where all masks that are given are true; None where none is given."""
    given = [mask for mask in masks if mask is not None]
    return reduce(and_, given) if given else None


def count_considered(mask: Tensor | None, weights: Tensor | None, n: int, device: torch.device) -> Tensor:
    """Unmasked items, or their weight, ``(*some_batch,)``."""
    if weights is None:
        return torch.full((), n, device=device) if mask is None else _count_true(mask)
    return (weights if mask is None else torch.where(mask, weights, 0)).sum(-1)


def _count_true(mask: Tensor) -> Tensor:
    if mask.device.type != "cpu" or torch.compiler.is_compiling():
        return mask.sum(-1)  # on the CPU this would make an int64 copy of the mask
    return torch.as_tensor(mask.numpy().sum(-1, dtype=np.int64))


# --- codes ------------------------------------------------------------------------------------------------


def _code_range(
    ids: IntegerLabels,
    keep: Tensor | None,
    size: int | None,
    validate: bool,
    arguments: tuple[str, str, str],
    absent: Any,
) -> tuple[int, int]:
    """First and last code of a side: given by its size, or the range of its labels, excluded items included.

    ``absent`` is the label of items without a group, which need no code; None: there is none.
    """
    if size is None:
        return bounds(ids.values, None)
    if ids.kind == "text":
        raise ValueError(f"{arguments[0]}: expected codes 0..{size - 1}, as {arguments[1]} is given; got strings")
    if validate:
        if absent is not None and not group_among_codes(absent, size, arguments[2]).stays:
            keep = all_of(keep, _equals(ids, absent, arguments[2], unlike=True))
        _check_range(ids, keep, size, arguments[:2])
    return 0, int(size) - 1


def _encode_side(
    ids: IntegerLabels, keep: Tensor | None, size: int | None, limits: tuple[int, int], wide: bool
) -> EncodedLabels:
    low, high = limits
    if size is not None:
        return EncodedLabels(ids.values, 0, int(size), None)
    if not wide or ids.values.numel() == 0:
        count = high - low + 1
        numbers = torch.arange(count, device=ids.values.device)
        group_labels = ids.decode(numbers + low if low else numbers)  # high + 1 may be beyond 64 bits
        if max(-low, high) >= SHIFT_BEYOND:
            return EncodedLabels(ids.values - low, 0, count, group_labels)
        return EncodedLabels(ids.values, low, count, group_labels)
    kept = None if keep is None else restrict(keep, ids.values.shape)
    if is_filled_range(ids.values, kept, low, high):
        group_labels = ids.decode(torch.arange(low, high + 1, device=ids.values.device))
        return EncodedLabels(ids.values, low, high - low + 1, group_labels)
    codes, groups = compact_codes(ids.values, kept, low, high - low + 1)
    return EncodedLabels(codes, 0, groups.shape[-1], ids.decode(groups))


def _with_absent(
    side: EncodedLabels, ids: IntegerLabels, label: Any, name: str, size: int | None, in_range: bool
) -> EncodedLabels:
    """Say which code stands for the items without a group; where labels are codes, or differ by row, add one."""
    group = None if size is None else group_among_codes(label, size, name)
    if group is not None and group.stays:
        return replace(side, absent=group)
    labels = side.group_labels
    if labels is not None and labels.ndim == 1:
        number = ids.code_of(label, name)
        return side if number is None else replace(side, absent=find_group(labels, number, ids))
    absent, end = _equals(ids, label, name), side.offset + side.size
    codes = add_absent_code(side.codes, absent, end, in_range)
    return EncodedLabels(codes, side.offset, side.size + 1, repeat_last(labels), AbsentGroup(side.size, False))


def _check_range(ids: IntegerLabels, keep: Tensor | None, size: int, arguments: tuple[str, str]) -> None:
    low, high = bounds(ids.values, None)
    if keep is not None and (low < 0 or high >= size):
        low, high = bounds(ids.values, keep)
    if low < 0 or high >= size:
        values = ids.values.long()
        bad = (values < 0) | (values >= size)
        at = first_position(bad if keep is None else bad & keep)
        label = ids.decode(ids.values[own_position(at, ids.values.shape)])
        expected = f"codes 0..{size - 1}, as {arguments[1]} is {size}"
        raise ValueError(f"{arguments[0]}: expected {expected}; got {label.item()} at position {format_position(at)}")


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
