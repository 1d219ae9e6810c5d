"""Resamples -> intervals and p-values, and notes on these."""

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

METHODS = ("percentile", "basic", "bca")
CORRECTIONS = ("holm", "benjamini-hochberg")


def rounding_tolerance(value: Tensor) -> Tensor:
    """Largest difference between values of one table that rounding alone explains."""
    return 1e-12 * value.abs().nan_to_num(0.0, 0.0, 0.0) + 1e-14


def without_rounding(differences: Tensor, tolerance: Tensor) -> Tensor:
    """Differences, 0 where rounding alone explains them: these count as ties in p-values."""
    return differences.masked_fill(differences.abs() <= tolerance, 0.0)


def quantile(ordered: Tensor, level: Tensor) -> Tensor:
    """Quantiles of ``(resamples, *batch)`` sorted values at levels ``(*batch,)``, linear between neighbours.

    ``torch.quantile`` takes one level for the whole batch and at most 2^24 values.
    """
    position = level * (ordered.shape[0] - 1)
    low = position.floor()
    part = position - low
    index = low.long().clamp(0, ordered.shape[0] - 1)
    below = ordered.gather(0, index.unsqueeze(0)).squeeze(0)
    above = ordered.gather(0, (index + 1).clamp(max=ordered.shape[0] - 1).unsqueeze(0)).squeeze(0)
    # Between infinite neighbours a difference, or a product with 0, would be nan.
    is_exact = (part == 0) | (below == above)
    return torch.where(is_exact, below, below + part * (above - below))


def interval(
    resamples: Tensor, estimate: Tensor, confidence: float, method: str, acceleration: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return (low, high, fallback) ``(*batch,)`` from resamples ``(resamples, *batch)`` by one of ``METHODS``.

    ``fallback`` marks entries where BCa, which takes the acceleration ``(*batch,)``, is undefined and the percentile
    interval is returned; None for other methods.
    """
    ordered = resamples.sort(0).values
    tail = torch.full_like(estimate, (1 - confidence) / 2)
    low_level, high_level, undefined = tail, 1 - tail, None
    if method == "bca":
        assert acceleration is not None
        low_level, high_level, undefined = _bca_levels(resamples, estimate, tail, acceleration)
    low, high = quantile(ordered, low_level), quantile(ordered, high_level)
    if method == "basic":
        # where both are the same infinity the difference would be nan
        low, high = (torch.where(x == estimate, estimate, 2 * estimate - x) for x in (high, low))
    missing = estimate.isnan()
    return low.masked_fill(missing, torch.nan), high.masked_fill(missing, torch.nan), undefined


def normal(estimate: Tensor, standard_error: Tensor, confidence: float, perfect: float | None) -> tuple[Tensor, Tensor]:
    """The estimate plus or minus standard errors; of ``log |perfect - estimate|`` where there is a perfect value.

    Few errors have a skewed distribution, like counts that follow Poisson's; that of their logarithm is less so.
    """
    away = torch.special.ndtri(torch.full_like(estimate, (1 + confidence) / 2)) * standard_error
    if perfect is None:
        return estimate - away, estimate + away
    distance = estimate - perfect
    factor = (away / distance.abs()).exp()
    ends = perfect + distance * factor, perfect + distance / factor
    return torch.minimum(*ends), torch.maximum(*ends)


def _bca_levels(
    resamples: Tensor, estimate: Tensor, tail: Tensor, acceleration: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Levels of both ends after Efron (1987); ties with the estimate count half."""
    away = resamples - estimate
    tolerance = rounding_tolerance(estimate)
    below = (away < -tolerance).double().mean(0)
    tied = ((resamples == estimate) | (away.abs() <= tolerance)).double().mean(0)
    shift = torch.special.ndtri(below + tied / 2)
    ends = []
    undefined = ~(shift.isfinite() & acceleration.isfinite())
    for level in (tail, 1 - tail):
        moved = shift + torch.special.ndtri(level)
        scale = 1 - acceleration * moved
        undefined = undefined | ~(scale > 0)
        ends.append(torch.special.ndtr(shift + moved / scale))
    low, high = (torch.where(undefined, plain, end) for plain, end in zip((tail, 1 - tail), ends, strict=True))
    return low, high, undefined


def acceleration(values: Tensor, weights: Tensor, table: Tensor, tables: int) -> Tensor:
    """BCa acceleration ``(tables,)`` from the jackknife: values without one item of each cell, weighted by its items.

    ``values``, ``weights`` and ``table``, the number of the table, are ``(E,)`` over the cells of all tables.
    """

    def sums(x: Tensor) -> Tensor:
        return x.new_zeros(tables).index_add_(0, table, x * weights)

    mean = sums(values) / sums(torch.ones_like(values))
    away = mean[table] - values
    away = away.masked_fill(away.abs() <= rounding_tolerance(values), 0.0)
    square, cube = sums(away**2), sums(away**3)
    is_constant = square == 0
    return (cube / (6 * square.masked_fill(is_constant, 1.0) ** 1.5)).masked_fill(is_constant, 0.0)


def one_sided(resamples: Tensor, observed: Tensor, tolerance: Tensor, *, upper: bool) -> Tensor:
    """``(hits + 1) / (resamples + 1)``; hits are resamples at least (at most) as high as the observed value."""
    reached = resamples >= observed - tolerance if upper else resamples <= observed + tolerance
    hits = (reached | (resamples == observed)).sum(0)
    p = (hits + 1).double() / (resamples.shape[0] + 1)
    return p.masked_fill(observed.isnan(), torch.nan)


def two_sided(resamples: Tensor, observed: Tensor, tolerance: Tensor) -> Tensor:
    """Twice the smaller one-sided p-value, at most 1."""
    sides = [one_sided(resamples, observed, tolerance, upper=upper) for upper in (True, False)]
    return (2 * torch.minimum(*sides)).clamp(max=1.0)


def two_sided_normal(difference: Tensor, standard_error: Tensor) -> Tensor:
    """P-value of a normal difference; 1 where the difference is 0."""
    p = torch.special.erfc((difference / standard_error).abs() / math.sqrt(2))
    return p.masked_fill(difference == 0, 1.0)


def smallest_p_adjusted(
    values: Iterable[Tensor], resamples: int, correction: str, level: float, *, sides: int
) -> float:
    """The smallest adjusted p-value that so many resamples can give, with a warning where no p-value alone can pass.

    ``values`` are ``(*batch,)`` of each measure, nan without a p-value; adjusted p-values up to ``level`` pass;
    ``sides`` is 2 for two-sided p-values, else 1.
    """
    tests = max((int((~value.isnan()).sum()) for value in values), default=0)
    smallest = min(1.0, sides / (resamples + 1))
    needed = math.ceil(sides * tests / level * (1 - 1e-12)) - 1
    if resamples < needed:
        together = math.ceil(tests * smallest / level * (1 - 1e-12))
        few = "none" if correction == "holm" or together > tests else f"fewer than {together} together"
        expected = f"at least {needed}, as {tests} p-values are adjusted by {correction!r}"
        message = f"n_resamples: expected {expected}; got {resamples}, with which {few} can pass the level {level:.3g}"
        warnings.warn(message, UserWarning, stacklevel=4)  # the caller of the public function
    return min(1.0, smallest * max(1, tests)) if correction == "holm" else smallest


def adjust(p_values: Tensor, correction: str) -> Tensor:
    """P-values ``(*batch,)`` adjusted for their number; nan stays nan and does not count.

    ``"holm"`` bounds the chance of any false finding, ``"benjamini-hochberg"`` the expected share of false findings.
    """
    flat = p_values.reshape(-1)
    known = ~flat.isnan()
    ordered, order = flat[known].sort()
    count = len(ordered)
    rank = torch.arange(1, count + 1, dtype=flat.dtype, device=flat.device)
    if count == 0:
        return p_values.clone()
    if correction == "holm":
        stepped = (ordered * (count + 1 - rank)).cummax(0).values
    else:
        stepped = (ordered * count / rank).flip(0).cummin(0).values.flip(0)
    adjusted = torch.full_like(flat, torch.nan)
    adjusted[known.nonzero().squeeze(-1)[order]] = stepped.clamp(max=1.0)
    return adjusted.reshape(p_values.shape)


def adjust_pairs(
    p_values: Tensor, correction: str | None, first: Tensor, places: Tensor, same: Tensor
) -> Tensor | None:
    """As :func:`adjust`, of ``(B,)`` pairs: equal ones count once, those with the ``same`` two sides not at all.

    ``first`` and ``places`` are those of ``distinct``.
    """
    if correction is None:
        return None
    return torch.where(same, p_values, adjust(p_values[first].masked_fill(same[first], torch.nan), correction)[places])


def note_same(same: Tensor, names: Sequence[Hashable] | None, what: str = "the same partition") -> list[str]:
    """Notes on pairs ``(B,)`` with the same two sides."""
    places = same.nonzero().squeeze(-1).tolist()
    if not places:
        return []
    if len(same) == 1:
        return [f"both clusterings are {what}"]
    shown = ", ".join(repr(i if names is None else names[i]) for i in places[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return [f"{what} as the other side: {shown}{more}"]


def note_few_groups(groups: int, confidence_level: float) -> list[str]:
    """Note on groups so few that no p-value of swaps is below one minus the level."""
    least, level = 2.0 ** (1 - groups), f"intervals of {100 * confidence_level:g} %"
    few = f"{groups} groups say too little for {level} (no p-value of swaps is below {least:g})"
    return [few] if least >= (1 - confidence_level) * (1 - 1e-12) else []


def note_few_for_level(settings: Mapping[str, Any]) -> list[str]:
    """Note on the draws that quantiles need: the least and the greatest of n span a level of ``(n - 1) / (n + 1)``."""
    n, level = settings["n_resamples"], float(settings["confidence_level"])
    needed = math.ceil((1 + level) / (1 - level) * (1 - 1e-12))
    if n >= needed or settings["method"] == "normal":
        return []
    return [f"intervals of {n} draws cannot reach the level {level:.4g}: n_resamples={needed} or more can"]


def note_few_draws(p_values: Iterable[Tensor], n_resamples: int, sides: int, finest: float = 0.0) -> list[str]:
    """Note on the draws needed for .001, or the ``finest`` p-value, where too few draws stop p-values above it.

    ``sides`` is 2 where the least p-value is twice that of one side.
    """
    least, goal = sides / (n_resamples + 1), max(0.001, finest)
    if least <= goal or not any(bool((p <= least * (1 + 1e-9)).any()) for p in p_values):
        return []
    needed = math.ceil(sides / goal * (1 - 1e-12)) - 1
    return [f"p-values stop at {least:.2g}: n_resamples={needed} take them to {goal:.2g}"]
