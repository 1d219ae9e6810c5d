"""More ways to count on CUDA than those of the package; no card has yet shown them to be faster.

``gpu_check.py`` times them next to the package's: the Triton kernel (``launch``) and the torch operations that stand in
for it (``scatter``, ``privatized``). One that wins moves into the package; one that loses goes.

    histc    ``torch.histc`` of int32 indices, which counts in shared memory; rows of the batch in groups that fit
"""

import torch
from torch import Tensor

from gpu_candidates import histc
from torchclusteval.counting import cuda
from torchclusteval.counting.dispatch import add_dense
from torchclusteval.labels.encoding import EncodedPair

CANDIDATES = ("histc",)
KERNELS = ("launch", *cuda.KERNELS, *CANDIDATES)


def supports(pair: EncodedPair, kernel: str) -> bool:
    """Whether a kernel can count this pair, slowly or not."""
    return kernel != "histc" or pair.device.type == "cuda"  # on the CPU torch.histc takes no whole numbers


def count_tables(pair: EncodedPair, kernel: str) -> Tensor:
    """Count labels without weights by one of ``KERNELS``; ``(*batch, R, C)`` int64."""
    rows, columns = pair.true.size, pair.pred.size
    table = torch.zeros(pair.batch_shape.numel() * rows * columns + 1, dtype=torch.int64, device=pair.device)
    if kernel == "launch":
        add_dense(table, pair)
    elif kernel == "histc":
        histc.accumulate_counts(table, pair)
    else:
        cuda.accumulate_counts(table, pair, kernel)
    return table[:-1].view(*pair.batch_shape, rows, columns)
