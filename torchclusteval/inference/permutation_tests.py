"""Is a score more than chance? Scores against their distribution over random permutations of one side.

A permutation of the labels of one side is a random table with the same margins. One set of permutations serves all
measures.
"""

import torch
from torch import Tensor

from torchclusteval.inference import intervals, resampling
from torchclusteval.inference.bootstrap_options import deviation
from torchclusteval.inference.exact_expectations import adjusted, expected_value
from torchclusteval.inference.resampling import Progress, check_chunk, replicated, values_of
from torchclusteval.inference.results import Report, Significance
from torchclusteval.inference.sampling import check_integer, check_replicates, seeded_blocks
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.tables import ContingencyTables

ALTERNATIVES = ("better", "worse", "two-sided")


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
    kept, skipped = split_applicable(tables, _with_direction(select(measures), alternative))
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
