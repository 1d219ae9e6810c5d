"""Checks of options (a number within bounds, one of several choices) and of memory."""

import math
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from torchclusteval.common.formatting import brief, shortened

MAX_CELLS = 1 << 32  # most cells of all dense tables of a batch
_NO_MEMORY = ("can't allocate memory", "not enough memory", "bad_alloc", "Storage size calculation overflowed")


def is_number(x: Any) -> bool:
    """Whether a value is a real number of Python or NumPy, not a boolean or a length of time."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, (bool, np.timedelta64))


def is_whole(x: Any) -> bool:
    """Whether a value is a whole number of Python or NumPy, not a boolean or a length of time."""
    return isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.timedelta64))


class Kind(NamedTuple):
    """The values of an option: in words, and as a test."""

    expected: str
    fits: Callable[[Any], bool]


COUNT = Kind("a whole number of at least 1", lambda x: is_whole(x) and x >= 1)
FLAG = Kind("one of False, True", lambda x: isinstance(x, (bool, np.bool_)))  # not "no" or 2, which are true in Python


def one_of(*choices: Any) -> Kind:
    """One of these values."""
    fits = lambda x: any(x is choice or (isinstance(x, type(choice)) and x == choice) for choice in choices)  # noqa: E731
    return Kind(f"one of {', '.join(map(str, choices))}", fits)


def optional(kind: Kind) -> Kind:
    """None, or a value of this kind."""
    return Kind(kind.expected, lambda x: x is None or kind.fits(x))


def check_kinds(options: Mapping[str, Any], kinds: Mapping[str, Kind]) -> None:
    """Raise unless each option is of its kind."""
    for name, kind in kinds.items():
        if not kind.fits(options[name]):
            raise ValueError(f"{name}: expected {kind.expected}; got {brief(options[name])}")


def check_number(x: Any, name: str, low: float, high: float = math.inf, *, exclusive: bool = False) -> None:
    """Raise unless an option is a number from ``low`` (``exclusive``: above it) to ``high``."""
    fits = is_number(x) and (low < x if exclusive else low <= x) and x <= high
    if not fits or (isinstance(x, int) and x.bit_length() > 1023):  # more than a float holds
        start = f"above {low}" if exclusive else f"of at least {low}"
        end = "" if high == math.inf else f" and at most {high}"
        raise ValueError(f"{name}: expected a number {start}{end}; got {str(x)[:40] if fits else brief(x)}")


def check_choice(x: Any, name: str, choices: Collection[Any]) -> None:
    """Raise unless an option is one of the choices."""
    if (x is None or type(x) is str) and x in choices:  # the text of an error takes time
        return
    check_kinds({name: x}, {name: one_of(*choices)})


def check_bools(**options: Any) -> None:
    """Raise unless all options are True or False."""
    if {*map(type, options.values())} == {bool}:
        return
    check_kinds(options, dict.fromkeys(options, FLAG))


def check_count(x: Any, name: str) -> None:
    """Raise unless an option is a whole number of at least 1."""
    check_kinds({name: x}, {name: COUNT})


def check_chunk_size(chunk_size: Any) -> None:
    """Raise unless the chunk size is None or a whole number from 1 to 2**63 - 1."""
    if chunk_size is None:
        return
    check_kinds({"chunk_size": chunk_size}, {"chunk_size": COUNT})
    if chunk_size >= 2**63:
        raise ValueError(f"chunk_size: expected a whole number below 2**63; got {str(chunk_size)[:40]}")


def index_batch(numbers: torch.Tensor, key: Any, name: str) -> torch.Tensor:
    """The numbers of the batch at an index; any other key is an IndexError."""
    check_unmasked(key, name)
    try:
        if isinstance(key, (str, bytes)):
            raise TypeError  # torch reads text as a list
        return numbers[np.asarray(key) if isinstance(key, list) and key else key]  # torch reads nested lists as tuples
    except (IndexError, TypeError, ValueError, RuntimeError, OverflowError):
        expected = f"an index of a batch of shape {tuple(numbers.shape)}"
        raise IndexError(f"{name}: expected {expected}; got {brief(key)}") from None


def is_listable(x: Any, name: str) -> bool:
    """Whether a value has entries in an order; raise on a tensor without readable values."""
    if isinstance(x, torch.Tensor):
        check_dense(x, name)
    return isinstance(x, Iterable) and not isinstance(x, set | frozenset) and getattr(x, "ndim", None) != 0  # 0-d: none


def is_key(x: Any) -> bool:
    """Whether a dictionary finds an equal key: not of a list, a tuple with one in it, or a tensor."""
    try:
        hash(x)
    except TypeError:
        return False
    return not isinstance(x, torch.Tensor)  # equal tensors are different keys


def check_dense(x: torch.Tensor, name: str, expected: str = "a dense tensor") -> None:
    """Raise unless a tensor is dense, with readable values."""
    if x.layout != torch.strided or x.is_nested or x.is_quantized or x.device.type == "meta":
        kind = "a nested one (pad it)" if x.is_nested else f"{x.dtype}, {x.layout} on {x.device}"
        raise ValueError(f"{name}: expected {expected}; got {kind}")


def check_unmasked(x: Any, name: str) -> None:
    """Raise on masked entries of an array or of rows in lists: NumPy would read the values below the mask."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        remedy = "fill them, as with .filled(0), or leave them out"
        raise ValueError(f"{name}: expected an array without masked entries; got some ({remedy})")
    if isinstance(x, (list, tuple)) and x and _has_entries(x[0]):
        for row in x:
            if isinstance(row, np.ma.MaskedArray) or (isinstance(row, (list, tuple)) and row and _has_entries(row[0])):
                check_unmasked(row, name)


def _has_entries(x: Any) -> bool:
    return hasattr(x, "__len__") and not isinstance(x, (str, bytes))


def names_of_two_types(left: Iterable[Hashable], right: Iterable[Hashable]) -> str | None:
    """Message on two names that read alike but differ in type, such as 1 and "1"; None without such a pair."""
    left, right = dict.fromkeys(left), dict.fromkeys(right)
    if len({*map(type, left), *map(type, right)}) < 2:
        return None
    by_text = {_text(name): name for name in right if name not in left}
    for name in left:
        other = by_text.get(_text(name), name) if name not in right else name
        if type(other) is not type(name):
            one, other = (f"{shortened(x)} ({type(x).__name__})" for x in (name, other))
            return f"{one} on one side and {other} on the other are different names (make them one type)"
    return None


def check_one_type(left: Iterable[Hashable], right: Iterable[Hashable], what: str) -> None:
    """Raise on names that no other side can match: equal as text but of another type, or tensors."""
    left, right = list(left), list(right)
    if any(issubclass(kind, torch.Tensor) for kind in {*map(type, left), *map(type, right)}):
        raise ValueError(f"{what}: expected numbers or names; got tensors, which never equal each other (use tolist())")
    found = names_of_two_types(left, right)
    if found is not None:
        raise ValueError(f"{what}: expected names of one type on both sides; got others: {found}")


def _text(name: Hashable) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace")
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def as_path(x: Any, name: str) -> Path:
    """An argument as the path of a file to read or write."""
    text = os.fspath(x) if isinstance(x, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"{name}: expected the path of a file; got {brief(x)}")
    return Path(text)


def not_tables(x: Any, name: str = "tables") -> ValueError:
    """The error for an argument that is not contingency tables."""
    remedy = "from_labels makes them of labels, ContingencyTables(counts) of counts, .tables() of an accumulator"
    return ValueError(f"{name}: expected ContingencyTables ({remedy}); got {type(x).__name__}")


@contextmanager
def explain_out_of_memory(message: str) -> Iterator[None]:
    """Turn a failed allocation into a ``ValueError`` with this message."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(x in str(error) for x in _NO_MEMORY)
        if not known:
            raise
        raise ValueError(message) from None


def check_cells_fit(cells: int, message: str) -> AbstractContextManager[None]:
    """Raise a ``ValueError`` for more cells than ``MAX_CELLS``, or if the allocation in the context fails."""
    if cells > MAX_CELLS:
        raise ValueError(message)
    return explain_out_of_memory(message)


@cache
def retain_freed_memory() -> None:
    """Raise glibc's mmap threshold so that freed blocks of up to 32 MB are reused instead of returned to the system.

    By default glibc returns blocks of 128 KB and more at once, and new pages cost more than the arithmetic on them. The
    free of one large block, never written, raises the threshold. No effect on other allocators.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
