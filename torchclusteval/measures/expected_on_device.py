"""Expected mutual information on a device in one launch, without waiting: equally many terms for every pair of sizes.

The torch operations here take the windows of :mod:`torchclusteval.measures.expected_mutual_info` at their largest
width, and from ``LEAST_MEAN`` on the series of :mod:`torchclusteval.measures.hypergeometric_means`.
"""

import torch
from torch import Tensor

from torchclusteval.common import kernels
from torchclusteval.common.threads import pieces
from torchclusteval.measures.expected_mutual_info import expected_mutual_information
from torchclusteval.measures.hypergeometric_means import LEAST_MEAN, MORE_MOMENTS, mean_by_moments, moments

REACH = 120  # of a window at a variance of ``LEAST_MEAN``
PIECE_TERMS = 1 << 22  # worked on at a time
MOST_PAIRS = 1 << 20
PART_CELLS = 1 << 10  # that one program of the kernel works on


def expected_on_device(class_sizes: Tensor, cluster_sizes: Tensor) -> Tensor:
    """``(B,)`` nats from sizes ``(B, R)`` and ``(B, C)`` int64; nan without items.

    In tables with more than ``MOST_PAIRS`` pairs many are equal; the host finds these and works each out once.
    """
    cells = class_sizes.shape[1] * cluster_sizes.shape[1]
    if cells > MOST_PAIRS or not cells:
        return expected_mutual_information(class_sizes, cluster_sizes)
    out = torch.empty((len(class_sizes), -(-cells // PART_CELLS)), dtype=torch.float64, device=class_sizes.device)
    kernels.launch("expected", out, class_sizes.contiguous(), cluster_sizes.contiguous())
    return out.squeeze(1) if out.shape[1] == 1 else out.sum(1)


def expected_by_torch(out: Tensor, class_sizes: Tensor, cluster_sizes: Tensor) -> None:
    """Write expected information, in parts that add up.

    Args:
        out: result, ``(B, parts)`` float64.
        class_sizes: ``(B, R)`` int64; zeros are padding.
        cluster_sizes: ``(B, C)`` int64, likewise.
    """
    size, shape = len(out), (len(out), class_sizes.shape[1], cluster_sizes.shape[1])
    n = class_sizes.sum(1).double().view(-1, 1, 1)
    sides = class_sizes.double().unsqueeze(2), cluster_sizes.double().unsqueeze(1), n
    flat = [x.expand(shape).reshape(-1) for x in sides]
    values = [
        _of_pairs(*(x[piece.start : piece.stop] for x in flat))
        for piece in pieces(range(len(flat[0])), PIECE_TERMS // (2 * REACH + 2))
    ]
    total = torch.cat(values).view(size, -1).sum(1) if values else n.view(-1)
    out.zero_()
    out[:, 0].add_(total * (n / n).view(-1))


def _of_pairs(a: Tensor, b: Tensor, n: Tensor) -> Tensor:
    """Shares ``(P,)`` of pairs of sizes in the expected information of ``n`` items."""
    uncertain = (a > 0) & (b > 0) & (a < n) & (b < n)  # else padding, or a group of all items, which tells nothing
    a, b, n = a.where(uncertain, 1.0), b.where(uncertain, 1.0), n.where(uncertain, 2.0)
    area, least = a * b, a + b - (n + 1)
    centred = (area >= n).double()
    mode = torch.floor(area / (n + 1))
    k = torch.arange(2 * REACH + 2, device=a.device).unsqueeze(1)
    m = k + torch.maximum(least, mode - REACH).clamp(min=0)  # (terms, P)
    ratio = ((a - m) * (b - m) / ((m - least) * m)).clamp(min=0)  # 0 beyond the last value
    weight = torch.cumprod(torch.where(k > 0, ratio, 1.0), 0)
    d = ((m + 1) * n - area) / area
    near = ((torch.log1p(d) - centred * d) * weight).sum(0) / weight.sum(0)
    near = near + centred * (n - a) * (n - b) / (area * (n - 1))
    far = mean_by_moments(a, b, n, *MORE_MOMENTS, torch)
    value = torch.where(moments(a, b, n)[0] < LEAST_MEAN, near, far)
    return torch.where(uncertain, value * (area / (n * n)), 0.0)


def _sample(device: torch.device) -> kernels.Arguments:
    """Small tables, padding, a single group, no items, and means on both sides of ``LEAST_MEAN``."""
    classes = [[5, 7, 0], [12, 0, 0], [0, 0, 0], [700, 900, 3], [40_000, 1_000_000, 9]]
    clusters = [[3, 9, 0, 0], [1, 11, 0, 0], [0, 0, 0, 0], [1, 2, 800, 800], [1_000_000, 9, 40_000, 0]]
    sizes = [torch.tensor(x, device=device) for x in (classes, clusters)]
    return [torch.zeros((5, 1), dtype=torch.float64, device=device), *sizes], {}


kernels.define("expected", "torchclusteval.measures.triton_information", expected_by_torch, _sample)
