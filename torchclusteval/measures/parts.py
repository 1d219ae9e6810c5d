"""Sums that add up over groups of items, and the values of measures from them: what ``tce.pooled`` needs.

``..._sums`` is a function of tables that returns ``(*batch, k)`` float64, 0 for empty tables. Every other function here
returns the value of a measure from such sums, nan where it is 0/0.
"""

import torch
from torch import Tensor

from torchclusteval.common.numerics import at_most, sqrt_or_zero
from torchclusteval.measures.bcubed import precisions, recalls
from torchclusteval.measures.matching import majority_of_classes, majority_of_clusters, matched_items
from torchclusteval.tables import ContingencyTables


def _stacked(*sums: Tensor) -> Tensor:
    return torch.stack([x.double() for x in sums], dim=-1)


def _quotient(numerator: Tensor, denominator: Tensor, *, undefined: float = torch.nan) -> Tensor:
    """Masked before the division, so that gradients stay finite."""
    zero = denominator == 0
    return (numerator / denominator.masked_fill(zero, 1.0)).masked_fill(zero, undefined)


def share(sums: Tensor) -> Tensor:
    """A share of all items, from a sum over items and their number."""
    part, items = sums.unbind(-1)
    return at_most(_quotient(part, items), 1.0)


def share_f(sums: Tensor) -> Tensor:
    """Harmonic mean of two shares of all items, from both sums and the number of items."""
    first, second, items = sums.unbind(-1)
    first, second = share(torch.stack([first, items], dim=-1)), share(torch.stack([second, items], dim=-1))
    return _quotient(2 * first * second, first + second)


# --- items --------------------------------------------------------------------------------------------------


def bcubed_precision_sums(tables: ContingencyTables) -> Tensor:
    """Precisions of all items, and items."""
    return _stacked(precisions(tables), tables.n_items)


def bcubed_recall_sums(tables: ContingencyTables) -> Tensor:
    """Recalls of all items, and items."""
    return _stacked(recalls(tables), tables.n_items)


def bcubed_sums(tables: ContingencyTables) -> Tensor:
    """Precisions and recalls of all items, and items."""
    return _stacked(precisions(tables), recalls(tables), tables.n_items)


def purity_sums(tables: ContingencyTables) -> Tensor:
    """Items of the largest class of their cluster, and all items."""
    return _stacked(majority_of_clusters(tables), tables.n_items)


def inverse_purity_sums(tables: ContingencyTables) -> Tensor:
    """Items in the largest cluster of their class, and all items."""
    return _stacked(majority_of_classes(tables), tables.n_items)


def both_purity_sums(tables: ContingencyTables) -> Tensor:
    """Items of the largest class of their cluster, items in the largest cluster of their class, and all items."""
    return _stacked(majority_of_clusters(tables), majority_of_classes(tables), tables.n_items)


def matched_sums(tables: ContingencyTables) -> Tensor:
    """Items of the best one-to-one matching, and all items."""
    return _stacked(matched_items(tables), tables.n_items)


def unmatched_sums(tables: ContingencyTables) -> Tensor:
    """Items outside the best one-to-one matching, and all items."""
    return _stacked(tables.n_items - matched_items(tables), tables.n_items)


# --- pairs of items of one group ----------------------------------------------------------------------------


def pair_sums(tables: ContingencyTables) -> Tensor:
    """SS, SD, DS and DD, the pairs that both sides join, only the prediction, only the truth, and neither."""
    return _stacked(*tables.pairs)


def mirkin_sums(tables: ContingencyTables) -> Tensor:
    """Ordered pairs that the sides treat differently, and the square of the number of items."""
    return _stacked(2 * (tables.pairs.sd + tables.pairs.ds), tables._n_items_f64**2)


def fowlkes_mallows(sums: Tensor) -> Tensor:
    ss, sd, ds, _ = sums.unbind(-1)
    defined = ss > 0  # on float tables pairs may be negative
    radicand = ((ss + sd) * (ss + ds)).masked_fill(~defined, 0.0)
    return at_most(_quotient(ss, sqrt_or_zero(radicand)), 1.0)


def mirkin(sums: Tensor) -> Tensor:
    _, sd, ds, _ = sums.unbind(-1)
    return 2 * (sd + ds)


def quotient(sums: Tensor) -> Tensor:
    """The first sum over the second."""
    return _quotient(*sums.unbind(-1))


def minkowski_score(sums: Tensor) -> Tensor:
    ss, sd, ds, _ = sums.unbind(-1)
    return sqrt_or_zero(_quotient(sd + ds, ss + ds, undefined=torch.inf))


def pair_f(sums: Tensor) -> Tensor:
    ss, sd, ds, _ = sums.unbind(-1)
    return _quotient(2 * ss, (ss + sd) + (ss + ds))
