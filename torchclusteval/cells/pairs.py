"""Pairs of items by agreement, and whether tables are ordinary."""

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells import reductions
from torchclusteval.cells.quantities import CellQuantities, PairCounts

MAX_SQUARED = 3_037_000_499  # the square of so many items fits in int64


def pairs_of(cell: CellQuantities, n_items: Tensor) -> PairCounts:
    """Of any tables: products of exact differences, of integers in int64, neither overflow nor cancel."""
    of_other_classes = n_items.unsqueeze(-1) - cell.class_sizes

    def rest(cell: CellQuantities) -> Tensor:
        """Items of the cell's cluster in other classes."""
        return cell.at_clusters(cell.cluster_sizes) - cell.count

    ordered = reductions.sums(
        cell,
        lambda cell: cell.squares - cell.n,
        lambda cell: cell.n * rest(cell).double(),
        lambda cell: cell.n * (cell.at_classes(cell.class_sizes) - cell.count).double(),
        lambda cell: cell.n * (cell.at_classes(of_other_classes) - rest(cell)).double(),
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


def are_ordinary(pairs: PairCounts) -> bool:
    """Whether in all tables each side joins some pairs and separates some, and the sides treat some differently."""
    ss, sd, ds, dd = (x.numpy() if x.dim() else x.item() for x in pairs)  # Python is the quickest with one number
    ordinary = (ss + sd > 0) & (ss + ds > 0) & (sd + dd > 0) & (ds + dd > 0) & (sd + ds > 0)
    return ordinary if isinstance(ordinary, bool) else bool(ordinary.all())
