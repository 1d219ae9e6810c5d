"""Overlapping clusterings: values from the paper and from other libraries, laws, and what the door refuses."""

from __future__ import annotations

import copy
import gc
import gzip
import itertools
import json
import math
import pickle
import warnings
import weakref
from collections import Counter
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchclusteval import ContingencyTables, Measure, measures, overlap
from torchclusteval.measures import REFERENCES
from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, pairs
from torchclusteval.overlap.comparison import compare
from torchclusteval.overlap.ragged import merged

Groups = list[list[int]]
GOLDEN = json.loads((Path(__file__).parent / "golden" / "overlap.json").read_text())
PAPER = [pytest.param(row, id=row["id"]) for row in GOLDEN["overlap"]]
CDLIB = [pytest.param(row, id=row["id"]) for row in GOLDEN["cdlib"]["rows"]]
every_measure = pytest.mark.parametrize("name", OVERLAP_MEASURES)


def lists(n: int, *, groups: int = 4, least: int = 0, most: int = 3) -> st.SearchStrategy[Groups]:
    """Groups of each of ``n`` items, possibly with repeats."""
    return st.lists(st.lists(st.integers(0, groups - 1), min_size=least, max_size=most), min_size=n, max_size=n)


def two_sides(*, least: int = 0, n: int = 8) -> st.SearchStrategy[tuple[Groups, Groups]]:
    return st.integers(1, n).flatmap(lambda size: st.tuples(lists(size, least=least), lists(size, least=least)))


def both(true: Groups, pred: Groups) -> tuple[Memberships, Memberships]:
    return Memberships.from_lists(true), Memberships.from_lists(pred)


def random_lists(n: int, groups: int, seed: int, least: int = 1, most: int = 3) -> Groups:
    random = np.random.default_rng(seed)
    return [random.choice(groups, random.integers(least, most + 1), replace=False).tolist() for _ in range(n)]


# values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("row", PAPER)
def test_golden(row: dict[str, Any], chunk_size: int | None) -> None:
    sides = [Memberships.from_dict(row[side]) for side in ("categories", "clusters")]
    scores = evaluate_overlapping(*sides, list(row["expected"]), chunk_size=chunk_size)
    for name, expected in row["expected"].items():
        assert float(scores[name]) == pytest.approx(expected, abs=1e-9), name


@pytest.mark.parametrize("row", CDLIB)
def test_frozen_values_of_cdlib(row: dict[str, Any]) -> None:
    scores = evaluate_overlapping(*both(row["true"], row["pred"]))
    for name, expected in row["expected"].items():
        assert float(scores[name]) == pytest.approx(expected, abs=1e-12), name


def test_every_measure_has_golden_values() -> None:
    rows = [*GOLDEN["overlap"], *GOLDEN["cdlib"]["rows"]]
    found = {name for row in rows for name in row["expected"]}
    followed = {"overlap_purity_f", "omega_observed"}  # held by the slow reference below
    assert found | followed == set(OVERLAP_MEASURES)


def mean(values: list[Fraction]) -> Fraction | None:
    return sum(values, Fraction()) / len(values) if values else None


def slow_bcubed(own: list[set[int]], other: list[set[int]]) -> Fraction:
    """Precision by its definition, if ``own`` are the clusters and ``other`` the classes."""
    items = range(len(own))
    values = [
        mean(
            [
                Fraction(min(len(own[a] & own[b]), len(other[a] & other[b])), len(own[a] & own[b]))
                for b in items
                if own[a] & own[b]
            ]
        )
        for a in items
    ]
    found = mean([value for value in values if value is not None])
    return Fraction(1) if found is None else found


def members(sets: list[set[int]]) -> list[set[int]]:
    return [{i for i, groups in enumerate(sets) if group in groups} for group in sorted(set().union(*sets))]


def slow_purity(own: list[set[int]], other: list[set[int]]) -> Fraction:
    sizes = sum(len(group) for group in members(own))
    best = sum(max((len(group & wanted) for wanted in members(other)), default=0) for group in members(own))
    return Fraction(best, sizes) if sizes else Fraction(1)


def slow_set_f(true: list[set[int]], pred: list[set[int]]) -> Fraction:
    sizes = sum(len(group) for group in members(true))
    best = [
        len(group)
        * max(
            (Fraction(2 * len(group & found), len(group) + len(found)) for found in members(pred)), default=Fraction()
        )
        for group in members(true)
    ]
    return sum(best, Fraction()) / sizes if sizes else Fraction(not members(pred))


def slow_omega(true: list[set[int]], pred: list[set[int]]) -> tuple[Fraction, Fraction]:
    shared = [(len(true[a] & true[b]), len(pred[a] & pred[b])) for a, b in itertools.combinations(range(len(true)), 2)]
    if not shared:
        return Fraction(1), Fraction(1)
    observed = Fraction(sum(a == b for a, b in shared), len(shared))
    by_true, by_pred = Counter(a for a, _ in shared), Counter(b for _, b in shared)
    expected = Fraction(sum(by_true[j] * by_pred[j] for j in by_true), len(shared) ** 2)
    return observed, Fraction(1) if expected == 1 else (observed - expected) / (1 - expected)


def h(*counts: int, n: int) -> float:
    return -math.fsum(count / n * math.log(count / n) for count in counts if count)


def slow_left(own: list[set[int]], other: list[set[int]], n: int) -> list[tuple[float, float]]:
    """Entropy of each group, and what is left of it when the best group of the other side is known."""
    found = []
    for group in own:
        alone, left = h(len(group), n - len(group), n=n), [h(len(group), n - len(group), n=n)]
        for known in other:
            cells = (len(group & known), n - len(group | known), len(group - known), len(known - group))
            if h(*cells[:2], n=n) > h(*cells[2:], n=n):
                left.append(h(*cells, n=n) - h(len(known), n - len(known), n=n))
        found.append((alone, min(left)))
    return found


def slow_nmi(true: list[set[int]], pred: list[set[int]]) -> tuple[float, float]:
    n, own, other = len(true), members(true), members(pred)
    if not own or not other:
        return (1.0, 1.0) if own == other else (0.0, 0.0)
    loss, entropy, known = [], [], []
    for here, there in ((own, other), (other, own)):
        values = slow_left(here, there, n)
        full = [float(len(group) == n and group not in there) for group in here]
        shares = [left / alone if alone else at for (alone, left), at in zip(values, full, strict=True)]
        loss.append(math.fsum(shares) / len(here))
        entropy.append(math.fsum(alone for alone, _ in values))
        known.append(math.fsum(alone - left for alone, left in values))
    return 1 - sum(loss) / 2, sum(known) / 2 / max(entropy) if max(entropy) else 1.0


def harmonic(p: Fraction, r: Fraction) -> Fraction:
    return 2 * p * r / (p + r) if p + r else Fraction()


def slow(true: Groups, pred: Groups) -> dict[str, float]:
    classes, clusters = [set(groups) for groups in true], [set(groups) for groups in pred]
    precision, recall = slow_bcubed(clusters, classes), slow_bcubed(classes, clusters)
    purity, inverse = slow_purity(clusters, classes), slow_purity(classes, clusters)
    observed, omega = slow_omega(classes, clusters)
    lfk, largest = slow_nmi(classes, clusters)
    exact = {
        "extended_bcubed_precision": precision,
        "extended_bcubed_recall": recall,
        "extended_bcubed_f": harmonic(precision, recall),
        "overlap_purity": purity,
        "overlap_inverse_purity": inverse,
        "overlap_purity_f": harmonic(purity, inverse),
        "overlap_set_f": slow_set_f(classes, clusters),
        "omega_observed": observed,
        "omega_index": omega,
        "overlapping_nmi_lfk": lfk,
        "overlapping_nmi_max": largest,
    }
    return {name: float(value) for name, value in exact.items()}


@settings(max_examples=150)
@given(sides=two_sides(n=10))
def test_the_definitions(sides: tuple[Groups, Groups]) -> None:
    scores = evaluate_overlapping(*both(*sides))
    for name, expected in slow(*sides).items():
        assert float(scores[name]) == pytest.approx(expected, abs=1e-12), name


def test_the_definitions_on_larger_groups() -> None:
    """Groups of different sizes that share nothing count in the overlapping NMI; here one of them is the best."""
    true = [[0] if i < 31 else [1] for i in range(50)]
    pred = [[0] if i == 49 else [1, 2] if i < 20 else [2] for i in range(50)]
    for sides in ((true, pred), (random_lists(40, 7, 0), random_lists(40, 5, 1)), (random_lists(40, 40, 2), true[:40])):
        scores = evaluate_overlapping(*both(*sides))
        for name, expected in slow(*sides).items():
            assert float(scores[name]) == pytest.approx(expected, abs=1e-12), name


@settings(max_examples=30)
@given(sides=two_sides(least=1, n=20))
def test_agreement_with_python_bcubed(sides: tuple[Groups, Groups]) -> None:
    bcubed = pytest.importorskip("bcubed", reason="the peers extra is not installed")
    true, pred = ({i: set(groups) for i, groups in enumerate(side)} for side in sides)
    precision, recall = bcubed.precision(pred, true), bcubed.recall(pred, true)
    scores = evaluate_overlapping(Memberships.from_dict(true), Memberships.from_dict(pred))
    assert float(scores["extended_bcubed_precision"]) == pytest.approx(precision, abs=1e-12)
    assert float(scores["extended_bcubed_recall"]) == pytest.approx(recall, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_agreement_with_clusim(seed: int) -> None:
    """Its overlapping NMI is left out: it takes 1 - P11 for P00 in the formula of 2009, CDlib does not."""
    pytest.importorskip("clusim", reason="the peers extra is not installed")
    from clusim.clustering import Clustering
    from clusim.sim import omega_index

    sides = random_lists(30, 6, seed), random_lists(30, 4, seed + 10)
    peers = [Clustering(elm2clu_dict=dict(enumerate(side))) for side in sides]
    scores = evaluate_overlapping(*both(*sides))
    assert float(scores["omega_index"]) == pytest.approx(omega_index(*peers), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_agreement_with_cdlib(seed: int) -> None:
    cdlib = pytest.importorskip("cdlib", reason="the peers extra is not installed")
    import networkx as nx

    def community(side: Groups) -> Any:
        sets = members([set(groups) for groups in side])
        return cdlib.NodeClustering([sorted(group) for group in sets], nx.empty_graph(len(side)), "x", overlap=True)

    sides = random_lists(25, 5, seed), random_lists(25, 7, seed + 10)
    peers = [community(side) for side in sides]
    scores = evaluate_overlapping(*both(*sides))
    for name, function in (
        ("omega_index", cdlib.evaluation.omega),
        ("overlapping_nmi_lfk", cdlib.evaluation.overlapping_normalized_mutual_information_LFK),
        ("overlapping_nmi_max", cdlib.evaluation.overlapping_normalized_mutual_information_MGH),
    ):
        assert float(scores[name]) == pytest.approx(function(*peers).score, abs=1e-12), name


def test_multiplicities_of_figure_15() -> None:
    true = Memberships.from_lists([["b", "g"], ["b", "g"], ["w"]])
    for clusters, precision, recall in ((["A", "B"], 1, 1), (["A"], 1, 1 / 2), (["A", "B", "C"], 2 / 3, 1)):
        pred = Memberships.from_lists([clusters, clusters, ["Z"]])
        given_pairs = torch.tensor([[0, 1], [0, 2], [1, 1]])
        found = overlap.multiplicity_precision(true, pred, given_pairs).tolist()
        assert found[0] == found[2] == precision
        assert math.isnan(found[1])
        found = overlap.multiplicity_recall(true, pred, given_pairs).tolist()
        assert found[0] == found[2] == recall
        assert math.isnan(found[1])


def test_multiplicities_of_named_items_and_batches() -> None:
    true = Memberships.from_dict({"x": [0, 1], "y": [0, 1], "z": [1]})
    pred = Memberships.stack(
        [Memberships.from_dict({"z": [5], "x": [5]}), Memberships.from_dict({"x": [5], "y": [5, 6]})]
    )
    found = overlap.multiplicity_recall(true, pred, [("x", "y"), ("x", "z")])
    assert found.tolist() == [[0, 1], [0.5, 0]]
    assert overlap.multiplicity_precision(true, pred, []).shape == (2, 0)
    with pytest.raises(ValueError, match="pairs: expected names of items; got 'q'"):
        overlap.multiplicity_precision(true, pred, [("x", "q")])
    for bad in ([[0, 3]], [[-1, 0]], [[0.5, 1.0]], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="pairs: expected"):
            overlap.multiplicity_precision(true, pred, torch.tensor(bad))


def test_values_of_each_item() -> None:
    """Figure 21 by hand: two clusters of the ideal distribution merged."""
    true = Memberships.from_lists([["b", "g"], ["b", "g"], ["g"], ["b"], ["b"], ["d"], ["d"]])
    pred = Memberships.from_lists([["A"]] * 5 + [["C"]] * 2)
    found = overlap.extended_bcubed_per_item(true, pred)
    assert found.precision.tolist() == pytest.approx([1, 1, 3 / 5, 4 / 5, 4 / 5, 1, 1])
    assert found.recall.tolist() == pytest.approx([4 / 5, 4 / 5, 1, 1, 1, 1, 1])
    bare = overlap.extended_bcubed_per_item(*both([[0], [0], []], [[1], [], [1]]))
    assert bare.precision.tolist() == pytest.approx([1 / 2, math.nan, 0], nan_ok=True)
    assert bare.recall.tolist() == pytest.approx([1 / 2, 0, math.nan], nan_ok=True)


def test_values_of_each_item_of_partitions() -> None:
    labels = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([[0, 0, 1, 1, 1], [0, 1, 2, 3, 3]])
    found = overlap.extended_bcubed_per_item(*map(Memberships.from_labels, labels))
    assert found.precision.tolist() == [[1, 1, 1 / 3, 2 / 3, 2 / 3], [1, 1, 1, 1, 1]]
    assert found.recall.tolist() == [[2 / 3, 2 / 3, 1 / 3, 1, 1], [1 / 3, 1 / 3, 1 / 3, 1, 1]]


def test_alpha_weights_precision() -> None:
    true, pred = both([[0], [0], [0, 1], [1]], [[0], [1], [1], [1]])
    for function, p, r in (
        (overlap.extended_bcubed_f, overlap.extended_bcubed_precision, overlap.extended_bcubed_recall),
        (overlap.overlap_purity_f, overlap.overlap_purity, overlap.overlap_inverse_purity),
    ):
        precision, recall = float(p(true, pred)), float(r(true, pred))
        assert precision != recall
        assert float(function(true, pred, alpha=1)) == precision
        assert float(function(true, pred, alpha=0)) == recall
        assert float(function(true, pred, 0.2)) == pytest.approx(1 / (0.2 / precision + 0.8 / recall), abs=1e-15)
        with pytest.raises(ValueError, match="alpha: expected a number from 0 to 1; got 2"):
            function(true, pred, alpha=2)


# laws -----------------------------------------------------------------------------------------------


def values(true: Memberships, pred: Memberships, **options: Any) -> dict[str, torch.Tensor]:
    return dict(evaluate_overlapping(true, pred, **options))


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float = 1e-12) -> None:
    for name in expected:
        torch.testing.assert_close(
            found[name], expected[name], rtol=0, atol=tolerance, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}"
        )


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
    moved = [[[f"g{names[group]}" for group in reversed(side[i])] for i in order] for side in sides]
    assert_same(values(*both(*moved)), values(*both(*sides)))


@settings(max_examples=50)
@given(true=st.integers(1, 8).flatmap(lists))
def test_identical_memberships_are_perfect(true: Groups) -> None:
    renamed = [[group + 10 for group in groups] for groups in true]
    for name, value in values(*both(true, renamed)).items():
        assert float(value) == OVERLAP_MEASURES[name].perfect, name


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
        assert_same({name: value[i] for name, value in batched.items()}, alone, 0)


def test_batches_broadcast() -> None:
    random = torch.Generator().manual_seed(3)
    true = Memberships.from_matrix(torch.rand(3, 1, 12, 4, generator=random) < 0.4)
    pred = Memberships.from_matrix(torch.rand(2, 12, 5, generator=random) < 0.4)
    scores = evaluate_overlapping(true, pred)
    assert scores.batch_shape == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        assert_same({name: value[i, j] for name, value in scores.items()}, values(true[i, 0], pred[j]), 1e-14)
    items = overlap.extended_bcubed_per_item(true, pred).precision
    assert items.shape == (3, 2, 12)
    torch.testing.assert_close(items[2, 1], overlap.extended_bcubed_per_item(true[2, 0], pred[1]).precision)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("most_bins", [4096, 1])
def test_neither_chunks_nor_ways_of_counting_change_results(
    monkeypatch: pytest.MonkeyPatch, listed: bool, most_bins: int
) -> None:
    def sides() -> tuple[Memberships, Memberships]:
        random = torch.Generator().manual_seed(0)
        true = torch.rand(60, 9, generator=random) < torch.tensor([0.7] + [0.15] * 8)
        pred = torch.rand(4, 60, 12, generator=random) < torch.tensor([0.9] + [0.1] * 11)
        return Memberships.from_matrix(true), Memberships.from_matrix(pred)

    monkeypatch.setattr(pairs, "DENSE_MEMBER", 0.0)
    expected = values(*sides())
    monkeypatch.setattr(pairs, "DENSE_MEMBER", math.inf if listed else -math.inf)
    monkeypatch.setattr(pairs, "MOST_BINS", most_bins)
    for chunk_size in (1, 100, 10_000, 10**6):
        assert_same(values(*sides(), chunk_size=chunk_size), expected, 0)


def test_codes_beyond_the_exact_range_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items with thousands of groups on both sides: a pair's code needs more than 24 bits."""
    monkeypatch.setattr(pairs, "DENSE_MEMBER", -math.inf)
    groups = 4099
    true = torch.ones(3, groups, dtype=torch.bool)
    pred = true.clone()
    pred[0, 0] = pred[1, 0] = pred[1, 1] = False
    names = ["extended_bcubed_precision", "extended_bcubed_recall"]
    scores = evaluate_overlapping(Memberships.from_matrix(true), Memberships.from_matrix(pred), names)
    assert float(scores["extended_bcubed_precision"]) == 1
    shared = [
        [groups - 1, groups - 2, groups - 1],
        [groups - 2, groups - 2, groups - 2],
        [groups - 1, groups - 2, groups],
    ]
    expected = Fraction(sum(map(sum, shared)), 9 * groups)
    assert float(scores["extended_bcubed_recall"]) == pytest.approx(float(expected), abs=1e-15)


def test_memory_is_bounded() -> None:
    """The blocks of a large comparison hold no more pairs than they may."""
    true, pred = both(random_lists(600, 30, 0), random_lists(600, 30, 1))
    comparison = compare(true, pred, 5000)
    found = list(pairs._blocks(comparison))
    assert sum(block.high - block.low for block in found) == comparison.patterns.items.shape[0]
    assert len(found) > 10
    assert max(block.items.shape[0] for block in found) <= 5000


def test_an_item_of_many_groups_is_cut_too() -> None:
    sides = [[*range(90)], [0], [1, 2]], [[*range(80)], [0], [3]]
    comparison = compare(*both(*sides), 200)
    found = list(comparison._triples(torch.zeros(90, dtype=torch.int64), 80))
    assert sum(len(keys) for keys, _ in found) == 90 * 80 + 1 + 2
    assert max(len(keys) for keys, _ in found) <= 200
    assert_same(values(*both(*sides), chunk_size=200), values(*both(*sides)), 0)


def test_merging_in_parts() -> None:
    parts = [(torch.tensor([5, 1, 5]), torch.tensor([1, 2, 3])), (torch.tensor([1]), torch.tensor([10]))] * 3
    for pending in (1, 100):
        keys, sums = merged(iter(parts), pending, torch.device("cpu"))
        assert keys.tolist() == [1, 5]
        assert sums.tolist() == [36, 12]


def test_many_group_pairs_are_counted_the_same_without_a_table() -> None:
    true, pred = both(random_lists(300, 200, 0), random_lists(300, 250, 1))
    sparse = compare(true, pred, 10).group_overlaps
    dense = compare(*both(random_lists(300, 200, 0), random_lists(300, 250, 1)), 10**7).group_overlaps
    table = true.to_matrix().double().T @ pred.to_matrix().double()
    for cells in (sparse, dense):
        used = table[true.group_sizes > 0][:, pred.group_sizes > 0]
        assert torch.equal(used[cells.true, cells.pred].long(), cells.items)
        assert int(cells.items.sum()) == int(table.sum())


PLAIN = {
    "extended_bcubed_precision": measures.bcubed_precision,
    "extended_bcubed_recall": measures.bcubed_recall,
    "extended_bcubed_f": measures.bcubed_f,
    "omega_index": measures.adjusted_rand,
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

    monkeypatch.setattr(overlap.bcubed, "pair_statistics", fail)
    random = torch.Generator().manual_seed(1)
    true, pred = torch.randint(7, (5000,), generator=random), torch.randint(9, (3, 5000), generator=random)
    tables = ContingencyTables.from_labels(true, pred)
    scores = evaluate_overlapping(Memberships.from_labels(true), Memberships.from_labels(pred))
    for name, plain in PLAIN.items():
        assert torch.equal(scores[name], plain(tables)), name
    for name, plain in CLOSE.items():
        torch.testing.assert_close(scores[name], plain(tables), rtol=0, atol=1e-15)


@settings(max_examples=50)
@given(data=st.data())
def test_the_pass_over_pairs_agrees_with_plain_measures(data: st.DataObject) -> None:
    """The pass over pairs, forced onto partitions by an item more that has no group on either side."""
    n = data.draw(st.integers(2, 8))
    labels = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    true, pred = data.draw(labels), data.draw(labels)
    tables = ContingencyTables.from_labels(torch.tensor(true), torch.tensor(pred))
    scores = values(*both([[x] for x in true] + [[]], [[x] for x in pred] + [[]]))
    for name, plain in {**PLAIN, **CLOSE}.items():
        if not name.startswith("omega"):  # the extra item makes pairs
            assert float(scores[name]) == pytest.approx(float(plain(tables)), abs=1e-14), name


def test_partitions_and_overlaps_in_one_batch() -> None:
    labels = [0, 0, 1, 1, 2, 2]
    true = Memberships.from_labels(labels)
    pred = Memberships.stack(
        [Memberships.from_labels([0, 0, 0, 1, 1, 1]), Memberships.from_lists([[0], [0, 1], [1], [1], [2], []])]
    )
    scores = evaluate_overlapping(true, pred)
    tables = ContingencyTables.from_labels(torch.tensor(labels), torch.tensor([0, 0, 0, 1, 1, 1]))
    for name, plain in PLAIN.items():
        assert float(scores[name][0]) == float(plain(tables)), name
    for name, expected in slow([[x] for x in labels], [[0], [0, 1], [1], [1], [2], []]).items():
        assert float(scores[name][1]) == pytest.approx(expected, abs=1e-12), name


def test_the_omega_index_is_zero_on_average() -> None:
    true, pred = [[0, 1], [0], [0, 1], [1], [2]], [[0], [0, 1], [1], [1, 0], []]
    batch = Memberships.stack(
        [Memberships.from_lists([pred[i] for i in order]) for order in itertools.permutations(range(5))]
    )
    scores = evaluate_overlapping(Memberships.from_lists(true), batch)
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


# items without groups, and nothing at all -------------------------------------------------------------


@every_measure
def test_no_items(name: str) -> None:
    empty = Memberships.from_lists([])
    assert math.isnan(float(evaluate_overlapping(empty, empty)[name]))
    batch = Memberships.from_matrix(torch.zeros(3, 0, 2))
    assert evaluate_overlapping(empty, batch)[name].isnan().tolist() == [True] * 3


@every_measure
def test_no_clusterings(name: str) -> None:
    true, pred = Memberships.from_lists([[0], [1, 0]]), Memberships.from_matrix(torch.zeros(0, 2, 2))
    assert evaluate_overlapping(true, pred)[name].shape == (0,)


def test_one_side_without_groups() -> None:
    scores = evaluate_overlapping(*both([[0], [0, 1], [1]], [[], [], []]))
    expected = {
        "extended_bcubed_precision": 1,
        "extended_bcubed_recall": 0,
        "extended_bcubed_f": 0,
        "overlap_purity": 1,
        "overlap_inverse_purity": 0,
        "overlap_purity_f": 0,
        "overlap_set_f": 0,
        "overlapping_nmi_lfk": 0,
        "overlapping_nmi_max": 0,
    }
    assert {name: float(scores[name]) for name in expected} == expected
    turned = evaluate_overlapping(*both([[], []], [[0], [0]]))
    assert float(turned["extended_bcubed_recall"]) == 1
    assert float(turned["overlap_set_f"]) == 0


def test_an_item_that_was_dropped_is_punished_in_recall_only() -> None:
    true = Memberships.from_lists([["g"], ["g"], ["b"]])
    full, dropped = Memberships.from_lists([[0], [0], [1]]), Memberships.from_lists([[0], [0], []])
    assert float(overlap.extended_bcubed_recall(true, full)) == 1
    assert float(overlap.extended_bcubed_recall(true, dropped)) == pytest.approx(2 / 3)
    assert float(overlap.extended_bcubed_precision(true, dropped)) == 1


# memberships ------------------------------------------------------------------------------------------


def dense(memberships: Memberships) -> list[Any]:
    matrix: list[Any] = memberships.to_matrix().int().tolist()
    return matrix


def test_constructors_agree() -> None:
    expected = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0]]
    by_item = {"w": ["a"], "x": ["a", "b"], "y": {"b", "c"}, "z": ()}
    from_lists = Memberships.from_lists([["a"], ("a", "b", "a"), ["b", "c"], []])
    assert dense(from_lists) == expected
    assert from_lists.group_labels == ("a", "b", "c")
    assert dense(Memberships.from_dict({**by_item, "y": ["b", "c"]})) == expected
    grouped = Memberships.from_groups({"a": ["w", "x"], "b": ["x", "y"], "c": ["y", "y"]}, items=by_item)
    assert dense(grouped) == expected
    assert grouped.items == ("w", "x", "y", "z")
    matrix = torch.tensor(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls this layout a beta
        csr = matrix.float().to_sparse_csr()
    for form in (
        matrix,
        matrix.bool(),
        matrix.double(),
        expected,
        matrix.numpy(),
        matrix.to_sparse(),
        csr,
    ):
        assert dense(Memberships.from_matrix(form)) == expected
    stacked = torch.stack([matrix, matrix.flip(0)])
    for form in (stacked, stacked.to_sparse()):
        assert dense(Memberships.from_matrix(form)) == stacked.tolist()
    twice = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1, 1], (2, 2), check_invariants=True)
    assert dense(Memberships.from_matrix(twice)) == [[0, 1], [0, 0]]


def test_labels_of_any_kind() -> None:
    expected = [[1, 0], [0, 1], [1, 0]]
    for labels in (
        [7, 9, 7],
        np.array([7, 9, 7], np.uint16),
        torch.tensor([-5, 2**60, -5]),
        ["a", "b", "a"],
        [False, True, False],
    ):
        assert dense(Memberships.from_labels(labels)) == expected
    batch = Memberships.from_labels(torch.tensor([[1, 2], [2, 2]]))
    assert batch.batch_shape == (2,)
    assert batch.group_labels == (1, 2)
    assert batch.group_sizes.tolist() == [[1, 1], [0, 2]]
    assert batch.is_partition.tolist() == [True, True]


def test_a_hierarchy_is_its_paths() -> None:
    """Figure 13: items 1 and 2 in the left child, item 3 in the right one, all three in the root."""
    tree = Memberships.from_hierarchy({1: ["A", "B"], 2: ["A", "B"], 3: ["A", "C"]})
    assert dense(tree) == [[1, 1, 0], [1, 1, 0], [1, 0, 1]]
    assert tree.group_labels == (("A",), ("A", "B"), ("A", "C"))
    same_name = Memberships.from_hierarchy([["x", "other"], ["y", "other"], []])
    assert dense(same_name) == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]


def test_dictionaries_are_aligned_by_item() -> None:
    true = Memberships.from_dict({"a": [1], "b": [1], "c": [2]})
    pred = Memberships.from_dict({"c": ["q"], "d": ["q"], "a": ["p"]})
    positions = both([[1], [1], [2], []], [["p"], [], ["q"], ["q"]])  # type: ignore[list-item]
    assert_same(values(true, pred), values(*positions), 0)
    scores = evaluate_overlapping(true, pred)
    assert int(scores.n_items) == 4
    assert float(scores.coverage) == 0.5


def test_stack_and_index() -> None:
    parts = [Memberships.from_dict({"a": [0], "b": [1]}), Memberships.from_dict({"b": [0, 1], "c": [0]})]
    batch = Memberships.stack(parts)
    assert batch.items == ("a", "b", "c")
    assert dense(batch) == [[[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 1], [1, 0]]]
    assert dense(batch[1]) == dense(batch)[1]
    assert dense(batch[torch.tensor([False, True])]) == [dense(batch)[1]]
    assert dense(batch[[1, 0, 1]]) == [dense(batch)[i] for i in (1, 0, 1)]
    assert repr(batch) == "Memberships(batch_shape=(2,), n_items=3, n_groups=2, device='cpu')"
    with pytest.raises(IndexError, match="expected a batch"):
        parts[0][0]


def test_memberships_cannot_be_changed() -> None:
    true = Memberships.from_lists([[0]])
    with pytest.raises(FrozenInstanceError):
        true.n_items = 3  # type: ignore[misc]
    matrix = torch.tensor([[1, 0], [0, 1]])
    kept = Memberships.from_matrix(matrix)
    matrix[0, 1] = 1
    assert dense(kept) == [[1, 0], [0, 1]]


def test_any_device(device: torch.device) -> None:
    true, pred = random_lists(40, 6, 0), random_lists(40, 5, 1)
    expected = values(*both(true, pred))
    found = values(*(Memberships.from_lists(side, device=device) for side in (true, pred)))
    assert {value.device.type for value in found.values()} == {device.type}
    assert_same({name: value.cpu() for name, value in found.items()}, expected)
    assert Memberships.from_lists(true).to(device).device.type == device.type


NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Memberships.from_lists(["ab", "c"]), r"memberships: expected a list, tuple, set .* item 0; got 'ab'"),
        (lambda: Memberships.from_lists("ab"), "expected a list with one entry per item; got str"),
        (lambda: Memberships.from_lists({"a": [1]}), "expected a list with one entry per item; got dict"),
        (lambda: Memberships.from_lists(3), "expected a list with one entry per item; got int"),
        (lambda: Memberships.from_lists([[1], 2]), "item 1; got 2"),
        (lambda: Memberships.from_lists([[1], None]), "item 1; got None"),
        (lambda: Memberships.from_lists([[1], [None]]), "expected a name; got None for item 1"),
        (lambda: Memberships.from_lists([[NAN]]), "expected a name; got nan for item 0"),
        (lambda: Memberships.from_lists([[[1, 2]]]), r"expected hashable values; got \[1, 2\] for item 0"),
        (lambda: Memberships.from_lists([[{1}]]), r"expected hashable values; got \{1\} for item 0"),
        (lambda: Memberships.from_lists([[1], [2]], items=["a"]), "items: expected 2 names, one per item; got 1"),
        (lambda: Memberships.from_lists([[1], [2]], items=["a", "a"]), "items: expected each name once; got 'a' again"),
        (
            lambda: Memberships.from_lists([[1], [2]], items=["a", None]),
            "items: expected a name; got None at position 1",
        ),
        (lambda: Memberships.from_dict([[1]]), "expected a mapping from items to groups; got list"),
        (lambda: Memberships.from_dict({"a": "xyz"}), "for item 'a'; got 'xyz'"),
        (lambda: Memberships.from_groups([["a"]]), "expected a mapping from groups to items; got list"),
        (lambda: Memberships.from_groups({"g": "abc"}), "in group 'g'; got 'abc'"),
        (lambda: Memberships.from_groups({"g": ["a", "b"]}, items=["a"]), "only items named in items; got 'b'"),
        (lambda: Memberships.from_groups({None: ["a"]}), "items: expected a name; got None"),
        (lambda: Memberships.from_matrix([1, 0]), r"expected shape \(\*batch, N, K\)"),
        (lambda: Memberships.from_matrix([[1, 0], [1]]), r"matrix: expected numbers"),
        (lambda: Memberships.from_matrix([[1, 0], [0, -1]]), r"expected only 0 and 1; got -1 at \(1, 1\)"),
        (lambda: Memberships.from_matrix([[1, 0], [0.5, 1]]), r"expected only 0 and 1; got 0.5 at \(1, 0\)"),
        (lambda: Memberships.from_matrix(torch.tensor([[NAN, 0.0]])), r"expected only 0 and 1; got nan at \(0, 0\)"),
        (lambda: Memberships.from_matrix(torch.tensor([[2, 0]]).to_sparse()), r"got 2 at \(0, 0\)"),
        (lambda: Memberships.from_matrix([["a", "b"]]), "matrix: expected numbers"),
        (lambda: Memberships.from_labels([1, None]), "labels: expected a label for every item; got None at position 1"),
        (lambda: Memberships.from_labels([0.5, 1.0]), "labels: expected whole numbers; got 0.5"),
        (lambda: Memberships.from_labels(torch.tensor(1)), "labels: expected labels of shape"),
        (lambda: Memberships.from_hierarchy(["a/b"]), "paths: expected a list, tuple.* got 'a/b'"),
        (lambda: Memberships.from_hierarchy([{"a", "b"}]), "paths: expected an ordered path for item 0; got a set"),
        (
            lambda: Memberships.from_hierarchy({"i": ["a"]}, items=["i"]),
            "items: expected None where paths is a mapping",
        ),
        (lambda: Memberships.stack([]), "members: expected at least one Memberships"),
        (lambda: Memberships.stack([[[1]]]), "members: expected at least one Memberships"),
        (
            lambda: Memberships.stack([Memberships.from_labels([1]), Memberships.from_labels([[1]])]),
            "members: expected one batch shape and device",
        ),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_sides_that_do_not_fit_are_refused() -> None:
    named, plain, longer = (
        Memberships.from_dict({"a": [1]}),
        Memberships.from_labels([1]),
        Memberships.from_labels([1, 2]),
    )
    with pytest.raises(ValueError, match=r"the same number of items on both sides; got \[1, 2\]"):
        evaluate_overlapping(plain, longer)
    with pytest.raises(ValueError, match="items: expected names on both sides or on neither"):
        evaluate_overlapping(named, plain)
    with pytest.raises(ValueError, match=r"true: expected Memberships .*; got list"):
        evaluate_overlapping([[1]], plain)  # type: ignore[arg-type]
    batches = [Memberships.from_matrix(torch.ones(size, 1, 1)) for size in (2, 3)]
    with pytest.raises(ValueError, match=r"batch shapes that broadcast; got \(2,\) and \(3,\)"):
        evaluate_overlapping(*batches)
    for chunk_size in (0, 1.5, True):
        with pytest.raises(ValueError, match="chunk_size: expected a whole number of at least 1"):
            evaluate_overlapping(plain, plain, chunk_size=chunk_size)  # type: ignore[arg-type]


# registry and one call --------------------------------------------------------------------------------


def test_the_registry() -> None:
    for name, measure in OVERLAP_MEASURES.items():
        assert name == measure.name
        assert measure.function is getattr(overlap, name)
        assert measure.family == "overlap"
        assert measure.swapped is None or measure.swapped in OVERLAP_MEASURES
        assert measure.source in REFERENCES
        text = measure.function.__doc__ or ""
        assert all(part in text for part in ("Args:", "Returns:", "Range:", "Degenerate:", "Source:")), name
    with pytest.raises(TypeError):
        OVERLAP_MEASURES["x"] = OVERLAP_MEASURES["omega_index"]  # type: ignore[index]
    assert [name for name in overlap.__all__ if not hasattr(overlap, name)] == []


def test_choosing_measures() -> None:
    true, pred = both([[0], [0, 1]], [[1], [1]])
    assert evaluate_overlapping(true, pred, "all").names == tuple(OVERLAP_MEASURES)
    assert evaluate_overlapping(true, pred, "omega_index").names == ("omega_index",)
    own = Measure("items", "overlap", lambda a, b: torch.tensor(float(a.n_items + b.n_items)), (0, 9))
    scores = evaluate_overlapping(true, pred, [own, OVERLAP_MEASURES["overlap_purity"]])
    assert scores.names == ("items", "overlap_purity")
    assert float(scores["items"]) == 4
    for bad, message in (
        ("omega_indx", "did you mean omega_index"),
        ([], "at least one measure"),
        ([3], "names or Measure records; got int"),
        ([own, Measure("items", "overlap", overlap.omega_index, (0, 1))], "two measures named 'items'"),
        (
            Measure("odd", "overlap", lambda a, b: torch.zeros(3), (0, 1)),
            r"measure 'odd': expected a tensor of shape \(\)",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate_overlapping(true, pred, bad)  # type: ignore[arg-type]


def test_the_best_system_of_a_batch() -> None:
    true = Memberships.from_lists([[0, 1], [0], [1]])
    pred = Memberships.stack([Memberships.from_lists([[0], [0], [0]]), true, Memberships.from_lists([[0], [1], [2]])])
    scores = evaluate_overlapping(true, pred)
    assert scores.best("extended_bcubed_f") == 1
    assert scores.coverage.tolist() == [1, 1, 1]


def test_two_sides_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    counted = overlap.bcubed.pair_statistics
    monkeypatch.setattr(overlap.bcubed, "pair_statistics", lambda c: calls.append(c) or counted(c))
    true, pred = both([[0], [0, 1]], [[1], [1]])
    evaluate_overlapping(true, pred)
    overlap.extended_bcubed_f(true, pred)
    assert len(calls) == 1
    evaluate_overlapping(true, Memberships.from_lists([[0], [0]]))
    assert len(calls) == 2


def test_a_truth_keeps_no_clustering_alive() -> None:
    """Nor does a comparison outlive its truth, without the garbage collector."""
    gc.disable()
    try:
        true, pred = both([[0], [0, 1]], [[1], [1]])
        evaluate_overlapping(true, pred)
        gone = [weakref.ref(pred), weakref.ref(compare(true, pred))]
        del pred
        assert [ref() for ref in gone] == [None, None]
        pred = Memberships.from_lists([[0], []])
        evaluate_overlapping(true, pred)
        gone = [weakref.ref(true), weakref.ref(compare(true, pred))]
        del true
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_memberships_are_copied_and_pickled_without_what_was_computed() -> None:
    true, pred = both([[0], [0, 1]], [[1], [1]])
    expected = values(true, pred)
    for made in (copy.deepcopy((true, pred)), pickle.loads(pickle.dumps((true, pred)))):
        assert not made[0].compared
        assert_same(values(*made), expected, 0)


# files ------------------------------------------------------------------------------------------------


def test_reading_files(tmp_path: Path) -> None:
    lines = "\ufeffx\ta\r\nx\tb\r\n\r\ny\tb\r\nz\t\r\nx\ta\r\n"
    by_item = {"x": ["a", "b"], "y": ["b"], "z": []}
    for name, content in (
        ("m.tsv", lines),
        ("m.json", json.dumps(by_item)),
        ("m.txt.gz", lines),
        ("m.json.gz", json.dumps(by_item)),
    ):
        path = tmp_path / name
        data = content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        found = overlap.read_memberships(path)
        assert found.items == ("x", "y", "z")
        assert dense(found) == [[1, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"", "expected at least one line item<TAB>group; got none"),
        ("a.tsv", b"x a\n", "line 1: expected item<TAB>group; got 'x a'"),
        ("a.tsv", b"x\ta\n\tb\n", "line 2: expected item<TAB>group"),
        ("a.tsv", b"x\ta\tb\n", "line 1: expected item<TAB>group"),
        ("a.tsv", b"\xff\xfe\n", "expected text in UTF-8"),
        ("a.tsv.gz", b"x\ta\n", "gzipped"),
        ("a.json", b"[1]", "expected a JSON object"),
        ("a.json", b"{}", "expected a JSON object"),
        ("a.json", b'{"x": ["a"], "x": ["b"]}', "expected each item once; got 'x' again"),
        ("a.json", b'{"x": "a"}', "for item 'x'; got 'a'"),
        ("a.json", b'{"x": [NaN]}', "expected a name; got nan"),
        ("a.json", b'{"x": [null]}', "expected a name; got None"),
        ("a.json", b'{"x": ', "line 1"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        overlap.read_memberships(path)
    assert str(caught.value).startswith(f"{path}: ")
