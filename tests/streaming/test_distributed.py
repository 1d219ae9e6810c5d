"""Three real processes with unequal and empty shards: every one ends with the tables of all labels.

The processes run every scenario once and leave what they found in files; the tests below read those.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import torchclusteval as tce
from tests.support.streams import KINDS, batch, cells_by_label, margins_by_label
from torchclusteval import ContingencyTables
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_ragged

RANKS = 3
ITEMS = 600
SHARDS = {
    "unequal": (slice(0, 70), slice(70, 550), slice(550, 600)),
    "one empty": (slice(0, 430), slice(430, 600), None),
}

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "fixed": ("small", {"num_classes": 5, "num_clusters": 8}),
    "fixed, out of range": ("small", {"num_classes": 3, "num_clusters": 8, "validate": False}),
    "fixed, masses": ("small", {"num_classes": 5, "num_clusters": 8, "weights": True}),
    "unknown ids": ("small", {}),
    "huge ids": ("huge and negative", {}),
    "unsigned ids": ("uint64", {}),
    "words": ("text", {}),
    "masses": ("small", {"weights": True}),
    "noise": ("small", {"noise_label": 3, "noise": "cluster", "ignore_index": 0}),
    "single noise": ("small", {"noise_label": 3, "noise": "singletons"}),
    "fixed, margins": ("small", {"num_classes": 5, "num_clusters": 8, "absent_true": -1, "absent_pred": 0}),
    "margins": ("huge and negative", {"absent_true": -9_000_000_000_000_000_003, "noise_label": 5, "weights": True}),
    "words, margins": ("text", {"absent_true": "group z", "absent_pred": "group x"}),
}


def accumulate(case: str, shard: slice | None) -> ContingencyAccumulator:
    """What one rank has seen, in chunks of 60 items."""
    kind, options = CASES[case]
    true, pred = batch(ITEMS)
    accumulator = ContingencyAccumulator(batch_shape=(3,), **options)
    whole = range(*(shard or slice(0)).indices(ITEMS))
    for start in whole[::60]:
        part = slice(start, min(start + 60, whole.stop))
        weights = torch.arange(ITEMS)[part] % 5 * 0.25 + 1 if options.get("weights") else None
        accumulator.update(KINDS[kind](true[part]), KINDS[kind](pred[:, part]), weights=weights)
    return accumulator


def outcome(tables: ContingencyTables) -> dict[str, Any]:
    measured = {name: tce.MEASURES[name](tables) for name in ("adjusted_rand", "v_measure", "purity", "bcubed_f")}
    margins = margins_by_label(tables)
    return {"cells": cells_by_label(tables), "margins": margins, "coverage": tables.coverage, **measured}


def metric_scores(rank: int, sized: bool) -> dict[str, Any]:
    """What torchmetrics logs: synchronised values, twice, and the local state in between."""
    from torchclusteval.torchmetrics import AdjustedRandScore, ClusteringMetric

    sizes: dict[str, Any] = {"num_classes": 5, "num_clusters": 8} if sized else {}
    true, pred = batch(ITEMS)
    found: dict[str, Any] = {}
    metric, single = ClusteringMetric("all", **sizes), AdjustedRandScore(**sizes)
    for name, shards in SHARDS.items():
        shard = shards[rank]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torchmetrics warns where a rank has had no update
            if shard is not None:
                metric.update(pred[0, shard], true[shard])
                single(pred[0, shard], true[shard])  # forward, on this rank's shard alone
            found[name] = {"all": metric.compute(), "single": single.compute()}
        found[name]["local"] = int(metric.tables().n_items)
        metric.reset()
        single.reset()
    return found


def run(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    found: dict[Any, Any] = {}
    for case in CASES:
        for name, shards in SHARDS.items():
            found[case, name] = outcome(accumulate(case, shards[rank]).all_reduce().tables())
    found["nothing"] = [accumulate(case, None).all_reduce().tables().n_items for case in ("fixed", "words")]

    pair = dist.new_group([0, 1])
    if rank < 2:
        for case in ("fixed", "words"):
            reduced = accumulate(case, SHARDS["unequal"][rank]).all_reduce(pair)
            found["pair", case] = outcome(reduced.tables())
    lone = accumulate("words", SHARDS["unequal"][rank]).all_reduce()
    lone.reset().update(*(KINDS["text"](x) for x in (torch.tensor([1, 2]), torch.tensor([[0, 0]] * 3))))
    found["next epoch"] = outcome(lone.all_reduce().tables())

    rows = torch.arange(rank * 2, dtype=torch.float64).reshape(rank, 2)
    found["rows"] = [part.tolist() for part in all_gather_ragged(rows)]
    found["metrics"] = {sized: metric_scores(rank, sized) for sized in (True, False)}
    torch.save(found, Path(folder) / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    mp.spawn(run, args=(str(folder),), nprocs=RANKS)  # type: ignore[attr-defined]
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(RANKS)]


def assert_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        same = torch.equal(found[name], value) if isinstance(value, torch.Tensor) else found[name] == value
        assert same, name


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("case", CASES)
def test_every_rank_holds_the_whole_table(ranks: list[dict[Any, Any]], case: str, shards: str) -> None:
    """Weights are quarters, so that float sums are exact in every order, and equality is to the bit."""
    alone = outcome(accumulate(case, slice(0, ITEMS)).tables())
    for found in ranks:
        assert_equal(found[case, shards], alone)


def test_the_single_process_is_right() -> None:
    """The tables that the ranks are held against are those of ``from_labels``."""
    kind, options = CASES["words"]
    true, pred = (KINDS[kind](x) for x in batch(ITEMS))
    expected = outcome(ContingencyTables.from_labels(true, pred, **options))
    assert_equal(outcome(accumulate("words", slice(0, ITEMS)).tables()), expected)


def test_ranks_that_have_all_seen_nothing(ranks: list[dict[Any, Any]]) -> None:
    for found in ranks:
        assert [x.tolist() for x in found["nothing"]] == [[0, 0, 0]] * 2


@pytest.mark.parametrize("case", ["fixed", "words"])
def test_a_group_of_some_ranks(ranks: list[dict[Any, Any]], case: str) -> None:
    for found in ranks[:2]:
        assert_equal(found["pair", case], outcome(accumulate(case, slice(0, 550)).tables()))


def test_the_next_epoch_begins_empty(ranks: list[dict[Any, Any]]) -> None:
    """Words get their numbers anew after a reset."""
    for found in ranks:
        assert found["next epoch"]["cells"] == {(b, f"group {w}", "group z"): 3 for b in range(3) for w in "yx"}


def test_rows_of_unequal_ranks(ranks: list[dict[Any, Any]]) -> None:
    for found in ranks:
        assert found["rows"] == [[], [[0.0, 1.0]], [[0.0, 1.0], [2.0, 3.0]]]


@pytest.mark.parametrize("sized", [True, False], ids=["sizes", "no sizes"])
@pytest.mark.parametrize("shards", SHARDS)
def test_metrics_synchronise(ranks: list[dict[Any, Any]], shards: str, sized: bool) -> None:
    true, pred = batch(ITEMS)
    sizes: dict[str, Any] = {"num_classes": 5, "num_clusters": 8} if sized else {}
    expected = tce.evaluate(true, pred[0], "all", **sizes)
    for rank, found in enumerate(ranks):
        scores = found["metrics"][sized][shards]
        assert scores["all"].keys() == set(expected)
        for name, value in scores["all"].items():
            assert torch.equal(value, expected[name]), name
        assert torch.equal(scores["single"], expected["adjusted_rand"])
        shard = SHARDS[shards][rank]
        assert scores["local"] == (0 if shard is None else shard.stop - shard.start)


def test_without_a_group_nothing_happens() -> None:
    for case in ("fixed", "words"):
        accumulator = accumulate(case, slice(0, ITEMS))
        assert_equal(outcome(accumulator.all_reduce().tables()), outcome(accumulate(case, slice(0, ITEMS)).tables()))
