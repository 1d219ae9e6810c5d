"""What a report shows, computed from labels as codes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.inference import bootstrap, cluster_stability, paired_bootstrap, pairwise
from torchclusteval.inference.agreement import stability_of
from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.inference.intervals import adjust, rounding_tolerance, two_sided, without_rounding
from torchclusteval.inference.results import Difference, Interval, ResultsByMeasure
from torchclusteval.inference.sampling import Rng, seeded
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.scoring.matching import Matching, match
from torchclusteval.scoring.matching_scores import MatchedScores, matched_scores
from torchclusteval.scoring.pooling import pooled
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

FEW_GROUPS = 6  # with fewer groups of items no difference can be real at 95 %, and an interval is a range of scores
MAX_COMPARED = 60  # clusterings in the matrix of agreement, in differences and as runs
MAX_RANKED = 200  # clusterings with an interval
_MAX_UNRANKED = 500  # clusterings of which all pairs are compared where no truth ranks them


@dataclass(frozen=True, eq=False)
class Labelling:
    """Clusterings as codes, with the truth and the groups of items where there are any."""

    names: list[str]
    codes: Tensor  # (B, N) int64
    clusters: Callable[[int], list[str]]  # the labels of the codes of one clustering
    kept: Tensor  # (B, N) bool: items that the clustering has
    true: Tensor | None = None  # (N,) int64
    classes: tuple[str, ...] = ()
    with_class: Tensor | None = None  # (N,) bool
    groups: Tensor | None = None  # (N,) int64
    group_names: tuple[str, ...] = ()

    def scored(self, which: Any = slice(None)) -> Tensor:
        """``(B, N)`` items that are scored."""
        kept = self.kept[which]
        return kept if self.with_class is None else kept & self.with_class

    def apart(self) -> "Labelling":
        """The same with the clusters of different groups of items as different clusters."""
        if self.groups is None:
            return self
        codes, names = [], []
        for i, row in enumerate(self.codes):
            width = int(row.max()) + 1 if len(row) else 1
            used, place = torch.unique(self.groups * width + row, return_inverse=True)
            labels = self.clusters(i)
            codes.append(place)
            names.append([f"{self.group_names[x // width]} / {labels[x % width]}" for x in used.tolist()])
        return replace(self, codes=torch.stack(codes), clusters=names.__getitem__)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results that a report shows; numbers are those of the clusterings in their own order."""

    order: list[int]  # the clusterings, the best first
    lead: Measure  # by which
    scores: Scores | None  # (B,); macro means with groups; None without a truth
    pooled: Scores | None  # (B,) of the lead, with groups, where it is defined
    by_group: Tensor | None  # (G,) the lead of the best clustering
    tables: ContingencyTables | None  # (B,) or (B, G)
    intervals: ResultsByMeasure[Interval] | None  # of the first clusterings of the order
    differences: ResultsByMeasure[Difference] | None  # the best minus those after it
    same: Tensor | None  # (M - 1,) bool: those after it that are the same partition of the items that both have
    agreement: Scores | None  # (M, M) of the first clusterings of the order
    typical: Tensor | None  # (B,) mean agreement with the others, where no truth ranks them
    stability: ClusterStability | None  # of the clusters of the best

    @property
    def best(self) -> int:
        return self.order[0]

    @property
    def compared(self) -> list[int]:
        """The clusterings of the agreement matrix."""
        return self.order[:MAX_COMPARED]


def gather(
    labels: Labelling, measures: Sequence[Measure], lead: Measure, n_resamples: int, confidence_level: float, rng: Rng
) -> Evidence:
    """Score, resample and compare.

    Raises:
        ValueError: no clustering has a score, or there are too many to rank without a truth.
    """
    tables = scores = together = by_group = intervals = differences = typical = None
    if labels.true is None:
        count, lead = len(labels.names), agreement_measure(lead)
        if count > _MAX_UNRANKED:
            raise ValueError(f"labels_pred: expected at most {_MAX_UNRANKED} clusterings without a truth; got {count}")
        if count > 1:
            typical = stability_of(_agreement(labels, list(range(count)), lead)[lead.name], lead).agreement
        order = _order(torch.zeros(count) if typical is None else typical, lead)
    else:
        tables = _tables(labels)
        by = evaluate_tables(tables, list(measures))
        scores = by if labels.groups is None else by.macro()
        order = _order(scores[lead.name], lead)
        generator = seeded(rng)
        if labels.groups is None:
            intervals = bootstrap(tables[order[:MAX_RANKED]], [lead], n_resamples, confidence_level, rng=generator)
            differences = _differences(labels, order, lead, n_resamples, confidence_level, generator)
        else:
            by_group = by[lead.name][order[0]]
            if lead.parts is not None:
                together = pooled(tables, [lead])
            intervals, differences = _of_groups(by[lead.name], order, lead, n_resamples, confidence_level, generator)
    apart = labels.apart()
    others = order[1:MAX_COMPARED]
    same = None if differences is None else _same_partition(apart, order[0], others)
    agreement = _agreement(labels, order[:MAX_COMPARED], lead) if others else None
    stability = None
    if others:
        codes = apart.codes.masked_fill(~apart.kept, 0)
        stable = apart.kept[order[0]].nonzero().squeeze(1)
        found = cluster_stability(codes[order[0]][stable], codes[others][:, stable], apart.kept[others][:, stable])
        names = apart.clusters(order[0])
        stability = replace(found, labels=np.array([names[code] for code in found.labels.tolist()], dtype=object))
    return Evidence(
        order=order,
        lead=lead,
        scores=scores,
        pooled=together,
        by_group=by_group,
        tables=tables,
        intervals=intervals,
        differences=differences,
        same=same,
        agreement=agreement,
        typical=typical,
        stability=stability,
    )


def _tables(labels: Labelling) -> ContingencyTables:
    assert labels.true is not None
    return ContingencyTables.from_labels(
        labels.true,
        labels.codes,
        by=labels.groups,
        mask=labels.scored(),
        num_classes=max(1, len(labels.classes)),
        num_clusters=int(labels.codes.max()) + 1,
        item_dims=1,
    )


def _order(values: Tensor, lead: Measure) -> list[int]:
    """The best first, equal ones in the order given, nan last."""
    goodness = values.detach() if lead.better == "higher" else -values.detach()
    found: list[int] = goodness.nan_to_num(nan=-torch.inf).argsort(descending=True, stable=True).tolist()
    return found


def agreement_measure(lead: Measure) -> Measure:
    """The measure of agreement: the lead, if it does not change when the sides are exchanged."""
    return lead if lead.swapped == lead.name else MEASURES["adjusted_rand"]


def _agreement(labels: Labelling, chosen: list[int], lead: Measure) -> Scores:
    """Of all pairs; with groups the mean over them, as items of different groups cannot agree."""
    measure = agreement_measure(lead)
    if labels.groups is not None:
        width = int(labels.codes.max()) + 1
        matrix = torch.stack([_agreement_by_group(labels, i, chosen, measure, width) for i in chosen])
        items = torch.full(matrix.shape, labels.codes.shape[1], device=matrix.device)
        names = tuple(labels.names[i] for i in chosen)
        return Scores({measure.name: matrix}, {measure.name: measure}, items, None, {}, names)
    found = pairwise(labels.codes[chosen], [measure], mask=labels.kept[chosen], item_dims=1)
    return replace(found, clusterings=tuple(labels.names[i] for i in chosen), share_scored=None)


def _agreement_by_group(labels: Labelling, one: int, others: list[int], measure: Measure, width: int) -> Tensor:
    tables = ContingencyTables.from_labels(
        labels.codes[one],
        labels.codes[others],
        by=labels.groups,
        mask=labels.kept[one] & labels.kept[others],
        num_classes=width,
        num_clusters=width,
        item_dims=1,
    )
    return evaluate_tables(tables, [measure]).macro()[measure.name]


def _differences(
    labels: Labelling,
    order: list[int],
    lead: Measure,
    n_resamples: int,
    confidence_level: float,
    generator: torch.Generator | None,
) -> ResultsByMeasure[Difference] | None:
    others = order[1:MAX_COMPARED]
    if not others:
        return None
    found = paired_bootstrap(
        labels.true,
        labels.codes[order[0]],
        labels.codes[others],
        [lead],
        _enough(n_resamples, len(others), confidence_level),
        confidence_level,
        rng=generator,
        correction="holm",
        mask=labels.scored(order[0]) & labels.scored(others),
        item_dims=1,
    )
    return replace(found, clusterings=tuple(labels.names[i] for i in others))


def _same_partition(apart: Labelling, best: int, others: list[int]) -> Tensor:
    tables = ContingencyTables.from_labels(
        apart.codes[best], apart.codes[others], mask=apart.kept[best] & apart.kept[others], item_dims=1
    )
    return tables.identical & (tables.n_items > 0)


def _enough(n_resamples: int, comparisons: int, confidence_level: float) -> int:
    """Resamples with which a comparison can pass Holm's correction."""
    return max(n_resamples, int(np.ceil(2 * comparisons / (1 - confidence_level))) + comparisons)


def _of_groups(
    values: Tensor,
    order: list[int],
    lead: Measure,
    n_resamples: int,
    confidence_level: float,
    generator: torch.Generator | None,
) -> tuple[ResultsByMeasure[Interval], ResultsByMeasure[Difference] | None]:
    """Intervals and differences of means over groups ``(B, G)``, by resampling the groups.

    A p-value is at least ``2^(1 - G)``, the least that the signs of ``G`` differences can have.
    """
    others = order[1:MAX_COMPARED]
    groups, count = values.shape[1], _enough(n_resamples, len(others), confidence_level)
    drawn = torch.randint(groups, (count, groups), generator=generator).to(values.device)
    weights = values.new_zeros(count, groups).scatter_add_(1, drawn, values.new_ones(drawn.shape))
    ranked = values[order[:MAX_RANKED]]
    known = ~ranked.isnan()
    draws = (weights @ ranked.nan_to_num(0.0).mT) / (weights @ known.double().mT)  # (R, B)
    estimate = ranked.nanmean(1)
    level = (1 - confidence_level) / 2
    settings = {
        "n_resamples": count,
        "confidence_level": confidence_level,
        "method": "percentile",
        "resampled": "groups",
    }
    interval = Interval(
        estimate=estimate,
        low=torch.nanquantile(draws, level, 0),
        high=torch.nanquantile(draws, 1 - level, 0),
        standard_error=_nanstd(draws),
        bias=draws.nanmean(0) - estimate,
    )
    intervals = ResultsByMeasure({lead.name: interval}, settings, estimate.shape, {})
    if not others:
        return intervals, None
    rest = slice(1, len(others) + 1)
    tolerance = rounding_tolerance(estimate[:1])
    difference = without_rounding(estimate[:1] - estimate[rest], tolerance)
    spread = without_rounding(draws[:, :1] - draws[:, rest], tolerance)
    p_value = two_sided(spread, torch.zeros_like(difference), tolerance)
    # draws of few groups that all agree never disagree: no test of their signs has a smaller p-value than this
    least = 2.0 ** (1 - (known[:1] & known[rest]).sum(1).double())
    p_value = torch.maximum(p_value, least).clamp(max=1.0)
    floor = min(1.0, max(2 / (count + 1), float(least.min())) * len(others))
    compared = settings | {"correction": "holm", "smallest_p_adjusted": floor}
    record = Difference(
        estimate_a=estimate[:1].expand(len(others)),
        estimate_b=estimate[rest],
        difference=difference,
        low=torch.nanquantile(spread, level, 0),
        high=torch.nanquantile(spread, 1 - level, 0),
        standard_error=_nanstd(spread),
        p_value=p_value,
        p_adjusted=adjust(p_value, "holm"),
    )
    return intervals, ResultsByMeasure({lead.name: record}, compared, difference.shape, {})


def _nanstd(draws: Tensor) -> Tensor:
    """Standard deviation ``(B,)`` of ``(R, B)`` draws, without those of groups that have no score."""
    known = ~draws.isnan()
    away = (draws - draws.nanmean(0)).nan_to_num(0.0)
    return ((away**2).sum(0) / (known.sum(0) - 1).clamp(min=1)).sqrt()


class Best(NamedTuple):
    """The best clustering, on the host."""

    table: ContingencyTables  # with labels
    matching: Matching
    scores: MatchedScores  # of the matching


def match_best(labels: Labelling, found: Evidence) -> Best | None:
    """The best clustering matched with the truth; None without one, or where groups are scored by themselves."""
    if found.tables is None or labels.groups is not None:
        return None
    table = _labelled_table(labels, found).to("cpu")
    matching = match(table)
    return Best(table, matching, matched_scores(table, matching))


def _labelled_table(labels: Labelling, found: Evidence) -> ContingencyTables:
    """The table of the best clustering, with its labels."""
    assert found.tables is not None
    own = found.tables[found.best]
    rows, columns = own.shape[-2:]
    clusters = labels.clusters(found.best)
    names = np.array([*clusters, *[""] * (columns - len(clusters))][:columns], dtype=object)
    classes = np.array([*labels.classes, *[""] * (rows - len(labels.classes))][:rows], dtype=object)
    return own._replace(classes=classes, clusters=names, names=None, by=None, margins=None)
