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
from torchclusteval.cells.pairs import MAX_SQUARED
from torchclusteval.cells.quantities import CellQuantities, PairCounts
from torchclusteval.common import kernels
from torchclusteval.common.checks import not_tables
from torchclusteval.common.lazy import key_of
from torchclusteval.common.numerics import tensor_of_number

MOST_CELLS = 1 << 16  # of a table
FEW_CELLS = 1 << 12  # likewise, on the host
CANCELLED = 1e-5  # smaller sums of terms of both signs may have lost digits
WHOLE = ("n_items", "n_classes", "n_clusters", "n_cells", "majority_of_classes", "majority_of_clusters")
FACTS = ("empty", "identical", "is_fixed")
SUMS_OF_PAIRS = ("joined", "wanted", "separated", "unwanted", "alike", "different", "every", "determinant")
SUMS_OF_NATS = (
    *("of_classes", "of_clusters", "classes_given_clusters", "clusters_given_classes", "shared", "joint", "variation"),
    *("precisions", "recalls", "sum_of_f", "weighted_f"),
)
VALUES = ("n_items_f64", *PairCounts._fields, *SUMS_OF_PAIRS, *SUMS_OF_NATS)

T = TypeVar("T")
Array = NDArray[Any]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {}  # of tables, whose values a launch gives: the reference of its kernel


def launched(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Keep the value of a function on its tables, from ``tables._launched`` where it is there."""
    name = function.__name__.lstrip("_")
    key = function.__name__ if "." in function.__qualname__ else key_of(function)  # as properties have it
    FUNCTIONS[name] = function

    @wraps(function)
    def value(tables: Any) -> T:
        try:
            kept: dict[str, T] = tables._memo
            if key in kept:
                return kept[key]
            sums = tables._launched or {}
        except AttributeError:
            raise not_tables(tables) from None
        kept[key] = found = sums[name] if name in sums else function(tables)
        return found

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


class Numbers:
    """Sums of one table by name, as Python numbers; tensors of them are made on request."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> Any:
        value = self.values[name]
        if isinstance(value, tuple):
            return type(value)(*map(tensor_of_number, value))
        return value if isinstance(value, bool) else tensor_of_number(value)


def sums_on_host(cell: CellQuantities, items: int | None, only_pairs: bool) -> Numbers | None:
    """Pairs, and more of ``WHOLE`` and ``VALUES``, of one small table of whole items, as their functions have them.

    They are the same to the bit: NumPy starts sooner than torch, whose sums and logarithms these are, and Python
    sooner than either with one number. None for other tables, and without ``items``.
    """
    cells = cell.cells
    few = isinstance(cells, DenseCells) and cells.blocking_size <= FEW_CELLS and reductions.is_small(cells)
    if not few or cells.batch_shape or not items or items > MAX_SQUARED:
        return None
    count, classes, clusters = (x.numpy() for x in (cells.values, cell.class_sizes, cell.cluster_sizes))
    values: tuple[Any, ...] = _sums_of_pairs(items, *(int(x.dot(x)) for x in (count.reshape(-1), classes, clusters)))
    joined, wanted, separated, unwanted, _, different = values[5:11]
    ordinary = min(joined, wanted, separated, unwanted, different) > 0
    found: dict[str, Any] = {"all_ordinary": ordinary, "n_items": items, "pairs": PairCounts(*values[1:5])}
    if not only_pairs:
        values += _sums_of_nats(items, count, classes, clusters)
        rows, columns = classes.tolist(), clusters.tolist()
        found |= {"n_classes": len(rows) - rows.count(0), "n_clusters": len(columns) - columns.count(0)}
        found["largest_groups"] = max(rows) + max(columns)
        found["majority_of_classes"] = sum(np.maximum.reduce(count, 1).tolist())
        found["majority_of_clusters"] = sum(np.maximum.reduce(count, 0).tolist())
    found |= zip(VALUES, values, strict=False)
    if not only_pairs and found["shared"] < CANCELLED:
        del found["shared"]
    return Numbers(found)


def _sums_of_pairs(items: int, both: int, of_classes: int, of_clusters: int) -> tuple[float, ...]:
    """``VALUES`` up to the sums of nats, from the sums of the squares of the cells and of the sizes, exact integers."""
    ss, sd, ds = (both - items) / 2, (of_clusters - both) / 2, (of_classes - both) / 2
    dd = (items * items - of_clusters - of_classes + both) / 2
    joined, separated = ss + sd, ds + dd
    sums = joined, ss + ds, separated, sd + dd, ss + dd, sd + ds, joined + separated, ss * dd - sd * ds
    return float(items), ss, sd, ds, dd, *sums


def _sums_of_nats(items: int, count: Array, classes: Array, clusters: Array) -> tuple[float, ...]:
    """``SUMS_OF_NATS``, from the cells and the sizes of both sides."""
    table = np.empty((len(classes) + 1, len(clusters) + 1))
    n, r, c = table[:-1, :-1], table[:-1, -1], table[-1, :-1]
    n[:], r[:], c[:], table[-1, -1] = count, classes, clusters, items
    nonzero, logs = np.maximum(table, 1), np.empty((2, *table.shape))
    np.subtract(table[-1], table, out=logs[0])
    np.subtract(table[:, -1:], table, out=logs[1])
    logs /= nonzero
    torch.from_numpy(logs).log1p_()  # log(c / n), next to it log(N / r), and log(r / n), below it log(N / c)
    terms, cells, by_class = logs * table, np.empty((5, *n.shape)), np.empty((3, len(r)))
    cells[:2] = terms[:, :-1, :-1]
    np.multiply(n, logs[0, :-1, -1:] - logs[0, :-1, :-1], out=cells[2])
    squares = n * n
    np.divide(squares, nonzero[-1, :-1], out=cells[3])
    np.divide(squares, nonzero[:-1, -1:], out=cells[4])
    by_class[0] = terms[0, :-1, -1]
    np.multiply(np.maximum.reduce(n / (r[:, None] + nonzero[-1, :-1]), 1), 2, out=by_class[1])
    np.multiply(by_class[1], r, out=by_class[2])
    *of_cells, precisions, recalls = torch.from_numpy(cells.reshape(5, -1)).sum(-1).tolist()
    of_classes, best, weighted = torch.from_numpy(by_class).sum(-1).tolist()
    of_clusters = torch.from_numpy(terms[1, -1, :-1]).sum().item() / items
    given_clusters, given_classes, shared = (x / items for x in of_cells)
    of_classes /= items
    joint, variation = of_classes + given_classes, given_clusters + given_classes
    nats = of_classes, of_clusters, given_clusters, given_classes, shared, joint, variation
    return *nats, precisions, recalls, best, weighted


class Independence(NamedTuple):
    """How far the cells of whole items are from those of independent sides, ``E = r c / N``, by exact differences."""

    items: Tensor  # (*batch,) int64, and so are the sizes
    class_sizes: Tensor  # (*batch, R)
    cluster_sizes: Tensor  # (*batch, C)
    fits: bool  # whether the square of the items is known to fit in int64

    def _at_classes(self, cell: CellQuantities) -> Tensor:
        return cell.at_classes(self.items.unsqueeze(-1).expand_as(self.class_sizes))

    def wrapped(self, cell: CellQuantities) -> Tensor:
        """``n N - r c`` less some multiple of 2^64."""
        expected = cell.at_classes(self.class_sizes) * cell.at_clusters(self.cluster_sizes)
        return cell.count * self._at_classes(cell) - expected

    def excess(self, cell: CellQuantities) -> Tensor:
        """``n N - r c``."""
        if self.fits:
            return self.wrapped(cell).double()
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
