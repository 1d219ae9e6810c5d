"""The ratio of a measure by a Triton kernel, with the rule for degenerate tables.

This module imports Triton: :mod:`torchclusteval.common.kernels` loads it where it is there.
"""

import math
import struct
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256


def start(out: Tensor, *parts: Tensor | None, same: float | None, other: float, maximum: float | None) -> Any:
    """Write a ratio; see ``ratio_by_torch`` in :mod:`torchclusteval.measures.sums`."""
    numbers = (same or 0.0, other, math.inf if maximum is None else maximum)
    if any(struct.unpack("f", struct.pack("f", x))[0] != x for x in numbers):  # kernels get numbers as float32
        return NotImplemented
    if any(x is not None and not x.is_contiguous() for x in parts):
        return NotImplemented
    given = [x.view(torch.uint8) if x is not None and x.dtype == torch.bool else x for x in parts]
    if size := out.numel():
        grid = (triton.cdiv(size, BLOCK),)
        divide[grid](out, *given, size, *numbers, SAME=same is not None, BLOCK=BLOCK, enable_fp_fusion=False)
    return None


# Values lie at any row of a tensor: places of 16 bytes would be a variant for each.
@triton.jit(do_not_specialize=list(range(8)))
def divide(
    out, numerator, denominator, identical, empty, undefined, otherwise, size, same, other, maximum,
    SAME: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Each program has ``BLOCK`` tables."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = at < size
    x = tl.load(numerator + at, mask=exists, other=0).to(tl.float64)
    y = tl.load(denominator + at, mask=exists, other=0).to(tl.float64)
    nothing = tl.zeros((BLOCK,), tl.float64)
    rest, unknown = nothing + other, y == 0.0
    if undefined is not None:
        unknown = tl.load(undefined + at, mask=exists, other=0) != 0
    if otherwise is not None:
        rest = tl.load(otherwise + at, mask=exists, other=0).to(tl.float64)
    value = x / y
    value = tl.where(unknown, rest, tl.where(value > maximum, nothing + maximum, value))
    if SAME:
        value = tl.where(tl.load(identical + at, mask=exists, other=0) != 0, nothing + same, value)
    is_empty = tl.load(empty + at, mask=exists, other=0) != 0
    tl.store(out + at, tl.where(is_empty, float("nan"), value), mask=exists)
