"""Is the difference real? Intervals, permutation tests and paired comparison, by resampling tables.

``resampling`` draws tables in blocks, ``bootstrapping`` and ``intervals`` turn replicates into intervals and p-values,
``expectations`` has the exact means over permutations, ``results`` the records; ``one_sample`` and ``paired`` hold the
public functions.
"""

from torchclusteval.inference.expectations import adjusted_for_chance
from torchclusteval.inference.one_sample import bootstrap, permutation_test
from torchclusteval.inference.paired import paired_bootstrap

__all__ = ["adjusted_for_chance", "bootstrap", "paired_bootstrap", "permutation_test"]
