"""Sums of the cells of tables: what measures share, on a device in one launch, of one small table by NumPy.

Else, and where a gradient or a compiler follows the cells, each quantity is computed on request, by the
property of tables or the function of tables that is :func:`launched`.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from torchclusteval.cells import reductions
from torchclusteval.cells.layouts import Cells, DenseCells
from torchclusteval.cells.quantities import CellQuantities, PairCounts
from torchclusteval.common import kernels
from torchclusteval.common.checks import not_tables
from torchclusteval.common.numerics import sum_reproducible

MOST_CELLS = 1 << 16  # of a table
FEW_CELLS = 1 << 12  # likewise, on the host
CANCELLED = 1e-5  # smaller sums of terms of both signs may have lost digits
WHOLE = ("n_items", "n_classes", "n_clusters", "n_cells", "majority_of_classes", "majority_of_clusters")
FACTS = ("empty", "identical", "is_fixed")
SUMS_OF_PAIRS = ("joined", "wanted", "separated", "unwanted", "alike", "different", "every", "determinant")
VALUES = (
    *("n_items_f64", "ss", "sd", "ds", "dd", *SUMS_OF_PAIRS),
    *("of_classes", "of_clusters", "classes_given_clusters", "clusters_given_classes", "shared", "joint", "variation"),
    *("precisions", "recalls", "sum_of_f", "weighted_f"),
)
_ON_HOST = (
    *("of_classes", "of_clusters", "classes_given_clusters", "clusters_given_classes", "joint", "variation"),
    *("precisions", "recalls", "sum_of_f", "weighted_f", "shared"),
)

T = TypeVar("T")
Array = NDArray[Any]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {}  # of tables, whose values a launch gives: the reference of its kernel


def launched(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Take the result of a function of tables from ``tables._launched``, where there is one."""
    name = function.__name__.lstrip("_")
    FUNCTIONS[name] = function

    @wraps(function)
    def value(tables: Any) -> T:
        if not hasattr(type(tables), "_launched"):
            raise not_tables(tables)
        sums: dict[str, T] | None = tables._launched
        found = None if sums is None else sums.get(name)
        return function(tables) if found is None else found

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
    import_module("torchclusteval.measures")  # most of these functions
    kernels.launch("sums", counts.reshape(size, rows, columns).contiguous(), *sizes, *results)
    rows_of = [x.view(len(x), *batch).unbind(0) for x in results]
    sums: dict[str, Any] = dict(zip((*WHOLE, *FACTS, *VALUES), chain(*rows_of), strict=True))
    sums["class_sizes"], sums["cluster_sizes"] = sizes[0].view(*batch, rows), sizes[1].view(*batch, columns)
    return sums | {"pairs": PairCounts(*(sums[name] for name in PairCounts._fields))}


def sums_on_host(cell: CellQuantities, items: int | None) -> dict[str, Tensor] | None:
    """Some of ``WHOLE`` and ``VALUES`` of one small table of whole items, to the bit as their functions have them.

    NumPy starts sooner than torch, whose sums and logarithms these are. None for other tables, and without ``items``.
    """
    cells = cell.cells
    few = isinstance(cells, DenseCells) and cells.blocking_size <= FEW_CELLS and reductions.is_small(cells)
    if not few or cells.batch_shape or not items:
        return None
    count, total = cells.values.numpy(), float(items)
    n, r, c = (x.numpy().astype(np.float64) for x in (cells.values, cell.class_sizes, cell.cluster_sizes))
    row, n_nonzero, r_nonzero, c_nonzero = r[:, None], *(np.maximum(x, 1) for x in (n, r, c))
    given = ((c - n) / n_nonzero, (row - n) / n_nonzero)
    ratios = np.concatenate([(total - r) / r_nonzero, (total - c) / c_nonzero, *(x.ravel() for x in given)])
    logs = torch.from_numpy(ratios).log1p().numpy()
    of_row, of_column, rest = logs[: len(r)], logs[len(r) : len(r) + len(c)], logs[len(r) + len(c) :]
    of_class, of_cluster = rest.reshape(2, *n.shape)  # log(c / n), log(r / n)
    best, squares = 2 * (n / (row + c_nonzero)).max(1), n * n
    by_cell = n * of_class, n * of_cluster, n * (of_row[:, None] - of_class), squares / c_nonzero
    sums = _sums(*by_cell, squares / r_nonzero[:, None])
    of_classes, best_of_class, weighted = _sums(r * of_row, best, best * r)
    of_clusters, given_clusters, given_classes, shared = (x / total for x in (*_sums(c * of_column), *sums[:3]))
    of_classes /= total
    nats = of_classes, of_clusters, given_clusters, given_classes, of_classes + given_classes
    values = np.array([*nats, given_clusters + given_classes, *sums[3:], best_of_class, weighted, shared])
    found = dict(zip(_ON_HOST, torch.from_numpy(values).unbind(), strict=True))
    if shared < CANCELLED:
        del found["shared"]
    for name, axis in (("majority_of_classes", 1), ("majority_of_clusters", 0)):
        found[name] = torch.from_numpy(np.asarray(count.max(axis).sum()))
    return found


def _sums(*parts: Array) -> Array:
    """The sum of each, in the order that :func:`sum_reproducible` has."""
    return sum_reproducible(torch.from_numpy(np.array([x.ravel() for x in parts]))).numpy()


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
        d = self.excess(cell)
        t = d / (cell.r * cell.c).clamp(min=1)
        d = d / self._at_classes(cell).double().clamp(min=1)
        whole = cell.n * torch.log1p(t.clamp(min=-1 + 2**-53)) - d
        return torch.where(t.abs() < CANCELLED, d * t * (0.5 - t / 6), whole)


def unwrapped(wrapped: Tensor, about: Tensor) -> Tensor:
    """Whole numbers as float64, from what int64 keeps of them (all but multiples of 2^64) and from a value nearby."""
    return wrapped + ((about - wrapped) / 2.0**64).round() * 2.0**64
