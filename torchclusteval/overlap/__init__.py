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
