"""Overlapping clusterings: laws that hold for every measure, and the ways of counting, which change no value."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.overlapping import Groups, assert_same, both, lists, slow, two_sides, values
from torchclusteval import ContingencyTables, measures, overlap
from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, intersections

pytestmark = pytest.mark.slow


@settings(max_examples=50)
@given(sides=two_sides())
def test_exchanging_the_sides(sides: tuple[Groups, Groups]) -> None:
    true, pred = both(*sides)
    here, there = values(true, pred), values(pred, true)
    for name, measure in OVERLAP_MEASURES.items():
        if measure.swapped is not None:
            assert float(here[name]) == pytest.approx(float(there[measure.swapped]), abs=1e-12), name


@settings(max_examples=50)
@given(sides=two_sides(), seed=st.integers(0, 1000))
def test_names_and_order_change_nothing(sides: tuple[Groups, Groups], seed: int) -> None:
    random = np.random.default_rng(seed)
    order, names = random.permutation(len(sides[0])), random.permutation(4)
    moved = [Memberships.from_lists([[f"g{names[k]}" for k in reversed(side[i])] for i in order]) for side in sides]
    assert_same(values(moved[0], moved[1]), values(*both(*sides)))


@settings(max_examples=50)
@given(true=st.integers(1, 8).flatmap(lists))
def test_identical_memberships_are_perfect(true: Groups) -> None:
    renamed = [[group + 10 for group in groups] for groups in true]
    for name, value in values(*both(true, renamed)).items():
        perfect = OVERLAP_MEASURES[name].perfect
        assert perfect is None or float(value) == perfect, name


@settings(max_examples=50)
@given(sides=two_sides())
def test_repeats_are_one_membership(sides: tuple[Groups, Groups]) -> None:
    doubled = [[groups + groups[:1] for groups in side] for side in sides]
    assert_same(values(*both(*doubled)), values(*both(*sides)), 0)


@settings(max_examples=50)
@given(sides=two_sides())
def test_values_lie_in_their_range(sides: tuple[Groups, Groups]) -> None:
    for name, value in values(*both(*sides)).items():
        low, high = OVERLAP_MEASURES[name].range
        assert low <= float(value) <= high, name


@settings(max_examples=60)
@given(data=st.data())
def test_a_batch_is_its_members_one_by_one(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    matrices = data.draw(st.lists(lists(n), min_size=1, max_size=4))
    single = data.draw(lists(n, least=data.draw(st.integers(0, 1)), most=2))
    true = Memberships.from_lists(single)
    pred = Memberships.stack([Memberships.from_lists(matrix) for matrix in matrices])
    batched = values(true, pred, chunk_size=data.draw(st.sampled_from([None, 1, 20])))
    for i in range(len(matrices)):
        alone = values(true, pred[i])
        assert_same({name: value[i] for name, value in batched.items()}, alone, 1e-15)


def test_batches_broadcast() -> None:
    random = torch.Generator().manual_seed(3)
    true = Memberships.from_matrix(torch.rand(3, 1, 12, 4, generator=random) < 0.4)
    pred = Memberships.from_matrix(torch.rand(2, 12, 5, generator=random) < 0.4)
    scores = evaluate_overlapping(true, pred, "all")
    assert scores.batch_shape == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        assert_same({name: value[i, j] for name, value in scores.items()}, values(true[i, 0], pred[j]), 1e-14)
    items = overlap.extended_bcubed_per_item(true, pred).precision
    assert items.shape == (3, 2, 12)
    torch.testing.assert_close(items[2, 1], overlap.extended_bcubed_per_item(true[2, 0], pred[1]).precision)


def test_chunks_change_no_result() -> None:
    """One group holds all items of a side, others nearly all or few of them."""

    def sides() -> tuple[Memberships, Memberships]:
        random = torch.Generator().manual_seed(0)
        true = torch.rand(60, 9, generator=random) < torch.tensor([0.7] + [0.15] * 8)
        pred = torch.rand(4, 60, 12, generator=random) < torch.tensor([1.0, 0.9] + [0.1] * 10)
        return Memberships.from_matrix(true), Memberships.from_matrix(pred)

    expected = values(*sides())
    for i, side in enumerate(sides()[1].to_matrix()):
        lists = [[row.nonzero().flatten().tolist() for row in x] for x in (sides()[0].to_matrix(), side)]
        found = {name: value[i] for name, value in expected.items()}
        assert_same(found, {name: torch.tensor(x, dtype=torch.float64) for name, x in slow(*lists).items()})
    for chunk_size in (1, 100, 10_000, 10**6):
        assert_same(values(*sides(), chunk_size=chunk_size), expected, 0)


def test_items_with_thousands_of_groups_on_both_sides() -> None:
    """More codes of a pair than a histogram has place for."""
    groups = 4099
    true = torch.ones(3, groups, dtype=torch.bool)
    pred = true.clone()
    pred[0, 0] = pred[1, 0] = pred[1, 1] = False
    names = ["extended_bcubed_precision", "extended_bcubed_recall"]
    scores = evaluate_overlapping(Memberships.from_matrix(true), Memberships.from_matrix(pred), names)
    assert float(scores["extended_bcubed_precision"]) == 1
    shared = [[groups - less for less in row] for row in ((1, 2, 1), (2, 2, 2), (1, 2, 0))]
    expected = Fraction(sum(map(sum, shared)), 9 * groups)
    assert float(scores["extended_bcubed_recall"]) == pytest.approx(float(expected), abs=1e-15)


PLAIN = {
    "extended_bcubed_precision": measures.bcubed_precision,
    "extended_bcubed_recall": measures.bcubed_recall,
    "extended_bcubed_f": measures.bcubed_f,
    "omega_index": measures.adjusted_rand,
    "fuzzy_omega": measures.adjusted_rand,
    "overlap_element_centric": measures.element_centric_similarity,
    "omega_observed": measures.rand,
}
CLOSE = {
    "overlap_purity": measures.purity,
    "overlap_inverse_purity": measures.inverse_purity,
    "overlap_purity_f": measures.purity_f,
    "overlap_set_f": measures.clustering_f,
}


def test_partitions_take_the_plain_route(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("the pass over pairs was taken")

    monkeypatch.setattr(intersections, "_blocks", fail)
    random = torch.Generator().manual_seed(1)
    true, pred = torch.randint(7, (5000,), generator=random), torch.randint(9, (3, 5000), generator=random)
    tables = ContingencyTables.from_labels(true, pred)
    scores = evaluate_overlapping(Memberships.from_labels(true), Memberships.from_labels(pred), "all")
    for name, plain in PLAIN.items():
        assert torch.equal(scores[name], plain(tables)), name
    for name, plain in CLOSE.items():
        torch.testing.assert_close(scores[name], plain(tables), rtol=0, atol=1e-15)


def test_partitions_and_overlaps_in_one_batch() -> None:
    labels = [0, 0, 1, 1, 2, 2]
    true = Memberships.from_labels(labels)
    pred = Memberships.stack(
        [Memberships.from_labels([0, 0, 0, 1, 1, 1]), Memberships.from_lists([[0], [0, 1], [1], [1], [2], []])]
    )
    scores = evaluate_overlapping(true, pred, "all")
    tables = ContingencyTables.from_labels(torch.tensor(labels), torch.tensor([0, 0, 0, 1, 1, 1]))
    for name, plain in PLAIN.items():
        assert float(scores[name][0]) == float(plain(tables)), name
    for name, expected in slow([[x] for x in labels], [[0], [0, 1], [1], [1], [2], []]).items():
        assert float(scores[name][1]) == pytest.approx(expected, abs=1e-12), name


def test_the_omega_index_is_zero_on_average() -> None:
    true, pred = [[0, 1], [0], [0, 1], [1], [2]], [[0], [0, 1], [1], [1, 0], []]
    batch = Memberships.stack([Memberships.from_lists(order) for order in itertools.permutations(pred)])
    scores = evaluate_overlapping(Memberships.from_lists(true), batch, "all")
    for name, measure in OVERLAP_MEASURES.items():
        average = float(scores[name].mean())
        assert (abs(average) < 1e-14) == measure.chance_corrected, name


def test_omega_is_accurate_where_almost_no_pair_shares_a_group() -> None:
    """30,000 items of which few share a group: the textbook form, in float64, is off by 4e-10 here."""
    n = 30_000
    true = Memberships.from_groups({"a": [0, 1], "b": [0, 1, 2]}, items=range(n))
    pred = Memberships.from_groups({"a": [0, 1], "b": [0, 1], "c": [1, 3]}, items=range(n))
    total = n * (n - 1) // 2
    true_levels, pred_levels = {0: total - 3, 1: 2, 2: 1}, {0: total - 2, 1: 1, 2: 1}
    observed = Fraction(total - 3, total)  # pairs (0, 2), (1, 2) and (1, 3) differ
    expected = Fraction(sum(true_levels[j] * pred_levels[j] for j in true_levels), total**2)
    omega = (observed - expected) / (1 - expected)
    assert float(overlap.omega_index(true, pred)) == pytest.approx(float(omega), rel=1e-14)
