"""The paths of counting on CUDA: their arithmetic on any device, and that none of them waits for the device.

torch's ``histc`` counts whole numbers on CUDA alone; elsewhere a stand-in does what it does there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from fake_cuda import fake_cuda
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from torchclusteval import counting, cuda_counting
from torchclusteval.labels import LabelPair, Side

PATHS = ("scatter", "histc", "striped")
DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def cuda_histc(codes: Tensor, bins: int, *, min: int, max: int) -> Tensor:
    """What ``torch.histc`` does to whole numbers on CUDA: counters of their type, ``max`` in the last bin."""
    assert codes.dtype in (torch.int32, torch.int64)
    assert min < max, "CUDA would wait for the extremes"
    values = codes.numpy().astype(object)
    values = values[(values >= min) & (values <= max)]
    at = np.minimum((values - min) * bins // (max - min), bins - 1).astype(np.int64)
    counts = np.zeros(bins, codes.numpy().dtype)
    np.add.at(counts, at, 1)
    return torch.from_numpy(counts)


@pytest.fixture(autouse=True)
def histc(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    on_host = "device" in request.fixturenames and request.getfixturevalue("device").type == "cpu"
    if on_host:
        monkeypatch.setattr(torch, "histc", cuda_histc)


# cases ----------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Labels from one below the first row (column) to one above the last, if not ``bounded``."""

    true: tuple[int, ...]
    pred: tuple[int, ...]
    sizes: tuple[int, int] = (5, 7)
    offsets: tuple[int, int] = (0, 0)
    mask: tuple[int, ...] | None = None
    bounded: bool = True
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
        yield Case(true, pred, bounded=False)
    batch = Case((50,), (4, 50))
    for dtype in DTYPES:
        sizes = (2, 2) if dtype == torch.bool else (5, 7)
        for bounded in (True, False):
            for other in (dtype, torch.int64):
                yield batch._replace(sizes=sizes, dtypes=(dtype, other), bounded=bounded, mask=(4, 50))
                yield batch._replace(sizes=sizes[::-1], dtypes=(other, dtype), bounded=bounded, true=(4, 50))
    yield batch._replace(dtypes=(torch.bool, torch.bool), sizes=(1, 2), bounded=False)
    for sizes in ((1, 1), (1, 9), (9, 1), (20, 300), (300, 20), (100, 200)):
        yield batch._replace(sizes=sizes)
        yield batch._replace(sizes=sizes, bounded=False, mask=(50,))
    for dtype in (torch.uint8, torch.int16):  # products leave the type of the labels
        yield batch._replace(sizes=(120, 120), dtypes=(dtype, dtype))
    yield batch._replace(sizes=(20, 400), dtypes=(torch.uint8, torch.int32), bounded=False)  # no label of some rows
    for offsets in ((-3, -4), (2**31 - 3, -(2**31)), (-(2**31) + 1, 2**31 - 2), (100, -(2**31))):
        for dtype in (torch.int64, torch.int32)[: 2 if max(offsets) < 2**31 - 9 else 1]:
            yield batch._replace(offsets=offsets, dtypes=(dtype, dtype), mask=(50,))
            yield batch._replace(offsets=offsets, dtypes=(dtype, dtype), bounded=False)
    yield batch._replace(offsets=(-128, -128), dtypes=(torch.int8, torch.int8))
    yield batch._replace(offsets=(251, 3), dtypes=(torch.uint8, torch.uint8))
    for first in (1, -10, 249, 256):  # about the ends of the type, and beyond
        yield batch._replace(offsets=(first, 0), dtypes=(torch.uint8, torch.uint8), bounded=False)
        yield batch._replace(offsets=(0, first), dtypes=(torch.uint8, torch.uint8), bounded=False)
    for mask in ((50,), (1, 50), (4, 50), (2, 1, 50)):  # the batch may come from the mask alone
        yield Case((50,), (50,), mask=mask)
        yield Case((4, 50), (50,), mask=mask, bounded=False)


CASES = list(cases())


def draw(case: Case, side: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Labels of a side, a third of them of one group."""
    shape, first = (case.true, case.pred)[side], case.offsets[side]
    low, high = first, first + case.sizes[side] - 1
    ends = (0, 1) if case.dtypes[side] == torch.bool else limits(case.dtypes[side])
    wide = 0 if case.bounded else 1
    values = random.integers(low - wide, high + wide, shape, endpoint=True).clip(*ends)
    values = np.where(random.random(shape) < 1 / 3, min(max(high, ends[0]), ends[1]), values)
    return values if case.bounded else np.where(random.random(shape) < 0.1, random.choice(ends, shape), values)


def limits(dtype: torch.dtype) -> tuple[int, int]:
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def make(case: Case, device: torch.device | str) -> tuple[LabelPair, np.ndarray[Any, Any]]:
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
    sides = [Side(x, offset, size, None) for x, offset, size in zip(tensors, case.offsets, case.sizes, strict=True)]
    kept = None if mask is None else torch.from_numpy(mask).to(device)
    batch_shape = torch.Size(shape[:-1])
    return LabelPair(sides[0], sides[1], batch_shape, shape[-1], kept, None, case.bounded, None), counts


# arithmetic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("path", PATHS)
def test_counts(path: str, case: Case, device: torch.device) -> None:
    pair, expected = make(case, device)
    counts = cuda_counting.count(pair, path)
    assert counts.dtype == torch.int64
    np.testing.assert_array_equal(counts.cpu().numpy(), expected)


SMALL = {
    "blocks of items": {"_BLOCK": 7},
    "blocks of two rows": {"_BLOCK": 100},
    "one row a call": {"_HISTC_CELLS": 40},
    "three rows a call": {"_HISTC_CELLS": 110},
    "two stripes": {"SPREAD": 280},
    "stripes and blocks": {"SPREAD": 1000, "_BLOCK": 33},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("small", SMALL)
def test_blocks_change_nothing(small: str, path: str, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL[small].items():
        monkeypatch.setattr(cuda_counting, name, value)
    for case in CASES:
        pair, expected = make(case, device)
        np.testing.assert_array_equal(cuda_counting.count(pair, path).cpu().numpy(), expected, str(case))


@pytest.mark.parametrize("path", PATHS)
def test_counts_are_added(path: str, device: torch.device) -> None:
    pair, expected = make(Case((50,), (4, 50), mask=(4, 50)), device)
    before = torch.arange(expected.size + 1, device=device)
    table = before.clone()
    cuda_counting.add_ones(table, pair, path)
    np.testing.assert_array_equal((table - before)[:-1].cpu().numpy(), expected.ravel())


@pytest.mark.parametrize("path", PATHS)
def test_labels_in_any_stride(path: str, device: torch.device) -> None:
    case = Case((4, 50), (4, 50), mask=(4, 50))
    pair, expected = make(case, device)
    apart = [x.t().contiguous().t() for x in (pair.true.codes, pair.pred.codes, pair.keep) if x is not None]
    sides = [Side(x, 0, size, None) for x, size in zip(apart, case.sizes, strict=False)]
    pair = LabelPair(sides[0], sides[1], pair.batch_shape, pair.n, apart[2], None, True, None)
    np.testing.assert_array_equal(cuda_counting.count(pair, path).cpu().numpy(), expected)


def test_a_cell_of_more_than_256_items(device: torch.device) -> None:
    """Counters have a type of their own, not that of the labels."""
    zeros = torch.zeros(3, 70_000, dtype=torch.uint8, device=device)
    side = Side(zeros, 0, 2, None)
    pair = LabelPair(side, side, torch.Size([3]), 70_000, None, None, True, None)
    for path in PATHS:
        assert cuda_counting.count(pair, path).cpu().tolist() == [[[70_000, 0], [0, 0]]] * 3


@pytest.mark.parametrize("items", [800, 803])
def test_stripes_share_the_additions(items: int, device: torch.device) -> None:
    """All items are in one cell, or left out."""
    case = Case((items,), (items,), sizes=(1, 1), mask=(items,))
    pair, _ = make(case, device)
    assert pair.keep is not None
    counters = torch.zeros(2 * 8, dtype=torch.int64, device=device)
    cuda_counting._scatter(counters, pair, 8)
    kept = [int(pair.keep[i::8].sum()) for i in range(8)]
    left_out = [int((~pair.keep[i::8]).sum()) for i in range(8)]
    assert counters.view(2, 8).tolist() == [kept, left_out]


# the choice -----------------------------------------------------------------------------------------


def pair_of(true: Tensor, pred: Tensor, rows: int, columns: int) -> LabelPair:
    shape = torch.broadcast_shapes(true.shape, pred.shape)
    sides = Side(true, 0, rows, None), Side(pred, 0, columns, None)
    return LabelPair(*sides, torch.Size(shape[:-1]), shape[-1], None, None, True, None)


CHOSEN = [  # B, N, R, C
    ((1, 100_000_000, 100, 100), "striped"),
    ((1000, 100_000, 10, 10), "scatter"),
    ((1, 100_000_000, 150, 150), "striped"),
    ((1, 1_000_000, 10, 10), "striped"),
    ((1000, 100, 10, 10), "scatter"),
    ((1, 100_000_000, 1000, 1000), "scatter"),
    ((1, 1000, 10, 10), "scatter"),
    ((0, 0, 1, 1), "scatter"),
]


@pytest.mark.parametrize(("size", "path"), CHOSEN)
def test_choice(size: tuple[int, int, int, int], path: str) -> None:
    labels = torch.empty(size[:2], device="meta", dtype=torch.uint8)
    assert counting.cuda_path(pair_of(labels, labels, *size[2:])) == path


def test_wrong_paths() -> None:
    pair = pair_of(torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), 2, 2)
    with pytest.raises(ValueError, match=r"^path: expected one of scatter, histc, striped, triton; got 'sort'$"):
        cuda_counting.count(pair, "sort")
    with pytest.raises(ValueError, match=r"^path: expected one that serves 2 x 2 cells on cpu; got 'triton'$"):
        cuda_counting.count(pair, "triton")


TRITON = """
import sys
sys.modules["triton"] = None  # as if it were not installed
import torchclusteval as tce
tce.evaluate([0, 0, 1, 1, 2], [[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]])
print("torchclusteval.triton_counting" in sys.modules)
"""


def test_triton_is_not_needed() -> None:
    run = subprocess.run([sys.executable, "-c", TRITON], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# no waiting, and no large memory --------------------------------------------------------------------


def fake_pair(case: Case) -> LabelPair:
    def fake(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device="cuda")

    sides = [
        Side(fake(shape, dtype), offset, size, None)
        for shape, dtype, offset, size in zip(
            (case.true, case.pred), case.dtypes, case.offsets, case.sizes, strict=True
        )
    ]
    mask = None if case.mask is None else fake(case.mask, torch.bool)
    shape = np.broadcast_shapes(case.true, case.pred, case.mask or (1,))
    return LabelPair(sides[0], sides[1], torch.Size(shape[:-1]), shape[-1], mask, None, case.bounded, None)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_waits_for_the_device(case: Case, path: str) -> None:
    with fake_cuda():
        pair = fake_pair(case)
        counts = cuda_counting.count(pair, path)
        assert (counts.device.type, counts.dtype) == ("cuda", torch.int64)
        assert counts.shape == (*pair.batch_shape, *case.sizes)


class Largest(TorchDispatchMode):
    """The most bytes that an operation writes, other than views of the labels."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.labels, self.bytes = labels, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        size = made.untyped_storage().nbytes() if isinstance(made, Tensor) else 0
        self.bytes = max(self.bytes, 0 if size == self.labels else size)
        return made


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("true", [(1_000_000_000,), (10, 100_000_000)], ids=str)
def test_temporaries_do_not_grow_with_the_labels(path: str, true: tuple[int, ...]) -> None:
    with fake_cuda():
        case = Case(true, true, sizes=(10, 10), mask=true, bounded=False, dtypes=(torch.uint8, torch.uint8))
        pair = fake_pair(case)
        with Largest(pair.true.codes.numel()) as largest:
            cuda_counting.count(pair, path)
        assert 0 < largest.bytes <= 8 * 2**24
