"""Resampling does not depend on names: renaming groups changes intervals by Monte Carlo error alone."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import ContingencyTables, bootstrap, paired_bootstrap, permutation_test
from torchclusteval.inference.intervals import METHODS

SIGMAS = 4.5
RESAMPLES, WIDE_RESAMPLES = 2000, 300
NAMES = ["adjusted_rand", "v_measure", "variation_of_information", "purity", "bcubed_f"]
EXACT = {"adjusted_rand", "v_measure", "variation_of_information"}  # their expectation is not drawn
SYMMETRIC = ["adjusted_rand", "v_measure", "variation_of_information", "bcubed_f"]
COUNTS = torch.tensor([[[30, 5, 1, 0], [2, 20, 3, 9], [0, 4, 15, 2]], [[12, 3, 0, 7], [9, 9, 2, 0], [1, 0, 44, 11]]])
ROWS, COLUMNS, BATCH = torch.tensor([2, 0, 1]), torch.tensor([3, 1, 0, 2]), torch.tensor([1, 0])


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(20)


def wide_labels() -> tuple[Tensor, Tensor]:
    """Few items in many groups: cells are resampled from a list, items permuted."""
    true = torch.arange(240) % 80
    return true, torch.stack([torch.arange(240) // 3, (true + (torch.arange(240) < 60)) % 80])


def renamed(labels: Tensor) -> Tensor:
    """Other names in another order; 83 is prime."""
    return (labels * 7 + 5) % 83


def with_empty_groups(counts: Tensor) -> Tensor:
    return torch.nn.functional.pad(counts, (1, 0, 0, 1))


RENAMINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "classes": lambda counts: counts[:, ROWS],
    "clusters": lambda counts: counts[..., COLUMNS],
    "both": lambda counts: counts[:, ROWS][..., COLUMNS],
    "empty groups": with_empty_groups,
}


def check_level(first: Tensor, end: Tensor, level: float) -> None:
    """An end of another sample's interval is the quantile of this sample ``(resamples, *batch)`` at a level.

    Ties, and values that differ by rounding, count for both sides of the end.
    """
    near = SIGMAS * math.sqrt(2 * level * (1 - level) / len(first))
    below, reached = ((first < end + shift).double().mean(0) for shift in (-1e-9, 1e-9))
    assert bool((below <= level + near).all())
    assert bool((reached >= level - near).all())


def check_intervals(
    tables: ContingencyTables, others: ContingencyTables, names: list[str], order: Tensor, resamples: int = RESAMPLES
) -> None:
    """Percentiles agree; ``order`` are the positions in ``tables`` of the others."""
    first, second = (
        bootstrap(x, names, resamples, 0.9, rng=seeded(), resample="items", keep_resamples=True)
        for x in (tables, others)
    )
    for name in names:
        values: Any = first[name].resamples
        torch.testing.assert_close(first[name].estimate[order], second[name].estimate, rtol=1e-12, atol=1e-14)
        check_level(values[:, order], second[name].low, 0.05)
        check_level(values[:, order], second[name].high, 0.95)


def check_tests(
    tables: ContingencyTables, others: ContingencyTables, names: list[str], order: Tensor, resamples: int = RESAMPLES
) -> None:
    first, second = (permutation_test(x, names, resamples, rng=seeded()) for x in (tables, others))
    assert first.settings == second.settings
    for name in names:
        a, b = first[name], second[name]
        error = a.null_sd[order] * math.sqrt(2 / resamples)
        assert bool(((a.null_mean[order] - b.null_mean).abs() <= SIGMAS * error + 1e-14).all()), name
        # Standard deviations of skewed values: the kurtosis of these is below 9.
        assert bool(((a.null_sd[order] / b.null_sd).log().abs() <= SIGMAS * 2 / math.sqrt(resamples)).all()), name
        p = a.p_value[order]
        near = SIGMAS * (2 * p * (1 - p) / resamples).sqrt() + 2 / resamples
        assert bool(((p - b.p_value).abs() <= near).all()), name
        if name in EXACT:
            torch.testing.assert_close(a.expected[order], b.expected, rtol=1e-12, atol=1e-14)


SAME = torch.arange(2)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("renaming", RENAMINGS)
def test_groups_may_change_places(renaming: str, layout: str) -> None:
    tables, others = (in_layout(x, layout) for x in (COUNTS, RENAMINGS[renaming](COUNTS)))
    check_intervals(tables, others, NAMES, SAME)
    check_tests(tables, others, NAMES, SAME)


@pytest.mark.slow
def test_tables_may_change_places() -> None:
    tables, others = ContingencyTables(COUNTS), ContingencyTables(COUNTS[BATCH])
    check_intervals(tables, others, NAMES, BATCH)
    check_tests(tables, others, NAMES, BATCH)


def test_sides_may_trade_places() -> None:
    tables, others = ContingencyTables(COUNTS), ContingencyTables(COUNTS.mT)
    check_intervals(tables, others, SYMMETRIC, SAME)
    check_tests(tables, others, SYMMETRIC, SAME)


def test_many_groups_may_be_renamed() -> None:
    true, pred = wide_labels()
    tables, others = (ContingencyTables.from_labels(*x) for x in ((true, pred), (renamed(true), renamed(pred))))
    check_intervals(tables, others, NAMES, SAME, WIDE_RESAMPLES)
    check_tests(tables, others, NAMES, SAME, WIDE_RESAMPLES)


def compared(labels: tuple[Tensor, Tensor, Tensor], method: str) -> dict[str, Any]:
    resamples = RESAMPLES if method == "percentile" else 600
    return dict(paired_bootstrap(*labels, NAMES, resamples, 0.9, method, seeded(), keep_resamples=True))


def three_labels() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(21)
    true = torch.randint(4, (150,), generator=generator)
    noise, kept = torch.randint(4, (2, 150), generator=generator), torch.rand(2, 150, generator=generator)
    return true, torch.where(kept[0] < 0.8, true, noise[0]), torch.where(kept[1] < 0.7, true, noise[1])


@pytest.mark.parametrize("method", METHODS)
def test_resampled_items_do_not_depend_on_names(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items keep their places, so each resample has the same value; only sums are taken in another order."""
    monkeypatch.setattr("torchclusteval.inference.paired_comparison.is_cheaper", lambda *_: True)
    true, a, b = three_labels()
    first, second = (compared(labels, method) for labels in ((true, a, b), (renamed(true), renamed(a), 3 - b)))
    for name in NAMES:
        torch.testing.assert_close(first[name].resamples, second[name].resamples, rtol=0, atol=1e-13)
        torch.testing.assert_close(first[name].low, second[name].low, rtol=0, atol=1e-9)


def test_resampled_cells_do_not_depend_on_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchclusteval.inference.paired_comparison.is_cheaper", lambda *_: False)
    true, a, b = three_labels()
    first = compared((true, a, b), "percentile")
    second = compared((renamed(true), renamed(a), 3 - b), "percentile")
    swapped = compared((true, b, a), "percentile")
    for name in NAMES:
        values = first[name].resamples
        check_level(values, second[name].low, 0.05)
        check_level(values, second[name].high, 0.95)
        check_level(values, -swapped[name].high, 0.05)
        torch.testing.assert_close(first[name].difference, second[name].difference, rtol=0, atol=1e-13)
        p, near = first[name].p_value, SIGMAS * 2 / math.sqrt(RESAMPLES)
        assert bool(((p - second[name].p_value).abs() <= near * p.sqrt() + 4 / RESAMPLES).all()), name
