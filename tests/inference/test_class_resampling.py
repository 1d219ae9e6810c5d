"""Intervals by halves of the classes: against enumeration, and their coverage of small entities by simulation."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from torchclusteval.inference.class_resampling import halves_of, wrong_classes

NAMES = ["pair_f", "adjusted_rand", "ami", "nmi", "bcubed_f", "v_measure", "one_to_one_accuracy"]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_draws_are_tables_of_half_of_the_classes(layout: str) -> None:
    counts = np.random.default_rng(0).integers(0, 4, (2, 6, 5))
    tables = tce.ContingencyTables(counts)
    tables = tables if layout == "dense" else tables.to_sparse()
    with pytest.warns(UserWarning, match="too short where few have an error"):
        kept = tce.bootstrap(tables, ["rand"], 2000, rng=0, resample="classes", keep_resamples=True)["rand"].resamples
    assert kept is not None
    found = {tuple(draw) for draw in kept.numpy().round(9)}
    estimate = tce.evaluate_tables(tables, ["rand"])["rand"].numpy()
    halves = np.stack(
        [tce.evaluate(*items(counts[:, list(rows)]), ["rand"], missing="ignore")["rand"] for rows in subsets(6)]
    )
    expected = {tuple(x) for x in (estimate + halves - halves.mean(0)).round(9)}
    drawn = np.array(sorted(found)) - np.array(sorted(expected))
    assert len(found) == len(expected) == 20
    assert np.abs(drawn - drawn.mean(0)).max() < 1e-6  # the mean of 2000 draws is not quite that of all halves
    assert np.abs(drawn.mean(0)).max() < 0.01


def subsets(classes: int) -> Any:
    return combinations(range(classes), classes // 2)


def items(counts: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Labels of every item of tables ``(B, R, C)``, with missing ones that fill up."""
    longest = counts.sum((1, 2)).max()
    sides: tuple[list[Any], list[Any]] = ([], [])
    for table in counts:
        rows, columns = (np.repeat(x.ravel(), table.ravel()) for x in np.indices(table.shape))
        for side, labels in zip(sides, (rows, columns), strict=True):
            side.append([*labels.tolist(), *[None] * (longest - len(labels))])
    return sides


def test_halves_of_labels_equal_the_same_labels() -> None:
    """The helper of this file and the resampler, on all halves."""
    counts = np.random.default_rng(1).integers(0, 4, (2, 6, 5))
    halves = halves_of(tce.ContingencyTables(counts))
    for rows in subsets(6):
        mask = torch.zeros(1, 6, dtype=torch.bool)
        mask[0, list(rows)] = True
        tables = tce.ContingencyTables.from_labels(*items(counts[:, list(rows)]), missing="ignore")
        assert torch.equal(halves.tables(mask).n_items[0], tables.n_items)
        assert tce.evaluate_tables(halves.tables(mask), ["vi"])["vi"][0].tolist() == pytest.approx(
            tce.evaluate_tables(tables, ["vi"])["vi"].tolist(), abs=1e-13
        )


def test_classes_with_an_error() -> None:
    tables = tce.ContingencyTables([[2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 3]])
    assert int(wrong_classes(tables)) == int(wrong_classes(tables.to_sparse())) == 2


def entities(rng: np.random.Generator, count: int, mean: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Entities of a population, and a clustering with records that are split off."""
    true = np.repeat(np.arange(count), 1 + rng.poisson(mean - 1, count))
    apart = rng.random(len(true)) < noise
    pred = true.copy()
    pred[apart] = count + np.arange(apart.sum())
    return true, pred


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "count"), [(1.5, 600), (3.0, 400)])
def test_coverage_where_clusters_are_small(mean: float, count: int) -> None:
    """Drawing items covers none of them. 200 samples: standard error .016."""
    rng, samples = np.random.default_rng(0), 200
    truth = np.mean([[*tce.evaluate(*entities(rng, count, mean, 0.1), NAMES).values()] for _ in range(400)], 0)
    hits = np.zeros(len(NAMES))
    for sample in range(samples):
        tables = tce.ContingencyTables.from_labels(*entities(rng, count, mean, 0.1))
        found = tce.bootstrap(tables, NAMES, 200, rng=sample, resample="classes")
        hits += [float(x.low) <= value <= float(x.high) for x, value in zip(found.values(), truth, strict=True)]
    assert (hits / samples >= 0.85).all(), hits / samples
    assert found.settings["resampled"] == "halves of the classes"


def test_a_difference_of_two_clusterings_with_many_clusters() -> None:
    """The joint clusters of both are 9e8: only those that occur are numbered."""
    rng = np.random.default_rng(0)
    true, a = entities(rng, 20_000, 2.0, 0.1)
    b = np.where(rng.random(len(a)) < 0.1, 20_000 + len(a) + np.arange(len(a)), a)
    found = tce.paired_bootstrap(true, a, b, ["pair_f"], 20, rng=0, resample="classes")["pair_f"]
    assert float(found.low) < float(found.difference) < float(found.high)
    with pytest.warns(UserWarning, match="copies of an item agree"):
        tce.paired_bootstrap(true, a, b, ["pair_f"], 20, rng=0)


def test_what_is_drawn_is_said() -> None:
    rng = np.random.default_rng(0)
    tables = tce.ContingencyTables.from_labels(*entities(rng, 400, 3.0, 0.2))
    assert (
        tce.bootstrap(tables, ["pair_f"], 20, rng=0, resample="classes").settings["resampled"]
        == "halves of the classes"
    )
    with pytest.raises(ValueError, match=r"got 'mirkin', which grows with the number of items"):
        tce.bootstrap(tables, ["mirkin"], 20, rng=0, resample="classes")
    assert "mirkin" in tce.bootstrap(tables, "pairs", 20, rng=0, resample="classes").skipped
    with pytest.raises(ValueError, match="method: expected 'percentile' or 'basic' where classes are drawn"):
        tce.bootstrap(tables, ["pair_f"], 20, method="bca", resample="classes")
    few = tce.ContingencyTables.from_labels(*entities(rng, 40, 3.0, 0.02))
    with pytest.warns(UserWarning, match="too short where few have an error; got"):
        tce.bootstrap(few, ["pair_f"], 20, rng=0, resample="classes")


def test_empty_batches_and_small_tables() -> None:
    """Nothing to warn of: no table, or the few items of one group beside a large one."""
    none = tce.ContingencyTables(torch.zeros(0, 2, 2, dtype=torch.int64))
    assert tce.bootstrap(none, ["purity"], 20, rng=0, resample="classes")["purity"].low.shape == (0,)
    tables = tce.ContingencyTables([[[500, 20], [10, 400]], [[1, 1], [1, 1]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tce.bootstrap(tables, ["purity", "ari"], 200, rng=0)
