"""The measure that meta functions examine: a name, a record or any callable on tables, with its direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import find_measure
from torchclusteval.tables import ContingencyTables

__all__ = ["Better", "MeasureArgument", "as_measure", "exceeds"]

Better = Literal["higher", "lower"]
MeasureArgument = Measure | str | Callable[[ContingencyTables], Tensor]


def as_measure(measure: MeasureArgument, better: Better | None) -> Measure:
    """The record of a measure, with the direction ``better`` if that is given.

    Args:
        measure: a record, a name or alias, or a callable of tables that gives ``(*batch,)`` values.
        better: ``"higher"`` or ``"lower"``; None: the measure's own, and ``"higher"`` for a bare callable.

    Raises:
        ValueError: the measure has no direction and none is given, or the direction or name is unknown.
    """
    if better not in (None, "higher", "lower"):
        raise ValueError(f"better: expected 'higher' or 'lower'; got {brief(better)}")
    if isinstance(measure, str):
        measure = find_measure(measure)
    if not isinstance(measure, Measure):
        if not callable(measure):
            raise ValueError(f"measure: expected a name, a Measure or a callable; got {type(measure).__name__}")
        name = getattr(measure, "__name__", type(measure).__name__).strip("<>")  # <lambda>
        return Measure(
            name=name, family="entropy", function=measure, range=(-math.inf, math.inf), better=better or "higher"
        )
    if better is None and measure.better is None:
        raise ValueError(f"better: expected 'higher' or 'lower' for {measure.name!r}, which has no direction")
    return measure if better is None else replace(measure, better=better)


def exceeds(a: Tensor, b: Tensor, tolerance: float) -> Tensor:
    """Whether ``a`` exceeds ``b`` by more than the absolute and relative tolerance; False for nan."""
    return (a > b) & ~torch.isclose(a, b, rtol=tolerance, atol=tolerance)
