"""Resampling of groups of items: resamples are pooled scores of the groups drawn."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.values import differing
from torchclusteval import MEASURES, ContingencyTables
from torchclusteval.inference.group_resampling import group_resampler
from torchclusteval.scoring.evaluation import pool

WITH_PARTS = [measure for measure in MEASURES.values() if measure.parts is not None]
ABSENT: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}


def documents(count: int, clusterings: int = 2, seed: int = 0) -> ContingencyTables:
    generator = torch.Generator().manual_seed(seed)
    by = torch.arange(count).repeat_interleave(12)
    true = torch.randint(0, 4, by.shape, generator=generator)
    noise = torch.rand(clusterings, len(by), generator=generator) < 0.3 * torch.rand(count, generator=generator)[by] * 2
    pred = torch.where(noise, torch.randint(0, 4, noise.shape, generator=generator), true)
    return ContingencyTables.from_labels(true, pred, by=by, **ABSENT)


def repeated(tables: ContingencyTables, drawn: Tensor) -> ContingencyTables:
    return tables[:, torch.arange(len(drawn)).repeat_interleave(drawn)]


def test_resamples_are_pooled_scores_of_the_groups_drawn() -> None:
    tables = documents(6)
    resampler = group_resampler(tables, pool(tables, WITH_PARTS)[1])
    drawn = resampler.draw(slice(None), 20, torch.Generator().manual_seed(3))
    assert drawn.shape == (20, 6)
    assert (drawn.sum(-1) == 6).all()
    values = resampler.score(drawn, slice(None), WITH_PARTS)
    for number, counts in enumerate(drawn):
        expected = dict(tce.pooled(repeated(tables, counts), WITH_PARTS))
        assert differing({name: value[number] for name, value in values.items()}, expected) == []


def test_acceleration_is_of_the_values_without_each_group() -> None:
    tables = documents(7)
    found = group_resampler(tables, pool(tables, WITH_PARTS)[1]).accelerations(WITH_PARTS)
    ones = torch.ones(7, dtype=torch.int64)
    without = [dict(tce.pooled(repeated(tables, ones - torch.eye(7).long()[i]), WITH_PARTS)) for i in range(7)]
    for name in ("purity", "pair_f", "muc_f", "lea_recall"):
        values = torch.stack([row[name] for row in without], -1)
        away = values.mean(-1, keepdim=True) - values
        expected = (away**3).sum(-1) / (6 * (away**2).sum(-1) ** 1.5)
        torch.testing.assert_close(found[name], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["purity", "coref_bcubed_precision"])
def test_standard_error_of_a_ratio(name: str) -> None:
    """Of linearised ratios: that of the sum of numerator less ratio times denominator over groups."""
    tables = documents(400, 1)
    parts: Any = MEASURES[name].parts
    numerator, denominator = parts(tables.without_margins() if name == "purity" else tables)[0].unbind(-1)[:2]
    ratio = numerator.sum() / denominator.sum()
    expected = ((numerator - ratio * denominator) ** 2).sum().sqrt() / denominator.sum()
    found = tce.bootstrap(tables, name, 4000, rng=torch.Generator().manual_seed(1), resample="groups")[name]
    assert found.estimate.item() == pytest.approx(ratio.item(), rel=1e-12)
    assert found.standard_error.item() == pytest.approx(expected.item(), rel=0.06)
    assert found.low < found.estimate < found.high


def test_equal_groups_have_intervals_without_width() -> None:
    tables = ContingencyTables(torch.tensor([[3, 1], [0, 2]]).expand(5, 2, 2))
    for method in ("percentile", "basic", "bca"):
        found = tce.bootstrap(tables, "all", 50, method=method, resample="groups")
        assert found.settings["resampled"] == "groups"
        assert "ami_arithmetic" in found.skipped
        for name, record in found.items():
            torch.testing.assert_close(record.low, record.estimate, msg=name)
            torch.testing.assert_close(record.high, record.estimate, msg=name)


def test_what_is_refused() -> None:
    tables = documents(3)
    with pytest.raises(ValueError, match=r"^resample: expected one of items, classes, groups; got 'documents'"):
        tce.bootstrap(tables, "purity", resample="documents")
    with pytest.raises(ValueError, match=r"^tables: expected a batch, a table for each group"):
        tce.bootstrap(ContingencyTables([[1, 2]]), "purity", resample="groups")
    with pytest.raises(ValueError, match=r"^measures: expected measures defined by sums over groups; got 'ami"):
        tce.bootstrap(tables, "ami_arithmetic", resample="groups")
    with pytest.raises(ValueError, match=r"^tables: expected at least two groups to draw from; got 1"):
        tce.bootstrap(ContingencyTables([[[1, 2]]]), "purity", resample="groups")
    weighted = ContingencyTables(torch.tensor([[[0.5, 1.5]], [[2.5, 0.25]]]))
    assert tce.bootstrap(weighted, "purity", 9, resample="groups").batch_shape == ()


@pytest.mark.parametrize("function", [tce.bootstrap, tce.permutation_test])
def test_results_name_groups(function: Any) -> None:
    by = ["d1"] * 3 + ["d2"] * 4
    true, pred = ["a", "b", "c", "b", "c", "b", "c"], [0, 1, 2, 1, 1, 1, 2]
    found = function(ContingencyTables.from_labels(true, pred, by=by), ["ari"], 20)
    assert found["ari"].clusterings == ("d1", "d2")
    assert "d2" in str(found)
    several = function(ContingencyTables.from_labels(true, {"x": pred, "y": pred, "z": pred}, by=by), ["ari"], 20)
    assert several["ari"].clusterings is None
    assert "adjusted_rand           5" in str(several)


def test_clusterings_of_the_same_items_are_no_groups() -> None:
    true, runs = [0, 0, 1, 1, 2], {"a": [0, 0, 1, 1, 1], "b": [0, 1, 1, 2, 2], "c": [0, 0, 0, -1, 1]}
    message = "^tables: expected groups of items, one table each .*by=ids.*; got [23] clusterings of the same items"
    batch = [*runs.values()]
    for tables in (
        ContingencyTables.from_labels(true, batch),
        ContingencyTables.from_labels(true, batch, absent_pred=-1),
        ContingencyTables.from_labels(true, runs, noise_label=-1),
        ContingencyTables.from_labels(true, runs)[:2],
    ):
        for call in (
            lambda x: tce.bootstrap(x, ["purity"], resample="groups"),
            lambda x: tce.pooled(x, ["purity"]),
            lambda x: tce.paired_groups(x, x, ["purity"]),
            lambda x: tce.paired_groups(x, x, ["purity"], macro=True),
        ):
            with pytest.raises(ValueError, match=message):
                call(tables)
    images = torch.tensor([[[0, 0], [1, 1]], [[0, 1], [1, 1]]])  # of other classes each
    of_images = ContingencyTables.from_labels(images, images, item_dims=2)
    assert tce.pooled(of_images, "purity")["purity"] == 1
    assert tce.bootstrap(of_images, "purity", 9, resample="groups")["purity"].high == 1
    counts = ContingencyTables(torch.tensor([[[2, 0], [0, 2]], [[1, 1], [0, 2]]]))  # nothing says what they are of
    assert tce.pooled(counts, "purity")["purity"] == 7 / 8


def test_means_of_all_draws_of_four_groups() -> None:
    """One group has no items: means are of the others that are drawn, the estimate where none is."""
    true, pred = torch.randint(0, 3, (2, 27), generator=torch.Generator().manual_seed(3))
    by = torch.arange(27) // 9
    tables = ContingencyTables.from_labels(true, torch.stack([pred, true]), by=by, num_groups=4)
    names = ["ami", "muc_f", "v_measure"]
    options: dict[str, Any] = {"n_resamples": 8000, "rng": 0, "resample": "groups", "macro": True}
    found: Any = tce.bootstrap(tables, names, keep_resamples=True, **options)
    for name, record in found.items():
        of_groups = tce.evaluate_tables(tables, names)[name]
        mean = of_groups[:, :3].mean(-1)
        torch.testing.assert_close(record.estimate, mean, rtol=0, atol=1e-12)
        ways = [of_groups[:, list(x)] for x in itertools.product(range(4), repeat=4)]
        every = torch.stack([torch.where(x.isnan().all(-1), mean, x.nanmean(-1)) for x in ways])
        torch.testing.assert_close(record.standard_error, every.std(0, correction=0), rtol=0.05, atol=1e-12)
        torch.testing.assert_close(record.low, every.quantile(0.025, 0), rtol=0, atol=0.02)
        torch.testing.assert_close(record.high, every.quantile(0.975, 0), rtol=0, atol=0.02)
        assert bool(((record.resamples[:, None] - every).abs() < 1e-12).any(1).all())
    with pytest.raises(ValueError, match=r"^macro: expected resample='groups' too, .*; got resample='items'"):
        tce.bootstrap(tables, names, **options | {"resample": "items"})
    with pytest.raises(ValueError, match=r"^tables: expected a batch, a table for each group"):
        tce.bootstrap(tables[0, 0], names, **options)
