"""Differences over groups of items, against all swaps of few groups and all draws of three."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval import MEASURES, ContingencyTables

WITH_PARTS = [measure.name for measure in MEASURES.values() if measure.parts is not None]
ABSENT: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}
MACRO = ["ami_arithmetic", "pair_f", "conll_f", "v_measure"]


def labels(groups: int, seed: int = 0, size: int = 9) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids of groups, the truth, and two clusterings of it, the second one with more noise; 0 is no label."""
    generator = torch.Generator().manual_seed(seed)
    by = torch.arange(groups).repeat_interleave(size)
    true = torch.randint(0, 4, by.shape, generator=generator)
    noisy = [
        torch.where(
            torch.rand(by.shape, generator=generator) < share, torch.randint(0, 4, by.shape, generator=generator), true
        )
        for share in (0.2, 0.5)
    ]
    return by, true, noisy[0], noisy[1]


def score(by: Tensor, true: Tensor, pred: Tensor, measures: list[str], macro: bool) -> dict[str, Tensor]:
    tables = ContingencyTables.from_labels(true, pred, by=by, **ABSENT)
    return dict(tce.evaluate_tables(tables, measures).macro() if macro else tce.pooled(tables, measures))


@pytest.mark.parametrize(("measures", "macro"), [(WITH_PARTS, False), (MACRO, True)])
def test_all_swaps_of_five_groups(measures: list[str], macro: bool) -> None:
    """The p-value is the share of the 32 ways to exchange labels whose difference is as large."""
    by, true, a, b = labels(5)
    one, other = (ContingencyTables.from_labels(true, x, by=by, **ABSENT) for x in (a, b))
    found = tce.paired_groups(one, other, measures, 40, macro=macro)
    assert found.settings["swaps"] == 32
    values: dict[str, list[float]] = {name: [] for name in measures}
    for swap in itertools.product([False, True], repeat=5):
        chosen = torch.tensor(swap)[by]
        first = score(by, true, torch.where(chosen, b, a), measures, macro)
        second = score(by, true, torch.where(chosen, a, b), measures, macro)
        for name in measures:
            values[name].append(float(first[name] - second[name]))
    for name in measures:
        observed = values[name][0]
        assert found[name].difference.item() == pytest.approx(observed, abs=1e-12), name
        hits = sum(abs(x) >= abs(observed) - 1e-10 for x in values[name])
        assert found[name].p_value.item() == pytest.approx(hits / 32, abs=1e-12), name


@pytest.mark.parametrize(("measures", "macro"), [(["pair_f", "purity", "conll_f"], False), (MACRO, True)])
def test_all_draws_of_three_groups(measures: list[str], macro: bool) -> None:
    by, true, a, b = labels(3, seed=1)
    one, other = (ContingencyTables.from_labels(true, x, by=by, **ABSENT) for x in (a, b))
    found = tce.paired_groups(one, other, measures, 27_000, rng=0, macro=macro, keep_resamples=True, test="bootstrap")
    every: dict[str, list[float]] = {name: [] for name in measures}
    for drawn in itertools.product(range(3), repeat=3):
        at = torch.cat([(by == group).nonzero().squeeze(1) for group in drawn])
        own = torch.arange(3).repeat_interleave(9)  # copies of a group are groups of their own
        first, second = (score(own, true[at], x[at], measures, macro) for x in (a, b))
        for name in measures:
            every[name].append(float(first[name] - second[name]))
    for name in measures:
        expected = torch.tensor(every[name], dtype=torch.float64)
        record: Any = found[name]
        for value in expected.unique().tolist():  # 1000 draws each: five standard errors
            share = float(((record.resamples - value).abs() < 1e-9).double().mean())
            exact = float(((expected - value).abs() < 1e-9).double().mean())
            assert share == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 27_000) ** 0.5), name
        assert record.standard_error.item() == pytest.approx(expected.std(correction=0).item(), rel=0.02)
        assert record.low.item() == pytest.approx(expected.min().item(), abs=1e-12)  # 1/27 is above 2.5 %
        assert record.high.item() == pytest.approx(expected.max().item(), abs=1e-12)


def test_random_swaps_are_near_all() -> None:
    by, true, a, b = labels(11, seed=3, size=4)
    one, other = (ContingencyTables.from_labels(true, x, by=by, **ABSENT) for x in (a, b))
    exact = tce.paired_groups(one, other, ["lea_f", "pair_f"], 2048, rng=0)
    near = tce.paired_groups(one, other, ["lea_f", "pair_f"], 2047, rng=0)
    assert "swaps" not in near.settings
    for name, record in exact.items():
        p = record.p_value.item()
        assert near[name].p_value.item() == pytest.approx(p, abs=5 * (p * (1 - p) / 2047) ** 0.5)


def test_one_against_many() -> None:
    """Values are those of single calls; equal sides are no comparison, and a slice keeps the names."""
    by, true, a, b = labels(6)
    one = ContingencyTables.from_labels(true, a, by=by)
    many = ContingencyTables.from_labels(true, {"b": b, "same": 9 - a, "b again": 7 - b}, by=by)
    found: Any = tce.paired_groups(one, many, ["ari", "bcubed_f"], 100, rng=0, correction="holm", test="permutation")
    alone = tce.paired_groups(one, ContingencyTables.from_labels(true, b, by=by), ["ari", "bcubed_f"], 100, rng=0)
    assert found["ari"].clusterings == ("b", "same", "b again")
    assert str(found).splitlines()[-1] == "note: the same tables as the other side: 'same'"
    for name, record in alone.items():
        for key, value in record.columns().items():
            for place in (0, 2):
                torch.testing.assert_close(found[name].columns()[key][place], value, msg=f"{name} {key}")
        assert found[name].p_value.tolist() == [record.p_value.item(), 1.0, record.p_value.item()]
        p = record.p_value.item()
        assert found[name].p_adjusted.tolist() == [p, 1.0, p]  # one comparison
        assert found[name].low[1] == found[name].high[1] == 0
    assert found.settings["smallest_p_adjusted"] == 1 / 32
    both = ContingencyTables.from_labels(true, {"a": a, "b": b, "same": 9 - a}, by=by)
    assert tce.paired_groups(both[0], both[1:], ["ari"], 100, rng=0)["ari"].clusterings == ("b", "same")
    assert both[1:][1:].names == ("same",)
    assert both[[2, 0]].names == ("same", "a")
    assert both[[True, False, True]].names == ("a", "same")
    assert both[0].names is None
    # the 16 ways to swap five groups give no p-value below 1/16, so that no 95 % interval agrees with it
    few = tce.paired_groups(both[0, :5], both[1:, :5], ["ari"], 100, rng=0)
    assert few["ari"].low.isnan().tolist() == few["ari"].high.isnan().tolist() == [True, False]
    assert "note: 5 groups say too little for intervals of 95 % (no p-value of swaps is below 0.0625)" in str(few)


def test_groups_without_items_are_not_exchanged() -> None:
    """Two pairs of eight groups: all have items in the first, five in the second, and none in the third."""
    by, true, a, b = labels(8)
    mask = torch.stack([by >= 0, by < 5, by < 0])
    one, other = (ContingencyTables.from_labels(true, x, by=by, num_groups=8, mask=mask) for x in (a, b))
    found = tce.paired_groups(one, other, ["ari"], 100, rng=0, correction="holm")
    assert found["ari"].low.isnan().tolist() == [False, True, True]
    assert found["ari"].p_value[1] >= 1 / 16
    assert found.notes == ("5 groups say too little for intervals of 95 % (no p-value of swaps is below 0.0625)",)
    drawn = tce.paired_groups(one, other, ["ari"], 2000, rng=0, test="bootstrap")
    assert drawn["ari"].low.isnan().tolist() == [False, False, True]
    assert drawn.notes == found.notes
    one, other = (ContingencyTables.from_labels(true, torch.stack([x, a]), by=by, mask=mask[:2]) for x in (a, b))
    assert tce.paired_groups(one, other, ["ari"], 100, rng=0).notes == ("the same tables as the other side: 1",)


@pytest.mark.parametrize("macro", [False, True])
def test_batches_that_broadcast_are_as_each_pair_alone(macro: bool) -> None:
    by, true, a, b = labels(6)
    first, second = torch.stack([a, a.flip(0)]), torch.stack([b, b.flip(0), a])
    one, other = (ContingencyTables.from_labels(true, x, by=by) for x in (first[:, None], second[None]))
    found = tce.paired_groups(one, other, ["bcubed_f", "lea_f"], 100, rng=0, macro=macro)
    for i, j in ((0, 0), (0, 2), (1, 1)):
        one, other = (ContingencyTables.from_labels(true, x, by=by) for x in (first[i], second[j]))
        for name, record in tce.paired_groups(one, other, ["bcubed_f", "lea_f"], 100, rng=0, macro=macro).items():
            for key, value in record.columns().items():
                torch.testing.assert_close(found[name].columns()[key][i, j], value, msg=f"{name} {key}")


def test_documents_of_coreference() -> None:
    """0/0 is 0, as the reference scorer has it; a document that one system lacks counts."""
    key = {"d1": [{1, 2}, {3, 4, 5}], "d2": [{1, 2, 3}], "d3": [{1}, {2, 3}]}
    a, b = {"d1": [{1, 2}, {3, 4}], "d2": [{1, 2, 3}], "d3": [{2, 3}]}, {"d1": [{1, 2, 3}], "d2": [], "d3": [{1, 2}]}
    tables = [ContingencyTables.from_documents(key, x) for x in (a, b)]
    found = tce.paired_groups(tables[0], tables[1], "coreference", zero_division=0.0, rng=0)
    one, other = (tce.pooled(x, "coreference", zero_division=0.0) for x in tables)
    for name, record in found.items():
        assert (record.estimate_a, record.estimate_b) == (one[name], other[name])
    assert found["conll_f"].p_value == 0.25
    assert "ami_arithmetic" in tce.paired_groups(tables[0], tables[1]).skipped


def test_what_is_refused() -> None:
    by, true, a, b = labels(3)
    tables = ContingencyTables.from_labels(true, a, by=by)
    for other, message in (
        (ContingencyTables.from_labels(true, b), r"^tables_b: expected the groups of tables_a, the last batch dim"),
        (ContingencyTables.from_labels(true, b, by=by + 1), "^tables_b: expected the groups of tables_a in their"),
        (ContingencyTables.from_labels(true, b, by=by, mask=torch.arange(27) != 20), "got others in group 2 .mask="),
    ):
        with pytest.raises(ValueError, match=message):
            tce.paired_groups(tables, other, ["purity"])
    with pytest.raises(ValueError, match=r"^test: expected one of permutation, bootstrap; got 'sign'"):
        tce.paired_groups(tables, tables, ["purity"], test="sign")
    with pytest.raises(ValueError, match="whose groups can only be averaged"):
        tce.paired_groups(tables, tables, ["ami"])
    with pytest.raises(ValueError, match="expected at least two groups"):
        tce.paired_groups(tables[:1], tables[:1], ["purity"])


def test_invented_items_tell_systems_apart() -> None:
    """Their cells are equal: what differs is the clusters that invented mentions are in."""
    key, other = [{0}, {1, 2, 3}], [{0, 7, 8}, {1, 2, 3, 9}]
    one, two = [{0, 7}, {1, 2, 3, 8, 9}], [{0, 7, 8, 9}, {1, 2, 3}]
    systems = [[two] * 7, [one if i % 2 else two for i in range(7)], [one] * 7]
    true = {(j, i): key for j in range(3) for i in range(7)}
    pred = {(j, i): systems[j][i] for j in range(3) for i in range(7)}
    tables = tce.ContingencyTables.from_documents(true, pred)[torch.arange(21).reshape(3, 7)]
    against = tce.ContingencyTables.from_documents(dict.fromkeys(range(7), key), dict.fromkeys(range(7), other))
    found = tce.paired_groups(tables, against, ["coref_bcubed_f"], rng=0, correction="holm")
    record: Any = found["coref_bcubed_f"]
    assert record.p_value[0] == record.p_value[2] == 2 / 2**7
    assert record.p_adjusted.tolist() == [3 * 2 / 2**7, record.p_value[1].item(), 3 * 2 / 2**7]
    assert not found.notes


def test_tables_of_another_truth_are_refused() -> None:
    """Of groups of three items: purity would differ by what the truth does."""
    pred, by = [0, 0, 1] * 2, [0, 0, 0, 1, 1, 1]
    one, other, odd = (ContingencyTables.from_labels([*x] * 2, pred, by=by) for x in ("xxy", "yyx", "xxx"))
    message = r"^tables_b: expected the classes of tables_a; got others in group 0 \(mask="
    unnamed = ContingencyTables(odd.counts)
    for wrong in (other, odd, unnamed):  # by name; by size
        for a, b in ((one, wrong), (wrong, one)):
            with pytest.raises(ValueError, match=message):
                tce.paired_groups(a, b, ["purity"])
    again = ContingencyTables(one.counts.flip(-2))  # sizes alone cannot tell more
    assert tce.paired_groups(one, again, ["purity"])["purity"].difference == 0
    documents = [{"d1": {"e1": x, "e2": y}, "d2": {"e": {1}}} for x, y in (({1, 2}, {3}), ({3}, {1, 2}))]
    a, b = (ContingencyTables.from_documents(x, documents[0]) for x in documents)
    with pytest.raises(ValueError, match="got others in group 'd1'"):
        tce.paired_groups(a, b, ["muc_f"])
    weights = 0.6 + torch.rand(600, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    true, runs, ids = torch.arange(600) % 3, torch.arange(600) % 7, torch.arange(600) // 300
    a, b = (ContingencyTables.from_labels(true, x, by=ids, weights=weights) for x in (runs, torch.arange(600) // 100))
    assert len(tce.paired_groups(a, b, ["purity"])) == 1  # sizes differ by rounding


def test_batches_that_do_not_fit_and_no_groups_are_refused() -> None:
    by, true, a, b = labels(3)
    two, three = (ContingencyTables.from_labels(true, torch.stack([a] * n), by=by) for n in (2, 3))
    message = r"tables_b: expected batch shapes that broadcast to .*got \(2, 3\) and \(3, 3\)"
    with pytest.raises(ValueError, match=message):
        tce.paired_groups(two, three, ["purity"])
    one, both = (ContingencyTables.from_labels(true, x, by=by) for x in ({"b": b}, {"a": a, "b": b}))
    assert tce.paired_groups(one, both, ["purity"])["purity"].clusterings == ("a", "b")
    noise = [ContingencyTables.from_labels(true, torch.full_like(x, -1), by=by, noise_label=-1)[:0] for x in (a, b)]
    for nothing in (noise, (two[:, :0], two[:, :0])):
        for macro in (False, True):
            with pytest.raises(ValueError, match="expected at least two groups to draw from; got 0"):
                tce.paired_groups(nothing[0], nothing[1], ["purity"], macro=macro)


@pytest.mark.parametrize("groups", [10, 12])
def test_random_swaps_are_no_finer_than_all(groups: int) -> None:
    """All groups differ alike, so that the exact p-value is 2 / 2^G."""
    true, by = torch.arange(4 * groups) % 2, torch.arange(groups).repeat_interleave(4)
    one, other = (ContingencyTables.from_labels(true, x, by=by) for x in (true, torch.zeros_like(true)))
    found = [tce.paired_groups(one, other, ["purity"], rng=i, correction="holm") for i in range(10)]
    least = max(2 / 2**groups, 1 / 1001)
    assert {x.settings["smallest_p_adjusted"] for x in found} == {least}
    p_values = [x["purity"].p_value.item() for x in found]
    assert min(p_values) == least
    assert all(p == least or p * 1001 == pytest.approx(round(p * 1001)) for p in p_values)
