"""Paired bootstrap, by both ways of drawing: the cells of every three-way table, or the items once for all pairs."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from torchclusteval import MEASURES, ContingencyTables
from torchclusteval.inference import bootstrap, intervals, paired_bootstrap
from torchclusteval.inference.paired_comparison import ItemResampler, _pairs, is_cheaper

pytestmark = pytest.mark.slow

SIGMAS = 4.5


@pytest.fixture(params=["items", "cells"])
def drawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("torchclusteval.inference.paired_comparison.is_cheaper", lambda *_: request.param == "items")
    return str(request.param)


def three_labels(items: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    true = random.integers(0, 3, items)
    a = np.where(random.uniform(size=items) < 0.8, true, random.integers(0, 3, items))
    b = np.where(random.uniform(size=items) < 0.9, a, random.integers(0, 4, items))
    return true, a, b


@pytest.mark.parametrize("method", intervals.METHODS)
def test_pairs_see_the_same_items(method: str, drawn: str) -> None:
    """The spread of the difference is that of drawing the items again for both; by pairs it is much smaller."""
    true, a, b = three_labels()
    found = paired_bootstrap(true, a, b, ["ari", "purity"], 10_000, 0.9, method, 12)
    assert found.settings["resampled"] == "items"
    draws = torch.randint(120, (10_000, 120), generator=torch.Generator().manual_seed(13))
    true_, a_, b_ = (torch.from_numpy(x)[draws] for x in (true, a, b))
    for name, record in found.items():
        value_a, value_b = (
            MEASURES[name](ContingencyTables.from_labels(true_, x, num_classes=3, num_clusters=4)) for x in (a_, b_)
        )
        difference = value_a - value_b
        assert float(record.standard_error) == pytest.approx(float(difference.std()), rel=SIGMAS * 0.01)
        assert float(record.standard_error) < 0.8 * math.hypot(float(value_a.std()), float(value_b.std()))
        estimates = [float(MEASURES[name](ContingencyTables.from_labels(true, x))) for x in (a, b)]
        assert [float(record.estimate_a), float(record.estimate_b)] == pytest.approx(estimates, rel=1e-12)
        assert float(record.difference) == pytest.approx(estimates[0] - estimates[1], rel=1e-12)
        if method == "percentile":
            near = SIGMAS * float(difference.std()) * 0.03
            assert float(record.low) == pytest.approx(float(difference.quantile(0.05)), abs=near)
            p = 2 * min(float((difference <= 0).double().mean()), float((difference >= 0).double().mean()))
            assert float(record.p_value) == pytest.approx(p, abs=2 * SIGMAS * math.sqrt(p / 2 / 10_000) + 4e-4)


def test_one_against_many(drawn: str) -> None:
    true, a, b = three_labels()
    found = paired_bootstrap(true, a, np.stack([b, a]), ["ari", "vi"], 300, rng=14, correction="holm")
    assert found.batch_shape == (2,)
    for record in found.values():
        spread = torch.stack([record.difference, record.low, record.high, record.standard_error])[:, 1]
        torch.testing.assert_close(spread, torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-14)
        assert record.p_value[1] == 1
        assert 0 < float(record.p_value[0]) <= 1
        assert record.p_adjusted is not None


@pytest.mark.parametrize("method", intervals.METHODS)
def test_what_rounding_alone_explains_is_no_difference(method: str, drawn: str) -> None:
    """Equal partitions have equal scores in every resample, though their sums come in another order."""
    random = np.random.default_rng(5)
    true, a = random.integers(0, 4, (2, 150))
    renamed = np.stack([random.permutation(9)[a] for _ in range(6)])
    names = ["ami", "nmi", "bcubed_f", "vi", "ari"]
    found: Any = paired_bootstrap(true, a, renamed, names, 300, 0.9, method, 1, keep_resamples=True)
    for record in found.values():
        for part in (record.difference, record.low, record.high, record.standard_error, record.resamples):
            assert not part.any()
        assert (record.p_value == 1).all()
        assert not torch.equal(record.estimate_a, torch.zeros(6))


def test_wide_clusterings_are_compared_by_their_filled_cells(drawn: str) -> None:
    """Beyond a dense table the sparse form gives the same estimates and the same kind of spread."""
    items = 400
    true = np.arange(items) % 100
    a, b = true.copy(), np.arange(items) // 4
    a[:50] = 7
    found = paired_bootstrap(true, a, b, ["ari", "bcubed_f"], 200, rng=15)
    draws = torch.randint(items, (200, items), generator=torch.Generator().manual_seed(16))
    for name, record in found.items():
        tables = [
            ContingencyTables.from_labels(torch.from_numpy(true)[draws], torch.from_numpy(x)[draws]) for x in (a, b)
        ]
        difference = MEASURES[name](tables[0]) - MEASURES[name](tables[1])
        assert float(record.standard_error) == pytest.approx(float(difference.std()), rel=SIGMAS * 0.08)


def test_pairs_of_many_cells_and_of_few(drawn: str) -> None:
    """Each pair is drawn alone here, without the padding of the others."""
    true, a, b = np.random.default_rng(0).integers(0, 40, (3, 4000))
    found = paired_bootstrap(true, a, np.stack([b, true]), ["ari"], 20, rng=0, resample="items")["ari"]
    alone = paired_bootstrap(true, a, true, ["ari"], 20, rng=0, resample="items")["ari"]
    assert float(found.low[1]) == pytest.approx(float(alone.low), abs=0.02)
    assert drawn == "items" or float(found.low[1]) == pytest.approx(float(alone.low), rel=1e-12)


def test_items_left_out_of_one_are_left_out_of_both(drawn: str) -> None:
    true, a, b = three_labels(60)
    a[:7], b[5:11] = -1, -1
    found = paired_bootstrap(true, a, b, ["ari"], 50, noise_label=-1)
    both = (a >= 0) & (b >= 0)
    alone = paired_bootstrap(true[both], a[both], b[both], ["ari"], 50)
    assert torch.equal(found["ari"].difference, alone["ari"].difference)
    with pytest.raises(TypeError, match=r"weights: expected one of the options mask, "):
        paired_bootstrap(true, a, b, weights=true)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"noise_lable: .* \(did you mean noise_label\?\)"):
        paired_bootstrap(true, a, b, noise_lable=-1)  # type: ignore[call-arg]


def test_numbers_do_not_depend_on_chunks(drawn: str) -> None:
    true, a, b = np.random.default_rng(0).integers(0, 4, (3, 2, 90))
    runs = (
        paired_bootstrap(true, a, b, ["ari", "vi"], 600, rng=1, chunk_size=x, resample="items") for x in (None, 1, 512)
    )
    first, *others = runs
    assert first.settings["resampled"] == "items"
    for other in others:
        assert all(torch.equal(record.low, other[name].low) for name, record in first.items())
        assert all(torch.equal(record.standard_error, other[name].standard_error) for name, record in first.items())


def test_what_costs_less_is_drawn() -> None:
    assert is_cheaper(items=1000, tables=100, cells=100 * 500)
    assert not is_cheaper(items=1000, tables=1, cells=8)
    assert not is_cheaper(items=10**6, tables=100, cells=10**8)
    assert not is_cheaper(items=0, tables=1, cells=0)


def test_pairs_of_different_items_are_drawn_by_cells() -> None:
    true, a, b = three_labels()
    mask = np.ones((2, 120), dtype=bool)
    assert isinstance(_pairs(true, a, np.stack([b, b]), {"mask": mask}).items(), ItemResampler)
    same = paired_bootstrap(true, a, np.stack([b, b]), ["ari"], 20, mask=mask, rng=0)
    mask[1, 3] = False
    assert not isinstance(_pairs(true, a, np.stack([b, b]), {"mask": mask}).items(), ItemResampler)
    other = paired_bootstrap(true, a, np.stack([b, b]), ["ari"], 20, mask=mask)
    assert torch.equal(same["ari"].difference[0], other["ari"].difference[0])


def test_the_order_of_the_items_changes_monte_carlo_error_alone(drawn: str) -> None:
    """The same rows of a file in another order: ends of intervals are known to 2.7 errors / sqrt(draws)."""
    true, a, b = three_labels(200)
    order, mask = np.random.default_rng(1).permutation(200), np.arange(200) % 9 > 0
    first, second = (
        paired_bootstrap(true[x], a[x], np.stack([b, a, (b + 1) % 4])[:, x], ["ari", "vi"], 2000, rng=0, mask=mask[x])
        for x in (np.arange(200), order)
    )
    for name, record in first.items():
        near = SIGMAS * 2.7 * math.sqrt(2 / 2000) * record.standard_error + 1e-12
        assert bool(((record.difference - second[name].difference).abs() <= 1e-12).all())
        for end in ("low", "high", "standard_error"):
            assert bool(((getattr(record, end) - getattr(second[name], end)).abs() <= near).all()), (name, end)
    tables = [ContingencyTables.from_labels(true[x], a[x]) for x in (np.arange(200), order)]
    alone, again = (bootstrap(x, ["ari", "vi"], 300, rng=0, resample="items") for x in tables)
    assert all(torch.equal(alone[name].low, again[name].low) for name in alone)  # the same table


BROADCAST = {
    "nothing shared": (slice(None), slice(None), slice(None)),
    "one truth": ((0, 0), slice(None), (slice(None), slice(0, 1))),
    "one truth and a": ((0, 0), (0, 0), slice(None)),
    "one pair": ((0, 0), (0, 0), (0, 0)),
}


@pytest.mark.parametrize("kind", BROADCAST)
def test_batches_broadcast(kind: str, drawn: str) -> None:
    """Every pair has its own estimates and, where items are drawn, the resamples that it has alone."""
    labels = np.random.default_rng(3).integers(0, 3, (3, 2, 2, 50))
    sides = [side[at] for side, at in zip(labels, BROADCAST[kind], strict=True)]

    def run(sides: list[np.ndarray]) -> Any:
        true, first, second = sides
        return paired_bootstrap(true, first, second, ["ari"], 300, rng=4, keep_resamples=True)["ari"]

    found, whole = run(sides), [side.copy() for side in np.broadcast_arrays(*sides)]
    for at in np.ndindex(found.batch_shape):
        alone = run([side[at] for side in whole])
        assert torch.equal(found.difference[at], alone.difference)
        if drawn.startswith("items"):
            torch.testing.assert_close(found.resamples[(slice(None), *at)], alone.resamples, rtol=0, atol=1e-14)


def test_expanded_labels_are_a_batch() -> None:
    generator = torch.Generator().manual_seed(0)
    true, pred = (torch.randint(4, (60,), generator=generator) for _ in range(2))
    for copies in ((3, 3, 3), (3, 1, 1), (1, 3, 1)):
        sides = zip((true, pred, pred.flip(0)), copies, strict=True)
        a, b, c = (x.expand(n, 60) if n > 1 else x for x, n in sides)
        found, expected = (
            paired_bootstrap(x, y, z, ["adjusted_rand"], n_resamples=20, rng=1)
            for x, y, z in ((a, b, c), (a.clone(), b.clone(), c.clone()))
        )
        assert found.batch_shape == (3,)
        assert torch.equal(found["adjusted_rand"].difference, expected["adjusted_rand"].difference)


@pytest.mark.filterwarnings("ignore:bootstrap. the mean of the draws")  # near chance
@pytest.mark.parametrize(("correction", "least"), [("holm", 2 / 21 * 6), ("benjamini-hochberg", 2 / 21)])
def test_too_few_resamples_for_a_correction_are_said(correction: str, least: float) -> None:
    """Six comparisons at .05, two-sided: 2 / (resamples + 1) * 6 <= .05 from 239 resamples on."""
    generator = torch.Generator().manual_seed(0)
    true, many = torch.arange(40) // 10, torch.randint(4, (6, 40), generator=generator)
    with pytest.warns(
        UserWarning, match="resamples: expected at least 239, as 6 p-values .*; got 20, with which"
    ) as said:
        found = paired_bootstrap(true, true, many, "ari", 20, rng=generator, correction=correction, resample="items")
    assert found.settings["correction"] == correction
    assert found.settings["smallest_p_adjusted"] == pytest.approx(least)
    assert f"correction {correction}, smallest_p_adjusted {least:.4g}" in str(found)
    assert said[-1].filename == __file__
    assert str(said[-1].message).endswith("none can pass the level 0.05")
    p = found["ari"].p_value
    assert (p == 2 / 21).all()
    adjusted: Any = found["ari"].p_adjusted
    assert adjusted.min().item() == pytest.approx(least)
    with pytest.warns(UserWarning, match="got 238"):
        paired_bootstrap(true, true, many, "ari", 238, correction=correction, resample="items")
    enough: Any = paired_bootstrap(true, true, many, "ari", 239, correction=correction, resample="items")["ari"]
    assert enough.p_adjusted.max().item() == pytest.approx(0.05 if correction == "holm" else 2 / 240)
    with pytest.warns(UserWarning, match=r"at least 1199, .*level 0.01"):
        paired_bootstrap(true, true, many, "ari", 239, confidence_level=0.99, correction=correction, resample="items")


@pytest.mark.filterwarnings("ignore:bootstrap. the mean of the draws")
def test_several_p_values_together_can_pass_by_benjamini_and_hochberg() -> None:
    generator = torch.Generator().manual_seed(0)
    true, many = torch.arange(40) // 10, torch.randint(4, (6, 40), generator=generator)
    with pytest.warns(UserWarning, match="got 99, with which fewer than 3 together can pass"):  # .02 * 6 / 3 <= .05
        paired_bootstrap(true, true, many, "ari", 99, correction="benjamini-hochberg", resample="items")
    with pytest.warns(UserWarning, match="got 99, with which none can pass"):
        paired_bootstrap(true, true, many, "ari", 99, correction="holm", resample="items")


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg"])
def test_equal_partitions_are_named_and_one_comparison(correction: str) -> None:
    """Three distinct others, one of them a copy of A, which is no comparison, and one that comes twice."""
    generator = torch.Generator().manual_seed(0)
    true = torch.randint(0, 3, (120,), generator=generator)
    noise = torch.rand(3, 120, generator=generator) < torch.tensor([[0.1], [0.2], [0.6]])
    a, b, c = torch.where(noise, torch.randint(0, 3, (3, 120), generator=generator), true)
    runs = {"b": b, "copy": 2 - a, "c": c, "b again": 5 - b}
    found = paired_bootstrap(true, a, runs, ["ari"], 200, rng=0, correction=correction)
    record: Any = found["ari"]
    p, adjusted = record.p_value.tolist(), record.p_adjusted.tolist()
    assert p[1] == adjusted[1] == 1
    assert p[0] == p[3]
    holm, hochberg = (max(2 * p[2], p[0]), 2 * p[2]), (p[0], min(2 * p[2], p[0]))
    expected = [min(1.0, x) for x in (holm if correction == "holm" else hochberg)]
    assert p[2] <= p[0]
    assert found.settings["smallest_p_adjusted"] == 2 / 201 * (2 if correction == "holm" else 1)
    assert [adjusted[0], adjusted[2]] == pytest.approx(expected)
    assert adjusted[3] == adjusted[0]
    for column in record.columns().values():
        assert column[0] == column[3]
    assert str(found).splitlines()[-1] == "note: the same partition as the other side: 'copy'"
    one = paired_bootstrap(true, a, 2 - a, ["ari"], 50)
    assert str(one).splitlines()[-1] == "note: both clusterings are the same partition"
    assert one["ari"].p_value == 1
    with pytest.raises(ValueError, match=r"^resample: expected 'items' or 'classes' .paired_groups draws groups.; got"):
        paired_bootstrap(true, a, b, ["ari"], resample="groups")


def test_p_values_that_stop_at_the_draws_say_how_many_it_takes() -> None:
    true = [0] * 30 + [1] * 30
    worse, by, tables = [0] * 45 + [1] * 15, [i % 12 for i in range(60)], tce.ContingencyTables.from_labels(true, true)
    a, b = (tce.ContingencyTables.from_labels(true, x, by=by) for x in (true, worse))
    paired = partial(paired_bootstrap, true, true, worse, ["purity"], rng=0, resample="items")
    groups = partial(tce.paired_groups, a, b, ["ari"], rng=0)
    permuted = partial(tce.permutation_test, tables, ["ari"], rng=0)
    calls: list[tuple[Any, dict[str, Any], int]] = [
        (paired, {"n_resamples": 1000}, 1999),
        (groups, {"n_resamples": 400}, 999),
        (groups, {"n_resamples": 400, "test": "bootstrap"}, 1999),
        (permuted, {"n_resamples": 400}, 999),
        (permuted, {"n_resamples": 1000, "alternative": "two-sided"}, 1999),
    ]
    for call, options, needed in calls:
        found = call(**options)
        (record,) = found.values()
        sides = 2 if needed == 1999 else 1
        assert record.p_value.item() == pytest.approx(sides / (options["n_resamples"] + 1))
        stop = f"{record.p_value.item():.2g}"
        assert str(found).splitlines()[-1] == f"note: p-values stop at {stop}: n_resamples={needed} take them to 0.001"
        (more,) = (again := call(**options | {"n_resamples": needed})).values()
        assert more.p_value.item() == pytest.approx(0.001, rel=1e-12)
        assert not again.notes
    assert not tce.permutation_test(tables, ["ari"], rng=0).notes
    assert not paired_bootstrap(true, worse, [0] * 44 + [1] * 16, ["purity"], rng=0, resample="items").notes


@pytest.mark.parametrize("groups", [8, 9])
def test_few_groups_need_few_draws(groups: int) -> None:
    """No p-value is below 2 / 2^G: the least draws that go there are asked for, or all swaps are tried."""
    true = [0, 0, 1, 1] * groups
    by = [i // 4 for i in range(4 * groups)]
    a, b = (tce.ContingencyTables.from_labels(true, x, by=by) for x in (true, [0] * len(true)))
    notes = [tce.paired_groups(a, b, ["purity"], 50, rng=i).notes for i in range(9)]
    needed = 2 ** (groups - 1) - 1
    assert {f"p-values stop at 0.02: n_resamples={needed} take them to {2 / 2**groups:.2g}"} == {
        x for y in notes for x in y
    }
    assert not tce.paired_groups(a, b, ["purity"], 2**groups).notes


def test_draws_of_classes_by_default_need_no_more_draws() -> None:
    """Of 17 classes items are drawn, but not where the draws are biased: then p-values are normal and can be any."""
    true, generator = torch.arange(200) // 12, torch.Generator().manual_seed(0)
    a, b = (true.index_fill(0, torch.randperm(200, generator=generator)[:n], 2) for n in (3, 30))
    found = paired_bootstrap(true, a, torch.stack([b, b.flip(0)]), "ari", 50, rng=0, correction="holm")
    assert found.settings["resampled"] == "classes"
    assert found.settings["smallest_p_adjusted"] == 0
