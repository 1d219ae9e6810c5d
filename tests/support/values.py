"""Values of all measures, and what differs between two sets of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval import MEASURES, ContingencyTables

Values = Mapping[str, Tensor]


def listed(labels: Tensor | np.ndarray | None) -> list[Any]:
    """Labels of groups, which there are."""
    assert labels is not None
    return list(labels.tolist())


def all_values(tables: ContingencyTables) -> dict[str, Tensor]:
    return {name: measure(tables) for name, measure in MEASURES.items()}


def differing(
    actual: Values, expected: Values, tolerance: float = 1e-12, where: Mapping[str, Tensor] | None = None
) -> list[str]:
    """Measures whose values differ by more than the tolerance (relative above 1); nan equals nan.

    ``where``: beginning of a name -> the tables in which such measures are compared.
    """
    reports = []
    for name, value in actual.items():
        same = torch.isclose(value, expected[name], rtol=tolerance, atol=tolerance, equal_nan=True)
        for start, compared in (where or {}).items():
            same = same | ~compared if name.startswith(start) else same
        if value.shape != expected[name].shape or not bool(same.all()):
            reports.append(f"{name}: {value.tolist()} against {expected[name].tolist()}")
    return reports


def different_bits(actual: Values, expected: Values) -> list[str]:
    return [
        f"{name}: {value.tolist()} against {expected[name].tolist()}"
        for name, value in actual.items()
        if not torch.equal(value.view(torch.int64), expected[name].view(torch.int64))
    ]
