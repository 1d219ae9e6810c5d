"""Numbers, booleans and devices of any kind as torch has them, with errors that name the argument and the position."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_dense
from torchclusteval.common.formatting import brief
from torchclusteval.common.numerics import min_max
from torchclusteval.labels.sources import as_array, is_missing, tensors_in
from torchclusteval.labels.spelled import comma_remedy

_WRITEABLE = 0x0400  # NumPy's flag for writeable arrays
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}  # torch has few operations on these
_LEAST_MASS, _LARGEST_MASS = 1e-64, 1e64  # of a table: float64 holds the product of four such masses


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
            raise ValueError(f"device: expected a device that works here, such as cpu or cuda; got {got}") from None
    if device.type in ("mps", "meta"):
        raise ValueError(f"device: expected a device with float64 (cpu, cuda); got {device.type}")
    return device


_CPU = torch.device("cpu")


def as_numbers(x: Any, name: str, *, turned: bool = True, what: str = "numbers") -> Tensor:
    """A tensor of numbers from a tensor, an array or nested lists; ``turned`` as in :func:`as_array`."""
    if hasattr(x, "tocoo"):
        remedy = "pass .toarray(); for a large table: m = x.tocoo(); from_cells(m.row, m.col, counts=m.data)"
        raise ValueError(f"{name}: expected a dense array; got a {type(x).__name__} of SciPy ({remedy})")
    if not isinstance(x, Tensor):
        array = _of_one_kind(as_array(x, name, turned=turned))
        if array.dtype.kind not in "biuf" or array.itemsize > 8:
            text = next((f"text such as {str(x)!r}{comma_remedy(x)}" for x in array.flat if isinstance(x, str)), None)
            raise ValueError(f"{name}: expected {what}; got {text or f'an array of {array.dtype}'}")
        x = tensor_of(array)
    check_dense(x, name, "a dense tensor of real numbers")
    if x.is_complex():
        raise ValueError(f"{name}: expected real numbers; got {x.dtype}")
    x = x.resolve_neg()  # NumPy reads no negated view, such as the imaginary part of a conjugate
    if x.dtype == torch.uint64:
        x = x.view(torch.int64)
        if (x < 0).any():
            raise ValueError(f"{name}: expected numbers below 2**63; got a larger one")
    if x.is_floating_point() and x.element_size() < 2:
        x = x.float()  # torch compares no 8-bit floats
    return x.to(WIDER.get(x.dtype, x.dtype))


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
            remedy = "for logits: softmax(-1)" if value == value else "leave such items out"
            got = f"{value} at position {format_position(at)} ({remedy})"
            raise ValueError(f"{name}: expected probabilities; got {got}")
    return p


def as_mask(mask: Any, device: torch.device) -> Tensor:
    """A boolean tensor."""
    given, mask = mask, as_numbers(mask, "mask", what="booleans")
    if not mask.numel() and not isinstance(given, Tensor):
        mask = mask.bool()  # an empty list has no type of its own
    if mask.dtype != torch.bool:
        missing = ", with missing entries" if mask.is_floating_point() and bool(mask.isnan().any()) else ""
        raise ValueError(f"mask: expected booleans; got {mask.dtype}{missing}")
    if mask.dim() == 0:
        raise ValueError("mask: expected shape (*batch, N); got a single value")
    return mask.to(device)


def check_nonnegative(x: Tensor, name: str, dims: tuple[int, ...]) -> None:
    """Raise if a number is negative, infinite or missing, or a sum over ``dims`` is out of range.

    Sums of whole numbers must fit in 64 bits, sums of masses must leave room for products of sums.
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


def tensor_of(array: np.ndarray) -> Tensor:
    """A tensor over the memory of an array, or a copy where torch cannot share it."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.char == "Q":  # unsigned long long, unknown to torch
        array = array.astype(np.uint64)
    # Not flags.writeable: reading it warns on results of np.broadcast_arrays.
    odd = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if odd or not array.flags.num & _WRITEABLE:
        array = array.copy()
    return torch.from_numpy(array)


def _of_one_kind(array: np.ndarray) -> np.ndarray:
    """An array of objects, converted to their common type: booleans, numbers, or floats with nan for missing."""
    if array.dtype.kind != "O":
        return array
    values = [_number(x) for x in array.reshape(-1).tolist()]
    if not all(isinstance(x, (bool, int, float, np.generic)) for x in values):
        return array
    return np.array(values).reshape(array.shape)


def _number(x: Any) -> Any:
    if is_missing(x):
        return math.nan
    if not isinstance(x, Decimal):
        return x
    return int(x) if x.is_finite() and x == x.to_integral_value() else float(x)  # databases return sums as decimals
