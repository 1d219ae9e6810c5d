"""Shared arithmetic: sums in a fixed order, logarithms safe at zero, ties.

Gradients at a tie are defined here, as those of torch (such as of ``clamp`` at its bound) differ between releases.
Tensors without a gradient use torch's own functions: the same values, faster.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.overrides import TorchFunctionMode

DECIMALS = 12  # of scores in comparisons; later decimals differ by rounding
SUM_BLOCK = 16  # a multiple of every vector length, so vector loops have no remainder
_MIN_MAX_BLOCK = 1 << 16  # numbers
_SUM_BLOCK = 4096  # numbers; torch would split a longer sum over threads, which changes its last bits
_STIRLING_FROM = 16.0  # from here on, four terms of Stirling's series are exact to 1e-14
_MOST_TABULATED = 1 << 16  # largest whole number in the tables of functions
_MIN_DIVISOR = 1e-150  # smaller divisors are raised to this, so that their square (in the gradient) does not underflow

Numbers = TypeVar("Numbers", Tensor, NDArray[np.float64])  # float64
Number = TypeVar("Number", Tensor, float)  # float64: of each table of a batch, or of one


def sum_reproducible(x: Tensor) -> Tensor:
    """Sum over the last dimension, with the same bits for every batch size and thread count on the CPU."""
    while x.shape[-1] > _SUM_BLOCK:
        x = torch.nn.functional.pad(x, (0, -x.shape[-1] % _SUM_BLOCK)).unflatten(-1, (-1, _SUM_BLOCK)).sum(-1)
    return x.contiguous().sum(-1)


def min_max(x: Tensor) -> tuple[int, int]:
    """Smallest and largest of one or more whole numbers; synchronises with the device.

    On the CPU, NumPy is two to three times as fast as ``aminmax``: blocks stay in the cache from minimum to maximum,
    and no threads start.
    """
    if x.device.type != "cpu":
        low, high = torch.stack(torch.aminmax(x)).tolist()
        return low, high
    numbers = x.numpy()
    if x.numel() <= _MIN_MAX_BLOCK or not x.is_contiguous():  # strided: in memory order; blocks would be copies
        return int(np.minimum.reduce(numbers, None)), int(np.maximum.reduce(numbers, None))
    flat = numbers.reshape(-1)
    parts = [flat[start : start + _MIN_MAX_BLOCK] for start in range(0, len(flat), _MIN_MAX_BLOCK)]
    ends = [(part.min(), part.max()) for part in parts]
    return int(min(low for low, _ in ends)), int(max(high for _, high in ends))


def sum_padding_invariant(x: Tensor) -> Tensor:
    """Sum over the last dimension by blocks in order, so that trailing blocks of zeros change no bit."""
    width, x = x.shape[-1], x.contiguous()  # strides change the order of a sum
    if width <= SUM_BLOCK:
        return x.sum(-1)
    if width % SUM_BLOCK:
        x = torch.nn.functional.pad(x, (0, -width % SUM_BLOCK))
    return x.view(*x.shape[:-1], -1, SUM_BLOCK).sum(-1).cumsum(-1)[..., -1]


def tensor_of_number(x: Any) -> Tensor:
    """A tensor ``()`` of a Python number, int64 or float64, on the CPU; sooner than by ``torch.tensor``."""
    return torch.from_numpy(np.array(x))


def float64(x: Number) -> Number:
    """The same numbers as float64."""
    return x.double() if isinstance(x, Tensor) else float(x)


def at_least(x: Tensor, low: float) -> Tensor:
    """``x``, raised to at least ``low``; the gradient is 1 from ``low`` (inclusive) on, and 0 below."""
    return x.masked_fill(x < low, low) if x.requires_grad else x.clamp(min=low)


def at_most(x: Tensor, high: float) -> Tensor:
    """``x``, lowered to at most ``high``; the gradient is 1 up to ``high`` (inclusive), and 0 above."""
    return x.masked_fill(x > high, high) if x.requires_grad else x.clamp(max=high)


def larger(x: Number, y: Number) -> Number:
    """The larger of two numbers; equal numbers get half of the gradient each."""
    if not isinstance(x, Tensor):
        return max(x, y)
    if not (x.requires_grad or y.requires_grad):
        return torch.maximum(x, y)
    return torch.where(x == y, (x + y) / 2, torch.where(x < y, y, x))


def smaller(x: Number, y: Number) -> Number:
    """The smaller of two numbers; equal numbers get half of the gradient each."""
    if not isinstance(x, Tensor):
        return min(x, y)
    if not (x.requires_grad or y.requires_grad):
        return torch.minimum(x, y)
    return torch.where(x == y, (x + y) / 2, torch.where(y < x, y, x))


def largest(x: Tensor) -> Tensor:
    """The largest number of the last dimension; equal numbers share the gradient evenly."""
    return share_gradient(x, lambda y: y.amax(-1), lambda y: y.unsqueeze(-1), lambda y: y.sum(-1))


def share_gradient(
    x: Tensor,
    maximum: Callable[[Tensor], Tensor],
    broadcast: Callable[[Tensor], Tensor],
    add: Callable[[Tensor], Tensor],
) -> Tensor:
    """The maxima of groups of numbers; the largest numbers of a group share its gradient evenly.

    ``broadcast`` gives each number the value of its group, ``add`` sums the numbers of each group.
    """
    if not x.requires_grad:
        return maximum(x)
    constant = x.detach()
    maxima = maximum(constant)
    is_largest = (constant == broadcast(maxima)).double()
    return maxima + add((x - constant) * (is_largest / broadcast(add(is_largest))))


def one_if_zero(x: Tensor, *, whole: bool = False) -> Tensor:
    """``x`` of 0 or more, with 1 in place of 0; the gradient is 1 everywhere. ``whole`` numbers take one operation."""
    return x.clamp(min=1) if whole else x + (1.0 - x.sign())


def reciprocal_or_zero(x: Tensor, filled: Tensor) -> Tensor:
    """``1 / x`` of numbers of 0 or more, and 0 (with a gradient of 0) for 0; ``filled`` is their sign.

    Numbers below 1e-150 count as 1e-150, with a gradient of 0.
    """
    return filled / at_least(x, _MIN_DIVISOR)


def log_or_zero(x: Number) -> Number:
    """Natural logarithm, and 0 (with a gradient of 0) where ``x`` is not positive."""
    if not isinstance(x, Tensor):
        return tensor_of_number(float(x)).log().item() if x > 0 else 0.0
    return torch.log(x.double().masked_fill(x <= 0, 1.0))


def sqrt_or_zero(x: Number) -> Number:
    """Square root, and 0 (with a gradient of 0) where ``x`` is not positive."""
    if not isinstance(x, Tensor):  # torch's own root: that of Python rounds otherwise
        return tensor_of_number(x).sqrt().item() if x > 0 else 0.0
    if not x.requires_grad:
        return x.clamp(min=0).sqrt()
    undefined = x <= 0
    return torch.sqrt(x.masked_fill(undefined, 1.0)).masked_fill(undefined, 0.0)


def safe_divide(numerator: Number, denominator: Number) -> Number:
    """``numerator / denominator``, and 0 for 0/0; a denominator of 0 needs a numerator of 0.

    The mask is on the denominator, before the division: a mask on the result would leave nan in the gradient.
    """
    if not isinstance(denominator, Tensor):
        return numerator / (denominator or 1.0)
    return numerator / denominator.masked_fill(denominator == 0, 1.0)


def log_gamma_rest(x: Numbers) -> Numbers:
    """``log(gamma(x))`` minus Stirling's ``(x - 1/2) log x - x + log(2 pi) / 2``, for numbers above 0.

    Differences between log-gammas of large numbers lose digits; differences between these rests do not.
    """
    of, log_gamma = _library(x)
    few = x < _STIRLING_FROM
    large = of.where(few, _STIRLING_FROM, x)
    square = 1 / (large * large)
    series = (((square / -1680 + 1 / 1260) * square - 1 / 360) * square + 1 / 12) / large
    small = log_gamma(x) - ((x - 0.5) * of.log(x) - x + math.log(2 * math.pi) / 2)
    found: Numbers = of.where(few, small, series)
    return found


def log_binomial(x: Numbers, y: Numbers) -> Numbers:
    """``log((x + y)! / (x! y!))`` of numbers of 0 or more, to all digits even if one or both are large."""
    of, log_gamma = _library(x)
    few, more = of.minimum(x, y), of.maximum(x, y) + 1
    power = (more + few - 0.5) * of.log1p(few / more) - few + few * of.log(more)
    above, below = log_gamma_rest(of.stack([more + few, more]))
    found: Numbers = power - log_gamma(few + 1) + (above - below)
    return found


def _library(x: Tensor | NDArray[np.float64]) -> tuple[Any, Callable[[Any], Any]]:
    """The functions for tensors, or for arrays, whose operations start sooner; and the logarithm of gamma."""
    if isinstance(x, Tensor):
        return torch, torch.lgamma
    from scipy.special import gammaln

    return np, gammaln


def log_factorial(x: Tensor) -> Tensor:
    """``log(x!)``, by log-gamma (factorials overflow at 171)."""
    return torch.lgamma(x + 1)


def log_factorial_rest(x: Tensor) -> Tensor:
    """``log(x!)`` minus ``x log x - x``, for whole numbers; 0 for 0."""
    positive = x.clamp(min=1)
    return (log_gamma_rest(positive) + torch.log(2 * math.pi * positive) / 2) * x.sign()


def of_whole_numbers(function: Callable[[Tensor], Tensor], x: Tensor, most: int | None) -> Tensor:
    """A function of numbers of 0 or more; a fast table has its values at whole numbers on the host, up to ``most``."""
    if most is None or most > _MOST_TABULATED:
        return function(x.double())
    return torch.from_numpy(np.asarray(_tabulated(function).take(x.numpy())))


@cache
def _tabulated(function: Callable[[Tensor], Tensor]) -> NDArray[np.float64]:
    return np.asarray(function(torch.arange(_MOST_TABULATED + 1, dtype=torch.float64)).numpy())


class WholeNumbersAsFloat64(TorchFunctionMode):
    """Inside, functions of whole numbers with float32 results in torch, such as quotients, give float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        value = func(*args, **(kwargs or {}))
        if not isinstance(value, Tensor) or value.dtype != torch.float32:
            return value
        tensors = [x for x in args if isinstance(x, Tensor)]
        if not tensors or any(x.is_floating_point() for x in tensors):
            return value
        return func(*(x.double() if isinstance(x, Tensor) else x for x in args), **(kwargs or {}))
