"""Values by class and cluster as rows: the name of the clustering, the group of items and the label of each."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables

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
    assert found == {
        ("x", 3): [4, "a"],
        ("x", 4): [2, "b"],
        (("y", 1), -1): [1, "a"],
        (("y", 1), 7): [5, "b"],
    }
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


def test_other_batches() -> None:
    tables = ContingencyTables(torch.ones(2, 3, 2, 2, dtype=torch.int64))
    frame = tce.per_class(tables).to_pandas()
    assert frame.index.names == ["batch 0", "batch 1", "label"]
    assert frame.index[-1] == (1, 2, 1)
    none = tce.per_class(ContingencyTables(torch.ones(0, 2, 2, dtype=torch.int64)))
    assert len(none.to_pandas()) == 0
    assert len(str(none).splitlines()) == 2


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
    assert list(found) == [
        *("accuracy", "mean_class_accuracy", "macro_f", "mean_iou"),
        *("precision", "recall", "f", "iou"),
    ]


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


def test_gradients_do_not_hinder_rows() -> None:
    counts = torch.tensor([[2.0, 1.0], [0.0, 2.0]], dtype=torch.float64, requires_grad=True)
    tables = ContingencyTables(counts)
    assert tce.matched_scores(tables, tce.match(tables)).to_pandas()["size"].tolist() == [3, 2]
    assert tce.per_class(tables).to_pandas()["size"].tolist() == [3, 2]
