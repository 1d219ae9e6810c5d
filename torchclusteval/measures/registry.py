"""The table of measures. CONTRIBUTING.md lists what a new one needs."""

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

from torchclusteval.common.checks import is_listable, is_number
from torchclusteval.common.formatting import brief
from torchclusteval.measures import (
    association,
    bcubed,
    coreference,
    entities,
    entropy,
    information_distances,
    matching,
    object_parts,
    one_sided_parts,
    pair_correlations,
    pair_indices,
    pairs,
    parts,
    random_models,
    reduced_information,
    segmentation,
    set_matching,
    tracking,
)
from torchclusteval.measures.aliases import ALIASES, canonical
from torchclusteval.measures.library_names import elsewhere
from torchclusteval.measures.pair_sums import from_sums
from torchclusteval.measures.record import ONE_SIDED, Measure

UNIT, SIGNED, FROM_ZERO, TO_ONE = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)
ANY = (-math.inf, math.inf)
EMI = (entropy.expected_mutual_information,)

# fmt: off
_ROWS = (
    Measure("entropy_classes", "entropy", entropy.entropy_classes, range=FROM_ZERO, better=None, swapped="entropy_clusters", source="shannon1948", linear_in="sizes"),
    Measure("entropy_clusters", "entropy", entropy.entropy_clusters, range=FROM_ZERO, better=None, swapped="entropy_classes", source="shannon1948", linear_in="sizes"),
    Measure("joint_entropy", "entropy", entropy.joint_entropy, range=FROM_ZERO, better=None, swapped="joint_entropy", source="shannon1948", linear_in="information"),
    Measure("conditional_entropy", "entropy", entropy.conditional_entropy, range=FROM_ZERO, better="lower", perfect=0.0, swapped="class_entropy", source="rosenberg2007", linear_in="information", combines="mean"),
    Measure("class_entropy", "entropy", entropy.class_entropy, range=FROM_ZERO, better="lower", perfect=0.0, swapped="conditional_entropy", source="amigo2009", linear_in="information", combines="mean"),
    Measure("cluster_entropy", "entropy", entropy.cluster_entropy, range=UNIT, better="lower", perfect=0.0, source="zhao2001", linear_in="information"),
    Measure("mutual_information", "entropy", entropy.mutual_information, range=FROM_ZERO, swapped="mutual_information", source="shannon1948", linear_in="information"),
    Measure("homogeneity", "entropy", entropy.homogeneity, range=UNIT, perfect=1.0, swapped="completeness", source="rosenberg2007", linear_in="information"),
    Measure("completeness", "entropy", entropy.completeness, range=UNIT, perfect=1.0, swapped="homogeneity", source="rosenberg2007", linear_in="information"),
    Measure("v_measure", "entropy", entropy.v_measure, range=UNIT, perfect=1.0, swapped="v_measure", source="rosenberg2007", linear_in="information"),
    Measure("v_measure_beta_0.5", "entropy", partial(entropy.v_measure, beta=0.5), range=UNIT, perfect=1.0, swapped="v_measure_beta_2", source="rosenberg2007", linear_in="information"),
    Measure("v_measure_beta_2", "entropy", partial(entropy.v_measure, beta=2.0), range=UNIT, perfect=1.0, swapped="v_measure_beta_0.5", source="rosenberg2007", linear_in="information"),
    Measure("nmi_min", "entropy", partial(entropy.nmi, average="min"), range=UNIT, perfect=1.0, swapped="nmi_min", source="kishida", linear_in="information"),
    Measure("nmi_geometric", "entropy", partial(entropy.nmi, average="geometric"), range=UNIT, perfect=1.0, swapped="nmi_geometric", source="strehl2002", linear_in="information"),
    Measure("nmi_arithmetic", "entropy", partial(entropy.nmi, average="arithmetic"), range=UNIT, perfect=1.0, swapped="nmi_arithmetic", source="kishida", linear_in="information"),
    Measure("nmi_max", "entropy", partial(entropy.nmi, average="max"), range=UNIT, perfect=1.0, swapped="nmi_max", source="kishida", linear_in="information"),
    Measure("nmi_joint", "entropy", partial(entropy.nmi, average="joint"), range=UNIT, perfect=1.0, swapped="nmi_joint", source="kishida"),
    Measure("expected_mutual_information", "entropy", entropy.expected_mutual_information, range=FROM_ZERO, better=None, swapped="expected_mutual_information", source="vinh2010", integer_only=True, on_host=True, linear_in="sizes", batch_terms=EMI),
    Measure("ami_min", "entropy", partial(entropy.ami, average="min"), range=TO_ONE, perfect=1.0, swapped="ami_min", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("ami_geometric", "entropy", partial(entropy.ami, average="geometric"), range=TO_ONE, perfect=1.0, swapped="ami_geometric", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("ami_arithmetic", "entropy", partial(entropy.ami, average="arithmetic"), range=TO_ONE, perfect=1.0, swapped="ami_arithmetic", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("ami_max", "entropy", partial(entropy.ami, average="max"), range=TO_ONE, perfect=1.0, swapped="ami_max", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("variation_of_information", "entropy", entropy.variation_of_information, range=FROM_ZERO, better="lower", perfect=0.0, swapped="variation_of_information", source="meila2007", linear_in="information", metric=True, combines="mean"),
    Measure("normalized_vi_log_n", "entropy", partial(entropy.normalized_vi, norm="log_n"), range=UNIT, better="lower", perfect=0.0, swapped="normalized_vi_log_n", source="meila2007", linear_in="information", metric=True),
    Measure("normalized_vi_two_log_n", "entropy", partial(entropy.normalized_vi, norm="two_log_n"), range=(0.0, 0.5), better="lower", perfect=0.0, swapped="normalized_vi_two_log_n", source="reichart2009", linear_in="information", metric=True),
    Measure("normalized_vi_log_k", "entropy", partial(entropy.normalized_vi, norm="log_k"), range=(0.0, 2.0), better="lower", perfect=0.0, swapped="normalized_vi_log_k", source="rosenberg2007", linear_in="information"),
    Measure("normalized_vi_two_log_k", "entropy", partial(entropy.normalized_vi, norm="two_log_k"), range=UNIT, better="lower", perfect=0.0, swapped="normalized_vi_two_log_k", source="rosenberg2007", linear_in="information"),
    Measure("normalized_vi_joint", "entropy", partial(entropy.normalized_vi, norm="joint"), range=UNIT, better="lower", perfect=0.0, swapped="normalized_vi_joint", source="vinh2010", metric=True),
    Measure("nvi", "entropy", entropy.nvi, range=FROM_ZERO, better="lower", perfect=0.0, swapped="nvi_k", source="reichart2009", linear_in="information"),
    Measure("nvi_k", "entropy", entropy.nvi_k, range=FROM_ZERO, better="lower", perfect=0.0, swapped="nvi", source="reichart2009", linear_in="information"),
    Measure("q0", "entropy", entropy.q0, range=FROM_ZERO, better="lower", source="dom2001", linear_in="information"),
    Measure("q0_bits", "entropy", partial(entropy.q0, base=2.0), range=FROM_ZERO, better="lower", source="dom2001", linear_in="information"),
    Measure("q2", "entropy", entropy.q2, range=UNIT, perfect=1.0, source="dom2001"),
    Measure("information_distance", "entropy", information_distances.information_distance, range=FROM_ZERO, better="lower", perfect=0.0, swapped="information_distance", source="vinh2010", linear_in="information", metric=True),
    Measure("normalized_information_distance", "entropy", information_distances.normalized_information_distance, range=UNIT, better="lower", perfect=0.0, swapped="normalized_information_distance", source="vinh2010", linear_in="information", metric=True),
    Measure("nvi_split", "entropy", information_distances.nvi_split, range=UNIT, better="lower", perfect=0.0, swapped="nvi_merge", source="nunez2013"),
    Measure("nvi_merge", "entropy", information_distances.nvi_merge, range=UNIT, better="lower", perfect=0.0, swapped="nvi_split", source="nunez2013"),
    Measure("ami_classes", "entropy", partial(entropy.ami, average="classes"), range=TO_ONE, perfect=1.0, swapped="ami_clusters", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("ami_clusters", "entropy", partial(entropy.ami, average="clusters"), range=TO_ONE, perfect=1.0, swapped="ami_classes", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("ami_num", "entropy", partial(random_models.ami_of_model, model="num"), range=TO_ONE, swapped="ami_num", source="gates2017", integer_only=True, on_host=True, linear_in="information"),
    Measure("ami_num1", "entropy", partial(random_models.ami_of_model, model="num", one_sided=True), range=TO_ONE, source="gates2017", integer_only=True, on_host=True, linear_in="information"),
    Measure("ami_all", "entropy", partial(random_models.ami_of_model, model="all"), range=TO_ONE, swapped="ami_all", source="gates2017", integer_only=True, on_host=True, linear_in="information"),
    Measure("ami_all1", "entropy", partial(random_models.ami_of_model, model="all", one_sided=True), range=TO_ONE, source="gates2017", integer_only=True, on_host=True, linear_in="information"),
    Measure("adjusted_information", "entropy", reduced_information.adjusted_information, range=ANY, swapped="adjusted_information", source="vinh2010", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("adjusted_information_asymmetric", "entropy", partial(reduced_information.adjusted_information, norm="asymmetric"), range=TO_ONE, perfect=1.0, source="jerdee2025", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("adjusted_information_mean", "entropy", partial(reduced_information.adjusted_information, norm="mean"), range=TO_ONE, perfect=1.0, swapped="adjusted_information_mean", source="jerdee2025", chance_corrected=True, integer_only=True, on_host=True, linear_in="information", batch_terms=EMI),
    Measure("microcanonical_mutual_information", "entropy", reduced_information.microcanonical_mutual_information, range=FROM_ZERO, swapped="microcanonical_mutual_information", source="newman2020", integer_only=True),
    Measure("microcanonical_nmi_asymmetric", "entropy", partial(reduced_information.microcanonical_mutual_information, norm="asymmetric"), range=UNIT, perfect=1.0, source="newman2020", integer_only=True),
    Measure("microcanonical_nmi_mean", "entropy", partial(reduced_information.microcanonical_mutual_information, norm="mean"), range=UNIT, perfect=1.0, swapped="microcanonical_nmi_mean", source="newman2020", integer_only=True),
    Measure("reduced_mutual_information_flat", "entropy", reduced_information.reduced_mutual_information_flat, range=ANY, swapped="reduced_mutual_information_flat", source="newman2020", integer_only=True, on_host=True),
    Measure("reduced_flat_nmi_asymmetric", "entropy", partial(reduced_information.reduced_mutual_information_flat, norm="asymmetric"), range=TO_ONE, perfect=1.0, source="newman2020", integer_only=True, on_host=True),
    Measure("reduced_flat_nmi_mean", "entropy", partial(reduced_information.reduced_mutual_information_flat, norm="mean"), range=TO_ONE, perfect=1.0, swapped="reduced_flat_nmi_mean", source="newman2020", integer_only=True, on_host=True),
    Measure("reduced_mutual_information", "entropy", reduced_information.reduced_mutual_information, range=ANY, source="jerdee2024", integer_only=True, on_host=True),
    Measure("reduced_nmi_asymmetric", "entropy", partial(reduced_information.reduced_mutual_information, norm="asymmetric"), range=TO_ONE, perfect=1.0, source="jerdee2024", integer_only=True, on_host=True),
    Measure("reduced_nmi_mean", "entropy", partial(reduced_information.reduced_mutual_information, norm="mean"), range=TO_ONE, perfect=1.0, swapped="reduced_nmi_mean", source="jerdee2024", integer_only=True, on_host=True),

    Measure("rand", "pairs", pairs.rand, range=UNIT, perfect=1.0, swapped="rand", source="rand1971", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.rand_of)),
    Measure("adjusted_rand", "pairs", pairs.adjusted_rand, range=(-0.5, 1.0), perfect=1.0, swapped="adjusted_rand", source="hubert1985", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.adjusted_rand_of)),
    Measure("jaccard", "pairs", pairs.jaccard, range=UNIT, perfect=1.0, swapped="jaccard", source="jaccard1901", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.jaccard_of)),
    Measure("fowlkes_mallows", "pairs", pairs.fowlkes_mallows, range=UNIT, perfect=1.0, swapped="fowlkes_mallows", source="fowlkes1983", linear_in="pairs", parts=parts.pair_sums, combine=parts.fowlkes_mallows),
    Measure("mirkin", "pairs", pairs.mirkin, range=FROM_ZERO, better="lower", perfect=0.0, swapped="mirkin", source="mirkin1996", linear_in="pairs", metric=True, combines="sum", parts=parts.pair_sums, combine=parts.mirkin),
    Measure("mirkin_normalized", "pairs", partial(pairs.mirkin, normalized=True), range=UNIT, better="lower", perfect=0.0, swapped="mirkin_normalized", source="meila2007", linear_in="pairs", metric=True, parts=parts.mirkin_sums, combine=parts.quotient),
    Measure("hubert_gamma", "pairs", pairs.hubert_gamma, range=UNIT, swapped="hubert_gamma", source="jain1988", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.hubert_gamma_of)),
    Measure("hubert_gamma_normalized", "pairs", partial(pairs.hubert_gamma, normalized=True), range=SIGNED, perfect=1.0, swapped="hubert_gamma_normalized", source="hubert1985", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.hubert_gamma_normalized_of, maximum=1.0)),
    Measure("minkowski_score", "pairs", pairs.minkowski_score, range=FROM_ZERO, better="lower", perfect=0.0, source="wu2009", parts=parts.pair_sums, combine=parts.minkowski_score),
    Measure("pair_precision", "pairs", pairs.pair_precision, range=UNIT, perfect=1.0, swapped="pair_recall", source="wallace1983", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.pair_precision_of)),
    Measure("pair_recall", "pairs", pairs.pair_recall, range=UNIT, perfect=1.0, swapped="pair_precision", source="wallace1983", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pairs.pair_recall_of)),
    Measure("pair_f", "pairs", pairs.pair_f, range=UNIT, perfect=1.0, swapped="pair_f", source="rijsbergen1979", linear_in="pairs", parts=parts.pair_sums, combine=parts.pair_f),
    Measure("adjusted_rand_num", "pairs", partial(random_models.adjusted_rand_of_model, model="num"), range=TO_ONE, perfect=1.0, swapped="adjusted_rand_num", source="gates2017", integer_only=True, on_host=True, linear_in="pairs"),
    Measure("adjusted_rand_num1", "pairs", partial(random_models.adjusted_rand_of_model, model="num", one_sided=True), range=TO_ONE, perfect=1.0, source="gates2017", integer_only=True, on_host=True, linear_in="pairs"),
    Measure("adjusted_rand_all", "pairs", partial(random_models.adjusted_rand_of_model, model="all"), range=TO_ONE, perfect=1.0, swapped="adjusted_rand_all", source="gates2017", integer_only=True, on_host=True, linear_in="pairs"),
    Measure("adjusted_rand_all1", "pairs", partial(random_models.adjusted_rand_of_model, model="all", one_sided=True), range=TO_ONE, perfect=1.0, source="gates2017", integer_only=True, on_host=True, linear_in="pairs"),
    Measure("mari", "pairs", random_models.mari, range=TO_ONE, perfect=1.0, swapped="mari", source="sundqvist2023", integer_only=True),
    Measure("mari_raw", "pairs", random_models.mari_raw, range=SIGNED, swapped="mari_raw", source="sundqvist2023", chance_corrected=True, integer_only=True),
    Measure("kulczynski", "pairs", pair_indices.kulczynski, range=UNIT, perfect=1.0, swapped="kulczynski", source="albatineh2006", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.kulczynski_of)),
    Measure("mcconnaughey", "pairs", pair_indices.mcconnaughey, range=SIGNED, perfect=1.0, swapped="mcconnaughey", source="albatineh2006", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.mcconnaughey_of)),
    Measure("sokal_sneath_1", "pairs", pair_indices.sokal_sneath_1, range=UNIT, perfect=1.0, swapped="sokal_sneath_1", source="sokal1963", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.sokal_sneath_1_of)),
    Measure("sokal_sneath_2", "pairs", pair_indices.sokal_sneath_2, range=UNIT, perfect=1.0, swapped="sokal_sneath_2", source="sokal1963", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.sokal_sneath_2_of)),
    Measure("sokal_sneath_3", "pairs", pair_indices.sokal_sneath_3, range=UNIT, perfect=1.0, swapped="sokal_sneath_3", source="sokal1963", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.sokal_sneath_3_of, maximum=1.0)),
    Measure("sokal_sneath_4", "pairs", pair_indices.sokal_sneath_4, range=UNIT, perfect=1.0, swapped="sokal_sneath_4", source="sokal1963", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.sokal_sneath_4_of)),
    Measure("rogers_tanimoto", "pairs", pair_indices.rogers_tanimoto, range=UNIT, perfect=1.0, swapped="rogers_tanimoto", source="rogers1960", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.rogers_tanimoto_of)),
    Measure("hamann", "pairs", pair_indices.hamann, range=SIGNED, perfect=1.0, swapped="hamann", source="hamann1961", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.hamann_of)),
    Measure("southwood", "pairs", pair_indices.southwood, range=FROM_ZERO, perfect=math.inf, swapped="southwood", source="southwood1978", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.southwood_of)),
    Measure("overlap_coefficient", "pairs", pair_indices.overlap_coefficient, range=UNIT, perfect=1.0, swapped="overlap_coefficient", source="simpson1943", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.overlap_coefficient_of)),
    Measure("tversky", "pairs", pair_indices.tversky, range=UNIT, perfect=1.0, swapped="tversky", source="tversky1977", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.tversky_of)),
    Measure("fager_mcgowan", "pairs", pair_indices.fager_mcgowan, range=TO_ONE, source="fager1963", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.fager_mcgowan_of)),
    Measure("baulieu_1", "pairs", pair_indices.baulieu_1, range=UNIT, perfect=1.0, swapped="baulieu_1", source="baulieu1989", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.baulieu_1_of)),
    Measure("baulieu_2", "pairs", pair_indices.baulieu_2, range=(-0.25, 0.25), swapped="baulieu_2", source="baulieu1989", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.baulieu_2_of)),
    Measure("pair_specificity", "pairs", pair_indices.pair_specificity, range=UNIT, perfect=1.0, swapped="pair_negative_predictive_value", source="yerushalmy1947", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.pair_specificity_of)),
    Measure("pair_negative_predictive_value", "pairs", pair_indices.pair_negative_predictive_value, range=UNIT, perfect=1.0, swapped="pair_specificity", source="yerushalmy1947", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.pair_negative_predictive_value_of)),
    Measure("pair_negative_f", "pairs", pair_indices.pair_negative_f, range=UNIT, perfect=1.0, swapped="pair_negative_f", source="rijsbergen1979", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.pair_negative_f_of)),
    Measure("pair_balanced_accuracy", "pairs", pair_indices.pair_balanced_accuracy, range=UNIT, perfect=1.0, source="brodersen2010", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_indices.pair_balanced_accuracy_of)),
    Measure("peirce", "pairs", pair_correlations.peirce, range=SIGNED, perfect=1.0, source="peirce1884", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.peirce_of)),
    Measure("adjusted_wallace_precision", "pairs", pair_correlations.adjusted_wallace_precision, range=TO_ONE, perfect=1.0, swapped="adjusted_wallace_recall", source="severiano2011", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.adjusted_wallace_precision_of)),
    Measure("adjusted_wallace_recall", "pairs", pair_correlations.adjusted_wallace_recall, range=TO_ONE, perfect=1.0, swapped="adjusted_wallace_precision", source="severiano2011", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.adjusted_wallace_recall_of)),
    Measure("adjusted_fowlkes_mallows", "pairs", pair_correlations.adjusted_fowlkes_mallows, range=SIGNED, perfect=1.0, swapped="adjusted_fowlkes_mallows", source="fowlkes1983", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.adjusted_fowlkes_mallows_of)),
    Measure("goodman_kruskal_gamma", "pairs", pair_correlations.goodman_kruskal_gamma, range=SIGNED, perfect=1.0, swapped="goodman_kruskal_gamma", source="goodman1954", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.goodman_kruskal_gamma_of)),
    Measure("pearson_unrooted", "pairs", pair_correlations.pearson_unrooted, range=(-math.inf, math.inf), swapped="pearson_unrooted", source="albatineh2006", chance_corrected=True, linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.pearson_unrooted_of)),
    Measure("mcnemar", "pairs", pair_correlations.mcnemar, range=(-math.inf, math.inf), source="desgraupes2018", linear_in="pairs", parts=parts.pair_sums, combine=partial(from_sums, formula=pair_correlations.mcnemar_of)),
    Measure("partition_difference", "pairs", pair_correlations.partition_difference, range=FROM_ZERO, better=None, swapped="partition_difference", source="li2004", linear_in="pairs"),
    Measure("rv_coefficient", "pairs", pair_correlations.rv_coefficient, range=UNIT, perfect=1.0, swapped="rv_coefficient", source="robert1976", linear_in="pairs"),
    Measure("lerman", "pairs", pair_correlations.lerman, range=(-math.inf, math.inf), better=None, swapped="lerman", source="lerman1988", chance_corrected=True, integer_only=True, linear_in="pairs"),
    Measure("lerman_normalized", "pairs", pair_correlations.lerman_normalized, range=(-math.inf, math.inf), better=None, perfect=1.0, swapped="lerman_normalized", source="lerman1988", chance_corrected=True, integer_only=True, linear_in="pairs"),

    Measure("purity", "matching", matching.purity, range=UNIT, perfect=1.0, swapped="inverse_purity", source="zhao2001", combines="mean", parts=parts.purity_sums, combine=parts.share),
    Measure("inverse_purity", "matching", matching.inverse_purity, range=UNIT, perfect=1.0, swapped="purity", source="amigo2009", combines="mean", parts=parts.inverse_purity_sums, combine=parts.share),
    Measure("purity_f", "matching", matching.purity_f, range=UNIT, perfect=1.0, swapped="purity_f", source="amigo2009", parts=parts.both_purity_sums, combine=parts.share_f),
    Measure("clustering_f", "matching", matching.clustering_f, range=UNIT, perfect=1.0, source="larsen1999", combines="mean"),
    Measure("larsen_l", "matching", matching.larsen_l, range=UNIT, perfect=1.0, source="meila2007"),
    Measure("van_dongen", "matching", matching.van_dongen, range=FROM_ZERO, better="lower", perfect=0.0, swapped="van_dongen", source="vandongen2000", metric=True, combines="sum"),
    Measure("van_dongen_2n", "matching", partial(matching.van_dongen, norm="2n"), range=UNIT, better="lower", perfect=0.0, swapped="van_dongen_2n", source="meila2007", metric=True, combines="mean"),
    Measure("van_dongen_normalized", "matching", partial(matching.van_dongen, norm="max"), range=UNIT, better="lower", perfect=0.0, swapped="van_dongen_normalized", source="kishida"),
    Measure("many_to_one_accuracy", "matching", matching.many_to_one_accuracy, range=UNIT, perfect=1.0, swapped="inverse_purity", source="reichart2009", combines="mean", parts=parts.purity_sums, combine=parts.share),
    Measure("greedy_one_to_one_accuracy", "matching", matching.greedy_one_to_one_accuracy, range=UNIT, perfect=1.0, swapped="greedy_one_to_one_accuracy", source="reichart2009", combines="mean"),
    Measure("one_to_one_accuracy", "matching", matching.one_to_one_accuracy, range=UNIT, perfect=1.0, swapped="one_to_one_accuracy", source="kuhn1955", on_host=True, combines="mean", parts=parts.matched_sums, combine=parts.share),
    Measure("classification_error", "matching", matching.classification_error, range=UNIT, better="lower", perfect=0.0, swapped="classification_error", source="meila2007", on_host=True, metric=True, combines="mean", parts=parts.unmatched_sums, combine=parts.share),
    Measure("meila_heckerman_h", "matching", matching.meila_heckerman_h, range=UNIT, better="lower", perfect=0.0, swapped="meila_heckerman_h", source="meila2007", on_host=True, metric=True, combines="mean"),
    Measure("misclassification_index", "matching", matching.misclassification_index, range=UNIT, better="lower", perfect=0.0, source="zeng2002", combines="mean"),
    Measure("micro_precision", "matching", matching.micro_precision, range=UNIT, perfect=1.0, swapped="inverse_purity", source="dhillon2003", combines="mean", parts=parts.purity_sums, combine=parts.share),
    Measure("micro_recall", "matching", matching.micro_recall, range=UNIT, perfect=1.0, swapped="inverse_purity", source="dhillon2003", combines="mean", parts=parts.purity_sums, combine=parts.share),
    Measure("edit_distance", "matching", matching.edit_distance, range=FROM_ZERO, better="lower", source="pantel2002", combines="sum"),
    Measure("edit_quality", "matching", matching.edit_quality, range=UNIT, source="pantel2002", combines="mean"),
    Measure("psi", "matching", set_matching.psi, range=UNIT, perfect=1.0, swapped="psi", source="rezaei2016", on_host=True),
    Measure("spsi", "matching", set_matching.spsi, range=UNIT, perfect=1.0, swapped="spsi", source="rezaei2016", on_host=True),
    Measure("nca", "matching", set_matching.nca, range=SIGNED, perfect=1.0, swapped="nca_swapped", source="gagolewski2025", on_host=True),
    Measure("nca_swapped", "matching", set_matching.nca_swapped, range=SIGNED, perfect=1.0, swapped="nca", source="gagolewski2025", on_host=True),
    Measure("npa", "matching", set_matching.npa, range=UNIT, perfect=1.0, swapped="npa", source="gagolewski2025", on_host=True),
    Measure("class_projection_distance", "matching", set_matching.class_projection_distance, range=FROM_ZERO, better="lower", perfect=0.0, swapped="cluster_projection_distance", source="vandongen2000", combines="sum"),
    Measure("cluster_projection_distance", "matching", set_matching.cluster_projection_distance, range=FROM_ZERO, better="lower", perfect=0.0, swapped="class_projection_distance", source="vandongen2000", combines="sum"),
    Measure("projection_number", "matching", set_matching.projection_number, range=FROM_ZERO, source="vandongen2000", combines="sum"),

    Measure("bcubed_precision", "bcubed", bcubed.bcubed_precision, range=UNIT, perfect=1.0, swapped="bcubed_recall", source="bagga1998", linear_in="squares", combines="mean", parts=parts.bcubed_precision_sums, combine=parts.share),
    Measure("bcubed_recall", "bcubed", bcubed.bcubed_recall, range=UNIT, perfect=1.0, swapped="bcubed_precision", source="bagga1998", linear_in="squares", combines="mean", parts=parts.bcubed_recall_sums, combine=parts.share),
    Measure("bcubed_f", "bcubed", bcubed.bcubed_f, range=UNIT, perfect=1.0, swapped="bcubed_f", source="amigo2009", parts=parts.bcubed_sums, combine=parts.share_f),
    Measure("element_centric_similarity", "bcubed", bcubed.element_centric_similarity, range=UNIT, perfect=1.0, swapped="element_centric_similarity", source="gates2019", linear_in="squares", combines="mean"),

    Measure("chi_squared", "association", association.chi_squared, range=FROM_ZERO, swapped="chi_squared", source="pearson1900", linear_in="squares"),
    Measure("cramers_v", "association", association.cramers_v, range=UNIT, perfect=1.0, swapped="cramers_v", source="cramer1946"),
    Measure("tschuprows_t", "association", association.tschuprows_t, range=UNIT, perfect=1.0, swapped="tschuprows_t", source="tschuprow1939"),
    Measure("goodman_kruskal_lambda", "association", association.goodman_kruskal_lambda, range=UNIT, perfect=1.0, swapped="goodman_kruskal_lambda_swapped", source="goodman1954"),
    Measure("goodman_kruskal_lambda_swapped", "association", association.goodman_kruskal_lambda_swapped, range=UNIT, perfect=1.0, swapped="goodman_kruskal_lambda", source="goodman1954"),
    Measure("goodman_kruskal_tau", "association", association.goodman_kruskal_tau, range=UNIT, perfect=1.0, swapped="goodman_kruskal_tau_swapped", source="goodman1954", linear_in="squares"),
    Measure("goodman_kruskal_tau_swapped", "association", association.goodman_kruskal_tau_swapped, range=UNIT, perfect=1.0, swapped="goodman_kruskal_tau", source="goodman1954", linear_in="squares"),
    Measure("frobenius_distance", "association", association.frobenius_distance, range=FROM_ZERO, better="lower", perfect=0.0, swapped="frobenius_distance", source="arlot2019", linear_in="squares", combines="sum"),

    Measure("muc_precision", "coreference", coreference.muc_precision, range=UNIT, perfect=1.0, swapped="muc_recall", source="vilain1995", integer_only=True, parts=one_sided_parts.muc_sums, combine=one_sided_parts.share_of_clusters, zero_division=True),
    Measure("muc_recall", "coreference", coreference.muc_recall, range=UNIT, perfect=1.0, swapped="muc_precision", source="vilain1995", integer_only=True, parts=one_sided_parts.muc_sums, combine=one_sided_parts.share_of_classes, zero_division=True),
    Measure("muc_f", "coreference", coreference.muc_f, range=UNIT, perfect=1.0, swapped="muc_f", source="vilain1995", integer_only=True, parts=one_sided_parts.muc_sums, combine=one_sided_parts.harmonic_share, zero_division=True),
    Measure("coref_bcubed_precision", "coreference", coreference.coref_bcubed_precision, range=UNIT, perfect=1.0, swapped="coref_bcubed_recall", source="pradhan2014", combines="mean", parts=one_sided_parts.coref_bcubed_sums, combine=one_sided_parts.mean_of_clusters, zero_division=True),
    Measure("coref_bcubed_recall", "coreference", coreference.coref_bcubed_recall, range=UNIT, perfect=1.0, swapped="coref_bcubed_precision", source="pradhan2014", combines="mean", parts=one_sided_parts.coref_bcubed_sums, combine=one_sided_parts.mean_of_classes, zero_division=True),
    Measure("coref_bcubed_f", "coreference", coreference.coref_bcubed_f, range=UNIT, perfect=1.0, swapped="coref_bcubed_f", source="pradhan2014", parts=one_sided_parts.coref_bcubed_sums, combine=one_sided_parts.harmonic_of_means, zero_division=True),
    Measure("ceaf_m_precision", "coreference", coreference.ceaf_m_precision, range=UNIT, perfect=1.0, swapped="ceaf_m_recall", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.share_of_clusters, zero_division=True),
    Measure("ceaf_m_recall", "coreference", coreference.ceaf_m_recall, range=UNIT, perfect=1.0, swapped="ceaf_m_precision", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.share_of_classes, zero_division=True),
    Measure("ceaf_m_f", "coreference", coreference.ceaf_m_f, range=UNIT, perfect=1.0, swapped="ceaf_m_f", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.harmonic_share, zero_division=True),
    Measure("ceaf_e_precision", "coreference", coreference.ceaf_e_precision, range=UNIT, perfect=1.0, swapped="ceaf_e_recall", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_e_sums, combine=one_sided_parts.share_of_clusters, zero_division=True),
    Measure("ceaf_e_recall", "coreference", coreference.ceaf_e_recall, range=UNIT, perfect=1.0, swapped="ceaf_e_precision", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_e_sums, combine=one_sided_parts.share_of_classes, zero_division=True),
    Measure("ceaf_e_f", "coreference", coreference.ceaf_e_f, range=UNIT, perfect=1.0, swapped="ceaf_e_f", source="luo2005", on_host=True, parts=one_sided_parts.ceaf_e_sums, combine=one_sided_parts.harmonic_share, zero_division=True),
    Measure("blanc_precision", "coreference", coreference.blanc_precision, range=UNIT, perfect=1.0, source="luo2014", integer_only=True, parts=one_sided_parts.blanc_sums, combine=one_sided_parts.blanc_precision, zero_division=True),
    Measure("blanc_recall", "coreference", coreference.blanc_recall, range=UNIT, perfect=1.0, source="luo2014", integer_only=True, parts=one_sided_parts.blanc_sums, combine=one_sided_parts.blanc_recall, zero_division=True),
    Measure("blanc_f", "coreference", coreference.blanc_f, range=UNIT, perfect=1.0, source="luo2014", integer_only=True, parts=one_sided_parts.blanc_sums, combine=one_sided_parts.blanc_f, zero_division=True),
    Measure("lea_precision", "coreference", coreference.lea_precision, range=UNIT, perfect=1.0, swapped="lea_recall", source="moosavi2016", integer_only=True, combines="mean", parts=one_sided_parts.lea_sums, combine=one_sided_parts.mean_of_clusters, zero_division=True),
    Measure("lea_recall", "coreference", coreference.lea_recall, range=UNIT, perfect=1.0, swapped="lea_precision", source="moosavi2016", integer_only=True, combines="mean", parts=one_sided_parts.lea_sums, combine=one_sided_parts.mean_of_classes, zero_division=True),
    Measure("lea_f", "coreference", coreference.lea_f, range=UNIT, perfect=1.0, swapped="lea_f", source="moosavi2016", integer_only=True, parts=one_sided_parts.lea_sums, combine=one_sided_parts.harmonic_of_means, zero_division=True),
    Measure("exact_cluster_precision", "coreference", entities.exact_cluster_precision, range=UNIT, perfect=1.0, swapped="exact_cluster_recall", source="menestrina2010", parts=one_sided_parts.exact_cluster_sums, combine=one_sided_parts.share_of_clusters, zero_division=True),
    Measure("exact_cluster_recall", "coreference", entities.exact_cluster_recall, range=UNIT, perfect=1.0, swapped="exact_cluster_precision", source="menestrina2010", parts=one_sided_parts.exact_cluster_sums, combine=one_sided_parts.share_of_classes, zero_division=True),
    Measure("exact_cluster_f", "coreference", entities.exact_cluster_f, range=UNIT, perfect=1.0, swapped="exact_cluster_f", source="menestrina2010", parts=one_sided_parts.exact_cluster_sums, combine=one_sided_parts.share_of_both, zero_division=True),
    Measure("conll_f", "coreference", coreference.conll_f, range=UNIT, perfect=1.0, swapped="conll_f", source="pradhan2011", integer_only=True, on_host=True, parts=one_sided_parts.conll_sums, combine=one_sided_parts.conll_f, zero_division=True),
    Measure("grouping_accuracy", "coreference", entities.grouping_accuracy, range=UNIT, perfect=1.0, swapped="grouping_accuracy", source="zhu2019", combines="mean", parts=one_sided_parts.grouping_sums, combine=one_sided_parts.mean_of_clusters, zero_division=True),
    Measure("closest_cluster_precision", "coreference", entities.closest_cluster_precision, range=UNIT, perfect=1.0, swapped="closest_cluster_recall", source="barnes2015", parts=one_sided_parts.closest_cluster_sums, combine=one_sided_parts.mean_of_clusters, zero_division=True),
    Measure("closest_cluster_recall", "coreference", entities.closest_cluster_recall, range=UNIT, perfect=1.0, swapped="closest_cluster_precision", source="barnes2015", parts=one_sided_parts.closest_cluster_sums, combine=one_sided_parts.mean_of_classes, zero_division=True),
    Measure("merge_distance", "coreference", entities.merge_distance, range=FROM_ZERO, better="lower", perfect=0.0, swapped="merge_distance", source="menestrina2010", combines="sum", parts=one_sided_parts.merge_sums, combine=one_sided_parts.merge_distance),

    Measure("foreground_ari", "segmentation", segmentation.foreground_ari, range=(-0.5, 1.0), perfect=1.0, source="greff2019", chance_corrected=True, parts=object_parts.foreground_sums, combine=object_parts.foreground_ari, zero_division=True),
    Measure("mean_best_overlap", "segmentation", segmentation.mean_best_overlap, range=UNIT, perfect=1.0, source="ponttuset2017", parts=object_parts.best_overlap_sums, combine=object_parts.mean_of_objects, zero_division=True),
    Measure("symmetric_best_dice", "segmentation", segmentation.symmetric_best_dice, range=UNIT, perfect=1.0, swapped="symmetric_best_dice", source="scharr2016", parts=object_parts.dice_sums, combine=object_parts.symmetric_best_dice, zero_division=True),
    Measure("panoptic_quality", "segmentation", segmentation.panoptic_quality, range=UNIT, perfect=1.0, swapped="panoptic_quality", source="kirillov2019", parts=object_parts.panoptic_sums, combine=object_parts.panoptic_quality, zero_division=True),
    Measure("segmentation_quality", "segmentation", segmentation.segmentation_quality, range=UNIT, perfect=1.0, swapped="segmentation_quality", source="kirillov2019", parts=object_parts.panoptic_sums, combine=object_parts.segmentation_quality, zero_division=True),
    Measure("recognition_quality", "segmentation", segmentation.recognition_quality, range=UNIT, perfect=1.0, swapped="recognition_quality", source="kirillov2019", parts=object_parts.panoptic_sums, combine=object_parts.recognition_quality, zero_division=True),
    Measure("object_ap_0.5", "segmentation", partial(segmentation.object_ap, threshold=0.5), range=UNIT, perfect=1.0, swapped="object_ap_0.5", source="schmidt2018", parts=object_parts.ap_sums, combine=object_parts.share, zero_division=True),
    Measure("object_f_0.5", "segmentation", partial(segmentation.object_f, threshold=0.5), range=UNIT, perfect=1.0, swapped="object_f_0.5", source="caicedo2019", parts=object_parts.f_sums, combine=object_parts.share, zero_division=True),
    Measure("seg", "segmentation", segmentation.seg, range=UNIT, perfect=1.0, source="maska2014", parts=object_parts.seg_sums, combine=object_parts.mean_of_objects, zero_division=True),
    Measure("aggregated_jaccard", "segmentation", segmentation.aggregated_jaccard, range=UNIT, perfect=1.0, source="kumar2017", parts=object_parts.aggregated_jaccard_sums, combine=object_parts.share, zero_division=True),
    Measure("vi_split_bits", "segmentation", partial(segmentation.vi_split, base=2.0), range=FROM_ZERO, better="lower", perfect=0.0, swapped="vi_merge_bits", source="nunez2013", combines="mean", parts=object_parts.vi_split_sums, combine=object_parts.mean_of_items, zero_division=True),
    Measure("vi_merge_bits", "segmentation", partial(segmentation.vi_merge, base=2.0), range=FROM_ZERO, better="lower", perfect=0.0, swapped="vi_split_bits", source="nunez2013", combines="mean", parts=object_parts.vi_merge_sums, combine=object_parts.mean_of_items, zero_division=True),
    Measure("adapted_rand_error", "segmentation", segmentation.adapted_rand_error, range=UNIT, better="lower", perfect=0.0, swapped="adapted_rand_error", source="arganda2015", parts=object_parts.adapted_rand_sums, combine=object_parts.error, zero_division=True),
    Measure("adapted_rand_error_self_pairs", "segmentation", partial(segmentation.adapted_rand_error, self_pairs=True), range=UNIT, better="lower", perfect=0.0, swapped="adapted_rand_error_self_pairs", source="arganda2015", parts=object_parts.adapted_rand_self_sums, combine=object_parts.error, zero_division=True),

    Measure("idp", "tracking", tracking.idp, range=UNIT, perfect=1.0, swapped="idr", source="ristani2016", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.share_of_clusters, zero_division=True),
    Measure("idr", "tracking", tracking.idr, range=UNIT, perfect=1.0, swapped="idp", source="ristani2016", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.share_of_classes, zero_division=True),
    Measure("idf1", "tracking", tracking.idf1, range=UNIT, perfect=1.0, swapped="idf1", source="ristani2016", on_host=True, parts=one_sided_parts.ceaf_m_sums, combine=one_sided_parts.harmonic_share, zero_division=True),
    Measure("association_accuracy", "tracking", tracking.association_accuracy, range=UNIT, perfect=1.0, swapped="association_accuracy", source="luiten2021", parts=object_parts.association_sums, combine=object_parts.share, zero_division=True),
    Measure("diarization_error_rate", "tracking", tracking.diarization_error_rate, range=FROM_ZERO, better="lower", perfect=0.0, source="fiscus2006", on_host=True, parts=object_parts.diarization_sums, combine=object_parts.rate, zero_division=True),
    Measure("jaccard_error_rate", "tracking", tracking.jaccard_error_rate, range=UNIT, better="lower", perfect=0.0, source="ryant2019", on_host=True, parts=object_parts.jaccard_error_sums, combine=object_parts.error, zero_division=True),
)
# fmt: on

MEASURES: Mapping[str, Measure] = MappingProxyType({row.name: row for row in _ROWS})

FAMILIES = ("entropy", "pairs", "matching", "bcubed", "association")  # of partitions: what "all" names

DEFAULT = (
    "homogeneity",
    "completeness",
    "v_measure",
    "nmi_arithmetic",
    "ami_arithmetic",
    "adjusted_rand",
    "rand",
    "jaccard",
    "fowlkes_mallows",
    "purity",
    "inverse_purity",
    "clustering_f",
    "one_to_one_accuracy",
    "bcubed_precision",
    "bcubed_recall",
    "bcubed_f",
    "variation_of_information",
    "nvi",
    "van_dongen_normalized",
)

OF_COVERS = (  # names of OVERLAP_MEASURES, which are not measures of tables
    "extended_bcubed_precision",
    "extended_bcubed_recall",
    "extended_bcubed_f",
    "overlap_purity",
    "overlap_inverse_purity",
    "overlap_purity_f",
    "overlap_set_f",
    "omega_observed",
    "omega_index",
    "fuzzy_omega",
    "overlapping_nmi_lfk",
    "overlapping_nmi_max",
    "overlap_element_centric",
    "average_f1",
    "nf1",
    "maximum_matching_ratio",
    "geometric_accuracy",
    "geometric_ppv",
    "overlap_quality",
    "partition_closeness_simple",
)

Selection = None | str | Measure | Iterable[str | Measure]


def find_measure(name: str, registry: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of a name or alias.

    Raises:
        ValueError: there is none; the message names the closest.
    """
    if not isinstance(name, str):
        raise ValueError(f"measures: expected the name of a measure; got {type(name).__name__}")
    lower = name.lower()
    measure = registry.get(lower) or registry.get(canonical(lower))
    if measure is None:
        raise ValueError(f"measures: expected the name of a measure; got {brief(name)} ({_hint(name, registry)})")
    return measure


def _hint(name: str, registry: Mapping[str, Measure]) -> str:
    lower = name.lower()
    if "," in name:
        return f"several names are a list: {[part.strip() for part in name.split(',')]}"
    if registry is MEASURES and (lower in OF_COVERS or canonical(lower) in OF_COVERS or lower == "overlap"):
        return "it is of overlapping groups: evaluate_overlapping, or score --overlapping"
    if registry is not MEASURES and (canonical(lower) in MEASURES or lower in FAMILIES or lower in ONE_SIDED):
        return "it is of partitions: evaluate, or score without --overlapping"
    if found := elsewhere(name):
        more = f"; `torchclusteval measures {lower}` lists all {len(found)}" if len(found) > 3 else ""
        return "; ".join(f"{other}: {meant}" for other, meant in list(found.items())[:3]) + more
    known = [*registry, *(alias for alias, meant in ALIASES.items() if meant in registry)]
    close = get_close_matches(lower, known, 3, 0.5)
    return f"did you mean {' or '.join(close)}?" if close else "`torchclusteval measures` lists them"


def select(measures: Selection, registry: Mapping[str, Measure] = MEASURES) -> dict[Measure, bool]:
    """The measures that are asked for, each with whether it was named (and so must apply) or came with a set.

    Args:
        measures: None (the headline measures, or all of a registry without), ``"default"`` (these too, in a list with
            others), ``"all"``, a family, a name or alias, a ``Measure``, or a list of these.
        registry: the measures that have names.

    Raises:
        ValueError: an unknown name, or two records of one name.
    """
    if measures is None or isinstance(measures, (str, Measure)):
        items: list[Any] = [measures]
    elif is_listable(measures, "measures"):
        items = list(measures)
    else:
        raise ValueError(f"measures: expected names or Measure records; got {_kind(measures)}")
    if not items:
        raise ValueError("measures: expected at least one measure; got none")
    if measures is not None and any(item is None for item in items):
        raise ValueError("measures: expected names or Measure records; got None among them")
    chosen: dict[Measure, bool] = {}
    for item in items:
        members = _members(item, registry) if item is None or isinstance(item, str) else []
        for measure in members:
            chosen.setdefault(measure, False)
        if not members:
            chosen[_one(item, registry)] = True
    names = [measure.name for measure in chosen]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"measures: expected different names; got two measures named {repeated!r}")
    return chosen


def _members(name: str | None, registry: Mapping[str, Measure]) -> list[Measure]:
    """The measures of a set; none if it is not the name of a set."""
    if name is None or (name == "default" and registry is MEASURES):
        return [registry[member] for member in DEFAULT if member in registry] or list(registry.values())
    if name in registry:
        return []
    if name == "all":
        return [measure for measure in registry.values() if not measure.one_sided]
    return [measure for measure in registry.values() if name == measure.family]


def _one(item: object, registry: Mapping[str, Measure]) -> Measure:
    if isinstance(item, Measure):
        overlapping = next(iter(registry.values())).family == "overlap"
        if (item.family == "overlap") != overlapping:
            expected = "of overlapping groups" if overlapping else "of tables"
            raise ValueError(f"measures: expected measures {expected}; got {item.name!r} of family {item.family!r}")
        return item
    if isinstance(item, str):
        return find_measure(item, registry)
    labels = "" if not is_number(item) else " (labels become tables by ContingencyTables.from_labels)"
    raise ValueError(f"measures: expected names or Measure records; got {_kind(item)}{labels}")


def _kind(x: object) -> str:
    """The type of what is no measure, and what makes a function one."""
    wrapped = " (tce.Measure(name=..., family=..., function=..., range=...) makes it a measure)"
    return type(x).__name__ + (wrapped if callable(x) else "")
