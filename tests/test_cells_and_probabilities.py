"""Tables from listed cells and from probabilities: checks, and what a nan does."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables
from torchclusteval.measures.registry import MEASURES


def test_rows_of_a_group_by() -> None:
    true, pred = [0, 0, 1, 1, 1, 2], ["b", "a", "b", "b", "a", "a"]
    rows = pd.DataFrame({"true": true, "pred": pred}).groupby(["true", "pred"]).size().reset_index(name="count")
    tables = ContingencyTables.from_cells(rows["true"], rows["pred"], counts=rows["count"])
    alone = ContingencyTables.from_labels(true, pred)
    assert tables.layout == "sparse"
    assert tables.is_integer
    assert tables.to_dense().counts.tolist() == alone.counts.tolist()
    assert listed(tables.clusters) == ["a", "b"]
    assert tables.coverage.item() == 1
    one_by_one = ContingencyTables.from_cells(true, pred)
    assert one_by_one.to_dense().counts.tolist() == alone.counts.tolist()
    repeated = ContingencyTables.from_cells([0, 1, 0], [5, 5, 5], counts=[3, 0, 4])
    assert repeated.to_dense().counts.tolist() == [[7]]
    for name, value in tce.evaluate_tables(tables, "all").items():
        assert torch.allclose(value, tce.evaluate_tables(alone, "all")[name], atol=1e-12, equal_nan=True), name


def test_a_batch_of_listed_cells() -> None:
    generator = torch.Generator().manual_seed(0)
    run, true, pred = (torch.randint(k, (500,), generator=generator) for k in (3, 4, 6))
    counts = torch.randint(0, 9, (500,), generator=generator)
    names = np.array(["x", "a", "m"], object)[run.numpy()]
    tables = ContingencyTables.from_cells(true, pred, counts=counts, batch=names)
    assert tables.names == ("a", "m", "x")
    for place, name in enumerate(("a", "m", "x")):
        own = torch.from_numpy(names == name)
        alone = ContingencyTables.from_labels(true[own], pred[own], weights=counts[own])
        assert tables[place].to_dense().counts.tolist() == alone.to_dense().counts.tolist()
        assert tables.n_items[place] == counts[own].sum()
    assert tce.evaluate_tables(tables, "ari").best_clustering("ari") in ("a", "m", "x")
    numbered = ContingencyTables.from_cells(true, pred, counts=counts, batch=run * 1000 - 7)
    assert numbered.names == (-7, 993, 1993)


def test_listed_cells_with_missing_labels_and_none_at_all() -> None:
    with pytest.raises(ValueError, match='missing="ignore"'):
        ContingencyTables.from_cells([0, None], [0, 1], counts=[1, 3])
    tables = ContingencyTables.from_cells([0, None, 1], [0, 1, 1], counts=[1, 3, 2], missing="ignore")
    assert tables.to_dense().counts.tolist() == [[1, 0], [0, 2]]
    assert tables.coverage.item() == 0.5
    by = ContingencyTables.from_cells([0, 1, 1], [0, 1, 1], batch=["a", None, "a"], missing="ignore")
    assert by.names == ("a",)
    assert by.n_items.tolist() == [2]
    assert ContingencyTables.from_cells([], [], counts=[]).n_items.item() == 0
    assert ContingencyTables.from_cells([], [], counts=[], batch=[]).batch_shape == (0,)


BAD_COUNTS: dict[str, tuple[Any, str]] = {
    "negative": ([1, -2, 3], "counts: expected finite numbers >= 0; got -2 at position 1"),
    "fractional": ([1.0, 2.5, 3.0], r"counts: expected whole numbers; got 2.5 at position 1 .*weights=True"),
    "short": ([1, 2], r"counts: expected shape \(3,\)"),
}


@pytest.mark.parametrize("kind", BAD_COUNTS)
def test_bad_counts(kind: str) -> None:
    counts, message = BAD_COUNTS[kind]
    with pytest.raises(ValueError, match=message):
        ContingencyTables.from_cells([0, 1, 1], [0, 1, 2], counts=counts)


def test_masses_of_listed_cells() -> None:
    tables = ContingencyTables.from_cells([0, 1, 1], [0, 1, 1], counts=[0.5, 1.25, 1], weights=True)
    assert tables.to_dense().counts.tolist() == [[0.5, 0], [0, 2.25]]
    assert ContingencyTables.from_cells([0, 1], [0, 1], counts=[2.0, 3.0]).is_integer
    assert not ContingencyTables.from_cells([0, 1], [0, 1], counts=[2, 3], weights=True).is_integer
    with pytest.raises(ValueError, match=r"^weights: expected True or False \(pass the numbers as counts=\); got list"):
        ContingencyTables.from_cells([0, 1], [0, 1], weights=[0.2, 0.5])  # type: ignore[arg-type]


TRUE = torch.nn.functional.one_hot(torch.tensor([0, 0, 1, 1])).double()
PRED = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7]])


@pytest.mark.parametrize("bad", [torch.nan, -0.1, torch.inf])
def test_probabilities_are_checked_on_the_cpu(bad: float) -> None:
    pred = PRED.clone()
    pred[2, 1] = bad
    for sides, name in (((TRUE, pred), "p_pred"), ((pred, TRUE), "p_true")):
        with pytest.raises(ValueError, match=rf"^{name}: expected probabilities; got .* at position \(2, 1\)"):
            ContingencyTables.from_probabilities(*sides)
        assert ContingencyTables.from_probabilities(*sides, validate=False).shape == (2, 2)
    with pytest.raises(ValueError, match=r"^p_true, p_pred: expected masses with a sum .*; got 2e\+200"):
        ContingencyTables.from_probabilities(1e200 * TRUE[:, :1], PRED)
    with pytest.raises(ValueError, match=r"softmax\(-1\)"):
        ContingencyTables.from_probabilities(TRUE, torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("side", ["true", "pred"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_an_unchecked_nan_makes_every_measure_nan(layout: str, side: str) -> None:
    true, pred = TRUE.expand(2, 4, 2).clone(), PRED.expand(2, 4, 2).clone()
    (true if side == "true" else pred)[1, 3, 1] = torch.nan
    tables = ContingencyTables.from_probabilities(true, pred, validate=False)
    tables = tables.to_sparse() if layout == "sparse" else tables
    clean = ContingencyTables.from_probabilities(TRUE, PRED)
    assert tables.identical.tolist() == [False, False]
    for name, measure in MEASURES.items():
        if not measure.integer_only:
            value = measure(tables)
            assert value[1].isnan(), name
            assert torch.allclose(value[0], measure(clean), atol=1e-12), name


def test_soft_updates_are_checked_alike() -> None:
    logits = torch.tensor([[3.0, -1], [2, 0], [0, 1], [-2, 4]])
    accumulator = tce.ContingencyAccumulator(2, 2, weights=True)
    with pytest.raises(ValueError, match=r"p_pred: .*softmax\(-1\)"):
        accumulator.update_soft(TRUE, logits)
    accumulator.update_soft(TRUE, PRED)
    unchecked = tce.ContingencyAccumulator(2, 2, weights=True, validate=False)
    unchecked.update_soft(TRUE, torch.full((4, 2), torch.nan))
    assert tce.evaluate_tables(unchecked.tables(), "ari")["ari"].isnan()


def test_unchecked_logits_make_every_measure_nan() -> None:
    """The product of two values below 0 would look like a count."""
    true = torch.eye(3, dtype=torch.float64)[torch.tensor([0, 0, 1, 2])]
    batch = torch.stack([true, -true, true - 0.1])
    for tables in (
        ContingencyTables.from_probabilities(-true, batch, validate=False),
        ContingencyTables.from_probabilities(batch, -true, validate=False),
    ):
        for name, value in tce.evaluate_tables(tables, "all").items():
            assert value.isnan().all(), name
    scores = tce.evaluate_tables(ContingencyTables.from_probabilities(true, batch, validate=False), "all")
    for name, value in scores.items():
        assert value.isnan().tolist()[1:] == [True, True], name
    assert scores["adjusted_rand"][0] == 1


def test_tables_with_a_nan_can_be_matched() -> None:
    true, nan = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0, 0.0], [torch.nan, 1.0]], dtype=torch.float64)
    tables = ContingencyTables.from_probabilities(true, nan, validate=False)
    for given in (tables, tables.to_sparse()):
        assert tce.match(given).cluster_of_class.shape == (2,)
