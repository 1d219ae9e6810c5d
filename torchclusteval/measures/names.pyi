"""Names that `measures.__getattr__` answers, for type checkers: aliases, then variants, which are partial functions."""

from collections.abc import Callable

from torch import Tensor

from torchclusteval.measures.association import chi_squared, cramers_v
from torchclusteval.measures.bcubed import element_centric_similarity
from torchclusteval.measures.coreference import blanc_f, ceaf_e_f, ceaf_m_f, conll_f, lea_f, muc_f
from torchclusteval.measures.entropy import (
    completeness,
    expected_mutual_information,
    homogeneity,
    mutual_information,
    normalized_information_distance,
    v_measure,
    variation_of_information,
)
from torchclusteval.measures.matching import nca, npa, one_to_one_accuracy, psi, van_dongen
from torchclusteval.measures.pair_indices import goodman_kruskal_gamma, peirce, rv_coefficient, sokal_sneath_2
from torchclusteval.measures.pairs import (
    adjusted_rand,
    fowlkes_mallows,
    hubert_gamma,
    jaccard,
    pair_f,
    pair_precision,
    pair_recall,
    rand,
)
from torchclusteval.measures.segmentation import aggregated_jaccard, foreground_ari, panoptic_quality
from torchclusteval.measures.tracking import diarization_error_rate, jaccard_error_rate

acc = one_to_one_accuracy
accuracy = one_to_one_accuracy
adjusted_rand_index = adjusted_rand
adjusted_rand_score = adjusted_rand
aji = aggregated_jaccard
ari = adjusted_rand
blanc = blanc_f
ceafe = ceaf_e_f
ceafm = ceaf_m_f
chi2 = chi_squared
cluster_accuracy = one_to_one_accuracy
completeness_score = completeness
conll = conll_f
cramer_v = cramers_v
der = diarization_error_rate
dice = pair_f
ecs = element_centric_similarity
emi = expected_mutual_information
fg_ari = foreground_ari
fmi = fowlkes_mallows
fowlkes_mallows_index = fowlkes_mallows
fowlkes_mallows_score = fowlkes_mallows
gower_legendre = sokal_sneath_2
homogeneity_score = homogeneity
jaccard_index = jaccard
jer = jaccard_error_rate
lea = lea_f
mi = mutual_information
muc = muc_f
mutual_info_score = mutual_information
nid = normalized_information_distance
normalized_clustering_accuracy = nca
normalized_pivoted_accuracy = npa
pair_sensitivity = pair_recall
pair_sets_index = psi
pq = panoptic_quality
rand_index = rand
rand_score = rand
ri = rand
russell_rao = hubert_gamma
rv = rv_coefficient
simple_matching = rand
sorensen_dice = pair_f
split_join = van_dongen
v_measure_beta_1 = v_measure
v_measure_score = v_measure
vi = variation_of_information
wallace_1 = pair_recall
wallace_2 = pair_precision
youden_j = peirce
yules_q = goodman_kruskal_gamma

adapted_rand_error_self_pairs: Callable[..., Tensor]
adjusted_information_asymmetric: Callable[..., Tensor]
adjusted_information_mean: Callable[..., Tensor]
adjusted_mutual_info_score: Callable[..., Tensor]
adjusted_rand_all: Callable[..., Tensor]
adjusted_rand_all_one_sided: Callable[..., Tensor]
adjusted_rand_num: Callable[..., Tensor]
adjusted_rand_num_one_sided: Callable[..., Tensor]
ami_all: Callable[..., Tensor]
ami_all_one_sided: Callable[..., Tensor]
ami_arithmetic: Callable[..., Tensor]
ami_classes: Callable[..., Tensor]
ami_clusters: Callable[..., Tensor]
ami_geometric: Callable[..., Tensor]
ami_max: Callable[..., Tensor]
ami_min: Callable[..., Tensor]
ami_num: Callable[..., Tensor]
ami_num_one_sided: Callable[..., Tensor]
hubert_gamma_normalized: Callable[..., Tensor]
microcanonical_nmi_asymmetric: Callable[..., Tensor]
microcanonical_nmi_mean: Callable[..., Tensor]
mirkin_normalized: Callable[..., Tensor]
nmi_arithmetic: Callable[..., Tensor]
nmi_geometric: Callable[..., Tensor]
nmi_joint: Callable[..., Tensor]
nmi_max: Callable[..., Tensor]
nmi_min: Callable[..., Tensor]
normalized_mutual_info_score: Callable[..., Tensor]
normalized_mutual_information: Callable[..., Tensor]
normalized_vi_joint: Callable[..., Tensor]
normalized_vi_log_k: Callable[..., Tensor]
normalized_vi_log_n: Callable[..., Tensor]
normalized_vi_two_log_k: Callable[..., Tensor]
normalized_vi_two_log_n: Callable[..., Tensor]
q0_bits: Callable[..., Tensor]
reduced_flat_nmi_asymmetric: Callable[..., Tensor]
reduced_flat_nmi_mean: Callable[..., Tensor]
reduced_nmi_asymmetric: Callable[..., Tensor]
reduced_nmi_mean: Callable[..., Tensor]
v_measure_beta_2: Callable[..., Tensor]
van_dongen_2n: Callable[..., Tensor]
van_dongen_normalized: Callable[..., Tensor]
vi_merge_bits: Callable[..., Tensor]
vi_split_bits: Callable[..., Tensor]
