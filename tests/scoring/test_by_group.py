"""Scores of groups of items: those of separate calls, whatever the order of the items."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.values import all_values, differing, listed
from torchclusteval import ContingencyTables, Scores
from torchclusteval.measures import MEASURES, ONE_SIDED

N = 400
EVERY = ["all", *ONE_SIDED]


def labels(seed: int = 0, n: int = N, groups: int = 7, classes: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    """Classes ``(n,)``, clusters ``(3, n)`` and groups ``(n,)`` in any order; groups differ in size and labels."""
    generator = torch.Generator().manual_seed(seed)
    by = torch.randint(groups, (n,), generator=generator).minimum(torch.randint(groups, (n,), generator=generator))
    true = torch.randint(classes, (n,), generator=generator).minimum(by + 1)
    noisy = torch.randint(classes + 2, (3, n), generator=generator)
    return true, noisy.where(torch.rand(3, n, generator=generator) < 0.5, true), by


def assert_separate(scores: Scores, by: Tensor, separate: Callable[[Tensor], Scores]) -> None:
    """Every group has the scores of a call with its items alone."""
    ids = by.unique().tolist()
    assert torch.as_tensor(scores.groups).tolist() == ids
    for place, group in enumerate(ids):
        alone = separate((by == group).nonzero().squeeze(-1))
        found = {name: value[..., place].contiguous() for name, value in scores.items()}
        assert differing(found, dict(alone)) == []
        assert scores.n_items[..., place].tolist() == alone.n_items.tolist()
        torch.testing.assert_close(scores.coverage[..., place], alone.coverage, rtol=0, atol=0, equal_nan=True)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "noise ignored": {"noise_label": 1},
    "noise as a cluster": {"noise_label": 1, "noise": "cluster"},
    "noise as singletons": {"noise_label": 1, "noise": "singletons"},
    "ignored class": {"ignore_index": 0},
    "classes given": {"num_classes": 5},
    "clusters given": {"num_clusters": 7, "noise_label": 3, "noise": "cluster"},
    "both given": {"num_classes": 5, "num_clusters": 7},
    "absent": {"absent_true": 0, "absent_pred": 2},
    "absent clusters": {"absent_pred": 0},
    "absent, not there": {"absent_true": 99, "absent_pred": -1},
    "absent, classes given": {"absent_true": 0, "absent_pred": 2, "num_classes": 5},
    "absent, clusters given": {"absent_true": -1, "absent_pred": 2, "num_clusters": 7},
    "absent, both given": {"absent_true": 0, "absent_pred": 2, "num_classes": 5, "num_clusters": 7},
    "out of range": {"num_classes": 3, "num_clusters": 7, "validate": False},
}


@pytest.mark.parametrize("layout", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_groups_are_separate_calls(options: dict[str, Any], layout: str) -> None:
    true, pred, by = labels()
    scores = tce.evaluate(true, pred, EVERY, by=by, layout=layout, **options)
    assert scores.batch_shape == (3, 7)
    assert_separate(scores, by, lambda items: tce.evaluate(true[items], pred[:, items], EVERY, **options))


@pytest.mark.parametrize("kind", ["integer", "float"])
def test_weights_and_masks(kind: str) -> None:
    true, pred, by = labels(1)
    generator = torch.Generator().manual_seed(2)
    weights = torch.randint(1, 4, (N,), generator=generator)
    weights = weights if kind == "integer" else weights + 0.25
    mask = torch.rand(3, N, generator=generator) < 0.7
    scores = tce.evaluate(true, pred, "all", by=by, weights=weights, mask=mask, ignore_index=0)
    score = partial(tce.evaluate, measures="all", ignore_index=0)
    assert_separate(scores, by, lambda x: score(true[x], pred[:, x], weights=weights[x], mask=mask[:, x]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-2, 2)), min_size=1, max_size=25),
    st.randoms(use_true_random=False),
)
def test_the_order_of_items_is_free(items: list[tuple[int, int, int]], random: Any) -> None:
    true, pred, by = (torch.tensor(x) for x in zip(*items, strict=True))
    scores = tce.evaluate(true, pred, "all", by=by)
    assert_separate(scores, by, lambda some: tce.evaluate(true[some], pred[some], "all"))
    order = torch.tensor(random.sample(range(len(items)), len(items)))
    assert differing(dict(tce.evaluate(true[order], pred[order], "all", by=by[order])), dict(scores)) == []


def test_rows_and_columns_are_those_of_the_group() -> None:
    true, pred, by = ["x", "y", "z", "x"], [3, 1, 1, 9], ["b", "a", "a", "b"]
    tables = ContingencyTables.from_labels(true, pred, by=by)
    assert listed(tables.groups) == ["a", "b"]
    assert tables.counts.tolist() == [[[0, 0, 0], [1, 0, 0], [1, 0, 0]], [[0, 1, 1], [0, 0, 0], [0, 0, 0]]]
    assert listed(tables.classes) == ["x", "y", "z"]
    assert listed(tables.clusters) == [1, 3, 9]


def test_large_tables_have_the_rows_and_columns_of_their_group() -> None:
    documents, own = 1500, torch.arange(1500).repeat_interleave(4)
    true = 3 * own + torch.tensor([0, 1, 1, 2]).repeat(documents)
    pred = 5 * own + torch.tensor([4, 0, 0, 2]).repeat(documents)
    tables = ContingencyTables.from_labels(true, pred, by=own)
    assert tables.shape == (documents, 3, 3)
    assert tables.counts[7].tolist() == [[0, 0, 1], [2, 0, 0], [0, 1, 0]]
    assert tables.classes[7].tolist() == [21, 22, 23]
    assert tables.clusters[7].tolist() == [35, 37, 39]


def test_by_class_and_by_cluster() -> None:
    true, pred, by = labels(4)
    found = tce.per_class(ContingencyTables.from_labels(true, pred[0], by=by))
    for place, group in enumerate(by.unique().tolist()):
        alone = tce.per_class(ContingencyTables.from_labels(true[by == group], pred[0, by == group]))
        kept = torch.as_tensor(found["size"])[place] > 0
        assert torch.as_tensor(found.labels)[kept].tolist() == torch.as_tensor(alone.labels).tolist()
        for name in ("size", "purity", "entropy", "bcubed", "best_f", "best_match"):
            assert found[name][place, kept].tolist() == pytest.approx(alone[name].tolist(), rel=1e-12)


def test_booleans_are_groups() -> None:
    true, pred, by = labels()
    scores = tce.evaluate(true, pred, by=by > 2)
    assert torch.as_tensor(scores.groups).tolist() == [False, True]


def test_an_id_under_the_mask_is_no_group() -> None:
    true, pred, by = labels()
    mask = (by != 2) & (torch.arange(N) % 3 > 0)
    scores = tce.evaluate(true, pred, by=by, mask=mask)
    assert torch.as_tensor(scores.groups).tolist() == [0, 1, 3, 4, 5, 6]
    everything = tce.evaluate(true, pred, by=by, mask=torch.zeros(N, dtype=torch.bool))
    assert everything.batch_shape == (3, 0)
    assert bool(everything.macro()["adjusted_rand"].isnan().all())


def test_an_ignored_group_stays() -> None:
    """Its items count as unmasked: their share in the tables is 0."""
    scores = tce.evaluate([0, 1, 1, 0], [0, 0, 1, 1], by=[0, 0, 1, 1], mask=[1 == 1] * 4, ignore_index=None)
    assert scores.coverage.tolist() == [1, 1]
    noise = tce.evaluate([0, 1, 1, 0], [5, 5, 1, 1], by=[0, 0, 1, 1], noise_label=5)
    assert noise.n_items.tolist() == [0, 2]
    assert noise.coverage.tolist() == [0, 1]
    assert noise["rand"].isnan().tolist() == [True, False]


def test_missing_ids() -> None:
    true, pred, by = [0, 0, 1, 1], [0, 0, 1, 0], [1.0, float("nan"), 1.0, 2.0]
    with pytest.raises(ValueError, match=r"by: expected a label for every item; got nan at position 1 .*missing="):
        tce.evaluate(true, pred, by=by)
    scores = tce.evaluate(true, pred, by=by, missing="ignore")
    assert torch.as_tensor(scores.groups).tolist() == [1, 2]
    assert scores.n_items.tolist() == [2, 1]
    masked = tce.evaluate(true, pred, by=["a", None, "a", "b"], mask=[True, False, True, True])
    assert differing(dict(masked), dict(scores)) == []


def test_images() -> None:
    true, pred, by = labels()
    images = true.reshape(20, 20), pred.reshape(3, 20, 20)
    scores = tce.evaluate(*images, by=by.reshape(20, 20), item_dims=2, mask=true.reshape(20, 20) > 0)
    flat = tce.evaluate(true, pred, by=by, mask=true > 0)
    assert differing(dict(scores), dict(flat)) == []


def test_every_clustering_has_its_own_groups() -> None:
    true, pred, by = labels()
    several = torch.stack([by, by.flip(0), by * 0])
    scores = tce.evaluate(true, pred, by=several)
    assert scores.batch_shape == (3, 7)
    for row in range(3):
        alone = tce.evaluate(true, pred[row], by=several[row])
        found = {name: value[row, : alone.batch_shape[0]].contiguous() for name, value in scores.items()}
        assert differing(found, dict(alone)) == []


def test_codes_of_groups() -> None:
    true, pred, by = labels()
    scores = tce.evaluate(true, pred, by=by * 2, num_groups=14)
    assert scores.batch_shape == (3, 14)
    assert scores["rand"][:, 1::2].isnan().all()
    plain = tce.evaluate(true, pred, by=by)
    assert differing({k: v[:, ::2].contiguous() for k, v in scores.items()}, dict(plain)) == []
    with pytest.raises(ValueError, match=r"by: expected codes 0..3, as num_groups is 4; got \d at position \d+"):
        tce.evaluate(true, pred, by=by, num_groups=4)
    unchecked = tce.evaluate(true, pred, by=by, num_groups=4, validate=False, num_classes=5, num_clusters=7)
    assert unchecked.n_items.sum(-1).tolist() == [int((by < 4).sum())] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": [0, 1]}, r"by: expected ids, one for each of the 4 items; got shape \(2,\)"),
        ({"by": 3}, "by: expected a tensor, an array or a list; got int"),
        ({"by": [0.5, 1, 1, 1]}, "by: expected labels of one kind, whole numbers or strings; got 0.5 at position 0"),
        ({"by": [[0, 0, 1, 1]] * 3}, r"by: expected ids that broadcast to the batch \(2,\); got shape \(3, 4\)"),
        ({"by": {"a": [0, 0, 1, 1]}}, r"by: expected an id for each item; got 1 columns of them"),
        ({"by": ["a"] * 4, "num_groups": 2}, r"by: expected codes 0..1, as num_groups is given; got strings"),
        ({"by": [0, 0, 1, 1], "num_groups": True}, "num_groups: expected a whole number of at least 1; got True"),
        ({"num_groups": 2}, "num_groups: expected by= too"),
        ({"by": [0, 0, 1, 1], "num_groups": 2**62}, r"num_groups: expected at most 2\*\*32 tables; got 46116"),
    ],
)
def test_bad_groups(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tce.evaluate([0, 0, 1, 1], [[0, 1, 1, 1], [0, 0, 1, 1]], **options)


def test_pandas_indexes() -> None:
    frame = pd.DataFrame({"class": [0, 0, 1], "cluster": [0, 1, 1], "document": ["b", "a", "a"]}, index=["p", "q", "r"])
    scores = tce.evaluate(frame["class"], frame["cluster"], by=frame["document"])
    assert scores.to_pandas().index.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"by: expected the index of labels_true; got the same labels in"):
        tce.evaluate(frame["class"], frame["cluster"], by=frame["document"].iloc[::-1])
    with pytest.raises(ValueError, match="by: expected an id for each item; got 3 columns of them"):
        tce.evaluate(frame["class"], frame["cluster"], by=frame)


def test_names_of_clusterings_and_groups() -> None:
    true, pred, by = labels()
    scores = tce.evaluate(true, {"a": pred[0], "b": true + 1}, by=by)
    frame = scores.to_pandas()
    assert frame.index.tolist() == [(name, group) for name in "ab" for group in range(7)]
    assert frame.loc[("b", 3), "rand"] == 1
    assert scores.macro().best_clustering("ari") == "b"
    shown = str(scores).splitlines()
    assert shown[0] == "Scores of 2 clusterings, means over 7 groups (macro)"
    assert shown[1].split() == ["measure", "a", "b"]
    mean = tce.evaluate(true, pred[0], ["rand"], by=by)["rand"].mean()
    assert ["rand", f"{mean:.4f}", "1.0000"] in [line.split() for line in shown]
    assert scores.summary().to_dict() == scores.macro().summary().to_dict()
    assert "Scores of 7 groups" in str(tce.evaluate(true, pred[0], by=by))


def test_groups_of_selected_tables() -> None:
    true, pred, by = labels()
    tables = ContingencyTables.from_labels(true, pred, by=by * 10)
    whole = range(7)
    for some, ids in ((tables[1], whole), (tables[:2], whole), (tables[0][[2, 5]], (2, 5)), (tables[0].mT, whole)):
        assert torch.as_tensor(some.groups).tolist() == [10 * i for i in ids]
    assert tables[0][3].groups is None
    chosen, scores = tce.evaluate_tables(tables[1][2:4], "all"), tce.evaluate_tables(tables, "all")
    assert differing(dict(chosen), {k: v[1, 2:4].contiguous() for k, v in scores.items()}) == []
    turned = tce.evaluate_tables(tables.mT, "all")
    assert differing({"a": turned["homogeneity"]}, {"a": scores["completeness"]}) == []


def test_memory_follows_cells_and_groups() -> None:
    """One large group next to many small ones: groups times labels would be 5 GB."""
    many, large = 20_000, 30_000
    by = torch.cat([torch.arange(many).repeat(2), torch.full((large,), many)])
    true = torch.cat([torch.arange(2 * many) % 3, torch.arange(large)])
    pred = torch.cat([torch.arange(2 * many) % 2, torch.arange(large) // 2])
    tables = ContingencyTables.from_labels(true, pred, by=by)
    assert tables.layout == "sparse"
    assert tables.shape == (many + 1, large, large // 2)
    stored = sum(x.numel() for x in tables.cells())
    assert stored < 5 * len(by)
    scores = tce.evaluate_tables(tables, ["pairs", "bcubed", "homogeneity"])
    assert scores["homogeneity"][-1] < 1
    assert scores.n_items[-1] == large


def test_gradients_of_weights() -> None:
    true, pred, by = labels()
    weights = torch.ones(N, dtype=torch.float64, requires_grad=True)
    score = tce.evaluate(true, pred, "bcubed_f", by=by, weights=weights)["bcubed_f"]
    (gradient,) = torch.autograd.grad(score.sum(), weights)
    assert bool(gradient.isfinite().all())
    assert bool(gradient.any())


def test_the_macro_average() -> None:
    """Documents (x x y | 0 0 1), (x y | 0 0), (z | 5): BCubed F 1, 2/3, 1; the Rand index 1, 0, 1."""
    true, pred, by = list("xxyxyz"), [0, 0, 1, 0, 0, 5], list("aaabbc")
    scores = tce.evaluate(true, pred, ["bcubed_f", "rand"], by=by)
    assert scores.macro()["bcubed_f"].item() == pytest.approx(8 / 9, abs=1e-15)
    assert scores.macro("items")["bcubed_f"].item() == pytest.approx((3 + 4 / 3 + 1) / 6, abs=1e-15)
    assert scores.macro(weights="items")["rand"].item() == pytest.approx(4 / 6, abs=1e-15)
    assert scores.macro().n_items.item() == 6
    with pytest.raises(ValueError, match="macro: expected scores of groups"):
        scores.macro().macro()
    with pytest.raises(ValueError, match="weights: expected one of None, items; got 'size'"):
        scores.macro("size")


def test_the_macro_average_leaves_nan_out() -> None:
    scores = tce.evaluate([0, 1, 1, 0], [5, 5, 1, 1], ["rand"], by=[0, 0, 1, 1], noise_label=5)
    assert scores.macro()["rand"].item() == 0
    assert scores.macro("items")["rand"].item() == 0
    assert scores.macro().coverage.item() == 0.5
    assert tce.evaluate([0], [5], ["rand"], by=[0], noise_label=5).macro()["rand"].isnan()


def test_plain_tables_are_one_group_each() -> None:
    true, pred, by = labels()
    padded = ContingencyTables(ContingencyTables.from_labels(true, pred, by=by).counts)
    assert padded.groups is None
    assert differing(all_values(padded), dict(tce.evaluate(true, pred, [*MEASURES.values()], by=by))) == []
