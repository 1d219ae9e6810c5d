"""Spherical k-means in the style of Hartigan and Wong, batched over data sets.

The loop needs the Gram matrix of the unit vectors, computed once, and the products of every item with every cluster
sum, which a move changes by one row of that matrix.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Criterion = Literal["density", "cosine"]

_TOLERANCE = 1e-9


class KMeansResult(NamedTuple):
    """Clusterings of ``S`` data sets."""

    labels: Tensor  # (S, N) int64, clusters 0..K-1
    passes: Tensor  # (S,) int64, the pass without a move included
    converged: Tensor  # (S,) bool, False where max_passes ended the search


def spherical_kmeans(
    gram: Tensor, n_clusters: int, criterion: Criterion = "density", *, max_passes: int = 100
) -> KMeansResult:
    r"""Cluster the items of every data set by direction, one move at a time.

    With v the unit vectors and c_k the sum of v over cluster k, the first ``n_clusters`` items are the seeds,
    and every other item joins the seed of largest cosine. Then the items are visited in sequence, again and
    again: item i moves from its cluster to the best other one if the gain exceeds the loss by 1e-9, where under
    ``"density"``

        gain_k = |c_k + v_i| - |c_k|,     loss = |c_own| - |c_own - v_i|,

    the change of the objective ``sum_k |c_k|``, and under ``"cosine"``

        gain_k = v_i . c_k / |c_k|,       loss = v_i . (c_own - v_i) / |c_own - v_i|,

    the cosine with each cluster without the item, times the length of v. The only member of a cluster stays.
    The search ends after a pass without a move. Of equal gains the lowest cluster wins.
    A search that takes more than ``max_passes`` has not converged. ``gram`` is ``(S, N, N)`` float64, the cosines of
    all pairs of items; 0 for a vector of zeros, itself included.

    Source: Kishida (2014), appendix; the appendix's increase and decrease of ``J_k = |c_k|`` are the gain and loss
    of ``"density"``, written without the division.
    """
    n_sets, n_items = gram.shape[:2]
    labels = gram[:, :, :n_clusters].argmax(-1)  # the seed of largest cosine
    labels[:, :n_clusters] = torch.arange(n_clusters, device=gram.device)
    passes = torch.zeros(n_sets, dtype=torch.int64, device=gram.device)
    converged = torch.zeros(n_sets, dtype=torch.bool, device=gram.device)
    sets = torch.arange(n_sets, device=gram.device)  # whose search goes on, as the state of it is of these sets alone
    state, earlier = _State.of(gram, labels, n_clusters), labels.clone()
    while len(sets) > 0:
        before = state.labels.clone()
        for item in range(n_items):
            state.visit(item, criterion)
        passes[sets] += 1
        moved = (state.labels != before).any(1)
        alternating = moved & (state.labels == earlier).all(1)  # between two clusterings, for ever
        odd = (max_passes - passes[sets]) % 2 == 1
        labels[sets] = torch.where((alternating & odd)[:, None], before, state.labels)
        converged[sets] = ~moved
        passes[sets] = torch.where(alternating, max_passes, passes[sets])
        going = moved & (passes[sets] < max_passes)
        sets, earlier = sets[going], before[going]
        state = state if going.all() else _State(*(x[going] for x in state))
    return KMeansResult(labels=labels, passes=passes, converged=converged)


class _State(NamedTuple):
    """The search in ``S`` sets; ``reach[s, i, k]`` is |c_k + v_i|^2 - |c_k|^2, so that a gain needs one sum."""

    gram: Tensor  # (S, N, N)
    labels: Tensor  # (S, N) int64
    sizes: Tensor  # (S, K)
    norms2: Tensor  # (S, K), |c|^2
    reach: Tensor  # (S, N, K)

    @classmethod
    def of(cls, gram: Tensor, labels: Tensor, n_clusters: int) -> _State:
        member = gram.new_zeros(*labels.shape, n_clusters).scatter_(2, labels.unsqueeze(2), 1.0)
        products = gram @ member
        squares = gram.diagonal(dim1=-2, dim2=-1)[:, :, None]  # |v|^2: 1 or 0
        return cls(gram, labels.clone(), member.sum(1), (products * member).sum(1), products.mul_(2).add_(squares))

    def visit(self, item: int, criterion: Criterion) -> None:
        """Move an item of each set, where that improves the criterion."""
        reach, own, square = self.reach[:, item], self.labels[:, item, None], self.gram[:, item, item, None]
        reach_own, norms = reach.gather(1, own), self.norms2.sqrt()
        rest = (self.norms2.gather(1, own) - reach_own).add_(square, alpha=2).clamp_(min=0).sqrt_()  # |c_own - v|
        if criterion == "density":
            values = (self.norms2 + reach).clamp_(min=0).sqrt_().sub_(norms)
            loss = norms.gather(1, own) - rest
        else:
            values = (reach - square).div_(2 * norms.masked_fill(norms == 0, 1))
            loss = (reach_own - 3 * square).div_(2 * rest.masked_fill(rest == 0, 1))
        loss = (loss + _TOLERANCE).masked_fill_(self.sizes.gather(1, own) == 1, torch.inf)
        best = values.scatter_(1, own, loss).argmax(1, keepdim=True)
        moving = (best != own).nonzero()[:, 0]
        if len(moving) == 0:
            return
        both = torch.cat([best[moving], own[moving]], 1)
        self.labels[moving, item] = both[:, 0]
        steps = torch.cat([reach[moving].gather(1, both[:, :1]), (2 * square - reach_own)[moving]], 1)
        rows, signs = moving[:, None], torch.tensor([1.0, -1.0], dtype=reach.dtype, device=reach.device)
        self.norms2[rows, both] = (self.norms2[rows, both] + steps).clamp_(min=0)
        self.sizes[rows, both] += signs
        self.reach[rows, :, both] += 2 * self.gram[moving, None, item] * signs[:, None]
