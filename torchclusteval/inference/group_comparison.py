"""Differences of two clusterings of the same groups of items, such as two systems on the same documents.

Intervals come from drawing whole groups again (paired bootstrap), p-values from exchanging the two clusterings within
random groups (approximate randomisation), or within all subsets of few groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_choice
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import intervals
from torchclusteval.inference.bootstrap_options import BootstrapOptions, sample_std
from torchclusteval.inference.group_resampling import GroupResampler, group_resampler, scores_of_groups
from torchclusteval.inference.resampling import Progress, Values, check_progress, differences, score_resamples
from torchclusteval.inference.results import Difference, ResultsByMeasure
from torchclusteval.inference.sampling import Rng, seeded
from torchclusteval.labels.group_labels import as_objects
from torchclusteval.labels.shapes import check_order
from torchclusteval.labels.vocabulary import Vocabulary
from torchclusteval.measures.one_sided import n_pred, pred_items, whole_class_sizes
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.partitions import distinct, of_tables
from torchclusteval.tables import ContingencyTables, check_tables

_SWAPS_AT_A_TIME = 1 << 12


@on_one_thread
def paired_groups(
    tables_a: ContingencyTables,
    tables_b: ContingencyTables,
    measures: Selection = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    rng: Rng = None,
    *,
    test: str = "permutation",
    macro: bool = False,
    zero_division: float | None = None,
    correction: str | None = None,
    keep_resamples: bool = False,
    progress: Progress | None = None,
) -> ResultsByMeasure[Difference]:
    """Difference of the scores of two clusterings over the same groups of items, such as two systems over documents.

    Args:
        tables_a: ``(*batch, G, R, C)``, one table per group, as from ``from_labels(..., by=ids)``, ``from_documents``;
            batch shapes of both sides broadcast.
        tables_b: ``(*batch, G, R, C)`` of the same groups of the same items. Tables do not hold the items, so the check
            compares the ids of groups and, in each, the sizes of the classes (by name where both sides have names).
        measures: as in :func:`evaluate`, like ``zero_division``; of a set, those that are not defined by sums over
            groups are left out unless ``macro``.
        n_resamples: how often groups are drawn, and swapped.
        confidence_level: as in :func:`bootstrap`, like ``rng`` and ``progress``.
        test: ``"permutation"``: A and B are exchanged within each group at random (approximate randomisation); all
            ``2^G`` ways where these are no more than ``n_resamples``, so that the p-value is exact. ``"bootstrap"``:
            twice the share of drawn differences on the far side of 0, which agrees with the interval.
        macro: the mean over the groups that have a finite score on both sides, of any measure; else the score of
            :func:`pooled`.
        correction: ``"holm"`` or ``"benjamini-hochberg"``: p-values adjusted for the number of different pairs.
        keep_resamples: keep the differences of the groups drawn, ``(n_resamples, *batch)``.

    Returns:
        A mapping of names to :class:`Difference`, A minus B, with percentile intervals of groups drawn again. The
        p-value is two-sided and never 0: ``(hits + 1) / (n_resamples + 1)`` of random swaps, and at least
        ``2^(1 - G)``, the least p-value of all swaps of G groups with items; where that is no less than
        ``1 - confidence_level``, intervals are nan.

    Raises:
        ValueError: the groups or their classes differ, the last batch dimension holds clusterings of the same items,
            there are fewer than two groups, or an option is not as described.

    Degenerate: p is 1 where both clusterings score the same.
    Source: Noreen (1989), Computer-intensive methods for testing hypotheses; Koehn (2004), the paired bootstrap.

    Example:
        >>> documents, true = ["d1"] * 4 + ["d2"] * 4 + ["d3"] * 4, [0, 0, 1, 1] * 3
        >>> a, b = (tce.ContingencyTables.from_labels(true, x, by=documents) for x in (true, [0, 0, 0, 1] * 3))
        >>> found = tce.paired_groups(a, b, ["purity"], rng=0)["purity"]
        >>> found.difference.item(), found.p_value.item()  # the least of the 8 ways to swap three documents
        (0.25, 0.25)
    """
    check_tables(tables_a, "tables_a")
    check_tables(tables_b, "tables_b")
    options = BootstrapOptions(n_resamples, confidence_level, "percentile", None)
    check_choice(correction, "correction", (*intervals.CORRECTIONS, None))
    check_choice(test, "test", ("permutation", "bootstrap"))
    check_bools(macro=macro, keep_resamples=keep_resamples)
    check_progress(progress)
    generator = seeded(rng)
    select(measures)  # a mistake spares the tables
    shape = _check_groups(tables_a, tables_b)[:-1]
    scored = scores_of_groups((tables_a, tables_b), measures, macro, zero_division)
    a, b = (group_resampler(tables, x[1], shape) for tables, x in zip((tables_a, tables_b), scored, strict=True))
    n_tables, groups = (max(a.n_tables, b.n_tables) if min(a.n_tables, b.n_tables) else 0), a.n_elements
    pair = _Pair(a.sums, n_tables, groups, a.device, b)
    kept = list(scored[0][0].measures.values())
    one, other = (side.score(torch.ones(1, groups, device=pair.device), slice(None), kept) for side in (a, b))
    values_a, values_b = ({name: x[0].expand(pair.n_tables) for name, x in side.items()} for side in (one, other))
    tolerances = {name: intervals.rounding_tolerance(x) for name, x in values_a.items()}
    found = {n: intervals.without_rounding(x, tolerances[n]) for n, x in differences(values_a, values_b).items()}
    drawn = score_resamples(pair, kept, n_resamples, generator, None, progress)
    exact = test == "permutation" and groups < n_resamples.bit_length()
    swapped: Values = {}
    if test == "permutation":
        swapper = _Swapper(a.sums, n_tables, groups, a.device, b)
        swapped = swapper.every(kept) if exact else score_resamples(swapper, kept, n_resamples, generator, None, None)
    first, places, same = _repeats(tables_a, tables_b, shape)
    every = torch.zeros(n_tables, groups, dtype=torch.bool, device=pair.device)
    has_items = torch.broadcast_tensors(every, *(x.items > 0 for side in (a, b) for x in side.sums))
    filled = torch.stack(has_items).any(0).sum(-1)  # groups of each pair: exchanging the others changes nothing
    compared = first[~same[first]]
    corrected: dict[str, Any] = {"test": test} | ({"swaps": 2**groups} if exact else {})
    finest, sides = torch.zeros_like(filled, dtype=torch.float64), 2
    if test == "permutation":
        finest, sides = (2.0 ** (1 - filled.double())).clamp(max=1.0), 1  # p-value of all swaps
    notes = intervals.note_few_groups(min(filter(None, filled[~same].tolist()), default=groups), confidence_level)
    few = torch.tensor([bool(intervals.note_few_groups(n, confidence_level)) for n in filled.tolist()]).to(same) & ~same
    least_p = min(finest[~same].tolist(), default=1.0)
    if correction is not None:
        least = min(1.0, least_p * (max(1, len(compared)) if correction == "holm" else 1))
        if not exact:
            distinct_values, level = [x[compared] for x in found.values()], 1 - confidence_level
            drawn_least = intervals.smallest_p_adjusted(distinct_values, n_resamples, correction, level, sides=sides)
            least = max(least, drawn_least)
        corrected |= {"correction": correction, "smallest_p_adjusted": least}
    records = {}
    for name, difference in found.items():
        values = intervals.without_rounding(drawn[name], tolerances[name])
        values = torch.where(values.isnan(), difference, values)  # groups without a score were drawn
        low, high, _ = intervals.interval(values, difference, confidence_level, "percentile", None)
        if test == "permutation":
            tolerance = tolerances[name] + intervals.rounding_tolerance(difference)
            p_value = intervals.one_sided(swapped[name].abs(), difference.abs(), tolerance, upper=True)
            p_value = (p_value * (2**groups + 1) - 1) / 2**groups if exact else p_value.clamp(min=finest)
            low, high = (x.masked_fill(few, torch.nan) for x in (low, high))
        else:
            zero = torch.zeros_like(difference).masked_fill(difference.isnan(), torch.nan)
            p_value = intervals.two_sided(values, zero, tolerances[name])
        own = values_a[name], values_b[name], difference, low, high, sample_std(values), p_value
        records[name] = Difference(
            *own,
            p_adjusted=intervals.adjust_pairs(p_value, correction, first, places, same),
            resamples=values if keep_resamples else None,
        )
    given = [scores.clusterings for scores, _ in scored if scores.clusterings is not None]
    names = next((x for x in given if shape == (len(x),)), None)
    settings = options.settings_dict("groups") | corrected
    p_values = [] if exact else [x.p_value for x in records.values()]
    notes += intervals.note_few_draws(p_values, n_resamples, sides, least_p) + intervals.note_few_for_level(settings)
    notes += intervals.note_same(same & (filled > 0), names, "the same tables")
    return ResultsByMeasure(records, settings, shape, scored[0][0].skipped, names, (*notes,))


def _repeats(a: ContingencyTables, b: ContingencyTables, shape: torch.Size) -> tuple[Tensor, Tensor, Tensor]:
    """Places of the distinct pairs, the place of each of the ``(B,)`` pairs among these, and which have equal sides."""
    keys = []
    for tables in (a, b):
        cells = of_tables(tables).reshape(tables.batch_shape)
        own = torch.cat([cells, pred_items(tables).long().expand(cells.shape), n_pred(tables).long()], -1)
        keys.append(own.expand(*shape, own.shape[-1]).reshape(shape.numel(), own.shape[-1]))
    _, numbers = torch.cat(keys, 1).unique(dim=0, return_inverse=True)
    return *distinct(numbers), (keys[0] == keys[1]).all(1)


def _check_groups(a: ContingencyTables, b: ContingencyTables) -> torch.Size:
    """The joint batch shape; raise where the groups of both sides differ, or the classes of a group."""
    got = f"{tuple(a.batch_shape)} and {tuple(b.batch_shape)}"
    if a.batch_shape[-1:] != b.batch_shape[-1:] or not a.batch_shape:
        raise ValueError(f"tables_b: expected the groups of tables_a, the last batch dimension; got {got}")
    ids = [x.names if x.groups is None else x.groups.tolist() for x in (a, b)]
    check_order(b.names, a.names, "tables_b", "tables_a")
    for one, other in zip(*([] if x is None else x for x in ids), strict=False):
        if one != other:
            raise ValueError(f"tables_b: expected the groups of tables_a in their order; got {other!r} for {one!r}")
    try:
        shape = torch.Size(np.broadcast_shapes(a.batch_shape, b.batch_shape))
    except ValueError:
        raise ValueError(f"tables_b: expected batch shapes that broadcast to those of tables_a; got {got}") from None
    vocabulary = None if a.classes is None or b.classes is None else Vocabulary()
    (names, sizes), (others, other_sizes) = (_truth(x, vocabulary, max(a.shape[-2], b.shape[-2])) for x in (a, b))
    wrong = ((names != others) | ~sizes.isclose(other_sizes, rtol=1e-9, atol=0.0)).any(-1).expand(shape)
    if bool(wrong.any()):
        place = int(wrong.nonzero()[:, -1].min())
        which = place if ids[0] is None else ids[0][place]
        remedy = "mask= on both sides leaves out the same items"
        raise ValueError(f"tables_b: expected the classes of tables_a; got others in group {which!r} ({remedy})")
    return shape


def _truth(tables: ContingencyTables, vocabulary: Vocabulary | None, rows: int) -> tuple[Tensor, Tensor]:
    """Numbers and sizes of the classes of each group in the order of the numbers, ``(*batch, G, rows)``.

    Without names the classes are in the order of their sizes, and have no numbers.
    """
    sizes = torch.nn.functional.pad(whole_class_sizes(tables), (0, rows - tables.shape[-2]))
    if vocabulary is None:
        return torch.zeros_like(sizes), sizes.sort(-1).values
    names = np.asarray(as_objects(tables.classes, rows))
    numbers = torch.from_numpy(vocabulary.numbers_of(names.ravel().tolist()).reshape(names.shape)).to(sizes.device)
    numbers = torch.nn.functional.pad(numbers, (0, rows - names.shape[-1])).expand(sizes.shape)
    numbers, order = numbers.masked_fill(sizes == 0, -1).sort(-1)
    return numbers, sizes.gather(-1, order)


@dataclass(frozen=True, eq=False)
class _Pair(GroupResampler):
    """The same groups drawn for both sides; scores differences, A less B."""

    other: GroupResampler  # of B; ``sums`` are of A

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        every = slice(None)  # all tables share a draw
        return differences(super().score(drawn, every, measures), self.other.score(drawn, every, measures))


class _Swapper(_Pair):
    """A and B exchanged within the drawn groups, ``(count, G)`` bool; scores the differences after the exchange."""

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        return torch.randint(2, (count, self.n_elements), generator=generator, device=self.device).bool()

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        weights, values = drawn.double(), Values()
        for a, b in zip(self.sums, self.other.sums, strict=True):
            moved = {f: torch.einsum("kg,bgp->kbp", weights, b.sums[f] - a.sums[f]) for f in a.sums}
            items = [x.items.double() for x in (a, b)]
            other = [(~x.identical).double() for x in (a, b)]
            both = []
            for side, own, sign in ((a, 0, 1), (b, 1, -1)):
                totals = {f: x.sum(-2) + sign * moved[f] for f, x in side.sums.items()}
                of_items, of_other = (x[own].sum(-1) + sign * (weights @ (x[1] - x[0]).mT) for x in (items, other))
                both.append(side.combine(totals, of_other == 0, of_items))
            values |= differences(both[0], both[1])
        return values

    def every(self, measures: Sequence[Measure]) -> Values:
        """Values of all ways to swap, ``(2^G, B)``."""
        numbers = torch.arange(2**self.n_elements, device=self.device)
        bits = 2 ** torch.arange(self.n_elements, device=self.device)
        parts = [
            self.score((some[:, None] & bits) > 0, slice(None), measures) for some in numbers.split(_SWAPS_AT_A_TIME)
        ]
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
