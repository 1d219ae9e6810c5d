"""The paths of counting on CUDA: their arithmetic on any device, and that none of them waits for the device.

torch's ``histc`` counts whole numbers on CUDA alone; elsewhere a stand-in does what it does there.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.fake_cuda import fake_cuda
from tests.support.label_cases import CASES, Case, make
from torchclusteval import counting
from torchclusteval.counting import cuda
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair

PATHS = ("scatter", "histc", "striped")


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


# arithmetic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("path", PATHS)
def test_counts(path: str, case: Case, device: torch.device) -> None:
    pair, expected = make(case, device)
    counts = cuda.count(pair, path)
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


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("small", SMALL)
def test_blocks_change_nothing(small: str, path: str, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL[small].items():
        monkeypatch.setattr(cuda, name, value)
    for case in CASES:
        pair, expected = make(case, device)
        np.testing.assert_array_equal(cuda.count(pair, path).cpu().numpy(), expected, str(case))


@pytest.mark.parametrize("path", PATHS)
def test_counts_are_added(path: str, device: torch.device) -> None:
    pair, expected = make(Case((50,), (4, 50), mask=(4, 50)), device)
    before = torch.arange(expected.size + 1, device=device)
    table = before.clone()
    cuda.add_ones(table, pair, path)
    np.testing.assert_array_equal((table - before)[:-1].cpu().numpy(), expected.ravel())


@pytest.mark.parametrize("path", PATHS)
def test_labels_in_any_stride(path: str, device: torch.device) -> None:
    case = Case((4, 50), (4, 50), mask=(4, 50))
    pair, expected = make(case, device)
    apart = [x.t().contiguous().t() for x in (pair.true.codes, pair.pred.codes, pair.keep) if x is not None]
    sides = [EncodedLabels(x, 0, size, None) for x, size in zip(apart, case.sizes, strict=False)]
    pair = EncodedPair(sides[0], sides[1], pair.batch_shape, pair.n, apart[2], None, True, None)
    np.testing.assert_array_equal(cuda.count(pair, path).cpu().numpy(), expected)


def test_a_cell_of_more_than_256_items(device: torch.device) -> None:
    """Counters have a type of their own, not that of the labels."""
    zeros = torch.zeros(3, 70_000, dtype=torch.uint8, device=device)
    side = EncodedLabels(zeros, 0, 2, None)
    pair = EncodedPair(side, side, torch.Size([3]), 70_000, None, None, True, None)
    for path in PATHS:
        assert cuda.count(pair, path).cpu().tolist() == [[[70_000, 0], [0, 0]]] * 3


@pytest.mark.parametrize("items", [800, 803])
def test_stripes_share_the_additions(items: int, device: torch.device) -> None:
    """All items are in one cell, or left out."""
    case = Case((items,), (items,), sizes=(1, 1), mask=(items,))
    pair, _ = make(case, device)
    assert pair.keep is not None
    counters = torch.zeros(2 * 8, dtype=torch.int64, device=device)
    cuda._scatter(counters, pair, 8)
    kept = [int(pair.keep[i::8].sum()) for i in range(8)]
    left_out = [int((~pair.keep[i::8]).sum()) for i in range(8)]
    assert counters.view(2, 8).tolist() == [kept, left_out]


# the choice -----------------------------------------------------------------------------------------


def pair_of(true: Tensor, pred: Tensor, rows: int, columns: int) -> EncodedPair:
    shape = torch.broadcast_shapes(true.shape, pred.shape)
    sides = EncodedLabels(true, 0, rows, None), EncodedLabels(pred, 0, columns, None)
    return EncodedPair(*sides, torch.Size(shape[:-1]), shape[-1], None, None, True, None)


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
        cuda.count(pair, "sort")
    with pytest.raises(ValueError, match=r"^path: expected one that serves 2 x 2 cells on cpu; got 'triton'$"):
        cuda.count(pair, "triton")


TRITON = """
import sys
sys.modules["triton"] = None  # as if it were not installed
import torchclusteval as tce
tce.evaluate([0, 0, 1, 1, 2], [[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]])
print("torchclusteval.triton_counting" in sys.modules)
"""


@pytest.mark.slow
def test_triton_is_not_needed() -> None:
    run = subprocess.run([sys.executable, "-c", TRITON], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# no waiting, and no large memory --------------------------------------------------------------------


def fake_pair(case: Case) -> EncodedPair:
    def fake(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device="cuda")

    sides = [
        EncodedLabels(fake(shape, dtype), offset, size, None)
        for shape, dtype, offset, size in zip(
            (case.true, case.pred), case.dtypes, case.offsets, case.sizes, strict=True
        )
    ]
    mask = None if case.mask is None else fake(case.mask, torch.bool)
    shape = np.broadcast_shapes(case.true, case.pred, case.mask or (1,))
    return EncodedPair(sides[0], sides[1], torch.Size(shape[:-1]), shape[-1], mask, None, case.codes_in_range, None)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_waits_for_the_device(case: Case, path: str) -> None:
    with fake_cuda():
        pair = fake_pair(case)
        counts = cuda.count(pair, path)
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


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("true", [(1_000_000_000,), (10, 100_000_000)], ids=str)
def test_temporaries_do_not_grow_with_the_labels(path: str, true: tuple[int, ...]) -> None:
    with fake_cuda():
        case = Case(true, true, sizes=(10, 10), mask=true, codes_in_range=False, dtypes=(torch.uint8, torch.uint8))
        pair = fake_pair(case)
        with Largest(pair.true.codes.numel()) as largest:
            cuda.count(pair, path)
        assert 0 < largest.bytes <= 8 * 2**24
