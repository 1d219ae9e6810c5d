"""Permutation tests of scores.

A permutation of the labels of one side is a random table with the same margins. One set of permutations serves all
measures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_bools, check_choice, check_chunk_size
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import sample_std
from torchclusteval.inference.cell_resampling import ALWAYS_DENSE_CELLS
from torchclusteval.inference.draws import fixed_margins, random_keys
from torchclusteval.inference.exact_expectations import adjusted, expected_value
from torchclusteval.inference.resampling import (
    MAX_DRAWN_CELLS,
    Progress,
    Values,
    check_progress,
    names_of_tables,
    score_resamples,
    values_of,
)
from torchclusteval.inference.results import ResultsByMeasure, Significance
from torchclusteval.inference.sampling import RESAMPLES_PER_BLOCK, Rng, check_integer, check_resamples, seed_of, seeded
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.partitions import distinct, mix, of_tables
from torchclusteval.tables import ContingencyTables, check_tables

# Nanoseconds on one CPU thread: to count an item of a table, to draw a cell. To permute an item takes 4 more, once for
# all tables with as many, whose number may not decide: next to any others a table is drawn in the same way.
_COUNT_ITEM_NS, _DRAW_CELL_NS = 2.0, 110.0
_MAX_ITEMS = 1 << 16  # so that a block of permuted items stays small
_DENSE_CELLS_ON_DEVICE = 1 << 16  # to list the cells of a sparse table the host waits


@dataclass(frozen=True, eq=False)
class NullResampler:
    """Random tables with the margins of each table of a flattened batch, drawn on the host."""

    keys: Tensor  # (B,) int64 of the random numbers of each table
    class_sizes: Tensor  # (B, R) int64, descending
    cluster_sizes: Tensor  # (B, C) int64, descending
    device: torch.device  # of the tables
    method: ClassVar[str]
    shared = False

    @property
    def n_tables(self) -> int:
        return len(self.keys)

    @cached_property
    def n_elements(self) -> int:
        return math.prod(int(n_groups(x).max()) if len(x) else 1 for x in (self.class_sizes, self.cluster_sizes))

    def sizes(self, at: slice) -> tuple[Tensor, Tensor]:
        """Sizes of the classes and of the clusters, without padding that all of some tables have."""
        rows, columns = (x[at] for x in (self.class_sizes, self.cluster_sizes))
        return rows[:, : int(n_groups(rows).max())], columns[:, : int(n_groups(columns).max())]


class MarginResampler(NullResampler):
    """Draws dense tables from the margins alone, by random numbers of each resample and table."""

    method = "margins"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        return random_keys((count,), generator)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        counts = fixed_margins(*self.sizes(at), mix(drawn.unsqueeze(1) + self.keys[at]))
        return values_of(ContingencyTables(counts.to(self.device), validate=False), measures)


class ItemPermuter(NullResampler):
    """Permutes the classes of all items and counts dense tables; tables with as many items share permutations.

    The clusters lie in an order of each table's own, so that tables are as good as independent. Tables with somewhat
    fewer items share permutations too: those of more items, without the last ones, are permutations.
    """

    method = "items"

    @cached_property
    def items(self) -> list[tuple[int, Tensor, Tensor]]:
        """For each table the number of its items, and the codes of their classes and clusters."""
        found: dict[int, tuple[int, Tensor, Tensor]] = {}
        n_items = self.class_sizes.sum(1)
        for n in n_items.unique().tolist():
            places = (n_items == n).nonzero().squeeze(1)
            pred = in_random_order(self.cluster_sizes[places], self.keys[places])
            truths, which = self.class_sizes[places].unique(dim=0, return_inverse=True)
            true = [*codes_of(truths)]  # tables of one truth have one tensor
            found |= {i: (n, true[j], own) for i, j, own in zip(places.tolist(), which.tolist(), pred, strict=True)}
        return [found[i] for i in range(self.n_tables)]

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        by_size: dict[int, list[int]] = {}
        for i, (n, *_) in enumerate(self.items[at]):
            by_size.setdefault(n, []).append(i)
        size, state, parts = 0, generator.get_state(), []
        for n, places in sorted(by_size.items()):
            if size != (size := n + -n % (1 << max(0, n.bit_length() - 4))):  # of four bits, and zeros
                generator.set_state(state)
                orders = random_orders(size, count, generator).numpy()
            order = torch.from_numpy(orders[orders < n])
            _, true, pred = zip(*(self.items[at.start + i] for i in places), strict=True)
            true = true[:1] if all(x is true[0] for x in true) else true
            permuted = torch.stack([x.index_select(0, order).view(count, n) for x in true], 1)
            parts.append(self.count(permuted, torch.stack(pred), at).counts)
        back = np.argsort([i for _, places in sorted(by_size.items()) for i in places])
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)[:, back]

    def count(self, true: Tensor, pred: Tensor, at: slice, layout: str = "dense") -> ContingencyTables:
        sizes: Any = dict(zip(("num_classes", "num_clusters"), (x.shape[1] for x in self.sizes(at)), strict=True))
        options: Any = {"layout": layout, "validate": self.device.type == "cpu"}  # a device would be waited for
        return ContingencyTables.from_labels(true.to(self.device), pred.to(self.device), **sizes, **options)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return values_of(ContingencyTables(drawn, validate=False), measures)


class SparsePermuter(ItemPermuter):
    """Permutes the classes of the items of one table at a time, and counts the cells that occur."""

    @cached_property
    def n_elements(self) -> int:
        """So many that a draw covers one table."""
        return max(int(self.class_sizes.sum(-1).max()), MAX_DRAWN_CELLS // RESAMPLES_PER_BLOCK)

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        true = codes_of(self.sizes(at)[0])[0]
        return true.index_select(0, random_orders(len(true), count, generator)).view(count, 1, -1)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        pred = in_random_order(self.sizes(at)[1], self.keys[at])
        return values_of(self.count(drawn, pred, at, "sparse"), measures)


def n_groups(sizes: Tensor) -> Tensor:
    """Non-empty groups of each row of ``(B, G)`` sizes; at least 1."""
    return (sizes > 0).sum(-1).clamp(min=1)


def codes_of(sizes: Tensor) -> Tensor:
    """``(B, N)`` codes of the items of groups with sizes ``(B, G)``, ascending."""
    code = torch.arange(sizes.shape[1], dtype=torch.uint8 if sizes.shape[1] <= 256 else torch.int32)
    return code.repeat(len(sizes)).repeat_interleave(sizes.flatten()).view(len(sizes), -1)


def random_orders(n: int, count: int, generator: torch.Generator) -> Tensor:
    """One after the other, ``(count * n,)``."""
    return torch.cat([torch.randperm(n, generator=generator, dtype=torch.int32) for _ in range(count)])


def in_random_order(sizes: Tensor, keys: Tensor) -> Tensor:
    """The codes of ``codes_of`` in an order that the keys ``(B,)`` choose."""
    codes, bits = codes_of(sizes), sizes.shape[1].bit_length()
    places = mix(keys.unsqueeze(1) + torch.arange(codes.shape[1])) >> bits << bits
    ordered = np.sort((places | codes).numpy(), axis=1) & ((1 << bits) - 1)
    return torch.from_numpy(ordered).to(codes.dtype)


def null_values(
    tables: ContingencyTables,
    measures: Sequence[Measure],
    n_resamples: int,
    generator: torch.Generator | None,
    chunk_size: int | None,
    progress: Progress | None,
) -> tuple[Values, str]:
    """Values ``(n_resamples, B)`` on random tables with the margins of each table, and how these were made.

    Random tables are drawn from the margins, or by permuting the items where this costs less: where they are few, or
    fewer than the cells. Only the table itself decides how, and which random numbers are its own.
    """
    seed = seed_of(generator, tables.device)
    batch, row, column, count = tables.cells()  # keys do not depend on the order of the groups
    cells = mix(mix(mix(count) + tables.class_sizes[batch, row]) + tables.cluster_sizes[batch, column])
    keys = mix(cells.new_zeros(len(tables)).index_add_(0, batch, cells) + seed).cpu()
    rows, columns = (x.cpu().sort(descending=True).values for x in (tables.class_sizes, tables.cluster_sizes))
    cells, items = n_groups(rows) * n_groups(columns), rows.sum(-1)
    on_cpu = tables.device.type == "cpu"
    sparse = cells > items.clamp(min=ALWAYS_DENSE_CELLS if on_cpu else _DENSE_CELLS_ON_DEVICE)
    few = ~sparse & (items > 0) & (items <= _MAX_ITEMS)
    if on_cpu:
        few &= items * _COUNT_ITEM_NS <= cells * _DRAW_CELL_NS
    # Sorted groups put padding last; drawing tables in the order of their numbers of groups keeps padding small.
    order = (n_groups(rows) * (columns.shape[1] + 1) + n_groups(columns)).argsort(stable=True)
    ways: tuple[tuple[Any, Tensor], ...]
    ways = ((SparsePermuter, sparse), (ItemPermuter, few), (MarginResampler, ~(sparse | few)))
    chosen = [(way, order[which[order]]) for way, which in ways if bool(which.any())]
    parts, chosen = [], chosen or [(MarginResampler, order)]
    for way, own in chosen:
        resampler = way(keys[own], rows[own], columns[own], tables.device)
        fresh = torch.Generator().manual_seed(seed)
        parts.append(score_resamples(resampler, measures, n_resamples, fresh, chunk_size, progress, on_host=True))
    back = torch.cat([own for _, own in chosen]).argsort().to(tables.device)
    values = {m.name: torch.cat([part[m.name] for part in parts], 1).index_select(1, back) for m in measures}
    return values, " or ".join(dict.fromkeys(way.method for way, _ in chosen))


ALTERNATIVES = ("better", "worse", "two-sided")
_LEVEL = 0.05  # of the warning about too few permutations


@on_one_thread
def permutation_test(
    tables: ContingencyTables,
    measures: Selection = None,
    n_resamples: int = 1000,
    alternative: str = "better",
    rng: Rng = None,
    chunk_size: int | None = None,
    *,
    correction: str | None = None,
    keep_resamples: bool = False,
    progress: Progress | None = None,
) -> ResultsByMeasure[Significance]:
    """Scores against their distribution over random permutations of the labels of one side.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        measures: as in :func:`evaluate`.
        n_resamples: random tables for each table.
        alternative: ``"better"`` or ``"worse"`` than chance in the measure's own direction, or ``"two-sided"``
            (twice the smaller of the two p-values). Measures without a direction need the last.
        rng: as in :func:`bootstrap`, like ``chunk_size`` and ``progress``.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the size of the batch. M tests need
            ``20 M - 1`` permutations (two-sided ``40 M - 1``) for one alone to pass .05; with fewer there is a
            warning. ``settings["smallest_p_adjusted"]`` is the smallest adjusted p-value that they can give.
        keep_resamples: keep the values of all permutations, ``(n_resamples, *batch)``.

    Returns:
        A mapping of names to :class:`Significance`. ``p_value`` is ``(hits + 1) / (n_resamples + 1)``, where values
        equal to the observed one up to rounding are hits; it is never 0 (a note says how many draws take it
        to .001). With one seed a clustering has the same draws alone and in any batch; equal clusterings share them
        and count once. ``settings["resampled"]`` says whether tables were drawn from their margins or, of few items or
        more cells than items, the items' labels were permuted (the same distribution). Tables of as many items share
        permutations of the classes, each with its clusters in an order of its own.

    Raises:
        ValueError: float tables, or an option outside the values described.

    Degenerate: p is 1, z nan where permuting changes nothing (one cluster, single items); all nan without items.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.permutation_test(tables, ["ari"], rng=0)["ari"]
    >>> bool(found.p_value < 0.01)
    True
    """
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(correction, "correction", (*intervals.CORRECTIONS, None))
    check_resamples(n_resamples, "n_resamples")
    check_chunk_size(chunk_size)
    check_bools(keep_resamples=keep_resamples)
    generator = seeded(rng)
    check_progress(progress)
    check_tables(tables)
    chosen = select(measures)
    check_integer(tables)
    kept, skipped = split_applicable(tables, _with_direction(chosen, alternative), common_only=True)
    skipped |= {m.name: "has no direction" for m in chosen if m.better is None and m not in kept}
    observed = values_of(tables, kept)
    first, places = distinct(of_tables(tables))
    corrected: dict[str, Any] = {}
    sides = 2 if alternative == "two-sided" else 1
    if correction is not None:
        own = [value.reshape(-1)[first] for value in observed.values()]
        least = intervals.smallest_p_adjusted(own, n_resamples, correction, _LEVEL, sides=sides)
        corrected = {"correction": correction, "smallest_p_adjusted": least}
    own_tables = ContingencyTables._of(TableParts(tables._cells.select(first)))
    values, resampled = null_values(own_tables, kept, n_resamples, generator, chunk_size, progress)
    records = {}
    for measure in kept:
        value = observed[measure.name]
        null = values[measure.name].index_select(1, places).reshape(n_resamples, *tables.batch_shape)
        mean, std = null.mean(0), sample_std(null)
        tolerance = intervals.rounding_tolerance(value) + 1e-9 * std.nan_to_num(0.0)
        is_constant = std <= tolerance
        if alternative == "two-sided":
            p_value = intervals.two_sided(null, value, tolerance)
        else:
            upper = (alternative == "better") == (measure.better == "higher")
            p_value = intervals.one_sided(null, value, tolerance, upper=upper)
        exact = expected_value(measure, tables)
        expected = mean if exact is None else exact
        records[measure.name] = Significance(
            observed=value,
            null_mean=mean,
            null_sd=std,
            z=((value - mean) / std).masked_fill(is_constant, torch.nan),
            p_value=p_value,
            expected=expected,
            adjusted=adjusted(value, expected, measure.perfect, tables),
            p_adjusted=None if correction is None else intervals.adjust(p_value.reshape(-1)[first], correction)[places],
            resamples=null if keep_resamples else None,
        )
    settings = {"n_resamples": n_resamples, "alternative": alternative, "resampled": resampled}
    return ResultsByMeasure(
        records=records,
        settings=settings | corrected,
        batch_shape=tables.batch_shape,
        skipped=skipped,
        clusterings=names_of_tables(tables),
        notes=tuple(intervals.note_few_draws([x.p_value for x in records.values()], n_resamples, sides)),
    )


def _with_direction(chosen: dict[Measure, bool], alternative: str) -> dict[Measure, bool]:
    """The chosen measures; for one-sided tests without the members of a set that have no direction."""
    if alternative == "two-sided":
        return chosen
    for measure, named in chosen.items():
        if measure.better is None and named:
            raise ValueError(f"alternative: expected 'two-sided' for {measure.name}, which has no direction")
    return {measure: named for measure, named in chosen.items() if measure.better is not None}
