"""Tables by group: labels, not numbers of columns, however they are read; groups that a table lacks."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables, GroupScores

U = 2**64 - 1

# labels_true, labels_pred, the best cluster of each class, in the order of the classes
CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "gaps": ([30, 30, 10, 10, 20], [7, 7, 100, 100, 7], [100, 7, 7]),
    "negative": ([1, 1, 0, 0], [-1, -1, 5, 5], [5, -1]),
    "numbers as text": (list("aabb"), ["2", "2", "10", "10"], ["2", "10"]),
    "booleans": ([4, 4, 9, 9], [True, True, False, False], [True, False]),
    "unsigned": ([1, 1, 2, 2], np.array([U, U, 3, 3], np.uint64), [U, 3]),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_all_ways_to_read_a_match_give_its_label(kind: str, layout: str) -> None:
    true, pred, expected = CASES[kind]
    tables = ContingencyTables.from_labels(true, pred, layout=layout)
    for groups in (tce.per_class(tables), tce.per_cluster(tables.mT)):
        assert groups["best_match"].tolist() == expected
        assert groups.to_dict()["best_match"] == expected
        frame = groups.to_pandas()
        assert frame["best_match"].tolist() == expected
        assert frame.index.tolist() == sorted(set(true))
        assert [line.split()[-1] for line in str(groups).splitlines()[1:]] == list(map(str, expected))
        assert frame["size"].dtype == np.int64
        assert groups["size"].dtype == torch.int64
        assert groups.to_dict()["size"] == [list(true).count(x) for x in sorted(set(true))]
        assert [listed(groups.match_labels)[i] for i in groups.match_positions.tolist()] == expected


def printed(groups: GroupScores) -> list[str]:
    return [line.split()[0] for line in str(groups).splitlines()[1:]]


@pytest.mark.parametrize("text", [False, True])
def test_a_group_of_other_tables_has_no_row(text: bool) -> None:
    """The first clustering has the clusters 3 and 4, the second one -1 and 7."""
    runs = [[3, 3, 4, 4], [-1, 7, 7, 7]]
    tables = ContingencyTables.from_labels([0, 0, 1, 1], [list(map(str, run)) for run in runs] if text else runs)
    for number, expected in enumerate(([3, 4], [-1, 7])):
        groups = tce.per_cluster(tables[number])
        labels = list(map(str, expected)) if text else expected
        assert printed(groups) == list(map(str, expected))
        assert groups.to_pandas().index.tolist() == labels
        assert groups.to_pandas()["best_match"].tolist() == [0, 1]
        assert groups.to_pandas().notna().all(axis=None)
        assert groups.to_dict()["best_match"].count(None) == 2
        assert sorted(groups.to_dict()["size"]) == ([0, 0, 2, 2] if number == 0 else [0, 0, 1, 3])
    batch = tce.per_class(tables)
    matches = [["3", "4"], ["-1", "7"]] if text else [[3, 4], [-1, 7]]
    assert batch["best_match"].tolist() == matches
    assert batch.to_dict()["best_match"] == matches
    by_cluster = tce.per_cluster(tables)
    empty = by_cluster["size"] == 0
    assert (torch.as_tensor(by_cluster["best_match"])[empty] == -1).all()
    assert (by_cluster.match_positions[empty] == -1).all()


def test_empty_groups_of_text_have_none() -> None:
    tables = ContingencyTables.from_labels([["a", "a"], ["b", "b"]], ["x", "y"])
    groups = tce.per_class(tables)
    assert groups["best_match"].tolist() == [["x", None], [None, "x"]]
    assert groups["size"].tolist() == [[2, 0], [0, 2]]


def test_columns_of_different_kinds_and_masses() -> None:
    runs = {"numbers": [1, 1, 2, 2], "text": list("abab")}
    groups = tce.per_class(ContingencyTables.from_labels(list("ppqq"), runs))
    assert groups["best_match"].tolist() == groups.to_dict()["best_match"] == [[1, 2], ["a", "a"]]
    masses = tce.per_class(ContingencyTables([[1.5, 0.0], [0.5, 2.0]])).to_pandas()
    assert masses["size"].tolist() == [1.5, 2.5]
    assert masses["best_match"].tolist() == [0, 1]
    unknown = tce.per_class(ContingencyTables([[1.0, torch.nan], [2.0, 0.0]], validate=False))
    assert unknown["best_match"].tolist() == [-1, -1]
    assert np.isnan(unknown.to_dict()["purity"][0])
    assert printed(unknown) == ["0", "1"]
    none = tce.per_class(ContingencyTables.from_labels([], []))
    assert len(none.to_pandas()) == 0
    assert printed(none) == []


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "matching.json").read_text())["adjusted_rand_by_class"]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_worked_adjusted_rand_by_class(layout: str) -> None:
    tables = ContingencyTables(GOLDEN["counts"])
    found = tce.adjusted_rand_by_class(tables if layout == "dense" else tables.to_sparse())
    for row, expected in zip(found.tolist(), GOLDEN["values"], strict=True):
        assert row == pytest.approx([float(Fraction(x)) for x in expected], abs=1e-15)
    assert tce.measures.adjusted_rand(tables).item() == pytest.approx(float(Fraction(GOLDEN["adjusted_rand"])))


def test_adjusted_rand_by_class_adds_up() -> None:
    """Numerators by denominators, each times its pairs, summed over classes and pairs of classes."""
    tables = ContingencyTables(np.random.default_rng(2).integers(0, 9, (20, 4, 5)))
    r, c, n = tables._class_sizes_f64, tables._cluster_sizes_f64, tables._n_items_f64
    p = (c * (c - 1)).sum(-1, keepdim=True) / (n * (n - 1))[:, None]
    pairs = torch.diag_embed(r * (r - 1) * (1 - p)) + (r[:, :, None] * r[:, None] * p[:, None]).triu(1) * 2
    total = (tce.adjusted_rand_by_class(tables) * pairs).sum((1, 2)) / pairs.sum((1, 2))
    torch.testing.assert_close(total, tce.measures.adjusted_rand(tables), rtol=1e-12, atol=1e-13)


def test_adjusted_rand_by_class_without_pairs() -> None:
    def values(counts: Any) -> list[list[float]]:
        found: list[list[float]] = tce.adjusted_rand_by_class(ContingencyTables(counts)).tolist()
        return found

    nan = float("nan")
    assert values([[3], [2]]) == [pytest.approx([nan, 0], nan_ok=True), pytest.approx([0, nan], nan_ok=True)]
    assert values([[1, 0], [0, 1]]) == [pytest.approx([nan, nan], nan_ok=True)] * 2
    alone = values([[2, 1], [0, 1], [0, 0]])
    assert alone[1] == pytest.approx([1 - 1 / (3 * 1 * 2 / 6), nan, nan], nan_ok=True)
    assert alone[2] == pytest.approx([nan] * 3, nan_ok=True)


TRUE = list("aabbab")
RUNS: dict[Any, list[int]] = {"x": [3, 3, 4, 4, 3, 3], ("y", 1): [-1, 7, 7, 7, 7, 7]}
GROUPS = list("ppppqq")


def rows(frame: Any) -> dict[Any, list[Any]]:
    return {key: row.tolist() for key, (_, row) in zip(frame.index, frame.iterrows(), strict=True)}


def test_rows_of_a_batch_name_the_clustering() -> None:
    tables = ContingencyTables.from_labels(TRUE, RUNS)
    frame = tce.per_cluster(tables).to_pandas()
    assert frame.index.names == ["clustering", "label"]
    found = rows(frame[["size", "best_match"]])
    assert found == {("x", 3): [4, "a"], ("x", 4): [2, "b"], (("y", 1), -1): [1, "a"], (("y", 1), 7): [5, "b"]}
    each = [tce.per_cluster(tables[i]).to_pandas() for i in range(2)]
    assert frame.to_numpy().tolist() == [row for one in each for row in one.to_numpy().tolist()]
    plain = tce.per_class(ContingencyTables.from_labels(TRUE, list(RUNS.values()))).to_pandas()
    assert plain.index.tolist() == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


def test_rows_of_groups_of_items() -> None:
    tables = ContingencyTables.from_labels(TRUE, RUNS, by=GROUPS)
    frame = tce.per_class(tables).to_pandas()
    assert frame.index.names == ["clustering", "group", "label"]
    found = rows(frame[["size", "best_match"]])
    assert found["x", "q", "a"] == found["x", "q", "b"] == [1, 3]
    assert frame["size"].tolist() == [2, 2, 1, 1] * 2
    printed = str(tce.per_class(tables)).splitlines()
    assert printed[1].split() == ["clustering", "group", *str(tce.per_class(tables[0, 0])).splitlines()[0].split()]
    assert printed[4].split()[:5] == ["x", "q", "a", "1", "1.0000"]
    one = tce.per_class(ContingencyTables.from_labels(TRUE, RUNS["x"], by=GROUPS)).to_pandas()
    assert one.index.tolist() == [("p", "a"), ("p", "b"), ("q", "a"), ("q", "b")]


def test_long_tables_are_cut_in_print_alone() -> None:
    found = tce.per_class(ContingencyTables(torch.ones(50, 2, 2, dtype=torch.int64)))
    assert str(found).splitlines()[-1] == "40 more rows: to_pandas() has them"
    assert len(str(found).splitlines()) == 63
    assert "40 more rows" in found._repr_html_()
    assert len(found.to_pandas()) == 100


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_matched_scores_have_rows_of_classes(layout: str) -> None:
    """Class a: 3 of its 3 items in cluster 3 of 4; class b: 2 of its 3 in cluster 4 of 2; the second run 3 in 7."""
    tables = ContingencyTables.from_labels(TRUE, RUNS, layout=layout)
    found = tce.matched_scores(tables, tce.match(tables))
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["size", "cluster", "precision", "recall", "f", "iou"]
    expected: dict[Any, list[Any]] = {
        ("x", "a"): [3, 3, Fraction(3, 4), 1, Fraction(6, 7), Fraction(3, 4)],
        ("x", "b"): [3, 4, 1, Fraction(2, 3), Fraction(4, 5), Fraction(2, 3)],
        (("y", 1), "a"): [3, -1, 1, Fraction(1, 3), Fraction(1, 2), Fraction(1, 3)],
        (("y", 1), "b"): [3, 7, Fraction(3, 5), 1, Fraction(3, 4), Fraction(3, 5)],
    }
    assert {key: pytest.approx(list(map(float, row))) for key, row in expected.items()} == rows(frame)
    assert found["macro_f"].tolist() == pytest.approx([float(Fraction(6, 7) + Fraction(4, 5)) / 2, 0.625])
    assert found.to_dict()["macro_f"] == found["macro_f"].tolist()
    names = "accuracy mean_class_accuracy macro_f mean_iou precision recall f iou"
    assert list(found) == names.split()


def test_a_class_without_a_cluster_or_without_items() -> None:
    tables = ContingencyTables([[2, 0], [1, 0], [0, 0]])
    found = tce.matched_scores(tables, tce.match(tables))
    assert found.to_pandas()["cluster"].tolist() == [0, None]
    assert found.to_pandas().index.tolist() == [0, 1]
    assert str(found).splitlines()[0] == "accuracy 0.6667, mean_class_accuracy 0.5000, macro_f 0.4000, mean_iou 0.3333"
    assert str(found).splitlines()[3].split() == ["1", "1", "None", "0.0000", "0.0000", "0.0000", "0.0000"]


def test_matched_scores_of_groups() -> None:
    tables = ContingencyTables.from_labels(TRUE, RUNS["x"], by=GROUPS)
    frame = tce.matched_scores(tables, tce.match(tables)).to_pandas()
    assert frame.index.tolist() == [("p", "a"), ("p", "b"), ("q", "a"), ("q", "b")]
    assert frame["cluster"].tolist() == [3, 4, 3, None]
