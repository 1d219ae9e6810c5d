"""The door: every kind of label that is accepted, and a clear error for every kind that is not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables

TRUE = [0, 0, 1, 1, 2]
PRED = [5, 5, 5, 7, 7]
TABLE = [[2, 0], [1, 1], [0, 1]]


def counts(*labels, **options):
    return ContingencyTables.from_labels(*labels, **options).to_dense().counts.tolist()


INTEGERS = ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("true_type", INTEGERS)
@pytest.mark.parametrize("pred_type", INTEGERS)
def test_every_integer_type_counts_alike(true_type, pred_type, layout):
    arrays = np.array(TRUE, true_type), np.array(PRED, pred_type)
    assert counts(*arrays, layout=layout) == TABLE
    tensors = (torch.tensor(TRUE).to(getattr(torch, true_type)), torch.tensor(PRED).to(getattr(torch, pred_type)))
    assert counts(*tensors, layout=layout) == TABLE
    assert counts(tensors[0], [tensors[1], torch.tensor(PRED)], layout=layout) == [TABLE, TABLE]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_narrow_types_do_not_wrap(dtype, layout):
    """``true * columns + pred`` does not fit the labels' own type."""
    high = min(np.iinfo(dtype).max, 200)
    true = np.arange(high + 1).astype(dtype)
    expected = torch.eye(high + 1, dtype=torch.int64).flip(1).tolist()
    assert counts(true, true[::-1], layout=layout) == expected


EXTREME = [-(2**63), 2**63 - 1, 0, 2**62, -5, 2**63 - 2]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_extreme_ids(layout):
    tables = ContingencyTables.from_labels(torch.tensor(EXTREME), torch.tensor(EXTREME), layout=layout)
    assert tables.to_dense().counts.tolist() == torch.eye(6, dtype=torch.int64).tolist()
    assert listed(tables.classes) == sorted(EXTREME)


def test_names_of_rows_and_columns():
    tables = ContingencyTables.from_labels(list("baab"), [-3, 9, 9, 4])
    assert listed(tables.classes) == ["a", "b"]
    assert listed(tables.clusters) == [-3, 4, 9]
    assert listed(ContingencyTables.from_labels([True, False], [0, 0]).classes) == [False, True]
    assert listed(ContingencyTables.from_labels([0, 1], [["a", "a\0"]]).clusters) == ["a", "a\0"]
    assert ContingencyTables.from_labels([0, 1], [0, 0], num_classes=2).classes is None


def test_a_batch_of_unrelated_ids_has_codes_by_row():
    """Eight rows of five ids each, none shared: tables have five columns, not forty."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(-(2**62), 2**62, (8, 5), generator=generator)
    pred = ids.gather(1, torch.randint(0, 5, (8, 3000), generator=generator))
    true = torch.randint(0, 4, (3000,), generator=generator)
    tables = ContingencyTables.from_labels(true, pred)
    assert tables.shape == (8, 4, 5)
    assert tables.clusters.shape == (8, 5)
    for row in range(8):
        assert tables.clusters[row].tolist() == sorted(ids[row].tolist())
        alone = ContingencyTables.from_labels(true, pred[row])
        assert torch.equal(tables[row].counts, alone.counts)
        assert listed(tables[row].clusters) == listed(alone.clusters)


def test_ids_of_a_wide_range_that_rows_share_have_codes_of_the_batch():
    ids = torch.tensor([3, 10**6, 5 * 10**6])
    pred = ids[torch.arange(3000).remainder(3).expand(4, -1)]
    tables = ContingencyTables.from_labels(torch.zeros(3000, dtype=torch.int64), pred)
    assert tables.shape[-1] == 3
    assert (tables.counts == 1000).all()


def test_batch_shapes_broadcast():
    generator = torch.Generator().manual_seed(1)
    true = torch.randint(0, 3, (4, 1, 50), generator=generator)
    pred = torch.randint(0, 5, (6, 50), generator=generator)
    tables = ContingencyTables.from_labels(true, pred)
    assert tables.batch_shape == (4, 6)
    for s in range(4):
        for t in range(6):
            alone = ContingencyTables.from_labels(true[s, 0], pred[t], num_classes=3, num_clusters=5)
            assert torch.equal(tables[s, t].counts, alone.counts)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_masks_weights_and_ignored_labels(layout):
    mask = [[True] * 5, [True, False, True, False, True]]
    tables = ContingencyTables.from_labels(TRUE, PRED, mask=mask, layout=layout)
    assert tables.to_dense().counts.tolist() == [TABLE, [[1, 0], [1, 0], [0, 1]]]
    assert tables.coverage.tolist() == [1, 1]  # of the unmasked items

    weighted = ContingencyTables.from_labels(TRUE, PRED, weights=[2, 1, 1, 3, 0], layout=layout)
    assert weighted.is_integer
    assert weighted.to_dense().counts.tolist() == [[3, 0], [1, 3]]

    ignored = ContingencyTables.from_labels(TRUE, PRED, ignore_index=1, layout=layout)
    assert ignored.to_dense().counts.tolist() == [[2, 0], [0, 1]]
    assert ignored.coverage.item() == pytest.approx(3 / 5)
    assert ContingencyTables.from_labels(list("xxyyz"), PRED, ignore_index="y").coverage.item() == pytest.approx(0.6)

    heavy = ContingencyTables.from_labels(TRUE, PRED, ignore_index=0, weights=[4.0, 4, 1, 1, 2], layout=layout)
    assert heavy.coverage.item() == pytest.approx(4 / 12)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_noise_policies(layout):
    true, pred = [0, 0, 0, 1, 1, 1], [0, 0, -1, 1, -1, -1]
    of = lambda noise, **o: ContingencyTables.from_labels(  # noqa: E731
        true, pred, noise_label=-1, noise=noise, layout=layout, **o
    )
    ignored = of("ignore")
    assert ignored.to_dense().counts.tolist() == [[2, 0], [0, 1]]
    assert ignored.coverage.item() == 0.5
    cluster = of("cluster")
    assert cluster.to_dense().counts.tolist() == [[2, 0, 1], [0, 1, 2]]
    assert listed(cluster.clusters) == [0, 1, -1]
    singletons = of("singletons")
    assert singletons.to_dense().counts.tolist() == [[2, 0, 1, 0, 0], [0, 1, 0, 1, 1]]
    assert singletons.coverage.item() == 1
    coded = of("cluster", num_classes=2, num_clusters=2)
    assert coded.to_dense().counts.tolist() == [[2, 0, 1], [0, 1, 2]]


def test_noise_of_any_label_is_matched_before_the_range_is_checked():
    tables = ContingencyTables.from_labels([0, 1, 1], [0, 2**40, 1], noise_label=2**40, num_classes=2, num_clusters=2)
    assert tables.counts.tolist() == [[1, 0], [0, 1]]
    text = ContingencyTables.from_labels([0, 1, 1], ["a", "noise", "b"], noise_label="noise", noise="cluster")
    assert listed(text.clusters) == ["a", "b", "noise"]
    narrow = ContingencyTables.from_labels([0, 1], torch.tensor([0, 255], dtype=torch.uint8), noise_label=-1)
    assert narrow.n_items.item() == 2  # -1 is no uint8 label, and 255 is not -1
    for dtype in (torch.uint8, torch.int64):
        column = dict(noise_label=-1, noise="cluster", num_clusters=2)
        assert counts([0, 1], torch.tensor([0, 1], dtype=dtype), **column) == [[1, 0, 0], [0, 1, 0]]
    masked = ContingencyTables.from_labels([9, 1], [0, 1], num_classes=2, mask=[False, True])
    assert masked.counts.sum().item() == 1


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "top"), [(torch.uint8, 255), (torch.int8, 127)])
def test_noise_among_narrow_labels_does_not_wrap(dtype, top, layout):
    pred = torch.tensor([top, 1, 0], dtype=dtype)
    for noise in ("cluster", "singletons"):
        tables = ContingencyTables.from_labels([0, 1, 2], pred, noise_label=0, noise=noise, layout=layout)
        assert listed(tables.clusters) == [1, top, 0]
        assert tables.to_dense().counts.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    coded = ContingencyTables.from_labels([0, 1, 1], pred, noise_label=1, num_clusters=300, layout=layout)
    assert coded.to_dense().counts.nonzero().tolist() == [[0, top], [1, 0]]


def test_unsigned_labels_are_not_found_by_their_bits():
    true = np.array([2**64 - 1, 5, 5], np.uint64)
    for label, left in ((-1, 3), (2**64 + 5, 3), (2**64 - 1, 2), (5, 1)):
        assert ContingencyTables.from_labels(true, [0, 0, 1], ignore_index=label).n_items.item() == left


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_weights_that_are_expanded_count(layout):
    for weight in (torch.tensor([3]), torch.tensor([3.0], dtype=torch.float64)):
        tables = ContingencyTables.from_labels([0, 0, 1], [0, 1, 1], weights=weight.expand(3), layout=layout)
        assert tables.to_dense().counts.tolist() == [[3, 3], [0, 3]]
    single = ContingencyTables.from_labels([0], [[0], [1]], weights=[7], layout=layout)
    assert single.n_items.tolist() == [7, 7]


def test_names_by_row_follow_the_whole_batch():
    ids = torch.randint(0, 2**60, (3, 50), generator=torch.Generator().manual_seed(0))
    tables = ContingencyTables.from_labels(torch.zeros(2, 1, 50), ids)
    assert np.shape(listed(tables.clusters)) == (2, 3, 50)
    assert listed(tables[1, 2].clusters) == ids[2].sort().values.tolist()
    assert tce.evaluate_tables(tables, "rand", chunk_size=1)["rand"].shape == (2, 3)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_batches_without_tables_or_items_keep_their_shape(layout):
    none = ContingencyTables.from_labels(torch.zeros(0, 4), torch.zeros(4), layout=layout)
    assert none.batch_shape == (0,)
    assert tce.per_item(torch.zeros(0, 4), torch.zeros(4))["recall"].shape == (0, 4)
    masked = dict(mask=torch.ones(0, 4, dtype=torch.bool), num_classes=2, layout=layout)
    assert ContingencyTables.from_labels([0, 1, 1, 0], torch.zeros(0, 4), **masked).batch_shape == (0,)
    assert ContingencyTables.from_labels([], [[], []], layout=layout).batch_shape == (2,)
    wide = np.zeros((2, 3, 0), int), np.zeros((3, 0), int)
    assert ContingencyTables.from_labels(*wide, layout=layout).batch_shape == (2, 3)
    text = ContingencyTables.from_labels(np.array([], str), pd.Series([], dtype=object), layout=layout)
    assert text.n_items.item() == 0
    assert tce.evaluate([], [], mask=[], weights=[])["ari"].isnan()


def test_ids_that_are_left_out_do_not_widen_the_table():
    true = torch.tensor([0, 1, 2**62, -(2**62)])
    tables = ContingencyTables.from_labels(true, true, mask=torch.tensor([True, True, False, False]))
    assert tables.shape == (2, 2)
    noisy = ContingencyTables.from_labels([0, 0, 1], [4, 5, 2**60], noise_label=2**60, noise="singletons")
    assert noisy.counts.tolist() == [[1, 1, 0], [0, 0, 1]]


def test_without_checks_labels_outside_the_codes_are_left_out_and_counted():
    true = torch.tensor([0, 1, 2, -1, 10**12, 1])
    pred = torch.tensor([0, 1, 0, 0, 0, -(2**63)])
    tables = ContingencyTables.from_labels(true, pred, num_classes=2, num_clusters=2, validate=False)
    assert tables.counts.tolist() == [[1, 0], [0, 1]]
    assert tables.coverage.item() == pytest.approx(2 / 6)
    floats = torch.tensor([0.0, float("nan"), 1.5, float("inf"), 1.0, 1e300])
    tables = ContingencyTables.from_labels(floats, floats, num_classes=2, num_clusters=2, validate=False)
    assert tables.counts.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("empty", [[], torch.zeros(0, dtype=torch.int64), np.zeros(0), torch.zeros(3, 0).long()])
def test_no_items_and_no_tables_are_legal(empty):
    for layout in ("dense", "sparse"):
        tables = ContingencyTables.from_labels(empty, empty, layout=layout)
        assert tables.n_items.sum().item() == 0
        assert tables.coverage.isnan().all()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "shorter": (dict(labels_pred=[0, 1]), "number of items.*labels_true 3, labels_pred 2"),
    "nan array": (dict(labels_pred=np.array([[0, 1, np.nan]])), r"labels_pred: .*nan at position \(0, 2\)"),
    "infinite": (dict(labels_pred=torch.tensor([0.0, 1, float("inf")])), "whole numbers; got inf at position 2"),
    "ragged": (dict(labels_pred=[[0, 1, 2], [0, 1]]), "rows of lengths 3, 2 .*mask"),
    "mapping": (dict(labels_pred={"a": 1}), "labels_pred: expected clusterings by name; got labels by item"),
    "too large": (dict(labels_pred=[0, 2**64, 1]), "labels_pred: .*64 bits"),
    "both ends": (dict(labels_pred=[-1, 2**63, 1]), "labels_pred: .*64 bits"),
    "batches": (dict(labels_true=torch.zeros(2, 3), labels_pred=torch.zeros(4, 3)), "batch shapes that broadcast"),
    "mask type": (dict(mask=[0, 1, 1]), "mask: expected booleans; got torch.int64"),
    "mask length": (dict(mask=[True]), "number of items.*mask 1"),
    "singletons with size": (dict(noise="singletons", noise_label=0, num_clusters=3), "num_clusters: expected None"),
    "noise kind": (dict(noise_label="x"), "noise_label: expected a whole number"),
    "ignore kind": (dict(labels_true=["a", "b", "c"], ignore_index=1), "ignore_index: expected a string"),
    "outside": (dict(num_classes=2), r"labels_true: expected codes 0..1, as num_classes is 2; got 2 at position 2"),
    "negative code": (dict(labels_pred=[0, -1, 1], num_clusters=2), "labels_pred: .*got -1 at position 1"),
    "coded strings": (dict(labels_pred=list("abc"), num_clusters=3), "labels_pred: expected codes .*got strings"),
    "device": (dict(device="mps"), "device: expected a device with float64"),
    "sparse tensor": (dict(labels_pred=torch.eye(3).to_sparse()), "labels_pred: expected a dense tensor"),
    "mask with gaps": (dict(mask=[True, None, False]), "mask: .*with missing entries"),
    "sparse mask": (dict(mask=torch.ones(3, dtype=torch.bool).to_sparse()), "mask: expected a dense tensor"),
    "heavy weights": (dict(weights=[2**62] * 3), r"weights: expected whole numbers with a sum below 2\*\*63"),
    "unsigned weight": (dict(weights=np.array([2**63, 1, 1], np.uint64)), "weights: expected numbers below 2"),
    "device without values": (dict(device="meta"), "device: expected a device with float64"),
    "two devices": (dict(labels_true=torch.zeros(3), labels_pred=torch.zeros(3, device="meta")), "true on cpu, .*meta"),
    "unsigned code": (
        dict(labels_true=np.array([2**64 - 1, 0, 1], np.uint64), num_classes=3),
        "got 18446744073709551615 at position 0",
    ),
    "noise above 64 bits": (dict(noise="cluster", noise_label=2**64), "noise_label: .* at most 64 bits"),
    "noise below 64 bits": (dict(noise="cluster", noise_label=-(2**63) - 1), "noise_label: .* at most 64 bits"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_line(name):
    changed, message = BAD[name]
    arguments: dict[str, Any] = {"labels_true": [0, 1, 2], "labels_pred": [0, 1, 1], **changed}
    with pytest.raises(ValueError, match=message) as caught:
        tce.evaluate(arguments.pop("labels_true"), arguments.pop("labels_pred"), **arguments)
    assert "\n" not in str(caught.value)


def test_the_first_bad_code_of_a_batch_is_named():
    pred = torch.zeros(2, 4, dtype=torch.int64)
    pred[1, 2] = 9
    with pytest.raises(ValueError, match=r"got 9 at position \(1, 2\)"):
        ContingencyTables.from_labels([0, 0, 0, 0], pred, num_clusters=3)
    with pytest.raises(ValueError, match=r"got 9 at position \(0, 2\)"):
        ContingencyTables.from_labels(pred, pred[1], num_clusters=3, mask=torch.ones(2, 4, dtype=torch.bool))


def test_light_weights_warn():
    with pytest.warns(UserWarning, match="mean is below 1"):
        ContingencyTables.from_labels([0, 1], [0, 1], weights=[0.5, 0.5])


@pytest.mark.parametrize("missing", [[], [7], list(range(5, 400))], ids=["none", "one", "most"])
@pytest.mark.parametrize("keep", [False, True], ids=["all", "masked"])
def test_labels_that_nearly_fill_a_wide_range(missing: list[int], keep: bool) -> None:
    """Where tables of the whole range are large, labels that leave few gaps are codes, others are looked up."""
    values = torch.tensor([x for x in range(-200, 300) if x + 200 not in missing])
    true = values.repeat(12)[torch.randperm(12 * len(values), generator=torch.Generator().manual_seed(0))]
    pred = true.roll(1)
    mask = torch.arange(len(true)) % 3 > 0 if keep else None
    tables = tce.ContingencyTables.from_labels(true, pred, mask=mask)
    kept = slice(None) if mask is None else mask
    pairs, counts = torch.unique(torch.stack([true[kept], pred[kept]]), dim=1, return_counts=True)
    _, row, column, found = tables.cells()
    named = torch.stack([tables.classes[row], tables.clusters[column]])
    assert torch.equal(named, pairs)
    assert torch.equal(found, counts)


@pytest.mark.parametrize("mask", [(0, 300), (2, 0, 300)], ids=str)
@pytest.mark.parametrize("step", [9, 2**50])
def test_a_mask_may_bring_an_empty_batch(mask: tuple[int, ...], step: int) -> None:
    true = np.arange(300) * step
    one = true.reshape((1,) * (len(mask) - 1) + (300,))
    tables = tce.ContingencyTables.from_labels(one, true, mask=np.ones(mask, bool))
    assert tables.batch_shape == mask[:-1]


def test_fields_of_records_are_labels_and_weights() -> None:
    """Their strides are no multiple of the size of an item."""
    records = np.array([(1, 2, 0.5), (1, 3, 1.5), (1, 3, 2.0)], dtype=[("a", "i1"), ("b", "i4"), ("c", "f8")])
    tables = tce.ContingencyTables.from_labels(records["b"], [0, 1, 1], weights=records["c"])
    assert tables.counts.tolist() == [[0.5, 0], [0, 3.5]]
