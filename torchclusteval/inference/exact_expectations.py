"""Exact means of measures over all permutations of one side, and the correction for chance based on them."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.lazy import with_cached_values
from torchclusteval.common.numerics import safe_divide
from torchclusteval.measures import entropy
from torchclusteval.measures.ratios import ratio
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, find
from torchclusteval.tables import ContingencyTables, PairCounts

# With both sides' sizes held fixed these are linear in the pairs SS that both sides join ...
_LINEAR_IN_PAIRS = frozenset(
    [
        "rand",
        "adjusted_rand",
        "fowlkes_mallows",
        "mirkin",
        "mirkin_normalized",
        "hubert_gamma",
        "hubert_gamma_normalized",
        "pair_precision",
        "pair_recall",
        "pair_f",
    ]
)
# ... and these in the mutual information.
_LINEAR_IN_INFORMATION = frozenset(
    [
        "mutual_information",
        "joint_entropy",
        "conditional_entropy",
        "class_entropy",
        "cluster_entropy",
        "homogeneity",
        "completeness",
        "v_measure",
        "v_measure_beta_0.5",
        "v_measure_beta_2",
        "nmi_min",
        "nmi_geometric",
        "nmi_arithmetic",
        "nmi_max",
        "ami_min",
        "ami_geometric",
        "ami_arithmetic",
        "ami_max",
        "variation_of_information",
        "normalized_vi_log_n",
        "normalized_vi_two_log_n",
        "normalized_vi_log_k",
        "normalized_vi_two_log_k",
        "nvi",
        "nvi_k",
        "q0",
        "q0_bits",
    ]
)
# These depend on the sizes alone.
_CONSTANT = frozenset(("entropy_classes", "entropy_clusters", "expected_mutual_information"))
# Mean over items of the square of a cell over a size.
_SQUARES = frozenset(("bcubed_precision", "bcubed_recall", "element_centric_similarity"))

EXACT = _LINEAR_IN_PAIRS | _LINEAR_IN_INFORMATION | _CONSTANT | _SQUARES


def expected_value(measure: Measure, tables: ContingencyTables) -> Tensor | None:
    """Exact mean of a measure over all permutations of one side, ``(*batch,)``; None where no form is known.

    Raises:
        ValueError: float tables.
    """
    if measure.name not in EXACT or MEASURES.get(measure.name) is not measure:
        return None
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts for an expectation over permutations; got float64 masses")
    if measure.name in _SQUARES:
        return _expected_squares(measure.name, tables)
    mean = _mean_pairs(tables) if measure.name in _LINEAR_IN_PAIRS else _mean_information(tables)
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
    information = entropy.expected_mutual_information(tables)
    return {
        entropy._information: information,
        entropy._expected: information,
        entropy._classes_given_clusters: entropy.entropy_classes(tables) - information,
        entropy._clusters_given_classes: entropy.entropy_clusters(tables) - information,
    }


def _expected_squares(name: str, tables: ContingencyTables) -> Tensor:
    rows, columns = tables.class_sizes.double().unsqueeze(-1), tables.cluster_sizes.double().unsqueeze(-2)
    items = tables.n_items_f64.unsqueeze(-1).unsqueeze(-1)
    mean = safe_divide(rows * columns, items)
    variance = safe_divide(mean * (items - rows) * (items - columns), items * (items - 1))
    divisor = {"bcubed_precision": columns, "bcubed_recall": rows}.get(name, torch.maximum(rows, columns))
    share = safe_divide(mean**2 + variance, divisor.expand_as(mean)).sum((-2, -1))
    return ratio(share, tables.n_items_f64, tables, undefined=tables.empty, identical=None, maximum=1.0)


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
        measure: a name or alias, or a ``Measure`` of the registry.

    Returns:
        A ``Measure`` named ``adjusted_`` and the name, for integer tables. Higher is better; 1 for identical
        partitions, 0 where the expected value is perfect, nan without items.

    Raises:
        ValueError: the measure has no exact expectation (``permutation_test`` estimates it) or no perfect value.
    """
    chosen = measure if isinstance(measure, Measure) else find(measure)
    if chosen.name not in EXACT or MEASURES.get(chosen.name) is not chosen:
        expected = "a measure whose mean over permutations is known (permutation_test estimates that of any)"
        raise ValueError(f"measure: expected {expected}; got {chosen.name!r}")
    if chosen.perfect is None:
        raise ValueError(f"measure: expected a measure with one perfect value; got {chosen.name!r}")
    return Measure(
        name=f"adjusted_{chosen.name}",
        family=chosen.family,
        function=partial(_adjusted, chosen),
        range=(-torch.inf, 1.0),
        better="higher",
        perfect=1.0,
        swapped=None if chosen.swapped is None else f"adjusted_{chosen.swapped}",
        source=chosen.source,
        chance_corrected=True,
        integer_only=True,
        on_host=chosen.name in _LINEAR_IN_INFORMATION or chosen.on_host,
    )


def _adjusted(measure: Measure, tables: ContingencyTables) -> Tensor:
    expected = expected_value(measure, tables)
    assert expected is not None
    return adjusted(measure(tables), expected, measure.perfect, tables)
