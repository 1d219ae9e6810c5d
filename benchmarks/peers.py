"""The other libraries: which of this package's measures each computes, from labels in a form of its own.

A measure is listed only where both definitions are the same. Left out for that reason: clusim's ``purity_index`` and
``classification_error`` (they take maxima over the side with more groups, ours over the clusters), its
``pearson_correlation`` (no square root), and genieclust's adjusted Fowlkes-Mallows, pair sets and normalised accuracy
indices (no counterpart). clusim's information is in bits and converted.
"""

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

Values = dict[str, float]  # registry name -> value

MOST_SECONDS = 60.0  # for one clustering: what takes longer is left out
MOST_BYTES = 2e9
SKLEARN, GENIECLUST, TORCHMETRICS, CLUSIM, BCUBED = "scikit-learn", "genieclust", "torchmetrics", "clusim", "bcubed"
MODULES = {SKLEARN: "sklearn"}  # where it has another name than the package


SECONDS = (("years", 3.2e7), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0))
BYTES = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("bytes", 1.0))


def rough(amount: float, units: tuple[tuple[str, float], ...]) -> str:
    """Two digits in the largest unit that fits."""
    unit, scale = next(pair for pair in units if amount >= pair[1])
    return f"{float(f'{amount / scale:.2g}'):g} {unit}"


class Peer(NamedTuple):
    package: str
    calls: str
    form: Callable[[Tensor], Any]  # labels (N,) -> what the library takes; not in the time
    score: Callable[[Any, Any], Values]
    seconds: Callable[[int], float]  # about what N items take: how many clusterings to time, and whether any
    bytes: Callable[[int], float] = lambda items: 0.0  # likewise, where memory is what stops it
    tolerance: float = 1e-9
    known_wrong: tuple[str, ...] = ()  # measures that differ for a fault of its own: marked, the run goes on

    @property
    def name(self) -> str:
        return f"{self.package}: {self.calls}"

    @property
    def present(self) -> bool:
        return find_spec(MODULES.get(self.package, self.package)) is not None

    def load(self) -> None:
        """Score something small, so that imports are not timed."""
        small = self.form(torch.arange(20) % 2)
        self.score(small, small)

    def obstacle(self, items: int) -> str | None:
        """Why clusterings of so many items are left out."""
        if self.bytes(items) > MOST_BYTES:
            return f"too large: about {rough(self.bytes(items), BYTES)} for one clustering"
        if self.seconds(items) > MOST_SECONDS:
            return f"too slow: about {rough(self.seconds(items), SECONDS)} for one clustering"
        return None


def as_tensor(labels: Tensor) -> Tensor:
    return labels


def as_array(labels: Tensor) -> Any:
    return labels.numpy()


def as_clustering(labels: Tensor) -> Any:
    from clusim.clustering import Clustering

    return Clustering().from_membership_list(labels.tolist())


def as_sets(labels: Tensor) -> dict[int, set[int]]:
    return {item: {label} for item, label in enumerate(labels.tolist())}


def sklearn_scores(true: Any, pred: Any) -> Values:
    from sklearn import metrics as m

    h, c, v = m.homogeneity_completeness_v_measure(true, pred)
    return {
        "homogeneity": h,
        "completeness": c,
        "v_measure": v,
        "mutual_information": m.mutual_info_score(true, pred),
        "nmi_arithmetic": m.normalized_mutual_info_score(true, pred),
        "ami_arithmetic": m.adjusted_mutual_info_score(true, pred),
        "rand": m.rand_score(true, pred),
        "adjusted_rand": m.adjusted_rand_score(true, pred),
        "fowlkes_mallows": m.fowlkes_mallows_score(true, pred),
    }


def sklearn_adjusted_rand(true: Any, pred: Any) -> Values:
    from sklearn.metrics import adjusted_rand_score

    return {"adjusted_rand": adjusted_rand_score(true, pred)}


def genieclust_scores(true: Any, pred: Any) -> Values:
    from genieclust.compare_partitions import compare_partitions

    all_eleven = compare_partitions(true, pred)
    names = {
        "ar": "adjusted_rand",
        "r": "rand",
        "fm": "fowlkes_mallows",
        "mi": "mutual_information",
        "nmi": "nmi_arithmetic",
        "ami": "ami_arithmetic",
    }
    return {name: all_eleven[key] for key, name in names.items()}


def genieclust_adjusted_rand(true: Any, pred: Any) -> Values:
    from genieclust.compare_partitions import adjusted_rand_score

    return {"adjusted_rand": adjusted_rand_score(true, pred)}


def torchmetrics_scores(true: Any, pred: Any) -> Values:
    from torchmetrics.functional import clustering as m

    functions = {
        "homogeneity": m.homogeneity_score,
        "completeness": m.completeness_score,
        "v_measure": m.v_measure_score,
        "mutual_information": m.mutual_info_score,
        "nmi_arithmetic": m.normalized_mutual_info_score,
        "rand": m.rand_score,
        "adjusted_rand": m.adjusted_rand_score,
        "fowlkes_mallows": m.fowlkes_mallows_index,
    }
    return {name: float(function(pred, true)) for name, function in functions.items()}


def torchmetrics_adjusted_rand(true: Any, pred: Any) -> Values:
    from torchmetrics.functional.clustering import adjusted_rand_score

    return {"adjusted_rand": float(adjusted_rand_score(pred, true))}


def clusim_scores(true: Any, pred: Any) -> Values:
    from clusim import sim

    bit = math.log(2)
    return {
        "rand": sim.rand_index(true, pred),
        "adjusted_rand": sim.adjrand_index(true, pred),
        "jaccard": sim.jaccard_index(true, pred),
        "fowlkes_mallows": sim.fowlkes_mallows_index(true, pred),
        "pair_f": sim.fmeasure(true, pred),
        "mutual_information": sim.mi(true, pred) * bit,
        "nmi_arithmetic": sim.nmi(true, pred, "sum"),
        "nmi_geometric": sim.nmi(true, pred, "sqrt"),
        "nmi_min": sim.nmi(true, pred, "min"),
        "nmi_max": sim.nmi(true, pred, "max"),
        "variation_of_information": sim.vi(true, pred) * bit,
    }


def clusim_ami(true: Any, pred: Any) -> Values:
    from clusim.sim import adj_mi

    return {"ami_arithmetic": adj_mi(true, pred)}


def clusim_element_centric(true: Any, pred: Any) -> Values:
    from clusim.sim import element_sim

    return {"element_centric_similarity": element_sim(true, pred)}


def bcubed_scores(true: Any, pred: Any) -> Values:
    from bcubed import precision, recall

    return {"bcubed_precision": precision(pred, true), "bcubed_recall": recall(pred, true)}


def two_clusterings(items: int) -> float:
    """Bytes of two of clusim's Clustering objects: sets and dictionaries of every item."""
    return 900.0 * items


def affinities(items: int) -> float:
    """Bytes of element_sim: two matrices of every pair of items, their difference and its absolute value."""
    return 32.0 * items**2


# fmt: off
PEERS = (
    Peer(SKLEARN, "7 calls, 9 measures with AMI", as_array, sklearn_scores, lambda n: 6e-3 + 1.2e-6 * n),
    Peer(GENIECLUST, "compare_partitions, 11 measures with AMI", as_array, genieclust_scores, lambda n: 5e-7 * n),
    Peer(TORCHMETRICS, "8 functions, without AMI", as_tensor, torchmetrics_scores, lambda n: 1e-3 + 1.2e-6 * n,
         tolerance=1e-4, known_wrong=("adjusted_rand",)),  # float32, and int64 products that wrap
    Peer(CLUSIM, "11 functions, without AMI", as_clustering, clusim_scores, lambda n: 1e-3 + 4e-6 * n,
         bytes=two_clusterings),
    Peer(CLUSIM, "adj_mi", as_clustering, clusim_ami, lambda n: 5.6e-5 * n**1.4, bytes=two_clusterings),
    Peer(CLUSIM, "element_sim", as_clustering, clusim_element_centric, lambda n: 6e-4 + 1.5e-8 * n**2,
         bytes=affinities),
    Peer(BCUBED, "precision, recall", as_sets, bcubed_scores, lambda n: 4e-7 * n**2),
)
ALONE = (
    Peer(GENIECLUST, "adjusted_rand_score", as_array, genieclust_adjusted_rand, lambda n: 2e-6 + 4e-9 * n),
    Peer(SKLEARN, "adjusted_rand_score", as_array, sklearn_adjusted_rand, lambda n: 5e-4 + 2e-7 * n),
    Peer(TORCHMETRICS, "adjusted_rand_score", as_tensor, torchmetrics_adjusted_rand, lambda n: 2e-4 + 3e-7 * n,
         tolerance=1e-4, known_wrong=("adjusted_rand",)),
)
# fmt: on
