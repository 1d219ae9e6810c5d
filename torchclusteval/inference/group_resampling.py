"""Bootstrap that resamples whole groups of items, such as documents: pooled scores, or means, of drawn groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from torchclusteval.inference import intervals
from torchclusteval.inference.draws import multinomial
from torchclusteval.inference.resampling import Values
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection
from torchclusteval.scoring.evaluation import SumsOfGroups, check_are_groups, evaluate_tables, pool
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class GroupResampler:
    """Draws of groups, the same for all clusterings; a resample is how often each group was drawn."""

    sums: list[SumsOfGroups]  # of tables (B, G, R, C)
    n_tables: int
    n_elements: int
    device: torch.device
    shared = True

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        groups = torch.ones(1, self.n_elements, dtype=torch.int64, device=self.device)
        return multinomial(groups, count, generator).squeeze(1)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        weights = drawn.double()  # for the sums, which are those of all measures
        values: Values = {}
        for of_groups in self.sums:
            totals = {function: torch.einsum("kg,bgp->kbp", weights, x[at]) for function, x in of_groups.sums.items()}
            other = weights @ (~of_groups.identical[at]).double().mT
            values |= of_groups.combine(totals, other == 0, weights @ of_groups.items[at].double().mT)
        return values

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        """From the values without each group."""
        found = {}
        table = torch.arange(self.n_tables, device=self.device).repeat_interleave(self.n_elements)
        for of_groups in self.sums:
            totals = {function: x.sum(-2, keepdim=True) - x for function, x in of_groups.sums.items()}
            other = (~of_groups.identical).long()
            items = of_groups.items.sum(-1, keepdim=True) - of_groups.items
            values = of_groups.combine(totals, other.sum(-1, keepdim=True) == other, items)
            for name, value in values.items():
                flat = value.reshape(-1)
                found[name] = intervals.acceleration(flat, torch.ones_like(flat), table, self.n_tables)
        return found


def group_resampler(
    tables: ContingencyTables, sums: Sequence[SumsOfGroups], shape: torch.Size | None = None
) -> GroupResampler:
    """For tables ``(*batch, G, R, C)`` and the sums of all measures; several clusterings broadcast to a shape.

    Raise on fewer than two groups, whose draws would all be the same.
    """
    *batch, groups = sums[0].items.shape if sums else tables.batch_shape
    if groups < 2:
        remedy = "from_labels(..., by=ids) makes each group a table"
        raise ValueError(f"tables: expected at least two groups to draw from; got {groups} ({remedy})")
    if shape is not None and math.prod(batch) > 1:
        batch = [*shape]
    size = math.prod(batch)
    flat = [
        replace(
            part,
            sums={f: x.expand(*batch, -1, -1).reshape(size, groups, x.shape[-1]) for f, x in part.sums.items()},
            identical=part.identical.expand(*batch, -1).reshape(size, groups),
            items=part.items.expand(*batch, -1).reshape(size, groups),
        )
        for part in sums
    ]
    return GroupResampler(flat, size, groups, tables.device)


def scores_of_groups(
    sides: Sequence[ContingencyTables], measures: Selection, macro: bool, zero_division: float | None = None
) -> list[tuple[Scores, list[SumsOfGroups]]]:
    """For each side, the scores of all groups together and the sums behind them.

    With ``macro``, means over the groups that have a finite score on all sides.
    """
    if not macro:
        return [pool(tables, measures, zero_division) for tables in sides]
    check_are_groups(sides[0])
    scores, found = [evaluate_tables(tables, measures, zero_division=zero_division) for tables in sides], []
    for own, sums in zip(scores, _means_over_groups(scores), strict=True):
        values: Values = {}
        for x in sums:
            values |= x.combine({f: y.sum(-2) for f, y in x.sums.items()}, x.identical.all(-1), x.items.sum(-1))
        found.append((replace(own.macro(), values_by_name=values), sums))
    return found


def _means_over_groups(scores: Sequence[Scores]) -> list[list[SumsOfGroups]]:
    """For each of some scores ``(*batch, G)``, sums that give the means over the groups with a finite value in all."""
    sums: list[list[SumsOfGroups]] = [[] for _ in scores]
    for name, measure in scores[0].measures.items():
        values = torch.broadcast_tensors(*(x[name].detach() for x in scores))
        known = torch.stack([value.isfinite() for value in values]).all(0)
        averaged = replace(measure, parts=_unused, combine=_mean, zero_division=False, perfect=None)
        for own, value in zip(sums, values, strict=True):
            parts = torch.stack([value.where(known, 0.0), known.double()], -1)
            own.append(SumsOfGroups([averaged], {_unused: parts}, torch.zeros_like(known), known.double()))
    return sums


def _unused(tables: ContingencyTables) -> Tensor:
    raise NotImplementedError


def _mean(sums: Tensor) -> Tensor:
    return sums[..., 0] / sums[..., 1]
