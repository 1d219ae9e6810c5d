"""Spherical k-means in the style of Hartigan and Wong, batched over data sets.

Items move one at a time and the clusters are updated at once, so the loop runs over the items of all sets
together: step i visits item i of every set. The loop needs the Gram matrix of the unit vectors, computed once,
and the products of every item with every cluster sum, which a move changes by one row of that matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from torchclusteval.common.threads import on_one_thread

__all__ = ["Criterion", "KMeansResult", "spherical_kmeans"]

Criterion = Literal["density", "cosine"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class KMeansResult:
    """Clusterings of a batch of data sets."""

    labels: Tensor  # (*batch, N) int64, clusters 0..K-1
    passes: Tensor  # (*batch,) int64, the pass without a move included
    converged: Tensor  # (*batch,) bool, False where max_passes ended the search


@on_one_thread
def spherical_kmeans(
    vectors: Tensor,
    n_clusters: int,
    *,
    criterion: Criterion = "density",
    tolerance: float = _TOLERANCE,
    max_passes: int = 100,
) -> KMeansResult:
    r"""Cluster the items of every data set by direction, one move at a time.

    With v the unit vectors and c_k the sum of v over cluster k, the first ``n_clusters`` items are the seeds,
    and every other item joins the seed of largest cosine. Then the items are visited in sequence, again and
    again: item i moves from its cluster to the best other one if the gain exceeds the loss by ``tolerance``,
    where under ``"density"``

        gain_k = |c_k + v_i| - |c_k|,     loss = |c_own| - |c_own - v_i|,

    the change of the objective sum_k |c_k|, and under ``"cosine"``

        gain_k = v_i . c_k / |c_k|,       loss = v_i . (c_own - v_i) / |c_own - v_i|,

    the cosine with each cluster without the item, times the length of v. The only member of a cluster stays.
    The search ends after a pass without a move. Of equal gains the lowest cluster wins.

    Args:
        vectors: ``(*batch, N, M)`` float32 or float64, of any length; a vector of zeros is allowed and stays
            at length zero. The Gram matrix is computed in this dtype, the search in float64.
        n_clusters: number of clusters K, 1 to N.
        criterion: what a move must improve.
        tolerance: smallest improvement that counts, at least 0. The items have unit length.
        max_passes: most passes; a search that takes more has not converged.

    Returns:
        A :class:`KMeansResult` on the device of ``vectors``.

    Raises:
        ValueError: for vectors of another dtype or fewer than two dimensions, or an option out of its range.

    Source: Kishida (2014), appendix; the appendix's increase and decrease of J_k = |c_k| are the gain and loss
    of ``"density"``, written without the division.
    """
    _check(vectors, n_clusters, criterion, tolerance, max_passes)
    batch_shape, n_items = vectors.shape[:-2], vectors.shape[-2]
    result = cluster_gram(
        gram_of_directions(vectors.reshape(-1, *vectors.shape[-2:])),
        n_clusters,
        criterion,
        max_passes=max_passes,
        tolerance=tolerance,
    )
    return KMeansResult(
        labels=result.labels.reshape(*batch_shape, n_items),
        passes=result.passes.reshape(batch_shape),
        converged=result.converged.reshape(batch_shape),
    )


def gram_of_directions(vectors: Tensor) -> Tensor:
    """Cosines of all pairs of items of every set, ``(S, N, M)`` to ``(S, N, N)`` float64; 0 for zero vectors."""
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    unit = vectors / lengths.masked_fill(lengths == 0, 1)
    return (unit @ unit.mT).double()


def cluster_gram(
    gram: Tensor, n_clusters: int, criterion: Criterion, *, max_passes: int, tolerance: float = _TOLERANCE
) -> KMeansResult:
    """:func:`spherical_kmeans` from the ``(S, N, N)`` float64 cosines of the items, unchecked."""
    search = _Search(gram, n_clusters, criterion, tolerance)
    n_items, n_sets = search.labels.shape
    labels = torch.empty(n_sets, n_items, dtype=torch.int64, device=gram.device)
    passes = torch.full((n_sets,), max_passes, device=gram.device)
    converged = torch.zeros(n_sets, dtype=torch.bool, device=gram.device)
    before = search.labels.clone()
    for number in range(1, max_passes + 1):
        earlier, before = before, search.labels.clone()
        for item in range(n_items):
            search.visit(item)
        moved = (search.labels != before).any(0)
        alternating = moved & (search.labels == earlier).all(0)  # between two clusterings, for ever
        last = search.labels if (max_passes - number) % 2 == 0 else torch.where(alternating, before, search.labels)
        labels[search.sets] = last.mT
        done = search.sets[~moved]
        passes[done] = number
        converged[done] = True
        going = moved & ~alternating
        if not going.any():
            break
        search.keep(going)
        before = before[:, going]
    return KMeansResult(labels=labels, passes=passes, converged=converged)


def _check(vectors: Tensor, n_clusters: int, criterion: str, tolerance: float, max_passes: int) -> None:
    if vectors.dtype not in (torch.float32, torch.float64) or vectors.dim() < 2:
        expected = "float32 or float64 of shape (*batch, N, M)"
        raise ValueError(f"vectors: expected {expected}; got {vectors.dtype} of shape {tuple(vectors.shape)}")
    if not 1 <= n_clusters <= vectors.shape[-2]:
        raise ValueError(f"n_clusters: expected 1 to the {vectors.shape[-2]} items; got {n_clusters}")
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion: expected one of {get_args(Criterion)}; got {criterion!r}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance: expected a number of at least 0; got {tolerance}")
    if max_passes < 1:
        raise ValueError(f"max_passes: expected at least 1; got {max_passes}")


def _join_seeds(gram: Tensor, n_clusters: int) -> Tensor:
    """The seed of largest cosine for every item, ``(S, N)`` int64; the seeds stay with themselves."""
    labels = gram[:, :, :n_clusters].argmax(-1)
    labels[:, :n_clusters] = torch.arange(n_clusters, device=gram.device)
    return labels


class _Search:
    """The state of the search in the ``S`` sets that still move.

    ``reach[s, k, i]`` is |c_k + v_i|^2 - |c_k|^2 = 2 v_i . c_k + |v_i|^2, so that the gains of a step need one
    sum. Tensors of clusters are addressed flat, as ``s * K + k``.
    """

    def __init__(self, gram: Tensor, n_clusters: int, criterion: Criterion, tolerance: float) -> None:
        labels = _join_seeds(gram, n_clusters)
        member = gram.new_zeros(len(gram), n_clusters, labels.shape[1]).scatter_(
            1, labels.unsqueeze(1), 1.0
        )  # (S, K, N)
        products = member @ gram
        self.gram = gram  # (all sets, N, N)
        self.n_clusters = n_clusters
        self.density = criterion == "density"
        self.tolerance = tolerance
        self.sets = torch.arange(len(gram), device=gram.device)  # (S,) int64, rows of gram
        self.labels = labels.mT.contiguous()  # (N, S) int64
        self.squares = gram.diagonal(dim1=-2, dim2=-1).mT.contiguous()  # (N, S), |v|^2: 1 or 0
        self.sizes = member.sum(2)  # (S, K)
        self.norms2 = (products * member).sum(2)  # (S, K), |c|^2
        self.reach = products.mul_(2).add_(self.squares.mT.unsqueeze(1))  # (S, K, N)
        self._derive()

    def _derive(self) -> None:
        self.first = torch.arange(len(self.sets), device=self.sets.device) * self.n_clusters  # (S,) int64
        self.norms = self.norms2.sqrt()  # (S, K), |c|
        self.thresholds = self._threshold(self.sizes)  # (S, K), least gain minus loss of a move

    def _threshold(self, sizes: Tensor) -> Tensor:
        return torch.where(sizes == 1, torch.inf, self.tolerance)

    def keep(self, sets: Tensor) -> None:
        """Continue with these sets only, ``(S,)`` bool."""
        self.sets, self.labels, self.squares = self.sets[sets], self.labels[:, sets], self.squares[:, sets]
        self.sizes, self.norms2, self.reach = self.sizes[sets], self.norms2[sets], self.reach[sets]
        self._derive()

    def visit(self, item: int) -> None:
        """Move this item, in every set where a move improves the criterion."""
        own = self.labels[item]
        own_flat = self.first + own
        reach = self.reach[:, :, item]
        reach_own = reach.gather(1, own[:, None])[:, 0]
        values = self._gains(reach, self.squares[item])
        loss = self._losses(reach_own, self.squares[item], own_flat)
        values.view(-1).scatter_(0, own_flat, loss.add_(self.thresholds.view(-1).take(own_flat)))
        best = values.max(1).indices
        moving = (best != own).nonzero()[:, 0]
        if len(moving) > 0:
            self._move(item, moving, best[moving], own_flat[moving], reach_own[moving])

    def _gains(self, reach: Tensor, squares: Tensor) -> Tensor:
        if self.density:
            return torch.add(self.norms2, reach).clamp_(min=0).sqrt_().sub_(self.norms)
        return (reach - squares[:, None]).div_(2 * self.norms.masked_fill(self.norms == 0, 1))

    def _losses(self, reach: Tensor, squares: Tensor, own_flat: Tensor) -> Tensor:
        rest2 = (self.norms2.view(-1).take(own_flat) - reach).add_(squares, alpha=2)  # |c_own - v|^2
        rest = rest2.clamp_(min=0).sqrt_()
        if self.density:
            return self.norms.view(-1).take(own_flat).sub_(rest)
        return (reach - 3 * squares).div_(2 * rest.masked_fill(rest == 0, 1))

    def _move(self, item: int, moving: Tensor, to: Tensor, source: Tensor, reach_source: Tensor) -> None:
        target = self.first[moving] + to
        both = torch.cat([target, source])
        self.labels[item, moving] = to
        sizes, norms2, reach = self.sizes.view(-1), self.norms2.view(-1), self.reach.view(-1, len(self.labels))

        steps = torch.cat([reach[target, item], 2 * self.squares[item, moving] - reach_source])
        norms2[both] = (norms2[both] + steps).clamp_(min=0)
        self.norms.view(-1)[both] = norms2[both].sqrt()

        ones = torch.ones_like(reach_source)
        sizes[both] += torch.cat([ones, -ones])
        self.thresholds.view(-1)[both] = self._threshold(sizes[both])

        rows = self.gram[self.sets[moving], item] * 2
        reach[both] += torch.cat([rows, -rows])
