"""Scores of many groups of items together: sums over the groups, then one value (the micro average)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.common.numerics import sum_reproducible
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.one_sided import identical, pred_items, true_items
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import by_size, in_chunks, split_applicable, with_zero_division
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables, check_tables


@on_one_thread
def pooled(tables: ContingencyTables, measures: Selection = None, *, zero_division: float | None = None) -> Scores:
    """Score groups of items together: sums are added over the last batch dimension, then combined (micro average).

    BCubed, purity, the best one-to-one matching and their relatives are then those of all items with the classes and
    clusters of different groups kept apart, and so are pair precision, recall, F and Jaccard. The other measures of
    pairs, such as Rand, count pairs within groups only, and differ: with groups kept apart, all pairs of items of
    different groups would agree.

    Args:
        tables: contingency tables, ``(*batch, G, R, C)``, as ``from_labels(..., by=ids)`` makes them.
        measures: as for ``evaluate``. Of a set, measures without ``Measure.parts`` are left out
            (``scores.skipped``).
        zero_division: as in ``evaluate``.

    Returns:
        Scores ``(*batch,)``. F is that of the pooled precision and recall. 0/0 is the value of identical partitions
        where both sides are identical in every group, else 0 (the Minkowski score is infinite where only the
        prediction joins pairs); nan without items.

    Raises:
        ValueError: ``tables`` is a single table, or a measure that was named is not defined by sums.

    Example:
        >>> tables = tce.ContingencyTables.from_labels([0, 0, 1, 0, 1], [0, 0, 1, 0, 0], by=["a", "a", "a", "b", "b"])
        >>> tce.pooled(tables, "purity")["purity"].item()
        0.8
    """
    return pool(tables, measures, zero_division)[0]


def pool(
    tables: ContingencyTables, measures: Selection, zero_division: float | None = None
) -> "tuple[Scores, list[SumsOfGroups]]":
    """The scores of ``pooled``, and the sums that they follow from."""
    check_tables(tables)
    chosen = with_zero_division(select(measures), zero_division)
    if not tables.batch_shape:
        expected = "expected a batch, one table a group (from_labels(..., by=ids) makes one)"
        raise ValueError(f"tables: {expected}; got a single table")
    kept, skipped = with_parts(*split_applicable(tables, chosen), chosen)
    found: dict[str, Tensor] = {}
    of_groups = _sums_of_groups(tables, kept)
    for sums in of_groups:
        totals = {function: sum_reproducible(x.mT) for function, x in sums.sums.items()}
        found |= sums.combine(totals, sums.identical.all(-1), sums.items.sum(-1), zero_division)
    values = {measure.name: found[measure.name] for measure in kept}
    n_items, n_considered = tables.n_items.sum(-1), tables.n_considered.sum(-1)
    records = {measure.name: measure for measure in kept}
    coverage = n_items.double() / n_considered.double()
    names = tables.names if len(tables.batch_shape) == 2 else None
    grouped = tables._n_grouped.sum(-1)
    return Scores(values, records, n_items, coverage, skipped, names, None, n_considered, n_grouped=grouped), of_groups


@dataclass(frozen=True, eq=False)
class SumsOfGroups:
    """What the pooled values of measures follow from, for each group of items."""

    measures: list[Measure]
    sums: dict[Callable[[ContingencyTables], Tensor], Tensor]  # ``Measure.parts`` -> (*batch, G, parts)
    identical: Tensor  # (*batch, G) bool, whether both sides are the same groups of items
    items: Tensor  # (*batch, G)

    def combine(
        self,
        totals: Mapping[Callable[[ContingencyTables], Tensor], Tensor],
        identical: Tensor,
        items: Tensor,
        zero_division: float | None = None,
    ) -> dict[str, Tensor]:
        """Values ``(*some,)`` from sums over groups: ``totals`` ``(*some, parts)``, ``identical`` and ``items``."""
        values = {}
        for measure in self.measures:
            assert measure.parts is not None
            assert measure.combine is not None
            value = measure.combine(totals[measure.parts])
            if not measure.zero_division:  # the others say themselves what 0/0 is
                value = value.masked_fill(value.isnan(), 0.0)
            if not measure.zero_division or zero_division is None:
                value = value if measure.perfect is None else value.masked_fill(identical, measure.perfect)
                value = value.masked_fill(~(items > 0), torch.nan)
            values[measure.name] = value
        return values


def _sums_of_groups(tables: ContingencyTables, measures: Sequence[Measure]) -> list[SumsOfGroups]:
    """Sums of the measures of partitions, over common items, and of those of the families that see all items."""
    of_partitions = [measure for measure in measures if not measure.one_sided]
    one_sided = [measure for measure in measures if measure.one_sided]
    found = []
    if of_partitions:
        found.append(_sums(tables.without_margins(), of_partitions, lambda part: [part.identical, part.n_items]))
    if one_sided:
        found.append(_sums(tables, one_sided, lambda part: [identical(part), true_items(part) + pred_items(part)]))
    return found


def _sums(
    tables: ContingencyTables, measures: list[Measure], facts: Callable[[ContingencyTables], list[Tensor]]
) -> SumsOfGroups:
    functions = list(dict.fromkeys(measure.parts for measure in measures if measure.parts is not None))
    *sums, same, items = by_size(tables, lambda part: [*in_chunks(part, functions), *facts(part)])
    return SumsOfGroups(measures, dict(zip(functions, sums, strict=True)), same, items)


def with_parts(
    kept: list[Measure], skipped: dict[str, str], chosen: Mapping[Measure, bool]
) -> tuple[list[Measure], dict[str, str]]:
    """The measures that sums define, and those that are left out with the reason.

    Raises:
        ValueError: a measure that was named is not defined by sums.
    """
    for measure in kept:
        if measure.parts is not None:
            continue
        if chosen[measure]:
            expected = "measures that sums over groups define"
            got = f"{measure.name!r}, whose groups can only be averaged (evaluate(..., by=ids).macro())"
            raise ValueError(f"measures: expected {expected}; got {got}")
        skipped = {**skipped, measure.name: "is not defined by sums over groups"}
    return [measure for measure in kept if measure.parts is not None], skipped
