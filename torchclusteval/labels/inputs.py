"""Convert labels, booleans and numbers of any kind to tensors, with errors that name the argument and the position."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from torchclusteval.common.numerics import min_max
from torchclusteval.labels.vocabulary import LabelKind, Vocabulary, as_int64, decode_integers

_WRITEABLE = 0x0400  # NumPy's bit for arrays that may be written to
_WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}  # torch has few operations on these


@dataclass(frozen=True, eq=False)
class IntegerLabels:
    """Labels as integers, and how to decode the integers."""

    values: Tensor  # (*batch, N) uint8, int8, int16, int32 or int64
    vocabulary: np.ndarray | None = None  # (V,) sorted strings that values index; None: values are the labels
    kind: LabelKind = "integer"

    def decode(self, values: Tensor) -> Tensor | np.ndarray:
        """The labels of these integers."""
        if self.vocabulary is None:
            return decode_integers(values, self.kind)
        texts: np.ndarray = self.vocabulary[values.cpu().numpy()]
        return texts

    def code_of(self, label: Any, name: str) -> int | None:
        """The integer of a label, or None if no item can have this label."""
        if self.vocabulary is not None:
            if not isinstance(label, str):
                raise ValueError(f"{name}: expected a string, as the labels are; got {label!r}")
            at = np.flatnonzero(self.vocabulary == label)
            return int(at[0]) if len(at) else None
        if isinstance(label, str) or not _is_whole(label):
            raise ValueError(f"{name}: expected a whole number, as the labels are; got {label!r}")
        number = int(label)
        if self.kind == "unsigned":
            if not 0 <= number < 2**64:
                return None
            number = as_int64(number)
        limits = torch.iinfo(self.values.dtype)
        return number if limits.min <= number <= limits.max else None


def _is_whole(label: Any) -> bool:
    try:
        return int(label) == label
    except (TypeError, ValueError, OverflowError):
        return False


def resolve_device(device: torch.device | str | None, arguments: dict[str, Any]) -> torch.device:
    """``device`` if given, else that of the tensors among the arguments, or of their first rows, else the CPU.

    Raises:
        ValueError: tensors on two devices without ``device``, or a device without float64.
    """
    if device is None:
        rows = {name: x[0] if isinstance(x, (list, tuple)) and x else x for name, x in arguments.items()}
        places = {name: x.device for name, x in rows.items() if isinstance(x, Tensor)}
        if len(set(places.values())) > 1:
            listed = ", ".join(f"{name} on {place}" for name, place in places.items())
            raise ValueError(f"device: expected all tensors on one device, or device=; got {listed}")
        chosen = next(iter(places.values()), torch.device("cpu"))
    else:
        chosen = device if isinstance(device, torch.device) else _device_of(device)
    if chosen.type in ("mps", "meta"):
        raise ValueError(f"device: expected a device with float64 (cpu, cuda); got {chosen.type}")
    return chosen


def _device_of(name: Any) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device="cpu" if device.type == "mps" else device)  # mps raises another message below
    except (RuntimeError, TypeError, AssertionError) as error:
        got = f"{name!r} ({str(error).partition(chr(10))[0]})"
        raise ValueError(f"device: expected one that works here, like cpu or cuda; got {got}") from None
    return device


def as_integer_labels(labels: Any, name: str, device: torch.device, *, validate: bool = True) -> IntegerLabels:
    """Labels of any accepted kind as integers on ``device``.

    Raises:
        ValueError: no label kind fits: missing values, fractions, rows of unequal length, no dimension ...
    """
    ids = _from_tensor(labels, name, validate) if isinstance(labels, Tensor) else _from_other(labels, name)
    if ids.values.dim() == 0:
        raise ValueError(f"{name}: expected labels of shape (*batch, N); got a single value")
    return IntegerLabels(ids.values.to(device), ids.vocabulary, ids.kind)


def as_numbers(x: Any, name: str) -> Tensor:
    """A tensor of numbers from a tensor, an array or nested lists."""
    if not isinstance(x, Tensor):
        array = _as_array(x, name)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name}: expected numbers; got {_describe(array)}")
        x = _from_numpy(array)
    if x.is_complex() or x.layout != torch.strided:
        raise ValueError(f"{name}: expected a dense tensor of real numbers; got {x.dtype}, {x.layout}")
    if x.dtype == torch.uint64:
        x = x.view(torch.int64)
        if (x < 0).any():
            raise ValueError(f"{name}: expected numbers below 2**63; got one that is not")
    if x.is_floating_point() and x.element_size() < 2:
        x = x.float()  # torch compares no 8-bit floats
    return x.to(_WIDER.get(x.dtype, x.dtype))


def as_counts(counts: Any, validate: bool) -> Tensor:
    """Tables of at least one row and one column, int64 or float64."""
    table = as_numbers(counts, "counts")
    if table.dim() < 2:
        raise ValueError(f"counts: expected at least 2 dimensions (*batch, R, C); got {table.dim()}")
    if validate:
        check_nonnegative(table, "counts", (-2, -1))
    whole = not table.is_floating_point() or (table.numel() == 0 and not isinstance(counts, (Tensor, np.ndarray)))
    table = table.long() if whole else table.double()  # an empty list has no type of its own
    missing = [int(size == 0) for size in table.shape[-2:]]
    # One row and one column at least, so that a maximum over them exists.
    return torch.nn.functional.pad(table, (0, missing[1], 0, missing[0])) if any(missing) else table.contiguous()


def as_probabilities(p: Any, name: str) -> Tensor:
    """A float64 tensor ``(*batch, N, groups)``; values are not checked."""
    p = as_numbers(p, name)
    if p.dim() < 2:
        raise ValueError(f"{name}: expected (*batch, N, groups); got {p.dim()} dimensions")
    return p.double()


def as_mask(mask: Any, device: torch.device) -> Tensor:
    """A boolean tensor."""
    if not isinstance(mask, Tensor):
        array = _as_array(mask, "mask")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"mask: expected booleans; got {_describe(array)}")
        mask = _from_numpy(array if array.size else array.astype(bool))  # an empty list has no type of its own
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: expected booleans; got {mask.dtype}")
    if mask.layout != torch.strided:
        raise ValueError(f"mask: expected a dense tensor; got {mask.layout}")
    if mask.dim() == 0:
        raise ValueError("mask: expected shape (*batch, N); got a single value")
    return mask.to(device)


def check_nonnegative(x: Tensor, name: str, dims: tuple[int, ...]) -> None:
    """Raise if a number is negative, infinite or missing, or a sum of whole numbers over ``dims`` exceeds 64 bits."""
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


def first_position(bad: Tensor) -> tuple[int, ...]:
    """Position of the first true entry."""
    return tuple(bad.nonzero()[0].tolist())


def format_position(position: tuple[int, ...]) -> str:
    """A position as text: ``3`` or ``(0, 3)``."""
    return str(position[0]) if len(position) == 1 else str(position)


def _from_tensor(x: Tensor, name: str, validate: bool) -> IntegerLabels:
    if x.layout != torch.strided or x.is_complex() or x.is_quantized or x.is_nested:
        raise ValueError(f"{name}: expected a dense tensor of whole numbers; got {x.dtype}, {x.layout}")
    if x.dtype == torch.bool:
        return IntegerLabels(x.view(torch.uint8), kind="boolean")
    if x.dtype == torch.uint64:
        return IntegerLabels(x.view(torch.int64), kind="unsigned")
    if not x.is_floating_point():
        return IntegerLabels(x.to(_WIDER.get(x.dtype, x.dtype)))
    x = x.detach()
    x = x.float() if x.element_size() < 4 else x
    whole = (x == x.trunc()) & (x.abs() < 2.0**63)
    if validate and not whole.all():
        at = first_position(~whole)
        raise ValueError(f"{name}: expected whole numbers; got {x[at].item()} at position {format_position(at)}")
    # Without checks a label that is not whole becomes -1, which is outside every range of codes.
    return IntegerLabels(x.masked_fill(~whole, -1).long())


def _from_other(labels: Any, name: str) -> IntegerLabels:
    if isinstance(labels, (list, tuple)) and labels and all(isinstance(row, Tensor) for row in labels):
        if len({(row.shape, row.device, row.dtype) for row in labels}) > 1:
            got = ", ".join(str(tuple(row.shape)) for row in labels[:4])
            raise ValueError(f"{name}: expected rows of one shape, type and device; got {got} (pad, use mask)")
        return _from_tensor(torch.stack(list(labels)), name, validate=True)
    if hasattr(labels, "__dlpack__") and not isinstance(labels, np.ndarray):
        try:
            shared = from_dlpack(labels)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ValueError(f"{name}: expected an array that can be shared; got {error}") from None
        return _from_tensor(shared, name, validate=True)
    array = _as_array(labels, name, exact=True)
    if array.dtype.kind in "biu":
        return _from_tensor(_from_numpy(array), name, validate=True)
    if array.dtype.kind == "f":
        return _from_tensor(_from_numpy(array.astype(np.float64)), name, validate=True)
    if array.dtype.kind in "US":
        return _from_strings(array.astype(str).reshape(-1).tolist(), array.shape)
    if array.dtype.kind in "OT":
        return _from_objects(array, name)
    raise ValueError(f"{name}: expected whole numbers, booleans or strings; got {_describe(array)}")


def _from_objects(array: np.ndarray, name: str) -> IntegerLabels:
    flat = array.reshape(-1).tolist()
    if set(map(type, flat)) <= {str}:  # the common case, without a Python step per label
        return _from_strings(flat, array.shape)
    missing = next((i for i, x in enumerate(flat) if _is_missing(x)), None)
    if missing is not None:
        at = tuple(int(i) for i in np.unravel_index(missing, array.shape))
        raise ValueError(
            f"{name}: expected a label for every item; got {flat[missing]!r} at position {format_position(at)}"
        )
    if all(isinstance(x, str) for x in flat):
        return _from_strings(flat, array.shape)
    for i, x in enumerate(flat):
        if not _is_whole(x):
            at = tuple(int(k) for k in np.unravel_index(i, array.shape))
            expected = "labels of one kind, whole numbers or strings"
            raise ValueError(f"{name}: expected {expected}; got {x!r} at position {format_position(at)}")
    numbers = [int(x) for x in flat]
    low, high = min(numbers, default=0), max(numbers, default=0)
    if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
        raise ValueError(f"{name}: expected whole numbers that fit 64 bits; got {low} to {high}")
    if high >= 2**63:
        return _from_tensor(_from_numpy(np.array(numbers, np.uint64).reshape(array.shape)), name, validate=True)
    return IntegerLabels(torch.tensor(numbers, dtype=torch.int64).reshape(array.shape))


def _from_strings(flat: list[str], shape: tuple[int, ...]) -> IntegerLabels:
    tokens = Vocabulary()  # sorting all the strings takes ten times as long
    numbers = tokens.numbers_of(flat)
    ordered, ranks = tokens.ranked()
    if not len(ordered):
        ordered = np.array([""], dtype=object)  # a table has one row at least
    return IntegerLabels(torch.from_numpy(ranks[numbers].reshape(shape)), ordered, "text")


def _is_missing(x: Any) -> bool:
    return x is None or (x != x) is True or type(x).__name__ in ("NAType", "NaTType")


def _as_array(x: Any, name: str, *, exact: bool = False) -> np.ndarray:
    """A NumPy array; ``exact`` avoids conversions that change labels."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name}: expected an array without masked entries; got some (fill them and pass mask)")
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    if isinstance(x, (str, bytes, dict, set, frozenset)) or not hasattr(x, "__iter__"):
        raise ValueError(f"{name}: expected a tensor, an array or a list; got {type(x).__name__}")
    if hasattr(x, "to_numpy"):
        array = np.asarray(x)
        return array.T if hasattr(x, "columns") else array  # a DataFrame is items by clusterings
    try:
        array = np.asarray(x if hasattr(x, "__len__") else list(x))
    except (ValueError, TypeError) as error:
        lengths = ", ".join(str(len(row)) for row in list(x)[:4] if hasattr(row, "__len__"))
        got = f"rows of lengths {lengths} (pad them and pass mask)" if lengths else str(error).splitlines()[0]
        raise ValueError(f"{name}: expected rows of equal length; got {got}") from None
    if exact and array.dtype.kind in "USf" and isinstance(x, (list, tuple)):
        # NumPy turns [1, "a"] into strings and [-1, 2**63] into floats; objects stay as they are.
        kept = np.asarray(x, dtype=object)
        kinds = set(map(type, kept.reshape(-1)))
        if kept.shape == array.shape and kinds - ({str, np.str_} if array.dtype.kind == "U" else {float}):
            return kept
    return array


def _from_numpy(array: np.ndarray) -> Tensor:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.char == "Q":  # unsigned long long, unknown to torch
        array = array.astype(np.uint64)
    # Not flags.writeable: reading it warns on results of np.broadcast_arrays.
    odd = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if odd or not array.flags.num & _WRITEABLE:
        array = array.copy()
    return torch.from_numpy(array)


def _describe(array: np.ndarray) -> str:
    return f"an array of {array.dtype}"
