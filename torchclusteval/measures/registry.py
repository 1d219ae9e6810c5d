"""The table of measures. Adding one is a function, a row here and its golden rows."""

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType

from torchclusteval.measures import bcubed, entropy, matching, pairs
from torchclusteval.measures.record import Measure

UNIT, SIGNED, FROM_ZERO, TO_ONE = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)

# fmt: off
_ROWS = (
    # name, family, function, range, better, perfect, swapped, source
    Measure("entropy_classes",      "entropy", entropy.entropy_classes,          FROM_ZERO, None,     None, "entropy_clusters",    "shannon1948"),
    Measure("entropy_clusters",     "entropy", entropy.entropy_clusters,         FROM_ZERO, None,     None, "entropy_classes",     "shannon1948"),
    Measure("joint_entropy",        "entropy", entropy.joint_entropy,            FROM_ZERO, None,     None, "joint_entropy",       "shannon1948"),
    Measure("conditional_entropy",  "entropy", entropy.conditional_entropy,      FROM_ZERO, "lower",  0.0,  "class_entropy",       "rosenberg2007"),
    Measure("class_entropy",        "entropy", entropy.class_entropy,            FROM_ZERO, "lower",  0.0,  "conditional_entropy", "amigo2009"),
    Measure("cluster_entropy",      "entropy", entropy.cluster_entropy,          UNIT,      "lower",  0.0,  None,                  "zhao2001"),
    Measure("mutual_information",   "entropy", entropy.mutual_information,       FROM_ZERO, "higher", None, "mutual_information",  "shannon1948"),
    Measure("homogeneity",          "entropy", entropy.homogeneity,              UNIT,      "higher", 1.0,  "completeness",        "rosenberg2007"),
    Measure("completeness",         "entropy", entropy.completeness,             UNIT,      "higher", 1.0,  "homogeneity",         "rosenberg2007"),
    Measure("v_measure",            "entropy", entropy.v_measure,                UNIT,      "higher", 1.0,  "v_measure",           "rosenberg2007"),
    Measure("v_measure_beta_0.5",   "entropy", partial(entropy.v_measure, beta=0.5), UNIT,  "higher", 1.0,  "v_measure_beta_2",    "rosenberg2007"),
    Measure("v_measure_beta_2",     "entropy", partial(entropy.v_measure, beta=2.0), UNIT,  "higher", 1.0,  "v_measure_beta_0.5",  "rosenberg2007"),
    Measure("nmi_min",              "entropy", partial(entropy.nmi, average="min"),        UNIT, "higher", 1.0, "nmi_min",        "kishida"),
    Measure("nmi_geometric",        "entropy", partial(entropy.nmi, average="geometric"),  UNIT, "higher", 1.0, "nmi_geometric",  "strehl2002"),
    Measure("nmi_arithmetic",       "entropy", partial(entropy.nmi, average="arithmetic"), UNIT, "higher", 1.0, "nmi_arithmetic", "kishida"),
    Measure("nmi_max",              "entropy", partial(entropy.nmi, average="max"),        UNIT, "higher", 1.0, "nmi_max",        "kishida"),
    Measure("nmi_joint",            "entropy", partial(entropy.nmi, average="joint"),      UNIT, "higher", 1.0, "nmi_joint",      "kishida"),
    Measure("expected_mutual_information", "entropy", entropy.expected_mutual_information, FROM_ZERO, None, None, "expected_mutual_information", "vinh2010", integer_only=True, on_host=True),
    Measure("ami_min",              "entropy", partial(entropy.ami, average="min"),        TO_ONE, "higher", 1.0, "ami_min",        "vinh2010", chance_corrected=True, integer_only=True, on_host=True),
    Measure("ami_geometric",        "entropy", partial(entropy.ami, average="geometric"),  TO_ONE, "higher", 1.0, "ami_geometric",  "vinh2010", chance_corrected=True, integer_only=True, on_host=True),
    Measure("ami_arithmetic",       "entropy", partial(entropy.ami, average="arithmetic"), TO_ONE, "higher", 1.0, "ami_arithmetic", "vinh2010", chance_corrected=True, integer_only=True, on_host=True),
    Measure("ami_max",              "entropy", partial(entropy.ami, average="max"),        TO_ONE, "higher", 1.0, "ami_max",        "vinh2010", chance_corrected=True, integer_only=True, on_host=True),
    Measure("variation_of_information", "entropy", entropy.variation_of_information, FROM_ZERO, "lower", 0.0, "variation_of_information", "meila2007"),
    Measure("normalized_vi_log_n",     "entropy", partial(entropy.normalized_vi, norm="log_n"),     UNIT,       "lower", 0.0, "normalized_vi_log_n",     "meila2007"),
    Measure("normalized_vi_two_log_n", "entropy", partial(entropy.normalized_vi, norm="two_log_n"), (0.0, 0.5), "lower", 0.0, "normalized_vi_two_log_n", "reichart2009"),
    Measure("normalized_vi_log_k",     "entropy", partial(entropy.normalized_vi, norm="log_k"),     (0.0, 2.0), "lower", 0.0, "normalized_vi_log_k",     "rosenberg2007"),
    Measure("normalized_vi_two_log_k", "entropy", partial(entropy.normalized_vi, norm="two_log_k"), UNIT,       "lower", 0.0, "normalized_vi_two_log_k", "rosenberg2007"),
    Measure("normalized_vi_joint",     "entropy", partial(entropy.normalized_vi, norm="joint"),     UNIT,       "lower", 0.0, "normalized_vi_joint",     "vinh2010"),
    Measure("nvi",                  "entropy", entropy.nvi,                      FROM_ZERO, "lower",  0.0,  "nvi_k",               "reichart2009"),
    Measure("nvi_k",                "entropy", entropy.nvi_k,                    FROM_ZERO, "lower",  0.0,  "nvi",                 "reichart2009"),
    Measure("q0",                   "entropy", entropy.q0,                       FROM_ZERO, "lower",  None, None,                  "dom2001"),
    Measure("q0_bits",              "entropy", partial(entropy.q0, base=2.0),    FROM_ZERO, "lower",  None, None,                  "dom2001"),
    Measure("q2",                   "entropy", entropy.q2,                       UNIT,      "higher", 1.0,  None,                  "dom2001"),

    Measure("rand",                 "pairs",   pairs.rand,                       UNIT,      "higher", 1.0,  "rand",                "rand1971"),
    Measure("adjusted_rand",        "pairs",   pairs.adjusted_rand,              (-0.5, 1.0), "higher", 1.0, "adjusted_rand",      "hubert1985", chance_corrected=True),
    Measure("jaccard",              "pairs",   pairs.jaccard,                    UNIT,      "higher", 1.0,  "jaccard",             "jaccard1901"),
    Measure("fowlkes_mallows",      "pairs",   pairs.fowlkes_mallows,            UNIT,      "higher", 1.0,  "fowlkes_mallows",     "fowlkes1983"),
    Measure("mirkin",               "pairs",   pairs.mirkin,                     FROM_ZERO, "lower",  0.0,  "mirkin",              "mirkin1996"),
    Measure("mirkin_normalized",    "pairs",   partial(pairs.mirkin, normalized=True), UNIT, "lower", 0.0, "mirkin_normalized",   "meila2007"),
    Measure("hubert_gamma",         "pairs",   pairs.hubert_gamma,               UNIT,      "higher", None, "hubert_gamma",        "jain1988"),
    Measure("hubert_gamma_normalized", "pairs", partial(pairs.hubert_gamma, normalized=True), SIGNED, "higher", 1.0, "hubert_gamma_normalized", "hubert1985", chance_corrected=True),
    Measure("minkowski_score",      "pairs",   pairs.minkowski_score,            FROM_ZERO, "lower",  0.0,  None,                  "wu2009"),
    Measure("pair_precision",       "pairs",   pairs.pair_precision,             UNIT,      "higher", 1.0,  "pair_recall",         "wallace1983"),
    Measure("pair_recall",          "pairs",   pairs.pair_recall,                UNIT,      "higher", 1.0,  "pair_precision",      "wallace1983"),
    Measure("pair_f",               "pairs",   pairs.pair_f,                     UNIT,      "higher", 1.0,  "pair_f",              "rijsbergen1979"),

    Measure("purity",               "matching", matching.purity,                 UNIT,      "higher", 1.0,  "inverse_purity",      "zhao2001"),
    Measure("inverse_purity",       "matching", matching.inverse_purity,         UNIT,      "higher", 1.0,  "purity",              "amigo2009"),
    Measure("purity_f",             "matching", matching.purity_f,               UNIT,      "higher", 1.0,  "purity_f",            "amigo2009"),
    Measure("clustering_f",         "matching", matching.clustering_f,           UNIT,      "higher", 1.0,  None,                  "larsen1999"),
    Measure("larsen_l",             "matching", matching.larsen_l,               UNIT,      "higher", 1.0,  None,                  "meila2007"),
    Measure("van_dongen",           "matching", matching.van_dongen,             FROM_ZERO, "lower",  0.0,  "van_dongen",          "vandongen2000"),
    Measure("van_dongen_2n",        "matching", partial(matching.van_dongen, norm="2n"),  UNIT, "lower", 0.0, "van_dongen_2n",     "meila2007"),
    Measure("van_dongen_normalized", "matching", partial(matching.van_dongen, norm="max"), UNIT, "lower", 0.0, "van_dongen_normalized", "kishida"),
    Measure("many_to_one_accuracy", "matching", matching.many_to_one_accuracy,   UNIT,      "higher", 1.0,  "inverse_purity",      "reichart2009"),
    Measure("greedy_one_to_one_accuracy", "matching", matching.greedy_one_to_one_accuracy, UNIT, "higher", 1.0, "greedy_one_to_one_accuracy", "reichart2009"),
    Measure("one_to_one_accuracy",  "matching", matching.one_to_one_accuracy,    UNIT,      "higher", 1.0,  "one_to_one_accuracy", "kuhn1955", on_host=True),
    Measure("classification_error", "matching", matching.classification_error,   UNIT,      "lower",  0.0,  "classification_error", "meila2007", on_host=True),
    Measure("meila_heckerman_h",    "matching", matching.meila_heckerman_h,      UNIT,      "lower",  0.0,  "meila_heckerman_h",   "meila2007", on_host=True),
    Measure("misclassification_index", "matching", matching.misclassification_index, UNIT,  "lower",  0.0,  None,                  "zeng2002"),
    Measure("micro_precision",      "matching", matching.micro_precision,        UNIT,      "higher", 1.0,  "inverse_purity",      "dhillon2003"),
    Measure("micro_recall",         "matching", matching.micro_recall,           UNIT,      "higher", 1.0,  "inverse_purity",      "dhillon2003"),
    Measure("edit_distance",        "matching", matching.edit_distance,          FROM_ZERO, "lower",  None, None,                  "pantel2002"),
    Measure("edit_quality",         "matching", matching.edit_quality,           UNIT,      "higher", None, None,                  "pantel2002"),

    Measure("bcubed_precision",     "bcubed",  bcubed.bcubed_precision,          UNIT,      "higher", 1.0,  "bcubed_recall",       "bagga1998"),
    Measure("bcubed_recall",        "bcubed",  bcubed.bcubed_recall,             UNIT,      "higher", 1.0,  "bcubed_precision",    "bagga1998"),
    Measure("bcubed_f",             "bcubed",  bcubed.bcubed_f,                  UNIT,      "higher", 1.0,  "bcubed_f",            "amigo2009"),
    Measure("element_centric_similarity", "bcubed", bcubed.element_centric_similarity, UNIT, "higher", 1.0, "element_centric_similarity", "gates2019"),
)
# fmt: on

MEASURES: Mapping[str, Measure] = MappingProxyType({row.name: row for row in _ROWS})

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
    }
)

FAMILIES = ("entropy", "pairs", "matching", "bcubed")

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

Selection = None | str | Measure | Iterable[str | Measure]


def canonical(name: str) -> str:
    """The registry name of a name or alias."""
    return ALIASES.get(name, name)


def find(name: str, registry: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of a name or alias.

    Raises:
        ValueError: there is none; the message names the closest.
    """
    if not isinstance(name, str):
        raise ValueError(f"measures: expected the name of a measure; got {type(name).__name__}")
    lower = name.lower()
    measure = registry.get(lower) or registry.get(canonical(lower))
    if measure is None:
        known = [*registry, *(alias for alias, meant in ALIASES.items() if meant in registry)]
        close = get_close_matches(lower, known, 3, 0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else "`torchclusteval measures` lists them"
        raise ValueError(f"measures: expected the name of a measure; got {name!r} ({hint})")
    return measure


def select(measures: Selection) -> dict[Measure, bool]:
    """The measures that are asked for, each with whether it was named (and so must apply) or came with a set.

    Args:
        measures: None (the headline measures), ``"all"``, a family, a name or alias, a ``Measure``, or a list of these.

    Raises:
        ValueError: an unknown name, or two records of one name.
    """
    if not (measures is None or isinstance(measures, (str, Measure, Iterable))):
        raise ValueError(f"measures: expected names or Measure records; got {type(measures).__name__}")
    items = [measures] if measures is None or isinstance(measures, (str, Measure)) else list(measures)
    if not items:
        raise ValueError("measures: expected at least one measure; got none")
    chosen: dict[Measure, bool] = {}
    for item in items:
        if item is None or (isinstance(item, str) and item in ("all", *FAMILIES)):
            for measure in _members(item):
                chosen.setdefault(measure, False)
        else:
            chosen[_one(item)] = True
    names = [measure.name for measure in chosen]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"measures: expected different names; got two measures named {repeated!r}")
    return chosen


def _members(name: str | None) -> list[Measure]:
    if name is None:
        return [MEASURES[member] for member in DEFAULT]
    return [measure for measure in MEASURES.values() if name in ("all", measure.family)]


def _one(item: object) -> Measure:
    if isinstance(item, Measure):
        return item
    if isinstance(item, str):
        return find(item)
    raise ValueError(f"measures: expected names or Measure records; got {type(item).__name__}")
