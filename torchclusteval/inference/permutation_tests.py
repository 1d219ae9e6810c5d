"""Permutation tests of scores.

A permutation of the labels of one side is a random table with the same margins. One set of permutations serves all
measures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_bools, check_choice, check_chunk_size
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import sample_std
from torchclusteval.inference.cell_resampling import ALWAYS_DENSE_CELLS
from torchclusteval.inference.draws import fixed_margins
from torchclusteval.inference.exact_expectations import adjusted, expected_value
from torchclusteval.inference.resampling import (
    MAX_DRAWN_CELLS,
    Progress,
    Values,
    check_progress,
    names_of_tables,
    score_resamples,
    tables_of_codes,
    values_of,
)
from torchclusteval.inference.results import ResultsByMeasure, Significance
from torchclusteval.inference.sampling import RESAMPLES_PER_BLOCK, Rng, check_integer, check_resamples, seeded
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.partitions import distinct, of_tables
from torchclusteval.tables import ContingencyTables, check_tables

# nanoseconds on one CPU thread: to permute an item, to count an item of a table, to draw a cell
_PERMUTE_ITEM_NS, _COUNT_ITEM_NS, _DRAW_CELL_NS = 8.0, 2.0, 110.0
_MAX_ITEMS = 1 << 16  # so that a block of permuted items stays small


@dataclass(frozen=True, eq=False)
class NullResampler:
    """Random tables with the margins of each table of a flattened batch, drawn in an order of its own."""

    order: Tensor  # (B,) position in the batch of the i-th table drawn
    n_elements: int
    method: ClassVar[str]
    shared = False

    @property
    def n_tables(self) -> int:
        return len(self.order)

    @property
    def device(self) -> torch.device:
        return self.order.device

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        raise NotImplementedError

    def tables(self, drawn: Tensor, at: slice) -> ContingencyTables:
        return ContingencyTables(drawn, validate=False)

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        return values_of(self.tables(drawn, at), measures)


def null_resampler(tables: ContingencyTables) -> NullResampler:
    """Whichever costs least: drawing dense tables from the margins, or permuting the items of one side.

    Items are permuted for tables with more cells than items, which are sparse then, and for tables of few items and the
    same classes, which share the permutations.
    """
    size = tables.batch_shape.numel()
    # Sorted groups put padding last; drawing tables in the order of their numbers of groups keeps padding small.
    rows, columns = (
        x.reshape(size, x.shape[-1]).sort(descending=True).values for x in (tables.class_sizes, tables.cluster_sizes)
    )
    cells = _max_groups(rows) * _max_groups(columns)
    items = int(tables.n_items.max()) if size else 0
    if cells <= max(ALWAYS_DENSE_CELLS, items):
        order = ((rows > 0).sum(-1) * (columns.shape[-1] + 1) + (columns > 0).sum(-1)).argsort(stable=True)
        together = max(1, min(size, MAX_DRAWN_CELLS // (RESAMPLES_PER_BLOCK * cells)))  # tables of a draw
        permuting = items * (_PERMUTE_ITEM_NS / together + _COUNT_ITEM_NS)
        cheap = 0 < items <= _MAX_ITEMS and permuting <= _DRAW_CELL_NS * cells and bool((rows == rows[0]).all())
        kind = SharedPermuter if cheap else MarginResampler
        return kind(order, n_elements=cells, class_sizes=rows[order], cluster_sizes=columns[order])
    batch, row, column, count = tables.cells()
    return ItemPermuter(
        order=torch.arange(size, device=tables.device),
        n_elements=max(items, MAX_DRAWN_CELLS // RESAMPLES_PER_BLOCK),  # so many that a draw covers one table
        shape=(tables.shape[-2], tables.shape[-1]),
        cells=(row, column, count),
        bounds=torch.searchsorted(batch, torch.arange(size + 1, device=tables.device)).tolist(),
        n_items=tables.n_items.reshape(size).tolist(),
    )


def _max_groups(sizes: Tensor) -> int:
    """Most non-empty groups in a row of ``(B, G)`` sizes; at least 1."""
    return max(1, int((sizes > 0).sum(-1).max())) if sizes.numel() else 1


@dataclass(frozen=True, eq=False)
class MarginResampler(NullResampler):
    """Draws dense tables from the margins alone."""

    class_sizes: Tensor  # (B, R) int64, descending
    cluster_sizes: Tensor  # (B, C) int64, descending
    method = "margins"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        rows, columns = (x[at, : _max_groups(x[at])] for x in (self.class_sizes, self.cluster_sizes))
        return fixed_margins(rows, columns, count, generator)


class SharedPermuter(MarginResampler):
    """Permutes the classes of all items, for all tables of a draw at once; their clusters lie in an order of their own.

    The order of the clusters is drawn for each table, so that tables are as good as independent.
    """

    method = "items"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        rows, columns = (x[at, : _max_groups(x[at])] for x in (self.class_sizes, self.cluster_sizes))
        true, pred = _in_random_order(rows[:1], count, generator), _in_random_order(columns, len(columns), generator)
        shape = rows.shape[1], columns.shape[1]
        return tables_of_codes(true.unsqueeze(1), pred, shape, layout="dense").counts


def _in_random_order(sizes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """``(count, N)`` codes, with the sizes ``(count, groups)`` or ``(1, groups)`` of their groups."""
    dtype = torch.uint8 if sizes.shape[1] <= 256 else torch.int32
    code = torch.arange(sizes.shape[1], dtype=dtype, device=sizes.device)
    labels = code.repeat(len(sizes)).repeat_interleave(sizes.flatten()).view(len(sizes), -1)
    n, device = labels.shape[1], labels.device
    orders = (torch.randperm(n, generator=generator, device=device) for _ in range(count))
    return labels.expand(count, -1).gather(1, torch.stack(list(orders)))


@dataclass(frozen=True, eq=False)
class ItemPermuter(NullResampler):
    """Permutes the clusters of all items, one table at a time."""

    shape: tuple[int, int]  # (R, C)
    cells: tuple[Tensor, Tensor, Tensor]  # (Z,) each: row, column and count of the non-empty cells of all tables
    bounds: list[int]  # where the cells of each table begin, and where the last ones end
    n_items: list[int]
    method = "items"

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        n = self.n_items[at.start]
        permuted = (torch.randperm(n, generator=generator, device=self.device) for _ in range(count))
        return torch.stack(list(permuted)).unsqueeze(1)  # (count, 1, n)

    def tables(self, drawn: Tensor, at: slice) -> ContingencyTables:
        row, column, count = (x[self.bounds[at.start] : self.bounds[at.stop]] for x in self.cells)
        true, pred = (torch.repeat_interleave(x, count) for x in (row, column))
        return tables_of_codes(true, pred[drawn], self.shape, validate=False, layout="sparse")


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
        to .001). Equal clusterings share their draws and count once. ``settings["resampled"]`` says whether tables were
        drawn from their margins or the items' labels were permuted (the same distribution). Labels are permuted for
        tables with more cells than items, and for tables of few items with the same class sizes: these share
        permutations of the classes, each table with its clusters in an order of its own.

    Raises:
        ValueError: float tables, or an option outside the values described.

    Degenerate: p is 1, z nan where permuting changes nothing (one cluster, single items); all nan without items.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.permutation_test(tables, ["ari"], rng=0)["ari"]
    >>> bool(found.p_value < 0.01)
    True
    """
    check_tables(tables)
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(correction, "correction", (*intervals.CORRECTIONS, None))
    check_resamples(n_resamples, "n_resamples")
    check_chunk_size(chunk_size)
    check_bools(keep_resamples=keep_resamples)
    generator = seeded(rng)
    check_progress(progress)
    chosen = select(measures)
    check_integer(tables)
    sides = 2 if alternative == "two-sided" else 1
    if sides == 1 and (wrong := next((m.name for m, named in chosen.items() if named and m.better is None), None)):
        raise ValueError(f"alternative: expected 'two-sided' for {wrong}, which has no direction")
    directed = {measure: named for measure, named in chosen.items() if sides == 2 or measure.better is not None}
    kept, skipped = split_applicable(tables, directed, common_only=True)
    skipped |= {m.name: "has no direction" for m in chosen if m.better is None and m not in kept}
    observed = values_of(tables, kept)
    first, places = distinct(of_tables(tables))
    corrected: dict[str, Any] = {}
    if correction is not None:
        own = [value.reshape(-1)[first] for value in observed.values()]
        least = intervals.smallest_p_adjusted(own, n_resamples, correction, _LEVEL, sides=sides)
        corrected = {"correction": correction, "smallest_p_adjusted": least}
    resampler = null_resampler(ContingencyTables._of(TableParts(tables._cells.select(first))))
    values = score_resamples(resampler, kept, n_resamples, generator, chunk_size, progress)
    in_order = resampler.order.argsort()[places]
    records = {}
    for measure in kept:
        value = observed[measure.name]
        null = values[measure.name].index_select(1, in_order).reshape(n_resamples, *tables.batch_shape)
        mean, std = null.mean(0), sample_std(null)
        tolerance = intervals.rounding_tolerance(value) + 1e-9 * std.nan_to_num(0.0)
        if sides == 2:
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
            z=((value - mean) / std).masked_fill(std <= tolerance, torch.nan),
            p_value=p_value,
            expected=expected,
            adjusted=adjusted(value, expected, measure.perfect, tables),
            p_adjusted=None if correction is None else intervals.adjust(p_value.reshape(-1)[first], correction)[places],
            resamples=null if keep_resamples else None,
        )
    settings = {"n_resamples": n_resamples, "alternative": alternative, "resampled": resampler.method}
    notes = (*intervals.note_few_draws([x.p_value for x in records.values()], n_resamples, sides),)
    names = names_of_tables(tables)
    return ResultsByMeasure(records, settings | corrected, tables.batch_shape, skipped, names, notes)
