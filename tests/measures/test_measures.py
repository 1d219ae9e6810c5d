"""Laws that every measure of the registry obeys, on both layouts; one drawn batch serves all measures."""

import itertools

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.reference import REFERENCE, reference
from tests.support.strategies import LAYOUTS, Pair, batches, in_layout, label_pairs, random_counts, stacked
from tests.support.values import all_values, different_bits, differing
from torchclusteval import MEASURES, ContingencyTables
from torchclusteval.measures import FAMILIES, REFERENCES

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
few = settings(max_examples=30)


def cells_differ(counts: Tensor) -> Tensor:
    """Tables whose non-zero cells are all different: there greedy matching has no ties."""
    filled = [[x for x in cells if x] for cells in counts.flatten(1).tolist()]
    return torch.tensor([len({*cells}) == len(cells) for cells in filled], device=counts.device)


def best_ious_differ(counts: Tensor) -> Tensor:
    """Tables in which no class has two clusters of its largest IoU: the first of them is ``aggregated_jaccard``'s."""
    n = counts.double()
    ious = (n / (n.sum(-1, keepdim=True) + n.sum(-2, keepdim=True) - n)).nan_to_num()
    best = ious.amax(-1, keepdim=True)
    return (((ious - best).abs() < 1e-9) & (best > 0)).sum(-1).amax(-1) <= 1


@pytest.mark.slow
@both_layouts
@few
@given(batch=batches(min_items=0))
def test_a_batch_is_its_tables_one_by_one(batch: list[Pair], layout: str, device: torch.device) -> None:
    together = all_values(in_layout(stacked(batch, device), layout))
    alone = [all_values(in_layout(stacked([pair], device)[0], layout)) for pair in batch]
    one_by_one = {name: torch.stack([values[name] for values in alone]) for name in MEASURES}
    assert not differing(together, one_by_one)


@pytest.mark.slow
@both_layouts
@few
@given(batch=batches(min_items=0), at=st.lists(st.integers(0, 5), min_size=2, max_size=2))
def test_padding_changes_nothing(batch: list[Pair], at: list[int], layout: str, device: torch.device) -> None:
    counts = stacked(batch, device)
    row, column = min(at[0], counts.shape[1]), min(at[1], counts.shape[2])
    padded = counts.new_zeros(len(batch), counts.shape[1] + 2, counts.shape[2] + 1)
    rows = [i for i in range(padded.shape[1]) if i not in (row, row + 1)]
    columns = [j for j in range(padded.shape[2]) if j != column]
    for (i, source_row), (j, source_column) in itertools.product(enumerate(rows), enumerate(columns)):
        padded[:, source_row, source_column] = counts[:, i, j]
    assert not differing(all_values(in_layout(padded, layout)), all_values(in_layout(counts, layout)))


@pytest.mark.slow
@both_layouts
@few
@given(batch=batches(), seed=st.integers(0, 2**16))
def test_relabelling_changes_nothing(batch: list[Pair], seed: int, layout: str, device: torch.device) -> None:
    counts = stacked(batch, device)
    generator = torch.Generator().manual_seed(seed)
    rows, columns = (torch.randperm(size, generator=generator) for size in counts.shape[1:])
    moved = all_values(in_layout(counts[:, rows][:, :, columns], layout))
    here = all_values(in_layout(counts, layout))
    where = {"greedy": cells_differ(counts), "aggregated_jaccard": best_ious_differ(counts)}
    assert not differing(moved, here, where=where)


@both_layouts
def test_shape_and_dtype_of_values(layout: str, device: torch.device) -> None:
    for batch_shape in [(), (1,), (2, 3), (0,), (2, 0)]:
        counts = random_counts(*batch_shape, 3, 4, high=4, seed=1).to(device)
        for name, value in all_values(in_layout(counts, layout)).items():
            assert value.shape == batch_shape, name
            assert value.dtype == torch.float64, name
            assert value.device.type == device.type, name


@both_layouts
def test_batch_dimensions_are_one_flat_batch(layout: str, device: torch.device) -> None:
    counts = random_counts(6, 3, 4, high=4, seed=2).to(device)
    flat = all_values(in_layout(counts, layout))
    folded = all_values(in_layout(counts.unflatten(0, (2, 3)), layout))
    assert not different_bits({name: value.flatten() for name, value in folded.items()}, flat)


@both_layouts
@few
@given(batch=batches())
def test_only_tables_without_items_are_nan(batch: list[Pair], layout: str, device: torch.device) -> None:
    counts = stacked([*batch, ([], [])], device)
    without = {name: value.isnan().tolist() for name, value in all_values(in_layout(counts, layout)).items()}
    assert all(x[-1] == 0 for x in tce.measures.pair_counts(in_layout(counts, layout)))
    assert {name: nan for name, nan in without.items() if nan != [False] * len(batch) + [True]} == {}


@pytest.mark.slow
@both_layouts
@few
@given(batch=batches(min_items=0))
def test_exchanging_the_sides(batch: list[Pair], layout: str, device: torch.device) -> None:
    counts = stacked(batch, device)
    here, there = all_values(in_layout(counts, layout)), all_values(in_layout(counts, layout).mT)
    partners = {name: measure.swapped for name, measure in MEASURES.items() if measure.swapped is not None}
    turned = {name: there[partner] for name, partner in partners.items()}
    assert not differing(turned, here, where={"greedy": cells_differ(counts)})


@pytest.mark.parametrize("families", [FAMILIES, ("segmentation", "tracking")], ids=str)
def test_a_measure_called_asymmetric_is_so(families: tuple[str, ...]) -> None:
    """``swapped`` names the measure itself only if symmetric, and None only if no measure is its partner."""
    generator = torch.Generator().manual_seed(4)
    counts = torch.stack([torch.randperm(15, generator=generator).view(5, 3) for _ in range(6)])
    pixels = torch.randint(0, 5, (2, 60, 40), generator=generator)
    pixels[1] = torch.where(torch.rand(60, 40, generator=generator) < 0.7, pixels[0], pixels[1] * 3 % 8)
    objects = ContingencyTables.from_labels(*pixels, absent_true=0, absent_pred=0)  # some match
    tables = ContingencyTables(counts) if families == FAMILIES else objects
    here, there = all_values(tables), all_values(tables.mT)
    names = [name for name, measure in MEASURES.items() if measure.family in families]
    for name in names:
        equal, swapped = [x for x in names if torch.allclose(there[x], here[name], rtol=1e-9)], MEASURES[name].swapped
        assert (swapped in equal) if equal else swapped is None, (name, equal)
        assert (name in equal) == (swapped == name), name


@pytest.mark.slow
@both_layouts
@settings(max_examples=60)
@given(batch=batches())
def test_values_lie_in_range(batch: list[Pair], layout: str, device: torch.device) -> None:
    values = all_values(in_layout(stacked(batch, device), layout))
    outside = {
        name: values[name].tolist()
        for name, measure in MEASURES.items()
        if not bool(((values[name] >= measure.range[0]) & (values[name] <= measure.range[1])).all())
    }
    assert outside == {}


@both_layouts
def test_values_lie_in_range_at_the_extremes(layout: str, device: torch.device) -> None:
    """Where a bound is reached rounding noise may step over it: grids of one size, blocks against singletons."""
    grids = [(rows, columns, size) for rows in range(1, 9) for columns in range(1, 9) for size in (1, 3)]
    grids += [side for n in range(9, 45) for side in ((1, n, 1), (n, 1, 1))]
    counts = torch.zeros(len(grids), 44, 44, dtype=torch.int64, device=device)
    for at, (rows, columns, size) in enumerate(grids):
        counts[at, :rows, :columns] = size
    identical = torch.diag_embed(counts.amax(-1))
    assert_in_range(torch.cat([counts, identical]), layout)


@both_layouts
def test_values_lie_in_range_near_independence(layout: str, device: torch.device) -> None:
    """Information and correlation are far below the rounding noise of their terms here, of either sign."""
    independent = torch.outer(torch.arange(1, 5), torch.arange(3, 8)) * 10**7
    noise = random_counts(40, 4, 5, high=3, seed=12) - 1
    assert_in_range((independent + noise).to(device), layout)


def assert_in_range(counts: Tensor, layout: str) -> None:
    for name, value in all_values(in_layout(counts, layout)).items():
        low, high = MEASURES[name].range
        inside = (value >= low) & (value <= high)
        assert bool(inside.all()), (name, value[~inside].tolist())


@pytest.mark.slow
@both_layouts
@settings(max_examples=60)
@given(batch=batches())
def test_identical_partitions_are_perfect_and_unbeaten(batch: list[Pair], layout: str, device: torch.device) -> None:
    values = all_values(in_layout(stacked(batch, device), layout))
    itself = all_values(in_layout(stacked([(true, true) for true, _ in batch], device), layout))
    for name, measure in MEASURES.items():
        if measure.perfect is not None:
            perfect = torch.full_like(itself[name], measure.perfect)  # may be infinite
            assert torch.allclose(itself[name], perfect, rtol=0, atol=1e-14), (name, itself[name])
        if measure.better is not None:
            sign = 1 if measure.better == "higher" else -1
            gain = sign * (values[name] - itself[name])
            assert bool(((gain <= 1e-12) | (values[name] == itself[name])).all()), (name, gain)


def test_without_a_perfect_value_it_depends_on_the_partition() -> None:
    sizes = torch.tensor([[4, 2, 1], [3, 3, 3], [1, 1, 1], [9, 0, 0]])
    counts = torch.diag_embed(sizes)
    values = all_values(ContingencyTables(counts))
    varies = {name: len({round(x, 9) for x in value.tolist()}) > 1 for name, value in values.items()}
    assert {name for name, different in varies.items() if different} == {
        name for name, measure in MEASURES.items() if measure.perfect is None
    }


MARGINS = [(sizes, others) for sizes, others in itertools.product(
    ([6], [1] * 6, [5, 1], [3, 3], [3, 2, 1], [2, 2, 2], [2, 1, 1, 1, 1]), repeat=2
) if not (sizes == others and len(sizes) in (1, 6))]  # fmt: skip


@pytest.fixture(scope="module")
def chance_means() -> dict[str, Tensor]:
    """Mean of every measure over the 720 permutations of six items, for each pair of margins."""
    permutations = torch.tensor(list(itertools.permutations(range(6))))
    counts = []
    for sizes, others in MARGINS:
        true, pred = (torch.arange(len(s)).repeat_interleave(torch.tensor(s)) for s in (sizes, others))
        sides = (torch.nn.functional.one_hot(side, 6).double() for side in (true, pred[permutations]))
        counts.append(torch.einsum("nr,pnc->prc", *sides).long())
    distinct, inverse = torch.unique(torch.cat(counts), dim=0, return_inverse=True)
    values = all_values(ContingencyTables(distinct))
    return {name: value[inverse].view(len(MARGINS), -1).mean(1) for name, value in values.items()}


@pytest.mark.parametrize("name", MEASURES)
def test_mean_over_all_permutations(name: str, chance_means: dict[str, Tensor]) -> None:
    """It is 0 for the measures that are corrected for chance, and for no others."""
    assert bool((chance_means[name].abs() < 1e-12).all()) == MEASURES[name].chance_corrected


BEATEN = {"lerman_normalized"}  # 1 for identical partitions, and more for some others


def test_an_index_of_lerman_is_beaten_by_another_partition() -> None:
    """Of the sizes 3 and 2 a cluster of three and two single items: the values are worked out in exact arithmetic."""
    tables = ContingencyTables([[[3, 0, 0], [0, 1, 1]], [[3, 0, 0], [0, 2, 0]]])
    split, itself = MEASURES["lerman"](tables).tolist()
    assert split == pytest.approx(3, rel=1e-15)
    assert itself == pytest.approx(2.618614682831909, rel=1e-14)
    assert MEASURES["lerman_normalized"](tables)[0].item() == pytest.approx(1.165971891068755, rel=1e-14)


def test_records_are_well_formed() -> None:
    for name, measure in MEASURES.items():
        assert measure.source in REFERENCES, name
        if name in BEATEN:
            assert measure.better is None, name
        elif measure.perfect is not None:
            assert measure.better is not None, name
            assert measure.perfect == measure.range[measure.better == "higher"], name


@pytest.mark.slow
@settings(max_examples=60)
@given(batch=batches(min_items=0))
def test_dense_equals_sparse(batch: list[Pair], device: torch.device) -> None:
    counts = stacked(batch, device)
    assert not differing(all_values(in_layout(counts, "sparse")), all_values(in_layout(counts, "dense")))


def expected_values(batch: list[Pair]) -> dict[str, Tensor]:
    names = [name for name in MEASURES if name in REFERENCE]
    return {x: torch.tensor([reference(x, *pair) for pair in batch], dtype=torch.float64) for x in names}


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_reference(name: str) -> None:
    assert name in REFERENCE


@pytest.mark.slow
@both_layouts
@settings(max_examples=60)
@given(batch=batches(min_items=0))
def test_equals_the_slow_reference(batch: list[Pair], layout: str, device: torch.device) -> None:
    values = all_values(in_layout(stacked(batch, device), layout))
    expected = {name: value.to(device) for name, value in expected_values(batch).items()}
    assert not differing({name: values[name] for name in expected}, expected, tolerance=1e-11)


@both_layouts
@settings(max_examples=8)
@given(pair=label_pairs(min_items=25, max_items=40))
def test_equals_the_slow_reference_on_more_items(pair: Pair, layout: str) -> None:
    few_groups = ([label % 7 for label in pair[0]], [label % 5 for label in pair[1]])
    values = all_values(in_layout(stacked([few_groups]), layout))
    expected = expected_values([few_groups])
    assert not differing({name: values[name] for name in expected}, expected, tolerance=1e-11)


@both_layouts
def test_chunk_size_changes_nothing(layout: str) -> None:
    small = random_counts(11, 4, 3, high=3, seed=6)
    large = random_counts(11, 40, 30, high=4, seed=7)
    for counts in (small, large):
        tables = in_layout(counts, layout)
        whole = tce.evaluate_tables(tables, "all")
        for chunk_size in (1, 4, 11, 100):
            scores = tce.evaluate_tables(tables, "all", chunk_size=chunk_size)
            assert not differing(scores, whole)  # a best matching may be summed in another order
            unmatched = {name: value for name, value in scores.items() if MEASURES[name].family != "matching"}
            assert not different_bits(unmatched, whole)


@both_layouts
@pytest.mark.parametrize("shape", [(2,), (2, 2), (3, 2)])
def test_quantities_kept_on_tables_are_divided_by_table(layout: str, shape: tuple[int, ...]) -> None:
    """Those of both sides, too, where the batch has as many tables as there are sides."""
    tables = in_layout(random_counts(*shape, 4, 3, high=5, seed=3), layout)
    whole = all_values(tables)
    assert not differing(tce.evaluate_tables(tables, list(MEASURES), chunk_size=1), whole)


def test_numbers_of_one_table_have_the_bits_of_a_batch() -> None:
    """With few measures, some of whose sums are not made at once, and with all."""
    for shape, high in (((60, 2, 2), 4), ((60, 4, 3), 3), ((40, 9, 12), 5), ((20, 3, 3), 10**6)):
        for table in random_counts(*shape, high=high, seed=11):
            pair = ContingencyTables(torch.stack([table, table]))
            for names in ("all", None, ["v_measure", "fowlkes_mallows"]):
                expected = {name: value[0] for name, value in tce.evaluate_tables(pair, names).items()}
                assert not different_bits(tce.evaluate_tables(ContingencyTables(table), names), expected)
                batch_of_one = tce.evaluate_tables(pair[:1], names)
                assert not different_bits({name: value[0] for name, value in batch_of_one.items()}, expected)


@both_layouts
def test_chunks_share_the_expected_information(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of sizes are worked out once for the batch, since most occur in many of its tables."""
    calls: list[tuple[int, ...]] = []

    def counted(class_sizes: Tensor, cluster_sizes: Tensor) -> Tensor:
        calls.append(tuple(class_sizes.shape))
        return tce.measures.expected_mutual_info.expected_mutual_information(class_sizes, cluster_sizes)

    monkeypatch.setattr(tce.measures.information, "expected_mutual_information", counted)
    tables = in_layout(random_counts(3, 4, 5, 4, high=3, seed=14), layout)
    tce.evaluate_tables(tables, ["ami", "emi", tce.adjusted_for_chance("v_measure")], chunk_size=5)
    assert calls == [(3, 4, 5)]


@both_layouts
def test_a_batch_changes_no_bit(layout: str) -> None:
    tables = in_layout(random_counts(40, 30, 20, high=5, seed=8), layout)
    together = all_values(tables)
    for at in (0, 17, 39):
        alone = all_values(tables[at])
        assert not different_bits(alone, {name: value[at] for name, value in together.items()})


@pytest.mark.slow
@both_layouts
def test_threads_change_no_bit(layout: str) -> None:
    for counts in (random_counts(8, 80, 70, high=3, seed=9), random_counts(2, 50_000, high=3, seed=9)):
        one = all_values(in_layout(counts, layout))
        torch.set_num_threads(2)
        try:
            two = all_values(in_layout(counts, layout))
        finally:
            torch.set_num_threads(1)
        assert not different_bits(two, one)


def test_evaluating_leaves_the_tables_alone() -> None:
    """Memoised terms are shared between measures, so none may change them: the order cannot matter."""
    counts = random_counts(5, 6, 4, high=7, seed=10)
    for layout in LAYOUTS:
        fresh = {name: measure(in_layout(counts, layout)) for name, measure in MEASURES.items()}
        tables = in_layout(counts, layout)
        backwards = {name: MEASURES[name](tables) for name in reversed(list(MEASURES))}
        assert not different_bits(backwards, fresh)
        assert torch.equal(tables.to_dense().counts, counts)


def conditional_entropy_of(table: list[list[int]]) -> mpmath.mpf:
    """``H(C|K)`` to forty digits."""
    with mpmath.workdps(40):
        columns = [column for column in zip(*table, strict=True) if sum(column)]
        terms = [x * mpmath.log(mpmath.mpf(sum(column)) / x) for column in columns for x in column if x]
        return mpmath.fsum(terms) / sum(map(sum, table))


@both_layouts
def test_small_distances_keep_their_digits(layout: str, device: torch.device) -> None:
    """Of millions of items one or two are misplaced: the logarithms are of shares just below 1."""
    counts = torch.diag_embed(random_counts(20, 5, high=10**6, seed=13) + 1)
    counts[:, 0, 1], counts[:, 4, 2] = 1, 2
    values = all_values(in_layout(counts.to(device), layout))
    for at, table in enumerate(counts.tolist()):
        given_clusters = conditional_entropy_of(table)
        given_classes = conditional_entropy_of([list(column) for column in zip(*table, strict=True)])
        assert values["conditional_entropy"][at].item() == pytest.approx(float(given_clusters), rel=2e-15)
        assert values["class_entropy"][at].item() == pytest.approx(float(given_classes), rel=2e-15)
        total = float(given_clusters + given_classes)
        assert values["variation_of_information"][at].item() == pytest.approx(total, rel=2e-15)


@both_layouts
@pytest.mark.parametrize("least", [1e-100, 1e-200, 1e-300, 5e-324])
def test_tiny_masses_count_as_nothing(layout: str, least: float, device: torch.device) -> None:
    """Probabilities that underflow almost: values as of an empty cell, and finite slopes."""
    masses = torch.tensor([[3.0, 2.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 5.0]], dtype=torch.float64, device=device)
    names = [name for name, measure in MEASURES.items() if not (measure.integer_only or measure.on_host)]
    names.remove("merge_distance")  # counts cells
    expected = {name: MEASURES[name](in_layout(masses, layout)) for name in names}
    masses[0, 2] = least
    leaf = masses.requires_grad_()
    values = {name: MEASURES[name](in_layout(leaf, layout)) for name in names}
    assert not differing({name: value.detach() for name, value in values.items()}, expected)
    for name, value in values.items():
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, leaf)
            assert bool(gradient.isfinite().all()), name
