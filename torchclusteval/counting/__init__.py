"""Codes to counts: ``dispatch`` chooses the layout and the kernel; ``cpu``, ``cuda`` and ``sparse`` count,
``listed`` reads cells that are counted already, ``groups`` listed groups of items, ``intervals`` those of time (tables
of both by ``one_sided``), ``margins`` separates what one side alone groups, ``by_group`` makes tables of groups of
items."""

from torchclusteval.counting.by_group import (
    count_by_group,
    count_considered_by_group,
    count_groups,
    join_groups,
    tables_of_groups,
)
from torchclusteval.counting.dispatch import (
    add_dense,
    count_dense,
    count_sparse,
    cuda_kernel,
    fits_dense,
    flat_indices,
    resolve_layout,
    to_dense,
)
from torchclusteval.counting.groups import read_documents, read_groups
from torchclusteval.counting.intervals import read_intervals
from torchclusteval.counting.listed import read_cells
from torchclusteval.counting.margins import separate
from torchclusteval.counting.no_counts import axes_of, check_no_proportions, check_no_totals
from torchclusteval.counting.soft import expected_counts

__all__ = [
    "add_dense",
    "axes_of",
    "check_no_proportions",
    "check_no_totals",
    "count_by_group",
    "count_considered_by_group",
    "count_dense",
    "count_groups",
    "count_sparse",
    "cuda_kernel",
    "expected_counts",
    "fits_dense",
    "flat_indices",
    "join_groups",
    "read_cells",
    "read_documents",
    "read_groups",
    "read_intervals",
    "resolve_layout",
    "separate",
    "tables_of_groups",
    "to_dense",
]
