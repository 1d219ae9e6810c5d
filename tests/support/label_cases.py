"""Pairs of encoded labels of every shape and type that counting can meet, with their counts by a loop."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from torchclusteval.labels.encoding import EncodedLabels, EncodedPair

DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


class Case(NamedTuple):
    """Labels from one below the first row (column) to one above the last, if not ``codes_in_range``."""

    true: tuple[int, ...]
    pred: tuple[int, ...]
    sizes: tuple[int, int] = (5, 7)
    offsets: tuple[int, int] = (0, 0)
    mask: tuple[int, ...] | None = None
    codes_in_range: bool = True
    dtypes: tuple[torch.dtype, torch.dtype] = (torch.int64, torch.int64)

    def __str__(self) -> str:
        return " ".join(str(x).replace("torch.", "") for x in self)


SHAPES = (
    *[((50,), (50,)), ((50,), (4, 50)), ((4, 50), (50,)), ((4, 50), (4, 50)), ((1, 50), (1, 50))],
    *[((3, 1, 50), (1, 4, 50)), ((3, 1, 50), (4, 50)), ((2, 3, 50), (3, 50)), ((50,), (2, 3, 50))],
    *[((0,), (4, 0)), ((0, 50), (0, 50)), ((50,), (0, 50)), ((0, 0), (0, 0)), ((1,), (1,)), ((3, 1), (1,))],
)


def cases() -> Iterator[Case]:
    for true, pred in SHAPES:
        yield Case(true, pred)
        yield Case(true, pred, mask=pred)
        yield Case(true, pred, codes_in_range=False)
    batch = Case((50,), (4, 50))
    for dtype in DTYPES:
        sizes = (2, 2) if dtype == torch.bool else (5, 7)
        for in_range in (True, False):
            for other in (dtype, torch.int64):
                yield batch._replace(sizes=sizes, dtypes=(dtype, other), codes_in_range=in_range, mask=(4, 50))
                yield batch._replace(sizes=sizes[::-1], dtypes=(other, dtype), codes_in_range=in_range, true=(4, 50))
    yield batch._replace(dtypes=(torch.bool, torch.bool), sizes=(1, 2), codes_in_range=False)
    for sizes in ((1, 1), (1, 9), (9, 1), (20, 300), (300, 20), (100, 200)):
        yield batch._replace(sizes=sizes)
        yield batch._replace(sizes=sizes, codes_in_range=False, mask=(50,))
    for dtype in (torch.uint8, torch.int16):  # products leave the type of the labels
        yield batch._replace(sizes=(120, 120), dtypes=(dtype, dtype))
    yield batch._replace(sizes=(20, 400), dtypes=(torch.uint8, torch.int32), codes_in_range=False)
    for offsets in ((-3, -4), (2**31 - 3, -(2**31)), (-(2**31) + 1, 2**31 - 2), (100, -(2**31))):
        for dtype in (torch.int64, torch.int32)[: 2 if max(offsets) < 2**31 - 9 else 1]:
            yield batch._replace(offsets=offsets, dtypes=(dtype, dtype), mask=(50,))
            yield batch._replace(offsets=offsets, dtypes=(dtype, dtype), codes_in_range=False)
    yield batch._replace(offsets=(-128, -128), dtypes=(torch.int8, torch.int8))
    yield batch._replace(offsets=(251, 3), dtypes=(torch.uint8, torch.uint8))
    for first in (1, -10, 249, 256):  # about the ends of the type, and beyond
        yield batch._replace(offsets=(first, 0), dtypes=(torch.uint8, torch.uint8), codes_in_range=False)
        yield batch._replace(offsets=(0, first), dtypes=(torch.uint8, torch.uint8), codes_in_range=False)
    for mask in ((50,), (1, 50), (4, 50), (2, 1, 50)):  # the batch may come from the mask alone
        yield Case((50,), (50,), mask=mask)
        yield Case((4, 50), (50,), mask=mask, codes_in_range=False)


CASES = list(cases())


def draw(case: Case, side: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Labels of a side, a third of them of one group."""
    shape, first = (case.true, case.pred)[side], case.offsets[side]
    low, high = first, first + case.sizes[side] - 1
    ends = (0, 1) if case.dtypes[side] == torch.bool else limits(case.dtypes[side])
    wide = 0 if case.codes_in_range else 1
    values = random.integers(low - wide, high + wide, shape, endpoint=True).clip(*ends)
    values = np.where(random.random(shape) < 1 / 3, min(max(high, ends[0]), ends[1]), values)
    return values if case.codes_in_range else np.where(random.random(shape) < 0.1, random.choice(ends, shape), values)


def limits(dtype: torch.dtype) -> tuple[int, int]:
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def make(case: Case, device: torch.device | str) -> tuple[EncodedPair, np.ndarray[Any, Any]]:
    """A pair, and its counts by a loop over tables."""
    random = np.random.default_rng(0)
    labels = [draw(case, side, random) for side in (0, 1)]
    mask = None if case.mask is None else random.random(case.mask) < 0.6
    shape = np.broadcast_shapes(case.true, case.pred, case.mask or (1,))
    keep = np.broadcast_to(True if mask is None else mask, shape)
    if mask is not None:  # what is left out everywhere may be anything
        for side, values in enumerate(labels):
            if values.shape[-1] and values.ndim == 1 and case.dtypes[side] != torch.bool:
                nowhere = ~keep.reshape(-1, shape[-1]).any(0)
                values[nowhere] = random.choice(limits(case.dtypes[side]), int(nowhere.sum()))
    counts = np.zeros((*shape[:-1], *case.sizes), np.int64)
    true, pred = (np.broadcast_to(x, shape) for x in labels)
    for batch in np.ndindex(shape[:-1]):
        row, column = true[batch] - case.offsets[0], pred[batch] - case.offsets[1]
        counted = keep[batch] & (row >= 0) & (row < case.sizes[0]) & (column >= 0) & (column < case.sizes[1])
        np.add.at(counts[batch], (row[counted], column[counted]), 1)
    tensors = [torch.from_numpy(x).to(dtype).to(device) for x, dtype in zip(labels, case.dtypes, strict=True)]
    facts = zip(tensors, case.offsets, case.sizes, strict=True)
    sides = [EncodedLabels(x, offset, size, None) for x, offset, size in facts]
    kept = None if mask is None else torch.from_numpy(mask).to(device)
    batch_shape = torch.Size(shape[:-1])
    return EncodedPair(sides[0], sides[1], batch_shape, shape[-1], kept, None, case.codes_in_range, None), counts


def without_values(shape: tuple[int, ...]) -> EncodedPair:
    """A pair of so many labels of one byte each, and a mask, that take no memory."""
    codes, mask = (torch.empty(shape, dtype=dtype, device="meta") for dtype in (torch.uint8, torch.bool))
    side = EncodedLabels(codes, 0, 10, None)
    return EncodedPair(side, side, torch.Size(shape[:-1]), shape[-1], mask, None, False, None)


class LargestResult(TorchDispatchMode):
    """The most bytes that an operation writes, other than views of the labels."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.labels, self.bytes = labels, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        size = made.untyped_storage().nbytes() if isinstance(made, Tensor) else 0
        self.bytes = max(self.bytes, 0 if size == self.labels else size)
        return made
