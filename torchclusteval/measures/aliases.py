"""Other names of the measures: abbreviations, and the names of scikit-learn, torchmetrics and the CoNLL scorer.

An alias means one formula wherever it is used; capitals and underscores do not matter (``AdjustedRandScore``). Names
with different formulas in different libraries begin with the library, ``aricode:NVI``: the rows of
``library_names.csv``, read on first use. A row holds a library, one of its functions, and the measure of the
same formula with its default options. Functions that differ by a factor or by the order of the sides are in
``docs/others/names_elsewhere.md``.
"""

import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

V = TypeVar("V")

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        # entropy
        "ami": "ami_arithmetic",
        "adjusted_mutual_info_score": "ami_arithmetic",
        "completeness_score": "completeness",
        "emi": "expected_mutual_information",
        "homogeneity_score": "homogeneity",
        "mi": "mutual_information",
        "mutual_info_score": "mutual_information",
        "nid": "normalized_information_distance",
        "nmi": "nmi_arithmetic",
        "normalized_mutual_info_score": "nmi_arithmetic",
        "normalized_mutual_information": "nmi_arithmetic",
        "v_measure_beta_1": "v_measure",
        "v_measure_score": "v_measure",
        "vi": "variation_of_information",
        # pairs
        "adjusted_rand_index": "adjusted_rand",
        "adjusted_rand_score": "adjusted_rand",
        "ari": "adjusted_rand",
        "dice": "pair_f",
        "fmi": "fowlkes_mallows",
        "fowlkes_mallows_index": "fowlkes_mallows",
        "fowlkes_mallows_score": "fowlkes_mallows",
        "gower_legendre": "sokal_sneath_2",
        "jaccard_index": "jaccard",
        "pair_sensitivity": "pair_recall",
        "rand_index": "rand",
        "rand_score": "rand",
        "ri": "rand",
        "russell_rao": "hubert_gamma",
        "simple_matching": "rand",
        "sorensen_dice": "pair_f",
        "wallace_1": "pair_recall",
        "wallace_2": "pair_precision",
        # matching and association
        "acc": "one_to_one_accuracy",
        "accuracy": "one_to_one_accuracy",
        "chi2": "chi_squared",
        "cluster_accuracy": "one_to_one_accuracy",
        "cramer_v": "cramers_v",
        "ecs": "element_centric_similarity",
        "normalized_clustering_accuracy": "nca",
        "normalized_pivoted_accuracy": "npa",
        "pair_sets_index": "psi",
        "rv": "rv_coefficient",
        "split_join": "van_dongen",
        "youden_j": "peirce",
        "yules_q": "goodman_kruskal_gamma",
        # coreference, segmentation, diarization
        "aji": "aggregated_jaccard",
        "blanc": "blanc_f",
        "ceafe": "ceaf_e_f",
        "ceafm": "ceaf_m_f",
        "conll": "conll_f",
        "der": "diarization_error_rate",
        "fg_ari": "foreground_ari",
        "jer": "jaccard_error_rate",
        "lea": "lea_f",
        "muc": "muc_f",
        "pq": "panoptic_quality",
    }
)

_BY_KEY = {alias.replace("_", ""): name for alias, name in ALIASES.items()}


def canonical(name: str) -> str:
    """The registry name of a name, an alias or ``LIBRARY:FUNCTION``."""
    text = str(name)  # a key other than text counts as missing
    if ":" in text:
        return measure_of(text) or name
    return _BY_KEY.get(text.lower().replace("_", ""), name)


class ByCanonicalName(dict[str, V]):
    """A dictionary of names of measures that finds aliases too."""

    def __missing__(self, name: str) -> V:
        return dict(self)[canonical(name)]  # a plain one, which raises a KeyError for other names

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and super().__contains__(canonical(name)))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name if super().__contains__(name) else canonical(name), default)


_SAME_LIBRARY = {
    "bcubed": "pythonbcubed",
    "conll": "coval",
    "funlibevaluate": "funlib",
    "pyannotemetrics": "pyannote",
    "scibmetrics": "scib",
    "scikitlearn": "sklearn",
    "skimage": "scikitimage",
}


class LibraryName(NamedTuple):
    library: str
    function: str
    measure: str

    def __str__(self) -> str:
        return f"{self.library}:{self.function}"


@cache
def library_names() -> tuple[LibraryName, ...]:
    text = Path(__file__).with_name("library_names.csv").read_text(encoding="utf-8")
    return tuple(LibraryName(*row) for row in list(csv.reader(text.splitlines()))[1:])


@cache
def _measures_by_key() -> dict[tuple[str, str], str]:
    return {(_library_key(row.library), row.function.lower()): row.measure for row in library_names()}


def measure_of(name: str) -> str | None:
    """The measure for ``LIBRARY:FUNCTION``; None if there is none."""
    library, _, function = name.partition(":")
    return _measures_by_key().get((_library_key(library), function.lower()))


def elsewhere(name: str) -> dict[str, str]:
    """Functions of one library, or of one name in any library, as ``library:function``, with their measures."""
    library, function = _library_key(name.removesuffix(":")), name.lower()
    return {
        str(row): row.measure
        for row in library_names()
        if _library_key(row.library) == library or row.function.lower() == function
    }


def _library_key(library: str) -> str:
    key = re.sub(r"[-_. ]", "", library.lower())
    return _SAME_LIBRARY.get(key, key)
