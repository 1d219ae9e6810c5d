"""Expected mutual information against exact arithmetic, against all permutations, and bit for bit in batches."""

import math
from fractions import Fraction
from itertools import permutations

import mpmath
import pytest
import torch

from tests.support.exact_information import exact_share
from torchclusteval.measures import expected_mutual_info, hypergeometric_means
from torchclusteval.measures.expected_mutual_info import expected_mutual_information, pair_information

mpmath.mp.dps = 40


def exact(class_sizes, cluster_sizes):
    n = sum(class_sizes)
    return mpmath.fsum(exact_share(*sorted((a, b)), n)[0] for a in class_sizes if a for b in cluster_sizes if b)


def sizes_of(n, groups, generator):
    share = torch.rand(groups, generator=generator, dtype=torch.float64) ** 3
    labels = torch.multinomial(share, n - groups, replacement=True, generator=generator)
    return 1 + torch.bincount(labels, minlength=groups)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "classes", "clusters"),
    [
        (3, 1, 2), (5, 2, 2), (40, 3, 4), (100, 10, 10), (100, 70, 60), (999, 20, 5), (1000, 10, 10),
        (1000, 300, 3), (1001, 10, 10), (1001, 300, 4), (2000, 100, 100), (3000, 3, 2500), (10_000, 3, 4),
    ],
)  # fmt: skip
def test_equals_exact_arithmetic(n, classes, clusters):
    generator = seeded(n)
    a, b = sizes_of(n, classes, generator), sizes_of(n, clusters, generator)
    expected = exact(a.tolist(), b.tolist())
    assert abs(expected_mutual_information(a, b).item() - expected) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 1000, 1001, 2000, 2390])
def test_extreme_sizes_equal_exact_arithmetic(n):
    ones, block, halves, lopsided = [1] * n, [n], [n // 2, n - n // 2], [1, n - 1]
    for a in (ones, block, halves, lopsided):
        for b in (ones, block, halves, lopsided):
            value = expected_mutual_information(torch.tensor(a), torch.tensor(b)).item()
            assert abs(value - exact(a, b)) < 1e-15


@pytest.mark.parametrize("mean", [35, 130, 140.001, 200, 499, 500.001, 2499, 2500.001, 30_000])
def test_large_means_equal_exact_arithmetic(mean):
    """To 1e-13 of the sum of absolute terms: windows, every fourth term, moments, and groups of nearly all items."""
    for n in (5000, 10**5, 3 * 10**6):
        root = math.isqrt(math.ceil(mean * n)) + 1
        for a in {a for a in (math.ceil(1.5 * mean), root, n // 2, n - 3) if mean < a < n}:
            b = math.ceil(mean * (n - 1) / (a - 1)) + 1
            if b < n:
                expected, terms = exact_share(a, b, n)
                value = pair_information(*(torch.tensor([x]) for x in (a, b, n))).item()
                assert abs(value - expected) <= 1e-13 * terms, (a, b, n)


def test_equals_the_mean_over_all_permutations():
    """By definition: the mean mutual information of all 5040 orders of seven items."""
    true, pred = [0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2]
    logs = {k: mpmath.log(k) for k in range(1, 8)}
    sizes = [true.count(k) for k in range(3)], [pred.count(k) for k in range(3)]
    seen = mpmath.mpf(0)
    for order in permutations(pred):
        for i in range(3):
            for j in range(3):
                x = sum(t == i and p == j for t, p in zip(true, order, strict=True))
                if x:
                    seen += x * (logs[7] + logs[x] - logs[sizes[0][i]] - logs[sizes[1][j]])
    expected = seen / 7 / math.factorial(7)
    value = expected_mutual_information(*(torch.tensor(s) for s in sizes)).item()
    assert abs(value - expected) < 1e-15


def test_two_even_halves_of_many_items():
    """Against the expansion of E[I] for two halves: 1/(2 n) + O(n^-2), at sizes no table of terms could hold."""
    for n in (10**8, 10**12):
        halves = torch.tensor([n // 2, n // 2])
        value = expected_mutual_information(halves, halves).item()
        assert value == pytest.approx(1 / (2 * n), rel=10 / n + 1e-9)


def test_constant_information():
    """Singletons against anything: the information is the entropy of the other side in every permutation."""
    for n, sizes in ((60, [10, 20, 30]), (3000, [1, 999, 2000])):
        entropy = -sum(float(Fraction(s, n)) * math.log(s / n) for s in sizes)
        value = expected_mutual_information(torch.ones(n, dtype=torch.int64), torch.tensor(sizes)).item()
        assert value == pytest.approx(entropy, abs=1e-15)


def random_batches():
    generator = seeded(7)

    def batch(count, n, groups):
        return torch.stack([sizes_of(n, groups, generator) for _ in range(count)])

    yield batch(1, 90, 8).expand(40, -1), batch(40, 90, 5)  # one reference, few items
    yield batch(1, 5000, 12).expand(30, -1), batch(30, 5000, 20)  # one reference, many items
    yield batch(60, 90, 8), batch(60, 90, 5)
    yield batch(25, 5000, 9), batch(25, 5000, 11)
    yield batch(6, 20_000, 100), batch(6, 20_000, 80)  # equal sizes merged
    yield batch(3, 9000, 600), batch(3, 9000, 700)  # each table a turn of its own
    yield batch(30, 1000, 2), batch(30, 1000, 2)  # whole supports, up to 1000 terms
    yield batch(20, 1000, 20).expand(20, -1), batch(20, 1000, 15)
    yield batch(40, 1000, 1), batch(40, 1000, 3)
    yield batch(20, 12, 9), batch(20, 12, 8)  # equal sizes
    padded = torch.nn.functional.pad(batch(400, 30, 8), (0, 1))
    yield batch(1, 30, 4).expand(400, -1), padded  # nearly every size up to the largest occurs
    yield tuple(torch.cat([batch(150, n, k) for n in (5, 6, 7)]) for k in (3, 2))  # likewise, of three numbers of items
    mixed = [(sizes_of(n, 6, generator), sizes_of(n, 7, generator)) for n in (50, 999, 1001, 1500, 50, 7000)]
    yield tuple(torch.stack(side) for side in zip(*mixed, strict=True))  # numbers of items differ


@pytest.mark.slow
@pytest.mark.parametrize("case", range(13))
def test_a_batch_is_its_tables_to_the_bit(case, monkeypatch):
    a, b = list(random_batches())[case]
    whole = expected_mutual_information(a, b).tolist()
    assert whole == [expected_mutual_information(*pair).item() for pair in zip(a, b, strict=True)]
    assert whole[1:] == expected_mutual_information(a[1:], b[1:]).tolist()
    for name, value in {"PIECE_SIZES": 100, "PIECE_CELLS": 1 << 9, "PIECE_PAIRS": 50, "PIECE_TERMS": 300}.items():
        monkeypatch.setattr(expected_mutual_info, name, value)
    monkeypatch.setattr(expected_mutual_info, "SMALL_PIECE_TERMS", 16)
    assert whole == expected_mutual_information(a, b).tolist()
    assert whole == [expected_mutual_information(*pair).item() for pair in zip(a, b, strict=True)]


@pytest.mark.parametrize("n", [2, 60, 1000, 1001, 10**4, 10**7])
def test_a_pair_has_one_value(n):
    """Alone, among others, next to other numbers of items, and with its sides exchanged."""
    a, b = (torch.randint(0, n + 1, (40,), generator=seeded(seed)) for seed in (n, n + 1))
    items = torch.tensor([n])
    values = pair_information(a, b, items).tolist()
    assert values == pair_information(b, a, items).tolist()
    assert values == [pair_information(a[i : i + 1], b[i : i + 1], items).item() for i in range(40)]
    assert values == pair_information(a, b[:, None], items).diagonal().tolist()
    others = torch.tensor([10**4, 1000, 30, 10**8]).repeat(10)
    together = pair_information(
        torch.cat([a, others // 3]), torch.cat([b, others // 2]), torch.cat([items.expand(40), others])
    )
    assert values == together[:40].tolist()


@pytest.mark.parametrize("n", [10**4, 10**6, 10**8])
def test_threads_and_pieces_change_no_bit(n, monkeypatch):
    a, b = sizes_of(10**4, 6, seeded(3)) * (n // 10**4), sizes_of(10**4, 5, seeded(4)) * (n // 10**4)
    before = torch.get_num_threads()
    one = expected_mutual_information(a, b).item()
    monkeypatch.setattr(expected_mutual_info, "PIECE_TERMS", 512)
    monkeypatch.setattr(hypergeometric_means, "PIECE_PAIRS", 3)
    assert one == expected_mutual_information(a, b).item()
    try:
        torch.set_num_threads(3)
        assert one == expected_mutual_information(a, b).item()
    finally:
        torch.set_num_threads(before)


def test_large_numbers_of_items_equal_the_expansion():
    """E[I] = (R - 1)(C - 1) / (2 n) (1 + O(1/min size)): the chi-square limit, to 1e-4 at 1e9 items."""
    n = 10**9
    a, b = torch.tensor([n // 2, n // 4, n // 4]), torch.tensor([n // 5, n // 5 * 4])
    assert expected_mutual_information(a, b).item() == pytest.approx(2 / (2 * n), rel=1e-6)


def test_padding_and_shapes():
    a, b = torch.tensor([[4, 3, 3], [5, 5, 0]]), torch.tensor([[7, 3], [4, 6]])
    value = expected_mutual_information(a, b)
    assert value.shape == (2,)
    assert value.dtype == torch.float64
    padded = torch.nn.functional.pad(a, (3, 2)), torch.nn.functional.pad(b, (0, 90))
    torch.testing.assert_close(expected_mutual_information(*padded), value, rtol=1e-15, atol=0)
    grid = expected_mutual_information(a.view(2, 1, 3).expand(2, 3, 3), b.view(2, 1, 2).expand(2, 3, 2))
    assert grid.tolist() == [[x] * 3 for x in value.tolist()]
    assert expected_mutual_information(a[0], b[0]).shape == ()
    assert expected_mutual_information(a[:0], b[:0]).shape == (0,)


def test_no_items_is_nan():
    a, b = torch.tensor([[0, 0], [2, 1], [0, 0]]), torch.tensor([[0, 0], [1, 2], [0, 0]])
    assert expected_mutual_information(a, b).isnan().tolist() == [True, False, True]
    assert expected_mutual_information(a[0], b[0]).isnan().item()
    assert expected_mutual_information(a[:1].expand(3, -1), b[:1].expand(3, -1)).isnan().all()
    assert expected_mutual_information(torch.zeros(3, 0).long(), torch.zeros(3, 0).long()).isnan().all()


def test_fractional_sizes_are_refused():
    with pytest.raises(ValueError, match=r"class_sizes: expected integers; got torch\.float64"):
        expected_mutual_information(torch.ones(2, dtype=torch.float64), torch.tensor([1, 1]))
    with pytest.raises(ValueError, match="cluster_sizes: expected integers"):
        expected_mutual_information(torch.tensor([1, 1]), torch.ones(2))


def test_half_a_million_groups_a_side():
    """Work follows the distinct sizes. All singletons on one side gives log."""
    n = 1_000_000
    pairs = torch.full((n // 2,), 2)
    ones = torch.ones(n, dtype=torch.int64)
    assert expected_mutual_information(pairs, ones).item() == pytest.approx(math.log(n / 2), rel=1e-14)
    b = sizes_of(n, n // 2, seeded(1))
    assert 0 < expected_mutual_information(pairs, b).item() < math.log(n / 2)


@pytest.mark.parametrize("items", [1, 3, 999, 1500, 10**7])
def test_one_group_has_exactly_nothing_to_share(items):
    alone, split = torch.tensor([items]), torch.tensor([items - items // 3, items // 3, 0])
    for sizes in ((alone, alone), (alone, split), (split, alone), (alone[None], split[None])):
        assert (expected_mutual_information(*sizes) == 0).all()
