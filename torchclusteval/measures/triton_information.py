"""Expected mutual information by a Triton kernel: each lane walks the hypergeometric distribution of one cell.

Up to a mean of ``LEAST_MEAN`` a lane takes every value, by ratios of neighbours from the mode outwards until a
probability is below 1e-18 of the largest; beyond, the moments of :mod:`torchclusteval.measures.hypergeometric_means`.
This module imports Triton: :mod:`torchclusteval.common.kernels` loads it where it is there.
"""

import triton
import triton.language as tl
from torch import Tensor

from torchclusteval.cells.triton_sums import log1p
from torchclusteval.measures import hypergeometric_means

LEAST_MEAN = tl.constexpr(hypergeometric_means.LEAST_MEAN)
BLOCK = 128  # cells that a program works on at a time


def start(out: Tensor, class_sizes: Tensor, cluster_sizes: Tensor) -> None:
    """Write parts of expected information; see ``expected_by_torch`` in ``measures.expected_on_device``."""
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
    centred = (area >= n).to(tl.float64)  # E[d] is added in closed form
    wide = (a - 1.0) * (b - 1.0) >= (n - 1.0) * LEAST_MEAN
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

    value = value / tl.where(mass > 0, mass, 1.0) + centred * ((n - a) * (n - b)) / (area * (n - 1.0))
    if tl.max(wide.to(tl.int32), 0) > 0:
        value = tl.where(wide, _by_moments(a, b, n), value)
    return value * (area / (n * n))


@triton.jit
def _log_less_d(d, centred):  # fmt: skip
    return log1p(d) - centred * d


@triton.jit
def _by_moments(a, b, n):  # fmt: skip
    """``mean_by_moments`` of 20 moments; ``q1`` is that before the last, ``q0``."""
    items = n - 1.0
    mean = (a - 1.0) * (b - 1.0) / items
    left, right = (a - 1.0) * (n - b) / items, (b - 1.0) * (n - a) / items
    spread = left * right * (4.0 / items)
    skew = (2.0 * (left + right) - items) / items
    none = mean * 0.0
    q0, q1, q2, q3, q4, q5 = spread * (items / (items - 1.0)), none, none + 1.0, none, none, none
    scale = -0.5 / (mean + 1.0)
    power = scale * scale
    total = q0 * power / 2.0
    for k in tl.static_range(2, 20):
        two = k * (k - 1) // 2
        three = two * (k - 2) // 3
        four = three * (k - 3) // 4
        five = four * (k - 4) // 5
        odd = k * q0 + three * q2 + five * q4
        even = k * q1 + three * q3 + five * q5
        moment = spread * even - skew * odd - ((two - three / items) * q1 + four * q3)
        moment = moment * (items / (items - k))
        q0, q1, q2, q3, q4, q5 = moment, q0, q1, q2, q3, q4
        power *= scale
        total += moment * power / (k + 1)
    return log1p((n - a) * (n - b) / ((n - 1.0) * (a * b))) - total
