"""Tables in which every class weighs the same."""

from fractions import Fraction

import pytest
import torch

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import ContingencyTables

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)


@both_layouts
def test_exact_masses(layout: str) -> None:
    counts = torch.randint(0, 10**8, (3, 5, 4), generator=torch.Generator().manual_seed(0))
    counts[0, 2], counts[1, :, 3], counts[2] = 0, 0, 0
    masses = in_layout(counts, layout).balanced().to_dense().counts
    for table, found in zip(counts.tolist(), masses.tolist(), strict=True):
        classes, items = sum(map(any, table)), sum(map(sum, table))
        for row, row_found in zip(table, found, strict=True):
            exact = [Fraction(n * items, classes * sum(row)) if any(row) else Fraction(0) for n in row]
            assert row_found == pytest.approx([float(x) for x in exact], rel=4e-16)


@both_layouts
def test_classes_weigh_the_same(layout: str) -> None:
    true, pred = [0] * 50 + [1] * 5 + [2] * 3, [0] * 40 + [1] * 12 + [2] * 6
    tables = ContingencyTables.from_labels(true, pred, layout=layout, mask=[True] * 57 + [False])
    even = tables.balanced()
    assert even.layout == layout
    assert even.class_sizes.tolist() == pytest.approx([19.0] * 3)
    assert even.coverage.item() == pytest.approx(tables.coverage.item())
    assert even.balanced().to_dense().counts.flatten().tolist() == pytest.approx(
        even.to_dense().counts.flatten().tolist()
    )
    assert torch.as_tensor(even.classes).tolist() == torch.as_tensor(tables.classes).tolist()


@both_layouts
def test_groups_of_items_are_balanced_alone(layout: str) -> None:
    true, pred, by = [0, 0, 1, 2, 2, 2], [0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1]
    scores = tce.evaluate_tables(ContingencyTables.from_labels(true, pred, by=by, layout=layout).balanced(), "purity")
    alone = [ContingencyTables.from_labels(true[part], pred[part]) for part in (slice(3), slice(3, 6))]
    expected = [tce.evaluate_tables(tables.balanced(), "purity")["purity"].item() for tables in alone]
    assert scores["purity"].tolist() == pytest.approx(expected)


def test_masses_and_their_gradient() -> None:
    masses = torch.tensor([[1.5, 0.5], [0.0, 4.0], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    even = ContingencyTables(masses).balanced()
    assert even.class_sizes.tolist() == pytest.approx([3.0, 3.0, 0.0])
    (gradient,) = torch.autograd.grad(even.counts[0, 0], masses)
    assert bool(gradient.isfinite().all())


def test_items_of_one_side_are_refused() -> None:
    tables = ContingencyTables.from_labels([0, 0, 9, 1], [0, 1, 1, 1], absent_true=9)
    with pytest.raises(ValueError, match=r"tables: expected items with a group on both sides; .*without_margins\(\)"):
        tables.balanced()
    assert tables.without_margins().balanced().n_items.item() == pytest.approx(3)


def test_no_items() -> None:
    nothing = ContingencyTables(torch.zeros(2, 3, 4, dtype=torch.int64)).balanced()
    assert not nothing.counts.any()
    assert bool(tce.evaluate_tables(nothing, "rand")["rand"].isnan().all())
