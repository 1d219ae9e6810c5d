"""Counting by ``torch.histc``: its arithmetic on any device, and that it synchronises with none.

torch's ``histc`` counts whole numbers on CUDA alone; elsewhere a stand-in does what it does there.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gpu_candidates import count_tables, histc, supports
from tests.support.label_cases import CASES, Case, LargestResult, make, without_values
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval.counting import cuda
from torchclusteval.labels.encoding import EncodedLabels, EncodedPair

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


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


@pytest.fixture
def host_histc(monkeypatch: pytest.MonkeyPatch) -> None:
    if DEVICE.type == "cpu":
        monkeypatch.setattr(torch, "histc", cuda_histc)


@pytest.mark.usefixtures("host_histc")
@pytest.mark.parametrize("limits", [{}, {"BLOCK_LABELS": 7}, {"BLOCK_LABELS": 100}], ids=str)
@pytest.mark.parametrize("shared", [histc.SHARED_CELLS, 40, 110])
def test_counts(shared: int, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """In groups of one row and of several, and in blocks of any size."""
    monkeypatch.setattr(histc, "SHARED_CELLS", shared)
    for name, value in limits.items():
        monkeypatch.setattr(cuda, name, value)
    for case in CASES:
        pair, expected = make(case, DEVICE)
        counts = count_tables(pair, "histc")
        assert counts.dtype == torch.int64
        np.testing.assert_array_equal(counts.cpu().numpy(), expected, str(case))


@pytest.mark.usefixtures("host_histc")
def test_counts_are_added() -> None:
    pair, expected = make(Case((50,), (4, 50), mask=(4, 50)), DEVICE)
    before = torch.arange(expected.size + 1, device=DEVICE)
    table = before.clone()
    histc.accumulate_counts(table, pair)
    np.testing.assert_array_equal((table - before)[:-1].cpu().numpy(), expected.ravel())


@pytest.mark.usefixtures("host_histc")
def test_a_cell_of_more_than_256_items() -> None:
    """Counters have a type of their own, not that of the labels."""
    side = EncodedLabels(torch.zeros(3, 70_000, dtype=torch.uint8, device=DEVICE), 0, 2, None)
    pair = EncodedPair(side, side, torch.Size([3]), 70_000, None, None, True, None)
    assert count_tables(pair, "histc").tolist() == [[[70_000, 0], [0, 0]]] * 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_synchronises(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "histc", lambda codes, bins, **limits: codes.new_zeros(bins))
    with tagged_cuda(waits=False):
        pair, _ = make(case, "cuda")
        assert supports(pair, "histc")
        counts = count_tables(pair, "histc")
        assert (counts.device.type, counts.dtype) == ("cuda", torch.int64)
        assert counts.shape == (*pair.batch_shape, *case.sizes)


@pytest.mark.parametrize("true", [(1_000_000_000,), (10, 100_000_000)], ids=str)
def test_temporaries_do_not_grow_with_the_labels(true: tuple[int, ...]) -> None:
    pair = without_values(true)
    with LargestResult(pair.true.codes.numel()) as largest:
        count_tables(pair, "histc")
    assert 0 < largest.bytes <= 8 * 2**24
