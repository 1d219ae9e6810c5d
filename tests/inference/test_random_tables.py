"""Random tables follow their laws; with a fresh seed a statistical test fails with probability ``CHANCE``."""

import itertools
import math
from collections import Counter
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from scipy import special, stats

from torchclusteval import ContingencyTables
from torchclusteval.inference import draws, sampling

pytestmark = pytest.mark.slow

CHANCE = 1e-5


def check_frequencies(seen: Counter[Any], law: dict[Any, float], draws: int) -> None:
    """Chi-square test of the frequencies of outcomes; rare outcomes are pooled."""
    assert set(seen) <= set(law)
    assert math.isclose(sum(law.values()), 1, rel_tol=1e-9)
    rare = [x for x in law if law[x] * draws < 10]
    groups = [[x] for x in law if law[x] * draws >= 10] + ([rare] if rare else [])
    expected = np.array([sum(law[x] for x in group) * draws for group in groups])
    observed = np.array([sum(seen[x] for x in group) for group in groups])
    assert len(groups) > 1
    p = stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(groups) - 1)
    assert p > CHANCE, p


def tally(drawn: torch.Tensor) -> Counter[Any]:
    """How often each table of ``(draws, R, C)`` occurs, as nested tuples."""
    tables, times = torch.unique(drawn, dim=0, return_counts=True)
    seen = (tuple(map(tuple, table)) for table in tables.tolist())
    return Counter(dict(zip(seen, times.tolist(), strict=True)))


def check_mean(values: torch.Tensor, mean: float, variance: float) -> None:
    """Test the mean and the variance of a sample against exact ones, each at half the failure rate."""
    n = len(values)
    z = (float(values.mean()) - mean) / math.sqrt(variance / n)
    assert 2 * stats.norm.sf(abs(z)) > CHANCE / 2, z
    spread = (values - mean) ** 2
    z = (float(spread.mean()) - variance) / (float(spread.std()) / math.sqrt(n) + 1e-12 * variance)
    assert 2 * stats.norm.sf(abs(z)) > CHANCE / 2, z


def tables_with(rows: tuple[int, ...], columns: tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Every table with these margins, by recursion over rows."""
    if not rows:
        return [()] if not any(columns) else []
    fits = (range(min(rows[0], c) + 1) for c in columns)
    firsts = (row for row in itertools.product(*fits) if sum(row) == rows[0])
    left = {row: tuple(c - x for c, x in zip(columns, row, strict=True)) for row in firsts}
    return [(row, *rest) for row, remains in left.items() for rest in tables_with(rows[1:], remains)]


def law_of(rows: tuple[int, ...], columns: tuple[int, ...]) -> dict[tuple[tuple[int, ...], ...], float]:
    """Probability of each table: the product of the margins' factorials over those of N and of the cells."""
    top = math.prod(math.factorial(x) for x in (*rows, *columns))
    bottom = math.factorial(sum(rows))
    return {
        table: top / (bottom * math.prod(math.factorial(x) for row in table for x in row))
        for table in tables_with(rows, columns)
    }


SMALL_MARGINS = [
    ((3, 2, 4), (2, 5, 2)),
    ((1, 7, 1), (4, 0, 5)),
    ((0, 6, 3), (1, 1, 7)),
    ((9, 0, 0), (3, 3, 3)),
    ((5, 4, 0), (8, 1, 0)),
]


def test_every_table_of_small_margins_has_its_probability() -> None:
    """Different margins, padding among them, are drawn in one batch."""
    draws = 200_000
    rows, columns = (torch.tensor([pair[side] for pair in SMALL_MARGINS]) for side in (0, 1))
    drawn = sampling.random_tables(rows, columns, draws, 1).counts
    for at, (r, c) in enumerate(SMALL_MARGINS):
        law = law_of(r, c)
        seen = tally(drawn[:, at])
        if len(law) > 1:
            check_frequencies(seen, law, draws)
        else:
            assert set(seen) == set(law)


def test_wide_tables_have_their_probabilities() -> None:
    """More columns than rows, and an odd number of each, so that every branch of both trees counts."""
    rows, columns, draws = (3, 5), (1, 2, 1, 3, 1), 200_000
    drawn = sampling.random_tables(torch.tensor(rows), torch.tensor(columns), draws, 2).counts
    check_frequencies(tally(drawn), law_of(rows, columns), draws)


@pytest.mark.parametrize(
    ("good", "bad", "sample"),
    [(1, 1, 1), (3, 2, 2), (8, 9, 8), (10, 30, 12), (200, 100, 150), (30, 4000, 2000), (60_000, 50_000, 70_000)],
)
def test_a_two_by_two_table_is_a_hypergeometric_draw(good: int, bad: int, sample: int) -> None:
    """Inversion (up to 9 values), rejection with tabulated log-factorials, and rejection with Stirling's series."""
    tables, draws = 100, 10_000  # odds that are 1 % off move the mean by 5 standard errors or more
    rows, columns = (torch.tensor(x).expand(tables, 2) for x in ([good, bad], [sample, good + bad - sample]))
    drawn = sampling.random_tables(rows, columns, draws, 3).counts[..., 0, 0].flatten()
    exact = stats.hypergeom(good + bad, good, sample)
    check_mean(drawn.double(), *moments_of(good + bad, good, sample))
    values = range(max(0, sample - bad), min(good, sample) + 1)
    law = dict(zip(values, exact.pmf(list(values)).tolist(), strict=True))
    check_frequencies(Counter(drawn.tolist()), law, len(drawn))


@pytest.mark.parametrize("items", [400, 1_000_000, 4_000_000_000])
def test_cells_have_their_means_and_variances(items: int) -> None:
    weights = torch.tensor([1, 2, 3, 4, 10])
    rows, columns = weights * (items // 20), weights.flip(0)[:4] * (items // 19)
    columns[0] += items - columns.sum()
    draws = 10_000
    drawn = sampling.random_tables(rows, columns, draws, 4)
    assert bool((drawn.class_sizes == rows).all())
    assert bool((drawn.cluster_sizes == columns).all())
    assert bool((drawn.counts >= 0).all())
    for i, j in itertools.product(range(5), range(4)):
        check_mean(drawn.counts[:, i, j].double(), *moments_of(items, int(rows[i]), int(columns[j])))


def test_the_hat_covers_every_urn() -> None:
    """Rejection is exact only where the whole histogram lies under the hat: ``|x - a| sqrt(f) <= h / 2``."""
    for items in range(2, 36):
        for good, sample in itertools.product(range(1, items), range(1, items)):
            assert reach_of(items, good, sample) <= 1
    random = np.random.default_rng(0)
    for items in 10 ** random.uniform(2, 5, 300):
        assert reach_of(int(items), *random.integers(1, int(items), 2).tolist()) <= 1


def moments_of(items: int, good: int, sample: int) -> tuple[float, float]:
    """Mean and variance of a hypergeometric draw."""
    mean = sample * good / items
    return mean, mean * (items - good) / items * (items - sample) / (items - 1)


def reach_of(items: int, good: int, sample: int) -> float:
    """How far the histogram of an urn reaches, the hat being 1."""
    k = np.arange(max(0, sample + good - items), min(good, sample) + 1)
    cells = (k, good - k, sample - k, items - good - sample + k)
    weight = -sum(special.gammaln(x + 1.0) for x in cells)
    mean, variance = moments_of(items, good, sample)
    width = draws._WIDTH_SCALE * math.sqrt(variance + 0.5) + draws._WIDTH_SHIFT
    away = np.maximum(np.abs(k - mean - 0.5), np.abs(k + 0.5 - mean))
    return float((away * np.exp((weight - weight.max()) / 2)).max() / (width / 2))


@pytest.mark.parametrize("items", [50, 60_000, 70_000, 3_000_000_000])
def test_log_probabilities_are_accurate(items: int) -> None:
    """Against 40-digit log-gamma, relative to the mode, within six standard deviations of it and at the ends."""
    logs = draws.LogFactorials(torch.tensor([items]))
    for good, sample in [(items // 3, items // 2), (items // 10, items // 7), (20, items // 2)]:
        mean = sample * good / items
        mode = (sample + 1) * (good + 1) // (items + 2)
        reach = 6 * math.sqrt(mean * (1 - good / items) * (1 - sample / items))
        least, most = max(0, good + sample - items), min(good, sample)
        values = [min(max(mode + round(step * reach), least), most) for step in (-1, -0.4, -0.05, 0.1, 0.5, 1)]
        x, *urn = (torch.tensor(v, dtype=torch.float64) for v in (values, good, sample, items - good - sample, mean))
        found = logs.weight(x, *urn) - logs.weight(torch.tensor([float(mode)], dtype=torch.float64), *urn)
        with mpmath.workdps(40):
            exact = [_weight(v, good, sample, items) - _weight(mode, good, sample, items) for v in values]
        assert np.allclose(found.numpy(), [float(v) for v in exact], rtol=0, atol=1e-9)


def _weight(x: int, good: int, sample: int, items: int) -> mpmath.mpf:
    cells = (x, good - x, sample - x, items - good - sample + x)
    return -sum(mpmath.loggamma(mpmath.mpf(k) + 1) for k in cells)


def test_every_resample_of_a_small_table_has_its_probability() -> None:
    """Two tables in one batch, one with an empty cell in the middle."""
    counts = [[[2, 0, 1], [1, 0, 1]], [[1, 2, 0], [0, 1, 1]]]
    draws = 200_000
    drawn = sampling.multinomial_tables(ContingencyTables(counts), draws, 5).counts
    for at, table in enumerate(counts):
        cells = [x for row in table for x in row]
        n = sum(cells)
        law = {}
        for outcome in itertools.product(range(n + 1), repeat=len(cells)):
            if sum(outcome) == n and all(x or not k for x, k in zip(cells, outcome, strict=True)):
                ways = math.factorial(n) / math.prod(map(math.factorial, outcome))
                law[(outcome,)] = ways * math.prod((x / n) ** k for x, k in zip(cells, outcome, strict=True))
        check_frequencies(tally(drawn[:, at].flatten(1).unsqueeze(1)), law, draws)


@pytest.mark.parametrize("items", [1000, 3_000_000_000])
def test_resampled_cells_have_their_means_and_variances(items: int) -> None:
    counts = torch.tensor([[1, 4, 2], [10, 3, 0], [20, 5, 5]]) * (items // 50)
    draws = 10_000
    drawn = sampling.multinomial_tables(ContingencyTables(counts), draws, 6)
    assert bool((drawn.n_items == items).all())
    assert bool((drawn.counts[:, 1, 2] == 0).all())
    for i, j in itertools.product(range(3), range(3)):
        p = int(counts[i, j]) / items
        if p:
            check_mean(drawn.counts[:, i, j].double(), items * p, items * p * (1 - p))


def test_one_seed_gives_one_set_of_tables() -> None:
    rows, columns = torch.tensor([[30, 12, 9], [25, 25, 1]]), torch.tensor([20, 31])
    first, again, other = (sampling.random_tables(rows, columns, 300, seed).counts for seed in (8, 8, 9))
    assert first.shape == (300, 2, 3, 2)
    assert first.dtype == torch.int64
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[:256], first[44:])
    longer = sampling.random_tables(rows, columns, 600, 8).counts
    assert torch.equal(longer[:256], first[:256])  # whole blocks do not depend on how many follow
    tables = ContingencyTables(first[0])
    pair = (sampling.multinomial_tables(tables, 300, 10).counts for _ in range(2))
    assert torch.equal(*pair)


def test_every_device_draws(device: torch.device) -> None:
    rows, columns = (torch.tensor(x, device=device) for x in ([500, 300, 200], [10, 640, 350]))
    source = torch.Generator(device).manual_seed(13)
    drawn = sampling.random_tables(rows, columns, 4000, source)
    assert drawn.device.type == device.type
    assert bool((drawn.class_sizes == rows).all())
    assert bool((drawn.cluster_sizes == columns).all())
    again = sampling.multinomial_tables(ContingencyTables(drawn.counts[0]), 4000, source)
    assert bool((again.n_items == 1000).all())
    for i, j in itertools.product(range(3), range(3)):
        mean, variance = moments_of(1000, int(rows[i]), int(columns[j]))
        check_mean(drawn.counts[:, i, j].double().cpu(), mean, variance)
        p = int(drawn.counts[0, i, j]) / 1000
        if p:
            check_mean(again.counts[:, i, j].double().cpu(), 1000 * p, 1000 * p * (1 - p))


def test_torchs_own_generator_is_the_default() -> None:
    sizes = torch.tensor([30, 12, 9])
    torch.manual_seed(11)
    first = sampling.random_tables(sizes, sizes, 5).counts
    second = sampling.random_tables(sizes, sizes, 5).counts
    torch.manual_seed(11)
    assert torch.equal(first, sampling.random_tables(sizes, sizes, 5).counts)
    assert not torch.equal(first, second)


def test_blocks_have_seeds_of_their_own() -> None:
    blocks = sampling.seeded_blocks(256 * 5000 + 3, torch.device("cpu"), torch.Generator().manual_seed(12))
    assert [size for _, size in blocks[-2:]] == [256, 3]
    assert len({source.initial_seed() % 2**32 for source, _ in blocks}) == 5001


def test_degenerate_margins() -> None:
    empty = sampling.random_tables(torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), 4)
    assert empty.counts.shape == (4, 2, 3)
    assert int(empty.counts.sum()) == 0
    one = sampling.random_tables(torch.tensor([0, 1]), torch.tensor([1]), 4)
    assert one.counts.tolist() == [[[0], [1]]] * 4
    batch = sampling.random_tables(torch.ones(0, 2, dtype=torch.int64), torch.ones(0, 2, dtype=torch.int64), 4)
    assert batch.batch_shape == (4, 0)
    assert sampling.multinomial_tables(ContingencyTables([[0, 0]]), 3).counts.tolist() == [[[0, 0]]] * 3


@pytest.mark.parametrize(
    ("rows", "columns", "count", "message"),
    [
        ([1, 2], [2, 2], 1, "cluster_sizes: expected the sum of class_sizes; got 3 and 4"),
        ([-1, 2], [1], 1, "class_sizes: expected sizes of at least 0; got -1"),
        ([1.0], [1], 1, "class_sizes: expected integers"),
        ([1], [1], 0, "size: expected a whole number of at least 1; got 0"),
        ([1], [1], 10**30, "size: expected a whole number of at most 10,000,000; got 1000"),
        ([2**53, 2], [2**53, 2], 1, r"class_sizes: expected at most 2\*\*53 items a table to draw from; got 9.01e"),
        ([2**62, 2**62], [1], 1, r"class_sizes: expected at most 2\*\*53 items a table to draw from; got 9.22e"),
        ([0] * 60_000, [0] * 60_000, 10**6, "size: expected tables that fit in memory; got 1000000 of 60000 x 60000"),
    ],
)
def test_wrong_margins_are_named(rows: list[Any], columns: list[Any], count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sampling.random_tables(torch.tensor(rows), torch.tensor(columns), count)
    with pytest.raises(ValueError, match="class_sizes: expected a tensor of integers; got list"):
        sampling.random_tables([1], [1], 1)  # type: ignore[arg-type]


def test_masses_are_not_resampled() -> None:
    with pytest.raises(ValueError, match="tables: expected integer counts to resample; got float64 masses"):
        sampling.multinomial_tables(ContingencyTables([[0.5, 1.5]]), 3)
    with pytest.raises(ValueError, match=r"tables: expected at most 2\*\*53 items"):
        sampling.multinomial_tables(ContingencyTables([[2**53, 2]]), 3)
