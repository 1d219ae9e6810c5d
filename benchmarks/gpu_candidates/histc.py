"""Counting by ``torch.histc``, which on CUDA counts whole numbers in shared memory, deterministic or not.

It never ran on a device.
"""

import torch
from torch import Tensor

from torchclusteval.counting import cuda
from torchclusteval.labels.encoding import EncodedPair

SHARED_CELLS = 12_284  # 48 KB of shared memory hold 12,285 int32 counters, and one of them is for excluded items


def accumulate_counts(table: Tensor, pair: EncodedPair) -> None:
    """Add the number of items in each cell to ``table``, ``(B * R * C + 1,)`` int64, in place."""
    cells, size = pair.true.size * pair.pred.size, pair.batch_shape.numel()
    height = max(1, min(size, SHARED_CELLS // cells, cuda.BLOCK_LABELS // max(1, pair.n_items)))
    dtype = torch.int32 if size * cells < 2**31 - 1 else torch.int64
    for rows, index in cuda.counter_index_blocks(pair, height, 1, dtype):
        bins = len(rows) * cells + 1
        counts = torch.histc(index, bins, min=0, max=bins)  # without limits it would synchronise to find them
        table[rows.start * cells : rows.stop * cells].add_(counts[:-1])
