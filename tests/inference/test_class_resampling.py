"""Intervals by drawing classes: against enumeration, the unit that is drawn, and coverage of small entities."""

import math
import warnings
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

import torchclusteval as tce
from tests.support.reference import adjusted_rand as slow_ari
from torchclusteval.inference.bootstrap_options import BootstrapOptions
from torchclusteval.inference.class_resampling import ClassResampler, items_with_an_error, wrong_classes
from torchclusteval.inference.intervals import two_sided_normal

NAMES = ["pair_f", "adjusted_rand", "ami", "nmi", "bcubed_f", "v_measure", "one_to_one_accuracy"]


def ari_of(table: np.ndarray) -> float:
    """By the slow reference."""
    true, pred = (np.repeat(x.ravel(), table.ravel()).tolist() for x in np.indices(table.shape))
    return slow_ari(true, pred)


@pytest.mark.parametrize("classes", [4, 5, 6])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_draws_are_tables_of_a_share_of_the_classes(layout: str, classes: int) -> None:
    """Against all subsets: the values, their mean at the estimate, and the standard error by hand."""
    counts = np.random.default_rng(0).integers(0, 4, (2, classes, 5)) + np.eye(classes, 5, dtype=np.int64) * 3
    tables = tce.ContingencyTables(counts)
    tables = tables if layout == "dense" else tables.to_sparse()
    with pytest.warns(UserWarning, match=f"only {classes} classes are there, and 10 or more are needed"):
        found: Any = tce.bootstrap(tables, ["ari"], 4000, rng=0, resample="classes", keep_resamples=True)["ari"]
    size = round(0.7 * classes)
    subsets = list(combinations(range(classes), size))
    values = np.array([[ari_of(table[list(rows)]) for table in counts] for rows in subsets])
    scale = math.sqrt(size / (classes - size))
    estimate = np.array([ari_of(table) for table in counts])
    expected = {tuple(x) for x in (estimate + scale * (values - values.mean(0))).round(9)}
    drawn = {tuple(draw) for draw in found.resamples.numpy().round(9)}
    assert len(drawn) == len(expected)
    apart = np.array(sorted(drawn)) - np.array(sorted(expected))
    assert np.abs(apart - apart.mean(0)).max() < 1e-6  # the mean of 4000 draws is not quite that of all subsets
    assert np.abs(apart.mean(0)).max() < 0.02
    np.testing.assert_allclose(found.standard_error, scale * values.std(0), rtol=0.05)
    np.testing.assert_allclose(found.resamples.mean(0), estimate, atol=1e-12)


def test_the_spread_of_a_mean_over_classes_is_that_of_sampling_theory() -> None:
    """Of classes of one size the share of items in the largest cell of a class is a mean: s / sqrt(E)."""
    first = np.random.default_rng(0).integers(5, 10, 40)
    counts = np.zeros((40, 80), dtype=np.int64)
    counts[np.arange(40), np.arange(40)], counts[np.arange(40), 40 + np.arange(40)] = first, 10 - first
    found = tce.bootstrap(tce.ContingencyTables(counts), ["inverse_purity"], 5000, rng=0)["inverse_purity"]
    assert float(found.standard_error) == pytest.approx((first / 10).std(ddof=1) / math.sqrt(40), rel=0.05)
    error = 1 - float(found.estimate)
    factor = math.exp(1.959964 * float(found.standard_error) / error)
    assert [float(found.low), float(found.high)] == pytest.approx([1 - error * factor, 1 - error / factor], rel=1e-6)


def test_classes_with_an_error() -> None:
    tables = tce.ContingencyTables([[2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 3]])
    assert int(wrong_classes(tables)) == int(wrong_classes(tables.to_sparse())) == 2
    mixed = tce.ContingencyTables([[5, 2, 1], [0, 4, 3]])  # 9 of 15 are in the largest cell of their class
    assert [int(items_with_an_error(x)) for x in (tables, mixed, mixed.to_sparse())] == [1, 6, 6]


def entities(rng: np.random.Generator, count: int, mean: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Entities of a population, and a clustering with records that are split off."""
    true = np.repeat(np.arange(count), 1 + rng.poisson(mean - 1, count))
    apart = rng.random(len(true)) < noise
    pred = true.copy()
    pred[apart] = count + np.arange(apart.sum())
    return true, pred


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:bootstrap. classes are drawn")
@pytest.mark.parametrize(("mean", "count"), [(1.5, 400), (3.0, 200), (3.0, 12)])
def test_coverage_where_clusters_are_small(mean: float, count: int) -> None:
    """Drawing items covers none of them. 200 samples: standard error .016."""
    rng, samples = np.random.default_rng(0), 200
    truth = np.mean([[*tce.evaluate(*entities(rng, count, mean, 0.1), NAMES).values()] for _ in range(400)], 0)
    hits = np.zeros(len(NAMES))
    for sample in range(samples):
        tables = tce.ContingencyTables.from_labels(*entities(rng, count, mean, 0.1))
        found = tce.bootstrap(tables, NAMES, 200, rng=sample)
        hits += [float(x.low) <= value <= float(x.high) for x, value in zip(found.values(), truth, strict=True)]
    assert (hits / samples >= 0.85).all(), hits / samples
    assert count < 30 or found.settings["resampled"] == "classes"


def test_a_difference_of_two_clusterings_with_many_clusters() -> None:
    """The joint clusters of both are 9e8: only those that occur are numbered."""
    rng = np.random.default_rng(0)
    true, a = entities(rng, 20_000, 2.0, 0.1)
    b = np.where(rng.random(len(a)) < 0.1, 20_000 + len(a) + np.arange(len(a)), a)
    found = tce.paired_bootstrap(true, a, b, ["pair_f"], 20, rng=0)
    assert found.settings["resampled"] == "classes"
    assert float(found["pair_f"].low) < float(found["pair_f"].difference) < float(found["pair_f"].high)
    with pytest.warns(UserWarning, match="draws of items is more than one standard error .*resample='classes'"):
        tce.paired_bootstrap(true, a, b, ["pair_f"], 20, rng=0, resample="items")


def test_the_unit_is_chosen_by_a_rule() -> None:
    """Few classes are fixed, and items are drawn where that is not biased; many are a sample."""
    rng = np.random.default_rng(0)
    many = tce.ContingencyTables.from_labels(*entities(rng, 400, 3.0, 0.2))
    assert tce.bootstrap(many, ["pair_f"], 20, rng=0).settings["resampled"] == "classes"
    assert "intervals hold for new classes (entities) like these" in str(tce.bootstrap(many, ["pair_f"], 20, rng=0))
    few = tce.ContingencyTables([[300, 20], [10, 400]])
    assert tce.bootstrap(few, ["ari", "v_measure"], 200, rng=0).settings["resampled"] == "items"
    assert "intervals hold for new items of the same classes" in str(tce.bootstrap(few, ["ari"], 20, rng=0))
    # 300 items a class, 10 % of them split off: cells of one item
    true = np.repeat(np.arange(20), 300)
    apart = rng.random(6000) < np.linspace(0.02, 0.2, 20)[true]
    split = tce.ContingencyTables.from_labels(true, np.where(apart, 20 + np.arange(6000), true))
    found = tce.bootstrap(split, ["purity", "v_measure", "mirkin"], 200, rng=0)
    assert found.settings["resampled"] in ("items; classes for v_measure", "items; classes for purity, v_measure")
    assert float(found["v_measure"].bias) == 0
    assert float(found["v_measure"].low) < float(found["v_measure"].estimate) < float(found["v_measure"].high)
    one = split.to_dense().counts[:9]
    assert int(wrong_classes(tce.ContingencyTables(one))) == 9
    with pytest.warns(UserWarning, match="an item drawn twice agrees with itself.*score more items"):
        refused = tce.bootstrap(tce.ContingencyTables(one), ["v_measure", "ari"], 200, rng=0)
    assert math.isnan(float(refused["v_measure"].low))
    assert "note: no interval of v_measure" in str(refused)
    true = np.repeat(np.arange(10), 40)
    near = tce.ContingencyTables.from_labels(true, np.where(rng.random(400) < 0.2, rng.integers(0, 10, 400), true))
    drawn = {tce.bootstrap(near, ["bcubed_f"], 100, rng=seed).settings["resampled"] for seed in range(20)}
    assert len(drawn) == 1  # though the means of these draws lie on both sides of the rule's edge


def test_chance_is_another_cause_than_small_clusters() -> None:
    true, pred = np.random.default_rng(0).integers(0, 5, (2, 200))
    tables = tce.ContingencyTables.from_labels(true, pred)
    with pytest.warns(UserWarning, match=r"one standard error .* v_measure: near chance, .*permutation_test") as said:
        found = tce.bootstrap(tables, ["v_measure"], 200, rng=0, resample="items")
    assert len(said) == 1
    assert said[0].filename == __file__
    assert "near chance" in str(found)
    assert not math.isnan(float(found["v_measure"].low))


def test_copies_are_the_cause_in_small_clusters() -> None:
    """Not chance, though the score is near it; and no advice to take the measure that is biased."""
    for size in (200, 7):
        true = np.repeat(np.arange(size), 2)
        tables = tce.ContingencyTables.from_labels(true, np.random.default_rng(0).permutation(true))
        with pytest.warns(UserWarning, match=r"adjusted_rand: an item drawn .*more items; resample='classes'"):
            found = tce.bootstrap(tables, ["ari"], 200, rng=0, resample="items" if size == 200 else None)["ari"]
        assert math.isnan(float(found.low)) == (size == 7)


def test_bias_and_few_errors_are_not_silent_in_small_tables() -> None:
    """Ten classes of two with four split: draws of items of AMI leave out the estimate."""
    items = np.arange(20)
    tables = tce.ContingencyTables.from_labels(items // 2, items // 2 + 20 * (items % 5 == 1))
    assert tce.bootstrap(tables, ["ami"], 200, rng=0).settings["resampled"] == "classes"
    with pytest.warns(UserWarning, match="more than one standard error from the estimate of ami_arithmetic"):
        found = tce.bootstrap(tables, ["ami"], 200, rng=0, resample="items")
    assert float(found["ami"].low) > float(found["ami"].estimate)
    assert "only 4 items have an error, and an interval from draws of items needs 5 or more" in found.notes
    assert "only 0 items have an error" in str(tce.bootstrap(tce.ContingencyTables([[5]]), ["purity"], 20, rng=0))
    with pytest.warns(UserWarning, match="only 0 classes have an error"):  # no interval of width 0
        assert math.isnan(float(tce.bootstrap(tce.ContingencyTables(np.diag([9] * 10)), ["ari"], 20)["ari"].low))


def test_what_classes_do_not_give_is_refused() -> None:
    rng = np.random.default_rng(0)
    tables = tce.ContingencyTables.from_labels(*entities(rng, 400, 3.0, 0.2))
    with pytest.raises(ValueError, match=r"got 'mirkin', which grows with the number of items"):
        tce.bootstrap(tables, ["mirkin"], 20, rng=0, resample="classes")
    with pytest.warns(UserWarning, match="no interval of pair_precision, .*, as the draws do not differ"):
        assert "mirkin" in tce.bootstrap(tables, "pairs", 20, rng=0, resample="classes").skipped
    mixed = tce.bootstrap(tables, ["mirkin", "ari"], 20, rng=0)
    assert mixed.settings["resampled"] == "items; classes for adjusted_rand"
    with pytest.raises(ValueError, match="method: expected None for draws of classes"):
        tce.bootstrap(tables, ["pair_f"], 20, method="bca", resample="classes")
    few = tce.ContingencyTables.from_labels(*entities(rng, 40, 3.0, 0.01))
    with pytest.warns(
        UserWarning, match=f"only {int(wrong_classes(few))} classes have an error, and 2 or more are needed"
    ):
        tce.bootstrap(few, ["pair_f"], 20, rng=0)
    none = tce.ContingencyTables(np.diag(np.arange(1, 41)))
    with pytest.warns(UserWarning, match="only 0 classes have an error, .* no interval of pair_f, as"):
        found = tce.bootstrap(none, ["pair_f"], 20, rng=0)["pair_f"]
    assert math.isnan(float(found.low))
    assert math.isnan(float(found.high))


def test_equal_partitions_have_equal_intervals() -> None:
    """Under other numbers of the clusters too; they count once among the comparisons."""
    rng = np.random.default_rng(0)
    for true in (rng.integers(0, 4, 300), rng.integers(0, 100, 300)):
        a, b = (np.where(rng.random(300) < p, true, rng.integers(0, 100, 300)) for p in (0.7, 0.8))
        runs = np.stack([a, b, 200 - a, b, a])
        tables = tce.ContingencyTables.from_labels(true, runs)
        found = tce.bootstrap(tables, ["ari"], 50, rng=0, resample="items")["ari"]
        for part in (found.low, found.high, found.standard_error):
            assert part[0] == part[2] == part[4] != part[1] == part[3]
        pairs: Any = tce.paired_bootstrap(true, b, runs, ["ari"], 100, rng=0, correction="benjamini-hochberg")["ari"]
        for part in (pairs.low, pairs.high, pairs.p_value):
            assert part[0] == part[2] == part[4]
            assert part[1] == part[3]
        assert pairs.p_adjusted[0] == pairs.p_value[0]  # the only comparison: B with itself is none


def test_empty_batches_and_small_tables() -> None:
    """Nothing to warn of: no table, or the few items of one group next to a large one."""
    none = tce.ContingencyTables(torch.zeros(0, 2, 2, dtype=torch.int64))
    for unit in ("classes", None):
        assert tce.bootstrap(none, ["purity"], 20, rng=0, resample=unit)["purity"].low.shape == (0,)
    tables = tce.ContingencyTables([[[500, 20], [10, 400]], [[1, 1], [1, 1]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tce.bootstrap(tables, ["purity", "ari"], 200, rng=0)


def test_p_values_keep_their_digits_in_the_tail() -> None:
    with mpmath.workdps(30):
        expected = float(mpmath.erfc(mpmath.mpf("22.5") / mpmath.sqrt(2)))
    found = two_sided_normal(torch.tensor([45.0, 0.0]).double(), torch.tensor([2.0, 1.0]).double()).tolist()
    assert found == [pytest.approx(expected, rel=1e-12), 1.0]


def test_populations_stand_in_the_order_of_their_units() -> None:
    settings = BootstrapOptions(10, 0.95, None, None).settings_dict("classes; items for rand", ["classes", "items"])
    assert settings["population"].startswith("new classes (entities)")
    assert settings["population"].endswith("new items of the same classes")


def groups_of_all_sizes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of 10,000 entities, of ten classes, of three items, of 40 and of 41 entities, and of ten at random."""
    rng = np.random.default_rng(1)
    parts = [entities(rng, 10_000, 1.2, 0.1)]
    true = rng.integers(0, 10, 900)
    parts += [(true, np.where(rng.random(900) < 0.8, true, rng.integers(0, 12, 900)))]
    parts += [(np.array([0, 0, 1]), np.array([0, 1, 1]))]
    parts += [entities(rng, count, 3.0, 0.2) for count in (40, 41)]
    parts += [tuple(rng.integers(0, 10, (2, 60)))]
    ids = np.repeat(np.arange(len(parts)), [len(true) for true, _ in parts])
    return np.concatenate([x for x, _ in parts]), np.concatenate([x for _, x in parts]), ids


OF_ALL = ["ari", "bcubed_f", "v_measure", "mirkin"]


@pytest.mark.filterwarnings("ignore:bootstrap. ")
@pytest.mark.parametrize("options", [{}, {"resample": "items"}, {"chunk_size": 1}, {"method": "bca"}])
def test_a_table_has_the_interval_that_it_has_alone(options: dict[str, Any]) -> None:
    """To the bit but for sums in another order; whatever the layout, the padding and the units of the others."""
    true, pred, ids = groups_of_all_sizes()
    kept = ids > 0 if options.get("method") == "bca" else ids >= 0
    tables = tce.ContingencyTables.from_labels(true[kept], pred[kept], by=ids[kept])
    found = tce.bootstrap(tables, OF_ALL, 300, rng=3, **options)
    for place, group in enumerate(np.unique(ids[kept])):
        own = tce.ContingencyTables.from_labels(true[ids == group], pred[ids == group])
        alone = tce.bootstrap(own, OF_ALL, 300, rng=3, **{**options, "chunk_size": None})
        for name, record in alone.items():
            unit = alone.settings["resampled"]
            unit = next((part for part in unit.split("; ")[1:] if name in part), unit)
            if (flags := found[name].of_classes) is not None:
                assert bool(flags[place]) == unit.startswith("classes"), (group, name)
            for column, value in record.columns().items():
                together = found[name].columns()[column][place]
                torch.testing.assert_close(
                    together, value, rtol=1e-9, atol=1e-12, equal_nan=True, msg=f"{group} {name}"
                )


def test_classes_are_drawn_among_those_of_each_table() -> None:
    """By hand: of tables with rows that are empty, as many of their own classes are drawn."""
    counts = np.zeros((2, 40, 45), dtype=np.int64)
    counts[0, np.arange(40), np.arange(40)], counts[0, :40, 40] = 3, np.arange(40) % 2
    counts[1, 3:33:3, :10], counts[1, 3:33:3, 44] = np.eye(10, dtype=np.int64) * 4, np.arange(10) % 3
    for tables in (tce.ContingencyTables(counts), tce.ContingencyTables(counts).to_sparse()):
        source = ClassResampler(tables[torch.tensor([1])], 10)
        drawn = source.tables(source.draw(slice(None), 30, torch.Generator().manual_seed(0)))
        assert ((drawn.class_sizes > 0).sum(-1) == 7).all()
        whole = torch.from_numpy(counts[1].sum(-1))
        assert torch.equal(drawn.class_sizes.squeeze(1), torch.where(drawn.class_sizes.squeeze(1) > 0, whole, 0))
        assert torch.equal(drawn.to_dense().counts.sum(-1), drawn.class_sizes)


def test_each_table_has_its_own_unit_and_notes_name_it() -> None:
    """Of one truth: items are biased where many are split off, and near chance, not for the good clustering."""
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(20), 300)
    split = np.where(rng.random(6000) < np.linspace(0.02, 0.2, 20)[true], 20 + np.arange(6000), true)
    good = np.where(rng.random(6000) < 0.05, (true + 1) % 20, true)
    runs = {"good": good, "split": split, "good too": (good + 3) % 20}
    tables = tce.ContingencyTables.from_labels(true, runs)
    found: Any = tce.bootstrap(tables, ["v_measure", "ari"], 200, rng=0)
    assert found["v_measure"].of_classes.tolist() == [False, True, False]
    assert found.settings["resampled"] == "items or classes; items for adjusted_rand"
    assert "intervals of v_measure for 'split' draw classes, the others items" in found.notes
    assert str(found).splitlines()[1].split()[-1] == "of_classes"
    lines = [line.split() for line in str(found).splitlines()]
    assert [line[-1] for line in lines if line[0] == "v_measure"] == ["no", "yes", "no"]
    one = found["v_measure"]
    assert (one.low[0], one.high[0]) == (one.low[2], one.high[2])  # the same partition
    with pytest.warns(
        UserWarning, match=r"one standard error from the estimate of v_measure, adjusted_rand for 'chance': near"
    ):
        found = tce.bootstrap(
            tce.ContingencyTables.from_labels(true % 5, {"good": good % 5, "chance": rng.integers(0, 5, 6000)}),
            ["v_measure", "ari"], 200, rng=0,
        )  # fmt: skip
    assert found["v_measure"].low.isnan().tolist() == [False, True]
    assert "no interval of v_measure, adjusted_rand for 'chance': too much bias" in " ".join(found.notes)


def test_each_pair_has_its_own_unit() -> None:
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(20), 300)
    split = np.where(rng.random(6000) < np.linspace(0.02, 0.2, 20)[true], 20 + np.arange(6000), true)
    good, better = (np.where(rng.random(6000) < share, (true + 1) % 20, true) for share in (0.05, 0.03))
    found: Any = tce.paired_bootstrap(true, good, {"split": split, "better": better}, ["v_measure"], 300, rng=0)
    assert found["v_measure"].of_classes.tolist() == [True, False]
    for place, other in enumerate((split, better)):
        alone = tce.paired_bootstrap(true, good, other, ["v_measure"], 300, rng=0)
        assert alone.settings["resampled"] == ("classes", "items")[place]
        error = float(alone["v_measure"].standard_error)
        for column, value in alone["v_measure"].columns().items():  # pairs may share draws of items: those of 300 draws
            near = 1e-12 if place == 0 else 0.5 * error
            assert float(found["v_measure"].columns()[column][place]) == pytest.approx(float(value), abs=near)


def test_classes_that_noise_empties_are_not_drawn() -> None:
    """As without their items: a third of the classes is noise in B alone."""
    generator = torch.Generator().manual_seed(0)
    items = torch.arange(180)
    true = items // 3
    a, b = (torch.where(torch.rand(180, generator=generator) < share, items + 1000, true) for share in (0.2, 0.4))
    kept = true % 3 > 0
    options: dict[str, Any] = {"n_resamples": 300, "resample": "classes", "rng": 0}
    names = ["pair_f", "variation_of_information"]
    found = tce.paired_bootstrap(true, a, torch.where(kept, b, -1), names, noise_label=-1, **options)
    alone = tce.paired_bootstrap(true[kept], a[kept], b[kept], names, **options)
    for name, record in alone.items():
        for key, value in record.columns().items():
            torch.testing.assert_close(found[name].columns()[key], value, rtol=1e-10, atol=0, msg=f"{name} {key}")
