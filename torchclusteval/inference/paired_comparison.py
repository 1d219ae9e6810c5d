"""Two clusterings of the same items: is the difference of their scores more than chance?"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchclusteval import labels
from torchclusteval.common.numerics import broadcast_shapes
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import Setting, deviation
from torchclusteval.inference.item_resampling import SharedItems, is_cheaper, item_tables
from torchclusteval.inference.resampling import CellList, Progress, Values, cell_list, padded, values_of
from torchclusteval.inference.results import Difference, Report
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.tables import ContingencyTables


def paired_bootstrap(
    labels_true: Any,
    pred_a: Any,
    pred_b: Any,
    measures: Selection = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    method: str = "percentile",
    generator: torch.Generator | None = None,
    chunk_size: int | None = None,
    *,
    correction: str | None = None,
    keep_replicates: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Report[Difference]:
    """Difference of the scores of two clusterings of the same items.

    Both clusterings see the same items in every replicate: the table of classes by clusters of A by clusters of B is
    resampled or, where that costs less, the items of all pairs at once (the same law for each pair). Items that either
    clustering leaves out (noise, mask) are left out of both.

    Args:
        labels_true: ``(*batch, N)`` classes; batch shapes of all three broadcast.
        pred_a: ``(*batch, N)`` clusters; ``(N,)`` against ``(B, N)`` compares one A with many B.
        pred_b: ``(*batch, N)`` clusters.
        measures: as in :func:`evaluate`.
        replicates: resampled tables for each pair.
        confidence: as in :func:`bootstrap`, like ``method``, ``generator``, ``chunk_size``, ``keep_replicates``.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the size of the batch.
        progress: called with the number of replicates done and in all.
        **options: ``mask``, ``ignore_index``, ``noise_label``, ``noise`` and ``device`` of
            ``ContingencyTables.from_labels``.

    Returns:
        A mapping of names to :class:`Difference`, A less B. ``p_value`` is two-sided: twice the share of replicates
        on the far side of no difference, ``2 (hits + 1) / (replicates + 1)`` at most 1; it is 1 for equal
        clusterings and never 0. ``settings["resampled"]`` says what was drawn.

    Raises:
        ValueError: as :func:`bootstrap`.
    """
    setting = Setting(replicates, confidence, method, chunk_size)
    chosen = select(measures)
    three = _three_way(labels_true, pred_a, pred_b, options)
    kept, skipped = split_applicable(three.a, chosen)
    shape = three.a.batch_shape
    sides = (cell_list(three.a), cell_list(three.b))
    places = [side.find(keys) for side, keys in zip(sides, (three.keys_a, three.keys_b), strict=True)]

    def score(counts: Tensor, at: slice | Tensor) -> Values:
        a, b = (
            values_of(side.build(_gathered(counts, place[at], side), at), kept)
            for side, place in zip(sides, places, strict=True)
        )
        return {name: _less(a[name], b[name]) for name in a}

    widest = max(x.shape[1] for x in (three.counts, sides[0].counts, sides[1].counts))
    items = _shared_items(three, kept)
    found = setting.resample(three.counts, score, generator, progress, cells=widest, items=items)
    values_a, values_b = values_of(three.a, kept), values_of(three.b, kept)
    records = {}
    for name, estimate_a in values_a.items():
        difference = _less(estimate_a, values_b[name])
        values = found.replicates(name, shape)
        low, high, fallback = found.interval(name, difference)
        none = torch.zeros_like(difference).masked_fill(difference.isnan(), torch.nan)
        near = intervals.tolerance(estimate_a)
        p_value = intervals.two_sided(values, none, near)
        records[name] = Difference(
            estimate_a,
            values_b[name],
            difference,
            low,
            high,
            deviation(values),
            p_value,
            fallback,
            None if correction is None else intervals.adjust(p_value, correction),
            values if keep_replicates else None,
        )
    resampled = "cells of the three-way table" if items is None else "items, the same for all pairs"
    return Report(records, setting.described(resampled), shape, skipped)


def _less(a: Tensor, b: Tensor) -> Tensor:
    """``a - b``, and 0 where both are the same infinity."""
    return torch.where(a == b, 0.0, a - b)


@dataclass(frozen=True, eq=False)
class _ThreeWay:
    """Non-empty cells of classes by clusters of A by clusters of B, and both two-way tables."""

    a: ContingencyTables
    b: ContingencyTables
    counts: Tensor  # (B, Z) int64; zeros pad
    keys_a: Tensor  # (B, Z) int64, the cell of A's table that each cell adds to
    keys_b: Tensor  # (B, Z) int64
    codes: list[Tensor]  # (*batch, N) each, of the classes, of A and of B; batch shapes broadcast
    keep: Tensor | None  # (*batch, N) bool, items that count


def _three_way(labels_true: Any, pred_a: Any, pred_b: Any, options: dict[str, Any]) -> _ThreeWay:
    allowed = ("mask", "ignore_index", "noise_label", "noise", "device")
    unknown = next((name for name in options if name not in allowed), None)
    if unknown is not None:
        raise ValueError(f"options: expected some of {', '.join(allowed)}; got {unknown!r}")
    a, b = (labels.encode(labels_true, pred, **options) for pred in (pred_a, pred_b))
    codes_a, codes_b = (pair.pred.codes.long() - pair.pred.offset for pair in (a, b))
    codes_true = a.true.codes.long() - a.true.offset
    sizes = (a.true.size, a.pred.size, b.pred.size)
    keep = None
    for pair in (a, b):
        keep = pair.keep if keep is None else keep if pair.keep is None else keep & pair.keep
    codes = [x.clamp(0, size - 1) for x, size in zip((codes_true, codes_a, codes_b), sizes, strict=True)]
    fused = codes[1] * sizes[2] + codes[2]

    def count_items(true: Tensor, pred: Tensor, clusters: int, layout: str) -> ContingencyTables:
        return ContingencyTables.from_labels(
            true, pred, mask=keep, num_classes=sizes[0], num_clusters=clusters, layout=layout
        )

    shape = broadcast_shapes(a.batch_shape, b.batch_shape)  # codes may have been narrowed where labels were expanded
    everywhere = codes[0].expand(*shape, codes[0].shape[-1])
    whole = count_items(everywhere, fused, sizes[1] * sizes[2], "sparse")
    true, *both = (x.expand(*shape, x.shape[-1]) for x in codes)
    two_way = [count_items(true, pred, size, "auto") for pred, size in zip(both, sizes[1:], strict=True)]
    batch, row, column, count = whole.cells()
    keys_a = row * sizes[1] + column.div(sizes[2], rounding_mode="floor")
    keys_b = row * sizes[2] + column % sizes[2]
    filled = torch.bincount(batch, minlength=shape.numel())
    counts, keys_a, keys_b = padded(batch, filled, (count, keys_a, keys_b), (0, 0, 0))
    return _ThreeWay(two_way[0], two_way[1], counts, keys_a, keys_b, codes, keep)


def _shared_items(three: _ThreeWay, measures: list[Measure]) -> SharedItems | None:
    """The items of all pairs, where they are the same and to draw them once costs less than the cells of each pair."""
    codes, pairs = three.codes, three.a.batch_shape.numel()
    if three.keep is not None and pairs:
        kept = three.keep.reshape(-1, three.keep.shape[-1])
        if not bool((kept == kept[0]).all()):
            return None
        codes = [x[..., kept[0]] for x in codes]
    items = codes[0].shape[-1]
    if not is_cheaper(items, pairs, int((three.counts > 0).sum())):
        return None
    a, b = (
        item_tables(*_together(codes[0], pred, three.a.batch_shape), whole.shape[-2:])
        for pred, whole in zip(codes[1:], (three.a, three.b), strict=True)
    )

    def score(drawn: Tensor, at: slice) -> Values:
        values_a, values_b = (side.values(drawn, measures) for side in (a, b))
        return {name: _less(values_a[name], values_b[name]).expand(-1, pairs) for name in values_a}

    return SharedItems(items, score)


def _together(true: Tensor, pred: Tensor, batch_shape: torch.Size) -> tuple[Tensor, Tensor]:
    """Codes of both sides as ``(pairs, N)``, or ``(1, N)`` where they are the same for all pairs."""
    items = true.shape[-1]
    if max(true.numel(), pred.numel()) > items:
        true, pred = (x.expand(*batch_shape, items) for x in (true, pred))
    return true.reshape(-1, items), pred.reshape(-1, items)


def _gathered(counts: Tensor, place: Tensor, side: CellList) -> Tensor:
    """Counts of one side's cells ``(*some, b, Y)`` from those of the three-way cells ``(*some, b, Z)``."""
    sums = counts.new_zeros(*counts.shape[:-1], side.counts.shape[-1])
    return sums.scatter_add_(-1, place.expand(counts.shape), counts)
