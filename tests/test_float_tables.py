"""Tables of floats: weights, probabilities, and the gradients that flow through them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, Pair, float_counts, in_layout, label_pairs
from tests.support.values import differing
from torchclusteval import MEASURES, ContingencyTables

pytestmark = pytest.mark.slow

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
REAL = [name for name, measure in MEASURES.items() if not measure.integer_only]


def values(tables: ContingencyTables, names: list[str] = REAL) -> dict[str, Tensor]:
    return {name: MEASURES[name](tables) for name in names}


def from_labels(pair: Pair, layout: str, weights: Tensor | None = None) -> ContingencyTables:
    true, pred = map(torch.tensor, pair)
    return ContingencyTables.from_labels(true, pred, weights=weights, layout=layout)


@both_layouts
@settings(max_examples=30)
@given(pair=label_pairs(), data=st.data())
def test_whole_weights_are_repeated_items(pair: Pair, data: st.DataObject, layout: str) -> None:
    n = len(pair[0])
    weights = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    repeated = tuple([x for x, w in zip(side, weights, strict=True) for _ in range(w)] for side in pair)
    expected = values(from_labels((repeated[0], repeated[1]), layout), list(MEASURES))

    as_integers = from_labels(pair, layout, torch.tensor(weights))
    assert as_integers.n_items.dtype == torch.int64
    assert not differing(values(as_integers, list(MEASURES)), expected)

    as_floats = from_labels(pair, layout, torch.tensor(weights, dtype=torch.float64))
    assert as_floats.n_items.dtype == torch.float64
    assert not differing(values(as_floats), expected)


@both_layouts
def test_an_item_without_weight_is_left_out(layout: str) -> None:
    pair = ([0, 0, 1, 1, 2, 3], [0, 1, 1, 1, 0, 5])
    weights = torch.tensor([2.0, 1.0, 3.0, 2.0, 2.0, 0.0])
    without = values(from_labels((pair[0][:5], pair[1][:5]), layout, weights[:5]))
    assert not differing(values(from_labels(pair, layout, weights)), without)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.integer_only])
def test_integer_only_measures_refuse_floats(name: str) -> None:
    tables = ContingencyTables([[1.5, 2.0], [1.0, 3.0]])
    with pytest.raises(ValueError, match=r"integer"):
        MEASURES[name](tables)
    with pytest.raises(ValueError, match=r"integer"):
        tce.evaluate_tables(tables, [name])
    family = MEASURES[name].family
    scores = tce.evaluate_tables(tables, family if family in tce.measures.ONE_SIDED else "all")
    assert name in scores.skipped
    assert name not in scores.names


@settings(max_examples=60)
@given(counts=float_counts())
def test_layouts_agree_and_values_lie_in_range(counts: Tensor, device: torch.device) -> None:
    dense, sparse = (values(in_layout(counts.to(device), layout)) for layout in LAYOUTS)
    assert not differing(sparse, dense, tolerance=1e-10)
    empty = counts.sum((-2, -1)).to(device) == 0
    for name, value in dense.items():
        low, high = MEASURES[name].range
        assert bool((value.isnan() == empty).all()), (name, value)
        assert bool(((value >= low - 1e-12) & (value <= high + 1e-12))[~empty].all()), (name, value)


@both_layouts
def test_chunk_size_hardly_matters(layout: str) -> None:
    generator = torch.Generator().manual_seed(3)
    counts = torch.rand(9, 30, 20, generator=generator, dtype=torch.float64) * 9 + 1
    tables = in_layout(counts, layout)
    whole = tce.evaluate_tables(tables, "all")
    for chunk_size in (1, 4):
        parts = tce.evaluate_tables(tables, "all", chunk_size=chunk_size)
        assert not differing(dict(parts), dict(whole), tolerance=1e-12)


def test_pair_measures_keep_the_polynomial() -> None:
    """C2(x) = x (x - 1) / 2 at x = 2.5, 1.5, 2 and 4: worked out by hand."""
    tables = ContingencyTables([[2.5, 0.0], [1.5, 2.0]])
    ss = 2.5 * 1.5 / 2 + 1.5 * 0.5 / 2 + 2.0 * 1.0 / 2
    joined_by_pred, joined_by_true = 4 * 3 / 2 + 2 * 1 / 2, 2.5 * 1.5 / 2 + 3.5 * 2.5 / 2
    pairs = 6 * 5 / 2
    expected = {
        "rand": (pairs + 2 * ss - joined_by_pred - joined_by_true) / pairs,
        "jaccard": ss / (joined_by_pred + joined_by_true - ss),
        "fowlkes_mallows": ss / math.sqrt(joined_by_pred * joined_by_true),
        "pair_precision": ss / joined_by_pred,
        "mirkin": 2 * (joined_by_pred + joined_by_true - 2 * ss),
    }
    for name, value in expected.items():
        assert MEASURES[name](tables).item() == pytest.approx(value, rel=1e-12), name


@pytest.mark.filterwarnings("ignore:tables. pair measures read masses as items")
def test_fowlkes_mallows_is_zero_without_positive_pairs() -> None:
    """Cells below 1 have negative pair polynomials: SS and one factor or both are negative here."""
    cells = torch.tensor([[[0.5, 0.2], [0.1, 0.5]], [[0.5, 0.5], [0.9, 0.9]]])
    for layout in LAYOUTS:
        assert MEASURES["fowlkes_mallows"](in_layout(cells.double(), layout)).tolist() == [0.0, 0.0]


DEGENERATE = {
    "one cell": [[6.0]],
    "one class": [[3.0, 2.0, 1.0]],
    "one cluster": [[3.0], [2.0], [1.0]],
    "identical": [[3.0, 0.0], [0.0, 2.0]],
    "singletons": [[1.0, 0.0], [0.0, 1.0]],
    "independent": [[4.0, 4.0], [4.0, 4.0]],
    "empty row and column": [[3.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 5.0, 0.0]],
    "no items": [[0.0, 0.0], [0.0, 0.0]],
}


@pytest.mark.parametrize("counts", DEGENERATE.values(), ids=list(DEGENERATE))
@both_layouts
def test_gradients_are_finite(counts: list[list[float]], layout: str, device: torch.device) -> None:
    infinite = {}
    for name in REAL:
        leaf = torch.tensor(counts, dtype=torch.float64, device=device, requires_grad=True)
        value = MEASURES[name](in_layout(leaf, layout))
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, leaf)
            if not bool(gradient.isfinite().all()):
                infinite[name] = gradient.tolist()
    assert infinite == {}


@both_layouts
def test_gradients_match_finite_differences(layout: str, device: torch.device) -> None:
    """On a table without empty cells or ties, where every measure is smooth."""
    counts = torch.tensor([[7.3, 2.1, 1.4], [1.7, 5.9, 3.2]], dtype=torch.float64, device=device)
    for name in REAL:
        leaf = counts.clone().requires_grad_()
        MEASURES[name](in_layout(leaf, layout)).backward()
        assert leaf.grad is not None, name
        for i, j in [(0, 0), (0, 2), (1, 0), (1, 1)]:
            step = torch.zeros_like(counts)
            step[i, j] = 1e-5
            ahead = MEASURES[name](in_layout(counts + step, layout))
            behind = MEASURES[name](in_layout(counts - step, layout))
            slope = ((ahead - behind) / 2e-5).item()
            assert leaf.grad[i, j].item() == pytest.approx(slope, rel=1e-6, abs=1e-8), (name, i, j)


def test_certain_probabilities_are_labels() -> None:
    generator = torch.Generator().manual_seed(1)
    true, pred = (torch.randint(0, k, (3, 40), generator=generator) for k in (4, 5))
    one_hot = (torch.nn.functional.one_hot(side, k).double() for side, k in ((true, 4), (pred, 5)))
    tables = ContingencyTables.from_probabilities(*one_hot)
    assert tables.n_items.dtype == torch.float64
    assert not differing(values(tables), values(ContingencyTables.from_labels(true, pred)))


def test_expected_table_of_probabilities() -> None:
    p_true = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]], dtype=torch.float64)
    p_pred = torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], dtype=torch.float64)
    expected = [[0.5 + 0.2, 0.3 + 0.25, 0.5], [0.5, 0.75, 0.0]]
    tables = ContingencyTables.from_probabilities(p_true, p_pred)
    torch.testing.assert_close(tables.counts, torch.tensor(expected, dtype=torch.float64), rtol=1e-14, atol=0)


@pytest.mark.parametrize("certain", [False, True], ids=["soft", "one-hot"])
def test_gradients_reach_the_probabilities(certain: bool, device: torch.device) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(2, 30, 4, generator=generator, dtype=torch.float64) * (1000 if certain else 1)
    true = torch.randint(0, 3, (30,), generator=generator).to(device)
    p_true = torch.nn.functional.one_hot(true, 3).double()
    for name in REAL:
        leaf = logits.to(device).requires_grad_()
        value = MEASURES[name](ContingencyTables.from_probabilities(p_true, leaf.softmax(-1)))
        assert value.shape == (2,), name
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
            assert bool(gradient.isfinite().all()), name


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-160, 1e65, 1e-66])
def test_masses_whose_products_float64_cannot_hold_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"^counts: expected masses with a sum from 1e-64 to 1e\+64; got .*one number"):
        ContingencyTables([[scale, 0.0], [scale / 10, scale]])
    with pytest.raises(ValueError, match=r"^weights: expected masses with a sum"):
        ContingencyTables.from_labels([0, 1], [0, 1], weights=[scale, scale])
    with pytest.raises(ValueError, match=r"^counts: expected masses with a sum"):
        ContingencyTables.from_cells([0, 1], [0, 1], counts=[scale, scale], weights=True)


@pytest.mark.filterwarnings("ignore:tables. pair measures read masses as items")
@pytest.mark.parametrize("scale", [2.0**200, 2.0**-190])
def test_masses_within_the_range_keep_scores_that_do_not_count_pairs(scale: float) -> None:
    counts = torch.tensor([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0]], dtype=torch.float64)
    names = ["purity", "bcubed_f", "nmi", "vi", "larsen_l", "chi_squared", "cramers_v", "goodman_kruskal_tau"]
    plain, scaled = (tce.evaluate_tables(ContingencyTables(x), names) for x in (counts, counts * scale))
    for name, value in plain.items():
        expected = value * scale if name == "chi_squared" else value
        torch.testing.assert_close(scaled[name], expected, rtol=1e-12, atol=0)


def test_tables_without_mass_are_tables() -> None:
    assert ContingencyTables([[0.0, 0.0], [0.0, 0.0]]).n_items.item() == 0
    assert ContingencyTables(torch.zeros(0, 2, 2, dtype=torch.float64)).shape == (0, 2, 2)
    assert ContingencyTables([[[1e-160, 0.0]], [[3.0, 1.0]]]).n_items.tolist() == [1e-160, 4]


def test_adjusted_rand_by_class_of_masses() -> None:
    """Weights are frequencies: whole ones as counts, and a class of at most one item has no pair."""
    counts = [[3, 1], [0, 4]]
    whole = tce.adjusted_rand_by_class(ContingencyTables([[float(x) for x in row] for row in counts]))
    torch.testing.assert_close(whole, tce.adjusted_rand_by_class(ContingencyTables(counts)), rtol=0, atol=0)
    few = tce.adjusted_rand_by_class(ContingencyTables([[0.5, 0.2], [0.1, 0.9], [1.5, 1.5]]))
    assert few.isnan().tolist() == [[True, False, False], [False, True, False], [False, False, False]]
    assert tce.adjusted_rand_by_class(ContingencyTables([[0.5, 0.2], [0.1, 0.2]])).isnan().all()
