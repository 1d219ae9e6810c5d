"""Paired bootstrap: the difference of the scores of two clusterings of the same items.

Resampling the cells of every three-way table takes a binomial draw per cell, resample and clustering. For many
clusterings of few items it is cheaper to draw the multiplicities of the items once: each cell is a sum of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_choice
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import UNITS, BootstrapOptions, Drawer, Source
from torchclusteval.inference.cell_resampling import CellResampler, ResampledCells, pad_rows, resampled_cells, sizes_of
from torchclusteval.inference.draws import multiplicities
from torchclusteval.inference.resampling import (
    MAX_DRAWN_CELLS,
    JackknifeResampler,
    Progress,
    Values,
    check_progress,
    differences,
    tables_of_codes,
    values_of,
)
from torchclusteval.inference.results import Difference, ResultsByMeasure
from torchclusteval.inference.sampling import Rng, seeded
from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.options import LabelOptions, check_names
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.labels.sources import Names, pandas_indexes
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.partitions import distinct, of_labels

_MAX_JOINT_CODES = 1 << 31  # up to so many joint clusters of A and B are numbered by their product
# nanoseconds on one CPU thread: to draw an item, to add an item to a table, to draw a cell
_DRAW_ITEM_NS, _ADD_ITEM_NS, _DRAW_CELL_NS = 10.0, 0.5, 110.0
_MAX_ITEMS = 1 << 16  # so that a block of multiplicities stays small, and sums are exact in float32


class PairedOptions(TypedDict, total=False):
    """The options of ``ContingencyTables.from_labels`` that functions of several clusterings take."""

    mask: Any
    ignore_index: Any
    noise_label: Any
    noise: str
    missing: str
    item_dims: int | None
    device: torch.device | str | None


@on_one_thread
def paired_bootstrap(
    labels_true: Any,
    labels_a: Any,
    labels_b: Any,
    measures: Selection = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    method: str | None = None,
    rng: Rng = None,
    chunk_size: int | None = None,
    *,
    resample: str | None = None,
    correction: str | None = None,
    keep_resamples: bool = False,
    progress: Progress | None = None,
    **options: Unpack[PairedOptions],
) -> ResultsByMeasure[Difference]:
    """Difference of the scores of two clusterings of the same items.

    Both clusterings see the same items in every resample: the table of classes by clusters of A by clusters of B is
    resampled or, where that costs less, the items of all pairs at once (the same distribution for each pair). Items
    excluded from either clustering (noise, mask) are excluded from both.

    Args:
        labels_true: ``(*batch, N)`` classes; batch shapes of all three broadcast.
        labels_a: ``(*batch, N)`` clusters; ``(N,)`` against ``(B, N)`` compares one A with many B.
        labels_b: ``(*batch, N)`` clusters.
        measures: as in :func:`evaluate`.
        n_resamples: resampled tables for each pair.
        confidence_level: as in :func:`bootstrap`, like ``method``, ``rng``, ``chunk_size``, ``keep_resamples`` and
            ``progress``.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the size of the batch. Among M of
            them the smallest must pass ``alpha / M`` with ``alpha = 1 - confidence_level``, so M comparisons need
            ``2 M / alpha - 1`` resamples (7959 for 199); with fewer there is a warning.
            ``settings["smallest_p_adjusted"]`` is the smallest adjusted p-value that the resamples can give.
        resample: what is drawn: ``"items"``, ``"classes"`` or, by default, what :func:`bootstrap` would draw for the
            differences. Draws of classes give normal intervals and p-values.
        **options: ``mask``, ``ignore_index``, ``noise_label``, ``noise``, ``missing``, ``item_dims`` and ``device``
            of ``ContingencyTables.from_labels``.

    Returns:
        A mapping of names to :class:`Difference`, A minus B. ``p_value`` is two-sided: twice the share of resamples
        on the far side of no difference, ``2 (hits + 1) / (resamples + 1)`` at most 1 and never 0; it is 1 for equal
        clusterings. Where too few draws stop it above .001, ``notes`` say how many it needs. From draws of classes it
        is that of a normal difference, which can print as 0.0000. Equal pairs count as one comparison, a pair of equal
        partitions as none. ``settings`` and ``notes`` say what was drawn, what the intervals hold for and what is wrong
        with some, as those of :func:`bootstrap`.

    Raises:
        ValueError: as :func:`bootstrap`.

    >>> true = [0] * 20 + [1] * 20
    >>> a, b = [0] * 20 + [1] * 20, [0] * 30 + [1] * 10
    >>> found = tce.paired_bootstrap(true, a, b, ["purity"], rng=0)["purity"]
    >>> found.difference.item(), bool(found.p_value < 0.05)
    (0.25, True)
    """
    if resample is not None:
        if type(resample) is str and resample == "groups":
            raise ValueError("resample: expected 'items' or 'classes' (paired_groups draws groups); got 'groups'")
        check_choice(resample, "resample", UNITS)
    bootstrap_options = BootstrapOptions(n_resamples, confidence_level, method, chunk_size, resample)
    check_choice(correction, "correction", (*intervals.CORRECTIONS, None))
    check_bools(keep_resamples=keep_resamples)
    generator = seeded(rng)
    check_progress(progress)
    check_names(options, PairedOptions.__annotations__)
    chosen = select(measures)
    exact = intervals.without_rounding
    all_pairs = _pairs(labels_true, labels_a, labels_b, options)
    kept, skipped = split_applicable(all_pairs.tables[0], chosen, common_only=True)
    values_a, values_b = (
        {name: value.reshape(-1) for name, value in values_of(x, kept).items()} for x in all_pairs.tables
    )
    tolerances = {name: intervals.rounding_tolerance(value) for name, value in values_a.items()}
    found = {name: exact(x, tolerances[name]) for name, x in differences(values_a, values_b).items()}
    first, places = distinct(all_pairs.fingerprints())
    same = all_pairs.same()
    drawer = Drawer(
        all_pairs.select(first),
        {name: value[first] for name, value in found.items()},
        bootstrap_options,
        generator,
        progress,
        places,
        names=lambda: [*map(repr, all_pairs.names or [])] or [f"pair {i}" for i in np.ndindex(all_pairs.batch_shape)],
    )
    drawn = drawer.draw(kept, chosen)
    drawn = replace(drawn, values={name: exact(x, tolerances[name]) for name, x in drawn.values.items()})
    corrected: dict[str, Any] = {}
    if correction is not None:
        compared, least = first[~same[first]], 0.0  # with draws of classes any p-value is possible
        at = compared if len(compared) else first
        if not all(bool(x[at].all()) for x in drawn.by_classes.values()):
            tested, level = [found[name][compared] for name in drawn.values], 1 - confidence_level
            least = intervals.smallest_p_adjusted(tested, n_resamples, correction, level, sides=2)
        corrected = {"correction": correction, "smallest_p_adjusted": least}
    records, units = {}, bool(drawn.mixed())
    for name, difference in found.items():
        if name in drawn.left_out:
            continue
        values, missing, of_classes = drawn.values[name], drawn.missing[name], drawn.by_classes[name]
        low, high, fallback = drawn.interval(name, difference, None)
        low, high = (exact(end, tolerances[name]) for end in (low, high))  # that of "basic" is a difference too
        zero = torch.zeros_like(difference).masked_fill(difference.isnan(), torch.nan)
        p_value = intervals.two_sided(values, zero, tolerances[name])
        centred = values - drawn.bias[name] * missing
        p_value = torch.maximum(p_value, intervals.two_sided(centred, zero, tolerances[name]))  # biased: the larger
        if bool(of_classes.any()):
            normal = intervals.two_sided_normal(difference, drawn.errors[name]).masked_fill(missing, torch.nan)
            p_value = torch.where(of_classes, normal, p_value)
        own = values_a[name], values_b[name], difference, low, high, drawn.errors[name], p_value, fallback
        records[name] = Difference(
            *own,
            of_classes=of_classes if units else None,
            p_adjusted=intervals.adjust_pairs(p_value, correction, first, places, same),
            resamples=values if keep_resamples else None,
        )
    settings, skipped = drawn.settings(), {**skipped, **drawn.left_out}
    of_items = [x.p_value[~drawn.by_classes[name]] for name, x in records.items()]
    notes = [*drawn.notes, *intervals.note_few_for_level(settings), *intervals.note_few_draws(of_items, n_resamples, 2)]
    notes += intervals.note_same(same, all_pairs.names)
    return ResultsByMeasure(records, settings | corrected, all_pairs.batch_shape, skipped, all_pairs.names, (*notes,))


@dataclass(frozen=True, eq=False)
class _Pairs(Source):
    """Pairs of clusterings, and their tables of the items that count in both."""

    sizes: tuple[int, int, int]  # classes, clusters of A and of B
    codes: list[Tensor]  # (*batch, N) each, of the classes, of A and of B; batch shapes broadcast
    keep: Tensor | None  # (*batch, N) bool; None: all items count
    names: Names | None  # (B,) of the clusterings, where they are known

    @property
    def batch_shape(self) -> torch.Size:
        return self.tables[0].batch_shape

    def flat_codes(self) -> list[Tensor]:
        """``(B, N)`` each, views where batch shapes broadcast in one dimension."""
        return [self._flat(x) for x in self.codes]

    def flat_keep(self) -> Tensor | None:
        return None if self.keep is None else self._flat(self.keep)

    def _flat(self, x: Tensor) -> Tensor:
        return x.expand(*self.batch_shape, x.shape[-1]).reshape(self.batch_shape.numel(), x.shape[-1])

    def fingerprints(self) -> Tensor:
        """``(B,)``, the same for the same partitions of the same items."""
        if self.batch_shape.numel() == 1:
            return torch.zeros(1, dtype=torch.int64, device=self.codes[0].device)
        keep = self.flat_keep()
        true, a, b = (of_labels(x, keep) for x in self.flat_codes())
        return true + 3 * a + 5 * b

    def same(self) -> Tensor:
        """``(B,)`` bool, whether A and B are the same partition of their items."""
        keep, (_, a, b) = self.flat_keep(), self.flat_codes()
        counted = self.tables[0].n_items.reshape(-1) > 0
        return (of_labels(a, keep) == of_labels(b, keep)) & counted

    def select(self, places: Tensor) -> "_Pairs":
        tables = super().select(places).tables
        if len(places) == self.batch_shape.numel() and len(self.batch_shape) < 2:
            return replace(self, tables=tables)
        keep = self.flat_keep()
        codes = [x[places] for x in self.flat_codes()]
        return replace(self, tables=tables, codes=codes, keep=None if keep is None else keep[places])

    def items(self) -> "_ThreeWayCells | ItemResampler":
        counts, keys_a, keys_b = self.three_way()
        a, b = map(resampled_cells, self.tables)
        cells = _ThreeWayCells(counts, sizes_of(counts), (a, b), (a.positions(keys_a), b.positions(keys_b)))
        return _item_resampler(self, cells) or cells

    def wrong(self) -> Tensor:
        """``(B,)`` classes with items in clusters of one clustering without an equal cluster in the other."""
        keep, found = self.flat_keep(), []
        for i, (true, a, b) in enumerate(zip(*self.flat_codes(), strict=True)):
            if keep is not None:
                true, a, b = true[keep[i]], a[keep[i]], b[keep[i]]
            same = _is_within(a, b, self.sizes[1]) & _is_within(b, a, self.sizes[2])
            found.append(torch.unique(true[~same]).numel())
        return torch.tensor(found, dtype=torch.int64, device=self.codes[0].device)

    def three_way(self) -> tuple[Tensor, Tensor, Tensor]:
        """Counts of the cells of classes by A by B, and the cells of A's and B's tables that each adds to, ``(B, Z)``.

        Zeros pad.
        """
        classes, size_a, size_b = self.sizes
        joint = self.codes[1] * size_b + self.codes[2]
        both = None
        if size_a * size_b > _MAX_JOINT_CODES:  # only those that occur
            both, joint = torch.unique(joint, return_inverse=True)
        true, joint = (x.expand(*self.batch_shape, x.shape[-1]) for x in (self.codes[0], joint))
        sizes = (classes, size_a * size_b if both is None else len(both))
        batch, row, column, count = tables_of_codes(true, joint, sizes, mask=self.keep, layout="sparse").cells()
        column = column if both is None else both[column]
        keys_a = row * size_a + column.div(size_b, rounding_mode="floor")
        keys_b = row * size_b + column % size_b
        filled = torch.bincount(batch, minlength=self.batch_shape.numel())
        counts, keys_a, keys_b = pad_rows(batch, filled, (count, keys_a, keys_b), (0, 0, 0))
        return counts, keys_a, keys_b


def _is_within(a: Tensor, b: Tensor, clusters: int) -> Tensor:
    """Which items ``(N,)`` have a cluster of ``a`` whose items are all in one cluster of ``b``."""
    ends = [b.new_zeros(clusters).scatter_reduce(0, a, b, how, include_self=False) for how in ("amin", "amax")]
    return (ends[0] == ends[1])[a]


def _pairs(labels_true: Any, labels_a: Any, labels_b: Any, options: PairedOptions) -> _Pairs:
    pairs, indexes = [], []
    for name, pred in (("labels_a", labels_a), ("labels_b", labels_b)):
        with argument_names(labels_pred=name):
            pairs.append(encode(labels_true, pred, LabelOptions.of(options)))
        indexes += [(name, index) for index in pandas_indexes(pred)]
    a, b = pairs
    check_indexes(indexes, a.n_items)
    if None not in (a.names, b.names) and a.names != b.names and set(a.names or ()) == set(b.names or ()):
        raise ValueError("labels_b: expected the names of labels_a in their order; got another order")
    try:
        shape = np.broadcast_shapes(a.batch_shape, b.batch_shape)
    except ValueError:
        got = f"labels_a {tuple(a.batch_shape)}, labels_b {tuple(b.batch_shape)}"
        raise ValueError(f"labels_b: expected batch shapes that broadcast; got {got}") from None
    sizes = (a.true.size, a.pred.size, b.pred.size)
    keep = a.mask if b.mask is None else b.mask if a.mask is None else a.mask & b.mask
    codes = [(x.codes.long() - x.offset).clamp(0, x.size - 1) for x in (a.true, a.pred, b.pred)]
    true, *both = (x.expand(*shape, x.shape[-1]) for x in codes)  # narrowed where labels were expanded
    tables = [tables_of_codes(true, x, (sizes[0], size), mask=keep) for x, size in zip(both, sizes[1:], strict=True)]
    names = next((pair.names for pair in (a, b) if pair.names is not None and shape == (len(pair.names),)), None)
    return _Pairs(tables, sizes, codes, keep, names)


def is_cheaper(items: int, tables: int, cells: int) -> bool:
    """Whether to draw the items once for all tables, rather than the cells of all tables."""
    return 0 < items <= _MAX_ITEMS and items * (_DRAW_ITEM_NS + _ADD_ITEM_NS * tables) <= _DRAW_CELL_NS * cells


@dataclass(frozen=True, eq=False)
class ItemTables:
    """A batch of tables of the same items that can be counted again with other multiplicities of the items."""

    cells: ResampledCells
    order: Tensor  # (B, N) int64: the items of each table, cell by cell
    starts: Tensor  # (B, Z) int64: where each cell begins in the flattened order

    def values(self, multiplicity: Tensor, measures: Sequence[Measure]) -> Values:
        """Name -> ``(count, B)`` of tables whose items have multiplicities ``(count, N)``."""
        count, (tables, width) = len(multiplicity), self.starts.shape
        by_item = multiplicity.T.contiguous()
        step = max(1, MAX_DRAWN_CELLS // (count * width))
        parts = []
        for start in range(0, tables, step):
            at = slice(start, min(start + step, tables))
            order, starts = self.order[at].flatten(), self.starts[at].flatten()
            sums = torch.nn.functional.embedding_bag(order, by_item, starts - starts[0], mode="sum")
            parts.append(self.cells.score(sums.T.reshape(count, -1, width).long(), at, measures))
        return {name: torch.cat([part[name] for part in parts], 1) for name in parts[0]}


def item_tables(codes_true: Tensor, codes_pred: Tensor, shape: Sequence[int]) -> ItemTables:
    """From codes ``(B, N)`` of the classes and clusters of the items, for tables of a shape ``(R, C)``."""
    cells = resampled_cells(tables_of_codes(codes_true, codes_pred, shape))
    order = (codes_true * shape[1] + codes_pred).argsort(-1)
    starts = (cells.counts.flatten().cumsum(0) - cells.counts.flatten()).view_as(cells.counts)
    return ItemTables(cells, order, starts)


@dataclass(frozen=True, eq=False)
class ItemResampler:
    """The items of a batch of pairs of tables, drawn once for all pairs; scores differences, A less B."""

    n_items: int
    n_tables: int  # pairs of tables
    a: ItemTables  # one table for each pair, or one for all
    b: ItemTables
    cells: JackknifeResampler  # the same draws by the cells of the pairs
    shared = True

    @property
    def n_elements(self) -> int:
        return -(-self.n_items // self.n_tables)

    @property
    def device(self) -> torch.device:
        return self.a.order.device

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        """How often each item is drawn in ``n_items`` draws with replacement, ``(count, n_items)`` float32."""
        return multiplicities(self.n_items, count, generator)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        both = differences(self.a.values(drawn, measures), self.b.values(drawn, measures))
        return {name: value.expand(-1, self.n_tables) for name, value in both.items()}

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        return self.cells.accelerations(measures)


@dataclass(frozen=True, eq=False)
class _ThreeWayCells(CellResampler):
    """The cells of three-way tables; scores differences, A minus B."""

    sides: tuple[ResampledCells, ResampledCells]  # the two-way tables
    positions: tuple[Tensor, Tensor]  # (B, Z) each: position of the two-way cell that each three-way cell adds to

    @property
    def n_elements(self) -> int:
        return max(x.counts.shape[1] for x in (self, *self.sides))

    def score(self, drawn: Tensor, at: slice | Tensor, measures: Sequence[Measure]) -> Values:
        scores = []
        for side, positions in zip(self.sides, self.positions, strict=True):
            own = positions[at][:, : drawn.shape[-1]]  # draws of one pair have no padding
            sums = drawn.new_zeros(*drawn.shape[:-1], side.counts.shape[-1])
            scores.append(side.score(sums.scatter_add_(-1, own.expand(drawn.shape), drawn), at, measures))
        return differences(*scores)


def _item_resampler(pairs: _Pairs, cells: _ThreeWayCells) -> ItemResampler | None:
    """A resampler of items, where all pairs have the same items and drawing the items costs less than the cells."""
    codes, size = pairs.codes, pairs.batch_shape.numel()
    if pairs.keep is not None and size:
        kept = pairs.keep.reshape(-1, pairs.keep.shape[-1])
        if not bool((kept == kept[0]).all()):
            return None
        codes = [x[..., kept[0]] for x in codes]
    items = codes[0].shape[-1]
    if not is_cheaper(items, size, sum(own for own, _ in cells.sizes)):
        return None
    a, b = (
        item_tables(*_flatten_pairs(codes[0], pred, pairs.batch_shape), tables.shape[-2:])
        for pred, tables in zip(codes[1:], pairs.tables, strict=True)
    )
    return ItemResampler(n_items=items, n_tables=size, a=a, b=b, cells=cells)


def _flatten_pairs(true: Tensor, pred: Tensor, batch_shape: torch.Size) -> tuple[Tensor, Tensor]:
    """Codes of both sides as ``(pairs, N)``, or ``(1, N)`` where they are the same for all pairs."""
    items = true.shape[-1]
    if max(true.numel(), pred.numel()) > items:
        true, pred = (x.expand(*batch_shape, items) for x in (true, pred))
    return true.reshape(-1, items), pred.reshape(-1, items)
