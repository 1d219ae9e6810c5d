"""Expected mutual information by a Triton kernel: each lane walks the hypergeometric distribution of one cell.

Up to a variance of ``WIDE`` a lane takes every value, by ratios of neighbours from the mode outwards; beyond, every
h-th value by the formula of :mod:`torchclusteval.measures.hypergeometric_means`. Both end where a probability is
below 1e-18 of the largest. This module imports Triton: :mod:`torchclusteval.common.kernels` loads it where it is
there.
"""

import triton
import triton.language as tl
from torch import Tensor

from torchclusteval.cells.triton_sums import log1p

WIDE = tl.constexpr(300.0)  # from this variance on, counts that matter are far above 16, as Stirling's series needs
LOG_ALIAS = tl.constexpr(43.0)  # minus the log of the error of leaving values out
BLOCK = 128  # cells that a program works on at a time


def start(out: Tensor, class_sizes: Tensor, cluster_sizes: Tensor) -> None:
    """Write parts of expected information; see ``expected_by_torch`` in ``measures.expected_mutual_info``."""
    (size, parts), rows, columns = out.shape, class_sizes.shape[1], cluster_sizes.shape[1]
    if size:
        blocks = triton.cdiv(triton.cdiv(rows * columns, BLOCK), parts)
        expect[(size, parts)](
            out, class_sizes, cluster_sizes, rows, columns, parts, blocks, BLOCK=BLOCK, enable_fp_fusion=False
        )


@triton.jit(do_not_specialize=["rows", "columns", "parts", "blocks"])
def expect(out, class_sizes, cluster_sizes, rows, columns, parts, blocks, BLOCK: tl.constexpr):  # fmt: skip
    """The cells of a part (axis 1) of a table (axis 0): the sum of ``a b / n^2 E[log(1 + d)]``."""
    table, part = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    class_sizes += table * rows
    cluster_sizes += table * columns
    lane = tl.arange(0, BLOCK)
    items = tl.zeros((BLOCK,), tl.int64)
    for begin in range(0, rows, BLOCK):
        items += tl.load(class_sizes + begin + lane, mask=begin + lane < rows, other=0)
    n = tl.sum(items, 0).to(tl.float64)
    total = tl.zeros((BLOCK,), tl.float64)
    for block in range(0, blocks):
        cell = (part * blocks + block) * BLOCK + lane
        exists = cell < rows * columns
        a = tl.load(class_sizes + cell // columns, mask=exists, other=0).to(tl.float64)
        b = tl.load(cluster_sizes + cell % columns, mask=exists, other=0).to(tl.float64)
        uncertain = (a > 0) & (b > 0) & (a < n) & (b < n)  # else padding, or a group of all items, which tells nothing
        one = uncertain.to(tl.float64)
        total += one * _of_cell(
            tl.where(uncertain, a, 1.0), tl.where(uncertain, b, 1.0), tl.where(uncertain, n, 2.0), one
        )
    tl.store(out + table * parts + part, tl.sum(total, 0) * (n / n))  # nan without items


@triton.jit
def _of_cell(a, b, n, one):  # fmt: skip
    """Shares ``(BLOCK,)`` of cells; ``one`` is 0 in lanes that have none."""
    area = a * b
    mean = (a - 1.0) * (b - 1.0) / (n - 1.0)
    variance = mean * ((n - a) * (n - b) / ((n - 1.0) * tl.maximum(n - 2.0, 1.0)))
    centred = (area >= n).to(tl.float64)  # E[d] is added in closed form
    wide = variance > WIDE
    rest = n - a - b
    low, high = tl.maximum(-rest - 1.0, 0.0), tl.minimum(a, b) - 1.0
    mode = tl.minimum(tl.maximum(tl.floor(area / (n + 1.0)), low), high)

    mass = tl.where(wide, 0.0, one)
    value = mass * _log_less_d(((mode + 1.0) * n - area) / area, centred)
    weight, m = mass, mode
    while tl.max(weight, 0) > 1e-18:  # upwards
        ratio = ((a - 1.0 - m) * (b - 1.0 - m)) / ((m + 1.0) * (rest + m + 2.0))
        weight = tl.where((m < high) & (weight > 1e-18), weight * ratio, 0.0)
        m += 1.0
        mass += weight
        value += weight * _log_less_d(tl.where(weight > 0, ((m + 1.0) * n - area) / area, 0.0), centred)
    weight, m = tl.where(wide, 0.0, one), mode
    while tl.max(weight, 0) > 1e-18:  # downwards
        ratio = (m * (rest + m + 1.0)) / ((a - m) * (b - m))
        weight = tl.where((m > low) & (weight > 1e-18), weight * ratio, 0.0)
        m -= 1.0
        mass += weight
        value += weight * _log_less_d(tl.where(weight > 0, ((m + 1.0) * n - area) / area, 0.0), centred)

    if tl.max(wide.to(tl.int32), 0) > 0:
        c = 1.0 - LOG_ALIAS / tl.maximum(variance, WIDE)
        step = tl.floor(6.283185307179586 * one / _arccos(c) + (1.0 - one))
        for side in tl.static_range(0, 2):  # from the mean upwards, then downwards
            t = tl.floor(mean) - mean
            if side == 1:
                t -= step
            weight = tl.where(wide, one, 0.0)
            while tl.max(weight, 0) > 1e-18:
                p = _relative_probability(t, mean, a, b, rest)
                weight = tl.where(weight > 1e-18, p, 0.0)
                d = (t * n + (n - a) * (n - b) / (n - 1.0)) / area
                mass += weight
                value += weight * _log_less_d(tl.where(weight > 0, d, 0.0), centred)
                if side == 0:
                    t += step
                else:
                    t -= step
    share = area / (n * n)
    return share * value / tl.where(mass > 0, mass, 1.0) + centred * ((n - a) * (n - b)) / (n * n * (n - 1.0))


@triton.jit
def _log_less_d(d, centred):  # fmt: skip
    return log1p(d) - centred * d


@triton.jit
def _relative_probability(t, mean, a, b, rest):  # fmt: skip
    """Of ``mean + t``, but for a constant: Stirling's series in the four counts of the 2 x 2 table."""
    log_p = -_log_factorial_part(mean, t) - _log_factorial_part(a - 1.0 - mean, -t)
    return tl.exp(log_p - _log_factorial_part(b - 1.0 - mean, -t) - _log_factorial_part(rest + 1.0 + mean, t))


@triton.jit
def _log_factorial_part(e, t):  # fmt: skip
    """``(c + 1/2) log(c / e) + S(c)`` of a count ``c = e + t`` with mean ``e``; far below the mean a large number."""
    count = tl.maximum(e + t, 8.0)
    inverse = 1.0 / count
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
    t = count - e
    return log1p(t / e) * (count + 0.5) + series


@triton.jit
def _arccos(x):  # fmt: skip
    """Of numbers from 0.85 to 1, from above: ``2 arcsin(sqrt((1 - x) / 2))`` by its series."""
    s = (1.0 - x) / 2.0
    root = tl.sqrt(s)
    return 2.0 * root * (1.0 + s * (1.0 / 6.0 + s * (3.0 / 40.0 + s * (5.0 / 112.0 + s * 0.05))))
