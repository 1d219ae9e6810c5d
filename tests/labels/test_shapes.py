"""Which dimensions are items, and shapes that are mistakes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval import ContingencyTables


def draw(*shape: int, groups: int = 4, seed: int = 0) -> Tensor:
    return torch.randint(groups, shape, generator=torch.Generator().manual_seed(seed))


def counts(*labels: Any, **options: Any) -> list[Any]:
    listed: list[Any] = ContingencyTables.from_labels(*labels, **options).to_dense().counts.tolist()
    return listed


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_images_of_labels(layout: str) -> None:
    true, pred = draw(3, 5, 7), draw(2, 1, 5, 7, seed=1)
    mask, weights = draw(5, 7, groups=2) > 0, draw(3, 5, 7, seed=2)
    options: dict[str, Any] = dict(layout=layout, num_classes=4, num_clusters=4)
    images = counts(true, pred, mask=mask, weights=weights, item_dims=2, **options)
    flat = (x.flatten(-2) for x in (true, pred, mask, weights))
    true_flat, pred_flat, mask_flat, weights_flat = flat
    assert images == counts(true_flat, pred_flat, mask=mask_flat, weights=weights_flat, **options)
    one = counts(true[0], pred[0, 0], item_dims=2, layout=layout)
    assert one == counts(true[0].flatten(), pred[0, 0].flatten(), layout=layout)
    volume = counts(true, pred[:, :, None].expand(2, 1, 3, 5, 7)[0, 0], item_dims=3, layout=layout)
    assert volume == counts(true.flatten(), pred[0].expand(3, 5, 7).flatten(), layout=layout)


def test_images_as_lists_and_arrays_with_missing_labels() -> None:
    true = [[0, 1], [1, 1]]
    assert counts(true, np.array([[0.0, 1], [np.nan, 1]]), item_dims=2, missing="ignore") == [[1, 0], [0, 2]]
    assert counts(true, [["a", "b"], [None, "b"]], item_dims=2, missing="ignore") == [[1, 0], [0, 2]]


def test_items_keep_their_shape_in_values_by_item() -> None:
    true, pred = draw(5, 7), draw(2, 5, 7, seed=1)
    by_item = tce.per_item(true, pred, item_dims=2)
    assert by_item["recall"].shape == (2, 5, 7)
    flat = tce.per_item(true.flatten(), pred.flatten(-2))
    assert torch.equal(by_item["precision"].flatten(-2), flat["precision"])


@pytest.mark.parametrize(
    ("true", "pred", "options", "blamed"),
    [
        ((3, 4), (4, 3), {}, "labels_pred"),
        ((3, 4), (12,), {}, "labels_pred"),
        ((4,), (3, 4), {}, "labels_true"),
        ((3, 4), (3, 4), {"mask": torch.ones(4, 3, dtype=torch.bool)}, "mask"),
        ((3, 4), (3, 4), {"weights": torch.ones(4)}, "weights"),
    ],
)
def test_images_of_different_sizes(true: Any, pred: Any, options: Any, blamed: str) -> None:
    with pytest.raises(ValueError, match=f"^{blamed}: expected the same last 2 dimensions everywhere"):
        tce.evaluate(draw(*true), draw(*pred), item_dims=2, **options)


COLUMNS: dict[str, Any] = {
    "tensor": lambda x: torch.tensor(x)[:, None],
    "array": lambda x: np.array(x)[:, None],
    "lists": lambda x: [[i] for i in x],
    "values": lambda x: pd.DataFrame({"a": x}).values,
    "text": lambda x: [[str(i)] for i in x],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_column_vectors_are_refused(kind: str) -> None:
    sides = [COLUMNS[kind](x) for x in ([0, 0, 1, 1], [0, 1, 0, 1])]
    for function in (tce.evaluate, ContingencyTables.from_labels):
        with pytest.raises(ValueError, match=r"squeeze\(-1\).*transpose.*item_dims=1"):
            function(*sides)
    assert ContingencyTables.from_labels(*sides, item_dims=1).batch_shape == (4,)
    with pytest.raises(ValueError, match=r"labels_true\.T.*squeeze\(-1\)"):
        tce.evaluate(sides[0], [0, 1, 0, 1])


def test_shapes_that_fit_are_taken() -> None:
    for true, pred in (((1, 1), (1, 1)), ((1,), (4, 1)), ((4, 1), (1,)), ((1, 4), (1, 4)), ((4, 1), (1, 1))):
        assert ContingencyTables.from_labels(draw(*true), draw(*pred)).batch_shape is not None
    one_hot = torch.eye(4, dtype=torch.int64)
    assert ContingencyTables.from_labels(draw(4), one_hot).batch_shape == (4,)
    assert ContingencyTables.from_labels(one_hot, one_hot).batch_shape == (4,)


def test_one_hot_rows_are_told_from_clusterings() -> None:
    rows = torch.eye(3, dtype=torch.int64)[[0, 1, 2, 0, 1]]
    with pytest.warns(UserWarning, match=r"of one-hot rows take argmax\(-1\); of clusterings .*: item_dims=1"):
        tce.evaluate(rows, rows.bool().tolist(), "ari")
    tce.evaluate(rows, rows, "ari", item_dims=1)
    for other in (2 * rows, 1 - rows, rows - rows[:1]):
        tce.evaluate(rows, other, "ari")


@pytest.mark.parametrize("swapped", [False, True])
def test_matrices_that_are_turned_or_hold_scores(swapped: bool) -> None:
    matrix = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    name = "labels_true" if swapped else "labels_pred"
    for scores in (matrix, matrix.numpy(), matrix.tolist()):
        sides = (scores, draw(50)) if swapped else (draw(50), scores)
        with pytest.raises(ValueError, match=rf"^{name}: .*number of items.*{name}\.T.*{name}\.argmax\(-1\)"):
            tce.evaluate(*sides)


def test_both_sides_turned() -> None:
    with pytest.raises(ValueError, match=r"labels_true\.T.*labels_pred\.T"):
        tce.evaluate(draw(50, 3) + 5, draw(50, 4) + 5)
    with pytest.raises(ValueError, match=r"movedim\(0, -1\)"):
        tce.evaluate(draw(50) + 5, draw(50, 3, 4) + 5)


@pytest.mark.parametrize("name", ["mask", "weights"])
def test_the_argument_of_a_wrong_length_is_blamed(name: str) -> None:
    wrong: Any = torch.ones(10, dtype=torch.bool if name == "mask" else torch.int64)
    with pytest.raises(ValueError, match=f"^{name}: expected one number of items everywhere.*{name} 10"):
        tce.evaluate(draw(50), draw(50), **{name: wrong})
    turned: Any = wrong[:5].expand(50, 5)
    with pytest.raises(ValueError, match=rf"{name}\.T"):
        tce.evaluate(draw(50), draw(5, 50), **{name: turned})


def test_a_column_vector_is_no_set_of_clusterings_to_compare() -> None:
    column = draw(50, 1)
    for compare in (tce.pairwise, tce.stability):
        with pytest.raises(ValueError, match=r"^labels: expected shape.*squeeze\(-1\).*item_dims=1"):
            compare(column, "ari")
    assert tce.pairwise(column, "ari", item_dims=1)["ari"].shape == (50, 50)
