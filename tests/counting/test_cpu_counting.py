"""Counting on the CPU against one count an item: every type, the edges of the types of codes, blocks and threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from torchclusteval import ContingencyTables
from torchclusteval.common import threads as common_threads
from torchclusteval.common.threads import share
from torchclusteval.counting import cpu, sparse
from torchclusteval.counting.dispatch import count_dense, count_sparse, fits_dense
from torchclusteval.labels import encoding
from torchclusteval.labels.encoding import EncodedPair, encode
from torchclusteval.labels.options import LabelOptions

NEVER = -(2**62)  # cells, for no work is that little


@pytest.fixture(params=["at once", "in blocks"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little work is done at once, unless it is told not to be little."""
    if request.param == "in blocks":
        monkeypatch.setattr(cpu, "_FEW_CELLS", NEVER)


DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def one_by_one(true: Tensor, pred: Tensor, rows: int, columns: int, keep: Tensor | None = None) -> np.ndarray:
    """``(B, rows, columns)``: every item counted on its own; labels outside are left out."""
    shape = torch.broadcast_shapes(true.shape, pred.shape)
    true, pred = true.long().expand(shape), pred.long().expand(shape)
    kept = torch.ones(shape, dtype=torch.bool) if keep is None else keep.expand(shape)
    counts = np.zeros((shape[0], rows, columns), dtype=np.int64)
    for b, i in kept.nonzero().tolist():
        row, column = int(true[b, i]), int(pred[b, i])
        if 0 <= row < rows and 0 <= column < columns:
            counts[b, row, column] += 1
    return counts


@contextmanager
def threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def draw(seed: int, high: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def numbered(rows: int, columns: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Three items in every cell but the second, and nine in the last: a wrapped code would show."""
    cell = torch.arange(rows * columns)
    cell = torch.cat([cell[cell != 1], cell[-1:], cell[-1:]]).repeat(3)  # items enough for codes of a narrow type
    return (cell // columns).to(dtype).unsqueeze(0), (cell % columns).to(dtype).unsqueeze(0)


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (1, 256),
        (16, 16),
        (256, 1),
        (1, 255),
        (257, 1),
        (128, 256),
        (129, 255),
        (256, 128),
        (181, 181),
        (182, 182),
    ],
    ids=str,
)
def test_codes_at_the_edges_of_their_types(shape: tuple[int, int], dtype: torch.dtype) -> None:
    if max(shape) - 1 > torch.iinfo(dtype).max:
        pytest.skip("labels do not fit the type")
    true, pred = numbered(*shape, dtype)
    expected = np.full(shape, 3)
    expected.flat[1:2] = 0
    expected.flat[-1] += 6
    counts = count_dense(encode(true, pred, LabelOptions(num_classes=shape[0], num_clusters=shape[1]))).counts
    assert np.array_equal(counts[0].numpy(), expected)


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("low", [-(2**62), -(2**31) - 5, -200, -1, 1, 250, 32_760, 2**31 - 4, 2**62])
def test_labels_far_from_zero(low: int) -> None:
    true, pred = draw(0, 7, (3, 200)), draw(1, 9, (3, 200))
    tables = ContingencyTables.from_labels(true + low, pred - low)
    assert np.array_equal(tables.counts.numpy(), one_by_one(true, pred, 7, 9))


@pytest.mark.slow
@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("true_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("pred_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("batches", [(1, 5), (5, 1), (5, 5)], ids=["one truth", "one clustering", "both"])
def test_every_pair_of_types(true_dtype: torch.dtype, pred_dtype: torch.dtype, batches: tuple[int, int]) -> None:
    true, pred = (
        draw(side, 2 if dtype == torch.bool else 11, (batch, 300), dtype)
        for side, (dtype, batch) in enumerate(zip((true_dtype, pred_dtype), batches, strict=True))
    )
    counts = count_dense(encode(true, pred, LabelOptions(num_classes=11, num_clusters=11))).counts
    assert np.array_equal(counts.numpy(), one_by_one(true, pred, 11, 11))


SIZES = st.integers(0, 12)


@st.composite
def pairs(draw_from: st.DrawFn) -> tuple[EncodedPair, np.ndarray]:
    """Labels of any layout in memory, some out of range, some masked, and their counts."""
    batch, items, rows, columns = (draw_from(x) for x in (SIZES, SIZES, *[st.integers(1, 6)] * 2))
    seed = draw_from(st.integers(0, 2**20))
    dtype = draw_from(st.sampled_from([torch.int8, torch.int16, torch.int32, torch.int64]))
    shared_true, across = draw_from(st.booleans()), draw_from(st.booleans())
    true = draw(seed, rows + 2, (1 if shared_true else batch, items), dtype) - 1
    pred = draw(seed + 1, columns + 2, (items, batch) if across else (batch, items), dtype) - 1
    pred = pred.T if across else pred
    keep = draw(seed + 2, 2, (batch, items)).bool() if draw_from(st.booleans()) else None
    options = LabelOptions(mask=keep, num_classes=rows, num_clusters=columns, item_dims=1, validate=False)
    pair = encode(true, pred, options)
    return pair, one_by_one(true.expand(batch, items), pred, rows, columns, keep)


@pytest.mark.slow
@given(
    case=pairs(),
    block=st.sampled_from([1, 3, 8, 1 << 18]),
    number=st.sampled_from([1, 2, 3, 8]),
    few=st.sampled_from([1024, NEVER]),
)
def test_blocks_and_threads(case: tuple[EncodedPair, np.ndarray], block: int, number: int, few: int) -> None:
    pair, expected = case
    with pytest.MonkeyPatch.context() as patch, threads(number):
        for name, value in (
            ("_BLOCK_LABELS", block),
            ("_MIN_THREADED_LABELS", 1),
            ("_MIN_BLOCK_ITEMS", 2),
            ("_MIN_LABELS_PER_CALL", 2),
            ("_FEW_CELLS", few),
        ):
            patch.setattr(cpu, name, value)
        patch.setattr(common_threads, "_usable_cores", lambda: 8)
        assert np.array_equal(count_dense(pair).counts.numpy(), expected)
        patch.setattr(sparse, "_SORT_BLOCK_LABELS", block)
        patch.setattr(sparse, "_MERGE_BLOCK_CELLS", 4)
        patch.setattr(sparse, "_SAMPLE_STRIDE", 2)
        table, row, column, count = count_sparse(pair).nonzero()
    listed = np.zeros_like(expected)
    listed[table, row, column] = count
    assert np.array_equal(listed, expected)
    assert len(count) == (expected > 0).sum()


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("shape", [(40, 60_000), (2, 1_100_000), (1, 2_100_000)], ids=str)
def test_threads_share_large_work(shape: tuple[int, int], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is really shared out, and the sum of the shares is the whole."""
    true, pred = draw(0, 4, shape[1:], torch.int32), draw(1, 5, shape, torch.uint8)
    alone = count_dense(encode(true, pred)).counts
    assert int(alone.sum()) == pred.numel()
    shares = []

    def recorded(work: Any, items: Any, threads: int) -> list[Any]:
        shares.append(threads)
        return share(work, items, threads)

    monkeypatch.setattr(cpu, "share", recorded)
    monkeypatch.setattr(common_threads, "_usable_cores", lambda: 8)
    with threads(number):
        assert torch.equal(count_dense(encode(true, pred)).counts, alone)
    assert shares == [number]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("place", [0, 1, 2002, 3999])
@pytest.mark.parametrize("label", [-(2**40), -1, 8, 15, 16, 200, 2**16 + 3, 2**33, 2**63 - 1])
def test_ranges_that_a_sample_does_not_show(
    label: int, place: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, pred = draw(0, 4, (2000,)) + 3, draw(1, 6, (2, 2000)) + 2
    pred.view(-1)[place] = label
    for name in ("_FEW_LABELS", "_SAMPLED_LABELS"):
        monkeypatch.setattr(encoding, name, 20)
    for name in ("_BLOCK_LABELS", "_MIN_THREADED_LABELS"):
        monkeypatch.setattr(cpu, name, 256)
    monkeypatch.setattr(common_threads, "_usable_cores", lambda: 2)
    assert encode(true, pred, guess=True).codes_in_range is (None if place or 0 <= label < 32 else True)
    names = pred.unique()
    expected = one_by_one(true - 3, torch.searchsorted(names, pred), 4, len(names))
    with threads(number):
        tables = ContingencyTables.from_labels(true, pred)
        assert np.array_equal(tables.counts.numpy(), expected)
        assert torch.equal(torch.as_tensor(tables.clusters), names)
        with pytest.raises(ValueError, match=rf"labels_pred: expected codes 0..7.*got {label} at position"):
            ContingencyTables.from_labels(true, pred, num_classes=7, num_clusters=8)


def test_dense_tables_stop_where_memory_would() -> None:
    assert fits_dense(1000 * 1000, 1, 10)
    assert fits_dense(2 * 10**6, 1000, 10**6)
    assert not fits_dense(2 * 10**6 + 2, 2, 10**6)
    assert not fits_dense(400 * 10**6, 1, 10**8)  # a table of 3.2 GB, unless it is asked for


def test_labels_that_can_be_read_once_are_counted_after_a_wrong_guess() -> None:
    n = 1 << 18
    tables = ContingencyTables.from_labels((90 if i == n - 1 else i % 3 for i in range(n)), (i % 2 for i in range(n)))
    assert tables.n_items == n
    assert tables.counts[-1].tolist() == [0, 1]
