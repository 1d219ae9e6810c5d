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
        "aricode:NVI": "normalized_vi_joint",
    }
)

_MEANT = {alias.lower(): name for alias, name in ALIASES.items()}


def canonical(name: str) -> str:
    """The registry name of a name or alias."""
    return _MEANT.get(str(name).lower(), name)  # a key that is no text is a key that is missing
