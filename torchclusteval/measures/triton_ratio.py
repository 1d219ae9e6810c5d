"""The ratio of a measure by a Triton kernel, with the rule for degenerate tables.

This module imports Triton: :mod:`torchclusteval.common.kernels` loads it where it is there.
"""

import math
import struct
from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256


def start(
    out: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    identical: Tensor,
    empty: Tensor,
    undefined: Tensor | None,
    otherwise: Tensor | None,
    *,
    same: float | None,
    other: float,
    maximum: float | None,
) -> Any:
    """Write a ratio; see ``ratio_by_torch`` in :mod:`torchclusteval.measures.sums`."""
    numbers = (same or 0.0, other, math.inf if maximum is None else maximum)
    parts = (numerator, denominator, identical, empty, undefined, otherwise)
    if any(struct.unpack("f", struct.pack("f", x))[0] != x for x in numbers):  # kernels get numbers as float32
        return NotImplemented
    if not all(x is None or x.is_contiguous() or not any(x.stride()) for x in parts):
        return NotImplemented
    flags = [x if x is None else x.view(torch.uint8) for x in (identical, empty, undefined)]
    size = out.numel()
    if size:
        with torch.cuda.device(out.device) if out.device.type == "cuda" else nullcontext():
            divide[(triton.cdiv(size, BLOCK),)](
                out, numerator, denominator, *flags, otherwise, *map(_step, parts), size, *numbers,
                SAME=same is not None, BLOCK=BLOCK, enable_fp_fusion=False,
            )  # fmt: skip
    return None


def _step(x: Tensor | None) -> int:
    """Whether entries are one after the other, rather than one for all."""
    return int(x is not None and any(x.stride()))


@triton.jit(do_not_specialize=["size", "n_step", "d_step", "i_step", "e_step", "u_step", "o_step"])
def divide(
    out: tl.tensor,
    numerator: tl.tensor,
    denominator: tl.tensor,
    identical: tl.tensor,
    empty: tl.tensor,
    undefined: tl.tensor,
    otherwise: tl.tensor,
    n_step: tl.tensor,
    d_step: tl.tensor,
    i_step: tl.tensor,
    e_step: tl.tensor,
    u_step: tl.tensor,
    o_step: tl.tensor,
    size: tl.tensor,
    same: tl.tensor,
    other: tl.tensor,
    maximum: tl.tensor,
    SAME: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
) -> None:
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = at < size
    x = tl.load(numerator + at * n_step, mask=exists, other=0).to(tl.float64)
    y = tl.load(denominator + at * d_step, mask=exists, other=0).to(tl.float64)
    fixed = tl.load(empty + at * e_step, mask=exists, other=0) != 0
    unknown = y == 0.0
    if undefined is not None:
        unknown = tl.load(undefined + at * u_step, mask=exists, other=0) != 0
    rest = tl.zeros((BLOCK,), tl.float64) + other
    if otherwise is not None:
        rest = tl.load(otherwise + at * o_step, mask=exists, other=0).to(tl.float64)
    value = x / y
    most = tl.zeros((BLOCK,), tl.float64) + maximum
    value = tl.where(unknown, rest, tl.where(value > most, most, value))
    if SAME:
        alike = tl.load(identical + at * i_step, mask=exists, other=0) != 0
        value = tl.where(alike, tl.zeros((BLOCK,), tl.float64) + same, value)
    tl.store(out + at, tl.where(fixed, float("nan"), value), mask=exists)
