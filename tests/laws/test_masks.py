"""A mask, ``ignore_index`` and each treatment of noise equal labels from which the items are dropped or renamed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.strategies import LAYOUTS
from tests.support.values import all_values, different_bits, differing
from torchclusteval import ContingencyTables

ITEMS = 300
NOISE = 4


def labels() -> tuple[Tensor, Tensor]:
    """Classes ``(300,)`` and clusters ``(3, 300)``: half of the items agree, some clusters are noise."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(6, (ITEMS,), generator=generator)
    pred = torch.randint(6, (3, ITEMS), generator=generator)
    return true, pred.where(torch.rand(3, ITEMS, generator=generator) < 0.5, true)


def counted(true: Tensor, pred: Tensor, layout: str, **options: Any) -> ContingencyTables:
    return ContingencyTables.from_labels(true, pred, layout=layout, **options)


def assert_same(tables: ContingencyTables, expected: ContingencyTables) -> None:
    assert tables.n_items.tolist() == expected.n_items.tolist()
    assert different_bits(all_values(tables), all_values(expected)) == []


both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
MASK = torch.rand(ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
# What is asked, and the same by fewer or other labels. The last column is that of noise, or of the largest label.
SAME: dict[str, tuple[dict[str, Any], Callable[[Tensor, Tensor], tuple[Tensor, Tensor, dict[str, Any]]]]] = {
    "mask": ({"mask": MASK}, lambda true, pred: (true[MASK], pred[:, MASK], {})),
    "ignored class": ({"ignore_index": 2}, lambda true, pred: (true, pred, {"mask": true != 2})),
    "ignored noise": ({"noise_label": NOISE}, lambda true, pred: (true, pred, {"mask": pred != NOISE})),
    "noise as a cluster": (
        {"noise_label": NOISE, "noise": "cluster"},
        lambda true, pred: (true, pred.masked_fill(pred == NOISE, 99), {}),
    ),
}


@both_layouts
@pytest.mark.parametrize("name", SAME)
def test_items_are_left_out_or_renamed(name: str, layout: str) -> None:
    (options, change), (true, pred) = SAME[name], labels()
    other_true, other_pred, other_options = change(true, pred)
    expected = counted(other_true, other_pred, layout, **other_options)
    assert_same(counted(true, pred, layout, **options), expected)


@both_layouts
def test_each_row_of_a_mask_drops_items_of_its_clustering(layout: str) -> None:
    true, pred = labels()
    mask = torch.rand(3, ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
    tables = counted(true, pred, layout, mask=mask)
    for row in range(3):
        assert_same(tables[row], counted(true[mask[row]], pred[row, mask[row]], layout))


@both_layouts
def test_singletons_have_labels_of_their_own(layout: str) -> None:
    true, pred = labels()
    tables = counted(true, pred, layout, noise_label=NOISE, noise="singletons")
    unique = pred.where(pred != NOISE, 100 + torch.arange(ITEMS))
    assert differing(all_values(tables), all_values(counted(true, unique, layout))) == []  # columns are elsewhere
