"""Other names of the measures.

An alias is a name that means one formula wherever it is used. Where libraries mean different formulas by a name, or the
name is that of another measure here, it is found with the library in front: ``aricode:NVI`` (``library_names``). Upper
and lower case are the same.
"""

from collections.abc import Mapping
from types import MappingProxyType

from torchclusteval.measures.library_names import LIBRARY_NAMES, library_key, meant_by_libraries, short_key
from torchclusteval.measures.other_functions import OTHER_FUNCTIONS, WORDS

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
        "normalized_mutual_information": "nmi_arithmetic",
        "ri": "rand",
        "v_measure_beta_1": "v_measure",
        "vi": "variation_of_information",
        # entropy
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
        "cramer_v": "cramers_v",
        "chisq": "chi_squared",
        "pair_sets_index": "psi",
        "normalized_clustering_accuracy": "nca",
        "normalized_pivoted_accuracy": "npa",
        "split_join": "van_dongen",
    }
)

_MEANT = meant_by_libraries() | {alias.lower(): name for alias, name in ALIASES.items()}


def canonical(name: str) -> str:
    """The registry name of a name or alias."""
    return _MEANT.get(library_key(str(name)), name)  # a key that is no text is a key that is missing


def elsewhere(name: str) -> dict[str, str]:
    """What other libraries mean by a name: ``library:name`` of each, and the measure here or what does its work."""
    every = {
        f"{library}:{own}": meant
        for libraries in (LIBRARY_NAMES, OTHER_FUNCTIONS)
        for library, names in libraries.items()
        for own, meant in names.items()
    }
    for key, asked in ((library_key, library_key(name)), (short_key, short_key(name))):
        found = {own: meant for own, meant in every.items() if asked in (key(own), key(own).partition(":")[2])}
        if found:
            return found
    return {name: WORDS[name.lower()]} if name.lower() in WORDS else {}


def functions_of(library: str) -> dict[str, str]:
    """What each function of a library is here, as :func:`elsewhere`; nothing if the library is not known."""
    key = library_key(f"{library.removesuffix(':')}:")
    return {
        f"{known}:{own}": meant
        for libraries in (LIBRARY_NAMES, OTHER_FUNCTIONS)
        for known, names in libraries.items()
        if library_key(f"{known}:") == key
        for own, meant in names.items()
    }
