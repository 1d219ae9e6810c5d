"""Overlapping clusterings, whose items may have several groups at once, and the measures that score them.

Every measure takes ``true``, the classes of each item, and ``pred``, the clusters of each item, both as
:class:`Memberships`. Batch shapes broadcast, named items are aligned by name, and the result is ``(*batch,)`` float64.
``chunk_size`` is about how many pairs of items (under 400 bytes each), or a quarter of the pairs of groups, to hold at
once, but never less than one item, or one group, against all others; it bounds the memory and changes no value.
A ``ValueError`` is raised if the two are on different devices or cannot be aligned, or for a chunk size below 1.

``inputs`` and ``files`` read groups, ``memberships`` holds them, ``comparison`` aligns two sides. ``intersections``
counts the groups that pairs of items share and the items that pairs of groups share. ``bcubed``, ``matching``,
``community`` and ``element_centric`` hold the measures, ``registry`` lists them; ``hierarchy`` holds the weights of the
levels of a hierarchy and what compares whole trees.
"""

from torchclusteval.overlap.bcubed import (
    extended_bcubed_f,
    extended_bcubed_per_item,
    extended_bcubed_precision,
    extended_bcubed_recall,
    multiplicity_precision,
    multiplicity_recall,
)
from torchclusteval.overlap.community import (
    fuzzy_omega,
    omega_index,
    omega_observed,
    overlap_quality,
    overlapping_nmi_lfk,
    overlapping_nmi_max,
    partition_closeness_simple,
)
from torchclusteval.overlap.element_centric import overlap_element_centric, overlap_element_centric_per_item
from torchclusteval.overlap.files import read_memberships
from torchclusteval.overlap.hierarchy import dendrogram_purity, fowlkes_mallows_of_cuts, hierarchy_weights
from torchclusteval.overlap.matching import (
    average_f1,
    geometric_accuracy,
    geometric_ppv,
    maximum_matching_ratio,
    nf1,
    overlap_inverse_purity,
    overlap_purity,
    overlap_purity_f,
    overlap_set_f,
)
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.registry import OVERLAP_DEFAULT, OVERLAP_MEASURES, evaluate_overlapping

__all__ = [
    "OVERLAP_DEFAULT",
    "OVERLAP_MEASURES",
    "Memberships",
    "average_f1",
    "dendrogram_purity",
    "evaluate_overlapping",
    "extended_bcubed_f",
    "extended_bcubed_per_item",
    "extended_bcubed_precision",
    "extended_bcubed_recall",
    "fowlkes_mallows_of_cuts",
    "fuzzy_omega",
    "geometric_accuracy",
    "geometric_ppv",
    "hierarchy_weights",
    "maximum_matching_ratio",
    "multiplicity_precision",
    "multiplicity_recall",
    "nf1",
    "omega_index",
    "omega_observed",
    "overlap_element_centric",
    "overlap_element_centric_per_item",
    "overlap_inverse_purity",
    "overlap_purity",
    "overlap_purity_f",
    "overlap_quality",
    "overlap_set_f",
    "overlapping_nmi_lfk",
    "overlapping_nmi_max",
    "partition_closeness_simple",
    "read_memberships",
]
