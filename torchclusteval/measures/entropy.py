"""Measures built on entropies. Logarithms are natural (nats) unless a ``base`` is given.

``H(C)``, ``H(K)`` are the entropies of the classes and of the clusters, ``I`` their mutual information.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.numerics import log_or_zero
from torchclusteval.measures import information
from torchclusteval.measures.record import FROM_ZERO, TO_ONE, UNIT, measure
from torchclusteval.measures.sums import ratio
from torchclusteval.tables import ContingencyTables

__all__ = ["ami", "class_entropy", "cluster_entropy", "completeness", "conditional_entropy", "entropy_classes"]
__all__ += ["entropy_clusters", "expected_mutual_information", "homogeneity", "information_distance", "joint_entropy"]
__all__ += ["mutual_information", "nmi", "normalized_information_distance", "normalized_vi", "nvi", "nvi_k"]
__all__ += ["nvi_merge", "nvi_split", "q0", "q2", "v_measure", "variation_of_information"]

AVERAGES = ("min", "geometric", "arithmetic", "max", "joint")
CORRECTED_AVERAGES = (*AVERAGES[:-1], "classes", "clusters")
NORMS = {"log_n": 1.0, "two_log_n": 0.5, "log_k": 2.0, "two_log_k": 1.0, "joint": 1.0}  # norm -> largest value

share = partial(measure, "entropy", range=UNIT, perfect=1.0)
distance = partial(measure, "entropy", better="lower", perfect=0.0)
permuted = partial(measure, "entropy", integer_only=True, batch_terms=(information.expected,))
corrected = partial(permuted, range=TO_ONE, perfect=1.0, chance_corrected=True, linear_in="information")
_LINEAR: dict[str, Any] = {"linear_in": "information"}
_METRIC: dict[str, Any] = {"linear_in": "information", "metric": True}


@measure("entropy", range=FROM_ZERO, better=None, swapped="entropy_clusters", source="shannon1948", linear_in="sizes")
def entropy_classes(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the classes, ``H(C) = -sum_i (r_i / N) log(r_i / N)``.

    Range: 0 to log of the number of classes; no direction.
    Degenerate: 0 for one class; nan without items.
    Source: Shannon (1948); Rosenberg and Hirschberg (2007), section 2.
    Example: 0.6931
    """
    return information.in_base(information.of_classes(tables), base)


@measure("entropy", range=FROM_ZERO, better=None, swapped="entropy_classes", source="shannon1948", linear_in="sizes")
def entropy_clusters(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the clusters, ``H(K) = -sum_j (c_j / N) log(c_j / N)``.

    Range: 0 to log of the number of clusters; no direction.
    Degenerate: 0 for one cluster; nan without items.
    Source: Shannon (1948); Rosenberg and Hirschberg (2007), section 2.
    Example: 0.6365
    """
    return information.in_base(information.of_clusters(tables), base)


@measure("entropy", range=FROM_ZERO, better=None, symmetric=True, source="shannon1948", linear_in="information")
def joint_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the pairs of class and cluster, ``H(C, K) = H(C) + H(K|C)``.

    Range: 0 to log N; no direction.
    Degenerate: 0 for one class in one cluster; nan without items.
    Source: Shannon (1948); Kishida, section 3.3.
    Example: 1.0114
    """
    return information.in_base(information.joint(tables), base)


@distance(range=FROM_ZERO, swapped="class_entropy", source="rosenberg2007", linear_in="information", combines="mean")
def conditional_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the classes within the clusters, ``H(C|K) = -sum_ij (n_ij / N) log(n_ij / c_j)``.

    Range: 0 to H(C), lower is better; 0 exactly when every cluster holds one class.
    Degenerate: 0 for one class; nan without items.
    Source: Rosenberg and Hirschberg (2007), section 2; Kishida's overall entropy, section 3.3.
    Example: 0.3749
    """
    return information.in_base(information.classes_given_clusters(tables), base)


@distance(range=FROM_ZERO, swapped="conditional_entropy", source="amigo2009", linear_in="information", combines="mean")
def class_entropy(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy of the clusters within the classes, ``H(K|C) = -sum_ij (n_ij / N) log(n_ij / r_i)``.

    Range: 0 to H(K), lower is better; 0 exactly when every class lies in one cluster.
    Degenerate: 0 for one cluster; nan without items.
    Source: Amigo et al. (2009), section 4.3, after Bakus et al. (2002).
    Example: 0.3183
    """
    return information.in_base(information.clusters_given_classes(tables), base)


@distance(range=UNIT, source="zhao2001", linear_in="information")
def cluster_entropy(tables: ContingencyTables) -> Tensor:
    """Entropy of the classes within the clusters as a share of its limit, ``H(C|K) / log q`` for q classes.

    Degenerate: 0 for one class; nan without items.
    Example: 0.5409
    """
    conditional = information.classes_given_clusters(tables)
    return ratio(conditional, log_or_zero(tables.n_classes), tables, identical=0.0, maximum=1.0)


@measure("entropy", range=FROM_ZERO, symmetric=True, source="shannon1948", linear_in="information")
def mutual_information(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Information that clusters and classes share, ``I = sum_ij (n_ij / N) log(N n_ij / (r_i c_j))``.

    Range: 0 to min(H(C), H(K)), higher is better; 0 for independent sides.
    Degenerate: 0 where a side is one group; nan without items.
    Source: Shannon (1948); Kishida, section 3.3.
    Example: 0.3183
    """
    return information.in_base(information.shared(tables), base)


@share(swapped="completeness", source="rosenberg2007", linear_in="information")
def homogeneity(tables: ContingencyTables) -> Tensor:
    """Share of the classes' entropy that the clusters explain, ``h = 1 - H(C|K) / H(C) = I / H(C)``.

    Range: 0 to 1, higher is better; 1 exactly when every cluster holds one class.
    Degenerate: 1 for one class; nan without items.
    Source: Rosenberg and Hirschberg (2007), equation 1.
    Example: 0.4591
    """
    return ratio(information.shared(tables), information.of_classes(tables), tables, otherwise=1.0, maximum=1.0)


@share(swapped="homogeneity", source="rosenberg2007", linear_in="information")
def completeness(tables: ContingencyTables) -> Tensor:
    """Share of the clusters' entropy that the classes explain, ``c = 1 - H(K|C) / H(K) = I / H(K)``.

    Range: 0 to 1, higher is better; 1 exactly when every class lies in one cluster.
    Degenerate: 1 for one cluster; nan without items.
    Source: Rosenberg and Hirschberg (2007), equation 2.
    Example: 0.5000
    """
    return ratio(information.shared(tables), information.of_clusters(tables), tables, otherwise=1.0, maximum=1.0)


@share(
    source="rosenberg2007",
    linear_in="information",
    variants={
        "v_measure": {"symmetric": True},
        "v_measure_beta_0.5": {"beta": 0.5, "swapped": "v_measure_beta_2"},
        "v_measure_beta_2": {"beta": 2.0, "swapped": "v_measure_beta_0.5"},
    },
)
def v_measure(tables: ContingencyTables, beta: float = 1.0) -> Tensor:
    """Weighted harmonic mean of homogeneity h and completeness c, ``(1 + beta) h c / (beta h + c)``.

    As ``h = I / H(C)`` and ``c = I / H(K)``, this is ``(1 + beta) I / (beta H(K) + H(C))``, without 0/0 where
    nothing is shared.

    Args:
        beta: weight of completeness against homogeneity; 0 gives homogeneity, infinity completeness.

    Degenerate: 1 for one class in one cluster, 0 where only one side is one group; nan without items.
    Source: Rosenberg and Hirschberg (2007), section 2. The weight is beta, not its square as in F_beta.
    Example: 0.4787
    """
    check_number(beta, "beta", 0)
    if beta == 0:
        return homogeneity(tables)
    if beta == math.inf:
        return completeness(tables)
    if beta == 1:
        return nmi(tables)
    numerator = (1 + float(beta)) * information.shared(tables)
    denominator = float(beta) * information.of_clusters(tables) + information.of_classes(tables)
    return ratio(numerator, denominator, tables, maximum=1.0)


@share(
    symmetric=True,
    variants={
        "nmi_min": {"average": "min", "source": "kishida", "linear_in": "information"},
        "nmi_geometric": {"average": "geometric", "source": "strehl2002", "linear_in": "information"},
        "nmi_arithmetic": {"average": "arithmetic", "source": "kishida", "linear_in": "information"},
        "nmi_max": {"average": "max", "source": "kishida", "linear_in": "information"},
        "nmi_joint": {"average": "joint", "source": "kishida"},
    },
)
def nmi(tables: ContingencyTables, average: str = "arithmetic") -> Tensor:
    """Mutual information over an average of the two entropies.

    Args:
        average: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"`` of H(C) and H(K), or ``"joint"``, H(C, K).
            In this order values never rise; the arithmetic form equals the V-measure.

    Degenerate: 1 for one class in one cluster, 0 where only one side is one group; nan without items.
    Source: Strehl and Ghosh (2002); Kishida, section 3.3.
    Example: 0.4787
    """
    bound = information.average_entropy(tables, average, AVERAGES)
    return ratio(information.shared(tables), bound, tables, maximum=1.0)


@permuted(range=FROM_ZERO, better=None, symmetric=True, source="vinh2010", linear_in="sizes")
def expected_mutual_information(tables: ContingencyTables) -> Tensor:
    """Mean mutual information over all permutations of one side (hypergeometric model), in nats.

    Range: 0 to min(H(C), H(K)).
    Degenerate: 0 where a side is one group; nan without items.
    Example: 0.1273
    """
    return information.expected(tables)


@corrected(
    source="vinh2010",
    variants={
        "ami_min": {"average": "min", "symmetric": True},
        "ami_geometric": {"average": "geometric", "symmetric": True},
        "ami_arithmetic": {"average": "arithmetic", "symmetric": True},
        "ami_max": {"average": "max", "symmetric": True},
    },
)
def ami(tables: ContingencyTables, average: str = "arithmetic") -> Tensor:
    """Mutual information corrected for chance, ``(I - E[I]) / (d - E[I])`` with d an average of the entropies.

    Args:
        average: ``"min"``, ``"geometric"``, ``"arithmetic"`` (as in scikit-learn) or ``"max"`` (as Vinh et al.
            recommend) of H(C) and H(K), or one of them alone: ``"classes"``, ``"clusters"``.

    Range: up to 1, higher is better; 0 is the mean over all permutations of one side, for averages that these keep.
    Degenerate: 1 for identical partitions; else 0 where a side is one group or all single items; nan without items.
    Example: 0.3552
    """
    corrected = information.average_entropy(tables, average, CORRECTED_AVERAGES) - information.expected(tables)
    if not tables._all_ordinary:  # the difference may be rounding noise
        corrected = corrected.masked_fill(information.is_fixed(tables), 0.0)
    return ratio(information.above_chance(tables), corrected, tables, maximum=1.0)


@distance(range=FROM_ZERO, symmetric=True, source="meila2007", linear_in="information", metric=True, combines="mean")
def variation_of_information(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Information that one side has and the other lacks, ``VI = H(C|K) + H(K|C)``; a metric.

    Range: 0 to log N, lower is better; 0 exactly for identical partitions.
    Degenerate: H(K) for one class, H(C) for one cluster; nan without items.
    Example: 0.6931
    """
    return information.in_base(information.variation(tables), base)


@distance(
    symmetric=True,
    variants={
        "normalized_vi_log_n": {"norm": "log_n", "range": UNIT, "source": "meila2007", **_METRIC},
        "normalized_vi_two_log_n": {"norm": "two_log_n", "range": (0.0, 0.5), "source": "reichart2009", **_METRIC},
        "normalized_vi_log_k": {"norm": "log_k", "range": (0.0, 2.0), "source": "rosenberg2007", **_LINEAR},
        "normalized_vi_two_log_k": {"norm": "two_log_k", "range": UNIT, "source": "rosenberg2007", **_LINEAR},
        "normalized_vi_joint": {"norm": "joint", "range": UNIT, "source": "vinh2010", "metric": True},
    },
)
def normalized_vi(tables: ContingencyTables, norm: str = "log_n", k: int | None = None) -> Tensor:
    """Variation of information over a bound.

    Args:
        norm: ``"log_n"``: log N (the tight bound); ``"two_log_n"``: 2 log N; ``"log_k"``, ``"two_log_k"``: log k and
            2 log k for k groups; ``"joint"``: H(C, K).
        k: groups for the ``log_k`` norms; by default the larger of each table's numbers of classes and of
            clusters; values of different clusterings then cannot be compared.

    Range: 0 to 1 (``two_log_n``: to 1/2, ``log_k``: to 2), lower is better.
    Degenerate: 0 where the bound is 0; nan without items.
    Source: Meila (2007); Reichart and Rappoport (2009), section 3.
    Example: 0.3869
    """
    check_choice(norm, "norm", NORMS)
    if k is not None:
        check_number(k, "k", 1)
    if norm == "joint":
        bound = information.joint(tables)
    else:
        bound = information.log_items(tables) if norm.endswith("_n") else information.log_groups(tables)
        if k is not None and norm.endswith("_k"):
            bound = torch.full_like(bound, math.log(k))
        bound = 2 * bound if norm.startswith("two") else bound
    # Rounding noise only: log N bounds VI where cells are at least 1, log k for the groups that there are.
    certain = tables.is_integer if norm.endswith("_n") else k is None
    most = NORMS[norm] if certain else None
    undefined, variation = bound == 0 if k == 1 else None, information.variation(tables)
    if norm.endswith("_n") and not tables.is_integer:
        variation = tables._as_of_items(variation, NORMS[norm] * bound - variation, "bounds of log N")
    return ratio(variation, bound, tables, undefined=undefined, identical=0.0, maximum=most)


@distance(range=FROM_ZERO, swapped="nvi_k", source="reichart2009", linear_in="information")
def nvi(tables: ContingencyTables) -> Tensor:
    """Variation of information over the entropy of the classes, ``NVI = VI / H(C)``.

    Range: 0 to infinity, lower is better; 1 for one cluster, at least 1 for clusters that tell nothing.
    Degenerate: H(K), in nats, for one class; nan without items.
    Source: Reichart and Rappoport (2009), section 4.

    >>> round(tce.measures.nvi(tce.ContingencyTables([[2, 1], [0, 3]])).item(), 4)
    1.0
    """
    of_classes, of_clusters = information.of_classes(tables), information.of_clusters(tables)
    return ratio(information.variation(tables), of_classes, tables, identical=0.0, otherwise=of_clusters)


@distance(range=FROM_ZERO, swapped="nvi", source="reichart2009", linear_in="information")
def nvi_k(tables: ContingencyTables) -> Tensor:
    """Variation of information over the entropy of the clusters, ``NVI_K = VI / H(K)``.

    Degenerate: H(C), in nats, for one cluster; nan without items.
    Source: Reichart and Rappoport (2009), section 4.
    Example: 1.0890
    """
    of_classes, of_clusters = information.of_classes(tables), information.of_clusters(tables)
    return ratio(information.variation(tables), of_clusters, tables, identical=0.0, otherwise=of_classes)


@distance(range=FROM_ZERO, perfect=None, source="dom2001", **_LINEAR, variants={"q0": {}, "q0_bits": {"base": 2.0}})
def q0(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Code length per item for the classes, given the clusters and each cluster's counts of the q classes.

        Q0 = H(C|K) + (1/N) sum_j log binom(c_j + q - 1, q - 1)

    Args:
        base: of the logarithm, in both terms; the natural one gives nats.

    Range: above 0, lower is better; its least value is that of the true partition.
    Degenerate: 0 for one class; nan without items.
    Source: Dom (2001), as given by Rosenberg and Hirschberg (2007), section 3.
    Example: 0.8262
    """
    return information.in_base(information.code_length(tables), base)


@share(source="dom2001")
def q2(tables: ContingencyTables) -> Tensor:
    """Code length of the true partition over that of the clusters, ``Q0(C) / Q0(K)``.

    Range: above 0 to 1, higher is better; 1 (for two or more classes) only at the true partition.
    Degenerate: 1 for one class; nan without items.
    Source: Dom (2001), as given by Rosenberg and Hirschberg (2007), section 3.
    Example: 0.5593
    """
    length = information.code_length(tables)
    return ratio(information.histogram_code(tables.class_sizes, tables), length, tables, otherwise=1.0, maximum=1.0)


@distance(range=FROM_ZERO, symmetric=True, source="vinh2010", linear_in="information", metric=True)
def information_distance(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Larger of the two conditional entropies, ``ID = max(H(C), H(K)) - I = max(H(C|K), H(K|C))``; a metric.

    Range: 0 to log N, lower is better; 0 exactly for identical partitions.
    Degenerate: H(K) for one class, H(C) for one cluster; nan without items.
    Source: Vinh, Epps and Bailey (2010), section 3.
    Example: 0.3749
    """
    return information.in_base(information.larger_remainder(tables), base)


@distance(range=UNIT, symmetric=True, source="vinh2010", linear_in="information", metric=True)
def normalized_information_distance(tables: ContingencyTables) -> Tensor:
    """Information distance over the larger entropy, ``NID = 1 - I / max(H(C), H(K))``; a metric.

    One minus the ``"max"`` form of the NMI.

    Range: 0 to 1, lower is better; 0 exactly for identical partitions.
    Degenerate: 0 for one class in one cluster, 1 where only one side is one group; nan without items.
    Source: Vinh, Epps and Bailey (2010), section 3.
    Example: 0.5409
    """
    most = information.average_entropy(tables, "max", AVERAGES)
    return ratio(information.larger_remainder(tables), most, tables, identical=0.0, maximum=1.0)


@distance(range=UNIT, swapped="nvi_merge", source="nunez2013")
def nvi_split(tables: ContingencyTables) -> Tensor:
    """Share of the joint entropy due to split classes, ``H(K|C) / H(C, K)``.

    With ``nvi_merge`` it adds up to the variation of information over the joint entropy.

    Range: 0 to 1, lower is better; 0 exactly when every class lies in one cluster.
    Degenerate: 0 for one cluster, 1 for one class in several clusters; nan without items.
    Source: Vinh, Epps and Bailey (2010), the variation of information over the joint entropy, in two parts as in
        Nunez-Iglesias et al. (2013).
    Example: 0.3147
    """
    return _share_of_joint(tables, information.clusters_given_classes(tables))


@distance(range=UNIT, swapped="nvi_split", source="nunez2013")
def nvi_merge(tables: ContingencyTables) -> Tensor:
    """Share of the joint entropy due to merged classes, ``H(C|K) / H(C, K)``.

    Range: 0 to 1, lower is better; 0 exactly when every cluster holds one class.
    Degenerate: 0 for one class, 1 for one cluster of several classes; nan without items.
    Source: Vinh, Epps and Bailey (2010), the variation of information over the joint entropy, in two parts as in
        Nunez-Iglesias et al. (2013).
    Example: 0.3707
    """
    return _share_of_joint(tables, information.classes_given_clusters(tables))


def _share_of_joint(tables: ContingencyTables, part: Tensor) -> Tensor:
    return ratio(part, information.joint(tables), tables, identical=0.0, maximum=1.0)


corrected(
    source="vinh2010",
    variants={
        "ami_classes": {"average": "classes", "swapped": "ami_clusters"},
        "ami_clusters": {"average": "clusters", "swapped": "ami_classes"},
    },
)(ami)
