"""All pairs of many clusterings of the same items: agreement matrices and the stability of restarts.

With few groups the tables come from Gram products of one-hot rows; with many, each clustering is counted against the
clusterings after it. Each pair is counted once; the reverse order of a pair uses the measure's swapped partner.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory
from torchclusteval.common.threads import on_one_thread, share
from torchclusteval.inference.paired_comparison import PairedOptions, check_label_options
from torchclusteval.inference.resampling import Progress, check_progress, values_of
from torchclusteval.inference.results import Record, ResultsByMeasure
from torchclusteval.labels import encode
from torchclusteval.labels.encoding import EncodingOptions, argument_names
from torchclusteval.labels.inputs import as_mask
from torchclusteval.labels.shapes import check_item_dims
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

_MAX_PRODUCT_GROUPS = 24  # up to this many groups a matrix product costs less than counting
_TABLE_CELLS = 1 << 24  # cells of the tables computed at a time
_ONE_HOT_ENTRIES = 1 << 22  # entries of the one-hot rows in memory at a time
_TILE = 32  # clusterings per side of one product; of a tile on the diagonal, almost half is not used
_FIELD_BITS = 12
_FIELD = 1 << _FIELD_BITS  # two counts below this share one float32, which is exact to its square


@on_one_thread
def pairwise(
    labels: Any,
    measures: Selection = ("adjusted_rand",),
    *,
    progress: Progress | None = None,
    **options: Unpack[PairedOptions],
) -> Scores:
    """Agreement of every clustering with every other.

    Args:
        labels: ``(M, N)`` clusterings of the same items; see ``ContingencyTables.from_labels`` for what labels may be.
        measures: as in :func:`evaluate`.
        progress: called as ``progress(done, total)``, in pairs.
        **options: ``mask``, ``ignore_index``, ``noise_label``, ``noise``, ``missing``, ``item_dims`` and ``device`` of
            ``ContingencyTables.from_labels``, for both clusterings of a pair: what either excludes is excluded.

    Returns:
        Scores with batch shape ``(M, M)``: entry ``[i, j]`` takes clustering ``i`` as the truth. Symmetric measures
        give symmetric matrices to the bit.

    Raises:
        ValueError: the labels are not ``(M, N)``, or a measure does not apply.
    """
    check_progress(progress)
    check_label_options(options)
    chosen = select(measures)
    item_dims = check_item_dims(options.get("item_dims"))
    given: EncodingOptions = {**options, "item_dims": item_dims}
    with argument_names(labels_true="labels", labels_pred="labels"):
        pair = encode(labels, labels, **given)
    if len(pair.batch_shape) != 1:
        raise ValueError(f"labels: expected shape (M, N); got {(*pair.batch_shape, pair.n_items)}")
    side, count = pair.pred, pair.batch_shape.numel()
    codes = (side.codes.long() - side.offset).expand(count, pair.n_items)
    partial = False
    if pair.mask is not None and count:
        kept = pair.mask.expand(codes.shape)
        partial = not bool((kept == kept[0]).all())
        # Items that some clusterings exclude are one more group, which the tables leave out.
        codes = torch.where(kept, codes, side.size) if partial else codes[:, kept[0]]
    items = codes.shape[1]
    smallest = _against(codes[:1], codes[:1], side.size, partial)
    chosen_measures, skipped = split_applicable(smallest, chosen, common_only=True)
    with explain_out_of_memory(
        f"labels: expected clusterings whose matrices fit in memory; got {count} (score fewer at a time)"
    ):
        values = {m.name: torch.empty(count, count, dtype=torch.float64, device=codes.device) for m in chosen_measures}
        n_items = torch.full((count, count), items, device=codes.device)
    pairs, done = count * (count + 1) // 2, 0
    for tables, first, second in _all_tables(codes, side.size, partial):
        _fill(values, chosen_measures, tables, first, second)
        if partial:
            n_items[first, second] = n_items[second, first] = tables.n_items
        done += len(first)
        if progress is not None:
            progress(done, pairs)
    considered = _considered_pairs(options.get("mask"), item_dims, count, pair.n_items, codes.device)
    coverage = n_items.double() / considered
    return Scores(values, {m.name: m for m in chosen_measures}, n_items, coverage, skipped, pair.names)


def _considered_pairs(mask: Any, item_dims: int, count: int, items: int, device: torch.device) -> Tensor:
    """Items that the mask leaves in both clusterings of a pair, ``(M, M)`` or ``()``, float64."""
    if mask is None:
        return torch.full((), items, dtype=torch.float64, device=device)
    counted = as_mask(mask, device).flatten(-item_dims).double()
    return counted.sum() if counted.dim() == 1 else (counted @ counted.mT).expand(count, count)


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Record):
    """How well each of many clusterings agrees with the others."""

    agreement: Tensor  # (M,) mean over the other clusterings, and over both orders of a pair
    spread: Tensor  # (M,) standard deviation over the other clusterings
    overall: float  # mean over all pairs; nan for a single clustering
    medoid: int | None  # the clustering with the best agreement; None for a measure without direction

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "overall": self.overall, "medoid": self.medoid}

    def __str__(self) -> str:
        medoid = None if self.medoid is None else self.name_of(self.medoid)
        return f"overall {self.overall:.4f}, medoid {medoid}\n{super().__str__()}"

    __repr__ = __str__


def stability(
    labels: Any,
    measures: Selection = ("adjusted_rand",),
    *,
    progress: Progress | None = None,
    **options: Unpack[PairedOptions],
) -> ResultsByMeasure[Stability]:
    """Mean agreement of each clustering with the others, its spread, and the medoid.

    Args:
        labels: ``(M, N)``, as in :func:`pairwise`, like ``measures``, ``progress`` and the other options.

    Returns:
        A mapping of names to :class:`Stability`. The medoid is the clustering with the best mean agreement in the
        measure's own direction, the first one of ties; a single clustering is the medoid, with an agreement of nan.

    Raises:
        ValueError: as :func:`pairwise`.
    """
    scores = pairwise(labels, measures, progress=progress, **options)
    records = {name: stability_of(value, scores.measures[name]) for name, value in scores.items()}
    return ResultsByMeasure(
        records=records,
        settings={"clusterings": scores.batch_shape[0]},
        batch_shape=scores.batch_shape[:1],
        skipped=scores.skipped,
        clusterings=scores.clusterings,
    )


def stability_of(values: Tensor, measure: Measure) -> Stability:
    """The record of a ``(M, M)`` matrix of :func:`pairwise`."""
    count = len(values)
    both = (values + values.mT) / 2
    off = ~torch.eye(count, dtype=torch.bool, device=values.device)
    others = both[off].reshape(count, max(0, count - 1))
    mean = others.mean(1)
    spread = others.std(1) if count > 2 else torch.full_like(mean, torch.nan)
    medoid = None
    if measure.better is not None and count:
        oriented = mean if measure.better == "higher" else -mean
        medoid = int(oriented.nan_to_num(nan=-math.inf).argmax())
    return Stability(agreement=mean, spread=spread, overall=float(others.mean()), medoid=medoid)


# --- values of pairs --------------------------------------------------------------------------------------


def _fill(
    values: dict[str, Tensor], measures: Sequence[Measure], tables: ContingencyTables, first: Tensor, second: Tensor
) -> None:
    """Write the values of pairs ``first <= second`` into the matrices, in both orders."""
    known = {measure.name: measure for measure in measures}
    for measure in measures:
        partner = MEASURES.get(measure.swapped or "")
        if partner is not None and MEASURES.get(measure.name) is measure:
            known.setdefault(partner.name, partner)
    forward = values_of(tables, list(known.values()))
    unpaired = [measure for measure in measures if measure.swapped not in known]
    backward = values_of(tables.mT, unpaired) if unpaired else {}
    for measure in measures:
        reverse = backward.get(measure.name)
        values[measure.name][second, first] = forward[measure.swapped or ""] if reverse is None else reverse
        values[measure.name][first, second] = forward[measure.name]


# --- tables of pairs --------------------------------------------------------------------------------------


def _all_tables(
    codes: Tensor, groups: int, partial: bool = False
) -> Iterator[tuple[ContingencyTables, Tensor, Tensor]]:
    """Yield the tables of all pairs ``first <= second`` of clusterings, block by block, and both numbers.

    With ``partial``, codes of excluded items are ``groups``.
    """
    count = len(codes)
    if not 1 < groups + partial <= _MAX_PRODUCT_GROUPS:
        step = max(1, _TABLE_CELLS // groups**2)
        for i in range(count):
            for rest in torch.arange(i, count, device=codes.device).split(step):
                yield _against(codes[i], codes[rest], groups, partial), torch.full_like(rest, i), rest
        return
    step = max(1, math.isqrt(_TABLE_CELLS) // (groups + partial))
    for i in range(0, count, step):
        for j in range(i, count, step):
            rows, columns = range(i, min(i + step, count)), range(j, min(j + step, count))
            for counts, first, second in _block(codes, groups + partial, rows, columns):
                yield ContingencyTables(counts[:, :groups, :groups], validate=False), first, second


def _against(first: Tensor, second: Tensor, groups: int, partial: bool = False) -> ContingencyTables:
    mask = (first < groups) & (second < groups) if partial else None
    return ContingencyTables.from_labels(first, second, mask=mask, num_classes=groups, num_clusters=groups, item_dims=1)


def _block(codes: Tensor, groups: int, rows: range, columns: range) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Counts of ``rows`` against ``columns``: Gram products, tile by tile, summed over blocks of items."""
    tiles = [  # tiles below the diagonal hold the same pairs
        (range(i, min(i + _TILE, rows.stop)), range(j, min(j + _TILE, columns.stop)))
        for i in range(rows.start, rows.stop, _TILE)
        for j in range(columns.start, columns.stop, _TILE)
        if i <= j
    ]
    dtype = torch.int32 if codes.shape[1] < 2**31 else torch.int64
    half = (groups + 1) // 2
    computed = groups - 1  # rows of a table; the last row follows from the sizes
    sums = [torch.zeros(2, len(i) * computed, len(j) * half, dtype=dtype, device=codes.device) for i, j in tiles]
    ones = torch.ones((), dtype=torch.int64, device=codes.device).expand(codes.shape)
    sizes = torch.zeros(len(codes), groups, dtype=torch.int64, device=codes.device).scatter_add_(1, codes, ones)
    step = max(1, min(_FIELD - 1, _ONE_HOT_ENTRIES // (groups * max(len(rows), len(columns)))))
    # Buffers are reused: at this size allocating memory costs more than filling it.
    left_buffer, right_buffer = (
        torch.empty(len(side) * size * step, device=codes.device) for side, size in ((rows, computed), (columns, half))
    )
    for part in codes.split(step, dim=1):
        true, pred = part[rows.start : rows.stop], part[columns.start : columns.stop]
        left = _scattered(true.clamp(max=computed - 1), (true < computed).float(), computed, left_buffer)
        upper = pred >= half
        right = _scattered(pred - half * upper, 1 + (_FIELD - 1) * upper.float(), half, right_buffer)
        multiply = partial(_add_products, left=left, right=right, origin=(rows.start, columns.start))
        share(multiply, zip(tiles, sums, strict=True), None if codes.device.type == "cpu" else 1)
    for (i, j), fields in zip(tiles, sums, strict=True):
        first, second = (torch.arange(side.start, side.stop, device=codes.device) for side in (i, j))
        first, second = torch.cartesian_prod(first, second).unbind(-1)
        counts = fields.view(2, len(i), computed, len(j), half).permute(1, 3, 2, 0, 4).flatten(-2)
        counts = counts[..., :groups].flatten(0, 1).long()
        counts = torch.cat([counts, sizes[second].unsqueeze(1) - counts.sum(1, keepdim=True)], 1)
        if i == j:
            above = (first <= second).nonzero().squeeze(-1)
            first, second, counts = first[above], second[above], counts[above]
        yield counts, first, second


def _add_products(
    tiles: Iterator[tuple[tuple[range, range], Tensor]], left: Tensor, right: Tensor, origin: tuple[int, int]
) -> None:
    """Add the products of one-hot rows to the two fields of each tile."""
    for (i, j), fields in tiles:
        x = left[i.start - origin[0] : i.stop - origin[0]].flatten(0, 1)
        y = right[j.start - origin[1] : j.stop - origin[1]].flatten(0, 1)
        product = (x @ y.T).to(torch.int32)
        fields[0] += product & (_FIELD - 1)
        fields[1] += product >> _FIELD_BITS


def _scattered(at: Tensor, values: Tensor, groups: int, buffer: Tensor) -> Tensor:
    """``(m, groups, n)`` float32 in a buffer: the value of each item in its row ``at``, ``(m, n)``, and zeros."""
    shape = (len(at), groups, at.shape[1])
    return buffer[: math.prod(shape)].zero_().view(shape).scatter_(1, at.unsqueeze(1), values.unsqueeze(1))
