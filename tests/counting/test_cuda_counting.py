"""The kernels of counting on CUDA: their arithmetic on any device, and that none of them synchronises with it."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.label_cases import CASES, Case, LargestResult, make, without_values
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval.counting import cuda
from torchclusteval.counting.dispatch import cuda_kernel
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair


def count(pair: EncodedPair, kernel: str) -> Tensor:
    cells = pair.batch_shape.numel() * pair.true.size * pair.pred.size
    table = torch.zeros(cells + 1, dtype=torch.int64, device=pair.device)
    cuda.accumulate_counts(table, pair, kernel)
    return table[:-1].view(*pair.batch_shape, pair.true.size, pair.pred.size)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kernel", cuda.KERNELS)
def test_counts(kernel: str, case: Case, device: torch.device) -> None:
    pair, expected = make(case, device)
    counts = count(pair, kernel)
    assert counts.dtype == torch.int64
    np.testing.assert_array_equal(counts.cpu().numpy(), expected)


SMALL = {
    "blocks of items": {"BLOCK_LABELS": 7},
    "blocks of two rows": {"BLOCK_LABELS": 100},
    "two counters for each cell": {"MAX_PRIVATE_COUNTERS": 280},
    "more counters, and blocks": {"MAX_PRIVATE_COUNTERS": 1000, "BLOCK_LABELS": 33},
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", cuda.KERNELS)
@pytest.mark.parametrize("small", SMALL)
def test_blocks_change_nothing(small: str, kernel: str, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL[small].items():
        monkeypatch.setattr(cuda, name, value)
    for case in CASES:
        pair, expected = make(case, device)
        np.testing.assert_array_equal(count(pair, kernel).cpu().numpy(), expected, str(case))


@pytest.mark.parametrize("kernel", cuda.KERNELS)
def test_counts_are_added(kernel: str, device: torch.device) -> None:
    pair, expected = make(Case((50,), (4, 50), mask=(4, 50)), device)
    before = torch.arange(expected.size + 1, device=device)
    table = before.clone()
    cuda.accumulate_counts(table, pair, kernel)
    np.testing.assert_array_equal((table - before)[:-1].cpu().numpy(), expected.ravel())


@pytest.mark.parametrize("kernel", cuda.KERNELS)
def test_labels_in_any_stride(kernel: str, device: torch.device) -> None:
    case = Case((4, 50), (4, 50), mask=(4, 50))
    pair, expected = make(case, device)
    apart = [x.t().contiguous().t() for x in (pair.true.codes, pair.pred.codes, pair.mask) if x is not None]
    sides = [EncodedLabels(x, 0, size, None) for x, size in zip(apart, case.sizes, strict=False)]
    pair = EncodedPair(sides[0], sides[1], pair.batch_shape, pair.n_items, apart[2], None, True, None)
    np.testing.assert_array_equal(count(pair, kernel).cpu().numpy(), expected)


def test_a_cell_of_more_than_256_items(device: torch.device) -> None:
    """Counters have a type of their own, not that of the labels."""
    zeros = torch.zeros(3, 70_000, dtype=torch.uint8, device=device)
    side = EncodedLabels(zeros, 0, 2, None)
    pair = EncodedPair(side, side, torch.Size([3]), 70_000, None, None, True, None)
    for kernel in cuda.KERNELS:
        assert count(pair, kernel).cpu().tolist() == [[[70_000, 0], [0, 0]]] * 3


@pytest.mark.parametrize("items", [800, 803])
def test_private_counters_share_the_additions(items: int, device: torch.device) -> None:
    """All items are in one cell, or excluded."""
    case = Case((items,), (items,), sizes=(1, 1), mask=(items,))
    pair, _ = make(case, device)
    assert pair.mask is not None
    counters = torch.zeros(2 * 8, dtype=torch.int64, device=device)
    cuda._scatter(counters, pair, 8)
    kept = [int(pair.mask[i::8].sum()) for i in range(8)]
    excluded = [int((~pair.mask[i::8]).sum()) for i in range(8)]
    assert counters.view(2, 8).tolist() == [kept, excluded]


def pair_of(true: Tensor, pred: Tensor, rows: int, columns: int) -> EncodedPair:
    shape = torch.broadcast_shapes(true.shape, pred.shape)
    sides = EncodedLabels(true, 0, rows, None), EncodedLabels(pred, 0, columns, None)
    return EncodedPair(*sides, torch.Size(shape[:-1]), shape[-1], None, None, True, None)


CHOSEN = [  # B, N, R, C
    ((1, 100_000_000, 100, 100), "privatized"),
    ((1000, 100_000, 10, 10), "scatter"),
    ((1, 100_000_000, 150, 150), "privatized"),
    ((1, 1_000_000, 10, 10), "privatized"),
    ((1000, 100, 10, 10), "scatter"),
    ((1, 100_000_000, 1000, 1000), "scatter"),
    ((1, 1000, 10, 10), "scatter"),
    ((0, 0, 1, 1), "scatter"),
]


@pytest.mark.parametrize(("size", "kernel"), CHOSEN)
def test_choice(size: tuple[int, int, int, int], kernel: str) -> None:
    labels = torch.empty(size[:2], device="meta", dtype=torch.uint8)
    assert cuda_kernel(pair_of(labels, labels, *size[2:])) == kernel


def test_wrong_kernels() -> None:
    pair = pair_of(torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), 2, 2)
    with pytest.raises(ValueError, match=r"^kernel: expected one of scatter, privatized; got 'sort'$"):
        count(pair, "sort")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", cuda.KERNELS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_synchronises(case: Case, kernel: str) -> None:
    with tagged_cuda(waits=False):
        pair, _ = make(case, "cuda")
        counts = count(pair, kernel)
        assert (counts.device.type, counts.dtype) == ("cuda", torch.int64)
        assert counts.shape == (*pair.batch_shape, *case.sizes)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", cuda.KERNELS)
@pytest.mark.parametrize("true", [(1_000_000_000,), (10, 100_000_000)], ids=str)
def test_temporaries_do_not_grow_with_the_labels(kernel: str, true: tuple[int, ...]) -> None:
    pair = without_values(true)
    with LargestResult(pair.true.codes.numel()) as largest:
        count(pair, kernel)
    assert 0 < largest.bytes <= 8 * 2**24
