"""Random partitions against counts over all of them, recurrences and 50 digits, for few and for very many items."""

import math
from collections import Counter
from fractions import Fraction

import pytest
import torch

import torchclusteval as tce
from tests.support.billions import LARGE, bell_share, stirling_share
from tests.support.reference import bell, pair_information, stirling
from torchclusteval.measures.random_partitions import group_sizes, joined_share

FEW = [(n, k) for n in range(2, 31) for k in (None, *range(1, n + 1))]


def test_shares_of_joined_pairs_are_ratios_of_bell_and_stirling_numbers() -> None:
    for n, k in FEW:
        exact = Fraction(bell(n - 1), bell(n)) if k is None else Fraction(stirling(n - 1, k), stirling(n, k))
        assert joined_share(n, k) == pytest.approx(float(exact), rel=2e-15, abs=1e-300), (n, k)


def test_expected_numbers_of_groups_of_each_size() -> None:
    for n, k in FEW:
        size, number = group_sizes(n, k)
        found = dict(zip(size.tolist(), number.tolist(), strict=True))
        for b in range(1, n + 1):
            of_others, all_of_them = (bell(n - b), bell(n)) if k is None else (stirling(n - b, k - 1), stirling(n, k))
            expected = Fraction(math.comb(n, b) * of_others, all_of_them)
            assert found.get(b, 0.0) == pytest.approx(float(expected), rel=1e-12, abs=1e-14), (n, k, b)


@pytest.mark.parametrize(("n", "k"), [(10**7, 2), (10**7, 10), (10**7, 60), (10**9, 7), (5000, 400)])
def test_stirling_numbers_of_many_items(n: int, k: int) -> None:
    assert joined_share(n, k) == pytest.approx(stirling_share(n, k), rel=1e-14)


@pytest.mark.parametrize("n", [1000, 10**5, 10**7, 10**9])
def test_bell_numbers_of_many_items(n: int) -> None:
    assert joined_share(n, None) == pytest.approx(bell_share(n), rel=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [300, 710, 720, 1000, 1400, 2000, 4000, 6000, 10**7])
def test_sizes_of_many_items_have_the_share_of_pairs(n: int) -> None:
    """Also where every h-th size stands for its neighbours; no number overflows."""
    for k in (2, 3, 4, 5, 10, 300, None) + ((n // 2, n - 1) if n < 10**4 else ()):
        size, number = group_sizes(n, k)
        assert (size * number).sum() == pytest.approx(n, rel=1e-14)
        joined = (size * (size - 1) * number).sum() / (n * (n - 1))
        assert joined == pytest.approx(joined_share(n, k), rel=1e-12)


def test_strides_give_the_mean_information_of_all_sizes() -> None:
    """300 items in two groups: the sizes are binomial, but for the two partitions into one group."""
    n, true = 300, [100, 200]
    clusters = {b: Fraction(math.comb(n, b), 2 ** (n - 1) - 1) for b in range(1, n)}
    expected = math.fsum(float(x) * pair_information(a, b, n) for a in true for b, x in clusters.items() if x > 1e-30)
    tables = tce.ContingencyTables([[60, 40], [80, 120]])
    information = tce.measures.mutual_information(tables).item()
    value = (information - expected) / (math.log(2) - expected)
    assert tce.MEASURES["ami_num_one_sided"](tables).item() == pytest.approx(value, rel=1e-13)
    assert len(group_sizes(n, 2).size) < 40


def test_one_sided_values_are_means_over_all_partitions() -> None:
    """The mean of the index over all partitions of six items (into three groups) against fixed classes is 0."""
    partitions = [[0]]
    for _ in range(5):
        partitions = [[*row, label] for row in partitions for label in range(max(row) + 2)]
    true = [0, 0, 1, 1, 1, 2]
    into_three = [row for row in partitions if max(row) == 2]
    for names, clusters in (
        (("adjusted_rand_all_one_sided", "ami_all_one_sided"), partitions),
        (("adjusted_rand_num_one_sided",), into_three),
    ):
        for name, mean in {n: tce.evaluate(true, clusters, n)[n].mean().item() for n in names}.items():
            assert mean == pytest.approx(0, abs=1e-14), name
    both = tce.evaluate(torch.tensor(partitions)[:, None], torch.tensor(partitions), ["adjusted_rand_all", "ami_all"])
    for name, values in both.items():
        assert values.mean().item() == pytest.approx(0, abs=1e-14), name
    assert Counter(map(max, partitions))[2] == stirling(6, 3)


@pytest.mark.parametrize("counts", [LARGE, [[4, 0, 1], [1, 6, 2], [0, 3, 9]]])
def test_mari_of_very_many_items(counts: list[list[int]]) -> None:
    r, c = [sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]
    n, cells = sum(r), [x for row in counts for x in row]
    joined, true, pred = (Fraction(sum(math.comb(x, 2) for x in sizes)) for sizes in (cells, r, c))
    crossed = sum(x * r[i] * c[j] for i, row in enumerate(counts) for j, x in enumerate(row))
    sharing = 2 * n + crossed - sum(x * x for x in (*cells, *r, *c))
    share = (true * pred - joined - sharing) / (6 * math.comb(n, 4))
    pairs = math.comb(n, 2)
    tables = tce.ContingencyTables(counts)
    assert tce.measures.mari_raw(tables).item() == pytest.approx(float(joined / pairs - share), rel=1e-13)
    value = (joined - share * pairs) / ((true + pred) / 2 - share * pairs)
    assert tce.measures.mari(tables).item() == pytest.approx(float(value), rel=1e-13)


def test_four_items_in_two_pairs_against_two_others() -> None:
    """The denominator is 0, the numerator is not."""
    assert tce.evaluate([0, 0, 1, 1], [0, 1, 0, 1], "mari")["mari"].item() == 0.0
