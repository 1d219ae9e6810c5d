"""Missing labels of every kind, on either side; items under the mask; text and categories."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as arrow
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables


@pytest.mark.parametrize("noise", ["ignore", "cluster", "singletons"])
def test_missing_labels_beside_noise_and_ignored_ones(noise: str) -> None:
    true = torch.tensor([0.0, 0, 1, 1, -1, float("nan"), 1])
    pred = torch.tensor([3.0, -1, -1, float("nan"), 3, 3, 4])
    options: dict[str, Any] = dict(noise_label=-1, noise=noise, ignore_index=-1)
    kept = torch.tensor([0, 1, 2, 6])
    tables = ContingencyTables.from_labels(true, pred, missing="ignore", **options)
    alone = ContingencyTables.from_labels(true[kept], pred[kept], **options)
    assert tables.counts.tolist() == alone.counts.tolist()
    assert tables.coverage.item() == pytest.approx((4 if noise != "ignore" else 2) / 7)


def test_an_item_that_is_ignored_need_not_have_a_label() -> None:
    tables = ContingencyTables.from_labels([0, -1, 1], [5, None, 6], ignore_index=-1)
    assert tables.n_items.item() == 2
    with pytest.raises(ValueError, match='missing="ignore"'):
        tce.evaluate([0, 1], [0, 1], ignore_index=float("nan"))


def test_items_under_the_mask_are_never_examined() -> None:
    mask = np.array([True, False, True, False, True])
    for junk in (None, "text", 2.5, -7, 2**70, float("inf"), (1, 2)):
        labels = np.empty(5, object)
        labels[:] = [0, junk, 1, junk, 1]
        for sides in ((labels, [0, 9, 0, 9, 1]), ([0, 9, 0, 9, 1], labels)):
            options: Any = dict(num_classes=2, num_clusters=2)
            assert ContingencyTables.from_labels(*sides, mask=mask, **options).n_items.item() == 3
            assert ContingencyTables.from_labels(*sides, mask=mask).shape == (2, 2)
        with pytest.raises(ValueError, match="labels_pred"):
            tce.evaluate([0, 1, 0, 1, 1], labels, num_clusters=2)
    floats = torch.tensor([0.0, 0.5, 1, float("nan"), 1])
    assert ContingencyTables.from_labels([0, 0, 0, 0, 1], floats, mask=torch.from_numpy(mask)).n_items.item() == 3
    texts = ["a", 3, "b", None, "b"]
    assert ContingencyTables.from_labels([0, 0, 0, 0, 1], texts, mask=mask).shape == (2, 2)
    weights = [1.0, float("nan"), 2.0, -3.0, 1.0]
    tables = ContingencyTables.from_labels([0, 0, 0, 0, 1], [0, 0, 0, 0, 1], mask=mask, weights=weights)
    assert tables.counts.tolist() == [[3, 0], [0, 1]]
    assert tables.coverage.item() == 1


def test_masks_of_a_batch_hide_missing_labels_row_by_row() -> None:
    pred = torch.tensor([[0.0, 1, float("nan")], [0, float("nan"), 1]])
    mask = torch.tensor([[True, True, False], [True, False, True]])
    assert ContingencyTables.from_labels([0, 1, 1], pred, mask=mask).n_items.tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"nan at position \(1, 1\)"):
        ContingencyTables.from_labels([0, 1, 1], pred, mask=torch.tensor([True, True, False]))
    assert ContingencyTables.from_labels([0, 1, 1], pred, missing="ignore").coverage.tolist() == [2 / 3, 2 / 3]


def test_without_checks_missing_labels_are_left_out_and_show() -> None:
    pred = torch.tensor([0.0, 1, float("nan")])
    sizes: Any = dict(num_classes=2, num_clusters=2)
    none: Any = {}
    for options in (sizes, none):
        tables = ContingencyTables.from_labels([0, 1, 1], pred, validate=False, **options)
        assert tables.counts.tolist() == [[1, 0], [0, 1]]
        assert tables.coverage.item() == pytest.approx(2 / 3)


def test_labels_that_are_all_missing() -> None:
    for labels in ([None, None], torch.tensor([torch.nan] * 2), arrow.nulls(2), pd.Categorical([None] * 2)):
        tables = ContingencyTables.from_labels([0, 1], labels, missing="ignore")
        assert tables.n_items.item() == 0
        assert tables.coverage.item() == 0


def test_categories_that_read_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="read alike"):
        ContingencyTables.from_labels([0, 1], pd.Series([1, "1"], dtype="category"))
    numbers = ContingencyTables.from_labels([0, 1, 1], pd.Series([30, 4, 4], dtype="category"))
    assert listed(numbers.clusters) == [4, 30]
    unused = pd.Series(["b", "c", "b"]).astype(pd.CategoricalDtype(["c", "b", "a"]))
    tables = ContingencyTables.from_labels([0, 1, 1], unused)
    assert listed(tables.clusters) == ["c", "b"]  # the order of categories is kept
    assert tables.counts.tolist() == [[0, 1], [1, 1]]
