"""scikit-learn's external clustering measures under its own names, signatures and conventions.

``from torchclusteval.sklearn import adjusted_rand_score`` stands in for ``from sklearn.metrics import ...``: labels
are strictly one-dimensional, results Python floats and NumPy arrays, errors and warnings worded as there. The functions
pass scikit-learn's own tests, but do not need scikit-learn. ``scorer`` makes scorers for its model selection.

All functions of labels take ``(N,)`` classes ``labels_true`` and clusters ``labels_pred``. They raise ``ValueError``
for labels that are not one-dimensional or differ in length, and (not ``contingency_matrix``) for missing and infinite
values.

Where this module follows scikit-learn and the rest of the package does not:

* Without items scores are 1, ``fowlkes_mallows_score`` is 0, and ``mutual_info_score`` raises (elsewhere: nan).
* ``fowlkes_mallows_score`` is 0 where no pair shares both class and cluster, also for two identical labelings into
  single items and for one item (elsewhere: 1 for identical partitions).
* Labels may be any comparable values: also dates, and floats with fractions, which give a warning.
* ``mutual_info_score(contingency=...)`` and ``expected_mutual_information`` cut fractions off instead of raising.

Where it differs from scikit-learn (1.9):

* ``adjusted_mutual_info_score`` is exactly 0 where exactly one side is all single items. scikit-learn divides rounding
  noise there: near 0 for most averages, but anything up to 1 for ``average_method="min"``.
* NMI, homogeneity, completeness, V-measure, AMI and Fowlkes-Mallows never exceed 1 by rounding, and identical
  labelings score exactly 1 (except the two of Fowlkes-Mallows above).
* ``v_measure_score(beta=0)`` is the homogeneity also for one class in several clusters, where scikit-learn divides by
  zero.
* ``expected_mutual_information`` wants ``n_samples`` to be the sum of the contingency matrix, since the permutation
  model needs it, and ignores empty rows and columns silently. Nested lists and tensors work.
* Contingency matrices with negative counts raise; scikit-learn returns nan.
* ``contingency_matrix`` checks its labels' shapes and lengths with the messages of the other functions; the sparse
  form is always a ``csr_matrix``, whatever scikit-learn's ``sparse_interface`` is set to.
* Labels of more than two dimensions get the message of those of two. ``InvalidParameterError`` is this module's own.
* Tensors of whole numbers are counted on their own device.
"""

import math
from typing import Any

import numpy as np
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.formatting import brief
from torchclusteval.sklearn import validation
from torchclusteval.sklearn.scorers import scorer
from torchclusteval.sklearn.validation import InvalidParameterError
from torchclusteval.tables import ContingencyTables

__all__ = ["InvalidParameterError", "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score"]
__all__ += ["contingency_matrix", "expected_mutual_information", "fowlkes_mallows_score"]
__all__ += ["homogeneity_completeness_v_measure", "homogeneity_score", "mutual_info_score"]
__all__ += ["normalized_mutual_info_score", "pair_confusion_matrix", "rand_score", "scorer", "v_measure_score"]


def rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Share of the pairs of items that both labelings treat alike.

    Returns:
        0 to 1; 1 without items.

    >>> round(rand_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8333
    """
    return _number(measures.rand(_tables(labels_true, labels_pred, "rand_score")))


def adjusted_rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Rand index corrected for chance.

    Returns:
        -0.5 to 1; 1 without items.

    >>> round(adjusted_rand_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """
    return _number(measures.adjusted_rand(_tables(labels_true, labels_pred, "adjusted_rand_score")))


def fowlkes_mallows_score(labels_true: Any, labels_pred: Any) -> float:
    """Geometric mean of pair precision and pair recall.

    Returns:
        0 to 1; 0 where no pair of items shares both class and cluster, and without items.

    >>> round(fowlkes_mallows_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.7071
    """
    tables = _tables(labels_true, labels_pred, "fowlkes_mallows_score")
    return float(measures.fowlkes_mallows(tables)) if float(tables.pairs.ss) else 0.0


def pair_confusion_matrix(labels_true: Any, labels_pred: Any) -> np.ndarray:
    """Ordered pairs of items by whether they share a class and whether they share a cluster.

    Returns:
        ``(2, 2)`` int64, exact below 3e9 items: row 1 holds the pairs of one class, column 1 those of one cluster.

    >>> pair_confusion_matrix([0, 0, 1, 1], [0, 0, 1, 2]).tolist()
    [[8, 0], [2, 2]]
    """
    tables = _tables(labels_true, labels_pred, "pair_confusion_matrix")
    # Integers: the float64 pairs of the tables are exact only below 2**53.
    n = int(tables.n_items)
    both, true, pred = (int((x * x).sum()) for x in (tables.cells()[3], tables.class_sizes, tables.cluster_sizes))
    return np.array([[n * n - true - pred + both, pred - both], [true - both, both - n]], dtype=np.int64)


def homogeneity_completeness_v_measure(
    labels_true: Any, labels_pred: Any, *, beta: float = 1.0
) -> tuple[float, float, float]:
    """Homogeneity, completeness and their weighted harmonic mean.

    Args:
        beta: weight of completeness against homogeneity, at least 0.

    Returns:
        Three numbers from 0 to 1; each 1 without items.

    Raises:
        ValueError: ``beta`` is not a number of at least 0.

    >>> [round(x, 4) for x in homogeneity_completeness_v_measure([0, 0, 1, 1], [0, 0, 1, 2])]
    [1.0, 0.6667, 0.8]
    """
    function = "homogeneity_completeness_v_measure"
    beta = validation.check_beta(beta, function)
    tables = _tables(labels_true, labels_pred, function)
    values = measures.homogeneity(tables), measures.completeness(tables), measures.v_measure(tables, beta)
    return _number(values[0]), _number(values[1]), _number(values[2])


def homogeneity_score(labels_true: Any, labels_pred: Any) -> float:
    """Share of the classes' entropy that the clusters explain.

    Returns:
        0 to 1; 1 without items.

    >>> round(homogeneity_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    1.0
    """
    return _number(measures.homogeneity(_tables(labels_true, labels_pred, "homogeneity_score")))


def completeness_score(labels_true: Any, labels_pred: Any) -> float:
    """Share of the clusters' entropy that the classes explain.

    Returns:
        0 to 1; 1 without items.

    >>> round(completeness_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    return _number(measures.completeness(_tables(labels_true, labels_pred, "completeness_score")))


def v_measure_score(labels_true: Any, labels_pred: Any, *, beta: float = 1.0) -> float:
    """Weighted harmonic mean of homogeneity and completeness.

    Args:
        beta: weight of completeness against homogeneity, at least 0.

    Returns:
        0 to 1; 1 without items.

    Raises:
        ValueError: ``beta`` is not a number of at least 0.

    >>> round(v_measure_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8
    """
    beta = validation.check_beta(beta, "v_measure_score")
    return _number(measures.v_measure(_tables(labels_true, labels_pred, "v_measure_score"), beta))


def mutual_info_score(labels_true: Any, labels_pred: Any, *, contingency: Any = None) -> float:
    """Mutual information of two labelings.

    Args:
        contingency: ``(R, C)`` counts, an array or a SciPy sparse matrix; the labels are then ignored.

    Returns:
        At least 0, in nats.

    Raises:
        ValueError: ``contingency`` is not a matrix of counts, or there are no items.

    >>> round(mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6931
    """
    if contingency is None:
        tables = _tables(labels_true, labels_pred, "mutual_info_score", optional=True)
    else:
        tables = _tables_of(contingency)
    value = float(measures.mutual_information(tables))
    if math.isnan(value):
        raise ValueError("mutual_info_score: expected at least one item; got none")
    return value


def normalized_mutual_info_score(labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic") -> float:
    """Mutual information over an average of the two entropies.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.

    Returns:
        0 to 1; 1 without items.

    Raises:
        ValueError: an unknown average.

    >>> round(normalized_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8
    """
    function = "normalized_mutual_info_score"
    average = validation.check_average(average_method, function)
    return _number(measures.nmi(_tables(labels_true, labels_pred, function), average))


def adjusted_mutual_info_score(labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic") -> float:
    """Mutual information corrected for chance.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.

    Returns:
        Up to 1; 1 without items.

    Raises:
        ValueError: an unknown average.

    >>> round(adjusted_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """
    function = "adjusted_mutual_info_score"
    average = validation.check_average(average_method, function)
    return _number(measures.ami(_tables(labels_true, labels_pred, function), average))


def expected_mutual_information(contingency: Any, n_samples: int) -> float:
    """Mean mutual information over all permutations of one labeling.

    Args:
        contingency: ``(R, C)`` counts: an array or a SciPy sparse matrix.
        n_samples: their sum.

    Returns:
        At least 0, in nats; 0 where one side is a single group, nan without items.

    Raises:
        ValueError: ``contingency`` is not a matrix of counts, or does not add up to ``n_samples``.

    >>> table = contingency_matrix([0, 0, 1], [0, 1, 1])
    >>> round(expected_mutual_information(table, 3), 4)
    0.3284
    """
    tables = _tables_of(contingency, "expected_mutual_information")
    if 1 in np.shape(contingency):
        return 0.0
    if n_samples != int(tables.n_items):
        expected = f"the sum of the contingency matrix, {int(tables.n_items)}"
        raise ValueError(f"n_samples: expected {expected}; got {brief(n_samples)}")
    return float(measures.expected_mutual_information(tables))


def contingency_matrix(
    labels_true: Any, labels_pred: Any, *, eps: float | None = None, sparse: bool = False, dtype: Any = np.int64
) -> Any:
    """Number of items of each class in each cluster, both in ascending order of their labels.

    Args:
        eps: added to every count; None adds nothing.
        sparse: give a SciPy CSR matrix instead of an array.
        dtype: of the counts, before ``eps`` is added.

    Returns:
        ``(R, C)``.

    Raises:
        ValueError: ``eps`` with ``sparse``.

    >>> contingency_matrix([0, 0, 1], [0, 1, 1]).tolist()
    [[1, 1], [0, 1]]
    """
    function = "contingency_matrix"
    if eps is not None and not validation.is_number_from_0(eps):
        raise validation.invalid("eps", function, "a float in the range [0.0, inf) or None", eps)
    if not isinstance(sparse, (bool, np.bool_)):
        raise validation.invalid("sparse", function, "an instance of 'bool' or an instance of 'numpy.bool'", sparse)
    if eps is not None and sparse:
        raise ValueError("Cannot set 'eps' when sparse=True")
    pair = validation.read_labels(labels_true, labels_pred, function, matrix=True)
    tables = ContingencyTables.from_labels(*pair).to("cpu")
    shape = tuple(tables.shape) if len(pair[0]) else (0, 0)
    if not sparse:
        counts = tables.to_dense().counts.numpy()[: shape[0], : shape[1]].astype(dtype)
        if eps is None:
            return counts
        return counts + (eps if eps < 2**53 else float(eps))
    from scipy import sparse as scipy_sparse

    _, row, column, count = (x.numpy() for x in tables.cells())
    return scipy_sparse.csr_matrix((count.astype(dtype), (row, column)), shape=shape)


def _tables(labels_true: Any, labels_pred: Any, function: str, *, optional: bool = False) -> ContingencyTables:
    return ContingencyTables.from_labels(*validation.read_labels(labels_true, labels_pred, function, optional=optional))


def _number(value: Tensor) -> float:
    number = float(value)
    return 1.0 if math.isnan(number) else number  # only a table without items gives nan


def _tables_of(contingency: Any, function: str = "mutual_info_score") -> ContingencyTables:
    """The tables of a user's contingency matrix."""
    if hasattr(contingency, "tocoo"):
        cells = contingency.tocoo()
        return ContingencyTables.from_labels(cells.row, cells.col, weights=_as_counts(cells.data))
    if not validation.is_array_like(contingency):
        expected = "an array-like, a sparse array or matrix or None"
        raise validation.invalid("contingency", function, expected, contingency)
    table = validation.as_array(contingency, "contingency", function)
    table = table.cpu().numpy() if isinstance(table, Tensor) else table
    if table.ndim != 2:
        raise ValueError(f"Expected 2D array, got {table.ndim}D array instead:\narray={table}.")
    for size, what in zip(table.shape, ("sample", "feature"), strict=True):
        if not size:
            raise ValueError(f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is required.")
    return ContingencyTables(_as_counts(table))


def _as_counts(table: np.ndarray) -> np.ndarray:
    if table.dtype.kind == "f":
        validation.check_values(table)
    return table.astype(np.int64)
