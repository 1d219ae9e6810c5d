"""Validation of arguments in :mod:`torchclusteval.sklearn`: scikit-learn's checks, with its messages."""

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_dense, check_unmasked
from torchclusteval.common.formatting import brief
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import pandas_index

_AVERAGES = ("arithmetic", "geometric", "max", "min")


class InvalidParameterError(ValueError, TypeError):
    """An argument of the wrong kind, or outside its range.

    >>> from torchclusteval.sklearn import normalized_mutual_info_score
    >>> try:
    ...     normalized_mutual_info_score([0, 1], [0, 1], average_method="none")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    InvalidParameterError
    """


def invalid(name: str, function: str, expected: str, got: Any) -> InvalidParameterError:
    return InvalidParameterError(f"The {name!r} parameter of {function} must be {expected}. Got {got!r} instead.")


def is_number_from_0(x: Any) -> bool:
    try:
        return isinstance(x, Real) and 0 <= float(x) < math.inf
    except OverflowError:
        return False


def check_beta(beta: Any, function: str) -> float:
    if not is_number_from_0(beta):
        raise invalid("beta", function, "a float in the range [0.0, inf)", beta)
    return float(beta)


def check_average(average: Any, function: str) -> str:
    if not (isinstance(average, str) and average in _AVERAGES):
        raise invalid("average_method", function, f"a str among {{{', '.join(map(repr, _AVERAGES))}}}", average)
    return average


def is_array_like(x: Any) -> bool:
    sized = any(hasattr(x, name) for name in ("__len__", "shape", "__array__"))
    return sized and not np.isscalar(x) and not hasattr(x, "tocoo")


def as_array(labels: Any, name: str, function: str, *, optional: bool = False) -> np.ndarray | Tensor:
    """The labels as an array; integer tensors are returned unchanged."""
    if isinstance(labels, Tensor):
        check_dense(labels, name)
        if labels.is_floating_point():
            return (labels.float() if labels.element_size() < 4 else labels).numpy(force=True)
        return labels.numpy(force=True) if labels.is_complex() or labels.dtype == torch.uint64 else labels
    if not (is_array_like(labels) or (optional and labels is None)):
        raise invalid(name, function, "an array-like or None" if optional else "an array-like", labels)
    check_unmasked(labels, name)
    try:
        return np.asarray(labels)
    except (TypeError, RuntimeError) as error:  # of tensors in a list
        got = brief(str(error).splitlines()[0])
        raise TypeError(f"{name}: expected an array-like that NumPy reads; got {got}") from None


def check_values(labels: np.ndarray | Tensor) -> None:
    """Raise on labels that scikit-learn rejects: missing, infinite or complex numbers and bytes."""
    if isinstance(labels, Tensor):
        return
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported\n{labels}\n")
    if kind == "f" and not np.isfinite(labels).all():
        if np.isnan(labels).any():
            raise ValueError("Input contains NaN.")
        raise ValueError(f"Input contains infinity or a value too large for {labels.dtype!r}.")
    if kind == "S":
        remedy = "Convert the labels to a string or integer format."
        raise TypeError(f"Support for labels represented as bytes is not supported. {remedy}")
    if (
        kind == "O"
        and not _all_strings(labels)
        and any(type(x).__name__ in ("NAType", "NaTType") or (isinstance(x, Real) and x != x) for x in labels.flat)
    ):
        raise ValueError("Input contains NaN")


def _all_strings(labels: np.ndarray) -> bool:
    return set(map(type, labels.reshape(-1).tolist())) <= {str}


def read_labels(
    labels_true: Any, labels_pred: Any, function: str, *, optional: bool = False, matrix: bool = False
) -> tuple[np.ndarray | Tensor, np.ndarray | Tensor]:
    """Two labelings, checked as scikit-learn does, with a warning at the caller's line if they look like measurements.

    ``optional``: None is an object like any other. ``matrix``: as ``contingency_matrix`` reads them, in scikit-learn's
    order of labels, and without a check of their values.
    """
    true, pred = (
        as_array(labels, name, function, optional=optional)
        for labels, name in ((labels_true, "labels_true"), (labels_pred, "labels_pred"))
    )
    if not matrix:
        check_values(true)
        check_values(pred)
    for name, labels in (("labels_true", true), ("labels_pred", pred)):
        if labels.ndim != 1:
            raise ValueError(f"{name} must be 1D: shape is {tuple(labels.shape)}")
    lengths = [len(true), len(pred)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {lengths}")
    indexes = [("labels_true", pandas_index(labels_true)), ("labels_pred", pandas_index(labels_pred))]
    check_indexes(indexes, lengths[0])
    if not matrix and (_is_continuous(true) or _is_continuous(pred)):
        message = (
            f"Clustering metrics expects discrete values but received {_target_type(true)} values for label, "
            f"and {_target_type(pred)} values for target"
        )
        warnings.warn(message, UserWarning, stacklevel=4)
    return _as_codes(true, matrix), _as_codes(pred, matrix)


def _is_continuous(labels: np.ndarray | Tensor) -> bool:
    """Whether some labels are floats without an exact 64-bit integer value."""
    if isinstance(labels, Tensor) or labels.dtype.kind != "f":
        return False
    return not bool(((labels == np.trunc(labels)) & (np.abs(labels) < 2.0**63)).all())


def _target_type(labels: np.ndarray | Tensor) -> str:
    """scikit-learn's word for the kind of these labels."""
    if _is_continuous(labels):
        return "continuous"
    array = labels.cpu().numpy() if isinstance(labels, Tensor) else labels
    if array.dtype.kind == "O" and not isinstance(array[0], str):
        return "unknown"
    return "multiclass" if len(np.unique(array)) > 2 else "binary"


def _as_codes(labels: np.ndarray | Tensor, ordered: bool) -> np.ndarray | Tensor:
    """The labels, or integer codes; ``ordered``: rows and columns are then in scikit-learn's order of labels."""
    if isinstance(labels, Tensor):
        return labels
    kind = labels.dtype.kind
    if kind == "f" and not _is_continuous(labels):
        return labels
    texts = kind == "U" or (kind == "O" and _all_strings(labels))
    if (texts and not ordered) or (kind in "biu" and labels.dtype != np.uint64):
        return labels
    codes: np.ndarray = np.unique(labels, return_inverse=True)[1]
    return codes
