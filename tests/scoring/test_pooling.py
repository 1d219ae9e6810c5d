"""Pooled scores: sums over groups of items, then one value."""

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torchclusteval as tce
from tests.support.reference import REFERENCE
from tests.support.strategies import Pair, batches
from tests.support.values import differing
from torchclusteval import MEASURES, ContingencyTables, Measure

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "pooled.json").read_text())["cases"]
WITH_PARTS: list[Any] = [measure for measure in MEASURES.values() if measure.parts is not None]
APART = (  # equal to the value of all items with the labels of different groups kept apart
    *("bcubed_precision", "bcubed_recall", "bcubed_f", "purity", "inverse_purity", "purity_f", "many_to_one_accuracy"),
    *("one_to_one_accuracy", "classification_error", "micro_precision", "micro_recall", "mirkin", "minkowski_score"),
    *("pair_precision", "pair_recall", "pair_f", "jaccard", "fowlkes_mallows", "kulczynski", "mcconnaughey"),
    *("sokal_sneath_1", "southwood", "overlap_coefficient", "tversky", "fager_mcgowan"),
)


def flat(groups: Iterable[Any]) -> tuple[list[Any], list[Any], list[int]]:
    """Labels of all items, and the number of their group."""
    items = [(t, p, g) for g, (true, pred) in enumerate(groups) for t, p in zip(true, pred, strict=True)]
    true, pred, by = zip(*items, strict=True)
    return list(true), list(pred), list(by)


def apart(groups: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Labels of all items, none of which two groups share."""
    true, pred, by = flat(groups)
    return [f"{g} {t}" for t, g in zip(true, by, strict=True)], [f"{g} {p}" for p, g in zip(pred, by, strict=True)]


def tables_of(groups: Iterable[Any]) -> ContingencyTables:
    true, pred, by = flat(groups)
    return ContingencyTables.from_labels(true, pred, by=by)


@pytest.mark.parametrize("case", GOLDEN, ids=[case["name"] for case in GOLDEN])
def test_golden_values(case: dict[str, Any]) -> None:
    tables = tables_of(case["groups"])
    scores = tce.evaluate_tables(tables, "all")
    for found, expected in (
        (tce.pooled(tables, "all"), case["pooled"]),
        (scores.macro(), case["macro"]),
        (scores.macro("items"), case["macro_by_items"]),
    ):
        for name, value in expected.items():
            assert found[name].item() == pytest.approx(float(Fraction(value)), abs=1e-15), name
    true, pred = apart(case["groups"])
    for name in case["apart"]:
        assert REFERENCE[name](true, pred) == pytest.approx(float(Fraction(case["pooled"][name])), abs=1e-15), name


@settings(max_examples=80, deadline=None)
@given(batches(max_items=5, max_size=3))
def test_pooled_keeps_labels_of_groups_apart(groups: list[Pair]) -> None:
    pooled = tce.pooled(tables_of(groups), APART)
    true, pred = apart(groups)
    together = tce.evaluate(true, pred, APART)
    assert differing(dict(pooled), dict(together)) == []
    for name in set(APART) - {"one_to_one_accuracy", "classification_error"}:  # whose references try all matchings
        assert pooled[name].item() == pytest.approx(float(REFERENCE[name](true, pred)), abs=1e-12), name


@settings(max_examples=40, deadline=None)
@given(batches())
def test_one_group_is_its_own_pool(groups: list[Pair]) -> None:
    """``parts`` and ``combine`` say what the function of the measure says, for degenerate tables too."""
    for true, pred in groups:
        one = ContingencyTables.from_labels(true, pred, by=[0] * len(true))
        assert differing(dict(tce.pooled(one, WITH_PARTS)), {m.name: m(one[0]) for m in WITH_PARTS}) == []


@settings(max_examples=40, deadline=None)
@given(batches(), st.sampled_from(["dense", "sparse"]))
def test_parts_add_up(groups: list[Pair], layout: str) -> None:
    true, pred, by = flat(groups)
    tables = ContingencyTables.from_labels(true, pred, by=by, layout=layout)
    for measure in WITH_PARTS:
        sums = measure.parts(tables)
        assert sums.dtype == torch.float64
        assert sums.shape[:-1] == tables.batch_shape
        alone = [measure.parts(ContingencyTables.from_labels(t, p)) for t, p in groups]
        torch.testing.assert_close(sums, torch.stack(alone), rtol=1e-12, atol=1e-12)
        assert measure.combine(sums).shape == tables.batch_shape
        empty = measure.parts(ContingencyTables([[[0]]]))
        assert not empty.any(), measure.name


def test_the_last_dimension_is_pooled() -> None:
    generator = torch.Generator().manual_seed(0)
    true, by = torch.randint(4, (2, 200), generator=generator)
    pred = torch.randint(4, (3, 200), generator=generator)
    mask = torch.rand(3, 200, generator=generator) < 0.8
    tables = ContingencyTables.from_labels(true, pred, by=by, mask=mask, noise_label=2)
    pooled = tce.pooled(tables)
    assert pooled.batch_shape == (3,)
    for row in range(3):
        alone = tce.pooled(tables[row])
        assert differing({name: value[row] for name, value in pooled.items()}, dict(alone)) == []
        assert pooled.n_items[row] == int((mask[row] & (pred[row] != 2)).sum())
        assert pooled.coverage[row].item() == pooled.n_items[row].item() / int(mask[row].sum())
    names = tce.pooled(ContingencyTables.from_labels(true, {"a": pred[0], "b": true}, by=by), "bcubed_f")
    assert names.best_clustering("bcubed_f") == "b"


def test_sets_leave_out_what_sums_do_not_define() -> None:
    tables = tables_of([("aab", "011"), ("ab", "00")])
    pooled = tce.pooled(tables)
    assert {"bcubed_f", "jaccard", "purity", "one_to_one_accuracy", "rand"} <= set(pooled)
    assert pooled.skipped["nmi_arithmetic"] == "is not defined by sums over groups"
    assert set(pooled) | set(pooled.skipped) == set(tce.evaluate_tables(tables))


@pytest.mark.parametrize("name", ["nmi", "v_measure", "ami", "larsen_l", "element_centric_similarity"])
def test_measures_without_sums_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"measures: .*; got '{tce.measures.ALIASES.get(name, name)}'"):
        tce.pooled(tables_of([("aab", "011")]), [name, "rand"])


def test_bad_tables() -> None:
    with pytest.raises(ValueError, match=r"tables: expected a batch, a table for each group .*; got a single table"):
        tce.pooled(ContingencyTables([[1]]))
    with pytest.raises(ValueError, match="tables: expected ContingencyTables"):
        tce.pooled([[1]])  # type: ignore[arg-type]


def test_no_items() -> None:
    nothing = ContingencyTables.from_labels([0, 1], [0, 1], by=[0, 1], mask=[False, False])
    assert all(math.isnan(value.item()) for value in tce.pooled(nothing, "all").values())
    some = ContingencyTables([[[0, 0]], [[2, 1]]])
    assert differing(dict(tce.pooled(some, "pairs")), dict(tce.pooled(some[1:], "pairs"))) == []


def test_masses() -> None:
    """A table with a nan makes the pool nan; gradients are finite."""
    masses = torch.tensor([[[1.0, 2.0]], [[3.0, 1.0]]], dtype=torch.float64, requires_grad=True)
    of_masses = [measure for measure in WITH_PARTS if not measure.integer_only]
    values = [value.sum() for value in tce.pooled(ContingencyTables(masses), of_masses).values()]
    (gradient,) = torch.autograd.grad(torch.stack(values).sum(), masses)
    assert bool(gradient.isfinite().all())
    broken = ContingencyTables(torch.tensor([[[1.0, torch.nan]], [[3.0, 1.0]]]), validate=False)
    assert bool(tce.pooled(broken, "bcubed_f")["bcubed_f"].isnan())


def test_a_measure_of_the_user() -> None:
    def sums(tables: ContingencyTables) -> torch.Tensor:
        return torch.stack([tables.n_cells.double(), tables._n_items_f64], -1)

    cells = Measure(
        "cells_per_item",
        "matching",
        lambda tables: tables.n_cells / tables._n_items_f64,
        range=(0, 1),
        parts=sums,
        combine=lambda x: x[..., 0] / x[..., 1],
    )
    assert tce.pooled(tables_of([("aab", "011"), ("aaaa", "0000")]), cells)["cells_per_item"].item() == 4 / 7
    with pytest.raises(ValueError, match="parts: expected functions for both parts and combine, or None"):
        replace(cells, combine=None)
