"""The sums of tables by a Triton kernel: one program a table, tile by tile, in a fixed order.

Tiles of 16 x 16 cells, one for each thread of 8 warps, leave the compiler registers enough; no device has measured
them. This module imports Triton: :mod:`torchclusteval.common.kernels` loads it where it is there.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_CELLS = 1 << 16  # of a table: one program would take longer over more than torch operations take
TILE, WARPS = 16, 8


def start(
    counts: Tensor, class_sizes: Tensor, cluster_sizes: Tensor, whole: Tensor, facts: Tensor, values: Tensor
) -> Any:
    """Write the sums of tables; see ``sums_by_torch`` in :mod:`torchclusteval.measures.pairs`."""
    size, rows, columns = counts.shape
    if rows * columns > MAX_CELLS or not counts.is_contiguous():
        return NotImplemented
    if size:
        sum_cells[(size,)](
            counts, class_sizes, cluster_sizes, whole, facts.view(torch.uint8), values, size, rows, columns,
            ROWS=TILE, COLUMNS=TILE, num_warps=WARPS, enable_fp_fusion=False,
        )  # fmt: skip
    return None


@triton.jit
def log1p(x):  # fmt: skip
    """``log(1 + x)`` of float64 above -0.99, to the last bits: the rounding of ``1 + x`` is divided out (Kahan)."""
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.log(u) * (x / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit(do_not_specialize=["size", "rows", "columns"])
def sum_cells(
    counts, class_sizes, cluster_sizes, whole, facts, values, size, rows, columns,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Sizes by row, by column, then what needs both, in two parts: passes over a table that stays in the cache."""
    table = tl.program_id(0).to(tl.int64)
    counts += table * rows * columns
    class_sizes += table * rows
    cluster_sizes += table * columns
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)

    none = tl.zeros((ROWS,), tl.int64)
    items, classes, by_class = none, none, none
    for top in range(0, rows, ROWS):
        row, r, most = top + i, none, none
        for left in range(0, columns, COLUMNS):
            n = _read(counts, row, left + j, rows, columns)
            r += tl.sum(n, 1)
            most = tl.maximum(most, tl.max(n, 1))
        tl.store(class_sizes + row, r, mask=row < rows)
        items += r
        classes += (r > 0).to(tl.int64)
        by_class += most
    n_items, n_classes = tl.sum(items, 0), tl.sum(classes, 0)
    N = n_items.to(tl.float64)

    no_column = tl.zeros((COLUMNS,), tl.int64)
    clusters, by_cluster, of_clusters = no_column, no_column, no_column.to(tl.float64)
    for left in range(0, columns, COLUMNS):
        column, c, most = left + j, no_column, no_column
        for top in range(0, rows, ROWS):
            n = _read(counts, top + i, column, rows, columns)
            c += tl.sum(n, 0)
            most = tl.maximum(most, tl.max(n, 0))
        tl.store(cluster_sizes + column, c, mask=column < columns)
        clusters += (c > 0).to(tl.int64)
        by_cluster += most
        of_clusters += _surprisal(c.to(tl.float64), N)
    n_clusters = tl.sum(clusters, 0)
    tl.debug_barrier()  # sizes are read by other threads than wrote them

    zero = none.to(tl.float64)
    cells, ss, sd, ds, dd, precisions, recalls, f, weighted_f = none, zero, zero, zero, zero, zero, zero, zero, zero
    for top in range(0, rows, ROWS):
        best = zero
        for left in range(0, columns, COLUMNS):
            count, r_count, c_count = _with_sizes(counts, class_sizes, cluster_sizes, top + i, left + j, rows, columns)
            n, r, c = count.to(tl.float64), r_count.to(tl.float64), c_count.to(tl.float64)
            cells += tl.sum((count > 0).to(tl.int64), 1)
            ss += tl.sum(n * n - n, 1)
            sd += tl.sum(n * (c - n), 1)
            ds += tl.sum(n * (r - n), 1)
            dd += tl.sum(n * ((N - r) - (c - n)), 1)
            precisions += tl.sum(n * n / tl.maximum(c, 1.0), 1)
            recalls += tl.sum(n * n / tl.maximum(r, 1.0), 1)
            best = tl.maximum(best, tl.max(n / (r + tl.maximum(c, 1.0)), 1))
        f += 2.0 * best
        weighted_f += 2.0 * best * tl.load(class_sizes + top + i, mask=top + i < rows, other=0).to(tl.float64)

    given_clusters, given_classes, of_classes, shared = zero, zero, zero, zero
    for top in range(0, rows, ROWS):
        row_size = tl.load(class_sizes + top + i, mask=top + i < rows, other=0)
        of_classes += _surprisal(row_size.to(tl.float64), N)
        for left in range(0, columns, COLUMNS):
            count, r_count, c_count = _with_sizes(counts, class_sizes, cluster_sizes, top + i, left + j, rows, columns)
            n, r, c = count.to(tl.float64), r_count.to(tl.float64), c_count.to(tl.float64)
            some = tl.maximum(n, 1.0)
            given_clusters += tl.sum(n * log1p((c - n) / some), 1)
            given_classes += tl.sum(n * log1p((r - n) / some), 1)
            # n log(1 + t) - E t with E = r c / N and t = (n - E) / E, which has no term below 0
            wrapped = count * n_items - r_count * c_count
            low = wrapped.to(tl.float64)
            d = low + tl.floor(((n * N - r * c) - low) / 18446744073709551616.0 + 0.5) * 18446744073709551616.0
            t = d / tl.maximum(r * c, 1.0)
            d = d / tl.maximum(N, 1.0)
            term = n * log1p(tl.where(count > 0, t, 0.0)) - d
            shared += tl.sum(tl.where(tl.abs(t) < 1e-5, d * t * (0.5 - t / 6.0), term), 1)

    n_cells = tl.sum(cells, 0)
    at = whole + table
    tl.store(at, n_items)
    tl.store(at + size, n_classes)
    tl.store(at + 2 * size, n_clusters)
    tl.store(at + 3 * size, n_cells)
    tl.store(at + 4 * size, tl.sum(by_class, 0))
    tl.store(at + 5 * size, tl.sum(by_cluster, 0))
    at = facts + table
    tl.store(at, (n_items == 0).to(tl.uint8))
    tl.store(at + size, ((n_cells == n_classes) & (n_cells == n_clusters)).to(tl.uint8))
    fixed = (n_classes <= 1) | (n_clusters <= 1) | (n_classes == n_items) | (n_clusters == n_items)
    tl.store(at + 2 * size, fixed.to(tl.uint8))

    at = values + table
    total_ss, total_sd = 0.5 * tl.sum(ss, 0), 0.5 * tl.sum(sd, 0)
    total_ds, total_dd = 0.5 * tl.sum(ds, 0), 0.5 * tl.sum(dd, 0)
    joined, separated = total_ss + total_sd, total_ds + total_dd
    tl.store(at, N)
    tl.store(at + size, total_ss)
    tl.store(at + 2 * size, total_sd)
    tl.store(at + 3 * size, total_ds)
    tl.store(at + 4 * size, total_dd)
    tl.store(at + 5 * size, joined)
    tl.store(at + 6 * size, total_ss + total_ds)
    tl.store(at + 7 * size, separated)
    tl.store(at + 8 * size, total_sd + total_dd)
    tl.store(at + 9 * size, total_ss + total_dd)
    tl.store(at + 10 * size, total_sd + total_ds)
    tl.store(at + 11 * size, joined + separated)
    tl.store(at + 12 * size, total_ss * total_dd - total_sd * total_ds)
    entropy, class_remainder = tl.sum(of_classes, 0) / N, tl.sum(given_clusters, 0) / N
    cluster_remainder = tl.sum(given_classes, 0) / N
    tl.store(at + 13 * size, entropy)
    tl.store(at + 14 * size, tl.sum(of_clusters, 0) / N)
    tl.store(at + 15 * size, class_remainder)
    tl.store(at + 16 * size, cluster_remainder)
    tl.store(at + 17 * size, tl.sum(shared, 0) / N)
    tl.store(at + 18 * size, entropy + cluster_remainder)
    tl.store(at + 19 * size, class_remainder + cluster_remainder)
    tl.store(at + 20 * size, tl.sum(precisions, 0))
    tl.store(at + 21 * size, tl.sum(recalls, 0))
    tl.store(at + 22 * size, tl.sum(f, 0))
    tl.store(at + 23 * size, tl.sum(weighted_f, 0))


@triton.jit
def _read(counts, row, column, rows, columns):  # fmt: skip
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    return tl.load(counts + row[:, None] * columns + column[None, :], mask=inside, other=0)


@triton.jit
def _with_sizes(counts, class_sizes, cluster_sizes, row, column, rows, columns):  # fmt: skip
    """The counts of a tile, and the sizes of their rows and columns; 0 outside the table."""
    count = _read(counts, row, column, rows, columns)
    r = tl.load(class_sizes + row, mask=row < rows, other=0)[:, None]
    c = tl.load(cluster_sizes + column, mask=column < columns, other=0)[None, :]
    return count, tl.broadcast_to(r, count.shape), tl.broadcast_to(c, count.shape)


@triton.jit
def _surprisal(sizes, items):  # fmt: skip
    """``x log(N / x)``, and 0 for 0."""
    return sizes * log1p((items - sizes) / tl.maximum(sizes, 1.0))
