"""All pairs of many clusterings of the same items: agreement matrices and the stability of restarts.

Each clustering is counted against those after it. Clusterings of few groups are counted several at once, as one
clustering by all their groups: the table of a pair is a sum over the groups of the others. Each pair is counted once;
the reverse order of a pair uses the measure's swapped partner.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory
from torchclusteval.common.results import Shown
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.paired_comparison import PairedOptions
from torchclusteval.inference.resampling import Progress, check_progress, tables_of_codes, values_of
from torchclusteval.inference.results import Record, ResultsByMeasure
from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.inputs import as_mask
from torchclusteval.labels.options import LabelOptions, check_names
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

_TABLE_CELLS = 1 << 20  # cells of the tables counted, and of the tables scored, at a time
_MAX_JOINT_CELLS = 1 << 14  # of the table of two or more clusterings; their codes fit in 16 bits
_ITEMS_PER_JOINT_CELL = 4  # least: adding up a cell costs more than counting an item


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
        measures: as in :func:`evaluate`; by default adjusted Rand: symmetric, corrected for chance, and for all pairs
            much faster than AMI.
        progress: called as ``progress(done, total)``, in pairs.
        **options: ``mask``, ``ignore_index``, ``noise_label``, ``noise``, ``missing``, ``item_dims`` and ``device`` of
            ``ContingencyTables.from_labels``, for both clusterings of a pair: an item excluded from either is left out.

    Returns:
        Scores with batch shape ``(M, M)``: entry ``[i, j]`` takes clustering ``i`` as the truth. Symmetric measures
        give symmetric matrices to the bit. ``summary()`` and print leave out each clustering against itself.

    Raises:
        ValueError: the labels are not ``(M, N)``, or a measure does not apply.

    >>> tce.pairwise([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], ["ari"])["ari"].tolist()
    [[1.0, 1.0, -0.5], [1.0, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    check_progress(progress)
    check_names(options, PairedOptions.__annotations__)
    chosen, own = select(measures), LabelOptions.of(options)
    with argument_names(labels_true="labels", labels_pred="labels"):
        pair = encode(labels, labels, own)
    if len(pair.batch_shape) != 1:
        got = f"{(*pair.batch_shape, pair.n_items)} (pass one row for each clustering)"
        raise ValueError(f"labels: expected shape (M, N); got {got}")
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
    considered = _considered_pairs(own.mask, own.item_dims or 1, count, pair.n_items, codes.device)
    coverage = n_items.double() / considered
    records = {m.name: m for m in chosen_measures}
    return Scores(values, records, n_items, coverage, skipped, pair.names, of_pairs=True)


def _considered_pairs(mask: Any, item_dims: int, count: int, items: int, device: torch.device) -> Tensor:
    """Items that the mask leaves in both clusterings of a pair, ``(M, M)`` or ``()``, float64."""
    if mask is None:
        return torch.full((), items, dtype=torch.float64, device=device)
    counted = as_mask(mask, device).flatten(-item_dims).double()
    return counted.sum() if counted.dim() == 1 else (counted @ counted.mT).expand(count, count)


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Record):
    """How well each of many clusterings agrees with the others.

    >>> found = tce.stability([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])["ari"]
    >>> found.medoid
    0
    """

    agreement: Tensor  # (M,) mean over the other clusterings, and over both orders of a pair
    spread: Tensor  # (M,) standard deviation over the other clusterings
    overall: float  # mean over all pairs; nan for a single clustering
    medoid: int | None  # the clustering with the best agreement; None for a measure without direction

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "overall": self.overall, "medoid": self.medoid}

    def _shown(self) -> Shown:
        medoid = None if self.medoid is None else self.name_of(self.medoid)
        return super()._shown()._replace(title=f"overall {self.overall:.4f}, medoid {medoid}")


def stability(
    labels: Any,
    measures: Selection = ("adjusted_rand",),
    *,
    progress: Progress | None = None,
    **options: Unpack[PairedOptions],
) -> ResultsByMeasure[Stability]:
    """Mean agreement of each clustering with the others, its spread, and the medoid.

    Args:
        labels: ``(M, N)``, as in :func:`pairwise`; so are ``measures``, ``progress`` and the other options.

    Returns:
        A mapping of names to :class:`Stability`. The medoid is the clustering with the best mean agreement in the
        measure's own direction, the first one of ties; a single clustering is the medoid, with an agreement of nan.
        There is no medoid where no agreement is defined. Pairs without a value, such as those without a common
        item, are left out of the means.

    Raises:
        ValueError: as :func:`pairwise`.

    >>> found = tce.stability([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])["adjusted_rand"]
    >>> found.medoid
    0
    """
    scores = pairwise(labels, measures, progress=progress, **options)
    records = {name: stability_of(value, scores.measures[name]) for name, value in scores.items()}
    shape = scores.batch_shape[:1]
    return ResultsByMeasure(records, {"clusterings": shape[0]}, shape, scores.skipped, scores.clusterings)


def stability_of(values: Tensor, measure: Measure) -> Stability:
    """The record of a ``(M, M)`` matrix of :func:`pairwise`."""
    count = len(values)
    both = (values + values.mT) / 2
    off = ~torch.eye(count, dtype=torch.bool, device=values.device)
    others = both[off].reshape(count, max(0, count - 1))
    mean = others.nanmean(1)
    squares = (others - mean[:, None]).square().nansum(1)
    pairs = (~others.isnan()).sum(1)
    spread = (squares / (pairs - 1)).sqrt().masked_fill(pairs < 2, torch.nan)
    medoid = None
    if measure.better is not None and (count == 1 or not bool(mean.isnan().all())):
        oriented = mean if measure.better == "higher" else -mean
        medoid = int(oriented.nan_to_num(nan=-math.inf).argmax())
    return Stability(agreement=mean, spread=spread, overall=float(others.nanmean()), medoid=medoid)


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


def _all_tables(codes: Tensor, groups: int, partial: bool) -> Iterator[tuple[ContingencyTables, Tensor, Tensor]]:
    """Yield the tables of all pairs ``first <= second`` of clusterings, block by block, and both numbers.

    With ``partial``, codes of excluded items are ``groups``.
    """
    if (groups + partial) ** 2 <= _MAX_JOINT_CELLS:
        joined = _clusterings_at_once(groups + partial, *codes.shape)
        yield from _joint_tables(codes.to(torch.int16), groups, partial, (joined - joined // 2, joined // 2))
        return
    step = max(1, _TABLE_CELLS // groups**2)
    for i in range(len(codes)):
        for rest in torch.arange(i, len(codes), device=codes.device).split(step):
            yield _against(codes[i], codes[rest], groups, partial), torch.full_like(rest, i), rest


def _against(first: Tensor, second: Tensor, groups: int, partial: bool) -> ContingencyTables:
    mask = (first < groups) & (second < groups) if partial else None
    return tables_of_codes(first, second, (groups, groups), mask=mask, validate=first.is_cpu)  # all are in range


def _clusterings_at_once(groups: int, count: int, items: int) -> int:
    """Number of clusterings joined in one table; 2: one pair."""
    most, joined = min(_MAX_JOINT_CELLS, items // _ITEMS_PER_JOINT_CELL), 2
    while joined < count and max(2, groups) ** (joined + 1) <= most:
        joined += 1
    return joined


def _joint_tables(
    codes: Tensor, groups: int, partial: bool, sides: tuple[int, int]
) -> Iterator[tuple[ContingencyTables, Tensor, Tensor]]:
    """As :func:`_all_tables`, by tables of ``sides`` clusterings as rows and as columns."""
    every = groups + partial
    (left, rows), (right, columns) = ((_joint_codes(codes, every, size), every**size) for size in sides)
    shape, step = (rows, columns), max(1, _TABLE_CELLS // (rows * columns))
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for top, true in enumerate(left):
        for start in range(top * sides[0] // sides[1], len(right), step):
            joint = tables_of_codes(true, right[start : start + step], shape, layout="dense", validate=true.is_cpu)
            counts = joint.counts.unflatten(-1, [every] * sides[1]).unflatten(-1 - sides[1], [every] * sides[0])
            found.extend(
                (of_pairs[:, :groups, :groups], torch.full_like(second, first), second)
                for of_pairs, first, second in _sums_of_pairs(counts, (top, start), sides, len(codes))
            )
            if sum(of_pairs.numel() for of_pairs, _, _ in found) >= _TABLE_CELLS:
                yield _joined(found)
                found = []
    if found:
        yield _joined(found)


def _sums_of_pairs(
    counts: Tensor, at: tuple[int, int], sides: tuple[int, int], count: int
) -> Iterator[tuple[Tensor, int, Tensor]]:
    """Sums of joint tables: the pairs ``first <= second`` of left number ``at[0]`` and right numbers from ``at[1]``."""
    left, right = sides
    end = at[1] + len(counts)
    for i, first in enumerate(range(at[0] * left, min((at[0] + 1) * left, count))):
        for j in range(right):
            block = max(at[1], -((j - first) // right))  # of the least second clustering that is not below the first
            seconds = range(block * right + j, min(end * right, count), right)
            if seconds:
                others = [dim for dim in range(1, 1 + left + right) if dim not in (1 + i, 1 + left + j)]
                of_pairs = counts[block - at[1] : block - at[1] + len(seconds)]
                second = torch.arange(seconds.start, seconds.stop, right, device=counts.device)
                yield of_pairs.sum(others) if others else of_pairs, first, second


def _joined(found: Sequence[tuple[Tensor, Tensor, Tensor]]) -> tuple[ContingencyTables, Tensor, Tensor]:
    counts, first, second = (torch.cat(parts) for parts in zip(*found, strict=True))
    return ContingencyTables(counts, validate=False), first, second


def _joint_codes(codes: Tensor, groups: int, size: int) -> Tensor:
    """``(ceil(M / size), N)``: one code for each ``size`` consecutive clusterings, zeros for the missing last ones."""
    padded = torch.nn.functional.pad(codes, (0, 0, 0, -len(codes) % size)).unflatten(0, (-1, size))
    joint = padded[:, 0]
    for k in range(1, size):
        joint = joint * groups + padded[:, k]
    return joint
