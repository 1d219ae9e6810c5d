"""Measures that average over items: BCubed and element-centric similarity."""

from functools import partial

from torch import Tensor

from torchclusteval.cells.sums import launched
from torchclusteval.common.numerics import larger
from torchclusteval.measures.record import UNIT, measure
from torchclusteval.measures.sums import Sums, items, ratio, weighted_harmonic_mean
from torchclusteval.tables import ContingencyTables, check_tables

__all__ = ["bcubed_f", "bcubed_precision", "bcubed_recall", "element_centric_similarity"]

share = partial(measure, "bcubed", range=UNIT, perfect=1.0)


def _item_mean(values: Tensor, tables: ContingencyTables) -> Tensor:
    """Mean over items, from the sum of a value."""
    return ratio(values, items(tables), tables, maximum=1.0)


@launched
def precisions(tables: ContingencyTables) -> Tensor:
    """Sum over items of the share of the item's cluster with the item's class, ``(*batch,)``."""
    return tables.sum(lambda cell: cell.squares / cell.c_nonzero)


@launched
def recalls(tables: ContingencyTables) -> Tensor:
    """Sum over items of the share of the item's class in the item's cluster, ``(*batch,)``."""
    return tables.sum(lambda cell: cell.squares / cell.r_nonzero)


@share(swapped="bcubed_recall", source="bagga1998", linear_in="squares", combines="mean", sums=Sums(precisions, items))
def bcubed_precision(tables: ContingencyTables) -> Tensor:
    """Mean over items of the share of the item's cluster with the item's class, ``(1/N) sum_ij n_ij^2 / c_j``.

    Range: above 0 to 1, higher is better.
    Source: Bagga and Baldwin (1998); Amigo et al. (2009), section 4.5.
    Example: 0.7500
    """
    return _item_mean(precisions(tables), tables)


@share(swapped="bcubed_precision", source="bagga1998", linear_in="squares", combines="mean", sums=Sums(recalls, items))
def bcubed_recall(tables: ContingencyTables) -> Tensor:
    """Mean over items of the share of the item's class in the item's cluster, ``(1/N) sum_ij n_ij^2 / r_i``.

    Range: above 0 to 1, higher is better.
    Source: Bagga and Baldwin (1998); Amigo et al. (2009), section 4.5.
    Example: 0.7778
    """
    return _item_mean(recalls(tables), tables)


@share(symmetric=True, source="amigo2009", sums=Sums(precisions, recalls, items))
def bcubed_f(tables: ContingencyTables, alpha: float = 0.5) -> Tensor:
    """Weighted harmonic mean of BCubed precision and recall.

    Range: above 0 to 1, higher is better.
    Source: Amigo et al. (2009), section 4.5.
    Example: 0.7636
    """
    return weighted_harmonic_mean(bcubed_precision(tables), bcubed_recall(tables), tables, alpha)


@share(symmetric=True, source="gates2019", linear_in="squares", combines="mean")
def element_centric_similarity(tables: ContingencyTables) -> Tensor:
    """Mean over items of the overlap of the item's two groups, ``(1/N) sum_ij n_ij^2 / max(r_i, c_j)``.

    Range: above 0 to 1, higher is better.
    Source: Gates, Wood, Hetrick and Ahn (2019), for partitions; covers and hierarchies have
        ``overlap.overlap_element_centric``.
    Example: 0.6389
    """
    check_tables(tables)
    return _item_mean(tables.sum(lambda cell: cell.squares / larger(cell.r, cell.c_nonzero)), tables)
