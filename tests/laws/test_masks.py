"""A mask, ``ignore_index`` and each treatment of noise equal labels from which the items are dropped or renamed."""

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


@both_layouts
def test_a_mask_drops_items(layout: str) -> None:
    true, pred = labels()
    mask = torch.rand(ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
    assert_same(counted(true, pred, layout, mask=mask), counted(true[mask], pred[:, mask], layout))


@both_layouts
def test_each_row_of_a_mask_drops_items_of_its_clustering(layout: str) -> None:
    true, pred = labels()
    mask = torch.rand(3, ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
    tables = counted(true, pred, layout, mask=mask)
    for row in range(3):
        assert_same(tables[row], counted(true[mask[row]], pred[row, mask[row]], layout))


@both_layouts
def test_an_ignored_class_is_a_mask(layout: str) -> None:
    true, pred = labels()
    assert_same(counted(true, pred, layout, ignore_index=2), counted(true, pred, layout, mask=true != 2))


@both_layouts
def test_ignored_noise_is_a_mask(layout: str) -> None:
    true, pred = labels()
    ignored = counted(true, pred, layout, noise_label=NOISE, noise="ignore")
    assert_same(ignored, counted(true, pred, layout, mask=pred != NOISE))


@both_layouts
def test_noise_as_a_cluster_is_a_label_like_others(layout: str) -> None:
    """Its column is the last, as that of the largest label is."""
    true, pred = labels()
    tables = counted(true, pred, layout, noise_label=NOISE, noise="cluster")
    assert_same(tables, counted(true, pred.masked_fill(pred == NOISE, 99), layout))


@both_layouts
def test_singletons_have_labels_of_their_own(layout: str) -> None:
    true, pred = labels()
    tables = counted(true, pred, layout, noise_label=NOISE, noise="singletons")
    unique = pred.where(pred != NOISE, 100 + torch.arange(ITEMS))
    assert differing(all_values(tables), all_values(counted(true, unique, layout))) == []  # columns are elsewhere
