"""Convert labels, booleans and numbers of any kind to tensors, with errors that name the argument and the position."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_dense
from torchclusteval.common.formatting import brief
from torchclusteval.common.numerics import broadcast_shapes, min_max
from torchclusteval.labels.codes import bounds, compact_codes, narrowed, restrict
from torchclusteval.labels.sources import LabelSource, as_array, indexed, is_missing, read_labels, tensors_in
from torchclusteval.labels.vocabulary import LabelKind, as_int64, decode_integers

_WRITEABLE = 0x0400  # NumPy's bit for arrays that may be written to
_WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}  # torch has few operations on these
_LEAST_MASS, _LARGEST_MASS = 1e-64, 1e64  # of a table: the product of four masses is a number that float64 holds
_NO_LABELS = " (of probabilities or logits, take argmax(-1); soft counts: from_probabilities, update_soft)"


@dataclass(frozen=True, eq=False)
class IntegerLabels:
    """Labels as integers, and how to decode the integers."""

    values: Tensor  # (*batch, N) uint8, int8, int16, int32 or int64; anything where a label is missing
    vocabulary: np.ndarray | None = None  # (V,) or (B, V), by row: labels that values index; None: values are labels
    kind: LabelKind = "integer"
    missing: Tensor | None = None  # (*batch, N) bool; None: no label is missing
    missing_shown: str | None = None  # a missing label in messages; None: without checks

    def decode(self, values: Tensor) -> Tensor | np.ndarray:
        """The labels of these integers."""
        if self.vocabulary is None:
            return decode_integers(values, self.kind)
        places = values.cpu().numpy()
        if self.vocabulary.ndim == 1:
            labels: np.ndarray = self.vocabulary[places]
        elif places.ndim == 1:
            labels = self.vocabulary[:, places]
        else:
            labels = np.take_along_axis(self.vocabulary, places, axis=-1)
        return labels

    def code_of(self, label: Any, name: str) -> int | Tensor | None:
        """The integer of a label, ``(B, 1)`` where it differs by row, or None if no item can have this label."""
        if self.vocabulary is not None:
            if not isinstance(label, str) and all(isinstance(x, str) for x in self.vocabulary.flat):
                raise ValueError(
                    f"{name}: expected a string, as the labels are; got {brief(label)}{_if_missing(label)}"
                )
            hits = np.equal(self.vocabulary, label, dtype=object).astype(bool)
            if not hits.any():
                return None
            if hits.ndim == 1:
                return int(hits.argmax())
            codes = np.where(hits.any(1), hits.argmax(1), -1)
            return torch.from_numpy(codes).unsqueeze(1).to(self.values.device)
        if isinstance(label, str) or not _is_whole(label):
            expected = "a whole number, as the labels are"
            raise ValueError(f"{name}: expected {expected}; got {brief(label)}{_if_missing(label)}")
        number = int(label)
        if self.kind == "unsigned":
            if not 0 <= number < 2**64:
                return None
            number = as_int64(number)
        limits = torch.iinfo(self.values.dtype)
        return number if limits.min <= number <= limits.max else None


def _if_missing(label: Any) -> str:
    single = getattr(label, "ndim", 0) == 0
    return ' (missing="ignore" leaves items without a label out)' if single and is_missing(label) else ""


def _is_whole(label: Any) -> bool:
    try:
        return bool(int(label) == label)
    except (TypeError, ValueError, OverflowError, RuntimeError, np.ma.MaskError):
        return False


def resolve_device(device: torch.device | str | None, arguments: Mapping[str, Any]) -> torch.device:
    """``device`` if given, else that of the tensors among the arguments, or of their first rows, else the CPU.

    Raises:
        ValueError: tensors on two devices without ``device``, or a device without float64.
    """
    if device is not None:
        return check_device(device)
    places = {name: x.device for name, given in arguments.items() if given is not None for x in tensors_in(given)}
    if not places:
        return _CPU
    chosen = next(iter(places.values()))
    if len(places) > 1 and len(set(places.values())) > 1:
        listed = ", ".join(f"{name} on {place}" for name, place in places.items())
        raise ValueError(f"device: expected all tensors on one device, or device=; got {listed}")
    if chosen.type == "meta":
        raise ValueError(f"{next(iter(places))}: expected tensors with values, of a device with float64; got meta")
    return check_device(chosen)


def check_device(given: Any) -> torch.device:
    """The device with this name, if it works and has float64."""
    device = given
    if not isinstance(given, torch.device):
        try:
            device = torch.device(given)
            torch.empty(0, device="cpu" if device.type == "mps" else device)  # mps raises another message below
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            got = f"{brief(given)} ({str(error).partition(chr(10))[0]})"
            raise ValueError(f"device: expected one that works here, like cpu or cuda; got {got}") from None
    if device.type in ("mps", "meta"):
        raise ValueError(f"device: expected a device with float64 (cpu, cuda); got {device.type}")
    return device


_CPU = torch.device("cpu")


def as_integer_labels(labels: Any, name: str, device: torch.device) -> IntegerLabels:
    """Labels of any accepted type as integers on ``device``.

    Raises:
        ValueError: no label kind fits: missing values, fractions, rows of unequal length, no dimension ...
    """
    ids = to_integers(read_labels(labels, name), name, device)
    check_missing(ids, None, name, "drop these items")
    return ids


def to_integers(
    source: LabelSource, name: str, device: torch.device, *, validate: bool = True, mask: Tensor | None = None
) -> IntegerLabels:
    """Labels as integers on ``device``; items that the mask leaves out everywhere may be anything.

    Raises:
        ValueError: as :func:`as_integer_labels`, except for missing labels.
    """
    if source.columns is not None:
        return _stacked(source, name, device, validate, mask)
    values = source.values
    if isinstance(values, Tensor):
        ids = _from_tensor(values, name, validate, mask)
    elif source.vocabulary is not None:
        ids = IntegerLabels(_from_numpy(values), source.vocabulary, "text")
    elif values.dtype.kind in "biu":
        ids = _from_tensor(_from_numpy(values), name, True, None)
    elif values.dtype.kind == "f":
        gaps = None if source.missing is None else torch.from_numpy(source.missing)
        numbers = _from_numpy(values.astype(np.float64))
        ids = _from_tensor(numbers if gaps is None else numbers.masked_fill(gaps, torch.nan), name, True, mask)
    elif values.dtype.kind in "OT":
        ids = _from_objects(values, name, mask)
    else:
        raise ValueError(f"{name}: expected whole numbers, booleans or strings; got {_describe(values)}")
    if ids.values.dim() == 0:
        raise ValueError(f"{name}: expected labels of shape (*batch, N); got a single value")
    if ids.missing is None and source.missing is None and ids.values.device == device:
        return ids
    missing, shown = ids.missing, ids.missing_shown
    if source.missing is not None:
        gaps = torch.from_numpy(np.ascontiguousarray(source.missing))
        missing, shown = gaps if missing is None else gaps | missing, source.missing_shown  # nulls, and nan beside them
    missing = None if missing is None else missing.to(device)
    return IntegerLabels(ids.values.to(device), ids.vocabulary, ids.kind, missing, shown)


def check_missing(ids: IntegerLabels, keep: Tensor | None, name: str, remedy: str) -> None:
    """Raise if a label that counts is missing."""
    if ids.missing is None or ids.missing_shown is None:
        return
    bad = ids.missing if keep is None else ids.missing & keep
    if bool(bad.any()):
        at = own_position(first_position(bad), ids.values.shape)
        got = f"{ids.missing_shown} at position {format_position(at)}"
        raise ValueError(f"{name}: expected a label for every item; got {got} ({remedy})")


def as_numbers(x: Any, name: str, *, turned: bool = True) -> Tensor:
    """A tensor of numbers from a tensor, an array or nested lists; ``turned`` as in :func:`as_array`."""
    if not isinstance(x, Tensor):
        array = _of_one_kind(as_array(x, name, turned=turned))
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name}: expected numbers; got {_describe(array)}")
        x = _from_numpy(array)
    check_dense(x, name, "a dense tensor of real numbers")
    if x.is_complex():
        raise ValueError(f"{name}: expected a dense tensor of real numbers; got {x.dtype}")
    x = x.resolve_neg()  # NumPy reads no negated view, such as the imaginary part of a conjugate
    if x.dtype == torch.uint64:
        x = x.view(torch.int64)
        if (x < 0).any():
            raise ValueError(f"{name}: expected numbers below 2**63; got one that is not")
    if x.is_floating_point() and x.element_size() < 2:
        x = x.float()  # torch compares no 8-bit floats
    return x.to(_WIDER.get(x.dtype, x.dtype))


def as_counts(counts: Any, validate: bool) -> Tensor:
    """Tables of at least one row and one column, int64 or float64."""
    check_bools(validate=validate)
    table = as_numbers(counts, "counts", turned=False)
    if table.dim() < 2:
        raise ValueError(f"counts: expected at least 2 dimensions (*batch, R, C); got {table.dim()}")
    if validate:
        check_nonnegative(table, "counts", (-2, -1))
    whole = not table.is_floating_point() or (table.numel() == 0 and not isinstance(counts, (Tensor, np.ndarray)))
    table = table.long() if whole else table.double()  # an empty list has no type of its own
    missing = [int(size == 0) for size in table.shape[-2:]]
    # One row and one column at least, so that a maximum over them exists.
    return torch.nn.functional.pad(table, (0, missing[1], 0, missing[0])) if any(missing) else table.contiguous()


def checks_values(p: Tensor, validate: bool | None) -> bool:
    """Whether probabilities are checked."""
    if validate is None:
        return p.device.type == "cpu" and not torch.compiler.is_compiling()
    check_bools(validate=validate)
    return validate


def as_probabilities(p: Any, name: str, validate: bool | None) -> Tensor:
    """A float64 tensor ``(*batch, N, groups)``; None: values are checked on the CPU alone."""
    p = as_numbers(p, name, turned=False)
    if p.dim() < 2:
        raise ValueError(f"{name}: expected (*batch, N, groups); got {p.dim()} dimensions")
    p = p.double()
    if checks_values(p, validate) and p.numel():
        low, high = torch.stack(torch.aminmax(p.detach())).tolist()
        if not 0 <= low <= high < math.inf:
            at = first_position(~((p >= 0) & (p < torch.inf)))
            value = p[at].item()
            remedy = "of logits, take softmax(-1)" if value == value else "leave such items out"
            raise ValueError(
                f"{name}: expected probabilities; got {value} at position {format_position(at)} ({remedy})"
            )
    return p


def as_mask(mask: Any, device: torch.device) -> Tensor:
    """A boolean tensor."""
    if not isinstance(mask, Tensor):
        array = as_array(mask, "mask")
        if array.dtype.kind == "O":
            gaps = np.array([is_missing(x) for x in array.reshape(-1).tolist()], dtype=bool).reshape(array.shape)
            if gaps.any():
                at = format_position(tuple(map(int, np.argwhere(gaps)[0])))
                raise ValueError(f"mask: expected booleans; got an array of objects, none at position {at}")
            array = _of_one_kind(array)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"mask: expected booleans; got {_describe(array)}")
        mask = _from_numpy(array if array.size else array.astype(bool))  # an empty list has no type of its own
    check_dense(mask, "mask", "a dense tensor of booleans")
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: expected booleans; got {mask.dtype}")
    if mask.dim() == 0:
        raise ValueError("mask: expected shape (*batch, N); got a single value")
    return mask.to(device)


def check_nonnegative(x: Tensor, name: str, dims: tuple[int, ...]) -> None:
    """Raise if a number is negative, infinite or missing, or a sum over ``dims`` is out of range.

    Whole numbers add up to 64 bits at most, masses to what products of sums can hold.
    """
    if not x.numel():
        return
    whole = not x.is_floating_point()
    low, high = min_max(x) if whole else torch.stack(torch.aminmax(x.detach())).tolist()
    if not 0 <= low <= high < math.inf:
        at = first_position(~((x >= 0) & (x < torch.inf)))
        raise ValueError(f"{name}: expected finite numbers >= 0; got {x[at].item()} at position {format_position(at)}")
    summed = math.prod(x.shape[dim] for dim in dims)
    if whole and high * summed >= 2**63 and (x.sum(dims, dtype=torch.float64) >= 2.0**63).any():
        raise ValueError(f"{name}: expected whole numbers with a sum below 2**63; got more (pass floats)")
    if whole or 0 in (high, summed) or _LEAST_MASS <= high <= _LARGEST_MASS / summed:
        return
    total = float(x.detach().sum(dims, dtype=torch.float64).max())
    if not _LEAST_MASS <= total <= _LARGEST_MASS:
        expected = f"masses with a sum from {_LEAST_MASS:.0e} to {_LARGEST_MASS:.0e}"
        raise ValueError(f"{name}: expected {expected}; got {total:.3g} (divide all of them by one number)")


def first_position(bad: Tensor) -> tuple[int, ...]:
    """Position of the first true entry."""
    return tuple(bad.nonzero()[0].tolist())


def own_position(position: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """A position in a larger shape as one in a shape that broadcasts to it."""
    return tuple(p if size > 1 else 0 for p, size in zip(position[-len(shape) :], shape, strict=True))


def format_position(position: tuple[int, ...]) -> str:
    """A position as text: ``3`` or ``(0, 3)``."""
    return str(position[0]) if len(position) == 1 else str(position)


def _from_tensor(x: Tensor, name: str, validate: bool, mask: Tensor | None) -> IntegerLabels:
    check_dense(x, name, "a dense tensor of whole numbers")
    if x.is_complex():
        raise ValueError(f"{name}: expected a dense tensor of whole numbers; got {x.dtype}")
    if x.dtype == torch.bool:
        return IntegerLabels(x.view(torch.uint8), kind="boolean")
    if x.dtype == torch.uint64:
        return IntegerLabels(x.view(torch.int64), kind="unsigned")
    if not x.is_floating_point():
        return IntegerLabels(narrowed(x.to(_WIDER[x.dtype]) if x.dtype in _WIDER else x))
    x = x.detach()
    x = x.float() if x.element_size() < 4 else x
    whole = (x == x.trunc()) & (x.abs() < 2.0**63)
    if not validate:  # a label that is not whole becomes -1, which is outside every range of codes
        return IntegerLabels(x.masked_fill(~whole, -1).long(), missing=~whole)
    if whole.all():
        return IntegerLabels(x.long())
    missing = x.isnan()
    examined = _examined(mask, x.shape)
    bad = ~(whole | missing) if examined is None else ~(whole | missing) & examined.to(x.device)
    if bad.any():
        at = first_position(bad)
        got = f"{x[at].item()} at position {format_position(at)}"
        raise ValueError(f"{name}: expected whole numbers; got {got}{_NO_LABELS}")
    lowest = float(x.masked_fill(~whole, torch.inf).amin())  # a label that occurs does not widen the range
    filler = 0.0 if math.isinf(lowest) else lowest
    return IntegerLabels(x.masked_fill(~whole, filler).long(), missing=~whole, missing_shown="nan")


def _examined(mask: Tensor | None, shape: torch.Size) -> Tensor | None:
    """Which items of one side count anywhere in the batch; None: all."""
    if mask is None:
        return None
    try:
        broadcast_shapes(mask.shape, shape)
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
    if all(isinstance(x, str) for x in present):
        ordered = sorted(set(present)) or [""]  # a table has one row at least
        place = {text: i for i, text in enumerate(ordered)}
        codes = np.fromiter((-1 if gap else place[x] for x, gap in zip(flat, gaps, strict=True)), np.int64, len(flat))
        source = indexed(codes.reshape(array.shape), ordered)
        values, vocabulary = _from_numpy(source.values), source.vocabulary  # type: ignore[arg-type]
        return IntegerLabels(values, vocabulary, "text", _gaps(gaps, array.shape), shown)
    text = isinstance(present[0], str)  # one that is not text is at fault then
    for i, x in enumerate(flat):
        if not gaps[i] and not (isinstance(x, str) if text else _is_whole(x)):
            at = format_position(tuple(int(k) for k in np.unravel_index(i, array.shape)))
            expected = "labels of one kind, whole numbers or strings"
            hint = _NO_LABELS if isinstance(x, float) else ""
            raise ValueError(f"{name}: expected {expected}; got {brief(x)} at position {at}{hint}")
    low, high = min(map(int, present), default=0), max(map(int, present), default=0)
    if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
        raise ValueError(f"{name}: expected whole numbers that fit 64 bits; got {low:.6g} to {high:.6g}")
    numbers = [low if gap else int(x) for x, gap in zip(flat, gaps.tolist(), strict=True)]
    kind = np.uint64 if high >= 2**63 else np.int64
    ids = _from_tensor(_from_numpy(np.array(numbers, kind).reshape(array.shape)), name, True, None)
    return replace(ids, missing=_gaps(gaps, array.shape), missing_shown=shown)


def _gaps(gaps: np.ndarray, shape: tuple[int, ...]) -> Tensor | None:
    return torch.from_numpy(gaps.reshape(shape)) if gaps.any() else None


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
    numbered = sides if plain else [_numbered(side) for side in sides]
    dtype = reduce(torch.promote_types, {side.values.dtype for side in numbered})
    values = torch.stack([side.values.to(dtype) for side in numbered])
    if plain:
        return IntegerLabels(values, None, sides[0].kind, missing, shown)
    vocabularies = [side.vocabulary for side in numbered if side.vocabulary is not None]
    width = max(map(len, vocabularies))
    padded = np.stack([x[np.arange(width).clip(max=len(x) - 1)] for x in vocabularies])
    same = all(x.tolist() == vocabularies[0].tolist() for x in vocabularies)
    return IntegerLabels(values, padded[0] if same else padded, "text", missing, shown)


def _numbered(ids: IntegerLabels) -> IntegerLabels:
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


def _from_numpy(array: np.ndarray) -> Tensor:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.char == "g":  # long double, unknown to torch
        array = array.astype(np.float64)
    if array.dtype.char == "Q":  # unsigned long long, unknown to torch
        array = array.astype(np.uint64)
    # Not flags.writeable: reading it warns on results of np.broadcast_arrays.
    odd = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if odd or not array.flags.num & _WRITEABLE:
        array = array.copy()
    return torch.from_numpy(array)


def _of_one_kind(array: np.ndarray) -> np.ndarray:
    """An array of objects with the type that they have in common: booleans, numbers, or floats with nan for missing."""
    if array.dtype.kind != "O":
        return array
    values = [math.nan if is_missing(x) else x for x in array.reshape(-1).tolist()]
    if not all(isinstance(x, (bool, int, float, np.generic)) for x in values):
        return array
    return np.array(values).reshape(array.shape)


def _describe(array: np.ndarray) -> str:
    return f"an array of {array.dtype}"
