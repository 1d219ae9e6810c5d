"""Statistical inference by resampling tables: intervals, permutation tests, paired comparison, agreement.

``bootstrap_intervals``, ``permutation_tests``, ``paired_comparison``, ``agreement``, ``cluster_recovery``,
``consensus_labels``, ``run_transitions`` and ``sampled_truth`` hold the public functions, ``results`` records.
``resampling`` scores the replicates of a resampler: of cells, items, or tables with fixed margins (``cell_resampling``,
``item_resampling``, ``null_resampling``). ``intervals`` turns replicates into intervals and p-values;
``exact_expectations`` has the exact means over permutations.
"""

from torchclusteval.inference.agreement import Stability, pairwise, stability
from torchclusteval.inference.bootstrap_intervals import bootstrap
from torchclusteval.inference.cluster_recovery import ClusterStability, cluster_stability
from torchclusteval.inference.consensus_labels import Consensus, consensus, element_consistency
from torchclusteval.inference.exact_expectations import adjusted_for_chance
from torchclusteval.inference.paired_comparison import paired_bootstrap
from torchclusteval.inference.permutation_tests import permutation_test
from torchclusteval.inference.results import Difference, Interval, ResultsByMeasure, Significance
from torchclusteval.inference.run_transitions import Transitions, transitions
from torchclusteval.inference.sampled_truth import Estimate, estimate_from_sample
from torchclusteval.inference.sampling import multinomial_tables, random_tables

__all__ = [
    "ClusterStability",
    "Consensus",
    "Difference",
    "Estimate",
    "Interval",
    "ResultsByMeasure",
    "Significance",
    "Stability",
    "Transitions",
    "adjusted_for_chance",
    "bootstrap",
    "cluster_stability",
    "consensus",
    "element_consistency",
    "estimate_from_sample",
    "multinomial_tables",
    "paired_bootstrap",
    "pairwise",
    "permutation_test",
    "random_tables",
    "stability",
    "transitions",
]
