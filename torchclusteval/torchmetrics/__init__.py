"""Metric objects for torchmetrics and Lightning whose state is the contingency table; needs torchmetrics.

:class:`ClusteringMetric` computes any measures at once. The other classes bear torchmetrics' names and take its
arguments, so that ``from torchclusteval.torchmetrics import AdjustedRandScore`` stands in for
``from torchmetrics.clustering import AdjustedRandScore``. As there, ``update`` takes predictions first.

Where they differ from torchmetrics (1.9):

* The state is the table: it does not grow with the number of labels, and ranks add up.
* Values are float64 and right at any size; torchmetrics' adjusted Rand index leaves [-1, 1] from about 70,000 items.
* Every 0/0 has the one value that the rest of this package gives it: 1 for identical partitions, nan without items.
* ``num_classes`` and ``num_clusters`` may be given: labels are then codes, and ``update`` never synchronises with the
  device.
* ``higher_is_better`` is set for every measure that has a direction, and nothing claims to be differentiable.
"""

from torchclusteval.torchmetrics.clustering_metric import ClusteringMetric
from torchclusteval.torchmetrics.named_scores import (
    AdjustedMutualInfoScore,
    AdjustedRandScore,
    ClusterAccuracy,
    CompletenessScore,
    FowlkesMallowsIndex,
    HomogeneityScore,
    MutualInfoScore,
    NormalizedMutualInfoScore,
    RandScore,
    VMeasureScore,
)

__all__ = ["AdjustedMutualInfoScore", "AdjustedRandScore", "ClusterAccuracy", "ClusteringMetric"]
__all__ += ["CompletenessScore", "FowlkesMallowsIndex", "HomogeneityScore", "MutualInfoScore"]
__all__ += ["NormalizedMutualInfoScore", "RandScore", "VMeasureScore"]
