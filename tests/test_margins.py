"""Items that only one side groups: the common items are in the cells, the others in the margins."""

import copy
import pickle
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pyarrow as arrow
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torchclusteval as tce
from tests.support.strategies import sides_of_groups
from tests.support.streams import KINDS, cells_by_label, margins_by_label
from tests.support.values import listed
from torchclusteval import ContingencyAccumulator, ContingencyTables

ABSENT: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}


def by_label(tables: ContingencyTables) -> dict[str, Any]:
    """Everything that tables count, by label and without what is 0."""
    by_class, by_cluster, *_ = margins_by_label(tables)
    return {
        "cells": cells_by_label(tables),
        "by class": by_class,
        "by cluster": by_cluster,
        "considered": (tables.n_items / tables.coverage).nan_to_num().round(decimals=6).tolist(),
    }


def expected(
    true: list[Any],
    preds: list[list[Any]],
    absent: tuple[Any, Any],
    *,
    keep: list[bool] | None = None,
    ignored: Any = None,
    weights: list[float] | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {name: defaultdict(int) for name in ("cells", "by class", "by cluster")}
    considered = []
    for table, pred in enumerate(preds):
        covered = whole = 0.0
        for i, (a, b) in enumerate(zip(true, pred, strict=True)):
            n = 1 if weights is None else weights[i]
            if keep is not None and not keep[i]:
                continue
            if ignored is not None and a == ignored:
                whole += n
                continue
            lone = (absent[0] is not None and a == absent[0], absent[1] is not None and b == absent[1])
            if lone == (False, False):
                found["cells"][table, a, b] += n
                covered += n
            if lone == (False, True):
                found["by class"][table, a] += n
            if lone == (True, False):
                found["by cluster"][table, b] += n
            whole += n * (lone != (True, True))
        considered.append(round(whole, 6) if covered else 0.0)
    return {name: {k: v for k, v in x.items() if v} for name, x in found.items()} | {"considered": considered}


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_labels_against_counting_item_by_item(kind: str, layout: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 12))
    items = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    true = torch.tensor(data.draw(items), dtype=torch.int64)
    pred = torch.tensor([data.draw(items), data.draw(items)], dtype=torch.int64).reshape(2, n)
    keep = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    weights = data.draw(st.sampled_from([None, "integers", "floats"]))
    amounts = None if weights is None else [(i % 3 + 1) * (1 if weights == "integers" else 1.25) for i in range(n)]
    number = {name: data.draw(st.none() | st.integers(0, 6)) for name in ("absent_true", "absent_pred", "ignored")}
    to = KINDS[kind]
    label = {name: None if i is None else np.asarray(to(torch.tensor([i]))).tolist()[0] for name, i in number.items()}
    if label["ignored"] is not None and label["ignored"] == label["absent_true"]:
        label["ignored"] = None
    options: dict[str, Any] = {} if keep is None else {"mask": torch.tensor(keep, dtype=torch.bool)}
    if amounts is not None:
        options["weights"] = torch.tensor(amounts, dtype=torch.int64 if weights == "integers" else torch.float64)
    if kind == "text" and not n:
        label = dict.fromkeys(label)  # empty lists of strings have no type
    absent: dict[str, Any] = {name: label[name] for name in ("absent_true", "absent_pred")}
    given_options = {**options, **absent, "ignore_index": label["ignored"], "item_dims": 1, "layout": layout}
    tables = ContingencyTables.from_labels(to(true), to(pred), **given_options)
    classes, clusters = (np.asarray(to(x)).tolist() for x in (true, pred))
    lone = label["absent_true"], label["absent_pred"]
    found = expected(classes, clusters, lone, keep=keep, ignored=label["ignored"], weights=amounts)
    assert by_label(tables) == found
    assert tables.layout == layout
    assert (tables.is_integer) == (weights != "floats")
    assert tables.unmatched_by_class.dtype == tables.class_sizes.dtype


@pytest.mark.parametrize("sized", ["both", "classes", "clusters"])
@pytest.mark.parametrize("validate", [True, False])
@settings(max_examples=40)
@given(data=st.data())
def test_codes_against_counting_item_by_item(validate: bool, sized: str, data: st.DataObject) -> None:
    """Absent labels among the codes and outside; without checks, labels out of range are excluded."""
    n = data.draw(st.integers(1, 12))
    low, high = (-2, 6) if not validate and sized == "both" else (0, 3)
    label = st.none() | st.sampled_from([-1, 0, 2, 4, 5, 255])
    absent = data.draw(label), data.draw(label)

    def side(extra: int | None) -> list[int]:
        some = st.integers(low, high) if extra is None else st.integers(low, high) | st.just(extra)
        return data.draw(st.lists(some, min_size=n, max_size=n))

    true, pred = side(absent[0]), side(absent[1])
    inside = [
        (a == absent[0] or 0 <= a < 4 or sized == "clusters") and (b == absent[1] or 0 <= b < 4 or sized == "classes")
        for a, b in zip(true, pred, strict=True)
    ]
    sizes: dict[str, Any] = {
        "num_classes": None if sized == "clusters" else 4,
        "num_clusters": None if sized == "classes" else 4,
        "absent_true": absent[0],
        "absent_pred": absent[1],
    }
    found = expected(true, [pred], absent, keep=inside)
    labels = torch.tensor(true), torch.tensor(pred)
    tables = ContingencyTables.from_labels(*labels, validate=validate, **sizes)
    whole = {name: x for name, x in by_label(tables).items() if name != "considered"}
    assert whole == {name: x for name, x in found.items() if name != "considered"}
    assert sized != "both" or tables.shape == (4, 4)
    outside = len(true) - sum(a == absent[0] and b == absent[1] for a, b in zip(true, pred, strict=True))
    assert tables.coverage.nan_to_num().item() == (tables.n_items.item() / outside if outside else 0)


def test_labels_that_no_type_holds() -> None:
    small = torch.tensor([0, 1, 2], dtype=torch.uint8)
    tables = ContingencyTables.from_labels(small, small, absent_true=-1, absent_pred=700)
    assert tables.counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert tables.unmatched_by_class.tolist() == [0, 0, 0]
    unsigned = small.to(torch.uint64)
    accumulator = ContingencyAccumulator(absent_true=-1).update(np.array([2**64 - 1, 5], np.uint64), [0, 0])
    assert accumulator.tables().unmatched_by_cluster.tolist() == [0]
    sized = ContingencyAccumulator(3, 3, absent_true=-1, absent_pred=255)
    for chunk in (small, unsigned, small.long() - 1):
        sized.update(chunk, chunk.long().clamp(min=0))
    assert sized.tables().counts.tolist() == [[3, 0, 0], [0, 3, 0], [0, 0, 2]]
    with pytest.raises(ValueError, match="absent_true: expected a string, as the labels are; got 0"):
        ContingencyTables.from_labels(["a"], [1], absent_true=0)
    with pytest.raises(ValueError, match="absent_pred: expected a whole number"):
        ContingencyTables.from_labels(["a"], [1], absent_pred="x")
    sizes: list[dict[str, Any]] = [{"num_clusters": 3}, {"num_clusters": 3, "num_classes": 3}]
    for size in sizes:
        with pytest.raises(ValueError, match="absent_pred: expected a whole number, as the labels are codes; got 'x'"):
            ContingencyAccumulator(absent_pred="x", **size)


def test_booleans_text_and_frames() -> None:
    tables = ContingencyTables.from_labels([True, False, True], [1, 1, 0], absent_true=False, absent_pred=0)
    assert (listed(tables.classes), listed(tables.clusters), tables.counts.tolist()) == ([True], [1], [[1]])
    assert (tables.unmatched_by_class.tolist(), tables.unmatched_by_cluster.tolist()) == ([1], [1])
    for kind in (list, np.array, pandas.Series, arrow.array, lambda x: pandas.Series(x, dtype="category")):
        tables = ContingencyTables.from_labels(
            kind(["a", "-", "b", "-"]), kind(["x", "x", "none", "none"]), absent_true="-", absent_pred="none"
        )
        margins = {"by class": {(0, "b"): 1}, "by cluster": {(0, "x"): 1}}
        assert by_label(tables) == {"cells": {(0, "a", "x"): 1}, **margins, "considered": 3}
    runs = pandas.DataFrame({"first": ["x", "-", "y"], "second": [3, 4, -1]})  # vocabularies differ by run
    tables = ContingencyTables.from_labels(["a", "a", "b"], runs, absent_pred="-")
    assert tables.unmatched_by_class.tolist() == [[1, 0], [0, 0]]
    wanted = {(0, "a", "x"): 1, (0, "b", "y"): 1, (1, "a", 3): 1, (1, "a", 4): 1, (1, "b", -1): 1}
    assert by_label(tables)["cells"] == wanted


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_partition_measures_see_the_common_items_only(layout: str) -> None:
    """Also where a group loses all its items."""
    rng = np.random.default_rng(5)
    for scale in (1, 100_003):
        true, pred = rng.integers(0, 30, 200) * scale, rng.integers(0, 25, (3, 200)) * scale
        pred[:, true == 3 * scale] = 0
        whole = ContingencyTables.from_labels(true, pred, layout=layout, **ABSENT)
        common = ContingencyTables.from_labels(true, pred, layout=layout, ignore_index=0, noise_label=0)
        for a, b in ((whole, common), (whole[1], common[1]), (whole[1:], common[1:]), (whole.mT, common.mT)):
            found, wanted = (tce.evaluate_tables(x, "all") for x in (a, b))
            assert torch.equal(a.n_classes, b.n_classes)
            assert torch.equal(a.n_items, b.n_items)
            for name, value in wanted.items():
                torch.testing.assert_close(found[name], value, rtol=1e-12, atol=1e-12, equal_nan=True, msg=name)
        neither = (true == 0) & (pred == 0)
        share = ((true != 0) & (pred != 0)).sum(1) / (~neither).sum(1)
        assert whole.coverage.tolist() == share.tolist()


@pytest.fixture(params=["dense", "sparse"])
def tables(request: pytest.FixtureRequest) -> ContingencyTables:
    rng = np.random.default_rng(1)
    true, pred = rng.integers(0, 4, 40), rng.integers(0, 5, (3, 40))
    return ContingencyTables.from_labels(true, pred, layout=request.param, **ABSENT)


def test_sides_and_selections(tables: ContingencyTables) -> None:
    def same(a: ContingencyTables, b: ContingencyTables) -> bool:
        names = ("unmatched_by_class", "unmatched_by_cluster", "whole_class_sizes", "whole_cluster_sizes", "coverage")
        equal = all(torch.equal(getattr(a, name), getattr(b, name)) for name in names)
        return equal and torch.equal(a.to_dense().counts, b.to_dense().counts)

    turned = tables.mT
    assert torch.equal(turned.unmatched_by_class, tables.unmatched_by_cluster)
    assert torch.equal(turned.unmatched_by_cluster, tables.unmatched_by_class)
    assert torch.equal(turned.whole_class_sizes, tables.whole_cluster_sizes)
    assert torch.equal(tables.whole_class_sizes, tables.class_sizes + tables.unmatched_by_class)
    for made in (
        turned.mT,
        tables.to_dense(),
        tables.to_sparse(),
        tables.to_sparse().to_dense(),
        tables.to("cpu"),
        tables[:],
        tables[[0, 1, 2]],
        pickle.loads(pickle.dumps(tables)),
        copy.deepcopy(tables),
        tables._narrow(0, 3),
    ):
        assert same(made, tables)
    assert tables[1].unmatched_by_class.tolist() == tables.unmatched_by_class[1].tolist()
    assert [x.unmatched_by_cluster.tolist() for x in tables] == tables.unmatched_by_cluster.tolist()
    assert tables[torch.tensor([[2, 0]])].unmatched_by_class.tolist() == [tables.unmatched_by_class[[2, 0]].tolist()]
    assert tables[:0].unmatched_by_class.shape == (0, 3)


def test_items_that_neither_side_groups_change_nothing(tables: ContingencyTables) -> None:
    rng = np.random.default_rng(1)
    true, pred = rng.integers(0, 4, 40), rng.integers(0, 5, (3, 40))
    more = ContingencyTables.from_labels(
        np.append(true, [0, 0]), np.append(pred, np.zeros((3, 2), int), 1), layout=tables.layout, **ABSENT
    )
    assert by_label(more) == by_label(tables)
    assert torch.equal(more.coverage, tables.coverage)
    assert {k: v.tolist() for k, v in tce.evaluate_tables(more, "all").items()} == {
        k: v.tolist() for k, v in tce.evaluate_tables(tables, "all").items()
    }


def test_groups_of_unmatched_items_alone_are_no_padding() -> None:
    tables = ContingencyTables.from_labels([1, 1, 2, 0], [1, 1, 0, 5], **ABSENT)
    assert tables.counts.tolist() == [[2, 0], [0, 0]]
    assert (listed(tables.classes), listed(tables.clusters)) == ([1, 2], [1, 5])
    assert (tables.n_classes.item(), tables.n_clusters.item(), tables.n_items.item()) == (1, 1, 2)
    assert tables.coverage.item() == 0.5
    nothing = ContingencyTables.from_labels([0, 0], [0, 0], **ABSENT)
    assert (nothing.n_items.item(), nothing.whole_class_sizes.tolist()) == (0, [0])
    assert nothing.coverage.isnan()


def test_refusals() -> None:
    makers: list[Any] = [
        lambda **options: ContingencyTables.from_labels([0, 1], [0, 1], **options),
        lambda **options: ContingencyAccumulator(**options),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=r"absent_true: expected a label other than ignore_index, .*got 0 for"):
            make(absent_true=0, ignore_index=0)
        with pytest.raises(ValueError, match=r"absent_pred: expected a label other than noise_label, .*got -1 for"):
            make(absent_pred=-1, noise_label=-1)
        for policy in ("cluster", "singletons"):
            with pytest.raises(ValueError, match=f"noise: expected 'ignore' with absent_true .*got '{policy}'"):
                make(absent_true=0, noise_label=-1, noise=policy)
        make(absent_true=0, noise_label=0, absent_pred=1, ignore_index=1)


def test_gradients_of_weights() -> None:
    weights = torch.ones(4, dtype=torch.float64, requires_grad=True)
    tables = ContingencyTables.from_labels([0, 1, 1, 2], [1, 0, 1, 2], weights=weights, **ABSENT)
    (gradient,) = torch.autograd.grad(tables.unmatched_by_class.sum() + 2 * tables.unmatched_by_cluster.sum(), weights)
    assert gradient.tolist() == [2, 1, 0, 0]


def test_soft_assignments_beside_absent_labels() -> None:
    accumulator = ContingencyAccumulator(2, 2, weights=True, absent_true=-1, absent_pred=0)
    accumulator.update_soft([[0.5, 0.5]], [[0.25, 0.75]])
    accumulator.update([-1, 1], [1, 0])
    tables = accumulator.tables()
    assert tables.counts.tolist() == [[0, 0.375], [0, 0.375]]
    assert tables.unmatched_by_class.tolist() == [0.125, 1.125]
    assert tables.unmatched_by_cluster.tolist() == [0, 1]


def test_missing_labels_beside_absent_ones() -> None:
    """An item without a label is left out and lowers coverage, whatever the other side says."""
    tables = ContingencyTables.from_labels([None, 1, 0, 2], [0, 0, 2, None], missing="ignore", **ABSENT)
    assert (tables.n_items.item(), tables.unmatched_by_class.tolist()) == (0, [1])
    assert tables.unmatched_by_cluster.tolist() == [1]
    assert listed(tables.classes) == [1]
    more = ContingencyTables.from_labels([None, 1, 0, 1], [0, 1, 2, 0], missing="ignore", **ABSENT)
    assert more.coverage.item() == 0.25
    with pytest.raises(ValueError, match="labels_true: expected a label for every item; got None at position 0"):
        ContingencyTables.from_labels([None, 1], [0, 1], **ABSENT)


@given(st.lists(sides_of_groups(10, 4), max_size=4), st.sampled_from(["auto", "dense", "sparse"]))
def test_documents_against_set_operations(documents: list[tuple[list[set[int]], list[set[int]]]], layout: str) -> None:
    sides = [{f"doc {i}": pair[side] for i, pair in enumerate(documents)} for side in (0, 1)]
    tables = ContingencyTables.from_documents(*sides, layout=layout)
    assert tables.names == tuple(sides[0])
    assert len(tables) == len(documents)
    assert layout in ("auto", tables.layout)
    for name, table in zip(sides[0], tables, strict=True):
        true, pred = sides[0][name], sides[1][name]
        counts, by_class, by_cluster = table.to_dense().counts, table.unmatched_by_class, table.unmatched_by_cluster
        rows, columns = counts.shape
        true, pred = true + [set()] * (rows - len(true)), pred + [set()] * (columns - len(pred))
        assert counts.tolist() == [[len(a & b) for b in pred] for a in true]
        assert by_class.tolist() == [len(a - set().union(*pred)) for a in true]
        assert by_cluster.tolist() == [len(b - set().union(*true)) for b in pred]
        assert table.whole_class_sizes.tolist() == [len(a) for a in true]
        items = set().union(*true) | set().union(*pred)
        assert table.coverage.nan_to_num(-1).item() == (counts.sum().item() / len(items) if items else -1)
        alone = ContingencyTables.from_groups(sides[0][name], sides[1][name])
        assert torch.equal(alone.whole_cluster_sizes, table.whole_cluster_sizes[: alone.shape[1]])


def test_groups_equal_labels() -> None:
    rng = np.random.default_rng(4)
    true, pred = rng.integers(0, 5, 60), rng.integers(0, 5, 60)
    groups = [{f"g{k}": set(np.flatnonzero(side == k).tolist()) for k in range(1, 5)} for side in (true, pred)]
    found, wanted = ContingencyTables.from_groups(*groups), ContingencyTables.from_labels(true, pred, **ABSENT)
    assert found.counts.tolist() == wanted.counts.tolist()
    assert found.unmatched_by_class.tolist() == wanted.unmatched_by_class.tolist()
    assert listed(found.classes) == [f"g{k}" for k in range(1, 5)]
    assert found.coverage == wanted.coverage
    assert tce.evaluate_tables(found, "all").to_dict() == tce.evaluate_tables(wanted, "all").to_dict()


def test_documents_of_one_side() -> None:
    many = {x: [[1]] for x in "aefghij"}
    said = "^pred_documents lacks 7 of 8 documents, which count as empty there: 'a', 'e', 'f', 'g', 'h' and 2 more$"
    with pytest.warns(UserWarning, match=said):
        ContingencyTables.from_documents(many | {"b": [[1]]}, {"b": [[1]]})
    with pytest.warns(UserWarning, match="^true lacks 1 of 1 recordings, which count as empty there: 'r'$"):
        ContingencyTables.from_intervals({}, {"r": [(0, 1, "x")]})
    both = (
        "^pred_documents lacks 1 of 2 .*: 'a'; true_documents lacks 1 of 2 documents, which count as empty there: 'c'$"
    )
    with pytest.warns(UserWarning, match=both):
        tables = ContingencyTables.from_documents({"a": [[1, 2]], "b": [{1}]}, {"b": [(1, 5)], "c": [np.array([3])]})
    assert tables.names == ("a", "b", "c")
    assert tables.counts.tolist() == [[[0]], [[1]], [[0]]]
    assert tables.unmatched_by_class.tolist() == [[2], [0], [0]]
    assert tables.unmatched_by_cluster.tolist() == [[0], [1], [1]]
    assert tables.coverage.tolist() == [0, 0.5, 0]


def test_an_item_in_two_groups() -> None:
    true, pred = [{(0, 1), (2, 3)}, {(2, 3), (5, 5)}], [{(0, 1)}, {(2, 3)}]
    with pytest.raises(ValueError, match=r"true_groups: .*got \(2, 3\) in groups 0 and 1 \(on_duplicate=\"first\""):
        ContingencyTables.from_groups(true, pred)
    with pytest.raises(ValueError, match=r"pred_groups: .*got \(2, 3\) in groups 0 and 1"):
        ContingencyTables.from_groups(pred, true)
    with pytest.raises(ValueError, match=r"got 1 in groups 'x' and 'y' of document 'd' \(on"):
        ContingencyTables.from_documents({"d": {"x": [1], "y": [1]}}, {})
    kept = ContingencyTables.from_groups(true, pred, on_duplicate="first")
    assert kept.counts.tolist() == [[1, 1], [0, 0]]
    assert kept.unmatched_by_class.tolist() == [0, 1]
    assert ContingencyTables.from_groups([[1, 1, 2]], [[2, 2]]).unmatched_by_class.tolist() == [1]


OF_GROUPS, OF_DOCUMENTS = ContingencyTables.from_groups, ContingencyTables.from_documents
NO_GROUPS: list[tuple[Callable[[], Any], str]] = [
    (lambda: OF_GROUPS("ab", []), "true_groups: expected a list of groups, each a set of items; got str"),
    (lambda: OF_GROUPS({(1, 2)}, []), "true_groups: expected a list of groups, each a set of items; got set"),
    (lambda: OF_GROUPS([[(1, [2])]], []), r"true_groups: expected items that can be keys of .*; got \(1, \[2\]\)"),
    (lambda: OF_GROUPS([1, 2], []), "true_groups: expected groups that are sets or lists of items; got 1 as group 0"),
    (lambda: OF_GROUPS([], ["ab"]), "pred_groups: expected groups that are sets or lists of items; got 'ab' as"),
    (lambda: OF_GROUPS([[[1, 2]]], []), r"true_groups: expected items that can be keys of a dictionary; got \[1, 2\]"),
    (lambda: OF_GROUPS([{1, "x"}], [{"1", "x"}]), "items: expected names of one type on both sides; got others: 1"),
    (lambda: OF_GROUPS([{1.0}], [{float("nan")}]), "pred_groups: expected items that equal themselves; got nan"),
    (lambda: OF_GROUPS([], [], on_duplicate="last"), "on_duplicate: expected one of error, first; got 'last'"),
    (lambda: OF_GROUPS([], [], layout="ragged"), "layout: expected one of auto, dense, sparse; got 'ragged'"),
    (lambda: OF_DOCUMENTS([], {}), "true_documents: expected a mapping of documents to their groups; got list"),
    (lambda: OF_DOCUMENTS({1: [{1, 2}]}, {"1": [{1, 2}]}), r"true_documents, pred_documents: .* \(make them one"),
    (lambda: OF_DOCUMENTS({1: [{1, 2}]}, {1: [{"1", "2"}]}), "items of document 1: expected names of one type on both"),
]


@pytest.mark.parametrize(("call", "message"), NO_GROUPS)
def test_groups_that_are_none(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_items_without_a_group_at_all() -> None:
    tables = ContingencyTables.from_labels([0, 0, 0], [0, 0, 0], by=[1, 1, 2], absent_true=0, absent_pred=0)
    assert tables.batch_shape == (2,)
    assert tables.n_items.tolist() == [0, 0]
    assert tables.n_considered.tolist() == [0, 0]
    assert tables.whole_class_sizes.sum() == tables.whole_cluster_sizes.sum() == 0


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
    with pytest.raises(ValueError, match="zero_division: expected None, as none of the measures"):
        tce.evaluate_tables(nothing, "rand", zero_division=0.0)


def test_pooled_gradients_are_finite_without_objects() -> None:
    counts = torch.zeros(2, 2, 2, dtype=torch.float64, requires_grad=True)
    for name, value in tce.pooled(ContingencyTables(counts), ["segmentation", "tracking"]).items():
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, counts, retain_graph=True)
            assert gradient.isfinite().all(), name
