"""Real processes, each scenario once: ``all_reduce`` within an epoch, again, after merges and saved states."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

import torchclusteval as tce
from tests.support.processes import of_ranks
from tests.support.streams import KINDS, batch, cells_by_label, margins_by_label
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_ragged

ITEMS = 600
HALVES = (range(300), range(300, ITEMS))

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sizes": ("small", {"num_classes": 5, "num_clusters": 8}),
    "sizes, weights": ("small", {"num_classes": 5, "num_clusters": 8, "weights": True}),
    "soft": ("soft", {"num_classes": 5, "num_clusters": 8, "weights": True}),
    "sizes, out of range": ("small", {"num_classes": 3, "num_clusters": 8, "validate": False}),
    "any numbers": ("huge and negative", {}),
    "unsigned": ("uint64", {}),
    "words": ("text", {}),
    "weights": ("small", {"weights": True}),
    "noise": ("small", {"noise_label": 3, "noise": "cluster", "ignore_index": 0}),
    "single noise": ("text", {"noise_label": "group w", "noise": "singletons"}),
    "classes known": ("small", {"num_classes": 5}),
    "sizes, margins": (
        "small",
        {"num_classes": 5, "num_clusters": 8, "absent_true": -1, "absent_pred": 0, "ignore_index": 3},
    ),
    "margins": ("huge and negative", {"absent_true": -9_000_000_000_000_000_003, "noise_label": 5, "weights": True}),
    "groups": ("text", {"by": True}),
    "groups, unsigned": ("uint64", {"by": True, "weights": True}),
    "groups, sizes": ("small", {"by": True, "num_classes": 5, "num_clusters": 8, "num_groups": 4}),
    "groups, noise": ("small", {"by": True, "noise_label": 3, "noise": "cluster", "ignore_index": 0}),
    "words, margins": ("text", {"absent_true": "group z", "absent_pred": "group x", "ignore_index": "group y"}),
}


def empty_ranks(ranks: int) -> dict[str, int | None]:
    return {"none": None, "first": 0, "last": ranks - 1}


def new(case: str) -> ContingencyAccumulator:
    return ContingencyAccumulator(batch_shape=(3,), **{k: x for k, x in CASES[case][1].items() if k != "by"})


def add(case: str, accumulator: ContingencyAccumulator, items: range) -> ContingencyAccumulator:
    kind, options = CASES[case]
    true, pred = batch(ITEMS)
    for start in items[::60]:
        part = slice(start, min(start + 60, items.stop))
        weights = torch.arange(ITEMS)[part] % 5 * 0.25 + 1 if options.get("weights") else None
        if kind == "soft":
            p = [torch.nn.functional.one_hot(x[..., part], n).double() for x, n in ((true, 5), (pred, 8))]
            accumulator.update_soft(p[0].expand(3, -1, -1) * 0.5, p[1])
        else:
            by = KINDS[kind](torch.arange(ITEMS)[part] // 7 % 4) if options.get("by") else None
            accumulator.update(KINDS[kind](true[part]), KINDS[kind](pred[:, part]), weights=weights, by=by)
    return accumulator


def shares(ranks: int, empty: int | None) -> list[list[range]]:
    """The items of each half that each rank has; one rank has none."""
    some = [rank for rank in range(ranks) if rank != empty]
    found = [[range(0)] * 2 for _ in range(ranks)]
    for half, items in enumerate(HALVES):
        for place, rank in enumerate(some):
            # Unequal shares: the last rank has what is left.
            size = 60 + 60 * half
            first = items.start + place * size
            found[rank][half] = range(first, items.stop if rank == some[-1] else first + size)
    return found


def outcome(accumulator: ContingencyAccumulator) -> dict[str, Any]:
    tables = accumulator.tables()
    found = {"cells": cells_by_label(tables), "items": tables.n_items, "considered": accumulator.n_considered.clone()}
    found["margins"] = margins_by_label(tables)
    found["groups"] = None if tables.groups is None else tables.groups.tolist()
    return {name: x.tolist() if isinstance(x, Tensor) else x for name, x in found.items()}


def steps(case: str, own: list[range]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    accumulator = add(case, new(case), own[0])
    found["first half"] = outcome(accumulator.all_reduce())
    accumulator.all_reduce()
    found["first half, again"] = outcome(accumulator)
    add(case, accumulator, own[1])
    found["own second half"] = outcome(accumulator)

    loaded = new(case)
    loaded.load_state_dict(accumulator.state_dict())
    fresh, later = new(case), new(case)
    fresh.merge(accumulator)
    add(case, later, own[1]).merge(add(case, new(case), own[0]).all_reduce())
    for name, other in {"loaded": loaded, "merged": fresh, "merged into": later, "": accumulator}.items():
        for times in ("once", "twice"):
            found[f"both halves {name} {times}"] = outcome(other.all_reduce())
    found["next epoch"] = outcome(add(case, accumulator.reset(), own[1]).all_reduce())
    return found


def refused(rank: int) -> dict[str, Any]:
    """Another group, in which other ranks hold the same counts; and two levels of groups, which share one rank."""
    pairs, lone = [dist.new_group([0, 1])], [dist.new_group([r]) for r in range(dist.get_world_size())]
    found: dict[str, Any] = {}
    accumulator = add("words", new("words"), range(60 * rank, 60 * rank + 60)).all_reduce()
    if rank < 2 and dist.get_world_size() > 2:
        with pytest.raises(ValueError, match=r"group: expected the ranks of .*, \[0, 1, 2\]; got \[0, 1\]"):
            accumulator.all_reduce(pairs[0])
    found["whole"] = outcome(accumulator)
    nested = add("words", new("words"), range(60 * rank, 60 * rank + 60)).all_reduce(lone[rank])
    found["nested"] = outcome(nested.all_reduce())
    texts = add("words", new("words"), range(0)).all_reduce()
    with pytest.raises(ValueError, match="kind seen before"):
        accumulator.update(torch.tensor([1]), torch.tensor([[1]] * 3))
    found["kinds"] = outcome(accumulator.merge(texts))
    return found


def mismatches(rank: int) -> list[str]:
    """What every rank is told where the last rank differs."""
    last = rank == dist.get_world_size() - 1
    sizes: dict[str, Any] = {"num_classes": 7, "num_clusters": 9}
    swapped = {"num_classes": 9, "num_clusters": 7}
    noise = {"noise_label": -1, "noise": "cluster"}
    others: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (sizes, {**sizes, "weights": True}),
        (sizes, swapped),
        (sizes, {}),
        ({**sizes, "num_groups": 2}, sizes),
        (noise, {**noise, "noise": "singletons"}),
        ({"ignore_index": 0}, {"ignore_index": 1}),
        ({"batch_shape": (2,)}, {"batch_shape": (3,)}),
    ]
    accumulators = [ContingencyAccumulator(**options[last]) for options in others]
    names = ["a", "b"][:: -1 if last else 1]
    runs = {name: [0, 1] for name in names}
    accumulators += [ContingencyAccumulator(batch_shape=(2,)).update([0, 1], runs)]
    accumulators += [ContingencyAccumulator().update([0], [0], by=["a"] if last else None)]
    accumulators += [ContingencyAccumulator().update([0], ["x"] if last else [0])]
    summed = ContingencyAccumulator().update([0], [0]).all_reduce()
    accumulators += [summed.reset() if last else summed]
    found = []
    for accumulator in accumulators:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - each rank's message is compared
            accumulator.all_reduce()
        found.append(str(caught.value))
    return found


def streamed(rank: int) -> dict[str, Any]:
    """Streams whose first rank has no chunks."""
    chunk = ([rank, rank, 0], {"a": [0, 0, 0], "b": [rank, rank, 0]})
    scores = tce.evaluate_stream([chunk] * (rank > 0), "purity", group=dist.group.WORLD)
    with pytest.warns(UserWarning, match=r"chunks: only those of this process .*group=torch.distributed.group.WORLD"):
        own = tce.evaluate_stream([chunk], "purity")
    return {"runs": scores.clusterings, "sum": scores["purity"].tolist(), "own": own["purity"].tolist()}


def run(rank: int, ranks: int) -> dict[Any, Any]:
    every = itertools.product(CASES, empty_ranks(ranks).values())
    found: dict[Any, Any] = {(case, empty): steps(case, shares(ranks, empty)[rank]) for case, empty in every}
    found["refused"] = refused(rank)
    found["mismatches"], found["streamed"] = mismatches(rank), streamed(rank)
    rows = torch.arange(rank * 2, dtype=torch.float64).reshape(rank, 2)
    found["rows"] = [part.tolist() for part in all_gather_ragged(rows)]
    return found


@pytest.fixture(scope="module", params=[2, 3], ids=["2 ranks", "3 ranks"])
def ranks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Any]]:
    return of_ranks(run, request.param, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("empty", ["none", "first", "last"])
@pytest.mark.parametrize("case", CASES)
def test_nothing_counts_twice(ranks: list[dict[Any, Any]], case: str, empty: str) -> None:
    """The expected tables are those of one accumulator without a process group."""
    key = empty_ranks(len(ranks))[empty]
    alone: Callable[..., ContingencyAccumulator] = lambda *parts: _add_all(case, parts)  # noqa: E731
    for rank, found in enumerate(ranks):
        own = shares(len(ranks), key)[rank]
        seen = found[case, key]
        both = outcome(alone(*HALVES))
        expected = {
            "first half": outcome(alone(HALVES[0])),
            "first half, again": outcome(alone(HALVES[0])),
            "own second half": outcome(alone(HALVES[0], own[1])),
            "next epoch": outcome(alone(HALVES[1])),
        }
        for name, value in seen.items():
            assert value == expected.get(name, both), name


def _add_all(case: str, parts: tuple[range, ...]) -> ContingencyAccumulator:
    accumulator = new(case)
    for part in parts:
        add(case, accumulator, part)
    return accumulator


def test_other_groups(ranks: list[dict[Any, Any]]) -> None:
    expected = outcome(_add_all("words", (range(60 * len(ranks)),)))
    for found in ranks:
        assert found["refused"] == {"whole": expected, "nested": expected, "kinds": expected}


def test_a_saved_sum_loads_without_a_group(ranks: list[dict[Any, Any]]) -> None:
    """A file of one rank, read elsewhere, holds the sum and what came after it."""
    del ranks
    accumulator = _add_all("words", (HALVES[0],))
    state = new("words").state_dict()
    state["reduced"] = {"ranks": [0, 1], "state": accumulator._state.state_dict()}
    loaded = new("words")
    loaded.load_state_dict(state)
    add("words", loaded, HALVES[1])
    assert outcome(loaded.all_reduce()) == outcome(_add_all("words", HALVES))
    again = new("words")
    again.load_state_dict(loaded.state_dict())
    assert outcome(again) == outcome(loaded)


def test_all_ranks_refuse_what_differs(ranks: list[dict[Any, Any]]) -> None:
    others, last = ("rank 0", "rank 1") if len(ranks) == 2 else ("ranks 0, 1", "rank 2")
    differing = [
        ("weights", "False", "True"),
        ("num_classes", "7", "9"),
        ("num_classes", "7", "None"),
        ("num_groups", "2", "None"),
        ("noise", "'cluster'", "'singletons'"),
        ("ignore_index", "0", "1"),
        ("batch_shape", "(2,)", "(3,)"),
        ("names", "('a', 'b')", "('b', 'a')"),
        ("by", "False", "True"),
    ]
    expected = [
        f"{name}: expected one value on all ranks; got {a} on {others}, {b} on {last} (make all accumulators alike)"
        for name, a, b in differing
    ]
    expected += ["labels_pred: expected labels of the kind seen before (whole numbers); got strings"]
    expected += [f"group: expected sums so far on all ranks or on none; got none on {last} (reset all)"]
    for found in ranks:
        assert found["mismatches"] == expected


def test_streams_of_all_ranks(ranks: list[dict[Any, Any]]) -> None:
    """Three items of classes 1, 1, 0 on rank 1, of 2, 2, 0 on rank 2, and none on rank 0."""
    purity = 2 / (3 * (len(ranks) - 1))
    for rank, found in enumerate(ranks):
        own = 2 / 3 if rank else 1.0
        assert found["streamed"] == {"runs": ("a", "b"), "sum": [purity, 1.0], "own": [own, 1.0]}


def test_rows_of_unequal_ranks(ranks: list[dict[Any, Any]]) -> None:
    for found in ranks:
        assert found["rows"] == [[], [[0.0, 1.0]], [[0.0, 1.0], [2.0, 3.0]]][: len(ranks)]
