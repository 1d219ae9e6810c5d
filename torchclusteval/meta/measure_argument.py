"""What is examined: a measure by name, a record, or any callable on tables, with its direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import find
from torchclusteval.tables import ContingencyTables

__all__ = ["Better", "Subject", "as_measure", "exceeds"]

Better = Literal["higher", "lower"]
Subject = Measure | str | Callable[[ContingencyTables], Tensor]


def as_measure(subject: Subject, better: Better | None) -> Measure:
    """The record of a measure, with the direction that is asked for.

    Args:
        subject: a record, a name or alias, or a callable of tables that gives ``(*batch,)`` values.
        better: ``"higher"`` or ``"lower"``; None: the measure's own, and ``"higher"`` for a bare callable.

    Raises:
        ValueError: the measure has no direction and none is given, or the direction or name is unknown.
    """
    if better not in (None, "higher", "lower"):
        raise ValueError(f"better: expected 'higher' or 'lower'; got {better!r}")
    if isinstance(subject, str):
        subject = find(subject)
    if not isinstance(subject, Measure):
        if not callable(subject):
            raise ValueError(f"measure: expected a name, a Measure or a callable; got {type(subject).__name__}")
        name = getattr(subject, "__name__", type(subject).__name__)
        return Measure(name, "entropy", subject, (float("-inf"), float("inf")), better or "higher")
    if better is None and subject.better is None:
        raise ValueError(f"better: expected 'higher' or 'lower' for {subject.name!r}, which has no direction")
    return subject if better is None else replace(subject, better=better)


def exceeds(a: Tensor, b: Tensor, tolerance: float) -> Tensor:
    """Whether ``a`` is larger than ``b`` by more than rounding: by this much, or this share of it; nan never is."""
    return (a > b) & ~torch.isclose(a, b, rtol=tolerance, atol=tolerance)
