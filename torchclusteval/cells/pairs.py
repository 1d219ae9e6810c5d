"""Pairs of items by agreement, and whether tables are ordinary."""

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells import reductions
from torchclusteval.cells.quantities import CellQuantities, PairCounts

MAX_SQUARED = 3_037_000_499  # the square of so many items fits in int64


def pairs_of(cell: CellQuantities, n_items: Tensor) -> PairCounts:
    """Of any tables: products of exact differences neither overflow nor cancel."""
    of_other_classes = n_items.double().unsqueeze(-1) - cell.class_sizes_f64
    ordered = reductions.sums(
        cell,
        lambda cell: cell.squares - cell.n,
        lambda cell: cell.n * cell.rest_of_cluster,
        lambda cell: cell.n * cell.rest_of_class,
        lambda cell: cell.n * (cell.at_classes(of_other_classes) - cell.rest_of_cluster),
    )
    return PairCounts(*(x * 0.5 for x in ordered))


def pairs_of_integers(cell: CellQuantities, n: Tensor) -> PairCounts:
    """Of tables of up to ``MAX_SQUARED`` items on the host: exact integers, by NumPy, whose calls start faster."""
    if cell.cells.layout == "dense":
        counts = cell.cells.values.numpy()
        same_both = _sum_of_squares(counts.reshape(*counts.shape[:-2], -1))
    else:
        same_both = reductions.sums(cell, lambda cell: cell.count * cell.count)[0].numpy()
    return pairs_of_squares(same_both, *(x.numpy() for x in (n, cell.class_sizes, cell.cluster_sizes)))


def pairs_of_squares(same_both: np.ndarray, items: np.ndarray, *sizes: np.ndarray) -> PairCounts:
    """From the sums of the squares of the cells and the sizes of both sides; exact in a type that holds the squares."""
    same_class, same_cluster = map(_sum_of_squares, sizes)
    different = same_class - same_both
    ordered = np.empty((4, *same_both.shape))
    ordered[0], ordered[1], ordered[2] = same_both - items, same_cluster - same_both, different
    ordered[3] = items * items - same_cluster - different
    ordered *= 0.5
    return PairCounts(*torch.from_numpy(ordered).unbind())


def _sum_of_squares(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.dot(x, x), x.dtype) if x.ndim == 1 else np.einsum("...i,...i->...", x, x)


def are_ordinary(n_items: Tensor, n_classes: Tensor, n_clusters: Tensor, n_cells: Tensor) -> bool:
    """Whether all tables have two classes and two clusters, some of two items, and the sides differ."""
    items, classes, clusters, cells = (x.numpy() for x in (n_items, n_classes, n_clusters, n_cells))
    several = (classes > 1) & (clusters > 1) & (classes < items) & (clusters < items)
    return bool((several & (classes + clusters < cells + cells)).all())


def are_ordinary_by_pairs(pairs: PairCounts) -> bool:
    """As :func:`are_ordinary`: each side joins some pairs and separates some, and they treat some differently."""
    ss, sd, ds, dd = (x.numpy() if x.dim() else x.item() for x in pairs)  # Python is the quickest with one number
    ordinary = (ss + sd > 0) & (ss + ds > 0) & (sd + dd > 0) & (ds + dd > 0) & (sd + ds > 0)
    return ordinary if isinstance(ordinary, bool) else bool(ordinary.all())


def most_on_host(n_items: Tensor) -> int | None:
    """Items of the largest of some integer tables on the host; None for others, to read which may mean to wait."""
    held = n_items.device.type == "cpu" and not n_items.is_floating_point() and not torch.compiler.is_compiling()
    return int(n_items.max() if n_items.dim() else n_items) if held and n_items.numel() else None
