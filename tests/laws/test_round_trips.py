"""There and back: layouts, transposition, pickling, the labels of a table, files and the command line."""

import pickle

import pytest
import torch
from hypothesis import given, settings

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, Pair, batches, in_layout, stacked
from tests.support.values import all_values, different_bits
from torchclusteval import ContingencyTables

pytestmark = pytest.mark.slow

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
few = settings(max_examples=30)


def assert_same(tables: ContingencyTables, expected: ContingencyTables) -> None:
    assert tables.layout == expected.layout
    assert torch.equal(tables.to_dense().counts, expected.to_dense().counts)
    assert torch.equal(tables.coverage.nan_to_num(-1), expected.coverage.nan_to_num(-1))
    for labels, others in ((tables.classes, expected.classes), (tables.clusters, expected.clusters)):
        assert (labels is None) == (others is None)
        assert labels is None or labels.tolist() == (others if others is None else others.tolist())


@few
@given(batch=batches(min_items=0))
def test_layouts(batch: list[Pair]) -> None:
    dense = ContingencyTables(stacked(batch))
    sparse = dense.to_sparse()
    assert_same(sparse.to_dense(), dense)
    assert_same(sparse.to_dense().to_sparse(), sparse)


@both_layouts
@few
@given(batch=batches(min_items=0))
def test_transposition(batch: list[Pair], layout: str) -> None:
    tables = in_layout(stacked(batch), layout)
    assert_same(tables.mT.mT, tables)
    assert torch.equal(tables.mT.to_dense().counts, stacked(batch).mT)


@both_layouts
@few
@given(batch=batches())
def test_the_items_of_the_cells_make_the_table(batch: list[Pair], layout: str) -> None:
    counts = stacked(batch)
    rows, columns = counts.shape[-2:]
    for at, table in enumerate(counts):
        _, classes, clusters, times = in_layout(table, layout).cells()
        true, pred = (x.repeat_interleave(times) for x in (classes, clusters))
        made = ContingencyTables.from_labels(true, pred, num_classes=rows, num_clusters=columns, layout=layout)
        assert torch.equal(made.to_dense().counts, counts[at])


@both_layouts
def test_pickled_tables_and_scores(layout: str) -> None:
    true, pred = ["b", "a", "a", "c", "c"], [[3, 3, 5, 5, -1], [3, 4, 4, 4, 4]]
    tables = ContingencyTables.from_labels(true, pred, noise_label=-1, layout=layout)
    before, expected = pickle.dumps(tables), all_values(tables)
    for state in (before, pickle.dumps(tables)):  # without and with lazy quantities already computed
        made = pickle.loads(state)
        assert_same(made, tables)
        assert different_bits(all_values(made), expected) == []
    scores = tce.evaluate_tables(tables, "all")
    copied = pickle.loads(pickle.dumps(scores))
    assert list(copied.names) == list(scores.names)
    assert different_bits(dict(copied), dict(scores)) == []
    assert copied.coverage.tolist() == scores.coverage.tolist()
