"""The measures: functions of contingency tables, and the registry of facts about them.

Every measure takes tables with batch shape ``(*batch,)``, and options, and returns ``(*batch,)`` float64. Its docstring
gives the formula, the options, the range, the values of degenerate tables, and the source. Only ``pair_counts`` returns
more: four such tensors.

Aliases (``ari``, ``vi``) and the names of variants (``nmi_max``) give the functions of their measures.
"""

from typing import TYPE_CHECKING, Any

from torchclusteval.measures import (
    association,
    bcubed,
    coreference,
    entropy,
    matching,
    pair_indices,
    pairs,
    random_models,
    reduced_information,
    segmentation,
    tracking,
)
from torchclusteval.measures.aliases import ALIASES, canonical
from torchclusteval.measures.association import *
from torchclusteval.measures.bcubed import *
from torchclusteval.measures.coreference import *
from torchclusteval.measures.entropy import *
from torchclusteval.measures.matching import *
from torchclusteval.measures.pair_indices import *
from torchclusteval.measures.pairs import *
from torchclusteval.measures.random_models import *
from torchclusteval.measures.record import ONE_SIDED, REFERENCES, Measure
from torchclusteval.measures.reduced_information import *
from torchclusteval.measures.registry import DEFAULT, FAMILIES, MEASURES
from torchclusteval.measures.segmentation import *
from torchclusteval.measures.tracking import *

__all__ = ["ALIASES", "DEFAULT", "FAMILIES", "MEASURES", "ONE_SIDED", "REFERENCES", "Measure"]
__all__ += association.__all__
__all__ += bcubed.__all__
__all__ += coreference.__all__
__all__ += entropy.__all__
__all__ += matching.__all__
__all__ += pair_indices.__all__
__all__ += pairs.__all__
__all__ += random_models.__all__
__all__ += reduced_information.__all__
__all__ += segmentation.__all__
__all__ += tracking.__all__


if TYPE_CHECKING:
    from torchclusteval.measures.names import *
else:  # or type checkers would take every name

    def __getattr__(name: str) -> Any:
        """The function of an alias or a variant."""
        measure = None if name.startswith("_") else MEASURES.get(canonical(name))
        if measure is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; `torchclusteval measures` lists them")
        return measure.function
