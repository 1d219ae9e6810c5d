"""Groups of items, such as documents, donors or images: the ids ``by`` as the numbers of tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.numerics import broadcast_shapes
from torchclusteval.labels.codes import bounds, compact_codes, restrict
from torchclusteval.labels.encoding import EncodedPair, all_of
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.inputs import (
    IntegerLabels,
    as_mask,
    check_missing,
    first_position,
    format_position,
    own_position,
    resolve_device,
    to_integers,
)
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import pandas_index, read_labels

_SIGN = -(2**63)  # uint64 ids, seen as int64, are in order once this bit is flipped


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """The group of each item."""

    codes: Tensor  # (*some_batch, N) int64, 0 .. size - 1; anything for items in no group
    size: int
    ids: GroupLabels  # (size,) ascending
    inside: Tensor | None  # (*some_batch, N) bool: items in a group; None: all
    mask: Tensor | None  # (*some_batch, N) bool: items that the user's mask lets count; None: all

    def joint_batch(self, batch_shape: torch.Size) -> torch.Size:
        """The shape of the batch of clusterings, without the groups."""
        return broadcast_shapes(batch_shape, self.codes.shape[:-1])


def place_of_groups(labels_true: Any, labels_pred: Any, options: LabelOptions) -> LabelOptions:
    """The same options with the device of labels or of ``by``, by the rule for labels.

    Raises:
        ValueError: tensors on two devices, or ``num_groups`` of no groups.
    """
    if options.by is None:
        if options.num_groups is not None:
            raise ValueError(f"num_groups: expected by= too, the group of each item; got {options.num_groups} alone")
        return options
    given = {"labels_true": labels_true, "labels_pred": labels_pred, "by": options.by}
    return replace(options, device=resolve_device(options.device, given))


def read_groups(labels_true: Any, labels_pred: Any, options: LabelOptions, pair: EncodedPair) -> ItemGroups:
    """Number the groups of the items.

    Args:
        labels_true: classes as the user gave them.
        labels_pred: clusters, likewise; pandas indexes must be that of ``by``.
        options: an id that the mask excludes everywhere is no group.
        pair: the labels, encoded.

    Raises:
        ValueError: ids are not as described.
    """
    by, num_groups, missing, validate = options.by, options.num_groups, options.missing, options.validate
    given = {"labels_true": labels_true, "labels_pred": labels_pred, "mask": options.mask, "weights": options.weights}
    mask = None if options.mask is None else as_mask(options.mask, pair.device)
    if mask is not None and pair.item_shape is not None:
        mask = mask.flatten(-len(pair.item_shape))
    ids = _read(by, pair, mask, validate)
    _check_indexes(by, given, ids.values.shape[-1])
    kept = None if mask is None else restrict(mask, ids.values.shape)
    if ids.missing is not None and missing == "error":
        check_missing(ids, kept, "by", 'leave such items out by missing="ignore" or mask=')
    inside = None if ids.missing is None else ~ids.missing
    if num_groups is None:
        codes, values = _number(ids, all_of(kept, inside))
        return ItemGroups(codes, len(values), ids.decode(values), inside, mask)
    if ids.kind == "text":
        raise ValueError(f"by: expected codes 0..{num_groups - 1}, as num_groups is given; got strings")
    codes, size = ids.values.long(), int(num_groups)
    outside = (codes < 0) | (codes >= size)
    if validate:
        _check_codes(codes, all_of(outside, kept, inside), size)
    return ItemGroups(codes, size, torch.arange(size, device=codes.device), all_of(~outside, inside), mask)


def _read(by: Any, pair: EncodedPair, mask: Tensor | None, validate: bool) -> IntegerLabels:
    source = read_labels(by, "by")
    if source.names is not None or source.columns is not None:
        got = f"{source.shape[0]} columns of them"
        raise ValueError(f"by: expected an id for each item; got {got} (pass one column, such as frame['document'])")
    items = pair.item_shape or (pair.n_items,)
    if source.shape[-len(items) :] != items:
        one = f"one for each of the {items[0]} items" if len(items) == 1 else f"of shape {items}, as the items are"
        raise ValueError(f"by: expected ids, {one}; got shape {tuple(source.shape)}")
    if len(items) > 1:
        source = source.flatten(len(items))
    try:
        broadcast_shapes(source.shape[:-1], pair.batch_shape)
    except ValueError:
        expected = f"ids that broadcast to the batch {tuple(pair.batch_shape)}"
        raise ValueError(f"by: expected {expected}; got shape {tuple(source.shape)}") from None
    return to_integers(source, "by", pair.device, validate=validate, mask=mask)


def _check_indexes(by: Any, given: Mapping[str, Any], n: int) -> None:
    own = pandas_index(by)
    if own is None:
        return
    for name, argument in given.items():
        columns = list(argument.values()) if isinstance(argument, Mapping) else [argument]
        for index in map(pandas_index, columns):
            if index is not None:
                check_indexes([(name, index), ("by", own)], n)


def _number(ids: IntegerLabels, kept: Tensor | None) -> tuple[Tensor, Tensor]:
    """Codes of the ids that are kept, without gaps and in order, and the id of each code."""
    values = ids.values
    if not values.numel() or (kept is not None and not bool(kept.any())):
        return torch.zeros(values.shape, dtype=torch.int64, device=values.device), values.new_zeros(0)
    if ids.kind == "unsigned":
        codes, groups = _number(replace(ids, values=values ^ _SIGN, kind="integer"), kept)
        return codes, groups ^ _SIGN
    kept = None if kept is None else kept.expand(values.shape).reshape(-1)
    flat = values.reshape(-1)
    low, high = bounds(flat, kept)
    span = high - low + 1
    if kept is None and span <= len(flat):
        codes = flat.long() - low
        if bool(torch.zeros(span, dtype=torch.bool, device=flat.device).index_fill_(0, codes, True).all()):
            return codes.reshape(values.shape), torch.arange(span, device=flat.device) + low
    codes, groups = compact_codes(flat, kept, low, span)
    return codes.reshape(values.shape).long(), groups


def _check_codes(codes: Tensor, bad: Tensor | None, size: int) -> None:
    if bad is not None and bool(bad.any()):
        at = first_position(bad)
        got = f"{codes[own_position(at, codes.shape)].item()} at position {format_position(at)}"
        raise ValueError(f"by: expected codes 0..{size - 1}, as num_groups is {size}; got {got}")
