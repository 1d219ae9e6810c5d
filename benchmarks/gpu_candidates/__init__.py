"""Counting kernels that a card has not yet shown to be faster than those of ``torchclusteval.counting.cuda``.

``gpu_check.py`` times them beside the package's. One that wins moves into the package; one that loses goes.

    histc    ``torch.histc`` of int32 indices, which counts in shared memory; rows of the batch in groups that fit
    triton   a kernel that reads labels once, in their own type, and writes nothing but tables (needs Triton)
"""

import importlib.util

import torch
from torch import Tensor

from gpu_candidates import histc
from torchclusteval.counting import cuda
from torchclusteval.labels.encoding import EncodedPair

CANDIDATES = ("histc", "triton")
KERNELS = (*cuda.KERNELS, *CANDIDATES)


def supports(pair: EncodedPair, kernel: str) -> bool:
    """Whether a kernel can count this pair, slowly or not."""
    if kernel == "histc":
        return pair.device.type == "cuda"  # on the CPU torch.histc takes no whole numbers
    if kernel != "triton":
        return True
    if pair.device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    from gpu_candidates import triton_kernel

    return triton_kernel.supports(pair)


def count_tables(pair: EncodedPair, kernel: str) -> Tensor:
    """Count labels without weights by one of ``KERNELS``; ``(*batch, R, C)`` int64."""
    rows, columns = pair.true.size, pair.pred.size
    table = torch.zeros(pair.batch_shape.numel() * rows * columns + 1, dtype=torch.int64, device=pair.device)
    if kernel == "triton":
        from gpu_candidates import triton_kernel

        triton_kernel.accumulate_counts(table, pair)
    elif kernel == "histc":
        histc.accumulate_counts(table, pair)
    else:
        cuda.accumulate_counts(table, pair, kernel)
    return table[:-1].view(*pair.batch_shape, rows, columns)
