"""Is a score, or a difference of scores, more than chance? Bootstrap, permutation test, paired comparison.

All work on tables, not on items: items drawn again with replacement are a multinomial sample over the cells, and
a permutation of one side is a random table with the same margins. One set of replicates serves all measures.
"""

import torch
from torch import Tensor

from torchclusteval.chance import check_integer, check_replicates, seeded_blocks
from torchclusteval.inference import intervals, resampling
from torchclusteval.inference.bootstrapping import Setting, deviation
from torchclusteval.inference.expectations import adjusted, expected_value
from torchclusteval.inference.resampling import Progress, Values, cell_list, check_chunk, replicated, values_of
from torchclusteval.inference.results import Interval, Report, Significance
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring import applicable
from torchclusteval.tables import ContingencyTables

ALTERNATIVES = ("better", "worse", "two-sided")


def bootstrap(
    tables: ContingencyTables,
    measures: Selection = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    method: str = "percentile",
    generator: torch.Generator | None = None,
    chunk_size: int | None = None,
    *,
    keep_replicates: bool = False,
    progress: Progress | None = None,
) -> Report[Interval]:
    """Intervals of scores by drawing the items of each table again, with replacement.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        measures: as in :func:`evaluate`.
        replicates: resampled tables for each table.
        confidence: share of the intervals that are to hold the true value, between 0 and 1.
        method: ``"percentile"``: quantiles of the replicates; ``"basic"``: the same reflected at the estimate;
            ``"bca"``: with corrections for bias and skewness (Efron 1987), the latter from the jackknife over
            items, for tables of at most 10,000 non-empty cells. Where its bias correction is infinite (nearly all
            replicates on one side of the estimate) the interval is the percentile one, and ``fallback`` says so.
        generator: source of the one seed; by default torch's own.
        chunk_size: replicates scored at a time, in whole blocks of 256; bounds memory and changes no number.
        keep_replicates: keep the values of all replicates, ``(replicates, *batch)``.
        progress: called with the number of replicates done and in all.

    Returns:
        A mapping of names to :class:`Interval`. ``settings["resampled"]`` says whether all cells were drawn or the
        non-empty ones (the same law; the latter for large tables with few filled cells).

    Raises:
        ValueError: float tables, or an option that is not as described.

    Degenerate: nan without items; one item, or one cell, gives an interval of width 0.
    Coverage: share of 95 % intervals (percentile / basic / BCa) that hold the score of a known population, in 2000
        samples of 3 x 3 tables, 1000 replicates, over adjusted Rand, V-measure, purity, BCubed F and VI
        (``benchmarks/bootstrap_coverage.py``). Moderate agreement: 1000 items .94-.95 / .94-.95 / .95; 200 items
        .89-.95 / .92-.94 / .93-.95; 50 items .73-.96 / .87-.90 / .87-.93. With 3 % of the items apart: 1000 items
        .94-.96 / .93-.95 / .95-.97; 50 items .74-.78 by every method, as a fifth of such samples have no item
        apart and an interval of width 0. Independent sides: 1000 items .89-.96 / .84-.94 / .90-.94, except the
        V-measure, which sits at its least value 0: percentile and BCa intervals never hold it, basic ones do.
    Limits: resampled tables look less noisy than the population, so measures of information and of overlap are
        biased towards agreement where counts are small; ``bias`` shows it. Use permutations, not an interval, to tell
        a score from chance.
    """
    check_integer(tables)
    kept, skipped = applicable(tables, select(measures))
    setting = Setting(replicates, confidence, method, chunk_size)
    cells = cell_list(tables)
    shape = tables.batch_shape

    def score(counts: Tensor, at: slice | Tensor) -> Values:
        return values_of(cells.build(counts, at), kept)

    found = setting.resample(cells.counts, score, generator, progress, cells=cells.counts.shape[1])
    estimates = values_of(tables, kept)
    records = {}
    for name, estimate in estimates.items():
        values = found.replicates(name, shape)
        low, high, fallback = found.interval(name, estimate)
        records[name] = Interval(
            estimate,
            low,
            high,
            deviation(values),
            values.mean(0) - estimate,
            fallback,
            values if keep_replicates else None,
        )
    resampled = "all cells" if cells.is_dense else "non-empty cells"
    return Report(records, setting.described(resampled), shape, skipped)


def permutation_test(
    tables: ContingencyTables,
    measures: Selection = None,
    permutations: int = 1000,
    alternative: str = "better",
    generator: torch.Generator | None = None,
    chunk_size: int | None = None,
    *,
    correction: str | None = None,
    keep_replicates: bool = False,
    progress: Progress | None = None,
) -> Report[Significance]:
    """Scores against their distribution over random permutations of the labels of one side.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        measures: as in :func:`evaluate`.
        permutations: random tables for each table.
        alternative: ``"better"`` or ``"worse"`` than chance in the measure's own direction, or ``"two-sided"``
            (twice the smaller of the two p-values). Measures without a direction need the last.
        generator: source of the one seed; by default torch's own.
        chunk_size: permutations scored at a time, in whole blocks of 256; bounds memory and changes no number.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the size of the batch.
        keep_replicates: keep the values of all permutations, ``(permutations, *batch)``.
        progress: called with the number of permutations done and in all.

    Returns:
        A mapping of names to :class:`Significance`. ``p_value`` is ``(hits + 1) / (permutations + 1)``, where values
        that differ from the observed one by rounding alone are hits; it is never 0. ``settings["resampled"]`` says
        whether tables were drawn from their margins or the items' labels were permuted (the same law; the latter
        for tables with more cells than items).

    Raises:
        ValueError: float tables, or an option that is not as described.

    Degenerate: p is 1, z nan where permuting changes nothing (one cluster, single items); all nan without items.
    """
    check_integer(tables)
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative: expected one of {', '.join(ALTERNATIVES)}; got {alternative!r}")
    kept, skipped = applicable(tables, _with_direction(select(measures), alternative))
    blocks = seeded_blocks(check_replicates(permutations, "permutations"), tables.device, generator)
    skipped |= {m.name: "has no direction" for m in select(measures) if m.better is None and m not in kept}
    shape, size = tables.batch_shape, tables.batch_shape.numel()
    source = resampling.permuter(tables)
    found = replicated(
        source.draw,
        lambda drawn, at: values_of(source.build(drawn, at), kept),
        tables=size,
        cells=source.cells,
        blocks=blocks,
        chunk_size=check_chunk(chunk_size),
        progress=progress,
    )
    observed = values_of(tables, kept)
    records = {}
    for measure in kept:
        values = _in_order(found.get(measure.name), source.order, permutations, shape, tables.device)
        records[measure.name] = _significance(
            measure, tables, observed[measure.name], values, alternative, correction, keep_replicates
        )
    settings = {"permutations": permutations, "alternative": alternative, "resampled": source.method}
    return Report(records, settings | ({} if correction is None else {"correction": correction}), shape, skipped)


def _significance(
    measure: Measure,
    tables: ContingencyTables,
    observed: Tensor,
    values: Tensor,
    alternative: str,
    correction: str | None,
    keep: bool,
) -> Significance:
    mean, spread = values.mean(0), deviation(values)
    near = intervals.tolerance(observed) + 1e-9 * spread.nan_to_num(0.0)
    if alternative == "two-sided":
        p_value = intervals.two_sided(values, observed, near)
    else:
        upper = (alternative == "better") == (measure.better == "higher")
        p_value = intervals.one_sided(values, observed, near, upper=upper)
    exact = expected_value(measure, tables)
    expected = mean if exact is None else exact
    still = spread <= near
    return Significance(
        observed,
        mean,
        spread,
        ((observed - mean) / spread).masked_fill(still, torch.nan),
        p_value,
        expected,
        adjusted(observed, expected, measure.perfect, tables),
        None if correction is None else intervals.adjust(p_value, correction),
        values if keep else None,
    )


def _with_direction(chosen: dict[Measure, bool], alternative: str) -> dict[Measure, bool]:
    """Without the measures of a set that have no direction, where one is needed."""
    if alternative == "two-sided":
        return chosen
    for measure, named in chosen.items():
        if measure.better is None and named:
            raise ValueError(f"alternative: expected 'two-sided' for {measure.name}, which has no direction")
    return {measure: named for measure, named in chosen.items() if measure.better is not None}


def _in_order(values: Tensor | None, order: Tensor, count: int, shape: torch.Size, device: torch.device) -> Tensor:
    """``(count, *batch)`` from values of tables in another order; None: an empty batch."""
    if values is None:
        return torch.zeros(count, *shape, dtype=torch.float64, device=device)
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=device)
    return values.index_select(1, back).reshape(count, *shape)
