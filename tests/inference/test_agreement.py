"""All pairs of clusterings, and the stability of restarts."""

import math

import numpy as np
import pytest
import torch

from torchclusteval import MEASURES, Measure, evaluate
from torchclusteval.inference import agreement, pairwise, stability


def clusterings(count: int, items: int, groups: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, groups, (count, items))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 5, 24, 25, 40])
def test_every_measure_agrees_with_one_pair_at_a_time(groups: int) -> None:
    """Several clusterings at once and each alone; symmetric, partnered and lone measures, both orders."""
    labels = clusterings(5, 60, groups)
    labels[0] = labels[0] // 2  # fewer groups than the others
    scores = pairwise(labels, "all")
    assert scores.batch_shape == (5, 5)
    assert bool((scores.n_items == 60).all())
    names = scores.names if groups == 5 else ["adjusted_rand", "homogeneity", "bcubed_precision", "clustering_f", "q0"]
    for name in names:
        alone = torch.stack([torch.stack([evaluate(true, pred, [name])[name] for pred in labels]) for true in labels])
        torch.testing.assert_close(scores[name], alone, rtol=1e-12, atol=1e-14)
        if MEASURES[name].swapped == name:
            assert torch.equal(scores[name], scores[name].mT)


@pytest.mark.parametrize("cells", [1, 3000, 1 << 20])
@pytest.mark.parametrize(
    ("count", "items", "groups", "joined"),
    [(17, 9000, 7, 3), (16, 700, 3, 4), (17, 500, 2, 6), (3, 5000, 2, 3), (17, 500, 24, 2), (17, 5000, 1, 10)],
)
@pytest.mark.parametrize("partial", [False, True])
def test_tables_are_exact_counts(
    count: int, items: int, groups: int, joined: int, partial: bool, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some clusterings at once, in blocks of tables; with ``partial``, the last group is of excluded items."""
    monkeypatch.setattr(agreement, "_TABLE_CELLS", cells)
    assert agreement._clusterings_at_once(groups, count, items) == joined
    labels = torch.from_numpy(clusterings(count, items, groups))
    labels[2] = 0  # counts up to the number of items
    kept = groups - partial
    seen = set()
    for tables, first, second in agreement._all_tables(labels, kept, partial) if kept else []:
        for counts, i, j in zip(tables.to_dense().counts, first.tolist(), second.tolist(), strict=True):
            both = (labels[i] < kept) & (labels[j] < kept)
            fused = labels[i] * kept + labels[j]
            assert torch.equal(counts.flatten(), torch.bincount(fused[both], minlength=kept**2))
            seen.add((i, j))
    assert sorted(seen) == [(i, j) for i in range(count) for j in range(i, count)] or not kept


def test_labels_may_be_anything() -> None:
    labels = clusterings(4, 50, 3)
    names = np.array(["x", "yy", "z"])[labels]
    gappy = labels * 10**12 - 5
    expected = pairwise(labels)["ari"]
    assert torch.equal(pairwise(names)["ari"], expected)
    assert torch.equal(pairwise(gappy)["ari"], expected)
    assert torch.equal(pairwise(torch.from_numpy(labels).to(torch.uint8))["ari"], expected)


def test_a_measure_of_ones_own_is_computed_in_both_orders() -> None:
    first_row = Measure("largest_class", "matching", lambda t: t.class_sizes.amax(-1).double(), (0, math.inf))
    labels = clusterings(3, 40, 4)
    scores = pairwise(labels, [first_row, "ari"])
    sizes = [float(np.bincount(row).max()) for row in labels]
    assert scores["largest_class"].tolist() == [[size] * 3 for size in sizes]


def test_stability_finds_the_odd_one_out() -> None:
    base = np.repeat(np.arange(4), 25)
    labels = np.stack([base, base, np.roll(base, 3), clusterings(1, 100, 4)[0]])
    values = pairwise(labels)["ari"].numpy()
    found = stability(labels, ["ari", "vi", "homogeneity"])
    record = found["ari"]
    for at in range(4):
        others = np.delete(values[at], at)
        assert float(record.agreement[at]) == pytest.approx(others.mean(), rel=1e-12)
        assert float(record.spread[at]) == pytest.approx(others.std(ddof=1), rel=1e-12)
    assert record.overall == pytest.approx(values[np.triu_indices(4, 1)].mean(), rel=1e-12)
    assert record.medoid == 0
    assert found["vi"].medoid == 0  # lower is better
    assert int(record.agreement.argmin()) == 3
    asymmetric = pairwise(labels, ["homogeneity"])["homogeneity"]
    both = (asymmetric + asymmetric.mT) / 2
    torch.testing.assert_close(found["homogeneity"].agreement, (both.sum(1) - both.diagonal()) / 3)
    assert "medoid 0" in str(record)
    assert record.to_dict()["medoid"] == 0
    assert stability(labels, ["joint_entropy"])["joint_entropy"].medoid is None


def test_few_clusterings() -> None:
    one = stability(np.zeros((1, 5), dtype=int))["ari"]
    assert math.isnan(float(one.agreement[0]))
    assert math.isnan(one.overall)
    assert one.medoid == 0
    two = stability(np.array([[0, 0, 1], [1, 1, 0]]))["ari"]
    assert two.agreement.tolist() == [1, 1]
    assert two.overall == 1
    assert pairwise(np.zeros((0, 5), dtype=int))["ari"].shape == (0, 0)
    empty = pairwise(np.zeros((2, 0), dtype=int))
    assert bool(empty["ari"].isnan().all())


def test_wrong_labels_are_named() -> None:
    with pytest.raises(ValueError, match=r"labels: expected shape \(M, N\); got \(3,\)"):
        pairwise([0, 1, 2])
    with pytest.raises(ValueError, match="measures: expected the name of a measure"):
        pairwise([[0, 1, 2]], ["no_such"])
    for run in (pairwise, stability):
        with pytest.raises(ValueError, match="progress: expected a function of two numbers or None; got 5"):
            run([[0, 1, 2]], progress=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels: expected clusterings whose matrices fit in memory; got 10000000 "):
        pairwise(torch.zeros(10**7, 2, dtype=torch.uint8))


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    pairwise(clusterings(40, 30, 3), progress=lambda *x: seen.append(x))
    assert seen[-1] == (820, 820)


def test_expanded_clusterings_count_each() -> None:
    """Rows that share their memory are rows all the same."""
    row = torch.tensor([0, 1, 1, 2])
    for labels in (row.expand(4, 4), row.expand(4, 4).clone()):
        assert pairwise(labels)["adjusted_rand"].tolist() == [[1.0] * 4] * 4
        assert stability(labels)["adjusted_rand"].agreement.tolist() == [1.0] * 4
    for nothing in (np.zeros((3, 0), dtype=int), torch.zeros(3, 0, dtype=torch.int64)):
        assert pairwise(nothing)["adjusted_rand"].shape == (3, 3)


def test_summary_leaves_out_each_clustering_against_itself() -> None:
    """Three clusterings: the adjusted Rand indices of the pairs are 1, -1/2 and -1/2."""
    found = pairwise([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], ["ari"])
    row = found.summary()["ari"]
    assert row["mean"] == pytest.approx(0)
    assert (row["min"], row["median"], row["max"]) == (-0.5, -0.5, 1)
    assert row["sd"] == pytest.approx(np.std([1, -0.5, -0.5], ddof=1), abs=1e-15)  # each pair once
    both = pairwise([[0, 0, 1, 1], [1, 1, 1, 0]], ["homogeneity"])
    first, second = float(both["homogeneity"][0, 1]), float(both["homogeneity"][1, 0])
    assert first != second
    assert both.summary()["homogeneity"]["mean"] == pytest.approx((first + second) / 2, abs=1e-15)
    assert str(found).splitlines()[-1] == "each clustering against all others, without itself"
    assert math.isnan(pairwise([[0, 0, 1, 1]], ["ari"]).summary()["ari"]["mean"])


def test_pairs_without_a_value_are_left_out_of_the_means() -> None:
    """A clustering that is all noise shares no item with the others."""
    labels = torch.tensor([[-1] * 5, [0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 1, 1, 0, 1]])
    found = stability(labels, noise_label=-1)["adjusted_rand"]
    expected = stability(labels[1:])["adjusted_rand"]
    assert found.agreement[0].isnan()
    assert found.spread[0].isnan()
    assert found.agreement[1:].tolist() == pytest.approx(expected.agreement.tolist(), rel=1e-14)
    assert found.spread[1:].tolist() == pytest.approx(expected.spread.tolist(), rel=1e-12)
    assert found.overall == pytest.approx(expected.overall, rel=1e-14)
    assert expected.medoid is not None
    assert found.medoid == expected.medoid + 1
