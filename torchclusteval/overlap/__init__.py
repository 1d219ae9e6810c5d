"""Overlapping clusterings: items with several groups at once, and the measures that judge them.

``memberships`` says which groups each item has, ``comparison`` puts two sides together, ``pairs`` counts shared groups
of pairs of items, ``bcubed``, ``groups`` and ``community`` hold the measures, ``registry`` their table.
"""

from torchclusteval.overlap.bcubed import (
    ItemValues,
    extended_bcubed_f,
    extended_bcubed_per_item,
    extended_bcubed_precision,
    extended_bcubed_recall,
    multiplicity_precision,
    multiplicity_recall,
)
from torchclusteval.overlap.community import (
    omega_index,
    omega_observed,
    overlapping_nmi_lfk,
    overlapping_nmi_max,
)
from torchclusteval.overlap.files import read_memberships
from torchclusteval.overlap.matching import overlap_inverse_purity, overlap_purity, overlap_purity_f, overlap_set_f
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.registry import OVERLAP_MEASURES, evaluate_overlapping

__all__ = [
    "OVERLAP_MEASURES",
    "ItemValues",
    "Memberships",
    "evaluate_overlapping",
    "extended_bcubed_f",
    "extended_bcubed_per_item",
    "extended_bcubed_precision",
    "extended_bcubed_recall",
    "multiplicity_precision",
    "multiplicity_recall",
    "omega_index",
    "omega_observed",
    "overlap_inverse_purity",
    "overlap_purity",
    "overlap_purity_f",
    "overlap_set_f",
    "overlapping_nmi_lfk",
    "overlapping_nmi_max",
    "read_memberships",
]
