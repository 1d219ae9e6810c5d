"""Exact means of measures over all permutations of one side, and the correction for chance based on them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchclusteval.cells.quantities import PairCounts
from torchclusteval.common.lazy import with_cached_values
from torchclusteval.common.numerics import safe_divide
from torchclusteval.measures import association, bcubed, information
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import find_measure
from torchclusteval.measures.sums import ratio
from torchclusteval.tables import ContingencyTables

# For measures linear in the squares of the cells: the sizes that divide the squares.
_DIVISORS: dict[Callable[..., Tensor], Callable[[Tensor, Tensor], Tensor]] = {
    bcubed.bcubed_precision: lambda rows, columns: columns,
    bcubed.bcubed_recall: lambda rows, columns: rows,
    bcubed.element_centric_similarity: torch.maximum,
}

# For the other such ones: the mean from the numbers of classes and of clusters less 1, and their product over N - 1.
_OF_DEGREES: dict[Callable[..., Tensor], Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    association.chi_squared: lambda classes, clusters, n, common: n * common,
    association.frobenius_distance: lambda classes, clusters, n, common: classes + clusters - 2 * common,
    association.goodman_kruskal_tau: lambda classes, clusters, n, common: safe_divide(common, classes),
    association.goodman_kruskal_tau_swapped: lambda classes, clusters, n, common: safe_divide(common, clusters),
}


def expected_value(measure: Measure, tables: ContingencyTables) -> Tensor | None:
    """Exact mean of a measure over all permutations of one side, ``(*batch,)``; None where no form is known.

    Raise on float tables, and on a user's measure with ``linear_in="squares"``.
    """
    if measure.linear_in is None:
        return None
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts for an expectation over permutations; got float64 masses")
    if of_degrees := _OF_DEGREES.get(measure.function):
        n, classes, clusters = (x.double() for x in (tables.n_items, tables.n_classes, tables.n_clusters))
        common = (classes - 1) * (clusters - 1) / (n - 1).clamp(min=1)
        value = of_degrees(classes - 1, clusters - 1, n, common)
        return ratio(value, torch.ones_like(n), _stand_in(tables, {}), identical=measure.perfect)
    if measure.linear_in == "squares":
        divisor = _DIVISORS.get(measure.function)
        if divisor is None:
            expected = "'pairs', 'information' or 'sizes' for a measure of your own"
            raise ValueError(f"linear_in: expected {expected}; got 'squares' for {measure.name!r}")
        return _expected_squares(tables, divisor)
    mean = _mean_pairs(tables) if measure.linear_in == "pairs" else _mean_information(tables)
    return measure(_stand_in(tables, mean))


def _stand_in(tables: ContingencyTables, mean: dict[Any, Any]) -> ContingencyTables:
    """Tables of the same sizes with the pairs or the information replaced by their means over permutations.

    The value of a measure linear in these is its mean; the rules for 0/0 depend on the sizes, which are the same.
    """
    one_group = (tables.n_classes <= 1) & (tables.n_clusters <= 1)
    singletons = (tables.n_classes == tables.n_items) & (tables.n_clusters == tables.n_items)
    sizes = {
        ContingencyTables.class_sizes: tables.class_sizes,
        ContingencyTables.cluster_sizes: tables.cluster_sizes,
        ContingencyTables.identical: one_group | singletons,
    }
    return with_cached_values(tables, sizes | mean)


def _mean_pairs(tables: ContingencyTables) -> dict[Any, Any]:
    ss, sd, ds, dd = tables.pairs
    pairs, same_cluster, same_class = ss + sd + ds + dd, ss + sd, ss + ds
    both = safe_divide(same_cluster * same_class, pairs)
    neither = pairs - same_cluster - same_class + both
    return {ContingencyTables.pairs: PairCounts(ss=both, sd=same_cluster - both, ds=same_class - both, dd=neither)}


def _mean_information(tables: ContingencyTables) -> dict[Any, Any]:
    mean = information.expected(tables)
    return {
        information.shared: mean,
        information.expected: mean,
        information.classes_given_clusters: information.of_classes(tables) - mean,
        information.clusters_given_classes: information.of_clusters(tables) - mean,
    }


def _expected_squares(tables: ContingencyTables, divisor: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    rows, columns = tables.class_sizes.double().unsqueeze(-1), tables.cluster_sizes.double().unsqueeze(-2)
    items = tables._n_items_f64.unsqueeze(-1).unsqueeze(-1)
    mean = safe_divide(rows * columns, items)
    variance = safe_divide(mean * (items - rows) * (items - columns), items * (items - 1))
    share = safe_divide(mean**2 + variance, divisor(rows, columns).expand_as(mean)).sum((-2, -1))
    return ratio(share, tables._n_items_f64, tables, identical=None, maximum=1.0)


def adjusted(value: Tensor, expected: Tensor, perfect: float | None, tables: ContingencyTables) -> Tensor:
    """``(value - expected) / (perfect - expected)``: 0 by chance, 1 at best; nan without a perfect value.

    Where the expected value is perfect: 1 for identical partitions, else 0.
    """
    if perfect is None:
        return torch.full_like(value, torch.nan)
    scale = perfect - expected
    undefined = scale.abs() <= 1e-12 * expected.abs().clamp(min=abs(perfect))
    return ratio(value - expected, scale, tables, undefined=undefined)


def adjusted_for_chance(measure: str | Measure) -> Measure:
    """A measure that is 0 on average over all permutations of one side, and 1 at best.

        (x - E[x]) / (perfect - E[x])

    ``E[x]`` is exact, from the sizes of both sides. ``adjusted_for_chance("rand")`` is the adjusted Rand index,
    ``adjusted_for_chance("v_measure")`` the adjusted mutual information.

    Args:
        measure: a name or alias, or a ``Measure`` (which states ``linear_in``).

    Returns:
        A ``Measure`` named ``adjusted_`` and the name, for integer tables. Higher is better; 1 for identical
        partitions, 0 where the expected value is perfect, nan without items.

    Raises:
        ValueError: the measure has no exact expectation (``permutation_test`` estimates it) or no perfect value.

    >>> measure = tce.adjusted_for_chance("rand")
    >>> tce.evaluate([0, 0, 1, 1], [0, 0, 1, 2], [measure])["adjusted_rand"]
    tensor(0.5714, dtype=torch.float64)
    """
    chosen = measure if isinstance(measure, Measure) else find_measure(measure)
    if chosen.linear_in is None:
        known = "a measure with a known mean over permutations (permutation_test estimates it for any measure)"
        raise ValueError(f"measure: expected {known}; got {chosen.name!r}")
    if chosen.perfect is None:
        raise ValueError(f"measure: expected a measure with one perfect value; got {chosen.name!r}")
    return Measure(
        name=f"adjusted_{chosen.name}",
        family=chosen.family,
        function=partial(_adjusted, chosen),
        range=(-torch.inf, 1.0),
        perfect=1.0,
        swapped=None if chosen.swapped is None else f"adjusted_{chosen.swapped}",
        source=chosen.source,
        chance_corrected=True,
        integer_only=True,
        on_host=chosen.linear_in == "information" or chosen.on_host,
        batch_terms=(information.expected,) if chosen.linear_in == "information" else chosen.batch_terms,
    )


def _adjusted(measure: Measure, tables: ContingencyTables) -> Tensor:
    expected = expected_value(measure, tables)
    assert expected is not None
    return adjusted(measure(tables), expected, measure.perfect, tables)
