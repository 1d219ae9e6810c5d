"""The order of the items changes no bit of a table of integers, nor of any measure of it."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.strategies import LAYOUTS
from tests.support.values import all_values, different_bits
from torchclusteval import ContingencyAccumulator, ContingencyTables

ITEMS = 3000


def labels(groups: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Classes, clusters of a batch of two, frequencies, and an order of the items."""
    generator = torch.Generator().manual_seed(groups)
    true = torch.randint(groups, (ITEMS,), generator=generator)
    pred = torch.randint(groups, (2, ITEMS), generator=generator)
    frequencies = torch.randint(1, 4, (ITEMS,), generator=generator)
    return true, pred, frequencies, torch.randperm(ITEMS, generator=generator)


def assert_same(tables: ContingencyTables, expected: ContingencyTables) -> None:
    for part, other in zip(tables.cells(), expected.cells(), strict=True):
        assert torch.equal(part, other)
    assert different_bits(all_values(tables), all_values(expected)) == []


@pytest.fixture(params=[*LAYOUTS, "sparse in blocks"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    if name == "sparse in blocks":
        for constant, value in (("_SORT_BLOCK_LABELS", 500), ("_MERGE_BLOCK_CELLS", 64), ("_SAMPLE_STRIDE", 16)):
            monkeypatch.setattr(f"torchclusteval.counting.sparse.{constant}", value)
    return name.partition(" ")[0]


@pytest.mark.parametrize("weighted", [False, True], ids=["items", "frequencies"])
@pytest.mark.parametrize("groups", [7, 40])
def test_items_in_another_order(layout: str, groups: int, weighted: bool) -> None:
    true, pred, frequencies, order = labels(groups)

    def tables(true: Tensor, pred: Tensor, weights: Tensor) -> ContingencyTables:
        options: dict[str, Any] = {"weights": weights} if weighted else {}
        return ContingencyTables.from_labels(true, pred, layout=layout, **options)

    assert_same(tables(true[order], pred[:, order], frequencies[order]), tables(true, pred, frequencies))


def test_items_in_another_order_and_other_chunks() -> None:
    true, pred, _, order = labels(40)

    def tables(true: Tensor, pred: Tensor, chunk: int) -> ContingencyTables:
        accumulator = ContingencyAccumulator(batch_shape=(2,))
        for part, parts in zip(true.split(chunk), pred.split(chunk, -1), strict=True):
            accumulator.update(part, parts)
        return accumulator.tables()

    assert_same(tables(true[order], pred[:, order], 700), tables(true, pred, 230))
