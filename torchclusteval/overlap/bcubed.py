"""Extended BCubed: BCubed for items with several classes and clusters."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval import measures
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.inputs import as_numbers
from torchclusteval.measures.one_sided import harmonic_mean
from torchclusteval.overlap.comparison import Comparison, compare, measure
from torchclusteval.overlap.intersections import pair_statistics
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.ragged import add_at, ranges

__all__ = ["extended_bcubed_f", "extended_bcubed_per_item", "extended_bcubed_precision", "extended_bcubed_recall"]
__all__ += ["multiplicity_precision", "multiplicity_recall"]


class ItemValues(NamedTuple):
    """Extended BCubed of each item, ``(*batch, N)`` float64."""

    precision: Tensor
    recall: Tensor


@measure("amigo2009", swapped="extended_bcubed_recall", example="1.")
def extended_bcubed_precision(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Extended BCubed precision.

    The mean over items ``e`` of the mean over all items ``e'`` in a cluster of ``e`` (itself included) of

        MP(e, e') = min(|C(e) & C(e')|, |L(e) & L(e')|) / |C(e) & C(e')|,

    where ``L`` are the classes and ``C`` the clusters of an item. Items without a cluster are excluded.

    Range: 0 to 1, higher is better; equals ``bcubed_precision`` on partitions.
    Degenerate: 1 where no item has a cluster; 0 for an item without a class; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    return compare(true, pred, chunk_size).values_of(
        lambda x: x.mean_over_items(pair_statistics(x).precision), on_partitions=measures.bcubed_precision
    )


@measure("amigo2009", swapped="extended_bcubed_precision", example="0.6667")
def extended_bcubed_recall(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> Tensor:
    """Extended BCubed recall: the precision with classes and clusters exchanged.

    The mean over items ``e`` of the mean over all items ``e'`` in a class of ``e`` (itself included) of

        MR(e, e') = min(|C(e) & C(e')|, |L(e) & L(e')|) / |L(e) & L(e')|.

    Range: 0 to 1, higher is better; equals ``bcubed_recall`` on partitions.
    Degenerate: 1 where no item has a class; 0 for an item without a cluster; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.
    """
    return compare(true, pred, chunk_size).values_of(
        lambda x: x.mean_over_items(pair_statistics(x).recall), on_partitions=measures.bcubed_recall
    )


@measure("amigo2009", symmetric=True, example="0.8000")
def extended_bcubed_f(
    true: Memberships, pred: Memberships, alpha: float = 0.5, *, chunk_size: int | None = None
) -> Tensor:
    """Weighted harmonic mean of extended BCubed precision and recall, ``1 / (alpha / P + (1 - alpha) / R)``.

    Args:
        alpha: weight of precision, 0 to 1.

    Range: 0 to 1, higher is better. 1 implies equal groups for partitions and hierarchies only.
    Degenerate: 0 where precision or recall is 0 and ``0 < alpha < 1``; nan without items.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.
    """
    precision = extended_bcubed_precision(true, pred, chunk_size=chunk_size)
    return harmonic_mean(precision, extended_bcubed_recall(true, pred, chunk_size=chunk_size), alpha)


@on_one_thread
def extended_bcubed_per_item(true: Memberships, pred: Memberships, *, chunk_size: int | None = None) -> ItemValues:
    """Extended BCubed precision and recall of each item.

    Items are in the order of ``true``; after them come named items of ``pred`` alone.

    Returns:
        ``precision`` and ``recall``, each ``(*batch, N)`` float64; nan is the precision of an item without a
        cluster, and the recall of an item without a class.

    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.

    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> tce.overlap.extended_bcubed_per_item(true, pred).recall.tolist()
    [1.0, 0.5, 0.5]
    """
    comparison = compare(true, pred, chunk_size)
    statistics = pair_statistics(comparison)
    return ItemValues(comparison.by_item(statistics.precision), comparison.by_item(statistics.recall))


@on_one_thread
def multiplicity_precision(true: Memberships, pred: Memberships, pairs: Any) -> Tensor:
    """Multiplicity precision ``MP`` of given pairs of items, as in :func:`extended_bcubed_precision`.

    Args:
        pairs: ``(M, 2)`` positions of items (after alignment: first the items of ``true``), or a list of pairs of
            names of named items.

    Returns:
        ``(*batch, M)`` float64.

    Range: 0 to 1, higher is better.
    Degenerate: nan where the two items share no cluster.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.

    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> tce.overlap.multiplicity_precision(true, pred, [(1, 2)])
    tensor([1.], dtype=torch.float64)
    """
    shared_classes, shared_clusters = _shared_groups(compare(true, pred), pairs)
    return torch.minimum(shared_classes, shared_clusters).double() / shared_clusters


@on_one_thread
def multiplicity_recall(true: Memberships, pred: Memberships, pairs: Any) -> Tensor:
    """Multiplicity recall ``MR`` of given pairs of items; arguments and result as in :func:`multiplicity_precision`.

    Range: 0 to 1, higher is better.
    Degenerate: nan where the two items share no class.
    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.2.

    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> tce.overlap.multiplicity_recall(true, pred, [(1, 2)])
    tensor([1.], dtype=torch.float64)
    """
    shared_classes, shared_clusters = _shared_groups(compare(true, pred), pairs)
    return torch.minimum(shared_classes, shared_clusters).double() / shared_classes


def _shared_groups(comparison: Comparison, pairs: Any) -> tuple[Tensor, Tensor]:
    """Return (number of shared classes, number of shared clusters) of these pairs of items, ``(*batch, M)`` int64."""
    first, second = _positions(comparison, pairs).unbind(-1)
    shared = []
    for side in (comparison.true, comparison.pred):
        base = comparison.broadcast_members(side)[:, None] * comparison.n_items
        one, other = (base + first).flatten(), (base + second).flatten()
        pair, at = ranges(side.starts[one], side.lengths[one])
        wanted = other[pair] * side.n_groups + side.groups[at]
        common = torch.isin(wanted, side.rows * side.n_groups + side.groups).long()
        shared.append(add_at(pair, common, len(one)).view(*comparison.batch_shape, len(first)))
    return shared[0], shared[1]


def _positions(comparison: Comparison, pairs: Any) -> Tensor:
    """Positions of the items of these pairs, ``(M, 2)`` int64."""
    names = comparison.true.items
    if names is not None and not isinstance(pairs, Tensor):
        places = {name: at for at, name in enumerate(names)}
        unknown = next((name for pair in pairs for name in pair if name not in places), None)
        if unknown is not None:
            raise ValueError(f"pairs: expected names of items; got {unknown!r}")
        pairs = [[places[name] for name in pair] for pair in pairs]
    positions = as_numbers(pairs, "pairs").to(comparison.device)
    positions = positions if positions.numel() else positions.reshape(0, 2).long()
    whole = positions.shape[1:] == (2,) and not positions.is_floating_point()
    if not whole or bool(((positions < 0) | (positions >= comparison.n_items)).any()):
        raise ValueError(f"pairs: expected (M, 2) whole numbers from 0 to {comparison.n_items - 1}; got {brief(pairs)}")
    return positions.long()
