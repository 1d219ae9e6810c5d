"""Tests of a report: intervals that leave out 0 where, and only where, the adjusted p-value is below the level.

Both come from the same draws: the interval has the level at which Holm's procedure tests the difference, and its ends
are draws, so many from the first and the last as the p-value takes. Over groups of items the draws are means over
subsets of the groups (typical values, Hartigan 1969): the p-value is that of exchanging two clusterings within groups.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from torchclusteval.inference.bootstrap_options import POPULATIONS
from torchclusteval.inference.intervals import rounding_tolerance, two_sided, without_rounding
from torchclusteval.inference.results import Difference, Interval, ResultsByMeasure
from torchclusteval.measures.record import Measure

GOAL = 0.001  # adjusted p-values down to this are worth more draws
_MAX_CELLS = 1 << 24  # of the draws of groups
_EDGE = 1 - 1e-12  # a p-value at a level does not pass it, whatever the rounding


def needed(comparisons: int, level: float) -> int:
    """Draws with which one of so many comparisons can pass a level after Holm's correction."""
    return math.ceil(2 * comparisons / level) + comparisons


def passes(p_adjusted: Tensor, level: float) -> Tensor:
    return p_adjusted < level * _EDGE


def holm(p_values: Tensor, first: list[int], same: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """Adjusted p-values ``(M,)``, and the level of the interval of each difference.

    Args:
        p_values: nan is no comparison.
        first: for each clustering the first equal partition; equal partitions are one comparison.
        same: ``(M,)`` bool, equal to the partition that all are compared with: no comparison.
        level: of the test.
    """
    counted = [i for i, x in enumerate(first) if x == i and p_values[i] == p_values[i] and not same[i]]
    adjusted, levels = p_values.clone(), torch.full_like(p_values, level)
    worst, open_level = 0.0, None
    for rank, i in enumerate(sorted(counted, key=lambda i: float(p_values[i]))):
        left = len(counted) - rank
        worst = max(worst, min(1.0, float(p_values[i]) * left))
        adjusted[i] = worst
        if open_level is None and not worst < level * _EDGE:
            open_level = level / left  # at which the procedure stops
        levels[i] = level / left if open_level is None else open_level
    for i, x in enumerate(first):
        adjusted[i], levels[i] = (p_values[i], level) if same[i] else (adjusted[x], levels[x])
    return adjusted, levels


def ends(draws: Tensor, levels: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """Ends ``(B,)`` of the intervals of draws ``(K, B)``; nan where no p-value could pass the level.

    Args:
        draws: nan where there is none.
        levels: ``(B,)``: an interval leaves out values with a p-value below.
        least: ``(B,)`` the smallest p-value that is possible.
    """
    known = (~draws.isnan()).sum(0)
    number = ((levels * _EDGE / 2 * (known + 1)).ceil() - 1).long()  # the draw that is the end, from 1
    none = (number < 1) | ~(least < levels * _EDGE)
    ordered = draws.nan_to_num(nan=torch.inf).sort(0).values
    low, high = (ordered.gather(0, x.clamp(0, len(draws) - 1)[None]).squeeze(0) for x in (number - 1, known - number))
    return low.masked_fill(none, torch.nan), high.masked_fill(none, torch.nan)


def with_intervals(
    found: ResultsByMeasure[Difference], lead: Measure, first: list[int], same: Tensor
) -> ResultsByMeasure[Difference]:
    """Differences from draws of items or classes, with p-values adjusted and intervals that agree with them."""
    record, level = found[lead.name], 1 - found.settings["confidence_level"]
    adjusted, levels = holm(record.p_value, first, same, level)
    if str(found.settings["resampled"]).startswith("classes"):  # with normal errors
        away = record.standard_error * torch.special.ndtri(1 - levels / 2)
        low, high, least = record.difference - away, record.difference + away, 0.0
    else:
        assert record.resamples is not None
        least = 2 / (len(record.resamples) + 1)
        low, high = ends(record.resamples, levels, torch.full_like(levels, least))
    gone = record.p_value.isnan() | record.low.isnan()  # draws that say nothing have no interval
    made = replace(record, low=low.masked_fill(gone, torch.nan), high=high.masked_fill(gone, torch.nan))
    # verdicts name equal partitions, and the p-values of the page are the adjusted ones
    notes = tuple(x for x in found.notes if not x.startswith(("p-values stop", "the same", "both")))
    made = replace(made, p_adjusted=adjusted, resamples=None)
    return _compared(replace(found, notes=notes), lead, made, least, first, same)


def _compared(
    found: ResultsByMeasure[Difference], lead: Measure, record: Difference, least: float, first: list[int], same: Tensor
) -> ResultsByMeasure[Difference]:
    known = ~record.p_value.isnan() & ~same
    tests = sum(x == i and bool(known[i]) for i, x in enumerate(first))
    settings = {**found.settings, "correction": "holm", "comparisons": tests}
    return replace(found, records={lead.name: record}, settings=settings | {"smallest_p_adjusted": least * tests})


def over_groups(
    values: Tensor, lead: Measure, n_resamples: int, level: float, generator: torch.Generator | None
) -> ResultsByMeasure[Interval]:
    """Means ``(B,)`` over groups, of scores ``(B, G)``, and their intervals."""
    draws, least = _subset_means(values, n_resamples, generator)
    low, high = ends(draws, torch.full_like(least, level), least)
    estimate, spread, mean = values.nanmean(1), _spread(draws), draws.nanmean(0)
    record = Interval(estimate=estimate, low=low, high=high, standard_error=spread, bias=mean - estimate)
    settings = _settings(len(draws), level, values.shape[1])
    return ResultsByMeasure({lead.name: record}, settings, estimate.shape, {})


def differences_over_groups(
    values: Tensor,
    lead: Measure,
    n_resamples: int,
    level: float,
    generator: torch.Generator | None,
    first: list[int],
    same: Tensor,
) -> ResultsByMeasure[Difference]:
    """The mean of the first row of ``(B, G)`` less those of the others, over the groups that both have."""
    away = values[:1] - values[1:]
    wanted = min(needed(len(away), GOAL), _MAX_CELLS // sum(away.shape))
    draws, least = _subset_means(away, max(n_resamples, needed(len(away), level), wanted), generator)
    tolerance = rounding_tolerance(values[0].nanmean())
    draws, difference = (without_rounding(x, tolerance) for x in (draws, away.nanmean(1)))
    zero = torch.zeros_like(difference).masked_fill(difference.isnan(), torch.nan)
    p_value = two_sided(draws, zero, tolerance).maximum(least).clamp(max=1.0)
    adjusted, levels = holm(p_value, first, same, level)
    low, high = ends(draws, levels, least)
    both = ~away.isnan()
    one, other = (x.masked_fill(~both, torch.nan).nanmean(1) for x in (values[:1].expand(both.shape), values[1:]))
    record = Difference(one, other, difference, low, high, _spread(draws), p_value, p_adjusted=adjusted)
    settings = _settings(len(draws), level, values.shape[1])
    found = ResultsByMeasure({lead.name: record}, settings, difference.shape, {})
    floor = max(2 / (len(draws) + 1), float(least.min()))
    return _compared(found, lead, record, floor, first, same)


def _settings(draws: int, level: float, groups: int) -> dict[str, object]:
    drawn: dict[str, object] = {"n_resamples": draws, "confidence_level": 1 - level, "method": "subsets"}
    drawn["population"] = POPULATIONS["groups"]
    return drawn | {"resampled": f"{'all' if draws == 2**groups - 1 else 'random'} subsets of the groups"}


def _subset_means(values: Tensor, count: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Means ``(K, B)`` over subsets of the groups of ``(B, G)``: all subsets, or random ones where there are more.

    And the smallest p-value ``(B,)`` that the signs of the groups can give.
    """
    groups = values.shape[1]
    if groups < 60 and 2**groups - 1 <= count:
        numbers = torch.arange(1, 2**groups, device=values.device)
        inside = (numbers[:, None] >> torch.arange(groups, device=values.device)) & 1
    else:
        inside = torch.randint(2, (count, groups), generator=generator).to(values.device)
    known = ~values.isnan()
    means = (inside.double() @ values.nan_to_num(0.0).mT) / (inside.double() @ known.double().mT)
    return means, 2.0 ** (1 - known.sum(1).double())


def _spread(draws: Tensor) -> Tensor:
    known = ~draws.isnan()
    away = (draws - draws.nanmean(0)).nan_to_num(0.0)
    return ((away**2).sum(0) / (known.sum(0) - 1).clamp(min=1)).sqrt()
