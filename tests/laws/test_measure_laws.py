"""Laws that relate values on several tables: a measure has a fact of the registry exactly if it obeys the law."""

import itertools
from collections.abc import Iterable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.strategies import (
    LAYOUTS,
    Pair,
    batches,
    float_counts,
    in_layout,
    label_pairs,
    random_counts,
    stacked,
)
from tests.support.values import all_values, different_bits, differing
from torchclusteval import MEASURES, ContingencyTables

pytestmark = pytest.mark.slow

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
few = settings(max_examples=30)


def named(**facts: object) -> list[str]:
    return [name for name, measure in MEASURES.items() if all(getattr(measure, key) == x for key, x in facts.items())]


def of_partitions(names: Iterable[str]) -> list[str]:
    return [name for name in names if not MEASURES[name].one_sided]


def values_of(tables: ContingencyTables, names: Iterable[str]) -> dict[str, Tensor]:
    return {name: MEASURES[name](tables) for name in names}


def partitions(n: int) -> Tensor:
    """Every partition of n items, as labels in order of first occurrence."""
    labels = [[0]]
    for _ in range(n - 1):
        labels = [[*row, label] for row in labels for label in range(max(row) + 2)]
    return torch.tensor(labels)


def test_metrics_obey_the_axioms_and_nothing_else_does() -> None:
    """Over all triples of the 52 partitions of five items."""
    every = partitions(5)
    same = torch.eye(len(every), dtype=torch.bool)
    values = tce.evaluate(every[:, None], every[None], "all")
    metrics = []
    for name, value in values.items():
        is_zero_on_identical_alone = torch.equal(value.abs() <= 1e-12, same)
        symmetric = torch.allclose(value, value.mT, rtol=1e-12, atol=1e-12)
        detour = (value[:, :, None] + value[None]).amin(1)  # (a, c): shortest way by any b
        if is_zero_on_identical_alone and symmetric and bool((value <= detour + 1e-12).all()):
            metrics.append(name)
    assert metrics == [name for name, measure in MEASURES.items() if measure.metric or name in METRIC_OF_FEW_ITEMS]


METRIC_OF_FEW_ITEMS = {"frobenius_distance"}


def test_a_detour_may_be_shorter_for_squared_distances_of_projectors() -> None:
    """Of thirteen items one is moved, and another one: 5/6 + 1 is less than 15/8, in exact arithmetic."""
    through = [2, 0, 2, 0, 2, 2, 2, 1, 0, 2, 1, 2, 1]
    there = [2, 2, 2, 0, 2, 2, 2, 1, 0, 2, 1, 2, 1]
    here = [2, 0, 2, 1, 2, 2, 2, 1, 0, 2, 1, 2, 1]
    values = tce.evaluate([there, there, through], [here, through, here], "frobenius_distance", item_dims=1)
    assert values["frobenius_distance"].tolist() == pytest.approx([15 / 8, 5 / 6, 1], rel=1e-14)


@st.composite
def triples(draw: st.DrawFn) -> list[list[int]]:
    n = draw(st.integers(1, 30))
    (first, second), (third, _) = (draw(label_pairs(n, n)) for _ in range(2))
    return [first, second, third]


@few
@given(labelings=triples())
def test_a_detour_is_not_shorter(labelings: list[list[int]], device: torch.device) -> None:
    a, b, c = (torch.tensor(labels, device=device) for labels in labelings)
    values = tce.evaluate(torch.stack([a, a, b]), torch.stack([c, b, c]), named(metric=True), item_dims=1)
    for name, (direct, *detour) in values.items():
        assert direct <= sum(detour) + 1e-12 * max(1, len(a) ** 2), name


def side_by_side(first: Tensor, second: Tensor) -> Tensor:
    """Tables of the items of both, which share neither classes nor clusters."""
    return torch.stack([torch.block_diag(*blocks) for blocks in zip(first, second, strict=True)])


def combined(first: Tensor, second: Tensor, layout: str, names: Iterable[str]) -> dict[str, dict[str, Tensor]]:
    """What a measure of the joint tables would be, by rule."""
    a, b = (values_of(in_layout(counts, layout), names) for counts in (first, second))
    weight, other = (counts.sum((1, 2)).double() for counts in (first, second))
    return {
        "sum": {name: a[name] + b[name] for name in names},
        "mean": {name: (weight * a[name] + other * b[name]) / (weight + other) for name in names},
    }


@both_layouts
@few
@given(first=batches(max_size=3), data=st.data())
def test_values_of_blocks_combine(first: list[Pair], data: st.DataObject, layout: str, device: torch.device) -> None:
    second = [data.draw(label_pairs()) for _ in first]
    counts = stacked(first, device), stacked(second, device)
    combining = named(combines="sum") + named(combines="mean")
    joint = values_of(in_layout(side_by_side(*counts), layout), combining)
    for rule, expected in combined(*counts, layout, combining).items():
        assert not differing({name: joint[name] for name in named(combines=rule)}, expected, tolerance=1e-11)


def test_no_other_measure_combines() -> None:
    counts = random_counts(60, 4, 3, seed=1), random_counts(60, 3, 5, seed=2)
    joint = all_values(ContingencyTables(side_by_side(*counts)))
    names = of_partitions(MEASURES)
    for rule, expected in combined(*counts, "dense", names).items():
        obeying = [name for name in names if torch.allclose(joint[name], expected[name], rtol=1e-10, atol=1e-10)]
        assert obeying == of_partitions(named(combines=rule))


BETTER_WHEN_SPLIT = [
    *["conditional_entropy", "cluster_entropy", "mutual_information", "homogeneity"],
    *["purity", "many_to_one_accuracy", "micro_precision", "micro_recall", "misclassification_index"],
    "bcubed_precision",
]
BETTER_WHEN_MERGED = ["class_entropy", "hubert_gamma", "pair_recall", "inverse_purity", "bcubed_recall"]


def gain(after: Tensor, before: Tensor, name: str) -> Tensor:
    """By how much a value has become better."""
    change = after - before
    return change if MEASURES[name].better == "higher" else -change


@both_layouts
@settings(max_examples=60)
@given(pair=label_pairs(max_items=20), data=st.data())
def test_splitting_and_merging_clusters(pair: Pair, data: st.DataObject, layout: str, device: torch.device) -> None:
    """Clusters do not become less pure when they are split, nor classes more scattered when clusters are merged."""
    true, pred = pair
    halves = data.draw(st.lists(st.booleans(), min_size=len(pred), max_size=len(pred)))
    split = [2 * label + half for label, half in zip(pred, halves, strict=True)]
    tables = in_layout(stacked([(true, pred), (true, split)], device), layout)
    for name in BETTER_WHEN_SPLIT:
        coarse, fine = MEASURES[name](tables)
        assert gain(fine, coarse, name) >= -1e-12, name
    no_pairs = len(set(true)) == len(true)  # of one class: pair recall is 0/0, and 1 for identical partitions alone
    for name in BETTER_WHEN_MERGED:
        if name == "pair_recall" and no_pairs:
            continue
        coarse, fine = MEASURES[name](tables)
        assert gain(coarse, fine, name) >= -1e-12, name


def test_pair_precision_may_rise_or_fall_when_a_cluster_is_split() -> None:
    scores = tce.evaluate([0, 0, 1, 1], [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], "pair_precision")
    one_cluster, pure_halves, mixed_halves = scores["pair_precision"].tolist()
    assert mixed_halves < one_cluster < pure_halves


# Most are functions of the shares of the cells alone. Item pairs, permutations of items, log N, and numbers of groups
# against numbers of items are not. Which is which shows in one batch, and holds in all.


def unscaled() -> set[str]:
    counts = random_counts(60, 4, 3, seed=3)
    once, thrice = (all_values(ContingencyTables(counts * times)) for times in (1, 3))
    return {name for name in MEASURES if torch.allclose(once[name], thrice[name], rtol=1e-10)}


def test_which_measures_depend_on_the_scale() -> None:
    shares = unscaled()
    assert {"nmi_max", "purity", "bcubed_f", "cramers_v", "mirkin_normalized", "idf1", "seg"} <= shares
    assert not shares & {"adjusted_rand", "ami_max", "normalized_vi_log_n", "q0", "chi_squared", "muc_f", "blanc_f"}


@both_layouts
@settings(max_examples=30)
@given(batch=batches(min_items=0), masses=float_counts(), times=st.integers(2, 1000), factor=st.floats(1, 100))
def test_shares_do_not_depend_on_the_scale(
    batch: list[Pair], masses: Tensor, times: int, factor: float, layout: str, device: torch.device
) -> None:
    shares = sorted(unscaled())
    for counts, multiplied, tolerance in [
        (stacked(batch, device), times * stacked(batch, device), 1e-12),
        (masses.to(device), factor * masses.to(device), 1e-9),
    ]:
        one, other = (values_of(in_layout(cells, layout), shares) for cells in (counts, multiplied))
        assert not differing(other, one, tolerance)


@both_layouts
@few
@given(batch=batches(min_items=0), order=st.permutations(list(MEASURES)), count=st.integers(1, len(MEASURES)))
def test_selections(batch: list[Pair], order: list[str], count: int, layout: str, device: torch.device) -> None:
    counts = stacked(batch, device)
    every = tce.evaluate_tables(in_layout(counts, layout), list(MEASURES))
    some = tce.evaluate_tables(in_layout(counts, layout), order[:count])
    assert list(some) == order[:count]
    assert not different_bits(some, every)


@pytest.mark.parametrize(("alias", "name"), tce.measures.ALIASES.items())
def test_an_alias_is_its_measure(alias: str, name: str) -> None:
    counts = random_counts(5, 4, 3, seed=4)
    scores = tce.evaluate_tables(ContingencyTables(counts), alias)
    assert list(scores) == [name]
    assert torch.equal(scores[alias], MEASURES[name](ContingencyTables(counts)))


MARGINS = [[3, 2, 1], [2, 2, 2], [4, 1, 1], [3, 3, 0]]


def is_linear(y: Tensor, x: Tensor) -> bool:
    """Whether ``y = a x + b`` at all points."""
    far = x.sub(x[0]).abs().argmax()
    slope = (y[far] - y[0]) / (x[far] - x[0])
    return torch.allclose(y, y[0] + slope * (x - x[0]), rtol=1e-10, atol=1e-12)


def test_linear_in_says_in_what_a_measure_is_linear() -> None:
    """Over all tables of six items with the same sizes, for several pairs of sizes."""
    pairs, information, sizes = (set(of_partitions(MEASURES)) for _ in range(3))
    for rows, columns in itertools.product(MARGINS, repeat=2):
        labels = [torch.arange(3).repeat_interleave(torch.tensor(side)) for side in (rows, columns)]
        permuted = labels[1][torch.tensor(list(itertools.permutations(range(6))))]
        tables = ContingencyTables.from_labels(labels[0], permuted, num_classes=3, num_clusters=3)
        values = all_values(ContingencyTables(torch.unique(tables.counts, dim=0)))
        if len(values["rand"]) < 3:
            continue
        pairs = {name for name in pairs if is_linear(values[name], values["hubert_gamma"])}
        information = {name for name in information if is_linear(values[name], values["mutual_information"])}
        sizes = {name for name in sizes if torch.allclose(values[name], values[name][0], rtol=1e-12)}
    assert sizes == set(named(linear_in="sizes"))
    assert pairs - sizes == set(named(linear_in="pairs"))
    assert information - sizes == set(named(linear_in="information"))
