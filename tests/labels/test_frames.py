"""Named clusterings: data frames, mappings, Arrow and polars tables; pandas indexes; options everywhere alike."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as arrow
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyAccumulator, ContingencyTables

pytestmark = pytest.mark.slow

TRUE = ["x", "x", "y", "y", "z", "z"]
RUNS: dict[str, list[Any]] = {
    "number": [4, 4, 9, 9, 9, 4],
    "text": list("ppqqrr"),
    "yes": [True, True, False, False, False, False],
    "other": [-1, 3, 3, 3, 7, 7],
}
NAMES = tuple(RUNS)

FRAMES: dict[str, Callable[[], Any]] = {
    "frame": lambda: pd.DataFrame(RUNS),
    "categories": lambda: pd.DataFrame(RUNS).astype("category"),
    "mapping": lambda: RUNS,
    "mapping of arrays": lambda: {name: np.array(run) for name, run in RUNS.items()},
    "arrow table": lambda: arrow.table(RUNS),
    "chunks": lambda: arrow.Table.from_batches(arrow.table(RUNS).to_batches(max_chunksize=2)),
    "reader": lambda: arrow.table(RUNS).to_reader(),
    "polars": lambda: polars.DataFrame(RUNS),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_of_any_kind_are_clusterings_with_names(kind: str) -> None:
    tables = ContingencyTables.from_labels(TRUE, FRAMES[kind]())
    assert tables.batch_shape == (4,)
    assert tables.names == NAMES
    for place, run in enumerate(RUNS.values()):
        alone = ContingencyTables.from_labels(TRUE, run)
        own = tables[place].counts
        assert own[:, own.sum(0) > 0].tolist() == alone.counts.tolist()
        labels = tables.clusters[place] if tables.clusters.ndim > 1 else tables.clusters
        assert [x for x, size in zip(labels.tolist(), own.sum(0), strict=True) if size] == listed(alone.clusters)
    scores = tce.evaluate(TRUE, FRAMES[kind](), "ari")
    assert scores.clusterings == NAMES
    assert scores.best_clustering("ari") == "text"
    assert scores.to_pandas().index.tolist() == list(NAMES)
    noisy = ContingencyTables.from_labels(TRUE, FRAMES[kind](), noise_label=-1)
    assert noisy.coverage.tolist() == pytest.approx([1, 1, 1, 5 / 6])
    counted = ContingencyTables.from_labels(TRUE, FRAMES[kind](), noise_label=-1, noise="cluster")
    assert counted.n_clusters.tolist() == [2, 3, 2, 3]


def test_names_of_one_kind_of_columns_and_without_names() -> None:
    numbers = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})
    scores = tce.evaluate([0, 0, 1], numbers, "ari")
    assert scores.clusterings == ("a", "b")
    assert "a" in str(scores)
    assert tce.evaluate(numbers, [0, 0, 1], "ari").clusterings == ("a", "b")
    plain = tce.evaluate([0, 0, 1], numbers.to_numpy().T, "ari")
    assert plain.clusterings is None
    with pytest.raises(ValueError, match="best_clustering: expected clusterings with names"):
        plain.best_clustering("ari")
    tables = ContingencyTables.from_labels([0, 0, 1], numbers)
    for other in (tables.mT, tables.to_sparse(), tables.to("cpu"), tables.to_sparse().to_dense()):
        assert other.names == ("a", "b")
    assert tables[[1, 0]].names == ("b", "a")
    assert tables[1:].names == ("b",)
    assert tables[0].names is None
    with pytest.raises(ValueError, match="names of labels_true in their order; got another order"):
        tce.evaluate(numbers, numbers[["b", "a"]])
    with pytest.raises(ValueError, match=r"labels_pred: expected clusterings of one shape"):
        tce.evaluate([0, 1], {"a": [0, 1], "b": [0]})
    with pytest.raises(ValueError, match=r"got \(2, 1\) \(flatten images, or stack them in an array \(B, H, W\) with"):
        tce.evaluate([[0], [1]], {"a": [[0], [1]]}, item_dims=2)
    with pytest.raises(ValueError, match="item_dims: expected None or 1 with labels_true as columns"):
        tce.evaluate(numbers, numbers, item_dims=2)
    with pytest.raises(ValueError, match="labels_pred: expected at least one clustering"):
        tce.evaluate([0, 1], {})


def test_names_in_the_statistics_and_in_streams() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]})
    true = [0, 0, 1, 1]
    agreement = tce.pairwise(frame)
    assert agreement.clusterings == ("a", "b")
    assert agreement.to_pandas().index.tolist() == [(x, y) for x in "ab" for y in "ab"]
    tables = ContingencyTables.from_labels(true, frame)
    results: list[Any] = [
        tce.stability(frame),
        tce.bootstrap(tables, "ari", n_resamples=9),
        tce.permutation_test(tables, "ari", n_resamples=9),
        tce.paired_bootstrap(true, [0, 0, 0, 1], frame, "ari", n_resamples=9),
    ]
    for result in results:
        assert result.clusterings == ("a", "b")
        assert result.to_pandas().index.get_level_values(1).tolist() == ["a", "b"]
    streamed = tce.evaluate_stream([(true[:2], frame[:2]), (true[2:], frame[2:])], "ari")
    assert streamed.clusterings == ("a", "b")
    assert torch.equal(streamed["ari"], tce.evaluate(true, frame, "ari")["ari"])
    with pytest.raises(ValueError, match="expected the clusterings of earlier chunks, a, b; got b, a"):
        tce.evaluate_stream([(true[:2], frame[:2]), (true[2:], frame[2:][["b", "a"]])], "ari")


def test_the_records_of_statistics_have_the_names_too() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": [0, 1, 0, 1]})
    stable = tce.stability(frame)["ari"]
    assert stable.medoid == 1  # an index of 0 with both, which have -0.5 with each other
    assert str(stable).splitlines()[0].endswith("medoid b")
    interval = tce.bootstrap(ContingencyTables.from_labels([0, 0, 1, 1], frame), "ari", 9)["ari"]
    for record in (stable, interval):
        assert record.clusterings == ("a", "b", "c")
        assert record.to_pandas().index.tolist() == ["a", "b", "c"]
        assert [line.split()[0] for line in str(record).splitlines()[-3:]] == ["a", "b", "c"]


def test_both_sides_of_a_paired_comparison_are_in_one_order() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]}, index=list("wxyz"))
    moved = frame.iloc[[2, 0, 1, 3]]
    for pred_b in (moved, moved["b"], {"b": moved["b"]}, [moved["b"]]):
        with pytest.raises(ValueError, match=r"labels_b: expected the index of .*\(labels_b\.reindex\(labels_a"):
            tce.paired_bootstrap([0, 0, 1, 1], frame["a"], pred_b, "ari", 9)
    with pytest.raises(ValueError, match="labels_b: expected the names of labels_a in their order"):
        tce.paired_bootstrap([0, 0, 1, 1], frame, frame[["b", "a"]], "ari", 9)


def test_missing_labels_of_one_column() -> None:
    frame = pd.DataFrame({"a": [0, 1, 1], "b": ["p", None, "q"]})
    with pytest.raises(ValueError, match=r"position \(1, 1\)"):
        tce.evaluate([0, 1, 1], frame)
    tables = ContingencyTables.from_labels([0, 1, 1], frame, missing="ignore")
    assert tables.n_items.tolist() == [3, 2]
    assert ContingencyTables.from_labels([0, 1, 1], frame, mask=frame["b"].notna()).n_items.tolist() == [2, 2]


def shuffled(series: Any) -> Any:
    return series.iloc[[2, 0, 3, 1]]


INDEXES: dict[str, Any] = {"text": list("abcd"), "0..N-1": range(4), "pairs": [(0, 1), (0, 2), (1, 1), (1, 2)]}


@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_in_another_order_is_refused(kind: str) -> None:
    index: Any = pd.MultiIndex.from_tuples(INDEXES[kind]) if kind == "pairs" else pd.Index(INDEXES[kind])
    true, pred = pd.Series([0, 0, 1, 1], index=index), pd.Series([5, 5, 6, 6], index=index)
    assert tce.evaluate(true, pred, "ari")["ari"] == 1
    for sides in ((true, shuffled(pred)), (true, pd.DataFrame({"x": shuffled(pred)})), (true, {"x": shuffled(pred)})):
        with pytest.raises(ValueError, match=r"labels_pred\.reindex\(labels_true\.index\).*\.to_numpy\(\)"):
            tce.evaluate(*sides)
    with pytest.raises(ValueError, match="mask: expected the index of labels_true"):
        tce.evaluate(true, pred, mask=shuffled(true == true))
    with pytest.raises(ValueError, match="weights: expected the index of labels_true"):
        tce.evaluate(true, pred, weights=shuffled(pred))
    with pytest.raises(ValueError, match="mask: expected the index of labels_pred"):
        tce.evaluate(true.to_numpy(), pred, mask=shuffled(true == true))
    assert tce.evaluate(true, shuffled(pred).to_numpy(), "ari")["ari"] < 1


def test_other_indexes() -> None:
    true, pred = pd.Series([0, 0, 1, 1], index=list("abcd")), pd.Series([5, 5, 6, 6], index=list("efgh"))
    with pytest.raises(ValueError, match="labels_pred: expected the index of labels_true; got other labels"):
        tce.evaluate(true, pred)
    assert tce.evaluate(true, pred.reset_index(drop=True), "ari")["ari"] == 1
    assert tce.evaluate(true.reset_index(drop=True), pred, "ari")["ari"] == 1
    whole = pd.Series([0, 0, 1, 1])
    with pytest.warns(UserWarning, match=r"labels_pred: an index 0\.\.N-1 goes by position.*\.reindex"):
        assert tce.evaluate(whole.iloc[1:], whole.iloc[:-1], "ari")["ari"] == -0.5
    with pytest.raises(ValueError, match="number of items"):
        tce.evaluate(true, pred[:2])
    runs = [pred, shuffled(pred)]
    with pytest.raises(ValueError, match=r"labels_pred: expected one index for all; got .* another order"):
        tce.evaluate([0, 0, 1, 1], runs)


def test_all_functions_of_labels_take_the_options_alike() -> None:
    """Images with missing labels, noise, a mask and junk under it."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(3, (6, 5), generator=generator).double()
    pred = torch.randint(-1, 4, (4, 6, 5), generator=generator).double()
    mask = torch.rand(6, 5, generator=generator) < 0.8
    true[0, 1], pred[1, 2, 3], pred[2, ~mask] = torch.nan, torch.nan, 0.5
    options: dict[str, Any] = dict(missing="ignore", item_dims=2, noise_label=-1, noise="cluster")
    counted = [(mask & ~true.isnan() & ~p.isnan()) for p in pred]
    expected = torch.stack(
        [
            tce.evaluate(true[keep].long(), p[keep].long(), "ari", noise_label=-1, noise="cluster")["ari"]
            for p, keep in zip(pred, counted, strict=True)
        ]
    )
    share = torch.tensor([keep.sum() / mask.sum() for keep in counted], dtype=torch.float64)
    scores = tce.evaluate(true, pred, "ari", mask=mask, **options)
    assert torch.allclose(scores["ari"], expected, atol=1e-12)
    assert torch.allclose(scores.coverage, share)
    rows = [{"labels_true": true[i], "labels_pred": pred[:, i], "mask": mask[i]} for i in range(6)]
    by_row = {**options, "item_dims": 1}
    parts = [slice(i, i + 2) for i in (0, 2, 4)]
    chunks = [{"labels_true": true[x], "labels_pred": pred[:, x], "mask": mask[x]} for x in parts]
    none: Any = {}
    given_sizes: Any = {"num_classes": 3, "num_clusters": 4}
    for given, how in ((rows, by_row), (chunks, options)):
        for sizes in (none, given_sizes):
            streamed = tce.evaluate_stream(given, "ari", **how, **sizes)
            assert torch.allclose(streamed["ari"], expected, atol=1e-12)
            assert torch.allclose(streamed.coverage, share)
    items = tce.per_item(true, pred, mask=mask, **options)
    assert torch.equal(~items["recall"].isnan(), torch.stack(counted))
    paired = tce.paired_bootstrap(true, pred[0], pred, "ari", n_resamples=5, mask=mask, **options)
    assert torch.allclose(paired["ari"].estimate_b[0], expected[0], atol=1e-12)


@pytest.mark.parametrize("groups", [4, 40])
@pytest.mark.parametrize("noise", ["ignore", "cluster", "singletons"])
def test_pairs_of_clusterings_with_items_that_some_exclude(noise: str, groups: int) -> None:
    generator = torch.Generator().manual_seed(groups)
    runs = torch.randint(-1, groups, (5, 70), generator=generator).double()
    runs[torch.rand(5, 70, generator=generator) < 0.1] = torch.nan
    mask = torch.rand(5, 70, generator=generator) < 0.9
    for own_mask in (None, mask, mask[0]):
        options: dict[str, Any] = dict(missing="ignore", noise_label=-1, noise=noise)
        found = tce.pairwise(runs, ["ari", "completeness"], mask=own_mask, **options)
        stable = tce.stability(runs, "ari", mask=own_mask, **options)["ari"]
        assert stable.agreement.shape == (5,)
        for i in range(5):
            for j in range(5):
                keep = ~runs[i].isnan() & ~runs[j].isnan()
                if noise == "ignore":
                    keep &= (runs[i] >= 0) & (runs[j] >= 0)
                shown = torch.ones(70, dtype=torch.bool)
                if own_mask is not None:
                    shown = own_mask if own_mask.dim() == 1 else own_mask[i] & own_mask[j]
                keep &= shown
                one, two = (runs[k][keep].long() for k in (i, j))
                if noise == "singletons":
                    alone = torch.arange(len(one)) + 1000
                    one, two = (torch.where(x < 0, alone, x) for x in (one, two))
                expected = tce.evaluate(one, two, ["ari", "completeness"])
                for name in ("ari", "completeness"):
                    assert found[name][i, j] == pytest.approx(expected[name].item(), abs=1e-12, nan_ok=True)
                assert found.n_items[i, j] == keep.sum()
                assert found.coverage[i, j] == pytest.approx((keep.sum() / shown.sum()).item())


@pytest.mark.parametrize("noise", ["ignore", "cluster", "singletons"])
def test_columns_of_different_kinds_come_back_from_a_saved_state(noise: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"number": [1, 1, 2, 2], "text": list("abab"), "yes": [True, False, True, True]})
    true = list("ppqq")
    options: dict[str, Any] = dict(noise_label="a", noise=noise)
    saved = ContingencyAccumulator(batch_shape=(3,), **options).update(true, frame)
    torch.save(saved.state_dict(), tmp_path / "state.pt")
    loaded = ContingencyAccumulator(batch_shape=(3,), **options)
    loaded.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert loaded.tables().names == ("number", "text", "yes")
    found = loaded.merge(saved).update(true, frame).tables()
    at_once = tce.evaluate(true * 3, pd.concat([frame] * 3, ignore_index=True), ["ari", "vi"], **options)
    scores = tce.evaluate_tables(found, ["ari", "vi"])
    for name in scores:
        torch.testing.assert_close(scores[name], at_once[name], rtol=1e-12, atol=1e-12)
    assert scores.clusterings == at_once.clusterings == ("number", "text", "yes")


def test_names_of_accumulators_must_agree() -> None:
    one, two = (ContingencyAccumulator(batch_shape=(2,)) for _ in range(2))
    frame = pd.DataFrame({"a": [0, 0], "b": [0, 1]})
    one.update([0, 1], frame)
    with pytest.raises(ValueError, match="other: expected the clusterings of earlier chunks, a, b; got b, a"):
        one.merge(two.update([0, 1], frame[["b", "a"]]))
    three = ContingencyAccumulator(batch_shape=(2,)).merge(one)
    assert three.tables().names == ("a", "b")
    with pytest.raises(ValueError, match="state: expected the names of clusterings"):
        three.load_state_dict(one.state_dict() | {"names": ["a"]})


def test_a_column_keeps_its_kind_in_all_chunks() -> None:
    """Reading a file in pieces gives numbers in one and text in another: 1 and "1" would be two clusters."""
    frames = [pd.DataFrame({"a": [1, 2], "b": list("xy")}), pd.DataFrame({"a": ["1", "z"], "b": list("xy")})]
    with pytest.raises(ValueError, match=r"labels_pred: .* of one kind in all chunks of clustering 0; got 1 and '1'"):
        tce.evaluate_stream([([0, 1], frame) for frame in frames], "ari")


def test_an_index_in_an_arrow_table_is_no_clustering() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]}, index=pd.Index(["p", "q", "r", "s"], name="cell"))
    for made in (arrow.Table.from_pandas(frame), arrow.RecordBatch.from_pandas(frame)):
        assert "cell" in made.schema.names
        scores = tce.evaluate([0, 0, 1, 1], made, "rand")
        assert scores.clusterings == ("a", "b")
        assert scores["rand"].tolist() == [1.0, 0.5]


def test_indexes_are_compared_with_each_other_and_not_with_the_first_alone() -> None:
    """The truth is by position, but the clustering and the mask have names in different orders."""
    true, index = pd.Series([0, 0, 1, 1]), pd.Index(list("pqrs"))
    pred, mask = pd.Series([0, 0, 1, 1], index=index), pd.Series([True, True, True, False], index=index)
    assert tce.evaluate(true, pred, "rand", mask=mask)["rand"] == 1
    with pytest.raises(ValueError, match="mask: expected the index of labels_pred; got the same labels in another"):
        tce.evaluate(true, pred, "rand", mask=mask[::-1])


def test_an_arrow_table_keeps_the_index_of_pandas() -> None:
    true = pd.Series([0, 0, 0, 1], index=list("wxyz"))
    frame = pd.DataFrame({"k": [1, 0, 0, 0]}, index=list("zwxy"))
    with pytest.raises(
        ValueError, match="labels_pred: expected the index of labels_true; got the same labels in another"
    ):
        tce.evaluate(true, arrow.Table.from_pandas(frame), ["ari"])
    assert tce.evaluate(true, arrow.Table.from_pandas(frame.loc[true.index]), ["ari"])["ari"].tolist() == [1]
    frame.index = pd.MultiIndex.from_arrays([list("wxyz"), range(4)])
    for labels in (frame, arrow.RecordBatch.from_pandas(frame)):
        with pytest.raises(ValueError, match="labels_pred: expected the index of labels_true; got other labels"):
            tce.evaluate(true, labels, ["ari"])
