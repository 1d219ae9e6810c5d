"""Contingency tables: what they hold, both layouts, and indexing."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, in_layout
from tests.support.values import listed
from torchclusteval import ContingencyTables

COUNTS = [[[3, 0, 1], [0, 2, 0]], [[1, 1, 1], [1, 1, 1]], [[0, 0, 0], [0, 0, 4]]]


@pytest.fixture(params=["dense", "sparse"])
def tables(request):
    made = ContingencyTables(COUNTS)
    return made if request.param == "dense" else made.to_sparse()


def test_sizes_and_numbers(tables):
    assert tables.batch_shape == (3,)
    assert tables.shape == (3, 2, 3)
    assert tables.class_sizes.tolist() == [[4, 2], [3, 3], [0, 4]]
    assert tables.cluster_sizes.tolist() == [[3, 2, 1], [2, 2, 2], [0, 0, 4]]
    assert tables.n_items.tolist() == [6, 6, 4]
    assert tables.n_classes.tolist() == [2, 2, 1]
    assert tables.n_clusters.tolist() == [3, 3, 1]
    assert tables.n_cells.tolist() == [3, 6, 1]
    assert tables.identical.tolist() == [False, False, True]
    assert tables.coverage.tolist() == [1, 1, 1]
    assert tables.is_integer
    assert len(tables) == 3
    assert "batch_shape=(3,)" in repr(tables)
    assert tables.layout in repr(tables)


def test_cells_list_what_is_not_zero(tables):
    found = list(zip(*(x.tolist() for x in tables.cells()), strict=True))
    expected = [
        (b, i, j, n) for b, table in enumerate(COUNTS) for i, row in enumerate(table) for j, n in enumerate(row) if n
    ]
    assert found == expected


def test_reductions_by_cell(tables):
    dense = np.array([[*row] for row in COUNTS], dtype=float)
    r, c = dense.sum(2, keepdims=True), dense.sum(1, keepdims=True)
    assert torch.equal(tables.sum(lambda cell: cell.n), torch.tensor(dense.sum((1, 2))))
    assert torch.equal(tables.sum_by_class(lambda cell: cell.n * cell.c), torch.tensor((dense * c).sum(2)))
    assert torch.equal(tables.max_by_class(lambda cell: cell.n), torch.tensor(dense.max(2)))
    assert torch.equal(tables.max_by_cluster(lambda cell: cell.n * cell.r), torch.tensor((dense * r).max(1)))
    found = tables._sums(lambda cell: cell.n * cell.r, lambda cell: cell.rest_of_class * cell.squares)
    assert torch.equal(found[0], torch.tensor((dense * r).sum((1, 2))))
    assert torch.equal(found[1], torch.tensor(((r - dense) * dense**2).sum((1, 2))))


@pytest.mark.parametrize(
    "key",
    [
        1,
        -1,
        slice(1, None),
        slice(None, None, 2),
        [2, 0, 0],
        torch.tensor([True, False, True]),
        torch.tensor([[0], [2]]),
    ],
    ids=str,
)
def test_indexing_the_batch(tables, key):
    expected = torch.tensor(COUNTS)[key]
    picked = tables[key]
    assert picked.to_dense().counts.tolist() == expected.tolist()
    assert picked.batch_shape == expected.shape[:-2]
    assert picked.layout == tables.layout


def test_indexing_several_batch_dimensions():
    counts = torch.arange(2 * 3 * 2 * 2).reshape(2, 3, 2, 2)
    for tables in (ContingencyTables(counts), ContingencyTables(counts).to_sparse()):
        for key in ((1, 2), 1, (slice(None), 0), torch.tensor([[True, False, True], [False, True, False]]), Ellipsis):
            assert torch.equal(tables[key].to_dense().counts, counts[key])
    with pytest.raises(IndexError):
        ContingencyTables(counts)[0, 0, 0]  # a row is no table
    with pytest.raises(ValueError, match="expected a batch to index"):
        ContingencyTables(counts[0, 0])[0]


def test_indexing_keeps_names_and_coverage():
    true, pred = [0, 0, 1], torch.tensor([[1, 1, 2], [9, 9, 9], [3, 0, 9]])
    tables = ContingencyTables.from_labels(true, pred, noise_label=9)
    assert tables.coverage.tolist() == pytest.approx([1, 0, 2 / 3])
    assert tables[[2, 0]].coverage.tolist() == pytest.approx([2 / 3, 1])
    assert listed(tables[0].clusters) == listed(tables.clusters)
    assert np.isnan(ContingencyTables([[0]]).coverage.item())


def test_layouts_convert_both_ways(tables):
    assert tables.to_dense().to_sparse().to_dense().counts.tolist() == COUNTS
    assert tables.to("cpu").layout == tables.layout
    if tables.layout == "sparse":
        with pytest.raises(ValueError, match="to_dense"):
            _ = tables.counts


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([[1, 2], [3, 4]], torch.int64),
        (np.array([[1, 2]], np.uint16), torch.int64),
        (np.array([[5]], np.uint64), torch.int64),
        (torch.tensor([[1, 2]], dtype=torch.int8), torch.int64),
        ([[1.5, 2.0]], torch.float64),
        (torch.tensor([[1, 2]], dtype=torch.float16), torch.float64),
    ],
)
def test_counts_of_any_kind(counts, kind):
    assert ContingencyTables(counts).counts.dtype == kind


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "at least 2 dimensions"),
        ([[1, -2]], r"got -2 at position \(0, 1\)"),
        ([[1.0, float("nan")]], r"got nan at position \(0, 1\)"),
        ([["0,5"]], r"expected numbers; got text such as '0,5' \(a decimal comma\? write 0.5\)"),
        ([[1], [1, 2]], "rows of equal length"),
        (torch.zeros(2, 2, dtype=torch.complex64), "real numbers"),
        (None, "got NoneType"),
        ([[2**62, 2**62]], r"counts: expected whole numbers with a sum below 2\*\*63"),
        (np.array([[2**63]], np.uint64), r"counts: expected numbers below 2\*\*63"),
        (csr_array(np.eye(2)), r"counts: expected a dense array; got a csr_array of SciPy \(pass .toarray\(\); for"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(ValueError, match=message):
        ContingencyTables(counts)


def test_tables_without_rows_or_columns_are_empty():
    for shape in ((0, 0), (3, 0), (0, 2), (4, 0, 3)):
        tables = ContingencyTables(torch.zeros(shape, dtype=torch.int64))
        assert tables.n_items.sum().item() == 0
        assert tce.evaluate_tables(tables)["ari"].isnan().all()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 1), (2, 1)), "p_pred: expected as many items as p_true; got 3 and 2"),
        (((3, 1), (3,)), "p_pred: expected"),
        (((2, 5, 3), (3, 5, 2)), r"p_pred: expected batch shapes that broadcast; got \(2, 5, 3\) and"),
    ],
)
def test_probabilities_of_other_shapes_are_refused(shapes, message):
    with pytest.raises(ValueError, match=message):
        ContingencyTables.from_probabilities(*map(torch.ones, shapes))


def test_auto_layout_follows_the_sizes():
    many = torch.arange(100_000)
    assert ContingencyTables.from_labels(many, many // 2).layout == "sparse"
    assert ContingencyTables.from_labels(many % 10, many % 7).layout == "dense"
    assert ContingencyTables.from_labels(many, many // 2, layout="sparse").cells()[3].sum().item() == 100_000


def test_nested_lists_index_as_arrays_do():
    tables = ContingencyTables.from_labels([0, 0], [[0, 1], [1, 1]])
    assert tables[[[0, 1], [1, 0]]].batch_shape == (2, 2)
    assert tables[[True, False]].batch_shape == (1,)
    assert tables[[]].batch_shape == (0,)
    for text in ("a", "0", b"0"):
        with pytest.raises(IndexError, match=r"expected an index of a batch of shape \(2,\)"):
            tables[text]


def test_tables_beyond_memory_say_what_to_use_instead(monkeypatch):
    """Eight terabytes, which no allocator gives."""
    size = 1 << 20
    labels = torch.tensor([0, size - 1])
    sparse = ContingencyTables.from_labels(labels, labels, num_classes=size, num_clusters=size)
    assert sparse.layout == "sparse"
    with pytest.raises(ValueError, match=r"to_dense: expected at most 2\*\*32 cells; .*cells\(\)"):
        sparse.to_dense()
    with pytest.raises(ValueError, match=r"layout: expected at most 2\*\*32 dense cells; .*layout='sparse'"):
        ContingencyTables.from_labels(labels, labels, num_classes=size, num_clusters=size, layout="dense")
    monkeypatch.setattr("torchclusteval.counting.dispatch.MAX_CELLS", 1 << 50)
    with pytest.raises(ValueError, match=r"to_dense: expected tables that fit in memory; .*cells\(\)"):
        sparse.to_dense()
    for options in ({"layout": "dense"}, {"validate": False}):
        with pytest.raises(ValueError, match=r"layout: expected dense tables that fit in memory; .*'sparse'"):
            ContingencyTables.from_labels(labels, labels, num_classes=size, num_clusters=size, **options)
    chances = torch.zeros(1, size)
    with pytest.raises(ValueError, match="p_true, p_pred: expected tables that fit in memory; got 1048576 x 1048576"):
        ContingencyTables.from_probabilities(chances, chances)
    wide = ContingencyTables.from_labels(
        labels, labels, num_classes=1 << 44, num_clusters=2, validate=False, layout="sparse"
    )
    with pytest.raises(ValueError, match="tables: expected groups whose sizes fit in memory"):
        wide.class_sizes  # noqa: B018


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_of_tables_takes_over_what_is_known_of_the_batch(layout: str) -> None:
    """As views, and without the batch itself, so that a run is as small as its own tables."""
    tables = in_layout(torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5), layout)
    known = [tables.class_sizes, tables.n_items, tables._class_surprisal]
    run = tables._narrow(1, 4)
    for inherited, whole in zip([run.class_sizes, run.n_items, run._class_surprisal], known, strict=True):
        assert inherited.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
        assert torch.equal(inherited, whole.flatten(0, 1)[1:5])
    fresh = ContingencyTables(tables.to_dense().counts.flatten(0, 1)[1:5])
    assert torch.equal(run._cluster_surprisal, fresh._cluster_surprisal)
    assert not any(value is tables for value in (*vars(run).values(), *run._memo.values()))


@pytest.mark.parametrize("n", [1_000_000_000, 3_037_000_499, 3_037_000_500, 10**12])
def test_pairs_of_a_nearly_perfect_clustering_keep_all_digits(n: int) -> None:
    """On both sides of the size from which squares do not fit in int64; by integers of any size."""
    half = n // 2
    (a, b), (c, d) = counts = [[half, 1], [2, n - half - 3]]
    joined = [a * (a - 1), b * (b - 1), c * (c - 1), d * (d - 1)]
    expected = [sum(joined) // 2, a * c + b * d, a * b + c * d, a * d + b * c]
    found = [x.item() for x in ContingencyTables(counts).pairs]
    assert found == pytest.approx(expected, rel=1e-15)
