"""A mask, ``ignore_index`` and each treatment of noise equal labels from which the items are dropped or renamed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.strategies import LAYOUTS
from tests.support.values import all_values, different_bits, differing
from torchclusteval import ContingencyAccumulator, ContingencyTables

ITEMS = 300
NOISE = 4


def labels() -> tuple[Tensor, Tensor]:
    """Classes ``(300,)`` and clusters ``(3, 300)``: half of the items agree, some clusters are noise."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(6, (ITEMS,), generator=generator)
    pred = torch.randint(6, (3, ITEMS), generator=generator)
    return true, pred.where(torch.rand(3, ITEMS, generator=generator) < 0.5, true)


def counted(true: Any, pred: Any, way: str, *, mask: Any = None, **options: Any) -> ContingencyTables:
    """Tables in a layout, or of an accumulator that is given chunks of 70 items."""
    if way != "stream":
        return ContingencyTables.from_labels(true, pred, mask=mask, layout=way, **options)
    accumulator = ContingencyAccumulator(batch_shape=pred.shape[:-1], **options)
    for start in range(0, true.shape[-1], 70):
        at = (..., slice(start, start + 70))
        accumulator.update(true[at], pred[at], mask=None if mask is None else mask[at])
    return accumulator.tables()


def assert_same(tables: ContingencyTables, expected: ContingencyTables) -> None:
    assert tables.n_items.tolist() == expected.n_items.tolist()
    assert different_bits(all_values(tables), all_values(expected)) == []


WAYS = (*LAYOUTS, "stream")
every_way = pytest.mark.parametrize("way", WAYS)


@every_way
def test_a_mask_drops_items(way: str) -> None:
    true, pred = labels()
    mask = torch.rand(ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
    assert_same(counted(true, pred, way, mask=mask), counted(true[mask], pred[:, mask], way))


@every_way
def test_each_row_of_a_mask_drops_items_of_its_clustering(way: str) -> None:
    true, pred = labels()
    mask = torch.rand(3, ITEMS, generator=torch.Generator().manual_seed(1)) < 0.6
    tables = counted(true, pred, way, mask=mask)
    for row in range(3):
        assert_same(tables[row], counted(true[mask[row]], pred[row, mask[row]], way))


@every_way
def test_an_ignored_class_is_a_mask(way: str) -> None:
    true, pred = labels()
    assert_same(counted(true, pred, way, ignore_index=2), counted(true, pred, way, mask=true != 2))


@every_way
def test_ignored_noise_is_a_mask(way: str) -> None:
    true, pred = labels()
    ignored = counted(true, pred, way, noise_label=NOISE, noise="ignore")
    assert_same(ignored, counted(true, pred, way, mask=pred != NOISE))


@every_way
def test_noise_as_a_cluster_is_a_label_like_others(way: str) -> None:
    """Its column is the last, as that of the largest label is."""
    true, pred = labels()
    tables = counted(true, pred, way, noise_label=NOISE, noise="cluster")
    assert_same(tables, counted(true, pred.masked_fill(pred == NOISE, 99), way))


@every_way
def test_singletons_have_labels_of_their_own(way: str) -> None:
    true, pred = labels()
    tables = counted(true, pred, way, noise_label=NOISE, noise="singletons")
    unique = pred.where(pred != NOISE, 100 + torch.arange(ITEMS))
    assert differing(all_values(tables), all_values(counted(true, unique, way))) == []  # columns are elsewhere
