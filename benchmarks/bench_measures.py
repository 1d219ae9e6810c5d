"""Time of the measures once the tables are there: each family, the headline set, and everything.

``measures.py`` has the work, and times its full size for a results file.
"""

from functools import partial

import measures
import numpy as np
import pytest
import timing
import torch
from compare import Shape
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn import metrics

import torchclusteval as tce

SHAPES = timing.sizes(
    small=[measures.SMALL],
    full=[measures.FULL, Shape(1000, 10_000, 10), Shape(1000, 10_000, 50), Shape(100, 100_000, 100)],
)
FAMILIES = ["entropy", "pairs", "matching", "bcubed", "association"]


def labels_of(table: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = table.nonzero().numpy().T
    repeats = table[table > 0].numpy()
    return rows.repeat(repeats), columns.repeat(repeats)


def check(scores: tce.Scores, table: torch.Tensor) -> None:
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


@pytest.mark.parametrize("names", [None, "all", *FAMILIES], ids=lambda m: m or "headline")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def bench_set(benchmark: BenchmarkFixture, shape: Shape, names: str | None) -> None:
    counts = measures.counts_of(shape)
    evaluate = partial(tce.evaluate_tables, measures=names)
    check(measures.on_fresh_tables(evaluate, counts), counts[-1])
    benchmark(measures.on_fresh_tables, evaluate, counts)
