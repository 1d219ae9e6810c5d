"""Information of counts: how much shorter one side's labels are described once the other side is known.

All are in nats for the whole table, not for an item, and count whole items. ``I`` stands for any of them, ``I(C; C)``
for its value where the clusters are the classes.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import at_least, sum_reproducible
from torchclusteval.measures import entropy
from torchclusteval.measures.ratios import ratio
from torchclusteval.measures.table_counts import log_number_of_tables
from torchclusteval.measures.urn_codes import merge_equal, shortest_codes
from torchclusteval.tables import ContingencyTables

NORMS = (None, "asymmetric", "mean")
BOUND = 1e4
NOISE = 1e-12  # of the largest term: a difference below is 0
MAX_TABULATED = 1 << 16  # items up to which the logarithms of factorials are looked up


class _Information(NamedTuple):
    """``(*batch,)`` each."""

    of_classes: Tensor  # what the clusters tell of the classes
    of_clusters: Tensor
    classes: Tensor  # what the classes tell of themselves
    clusters: Tensor


def _require_integers(tables: ContingencyTables) -> None:
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts for numbers of arrangements; got float64 masses")


def _finish(information: _Information, tables: ContingencyTables, norm: str | None, base: float) -> Tensor:
    check_choice(norm, "norm", NORMS)
    if norm is None:
        nats = information.of_classes.masked_fill(tables.empty, torch.nan)
        return entropy._in_base(nats, base)
    check_number(base, "base", 1, exclusive=True)
    if norm == "asymmetric":
        return _share(information.of_classes, information.classes, tables)
    both = information.of_classes + information.of_clusters
    return _share(both, information.classes + information.clusters, tables)


def _share(part: Tensor, whole: Tensor, tables: ContingencyTables) -> Tensor:
    noise = NOISE * (1 + tables.n_items_f64 * entropy._log_items(tables))
    return ratio(part, whole, tables, undefined=whole <= noise, maximum=1.0)


# --- arrangements -------------------------------------------------------------------------------------------


@cache
def _tabulated() -> Tensor:
    return torch.lgamma(torch.arange(1, MAX_TABULATED + 2, dtype=torch.float64))


def _log_factorial(tables: ContingencyTables, x: Tensor) -> Tensor:
    """``log(x!)`` of some counts or sizes; looking it up takes a thirtieth of the time."""
    few = tables.most_items is not None and tables.most_items <= MAX_TABULATED
    return _tabulated()[x] if few else torch.lgamma(x.double() + 1)


@cached_on_tables
def _arrangements(tables: ContingencyTables) -> _Information:
    whole = _log_factorial(tables, tables.n_items)
    classes = whole - sum_reproducible(_log_factorial(tables, tables.class_sizes))
    clusters = whole - sum_reproducible(_log_factorial(tables, tables.cluster_sizes))
    joint = whole - tables.sum(lambda cell: _log_factorial(tables, cell.count))
    shared = at_least(classes + clusters - joint, 0)
    return _Information(shared, shared, classes, clusters)


def microcanonical_mutual_information(
    tables: ContingencyTables, norm: str | None = None, base: float = math.e
) -> Tensor:
    """Logarithm of the numbers of arrangements, ``log(N! prod_ij n_ij! / (prod_i r_i! prod_j c_j!))``.

    Mutual information without Stirling's approximation of the factorials, which gives ``N`` times
    ``mutual_information``.

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C) = log(N! / prod_i r_i!)``; ``"mean"``: over the mean of both sides.
        base: of the logarithm; the natural one gives nats. Without effect on a share.

    Range: 0 to infinity (a share: to 1), higher is better.
    Degenerate: 0 where a side is one group; as a share 0/0 is 1 for identical partitions, else 0; nan without items.
    Raises: ValueError on float tables.
    Source: Newman, Cantwell and Young (2020).
    """
    _require_integers(tables)
    return _finish(_arrangements(tables), tables, norm, base)


# --- flat reduction -----------------------------------------------------------------------------------------


@cached_on_tables
def _flat(tables: ContingencyTables) -> _Information:
    sizes = [
        side.double().reshape(-1, side.shape[-1]).cpu().numpy() for side in (tables.class_sizes, tables.cluster_sizes)
    ]
    pairs = ((0, 1), (0, 0), (1, 1))
    numbers = np.stack([log_number_of_tables(sizes[i], sizes[j]) for i, j in pairs])
    costs = torch.from_numpy(numbers).to(tables.device).reshape(3, *tables.batch_shape)
    shared, _, classes, clusters = _arrangements(tables)
    reduced = shared - costs[0]
    return _Information(reduced, reduced, classes - costs[1], clusters - costs[2])


def reduced_mutual_information_flat(tables: ContingencyTables, norm: str | None = None, base: float = math.e) -> Tensor:
    """Microcanonical mutual information less the cost of the table itself, ``log Omega(r, c)``, all tables being equal.

    ``Omega`` is the number of tables of whole numbers with these sizes: exact where ``prod_j (c_j + 1)``, over the
    sizes of one side, is at most 4096; else the estimate of Jerdee, Kirkley and Newman (2022), the mean of both ways to
    make it. Other libraries estimate for all tables.

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C)``; ``"mean"``: over the mean of both sides.
        base: of the logarithm; the natural one gives nats. Without effect on a share.

    Range: any number (a share: up to 1), higher is better; negative where the table costs more than it tells.
    Degenerate: 0 where a side is one group; as a share 1 for identical partitions, else 0 where the divisor is not
        above 0; nan without items.
    Raises: ValueError on float tables.
    Source: Newman, Cantwell and Young (2020); the norms of Jerdee, Kirkley and Newman (2025).
    """
    _require_integers(tables)
    return _finish(_flat(tables), tables, norm, base)


# --- Dirichlet-multinomial reduction ------------------------------------------------------------------------


@cached_on_tables
def _reduced(tables: ContingencyTables) -> _Information:
    return _reduced_up_to(tables, BOUND)


def _reduced_up_to(tables: ContingencyTables, bound: float) -> _Information:
    batch = tables.batch_shape.numel()
    classes, clusters = (
        side.reshape(batch, side.shape[-1]).cpu().numpy() for side in (tables.class_sizes, tables.cluster_sizes)
    )
    cell_table, _, _, cell = (x.cpu().numpy() for x in tables._cells.nonzero())
    table = np.arange(batch)
    of_class, of_cluster = (np.repeat(table, side.shape[1]) for side in (classes, clusters))
    items = classes.sum(-1)
    # The labels of the classes alone, those of the clusters alone, and each once the other side is known.
    wholes = merge_equal(
        np.concatenate([table, table + batch, of_cluster + 2 * batch, of_class + 3 * batch]),
        np.concatenate([items, items, clusters.ravel(), classes.ravel()]),
    )
    parts = merge_equal(
        np.concatenate([of_class, of_cluster + batch, cell_table + 2 * batch, cell_table + 3 * batch]),
        np.concatenate([classes.ravel(), clusters.ravel(), cell, cell]),
    )
    kinds = [np.maximum((side > 0).sum(-1), 1).astype(np.float64) for side in (classes, clusters)]
    codes = shortest_codes(wholes, parts, np.concatenate([*kinds, *kinds]), bound).reshape(4, batch)
    sizes = np.concatenate([classes.ravel(), clusters.ravel()])
    both = merge_equal(np.concatenate([of_class, of_cluster + batch]), sizes)
    itself = shortest_codes(both, both, np.concatenate(kinds), bound).reshape(2, batch)
    rows = np.stack([codes[0] - codes[2], codes[1] - codes[3], codes[0] - itself[0], codes[1] - itself[1]])
    return _Information(*torch.from_numpy(rows).to(tables.device).reshape(4, *tables.batch_shape).unbind())


def reduced_mutual_information(
    tables: ContingencyTables, norm: str | None = None, base: float = math.e, bound: float = BOUND
) -> Tensor:
    """How much shorter the classes are described once the clusters are known, ``RMI = H(C) - H(C|K)``.

    Labels of ``w`` items in ``q`` classes are described by a Dirichlet-multinomial model of concentration ``a``, the
    best for all clusters together; with ``L(x, b) = log(b (b + 1) ... (b + x - 1))``

        H(C) = min over a of L(N, q a) - sum_i L(r_i, a)
        H(C|K) = min over a of sum_j L(c_j, q a) - sum_ij L(n_ij, a)

    Args:
        norm: None; ``"asymmetric"``: over ``I(C; C)``; ``"mean"``: the sum of both directions over that of both sides
            with themselves.
        base: of the logarithm; the natural one gives nats. Without effect on a share.
        bound: ``a`` is sought from ``1 / bound`` to ``bound``. The default, 1e4, is that of other libraries. It
            matters where the best ``a`` is 0 or infinite (classes of one size); infinite: the limits count, too.

    Range: any number (a share: up to 1), higher is better; negative where the clusters mislead.
    Degenerate: 0 where a side is one group; as a share 1 for identical partitions, else 0 where the divisor is not
        above 0; nan without items.
    Raises: ValueError on float tables.
    Source: Jerdee, Kirkley and Newman (2024); the norms of Jerdee, Kirkley and Newman (2025).
    """
    _require_integers(tables)
    check_number(bound, "bound", 1, math.inf, exclusive=True)
    information = _reduced(tables) if bound == BOUND else _reduced_up_to(tables, bound)
    return _finish(information, tables, norm, base)
