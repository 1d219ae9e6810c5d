"""Codes to counts: ``dispatch`` chooses the layout and the kernel; ``cpu``, ``cuda`` and ``sparse`` count,
``listed`` reads cells that are counted already, ``groups`` groups of items, ``margins`` separates what one side alone
groups."""

from torchclusteval.counting.dispatch import (
    add_dense,
    check_layout,
    count_dense,
    count_sparse,
    cuda_kernel,
    fits_dense,
    flat_indices,
    resolve_layout,
    to_dense,
)
from torchclusteval.counting.groups import read_documents, read_groups
from torchclusteval.counting.listed import read_cells
from torchclusteval.counting.margins import separate
from torchclusteval.counting.soft import expected_counts

__all__ = [
    "add_dense",
    "check_layout",
    "count_dense",
    "count_sparse",
    "cuda_kernel",
    "expected_counts",
    "fits_dense",
    "flat_indices",
    "read_cells",
    "read_documents",
    "read_groups",
    "resolve_layout",
    "separate",
    "to_dense",
]
