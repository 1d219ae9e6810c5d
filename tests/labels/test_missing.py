"""Missing labels of every kind, on either side; items under the mask; text and categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables

arrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")

TRUE = [0, 0, 1, 1, 2, 2]
NUMBERS = [5, 5, None, 7, 7, 5]
TEXTS = ["a", "a", None, "b", "b", "a"]
GAP = 2
TABLE = [[2, 0], [0, 1], [1, 1]]

KINDS: dict[str, Callable[[], Any]] = {
    "list": lambda: NUMBERS,
    "list of floats": lambda: [float("nan") if x is None else float(x) for x in NUMBERS],
    "NumPy scalars": lambda: [np.float64("nan") if x is None else x for x in NUMBERS],
    "array": lambda: np.array(NUMBERS, float),
    "object array": lambda: np.array(NUMBERS, object),
    "tensor": lambda: torch.tensor(np.array(NUMBERS, float)),
    "half precision": lambda: torch.tensor(np.array(NUMBERS, float)).half(),
    "masked array": lambda: np.ma.masked_array([5, 5, 7, 7, 7, 5], [i == GAP for i in range(6)]),
    "masked text": lambda: np.ma.masked_array(list("aabbba"), [i == GAP for i in range(6)]),
    "NaT": lambda: [pd.NaT if x is None else x for x in NUMBERS],
    "datetime NaT": lambda: [np.datetime64("NaT") if x is None else x for x in NUMBERS],
    "NA": lambda: [pd.NA if x is None else x for x in NUMBERS],
    "texts": lambda: TEXTS,
    "texts and nan": lambda: [float("nan") if x is None else x for x in TEXTS],
    "text array": lambda: np.array(TEXTS, object),
    "series": lambda: pd.Series(NUMBERS),
    "nullable": lambda: pd.Series(NUMBERS, dtype="Int64"),
    "nullable floats": lambda: pd.Series(NUMBERS, dtype="Float64"),
    "nullable booleans": lambda: pd.Series([None if x is None else x == 7 for x in NUMBERS], dtype="boolean"),
    "text series": lambda: pd.Series(TEXTS),
    "object series": lambda: pd.Series(TEXTS, dtype=object),
    "categorical": lambda: pd.Series(TEXTS, dtype="category"),
    "categorical of numbers": lambda: pd.Series(NUMBERS, dtype="category"),
    "pandas of arrow": lambda: pd.Series(NUMBERS, dtype="int64[pyarrow]"),
    "arrow": lambda: arrow.array(NUMBERS),
    "arrow floats": lambda: arrow.array(NUMBERS, arrow.float32()),
    "arrow booleans": lambda: arrow.array([None if x is None else x == 7 for x in NUMBERS]),
    "arrow texts": lambda: arrow.array(TEXTS),
    "arrow views": lambda: arrow.array(TEXTS, arrow.string_view()),
    "arrow dictionary": lambda: arrow.array(TEXTS).dictionary_encode(),
    "null in the dictionary": lambda: arrow.DictionaryArray.from_arrays([1, 1, 0, 2, 2, 1], [None, "a", "b"]),
    "dictionary of numbers": lambda: arrow.array(NUMBERS).dictionary_encode(),
    "arrow chunks": lambda: arrow.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
    "chunks of dictionaries": lambda: arrow.chunked_array(
        [arrow.array(TEXTS[:3]).dictionary_encode(), arrow.array(TEXTS[3:]).dictionary_encode()]
    ),
    "polars": lambda: polars.Series(NUMBERS),
    "polars texts": lambda: polars.Series(TEXTS),
    "polars categories": lambda: polars.Series(TEXTS).cast(polars.Categorical),
    "polars enum": lambda: polars.Series(TEXTS, dtype=polars.Enum(["a", "unused", "b"])),
}


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_labels_are_refused_or_left_out(kind: str, layout: str) -> None:
    labels = KINDS[kind]()
    for swapped in (False, True):
        sides = (labels, TRUE) if swapped else (TRUE, labels)
        name = "labels_true" if swapped else "labels_pred"
        expected = [list(row) for row in zip(*TABLE, strict=True)] if swapped else TABLE
        with pytest.raises(ValueError, match=f'^{name}: .* at position {GAP} .*missing="ignore".*mask=') as caught:
            tce.evaluate(*sides, layout=layout)
        assert "\n" not in str(caught.value)
        tables = ContingencyTables.from_labels(*sides, missing="ignore", layout=layout)
        assert tables.to_dense().counts.tolist() == expected
        assert tables.coverage.item() == pytest.approx(5 / 6)
        masked = ContingencyTables.from_labels(*sides, mask=[i != GAP for i in range(6)], layout=layout)
        assert masked.to_dense().counts.tolist() == expected
        assert masked.coverage.item() == 1
        with pytest.raises(ValueError, match="expected a label"):
            ContingencyTables.from_labels(*sides, mask=[i == GAP for i in range(6)])


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
    for labels in (
        [None, None],
        torch.full((2,), torch.nan),
        arrow.nulls(2),
        pd.Series([None, None], dtype="category"),
    ):
        tables = ContingencyTables.from_labels([0, 1], labels, missing="ignore")
        assert tables.n_items.item() == 0
        assert tables.coverage.item() == 0


def test_the_option_is_checked() -> None:
    with pytest.raises(ValueError, match="missing: expected one of error, ignore; got 'drop'"):
        tce.evaluate([0], [0], missing="drop")


def test_categories_that_read_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="read alike"):
        ContingencyTables.from_labels([0, 1], pd.Series([1, "1"], dtype="category"))
    numbers = ContingencyTables.from_labels([0, 1, 1], pd.Series([30, 4, 4], dtype="category"))
    assert numbers.clusters is not None
    assert numbers.clusters.tolist() == [4, 30]
    unused = pd.Series(["b", "c", "b"]).astype(pd.CategoricalDtype(["c", "b", "a"]))
    tables = ContingencyTables.from_labels([0, 1, 1], unused)
    assert tables.clusters is not None
    assert tables.clusters.tolist() == ["c", "b"]  # the order of categories is kept
    assert tables.counts.tolist() == [[0, 1], [1, 1]]
