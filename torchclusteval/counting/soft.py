"""Expected counts of soft assignments."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory
from torchclusteval.labels.inputs import as_probabilities, check_nonnegative, checks_values
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import pandas_index


def expected_counts(p_true: Any, p_pred: Any, validate: bool | None) -> Tensor:
    """``(*batch, R, C)`` float64, with the gradient of both arguments."""
    true, pred = (as_probabilities(p, name, validate) for p, name in ((p_true, "p_true"), (p_pred, "p_pred")))
    check_indexes([("p_true", pandas_index(p_true)), ("p_pred", pandas_index(p_pred))], true.shape[-2])
    if true.shape[-2] != pred.shape[-2]:
        raise ValueError(f"p_pred: expected as many items as p_true; got {true.shape[-2]} and {pred.shape[-2]}")
    try:
        np.broadcast_shapes(true.shape[:-2], pred.shape[:-2])
    except ValueError:
        got = f"{tuple(true.shape)} and {tuple(pred.shape)}"
        raise ValueError(f"p_pred: expected batch shapes that broadcast; got {got}") from None
    if torch.compiler.is_compiling():
        return _unless_negative(true.mT @ pred, true, pred, validate)
    got = f"{true.shape[-1]} x {pred.shape[-1]}"
    with explain_out_of_memory(f"p_true, p_pred: expected tables that fit in memory; got {got} (score fewer groups)"):
        counts = true.mT @ pred
    if checks_values(counts, validate):
        check_nonnegative(counts, "p_true, p_pred", (-2, -1))
    return _unless_negative(counts, true, pred, validate)


def _unless_negative(counts: Tensor, true: Tensor, pred: Tensor, validate: bool | None) -> Tensor:
    """nan in the tables of unchecked values below 0 (a product of two of them would look like a count)."""
    for p in (true, pred):
        if p.numel() and not checks_values(p, validate):
            counts = torch.where(p.detach().amin((-2, -1), keepdim=True) < 0, torch.nan, counts)
    return counts
