"""Time of the measures once the tables are there: each family, the headline set, and everything."""

import numpy as np
import pytest
import timing
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn import metrics

from torchclusteval import ContingencyTables, Scores, evaluate_tables

# tables, items, rows and columns
SHAPES = timing.sizes(
    small=[(20, 200, 10)], full=[(1000, 100, 10), (1000, 10_000, 10), (1000, 10_000, 50), (100, 100_000, 100)]
)
FAMILIES = ["entropy", "pairs", "matching", "bcubed"]


def counts(shape: tuple[int, int, int]) -> torch.Tensor:
    """Random tables ``(B, K, K)`` in which half of the items lie on the diagonal."""
    tables, items, groups = shape
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(groups, (tables, items), generator=generator)
    columns = torch.randint(groups, (tables, items), generator=generator)
    columns[:, ::2] = rows[:, ::2]
    return ContingencyTables.from_labels(rows, columns, num_classes=groups, num_clusters=groups).counts


def labels_of(table: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = table.nonzero().numpy().T
    repeats = table[table > 0].numpy()
    return rows.repeat(repeats), columns.repeat(repeats)


def check(scores: Scores, table: torch.Tensor) -> None:
    """The last table against scikit-learn, for the measures that both have."""
    true, pred = labels_of(table)
    functions = {
        "adjusted_rand": metrics.adjusted_rand_score,
        "rand": metrics.rand_score,
        "fowlkes_mallows": metrics.fowlkes_mallows_score,
        "mutual_information": metrics.mutual_info_score,
        "nmi_arithmetic": metrics.normalized_mutual_info_score,
        "ami_arithmetic": metrics.adjusted_mutual_info_score,
        "v_measure": metrics.v_measure_score,
    }
    for name in functions.keys() & set(scores.names):
        assert float(scores[name][-1]) == pytest.approx(functions[name](true, pred), abs=1e-9), name


@pytest.mark.parametrize("measures", [None, "all", *FAMILIES], ids=lambda m: m or "headline")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def bench_set(benchmark: BenchmarkFixture, shape: tuple[int, int, int], measures: str | None) -> None:
    tables = counts(shape)
    # a new ContingencyTables in every round: a second evaluation of the same one finds its terms memoised
    check(evaluate_tables(ContingencyTables(tables), measures), tables[-1])
    benchmark(lambda: evaluate_tables(ContingencyTables(tables, validate=False), measures))
