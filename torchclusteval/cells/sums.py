"""Sums of the cells of tables: all that measures share, on a device in one launch, of one small table by NumPy.

Else, and where a gradient or a compiler follows the cells, each quantity is worked out when it is asked for, by the
property of tables or the function of tables that is :func:`launched`.
"""

from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells
from torchclusteval.cells.quantities import CellQuantities, PairCounts
from torchclusteval.common import kernels
from torchclusteval.common.checks import not_tables

MOST_CELLS = 1 << 16  # of a table
FEW_CELLS, MOST_ITEMS = 1 << 12, 1 << 26  # of one on the host
CANCELLED = 1e-5  # smaller sums of terms of both signs may have lost digits
WHOLE = ("n_items", "n_classes", "n_clusters", "n_cells", "majority_of_classes", "majority_of_clusters")
FACTS = ("empty", "identical", "is_fixed")
SUMS_OF_PAIRS = ("joined", "wanted", "separated", "unwanted", "alike", "different", "every", "determinant")
VALUES = (
    *("n_items_f64", "ss", "sd", "ds", "dd", *SUMS_OF_PAIRS),
    *("of_classes", "of_clusters", "classes_given_clusters", "clusters_given_classes", "shared", "joint", "variation"),
    *("precisions", "recalls", "sum_of_f", "weighted_f"),
)
_NAMES = ("class_sizes", "cluster_sizes", *WHOLE, *FACTS, *VALUES)

T = TypeVar("T")


def launched(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Take the result of a function of tables from ``tables._launched``, where there is one."""
    name = function.__name__.lstrip("_")

    @wraps(function)
    def value(tables: Any) -> T:
        if not hasattr(type(tables), "_launched"):
            raise not_tables(tables)
        sums: dict[str, T] | None = tables._launched
        return function(tables) if sums is None else sums[name]

    return value


def sums_on_device(cells: Cells) -> dict[str, Any] | None:
    """All sums by one launch, for dense tables of whole items on CUDA; None for others.

    They are the int64 sizes of both sides, ``(*batch,)`` each of ``WHOLE`` int64, ``FACTS`` bool and ``VALUES`` float64
    and the pairs.
    """
    counts = cells.values
    if counts.device.type != "cuda" or counts.dtype != torch.int64 or torch.compiler.is_compiling():
        return None
    if not isinstance(cells, DenseCells) or not 0 < cells.blocking_size <= MOST_CELLS:
        return None
    batch, (rows, columns), device = cells.batch_shape, cells.shape, counts.device
    size = batch.numel()
    sizes = [torch.empty((size, x), dtype=torch.int64, device=device) for x in (rows, columns)]
    results = [
        torch.empty((len(names), size), dtype=dtype, device=device)
        for names, dtype in ((WHOLE, torch.int64), (FACTS, torch.bool), (VALUES, torch.float64))
    ]
    kernels.launch("sums", counts.reshape(size, rows, columns).contiguous(), *sizes, *results)
    rows_of = [x.view(len(x), *batch).unbind(0) for x in results]
    each = chain((sizes[0].view(*batch, rows), sizes[1].view(*batch, columns)), *rows_of)
    sums: dict[str, Any] = dict(zip(_NAMES, each, strict=True))
    return sums | {"pairs": _pairs_of(sums)}


def sums_by_torch(
    counts: Tensor, class_sizes: Tensor, cluster_sizes: Tensor, whole: Tensor, facts: Tensor, values: Tensor
) -> None:
    """Write the sums of tables.

    Args:
        counts: ``(B, R, C)`` int64.
        class_sizes: result, ``(B, R)`` int64.
        cluster_sizes: result, ``(B, C)`` int64.
        whole: result, ``WHOLE`` by ``B`` int64: the last two are sums of the largest cells of classes and of clusters.
        facts: result, ``FACTS`` by ``B`` bool.
        values: result, ``VALUES`` by ``B`` float64: pairs, entropies in nats (nan without items), the sums of
            ``n^2 / c``, ``n^2 / r``, of the largest ``2 n / (r + c)`` of each class, and of these times ``r``.
    """
    sizes, *sums = _sums_of(torch, counts)
    for to, of in zip((class_sizes, cluster_sizes), sizes, strict=True):
        to.copy_(of)
    for to, some in zip((whole, facts, values), sums, strict=True):
        to.copy_(torch.stack(some))


def sums_on_host(cells: Cells, items: int | None) -> dict[str, Any] | None:
    """As :func:`sums_on_device`, of one small table of some items on the CPU, by NumPy, whose calls start faster.

    None for others: ``items`` of a batch or of masses; so many that their pairs are not exact.
    """
    if not isinstance(cells, DenseCells) or cells.batch_shape or not items or items > MOST_ITEMS:
        return None
    if not 0 < cells.blocking_size <= FEW_CELLS:
        return None
    sizes, *sums = _sums_of(np, cells.counts.numpy())
    return _Tensors(dict(zip(_NAMES, chain(sizes, *sums), strict=True)))


class _Tensors(dict[str, Any]):
    """Those of what NumPy found, made when they are asked for."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    def __missing__(self, name: str) -> Any:
        made = torch.from_numpy(np.asarray(self.found[name])) if name != "pairs" else _pairs_of(self)
        self[name] = made
        return made


def _pairs_of(sums: dict[str, Tensor]) -> PairCounts:
    return PairCounts(sums["ss"], sums["sd"], sums["ds"], sums["dd"])


def _sums_of(xp: Any, count: Any) -> tuple[list[Any], ...]:
    """Sizes of both sides, and what ``WHOLE``, ``FACTS`` and ``VALUES`` name, of tables ``(*batch, R, C)``, int64.

    ``xp`` is torch or NumPy: what is called here has one name in both.
    """
    sizes = [count.sum(-1), count.sum(-2)]
    items, classes, clusters = sizes[0].sum(-1), *((x > 0).sum(-1) for x in sizes)
    n, r, c, total = (xp.asarray(x, dtype=xp.float64) for x in (count, *sizes, items))
    row, column, all_items = r[..., None], c[..., None, :], total[..., None]
    n_nonzero, r_nonzero, c_nonzero, squares = n + (n == 0), r + (r == 0), column + (column == 0), n * n
    rest_of_class, rest_of_cluster = row - n, column - n

    def each(x: Any) -> Any:
        return x.sum((-2, -1))

    cells = each(count > 0)
    whole = [items, classes, clusters, cells, *(xp.amax(count, axis).sum(-1) for axis in (-1, -2))]
    rest = (all_items - r)[..., None] - rest_of_cluster
    ordered = squares - n, n * rest_of_cluster, n * rest_of_class, n * rest
    ss, sd, ds, dd = (each(x) * 0.5 for x in ordered)
    pairs = [ss, sd, ds, dd, ss + sd, ss + ds, ds + dd, sd + dd, ss + dd, sd + ds, ss + sd + (ds + dd)]
    product = row * column
    excess = n * all_items[..., None] - product  # exact of few items, as all are on the host
    if xp is torch:
        excess = unwrapped(count * items[..., None, None] - sizes[0][..., None] * sizes[1][..., None, :], excess)
    nats = [
        (r * xp.log1p((all_items - r) / r_nonzero)).sum(-1) / total,
        (c * xp.log1p((all_items - c) / c_nonzero[..., 0, :])).sum(-1) / total,
        *(each(n * xp.log1p(x / n_nonzero)) / total for x in (rest_of_cluster, rest_of_class)),
        each(_divergence(n, excess, product, all_items[..., None], xp)) / total,
    ]
    best = xp.amax(2 * n / (row + c_nonzero), -1)
    sums = [total, *pairs, ss * dd - sd * ds, *nats, nats[0] + nats[3], nats[2] + nats[3]]
    sums += [each(squares / c_nonzero), each(squares / r_nonzero[..., None]), best.sum(-1), (best * r).sum(-1)]
    same = (cells == classes) & (cells == clusters)
    fixed = (classes <= 1) | (clusters <= 1) | (classes == items) | (clusters == items)
    return sizes, whole, [items == 0, same, fixed], sums


class Independence(NamedTuple):
    """How far the cells of whole items are from those of independent sides, ``E = r c / N``, by exact differences."""

    items: Tensor  # (*batch,) int64, and so are the sizes
    class_sizes: Tensor  # (*batch, R)
    cluster_sizes: Tensor  # (*batch, C)

    def _at_classes(self, cell: CellQuantities) -> Tensor:
        return cell.at_classes(self.items.unsqueeze(-1).expand_as(self.class_sizes))

    def wrapped(self, cell: CellQuantities) -> Tensor:
        """``n N - r c`` less some multiple of 2^64."""
        expected = cell.at_classes(self.class_sizes) * cell.at_clusters(self.cluster_sizes)
        return cell.count * self._at_classes(cell) - expected

    def excess(self, cell: CellQuantities) -> Tensor:
        """``n N - r c``."""
        return unwrapped(self.wrapped(cell), cell.n * self._at_classes(cell).double() - cell.r * cell.c)

    def divergence(self, cell: CellQuantities) -> Tensor:
        """``n log(1 + t) - E t`` with ``t = (n - E) / E``, which is not below 0; the sum is N times the information."""
        return _divergence(cell.n, self.excess(cell), cell.r * cell.c, self._at_classes(cell).double(), torch)


def _divergence(n: Any, excess: Any, product: Any, items: Any, xp: Any) -> Any:
    t, d = excess / (product + (product == 0)), excess / (items + (items == 0))
    whole = n * xp.log1p(t.clip(min=-1 + 2**-53)) - d
    return xp.where(abs(t) < CANCELLED, d * t * (0.5 - t / 6), whole)


def unwrapped(wrapped: Any, about: Any) -> Any:
    """Whole numbers as float64, from what int64 keeps of them (all but multiples of 2^64) and from a value nearby."""
    return wrapped + ((about - wrapped) / 2.0**64).round() * 2.0**64


def _sample(device: torch.device) -> kernels.Arguments:
    """Tables of several tiles, with empty rows and columns."""
    counts = torch.arange(3 * 37 * 70, device=device).view(3, 37, 70) % 11 * (torch.arange(70, device=device) % 5 > 0)
    counts[1, 20:] = 0
    shapes = [(3, 37), (3, 70), (len(WHOLE), 3), (len(FACTS), 3), (len(VALUES), 3)]
    dtypes = [*[torch.int64] * 3, torch.bool, torch.float64]
    results = [torch.zeros(x, dtype=y, device=device) for x, y in zip(shapes, dtypes, strict=True)]
    return [counts, *results], {}


kernels.define("sums", "torchclusteval.cells.triton_sums", sums_by_torch, _sample)
