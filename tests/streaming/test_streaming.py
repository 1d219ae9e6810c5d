"""Accumulated tables equal those of all labels at once, whatever the chunks, the labels and the order."""

import copy
import itertools
import math
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.streams import Kind, batch, cells_by_label
from tests.support.tagged_cuda import ON_DEVICE, tagged_cuda
from torchclusteval import ContingencyTables
from torchclusteval.streaming import ContingencyAccumulator, evaluate_stream


def chunked(true: Tensor, pred: Tensor, width: int, kind: Kind = lambda x: x) -> Iterator[tuple[Any, Any]]:
    for start in range(0, true.shape[-1], width):
        part = slice(start, start + width)
        yield kind(true[..., part]), kind(pred[..., part])


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)), max_size=30), st.integers(1, 7))
def test_any_ids_in_any_chunks(items: list[tuple[int, int]], width: int) -> None:
    true, pred = torch.tensor(items, dtype=torch.int64).reshape(-1, 2).unbind(1)
    accumulator = ContingencyAccumulator()
    for chunk in chunked(true, pred, width):
        accumulator.update(*chunk)
    expected: dict[tuple[Any, ...], float] = {}
    for i, j in items:
        expected[0, i, j] = expected.get((0, i, j), 0) + 1
    assert cells_by_label(accumulator.tables()) == expected


@pytest.mark.parametrize(("chunks", "width"), [(40, 5000), (65, 900), (66, 900)])
def test_large_tables_are_sparse_and_merged(chunks: int, width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    accumulator = ContingencyAccumulator()
    labels = torch.randint(5_000, (2, chunks * width), generator=generator)
    for true, pred in labels.unflatten(1, (chunks, -1)).unbind(1):
        accumulator.update(true, pred)
    found = accumulator.tables()
    assert found.layout == "sparse"
    expected = ContingencyTables.from_labels(*labels, layout="sparse")
    for mine, its in zip(found.cells(), expected.cells(), strict=True):
        assert torch.equal(mine, its)  # each cell once
    assert torch.equal(torch.as_tensor(found.classes), torch.as_tensor(expected.classes))


def test_booleans_and_numbers_mix_but_not_words() -> None:
    accumulator = ContingencyAccumulator().update([True, False], [0, 0]).update([2, 1], [0, 1])
    assert cells_by_label(accumulator.tables()) == {(0, 0, 0): 1, (0, 1, 0): 1, (0, 1, 1): 1, (0, 2, 0): 1}
    with pytest.raises(ValueError, match=r"labels_true: expected labels of the kind seen before \(whole numbers\)"):
        accumulator.update(["a"], [0])


@pytest.mark.parametrize("label", ["a", 7])
@pytest.mark.parametrize("nothing", [math.nan, None, "b", 5])
def test_chunks_without_labels_are_of_any_kind(nothing: Any, label: Any) -> None:
    accumulator = ContingencyAccumulator(missing="ignore")
    for true in (nothing, label, nothing):
        accumulator.update([true], [0], mask=None if true in (label, None) or true != true else [False])
    assert cells_by_label(accumulator.tables()) == {(0, label, 0): 1}


def test_labels_out_of_range_are_refused_on_the_cpu() -> None:
    accumulator = ContingencyAccumulator(10, 10)
    with pytest.raises(ValueError, match=r"labels_true: expected codes 0\.\.9, .*; got 10 at position"):
        accumulator.update([1, 10], [0, 0])
    with pytest.raises(ValueError, match=r"expected whole numbers; .*argmax\(-1\).*update_soft"):
        accumulator.update([1, 2], torch.tensor([0.5, 0.25]))
    assert accumulator.tables().n_items.item() == 0  # nothing of a refused chunk is kept
    accumulator.update([1, 10], [0, 0], mask=[True, False])
    assert float(accumulator.tables().coverage) == 1


def test_a_label_after_the_codes_is_not_noise() -> None:
    options: dict[str, Any] = {"noise_label": -1, "noise": "cluster", "validate": False}
    accumulator = ContingencyAccumulator(2, 2, **options).update([0, 1, 1], [0, 2, -1])
    assert accumulator.tables().counts.tolist() == [[1, 0, 0], [0, 0, 1]]
    narrow = ContingencyAccumulator(2, 2, **options).update([0, 1], torch.tensor([0, 1], dtype=torch.uint8))
    assert narrow.tables().counts.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_the_state_goes_where_the_first_labels_are() -> None:
    with tagged_cuda(waits=False):
        accumulator = ContingencyAccumulator(5, 7)
        labels = torch.zeros(10, dtype=torch.int64, device="cuda")
        assert accumulator.update(labels, labels).device.type == "cuda"


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"absent_true": 0, "absent_pred": 7}], ids=["plain", "absent"])
def test_update_and_measures_compile_into_one_graph(options: dict[str, Any]) -> None:
    """Two lengths, so that the second graph has a symbolic one; ``aot_eager`` traces as the default compiler does."""
    torch._dynamo.reset()
    true, pred = batch(400)
    plain, compiled = (ContingencyAccumulator(5, 8, batch_shape=(3,), **options) for _ in range(2))

    def scores(accumulator: ContingencyAccumulator) -> dict[str, Tensor]:
        tables = accumulator.tables()
        return {name: tce.MEASURES[name](tables) for name in ON_DEVICE}

    update = torch.compile(compiled.update, fullgraph=True, backend="aot_eager")
    for chunk in chunked(true, pred, 150):
        plain.update(*chunk)
        update(*chunk)
    for name in ("counts", "unmatched_by_class", "unmatched_by_cluster"):
        assert torch.equal(getattr(compiled.tables(), name), getattr(plain.tables(), name))
    found = torch.compile(scores, fullgraph=True, backend="aot_eager")(compiled)
    for name, value in scores(plain).items():
        torch.testing.assert_close(found[name], value, rtol=1e-12, atol=1e-14)


def test_soft_chunks_are_the_soft_whole() -> None:
    generator = torch.Generator().manual_seed(0)
    p_true = torch.rand(40, 3, generator=generator, dtype=torch.float64).softmax(-1)
    p_pred = torch.rand(2, 40, 4, generator=generator, dtype=torch.float64).softmax(-1).requires_grad_()
    accumulator = ContingencyAccumulator(3, 4, batch_shape=(2,), weights=True)
    for start in range(0, 40, 15):
        part = slice(start, start + 15)
        accumulator.update_soft(p_true[part], p_pred[:, part])
    expected = torch.einsum("nr,bnc->brc", p_true, p_pred)
    torch.testing.assert_close(accumulator.tables().counts, expected, rtol=1e-12, atol=0)

    tce.measures.nmi(accumulator.tables()).sum().backward()
    chunked_gradient, p_pred.grad = p_pred.grad, None
    tce.measures.nmi(ContingencyTables.from_probabilities(p_true, p_pred)).sum().backward()
    torch.testing.assert_close(chunked_gradient, p_pred.grad, rtol=1e-10, atol=1e-14)


def test_soft_updates_and_weights_that_do_not_fit() -> None:
    p = torch.ones(5, 2) / 2
    for arguments, weights in (((2, 2), False), ((), True)):
        with pytest.raises(ValueError, match="update_soft: expected an accumulator with weights=True, num_classes"):
            ContingencyAccumulator(*arguments, weights=weights).update_soft(p, p)
    with pytest.raises(ValueError, match="p_true, p_pred: expected probabilities of 3 classes and 2 clusters; got 2"):
        ContingencyAccumulator(3, 2, weights=True).update_soft(p, p)
    for sizes in ((), (2, 2)):
        match = "weights: expected whole-number types, or an accumulator with weights=True"
        with pytest.raises(ValueError, match=match):
            ContingencyAccumulator(*sizes).update([0, 1], [0, 1], weights=[1.5, 1])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_classes": 4, "num_clusters": 8}, "num_classes=5; got 4"),
        ({"num_classes": 5, "num_clusters": 8, "weights": True}, "weights=False; got True"),
        ({"num_classes": 5, "num_clusters": 8, "batch_shape": (2,)}, r"batch_shape=\(\); got \(2,\)"),
    ],
)
def test_states_that_do_not_fit(options: dict[str, Any], match: str) -> None:
    accumulator, other = ContingencyAccumulator(5, 8), ContingencyAccumulator(**options)
    with pytest.raises(ValueError, match=f"other: expected an accumulator with {match}"):
        accumulator.merge(other)
    with pytest.raises(ValueError, match=f"state: expected one of an accumulator with {match}"):
        accumulator.load_state_dict(other.state_dict())
    state = other.state_dict()
    del state["settings"]  # as before they were saved
    with pytest.raises(ValueError, match="state: expected counts of shape"):
        accumulator.load_state_dict(state)


def test_options_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"batch_shape: expected sizes of at least 0; got \(-1,\)"):
        ContingencyAccumulator(batch_shape=(-1,))
    with pytest.raises(ValueError, match="noise: expected 'ignore' or 'cluster'"):
        ContingencyAccumulator(noise="singletons", noise_label=-1, weights=True)
    for label, name in itertools.product((math.nan, [1], np.array([-1, 2])), ("noise_label", "absent_true")):
        with pytest.raises(ValueError, match=f"^{name}: expected a whole number or a string; got "):
            ContingencyAccumulator(**{name: label})  # type: ignore[arg-type]


def test_what_is_no_state_is_refused() -> None:
    accumulator = ContingencyAccumulator().update(["a"], [0])
    saved = accumulator.state_dict()
    with pytest.raises(ValueError, match="other: expected a ContingencyAccumulator; got dict"):
        accumulator.merge(saved)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="state: expected a state_dict; got NoneType"):
        accumulator.load_state_dict(None)  # type: ignore[arg-type]
    for bad in (None, torch.zeros(3, 3, dtype=torch.int64), torch.zeros(3, 4)):
        with pytest.raises(ValueError, match=r"state: expected cells of shape"):
            accumulator.load_state_dict({**saved, "cells": bad})
    with pytest.raises(ValueError, match=r"considered of shape \(\), torch.int64; got \(1,\)"):
        accumulator.load_state_dict({**saved, "considered": torch.tensor([3])})
    sized = ContingencyAccumulator(2, 2, weights=True).update([0, 1], [0, 1], weights=[1.5, 2.5])
    for own, name, bad in (
        (accumulator, "considered", torch.tensor(-1)),
        (accumulator, "considered", torch.tensor(0)),
        (accumulator, "cells", saved["cells"] * torch.tensor([1, 1, 1, -1])),
        (accumulator, "cells", saved["cells"] + torch.tensor([3, 0, 0, 0])),
        (sized, "counts", torch.tensor([[1.5, -2.5], [0.0, 2.5]]).double()),
        (sized, "counts", torch.tensor([[math.nan, 0.0], [0.0, 2.5]]).double()),
        (sized, "considered", torch.tensor(math.inf).double()),
    ):
        with pytest.raises(ValueError, match=r"^state: expected (counts|considered|cells|no more items).*; got "):
            own.load_state_dict({**own.state_dict(), name: bad})
    unknown = {"kind": "", "words": []}
    for name, part in (("settings", 5), ("settings", {"noise": ""}), ("classes", None), ("classes", unknown)):
        with pytest.raises(ValueError, match=r"^state: expected what state_dict returned; got a damaged one"):
            accumulator.load_state_dict({**saved, name: part})
    for method in (accumulator.scores, accumulator.all_reduce):
        with pytest.raises(ValueError, match=r"^group: expected a process group .*; got 'x'"):
            method(group="x")
    assert int(accumulator.update(["a"], [0]).tables().n_items) == 2  # as before


def test_states_of_given_sizes_hold_codes() -> None:
    """With noise as a cluster there is one code more."""
    for place, sizes in enumerate([(2, None), (None, 3)]):
        accumulator = ContingencyAccumulator(*sizes, noise_label=-1, noise="cluster").update([0, 1, 1], [2, 0, -1])
        saved = accumulator.state_dict()
        saved["cells"][0, 1 + place] = 2 if place == 0 else 4  # clusters: beyond the noise
        with pytest.raises(ValueError, match=r"expected cells of the codes 0\.\."):
            accumulator.load_state_dict(saved)


@pytest.mark.parametrize(
    ("sizes", "batch_shape"),
    [((2**40, 2**40), ()), ((10**30, 2), ()), ((2**20, 2**20), ()), ((10, 10), (10**12,)), ((None, None), (10**13,))],
)
def test_states_that_no_machine_holds_are_refused(sizes: tuple[Any, Any], batch_shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"num_classes, num_clusters, num_groups, batch_shape: .* fit in memory; got 1.* x"
    ):
        ContingencyAccumulator(*sizes, batch_shape=batch_shape)


def test_chunks_of_another_batch_shape() -> None:
    with pytest.raises(ValueError, match=r"labels_pred: expected batch shape \(2,\); got \(\)"):
        ContingencyAccumulator(3, 3, batch_shape=(2,)).update([0], [0])
    with pytest.raises(ValueError, match="one number of items everywhere"):
        ContingencyAccumulator().update([0, 1], [0])


def test_counts_stay_exact_beyond_what_floats_hold() -> None:
    """1e16 + 1 items: int64 counts, where a float32 or float64 state would lose the last one."""
    accumulator = ContingencyAccumulator(2, 2).update([0, 1], [0, 1], weights=[10**16, 1]).update([0], [0])
    assert accumulator.tables().counts.tolist() == [[10**16 + 1, 0], [0, 1]]


every_state = pytest.mark.parametrize("sizes", [{}, {"num_classes": 3, "num_clusters": 40}], ids=["growing", "fixed"])


@every_state
@pytest.mark.parametrize("groups", [(None, None), ([0], [1])], ids=["tables", "groups"])
def test_sums_beyond_64_bits_are_refused(groups: tuple[Any, Any], sizes: dict[str, Any]) -> None:
    """As in one call, whose sum is over all groups."""
    accumulator = ContingencyAccumulator(**sizes).update([0], [0], weights=[2**62], by=groups[0])
    other = copy.deepcopy(accumulator)
    for add in (lambda: accumulator.update([0], [0], weights=[2**62], by=groups[1]), lambda: accumulator.merge(other)):
        with pytest.raises(ValueError, match=r"^weights: expected a sum below 2\*\*63 in all chunks"):
            add()
    accumulator.update([0], [0], weights=[2**62 - 1025], by=groups[1])
    assert int(accumulator.tables().n_items.sum()) == 2**63 - 1025


@every_state
def test_threads_share_an_accumulator(sizes: dict[str, Any]) -> None:
    accumulator = ContingencyAccumulator(**sizes)
    twin = copy.deepcopy(accumulator)
    chunks = [([i % 3] * 50, [i % 40] * 50) for i in range(400)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda chunk: accumulator.update(*chunk).tables().n_items, chunks))
        list(threads.map(lambda pair: pair[0].merge(pair[1]), [(accumulator, twin), (twin, accumulator)]))
    assert float(accumulator.tables().coverage) == 1
    assert int(accumulator.tables().n_items) in (20_000, 40_000)
    assert int(pickle.loads(pickle.dumps(accumulator)).update([0], [0]).tables().n_items) % 20_000 == 1


def test_a_stream_is_scored_as_the_whole() -> None:
    true, pred = batch()
    expected = tce.evaluate(true, pred)
    found = evaluate_stream(chunked(true, pred, 50))
    assert found.names == expected.names
    for name in expected:
        assert torch.equal(found[name], expected[name]), name
    masked = evaluate_stream(({"labels_true": t, "labels_pred": p, "mask": t > 0} for t, p in chunked(true, pred, 50)))
    assert torch.equal(masked["ari"], tce.evaluate(true, pred, mask=true > 0)["ari"])
    sized = evaluate_stream(chunked(true, pred, 50), "pairs", num_classes=5, num_clusters=8)
    assert torch.equal(sized["ari"], expected["ari"])


def test_a_stream_without_chunks_has_no_scores() -> None:
    used = iter([([0, 1], [0, 1])])
    assert evaluate_stream(used, ["ari"])["ari"] == 1
    empty: list[Any] = []
    for chunks in (empty, used):
        with pytest.warns(UserWarning, match="chunks: none came"):
            assert evaluate_stream(chunks, ["ari"])["ari"].isnan()
    with pytest.warns(UserWarning, match="chunks: none came"):
        assert evaluate_stream([], ["ari"], batch_shape=(2,))["ari"].shape == (2,)


def test_what_is_no_chunk_is_refused() -> None:
    wrong: Any = {"labels_true": [0], "labels_pred": [0], "weight": [1]}
    given: Any = {"ContingencyTables": ContingencyTables([[1]]), "3 parts": [([0], [0], [0])], ".*, weight": [wrong]}
    for got, chunks in given.items():
        with pytest.raises(ValueError, match=f"chunks: expected .*; got {got}$"):
            evaluate_stream(chunks)


@pytest.mark.parametrize("noise", [3, "x"])
@pytest.mark.parametrize("num_classes", [None, 2])
def test_a_column_of_noise_alone_has_its_label(noise: Any, num_classes: int | None) -> None:
    options: dict[str, Any] = {"num_classes": num_classes, "noise_label": noise, "noise": "cluster"}
    tables = ContingencyAccumulator(**options).update([0, 1], [noise, noise]).tables()
    once = ContingencyTables.from_labels([0, 1], [noise] * 2, **options)
    assert list(tables.clusters) == list(once.clusters) == [noise]
