"""Permutation tests of scores.

A permutation of the labels of one side is a random table with the same margins. One set of permutations serves all
measures.
"""

from typing import Any

import torch

from torchclusteval.common.checks import check_bools, check_choice, check_chunk_size
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import sample_std
from torchclusteval.inference.exact_expectations import adjusted, expected_value
from torchclusteval.inference.null_resampling import null_resampler
from torchclusteval.inference.resampling import Progress, check_progress, names_of_tables, score_resamples, values_of
from torchclusteval.inference.results import ResultsByMeasure, Significance
from torchclusteval.inference.sampling import Rng, check_integer, check_resamples, seeded
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.tables import ContingencyTables, check_tables

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
        rng: source of the draws: a whole number (a seed), a ``torch.Generator``, or None for torch's own.
        chunk_size: permutations scored at a time, in whole blocks of 256; bounds memory and changes no number.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the size of the batch. M tests need
            ``20 M - 1`` permutations (two-sided ``40 M - 1``) for one alone to pass .05; with fewer there is a
            warning. ``settings["smallest_p_adjusted"]`` is the smallest adjusted p-value that they can give.
        keep_resamples: keep the values of all permutations, ``(n_resamples, *batch)``.
        progress: called as ``progress(done, total)``.

    Returns:
        A mapping of names to :class:`Significance`. ``p_value`` is ``(hits + 1) / (n_resamples + 1)``, where values
        that differ from the observed one by rounding alone are hits; it is never 0. ``settings["resampled"]`` says
        whether tables were drawn from their margins or the items' labels were permuted (the same distribution; the
        latter for tables with more cells than items, and for tables of few items that have the same class sizes: they
        share permutations of the classes, against clusters in an order of their own).

    Raises:
        ValueError: float tables, or an option outside the values described.

    Degenerate: p is 1, z nan where permuting changes nothing (one cluster, single items); all nan without items.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.permutation_test(tables, ["ari"], rng=0)["ari"]
    >>> bool(found.p_value < 0.01)
    True
    """
    check_choice(alternative, "alternative", ALTERNATIVES)
    intervals.check_correction(correction)
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
    corrected: dict[str, Any] = {}
    if correction is not None:
        sides = 2 if alternative == "two-sided" else 1
        least = intervals.smallest_p_adjusted(observed.values(), n_resamples, correction, _LEVEL, sides=sides)
        corrected = {"correction": correction, "smallest_p_adjusted": least}
    resampler = null_resampler(tables)
    values = score_resamples(resampler, kept, n_resamples, generator, chunk_size, progress)
    in_order = resampler.order.argsort()
    records = {}
    for measure in kept:
        value = observed[measure.name]
        null = values[measure.name].index_select(1, in_order).reshape(n_resamples, *tables.batch_shape)
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
            p_adjusted=None if correction is None else intervals.adjust(p_value, correction),
            resamples=null if keep_resamples else None,
        )
    settings = {"n_resamples": n_resamples, "alternative": alternative, "resampled": resampler.method}
    return ResultsByMeasure(
        records=records,
        settings=settings | corrected,
        batch_shape=tables.batch_shape,
        skipped=skipped,
        clusterings=names_of_tables(tables),
    )


def _with_direction(chosen: dict[Measure, bool], alternative: str) -> dict[Measure, bool]:
    """The chosen measures; for one-sided tests without the members of a set that have no direction."""
    if alternative == "two-sided":
        return chosen
    for measure, named in chosen.items():
        if measure.better is None and named:
            raise ValueError(f"alternative: expected 'two-sided' for {measure.name}, which has no direction")
    return {measure: named for measure, named in chosen.items() if measure.better is not None}
