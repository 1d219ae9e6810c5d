"""Other names of the measures.

A bare alias is a name that means one formula wherever it is used. Where libraries mean different formulas by a name, or
the name is that of another measure here, the alias begins with the library: ``aricode:NVI``. Upper and lower case are
the same.
"""

from collections.abc import Mapping
from types import MappingProxyType

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "acc": "one_to_one_accuracy",
        "accuracy": "one_to_one_accuracy",
        "ami": "ami_arithmetic",
        "ari": "adjusted_rand",
        "ecs": "element_centric_similarity",
        "emi": "expected_mutual_information",
        "fmi": "fowlkes_mallows",
        "mi": "mutual_information",
        "nmi": "nmi_arithmetic",
        "ri": "rand",
        "v_measure_beta_1": "v_measure",
        "vi": "variation_of_information",
        # entropy
        "clusim:adj_mi": "ami_arithmetic",
        "clusim:adjrand_index": "adjusted_rand",
        "aricode:AMI": "ami_max",
        "aricode:MARIraw": "mari_raw",
        "aricode:NVI": "normalized_vi_joint",
        "funlib:nvi_sum": "normalized_vi_joint",
        "cdlib:adjusted_mutual_information": "ami_arithmetic",
        "cdlib:normalized_mutual_information": "nmi_arithmetic",
        "cdlib:rmi": "reduced_mutual_information_flat",
        "clusim:rmi": "reduced_mutual_information_flat",
        "clustering-mi:adjusted": "adjusted_information",
        "clustering-mi:reduced": "reduced_mutual_information",
        "clustering-mi:reduced_flat": "reduced_mutual_information_flat",
        "clustering-mi:stirling": "mutual_information",
        "clustering-mi:traditional": "microcanonical_mutual_information",
        "graph-tool:reduced_mutual_information": "reduced_mutual_information_flat",
        "microcanonical_mutual_information_asymmetric": "microcanonical_nmi_asymmetric",
        "microcanonical_mutual_information_mean": "microcanonical_nmi_mean",
        "reduced_mutual_information_asymmetric": "reduced_nmi_asymmetric",
        "reduced_mutual_information_mean": "reduced_nmi_mean",
        "reduced_mutual_information_flat_asymmetric": "reduced_flat_nmi_asymmetric",
        "reduced_mutual_information_flat_mean": "reduced_flat_nmi_mean",
        "jent": "joint_entropy",
        "variation_information": "variation_of_information",
        "id": "information_distance",
        "nid": "normalized_information_distance",
        # pairs, matching, association
        "czekanowski": "pair_f",
        "czekanowski_dice": "pair_f",
        "dice": "pair_f",
        "sdc": "pair_f",
        "sorensen": "pair_f",
        "sorensen_dice": "pair_f",
        "gower_legendre": "sokal_sneath_2",
        "russell_rao": "hubert_gamma",
        "russel_rao": "hubert_gamma",
        "simple_matching": "rand",
        "smc": "rand",
        "wallace_1": "pair_recall",
        "wallace_2": "pair_precision",
        "pair_sensitivity": "pair_recall",
        "simpson": "overlap_coefficient",
        "yules_q": "goodman_kruskal_gamma",
        "katz_powell": "hubert_gamma_normalized",
        "youden_j": "peirce",
        "rv": "rv_coefficient",
        "chi2": "chi_squared",
        "chisq": "chi_squared",
        "pair_sets_index": "psi",
        "normalized_clustering_accuracy": "nca",
        "normalized_pivoted_accuracy": "npa",
        "split_join": "van_dongen",
        "aricode:Chi2": "chi_squared",
        "aricode:Frobenius": "frobenius_distance",
        "clue:KP": "hubert_gamma_normalized",
        "clusim:pearson_correlation": "pearson_unrooted",
        "clusterCrit:Phi": "pearson_unrooted",
        "clusterCrit:Sokal_Sneath1": "sokal_sneath_1",
        "clusterCrit:Sokal_Sneath2": "sokal_sneath_2",
        "clusterCrit:Hubert": "hubert_gamma_normalized",
        "mclustcomp:overlap": "overlap_coefficient",
        "mclustcomp:pd": "partition_difference",
        "mclustcomp:tanimoto": "jaccard",
        "partitionComparison:gammaStatistics": "hubert_gamma_normalized",
        "partitionComparison:goodmanKruskal": "goodman_kruskal_gamma",
        "partitionComparison:pearson": "pearson_unrooted",
        "partitionComparison:sokalSneath1": "sokal_sneath_4",
        "partitionComparison:sokalSneath2": "sokal_sneath_1",
        "partitionComparison:sokalSneath3": "sokal_sneath_3",
        "permetrics:phi_score": "hubert_gamma_normalized",
        "permetrics:sokal_sneath1_score": "sokal_sneath_1",
        "permetrics:sokal_sneath2_score": "sokal_sneath_2",
    }
)

_MEANT = {alias.lower(): name for alias, name in ALIASES.items()}


def canonical(name: str) -> str:
    """The registry name of a name or alias."""
    return _MEANT.get(str(name).lower(), name)  # a key that is no text is a key that is missing
