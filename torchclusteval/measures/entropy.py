"""Measures built on entropies. Logarithms are natural (nats) unless a ``base`` is given.

``H(C)``, ``H(K)`` are the entropies of the classes and of the clusters, ``I`` their mutual information. Sums run
term by term over cells: differences of whole entropies would cancel near independence.
"""

import math

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import (
    at_least,
    larger,
    log_factorial,
    log_or_zero,
    smaller,
    sqrt_or_zero,
    sum_reproducible,
)
from torchclusteval.measures.expected_mutual_info import expected_mutual_information as _expected_information
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables

AVERAGES = ("min", "geometric", "arithmetic", "max", "joint")
CORRECTED_AVERAGES = (*AVERAGES[:-1], "classes", "clusters")
NORMS = {"log_n": 1.0, "two_log_n": 0.5, "log_k": 2.0, "two_log_k": 1.0, "joint": 1.0}  # norm -> largest value


def _in_base(nats: Tensor, base: float) -> Tensor:
    check_number(base, "base", 1, exclusive=True)
    return nats if base == math.e else nats / math.log(base)


@cached_on_tables
def _entropy_classes(tables: ContingencyTables) -> Tensor:
    return tables._divide_by_items(sum_reproducible(tables._class_sizes_f64 * tables._class_surprisal))


@cached_on_tables
def _entropy_clusters(tables: ContingencyTables) -> Tensor:
    return tables._divide_by_items(sum_reproducible(tables._cluster_sizes_f64 * tables._cluster_surprisal))


@cached_on_tables
def _classes_given_clusters(tables: ContingencyTables) -> Tensor:
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_cluster)


@cached_on_tables
def _clusters_given_classes(tables: ContingencyTables) -> Tensor:
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_class)


@cached_on_tables
def _information(tables: ContingencyTables) -> Tensor:
    nats = tables._class_surprisal
    mean = tables._item_mean(lambda cell: cell.n * (cell.at_classes(nats) - cell.surprisal_given_cluster))
    return at_least(mean, 0)  # rounding noise only


@cached_on_tables
def _joint_entropy(tables: ContingencyTables) -> Tensor:
    return _entropy_classes(tables) + _clusters_given_classes(tables)


@cached_on_tables
def _mean_entropy(tables: ContingencyTables) -> Tensor:
    return (_entropy_classes(tables) + _entropy_clusters(tables)) / 2


@cached_on_tables
def _variation(tables: ContingencyTables) -> Tensor:
    return _classes_given_clusters(tables) + _clusters_given_classes(tables)


@cached_on_tables
def _log_items(tables: ContingencyTables) -> Tensor:
    return log_or_zero(tables._n_items_f64)


@cached_on_tables
def _log_groups(tables: ContingencyTables) -> Tensor:
    return log_or_zero(torch.maximum(tables.n_classes, tables.n_clusters).double())


@cached_on_tables
def _information_above_chance(tables: ContingencyTables) -> Tensor:
    return _information(tables) - _expected(tables)


@cached_on_tables
def _expected(tables: ContingencyTables) -> Tensor:
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts for an expectation over permutations; got float64 masses")
    return _expected_information(tables.class_sizes, tables.cluster_sizes)


def entropy_classes(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the classes, ``H(C) = -sum_i (r_i / N) log(r_i / N)``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to log of the number of classes; no direction.
    Degenerate: 0 for one class; nan without items.
    Source: Shannon (1948); Rosenberg and Hirschberg (2007), section 2.

    >>> tce.measures.entropy_classes(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6931, dtype=torch.float64)
    """
    return _in_base(_entropy_classes(tables), base)


def entropy_clusters(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the clusters, ``H(K) = -sum_j (c_j / N) log(c_j / N)``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to log of the number of clusters; no direction.
    Degenerate: 0 for one cluster; nan without items.
    Source: Shannon (1948); Rosenberg and Hirschberg (2007), section 2.

    >>> tce.measures.entropy_clusters(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6365, dtype=torch.float64)
    """
    return _in_base(_entropy_clusters(tables), base)


def joint_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the pairs of class and cluster, ``H(C, K) = H(C) + H(K|C)``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to log N; no direction.
    Degenerate: 0 for one class in one cluster; nan without items.
    Source: Shannon (1948); Kishida, section 3.3.

    >>> tce.measures.joint_entropy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1.0114, dtype=torch.float64)
    """
    return _in_base(_joint_entropy(tables), base)


def conditional_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the classes within the clusters, ``H(C|K) = -sum_ij (n_ij / N) log(n_ij / c_j)``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to H(C), lower is better; 0 exactly when every cluster holds one class.
    Degenerate: 0 for one class; nan without items.
    Source: Rosenberg and Hirschberg (2007), section 2; Kishida's overall entropy, section 3.3.

    >>> tce.measures.conditional_entropy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3749, dtype=torch.float64)
    """
    return _in_base(_classes_given_clusters(tables), base)


def class_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the clusters within the classes, ``H(K|C) = -sum_ij (n_ij / N) log(n_ij / r_i)``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to H(K), lower is better; 0 exactly when every class lies in one cluster.
    Degenerate: 0 for one cluster; nan without items.
    Source: Amigo et al. (2009), section 4.3, after Bakus et al. (2002).

    >>> tce.measures.class_entropy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3183, dtype=torch.float64)
    """
    return _in_base(_clusters_given_classes(tables), base)


def cluster_entropy(tables: ContingencyTables) -> Tensor:
    """Entropy of the classes within the clusters as a share of its limit, ``H(C|K) / log q`` for q classes.

    Range: 0 to 1, lower is better.
    Degenerate: 0 for one class; nan without items.
    Source: Zhao and Karypis (2001).

    >>> tce.measures.cluster_entropy(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5409, dtype=torch.float64)
    """
    return ratio(_classes_given_clusters(tables), tables.n_classes.double().log(), tables, identical=0.0, maximum=1.0)


def mutual_information(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Information that clusters and classes share, ``I = sum_ij (n_ij / N) log(N n_ij / (r_i c_j))``.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to min(H(C), H(K)), higher is better; 0 for independent sides.
    Degenerate: 0 where a side is one group; nan without items.
    Source: Shannon (1948); Kishida, section 3.3.

    >>> tce.measures.mutual_information(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3183, dtype=torch.float64)
    """
    return _in_base(_information(tables), base)


def homogeneity(tables: ContingencyTables) -> Tensor:
    """Share of the classes' entropy that the clusters explain, ``h = 1 - H(C|K) / H(C) = I / H(C)``.

    Range: 0 to 1, higher is better; 1 exactly when every cluster holds one class.
    Degenerate: 1 for one class; nan without items.
    Source: Rosenberg and Hirschberg (2007), equation 1.

    >>> tce.measures.homogeneity(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4591, dtype=torch.float64)
    """
    return ratio(_information(tables), _entropy_classes(tables), tables, otherwise=1.0, maximum=1.0)


def completeness(tables: ContingencyTables) -> Tensor:
    """Share of the clusters' entropy that the classes explain, ``c = 1 - H(K|C) / H(K) = I / H(K)``.

    Range: 0 to 1, higher is better; 1 exactly when every class lies in one cluster.
    Degenerate: 1 for one cluster; nan without items.
    Source: Rosenberg and Hirschberg (2007), equation 2.

    >>> tce.measures.completeness(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5000, dtype=torch.float64)
    """
    return ratio(_information(tables), _entropy_clusters(tables), tables, otherwise=1.0, maximum=1.0)


def v_measure(tables: ContingencyTables, beta: float = 1.0) -> Tensor:
    """Weighted harmonic mean of homogeneity h and completeness c, ``(1 + beta) h c / (beta h + c)``.

    As ``h = I / H(C)`` and ``c = I / H(K)``, this is ``(1 + beta) I / (beta H(K) + H(C))``, which has no 0/0 where
    nothing is shared.

    Args:
        beta: weight of completeness against homogeneity; 0 gives homogeneity, infinity completeness.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for one class in one cluster, 0 where only one side is one group; nan without items.
    Source: Rosenberg and Hirschberg (2007), section 2. The weight is beta, not its square as in F_beta.

    >>> tce.measures.v_measure(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4787, dtype=torch.float64)
    """
    check_number(beta, "beta", 0)
    if beta == 0:
        return homogeneity(tables)
    if beta == math.inf:
        return completeness(tables)
    numerator = (1 + float(beta)) * _information(tables)
    denominator = float(beta) * _entropy_clusters(tables) + _entropy_classes(tables)
    return ratio(numerator, denominator, tables, maximum=1.0)


def variation_of_information(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Information that one side has and the other lacks, ``VI = H(C|K) + H(K|C)``; a metric.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to log N, lower is better; 0 exactly for identical partitions.
    Degenerate: H(K) for one class, H(C) for one cluster; nan without items.
    Source: Meila (2007).

    >>> tce.measures.variation_of_information(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.6931, dtype=torch.float64)
    """
    return _in_base(_variation(tables), base)


def normalized_vi(tables: ContingencyTables, norm: str = "log_n", k: int | None = None) -> Tensor:
    """Variation of information over a bound.

    Args:
        norm: ``"log_n"``: log N (the tight bound); ``"two_log_n"``: 2 log N; ``"log_k"``, ``"two_log_k"``: log k and
            2 log k for k groups; ``"joint"``: H(C, K).
        k: groups for the ``log_k`` norms; by default the larger number of classes and clusters of each table, which
            makes values of different clusterings incomparable.

    Range: 0 to 1 (``two_log_n``: to 1/2, ``log_k``: to 2), lower is better.
    Degenerate: 0 where the bound is 0; nan without items.
    Source: Meila (2007); Reichart and Rappoport (2009), section 3.

    >>> tce.measures.normalized_vi(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3869, dtype=torch.float64)
    """
    check_choice(norm, "norm", NORMS)
    if k is not None:
        check_number(k, "k", 1)
    if norm == "joint":
        bound = _joint_entropy(tables)
    else:
        bound = _log_items(tables) if norm.endswith("_n") else _log_groups(tables)
        if k is not None and norm.endswith("_k"):
            bound = torch.full_like(bound, math.log(k))
        bound = 2 * bound if norm.startswith("two") else bound
    # Rounding noise only: log N bounds VI where cells are at least 1, log k for the groups that there are.
    certain = tables.is_integer if norm.endswith("_n") else k is None
    most = NORMS[norm] if certain else None
    undefined = bound == 0 if k == 1 else None
    return ratio(_variation(tables), bound, tables, undefined=undefined, identical=0.0, maximum=most)


def nvi(tables: ContingencyTables) -> Tensor:
    """Variation of information over the entropy of the classes, ``NVI = VI / H(C)``.

    Range: 0 to infinity, lower is better; 1 for one cluster, at least 1 for clusters that tell nothing.
    Degenerate: H(K), in nats, for one class; nan without items.
    Source: Reichart and Rappoport (2009), section 4.

    >>> round(tce.measures.nvi(tce.ContingencyTables([[2, 1], [0, 3]])).item(), 4)
    1.0
    """
    fallback = _entropy_clusters(tables)
    return ratio(_variation(tables), _entropy_classes(tables), tables, identical=0.0, otherwise=fallback)


def nvi_k(tables: ContingencyTables) -> Tensor:
    """Variation of information over the entropy of the clusters, ``NVI_K = VI / H(K)``.

    Range: 0 to infinity, lower is better.
    Degenerate: H(C), in nats, for one cluster; nan without items.
    Source: Reichart and Rappoport (2009), section 4.

    >>> tce.measures.nvi_k(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(1.0890, dtype=torch.float64)
    """
    fallback = _entropy_classes(tables)
    return ratio(_variation(tables), _entropy_clusters(tables), tables, identical=0.0, otherwise=fallback)


def _average(tables: ContingencyTables, average: str, allowed: tuple[str, ...]) -> Tensor:
    check_choice(average, "average", allowed)
    classes, clusters = _entropy_classes(tables), _entropy_clusters(tables)
    if average in ("classes", "clusters"):
        return classes if average == "classes" else clusters
    if average == "min":
        return smaller(classes, clusters)
    if average == "geometric":
        return sqrt_or_zero(classes * clusters)
    if average == "arithmetic":
        return _mean_entropy(tables)
    return larger(classes, clusters) if average == "max" else _joint_entropy(tables)


def nmi(tables: ContingencyTables, average: str = "arithmetic") -> Tensor:
    """Mutual information over an average of the two entropies.

    Args:
        average: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"`` of H(C) and H(K), or ``"joint"``, H(C, K).
            In this order values never rise; the arithmetic form equals the V-measure.

    Range: 0 to 1, higher is better.
    Degenerate: 1 for one class in one cluster, 0 where only one side is one group; nan without items.
    Source: Strehl and Ghosh (2002); Kishida, section 3.3.

    >>> tce.measures.nmi(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.4787, dtype=torch.float64)
    """
    bound = _average(tables, average, AVERAGES)
    return ratio(_information(tables), bound, tables, maximum=1.0)


def expected_mutual_information(tables: ContingencyTables) -> Tensor:
    """Mean mutual information over all permutations of one side (hypergeometric model), in nats.

    Range: 0 to min(H(C), H(K)).
    Degenerate: 0 where a side is one group; nan without items.
    Raises: ValueError on float tables.
    Source: Vinh, Epps and Bailey (2010).

    >>> tce.measures.expected_mutual_information(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.1273, dtype=torch.float64)
    """
    return _expected(tables)


def ami(tables: ContingencyTables, average: str = "arithmetic") -> Tensor:
    """Mutual information corrected for chance, ``(I - E[I]) / (d - E[I])`` with d an average of the entropies.

    Args:
        average: ``"min"``, ``"geometric"``, ``"arithmetic"`` (as in scikit-learn) or ``"max"`` (as Vinh et al.
            recommend) of H(C) and H(K), or one of them alone: ``"classes"``, ``"clusters"``.

    Range: up to 1, higher is better; 0 is the mean over all permutations of one side, for averages that these keep.
    Degenerate: 1 for identical partitions; else 0 where a side is one group or all single items; nan without items.
    Raises: ValueError on float tables.
    Source: Vinh, Epps and Bailey (2010).

    >>> tce.measures.ami(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3552, dtype=torch.float64)
    """
    corrected = _average(tables, average, CORRECTED_AVERAGES) - _expected(tables)
    if not tables._all_ordinary:  # the difference may be rounding noise
        one_group = (tables.n_classes <= 1) | (tables.n_clusters <= 1)
        singletons = (tables.n_classes == tables.n_items) | (tables.n_clusters == tables.n_items)
        corrected = corrected.masked_fill(one_group | singletons, 0.0)
    return ratio(_information_above_chance(tables), corrected, tables, maximum=1.0)


def _histogram_code(sizes: Tensor, tables: ContingencyTables) -> Tensor:
    """Nats an item to say how many of each group's items fall in each of q classes."""
    others = (tables.n_classes - 1).clamp(min=0).unsqueeze(-1)
    most = None if tables._most_items is None else 2 * tables._most_items
    ways = log_factorial(sizes + others, most) - log_factorial(others, most) - log_factorial(sizes, most)
    return tables._divide_by_items(sum_reproducible(ways))


@cached_on_tables
def _code_length(tables: ContingencyTables) -> Tensor:
    return _classes_given_clusters(tables) + _histogram_code(tables.cluster_sizes, tables)


def q0(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Code length an item for the classes, given the clusters and each cluster's counts of the q classes.

        Q0 = H(C|K) + (1/N) sum_j log binom(c_j + q - 1, q - 1)

    Args:
        base: of the logarithm, in both terms; the natural one gives nats.

    Range: above 0, lower is better; its least value is that of the true partition.
    Degenerate: 0 for one class; nan without items.
    Source: Dom (2001), as given by Rosenberg and Hirschberg (2007), section 3.

    >>> tce.measures.q0(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.8262, dtype=torch.float64)
    """
    return _in_base(_code_length(tables), base)


def q2(tables: ContingencyTables) -> Tensor:
    """Code length of the true partition over that of the clusters, ``Q0(C) / Q0(K)``.

    Range: above 0 to 1, higher is better; 1 (for two or more classes) only at the true partition.
    Degenerate: 1 for one class; nan without items.
    Source: Dom (2001), as given by Rosenberg and Hirschberg (2007), section 3.

    >>> tce.measures.q2(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5593, dtype=torch.float64)
    """
    length = _code_length(tables)
    return ratio(_histogram_code(tables.class_sizes, tables), length, tables, otherwise=1.0, maximum=1.0)
