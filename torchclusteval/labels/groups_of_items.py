"""Groups of items, such as documents, donors or images: from the ids ``by`` to the numbers of tables."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.codes import bounds, compact_codes, restrict
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.integers import IntegerLabels, check_codes, check_missing, to_integers
from torchclusteval.labels.keeping import all_of, negate
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import read_labels

_SIGN = -(2**63)  # uint64 ids, seen as int64, are in order once this bit is flipped


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """The group of each item."""

    codes: Tensor  # (*some_batch, N) int64, 0 .. size - 1; anything for items in no group
    size: int
    ids: GroupLabels  # (size,) ascending
    inside: Tensor | None  # (*some_batch, N) bool: items in a group; None: all
    mask: Tensor | None  # (*some_batch, N) bool: items that the user's mask includes; None: all

    def joint_batch(self, batch_shape: torch.Size) -> torch.Size:
        """The shape of the batch of clusterings, without the groups."""
        return torch.Size(np.broadcast_shapes(batch_shape, self.codes.shape[:-1]))


def read_groups(options: LabelOptions, pair: EncodedPair) -> ItemGroups:
    """Number the groups of the items of a pair; an id that the mask excludes everywhere is no group."""
    num_groups, mask = options.num_groups, pair.user_mask
    ids = _read(options.by, pair, mask, options.validate)
    kept = None if mask is None else restrict(mask, ids.values.shape)
    if ids.missing is not None and options.missing == "error":
        check_missing(ids, kept, "by", 'leave such items out by missing="ignore" or mask=')
    inside = negate(ids.missing)
    if num_groups is None:
        codes, values = _number(ids, all_of(kept, inside))
        return ItemGroups(codes, len(values), ids.decode(values), inside, mask)
    check_codes(ids, all_of(kept, inside), num_groups, "by", "num_groups", None if options.validate else (0, 0))
    codes, size = ids.values.long(), int(num_groups)
    valid = all_of(codes >= 0, codes < size, inside)
    return ItemGroups(codes, size, torch.arange(size, device=codes.device), valid, mask)


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
        np.broadcast_shapes(source.shape[:-1], pair.batch_shape)
    except ValueError:
        expected = f"ids that broadcast to the batch {tuple(pair.batch_shape)}"
        raise ValueError(f"by: expected {expected}; got shape {tuple(source.shape)}") from None
    check_indexes([*pair.indexes, *(("by", index) for index in source.indexes)], pair.n_items)
    return to_integers(source, "by", pair.device, validate=validate, mask=mask)


def _number(ids: IntegerLabels, kept: Tensor | None) -> tuple[Tensor, Tensor]:
    """Codes of the kept ids, without gaps and in order, and the id of each code."""
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
