"""Functions of other libraries on 200 random tables, each against the measure that has its values here."""

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import torchclusteval as tce
from tests.support.peers import Pair, Row, compare, identical, known, one_block, table_of

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries
LN2 = math.log(2)
nan = math.nan


def in_bits(own: float, pair: Pair) -> float:
    return own / LN2


def total_bits(own: float, pair: Pair) -> float:
    return own / LN2 * len(pair[0])


def if_one_block(value: float) -> Any:
    return lambda pair: value if one_block(pair) else None


def nan_if_undefined(function: Any) -> Any:
    def call(*labels: np.ndarray) -> float:
        try:
            return float(function(*labels))
        except ZeroDivisionError:
            return nan

    return call


def purity_of_fewer(pair: Pair) -> float:
    table = table_of(pair)
    return float(table.max(0 if table.shape[1] <= len(table) else 1).sum() / table.sum())


def clusim_rows() -> dict[str, Row]:
    pytest.importorskip("clusim", reason="the peers extra is not installed")
    from clusim import sim
    from clusim.clustering import Clustering

    def of(function: Any, **options: Any) -> Any:
        def call(*labels: np.ndarray) -> float:
            clusterings = [Clustering(elm2clu_dict={i: [int(x)] for i, x in enumerate(side)}) for side in labels]
            return float(function(*clusterings, **options))

        return nan_if_undefined(call)

    return {
        "jaccard_index": Row(of(sim.jaccard_index), "jaccard"),
        "rand_index": Row(of(sim.rand_index), "rand"),
        "adjrand_index": Row(of(sim.adjrand_index), "adjusted_rand", "0 where both sides are one", if_one_block(0.0)),
        "fowlkes_mallows_index": Row(of(sim.fowlkes_mallows_index), "fowlkes_mallows"),
        "fmeasure": Row(of(sim.fmeasure), "pair_f"),
        "czekanowski_index": Row(of(sim.czekanowski_index), "pair_f"),
        "dice_index": Row(of(sim.dice_index), "pair_f"),
        "sorensen_index": Row(of(sim.sorensen_index), "pair_f"),
        "purity_index": Row(of(sim.purity_index), "purity", "of the side with fewer groups", purity_of_fewer),
        "classification_error": Row(
            of(sim.classification_error),
            "classification_error",
            "1 less its purity, not the best matching",
            lambda pair: 1 - purity_of_fewer(pair),
        ),
        "rogers_tanimoto_index": Row(of(sim.rogers_tanimoto_index), "rogers_tanimoto"),
        "southwood_index": Row(
            of(sim.southwood_index),
            "southwood",
            "1 where no pair differs, by the formula infinite",
            lambda pair: 1.0 if identical(pair) else None,
        ),
        "pearson_correlation": Row(of(sim.pearson_correlation), "pearson_unrooted"),
        "nmi": Row(of(sim.nmi), "nmi_arithmetic", "nan where both sides are one group", if_one_block(nan)),
        "mi": Row(of(sim.mi), "mutual_information", expected=in_bits),
        "adj_mi": Row(of(sim.adj_mi), "ami_arithmetic", "an error where both sides are one group", if_one_block(nan)),
        "vi": Row(of(sim.vi), "variation_of_information", expected=in_bits),
        "element_sim": Row(of(sim.element_sim), "element_centric_similarity"),
    }


def no_pair_on_a_side(pair: Pair) -> bool:
    return any(table_of(pair).sum(axis).max() == 1 for axis in (0, 1))


def genieclust_rows() -> dict[str, Row]:
    pytest.importorskip("genieclust", reason="the peers extra is not installed")
    from genieclust import compare_partitions as peer

    def of(function: Any, **options: Any) -> Any:
        def call(*labels: np.ndarray) -> float:
            # numbers without a gap: it takes those between the least and the largest for groups without items
            return float(function(*(np.unique(side, return_inverse=True)[1] for side in labels), **options))

        return call

    def square(function: Any) -> Any:
        """Tables of other shapes are refused."""
        call = of(function)
        return lambda *labels: call(*labels) if len(set(table_of(labels).shape)) == 1 else nan

    def not_square(pair: Pair) -> float | None:
        return nan if one_block(pair) or len(set(table_of(pair).shape)) == 2 else None

    one = "nan where both sides are one group"
    return {
        "rand_score": Row(of(peer.rand_score), "rand"),
        "adjusted_rand_score": Row(of(peer.adjusted_rand_score), "adjusted_rand", one, if_one_block(nan)),
        "mi_score": Row(of(peer.mi_score), "mutual_information"),
        "normalized_mi_score": Row(of(peer.normalized_mi_score), "nmi_arithmetic", one, if_one_block(nan)),
        "adjusted_mi_score": Row(of(peer.adjusted_mi_score), "ami_arithmetic", one, if_one_block(nan)),
        "fm_score": Row(
            of(peer.fm_score),
            "fowlkes_mallows",
            "nan where a side has no pair in a group",
            lambda pair: nan if no_pair_on_a_side(pair) else None,
        ),
        "adjusted_fm_score": Row(
            of(peer.adjusted_fm_score),
            "adjusted_fowlkes_mallows",
            "nan there, and where both sides are one group",
            lambda pair: nan if no_pair_on_a_side(pair) or one_block(pair) else None,
        ),
        "pair_sets_index": Row(of(peer.pair_sets_index), "psi", one, if_one_block(nan)),
        "pair_sets_index, simplified": Row(of(peer.pair_sets_index, simplified=True), "spsi", one, if_one_block(nan)),
        "normalized_clustering_accuracy": Row(
            square(peer.normalized_clustering_accuracy), "nca", "refuses tables that are not square", not_square
        ),
        "normalized_pivoted_accuracy": Row(
            square(peer.normalized_pivoted_accuracy), "npa", "refuses tables that are not square", not_square
        ),
    }


def entropy(counts: Any, n: int) -> float:
    return -math.fsum(x / n * math.log(x / n) for x in counts if x)


def homogeneity_of_permetrics(true: np.ndarray, pred: np.ndarray) -> float:
    """0 for one cluster; of ``k`` classes, only the first ``k`` clusters are in the conditional entropy."""
    true, pred = (np.unique(side, return_inverse=True)[1] for side in (true, pred))
    if len(set(pred)) == 1:
        return 0.0
    of_classes, n = entropy(Counter(true).values(), len(true)), len(true)
    left = 0.0
    for label in set(true):
        inside = true[pred == label]
        left += len(inside) / n * entropy(Counter(inside).values(), max(len(inside), 1))
    return 1 - left / of_classes if of_classes else 1.0


def v_measure_of_permetrics(true: np.ndarray, pred: np.ndarray) -> float:
    parts = homogeneity_of_permetrics(true, pred), homogeneity_of_permetrics(pred, true)
    return 2 * parts[0] * parts[1] / sum(parts) if sum(parts) else 0.0


def permetrics_rows() -> dict[str, Row]:
    peer = pytest.importorskip("permetrics", reason="the peers extra is not installed")

    def of(name: str) -> Any:
        return lambda true, pred: getattr(peer.ClusteringMetric(y_true=true, y_pred=pred), name)()

    def pairs(pair: Pair) -> float:
        return float(math.comb(len(pair[0]), 2))

    one, numbers = "0 where both sides are one group", "leaves out clusters when there are more of them than classes"
    return {
        "mutual_info_score": Row(of("mutual_info_score"), "mutual_information"),
        "normalized_mutual_info_score": Row(of("normalized_mutual_info_score"), "nmi_arithmetic", one, if_one_block(0)),
        "rand_score": Row(of("rand_score"), "rand"),
        "adjusted_rand_score": Row(of("adjusted_rand_score"), "adjusted_rand"),
        "fowlkes_mallows_score": Row(of("fowlkes_mallows_score"), "fowlkes_mallows"),
        "homogeneity_score": Row(
            of("homogeneity_score"), "homogeneity", numbers, lambda pair: homogeneity_of_permetrics(*pair)
        ),
        "completeness_score": Row(
            of("completeness_score"), "completeness", numbers, lambda pair: homogeneity_of_permetrics(*pair[::-1])
        ),
        "v_measure_score": Row(of("v_measure_score"), "v_measure", numbers, lambda x: v_measure_of_permetrics(*x)),
        "precision_score": Row(of("precision_score"), "pair_precision"),
        "recall_score": Row(of("recall_score"), "pair_recall"),
        "f_measure_score": Row(of("f_measure_score"), "pair_f"),
        "czekanowski_dice_score": Row(of("czekanowski_dice_score"), "pair_f"),
        "hubert_gamma_score": Row(of("hubert_gamma_score"), "hubert_gamma_normalized", one, if_one_block(0.0)),
        "phi_score": Row(of("phi_score"), "hubert_gamma_normalized", one, if_one_block(0.0)),
        "jaccard_score": Row(of("jaccard_score"), "jaccard"),
        "kulczynski_score": Row(of("kulczynski_score"), "kulczynski"),
        "mc_nemar_score": Row(
            of("mc_nemar_score"), "mcnemar", expected=lambda own, pair: own / math.sqrt(pairs(pair))
        ),  # divides by the root of the number of pairs besides
        "rogers_tanimoto_score": Row(of("rogers_tanimoto_score"), "rogers_tanimoto"),
        "russel_rao_score": Row(of("russel_rao_score"), "hubert_gamma"),
        "sokal_sneath1_score": Row(of("sokal_sneath1_score"), "sokal_sneath_1"),
        "sokal_sneath2_score": Row(of("sokal_sneath2_score"), "sokal_sneath_2"),
        "purity_score": Row(of("purity_score"), "purity"),
        "gamma_score": Row(of("gamma_score"), "rand", expected=lambda own, pair: 2 * own - 1),
        "gplus_score": Row(of("gplus_score"), "rand", expected=lambda own, pair: 1 - own),
        "entropy_score": Row(
            of("entropy_score"),
            "conditional_entropy",
            "sums the entropies of the clusters without their sizes",
            lambda pair: sum(entropy(column, column.sum()) for column in table_of(pair).T) / LN2,
            in_bits,
        ),
    }


def adjusted_information(table: np.ndarray) -> float:
    """Mutual information less its mean over permutations, in bits and for all items, by this package."""
    tables = tce.ContingencyTables(table)
    own = tce.measures.mutual_information(tables) - tce.measures.expected_mutual_information(tables)
    return float(own) / LN2 * int(table.sum())


def adjusted_information_normalized(pair: Pair) -> float:
    """By the mean of the two values of a side against itself, not by the mean entropy less the expected value."""
    table = table_of(pair)
    selves = [adjusted_information(np.diag(table.sum(axis))) for axis in (0, 1)]
    return 2 * adjusted_information(table) / sum(selves) if sum(selves) > 0 else 0.0


def clustering_mi_rows() -> dict[str, Row]:
    peer = pytest.importorskip("clustering_mi", reason="the peers extra is not installed")

    def of(variation: str) -> Any:
        return lambda *labels: peer.mutual_information(*labels, variation=variation)

    def normalized(variation: str, by: str) -> Any:
        return lambda *labels: peer.normalized_mutual_information(*labels, variation=variation, normalization=by)

    one = "0 where both sides are one group"
    return {
        "stirling": Row(of("stirling"), "mutual_information", expected=total_bits),
        "stirling, mean": Row(normalized("stirling", "mean"), "nmi_arithmetic", one, if_one_block(0.0)),
        "stirling, max": Row(normalized("stirling", "max"), "nmi_max", one, if_one_block(0.0)),
        "adjusted": Row(
            of("adjusted"),
            "ami_arithmetic",
            "not normalised: bits over all items",
            lambda pair: adjusted_information(table_of(pair)),
        ),
        "adjusted, mean": Row(
            normalized("adjusted", "mean"),
            "ami_arithmetic",
            "another denominator",
            adjusted_information_normalized,
            tolerance=1e-7,
        ),
    }


def bcubed_by_class(pair: Pair) -> tuple[float, float]:
    """Precision and recall as the mean over classes of the mean over their items."""
    table = table_of(pair).astype(float)
    sizes = table.sum(1, keepdims=True)
    return float((table**2 / table.sum(0) / sizes).sum(1).mean()), float((table**2 / sizes**2).sum(1).mean())


def er_evaluation_rows() -> dict[str, Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = pytest.importorskip("er_evaluation", reason="the peers extra is not installed")
    import pandas as pd

    def of(name: str) -> Any:
        return lambda true, pred: getattr(peer, name)(pd.Series(pred), pd.Series(true))

    def f_by_class(pair: Pair) -> float:
        p, r = bcubed_by_class(pair)
        return 2 * p * r / (p + r)

    def no_pair(axis: int) -> Any:
        return lambda pair: 1.0 if table_of(pair).sum(axis).max() == 1 else None

    by_class = "each class weighs the same, not each item"
    return {
        "rand_score": Row(of("rand_score"), "rand"),
        "adjusted_rand_score": Row(of("adjusted_rand_score"), "adjusted_rand"),
        "pairwise_precision": Row(of("pairwise_precision"), "pair_precision", "1 where no cluster has one", no_pair(0)),
        "pairwise_recall": Row(of("pairwise_recall"), "pair_recall", "1 where no class has a pair", no_pair(1)),
        "pairwise_f": Row(of("pairwise_f"), "pair_f"),
        "cluster_precision": Row(of("cluster_precision"), "exact_cluster_precision"),
        "cluster_recall": Row(of("cluster_recall"), "exact_cluster_recall"),
        "cluster_f": Row(of("cluster_f"), "exact_cluster_f"),
        "cluster_homogeneity": Row(of("cluster_homogeneity"), "homogeneity"),
        "cluster_completeness": Row(of("cluster_completeness"), "completeness"),
        "cluster_v_measure": Row(of("cluster_v_measure"), "v_measure"),
        "b_cubed_precision": Row(
            of("b_cubed_precision"), "bcubed_precision", by_class, lambda pair: bcubed_by_class(pair)[0]
        ),
        "b_cubed_recall": Row(of("b_cubed_recall"), "bcubed_recall", by_class, lambda pair: bcubed_by_class(pair)[1]),
        "b_cubed_f": Row(of("b_cubed_f"), "bcubed_f", by_class, f_by_class),
    }


PEERS = {
    "clusim": clusim_rows,
    "genieclust": genieclust_rows,
    "permetrics": permetrics_rows,
    "clustering_mi": clustering_mi_rows,
    "er_evaluation": er_evaluation_rows,
}


@pytest.mark.parametrize("peer", PEERS)
def test_functions_of_peers(peer: str) -> None:
    rows = PEERS[peer]()
    assert len(known(rows)) >= 5
    for key in known(rows):
        try:
            compare(rows[key])
        except AssertionError as error:
            raise AssertionError(f"{peer}: {key}: {error}") from None
