"""After many restarts: distinct partitions, the best of them, files."""

import collections
import csv
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import torchclusteval as tce
from tests.support.restarts import restarts
from torchclusteval.scoring.partitions import same_partitions


def test_distinct_partitions() -> None:
    """By hand: which are the same is how they were made, and pairs of items say so too."""
    true, runs = restarts()
    assert same_partitions(runs) == [0, 1, 0, 3, 4, 1, 1, 7]
    joined = (runs[:, :, None] == runs[:, None, :]).flatten(1)
    assert [int((joined == row).all(1).nonzero()[0]) for row in joined] == same_partitions(runs)
    scores = tce.evaluate(true, runs, ["ami", "ari"])
    found: Any = scores.distinct(runs)
    assert found.clusterings == (0, 1, 3, 4, 7)
    assert found.count.tolist() == [2, 3, 1, 1, 1]
    assert found["ami"].tolist() == scores["ami"][[0, 1, 3, 4, 7]].tolist()
    assert found["ami"][1] == found["ami"][3]  # the same table, but another partition
    names = [f"run {i}" for i in range(8)]
    named = dict(zip(names, runs, strict=True))
    again = tce.evaluate(true, named, ["ami", "ari"]).distinct(named)
    assert again.clusterings == tuple(names[i] for i in (0, 1, 3, 4, 7))
    assert str(again).splitlines()[0] == "Scores of 5 clusterings"
    assert str(again).splitlines()[2].split() == ["run", "0", "2", *(f"{scores[x][0]:.4f}" for x in scores)]
    for labels, message in ((runs[:3], "expected the scored clusterings; got 3"), (runs[0], "several")):
        with pytest.raises(ValueError, match=message):
            scores.distinct(labels)
    with pytest.raises(ValueError, match="labels_pred: expected the clusterings in the order of 'run 0'; got 'run 7'"):
        tce.evaluate(true, named, ["ami"]).distinct(dict(reversed(named.items())))


def test_partitions_are_those_of_the_items_scored() -> None:
    runs = torch.tensor([[1, 1, 2, 2, -1, -1], [1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 3, 4]])
    noisy: dict[str, Any] = {"noise_label": -1, "noise": "singletons"}
    scores = tce.evaluate([0, 0, 1, 1, 2, 2], runs, ["ari"], **noisy)
    assert scores["ari"].tolist() == [scores["ari"][2].item(), 1.0, scores["ari"][2].item()]
    stream = tce.evaluate_stream([([0, 0, 1, 1, 2, 2], runs)], ["ari"], **noisy)
    for own in (scores, stream, scores.top(3)):
        assert sorted(own.distinct(runs[[*(own.clusterings or range(3))]]).to_pandas()["count"]) == [1, 2]
    with pytest.raises(ValueError, match="noise: expected 'singletons', as in the scores; got 'cluster'"):
        scores.distinct(runs, noise="cluster")
    with pytest.raises(TypeError, match=r"ignore_index: expected one of the options mask, weights, noise_label"):
        scores.distinct(runs, ignore_index=0)
    mask = torch.tensor([True] * 4 + [False] * 2)
    of_four = [tce.evaluate([0, 0, 1, 1, 2, 2], runs, ["ari"], **x) for x in ({"mask": mask}, {"ignore_index": 2})]
    of_four += [tce.evaluate_tables(tce.ContingencyTables.from_labels([0, 0, 1, 1, 2, 2], runs, mask=mask), ["ari"])]
    for scores in of_four:
        assert scores.distinct(runs, mask=mask).clusterings == (0,)
        for wrong in (runs, runs[:, :3]):
            with pytest.raises(ValueError, match=r"expected the 4 scored items; got [63] \(mask= without"):
                scores.distinct(wrong)
    images: dict[str, Any] = {"absent_pred": -1, "absent_true": 0}  # one side alone groups some
    assert tce.evaluate([0, 0, 1, 1, 2, 2], runs, ["idf1"], **images).distinct(runs).clusterings == (0, 1, 2)
    weighted = tce.evaluate([0, 0, 1, 1, 2, 2], runs, ["ari"], weights=[1, 2, 1, 2, 1, 2])
    assert weighted.distinct(runs, weights=[1, 2, 1, 2, 1, 2]).clusterings == (0, 2)


def test_distinct_of_many_takes_one_pass() -> None:
    """Counting each among all takes many seconds."""
    generator = torch.Generator().manual_seed(0)
    runs = torch.randint(0, 2, (40_000, 20), generator=generator)
    seconds = time.process_time()
    found: Any = tce.evaluate([0] * 10 + [1] * 10, runs, ["rand"]).distinct(runs)
    assert time.process_time() - seconds < 4
    keys = collections.Counter(tuple((row ^ row[0]).tolist()) for row in runs)  # two clusters: the first item has 0
    assert found.count.tolist() == list(keys.values())


def test_groups_of_clusterings_go_by_their_labels() -> None:
    true, runs = restarts()
    names = [f"run {i}" for i in range(8)]
    named, numbered = (tce.evaluate(true, x, ["ami"]) for x in (dict(zip(names, runs, strict=True)), runs))
    clusters = [len(row.unique()) for row in runs]
    expected: Any = numbered.top(1, within=clusters).clusterings
    known: list[Any] = [(names, named), (range(8), numbered)]
    for labels, scores in known:
        own = {labels[i]: clusters[i] for i in reversed(range(8))}
        for within in (own, pd.Series(own), pd.Series(clusters), iter(clusters), pd.Series(own).to_dict()):
            assert scores.top(1, within=within).clusterings == tuple(labels[i] for i in expected)
    assert numbered.top(1, within=["k10", "k9"] * 4).clusterings == numbered.top(1, within=[10, 9] * 4).clusterings
    wrong = [
        ({"run 1": 3}, "got none for 'run 0'"),
        (pd.Series(clusters, index=["run 0"] * 2 + names[2:]), "got several for 'run 0'"),
        (pd.DataFrame({"k": clusters}), "got a data frame"),
        (3, "in their order; got 3"),
        ("abcdefgh", "in their order; got 'abcdefgh'"),
        (set(range(8)), "in their order; got"),
        (torch.tensor(3), "in their order; got"),
        ([[3]] * 8, r"got \[3\]"),
        ([3.0] * 7 + [float("nan")], "got nan"),
        ([3] * 7 + [None], "got None"),
    ]
    for bad, message in wrong:
        with pytest.raises(ValueError, match=f"within: expected a group for each of 8 clusterings.*{message}"):
            named.top(1, within=bad)


def test_equal_partitions_rank_alike_whatever_their_rounding() -> None:
    true = [0, 0, 1, 2, 1, 2, 0, 0, 2, 2, 0, 0]
    runs = [[2, 1, 1, 0, 2, 1, 2, 2, 2, 0, 2, 0], [0, 2, 2, 1, 0, 2, 0, 0, 0, 1, 0, 1]]  # clusters in another order
    scores = tce.evaluate(true, [*runs, *runs[::-1]], ["ami"])
    assert scores.best() == 0
    assert scores.rank().tolist() == [1, 1, 1, 1]
    assert scores.top(4).clusterings == (0, 1, 2, 3)


def test_items_without_a_label_are_part_of_a_partition() -> None:
    runs: list[list[Any]] = [[0, 0, 1, None], [1, 1, 0, None], [0, 0, 1, 2], [0, 0, 1, 1]]
    assert same_partitions(runs) == [0, 0, 2, 3]
    images = torch.tensor([[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [0, 1]]])
    assert same_partitions(images, item_dims=2) == [0, 0, 2]


def test_the_best() -> None:
    true, runs = restarts()
    scores = tce.evaluate(true, runs, ["ari", "vi", "ami"])
    order = sorted(range(8), key=lambda i: -float(scores["ami"][i]))
    assert scores.top(3).clusterings == tuple(order[:3])
    assert scores.top(99).clusterings == tuple(order)
    assert scores.top(1, "vi").clusterings == (int(scores["vi"].argmin()),)
    assert (scores.best(), scores.rank().tolist()) == (scores.best("ami"), scores.rank("ami").tolist())
    assert tce.evaluate(true, runs, ["vi", "ari"]).best() == int(scores["vi"].argmin())  # the first with a direction
    clusters = torch.tensor([len(row.unique()) for row in runs])
    within = scores.top(1, within=clusters)
    best = [max((i for i in range(8) if clusters[i] == k), key=lambda i: float(scores["ami"][i])) for k in (3, 4)]
    assert within.clusterings == tuple(best)
    assert len(str(scores.top(7)).splitlines()) == 9
    many = tce.evaluate(true, runs.repeat(10, 1), ["ari"]).top(75)
    assert str(many).splitlines()[-1] == "15 more rows: to_csv(path) and to_pandas() have them"
    with pytest.raises(ValueError, match="within: expected a group for each of 8 clusterings; got 2"):
        scores.top(1, within=[1, 2])
    with pytest.raises(ValueError, match="n: expected"):
        scores.top(0)
    with pytest.raises(ValueError, match="expected a measure with a direction"):
        tce.evaluate(true, runs, ["joint_entropy"]).best()
    gone = tce.evaluate(true, torch.where(torch.arange(8)[:, None] == 1, -1, runs), ["ari"], noise_label=-1)
    assert (gone.top(8).clusterings or ())[-1] == 1  # nan comes last


def test_files(tmp_path: Path) -> None:
    true, runs = restarts()
    path = tmp_path / "scores.csv"
    scores = tce.evaluate(true, {f"a,{i}": x for i, x in enumerate(runs)}, ["ami", "vi"])
    scores.to_csv(path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["clustering"] for row in rows] == [f"a,{i}" for i in range(8)]
    assert [float(row["ami_arithmetic"]) for row in rows] == scores["ami"].tolist()
    scores.distinct({f"a,{i}": x for i, x in enumerate(runs)}).top(2).to_csv(path)
    assert [row["count"] for row in csv.DictReader(path.read_text().splitlines())] == ["1", "3"]
    by = torch.arange(60) // 30
    grouped = tce.evaluate(true, runs[:2], ["ami"], by=by)
    grouped.to_csv(path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(row["clustering"], row["group"]) for row in rows] == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    assert [float(row["ami_arithmetic"]) for row in rows] == grouped["ami"].flatten().tolist()
    tce.pairwise({"a": runs[0], "b": runs[1]}).to_csv(path)
    keys = [row.rpartition(",")[0] for row in path.read_text().splitlines()]
    assert keys == ["labels_true,labels_pred", "a,a", "a,b", "b,a", "b,b"]
    tce.evaluate(true, runs[0], ["ami"]).to_csv(path)
    assert path.read_text().splitlines()[0] == "ami_arithmetic"


def test_groups_have_no_best_clustering() -> None:
    scores = tce.evaluate([0, 1, 1, 0], [1, 1, 0, 0], ["ari"], by=["d1", "d1", "d2", "d2"])
    with pytest.raises(ValueError, match="top: expected scores of clusterings; got scores of groups"):
        scores.top(1)
