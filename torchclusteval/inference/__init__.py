"""Statistical inference by resampling tables: intervals, permutation tests, paired comparison, agreement.

``bootstrap_intervals``, ``permutation_tests``, ``paired_comparison``, ``group_comparison``, ``agreement``,
``cluster_recovery``, ``run_agreement`` and ``sampled_truth`` hold the public functions, ``results`` records.
``resampling`` scores the resamples of a resampler: of cells (``cell_resampling``), classes (``class_resampling``) or
groups (``group_resampling``); ``sampling`` draws tables, ``intervals`` turns draws into ends.
"""

from torchclusteval.inference.agreement import pairwise, stability
from torchclusteval.inference.bootstrap_intervals import bootstrap
from torchclusteval.inference.cluster_recovery import cluster_stability
from torchclusteval.inference.exact_expectations import adjusted_for_chance
from torchclusteval.inference.group_comparison import paired_groups
from torchclusteval.inference.paired_comparison import paired_bootstrap
from torchclusteval.inference.permutation_tests import permutation_test
from torchclusteval.inference.run_agreement import consensus, element_consistency, transitions
from torchclusteval.inference.sampled_truth import estimate_from_sample
from torchclusteval.inference.sampling import multinomial_tables, random_tables

__all__ = ["adjusted_for_chance", "bootstrap", "cluster_stability", "consensus", "element_consistency"]
__all__ += ["estimate_from_sample", "multinomial_tables", "paired_bootstrap", "paired_groups", "pairwise"]
__all__ += ["permutation_test", "random_tables", "stability", "transitions"]
