"""Spherical k-means in the style of Hartigan and Wong, batched over data sets.

Items move one at a time and the clusters are updated at once. As long as no item moves, the gains of those that
follow stay what they are: a step visits a block of items in every set, each at its own place, up to the first that
moves. The loop needs the Gram matrix of the unit vectors, computed once, and the products of every item with every
cluster sum, which a move changes by one row of that matrix.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Criterion = Literal["density", "cosine"]

_TOLERANCE = 1e-9
_BLOCK = 10  # items of a set that are visited at once, as far as none moves


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
    search = _Search(gram, n_clusters, criterion)
    n_sets, n_items = gram.shape[:2]
    passes = torch.zeros(n_sets, dtype=torch.int64, device=gram.device)
    converged = torch.zeros(n_sets, dtype=torch.bool, device=gram.device)
    labels = search.labels[:, :n_items]
    earlier, before = labels.clone(), labels.clone()  # at the start of the pass before this one, and of this one
    sets, position = torch.arange(n_sets, device=gram.device), torch.zeros_like(passes)
    while len(sets) > 0:
        position = search.visit(sets, position)
        ended = (position >= n_items).nonzero()[:, 0]
        if len(ended) == 0:
            continue
        here = sets[ended]
        passes[here] += 1
        now, then = labels[here], before[here]
        moved = (now != then).any(1)
        alternating = moved & (now == earlier[here]).all(1)  # between two clusterings, for ever
        odd = (max_passes - passes[here]) % 2 == 1
        labels[here] = torch.where((alternating & odd)[:, None], then, now)
        converged[here] = ~moved
        passes[here] = torch.where(alternating, max_passes, passes[here])
        earlier[here], before[here] = then, now
        position[ended] = 0
        going = torch.ones_like(sets, dtype=torch.bool)
        going[ended] = moved & (passes[here] < max_passes)
        sets, position = sets[going], position[going]
    return KMeansResult(labels=labels.contiguous(), passes=passes, converged=converged)


class _Search:
    """The state of the search in ``S`` sets.

    ``reach[s, k, i]`` is |c_k + v_i|^2 - |c_k|^2 = 2 v_i . c_k + |v_i|^2, so that a gain needs one sum. Items past the
    last one, which fill the last block, never move. Tensors are addressed flat: such rows are copied whole.
    """

    def __init__(self, gram: Tensor, n_clusters: int, criterion: Criterion) -> None:
        n_sets, n_items = gram.shape[:2]
        labels = gram[:, :, :n_clusters].argmax(-1)  # the seed of largest cosine
        labels[:, :n_clusters] = torch.arange(n_clusters, device=gram.device)
        member = gram.new_zeros(n_sets, n_clusters, n_items).scatter_(1, labels.unsqueeze(1), 1.0)  # (S, K, N)
        products = member @ gram
        squares = gram.diagonal(dim1=-2, dim2=-1)  # (S, N), |v|^2: 1 or 0
        self.gram = gram  # (S, N, N)
        self.density = criterion == "density"
        self.n_items = n_items
        self.n_clusters = n_clusters
        self.blocks = -(-n_items // _BLOCK)
        self.sizes = member.sum(2)  # (S, K)
        self.norms2 = (products * member).sum(2)  # (S, K), |c|^2
        self.labels = self._filled(labels)  # (S, blocks * _BLOCK) int64
        self.squares = self._filled(squares).contiguous()  # (S, blocks * _BLOCK)
        self.reach = self._filled(products.mul_(2).add_(squares.unsqueeze(1)))  # (S, K, blocks * _BLOCK)
        self.offsets = torch.arange(n_clusters, device=gram.device) * self.blocks
        self.within = torch.arange(_BLOCK, device=gram.device)

    def _filled(self, values: Tensor) -> Tensor:
        """Zeros for the items past the last one."""
        missing = -self.n_items % _BLOCK
        return torch.nn.functional.pad(values, (0, missing)) if missing else values

    def visit(self, sets: Tensor, position: Tensor) -> Tensor:
        """In each of these sets, visit the items from its position on, up to the first that moves or the block's end.

        ``sets`` and ``position`` are ``(A,)`` int64, as the items after those visited, which are returned.
        """
        block = position // _BLOCK
        row = sets * self.blocks + block
        rows = (sets * (self.n_clusters * self.blocks) + block)[:, None] + self.offsets
        reach = self.reach.view(-1, _BLOCK).index_select(0, rows.view(-1)).view(*rows.shape, _BLOCK)  # (A, K, _BLOCK)
        own = self.labels.view(-1, _BLOCK).index_select(0, row)  # (A, _BLOCK)
        squares = self.squares.view(-1, _BLOCK).index_select(0, row)
        norms2 = self.norms2.index_select(0, sets)  # (A, K)
        norms = norms2.sqrt()
        reach_own = reach.gather(1, own[:, None])[:, 0]
        rest2 = (norms2.gather(1, own) - reach_own).add_(squares, alpha=2)  # |c_own - v|^2
        if self.density:
            values = reach.add_(norms2[:, :, None]).clamp_(min=0).sqrt_().sub_(norms[:, :, None])
            loss = norms.gather(1, own).sub_(rest2.clamp_(min=0).sqrt_())
        else:
            values = reach.sub_(squares[:, None]).div_(2 * norms.masked_fill(norms == 0, 1)[:, :, None])
            rest = rest2.clamp_(min=0).sqrt_()
            loss = (reach_own - 3 * squares).div_(2 * rest.masked_fill(rest == 0, 1))
        alone = self.sizes.index_select(0, sets).gather(1, own) == 1
        loss.add_(_TOLERANCE).masked_fill_(alone, torch.inf)
        best = values.scatter_(1, own[:, None], loss[:, None]).max(1).indices
        items = (block * _BLOCK)[:, None] + self.within
        moves = (best != own) & (items >= position[:, None]) & (items < self.n_items)
        after = torch.where(moves, items + 1, ((block + 1) * _BLOCK)[:, None]).amin(1)
        moving = moves.any(1).nonzero()[:, 0]
        if len(moving) > 0:
            item = after.index_select(0, moving) - 1
            place = moving * _BLOCK + item % _BLOCK
            self._move(sets.index_select(0, moving), item, own.take(place), best.take(place), reach_own.take(place))
        return after

    def _move(self, sets: Tensor, items: Tensor, source: Tensor, target: Tensor, reach_source: Tensor) -> None:
        """Move an item in each of these sets."""
        first, length = sets * self.n_clusters, self.blocks * _BLOCK
        target_flat = first + target
        both = torch.cat([target_flat, first + source])
        place = sets * length + items
        self.labels.view(-1).index_copy_(0, place, target)
        steps = torch.cat([self.reach.take(target_flat * length + items), 2 * self.squares.take(place) - reach_source])
        norms2 = self.norms2.view(-1)
        norms2.index_copy_(0, both, norms2.index_select(0, both).add_(steps).clamp_(min=0))
        ones = torch.ones_like(reach_source)
        self.sizes.view(-1).index_add_(0, both, torch.cat([ones, -ones]))
        rows = self._filled(self.gram.flatten(0, 1).index_select(0, sets * self.n_items + items).mul_(2))
        reach = self.reach.view(-1, length)
        reach.index_add_(0, both, torch.cat([rows, -rows]))
