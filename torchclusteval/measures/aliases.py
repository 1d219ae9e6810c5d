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

from torchclusteval.common.results import ByName

V = TypeVar("V")

_OTHERS = {  # measure -> its other names
    # entropy
    "ami_arithmetic": "ami adjusted_mutual_info_score",
    "completeness": "completeness_score",
    "expected_mutual_information": "emi",
    "homogeneity": "homogeneity_score",
    "mutual_information": "mi mutual_info_score",
    "normalized_information_distance": "nid",
    "nmi_arithmetic": "nmi normalized_mutual_info_score normalized_mutual_information",
    "v_measure": "v_measure_beta_1 v_measure_score",
    "variation_of_information": "vi",
    # pairs
    "adjusted_rand": "adjusted_rand_index adjusted_rand_score ari",
    "pair_f": "dice sorensen_dice",
    "fowlkes_mallows": "fmi fowlkes_mallows_index fowlkes_mallows_score",
    "sokal_sneath_2": "gower_legendre",
    "jaccard": "jaccard_index",
    "pair_recall": "pair_sensitivity wallace_1",
    "rand": "rand_index rand_score ri simple_matching",
    "hubert_gamma": "russell_rao",
    "pair_precision": "wallace_2",
    # matching and association
    "one_to_one_accuracy": "acc accuracy cluster_accuracy",
    "chi_squared": "chi2",
    "cramers_v": "cramer_v",
    "element_centric_similarity": "ecs",
    "nca": "normalized_clustering_accuracy",
    "npa": "normalized_pivoted_accuracy",
    "psi": "pair_sets_index",
    "rv_coefficient": "rv",
    "van_dongen": "split_join",
    "peirce": "youden_j",
    "goodman_kruskal_gamma": "yules_q",
    # coreference, segmentation, diarization
    "aggregated_jaccard": "aji",
    "blanc_f": "blanc",
    "ceaf_e_f": "ceafe",
    "ceaf_m_f": "ceafm",
    "conll_f": "conll",
    "diarization_error_rate": "der",
    "foreground_ari": "fg_ari",
    "jaccard_error_rate": "jer",
    "lea_f": "lea",
    "muc_f": "muc",
    "panoptic_quality": "pq",
}

ALIASES: Mapping[str, str] = MappingProxyType({x: name for name, others in _OTHERS.items() for x in others.split()})
_BY_KEY = {alias.replace("_", ""): name for alias, name in ALIASES.items()}


def canonical(name: str) -> str:
    """The registry name of a name, an alias or ``LIBRARY:FUNCTION``."""
    text = str(name)  # a key other than text counts as missing
    if ":" in text:
        return measure_of(text) or name
    return _BY_KEY.get(text.lower().replace("_", ""), name)


class ByMeasure(ByName[V]):
    """A mapping on names of measures that finds aliases too."""

    def _key(self, name: str) -> str:
        return canonical(name)


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
