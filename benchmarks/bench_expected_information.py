"""Time of the expected mutual information, ours and scikit-learn's on the same table."""

import numpy as np
import pytest
import timing
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.metrics.cluster import expected_mutual_information as sklearn_expectation

from torchclusteval import ContingencyTables
from torchclusteval.measures import expected_mutual_information

# items, rows and columns
SHAPES = timing.sizes(
    small=[(1_000, 5)],
    full=[(50, 3), (1_000, 5), (10_000, 10), (10_000, 1_000), (1_000_000, 10), (1_000_000, 100)],
)


def table(shape: tuple[int, int], sizes: str, seed: int = 0) -> torch.Tensor:
    """A random table ``(K, K)`` with groups of equal or of uneven expected size."""
    items, groups = shape
    random = np.random.default_rng(seed)
    weights = np.ones(groups) if sizes == "even" else 1 / np.arange(1, groups + 1)
    rows, columns = (random.choice(groups, items, p=weights / weights.sum()) for _ in range(2))
    return torch.from_numpy(np.bincount(rows * groups + columns, minlength=groups**2).reshape(groups, groups))


@pytest.mark.parametrize("library", ["torchclusteval", "scikit-learn"])
@pytest.mark.parametrize("sizes", ["even", "uneven"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def bench_one_table(benchmark: BenchmarkFixture, shape: tuple[int, int], sizes: str, library: str) -> None:
    counts = table(shape, sizes)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]  # scikit-learn takes no empty groups
    array, items = counts.numpy(), int(counts.sum())

    def ours() -> float:
        return float(expected_mutual_information(ContingencyTables(counts)))

    def theirs() -> float:
        return float(sklearn_expectation(array, items))

    assert ours() == pytest.approx(theirs(), rel=1e-5, abs=1e-11)  # scikit-learn drifts: 1e-6 at 1e7 items
    benchmark.group = f"{shape} {sizes}"
    benchmark(ours if library == "torchclusteval" else theirs)


@pytest.mark.parametrize("sizes", ["even", "uneven"])
def bench_batch(benchmark: BenchmarkFixture, sizes: str) -> None:
    batch, items, groups = timing.sizes(small=[(10, 500, 5)], full=[(1_000, 10_000, 10)])[0]
    tables = torch.stack([table((items, groups), sizes, seed) for seed in range(batch)])

    values = expected_mutual_information(ContingencyTables(tables))
    expected = [sklearn_expectation(counts.numpy(), items) for counts in tables[:5]]
    assert values[:5].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-11)
    benchmark(lambda: expected_mutual_information(ContingencyTables(tables)))
