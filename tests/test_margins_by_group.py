"""Tables of groups of items with items that only one side groups: those of separate calls and of chunks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.streams import KINDS
from tests.support.values import differing
from torchclusteval import ContingencyAccumulator, ContingencyTables

N = 300
OPTIONS: dict[str, dict[str, Any]] = {
    "both": {"absent_true": 0, "absent_pred": 2},
    "one side": {"absent_pred": 1},
    "no such label": {"absent_true": 77, "absent_pred": 78},
    "classes given": {"absent_true": -1, "absent_pred": 2, "num_classes": 6},
    "both given": {"absent_true": 0, "absent_pred": -1, "num_classes": 6, "num_clusters": 7},
}


def labels() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    by = torch.randint(6, (N,), generator=generator)
    true = torch.randint(6, (N,), generator=generator).minimum(by)  # the first group lacks classes
    pred = torch.randint(7, (3, N), generator=generator).where(torch.rand(3, N, generator=generator) < 0.4, true)
    pred[:, by == 5] = 2  # the last lacks clusters
    return true, pred, by


def contents(tables: ContingencyTables) -> list[list[float]]:
    """Counts and sizes of a batch of tables in order, without what is empty."""
    found = []
    for table in tables.to_dense():
        parts = (table.counts, table.unmatched_by_class, table.unmatched_by_cluster, table.n_considered)
        found.append([x for part in parts for x in part.reshape(-1).tolist() if x])
    return found


@pytest.mark.parametrize("layout", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_groups_are_separate_calls(options: dict[str, Any], layout: str) -> None:
    true, pred, by = labels()
    tables = ContingencyTables.from_labels(true, pred, by=by, layout=layout, **options)
    alone = [ContingencyTables.from_labels(true[by == g], pred[:, by == g], **options) for g in range(6)]
    for group, expected in enumerate(alone):
        assert contents(tables[:, group]) == contents(expected)
        assert contents(tables.mT[:, group]) == contents(expected.mT)
        assert contents(tables.to_sparse()[:, group].to_dense()) == contents(expected)
        if not {"num_classes", "num_clusters"} & options.keys():
            assert tables.classes is not None
            assert expected.classes is not None
            whole = expected.whole_class_sizes.sum(0) > 0  # other labels are padding
            found = tables.whole_class_sizes[:, group].sum(0) > 0
            assert torch.as_tensor(tables.classes)[found].tolist() == torch.as_tensor(expected.classes)[whole].tolist()
            assert torch.equal(tables.unmatched_by_class[:, group, found], expected.unmatched_by_class[:, whole])


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_labels(kind: str) -> None:
    true, pred, by = labels()
    absent = KINDS[kind](torch.tensor([2]))[0]
    absent = absent.item() if hasattr(absent, "item") else absent
    given = [KINDS[kind](x) for x in (true, pred)]
    tables = ContingencyTables.from_labels(*given, by=by, absent_true=absent, absent_pred=absent)
    plain = ContingencyTables.from_labels(true, pred, by=by, absent_true=2, absent_pred=2)
    assert list(map(sorted, contents(tables.mT[0]))) == list(map(sorted, contents(plain.mT[0])))


@pytest.mark.parametrize("sizes", [{}, {"num_groups": 6}, {"num_groups": 6, "num_classes": 6, "num_clusters": 7}])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_chunks(options: dict[str, Any], sizes: dict[str, int]) -> None:
    true, pred, by = labels()
    options = {**options, **sizes}
    expected = ContingencyTables.from_labels(true, pred, by=by, **options)
    parts = [ContingencyAccumulator(batch_shape=(3,), **options) for _ in range(2)]
    for start in range(0, N, 50):
        some = slice(start, start + 50)
        parts[start // 150].update(true[some], pred[:, some], by=by[some])
    loaded = ContingencyAccumulator(batch_shape=(3,), **options)
    loaded.load_state_dict(parts[1].state_dict())
    found = loaded.merge(parts[0]).tables()
    assert contents(found.mT.mT.to_dense()[1]) == contents(expected.to_dense()[1])
    ours, theirs = tce.evaluate_tables(found, "pairs"), tce.evaluate_tables(expected, "pairs")
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-13, atol=0, equal_nan=True)
    torch.testing.assert_close(ours.coverage, theirs.coverage, rtol=0, atol=0, equal_nan=True)


def test_items_without_a_group_at_all() -> None:
    tables = ContingencyTables.from_labels([0, 0, 0], [0, 0, 0], by=[1, 1, 2], absent_true=0, absent_pred=0)
    assert tables.batch_shape == (2,)
    assert tables.n_items.tolist() == [0, 0]
    assert tables.n_considered.tolist() == [0, 0]
    assert tables.whole_class_sizes.sum() == tables.whole_cluster_sizes.sum() == 0


def test_items_of_one_side_are_not_resampled() -> None:
    true, pred, _ = labels()
    tables = ContingencyTables.from_labels(true, pred[0], absent_true=0, absent_pred=2)
    for function in (tce.bootstrap, tce.permutation_test):
        with pytest.raises(ValueError, match="got 'muc_f', which sees items that only one side groups"):
            function(tables, ["muc_f", "rand"], 10)
        assert "rand" in function(tables, ["rand"], 10)


def test_pooled_documents_add_up() -> None:
    """By hand: documents a (classes xy and z, clusters xw) and b (one class and cluster of two)."""
    documents = {"a": [{"x", "y"}, {"z"}], "b": [{1, 2}]}, {"a": [{"x", "w"}], "b": [{1, 2}]}
    pooled = tce.pooled(ContingencyTables.from_documents(*documents), "coreference")
    found = {name: round(pooled[name].item(), 12) for name in ("muc_recall", "muc_precision", "coref_bcubed_recall")}
    assert found == {"muc_recall": 0.5, "muc_precision": 0.5, "coref_bcubed_recall": 0.5}
    assert pooled["merge_distance"].item() == 2
    nothing = ContingencyTables.from_documents({"a": []}, {"a": []})
    assert tce.pooled(nothing, "muc_f")["muc_f"].isnan()
    assert tce.pooled(nothing, "muc_f", zero_division=0.0)["muc_f"].item() == 0
    with pytest.raises(ValueError, match="zero_division: expected None, as no measure"):
        tce.evaluate_tables(nothing, "rand", zero_division=0.0)


@pytest.mark.parametrize(
    ("true", "pred"),
    [
        ([0, 0, 0], [1, 1, 2]),
        ([1, 1, 2], [0, 0, 0]),
        ([1, 1, 0], [0, 0, 2]),
        ([1, 2], [1, 2]),
        ([1, 1, 1, 2], [1, 1, 2, 0]),
    ],
)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_one_group_by_itself(true: list[int], pred: list[int], layout: str) -> None:
    """Its pooled values are those of its table, also 0/0 of measures whose value is then nan."""
    families = ["coreference", "segmentation", "tracking"]
    tables = ContingencyTables.from_labels(
        true, pred, by=["a"] * len(true), absent_true=0, absent_pred=0, layout=layout
    )
    alone = tce.evaluate_tables(tables[0], families)
    assert differing(dict(tce.pooled(tables, families)), dict(alone)) == []
    separate = ContingencyTables.from_labels(true, pred, absent_true=0, absent_pred=0, layout=layout)
    assert differing(dict(alone), dict(tce.evaluate_tables(separate, families))) == []
    assert tables[0].without_margins().n_items == separate.without_margins().n_items


def test_pooled_gradients_are_finite_without_objects() -> None:
    counts = torch.zeros(2, 2, 2, dtype=torch.float64, requires_grad=True)
    for name, value in tce.pooled(ContingencyTables(counts), ["segmentation", "tracking"]).items():
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, counts, retain_graph=True)
            assert gradient.isfinite().all(), name


def test_a_lost_group_has_the_weight_of_its_items() -> None:
    """By hand: half of the true items are in a video of which the response has nothing."""
    tables = ContingencyTables.from_labels(
        [1] * 8, [5] * 4 + [0] * 4, by=["a"] * 4 + ["b"] * 4, absent_true=0, absent_pred=0
    )
    scores = tce.evaluate_tables(tables, ["idf1", "rand"])
    assert scores["idf1"].tolist() == [1, 0]
    assert scores.macro(weights="items")["idf1"].item() == 0.5
    assert scores.macro(weights="items")["rand"].item() == 1  # of the items that both sides group
