"""Codes to counts: ``dispatch`` chooses the layout and the kernel; ``cpu``, ``cuda`` and ``sparse`` count."""

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

__all__ = [
    "add_dense",
    "count_dense",
    "count_sparse",
    "cuda_kernel",
    "fits_dense",
    "flat_indices",
    "resolve_layout",
    "to_dense",
]
