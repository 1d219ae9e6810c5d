"""Distances made of the two conditional entropies: the larger one, and each as a share of the joint entropy."""

import math

from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import larger
from torchclusteval.measures import entropy
from torchclusteval.measures.ratios import ratio
from torchclusteval.tables import ContingencyTables


@cached_on_tables
def _larger_remainder(tables: ContingencyTables) -> Tensor:
    return larger(entropy._classes_given_clusters(tables), entropy._clusters_given_classes(tables))


def information_distance(tables: ContingencyTables, base: float = math.e) -> Tensor:
    """Entropy that the better known side leaves open, ``ID = max(H(C), H(K)) - I = max(H(C|K), H(K|C))``; a metric.

    Args:
        base: of the logarithm; the natural one gives nats.

    Range: 0 to log N, lower is better; 0 exactly for identical partitions.
    Degenerate: H(K) for one class, H(C) for one cluster; nan without items.
    Source: Vinh, Epps and Bailey (2010), section 3.

    >>> tce.measures.information_distance(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3749, dtype=torch.float64)
    """
    return entropy._in_base(_larger_remainder(tables), base)


def normalized_information_distance(tables: ContingencyTables) -> Tensor:
    """Information distance over the larger entropy, ``NID = 1 - I / max(H(C), H(K))``; a metric.

    One minus the ``"max"`` form of the NMI.

    Range: 0 to 1, lower is better; 0 exactly for identical partitions.
    Degenerate: 0 for one class in one cluster, 1 where only one side is one group; nan without items.
    Source: Vinh, Epps and Bailey (2010), section 3.

    >>> tce.measures.normalized_information_distance(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.5409, dtype=torch.float64)
    """
    most = entropy._average(tables, "max", entropy.AVERAGES)
    return ratio(_larger_remainder(tables), most, tables, identical=0.0, maximum=1.0)


def nvi_split(tables: ContingencyTables) -> Tensor:
    """Share of the joint entropy in the classes that clusters split, ``H(K|C) / H(C, K)``.

    With ``nvi_merge`` it adds up to the variation of information over the joint entropy.

    Range: 0 to 1, lower is better; 0 exactly when every class lies in one cluster.
    Degenerate: 0 for one cluster, 1 for one class in several clusters; nan without items.
    Source: Vinh, Epps and Bailey (2010), the variation of information over the joint entropy, in two parts as in
        Nunez-Iglesias et al. (2013).

    >>> tce.measures.nvi_split(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3147, dtype=torch.float64)
    """
    return _share_of_joint(tables, entropy._clusters_given_classes(tables))


def nvi_merge(tables: ContingencyTables) -> Tensor:
    """Share of the joint entropy in the classes that clusters merge, ``H(C|K) / H(C, K)``.

    Range: 0 to 1, lower is better; 0 exactly when every cluster holds one class.
    Degenerate: 0 for one class, 1 for one cluster of several classes; nan without items.
    Source: Vinh, Epps and Bailey (2010), the variation of information over the joint entropy, in two parts as in
        Nunez-Iglesias et al. (2013).

    >>> tce.measures.nvi_merge(tce.ContingencyTables([[2, 1], [0, 3]]))
    tensor(0.3707, dtype=torch.float64)
    """
    return _share_of_joint(tables, entropy._classes_given_clusters(tables))


def _share_of_joint(tables: ContingencyTables, part: Tensor) -> Tensor:
    return ratio(part, entropy._joint_entropy(tables), tables, identical=0.0, maximum=1.0)
