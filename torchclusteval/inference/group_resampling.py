"""Bootstrap that resamples whole groups of items, such as documents: pooled scores, or means, of drawn groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from torchclusteval.inference import intervals
from torchclusteval.inference.draws import multinomial
from torchclusteval.inference.resampling import Values
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.evaluation import SumsOfGroups
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
        del at
        groups = torch.ones(1, self.n_elements, dtype=torch.int64, device=self.device)
        return multinomial(groups, count, generator).squeeze(1)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        del measures  # the sums are those of all of them
        weights = drawn.double()
        values: Values = {}
        for of_groups in self.sums:
            totals = {function: torch.einsum("kg,bgp->kbp", weights, x[at]) for function, x in of_groups.sums.items()}
            other = weights @ (~of_groups.identical[at]).double().mT
            values |= of_groups.combine(totals, other == 0, weights @ of_groups.items[at].double().mT)
        return values

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        """From the values without each group."""
        del measures
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


def group_resampler(tables: ContingencyTables, sums: Sequence[SumsOfGroups]) -> GroupResampler:
    """For tables ``(*batch, G, R, C)`` and the sums of all measures.

    Raises:
        ValueError: there are fewer than two groups, whose draws would all be the same.
    """
    *batch, groups = sums[0].items.shape if sums else tables.batch_shape
    if groups < 2:
        remedy = "from_labels(..., by=ids) makes each group a table"
        raise ValueError(f"tables: expected at least two groups to draw from; got {groups} ({remedy})")
    size = torch.Size(batch).numel()
    flat = [
        replace(
            part,
            sums={function: x.reshape(size, groups, x.shape[-1]) for function, x in part.sums.items()},
            identical=part.identical.reshape(size, groups),
            items=part.items.reshape(size, groups),
        )
        for part in sums
    ]
    return GroupResampler(flat, size, groups, tables.device)


def means_over_groups(scores: Sequence[Scores]) -> list[list[SumsOfGroups]]:
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
