"""Numbers that are no counts, and masses below one item."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables

TRUE, PRED = list("aaabbbc"), list("xxyyyyx")  # [[2, 1], [0, 3], [1, 0]]


def listed(cross: pd.DataFrame) -> dict[str, Any]:
    rows = cross.rename_axis(index="true", columns="pred").stack().reset_index(name="n")
    return {"true": rows["true"], "pred": rows["pred"], "counts": rows["n"]}


@pytest.mark.parametrize("options", [{}, {"margins_name": "Total"}, {"normalize": True}])
def test_totals_are_no_groups(options: dict[str, Any]) -> None:
    cross = pd.crosstab(pd.Series(TRUE), pd.Series(PRED), margins=True, **options)
    batch = torch.tensor(np.stack([cross.to_numpy()] * 2))
    for given in (cross, cross.to_numpy(), cross.to_numpy().tolist(), batch):
        with pytest.raises(ValueError, match=r"^counts: expected counts of items; got totals .*validate=False"):
            ContingencyTables(given)
        assert ContingencyTables(given, validate=False).shape[-2:] == cross.shape
    cells = listed(cross) | {"weights": "normalize" in options}
    with pytest.raises(ValueError, match=r"^counts: expected counts of items; got totals"):
        ContingencyTables.from_cells(**cells)
    assert ContingencyTables.from_cells(**cells, validate=False).n_items.item() > 0


@pytest.mark.parametrize(("normalize", "each"), [(True, "table"), ("index", "row"), ("columns", "column")])
def test_proportions_are_no_counts(normalize: Any, each: str) -> None:
    cross = pd.crosstab(pd.Series(TRUE), pd.Series(PRED), normalize=normalize)
    if each != "table":
        message = rf"^counts: expected counts of items; got proportions: each {each} sums to 1.*validate=False"
        given = (cross, cross.to_numpy().tolist(), torch.tensor(cross.to_numpy())[None], cross.round(2), 100 * cross)
        for x in given:
            with pytest.raises(ValueError, match=message):
                ContingencyTables(x)
        with pytest.raises(ValueError, match=message):
            ContingencyTables.from_cells(**listed(cross), weights=True)
        ContingencyTables(100 * (cross > 0))  # whole items
    for tables in (
        ContingencyTables(cross, validate=False),
        ContingencyTables.from_cells(**listed(cross), weights=True, validate=False),
    ):
        of_n = ("normalized_vi_log_n", "edit_quality") if each == "table" else ()
        for measure in ("rand", "adjusted_rand", "pair_f", "foreground_ari", *of_n):
            with pytest.raises(ValueError, match=f"got proportions: each {each} sums to 1"):
                tce.evaluate_tables(tables, [measure])
        if each == "table":  # as of the counts: 2 and 3 items are in the majority
            assert float(tce.measures.purity(tables)) == pytest.approx(5 / 7)


def test_totals_of_one_side_have_a_name() -> None:
    cross = pd.crosstab(pd.Series(TRUE), pd.Series(PRED))
    cross.loc["Total"] = cross.sum()
    with pytest.raises(ValueError, match="totals"):
        ContingencyTables(cross)
    assert ContingencyTables(cross.to_numpy()).n_items == 14  # nothing tells it from a fourth class


@pytest.mark.parametrize(
    "counts",
    [
        [[1, 1], [1, 1]],  # of one item with its totals, and of four items that are independent
        [[1, 0, 1], [0, 0, 0], [1, 0, 1]],
        [[3, 3, 3], [3, 3, 3]],
        [[0, 0], [0, 0]],
        [[1.0, 0.0], [0.0, 1.0]],  # whole items
        [[0.5, 0.5], [0.25, 1.0]],
        [[2, 1, 3], [0, 3, 3], [2, 4, 7]],
    ],
)
def test_counts_that_resemble_totals_or_proportions(counts: list[list[float]]) -> None:
    assert ContingencyTables(counts).counts.tolist() == counts
    assert ContingencyTables(torch.tensor([counts, [[x + 1 for x in row] for row in counts]])).n_items.shape == (2,)


def test_a_group_may_be_called_total() -> None:
    frame = pd.DataFrame([[4, 1], [2, 2]], index=["Part", "Total"], columns=["x", "y"])
    assert ContingencyTables(frame).n_items == 9
    assert ContingencyTables.from_cells(["All", "a"], ["x", "y"], counts=[2, 5]).n_items == 7


@pytest.mark.parametrize("values", [[[0.6, 0.3], [0.3, 0.5]], [[0.1, 0.7], [0.6, 0.0], [0.2, 0.5]]])
def test_pair_measures_warn_where_cells_hold_less_than_one_item(
    values: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs ``n (n - 1) / 2`` that both sides join are below 0 where the mean cell, by mass, is below 1."""
    tables = ContingencyTables(values)
    with pytest.warns(UserWarning, match="^tables: pair measures read masses as items") as caught:
        tce.evaluate_tables(tables, ["rand", "pair_f", "adjusted_rand"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tce.evaluate_tables(ContingencyTables(values), ["nmi", "purity"])
        grown = tce.evaluate_tables(ContingencyTables((10 * np.array(values)).tolist()), ["rand", "pair_f", "jaccard"])
    assert all(0 <= value <= 1 for value in grown.values())
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)  # as where the host would wait for a device
    assert all(value.isnan() for value in tce.evaluate_tables(ContingencyTables(values), ["rand", "pair_f"]).values())


def test_masses_of_the_package_stay_silent() -> None:
    soft = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]] * 5)
    one = ContingencyTables.from_probabilities(soft, soft)
    for tables in (one, ContingencyTables([[8, 0], [0, 8], [2, 0]]).balanced()):
        assert 0 < float(tce.measures.rand(tables)) <= 1
    assert ContingencyTables.from_intervals([(0, 0.4, "a"), (0.4, 1.0, "b")], [(0, 1.0, 0)]).n_items == 1


@pytest.mark.parametrize(("dtype", "first"), [("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_ids_that_floats_do_not_tell_apart(dtype: str, first: int) -> None:
    ids = torch.tensor([2**first + 1, 2**first, 5], dtype=getattr(torch, dtype))
    with pytest.raises(ValueError, match=rf"labels_true: expected whole numbers below {2**first}, .*\(pass integers"):
        tce.evaluate(ids, [0, 1, 2], ["ari"])
    assert tce.evaluate(torch.tensor([2**first + 1, 2**first, 5]), [0, 1, 2], ["ari"])["ari"] == 1
    below = torch.tensor([2**first - 1, 2**first - 2, 5], dtype=getattr(torch, dtype))
    assert tce.evaluate(below, [0, 1, 2], ["ari"])["ari"] == 1
