"""Matchings against all matchings of small tables, and scores under a matching against hand-worked fractions."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from tests.support.matchings import best_matchings

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "matching.json").read_text())
T = tce.ContingencyTables


def weights_of(counts: list[list[int]], on: str) -> list[list[Fraction]]:
    r = [sum(row) for row in counts]
    c = [sum(column) for column in zip(*counts, strict=True)]

    def weight(i: int, j: int) -> Fraction:
        n = counts[i][j]
        over = {"overlap": 1, "jaccard": r[i] + c[j] - n, "f": r[i] + c[j], "recall": r[i], "precision": c[j]}[on]
        return Fraction((2 if on == "f" else 1) * n, over) if n else Fraction(0)

    return [[weight(i, j) for j in range(len(c))] for i in range(len(r))]


def random_counts(shape: tuple[int, int], count: int, high: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(high * 10 + shape[0]).integers(0, high, (count, *shape)))


@pytest.mark.parametrize("on", ["overlap", "jaccard", "f", "recall", "precision"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_best_matching_is_one_of_enumeration(layout: str, on: str) -> None:
    for shape in [(1, 1), (1, 3), (3, 1), (2, 4), (4, 2), (4, 4), (4, 5)]:
        counts = torch.cat([random_counts(shape, 4, high) for high in (2, 4, 30)])
        found = tce.match(T(counts) if layout == "dense" else T(counts).to_sparse(), on)
        for k, table in enumerate(counts.tolist()):
            total, best = best_matchings(weights_of(table, on))
            columns = found.cluster_of_class[k].tolist()
            assert columns in best, (table, on)
            assert found.unique[k].item() == (len(best) == 1), (table, on)
            assert found.total[k].item() == pytest.approx(float(total), rel=1e-14)
            inverse = [columns.index(j) if j in columns else -1 for j in range(shape[1])]
            assert found.class_of_cluster[k].tolist() == inverse


def matching_of(columns: list[int]) -> tce.Matching:
    pairs = np.zeros((len(columns), len(columns)))
    pairs[range(len(columns)), columns] = 1
    return tce.match(T(pairs))


@pytest.mark.parametrize("case", GOLDEN["scores"], ids=lambda case: case["name"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_worked_scores(case: dict[str, Any], layout: str) -> None:
    tables = T(case["counts"])
    tables = tables if layout == "dense" else tables.to_sparse()
    found, other = tce.match(tables), case.get("other_matching", {})
    both = [case["cluster_of_class"], *([other["cluster_of_class"]] if other else [])]
    assert found.cluster_of_class.tolist() in both
    assert found.unique.item() is case["unique"]
    classes = {name: x["classes"] for name, x in case["subsets"].items()}
    expected = {"all": case["accuracy"], **{name: x["value"] for name, x in case["subsets"].items()}}
    for columns, values in zip(both, (expected, other), strict=False):  # as good, and divide the accuracy in two ways
        subsets = tce.subset_accuracy(tables, classes, matching_of(columns))
        for name in ("all", *classes):
            assert subsets[name].item() == pytest.approx(float(Fraction(values[name])), abs=1e-15)
    scores = tce.matched_scores(tables, matching_of(both[0]))
    for name in {"accuracy", "mean_class_accuracy", "macro_f", "mean_iou"} & set(case):
        assert scores[name].item() == pytest.approx(float(Fraction(case[name])), abs=1e-15)
    if alone := case.get("matched_alone"):  # each set with a matching of its own: never less
        subsets = tce.subset_accuracy(tables, classes)
        rows = {name: [case["counts"][i] for i in x] for name, x in classes.items()}
        own = {name: tce.measures.one_to_one_accuracy(T(x)).item() for name, x in rows.items()}
        own["all"] = float(np.average(list(own.values()), weights=[sum(map(sum, x)) for x in rows.values()]))
        for name, value in own.items():
            assert value == pytest.approx(float(Fraction(alone[name])), abs=1e-15)
            assert value >= subsets[name].item()


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_laws(layout: str) -> None:
    """Relabelling and transposition keep the total, and the matching where it is the only one; greedy is no better."""
    counts = random_counts((5, 6), 40, 12)
    rows, columns = torch.randperm(5), torch.randperm(6)
    for on in ("overlap", "jaccard"):
        plain, moved, turned = (
            tce.match(x if layout == "dense" else x.to_sparse(), on)
            for x in (T(counts), T(counts[:, rows][:, :, columns]), T(counts.mT))
        )
        torch.testing.assert_close(moved.total, plain.total, rtol=1e-13, atol=0)
        torch.testing.assert_close(turned.total, plain.total, rtol=1e-13, atol=0)
        assert moved.unique.tolist() == plain.unique.tolist() == turned.unique.tolist()
        for k in plain.unique.nonzero().flatten().tolist():
            assert turned.class_of_cluster[k].tolist() == plain.cluster_of_class[k].tolist()
            back = torch.where(moved.cluster_of_class[k] < 0, -1, columns[moved.cluster_of_class[k]])
            assert back.tolist() == plain.cluster_of_class[k][rows].tolist()
        greedy = tce.match(T(counts), on, "greedy")
        assert (greedy.total <= plain.total + 1e-12).all()


def test_a_long_chain() -> None:
    """Every item but two shares a group with its neighbours; by hand: each class takes one of its two clusters."""
    n = 4000
    tables = T.from_labels(np.arange(n) // 2, (np.arange(n) + 1) // 2, layout="sparse")
    found = tce.match(tables)
    assert found.total.item() == n // 2
    assert not found.unique.item()


def test_greedy_and_majority() -> None:
    """By hand."""
    tables = T([[5, 4, 0], [4, 0, 1]])
    for x in (tables, tables.to_sparse()):
        greedy, best, majority = tce.match(x, how="greedy"), tce.match(x), tce.match(x, how="majority")
        assert (greedy.cluster_of_class.tolist(), greedy.total.item(), greedy.unique.item()) == ([0, 2], 6, True)
        assert (best.cluster_of_class.tolist(), best.total.item(), best.unique.item()) == ([1, 0], 8, True)
        assert majority.class_of_cluster.tolist() == [0, 0, 1]
        assert majority.cluster_of_class.tolist() == [0, 2]  # the largest of a class's clusters
        assert (majority.total.item(), majority.unique.item()) == (10, True)
        assert majority.tables.to_dense().counts.tolist() == [[9, 0], [4, 1]]
        scores = tce.matched_scores(x, majority)
        assert scores["accuracy"].item() == pytest.approx(10 / 14)
        assert scores["iou"].tolist() == pytest.approx([9 / 13, 1 / 5])
    tied = tce.match(T([[2, 2], [2, 0]]), how="greedy")
    assert (tied.cluster_of_class.tolist(), tied.unique.item()) == ([0, -1], False)
    assert tce.match(T([[2, 1], [2, 0]]), how="majority").class_of_cluster.tolist() == [0, 0]
    assert not tce.match(T([[2, 1], [2, 0]]), how="majority").unique.item()


def test_weak_pairs_are_not_matched() -> None:
    tables = T([[8, 1], [3, 2]])  # Jaccard 8/12, 1/11; 3/13, 2/6
    assert tce.match(tables, "jaccard", at_least=0.5).cluster_of_class.tolist() == [0, -1]
    assert tce.match(tables, "jaccard", at_least=2 / 6).cluster_of_class.tolist() == [0, 1]
    assert tce.match(tables, "jaccard", "majority", at_least=0.5).class_of_cluster.tolist() == [0, -1]


def test_groups_in_excess_and_tables_without_items() -> None:
    wide, tall = tce.match(T([[1, 3, 2]])), tce.match(T([[1], [3], [2]]))
    assert (wide.cluster_of_class.tolist(), wide.class_of_cluster.tolist()) == ([1], [-1, 0, -1])
    assert (tall.cluster_of_class.tolist(), tall.class_of_cluster.tolist()) == ([-1, 0, -1], [1])
    zeros = T(torch.zeros(2, 3, 4))
    for tables in (zeros, zeros.to_sparse(), T(torch.zeros(0, 2, 2)), T.from_labels([], [])):
        found = tce.match(tables)
        assert (found.cluster_of_class == -1).all()
        assert (found.total == 0).all()
        assert found.unique.all()
        assert all(x.isnan().all() for x in tce.matched_scores(tables, found).values())
    absent = T([[3, 0], [0, 0]])
    scores = tce.matched_scores(absent, tce.match(absent))
    assert scores["recall"].isnan().tolist() == [False, True]
    assert scores["mean_iou"].item() == 1.0
    alone = T([[3], [1]])
    assert tce.matched_scores(alone, tce.match(alone))["f"].tolist() == [pytest.approx(6 / 7), 0.0]


def test_tables_in_matched_order() -> None:
    tables = T.from_labels(["b", "b", "a", "c", "c"], [7, 7, 9, 8, 7])
    for x in (tables, tables.to_sparse()):
        ordered = tce.match(x).tables
        assert ordered.to_dense().counts.tolist() == [[1, 0, 0], [0, 2, 0], [0, 1, 1]]
        assert list(ordered.classes) == ["a", "b", "c"]
        assert ordered.clusters.tolist() == [9, 7, 8]
    wide = tce.match(T([[0, 0, 2], [0, 0, 0], [0, 1, 1]])).tables
    assert wide.counts.tolist() == [[2, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_relabel() -> None:
    tables = T.from_labels([5, 5, 7, 7, 7], [1, 1, 0, 0, 5])
    found = tce.match(tables)
    labels = [1, 1, 0, 0, 5]
    assert found.relabel(labels).tolist() == tce.relabel(labels, found).tolist() == [5, 5, 7, 7, 8]
    assert found.relabel(labels, fill=-1).tolist() == [5, 5, 7, 7, -1]
    with pytest.raises(ValueError, match="unmatched"):
        found.relabel(labels, "keep")  # the cluster 5 has the label of a class
    with pytest.raises(ValueError, match="position 1"):
        found.relabel([1, 44])
    assert found.relabel([1, 44], fill=-1).tolist() == [5, -1]
    assert found.relabel([None, None], fill=-1).tolist() == [-1, -1]
    with pytest.raises(ValueError, match="expected numbers, as the labels of the tables' clusters are; got strings"):
        found.relabel(["1", "44"], fill=-1)
    for gaps in ([1, None], [1.0, math.nan], pd.Series([1, None], dtype="Int64")):
        assert found.relabel(gaps, fill=-1).tolist() == [5, -1]
        with pytest.raises(ValueError, match=r"at position 1 \(drop these items, or give them one by fill="):
            found.relabel(gaps)
    with pytest.raises(ValueError, match="fill"):
        found.relabel(labels, fill="rest")
    with pytest.raises(ValueError, match="fill"):
        found.relabel(labels, fill=2**70)
    other = tce.match(T.from_labels([5, 5, 7], [1, 1, 9]))
    assert other.relabel([9, 1], "keep").tolist() == [7, 5]
    words = tce.match(T.from_labels(["b", "b", "a"], [3, 3, 4]))
    assert words.relabel([4, 3]).tolist() == ["a", "b"]
    more = tce.match(T.from_labels(["b", "b", "new 1"], ["x", "y", "z"]))
    assert more.relabel(["x", "y", "z"]).tolist() == ["b", "new 2", "new 1"]
    assert more.relabel(["x", "y", "z"], "keep").tolist() == ["b", "y", "new 1"]
    numbers = tce.match(T([[0, 3], [2, 0]]))
    assert numbers.relabel([0, 1, 1]).tolist() == [1, 0, 0]


def test_relabel_a_batch_with_labels_of_its_own() -> None:
    pred = [[10**9, 10**9, 5, 5], [3, 77, 77, 3]]
    found = tce.match(T.from_labels([1, 1, 2, 2], pred))
    assert found.relabel(pred).tolist() == [[1, 1, 2, 2], [1, 2, 2, 1]] or found.unique.tolist() == [True, False]
    names = [["a", "a", "b", "b"], ["q", "q", "q", "r"]]
    assert tce.match(T.from_labels([1, 1, 2, 2], names)).relabel(names).tolist() == [[1, 1, 2, 2], [1, 1, 1, 2]]
    for labels in (pred, names, [[0, 0, 1, 1], [0, 1, 1, 0]]):  # labels of each table, of text, of all tables
        with pytest.raises(ValueError, match=r"labels_pred: expected clusterings of batch shape \(2,\); got \(3,\)"):
            tce.match(T.from_labels([1, 1, 2, 2], labels)).relabel([*labels, labels[0]])


def test_sets_of_classes() -> None:
    tables = T.from_labels(["a", "a", "b", "c"], [0, 0, 1, 1])
    found = tce.subset_accuracy(tables, {"old": ["a"], "new": ["b", "c", "absent"], "none": [], "unknown": ["z"]})
    assert {k: v.item() for k, v in found.items() if k in ("all", "old", "new")} == {"all": 0.75, "old": 1, "new": 0.5}
    assert found["none"].isnan()
    assert found["unknown"].isnan()
    booleans = T.from_labels([True, True, False], [0, 0, 1])
    assert tce.subset_accuracy(booleans, {"old": [True]})["old"].item() == 1


@pytest.mark.parametrize(
    ("classes", "groups", "message"),
    [
        ("aabc", {"old": ["a"], "new": ["a", "b"]}, "^groups: expected sets without a class in common; got 'a'"),
        ("aabc", {"all": ["a"]}, "^groups: expected names other than 'all'"),
        ("aabc", {"old": "a"}, r"^groups\['old'\]: expected a list of classes; got 'a'"),
        ("aabc", {"new": [1]}, r"^groups\['new'\]: expected labels of classes, which are strings; got 1"),
        ([0, 0, 1, 2], {"old": ["0", 1]}, r"^groups\['old'\]: expected labels of classes, which are numbers; got '0'"),
        ([0, 0, 1, 2], {"old": np.array([True, False])}, r"^groups\['old'\]: expected labels of classes; got booleans"),
    ],
)
def test_sets_that_are_refused(classes: Any, groups: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tce.subset_accuracy(T.from_labels(list(classes), [0, 0, 1, 1]), groups)


def test_tables_that_memory_has_no_room_to_match(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 80000000000 bytes.")

    monkeypatch.setattr("torchclusteval.measures.assignment.match_dense", fails)
    with pytest.raises(ValueError, match=r"tables: .*memory.* 1 tables of 1 x 2 "):
        tce.match(T([[1, 2]]))


def test_best_jaccard_by_class_and_cluster() -> None:
    """By hand: 8/12 and 1/11; 3/13 and 2/6."""
    for tables in (T([[8, 1], [3, 2]]), T([[8, 1], [3, 2]]).to_sparse()):
        assert tce.per_class(tables)["best_jaccard"].tolist() == pytest.approx([8 / 12, 2 / 6])
        assert tce.per_cluster(tables)["best_jaccard"].tolist() == pytest.approx([8 / 12, 2 / 6])
        assert tce.per_class(tables)["best_match"].tolist() == [0, 1]
    assert torch.as_tensor(tce.per_class(T([[2, 0], [0, 0]]))["best_jaccard"]).isnan().tolist() == [False, True]


def test_relabelling_a_frame() -> None:
    frame = pd.DataFrame({"a": [1, 1, 0, 0], "b": [5, 6, 6, 5]}, index=["w", "x", "y", "z"])
    tables = tce.ContingencyTables.from_labels(["p", "p", "q", "q"], frame)
    renamed = tce.relabel(frame, tce.match(tables))
    assert renamed.index.tolist() == frame.index.tolist()
    assert renamed["a"].tolist() == ["p", "p", "q", "q"]
    assert renamed["b"].tolist() == ["p", "q", "q", "p"]


def test_a_matching_of_other_labels_is_refused() -> None:
    train = tce.ContingencyTables.from_labels([0, 0, 1, 1, 2, 2], [10, 10, 11, 11, 12, 12])
    test = tce.ContingencyTables.from_labels([1, 1, 2, 2, 3, 3], [11, 11, 12, 12, 13, 13])
    with pytest.raises(ValueError, match=r"^tables: expected the classes of the matched tables, in their order"):
        tce.matched_scores(test, tce.match(train))
    renamed = tce.ContingencyTables.from_labels([0, 0, 1, 1, 2, 2], ["a", "a", "b", "b", "c", "c"])
    with pytest.raises(ValueError, match=r"^tables: expected the clusters of the matched tables"):
        tce.subset_accuracy(renamed, {"first": [0]}, tce.match(train))
    without = tce.ContingencyTables(train.to_dense().counts)
    assert tce.matched_scores(without, tce.match(train))["accuracy"] == 1
    again = tce.ContingencyTables.from_labels([0, 1, 2, 2], [10, 11, 12, 11])
    assert tce.matched_scores(again, tce.match(train))["accuracy"] == 0.75


@pytest.mark.parametrize("how", ["one_to_one", "greedy", "majority"])
@pytest.mark.parametrize("count", [2**24, 10**8, 2**40, 2**52])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_one_more_item_decides(how: str, count: int, layout: str) -> None:
    """float32 does not tell the counts apart."""
    tables = T([[[count], [count + 1]], [[count + 1], [count]], [[count], [count]]])
    found = tce.match(tables.to_sparse() if layout == "sparse" else tables, how=how)
    assert found.class_of_cluster[:2].tolist() == [[1], [0]]
    assert found.unique.tolist() == [True, True, False]
    assert found.total.tolist() == [count + 1, count + 1, count]
