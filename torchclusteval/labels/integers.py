"""Labels as whole numbers of 64 bits or fewer, and the way back from numbers to labels."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.labels.codes import bounds, compact_codes, restrict
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.inputs import WIDER, first_position, format_position, own_position, tensor_of
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import LabelSource, indexed, is_missing, read_labels
from torchclusteval.labels.vocabulary import LabelKind, decode_integers, number_of

_NO_LABELS = " (of probabilities or logits, take argmax(-1); soft counts: from_probabilities, update_soft)"


@dataclass(eq=False, slots=True)
class IntegerLabels:
    """Labels as integers, and how to decode the integers."""

    values: Tensor  # (*batch, N) uint8, int8, int16, int32 or int64; anything where a label is missing
    vocabulary: np.ndarray | None = None  # (V,) or (B, V), by row: labels, indexed by values; None: values are labels
    kind: LabelKind = "integer"
    missing: Tensor | None = None  # (*batch, N) bool; None: no label is missing
    missing_shown: str | None = None  # a missing label in messages; None: without checks
    indexes: tuple[Any, ...] = field(default=(), repr=False)  # of the pandas objects among the labels

    def decode(self, values: Tensor) -> Tensor | np.ndarray:
        """The labels of these integers."""
        if self.vocabulary is None:
            return decode_integers(values, self.kind)
        places = values.cpu().numpy()
        if self.vocabulary.ndim == 1 or places.ndim == 1:
            return np.asarray(self.vocabulary[..., places])
        return np.take_along_axis(self.vocabulary, places, axis=-1)

    def decode_range(self, low: int, count: int) -> GroupLabels | Callable[[], GroupLabels]:
        """The labels of consecutive integers, or a function to make them that keeps no labels of items in memory."""
        if self.vocabulary is not None:
            return self.decode(torch.arange(low, low + count))
        return partial(_range, low, count, self.kind, self.values.device)

    def code_of(self, label: Any, name: str) -> int | Tensor | None:
        """The integer of a label, ``(B, 1)`` where it differs by row, or None if no item can have this label."""
        if self.vocabulary is not None:
            if not isinstance(label, str) and all(isinstance(x, str) for x in self.vocabulary.flat):
                raise ValueError(f"{name}: expected a string, as the labels are; got {_shown(label)}")
            hits = np.equal(self.vocabulary, label, dtype=object).astype(bool)
            if not hits.any():
                return None
            if hits.ndim == 1:
                return int(hits.argmax())
            codes = np.where(hits.any(1), hits.argmax(1), -1)
            return torch.from_numpy(codes).unsqueeze(1).to(self.values.device)
        if not is_whole_label(label):
            raise ValueError(f"{name}: expected a whole number, as the labels are; got {_shown(label)}")
        number, limits = number_of(label, self.kind), torch.iinfo(self.values.dtype)
        return number if number is not None and limits.min <= number <= limits.max else None

    def where(self, label: Any, name: str) -> Tensor | None:
        """Which items have this label, ``(*batch, N)`` bool; None: none can have it."""
        number = None if label is None else self.code_of(label, name)
        if number is None:
            return None
        same = self.values == number
        return same if self.missing is None else same & ~self.missing

    def squeezed(self) -> "IntegerLabels":
        """Expanded batch dimensions back to size 1, so that no label is read twice."""
        x = self.values
        for dim in range(x.dim() - 1):
            if x.stride(dim) == 0 and x.shape[dim] > 1:
                x = x.narrow(dim, 0, 1)
        return self if x is self.values else replace(self, values=x)


def _range(low: int, count: int, kind: LabelKind, device: torch.device) -> Tensor:
    numbers = torch.arange(count, device=device)
    return decode_integers(numbers + low if low else numbers, kind)  # low + count may be beyond 64 bits


def _shown(label: Any) -> str:
    gap = getattr(label, "ndim", 0) == 0 and is_missing(label)
    return brief(label) + ' (missing="ignore" leaves items without a label out)' * gap


def is_whole_label(label: Any) -> bool:
    """Whether a label is a whole number of any type, told apart from its neighbours."""
    if isinstance(label, (int, str, bytes)):
        return isinstance(label, int)
    try:
        number = int(label)
        return bool(number == label) and abs(number) < _exact_below(label)
    except (TypeError, ValueError, OverflowError, RuntimeError, np.ma.MaskError):
        return False


def _exact_below(label: Any) -> float:
    """From this number on, floats of the type of a label do not tell neighbours apart; infinity for other types."""
    kind: Any = getattr(label, "dtype", float if isinstance(label, float) else None)
    return _exact_in(kind)


@cache
def _exact_in(kind: Any) -> float:
    if isinstance(kind, torch.dtype):
        return 2 / torch.finfo(kind).eps if kind.is_floating_point else math.inf
    return 2 / float(np.finfo(kind).eps) if kind is float or getattr(kind, "kind", None) == "f" else math.inf


def read_integers(
    labels: Any, name: str, device: torch.device, remedy: str | None = "drop these items"
) -> IntegerLabels:
    """Labels of any accepted type as integers; the way in for every function of one side of labels.

    ``remedy``: the advice on missing labels in an error; None: missing labels are marked, not refused.
    Raise where no label kind fits: fractions, numbers that a type no longer tells apart, rows of unequal length ...
    """
    source = read_labels(labels, name)
    ids = to_integers(source, name, device)
    if remedy is not None:
        check_missing(ids, None, name, remedy)
    if not source.indexes:
        return ids
    check_indexes(((name, index) for index in source.indexes), ids.values.shape[-1])
    return replace(ids, indexes=source.indexes)


def to_integers(
    source: LabelSource, name: str, device: torch.device, *, validate: bool = True, mask: Tensor | None = None
) -> IntegerLabels:
    """The labels of a source as integers on ``device``, missing ones marked; labels of masked items may be anything."""
    if source.columns is not None:
        return _stacked(source, name, device, validate, mask)
    values, gaps = source.values, None if source.missing is None else tensor_of(source.missing)
    if isinstance(values, Tensor):
        ids = _from_tensor(values, name, validate, mask)
    elif source.vocabulary is not None:
        ids = IntegerLabels(tensor_of(values), source.vocabulary, "text")
    elif values.dtype.kind in "biu":
        ids = _from_tensor(tensor_of(values), name, True, None)
    elif values.dtype.kind == "f" and values.itemsize <= 8:
        numbers = tensor_of(values)
        if gaps is not None:
            numbers = numbers.masked_fill(gaps, torch.nan)
        ids = _from_tensor(numbers, name, True, mask)
    elif values.dtype.kind in "OT":
        ids = _from_objects(values, name, mask)
    else:
        got = f"{values.dtype}{' (dates: .astype(str))' * (values.dtype.kind in 'mM')}"
        raise ValueError(f"{name}: expected whole numbers, booleans or strings; got an array of {got}")
    if ids.values.dim() == 0:
        raise ValueError(f"{name}: expected labels of shape (*batch, N); got a single value")
    if ids.missing is None and gaps is None and ids.values.device == device:
        return ids
    missing, shown = ids.missing, ids.missing_shown
    if gaps is not None:
        missing, shown = gaps if missing is None else gaps | missing, source.missing_shown  # nulls, and also nan
    missing = None if missing is None else missing.to(device)
    return IntegerLabels(ids.values.to(device), ids.vocabulary, ids.kind, missing, shown)


def check_missing(ids: IntegerLabels, keep: Tensor | None, name: str, remedy: str) -> None:
    """Raise if the label of an item that counts is missing."""
    if ids.missing is None or ids.missing_shown is None:
        return
    bad = ids.missing if keep is None else ids.missing & keep
    if bool(bad.any()):
        at = own_position(first_position(bad), ids.values.shape)
        got = f"{ids.missing_shown} at position {format_position(at)}"
        raise ValueError(f"{name}: expected a label for every item; got {got} ({remedy})")


def check_codes(
    ids: IntegerLabels, keep: Tensor | None, size: int, name: str, given: str, ends: tuple[int, int] | None = None
) -> None:
    """Raise unless labels that count, of a range ``ends`` if known, are codes below ``size``, as ``given`` says."""
    if ids.kind == "text":
        raise ValueError(f"{name}: expected codes 0..{size - 1}, as {given} is given; got strings")
    low, high = ends or bounds(ids.values, None)
    if keep is not None and (low < 0 or high >= size):
        low, high = bounds(ids.values, keep)
    if low < 0 or high >= size:
        bad = (ids.values.long() < 0) | (ids.values.long() >= size)
        at = first_position(bad if keep is None else bad & keep)
        got = f"{ids.decode(ids.values[own_position(at, ids.values.shape)]).item()} at position {format_position(at)}"
        raise ValueError(f"{name}: expected codes 0..{size - 1}, as {given} is {size}; got {got}")


def _from_tensor(x: Tensor, name: str, validate: bool, mask: Tensor | None) -> IntegerLabels:
    if x.dtype == torch.bool:
        return IntegerLabels(x.view(torch.uint8), kind="boolean")
    if x.dtype == torch.uint64:
        return IntegerLabels(x.view(torch.int64), kind="unsigned")
    if x.is_complex():
        raise ValueError(f"{name}: expected a dense tensor of whole numbers; got {x.dtype}")
    if not x.is_floating_point():
        return IntegerLabels(x.to(WIDER.get(x.dtype, x.dtype)))
    apart = 2 / torch.finfo(x.dtype).eps  # from here on floats do not tell neighbours apart
    x = x.detach()
    x = x.float() if x.element_size() < 4 else x
    whole = (x == x.trunc()) & (x.abs() < apart)
    if not validate:  # a fractional label becomes -1, outside every range of codes
        return IntegerLabels(x.masked_fill(~whole, -1).long(), missing=~whole)
    if whole.all():
        return IntegerLabels(x.long())
    missing = x.isnan()
    examined = _examined(mask, x.shape)
    bad = ~(whole | missing) if examined is None else ~(whole | missing) & examined.to(x.device)
    if bad.any():
        at = first_position(bad)
        value = x[at].item()
        got = f"{value} at position {format_position(at)}"
        if abs(value) < math.inf and value == int(value):
            expected = f"whole numbers below {apart:.0f}, the exact range of this float type"
            raise ValueError(f"{name}: expected {expected}; got {got} (pass integers or text)")
        raise ValueError(f"{name}: expected whole numbers; got {got}{_NO_LABELS}")
    lowest = float(x.masked_fill(~whole, torch.inf).amin())  # an existing label does not widen the range
    filler = 0.0 if math.isinf(lowest) else lowest
    return IntegerLabels(x.masked_fill(~whole, filler).long(), missing=~whole, missing_shown="nan")


def _examined(mask: Tensor | None, shape: torch.Size) -> Tensor | None:
    """Which items of one side count anywhere in the batch; None: all."""
    if mask is None:
        return None
    try:
        np.broadcast_shapes(mask.shape, shape)
    except ValueError:  # reported later
        return None
    return restrict(mask, shape)


def _from_objects(array: np.ndarray, name: str, mask: Tensor | None) -> IntegerLabels:
    flat = array.reshape(-1).tolist()
    gaps = np.fromiter(map(is_missing, flat), bool, len(flat))
    shown = repr(flat[int(gaps.argmax())]) if gaps.any() else None
    examined = _examined(mask, torch.Size(array.shape))
    if examined is not None:
        gaps |= ~examined.expand(array.shape).cpu().numpy().reshape(-1)
    present = [x for x, gap in zip(flat, gaps.tolist(), strict=True) if not gap]
    missing = torch.from_numpy(gaps.reshape(array.shape)) if gaps.any() else None
    if all(isinstance(x, str) for x in present):
        place = {text: i for i, text in enumerate(dict.fromkeys(present))}
        codes = np.fromiter((-1 if gap else place[x] for x, gap in zip(flat, gaps, strict=True)), np.int64, len(flat))
        source = indexed(codes.reshape(array.shape), list(place))
        return IntegerLabels(tensor_of(np.asarray(source.values)), source.vocabulary, "text", missing, shown)
    text = isinstance(present[0], str)  # then a label other than text is at fault
    for i, x in enumerate(flat):
        if not gaps[i] and not (isinstance(x, str) if text else is_whole_label(x)):
            at = format_position(tuple(int(k) for k in np.unravel_index(i, array.shape)))
            expected = "labels of one kind, whole numbers or strings"
            least = _exact_below(x)
            hint = _NO_LABELS if least < math.inf else ""
            if hint and least <= abs(x) < math.inf:
                expected, hint = f"whole numbers below 2**{math.log2(least):.0f} as floats", " (pass integers or text)"
            raise ValueError(f"{name}: expected {expected}; got {brief(x)} at position {at}{hint}")
    low, high = min(map(int, present), default=0), max(map(int, present), default=0)
    if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
        raise ValueError(f"{name}: expected whole numbers that fit 64 bits; got {low:.6g} to {high:.6g}")
    numbers = [low if gap else int(x) for x, gap in zip(flat, gaps.tolist(), strict=True)]
    kind = np.uint64 if high >= 2**63 else np.int64
    ids = _from_tensor(tensor_of(np.array(numbers, kind).reshape(array.shape)), name, True, None)
    return replace(ids, missing=missing, missing_shown=shown)


def _stacked(
    source: LabelSource, name: str, device: torch.device, validate: bool, mask: Tensor | None
) -> IntegerLabels:
    """Clusterings of any kinds, each encoded on its own, ``(B, N)``."""
    assert source.columns is not None
    count, n = source.shape
    examined = _examined(mask, torch.Size(source.shape))
    sides = []
    for i, column in enumerate(source.columns):
        key = i if source.names is None else source.names[i]
        kept = None if examined is None else examined.expand(count, n)[i]
        sides.append(to_integers(column, f"{name}[{key!r}]", device, validate=validate, mask=kept))
    missing, shown = None, None
    if any(side.missing is not None for side in sides):
        none = torch.zeros(n, dtype=torch.bool, device=device)
        missing = torch.stack([none if side.missing is None else side.missing for side in sides])
        shown = next((side.missing_shown for side in sides if side.missing_shown is not None), None)
    plain = all(side.vocabulary is None for side in sides) and len({side.kind for side in sides}) == 1
    numbered = sides if plain else [with_vocabulary(side) for side in sides]
    dtype = reduce(torch.promote_types, {side.values.dtype for side in numbered})
    values = torch.stack([side.values.to(dtype) for side in numbered])
    if plain:
        return IntegerLabels(values, None, sides[0].kind, missing, shown)
    vocabularies = [side.vocabulary for side in numbered if side.vocabulary is not None]
    width = max(map(len, vocabularies))
    padded = np.stack([x[np.arange(width).clip(max=len(x) - 1)] for x in vocabularies])
    same = all(x.tolist() == vocabularies[0].tolist() for x in vocabularies)
    return IntegerLabels(values, padded[0] if same else padded, "text", missing, shown)


def with_vocabulary(ids: IntegerLabels) -> IntegerLabels:
    """One clustering with a vocabulary."""
    if ids.vocabulary is not None:
        return ids
    if not ids.values.numel():
        return IntegerLabels(ids.values.int(), np.array([""], dtype=object), "text")
    low, high = bounds(ids.values, None)
    kept = None if ids.missing is None else ~ids.missing
    codes, groups = compact_codes(ids.values, kept, low, high - low + 1)
    labels = np.array(ids.decode(groups).tolist(), dtype=object)
    return IntegerLabels(codes, labels, "text")
