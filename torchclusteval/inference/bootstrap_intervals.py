"""Bootstrap intervals of scores.

The bootstrap works on tables, not on items: items drawn with replacement are a multinomial sample over the cells, and
classes drawn without replacement are rows. One set of resamples serves all measures. Where items come in groups, such
as documents, whole groups can be drawn.
"""

import numpy as np

from torchclusteval.common.checks import check_bools
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import BootstrapOptions, Drawer, Source
from torchclusteval.inference.group_resampling import group_resampler, scores_of_groups
from torchclusteval.inference.resampling import Progress, check_progress, names_of_tables, values_of
from torchclusteval.inference.results import Interval, ResultsByMeasure
from torchclusteval.inference.sampling import Rng, seeded
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import split_applicable
from torchclusteval.scoring.partitions import distinct, of_tables
from torchclusteval.tables import ContingencyTables, check_tables


@on_one_thread
def bootstrap(
    tables: ContingencyTables,
    measures: Selection = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    method: str | None = None,
    rng: Rng = None,
    chunk_size: int | None = None,
    *,
    resample: str | None = None,
    macro: bool = False,
    keep_resamples: bool = False,
    progress: Progress | None = None,
) -> ResultsByMeasure[Interval]:
    """Intervals of scores by drawing items, classes or groups of items again.

    Args:
        tables: ``(*batch, R, C)`` integers (to draw classes: any numbers); to draw groups ``(*batch, G, R, C)`` of any
            numbers, one table per group, as from ``from_labels(..., by=ids)``.
        measures: as in :func:`evaluate`.
        n_resamples: resampled tables for each table, at least 2. Quantiles for the level c need ``(1 + c) / (1 - c)``,
            39 for .95; with fewer there is a note.
        confidence_level: nominal share of intervals that contain the true value, between 0 and 1.
        method: for draws of items and groups. ``"percentile"``, also None: quantiles of the resamples; ``"basic"``: the
            same reflected at the estimate; ``"bca"``: with corrections for bias and skewness (Efron 1987), the latter
            from the jackknife over items, for tables of at most 10,000 non-empty cells. Where its bias correction is
            infinite (nearly all resamples on one side of the estimate) the interval is the percentile one, and
            ``fallback`` says so. Draws of classes have one method, normal intervals of the logarithm of the distance
            to the perfect value (of the score, without a perfect value).
        rng: source of the draws: a whole number (a seed), a ``torch.Generator``, or None for torch's own.
        chunk_size: resamples scored at a time, in whole blocks of 256; bounds memory and changes no number.
        resample: what is drawn. ``"items"``, with replacement: intervals hold for new items of the same classes.
            ``"classes"``, seven tenths of them without replacement, for classes that are entities from a population, of
            any sizes: intervals hold for new classes. ``"groups"``, such as documents, with replacement: the estimate
            is that of :func:`pooled`, for measures with ``Measure.parts`` (also in the families that count items of one
            side alone). None: classes, from 30 on; items for counts that grow with the number of items, and in tables
            with fewer classes. But from 10 classes on they are drawn too where fewer than 5 items have an error, or
            where the mean of draws of items is more than a quarter of a standard error from the estimate. With fewer
            than 10 there is no interval where it is more than half a standard error away. Near these limits draws of a
            fixed seed decide. Each table has its own unit and classes, and the same draws as if it were alone; tables
            with the same number of classes share their draws, and so do all clusterings for groups.
        macro: with ``resample="groups"``: the mean over the groups that have a finite score, of any measure.
        keep_resamples: keep the values of all resamples, ``(resamples, *batch)``; of classes around the estimate.
        progress: called as ``progress(done, total)``.

    Returns:
        A mapping of names to :class:`Interval`; equal clusterings have equal intervals. ``settings["resampled"]`` says
        what was drawn, ``settings["population"]`` what the intervals hold for, and ``notes`` any problems with them.
        Where classes were drawn of some tables and items of others, ``of_classes`` says which.

    Warns:
        UserWarning: the mean of draws of items is more than one standard error from the estimate (only ``notes`` for
            ten items and fewer, and from a quarter on); or few classes have an error (a pair that both sides join), so
            that intervals say little (of items: ``notes``). Where no class has, they are nan.

    Raises:
        ValueError: float tables whose items are resampled, a single table or clusterings of the same items whose groups
            are, a measure that grows with the number of items where classes are named, or an option outside the values
            described.

    Degenerate: nan without items; one item, or one cell, gives an interval of width 0.
    Source: Efron (1987), BCa; McCarthy (1969), half-samples; Shao and Wu (1989), the delete-d jackknife; Praestgaard
        and Wellner (1993), exchangeable weights.
    Coverage: share of 95 % intervals that hold the mean score of samples of the same size
        (``benchmarks/bootstrap_coverage.py``). Draws of classes: .91 to .98 from two classes with an error on. Draws
        of items (percentile / basic / BCa), 2000 samples of 3 x 3 tables, 1000 resamples, adjusted Rand, V-measure,
        purity, BCubed F and VI. Moderate agreement: 1000 items .94-.95 / .94-.95 / .95; 200 items .89-.95 / .92-.94 /
        .93-.95; 50 items .73-.96 / .87-.90 / .87-.93. With 3 % of the items apart: 1000 items .94-.96 / .93-.95 /
        .95-.97; 50 items .74-.78 by every method, as a fifth of such samples have no item apart and an interval of
        width 0. Independent sides: 1000 items .88-.96 / .84-.94 / .90-.94, except the V-measure, which sits at its
        least value 0: percentile and BCa intervals never hold it, basic ones do.
    Limits: tables of items drawn again look less noisy than the population, so measures of information and of overlap
        are biased towards agreement where counts are small; ``bias`` shows it (that of classes is taken out, and 0).
        Use permutations, not an interval, to tell a score from chance.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> found = tce.bootstrap(tables, ["purity"], rng=0)["purity"]
    >>> bool(found.low < found.estimate < found.high)
    True
    """
    check_tables(tables)
    options = BootstrapOptions(n_resamples, confidence_level, method, chunk_size, resample)
    check_bools(macro=macro, keep_resamples=keep_resamples)
    if macro and resample != "groups":
        raise ValueError(f"macro: expected resample='groups' too, for the scores to average; got resample={resample!r}")
    generator = seeded(rng)
    check_progress(progress)
    chosen = select(measures)
    if resample == "groups":
        [(scores, sums)] = scores_of_groups([tables], measures, macro)
        estimates = {name: value.detach() for name, value in scores.items()}
        drawn = [*scores.measures.values()]
        found = options.resample_by(group_resampler(tables, sums), drawn, estimates, generator, progress)
        skipped, clusterings = scores.skipped, scores.clusterings
    else:
        drawn, skipped = split_applicable(tables, chosen, common_only=True)
        tables = tables.without_margins()
        clusterings, estimates = names_of_tables(tables), values_of(tables, drawn)
        first, places = distinct(of_tables(tables))
        found = Drawer(
            Source([tables]).select(first),
            {name: value.reshape(-1)[first] for name, value in estimates.items()},
            options,
            generator,
            progress,
            places,
            names=lambda: _descriptions(tables),
        ).draw(drawn, chosen)
        skipped = {**skipped, **found.left_out}
    records, units = {}, bool(found.mixed())
    for measure in drawn:
        if (name := measure.name) in skipped:
            continue
        estimate = estimates[name].reshape(-1)
        low, high, fallback = found.interval(name, estimate, measure)
        own = estimate, low, high, found.errors[name], found.bias[name], fallback
        records[name] = Interval(
            *own,
            of_classes=found.by_classes[name] if units else None,
            resamples=found.values[name] if keep_resamples else None,
        )
    settings = options.settings_dict("groups") if resample == "groups" else found.settings()
    shape = next(iter(estimates.values())).shape if estimates else tables.batch_shape
    notes = (*found.notes, *intervals.note_few_for_level(settings))
    return ResultsByMeasure(records, settings, shape, skipped, clusterings, notes)


def _descriptions(tables: ContingencyTables) -> list[str]:
    """What notes call each table of a batch."""
    shape, names = tables.batch_shape, names_of_tables(tables)
    if names is not None:
        return [repr(name) for name in names]
    if len(shape) == 2 and tables.names is not None and tables.groups is not None:
        return [f"{name!r} in {group!r}" for name in tables.names for group in tables.groups.tolist()]
    return [f"table {place[0] if len(place) == 1 else place}" for place in np.ndindex(shape)]
