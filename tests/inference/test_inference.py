"""Bootstrap, permutation test, paired comparison; with a fresh seed a statistical test fails in 7e-6 of cases."""

import itertools
import json
import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from tests.support.reference import adjusted_rand as slow_ari
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import MEASURES, ContingencyTables, Measure, evaluate_tables, pooled, random_tables
from torchclusteval.common.lazy import with_cached_values
from torchclusteval.inference import adjusted_for_chance, bootstrap, intervals, paired_bootstrap, permutation_test
from torchclusteval.inference.exact_expectations import expected_value
from torchclusteval.measures import information

SIGMAS = 4.5
TABLE = [[30, 5, 1], [2, 20, 3], [0, 4, 15]]
BATCH = [TABLE, [[12, 3, 0], [9, 9, 2], [1, 0, 44]], [[80, 0, 0], [0, 0, 0], [0, 0, 0]]]


def wide_tables() -> ContingencyTables:
    """Few items in many groups: cells are resampled from a list, items permuted; two tables and an empty one."""
    true = torch.arange(300) % 90
    pred = torch.stack([torch.arange(300) // 3, torch.arange(300) % 80, torch.arange(300) // 3])
    mask = torch.ones(3, 300, dtype=torch.bool)
    mask[2] = False
    return ContingencyTables.from_labels(true, pred, mask=mask)


def one_truth() -> ContingencyTables:
    """Few items of the same classes: tables share permutations."""
    pred = torch.stack([torch.arange(90) % 7, torch.arange(90) // 31, torch.arange(90) // 45])
    return ContingencyTables.from_labels(torch.arange(90) // 20, pred)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:bootstrap. classes are drawn:UserWarning")  # no class has a right pair
@pytest.mark.parametrize(
    ("kind", "chunk_size"),
    [
        ("small", 1),
        ("small", 256),
        ("small", 700),
        ("small", 10_000),
        ("many cells", 600),
        ("few items", 1),
        ("one truth", 300),
    ],
)
def test_numbers_do_not_depend_on_chunks(kind: str, chunk_size: int) -> None:
    measures = ["adjusted_rand", "v_measure", "purity"]
    tables, resamples = {
        "small": (ContingencyTables(BATCH), 700),
        "many cells": (ContingencyTables(torch.arange(4500).reshape(1, 90, 50) % 3), 260),
        "few items": (wide_tables(), 300),
        "one truth": (one_truth(), 700),
    }[kind]
    for run in (partial(bootstrap, resample="items"), bootstrap, permutation_test):
        first, second = (run(tables, measures, resamples, rng=1, chunk_size=x) for x in (None, chunk_size))
        assert list(first) == list(second)
        for name, record in first.items():
            for key, value in record.columns().items():
                assert torch.equal(value.nan_to_num(7.0), second[name].columns()[key].nan_to_num(7.0)), (name, key)


@pytest.mark.slow
@pytest.mark.parametrize("run", [partial(bootstrap, resample="items"), permutation_test])
def test_no_block_repeats_another(run) -> None:
    """Tables of so many cells that a block is drawn in parts."""
    tables = ContingencyTables(torch.arange(4500).reshape(1, 90, 50) % 3)
    values = run(tables, ["vi"], 520, rng=1, keep_resamples=True)["vi"].resamples
    assert len(values.unique()) > 515


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_share_has_the_binomial_interval(layout: str) -> None:
    """The share of one cell is binomial: its standard error and its quantiles are known."""
    share = Measure(
        "purity_by_hand", "matching", lambda t: t.max_by_class(lambda cell: cell.n)[..., 0] / t._n_items_f64, (0, 1)
    )
    tables = in_layout(torch.tensor([[[37, 0], [0, 63]], [[90, 0], [0, 10]]]), layout)
    found: Any = bootstrap(tables, [share], 20_000, confidence_level=0.9, rng=3, keep_resamples=True)[share.name]
    for at, hits in enumerate((37, 90)):
        p = hits / 100
        error = math.sqrt(p * (1 - p) / 100)
        assert float(found.standard_error[at]) == pytest.approx(error, rel=SIGMAS / math.sqrt(2 * 20_000))
        assert abs(float(found.bias[at])) < SIGMAS * error / math.sqrt(20_000)
        exact = stats.binom(100, p)
        for end, level in ((found.low[at], 0.05), (found.high[at], 0.95)):
            near = SIGMAS * math.sqrt(0.05 * 0.95 / 20_000)
            assert exact.ppf(level - near) <= round(float(end) * 100, 6) <= exact.ppf(level + near)
    assert found.resamples.shape == (20_000, 2)


def test_ends_are_quantiles_of_the_resamples() -> None:
    """The last tables have so few items that many resamples tie with the estimate."""
    batch = [*BATCH, [[4, 1, 1], [1, 3, 1], [0, 1, 3]], [[3, 1, 0], [1, 3, 0], [0, 0, 0]]]
    tables = ContingencyTables(batch)
    runs: Any = {m: bootstrap(tables, ["ari"], 999, 0.9, m, 4, keep_resamples=True)["ari"] for m in intervals.METHODS}
    percentile, basic, bca = runs.values()
    values = percentile.resamples.numpy()
    low, high = np.quantile(values, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(percentile.low, low, rtol=1e-12)
    np.testing.assert_allclose(percentile.high, high, rtol=1e-12)
    np.testing.assert_allclose(basic.low, 2 * percentile.estimate.numpy() - high, rtol=1e-12)
    np.testing.assert_allclose(basic.high, 2 * percentile.estimate.numpy() - low, rtol=1e-12)
    np.testing.assert_allclose(percentile.bias, values.mean(0) - percentile.estimate.numpy(), atol=1e-14)
    assert torch.equal(bca.resamples, percentile.resamples)
    for at, counts in enumerate(batch):
        np.testing.assert_allclose([bca.low[at], bca.high[at]], bca_by_hand(values[:, at], counts), rtol=1e-9)


def bca_by_hand(values: np.ndarray, counts: list[list[int]]) -> np.ndarray:
    """Efron's formulas with the jackknife over items, one by one."""
    labels = [(i, j) for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)]
    estimate = float(slow_ari(*zip(*labels, strict=True)))
    below = np.mean((values < estimate - 1e-9) + 0.5 * (abs(values - estimate) <= 1e-9))
    without = {}
    for x in set(labels):
        left = [y for k, y in enumerate(labels) if k != labels.index(x)]
        without[x] = float(slow_ari(*zip(*left, strict=True)))
    each = np.array([without[x] for x in labels])
    away = each.mean() - each
    skew = (away**3).sum() / (6 * (away**2).sum() ** 1.5) if np.ptp(each) > 1e-12 else 0.0
    z0 = stats.norm.ppf(below)
    levels = [stats.norm.cdf(z0 + (z0 + z) / (1 - skew * (z0 + z))) for z in stats.norm.ppf([0.05, 0.95])]
    return np.quantile(values, levels)


def test_resampled_tables_resample_items() -> None:
    """The same standard error and interval as drawing the items themselves again."""
    table = ContingencyTables(TABLE)
    _, row, column, count = table.cells()
    true, pred = (torch.repeat_interleave(x, count) for x in (row, column))
    draws = torch.randint(len(true), (20_000, len(true)), generator=torch.Generator().manual_seed(5))
    by_items = ContingencyTables.from_labels(true[draws], pred[draws], num_classes=3, num_clusters=3)
    expected = evaluate_tables(by_items, ["ari", "vi", "bcubed_f"])
    found = bootstrap(table, ["ari", "vi", "bcubed_f"], 20_000, rng=6)
    for name, value in expected.items():
        interval = found[name]
        near = SIGMAS * float(value.std()) * 0.02
        assert float(interval.standard_error) == pytest.approx(float(value.std()), rel=SIGMAS * 0.01)
        assert abs(float(interval.low - value.quantile(0.025))) < near
        assert abs(float(interval.high - value.quantile(0.975))) < near


def test_bca_falls_back_where_all_resamples_are_on_one_side() -> None:
    """The number of clusters of a resample is never above that of the table itself."""
    rare = ContingencyTables([[1] * 40])
    groups = Measure("groups", "matching", lambda t: t.n_clusters.double(), (1, math.inf))
    found = {}
    for method in ("bca", "percentile"):
        with pytest.warns(UserWarning, match="more than one standard error from the estimate of groups"):
            found[method] = bootstrap(rare, [groups], 256, 0.9, method, 7)["groups"]
    assert bool(found["bca"].fallback)
    assert found["percentile"].fallback is None
    assert torch.equal(found["bca"].low, found["percentile"].low)
    assert not bool(bootstrap(ContingencyTables(TABLE), ["ari"], 256, method="bca")["ari"].fallback)
    many = ContingencyTables(torch.ones(101, 100, dtype=torch.int64))
    with pytest.raises(ValueError, match="method: expected any method but 'bca' for more than 10000 cells; got 10100"):
        bootstrap(many, ["ari"], 10, method="bca")


SIX = [
    ([0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0]),
    ([0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 1, 1]),
    ([0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 2]),
    ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 2]),
    ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]),
    ([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]),
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]),
]


def all_permutations(pair: tuple[list[int], list[int]]) -> ContingencyTables:
    true, pred = pair
    permuted = torch.tensor(list(itertools.permutations(pred)))
    return ContingencyTables.from_labels(torch.tensor(true), permuted, num_classes=6, num_clusters=6)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.linear_in])
def test_expectations_are_means_over_all_permutations(name: str, layout: str) -> None:
    for pair in SIX:
        every = all_permutations(pair)
        values = MEASURES[name](every)
        tables = every[:3].to_sparse() if layout == "sparse" else every[:3]
        found = expected_value(MEASURES[name], tables)
        torch.testing.assert_close(found, values.mean().expand(3), rtol=1e-12, atol=1e-14)


def test_suppositions_leave_the_tables_alone() -> None:
    tables = ContingencyTables([[3, 1], [0, 2]])
    known = MEASURES["mutual_information"](tables)
    half = torch.tensor(0.5, dtype=torch.float64)
    other = with_cached_values(tables, {information.shared: half, ContingencyTables.class_sizes: torch.tensor([5, 1])})
    assert MEASURES["mutual_information"](other) == half
    assert int(other.n_items) == 6
    assert other.class_sizes.tolist() == [5, 1]
    assert MEASURES["mutual_information"](tables) == known
    assert tables.class_sizes.tolist() == [4, 2]


def test_adjusted_for_chance() -> None:
    tables = ContingencyTables(BATCH)
    known = {"rand": "adjusted_rand", "mirkin": "adjusted_rand", "v_measure": "ami_arithmetic", "nmi_max": "ami_max"}
    for plain, corrected in known.items():
        measure = adjusted_for_chance(plain)
        assert measure.name == f"adjusted_{plain}"
        torch.testing.assert_close(measure(tables), MEASURES[corrected](tables), rtol=1e-12, atol=1e-14)
    for pair in SIX[:2]:
        every = all_permutations(pair)
        for name in ("bcubed_precision", "element_centric_similarity", "pair_f"):
            assert float(adjusted_for_chance(name)(every).mean()) == pytest.approx(0, abs=1e-13)
    wrong: dict[Any, str] = {
        "purity": "measure: expected a measure with a known mean over permutations",
        "mi": "measure: expected a measure with one perfect value; got 'mutual_information'",
        None: "measures: expected the name of a measure; got NoneType",
    }
    for asked, message in wrong.items():
        with pytest.raises(ValueError, match=message):
            adjusted_for_chance(asked)


@pytest.mark.slow
@pytest.mark.parametrize("alternative", ["better", "worse", "two-sided"])
@pytest.mark.parametrize("name", ["adjusted_rand", "variation_of_information", "purity"])
def test_p_values_are_those_of_all_permutations(name: str, alternative: str) -> None:
    """Ties are common with six items, so a wrong side or a lost tie shows."""
    count = 4000
    for pair in SIX[:2]:
        every = all_permutations(pair)
        observed = every[0]
        values = MEASURES[name](every).numpy()
        sides = [np.mean(values >= values[0] - 1e-9), np.mean(values <= values[0] + 1e-9)]
        better = sides if MEASURES[name].better == "higher" else sides[::-1]
        exact = {"better": better[0], "worse": better[1], "two-sided": min(1, 2 * min(sides))}[alternative]
        found = permutation_test(observed, [name], count, alternative, 8)[name]
        factor = 2 if alternative == "two-sided" else 1
        near = SIGMAS * factor * math.sqrt(exact / factor * (1 - exact / factor) / count) + 2 / count
        assert float(found.p_value) == pytest.approx(exact, abs=near)
        assert float(found.null_mean) == pytest.approx(values.mean(), abs=SIGMAS * values.std() / math.sqrt(count))
        assert float(found.null_sd) == pytest.approx(values.std(), rel=0.1)


@pytest.mark.parametrize(
    ("tables", "count", "method"),
    [
        (ContingencyTables(BATCH[:2]), 2000, "margins"),
        (wide_tables()[:2], 300, "items"),
        (one_truth(), 2000, "items"),
        (ContingencyTables(TABLE), 2000, "items"),
    ],
    ids=["margins", "sparse", "one truth", "one table"],
)
def test_null_means_agree_with_exact_expectations(tables: ContingencyTables, count: int, method: str) -> None:
    names = ["adjusted_rand", "ami", "rand", "variation_of_information", "bcubed_f"]
    found = permutation_test(tables, names, count, rng=9)
    assert found.settings["resampled"] == method
    for name, record in found.items():
        error = record.null_sd / math.sqrt(count)
        assert bool(((record.null_mean - record.expected).abs() <= SIGMAS * error + 1e-15).all()), name
    torch.testing.assert_close(found["rand"].adjusted, evaluate_tables(tables, ["ari"])["ari"], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found["vi"].adjusted, evaluate_tables(tables, ["ami"])["ami"], rtol=1e-12, atol=1e-14)
    assert torch.equal(found["bcubed_f"].expected, found["bcubed_f"].null_mean)
    z = (found["rand"].observed - found["rand"].null_mean) / found["rand"].null_sd
    torch.testing.assert_close(found["rand"].z, z)


def test_tables_that_share_permutations_have_values_of_their_own() -> None:
    """Tables of equal sizes get different permutations, uncorrelated ones; equal tables the same, which count once."""
    true, pred = torch.arange(90) // 20, torch.arange(90) % 7
    same = ContingencyTables.from_labels(true, torch.stack([pred, torch.arange(90) // 13, 6 - pred]))
    found = permutation_test(same, ["rand"], 1000, rng=19, keep_resamples=True, correction="holm")
    values: Any = found["rand"].resamples
    assert abs(float(torch.corrcoef(values.T)[0, 1])) < SIGMAS / math.sqrt(1000)
    assert torch.equal(values[:, 0], values[:, 2])
    assert found.settings["smallest_p_adjusted"] == pytest.approx(2 / 1001)


def test_tables_of_a_batch_keep_their_places() -> None:
    """Tables are drawn in the order of their groups, and reported in the order they came in."""
    sizes = [[40, 30, 20, 10], [50, 50, 0, 0], [60, 20, 20, 0], [97, 1, 1, 1]]
    tables = ContingencyTables(torch.diag_embed(torch.tensor(sizes)))
    record = permutation_test(tables, ["rand"], 500, rng=18)["rand"]
    near = SIGMAS * record.null_sd / math.sqrt(500)
    assert bool(((record.null_mean - record.expected).abs() <= near).all())


def test_draws_that_are_too_few_for_an_interval() -> None:
    """The least and the greatest of n draws span (n - 1) / (n + 1): .95 from 39 on."""
    with pytest.raises(ValueError, match=r"n_resamples: expected at least 2, as an interval .*; got 1"):
        bootstrap(ContingencyTables(TABLE), ["ari"], 1)
    for draws, said in ((38, True), (39, False)):
        notes = bootstrap(ContingencyTables(TABLE), ["ari"], draws, rng=0, resample="items").notes
        assert any("cannot reach the level 0.95: n_resamples=39 or more can" in note for note in notes) == said


def test_rounding_makes_no_difference_to_ties() -> None:
    observed = torch.tensor(0.3, dtype=torch.float64)
    values = torch.tensor([0.3 - 1e-16, 0.3 + 1e-16, 0.1 + 0.2, 0.2, 0.4], dtype=torch.float64)
    for upper in (True, False):
        p = intervals.one_sided(values, observed, intervals.rounding_tolerance(observed), upper=upper)
        assert float(p) == 5 / 6


def test_p_values_of_random_tables_are_uniform() -> None:
    """Under the null the share of p <= 0.1 is at most 0.1, and not far below for a fine-grained measure."""
    sizes = torch.tensor([40, 30, 30])
    tables = random_tables(sizes, sizes, 1000, 10)
    p = permutation_test(tables, ["vi"], 199, rng=11)["vi"].p_value
    assert float((p <= 0.1).double().mean()) == pytest.approx(0.1, abs=SIGMAS * math.sqrt(0.09 / 1000))
    assert float(p.min()) > 0


def test_sets_leave_out_what_has_no_direction() -> None:
    tables = ContingencyTables(TABLE)
    found = permutation_test(tables, "entropy", 10)
    assert found.skipped["joint_entropy"] == "has no direction"
    assert "joint_entropy" not in found
    assert "joint_entropy" in permutation_test(tables, "entropy", 10, "two-sided")
    with pytest.raises(ValueError, match="alternative: expected 'two-sided' for joint_entropy, which has no direction"):
        permutation_test(tables, ["joint_entropy"], 10)


def test_adjusted_p_values() -> None:
    p = [0.01, 0.04, 0.03, 0.005, math.nan, 0.5]
    # By hand: sorted .005 .01 .03 .04 .5, times 5 4 3 2 1, never falling.
    holm = intervals.adjust(torch.tensor(p).double(), "holm")
    np.testing.assert_allclose(holm, [0.04, 0.09, 0.09, 0.025, math.nan, 0.5], rtol=1e-6)
    some = np.random.default_rng(1).uniform(0, 0.2, (3, 7)) ** 2
    found = intervals.adjust(torch.from_numpy(some), "benjamini-hochberg")
    np.testing.assert_allclose(found.flatten(), stats.false_discovery_control(some.ravel()), rtol=1e-12)
    report = permutation_test(ContingencyTables(BATCH), ["ari"], 99, correction="holm")
    torch.testing.assert_close(report["ari"].p_adjusted, intervals.adjust(report["ari"].p_value, "holm"))


DEGENERATE = {
    "no items": [[0, 0], [0, 0]],
    "one item": [[1, 0], [0, 0]],
    "two items": [[1, 0], [0, 1]],
    "two apart": [[1, 1], [0, 0]],
    "one cluster": [[3], [2]],
    "one block": [[5]],
    "singletons": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


@pytest.mark.slow
@pytest.mark.parametrize("method", intervals.METHODS)
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_tables_give_stated_values(kind: str, method: str) -> None:
    tables = ContingencyTables(DEGENERATE[kind])
    for name, record in bootstrap(tables, "all", 64, method=method).items():
        ends = [float(record.low), float(record.high)]
        if kind == "no items":
            assert all(map(math.isnan, [*ends, float(record.estimate)]))
        else:
            assert not any(map(math.isnan, ends)), name
        if kind in ("one item", "one block"):
            assert ends[0] == ends[1] == float(record.estimate)
    for significance in permutation_test(tables, "all", 64, "two-sided").values():
        if kind == "no items":
            assert math.isnan(float(significance.p_value))
        else:
            assert 0 < float(significance.p_value) <= 1
        if kind in ("one item", "one cluster", "one block", "singletons", "two apart"):
            assert float(significance.p_value) == 1
            assert math.isnan(float(significance.z))
    if kind == "one cluster":
        assert float(permutation_test(tables, ["purity"], 9)["purity"].adjusted) == pytest.approx(0, abs=1e-14)
    if kind in ("one block", "singletons"):
        assert float(permutation_test(tables, ["purity"], 9)["purity"].adjusted) == 1


def test_empty_batches() -> None:
    tables = ContingencyTables(torch.zeros(0, 2, 2, dtype=torch.int64))
    assert bootstrap(tables, ["ari"], 10)["ari"].low.shape == (0,)
    assert permutation_test(tables, ["ari"], 10)["ari"].p_value.shape == (0,)
    none = np.zeros((0,), dtype=int)
    assert math.isnan(float(paired_bootstrap(none, none, none, ["ari"], 10)["ari"].difference))


def test_reports_read_well() -> None:
    tables = ContingencyTables(BATCH)
    report = bootstrap(tables, None, 40, rng=17)
    assert report.batch_shape == (3,)
    assert torch.equal(report["ari"].low, report["adjusted_rand"].low)
    assert "nmi" in report
    frame = report.to_pandas()
    assert list(frame.index.names) == ["measure", "clustering"]
    assert frame.loc[("purity", 1), "estimate"] == pytest.approx(float(report["purity"].estimate[1]))
    assert isinstance(report["ari"].to_pandas(), pd.DataFrame)
    json.dumps(report.to_dict())
    text = str(report)
    assert "n_resamples 40" in text
    assert "adjusted_rand" in text
    assert "to_pandas" not in str(bootstrap(tables, ["ari"], 40))
    with pytest.raises(KeyError, match="was not computed"):
        report["larsen_l"]


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    bootstrap(ContingencyTables(BATCH), ["ari"], 600, chunk_size=256, progress=lambda *x: seen.append(x))
    assert seen[-1] == (600, 600)
    assert len(seen) == 3


@pytest.mark.parametrize("run", [bootstrap, permutation_test])
def test_masses_are_not_drawn(run: Any) -> None:
    with pytest.raises(ValueError, match="tables: expected integer counts to resample; got float64 masses"):
        run(ContingencyTables([[0.5, 2.0]]), ["ari"])


def test_too_few_permutations_for_a_correction_are_said() -> None:
    """One-sided, five tests: 5 / (permutations + 1) <= .05 from 99 permutations on; two-sided from 199 on."""
    tables = ContingencyTables([[[9, 1], [1, n]] for n in range(5, 10)])
    assert permutation_test(tables, ["ari"], 99, correction="holm").settings["smallest_p_adjusted"] == pytest.approx(
        0.05
    )
    for alternative, few, needed in (("better", 98, 99), ("two-sided", 198, 199)):
        with pytest.warns(UserWarning, match=f"n_resamples: expected at least {needed}, as 5 p-values .*got {few}"):
            permutation_test(tables, ["ari"], few, alternative, correction="holm")
    permutation_test(tables, ["ari"], 199, "two-sided", correction="holm")
    empty = ContingencyTables(torch.stack([torch.zeros(2, 2).long()] * 4 + [torch.tensor([[9, 1], [1, 9]])]))
    permutation_test(empty, ["ari"], 19, correction="holm")  # tables without items have no p-value


def test_what_is_zero_to_rounding_prints_as_zero() -> None:
    table = ContingencyTables.from_labels([0] * 5 + [1] * 5, [0] * 5 + [1] * 5)
    found = permutation_test(table, ["ari"], n_resamples=50, rng=torch.Generator().manual_seed(0))
    assert "e-" not in str(found)
    assert abs(float(found["ari"].expected)) < 1e-15  # as it was computed


def test_labels_in_the_place_of_tables_are_named() -> None:
    functions: list[Any] = [evaluate_tables, bootstrap, permutation_test, pooled]
    for function in functions:
        with pytest.raises(ValueError, match=r"tables: expected ContingencyTables \(from_labels makes them"):
            function([0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"labels become tables by ContingencyTables.from_labels"):
        evaluate_tables(ContingencyTables([[1]]), np.array([0, 1]))


def test_a_seed_is_a_generator_of_it() -> None:
    true, pred = [0] * 20 + [1] * 20, [0] * 30 + [1] * 10
    table = ContingencyTables.from_labels(true, pred)
    calls: list[Any] = [
        lambda **own: bootstrap(table, ["ari"], 100, **own),
        lambda **own: permutation_test(table, ["ari"], 100, **own),
        lambda **own: paired_bootstrap(true, pred, true, ["ari"], 100, **own),
    ]
    for call in calls:
        seeded, drawn = call(rng=7), call(rng=torch.Generator().manual_seed(7))
        assert str(seeded) == str(drawn) == str(call(rng=np.int64(7)))
        assert str(seeded) != str(call(rng=8))
