"""What a report shows, computed from labels as codes."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.progress import Progress, Steps
from torchclusteval.common.warn import warn
from torchclusteval.inference import bootstrap, cluster_stability, paired_bootstrap, pairwise
from torchclusteval.inference.agreement import stability_of
from torchclusteval.inference.bootstrap_options import BootstrapOptions
from torchclusteval.inference.sampling import Rng, seeded
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES
from torchclusteval.reports.tested import differences_over_groups, needed, over_groups, with_intervals
from torchclusteval.scoring.evaluation import evaluate_tables, pooled
from torchclusteval.scoring.matching import MatchedScores, Matching, match, matched_scores
from torchclusteval.scoring.partitions import same_codes
from torchclusteval.scoring.scores import Scores, best_first
from torchclusteval.tables import ContingencyTables

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

    def tables(self, true: Tensor, pred: Tensor, mask: Tensor, **sizes: Any) -> ContingencyTables:
        """Tables of codes, of each group of items where there are groups."""
        return ContingencyTables.from_labels(true, pred, by=self.groups, mask=mask, item_dims=1, **sizes)

    def apart(self) -> "Labelling":
        """The same, with clusters of different groups of items kept apart."""
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
    scores: Scores | None = None  # (B,); macro means with groups; None without a truth
    pooled: Scores | None = None  # (B,) of the lead, with groups, where it is defined
    together: Scores | None = None  # (B,) of the lead over all items, with groups
    by_group: Any = None  # (G,) the lead of the best clustering
    tables: ContingencyTables | None = None  # (B,) or (B, G)
    intervals: Any = None  # ResultsByMeasure[Interval] of the first clusterings of the order
    differences: Any = None  # ResultsByMeasure[Difference]: the best minus those after it
    same: Any = None  # (M - 1,) bool: those after it that are the same partition of the items that both have
    agreement: Any = None  # Scores (M, M) of the first clusterings of the order
    typical: Any = None  # (B,) mean agreement with the others, where no truth ranks them
    stability: Any = None  # ClusterStability of the clusters of the best

    @property
    def best(self) -> int:
        return self.order[0]

    @property
    def compared(self) -> list[int]:
        """The clusterings of the agreement matrix."""
        return self.order[:MAX_COMPARED]


def gather(
    labels: Labelling, measures: Sequence[Measure], lead: Measure, options: BootstrapOptions, rng: Rng, steps: Steps
) -> Evidence:
    """Score, resample and compare; raise on too many clusterings to rank without a truth."""
    found: dict[str, Any] = {}
    if labels.true is None:
        count, lead = len(labels.names), agreement_measure(lead)
        if count > _MAX_UNRANKED:
            raise ValueError(f"labels_pred: expected at most {_MAX_UNRANKED} clusterings without a truth; got {count}")
        if count > 1:
            everyone = _agreement(labels, list(range(count)), lead, steps.step(80))
            found["typical"] = stability_of(everyone[lead.name], lead).agreement
        order = best_first(found.get("typical", torch.zeros(count)).numpy(force=True), lead.better)
    else:
        sizes = {"num_classes": max(1, len(labels.classes)), "num_clusters": int(labels.codes.max()) + 1}
        tables = labels.tables(labels.true, labels.codes, labels.scored(), **sizes)
        by = evaluate_tables(tables, list(measures))
        scores = by if labels.groups is None else by.macro()
        order = best_first(scores[lead.name].numpy(force=True), lead.better)
        found |= {"tables": tables, "scores": scores}
        generator = seeded(rng)
        level = 1 - options.confidence_level
        if labels.groups is not None:
            found["by_group"] = by[lead.name][order[0]]
            found["pooled"] = None if lead.parts is None else pooled(tables, [lead])
            whole = ContingencyTables.from_labels(labels.true, labels.codes, mask=labels.scored(), item_dims=1)
            found["together"] = evaluate_tables(whole, [lead])
            ranked_values = by[lead.name][order[:MAX_RANKED]]
            found["intervals"] = over_groups(ranked_values, lead, options.n_resamples, level, generator)
    first, same = list[int](), torch.zeros(0, dtype=torch.bool)
    if others := order[1:MAX_COMPARED]:
        found["agreement"] = _agreement(labels, order[:MAX_COMPARED], lead, steps.step(10))
        apart = labels.apart()
        codes, kept = apart.codes.masked_fill(~apart.kept, 0), apart.kept
        if labels.true is not None:
            both = kept[order[0]] & kept[others]
            pairs = ContingencyTables.from_labels(codes[order[0]], codes[others], mask=both, item_dims=1)
            found["same"] = same = pairs.identical & (pairs.n_items > 0)
            first = same_codes(codes[others], apart.scored(others))
            if labels.groups is not None:
                compared = by[lead.name][order[:MAX_COMPARED]]
                found["differences"] = differences_over_groups(
                    compared, lead, options.n_resamples, level, generator, first, same
                )
        stable = kept[order[0]].nonzero().squeeze(1)
        stability = cluster_stability(codes[order[0]][stable], codes[others][:, stable], kept[others][:, stable])
        names = np.array(apart.clusters(order[0]), dtype=object)[stability.labels.tolist()]
        found["stability"] = replace(stability, labels=names)
    if labels.true is not None and labels.groups is None:
        found |= _resampled(labels, found["tables"], order, lead, options, rng, first, same, steps)
    return Evidence(order, lead, **found)


def agreement_measure(lead: Measure) -> Measure:
    """The measure of agreement: the lead, if it is symmetric, else the adjusted Rand index."""
    return lead if lead.swapped == lead.name else MEASURES["adjusted_rand"]


def _agreement(labels: Labelling, chosen: list[int], lead: Measure, progress: Progress) -> Scores:
    """Of all pairs; with groups the mean over them, as items of different groups cannot agree."""
    measure, names = agreement_measure(lead), tuple(labels.names[i] for i in chosen)
    codes, kept = labels.codes[chosen], labels.kept[chosen]
    if labels.groups is None:
        found = pairwise(codes, [measure], progress=progress, mask=kept, item_dims=1)
        return replace(found, clusterings=names, share_scored=None)
    width = int(labels.codes.max()) + 1
    rows = []
    for one, own in zip(codes, kept, strict=True):
        tables = labels.tables(one, codes, own & kept, num_classes=width, num_clusters=width)
        rows.append(evaluate_tables(tables, [measure]).macro()[measure.name])
        progress(len(rows), len(codes))
    matrix = torch.stack(rows)
    items = torch.full(matrix.shape, codes.shape[1], device=matrix.device)
    return Scores({measure.name: matrix}, {measure.name: measure}, items, None, {}, names)


def _resampled(
    labels: Labelling,
    tables: ContingencyTables,
    order: list[int],
    lead: Measure,
    options: BootstrapOptions,
    rng: Rng,
    first: list[int],
    same: Tensor,
    steps: Steps,
) -> dict[str, Any]:
    """Intervals and differences by one unit of draws: classes, if they are the default for any."""
    others, level, found = order[1:MAX_COMPARED], options.confidence_level, dict[str, Any]()
    ranked = tables[order[:MAX_RANKED]]._replace(names=tuple(labels.names[i] for i in order[:MAX_RANKED]))
    named = {labels.names[i]: labels.codes[i] for i in others}  # so that notes name them
    runs = named if len(named) == len(others) else labels.codes[others]
    draws, best = max(options.n_resamples, needed(len(others), 1 - level)), labels.codes[order[0]]
    paired: dict[str, Any] = {"keep_resamples": True, "item_dims": 1}
    paired["mask"] = labels.scored(order[0]) & labels.scored(others)
    for unit in (options.resample, "classes"):
        own: dict[str, Any] = {"confidence_level": level, "rng": rng, "resample": unit}
        of_intervals, of_differences = steps.step(50), steps.step(30)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found["intervals"] = bootstrap(ranked, [lead], options.n_resamples, progress=of_intervals, **own)
            if others:
                own |= paired
                compared = paired_bootstrap(labels.true, best, runs, [lead], draws, progress=of_differences, **own)
                compared = replace(compared, clusterings=tuple(labels.names[i] for i in others))
                found["differences"] = with_intervals(compared, lead, first, same)
        if {x.settings["resampled"] for x in found.values()} in ({"items"}, {"classes"}):
            break
    for message in dict.fromkeys(str(x.message) for x in said):  # once, and of the unit that is shown
        warn(message)
    return found


class Best(NamedTuple):
    """The best clustering, on the host."""

    table: ContingencyTables  # with labels
    matching: Matching
    scores: MatchedScores  # of the matching


def match_best(labels: Labelling, found: Evidence) -> Best | None:
    """The best clustering matched with the truth; None without one, or where groups are scored by themselves."""
    if found.tables is None or labels.groups is not None:
        return None
    table = with_labels(labels, found.tables[found.best], labels.clusters(found.best)).to("cpu")
    matching = match(table)
    return Best(table, matching, matched_scores(table, matching))


def with_labels(labels: Labelling, table: ContingencyTables, clusters: list[str]) -> ContingencyTables:
    """The table with its labels."""
    rows, columns = (
        np.array([*given, *[""] * size][:size], dtype=object)
        for given, size in zip((labels.classes, clusters), table.shape[-2:], strict=True)
    )
    return table._replace(classes=rows, clusters=columns, names=None, groups=None, margins=None)
