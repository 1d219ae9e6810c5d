"""Is the difference real? Intervals, permutation tests and paired comparison, by resampling tables.

``resampling`` draws tables in blocks, ``bootstrapping`` and ``intervals`` turn replicates into intervals and p-values,
``expectations`` has the exact means over permutations, ``results`` the records; ``one_sample`` and ``paired`` hold the
public functions.
"""

from torchclusteval.inference.bootstrap_intervals import bootstrap
from torchclusteval.inference.exact_expectations import adjusted_for_chance
from torchclusteval.inference.paired_comparison import paired_bootstrap
from torchclusteval.inference.permutation_tests import permutation_test

__all__ = ["adjusted_for_chance", "bootstrap", "paired_bootstrap", "permutation_test"]
