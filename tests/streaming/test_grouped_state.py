"""Accumulators of groups of items: the tables of all chunks at once, for every kind of labels and ids."""

from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.streams import KINDS, batch
from tests.support.values import different_bits, differing, listed
from torchclusteval import ContingencyAccumulator, ContingencyTables

ITEMS = 600
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "classes given": {"num_classes": 5},
    "both given": {"num_classes": 5, "num_clusters": 8},
    "fixed shape": {"num_classes": 5, "num_clusters": 8, "num_groups": 8},
    "codes of groups": {"num_groups": 9},
    "noise": {"noise_label": 3, "noise": "cluster", "ignore_index": 0},
    "absent": {"absent_true": 0, "absent_pred": 2, "ignore_index": 3},
    "absent, classes given": {"absent_true": 0, "absent_pred": -1, "num_classes": 5},
    "absent, fixed shape": {"absent_true": -1, "absent_pred": 0, "num_classes": 5, "num_clusters": 8, "num_groups": 8},
    "single noise": {"noise_label": 3, "noise": "singletons"},
}


def groups() -> Tensor:
    """Late chunks have groups that early ones lack."""
    generator = torch.Generator().manual_seed(7)
    return torch.randint(8, (ITEMS,), generator=generator).minimum(2 + torch.arange(ITEMS) // 90)


def accumulated(options: dict[str, Any], kind: str = "small", part: slice = slice(0, ITEMS)) -> ContingencyAccumulator:
    true, pred = batch(ITEMS)
    accumulator = ContingencyAccumulator(batch_shape=(3,), **options)
    mask = torch.arange(ITEMS) % 7 > 0
    for start in range(part.start, part.stop, 60):
        some = slice(start, min(start + 60, part.stop))
        labels = (KINDS[kind](x[..., some]) for x in (true, pred))
        accumulator.update(*labels, by=KINDS[kind](groups()[some]), mask=mask[some])
    return accumulator


def at_once(options: dict[str, Any], kind: str = "small") -> ContingencyTables:
    true, pred = batch(ITEMS)
    labels = (KINDS[kind](x) for x in (true, pred))
    mask = torch.arange(ITEMS) % 7 > 0
    return ContingencyTables.from_labels(*labels, by=KINDS[kind](groups()), mask=mask, **options)


def assert_same(found: ContingencyTables, expected: ContingencyTables, *, bits: bool = True) -> None:
    assert listed(found.groups) == listed(expected.groups)
    given, wanted = ([x if x is None else listed(x) for x in (t.classes, t.clusters)] for t in (found, expected))
    assert given == wanted or not bits  # single items of noise come in any order
    every = ["all", *tce.measures.ONE_SIDED]
    ours, theirs = tce.evaluate_tables(found, every), tce.evaluate_tables(expected, every)
    assert (different_bits if bits else differing)(dict(ours), dict(theirs)) == []
    torch.testing.assert_close(ours.coverage, theirs.coverage, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(ours.n_items, theirs.n_items)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_chunks_are_all_labels_at_once(options: dict[str, Any]) -> None:
    bits = options.get("noise") != "singletons"
    expected, accumulator = at_once(options), accumulated(options)
    assert_same(accumulator.tables(), expected, bits=bits)
    assert torch.equal(accumulator.tables().n_considered, expected.n_considered)
    later, earlier = accumulated(options, part=slice(240, ITEMS)), accumulated(options, part=slice(0, 240))
    fresh = ContingencyAccumulator(batch_shape=(3,), **options)
    assert_same(fresh.merge(later).merge(earlier).tables(), expected, bits=bits)
    loaded = ContingencyAccumulator(batch_shape=(3,), **options)
    loaded.load_state_dict(later.state_dict())
    assert_same(loaded.merge(earlier).tables(), expected, bits=bits)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_labels_and_ids(kind: str) -> None:
    found, expected = accumulated({}, kind).tables(), at_once({}, kind)
    assert_same(found, expected)
    for ours, theirs in ((found.classes, expected.classes), (found.clusters, expected.clusters)):
        assert ours.shape == theirs.shape


def test_streams() -> None:
    true, pred = batch(ITEMS)
    by = groups()
    halves = slice(0, 200), slice(200, ITEMS)
    chunks = [{"labels_true": true[some], "labels_pred": pred[:, some], "by": by[some]} for some in halves]
    scores, expected = tce.evaluate_stream(chunks), tce.evaluate(true, pred, by=by)
    assert different_bits(dict(scores), dict(expected)) == []
    assert torch.equal(torch.as_tensor(scores.groups), torch.as_tensor(expected.groups))


def test_masses() -> None:
    true, pred = batch(ITEMS)
    weights = torch.arange(ITEMS) % 5 * 0.25 + 1
    accumulator = ContingencyAccumulator(batch_shape=(3,), weights=True)
    for some in (slice(0, 200), slice(200, ITEMS)):
        accumulator.update(true[some], pred[:, some], by=groups()[some], weights=weights[some])
    expected = ContingencyTables.from_labels(true, pred, by=groups(), weights=weights)
    assert_same(accumulator.tables(), expected, bits=False)


def test_reset_and_mistakes() -> None:
    accumulator = ContingencyAccumulator()
    accumulator.update([True, False], [0, 1], by=["a", "b"])
    with pytest.raises(ValueError, match=r"by: expected ids of groups with every chunk, .*; got a chunk without"):
        accumulator.update([0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"by: expected labels of the kind seen before \(strings\); got whole numbers"):
        accumulator.update([0, 1], [0, 1], by=[0, 1])
    with pytest.raises(ValueError, match=r"by: expected ids, one for each of the 2 items"):
        accumulator.update([0, 1], [0, 1], by=["a"])
    before = repr(accumulator.state_dict())
    for labels in (["x", "y"], [0, 1]), ([2, 3], ["x", "y"]):  # the second one also changes the kind of classes
        with pytest.raises(ValueError, match=r"labels_(true|pred): expected labels of the kind seen before"):
            accumulator.update(*labels, by=["c", "d"])
    assert repr(accumulator.state_dict()) == before
    assert accumulator.tables().n_items.tolist() == [1, 1]
    accumulator.reset().update([0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"by: expected .*; got a chunk with ids after one without"):
        accumulator.update([0, 1], [0, 1], by=["a", "b"])
    with pytest.raises(ValueError, match="other: expected an accumulator with by=False; got True"):
        accumulator.merge(ContingencyAccumulator().update([0], [0], by=[3]))
    with pytest.raises(ValueError, match=r"by: expected ids of groups with every chunk"):
        ContingencyAccumulator(num_groups=3).update([0], [0])
    with pytest.raises(ValueError, match="num_groups: expected a whole number of at least 1; got 0"):
        ContingencyAccumulator(num_groups=0)
    assert ContingencyAccumulator(num_groups=10**6).state_dict()["groups"]["ids"] == []  # codes need no list
    with pytest.raises(ValueError, match=r"^num_groups: expected at most 2\*\*32 tables; got 10000000000000$"):
        ContingencyAccumulator(num_groups=10**13)
    with pytest.raises(ValueError, match=r"by: expected codes 0\.\.2, as num_groups is 3; got 3 at position 0"):
        ContingencyAccumulator(num_groups=3).update([0], [0], by=[3])


@pytest.mark.parametrize("clusterings", [(), (2,), (0,)])
@pytest.mark.parametrize("masked", [True, False])
def test_no_group_at_all(clusterings: tuple[int, ...], masked: bool) -> None:
    """Chunks that are empty, or whose items are all masked, as at once."""
    true, by = torch.zeros(int(masked), dtype=torch.int64), torch.zeros(int(masked), dtype=torch.int64)
    pred = true.expand(*clusterings, -1)
    mask = torch.zeros(int(masked), dtype=torch.bool)
    chunk = {"labels_true": true, "labels_pred": pred, "mask": mask, "by": by}
    streamed, once = tce.evaluate_stream([chunk], "purity"), tce.evaluate(true, pred, "purity", mask=mask, by=by)
    assert streamed["purity"].shape == once["purity"].shape == (*clusterings, 0)
    first, second = (ContingencyAccumulator(batch_shape=clusterings) for _ in range(2))
    first.update(**chunk)
    second.update(**chunk)
    first.merge(second)
    assert first.tables().batch_shape == (*clusterings, 0)
    restored = ContingencyAccumulator(batch_shape=clusterings)
    restored.load_state_dict(first.state_dict())
    restored.update(torch.tensor([0, 1]), torch.tensor([0, 1]).expand(*clusterings, -1), by=torch.tensor([5, 5]))
    assert restored.tables().batch_shape == (*clusterings, 1)


@pytest.mark.parametrize("name", ["by", "mask", "weights"])
def test_what_belongs_to_chunks_is_told_so(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected in the chunks, as mappings"):
        tce.evaluate_stream([([0, 1], [0, 1])], "purity", **{name: [0, 0]})  # type: ignore[arg-type]
