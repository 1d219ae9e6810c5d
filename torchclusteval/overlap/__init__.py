"""Overlapping clusterings, with several groups per item, and their measures.

Every measure takes two :class:`Memberships`, ``true`` with the classes of each item and ``pred`` with its clusters.
Batch shapes broadcast, named items are aligned by name, and the result is ``(*batch,)`` float64. ``chunk_size`` bounds
the memory, under 400 bytes for each unit, and changes no value: four times as many pairs of items (or of groups) are
held at once, but at least one item (one group) against all others. Two sides on different devices or without an
alignment, and a chunk size below 1, raise a ``ValueError``.

``inputs`` and ``files`` read groups, ``memberships`` holds them, ``comparison`` aligns two sides. ``intersections``
counts the groups that pairs of items share and the items that pairs of groups share. ``bcubed``, ``matching``,
``community`` and ``element_centric`` hold the measures, ``registry`` lists them; ``hierarchy`` has the weights of the
levels of a hierarchy and measures of whole trees.
"""

from torchclusteval.overlap import bcubed, community, element_centric, hierarchy, matching
from torchclusteval.overlap.bcubed import *
from torchclusteval.overlap.community import *
from torchclusteval.overlap.element_centric import *
from torchclusteval.overlap.files import read_memberships
from torchclusteval.overlap.hierarchy import *
from torchclusteval.overlap.matching import *
from torchclusteval.overlap.memberships import Memberships
from torchclusteval.overlap.registry import OVERLAP_DEFAULT, OVERLAP_MEASURES, evaluate_overlapping

__all__ = ["OVERLAP_DEFAULT", "OVERLAP_MEASURES", "Memberships", "evaluate_overlapping", "read_memberships"]
__all__ += bcubed.__all__
__all__ += community.__all__
__all__ += element_centric.__all__
__all__ += hierarchy.__all__
__all__ += matching.__all__
