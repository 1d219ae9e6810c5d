"""Extended BCubed: BCubed for items with several classes and clusters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.overlap.co_membership import PairStatistics, pair_statistics
from torchclusteval.overlap.comparison import Comparison, compare
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import ranges
from torchclusteval.tables import ContingencyTables


class ItemValues(NamedTuple):
    """Extended BCubed of each item, ``(*batch, N)`` float64."""

    precision: Tensor
    recall: Tensor


@cached_on_tables
def statistics_of(comparison: Comparison) -> PairStatistics:
    """The pair statistics, computed once for each comparison."""
    return pair_statistics(comparison)


def weighted_f(precision: Tensor, recall: Tensor, alpha: float) -> Tensor:
    """``1 / (alpha / precision + (1 - alpha) / recall)``; 0 where one of them is 0 and counts."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha: expected a number from 0 to 1; got {alpha!r}")
    if alpha in (0, 1):
        return precision if alpha == 1 else recall
    denominator = alpha * recall + (1 - alpha) * precision
    return (precision * recall / denominator.masked_fill(denominator == 0, 1.0)).masked_fill(denominator == 0, 0.0)


def with_partitions(
    comparison: Comparison, plain: Callable[[ContingencyTables], Tensor], general: Callable[[], Tensor]
) -> Tensor:
    """A measure that for two partitions is the plain measure of their table: that value there, exactly."""
    partitions = comparison.both_partitions
    chosen = partitions.nonzero().squeeze(-1)
    everything = chosen.shape[0] == comparison.n_members
    values = torch.zeros_like(partitions, dtype=torch.float64) if everything else general().flatten()
    if chosen.shape[0]:
        values = values.index_copy(0, chosen, plain(comparison.tables))
    return values.view(comparison.batch_shape)


def extended_bcubed_precision(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Extended BCubed precision.

    The mean over items ``e`` of the mean over the items ``e'`` that share a cluster with it (itself too) of

        MP(e, e') = min(|C(e) & C(e')|, |L(e) & L(e')|) / |C(e) & C(e')|,

    where ``L`` are the classes and ``C`` the clusters of an item. Items without a cluster are left out.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better; equals ``bcubed_precision`` on partitions.
    Degenerate: 1 where no item has a cluster; 0 for an item without a class; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    comparison = compare(true, pred, chunk_size)
    return with_partitions(
        comparison,
        measures.bcubed_precision,
        lambda: _mean_over_items(comparison, statistics_of(comparison).precision),
    )


def extended_bcubed_recall(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Extended BCubed recall: the precision with classes and clusters exchanged.

    The mean over items ``e`` of the mean over the items ``e'`` that share a class with it (itself too) of

        MR(e, e') = min(|C(e) & C(e')|, |L(e) & L(e')|) / |L(e) & L(e')|.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better; equals ``bcubed_recall`` on partitions.
    Degenerate: 1 where no item has a class; 0 for an item without a cluster; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    comparison = compare(true, pred, chunk_size)
    return with_partitions(
        comparison,
        measures.bcubed_recall,
        lambda: _mean_over_items(comparison, statistics_of(comparison).recall),
    )


def extended_bcubed_f(
    true: Memberships, pred: Memberships, alpha: float = 0.5, *, chunk_size: int | None = None
) -> Tensor:
    """Weighted harmonic mean of extended BCubed precision and recall, ``1 / (alpha / P + (1 - alpha) / R)``.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        alpha: weight of precision, 0 to 1.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``(*batch,)`` float64.

    Range: 0 to 1, higher is better. 1 does not imply equal groups, except for partitions and hierarchies.
    Degenerate: 0 where precision or recall is 0 and ``0 < alpha < 1``; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.
    """
    precision = extended_bcubed_precision(true, pred, chunk_size=chunk_size)
    return weighted_f(precision, extended_bcubed_recall(true, pred, chunk_size=chunk_size), alpha)


def extended_bcubed_per_item(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> ItemValues:
    """Extended BCubed precision and recall of each item.

    Items follow ``true``; of named items that only ``pred`` has, the values come last.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        chunk_size: about how many pairs of items to hold at once; changes no value.

    Returns:
        ``precision`` and ``recall``, each ``(*batch, N)`` float64; nan for the precision of an item without a
        cluster and for the recall of one without a class.

    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    comparison = compare(true, pred, chunk_size)
    statistics, of_item = statistics_of(comparison), comparison.patterns.of_item
    shape = (*comparison.batch_shape, comparison.n_items)
    return ItemValues(statistics.precision[of_item].view(shape), statistics.recall[of_item].view(shape))


def multiplicity_precision(true: Memberships, pred: Memberships, pairs: Any) -> Tensor:
    """Multiplicity precision of given pairs of items.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        pairs: ``(M, 2)`` positions of items (after alignment: those of ``true`` first), or a list of pairs of
            names where items are named.

    Returns:
        ``(*batch, M)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: nan where the two items share no cluster.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    classes, clusters = _shared_by_pairs(compare(true, pred), pairs)
    return torch.minimum(classes, clusters).double() / clusters


def multiplicity_recall(true: Memberships, pred: Memberships, pairs: Any) -> Tensor:
    """Multiplicity recall of given pairs of items.

    Args:
        true: the classes of each item; batch shapes broadcast.
        pred: the clusters of each item.
        pairs: as for :func:`multiplicity_precision`.

    Returns:
        ``(*batch, M)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: nan where the two items share no class.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    classes, clusters = _shared_by_pairs(compare(true, pred), pairs)
    return torch.minimum(classes, clusters).double() / classes


def _mean_over_items(comparison: Comparison, values: Tensor) -> Tensor:
    """Mean of pattern values over the items that have one, ``(*batch,)``; 1 where none has, nan without items."""
    patterns = comparison.patterns
    undefined = values.isnan()
    items = patterns.items.masked_fill(undefined, 0)
    sums = comparison.by_member(patterns.owner, values.masked_fill(undefined, 0.0) * items)
    count = comparison.by_member(patterns.owner, items)
    vacuous = 1.0 if comparison.n_items else torch.nan
    return (sums / count.clamp(min=1)).masked_fill(count == 0, vacuous)


def _shared_by_pairs(comparison: Comparison, pairs: Any) -> tuple[Tensor, Tensor]:
    """Numbers of shared classes and clusters of given pairs, each ``(*batch, M)`` int64."""
    positions = _positions(comparison, pairs)
    first, second = positions.unbind(-1)
    members = torch.arange(comparison.n_members, device=comparison.device)[:, None]
    found = []
    for side in (comparison.true, comparison.pred):
        base = comparison.numbers(side)[members] * comparison.n_items
        found.append(_shared(side, (base + first).flatten(), (base + second).flatten()))
    shape = (*comparison.batch_shape, first.shape[0])
    return found[0].view(shape), found[1].view(shape)


def _shared(side: Memberships, first: Tensor, second: Tensor) -> Tensor:
    """Number of groups that two items have in common."""
    pair, at = ranges(side.starts[first], side.lengths[first])
    entries = side.rows * side.n_groups + side.groups  # ascending
    wanted = second[pair] * side.n_groups + side.groups[at]
    place = torch.searchsorted(entries, wanted).clamp(max=max(entries.shape[0] - 1, 0))
    return torch.zeros_like(first).index_add(0, pair, (entries[place] == wanted).long())


def _positions(comparison: Comparison, pairs: Any) -> Tensor:
    names = comparison.true.items
    if names is not None and not isinstance(pairs, Tensor):
        places = {name: at for at, name in enumerate(names)}
        try:
            pairs = [[places[name] for name in pair] for pair in pairs]
        except KeyError as error:
            raise ValueError(f"pairs: expected names of items; got {error.args[0]!r}") from None
    positions = torch.as_tensor(pairs, device=comparison.device)
    if not positions.numel():
        positions = positions.reshape(0, 2).long()
    if positions.ndim != 2 or positions.shape[1] != 2 or positions.is_floating_point():
        raise ValueError(
            f"pairs: expected whole numbers of shape (M, 2); got {positions.dtype} {tuple(positions.shape)}"
        )
    if bool(((positions < 0) | (positions >= comparison.n_items)).any()):
        raise ValueError(f"pairs: expected positions 0 to {comparison.n_items - 1}; got {positions.tolist()[:3]} ...")
    return positions.long()
