"""The compiled evaluator."""

import pytest
import torch

import torchclusteval as tce

pytestmark = pytest.mark.slow


@pytest.fixture
def tables():
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(0, 6, (40, 5, 7), generator=generator)
    counts[0] = torch.eye(5, 7)
    counts[1] = 0
    return tce.ContingencyTables(counts)


def assert_equal(found, expected):
    assert found.names == expected.names
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=1e-12, equal_nan=True, msg=name)


def test_every_measure_is_one_graph(tables):
    """The graph is captured whole (``fullgraph``); running it without code generation checks its arithmetic."""
    evaluator = tce.compile("all", backend="aot_eager")
    assert_equal(evaluator(tables), tce.evaluate_tables(tables, "all"))
    smaller = tables[:3]
    assert_equal(evaluator(smaller), tce.evaluate_tables(smaller, "all"))


def test_float_tables_leave_out_what_does_not_apply(tables):
    evaluator = tce.compile("entropy", backend="aot_eager")
    masses = tce.ContingencyTables(tables.counts.double())
    found = evaluator(masses)
    assert found.skipped
    assert_equal(found, tce.evaluate_tables(masses, "entropy"))
    assert_equal(evaluator(tables), tce.evaluate_tables(tables, "entropy"))


def test_any_number_of_shapes():
    """More than torch's limit of recompilations of one function (8)."""
    evaluator = tce.compile("rand", backend="eager")
    for size in range(1, 12):
        tables = tce.ContingencyTables(torch.ones(2, size, 3, dtype=torch.int64))
        assert_equal(evaluator(tables), tce.evaluate_tables(tables, "rand"))


def test_scores_share_no_storage_with_what_the_compiled_function_returned(tables, monkeypatch):
    """A second call leaves the scores of the first alone, as a graph of CUDA that writes to one place would not."""
    pool = [torch.zeros(40, dtype=torch.float64) for _ in range(2)]

    def program(measures, options):
        def values(counts):
            for place, measure in zip(pool, measures, strict=True):
                place.copy_(measure(tce.ContingencyTables(counts, validate=False)))
            return pool

        return values

    monkeypatch.setattr("torchclusteval.scoring.evaluation._program", program)
    evaluator = tce.compile(["purity", "rand"], mode="reduce-overhead")
    first = evaluator(tables)
    expected = {name: value.clone() for name, value in first.items()}
    evaluator(tce.ContingencyTables(tables.counts.flip(0)))
    assert_equal(first, tce.evaluate_tables(tables, ["purity", "rand"]))
    for name, value in first.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0, equal_nan=True)
        assert all(value.untyped_storage().data_ptr() != place.untyped_storage().data_ptr() for place in pool)
