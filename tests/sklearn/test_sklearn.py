"""``torchclusteval.sklearn`` against scikit-learn: its own test suite, its values, its errors, and the differences."""

import ast
import inspect
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.metrics import cluster as theirs

import torchclusteval.sklearn as ours

pytestmark = pytest.mark.slow


# Signatures and messages are those of this release; values are those of every release.
RELEASE = (1, 9)
same_release = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < RELEASE, reason="an older scikit-learn words them otherwise"
)

SCORES = ["adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score"]
SCORES += ["homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score"]
MATRICES = ["contingency_matrix", "pair_confusion_matrix"]
OF_LABELS = [*SCORES, *MATRICES, "homogeneity_completeness_v_measure"]
AVERAGES = ["min", "geometric", "arithmetic", "max"]

Pair = tuple[Any, Any]


def both(name: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    return getattr(ours, name)(*arguments, **options), getattr(theirs, name)(*arguments, **options)


def labels(n: int, classes: int, clusters: int, seed: int) -> Pair:
    """Classes and clusters of which about half agree."""
    random = np.random.default_rng(seed)
    true = random.integers(0, classes, n)
    return true, np.where(random.random(n) < 0.5, true % clusters, random.integers(0, clusters, n))


def run_suite(report: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SUITE_REPORT": str(report)}
    pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.sklearn_suite", "-p", "no:cacheprovider"]
    command = [*pytest_run, "-c", os.devnull, "--rootdir", str(report.parent)]
    suite = ["--pyargs", "sklearn.metrics.cluster.tests.test_supervised"]
    run = subprocess.run([*command, *suite], capture_output=True, text=True, env=variables, cwd=report.parent)
    return run, json.loads(report.read_text()) if report.exists() else {}


@same_release
def test_the_suite_of_scikit_learn_passes(tmp_path: Path) -> None:
    run, report = run_suite(tmp_path / "report.json")
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    source = Path(theirs.__file__).parent / "tests" / "test_supervised.py"
    functions = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.FunctionDef)]
    expected = {node.name for node in functions if node.name.startswith("test_")}
    assert len(expected) > 20
    assert set(report["outcomes"]) == expected
    assert all(set(found) <= {"passed", "skipped"} for found in report["outcomes"].values())
    # Tests of array libraries that are not installed here; they call private helpers alone.
    skipped = {test for test, found in report["outcomes"].items() if "passed" not in found}
    assert skipped <= {test for test in expected if "array_api" in test}
    assert set(report["calls"]) == set(ours.__all__) - {"InvalidParameterError", "scorer"}
    assert all(count > 0 for count in report["calls"].values()), report["calls"]


@same_release
@pytest.mark.parametrize("name", OF_LABELS)
def test_signatures(name: str) -> None:
    sides = [inspect.signature(getattr(module, name)).parameters.values() for module in (ours, theirs)]
    our_side, their_side = ([(p.name, p.kind, p.default) for p in side] for side in sides)
    assert our_side == their_side


def test_every_function_of_the_peer_is_here() -> None:
    supervised = {name for name in theirs.__all__ if getattr(theirs, name).__module__.endswith("_supervised")}
    assert supervised - {"entropy"} <= set(ours.__all__)


def test_other_types() -> None:
    pair = labels(50, 3, 4, seed=0)
    assert [type(x) for x in ours.homogeneity_completeness_v_measure(*pair)] == [float] * 3
    assert type(ours.expected_mutual_information(ours.contingency_matrix(*pair), 50)) is float
    cases: list[tuple[str, dict[str, Any]]] = [
        ("pair_confusion_matrix", {}),
        ("contingency_matrix", {}),
        ("contingency_matrix", {"dtype": np.int16}),
        ("contingency_matrix", {"dtype": np.float32}),
        ("contingency_matrix", {"eps": 0.25}),
        ("contingency_matrix", {"eps": 1, "dtype": np.int8}),
    ]
    for name, options in cases:
        our_matrix, their_matrix = both(name, *pair, **options)
        assert type(our_matrix) is np.ndarray
        assert our_matrix.dtype == their_matrix.dtype
        np.testing.assert_array_equal(our_matrix, their_matrix)


def test_sparse_contingency_matrix() -> None:
    our_matrix, their_matrix = both("contingency_matrix", *labels(500, 30, 40, seed=1), sparse=True)
    assert type(our_matrix) is type(their_matrix) is sparse.csr_matrix
    assert our_matrix.dtype == their_matrix.dtype
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(our_matrix, part), getattr(their_matrix, part))


def test_scikit_learn_is_not_needed() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['sklearn', 'pandas'])); "  # these now fail to import
        "import torchclusteval.sklearn as ours; "
        "score = ours.adjusted_mutual_info_score([0, 0, 1], [0, 1, 1]); "
        "print(score, ours.contingency_matrix(['a', 'b'], [0, 1]).sum())"
    )
    root = Path(ours.__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    score, count = run.stdout.split()
    assert float(score) == pytest.approx(theirs.adjusted_mutual_info_score([0, 0, 1], [0, 1, 1]), abs=1e-12)
    assert int(count) == 2


def assert_all_equal(true: Any, pred: Any, tolerance: float = 1e-12) -> None:
    for name in SCORES:
        our_value, their_value = both(name, true, pred)
        assert type(our_value) is float
        assert our_value == pytest.approx(their_value, rel=tolerance, abs=tolerance), name
    for name in MATRICES:
        np.testing.assert_array_equal(*both(name, true, pred))
    for beta in (0.3, 2):
        our_values, their_values = both("homogeneity_completeness_v_measure", true, pred, beta=beta)
        assert our_values == pytest.approx(their_values, rel=tolerance, abs=tolerance)
        assert our_values[2] == ours.v_measure_score(true, pred, beta=beta)


@pytest.mark.parametrize("seed", range(25))
def test_random_labels(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, classes, clusters = (int(random.integers(2, high)) for high in (300, 15, 15))
    true, pred = labels(n, classes, clusters, seed)
    if len(set(pred)) < n and len(set(true)) < n:  # AMI of single items differs, see below
        assert_all_equal(true, pred)
        for name in ("normalized_mutual_info_score", "adjusted_mutual_info_score"):
            for average in AVERAGES:
                our_value, their_value = both(name, true, pred, average_method=average)
                assert our_value == pytest.approx(their_value, rel=1e-12, abs=1e-12), (name, average)


@pytest.mark.parametrize("shape", [(20_000, 30, 50), (200_000, 10, 10), (30_000, 8_000, 5_000)], ids=str)
def test_large_tables(shape: tuple[int, int, int]) -> None:
    true, pred = labels(*shape, seed=5)
    names = [name for name in SCORES if name != "adjusted_mutual_info_score" or shape[1] < 1000]  # minutes there
    for name in names:
        our_value, their_value = both(name, true, pred)
        assert our_value == pytest.approx(their_value, rel=1e-11), name
    np.testing.assert_array_equal(*both("pair_confusion_matrix", true, pred))
    assert (abs(np.subtract(*both("contingency_matrix", true, pred, sparse=True)))).sum() == 0


def test_pairs_beyond_the_exact_range_of_float64() -> None:
    """Counts of pairs near 2e16, where float64 holds multiples of 4 only."""
    n = 140_000_000
    true, pred = torch.zeros(n, dtype=torch.int8), torch.zeros(n, dtype=torch.int8)
    true[0], pred[:3] = 1, 1
    together = (n - 3) * (n - 4) + 2 * 1
    assert int(float(together)) != together
    expected = [[2 * (n - 3), 2 * 2], [2 * 2 * (n - 3), together]]
    assert ours.pair_confusion_matrix(true, pred).tolist() == expected


TRUE, PRED = [2, 2, 0, 0, 0, 5, 5, 2], [1, 1, 1, 3, 3, 3, 0, 0]


def _strings(x: list[int]) -> list[str]:
    return [f"group {i}" for i in x]


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: tuple(x),
        lambda x: np.array(x, dtype=np.uint8),
        lambda x: np.array(x, dtype=">i4"),
        lambda x: np.array(x, dtype=np.uint64) + np.uint64(2**63 - 2),
        lambda x: np.array(x, dtype=np.float32),
        lambda x: np.array(x, dtype=object),
        lambda x: np.array(_strings(x)),
        lambda x: np.array(_strings(x), dtype=object),
        lambda x: [x[0] - 3, *_strings(x[1:])],
        lambda x: np.array(x) - 100,
        lambda x: np.array(x) * 10**17 - 3 * 10**17,
        lambda x: (np.array(x) > 1).tolist(),
        lambda x: np.repeat(x, 3)[::-3],
        lambda x: np.array(x).astype("datetime64[D]"),
        _strings,
    ],
)
def test_kinds_of_labels(convert: Callable[[list[int]], Any]) -> None:
    assert_all_equal(convert(TRUE), convert(PRED))
    assert_all_equal(convert(TRUE), PRED)


@pytest.mark.parametrize("name", ["mutual_info_score", "expected_mutual_information"])
@pytest.mark.parametrize("convert", [np.asarray, np.float64, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_contingency_as_an_argument(name: str, convert: Callable[[Any], Any]) -> None:
    table = convert(np.array([[11, 0, 4], [3, 8, 0]]))
    values = both(name, None, None, contingency=table) if name == "mutual_info_score" else both(name, table, 26)
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_continuous_labels_count_with_a_warning() -> None:
    true, pred = [0.5, 0.5, 1.0, -7.25], ["a", "b", "b", "c"]
    for pair in ((true, pred), (pred, true), (true, true)):
        found = []
        for module in (ours, theirs):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = module.adjusted_rand_score(*pair)
            found.append((value, [(str(w.message), w.category) for w in caught]))
        assert found[0] == found[1]
        assert len(found[0][1]) == 1
    with pytest.warns(UserWarning, match="expects discrete values") as caught_here:
        ours.fowlkes_mallows_score(true, pred)
    assert caught_here[0].filename == __file__


@pytest.mark.parametrize("name", [name for name in OF_LABELS if name != "mutual_info_score"])
def test_empty_labels(name: str) -> None:
    np.testing.assert_array_equal(*both(name, [], []))
    our_value, their_value = both(name, [], [])
    assert np.shape(our_value) == np.shape(their_value)


@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize("pair", [([3], [4]), ([1, 1, 1], [2, 2, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [4, 4, 4])])
def test_degenerate_labels(name: str, pair: Pair) -> None:
    np.testing.assert_allclose(*both(name, *pair), atol=1e-15)


def message(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[str, bool, bool]:
    with pytest.raises((ValueError, TypeError)) as caught:
        function(*arguments, **options)
    return str(caught.value), isinstance(caught.value, ValueError), isinstance(caught.value, TypeError)


@pytest.mark.parametrize("name", [name for name in OF_LABELS if name != "contingency_matrix"])
@pytest.mark.parametrize(
    "pair",
    [
        ([0, 1], [1, 1, 1]),
        ([[0, 1], [1, 0]], [1, 1]),
        ([0, 1], [[1], [0]]),
        ([0, math.nan], [1, 1]),
        ([0, 1], [math.inf, 1]),
        (np.array([0, math.nan], dtype=object), [1, 1]),
        (np.array([0, "a"], dtype=object), [1, 1]),
        ([0, None], [1, 1]),
        ([b"a", b"b"], [1, 1]),
        ([1j, 2], [1, 1]),
        ([[1, 2], [3]], [1, 1]),
        ({0: 1}, [1]),
        (3, [1]),
        ([1], "a"),
        (sparse.csr_array([[1, 2]]), [1, 2]),
    ],
    ids=str,
)
def test_error_messages(name: str, pair: Pair) -> None:
    assert message(getattr(ours, name), *pair) == message(getattr(theirs, name), *pair)


@same_release
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("v_measure_score", {"beta": -1}),
        ("v_measure_score", {"beta": math.nan}),
        ("homogeneity_completeness_v_measure", {"beta": "1"}),
        ("contingency_matrix", {"eps": -0.1}),
        ("contingency_matrix", {"sparse": 1}),
        ("contingency_matrix", {"eps": 0.1, "sparse": True}),
        ("mutual_info_score", {"contingency": "table"}),
        ("mutual_info_score", {"contingency": [[]]}),
        ("mutual_info_score", {"contingency": [[math.nan, 1.0]]}),
    ],
    ids=str,
)
def test_error_messages_of_options(name: str, options: dict[str, Any]) -> None:
    assert message(getattr(ours, name), TRUE, PRED, **options) == message(getattr(theirs, name), TRUE, PRED, **options)


@pytest.mark.parametrize("name", ["normalized_mutual_info_score", "adjusted_mutual_info_score"])
def test_unknown_averages(name: str) -> None:
    for average in ("joint", None):
        text, *kinds = message(getattr(ours, name), TRUE, PRED, average_method=average)
        their_text, *their_kinds = message(getattr(theirs, name), TRUE, PRED, average_method=average)
        assert kinds == their_kinds
        assert text.partition("{")[0] == their_text.partition("{")[0]  # their set has no order
        assert text.endswith(f"Got {average!r} instead.")


@pytest.mark.parametrize("average", AVERAGES)
def test_single_items_have_no_adjusted_information(average: str) -> None:
    """Every permutation of single items has the same information: the numerator is exactly 0."""
    for pair in ((list(range(9)), [0, 0, 0, 1, 1, 1, 2, 2, 3]), ([0] * 5 + [1, 1, 2], list(range(8)))):
        assert ours.adjusted_mutual_info_score(*pair, average_method=average) == 0


def test_identical_labelings_score_exactly_one() -> None:
    for seed in range(20):
        true, _ = labels(1000, 3 + seed, 2, seed)
        for name in set(SCORES) - {"mutual_info_score"}:
            assert getattr(ours, name)(true, true + 1) == 1


def test_beta_of_zero_is_homogeneity() -> None:
    with pytest.raises(ZeroDivisionError):
        theirs.v_measure_score([1, 1], [1, 2], beta=0)
    assert ours.v_measure_score([1, 1], [1, 2], beta=0) == ours.homogeneity_score([1, 1], [1, 2]) == 1


def test_expected_information_of_tables() -> None:
    table = [[1, 0, 2], [3, 0, 4]]
    expected = theirs.expected_mutual_information(np.array([[1, 2], [3, 4]]), 10)
    assert ours.expected_mutual_information(table, 10) == pytest.approx(expected, rel=1e-12)
    assert ours.expected_mutual_information(torch.tensor(table), 10) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="n_samples: expected the sum of the contingency matrix, 10; got 20"):
        ours.expected_mutual_information(table, 20)


def test_what_is_no_table_of_counts() -> None:
    for table in ([[-1, 2], [3, 4]], sparse.csr_array([[-1, 2], [3, 4]])):
        with pytest.raises(ValueError, match="expected finite numbers >= 0; got -1"):
            ours.mutual_info_score(None, None, contingency=table)
    for nothing in ({"contingency": [[0, 0], [0, 0]]}, {}):
        with pytest.raises(ValueError, match="expected at least one item"):
            ours.mutual_info_score([], [], **nothing)


def test_shapes_of_contingency_matrix() -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1\]"):
        ours.contingency_matrix([1, 2], [1])
    with pytest.raises(ValueError, match="labels_pred must be 1D"):
        ours.contingency_matrix([1, 2], [[1, 2]])
    np.testing.assert_array_equal(*both("contingency_matrix", [1, math.nan, 0.5], [1, 2, 2]))
